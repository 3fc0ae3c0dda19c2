//! Text statements: one after another, through the digest and the plan cache where they can.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use types::contain::contained;
use types::{Charset, Value};

use super::Session;
use crate::ResultSink;
use crate::bind::{Binder, Environment, literal_value, text_value};
use crate::error::{SqlError, code};
use crate::execute::Pace;
use crate::parser::ast::{Literal, Statement};
use crate::parser::{self};
use crate::plan::{ParamKind, Plan, is_ascii, magnitude};
use crate::server::Counters;
use crate::statement::life::PlanSource;
use crate::statement::run::Outcome;

/// Bytes of a statement that SHOW PROCESSLIST shows.
const SHOWN_LENGTH_MAX: usize = 1_024;

/// A text of this length is parsed on another thread.
pub(super) const LONG_TEXT: usize = 256 << 10;

/// The rows of an INSERT are parsed so much at a time: it takes about a twentieth of a millisecond.
const BYTES_BETWEEN_YIELDS: usize = 16 << 10;

impl Session {
    /// Runs every statement of the text (several when CLIENT_MULTI_STATEMENTS is set). SQL errors go to `sink.error`.
    pub async fn query(&mut self, text: &[u8], sink: &mut dyn ResultSink) {
        let result = contained(pin!(Some(self.run_text(text, sink)))).await;
        if let Err(panicked) = result {
            sink.error(&self.end_panicked(&panicked).await);
        }
    }

    async fn run_text(&mut self, text: &[u8], sink: &mut dyn ResultSink) {
        self.begin_command();
        // Some clients send the NUL that ends their string.
        let mut rest = text.strip_suffix(b"\0").unwrap_or(text);
        self.show_statement("Query", &shown_text(rest, self.settings.character_set_client));
        // Copied once for all statements in it.
        let long: Option<Arc<[u8]>> = (LONG_TEXT <= rest.len()).then(|| rest.into());
        let mut is_first = true;
        loop {
            Counters::add(&self.counters().questions, 1);
            match self.query_one(rest, long.as_ref(), is_first, sink).await {
                Ok(consumed) if consumed < rest.len() => rest = &rest[consumed..],
                Ok(_) => break,
                Err(error) => {
                    self.note_error(&error);
                    sink.error(&error);
                    break;
                }
            }
            is_first = false;
        }
        self.show_rest();
        self.end_command();
    }

    /// The process list shows that this runs from now on.
    pub(super) fn show_statement(&self, command: &'static str, text: &str) {
        let now = self.client.client().wall_clock_micros();
        self.update_process(|process| {
            process.command = command;
            process.since_micros = now;
            process.isolation = self.transaction.isolation;
            process.read_only = self.transaction.read_only;
            // The buffer is used again and again.
            let shown = process.statement.get_or_insert_default();
            shown.clear();
            shown.push_str(text);
        });
    }
    /// ... and that nothing does, since now.
    pub(super) fn show_rest(&self) {
        let now = self.client.client().wall_clock_micros();
        let is_slow = |since: i64| {
            u64::try_from(now.saturating_sub(since))
                .is_ok_and(|micros| self.settings.long_query_micros < micros)
        };
        self.update_process(|process| {
            if is_slow(process.since_micros) {
                Counters::add(&self.counters().slow, 1);
            }
            process.command = "Sleep";
            process.since_micros = now;
        });
    }

    async fn parse_in_turns(&self, text: &[u8]) -> Result<(Statement, usize), SqlError> {
        let mut turns = parser::Turns::new(text, self.settings.dialect())?;
        loop {
            if let Some(parsed) = turns.turn(BYTES_BETWEEN_YIELDS)? {
                return Ok(parsed);
            }
            if text.len() > BYTES_BETWEEN_YIELDS {
                client::task::yield_now().await;
            }
        }
    }

    /// Runs the first statement of the text; where the next one begins, or the end. `long` is a copy of all statements, of
    /// which the text is the end.
    async fn query_one(
        &mut self,
        text: &[u8],
        long: Option<&Arc<[u8]>>,
        is_first: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<usize, SqlError> {
        self.frame.diagnostics.expect_statement();
        self.check_killed()?;
        let mut literals = Vec::new();
        let digested = if long.is_some() {
            // To read it again would hold up the worker, and its plan is not worth a place.
            None
        } else {
            let client = self.client.client();
            let mut cache = self.server.plan_cache(self.info.worker);
            match cache.digest(text, self.settings.dialect(), &mut literals, || client.random_u64())
            {
                Some((key, consumed)) => {
                    let found = cache.find(key, &self.environment, client.catalogue().version);
                    Some((key, consumed, found))
                }
                None => None,
            }
        };
        let mut pace = Pace::default();
        if let Some((_, consumed, _)) = digested {
            pace.bytes(consumed).await;
        }
        // A hexadecimal literal is a number or a string by where it stands: it stays in the plan.
        let has_hex = literals.iter().any(|own| matches!(own, Literal::Hex(_) | Literal::Bits(_)));
        if let Some((key, consumed, found)) = digested
            && !has_hex
        {
            let end = self.end_of(text, consumed)?;
            let more = end < text.len();
            if let Some(plan) = found {
                let params = self.literal_values(literals)?;
                if fits(&plan, &params) && self.is_fresh(&plan) {
                    match self.run_plan(&plan, params, sink, more).await? {
                        Outcome::Done => return Ok(end),
                        Outcome::Replan(params, error) => {
                            let replans =
                                self.after_replan(0, plan.catalogue_version, &error).await?;
                            drop(params);
                            self.parse_and_run(text, Some(key), replans, end, sink).await?;
                            return Ok(end);
                        }
                    }
                }
            } else {
                // The parser copies them again: they may be long.
                drop(literals);
            }
            self.parse_and_run(text, Some(key), 0, end, sink).await?;
            return Ok(end);
        }
        let dialect = self.settings.dialect();
        let (statement, consumed) = match long {
            None => self.parse_in_turns(text).await?,
            Some(long) => {
                let (long, start) = (Arc::clone(long), long.len() - text.len());
                self.compute(move || parser::parse_one(&long[start..], dialect)).await??
            }
        };
        let end = self.end_of(text, consumed)?;
        if statement == Statement::Empty {
            // Comments behind the last semicolon are nothing. A text of nothing but comments is answered with OK, one of
            // blanks with an error, as MySQL does.
            if is_first && end == text.len() {
                let has_comment =
                    text.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';');
                if !has_comment {
                    return Err(SqlError::new(code::ER_EMPTY_QUERY, "Query was empty"));
                }
                self.frame.diagnostics.begin();
                self.done(sink, false)?;
            }
            return Ok(end);
        }
        let more = end < text.len();
        self.frame.params.clear();
        Box::pin(self.statement(&statement, Vec::new(), sink, more)).await?;
        Ok(end)
    }

