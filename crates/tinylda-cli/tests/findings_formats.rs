//! Files as people have them: each is read as its owner expects, or refused with a message that
//! says what to do.

#![allow(clippy::format_collect, clippy::format_push_string, clippy::needless_for_each)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::io::Write;
use std::path::Path;

use tinylda::Corpus;
use tinylda::corpus::Block;

use common::run;

/// Expected outcome of an import.
enum Outcome {
    /// The words of every document in alphabetical order, each document as one string.
    Read(&'static [&'static str]),
    /// Parts of the message of a refusal.
    Refused(&'static [&'static str]),
}
use Outcome::{Read, Refused};

/// A file, how it is imported, and what comes out.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    arguments: &'static str,
    outcome: Outcome,
    /// Parts of the messages of the import.
    says: &'static [&'static str],
}

fn case(name: &'static str, bytes: impl Into<Vec<u8>>, outcome: Outcome) -> Case {
    Case { name, bytes: bytes.into(), arguments: "", outcome, says: &[] }
}

impl Case {
    fn with(self, arguments: &'static str) -> Case {
        Case { arguments, ..self }
    }

    fn says(self, says: &'static [&'static str]) -> Case {
        Case { says, ..self }
    }
}

/// Returns the words of every document of a corpus.
fn documents(path: &Path) -> Vec<String> {
    let corpus = Corpus::open(path).unwrap();
    let vocabulary = corpus.vocabulary().unwrap().unwrap();
    let (mut reader, mut block, mut all) = (corpus.reader(), Block::default(), Vec::new());
    for i in 0..corpus.blocks() {
        reader.read(i, &mut block).unwrap();
        for document in block.iter() {
            let mut words: Vec<&str> = Vec::new();
            for (&word, &count) in document.words.iter().zip(document.counts) {
                words.extend(std::iter::repeat_n(vocabulary.get(word).unwrap(), count as usize));
            }
            words.sort_unstable();
            all.push(words.join(" "));
        }
    }
    all
}

/// Imports the file of a case and compares the outcome.
fn check(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join(case.name), &case.bytes).unwrap();
    let output = run(f, &format!("import {} -o out.tlc {}", case.name, case.arguments));
    let said = String::from_utf8(output.stderr).unwrap();
    let shown = format!("{} {}: {said}", case.name, case.arguments);
    assert!(!said.contains("panicked"), "{shown}");
    match case.outcome {
        Read(expected) => {
            assert!(output.status.success(), "{shown}");
            assert_eq!(documents(&f.join("out.tlc")), expected, "{shown}");
        }
        Refused(parts) => {
            assert!(!output.status.success(), "{shown}");
            assert!(!f.join("out.tlc").exists(), "{shown}");
            for part in parts {
                assert!(said.contains(part), "{part:?} is missing in {shown}");
            }
        }
    }
    for part in case.says {
        assert!(said.contains(part), "{part:?} is missing in {shown}");
    }
}

fn check_all(cases: &[Case]) {
    cases.iter().for_each(check);
}

/// Arguments that keep all words.
const ALL_WORDS: &str = "--stop-words none";

fn text(name: &'static str, bytes: impl Into<Vec<u8>>, outcome: Outcome) -> Case {
    case(name, bytes, outcome).with(ALL_WORDS)
}

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let unit = |u: u16| if big_endian { u.to_be_bytes() } else { u.to_le_bytes() };
    text.encode_utf16().flat_map(unit).collect()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).unwrap()).collect()
}

/// Builds a zip archive.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn docx(paragraphs: &[&str]) -> Vec<u8> {
    let body: String =
        paragraphs.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    let xml =
        format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"x\"><w:body>{body}</w:body></w:document>");
    zip(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", xml.as_bytes())])
}

const TWO: Outcome = Read(&["apple banana", "cherry"]);

#[test]
fn plain_text() {
    check_all(&[
        text("lines.txt", "apple banana\ncherry\n", TWO),
        text("no-end.txt", "apple banana\ncherry", TWO),
        text("windows.txt", "apple banana\r\ncherry\r\n", TWO),
        text("old-mac.txt", "apple banana\rcherry\r", TWO).says(&["line ends: CR"]),
        text("mark.txt", "\u{feff}apple banana\ncherry\n", TWO),
        text("commas.txt", "apple, banana\ncherry\n", TWO),
        text(
            "prose.txt",
            "The apple, of course, fell.\nIt fell, and it lay.\n",
            Read(&["apple course fell of the", "and fell it it lay"]),
        ),
        text("list.txt", "apple, banana\ncherry, damson\n", Read(&["apple banana", "cherry damson"])),
        text("no-ending", "apple banana\ncherry\n", TWO),
        text("one-line.txt", "apple banana cherry", Read(&["apple banana cherry"]))
            .says(&["warning: the input is a single document"]),
        text("brackets.txt", "[apple] banana\n[cherry]\n", TWO),
        text("braces.txt", "{apple banana}\n{cherry}\n", TWO),
        text("packed.txt.gz", gzip(b"apple banana\ncherry\n"), TWO),
        text("empty.txt", "", Refused(&["empty.txt is empty"])),
        text("blank.txt", " \n\n", Refused(&["contains only blank lines"])),
    ]);
}

