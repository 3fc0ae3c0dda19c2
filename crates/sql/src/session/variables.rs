//! System variables: which there are, what they are by default, and what setting one means.
//!
//! Drivers and tools read about sixty of them when they connect and set a dozen; all of MySQL's that they are known to
//! touch are in the table below. A variable is *live* when the engine acts on it ([`Settings`] has a field), *kept* when
//! only its value is remembered and shown. A name that is not in the table is refused (1193), as MySQL does.

use std::collections::BTreeMap;

use types::decimal::DIV_PRECISION_INCREMENT;
use types::expr::GROUP_CONCAT_LENGTH_DEFAULT;
use types::temporal::{DateModes, Locale};
use types::{Collation, Value};

use crate::bind::Environment;
use crate::error::{SqlError, code};

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
    /// The session knows it (`Session::computed_variable`); a number if true.
    Computed(bool),
}

#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub name: &'static str,
    pub scope: Scope,
    pub read_only: bool,
    pub kind: Kind,
}

const fn v(name: &'static str, scope: Scope, kind: Kind) -> Variable {
    Variable { name, scope, read_only: false, kind }
}
const fn r(name: &'static str, kind: Kind) -> Variable {
    Variable { name, scope: Scope::Global, read_only: true, kind }
}
const fn int(default: u64, min: u64, max: u64) -> Kind {
    Kind::Int { default, min, max }
}

use Kind::{Bool, Computed, Text, Word};
use Scope::{Both, Global, Session};

const U32: u64 = u32::MAX as u64;
const U64: u64 = u64::MAX;

