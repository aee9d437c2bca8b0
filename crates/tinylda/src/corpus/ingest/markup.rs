//! Text of HTML, XML and Word documents, without their markup.
//!
//! Start with [`html_text`], [`xml_text`] and [`docx_text`]. The parsers are tolerant: they accept
//! any text and never fail on markup that is not well-formed.

use std::io::{Cursor, Read};

use super::encoding::{EncodingRule, TextEncoding, decode};

/// Elements of HTML whose content is not text for readers.
const HIDDEN_ELEMENTS: [&str; 9] =
    ["script", "style", "template", "svg", "math", "noscript", "iframe", "object", "select"];
/// Elements of HTML whose content has no markup at all.
const RAW_ELEMENTS: [&str; 6] = ["script", "style", "title", "textarea", "noscript", "iframe"];
/// Elements of HTML that do not interrupt a word.
const INLINE_ELEMENTS: [&str; 28] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "dfn", "em", "font", "i", "ins", "kbd",
    "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "wbr",
];
/// Elements of TEI that do not interrupt a word.
const TEI_INLINE_ELEMENTS: [&str; 20] = [
    "hi",
    "emph",
    "foreign",
    "name",
    "persName",
    "placeName",
    "rs",
    "ref",
    "seg",
    "sic",
    "corr",
    "orig",
    "reg",
    "abbr",
    "expan",
    "ex",
    "choice",
    "supplied",
    "unclear",
    "c",
];

/// Maximum number of bytes in which the end of a document type with declarations is searched.
const MAX_DECLARATION_BYTES: usize = 1 << 16;

/// Event of the tokenizer.
#[derive(Debug, PartialEq, Eq)]
enum MarkupEvent<'a> {
    /// Text with entities.
    Text(&'a str),
    /// Text without entities, from a CDATA section.
    Literal(&'a str),
    /// Start of an element: its name, and whether it is empty.
    Open(&'a str, bool),
    /// End of an element.
    Close(&'a str),
}

/// Tokenizer of HTML and XML. Comments, declarations and processing instructions are skipped.
struct MarkupTokens<'a> {
    rest: &'a str,
}

impl<'a> MarkupTokens<'a> {
    /// Skips everything up to and including `end`, or everything if it does not occur. Returns the
    /// skipped text without `end`.
    fn skip_past(&mut self, from: usize, end: &str) -> &'a str {
        let body = self.rest.get(from..).unwrap_or_default();
        let (found, rest) = body.split_once(end).unwrap_or((body, ""));
        self.rest = rest;
        found
    }

    /// Returns the text up to the end tag of the element `name`, whose content has no markup.
    fn raw_content(&mut self, name: &str) -> &'a str {
        let bytes = self.rest.as_bytes();
        let mut from = 0;
        while let Some(found) = memchr::memmem::find(&bytes[from..], b"</") {
            let at = from + found;
            let after = &bytes[at + 2..];
            let named =
                after.len() >= name.len() && after[..name.len()].eq_ignore_ascii_case(name.as_bytes());
            if named && after.get(name.len()).is_none_or(|b| !b.is_ascii_alphanumeric()) {
                let (content, rest) = self.rest.split_at(at);
                self.rest = rest;
                return content;
            }
            from = at + 2;
        }
        std::mem::take(&mut self.rest)
    }

    /// Parses a tag that begins with `<` or `</`. Attribute values may contain `>` in quotes.
    fn tag(&mut self, prefix: usize) -> (&'a str, bool) {
        let bytes = self.rest.as_bytes();
        let mut at = prefix;
        let mut quote = None;
        while let Some(&b) = bytes.get(at) {
            match (quote, b) {
                (None, b'>') => break,
                // A quote opens a value only after an equals sign: prose has apostrophes.
                (None, b'"' | b'\'') if bytes[..at].trim_ascii_end().ends_with(b"=") => quote = Some(b),
                (Some(open), _) if b == open => quote = None,
                _ => {}
            }
            at += 1;
        }
        if quote.is_some() {
            // A value without its closing quote ends with the first tag end.
            at = memchr::memchr(b'>', bytes).unwrap_or(bytes.len());
        }
        let inner = &self.rest[prefix..at];
        self.rest = self.rest.get(at + 1..).unwrap_or_default();
        let name = inner.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        (name, inner.ends_with('/'))
    }
}

impl<'a> Iterator for MarkupTokens<'a> {
    type Item = MarkupEvent<'a>;

