//! SET, and reading system variables.

use client::Durability;
use types::charset::names;
use types::convert::WarningLevel;
use types::decimal::DIV_PRECISION_INCREMENT;
use types::expr::MAX_ALLOWED_PACKET;
use types::temporal::Locale;
use types::{Charset, Collation, Decimal, SqlMode, Value};

use super::Session;
use super::token::checked_token;
use super::variables::{
    self, Isolation, Kind, NewValue, Scope, Variable, check_kept, default_of, on_off, parse_bool,
    parse_sql_mode, parse_time_zone, read_only,
};
use crate::bind::switch::OptimizerSwitch;
use crate::bind::{Binder, charset_warning, collation_warning};
use crate::error::{SqlError, code};
use crate::execute::{Context, Failure};
use crate::parser::ast;
use crate::plan::{ParamKind, Plan, PlanKind};

impl Session {
    /// The value of an expression that names no column: KILL.
    pub(crate) async fn scalar(&mut self, expr: &ast::Expr) -> Result<Value, SqlError> {
        Ok(self.values(&[expr]).await?.remove(0))
    }

    /// The values of expressions that name no column: SET, DO. Their subqueries are a statement on rows: it sees one
    /// snapshot or, as what it reads is kept, takes shared locks like INSERT ... SELECT; outside of a transaction it is one.
    pub(crate) async fn values(&mut self, exprs: &[&ast::Expr]) -> Result<Vec<Value>, SqlError> {
        let params = self.frame.params.clone();
        let kinds: Vec<ParamKind> = params.iter().map(ParamKind::of).collect();
        let mut tries = 0;
        loop {
            let catalogue = self.catalogue();
            let environment = self.environment.clone();
            let plan = Binder::new(&catalogue, &environment, &*self, &kinds).values(exprs)?;
            let has_subqueries = plan.has_subqueries();
            let result = self.run_values(&plan, params.clone()).await;
            let mut failure = match result {
                Ok(values) => return Ok(values),
                Err(failure) => failure,
            };
            if has_subqueries {
                self.fail_statement(&mut failure).await;
            }
            if !failure.replan {
                return Err(failure.error);
            }
            tries = self.after_replan(tries, plan.catalogue_version, &failure.error).await?;
        }
    }

    async fn run_values(&mut self, plan: &Plan, params: Vec<Value>) -> Result<Vec<Value>, Failure> {
        let PlanKind::Values(bounds) = &plan.kind else { unreachable!("made for values") };
        let has_subqueries = plan.has_subqueries();
        if has_subqueries {
            self.frame.random_sequences.clear();
            self.client.next_statement();
        }
        let mut context = Context::new(self, plan, params, false);
        let result = context.run_values(bounds).await;
        let (_, warnings) = context.into_parts();
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        let values = result?;
        if has_subqueries {
            self.finish_statement(false).await?;
        }
        Ok(values)
    }

    /// MySQL checks all items before it assigns any; here each value is computed before the first assignment, so that an
    /// expression that fails leaves nothing half set.
    pub(super) async fn set(&mut self, items: &[ast::SetItem]) -> Result<(), SqlError> {
        let exprs: Vec<&ast::Expr> = items.iter().filter_map(set_expr).collect();
        let mut computed = self.values(&exprs).await?.into_iter();
        let values: Vec<Option<NewValue>> = items
            .iter()
            .map(|item| match (set_expr(item), item) {
                (Some(_), _) => computed.next().map(NewValue::Value),
                (None, ast::SetItem::SystemVariable { value, .. }) => Some(match value {
                    // `SET x = latin1`: a bare name is a word.
                    ast::SetValue::Expr(ast::Expr::Column(word)) => {
                        NewValue::Word(word.column.clone())
                    }
                    ast::SetValue::Word(word) => NewValue::Word(word.clone()),
                    ast::SetValue::Default | ast::SetValue::Expr(_) => NewValue::Default,
                }),
                (None, _) => None,
            })
            .collect();
        for (item, value) in items.iter().zip(values) {
            match (item, value) {
                (ast::SetItem::UserVariable { name, .. }, Some(NewValue::Value(value))) => {
                    self.set_user_variable(&name.to_lowercase(), value)?;
                }
                (ast::SetItem::SystemVariable { scope, name, .. }, Some(value)) => {
                    self.assign_variable(*scope, name, value).await?;
                }
                (ast::SetItem::Names { charset, collation }, _) => {
                    self.set_names(charset.as_deref(), collation.as_deref())?;
                }
                (ast::SetItem::CharacterSet { charset }, _) => {
                    self.set_character_set(charset.as_deref())?;
                }
                (ast::SetItem::Transaction { scope, isolation, read_only }, _) => {
                    self.set_transaction(*scope, *isolation, *read_only)?;
                }
                _ => unreachable!("values were computed by the kind of the item"),
            }
        }
        Ok(())
    }

