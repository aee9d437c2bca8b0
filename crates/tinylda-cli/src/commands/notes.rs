//! Prints what an import assumed about its inputs, and warns about what it skipped.

use serde_json::{Value, json};
use tinylda::corpus::ingest::words::{Pipeline, StopWords, stop_word_list};
use tinylda::corpus::ingest::{
    Compression, Format, Import, Imported, InputNotes, LineCount, RecordNotes, SkippedFile, SkippedFiles,
    TableNotes,
};

use super::{and_more, counted, escape_control, grouped};
use crate::progress::Ui;

/// Maximum number of skipped files that a warning names.
const MAX_LISTED_FILES: usize = 10;
/// Maximum number of columns that were not read and are named.
const MAX_LISTED_COLUMNS: usize = 10;

/// Prints formats, columns and encodings of the inputs, and warnings about them.
pub(crate) fn print(import: &Import, done: &Imported, ui: Ui) {
    let several = done.inputs.len() > 1;
    let all: Vec<(String, Vec<String>)> = done
        .inputs
        .iter()
        .map(|notes| (escape_control(&notes.path.to_string_lossy()), describe(import, notes)))
        .collect();
    // Inputs that are read in the same way are described once.
    for group in all.chunk_by(|a, b| a.1 == b.1) {
        let Some((path, lines)) = group.first() else { continue };
        let prefix = if several { format!("{path}{}: ", and_more(group.len() - 1)) } else { String::new() };
        for line in lines {
            ui.say(&format!("{prefix}{line}"));
        }
    }
    for notes in &done.inputs {
        let path = escape_control(&notes.path.to_string_lossy());
        let of = if several { format!(" of {path}") } else { String::new() };
        warn_of_files(&notes.skipped_files, &of, ui);
        warn_of_skipped_records(notes, &of, ui);
        warn_of_records(&notes.records, &of, ui);
        if notes.damaged_files > 0 {
            let (files, verb) = (
                counted(notes.damaged_files, "XML document"),
                if notes.damaged_files == 1 { "is" } else { "are" },
            );
            ui.warn(&format!(
                "{files}{of} {verb} not well-formed or incomplete, or entities are not declared; check with \
                 xmllint --noout"
            ));
        }
        if notes.replaced {
            let encodings = names(&notes.encodings);
            ui.say(&format!(
                "warning: bytes{of} that are not valid in {encodings} were replaced; check --encoding"
            ));
        }
    }
    warn_of_inputs_without_labels(import, done, ui);
    if done.shape.documents == 1 && !import.words_if_text {
        ui.say(&format!(
            "warning: the input is a single document, and topics need many; {}",
            split_hint(done.format)
        ));
    }
}

/// Warns about inputs without the labels or dates that options name for other inputs.
fn warn_of_inputs_without_labels(import: &Import, done: &Imported, ui: Ui) {
    let records = &import.records;
    let given = [
        (
            "--label-column",
            !records.label_columns.is_empty(),
            "--label-field",
            !records.label_fields.is_empty(),
        ),
        ("--date-column", records.date_column.is_some(), "--date-field", records.date_field.is_some()),
    ];
    for (column, has_column, field, has_field) in given {
        let lacks = |notes: &&InputNotes| {
            let is_json = matches!(notes.format, Format::Json | Format::JsonLines);
            let is_table = matches!(notes.format, Format::Csv | Format::Parquet);
            let has_own = matches!(notes.format, Format::Mallet | Format::VowpalWabbit)
                || records.folder_labels && matches!(notes.format, Format::Folder | Format::Zip);
            !(is_table && has_column || is_json && has_field || has_own && column == "--label-column")
        };
        if !(has_column || has_field) {
            continue;
        }
        let missing: Vec<&InputNotes> = done.inputs.iter().filter(lacks).collect();
        let Some(first) = missing.first() else { continue };
        let more = and_more(missing.len() - 1);
        let what = if column == "--label-column" { "labels" } else { "dates" };
        ui.say(&format!(
            "warning: the documents of {}{more} have no {what}: {column} applies to tables, {field} to JSON",
            escape_control(&first.path.to_string_lossy())
        ));
    }
}

