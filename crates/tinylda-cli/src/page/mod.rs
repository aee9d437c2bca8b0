//! The page of a report: one HTML file with its style, script and data.
//!
//! The page loads nothing from the network. It knows nothing about models; the library creates the
//! data that it shows. Start with [`render`].
//!
//! The script consists of the files in `js/`. They are concatenated in the order of `SCRIPT` into
//! one function, so that they share a scope and nothing else can see it: a file may use what an
//! earlier file declares. Text of the data is inserted only with `textContent` and `setAttribute`;
//! no string of the script contains markup, and the policy of the page would block it. The style
//! consists of the files in `css/`.

use sha2::{Digest, Sha256};
use tinylda::report::WrittenReport;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = concat!(
    include_str!("css/base.css"),
    include_str!("css/map.css"),
    include_str!("css/parts.css"),
    include_str!("css/small-and-print.css"),
);
const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("js/data.js"),
    include_str!("js/helpers.js"),
    include_str!("js/relevance.js"),
    include_str!("js/quality.js"),
    include_str!("js/names.js"),
    include_str!("js/state.js"),
    include_str!("js/roving.js"),
    include_str!("js/map.js"),
    include_str!("js/bars.js"),
    include_str!("js/documents.js"),
    include_str!("js/topic.js"),
    include_str!("js/labels.js"),
    include_str!("js/compare.js"),
    include_str!("js/word.js"),
    include_str!("js/found.js"),
    include_str!("js/table.js"),
    include_str!("js/training.js"),
    include_str!("js/search.js"),
    include_str!("js/controls.js"),
    include_str!("js/start.js"),
    "})();\n",
);

/// Returns the page of a report ([`tinylda::report::Report::data`]).
pub fn render(report: &WrittenReport) -> String {
    page(&report.json)
}

/// Returns the page for the data of a report as JSON ([`WrittenReport::json`]).
///
/// Inserted text is not interpreted again, so the data may contain anything.
pub fn page(data: &str) -> String {
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        base64(&Sha256::digest(SCRIPT)),
        base64(&Sha256::digest(STYLE))
    );
    let parts =
        [("{{POLICY}}", policy.as_str()), ("{{STYLE}}", STYLE), ("{{SCRIPT}}", SCRIPT), ("{{DATA}}", data)];
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = PAGE;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((mark, text)) = parts.iter().find(|(mark, _)| rest.starts_with(mark)) {
            out.push_str(text);
            rest = &rest[mark.len()..];
        } else {
            out.push_str("{{");
            rest = &rest[2..];
        }
    }
    out.push_str(rest);
    out
}

/// Encodes bytes in base64, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn page_accepts_any_data() {
        let page = page("{\"a\":\"{{SCRIPT}} {{DATA}}\"}");
        assert!(page.contains("{\"a\":\"{{SCRIPT}} {{DATA}}\"}"));
        assert_eq!(page.matches("{{POLICY}}").count() + page.matches("{{STYLE}}").count(), 0);
        assert!(page.contains("script-src 'sha256-") && page.contains(STYLE.trim()));
        // Neither the script nor the style contains the end tag of its element.
        assert!(
            !SCRIPT.to_ascii_lowercase().contains("</script")
                && !STYLE.to_ascii_lowercase().contains("</style")
        );
    }
}