    /// SET NAMES.
    fn set_names(
        &mut self,
        charset: Option<&str>,
        collation: Option<&str>,
    ) -> Result<(), SqlError> {
        self.warn_of_names(charset, collation);
        let charset = charset.map_or(Ok(Charset::Utf8mb4), client_charset)?;
        let collation = match collation {
            None => charset.default_collation(),
            Some(written) => {
                let own = names::charset_of_collation(written)
                    .ok_or_else(|| SqlError::unknown_collation(written))?;
                if own != charset.name() {
                    return Err(SqlError::collation_mismatch(written, charset.name()));
                }
                Collation::by_name(written).ok_or_else(|| SqlError::unknown_collation(written))?
            }
        };
        self.settings.collation_connection = collation;
        self.settings.character_set_client = charset;
        self.settings.character_set_results = Some(collation);
        self.set_environment(self.environment.database.clone());
        Ok(())
    }

    /// collation_connection, and character_set_connection with it.
    fn set_collation(&mut self, collation: Collation) {
        self.settings.collation_connection = collation;
        self.set_environment(self.environment.database.clone());
    }

    /// Warns of names of character sets and collations.
    pub(super) fn warn_of_names(&mut self, charset: Option<&str>, collation: Option<&str>) {
        let warnings = [charset.and_then(charset_warning), collation.and_then(collation_warning)];
        for warning in warnings.into_iter().flatten() {
            self.note(WarningLevel::Warning, warning);
        }
    }

    fn set_character_set(&mut self, charset: Option<&str>) -> Result<(), SqlError> {
        self.warn_of_names(charset, None);
        let charset = charset.map_or(Ok(Charset::Utf8mb4), client_charset)?;
        self.settings.character_set_client = charset;
        self.settings.character_set_results = Some(charset.default_collation());
        self.set_collation(self.database_collation());
        Ok(())
    }

    /// The current database's collation, or the server's.
    pub(crate) fn database_collation(&self) -> Collation {
        let catalogue = self.catalogue();
        let database = self.environment.database.as_deref();
        database
            .and_then(|name| catalogue.database(name))
            .map_or_else(Collation::default, |database| database.collation)
    }

    fn set_transaction(
        &mut self,
        scope: ast::TransactionScope,
        isolation: Option<ast::IsolationLevel>,
        read_only: Option<bool>,
    ) -> Result<(), SqlError> {
        let isolation = match isolation {
            None => None,
            Some(ast::IsolationLevel::ReadUncommitted) => Some(Isolation::ReadUncommitted),
            Some(ast::IsolationLevel::ReadCommitted) => Some(Isolation::ReadCommitted),
            Some(ast::IsolationLevel::RepeatableRead) => Some(Isolation::RepeatableRead),
            Some(ast::IsolationLevel::Serializable) => Some(Isolation::Serializable),
        };
        match scope {
            ast::TransactionScope::Next => self.set_next_transaction(isolation, read_only),
            ast::TransactionScope::Session => {
                if let Some(isolation) = isolation {
                    self.settings.isolation = isolation;
                }
                if let Some(read_only) = read_only {
                    self.settings.read_only = read_only;
                }
                if !self.is_in_transaction() {
                    self.end_transaction();
                }
                Ok(())
            }
            ast::TransactionScope::Global => {
                if let Some(isolation) = isolation {
                    self.server.set_global("transaction_isolation", isolation.name().into());
                }
                if let Some(read_only) = read_only {
                    let value = if read_only { "ON" } else { "OFF" };
                    self.server.set_global("transaction_read_only", value.into());
                }
                Ok(())
            }
        }
    }

