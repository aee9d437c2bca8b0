//! File formats that are recognised but not read: what they are, and how to convert them.
//!
//! Start with [`foreign_format`]. The formats are recognised by their first bytes.

use std::path::Path;

/// File format that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForeignFormat {
    /// Name with an article, such as `a PDF document`.
    pub(crate) name: &'static str,
    /// How to convert the file.
    pub(crate) remedy: &'static str,
}

const TEXT_REMEDY: &str = "convert it to text first, for instance with LibreOffice or pandoc";
const TABLE_REMEDY: &str = "save it as CSV first, for instance with LibreOffice";
const UNPACK_REMEDY: &str = "unpack it first, and give the folder with its files";

const PDF: ForeignFormat = ForeignFormat {
    name: "a PDF document",
    remedy: "extract its text with pdftotext first; scanned pages need OCR, for instance with ocrmypdf",
};
const POSTSCRIPT: ForeignFormat =
    ForeignFormat { name: "a PostScript document", remedy: "extract its text with ps2ascii first" };
const RTF: ForeignFormat = ForeignFormat { name: "a Rich Text document", remedy: TEXT_REMEDY };
const OLD_WORD: ForeignFormat = ForeignFormat { name: "an old Word document", remedy: TEXT_REMEDY };
const OLD_EXCEL: ForeignFormat = ForeignFormat { name: "an old Excel workbook", remedy: TABLE_REMEDY };
const OLD_OFFICE: ForeignFormat = ForeignFormat { name: "an old Office document", remedy: TEXT_REMEDY };
const EXCEL: ForeignFormat = ForeignFormat { name: "an Excel workbook", remedy: TABLE_REMEDY };
const POWERPOINT: ForeignFormat = ForeignFormat { name: "a PowerPoint presentation", remedy: TEXT_REMEDY };
const SPREADSHEET: ForeignFormat =
    ForeignFormat { name: "an OpenDocument spreadsheet", remedy: TABLE_REMEDY };
const OPEN_DOCUMENT: ForeignFormat = ForeignFormat { name: "an OpenDocument text", remedy: TEXT_REMEDY };
const EPUB: ForeignFormat =
    ForeignFormat { name: "an EPUB book", remedy: "convert it to text first, for instance with pandoc" };
const TAR: ForeignFormat = ForeignFormat { name: "a tar archive", remedy: UNPACK_REMEDY };
const SEVEN_ZIP: ForeignFormat = ForeignFormat { name: "a 7z archive", remedy: UNPACK_REMEDY };
const RAR: ForeignFormat = ForeignFormat { name: "a RAR archive", remedy: UNPACK_REMEDY };
const LZ4: ForeignFormat = ForeignFormat { name: "an LZ4 file", remedy: "decompress it with lz4 first" };
const SQLITE: ForeignFormat =
    ForeignFormat { name: "an SQLite database", remedy: "export the table with the texts as CSV first" };
const ARROW: ForeignFormat =
    ForeignFormat { name: "an Arrow or Feather table", remedy: "save it as Parquet or CSV first" };
const R_DATA: ForeignFormat =
    ForeignFormat { name: "R data", remedy: "save the table as CSV with write.csv first" };
const IMAGE: ForeignFormat = ForeignFormat {
    name: "an image",
    remedy: "extract its text with OCR first, for instance with tesseract",
};
const MEDIA: ForeignFormat =
    ForeignFormat { name: "an audio or video file", remedy: "give a transcript instead" };

/// First bytes of foreign formats.
const FOREIGN_MAGICS: [(&[u8], ForeignFormat); 18] = [
    (b"%PDF-", PDF),
    (b"\xef\xbb\xbf%PDF-", PDF),
    (b"%!PS", POSTSCRIPT),
    (b"{\\rtf", RTF),
    (b"7z\xbc\xaf\x27\x1c", SEVEN_ZIP),
    (b"Rar!\x1a\x07", RAR),
    (b"\x04\x22\x4d\x18", LZ4),
    (b"SQLite format 3\0", SQLITE),
    (b"ARROW1", ARROW),
    (b"FEA1", ARROW),
    (b"RDX2\n", R_DATA),
    (b"RDX3\n", R_DATA),
    (b"\x89PNG\r\n\x1a\n", IMAGE),
    (b"\xff\xd8\xff", IMAGE),
    (b"GIF8", IMAGE),
    (b"ID3", MEDIA),
    (b"OggS", MEDIA),
    (b"\x1a\x45\xdf\xa3", MEDIA),
];

/// First bytes of the documents of older Office programs.
const OLE_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Recognises a format that cannot be read from the first bytes of a file. The name tells apart
/// formats that begin in the same way.
pub(crate) fn foreign_format(start: &[u8], name: &Path) -> Option<ForeignFormat> {
    if start.starts_with(OLE_MAGIC) {
        let ending = name.extension().unwrap_or_default().to_ascii_lowercase();
        return Some(match ending.to_str() {
            Some("doc" | "dot") => OLD_WORD,
            Some("xls" | "xlt") => OLD_EXCEL,
            _ => OLD_OFFICE,
        });
    }
    if start.get(257..262) == Some(b"ustar") {
        return Some(TAR);
    }
    FOREIGN_MAGICS.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, format)| format)
}

/// Recognises a format that is a zip archive of other files, from the names of its members.
pub(crate) fn foreign_zip<'n>(names: &(impl Iterator<Item = &'n str> + Clone)) -> Option<ForeignFormat> {
    let has = |test: &dyn Fn(&str) -> bool| names.clone().any(test);
    if has(&|name| name == "xl/workbook.xml" || name == "xl/workbook.bin") {
        Some(EXCEL)
    } else if has(&|name| name == "ppt/presentation.xml") {
        Some(POWERPOINT)
    } else if has(&|name| name == "META-INF/container.xml") && has(&|name| name == "mimetype") {
        Some(EPUB)
    } else if has(&|name| name == "META-INF/manifest.xml") && has(&|name| name == "content.xml") {
        Some(OPEN_DOCUMENT)
    } else {
        None
    }
}

/// Returns the format of an OpenDocument file from its media type.
pub(crate) fn open_document(media_type: &str) -> ForeignFormat {
    if media_type.contains("spreadsheet") { SPREADSHEET } else { OPEN_DOCUMENT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (start, name, format) in [
            (&b"%PDF-1.7"[..], "a.pdf", Some(PDF)),
            (b"{\\rtf1", "a.rtf", Some(RTF)),
            (OLE_MAGIC, "a.DOC", Some(OLD_WORD)),
            (OLE_MAGIC, "a.xls", Some(OLD_EXCEL)),
            (OLE_MAGIC, "a", Some(OLD_OFFICE)),
            (&tar, "a.tar", Some(TAR)),
            (b"plain text", "a.pdf", None),
            (b"", "", None),
        ] {
            assert_eq!(foreign_format(start, Path::new(name)), format, "{name}");
        }
        let zip = |names: &[&'static str]| foreign_zip(&names.iter().copied());
        assert_eq!(zip(&["[Content_Types].xml", "xl/workbook.xml"]), Some(EXCEL));
        assert_eq!(zip(&["mimetype", "META-INF/container.xml"]), Some(EPUB));
        assert_eq!(zip(&["a.txt", "b/c.txt"]), None);
    }
}
