//! Stumbling blocks of a first-time user: what the program says instead of leaving the user alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{bad, good, run};

const TEXT: &str = "The court heard the judge and the lawyer of the defendant.\n\
The team won the game after a late goal by the striker.\n\
The bank raised interest rates while the market fell.\n\
A judge and a lawyer argued about the verdict in court.\n\
The striker scored a goal and the team celebrated the game.\n\
Investors in the market feared that the bank would raise rates.\n";

/// Returns a folder with a text file, its corpus and its model.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("t.txt"), TEXT.repeat(10)).unwrap();
    good(f, "import t.txt -o t.tlc -q");
    good(f, "train t.tlc -k 3 --passes 20 -o m.model -q");
    folder
}

fn error_text(folder: &Path, arguments: &str) -> String {
    String::from_utf8(run(folder, arguments).stderr).unwrap()
}

#[test]
fn the_summary_says_why_training_ended() {
    let folder = folder();
    let f = folder.path();
    let output = run(f, "train t.tlc -k 3 --algorithm gibbs --passes 1000 -o g.model");
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.contains("3 topics, converged after "), "{out}");
    for part in ["changed by less than 1 per pass", "a sampler", "To run all 1,000 passes, use --tol 0."] {
        assert!(error.contains(part), "{error}");
    }
    let error = error_text(f, "train t.tlc -k 3 -o d.model");
    assert!(
        error.contains(
            "over the last two rounds of five passes, the training perplexity changed by less than 0.00"
        ),
        "{error}"
    );
    assert!(error.contains("To run all 500 passes, use --tol 0.") && !error.contains("sampler"), "{error}");
    let output = run(f, "train t.tlc -k 3 --passes 7 -o p.model");
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.contains("reached the limit of 7 passes in"), "{out}");
    let advice = "reached the limit of 7 passes before convergence; more passes may improve the topics: \
                  train again with --passes 14";
    assert!(error.contains(advice), "{error}");
    // Whoever asked for all passes needs no advice.
    let error = error_text(f, "train t.tlc -k 3 --passes 12 --tol 0 -o p.model");
    assert!(!error.contains("before convergence") && !error.contains("converged"), "{error}");
    let json = good(f, "train t.tlc -k 3 --passes 7 -o p.model --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["passes"].as_u64(), json["max_passes"].as_u64()), (Some(7), Some(7)));
    assert_eq!(json["converged"].as_bool(), Some(false));
    assert!(json["tolerance"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_learned_beta_at_its_limit_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("t.txt"), TEXT).unwrap();
    let error = error_text(f, "train t.txt -k 3 --optimize --passes 100 --tol 0 -o m.model");
    let warning = "warning: --optimize has raised beta to its limit of 10";
    assert_eq!(error.matches(warning).count(), 1, "{error}");
    assert!(error.contains("Omit --optimize"), "{error}");
    assert!(good(f, "info m.model").contains("beta                 10"), "{}", good(f, "info m.model"));
    let error = error_text(f, "train t.txt -k 3 --passes 100 -o n.model");
    assert!(!error.contains(warning), "{error}");
    let error = error_text(f, "sweep t.txt -k 2,3 --repeats 2 --optimize --passes 100 --tol 0 --test 0.4");
    assert_eq!(error.matches(warning).count(), 1, "{error}");
}

#[test]
fn wrong_options_are_reported_before_an_import() {
    let folder = folder();
    let f = folder.path();
    std::fs::create_dir(f.join("kept.model.checkpoint")).unwrap();
    std::fs::write(f.join("four.txt"), "4: court\n").unwrap();
    std::fs::write(f.join("three.txt"), "0\n3\n").unwrap();
    for (command, code, part) in [
        ("train t.txt -k 3 -o x.model --kappa 0.7", 2, "--kappa is only valid with --algorithm ovb"),
        ("train t.txt -k 3 -o x.model --algorithm gibbs --burn-in 3", 2, "--burn-in requires --samples"),
        ("train t.txt -k 70000 -o x.model", 2, "-k must be at most 65536"),
        ("train t.txt -k 3 -o x.model --seeds none.txt", 1, "--seeds: cannot open none.txt"),
        ("train t.txt -k 3 -o x.model --seeds four.txt", 1, "expected topics from 0 to 2"),
        ("train t.txt -k 3 -o x.model --start none.txt", 1, "--start: cannot read none.txt"),
        ("train t.txt -k 3 -o x.model --start three.txt", 2, "--start must be a list of topics from 0 to 2"),
        ("train t.txt -k 3 -o x.model --order t.txt --algorithm atbp", 1, "expected one whole number"),
        ("train t.txt -k 3 -o x.model --order none", 2, "--order is only valid with --algorithm atbp or abp"),
        (
            "train t.txt -k 3 -o x.model --algorithm bp --seeds none",
            2,
            "--seeds is only valid with --algorithm tbp",
        ),
        (
            "train t.txt -k 3 -o m.model --resume",
            1,
            "m.model was trained with --passes 20, this run uses --passes 500",
        ),
        (
            "train t.txt t.tlc -k 3 -o x.model",
            2,
            "a corpus file cannot be combined with other inputs; import all of the data into one corpus",
        ),
        ("train t.txt -k 3 -o x.model --report none/x.html", 1, "the folder none does not exist"),
        ("train t.txt -k 3 -o x.model --log x.model", 2, "--log x.model would overwrite"),
        ("train t.txt -k 3 -o x.model --keep-corpus x.model", 2, "--keep-corpus x.model would overwrite"),
        ("train t.txt -k 3 -o x.model --json --log -", 2, "--json cannot be combined with --log -"),
        ("sweep t.txt -k 2,3 --kappa 0.7", 2, "--kappa is only valid with --algorithm ovb"),
        ("infer m.model t.txt -o x.npy --top 3", 2, "--top cannot be combined with --to npy"),
        ("report m.model t.txt -o r.html --log none.jsonl", 1, "cannot read the log none.jsonl"),
        ("eval m.model t.txt --coherence c_v --reference none.txt", 1, "cannot open none.txt"),
        ("documents m.model t.txt --topic 3", 2, "--topic must be a number from 0 to 2, not 3"),
    ] {
        bad(f, command, code, &[part]);
        let error = error_text(f, command);
        assert_eq!(error.lines().count(), 1, "the data of {command} was imported: {error}");
    }
    assert!(!f.join("t.sweep").exists());
}

#[test]
fn files_of_another_kind_name_the_command_to_run() {
    let folder = folder();
    let f = folder.path();
    let train = "train a model on it first: tinylda train";
    for (command, parts) in [
        ("topics t.tlc", vec!["it is a corpus", train, "t.tlc -k 20 -o t.model"]),
        ("topics t.txt", vec!["it contains data (text)", train, "t.txt -k 20 -o t.model"]),
        ("infer t.txt t.txt", vec!["t.txt is not a tinylda model file", train]),
        ("split t.txt -o a.tlc b.tlc", vec!["import it first: tinylda import t.txt -o t.tlc"]),
        ("convert m.model x.npz", vec!["it is a model", "arrays: tinylda export m.model --npz x.npz\n"]),
        ("convert m.model x.uci", vec!["it is a model", "arrays: tinylda export m.model --npz m.npz\n"]),
        ("export m.model --uci x.txt", vec!["it is a model", "tinylda export m.model --npz m.npz\n"]),
        ("export t.tlc --npz y.npz", vec!["it is a corpus", "counts: tinylda convert t.tlc y.npz\n"]),
        ("export t.tlc --npz=y.npz", vec!["it is a corpus", "counts: tinylda convert t.tlc y.npz\n"]),
        ("export t.tlc --to mallet -o y", vec!["it is a corpus", train]),
        ("split m.model -o a.tlc b.tlc", vec!["it is a model", "tinylda topics m.model"]),
        ("info t.txt", vec!["tinylda import t.txt -o t.tlc", "tinylda train t.txt"]),
        ("train m.model -k 2 -o x.model", vec!["m.model is not a tinylda corpus file; it is a model"]),
    ] {
        bad(f, command, 1, &parts);
    }
    std::fs::write(f.join("noise.bin"), [0u8, 1, 2, 0, 255].repeat(100)).unwrap();
    assert!(!error_text(f, "topics noise.bin").contains("tinylda train"));
}

#[test]
fn options_for_tables_and_for_json_name_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("t.csv"), "id,body\n1,the court heard the judge\n2,the team won the game\n")
        .unwrap();
    std::fs::write(f.join("t.jsonl"), "{\"body\": \"the court heard\"}\n{\"body\": \"the team won\"}\n")
        .unwrap();
    for (command, part) in [
        (
            "import t.csv --text-field body -o x.tlc",
            "is only valid with JSON; the input is csv, use --text-column",
        ),
        ("import t.csv --text-column body --id-field id -o x.tlc", "the input is csv, use --id-column"),
        (
            "import t.jsonl --text-column body -o x.tlc",
            "is only valid with CSV, TSV or Parquet; the input is jsonl, use --text-field",
        ),
    ] {
        bad(f, command, 2, &[part]);
    }
}