/// Returns how an input was read, in lines.
fn describe(import: &Import, notes: &InputNotes) -> Vec<String> {
    let packed = match notes.compression {
        Compression::None => String::new(),
        compression => format!(", {}", compression.name()),
    };
    let how = match (import.format, notes.format) {
        (Some(_), _) | (_, Format::Folder) => "",
        (None, Format::LdaC) => {
            " (detected: each line begins with its number of pairs; if that is a label, pass --format svmlight)"
        }
        _ => " (detected; override with --format)",
    };
    let mut lines = vec![format!("format: {}{packed}{how}", notes.format.name())];
    if let Some(table) = &notes.table {
        lines.push(format!("columns: {}", columns(table)));
        lines.extend(unread_columns(table));
        if table.header_assumed {
            let read = if table.header { "column names" } else { "a document" };
            let remedy = if table.header {
                "if it is a document, pass --header no"
            } else {
                "if it contains column names, pass --header yes"
            };
            lines.push(format!("the first row is read as {read}; {remedy}"));
        }
        for (name, number) in &table.ambiguous {
            lines.push(format!(
                "several columns are called \"{}\"; column {number} is read; choose another one by its number",
                escape_control(name)
            ));
        }
    }
    if let Some(fields) = &notes.fields {
        lines.push(format!("fields: {}", columns(fields)));
    }
    if !notes.encodings.is_empty() {
        let how =
            if import.records.encoding.is_some() { "" } else { " (detected; override with --encoding)" };
        lines.push(format!("encoding: {}{how}", names(&notes.encodings)));
    }
    if notes.carriage_returns {
        lines.push("line ends: CR".into());
    }
    if notes.format == Format::SvmLight {
        lines.push("the labels of svmlight are left out; labels of text, CSV and JSON are kept".into());
    }
    lines
}

