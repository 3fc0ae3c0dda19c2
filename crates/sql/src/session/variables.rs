//! System variables: what a value of theirs is, and the settings that the engine reads.
//!
//! Drivers and tools read about sixty variables when they connect and set a dozen. The [`table`] has all of MySQL's that they
//! are known to touch, each with what becomes of a value: the engine acts on it, it is satisfied whatever it is, or only the
//! default is accepted and every other value is refused with 1235. A name that is not in the table is refused (1193), as
//! MySQL does.
//!
//! A variable that acts and has a field in [`Settings`] is *live*; the value of any other is *kept* as text.

pub mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use types::decimal::DIV_PRECISION_INCREMENT;
use types::expr::GROUP_CONCAT_LENGTH_DEFAULT;
use types::temporal::Locale;
use types::{Charset, Collation, SqlMode, Value};

use crate::bind::Environment;
use crate::bind::switch::OptimizerSwitch;
use crate::bind::table::engine_name;
use crate::error::{SqlError, code};
use crate::parser::Dialect;
pub use table::VARIABLES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Bool(bool),
    Int {
        default: u64,
        min: u64,
        max: u64,
    },
    /// Text as it is; a number with decimals is kept as its text too.
    Text(&'static str),
    /// One of some words, the first is the default; setting by number counts from 0.
    Word(&'static [&'static str]),
    /// `name=on,other=off`. A SET names those that it changes.
    Switches(&'static [Switch]),
    /// The session knows it (`Session::computed_variable`); a number if true.
    Computed(bool),
}

/// What becomes of a value that a client sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// There is no setting it.
    ReadOnly,
    /// The engine acts on it.
    Acts,
    /// The engine does what any value of it asks for; says why.
    Satisfied(&'static str),
    /// What another value than the default asks for is not there: refused with 1235.
    OnlyDefault,
}

/// One of the switches of a variable.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    pub name: &'static str,
    pub default: bool,
    pub effect: Effect,
}

#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub effect: Effect,
}

impl Variable {
    pub fn is_read_only(&self) -> bool {
        self.effect == Effect::ReadOnly
    }
}

/// A variable by name, any case.
pub fn find(name: &str) -> Option<&'static Variable> {
    let name = name.to_ascii_lowercase();
    VARIABLES
        .binary_search_by(|variable| variable.name.cmp(name.as_str()))
        .ok()
        .map(|position| &VARIABLES[position])
}

/// The mode that SET gives: 1231 for a name of no mode.
pub fn parse_sql_mode(text: &str) -> Result<SqlMode, SqlError> {
    SqlMode::from_names(text).map_err(|name| SqlError::wrong_value_for_variable("sql_mode", name))
}

/// READ UNCOMMITTED is served as READ COMMITTED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "READ-UNCOMMITTED",
            Isolation::ReadCommitted => "READ-COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE-READ",
            Isolation::Serializable => "SERIALIZABLE",
        }
    }
    pub fn parse(text: &str) -> Result<Isolation, SqlError> {
        match text.to_ascii_uppercase().as_str() {
            "READ-UNCOMMITTED" | "0" => Ok(Isolation::ReadUncommitted),
            "READ-COMMITTED" | "1" => Ok(Isolation::ReadCommitted),
            "REPEATABLE-READ" | "2" => Ok(Isolation::RepeatableRead),
            "SERIALIZABLE" | "3" => Ok(Isolation::Serializable),
            _ => Err(SqlError::wrong_value_for_variable("transaction_isolation", text)),
        }
    }
}

