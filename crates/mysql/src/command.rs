//! Commands of a client that has logged in, and the parameters of prepared statements.
//!
//! Commands borrow from their packet. Parameters come as [`Parameter`]s, which know the wire's types only; the connection
//! turns them into values.

use crate::capabilities as cap;
use crate::limits::PARAMETER_COUNT_MAX;
use crate::packet::{Malformed, Reader};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    Quit,
    InitDb {
        database: &'a [u8],
    },
    Query {
        text: &'a [u8],
    },
    FieldList {
        table: &'a [u8],
        pattern: &'a [u8],
    },
    Statistics,
    ProcessInfo,
    ProcessKill {
        connection_id: u32,
    },
    Debug,
    Ping,
    /// The body is read by `handshake::parse_change_user`.
    ChangeUser {
        body: &'a [u8],
    },
    StatementPrepare {
        text: &'a [u8],
    },
    /// The body is read by [`parse_execute`], which needs the statement.
    StatementExecute {
        statement_id: u32,
        body: &'a [u8],
    },
    StatementSendLongData {
        statement_id: u32,
        parameter_index: u16,
        data: &'a [u8],
    },
    StatementClose {
        statement_id: u32,
    },
    StatementReset {
        statement_id: u32,
    },
    StatementFetch {
        statement_id: u32,
    },
    SetOption {
        option: u16,
    },
    ResetConnection,
    /// Commands this server does not have: replication, deprecated ones, and numbers nobody gave out.
    Unknown {
        number: u8,
    },
}

pub fn parse(payload: &[u8], capabilities: u32) -> Result<Command<'_>, Malformed> {
    let mut reader = Reader::new(payload);
    if reader.is_empty() {
        return Ok(Command::Unknown { number: 0 });
    }
    let command = match reader.u8()? {
        0x01 => Command::Quit,
        0x02 => Command::InitDb { database: reader.rest() },
        0x03 => {
            if capabilities & cap::QUERY_ATTRIBUTES != 0 {
                skip_query_attributes(&mut reader)?;
            }
            Command::Query { text: reader.rest() }
        }
        0x04 => {
            let table = reader.nul_bytes()?;
            Command::FieldList { table, pattern: reader.rest() }
        }
        0x09 => Command::Statistics,
        0x0a => Command::ProcessInfo,
        0x0c => Command::ProcessKill { connection_id: reader.u32()? },
        0x0d => Command::Debug,
        0x0e => Command::Ping,
        0x11 => Command::ChangeUser { body: reader.rest() },
        0x16 => Command::StatementPrepare { text: reader.rest() },
        0x17 => Command::StatementExecute { statement_id: reader.u32()?, body: reader.rest() },
        0x18 => {
            let (statement_id, parameter_index) = (reader.u32()?, reader.u16()?);
            Command::StatementSendLongData { statement_id, parameter_index, data: reader.rest() }
        }
        0x19 => Command::StatementClose { statement_id: reader.u32()? },
        0x1a => Command::StatementReset { statement_id: reader.u32()? },
        0x1b => Command::SetOption { option: reader.u16()? },
        0x1c => Command::StatementFetch { statement_id: reader.u32()? },
        0x1f => Command::ResetConnection,
        number => Command::Unknown { number },
    };
    Ok(command)
}

/// Query attributes are named values beside the text. Nothing here reads them, but they must be got past.
fn skip_query_attributes(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    let count = parameter_count(reader)?;
    let _set_count = reader.lenenc()?;
    if count == 0 {
        return Ok(());
    }
    let nulls = reader.take(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return Err(Malformed);
    }
    let types = parse_types(reader, count, true)?;
    for (index, parameter_type) in types.iter().enumerate() {
        if !bit_is_set(nulls, index) {
            parse_parameter(reader, *parameter_type)?;
        }
    }
    Ok(())
}

fn parameter_count(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    let count = usize::try_from(reader.lenenc()?).map_err(|_| Malformed)?;
    if count > PARAMETER_COUNT_MAX { Err(Malformed) } else { Ok(count) }
}

fn bit_is_set(bits: &[u8], index: usize) -> bool {
    bits[index / 8] & 1 << (index % 8) != 0
}

/// A parameter's type as the client binds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    pub code: u8,
    pub unsigned: bool,
}

