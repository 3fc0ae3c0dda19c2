//! Account management: CREATE, ALTER, DROP and RENAME USER, CREATE and DROP ROLE, GRANT, REVOKE,
//! SET PASSWORD, SET ROLE, SET DEFAULT ROLE.
//!
//! The problem: until ON or TO is read, the list behind GRANT may be of privileges or of roles, and
//! `backup_admin` can be either. The idea: the list is read into [`GrantItem`]s, which hold both
//! meanings, and the word behind the list chooses.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::error::{ParseError, ParseErrorKind};
use super::lexer::{Token, TokenKind};

/// Privileges that the grammar knows, those of several words first. All others are dynamic.
#[rustfmt::skip]
const STATIC_PRIVILEGES: &[&str] = &[
    "ALTER ROUTINE", "CREATE ROLE", "CREATE ROUTINE", "CREATE TABLESPACE",
    "CREATE TEMPORARY TABLES", "CREATE USER", "CREATE VIEW", "DROP ROLE", "GRANT OPTION",
    "LOCK TABLES", "REPLICATION CLIENT", "REPLICATION SLAVE", "SHOW DATABASES", "SHOW VIEW",
    "ALTER", "CREATE", "DELETE", "DROP", "EVENT", "EXECUTE", "FILE", "INDEX", "INSERT", "PROCESS",
    "REFERENCES", "RELOAD", "SELECT", "SHUTDOWN", "SUPER", "TRIGGER", "UPDATE", "USAGE",
];

/// Unreserved words that name no role without quotes: a privilege or a keyword of the same
/// statements has the name.
#[rustfmt::skip]
const NO_ROLES: &[&str] = &[
    "EVENT", "EXECUTE", "FILE", "NONE", "PROCESS", "PROXY", "RELOAD", "REPLICATION", "RESOURCE",
    "RESTART", "SHUTDOWN", "SUPER",
];

/// Longest name that error 1470 shows, in characters.
const SHOWN_NAME_LENGTH_MAX: usize = 70;

/// An entry of the list behind GRANT or REVOKE: a privilege or a role.
struct GrantItem {
    /// The first token, for errors.
    token: Token,
    /// One of [`STATIC_PRIVILEGES`], never a role.
    is_static: bool,
    /// As written; a static privilege in upper case.
    name: String,
    /// `@host`, behind a role only.
    host: Option<String>,
    /// Behind a privilege only.
    columns: Vec<String>,
}

fn account(statement: AccountStatement) -> Parse<Statement> {
    Ok(Statement::Account(Box::new(statement)))
}

