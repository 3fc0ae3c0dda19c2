//! What the management client asks of a supervisor: to start a node that is stopped. One JSON line each way, on a socket in the
//! cluster's directory that only its owner may open, like those of the nodes.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::supervisor::Event;

/// A request is short, and whoever connects has it at hand.
const LINE_MAX: u64 = 4096;
const TIMEOUT: Duration = Duration::from_secs(5);

pub fn path_in(dir: &Path) -> PathBuf {
    dir.join("supervisor.sock")
}

/// Takes requests on a thread of its own, as long as the process lives, and passes them to the supervisor.
pub fn listen(dir: &Path, events: Sender<Event>) -> Result<(), String> {
    let path = path_in(dir);
    let wrong = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
    // One supervisor per directory: the file is of one that has ended.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(wrong(error)),
        _ => {}
    }
    let listener = UnixListener::bind(&path).map_err(wrong)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(wrong)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // One at a time; a silent client is not waited for, and a client that has gone needs no answer.
            let _ = answer(stream, &events);
        }
    });
    Ok(())
}

fn answer(mut stream: UnixStream, events: &Sender<Event>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(&stream).take(LINE_MAX).read_line(&mut line)?;
    let answer = match started(&line, events) {
        Ok(()) => json!({ "ok": true }),
        Err(error) => json!({ "error": error }),
    };
    stream.write_all(format!("{answer}\n").as_bytes())
}

fn started(line: &str, events: &Sender<Event>) -> Result<(), String> {
    let request: Value = serde_json::from_str(line).map_err(|_| "the request is not JSON")?;
    let node = request["node"].as_u64().and_then(|id| u16::try_from(id).ok());
    let (Some("start"), Some(node)) = (request["command"].as_str(), node) else {
        return Err("a request is {\"command\": \"start\", \"node\": 2}".into());
    };
    let ends = || "the supervisor ends".to_string();
    let (reply, replied) = channel();
    events.send(Event::Start { node, reply }).map_err(|_| ends())?;
    replied.recv().map_err(|_| ends())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use io::{ManagementError, management_request};

    #[test]
    fn requests_reach_the_supervisor() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(path_in(dir.path()), "left behind").expect("written");
        let (sender, events) = channel();
        listen(dir.path(), sender).expect("it listens");
        std::thread::spawn(move || {
            for event in events {
                let Event::Start { node, reply } = event else {
                    panic!("{event:?} was not asked for")
                };
                let known = if node == 2 { Ok(()) } else { Err(format!("no node {node}")) };
                reply.send(known).expect("somebody waits");
            }
        });
        let ask = |request: &Value| management_request(&path_in(dir.path()), request, TIMEOUT);
        assert_eq!(
            ask(&json!({"command": "start", "node": 2})).expect("it is"),
            json!({"ok": true})
        );
        for (request, error) in [
            (json!({"command": "start", "node": 3}), "no node 3"),
            (json!({"command": "start", "node": 70_000}), "a request is"),
            (json!({"command": "halt", "node": 2}), "a request is"),
            (json!([]), "a request is"),
        ] {
            match ask(&request) {
                Err(ManagementError::Refused(text)) => assert!(text.contains(error), "{text}"),
                other => panic!("{request}: {other:?}"),
            }
        }
        // Whoever goes away in the middle does no harm.
        let mut broken = UnixStream::connect(path_in(dir.path())).expect("it listens");
        broken.write_all(b"{\"command\"").expect("taken");
        drop(broken);
        ask(&json!({"command": "start", "node": 2})).expect("it is");
    }
}