#[test]
fn u1_tables_are_tables() {
    const REVIEWS: &str = "id,section,review\n1,x,apple banana\n2,y,cherry\n";
    check_all(&[
        text("reviews.csv", REVIEWS, TWO).says(&["columns: text \"review\"", "comma", "header"]),
        text("reviews", REVIEWS, TWO),
        text("upper.csv", "ID,Text\n1,apple banana\n2,cherry\n", TWO).says(&["text \"Text\""]),
        text("full.csv", "id,Full Text\n1,apple banana\n2,cherry\n", TWO),
        text("speech.csv", "speaker,speech\nann,apple banana\nbob,cherry\n", TWO),
        text("tweets.csv", "tweet\napple banana\ncherry\n", TWO),
        text("abstracts.csv", "id,title,abstract\n1,apple,banana\n2,cherry,\n", TWO)
            .says(&["\"title\" and \"abstract\""]),
        text("rank.csv", "description,text\nno,apple banana\nno,cherry\n", TWO).says(&["text \"text\""]),
        text(
            "unknown.csv",
            "nr,field_a,field_b\n1,x,apple banana\n2,y,cherry\n",
            Refused(&["--text-column", "\"field_b\""]),
        ),
        text(
            "unknown",
            "nr,kind,essay_part\n1,x,apple banana\n2,y,cherry\n3,z,damson\n",
            Refused(&["--text-column", "\"essay_part\""]),
        ),
        text("given.csv", "nr,field_a,field_b\n1,x,apple banana\n2,y,cherry\n", TWO)
            .with("--text-column field_b --stop-words none"),
        text("number.csv", "1,x,apple banana\n2,y,cherry\n", TWO).with("--text-column 3 --stop-words none"),
        text("wrong.csv", REVIEWS, Refused(&["--text-column", "\"review\""])).with("--text-column body"),
        text("one-column.csv", "apple banana\ncherry\n", TWO),
        text("newlines.csv", "id,text\n1,\"apple\nbanana\"\n2,cherry\n", TWO),
        text("quotes.csv", "id,text\n1,\"apple \"\"banana\"\"\"\n2,cherry\n", TWO),
        text("quoted-header.csv", "\"id\",\"text\"\n\"1\",\"apple, banana\"\n\"2\",\"cherry\"\n", TWO),
        text("semicolons.csv", "id;text\n1;apple, banana\n2;cherry\n", TWO).says(&["semicolon"]),
        text("pipes.csv", "id|text\n1|apple, banana\n2|cherry\n", TWO).says(&["pipe"]),
        text("tabs.tsv", "id\ttext\n1\tapple, banana\n2\tcherry\n", TWO).says(&["tab"]),
        text("tabs.csv", "id\ttext\n1\tapple, banana\n2\tcherry\n", TWO),
        text("mark.csv", "\u{feff}text,id\napple banana,1\ncherry,2\n", TWO).says(&["text \"text\""]),
        text("windows.csv", "id,text\r\n1,\"apple\r\nbanana\"\r\n2,cherry\r\n", TWO),
        text("old-mac.csv", "id,text\r1,apple banana\r2,cherry\r", TWO),
        text("no-end.csv", "id,text\n1,apple banana\n2,cherry", TWO),
        text("blank-lines.csv", "id,text\n\n1,apple banana\n\n2,cherry\n\n", TWO),
        text("packed.csv.gz", gzip(REVIEWS.as_bytes()), TWO),
        text(
            "open-quote.csv",
            "id,text\n1,apple\n2,\"banana\n3,cherry\n",
            Refused(&["line 3", "never closed", "--quotes no"]),
        ),
        text("broken-quote.csv", "id,text\n1,\"apple\n2,banana \"x\" y\n", Refused(&["line 2", "quote"])),
        text("no-quotes.csv", "id,text\n1,\"apple banana\n2,cherry\n", TWO)
            .with("--quotes no --stop-words none"),
        text("short.csv", "id,text,more\n1,apple banana,x\n2,cherry\n", TWO)
            .says(&["1 row has fewer columns", "line 3"]),
        text("ragged.csv", "id,text,more\n1,apple banana,x\n2\n3,cherry,x,y,z\n4,cherry,x\n", TWO)
            .says(&["warning:", "2 rows", "line 3", "--strict"]),
        text("strict.csv", "id,text,more\n1,apple banana,x\n2\n", Refused(&["line 3", "1 column"]))
            .with("--strict"),
        text(
            "no-header.csv",
            "1,apple banana\n2,cherry\n",
            Refused(&["--text-column", "2 (\"apple banana\")"]),
        ),
    ]);
}

