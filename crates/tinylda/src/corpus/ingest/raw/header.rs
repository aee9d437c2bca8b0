//! Detects whether the first row of a table contains the names of the columns.
//!
//! Start with [`detect_header`].

use crate::corpus::ingest::options::{RecordOptions, is_text_name};
use crate::corpus::parse_date;

/// Maximum length of a column name in characters.
const MAX_NAME_CHARS: usize = 40;
/// Maximum number of words in a column name.
const MAX_NAME_WORDS: usize = 4;
/// Minimum average number of words of the cells of a column that is longer than its name.
const MIN_TEXT_WORDS: usize = 3;

/// Names of columns that usually contain something else than the text. They are in lower case and
/// without blanks, hyphens, underscores and dots.
const OTHER_NAMES: [&str; 41] = [
    "id",
    "docid",
    "doc",
    "index",
    "key",
    "no",
    "nr",
    "number",
    "label",
    "labels",
    "category",
    "categories",
    "class",
    "classindex",
    "target",
    "topic",
    "tag",
    "tags",
    "type",
    "kind",
    "section",
    "sentiment",
    "score",
    "rating",
    "stars",
    "date",
    "datetime",
    "time",
    "timestamp",
    "year",
    "created",
    "createdat",
    "published",
    "title",
    "headline",
    "subject",
    "author",
    "name",
    "user",
    "username",
    "url",
];

/// Whether the first row of a table contains the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeaderGuess {
    pub(crate) header: bool,
    /// Whether the rows do not decide the question.
    pub(crate) assumed: bool,
}

impl HeaderGuess {
    pub(crate) fn certain(header: bool) -> HeaderGuess {
        HeaderGuess { header, assumed: false }
    }

    fn assumed(header: bool) -> HeaderGuess {
        HeaderGuess { header, assumed: true }
    }
}

/// Detects whether the first row of a table contains the names of the columns. `rows` are the first
/// rows with that row, and `first` are its cells.
pub(crate) fn detect_header(options: &RecordOptions, rows: &[Vec<&[u8]>], first: &[String]) -> HeaderGuess {
    let others = options.label_columns.iter().chain(&options.date_column);
    let mut wanted = options.text_columns.iter().chain(&options.id_column).chain(others);
    // A column that is given by its name has one.
    if wanted.any(|name| name.parse::<usize>().ok().is_none_or(|n| n == 0)) {
        return HeaderGuess::certain(true);
    }
    let below = rows.get(1..).unwrap_or_default();
    let columns: Vec<ColumnEvidence> =
        first.iter().enumerate().map(|(i, name)| ColumnEvidence::new(name, i, below)).collect();
    let any = |test: fn(&ColumnEvidence) -> bool| columns.iter().any(test);
    let all_names = first.iter().all(|name| name.is_empty() || is_name(name)) && first.len() > 1;
    // Labels, numbers and dates occur in documents again, and names of columns do not.
    if any(|column| column.value_again || column.value_like_below) {
        return HeaderGuess::certain(false);
    }
    if first.iter().any(|name| is_text_name(name) && is_name(name)) {
        return HeaderGuess::certain(true);
    }
    let known = first.iter().any(|name| OTHER_NAMES.contains(&plain_name(name).as_str()));
    let identifiers = || first.iter().all(|name| is_identifier(name));
    if any(|column| column.values_below) || all_names && (known || identifiers()) {
        return HeaderGuess::certain(true);
    }
    if all_names && any(|column| column.longer_below) {
        return HeaderGuess::assumed(true);
    }
    let short = first.iter().all(|name| is_name(name));
    HeaderGuess { header: false, assumed: short && (first.len() > 1 || any(|column| column.longer_below)) }
}

/// Returns whether a column consists of numbers or dates below a name.
pub(super) fn has_values_below(rows: &[Vec<&[u8]>]) -> bool {
    let Some((first, below)) = rows.split_first() else { return false };
    let name = |cell: &[u8]| String::from_utf8_lossy(cell).trim().to_string();
    first.iter().enumerate().any(|(i, cell)| ColumnEvidence::new(&name(cell), i, below).values_below)
}

/// Evidence that a column provides.
#[allow(clippy::struct_excessive_bools, reason = "each is a test of its own")]
struct ColumnEvidence {
    /// The first cell occurs again below.
    value_again: bool,
    /// The first cell is a number or a date, as all cells below.
    value_like_below: bool,
    /// The first cell is neither a number nor a date, and all cells below are.
    values_below: bool,
    /// The cells below have many more words than the first one.
    longer_below: bool,
}

