//! The default memory of a data node for its rows.
//!
//! A node takes all of it from the system when it starts and keeps it, so the default must leave
//! the machine usable for other programs. `skarv up` starts several nodes on a machine that has
//! other work, too: they get an eighth of its memory between them, but 256 MiB each at least, and a
//! gigabyte each at most. Where even 256 MiB each would be more than half of the machine, half of
//! it is divided. A configuration that people wrote is for machines that are there for the cluster:
//! half of the memory is for rows, divided over the data nodes at that machine's IP; the rest is
//! for the buffers of sessions and links, and the system.
//!
//! ```text
//!   the machine and its groups allow      1 GiB     4 GiB     8 GiB    24 GiB    64 GiB
//!   `up`, 2 data nodes: each has          256M      256M      512M       1G        1G
//!   `server`, alone on the machine        512M        2G        4G      12G       32G
//! ```

use crate::config::{Config, MEMORY_MIN, Node};
use crate::machine;
use crate::size::Size;

/// Where the system does not tell how much memory there is.
const UNKNOWN_DEFAULT: Size = Size(256 << 20);
/// Bytes of each node of a box, unless that is more than half of the machine.
const BOX_MIN: u64 = 256 << 20;
const BOX_MAX: u64 = 1 << 30;

/// For each data node of a box.
pub fn default_of_box(data_nodes: u16) -> Size {
    machine::memory_total().map_or(UNKNOWN_DEFAULT, |total| of_box(total, data_nodes))
}

/// For a data node: what the configuration says, or what its machine allows.
pub fn of_node(config: &Config, node: &Node) -> Result<Size, String> {
    if let Some(memory) = config.memory_given() {
        return Ok(memory);
    }
    let sharing = count_sharing(config, node)?;
    Ok(machine::memory_total().map_or(UNKNOWN_DEFAULT, |total| of_server(total, sharing)))
}

/// The data nodes that are reached at the same IP as this one, itself included: they are on one machine.
fn count_sharing(config: &Config, node: &Node) -> Result<u64, String> {
    let ip = node.link_address()?.ip();
    let mut count = 0;
    for other in config.data_nodes() {
        count += u64::from(other.link_address()?.ip() == ip);
    }
    assert!(1 <= count, "it counts itself");
    Ok(count)
}

fn of_box(total: u64, data_nodes: u16) -> Size {
    let share = total / u64::from(data_nodes);
    whole((share / 8).clamp(BOX_MIN, BOX_MAX).min(share / 2))
}

fn of_server(total: u64, sharing: u64) -> Size {
    whole(total / sharing / 2)
}

/// Whole mebibytes, which are shorter to read, and what a node needs.
fn whole(bytes: u64) -> Size {
    Size(bytes >> 20 << 20).max(MEMORY_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mebibytes that the machine has, data nodes in the box, and what each of them gets.
    #[test]
    fn a_box_leaves_the_machine_usable() {
        for (total, data_nodes, each) in [
            (65_536, 2, "1G"),
            (24_000, 2, "1G"),
            (8_192, 2, "512M"),
            (8_192, 1, "1G"),
            (7_000, 2, "437M"),
            (4_096, 2, "256M"),
            (4_096, 8, "256M"),
            (4_096, 16, "128M"),
            (1_024, 2, "256M"),
            (512, 2, "128M"),
            (20, 2, "16M"),
        ] {
            let memory = of_box((total << 20) + 4_097, data_nodes);
            assert_eq!(memory.to_string(), each, "{total} MiB, {data_nodes} data nodes");
        }
        assert!(MEMORY_MIN <= default_of_box(64));
    }

    #[test]
    fn a_machine_of_its_own_is_half_used() {
        for (total, sharing, each) in
            [(65_536, 1, "32G"), (24_000, 1, "12000M"), (24_000, 3, "4000M"), (16, 1, "16M")]
        {
            let memory = of_server(total << 20, sharing);
            assert_eq!(memory.to_string(), each, "{total} MiB, {sharing} nodes on the machine");
        }
    }

    /// What is written counts; else it is divided over the nodes at the same IP.
    #[test]
    fn nodes_of_one_machine_share_it() {
        let text = |memory: &str| {
            format!(
                r#"{{"cluster_id": "6b1f0c7d9a2e4458", "replicas": 1 {memory}, "nodes": [
                  {{"id": 1, "roles": ["voter"], "address": "10.0.0.1:4601"}},
                  {{"id": 2, "roles": ["voter", "data"], "address": "10.0.0.1:4602"}},
                  {{"id": 3, "roles": ["voter", "data"], "address": "10.0.0.1:4603"}},
                  {{"id": 4, "roles": ["data"], "address": "10.0.0.2:4601"}}]}}"#
            )
        };
        let config = Config::parse(&text("")).expect("good");
        let counts = config.data_nodes().map(|node| count_sharing(&config, node));
        assert_eq!(counts.collect::<Result<Vec<_>, _>>(), Ok(vec![2, 2, 1]));
        assert!(MEMORY_MIN <= of_node(&config, &config.nodes[3]).expect("addresses"));
        let config = Config::parse(&text(r#", "memory": "77M""#)).expect("good");
        assert_eq!(of_node(&config, &config.nodes[3]), Ok(Size(77 << 20)));
    }
}