/// Sorted by name.
pub static VARIABLES: &[Variable] = &[
    v("auto_increment_increment", Both, int(1, 1, 1)),
    v("auto_increment_offset", Both, int(1, 1, 1)),
    v("autocommit", Both, Bool(true)),
    v("automatic_sp_privileges", Global, Bool(true)),
    r("back_log", int(1024, 1, 65535)),
    r("basedir", Text("/usr/")),
    v("big_tables", Both, Bool(false)),
    v("binlog_format", Both, Word(&["ROW", "STATEMENT", "MIXED"])),
    v("binlog_row_image", Both, Word(&["FULL", "MINIMAL", "NOBLOB"])),
    v("bulk_insert_buffer_size", Both, int(8_388_608, 0, U64)),
    v("character_set_client", Both, Computed(false)),
    v("character_set_connection", Both, Computed(false)),
    v("character_set_database", Both, Computed(false)),
    v("character_set_filesystem", Both, Text("binary")),
    v("character_set_results", Both, Computed(false)),
    v("character_set_server", Both, Computed(false)),
    r("character_set_system", Text("utf8mb3")),
    r("character_sets_dir", Text("/usr/share/mysql/charsets/")),
    v("collation_connection", Both, Computed(false)),
    v("collation_database", Both, Computed(false)),
    v("collation_server", Both, Computed(false)),
    v("completion_type", Both, Word(&["NO_CHAIN", "CHAIN", "RELEASE"])),
    v("concurrent_insert", Global, Word(&["AUTO", "NEVER", "ALWAYS"])),
    v("connect_timeout", Global, int(10, 2, 31_536_000)),
    r("datadir", Computed(false)),
    r("default_authentication_plugin", Text("caching_sha2_password")),
    v("default_collation_for_utf8mb4", Both, Word(&["utf8mb4_0900_ai_ci", "utf8mb4_general_ci"])),
    v("default_storage_engine", Both, Text("InnoDB")),
    v("default_tmp_storage_engine", Both, Text("InnoDB")),
    v("default_week_format", Both, int(0, 0, 7)),
    v("div_precision_increment", Both, int(4, 0, 30)),
    v("end_markers_in_json", Both, Bool(false)),
    v("eq_range_index_dive_limit", Both, int(200, 0, U32)),
    Variable { name: "error_count", scope: Session, read_only: true, kind: Computed(true) },
    v("event_scheduler", Global, Word(&["OFF", "ON", "DISABLED"])),
    v("explicit_defaults_for_timestamp", Both, Bool(true)),
    Variable { name: "external_user", scope: Session, read_only: true, kind: Text("") },
    v("flush", Global, Bool(false)),
    v("flush_time", Global, int(0, 0, 31_536_000)),
    v("foreign_key_checks", Both, Bool(true)),
    v("ft_boolean_syntax", Global, Text("+ -><()~*:\"\"&|")),
    v("general_log", Global, Bool(false)),
    v("group_concat_max_len", Both, int(GROUP_CONCAT_LENGTH_DEFAULT as u64, 4, U64)),
    v("gtid_mode", Global, Word(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"])),
    v("gtid_next", Session, Text("AUTOMATIC")),
    v("gtid_purged", Global, Text("")),
    r("have_compress", Text("YES")),
    r("have_dynamic_loading", Text("NO")),
    r("have_geometry", Text("NO")),
    r("have_openssl", Text("YES")),
    r("have_profiling", Text("NO")),
    r("have_query_cache", Text("NO")),
    r("have_rtree_keys", Text("NO")),
    r("have_ssl", Text("YES")),
    r("have_statement_timeout", Text("NO")),
    r("have_symlink", Text("DISABLED")),
    r("hostname", Computed(false)),
    Variable { name: "identity", scope: Session, read_only: false, kind: Computed(true) },
    v("information_schema_stats_expiry", Both, int(86400, 0, 31_536_000)),
    v("init_connect", Global, Text("")),
    v("init_file", Global, Text("")),
    v("innodb_autoinc_lock_mode", Global, int(2, 0, 2)),
    v("innodb_buffer_pool_size", Global, int(134_217_728, 0, U64)),
    v("innodb_file_per_table", Global, Bool(true)),
    v("innodb_flush_log_at_trx_commit", Global, int(1, 0, 2)),
    v("innodb_lock_wait_timeout", Both, int(50, 1, 1_073_741_824)),
    v("innodb_rollback_on_timeout", Global, Bool(false)),
    v("innodb_strict_mode", Both, Bool(true)),
    v("innodb_table_locks", Both, Bool(true)),
    Variable { name: "insert_id", scope: Session, read_only: false, kind: Computed(true) },
    v("interactive_timeout", Both, int(28_800, 1, 31_536_000)),
    v("join_buffer_size", Both, int(262_144, 128, U64)),
    v("keep_files_on_create", Both, Bool(false)),
    v("key_buffer_size", Global, int(8_388_608, 0, U64)),
    r("large_files_support", Bool(true)),
    r("large_pages", Bool(false)),
    Variable { name: "last_insert_id", scope: Session, read_only: false, kind: Computed(true) },
    v("lc_messages", Both, Text("en_US")),
    v("lc_time_names", Both, Text("en_US")),
    r("license", Text("Apache-2.0")),
    v("local_infile", Global, Bool(false)),
    v("lock_wait_timeout", Both, int(31_536_000, 1, 31_536_000)),
    r("locked_in_memory", Bool(false)),
    r("log_bin", Bool(false)),
    v("log_bin_trust_function_creators", Global, Bool(false)),
    v("log_error_verbosity", Global, int(2, 1, 3)),
    v("log_output", Global, Text("FILE")),
    v("log_queries_not_using_indexes", Global, Bool(false)),
    v("long_query_time", Both, Text("10.000000")),
    v("low_priority_updates", Both, Bool(false)),
    r("lower_case_file_system", Bool(false)),
    r("lower_case_table_names", int(0, 0, 2)),
    v("max_allowed_packet", Both, int(67_108_864, 1024, 1_073_741_824)),
    v("max_connect_errors", Global, int(100, 1, U64)),
    v("max_connections", Global, Computed(true)),
    v("max_error_count", Both, int(1024, 0, 65535)),
    v("max_execution_time", Both, int(0, 0, U32)),
    v("max_heap_table_size", Both, int(16_777_216, 16384, U64)),
    v("max_join_size", Both, int(U64, 1, U64)),
    v("max_length_for_sort_data", Both, int(4096, 4, 8_388_608)),
    v("max_prepared_stmt_count", Global, int(16382, 0, 4_194_304)),
    v("max_seeks_for_key", Both, int(U64, 1, U64)),
    v("max_sort_length", Both, int(1024, 4, 8_388_608)),
    v("max_sp_recursion_depth", Both, int(0, 0, 255)),
    v("max_user_connections", Both, int(0, 0, U32)),
    v("min_examined_row_limit", Both, int(0, 0, U64)),
    v("net_buffer_length", Both, int(16384, 1024, 1_048_576)),
    v("net_read_timeout", Both, int(30, 1, 31_536_000)),
    v("net_retry_count", Both, int(10, 1, U64)),
    v("net_write_timeout", Both, int(60, 1, 31_536_000)),
    v("new", Both, Bool(false)),
    v("offline_mode", Global, Bool(false)),
    v("old_alter_table", Both, Bool(false)),
    v("optimizer_prune_level", Both, int(1, 0, 1)),
    v("optimizer_search_depth", Both, int(62, 0, 62)),
    v(
        "optimizer_switch",
        Both,
        Text("index_merge=off,engine_condition_pushdown=on,derived_merge=on"),
    ),
    v("optimizer_trace", Both, Text("enabled=off,one_line=off")),
    r("performance_schema", Bool(false)),
    r("pid_file", Text("")),
    v("port", Global, Computed(true)),
    r("protocol_version", int(10, 10, 10)),
    Variable { name: "proxy_user", scope: Session, read_only: true, kind: Text("") },
    Variable { name: "pseudo_thread_id", scope: Session, read_only: false, kind: Computed(true) },
    v("query_alloc_block_size", Both, int(8192, 1024, U32)),
    v("query_cache_size", Global, int(0, 0, 0)),
    v("query_cache_type", Both, Word(&["OFF"])),
    v("query_prealloc_size", Both, int(8192, 8192, U64)),
    v("rand_seed1", Session, int(0, 0, U64)),
    v("rand_seed2", Session, int(0, 0, U64)),
    v("range_optimizer_max_mem_size", Both, int(8_388_608, 0, U64)),
    v("read_buffer_size", Both, int(131_072, 8192, 2_147_479_552)),
    v("read_only", Global, Bool(false)),
    v("read_rnd_buffer_size", Both, int(262_144, 1, 2_147_483_647)),
    v("require_secure_transport", Global, Bool(false)),
    v("secure_file_priv", Global, Text("NULL")),
    v("select_into_buffer_size", Both, int(131_072, 8192, 2_147_479_552)),
    v("server_id", Global, Computed(true)),
    v("server_uuid", Global, Computed(false)),
    v("session_track_gtids", Both, Word(&["OFF", "OWN_GTID", "ALL_GTIDS"])),
    v("session_track_schema", Both, Bool(true)),
    v("session_track_state_change", Both, Bool(false)),
    v(
        "session_track_system_variables",
        Both,
        Text(
            "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
        ),
    ),
    v("session_track_transaction_info", Both, Word(&["OFF", "STATE", "CHARACTERISTICS"])),
    v("show_create_table_verbosity", Both, Bool(false)),
    Variable {
        name: "skarv_commit_token",
        scope: Session,
        read_only: false,
        kind: Computed(false),
    },
    // DEFAULT is what the cluster is configured with.
    v("skarv_durability", Both, Word(&["durable_when_alone", "memory", "always"])),
    v("skarv_snapshot_age_max", Both, int(300, 1, 4_000_000)),
    v("skarv_strict_snapshot", Both, Bool(false)),
    r("skip_networking", Bool(false)),
    v("slow_query_log", Global, Bool(false)),
    v("socket", Global, Computed(false)),
    v("sort_buffer_size", Both, int(262_144, 32768, U64)),
    v("sql_auto_is_null", Both, Bool(false)),
    v("sql_big_selects", Both, Bool(true)),
    v("sql_buffer_result", Both, Bool(false)),
    v("sql_generate_invisible_primary_key", Both, Bool(false)),
    v("sql_log_bin", Session, Bool(true)),
    v("sql_log_off", Both, Bool(false)),
    v("sql_mode", Both, Computed(false)),
    v("sql_notes", Both, Bool(true)),
    v("sql_quote_show_create", Both, Bool(true)),
    v("sql_require_primary_key", Both, Bool(false)),
    v("sql_safe_updates", Both, Bool(false)),
    v("sql_select_limit", Both, int(U64, 0, U64)),
    v("sql_warnings", Both, Bool(false)),
    r("ssl_ca", Text("")),
    r("ssl_cert", Text("")),
    r("ssl_cipher", Text("")),
    r("ssl_key", Text("")),
    v("stored_program_cache", Global, int(256, 16, 524_288)),
    v("super_read_only", Global, Bool(false)),
    v("sync_binlog", Global, int(1, 0, U32)),
    r("system_time_zone", Text("UTC")),
    v("table_definition_cache", Global, int(2000, 400, 524_288)),
    v("table_open_cache", Global, int(4000, 1, 524_288)),
    v("thread_cache_size", Global, int(100, 0, 16384)),
    r("thread_handling", Text("one-worker-per-core")),
    r("thread_stack", int(1_048_576, 131_072, U64)),
    v("time_zone", Both, Computed(false)),
    Variable { name: "timestamp", scope: Session, read_only: false, kind: Computed(true) },
    r("tls_version", Text("TLSv1.2,TLSv1.3")),
    v("tmp_table_size", Both, int(16_777_216, 1024, U64)),
    r("tmpdir", Text("/tmp")),
    v("transaction_isolation", Both, Computed(false)),
    v("transaction_read_only", Both, Computed(true)),
    v("tx_isolation", Both, Computed(false)),
    v("tx_read_only", Both, Computed(true)),
    v("unique_checks", Both, Bool(true)),
    v("updatable_views_with_limit", Both, Bool(true)),
    r("version", Computed(false)),
    r("version_comment", Text("Skarv")),
    r("version_compile_machine", Text(std::env::consts::ARCH)),
    r("version_compile_os", Text("Linux")),
    v("wait_timeout", Both, int(28_800, 1, 31_536_000)),
    Variable { name: "warning_count", scope: Session, read_only: true, kind: Computed(true) },
    v("windowing_use_high_precision", Both, Bool(true)),
];

/// A variable by name, any case.
pub fn find(name: &str) -> Option<&'static Variable> {
    let name = name.to_ascii_lowercase();
    VARIABLES
        .binary_search_by(|variable| variable.name.cmp(name.as_str()))
        .ok()
        .map(|position| &VARIABLES[position])
}

/// Bits of sql_mode. Modes that change how text is read are not served: refused with 1235 rather than misread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlMode(u32);

/// (name, served).
const MODES: &[(&str, bool)] = &[
    ("REAL_AS_FLOAT", false),
    ("PIPES_AS_CONCAT", false),
    ("ANSI_QUOTES", false),
    ("IGNORE_SPACE", true),
    ("ONLY_FULL_GROUP_BY", true),
    ("NO_UNSIGNED_SUBTRACTION", false),
    ("NO_DIR_IN_CREATE", true),
    ("NO_AUTO_VALUE_ON_ZERO", true),
    ("NO_BACKSLASH_ESCAPES", false),
    ("STRICT_TRANS_TABLES", true),
    ("STRICT_ALL_TABLES", true),
    ("NO_ZERO_IN_DATE", true),
    ("NO_ZERO_DATE", true),
    ("ALLOW_INVALID_DATES", true),
    ("ERROR_FOR_DIVISION_BY_ZERO", true),
    ("TRADITIONAL", true),
    ("HIGH_NOT_PRECEDENCE", false),
    ("NO_ENGINE_SUBSTITUTION", true),
    ("PAD_CHAR_TO_FULL_LENGTH", false),
    ("TIME_TRUNCATE_FRACTIONAL", true),
];

const DEFAULT_MODES: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                             ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
const TRADITIONAL: &str = "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                           ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

impl Default for SqlMode {
    fn default() -> SqlMode {
        SqlMode::parse(DEFAULT_MODES).expect("the default modes are served")
    }
}

impl SqlMode {
    /// Comma-separated names, any case; empty for none.
    pub fn parse(text: &str) -> Result<SqlMode, SqlError> {
        let mut bits = 0;
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let position = MODES.iter().position(|(mode, _)| mode.eq_ignore_ascii_case(name));
            match position {
                Some(position) if MODES[position].1 => bits |= 1 << position,
                Some(position) => {
                    return Err(SqlError::not_supported(format!("sql_mode {}", MODES[position].0)));
                }
                None if name.eq_ignore_ascii_case("ANSI") => {
                    return Err(SqlError::not_supported("sql_mode ANSI"));
                }
                None => return Err(SqlError::wrong_value_for_variable("sql_mode", name)),
            }
            if name.eq_ignore_ascii_case("TRADITIONAL") {
                bits |= SqlMode::parse(TRADITIONAL)?.0;
            }
        }
        Ok(SqlMode(bits))
    }
    fn has(self, name: &str) -> bool {
        let position = MODES.iter().position(|(mode, _)| *mode == name).expect("a mode's name");
        self.0 & (1 << position) != 0
    }
    pub fn is_strict(self) -> bool {
        self.has("STRICT_TRANS_TABLES") || self.has("STRICT_ALL_TABLES")
    }
    pub fn only_full_group_by(self) -> bool {
        self.has("ONLY_FULL_GROUP_BY")
    }
    /// An explicit 0 in an AUTO_INCREMENT column stays 0.
    pub fn no_auto_value_on_zero(self) -> bool {
        self.has("NO_AUTO_VALUE_ON_ZERO")
    }
    /// What it says about dates and fractions of seconds.
    pub fn date_modes(self) -> DateModes {
        DateModes {
            no_zero_date: self.has("NO_ZERO_DATE"),
            no_zero_in_date: self.has("NO_ZERO_IN_DATE"),
            allow_invalid_dates: self.has("ALLOW_INVALID_DATES"),
            truncate_fractions: self.has("TIME_TRUNCATE_FRACTIONAL"),
        }
    }
    pub fn text(self) -> String {
        let names: Vec<&str> = MODES
            .iter()
            .enumerate()
            .filter(|(position, _)| self.0 & (1 << position) != 0)
            .map(|(_, (name, _))| *name)
            .collect();
        names.join(",")
    }
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

/// Character sets a client may write in. What it gets is always utf8mb4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    Utf8mb4,
    Utf8mb3,
    Latin1,
    Ascii,
    Binary,
}