/// What the engine acts on. Everything else that was set is in `kept`.
#[derive(Clone, Debug)]
pub struct Settings {
    pub autocommit: bool,
    pub sql_mode: SqlMode,
    pub isolation: Isolation,
    pub read_only: bool,
    /// As the user wrote it: SYSTEM, +02:00, UTC.
    pub time_zone: String,
    pub time_zone_offset_seconds: i32,
    /// What the client writes in.
    pub character_set_client: Charset,
    /// What the client reads. None: NULL, no conversion.
    /// The collation of what the client reads; None: nothing is converted.
    pub character_set_results: Option<Collation>,
    /// Of string literals. `character_set_connection` is its character set.
    pub collation_connection: Collation,
    pub lock_wait_timeout_seconds: u32,
    /// Rows that a SELECT without a LIMIT answers at most.
    pub select_limit: u64,
    /// Bytes that GROUP_CONCAT makes at most.
    pub group_concat_length_max: u32,
    pub div_precision_increment: u8,
    pub sql_notes: bool,
    /// lc_time_names: the language of the names of days and months.
    pub time_names: Locale,
    /// The mode of WEEK() without one.
    pub default_week_format: u8,
    pub optimizer_switch: OptimizerSwitch,
    /// UPDATE and DELETE need a key in WHERE, or a LIMIT.
    pub safe_updates: bool,
    /// max_execution_time: milliseconds that a SELECT may take; 0 for ever.
    pub execution_time_ms_max: u64,
    /// Microseconds after which a statement counts as slow.
    pub long_query_micros: u64,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    /// State of RAND() without a seed, once rand_seed1 or rand_seed2 was set.
    pub random_state: Option<(u64, u64)>,
    /// SET timestamp: NOW() answers this, microseconds since 1970.
    pub timestamp_micros: Option<i64>,
    /// Set values of kept variables, by name.
    pub kept: BTreeMap<&'static str, String>,
    /// skarv_commit_token: what the next transaction is called.
    pub commit_token: Option<String>,
    /// skarv_strict_snapshot: at REPEATABLE READ the first to change a row wins.
    pub strict_snapshot: bool,
    /// foreign_key_checks: are parents and children looked for?
    pub foreign_key_checks: bool,
    /// skarv_snapshot_age_max: how old the snapshots that the session takes may get.
    pub snapshot_age_max_seconds: u32,
    /// Grows with every change of `kept`.
    pub kept_version: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            autocommit: true,
            sql_mode: SqlMode::default(),
            isolation: Isolation::RepeatableRead,
            read_only: false,
            time_zone: "SYSTEM".into(),
            time_zone_offset_seconds: 0,
            character_set_client: Charset::Utf8mb4,
            character_set_results: Some(Collation::DEFAULT),
            collation_connection: Collation::default(),
            lock_wait_timeout_seconds: 50,
            select_limit: u64::MAX,
            group_concat_length_max: GROUP_CONCAT_LENGTH_DEFAULT,
            div_precision_increment: DIV_PRECISION_INCREMENT,
            commit_token: None,
            sql_notes: true,
            time_names: Locale::ENGLISH,
            default_week_format: 0,
            optimizer_switch: OptimizerSwitch::default(),
            safe_updates: false,
            execution_time_ms_max: 0,
            long_query_micros: 10_000_000,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            random_state: None,
            timestamp_micros: None,
            kept: BTreeMap::new(),
            strict_snapshot: false,
            foreign_key_checks: true,
            snapshot_age_max_seconds: 300,
            kept_version: 1,
        }
    }
}

impl Settings {
    /// How the client's statements are read.
    pub fn dialect(&self) -> Dialect {
        let charset = match self.literal_charset() {
            // Bytes that are none of its characters stay as they are: a column that is to hold them
            // refuses them.
            own @ (Charset::Ascii | Charset::Utf8mb3)
                if own == self.collation_connection.charset() =>
            {
                Charset::Utf8mb4
            }
            own => own,
        };
        Dialect { mode: self.sql_mode, charset }
    }
    /// What the client's literals and parameters are written in: bytes of a binary client are taken
    /// as the connection's.
    pub fn literal_charset(&self) -> Charset {
        match self.character_set_client {
            Charset::Binary => self.collation_connection.charset(),
            own => own,
        }
    }
    /// Of a session with these settings, in this database.
    pub fn environment(&self, database: Option<String>) -> Environment {
        Environment {
            database,
            sql_mode: self.sql_mode,
            client: self.literal_charset(),
            collation: self.collation_connection,
            group_concat_length_max: self.group_concat_length_max,
            div_precision_increment: self.div_precision_increment,
            time_names: self.time_names,
            default_week_format: self.default_week_format,
            optimizer_switch: self.optimizer_switch,
            temporary_tables: 0,
        }
    }
}

