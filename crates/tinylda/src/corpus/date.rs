//! Dates of documents: many notations are read, one is stored.
//!
//! A stored date is ISO 8601 text of the precision that was given: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`,
//! `YYYY-MM-DDTHH:MM:SS`, the latter with a `Z` if its offset from UTC was known. Such texts sort
//! in the order of time, up to their precision. Start with [`parse_date`].

use std::fmt::Write;

/// Number of seconds of a day.
const DAY: i64 = 86_400;

/// Point in time or period: a year, a month, a day or a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CivilDate {
    year: u32,
    month: Option<u32>,
    day: Option<u32>,
    /// Second of the day.
    second: Option<u32>,
    /// Whether the time is in UTC.
    utc: bool,
}

impl CivilDate {
    /// Returns the date if all of its parts are in range.
    fn checked(self) -> Option<CivilDate> {
        let month_length = |month: u32| match month {
            2 if self.year.is_multiple_of(4)
                && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400)) =>
            {
                29
            }
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let month = self.month.unwrap_or(1);
        let valid = (1..=9999).contains(&self.year)
            && (1..=12).contains(&month)
            && (1..=month_length(month)).contains(&self.day.unwrap_or(1))
            && i64::from(self.second.unwrap_or(0)) < DAY;
        valid.then_some(self)
    }

    /// Returns the date of a number of seconds since 1970 in UTC.
    fn from_unix(seconds: i64) -> Option<CivilDate> {
        let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let date = CivilDate::from_days(days)?;
        Some(CivilDate { second: Some(second as u32), utc: true, ..date })
    }

    /// Returns the date of a number of days since 1970-01-01, by the algorithm of Howard Hinnant's
    /// `civil_from_days`: years are counted from March, in eras of 400 years.
    fn from_days(days: i64) -> Option<CivilDate> {
        let shifted = days.checked_add(719_468)?;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        CivilDate {
            year: u32::try_from(year).ok()?,
            month: Some(month as u32),
            day: Some((day_of_year - (153 * march_month + 2) / 5 + 1) as u32),
            second: None,
            utc: false,
        }
        .checked()
    }

    /// Returns the number of days since 1970-01-01 of a date with a day.
    fn days(self) -> i64 {
        let (month, day) = (i64::from(self.month.unwrap_or(1)), i64::from(self.day.unwrap_or(1)));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Returns the stored text.
    fn text(self) -> String {
        let mut text = format!("{:04}", self.year);
        // Writing to a string cannot fail.
        if let Some(month) = self.month {
            let _ = write!(text, "-{month:02}");
            if let Some(day) = self.day {
                let _ = write!(text, "-{day:02}");
                if let Some(second) = self.second {
                    let (hour, minute) = (second / 3600, second / 60 % 60);
                    let zone = if self.utc { "Z" } else { "" };
                    let _ = write!(text, "T{hour:02}:{minute:02}:{:02}{zone}", second % 60);
                }
            }
        }
        text
    }
}

/// Normalizes a date to ISO 8601 text; returns `None` if it is not understood or not unique.
///
/// Understood are years, ISO dates and times with `-`, `/` or `.` (`2001-02`, `2001/02/03`,
/// `20010203`, `2001-02-03T04:05:06+01:00`), days first with dots (`3.2.2001`), slashes if only one
/// order is possible (`31/12/2001`), English months (`3 Feb 2001`, `February 3, 2001`), the dates
/// of e-mails, and Unix times in seconds, milliseconds, microseconds or nanoseconds. A time with an
/// offset is converted to UTC. Fractions of a second are dropped.
///
/// ```
/// use tinylda::corpus::parse_date;
///
/// assert_eq!(parse_date("2001/2/3").as_deref(), Some("2001-02-03"));
/// assert_eq!(parse_date("981173106").as_deref(), Some("2001-02-03T04:05:06Z"));
/// assert_eq!(parse_date("soon"), None);
/// ```
pub fn parse_date(text: &str) -> Option<String> {
    let text = text.trim().trim_matches('"').trim();
    if text.is_empty() || text.len() > 64 || !text.is_ascii() {
        return None;
    }
    parse_number(text).or_else(|| parse_words(text)).and_then(CivilDate::checked).map(CivilDate::text)
}

