//! Findings of an outside trial about commands: one test per finding, named after it.

#![allow(clippy::format_collect, clippy::format_push_string, clippy::needless_for_each)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::fmt::Write;
use std::path::Path;

use common::{bad, good, run};
use serde_json::Value;

/// Words of two themes, of which documents are made.
const SEA: [&str; 12] = [
    "harbor",
    "anchor",
    "sailor",
    "mast",
    "rudder",
    "captain",
    "vessel",
    "cargo",
    "lighthouse",
    "tide",
    "deck",
    "compass",
];
const MUSIC: [&str; 12] = [
    "violin",
    "melody",
    "orchestra",
    "concert",
    "rhythm",
    "soprano",
    "chord",
    "piano",
    "symphony",
    "tenor",
    "drummer",
    "opera",
];

/// Returns texts of both themes in turn, one document per line.
fn texts(documents: usize) -> String {
    let (mut text, mut random) = (String::new(), 1u32);
    for d in 0..documents {
        let theme = if d % 2 == 0 { &SEA } else { &MUSIC };
        for i in 0..15 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let word = theme[(random >> 16) as usize % theme.len()];
            write!(text, "{}{word}", if i == 0 { "" } else { " " }).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Creates a folder with texts, their corpus, and a model of it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("texts.txt"), texts(120)).unwrap();
    good(f, "-q import texts.txt --format text -o texts.tlc");
    good(f, "-q train texts.tlc -k 2 --passes 20 -o texts.model");
    folder
}

/// Returns standard error of a command that must succeed.
fn said(folder: &Path, arguments: &str) -> String {
    let output = run(folder, arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "tinylda {arguments}: {text}");
    text
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&good(folder, arguments)).unwrap()
}