/// Returns the names of encodings, and the number of files in each if there are several.
fn names(encodings: &[(String, u64)]) -> String {
    let one = |(name, files): &(String, u64)| match files {
        1 => name.clone(),
        files => format!("{name} in {} files", grouped(*files)),
    };
    encodings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Describes the columns of a table or the fields of records.
fn columns(table: &TableNotes) -> String {
    let quoted = |name: &String| format!("\"{}\"", escape_control(name));
    let list = |names: &[String]| names.iter().map(quoted).collect::<Vec<_>>().join(" and ");
    let mut parts = vec![format!("text {}", list(&table.text))];
    parts.extend(table.id.as_ref().map(|id| format!("name {}", quoted(id))));
    if !table.labels.is_empty() {
        parts.push(format!("labels {}", list(&table.labels)));
    }
    parts.extend(table.date.as_ref().map(|date| format!("date {}", quoted(date))));
    if let Some(delimiter) = table.delimiter {
        let name = match delimiter {
            ',' => "comma".into(),
            ';' => "semicolon".into(),
            '\t' => "tab".into(),
            '|' => "pipe".into(),
            other => format!("{other:?}"),
        };
        parts.push(format!("delimiter {name}"));
        parts.push(if table.header { "with a header".into() } else { "without a header".into() });
    }
    parts.join(", ")
}

/// Names the columns of a table that were not read, if there are any, and the options that are not
/// in use.
fn unread_columns(table: &TableNotes) -> Option<String> {
    let options = [
        ("--id-column", table.id.is_none()),
        ("--label-column", true),
        ("--date-column", table.date.is_none()),
    ];
    let options: Vec<&str> =
        options.into_iter().filter(|(_, free)| *free).map(|(option, _)| option).collect();
    let quoted = |name: &String| format!("\"{}\"", escape_control(name));
    let names: Vec<String> = table.unread.iter().take(MAX_LISTED_COLUMNS).map(quoted).collect();
    let more = and_more(table.unread.len() - names.len());
    (!names.is_empty()).then(|| format!("not read: {}{more} ({})", names.join(", "), options.join(", ")))
}

/// Warns about files that were skipped, with the reasons of the first ones.
fn warn_of_files(skipped: &SkippedFiles, of: &str, ui: Ui) {
    if skipped.count == 0 {
        return;
    }
    let example =
        |file: &SkippedFile| format!("{} ({})", escape_control(&file.name), escape_control(&file.found));
    let mut list: Vec<String> = skipped.examples.iter().take(MAX_LISTED_FILES).map(example).collect();
    let others = skipped.count - list.len() as u64;
    if others > 0 {
        list.push(format!("and {} more (import --json lists them)", grouped(others)));
    }
    let mut remedies: Vec<&str> = Vec::new();
    for file in &skipped.examples {
        if !file.remedy.is_empty() && !remedies.contains(&file.remedy) {
            remedies.push(file.remedy);
        }
    }
    let (files, were) = (counted(skipped.count, "file"), if skipped.count == 1 { "was" } else { "were" });
    remedies.push("--strict rejects such files");
    ui.warn(&format!("{files}{of} {were} skipped: {}\n         {}", list.join(", "), remedies.join("; ")));
}

/// Warns about rows and records that were skipped.
fn warn_of_skipped_records(notes: &InputNotes, of: &str, ui: Ui) {
    let before = notes.table.as_ref().map_or(0, |table| table.rows_before);
    if before > 0 {
        let (rows, verb) = (counted(before, "row"), if before == 1 { "was" } else { "were" });
        ui.warn(&format!(
            "{rows} before the table{of} {verb} skipped, since most rows have more columns; --strict rejects \
             such rows"
        ));
    }
    let warn = |found: LineCount, noun: &str, why: &str, rest: &str| {
        if found.count > 0 {
            let (what, verb) = (counted(found.count, noun), if found.count == 1 { "was" } else { "were" });
            let line = grouped(found.first_line);
            ui.warn(&format!("{what} {why} {verb} skipped{of}, the first on line {line}; {rest}"));
        }
    };
    warn(
        notes.records.skipped_rows,
        "row",
        "with more or fewer columns than the first row",
        "quote texts that contain the delimiter, or check --delimiter; --strict rejects such rows",
    );
    warn(
        notes.records.records_without_text,
        "record",
        "without the text field",
        "check --text-field; --strict rejects such records",
    );
}

/// Warns about records that were changed or lack a field.
fn warn_of_records(records: &RecordNotes, of: &str, ui: Ui) {
    let warn = |found: LineCount, noun: &str, one: &str, many: &str, rest: &str| {
        if found.count > 0 {
            let (what, verb) = (counted(found.count, noun), if found.count == 1 { one } else { many });
            ui.say(&format!(
                "warning: {what} {verb}{of}, the first on line {}{rest}",
                grouped(found.first_line)
            ));
        }
    };
    warn(
        records.short_rows,
        "row",
        "has fewer columns than the first row and was imported",
        "have fewer columns than the first row and were imported",
        "; --strict rejects such rows",
    );
    warn(
        records.missing_fields,
        "record",
        "lacks a field of --id-field, --label-field or --date-field",
        "lack a field of --id-field, --label-field or --date-field",
        "; check the names of the fields",
    );
    warn(
        records.object_values,
        "value",
        "of a name, label or date is an object and was left out",
        "of names, labels or dates are objects and were left out",
        "; lead into objects with a dot, for instance --label-field tags.0.name; --strict rejects such records",
    );
    if records.markup > 0 {
        let (texts, verb) =
            (counted(records.markup, "text"), if records.markup == 1 { "contains" } else { "contain" });
        ui.say(&format!("{texts}{of} {verb} HTML; its tags were removed and its entities decoded"));
    }
    warn(
        records.zero_features,
        "feature",
        "with the count 0 was left out",
        "with the count 0 were left out",
        "",
    );
    warn(
        records.namespace_weights,
        "namespace weight",
        "was ignored",
        "were ignored",
        "; multiply the counts by the weights instead",
    );
    warn(
        records.document_weights,
        "importance weight",
        "was ignored",
        "were ignored",
        "; repeat documents instead",
    );
}

/// Warns about entries of word lists of the user that no word of a text can equal.
pub(crate) fn warn_of_word_lists(import: &Import, pipeline: &Pipeline, ui: Ui) {
    let has_separator =
        |word: &str| word.contains(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '#'));
    if let StopWords::Lists(names) = &import.words.stop {
        let known: Vec<&str> = names.iter().filter_map(|name| stop_word_list(name)).flatten().collect();
        let is_other = |word: &&String| has_separator(word) && !known.contains(&word.as_str());
        let others: Vec<&String> = pipeline.stop_words.iter().filter(is_other).collect();
        warn_of_entries("--stop-words", others.len(), others.first().map(|word| word.as_str()), "", ui);
    }
    let Some(vocabulary) = import.words.vocabulary.as_ref().filter(|_| !import.words_if_text) else { return };
    let lower = !pipeline.keep_case;
    let is_other = |word: &&str| has_separator(word) || lower && word.chars().any(char::is_uppercase);
    let (mut count, mut first) = (0, None);
    for word in vocabulary.iter().filter(is_other) {
        count += 1;
        first = first.or(Some(word));
    }
    let case = if lower { ", in lower case" } else { "" };
    warn_of_entries("--vocabulary", count, first, case, ui);
}

