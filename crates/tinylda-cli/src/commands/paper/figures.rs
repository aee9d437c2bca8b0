//! The figures and the numbers in them.

use std::fmt::Write;

use tinylda::Algorithm;

use super::super::experiment::{cell, save};
use super::runs::{FEW, Kind, Outcome};
use super::{Everything, words};
use crate::plot::{Axis, Colour, Figure, Panel, Series};

/// Thin lines between blocks of text.
pub(super) const RULE: Colour = Colour(0xd0, 0xd0, 0xd0);

/// Draws every figure that has data, and writes what is in it beside it.
pub(super) fn all(all: &Everything) -> anyhow::Result<()> {
    let out = &all.setup.out;
    let perplexity = against_topics(all, Kind::Train, |outcome| outcome.predictive_perplexity);
    let figure = Figure {
        title: "Predictive perplexity against the number of topics".into(),
        columns: columns(all),
        panels: panels(
            &perplexity,
            &Axis::new("K", false),
            &Axis::new("predictive perplexity", far_apart(&perplexity)),
        ),
    };
    save(out, "perplexity", &figure.draw(), &table("topics,predictive_perplexity", &perplexity))?;

    let time = against_topics(all, Kind::Time, |outcome| Some(outcome.seconds_per_pass));
    let figure = Figure {
        title: "Time per iteration against the number of topics, one thread".into(),
        columns: columns(all),
        panels: panels(&time, &Axis::new("K", false), &Axis::new("seconds per iteration", true)),
    };
    save(out, "time", &figure.draw(), &table("topics,seconds_per_iteration", &time))?;

    let middle = all.setup.middle();
    let curves: Curves = each(all, |corpus, algorithm| {
        let record = all.record(Kind::Train, corpus, algorithm, middle);
        let history = record.and_then(|r| r.outcome.as_ref()).map(|o| &o.history[..]).unwrap_or_default();
        history.iter().map(|&(pass, perplexity)| (f64::from(pass), perplexity)).collect()
    });
    let figure = Figure {
        title: format!("Training perplexity against iterations, K = {middle}"),
        columns: columns(all),
        panels: panels(&curves, &Axis::new("iteration", false), &Axis::new("training perplexity", true)),
    };
    save(out, "convergence", &figure.draw(), &table("iteration,training_perplexity", &curves))?;
    online(all)?;
    let matched = words::matched(all);
    if let Some(data) = all.words.map(|at| &all.data[at]) {
        let title = format!("Top ten words in ten topics of {}", data.name);
        let mut table = "topic,algorithm,words\n".to_owned();
        for k in 0..FEW as usize {
            for (name, topics) in &matched {
                let words = topics.get(k).map(|t| words::shown(t).join(" ")).unwrap_or_default();
                // Writing to a string cannot fail.
                let _ = writeln!(table, "{},{name},{}", k + 1, cell(&words));
            }
        }
        save(out, "words", &words::drawing(&title, &matched), &table)?;
    }
    Ok(())
}

/// Perplexity against time, from disk.
fn online(all: &Everything) -> anyhow::Result<()> {
    let name = &all.online.name;
    let (mut series, mut table) = (Vec::new(), "algorithm,pass,seconds,predictive_perplexity\n".to_owned());
    for &algorithm in &all.setup.algorithms {
        let record = all.record(Kind::Online, name, algorithm, FEW);
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
        title: format!("Predictive perplexity against time, K = {FEW}, within 2 GiB"),
        columns: 1,
        panels: vec![Panel {
            title: name.trim_end_matches("-online").to_owned(),
            x: Axis::new("seconds of training", true),
            y: Axis::new("predictive perplexity", false),
            series,
        }],
    };
    save(&all.setup.out, "online", &figure.draw(), &table)
}

fn columns(all: &Everything) -> usize {
    if all.data.len() == 1 { 1 } else { 2 }
}

/// The points of every algorithm on every corpus.
type Curves = Vec<(String, Vec<Curve>)>;
type Curve = (&'static str, Vec<(f64, f64)>);

fn each(all: &Everything, points: impl Fn(&str, Algorithm) -> Vec<(f64, f64)>) -> Curves {
    let of = |corpus: &str| {
        all.setup.algorithms.iter().map(|&algorithm| (algorithm.name(), points(corpus, algorithm))).collect()
    };
    all.data.iter().map(|data| (data.name.clone(), of(&data.name))).collect()
}

/// A number of every run against its topics.
fn against_topics(all: &Everything, kind: Kind, of: impl Fn(&Outcome) -> Option<f64>) -> Curves {
    each(all, |corpus, algorithm| {
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

/// Whether on some corpus one algorithm is so much worse than another that a linear axis would press the others together.
fn far_apart(curves: &Curves) -> bool {
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
                let _ = writeln!(out, "{},{name},{x},{y}", cell(corpus));
            }
        }
    }
    out
}
