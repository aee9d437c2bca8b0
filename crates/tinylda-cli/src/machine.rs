//! Information from the operating system about this process and this machine, and settings of the
//! allocator and of signals.
//!
//! Most of it is read from `/proc` and from control groups; where these are missing, the functions
//! return `None`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Removes the pages of the program file and its libraries from memory that are only read. Those
/// that are needed again are read again, mostly from the system's cache.
///
/// Called before the main work of a command: the code that parses options or imports text, and the
/// tables for loading the program, then take no memory beside the data.
#[allow(unsafe_code, reason = "calls of the C library")]
pub(crate) fn release_program_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `release_segments` has the signature that is called for each loaded file.
    unsafe {
        libc::dl_iterate_phdr(Some(release_segments), std::ptr::null_mut());
    }
}

/// Releases the pages of one loaded file; called by `dl_iterate_phdr`.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "reads a structure of the C library and calls it")]
unsafe extern "C" fn release_segments(
    file: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid structure and its list of segments.
    let (base, segments) = unsafe {
        let file = &*file;
        (file.dlpi_addr, std::slice::from_raw_parts(file.dlpi_phdr, usize::from(file.dlpi_phnum)))
    };
    for segment in segments {
        let only_read = segment.p_flags & libc::PF_W == 0 && segment.p_filesz == segment.p_memsz;
        if segment.p_type != libc::PT_LOAD || !only_read {
            continue;
        }
        // SAFETY: only returns a constant.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let start = (base + segment.p_vaddr) & !(page - 1);
        let length = base + segment.p_vaddr + segment.p_memsz - start;
        // SAFETY: the range is a mapping of the file that was never written to, so that the same
        // content is read from the file when it is used again. A range that cannot be released is
        // left as it is.
        unsafe {
            libc::madvise(start as *mut libc::c_void, length as libc::size_t, libc::MADV_DONTNEED);
        }
    }
    0
}

/// Whether standard output was closed when the process was started.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether the process was started without standard output (`>&-`).
pub(crate) fn stdout_is_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Records whether standard output is closed. The standard library replaces closed standard streams
/// by `/dev/null` before `main`, so this has to be found out earlier: the loader calls the
/// functions of this section before it starts the program.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
#[allow(unsafe_code, reason = "a function that is called before `main`")]
#[used]
// SAFETY: the section contains pointers to functions with this signature.
#[unsafe(link_section = ".init_array")]
static NOTE_CLOSED_STDOUT: extern "C" fn() = {
    extern "C" fn note() {
        // SAFETY: asks for the flags of a file descriptor, which need not be open.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        STDOUT_CLOSED.store(flags == -1, Ordering::Relaxed);
    }
    note
};

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
    ControlGroup::all(Path::new("/")).iter().filter_map(ControlGroup::remaining).chain(free).min()
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
    let groups = ControlGroup::all(Path::new("/"));
    groups.iter().filter_map(ControlGroup::limit).chain(kilobytes("/proc/meminfo", "MemTotal")).min()
}

