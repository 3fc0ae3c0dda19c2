//! `sql_mode`: a set of flags with MySQL's names and bit numbers.
//!
//! The mode is read by the lexer (what a quote is), by the binder and by conversions, so it stands in the vocabulary.
//! [`SqlMode::from_names`] and [`SqlMode::from_bits`] expand the combination modes ANSI and TRADITIONAL as MySQL does:
//! their own bit stays set beside those of their parts.

use crate::temporal::DateModes;

/// A set of modes; the bits are MySQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlMode(u64);

macro_rules! modes {
    ($($(#[$comment:meta])* $name:ident = $bit:literal;)*) => {
        impl SqlMode {
            $($(#[$comment])* pub const $name: SqlMode = SqlMode(1 << $bit);)*
        }
        /// Every mode by name, in the order of its bit.
        const MODES: &[(&str, SqlMode)] = &[$((stringify!($name), SqlMode::$name)),*];
    };
}

modes! {
    /// REAL is FLOAT, not DOUBLE.
    REAL_AS_FLOAT = 0;
    /// `||` is CONCAT, not OR.
    PIPES_AS_CONCAT = 1;
    /// `"` quotes a name, not a string.
    ANSI_QUOTES = 2;
    /// Blanks may stand between a function's name and its parenthesis; such names are reserved.
    IGNORE_SPACE = 3;
    ONLY_FULL_GROUP_BY = 5;
    /// A difference is signed even when an operand is unsigned.
    NO_UNSIGNED_SUBTRACTION = 6;
    /// DATA DIRECTORY and INDEX DIRECTORY are ignored.
    NO_DIR_IN_CREATE = 7;
    /// The union of PIPES_AS_CONCAT, ANSI_QUOTES, IGNORE_SPACE, REAL_AS_FLOAT and ONLY_FULL_GROUP_BY.
    ANSI = 18;
    /// An explicit 0 in an AUTO_INCREMENT column stays 0.
    NO_AUTO_VALUE_ON_ZERO = 19;
    /// `\` is an ordinary character.
    NO_BACKSLASH_ESCAPES = 20;
    STRICT_TRANS_TABLES = 21;
    STRICT_ALL_TABLES = 22;
    NO_ZERO_IN_DATE = 23;
    NO_ZERO_DATE = 24;
    /// Days up to 31 are valid in every month.
    ALLOW_INVALID_DATES = 25;
    ERROR_FOR_DIVISION_BY_ZERO = 26;
    /// The union of both strict modes, NO_ZERO_IN_DATE, NO_ZERO_DATE, ERROR_FOR_DIVISION_BY_ZERO and
    /// NO_ENGINE_SUBSTITUTION.
    TRADITIONAL = 27;
    /// NOT binds as `!` does.
    HIGH_NOT_PRECEDENCE = 29;
    /// An unknown storage engine is an error, not a warning.
    NO_ENGINE_SUBSTITUTION = 30;
    /// A CHAR value is read with the spaces that fill it.
    PAD_CHAR_TO_FULL_LENGTH = 31;
    /// Fractional seconds are cut, not rounded, where they are stored.
    TIME_TRUNCATE_FRACTIONAL = 32;
}

impl Default for SqlMode {
    /// MySQL 8's default.
    fn default() -> SqlMode {
        SqlMode::ONLY_FULL_GROUP_BY
            .with(SqlMode::STRICT_TRANS_TABLES)
            .with(SqlMode::NO_ZERO_IN_DATE)
            .with(SqlMode::NO_ZERO_DATE)
            .with(SqlMode::ERROR_FOR_DIVISION_BY_ZERO)
            .with(SqlMode::NO_ENGINE_SUBSTITUTION)
    }
}

impl SqlMode {
    /// No mode at all: `SET sql_mode = ''`.
    pub const NONE: SqlMode = SqlMode(0);

    /// Names between commas, in any case, blanks at their ends ignored; a number is a set of bits. Fails with the name
    /// that is none.
    pub fn from_names(text: &str) -> Result<SqlMode, &str> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().and_then(SqlMode::from_bits).ok_or(text);
        }
        let mut mode = SqlMode::NONE;
        for name in text.split(',').map(|name| name.trim_end_matches(' ')) {
            match MODES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
                Some((_, named)) => mode = mode.with(*named),
                None if name.is_empty() => {}
                None => return Err(name),
            }
        }
        Ok(mode.expanded())
    }

    /// None when a bit is no mode's.
    pub fn from_bits(bits: u64) -> Option<SqlMode> {
        let known = MODES.iter().fold(0, |known, (_, mode)| known | mode.0);
        (bits & !known == 0).then(|| SqlMode(bits).expanded())
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    fn expanded(self) -> SqlMode {
        let mut mode = self;
        if mode.has(SqlMode::ANSI) {
            mode = mode
                .with(SqlMode::REAL_AS_FLOAT)
                .with(SqlMode::PIPES_AS_CONCAT)
                .with(SqlMode::ANSI_QUOTES)
                .with(SqlMode::IGNORE_SPACE)
                .with(SqlMode::ONLY_FULL_GROUP_BY);
        }
        if mode.has(SqlMode::TRADITIONAL) {
            mode = mode
                .with(SqlMode::STRICT_TRANS_TABLES)
                .with(SqlMode::STRICT_ALL_TABLES)
                .with(SqlMode::NO_ZERO_IN_DATE)
                .with(SqlMode::NO_ZERO_DATE)
                .with(SqlMode::ERROR_FOR_DIVISION_BY_ZERO)
                .with(SqlMode::NO_ENGINE_SUBSTITUTION);
        }
        mode
    }

    /// Whether all modes of `other` are set.
    pub const fn has(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }
    pub const fn with(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }
    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }
    pub const fn intersection(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & other.0)
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// A value that does not fit is an error in statements that change rows.
    pub fn is_strict(self) -> bool {
        self.has(SqlMode::STRICT_TRANS_TABLES) || self.has(SqlMode::STRICT_ALL_TABLES)
    }
    pub fn only_full_group_by(self) -> bool {
        self.has(SqlMode::ONLY_FULL_GROUP_BY)
    }
    pub fn no_auto_value_on_zero(self) -> bool {
        self.has(SqlMode::NO_AUTO_VALUE_ON_ZERO)
    }
    /// Without ERROR_FOR_DIVISION_BY_ZERO.
    pub fn ignores_division_by_zero(self) -> bool {
        !self.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO)
    }
    /// The part that dates and fractions of seconds depend on.
    pub fn date_modes(self) -> DateModes {
        DateModes {
            no_zero_date: self.has(SqlMode::NO_ZERO_DATE),
            no_zero_in_date: self.has(SqlMode::NO_ZERO_IN_DATE),
            allow_invalid_dates: self.has(SqlMode::ALLOW_INVALID_DATES),
            truncate_fractions: self.has(SqlMode::TIME_TRUNCATE_FRACTIONAL),
        }
    }

    /// The names, as `SELECT @@sql_mode` shows them.
    pub fn text(self) -> String {
        let names: Vec<&str> =
            MODES.iter().filter(|(_, mode)| self.has(*mode)).map(|(name, _)| *name).collect();
        names.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and numbers give the same sets, shown as MySQL 8.0 shows them; an unknown name is handed back.
    #[test]
    fn names_and_numbers() {
        let ansi = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI";
        let traditional = "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                           ERROR_FOR_DIVISION_BY_ZERO,TRADITIONAL,NO_ENGINE_SUBSTITUTION";
        let default = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                       ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        assert_eq!(SqlMode::default().text(), default);
        for (text, expected) in [
            ("", Ok("")),
            (",", Ok("")),
            ("0", Ok("")),
            ("4194304", Ok("STRICT_ALL_TABLES")),
            ("2", Ok("PIPES_AS_CONCAT")),
            ("ansi", Ok(ansi)),
            ("262144", Ok(ansi)),
            ("TRADITIONAL", Ok(traditional)),
            ("134217728", Ok(traditional)),
            ("4294967296", Ok("TIME_TRUNCATE_FRACTIONAL")),
            ("ANSI_QUOTES,,strict_all_tables ,ANSI_QUOTES", Ok("ANSI_QUOTES,STRICT_ALL_TABLES")),
            ("HIGH_NOT_PRECEDENCE", Ok("HIGH_NOT_PRECEDENCE")),
            (default, Ok(default)),
            ("ANSI_QUOTES,nonsense", Err("nonsense")),
            ("NO_AUTO_CREATE_USER", Err("NO_AUTO_CREATE_USER")),
            ("16", Err("16")),
            ("8589934592", Err("8589934592")),
            ("99999999999999999999", Err("99999999999999999999")),
        ] {
            let parsed = SqlMode::from_names(text);
            assert_eq!(parsed.map(SqlMode::text).as_deref(), expected.as_deref(), "{text}");
            if let Ok(mode) = parsed {
                assert_eq!(SqlMode::from_bits(mode.bits()), Some(mode));
                assert_eq!(SqlMode::from_names(&mode.text()), Ok(mode));
            }
        }
    }

    /// One bit a mode, in rising order.
    #[test]
    fn bits_are_single() {
        for pair in MODES.windows(2) {
            assert!(pair[0].1.bits() < pair[1].1.bits(), "{}", pair[1].0);
        }
        assert!(MODES.iter().all(|(_, mode)| mode.bits().is_power_of_two()));
    }
}
