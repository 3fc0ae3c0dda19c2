//! What the machine has: cores and memory, as far as the control groups of this process allow them.

use std::fs;
use std::path::Path;

/// Cores this process may use; affinity and control groups are taken into account.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes that can be taken without pushing others out. None where the system does not tell.
pub fn memory_available() -> Option<u64> {
    memory("MemAvailable:", read)
}

/// Bytes that this process could have if no other had any. None where the system does not report them.
pub fn memory_total() -> Option<u64> {
    memory("MemTotal:", read)
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The least of what the machine has, by a field of /proc/meminfo, and of the limits of the groups that this process is in.
fn memory(field: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let of_machine = read(Path::new("/proc/meminfo")).and_then(|text| meminfo(&text, field));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| cgroup_limit(line, &read));
    of_groups.chain(of_machine).min()
}

fn meminfo(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The least limit of a group and those it is in, from a line of /proc/self/cgroup: `4:memory:/a/b` or `0::/a/b`.
fn cgroup_limit(line: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return None,
    };
    let path = Path::new(path.trim_start_matches('/'));
    let limits = path.ancestors().filter_map(|group| {
        let text = read(&Path::new(root).join(group).join(file))?;
        // "max" in version 2; version 1 writes a number near 2^63, which the caller's minimum ignores.
        text.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_measured() {
        assert!(cores() >= 1);
        let available = memory_available().expect("Linux tells");
        assert!(available > 1 << 20, "{available}");
        assert_eq!(meminfo("MemTotal: 8 kB\nMemAvailable:    3 kB\n", "MemAvailable:"), Some(3072));
        assert_eq!(meminfo("MemTotal: 8 kB\n", "MemAvailable:"), None);
        let total = memory_total().expect("Linux tells");
        assert!(available <= total, "{available} of {total}");
        assert_eq!(cgroup_limit("9:name=systemd:/", read), None);
        assert_eq!(cgroup_limit("garbage", read), None);
    }

    /// Files as systems with both versions of control groups have them, and the bytes that a process may use there.
    #[test]
    fn the_least_limit_counts() {
        const NO_LIMIT: &str = "9223372036854771712";
        let cases: [(&[(&str, &str)], u64); 6] = [
            (&[], 4096 << 10),
            // Version 2: that of the own group, of one it is in, and none.
            (
                &[
                    ("/proc/self/cgroup", "0::/a/b\n"),
                    ("/sys/fs/cgroup/a/b/memory.max", "2097152\n"),
                    ("/sys/fs/cgroup/a/memory.max", "3145728\n"),
                ],
                2 << 20,
            ),
            (
                &[
                    ("/proc/self/cgroup", "0::/a/b\n"),
                    ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
                    ("/sys/fs/cgroup/a/memory.max", "1048576\n"),
                ],
                1 << 20,
            ),
            (
                &[("/proc/self/cgroup", "0::/a\n"), ("/sys/fs/cgroup/a/memory.max", "max\n")],
                4096 << 10,
            ),
            // Version 1, in a container that sees its own group as the root, though its path is that of the host.
            (
                &[
                    ("/proc/self/cgroup", "4:memory:/docker/1f\n2:cpu:/x\n0::/\n"),
                    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n"),
                ],
                1 << 20,
            ),
            // And without a limit, which is a large number there.
            (
                &[
                    ("/proc/self/cgroup", "4:memory:/a\n"),
                    ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", NO_LIMIT),
                    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", NO_LIMIT),
                ],
                4096 << 10,
            ),
        ];
        let meminfo =
            [("/proc/meminfo", "MemTotal:  4096 kB\nMemFree: 9 kB\nMemAvailable:  8 kB\n")];
        for (files, bytes) in cases {
            let read = |path: &Path| {
                let mut files = files.iter().chain(&meminfo);
                files.find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string())
            };
            assert_eq!(memory("MemTotal:", read), Some(bytes), "{files:?}");
            assert_eq!(memory("MemAvailable:", read), Some(8 << 10), "{files:?}");
        }
        assert_eq!(memory("MemTotal:", |_| None), None);
    }
}