    async fn assign_variable(
        &mut self,
        scope: ast::VariableScope,
        name: &str,
        value: NewValue,
    ) -> Result<(), SqlError> {
        let variable = find(name)?;
        let name = variable.name;
        if variable.is_read_only() {
            return Err(read_only(name));
        }
        match scope {
            ast::VariableScope::Unspecified | ast::VariableScope::Session => {
                if variable.scope == Scope::Global {
                    return Err(SqlError::new(
                        code::ER_GLOBAL_VARIABLE,
                        format!(
                            "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL"
                        ),
                    ));
                }
                if matches!(name, "max_allowed_packet" | "net_buffer_length") {
                    return Err(SqlError::new(
                        1621,
                        format!(
                            "SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"
                        ),
                    ));
                }
                let is_next = scope == ast::VariableScope::Unspecified;
                self.assign_session(variable, value, is_next).await?;
                if name == "sql_mode" {
                    self.warn_incomplete_strictness();
                }
                Ok(())
            }
            ast::VariableScope::PersistOnly => Err(SqlError::not_supported("SET PERSIST_ONLY")),
            ast::VariableScope::Persist => Err(SqlError::not_supported("SET PERSIST")),
            ast::VariableScope::Global => {
                if variable.scope == Scope::Session {
                    return Err(SqlError::new(
                        code::ER_LOCAL_VARIABLE,
                        format!(
                            "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL"
                        ),
                    ));
                }
                self.assign_global(variable, value)
            }
        }
    }

    fn assign_global(
        &mut self,
        variable: &'static Variable,
        value: NewValue,
    ) -> Result<(), SqlError> {
        let name = variable.name;
        let text = match variable.kind {
            Kind::Computed(_) => {
                // Tried on a scratch copy of the session's settings, so that the same checks apply.
                let saved = (self.settings.clone(), self.transaction);
                let result = self.assign_live(variable, &value, false);
                let text = self.variable_text(ast::VariableScope::Session, variable);
                (self.settings, self.transaction) = saved;
                self.set_environment(self.environment.database.clone());
                result?;
                text
            }
            _ => {
                let default = self.default_text(variable);
                let value = value.or_default(default, variable.kind);
                let current = self.variable_text(ast::VariableScope::Global, variable);
                let (text, adjusted) = check_kept(variable, &value, &current)?;
                check_composite(name, &text)?;
                if adjusted {
                    self.warn_adjusted(name, &value);
                }
                text
            }
        };
        self.server.set_global(name, text);
        Ok(())
    }

    /// A global value as the session's own, when the session begins.
    pub(super) fn assign_global_default(
        &mut self,
        name: &str,
        value: String,
    ) -> Result<(), SqlError> {
        let variable = find(name)?;
        if variable.scope == Scope::Global {
            return Ok(());
        }
        let value = NewValue::of_text(value, variable.kind);
        match variable.kind {
            Kind::Computed(_) => self.assign_live(variable, &value, false),
            _ => {
                let (text, _) = check_kept(variable, &value, "")?;
                self.keep(variable, text);
                Ok(())
            }
        }
    }

    /// `is_next`: `SET @@x`, which for the transaction's characteristics is about the next transaction only.
    async fn assign_session(
        &mut self,
        variable: &'static Variable,
        value: NewValue,
        is_next: bool,
    ) -> Result<(), SqlError> {
        // DEFAULT is the global value.
        let global = self.server.global(variable.name);
        let value = value.or_default(global.or_else(|| self.default_text(variable)), variable.kind);
        if matches!(variable.kind, Kind::Computed(_)) {
            return self.assign_live(variable, &value, is_next);
        }
        let current = self.variable_text(ast::VariableScope::Session, variable);
        let (text, adjusted) = check_kept(variable, &value, &current)?;
        check_composite(variable.name, &text)?;
        // Turning autocommit on commits the open transaction.
        if variable.name == "autocommit"
            && text == "ON"
            && !self.settings.autocommit
            && let Err(failure) = self.commit_transaction().await
        {
            return Err(failure.error);
        }
        if adjusted {
            self.warn_adjusted(variable.name, &value);
        }
        self.keep(variable, text);
        Ok(())
    }

    /// What a variable is where nobody has set it, if the cluster's configuration says.
    fn default_text(&self, variable: &Variable) -> Option<String> {
        let config = &self.client.client().state().config;
        (variable.name == "skarv_durability").then(|| config.durability.name().to_string())
    }

