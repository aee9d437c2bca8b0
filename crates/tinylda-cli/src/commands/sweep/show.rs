//! Shows the results of a sweep: table, the best K and suggested commands.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use tinylda::Corpus;

use super::super::{path_string, print, shell_quote, to_stdout};
use crate::args;
use crate::sweep::files::{cells, legend};
use crate::sweep::{BestTopicCount, SweepOptions, SweepOutcome, SweepRow};

/// Appends a line to a string. Writing to a string cannot fail, so the result is ignored.
macro_rules! put_line {
    ($out:expr, $($rest:tt)*) => { let _ = writeln!($out, $($rest)*); };
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

/// Returns this command with another K.
fn with_topics(words: impl Iterator<Item = String>, topics: u32) -> String {
    let (mut out, mut words) = (Vec::new(), words);
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let short = word.strip_prefix("-k").is_some_and(|rest| !rest.is_empty());
        if matches!(name, "-k" | "--topics" | "--num-topics" | "--n-topics" | "--n-components") || short {
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
    a: &args::SweepArgs,
    options: &SweepOptions,
    corpus: &Corpus,
    outcome: &SweepOutcome,
    (choice, model): (&BestTopicCount, &Path),
) -> anyhow::Result<()> {
    let rows = &outcome.rows;
    if a.tsv {
        return to_stdout(&tsv(options, rows, choice));
    }
    let (out, k) = (&options.folder, choice.topics);
    let value = json!({
        "best": k,
        "reason": choice.reason,
        "notes": choice.notes,
        "rows": rows.iter().map(|row| row_json(options, row, k)).collect::<Vec<_>>(),
        "runs": rows.iter().map(|row| row.seeds.len()).sum::<usize>(),
        "runs_done_now": outcome.runs - outcome.runs_done_before,
        "documents_held_out": outcome.documents_held_out,
        "top": options.top,
        "model": path_string(model),
        "model_seed": choice.seed,
        "table": path_string(&out.join("sweep.csv")),
        "figure": path_string(&out.join("sweep.svg")),
        "report": path_string(&out.join("report.md")),
    });
    let mut lines = table(&cells(options, rows, Some(choice)));
    put_line!(lines, "\n* {}", choice.reason);
    for note in &choice.notes {
        put_line!(lines, "  {note}");
    }
    lines.push('\n');
    let meanings = legend(options, rows, (outcome.documents_held_out, corpus.shape().documents));
    let meanings: Vec<(&str, String)> =
        meanings.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    lines.push_str(&super::super::table(&meanings));
    let folder = out.display();
    put_line!(lines, "\n{folder} contains sweep.svg, sweep.png, sweep.csv, report.md and the models.");
    put_line!(
        lines,
        "The model with K = {k} and the lowest perplexity (seed {}) is {}. Next:",
        choice.seed,
        model.display()
    );
    put_line!(lines, "  tinylda topics {}", shell_quote(&path_string(model)));
    let whole = "It was trained without the held-out documents. For a model of all documents, run `tinylda train` with the same options and";
    put_line!(lines, "{whole} -k {k}.");
    if let Some(next) = choice.next {
        let words = crate::command_line().iter().cloned();
        put_line!(lines, "To try another K in addition:\n  {}", with_topics(words, next));
    }
    print(a.json, &value, &lines)
}

/// Returns a row as JSON.
fn row_json(options: &SweepOptions, row: &SweepRow, best: u32) -> Value {
    json!({
        "topics": row.topics,
        "best": row.topics == best,
        "runs": row.seeds.len(),
        "seeds": row.seeds,
        "predictive_perplexity": row.perplexity.mean(),
        "predictive_perplexity_deviation": row.perplexity.deviation(),
        "coherence": row.coherence.mean(),
        "coherence_measure": options.coherence.name(),
        "stability": row.stability.mean(),
        "diversity": row.diversity.mean(),
        "score": row.score.mean(),
        "seconds": row.seconds.mean(),
    })
}

/// Returns the table as tab-separated values.
fn tsv(options: &SweepOptions, rows: &[SweepRow], choice: &BestTopicCount) -> String {
    let name = options.coherence.name();
    let mut out = format!(
        "topics\tbest\truns\tpredictive_perplexity\tdeviation\t{name}\tstability\tdiversity\tscore\tseconds\n"
    );
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for row in rows {
        put_line!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            row.topics,
            row.topics == choice.topics,
            row.seeds.len(),
            number(row.perplexity.mean()),
            number(row.perplexity.deviation()),
            number(row.coherence.mean()),
            number(row.stability.mean()),
            number(row.diversity.mean()),
            number(row.score.mean()),
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
