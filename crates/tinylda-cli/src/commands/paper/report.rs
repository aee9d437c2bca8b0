//! The report: README.md in the folder, with the tables; the figures are beside it.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use tinylda::Algorithm;
use tinylda::format::human_bytes;

use super::super::experiment::cell;
use super::super::{grouped, visible};
use super::corpora::Part;
use super::runs::{DESKTOP, FEW, Kind, Record};
use super::{Everything, figures, words};
use crate::machine;
use tinylda::files::write_file;

/// The paper's threshold, and the first pass at which it is asked.
const THRESHOLD: f64 = 1.0;
const GAP: &str = "–";

/// Writing to a string cannot fail, so what these calls return is dropped.
macro_rules! put_line {
    ($out:expr) => { $out.push('\n'); };
    ($out:expr, $($rest:tt)*) => { let _ = writeln!($out, $($rest)*); };
}

/// Writes figures, tables and the report.
pub(super) fn write(all: &Everything) -> anyhow::Result<()> {
    figures::all(all)?;
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

/// A text that cannot be taken for a part of a table or a tag.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// A table: its head, and rows whose numbers are to the right.
fn table(head: &[String], left: usize, rows: &[Vec<String>]) -> String {
    let rule: Vec<String> =
        (0..head.len()).map(|i| if i < left { "---".into() } else { "---:".into() }).collect();
    let rows: Vec<String> = rows.iter().map(|cells| row(cells)).collect();
    format!("{}{}{}\n", row(head), row(&rule), rows.concat())
}

fn figure(name: &str, what: &str) -> String {
    format!("![{what}]({name}.png)\n\n([SVG]({name}.svg), [numbers]({name}.csv))\n\n")
}

fn names(all: &Everything) -> Vec<String> {
    all.data.iter().map(|data| plain(&data.name)).collect()
}

/// The date of a number of seconds since 1970 (UTC), by the calendar's 400-year rule.
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

fn head(all: &Everything) -> String {
    let setup = &all.setup;
    let mut out = "# The experiments of the TBP paper, run again\n\n".to_owned();
    if setup.quick {
        put_line!(
            out,
            "**A quick run**: small parts of the corpora and few passes. It shows that all works, and no more.\n"
        );
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let unknown = || "unknown".to_owned();
    put_line!(out, "Made by `tinylda paper`, version {}, on {} (UTC).", env!("CARGO_PKG_VERSION"), date(now));
    put_line!(
        out,
        "Machine: {}; cores: {cores}; memory: {}.\n",
        plain(&machine::processor().unwrap_or_else(unknown)),
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
        "- at most {} iterations (passes over the training half), a tenth of that for `ovb`, which settles every document in each. Training stops when one changes the training perplexity by less \
         than {} (not before iteration {}). `gibbs` and `ovb` by five iterations against the five before, twice. `tbp` has its own rule and goes on for longer: less than {:e} of the perplexity an \
         iteration, over two rounds of five.",
        setup.passes,
        setup.tolerance,
        tinylda::settings::LEAST_PASSES,
        tinylda::settings::RELATIVE_TOLERANCE
    );
    put_line!(
        out,
        "- seed {} for the halves, the start and the test; all algorithms begin with the same seed",
        setup.seed
    );
    put_line!(
        out,
        "- {} thread{} to a run, {} at a time (results do not depend on it). Times per \
         iteration are measured apart, one run at a time, on one thread.",
        setup.threads_of(Kind::Train),
        if setup.threads_of(Kind::Train) == 1 { "" } else { "s" },
        setup.jobs
    );
    put_line!(out, "- predictive perplexity: {}", tinylda::eval::DEFINITION);
    put_line!(out, "- every run: [runs.csv](runs.csv), and a file each in `runs/`\n");
    put_line!(out, "## Corpora\n");
    put_line!(out, "Half of the documents, drawn at random, are for training, the others for the test.\n");
    let cells =
        ["corpus", "D", "W", "N_d (tokens per document)", "W_d (words per document)"].map(String::from);
    let rows: Vec<Vec<String>> = all
        .data
        .iter()
        .map(|data| {
            let shape = data.whole;
            let mean = |n: u64| format!("{:.1}", n as f64 / shape.documents.max(1) as f64);
            let words = grouped(u64::from(shape.words));
            vec![plain(&data.name), grouped(shape.documents), words, mean(shape.tokens), mean(shape.nonzeros)]
        })
        .collect();
    out.push_str(&table(&cells, 1, &rows));
    out
}

/// What an algorithm has to keep of messages: as a formula, and in bytes where that is enough to know.
fn formula(name: &str, part: &Part, topics: u32) -> (&'static str, Option<u64>) {
    let (nonzeros, tokens) = (part.shape.nonzeros, part.shape.tokens);
    match name {
        "bp" | "abp" => ("2 K NNZ", Some(nonzeros.saturating_mul(2 * u64::from(topics)))),
        "vb" => ("4 K NNZ", Some(nonzeros.saturating_mul(4 * u64::from(topics)))),
        "gibbs" => ("2 N", Some(tokens.saturating_mul(2))),
        "stbp" | "atbp" | "nmf" | "ovb" => ("0", Some(0)),
        "tbp" => ("2 bytes a topic in use, + 1, per non-zero", None),
        _ => (GAP, None),
    }
}

fn memory_section(all: &Everything) -> anyhow::Result<String> {
    let k = all.setup.least();
    let mut out = format!("## Message memory, K = {k}\n\n");
    put_line!(
        out,
        "For the training half, by the formula (in bytes: `bp` and `abp` keep numbers of 2; NNZ non-zeros, N tokens; `vb` as the paper stores it: \
         here messages are made and used one by one), and in brackets what was measured where it was.\n"
    );
    let head = [vec!["algorithm".to_owned(), "formula".to_owned()], names(all)].concat();
    let mut csv = "corpus,algorithm,topics,formula,formula_bytes,measured_bytes\n".to_owned();
    let mut rows = Vec::new();
    for &algorithm in &all.setup.algorithms {
        let name = algorithm.name();
        let mut cells = vec![name.to_owned()];
        for data in &all.data {
            let (text, bytes) = formula(name, &data.train, k);
            let measured =
                outcome(all.record(Kind::Train, &data.name, algorithm, k)).and_then(|o| o.message_bytes);
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
                cell(&data.name),
                cell(text),
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

fn outcome(record: Option<&Record>) -> Option<&super::runs::Outcome> {
    record.and_then(|record| record.outcome.as_ref())
}

/// A table for each corpus: algorithms against K.
fn by_topics(
    all: &Everything,
    kind: Kind,
    value: impl Fn(&super::runs::Outcome) -> Option<String>,
) -> String {
    let mut out = String::new();
    let topics = || all.setup.topics.iter();
    for data in &all.data {
        let head = [vec![plain(&data.name)], topics().map(|k| format!("K = {k}")).collect()].concat();
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

fn perplexity_section(all: &Everything) -> String {
    let what = "Predictive perplexity against K";
    let tables = by_topics(all, Kind::Train, |o| o.predictive_perplexity.map(|p| format!("{p:.1}")));
    let own = by_topics(all, Kind::Train, |o| o.own_perplexity.map(|p| format!("{p:.1}")));
    format!(
        "## {what}\n\nLower is better. The topics of test documents are found with TBP's update for all, so that topics alone are compared.\n\n\
         {}{tables}The same with each algorithm's own way to find the topics of test documents, where it was measured (K up to 100):\n\n{own}",
        figure("perplexity", what)
    )
}

/// Seconds with as many digits as are of use.
fn seconds(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

fn time_section(all: &Everything) -> String {
    let what = "Time per iteration against K";
    let tables = by_topics(all, Kind::Time, |o| Some(seconds(o.seconds_per_pass)));
    format!(
        "## {what}\n\nSeconds, one thread, the median of the last three of four passes (`ovb`: the second of two), without the training perplexity where that is \
         computed apart. These are the first passes: with `tbp`, whose documents come to use fewer topics, later ones may take less.\n\n{}{tables}",
        figure("time", what)
    )
}

/// The first pass from the tenth on that changes the perplexity by less than the threshold.
fn converged_at(history: &[(u32, f64)]) -> Option<u32> {
    let calm = |pair: &[(u32, f64)]| {
        pair[1].0 >= tinylda::settings::LEAST_PASSES && (pair[1].1 - pair[0].1).abs() < THRESHOLD
    };
    history.windows(2).find(|pair| calm(pair)).map(|pair| pair[1].0)
}

fn convergence_section(all: &Everything) -> String {
    let (k, what) = (all.setup.middle(), "Training perplexity against iterations");
    let mut out = format!("## {what}, K = {k}\n\n{}", figure("convergence", what));
    put_line!(
        out,
        "Iterations to convergence: the first, not before the tenth, that changes the training perplexity by less than {THRESHOLD}.\n"
    );
    let head = [vec!["algorithm".to_owned()], names(all)].concat();
    let rows: Vec<Vec<String>> = all
        .setup
        .algorithms
        .iter()
        .map(|&algorithm| {
            let of = |corpus: &str| match outcome(all.record(Kind::Train, corpus, algorithm, k)) {
                Some(o) => converged_at(&o.history)
                    .map_or_else(|| format!("more than {}", o.passes), |pass| pass.to_string()),
                None => GAP.into(),
            };
            [vec![algorithm.name().to_owned()], all.data.iter().map(|d| of(&d.name)).collect()].concat()
        })
        .collect();
    out.push_str(&table(&head, 1, &rows));
    out
}

fn words_section(all: &Everything) -> String {
    let mut out = "## Top ten words in ten topics\n\n".to_owned();
    let Some(data) = all.words.map(|at| &all.data[at]) else {
        put_line!(out, "No corpus has a vocabulary.\n");
        return out;
    };
    put_line!(
        out,
        "K = {FEW} on {}. The topics of all algorithms are in the order of the first one's that they are most alike (the sum of the cosines is \
         as large as can be).\n",
        plain(&data.name)
    );
    let matched = words::matched(all);
    out.push_str(&figure("words", "Top ten words in ten topics"));
    let mut rows = Vec::new();
    for k in 0..FEW as usize {
        for (name, topics) in &matched {
            let shown = topics.get(k).map(|t| words::shown(t).join(" ")).unwrap_or_default();
            rows.push(vec![(k + 1).to_string(), (*name).to_owned(), plain(&shown)]);
        }
    }
    out.push_str(&table(&["topic", "algorithm", "words"].map(String::from), 3, &rows));
    out
}

fn online_section(all: &Everything) -> String {
    let what = "Predictive perplexity against time";
    let data = &all.online;
    let mut out = format!("## {what}\n\n");
    put_line!(
        out,
        "K = {FEW}, {} documents of {} for training, {} for the test, within {}; what does not fit is on disk. {} thread{}, but one for `atbp`. Models are measured after 1, 2, 3, 5, 10, … passes; neither writing nor measuring them counts as time, nor does a training \
         perplexity that is computed apart.\n",
        grouped(data.train.shape.documents),
        plain(data.name.trim_end_matches("-online")),
        grouped(data.test.shape.documents),
        human_bytes(DESKTOP),
        all.setup.threads,
        if all.setup.threads == 1 { "" } else { "s" }
    );
    out.push_str(&figure("online", what));
    let mut rows = Vec::new();
    for &algorithm in &all.setup.algorithms {
        let Some(o) = outcome(all.record(Kind::Online, &data.name, algorithm, FEW)) else { continue };
        let Some(last) = o.stops.last() else { continue };
        let (passes, time) = (o.passes.to_string(), seconds(o.seconds));
        let perplexity = format!("{:.1}", last.predictive_perplexity);
        rows.push(vec![algorithm.name().to_owned(), passes, time, perplexity]);
    }
    let head = ["algorithm", "passes", "seconds", "predictive perplexity at the end"].map(String::from);
    out.push_str(&table(&head, 1, &rows));
    out
}

/// Runs without a result.
fn failures(all: &Everything) -> String {
    let gaps: Vec<Vec<String>> = all
        .runs
        .iter()
        .zip(&all.records)
        .filter_map(|(run, record)| {
            let why = match record {
                None => "not done yet",
                Some(record) => record.failed.as_deref()?,
            };
            Some(vec![plain(&run.title()), plain(why)])
        })
        .collect();
    if gaps.is_empty() {
        return String::new();
    }
    let head = ["run", "why"].map(String::from);
    format!("## Runs without a result\n\n{}", table(&head, 2, &gaps))
}

/// All runs in one table.
fn runs_table(all: &Everything) -> String {
    let mut out = "kind,corpus,algorithm,topics,threads,passes,converged,seconds,seconds_per_pass,\
        train_perplexity,predictive_perplexity,message_bytes,failed\n"
        .to_owned();
    for (run, record) in all.runs.iter().zip(&all.records) {
        let Some(record) = record else { continue };
        let s = &run.settings;
        let kind = match s.kind {
            Kind::Train => "train",
            Kind::Online => "online",
            Kind::Time => "time",
        };
        let _ = write!(out, "{kind},{},{},{},{},", cell(&s.corpus), s.algorithm, s.topics, record.threads);
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
                put_line!(out, ",,,,,,,{}", cell(record.failed.as_deref().unwrap_or_default()));
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
    fn convergence_is_not_asked_before_the_tenth() {
        let history: Vec<(u32, f64)> =
            (1..=20).map(|t| (t, if t < 6 { 100.0 } else { 2000.0 / f64::from(t) })).collect();
        assert_eq!(converged_at(&history), None);
        let slow: Vec<(u32, f64)> = (1..=20).map(|t| (t, 100.0 - 0.5 * f64::from(t))).collect();
        assert_eq!(converged_at(&slow), Some(10));
        assert_eq!(converged_at(&[]), None);
    }

    #[test]
    fn texts_do_not_break_tables() {
        assert_eq!(plain("a|b<c>&*"), "a\\|b&lt;c>&amp;\\*");
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
