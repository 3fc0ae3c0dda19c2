//! LOAD DATA: the fields of a file as rows of INSERT.
//!
//! The file comes in pieces, and rows go out in the batches of the [`TableWriter`], so neither is held whole. While the writer
//! waits for the shards the client is not read from: its socket fills up, and it waits, too.

use client::{ServerFile, ServerFileError, ServerFiles};
use types::convert::{ConvertError, SqlWarning};
use types::{Charset, Column, ColumnDefault, ColumnType, Value};

use super::delimited::{Delimited, Record, Step};
use super::insert::names_columns;
use super::write::{
    NewRow, RowChange, RowDraft, Storing, TableWriter, default_value, now_value, store_error,
};
use super::{Context, Failure, Pace};
use crate::ResultSink;
use crate::error::{SqlError, code};
use crate::plan::{AssignedValue, AssignmentPlan, InsertPlan, LoadPlan, LoadTarget, Plan};

/// Warnings of a statement that are kept before they go to its diagnostics, which keep `max_error_count` of them.
const WARNINGS_HELD_MAX: usize = 1_000;

/// Bytes that are read from a file of the server at once.
const SERVER_PIECE_SIZE: usize = 64 << 10;

/// Where the pieces of the file come from.
enum FileSource {
    /// The client sends them.
    Client,
    /// `None` while a thread reads.
    Server { file: Option<Box<dyn ServerFile>>, name: String },
}

/// Makes rows of records.
struct Loader<'p> {
    plan: &'p InsertPlan,
    load: &'p LoadPlan,
    /// Values of the columns that the statement gives none, where they are the same for all rows.
    defaults: Vec<(usize, Value)>,
    /// An assignment names columns of the row.
    sees_row: bool,
    /// Of the record, from 1.
    number: u64,
}

impl Context<'_> {
    pub(super) async fn load(
        &mut self,
        plan: &InsertPlan,
        load: &LoadPlan,
        writer: &mut TableWriter<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Failure> {
        let mut loader = Loader::new(self, plan, load)?;
        let record_size_max = usize::try_from(self.kept_number("max_allowed_packet"));
        let record_size_max = record_size_max.unwrap_or(usize::MAX);
        let mut file = Delimited::new(
            load.format.clone(),
            load.targets.len(),
            load.ignored_lines,
            record_size_max,
        );
        let mut pace = Pace::default();
        // Each waits for a batch of its own: how many there are is not known.
        writer.expect_rows(1);
        let mut source = self.open_file(load, sink).await?;
        loop {
            match file.step() {
                Ok(Step::More) => match self.file_piece(&mut source, sink).await? {
                    Some(piece) => {
                        file.feed(&piece);
                        pace.bytes(piece.len()).await;
                    }
                    None => file.finish(),
                },
                Ok(Step::Record) => {
                    loader.number += 1;
                    self.load_record(&loader, file.record(), writer).await?;
                    pace.row().await;
                    if WARNINGS_HELD_MAX <= self.warnings.len() {
                        self.hand_over_warnings();
                    }
                }
                Ok(Step::End) => return writer.flush(self, true).await,
                Err(_) => {
                    let error = record_too_long(loader.number + 1);
                    return Err(Box::pin(writer.fail(self, error.into())).await);
                }
            }
        }
    }

    async fn open_file(
        &mut self,
        load: &LoadPlan,
        sink: &mut dyn ResultSink,
    ) -> Result<FileSource, SqlError> {
        if load.is_local {
            sink.request_file(&load.file);
            return Ok(FileSource::Client);
        }
        let name = load.file.clone();
        let opened = self.on_server_files(move |files| files.open(&name)).await?;
        match opened {
            Ok(file) => Ok(FileSource::Server { file: Some(file), name: load.file.clone() }),
            Err(error) => Err(file_error(error, &load.file)),
        }
    }

    /// The next piece of the file, or the error of KILL.
    async fn file_piece(
        &mut self,
        source: &mut FileSource,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let FileSource::Server { file, name } = source else {
            return match self.until_killed(sink.file_piece()).await {
                Some(piece) => piece,
                None => Err(self.check_killed().err().unwrap_or_else(SqlError::interrupted)),
            };
        };
        let mut own = file.take().expect("the last read has given it back");
        let read = move |_: &dyn ServerFiles| {
            let piece = own.read(SERVER_PIECE_SIZE);
            (own, piece)
        };
        let (own, piece) = self.on_server_files(read).await?;
        *file = Some(own);
        let piece = piece.map_err(|error| file_error(error, name))?;
        Ok((!piece.is_empty()).then_some(piece))
    }

    /// Does work on files of the server, on a thread that may wait for the device. KILL ends the wait.
    async fn on_server_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn ServerFiles) -> T + Send + 'static,
    ) -> Result<T, SqlError> {
        match self.until_killed(self.node().on_server_files(work)).await {
            Some(Ok(output)) => Ok(output),
            Some(Err(panicked)) => Err(SqlError::new(code::ER_INTERNAL_ERROR, panicked.message())),
            None => Err(self.check_killed().err().unwrap_or_else(SqlError::interrupted)),
        }
    }

    async fn load_record(
        &mut self,
        loader: &Loader<'_>,
        record: &Record,
        writer: &mut TableWriter<'_>,
    ) -> Result<(), Failure> {
        let row = match loader.row(self, record, writer).await {
            Ok(row) => row,
            Err(failure) => return Err(Box::pin(writer.fail(self, failure)).await),
        };
        writer.push(self, RowChange::insert(row, loader.number)).await?;
        if record.is_cut() {
            let message = format!(
                "Row {} was truncated; it contained more data than there were input columns",
                loader.number
            );
            let error = SqlError::new(code::ER_WARN_TOO_MANY_RECORDS, message);
            if let Err(error) = self.warn_or_fail(error) {
                return Err(Box::pin(writer.fail(self, error.into())).await);
            }
        }
        Ok(())
    }

    /// In strict mode what others warn of is an error.
    fn warn_or_fail(&mut self, error: SqlError) -> Result<(), SqlError> {
        if self.run.strict {
            return Err(error);
        }
        self.warnings.push(SqlWarning::warning(error.code, error.message));
        Ok(())
    }
}

