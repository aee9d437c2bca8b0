//! Sequences of small numbers in few bits: the one coding that the corpus file uses for everything.
//!
//! A sequence of n numbers is cut into groups of 32 (the last may be shorter). A group is one byte b, the bits
//! per number (0 to 32), then ceil(numbers x b / 8) bytes: number i of the group lies in bits i*b to (i+1)*b
//! of these bytes, lowest bit first, little end first. A group of zeros is a single byte.
//!
//! Measured against variable-length bytes on real corpora (pubmed, wiki): 1.8 and 1.6 bytes per non-zero instead
//! of 2.0 and 1.7, and every number's position is known without reading the one before it.

/// Numbers per group.
pub(crate) const GROUP: usize = 32;

/// Appends `values` to `out`.
pub(crate) fn pack(values: &[u32], out: &mut Vec<u8>) {
    for group in values.chunks(GROUP) {
        let bits = 32 - group.iter().fold(0, |all, &v| all | v).leading_zeros();
        out.push(bits as u8);
        let (mut waiting, mut held) = (0u64, 0u32);
        for &v in group {
            waiting |= u64::from(v) << held;
            held += bits;
            while held >= 8 {
                out.push(waiting as u8);
                waiting >>= 8;
                held -= 8;
            }
        }
        if held > 0 {
            out.push(waiting as u8);
        }
    }
}

/// Reads `n` numbers from the front of `bytes` into `out` (cleared first) and returns how many bytes they took,
/// or `None` where the bytes end too soon or a group claims more than 32 bits.
pub(crate) fn unpack(bytes: &[u8], n: usize, out: &mut Vec<u32>) -> Option<usize> {
    out.clear();
    // A group has at least one byte, so a short input cannot make a long allocation.
    if n.div_ceil(GROUP) > bytes.len() {
        return None;
    }
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
        // Eight bytes are read for each number, so the last group is read from a copy with zeros behind it.
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

/// The lengths of strings in bytes, packed.
pub(crate) fn pack_lengths<'a>(strings: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    let lengths: Vec<u32> = strings.map(|s| s.len() as u32).collect();
    pack(&lengths, out);
}

/// Strings one after another: their lengths in bytes, packed, then the bytes.
pub(crate) fn pack_strings<'a>(strings: impl Iterator<Item = &'a str> + Clone, out: &mut Vec<u8>) {
    pack_lengths(strings.clone(), out);
    for s in strings {
        out.extend_from_slice(s.as_bytes());
    }
}

/// Reads what [`pack_strings`] wrote: all bytes as one string, and where each of the `n` ends. The text is not copied.
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
    let whole = ends.iter().all(|&e| usize::try_from(e).is_ok_and(|e| text.is_char_boundary(e)));
    (whole && end == text.len() as u64).then_some((text, ends))
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
            // Cut anywhere, it is refused.
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
