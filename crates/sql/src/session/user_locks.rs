//! GET_LOCK() and its like: names, timeouts and errors as MySQL has them, over the locks of [`client::UserLocks`].

use client::{LockStep, Refusal, Released, UserLocks};
use types::convert::to_text;
use types::hash::hash64;
use types::{Table, Value};

use super::Session;
use crate::error::{SqlError, code};
use crate::execute::error_of;
use crate::plan::LockFunction;

/// Characters of a name.
const NAME_LENGTH_MAX: usize = 64;
/// Bytes of a name that an error shows.
const NAME_SHOWN_MAX: usize = 192;

impl Session {
    /// A call of a function of user-level locks. `seconds` is the timeout of GET_LOCK().
    pub(crate) async fn user_lock(
        &mut self,
        function: LockFunction,
        name: &Value,
        seconds: i128,
    ) -> Result<Value, SqlError> {
        if !UserLocks::are_kept(self.client.client()) {
            return Err(SqlError::not_supported(
                "GET_LOCK and its like in a cluster that was made by a version without them",
            ));
        }
        self.user_lock_calls += 1;
        if function == LockFunction::ReleaseAll {
            let released = self.user_locks.release_all().await;
            return released.map(Value::UInt).map_err(|refusal| self.lock_error(refusal));
        }
        let name = lock_name(name)?;
        match function {
            LockFunction::Get => self.get_lock(&name, seconds).await,
            LockFunction::Release => match self.user_locks.release(&name).await {
                Ok(Released::Released) => Ok(Value::Int(1)),
                Ok(Released::NotOwner) => Ok(Value::Int(0)),
                Ok(Released::NotHeld) => Ok(Value::Null),
                Err(refusal) => Err(self.lock_error(refusal)),
            },
            LockFunction::IsFree | LockFunction::IsUsed => {
                let holder = self.user_locks.holder(&name).await;
                let holder = holder.map_err(|refusal| self.lock_error(refusal))?;
                Ok(match (function, holder) {
                    (LockFunction::IsFree, holder) => Value::Int(i64::from(holder.is_none())),
                    (_, Some(connection)) => Value::UInt(u64::from(connection)),
                    (_, None) => Value::Null,
                })
            }
            LockFunction::ReleaseAll => unreachable!("it has no name"),
        }
    }

    async fn get_lock(&mut self, name: &str, seconds: i128) -> Result<Value, SqlError> {
        // As MySQL does, a negative timeout, or one of 68 years, is none.
        let timeout_us = match u64::try_from(seconds) {
            Ok(seconds) if seconds < i32::MAX as u64 => Some(seconds * 1_000_000),
            _ => None,
        };
        let mut wait = self.user_locks.begin(name, timeout_us);
        loop {
            match self.user_locks.step(&mut wait).await {
                Ok(LockStep::Taken) => return Ok(Value::Int(1)),
                Ok(LockStep::TimedOut) => return Ok(Value::Int(0)),
                Ok(LockStep::Deadlock) => {
                    return Err(SqlError::new(
                        code::ER_USER_LOCK_DEADLOCK,
                        "Deadlock found when trying to get user-level lock; try rolling back \
                         transaction/releasing locks and restarting lock acquisition.",
                    ));
                }
                Ok(LockStep::Held) => {}
                Err(refusal) => return Err(self.lock_error(refusal)),
            }
            if self.kill.until_killed(wait.pause()).await.is_none() {
                self.user_locks.end(&mut wait).await;
                self.check_killed()?;
            }
        }
    }

    /// Takes the lock of a table's definition, for at most lock_wait_timeout; its name. None in a cluster without the table of locks.
    pub(super) async fn lock_definition(
        &mut self,
        table: &Table,
    ) -> Result<Option<String>, SqlError> {
        if !UserLocks::are_kept(self.client.client()) {
            return Ok(None);
        }
        // Names of GET_LOCK() are in lower case.
        let of = format!("{}.{}", table.database, table.name).to_lowercase();
        let name = format!("ALTER {:016x}", hash64(of.as_bytes()));
        self.show_progress(Some("waiting for table metadata lock".into()));
        let seconds = i128::from(self.kept_number("lock_wait_timeout"));
        let taken = self.get_lock(&name, seconds).await;
        self.show_progress(None);
        match taken? {
            Value::Int(1) => Ok(Some(name)),
            _ => Err(self.refused(Refusal::LockWaitTimeout).error),
        }
    }

    /// The transaction of a lock's row is not the session's, which continues whatever the refusal.
    fn lock_error(&self, refusal: Refusal) -> SqlError {
        error_of(refusal, &self.catalogue())
    }
}

/// The name in the form in which names are equal: lower case. 3057 for NULL, an empty one, one of more than 64
/// characters, and one that MySQL's character set of names lacks.
fn lock_name(value: &Value) -> Result<String, SqlError> {
    let text = match value {
        Value::Null => return Err(wrong_name("NULL")),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_string(),
            Err(_) => return Err(wrong_name(&String::from_utf8_lossy(bytes))),
        },
        value => to_text(value.as_ref()).into_owned(),
    };
    let is_named = text.chars().all(|character| character <= '\u{ffff}');
    if !(1..=NAME_LENGTH_MAX).contains(&text.chars().count()) || !is_named {
        return Err(wrong_name(&text));
    }
    // Character by character, as MySQL does: none becomes two.
    let lower = |character: char| character.to_lowercase().next().unwrap_or(character);
    Ok(text.chars().map(lower).collect())
}

fn wrong_name(name: &str) -> SqlError {
    let mut end = name.len().min(NAME_SHOWN_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let message = format!("Incorrect user-level lock name '{}'.", &name[..end]);
    SqlError::new(code::ER_USER_LOCK_WRONG_NAME, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Collation;

    fn name(text: &str) -> Result<String, u16> {
        lock_name(&Value::text(text, Collation::default())).map_err(|error| error.code)
    }

    /// Names differ by their characters only, in lower case; the longest has 64 of them.
    #[test]
    fn names() {
        assert_eq!(name("Main.\u{c4}pfel"), Ok("main.\u{e4}pfel".into()));
        assert_eq!(name("\u{130}"), Ok("i".into()));
        assert_eq!(name(&"\u{20ac}".repeat(64)), Ok("\u{20ac}".repeat(64)));
        assert_eq!(name(&"a".repeat(65)), Err(3057));
        assert_eq!(name(""), Err(3057));
        assert_eq!(name("\u{1f512}"), Err(3057));
        assert_eq!(lock_name(&Value::Int(-5)).as_deref(), Ok("-5"));
        assert_eq!(lock_name(&Value::Bytes(b"\xff".to_vec().into())).unwrap_err().code, 3057);
        let error = lock_name(&Value::Null).unwrap_err();
        assert_eq!(error.message, "Incorrect user-level lock name 'NULL'.");
        // An error shows whole characters only.
        assert!(wrong_name(&"\u{20ac}".repeat(100)).message.ends_with("\u{20ac}'."));
    }
}