#[test]
fn u1_headers_are_told_from_documents() {
    const STORIES: &str =
        "Headline,The Story (raw),category,published\nx,apple banana,a,2020-01-02\ny,cherry,b,2020-03-04\n";
    check_all(&[
        text("sms.tsv", "ham\tapple banana\nham\tcherry\n", TWO)
            .with("--text-column 2 --label-column 1 --stop-words none")
            .says(&["without a header"]),
        text("news.csv", "World,apple banana\nSports,cherry\n", TWO)
            .with("--text-column 2 --stop-words none")
            .says(&["the first row is read as a document; if it contains column names, pass --header yes"]),
        text("stories.csv", STORIES, TWO).with("--text-column 2 --stop-words none").says(&["with a header"]),
        text(
            "names.csv",
            "team,quote\nx,apple banana a\ny,cherry to the pie\n",
            Read(&["apple banana", "cherry pie"]),
        )
        .with("--text-column 2 --stop-words en --min-length 2")
        .says(&["the first row is read as column names; if it is a document, pass --header no"]),
        text(
            "given.csv",
            "team,quote\nx,apple banana a\ny,cherry to the pie\n",
            Read(&["quote", "apple banana", "cherry pie"]),
        )
        .with("--text-column 2 --stop-words en --header no"),
    ]);
}

#[test]
fn u1_prose_is_not_a_table() {
    check_all(&[
        text(
            "prose.txt",
            "In short, a text\nIn long, a novel\nIn all, a story\nIn sum, a poem\n",
            Read(&["short text", "long novel", "story", "poem sum"]),
        )
        .with("--stop-words en")
        .says(&["format: text"]),
        text("notes.txt", "Note, apple\nNote, cherry\n", Read(&["apple note", "cherry note"]))
            .says(&["format: text"]),
        text("blanks.txt", "id, text\n1, apple banana\n2, cherry\n", TWO).says(&["format: csv"]),
    ]);
}

#[test]
fn u5_json_in_every_shape() {
    check_all(&[
        text("lines.jsonl", "{\"text\":\"apple banana\"}\n{\"text\":\"cherry\"}\n", TWO)
            .says(&["fields: text \"text\""]),
        text("array.json", "[{\"text\":\"apple banana\"},{\"text\":\"cherry\"}]", TWO)
            .says(&["format: json"]),
        text(
            "pretty.json",
            "[\n  {\n    \"id\": 1,\n    \"text\": \"apple\\nbanana\"\n  },\n  {\n    \"text\": \"cherry\"\n  }\n]\n",
            TWO,
        ),
        text("strings.json", "[\"apple banana\", \"cherry\"]", TWO),
        text("concatenated.json", "{\"text\":\"apple banana\"}{\"text\":\"cherry\"}", TWO),
        text("pretty-objects.json", "{\n \"text\": \"apple banana\"\n}\n{\n \"text\": \"cherry\"\n}\n", TWO),
        text(
            "inside.json",
            "{\"total\": 2, \"items\": [{\"text\":\"apple banana\"},{\"text\":\"cherry\"}], \"next\": null}",
            TWO,
        ),
        text("one-object.json", "{\"text\": \"apple banana\", \"tags\": [\"x\"]}", Read(&["apple banana"]))
            .says(&["single document"]),
        text("body.json", "[{\"id\":1,\"body\":\"apple banana\"},{\"id\":2,\"body\":\"cherry\"}]", TWO)
            .says(&["text \"body\""]),
        text("nested.json", "[{\"a\":{\"b\":\"apple banana\"}},{\"a\":{\"b\":\"cherry\"}}]", TWO)
            .with("--text-field a.b --stop-words none"),
        text(
            "unknown.json",
            "[{\"x\":\"apple\",\"y\":\"banana\"}]",
            Refused(&["--text-field", "\"x\"", "\"y\""]),
        ),
        text(
            "wrong.json",
            "[{\"x\":\"apple\",\"y\":\"banana\"}]",
            Refused(&["--text-field", "\"x\"", "\"z\""]),
        )
        .with("--text-field z"),
        text("mark.json", "\u{feff}[{\"text\":\"apple banana\"},{\"text\":\"cherry\"}]", TWO),
        text("old-mac.json", "[\r{\"text\":\"apple banana\"},\r{\"text\":\"cherry\"}\r]\r", TWO),
        text("utf16.json", utf16("\u{feff}[{\"text\":\"apple banana\"},{\"text\":\"cherry\"}]", false), TWO),
        text(
            "cut.json",
            "[{\"text\":\"apple\"},{\"text\":\"bana",
            Refused(&["line 1", "complete JSON value"]),
        ),
        text("open.json", "[{\"text\":\"apple\"},\n{\"text\":\"banana\"}\n", Refused(&["end of the array"])),
        text("missing.jsonl", "{\"text\":\"apple banana\"}\n{\"id\":7}\n{\"text\":\"cherry\"}\n", TWO)
            .says(&["warning:", "1 record", "line 2"]),
        text("bad-line.jsonl", "{\"text\":\"apple\"}\n{\"text\":\n", Refused(&["line 2", "JSON"])),
        text("numbers.json", "[[1,2],[3,4]]", Refused(&[])),
        text("lists.json", "[[\"apple\",\"banana\"],[\"cherry\",\"x\"]]", Refused(&["list"])),
        text("emoji.json", "[{\"text\":\"apple \\ud83d\\ude00 banana\"},{\"text\":\"cherry\"}]", TWO),
        text("packed.json.gz", gzip(b"[{\"text\":\"apple banana\"},{\"text\":\"cherry\"}]"), TWO),
    ]);
}

