//! Summary of the words of an import: their language, which ones were dropped, and which frequent
//! ones were kept.

use serde_json::{Value, json};
use tinylda::corpus::ingest::words::{
    DroppedTokens, LanguageSource, Pipeline, WordOccurrences, language_name, stop_word_list,
};
use tinylda::format::noun_for;

use crate::commands::{counted, escape_control, grouped};
use crate::progress::Ui;

/// Prints the languages of the text and what follows from them. Nothing is printed for text that is
/// processed as before (`as_before`).
pub(super) fn print_languages(dropped: &DroppedTokens, pipeline: &Pipeline, as_before: bool, ui: Ui) {
    if as_before {
        return;
    }
    let found = &dropped.languages;
    let name = |code: &str| language_name(code).unwrap_or(code).to_owned();
    match (found.source, &found.languages[..]) {
        (LanguageSource::Given, _) => {}
        (_, []) => {
            let stop = if pipeline.stop_words.is_empty() { ", so no stop words are dropped" } else { "" };
            ui.say(&format!("language: not detected{stop}; set it with --language"));
        }
        (_, [(code, _)]) => {
            let list = if pipeline.stop_languages.is_empty() && pipeline.stop_words.is_empty() {
                "; no stop words are dropped"
            } else {
                ""
            };
            ui.say(&format!("language: {} (detected{list}; override with --language)", name(code)));
        }
        (_, several) => {
            let names: Vec<String> =
                several.iter().map(|(code, percent)| format!("{} ({percent}%)", name(code))).collect();
            ui.say(&format!(
                "languages: {} of the documents (detected); stop words of all of them are dropped. Topics will \
                 separate languages: import them separately, or choose with --language",
                names.join(", ")
            ));
        }
    }
    if found.presegmented {
        ui.say("words are separated by spaces and are not segmented again; override with --segmentation");
    }
    if found.cut_into_characters {
        ui.say(
            "warning: the text has no spaces between words, and this build has no dictionaries to find them: \
             every character is a word. Use a build with the feature \"segmentation\", or put spaces between \
             the words",
        );
    }
}

/// Returns a note that the default stop words of the detected languages are kept, if only files
/// were `given` as lists.
pub(super) fn replaced_list(dropped: &DroppedTokens, given: &[String]) -> Option<String> {
    if given.iter().any(|name| stop_word_list(name).is_some()) {
        return None;
    }
    let languages = dropped.languages.languages.iter().map(|(code, _)| code.as_str());
    let codes: Vec<&str> = languages.filter(|code| stop_word_list(code).is_some()).collect();
    if codes.is_empty() {
        return None;
    }
    let names: Vec<&str> = codes.iter().map(|code| language_name(code).unwrap_or(code)).collect();
    let files = given.join(",");
    Some(format!(
        "the {} stop words are not removed; to add {files} to them: --stop-words {},{files}",
        names.join(" and "),
        codes.join(",")
    ))
}

/// Prints which tokens were dropped, and why. `lists` are the names of the lists of stop words, and
/// `replaced` is a note that they replace the default list.
pub(super) fn print_dropped(
    dropped: &DroppedTokens,
    lists: &[String],
    replaced: Option<String>,
    fixed: bool,
    ui: Ui,
) {
    let mut parts = Vec::new();
    let mut tokens = |n: u64, what: String| {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    };
    let of = if lists.is_empty() { String::new() } else { format!(" ({})", lists.join(", ")) };
    tokens(dropped.stop, format!("stop words{of}"));
    tokens(dropped.numbers, "without a letter".into());
    tokens(dropped.short, "too short".into());
    tokens(dropped.long, "too long".into());
    tokens(dropped.noise, "not words (addresses, codes)".into());
    let mut of_words = |(words, n): (u64, u64), reason: String| {
        tokens(n, format!("{} of {} ({reason})", noun_for(n, "token"), counted(words, "word")));
    };
    of_words(dropped.rare, format!("in fewer than {}", counted(dropped.min_docs, "document")));
    of_words(dropped.frequent, "in more documents than --max-docs".into());
    of_words(dropped.over_limit, "beyond --max-words".into());
    if fixed {
        tokens(dropped.unknown, "not in the vocabulary".into());
    }
    let left = if parts.is_empty() { "nothing".into() } else { parts.join("; ") };
    ui.say(&format!("{} in the text; dropped: {left}", counted(dropped.tokens, "token")));
    print_frequent_stop_words(dropped, ui);
    match replaced {
        // Most of the frequent words are on the default list, which the note proposes.
        Some(note) => ui.say(&note),
        None => print_frequent_words(dropped, lists, ui),
    }
    if dropped.phrases > 0 {
        ui.say(&format!("{} joined", counted(dropped.phrases, "phrase")));
    }
    if dropped.replaced > 0 {
        ui.say(&format!(
            "warning: {} bytes that are not UTF-8, which were replaced; if the text has another encoding, \
             pass --encoding; --strict rejects such text",
            if dropped.replaced == 1 {
                "1 document contains".into()
            } else {
                format!("{} documents contain", grouped(dropped.replaced))
            }
        ));
    }
}

/// Returns words with spaces between them.
fn join_words(words: &[WordOccurrences]) -> String {
    words.iter().map(|word| escape_control(&word.word)).collect::<Vec<_>>().join(" ")
}

/// Prints the most frequent stop words.
fn print_frequent_stop_words(dropped: &DroppedTokens, ui: Ui) {
    if !dropped.stop_words.is_empty() {
        let words = join_words(&dropped.stop_words);
        ui.say(&format!("most frequent stop words: {words} (other lists: --stop-words)"));
    }
}

/// Prints the most frequent words that were kept.
fn print_frequent_words(dropped: &DroppedTokens, lists: &[String], ui: Ui) {
    if !dropped.common_words.is_empty() {
        let lists: String = lists.iter().flat_map(|name| [name, ","]).collect();
        ui.say(&format!(
            "frequent words, each in more than 25% of the documents: {} (drop them with --max-docs 25% or --stop-words {lists}FILE)",
            join_words(&dropped.common_words)
        ));
    }
}

/// Returns which tokens were dropped, as JSON.
pub(crate) fn dropped_json(dropped: &DroppedTokens) -> Value {
    let words = |list: &[WordOccurrences], count: &str| -> Vec<Value> {
        list.iter().map(|word| json!({ "word": word.word, count: word.count })).collect()
    };
    let languages: Vec<Value> = dropped
        .languages
        .languages
        .iter()
        .map(|(code, percent)| json!({ "language": code, "percent": percent }))
        .collect();
    json!({
        "languages": languages,
        "languages_detected": dropped.languages.source == LanguageSource::Detected,
        "presegmented": dropped.languages.presegmented,
        "tokens_in_text": dropped.tokens,
        "stop_words": dropped.stop,
        "most_frequent_stop_words": words(&dropped.stop_words, "tokens"),
        "most_frequent_words": words(&dropped.common_words, "documents"),
        "numbers": dropped.numbers,
        "short": dropped.short,
        "long": dropped.long,
        "noise": dropped.noise,
        "rare_words": dropped.rare.0,
        "rare_tokens": dropped.rare.1,
        "frequent_words": dropped.frequent.0,
        "frequent_tokens": dropped.frequent.1,
        "beyond_max_words": dropped.over_limit.0,
        "beyond_max_tokens": dropped.over_limit.1,
        "unknown_tokens": dropped.unknown,
        "phrases": dropped.phrases,
        "documents_not_utf8": dropped.replaced,
        "min_docs": dropped.min_docs,
        "spilled": dropped.spilled,
    })
}
