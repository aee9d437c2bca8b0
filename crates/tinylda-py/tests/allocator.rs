//! The allocator of the extension module, in a separate process: the extension module itself can
//! only be loaded by Python.

#[path = "../src/allocator.rs"]
mod allocator;

/// Returns the byte at a position of a buffer with recognizable content.
fn content(at: usize) -> u8 {
    (at % 251) as u8
}

/// Checks that a buffer has its content.
fn assert_content(buffer: &[u8]) {
    assert!(buffer.iter().enumerate().all(|(at, &byte)| byte == content(at)));
}

/// Buffers keep their content when they grow and shrink across the size from which they are mapped.
#[test]
fn buffers_keep_their_content_across_the_limit() {
    const LIMIT: usize = 256 << 10;
    let sizes = [100, LIMIT - 1, LIMIT, LIMIT + 1, 10 * LIMIT, 2 * LIMIT, LIMIT - 1, 1, 3 * LIMIT, LIMIT, 64];
    let mut buffer: Vec<u8> = Vec::new();
    for size in sizes {
        buffer.truncate(size);
        buffer.shrink_to_fit();
        assert_content(&buffer);
        buffer.reserve_exact(size - buffer.len());
        buffer.extend((buffer.len()..size).map(content));
        assert_eq!(buffer.len(), size);
        assert_content(&buffer);
    }
}

/// Zeroed buffers consist of zeros, also if memory is used again, and alignments are kept.
#[test]
fn zeroed_and_aligned_buffers() {
    #[repr(align(64))]
    #[derive(Clone)]
    struct Line([u8; 64]);
    for size in [1 << 10, 200 << 10, 256 << 10, 1 << 20] {
        let dirty = vec![1u8; size];
        drop(dirty);
        assert!(vec![0u8; size].iter().all(|&byte| byte == 0));
        let lines = vec![Line([7; 64]); size / 64];
        assert_eq!(lines.as_ptr() as usize % 64, 0);
        assert!(lines.iter().all(|line| line.0 == [7; 64]));
    }
}

/// A large buffer that was freed does not stay in the process.
#[cfg(target_os = "linux")]
#[test]
fn large_buffers_are_returned() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0)
    };
    let before = resident();
    let buffers: Vec<Vec<u8>> = (0..64).map(|_| vec![1; 1 << 20]).collect();
    assert!(resident() > before + (48 << 10));
    drop(buffers);
    assert!(resident() < before + (16 << 10), "{} KiB, before {before} KiB", resident());
}