fn parse_types(
    reader: &mut Reader<'_>,
    count: usize,
    named: bool,
) -> Result<Vec<ParameterType>, Malformed> {
    // A type takes two bytes at least: no more is allocated than came.
    if reader.remaining() < 2 * count {
        return Err(Malformed);
    }
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        let [code, flags] = reader.array()?;
        if named {
            reader.lenenc_bytes()?;
        }
        types.push(ParameterType { code, unsigned: flags & 0x80 != 0 });
    }
    Ok(types)
}

/// A parameter's value as it came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parameter<'a> {
    Null,
    /// It was sent before, by COM_STMT_SEND_LONG_DATA; `text` says whether its type is one of characters.
    Long {
        text: bool,
    },
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    /// Digits in ASCII.
    Decimal(&'a [u8]),
    /// Characters, or what a driver sends as such: it may be anything.
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    Date {
        year: u16,
        month: u8,
        day: u8,
    },
    DateTime(DateTimeParts),
    Time {
        negative: bool,
        days: u32,
        hour: u8,
        minute: u8,
        second: u8,
        microsecond: u32,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateTimeParts {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// Why a COM_STMT_EXECUTE cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecuteError {
    Malformed,
    /// No types were ever bound, or one that does not exist: error 1210.
    WrongArguments,
}

impl From<Malformed> for ExecuteError {
    fn from(_: Malformed) -> ExecuteError {
        ExecuteError::Malformed
    }
}

const PARAMETER_COUNT_AVAILABLE: u8 = 8;

/// Reads the body of COM_STMT_EXECUTE behind the statement's id, for a statement of `count` parameters. `types` are those
/// bound last time; they change when the packet binds new ones. `is_long(i)` says whether parameter i was sent ahead.
/// Query attributes behind the parameters are read past. Cursors are not opened, whatever the flags ask: a server
/// may always answer with the whole result.
pub fn parse_execute<'a>(
    body: &'a [u8],
    count: usize,
    capabilities: u32,
    types: &mut Vec<ParameterType>,
    is_long: impl Fn(usize) -> bool,
) -> Result<Vec<Parameter<'a>>, ExecuteError> {
    let mut reader = Reader::new(body);
    let flags = reader.u8()?;
    let _iteration_count = reader.u32()?;
    let with_attributes = capabilities & cap::QUERY_ATTRIBUTES != 0;
    // With query attributes negotiated the count is always sent where there is anything to count, and types have names:
    // the flag only tells of attributes to a statement without parameters.
    let counted = with_attributes && (count > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0);
    let count_sent = if counted { parameter_count(&mut reader)? } else { count };
    if count_sent < count {
        return Err(ExecuteError::WrongArguments);
    }
    if count_sent == 0 {
        return Ok(Vec::new());
    }
    let nulls = reader.take(count_sent.div_ceil(8))?;
    if reader.u8()? == 1 {
        *types = parse_types(&mut reader, count_sent, with_attributes)?;
    }
    if types.len() != count_sent {
        // NULL has no bytes to read, so MySQL takes it before any type was bound; Connector/J sends a first NULL like this.
        if (0..count_sent).all(|index| bit_is_set(nulls, index)) {
            return Ok(vec![Parameter::Null; count]);
        }
        return Err(ExecuteError::WrongArguments);
    }
    let mut parameters = Vec::with_capacity(count);
    for (index, parameter_type) in types.iter().enumerate() {
        let parameter = if index < count && is_long(index) {
            Parameter::Long { text: is_text(parameter_type.code) }
        } else if bit_is_set(nulls, index) {
            Parameter::Null
        } else {
            parse_parameter(&mut reader, *parameter_type)?
        };
        if index < count {
            parameters.push(parameter);
        }
    }
    Ok(parameters)
}

