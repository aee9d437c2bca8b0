//! `report` and `plot`: a self-contained file, data in the format of docs/REPORT.md, and no
//! injection of hostile text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::path::Path;

use serde_json::Value;

use common::{bad, good, run};

const HOSTILE: &str = "</script><img/src=x/onerror=alert(1)>&amp;\u{2028}";

/// Creates a folder with 60 texts about two themes, with names and labels, as CSV, their corpus and
/// a model of 4 topics.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let themes = ["rain storm cloud snow wind", "goal match coach league team"];
    let row = |d: usize| {
        let text = [themes[d % 2]; 5].join(" ");
        let label = ["weather", "sport"][d % 2];
        format!(
            "\"name {d} {HOSTILE}\",{label},\"The \"\"first\"\" line {HOSTILE} of {d}: {text} people time\"\n"
        )
    };
    let rows: String = (0..60).map(row).collect();
    std::fs::write(f.join("texts.csv"), format!("id,label,text\n{rows}")).unwrap();
    good(f, "import texts.csv --text-column text --id-column id --label-column label -o texts.tlc");
    good(f, "train texts.tlc -k 4 --passes 20 --log texts.model.log.jsonl -o texts.model");
    folder
}

fn page(f: &Path, name: &str) -> String {
    std::fs::read_to_string(f.join(name)).unwrap()
}

/// Returns the text between two other texts.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("{from} is missing")) + from.len();
    &text[start..start + text[start..].find(to).unwrap()]
}