impl<'p> Loader<'p> {
    fn new(
        context: &mut Context<'_>,
        plan: &'p InsertPlan,
        load: &'p LoadPlan,
    ) -> Result<Loader<'p>, SqlError> {
        let storing = Storing::new(context.run.strict, plan.ignore);
        let mut defaults = Vec::new();
        for (position, column) in plan.table.columns.iter().enumerate() {
            let is_given = plan.columns.iter().any(|given| usize::from(*given) == position);
            let is_made = matches!(
                column.default,
                ColumnDefault::AutoIncrement | ColumnDefault::Expression(_)
            );
            if !is_given && !is_made && column.generated.is_none() {
                // Warned of once, not for each row.
                let (run, warnings) = (&context.run, &mut context.warnings);
                defaults.push((position, default_value(column, storing, run, warnings)?));
            }
        }
        let sees_row = load.assignments.iter().any(|own| is_over_row(context.run.plan, own));
        Ok(Loader { plan, load, defaults, sees_row, number: 0 })
    }

    async fn row(
        &self,
        context: &mut Context<'_>,
        record: &Record,
        writer: &mut TableWriter<'_>,
    ) -> Result<NewRow, Failure> {
        let mut draft = RowDraft::new(&self.plan.table);
        for (column, value) in &self.defaults {
            draft.put(*column, value.clone());
        }
        for (number, target) in self.load.targets.iter().enumerate() {
            let is_there = number < record.field_count();
            let bytes = if is_there { record.field(number) } else { None };
            match target {
                LoadTarget::Nothing => {}
                LoadTarget::Variable(name) => {
                    let value =
                        bytes.map_or(Value::Null, |bytes| text_value(bytes, self.load.charset));
                    context.set_user_variable(name, value)?;
                }
                LoadTarget::Column(column) => {
                    let column = usize::from(*column);
                    match bytes {
                        Some(bytes) => {
                            self.give_field(context, &mut draft, (column, bytes), writer)?;
                        }
                        None if is_there => self.give_null(context, &mut draft, column)?,
                        None => self.give_missing(context, &mut draft, column)?,
                    }
                }
            }
        }
        for assignment in &self.load.assignments {
            self.assign(context, &mut draft, assignment, writer).await?;
        }
        Ok(writer.complete(context, draft)?)
    }

    /// A field as a value of its column.
    fn give_field(
        &self,
        context: &mut Context<'_>,
        draft: &mut RowDraft,
        (position, bytes): (usize, &[u8]),
        writer: &TableWriter<'_>,
    ) -> Result<(), SqlError> {
        let table = &self.plan.table;
        let column = &table.columns[position];
        let column_type = &column.column_type;
        let charset = self.load.charset;
        let is_bytes = column_type.is_binary()
            || matches!(column_type, ColumnType::Bit { .. })
            || charset == Charset::Binary && column_type.is_string();
        if is_bytes {
            return writer.give(context, draft, (position, Value::bytes(bytes)), self.number);
        }
        match charset.decode_exactly(bytes) {
            Ok(text) => {
                let value = Value::text(&text, charset.default_collation());
                writer.give(context, draft, (position, value), self.number)
            }
            Err(valid) => {
                let (valid, rest) = bytes.split_at(valid);
                let problem = ConvertError::incorrect_string(rest);
                if context.run.strict {
                    return Err(store_error(&problem, &table.name, &column.name, self.number));
                }
                context.warnings.push(problem.to_warning(&column.name, self.number));
                let valid =
                    std::str::from_utf8(&charset.decode(valid)).unwrap_or_default().to_string();
                let value = Value::text(&valid, charset.default_collation());
                writer.give(context, draft, (position, value), self.number)
            }
        }
    }

    /// NULL of the file: 1263 where the column takes none.
    fn give_null(
        &self,
        context: &mut Context<'_>,
        draft: &mut RowDraft,
        position: usize,
    ) -> Result<(), SqlError> {
        let column = &self.plan.table.columns[position];
        let is_sequence = matches!(column.default, ColumnDefault::AutoIncrement);
        if column.nullable || is_sequence {
            draft.put(position, Value::Null);
            return Ok(());
        }
        let value = match now_for_timestamp(context, column) {
            Some(now) => now,
            None => {
                context.warn_or_fail(SqlError::new(
                    code::ER_WARN_NULL_TO_NOTNULL,
                    format!(
                        "Column set to default value; NULL supplied to NOT NULL column '{}' at row {}",
                        column.name, self.number
                    ),
                ))?;
                column.column_type.implicit_default().to_value()
            }
        };
        draft.put(position, value);
        Ok(())
    }

    /// The line has no field for the column: like MySQL, NULL only where that is the default.
    fn give_missing(
        &self,
        context: &mut Context<'_>,
        draft: &mut RowDraft,
        position: usize,
    ) -> Result<(), SqlError> {
        context.warn_or_fail(SqlError::new(
            code::ER_WARN_TOO_FEW_RECORDS,
            format!("Row {} doesn't contain data for all columns", self.number),
        ))?;
        let column = &self.plan.table.columns[position];
        let is_null = match &column.default {
            ColumnDefault::AutoIncrement => true,
            ColumnDefault::None | ColumnDefault::Expression(_) => column.nullable,
            ColumnDefault::Value(value) => value.is_null(),
            ColumnDefault::Now => false,
        };
        let value = match now_for_timestamp(context, column) {
            _ if is_null => Value::Null,
            Some(now) => now,
            None => column.column_type.implicit_default().to_value(),
        };
        draft.put(position, value);
        Ok(())
    }

    /// SET: each assignment sees the fields and those before it.
    async fn assign(
        &self,
        context: &mut Context<'_>,
        draft: &mut RowDraft,
        assignment: &AssignmentPlan,
        writer: &TableWriter<'_>,
    ) -> Result<(), Failure> {
        let column = usize::from(assignment.column);
        let AssignedValue::Expr(bound) = &assignment.value else {
            draft.take_back(column);
            return Ok(());
        };
        let value = match self.sees_row {
            true => {
                let row = draft.seen(&self.plan.table, &context.run)?;
                context.value_of(bound, &row).await?
            }
            false => context.scalar_value(bound).await?,
        };
        Ok(writer.give(context, draft, (column, value), self.number)?)
    }
}

