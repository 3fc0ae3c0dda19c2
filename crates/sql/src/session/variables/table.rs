//! The table of system variables: which there are, what they hold, and what setting one does.
//!
//! Every variable says in its [`Effect`] what becomes of a value: no value is accepted that changes nothing although MySQL's
//! manual says that it does. A variable joins a class by what the engine has, so a new feature moves its variables.

use types::expr::GROUP_CONCAT_LENGTH_DEFAULT;

use super::Kind::{Bool, Computed, Int, Switches, Text, Word};
use super::Scope::{Both, Global, Session};
use super::{Effect, Kind, Scope, Switch, Variable};

/// Bytes that a statement may hold in its sorts, hash tables and kept rows together, and that all temporary files of a node
/// may have.
const STATEMENT_MEMORY_DEFAULT: u64 = 256 << 20;
const TEMP_FILE_BYTES_DEFAULT: u64 = 10 << 30;

const U32: u64 = u32::MAX as u64;
const U64: u64 = u64::MAX;
/// A year of seconds.
const YEAR: u64 = 31_536_000;

const fn int(default: u64, min: u64, max: u64) -> Kind {
    Int { default, min, max }
}
/// The engine acts on the value.
const fn acts(name: &'static str, scope: Scope, kind: Kind) -> Variable {
    Variable { name, scope, kind, effect: Effect::Acts }
}
/// Every value is satisfied already.
const fn any(name: &'static str, scope: Scope, kind: Kind, why: &'static str) -> Variable {
    Variable { name, scope, kind, effect: Effect::Satisfied(why) }
}
/// Values besides the default are refused.
const fn only(name: &'static str, scope: Scope, kind: Kind) -> Variable {
    Variable { name, scope, kind, effect: Effect::OnlyDefault }
}
const fn read_only(name: &'static str, scope: Scope, kind: Kind) -> Variable {
    Variable { name, scope, kind, effect: Effect::ReadOnly }
}
const fn r(name: &'static str, kind: Kind) -> Variable {
    read_only(name, Global, kind)
}

const TUNING: &str = "a hint for memory or speed in MySQL, too: no result depends on it";
const NO_BINARY_LOG: &str = "no binary log is written, with either value";
const NO_STATEMENT_LOG: &str = "no statement is logged, with either value";
const NO_MYISAM: &str = "it is about MyISAM tables, and there are none";
const ALWAYS_CHECKED: &str = "OFF only allows an engine to check less";
const NO_VIEWS: &str = "there are no views";
const NO_ROUTINES: &str = "there are no stored routines";
const NOT_TRACKED: &str =
    "the server does not offer CLIENT_SESSION_TRACK, so no client gets the changes";
const ALWAYS_CURRENT: &str = "statistics are current, which every age allows";

const NOT_TRIED: &str = "ON only allows it, and it is never tried";
const ROWS_ARE_JUDGED: &str = "conditions are judged by rows, not by entries of an index";
const NONE_INVISIBLE: &str = "no index is invisible";
const ALWAYS_KEPT: &str =
    "the rows of a query that depends on nothing around it are kept in any case";

const fn acts_on(name: &'static str, default: bool) -> Switch {
    Switch { name, default, effect: Effect::Acts }
}
const fn satisfied(name: &'static str, default: bool, why: &'static str) -> Switch {
    Switch { name, default, effect: Effect::Satisfied(why) }
}
/// The other state is refused.
const fn fixed(name: &'static str, default: bool) -> Switch {
    Switch { name, default, effect: Effect::OnlyDefault }
}