/// Returns the stored text of a number of days since 1970-01-01.
#[cfg(all(feature = "parquet", feature = "text"))]
pub(crate) fn date_of_days(days: i64) -> Option<String> {
    CivilDate::from_days(days).map(CivilDate::text)
}

/// Returns the stored text of a number of seconds since 1970. `utc` says whether the time is in UTC
/// or in an unknown zone.
#[cfg(all(feature = "parquet", feature = "text"))]
pub(crate) fn date_of_seconds(seconds: i64, utc: bool) -> Option<String> {
    CivilDate::from_unix(seconds).map(|date| CivilDate { utc, ..date }.text())
}

/// Parses a date that is a single number: a year, `YYYYMMDD`, `YYYYMMDDHHMMSS`, or a Unix time.
fn parse_number(text: &str) -> Option<CivilDate> {
    // Spreadsheets and data frames with missing values write whole numbers as 2001.0.
    let whole = text.split_once('.').filter(|(_, rest)| rest.bytes().all(|b| b.is_ascii_digit()));
    let whole =
        whole.map_or(
            text,
            |(whole, rest)| {
                if rest.bytes().all(|b| b == b'0') || whole.len() >= 9 { whole } else { text }
            },
        );
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    if digits.is_empty() || digits.len() > 19 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| digits.get(range)?.parse::<u32>().ok();
    let negative = digits.len() < whole.len();
    match digits.len() {
        4 if !negative => {
            Some(CivilDate { year: part(0..4)?, month: None, day: None, second: None, utc: false })
        }
        8 | 14 if !negative && digits.starts_with(['1', '2']) => {
            let second = if digits.len() == 14 {
                Some(second_of_day(part(8..10)?, part(10..12)?, part(12..14)?)?)
            } else {
                None
            };
            let (year, month, day) = (part(0..4)?, Some(part(4..6)?), Some(part(6..8)?));
            CivilDate { year, month, day, second, utc: false }.checked()
        }
        // Shorter numbers are more likely something else, such as an index.
        length @ 9..=19 => {
            let divisor = match length {
                9..=11 => 1,
                12..=14 => 1000,
                15..=17 => 1_000_000,
                _ => 1_000_000_000,
            };
            CivilDate::from_unix(whole.parse::<i64>().ok()?.div_euclid(divisor))
        }
        _ => None,
    }
}

/// Returns the second of the day.
fn second_of_day(hour: u32, minute: u32, second: u32) -> Option<u32> {
    // A leap second is counted as the second before it.
    (hour < 24 && minute < 60 && second <= 60).then(|| hour * 3600 + minute * 60 + second.min(59))
}

/// Parses a date of several parts.
fn parse_words(text: &str) -> Option<CivilDate> {
    let mut numbers: Vec<&str> = Vec::new();
    let (mut month, mut date, mut time, mut offset) = (None, None, None, None);
    let iso = text.as_bytes().get(10).is_some_and(|&b| b == b'T' || b == b't');
    let (first, rest) = if iso { (&text[..10], &text[11..]) } else { ("", text) };
    let words = std::iter::once(first).chain(rest.split(|c: char| c.is_ascii_whitespace() || c == ','));
    for word in words.filter(|word| !word.is_empty()) {
        if word.contains(':') {
            let (clock, zone) = split_zone(word);
            set(&mut time, parse_clock(clock)?)?;
            if let Some(zone) = zone {
                set(&mut offset, parse_offset(zone)?)?;
            }
        } else if time.is_some() && offset.is_none() && parse_offset(word).is_some() {
            offset = parse_offset(word);
        } else if time.is_some() && (word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")) {
            time = Some(to_24_hours(time?, word.eq_ignore_ascii_case("pm"))?);
        } else if word.bytes().all(|b| b.is_ascii_digit()) {
            numbers.push(word);
        } else if let Some(found) = parse_month(word) {
            set(&mut month, found)?;
        } else if let Some(found) = parse_day(word) {
            set(&mut date, found)?;
        } else if let Some(day) = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)) {
            numbers.push(day);
        } else if word.starts_with('(') || (numbers.is_empty() && is_weekday(word)) {
            // The weekday, and the name of the zone in parentheses, add nothing.
        } else {
            return None;
        }
    }
    let date = match (date, month, &numbers[..]) {
        (Some(date), None, []) => date,
        (None, Some(month), [year]) => {
            CivilDate { year: full_year(year)?, month: Some(month), day: None, second: None, utc: false }
        }
        (None, Some(month), [a, b]) => {
            let (year, day) = if a.len() == 4 { (a, b) } else { (b, a) };
            let day = Some(day.parse().ok()?);
            CivilDate { year: full_year(year)?, month: Some(month), day, second: None, utc: false }
        }
        _ => return None,
    };
    let date = date.checked()?;
    match (time, offset) {
        (None, _) => Some(date),
        (Some(_), _) if date.day.is_none() => None,
        (Some(second), None) => Some(CivilDate { second: Some(second), ..date }),
        (Some(second), Some(offset)) => {
            CivilDate::from_unix(date.days() * DAY + i64::from(second) - i64::from(offset))
        }
    }
}