/// Returns the data of a report page.
fn report_data(path: &Path) -> Value {
    let page = std::fs::read_to_string(path).unwrap();
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

#[test]
fn u10_other_documents_than_those_of_the_training_are_noticed() {
    let folder = folder();
    let f = folder.path();
    // The documents of the training, as a corpus and as texts, are accepted silently.
    for command in [
        "report texts.model texts.tlc -o r.html",
        "report texts.model texts.txt --format text -o r.html",
        "documents texts.model texts.tlc",
        "documents texts.model texts.txt --format text",
    ] {
        assert!(!said(f, command).contains("warning"), "{command}: {}", said(f, command));
    }
    std::fs::write(f.join("more.txt"), texts(80)).unwrap();
    good(f, "-q import more.txt --format text -o more.tlc");
    for command in ["report texts.model more.tlc -o r.html", "documents texts.model more.tlc"] {
        let text = said(f, command);
        assert_eq!(text.matches("warning").count(), 1, "{command}: {text}");
        for part in ["trained on other documents", "120 documents", "80 documents", "pass the data"] {
            assert!(text.contains(part), "{command}: {part}: {text}");
        }
        assert!(!said(f, &format!("-q {command}")).contains("warning"));
    }
    // New documents are normal for these.
    for command in ["infer texts.model more.tlc", "eval texts.model more.tlc"] {
        assert!(!said(f, command).contains("warning"), "{command}");
    }
}

#[test]
fn u10_unknown_words_and_missing_vocabularies_are_noticed() {
    let folder = folder();
    let f = folder.path();
    let strange = texts(60).replace("harbor", "alpha").replace("violin", "beta");
    let strange: String = strange
        .lines()
        .map(|line| format!("{line} ab cd ef gh ij kl mn op qr st uv wx yz ba dc fe\n"))
        .collect();
    std::fs::write(f.join("strange.txt"), strange).unwrap();
    good(f, "-q import strange.txt --format text --stop-words none --min-docs 1 -o strange.tlc");
    for command in [
        "infer texts.model strange.tlc",
        "eval texts.model strange.tlc",
        "documents texts.model strange.tlc",
        "report texts.model strange.tlc -o r.html",
        "export texts.model strange.tlc --to csv -o tables",
    ] {
        let text = said(f, command);
        assert_eq!(text.matches("does not know 5").count(), 1, "{command}: {text}");
        assert!(
            text.contains("% of the words") && text.contains("train a model on these"),
            "{command}: {text}"
        );
    }
    // Words without names are matched by number, which may be wrong.
    good(f, "-q export texts.tlc --uci texts.uci");
    good(f, "-q import texts.uci -o bare.tlc");
    let text = said(f, "infer texts.model bare.tlc");
    assert!(text.contains("warning: the corpus has no vocabulary") && text.contains("--vocab"), "{text}");
}

/// Writes a corpus of 14 common themes and two rare ones, "eye" and "kidney", each the main theme
/// of 2% of the documents, as `rare.tlc`.
fn write_rare_themes(folder: &Path) {
    const COMMON: u64 = 14;
    const WORDS: u64 = 20;
    const GENERAL: u64 = 60;
    let mut state = 1u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut names: Vec<String> =
        (0..COMMON * WORDS).map(|w| format!("common{}-{}", w / WORDS, w % WORDS)).collect();
    names.extend((0..2 * WORDS).map(|w| format!("{}{}", ["eye", "kidney"][(w / WORDS) as usize], w % WORDS)));
    names.extend((0..GENERAL).map(|w| format!("general{w}")));
    let (mut lines, mut count) = (String::new(), 0);
    for document in 1..=1500 {
        let main = match below(100) {
            0 | 1 => COMMON,
            2 | 3 => COMMON + 1,
            _ => below(COMMON),
        };
        let second = below(COMMON);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..40 {
            // Words with a lower number are more frequent.
            let (kind, word) = (below(100), below(WORDS).min(below(WORDS)));
            let word = match kind {
                0..70 => main * WORDS + word,
                70..85 => second * WORDS + word,
                _ => (COMMON + 2) * WORDS + below(GENERAL),
            };
            *counts.entry(word).or_insert(0) += 1;
        }
        count += counts.len();
        for (word, x) in counts {
            writeln!(lines, "{document} {} {x}", word + 1).unwrap();
        }
    }
    std::fs::write(folder.join("rare.txt"), format!("1500\n{}\n{count}\n{lines}", names.len())).unwrap();
    std::fs::write(folder.join("words.txt"), names.join("\n")).unwrap();
    good(folder, "-q import rare.txt --vocab words.txt -o rare.tlc");
}

/// There are fewer topics than themes, so that a rare theme has no separate topic without seeds.
#[test]
fn u12_seed_words_hold_topics_of_rare_themes() {
    let folder = folder();
    let f = folder.path();
    write_rare_themes(f);
    let seeds = "eyes: eye0 eye1 eye2 eye3\nkidneys: kidney0 kidney1 kidney2 kidney3\n";
    std::fs::write(f.join("seeds.txt"), seeds).unwrap();
    for seed in 1..=5 {
        good(
            f,
            &format!("-q train rare.tlc -k 10 --seeds seeds.txt --passes 40 --seed {seed} -o rare.model"),
        );
        let topics = json(f, "topics rare.model -n 10 --json");
        for (k, theme) in ["eye", "kidney"].into_iter().enumerate() {
            let words = topics["topics"][k]["words"].as_array().unwrap();
            let words: Vec<&str> = words.iter().map(|word| word["word"].as_str().unwrap()).collect();
            let held = (0..4).filter(|i| words.contains(&format!("{theme}{i}").as_str())).count();
            assert!(held >= 3, "seed {seed}: {words:?}");
            // The topic is whole: its other words belong to the theme, too.
            let whole = words.iter().filter(|word| word.starts_with(theme)).count();
            assert!(whole >= 9, "seed {seed}: {words:?}");
        }
    }
}

#[test]
fn u12_named_topics_keep_their_names() {
    let folder = folder();
    let f = folder.path();
    std::fs::write(f.join("seeds.txt"), "on tour: violin concert\nat sea: harbor anchor\n").unwrap();
    good(f, "-q train texts.tlc -k 3 --seeds seeds.txt --passes 20 -o named.model");
    let topics = json(f, "topics named.model --json");
    assert_eq!(
        (&topics["topics"][0]["name"], &topics["topics"][1]["name"]),
        (&"on tour".into(), &"at sea".into())
    );
    assert!(topics["topics"][2].get("name").is_none());
    for (k, word) in [(0, "violin"), (1, "harbor")] {
        let words = topics["topics"][k]["words"].as_array().unwrap();
        assert!(words.iter().any(|w| w["word"] == word), "{topics}");
    }
    let text = good(f, "topics named.model");
    assert!(text.starts_with("topic  prevalence  name") && text.contains("on tour  "), "{text}");
    assert!(good(f, "topics named.model --topic 1").contains("1 (at sea)"));
    assert!(good(f, "topics named.model --tsv").starts_with("topic\tname\tshare"));
    assert!(good(f, "topics named.model --tsv").contains("\n1\tat sea\t"));
    assert!(
        good(f, "-q infer named.model texts.tlc")
            .lines()
            .next()
            .unwrap()
            .contains("\tp_0_on_tour\tp_1_at_sea\tp_2")
    );
    let lines = good(f, "-q infer named.model texts.tlc --to jsonl --top 3");
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["names"].as_array().unwrap().len(), first["topics"].as_array().unwrap().len());
    assert!(first["names"].as_array().unwrap().contains(&"at sea".into()), "{first}");
    assert!(good(f, "-q documents named.model texts.tlc --min-tokens 1").contains("topic 0 (on tour): "));
    assert_eq!(json(f, "-q documents named.model texts.tlc --json")["topics"][1]["name"], "at sea");
    good(f, "-q export named.model texts.tlc --to csv -o tables");
    for table in ["topic-word.csv", "doc-topic.csv"] {
        let text = std::fs::read_to_string(f.join("tables").join(table)).unwrap();
        assert!(text.lines().next().unwrap().contains("topic_1_at_sea"), "{table}: {text}");
    }
    good(f, "-q export named.model --to mallet -o mallet");
    assert_eq!(std::fs::read_to_string(f.join("mallet/topic-names.txt")).unwrap(), "0\ton tour\n1\tat sea\n");
    good(f, "-q report named.model texts.tlc -o named.html");
    let data = report_data(&f.join("named.html"));
    assert_eq!(data["topics"]["names"], serde_json::json!(["on tour", "at sea", ""]));
    for what in ["topics", "map"] {
        good(f, &format!("-q plot named.model --what {what} -o figure.svg"));
        let text = std::fs::read_to_string(f.join("figure.svg")).unwrap();
        assert!(text.contains("on tour") && text.contains("at sea"), "{what}: {text}");
    }
    // A model without names has no column of names.
    assert!(good(f, "topics texts.model").starts_with("topic  prevalence  words"));
    good(f, "-q report texts.model -o plain.html");
    assert!(report_data(&f.join("plain.html"))["topics"]["names"].is_null());
}

