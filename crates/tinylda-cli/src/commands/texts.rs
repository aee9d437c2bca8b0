//! Messages about texts of documents that could not be shown.

use tinylda::report::TextSummary;

use super::{escape_control, grouped};
use crate::progress::Ui;

/// Says how many texts were left out, why, and what to do about it.
pub(super) fn report_left_out(summary: &TextSummary, ui: Ui) {
    let path = summary.path.as_ref().map(|path| escape_control(&path.to_string_lossy())).unwrap_or_default();
    let reasons = [
        (summary.missing, format!("the file does not exist: {path}"), "name its new place with --texts PATH"),
        (summary.changed, format!("the file has changed since the import: {path}"), "import the texts again"),
        (
            summary.not_allowed,
            format!("the file is not in the folder of the corpus: {path}"),
            "allow it with --texts PATH",
        ),
        (
            summary.unverifiable,
            "the corpus was written by an older version and has no checksums of its texts".into(),
            "import the texts again, or name their file with --texts PATH",
        ),
        (
            summary.unknown,
            "they came from a stream or a Parquet file and cannot be read again".into(),
            "import them from a file of text, CSV or JSON lines",
        ),
    ];
    for (count, reason, remedy) in reasons {
        if count > 0 {
            let (count, all) = (grouped(count), grouped(total(summary)));
            ui.say(&format!("warning: left out {count} of {all} texts: {reason}; {remedy}"));
        }
    }
    if summary.unverified > 0 {
        ui.say(&format!(
            "warning: {} texts may belong to other documents: the corpus was written by an older version \
             and has no checksums of its texts; import the texts again",
            grouped(summary.unverified)
        ));
    }
}

/// Returns the number of all texts.
fn total(summary: &TextSummary) -> u64 {
    let left_out =
        [summary.missing, summary.changed, summary.not_allowed, summary.unverifiable, summary.unknown];
    summary.shown + left_out.iter().sum::<u64>()
}
