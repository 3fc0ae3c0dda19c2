//! The other end of the management socket, for tools: one request, one answer, blocking.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// Why there is no answer.
#[derive(Debug)]
pub enum ManagementError {
    /// No socket, or no listener: start the node.
    NotRunning,
    /// The node is there but does not answer in time.
    Timeout,
    /// The node understood and declined.
    Refused(String),
    /// What answers is not a node.
    Malformed(String),
    Io(std::io::Error),
}

impl std::fmt::Display for ManagementError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ManagementError::NotRunning => write!(f, "the node is not running"),
            ManagementError::Timeout => write!(f, "the node does not answer"),
            ManagementError::Refused(text) => write!(f, "{text}"),
            ManagementError::Malformed(text) => write!(f, "the answer is not understood: {text}"),
            ManagementError::Io(error) => write!(f, "{error}"),
        }
    }
}
impl std::error::Error for ManagementError {}

impl From<std::io::Error> for ManagementError {
    fn from(error: std::io::Error) -> ManagementError {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => ManagementError::NotRunning,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => ManagementError::Timeout,
            _ => ManagementError::Io(error),
        }
    }
}

/// Asks the node behind a management socket. `timeout` is for each read; a node answers after at most 2 s.
pub fn management_request(
    socket: &Path,
    request: &Value,
    timeout: Duration,
) -> Result<Value, ManagementError> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(ManagementError::NotRunning);
    }
    let answer: Value = serde_json::from_str(&line)
        .map_err(|error| ManagementError::Malformed(error.to_string()))?;
    match answer.get("error").and_then(Value::as_str) {
        Some(text) => Err(ManagementError::Refused(text.into())),
        None => Ok(answer),
    }
}
