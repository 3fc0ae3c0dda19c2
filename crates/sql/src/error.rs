//! Errors a client sees: MySQL's number and MySQL's words. Crate `mysql` adds the SQLSTATE.
//!
//! One function a message, so that a message is spelled once; one place ([`SqlError::from_refusal`] in
//! `execute::refusal`) where the engine's refusals become numbers.

use types::charset::names;
use types::json::PathError;
use types::{ForeignKey, Table};

use crate::show::create::foreign_key_text;

/// An error as the client gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's number, one of [`code`].
    pub code: u16,
    pub message: String,
    /// The connection is closed after the error is sent.
    pub fatal: bool,
}

impl std::fmt::Display for SqlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ERROR {}: {}", self.code, self.message)
    }
}
impl std::error::Error for SqlError {}

/// MySQL's error numbers by MySQL's names.
pub mod code {
    pub const EE_STAT: u16 = 13;
    pub const EE_FILENOTFOUND: u16 = 29;
    pub const ER_CANT_CREATE_DB: u16 = 1006;
    pub const ER_DB_CREATE_EXISTS: u16 = 1007;
    pub const ER_DB_DROP_EXISTS: u16 = 1008;
    pub const ER_DISK_FULL: u16 = 1021;
    pub const ER_ERROR_ON_READ: u16 = 1024;
    pub const ER_ERROR_ON_WRITE: u16 = 1026;
    pub const ER_CON_COUNT_ERROR: u16 = 1040;
    pub const ER_OUT_OF_RESOURCES: u16 = 1041;
    pub const ER_HANDSHAKE_ERROR: u16 = 1043;
    pub const ER_DBACCESS_DENIED_ERROR: u16 = 1044;
    pub const ER_ACCESS_DENIED_ERROR: u16 = 1045;
    pub const ER_NO_DB_ERROR: u16 = 1046;
    pub const ER_UNKNOWN_COM_ERROR: u16 = 1047;
    pub const ER_BAD_NULL_ERROR: u16 = 1048;
    pub const ER_BAD_DB_ERROR: u16 = 1049;
    pub const ER_TABLE_EXISTS_ERROR: u16 = 1050;
    pub const ER_BAD_TABLE_ERROR: u16 = 1051;
    pub const ER_NON_UNIQ_ERROR: u16 = 1052;
    pub const ER_SERVER_SHUTDOWN: u16 = 1053;
    pub const ER_BAD_FIELD_ERROR: u16 = 1054;
    pub const ER_WRONG_FIELD_WITH_GROUP: u16 = 1055;
    pub const ER_WRONG_GROUP_FIELD: u16 = 1056;
    pub const ER_TOO_LONG_IDENT: u16 = 1059;
    pub const ER_DUP_FIELDNAME: u16 = 1060;
    pub const ER_DUP_KEYNAME: u16 = 1061;
    pub const ER_DUP_ENTRY: u16 = 1062;
    pub const ER_WRONG_FIELD_SPEC: u16 = 1063;
    pub const ER_PARSE_ERROR: u16 = 1064;
    pub const ER_EMPTY_QUERY: u16 = 1065;
    pub const ER_NONUNIQ_TABLE: u16 = 1066;
    pub const ER_INVALID_DEFAULT: u16 = 1067;
    pub const ER_MULTIPLE_PRI_KEY: u16 = 1068;
    pub const ER_TOO_MANY_KEYS: u16 = 1069;
    pub const ER_TOO_MANY_KEY_PARTS: u16 = 1070;
    pub const ER_TOO_LONG_KEY: u16 = 1071;
    pub const ER_KEY_COLUMN_DOES_NOT_EXITS: u16 = 1072;
    pub const ER_BLOB_USED_AS_KEY: u16 = 1073;
    pub const ER_TOO_BIG_FIELDLENGTH: u16 = 1074;
    pub const ER_WRONG_AUTO_KEY: u16 = 1075;
    pub const ER_TEXTFILE_NOT_READABLE: u16 = 1085;
    pub const ER_WRONG_SUB_KEY: u16 = 1089;
    pub const ER_CANT_REMOVE_ALL_FIELDS: u16 = 1090;
    pub const ER_CANT_DROP_FIELD_OR_KEY: u16 = 1091;
    pub const ER_NO_SUCH_THREAD: u16 = 1094;
    pub const ER_NO_TABLES_USED: u16 = 1096;
    pub const ER_UPDATE_TABLE_USED: u16 = 1093;
    pub const ER_BLOB_CANT_HAVE_DEFAULT: u16 = 1101;
    pub const ER_WRONG_DB_NAME: u16 = 1102;
    pub const ER_WRONG_TABLE_NAME: u16 = 1103;
    pub const ER_UNKNOWN_ERROR: u16 = 1105;
    pub const ER_WARN_USING_OTHER_HANDLER: u16 = 1266;
    pub const ER_UNKNOWN_STORAGE_ENGINE: u16 = 1286;
    pub const ER_UNKNOWN_TABLE: u16 = 1109;
    pub const ER_FIELD_SPECIFIED_TWICE: u16 = 1110;
    pub const ER_INVALID_GROUP_FUNC_USE: u16 = 1111;
    pub const ER_TABLE_MUST_HAVE_COLUMNS: u16 = 1113;
    pub const ER_RECORD_FILE_FULL: u16 = 1114;
    pub const ER_TOO_MANY_TABLES: u16 = 1116;
    pub const ER_UNKNOWN_CHARACTER_SET: u16 = 1115;
    pub const ER_TOO_MANY_FIELDS: u16 = 1117;
    pub const ER_TOO_BIG_ROWSIZE: u16 = 1118;
    pub const ER_WRONG_VALUE_COUNT_ON_ROW: u16 = 1136;
    pub const ER_MIX_OF_GROUP_FUNC_AND_FIELDS: u16 = 1140;
    pub const ER_NONEXISTING_GRANT: u16 = 1141;
    pub const ER_NO_SUCH_TABLE: u16 = 1146;
    pub const ER_SYNTAX_ERROR: u16 = 1149;
    pub const ER_NET_PACKET_TOO_LARGE: u16 = 1153;
    pub const ER_TABLE_CANT_HANDLE_BLOB: u16 = 1163;
    pub const ER_WRONG_COLUMN_NAME: u16 = 1166;
    pub const ER_WRONG_KEY_COLUMN: u16 = 1167;
    pub const ER_BLOB_KEY_WITHOUT_LENGTH: u16 = 1170;
    pub const ER_JSON_USED_AS_KEY: u16 = 3152;
    pub const ER_INVALID_JSON_PATH: u16 = 3143;
    pub const ER_PRIMARY_CANT_HAVE_NULL: u16 = 1171;
    pub const ER_TOO_MANY_ROWS: u16 = 1172;
    pub const ER_KEY_DOES_NOT_EXITS: u16 = 1176;
    /// Skarv's own: COMMIT, or a statement that commits, was sent to a node that died, and its outcome cannot be known. The
    /// connection is closed, so that no driver goes on or tries again as if nothing had been done.
    pub const ER_TRANSACTION_OUTCOME_UNKNOWN: u16 = 50_807;
    /// Skarv's own: a transaction with this commit token is committed; this one, its retry, was rolled back.
    pub const ER_ALREADY_COMMITTED: u16 = 50_808;
    /// Skarv's own: somebody was told that the transaction with this commit token is rolled back, and so it is.
    pub const ER_COMMIT_TOKEN_GIVEN_UP: u16 = 50_809;
    pub const ER_ERROR_DURING_ROLLBACK: u16 = 1181;
    pub const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
    pub const ER_INVALID_USE_OF_NULL: u16 = 1138;
    pub const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
    pub const ER_WRONG_ARGUMENTS: u16 = 1210;
    pub const ER_LOCK_DEADLOCK: u16 = 1213;
    pub const ER_WRONG_USAGE: u16 = 1221;
    pub const ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT: u16 = 1222;
    pub const ER_CANT_UPDATE_WITH_READLOCK: u16 = 1223;
    pub const ER_LOCAL_VARIABLE: u16 = 1228;
    pub const ER_GLOBAL_VARIABLE: u16 = 1229;
    pub const ER_NO_DEFAULT: u16 = 1230;
    pub const ER_WRONG_VALUE_FOR_VAR: u16 = 1231;
    pub const ER_WRONG_TYPE_FOR_VAR: u16 = 1232;
    pub const ER_NOT_SUPPORTED_YET: u16 = 1235;
    pub const ER_INCORRECT_GLOBAL_LOCAL_VAR: u16 = 1238;
    pub const ER_CANT_USE_OPTION_HERE: u16 = 1234;
    pub const ER_OPERAND_COLUMNS: u16 = 1241;
    pub const ER_SUBQUERY_NO_1_ROW: u16 = 1242;
    pub const ER_UNKNOWN_STMT_HANDLER: u16 = 1243;
    pub const ER_ILLEGAL_REFERENCE: u16 = 1247;
    pub const ER_DERIVED_MUST_HAVE_ALIAS: u16 = 1248;
    pub const ER_COLLATION_CHARSET_MISMATCH: u16 = 1253;
    pub const ER_DEPRECATED_UTF8_ALIAS: u16 = 3719;
    pub const ER_DEPRECATED_NATIONAL: u16 = 3720;
    pub const ER_WARN_DEPRECATED_UTF8MB3_COLLATION: u16 = 3778;
    pub const ER_WARN_DATA_OUT_OF_RANGE: u16 = 1264;
    pub const WARN_DATA_TRUNCATED: u16 = 1265;
    pub const ER_UNKNOWN_COLLATION: u16 = 1273;
    pub const ER_WRONG_NAME_FOR_INDEX: u16 = 1280;
    pub const ER_WRONG_NAME_FOR_CATALOG: u16 = 1281;
    pub const ER_WARN_DEPRECATED_SYNTAX: u16 = 1287;
    pub const ER_DATA_OUT_OF_RANGE: u16 = 1690;
    pub const ER_NON_UPDATABLE_TABLE: u16 = 1288;
    pub const ER_TABLENAME_NOT_ALLOWED_HERE: u16 = 1250;
    pub const ER_OPTION_PREVENTS_STATEMENT: u16 = 1290;
    pub const ER_TABLE_NOT_LOCKED_FOR_WRITE: u16 = 1099;
    pub const ER_TABLE_NOT_LOCKED: u16 = 1100;
    pub const ER_WRONG_OBJECT: u16 = 1347;
    pub const ER_NONUPDATEABLE_COLUMN: u16 = 1348;
    pub const ER_VIEW_SELECT_CLAUSE: u16 = 1350;
    pub const ER_VIEW_SELECT_VARIABLE: u16 = 1351;
    pub const ER_VIEW_SELECT_TMPTABLE: u16 = 1352;
    pub const ER_CANNOT_ADD_FOREIGN: u16 = 1215;
    pub const ER_VIEW_WRONG_LIST: u16 = 1353;
    pub const ER_WARN_VIEW_MERGE: u16 = 1354;
    pub const ER_VIEW_NONUPD_CHECK: u16 = 1368;
    pub const ER_VIEW_CHECK_FAILED: u16 = 1369;
    pub const ER_VIEW_MULTIUPDATE: u16 = 1393;
    pub const ER_VIEW_DELETE_MERGE_VIEW: u16 = 1395;
    pub const ER_NO_DEFAULT_FOR_VIEW_FIELD: u16 = 1423;
    pub const ER_FORBID_SCHEMA_CHANGE: u16 = 1450;
    pub const ER_VIEW_RECURSIVE: u16 = 1462;
    pub const ER_NON_INSERTABLE_TABLE: u16 = 1471;
    pub const ER_AGGREGATE_ORDER_FOR_UNION: u16 = 3028;
    pub const ER_CTE_RECURSIVE_REQUIRES_UNION: u16 = 3573;
    pub const ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST: u16 = 3574;
    pub const ER_CTE_RECURSIVE_FORBIDS_AGGREGATION: u16 = 3575;
    pub const ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE: u16 = 3577;
    pub const ER_CTE_MAX_RECURSION_DEPTH: u16 = 3636;
    pub const ER_TF_MUST_HAVE_ALIAS: u16 = 3667;
    pub const ER_TF_FORBIDDEN_JOIN_TYPE: u16 = 3668;
    pub const ER_JT_MAX_NESTED_PATH: u16 = 3670;
    pub const ER_WINDOW_NO_SUCH_WINDOW: u16 = 3579;
    pub const ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH: u16 = 3580;
    pub const ER_WINDOW_NO_CHILD_PARTITIONING: u16 = 3581;
    pub const ER_WINDOW_NO_INHERIT_FRAME: u16 = 3582;
    pub const ER_WINDOW_NO_REDEFINE_ORDER_BY: u16 = 3583;
    pub const ER_WINDOW_FRAME_START_ILLEGAL: u16 = 3584;
    pub const ER_WINDOW_FRAME_END_ILLEGAL: u16 = 3585;
    pub const ER_WINDOW_FRAME_ILLEGAL: u16 = 3586;
    pub const ER_WINDOW_RANGE_FRAME_ORDER_TYPE: u16 = 3587;
    pub const ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE: u16 = 3588;
    pub const ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE: u16 = 3589;
    pub const ER_WINDOW_RANGE_BOUND_NOT_CONSTANT: u16 = 3590;
    pub const ER_WINDOW_DUPLICATE_NAME: u16 = 3591;
    pub const ER_WINDOW_ILLEGAL_ORDER_BY: u16 = 3592;
    pub const ER_WINDOW_INVALID_WINDOW_FUNC_USE: u16 = 3593;
    pub const ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE: u16 = 3594;
    pub const ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC: u16 = 3595;
    pub const ER_WINDOW_ROWS_INTERVAL_USE: u16 = 3596;
    pub const ER_FIELD_IN_GROUPING_NOT_GROUP_BY: u16 = 3602;
    pub const ER_TRUNCATED_WRONG_VALUE: u16 = 1292;
    pub const ER_INVALID_ON_UPDATE: u16 = 1294;
    pub const ER_UNSUPPORTED_PS: u16 = 1295;
    pub const ER_UNKNOWN_TIME_ZONE: u16 = 1298;
    pub const ER_SP_DOES_NOT_EXIST: u16 = 1305;
    pub const ER_FUNC_INEXISTENT_NAME_COLLISION: u16 = 1630;
    pub const ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE: u16 = 1175;
    pub const ER_QUERY_TIMEOUT: u16 = 3024;
    pub const ER_USER_LOCK_WRONG_NAME: u16 = 3057;
    pub const ER_USER_LOCK_DEADLOCK: u16 = 3058;
    pub const ER_SQL_MODE_MERGED: u16 = 3135;
    pub const ER_TABLE_WITHOUT_PK: u16 = 3750;
    pub const ER_UNRESOLVED_TABLE_LOCK: u16 = 3568;
    pub const ER_LOCK_NOWAIT: u16 = 3572;
    pub const ER_TRANSACTION_ROLLBACK_DURING_COMMIT: u16 = 3101;
    pub const ER_QUERY_INTERRUPTED: u16 = 1317;
    pub const ER_VIEW_INVALID: u16 = 1356;
    pub const ER_NO_DEFAULT_FOR_FIELD: u16 = 1364;
    pub const ER_DIVISION_BY_ZERO: u16 = 1365;
    pub const ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: u16 = 1366;
    pub const ER_NULL_COLUMN_IN_INDEX: u16 = 1121;
    pub const ER_DATA_TOO_LONG: u16 = 1406;
    pub const ER_UNKNOWN_EXPLAIN_FORMAT: u16 = 1791;
    pub const ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: u16 = 1792;
    pub const ER_AUTOINC_READ_FAILED: u16 = 1467;
    pub const ER_TOO_BIG_DISPLAYWIDTH: u16 = 1439;
    pub const ER_ROW_IS_REFERENCED_2: u16 = 1451;
    pub const ER_NO_REFERENCED_ROW_2: u16 = 1452;
    pub const ER_WRONG_FK_DEF: u16 = 1239;
    pub const ER_DROP_INDEX_FK: u16 = 1553;
    pub const ER_TRUNCATE_ILLEGAL_FK: u16 = 1701;
    pub const ER_FK_NO_INDEX_PARENT: u16 = 1822;
    pub const ER_FK_CANNOT_OPEN_PARENT: u16 = 1824;
    pub const ER_FK_DUP_NAME: u16 = 1826;
    pub const ER_FK_COLUMN_NOT_NULL: u16 = 1830;
    pub const ER_FK_DEPTH_EXCEEDED: u16 = 3008;
    pub const ER_FK_CANNOT_DROP_PARENT: u16 = 3730;
    pub const ER_FK_NO_COLUMN_PARENT: u16 = 3734;
    pub const ER_FK_INCOMPATIBLE_COLUMNS: u16 = 3780;
    pub const ER_TOO_BIG_SET: u16 = 1097;
    pub const ER_DUPLICATED_VALUE_IN_TYPE: u16 = 1291;
    pub const ER_ILLEGAL_VALUE_FOR_TYPE: u16 = 1367;
    pub const ER_INVALID_YEAR_COLUMN_LENGTH: u16 = 1818;
    pub const ER_INVALID_FIELD_SIZE: u16 = 3013;
    pub const ER_TOO_BIG_ENUM: u16 = 3504;
    pub const ER_TOO_LONG_SET_ENUM_VALUE: u16 = 3505;
    pub const ER_TOO_BIG_SCALE: u16 = 1425;
    pub const ER_TOO_BIG_PRECISION: u16 = 1426;
    pub const ER_CONFLICTING_DECLARATIONS: u16 = 1302;
    pub const ER_M_BIGGER_THAN_D: u16 = 1427;
    pub const ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT: u16 = 1582;
    pub const ER_WRONG_PARAMETERS_TO_NATIVE_FCT: u16 = 1583;
    pub const ER_TOO_LONG_FIELD_COMMENT: u16 = 1629;
    pub const ER_INVALID_CHARACTER_STRING: u16 = 1300;
    pub const ER_INTERNAL_ERROR: u16 = 1815;
    pub const ER_DUP_INDEX: u16 = 1831;
    pub const ER_CANT_CHANGE_TX_CHARACTERISTICS: u16 = 1568;
    pub const ER_MAX_PREPARED_STMT_COUNT_REACHED: u16 = 1461;
    pub const ER_CLIENT_INTERACTION_TIMEOUT: u16 = 4031;
    pub const ER_TABLE_DEF_CHANGED: u16 = 1412;
    pub const ER_STACK_OVERRUN_NEED_MORE: u16 = 1436;
    pub const ER_OUT_OF_SORTMEMORY: u16 = 1038;
    pub const ER_GET_TEMPORARY_ERRMSG: u16 = 1297;
    pub const ER_CANT_AGGREGATE_2COLLATIONS: u16 = 1267;
    pub const ER_CHECK_CONSTRAINT_VIOLATED: u16 = 3819;
    pub const ER_WRONG_FIELD_TERMINATORS: u16 = 1083;
    pub const ER_NET_PACKETS_OUT_OF_ORDER: u16 = 1156;
    pub const ER_NET_READ_ERROR: u16 = 1158;
    pub const ER_NET_READ_INTERRUPTED: u16 = 1159;
    pub const ER_WARN_TOO_FEW_RECORDS: u16 = 1261;
    pub const ER_WARN_TOO_MANY_RECORDS: u16 = 1262;
    pub const ER_WARN_NULL_TO_NOTNULL: u16 = 1263;
    pub const WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED: u16 = 1638;
    pub const ER_CLIENT_LOCAL_FILES_DISABLED: u16 = 3948;
}

