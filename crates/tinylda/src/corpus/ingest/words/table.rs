//! Hash table of strings with values: one buffer for the bytes of all strings, a list of entries,
//! and a hash table of entry numbers.
//!
//! No memory is allocated per string, and strings of up to 16 bytes, nearly all, are compared
//! without accessing the buffer. Start with [`StringTable`]; [`WordIndex`] looks up the ids of a
//! vocabulary.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;

use crate::corpus::Vocabulary;

/// Fixed hash seed. No output depends on it, but runs should be reproducible in every step.
const HASH_STATE: foldhash::fast::FixedState = foldhash::fast::FixedState::with_seed(0x5eed);

/// First and last eight bytes of a string, which overlap in a short string. Together with the
/// length they identify strings of up to sixteen bytes.
type KeyEnds = [u64; 2];

#[inline]
fn key_ends(bytes: &[u8]) -> KeyEnds {
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

/// Returns the hash of a string with these ends.
#[inline]
fn hash(bytes: &[u8], [first, last]: KeyEnds) -> u64 {
    if bytes.len() > 16 {
        let mut hasher = HASH_STATE.build_hasher();
        hasher.write(bytes);
        return hasher.finish();
    }
    let length = bytes.len() as u64;
    let product =
        u128::from(first ^ 0x9e37_79b9_7f4a_7c15) * u128::from(last ^ 0xd1b5_4a32_d192_ed03 ^ length << 56);
    // The hash table uses the lowest bits as position and the highest seven bits as tag: both must
    // depend on all input bits.
    let mixed = (product as u64 ^ (product >> 64) as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
    mixed ^ mixed >> 32
}

/// String and its value.
#[derive(Debug, Clone, Copy)]
struct TableEntry<T> {
    ends: KeyEnds,
    at: u32,
    length: u32,
    value: T,
}

/// Map from strings to values. Strings are numbered from 0 in the order of insertion.
#[derive(Debug)]
pub(crate) struct StringTable<T> {
    text: Vec<u8>,
    entries: Vec<TableEntry<T>>,
    numbers: HashTable<u32>,
}

impl<T: Copy> StringTable<T> {
    pub(crate) fn new() -> StringTable<T> {
        StringTable { text: Vec::new(), entries: Vec::new(), numbers: HashTable::new() }
    }

    /// Returns the memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity()
            + self.entries.capacity() * size_of::<TableEntry<T>>()
            + self.numbers.capacity() * 6
    }

    /// Returns the memory in bytes, including what a nearly full part will take while it grows.
    pub(crate) fn bytes_with_growth(&self) -> usize {
        let part = |length: usize, capacity: usize, size: usize| {
            let growing = length > capacity - capacity / 16;
            capacity * size * if growing { 3 } else { 1 }
        };
        part(self.text.len(), self.text.capacity(), 1)
            + part(self.entries.len(), self.entries.capacity(), size_of::<TableEntry<T>>())
            + part(self.numbers.len(), self.numbers.capacity(), 6)
    }

    /// Returns the memory in bytes after `strings` more strings with `text` bytes in total have
    /// been inserted, including what a part that must grow takes while it does.
    pub(crate) fn bytes_after(&self, strings: usize, text: usize) -> usize {
        let part = |length: usize, more: usize, capacity: usize, size: usize| {
            let needed = length + more;
            size * if needed > capacity { capacity + needed.max(2 * capacity) } else { capacity }
        };
        part(self.text.len(), text, self.text.capacity(), 1)
            + part(self.entries.len(), strings, self.entries.capacity(), size_of::<TableEntry<T>>())
            + part(self.numbers.len(), strings, self.numbers.capacity(), 6)
    }

    /// Returns whether `strings` more strings with `text` bytes in total can be inserted without an
    /// allocation.
    #[inline]
    pub(crate) fn has_capacity(&self, strings: usize, text: usize) -> bool {
        self.text.capacity() - self.text.len() >= text
            && self.entries.capacity() - self.entries.len() >= strings
            && self.numbers.capacity() - self.numbers.len() >= strings
    }

    /// Allocates memory for `strings` more strings with `text` bytes in total.
    pub(crate) fn reserve(&mut self, strings: usize, text: usize) {
        self.text.reserve(text);
        self.entries.reserve(strings);
        let (text, entries) = (&self.text, &self.entries);
        self.numbers.reserve(strings, |&i| {
            let e = &entries[i as usize];
            hash(&text[e.at as usize..(e.at + e.length) as usize], e.ends)
        });
    }

    /// Returns the number of a string. Inserts the string with the value of `new` if it is not in
    /// the table.
    #[inline]
    pub(crate) fn intern(&mut self, bytes: &[u8], new: impl FnOnce() -> T) -> u32 {
        let ends = key_ends(bytes);
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
    fn add(&mut self, bytes: &[u8], ends: KeyEnds, hash: u64, value: T) -> u32 {
        let number = self.entries.len() as u32;
        let (at, length) = (self.text.len() as u32, bytes.len() as u32);
        self.text.extend_from_slice(bytes);
        self.entries.push(TableEntry { ends, at, length, value });
        let (text, entries) = (&self.text, &self.entries);
        self.numbers.insert_unique(hash, number, |&i| {
            let e = &entries[i as usize];
            self::hash(&text[e.at as usize..(e.at + e.length) as usize], e.ends)
        });
        number
    }

    /// Returns the number of strings.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn value(&self, number: u32) -> &T {
        &self.entries[number as usize].value
    }

    pub(crate) fn value_mut(&mut self, number: u32) -> &mut T {
        &mut self.entries[number as usize].value
    }

    pub(crate) fn string(&self, number: u32) -> &[u8] {
        let e = &self.entries[number as usize];
        &self.text[e.at as usize..(e.at + e.length) as usize]
    }

    /// Returns the numbers of all strings in the order of their bytes.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.entries.len() as u32).collect();
        all.sort_unstable_by(|&a, &b| self.string(a).cmp(self.string(b)));
        all
    }

    /// Removes all strings and keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        self.numbers.clear();
    }
}

