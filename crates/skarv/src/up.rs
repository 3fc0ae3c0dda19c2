//! `skarv up`: a cluster in a box.
//!
//! The process that runs the cluster is the supervisor. In the foreground it is this process. With `--detach` this
//! process starts another one of the same kind in a session of its own, shows what that one says, and leaves when it is
//! ready. One supervisor a directory: it holds a lock on DIR/supervisor.lock as long as it lives.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::UpOptions;
use crate::console::{self, Console, Line};
use crate::process::{self, Signal};
use crate::supervisor::{Begins, Supervisor};
use crate::{plan, size};

pub fn run(options: &UpOptions) -> ExitCode {
    if options.detach {
        return match detach(&options.directory.dir) {
            Ok(code) => code,
            Err(error) => crate::fail(&error),
        };
    }
    if options.supervisor {
        // Refused only to a process that leads a session already, which is the goal.
        let _ = rustix::process::setsid();
    }
    let mut console = Console::new(options.supervisor);
    match supervise(options, &mut console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console.error(&error);
            ExitCode::FAILURE
        }
    }
}

fn supervise(options: &UpOptions, console: &mut Console) -> Result<(), String> {
    let shown = options.directory.dir.display();
    io::make_dir(&options.directory.dir)
        .map_err(|error| format!("cannot make {shown}: {error}"))?;
    let dir = options.directory.dir.canonicalize();
    let dir = dir.map_err(|error| format!("cannot use {shown}: {error}"))?;
    let _lock = lock(&dir)?;
    refuse_running_nodes(&dir)?;
    let plan = plan::make(options, &dir)?;
    console.open_log(&dir)?;
    console.say(&describe(&plan.config, &dir));
    if plan.restarted {
        console.say("it starts again with the rows that it had");
    }
    for note in &plan.notes {
        console.warn(note);
    }
    let begins = match plan.restarted {
        true if options.lossy => Begins::Lossy,
        true => Begins::WithItsRows,
        false => Begins::Anew,
    };
    let supervisor = Supervisor::new(plan.config, dir, !options.no_restart, begins, console)?;
    supervisor.run(std::time::Duration::from_secs(options.timeout))
}

fn describe(config: &crate::config::Config, dir: &Path) -> String {
    let data_nodes = config.data_nodes().count();
    let workers = config.data_nodes().map(|node| node.workers).max().unwrap_or(1);
    let voters = config.nodes.iter().filter(|node| node.has(crate::config::Role::Voter)).count();
    format!(
        "starting a cluster in {}: {data_nodes} data nodes ({} replicas of every row, {workers} worker{} and {} of memory \
         each), {voters} voter{}",
        dir.display(),
        config.replicas,
        if workers == 1 { "" } else { "s" },
        size::human(config.memory_given().expect("a plan has it").0),
        if voters == 1 { "" } else { "s" }
    )
}

/// Makes this process the supervisor of a directory, until the file is dropped.
fn lock(dir: &Path) -> Result<File, String> {
    let path = process::lock_path(dir);
    let wrong = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            // Whoever looks after the one that runs is to know.
            let own = std::process::id();
            let refused = "was refused: it was to start a cluster in this directory, too";
            Console::append_to_log(dir, &format!("process {own} {refused}"));
            return Err(format!(
                "{} is in use by a running cluster (process {}): `skarv down --dir {0}` stops it; for a second cluster give \
                 another --dir and --port",
                dir.display(),
                pid.trim()
            ));
        }
        Err(fs::TryLockError::Error(error)) => return Err(wrong(error)),
    }
    file.set_len(0).map_err(wrong)?;
    file.write_all(std::process::id().to_string().as_bytes()).map_err(wrong)?;
    Ok(file)
}

/// A supervisor that was killed leaves its nodes running, and others were started by hand.
fn refuse_running_nodes(dir: &Path) -> Result<(), String> {
    let members = process::members_of(dir);
    let running =
        members.iter().map(|member| format!("node {} (process {})", member.node, member.pid));
    let running: Vec<String> = running.collect();
    if running.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} is in use: {} still run without a supervisor; `skarv down --dir {0}` stops them",
        dir.display(),
        running.join(", ")
    ))
}

/// Starts the supervisor as a process of its own and stays until it is ready or has given up.
fn detach(dir: &Path) -> Result<ExitCode, String> {
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--detach");
    let mut command = Command::new(executable());
    command.args(arguments).arg("--supervisor").stdin(Stdio::null()).stdout(Stdio::piped());
    // Whoever reads this command's standard error to its end must not wait for the supervisor's; and should the
    // supervisor panic, its message has a place. Whether the directory can be used, it finds out and says itself.
    let log = io::make_dir(dir).and_then(|()| {
        OpenOptions::new().create(true).append(true).open(dir.join("supervisor.log"))
    });
    command.stderr(log.map_or(Stdio::null(), Stdio::from));
    let mut child =
        command.spawn().map_err(|error| format!("cannot start the supervisor: {error}"))?;
    let pid = child.id();
    // Ctrl-C gives the start up, not only the waiting for it.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        .map_err(|error| format!("cannot watch signals: {error}"))?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            let _ = process::signal(pid, Signal::TERM);
        }
    });
    let output = child.stdout.take().expect("it was asked for");
    for line in console::lines(output) {
        line.show();
        if line == Line::Ready {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match status.code() {
        Some(0) => Err("stopped before the cluster was ready".into()),
        // It has said why.
        Some(_) => Ok(ExitCode::FAILURE),
        None => Err(format!("the supervisor (process {pid}) was killed: {status}")),
    }
}

/// This program, also after its file was replaced by a newer build.
pub fn executable() -> PathBuf {
    std::env::current_exe()
        .ok()
        .filter(|path| path.exists())
        .unwrap_or_else(|| "/proc/self/exe".into())
}