/// Warns about entries of the file of an option that match nothing.
fn warn_of_entries(option: &str, count: usize, first: Option<&str>, case: &str, ui: Ui) {
    let Some(first) = first else { return };
    let (entries, verb) = if count == 1 {
        ("1 entry".into(), "matches")
    } else {
        (format!("{} entries", grouped(count as u64)), "match")
    };
    ui.say(&format!(
        "warning: {entries} of {option} {verb} no word, such as \"{}\"; write one word per line{case}",
        escape_control(first)
    ));
}

/// Returns what an import assumed about its inputs and what it skipped as JSON.
pub(crate) fn to_json(done: &Imported) -> Value {
    let count = |found: LineCount| json!({"count": found.count, "first_line": found.first_line});
    let input = |notes: &InputNotes| {
        let records = &notes.records;
        let file =
            |file: &SkippedFile| json!({"name": file.name, "found": file.found, "remedy": file.remedy});
        let table = notes.table.as_ref().or(notes.fields.as_ref());
        json!({
            "path": notes.path.to_string_lossy(),
            "format": notes.format.name(),
            "compression": notes.compression.name(),
            "encodings": notes.encodings.iter().map(|(name, files)| json!({"name": name, "files": files})).collect::<Vec<_>>(),
            "bytes_replaced": notes.replaced,
            "text_columns": table.map(|table| &table.text),
            "header": notes.table.as_ref().map(|table| table.header),
            "rows_before_table": notes.table.as_ref().map(|table| table.rows_before),
            "header_assumed": notes.table.as_ref().map(|table| table.header_assumed),
            "skipped_files": {
                "count": notes.skipped_files.count,
                "files": notes.skipped_files.examples.iter().map(file).collect::<Vec<_>>(),
            },
            "damaged_files": notes.damaged_files,
            "short_rows": count(records.short_rows),
            "skipped_rows": count(records.skipped_rows),
            "records_without_text": count(records.records_without_text),
            "records_without_fields": count(records.missing_fields),
            "values_that_are_objects": count(records.object_values),
            "texts_with_markup": records.markup,
            "zero_features": count(records.zero_features),
            "namespace_weights": count(records.namespace_weights),
            "document_weights": count(records.document_weights),
        })
    };
    done.inputs.iter().map(input).collect()
}

/// Returns how to give several documents in a format.
fn split_hint(format: Format) -> &'static str {
    match format {
        Format::Html | Format::Xml | Format::Docx => {
            "give a folder or a zip archive with one file per document"
        }
        Format::Json | Format::JsonLines => "give an array of objects, or one object per line",
        Format::Folder | Format::Zip => "give more files",
        _ => {
            "give one document per line, a table with one document per row, or a folder with one file per document"
        }
    }
}
