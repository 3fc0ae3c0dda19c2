//! Results as packets: the [`sql::ResultSink`] of a connection.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use sql::{ColumnInfo, FilePiece, OkInfo, PlanColumns, ResultSink, SqlError, StatusFlags};
use types::{Charset, Collation, ColumnType, LabelKind, ValueRef};

use crate::capabilities::{self as cap, status};
use crate::command::code;
use crate::connection::Shared;
use crate::file::{Answer, OpenFile, read_error};
use crate::packet::{self, put_lenenc};
use crate::pipe::{Pipe, drained};
use crate::resultset::{self, ColumnDefinition, Encoding, column_flag};
use crate::sqlstate;

/// Begins the packet that requests a file; a row would have it for NULL, and no row is expected.
const FILE_REQUEST: u8 = 0xfb;

pub struct Sink {
    pipe: Rc<RefCell<Pipe>>,
    shared: Rc<Shared>,
    deprecate_eof: bool,
    /// CLIENT_LOCAL_FILES.
    sends_files: bool,
    /// The file that the client is sending.
    file: Option<OpenFile>,
    /// Rows in the binary protocol: the statement is a prepared one.
    pub binary: bool,
    /// Status of the session when the statement began, for the packets before its end.
    pub flags: StatusFlags,
    /// How the columns of the current result set are written.
    encodings: Vec<Encoding>,
    scratch: String,
    /// The connection is to end: an error asked for that, or a statement has failed behind its answer.
    pub fatal: bool,
    /// The statement's last answer was sent.
    is_answered: bool,
}

impl Sink {
    pub fn new(shared: Rc<Shared>, capabilities: u32) -> Sink {
        Sink {
            pipe: shared.pipe.clone(),
            shared,
            deprecate_eof: capabilities & cap::DEPRECATE_EOF != 0,
            sends_files: capabilities & cap::LOCAL_FILES != 0,
            file: None,
            binary: false,
            flags: StatusFlags::default(),
            encodings: Vec::new(),
            scratch: String::new(),
            fatal: false,
            is_answered: false,
        }
    }
    /// A command begins: its answer is to come.
    pub fn begin(&mut self, flags: StatusFlags) {
        self.binary = false;
        self.flags = flags;
        self.is_answered = false;
    }
    /// Reads what the client still sends of its file, and gives the answer that the statement has come to meanwhile.
    pub async fn finish_file(&mut self) {
        let Some(mut file) = self.file.take() else { return };
        let end = loop {
            match file.read(&self.shared, true).await {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(end) => break Some(end),
            }
        };
        self.fatal |= end.is_some();
        match file.answer {
            Some(Answer::Ok(info)) => self.ok(&info),
            Some(Answer::Error { code, message }) => self.put_error(code, &message),
            None => {}
        }
    }
    /// A plain OK: nothing affected, nothing to say.
    pub fn put_plain_ok(&mut self, flags: StatusFlags) {
        self.ok(&OkInfo { flags, ..OkInfo::default() });
    }
    /// The end of something that is not a statement's result set, as EOF or as the OK that replaces it.
    pub fn put_plain_end(&mut self, flags: StatusFlags) {
        self.end_of_rows(&OkInfo { flags, ..OkInfo::default() });
    }
    /// The EOF behind column definitions, for clients that still want it.
    fn put_end_of_columns(&self, pipe: &mut Pipe) {
        if !self.deprecate_eof {
            pipe.put_packet(|out| resultset::put_eof(out, status_bits(self.flags, false), 0));
        }
    }
    /// What COM_STMT_PREPARE answers.
    pub fn put_prepared(&self, prepared: &sql::PreparedInfo) {
        let mut pipe = self.pipe.borrow_mut();
        let count = |columns: &[ColumnInfo]| columns.len().min(usize::from(u16::MAX)) as u16;
        pipe.put_packet(|out| {
            out.push(0);
            out.extend_from_slice(&prepared.id.to_le_bytes());
            out.extend_from_slice(&count(&prepared.columns).to_le_bytes());
            out.extend_from_slice(&count(&prepared.params).to_le_bytes());
            out.push(0);
            out.extend_from_slice(&prepared.warnings.to_le_bytes());
        });
        for columns in [&prepared.params, &prepared.columns] {
            for column in columns.iter().take(usize::from(u16::MAX)) {
                pipe.put_packet(|out| {
                    resultset::put_column(out, &self.definition_of(column), false)
                });
            }
            if !columns.is_empty() {
                self.put_end_of_columns(&mut pipe);
            }
        }
    }
    /// What COM_FIELD_LIST answers.
    pub fn put_field_list(&mut self, columns: &[ColumnInfo], flags: StatusFlags) {
        for column in columns {
            let definition = self.definition_of(column);
            self.pipe.borrow_mut().put_packet(|out| resultset::put_column(out, &definition, true));
        }
        self.put_plain_end(flags);
    }
    fn begin_rows(&mut self, columns: &[ColumnInfo], packets: &[u8]) {
        let mut pipe = self.pipe.borrow_mut();
        pipe.put_packets(packets);
        self.put_end_of_columns(&mut pipe);
        drop(pipe);
        self.encodings.clear();
        let results = self.flags.results;
        self.encodings.extend(
            columns.iter().map(|c| Encoding::for_client(&c.column_type, c.display, results)),
        );
    }
    pub fn put_error(&self, code: u16, message: &str) {
        let charset = self.charset();
        let sqlstate = Some(sqlstate::of(code));
        self.pipe.borrow_mut().put_packet(|out| {
            resultset::put_error_in(out, code, sqlstate, message, charset);
        });
    }
    /// What names and messages are written in.
    fn charset(&self) -> Charset {
        self.flags.results.map(Collation::charset).unwrap_or_default()
    }
    fn definition_of<'c>(&self, column: &'c ColumnInfo) -> ColumnDefinition<'c> {
        definition_of(column, self.flags.results)
    }
}

