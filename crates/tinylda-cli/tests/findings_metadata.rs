//! Findings about labels, dates and the texts that reports show.

#![allow(clippy::format_collect, clippy::format_push_string, clippy::needless_for_each)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use common::{bad, good, piped, run};

const THEMES: [&str; 2] = ["rain storm cloud snow wind", "goal match coach league team"];

/// Returns the text of a document, which begins with its number.
fn text(d: usize) -> String {
    format!("number{d} {} people time", [THEMES[d % 2]; 5].join(" "))
}

/// Writes 40 documents with an id, two label columns (the second with several values) and dates in
/// several notations, as CSV.
fn write_csv(path: &Path) {
    let mut rows = String::from("id,section,authors,when,text\n");
    for d in 0..40 {
        let section = ["weather", "sport"][d % 2];
        let authors = ["Ann; Bob", "Ann", ""][d % 3];
        let date = ["2001", "2001-02-03", "3 Feb 2002", "981173106", ""][d % 5];
        writeln!(rows, "d{d},{section},{authors},{date},\"{}\"", text(d)).unwrap();
    }
    std::fs::write(path, rows).unwrap();
}

const COLUMNS: &str = "--text-column text --id-column id --label-column section --label-column authors \
    --label-separator ; --date-column when --min-docs 1";

/// Creates a folder with the documents as CSV, their corpus, and a model of 2 topics.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    write_csv(&f.join("t.csv"));
    good(f, &format!("import t.csv {COLUMNS} -o t.tlc"));
    good(f, "train t.tlc -k 2 --passes 10 -o t.model");
    folder
}

