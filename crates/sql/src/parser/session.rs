//! SET, transactions, prepared statements by name, locks, and the small administrative statements.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::lexer::TokenKind;

/// Behind SET: GLOBAL, SESSION, ...
#[derive(Clone, Copy, PartialEq)]
enum ScopeWord {
    None,
    Written(VariableScope),
}

impl Parser<'_> {
    // -----------------------------------------------------------------------------------------------------------
    // SET

    /// At SET.
    pub fn set(&mut self) -> Parse<Statement> {
        self.expect("SET")?;
        if self.at("PASSWORD") {
            return self.set_password();
        }
        let is_role =
            self.at("ROLE") && !matches!(self.peek().kind, TokenKind::Equal | TokenKind::Assign);
        if is_role {
            return self.set_role();
        }
        if self.at("DEFAULT") && self.next_is("ROLE") {
            return self.set_default_role();
        }
        if self.at("RESOURCE") && self.next_is("GROUP") {
            self.skip_statement()?;
            return Ok(Statement::Unsupported { feature: "SET RESOURCE GROUP".to_string() });
        }
        // A scope word holds for the names behind it, too.
        let mut scope = VariableScope::Session;
        let items = self.list(|parser| parser.set_item(&mut scope))?;
        Ok(Statement::Set(items))
    }

    fn scope_word(&mut self) -> ScopeWord {
        let scope = match self.word() {
            "GLOBAL" => VariableScope::Global,
            "SESSION" | "LOCAL" => VariableScope::Session,
            "PERSIST" => VariableScope::Persist,
            "PERSIST_ONLY" => VariableScope::PersistOnly,
            _ => return ScopeWord::None,
        };
        // `SET local = 1` names a variable; `SET GLOBAL x = 1` does not.
        if matches!(self.peek().kind, TokenKind::Equal | TokenKind::Assign | TokenKind::Dot) {
            return ScopeWord::None;
        }
        self.advance();
        ScopeWord::Written(scope)
    }

    /// `sticky`: the scope of a name without a scope word.
    fn set_item(&mut self, sticky: &mut VariableScope) -> Parse<SetItem> {
        if self.at_kind(TokenKind::UserVariable) {
            let name = self.user_variable()?;
            if name.is_empty() {
                return self.syntax_error();
            }
            self.expect_assignment()?;
            return Ok(SetItem::UserVariable { name, value: self.expression()? });
        }
        if self.at_kind(TokenKind::AtAt) {
            let (scope, name) = self.system_variable()?;
            return self.set_variable(scope, name);
        }
        let scope_word = self.scope_word();
        let is_assignment = matches!(self.peek().kind, TokenKind::Equal | TokenKind::Assign);
        if self.at("TRANSACTION") && !is_assignment {
            return self.set_transaction(scope_word);
        }
        if let ScopeWord::Written(scope) = scope_word {
            *sticky = scope;
            let name = self.dotted_variable()?;
            return self.set_variable(scope, name);
        }
        match self.word() {
            "NAMES" if !is_assignment => {
                self.advance();
                if self.accept("DEFAULT") {
                    return Ok(SetItem::Names { charset: None, collation: None });
                }
                let charset = Some(self.charset_name()?);
                let mut collation = None;
                if self.accept("COLLATE") && !self.accept("DEFAULT") {
                    collation = Some(self.charset_name()?);
                }
                Ok(SetItem::Names { charset, collation })
            }
            "CHARACTER" | "CHARSET" | "CHAR" if !is_assignment => {
                if !self.accept("CHARSET") {
                    self.advance();
                    self.expect("SET")?;
                }
                let charset =
                    if self.accept("DEFAULT") { None } else { Some(self.charset_name()?) };
                Ok(SetItem::CharacterSet { charset })
            }
            _ => {
                let name = self.dotted_variable()?;
                self.set_variable(*sticky, name)
            }
        }
    }

    /// `name` or `component.name`.
    fn dotted_variable(&mut self) -> Parse<String> {
        let mut name = self.name()?;
        while self.accept_kind(TokenKind::Dot) {
            name.push('.');
            name.push_str(&self.name_after_dot()?);
        }
        Ok(name)
    }

    pub fn expect_assignment(&mut self) -> Parse<()> {
        if self.accept_kind(TokenKind::Assign) {
            return Ok(());
        }
        self.expect_kind(TokenKind::Equal)
    }

    fn set_variable(&mut self, scope: VariableScope, name: String) -> Parse<SetItem> {
        self.expect_assignment()?;
        let is_last = {
            let next = self.peek().kind;
            matches!(next, TokenKind::End | TokenKind::Semicolon | TokenKind::Comma)
        };
        // A bare word is a value of its own: ON, ALL, utf8mb4, the reserved BINARY and ROW among them.
        let is_constant = matches!(self.word(), "NULL" | "TRUE" | "FALSE");
        let is_call = self.word().starts_with("CURRENT_") || self.word().starts_with("LOCALTIME");
        let value = if is_last && self.accept("DEFAULT") {
            SetValue::Default
        } else if is_last && self.at_kind(TokenKind::Word) && !is_constant && !is_call {
            let word = String::from_utf8_lossy(self.token_text()).into_owned();
            self.advance();
            SetValue::Word(word)
        } else {
            SetValue::Expr(self.expression()?)
        };
        Ok(SetItem::SystemVariable { scope, name, value })
    }

    /// At TRANSACTION.
    fn set_transaction(&mut self, scope: ScopeWord) -> Parse<SetItem> {
        let scope = match scope {
            ScopeWord::None => TransactionScope::Next,
            ScopeWord::Written(VariableScope::Session) => TransactionScope::Session,
            ScopeWord::Written(VariableScope::Global) => TransactionScope::Global,
            ScopeWord::Written(_) => return self.syntax_error(),
        };
        self.expect("TRANSACTION")?;
        let mut isolation = None;
        let mut read_only = None;
        loop {
            if isolation.is_none() && self.accept_two("ISOLATION", "LEVEL") {
                isolation = Some(self.isolation_level()?);
            } else if read_only.is_none() && self.accept_two("READ", "ONLY") {
                read_only = Some(true);
            } else if read_only.is_none() && self.accept_two("READ", "WRITE") {
                read_only = Some(false);
            } else {
                return self.syntax_error();
            }
            let goes_on = self.at_kind(TokenKind::Comma)
                && (self.next_is("ISOLATION") || self.next_is("READ"));
            if !goes_on {
                return Ok(SetItem::Transaction { scope, isolation, read_only });
            }
            self.advance();
        }
    }

    fn isolation_level(&mut self) -> Parse<IsolationLevel> {
        if self.accept_two("READ", "UNCOMMITTED") {
            return Ok(IsolationLevel::ReadUncommitted);
        }
        if self.accept_two("READ", "COMMITTED") {
            return Ok(IsolationLevel::ReadCommitted);
        }
        if self.accept_two("REPEATABLE", "READ") {
            return Ok(IsolationLevel::RepeatableRead);
        }
        if self.accept("SERIALIZABLE") {
            return Ok(IsolationLevel::Serializable);
        }
        self.syntax_error()
    }

    // -----------------------------------------------------------------------------------------------------------
    // Transactions

    /// At BEGIN.
    pub fn begin(&mut self) -> Parse<Statement> {
        self.expect("BEGIN")?;
        self.accept("WORK");
        Ok(Statement::Begin { read_only: None, consistent_snapshot: false })
    }

    /// At TRANSACTION, behind START.
    pub fn start_transaction(&mut self) -> Parse<Statement> {
        self.expect("TRANSACTION")?;
        let mut read_only = None;
        let mut consistent_snapshot = false;
        if !self.at_end() {
            self.list(|parser| {
                if parser.accept("WITH") {
                    parser.expect("CONSISTENT")?;
                    parser.expect("SNAPSHOT")?;
                    consistent_snapshot = true;
                } else if read_only.is_none() && parser.accept_two("READ", "ONLY") {
                    read_only = Some(true);
                } else if read_only.is_none() && parser.accept_two("READ", "WRITE") {
                    read_only = Some(false);
                } else {
                    return parser.syntax_error();
                }
                Ok(())
            })?;
        }
        Ok(Statement::Begin { read_only, consistent_snapshot })
    }

    /// Behind COMMIT or ROLLBACK [WORK].
    fn completion(&mut self) -> Parse<Completion> {
        let mut completion = Completion::default();
        if self.accept("AND") {
            completion.chain = Some(!self.accept("NO"));
            self.expect("CHAIN")?;
        }
        if self.at("NO") || self.at("RELEASE") {
            completion.release = Some(!self.accept("NO"));
            self.expect("RELEASE")?;
        }
        if completion.chain == Some(true) && completion.release == Some(true) {
            return self.syntax_error();
        }
        Ok(completion)
    }

    pub fn commit(&mut self) -> Parse<Statement> {
        self.expect("COMMIT")?;
        self.accept("WORK");
        Ok(Statement::Commit(self.completion()?))
    }

    pub fn rollback(&mut self) -> Parse<Statement> {
        self.expect("ROLLBACK")?;
        self.accept("WORK");
        if self.accept("TO") {
            self.accept("SAVEPOINT");
            return Ok(Statement::RollbackTo(self.name()?));
        }
        Ok(Statement::Rollback(self.completion()?))
    }

    // -----------------------------------------------------------------------------------------------------------
    // Prepared statements by name

    pub fn prepare(&mut self) -> Parse<Statement> {
        self.expect("PREPARE")?;
        let name = self.name()?;
        self.expect("FROM")?;
        let source = if self.at_kind(TokenKind::UserVariable) {
            PrepareSource::Variable(self.user_variable()?)
        } else {
            PrepareSource::Text(self.string_bytes()?)
        };
        Ok(Statement::Prepare { name, source })
    }

    pub fn execute(&mut self) -> Parse<Statement> {
        self.expect("EXECUTE")?;
        let name = self.name()?;
        let using = if self.accept("USING") { self.list(Self::user_variable)? } else { Vec::new() };
        Ok(Statement::Execute { name, using })
    }

    // -----------------------------------------------------------------------------------------------------------
    // Locks and administration

    /// At LOCK.
    pub fn lock(&mut self) -> Parse<Statement> {
        self.expect("LOCK")?;
        if self.accept("INSTANCE") {
            self.skip_statement()?;
            return Ok(Statement::Unsupported { feature: "LOCK INSTANCE".to_string() });
        }
        self.expect_any(&["TABLES", "TABLE"])?;
        let tables = self.list(|parser| {
            let table = parser.object_name()?;
            // LOW_PRIORITY, READ and WRITE are reserved, so no alias.
            let alias = parser.table_alias()?;
            let write = if parser.accept("READ") {
                parser.accept("LOCAL");
                false
            } else {
                parser.accept("LOW_PRIORITY");
                parser.expect("WRITE")?;
                true
            };
            Ok(LockTable { table, alias, write })
        })?;
        Ok(Statement::LockTables(tables))
    }

    /// At UNLOCK.
    pub fn unlock(&mut self) -> Parse<Statement> {
        self.expect("UNLOCK")?;
        if self.accept("INSTANCE") {
            return Ok(Statement::Unsupported { feature: "UNLOCK INSTANCE".to_string() });
        }
        self.expect_any(&["TABLES", "TABLE"])?;
        Ok(Statement::UnlockTables)
    }

    /// At FLUSH.
    pub fn flush(&mut self) -> Parse<Statement> {
        self.expect("FLUSH")?;
        self.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.accept_any(&["TABLES", "TABLE"]) {
            let mut tables = Vec::new();
            if self.at_name() {
                tables = self.list(Self::object_name)?;
            }
            let mut with_read_lock = false;
            if self.accept("WITH") {
                self.expect("READ")?;
                self.expect("LOCK")?;
                with_read_lock = true;
            } else if self.accept("FOR") {
                self.expect("EXPORT")?;
                with_read_lock = true;
            }
            return Ok(Statement::Flush { what: "TABLES".to_string(), tables, with_read_lock });
        }
        let mut what = String::new();
        while !self.at_end() {
            if self.at_kind(TokenKind::Comma) {
                what.push(',');
                self.advance();
                continue;
            }
            if self.word().is_empty() {
                return self.syntax_error();
            }
            if !what.is_empty() {
                what.push(' ');
            }
            what.push_str(self.word());
            self.advance();
        }
        if what.is_empty() {
            return self.syntax_error();
        }
        Ok(Statement::Flush { what, tables: Vec::new(), with_read_lock: false })
    }

    /// At KILL.
    pub fn kill(&mut self) -> Parse<Statement> {
        self.expect("KILL")?;
        let query = self.accept("QUERY");
        if !query {
            self.accept("CONNECTION");
        }
        Ok(Statement::Kill { query, id: Box::new(self.expression()?) })
    }

    /// At ANALYZE, OPTIMIZE, CHECK, REPAIR or CHECKSUM.
    pub fn table_maintenance(&mut self, kind: TableMaintenance) -> Parse<Statement> {
        self.advance();
        self.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        self.expect_any(&["TABLE", "TABLES"])?;
        let tables = self.list(Self::object_name)?;
        match kind {
            TableMaintenance::Analyze => {
                if self.at("UPDATE") || self.at("DROP") {
                    self.skip_statement()?;
                    let feature = "ANALYZE TABLE ... HISTOGRAM".to_string();
                    return Ok(Statement::Unsupported { feature });
                }
            }
            TableMaintenance::Check | TableMaintenance::Repair | TableMaintenance::Checksum => {
                const OPTIONS: &[&str] =
                    &["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED", "USE_FRM"];
                while self.accept_any(OPTIONS) || self.accept_two("FOR", "UPGRADE") {}
            }
            TableMaintenance::Optimize => {}
        }
        Ok(Statement::TableMaintenance { kind, tables })
    }
}
