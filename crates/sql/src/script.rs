//! Scripts of statements with what they should answer: tests as data.
//!
//! The format follows sqllogictest, with what SQL tests of this engine need:
//!
//! ```text
//! # a comment
//! statement ok                       the statement succeeds
//! INSERT INTO t VALUES (1)
//!
//! statement count 2                  it succeeds and affects so many rows
//! UPDATE t SET a = a + 1
//!
//! statement error 1062 part of it    it fails with that number and a message that contains the text (if any)
//! INSERT INTO t VALUES (1)
//!
//! query                              rows in this order; `query sorted` compares them in any order
//! SELECT a, b FROM t
//! ----
//! 1   NULL                           values as the text protocol shows them, separated by tabs
//!
//! query plan                         the lines of one value; times, shards and partial groups, which differ between
//!                                    runs, are a star
//! EXPLAIN ANALYZE SELECT a FROM t
//! ----
//! -> Table scan on t  (rows=2) (actual time=* rows=2 loops=1)
//!
//! session b                          what follows is said by session b, from its first mention on
//!
//! statement waits                    sent, and not waited for: until its answer the session says nothing else
//! UPDATE t SET a = a + 1
//!
//! file name                          the lines below are the file that LOAD DATA [LOCAL] INFILE 'name' gets. %XX is a byte, a
//! 1,%22a%22                          single % at the end of a line leaves out the line break, and a line `%` is nothing
//!
//! answer ok                          the answer of the session's statement that waited: ok, count n, or error n text
//! ```
//!
//! A statement ends at an empty line or at `----`, expected rows and files at an empty line. An empty value is written (empty),
//! a tab or line break in a value as \t or \n.

use std::collections::{BTreeMap, VecDeque};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use types::convert::to_text;
use types::{ColumnType, ValueRef};

use crate::session::Session;
use crate::{ColumnInfo, FilePiece, OkInfo, ResultSink, SqlError};

/// What a statement answered, as text.
#[derive(Debug, Default)]
pub struct Answer {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<String>>,
    pub ok: Option<OkInfo>,
    pub error: Option<SqlError>,
    /// What LOAD DATA LOCAL may ask for, by name; without one the client sends no files.
    pub files: Arc<Files>,
    /// The file that was asked for, as far as it has not been sent.
    sent: VecDeque<Vec<u8>>,
}

/// The files of a script by name.
pub type Files = BTreeMap<String, Vec<u8>>;

impl ResultSink for Answer {
    fn columns(&mut self, columns: &[ColumnInfo]) {
        self.columns = columns.to_vec();
    }
    fn row(&mut self, values: &[ValueRef<'_>]) {
        assert_eq!(values.len(), self.columns.len(), "a row has a value for every column");
        let row = values.iter().zip(&self.columns).map(|(value, column)| shown(*value, column));
        self.rows.push(row.collect());
    }
    fn end_of_rows(&mut self, info: &OkInfo) {
        self.ok = Some(info.clone());
    }
    fn ok(&mut self, info: &OkInfo) {
        self.ok = Some(info.clone());
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn sends_files(&self) -> bool {
        !self.files.is_empty()
    }
    /// A file comes in pieces of 1, 2, 3, ... bytes; one that is not there is empty, as real clients send it.
    fn request_file(&mut self, name: &str) {
        let mut rest = self.files.get(name).map(Vec::as_slice).unwrap_or_default();
        let mut size = 1;
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(rest.len().min(size));
            self.sent.push_back(piece.to_vec());
            (rest, size) = (others, size + 1);
        }
    }
    fn file_piece(&mut self) -> FilePiece<'_> {
        Box::pin(std::future::ready(Ok(self.sent.pop_front())))
    }
}

/// A value as the text protocol sends it.
pub fn shown(value: ValueRef<'_>, column: &ColumnInfo) -> String {
    let fsp = match column.column_type {
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
            fsp
        }
        _ => 0,
    };
    let text = match value {
        ValueRef::Null => return "NULL".into(),
        ValueRef::Time(value) => value.format(fsp),
        ValueRef::DateTime(value) => value.format(fsp),
        ValueRef::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::UInt(year) if column.column_type == ColumnType::Year => format!("{year:04}"),
        ValueRef::UInt(bits) if matches!(column.column_type, ColumnType::Bit { .. }) => {
            format!("b'{bits:b}'")
        }
        other => match column.display.text(other, &column.column_type) {
            Some(text) => text,
            None => to_text(other).into_owned(),
        },
    };
    if text.is_empty() {
        return "(empty)".into();
    }
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