/// MySQL's switches of `optimizer_switch`, in its order.
pub static OPTIMIZER_SWITCHES: &[Switch] = &[
    satisfied("index_merge", true, NOT_TRIED),
    satisfied("index_merge_union", true, NOT_TRIED),
    satisfied("index_merge_sort_union", true, NOT_TRIED),
    satisfied("index_merge_intersection", true, NOT_TRIED),
    // Shards check conditions.
    fixed("engine_condition_pushdown", true),
    satisfied("index_condition_pushdown", true, ROWS_ARE_JUDGED),
    satisfied("mrr", true, NOT_TRIED),
    satisfied("mrr_cost_based", true, NOT_TRIED),
    // Rows of a join without an index are kept.
    fixed("block_nested_loop", true),
    satisfied("batched_key_access", false, NOT_TRIED),
    // Values of IN are kept as a set.
    fixed("materialization", true),
    acts_on("semijoin", true),
    satisfied("loosescan", true, NOT_TRIED),
    acts_on("firstmatch", true),
    satisfied("duplicateweedout", true, NOT_TRIED),
    satisfied("subquery_materialization_cost_based", true, ALWAYS_KEPT),
    acts_on("use_index_extensions", true),
    acts_on("condition_fanout_filter", true),
    acts_on("derived_merge", true),
    satisfied("use_invisible_indexes", false, NONE_INVISIBLE),
    satisfied("skip_scan", true, NOT_TRIED),
    acts_on("hash_join", true),
    satisfied("subquery_to_derived", false, NOT_TRIED),
    acts_on("prefer_ordering_index", true),
    fixed("hypergraph_optimizer", false),
    satisfied("derived_condition_pushdown", true, NOT_TRIED),
];