#[test]
fn u13_report_eval_and_export_read_raw_data() {
    let folder = folder();
    let f = folder.path();
    std::fs::create_dir(f.join("mails")).unwrap();
    for (d, text) in texts(30).lines().enumerate() {
        std::fs::write(f.join(format!("mails/{d}.txt")), text).unwrap();
    }
    let rows: String = texts(30).lines().map(|line| format!("x,{line}\n")).collect();
    std::fs::write(f.join("rows.csv"), format!("kind,body\n{rows}")).unwrap();
    for input in ["mails", "rows.csv --text-column body", "texts.txt --format text"] {
        assert!(said(f, &format!("report texts.model {input} -o r.html")).contains("format: "), "{input}");
        let data = report_data(&f.join("r.html"));
        assert!(data["documents"]["number"].as_array().is_some_and(|all| all.len() >= 30), "{input}");
        let perplexity = json(f, &format!("-q eval texts.model {input} --json"));
        assert!(perplexity["predictive_perplexity"].as_f64().unwrap() > 1.0, "{input}");
        good(f, &format!("-q eval texts.model {input} --coherence c_npmi --top 5"));
        good(f, &format!("-q export texts.model {input} --to csv -o tables"));
        let rows = std::fs::read_to_string(f.join("tables/doc-topic.csv")).unwrap().lines().count();
        assert!(rows > 30, "{input}: {rows}");
    }
    // Raw data and its corpus give the same result.
    let of = |input: &str| {
        json(f, &format!("-q eval texts.model {input} --json"))["predictive_perplexity"].clone()
    };
    assert_eq!(of("texts.tlc"), of("texts.txt --format text"));
    // What still needs a corpus names the remedy.
    bad(f, "split mails --test 0.5 -o a.tlc b.tlc", 1, &["mails is not a tinylda corpus file", "import"]);
    bad(f, "report texts.model --text-column body -o r.html", 2, &["require documents"]);
    bad(f, "eval texts.model texts.model", 1, &["not a tinylda corpus"]);
}

