//! Formatting of numbers and sizes for display to users.

/// Formats a size in bytes with a binary unit, such as `1.5 GiB`.
pub fn human_bytes(bytes: u64) -> String {
    const SIZE_UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = bytes.ilog2() / 10;
    format!("{:.1} {}", bytes as f64 / (1u64 << (10 * power)) as f64, SIZE_UNITS[power as usize - 1])
}

/// Formats a number with thousands separators, such as `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun in the singular or plural, such as `1 document`, `2,000 words` or
/// `3 passes`.
///
/// The plural is formed by the regular rules of English; the last word of `noun` is inflected.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {}", grouped(n), noun_for(n, noun))
}

/// Returns a noun in the form that belongs to a count: the singular for 1, else the plural.
pub fn noun_for(n: u64, noun: &str) -> String {
    if n == 1 {
        return noun.to_owned();
    }
    let consonant_y = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(stem) = consonant_y {
        format!("{stem}ies")
    } else if ["s", "x", "ch", "sh"].iter().any(|ending| noun.ends_with(ending)) {
        format!("{noun}es")
    } else {
        format!("{noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u17_counts_agree_with_their_nouns() {
        for (n, noun, text) in [
            (1, "document", "1 document"),
            (0, "document", "0 documents"),
            (1_500, "word", "1,500 words"),
            (1, "pass", "1 pass"),
            (2, "pass", "2 passes"),
            (2, "entry", "2 entries"),
            (2, "day", "2 days"),
            (3, "held-out document", "3 held-out documents"),
        ] {
            assert_eq!(counted(n, noun), text);
        }
    }

    #[test]
    fn thousands_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(human_bytes(0), "0 B");
        assert_eq!(human_bytes(1023), "1023 B");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(u64::MAX), "16.0 EiB");
    }
}
