//! Bit packing of sequences of small numbers, the only encoding of numbers in the blocks of a
//! corpus file.
//!
//! A sequence of n numbers is divided into groups of 32 (the last may be shorter). A group is one
//! byte b, the number of bits per number (0 to 32), followed by ceil(numbers x b / 8) bytes. Number
//! i of the group occupies bits i*b to (i+1)*b of these bytes, least significant bit and byte
//! first. A group of zeros is a single byte.
//!
//! Compared with variable-length bytes on real corpora (PubMed, Wikipedia), it takes 1.8 and 1.6
//! bytes per non-zero instead of 2.0 and 1.7, and the position of every number is known without
//! reading the one before it.

/// Number of values per group.
pub(crate) const GROUP: usize = 32;

/// Appends the packed `values` to `out`.
pub(crate) fn pack(values: &[u32], out: &mut Vec<u8>) {
    for group in values.chunks(GROUP) {
        let bits = 32 - group.iter().fold(0, |all, &v| all | v).leading_zeros();
        out.push(bits as u8);
        let (mut pending, mut pending_bits) = (0u64, 0u32);
        for &v in group {
            pending |= u64::from(v) << pending_bits;
            pending_bits += bits;
            while pending_bits >= 8 {
                out.push(pending as u8);
                pending >>= 8;
                pending_bits -= 8;
            }
        }
        if pending_bits > 0 {
            out.push(pending as u8);
        }
    }
}

/// Reads `n` numbers from the front of `bytes` into `out`, which is cleared first.
///
/// Returns the number of bytes read, or `None` if there are too few bytes or a group claims more
/// than 32 bits.
pub(crate) fn unpack(bytes: &[u8], n: usize, out: &mut Vec<u32>) -> Option<usize> {
    out.clear();
    // A group has at least one byte, so a short input cannot cause a large allocation.
    if n.div_ceil(GROUP) > bytes.len() {
        return None;
    }
    out.reserve_exact(n);
    out.resize(n, 0);
    let mut at = 0;
    for group in out.chunks_mut(GROUP) {
        let bits = usize::from(*bytes.get(at)?);
        if bits > 32 {
            return None;
        }
        at += 1;
        let length = (group.len() * bits).div_ceil(8);
        let mut near_end = [0u8; GROUP * 4 + 8];
        // Eight bytes are read for each number, so the last group is read from a zero-padded copy.
        let source = if let Some(source) = bytes.get(at..at + length + 8) {
            source
        } else {
            near_end[..length].copy_from_slice(bytes.get(at..at + length)?);
            &near_end
        };
        let mask = ((1u64 << bits) - 1) as u32;
        for (i, value) in group.iter_mut().enumerate() {
            let bit = i * bits;
            let mut word = [0u8; 8];
            word.copy_from_slice(&source[bit / 8..bit / 8 + 8]);
            *value = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
        }
        at += length;
    }
    Some(at)
}

/// Appends the lengths of strings in bytes, packed.
pub(crate) fn pack_lengths<'a>(strings: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    let lengths: Vec<u32> = strings.map(|s| s.len() as u32).collect();
    pack(&lengths, out);
}

/// Appends strings: their lengths in bytes, packed, then their bytes.
pub(crate) fn pack_strings<'a>(strings: impl Iterator<Item = &'a str> + Clone, out: &mut Vec<u8>) {
    pack_lengths(strings.clone(), out);
    for s in strings {
        out.extend_from_slice(s.as_bytes());
    }
}

/// Reads `n` strings that [`pack_strings`] wrote. Returns their concatenation and the end of each
/// string in it; `None` if the bytes are invalid. The text is not copied.
pub(crate) fn unpack_strings(mut bytes: Vec<u8>, n: usize) -> Option<(String, Vec<u64>)> {
    let mut lengths = Vec::new();
    let used = unpack(&bytes, n, &mut lengths)?;
    bytes.drain(..used);
    let text = String::from_utf8(bytes).ok()?;
    let mut end = 0u64;
    let ends: Vec<u64> = lengths
        .iter()
        .map(|&length| {
            end += u64::from(length);
            end
        })
        .collect();
    let valid = ends.iter().all(|&e| usize::try_from(e).is_ok_and(|e| text.is_char_boundary(e)));
    (valid && end == text.len() as u64).then_some((text, ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(values in prop::collection::vec(prop_oneof![0u32..4, 0u32..1000, any::<u32>()], 0..200), tail in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut bytes = Vec::new();
            pack(&values, &mut bytes);
            let length = bytes.len();
            bytes.extend(&tail);
            let mut back = Vec::new();
            prop_assert_eq!(unpack(&bytes, values.len(), &mut back), Some(length));
            prop_assert_eq!(&back, &values);
            // Truncated input is refused.
            for cut in 0..length {
                prop_assert_eq!(unpack(&bytes[..cut], values.len(), &mut back), None);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), n in 0usize..400) {
            let mut out = Vec::new();
            if let Some(used) = unpack(&bytes, n, &mut out) {
                prop_assert!(used <= bytes.len() && out.len() == n);
            }
            let _ = unpack_strings(bytes, n);
        }

        #[test]
        fn strings_come_back(strings in prop::collection::vec(".*", 0..80)) {
            let mut bytes = Vec::new();
            pack_strings(strings.iter().map(String::as_str), &mut bytes);
            let (text, ends) = unpack_strings(bytes, strings.len()).unwrap();
            let mut start = 0;
            for (s, &end) in strings.iter().zip(&ends) {
                prop_assert_eq!(&text[start..end as usize], s);
                start = end as usize;
            }
        }
    }

    #[test]
    fn zeros_cost_a_byte_for_thirty_two() {
        let mut bytes = Vec::new();
        pack(&[0; 64], &mut bytes);
        assert_eq!(bytes, [0, 0]);
    }
}