/// Returns the data of a report.
fn data(folder: &Path, name: &str) -> Value {
    let page = std::fs::read_to_string(folder.join(name)).unwrap();
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

/// Writes a report and returns its data and the messages.
fn report(folder: &Path, arguments: &str) -> (Value, String) {
    let output = run(folder, &format!("report {arguments} -o r.html"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    (data(folder, "r.html"), said)
}

fn texts(data: &Value) -> Vec<&str> {
    let list = data["documents"]["text"].as_array();
    list.map(|list| list.iter().map(|text| text.as_str().unwrap()).collect()).unwrap_or_default()
}

#[test]
fn r4_a_report_shows_only_texts_that_have_not_changed() {
    let folder = folder();
    let f = folder.path();
    let (before, said) = report(f, "t.model t.tlc");
    assert!(!said.contains("warning: left out"), "{said}");
    for (d, shown) in texts(&before).iter().enumerate() {
        assert!(shown.starts_with(&format!("number{d} ")), "{shown}");
    }
    // With a line at its top, every text is at another place.
    let file = std::fs::read_to_string(f.join("t.csv")).unwrap();
    let (head, rows) = file.split_once('\n').unwrap();
    let changed = format!("{head}\nx,sport,,,a new row with some words\n{rows}");
    std::fs::write(f.join("t.csv"), changed).unwrap();
    let (after, said) = report(f, "t.model t.tlc");
    assert!(texts(&after).is_empty(), "{after}");
    assert!(said.contains("left out 40 of 40 texts") && said.contains("has changed"), "{said}");
    assert!(said.contains("import the texts again"), "{said}");
    // If one row changes, the others are still shown, and `documents` does the same.
    std::fs::write(f.join("t.csv"), file.replacen("number7 ", "number8 ", 1)).unwrap();
    let (after, said) = report(f, "t.model t.tlc");
    assert!(said.contains("left out 1 of 40 texts"), "{said}");
    assert!(texts(&after)[7].is_empty() && texts(&after)[8].starts_with("number8 "));
    let output = run(f, "documents t.model t.tlc --top 40 --tsv");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("left out 1 of"), "{said}");
}

#[test]
fn r4_a_corpus_without_checksums_shows_no_texts_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    // A corpus of version 2 has places, but no checksums.
    let lines: Vec<String> = (0..20).map(|d| text(d) + "\n").collect();
    std::fs::write(f.join("t.txt"), lines.concat()).unwrap();
    write_version_2(&f.join("old.tlc"), "t.txt", &lines);
    good(f, "train old.tlc -k 2 --passes 5 -o old.model");
    let (shown, said) = report(f, "old.model old.tlc");
    assert!(texts(&shown).is_empty(), "{shown}");
    assert!(said.contains("left out 20 of 20 texts") && said.contains("no checksums"), "{said}");
    let (shown, said) = report(f, "old.model old.tlc --texts t.txt");
    assert!(texts(&shown)[3].starts_with("number3 "), "{shown}");
    assert!(said.contains("20 texts may belong to other documents"), "{said}");
}

/// Writes a corpus file as a hostile or old program would: its metadata names any file.
fn write_version_2(path: &Path, source: &str, lines: &[String]) {
    use tinylda::corpus::{About, CorpusWriter, Details, DocumentFields, Source, TextPlace};
    let sources = vec![Source { path: source.into(), format: "text".into(), ..Source::default() }];
    let about = About { sources, ..About::default() };
    let fields = DocumentFields { places: true, ..DocumentFields::default() };
    let mut writer = CorpusWriter::create_with(path, fields, &about).unwrap();
    let mut offset = 0;
    for (d, line) in lines.iter().enumerate() {
        let place = TextPlace { source: 0, offset, length: line.len() as u32 - 1 };
        let words = [d as u32 % 2, 2, 3];
        let details = Details { place: Some(place), ..Details::default() };
        writer.push_with(&words, &[1; 3], details).unwrap_or_else(|_| panic!("{words:?}"));
        offset += line.len() as u64;
    }
    writer.finish(4, None).unwrap();
}

#[test]
fn r11_a_hostile_corpus_cannot_embed_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let secret = tempfile::tempdir().unwrap();
    let secret_file = secret.path().join("secret.txt");
    let lines: Vec<String> = (0..20).map(|d| format!("secret{d} words here\n")).collect();
    std::fs::write(&secret_file, lines.concat()).unwrap();
    let absolute = secret_file.to_str().unwrap();
    let up = format!("../{}/secret.txt", secret.path().file_name().unwrap().to_str().unwrap());
    std::fs::create_dir(f.join("c")).unwrap();
    for (name, source) in [("a", absolute), ("b", up.as_str()), ("c", "link.txt")] {
        // The checksums are right, as if the author knew the file.
        write_with_checksums(&f.join(format!("c/{name}.tlc")), source, &lines);
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret_file, f.join("c/link.txt")).unwrap();
    good(f, "train c/a.tlc -k 2 --passes 5 -o m.model");
    for name in ["a", "b", "c"] {
        let (shown, said) = report(f, &format!("m.model c/{name}.tlc"));
        assert!(!shown.to_string().contains("secret0"), "{name}: {shown}");
        assert!(said.contains("left out 20 of 20 texts"), "{name}: {said}");
        let listed = run(f, &format!("documents m.model c/{name}.tlc --min-tokens 1"));
        assert!(!String::from_utf8_lossy(&listed.stdout).contains("secret"), "{name}");
    }
    let (_, said) = report(f, "m.model c/a.tlc");
    assert!(said.contains("not in the folder of the corpus") && said.contains("--texts PATH"), "{said}");
    // The user may allow the file.
    let (shown, said) = report(f, &format!("m.model c/a.tlc --texts {absolute}"));
    assert!(texts(&shown)[0].starts_with("secret0 ") && !said.contains("left out"), "{said}");
    // A training with data of the user shows its texts wherever they are.
    good(f, &format!("train {absolute} --min-docs 1 -k 2 --passes 5 -o n.model --report n.html"));
    assert!(texts(&data(f, "n.html"))[0].starts_with("secret0 "));
}