#[test]
fn u13_eval_uses_threads_without_changing_the_result() {
    let folder = folder();
    let f = folder.path();
    let one = json(f, "-q eval texts.model texts.tlc --threads 1 --json");
    assert_eq!(one, json(f, "-q eval texts.model texts.tlc --threads 3 --json"));
    assert_eq!(one, json(f, "-q eval texts.model texts.tlc --json"));
}

#[test]
fn u14_sweep_understands_ranges_and_explains_its_choice() {
    let folder = folder();
    let f = folder.path();
    let found = json(f, "-q sweep texts.tlc -k 2-4 --repeats 2 --passes 12 --json");
    let tried: Vec<u64> =
        found["rows"].as_array().unwrap().iter().map(|row| row["topics"].as_u64().unwrap()).collect();
    assert_eq!(tried, [2, 3, 4]);
    assert!(found["rows"].as_array().unwrap().iter().all(|row| row["score"].as_f64().is_some()), "{found}");
    // There are two themes, whatever the perplexity says.
    assert_eq!(found["best"], 2, "{found}");
    assert!(found["reason"].as_str().unwrap().contains("best balance"), "{found}");
    let again = json(f, "-q sweep texts.tlc -k 2-4:2 --repeats 2 --passes 12 --json");
    assert_eq!(again["runs_done_now"], 0);
    let text = good(f, "-q sweep texts.tlc -k 2-4 --repeats 2 --passes 12");
    assert!(text.contains("score") && text.contains("smallest with about the highest score"), "{text}");
    bad(f, "sweep texts.tlc -k 40-5", 2, &["5-40"]);
    bad(f, "sweep texts.tlc -k 5..40", 2, &["a range such as 5-40"]);
}

#[test]
fn u15_short_help_is_short_and_other_programs_options_are_understood() {
    let folder = folder();
    let f = folder.path();
    let (short, long) = (good(f, "train -h"), good(f, "train --help"));
    let lines = short.lines().count();
    assert!(lines < 75 && 2 * lines < long.lines().count(), "{lines}");
    for essential in ["-k, --topics", "-o, --output", "--report", "--text-column", "--memory"] {
        assert!(short.contains(essential), "{essential}: {short}");
    }
    assert!(good(f, "--help").contains("my-documents.txt"));
    for (topics, passes) in [
        ("--num-topics", "--iterations"),
        ("--n-topics", "--num-iterations"),
        ("--n-components", "--max-iter"),
    ] {
        let command =
            format!("-q train texts.tlc {topics} 2 {passes} 3 --random-seed 1 --workers 1 -o other.model");
        good(f, &command);
    }
    good(f, "-q train texts.tlc -k 2 --passes 3 --seed 1 --threads 1 -o own.model");
    assert_eq!(std::fs::read(f.join("other.model")).unwrap(), std::fs::read(f.join("own.model")).unwrap());
    bad(f, "train texts.txt -k 2 --ngrams 2 -o x.model", 2, &["--ngrams", "--phrases"]);
}

