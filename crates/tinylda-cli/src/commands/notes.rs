//! Prints what an import assumed about its inputs, and warns about what it skipped.

use tinylda::corpus::ingest::{
    Compression, Format, Import, Imported, InputNotes, LineCount, RecordNotes, SkippedFiles, TableNotes,
};

use super::{escape_control, grouped};
use crate::progress::Ui;

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
        let prefix = match group.len() {
            _ if !several => String::new(),
            1 => format!("{path}: "),
            more => format!("{path} and {} more inputs: ", more - 1),
        };
        for line in lines {
            ui.say(&format!("{prefix}{line}"));
        }
    }
    for notes in &done.inputs {
        let path = escape_control(&notes.path.to_string_lossy());
        let of = if several { format!(" of {path}") } else { String::new() };
        warn_of_files(&notes.skipped_files, &of, ui);
        warn_of_records(&notes.records, &of, ui);
        if notes.replaced {
            let encodings = names(&notes.encodings);
            ui.say(&format!(
                "warning: bytes{of} that are not valid in {encodings} were replaced; check --encoding"
            ));
        }
    }
    if done.shape.documents == 1 {
        ui.say(&format!(
            "warning: the input is a single document, and topics need many; {}",
            split_hint(done.format)
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

/// Returns a number with a noun.
fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// Warns about files that were skipped, with the reasons of the first ones.
fn warn_of_files(skipped: &SkippedFiles, of: &str, ui: Ui) {
    if skipped.count == 0 {
        return;
    }
    let example = |file: &tinylda::corpus::ingest::SkippedFile| {
        format!("{} ({})", escape_control(&file.name), escape_control(&file.found))
    };
    let mut list: Vec<String> = skipped.examples.iter().map(example).collect();
    let others = skipped.count - skipped.examples.len() as u64;
    if others > 0 {
        list.push(format!("and {} more", grouped(others)));
    }
    let mut remedies: Vec<&str> = Vec::new();
    for file in &skipped.examples {
        if !file.remedy.is_empty() && !remedies.contains(&file.remedy) {
            remedies.push(file.remedy);
        }
    }
    let were = count(skipped.count, "file was", "files were");
    ui.say(&format!("warning: {}{of} skipped: {}", were, list.join(", ")));
    remedies.push("--strict rejects such files");
    ui.say(&format!("         {}", remedies.join("; ")));
}

/// Warns about records that were skipped or changed.
fn warn_of_records(records: &RecordNotes, of: &str, ui: Ui) {
    let warn = |found: LineCount, one: &str, many: &str, rest: &str| {
        if found.count > 0 {
            let what = count(found.count, one, many);
            ui.say(&format!("warning: {what}{of}, the first on line {}{rest}", grouped(found.first_line)));
        }
    };
    warn(
        records.short_rows,
        "row has fewer columns than the first row and was imported",
        "rows have fewer columns than the first row and were imported",
        "; --strict rejects such rows",
    );
    warn(
        records.skipped_rows,
        "row with more or fewer columns than the first row was skipped",
        "rows with more or fewer columns than the first row were skipped",
        "; quote texts that contain the delimiter, or check --delimiter; --strict rejects such rows",
    );
    warn(
        records.records_without_text,
        "record without the text field was skipped",
        "records without the text field were skipped",
        "; check --text-field; --strict rejects such records",
    );
    warn(
        records.zero_features,
        "feature with the count 0 was left out",
        "features with the count 0 were left out",
        "",
    );
    warn(
        records.namespace_weights,
        "namespace weight was ignored",
        "namespace weights were ignored",
        "; multiply the counts by the weights instead",
    );
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
