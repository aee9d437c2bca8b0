//! Languages: their codes and names, and the detection of the languages of a text.
//!
//! Documents are sampled one by one. Scripts without spaces between words identify the language.
//! For other scripts, the crate `whatlang` compares frequent groups of three letters, and a
//! language only counts if its stop words occur in the documents: lists of names or genes have no
//! language. Languages that `whatlang` does not know are detected by their stop words alone. Start
//! with [`LanguageSample`].

use std::collections::{BTreeMap, HashMap};

use super::scripts::{is_han, is_unspaced};
use super::stop::{languages, list_of_language};
use super::{LanguageSource, Pipeline, TextLanguages, Tokenizer, TokenizerBuffer, stop_word_list};
use crate::error::{Error, Result};

/// Codes (ISO 639-1) and English names of languages.
const NAMES: [(&str, &str); 84] = [
    ("af", "Afrikaans"),
    ("ak", "Akan"),
    ("am", "Amharic"),
    ("ar", "Arabic"),
    ("az", "Azerbaijani"),
    ("be", "Belarusian"),
    ("bg", "Bulgarian"),
    ("bn", "Bengali"),
    ("br", "Breton"),
    ("ca", "Catalan"),
    ("cs", "Czech"),
    ("cy", "Welsh"),
    ("da", "Danish"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("eo", "Esperanto"),
    ("es", "Spanish"),
    ("et", "Estonian"),
    ("eu", "Basque"),
    ("fa", "Persian"),
    ("fi", "Finnish"),
    ("fr", "French"),
    ("ga", "Irish"),
    ("gl", "Galician"),
    ("gu", "Gujarati"),
    ("ha", "Hausa"),
    ("he", "Hebrew"),
    ("hi", "Hindi"),
    ("hr", "Croatian"),
    ("hu", "Hungarian"),
    ("hy", "Armenian"),
    ("id", "Indonesian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("jv", "Javanese"),
    ("ka", "Georgian"),
    ("km", "Khmer"),
    ("kn", "Kannada"),
    ("ko", "Korean"),
    ("ku", "Kurdish"),
    ("la", "Latin"),
    ("lo", "Lao"),
    ("lt", "Lithuanian"),
    ("lv", "Latvian"),
    ("mk", "Macedonian"),
    ("ml", "Malayalam"),
    ("mr", "Marathi"),
    ("ms", "Malay"),
    ("my", "Burmese"),
    ("ne", "Nepali"),
    ("nl", "Dutch"),
    ("no", "Norwegian"),
    ("or", "Odia"),
    ("pa", "Punjabi"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("si", "Sinhala"),
    ("sk", "Slovak"),
    ("sl", "Slovenian"),
    ("sn", "Shona"),
    ("so", "Somali"),
    ("sr", "Serbian"),
    ("st", "Sotho"),
    ("sv", "Swedish"),
    ("sw", "Swahili"),
    ("ta", "Tamil"),
    ("te", "Telugu"),
    ("th", "Thai"),
    ("tk", "Turkmen"),
    ("tl", "Tagalog"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("ur", "Urdu"),
    ("uz", "Uzbek"),
    ("vi", "Vietnamese"),
    ("yi", "Yiddish"),
    ("yo", "Yoruba"),
    ("zh", "Chinese"),
    ("zu", "Zulu"),
    ("nb", "Norwegian"),
    ("nn", "Norwegian"),
];

/// Codes of ISO 639-3 that `whatlang` uses, in the order of its documentation, and those used here.
const LONG_CODES: [(&str, &str); 70] = [
    ("epo", "eo"),
    ("eng", "en"),
    ("rus", "ru"),
    ("cmn", "zh"),
    ("spa", "es"),
    ("por", "pt"),
    ("ita", "it"),
    ("ben", "bn"),
    ("fra", "fr"),
    ("deu", "de"),
    ("ukr", "uk"),
    ("kat", "ka"),
    ("ara", "ar"),
    ("hin", "hi"),
    ("jpn", "ja"),
    ("heb", "he"),
    ("yid", "yi"),
    ("pol", "pl"),
    ("amh", "am"),
    ("jav", "jv"),
    ("kor", "ko"),
    ("nob", "no"),
    ("dan", "da"),
    ("swe", "sv"),
    ("fin", "fi"),
    ("tur", "tr"),
    ("nld", "nl"),
    ("hun", "hu"),
    ("ces", "cs"),
    ("ell", "el"),
    ("bul", "bg"),
    ("bel", "be"),
    ("mar", "mr"),
    ("kan", "kn"),
    ("ron", "ro"),
    ("slv", "sl"),
    ("hrv", "hr"),
    ("srp", "sr"),
    ("mkd", "mk"),
    ("lit", "lt"),
    ("lav", "lv"),
    ("est", "et"),
    ("tam", "ta"),
    ("vie", "vi"),
    ("urd", "ur"),
    ("tha", "th"),
    ("guj", "gu"),
    ("uzb", "uz"),
    ("pan", "pa"),
    ("aze", "az"),
    ("ind", "id"),
    ("tel", "te"),
    ("pes", "fa"),
    ("mal", "ml"),
    ("ori", "or"),
    ("mya", "my"),
    ("nep", "ne"),
    ("sin", "si"),
    ("khm", "km"),
    ("tuk", "tk"),
    ("aka", "ak"),
    ("zul", "zu"),
    ("sna", "sn"),
    ("afr", "af"),
    ("lat", "la"),
    ("slk", "sk"),
    ("cat", "ca"),
    ("tgl", "tl"),
    ("hye", "hy"),
    ("cym", "cy"),
];

/// Returns the English name of a language by its code.
pub fn language_name(code: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

/// Returns the code of a language that is given by code or English name; unknown names as they are,
/// in lower case.
pub(crate) fn language_code(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let known = NAMES.iter().find(|(_, full)| full.eq_ignore_ascii_case(&lower)).map(|(code, _)| *code);
    known.map_or(lower, String::from)
}

impl TextLanguages {
    /// Returns the given languages, by code or English name.
    pub(crate) fn given(names: &[String]) -> Result<TextLanguages> {
        let mut languages = Vec::new();
        for name in names {
            let code = match language_code(name).as_str() {
                "nb" | "nn" => "no".to_string(),
                code => code.to_string(),
            };
            if language_name(&code).is_none() {
                let expected =
                    "the code (ISO 639-1) or English name of a language, such as en or German, or none";
                return Err(Error::out_of_range("language", format!("{name:?}"), expected));
            }
            languages.push((code, 100));
        }
        Ok(TextLanguages { languages, ..TextLanguages::default() })
    }
}

/// Maximum number of documents that are sampled.
const MAX_DOCUMENTS: usize = 1000;
/// Maximum number of bytes that are sampled, which limits the memory for their tokens.
const MAX_SAMPLE_BYTES: usize = 256 << 10;
/// Maximum number of bytes of a document that are sampled.
const MAX_DOCUMENT_BYTES: usize = 2000;
/// Minimum share of the documents of a language that counts.
const MIN_DOCUMENT_SHARE: f64 = 0.15;
/// Maximum number of languages of a collection.
const MAX_LANGUAGES: usize = 3;
/// Minimum share of stop words in the documents of a language: half of that of an agglutinative
/// language, a quarter of that of English.
const MIN_STOP_WORD_SHARE: f64 = 0.08;
/// Minimum share of stop words of a language that is detected by stop words alone.
const MIN_SHARE_ALONE: f64 = 0.25;
/// Minimum number of different stop words. A few may also be words of another language.
const MIN_DISTINCT_STOP_WORDS: usize = 6;
/// Minimum number of letters of a document whose language is detected.
const MIN_LETTERS: usize = 20;
/// Minimum confidence of `whatlang` in the language of a document.
const MIN_CONFIDENCE: f64 = 0.2;

/// Minimum number of letters of a document that only Turkic languages have.
const MIN_TURKIC_LETTERS: u32 = 2;
/// Maximum number of letters per letter that only Turkic languages have. Turkish has one in 16.
const MAX_LETTERS_PER_TURKIC: u32 = 40;

type TokenCounts = HashMap<Vec<u8>, u64>;

/// Documents of a language.
#[derive(Debug, Default)]
struct LanguageDocuments {
    documents: u64,
    /// Whether the script or its letters identify the language.
    by_script: bool,
    tokens: TokenCounts,
}

/// Statistics about runs of characters of scripts without spaces between words.
#[derive(Debug, Default)]
struct UnspacedRuns {
    characters: u64,
    runs: u64,
    /// Number of runs that a space separates from another run.
    spaced: u64,
    /// Whether most characters are Chinese or Japanese, whose words are shorter.
    han: u64,
}

/// Sample of the documents of a collection.
#[derive(Debug, Default)]
pub(crate) struct LanguageSample {
    documents: usize,
    bytes: usize,
    by_language: BTreeMap<&'static str, LanguageDocuments>,
    /// Tokens of all documents.
    all: TokenCounts,
    unspaced: UnspacedRuns,
    buffer: TokenizerBuffer,
}

/// Returns the language of a script without spaces between words, if a text is mostly in one.
fn language_of_script(text: &str) -> Option<&'static str> {
    let (mut letters, mut han, mut kana, mut others) = (0u32, 0u32, 0u32, [0u32; 4]);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        match c {
            _ if is_han(c) => han += 1,
            '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => kana += 1,
            '\u{0e00}'..='\u{0e7f}' => others[0] += 1,
            '\u{0e80}'..='\u{0eff}' => others[1] += 1,
            '\u{1000}'..='\u{109f}' => others[2] += 1,
            '\u{1780}'..='\u{17ff}' => others[3] += 1,
            _ => {}
        }
    }
    let east = if kana * 20 > han { ("ja", han + kana) } else { ("zh", han) };
    let candidates = [east, ("th", others[0]), ("lo", others[1]), ("my", others[2]), ("km", others[3])];
    let (code, count) = candidates.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 0 && count * 3 >= letters).then_some(code)
}

/// Returns the Turkic language of a text with many letters that other languages do not have.
fn language_of_turkic_letters(text: &str) -> Option<&'static str> {
    let (mut letters, mut turkic, mut schwas) = (0u32, 0u32, 0u32);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        turkic += u32::from(matches!(c, 'ı' | 'ğ' | 'İ' | 'Ğ'));
        schwas += u32::from(matches!(c, 'ə' | 'Ə'));
    }
    if turkic < MIN_TURKIC_LETTERS || turkic * MAX_LETTERS_PER_TURKIC < letters {
        return None;
    }
    Some(if schwas * MAX_LETTERS_PER_TURKIC >= letters { "az" } else { "tr" })
}