    fn keep(&mut self, variable: &'static Variable, text: String) {
        match variable.name {
            "autocommit" => self.settings.autocommit = text == "ON",
            "sql_notes" => self.settings.sql_notes = text == "ON",
            "sql_safe_updates" => self.settings.safe_updates = text == "ON",
            "max_execution_time" => {
                self.settings.execution_time_ms_max = text.parse().unwrap_or(0);
            }
            "long_query_time" => {
                let seconds: f64 = text.parse().unwrap_or(10.0);
                self.settings.long_query_micros = (seconds * 1e6) as u64;
            }
            "auto_increment_increment" => {
                self.settings.auto_increment_increment = text.parse().unwrap_or(1);
            }
            "auto_increment_offset" => {
                self.settings.auto_increment_offset = text.parse().unwrap_or(1);
            }
            "skarv_durability" => {
                self.client.set_durability(Durability::of_name(&text));
            }
            "skarv_strict_snapshot" => self.settings.strict_snapshot = text == "ON",
            "foreign_key_checks" => self.settings.foreign_key_checks = text == "ON",
            "skarv_snapshot_age_max" => {
                self.settings.snapshot_age_max_seconds = text.parse().unwrap_or(300);
            }
            "innodb_lock_wait_timeout" => {
                self.settings.lock_wait_timeout_seconds = text.parse().unwrap_or(50);
            }
            "sql_select_limit" => self.settings.select_limit = text.parse().unwrap_or(u64::MAX),
            "lc_time_names" => {
                self.settings.time_names = Locale::by_name(&text).unwrap_or_default();
                self.set_environment(self.environment.database.clone());
            }
            "optimizer_switch" => {
                self.settings.optimizer_switch = OptimizerSwitch::of_text(&text);
                self.set_environment(self.environment.database.clone());
            }
            "default_week_format" => {
                self.settings.default_week_format = text.parse().unwrap_or(0);
                self.set_environment(self.environment.database.clone());
            }
            "group_concat_max_len" => {
                // No value is longer than a packet.
                let length = text.parse().unwrap_or(MAX_ALLOWED_PACKET).min(MAX_ALLOWED_PACKET);
                self.settings.group_concat_length_max = length as u32;
                self.set_environment(self.environment.database.clone());
            }
            "div_precision_increment" => {
                self.settings.div_precision_increment =
                    text.parse().unwrap_or(DIV_PRECISION_INCREMENT);
                self.set_environment(self.environment.database.clone());
            }
            _ => {}
        }
        self.settings.kept.insert(variable.name, text);
        self.settings.kept_version += 1;
    }

    /// MySQL's advice to use the strict modes and those that only matter beside them together.
    fn warn_incomplete_strictness(&mut self) {
        let advised = SqlMode::NO_ZERO_DATE
            .with(SqlMode::NO_ZERO_IN_DATE)
            .with(SqlMode::ERROR_FOR_DIVISION_BY_ZERO);
        let mode = self.settings.sql_mode;
        let is_complete = match mode.is_strict() {
            true => mode.has(advised),
            false => mode.intersection(advised).is_empty(),
        };
        if !is_complete {
            let warning = SqlError::new(
                code::ER_SQL_MODE_MERGED,
                "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should \
                 be used with strict mode. They will be merged with strict mode in a future release.",
            );
            self.note(WarningLevel::Warning, warning);
        }
    }

    fn warn_adjusted(&mut self, name: &str, value: &NewValue) {
        let warning = SqlError::new(
            code::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect {name} value: '{}'", value.text().unwrap_or_default()),
        );
        self.note(WarningLevel::Warning, warning);
    }

