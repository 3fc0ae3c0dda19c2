//! What functions of a statement take from the session and leave in it: user variables, the clock, random numbers, ids.

use types::convert::to_text;
use types::{Collation, DateTime, SqlMode, Value};

use super::Session;
use crate::StatusFlags;
use crate::error::{SqlError, code};
use crate::plan::Slot;

/// User variables a session may have, and the bytes one may hold.
const USER_VARIABLE_COUNT_MAX: usize = 10_000;
const USER_VARIABLE_SIZE_MAX: usize = 1 << 20;

impl Session {
    /// The statement's moment in UTC: the worker's clock, or what SET timestamp says.
    pub(crate) fn statement_clock(&self) -> DateTime {
        let micros = match self.settings.timestamp_micros {
            Some(micros) => micros,
            None => self.client.client().wall_clock_micros(),
        };
        DateTime::from_micros(micros).unwrap_or(DateTime::ZERO)
    }

    /// A slot that is supplied once a statement; those of each row start as NULL.
    pub(crate) fn statement_slot(&self, slot: &Slot, utc: DateTime, local: DateTime) -> Value {
        match slot {
            Slot::Now { fsp } => Value::DateTime(local.truncate(*fsp)),
            Slot::CurrentDate => Value::Date(local.date()),
            Slot::CurrentTime { fsp } => Value::Time(local.time().truncate(*fsp)),
            Slot::UtcTimestamp { fsp } => Value::DateTime(utc.truncate(*fsp)),
            Slot::UtcDate => Value::Date(utc.date()),
            Slot::UtcTime { fsp } => Value::Time(utc.time().truncate(*fsp)),
            Slot::LastInsertId => Value::UInt(self.last_insert_id),
            Slot::RowCount => Value::Int(self.row_count),
            Slot::FoundRows => Value::UInt(self.found_rows),
            Slot::UserVariable(name) => {
                self.user_variables.get(name).cloned().unwrap_or(Value::Null)
            }
            Slot::Random { .. }
            | Slot::Uuid
            | Slot::UuidShort
            | Slot::Sleep(_)
            | Slot::SystemDate { .. }
            | Slot::TransactionOutcome(_)
            | Slot::UserLock(_)
            | Slot::Assign { .. }
            | Slot::LastInsertIdOf(_)
            | Slot::NewValue { .. }
            | Slot::SourceValue { .. }
            | Slot::Window
            // The caller of the query puts them into the parameters.
            | Slot::Subquery(_)
            | Slot::SubqueryColumn
            | Slot::Outer => Value::Null,
        }
    }

    pub(crate) fn set_user_variable(&mut self, name: &str, value: Value) -> Result<(), SqlError> {
        // A variable has no type JSON: it keeps the document's text.
        let value = match value {
            Value::Json(_) => Value::text(&to_text(value.as_ref()), Collation::Utf8mb4Bin),
            value => value,
        };
        if !self.user_variables.contains_key(name)
            && USER_VARIABLE_COUNT_MAX <= self.user_variables.len()
        {
            return Err(SqlError::new(code::ER_OUT_OF_RESOURCES, "Too many user variables"));
        }
        if USER_VARIABLE_SIZE_MAX < crate::execute::value_size(&value) {
            return Err(SqlError::new(
                code::ER_OUT_OF_RESOURCES,
                format!("The value for '@{name}' is longer than {USER_VARIABLE_SIZE_MAX} bytes"),
            ));
        }
        // The type of a variable is known before its value: a label is a text there.
        let value = match value {
            Value::Label(number, labels) => Value::text(&labels.text(number), labels.collation()),
            value => value,
        };
        self.user_variables.insert(name.to_string(), value);
        Ok(())
    }

    pub(crate) fn random_double(&mut self) -> f64 {
        if let Some((first, second)) = self.settings.random_state {
            let (first, second) = next_random(first, second);
            self.settings.random_state = Some((first, second));
            return first as f64 / RANDOM_MAX as f64;
        }
        // 53 bits: every double in [0, 1) of that spacing.
        (self.client.client().random_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// MySQL's generator for RAND(seed): the first value of the sequence that the seed begins, the following ones for the
    /// following rows of the statement.
    pub(crate) fn seeded_double(&mut self, slot: u16, seed: i128) -> f64 {
        let (first, second) = match self.frame.random_sequences.get(&slot) {
            Some((own, first, second)) if *own == seed => (*first, *second),
            _ => {
                let seed = seed as u32;
                let first =
                    u64::from(seed.wrapping_mul(0x10001).wrapping_add(55_555_555)) % RANDOM_MAX;
                let second = u64::from(seed.wrapping_mul(0x1000_0001)) % RANDOM_MAX;
                (first, second)
            }
        };
        let (first, second) = next_random(first, second);
        self.frame.random_sequences.insert(slot, (seed, first, second));
        first as f64 / RANDOM_MAX as f64
    }

    /// Version 4: random.
    pub(crate) fn uuid(&self) -> String {
        let client = self.client.client();
        let high = (client.random_u64() & !0xf000) | 0x4000;
        let low = (client.random_u64() & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    pub(crate) fn uuid_short(&self) -> u64 {
        let client = self.client.client();
        let node = u64::from(self.server.config().node.0 & 0xff) << 56;
        let micros = u64::try_from(client.wall_clock_micros()).unwrap_or(0);
        let mark = (micros / 1_000_000) << 24 | (client.random_u64() & 0xff_ffff);
        node | (mark & 0x00ff_ffff_ffff_ffff)
    }

    pub fn status_flags(&self) -> StatusFlags {
        StatusFlags {
            in_transaction: self.is_in_transaction(),
            in_read_only_transaction: self.transaction.explicit && self.transaction.read_only,
            autocommit: self.settings.autocommit,
            no_backslash_escapes: self.settings.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
            schema_changed: self.schema_changed,
            results: self.settings.character_set_results,
        }
    }
}

const RANDOM_MAX: u64 = 0x3fff_ffff;

/// A step of MySQL's random generator.
fn next_random(first: u64, second: u64) -> (u64, u64) {
    let first = (first % RANDOM_MAX * 3 + second % RANDOM_MAX) % RANDOM_MAX;
    (first, (first + second % RANDOM_MAX + 33) % RANDOM_MAX)
}
