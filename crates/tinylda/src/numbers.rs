//! Conversion of numbers to bytes and text.
//!
//! [`put`] and [`take`] convert slices to little-endian bytes and back; [`NumberWriter`] and
//! [`NumberReader`] do so in a stream. They serve the stored state of documents and checkpoints.
//! [`push_number`] and [`push_share`] append decimal text. Nothing here knows what the numbers
//! mean.

use crate::error::Result;

/// Size in bytes of the buffer of a [`NumberWriter`] or [`NumberReader`].
pub(crate) const STREAM_BYTES: usize = 1 << 16;

/// A number with a fixed size in bytes.
pub(crate) trait Number: Copy + Default {
    /// Size in bytes.
    const BYTES: usize;
    /// Writes the number as [`BYTES`](Number::BYTES) little-endian bytes.
    fn put(self, to: &mut [u8]);
    /// Reads a number from [`BYTES`](Number::BYTES) little-endian bytes.
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

/// Appends numbers to `out` as little-endian bytes.
pub(crate) fn put<T: Number>(values: &[T], out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + values.len() * T::BYTES, 0);
    for (to, &value) in out[from..].chunks_exact_mut(T::BYTES).zip(values) {
        value.put(to);
    }
}

/// Moves `n` numbers from the front of `bytes` to `out`, which is cleared first. Returns `None` if
/// there are too few bytes.
pub(crate) fn take<T: Number>(bytes: &mut &[u8], n: usize, out: &mut Vec<T>) -> Option<()> {
    out.clear();
    let length = n.checked_mul(T::BYTES).filter(|&length| length <= bytes.len())?;
    let (head, tail) = bytes.split_at(length);
    out.reserve_exact(n);
    out.extend(head.chunks_exact(T::BYTES).map(T::get));
    *bytes = tail;
    Some(())
}

/// Writes slices of numbers through a buffer of [`STREAM_BYTES`], so that a long record is never
/// held in memory as bytes.
pub(crate) struct NumberWriter<'a> {
    buffer: Vec<u8>,
    write: &'a mut dyn FnMut(&[u8]) -> Result<()>,
}

impl<'a> NumberWriter<'a> {
    pub(crate) fn new(write: &'a mut dyn FnMut(&[u8]) -> Result<()>) -> NumberWriter<'a> {
        NumberWriter { buffer: Vec::new(), write }
    }

    /// Appends numbers.
    pub(crate) fn put<T: Number>(&mut self, values: &[T]) -> Result<()> {
        for chunk in values.chunks(STREAM_BYTES / T::BYTES) {
            if self.buffer.len() + chunk.len() * T::BYTES > STREAM_BYTES {
                self.flush()?;
            }
            put(chunk, &mut self.buffer);
        }
        Ok(())
    }

    /// Writes the remaining bytes of the buffer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        (self.write)(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads what a [`NumberWriter`] wrote, through a buffer of [`STREAM_BYTES`].
pub(crate) struct NumberReader<'a> {
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that have been consumed.
    consumed: usize,
    /// Number of bytes of the record that have not been read into the buffer yet.
    unread: u64,
    read: &'a mut dyn FnMut(&mut [u8]) -> Result<()>,
}

impl<'a> NumberReader<'a> {
    /// Creates a reader of a record of `bytes` bytes.
    pub(crate) fn new(bytes: u64, read: &'a mut dyn FnMut(&mut [u8]) -> Result<()>) -> NumberReader<'a> {
        NumberReader { buffer: Vec::new(), consumed: 0, unread: bytes, read }
    }

    /// Returns whether the whole record has been consumed.
    pub(crate) fn is_empty(&self) -> bool {
        self.unread == 0 && self.consumed == self.buffer.len()
    }

    /// Reads `n` numbers into `out`, which is cleared first. Returns `None` if there are too few
    /// bytes; nothing is consumed then.
    pub(crate) fn take<T: Number>(&mut self, n: usize, out: &mut Vec<T>) -> Result<Option<()>> {
        out.clear();
        let available = self.unread.saturating_add((self.buffer.len() - self.consumed) as u64);
        if (n as u64).checked_mul(T::BYTES as u64).is_none_or(|bytes| bytes > available) {
            return Ok(None);
        }
        out.reserve_exact(n);
        while out.len() < n {
            if self.buffer.len() - self.consumed < T::BYTES {
                self.fill()?;
            }
            let wanted = (n - out.len()) * T::BYTES;
            let buffered = (self.buffer.len() - self.consumed) / T::BYTES * T::BYTES;
            let bytes = &self.buffer[self.consumed..self.consumed + wanted.min(buffered)];
            out.extend(bytes.chunks_exact(T::BYTES).map(T::get));
            self.consumed += bytes.len();
        }
        Ok(Some(()))
    }

    /// Reads and discards the rest of the record.
    pub(crate) fn skip(&mut self) -> Result<()> {
        while self.unread > 0 {
            self.consumed = self.buffer.len();
            self.fill()?;
        }
        self.consumed = self.buffer.len();
        Ok(())
    }

    /// Removes the consumed bytes from the buffer and fills it up.
    fn fill(&mut self) -> Result<()> {
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
        let from = self.buffer.len();
        let more = self.unread.min((STREAM_BYTES - from) as u64) as usize;
        self.buffer.resize(from + more, 0);
        (self.read)(&mut self.buffer[from..])?;
        self.unread -= more as u64;
        Ok(())
    }
}

/// Appends the decimal digits of `n`. This is considerably faster than `write!`, which matters for
/// billions of numbers.
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

/// Appends a share from 0 to 1, rounded to eight decimals, without trailing zeros.
///
/// An `f32` near 1 has about eight decimals. This is an order of magnitude faster than `write!`.
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

    /// Slices longer than the buffer round-trip, and a request for more numbers than there are is
    /// refused before any memory is allocated.
    #[test]
    fn streams_of_numbers_come_back() {
        let (small, large): (Vec<u8>, Vec<i64>) = (vec![7; 3], (0..30_000).collect());
        let mut bytes: Vec<u8> = Vec::new();
        let mut append = |chunk: &[u8]| {
            assert!(chunk.len() <= STREAM_BYTES);
            bytes.extend_from_slice(chunk);
            Ok(())
        };
        let mut writer = NumberWriter::new(&mut append);
        writer.put(&small).unwrap();
        writer.put(&large).unwrap();
        writer.put(&small).unwrap();
        writer.flush().unwrap();
        let mut at = 0;
        let mut read = |to: &mut [u8]| {
            to.copy_from_slice(&bytes[at..at + to.len()]);
            at += to.len();
            Ok(())
        };
        let mut reader = NumberReader::new(bytes.len() as u64, &mut read);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        assert_eq!(reader.take::<u64>(usize::MAX, &mut Vec::new()).unwrap(), None);
        reader.take(3, &mut a).unwrap().unwrap();
        reader.take(30_000, &mut b).unwrap().unwrap();
        assert_eq!((&a, &b, reader.is_empty()), (&small, &large, false));
        assert_eq!(reader.take::<u32>(1, &mut Vec::new()).unwrap(), None);
        reader.skip().unwrap();
        assert!(reader.is_empty());
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