#[test]
fn the_report_of_a_training_can_omit_texts() {
    let folder = folder();
    let f = folder.path();
    let page = |options: &str| {
        good(f, &format!("train t.txt -k 3 --passes 12 -o r.model --report r.html {options}"));
        std::fs::read_to_string(f.join("r.html")).unwrap()
    };
    assert!(page("").contains("argued about the verdict"));
    assert!(!page("--no-text").contains("argued about the verdict"));
    bad(f, "train t.txt -k 3 -o x.model --no-text", 2, &["--report <FILE>"]);
}

#[test]
fn a_model_and_documents_in_the_wrong_order_are_recognized() {
    let folder = folder();
    let f = folder.path();
    for command in ["infer t.txt m.model", "documents t.tlc m.model", "eval t.txt m.model"] {
        bad(f, command, 2, &["the model comes first: give m.model before t."]);
    }
    bad(f, "report t.txt m.model -o r.html", 2, &["the model comes first: give m.model before t.txt"]);
}

#[test]
fn messages_name_the_data_and_no_temporary_file() {
    let folder = folder();
    let f = folder.path();
    bad(
        f,
        "documents m.model t.txt --similar-to nobody",
        1,
        &["error: t.txt contains no document \"nobody\"; pass a number from 1 to 60"],
    );
    let text = good(f, "eval m.model t.txt --coherence c_npmi");
    assert!(text.contains("reference   t.txt, 60 documents"), "{text}");
}