/// Runs one text and gathers what it answers; of several statements the last one's.
pub async fn run(session: &mut Session, text: &str) -> Answer {
    run_with_files(session, text, Arc::default()).await
}

/// The same by a client that has these files.
pub async fn run_with_files(session: &mut Session, text: &str, files: Arc<Files>) -> Answer {
    let mut answer = Answer { files, ..Answer::default() };
    session.query(text.as_bytes(), &mut answer).await;
    answer
}

/// The sessions of a script by name; the first one has none.
struct Sessions<'a> {
    open: &'a mut dyn FnMut() -> Session,
    free: BTreeMap<String, Session>,
    waiting: BTreeMap<String, Waiting>,
    files: Arc<Files>,
}

/// A statement under way, and the session that said it.
enum Waiting {
    Running(Pin<Box<dyn Future<Output = (Session, Answer)>>>),
    Done(Box<(Session, Answer)>),
}

impl Sessions<'_> {
    async fn run(&mut self, name: &str, statement: &str) -> Result<Answer, String> {
        let mut session = self.take(name)?;
        let files = Arc::clone(&self.files);
        let answer = self.beside(run_with_files(&mut session, statement, files)).await;
        self.free.insert(name.into(), session);
        Ok(answer)
    }

    async fn begin(&mut self, name: &str, statement: String) -> Result<(), String> {
        let mut session = self.take(name)?;
        let files = Arc::clone(&self.files);
        let running = Box::pin(async move {
            let answer = run_with_files(&mut session, &statement, files).await;
            (session, answer)
        });
        self.waiting.insert(name.into(), Waiting::Running(running));
        self.beside(std::future::ready(())).await;
        Ok(())
    }

    /// The answer that the session's statement comes to.
    async fn answer(&mut self, name: &str) -> Result<Answer, String> {
        let waiting = self.waiting.remove(name);
        let (session, answer) = match waiting.ok_or("no statement of this session waits")? {
            Waiting::Running(running) => self.beside(running).await,
            Waiting::Done(ended) => *ended,
        };
        self.free.insert(name.into(), session);
        Ok(answer)
    }

    fn take(&mut self, name: &str) -> Result<Session, String> {
        let session = self.session(name)?;
        let files = client::KeptFiles(Arc::clone(&self.files));
        session.client.client().set_server_files(Arc::new(files));
        Ok(session)
    }

    fn session(&mut self, name: &str) -> Result<Session, String> {
        if self.waiting.contains_key(name) {
            return Err("a statement of this session still waits".into());
        }
        Ok(self.free.remove(name).unwrap_or_else(|| (self.open)()))
    }

    /// Goes on with the statements that wait until this is done.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|context| {
            for waiting in self.waiting.values_mut() {
                if let Waiting::Running(running) = waiting
                    && let Poll::Ready(ended) = running.as_mut().poll(context)
                {
                    *waiting = Waiting::Done(Box::new(ended));
                }
            }
            work.as_mut().poll(context)
        })
        .await
    }
}

/// The most answers that one error reports.
const PROBLEM_COUNT_MAX: usize = 40;

/// Runs a script by sessions that `open` makes. The error names the line of each answer that is another one than the
/// script has, and shows both. Returns how many statements ran.
pub async fn run_script(open: &mut dyn FnMut() -> Session, text: &str) -> Result<usize, String> {
    let mut sessions =
        Sessions { open, free: BTreeMap::new(), waiting: BTreeMap::new(), files: Arc::default() };
    let result = run_lines(&mut sessions, text).await;
    for session in sessions.free.values_mut() {
        session.close().await;
    }
    result
}

