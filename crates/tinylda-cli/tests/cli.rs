//! All commands as the user sees them: output, JSON, exit codes and error messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn tinylda(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::cargo_bin("tinylda").unwrap();
    command.current_dir(folder).args(arguments.split_ascii_whitespace());
    command
}

fn run(folder: &Path, arguments: &str) -> Output {
    tinylda(folder, arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn good(folder: &Path, arguments: &str) -> Output {
    let output = run(folder, arguments);
    assert!(output.status.success(), "tinylda {arguments}: {}", stderr(&output));
    output
}

/// Runs a command that must succeed and returns the only JSON object on its standard output.
fn json(folder: &Path, arguments: &str) -> Value {
    let text = stdout(&good(folder, arguments));
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Runs a command that must fail with an exit code, print nothing on standard output, and print all
/// of `parts` on standard error.
fn bad(folder: &Path, arguments: &str, code: i32, parts: &[&str]) {
    let output = run(folder, arguments);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "tinylda {arguments}: {text}");
    assert!(output.stdout.is_empty(), "tinylda {arguments}: {}", stdout(&output));
    for part in parts {
        assert!(text.contains(part), "tinylda {arguments}: {part:?} is missing in: {text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tinylda/tests/fixtures/golden").join(name)
}

/// Creates a folder with the authors' small corpus, as text, with initial topics and order.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["docword.small.txt", "small.init.txt", "small.order.txt"] {
        std::fs::copy(golden(name), folder.path().join(name)).unwrap();
    }
    let words: Vec<String> = (1..=200).map(|w| format!("word{w}")).collect();
    std::fs::write(folder.path().join("vocab.txt"), words.join("\n")).unwrap();
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn all_commands_in_sequence() {
    let folder = folder();
    let f = folder.path();
    let imported = json(f, "import docword.small.txt --vocab vocab.txt -o small.tlc --json");
    assert_eq!(
        (&imported["documents"], &imported["words"], &imported["nonzeros"], &imported["tokens"]),
        (&80.into(), &200.into(), &1969.into(), &4695.into())
    );
    assert_eq!((&imported["format"], &imported["compression"]), (&"uci".into(), &"none".into()));

    let info = json(f, "info small.tlc --json");
    assert_eq!(
        (&info["kind"], &info["unused_words"], &info["checksum"]),
        (&"corpus".into(), &68.into(), &"verified".into())
    );
    for key in [
        "length_mean",
        "length_median",
        "length_p99",
        "length_max",
        "bytes",
        "bytes_per_nonzero",
        "blocks",
        "empty_documents",
    ] {
        assert!(info[key].is_number(), "{key}: {info}");
    }

    let split = json(f, "split small.tlc --test 0.5 --seed 1 -o train.tlc test.tlc --json");
    assert_eq!((&split["train"]["documents"], &split["test"]["documents"]), (&40.into(), &40.into()));
    assert_eq!(split["train"]["tokens"].as_u64().unwrap() + split["test"]["tokens"].as_u64().unwrap(), 4695);

    let trained = json(
        f,
        "train train.tlc -k 6 --algorithm atbp --passes 20 --seed 1 --log train.jsonl -o small.model --json",
    );
    assert_eq!(
        (&trained["algorithm"], &trained["topics"], &trained["model"]),
        (&"atbp".into(), &6.into(), &"small.model".into())
    );
    for key in ["passes", "seconds", "train_perplexity", "peak_rss_bytes"] {
        assert!(trained[key].is_number(), "{key}: {trained}");
    }
    let log = std::fs::read_to_string(f.join("train.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, trained["passes"].as_u64().unwrap());
    for (line, pass) in lines.iter().zip(1..) {
        assert_eq!(line["pass"], pass);
        assert!(
            line["seconds"].is_number()
                && line["train_perplexity"].is_number()
                && line["peak_rss_bytes"].is_number()
        );
    }
    assert_eq!(lines.last().unwrap()["train_perplexity"], trained["train_perplexity"]);

    let topics = json(f, "topics small.model -n 4 --json");
    assert_eq!(topics["topics"].as_array().unwrap().len(), 6);
    assert_eq!(topics["topics"][5]["words"].as_array().unwrap().len(), 4);
    assert!(topics["topics"][0]["words"][0]["word"].as_str().unwrap().starts_with("word"));
    good(f, "topics small.model -n 4294967295 --json");
    let text = stdout(&good(f, "topics small.model -n 4"));
    assert_eq!(text.lines().count(), 7, "{text}");

    let e = json(f, "eval small.model test.tlc --seed 1 --json");
    assert!(e["predictive_perplexity"].as_f64().unwrap() < 200.0, "{e}");
    assert_eq!((&e["documents"], &e["words_unknown"]), (&40.into(), &0.into()));
    assert_eq!(
        e["tokens_observed"].as_u64().unwrap() + e["tokens_scored"].as_u64().unwrap(),
        split["test"]["tokens"].as_u64().unwrap()
    );
    assert!(stdout(&good(f, "eval small.model test.tlc")).contains("Definition: exp("));

    let info = json(f, "info small.model --json");
    for (key, value) in [
        ("kind", Value::from("model")),
        ("topics", 6.into()),
        ("algorithm", "atbp".into()),
        ("seed", 1.into()),
    ] {
        assert_eq!(info[key], value, "{info}");
    }
    assert_eq!(info["corpus"]["content"], json(f, "info train.tlc --json")["content"]);

    json(f, "export small.model --npz small.npz --json");
    let back = stdout(&good(f, "export small.tlc --uci -"));
    assert_eq!(back, std::fs::read_to_string(golden("docword.small.txt")).unwrap());
}

#[test]
fn numpy_reads_the_export() {
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt --vocab vocab.txt -o small.tlc");
    good(f, "train small.tlc -k 5 --passes 3 -o small.model");
    good(f, "export small.model --npz small.npz");
    let python = std::env::var("TINYLDA_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = "import sys, numpy as np; z = np.load('small.npz', allow_pickle=False); \
        assert z['phi'].shape == (200, 5) and z['phi'].dtype == np.float32, z['phi']; \
        assert abs(z['phi'].sum() - 4695) < 0.1; \
        assert z['alpha'].shape == (5,) and abs(z['alpha'][0] - 0.4) < 1e-6; \
        assert z['beta'].shape == (1,) and abs(z['beta'][0] - 0.01) < 1e-8; \
        assert z['vocab'].dtype.kind == 'U' and list(z['vocab'][[0, 199]]) == ['word1', 'word200']; print('read')";
    let probe = std::process::Command::new(&python).args(["-c", "import numpy"]).output();
    if !probe.is_ok_and(|p| p.status.success()) {
        eprintln!("skipped: no numpy to read the file with (set TINYLDA_PYTHON to a Python that has it)");
        return;
    }
    let output = std::process::Command::new(&python).current_dir(f).args(["-c", script]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "read",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_authors_perplexity_from_the_command_line() {
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt -o small.tlc");
    for (algorithm, order, expected) in
        [("stbp", "", 36.981_386), ("atbp", "--order small.order.txt", 37.611_942)]
    {
        let trained = json(
            f,
            &format!(
                "train small.tlc -k 6 --algorithm {algorithm} --alpha 0.25 --passes 50 --tol 0 --start small.init.txt {order} -o m --json"
            ),
        );
        let got = trained["train_perplexity"].as_f64().unwrap();
        assert!((got / expected - 1.0).abs() < 1e-4, "{algorithm}: {got}");
    }
    let sum = json(
        f,
        "train small.tlc -k 6 --alpha-sum 1.5 --algorithm stbp --passes 50 --tol 0 --start small.init.txt -o m --json",
    );
    assert!((sum["train_perplexity"].as_f64().unwrap() / 36.981_386 - 1.0).abs() < 1e-4);
}

#[test]
fn same_seed_gives_same_bytes() {
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt --vocab vocab.txt -o small.tlc");
    for threads in ["1", "2", "3"] {
        let trained = json(
            f,
            &format!("train small.tlc -k 6 --algorithm tbp --threads {threads} -o t{threads}.model --json"),
        );
        assert_eq!(trained["threads"].to_string(), threads);
        assert_eq!(
            std::fs::read(f.join("t1.model")).unwrap(),
            std::fs::read(f.join(format!("t{threads}.model"))).unwrap()
        );
    }
    for algorithm in ["stbp", "atbp", "tbp"] {
        for name in ["a", "b"] {
            good(f, &format!("train small.tlc -k 6 --algorithm {algorithm} --seed 5 -o {name}.model"));
        }
        assert_eq!(std::fs::read(f.join("a.model")).unwrap(), std::fs::read(f.join("b.model")).unwrap());
    }
    good(f, "split small.tlc --seed 3 -o a.tlc b.tlc");
    good(f, "split small.tlc --seed 3 -o c.tlc d.tlc");
    assert_eq!(std::fs::read(f.join("b.tlc")).unwrap(), std::fs::read(f.join("d.tlc")).unwrap());
}

#[test]
fn streams_and_quiet() {
    let folder = folder();
    let f = folder.path();
    let text = std::fs::read(f.join("docword.small.txt")).unwrap();
    let output = tinylda(f, "import - -o piped.tlc --quiet").write_stdin(text).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    good(f, "import docword.small.txt -o file.tlc");
    assert_eq!(std::fs::read(f.join("piped.tlc")).unwrap(), std::fs::read(f.join("file.tlc")).unwrap());
    let output = good(f, "train file.tlc -k 3 --passes 4 --log - -o m --quiet");
    let (log, last) = (stdout(&output), stderr(&output));
    assert!(last.is_empty(), "{last}");
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(log.lines().all(|line| line.starts_with('{')), "{log}");
    let drawn = good(f, "synth -D 50 -W 60 -K 3 --mean-length 9 --seed 7 -o -");
    assert!(stdout(&drawn).starts_with("50\n60\n"));
    good(f, "synth -D 50 -W 60 -K 3 --mean-length 9 --seed 7 -o s.tlc");
    assert_eq!(stdout(&good(f, "export s.tlc --uci -")), stdout(&drawn));
    good(f, "synth -D 50 -W 60 -K 3 --mean-length 9 --seed 7 --format uci -o s.txt");
    assert_eq!(std::fs::read_to_string(f.join("s.txt")).unwrap(), stdout(&drawn));
    good(f, "import s.txt -o t.tlc");
}

/// A closed pipe is not an error, but a log that cannot be written is.
#[cfg(unix)]
#[test]
fn closed_pipes() {
    let folder = folder();
    let f = folder.path();
    good(f, "synth -D 20000 -W 500 -K 3 -o s.tlc");
    let piped = |arguments: &str| {
        let program = assert_cmd::cargo::cargo_bin("tinylda");
        let script = format!(
            "'{}' {arguments} 2>err | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}",
            program.display()
        );
        let output =
            std::process::Command::new("bash").current_dir(f).args(["-c", &script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    assert_eq!(piped("export s.tlc --uci - --quiet"), "0");
    assert_eq!(std::fs::read_to_string(f.join("err")).unwrap(), "");
    assert_eq!(piped("train s.tlc -k 3 --passes 40 --tol 0 --log - -o m"), "1");
    assert!(std::fs::read_to_string(f.join("err")).unwrap().contains("cannot write the log"));
    assert!(!f.join("m").exists());
}

/// Extreme exponents and fractions must terminate.
#[test]
fn extreme_parameters_of_synth() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for extreme in [
        "--zipf-exponent 300",
        "--zipf-exponent 0",
        "--concentration 1e-8",
        "--alpha 1e-8",
        "--mean-length 1",
        "--smooth 0 --burst 0.99",
    ] {
        let drawn = json(
            f,
            &format!("synth -D 50 -W 40 -K 2 --mean-length 5 {extreme} -o x.tlc --json")
                .replace("--mean-length 5 --mean-length", "--mean-length"),
        );
        assert_eq!(drawn["documents"], 50);
        good(f, "info x.tlc");
    }
}

#[test]
fn help_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for command in
        ["demo", "import", "info", "split", "train", "topics", "eval", "export", "synth", "completions"]
    {
        let text = stdout(&good(f, &format!("{command} --help")));
        assert!(text.contains("Example"), "{command}: {text}");
    }
    assert!(stdout(&good(f, "--help")).contains("tinylda demo"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout(&good(f, &format!("completions {shell}"))).contains("tinylda"), "{shell}");
    }
    assert!(files(f).is_empty());
}

#[test]
fn demo() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let found = json(f, "demo --json");
    assert_eq!((&found["themes"], &found["themes_found"]), (&12.into(), &12.into()), "{found}");
    let text = stdout(&good(f, "demo --seed 2 --keep kept"));
    assert!(text.contains("cooking") && text.contains("Next, try your own documents"), "{text}");
    good(f, "info kept/demo.tlc");
    good(f, "info kept/demo.model");
}

/// Documents from standard input give the same model as a corpus file, and no temporary file
/// remains.
#[test]
fn documents_from_a_stream() {
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt -o small.tlc");
    good(f, "train small.tlc -k 3 --algorithm ovb --batch 30 --passes 2 -o file.model");
    let stream = "train - -k 3 --algorithm ovb --batch 30 --passes 2 -o stream.model";
    let input = std::fs::read(f.join("docword.small.txt")).unwrap();
    tinylda(f, stream).write_stdin(input).assert().success();
    let topics = |name: &str| json(f, &format!("topics {name} --json"))["topics"].clone();
    assert_eq!(topics("file.model"), topics("stream.model"));
    assert!(!f.join("stream.model.stdin.tlc").exists());
    bad(f, "train small.tlc -k 3 --vocab x.txt -o m", 2, &["--vocab", "import"]);
}

#[test]
fn invalid_arguments_exit_with_2() {
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt -o small.tlc");
    for (arguments, parts) in [
        ("", vec!["Usage"]),
        ("nonsense", vec!["nonsense"]),
        ("train small.tlc -o m", vec!["--topics"]),
        ("train small.tlc -k 0 -o m", vec!["expected a whole number of at least 1"]),
        ("train small.tlc -k -3 -o m", vec!["-3"]),
        ("train small.tlc -k 5000 -o m", vec!["-k must be at most 4695", "not 5000"]),
        ("train small.tlc -k 3 --alpha 0 -o m", vec!["expected a number from 0.000000001"]),
        ("train small.tlc -k 3 --alpha NaN -o m", vec!["--alpha", "expected a number"]),
        ("train small.tlc -k 3 --alpha-sum -1 -o m", vec!["-1"]),
        ("train small.tlc -k 3 --alpha 1 --alpha-sum 1 -o m", vec!["cannot be used with"]),
        ("train small.tlc -k 3 --beta 0 -o m", vec!["--beta"]),
        ("train small.tlc -k 3 --beta 1e-30 -o m", vec!["--beta", "0.000000001"]),
        ("train small.tlc -k 3 --tol nan -o m", vec!["--tol"]),
        ("train small.tlc -k 3 --passes 0 -o m", vec!["--passes"]),
        ("train small.tlc -k 3 --algorithm magic -o m", vec!["magic", "stbp"]),
        ("split small.tlc --test 1.5 -o a b", vec!["above 0 and below 1"]),
        ("split small.tlc --test 0.0001 -o a b", vec!["at least one document in each part"]),
        ("split small.tlc -o a a", vec!["would overwrite"]),
        ("split small.tlc -o small.tlc a", vec!["would overwrite"]),
        ("import docword.small.txt -o docword.small.txt", vec!["would overwrite"]),
        ("import docword.small.txt --transpose -o x", vec!["--transpose"]),
        ("import docword.small.txt --format pdf -o x", vec!["pdf", "uci"]),
        ("export small.tlc", vec!["--npz"]),
        ("export small.tlc --uci small.tlc", vec!["--uci", "would overwrite"]),
        ("export small.tlc --uci - --json", vec!["--json", "standard output"]),
        ("export small.tlc --npz -", vec!["--npz", "a file, not -"]),
        ("train small.tlc -k 3 -o small.tlc", vec!["-o", "would overwrite"]),
        ("train small.tlc -k 3 --log small.tlc -o m", vec!["--log", "would overwrite"]),
        ("train small.tlc -k 3 --log m -o ./m", vec!["--log", "would overwrite"]),
        ("train small.tlc -k 5000 --log log -o m", vec!["-k must be at most 4695"]),
        ("train small.tlc -k 3 --log - --json -o m", vec!["--json", "standard output"]),
        ("train small.tlc -k 3 -o -", vec!["-o", "a file, not -"]),
        ("train small.tlc -k 3 --tol -1 -o m", vec!["at least 0"]),
        ("train small.tlc -k 3 --threads 0 --algorithm tbp -o m", vec!["--threads"]),
        ("train small.tlc -k 3 --active some -o m", vec!["--active", "auto, all or a whole number"]),
        ("train small.tlc -k 3 --active 2 --algorithm stbp -o m", vec!["--active", "tbp"]),
        ("train small.tlc -k 3 --samples 2 --algorithm vb -o m", vec!["--samples", "gibbs"]),
        ("train small.tlc -k 3 --kappa 2 --algorithm ovb -o m", vec!["--kappa", "0 to 1"]),
        (
            "train small.tlc -k 3 --passes 5 --burn-in 5 --samples 1 --algorithm gibbs -o m",
            vec!["--burn-in must be less than --passes, not 5"],
        ),
        (
            "train small.tlc -k 3 --algorithm atbp --exclude none -o m",
            vec!["--exclude", "is only valid with --algorithm tbp"],
        ),
        ("import docword.small.txt -o -", vec!["-o", "a file, not -"]),
        ("import - --vocab - -o x", vec!["only once"]),
        ("split small.tlc", vec!["TRAIN"]),
        ("split small.tlc -o x.tlc ./x.tlc", vec!["would overwrite"]),
        ("synth -D 5 -W 5 -K 2 -o - --json", vec!["--json"]),
        ("synth -D 5 -W 5 -K 2 --format tlc -o -", vec!["-o - is not supported", "--format uci"]),
        ("synth -D 0 -W 5 -K 2 -o x", vec!["expected a whole number of at least 1"]),
        ("synth -D 5 -W 5 -K 2 --burst 1 -o x", vec!["--burst", "below 1"]),
        ("completions csh", vec!["csh"]),
    ] {
        bad(f, arguments, 2, &parts);
    }
    assert_eq!(
        files(f),
        ["docword.small.txt", "small.init.txt", "small.order.txt", "small.tlc", "vocab.txt"]
    );
}

#[test]
fn failures_exit_with_1_and_a_remedy() {
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt --vocab vocab.txt -o small.tlc");
    good(f, "train small.tlc -k 3 --passes 2 -o small.model");
    std::fs::create_dir(f.join("nothing")).unwrap();
    std::fs::write(f.join("empty"), "").unwrap();
    std::fs::write(f.join("short-vocab.txt"), "one\ntwo\n").unwrap();
    std::fs::write(f.join("bad-start.txt"), "0\n1\nx\n").unwrap();
    std::fs::write(f.join("cut.tlc"), &std::fs::read(f.join("small.tlc")).unwrap()[..500]).unwrap();
    let before = files(f);
    for (arguments, parts) in [
        ("import missing.txt -o x.tlc", vec!["missing.txt", "check the name"]),
        ("import nothing -o x.tlc", vec!["nothing", "no files"]),
        ("import empty -o x.tlc", vec!["is empty"]),
        (
            "import docword.small.txt --vocab short-vocab.txt -o x.tlc",
            vec!["short-vocab.txt", "2 words", "expected 200"],
        ),
        ("import docword.small.txt --vocab missing.txt -o x.tlc", vec!["missing.txt"]),
        (
            "import docword.small.txt -o no/such/folder/x.tlc",
            vec!["no/such/folder/x.tlc", "the folder no/such/folder does not exist"],
        ),
        ("import docword.small.txt -o .", vec!["cannot write .: it is a folder; specify a file"]),
        ("import small.tlc -o x.tlc", vec!["already imported"]),
        ("info empty", vec!["not a tinylda corpus or model file", "empty"]),
        ("info cut.tlc", vec!["cut.tlc", "damaged", "cut short"]),
        ("info missing.tlc", vec!["missing.tlc"]),
        ("train nothing -k 3 -o m", vec!["nothing", "no files"]),
        ("train small.model -k 3 -o m", vec!["it is a model", "tinylda topics small.model"]),
        ("train small.tlc -k 3 -o no/such/m", vec!["no/such/m", "the folder no/such does not exist"]),
        ("train small.tlc -k 3 --start bad-start.txt -o m", vec!["bad-start.txt", "line 3", "\"x\""]),
        ("train small.tlc -k 3 --log no/such/log -o m", vec!["no/such/log"]),
        ("topics small.tlc", vec!["it is a corpus", "train a model"]),
        ("eval small.tlc small.tlc", vec!["it is a corpus"]),
        ("export small.tlc --npz x.npz", vec!["it is a corpus"]),
        ("export small.model --uci x.txt", vec!["it is a model", "tinylda export small.model --npz"]),
        ("export small.model --npz no/such/x.npz", vec!["no/such/x.npz"]),
        ("synth -D 5 -W 5 -K 2 -o no/such/x", vec!["no/such"]),
    ] {
        bad(f, arguments, 1, &parts);
    }
    assert_eq!(files(f), before, "a failed command left a file behind");
}

#[cfg(unix)]
#[test]
fn outputs_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let f = folder.path();
    good(f, "import docword.small.txt -o small.tlc");
    bad(f, "train small.tlc -k 3 -o /dev/null", 1, &["/dev/null", "not a regular file"]);
    // Root may write anywhere, so this can be tested only as another user.
    let locked = f.join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(locked.join("try"), "").is_err() {
        bad(f, "train small.tlc -k 3 -o locked/m", 1, &["locked/m", "permissions"]);
    }
    // A small file system, if this test is allowed to create one.
    let tiny = f.join("tiny");
    std::fs::create_dir(&tiny).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&tiny)
        .output();
    if mounted.is_ok_and(|m| m.status.success()) {
        good(f, "synth -D 3000 -W 500 -K 3 -o big.tlc");
        let results = [
            run(f, "synth -D 3000 -W 500 -K 3 -o tiny/x.tlc"),
            run(f, "train big.tlc -k 100 --passes 1 -o tiny/x.model"),
            run(f, "export big.tlc --uci tiny/x.txt"),
        ];
        let left = files(&tiny);
        std::process::Command::new("umount").arg(&tiny).output().unwrap();
        for output in results {
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{text}");
            assert!(text.contains("tiny/x") && text.contains("free some space"), "{text}");
        }
        assert!(left.is_empty(), "{left:?}");
    } else {
        eprintln!("skipped in part: no small file system could be created");
    }
}

/// Sorting word-major input of four times the size of the sort buffer does not raise peak memory.
#[test]
fn sorting_stays_within_its_memory() {
    use std::fmt::Write;
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let (documents, words) = (400_000u64, 20u64);
    let mut text = format!(
        "%%MatrixMarket matrix coordinate integer general\n{documents} {words} {}\n",
        documents * words
    );
    for w in 1..=words {
        for d in 1..=documents {
            writeln!(text, "{d} {w} {}", 1 + (d + w) % 3).unwrap();
        }
    }
    std::fs::write(f.join("matrix.mtx"), text).unwrap();
    let imported = json(f, "import matrix.mtx -o matrix.tlc --json");
    assert_eq!(
        (&imported["external_sort"], &imported["nonzeros"]),
        (&true.into(), &(documents * words).into())
    );
    if let Some(peak) = imported["peak_rss_bytes"].as_u64() {
        assert!(peak < 128 << 20, "{peak}");
    }
    assert_eq!(files(f), ["matrix.mtx", "matrix.tlc"]);
}

/// Returns the minimum memory of a training in MiB, from its error message.
fn least_memory(f: &Path, settings: &str) -> u64 {
    let text = stderr(&run(f, &format!("{settings} --memory 1MiB --plan")));
    text.split("--memory ").nth(1).unwrap().split("MiB").next().unwrap().parse().unwrap()
}

/// A training stays within its memory limit, from the minimum on. The plan is known beforehand, and
/// the model does not depend on the limit.
#[test]
fn memory_limit_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    good(f, "synth -D 40000 -W 6000 -K 20 --quiet -o c.tlc");
    for algorithm in ["tbp", "stbp"] {
        let settings = format!("train c.tlc -k 40 --algorithm {algorithm} --passes 3 --tol 0");
        good(f, &format!("{settings} --memory 4GiB -o whole.model"));
        let whole = std::fs::read(f.join("whole.model")).unwrap();
        let least = least_memory(f, &settings);
        for memory in [least, least + 12, least + 40] {
            let plan = json(f, &format!("{settings} --memory {memory}MiB --plan --json"));
            assert!(plan["total"].as_u64().unwrap() <= memory << 20, "{plan}");
            let trained = json(f, &format!("{settings} --memory {memory}MiB -o m.model --json"));
            assert_eq!(trained["memory_bytes"], memory << 20);
            if let Some(peak) = trained["peak_rss_bytes"].as_u64() {
                assert!(peak <= memory << 20, "{algorithm}: {peak} with {memory} MiB");
            }
            assert!(std::fs::read(f.join("m.model")).unwrap() == whole, "{algorithm}, {memory} MiB");
        }
    }
    let plan = stdout(&good(f, "train c.tlc -k 40 --memory 50% --plan"));
    for part in ["phi", "buffers", "documents and messages", "total", "limit", "disk"] {
        assert!(plan.contains(part), "{part} is missing in {plan}");
    }
    assert_eq!(files(f), ["c.tlc", "m.model", "whole.model"]);
}

/// Memory use does not grow from pass to pass.
#[test]
fn memory_is_flat() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    good(f, "synth -D 4000 -W 2000 -K 10 --quiet -o c.tlc");
    let settings = "train c.tlc -k 20 --passes 200 --tol 0";
    for memory in [least_memory(f, settings), 1000] {
        good(f, &format!("{settings} --memory {memory}MiB --log l.jsonl -o m"));
        let log = std::fs::read_to_string(f.join("l.jsonl")).unwrap();
        let lines: Vec<serde_json::Value> = log.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 200);
        let at = |pass: usize| lines[pass - 1]["rss_bytes"].as_u64();
        // Messages grow and shrink every five passes; their buffers reach their final size long
        // before pass 100.
        if let (Some(first), Some(early), Some(late)) = (at(3), at(100), at(200)) {
            assert!(late <= early + (1 << 20), "{early} after 100 passes, {late} after 200");
            assert!(late <= first + (4 << 20), "{first} after 3 passes, {late} after 200");
        }
    }
}

/// A training that is killed at any moment can be resumed and gives the same model. An interrupted
/// training prints how to resume it.
#[cfg(unix)]
#[test]
fn killed_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    good(f, "synth -D 8000 -W 3000 -K 10 --quiet -o c.tlc");
    // R13: the log has a given name, since a training of more than a minute, on a slow machine,
    // would write one under its default name.
    let settings = "train c.tlc -k 30 --passes 40 --tol 0 --log passes.jsonl";
    good(f, &format!("{settings} -o whole.model"));
    let program = assert_cmd::cargo::cargo_bin("tinylda");
    let start = |more: &str| {
        let mut command = std::process::Command::new(&program);
        command.current_dir(f).args(settings.split(' ')).args(more.split(' '));
        command.stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let mut process = start("--checkpoint-every 0.05s -o m.model");
    let mut kills = 0;
    for n in 1.. {
        std::thread::sleep(std::time::Duration::from_millis(150 + 70 * (n % 7)));
        if process.try_wait().unwrap().is_some() {
            break;
        }
        // The last time, the running training is interrupted instead of killed.
        if n == 6 {
            let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
            assert!(lines.by_ref().any(|line| line.contains("training 30 topics")));
            let id = process.id().to_string();
            std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
            let text = lines.collect::<Vec<_>>().join("\n");
            if process.wait().unwrap().success() {
                break;
            }
            assert!(text.contains("m.model.checkpoint") && text.contains("--resume"), "{text}");
        } else {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        kills += 1;
        process = start("--checkpoint-every 0.05s -o m.model --resume --threads 2");
        if n == 6 {
            assert!(process.wait().unwrap().success());
            break;
        }
    }
    assert!(kills > 0);
    assert!(std::fs::read(f.join("m.model")).unwrap() == std::fs::read(f.join("whole.model")).unwrap());
    assert_eq!(files(f), ["c.tlc", "m.model", "passes.jsonl", "whole.model"]);
    // Now there is nothing to resume.
    let text = stderr(&good(f, &format!("{settings} -o m.model --resume")));
    assert!(text.contains("m.model is already trained") && text.contains("--resume"), "{text}");
    bad(f, &format!("{settings} -o m.model --checkpoint m.model"), 2, &["--checkpoint", "another"]);
    let text = stderr(&good(f, "train c.tlc -k 3 --passes 1 -o n.model --resume"));
    assert!(text.contains("no checkpoint in n.model.checkpoint"), "{text}");
}

/// A full disk for scratch files or a read-only one leads to an error, and the earlier checkpoint
/// remains usable. If there is no disk space for another checkpoint, training continues.
#[cfg(unix)]
#[test]
fn scratch_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    good(f, "synth -D 20000 -W 3000 -K 10 --quiet -o c.tlc");
    let settings = "train c.tlc -k 30 --passes 8 --tol 0";
    let least = least_memory(f, settings);
    let small = format!("{settings} --memory {least}MiB");
    bad(f, &format!("{small} --scratch c.tlc/no -o m"), 1, &["c.tlc/no"]);
    let tiny = f.join("tiny");
    std::fs::create_dir(&tiny).unwrap();
    let mount = |how: &str| {
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", how, "tmpfs"]).arg(&tiny).output()
    };
    if !mount("size=2m").is_ok_and(|m| m.status.success()) {
        eprintln!("skipped in part: no small file system could be created");
        return;
    }
    let full = run(f, &format!("{small} --scratch tiny -o m"));
    let again = |how: &str| {
        std::process::Command::new("mount").args(["-o", how]).arg(&tiny).output().unwrap();
    };
    again("remount,size=64m");
    // One checkpoint fits, the next one does not.
    let stopped =
        run(f, &format!("{settings} --checkpoint tiny/k --checkpoint-every 0.01s --log /dev/full -o m"));
    again("remount,ro,size=64m");
    let read_only = run(f, &format!("{settings} --checkpoint tiny/k --resume -o m"));
    again("remount,rw,size=64m");
    let m_is_there = f.join("m").exists();
    // Writing fails when the disk is full.
    let _ = std::fs::write(tiny.join("filler"), vec![1u8; 64 << 20]);
    let no_room = run(f, &format!("{settings} --checkpoint tiny/k --checkpoint-every 0.01s --resume -o m"));
    std::process::Command::new("umount").arg(&tiny).output().unwrap();
    for (output, parts) in [
        (&full, vec!["tiny/m.checkpoint-", "free some space"]),
        (&stopped, vec!["the log", "--resume"]),
        (&read_only, vec!["tiny/k"]),
    ] {
        let text = stderr(output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    }
    assert!(!m_is_there);
    let text = stderr(&no_room);
    assert!(no_room.status.success(), "{text}");
    assert!(text.contains("warning: no checkpoint could be written") && text.contains("free some space"));
    good(f, &format!("{settings} -o whole"));
    assert!(std::fs::read(f.join("m")).unwrap() == std::fs::read(f.join("whole")).unwrap());
}