const HEADLINES: &str = "Headline,The Story (raw),category,published";

/// Returns rows of a table without a header: headline, text, category and date.
fn rows() -> String {
    let row = |(i, text): (usize, &str)| format!("Number {i},{text},news,2024-01-{:02}\n", i % 28 + 1);
    TEXT.repeat(5).lines().enumerate().map(row).collect()
}

#[test]
fn a_header_is_recognized_by_names_and_by_dates_below_them() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for header in [HEADLINES, "Headline 1,The Story 2,Category 3,Published 4"] {
        std::fs::write(f.join("a.csv"), format!("{header}\n{}", rows())).unwrap();
        assert!(good(f, "import a.csv --text-column 2 -o a.tlc").starts_with("a.tlc: 30 documents"));
    }
    std::fs::write(f.join("a.csv"), rows()).unwrap();
    let output = run(f, "import a.csv --text-column 2 -o a.tlc");
    assert!(output.stdout.starts_with(b"a.tlc: 30 documents"));
    assert!(!String::from_utf8(output.stderr).unwrap().contains("--header yes"));
    // Nothing tells whether the first row is a document.
    let unclear = TEXT.lines().fold(String::new(), |all, text| all + "Number 1," + text + "\n");
    std::fs::write(f.join("a.csv"), format!("Headline 1,Story 1\n{unclear}")).unwrap();
    let error = error_text(f, "import a.csv --text-column 2 -o a.tlc");
    let hint = "the first row is read as column names; if it is a document, pass --header no";
    assert!(error.contains(hint), "{error}");
    assert!(!error_text(f, "import a.csv --text-column 2 --header yes -o a.tlc").contains("first row"));
}