/// An ERR packet with its SQLSTATE.
pub fn put_error(pipe: &Rc<RefCell<Pipe>>, code: u16, message: &str) {
    let sqlstate = Some(sqlstate::of(code));
    pipe.borrow_mut().put_packet(|out| resultset::put_error(out, code, sqlstate, message));
}

impl ResultSink for Sink {
    fn columns(&mut self, columns: &[ColumnInfo]) {
        self.begin_rows(columns, &column_packets(columns, self.flags.results));
    }
    fn plan_columns(&mut self, columns: &PlanColumns) {
        // Sessions share plans, and those that do nearly all read the same.
        let results = self.flags.results;
        let encoded = results
            .and_then(|own| columns.encoded(own.id(), |columns| column_packets(columns, results)));
        match encoded {
            Some(encoded) => self.begin_rows(columns, encoded),
            None => self.columns(columns),
        }
    }
    fn row(&mut self, values: &[ValueRef<'_>]) {
        let put = if self.binary { resultset::put_binary_row } else { resultset::put_text_row };
        let (encodings, scratch) = (&self.encodings, &mut self.scratch);
        self.pipe.borrow_mut().put_packet(|out| put(out, values, encodings, scratch));
    }
    fn end_of_rows(&mut self, info: &OkInfo) {
        let bits = status_bits(info.flags, info.more_results);
        let deprecate_eof = self.deprecate_eof;
        self.pipe.borrow_mut().put_packet(|out| {
            if deprecate_eof {
                resultset::put_ok(out, 0xfe, 0, 0, bits, info.warnings, b"");
            } else {
                resultset::put_eof(out, bits, info.warnings);
            }
        });
        self.flags = info.flags;
        self.is_answered = !info.more_results;
    }
    fn ok(&mut self, info: &OkInfo) {
        if let Some(file) = &mut self.file {
            file.answer = Some(Answer::Ok(info.clone()));
            self.is_answered = !info.more_results;
            return;
        }
        let bits = status_bits(info.flags, info.more_results);
        let charset = info.flags.results.map(Collation::charset).unwrap_or_default();
        let text = charset.encode(&info.info);
        self.pipe.borrow_mut().put_packet(|out| {
            resultset::put_ok(
                out,
                0,
                info.affected_rows,
                info.last_insert_id,
                bits,
                info.warnings,
                &text,
            );
        });
        self.flags = info.flags;
        self.is_answered = !info.more_results;
    }
    fn error(&mut self, error: &SqlError) {
        if self.is_answered {
            // The client would take a second answer for that of its next command.
            self.fatal = true;
            return;
        }
        self.fatal |= error.fatal;
        self.is_answered = true;
        match &mut self.file {
            Some(file) if !error.fatal => {
                let (code, message) = (error.code, error.message.clone());
                file.answer = Some(Answer::Error { code, message });
            }
            // The connection ends: nothing that the client still sends matters.
            _ => {
                self.file = None;
                self.put_error(error.code, &error.message);
            }
        }
    }
    fn is_full(&self) -> bool {
        self.pipe.borrow().is_full()
    }
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(drained(&self.pipe))
    }
    fn sends_files(&self) -> bool {
        self.sends_files && !self.binary
    }
    fn request_file(&mut self, name: &str) {
        let name = self.charset().encode(name);
        self.pipe.borrow_mut().put_packet(|out| {
            out.push(FILE_REQUEST);
            out.extend_from_slice(&name);
        });
        self.file = Some(OpenFile::default());
    }
    fn file_piece(&mut self) -> FilePiece<'_> {
        Box::pin(async {
            let Some(file) = &mut self.file else { return Ok(None) };
            let piece = file.read(&self.shared, false).await;
            if !matches!(piece, Ok(Some(_))) {
                self.file = None;
            }
            piece.map_err(read_error)
        })
    }
}

