//! MySQL's reserved words: those an unquoted identifier may not be (unless it follows a dot).
//!
//! The look-up runs once a word in the parser and in the digest, so it is a small hash table laid out at compile time:
//! one multiplication, one probe in the usual case, one comparison.

/// Reserved in MySQL 8.0 and used by the grammar. Longest: 19 bytes.
#[rustfmt::skip]
static RESERVED: &[&str] = &[
    "ACCESSIBLE", "ADD", "ALL", "ALTER", "ANALYZE", "AND", "AS", "ASC", "ASENSITIVE", "BEFORE", "BETWEEN", "BIGINT",
    "BINARY", "BLOB", "BOTH", "BY", "CALL", "CASCADE", "CASE", "CHANGE", "CHAR", "CHARACTER", "CHECK", "COLLATE",
    "COLUMN", "CONDITION", "CONSTRAINT", "CONTINUE", "CONVERT", "CREATE", "CROSS", "CUBE", "CUME_DIST", "CURRENT_DATE",
    "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "CURSOR", "DATABASE", "DATABASES", "DAY_HOUR",
    "DAY_MICROSECOND", "DAY_MINUTE", "DAY_SECOND", "DEC", "DECIMAL", "DECLARE", "DEFAULT", "DELAYED", "DELETE",
    "DENSE_RANK", "DESC", "DESCRIBE", "DETERMINISTIC", "DISTINCT", "DISTINCTROW", "DIV", "DOUBLE", "DROP", "DUAL",
    "EACH", "ELSE", "ELSEIF", "EMPTY", "ENCLOSED", "ESCAPED", "EXCEPT", "EXISTS", "EXIT", "EXPLAIN", "FALSE", "FETCH",
    "FIRST_VALUE", "FLOAT", "FLOAT4", "FLOAT8", "FOR", "FORCE", "FOREIGN", "FROM", "FULLTEXT", "FUNCTION", "GENERATED",
    "GET", "GRANT", "GROUP", "GROUPING", "GROUPS", "HAVING", "HIGH_PRIORITY", "HOUR_MICROSECOND", "HOUR_MINUTE",
    "HOUR_SECOND", "IF", "IGNORE", "IN", "INDEX", "INFILE", "INNER", "INOUT", "INSENSITIVE", "INSERT", "INT", "INT1",
    "INT2", "INT3", "INT4", "INT8", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "IO_AFTER_GTIDS", "IO_BEFORE_GTIDS",
    "IS", "ITERATE", "JOIN", "JSON_TABLE", "KEY", "KEYS", "KILL", "LAG", "LAST_VALUE", "LATERAL", "LEAD", "LEADING",
    "LEAVE", "LEFT", "LIKE", "LIMIT", "LINEAR", "LINES", "LOAD", "LOCALTIME", "LOCALTIMESTAMP", "LOCK", "LONG",
    "LONGBLOB", "LONGTEXT", "LOOP", "LOW_PRIORITY", "MATCH", "MAXVALUE", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT",
    "MIDDLEINT", "MINUTE_MICROSECOND", "MINUTE_SECOND", "MOD", "MODIFIES", "NATURAL", "NOT", "NO_WRITE_TO_BINLOG",
    "NTH_VALUE", "NTILE", "NULL", "NUMERIC", "OF", "ON", "OPTIMIZE", "OPTIMIZER_COSTS", "OPTION", "OPTIONALLY", "OR",
    "ORDER", "OUT", "OUTER", "OUTFILE", "OVER", "PARTITION", "PERCENT_RANK", "PRECISION", "PRIMARY", "PROCEDURE",
    "PURGE", "RANGE", "RANK", "READ", "READS", "READ_WRITE", "REAL", "RECURSIVE", "REFERENCES", "REGEXP", "RELEASE",
    "RENAME", "REPEAT", "REPLACE", "REQUIRE", "RESIGNAL", "RESTRICT", "RETURN", "REVOKE", "RIGHT", "RLIKE", "ROW",
    "ROWS", "ROW_NUMBER", "SCHEMA", "SCHEMAS", "SECOND_MICROSECOND", "SELECT", "SENSITIVE", "SEPARATOR", "SET", "SHOW",
    "SIGNAL", "SMALLINT", "SPATIAL", "SPECIFIC", "SQL", "SQLEXCEPTION", "SQLSTATE", "SQLWARNING", "SQL_BIG_RESULT",
    "SQL_CALC_FOUND_ROWS", "SQL_SMALL_RESULT", "SSL", "STARTING", "STORED", "STRAIGHT_JOIN", "SYSTEM", "TABLE",
    "TERMINATED", "THEN", "TINYBLOB", "TINYINT", "TINYTEXT", "TO", "TRAILING", "TRIGGER", "TRUE", "UNDO", "UNION",
    "UNIQUE", "UNLOCK", "UNSIGNED", "UPDATE", "USAGE", "USE", "USING", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP",
    "VALUES", "VARBINARY", "VARCHAR", "VARCHARACTER", "VARYING", "VIRTUAL", "WHEN", "WHERE", "WHILE", "WINDOW", "WITH",
    "WRITE", "XOR", "YEAR_MONTH", "ZEROFILL",
];