#[test]
fn inputs_without_documents_say_why() {
    let folder = folder();
    let f = folder.path();
    for name in ["pdfs", "none", "texts"] {
        std::fs::create_dir(f.join(name)).unwrap();
    }
    std::fs::write(f.join("pdfs/a.pdf"), "%PDF-1.4 \n").unwrap();
    std::fs::write(f.join("texts/a.txt"), TEXT).unwrap();
    std::fs::write(f.join("empty.txt"), "").unwrap();
    std::fs::write(f.join("blank.txt"), "\n \n").unwrap();
    std::fs::write(f.join("other.txt"), "zebra quux\nquux\n").unwrap();
    let skipped = "pdfs contains no readable documents: 1 file was skipped (a.pdf: a PDF document); extract";
    for (command, part) in [
        ("import pdfs -o x.tlc", skipped),
        ("infer m.model pdfs", skipped),
        ("import none -o x.tlc", "none contains no files"),
        (
            "import texts --glob *.md -o x.tlc",
            "texts contains no file with a matching name; check --glob '*.md'",
        ),
        ("import empty.txt -o x.tlc", "error: empty.txt is empty; pass a file with documents"),
        ("import blank.txt -o x.tlc", "error: blank.txt contains only blank lines"),
        ("import pdfs/a.pdf -o x.tlc", "error: pdfs/a.pdf is a PDF document; extract its text"),
        ("import t.txt --min-docs 1000 -o x.tlc", "all words of the 60 documents were dropped; decrease"),
        (
            "infer m.model other.txt",
            "other.txt has 2 documents, none of which contains a word of the vocabulary",
        ),
    ] {
        bad(f, command, 1, &[part]);
    }
}

#[test]
fn the_plan_and_the_error_name_the_memory_of_the_import() {
    let folder = folder();
    let f = folder.path();
    let plan = good(f, "train t.txt -k 3 --plan");
    assert!(plan.contains("import of the text, before"), "{plan}");
    assert!(!good(f, "train t.tlc -k 3 --plan").contains("import of the text"));
    let json: serde_json::Value = serde_json::from_str(&good(f, "train t.txt -k 3 --plan --json")).unwrap();
    let need = json["import"].as_u64().unwrap() >> 20;
    let (less, enough) = (need - 1, format!("pass --memory {need}MiB, or import first with tinylda import"));
    let command = format!("train t.txt -k 3 --passes 2 -o x.model --threads 1 --memory {less}MiB");
    bad(f, &command, 1, &["importing the text needs about", &enough]);
    good(f, &format!("train t.txt -k 3 --passes 2 -o x.model --threads 1 --memory {need}MiB"));
}

#[test]
fn names_of_topics_are_shown_and_understood() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("seeds.txt"), "law: court judge\nsport: team goal\n").unwrap();
    good(f, "train t.tlc -k 3 --passes 20 --seeds seeds.txt -o s.model -q");
    assert!(good(f, "topics s.model --topic sport").starts_with("topic       1 (sport)\n"));
    assert!(good(f, "documents s.model t.txt --topic law --min-tokens 1").starts_with("topic 0 (law)"));
    bad(
        f,
        "topics s.model --topic x",
        2,
        &["a number from 0 to 2 or one of law, sport, not x; omit --topic"],
    );
    let info = good(f, "info s.model");
    assert!(
        info.contains("topic names          0 law, 1 sport") && info.contains("seeds (checksum"),
        "{info}"
    );
    let table = good(f, "infer s.model t.txt --top 1");
    assert!(table.starts_with("document\tname\ttopic_1\ttopic_name_1\tproportion_1\n"), "{table}");
    assert!(table.lines().nth(1).unwrap().contains("\t0\tlaw\t"), "{table}");
    assert!(good(f, "infer m.model t.txt --top 1").starts_with("document\tname\ttopic_1\tproportion_1\n"));
    let text = good(f, "eval s.model t.tlc --coherence cnpmi");
    assert!(text.contains("name   words") && text.contains("  sport  "), "{text}");
}

