//! The names of functions and how many arguments they take.

use super::super::Function;

/// (function, its names in SQL, the fewest and the most arguments). Lower-case names cannot be written in SQL.
type Entry = (Function, &'static [&'static str], usize, usize);

/// Arguments a function takes at most.
const MANY: usize = 65_535;

/// In the order of the enum.
const TABLE: &[Entry] = &[
    (Function::Abs, &["ABS"], 1, 1),
    (Function::Ceiling, &["CEILING", "CEIL"], 1, 1),
    (Function::Floor, &["FLOOR"], 1, 1),
    (Function::Round, &["ROUND"], 1, 2),
    (Function::Truncate, &["TRUNCATE"], 2, 2),
    (Function::Sign, &["SIGN"], 1, 1),
    (Function::Mod, &["MOD"], 2, 2),
    (Function::Power, &["POW", "POWER"], 2, 2),
    (Function::Sqrt, &["SQRT"], 1, 1),
    (Function::Exp, &["EXP"], 1, 1),
    (Function::Ln, &["LN"], 1, 1),
    (Function::Log, &["LOG"], 1, 2),
    (Function::Log2, &["LOG2"], 1, 1),
    (Function::Log10, &["LOG10"], 1, 1),
    (Function::Pi, &["PI"], 0, 0),
    (Function::Sin, &["SIN"], 1, 1),
    (Function::Cos, &["COS"], 1, 1),
    (Function::Tan, &["TAN"], 1, 1),
    (Function::Asin, &["ASIN"], 1, 1),
    (Function::Acos, &["ACOS"], 1, 1),
    (Function::Atan, &["ATAN"], 1, 2),
    (Function::Atan2, &["ATAN2"], 2, 2),
    (Function::Cot, &["COT"], 1, 1),
    (Function::Degrees, &["DEGREES"], 1, 1),
    (Function::Radians, &["RADIANS"], 1, 1),
    (Function::Crc32, &["CRC32"], 1, 1),
    (Function::Conv, &["CONV"], 3, 3),
    (Function::Bin, &["BIN"], 1, 1),
    (Function::Oct, &["OCT"], 1, 1),
    (Function::Hex, &["HEX"], 1, 1),
    (Function::Unhex, &["UNHEX"], 1, 1),
    (Function::Greatest, &["GREATEST"], 2, MANY),
    (Function::Least, &["LEAST"], 2, MANY),
    (Function::Coalesce, &["COALESCE"], 1, MANY),
    (Function::IfNull, &["IFNULL"], 2, 2),
    (Function::NullIf, &["NULLIF"], 2, 2),
    (Function::If, &["IF"], 3, 3),
    (Function::Isnull, &["ISNULL"], 1, 1),
    (Function::Interval, &["INTERVAL"], 2, MANY),
    (Function::Concat, &["CONCAT"], 1, MANY),
    (Function::ConcatWs, &["CONCAT_WS"], 2, MANY),
    (Function::Length, &["LENGTH", "OCTET_LENGTH"], 1, 1),
    (Function::CharLength, &["CHAR_LENGTH", "CHARACTER_LENGTH"], 1, 1),
    (Function::BitLength, &["BIT_LENGTH"], 1, 1),
    (Function::Lower, &["LOWER", "LCASE"], 1, 1),
    (Function::Upper, &["UPPER", "UCASE"], 1, 1),
    (Function::Left, &["LEFT"], 2, 2),
    (Function::Right, &["RIGHT"], 2, 2),
    (Function::Substring, &["SUBSTRING", "SUBSTR", "MID"], 2, 3),
    (Function::SubstringIndex, &["SUBSTRING_INDEX"], 3, 3),
    (Function::Locate, &["LOCATE", "POSITION"], 2, 3),
    (Function::Instr, &["INSTR"], 2, 2),
    (Function::Replace, &["REPLACE"], 3, 3),
    (Function::Repeat, &["REPEAT"], 2, 2),
    (Function::Reverse, &["REVERSE"], 1, 1),
    (Function::Lpad, &["LPAD"], 3, 3),
    (Function::Rpad, &["RPAD"], 3, 3),
    (Function::Ltrim, &["LTRIM"], 1, 2),
    (Function::Rtrim, &["RTRIM"], 1, 2),
    (Function::Trim, &["TRIM"], 1, 2),
    (Function::Space, &["SPACE"], 1, 1),
    (Function::Ascii, &["ASCII"], 1, 1),
    (Function::Ord, &["ORD"], 1, 1),
    (Function::Char, &["CHAR"], 1, MANY),
    (Function::Strcmp, &["STRCMP"], 2, 2),
    (Function::Insert, &["INSERT"], 4, 4),
    (Function::Elt, &["ELT"], 2, MANY),
    (Function::Field, &["FIELD"], 2, MANY),
    (Function::FindInSet, &["FIND_IN_SET"], 2, 2),
    (Function::Format, &["FORMAT"], 2, 3),
    (Function::Quote, &["QUOTE"], 1, 1),
    (Function::Md5, &["MD5"], 1, 1),
    (Function::Sha1, &["SHA1", "SHA"], 1, 1),
    (Function::Sha2, &["SHA2"], 2, 2),
    (Function::ToBase64, &["TO_BASE64"], 1, 1),
    (Function::FromBase64, &["FROM_BASE64"], 1, 1),
    (Function::Date, &["DATE"], 1, 1),
    (Function::Time, &["TIME"], 1, 1),
    (Function::Year, &["YEAR"], 1, 1),
    (Function::Quarter, &["QUARTER"], 1, 1),
    (Function::Month, &["MONTH"], 1, 1),
    (Function::Week, &["WEEK"], 1, 2),
    (Function::DayOfMonth, &["DAYOFMONTH", "DAY"], 1, 1),
    (Function::DayOfWeek, &["DAYOFWEEK"], 1, 1),
    (Function::DayOfYear, &["DAYOFYEAR"], 1, 1),
    (Function::Weekday, &["WEEKDAY"], 1, 1),
    (Function::DayName, &["DAYNAME"], 1, 2),
    (Function::MonthName, &["MONTHNAME"], 1, 2),
    (Function::Hour, &["HOUR"], 1, 1),
    (Function::Minute, &["MINUTE"], 1, 1),
    (Function::Second, &["SECOND"], 1, 1),
    (Function::Microsecond, &["MICROSECOND"], 1, 1),
    (Function::DateDiff, &["DATEDIFF"], 2, 2),
    (Function::TimeDiff, &["TIMEDIFF"], 2, 2),
    (Function::ToDays, &["TO_DAYS"], 1, 1),
    (Function::FromDays, &["FROM_DAYS"], 1, 1),
    (Function::LastDay, &["LAST_DAY"], 1, 1),
    (Function::MakeDate, &["MAKEDATE"], 2, 2),
    (Function::MakeTime, &["MAKETIME"], 3, 3),
    (Function::DateFormat, &["DATE_FORMAT"], 2, 3),
    (Function::TimeFormat, &["TIME_FORMAT"], 2, 2),
    (Function::StrToDate, &["STR_TO_DATE"], 2, 2),
    (Function::UnixTimestamp, &["UNIX_TIMESTAMP"], 1, 1),
    (Function::FromUnixtime, &["FROM_UNIXTIME"], 1, 3),
    (Function::SecToTime, &["SEC_TO_TIME"], 1, 1),
    (Function::TimeToSec, &["TIME_TO_SEC"], 1, 1),
    (Function::AddTime, &["ADDTIME"], 2, 2),
    (Function::SubTime, &["SUBTIME"], 2, 2),
    (Function::TimestampDiff, &["TIMESTAMPDIFF"], 3, 3),
    (Function::Extract, &["EXTRACT"], 2, 3),
    (Function::InetAton, &["INET_ATON"], 1, 1),
    (Function::InetNtoa, &["INET_NTOA"], 1, 1),
    (Function::RegexpLike, &["REGEXP_LIKE"], 2, 3),
    (Function::RegexpReplace, &["REGEXP_REPLACE"], 3, 3),
    (Function::RegexpSubstr, &["REGEXP_SUBSTR"], 2, 2),
    (Function::RegexpInstr, &["REGEXP_INSTR"], 2, 2),
    (Function::BitCount, &["BIT_COUNT"], 1, 1),
    (Function::MakeSet, &["MAKE_SET"], 2, MANY),
    (Function::ExportSet, &["EXPORT_SET"], 3, 5),
    (Function::YearWeek, &["YEARWEEK"], 1, 2),
    (Function::WeekOfYear, &["WEEKOFYEAR"], 1, 1),
    (Function::PeriodAdd, &["PERIOD_ADD"], 2, 2),
    (Function::PeriodDiff, &["PERIOD_DIFF"], 2, 2),
    (Function::Timestamp, &["TIMESTAMP"], 1, 2),
    (Function::ToSeconds, &["TO_SECONDS"], 1, 1),
    (Function::ConvertTz, &["CONVERT_TZ"], 3, 3),
    (Function::UtcToLocal, &["utc_to_local"], 1, 1),
    (Function::LocalToUtc, &["local_to_utc"], 1, 1),
    (Function::Inet6Aton, &["INET6_ATON"], 1, 1),
    (Function::Inet6Ntoa, &["INET6_NTOA"], 1, 1),
    (Function::IsIpv4, &["IS_IPV4"], 1, 1),
    (Function::IsIpv6, &["IS_IPV6"], 1, 1),
    (Function::UuidToBin, &["UUID_TO_BIN"], 1, 2),
    (Function::BinToUuid, &["BIN_TO_UUID"], 1, 2),
    (Function::IsUuid, &["IS_UUID"], 1, 1),
    (Function::Soundex, &["SOUNDEX"], 1, 1),
    (Function::RowKey, &["row_key"], 1, MANY),
    (Function::DeclaredText, &["declared_text"], 2, 2),
    (Function::Panic, &["SKARV_PANIC"], 1, 1),
    (Function::Divide, &["divide"], 3, 3),
    (Function::BitBytes, &["bit_bytes"], 2, 2),
    (Function::FullYear, &["full_year"], 1, 1),
    (Function::JsonArray, &["JSON_ARRAY"], 0, MANY),
    (Function::JsonObject, &["JSON_OBJECT"], 0, MANY),
    (Function::JsonScalar, &["json_scalar"], 2, 2),
    (Function::JsonQuote, &["JSON_QUOTE"], 1, 1),
    (Function::JsonUnquote, &["JSON_UNQUOTE"], 1, 1),
    (Function::JsonExtract, &["JSON_EXTRACT"], 2, MANY),
    (Function::JsonContains, &["JSON_CONTAINS"], 2, 3),
    (Function::JsonContainsPath, &["JSON_CONTAINS_PATH"], 3, MANY),
    (Function::JsonKeys, &["JSON_KEYS"], 1, 2),
    (Function::JsonSearch, &["JSON_SEARCH"], 3, MANY),
    (Function::JsonOverlaps, &["JSON_OVERLAPS"], 2, 2),
    (Function::MemberOf, &["member of"], 2, 2),
    (Function::JsonArrayAppend, &["JSON_ARRAY_APPEND"], 3, MANY),
    (Function::JsonArrayInsert, &["JSON_ARRAY_INSERT"], 3, MANY),
    (Function::JsonInsert, &["JSON_INSERT"], 3, MANY),
    (Function::JsonReplace, &["JSON_REPLACE"], 3, MANY),
    (Function::JsonSet, &["JSON_SET"], 3, MANY),
    (Function::JsonRemove, &["JSON_REMOVE"], 2, MANY),
    (Function::JsonMergePatch, &["JSON_MERGE_PATCH"], 2, MANY),
    (Function::JsonMergePreserve, &["JSON_MERGE_PRESERVE", "JSON_MERGE"], 2, MANY),
    (Function::JsonDepth, &["JSON_DEPTH"], 1, 1),
    (Function::JsonLength, &["JSON_LENGTH"], 1, 2),
    (Function::JsonType, &["JSON_TYPE"], 1, 1),
    (Function::JsonValid, &["JSON_VALID"], 1, 1),
    (Function::JsonPretty, &["JSON_PRETTY"], 1, 1),
    (Function::JsonStorageSize, &["JSON_STORAGE_SIZE"], 1, 1),
    (Function::JsonStorageFree, &["JSON_STORAGE_FREE"], 1, 1),
    (Function::JsonValue, &["json_value"], 7, 7),
];