async fn run_lines(sessions: &mut Sessions<'_>, text: &str) -> Result<usize, String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut name = String::new();
    let mut position = 0;
    let mut count = 0;
    let mut problems: Vec<String> = Vec::new();
    while position < lines.len() && problems.len() < PROBLEM_COUNT_MAX {
        let head = lines[position].trim();
        let number = position + 1;
        position += 1;
        if head.is_empty() || head.starts_with('#') {
            continue;
        }
        let mut statement = String::new();
        while position < lines.len()
            && !lines[position].trim().is_empty()
            && lines[position] != "----"
        {
            if !statement.is_empty() {
                statement.push('\n');
            }
            statement.push_str(lines[position]);
            position += 1;
        }
        let mut expected: Vec<String> = Vec::new();
        if position < lines.len() && lines[position] == "----" {
            position += 1;
            while position < lines.len() && !lines[position].is_empty() {
                expected.push(lines[position].to_string());
                position += 1;
            }
        }
        count += 1;
        let outcome = match head.split_once(' ') {
            Some(("session", own)) => {
                name = own.to_string();
                Ok(())
            }
            Some(("file", own)) => {
                let content = file_content(&statement);
                content.map(|content| {
                    Arc::make_mut(&mut sessions.files).insert(own.to_string(), content);
                })
            }
            Some(("statement", "waits")) => sessions.begin(&name, statement.clone()).await,
            Some(("answer", wanted)) => {
                let answer = sessions.answer(&name).await;
                answer.and_then(|answer| check(&format!("statement {wanted}"), &answer, expected))
            }
            _ => {
                let answer = sessions.run(&name, &statement).await;
                answer.and_then(|answer| check(head, &answer, expected))
            }
        };
        if let Err(problem) = outcome {
            problems.push(format!("line {number}: {statement}\n{problem}"));
        }
    }
    if !problems.is_empty() {
        return Err(problems.join("\n\n"));
    }
    match sessions.waiting.keys().next() {
        Some(name) => Err(format!("a statement of session {name} still waits at the end")),
        None => Ok(count),
    }
}

/// The bytes that the lines of a file stand for.
fn file_content(lines: &str) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    for line in lines.lines() {
        let mut rest = line.as_bytes();
        let mut has_break = true;
        while let Some((&byte, behind)) = rest.split_first() {
            rest = behind;
            if byte != b'%' {
                content.push(byte);
                continue;
            }
            if rest.is_empty() {
                has_break = false;
                break;
            }
            let digits = rest.split_at_checked(2).map(|(digits, behind)| {
                rest = behind;
                String::from_utf8_lossy(digits).into_owned()
            });
            let byte = digits.and_then(|digits| u8::from_str_radix(&digits, 16).ok());
            content.push(byte.ok_or_else(|| format!("two digits belong behind %: {line}"))?);
        }
        if has_break {
            content.push(b'\n');
        }
    }
    Ok(content)
}

fn check(head: &str, answer: &Answer, mut expected: Vec<String>) -> Result<(), String> {
    let words: Vec<&str> = head.split_whitespace().collect();
    if let ["statement", "error", code, ..] = words.as_slice() {
        let Some(error) = &answer.error else {
            return Err(format!("wanted error {code}, but it succeeded"));
        };
        let message = head.splitn(4, ' ').nth(3).unwrap_or("").trim();
        if error.code.to_string() != *code || !error.message.contains(message) {
            return Err(format!("wanted error {code} '{message}', got {error}"));
        }
        return Ok(());
    }
    if let Some(error) = &answer.error {
        return Err(format!("got {error}"));
    }
    match words.as_slice() {
        ["statement", "ok"] => Ok(()),
        ["statement", "count", count] => {
            let affected = answer.ok.as_ref().map_or(0, |ok| ok.affected_rows);
            if affected.to_string() == *count {
                Ok(())
            } else {
                Err(format!("wanted {count} affected rows, got {affected}"))
            }
        }
        ["query", rest @ ..] => {
            let mut got: Vec<String> = answer.rows.iter().map(|row| row.join("\t")).collect();
            if rest.contains(&"plan") {
                got = got.iter().flat_map(|value| value.split("\\n")).map(masked).collect();
                got.retain(|line| !line.is_empty());
            }
            if rest.contains(&"sorted") {
                got.sort();
                expected.sort();
            }
            if got == expected {
                return Ok(());
            }
            Err(format!("wanted\n{}\ngot\n{}", expected.join("\n"), got.join("\n")))
        }
        _ => Err(format!("no such directive: {head}")),
    }
}