#[test]
fn a_file_of_stop_words_says_that_it_replaces_the_default_list() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("my.txt"), "court\n").unwrap();
    let error = error_text(f, "import t.txt --stop-words my.txt -o x.tlc");
    let hint = "the English stop words are not removed; to add my.txt to them: --stop-words en,my.txt";
    assert!(error.contains(hint) && error.contains("stop words (my.txt)"), "{error}");
    // The frequent words are those of the list that the hint proposes.
    assert!(!error.contains("frequent words, each in more than"), "{error}");
    let error = error_text(f, "import t.txt --stop-words en,my.txt -o x.tlc");
    assert!(!error.contains(hint) && error.contains("stop words (en, my.txt)"), "{error}");
    assert!(error_text(f, "import t.txt --stop-words none -o x.tlc").contains("frequent words, each in"));
    bad(
        f,
        "import t.txt --stop-words en,said -o x.tlc",
        2,
        &["not \"said\"; to remove single words, write them"],
    );
}

#[test]
fn an_evaluation_names_what_it_is_worth() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("a.csv"), format!("{HEADLINES}\n{}", rows())).unwrap();
    let expected = "--reference must be plain text or a corpus file; a.csv is csv; import it first";
    bad(f, "eval m.model --reference a.csv --coherence c_v", 2, &[expected]);
    let warning = "warning: the model was trained on these documents, so the perplexity is too optimistic";
    assert!(error_text(f, "eval m.model t.txt").contains(warning));
    assert!(error_text(f, "eval m.model t.tlc").contains(warning));
    std::fs::write(f.join("new.txt"), TEXT).unwrap();
    assert!(!error_text(f, "eval m.model new.txt").contains("warning"));
    assert!(!error_text(f, "eval m.model t.txt --coherence c_v").contains(warning));
    let text = good(f, "eval m.model t.txt --coherence c_v");
    assert!(
        text.contains("each document is one window; for sliding windows, pass --reference t.txt"),
        "{text}"
    );
}

#[test]
fn values_and_names_of_files_are_checked() {
    let folder = folder();
    let f = folder.path();
    std::fs::create_dir(f.join("r.model.checkpoint")).unwrap();
    std::fs::write(f.join("r.model.checkpoint/tinylda.state"), "").unwrap();
    std::fs::create_dir(f.join("dir")).unwrap();
    let (fixed, plain) = ("t.tlc is a corpus file, whose words and names are fixed", "t.txt is plain text");
    for (command, code, part) in [
        ("topics r.model.checkpoint", 1, "it is a checkpoint folder; finish the training with tinylda train"),
        (
            "train t.tlc -k 3 -o x.model --report x.pdf",
            2,
            "--report must be a name that ends in .html, not x.pdf",
        ),
        ("report m.model -o x.pdf", 2, "-o must be a name that ends in .html, not x.pdf"),
        ("train t.tlc -k 3 -o x.tlc", 2, "-o x.tlc: .tlc is the suffix of corpus files; choose x.model"),
        ("train t.tlc -k 3 -o x.model --stop-words en", 2, fixed),
        ("train t.txt -k 3 -o x.model --text-column body", 2, plain),
        ("train t.txt -k 3 -o x.model --seeds 3", 1, "did you mean --seed 3?"),
        ("train t.txt -k 3 -o x.model --phrases 0.3", 1, "to set the score, write --phrases=0.3"),
        ("train t.txt -k 3 -o x.model --seed x", 2, "expected a whole number from 0 to"),
        ("train t.txt -k 3 -o x.model --threads 0", 2, "expected a whole number from 1 to 65535"),
        ("import t.txt -o t.txt", 2, "-o t.txt would overwrite another input or output; choose another name"),
        ("import t.txt -o dir", 1, "error: cannot write dir: it is a folder; specify a file"),
        ("infer m.model t.txt --json", 2, "--json requires -o FILE"),
        ("topics m.model --top 0", 2, "expected a whole number of at least 1"),
        ("convert t.tlc x.xyz", 2, ".uci, .svm or .ldac"),
        ("split t.tlc --test 100% -o a.tlc b.tlc", 2, "such as 0.2 or 20%"),
    ] {
        bad(f, command, code, &[part]);
    }
    let text = good(f, "split t.tlc --test 20% -o a.tlc b.tlc");
    assert_eq!(text, good(f, "split t.tlc --test 0.2 -o a.tlc b.tlc"));
}