/// "+02:00", "-5:30", "SYSTEM", "UTC": the offset in seconds.
pub fn parse_time_zone(text: &str) -> Option<i32> {
    let name = text.trim();
    if ["SYSTEM", "UTC", "GMT", "Etc/UTC", "Z"].iter().any(|zone| name.eq_ignore_ascii_case(zone)) {
        return Some(0);
    }
    let (sign, rest) = match name.as_bytes().first()? {
        b'+' => (1, &name[1..]),
        b'-' => (-1, &name[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |text: &str| text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hours) || !digits(minutes) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = sign * (hours * 3600 + minutes * 60);
    // MySQL's bounds: -13:59 to +14:00.
    (minutes < 60 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&seconds)).then_some(seconds)
}

/// A value for a variable, as the SET statement gave it.
#[derive(Clone, Debug)]
pub enum NewValue {
    Default,
    /// A bare word or a value.
    Word(String),
    Value(Value),
}

impl NewValue {
    /// A value that was shown or kept as text.
    pub fn of_text(text: String, kind: Kind) -> NewValue {
        match (text.parse::<u64>(), kind) {
            (Ok(number), Kind::Int { .. }) => NewValue::Value(Value::UInt(number)),
            _ => NewValue::Word(text),
        }
    }
    /// Where DEFAULT is said and is this.
    pub fn or_default(self, default: Option<String>, kind: Kind) -> NewValue {
        match (self, default) {
            (NewValue::Default, Some(default)) => NewValue::of_text(default, kind),
            (value, _) => value,
        }
    }
    /// The text of a word or of a character value; numbers as digits.
    pub fn text(&self) -> Option<String> {
        match self {
            NewValue::Default => None,
            NewValue::Word(word) => Some(word.clone()),
            NewValue::Value(value) => crate::session::value_text(value),
        }
    }
}

/// Checks and normalises the value of a kept variable: the text that is remembered, and whether it was adjusted. `current` is
/// the text that it has now.
pub fn check_kept(
    variable: &Variable,
    value: &NewValue,
    current: &str,
) -> Result<(String, bool), SqlError> {
    let (text, adjusted) = normalised(variable, value, current)?;
    if variable.effect == Effect::OnlyDefault && Some(&text) != default_of(variable.kind).as_ref() {
        return Err(SqlError::not_supported(format!("{} = {text}", variable.name)));
    }
    if let Kind::Switches(switches) = variable.kind {
        let is_refused = |own: &&Switch| {
            let other = switch_text(own.name, !own.default);
            own.effect == Effect::OnlyDefault && text.split(',').any(|part| part == other)
        };
        if let Some(own) = switches.iter().find(is_refused) {
            let other = switch_text(own.name, !own.default);
            return Err(SqlError::not_supported(format!("{} = '{other}'", variable.name)));
        }
    }
    Ok((text, adjusted))
}

/// The text of the default, where the table has it.
pub fn default_of(kind: Kind) -> Option<String> {
    Some(match kind {
        Kind::Bool(default) => on_off(default),
        Kind::Int { default, .. } => default.to_string(),
        Kind::Text(default) => default.to_string(),
        Kind::Word(words) => words[0].to_string(),
        Kind::Switches(switches) => {
            let texts = switches.iter().map(|own| switch_text(own.name, own.default));
            texts.collect::<Vec<_>>().join(",")
        }
        Kind::Computed(_) => return None,
    })
}

fn switch_text(name: &str, on: bool) -> String {
    format!("{name}={}", if on { "on" } else { "off" })
}

pub fn on_off(on: bool) -> String {
    if on { "ON" } else { "OFF" }.to_string()
}

fn normalised(
    variable: &Variable,
    value: &NewValue,
    current: &str,
) -> Result<(String, bool), SqlError> {
    let name = variable.name;
    if let (NewValue::Default, Some(default)) = (value, default_of(variable.kind)) {
        return Ok((default, false));
    }
    let wrong_value = |text: &str| SqlError::wrong_value_for_variable(name, text);
    let wrong_type = || SqlError::wrong_type_for_variable(name);
    let text = value.text();
    match variable.kind {
        Kind::Bool(_) => {
            if matches!(value, NewValue::Value(Value::Double(_) | Value::Decimal(_))) {
                return Err(wrong_type());
            }
            let text = text.ok_or_else(|| wrong_value("NULL"))?;
            Ok((on_off(parse_bool(name, &text)?), false))
        }
        Kind::Int { min, max, .. } => {
            let (number, negative) = match value {
                NewValue::Value(Value::Int(number)) => (number.unsigned_abs(), *number < 0),
                NewValue::Value(Value::UInt(number)) => (*number, false),
                // TRUE and FALSE are integers, ON and OFF are words.
                _ => return Err(wrong_type()),
            };
            let clamped = if negative { min } else { number.clamp(min, max) };
            Ok((clamped.to_string(), negative || clamped != number))
        }
        Kind::Text(_) => {
            let text = text.ok_or_else(|| wrong_value("NULL"))?;
            normalised_text(name, &text)
        }
        Kind::Word(words) => {
            let text = text.ok_or_else(|| wrong_value("NULL"))?;
            let by_number = text.parse::<usize>().ok().and_then(|number| words.get(number));
            let found = words.iter().find(|word| word.eq_ignore_ascii_case(&text)).or(by_number);
            found.map(|word| ((*word).to_string(), false)).ok_or_else(|| wrong_value(&text))
        }
        Kind::Switches(switches) => {
            let text = text.ok_or_else(|| wrong_value("NULL"))?;
            Ok((set_switches(switches, current, &text).ok_or_else(|| wrong_value(&text))?, false))
        }
        Kind::Computed(_) => Err(read_only(name)),
    }
}

/// Texts that are not any text.
fn normalised_text(name: &str, text: &str) -> Result<(String, bool), SqlError> {
    match name {
        "long_query_time" | "secondary_engine_cost_threshold" => {
            let number: f64 =
                text.trim().parse().map_err(|_| SqlError::wrong_type_for_variable(name))?;
            let clamped = number.clamp(0.0, 31_536_000.0);
            Ok((format!("{clamped:.6}"), clamped != number))
        }
        "lc_time_names" => match Locale::by_name(text) {
            Some(locale) => Ok((locale.name().into(), false)),
            None if Locale::is_known(text) || text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(SqlError::not_supported(format!("lc_time_names {text}")))
            }
            None => Err(SqlError::new(1649, format!("Unknown locale: '{text}'"))),
        },
        "default_storage_engine" | "default_tmp_storage_engine" => {
            Ok((engine_name(text)?.to_string(), false))
        }
        _ => Ok((text.chars().take(4096).collect(), false)),
    }
}