pub fn status_bits(flags: StatusFlags, more_results: bool) -> u16 {
    let bit = |condition: bool, bit: u16| if condition { bit } else { 0 };
    bit(flags.in_transaction, status::IN_TRANSACTION)
        | bit(flags.autocommit, status::AUTOCOMMIT)
        | bit(more_results, status::MORE_RESULTS)
        | bit(flags.no_backslash_escapes, status::NO_BACKSLASH_ESCAPES)
        | bit(flags.in_read_only_transaction, status::IN_READ_ONLY_TRANSACTION)
}

/// The packets that describe the columns of a result set to a client that reads `results`, without
/// EOF. The pipe numbers them.
fn column_packets(columns: &[ColumnInfo], results: Option<Collation>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |write: &dyn Fn(&mut Vec<u8>)| {
        let start = packet::begin(&mut out);
        write(&mut out);
        packet::finish(&mut out, start, &mut 0);
    };
    put(&|out| put_lenenc(out, columns.len() as u64));
    for column in columns {
        put(&|out| resultset::put_column(out, &definition_of(column, results), false));
    }
    out
}

/// A column as the wire describes it to a client that reads `results`: texts are of that collation,
/// and as long as their characters are in its character set. TEXT has as many characters as bytes
/// at most.
fn definition_of(column: &ColumnInfo, results: Option<Collation>) -> ColumnDefinition<'_> {
    let charset = results.map(Collation::charset).unwrap_or_default();
    let flags = &column.flags;
    let labels = column.column_type.labels();
    let has_labels = |kind: LabelKind| labels.is_some_and(|labels| labels.kind() == kind);
    let bit = |condition: bool, bit: u16| if condition { bit } else { 0 };
    let flags = bit(flags.not_null || !column.nullable, column_flag::NOT_NULL)
        | bit(flags.primary_key, column_flag::PRIMARY_KEY)
        | bit(flags.unique_key, column_flag::UNIQUE_KEY)
        | bit(flags.multiple_key, column_flag::MULTIPLE_KEY)
        | bit(flags.blob, column_flag::BLOB)
        // Clients read the value by this flag, so the type decides it.
        | bit(flags.unsigned || column.column_type.is_unsigned(), column_flag::UNSIGNED)
        | bit(flags.zerofill || column.column_type == ColumnType::Year, column_flag::ZEROFILL)
        | bit(has_labels(LabelKind::Enum), column_flag::ENUM)
        | bit(has_labels(LabelKind::Set), column_flag::SET)
        | bit(flags.binary, column_flag::BINARY)
        | bit(flags.auto_increment, column_flag::AUTO_INCREMENT)
        | bit(flags.timestamp, column_flag::TIMESTAMP)
        | bit(flags.no_default, column_flag::NO_DEFAULT)
        | bit(flags.on_update_now, column_flag::ON_UPDATE_NOW)
        | bit(flags.numeric, column_flag::NUMERIC);
    let own = Collation::by_id(column.collation_id).filter(|own| !own.is_binary());
    let (collation_id, length) = match (results, own) {
        (Some(results), Some(own)) => {
            let characters = match column.column_type {
                ColumnType::Text { .. } => column.length,
                _ => column.length / own.charset().character_size_max(),
            };
            (results.id(), characters.saturating_mul(charset.character_size_max()))
        }
        (None, _) | (_, None) => (column.collation_id, column.length),
    };
    ColumnDefinition {
        schema: charset.encode(&column.schema),
        table: charset.encode(&column.table_alias),
        org_table: charset.encode(&column.table),
        name: charset.encode(&column.name),
        org_name: charset.encode(&column.org_name),
        collation_id,
        length,
        type_code: if column.null_type {
            code::NULL
        } else {
            resultset::type_code(&column.column_type)
        },
        flags,
        decimals: column.decimals,
    }
}