/// A single new document is nothing unusual, unlike a single document to train on.
#[test]
fn inference_of_a_single_document_is_no_reason_for_a_warning() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("one.txt"), "The judge and the lawyer.\n").unwrap();
    let error = error_text(f, "infer m.model one.txt");
    assert!(!error.contains("warning"), "{error}");
    assert!(error_text(f, "import one.txt -o one.tlc").contains("warning: the input is a single document"));
    std::fs::write(f.join("none.txt"), "zebra quux\nThe judge and the lawyer.\n").unwrap();
    let error = error_text(f, "infer m.model none.txt");
    assert!(!error.contains("do not influence the topics"), "{error}");
    assert!(error.contains("1 document contains no word of the model"), "{error}");
}

/// Ctrl-C is no error: the program states what it has done and how to continue.
#[test]
fn ctrl_c_is_a_statement_with_the_command_that_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    good(f, "synth -D 5000 -W 2000 -K 10 --mean-length 50 -o s.tlc");
    let log = f.join("log.jsonl");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("tinylda"))
        .current_dir(f)
        .args("train s.tlc -k 20 --passes 100000 --tol 0 -o m.model --log log.jsonl".split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut error = BufReader::new(child.stderr.take().unwrap());
    error.read_line(&mut String::new()).unwrap();
    // At least one pass is finished when the log has a line.
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains('\n')) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap().success());
    let mut text = String::new();
    error.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    assert!(text.contains("Stopped after pass ") && !text.contains("error"), "{text}");
    assert!(text.contains("with a checkpoint in m.model.checkpoint.\nResume with:\n  "), "{text}");
    assert!(
        text.trim_end()
            .ends_with("train s.tlc -k 20 --passes 100000 --tol 0 -o m.model --log log.jsonl --resume")
    );
}

/// Words that an import drops since the model does not know them count as unknown.
#[test]
fn an_evaluation_counts_dropped_words() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("new.txt"), TEXT.replace("court", "zebra quux")).unwrap();
    let text = good(f, "eval m.model new.txt");
    assert!(text.contains("words unknown          4 tokens, ignored\n"), "{text}");
    let json = |command: &str| -> serde_json::Value { serde_json::from_str(&good(f, command)).unwrap() };
    let value = json("eval m.model new.txt --json");
    assert_eq!((value["tokens_unknown"].as_u64(), value["words_unknown"].is_null()), (Some(4), true));
    assert_eq!(json("infer m.model new.txt -o x.tsv --json")["tokens_unknown"], 4);
    good(f, "import new.txt --vocabulary m.model -o known.tlc");
    assert_eq!(json("eval m.model known.tlc --json")["tokens_unknown"], 4);
    // The words of a corpus file are compared later, and are known.
    good(f, "import new.txt -o new.tlc");
    let text = good(f, "eval m.model new.tlc");
    assert!(text.contains("words unknown          2 (4 tokens, ignored)\n"), "{text}");
    let value = json("eval m.model new.tlc --json");
    assert_eq!((value["tokens_unknown"].as_u64(), value["words_unknown"].as_u64()), (Some(4), Some(2)));
}

