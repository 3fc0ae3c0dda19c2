//! `skarv restore`: tables of a backup come into a running cluster, of whatever shape.
//!
//! A data node of this machine reads the files and writes the rows; this sees how far it is. Interrupted it ends the restore, too.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use types::temporal::DateTime;

use crate::backup::{self, SecretWord};
use crate::cli::RestoreOptions;
use crate::manage::{Asked, Nodes};
use crate::size::human;
use crate::table_name;

const POLL: Duration = Duration::from_millis(200);
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);
/// As a shell says that a command was interrupted.
const INTERRUPTED: u8 = 128 + SIGINT as u8;

pub fn run(options: &RestoreOptions) -> ExitCode {
    let cluster = match Nodes::find(&options.directory.dir) {
        Ok(cluster) => cluster,
        Err(error) => {
            crate::fail(&error);
            return ExitCode::from(2);
        }
    };
    let interrupted = match watch_signals() {
        Ok(interrupted) => interrupted,
        Err(error) => return crate::fail(&format!("cannot watch signals: {error}")),
    };
    match restore(options, &cluster, &interrupted) {
        Ok(answer) => {
            match options.json {
                true => println!("{answer}"),
                false => println!("{}", line(&answer)),
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            let code = crate::fail(&error);
            if interrupted.load(Ordering::Relaxed) { ExitCode::from(INTERRUPTED) } else { code }
        }
    }
}

/// Returns the flag of a first signal; a second one ends this process at once.
fn watch_signals() -> std::io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let code = i32::from(INTERRUPTED);
        flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

fn restore(
    options: &RestoreOptions,
    cluster: &Nodes,
    interrupted: &AtomicBool,
) -> Result<Value, String> {
    let request = request(options)?;
    let (node, _) = cluster.ask_data_node(&request)?;
    let mut asked = Asked::new(cluster, node);
    let mut said = Instant::now();
    let mut has_asked_end = false;
    loop {
        std::thread::sleep(POLL);
        if interrupted.load(Ordering::Relaxed) && !has_asked_end {
            has_asked_end = cluster.ask(node, &json!({ "command": "abort_restore" })).is_some();
            if has_asked_end && !options.json {
                println!("interrupted: the restore is aborted, and what it has made goes");
            }
        }
        let answer = asked.ask(&json!({ "command": "restore_status" })).map_err(|why| {
            format!(
                "{why}: if it has died nothing of the restore stays, unless its tables were just getting their names (then those that have \
                 them stay: SHOW TABLES), else that goes on, and ABORT RESTORE of `skarv mgm` ends it"
            )
        })?;
        let Some(answer) = answer else { continue };
        match answer["state"].as_str() {
            Some("done") => return Ok(answer),
            Some("running") => {}
            Some("failed") => {
                return Err(answer["why"].as_str().unwrap_or("it failed").to_string());
            }
            _ => {
                return Err(format!(
                    "node {node} was started again meanwhile: nothing was restored"
                ));
            }
        }
        if !options.json && said.elapsed() >= PROGRESS_INTERVAL {
            said = Instant::now();
            println!("{}", line(&answer));
        }
    }
}

fn request(options: &RestoreOptions) -> Result<Value, String> {
    let absolute = |path: &std::path::Path| {
        let found = path.canonicalize();
        let found = found.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        found.into_os_string().into_string().map_err(|name| {
            format!("{} has a name that is not UTF-8: give it another one", name.display())
        })
    };
    let mut request = json!({ "command": "restore", "dir": absolute(&options.backup)? });
    if let Some(archive) = &options.archive {
        request["archive"] = json!(absolute(archive)?);
    }
    if let Some(until) = &options.until {
        request["until"] = json!(unix_micros(until)?);
    }
    let mut tables = Vec::new();
    for name in &options.tables {
        let (database, table) = table_name::parse(name)?;
        tables.push(json!({ "database": database, "table": table }));
    }
    request["tables"] = json!(tables);
    request["databases"] = json!(options.databases);
    let password = options.password_file.clone().map(SecretWord::PasswordFile);
    let secret = password.or_else(|| options.key_file.clone().map(SecretWord::KeyFile));
    backup::add_secret(&mut request, secret.as_ref())?;
    Ok(request)
}

/// A moment in UTC, or `@` and seconds of Unix time.
fn unix_micros(text: &str) -> Result<i64, String> {
    let wrong = || {
        format!(
            "{text} is no moment: write '2026-05-31 23:59:59', in UTC, or @ and the seconds of Unix time"
        )
    };
    if let Some(seconds) = text.strip_prefix('@') {
        let seconds: f64 = seconds.parse().map_err(|_| wrong())?;
        let micros = seconds * 1e6;
        return if (0.0..4e15).contains(&micros) { Ok(micros as i64) } else { Err(wrong()) };
    }
    let parsed = DateTime::parse(text.trim_end_matches('Z')).ok_or_else(wrong)?;
    let moment = parsed.value;
    let is_whole = parsed.complete && moment.is_real();
    let seconds = moment.unix_seconds().filter(|_| is_whole).ok_or_else(wrong)?;
    let offset = i64::from(parsed.offset_minutes.unwrap_or(0)) * 60;
    Ok((seconds - offset) * 1_000_000 + i64::from(moment.microsecond()))
}

fn line(answer: &Value) -> String {
    let count = |name: &str| answer[name].as_u64().unwrap_or(0);
    let seconds = answer["seconds"].as_f64().unwrap_or(0.0);
    let moment = answer["moment"].as_str().map(|moment| format!(" as of {moment}"));
    let text = format!(
        "{} tables{}, {} rows, {} after {seconds:.1} s",
        count("tables"),
        moment.unwrap_or_default(),
        count("rows"),
        human(count("bytes"))
    );
    match answer["state"] == json!("done") {
        true => format!("restored: {text}"),
        false => format!("{}: {text}", answer["phase"].as_str().unwrap_or("running")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_understood() {
        for (text, micros) in [
            ("1970-01-01 00:00:01", 1_000_000),
            ("1970-01-02T00:00:00.25Z", 86_400_250_000),
            ("@12.5", 12_500_000),
            ("2026-11-24 20:04:25", 1_795_550_665_000_000),
        ] {
            assert_eq!(unix_micros(text), Ok(micros), "{text}");
        }
        for text in
            ["", "soon", "@", "@-1", "@1e300", "2026-13-01 00:00:00", "2026-11-24 20:04:25 UTC"]
        {
            assert!(unix_micros(text).is_err(), "{text}");
        }
    }
}