#[test]
fn u16_the_oscillation_of_the_perplexity_is_explained() {
    let folder = folder();
    let f = folder.path();
    good(f, "-q train texts.tlc -k 2 --passes 40 --tol 0 --log log.jsonl --report r.html -o m.model");
    // The log has every pass.
    let log = std::fs::read_to_string(f.join("log.jsonl")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("train_perplexity")).count(), 40);
    assert!(std::fs::read_to_string(f.join("r.html")).unwrap().contains("lowest of the last five passes"));
    good(f, "-q plot m.model --what perplexity -o p.svg");
    let svg = std::fs::read_to_string(f.join("p.svg")).unwrap();
    assert!(svg.contains("lowest of the last five") && svg.contains("each pass"), "{svg}");
    good(f, "-q train texts.tlc -k 2 --passes 5 --algorithm bp -o bp.model");
    good(f, "-q plot bp.model --what perplexity -o p.svg");
    assert!(!std::fs::read_to_string(f.join("p.svg")).unwrap().contains("each pass"));
}

#[test]
fn u17_map_has_words_and_counts_agree() {
    let folder = folder();
    let f = folder.path();
    good(f, "-q plot texts.model --what map -o map.svg");
    let svg = std::fs::read_to_string(f.join("map.svg")).unwrap();
    assert!(
        SEA.iter().any(|word| svg.contains(word)) && MUSIC.iter().any(|word| svg.contains(word)),
        "{svg}"
    );
    std::fs::write(f.join("one.txt"), format!("{}\n{}\n", SEA.join(" "), "anchor ".repeat(3))).unwrap();
    let text = said(f, "import one.txt --format text --max-words 1 -o one.tlc");
    assert!(!text.contains("1 documents") && !text.contains(" 1 words"), "{text}");
    let text = good(f, "info one.tlc");
    assert!(text.contains("1 block,") && !text.contains("1 blocks"), "{text}");
}

#[test]
fn u17_too_many_topics_for_the_documents_are_noticed() {
    let folder = folder();
    let f = folder.path();
    let warning = "leave fewer than ten documents per topic";
    let text = said(f, "train texts.tlc -k 13 --passes 1 -o m.model");
    assert_eq!(text.matches(warning).count(), 1, "{text}");
    assert!(text.contains("13 topics for 120 documents") && text.contains("use -k 12 or less"), "{text}");
    assert!(said(f, "train texts.txt --format text -k 1200 --passes 1 -o m.model").contains(warning));
    assert!(said(f, "sweep texts.tlc -k 2,13 --repeats 1 --passes 1").contains(warning));
    assert!(!said(f, "train texts.tlc -k 12 --passes 1 -o m.model").contains("warning"));
    // A corpus of one document has nothing to compare.
    std::fs::write(f.join("one.txt"), SEA.join(" ")).unwrap();
    good(f, "-q import one.txt --format text -o one.tlc");
    let text = said(f, "train one.tlc -k 2 --passes 1 -o m.model");
    assert!(text.contains("warning: the corpus has one document"), "{text}");
}

#[test]
fn u18_demo_trains_with_tbp_and_shows_texts() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let found = json(f, "-q demo --keep kept --json");
    assert_eq!((&found["algorithm"], &found["themes_found"]), (&"tbp".into(), &12.into()), "{found}");
    let data = report_data(&f.join("kept/demo.html"));
    let shown = data["documents"]["text"].as_array().expect("texts in the report");
    assert!(shown.iter().all(|text| text.as_str().is_some_and(|text| text.contains(' '))), "{shown:?}");
    assert!(data["run"]["passes"].as_array().is_some_and(|passes| passes.len() > 10));
    // The same seed gives the same model.
    let model = std::fs::read(f.join("kept/demo.model")).unwrap();
    good(f, "-q demo --keep again --json");
    assert!(model == std::fs::read(f.join("again/demo.model")).unwrap());
    assert!(good(f, "-q documents kept/demo.model kept/train.tlc").contains("topic 0"));
}