/// Sets a part of a date; returns `None` if it is given twice.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    part.replace(value).is_none().then_some(())
}

/// Parses a year of four digits: years of two digits are ambiguous.
fn full_year(text: &str) -> Option<u32> {
    if text.len() == 4 { text.parse().ok() } else { None }
}

/// Parses a year, month and day with the same separator between them, or a year and month.
fn parse_day(word: &str) -> Option<CivilDate> {
    let separator = word.chars().find(|c| !c.is_ascii_digit() && !c.is_ascii_alphabetic())?;
    if !"-/.".contains(separator) {
        return None;
    }
    let parts: Vec<&str> = word.split(separator).collect();
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= 2);
    let month_of = |part: &str| number(part).or_else(|| parse_month(part));
    let build = |year: &str, month: &str, day: Option<&str>| {
        let day = match day {
            Some(day) => Some(number(day)?),
            None => None,
        };
        CivilDate { year: full_year(year)?, month: Some(month_of(month)?), day, second: None, utc: false }
            .checked()
    };
    match parts[..] {
        [year, month] if year.len() == 4 => build(year, month, None),
        [month, year] if year.len() == 4 => build(year, month, None),
        [year, month, day] if year.len() == 4 => build(year, month, Some(day)),
        [day, month, year] if separator == '.' || parse_month(month).is_some() => {
            build(year, month, Some(day))
        }
        // Some countries write the month first and others the day: it must be clear which it is.
        [a, b, year] => match (build(year, a, Some(b)), build(year, b, Some(a))) {
            (Some(date), None) | (None, Some(date)) => Some(date),
            (Some(one), Some(other)) if one == other => Some(one),
            _ => None,
        },
        _ => None,
    }
}

/// Parses an English month by at least three of its first letters.
fn parse_month(word: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(&word))?;
    Some(at as u32 + 1)
}

/// Returns whether a word is an English weekday or its abbreviation.
fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let word = word.trim_end_matches('.').to_ascii_lowercase();
    word.len() >= 3 && DAYS.iter().any(|day| day.starts_with(&word))
}

/// Splits a time of day from the zone directly after it.
fn split_zone(word: &str) -> (&str, Option<&str>) {
    let at = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.');
    at.map_or((word, None), |at| (&word[..at], Some(&word[at..])))
}

/// Parses `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction` to the second of the day.
fn parse_clock(text: &str) -> Option<u32> {
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= 2);
    match parts[..] {
        [hour, minute] => second_of_day(number(hour)?, number(minute)?, 0),
        [hour, minute, second] => {
            let second = second.split_once('.').map_or(second, |(second, _)| second);
            second_of_day(number(hour)?, number(minute)?, number(second)?)
        }
        _ => None,
    }
}

/// Converts a time of the twelve-hour clock.
fn to_24_hours(second: u32, afternoon: bool) -> Option<u32> {
    let (hour, rest) = (second / 3600, second % 3600);
    (1..=12).contains(&hour).then(|| (hour % 12 + if afternoon { 12 } else { 0 }) * 3600 + rest)
}

