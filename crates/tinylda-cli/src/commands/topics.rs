//! `tinylda topics`

use std::fmt::Write;

use serde_json::{Value, json};
use tinylda::model::{Order, RankedWord};
use tinylda::{Error, Model};

use super::{plain, print, shown, table, to_stdout, visible};
use crate::args::{self, TopicOrder, WordOrder};

pub(crate) fn run(a: &args::Topics) -> anyhow::Result<()> {
    let order = order(a)?;
    let model = Model::load(&a.model)?;
    if let Some(k) = a.topic.filter(|&k| k >= model.topics()) {
        let expected = format!("a number from 0 to {}", model.topics() - 1);
        return Err(Error::out_of_range("topic", k, expected)
            .with_remedy("omit {topic} to see all topics")
            .into());
    }
    let all = model.ranked_words(order, a.top)?;
    let mut topics: Vec<u32> = a.topic.map_or_else(|| (0..model.topics()).collect(), |k| vec![k]);
    if a.sort == TopicOrder::Prevalence {
        topics.sort_by(|&a, &b| model.share(b).total_cmp(&model.share(a)));
    }
    let topics: Vec<(u32, &[RankedWord])> = topics.into_iter().map(|k| (k, &all[k as usize][..])).collect();
    if a.tsv {
        return to_stdout(&tsv(&model, order, &topics)?);
    }
    let lines = match &topics[..] {
        [(k, words)] if a.topic.is_some() => one(&model, order, *k, words)?,
        _ => overview(&model, &topics)?,
    };
    print(a.json, &value(a, &model, order, &topics), &lines)
}

/// The order that was asked for; options of another order are refused.
fn order(a: &args::Topics) -> anyhow::Result<Order> {
    for (name, given, by, needs) in [
        ("lambda", a.lambda.is_some(), WordOrder::Relevance, "{by=relevance}"),
        ("weight", a.weight.is_some(), WordOrder::Frex, "{by=frex}"),
    ] {
        if given && a.by != by {
            return Err(Error::only_with(name, [needs]).into());
        }
    }
    Ok(match a.by {
        WordOrder::Probability => Order::Probability,
        WordOrder::Relevance => Order::Relevance(a.lambda.unwrap_or(Order::RELEVANCE)),
        WordOrder::Lift => Order::Lift,
        WordOrder::Frex => Order::Frex(a.weight.unwrap_or(Order::FREX)),
    })
}

fn value(a: &args::Topics, model: &Model, order: Order, topics: &[(u32, &[RankedWord])]) -> Value {
    let word = |w: &RankedWord| {
        json!({
            "word": model.word_name(w.word),
            "probability": w.probability,
            "lift": w.lift,
            "score": w.score,
        })
    };
    let topic = |&(k, words): &(u32, &[RankedWord])| {
        json!({
            "topic": k,
            "share": model.share(k),
            "alpha": plain(model.alpha()[k as usize]),
            "words": words.iter().map(word).collect::<Vec<_>>(),
        })
    };
    let mut value = json!({
        "model": shown(&a.model),
        "by": order.name(),
        "topics": topics.iter().map(topic).collect::<Vec<_>>(),
    });
    match order {
        Order::Relevance(lambda) => value["lambda"] = lambda.into(),
        Order::Frex(weight) => value["weight"] = weight.into(),
        Order::Probability | Order::Lift => {}
    }
    value
}

/// A line for each topic.
fn overview(model: &Model, topics: &[(u32, &[RankedWord])]) -> anyhow::Result<String> {
    let mut lines = String::from("topic   share  words\n");
    for &(k, words) in topics {
        let words: Vec<_> = words.iter().map(|w| visible(&model.word_name(w.word))).collect();
        writeln!(lines, "{k:5}  {:5.1}%  {}", 100.0 * model.share(k), words.join(" "))?;
    }
    Ok(lines)
}

/// A line for each word of a topic.
fn one(model: &Model, order: Order, k: u32, words: &[RankedWord]) -> anyhow::Result<String> {
    let mut lines = table(&[
        ("topic", k.to_string()),
        ("share", format!("{:.2}% of all tokens", 100.0 * model.share(k))),
        ("alpha", plain(model.alpha()[k as usize]).to_string()),
    ]);
    let extra = matches!(order, Order::Relevance(_) | Order::Frex(_));
    let last = if extra { format!("  {:>9}", order.name()) } else { String::new() };
    writeln!(lines, "\nprobability      lift{last}  word")?;
    for w in words {
        let last = if extra { format!("  {:9.4}", w.score) } else { String::new() };
        let name = visible(&model.word_name(w.word));
        writeln!(lines, "{:11.6}  {:8.2}{last}  {name}", w.probability, w.lift)?;
    }
    Ok(lines)
}

/// For other programs: a line for each word of each topic, below a line of names.
fn tsv(model: &Model, order: Order, topics: &[(u32, &[RankedWord])]) -> anyhow::Result<String> {
    let extra = matches!(order, Order::Relevance(_) | Order::Frex(_));
    let last = if extra { format!("\t{}", order.name()) } else { String::new() };
    let mut lines = format!("topic\tshare\trank\tword\tprobability\tlift{last}\n");
    for &(k, words) in topics {
        let share = model.share(k);
        for (w, rank) in words.iter().zip(1..) {
            let last = if extra { format!("\t{}", w.score) } else { String::new() };
            let name = visible(&model.word_name(w.word));
            writeln!(lines, "{k}\t{share}\t{rank}\t{name}\t{}\t{}{last}", w.probability, w.lift)?;
        }
    }
    Ok(lines)
}