    /// A variable the engine acts on.
    fn assign_live(
        &mut self,
        variable: &Variable,
        value: &NewValue,
        is_next: bool,
    ) -> Result<(), SqlError> {
        let name = variable.name;
        let text = value.text();
        let required =
            || text.clone().ok_or_else(|| SqlError::wrong_value_for_variable(name, "NULL"));
        let is_default = matches!(value, NewValue::Default);
        match name {
            "sql_mode" => {
                self.settings.sql_mode =
                    if is_default { SqlMode::default() } else { parse_sql_mode(&required()?)? };
                self.set_environment(self.environment.database.clone());
            }
            "time_zone" => {
                let zone = if is_default { "SYSTEM".to_string() } else { required()? };
                let offset = parse_time_zone(&zone).ok_or_else(|| {
                    SqlError::new(
                        code::ER_UNKNOWN_TIME_ZONE,
                        format!("Unknown or incorrect time zone: '{zone}'"),
                    )
                })?;
                self.settings.time_zone_offset_seconds = offset;
                self.settings.time_zone = zone;
            }
            "transaction_isolation" | "tx_isolation" => {
                let level = if is_default {
                    Isolation::RepeatableRead
                } else {
                    Isolation::parse(&required()?)?
                };
                if is_next {
                    return self.set_next_transaction(Some(level), None);
                }
                self.settings.isolation = level;
                if !self.is_in_transaction() {
                    self.transaction.isolation = level;
                }
            }
            "transaction_read_only" | "tx_read_only" => {
                let on = if is_default { false } else { parse_bool(name, &required()?)? };
                if is_next {
                    return self.set_next_transaction(None, Some(on));
                }
                self.settings.read_only = on;
                if !self.is_in_transaction() {
                    self.transaction.read_only = on;
                }
            }
            "character_set_client" => {
                let charset =
                    if is_default { "utf8mb4".into() } else { charset_text(value, &required()?) };
                self.settings.character_set_client = client_charset(&charset)?;
                self.warn_of_names(Some(&charset), None);
                self.set_environment(self.environment.database.clone());
            }
            "character_set_results" => {
                self.settings.character_set_results = match (&text, is_default) {
                    (_, true) => Some(Collation::DEFAULT),
                    (None, false) => None,
                    (Some(text), false) => {
                        let charset = charset_text(value, text);
                        let collation = served_charset(&charset)?.default_collation();
                        self.warn_of_names(Some(&charset), None);
                        Some(collation)
                    }
                };
            }
            "character_set_connection" => {
                let charset =
                    if is_default { "utf8mb4".into() } else { charset_text(value, &required()?) };
                let collation = Collation::default_of_charset(&charset)
                    .ok_or_else(|| SqlError::unknown_character_set(&charset))?;
                self.warn_of_names(Some(&charset), None);
                self.set_collation(collation);
            }
            "collation_connection" => {
                let collation = match is_default {
                    true => Collation::DEFAULT,
                    false => known_collation(&required()?)?,
                };
                if collation.charset() == Charset::Utf8mb3 {
                    self.warn_of_names(None, Some(collation.name()));
                }
                self.set_collation(collation);
            }
            // They follow the database and the server, so only the value that they have is accepted.
            "character_set_database" | "character_set_server" => {
                if !is_default {
                    let charset = charset_text(value, &required()?);
                    let own = names::charset_named(&charset)
                        .ok_or_else(|| SqlError::unknown_character_set(&charset))?;
                    if own != self.computed_variable(name, false) {
                        return Err(SqlError::not_supported(format!("{name} = {own}")));
                    }
                }
            }
            "collation_database" | "collation_server" => {
                if !is_default {
                    let collation = known_collation(&required()?)?.name();
                    if collation != self.computed_variable(name, false) {
                        return Err(SqlError::not_supported(format!("{name} = {collation}")));
                    }
                }
            }
            "rand_seed1" | "rand_seed2" => {
                let seed = number(name, value)?;
                let (first, second) = self.settings.random_state.unwrap_or_default();
                let state = if name == "rand_seed1" { (seed, second) } else { (first, seed) };
                self.settings.random_state = Some(state);
            }
            "timestamp" => {
                let micros = match value {
                    NewValue::Default => None,
                    _ => {
                        let text = required()?;
                        let seconds: f64 = text
                            .trim()
                            .parse()
                            .map_err(|_| SqlError::wrong_type_for_variable(name))?;
                        let in_range = (0.0..=2_147_483_647.0).contains(&seconds);
                        if !in_range {
                            return Err(SqlError::wrong_value_for_variable(name, &text));
                        }
                        // 0 turns the clock on again.
                        (seconds != 0.0).then_some((seconds * 1e6).round() as i64)
                    }
                };
                self.settings.timestamp_micros = micros;
            }
            "last_insert_id" | "identity" => {
                self.last_insert_id = number(name, value)?;
            }
            "skarv_commit_token" => {
                let token = text.filter(|token| !is_default && !token.is_empty());
                self.settings.commit_token = token.map(checked_token).transpose()?;
            }
            "max_connections" => return Err(SqlError::not_supported("SET GLOBAL max_connections")),
            _ => return Err(read_only(name)),
        }
        Ok(())
    }