fn data(page: &str) -> Value {
    serde_json::from_str(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"))
        .unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Checks that no two circles of the map overlap by more than a tenth of the smaller radius.
fn assert_circles_do_not_overlap(topics: &Value) {
    let [x, y, radius] = ["mapX", "mapY", "mapR"].map(|name| numbers(&topics[name]));
    for k in 0..x.len() {
        assert!(x[k] >= radius[k] - 1e-4 && x[k] <= 1.0 - radius[k] + 1e-4);
        assert!(y[k] >= radius[k] - 1e-4 && y[k] <= 1.0 - radius[k] + 1e-4);
        for l in 0..k {
            let apart = (x[k] - x[l]).hypot(y[k] - y[l]);
            assert!(radius[k] + radius[l] - apart <= 0.1 * radius[k].min(radius[l]), "{k} {l}");
        }
    }
}

/// Checks the rules of docs/REPORT.md for all reports.
fn assert_valid_report(data: &Value, k: usize) {
    assert_eq!(data["form"], 1);
    let topics = &data["topics"];
    let sum: f64 = numbers(&topics["prevalence"]).iter().sum();
    assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    for name in ["prevalence", "x", "y", "mapX", "mapY", "mapR", "exclusivity", "near", "apart"] {
        assert_eq!(list(&topics[name]).len(), k, "{name}");
    }
    assert!(numbers(&topics["exclusivity"]).iter().all(|e| (0.0..=1.0).contains(e)));
    assert_circles_do_not_overlap(topics);
    for (near, apart) in list(&topics["near"]).iter().zip(list(&topics["apart"])) {
        assert_eq!(list(near).len(), 5.min(k - 1));
        assert!(numbers(apart).windows(2).all(|pair| pair[0] <= pair[1]));
    }
    let words = list(&data["words"]["text"]).len();
    assert_eq!(numbers(&data["words"]["share"]).len(), words);
    for (many, few) in [("top", "topP"), ("lives", "livesP")] {
        let expected = if many == "top" { k } else { words };
        assert_eq!((list(&data[many]).len(), list(&data[few]).len()), (expected, expected));
        for (ids, values) in list(&data[many]).iter().zip(list(&data[few])) {
            let most = if many == "top" { words } else { k };
            assert!(numbers(ids).iter().all(|&id| id >= 0.0 && (id as usize) < most));
            assert_eq!(list(ids).len(), list(values).len());
            assert!(numbers(values).windows(2).all(|pair| pair[0] >= pair[1]));
        }
    }
    let run = &data["run"];
    for name in ["command", "version", "algorithm"] {
        assert!(!run[name].as_str().unwrap().is_empty());
    }
    for pair in list(&run["settings"]).iter().chain(list(&run["corpus"])) {
        assert!(pair[0].is_string() && pair[1].is_string() && list(pair).len() == 2);
    }
}

#[test]
fn one_file_with_everything() {
    let folder = folder();
    let f = folder.path();
    let told: Value =
        serde_json::from_str(&good(f, "report texts.model texts.tlc -o r.html --json --threads 1")).unwrap();
    let page = page(f, "r.html");
    assert_eq!(told["bytes"].as_u64(), Some(page.len() as u64));
    // The page loads nothing, and its policy forbids it.
    for outside in ["src=\"http", "src=\"//", "href=\"http", "@import", "url(http", "{{"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let policy = between(&page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert_eq!(policy.matches("'sha256-").count(), 2);
    assert!(!policy.contains("unsafe"));
    // The hostile text appears only as text.
    assert!(!page.contains("<img/src") && !page.contains('\u{2028}'));
    let data = data(&page);
    assert_valid_report(&data, 4);
    assert_eq!(data["title"], "texts");
    let documents = &data["documents"];
    assert_eq!(list(&documents["number"]).len(), 60);
    for (at, name) in list(&documents["name"]).iter().enumerate() {
        assert_eq!(name, &format!("name {at} {HOSTILE}"));
        let text = documents["text"][at].as_str().unwrap();
        assert!(text.starts_with("The \"first\" line </script>") && text.chars().count() <= 300, "{text}");
        assert_eq!(
            data["labels"]["text"][documents["label"][at][0].as_u64().unwrap() as usize],
            ["weather", "sport"][at % 2]
        );
        let shares: f64 = numbers(&documents["topicsP"][at]).iter().sum();
        assert!(shares > 0.5 && shares < 1.01);
    }
    assert!(list(&data["typical"]).iter().all(|typical| list(typical).len() <= 5));
    assert!(list(&data["typical"]).iter().any(|typical| !list(typical).is_empty()));
    assert_eq!(data["labels"]["text"], serde_json::json!(["sport", "weather"]));
    assert_eq!(data["labels"]["documents"], serde_json::json!([30, 30]));
    for shares in list(&data["labels"]["share"]) {
        assert!((numbers(shares).iter().sum::<f64>() - 1.0).abs() < 1e-3);
    }
    assert_eq!(list(&data["topics"]["coherence"]).len(), 4);
    // These values come from the log next to the model.
    let passes = list(&data["run"]["passes"]);
    assert!(passes.iter().all(|pass| pass["seconds"].is_number() && pass["perplexity"].is_number()));
    assert_eq!(
        passes.len(),
        std::fs::read_to_string(f.join("texts.model.log.jsonl")).unwrap().lines().count()
    );
    // The report does not depend on the number of threads. It has no texts if they are not wanted
    // or do not exist any more.
    good(f, "report texts.model texts.tlc -o three.html --threads 3");
    assert!(page == self::page(f, "three.html"));
    good(f, "report texts.model texts.tlc -o without.html --no-text --title T<b>");
    let without = self::data(&self::page(f, "without.html"));
    assert!(without["documents"]["text"].is_null() && without["title"] == "T<b>");
    std::fs::remove_file(f.join("texts.csv")).unwrap();
    good(f, "report texts.model texts.tlc -o gone.html");
    assert!(self::data(&self::page(f, "gone.html"))["documents"]["text"].is_null());
}

#[test]
fn texts_of_packed_files_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let line = |d: usize| format!("line {d} about {}\n", ["rain storm cloud", "goal match coach"][d % 2]);
    let lines: String = (0..40).map(line).collect();
    let file = std::fs::File::create(f.join("lines.txt.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, lines.as_bytes()).unwrap();
    packed.finish().unwrap();
    std::fs::create_dir(f.join("files")).unwrap();
    (0..40).for_each(|d| std::fs::write(f.join(format!("files/{d:02}.txt")), line(d)).unwrap());
    for input in ["lines.txt.gz", "files"] {
        let out = good(f, &format!("train {input} -k 2 --passes 5 -o m.model --report {input}.html --json"));
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["report"], format!("{input}.html"));
        let data = data(&page(f, &format!("{input}.html")));
        assert_valid_report(&data, 2);
        for (d, text) in list(&data["documents"]["text"]).iter().enumerate() {
            assert_eq!(text, line(d).trim(), "{input}");
        }
        assert!(data["run"]["command"].as_str().unwrap().starts_with("tinylda train "));
    }
}

#[test]
fn model_without_corpus() {
    let folder = folder();
    let f = folder.path();
    std::fs::remove_file(f.join("texts.model.log.jsonl")).unwrap();
    good(f, "report texts.model -o r.html");
    let data = data(&page(f, "r.html"));
    assert_valid_report(&data, 4);
    for name in ["documents", "typical", "labels"] {
        assert!(data[name].is_null(), "{name}");
    }
    assert!(data["topics"]["coherence"].is_null());
    assert!(list(&data["run"]["passes"]).iter().all(|pass| pass["seconds"].is_null()));
    good(f, "train texts.tlc -k 1 --passes 3 -o one.model --report one.html");
    assert_valid_report(&self::data(&page(f, "one.html")), 1);
}

#[test]
fn hostile_words_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let words = ["</script>", "<!--", "&lt;", "\u{2028}x", "{{DATA}}", "plain"];
    std::fs::write(f.join("vocab.txt"), words.join("\n")).unwrap();
    let entries: String =
        (1..=20).flat_map(|d| (1..=6).map(move |w| format!("{d} {w} {}\n", 1 + (d + w) % 3))).collect();
    std::fs::write(f.join("uci.txt"), format!("20\n6\n120\n{entries}")).unwrap();
    good(f, "import uci.txt --format uci --vocab vocab.txt -o h.tlc");
    good(f, "train h.tlc -k 3 --passes 5 -o h.model");
    good(f, "report h.model h.tlc -o h.html");
    let page = page(f, "h.html");
    let data = data(&page);
    assert_valid_report(&data, 3);
    let mut found: Vec<&str> = list(&data["words"]["text"]).iter().map(|w| w.as_str().unwrap()).collect();
    let mut all = words.to_vec();
    found.sort_unstable();
    all.sort_unstable();
    assert_eq!(found, all);
    let before = good(f, "plot h.model --what topics -o t.svg");
    assert!(before.starts_with("t.svg: "));
    assert!(!self::page(f, "t.svg").contains("</script>"));
}

#[test]
fn invalid_arguments_are_reported() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("other.txt"), "aliens martians\n".repeat(30)).unwrap();
    good(f, "import other.txt --format text -o other.tlc");
    bad(f, "report texts.model other.tlc -o r.html", 1, &["other.tlc", "none of the topics' words"]);
    bad(f, "report texts.model texts.tlc -o texts.tlc", 2, &["-o"]);
    bad(f, "report texts.model texts.tlc -o nowhere/r.html", 1, &["nowhere"]);
    bad(f, "report texts.tlc -o r.html", 1, &["it is a corpus"]);
    bad(f, "report texts.model -o r.html --log missing.jsonl", 1, &["missing.jsonl"]);
    bad(f, "report texts.model -o r.html --memory 1MiB", 1, &["not enough memory", "--memory "]);
    bad(f, "train texts.tlc -k 2 -o n.model --report texts.tlc", 2, &["--report"]);
    bad(f, "plot texts.model --what map -o map.pdf", 2, &[".svg or .png"]);
    bad(f, "plot texts.model --what topics --topics 4 -o t.svg", 2, &["from 0 to 3"]);
    bad(f, "plot texts.model --what map --topics 1 -o t.svg", 2, &["--what topics"]);
    assert!(!f.join("r.html").exists() && !f.join("map.pdf").exists());
    // The log of another training is ignored with a message.
    std::fs::write(f.join("wrong.jsonl"), "{\"pass\":1,\"train_perplexity\":5}\nno JSON\n").unwrap();
    let output = run(f, "report texts.model -o r.html --log wrong.jsonl");
    assert!(output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("not the log of this model"));
}

#[test]
fn figures() {
    let folder = folder();
    let f = folder.path();
    for what in ["topics", "perplexity", "map"] {
        good(f, &format!("plot texts.model --what {what} -o {what}.svg"));
        good(f, &format!("plot texts.model --what {what} -o {what}.png"));
        let svg = page(f, &format!("{what}.svg"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains(">texts<"), "{svg}");
        assert!(std::fs::read(f.join(format!("{what}.png"))).unwrap().starts_with(b"\x89PNG"));
    }
    let some = good(f, "plot texts.model --what topics --topics 3,1 -n 4 -o some.svg --json");
    assert_eq!(serde_json::from_str::<Value>(&some).unwrap()["file"], "some.svg");
    let svg = page(f, "some.svg");
    assert!(svg.contains("Topic 3,") && svg.contains("Topic 1,") && !svg.contains("Topic 0,"));
    assert!(page(f, "perplexity.svg").contains("training perplexity"));
}