/// Does the assignment name columns of the row?
fn is_over_row(plan: &Plan, assignment: &AssignmentPlan) -> bool {
    match &assignment.value {
        AssignedValue::Default => false,
        AssignedValue::Expr(bound) => names_columns(plan, bound),
    }
}

/// A TIMESTAMP that takes no NULL gets the time instead.
fn now_for_timestamp(context: &Context<'_>, column: &Column) -> Option<Value> {
    let is_timestamp = matches!(column.column_type, ColumnType::Timestamp { .. });
    (is_timestamp && !column.nullable).then(|| now_value(column, &context.run))
}

/// A field as the value of a user variable.
fn text_value(bytes: &[u8], charset: Charset) -> Value {
    match charset {
        Charset::Binary => Value::bytes(bytes),
        _ => match charset.decode_exactly(bytes) {
            Ok(text) => Value::text(&text, charset.default_collation()),
            Err(_) => Value::bytes(bytes),
        },
    }
}

/// MySQL's words for the errors of the system.
fn file_error(error: ServerFileError, name: &str) -> SqlError {
    match error {
        ServerFileError::NotAllowed => SqlError::option_prevents("--secure-file-priv"),
        ServerFileError::NotFound { number, reason } => SqlError::new(
            code::EE_STAT,
            format!("Can't get stat of '{name}' (OS errno {number} - {reason})"),
        ),
        ServerFileError::NotPlain => SqlError::new(
            code::ER_TEXTFILE_NOT_READABLE,
            format!("The file '{name}' must be in the database directory or be readable by all"),
        ),
        ServerFileError::OpenFailed { number, reason } => SqlError::new(
            code::EE_FILENOTFOUND,
            format!("File '{name}' not found (OS errno {number} - {reason})"),
        ),
        ServerFileError::ReadFailed { number, reason } => SqlError::new(
            code::ER_ERROR_ON_READ,
            format!("Error reading file '{name}' (OS errno {number} - {reason})"),
        ),
    }
}

fn record_too_long(number: u64) -> SqlError {
    SqlError::new(
        code::ER_NET_PACKET_TOO_LARGE,
        format!("Row {number} of the file is longer than 'max_allowed_packet' bytes"),
    )
}