/// Detects the language of a text with `whatlang`.
fn language_of_letters(text: &str) -> Option<(&'static str, bool)> {
    use whatlang::Script;
    if text.chars().filter(|c| c.is_alphabetic()).take(MIN_LETTERS).count() < MIN_LETTERS {
        return None;
    }
    let info = whatlang::detect(text)?;
    let shared = matches!(
        info.script(),
        Script::Latin | Script::Cyrillic | Script::Arabic | Script::Devanagari | Script::Hebrew
    );
    if shared && info.confidence() < MIN_CONFIDENCE {
        return None;
    }
    let code = LONG_CODES.iter().find(|(long, _)| *long == info.lang().code())?.1;
    Some((code, !shared))
}

/// Returns the number of tokens that are stop words of a language, and the number of different
/// ones.
fn stop_word_hits(code: &str, tokens: &TokenCounts) -> (u64, usize) {
    let mut list = list_of_language(code).unwrap_or_default();
    list.extend(stop_word_list(&format!("{code}-long")).unwrap_or_default());
    list.sort_unstable();
    list.dedup();
    // Single letters are in some lists and occur in texts of all languages.
    let found = list.iter().filter(|word| word.len() > 1).filter_map(|word| tokens.get(word.as_bytes()));
    found.fold((0, 0), |(hits, different), n| (hits + n, different + 1))
}

