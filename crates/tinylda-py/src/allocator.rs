//! The allocator of the extension module, which returns large buffers to the system when they are
//! freed.
//!
//! The C library keeps freed buffers of up to 32 MiB for later, so that a process is larger than
//! its data and exceeds the memory that was granted. The program changes the settings of the
//! allocator; an extension module must not, since they are those of the whole Python process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Size in bytes from which a buffer gets its own memory pages.
const LARGE: usize = 256 << 10;
/// The smallest size of a memory page: mapped buffers are aligned to at least this.
const PAGE: usize = 4 << 10;

/// Maps large buffers into memory by themselves and leaves small ones to the C library.
struct Allocator;

/// Returns whether a buffer is mapped by itself. A buffer is freed with the layout it was created
/// with, so that the answer is the same then.
fn is_mapped(layout: Layout) -> bool {
    cfg!(target_os = "linux") && layout.size() >= LARGE && layout.align() <= PAGE
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "three calls of the operating system")]
mod pages {
    use std::ptr;

    /// Maps `bytes` bytes of zeros. Returns null if there is too little memory.
    pub(super) fn map(bytes: usize) -> *mut u8 {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping that no other code knows of.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        if mapped == libc::MAP_FAILED { ptr::null_mut() } else { mapped.cast() }
    }

    /// Unmaps a buffer.
    ///
    /// # Safety
    ///
    /// `buffer` was returned by [`map`] or [`remap`] for `bytes` bytes and is not used any more.
    pub(super) unsafe fn unmap(buffer: *mut u8, bytes: usize) {
        // SAFETY: see above.
        unsafe { libc::munmap(buffer.cast(), bytes) };
    }

    /// Changes the size of a buffer without copying. Returns null, and leaves the buffer as it is,
    /// if there is too little memory.
    ///
    /// # Safety
    ///
    /// `buffer` was returned by [`map`] or [`remap`] for `bytes` bytes; it is replaced by the
    /// result unless that is null.
    pub(super) unsafe fn remap(buffer: *mut u8, bytes: usize, new_bytes: usize) -> *mut u8 {
        // SAFETY: see above.
        let mapped = unsafe { libc::mremap(buffer.cast(), bytes, new_bytes, libc::MREMAP_MAYMOVE) };
        if mapped == libc::MAP_FAILED { ptr::null_mut() } else { mapped.cast() }
    }
}

#[cfg(not(target_os = "linux"))]
mod pages {
    pub(super) fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
    pub(super) unsafe fn unmap(_: *mut u8, _: usize) {}
    pub(super) unsafe fn remap(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

// SAFETY: every buffer comes from the operating system or from `System`, and `is_mapped` says from
// which by its layout alone. Mapped buffers are aligned to pages.
#[allow(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return pages::map(layout.size());
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return pages::map(layout.size());
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, buffer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract; the buffer comes from where it is returned to.
        unsafe {
            if is_mapped(layout) {
                pages::unmap(buffer, layout.size());
            } else {
                System.dealloc(buffer, layout);
            }
        }
    }

    unsafe fn realloc(&self, buffer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new layout is valid.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the buffer comes from where it is resized or returned to, and copies do not
        // exceed the smaller of both buffers, which do not overlap.
        unsafe {
            match (is_mapped(layout), is_mapped(new_layout)) {
                (false, false) => System.realloc(buffer, layout, new_size),
                (true, true) => pages::remap(buffer, layout.size(), new_size),
                _ => {
                    let new_buffer = self.alloc(new_layout);
                    if !new_buffer.is_null() {
                        ptr::copy_nonoverlapping(buffer, new_buffer, layout.size().min(new_size));
                        self.dealloc(buffer, layout);
                    }
                    new_buffer
                }
            }
        }
    }
}
