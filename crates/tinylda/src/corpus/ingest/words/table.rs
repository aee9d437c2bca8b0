//! Strings and what is known of them: one buffer for all the bytes, a list of entries, and a table
//! of their numbers. Nothing is allocated for a string, and strings of up to 16 bytes, nearly all,
//! are compared without a look at the buffer.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;

use crate::corpus::Vocabulary;

/// Always the same numbers: nothing that is written depends on them, and a run should be the same
/// to the last step.
const STATE: foldhash::fast::FixedState = foldhash::fast::FixedState::with_seed(0x5eed);

/// The first and the last eight bytes, which overlap in a short string: with the length, all of it
/// up to sixteen bytes.
type Ends = [u64; 2];

#[inline]
fn ends(bytes: &[u8]) -> Ends {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        [u64::from_le_bytes(*first), u64::from_le_bytes(*last)]
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        [u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()]
    } else if let (Some(first), Some(last)) = (bytes.first(), bytes.last()) {
        let middle = bytes[bytes.len() / 2];
        [u64::from(*first) | u64::from(middle) << 8, u64::from(*last)]
    } else {
        [0, 0]
    }
}

/// A hash of a string that has these ends.
#[inline]
fn hash(bytes: &[u8], [first, last]: Ends) -> u64 {
    if bytes.len() > 16 {
        let mut hasher = STATE.build_hasher();
        hasher.write(bytes);
        return hasher.finish();
    }
    let length = bytes.len() as u64;
    let product =
        u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(last ^ 0xd1b5_4a32_d192_ed03 ^ length << 56);
    // The table takes its place from the lowest bits and seven more from the highest: both must
    // depend on all.
    let mixed = (product as u64 ^ (product >> 64) as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
    mixed ^ mixed >> 32
}

/// A string and what is known of it.
#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    ends: Ends,
    at: u32,
    length: u32,
    value: T,
}

/// Strings -> values.
#[derive(Debug)]
pub(crate) struct Table<T> {
    text: Vec<u8>,
    entries: Vec<Entry<T>>,
    numbers: HashTable<u32>,
}

impl<T: Copy> Table<T> {
    pub(crate) fn new() -> Table<T> {
        Table { text: Vec::new(), entries: Vec::new(), numbers: HashTable::new() }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.entries.capacity() * size_of::<Entry<T>>() + self.numbers.capacity() * 6
    }

    /// Bytes of memory, those included that a part which is nearly full takes while it grows.
    pub(crate) fn bytes_soon(&self) -> usize {
        let part = |length: usize, capacity: usize, size: usize| {
            let growing = length > capacity - capacity / 16;
            capacity * size * if growing { 3 } else { 1 }
        };
        part(self.text.len(), self.text.capacity(), 1)
            + part(self.entries.len(), self.entries.capacity(), size_of::<Entry<T>>())
            + part(self.numbers.len(), self.numbers.capacity(), 6)
    }

    /// The string's number; it is taken in with a value where it is new.
    #[inline]
    pub(crate) fn number(&mut self, bytes: &[u8], new: impl FnOnce() -> T) -> u32 {
        let ends = ends(bytes);
        let hash = hash(bytes, ends);
        let (text, entries) = (&self.text, &self.entries);
        let same = |&i: &u32| {
            let e = &entries[i as usize];
            e.ends == ends
                && e.length as usize == bytes.len()
                && (bytes.len() <= 16 || &text[e.at as usize..(e.at + e.length) as usize] == bytes)
        };
        if let Some(&i) = self.numbers.find(hash, same) {
            return i;
        }
        self.add(bytes, ends, hash, new())
    }

    #[cold]
    fn add(&mut self, bytes: &[u8], ends: Ends, hash: u64, value: T) -> u32 {
        let number = self.entries.len() as u32;
        let (at, length) = (self.text.len() as u32, bytes.len() as u32);
        self.text.extend_from_slice(bytes);
        self.entries.push(Entry { ends, at, length, value });
        let (text, entries) = (&self.text, &self.entries);
        self.numbers.insert_unique(hash, number, |&i| {
            let e = &entries[i as usize];
            self::hash(&text[e.at as usize..(e.at + e.length) as usize], e.ends)
        });
        number
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn value(&self, number: u32) -> &T {
        &self.entries[number as usize].value
    }

    pub(crate) fn value_mut(&mut self, number: u32) -> &mut T {
        &mut self.entries[number as usize].value
    }

    pub(crate) fn bytes_of(&self, number: u32) -> &[u8] {
        let e = &self.entries[number as usize];
        &self.text[e.at as usize..(e.at + e.length) as usize]
    }

    /// The numbers of all strings, in the order of their bytes.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.entries.len() as u32).collect();
        all.sort_unstable_by(|&a, &b| self.bytes_of(a).cmp(self.bytes_of(b)));
        all
    }

