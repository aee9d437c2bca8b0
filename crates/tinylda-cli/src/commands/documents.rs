//! `tinylda documents`: lists typical documents of topics, or documents similar to a given one.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use tinylda::corpus::join_labels;
use tinylda::infer::{
    DocumentDetails, Mixtures, RankedDocument, SimilarDocuments, TypicalDocuments, count_documents_named,
    document_details, find_document,
};
use tinylda::report::{TextAccess, document_texts};
use tinylda::{Corpus, Error, Model};

use super::input::OpenedDocuments;
use super::{
    counted, escape_control, grouped, input_name, load_model, path_string, print, texts, to_stdout,
    topic_name_suffix, topic_number,
};
use crate::args;
use crate::progress::{Ui, Unit};

/// Number of characters of a text that are printed in the list for readers.
const SHOWN_CHARS: usize = 100;

/// Document of a list.
struct ListedDocument {
    found: RankedDocument,
    details: DocumentDetails,
    /// First line; empty if it is not known.
    text: String,
}

/// Source of the details and texts of documents.
struct DocumentLookup<'a> {
    corpus: &'a Corpus,
    /// Where texts may be read; `None` to omit them.
    access: Option<TextAccess>,
    ui: Ui,
}

pub(crate) fn run(a: &args::DocumentsArgs, ui: Ui) -> anyhow::Result<()> {
    let model = load_model(&a.model, Some(&a.input))?;
    let (top, min_tokens) = (a.top as usize, a.min_tokens);
    let topics = a.topic.iter().map(|asked| topic_number(&model, asked)).collect::<Result<_, _>>()?;
    let typical_documents = TypicalDocuments { top, min_tokens, topics };
    let threads = super::infer::thread_count(a.threads);
    let input = OpenedDocuments::open(&a.input, &a.more, &a.data, &model, threads, ui)?;
    let corpus = &input.corpus;
    let named = input.texts.named.iter().chain(&a.texts).cloned().collect();
    let access = (!a.no_text).then_some(TextAccess { named });
    let lookup = DocumentLookup { corpus, access, ui };
    let mixtures = Mixtures::new(&model, corpus)?.threads(threads);
    input.warn_of_mismatch(&model, ui)?;
    let bar = ui.bar("documents", Unit::Plain);
    let progress = &mut |p| bar.update(p);
    if let Some(asked) = &a.similar_to {
        let to = find_document(corpus, asked).map_err(|error| named_as_given(error, a))?;
        let named = count_documents_named(corpus, asked)?;
        if named > 1 {
            ui.say(&format!(
                "{} documents are called \"{}\"; the first one, document {}, is used; choose another one by its \
                 number",
                grouped(named),
                escape_control(asked),
                grouped(to + 1)
            ));
        }
        let found = SimilarDocuments { top, min_tokens }.find(&mixtures, to, progress)?;
        bar.finish();
        return similar(a, &lookup, to, &found);
    }
    let found = typical_documents.find(&mixtures, progress)?;
    bar.finish();
    typical(a, &model, &lookup, &found)
}

/// Replaces the file in an error about documents by the inputs that the user has given, since the
/// documents may have been imported into a temporary file.
fn named_as_given(mut error: Error, a: &args::DocumentsArgs) -> Error {
    if let Error::Input { path, .. } = &mut error {
        *path = input_name(&a.input, &a.more).into();
    }
    error
}

impl DocumentLookup<'_> {
    /// Adds names, labels, dates and texts to documents. Says how many texts were left out.
    fn list(&self, found: &[RankedDocument]) -> anyhow::Result<Vec<ListedDocument>> {
        let numbers: Vec<u64> = found.iter().map(|f| f.number).collect();
        let details = document_details(self.corpus, &numbers)?;
        let mut lines = vec![String::new(); found.len()];
        if let Some(access) = &self.access {
            let bar = self.ui.bar("texts", Unit::Plain);
            let read = document_texts(self.corpus, &numbers, access, &mut |p| bar.update(p))?;
            bar.finish();
            texts::report_left_out(&read.summary, self.ui);
            lines = read.texts;
        }
        let listed = found.iter().zip(details).zip(lines);
        Ok(listed.map(|((&found, details), text)| ListedDocument { found, details, text }).collect())
    }

    /// Returns the titles of the columns with labels and dates, each after a tab.
    fn titles(&self) -> String {
        let labels = self.corpus.label_columns().iter().map(|name| format!("\t{}", tsv_cell(name)));
        let date = if self.corpus.has_dates() { "\tdate" } else { "" };
        labels.collect::<String>() + date
    }

    /// Returns the labels and the date of a document as cells, each after a tab.
    fn cells(&self, details: &DocumentDetails) -> String {
        let labels = details.labels.iter().map(|all| format!("\t{}", tsv_cell(&join_labels(all))));
        let date = if self.corpus.has_dates() { format!("\t{}", details.date) } else { String::new() };
        labels.collect::<String>() + &date
    }

    /// Returns a document as JSON; `what` is the key of its value.
    fn object(&self, listed: &ListedDocument, what: &str) -> Value {
        let ListedDocument { found, details, text } = listed;
        let mut value =
            json!({ "document": found.number + 1, "tokens": found.tokens, what: super::plain(found.value) });
        let columns = self.corpus.label_columns().iter().zip(&details.labels);
        let labels: Map<String, Value> =
            columns.map(|(column, values)| (column.clone(), values.clone().into())).collect();
        for (key, text) in [("name", &details.name), ("date", &details.date), ("text", text)] {
            if !text.is_empty() {
                value[key] = text.as_str().into();
            }
        }
        if !labels.is_empty() {
            value["labels"] = labels.into();
        }
        value
    }

    /// Describes a document in one line, and its text in another if it is known.
    fn describe(&self, listed: &ListedDocument) -> String {
        let ListedDocument { found, details, text } = listed;
        let (tokens, number) = (counted(found.tokens, "token"), found.number + 1);
        let mut line = if details.name.is_empty() {
            format!("document {number} ({tokens})")
        } else {
            format!("{} (document {number}, {tokens})", escape_control(&details.name))
        };
        let columns = self.corpus.label_columns();
        for (column, values) in columns.iter().zip(&details.labels).filter(|(_, values)| !values.is_empty()) {
            // The name of the only column says little.
            let name = if columns.len() > 1 { format!("{column}: ") } else { String::new() };
            line += &escape_control(&format!(" [{name}{}]", values.join(", ")));
        }
        if !details.date.is_empty() {
            line.push(' ');
            line.push_str(&details.date);
        }
        if !text.is_empty() {
            let short: String = text.chars().take(SHOWN_CHARS).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            line.push_str("\n          ");
            line.push_str(&escape_control(&short));
            line.push_str(more);
        }
        line
    }
}