    fn next(&mut self) -> Option<MarkupEvent<'a>> {
        loop {
            let bytes = self.rest.as_bytes();
            if bytes.is_empty() {
                return None;
            }
            if bytes[0] != b'<' {
                let end = memchr::memchr(b'<', bytes).unwrap_or(bytes.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(MarkupEvent::Text(text));
            }
            if self.rest.starts_with("<!--") {
                self.skip_past(4, "-->");
            } else if self.rest.starts_with("<![CDATA[") {
                return Some(MarkupEvent::Literal(self.skip_past(9, "]]>")));
            } else if self.rest.starts_with("<?") {
                self.skip_past(2, ">");
            } else if self.rest.starts_with("<!") {
                // A document type may have declarations in brackets.
                let body = &bytes[..bytes.len().min(MAX_DECLARATION_BYTES)];
                let bracket = memchr::memchr2(b'>', b'[', body).is_some_and(|at| body[at] == b'[');
                let end = if bracket && memchr::memmem::find(body, b"]>").is_some() { "]>" } else { ">" };
                self.skip_past(2, end);
            } else if bytes.get(1) == Some(&b'/') && bytes.get(2).is_some_and(|b| is_name_start(*b)) {
                return Some(MarkupEvent::Close(self.tag(2).0));
            } else if bytes.get(1).is_some_and(|b| is_name_start(*b)) {
                let (name, empty) = self.tag(1);
                return Some(MarkupEvent::Open(name, empty));
            } else {
                // A lone angle bracket is text.
                let end = memchr::memchr(b'<', &bytes[1..]).map_or(bytes.len(), |at| at + 1);
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(MarkupEvent::Text(text));
            }
        }
    }
}

fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

/// Appends a line end, unless the text ends with one.
fn end_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

/// Returns the text of an HTML page: its title and its body.
pub(crate) fn html_text(page: &str) -> String {
    // The text is not longer than the page: it is written without ever being copied.
    let mut out = String::with_capacity(page.len());
    let mut tokens = MarkupTokens { rest: page };
    let (mut hidden, mut in_head) = (Vec::<String>::new(), false);
    while let Some(event) = tokens.next() {
        match event {
            MarkupEvent::Text(text) if hidden.is_empty() && !in_head => push_decoded(text, &mut out),
            MarkupEvent::Literal(text) if hidden.is_empty() && !in_head => out.push_str(text),
            MarkupEvent::Open(name, empty) => {
                let name = name.to_ascii_lowercase();
                match name.as_str() {
                    "head" => in_head = !empty,
                    "body" => in_head = false,
                    _ => {}
                }
                if hidden.is_empty() && !INLINE_ELEMENTS.contains(&name.as_str()) {
                    end_line(&mut out);
                }
                if RAW_ELEMENTS.contains(&name.as_str()) && !empty {
                    let content = tokens.raw_content(&name);
                    if hidden.is_empty() && matches!(name.as_str(), "title" | "textarea") {
                        push_decoded(content, &mut out);
                        end_line(&mut out);
                    }
                } else if !empty && HIDDEN_ELEMENTS.contains(&name.as_str()) {
                    hidden.push(name);
                }
            }
            MarkupEvent::Close(name) => {
                let name = name.to_ascii_lowercase();
                if let Some(at) = hidden.iter().rposition(|open| *open == name) {
                    hidden.truncate(at);
                }
                in_head &= name != "head";
                if hidden.is_empty() && !INLINE_ELEMENTS.contains(&name.as_str()) {
                    end_line(&mut out);
                }
            }
            _ => {}
        }
    }
    out
}

/// Returns the text of an XML document, and whether the document is not well-formed or uses
/// entities that are not declared here. The header of a TEI document is left out.
pub(crate) fn xml_text(document: &str) -> (String, bool) {
    let mut out = String::with_capacity(document.len());
    let (mut hidden, mut inline) = (0u32, &[][..]);
    let (mut open, mut damaged) = (Vec::new(), false);
    for event in (MarkupTokens { rest: document }) {
        match event {
            MarkupEvent::Text(text) if hidden == 0 => damaged |= push_xml(text, &mut out),
            MarkupEvent::Literal(text) if hidden == 0 => out.push_str(text),
            MarkupEvent::Open(full_name, empty) => {
                let name = local_name(full_name);
                if !empty {
                    open.push(full_name);
                }
                if matches!(name, "TEI" | "TEI.2" | "teiCorpus") {
                    inline = &TEI_INLINE_ELEMENTS[..];
                }
                if name == "teiHeader" && !empty {
                    hidden += 1;
                }
                if hidden == 0 && !inline.contains(&name) {
                    end_line(&mut out);
                }
            }
            MarkupEvent::Close(full_name) => {
                let name = local_name(full_name);
                if open.last() == Some(&full_name) {
                    open.pop();
                } else {
                    damaged = true;
                }
                if name == "teiHeader" {
                    hidden = hidden.saturating_sub(1);
                }
                if hidden == 0 && !inline.contains(&name) {
                    end_line(&mut out);
                }
            }
            _ => {}
        }
    }
    (out, damaged || !open.is_empty())
}

