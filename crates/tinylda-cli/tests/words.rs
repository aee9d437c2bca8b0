//! Top words of topics: `topics` with every ranking, `eval --coherence`, and their errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use common::{bad, good};

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&good(folder, arguments)).unwrap()
}

/// Creates a folder with a text, its corpus and a model of its two obvious topics.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let mut text = String::new();
    for i in 0..60 {
        let line = ["onion garlic butter oven sauce", "planet orbit comet rocket moon"][i % 2];
        let words: Vec<&str> = line.split(' ').collect();
        writeln!(text, "{line}, {} {}.", words[i % 5], words[i % 3]).unwrap();
    }
    std::fs::write(f.join("texts.txt"), text).unwrap();
    good(f, "import texts.txt -o texts.tlc");
    good(f, "train texts.tlc -k 2 --passes 30 -o two.model");
    folder
}

#[test]
fn topics_in_every_order() {
    let folder = folder();
    let f = folder.path();
    for (by, more) in
        [("probability", ""), ("relevance", " --lambda 0.3"), ("lift", ""), ("frex", " --weight 0.7")]
    {
        let found = json(f, &format!("topics two.model --by {by}{more} --top 3 --sort prevalence --json"));
        assert_eq!(found["by"], by);
        let topics = found["topics"].as_array().unwrap();
        assert!(topics[0]["share"].as_f64() >= topics[1]["share"].as_f64());
        for topic in topics {
            let scores: Vec<f64> =
                topic["words"].as_array().unwrap().iter().map(|w| w["score"].as_f64().unwrap()).collect();
            assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b), "{topic}");
        }
        let tsv = good(f, &format!("topics two.model --by {by}{more} -n 3 --tsv"));
        let rows: Vec<Vec<&str>> = tsv.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(rows.len(), 7, "{tsv}");
        assert_eq!(rows[0][..6], ["topic", "share", "rank", "word", "probability", "lift"]);
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
        let one = good(f, &format!("topics two.model --by {by}{more} --topic 1 --words 4"));
        assert!(one.starts_with("topic       1\n") && one.lines().count() == 9, "{one}");
    }
    bad(f, "topics two.model --topic 2", 2, &["--topic must be a number from 0 to 1, not 2"]);
    bad(f, "topics two.model --lambda 0.5", 2, &["--lambda", "--by relevance"]);
    bad(f, "topics two.model --by relevance --weight 0.5", 2, &["--weight", "--by frex"]);
    bad(f, "topics two.model --by relevance --lambda 2", 2, &["from 0 to 1"]);
}

#[test]
fn coherence_of_corpus_and_texts() {
    let folder = folder();
    let f = folder.path();
    let whole = json(f, "eval two.model texts.tlc --coherence all --top 5 --json");
    let names: Vec<&str> =
        whole["coherence"].as_array().unwrap().iter().map(|m| m["measure"].as_str().unwrap()).collect();
    assert_eq!(names, ["u_mass", "c_uci", "c_npmi", "c_v"]);
    assert!(whole["windows"].as_str().unwrap().contains("each document is one window"), "{whole}");
    assert_eq!(whole["reference_documents"], 60);
    assert!(whole["predictive_perplexity"].is_null());
    for key in ["exclusivity", "effective_words", "words_missing"] {
        assert_eq!(whole[key].as_array().unwrap().len(), 2, "{key}: {whole}");
    }
    // With the word order, and with windows longer than the lines, which is the same as without it.
    let texts = json(f, "eval two.model --reference texts.txt --coherence c_npmi --top 5 --json");
    assert_eq!(texts["coherence"][0]["window"], 10);
    let wide = json(
        f,
        "eval two.model --reference texts.txt --coherence c_npmi,c_v --window 50 --top 5 --threads 2 --json",
    );
    assert_eq!(wide["coherence"][0]["topics"], whole["coherence"][2]["topics"]);
    assert_eq!(wide["coherence"][1]["mean"], whole["coherence"][3]["mean"]);
    let again = json(f, "eval two.model --reference texts.tlc --coherence c_v --top 5 --json");
    assert_eq!(again["coherence"][0]["topics"], whole["coherence"][3]["topics"]);
    let both = json(f, "eval two.model texts.tlc --coherence u_mass --perplexity --json");
    assert!(both["predictive_perplexity"].is_number() && both["coherence"][0]["mean"].is_number(), "{both}");
    let text = good(f, "eval two.model texts.tlc --coherence c_v,u_mass --top 5");
    for part in ["c_v", "u_mass", " mean", "diversity", "whole documents"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    std::fs::write(f.join("other.txt"), "nothing of it here\n").unwrap();
    std::fs::write(f.join("part.txt"), "garlic butter\nplanet orbit comet\n").unwrap();
    std::fs::write(f.join("latin1.txt"), b"fine\nh\xe4\n").unwrap();
    bad(
        f,
        "eval two.model --reference other.txt --coherence c_v",
        1,
        &["other.txt", "none of the topics' words"],
    );
    bad(f, "eval two.model --reference latin1.txt --coherence c_v", 1, &["latin1.txt, line 2", "UTF-8"]);
    bad(f, "eval two.model --reference two.model --coherence c_v", 2, &["--reference", "a model file"]);
    bad(f, "eval two.model --reference none.txt --coherence c_v", 1, &["none.txt"]);
    bad(f, "eval two.model texts.tlc --coherence c_v --window 5", 2, &["--window 5", "--reference"]);
    bad(f, "eval two.model texts.tlc --coherence c_x", 2, &["c_x", "c_npmi"]);
    bad(f, "eval two.model texts.tlc --window 5", 2, &["--coherence"]);
    bad(f, "eval two.model", 2, &["CORPUS"]);
    bad(f, "eval two.model texts.tlc --coherence c_v --top 1", 2, &["--top"]);
    let part = json(f, "eval two.model --reference part.txt --coherence c_npmi --top 5 --json");
    assert_eq!(
        part["words_missing"].as_array().unwrap().iter().flat_map(|t| t.as_array().unwrap()).count(),
        5
    );
    let kept =
        json(f, "eval two.model --reference part.txt --coherence c_npmi --top 5 --missing keep --json");
    assert!(kept["coherence"][0]["mean"].is_null(), "{kept}");
}