    /// Where the next statement begins: the end of the text if nothing but comments is left. 1064 if there is more and
    /// the client did not ask for several statements.
    fn end_of(&self, text: &[u8], consumed: usize) -> Result<usize, SqlError> {
        if consumed == text.len() {
            return Ok(consumed);
        }
        let rest = &text[consumed..];
        let begins_like_comment = matches!(rest[0], b'-' | b'#' | b'/' | b';');
        if begins_like_comment
            && let Ok((Statement::Empty, length)) = parser::parse_one(rest, self.settings.dialect())
            && length == rest.len()
        {
            return Ok(text.len());
        }
        if !self.info.multi_statements {
            let near: String =
                String::from_utf8_lossy(&rest[..rest.len().min(320)]).chars().take(80).collect();
            let line = 1 + text[..consumed].iter().filter(|&&byte| byte == b'\n').count();
            return Err(SqlError::new(
                code::ER_PARSE_ERROR,
                format!(
                    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL \
                     server version for the right syntax to use near '{near}' at line {line}"
                ),
            ));
        }
        Ok(consumed)
    }

    /// The way of a statement that has a digest but no plan yet.
    async fn parse_and_run(
        &mut self,
        text: &[u8],
        key: Option<(u64, u64)>,
        replans: u32,
        end: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let more = end < text.len();
        let (statement, literals) = match parser::parse_parametrised(text, self.settings.dialect())?
        {
            Some(parsed) => (parsed.statement, Some(parsed.literals)),
            None => (parser::parse_one(text, self.settings.dialect())?.0, None),
        };
        if !has_plan(&statement) {
            return Box::pin(self.statement(&statement, Vec::new(), sink, more)).await;
        }
        let mut pace = Pace::default();
        pace.bytes(end).await;
        let is_shareable = literals.is_some();
        let literals = literals.unwrap_or_default();
        let params = self.literal_values(literals)?;
        let digest = key.filter(|_| is_shareable);
        let source = PlanSource::Text { statement: &statement, digest };
        self.run_statement(&source, params, replans, sink, more).await.map(drop)
    }

    pub(crate) fn bind(
        &self,
        statement: &Statement,
        kinds: &[ParamKind],
        params: &[Value],
    ) -> Result<Plan, SqlError> {
        self.bind_in(&self.environment, statement, kinds, params)
    }

    pub(super) fn bind_in(
        &self,
        environment: &Environment,
        statement: &Statement,
        kinds: &[ParamKind],
        params: &[Value],
    ) -> Result<Plan, SqlError> {
        let catalogue = self.catalogue();
        Binder::new(&catalogue, environment, self, kinds).with_values(params).plan(statement)
    }

    fn literal_values(&self, literals: Vec<Literal>) -> Result<Vec<Value>, SqlError> {
        literals
            .into_iter()
            .map(|literal| match literal {
                // The bytes are taken over, not copied.
                Literal::String(bytes) => Ok(text_value(bytes, &self.environment)),
                other => literal_value(&other, &self.environment),
            })
            .collect()
    }
}

/// As much of a statement as the process list shows.
pub(super) fn shown_text(text: &[u8], charset: Charset) -> Cow<'_, str> {
    let valid = |head: &[u8]| match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(error) => error.valid_up_to(),
    };
    match charset.decode(&text[..text.len().min(SHOWN_LENGTH_MAX)]) {
        Cow::Borrowed(head) => String::from_utf8_lossy(&head[..valid(head)]),
        Cow::Owned(head) => Cow::Owned(String::from_utf8_lossy(&head[..valid(&head)]).into_owned()),
    }
}

/// Was the plan made for parameters of these kinds, and for a LIMIT of about this size?
pub(super) fn fits(plan: &Plan, params: &[Value]) -> bool {
    usize::from(plan.param_count) == params.len()
        && plan.param_kinds.as_ref().is_none_or(|kinds| {
            kinds.iter().zip(params).all(|(kind, value)| *kind == ParamKind::of(value))
        })
        && plan
            .limit_sizes
            .iter()
            .all(|(param, size)| magnitude(&params[usize::from(*param)]) == *size)
        && plan.fixed_params.iter().all(|(param, value)| params[usize::from(*param)] == *value)
        && plan.ascii_params.iter().all(|param| is_ascii(&params[usize::from(*param)]))
}

pub(super) fn has_plan(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::LoadData(_)
    )
}