/// Longest reserved word in bytes.
pub const RESERVED_LENGTH_MAX: usize = 19;

const SLOT_COUNT: usize = 2048;
/// Index into RESERVED plus one; 0 is an empty slot. Linear probing; an eighth full.
static SLOTS: [u16; SLOT_COUNT] = build_slots();

const fn slot_of(word: &[u8]) -> usize {
    // Length, both ends and the middle tell nearly all reserved words apart.
    let length = word.len();
    let mixed = length as u32
        ^ (word[0] as u32) << 4
        ^ (word[length - 1] as u32) << 10
        ^ (word[length / 2] as u32) << 16
        ^ (word[length / 3] as u32) << 22;
    (mixed.wrapping_mul(0x9E37_79B1) >> 21) as usize
}

const fn build_slots() -> [u16; SLOT_COUNT] {
    let mut slots = [0; SLOT_COUNT];
    let mut index = 0;
    while index < RESERVED.len() {
        let mut slot = slot_of(RESERVED[index].as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = index as u16 + 1;
        index += 1;
    }
    slots
}

/// Whether `word`, upper-cased by the caller, is reserved.
pub fn is_reserved(word: &[u8]) -> bool {
    if word.len() < 2 || RESERVED_LENGTH_MAX < word.len() {
        return false;
    }
    let mut slot = slot_of(word);
    loop {
        let index = SLOTS[slot] as usize;
        if index == 0 {
            return false;
        }
        if RESERVED[index - 1].as_bytes() == word {
            return true;
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
}

#[cfg(test)]
pub fn reserved_word_count() -> usize {
    RESERVED.len()
}

/// Whether `word` is reserved and yet the name of a function when a parenthesis follows.
pub fn is_reserved_function(word: &str) -> bool {
    matches!(
        word,
        "CHAR"
            | "CURRENT_DATE"
            | "CURRENT_TIME"
            | "CURRENT_TIMESTAMP"
            | "CURRENT_USER"
            | "DATABASE"
            | "GROUPING"
            | "IF"
            | "INSERT"
            | "LEFT"
            | "LOCALTIME"
            | "LOCALTIMESTAMP"
            | "MOD"
            | "REPEAT"
            | "REPLACE"
            | "RIGHT"
            | "SCHEMA"
            | "UTC_DATE"
            | "UTC_TIME"
            | "UTC_TIMESTAMP"
    )
}

/// Whether `word`, in any case, is a function that is a keyword before its parenthesis and a name everywhere else.
pub fn is_spaceless_function(word: &[u8]) -> bool {
    #[rustfmt::skip]
    const FUNCTIONS: &[&str] = &[
        "ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "CAST", "COUNT", "CURDATE", "CURTIME", "DATE_ADD", "DATE_SUB",
        "EXTRACT", "GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "MAX", "MID", "MIN", "NOW", "POSITION",
        "SESSION_USER", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "ST_COLLECT", "SUBDATE", "SUBSTR", "SUBSTRING",
        "SUM", "SYSDATE", "SYSTEM_USER", "TRIM", "VARIANCE", "VAR_POP", "VAR_SAMP",
    ];
    FUNCTIONS.iter().any(|function| word.eq_ignore_ascii_case(function.as_bytes()))
}

/// Whether `word` is a window-only function's name, reserved in MySQL 8.
pub fn is_window_function(word: &str) -> bool {
    matches!(
        word,
        "CUME_DIST"
            | "DENSE_RANK"
            | "FIRST_VALUE"
            | "LAG"
            | "LAST_VALUE"
            | "LEAD"
            | "NTH_VALUE"
            | "NTILE"
            | "PERCENT_RANK"
            | "RANK"
            | "ROW_NUMBER"
    )
}

/// Whether `name` (lower-cased, without underscore) may introduce a string: `_utf8mb4'...'`.
pub fn is_charset(name: &str) -> bool {
    #[rustfmt::skip]
    const CHARSETS: &[&str] = &[
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
        "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
        "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
        "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
    ];
    CHARSETS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reserved word is found, and near misses are not.
    #[test]
    fn reserved_words_are_found() {
        for word in RESERVED {
            assert!(is_reserved(word.as_bytes()), "{word}");
            assert!(word.len() <= RESERVED_LENGTH_MAX);
            assert!(!is_reserved(&word.as_bytes()[1..]) || RESERVED.contains(&&word[1..]));
        }
        for word in ["ID", "NAME", "STATUS", "OFFSET", "VALUE", "USER", "A", "", "TYPE", "COMMENT"]
        {
            assert!(!is_reserved(word.as_bytes()), "{word}");
        }
        assert!(RESERVED.is_sorted());
        assert!(is_charset("utf8mb4") && is_charset("armscii8") && !is_charset("utf9"));
    }
}