#[test]
fn u5_json_that_is_no_list_of_records_is_refused() {
    check_all(&[
        text(
            "split.json",
            r#"{"columns":["id","text"],"index":[0,1],"data":[[0,"apple banana"],[1,"cherry"]]}"#,
            Refused(&["names and the values of columns apart", "orient=\"records\""]),
        ),
        text(
            "article.json",
            r#"{"title":"Deep nets","keywords":["neural networks","machine learning"],"wholeStory":"river"}"#,
            Refused(&["--text-field", "\"title\"", "\"wholeStory\""]),
        ),
        text(
            "columns.json",
            r#"{"text":{"0":"apple banana","1":"cherry"}}"#,
            Refused(&["an object of objects", "orient=\"records\""]),
        ),
        text(
            "index.json",
            r#"{"d0":{"text":"apple banana"},"d1":{"text":"cherry"}}"#,
            Refused(&["an object of objects", "jq '.[]'"]),
        ),
        text(
            "hits.json",
            r#"{"took":3,"hits":{"total":2,"hits":[{"_id":"a","_source":{"text":"apple"}}]}}"#,
            Refused(&["jq '.hits.hits[]'"]),
        ),
        text("lists.json", r#"{"language":"en","texts":["apple banana","cherry"]}"#, TWO),
        text("one.json", r#"{"doc":{"body":"apple banana"}}"#, Read(&["apple banana"]))
            .with("--text-field doc.body --stop-words none"),
    ]);
}

#[test]
fn u5_a_field_of_the_record_precedes_a_nested_one() {
    check_all(&[text(
        "nested.jsonl",
        r#"{"meta":{"text":"no"},"content":"apple banana"}
{"meta":{"text":"no"},"content":"cherry"}"#,
        TWO,
    )
    .says(&["fields: text \"content\""])]);
}

#[test]
fn u6_fields_that_do_not_exist_are_refused() {
    const RECORDS: &str = r#"{"text":"apple banana","tags":[{"name":"x"}]}
{"text":"cherry"}
"#;
    check_all(&[
        text("label.jsonl", RECORDS, Refused(&["--label-field", "\"kind\"", "\"tags\""]))
            .with("--label-field kind"),
        text("date.jsonl", RECORDS, Refused(&["--date-field", "\"day\""])).with("--date-field day"),
        text("name.jsonl", RECORDS, Refused(&["--id-field", "\"nr\""])).with("--id-field nr"),
        text("objects.jsonl", RECORDS, TWO).with("--label-field tags --stop-words none").says(&[
            "warning: 1 record lacks a field of --id-field, --label-field or --date-field",
            "warning: 1 value of a name, label or date is an object and was left out, the first on line 1",
            "--label-field tags.0.name",
        ]),
        text("strict.jsonl", RECORDS, Refused(&["line 1", "an object in the field \"tags\""]))
            .with("--label-field tags --strict"),
        text("inside.jsonl", RECORDS, TWO).with("--label-field tags.0.name --stop-words none"),
    ]);
}

const FRENCH: &str = "déjà vu à l'été\nla forêt près du château\nle garçon a été très fâché\n";
const FRENCH_WORDS: Outcome =
    Read(&["déjà l'été vu à", "château du forêt la près", "a fâché garçon le très été"]);

#[test]
fn u8_encodings_are_detected() {
    let russian = "Москва столица России\nбольшой город страны\n";
    let cyrillic: Vec<u8> = russian
        .chars()
        .map(|c| match c {
            'А'..='я' => u8::try_from(c as u32 - 'А' as u32).unwrap() + 0xc0,
            c => u8::try_from(c).unwrap(),
        })
        .collect();
    let words = Read(&["москва россии столица", "большой город страны"]);
    let pattern = "--stop-words none --token-pattern [\\w']+";
    let words_of = |case: Case| case.with(pattern);
    let utf32: Vec<u8> =
        format!("\u{feff}{russian}").chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    check_all(&[
        words_of(text("utf8.txt", FRENCH, FRENCH_WORDS)),
        words_of(text("latin1.txt", latin1(FRENCH), FRENCH_WORDS))
            .says(&["encoding: windows-1252 (detected; override with --encoding)"]),
        text("given.txt", latin1(FRENCH), FRENCH_WORDS)
            .with("--encoding latin1 --stop-words none --token-pattern [\\w']+")
            .says(&["encoding: windows-1252"]),
        words_of(text("cyrillic.txt", cyrillic, words)).says(&["windows-1251"]),
        words_of(text("utf16le.txt", utf16(&format!("\u{feff}{FRENCH}"), false), FRENCH_WORDS))
            .says(&["UTF-16LE"]),
        words_of(text("utf16be.txt", utf16(&format!("\u{feff}{FRENCH}"), true), FRENCH_WORDS))
            .says(&["UTF-16BE"]),
        words_of(text("no-mark.txt", utf16(FRENCH, false), FRENCH_WORDS)).says(&["UTF-16LE"]),
        text("utf32.txt", utf32, Read(&["москва россии столица", "большой город страны"]))
            .says(&["UTF-32LE"]),
        text(
            "latin1.csv",
            latin1("id,text\n1,déjà forêt\n2,près château\n3,été garçon\n"),
            Read(&["déjà forêt", "château près", "garçon été"]),
        ),
        text("utf16.csv", utf16("\u{feff}id;text\r\n1;apple, banana\r\n2;cherry\r\n", false), TWO),
        text(
            "latin1.jsonl",
            latin1("{\"text\":\"déjà forêt\"}\n{\"text\":\"près château\"}\n"),
            Read(&["déjà forêt", "château près"]),
        ),
        text("strict.txt", latin1(FRENCH), Refused(&["line 1", "UTF-8", "--encoding"])).with("--strict"),
        text("unknown.txt", FRENCH, Refused(&["--encoding", "klingon", "iconv"])).with("--encoding klingon"),
        text(
            "damaged.txt",
            [FRENCH.as_bytes(), b"caf\xe9 noir\n"].concat(),
            Read(&["déjà l'été vu à", "château du forêt la près", "a fâché garçon le très été", "caf noir"]),
        )
        .with(pattern)
        .says(&["1 document", "not UTF-8", "--encoding"]),
    ]);
}

#[test]
fn u7_documents_and_archives() {
    let page = "<!DOCTYPE html><html><head><title>apple</title><script>var no;</script></head>\
                <body><p class=no>banana</p></body></html>";
    let tei = "<?xml version=\"1.0\"?><TEI><teiHeader><title>no</title></teiHeader><text><p>apple</p><p>ban<hi>ana</hi></p></text></TEI>";
    let one = || Read(&["apple banana"]);
    let single = &["warning: the input is a single document"];
    check_all(&[
        text("page.html", page, one()).says(single),
        text("page.htm", "apple<br>banana", one()),
        text("entities.html", "<p>caf&eacute; na&#239;ve</p>", Read(&["café naïve"])),
        text(
            "latin1.html",
            latin1("<html><meta charset=iso-8859-1><p>café naïve</p></html>"),
            Read(&["café naïve"]),
        ),
        text("page", page, one()),
        text("letter.xml", tei, one()).says(single),
        text(
            "latin1.xml",
            latin1("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a><b>café</b><b>naïve</b></a>"),
            Read(&["café naïve"]),
        ),
        text("letter.docx", docx(&["apple", "banana"]), one()).says(single),
        text("texts.zip", zip(&[("b.txt", b"cherry"), ("a.txt", b"apple banana")]), TWO)
            .says(&["format: zip"]),
        text("mixed.zip", zip(&[("a.html", page.as_bytes()), ("b.docx", &docx(&["cherry"]))]), TWO),
        text("table.zip", zip(&[("reviews.csv", b"id,review\n1,apple banana\n2,cherry\n")]), TWO)
            .says(&["csv"]),
        text(
            "mac.zip",
            zip(&[("a.txt", b"apple banana"), ("__MACOSX/._a.txt", b"x"), ("b.txt", b"cherry")]),
            TWO,
        ),
        text(
            "skips.zip",
            zip(&[("a.txt", b"apple banana"), ("b.pdf", b"%PDF-1.4"), ("c.txt", b"cherry")]),
            TWO,
        )
        .says(&["warning: 1 file was skipped", "b.pdf", "pdftotext"]),
        text(
            "strict.zip",
            zip(&[("a.txt", b"apple banana"), ("b.pdf", b"%PDF-1.4")]),
            Refused(&["b.pdf", "a PDF document"]),
        )
        .with("--strict"),
        text(
            "escape.zip",
            zip(&[("a.txt", b"apple banana"), ("../up.txt", b"no"), ("c.txt", b"cherry")]),
            TWO,
        )
        .says(&["up.txt", "leads out of the archive"]),
        text("empty.zip", zip(&[]), Refused(&["zip"])),
        text("cut.zip", zip(&[("a.txt", b"apple banana")])[..40].to_vec(), Refused(&["damaged zip archive"])),
        text(
            "book.xlsx",
            zip(&[("[Content_Types].xml", b""), ("xl/workbook.xml", b"")]),
            Refused(&["an Excel workbook", "CSV"]),
        ),
        text(
            "slides.pptx",
            zip(&[("ppt/presentation.xml", b"")]),
            Refused(&["a PowerPoint presentation", "LibreOffice"]),
        ),
        text(
            "text.odt",
            zip(&[
                ("mimetype", b"application/vnd.oasis.opendocument.text"),
                ("content.xml", b""),
                ("META-INF/manifest.xml", b""),
            ]),
            Refused(&["an OpenDocument text", "LibreOffice"]),
        ),
        text(
            "book.epub",
            zip(&[("mimetype", b"application/epub+zip"), ("META-INF/container.xml", b"")]),
            Refused(&["an EPUB book", "pandoc"]),
        ),
        text("paper.pdf", "%PDF-1.7\n%\u{e2}\n1 0 obj", Refused(&["a PDF document", "pdftotext"])),
        text(
            "old.doc",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 rest".to_vec(),
            Refused(&["an old Word document", "LibreOffice"]),
        ),
        text("note.rtf", "{\\rtf1 apple}", Refused(&["a Rich Text document"])),
        text("picture.png", b"\x89PNG\r\n\x1a\n\0\0".to_vec(), Refused(&["an image"])),
        text("data.sqlite", b"SQLite format 3\0rest".to_vec(), Refused(&["an SQLite database", "CSV"])),
        text("texts.tar.gz", gzip(&tar()), Refused(&["a tar archive", "unpack"])),
        text(
            "program",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0".to_vec(),
            Refused(&["a binary file"]),
        ),
    ]);
}

fn tar() -> Vec<u8> {
    let mut tar = vec![0; 1024];
    tar[..5].copy_from_slice(b"a.txt");
    tar[257..262].copy_from_slice(b"ustar");
    tar
}

#[test]
fn bags_of_words_are_told_apart() {
    let bag = |name: &'static str, bytes: &'static str, says: &'static [&'static str]| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let output = run(folder.path(), &format!("import {name} -o out.tlc"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name}: {said}");
        says.iter().for_each(|part| assert!(said.contains(part), "{part} is missing in {name}: {said}"));
        assert_eq!(Corpus::open(folder.path().join("out.tlc")).unwrap().shape().documents, 2, "{name}");
    };
    bag("docword.txt", "2\n3\n3\n1 1 2\n1 3 1\n2 2 1\n", &["format: uci"]);
    bag("old-mac.txt", "2\r3\r3\r1 1 2\r1 3 1\r2 2 1\r", &["format: uci"]);
    bag("counts.csv", "1 1:2 3:1\n-1 2:1\n", &["format: svmlight"]);
    bag("counts.ldac", "2 0:2 2:1\n1 1:1\n", &["format: ldac"]);
    bag("vw.txt", "1 'a |w apple banana\n1 'b |w cherry\n", &["format: vw"]);
}

#[test]
fn r21_vowpal_wabbit_reports_what_it_drops() {
    check_all(&[
        text("zero.vw", "1 'a |w apple:1 banana cherry:0\n1 'b |w cherry\n", TWO)
            .says(&["warning: 1 feature with the count 0"]),
        text("weights.vw", "1 'a |w:0.5 apple banana\n1 'b |w cherry\n", TWO)
            .says(&["warning: 1 namespace weight was ignored"]),
        text("strict.vw", "1 'a |w:0.5 apple banana\n1 'b |w cherry\n", Refused(&["line 1", "weight"]))
            .with("--strict"),
    ]);
}

#[test]
fn u7_folders_skip_and_list_what_they_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let docs = f.join("docs");
    std::fs::create_dir_all(docs.join("sub")).unwrap();
    let files: [(&str, &[u8]); 7] = [
        ("a.txt", b"apple"),
        ("b.html", b"<p>banana</p>"),
        ("c.pdf", b"%PDF-1.4"),
        ("d.docx", &docx(&["damson"])),
        ("e.csv", b"id,text\n1,no\n"),
        ("f.bin", b"a\0\x01\x02"),
        ("sub/g.xml", b"<a>grape</a>"),
    ];
    for (name, bytes) in files {
        std::fs::write(docs.join(name), bytes).unwrap();
    }
    let output = run(f, "import docs -o out.tlc --stop-words none");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(documents(&f.join("out.tlc")), ["apple", "banana", "damson", "grape"]);
    for part in
        ["warning: 3 files were skipped", "c.pdf (a PDF document)", "e.csv", "f.bin", "pdftotext", "--strict"]
    {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    common::bad(f, "import docs -o x.tlc --strict", 1, &["c.pdf", "a PDF document", "pdftotext"]);
    // The glob chooses what is read.
    let output = run(f, "import docs -o out.tlc --stop-words none --strict --glob *.txt");
    assert!(output.status.success());
    assert_eq!(documents(&f.join("out.tlc")), ["apple"]);
}

#[test]
fn a_model_is_applied_to_several_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::create_dir(f.join("docs")).unwrap();
    std::fs::write(f.join("docs/x.txt"), "banana cherry").unwrap();
    std::fs::write(f.join("a.csv"), "id,text\n1,apple banana\n2,banana cherry\n").unwrap();
    std::fs::write(f.join("b.csv"), "id,text\n3,cherry apple\n").unwrap();
    common::good(f, "train a.csv b.csv docs -k 2 --passes 3 -o m.model --stop-words none");
    common::good(f, "-q import a.csv b.csv docs -o all.tlc --stop-words none");
    common::good(f, "-q infer m.model a.csv b.csv docs -o several.tsv");
    common::good(f, "-q infer m.model all.tlc -o one.tsv");
    let read = |name: &str| std::fs::read_to_string(f.join(name)).unwrap();
    assert_eq!(read("several.tsv"), read("one.tsv"));
    assert_eq!(read("several.tsv").lines().count(), 5);
    // The texts of all inputs are found again.
    let listed =
        common::good(f, "-q documents m.model a.csv b.csv docs --top 4 --topic 1 --min-tokens 1 --json");
    for text in ["apple banana", "banana cherry", "cherry apple"] {
        assert!(listed.contains(text), "{text} is missing in {listed}");
    }
    for command in ["infer", "documents"] {
        common::bad(f, &format!("{command} m.model all.tlc a.csv"), 2, &["a corpus file cannot be combined"]);
        common::bad(f, &format!("{command} m.model a.csv -"), 2, &["standard input can only be the first"]);
    }
    common::bad(f, "infer m.model a.csv b.csv -o b.csv", 2, &["b.csv"]);
}

