//! What the operating system says of this process and this machine.

use std::fs;
use std::path::Path;

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

/// The memory that can still be used: what the system has free, within the limits of the control group.
pub(crate) fn available_bytes() -> Option<u64> {
    let free = kilobytes("/proc/meminfo", "MemAvailable");
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let within = |limit: &str, used: &str| {
        let folder = control_group()?;
        Some(number(&folder.join(limit))?.saturating_sub(number(&folder.join(used))?))
    };
    [free, within("memory.max", "memory.current")].into_iter().flatten().min()
}

/// The folder of this process's control group (version 2).
fn control_group() -> Option<std::path::PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new("/sys/fs/cgroup").join(name.trim_start_matches('/')))
}