/// Parses an offset from UTC to seconds: `Z`, `UTC`, `GMT`, `+01:00`, `-0530`.
fn parse_offset(text: &str) -> Option<i32> {
    if ["z", "utc", "gmt"].iter().any(|zone| text.eq_ignore_ascii_case(zone)) {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits.replace(':', "")),
        ("-", digits) => (-1, digits.replace(':', "")),
        _ => return None,
    };
    let valid = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    let hours: i32 = digits.get(..2).filter(|_| valid)?.parse().ok()?;
    let minutes: i32 = digits.get(2..).filter(|rest| !rest.is_empty()).map_or(Some(0), |m| m.parse().ok())?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_in_many_notations() {
        for (text, expected) in [
            ("1999", "1999"),
            ("1999.0", "1999"),
            (" 2001-02 ", "2001-02"),
            ("2001/2", "2001-02"),
            ("02/2001", "2001-02"),
            ("2001-02-03", "2001-02-03"),
            ("2001/02/03", "2001-02-03"),
            ("2001.2.3", "2001-02-03"),
            ("20010203", "2001-02-03"),
            ("20010203040506", "2001-02-03T04:05:06"),
            ("3.2.2001", "2001-02-03"),
            ("31/12/2001", "2001-12-31"),
            ("12/31/2001", "2001-12-31"),
            ("3/3/2001", "2001-03-03"),
            ("3 Feb 2001", "2001-02-03"),
            ("3-Feb-2001", "2001-02-03"),
            ("February 3, 2001", "2001-02-03"),
            ("Feb. 3rd 2001", "2001-02-03"),
            ("Sept 2001", "2001-09"),
            ("2001-02-03T04:05", "2001-02-03T04:05:00"),
            ("2001-02-03T04:05:06", "2001-02-03T04:05:06"),
            ("2001-02-03 04:05:06.789", "2001-02-03T04:05:06"),
            ("2001-02-03T04:05:06Z", "2001-02-03T04:05:06Z"),
            ("2001-02-03T00:05:06+01:00", "2001-02-02T23:05:06Z"),
            ("2001-02-03 04:05:06 UTC", "2001-02-03T04:05:06Z"),
            ("Sat, 03 Feb 2001 04:05:06 -0530", "2001-02-03T09:35:06Z"),
            ("Sat Feb 03 04:05:06 +0000 2001", "2001-02-03T04:05:06Z"),
            ("Sat, 3 Feb 2001 04:05:06 GMT (UTC)", "2001-02-03T04:05:06Z"),
            ("12/31/2001 1:05 PM", "2001-12-31T13:05:00"),
            ("12/31/2001 12:05:01 am", "2001-12-31T00:05:01"),
            ("981173106", "2001-02-03T04:05:06Z"),
            ("981173106.0", "2001-02-03T04:05:06Z"),
            ("981173106789", "2001-02-03T04:05:06Z"),
            ("1981173106789", "2032-10-12T05:51:46Z"),
            ("981173106789000", "2001-02-03T04:05:06Z"),
            ("1600000000000000000", "2020-09-13T12:26:40Z"),
            ("-981173106", "1938-11-28T19:54:54Z"),
            ("2000-02-29", "2000-02-29"),
        ] {
            assert_eq!(parse_date(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_unique_date_is_refused() {
        for text in [
            "",
            "soon",
            "1",
            "12",
            "123",
            "12345",
            "1234567",
            "0000",
            "2001-13",
            "2001-02-30",
            "1900-02-29",
            "01/02/2001",
            "1/2/01",
            "3 Feb 01",
            "2001-02-03T25:00",
            "4:05",
            "2001-02 04:05",
            "2001 02 03",
            "2001-02-03 2001-02-03",
            "mar",
            "12345678901234567890",
            "20011303",
            "2001-02-03T04:05:06+99:00",
            "3 Feb 2001 x",
            "Montag",
            "ä",
            "2001-02/03",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_stored_date_is_read_as_itself(seconds in -60_000_000_000i64..250_000_000_000) {
            let text = CivilDate::from_unix(seconds).unwrap().text();
            prop_assert_eq!(parse_date(&text), Some(text.clone()));
            let [local, day, month, year] = [&text[..19], &text[..10], &text[..7], &text[..4]];
            for part in [local, day, month, year] {
                prop_assert_eq!(parse_date(part), Some(part.to_owned()));
            }
            prop_assert_eq!(CivilDate::from_unix(seconds).unwrap().days(), seconds.div_euclid(DAY));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9TZa-z:./ ,+()-]{0,24}", other in ".{0,30}") {
            for text in [text, other] {
                if let Some(date) = parse_date(&text) {
                    prop_assert_eq!(parse_date(&date), Some(date.clone()));
                }
            }
        }
    }
}