/// Returns the share of stop words of a language in tokens.
fn stop_word_share(code: &str, tokens: &TokenCounts) -> f64 {
    let (hits, _) = stop_word_hits(code, tokens);
    hits as f64 / tokens.values().sum::<u64>().max(1) as f64
}

impl LanguageSample {
    /// Returns whether enough documents have been added.
    pub(crate) fn is_full(&self) -> bool {
        self.documents >= MAX_DOCUMENTS || self.bytes >= MAX_SAMPLE_BYTES
    }

    /// Adds a document.
    pub(crate) fn add(&mut self, text: &str) {
        let end = (0..=MAX_DOCUMENT_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let text = &text[..end.unwrap_or(0)];
        self.documents += 1;
        self.bytes += text.len();
        self.unspaced.add(text);
        let Ok(tokenizer) = Tokenizer::new(&Pipeline { keep_numbers: true, ..Pipeline::plain() }) else {
            return;
        };
        let detected = match language_of_script(text) {
            Some(code) => Some((code, true)),
            None => match language_of_turkic_letters(text) {
                Some(code) => Some((code, true)),
                None => language_of_letters(text),
            },
        };
        let mut of_language = detected.map(|(code, by_script)| {
            let entry = self.by_language.entry(code).or_default();
            entry.documents += 1;
            entry.by_script |= by_script;
            &mut entry.tokens
        });
        let all = &mut self.all;
        tokenizer.for_each_token(text, &mut self.buffer, &mut |token| {
            *all.entry(token.to_vec()).or_default() += 1;
            if let Some(tokens) = &mut of_language {
                *tokens.entry(token.to_vec()).or_default() += 1;
            }
        });
    }

    /// Returns whether the documents contain text without spaces between words, and whether spaces
    /// were put between these words before.
    pub(crate) fn unspaced_text(&self) -> (bool, bool) {
        (self.unspaced.characters > 0, self.unspaced.is_presegmented())
    }

    /// Returns the languages with their percentages of the documents, the most frequent one first.
    pub(crate) fn detect(&self) -> TextLanguages {
        let all: u64 = self.by_language.values().map(|found| found.documents).sum();
        let mut found: Vec<(&'static str, u64)> = self
            .by_language
            .iter()
            .filter(|(_, found)| found.documents as f64 >= MIN_DOCUMENT_SHARE * all as f64)
            .filter(|(code, found)| self.is_confirmed(code, found))
            .map(|(code, found)| (*code, found.documents))
            .collect();
        found.sort_by_key(|&(code, documents)| (std::cmp::Reverse(documents), code));
        found.truncate(MAX_LANGUAGES);
        if let Some(better) = self.language_of_stop_words(found.first().map(|(code, _)| *code)) {
            found = vec![(better, all.max(1))];
        }
        let source = if found.is_empty() { LanguageSource::Unknown } else { LanguageSource::Detected };
        let percent = |documents: u64| (100 * documents / all.max(1)).min(100) as u32;
        let languages = found.iter().map(|&(code, documents)| (code.into(), percent(documents))).collect();
        TextLanguages { languages, source, ..TextLanguages::default() }
    }

    /// Returns whether the documents of a language contain its stop words, and more of them than of
    /// the other languages that were found.
    fn is_confirmed(&self, code: &str, found: &LanguageDocuments) -> bool {
        if found.by_script {
            return true;
        }
        let share = stop_word_share(code, &found.tokens);
        let (_, different) = stop_word_hits(code, &found.tokens);
        share >= MIN_STOP_WORD_SHARE
            && different >= MIN_DISTINCT_STOP_WORDS.min(found.tokens.len() / 8)
            && self.by_language.iter().all(|(other, of_other)| {
                of_other.documents <= found.documents || stop_word_share(other, &found.tokens) <= share
            })
    }

    /// Returns the language whose stop words are so frequent that they outweigh the detected
    /// language: one that `whatlang` does not know, or any if nothing was detected.
    fn language_of_stop_words(&self, detected: Option<&str>) -> Option<&'static str> {
        let total: u64 = self.all.values().sum();
        let unknown_to_whatlang = |code: &str| LONG_CODES.iter().all(|(_, known)| *known != code);
        let score = |code: &str| {
            let (hits, different) = stop_word_hits(code, &self.all);
            if different >= MIN_DISTINCT_STOP_WORDS { hits } else { 0 }
        };
        let candidates =
            languages().into_iter().filter(|code| detected.is_none() || unknown_to_whatlang(code));
        let (best, code) = candidates
            .map(|code| (score(code), code))
            .max_by_key(|&(hits, code)| (hits, std::cmp::Reverse(code)))?;
        let against = detected.map_or(0, score);
        (best as f64 >= MIN_SHARE_ALONE * total as f64 && best > against + against / 4 && best > 0)
            .then_some(code)
    }
}

impl UnspacedRuns {
    fn add(&mut self, text: &str) {
        let mut run = 0u64;
        let mut runs_in_line = 0u64;
        let (mut pending_space, mut runs, mut spaced) = (false, 0u64, 0u64);
        for c in text.chars().chain(['\n']) {
            if is_unspaced(c) {
                if run == 0 {
                    spaced += u64::from(pending_space && runs_in_line > 0);
                    runs += 1;
                    runs_in_line += 1;
                }
                run += 1;
                self.characters += 1;
                self.han += u64::from(is_han(c) || matches!(c, '\u{3041}'..='\u{30ff}'));
            } else {
                if run > 0 {
                    pending_space = false;
                }
                run = 0;
                pending_space |= c == ' ' || c == '\u{3000}' || c == '\t';
                if c == '\n' {
                    runs_in_line = 0;
                }
            }
        }
        self.runs += runs;
        self.spaced += spaced;
    }

