//! Shows the results of a sweep: table, figure, report and suggested commands.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use tinylda::eval::Measure;

use super::super::experiment::save_figure;
use super::super::{escape_markdown, grouped, path_string, print, shell_quote, to_stdout};
use super::SweepSetup;
use super::choice::{BestTopicCount, RunValues, SweepRow};
use super::runs::SweepRecord;
use crate::plot::{Axis, Figure, Panel, Series};
use crate::progress::clock;
use tinylda::files::write_file;

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
    save_figure(&setup.out, "sweep", &figure.draw(), &csv(records, rows))?;
    write_file(setup.out.join("report.md"), report(setup, rows, choice).as_bytes())?;
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
    let measure = setup.a.coherence.name();
    let mut panels = vec![
        panel("Held-out perplexity: lower is better", "predictive perplexity", &|row| &row.perplexity),
        panel("Coherence: higher is better", measure, &|row| &row.coherence),
    ];
    if rows.iter().any(|row| row.stability.mean().is_some()) {
        panels.push(panel("Stability: higher is better", "word overlap", &|row| &row.stability));
    }
    Figure { title: format!("Number of topics: {}", corpus_name(setup)), columns: panels.len(), panels }
}

fn corpus_name(setup: &SweepSetup<'_>) -> String {
    let path = &setup.a.corpus;
    if path == Path::new("-") {
        return "standard input".into();
    }
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the column names and the rows of the table, as text.
fn cells(
    setup: &SweepSetup<'_>,
    rows: &[SweepRow],
    choice: Option<&BestTopicCount>,
) -> (Vec<String>, Vec<Vec<String>>) {
    let names = ["", "K", "runs", "perplexity", setup.a.coherence.name(), "stability", "diversity", "time"];
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
            row.seconds.mean().map_or_else(|| "-".to_owned(), clock),
        ]
    };
    (names.map(str::to_owned).to_vec(), rows.iter().map(line).collect())
}

/// Formats a table with right-aligned columns.
fn table((names, rows): &(Vec<String>, Vec<Vec<String>>)) -> String {
    let char_count = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..names.len())
        .map(|i| rows.iter().chain([names]).map(|row| char_count(&row[i])).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in [names].into_iter().chain(rows) {
        let line: Vec<String> =
            row.iter().zip(&widths).map(|(text, &width)| format!("{text:>width$}")).collect();
        put_line!(out, "{}", line.join("  ").trim_end());
    }
    out
}

