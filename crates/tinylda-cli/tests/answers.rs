//! Output of `infer`, `documents` and `export --to`: formats, messages about unknown words, and
//! errors in the arguments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::io::Read;

use serde_json::Value;

use common::{bad, good, run};

/// Creates a folder with 60 documents about two themes, as text with names, their corpus, and a
/// model of 4 topics.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let themes = ["rain storm cloud snow wind", "goal match coach league team"];
    let lines: Vec<String> = (0..60).map(|d| [themes[d % 2]; 5].join(" ") + " people time\n").collect();
    std::fs::write(f.join("text.txt"), lines.concat()).unwrap();
    let names: Vec<String> = (0..60).map(|d| format!("doc, \"{d}\"\n")).collect();
    std::fs::write(f.join("names.txt"), names.concat()).unwrap();
    good(f, "import text.txt --format text --names names.txt -o text.tlc");
    good(f, "train text.tlc -k 4 --passes 20 -o text.model");
    folder
}

#[test]
fn new_documents_in_every_format() {
    let folder = folder();
    let f = folder.path();
    let tsv = good(f, "infer text.model text.tlc");
    let mut lines = tsv.lines();
    assert_eq!(lines.next(), Some("document\tname\tp_0\tp_1\tp_2\tp_3"));
    let first: Vec<&str> = lines.next().unwrap().split('\t').collect();
    assert_eq!(first[..2], ["1", "doc, \"0\""]);
    let sum: f64 = first[2..].iter().map(|p| p.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6);
    assert_eq!(tsv.lines().count(), 61);
    for threads in [1, 3] {
        assert_eq!(good(f, &format!("infer text.model text.tlc --threads {threads}")), tsv);
    }
    good(f, "infer text.model text.tlc -o t.tsv");
    assert_eq!(std::fs::read_to_string(f.join("t.tsv")).unwrap(), tsv);
    good(f, "infer text.model text.tlc --top 2 -o t.jsonl");
    let text = std::fs::read_to_string(f.join("t.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((line["document"].as_u64(), line["tokens"].as_u64()), (Some(1), Some(27)));
    assert_eq!(line["topics"].as_array().unwrap().len(), 2);
    let told: Value = serde_json::from_str(&good(f, "infer text.model text.tlc -o t.npy --json")).unwrap();
    assert_eq!(told["documents"], 60);
    let npy = std::fs::read(f.join("t.npy")).unwrap();
    assert!(npy.starts_with(b"\x93NUMPY") && npy.len().is_multiple_of(64));
    assert!(String::from_utf8_lossy(&npy[..128]).contains("'shape': (60, 4)"));
    good(f, "infer text.model text.tlc -o t.parquet");
    assert!(std::fs::read(f.join("t.parquet")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn unknown_words_are_reported() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("new.txt"), "rain storm aliens\naliens martians\n").unwrap();
    let output = run(f, "infer text.model new.txt --top 1");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("dropped: 3 not in the vocabulary"), "{said}");
    assert!(
        said.contains("1 document contains no word of the model and gets the proportions of the prior: 2"),
        "{said}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().nth(2), Some("2\t\t0\t0.25"), "{text}");
    assert!(
        std::fs::read_dir(f).unwrap().all(|e| !e.unwrap().file_name().to_string_lossy().contains(".tmp"))
    );
}

#[test]
fn invalid_arguments_are_reported() {
    let folder = folder();
    let f = folder.path();
    bad(f, "infer text.model text.tlc -o t.xyz", 2, &[".tsv, .csv, .jsonl, .npy or .parquet", "--to"]);
    bad(f, "infer text.model text.tlc -o t.npy --top 3", 2, &["--top cannot be combined with --to npy"]);
    bad(f, "infer text.model text.tlc --json", 2, &["--json requires -o FILE"]);
    bad(f, "infer text.model text.tlc --vocab names.txt", 2, &["--vocab", "corpus file"]);
    bad(f, "infer text.model missing.tlc", 1, &["missing.tlc", "check the name"]);
    bad(f, "infer text.tlc text.tlc", 1, &["it is a corpus"]);
    bad(f, "documents text.model text.tlc --topic 4", 2, &["from 0 to 3"]);
    bad(f, "documents text.model text.tlc --similar-to nobody", 1, &["nobody", "from 1 to 60"]);
    bad(f, "export text.model --to pyldavis -o t.json", 2, &["CORPUS", "pyldavis"]);
    bad(f, "export text.model text.tlc --to sklearn -o t.npz", 2, &["CORPUS"]);
    bad(f, "export text.model --to mallet", 2, &["--output"]);
    bad(f, "export text.model --to mallet -o text.model", 2, &["-o"]);
}

#[test]
fn typical_and_similar_documents() {
    let folder = folder();
    let f = folder.path();
    let value: Value =
        serde_json::from_str(&good(f, "documents text.model text.tlc --top 3 --topic 1 --json")).unwrap();
    let documents = value["topics"][0]["documents"].as_array().unwrap();
    assert_eq!((value["topics"][0]["topic"].as_u64(), documents.len()), (Some(1), 3));
    assert!(documents[0]["name"].as_str().unwrap().starts_with("doc, "));
    let tsv = good(f, "documents text.model text.tlc --similar-to 2 --top 5 --tsv");
    assert_eq!(tsv.lines().next(), Some("rank\tdocument\tname\ttokens\thellinger_distance\ttext"));
    // Document 2 is about football, as are all documents with even numbers.
    for line in tsv.lines().skip(1) {
        assert!(line.split('\t').nth(1).unwrap().parse::<u64>().unwrap().is_multiple_of(2), "{tsv}");
    }
    assert!(good(f, "documents text.model text.tlc --top 1").contains("topic 3: "));
}

#[test]
fn mallet_files_have_the_right_layout() {
    let folder = folder();
    let f = folder.path();
    good(f, "export text.model text.tlc --to mallet --words 3 -o m");
    let read = |name: &str| std::fs::read_to_string(f.join("m").join(name)).unwrap();
    let keys = read("topic-keys.txt");
    assert_eq!(keys.lines().count(), 4);
    let first: Vec<&str> = keys.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[..2], ["0", "0.5"]);
    assert!(first[2].ends_with(' ') && first[2].split_whitespace().count() == 3);
    let topics = read("doc-topics.txt");
    let first: Vec<&str> = topics.lines().next().unwrap().split('\t').collect();
    assert_eq!((topics.lines().count(), first.len(), &first[..2]), (60, 6, &["0", "doc, \"0\""][..]));
    let weights = read("topic-word-weights.txt");
    assert_eq!(weights.lines().count(), 4 * 12);
    assert!(weights.lines().all(|l| l.split('\t').count() == 3));
    let counts = read("word-topic-counts.txt");
    let total: u64 = counts
        .lines()
        .flat_map(|l| {
            l.split(' ').skip(2).map(|pair| pair.split(':').nth(1).unwrap().parse::<u64>().unwrap())
        })
        .sum();
    assert_eq!((counts.lines().count(), total), (12, 60 * 27));
    let mut state = String::new();
    let packed = std::fs::File::open(f.join("m/state.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut state).unwrap();
    let mut lines = state.lines();
    assert_eq!(lines.next(), Some("#doc source pos typeindex type topic"));
    assert!(lines.next().unwrap().starts_with("#alpha : 0.5 0.5 0.5 0.5"));
    assert!(lines.next().unwrap().starts_with("#beta : 0.01"));
    assert_eq!(lines.clone().count(), 60 * 27);
    assert!(lines.all(|l| l.split(' ').count() == 6));
    good(f, "export text.model text.tlc --to mallet --words 3 --threads 3 -o again");
    for name in ["doc-topics.txt", "state.gz"] {
        assert_eq!(
            std::fs::read(f.join("m").join(name)).unwrap(),
            std::fs::read(f.join("again").join(name)).unwrap()
        );
    }
}

#[test]
fn pyldavis_gets_its_five_inputs() {
    let folder = folder();
    let f = folder.path();
    good(f, "export text.model text.tlc --to pyldavis -o v.json");
    let value: Value = serde_json::from_slice(&std::fs::read(f.join("v.json")).unwrap()).unwrap();
    let list = |name: &str| value[name].as_array().unwrap().clone();
    assert_eq!(value.as_object().unwrap().len(), 5);
    for (name, rows, columns) in [("topic_term_dists", 4, 12), ("doc_topic_dists", 60, 4)] {
        let all = list(name);
        assert_eq!(all.len(), rows);
        for row in all {
            let row = row.as_array().unwrap();
            let sum: f64 = row.iter().map(|p| p.as_f64().unwrap()).sum();
            assert!(row.len() == columns && (sum - 1.0).abs() < 1e-6);
        }
    }
    assert!(list("doc_lengths").iter().all(|n| n == 27) && list("doc_lengths").len() == 60);
    assert_eq!((list("vocab").len(), list("term_frequency").len()), (12, 12));
    assert_eq!(list("term_frequency").iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 60 * 27);
}

#[test]
fn arrays_and_tables_are_written() {
    let folder = folder();
    let f = folder.path();
    for target in ["gensim", "sklearn"] {
        good(f, &format!("export text.model --to {target} -o {target}.npz"));
        assert!(std::fs::read(f.join(format!("{target}.npz"))).unwrap().starts_with(b"PK"));
    }
    for target in ["csv", "parquet"] {
        good(f, &format!("export text.model text.tlc --to {target} -o {target}"));
        for table in ["topic-word", "doc-topic"] {
            assert!(f.join(target).join(format!("{table}.{target}")).exists());
        }
    }
    let csv = std::fs::read_to_string(f.join("csv/doc-topic.csv")).unwrap();
    assert_eq!(csv.lines().next(), Some("document,name,tokens,topic_0,topic_1,topic_2,topic_3"));
    assert!(csv.lines().nth(1).unwrap().starts_with("1,\"doc, \"\"0\"\"\",27,"), "{csv}");
}