#[test]
fn several_inputs_become_one_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::create_dir(f.join("docs")).unwrap();
    std::fs::write(f.join("docs/x.txt"), "damson").unwrap();
    std::fs::write(f.join("a.csv"), "id,text\n1,apple\n2,banana\n").unwrap();
    std::fs::write(f.join("b.csv"), "name;text\nq;cherry\n").unwrap();
    std::fs::write(f.join("c.json"), "[{\"text\":\"elder\"}]").unwrap();
    let output = run(f, "import a.csv b.csv docs c.json -o out.tlc --stop-words none");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(documents(&f.join("out.tlc")), ["apple", "banana", "cherry", "damson", "elder"]);
    for part in ["a.csv: format: csv", "b.csv: format: csv", "docs: format: folder", "c.json: format: json"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    common::good(f, "train a.csv b.csv -k 2 --passes 2 -o m.model --stop-words none");
    std::fs::write(f.join("bag.txt"), "2\n3\n3\n1 1 2\n1 3 1\n2 2 1\n").unwrap();
    common::bad(f, "import a.csv bag.txt -o x.tlc", 1, &["bag.txt", "one input"]);
    common::bad(f, "import a.csv missing.csv -o x.tlc", 1, &["missing.csv"]);
}

#[test]
fn u5_markup_in_cells_is_removed() {
    check_all(&[
        text("html.jsonl", "{\"text\":\"<p>apple <b>banana</b></p>\"}\n{\"text\":\"cherry&nbsp;\"}\n", TWO)
            .says(&["2 texts contain HTML; its tags were removed and its entities decoded"]),
        text(
            "imdb.csv",
            "id,review\n1,\"apple.<br /><br />banana &amp; <a href=\"\"x\"\">no</a>\"\n2,cherry\n",
            Read(&["apple banana no", "cherry"]),
        ),
        text("angles.txt", "apple < banana\ncherry\n", TWO),
    ]);
}