/// Type codes of the wire.
pub mod code {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const BOOL: u8 = 244;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

fn is_text(type_code: u8) -> bool {
    matches!(
        type_code,
        code::VARCHAR | code::VAR_STRING | code::STRING | code::JSON | code::ENUM | code::SET
    )
}

fn parse_parameter<'a>(
    reader: &mut Reader<'a>,
    parameter_type: ParameterType,
) -> Result<Parameter<'a>, ExecuteError> {
    let unsigned = parameter_type.unsigned;
    let parameter = match parameter_type.code {
        code::NULL => Parameter::Null,
        code::TINY | code::BOOL => {
            let raw = reader.u8()?;
            integer(u64::from(raw), i64::from(raw as i8), unsigned)
        }
        code::SHORT | code::YEAR => {
            let raw = reader.u16()?;
            integer(u64::from(raw), i64::from(raw as i16), unsigned)
        }
        code::LONG | code::INT24 => {
            let raw = reader.u32()?;
            integer(u64::from(raw), i64::from(raw as i32), unsigned)
        }
        code::LONGLONG => {
            let raw = reader.u64()?;
            integer(raw, raw as i64, unsigned)
        }
        code::FLOAT => Parameter::Float(f32::from_le_bytes(reader.array()?)),
        code::DOUBLE => Parameter::Double(f64::from_le_bytes(reader.array()?)),
        code::DECIMAL | code::NEWDECIMAL => Parameter::Decimal(reader.lenenc_bytes()?),
        code::DATE | code::NEWDATE => {
            let parts = parse_datetime(reader)?;
            Parameter::Date { year: parts.year, month: parts.month, day: parts.day }
        }
        code::DATETIME | code::TIMESTAMP => Parameter::DateTime(parse_datetime(reader)?),
        code::TIME => parse_time(reader)?,
        type_code if is_text(type_code) => Parameter::Text(reader.lenenc_bytes()?),
        code::TINY_BLOB
        | code::MEDIUM_BLOB
        | code::LONG_BLOB
        | code::BLOB
        | code::BIT
        | code::GEOMETRY => Parameter::Bytes(reader.lenenc_bytes()?),
        _ => return Err(ExecuteError::WrongArguments),
    };
    Ok(parameter)
}

impl From<ExecuteError> for Malformed {
    fn from(_: ExecuteError) -> Malformed {
        Malformed
    }
}

fn integer<'a>(raw: u64, signed: i64, unsigned: bool) -> Parameter<'a> {
    if unsigned { Parameter::UInt(raw) } else { Parameter::Int(signed) }
}

/// 0, 4, 7 or 11 bytes: nothing, the day, the second, the microsecond.
fn parse_datetime(reader: &mut Reader<'_>) -> Result<DateTimeParts, Malformed> {
    let length = reader.u8()?;
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    let mut parts = DateTimeParts::default();
    if length >= 4 {
        parts.year = reader.u16()?;
        [parts.month, parts.day] = reader.array()?;
    }
    if length >= 7 {
        [parts.hour, parts.minute, parts.second] = reader.array()?;
    }
    if length >= 11 {
        parts.microsecond = reader.u32()?;
    }
    Ok(parts)
}

