//! `tinylda stop-words`: prints the lists of stop words.

use std::fmt::Write;

use serde_json::json;
use tinylda::corpus::ingest::words::{StopWordList, stop_word_list, stop_word_lists};

use super::{print, usage};
use crate::args::StopWordsArgs;

pub(crate) fn run(a: &StopWordsArgs) -> anyhow::Result<()> {
    let Some(name) = &a.list else { return print_lists(&stop_word_lists(), a.json) };
    let Some(mut words) = stop_word_list(name) else { return Err(unknown(name)) };
    words.sort_unstable();
    words.dedup();
    let lines: String = words.iter().flat_map(|word| [word, "\n"]).collect();
    print(a.json, &json!({ "list": name, "words": words }), &lines)
}

fn print_lists(lists: &[StopWordList], as_json: bool) -> anyhow::Result<()> {
    let value: Vec<_> = lists
        .iter()
        .map(|list| {
            json!({
                "list": list.name,
                "language": list.language,
                "words": list.words,
                "words_of_long_list": list.long_words,
            })
        })
        .collect();
    let mut text = String::from("list  words  language\n");
    for list in lists {
        let long = list.long_words.map_or_else(String::new, |n| format!(" ({}-long: {n} words)", list.name));
        writeln!(text, "{:<4}  {:>5}  {}{long}", list.name, list.words, list.language)?;
    }
    print(as_json, &json!({ "lists": value }), &text)
}

/// Returns the error for an unknown list.
fn unknown(name: &str) -> anyhow::Error {
    let language = name.strip_suffix("-long").filter(|language| stop_word_list(language).is_some());
    match language {
        Some(language) => usage(format!(
            "there is no long list of stop words {name:?}; {language} has one list, `tinylda stop-words {language}`"
        )),
        None => usage(format!(
            "unknown list of stop words {name:?}; `tinylda stop-words` prints the names of all lists"
        )),
    }
}