/// Writes a corpus file whose metadata names any file, with the checksums of its lines.
fn write_with_checksums(path: &Path, source: &str, lines: &[String]) {
    use tinylda::corpus::{About, CorpusWriter, Details, DocumentFields, Source, TextPlace};
    let sources = vec![Source { path: source.into(), format: "text".into(), ..Source::default() }];
    let about = About { sources, ..About::default() };
    let fields = DocumentFields { places: true, checksums: true, ..DocumentFields::default() };
    let mut writer = CorpusWriter::create_with(path, fields, &about).unwrap();
    let mut offset = 0;
    for (d, line) in lines.iter().enumerate() {
        let bytes = line.trim_end().as_bytes();
        let details = Details {
            place: Some(TextPlace { source: 0, offset, length: bytes.len() as u32 }),
            checksum: Some(crc32fast::hash(bytes)),
            ..Details::default()
        };
        writer.push_with(&[d as u32 % 2, 2, 3], &[1; 3], details).unwrap();
        offset += line.len() as u64;
    }
    writer.finish(4, None).unwrap();
}

#[cfg(unix)]
#[test]
fn r9_r11_a_source_that_became_a_pipe_does_not_block() {
    let folder = folder();
    let f = folder.path();
    std::fs::remove_file(f.join("t.csv")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(f.join("t.csv")).status().unwrap();
    assert!(made.success());
    let (shown, said) = report(f, "t.model t.tlc");
    assert!(texts(&shown).is_empty() && said.contains("does not exist"), "{said}");
    assert!(report(f, "t.model t.tlc --texts t.csv").1.contains("left out 40 of 40"));
}

#[test]
fn u13_moved_texts_are_reported_and_found_again() {
    let folder = folder();
    let f = folder.path();
    std::fs::create_dir(f.join("elsewhere")).unwrap();
    std::fs::rename(f.join("t.csv"), f.join("elsewhere/t.csv")).unwrap();
    let (shown, said) = report(f, "t.model t.tlc");
    assert!(texts(&shown).is_empty());
    assert!(said.contains("left out 40 of 40 texts: the file does not exist: t.csv"), "{said}");
    assert!(said.contains("--texts PATH"), "{said}");
    for texts_option in ["elsewhere", "elsewhere/t.csv"] {
        let (shown, said) = report(f, &format!("t.model t.tlc --texts {texts_option}"));
        assert!(texts(&shown)[5].starts_with("number5 ") && !said.contains("left out"), "{said}");
    }
    // A file of another name is found, too, since the corpus has one source only.
    std::fs::rename(f.join("elsewhere/t.csv"), f.join("elsewhere/u.csv")).unwrap();
    let (shown, _) = report(f, "t.model t.tlc --texts elsewhere/u.csv");
    assert!(texts(&shown)[5].starts_with("number5 "));
    bad(f, "report t.model t.tlc -o t.tlc", 2, &["-o"]);
}

#[test]
fn u9_subfolders_become_labels() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for d in 0..12 {
        let class = ["weather/daily", "sport"][d % 2];
        std::fs::create_dir_all(f.join("texts").join(class)).unwrap();
        std::fs::write(f.join(format!("texts/{class}/{d:02}.txt")), text(d)).unwrap();
    }
    std::fs::write(f.join("texts/loose.txt"), text(0)).unwrap();
    good(f, "import texts --label-from folder --min-docs 1 -o t.tlc");
    let info: Value = serde_json::from_str(&good(f, "info t.tlc --json")).unwrap();
    let column = &info["label_columns"][0];
    assert_eq!((&column["name"], &column["distinct"]), (&"folder".into(), &2.into()));
    assert_eq!(column["documents"], 12);
    good(f, "convert t.tlc t.mtx --metadata m.tsv");
    let table = std::fs::read_to_string(f.join("m.tsv")).unwrap();
    assert!(table.starts_with("document\tname\tfolder\n"), "{table}");
    assert!(table.contains("\tweather/daily/00.txt\tweather/daily\n"), "{table}");
    assert!(table.contains("\tloose.txt\t\n"), "{table}");
    std::fs::write(f.join("t.txt"), text(0)).unwrap();
    bad(f, "import t.txt --label-from folder -o u.tlc", 2, &["--label-from", "folder"]);
}