impl Parser<'_> {
    // -----------------------------------------------------------------------------------------------------------
    // Names

    /// `user@host`, `'user'@'host'`, `user`, CURRENT_USER, CURRENT_USER().
    pub fn user_name(&mut self) -> Parse<UserName> {
        if self.accept("CURRENT_USER") {
            if self.accept_kind(TokenKind::LeftParen) {
                self.expect_kind(TokenKind::RightParen)?;
            }
            return Ok(UserName::Current);
        }
        // A user's name may be the empty string.
        let user = self.name_or_string()?;
        let host = self.user_host()?;
        self.checked_name(user, host)
    }

    /// A role: a user name that is neither CURRENT_USER nor a word of [`NO_ROLES`].
    fn role_name(&mut self) -> Parse<UserName> {
        let role = self.role_text()?;
        let host = self.user_host()?;
        self.checked_name(role, host)
    }

    fn role_text(&mut self) -> Parse<String> {
        if NO_ROLES.contains(&self.word()) {
            return self.syntax_error();
        }
        self.name_or_string()
    }

    /// `@host`, if it is there.
    fn user_host(&mut self) -> Parse<Option<String>> {
        if !self.at_kind(TokenKind::UserVariable) {
            return Ok(None);
        }
        let is_lone = self.token_text() == b"@";
        let host = self.user_variable()?;
        // `user @ 'host'` leaves the host behind a lone @.
        if is_lone { Ok(Some(self.name_or_string()?)) } else { Ok(Some(host)) }
    }

    /// The name, or the error for one that no account can have.
    fn checked_name(&self, user: String, host: Option<String>) -> Parse<UserName> {
        let host = host.unwrap_or_else(|| "%".to_string());
        if user.contains('\0') || host.contains('\0') {
            return self.syntax_error();
        }
        if USER_LENGTH_MAX < user.chars().count() {
            return Err(self.name_too_long(&user, "user name", USER_LENGTH_MAX));
        }
        if HOST_LENGTH_MAX < host.len() {
            return Err(self.name_too_long(&host, "host name", HOST_LENGTH_MAX));
        }
        if host.contains('@') {
            return Err(self.error(ParseErrorKind::IllegalHost));
        }
        Ok(UserName::Named { user, host: host.to_lowercase() })
    }

    fn name_too_long(&self, name: &str, what: &'static str, length_max: usize) -> ParseError {
        let mut error = self.error(ParseErrorKind::NameTooLong(what, length_max));
        error.near = name.chars().take(SHOWN_NAME_LENGTH_MAX).collect();
        error
    }

    /// A feature of an account statement that is known by name only.
    fn unsupported_account(&mut self, feature: &str) -> Parse<Statement> {
        self.skip_statement()?;
        Ok(Statement::Unsupported { feature: feature.to_string() })
    }

    // -----------------------------------------------------------------------------------------------------------
    // Users

    /// At USER, behind CREATE.
    pub fn create_user(&mut self) -> Parse<Statement> {
        self.expect("USER")?;
        let if_not_exists = self.accept_if_not_exists()?;
        let mut users = Vec::new();
        loop {
            let user = self.user_name()?;
            let auth = self.accept_auth()?;
            if self.at("AND") && self.next_is("IDENTIFIED") {
                return self.unsupported_account("CREATE USER ... AND IDENTIFIED");
            }
            if self.at("INITIAL") && self.next_is("AUTHENTICATION") {
                return self.unsupported_account("CREATE USER ... INITIAL AUTHENTICATION");
            }
            users.push(UserSpec { auth, ..UserSpec::new(user) });
            if !self.accept_kind(TokenKind::Comma) {
                break;
            }
        }
        let mut default_roles = Vec::new();
        if self.accept("DEFAULT") {
            self.expect("ROLE")?;
            default_roles = self.list(Self::role_name)?;
        }
        let options = self.user_options()?;
        account(AccountStatement::CreateUser { if_not_exists, users, default_roles, options })
    }

    /// At USER, behind ALTER.
    pub fn alter_user(&mut self) -> Parse<Statement> {
        self.expect("USER")?;
        let if_exists = self.accept_if_exists()?;
        if self.at("USER") && self.peek().kind == TokenKind::LeftParen {
            return self.alter_own_user(if_exists);
        }
        let mut users = Vec::new();
        loop {
            let user = self.user_name()?;
            if users.is_empty() && self.accept_two("DEFAULT", "ROLE") {
                let roles = self.assignable_roles()?;
                return account(AccountStatement::AlterUserDefaultRole { if_exists, user, roles });
            }
            if self.at_factor_change() {
                return self.unsupported_account("ALTER USER ... FACTOR");
            }
            if users.is_empty() && self.at_factor() {
                return self.unsupported_account("ALTER USER ... REGISTRATION");
            }
            let mut spec = UserSpec::new(user);
            self.alter_user_clauses(&mut spec)?;
            users.push(spec);
            if !self.accept_kind(TokenKind::Comma) {
                break;
            }
        }
        let options = self.user_options()?;
        account(AccountStatement::AlterUser { if_exists, users, options })
    }

    /// At USER() of ALTER USER: only the own password can be changed here.
    fn alter_own_user(&mut self, if_exists: bool) -> Parse<Statement> {
        self.expect("USER")?;
        self.expect_kind(TokenKind::LeftParen)?;
        self.expect_kind(TokenKind::RightParen)?;
        if self.at_factor() {
            return self.unsupported_account("ALTER USER ... REGISTRATION");
        }
        let mut spec = UserSpec::new(UserName::Current);
        if !(self.at("IDENTIFIED") && self.next_is("BY") || self.at("DISCARD")) {
            return self.syntax_error();
        }
        self.alter_user_clauses(&mut spec)?;
        let options = UserOptions::default();
        account(AccountStatement::AlterUser { if_exists, users: vec![spec], options })
    }

    /// Whether `n FACTOR` follows: the registration of a device.
    fn at_factor(&self) -> bool {
        self.at_kind(TokenKind::Integer) && self.next_is("FACTOR")
    }

    /// Whether ADD, MODIFY or DROP `n FACTOR` follows.
    fn at_factor_change(&self) -> bool {
        matches!(self.word(), "ADD" | "MODIFY" | "DROP")
            && self.peek().kind == TokenKind::Integer
            && self.second_is("FACTOR")
    }

    /// Behind the name of an account in ALTER USER.
    fn alter_user_clauses(&mut self, spec: &mut UserSpec) -> Parse<()> {
        spec.auth = self.accept_auth()?;
        let (can_replace, can_retain) = match &spec.auth {
            None => {
                if self.accept("DISCARD") {
                    self.expect("OLD")?;
                    self.expect("PASSWORD")?;
                    spec.discard_old = true;
                }
                return Ok(());
            }
            Some(Auth::Password(_) | Auth::Random) => (true, true),
            Some(Auth::Plugin { secret, .. }) => {
                (matches!(secret, PluginSecret::Password(_)), !matches!(secret, PluginSecret::None))
            }
        };
        if can_replace {
            spec.replace = self.accept_replace()?;
        }
        if can_retain {
            spec.retain = self.accept_retain()?;
        }
        Ok(())
    }

    /// REPLACE 'current password', if it is there.
    fn accept_replace(&mut self) -> Parse<Option<Vec<u8>>> {
        if self.accept("REPLACE") { Ok(Some(self.string_bytes()?)) } else { Ok(None) }
    }

    /// RETAIN CURRENT PASSWORD, if it is there.
    fn accept_retain(&mut self) -> Parse<bool> {
        if !self.accept("RETAIN") {
            return Ok(false);
        }
        self.expect("CURRENT")?;
        self.expect("PASSWORD")?;
        Ok(true)
    }

    /// IDENTIFIED BY or IDENTIFIED WITH, if it is there.
    fn accept_auth(&mut self) -> Parse<Option<Auth>> {
        if !self.accept("IDENTIFIED") {
            return Ok(None);
        }
        if self.accept("BY") {
            let password = self.password_or_random()?;
            return Ok(Some(password.map_or(Auth::Random, Auth::Password)));
        }
        self.expect("WITH")?;
        let plugin = self.name_or_string()?;
        let secret = if self.accept("BY") {
            self.password_or_random()?.map_or(PluginSecret::Random, PluginSecret::Password)
        } else if self.accept("AS") {
            PluginSecret::Hash(self.hash_bytes()?)
        } else {
            PluginSecret::None
        };
        Ok(Some(Auth::Plugin { plugin, secret }))
    }

    /// Behind BY: a password, or RANDOM PASSWORD (None).
    fn password_or_random(&mut self) -> Parse<Option<Vec<u8>>> {
        if self.accept("RANDOM") {
            self.expect("PASSWORD")?;
            return Ok(None);
        }
        Ok(Some(self.string_bytes()?))
    }

    /// A hash as a string or as a hexadecimal literal.
    fn hash_bytes(&mut self) -> Parse<Vec<u8>> {
        if !matches!(self.kind(), TokenKind::HexNumber | TokenKind::HexString) {
            return self.string_bytes();
        }
        match self.literal()? {
            Expr::Literal(Literal::Hex(bytes)) => Ok(bytes),
            _ => self.syntax_error(),
        }
    }

    /// The clauses behind the accounts, in MySQL's order.
    fn user_options(&mut self) -> Parse<UserOptions> {
        let mut options = UserOptions { require: self.accept_require()?, ..UserOptions::default() };
        if self.accept("WITH") {
            options.limits.push(self.resource_limit()?);
            while self.word().starts_with("MAX_") {
                options.limits.push(self.resource_limit()?);
            }
        }
        loop {
            match self.word() {
                "ACCOUNT" => {
                    self.advance();
                    options.lock = Some(self.at("LOCK"));
                    self.expect_any(&["LOCK", "UNLOCK"])?;
                }
                "PASSWORD" | "FAILED_LOGIN_ATTEMPTS" | "PASSWORD_LOCK_TIME" => {
                    options.password.push(self.password_option()?);
                }
                _ => break,
            }
        }
        if self.accept("COMMENT") {
            options.comment = Some(Comment::Comment(self.string_text()?));
        } else if self.accept("ATTRIBUTE") {
            options.comment = Some(Comment::Attribute(self.string_text()?));
        }
        Ok(options)
    }

    /// REQUIRE, if it is there.
    fn accept_require(&mut self) -> Parse<Option<Require>> {
        if !self.accept("REQUIRE") {
            return Ok(None);
        }
        let simple = match self.word() {
            "NONE" => Some(Require::None),
            "SSL" => Some(Require::Ssl),
            "X509" => Some(Require::X509),
            _ => None,
        };
        if simple.is_some() {
            self.advance();
            return Ok(simple);
        }
        let (mut subject, mut issuer, mut cipher) = (None, None, None);
        loop {
            let (property, name) = match self.word() {
                "SUBJECT" => (&mut subject, "SUBJECT"),
                "ISSUER" => (&mut issuer, "ISSUER"),
                "CIPHER" => (&mut cipher, "CIPHER"),
                _ => return self.syntax_error(),
            };
            self.advance();
            let text = self.string_bytes()?;
            if property.replace(text).is_some() {
                return Err(self.error(ParseErrorKind::UsedTwice(name)));
            }
            if !self.accept("AND") && !matches!(self.word(), "SUBJECT" | "ISSUER" | "CIPHER") {
                return Ok(Some(Require::Specified { subject, issuer, cipher }));
            }
        }
    }

    /// MAX_... n.
    fn resource_limit(&mut self) -> Parse<(ResourceLimit, u64)> {
        let limit = match self.word() {
            "MAX_QUERIES_PER_HOUR" => ResourceLimit::Queries,
            "MAX_UPDATES_PER_HOUR" => ResourceLimit::Updates,
            "MAX_CONNECTIONS_PER_HOUR" => ResourceLimit::Connections,
            "MAX_USER_CONNECTIONS" => ResourceLimit::UserConnections,
            _ => return self.syntax_error(),
        };
        self.advance();
        Ok((limit, self.width()?))
    }

    /// At PASSWORD, FAILED_LOGIN_ATTEMPTS or PASSWORD_LOCK_TIME.
    fn password_option(&mut self) -> Parse<PasswordOption> {
        if self.accept("FAILED_LOGIN_ATTEMPTS") {
            let attempts = self.number_within("FAILED_LOGIN_ATTEMPTS", 0, ATTEMPTS_MAX)?;
            return Ok(PasswordOption::FailedAttempts(attempts));
        }
        if self.accept("PASSWORD_LOCK_TIME") {
            if self.accept("UNBOUNDED") {
                return Ok(PasswordOption::LockTime(None));
            }
            let days = self.number_within("PASSWORD_LOCK_TIME", 0, ATTEMPTS_MAX)?;
            return Ok(PasswordOption::LockTime(Some(days)));
        }
        self.expect("PASSWORD")?;
        if self.accept("EXPIRE") {
            let expire = if self.accept("DEFAULT") {
                Expire::Default
            } else if self.accept("NEVER") {
                Expire::Never
            } else if self.accept("INTERVAL") {
                let days = self.number_within("DAY", 1, EXPIRE_DAYS_MAX)?;
                self.expect("DAY")?;
                Expire::Days(days)
            } else {
                Expire::Now
            };
            return Ok(PasswordOption::Expire(expire));
        }
        if self.accept("HISTORY") {
            return Ok(PasswordOption::History(self.number_or_default()?));
        }
        if self.accept("REUSE") {
            self.expect("INTERVAL")?;
            let days = self.number_or_default()?;
            if days.is_some() {
                self.expect("DAY")?;
            }
            return Ok(PasswordOption::Reuse(days));
        }
        self.expect("REQUIRE")?;
        self.expect("CURRENT")?;
        Ok(PasswordOption::RequireCurrent(if self.accept("DEFAULT") {
            None
        } else {
            Some(!self.accept("OPTIONAL"))
        }))
    }

    /// DEFAULT (None) or a number; one too large becomes the largest.
    fn number_or_default(&mut self) -> Parse<Option<u32>> {
        if self.accept("DEFAULT") {
            return Ok(None);
        }
        Ok(Some(u32::try_from(self.width()?).unwrap_or(u32::MAX)))
    }

    /// A number of the option `name`; error 1525 for one outside of the bounds.
    fn number_within(&mut self, name: &'static str, min: u64, max: u64) -> Parse<u32> {
        let token = self.token_text();
        let number = self.width()?;
        if (min..=max).contains(&number)
            && let Ok(number) = u32::try_from(number)
        {
            return Ok(number);
        }
        let mut error = self.error(ParseErrorKind::WrongValue(name));
        error.near = String::from_utf8_lossy(token).chars().take(SHOWN_NAME_LENGTH_MAX).collect();
        Err(error)
    }

    /// At USER, behind DROP.
    pub fn drop_user(&mut self) -> Parse<Statement> {
        self.expect("USER")?;
        let if_exists = self.accept_if_exists()?;
        let users = self.list(Self::user_name)?;
        account(AccountStatement::DropUser { if_exists, users })
    }

    /// At RENAME USER.
    pub fn rename_user(&mut self) -> Parse<Statement> {
        self.expect("RENAME")?;
        self.expect("USER")?;
        let pairs = self.list(|parser| {
            let source = parser.user_name()?;
            parser.expect("TO")?;
            Ok((source, parser.user_name()?))
        })?;
        account(AccountStatement::RenameUser(pairs))
    }

    /// At PASSWORD, behind SET.
    pub fn set_password(&mut self) -> Parse<Statement> {
        self.expect("PASSWORD")?;
        let user = if self.accept("FOR") { self.user_name()? } else { UserName::Current };
        let password = if self.accept("TO") {
            self.expect("RANDOM")?;
            None
        } else {
            self.expect_assignment()?;
            Some(self.string_bytes()?)
        };
        let replace = self.accept_replace()?;
        let retain = self.accept_retain()?;
        account(AccountStatement::SetPassword { user, password, replace, retain })
    }

    // -----------------------------------------------------------------------------------------------------------
    // Roles

    /// At ROLE, behind CREATE.
    pub fn create_role(&mut self) -> Parse<Statement> {
        self.expect("ROLE")?;
        let if_not_exists = self.accept_if_not_exists()?;
        let roles = self.list(Self::role_name)?;
        account(AccountStatement::CreateRole { if_not_exists, roles })
    }

    /// At ROLE, behind DROP.
    pub fn drop_role(&mut self) -> Parse<Statement> {
        self.expect("ROLE")?;
        let if_exists = self.accept_if_exists()?;
        let roles = self.list(Self::role_name)?;
        account(AccountStatement::DropRole { if_exists, roles })
    }

    /// At ROLE, behind SET.
    pub fn set_role(&mut self) -> Parse<Statement> {
        self.expect("ROLE")?;
        let roles = self.active_roles()?;
        account(AccountStatement::SetRole(roles))
    }

    /// At DEFAULT ROLE, behind SET.
    pub fn set_default_role(&mut self) -> Parse<Statement> {
        self.expect("DEFAULT")?;
        self.expect("ROLE")?;
        let roles = self.assignable_roles()?;
        self.expect("TO")?;
        // MySQL's grammar has no CURRENT_USER here.
        let users = self.list(Self::role_name)?;
        account(AccountStatement::SetDefaultRole { roles, users })
    }

    /// Default roles of an account: NONE, ALL or roles.
    fn assignable_roles(&mut self) -> Parse<RoleSet> {
        if self.accept("NONE") {
            return Ok(RoleSet::None);
        }
        if self.accept("ALL") {
            return Ok(RoleSet::All);
        }
        Ok(RoleSet::Roles(self.list(Self::role_name)?))
    }

    /// Active roles: DEFAULT, ALL EXCEPT roles, or what `assignable_roles` takes.
    fn active_roles(&mut self) -> Parse<RoleSet> {
        if self.accept("DEFAULT") {
            return Ok(RoleSet::Default);
        }
        if self.accept_two("ALL", "EXCEPT") {
            return Ok(RoleSet::AllExcept(self.list(Self::role_name)?));
        }
        self.assignable_roles()
    }

    // -----------------------------------------------------------------------------------------------------------
    // GRANT and REVOKE

    /// At GRANT.
    pub fn grant(&mut self) -> Parse<Statement> {
        self.expect("GRANT")?;
        if self.at("PROXY") && self.next_is("ON") {
            return self.unsupported_account("GRANT PROXY");
        }
        let privileges = if self.accept_all_privileges() {
            vec![all_privileges()]
        } else {
            let items = self.list(Self::grant_item)?;
            if self.accept("TO") {
                let roles = self.roles_of(items)?;
                let to = self.list(Self::user_name)?;
                let admin = self.accept_with_option("ADMIN")?;
                return account(AccountStatement::GrantRoles { roles, to, admin });
            }
            self.privileges_of(items)?
        };
        let on = self.grant_object(&privileges)?;
        self.expect("TO")?;
        let to = self.list(Self::user_name)?;
        let grant_option = self.accept_with_option("GRANT")?;
        let as_user = self.accept_grant_as()?;
        account(AccountStatement::Grant { privileges, on, to, grant_option, as_user })
    }

    /// At REVOKE.
    pub fn revoke(&mut self) -> Parse<Statement> {
        self.expect("REVOKE")?;
        let if_exists = self.accept_if_exists()?;
        if self.at("PROXY") && self.next_is("ON") {
            return self.unsupported_account("REVOKE PROXY");
        }
        let privileges = if self.accept_all_privileges() {
            if self.accept_kind(TokenKind::Comma) {
                self.expect("GRANT")?;
                self.expect("OPTION")?;
                let (from, ignore_unknown) = self.revoked_users()?;
                return account(AccountStatement::RevokeAll { if_exists, from, ignore_unknown });
            }
            vec![all_privileges()]
        } else {
            let items = self.list(Self::grant_item)?;
            if self.at("FROM") {
                let roles = self.roles_of(items)?;
                let (from, ignore_unknown) = self.revoked_users()?;
                return account(AccountStatement::RevokeRoles {
                    if_exists,
                    roles,
                    from,
                    ignore_unknown,
                });
            }
            self.privileges_of(items)?
        };
        let on = self.grant_object(&privileges)?;
        let (from, ignore_unknown) = self.revoked_users()?;
        account(AccountStatement::Revoke { if_exists, privileges, on, from, ignore_unknown })
    }

    /// FROM users, and whether IGNORE UNKNOWN USER follows.
    fn revoked_users(&mut self) -> Parse<(Vec<UserName>, bool)> {
        self.expect("FROM")?;
        let users = self.list(Self::user_name)?;
        let ignores_unknown = self.accept("IGNORE");
        if ignores_unknown {
            self.expect("UNKNOWN")?;
            self.expect("USER")?;
        }
        Ok((users, ignores_unknown))
    }

    /// ALL [PRIVILEGES].
    fn accept_all_privileges(&mut self) -> bool {
        let is_there = self.accept("ALL");
        if is_there {
            self.accept("PRIVILEGES");
        }
        is_there
    }

    /// WITH `word` OPTION, if WITH is there.
    fn accept_with_option(&mut self, word: &str) -> Parse<bool> {
        if !self.accept("WITH") {
            return Ok(false);
        }
        self.expect(word)?;
        self.expect("OPTION")?;
        Ok(true)
    }

    /// AS user [WITH ROLE roles], if it is there.
    fn accept_grant_as(&mut self) -> Parse<Option<GrantAs>> {
        if !self.accept("AS") {
            return Ok(None);
        }
        let user = self.user_name()?;
        let mut roles = RoleSet::None;
        if self.accept("WITH") {
            self.expect("ROLE")?;
            roles = self.active_roles()?;
        }
        Ok(Some(GrantAs { user, roles }))
    }

    fn grant_item(&mut self) -> Parse<GrantItem> {
        let token = self.token();
        let mut item = GrantItem {
            token,
            is_static: false,
            name: String::new(),
            host: None,
            columns: Vec::new(),
        };
        if let Some(name) = self.accept_static_privilege() {
            item.is_static = true;
            item.name = name.to_string();
        } else {
            item.name = self.role_text()?;
            item.host = self.user_host()?;
        }
        if item.host.is_none() && self.at_kind(TokenKind::LeftParen) {
            item.columns = self.paren_list(Self::name)?;
        }
        Ok(item)
    }

    fn accept_static_privilege(&mut self) -> Option<&'static str> {
        let name = STATIC_PRIVILEGES.iter().find(|name| {
            let mut words = name.split(' ');
            words.next().is_some_and(|word| self.at(word))
                && words.next().is_none_or(|word| self.next_is(word))
                && words.next().is_none_or(|word| self.second_is(word))
        })?;
        for _ in name.split(' ') {
            self.advance();
        }
        Some(name)
    }

    fn roles_of(&self, items: Vec<GrantItem>) -> Parse<Vec<UserName>> {
        let role = |item: GrantItem| {
            if item.is_static || !item.columns.is_empty() {
                return Err(self.error_at(item.token));
            }
            self.checked_name(item.name, item.host)
        };
        items.into_iter().map(role).collect()
    }

    fn privileges_of(&self, items: Vec<GrantItem>) -> Parse<Vec<PrivilegeSpec>> {
        let privilege = |item: GrantItem| {
            if item.host.is_some() {
                return Err(self.error_at(item.token));
            }
            Ok(PrivilegeSpec { name: item.name.to_ascii_uppercase(), columns: item.columns })
        };
        items.into_iter().map(privilege).collect()
    }

    /// ON object.
    fn grant_object(&mut self, privileges: &[PrivilegeSpec]) -> Parse<GrantObject> {
        self.expect("ON")?;
        if self.at("FUNCTION") || self.at("PROCEDURE") {
            let function = self.at("FUNCTION");
            self.advance();
            let name = self.name()?;
            let (schema, name) = if self.accept_kind(TokenKind::Dot) {
                (Some(name), self.name_after_dot()?)
            } else {
                (None, name)
            };
            if privileges.iter().any(|privilege| !privilege.columns.is_empty()) {
                return self.syntax_error();
            }
            return Ok(GrantObject::Routine { function, schema, name });
        }
        self.accept("TABLE");
        if self.accept_kind(TokenKind::Star) {
            if !self.accept_kind(TokenKind::Dot) {
                return Ok(GrantObject::CurrentDatabase);
            }
            self.expect_kind(TokenKind::Star)?;
            return Ok(GrantObject::Global);
        }
        let name = self.name()?;
        if !self.accept_kind(TokenKind::Dot) {
            return Ok(GrantObject::Table { schema: None, name });
        }
        if self.accept_kind(TokenKind::Star) {
            return Ok(GrantObject::Database(name));
        }
        Ok(GrantObject::Table { schema: Some(name), name: self.name_after_dot()? })
    }
}

fn all_privileges() -> PrivilegeSpec {
    PrivilegeSpec { name: "ALL".to_string(), columns: Vec::new() }
}