    /// `@@scope.name`.
    pub(crate) fn read_variable(
        &self,
        scope: ast::VariableScope,
        name: &str,
    ) -> Result<Value, SqlError> {
        let variable = find(name)?;
        let wrong_scope = match (scope, variable.scope) {
            (ast::VariableScope::Session, Scope::Global) => Some("GLOBAL"),
            (ast::VariableScope::Global, Scope::Session) => Some("SESSION"),
            _ => None,
        };
        if let Some(own) = wrong_scope {
            return Err(SqlError::new(
                code::ER_INCORRECT_GLOBAL_LOCAL_VAR,
                format!("Variable '{}' is a {own} variable", variable.name),
            ));
        }
        let text = self.variable_text(scope, variable);
        if variable.name == "character_set_results"
            && scope != ast::VariableScope::Global
            && self.settings.character_set_results.is_none()
        {
            return Ok(Value::Null);
        }
        if variable.name == "secure_file_priv" && self.server.config().secure_file_priv.is_none() {
            return Ok(Value::Null);
        }
        Ok(match variable.kind {
            Kind::Bool(_) => Value::Int(i64::from(text == "ON")),
            Kind::Int { .. } => Value::UInt(text.parse().unwrap_or(0)),
            Kind::Computed(true) => match (text.as_str(), text.parse::<u64>()) {
                ("ON", _) => Value::Int(1),
                ("OFF", _) => Value::Int(0),
                (_, Ok(number)) => Value::UInt(number),
                (_, Err(_)) => match Decimal::parse(&text) {
                    Some(number) => Value::Decimal(number),
                    None => Value::Null,
                },
            },
            Kind::Text(_) if variable.name == "long_query_time" => {
                Decimal::parse(&text).map_or(Value::Null, Value::Decimal)
            }
            Kind::Text(_) | Kind::Word(_) | Kind::Switches(_) | Kind::Computed(false) => {
                Value::text(&text, Collation::default())
            }
        })
    }

    /// The value as SHOW VARIABLES shows it.
    pub(crate) fn variable_text(&self, scope: ast::VariableScope, variable: &Variable) -> String {
        let name = variable.name;
        let is_global = scope == ast::VariableScope::Global || variable.scope == Scope::Global;
        if is_global && let Some(text) = self.server.global(name) {
            return text;
        }
        if !is_global {
            match name {
                "autocommit" => return on_off(self.settings.autocommit),
                _ => {
                    if let Some(text) = self.settings.kept.get(name) {
                        return text.clone();
                    }
                }
            }
        }
        if let Some(default) = self.default_text(variable) {
            return default;
        }
        default_of(variable.kind).unwrap_or_else(|| self.computed_variable(name, is_global))
    }

