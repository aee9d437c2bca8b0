//! `tinylda demo`: all steps on a small generated collection.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::json;
use tinylda::corpus::Synth;
use tinylda::eval::predictive_perplexity;
use tinylda::files::TemporaryFolder;
use tinylda::train::Summary;
use tinylda::{Algorithm, Corpus, Event, Inference, Model, Trainer, Vocabulary};

use super::themes::{COMMON, THEMES};
use super::{print, shape_line};
use crate::args;
use crate::progress::{Ui, Unit};

/// Number of generated documents.
const DOCUMENTS: u64 = 4000;
/// Number of topics: one per theme, and one for the words that all documents share.
const TOPICS: u32 = THEMES.len() as u32 + 1;

pub(crate) fn run(a: &args::DemoArgs, ui: Ui) -> anyhow::Result<()> {
    let temporary = TemporaryFolder::new_in(std::env::temp_dir())?;
    let folder = a.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).with_context(|| {
        format!("cannot create the folder {}; choose another for --keep", folder.display())
    })?;
    let drawn = draw(&folder.join("demo.tlc"), a.seed)?;
    let shape = drawn.shape();
    ui.say(&format!("Generated a collection about {} themes: {}.", THEMES.len(), shape_line(shape)));
    let learned = learn(&drawn, folder, a.seed, ui)?;
    let DemoModel { model, summary, perplexity, .. } = &learned;

    let found = matches(model);
    let top = model.top_words(8);
    let recovered = THEMES
        .iter()
        .filter(|(name, _)| found.iter().any(|(theme, share)| theme == name && *share > 0.5))
        .count();
    let mut lines = format!(
        "Found {TOPICS} topics in {:.1} s ({} passes) without knowing the themes:\n\n  theme        agreement  top words of the topic\n",
        summary.seconds, summary.passes
    );
    let mut order: Vec<usize> = (0..top.len()).collect();
    order.sort_by_key(|&k| THEMES.iter().position(|(name, _)| *name == found[k].0).unwrap_or(usize::MAX));
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
        let (corpus, model) = (folder.join("demo.tlc"), folder.join("demo.model"));
        writeln!(lines, "\nSaved: {} and {}", corpus.display(), model.display())?;
    }
    let report = report(a, &learned, ui);
    if let Some(report) = &report {
        writeln!(lines, "\nTo explore these topics, open {} in a browser.", report.display())?;
    }
    let value = json!({
        "documents": shape.documents,
        "tokens": shape.tokens,
        "topics": TOPICS,
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
    /// Predictive perplexity of the held-out fifth.
    perplexity: f64,
}

/// Trains on four fifths of the documents and evaluates the model on the others.
fn learn(drawn: &Corpus, folder: &Path, seed: u64, ui: Ui) -> anyhow::Result<DemoModel> {
    let (train, test) = (folder.join("train.tlc"), folder.join("test.tlc"));
    tinylda::corpus::split(drawn, 0.2, seed, &train, &test, &mut |_| std::ops::ControlFlow::Continue(()))?;
    let corpus = Corpus::open(&train)?;
    let bar = ui.bar("pass", Unit::Plain);
    let trainer = Trainer::new(TOPICS).algorithm(Algorithm::Atbp).passes(100).tolerance(0.05).seed(seed);
    let trained = trainer.train(&corpus, |event| match event {
        Event::Progress(p) => bar.update_fraction(p.done, &format!("pass {}/{}", p.pass, p.passes), ""),
        _ => std::ops::ControlFlow::Continue(()),
    })?;
    bar.finish();
    trained.model.save(folder.join("demo.model"))?;
    let model = Model::load(folder.join("demo.model"))?;
    let heldout = predictive_perplexity(&model, &Corpus::open(&test)?, seed, Inference::Same, &mut |_| {
        std::ops::ControlFlow::Continue(())
    })?;
    let perplexity = heldout.predictive_perplexity;
    Ok(DemoModel { corpus, model, summary: trained.summary, perplexity })
}

/// Writes the report page. Failure is not an error, since the demo is useful without the file.
fn report(a: &args::DemoArgs, learned: &DemoModel, ui: Ui) -> Option<PathBuf> {
    let page =
        a.keep.as_deref().map_or_else(|| "tinylda-demo.html".into(), |folder| folder.join("demo.html"));
    let request = super::report::ReportRequest {
        title: "Demo".into(),
        input: "generated documents".into(),
        command: format!("tinylda demo --seed {}", a.seed),
        passes: Vec::new(),
        memory: None,
        texts: None,
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

/// Generates the collection. A word of two themes (trial, whistle) is one word, as in real text.
fn draw(path: &Path, seed: u64) -> anyhow::Result<Corpus> {
    let mut vocabulary = Vocabulary::new();
    let mut ids: HashMap<&str, u32> = HashMap::new();
    let mut list = |words: &'static str| -> Vec<(u32, f64)> {
        words
            .split_ascii_whitespace()
            .zip(1u32..)
            .map(|(word, rank)| {
                let id = *ids.entry(word).or_insert_with(|| {
                    vocabulary.push(word);
                    vocabulary.len() as u32 - 1
                });
                (id, 1.0 / (f64::from(rank) + 4.0))
            })
            .collect()
    };
    let common = list(COMMON);
    let themes: Vec<_> = THEMES.iter().map(|(_, words)| list(words)).collect();
    let settings = Synth {
        documents: DOCUMENTS,
        words: vocabulary.len() as u32,
        mean_length: 40.0,
        alpha: 0.06,
        smooth: 0.3,
        burst: 0.1,
        seed,
        ..Synth::default()
    };
    let mut synthetic = settings.with_topics(&common, &themes)?;
    Ok(synthetic.write(path, &vocabulary, &mut |_| std::ops::ControlFlow::Continue(()))?)
}

/// Returns for every topic the theme with the largest probability mass, and that mass.
fn matches(model: &Model) -> Vec<(&'static str, f64)> {
    let lists: Vec<(&'static str, Vec<&'static str>)> = THEMES
        .iter()
        .map(|&(name, words)| (name, words.split_ascii_whitespace().collect()))
        .chain([("(all share)", COMMON.split_ascii_whitespace().collect())])
        .collect();
    let every = model.top_words(model.words() as usize);
    every
        .iter()
        .map(|words| {
            let weight = |list: &[&str]| -> f64 {
                words
                    .iter()
                    .filter(|w| list.contains(&model.word_name(w.word).as_ref()))
                    .map(|w| w.probability)
                    .sum()
            };
            lists
                .iter()
                .map(|(name, list)| (*name, weight(list)))
                .fold(("", 0.0), |best, next| if next.1 > best.1 { next } else { best })
        })
        .collect()
}
