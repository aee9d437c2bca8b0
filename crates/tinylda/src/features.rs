//! What a build without one of the cargo features answers.

use std::io;
use std::path::Path;

use crate::error::Error;

/// The error for a file that cannot be read or written (`action`) without a cargo feature.
pub(crate) fn missing(feature: &str, action: &'static str, path: &Path) -> Error {
    let text = format!("this build of tinylda lacks the feature `{feature}`");
    Error::io(action, path)(io::Error::new(io::ErrorKind::Unsupported, text))
}