impl SqlError {
    pub fn new(code: u16, message: impl Into<String>) -> SqlError {
        SqlError { code, message: message.into(), fatal: false }
    }
    pub fn fatal(code: u16, message: impl Into<String>) -> SqlError {
        SqlError { code, message: message.into(), fatal: true }
    }
    /// 1235 with the name of what is missing.
    pub fn not_supported(feature: impl std::fmt::Display) -> SqlError {
        SqlError::new(
            code::ER_NOT_SUPPORTED_YET,
            format!("This version of MySQL doesn't yet support '{feature}'"),
        )
    }
    pub fn window_misplaced(function: &str) -> SqlError {
        SqlError::new(
            code::ER_WINDOW_INVALID_WINDOW_FUNC_USE,
            format!("You cannot use the window function '{function}' in this context.'"),
        )
    }
    pub fn window_alias_misplaced(alias: &str) -> SqlError {
        SqlError::new(
            code::ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE,
            format!(
                "You cannot use the alias '{alias}' of an expression containing a window function in this context.'"
            ),
        )
    }
    /// A frame of the window is not as it must be; `code` is one of 3581 to 3596.
    pub fn window(code: u16, window: &str, rule: &str) -> SqlError {
        SqlError::new(code, format!("Window '{window}'{rule}"))
    }
    pub fn no_database() -> SqlError {
        SqlError::new(code::ER_NO_DB_ERROR, "No database selected")
    }
    pub fn unknown_database(name: &str) -> SqlError {
        SqlError::new(code::ER_BAD_DB_ERROR, format!("Unknown database '{name}'"))
    }
    pub fn no_such_table(database: &str, table: &str) -> SqlError {
        SqlError::new(code::ER_NO_SUCH_TABLE, format!("Table '{database}.{table}' doesn't exist"))
    }
    pub fn table_exists(table: &str) -> SqlError {
        SqlError::new(code::ER_TABLE_EXISTS_ERROR, format!("Table '{table}' already exists"))
    }
    pub fn not_unique_table(name: &str) -> SqlError {
        SqlError::new(code::ER_NONUNIQ_TABLE, format!("Not unique table/alias: '{name}'"))
    }
    /// DROP TABLE of tables that are not there; names come as "db.table,db.other".
    /// 1347: it is a table, or a view.
    pub fn wrong_object(database: &str, name: &str, wanted: &str) -> SqlError {
        SqlError::new(code::ER_WRONG_OBJECT, format!("'{database}.{name}' is not {wanted}"))
    }
    pub fn bad_table(names: &str) -> SqlError {
        SqlError::new(code::ER_BAD_TABLE_ERROR, format!("Unknown table '{names}'"))
    }
    /// `place`: "field list", "where clause", "order clause", "group statement", "having clause", "on clause".
    pub fn unknown_column(name: &str, place: &str) -> SqlError {
        SqlError::new(code::ER_BAD_FIELD_ERROR, format!("Unknown column '{name}' in '{place}'"))
    }
    pub fn ambiguous_column(name: &str, place: &str) -> SqlError {
        SqlError::new(code::ER_NON_UNIQ_ERROR, format!("Column '{name}' in {place} is ambiguous"))
    }
    pub fn duplicate_column(name: &str) -> SqlError {
        SqlError::new(code::ER_DUP_FIELDNAME, format!("Duplicate column name '{name}'"))
    }
    pub fn duplicate_key_name(name: &str) -> SqlError {
        SqlError::new(code::ER_DUP_KEYNAME, format!("Duplicate key name '{name}'"))
    }
    /// `entry` is "1-a", `key` is "t.PRIMARY".
    pub fn duplicate_entry(entry: &str, key: &str) -> SqlError {
        SqlError::new(code::ER_DUP_ENTRY, format!("Duplicate entry '{entry}' for key '{key}'"))
    }
    pub fn invalid_default(column: &str) -> SqlError {
        SqlError::new(code::ER_INVALID_DEFAULT, format!("Invalid default value for '{column}'"))
    }
    pub fn column_cannot_be_null(column: &str) -> SqlError {
        SqlError::new(code::ER_BAD_NULL_ERROR, format!("Column '{column}' cannot be null"))
    }
    pub fn definition_changed() -> SqlError {
        SqlError::new(
            code::ER_TABLE_DEF_CHANGED,
            "Table definition has changed, please retry transaction",
        )
    }
    /// 1452: a row of `table` has no parent.
    pub fn no_parent(table: &Table, key: &ForeignKey) -> SqlError {
        SqlError::new(
            code::ER_NO_REFERENCED_ROW_2,
            format!(
                "Cannot add or update a child row: a foreign key constraint fails (`{}`.`{}`, {})",
                table.database,
                table.name,
                foreign_key_text(table, key)
            ),
        )
    }
    pub fn check_violated(name: &str) -> SqlError {
        SqlError::new(
            code::ER_CHECK_CONSTRAINT_VIOLATED,
            format!("Check constraint '{name}' is violated."),
        )
    }
    pub fn no_default(column: &str) -> SqlError {
        SqlError::new(
            code::ER_NO_DEFAULT_FOR_FIELD,
            format!("Field '{column}' doesn't have a default value"),
        )
    }
    pub fn value_count(row: usize) -> SqlError {
        SqlError::new(
            code::ER_WRONG_VALUE_COUNT_ON_ROW,
            format!("Column count doesn't match value count at row {row}"),
        )
    }
    pub fn column_specified_twice(column: &str) -> SqlError {
        SqlError::new(code::ER_FIELD_SPECIFIED_TWICE, format!("Column '{column}' specified twice"))
    }
    pub fn invalid_group_function() -> SqlError {
        SqlError::new(code::ER_INVALID_GROUP_FUNC_USE, "Invalid use of group function")
    }
    pub fn operand_columns(count: usize) -> SqlError {
        SqlError::new(code::ER_OPERAND_COLUMNS, format!("Operand should contain {count} column(s)"))
    }
    /// Queries of a set operation, or a query and what takes its columns.
    pub fn set_column_counts() -> SqlError {
        SqlError::new(
            code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
            "The used SELECT statements have a different number of columns",
        )
    }
    pub fn subquery_rows() -> SqlError {
        SqlError::new(code::ER_SUBQUERY_NO_1_ROW, "Subquery returns more than 1 row")
    }
    pub fn update_table_used(table: &str) -> SqlError {
        SqlError::new(
            code::ER_UPDATE_TABLE_USED,
            format!("You can't specify target table '{table}' for update in FROM clause"),
        )
    }
    /// FOR UPDATE OF a name that FROM has not.
    pub fn unresolved_table_lock(schema: Option<&str>, table: &str) -> SqlError {
        let schema = schema.map_or_else(String::new, |schema| format!("`{schema}`."));
        SqlError::new(
            code::ER_UNRESOLVED_TABLE_LOCK,
            format!("Unresolved table name {schema}`{table}` in locking clause."),
        )
    }
    pub fn unknown_system_variable(name: &str) -> SqlError {
        SqlError::new(code::ER_UNKNOWN_SYSTEM_VARIABLE, format!("Unknown system variable '{name}'"))
    }
    pub fn wrong_value_for_variable(name: &str, value: &str) -> SqlError {
        SqlError::new(
            code::ER_WRONG_VALUE_FOR_VAR,
            format!("Variable '{name}' can't be set to the value of '{value}'"),
        )
    }
    pub fn wrong_type_for_variable(name: &str) -> SqlError {
        SqlError::new(
            code::ER_WRONG_TYPE_FOR_VAR,
            format!("Incorrect argument type to variable '{name}'"),
        )
    }
    /// 1235 for a character set that MySQL has and this engine has not, 1115 for one that MySQL has not.
    pub fn unknown_character_set(name: &str) -> SqlError {
        match names::charset_named(name) {
            Some(known) => SqlError::not_supported(format!("CHARACTER SET {known}")),
            None => SqlError::new(
                code::ER_UNKNOWN_CHARACTER_SET,
                format!("Unknown character set: '{name}'"),
            ),
        }
    }
    /// COLLATE of another character set than the text's.
    pub fn collation_mismatch(collation: &str, charset: &str) -> SqlError {
        SqlError::new(
            code::ER_COLLATION_CHARSET_MISMATCH,
            format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'"),
        )
    }
    /// 1235 for a collation that MySQL has and this engine has not, 1273 for one that MySQL has not.
    pub fn unknown_collation(name: &str) -> SqlError {
        if names::charset_of_collation(name).is_some() {
            return SqlError::not_supported(format!("COLLATE {}", name.to_ascii_lowercase()));
        }
        SqlError::new(code::ER_UNKNOWN_COLLATION, format!("Unknown collation: '{name}'"))
    }
    pub fn wrong_param_count(function: &str) -> SqlError {
        SqlError::new(
            code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
            format!("Incorrect parameter count in the call to native function '{function}'"),
        )
    }
    /// 3143 for a path that is written in the statement.
    pub fn json_path(error: PathError) -> SqlError {
        SqlError::new(
            code::ER_INVALID_JSON_PATH,
            format!(
                "Invalid JSON path expression. The error is around character position {}.",
                error.0
            ),
        )
    }
    pub fn wrong_arguments(statement: &str) -> SqlError {
        SqlError::new(code::ER_WRONG_ARGUMENTS, format!("Incorrect arguments to {statement}"))
    }
    pub fn unknown_statement(name: &str, command: &str) -> SqlError {
        SqlError::new(
            code::ER_UNKNOWN_STMT_HANDLER,
            format!("Unknown prepared statement handler ({name}) given to {command}"),
        )
    }
    pub fn interrupted() -> SqlError {
        SqlError::new(code::ER_QUERY_INTERRUPTED, "Query execution was interrupted")
    }
    /// `who_has`: "node 3 has".
    pub fn table_full(table: &str, who_has: &str) -> SqlError {
        SqlError::new(
            code::ER_RECORD_FILE_FULL,
            format!(
                "The table '{table}' is full: {who_has} no memory left for what would be added to it. Delete rows, of any table, \
                 write fewer in a transaction, or start the nodes with more (--memory)"
            ),
        )
    }
    pub fn no_such_thread(id: u64) -> SqlError {
        SqlError::new(code::ER_NO_SUCH_THREAD, format!("Unknown thread id: {id}"))
    }
    /// The statement holds more than its `limit` of bytes in an operator that cannot spill.
    pub fn out_of_statement_memory(limit: usize) -> SqlError {
        SqlError::new(
            code::ER_OUT_OF_SORTMEMORY,
            format!(
                "Out of sort memory, consider increasing tmp_table_size, which is {limit} bytes"
            ),
        )
    }
    /// 1290: the server was started with an option that rules the statement out.
    pub fn option_prevents(option: &str) -> SqlError {
        SqlError::new(
            code::ER_OPTION_PREVENTS_STATEMENT,
            format!(
                "The MySQL server is running with the {option} option so it cannot execute this \
                 statement"
            ),
        )
    }
    pub fn read_only_transaction() -> SqlError {
        SqlError::new(
            code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
            "Cannot execute statement in a READ ONLY transaction.",
        )
    }
}

impl From<crate::parser::ParseError> for SqlError {
    fn from(error: crate::parser::ParseError) -> SqlError {
        SqlError::new(error.mysql_code(), error.to_string())
    }
}