    /// Forgets all, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        self.numbers.clear();
    }
}

/// Word -> id, over a vocabulary.
#[derive(Debug)]
pub(crate) struct Lexicon<'a> {
    text: &'a [u8],
    /// Where words end.
    stops: &'a [u64],
    /// Half of the hash, and the id.
    ids: HashTable<(u32, u32)>,
}

impl<'a> Lexicon<'a> {
    pub(crate) fn new(vocabulary: &'a Vocabulary) -> Lexicon<'a> {
        let (text, stops) = vocabulary.parts();
        let mut ids = HashTable::with_capacity(vocabulary.len());
        let hash = |word: &str| hash(word.as_bytes(), ends(word.as_bytes()));
        for (word, id) in vocabulary.iter().zip(0u32..) {
            let hashed = hash(word);
            ids.insert_unique(hashed, (hashed as u32, id), |&(_, id)| {
                hash(vocabulary.get(id).unwrap_or_default())
            });
        }
        Lexicon { text: text.as_bytes(), stops, ids }
    }

    /// The id of a word.
    pub(crate) fn id(&self, word: &[u8]) -> Option<u32> {
        let hashed = hash(word, ends(word));
        let same = |&(half, id): &(u32, u32)| {
            let end = self.stops[id as usize] as usize;
            let start = if id == 0 { 0 } else { self.stops[id as usize - 1] as usize };
            half == hashed as u32 && &self.text[start..end] == word
        };
        self.ids.find(hashed, same).map(|&(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strings of all lengths that differ in one byte.
    #[test]
    fn like_strings_are_told_apart() {
        let mut table = Table::new();
        let mut all = vec![Vec::new()];
        for length in 1..40 {
            all.push(vec![0u8; length]);
            for at in 0..length {
                let mut bytes = vec![0u8; length];
                bytes[at] = 1;
                all.push(bytes);
            }
        }
        for _ in 0..2 {
            for (bytes, i) in all.iter().zip(0u32..) {
                assert_eq!(table.number(bytes, || ()), i);
                assert_eq!(table.bytes_of(i), bytes);
            }
        }
        assert_eq!(table.len(), all.len());
    }

    /// The bits that the table uses are all in use, for short strings too.
    #[test]
    fn hashes_are_spread() {
        for length in 1..=17 {
            let mut seen = [[0u32; 128]; 2];
            for i in 0..20_000u32 {
                let bytes: Vec<u8> =
                    (0..length).map(|at| b'a' + (i / 26u32.pow(at % 4) % 26) as u8).rev().collect();
                let hash = hash(&bytes, ends(&bytes));
                seen[0][(hash >> 57) as usize] += 1;
                seen[1][(hash & 127) as usize] += 1;
            }
            // 26 and 676 strings of one and two letters cannot reach all.
            let (least, most) = if length < 3 { (0, 20_000 / 4) } else { (60, 320) };
            assert!(seen.iter().flatten().all(|&n| (least..most).contains(&n)), "{length} {seen:?}");
        }
    }

    #[test]
    fn strings_are_found_again() {
        let mut table = Table::new();
        for round in 0..2 {
            for i in 0..5000u32 {
                let word = format!("w{}", i * i);
                let n = table.number(word.as_bytes(), || 0u32);
                assert_eq!(n, i);
                *table.value_mut(n) += round + 1;
            }
        }
        assert!((0..5000).all(|i| *table.value(i) == 3));
        let sorted = table.sorted();
        assert!(sorted.windows(2).all(|w| table.bytes_of(w[0]) < table.bytes_of(w[1])));
        table.clear();
        assert_eq!(table.number(b"x", || 1), 0);
        let mut vocabulary = Vocabulary::new();
        for w in ["a", "b", "ab"] {
            vocabulary.push(w);
        }
        let lexicon = Lexicon::new(&vocabulary);
        assert_eq!((lexicon.id(b"ab"), lexicon.id(b"c")), (Some(2), None));
    }
}
