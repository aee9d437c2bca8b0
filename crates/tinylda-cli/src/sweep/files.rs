//! Writes the results of a sweep to files: table, figure and report.

use std::fmt::Write;

use serde_json::Value;
use tinylda::eval::Measure;
use tinylda::files::write_file;
use tinylda::format::grouped;

use super::choice::{BestTopicCount, RunValues, SweepRow};
use super::runs::SweepRecord;
use super::{SweepOptions, SweepSetup};
use crate::commands::escape_markdown;
use crate::experiment::save_figure;
use crate::plot::{Axis, Figure, Panel, Series};
use crate::progress::clock;

/// Appends a line to a string. Writing to a string cannot fail, so the result is ignored.
macro_rules! put_line {
    ($out:expr, $($rest:tt)*) => { let _ = writeln!($out, $($rest)*); };
}

// Names of the series of the figure, which determine their styles.
const MEAN: &str = "mean";
const EACH: &str = "each run";
const BEST: &str = "best K";

/// Writes sweep.csv, sweep.svg, sweep.png and report.md.
pub(super) fn write_files(
    setup: &SweepSetup<'_>,
    records: &[SweepRecord],
    rows: &[SweepRow],
    choice: Option<&BestTopicCount>,
) -> anyhow::Result<()> {
    let figure = figure(setup, rows, choice);
    save_figure(&setup.options.folder, "sweep", &figure.draw(), &csv(records, rows))?;
    write_file(setup.options.folder.join("report.md"), report(setup, rows, choice).as_bytes())?;
    Ok(())
}

/// Returns all runs as CSV, one row each.
fn csv(records: &[SweepRecord], rows: &[SweepRow]) -> String {
    let mut out = "topics,seed,predictive_perplexity,train_perplexity,u_mass,c_uci,c_npmi,c_v,diversity,stability,passes,\
                   converged,threads,train_seconds,measure_seconds\n"
        .to_owned();
    for record in records {
        let Some(measures) = &record.measures else { continue };
        let coherences = Measure::ALL
            .map(|measure| measures.coherence(measure).map_or_else(String::new, |value| value.to_string()));
        let row = rows.iter().find(|row| row.topics == record.topics);
        let index = row.and_then(|row| row.seeds.iter().position(|&seed| seed == record.seed));
        let stability = row.zip(index).and_then(|(row, index)| row.stability.0.get(index));
        let training = &record.training;
        put_line!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            record.topics,
            record.seed,
            measures.predictive_perplexity,
            training.train_perplexity,
            coherences.join(","),
            measures.diversity,
            stability.map_or_else(String::new, f64::to_string),
            training.passes,
            training.converged,
            record.threads,
            training.seconds,
            measures.seconds
        );
    }
    out
}

/// Returns the figure: perplexity, coherence and stability against K.
fn figure(setup: &SweepSetup<'_>, rows: &[SweepRow], choice: Option<&BestTopicCount>) -> Figure {
    let (least, most) = (rows.first().map_or(1, |r| r.topics), rows.last().map_or(1, |r| r.topics));
    // On a linear axis, values such as 20, 50, 100, 1000 would crowd on the left.
    let log = most >= 5 * least;
    let panel = |title: &str, label: &str, of: &dyn Fn(&SweepRow) -> &RunValues| {
        let mean = |row: &SweepRow| Some((f64::from(row.topics), of(row).mean()?));
        let single = |row: &SweepRow| -> Vec<(f64, f64)> {
            let runs = if of(row).0.len() > 1 { &of(row).0[..] } else { &[] };
            runs.iter().map(|&value| (f64::from(row.topics), value)).collect()
        };
        let best = rows.iter().filter(|row| choice.is_some_and(|c| c.topics == row.topics));
        let series = |name: &str, points: Vec<(f64, f64)>| Series { name: name.into(), points };
        Panel {
            title: title.into(),
            x: Axis::new("K", log),
            y: Axis::new(label, false),
            series: vec![
                series(EACH, rows.iter().flat_map(single).collect()),
                series(MEAN, rows.iter().filter_map(mean).collect()),
                series(BEST, best.filter_map(mean).collect()),
            ],
        }
    };
    let measure = setup.options.coherence.name();
    let mut panels = vec![
        panel("Held-out perplexity: lower is better", "predictive perplexity", &|row| &row.perplexity),
        panel("Coherence: higher is better", measure, &|row| &row.coherence),
    ];
    if rows.iter().any(|row| row.stability.mean().is_some()) {
        panels.push(panel("Stability: higher is better", "word overlap", &|row| &row.stability));
    }
    Figure { title: format!("Number of topics: {}", setup.options.title), columns: panels.len(), panels }
}