#[test]
fn u7_damaged_xml_is_noticed() {
    const SAYS: &[&str] = &["warning: 1 XML document is not well-formed or incomplete"];
    check_all(&[
        text("cut.xml", "<a><b>apple</b><b>banana", Read(&["apple banana"])).says(SAYS),
        text("wrong.xml", "<a><b>apple</c>banana</b></a>", Read(&["apple banana"])).says(SAYS),
        text("entity.xml", "<a>apple&unknown;banana</a>", Read(&["apple banana"])).says(SAYS),
    ]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.xml"), "<a>apple &amp; <b/>banana</a>").unwrap();
    let output = run(folder.path(), "import a.xml -o a.tlc");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("well-formed"));
}

#[test]
fn u7_files_of_the_same_name_are_counted() {
    let mut bytes = zip(&[("a.txt", b"plum"), ("b.txt", b"apple banana"), ("c.txt", b"cherry")]);
    let places: Vec<usize> =
        bytes.windows(5).enumerate().filter(|(_, w)| w == b"b.txt").map(|(at, _)| at).collect();
    places.into_iter().for_each(|at| bytes[at] = b'a');
    check_all(&[text("twice.zip", bytes, TWO).says(&[
        "warning: 1 file was skipped: a.txt (a file with the name of a later file of the archive)",
    ])]);
}

