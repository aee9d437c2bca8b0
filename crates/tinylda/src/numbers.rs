//! Rows of numbers as bytes, least byte first: what is kept of documents, and checkpoints.

/// A number of so many bytes.
pub(crate) trait Number: Copy + Default {
    const BYTES: usize;
    fn put(self, to: &mut [u8]);
    fn get(from: &[u8]) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();
            #[inline]
            fn put(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn get(from: &[u8]) -> $type {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(from);
                <$type>::from_le_bytes(bytes)
            }
        }
    )*};
}

number!(u8, u16, u32, u64, i64, f32, f64);

/// Appends numbers.
pub(crate) fn put<T: Number>(values: &[T], out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + values.len() * T::BYTES, 0);
    for (to, &value) in out[from..].chunks_exact_mut(T::BYTES).zip(values) {
        value.put(to);
    }
}

/// Takes `n` numbers from the front; nothing where there are too few bytes.
pub(crate) fn take<T: Number>(bytes: &mut &[u8], n: usize, out: &mut Vec<T>) -> Option<()> {
    out.clear();
    let length = n.checked_mul(T::BYTES).filter(|&length| length <= bytes.len())?;
    let (head, tail) = bytes.split_at(length);
    out.reserve_exact(n);
    out.extend(head.chunks_exact(T::BYTES).map(T::get));
    *bytes = tail;
    Some(())
}

/// Appends decimal digits; a good deal faster than the formatting machinery, on billions of numbers.
pub(crate) fn push_number(out: &mut Vec<u8>, mut n: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (n % 10) as u8);
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// Appends a share from 0 to 1 with eight decimals, without zeros at the end: as many as an f32 near 1 has, and an order of magnitude
/// faster than the formatting machinery.
pub(crate) fn push_share(out: &mut Vec<u8>, share: f32) {
    const ONE: u64 = 100_000_000;
    let units = (f64::from(share) * ONE as f64).round() as u64;
    push_number(out, units / ONE);
    let mut rest = units % ONE;
    if rest > 0 {
        out.push(b'.');
        let start = out.len();
        let mut digits = 8;
        while rest.is_multiple_of(10) {
            rest /= 10;
            digits -= 1;
        }
        for _ in 0..digits {
            out.push(b'0' + (rest % 10) as u8);
            rest /= 10;
        }
        out[start..].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut bytes = Vec::new();
        put(&[1u8, 255], &mut bytes);
        put(&[-1i64, i64::MAX], &mut bytes);
        put(&[f32::MIN_POSITIVE], &mut bytes);
        let (mut rest, mut a, mut b, mut c) = (&bytes[..], Vec::new(), Vec::new(), Vec::new());
        take::<u8>(&mut rest, 2, &mut a).unwrap();
        take::<i64>(&mut rest, 2, &mut b).unwrap();
        assert_eq!(take::<f64>(&mut rest, 1, &mut Vec::new()), None);
        assert_eq!(take::<u64>(&mut rest, usize::MAX, &mut Vec::new()), None);
        take::<f32>(&mut rest, 1, &mut c).unwrap();
        assert_eq!((a, b, c, rest), (vec![1, 255], vec![-1, i64::MAX], vec![f32::MIN_POSITIVE], &[][..]));
    }

    #[test]
    fn shares_have_eight_decimals_at_the_most() {
        let cases = [(0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.25, "0.25"), (1e-8, "0.00000001"), (1e-9, "0")];
        for (share, text) in cases {
            let mut out = Vec::new();
            push_share(&mut out, share);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
