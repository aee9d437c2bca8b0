//! Strings and what is known of them: one buffer for all the bytes, a list of entries, and a table of their numbers.
//! Nothing is allocated for a string, and two lookups in three find it in the first place they look.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;

use crate::corpus::Vocabulary;

/// Always the same numbers: nothing that is written depends on them, and a run should be the same to the last step.
const STATE: foldhash::fast::FixedState = foldhash::fast::FixedState::with_seed(0x5eed);

#[inline]
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = STATE.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// A string and what is known of it.
#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    at: u32,
    length: u32,
    hash: u32,
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
        let hash = hash(bytes);
        let (text, entries) = (&self.text, &self.entries);
        // Half of the hash is compared before the bytes are.
        let same = |&i: &u32| {
            let e = &entries[i as usize];
            e.hash == hash as u32 && &text[e.at as usize..(e.at + e.length) as usize] == bytes
        };
        if let Some(&i) = self.numbers.find(hash, same) {
            return i;
        }
        let number = self.entries.len() as u32;
        let (at, length) = (self.text.len() as u32, bytes.len() as u32);
        self.text.extend_from_slice(bytes);
        self.entries.push(Entry { at, length, hash: hash as u32, value: new() });
        let (text, entries) = (&self.text, &self.entries);
        self.numbers.insert_unique(hash, number, |&i| {
            let e = &entries[i as usize];
            self::hash(&text[e.at as usize..(e.at + e.length) as usize])
        });
        number
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
    ends: &'a [u64],
    /// Half of the hash, and the id.
    ids: HashTable<(u32, u32)>,
}

impl<'a> Lexicon<'a> {
    pub(crate) fn new(vocabulary: &'a Vocabulary) -> Lexicon<'a> {
        let (text, ends) = vocabulary.parts();
        let mut ids = HashTable::with_capacity(vocabulary.len());
        for (word, id) in vocabulary.iter().zip(0u32..) {
            let hashed = hash(word.as_bytes());
            ids.insert_unique(hashed, (hashed as u32, id), |&(_, id)| {
                hash(vocabulary.get(id).unwrap_or_default().as_bytes())
            });
        }
        Lexicon { text: text.as_bytes(), ends, ids }
    }

    /// The id of a word.
    #[inline]
    pub(crate) fn id(&self, word: &[u8]) -> Option<u32> {
        let hashed = hash(word);
        let same = |&(half, id): &(u32, u32)| {
            let end = self.ends[id as usize] as usize;
            let start = if id == 0 { 0 } else { self.ends[id as usize - 1] as usize };
            half == hashed as u32 && &self.text[start..end] == word
        };
        self.ids.find(hashed, same).map(|&(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