#[cfg(test)]
mod tests {
    use sql::ColumnFlags;
    use types::expr::Coercibility;

    use super::*;

    fn column(column_type: ColumnType) -> ColumnInfo {
        ColumnInfo {
            schema: String::new(),
            table: String::new(),
            table_alias: String::new(),
            name: "é".into(),
            org_name: String::new(),
            nullable: true,
            flags: ColumnFlags::default(),
            decimals: 0,
            collation_id: column_type.collation().unwrap_or(Collation::Binary).id(),
            display: types::NumberDisplay::default(),
            length: column_type.display_length(),
            coercibility: Coercibility::Implicit,
            null_type: false,
            column_type,
        }
    }

    /// The announced collation and length depend on the character set of the results, as in MySQL.
    #[test]
    fn definitions_by_results() {
        let varchar = |collation| ColumnType::Varchar { length: 10, collation };
        let text = |bytes_max, collation| ColumnType::Text { bytes_max, collation };
        let latin1 = Collation::Latin1German1Ci;
        for (column_type, results, expected) in [
            (varchar(latin1), Some(Collation::DEFAULT), (255, 40)),
            (varchar(latin1), Some(Collation::Utf8mb4GeneralCi), (45, 40)),
            (varchar(latin1), Some(Collation::Latin1SwedishCi), (8, 10)),
            (varchar(latin1), Some(Collation::Binary), (63, 10)),
            (varchar(latin1), None, (5, 10)),
            (varchar(Collation::Utf8mb4Bin), Some(Collation::DEFAULT), (255, 40)),
            (varchar(Collation::Utf8mb4Bin), Some(Collation::Utf8mb3Bin), (83, 30)),
            (varchar(Collation::Utf8mb3Bin), Some(Collation::AsciiGeneralCi), (11, 10)),
            (varchar(Collation::Utf8mb4Bin), None, (46, 40)),
            (text(65_535, latin1), Some(Collation::DEFAULT), (255, 262_140)),
            (text(65_535, Collation::DEFAULT), Some(Collation::Latin1Bin), (47, 65_535)),
            (text(u32::MAX, latin1), Some(Collation::DEFAULT), (255, u32::MAX)),
            (text(65_535, latin1), None, (5, 65_535)),
            (ColumnType::Varbinary { length: 9 }, Some(Collation::DEFAULT), (63, 9)),
            (ColumnType::Date, Some(Collation::Latin1SwedishCi), (63, 10)),
        ] {
            let column = column(column_type);
            let definition = definition_of(&column, results);
            assert_eq!(
                (definition.collation_id, definition.length),
                expected,
                "{:?} {results:?}",
                column.column_type
            );
        }
        let latin1 = column(ColumnType::Date);
        assert_eq!(&*definition_of(&latin1, Some(Collation::Latin1Bin)).name, b"\xe9");
    }
}