/// 0, 8 or 12 bytes.
fn parse_time<'a>(reader: &mut Reader<'_>) -> Result<Parameter<'a>, Malformed> {
    let length = reader.u8()?;
    if !matches!(length, 0 | 8 | 12) {
        return Err(Malformed);
    }
    let (mut negative, mut days, mut microsecond) = (false, 0, 0);
    let [mut hour, mut minute, mut second] = [0; 3];
    if length >= 8 {
        negative = reader.u8()? != 0;
        days = reader.u32()?;
        [hour, minute, second] = reader.array()?;
    }
    if length >= 12 {
        microsecond = reader.u32()?;
    }
    Ok(Parameter::Time { negative, days, hour, minute, second, microsecond })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command from its bytes; a truncated one is malformed, an unknown one is named.
    #[test]
    fn commands_from_their_bytes() {
        let cases: [(&[u8], Command<'_>); 18] = [
            (b"\x01", Command::Quit),
            (b"\x02shop", Command::InitDb { database: b"shop" }),
            (b"\x03SELECT 1", Command::Query { text: b"SELECT 1" }),
            (b"\x04t\0%", Command::FieldList { table: b"t", pattern: b"%" }),
            (b"\x09", Command::Statistics),
            (b"\x0a", Command::ProcessInfo),
            (b"\x0c\x07\0\0\0", Command::ProcessKill { connection_id: 7 }),
            (b"\x0d", Command::Debug),
            (b"\x0e", Command::Ping),
            (b"\x11u\0", Command::ChangeUser { body: b"u\0" }),
            (b"\x16SELECT ?", Command::StatementPrepare { text: b"SELECT ?" }),
            (b"\x17\x02\0\0\0xy", Command::StatementExecute { statement_id: 2, body: b"xy" }),
            (
                b"\x18\x02\0\0\0\x01\0data",
                Command::StatementSendLongData {
                    statement_id: 2,
                    parameter_index: 1,
                    data: b"data",
                },
            ),
            (b"\x19\x02\0\0\0", Command::StatementClose { statement_id: 2 }),
            (b"\x1a\x02\0\0\0", Command::StatementReset { statement_id: 2 }),
            (b"\x1b\x01\0", Command::SetOption { option: 1 }),
            (b"\x1c\x02\0\0\0\x05\0\0\0", Command::StatementFetch { statement_id: 2 }),
            (b"\x1f", Command::ResetConnection),
        ];
        for (bytes, command) in cases {
            assert_eq!(parse(bytes, 0), Ok(command));
        }
        for bytes in
            [&b"\x0c\x07"[..], b"\x17\x02", b"\x18\x02\0\0\0", b"\x19", b"\x1b\x01", b"\x04t"]
        {
            assert_eq!(parse(bytes, 0), Err(Malformed));
        }
        for number in [0, 5, 6, 7, 8, 11, 15, 16, 18, 19, 20, 21, 29, 30, 32, 255] {
            assert_eq!(parse(&[number, 1, 2], 0), Ok(Command::Unknown { number }));
        }
        assert_eq!(parse(&[], 0), Ok(Command::Unknown { number: 0 }));
    }

    /// Query attributes are read past, also with values and a NULL; a count that lies is malformed.
    #[test]
    fn query_attributes_are_skipped() {
        let with = |bytes: &[u8]| parse(bytes, cap::QUERY_ATTRIBUTES).map(|c| format!("{c:?}"));
        let expected = format!("{:?}", Command::Query { text: b"DO 1" });
        assert_eq!(with(b"\x03\0\x01DO 1"), Ok(expected.clone()));
        let two = b"\x03\x02\x01\x02\x01\xfe\0\x01a\x08\0\x01b\x03xyzDO 1";
        assert_eq!(with(two), Ok(expected));
        for cut in 1..two.len() - 4 {
            assert_eq!(with(&two[..cut]), Err(Malformed), "cut at {cut}");
        }
        assert_eq!(with(b"\x03\xfd\xff\xff\xff\x01"), Err(Malformed));
    }

    fn execute<'a>(
        body: &'a [u8],
        count: usize,
        types: &mut Vec<ParameterType>,
    ) -> Result<Vec<Parameter<'a>>, ExecuteError> {
        parse_execute(body, count, 0, types, |_| false)
    }

    /// Every type of parameter from its bytes; types are remembered for the next execution.
    #[test]
    fn parameters_of_every_type() {
        let datetime = |year, hour, microsecond| DateTimeParts {
            year,
            month: 2,
            day: 3,
            hour,
            minute: if hour > 0 { 5 } else { 0 },
            second: if hour > 0 { 6 } else { 0 },
            microsecond,
        };
        let cases: [(u8, u8, &[u8], Parameter<'_>); 24] = [
            (code::TINY, 0, b"\xff", Parameter::Int(-1)),
            (code::TINY, 0x80, b"\xff", Parameter::UInt(255)),
            (code::BOOL, 0, b"\x01", Parameter::Int(1)),
            (code::SHORT, 0, b"\x00\x80", Parameter::Int(-32768)),
            (code::YEAR, 0x80, b"\xe8\x07", Parameter::UInt(2024)),
            (code::LONG, 0, b"\xfe\xff\xff\xff", Parameter::Int(-2)),
            (code::INT24, 0x80, b"\xff\xff\xff\x00", Parameter::UInt(0xff_ffff)),
            (code::LONGLONG, 0, &[0xff; 8], Parameter::Int(-1)),
            (code::LONGLONG, 0x80, &[0xff; 8], Parameter::UInt(u64::MAX)),
            (code::FLOAT, 0, b"\0\0\xc0\x3f", Parameter::Float(1.5)),
            (code::DOUBLE, 0, b"\0\0\0\0\0\0\xf8\x3f", Parameter::Double(1.5)),
            (code::NEWDECIMAL, 0, b"\x04-1.5", Parameter::Decimal(b"-1.5")),
            (code::NULL, 0, b"", Parameter::Null),
            (
                code::DATE,
                0,
                b"\x04\xe8\x07\x02\x03",
                Parameter::Date { year: 2024, month: 2, day: 3 },
            ),
            (code::DATETIME, 0, b"\0", Parameter::DateTime(DateTimeParts::default())),
            (code::DATETIME, 0, b"\x04\xe8\x07\x02\x03", Parameter::DateTime(datetime(2024, 0, 0))),
            (
                code::TIMESTAMP,
                0,
                b"\x07\xe8\x07\x02\x03\x04\x05\x06",
                Parameter::DateTime(datetime(2024, 4, 0)),
            ),
            (
                code::DATETIME,
                0,
                b"\x0b\xe8\x07\x02\x03\x04\x05\x06\x01\0\0\0",
                Parameter::DateTime(datetime(2024, 4, 1)),
            ),
            (
                code::TIME,
                0,
                b"\0",
                Parameter::Time {
                    negative: false,
                    days: 0,
                    hour: 0,
                    minute: 0,
                    second: 0,
                    microsecond: 0,
                },
            ),
            (
                code::TIME,
                0,
                b"\x08\x01\x02\0\0\0\x03\x04\x05",
                Parameter::Time {
                    negative: true,
                    days: 2,
                    hour: 3,
                    minute: 4,
                    second: 5,
                    microsecond: 0,
                },
            ),
            (
                code::TIME,
                0,
                b"\x0c\0\0\0\0\0\x03\x04\x05\x07\0\0\0",
                Parameter::Time {
                    negative: false,
                    days: 0,
                    hour: 3,
                    minute: 4,
                    second: 5,
                    microsecond: 7,
                },
            ),
            (code::STRING, 0, b"\x02ab", Parameter::Text(b"ab")),
            (code::BLOB, 0, b"\x02\xff\0", Parameter::Bytes(b"\xff\0")),
            (code::JSON, 0, b"\x02{}", Parameter::Text(b"{}")),
        ];
        for (type_code, flags, value, expected) in cases {
            let mut body = b"\0\x01\0\0\0\0\x01".to_vec();
            body.extend_from_slice(&[type_code, flags]);
            body.extend_from_slice(value);
            let mut types = Vec::new();
            assert_eq!(execute(&body, 1, &mut types), Ok(vec![expected]));
            for cut in 0..body.len() {
                assert!(execute(&body[..cut], 1, &mut Vec::new()).is_err(), "{type_code} {cut}");
            }
            let again = [b"\0\x01\0\0\0\0\0", value].concat();
            assert_eq!(execute(&again, 1, &mut types), Ok(vec![expected]));
            let null = b"\0\x01\0\0\0\x01\0";
            assert_eq!(execute(null, 1, &mut types), Ok(vec![Parameter::Null]));
        }
    }

    #[test]
    fn wrong_executions() {
        let unbound = b"\0\x01\0\0\0\0\0\x01";
        assert_eq!(execute(unbound, 1, &mut Vec::new()), Err(ExecuteError::WrongArguments));
        let odd_type = b"\0\x01\0\0\0\0\x01\x63\0\x01";
        assert_eq!(execute(odd_type, 1, &mut Vec::new()), Err(ExecuteError::WrongArguments));
        let odd_length = b"\0\x01\0\0\0\0\x01\x0c\0\x05\x01\x02\x03\x04\x05";
        assert_eq!(execute(odd_length, 1, &mut Vec::new()), Err(ExecuteError::Malformed));
        assert_eq!(execute(b"\0\x01\0\0\0", 0, &mut Vec::new()), Ok(Vec::new()));
        let too_few = b"\x08\x01\0\0\0\x01\0\x01\x01\0\0\x05";
        let result = parse_execute(too_few, 2, cap::QUERY_ATTRIBUTES, &mut Vec::new(), |_| false);
        assert_eq!(result, Err(ExecuteError::WrongArguments));
    }

    /// With query attributes negotiated the count is sent, types have names, and what goes beyond the statement's
    /// parameters is read past. A long parameter takes no bytes.
    #[test]
    fn attributes_and_long_data_in_execute() {
        let body = b"\x08\x01\0\0\0\x02\0\x01\x01\0\0\xfe\0\x01n\x07\x02ab";
        let mut types = Vec::new();
        let one = parse_execute(body, 1, cap::QUERY_ATTRIBUTES, &mut types, |_| false);
        assert_eq!(one, Ok(vec![Parameter::Int(7)]));
        // Connector/Python leaves the flag out when there are no attributes, and sends count and names all the same.
        let body = b"\0\x01\0\0\0\x01\0\x01\x01\0\0\x07";
        let one = parse_execute(body, 1, cap::QUERY_ATTRIBUTES, &mut types, |_| false);
        assert_eq!(one, Ok(vec![Parameter::Int(7)]));
        let attributes_only = b"\x08\x01\0\0\0\x01\0\x01\x01\0\x01n\x07";
        let none = parse_execute(attributes_only, 0, cap::QUERY_ATTRIBUTES, &mut types, |_| false);
        assert_eq!(none, Ok(Vec::new()));
        let body = b"\0\x01\0\0\0\0\x01\xfc\0\x01\0\x09";
        let long = parse_execute(body, 2, 0, &mut types, |index| index == 0);
        assert_eq!(long, Ok(vec![Parameter::Long { text: false }, Parameter::Int(9)]));
    }
}
