//! Memory that is free goes back to the system.

/// Gives back what was freed and is still held: many small pieces make room for one large one.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time; it touches only memory that nobody has.
    unsafe {
        libc::malloc_trim(0);
    }
}
