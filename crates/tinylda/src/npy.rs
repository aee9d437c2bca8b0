//! The header of NumPy array files (`.npy`). `.npz` archives consist of such files.

/// Returns the header of an array file in NumPy's format version 1.0.
///
/// `dtype` is NumPy's notation, such as `<f4`, and `shape` a Python tuple, such as `(3, 4)`. The
/// length of the header is a multiple of 64.
pub(crate) fn npy_header(dtype: &str, shape: &str) -> Vec<u8> {
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    // The magic number, the version and the length take 10 bytes; the last byte is a line feed.
    let padding = 63 - (text.len() + 10) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_padded_to_64_bytes() {
        for shape in ["()", "(3,)", "(1234567890, 100)", "(18446744073709551615, 18446744073709551615)"] {
            let header = npy_header("<f4", shape);
            assert_eq!(header.len() % 64, 0);
            assert_eq!(usize::from(u16::from_le_bytes([header[8], header[9]])), header.len() - 10);
            assert!(header.ends_with(b"\n"));
            assert!(String::from_utf8_lossy(&header).contains(shape));
        }
    }
}
