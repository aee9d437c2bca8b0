//! `tinylda train`

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::Context;
use serde_json::json;
use tinylda::{Algorithm, Corpus, Instructions, PassReport, Stop, Trainer};

use super::{check_output, grouped, print, shown, usage};
use crate::progress::{Bar, Ui, Unit};
use crate::{MAY_EXIT, args, machine};

pub(crate) fn run(a: &args::Train, ui: Ui) -> anyhow::Result<()> {
    let log_to_stdout = a.log.as_deref() == Some(Path::new("-"));
    if a.json && log_to_stdout {
        return Err(super::export::both_to_stdout("--log -"));
    }
    let ours = [
        ("--threads", a.threads.is_some()),
        ("--exclude", a.exclude.is_some()),
        ("--active", a.active.is_some()),
    ];
    for (option, given) in ours {
        if given && a.algorithm != args::Algorithm::Tbp {
            let found = format!("given with {}", name(a.algorithm).name());
            return Err(usage(option, found, "it only with --algorithm tbp", "Leave it out, or choose tbp."));
        }
    }
    let inputs = [Some(a.corpus.as_path()), a.start.as_deref(), a.order.as_deref()];
    check_output("-o", &a.output, &inputs)?;
    if let Some(log) = a.log.as_deref().filter(|_| !log_to_stdout) {
        check_output("--log", log, &[&inputs[..], &[Some(&a.output)]].concat())?;
    }
    let corpus = Corpus::open(&a.corpus)?;
    let trainer = trainer(a)?;
    trainer.check(&corpus)?;
    // Hours of training should not be lost to a name that cannot be written to: try it before.
    tinylda::check_writable(&a.output)?;
    let mut log = a.log.as_deref().map(open_log).transpose()?;
    let shape = corpus.shape();
    ui.say(&format!(
        "training {} topics with {} on {}: {} documents, {} non-zeros",
        a.topics,
        name(a.algorithm).name(),
        a.corpus.display(),
        grouped(shape.documents),
        grouped(shape.nonzeros)
    ));
    if a.topics == 1 {
        ui.say("one topic is just the word frequencies: -k 2 or more finds something");
    }
    // Training may converge before the last pass, so the time left is an upper bound and says so.
    let bar = ui.bar("pass", Unit::AtMost);
    let mut failed = None;
    MAY_EXIT.store(true, Ordering::Relaxed);
    let trained = trainer.train(&corpus, |report| {
        if let Some((out, path)) = &mut log
            && let Err(e) = log_line(out, report)
        {
            let what = format!("cannot write the log {path}; no model was written");
            failed = Some(anyhow::Error::from(e).context(what));
            return ControlFlow::Break(());
        }
        show(&bar, report)
    });
    MAY_EXIT.store(false, Ordering::Relaxed);
    let trained = trained?;
    bar.done();
    if let Some(error) = failed {
        return Err(error);
    }
    if trained.stop == Stop::Asked {
        return Err(tinylda::Error::Interrupted.into());
    }
    trained.model.save(&a.output)?;
    let ended = match trained.stop {
        Stop::Converged => format!("converged after {} passes", trained.passes),
        _ => format!("{} passes", trained.passes),
    };
    let value = json!({
        "algorithm": name(a.algorithm).name(),
        "topics": a.topics,
        "passes": trained.passes,
        "converged": trained.stop == Stop::Converged,
        "seconds": trained.seconds,
        "train_perplexity": trained.train_perplexity,
        "peak_rss_bytes": machine::peak_rss_bytes(),
        "threads": threads(a),
        "active_topics": trained.active_topics,
        "model": shown(&a.output),
    });
    let line = format!(
        "{}: {} topics, {ended} in {:.1} s, training perplexity {:.2}",
        a.output.display(),
        a.topics,
        trained.seconds,
        trained.train_perplexity
    );
    if log_to_stdout {
        ui.say(&line);
        return Ok(());
    }
    print(a.json, &value, &format!("{line}\n"))
}

fn name(algorithm: args::Algorithm) -> Algorithm {
    match algorithm {
        args::Algorithm::Stbp => Algorithm::Stbp,
        args::Algorithm::Atbp => Algorithm::Atbp,
        args::Algorithm::Tbp => Algorithm::Tbp,
    }
}

/// The paper's algorithms run on one thread.
fn threads(a: &args::Train) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    if a.algorithm == args::Algorithm::Tbp { a.threads.map_or_else(cores, usize::from) } else { 1 }
}

fn trainer(a: &args::Train) -> anyhow::Result<Trainer> {
    let mut trainer = Trainer::new(a.topics)
        .algorithm(name(a.algorithm))
        .beta(a.beta)
        .passes(a.passes)
        .threads(threads(a))
        .exclude(a.exclude != Some(args::Exclude::None))
        .seed(a.seed);
    if let Some(tolerance) = a.tol {
        trainer = trainer.tolerance(tolerance);
    }
    if let Some(active) = a.active {
        trainer = trainer.active(active);
    }
    if let Some(instructions) = a.instructions {
        trainer = trainer.instructions(match instructions {
            args::Instructions::Plain => Instructions::Plain,
            args::Instructions::Avx2 => Instructions::Avx2,
            args::Instructions::Avx512 => Instructions::Avx512,
        });
    }
    if let Some(alpha) = a.alpha.or(a.alpha_sum.map(|sum| sum / f64::from(a.topics))) {
        trainer = trainer.alpha(alpha);
    }
    if let Some(path) = &a.start {
        trainer = trainer.start(numbers(path)?);
    }
    if let Some(path) = &a.order {
        trainer = trainer.order(numbers(path)?);
    }
    if let Some(bytes) = machine::available_bytes() {
        trainer = trainer.memory(bytes);
    }
    Ok(trainer)
}

/// A file of numbers, one per line.
fn numbers<T: std::str::FromStr>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .zip(1u64..)
        .map(|(line, n)| {
            line.trim().parse().map_err(|_| {
                anyhow::anyhow!(
                    "{}, line {n}: found {line:?}; expected a whole number from 0. Give one number per line.",
                    path.display()
                )
            })
        })
        .collect()
}

/// A log is a stream: each line is there as soon as its pass is done.
fn open_log(path: &Path) -> anyhow::Result<(Box<dyn Write>, String)> {
    let out: Box<dyn Write> = if path == Path::new("-") {
        Box::new(std::io::stdout())
    } else {
        Box::new(File::create(path).with_context(|| format!("cannot create the log {}", path.display()))?)
    };
    Ok((out, shown(path)))
}

fn log_line(out: &mut dyn Write, report: &PassReport) -> std::io::Result<()> {
    let line = json!({
        "pass": report.pass,
        "seconds": report.seconds,
        "train_perplexity": report.train_perplexity,
        "active_topics": report.active_topics,
        "documents_per_second": report.documents_per_second,
        "peak_rss_bytes": machine::peak_rss_bytes(),
    });
    writeln!(out, "{line}")?;
    out.flush()
}

pub(super) fn show(bar: &Bar, report: &PassReport) -> ControlFlow<()> {
    bar.at(
        u64::from(report.pass),
        u64::from(report.passes),
        &format!("perplexity {:.1}", report.train_perplexity),
    )
}