/// Sorted by name.
#[rustfmt::skip]
pub static VARIABLES: &[Variable] = &[
    acts("auto_increment_increment", Both, int(1, 1, 65_535)),
    acts("auto_increment_offset", Both, int(1, 1, 65_535)),
    acts("autocommit", Both, Bool(true)),
    any("automatic_sp_privileges", Global, Bool(true), NO_ROUTINES),
    r("back_log", int(1024, 1, 65535)),
    r("basedir", Text("/usr/")),
    any("big_tables", Both, Bool(false), TUNING),
    any("binlog_cache_size", Global, int(32768, 4096, U64), NO_BINARY_LOG),
    any("binlog_direct_non_transactional_updates", Both, Bool(false), NO_BINARY_LOG),
    any("binlog_format", Both, Word(&["ROW", "STATEMENT", "MIXED"]), NO_BINARY_LOG),
    any("binlog_row_image", Both, Word(&["FULL", "MINIMAL", "NOBLOB"]), NO_BINARY_LOG),
    any("binlog_row_value_options", Both, Word(&["", "PARTIAL_JSON"]), NO_BINARY_LOG),
    any("binlog_rows_query_log_events", Both, Bool(false), NO_BINARY_LOG),
    any("binlog_transaction_compression", Both, Bool(false), NO_BINARY_LOG),
    only("block_encryption_mode", Both, Text("aes-128-ecb")),
    any("bulk_insert_buffer_size", Both, int(8_388_608, 0, U64), NO_MYISAM),
    acts("character_set_client", Both, Computed(false)),
    acts("character_set_connection", Both, Computed(false)),
    acts("character_set_database", Both, Computed(false)),
    only("character_set_filesystem", Both, Text("binary")),
    acts("character_set_results", Both, Computed(false)),
    acts("character_set_server", Both, Computed(false)),
    r("character_set_system", Text("utf8mb3")),
    r("character_sets_dir", Text("/usr/share/mysql/charsets/")),
    acts("collation_connection", Both, Computed(false)),
    acts("collation_database", Both, Computed(false)),
    acts("collation_server", Both, Computed(false)),
    acts("completion_type", Both, Word(&["NO_CHAIN", "CHAIN", "RELEASE"])),
    any("concurrent_insert", Global, Word(&["AUTO", "NEVER", "ALWAYS"]), NO_MYISAM),
    only("connect_timeout", Global, int(10, 2, YEAR)),
    acts("cte_max_recursion_depth", Both, int(1000, 0, U32)),
    r("datadir", Computed(false)),
    r("default_authentication_plugin", Text("caching_sha2_password")),
    only("default_collation_for_utf8mb4", Both, Word(&["utf8mb4_0900_ai_ci", "utf8mb4_general_ci"])),
    only("default_storage_engine", Both, Text("InnoDB")),
    only("default_table_encryption", Both, Bool(false)),
    only("default_tmp_storage_engine", Both, Text("InnoDB")),
    acts("default_week_format", Both, int(0, 0, 7)),
    any("delay_key_write", Global, Word(&["ON", "OFF", "ALL"]), NO_MYISAM),
    acts("div_precision_increment", Both, int(4, 0, 30)),
    only("end_markers_in_json", Both, Bool(false)),
    any("eq_range_index_dive_limit", Both, int(200, 0, U32), TUNING),
    read_only("error_count", Session, Computed(true)),
    only("event_scheduler", Global, Word(&["OFF", "ON", "DISABLED"])),
    acts("explain_format", Both, Word(&["TRADITIONAL", "JSON", "TREE"])),
    only("explicit_defaults_for_timestamp", Both, Bool(true)),
    read_only("external_user", Session, Text("")),
    only("flush", Global, Bool(false)),
    only("flush_time", Global, int(0, 0, YEAR)),
    acts("foreign_key_checks", Both, Bool(true)),
    only("ft_boolean_syntax", Global, Text("+ -><()~*:\"\"&|")),
    only("general_log", Global, Bool(false)),
    only("generated_random_password_length", Both, int(20, 5, 255)),
    acts("group_concat_max_len", Both, int(GROUP_CONCAT_LENGTH_DEFAULT as u64, 4, U64)),
    only("gtid_mode", Global, Word(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"])),
    only("gtid_next", Session, Text("AUTOMATIC")),
    only("gtid_purged", Global, Text("")),
    r("have_compress", Text("YES")),
    r("have_dynamic_loading", Text("NO")),
    r("have_geometry", Text("NO")),
    r("have_openssl", Text("YES")),
    r("have_profiling", Text("NO")),
    r("have_query_cache", Text("NO")),
    r("have_rtree_keys", Text("NO")),
    r("have_ssl", Text("YES")),
    r("have_statement_timeout", Text("YES")),
    r("have_symlink", Text("DISABLED")),
    any("histogram_generation_max_mem_size", Both, int(20_000_000, 1_000_000, U64), TUNING),
    r("hostname", Computed(false)),
    acts("identity", Session, Computed(true)),
    any("information_schema_stats_expiry", Both, int(86400, 0, YEAR), ALWAYS_CURRENT),
    only("init_connect", Global, Text("")),
    r("init_file", Text("")),
    any("innodb_adaptive_hash_index", Global, Bool(true), TUNING),
    r("innodb_autoinc_lock_mode", int(2, 0, 2)),
    only("innodb_buffer_pool_size", Global, int(134_217_728, 5_242_880, U64)),
    any("innodb_ddl_buffer_size", Both, int(1_048_576, 65_536, U32), TUNING),
    any("innodb_ddl_threads", Both, int(4, 1, 64), TUNING),
    only("innodb_deadlock_detect", Global, Bool(true)),
    any("innodb_file_per_table", Global, Bool(true), TUNING),
    only("innodb_flush_log_at_trx_commit", Global, int(1, 0, 2)),
    any("innodb_io_capacity", Global, int(200, 100, U64), TUNING),
    acts("innodb_lock_wait_timeout", Both, int(50, 1, 1_073_741_824)),
    any("innodb_old_blocks_time", Global, int(1000, 0, U32), TUNING),
    any("innodb_parallel_read_threads", Both, int(4, 1, 256), TUNING),
    only("innodb_print_all_deadlocks", Global, Bool(false)),
    acts("innodb_rollback_on_timeout", Global, Bool(false)),
    any("innodb_stats_on_metadata", Global, Bool(false), ALWAYS_CURRENT),
    any("innodb_stats_persistent", Global, Bool(true), ALWAYS_CURRENT),
    only("innodb_strict_mode", Both, Bool(true)),
    only("innodb_table_locks", Both, Bool(true)),
    only("insert_id", Session, int(0, 0, U64)),
    acts("interactive_timeout", Both, int(28_800, 1, YEAR)),
    any("join_buffer_size", Both, int(262_144, 128, U64), TUNING),
    any("keep_files_on_create", Both, Bool(false), NO_MYISAM),
    any("key_buffer_size", Global, int(8_388_608, 0, U64), NO_MYISAM),
    r("large_files_support", Bool(true)),
    r("large_pages", Bool(false)),
    acts("last_insert_id", Session, Computed(true)),
    only("lc_messages", Both, Text("en_US")),
    acts("lc_time_names", Both, Text("en_US")),
    r("license", Text("Apache-2.0")),
    acts("local_infile", Global, Bool(false)),
    acts("lock_wait_timeout", Both, int(YEAR, 1, YEAR)),
    r("locked_in_memory", Bool(false)),
    r("log_bin", Bool(false)),
    any("log_bin_trust_function_creators", Global, Bool(false), NO_ROUTINES),
    only("log_error_verbosity", Global, int(2, 1, 3)),
    any("log_output", Global, Word(&["FILE", "TABLE", "NONE"]), NO_STATEMENT_LOG),
    any("log_queries_not_using_indexes", Global, Bool(false), NO_STATEMENT_LOG),
    acts("long_query_time", Both, Text("10.000000")),
    any("low_priority_updates", Both, Bool(false), NO_MYISAM),
    r("lower_case_file_system", Bool(false)),
    r("lower_case_table_names", int(0, 0, 2)),
    acts("max_allowed_packet", Both, int(67_108_864, 1024, 1_073_741_824)),
    only("max_connect_errors", Global, int(100, 1, U64)),
    acts("max_connections", Global, Computed(true)),
    any("max_delayed_threads", Both, int(20, 0, 16384), NO_MYISAM),
    acts("max_error_count", Both, int(1024, 0, 65535)),
    acts("max_execution_time", Both, int(0, 0, U32)),
    any("max_heap_table_size", Both, int(16_777_216, 16384, U64), TUNING),
    any("max_insert_delayed_threads", Both, int(20, 0, 16384), NO_MYISAM),
    only("max_join_size", Both, int(U64, 1, U64)),
    any("max_length_for_sort_data", Both, int(4096, 4, 8_388_608), TUNING),
    only("max_points_in_geometry", Both, int(65_536, 3, 1_048_576)),
    acts("max_prepared_stmt_count", Global, int(16382, 0, 4_194_304)),
    any("max_seeks_for_key", Both, int(U64, 1, U64), TUNING),
    only("max_sort_length", Both, int(1024, 4, 8_388_608)),
    any("max_sp_recursion_depth", Both, int(0, 0, 255), NO_ROUTINES),
    acts("max_tmp_total_space_usage", Global, int(TEMP_FILE_BYTES_DEFAULT, 1_048_576, U64)),
    only("max_user_connections", Both, int(0, 0, U32)),
    any("min_examined_row_limit", Both, int(0, 0, U64), NO_STATEMENT_LOG),
    any("myisam_repair_threads", Both, int(1, 1, U64), NO_MYISAM),
    any("myisam_sort_buffer_size", Both, int(8_388_608, 4096, U64), NO_MYISAM),
    any("myisam_stats_method", Both, Word(&["nulls_unequal", "nulls_equal", "nulls_ignored"]), NO_MYISAM),
    any("net_buffer_length", Both, int(16384, 1024, 1_048_576), TUNING),
    acts("net_read_timeout", Both, int(30, 1, YEAR)),
    any("net_retry_count", Both, int(10, 1, U64), TUNING),
    acts("net_write_timeout", Both, int(60, 1, YEAR)),
    only("new", Both, Bool(false)),
    only("offline_mode", Global, Bool(false)),
    any("old_alter_table", Both, Bool(false), TUNING),
    any("optimizer_prune_level", Both, int(1, 0, 1), TUNING),
    any("optimizer_search_depth", Both, int(62, 0, 62), TUNING),
    acts("optimizer_switch", Both, Switches(OPTIMIZER_SWITCHES)),
    only("optimizer_trace", Both, Text("enabled=off,one_line=off")),
    only("optimizer_trace_features", Both, Text("greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on")),
    only("optimizer_trace_limit", Both, int(1, 0, U32)),
    any("optimizer_trace_max_mem_size", Both, int(1_048_576, 0, U32), TUNING),
    only("optimizer_trace_offset", Both, Text("-1")),
    only("parser_max_mem_size", Both, int(U64, 10_000_000, U64)),
    r("performance_schema", Bool(false)),
    r("pid_file", Text("")),
    r("port", Computed(true)),
    any("preload_buffer_size", Both, int(32_768, 1024, 1_073_741_824), NO_MYISAM),
    only("print_identified_with_as_hex", Both, Bool(false)),
    only("profiling", Both, Bool(false)),
    only("profiling_history_size", Both, int(15, 0, 100)),
    r("protocol_version", int(10, 10, 10)),
    read_only("proxy_user", Session, Text("")),
    only("pseudo_replica_mode", Session, Bool(false)),
    only("pseudo_slave_mode", Session, Bool(false)),
    read_only("pseudo_thread_id", Session, Computed(true)),
    any("query_alloc_block_size", Both, int(8192, 1024, U32), TUNING),
    any("query_prealloc_size", Both, int(8192, 8192, U64), TUNING),
    acts("rand_seed1", Session, Computed(true)),
    acts("rand_seed2", Session, Computed(true)),
    any("range_alloc_block_size", Both, int(4096, 4096, U32), TUNING),
    any("range_optimizer_max_mem_size", Both, int(8_388_608, 0, U64), TUNING),
    any("read_buffer_size", Both, int(131_072, 8192, 2_147_479_552), TUNING),
    only("read_only", Global, Bool(false)),
    any("read_rnd_buffer_size", Both, int(262_144, 1, 2_147_483_647), TUNING),
    only("require_row_format", Session, Bool(false)),
    only("require_secure_transport", Global, Bool(false)),
    only("resultset_metadata", Session, Word(&["FULL", "NONE"])),
    any("secondary_engine_cost_threshold", Session, Text("100000.000000"), TUNING),
    r("secure_file_priv", Computed(false)),
    any("select_into_buffer_size", Both, int(131_072, 8192, 2_147_479_552), TUNING),
    any("select_into_disk_sync", Both, Bool(false), TUNING),
    any("select_into_disk_sync_delay", Both, int(0, 0, YEAR), TUNING),
    r("server_id", Computed(true)),
    r("server_uuid", Computed(false)),
    any("session_track_gtids", Both, Word(&["OFF", "OWN_GTID", "ALL_GTIDS"]), NOT_TRACKED),
    any("session_track_schema", Both, Bool(true), NOT_TRACKED),
    any("session_track_state_change", Both, Bool(false), NOT_TRACKED),
    any("session_track_system_variables", Both, Text("time_zone,autocommit,character_set_client,character_set_results,character_set_connection"), NOT_TRACKED),
    any("session_track_transaction_info", Both, Word(&["OFF", "STATE", "CHARACTERISTICS"]), NOT_TRACKED),
    only("show_create_table_skip_secondary_engine", Session, Bool(false)),
    only("show_create_table_verbosity", Both, Bool(false)),
    only("show_gipk_in_create_table_and_information_schema", Both, Bool(true)),
    only("show_old_temporals", Both, Bool(false)),
    acts("skarv_commit_token", Session, Computed(false)),
    // DEFAULT is what the cluster is configured with.
    acts("skarv_durability", Both, Word(&["durable_when_alone", "memory", "always"])),
    acts("skarv_snapshot_age_max", Both, int(300, 1, 4_000_000)),
    acts("skarv_strict_snapshot", Both, Bool(false)),
    r("skip_networking", Bool(false)),
    only("slow_query_log", Global, Bool(false)),
    r("socket", Computed(false)),
    any("sort_buffer_size", Both, int(262_144, 32768, U64), TUNING),
    only("sql_auto_is_null", Both, Bool(false)),
    only("sql_big_selects", Both, Bool(true)),
    any("sql_buffer_result", Both, Bool(false), TUNING),
    only("sql_generate_invisible_primary_key", Both, Bool(false)),
    any("sql_log_bin", Session, Bool(true), NO_BINARY_LOG),
    any("sql_log_off", Both, Bool(false), NO_STATEMENT_LOG),
    acts("sql_mode", Both, Computed(false)),
    acts("sql_notes", Both, Bool(true)),
    only("sql_quote_show_create", Both, Bool(true)),
    acts("sql_require_primary_key", Both, Bool(false)),
    acts("sql_safe_updates", Both, Bool(false)),
    acts("sql_select_limit", Both, int(U64, 0, U64)),
    acts("sql_warnings", Both, Bool(false)),
    r("ssl_ca", Text("")),
    r("ssl_cert", Text("")),
    r("ssl_cipher", Text("")),
    r("ssl_key", Text("")),
    any("stored_program_cache", Global, int(256, 16, 524_288), NO_ROUTINES),
    only("super_read_only", Global, Bool(false)),
    any("sync_binlog", Global, int(1, 0, U32), NO_BINARY_LOG),
    r("system_time_zone", Text("UTC")),
    any("table_definition_cache", Global, int(2000, 400, 524_288), TUNING),
    any("table_open_cache", Global, int(4000, 1, 524_288), TUNING),
    only("terminology_use_previous", Both, Word(&["NONE", "BEFORE_8_0_26"])),
    any("thread_cache_size", Global, int(100, 0, 16384), TUNING),
    r("thread_handling", Text("one-worker-per-core")),
    r("thread_stack", int(1_048_576, 131_072, U64)),
    acts("time_zone", Both, Computed(false)),
    acts("timestamp", Session, Computed(true)),
    r("tls_version", Text("TLSv1.2,TLSv1.3")),
    acts("tmp_table_size", Both, int(STATEMENT_MEMORY_DEFAULT, 1024, U64)),
    r("tmpdir", Computed(false)),
    any("transaction_alloc_block_size", Both, int(8192, 1024, 131_072), TUNING),
    any("transaction_allow_batching", Session, Bool(false), TUNING),
    acts("transaction_isolation", Both, Computed(false)),
    any("transaction_prealloc_size", Both, int(4096, 1024, 131_072), TUNING),
    acts("transaction_read_only", Both, Computed(true)),
    acts("tx_isolation", Both, Computed(false)),
    acts("tx_read_only", Both, Computed(true)),
    any("unique_checks", Both, Bool(true), ALWAYS_CHECKED),
    any("updatable_views_with_limit", Both, Bool(true), NO_VIEWS),
    only("use_secondary_engine", Session, Word(&["ON", "OFF", "FORCED"])),
    r("version", Computed(false)),
    r("version_comment", Text("Skarv")),
    r("version_compile_machine", Text(std::env::consts::ARCH)),
    r("version_compile_os", Text("Linux")),
    acts("wait_timeout", Both, int(28_800, 1, YEAR)),
    read_only("warning_count", Session, Computed(true)),
    only("windowing_use_high_precision", Both, Bool(true)),
];
