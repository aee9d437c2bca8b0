//! `tinylda topics`

use std::fmt::Write;

use serde_json::json;
use tinylda::Model;

use super::{plain, print, shown, visible};
use crate::args;

pub(crate) fn run(a: &args::Topics) -> anyhow::Result<()> {
    let model = Model::load(&a.model)?;
    let all = model.top_words(a.words);
    let value = json!({
        "model": shown(&a.model),
        "topics": all.iter().zip(0u32..).map(|(words, k)| json!({
            "topic": k,
            "share": model.share(k),
            "alpha": plain(model.alpha()[k as usize]),
            "words": words.iter().map(|w| json!({
                "word": model.word_name(w.word),
                "probability": w.probability,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut lines = String::from("topic   share  words\n");
    for (words, k) in all.iter().zip(0u32..) {
        let words: Vec<_> = words.iter().map(|w| visible(&model.word_name(w.word))).collect();
        writeln!(lines, "{k:5}  {:5.1}%  {}", 100.0 * model.share(k), words.join(" "))?;
    }
    print(a.json, &value, &lines)
}