#[test]
fn several_inputs_are_accepted_and_named() {
    let folder = folder();
    let f = folder.path();
    for (i, name) in ["n1.txt", "n2.txt", "n3.txt"].into_iter().enumerate() {
        std::fs::write(f.join(name), TEXT.repeat(i + 2)).unwrap();
    }
    let page = |name: &str| std::fs::read_to_string(f.join(name)).unwrap();
    good(f, "report m.model n1.txt n2.txt n3.txt -o r.html");
    assert!(page("r.html").contains("\"title\":\"n1.txt and 2 more\""));
    let text = good(f, "eval m.model n1.txt n2.txt --coherence c_npmi");
    assert!(text.contains("reference   n1.txt and 1 more, 30 documents"), "{text}");
    assert!(good(f, "eval m.model n1.txt n2.txt").contains("documents              30 ("));
    good(f, "export m.model n1.txt n2.txt --to csv -o tables");
    assert_eq!(page("tables/doc-topic.csv").lines().count(), 31);
    bad(f, "report m.model n1.txt t.tlc -o x.html", 2, &["a corpus file cannot be combined"]);
    std::fs::write(f.join("n4"), TEXT).unwrap();
    bad(f, "report m.model n1.txt n4 -o n4", 2, &["would overwrite"]);
    bad(f, "export m.model n1.txt n2.txt --to csv -o n2.txt", 2, &["would overwrite"]);
    let error = error_text(f, "train n1.txt n2.txt -k 2 --passes 12 -o x.model --report x.html");
    assert!(error.contains("n1.txt and 1 more: text, 30 documents"), "{error}");
    assert!(error.contains("with tbp on n1.txt and 1 more: 30 documents"), "{error}");
    assert!(page("x.html").contains("\"title\":\"n1.txt and 1 more\""));
    // A name without a suffix is as good for a report as any other.
    good(f, "report m.model -o rep");
    good(f, "train t.tlc -k 2 --passes 12 -o x.model --report rep2");
    assert!(page("rep").starts_with("<!") && page("rep2").starts_with("<!"));
}

#[test]
fn columns_that_are_not_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let rows = TEXT.lines().fold(String::new(), |all, text| all + "7," + text + ",2024-01-02,x\n");
    std::fs::write(f.join("a.csv"), format!("Id,text,Datum,\"a\"\n{rows}")).unwrap();
    let not_read = "not read: \"Id\", \"Datum\", \"a\" (--id-column, --label-column, --date-column)\n";
    assert!(error_text(f, "import a.csv -o a.tlc").contains(not_read));
    let error = error_text(f, "import a.csv -o a.tlc --id-column Id --date-column Datum");
    assert!(error.contains("not read: \"a\" (--label-column)\n"), "{error}");
    let all = "--id-column Id --date-column Datum --label-column a";
    assert!(!error_text(f, &format!("import a.csv -o a.tlc {all}")).contains("not read"));
    // Columns without names are not listed.
    std::fs::write(f.join("b.csv"), rows).unwrap();
    let error = error_text(f, "import b.csv --text-column 2 --header no -o a.tlc");
    assert!(!error.contains("not read"), "{error}");
    let many: Vec<String> = (1..=14).map(|i| format!("c{i}")).collect();
    let rows = TEXT.lines().fold(String::new(), |all, text| all + text + &",1".repeat(14) + "\n");
    std::fs::write(f.join("c.csv"), format!("text,{}\n{rows}", many.join(","))).unwrap();
    assert!(error_text(f, "import c.csv -o a.tlc").contains("\"c10\" and 4 more (--id-column"));
}