/// Appends text of XML with its entities decoded. An unknown entity is replaced by a blank; returns
/// whether there is one.
fn push_xml(text: &str, out: &mut String) -> bool {
    let (mut rest, mut unknown) = (text, false);
    while let Some(at) = rest.find('&') {
        let name =
            rest[at + 1..].bytes().take_while(|b| b.is_ascii_alphanumeric() || b"._-".contains(b)).count();
        let end = at + name + 2;
        let closed = name > 0 && rest.as_bytes().get(end - 1) == Some(&b';');
        if closed && entity(&rest[at..]).is_none() {
            push_decoded(&rest[..at], out);
            out.push(' ');
            (rest, unknown) = (&rest[end..], true);
        } else {
            let next = rest[at + 1..].find('&').map_or(rest.len(), |next| at + 1 + next);
            push_decoded(&rest[..next], out);
            rest = &rest[next..];
        }
    }
    out.push_str(rest);
    unknown
}

/// Elements of HTML that separate words, besides those that are hidden.
const BLOCK_ELEMENTS: [&str; 49] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "img",
    "input",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "ol",
    "p",
    "pre",
    "script",
    "section",
    "style",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Maximum length of a tag in a text in bytes.
const MAX_TAG_BYTES: usize = 2000;

/// Removes the tags and decodes the entities of HTML in a text that is not a page, such as a cell
/// of a table. Returns `None` if there are none. Angle brackets that are not part of a known tag
/// stay.
pub(crate) fn strip_html(text: &str) -> Option<String> {
    let once = strip_html_once(text)?;
    // Markup is often escaped: `&lt;br&gt;`.
    Some(strip_html_once(&once).unwrap_or(once))
}

fn strip_html_once(text: &str) -> Option<String> {
    let (mut copied, mut finder) = (0, HtmlFinder::new(text));
    let mut found = finder.next()?;
    let mut out = String::with_capacity(text.len());
    loop {
        out.push_str(&text[copied..found.at]);
        out.extend(found.replacement);
        copied = found.at + found.length;
        match finder.next() {
            Some(next) => found = next,
            None => break,
        }
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Returns whether a text, of which some bytes may not be valid, has tags or entities of HTML.
pub(crate) fn has_html(text: &[u8]) -> bool {
    text.utf8_chunks().any(|chunk| HtmlFinder::new(chunk.valid()).next().is_some())
}

/// Tag or entity of HTML in a text.
struct FoundHtml {
    at: usize,
    length: usize,
    replacement: Option<char>,
}

/// Finder of tags and entities of HTML in a text.
struct HtmlFinder<'a> {
    text: &'a str,
    at: usize,
    /// Whether the text has end tags, once that is known.
    closes: Option<bool>,
}

impl HtmlFinder<'_> {
    fn new(text: &str) -> HtmlFinder<'_> {
        HtmlFinder { text, at: 0, closes: None }
    }
}

impl Iterator for HtmlFinder<'_> {
    type Item = FoundHtml;

    fn next(&mut self) -> Option<FoundHtml> {
        let bytes = self.text.as_bytes();
        loop {
            let at = self.at + memchr::memchr2(b'<', b'&', &bytes[self.at..])?;
            let rest = &self.text[at..];
            let markup = if bytes[at] == b'&' {
                html_entity(rest)
            } else {
                let has_end_tag = || memchr::memmem::find(bytes, b"</").is_some();
                html_tag(rest, *self.closes.get_or_insert_with(has_end_tag))
            };
            self.at = at + markup.map_or(1, |(length, _)| length);
            if let Some((length, replacement)) = markup {
                return Some(FoundHtml { at, length, replacement });
            }
        }
    }
}

/// Returns the length of the entity that `text` begins with and ends with a semicolon, and its
/// character.
fn html_entity(text: &str) -> Option<(usize, Option<char>)> {
    let (decoded, length) = entity(text)?;
    let closed = text.as_bytes()[length - 1] == b';';
    // A soft hyphen is not part of a word.
    let decoded = if decoded == '\u{a0}' { ' ' } else { decoded };
    closed.then_some((length, Some(decoded).filter(|&c| c != '\u{ad}')))
}