    fn computed_variable(&self, name: &str, is_global: bool) -> String {
        let config = self.server.config();
        let defaults = variables::Settings::default();
        let settings = if is_global { &defaults } else { &self.settings };
        match name {
            "character_set_client" => settings.character_set_client.name().into(),
            "character_set_connection" => settings.collation_connection.charset_name().into(),
            "character_set_results" => {
                settings.character_set_results.map_or("", Collation::charset_name).into()
            }
            "character_set_server" => "utf8mb4".into(),
            "character_set_database" => self.database_collation().charset_name().into(),
            "collation_connection" => settings.collation_connection.name().into(),
            "collation_server" => Collation::default().name().into(),
            "collation_database" => self.database_collation().name().into(),
            "datadir" | "tmpdir" => config.datadir.clone(),
            "hostname" => config.hostname.clone(),
            "port" => config.port.to_string(),
            "socket" => config.socket.clone(),
            "secure_file_priv" => config.secure_file_priv.clone().unwrap_or_else(|| "NULL".into()),
            "version" => config.version_text.clone(),
            "server_id" => config.node.0.to_string(),
            "server_uuid" => format!("00000000-0000-4000-8000-{:012x}", config.node.0),
            "max_connections" => config.max_connections.to_string(),
            "sql_mode" => settings.sql_mode.text(),
            "time_zone" => settings.time_zone.clone(),
            "transaction_isolation" | "tx_isolation" => settings.isolation.name().into(),
            "transaction_read_only" | "tx_read_only" => on_off(settings.read_only),
            "error_count" => self.frame.diagnostics.error_count().to_string(),
            "warning_count" => self.frame.diagnostics.count().to_string(),
            "last_insert_id" | "identity" => self.last_insert_id.to_string(),
            // They are written only.
            "rand_seed1" | "rand_seed2" => "0".into(),
            "skarv_commit_token" => settings.commit_token.clone().unwrap_or_default(),
            "pseudo_thread_id" => self.info.id.to_string(),
            "timestamp" => {
                let micros = match settings.timestamp_micros {
                    Some(micros) => micros,
                    None => self.client.client().wall_clock_micros(),
                };
                format!("{}.{:06}", micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000))
            }
            _ => String::new(),
        }
    }

    /// Whether a kept variable has this value, which is not its default.
    pub(crate) fn kept_is(&self, name: &str, value: &str) -> bool {
        self.settings.kept.get(name).is_some_and(|own| own == value)
    }

    /// A kept variable of numbers.
    pub(crate) fn kept_number(&self, name: &str) -> u64 {
        let variable = variables::find(name).expect("a variable's name");
        let kept = self.settings.kept.get(name).cloned();
        let text = kept.or_else(|| self.server.global(name));
        let default = match variable.kind {
            Kind::Int { default, .. } => default,
            _ => 0,
        };
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    }
}

fn find(name: &str) -> Result<&'static Variable, SqlError> {
    variables::find(name).ok_or_else(|| SqlError::unknown_system_variable(name))
}

/// A character set that connections may use; 1115 or 1235 for others.
fn served_charset(name: &str) -> Result<Charset, SqlError> {
    Charset::by_name(name).ok_or_else(|| SqlError::unknown_character_set(name))
}

/// The same for what the client writes: MySQL cannot read statements in the wide ones.
fn client_charset(name: &str) -> Result<Charset, SqlError> {
    if let Some(wide @ ("ucs2" | "utf16" | "utf16le" | "utf32")) = names::charset_named(name) {
        return Err(SqlError::wrong_value_for_variable("character_set_client", wide));
    }
    served_charset(name)
}

fn known_collation(name: &str) -> Result<Collation, SqlError> {
    Collation::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))
}

/// A character set's name. A number is a collation's and means its character set.
fn charset_text(value: &NewValue, text: &str) -> String {
    let number = match value {
        NewValue::Value(Value::Int(_) | Value::UInt(_)) => text.parse().ok(),
        _ => None,
    };
    number.and_then(names::charset_of_number).unwrap_or(text).to_string()
}

/// Values of which some are refused, each for its own reason.
fn check_composite(name: &str, text: &str) -> Result<(), SqlError> {
    match (name, text) {
        ("completion_type", "RELEASE") => Err(SqlError::not_supported("completion_type = RELEASE")),
        _ => Ok(()),
    }
}

fn number(name: &str, value: &NewValue) -> Result<u64, SqlError> {
    match value {
        NewValue::Default => Ok(0),
        NewValue::Value(Value::Int(number)) => Ok(u64::try_from(*number).unwrap_or(0)),
        NewValue::Value(Value::UInt(number)) => Ok(*number),
        _ => Err(SqlError::wrong_type_for_variable(name)),
    }
}

/// The expression whose value an item of SET assigns.
fn set_expr(item: &ast::SetItem) -> Option<&ast::Expr> {
    match item {
        ast::SetItem::UserVariable { value, .. } => Some(value),
        ast::SetItem::SystemVariable { value, .. } => match value {
            ast::SetValue::Expr(ast::Expr::Column(word)) if word.table.is_none() => None,
            ast::SetValue::Expr(expr) => Some(expr),
            ast::SetValue::Default | ast::SetValue::Word(_) => None,
        },
        ast::SetItem::Names { .. }
        | ast::SetItem::CharacterSet { .. }
        | ast::SetItem::Transaction { .. } => None,
    }
}