/// A line of a plan without what differs between runs: times, names of shards, and groups that the shards send.
fn masked(line: &str) -> String {
    if let Some((before, after)) = line.split_once("time=") {
        let mut rest = after.split_once(' ').map_or("", |(_, rest)| rest).to_string();
        if line.contains("Aggregate at the shards")
            && let Some((_, loops)) = rest.split_once(' ')
        {
            rest = format!("rows=* {loops}");
        }
        return format!("{before}time=* {rest}");
    }
    let shard = line.trim().trim_end_matches(',');
    let shard = shard.strip_prefix("\"p").and_then(|own| own.strip_suffix('"'));
    match shard.is_some_and(|own| own.bytes().all(|byte| byte.is_ascii_digit())) {
        true => "*".into(),
        false => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use types::{IntWidth, Value};

    use super::*;

    fn answer(rows: &[&[i64]]) -> Answer {
        let own = types::expr::ResultType::of(
            Some(ColumnType::Int { width: IntWidth::W8, unsigned: false }),
            true,
        );
        let column = crate::bind::expression_info("a", &own);
        let mut answer = Answer::default();
        answer.columns(&vec![column; rows.first().map_or(1, |row| row.len())]);
        for row in rows {
            let values: Vec<Value> = row.iter().map(|own| Value::Int(*own)).collect();
            let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
            answer.row(&values);
        }
        answer.end_of_rows(&OkInfo { affected_rows: 3, ..OkInfo::default() });
        answer
    }

    /// Each directive accepts what it says and nothing else.
    #[test]
    fn directives() {
        let lines = |lines: &[&str]| lines.iter().map(|line| line.to_string()).collect::<Vec<_>>();
        let two = answer(&[&[1, 2], &[0, 5]]);
        assert!(check("query", &two, lines(&["1\t2", "0\t5"])).is_ok());
        assert!(check("query", &two, lines(&["0\t5", "1\t2"])).is_err());
        assert!(check("query sorted", &two, lines(&["0\t5", "1\t2"])).is_ok());
        assert!(check("query", &two, lines(&["1\t2"])).is_err());
        assert!(check("statement ok", &two, Vec::new()).is_ok());
        assert!(check("statement count 3", &two, Vec::new()).is_ok());
        assert!(check("statement count 4", &two, Vec::new()).is_err());
        assert!(check("statement error 1062", &two, Vec::new()).is_err());
        assert!(check("statment ok", &two, Vec::new()).is_err());
        let mut failed = Answer::default();
        failed.error(&SqlError::duplicate_entry("1", "t.PRIMARY"));
        assert!(check("statement ok", &failed, Vec::new()).is_err());
        assert!(check("query", &failed, Vec::new()).is_err());
        assert!(check("statement error 1062", &failed, Vec::new()).is_ok());
        assert!(check("statement error 1062 t.PRIMARY", &failed, Vec::new()).is_ok());
        assert!(check("statement error 1062 u.PRIMARY", &failed, Vec::new()).is_err());
        assert!(check("statement error 1064", &failed, Vec::new()).is_err());
    }

    #[test]
    fn files() {
        assert_eq!(file_content("a%41%\nb\n%\n%25%00").unwrap(), b"aAb\n%\0\n");
        assert!(file_content("%4").is_err());
        assert!(file_content("%zz").is_err());
    }

    #[test]
    fn lines_of_plans_are_masked() {
        let line = "-> Sort: a  (actual time=0.010..2.500 rows=3 loops=1)";
        assert_eq!(masked(line), "-> Sort: a  (actual time=* rows=3 loops=1)");
        assert_eq!(masked("    \"p12\","), "*");
        assert_eq!(masked("    \"price\""), "    \"price\"");
        assert_eq!(masked("-> Sort: a"), "-> Sort: a");
    }
}
