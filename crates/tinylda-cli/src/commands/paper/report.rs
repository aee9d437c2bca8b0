//! Writes the report: README.md with the tables, next to the figures.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use tinylda::Algorithm;
use tinylda::format::human_bytes;

use super::super::{escape_markdown, grouped};
use super::corpora::CorpusPart;
use super::runs::{DESKTOP_MEMORY, PaperRecord, RunKind, SMALL_TOPIC_COUNT};
use super::{Experiments, figures, words};
use crate::experiment::csv_cell;
use crate::machine;
use tinylda::files::write_file;

/// Convergence threshold of the paper, as a change of the training perplexity.
const THRESHOLD: f64 = 1.0;
/// Cell of a missing value.
const GAP: &str = "–";

/// Appends a line to a string. Writing to a string cannot fail, so the result is ignored.
macro_rules! put_line {
    ($out:expr) => { $out.push('\n'); };
    ($out:expr, $($rest:tt)*) => { let _ = writeln!($out, $($rest)*); };
}

/// Writes figures, tables and the report.
pub(super) fn write(all: &Experiments) -> anyhow::Result<()> {
    figures::write_all(all)?;
    write_file(all.setup.out.join("runs.csv"), runs_table(all).as_bytes())?;
    let memory = memory_section(all)?;
    let mut out = head(all);
    out.push_str(&memory);
    out.push_str(&perplexity_section(all));
    out.push_str(&time_section(all));
    out.push_str(&convergence_section(all));
    out.push_str(&words_section(all));
    out.push_str(&online_section(all));
    out.push_str(&failures(all));
    write_file(all.setup.out.join("README.md"), out.as_bytes())?;
    Ok(())
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Returns a Markdown table; all but the first `left` columns are right-aligned.
fn table(head: &[String], left: usize, rows: &[Vec<String>]) -> String {
    let rule: Vec<String> =
        (0..head.len()).map(|i| if i < left { "---".into() } else { "---:".into() }).collect();
    let rows: Vec<String> = rows.iter().map(|cells| row(cells)).collect();
    format!("{}{}{}\n", row(head), row(&rule), rows.concat())
}

fn figure(name: &str, what: &str) -> String {
    format!("![{what}]({name}.png)\n\n([SVG]({name}.svg), [numbers]({name}.csv))\n\n")
}

fn names(all: &Experiments) -> Vec<String> {
    all.corpora.iter().map(|data| escape_markdown(&data.name)).collect()
}

/// Returns the date of a number of seconds since 1970 (UTC), from the 400-year cycle of the
/// calendar.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}

fn head(all: &Experiments) -> String {
    let setup = &all.setup;
    let mut out = "# Experiments of the TBP paper, reproduced\n\n".to_owned();
    if setup.quick {
        put_line!(
            out,
            "**Quick run** on small parts of the corpora with few passes. It only shows that everything works.\n"
        );
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let unknown = || "unknown".to_owned();
    put_line!(
        out,
        "Created by `tinylda paper`, version {}, on {} (UTC).",
        env!("CARGO_PKG_VERSION"),
        date(now)
    );
    put_line!(
        out,
        "Machine: {}; cores: {cores}; memory: {}.\n",
        escape_markdown(&machine::processor_name().unwrap_or_else(unknown)),
        machine::total_bytes().map_or_else(unknown, human_bytes)
    );
    let list = |items: Vec<String>| items.join(", ");
    put_line!(out, "## Settings\n");
    put_line!(
        out,
        "- K: {}; alpha = 2/K; beta = {}",
        list(setup.topics.iter().map(u32::to_string).collect()),
        super::beta()
    );
    put_line!(
        out,
        "- at most {} iterations (passes over the training half), a tenth of that for `ovb`, which iterates every document to convergence in each. Training stops when the training perplexity changes by less \
         than {} per iteration (not before iteration {}). `gibbs` and `ovb` compare five iterations with the five before, twice. `tbp` has its own criterion and trains longer: a relative change of less than {:e} \
         per iteration, over two rounds of five.",
        setup.passes,
        setup.tolerance,
        tinylda::settings::MIN_PASSES,
        tinylda::settings::RELATIVE_TOLERANCE
    );
    put_line!(
        out,
        "- seed {} for the split, the initialization and the evaluation of all algorithms",
        setup.seed
    );
    put_line!(
        out,
        "- {} thread{} per run, {} concurrent (results do not depend on it). Times per \
         iteration are measured separately, one run at a time, on one thread.",
        setup.threads_of(RunKind::Train),
        if setup.threads_of(RunKind::Train) == 1 { "" } else { "s" },
        setup.jobs
    );
    put_line!(out, "- predictive perplexity: {} {}", tinylda::eval::DEFINITION, tinylda::eval::PROTOCOL);
    put_line!(out, "- all runs: [runs.csv](runs.csv), and one file per run in `runs/`\n");
    put_line!(out, "## Corpora\n");
    put_line!(out, "A random half of the documents is used for training, the other half for testing.\n");
    let cells =
        ["corpus", "D", "W", "N_d (tokens per document)", "W_d (words per document)"].map(String::from);
    let rows: Vec<Vec<String>> = all
        .corpora
        .iter()
        .map(|data| {
            let shape = data.whole;
            let mean = |n: u64| format!("{:.1}", n as f64 / shape.documents.max(1) as f64);
            let words = grouped(u64::from(shape.words));
            vec![
                escape_markdown(&data.name),
                grouped(shape.documents),
                words,
                mean(shape.tokens),
                mean(shape.nonzeros),
            ]
        })
        .collect();
    out.push_str(&table(&cells, 1, &rows));
    out
}

/// Returns the message memory of an algorithm: as a formula, and in bytes if the formula determines
/// it.
fn formula(name: &str, part: &CorpusPart, topics: u32) -> (&'static str, Option<u64>) {
    let (nonzeros, tokens) = (part.shape.nonzeros, part.shape.tokens);
    match name {
        "bp" | "abp" => ("2 K NNZ", Some(nonzeros.saturating_mul(2 * u64::from(topics)))),
        "vb" => ("4 K NNZ", Some(nonzeros.saturating_mul(4 * u64::from(topics)))),
        "gibbs" => ("2 N", Some(tokens.saturating_mul(2))),
        "stbp" | "atbp" | "nmf" | "ovb" => ("0", Some(0)),
        "tbp" => ("2 bytes per active topic, + 1, per non-zero", None),
        _ => (GAP, None),
    }
}

fn memory_section(all: &Experiments) -> anyhow::Result<String> {
    let k = all.setup.memory_table_topics();
    let mut out = format!("## Message memory, K = {k}\n\n");
    put_line!(
        out,
        "For the training half, by the formula (in bytes: `bp` and `abp` store numbers of 2 bytes; NNZ non-zeros, N tokens; `vb` as stored in the paper: \
         this implementation computes and uses messages one at a time), and in parentheses the measured value, if available.\n"
    );
    let head = [vec!["algorithm".to_owned(), "formula".to_owned()], names(all)].concat();
    let mut csv = "corpus,algorithm,topics,formula,formula_bytes,measured_bytes\n".to_owned();
    let mut rows = Vec::new();
    for &algorithm in &all.setup.algorithms {
        let name = algorithm.name();
        let mut cells = vec![name.to_owned()];
        for data in &all.corpora {
            let (text, bytes) = formula(name, &data.train, k);
            let measured =
                outcome(all.record(RunKind::Train, &data.name, algorithm, k)).and_then(|o| o.message_bytes);
            if cells.len() == 1 {
                cells.push(text.into());
            }
            cells.push(match (bytes, measured) {
                (Some(bytes), Some(seen)) => format!("{} ({})", human_bytes(bytes), human_bytes(seen)),
                (Some(bytes), None) => human_bytes(bytes),
                (None, Some(seen)) => format!("({})", human_bytes(seen)),
                (None, None) => GAP.into(),
            });
            let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
            put_line!(
                csv,
                "{},{name},{k},{},{},{}",
                csv_cell(&data.name),
                csv_cell(text),
                number(bytes),
                number(measured)
            );
        }
        rows.push(cells);
    }
    write_file(all.setup.out.join("memory.csv"), csv.as_bytes())?;
    out.push_str(&table(&head, 2, &rows));
    put_line!(out, "([numbers](memory.csv))\n");
    Ok(out)
}

fn outcome(record: Option<&PaperRecord>) -> Option<&super::runs::Outcome> {
    record.and_then(|record| record.outcome.as_ref())
}

/// Returns one table per corpus: algorithms against K.
fn by_topics(
    all: &Experiments,
    kind: RunKind,
    value: impl Fn(&super::runs::Outcome) -> Option<String>,
) -> String {
    let mut out = String::new();
    let topics = || all.setup.topics.iter();
    for data in &all.corpora {
        let head =
            [vec![escape_markdown(&data.name)], topics().map(|k| format!("K = {k}")).collect()].concat();
        let of = |algorithm: Algorithm, k: u32| {
            let found = outcome(all.record(kind, &data.name, algorithm, k)).and_then(&value);
            found.unwrap_or_else(|| GAP.into())
        };
        let line = |&algorithm: &Algorithm| {
            [vec![algorithm.name().to_owned()], topics().map(|&k| of(algorithm, k)).collect()].concat()
        };
        out.push_str(&table(&head, 1, &all.setup.algorithms.iter().map(line).collect::<Vec<_>>()));
    }
    out
}

fn perplexity_section(all: &Experiments) -> String {
    let what = "Predictive perplexity against K";
    let tables = by_topics(all, RunKind::Train, |o| o.predictive_perplexity.map(|p| format!("{p:.1}")));
    let own = by_topics(all, RunKind::Train, |o| o.own_perplexity.map(|p| format!("{p:.1}")));
    format!(
        "## {what}\n\nLower is better. The topics of test documents are inferred with the update of TBP for all algorithms, so that only the topics are compared.\n\n\
         {}{tables}With each algorithm's own inference of the topics of test documents (measured for K up to 100):\n\n{own}",
        figure("perplexity", what)
    )
}

/// Formats seconds with a useful number of digits.
fn seconds_text(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

fn time_section(all: &Experiments) -> String {
    let what = "Time per iteration against K";
    let tables = by_topics(all, RunKind::Time, |o| Some(seconds_text(o.seconds_per_pass)));
    format!(
        "## {what}\n\nSeconds on one thread: the median of the last three of four passes (`ovb`: the second of two), without the training perplexity if that is \
         computed separately. These are the first passes; later passes of `tbp` may be faster, since its documents use fewer topics over time.\n\n{}{tables}",
        figure("time", what)
    )
}

/// Returns the first pass, from the tenth on, that changes the perplexity by less than the
/// threshold.
fn converged_at(history: &[(u32, f64)]) -> Option<u32> {
    let converged = |pair: &[(u32, f64)]| {
        pair[1].0 >= tinylda::settings::MIN_PASSES && (pair[1].1 - pair[0].1).abs() < THRESHOLD
    };
    history.windows(2).find(|pair| converged(pair)).map(|pair| pair[1].0)
}

fn convergence_section(all: &Experiments) -> String {
    let (k, what) = (all.setup.middle_topics(), "Training perplexity against iterations");
    let mut out = format!("## {what}, K = {k}\n\n{}", figure("convergence", what));
    put_line!(
        out,
        "Iterations to convergence: the first iteration, not before the tenth, that changes the training perplexity by less than {THRESHOLD}.\n"
    );
    let head = [vec!["algorithm".to_owned()], names(all)].concat();
    let rows: Vec<Vec<String>> = all
        .setup
        .algorithms
        .iter()
        .map(|&algorithm| {
            let of = |corpus: &str| match outcome(all.record(RunKind::Train, corpus, algorithm, k)) {
                Some(o) => converged_at(&o.history)
                    .map_or_else(|| format!("more than {}", o.passes), |pass| pass.to_string()),
                None => GAP.into(),
            };
            [vec![algorithm.name().to_owned()], all.corpora.iter().map(|d| of(&d.name)).collect()].concat()
        })
        .collect();
    out.push_str(&table(&head, 1, &rows));
    out
}

fn words_section(all: &Experiments) -> String {
    let mut out = "## Top ten words in ten topics\n\n".to_owned();
    let Some(data) = all.words_corpus.map(|at| &all.corpora[at]) else {
        put_line!(out, "No corpus has a vocabulary.\n");
        return out;
    };
    put_line!(
        out,
        "K = {SMALL_TOPIC_COUNT} on {}. The topics of all algorithms are matched with those of the first one (the sum of the cosine similarities is \
         maximal).\n",
        escape_markdown(&data.name)
    );
    let matched = words::matched_topics(all);
    out.push_str(&figure("words", "Top ten words in ten topics"));
    let mut rows = Vec::new();
    for k in 0..SMALL_TOPIC_COUNT as usize {
        for (name, topics) in &matched {
            let shown = topics.get(k).map(|t| words::top_words(t).join(" ")).unwrap_or_default();
            rows.push(vec![(k + 1).to_string(), (*name).to_owned(), escape_markdown(&shown)]);
        }
    }
    out.push_str(&table(&["topic", "algorithm", "words"].map(String::from), 3, &rows));
    out
}

fn online_section(all: &Experiments) -> String {
    let what = "Predictive perplexity against time";
    let data = &all.online;
    let mut out = format!("## {what}\n\n");
    put_line!(
        out,
        "K = {SMALL_TOPIC_COUNT}, {} documents of {} for training, {} for testing, within {}; data that does not fit is on disk. {} thread{}, but one for `atbp`. Models are evaluated after 1, 2, 3, 5, 10, … passes; the time excludes writing and evaluating them, and a training \
         perplexity that is computed separately.\n",
        grouped(data.train.shape.documents),
        escape_markdown(data.name.trim_end_matches("-online")),
        grouped(data.test.shape.documents),
        human_bytes(DESKTOP_MEMORY),
        all.setup.threads,
        if all.setup.threads == 1 { "" } else { "s" }
    );
    out.push_str(&figure("online", what));
    let mut rows = Vec::new();
    for &algorithm in &all.setup.algorithms {
        let Some(o) = outcome(all.record(RunKind::Online, &data.name, algorithm, SMALL_TOPIC_COUNT)) else {
            continue;
        };
        let Some(last) = o.stops.last() else { continue };
        let (passes, time) = (o.passes.to_string(), seconds_text(o.seconds));
        let perplexity = format!("{:.1}", last.predictive_perplexity);
        rows.push(vec![algorithm.name().to_owned(), passes, time, perplexity]);
    }
    let head = ["algorithm", "passes", "seconds", "final predictive perplexity"].map(String::from);
    out.push_str(&table(&head, 1, &rows));
    out
}

/// Lists the runs without a result.
fn failures(all: &Experiments) -> String {
    let gaps: Vec<Vec<String>> = all
        .runs
        .iter()
        .zip(&all.records)
        .filter_map(|(run, record)| {
            let why = match record {
                None => "not yet done",
                Some(record) => record.failed.as_deref()?,
            };
            Some(vec![escape_markdown(&run.title()), escape_markdown(why)])
        })
        .collect();
    if gaps.is_empty() {
        return String::new();
    }
    let head = ["run", "reason"].map(String::from);
    format!("## Runs without a result\n\n{}", table(&head, 2, &gaps))
}

/// Returns all runs as CSV.
fn runs_table(all: &Experiments) -> String {
    let mut out = "kind,corpus,algorithm,topics,threads,passes,converged,seconds,seconds_per_pass,\
        train_perplexity,predictive_perplexity,message_bytes,failed\n"
        .to_owned();
    for (run, record) in all.runs.iter().zip(&all.records) {
        let Some(record) = record else { continue };
        let s = &run.settings;
        let kind = match s.kind {
            RunKind::Train => "train",
            RunKind::Online => "online",
            RunKind::Time => "time",
        };
        let _ =
            write!(out, "{kind},{},{},{},{},", csv_cell(&s.corpus), s.algorithm, s.topics, record.threads);
        let number = |n: Option<f64>| n.map_or_else(String::new, |n| n.to_string());
        match &record.outcome {
            Some(o) => {
                put_line!(
                    out,
                    "{},{},{},{},{},{},{},",
                    o.passes,
                    o.converged,
                    o.seconds,
                    o.seconds_per_pass,
                    number(o.history.last().map(|h| h.1)),
                    number(o.predictive_perplexity),
                    o.message_bytes.map_or_else(String::new, |n| n.to_string())
                );
            }
            None => {
                put_line!(out, ",,,,,,,{}", csv_cell(record.failed.as_deref().unwrap_or_default()));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_603_200, "2024-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn no_convergence_before_the_tenth_pass() {
        let history: Vec<(u32, f64)> =
            (1..=20).map(|t| (t, if t < 6 { 100.0 } else { 2000.0 / f64::from(t) })).collect();
        assert_eq!(converged_at(&history), None);
        let slow: Vec<(u32, f64)> = (1..=20).map(|t| (t, 100.0 - 0.5 * f64::from(t))).collect();
        assert_eq!(converged_at(&slow), Some(10));
        assert_eq!(converged_at(&[]), None);
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape_markdown("a|b<c>&*"), "a\\|b&lt;c>&amp;\\*");
        assert_eq!(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
