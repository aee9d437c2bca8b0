//! Memory asked of the system, and given back to it.

use crate::error::{Error, Result};

/// One part in so many of a memory ceiling is left free: what the allocator needs besides cannot be counted.
pub(crate) const SLACK: u64 = 28;

/// What the allocator takes besides so many bytes of buffers: holes between lists that grow and shrink, up to a limit, since large
/// lists leave none.
pub(crate) fn allocator_overhead(buffers: u64) -> u64 {
    buffers.min(16 << 20) / 4 + (768 << 10)
}

/// What a thread takes, apart from what it works with.
pub(crate) const THREAD: u64 = 96 << 10;

/// A vector with room for so many; a refusal of the system is an error and not the end of the process.
pub(crate) fn room<T>(length: u64) -> Result<Vec<T>> {
    let mut room = Vec::new();
    let fits = usize::try_from(length).is_ok_and(|length| room.try_reserve_exact(length).is_ok());
    if !fits {
        return Err(Error::Allocation {
            bytes: length.saturating_mul(size_of::<T>() as u64),
            remedy: "reduce {topics}, or use a smaller corpus or vocabulary".into(),
        });
    }
    Ok(room)
}

/// Gives back what was freed and is still held: many small pieces make room for one large one.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time; it touches only memory that nobody has.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// What this process has resident now, where the system tells.
pub(crate) fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * page())
}

#[allow(unsafe_code, reason = "one call of the C library")]
fn page() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: asks for a constant of the system.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let page = 4096;
    page
}