impl Function {
    /// The function with this name in SQL, in any case; synonyms included.
    pub fn by_name(name: &str) -> Option<Function> {
        let name = name.to_ascii_uppercase();
        TABLE
            .iter()
            .find(|(_, names, _, _)| names.contains(&name.as_str()))
            .map(|(function, ..)| *function)
    }
    /// The name MySQL shows.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1[0]
    }
    /// The fewest and the most arguments, with those that only the binder adds.
    pub fn arity(self) -> (usize, usize) {
        let (_, _, least, most) = TABLE[self as usize];
        (least, most)
    }
    /// The fewest and the most arguments of a call in SQL.
    pub fn sql_arity(self) -> (usize, usize) {
        let (least, most) = self.arity();
        match self {
            // The language of lc_time_names is bound behind them.
            Function::DayName | Function::MonthName => (1, 1),
            Function::DateFormat | Function::FromUnixtime => (least, 2),
            // What is trimmed off is written in another way: TRIM(LEADING 'x' FROM s).
            Function::Trim | Function::Ltrim | Function::Rtrim => (1, 1),
            _ => (least, most),
        }
    }
    /// Whether it reads its arguments as text, those that are times among them.
    pub fn reads_text(self) -> bool {
        use Function::*;
        matches!(
            self,
            Concat
                | ConcatWs
                | Length
                | CharLength
                | BitLength
                | Lower
                | Upper
                | Left
                | Right
                | Substring
                | SubstringIndex
                | Locate
                | Instr
                | Replace
                | Repeat
                | Reverse
                | Lpad
                | Rpad
                | Ltrim
                | Rtrim
                | Trim
                | Ascii
                | Ord
                | Strcmp
                | Insert
                | Quote
                | Crc32
                | Md5
                | Sha1
                | Sha2
                | ToBase64
                | RegexpLike
                | RegexpReplace
                | RegexpSubstr
                | RegexpInstr
        )
    }
    /// Whether it reads a document among its arguments as a document, and not as the document's text.
    pub fn takes_documents(self) -> bool {
        use Function::*;
        let reads_other_texts = matches!(
            self,
            Hex | Unhex
                | FromBase64
                | Conv
                | Bin
                | Oct
                | Char
                | Greatest
                | Least
                | Elt
                | Field
                | FindInSet
                | MakeSet
                | ExportSet
                | Soundex
                | Format
                | InetAton
                | Inet6Aton
                | Inet6Ntoa
                | IsIpv4
                | IsIpv6
                | UuidToBin
                | BinToUuid
                | IsUuid
        );
        !self.reads_text() && !reads_other_texts
    }
    /// Whether these arguments are a call: JSON_OBJECT takes pairs, and functions that change a document pairs behind it.
    pub fn takes(self, count: usize) -> bool {
        use Function::*;
        let (least, most) = self.arity();
        let is_paired = match self {
            JsonObject => count.is_multiple_of(2),
            JsonArrayAppend | JsonArrayInsert | JsonInsert | JsonReplace | JsonSet => {
                !count.is_multiple_of(2)
            }
            _ => true,
        };
        (least..=most).contains(&count) && is_paired
    }
    /// All of them.
    pub fn all() -> impl Iterator<Item = Function> {
        TABLE.iter().map(|(function, ..)| *function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    /// The table is in the enum's order, which is the order of the wire's tags.
    #[test]
    fn table_follows_the_enum() {
        for (position, (function, names, least, most)) in TABLE.iter().enumerate() {
            assert_eq!(*function as usize, position);
            assert_eq!(function.to_bytes(), vec![position as u8]);
            assert!(least <= most);
            if names[0].starts_with(char::is_uppercase) {
                for name in *names {
                    assert_eq!(Function::by_name(&name.to_lowercase()), Some(*function));
                }
            } else {
                assert_eq!(Function::by_name(names[0]), None);
            }
        }
        assert!(Function::from_bytes(&[TABLE.len() as u8]).is_err());
    }
}