/// Returns the length of the HTML tag or comment that `text` begins with, and the character that
/// replaces it. Scripts and styles include their content. `closes` is set if the text has end tags;
/// without them, a single letter in angle brackets is no tag.
fn html_tag(text: &str, closes: bool) -> Option<(usize, Option<char>)> {
    let bytes = text.as_bytes();
    if text.starts_with("<!--") {
        return memchr::memmem::find(bytes, b"-->").map(|end| (end + 3, Some(' ')));
    }
    let is_end = bytes.get(1) == Some(&b'/');
    let start = 1 + usize::from(is_end);
    let length =
        bytes[start.min(bytes.len())..].iter().take(12).take_while(|b| b.is_ascii_alphanumeric()).count();
    let name = text.get(start..start + length).filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let inline = INLINE_ELEMENTS.contains(&name.as_str());
    if !inline && !BLOCK_ELEMENTS.contains(&name.as_str()) {
        return None;
    }
    let body = &bytes[start + length..bytes.len().min(MAX_TAG_BYTES)];
    let end = memchr::memchr2(b'<', b'>', body).filter(|&end| body[end] == b'>')?;
    let attributes = body[..end].strip_suffix(b"/").unwrap_or(&body[..end]);
    let is_blank = attributes.trim_ascii().is_empty();
    let is_separated = attributes.first().is_none_or(u8::is_ascii_whitespace);
    if !is_separated || !is_blank && (is_end || memchr::memchr(b'=', attributes).is_none()) {
        return None;
    }
    if inline && name.len() == 1 && !is_end && is_blank && !closes {
        return None;
    }
    let mut length = start + length + end + 1;
    if !is_end && matches!(name.as_str(), "script" | "style") {
        let mut content = MarkupTokens { rest: &text[length..] };
        length += content.raw_content(&name).len();
    }
    Some((length, (!inline).then_some(' ')))
}

