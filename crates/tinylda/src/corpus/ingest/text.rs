//! Plain text: a document per line, its words by Unicode's rules (UAX 29), in lower case.
//! A word must have a letter in it; numbers alone are left out. Word ids are given in order of appearance.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use super::Declared;
use super::assemble::Assembler;
use super::lines::Lines;
use crate::corpus::Vocabulary;
use crate::error::Result;

pub(crate) fn read(lines: &mut Lines<'_>, out: &mut Assembler) -> Result<Declared> {
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut vocabulary = Vocabulary::new();
    let mut document = 0u64;
    let mut lower = String::new();
    while lines.advance()? {
        let text = lines.utf8()?;
        if text.contains('\0') {
            return Err(lines.bad(
                "a zero byte".into(),
                "text".into(),
                "This seems to be a binary file: give text, one document per line.",
            ));
        }
        for word in text.unicode_words().filter(|word| word.chars().any(char::is_alphabetic)) {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            let id = if let Some(&id) = ids.get(&lower) {
                id
            } else {
                let id = vocabulary.len() as u32;
                if id == u32::MAX {
                    return Err(lines.bad(
                        "a word too many".into(),
                        "at most 4294967295 different words".into(),
                        "Leave rare words out.",
                    ));
                }
                vocabulary.push(&lower);
                ids.insert(lower.clone(), id);
                id
            };
            out.push(document, id, 1)?;
        }
        document += 1;
        out.declare_documents(document);
    }
    Ok(Declared { words: None, vocabulary: Some(vocabulary) })
}