#[cfg(unix)]
#[test]
fn u7_entries_that_are_no_files_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::create_dir_all(f.join("docs/sub")).unwrap();
    std::fs::write(f.join("docs/a.txt"), "apple").unwrap();
    std::os::unix::fs::symlink(f.join("docs/sub"), f.join("docs/link")).unwrap();
    std::os::unix::fs::symlink(f.join("nothing"), f.join("docs/gone.txt")).unwrap();
    for n in 0..12 {
        std::fs::write(f.join(format!("docs/p{n}.pdf")), "%PDF-1.4").unwrap();
    }
    let output = run(f, "import docs -o out.tlc --stop-words none --json");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    for part in [
        "warning: 14 files were skipped",
        "link (a link to a folder)",
        "gone.txt (a link to a file that does not exist)",
        "and 4 more (import --json lists them)",
    ] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let skipped = &json["inputs"][0]["skipped_files"];
    assert_eq!(skipped["count"], 14);
    assert_eq!(skipped["files"].as_array().unwrap().len(), 14);
    common::bad(f, "import docs -o x.tlc --strict --glob *.txt", 1, &["gone.txt", "does not exist"]);
    // Tables of a folder.
    std::fs::create_dir(f.join("tables")).unwrap();
    std::fs::write(f.join("tables/a.csv"), "id,text\n1,apple\n").unwrap();
    std::os::unix::fs::symlink(f.join("nothing"), f.join("tables/b.csv")).unwrap();
    let output = run(f, "import tables docs -o out.tlc --stop-words none");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("b.csv (a link to a file that does not exist)"), "{said}");
    assert!(said.contains("warning: 14 files of docs were skipped"), "{said}");
}

