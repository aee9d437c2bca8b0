//! Lines of Vowpal Wabbit as records.

use super::{Record, RecordReader};
use crate::corpus::TextPlace;
use crate::corpus::ingest::lines::quoted;
use crate::corpus::ingest::raw::source::MAX_RECORD_BYTES;
use crate::error::Result;

impl RecordReader {
    /// Counts the weight of a namespace of Vowpal Wabbit, such as `words:0.5`, which is ignored.
    fn note_weight(&self, namespace: &str, line: u64) -> Result<()> {
        let weight = namespace.rsplit_once(':').and_then(|(_, weight)| weight.parse::<f64>().ok());
        if weight.is_none_or(|weight| (weight - 1.0).abs() < f64::EPSILON) {
            return Ok(());
        }
        if self.strict {
            return Err(self.line_error(
                line,
                format!("the namespace weight {namespace:?}"),
                "a namespace without a weight",
                "remove the weight, or omit {strict} to ignore it",
            ));
        }
        self.tally.namespace_weights.add(1, line);
        Ok(())
    }

    /// Counts the importance weight of a document of Vowpal Wabbit, which is ignored.
    fn note_importance(&self, weight: f64, line: u64) -> Result<()> {
        if (weight - 1.0).abs() < f64::EPSILON {
            return Ok(());
        }
        if self.strict {
            return Err(self.line_error(
                line,
                format!("the importance weight {weight}"),
                "a document without a weight",
                "remove the weight, or omit {strict} to ignore it",
            ));
        }
        self.tally.document_weights.add(1, line);
        Ok(())
    }

    pub(super) fn parse_vowpal<'a>(
        &self,
        whole: &'a [u8],
        line: u64,
        place: TextPlace,
        replaced: &mut bool,
    ) -> Result<Record<'a>> {
        let text = self.text(whole, line, replaced)?;
        let Some(bar) = text.find('|') else {
            return Err(self.line_error(
                line,
                quoted(whole),
                "label 'name |words word word:count",
                "put a | before the words, or choose another {format}",
            ));
        };
        let (mut name, mut label) = (String::new(), String::new());
        for (i, part) in text[..bar].split_ascii_whitespace().enumerate() {
            if let Some(tag) = part.strip_prefix('\'') {
                name = tag.into();
            } else if i == 0 {
                label = part.into();
            } else if let Ok(weight) = part.parse::<f64>() {
                // The third number is a first prediction, which is not about the document.
                if i == 1 {
                    self.note_importance(weight, line)?;
                }
            } else {
                name = part.into();
            }
        }
        let mut all = String::with_capacity(text.len());
        for space in text[bar + 1..].split('|') {
            // A word directly after the bar is the namespace.
            let (namespace, words) = if space.starts_with(|c: char| c.is_ascii_whitespace()) {
                ("", space)
            } else {
                space.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((space, ""))
            };
            self.note_weight(namespace, line)?;
            for feature in words.split_ascii_whitespace() {
                let (word, count) = match feature.rsplit_once(':') {
                    Some((word, value)) => (word, value.parse::<f64>().ok()),
                    None => (feature, Some(1.0)),
                };
                let whole_count = count.filter(|v| v.fract() == 0.0 && (0.0..=65_535.0).contains(v));
                let Some(count) = whole_count else {
                    return Err(self.line_error(
                        line,
                        format!("the feature {feature:?}"),
                        "word, or word:count with a whole count up to 65535",
                        "give counts instead of weights",
                    ));
                };
                if count == 0.0 {
                    self.tally.zero_features.add(1, line);
                }
                for _ in 0..count as u32 {
                    all.push_str(word);
                    all.push(' ');
                }
                if all.len() > MAX_RECORD_BYTES {
                    return Err(self.line_error(
                        line,
                        "more than 64 MiB of words".into(),
                        "a document",
                        "split it into parts",
                    ));
                }
            }
        }
        Ok(Record {
            name: Some(name.into()),
            labels: vec![self.labels_of(label.into())],
            date: None,
            text: all.into(),
            place,
            checksum: crc32fast::hash(whole),
        })
    }
}
