//! What the machine has: cores and memory, as far as the control groups of this process allow them.

use std::fs;
use std::path::Path;

/// Cores this process may use; affinity and control groups are taken into account.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes that can be taken without pushing others out. None where the system does not tell.
pub fn memory_available() -> Option<u64> {
    let free =
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo(&text, "MemAvailable:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = groups.lines().filter_map(cgroup_limit).min();
    match (free, limit) {
        (Some(free), Some(limit)) => Some(free.min(limit)),
        (free, limit) => free.or(limit),
    }
}

fn meminfo(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The least limit of a group and those it is in, from a line of /proc/self/cgroup: `4:memory:/a/b` or `0::/a/b`.
fn cgroup_limit(line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return None,
    };
    let path = Path::new(path.trim_start_matches('/'));
    let limits = path.ancestors().filter_map(|group| {
        let text = fs::read_to_string(Path::new(root).join(group).join(file)).ok()?;
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
        assert_eq!(cgroup_limit("9:name=systemd:/"), None);
        assert_eq!(cgroup_limit("garbage"), None);
    }
}