impl Charset {
    pub fn by_name(name: &str) -> Option<Charset> {
        match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Some(Charset::Utf8mb4),
            "utf8" | "utf8mb3" => Some(Charset::Utf8mb3),
            "latin1" => Some(Charset::Latin1),
            "ascii" => Some(Charset::Ascii),
            "binary" => Some(Charset::Binary),
            _ => None,
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }
    pub fn default_collation_name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4_0900_ai_ci",
            Charset::Utf8mb3 => "utf8mb3_general_ci",
            Charset::Latin1 => "latin1_swedish_ci",
            Charset::Ascii => "ascii_general_ci",
            Charset::Binary => "binary",
        }
    }
    /// The character set of a collation's number, as the handshake carries it.
    pub fn by_collation_id(id: u16) -> Charset {
        match id {
            5 | 8 | 15 | 31 | 47 | 48 | 49 | 94 => Charset::Latin1,
            11 | 65 => Charset::Ascii,
            33 | 76 | 83 | 192..=215 | 223 => Charset::Utf8mb3,
            63 => Charset::Binary,
            _ => Charset::Utf8mb4,
        }
    }
    /// The character set of a collation's name.
    pub fn by_collation_name(name: &str) -> Option<Charset> {
        let head = name.split('_').next().unwrap_or(name);
        Charset::by_name(head)
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
    pub character_set_client: Charset,
    pub character_set_connection: Charset,
    /// None: NULL, no conversion (binary results).
    pub character_set_results: Option<Charset>,
    pub collation_connection: Collation,
    /// The collation by the name the client chose: "utf8mb3_general_ci" is served by a utf8mb4 one.
    pub collation_connection_name: String,
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
    /// SET timestamp: NOW() answers this, microseconds since 1970.
    pub timestamp_micros: Option<i64>,
    /// Set values of kept variables, by name.
    pub kept: BTreeMap<&'static str, String>,
    /// skarv_commit_token: what the next transaction is called.
    pub commit_token: Option<String>,
    /// skarv_strict_snapshot: at REPEATABLE READ the first to change a row wins.
    pub strict_snapshot: bool,
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
            character_set_connection: Charset::Utf8mb4,
            character_set_results: Some(Charset::Utf8mb4),
            collation_connection: Collation::default(),
            collation_connection_name: Charset::Utf8mb4.default_collation_name().into(),
            lock_wait_timeout_seconds: 50,
            select_limit: u64::MAX,
            group_concat_length_max: GROUP_CONCAT_LENGTH_DEFAULT,
            div_precision_increment: DIV_PRECISION_INCREMENT,
            commit_token: None,
            sql_notes: true,
            time_names: Locale::ENGLISH,
            default_week_format: 0,
            timestamp_micros: None,
            kept: BTreeMap::new(),
            strict_snapshot: false,
            snapshot_age_max_seconds: 300,
            kept_version: 1,
        }
    }
}

