//! Number types of arrays, as defined by NumPy and HDF5.

/// Type of the numbers in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dtype {
    pub(super) kind: u8,
    pub(super) size: usize,
    pub(super) big_endian: bool,
}

impl Dtype {
    /// Parses NumPy's notation, such as `<i4`.
    pub(super) fn parse(text: &str) -> Option<Dtype> {
        let (order, rest) = match text.as_bytes() {
            [order @ (b'<' | b'>' | b'|' | b'='), rest @ ..] => (*order, rest),
            rest => (b'<', rest),
        };
        let (&kind, digits) = rest.split_first()?;
        let size: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let known = match kind {
            b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
            b'f' => matches!(size, 2 | 4 | 8),
            b'b' => size == 1,
            b'S' => (1..=64).contains(&size),
            b'U' => (1..=16).contains(&size),
            _ => false,
        };
        known.then_some(Dtype {
            kind,
            size: if kind == b'U' { 4 * size } else { size },
            big_endian: order == b'>',
        })
    }

    /// Decodes one number from its bytes.
    #[inline]
    pub(super) fn number(self, bytes: &[u8]) -> f64 {
        let mut all = [0u8; 8];
        for (i, &byte) in bytes.iter().take(8).enumerate() {
            all[if self.big_endian { self.size - 1 - i } else { i }] = byte;
        }
        let bits = u64::from_le_bytes(all);
        match (self.kind, self.size) {
            (b'f', 2) => half::f16::from_bits(bits as u16).to_f64(),
            (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
            (b'f', _) => f64::from_bits(bits),
            (b'i', size) => {
                let unused = 64 - 8 * size as u32;
                ((bits << unused).cast_signed() >> unused) as f64
            }
            _ => bits as f64,
        }
    }
}

/// Converts a number to a count; `None` if it is not a whole number from 0 to 2^32-1.
#[inline]
pub(super) fn to_count(value: f64) -> Option<u32> {
    ((0.0..=f64::from(u32::MAX)).contains(&value) && value.fract() == 0.0).then_some(value as u32)
}
