//! `tinylda demo`: all steps on a small generated collection of texts.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use tinylda::corpus::ingest::{Format, Import};
use tinylda::eval::predictive_perplexity;
use tinylda::report::{PassRecord, TextAccess};
use tinylda::train::Summary;
use tinylda::{Corpus, Event, Inference, Model, Stop, Trainer};

use super::themes::{COMMON, THEMES, Theme};
use super::{end_of_training, print, shape_line};
use crate::args;
use crate::progress::{Ui, Unit};

/// Number of generated documents.
const DOCUMENTS: usize = 2000;
/// Number of topics: one per theme, and one for the words that all documents share.
const TOPICS: u32 = THEMES.len() as u32 + 1;
/// Maximum number of passes.
const PASSES: u32 = 60;
/// Share of a topic's words that must belong to a theme for the theme to count as found.
const FOUND: f64 = 0.5;

pub(crate) fn run(a: &args::DemoArgs, ui: Ui) -> anyhow::Result<()> {
    let temporary = super::temporary_folder()?;
    let folder = a.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).with_context(|| {
        format!("cannot create the folder {}; choose another for --keep", folder.display())
    })?;
    let collection = import(folder, a.seed)?;
    let shape = collection.shape();
    ui.say(&format!("Wrote a collection of texts about {} themes: {}.", THEMES.len(), shape_line(shape)));
    let learned = learn(&collection, folder, a.seed, ui)?;
    let DemoModel { model, summary, perplexity, .. } = &learned;

    let found = matches(model);
    let top = model.top_words(8);
    let recovered = THEMES
        .iter()
        .filter(|theme| found.iter().any(|(name, share)| *name == theme.name && *share > FOUND))
        .count();
    let mut lines = format!(
        "Found {TOPICS} topics in {:.1} s ({}) without knowing the themes:\n\n  theme        agreement  top words of the topic\n",
        summary.seconds,
        end_of_training(summary.passes, summary.stop == Stop::Converged)
    );
    let mut order: Vec<usize> = (0..top.len()).collect();
    order.sort_by_key(|&k| THEMES.iter().position(|theme| theme.name == found[k].0).unwrap_or(usize::MAX));
    for &k in &order {
        let words: Vec<_> = top[k].iter().map(|w| model.word_name(w.word)).collect();
        writeln!(lines, "  {:12} {:8.0}%  {}", found[k].0, 100.0 * found[k].1, words.join(" "))?;
    }
    write!(
        lines,
        "\n{recovered} of {} themes found. Predictive perplexity on held-out documents: {perplexity:.1} (random guessing: {}).\n\n\
         Next, try your own documents (a text file with one document per line):\n  \
         tinylda train my-documents.txt -k 20 -o my.model --report my.html\n  tinylda topics my.model\n",
        THEMES.len(),
        model.words()
    )?;
    if a.keep.is_some() {
        let [texts, corpus, model] = ["demo.txt", "demo.tlc", "demo.model"].map(|name| folder.join(name));
        writeln!(lines, "\nSaved: {}, {} and {}", texts.display(), corpus.display(), model.display())?;
    }
    let report = report(a, &learned, folder, ui);
    if let Some(report) = &report {
        writeln!(lines, "\nTo explore these topics, open {} in a browser.", report.display())?;
    }
    let value = json!({
        "documents": shape.documents,
        "tokens": shape.tokens,
        "topics": TOPICS,
        "algorithm": model.training().algorithm,
        "passes": summary.passes,
        "seconds": summary.seconds,
        "train_perplexity": summary.train_perplexity,
        "predictive_perplexity": perplexity,
        "report": report.as_deref().map(super::path_string),
        "themes": THEMES.len(),
        "themes_found": recovered,
        "found": order.iter().map(|&k| json!({
            "topic": k,
            "theme": found[k].0,
            "agreement": found[k].1,
            "words": top[k].iter().map(|w| model.word_name(w.word)).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    print(a.json, &value, &lines)
}

/// Model of four fifths of the collection, and its evaluation on the rest.
struct DemoModel {
    corpus: Corpus,
    model: Model,
    summary: Summary,
    /// Passes of the training, for the report.
    passes: Vec<PassRecord>,
    /// Predictive perplexity of the held-out fifth.
    perplexity: f64,
}

/// Trains on four fifths of the documents and evaluates the model on the others.
fn learn(collection: &Corpus, folder: &Path, seed: u64, ui: Ui) -> anyhow::Result<DemoModel> {
    let (train, test) = (folder.join("train.tlc"), folder.join("test.tlc"));
    let silent = &mut |_| std::ops::ControlFlow::Continue(());
    tinylda::corpus::split(collection, 0.2, seed, &train, &test, silent)?;
    let corpus = Corpus::open(&train)?;
    let bar = ui.bar("pass", Unit::Plain);
    let trainer = Trainer::new(TOPICS).passes(PASSES).seed(seed).threads(super::infer::thread_count(None));
    let mut passes = Vec::new();
    let trained = trainer.train(&corpus, |event| match event {
        Event::Progress(p) => bar.update_fraction(p.done, &format!("pass {}/{}", p.pass, p.passes), &[]),
        Event::Pass(report) => {
            let (pass, perplexity) = (report.pass, report.train_perplexity);
            passes.push(PassRecord { pass, perplexity, seconds: Some(report.seconds), memory: None });
            std::ops::ControlFlow::Continue(())
        }
        _ => std::ops::ControlFlow::Continue(()),
    })?;
    bar.finish();
    trained.model.save(folder.join("demo.model"))?;
    let model = Model::load(folder.join("demo.model"))?;
    let heldout = predictive_perplexity(&model, &Corpus::open(&test)?, seed, Inference::Same, silent)?;
    let perplexity = heldout.predictive_perplexity;
    Ok(DemoModel { corpus, model, summary: trained.summary, passes, perplexity })
}

/// Writes the report page. Failure is not an error, since the demo is useful without the file.
fn report(a: &args::DemoArgs, learned: &DemoModel, folder: &Path, ui: Ui) -> Option<PathBuf> {
    let page =
        a.keep.as_deref().map_or_else(|| "tinylda-demo.html".into(), |folder| folder.join("demo.html"));
    let request = super::report::ReportRequest {
        title: "Demo".into(),
        input: "generated documents".into(),
        command: format!("tinylda demo --seed {}", a.seed),
        passes: learned.passes.clone(),
        memory: None,
        texts: Some(TextAccess { named: vec![folder.join("demo.txt")] }),
        threads: super::infer::thread_count(None),
    };
    match request.write(&learned.model, Some(&learned.corpus), None, &page, ui) {
        Ok(_) => Some(page),
        Err(error) => {
            ui.say(&format!("report not written: {}", crate::message(&error)));
            None
        }
    }
}

/// Writes the texts, one document per line, and imports them as a user would.
fn import(folder: &Path, seed: u64) -> anyhow::Result<Corpus> {
    let (texts, corpus) = (folder.join("demo.txt"), folder.join("demo.tlc"));
    tinylda::files::write_file(&texts, compose(seed).as_bytes())?;
    let import = Import { format: Some(Format::Text), ..Import::default() };
    import.run(&texts, &corpus, &mut |_| std::ops::ControlFlow::Continue(()))?;
    Ok(Corpus::open(&corpus)?)
}

/// Random numbers of the collection: SplitMix64, the same on every machine.
struct DemoRandom(u64);

impl DemoRandom {
    /// Returns a number below `n`, which must not be 0.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    /// Returns a number below `n`; lower numbers are more likely.
    fn low(&mut self, n: usize) -> usize {
        self.below(n).min(self.below(n))
    }
}

/// Returns the texts of the collection, one document per line.
///
/// A document has a main theme, and most have a second one. Some sentences belong to no theme.
fn compose(seed: u64) -> String {
    let mut random = DemoRandom(seed);
    let mut texts = String::new();
    for _ in 0..DOCUMENTS {
        let main = random.below(THEMES.len());
        let second = if random.below(3) > 0 { random.below(THEMES.len()) } else { main };
        for sentence in 0..5 + random.below(5) {
            if sentence > 0 {
                texts.push(' ');
            }
            match random.below(10) {
                0 => texts.push_str(COMMON[random.below(COMMON.len())]),
                1..=2 => push_sentence(&THEMES[second], &mut random, &mut texts),
                _ => push_sentence(&THEMES[main], &mut random, &mut texts),
            }
        }
        texts.push('\n');
    }
    texts
}

/// Appends a sentence of a theme, with different nouns in its gaps.
fn push_sentence(theme: &Theme, random: &mut DemoRandom, texts: &mut String) {
    let mut nouns: Vec<&str> = theme.nouns.split_ascii_whitespace().collect();
    let mut parts = theme.sentences[random.below(theme.sentences.len())].split("{}");
    texts.push_str(parts.next().unwrap_or_default());
    for part in parts {
        texts.push_str(nouns.remove(random.low(nouns.len())));
        texts.push_str(part);
    }
}

/// Returns all words of some sentences, in lower case.
fn words_of<'s>(sentences: impl Iterator<Item = &'s str>) -> HashSet<String> {
    let words = sentences.flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns for every topic the theme with the largest probability mass, and that mass.
fn matches(model: &Model) -> Vec<(&'static str, f64)> {
    let mut lists: Vec<(&'static str, HashSet<String>)> = THEMES
        .iter()
        .map(|theme| (theme.name, words_of(theme.sentences.iter().copied().chain([theme.nouns]))))
        .collect();
    lists.push(("(all share)", words_of(COMMON.iter().copied())));
    let every = model.top_words(model.words() as usize);
    let mass = |words: &[tinylda::model::TopWord], list: &HashSet<String>| -> f64 {
        let known = words.iter().filter(|w| list.contains(model.word_name(w.word).as_ref()));
        known.map(|w| w.probability).sum()
    };
    every
        .iter()
        .map(|words| {
            let all = lists.iter().map(|(name, list)| (*name, mass(words, list)));
            all.fold(("", 0.0), |best, next| if next.1 > best.1 { next } else { best })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u18_the_demo_consists_of_sentences() {
        let texts = compose(1);
        assert_eq!(texts, compose(1));
        assert_ne!(texts, compose(2));
        assert_eq!(texts.lines().count(), DOCUMENTS);
        for line in texts.lines() {
            assert!(line.starts_with(|c: char| c.is_uppercase()) && line.ends_with('.'), "{line}");
            assert!(!line.contains(['{', '}']) && !line.contains("  "), "{line}");
        }
        for theme in &THEMES {
            let gaps = theme.sentences.iter().map(|s| s.matches("{}").count());
            assert!(gaps.clone().all(|n| (1..=2).contains(&n)), "{}", theme.name);
            assert!(theme.nouns.split_ascii_whitespace().count() >= 10);
        }
    }
}