/// `current` with the switches of `text` changed; None when it names one that there is not, or names one twice.
fn set_switches(switches: &[Switch], current: &str, text: &str) -> Option<String> {
    let is_on = |name: &str| current.split(',').any(|own| own == switch_text(name, true));
    let mut states: Vec<(&str, bool, bool)> =
        switches.iter().map(|own| (own.name, own.default, is_on(own.name))).collect();
    let mut named: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let part = part.to_ascii_lowercase();
        if part == "default" {
            states.iter_mut().for_each(|state| state.2 = state.1);
            continue;
        }
        let (name, state) = part.split_once('=')?;
        let own = states.iter_mut().find(|own| own.0 == name)?;
        own.2 = match state {
            "on" => true,
            "off" => false,
            "default" => own.1,
            _ => return None,
        };
        if named.iter().any(|other| other == name) {
            return None;
        }
        named.push(name.to_string());
    }
    Some(states.iter().map(|(name, _, on)| switch_text(name, *on)).collect::<Vec<_>>().join(","))
}

pub fn read_only(name: &str) -> SqlError {
    SqlError::new(
        code::ER_INCORRECT_GLOBAL_LOCAL_VAR,
        format!("Variable '{name}' is a read only variable"),
    )
}

pub fn parse_bool(name: &str, text: &str) -> Result<bool, SqlError> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" => Ok(true),
        "OFF" | "0" | "FALSE" => Ok(false),
        _ => Err(SqlError::wrong_value_for_variable(name, text)),
    }
}