/// Returns the column names and the rows of the table, as text.
pub(crate) fn cells(
    options: &SweepOptions,
    rows: &[SweepRow],
    choice: Option<&BestTopicCount>,
) -> (Vec<String>, Vec<Vec<String>>) {
    let names =
        ["", "K", "runs", "perplexity", options.coherence.name(), "stability", "diversity", "score", "time"];
    let number = |values: &RunValues, digits: usize| {
        values.mean().map_or_else(|| "-".to_owned(), |mean| format!("{mean:.digits$}"))
    };
    let line = |row: &SweepRow| {
        let deviation =
            row.perplexity.deviation().map_or_else(String::new, |deviation| format!(" ± {deviation:.1}"));
        let best = choice.is_some_and(|choice| choice.topics == row.topics);
        vec![
            if best { "*".to_owned() } else { String::new() },
            row.topics.to_string(),
            row.seeds.len().to_string(),
            number(&row.perplexity, 1) + &deviation,
            number(&row.coherence, 4),
            number(&row.stability, 3),
            number(&row.diversity, 3),
            number(&row.score, 2),
            row.seconds.mean().map_or_else(|| "-".to_owned(), clock),
        ]
    };
    (names.map(str::to_owned).to_vec(), rows.iter().map(line).collect())
}

/// Returns the names and the meaning of the columns. The last arguments are the numbers of
/// held-out documents and of all documents.
pub(crate) fn legend(
    options: &SweepOptions,
    rows: &[SweepRow],
    (test, all): (u64, u64),
) -> Vec<(String, String)> {
    let top = options.top;
    let stability = if rows.iter().any(|row| row.stability.mean().is_some()) {
        format!(
            "overlap (Jaccard index) of the top {top} words of the topics of two runs, matched one to one; 1: equal topics"
        )
    } else {
        "unknown: it requires at least two runs per K (--repeats)".to_owned()
    };
    let list = [
        (
            "perplexity",
            format!(
                "predictive perplexity of {} of {} documents, which were held out (for the definition see `tinylda eval`); mean ± standard deviation of the runs; \
                 lower is better",
                grouped(test),
                grouped(all)
            ),
        ),
        (
            options.coherence.name(),
            format!(
                "coherence of the top {top} words of each topic, counted in all documents; higher is better"
            ),
        ),
        ("stability", stability),
        (
            "diversity",
            format!("fraction of distinct words among the top {top} words of all topics; 1: no shared words"),
        ),
        (
            "score",
            "mean of perplexity (its logarithm), coherence and stability, each scaled from 0 for the worst K to 1 for the best; \
             a measure that hardly differs counts less; the best K is the smallest with about the highest score"
                .to_owned(),
        ),
        ("time", "time of a run, including the evaluation".to_owned()),
    ];
    list.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn report(setup: &SweepSetup<'_>, rows: &[SweepRow], choice: Option<&BestTopicCount>) -> String {
    let mut out = format!("# Number of topics: {}\n\n", escape_markdown(&setup.options.title));
    if let Some(choice) = choice {
        put_line!(out, "**{}**", choice.reason);
        for note in &choice.notes {
            put_line!(out, "{note}");
        }
    }
    let (names, rows_of_text) = cells(setup.options, rows, choice);
    let line = |row: &[String]| format!("| {} |", row.join(" | "));
    put_line!(out, "\n{}\n|{}", line(&names), "---:|".repeat(names.len()));
    for row in &rows_of_text {
        put_line!(out, "{}", line(row));
    }
    put_line!(out, "\n![Perplexity, coherence and stability against K](sweep.png)\n");
    let documents = (setup.test.shape().documents, setup.corpus.shape().documents);
    for (name, text) in legend(setup.options, rows, documents) {
        put_line!(out, "- **{name}**: {text}");
    }
    put_line!(
        out,
        "\nThe best K is the smallest one whose score is within 0.01 of the highest. Perplexity alone would nearly always favour the largest K, \
         whose topics are often too many to read and differ from run to run. A measure that hardly differs between values of K (perplexity by less than 2%, \
         coherence by less than 0.02, stability by less than 0.05) counts less."
    );
    put_line!(
        out,
        "`sweep.csv` contains one row per run, `models/` the best model of every K, and `best.model` is the model of the best K.\n"
    );
    put_line!(out, "Settings; all others have their defaults:\n");
    for (option, value) in setup.settings.iter().filter(|(_, value)| **value != Value::Null) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        put_line!(out, "- {option}: {}", escape_markdown(&value));
    }
    out
}
