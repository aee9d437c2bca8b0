//! The process's memory: estimates of what the allocator takes besides the data, allocation that
//! reports failure as an error, and resident memory as the operating system sees it.
//!
//! This module knows nothing about algorithms or corpora; `train/plan.rs` and `store` use it to
//! stay below a memory limit.

use crate::error::{Error, Result};

/// Fraction of a memory limit that is left free, as a divisor: 1/28. It covers overhead of the
/// allocator that cannot be computed.
pub(crate) const SLACK_DIVISOR: u64 = 28;

/// Returns the estimated overhead of the allocator, in bytes, for `buffers` bytes of buffers.
///
/// The overhead is fragmentation between lists that grow and shrink. It is bounded, since large
/// lists cause none.
pub(crate) fn allocator_overhead(buffers: u64) -> u64 {
    buffers.min(16 << 20) / 4 + (768 << 10)
}

/// Bytes of memory that a thread takes, apart from its working buffers.
pub(crate) const BYTES_PER_THREAD: u64 = 96 << 10;

/// Returns an empty vector with capacity for `length` elements.
///
/// A failed allocation is an [`Error::Allocation`] and does not abort the process.
pub(crate) fn try_with_capacity<T>(length: u64) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    let fits = usize::try_from(length).is_ok_and(|length| vector.try_reserve_exact(length).is_ok());
    if !fits {
        return Err(Error::Allocation {
            bytes: length.saturating_mul(size_of::<T>() as u64),
            remedy: "reduce {topics}, or use a smaller corpus or vocabulary".into(),
        });
    }
    Ok(vector)
}

/// Returns freed heap memory to the operating system (`malloc_trim`).
///
/// Without it, many small freed blocks stay resident while one large block is allocated elsewhere.
#[allow(unsafe_code, reason = "one call of the C library")]
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called at any time and only releases memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the resident memory of this process in bytes; `None` where `/proc` is not available.
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * page_size())
}

/// Returns the size of a memory page in bytes.
#[allow(unsafe_code, reason = "one call of the C library")]
fn page_size() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `sysconf` with `_SC_PAGESIZE` only returns a constant.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let page = 4096;
    page
}
