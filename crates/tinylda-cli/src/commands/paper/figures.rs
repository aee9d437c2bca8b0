//! Draws the figures and writes their numbers as CSV.

use std::fmt::Write;

use tinylda::Algorithm;

use super::runs::{Outcome, RunKind, SMALL_TOPIC_COUNT};
use super::{Experiments, words};
use crate::experiment::{csv_cell, save_figure};
use crate::plot::{Axis, Colour, Figure, Panel, Series};

/// Colour of thin lines between blocks of text.
pub(super) const RULE: Colour = Colour(0xd0, 0xd0, 0xd0);

/// Draws all figures and writes their numbers next to them.
pub(super) fn write_all(all: &Experiments) -> anyhow::Result<()> {
    let out = &all.setup.out;
    let perplexity = against_topics(all, RunKind::Train, |outcome| outcome.predictive_perplexity);
    let figure = Figure {
        title: "Predictive perplexity against the number of topics".into(),
        columns: columns(all),
        panels: panels(
            &perplexity,
            &Axis::new("K", false),
            &Axis::new("predictive perplexity", needs_log_axis(&perplexity)),
        ),
    };
    save_figure(out, "perplexity", &figure.draw(), &table("topics,predictive_perplexity", &perplexity))?;

    let time = against_topics(all, RunKind::Time, |outcome| Some(outcome.seconds_per_pass));
    let figure = Figure {
        title: "Time per iteration against the number of topics, one thread".into(),
        columns: columns(all),
        panels: panels(&time, &Axis::new("K", false), &Axis::new("seconds per iteration", true)),
    };
    save_figure(out, "time", &figure.draw(), &table("topics,seconds_per_iteration", &time))?;

    let middle = all.setup.middle_topics();
    let curves: Curves = curves(all, |corpus, algorithm| {
        let record = all.record(RunKind::Train, corpus, algorithm, middle);
        let history = record.and_then(|r| r.outcome.as_ref()).map(|o| &o.history[..]).unwrap_or_default();
        history.iter().map(|&(pass, perplexity)| (f64::from(pass), perplexity)).collect()
    });
    let figure = Figure {
        title: format!("Training perplexity against iterations, K = {middle}"),
        columns: columns(all),
        panels: panels(&curves, &Axis::new("iteration", false), &Axis::new("training perplexity", true)),
    };
    save_figure(out, "convergence", &figure.draw(), &table("iteration,training_perplexity", &curves))?;
    online(all)?;
    let matched = words::matched_topics(all);
    if let Some(data) = all.words_corpus.map(|at| &all.corpora[at]) {
        let title = format!("Top ten words in ten topics of {}", data.name);
        let mut table = "topic,algorithm,words\n".to_owned();
        for k in 0..SMALL_TOPIC_COUNT as usize {
            for (name, topics) in &matched {
                let words = topics.get(k).map(|t| words::top_words(t).join(" ")).unwrap_or_default();
                // Writing to a string cannot fail.
                let _ = writeln!(table, "{},{name},{}", k + 1, csv_cell(&words));
            }
        }
        save_figure(out, "words", &words::drawing(&title, &matched), &table)?;
    }
    Ok(())
}

/// Draws the predictive perplexity against time, with data on disk.
fn online(all: &Experiments) -> anyhow::Result<()> {
    let name = &all.online.name;
    let (mut series, mut table) = (Vec::new(), "algorithm,pass,seconds,predictive_perplexity\n".to_owned());
    for &algorithm in &all.setup.algorithms {
        let record = all.record(RunKind::Online, name, algorithm, SMALL_TOPIC_COUNT);
        let Some(outcome) = record.and_then(|r| r.outcome.as_ref()) else { continue };
        let points = outcome.stops.iter().map(|stop| (stop.seconds, stop.predictive_perplexity)).collect();
        for stop in &outcome.stops {
            let (pass, seconds, value) = (stop.pass, stop.seconds, stop.predictive_perplexity);
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{},{pass},{seconds},{value}", algorithm.name());
        }
        series.push(Series { name: algorithm.name().into(), points });
    }
    let figure = Figure {
        title: format!("Predictive perplexity against time, K = {SMALL_TOPIC_COUNT}, within 2 GiB"),
        columns: 1,
        panels: vec![Panel {
            title: name.trim_end_matches("-online").to_owned(),
            x: Axis::new("seconds of training", true),
            y: Axis::new("predictive perplexity", false),
            series,
        }],
    };
    save_figure(&all.setup.out, "online", &figure.draw(), &table)
}

fn columns(all: &Experiments) -> usize {
    if all.corpora.len() == 1 { 1 } else { 2 }
}

/// Curves of every algorithm, by corpus.
type Curves = Vec<(String, Vec<Curve>)>;
/// Name of an algorithm and its points.
type Curve = (&'static str, Vec<(f64, f64)>);

/// Collects the points of every algorithm on every corpus.
fn curves(all: &Experiments, points: impl Fn(&str, Algorithm) -> Vec<(f64, f64)>) -> Curves {
    let of = |corpus: &str| {
        all.setup.algorithms.iter().map(|&algorithm| (algorithm.name(), points(corpus, algorithm))).collect()
    };
    all.corpora.iter().map(|data| (data.name.clone(), of(&data.name))).collect()
}

/// Collects a value of every run against its number of topics.
fn against_topics(all: &Experiments, kind: RunKind, of: impl Fn(&Outcome) -> Option<f64>) -> Curves {
    curves(all, |corpus, algorithm| {
        let value = |&k: &u32| {
            let outcome = all.record(kind, corpus, algorithm, k)?.outcome.as_ref()?;
            Some((f64::from(k), of(outcome)?))
        };
        all.setup.topics.iter().filter_map(value).collect()
    })
}

fn panels(curves: &Curves, x: &Axis, y: &Axis) -> Vec<Panel> {
    let panel = |(corpus, curves): &(String, Vec<Curve>)| Panel {
        title: corpus.clone(),
        x: x.clone(),
        y: y.clone(),
        series: curves
            .iter()
            .map(|(name, points)| Series { name: (*name).into(), points: points.clone() })
            .collect(),
    };
    curves.iter().map(panel).collect()
}

/// Returns whether the values on some corpus differ so much that a linear axis would hide the
/// differences between the lower ones.
fn needs_log_axis(curves: &Curves) -> bool {
    curves.iter().any(|(_, curves)| {
        let values = || curves.iter().flat_map(|(_, points)| points.iter().map(|p| p.1));
        values().fold(0.0, f64::max) > 2.5 * values().fold(f64::INFINITY, f64::min)
    })
}

fn table(columns: &str, curves: &Curves) -> String {
    let mut out = format!("corpus,algorithm,{columns}\n");
    for (corpus, curves) in curves {
        for (name, points) in curves {
            for (x, y) in points {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{},{name},{x},{y}", csv_cell(corpus));
            }
        }
    }
    out
}
