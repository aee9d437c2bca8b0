//! Information from the operating system about this process and this machine, and settings of the
//! allocator and of signals.
//!
//! Most of it is read from `/proc` and from control groups; where these are missing, the functions
//! return `None`.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns freed memory that the allocator still holds to the operating system.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time; it affects only memory that is not in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes all threads share one heap, so that memory freed by one thread can be reused by another
/// and less memory is reserved. Must be called before the first thread starts.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn use_single_malloc_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number that the allocator reads when a thread first allocates memory.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Makes the allocator return large buffers to the system as soon as they are freed. Otherwise it
/// keeps freed buffers of up to 32 MiB for later, and the process is larger than its data.
#[allow(unsafe_code, reason = "two calls of the C library")]
pub(crate) fn return_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets numbers that the allocator reads when memory is allocated or freed.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 20);
    }
}

/// Reads a line such as `VmHWM:  1234 kB` and returns its value in bytes.
fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Returns the peak resident memory of this process in bytes.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM")
}

/// Returns the memory that can still be used, in bytes: the free memory of the system, within the
/// limits of the control groups.
pub(crate) fn available_bytes() -> Option<u64> {
    let free = kilobytes("/proc/meminfo", "MemAvailable");
    control_groups().iter().filter_map(|group| remaining_in(group)).chain(free).min()
}

/// Returns the model name of the processor.
pub(crate) fn processor_name() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns which of SIGHUP, SIGINT and SIGTERM were ignored when the process was started, as
/// `nohup` does.
pub(crate) fn ignored_signals() -> Vec<i32> {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // SIGHUP, SIGINT and SIGTERM.
    [1, 2, 15].into_iter().filter(|signal| mask >> (signal - 1) & 1 == 1).collect()
}

/// Ignores signals again, after a handler was set for them.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn ignore(signals: &[i32]) {
    #[cfg(unix)]
    for &signal in signals {
        // SAFETY: ignoring a signal runs no code of ours.
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    #[cfg(not(unix))]
    let _ = signals;
}

/// Returns the free bytes on the disk of a folder that need not exist yet.
pub(crate) fn free_disk_bytes(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|path| path.exists());
    let there = there.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(there).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = there;
        None
    }
}

/// Returns the memory of the machine in bytes, or the limit of the control groups if that is lower.
pub(crate) fn total_bytes() -> Option<u64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = |group: &PathBuf| {
        number(group.join("memory.max")).or_else(|| number(group.join("memory.limit_in_bytes")))
    };
    control_groups().iter().filter_map(limit).chain(kilobytes("/proc/meminfo", "MemTotal")).min()
}

/// Returns the remaining memory of a control group in bytes. Cached files count as free, since
/// their memory can be reclaimed.
fn remaining_in(folder: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let files: u64 = statistics
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| matches!(*name, "inactive_file" | "active_file"))
        .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
        .sum();
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

/// Returns the folders of this process's control groups and of their parents, for versions 1 and 2.
fn control_groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(name)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            list if list.split(',').any(|c| c == "memory") => Path::new("/sys/fs/cgroup/memory"),
            _ => continue,
        };
        let own = root.join(name.trim_start_matches('/'));
        folders.extend(own.ancestors().take_while(|folder| folder.starts_with(root)).map(Path::to_path_buf));
    }
    folders
}