impl Settings {
    /// Of a session with these settings, in this database.
    pub fn environment(&self, database: Option<String>) -> Environment {
        Environment {
            database,
            sql_mode: self.sql_mode,
            collation: self.collation_connection,
            group_concat_length_max: self.group_concat_length_max,
            div_precision_increment: self.div_precision_increment,
            time_names: self.time_names,
            default_week_format: self.default_week_format,
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
    /// Where DEFAULT is said and is this.
    pub fn or_default(&self, default: Option<String>) -> NewValue {
        match (self, default) {
            (NewValue::Default, Some(default)) => NewValue::Word(default),
            _ => self.clone(),
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

/// Checks and normalises the value of a kept variable: the text that is remembered, and a warning if it was adjusted.
pub fn check_kept(variable: &Variable, value: &NewValue) -> Result<(String, bool), SqlError> {
    let name = variable.name;
    match variable.kind {
        Kind::Bool(default) => {
            let on = match value {
                NewValue::Default => default,
                NewValue::Value(Value::Null) => {
                    return Err(SqlError::wrong_value_for_variable(name, "NULL"));
                }
                NewValue::Value(Value::Double(_) | Value::Decimal(_)) => {
                    return Err(SqlError::wrong_type_for_variable(name));
                }
                _ => parse_bool(name, &value.text().unwrap_or_default())?,
            };
            Ok((if on { "ON" } else { "OFF" }.into(), false))
        }
        Kind::Int { default, min, max } => {
            let (number, negative) = match value {
                NewValue::Default => (default, false),
                NewValue::Value(Value::Int(number)) => (number.unsigned_abs(), *number < 0),
                NewValue::Value(Value::UInt(number)) => (*number, false),
                NewValue::Word(word) if word.eq_ignore_ascii_case("ON") => (1, false),
                NewValue::Word(word) if word.eq_ignore_ascii_case("OFF") => (0, false),
                _ => return Err(SqlError::wrong_type_for_variable(name)),
            };
            let clamped = if negative { min } else { number.clamp(min, max) };
            Ok((clamped.to_string(), negative || clamped != number))
        }
        Kind::Text(_) if name == "lc_time_names" && !matches!(value, NewValue::Default) => {
            let text = value.text().unwrap_or_default();
            match Locale::by_name(&text) {
                Some(locale) => Ok((locale.name().into(), false)),
                None if Locale::is_known(&text) || text.bytes().all(|b| b.is_ascii_digit()) => {
                    Err(SqlError::not_supported(format!("lc_time_names {text}")))
                }
                None => Err(SqlError::new(1649, format!("Unknown locale: '{text}'"))),
            }
        }
        Kind::Text(default) => match value {
            NewValue::Default => Ok((default.into(), false)),
            _ => Ok((value.text().unwrap_or_default().chars().take(4096).collect(), false)),
        },
        Kind::Word(words) => {
            let text = match value {
                NewValue::Default => words[0].to_string(),
                _ => value.text().unwrap_or_default(),
            };
            let by_number = text.parse::<usize>().ok().and_then(|number| words.get(number));
            let found = words.iter().find(|word| word.eq_ignore_ascii_case(&text)).or(by_number);
            match found {
                Some(word) => Ok(((*word).into(), false)),
                None => Err(SqlError::wrong_value_for_variable(name, &text)),
            }
        }
        Kind::Computed(_) => Err(SqlError::new(
            code::ER_INCORRECT_GLOBAL_LOCAL_VAR,
            format!("Variable '{name}' is a read only variable"),
        )),
    }
}

pub fn parse_bool(name: &str, text: &str) -> Result<bool, SqlError> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" => Ok(true),
        "OFF" | "0" | "FALSE" => Ok(false),
        _ => Err(SqlError::wrong_value_for_variable(name, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Binary search needs the order, and case-insensitive look-ups find every name.
    #[test]
    fn the_table_is_sorted() {
        for pair in VARIABLES.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
        assert!(find("SQL_Mode").is_some());
        assert!(find("no_such_variable").is_none());
    }

    #[test]
    fn sql_mode_round_trips_and_refuses() {
        assert_eq!(
            SqlMode::default().text(),
            "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
        );
        assert!(SqlMode::default().is_strict());
        assert_eq!(SqlMode::parse("").unwrap().text(), "");
        assert!(!SqlMode::parse("no_auto_value_on_zero").unwrap().is_strict());
        assert!(SqlMode::parse("TRADITIONAL").unwrap().is_strict());
        assert_eq!(SqlMode::parse("ANSI_QUOTES").unwrap_err().code, 1235);
        assert_eq!(SqlMode::parse("NONSENSE").unwrap_err().code, 1231);
    }

    #[test]
    fn time_zones() {
        assert_eq!(parse_time_zone("+02:00"), Some(7200));
        assert_eq!(parse_time_zone("-05:30"), Some(-19800));
        assert_eq!(parse_time_zone("+14:00"), Some(50400));
        assert_eq!(parse_time_zone("SYSTEM"), Some(0));
        for wrong in ["+14:01", "-14:00", "+2", "Europe/Oslo", "", "+aa:00", "+02:60", "+é:00"] {
            assert_eq!(parse_time_zone(wrong), None, "{wrong}");
        }
    }
}
