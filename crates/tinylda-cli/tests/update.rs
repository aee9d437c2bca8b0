//! `tinylda update` as the user sees it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use common::{bad, good, run};
use serde_json::Value;

/// Creates a folder with texts, a model of them, and new texts with new words.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let texts = |words: [&str; 2], n: usize| {
        let lines: Vec<String> = (0..n).map(|d| [words[d % 2]; 3].join(" ") + "\n").collect();
        lines.concat()
    };
    let old = texts(["the goals of the match and the referee", "the judge of the court and the law"], 60);
    let new = texts(["the goals of the stadium", "the judge and the jurors"], 20);
    std::fs::write(folder.path().join("old.txt"), old).unwrap();
    std::fs::write(folder.path().join("new.txt"), new).unwrap();
    good(folder.path(), "train old.txt -k 2 --stem en --stop-words en --passes 20 -o old.model -q");
    folder
}

fn json(folder: &std::path::Path, arguments: &str) -> Value {
    serde_json::from_str(&good(folder, arguments)).unwrap()
}

/// Text is processed as for the model, also without its options, and new words are added.
#[test]
fn a_model_is_updated_with_text() {
    let folder = folder();
    let folder = folder.path();
    let result = json(folder, "update old.model new.txt --passes 20 -o new.model --json -q");
    let update = &result["update"];
    assert_eq!((&update["documents_before"], &update["words_new"]), (&60.into(), &2.into()), "{result}");
    assert_eq!(update["similarities"].as_array().unwrap().len(), 2);
    assert!(update["similarity_mean"].as_f64().unwrap() > 0.8);
    let words = good(folder, "topics new.model --top 10");
    for word in ["goal", "refere", "stadium", "juror"] {
        assert!(words.contains(word), "{words}");
    }
    assert!(!words.contains("goals") && !words.contains("the"), "{words}");
    let info = json(folder, "info new.model --json");
    assert_eq!(info["update"]["corpora"][0]["documents"], 60);
    assert!(good(folder, "info new.model").contains("after 60 earlier documents (weight 1): 2 words added"));
    let shown = run(folder, "update old.model new.txt --passes 20 -o again.model");
    let (shown, said) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(shown.contains("2 new words added; topics before and after: mean cosine 0."), "{shown}");
    assert!(said.contains("updating 2 topics of old.model (60 earlier documents) on new.txt"), "{said}");
    let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert_eq!(bytes("new.model"), bytes("again.model"));
    // The same update from a corpus file.
    good(folder, "import new.txt --stem en --stop-words en -o new.tlc -q");
    good(folder, "update old.model new.tlc --passes 20 -o corpus.model -q");
    assert_eq!(json(folder, "info corpus.model --json")["words"], info["words"]);
    good(folder, "update old.model new.tlc --passes 20 -o corpus.model -q --resume");
    bad(
        folder,
        "update old.model new.tlc --passes 20 --weight 2 -o corpus.model -q --resume",
        1,
        &["--weight"],
    );
    // The perplexity of documents of any of the trainings is too optimistic.
    good(folder, "import old.txt --stem en --stop-words en -o old.tlc -q");
    let warned = run(folder, "eval corpus.model old.tlc");
    assert!(String::from_utf8_lossy(&warned.stderr).contains("was trained on these documents"));
}

#[test]
fn words_are_selected() {
    let folder = folder();
    let folder = folder.path();
    let text = "goals judge\n".repeat(10) + &"goals stadium\n".repeat(5);
    std::fs::write(folder.join("more.txt"), text).unwrap();
    let result = json(folder, "update old.model more.txt --min-docs 6 --passes 5 -o a.model --json -q");
    assert_eq!(result["update"]["words_new"], 0, "{result}");
    bad(folder, "update old.model new.txt --stem de -o b.model", 2, &["cannot be combined with a model"]);
}

#[test]
fn unsuitable_arguments_are_refused() {
    let folder = folder();
    let folder = folder.path();
    for (options, code, parts) in [
        ("-k 3 -o new.model", 2, &["--topics", "cannot be used with"][..]),
        ("--report r.html -o new.model", 2, &["--report", "cannot be used with"]),
        ("--algorithm vb -o new.model", 2, &["--algorithm vb is not supported", "updated with tbp"]),
        ("--weight 0 -o new.model", 2, &["--weight", "above 0"]),
        ("-o old.model", 2, &["would overwrite"]),
        ("-o new.txt", 2, &["would overwrite"]),
    ] {
        bad(folder, &format!("update old.model new.txt {options}"), code, parts);
    }
    bad(folder, "update new.txt old.model -o new.model", 2, &["the model comes first"]);
    std::fs::write(folder.join("other.txt"), "xylophone zither\nxylophone zither\n").unwrap();
    bad(
        folder,
        "update old.model other.txt -o new.model",
        2,
        &["no word of the new documents is in the model"],
    );
    assert!(!folder.join("new.model").exists());
}
