//! LOAD DATA.

use std::sync::Arc;

use types::{Charset, SqlMode, Table};

use super::Binder;
use super::change::check_not_generated;
use super::literal::charset_warning;
use super::names::Scope;
use super::target::Target;
use crate::error::{SqlError, code};
use crate::execute::delimited::Format;
use crate::parser::ast::{self, LoadFormat, LoadText, OnDuplicate, VariableScope};
use crate::plan::{InsertMode, InsertPlan, InsertSource, LoadPlan, LoadTarget};
use crate::session::value_text;

/// Bytes of a terminator at most: the reader compares it at each place where it may stand.
const TERMINATOR_SIZE_MAX: usize = 64;

impl Binder<'_> {
    /// An INSERT whose rows come from a file.
    pub fn load_data(&mut self, load: &ast::LoadData) -> Result<InsertPlan, SqlError> {
        if !load.partitions.is_empty() {
            return Err(SqlError::not_supported("PARTITION"));
        }
        // The file is read once, and what variables are depends on it.
        self.reusable = false;
        self.reads_per_row = true;
        let charset = self.load_charset(load.charset.as_deref())?;
        let format = self.load_format(&load.format, charset)?;
        // Like MySQL: a file of the client cannot be stopped, so it is loaded as far as it can be. REPLACE is as strict as ever.
        let ignore = match load.on_duplicate {
            OnDuplicate::Ignore => true,
            OnDuplicate::Fail => load.is_local,
            OnDuplicate::Replace => false,
        };
        let mut target = self.target(&load.table, None, &[], "LOAD")?;
        target.check_insertable()?;
        let table = Arc::clone(&target.table);
        let targets = self.load_targets(&load.targets, &target, ignore)?;
        self.text_variables = targets
            .iter()
            .filter_map(|target| match target {
                LoadTarget::Variable(name) => Some(name.clone()),
                LoadTarget::Column(_) | LoadTarget::Nothing => None,
            })
            .collect();
        self.changes = vec![Arc::clone(&table)];
        let relations = target.relations.clone();
        let scope = Scope::of(&relations, "field list");
        let assignments = self.assignments(&load.assignments, &mut target, &scope)?;
        let mut columns: Vec<u16> = Vec::new();
        let fields = targets.iter().filter_map(|target| match target {
            LoadTarget::Column(column) => Some(*column),
            LoadTarget::Variable(_) | LoadTarget::Nothing => None,
        });
        columns.extend(fields.chain(assignments.iter().map(|assignment| assignment.column)));
        target.check_defaults(&columns)?;
        let rules = self.row_rules(&table, true)?;
        let source = InsertSource::Load(Box::new(LoadPlan {
            file: load.file.clone(),
            is_local: load.is_local,
            format,
            charset,
            ignored_lines: load.ignored_lines,
            targets,
            assignments,
        }));
        let mode = match load.on_duplicate {
            OnDuplicate::Replace => InsertMode::Replace,
            OnDuplicate::Fail | OnDuplicate::Ignore => InsertMode::Insert,
        };
        let (layout, check) = (table.row_layout(), target.check());
        Ok(InsertPlan { table, layout, columns, source, mode, ignore, check, rules })
    }

    /// What the file is written in: that of the current database where the statement has none.
    fn load_charset(&mut self, written: Option<&str>) -> Result<Charset, SqlError> {
        let name = match written {
            Some(name) => {
                if let Some(warning) = charset_warning(name) {
                    self.warn(warning);
                }
                name.to_string()
            }
            None => {
                let value = self
                    .session
                    .system_variable(VariableScope::Session, "character_set_database")?;
                value_text(&value).unwrap_or_default()
            }
        };
        Charset::by_name(&name).ok_or_else(|| SqlError::unknown_character_set(&name))
    }

    fn load_format(&mut self, written: &LoadFormat, charset: Charset) -> Result<Format, SqlError> {
        let default = Format::default();
        let bytes = |text: &Option<LoadText>| text.as_ref().map(|text| file_bytes(text, charset));
        let texts = [&written.field_end, &written.line_start, &written.line_end].map(bytes);
        let single = [&written.enclosed, &written.escaped].map(bytes);
        let is_ascii = |text: &Option<Vec<u8>>| text.as_ref().is_none_or(|text| text.is_ascii());
        let is_long = |text: &Option<Vec<u8>>, size_max: usize| {
            text.as_ref().is_some_and(|text| size_max < text.len())
        };
        if single.iter().any(|text| is_long(text, 1))
            || texts.iter().any(|text| is_long(text, TERMINATOR_SIZE_MAX))
        {
            return Err(SqlError::new(
                code::ER_WRONG_FIELD_TERMINATORS,
                "Field separator argument is not what is expected; check the manual",
            ));
        }
        if !texts.iter().chain(&single).all(is_ascii) {
            self.warn(SqlError::new(
                code::WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED,
                "Non-ASCII separator arguments are not fully supported",
            ));
        }
        let [field_end, line_start, line_end] = texts;
        let [enclosed, escaped] = single;
        let has_escape = !self.environment.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        let escape = match escaped {
            Some(escaped) => escaped.first().copied(),
            None => default.escape.filter(|_| has_escape),
        };
        let format = Format {
            field_end: field_end.unwrap_or(default.field_end),
            enclosed: enclosed.and_then(|enclosed| enclosed.first().copied()),
            escape,
            line_start: line_start.unwrap_or(default.line_start),
            line_end: line_end.unwrap_or(default.line_end),
        };
        if format.field_end.is_empty() && format.enclosed.is_none() {
            return Err(SqlError::not_supported("LOAD DATA with fields of fixed size"));
        }
        Ok(format)
    }

    /// Where fields go: without a list to all columns that users see.
    fn load_targets(
        &mut self,
        written: &[ast::LoadTarget],
        target: &Target,
        ignore: bool,
    ) -> Result<Vec<LoadTarget>, SqlError> {
        let mut targets = Vec::with_capacity(written.len());
        if written.is_empty() {
            for column in target.inserted_columns()? {
                targets.push(self.load_column(&target.table, column, ignore)?);
            }
            return Ok(targets);
        }
        let scope = Scope::of(&target.relations, "field list");
        for written in written {
            targets.push(match written {
                ast::LoadTarget::Variable(name) => LoadTarget::Variable(name.to_lowercase()),
                ast::LoadTarget::Column(name) => {
                    let column = target.column(scope.column(name)?)?;
                    self.load_column(&target.table, column, ignore)?
                }
            });
        }
        Ok(targets)
    }

    /// A generated column has its field for nothing: 3105 in the strict modes, as for INSERT.
    fn load_column(
        &mut self,
        table: &Table,
        column: u16,
        ignore: bool,
    ) -> Result<LoadTarget, SqlError> {
        match check_not_generated(table, column) {
            Ok(()) => Ok(LoadTarget::Column(column)),
            Err(refusal) if self.environment.sql_mode.is_strict() && !ignore => Err(refusal),
            Err(refusal) => {
                self.warn(refusal);
                Ok(LoadTarget::Nothing)
            }
        }
    }
}

/// The bytes that a text of FIELDS or LINES is in the file.
fn file_bytes(text: &LoadText, charset: Charset) -> Vec<u8> {
    match text {
        LoadText::Bytes(bytes) => bytes.clone(),
        LoadText::Characters(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if charset.holds(text) => charset.encode(text).into_owned(),
            Ok(_) | Err(_) => bytes.clone(),
        },
    }
}
