//! The error of a build without an optional cargo feature.

use std::io;
use std::path::Path;

use crate::error::Error;

/// Returns the error for a file that needs a cargo feature this build lacks. `action` is `read` or
/// `write`.
pub(crate) fn missing_feature(feature: &str, action: &'static str, path: &Path) -> Error {
    let text = format!("this build of tinylda lacks the feature `{feature}`");
    Error::io(action, path)(io::Error::new(io::ErrorKind::Unsupported, text))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crate::corpus::ingest::Import;
    use crate::table::{Column, Table, TableFormat};

    #[test]
    fn input_of_a_missing_feature_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("input"), folder.path().join("out.tlc"));
        for (built, feature, bytes) in [
            (cfg!(feature = "text"), "text", &b"some text\n"[..]),
            (cfg!(feature = "text"), "text", b"{\"text\": \"a\"}\n"),
            (cfg!(feature = "parquet"), "parquet", b"PAR1"),
            (cfg!(feature = "hdf5"), "hdf5", b"\x89HDF\r\n\x1a\n"),
            (cfg!(feature = "npz"), "npz", b"PK\x03\x04"),
            (cfg!(feature = "compression"), "compression", b"\x1f\x8b\x08"),
            (cfg!(feature = "compression"), "compression", b"\xfd7zXZ\0"),
        ] {
            std::fs::write(&input, bytes).unwrap();
            let result = Import::default().run(&input, &output, &mut |_| ControlFlow::Continue(()));
            let named = result.is_err_and(|e| {
                let text = e.to_string();
                text.contains("input") && text.contains(&format!("lacks the feature `{feature}`"))
            });
            assert_eq!(named, !built, "{feature}");
        }
        let folder_of_texts =
            Import::default().run(folder.path(), &output, &mut |_| ControlFlow::Continue(()));
        assert!(cfg!(feature = "text") || folder_of_texts.is_err());
    }

    #[test]
    fn output_of_a_missing_feature_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let table = Table::create(&path, TableFormat::Parquet, &[Column::float("x")]);
        let named = table.is_err_and(|e| e.to_string().contains("lacks the feature `parquet`"));
        assert_eq!(named, cfg!(not(feature = "parquet")));
        assert!(!path.exists());
    }
}