    /// Returns whether the runs are so short, and so often separated by spaces, that they are
    /// words.
    fn is_presegmented(&self) -> bool {
        let longest_mean = if self.han * 2 > self.characters { 4 } else { 8 };
        self.spaced * 2 > self.runs && self.characters <= longest_mean * self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(texts: &[&str]) -> Vec<String> {
        let mut sample = LanguageSample::default();
        for text in texts {
            sample.add(text);
        }
        sample.detect().languages.into_iter().map(|(code, _)| code).collect()
    }

    #[test]
    fn languages_are_told_apart() {
        for (text, code) in [
            (
                "It was the best of times, it was the worst of times, and we had everything before us",
                Some("en"),
            ),
            (
                "Als er am Morgen aus seinen Träumen erwachte, fand er sich in seinem Bett wieder und war nicht mehr der alte",
                Some("de"),
            ),
            (
                "Longtemps je me suis couché de bonne heure, et je ne le regrette pas du tout dans la vie",
                Some("fr"),
            ),
            ("peak1 peak2 peak3", None),
            ("", None),
            ("geneA geneB geneC expression profile cluster sample", None),
        ] {
            assert_eq!(detect(&[text]).first().map(String::as_str), code, "{text}");
        }
    }

    #[test]
    fn u4_languages_of_other_scripts_are_detected() {
        for (text, code) in [
            (
                "الحكومة أعلنت في بيان لها أن الاقتصاد ينمو هذا العام بعد أن كان في أزمة، وهو ما قاله الوزير",
                "ar",
            ),
            (
                "Bu kitap çok güzel ama biraz uzun, çünkü yazar her şeyi anlatmak için daha fazla yer istiyor",
                "tr",
            ),
            ("सरकार ने कहा कि इस साल देश में बारिश कम हुई है और किसानों के लिए यह समस्या है", "hi"),
            ("Сегодня в городе была хорошая погода, и мы пошли в парк, чтобы погулять с детьми", "ru"),
            ("今天天气很好,我们去公园散步,然后一起吃了晚饭", "zh"),
            ("今日は天気が良いので、公園を散歩してから家に帰りました", "ja"),
            ("วันนี้อากาศดีมากเราจึงไปเดินเล่นที่สวนสาธารณะ", "th"),
            ("오늘은 날씨가 좋아서 우리는 공원에 가서 산책을 했습니다", "ko"),
            ("ថ្ងៃនេះអាកាសធាតុល្អណាស់", "km"),
            ("ມື້ນີ້ອາກາດດີຫຼາຍ", "lo"),
            ("ဒီနေ့ရာသီဥတုကောင်းတယ်", "my"),
        ] {
            assert_eq!(detect(&[text]), [code], "{text}");
        }
    }

    #[test]
    fn u4_mixed_collections_are_noticed() {
        let english = "The government said that it would not change the law before the end of the year";
        let german =
            "Die Regierung hat gesagt, dass sie das Gesetz nicht vor dem Ende des Jahres ändern will";
        assert_eq!(detect(&[english, german, english]), ["en", "de"]);
        assert_eq!(detect(&[&[english; 9][..], &[german]].concat()), ["en"]);
    }

    #[test]
    fn u3_text_that_was_segmented_is_recognized() {
        let state = |text: &str| {
            let mut sample = LanguageSample::default();
            sample.add(text);
            sample.unspaced_text()
        };
        assert_eq!(state("我们 今天 去 公园 散步 , 然后 吃 晚饭 。"), (true, true));
        assert_eq!(state("我们今天去公园散步,然后一起吃了晚饭。"), (true, false));
        assert_eq!(state("ฉัน ไป โรงเรียน ทุก วัน"), (true, true));
        assert_eq!(state("ฉันไปโรงเรียนทุกวัน และกลับบ้านตอนเย็นเสมอ"), (true, false));
        assert_eq!(state("北京"), (true, false));
        assert_eq!(state("plain text"), (false, false));
    }
}