impl ColumnEvidence {
    fn new(first: &str, column: usize, below: &[Vec<&[u8]>]) -> ColumnEvidence {
        let cells: Vec<String> = below
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| String::from_utf8_lossy(cell).trim().to_string())
            .filter(|cell| !cell.is_empty())
            .collect();
        let values = !cells.is_empty() && cells.iter().all(|cell| is_value(cell));
        let words = |text: &str| text.split_whitespace().count();
        let all: usize = cells.iter().map(|cell| words(cell)).sum();
        ColumnEvidence {
            value_again: !first.is_empty() && cells.iter().any(|cell| cell == first),
            value_like_below: values && is_value(first),
            values_below: values && !first.is_empty() && !is_value(first),
            longer_below: !cells.is_empty()
                && all >= MIN_TEXT_WORDS * cells.len()
                && all >= 2 * words(first) * cells.len(),
        }
    }
}

/// Returns whether a cell is a number or a date.
fn is_value(cell: &str) -> bool {
    let cell = cell.trim_matches('"');
    cell.parse::<f64>().is_ok()
        || cell.starts_with(|c: char| c.is_ascii_digit()) && parse_date(cell).is_some()
}

/// Returns a name in lower case and without characters that join words.
fn plain_name(name: &str) -> String {
    let is_joint = |c: char| c.is_whitespace() || matches!(c, '_' | '-' | '.' | '"');
    name.to_lowercase().chars().filter(|&c| !is_joint(c)).collect()
}

/// Returns whether a string is an identifier, such as `field_a` or `fieldA`, and not a word.
fn is_identifier(name: &str) -> bool {
    let inside_capital =
        || name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    !name.contains(char::is_whitespace) && (name.contains('_') || inside_capital())
}

/// Returns whether a string may be the name of a column: a few words without the punctuation of a
/// sentence.
pub(super) fn is_name(name: &str) -> bool {
    let name = name.trim_matches('"');
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().count() <= MAX_NAME_CHARS
        && name.split_whitespace().count() <= MAX_NAME_WORDS
        && !name.ends_with(['.', '!', '?', '…'])
        && !name.contains(". ")
}

/// Returns whether a string looks like a column name: short, made of letters, and not a sentence.
pub(super) fn is_like_column_name(name: &str) -> bool {
    let name = name.trim_matches('"');
    !name.is_empty()
        && name.len() <= 30
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ' ' || c == '-')
        && !name.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(table: &str, text_columns: &[&str]) -> HeaderGuess {
        let rows: Vec<Vec<&[u8]>> =
            table.lines().map(|line| line.split('\t').map(str::as_bytes).collect()).collect();
        let first: Vec<String> =
            table.lines().next().unwrap_or_default().split('\t').map(String::from).collect();
        let text_columns = text_columns.iter().map(ToString::to_string).collect();
        detect_header(&RecordOptions { text_columns, ..RecordOptions::default() }, &rows, &first)
    }

    #[test]
    fn u1_headers_are_told_from_documents() {
        for (table, expected) in [
            ("ham\tGo until jurong\nham\tOk lar joking\nspam\tFree entry in", HeaderGuess::certain(false)),
            ("World\tOil prices rise\nSports\tThe team wins\nWorld\tA vote", HeaderGuess::certain(false)),
            ("1\tapple banana\n2\tcherry", HeaderGuess::certain(false)),
            ("Headline\tThe Story (raw)\tpublished\nA\tb c\t2020-01-02\nB\td\t", HeaderGuess::certain(true)),
            ("field_a\tfield_b\nx\tapple\ny\tcherry", HeaderGuess::certain(true)),
            ("team\twhat they say\nx\tapple\nx\tcherry", HeaderGuess::assumed(false)),
            ("team\tquote\nx\tapple banana cherry\ny\ta b c d", HeaderGuess::assumed(true)),
            ("tweet\napple\nbanana", HeaderGuess::certain(true)),
            ("apple banana\ncherry", HeaderGuess::certain(false)),
            ("the news\tOil prices rise again in the south.\nx\ty", HeaderGuess::certain(false)),
        ] {
            assert_eq!(guess(table, &[]), expected, "{table}");
            assert_eq!(guess(table, &["1"]), expected, "{table}");
        }
        assert_eq!(guess("apple\tbanana\ncherry\tx", &["apple"]), HeaderGuess::certain(true));
    }
}
