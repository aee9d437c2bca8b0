//! `tinylda topics`: prints the topics of a model.

use std::fmt::Write;

use serde_json::{Value, json};
use tinylda::model::{RankedWord, WordRanking};
use tinylda::{Error, Model};

use super::{escape_control, path_string, plain, print, table, to_stdout, topic_name_suffix, topic_number};
use crate::args::{self, TopicOrder, WordOrder};

pub(crate) fn run(a: &args::TopicsArgs) -> anyhow::Result<()> {
    let order = order(a)?;
    let model = Model::load(&a.model)?;
    let one = a.topic.as_deref().map(|asked| topic_number(&model, asked)).transpose();
    let one = one.map_err(|error| error.with_remedy("omit {topic} to see all topics"))?;
    let all = model.ranked_words(order, a.top as usize)?;
    let mut topics: Vec<u32> = one.map_or_else(|| (0..model.topics()).collect(), |k| vec![k]);
    if a.sort == TopicOrder::Prevalence {
        topics.sort_by(|&a, &b| model.share(b).total_cmp(&model.share(a)));
    }
    let topics: Vec<(u32, &[RankedWord])> = topics.into_iter().map(|k| (k, &all[k as usize][..])).collect();
    if a.tsv {
        return to_stdout(&tsv(&model, order, &topics)?);
    }
    let lines = match &topics[..] {
        [(k, words)] if a.topic.is_some() => one_topic(&model, order, *k, words)?,
        _ => overview(&model, &topics)?,
    };
    print(a.json, &value(a, &model, order, &topics), &lines)
}

/// Returns the requested ranking of words. Rejects options of another ranking.
fn order(a: &args::TopicsArgs) -> anyhow::Result<WordRanking> {
    for (name, given, by, needs) in [
        ("lambda", a.lambda.is_some(), WordOrder::Relevance, "{by=relevance}"),
        ("weight", a.weight.is_some(), WordOrder::Frex, "{by=frex}"),
    ] {
        if given && a.by != by {
            return Err(Error::only_with(name, [needs]).into());
        }
    }
    Ok(match a.by {
        WordOrder::Probability => WordRanking::Probability,
        WordOrder::Relevance => WordRanking::Relevance(a.lambda.unwrap_or(WordRanking::RELEVANCE)),
        WordOrder::Lift => WordRanking::Lift,
        WordOrder::Frex => WordRanking::Frex(a.weight.unwrap_or(WordRanking::FREX)),
    })
}

/// Returns the topics as JSON.
fn value(a: &args::TopicsArgs, model: &Model, order: WordRanking, topics: &[(u32, &[RankedWord])]) -> Value {
    let word = |w: &RankedWord| {
        json!({
            "word": model.word_name(w.word),
            "probability": w.probability,
            "lift": w.lift,
            "score": w.score,
        })
    };
    let topic = |&(k, words): &(u32, &[RankedWord])| {
        let mut topic = json!({
            "topic": k,
            "prevalence": model.share(k),
            "share": model.share(k),
            "alpha": plain(model.alpha()[k as usize]),
            "words": words.iter().map(word).collect::<Vec<_>>(),
        });
        if let Some(name) = model.topic_name(k) {
            topic["name"] = name.into();
        }
        topic
    };
    let mut value = json!({
        "model": path_string(&a.model),
        "by": order.name(),
        "topics": topics.iter().map(topic).collect::<Vec<_>>(),
    });
    match order {
        WordRanking::Relevance(lambda) => value["lambda"] = lambda.into(),
        WordRanking::Frex(weight) => value["weight"] = weight.into(),
        WordRanking::Probability | WordRanking::Lift => {}
    }
    value
}

/// Returns one line per topic.
fn overview(model: &Model, topics: &[(u32, &[RankedWord])]) -> anyhow::Result<String> {
    // There is a column of names only if there are names, which come from seed words.
    let name = |k: u32| escape_control(model.topic_name(k).unwrap_or_default());
    let width = topics.iter().map(|&(k, _)| name(k).chars().count() + 2).max().unwrap_or(0).max(6);
    let width = if model.has_topic_names() { width } else { 0 };
    let head = if width > 0 { "name" } else { "" };
    let mut lines = format!("topic  prevalence  {head:width$}words\n");
    for &(k, words) in topics {
        let words: Vec<_> = words.iter().map(|w| escape_control(&model.word_name(w.word))).collect();
        let (share, name) = (100.0 * model.share(k), name(k));
        writeln!(lines, "{k:5}  {share:9.1}%  {name:width$}{}", words.join(" "))?;
    }
    Ok(lines)
}

/// Returns one line per word of a topic.
fn one_topic(model: &Model, order: WordRanking, k: u32, words: &[RankedWord]) -> anyhow::Result<String> {
    let mut lines = table(&[
        ("topic", format!("{k}{}", topic_name_suffix(model, k))),
        ("prevalence", format!("{:.2}% of all tokens", 100.0 * model.share(k))),
        ("alpha", plain(model.alpha()[k as usize]).to_string()),
    ]);
    let extra = matches!(order, WordRanking::Relevance(_) | WordRanking::Frex(_));
    let last = if extra { format!("  {:>9}", order.name()) } else { String::new() };
    writeln!(lines, "\nprobability      lift{last}  word")?;
    for w in words {
        let last = if extra { format!("  {:9.4}", w.score) } else { String::new() };
        let name = escape_control(&model.word_name(w.word));
        writeln!(lines, "{:11.6}  {:8.2}{last}  {name}", w.probability, w.lift)?;
    }
    Ok(lines)
}

/// Returns tab-separated values: a header, then one line per topic and word.
fn tsv(model: &Model, order: WordRanking, topics: &[(u32, &[RankedWord])]) -> anyhow::Result<String> {
    let extra = matches!(order, WordRanking::Relevance(_) | WordRanking::Frex(_));
    let last = if extra { format!("\t{}", order.name()) } else { String::new() };
    let names = model.has_topic_names();
    let head = if names { "topic\tname" } else { "topic" };
    let mut lines = format!("{head}\tshare\trank\tword\tprobability\tlift{last}\n");
    for &(k, words) in topics {
        let share = model.share(k);
        for (w, rank) in words.iter().zip(1..) {
            let last = if extra { format!("\t{}", w.score) } else { String::new() };
            let name = escape_control(&model.word_name(w.word));
            let topic = match model.topic_name(k) {
                Some(own) => format!("{k}\t{}", escape_control(own)),
                None if names => format!("{k}\t"),
                None => k.to_string(),
            };
            writeln!(lines, "{topic}\t{share}\t{rank}\t{name}\t{}\t{}{last}", w.probability, w.lift)?;
        }
    }
    Ok(lines)
}
