//! What the operating system says of this process and this machine.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns memory that was freed, but that the allocator still holds, to the system.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn release_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time; it touches only memory that nobody has.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes all threads share one heap: what one thread frees another can use then, and less memory is reserved. Has to be called
/// before the first thread starts.
#[allow(unsafe_code, reason = "one call of the C library")]
pub(crate) fn share_one_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number that the allocator looks at when a thread first asks for memory.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A line such as `VmHWM:  1234 kB`, in bytes.
fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The most memory this process has had resident so far, where the system tells.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM")
}

/// The memory that can still be used: what the system has free, within the limits of the control groups.
pub(crate) fn available_bytes() -> Option<u64> {
    let free = kilobytes("/proc/meminfo", "MemAvailable");
    control_groups().iter().filter_map(|group| left_in(group)).chain(free).min()
}

/// What the processor is called, where the system tells.
pub(crate) fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Those of the signals that end a process which it was started to ignore, as `nohup` does.
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

/// What is free on the disk of a folder, or where it will be.
pub(crate) fn free_on_disk(folder: &Path) -> Option<u64> {
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

/// The memory that the machine has, or the control groups allow.
pub(crate) fn total_bytes() -> Option<u64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let limit = |group: &PathBuf| {
        number(group.join("memory.max")).or_else(|| number(group.join("memory.limit_in_bytes")))
    };
    control_groups().iter().filter_map(limit).chain(kilobytes("/proc/meminfo", "MemTotal")).min()
}

/// What a control group has left; what it holds of files can be given back and counts as free.
fn left_in(folder: &Path) -> Option<u64> {
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

/// The folders of this process's control groups and of those around them, versions 1 and 2.
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
