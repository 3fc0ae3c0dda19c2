//! `skarv keys`: the keys by which nodes know each other.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use types::NodeId;

use crate::cli::KeysOptions;
use crate::config::Config;

pub fn run(options: &KeysOptions) -> ExitCode {
    let made = Config::of(options.config.as_deref(), &options.dir)
        .and_then(|(_, config)| make(&config, &options.dir));
    match made {
        Ok(made) => {
            for path in &made {
                println!("made {}", path.display());
            }
            match made.is_empty() {
                true => println!("nothing is missing in {}", options.dir.display()),
                false => println!(
                    "give each node link-ca-cert.pem and its own two files, in its --dir; keep link-ca-key.pem for \
                     nodes to be added later"
                ),
            }
            ExitCode::SUCCESS
        }
        Err(error) => crate::fail(&error),
    }
}

/// Makes the missing files in the directory, and returns them.
pub fn make(config: &Config, dir: &Path) -> Result<Vec<PathBuf>, String> {
    let cluster = config.cluster()?.cluster;
    let nodes = config.nodes.iter().map(|node| NodeId(node.id));
    io::make_keys(dir, cluster, nodes).map_err(|error| error.to_string())
}