/// Index of the word ids of a vocabulary.
#[derive(Debug)]
pub(crate) struct WordIndex<'a> {
    text: &'a [u8],
    /// End of each word in `text`.
    stops: &'a [u64],
    /// Lower half of the hash, and the word id.
    ids: HashTable<(u32, u32)>,
}

impl<'a> WordIndex<'a> {
    pub(crate) fn new(vocabulary: &'a Vocabulary) -> WordIndex<'a> {
        let (text, stops) = vocabulary.parts();
        let mut ids = HashTable::with_capacity(vocabulary.len());
        let hash = |word: &str| hash(word.as_bytes(), key_ends(word.as_bytes()));
        for (word, id) in vocabulary.iter().zip(0u32..) {
            let hashed = hash(word);
            ids.insert_unique(hashed, (hashed as u32, id), |&(_, id)| {
                hash(vocabulary.get(id).unwrap_or_default())
            });
        }
        WordIndex { text: text.as_bytes(), stops, ids }
    }

    /// Returns the id of a word; `None` if it is not in the vocabulary.
    pub(crate) fn id(&self, word: &[u8]) -> Option<u32> {
        let hashed = hash(word, key_ends(word));
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

    /// Strings of all lengths that differ in one byte get different numbers.
    #[test]
    fn like_strings_are_told_apart() {
        let mut table = StringTable::new();
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
                assert_eq!(table.intern(bytes, || ()), i);
                assert_eq!(table.string(i), bytes);
            }
        }
        assert_eq!(table.len(), all.len());
    }

    /// All bits that the hash table uses vary, for short strings, too.
    #[test]
    fn hashes_are_spread() {
        for length in 1..=17 {
            let mut seen = [[0u32; 128]; 2];
            for i in 0..20_000u32 {
                let bytes: Vec<u8> =
                    (0..length).map(|at| b'a' + (i / 26u32.pow(at % 4) % 26) as u8).rev().collect();
                let hash = hash(&bytes, key_ends(&bytes));
                seen[0][(hash >> 57) as usize] += 1;
                seen[1][(hash & 127) as usize] += 1;
            }
            // The 26 and 676 strings of one and two letters cannot reach all values.
            let (least, most) = if length < 3 { (0, 20_000 / 4) } else { (60, 320) };
            assert!(seen.iter().flatten().all(|&n| (least..most).contains(&n)), "{length} {seen:?}");
        }
    }

    #[test]
    fn strings_are_found_again() {
        let mut table = StringTable::new();
        for round in 0..2 {
            for i in 0..5000u32 {
                let word = format!("w{}", i * i);
                let n = table.intern(word.as_bytes(), || 0u32);
                assert_eq!(n, i);
                *table.value_mut(n) += round + 1;
            }
        }
        assert!((0..5000).all(|i| *table.value(i) == 3));
        let sorted = table.sorted();
        assert!(sorted.windows(2).all(|w| table.string(w[0]) < table.string(w[1])));
        table.clear();
        assert_eq!(table.intern(b"x", || 1), 0);
        let mut vocabulary = Vocabulary::new();
        for w in ["a", "b", "ab"] {
            vocabulary.push(w);
        }
        let index = WordIndex::new(&vocabulary);
        assert_eq!((index.id(b"ab"), index.id(b"c")), (Some(2), None));
    }
}