#[test]
fn u9_several_columns_with_several_labels_and_dates() {
    let folder = folder();
    let f = folder.path();
    let info: Value = serde_json::from_str(&good(f, "info t.tlc --json")).unwrap();
    let column = |i: usize| {
        let column = &info["label_columns"][i];
        (column["name"].as_str().unwrap(), column["distinct"].as_u64(), column["documents"].as_u64())
    };
    assert_eq!(column(0), ("section", Some(2), Some(40)));
    assert_eq!(column(1), ("authors", Some(2), Some(27)));
    assert_eq!(info["dates"]["documents"], 32);
    assert_eq!((&info["dates"]["first"], &info["dates"]["last"]), (&"2001".into(), &"2002-02-03".into()));
    assert!(good(f, "info t.tlc").contains("section (2 distinct in 40 documents), authors (2 distinct"));
    // The report has all labels of all columns.
    let (data, _) = report(f, "t.model t.tlc");
    assert_eq!(data["labels"]["columns"], serde_json::json!(["section", "authors"]));
    assert_eq!(data["labels"]["text"], serde_json::json!(["sport", "weather", "Ann", "Bob"]));
    assert_eq!(data["labels"]["column"], serde_json::json!([0, 0, 1, 1]));
    assert_eq!(data["labels"]["documents"], serde_json::json!([20, 20, 27, 14]));
    assert_eq!(data["documents"]["label"][0], serde_json::json!([1, 2, 3]));
    assert_eq!(data["documents"]["date"][3], "2001-02-03T04:05:06Z");
    // A split keeps everything.
    good(f, "split t.tlc --test 0.5 -o a.tlc b.tlc");
    for part in ["a.tlc", "b.tlc"] {
        let info: Value = serde_json::from_str(&good(f, &format!("info {part} --json"))).unwrap();
        assert_eq!(info["label_columns"][1]["name"], "authors");
        assert!(info["dates"]["documents"].as_u64().unwrap() > 5);
    }
}

#[test]
fn u9_json_lists_are_several_labels() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let mut lines = String::new();
    for d in 0..20 {
        let tags = ["[\"a\", \"b\"]", "[]", "\"c\"", "null"][d % 4];
        writeln!(
            lines,
            "{{\"text\": \"{}\", \"tags\": {tags}, \"meta\": {{\"year\": {}}}}}",
            text(d),
            1990 + d
        )
        .unwrap();
    }
    std::fs::write(f.join("t.jsonl"), lines).unwrap();
    let options = "--label-field tags --label-field meta.year --date-field meta.year --min-docs 1";
    good(f, &format!("import t.jsonl {options} -o t.tlc"));
    good(f, "convert t.tlc t.mtx --metadata m.csv");
    let table = std::fs::read_to_string(f.join("m.csv")).unwrap();
    let rows: Vec<&str> = table.lines().take(4).collect();
    assert_eq!(
        rows,
        ["document,name,tags,meta.year,date", "1,,a;b,1990,1990", "2,,,1991,1991", "3,,c,1992,1992"]
    );
}

#[test]
fn u9_dates_that_cannot_be_read_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let mut rows = String::from("text,when\n");
    for d in 0..20 {
        writeln!(rows, "{},{}", text(d), ["2001-05-06", "01/02/2003", "n/a", "someday"][d % 4]).unwrap();
    }
    std::fs::write(f.join("t.csv"), rows).unwrap();
    let output = run(f, "import t.csv --date-column when --min-docs 1 -o t.tlc");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains(
            "warning: 10 of 15 dates cannot be read or are ambiguous, the first is that of document 2"
        ),
        "{said}"
    );
    assert!(said.contains("YYYY-MM-DD"), "{said}");
    bad(
        f,
        "import t.csv --date-column when --min-docs 1 --strict -o u.tlc",
        1,
        &["line 3", "01/02/2003", "YYYY-MM-DD", "--strict"],
    );
}

