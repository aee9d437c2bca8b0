//! Positions of the documents' texts in their files, so that a report can show texts that the
//! corpus does not store.

use super::pack::{pack, unpack};

/// Position of a document's text in a file, after decompression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextPlace {
    /// Index of the source in [`About::sources`](super::About::sources), counted from 0.
    pub source: u32,
    /// Offset of the first byte in the decompressed file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

/// Appends the encoded places to `out`.
///
/// The encoding is: the sources; then the distance of each offset from the end of the previous
/// place, modulo 2^64, as high and low halves; then the lengths. Each sequence is [packed](pack),
/// so that consecutive texts take only a few bytes.
pub(crate) fn pack_places(places: &[TextPlace], scratch: &mut Vec<u32>, out: &mut Vec<u8>) {
    let mut put = |values: &mut dyn Iterator<Item = u32>| {
        scratch.clear();
        scratch.extend(values);
        pack(scratch, out);
    };
    let gaps = |shift: u32| {
        let mut end = 0u64;
        places.iter().map(move |p| {
            let gap = p.offset.wrapping_sub(end);
            end = p.offset.wrapping_add(u64::from(p.length));
            (gap >> shift) as u32
        })
    };
    put(&mut places.iter().map(|p| p.source));
    put(&mut gaps(32));
    put(&mut gaps(0));
    put(&mut places.iter().map(|p| p.length));
}

/// Reads `n` places that [`pack_places`] wrote. Returns `None` if the bytes are invalid or not used
/// up.
pub(crate) fn unpack_places(bytes: &[u8], n: usize) -> Option<Vec<TextPlace>> {
    let (mut sources, mut high, mut low, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for part in [&mut sources, &mut high, &mut low, &mut lengths] {
        at += unpack(bytes.get(at..)?, n, part)?;
    }
    if at != bytes.len() {
        return None;
    }
    let mut end = 0u64;
    let place = |i: usize| {
        let offset = end.wrapping_add(u64::from(high[i]) << 32 | u64::from(low[i]));
        end = offset.wrapping_add(u64::from(lengths[i]));
        TextPlace { source: sources[i], offset, length: lengths[i] }
    };
    Some((0..n).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_come_back(list in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u32>()), 0..80)) {
            let places: Vec<TextPlace> =
                list.into_iter().map(|(source, offset, length)| TextPlace { source, offset, length }).collect();
            let mut bytes = Vec::new();
            pack_places(&places, &mut Vec::new(), &mut bytes);
            prop_assert_eq!(unpack_places(&bytes, places.len()), Some(places.clone()));
            for cut in 0..bytes.len() {
                prop_assert_eq!(unpack_places(&bytes[..cut], places.len()), None);
            }
        }
    }
}