/// Returns the names and the meaning of the columns.
fn legend(setup: &SweepSetup<'_>, rows: &[SweepRow]) -> Vec<(String, String)> {
    let (test, all) = (setup.test.shape().documents, setup.corpus.shape().documents);
    let top = setup.a.top;
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
            setup.a.coherence.name(),
            format!(
                "coherence of the top {top} words of each topic, counted in all documents; higher is better"
            ),
        ),
        ("stability", stability),
        (
            "diversity",
            format!("fraction of distinct words among the top {top} words of all topics; 1: no shared words"),
        ),
        ("time", "time of a run, including the evaluation".to_owned()),
    ];
    list.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn report(setup: &SweepSetup<'_>, rows: &[SweepRow], choice: Option<&BestTopicCount>) -> String {
    let mut out = format!("# Number of topics: {}\n\n", escape_markdown(&corpus_name(setup)));
    if let Some(choice) = choice {
        put_line!(out, "**{}**", choice.reason);
        for note in &choice.notes {
            put_line!(out, "{note}");
        }
    }
    let (names, rows_of_text) = cells(setup, rows, choice);
    let line = |row: &[String]| format!("| {} |", row.join(" | "));
    put_line!(out, "\n{}\n|{}", line(&names), "---:|".repeat(names.len()));
    for row in &rows_of_text {
        put_line!(out, "{}", line(row));
    }
    put_line!(out, "\n![Perplexity, coherence and stability against K](sweep.png)\n");
    for (name, text) in legend(setup, rows) {
        put_line!(out, "- **{name}**: {text}");
    }
    put_line!(
        out,
        "\nThe best K is the smallest one whose mean perplexity is within one standard error of the lowest (the standard deviation of its runs divided by the square root of their number)."
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

/// Returns this command with another K.
fn with_topics(words: impl Iterator<Item = String>, topics: u32) -> String {
    let (mut out, mut words) = (Vec::new(), words);
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let short = word.strip_prefix("-k").is_some_and(|rest| !rest.is_empty());
        if matches!(name, "-k" | "--topics" | "--num-topics") || short {
            if value.is_none() && !short {
                // Also skip the value.
                let _ = words.next();
            }
            continue;
        }
        out.push(shell_quote(&word));
    }
    out.extend(["-k".to_owned(), topics.to_string()]);
    out.join(" ")
}

/// Prints the table, the best K with the reason, and suggested commands.
pub(super) fn print_result(
    setup: &SweepSetup<'_>,
    rows: &[SweepRow],
    choice: &BestTopicCount,
    model: &Path,
    done_now: usize,
) -> anyhow::Result<()> {
    if setup.a.tsv {
        return to_stdout(&tsv(setup, rows, choice));
    }
    let (out, k) = (&setup.out, choice.topics);
    let value = json!({
        "best": k,
        "reason": choice.reason,
        "notes": choice.notes,
        "rows": rows.iter().map(|row| row_json(setup, row, k)).collect::<Vec<_>>(),
        "runs": rows.iter().map(|row| row.seeds.len()).sum::<usize>(),
        "runs_done_now": done_now,
        "documents_held_out": setup.test.shape().documents,
        "top": setup.a.top,
        "model": path_string(model),
        "model_seed": choice.seed,
        "table": path_string(&out.join("sweep.csv")),
        "figure": path_string(&out.join("sweep.svg")),
        "report": path_string(&out.join("report.md")),
    });
    let mut lines = table(&cells(setup, rows, Some(choice)));
    put_line!(lines, "\n* {}", choice.reason);
    for note in &choice.notes {
        put_line!(lines, "  {note}");
    }
    lines.push('\n');
    let meanings = legend(setup, rows);
    let meanings: Vec<(&str, String)> =
        meanings.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    lines.push_str(&super::super::table(&meanings));
    let folder = out.display();
    put_line!(lines, "\n{folder} contains sweep.svg, sweep.png, sweep.csv, report.md and the models.");
    put_line!(lines, "The best model with K = {k} (seed {}) is {}. Next:", choice.seed, model.display());
    put_line!(lines, "  tinylda topics {}", shell_quote(&path_string(model)));
    let whole = "It was trained without the held-out documents. For a model of all documents, run `tinylda train` with the same options and";
    put_line!(lines, "{whole} -k {k}.");
    if let Some(next) = choice.next {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        put_line!(lines, "To try another K in addition:\n  {}", with_topics(words, next));
    }
    print(setup.a.json, &value, &lines)
}

/// Returns a row as JSON.
fn row_json(setup: &SweepSetup<'_>, row: &SweepRow, best: u32) -> Value {
    json!({
        "topics": row.topics,
        "best": row.topics == best,
        "runs": row.seeds.len(),
        "seeds": row.seeds,
        "predictive_perplexity": row.perplexity.mean(),
        "predictive_perplexity_deviation": row.perplexity.deviation(),
        "coherence": row.coherence.mean(),
        "coherence_measure": setup.a.coherence.name(),
        "stability": row.stability.mean(),
        "diversity": row.diversity.mean(),
        "seconds": row.seconds.mean(),
    })
}

/// Returns the table as tab-separated values.
fn tsv(setup: &SweepSetup<'_>, rows: &[SweepRow], choice: &BestTopicCount) -> String {
    let name = setup.a.coherence.name();
    let mut out = format!(
        "topics\tbest\truns\tpredictive_perplexity\tdeviation\t{name}\tstability\tdiversity\tseconds\n"
    );
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for row in rows {
        put_line!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            row.topics,
            row.topics == choice.topics,
            row.seeds.len(),
            number(row.perplexity.mean()),
            number(row.perplexity.deviation()),
            number(row.coherence.mean()),
            number(row.stability.mean()),
            number(row.diversity.mean()),
            number(row.seconds.mean())
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_with_another_k() {
        for (command, expected) in [
            ("t sweep a.tlc -k 1,2 -o x", "t sweep a.tlc -o x -k 8"),
            (
                "t sweep -k=1,2 a.tlc --topics=5 --num-topics 6 -k7 --passes 3",
                "t sweep a.tlc --passes 3 -k 8",
            ),
            ("t sweep --topics 1,2 a;b.tlc", "t sweep 'a;b.tlc' -k 8"),
        ] {
            assert_eq!(with_topics(command.split(' ').map(str::to_owned), 8), expected);
        }
    }
}
