//! Properties of characters that word boundaries and language detection need.

/// Returns whether a character belongs to a script that is written without spaces between words:
/// Chinese, Japanese, Thai, Lao, Burmese, Khmer.
pub(super) fn is_unspaced(c: char) -> bool {
    is_han(c)
        || matches!(c,
            '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' // Kana
            | '\u{0e00}'..='\u{0e7f}' // Thai
            | '\u{0e80}'..='\u{0eff}' // Lao
            | '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' // Burmese
            | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}') // Khmer
}

/// Returns whether a character is a Chinese character.
pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Returns whether one character of this kind can be a word: a Chinese character or a Korean
/// syllable.
pub(super) fn is_syllable(c: char) -> bool {
    is_han(c) || matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// Returns whether a character is an optional vowel sign or the elongation mark of Arabic.
pub(super) fn is_arabic_mark(c: char) -> bool {
    matches!(c, '\u{0640}' | '\u{064b}'..='\u{0652}' | '\u{0670}')
}