#[test]
fn u11_documents_print_texts_labels_and_dates() {
    let folder = folder();
    let f = folder.path();
    let list = good(f, "documents t.model t.tlc --top 2");
    assert!(list.contains("[section: ") && list.contains("number"), "{list}");
    let value: Value = serde_json::from_str(&good(f, "documents t.model t.tlc --top 40 --json")).unwrap();
    let all = value["topics"][0]["documents"].as_array().unwrap();
    let first = all.iter().find(|document| document["document"] == 1).unwrap();
    assert_eq!(first["labels"], serde_json::json!({"section": ["weather"], "authors": ["Ann", "Bob"]}));
    assert_eq!(first["date"], "2001");
    assert!(first["text"].as_str().unwrap().starts_with("number0 rain"));
    let tsv = good(f, "documents t.model t.tlc --similar-to d0 --tsv");
    assert_eq!(
        tsv.lines().next(),
        Some("rank\tdocument\tname\tsection\tauthors\tdate\ttokens\thellinger_distance\ttext")
    );
    assert!(tsv.lines().all(|line| line.split('\t').count() == 9), "{tsv}");
    // Raw data shows its texts, too.
    let options = "--text-column text --id-column id --label-column section";
    let list = good(f, &format!("documents t.model t.csv {options} --top 1"));
    assert!(list.contains("[weather]") || list.contains("[sport]"), "{list}");
    assert!(list.contains("number"), "{list}");
    assert!(!good(f, "documents t.model t.tlc --top 1 --no-text").contains("number"));
}

#[test]
fn u11_proportions_and_exports_carry_labels_and_dates() {
    let folder = folder();
    let f = folder.path();
    let tsv = good(f, "infer t.model t.tlc");
    assert_eq!(tsv.lines().next(), Some("document\tname\tsection\tauthors\tdate\tp_0\tp_1"));
    assert!(tsv.lines().nth(1).unwrap().starts_with("1\td0\tweather\tAnn;Bob\t2001\t"), "{tsv}");
    let csv = good(f, "infer t.model t.tlc --to csv");
    assert!(
        csv.starts_with("document,name,section,authors,date,p_0,p_1\n1,d0,weather,Ann;Bob,2001,"),
        "{csv}"
    );
    // All lines have the same number of fields, however many proportions are large enough.
    for options in ["--min-proportion 0.3", "--top 1", "--top 2 --min-proportion 0.6"] {
        let tsv = good(f, &format!("infer t.model t.tlc {options}"));
        let width = tsv.lines().next().unwrap().split('\t').count();
        assert!(tsv.lines().all(|line| line.split('\t').count() == width), "{tsv}");
    }
    let line = good(f, "infer t.model t.tlc --to jsonl");
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(line["labels"], serde_json::json!({"section": ["weather"], "authors": ["Ann", "Bob"]}));
    assert_eq!((&line["date"], &line["name"]), (&"2001".into(), &"d0".into()));
    good(f, "export t.model t.tlc --to csv -o tables");
    let table = std::fs::read_to_string(f.join("tables/doc-topic.csv")).unwrap();
    assert!(table.starts_with("document,name,section,authors,date,tokens,topic_0,topic_1\n"), "{table}");
    good(f, "export t.model t.tlc --to mallet -o mallet");
    let table = std::fs::read_to_string(f.join("mallet/doc-metadata.tsv")).unwrap();
    assert!(table.starts_with("document\tname\tsection\tauthors\tdate\n1\td0\tweather\tAnn;Bob\t2001\n"));
    good(f, "infer t.model t.tlc -o t.parquet");
    assert!(std::fs::read(f.join("t.parquet")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn u11_unknown_tokens_of_text_are_counted() {
    let folder = folder();
    let f = folder.path();
    let new = "rain storm aliens martians rain\ngoal match\nmartians\n";
    let lines = piped(f, "infer t.model - --format text --to jsonl", new.as_bytes());
    let lines = String::from_utf8(lines.stdout).unwrap();
    let counts: Vec<(u64, u64)> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["tokens"].as_u64().unwrap(), line["tokens_unknown"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [(3, 2), (2, 0), (0, 1)]);
    std::fs::write(f.join("new.txt"), new).unwrap();
    let told = good(f, "infer t.model new.txt --format text -o p.tsv --json");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["tokens_unknown"], 3);
    // A corpus that was imported with the vocabulary of the model has the same numbers.
    good(f, "import new.txt --format text --vocabulary t.model -o new.tlc");
    assert_eq!(good(f, "infer t.model new.tlc --to jsonl"), lines);
}

#[test]
fn u11_topics_and_report_have_one_prevalence() {
    let folder = folder();
    let f = folder.path();
    let topics: Value = serde_json::from_str(&good(f, "topics t.model --json")).unwrap();
    for arguments in ["t.model", "t.model t.tlc"] {
        let (data, _) = report(f, arguments);
        for topic in topics["topics"].as_array().unwrap() {
            let k = usize::try_from(topic["topic"].as_u64().unwrap()).unwrap();
            let shown = data["topics"]["prevalence"][k].as_f64().unwrap();
            let share = topic["share"].as_f64().unwrap();
            assert!((shown - share).abs() < 1e-3 * share, "{arguments}: {shown} {share}");
        }
    }
}

#[test]
fn u23_labels_that_are_too_many_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let mut rows = String::from("text,kind,serial\n");
    for d in 0..250 {
        writeln!(rows, "{},{},serial {d}", text(d), ["a", "b"][d % 2]).unwrap();
    }
    std::fs::write(f.join("t.csv"), rows).unwrap();
    let options = "--label-column serial --label-column kind --max-docs 80%";
    good(f, &format!("import t.csv {options} -o t.tlc"));
    good(f, "train t.tlc -k 2 --passes 5 -o t.model");
    let (data, said) = report(f, "t.model t.tlc");
    assert!(said.contains("warning: the report does not show the labels of serial"), "{said}");
    assert!(said.contains("more than 200"), "{said}");
    assert_eq!(data["labels"]["text"], serde_json::json!(["a", "b"]));
}

#[test]
fn u6_labels_with_the_separator_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(
        f.join("t.jsonl"),
        "{\"text\":\"apple\",\"tag\":[\"a;b\",\"c\"]}\n{\"text\":\"pear\",\"tag\":\"d\"}\n",
    )
    .unwrap();
    good(f, "import t.jsonl --label-field tag --stop-words none -o t.tlc");
    good(f, "convert t.tlc t.mtx --metadata t.tsv");
    let table = std::fs::read_to_string(f.join("t.tsv")).unwrap();
    assert!(table.contains("a\\;b;c"), "{table}");
}