#[test]
fn u1_skipped_rows_are_in_the_json() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("a.csv"), "id,text,more\n1,apple,x\n2\n3,cherry\n").unwrap();
    let json = common::good(f, "-q import a.csv -o a.tlc --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["inputs"][0]["skipped_rows"]["count"], 1, "{json}");
    assert_eq!(json["inputs"][0]["short_rows"]["first_line"], 4, "{json}");
}

#[test]
fn u10_a_model_without_a_vocabulary_reads_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let mut entries = String::new();
    for d in 1..=20 {
        entries.push_str(&format!("{d} {} 3\n{d} {} 2\n", 1 + d % 3, 4 + d % 2));
    }
    std::fs::write(f.join("u.uci"), format!("20\n5\n40\n{entries}")).unwrap();
    common::good(f, "train u.uci -k 2 --passes 5 -o u.model");
    let inferred = common::good(f, "-q infer u.model u.uci");
    assert!(inferred.lines().count() >= 20, "{inferred}");
    std::fs::write(f.join("n.txt"), "apple banana\n").unwrap();
    common::bad(f, "infer u.model n.txt", 2, &["no vocabulary", "a corpus file or a bag of words"]);
}

#[test]
fn u10_errors_name_the_data_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("t.txt"), "apple banana cherry\nbanana cherry damson\n".repeat(10)).unwrap();
    common::good(f, "train t.txt --format text -k 2 --passes 3 -o m.model --stop-words none");
    std::fs::write(f.join("n.txt"), "nothing known\nhere at all\n").unwrap();
    let output = run(f, "eval m.model n.txt --format text");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("n.txt") && !said.contains("input.tlc"), "{said}");
}

#[test]
fn u18_a_sweep_does_not_replace_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("t.txt"), "apple banana cherry\nbanana cherry damson\n".repeat(20)).unwrap();
    std::fs::create_dir(f.join("mine")).unwrap();
    std::fs::write(f.join("mine/report.md"), "mine").unwrap();
    common::bad(f, "sweep t.txt --format text -k 2 -o mine", 2, &["report.md", "-o"]);
    assert_eq!(std::fs::read_to_string(f.join("mine/report.md")).unwrap(), "mine");
}

#[test]
fn r19_panics_of_the_parquet_reader_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let lines: String = (0..60).map(|i| format!("apple banana cherry w{} x{}\n", i % 7, i % 11)).collect();
    std::fs::write(f.join("t.txt"), lines).unwrap();
    common::good(f, "-q import t.txt --format text -o t.tlc");
    common::good(f, "-q convert t.tlc t.parquet");
    let bytes = std::fs::read(f.join("t.parquet")).unwrap();
    let mut caught = 0;
    // The metadata at the end of the file.
    for at in bytes.len().saturating_sub(220)..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x80;
        std::fs::write(f.join("m.parquet"), damaged).unwrap();
        let output = run(f, "-q import m.parquet -o m.tlc");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !said.contains("panicked") && output.status.code().is_some_and(|code| code < 3),
            "{at}: {said}"
        );
        caught += usize::from(said.contains("a page that cannot be decoded"));
    }
    assert!(caught > 0);
}