/// Replaces control characters, so that a name fits into a cell of a table.
fn tsv_cell(name: &str) -> String {
    name.replace(|c: char| c.is_control(), " ")
}

fn typical(
    a: &args::DocumentsArgs,
    model: &Model,
    lookup: &DocumentLookup<'_>,
    all: &[(u32, Vec<RankedDocument>)],
) -> anyhow::Result<()> {
    // All documents are looked up together, so that each block is read only once.
    let flat: Vec<RankedDocument> = all.iter().flat_map(|(_, found)| found.iter().copied()).collect();
    let mut listed = lookup.list(&flat)?.into_iter();
    let all: Vec<(u32, Vec<ListedDocument>)> =
        all.iter().map(|(k, found)| (*k, listed.by_ref().take(found.len()).collect())).collect();
    if a.tsv {
        let titles = lookup.titles();
        let mut lines = format!("topic\trank\tdocument\tname{titles}\ttokens\tproportion\ttext\n");
        for (k, found) in &all {
            for (rank, document) in (1..).zip(found) {
                writeln!(lines, "{k}\t{rank}\t{}", tsv_row(lookup, document))?;
            }
        }
        return to_stdout(&lines);
    }
    let words = model.top_words(5);
    let label = |k: u32| -> Vec<String> {
        words[k as usize].iter().map(|w| model.word_name(w.word).into_owned()).collect()
    };
    let value = json!({
        "model": path_string(&a.model),
        "corpus": path_string(&a.input),
        "min_tokens": a.min_tokens,
        "topics": all.iter().map(|(k, found)| json!({
            "topic": k,
            "name": model.topic_name(*k),
            "words": label(*k),
            "documents": found.iter().map(|listed| lookup.object(listed, "proportion")).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut lines = String::new();
    for (k, found) in &all {
        let name = topic_name_suffix(model, *k);
        writeln!(lines, "topic {k}{name}: {}", escape_control(&label(*k).join(" ")))?;
        for listed in found {
            writeln!(lines, "  {:5.1}%  {}", 100.0 * listed.found.value, lookup.describe(listed))?;
        }
        if found.is_empty() {
            writeln!(lines, "  no document with at least {}", counted(a.min_tokens, "token"))?;
        }
    }
    print(a.json, &value, &lines)
}

/// Returns the cells of a document in a table, without its rank.
fn tsv_row(lookup: &DocumentLookup<'_>, listed: &ListedDocument) -> String {
    let RankedDocument { number, tokens, value, .. } = listed.found;
    let (name, cells) = (tsv_cell(&listed.details.name), lookup.cells(&listed.details));
    format!("{}\t{name}{cells}\t{tokens}\t{value}\t{}", number + 1, tsv_cell(&listed.text))
}

fn similar(
    a: &args::DocumentsArgs,
    lookup: &DocumentLookup<'_>,
    to: u64,
    found: &[RankedDocument],
) -> anyhow::Result<()> {
    let own = document_details(lookup.corpus, &[to])?.pop().unwrap_or_default().name;
    let found = lookup.list(found)?;
    if a.tsv {
        let titles = lookup.titles();
        let mut lines = format!("rank\tdocument\tname{titles}\ttokens\thellinger_distance\ttext\n");
        for (rank, document) in (1..).zip(&found) {
            writeln!(lines, "{rank}\t{}", tsv_row(lookup, document))?;
        }
        return to_stdout(&lines);
    }
    let value = json!({
        "model": path_string(&a.model),
        "corpus": path_string(&a.input),
        "document": to + 1,
        "name": if own.is_empty() { Value::Null } else { own.clone().into() },
        "distance": "hellinger",
        "min_tokens": a.min_tokens,
        "documents": found.iter().map(|listed| lookup.object(listed, "distance")).collect::<Vec<_>>(),
    });
    let own = if own.is_empty() { format!("document {}", to + 1) } else { escape_control(&own) };
    let mut lines = format!(
        "documents most similar to {own}, by Hellinger distance of topic proportions (0: equal, 1: no topic shared)\n"
    );
    for listed in &found {
        writeln!(lines, "  {:.4}  {}", listed.found.value, lookup.describe(listed))?;
    }
    print(a.json, &value, &lines)
}