#[test]
fn u6_labels_that_are_left_out_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("a.csv"), "id,tag,text\n1,x,apple\n2,y,pear\n").unwrap();
    std::fs::write(f.join("b.jsonl"), "{\"tag\":\"x\",\"text\":\"plum\"}\n").unwrap();
    std::fs::write(f.join("c.svm"), "1 1:2 3:1\n-1 2:1\n").unwrap();
    std::fs::write(f.join("d.vw"), "1 0.5 'a |w apple banana\n1 'b |w cherry\n").unwrap();
    std::fs::write(f.join("e.csv"), "text,id,text\napple,1,no\npear,2,no\n").unwrap();
    for (arguments, said) in [
        (
            "a.csv b.jsonl --label-column tag",
            "warning: the documents of b.jsonl have no labels: --label-column",
        ),
        ("c.svm", "the labels of svmlight are left out"),
        ("d.vw", "warning: 1 importance weight was ignored, the first on line 1"),
        ("e.csv", "several columns are called \"text\"; column 1 is read"),
    ] {
        let output = run(f, &format!("import {arguments} -o out.tlc"));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && text.contains(said), "{arguments}: {text}");
    }
    bad(f, "import a.csv --label-separator ; -o x.tlc", 2, &["--label-separator requires --label-column"]);
    bad(f, "import d.vw -o x.tlc --strict", 1, &["line 1", "importance weight"]);
}

#[test]
fn u17_documents_of_the_same_name_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let rows: String = (0..20).map(|d| format!("n{},{}\n", d % 5, text(d))).collect();
    std::fs::write(f.join("t.csv"), format!("id,text\n{rows}")).unwrap();
    good(f, "import t.csv --id-column id -o t.tlc");
    good(f, "train t.tlc -k 2 --passes 5 -o t.model");
    let output = run(f, "documents t.model t.tlc --similar-to n3");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("4 documents are called \"n3\"; the first one, document 4, is used"), "{said}");
}