/// Returns the name of an element without its namespace prefix.
fn local_name(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Returns the text of the main part of a Word document, one paragraph per line.
fn word_text(document: &str) -> String {
    let mut out = String::new();
    // Deleted text and field codes are in elements of other names.
    let mut in_text = false;
    for event in (MarkupTokens { rest: document }) {
        match event {
            MarkupEvent::Text(text) if in_text => push_decoded(text, &mut out),
            MarkupEvent::Literal(text) if in_text => out.push_str(text),
            MarkupEvent::Open("w:t", empty) => in_text = !empty,
            MarkupEvent::Open("w:tab", _) => out.push('\t'),
            MarkupEvent::Open("w:br" | "w:cr", _) | MarkupEvent::Close("w:p") => end_line(&mut out),
            MarkupEvent::Open("w:noBreakHyphen", _) => out.push('-'),
            MarkupEvent::Close("w:t") => in_text = false,
            _ => {}
        }
    }
    out
}

/// Part of a Word document that contains its text.
pub(crate) const WORD_PART: &str = "word/document.xml";

/// Returns the text of a Word document (`.docx`) of at most `max_bytes` bytes when decompressed.
/// The error describes what is wrong.
pub(crate) fn docx_text(bytes: &[u8], max_bytes: usize) -> Result<String, String> {
    let damaged = |e: &dyn std::fmt::Display| format!("a damaged Word document ({e})");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
    let part = archive.by_name(WORD_PART).map_err(|e| damaged(&e))?;
    let mut xml = Vec::new();
    part.take(max_bytes as u64 + 1).read_to_end(&mut xml).map_err(|e| damaged(&e))?;
    if xml.len() > max_bytes {
        return Err(format!("a Word document of more than {} MiB", max_bytes >> 20));
    }
    let (xml, _) = decode(xml, EncodingRule::Detect, None);
    Ok(word_text(&String::from_utf8_lossy(&xml)))
}

/// Returns the encoding that an HTML page or an XML document declares in its first bytes.
pub(crate) fn declared_encoding(start: &[u8]) -> Option<TextEncoding> {
    let start = start[..start.len().min(1024)].to_ascii_lowercase();
    let after = |key: &[u8]| memchr::memmem::find(&start, key).map(|at| &start[at + key.len()..]);
    let value = if start.trim_ascii_start().starts_with(b"<?xml") {
        after(b"encoding=").or_else(|| after(b"charset="))
    } else {
        after(b"charset=")
    }?;
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value.iter().position(|b| !b.is_ascii_alphanumeric() && !b"-_.:".contains(b));
    let found = TextEncoding::from_name(std::str::from_utf8(&value[..end.unwrap_or(value.len())]).ok()?)?;
    // A declaration that can be read byte by byte is not in UTF-16.
    Some(if found.name().starts_with("UTF-16") { TextEncoding::Utf8 } else { found })
}

/// Appends text with its entities decoded.
fn push_decoded(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((decoded, length)) = entity(rest) {
            // A no-break space separates words as any other space, and a soft hyphen is not part of
            // a word.
            match decoded {
                '\u{a0}' => out.push(' '),
                '\u{ad}' => {}
                decoded => out.push(decoded),
            }
            rest = &rest[length..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
}

/// Decodes the entity that `text` begins with. Returns the character and the number of bytes.
fn entity(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    if let Some(number) = body.strip_prefix('#') {
        let (digits, radix, skip) = match number.as_bytes().first() {
            Some(b'x' | b'X') => (&number[1..], 16, 3),
            _ => (number, 10, 2),
        };
        let length = digits.bytes().take_while(|b| (*b as char).is_digit(radix)).count();
        let code = u32::from_str_radix(&digits[..length], radix).ok()?;
        let end = skip + length + usize::from(digits.as_bytes().get(length) == Some(&b';'));
        // These numbers stand for characters of windows-1252 by convention.
        let decoded = match u8::try_from(code) {
            Ok(byte @ 0x80..=0x9f) => {
                encoding_rs::WINDOWS_1252.decode(&[byte]).0.chars().next().unwrap_or('\u{fffd}')
            }
            _ => char::from_u32(code).filter(|&c| c != '\0').unwrap_or('\u{fffd}'),
        };
        return Some((decoded, end));
    }
    let length = body.bytes().take(32).take_while(u8::is_ascii_alphanumeric).count();
    let closed = body.as_bytes().get(length) == Some(&b';');
    let name = &body[..length];
    // Without a semicolon only the old entities are decoded: `&copy` may be part of an address.
    let old = matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp");
    if !closed && !old {
        return None;
    }
    let found = NAMED_ENTITIES.binary_search_by(|&(known, _)| known.cmp(name)).ok()?;
    Some((NAMED_ENTITIES[found].1, 1 + length + usize::from(closed)))
}

/// Named entities of HTML and XML and their characters, sorted by name.
#[rustfmt::skip]
const NAMED_ENTITIES: [(&str, char); 345] = [
    ("AElig", '\u{c6}'), ("Aacute", '\u{c1}'), ("Abreve", '\u{102}'), ("Acirc", '\u{c2}'),
    ("Agrave", '\u{c0}'), ("Alpha", '\u{391}'), ("Amacr", '\u{100}'), ("Aogon", '\u{104}'),
    ("Aring", '\u{c5}'), ("Atilde", '\u{c3}'), ("Auml", '\u{c4}'), ("Beta", '\u{392}'),
    ("Cacute", '\u{106}'), ("Ccaron", '\u{10c}'), ("Ccedil", '\u{c7}'), ("Chi", '\u{3a7}'),
    ("Dagger", '\u{2021}'), ("Dcaron", '\u{10e}'), ("Delta", '\u{394}'), ("Dstrok", '\u{110}'),
    ("ETH", '\u{d0}'), ("Eacute", '\u{c9}'), ("Ecaron", '\u{11a}'), ("Ecirc", '\u{ca}'),
    ("Egrave", '\u{c8}'), ("Emacr", '\u{112}'), ("Eogon", '\u{118}'), ("Epsilon", '\u{395}'),
    ("Eta", '\u{397}'), ("Euml", '\u{cb}'), ("Gamma", '\u{393}'), ("Gbreve", '\u{11e}'),
    ("Iacute", '\u{cd}'), ("Icirc", '\u{ce}'), ("Idot", '\u{130}'), ("Igrave", '\u{cc}'),
    ("Imacr", '\u{12a}'), ("Iota", '\u{399}'), ("Iuml", '\u{cf}'), ("Kappa", '\u{39a}'),
    ("Lambda", '\u{39b}'), ("Lstrok", '\u{141}'), ("Mu", '\u{39c}'), ("Nacute", '\u{143}'),
    ("Ncaron", '\u{147}'), ("NewLine", '\u{a}'), ("Ntilde", '\u{d1}'), ("Nu", '\u{39d}'),
    ("OElig", '\u{152}'), ("Oacute", '\u{d3}'), ("Ocirc", '\u{d4}'), ("Odblac", '\u{150}'),
    ("Ograve", '\u{d2}'), ("Omacr", '\u{14c}'), ("Omega", '\u{3a9}'), ("Omicron", '\u{39f}'),
    ("Oslash", '\u{d8}'), ("Otilde", '\u{d5}'), ("Ouml", '\u{d6}'), ("Phi", '\u{3a6}'), ("Pi", '\u{3a0}'),
    ("Prime", '\u{2033}'), ("Psi", '\u{3a8}'), ("Rcaron", '\u{158}'), ("Rho", '\u{3a1}'),
    ("Sacute", '\u{15a}'), ("Scaron", '\u{160}'), ("Scedil", '\u{15e}'), ("Sigma", '\u{3a3}'),
    ("THORN", '\u{de}'), ("Tab", '\u{9}'), ("Tau", '\u{3a4}'), ("Tcaron", '\u{164}'), ("Tcedil", '\u{162}'),
    ("Theta", '\u{398}'), ("Uacute", '\u{da}'), ("Ucirc", '\u{db}'), ("Udblac", '\u{170}'),
    ("Ugrave", '\u{d9}'), ("Umacr", '\u{16a}'), ("Upsilon", '\u{3a5}'), ("Uring", '\u{16e}'),
    ("Uuml", '\u{dc}'), ("Xi", '\u{39e}'), ("Yacute", '\u{dd}'), ("Yuml", '\u{178}'), ("Zacute", '\u{179}'),
    ("Zcaron", '\u{17d}'), ("Zdot", '\u{17b}'), ("Zeta", '\u{396}'), ("aacute", '\u{e1}'),
    ("abreve", '\u{103}'), ("acirc", '\u{e2}'), ("acute", '\u{b4}'), ("aelig", '\u{e6}'),
    ("agrave", '\u{e0}'), ("alefsym", '\u{2135}'), ("alpha", '\u{3b1}'), ("amacr", '\u{101}'),
    ("amp", '\u{26}'), ("and", '\u{2227}'), ("ang", '\u{2220}'), ("aogon", '\u{105}'), ("apos", '\u{27}'),
    ("aring", '\u{e5}'), ("ast", '\u{2a}'), ("asymp", '\u{2248}'), ("atilde", '\u{e3}'), ("auml", '\u{e4}'),
    ("bdquo", '\u{201e}'), ("beta", '\u{3b2}'), ("brvbar", '\u{a6}'), ("bsol", '\u{5c}'),
    ("bull", '\u{2022}'), ("cacute", '\u{107}'), ("cap", '\u{2229}'), ("ccaron", '\u{10d}'),
    ("ccedil", '\u{e7}'), ("cedil", '\u{b8}'), ("cent", '\u{a2}'), ("chi", '\u{3c7}'), ("circ", '\u{2c6}'),
    ("clubs", '\u{2663}'), ("colon", '\u{3a}'), ("comma", '\u{2c}'), ("commat", '\u{40}'),
    ("cong", '\u{2245}'), ("copy", '\u{a9}'), ("crarr", '\u{21b5}'), ("cup", '\u{222a}'),
    ("curren", '\u{a4}'), ("dArr", '\u{21d3}'), ("dagger", '\u{2020}'), ("darr", '\u{2193}'),
    ("dash", '\u{2010}'), ("dcaron", '\u{10f}'), ("deg", '\u{b0}'), ("delta", '\u{3b4}'),
    ("diams", '\u{2666}'), ("divide", '\u{f7}'), ("dollar", '\u{24}'), ("dstrok", '\u{111}'),
    ("eacute", '\u{e9}'), ("ecaron", '\u{11b}'), ("ecirc", '\u{ea}'), ("egrave", '\u{e8}'),
    ("emacr", '\u{113}'), ("empty", '\u{2205}'), ("emsp", '\u{2003}'), ("ensp", '\u{2002}'),
    ("eogon", '\u{119}'), ("epsilon", '\u{3b5}'), ("equals", '\u{3d}'), ("equiv", '\u{2261}'),
    ("eta", '\u{3b7}'), ("eth", '\u{f0}'), ("euml", '\u{eb}'), ("euro", '\u{20ac}'), ("excl", '\u{21}'),
    ("exist", '\u{2203}'), ("fnof", '\u{192}'), ("forall", '\u{2200}'), ("frac12", '\u{bd}'),
    ("frac14", '\u{bc}'), ("frac34", '\u{be}'), ("frasl", '\u{2044}'), ("gamma", '\u{3b3}'),
    ("gbreve", '\u{11f}'), ("ge", '\u{2265}'), ("gt", '\u{3e}'), ("hArr", '\u{21d4}'), ("harr", '\u{2194}'),
    ("hearts", '\u{2665}'), ("hellip", '\u{2026}'), ("hyphen", '\u{2010}'), ("iacute", '\u{ed}'),
    ("icirc", '\u{ee}'), ("iexcl", '\u{a1}'), ("igrave", '\u{ec}'), ("imacr", '\u{12b}'),
    ("image", '\u{2111}'), ("infin", '\u{221e}'), ("inodot", '\u{131}'), ("int", '\u{222b}'),
    ("iota", '\u{3b9}'), ("iquest", '\u{bf}'), ("isin", '\u{2208}'), ("iuml", '\u{ef}'),
    ("kappa", '\u{3ba}'), ("lArr", '\u{21d0}'), ("lambda", '\u{3bb}'), ("lang", '\u{2329}'),
    ("laquo", '\u{ab}'), ("larr", '\u{2190}'), ("lbrace", '\u{7b}'), ("lbrack", '\u{5b}'),
    ("lceil", '\u{2308}'), ("lcub", '\u{7b}'), ("ldquo", '\u{201c}'), ("ldquor", '\u{201e}'),
    ("le", '\u{2264}'), ("lfloor", '\u{230a}'), ("lowast", '\u{2217}'), ("lowbar", '\u{5f}'),
    ("loz", '\u{25ca}'), ("lpar", '\u{28}'), ("lrm", '\u{200e}'), ("lsaquo", '\u{2039}'),
    ("lsqb", '\u{5b}'), ("lsquo", '\u{2018}'), ("lsquor", '\u{201a}'), ("lstrok", '\u{142}'),
    ("lt", '\u{3c}'), ("macr", '\u{af}'), ("mdash", '\u{2014}'), ("micro", '\u{b5}'), ("middot", '\u{b7}'),
    ("minus", '\u{2212}'), ("mu", '\u{3bc}'), ("nabla", '\u{2207}'), ("nacute", '\u{144}'),
    ("nbsp", '\u{a0}'), ("ncaron", '\u{148}'), ("ndash", '\u{2013}'), ("ne", '\u{2260}'),
    ("ni", '\u{220b}'), ("not", '\u{ac}'), ("notin", '\u{2209}'), ("nsub", '\u{2284}'),
    ("ntilde", '\u{f1}'), ("nu", '\u{3bd}'), ("num", '\u{23}'), ("oacute", '\u{f3}'), ("ocirc", '\u{f4}'),
    ("odblac", '\u{151}'), ("oelig", '\u{153}'), ("ograve", '\u{f2}'), ("oline", '\u{203e}'),
    ("omacr", '\u{14d}'), ("omega", '\u{3c9}'), ("omicron", '\u{3bf}'), ("oplus", '\u{2295}'),
    ("or", '\u{2228}'), ("ordf", '\u{aa}'), ("ordm", '\u{ba}'), ("oslash", '\u{f8}'), ("otilde", '\u{f5}'),
    ("otimes", '\u{2297}'), ("ouml", '\u{f6}'), ("para", '\u{b6}'), ("part", '\u{2202}'),
    ("percnt", '\u{25}'), ("period", '\u{2e}'), ("permil", '\u{2030}'), ("perp", '\u{22a5}'),
    ("phi", '\u{3c6}'), ("pi", '\u{3c0}'), ("piv", '\u{3d6}'), ("plus", '\u{2b}'), ("plusmn", '\u{b1}'),
    ("pound", '\u{a3}'), ("prime", '\u{2032}'), ("prod", '\u{220f}'), ("prop", '\u{221d}'),
    ("psi", '\u{3c8}'), ("quest", '\u{3f}'), ("quot", '\u{22}'), ("rArr", '\u{21d2}'),
    ("radic", '\u{221a}'), ("rang", '\u{232a}'), ("raquo", '\u{bb}'), ("rarr", '\u{2192}'),
    ("rbrace", '\u{7d}'), ("rbrack", '\u{5d}'), ("rcaron", '\u{159}'), ("rceil", '\u{2309}'),
    ("rcub", '\u{7d}'), ("rdquo", '\u{201d}'), ("real", '\u{211c}'), ("reg", '\u{ae}'),
    ("rfloor", '\u{230b}'), ("rho", '\u{3c1}'), ("rlm", '\u{200f}'), ("rpar", '\u{29}'),
    ("rsaquo", '\u{203a}'), ("rsqb", '\u{5d}'), ("rsquo", '\u{2019}'), ("sacute", '\u{15b}'),
    ("sbquo", '\u{201a}'), ("scaron", '\u{161}'), ("scedil", '\u{15f}'), ("sdot", '\u{22c5}'),
    ("sect", '\u{a7}'), ("semi", '\u{3b}'), ("shy", '\u{ad}'), ("sigma", '\u{3c3}'), ("sigmaf", '\u{3c2}'),
    ("sim", '\u{223c}'), ("sol", '\u{2f}'), ("spades", '\u{2660}'), ("sub", '\u{2282}'),
    ("sube", '\u{2286}'), ("sum", '\u{2211}'), ("sup", '\u{2283}'), ("sup1", '\u{b9}'), ("sup2", '\u{b2}'),
    ("sup3", '\u{b3}'), ("supe", '\u{2287}'), ("szlig", '\u{df}'), ("tau", '\u{3c4}'),
    ("tcaron", '\u{165}'), ("tcedil", '\u{163}'), ("there4", '\u{2234}'), ("theta", '\u{3b8}'),
    ("thetasym", '\u{3d1}'), ("thinsp", '\u{2009}'), ("thorn", '\u{fe}'), ("tilde", '\u{2dc}'),
    ("times", '\u{d7}'), ("trade", '\u{2122}'), ("uArr", '\u{21d1}'), ("uacute", '\u{fa}'),
    ("uarr", '\u{2191}'), ("ucirc", '\u{fb}'), ("udblac", '\u{171}'), ("ugrave", '\u{f9}'),
    ("umacr", '\u{16b}'), ("uml", '\u{a8}'), ("upsih", '\u{3d2}'), ("upsilon", '\u{3c5}'),
    ("uring", '\u{16f}'), ("uuml", '\u{fc}'), ("verbar", '\u{7c}'), ("vert", '\u{7c}'),
    ("weierp", '\u{2118}'), ("xi", '\u{3be}'), ("yacute", '\u{fd}'), ("yen", '\u{a5}'), ("yuml", '\u{ff}'),
    ("zacute", '\u{17a}'), ("zcaron", '\u{17e}'), ("zdot", '\u{17c}'), ("zeta", '\u{3b6}'),
    ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entities_are_sorted() {
        assert!(NAMED_ENTITIES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn html_pages() {
        for (page, text) in [
            ("<p>one<p>two", "one\ntwo"),
            ("<b>bold</b>face <i>and</i> more", "boldface and more"),
            (
                "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style><meta name=x></head>\
                 <body><h1>Head</h1>text<br>line<script>if (a < b) '</p>'</script> end</body></html>",
                "A & B\nHead\ntext\nline\n end\n",
            ),
            ("<!-- a > b -->x<!-->-->", "x"),
            (
                "caf&eacute; &#233; &#xE9; &#150; &nbsp;|&shy;soft &unknown; &amp",
                "café é é –  |soft &unknown; &",
            ),
            ("a < b and 1<2 <3", "a < b and 1<2 <3"),
            ("<p title='a > b' data-x=\"<p>\">in</p>", "in\n"),
            ("<p title='never closed>in</p>", "in\n"),
            ("it's <a href=x>what's</a> there", "it's what's there"),
            ("<SCRIPT>no</Script>yes", "yes"),
            ("<script>never closed", ""),
            ("<svg><text>no</text></svg>yes", "yes"),
            ("", ""),
        ] {
            let found = html_text(page);
            assert_eq!(found.trim_start_matches('\n'), text, "{page}");
        }
    }

    #[test]
    fn xml_documents() {
        for (document, text) in [
            ("<?xml version=\"1.0\"?><a><b>one</b><b>two</b></a>", "one\ntwo\n"),
            ("<a><![CDATA[x < y & z]]></a>", "x < y & z\n"),
            (
                "<TEI xmlns=\"http://www.tei-c.org/ns/1.0\"><teiHeader><title>not this</title></teiHeader>\
                 <text><body><p>Wort<hi>art</hi> hier</p></body></text></TEI>",
                "Wortart hier\n",
            ),
            ("<tei:TEI><tei:teiHeader>x</tei:teiHeader><tei:p>y</tei:p></tei:TEI>", "y\n"),
            ("<!DOCTYPE a [<!ENTITY x \"y\">]><a>z</a>", "z\n"),
        ] {
            assert_eq!(xml_text(document).0, text, "{document}");
        }
    }

    #[test]
    fn u5_markup_in_cells() {
        for (text, expected) in [
            ("<p>Hello <b>world</b></p>", " Hello world "),
            ("great.<br /><br />I &amp; you<a href=\"x\">link</a>&nbsp;end", "great.  I & youlink end"),
            ("a<script>var x = '<p>';</script>b", "a  b"),
            ("&lt;br&gt;word &lt;i&gt;x&lt;/i&gt;", " word x"),
            ("soft&shy;ware <!-- no -->x", "software  x"),
        ] {
            assert_eq!(strip_html(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "a < b and c > d",
            "vector<a> and List<String>",
            "<unk> word <eos>",
            "AT&T &c. fish&chips",
            "Joe <joe@example.com>",
            "i<b and c>d",
            "<",
            "</",
            "&",
            "<p",
        ] {
            assert_eq!(strip_html(text), None, "{text}");
        }
    }

    #[test]
    fn word_documents() {
        let xml = "<w:document><w:body><w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t xml:space=\"preserve\">lo \
                   </w:t></w:r><w:r><w:instrText>PAGE</w:instrText><w:delText>gone</w:delText></w:r></w:p>\
                   <w:p><w:t>a&amp;b</w:t><w:tab/><w:t>c</w:t></w:p></w:body></w:document>";
        assert_eq!(word_text(xml), "Hello \na&b\tc\n");
        assert!(docx_text(b"PK\x03\x04 nothing", 100).unwrap_err().contains("damaged"));
    }

    #[test]
    fn declared_encodings() {
        for (start, name) in [
            ("<?xml version='1.0' encoding='ISO-8859-2'?>", Some("ISO-8859-2")),
            ("<meta charset=windows-1251>", Some("windows-1251")),
            ("<meta content=\"text/html; charset=Shift_JIS\">", Some("Shift_JIS")),
            ("<?xml version=\"1.0\" encoding=\"UTF-16\"?>", Some("UTF-8")),
            ("<p>charset", None),
        ] {
            assert_eq!(declared_encoding(start.as_bytes()).map(TextEncoding::name), name, "{start}");
        }
    }

    proptest! {
        #[test]
        fn any_markup_is_read(text in "([<>/&;!?'\"= \\-#xXa-c\u{e9}\\[\\]]|<!--|-->|<!\\[CDATA\\[|]]>|<script>|</title>|<title>){0,60}") {
            html_text(&text);
            strip_html(&text);
            xml_text(&text);
            word_text(&text);
            declared_encoding(text.as_bytes());
        }

        #[test]
        fn any_bytes_are_no_word_document(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(docx_text(&bytes, 1000).is_err());
        }
    }
}