/// Folder of a control group that limits the memory of this process.
#[derive(Debug, PartialEq, Eq)]
struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Returns the control groups of this process and their parents, for versions 1 and 2. `root`
    /// is the folder that contains `proc` and `sys`.
    ///
    /// In a container, the path in `/proc/self/cgroup` may be that of the host, whose folder does
    /// not exist here. Its parents do: the root is then the group of the container.
    fn all(root: &Path) -> Vec<ControlGroup> {
        let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let mut groups = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(name)) = (parts.next(), parts.next()) else { continue };
            let top = match controllers {
                "" => root.join("sys/fs/cgroup"),
                list if list.split(',').any(|c| c == "memory") => root.join("sys/fs/cgroup/memory"),
                _ => continue,
            };
            let own = top.join(name.trim_start_matches('/'));
            let folders = own.ancestors().take_while(|folder| folder.starts_with(&top));
            groups.extend(folders.map(|folder| ControlGroup(folder.to_path_buf())));
        }
        groups
    }

    /// Reads a file with one number.
    fn number(&self, name: &str) -> Option<u64> {
        fs::read_to_string(self.0.join(name)).ok()?.trim().parse().ok()
    }

    /// Returns the limit in bytes, if there is one. In version 2, processes above `memory.high` are
    /// slowed down, and those above `memory.max` are killed.
    fn limit(&self) -> Option<u64> {
        let names = ["memory.max", "memory.high", "memory.limit_in_bytes"];
        names.into_iter().filter_map(|name| self.number(name)).min()
    }

    /// Returns the remaining memory in bytes. Cached files count as free, since their memory can be
    /// reclaimed.
    fn remaining(&self) -> Option<u64> {
        let used = self.number("memory.current").or_else(|| self.number("memory.usage_in_bytes"))?;
        let statistics = fs::read_to_string(self.0.join("memory.stat")).unwrap_or_default();
        let value = |wanted: &str| {
            let line = statistics.lines().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(' '))?;
            line.trim().parse::<u64>().ok()
        };
        // In version 1, the names with this prefix include the groups inside, as the usage does.
        let files = ["inactive_file", "active_file"]
            .into_iter()
            .filter_map(|name| value(&format!("total_{name}")).or_else(|| value(name)))
            .sum();
        Some(self.limit()?.saturating_sub(used.saturating_sub(files)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates files in a folder.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn limits(folder: &tempfile::TempDir) -> (Option<u64>, Option<u64>) {
        let groups = ControlGroup::all(folder.path());
        (
            groups.iter().filter_map(ControlGroup::limit).min(),
            groups.iter().filter_map(ControlGroup::remaining).min(),
        )
    }

    #[test]
    fn limits_of_control_groups_version_2() {
        let at = "sys/fs/cgroup/user.slice/job";
        let mut files = vec![
            ("proc/self/cgroup", "0::/user.slice/job\n"),
            ("sys/fs/cgroup/user.slice/job/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/job/memory.current", "300\n"),
            ("sys/fs/cgroup/user.slice/job/memory.stat", "anon 200\ninactive_file 60\nactive_file 40\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "1000\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "700\n"),
        ];
        // The limit of the parent.
        assert_eq!(limits(&tree(&files)), (Some(1000), Some(300)), "{at}");
        // A lower limit of the group itself; cached files are free.
        files[1].1 = "400\n";
        assert_eq!(limits(&tree(&files)), (Some(400), Some(200)));
        files.push(("sys/fs/cgroup/user.slice/job/memory.high", "350\n"));
        assert_eq!(limits(&tree(&files)), (Some(350), Some(150)));
        // Without limits.
        (files[1].1, files[4].1, files[6].1) = ("max\n", "max\n", "max\n");
        assert_eq!(limits(&tree(&files)), (None, None));
    }

    #[test]
    fn limits_of_control_groups_version_1() {
        let files = [
            ("proc/self/cgroup", "11:cpu,cpuacct:/a\n5:memory:/docker/0a1b\n1:name=systemd:/a\n0::/a\n"),
            ("sys/fs/cgroup/memory/docker/0a1b/memory.limit_in_bytes", "5000\n"),
            ("sys/fs/cgroup/memory/docker/0a1b/memory.usage_in_bytes", "4500\n"),
            (
                "sys/fs/cgroup/memory/docker/0a1b/memory.stat",
                "inactive_file 1\ntotal_inactive_file 700\ntotal_active_file 300\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n"),
        ];
        assert_eq!(limits(&tree(&files)), (Some(5000), Some(1500)));
        // In a container, the group is mounted as the root, and its path is unknown.
        let files = [
            ("proc/self/cgroup", "5:memory:/docker/0a1b\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "4500\n"),
        ];
        assert_eq!(limits(&tree(&files)), (Some(5000), Some(500)));
        assert_eq!(limits(&tree(&[])), (None, None));
    }
}
