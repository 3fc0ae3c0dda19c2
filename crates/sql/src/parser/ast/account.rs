//! Account management: users, roles, privileges.
//!
//! A role is an account, so a role has a [`UserName`] too. The parser checks the length of names
//! and the order of the clauses; whether an account, a role or a dynamic privilege exists, and
//! which privileges an object can have, is left to the execution.

/// An account's name in a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UserName {
    /// `'user'@'host'`. The host is in lower case, and `%` when the statement has none. `user` may
    /// be empty.
    Named {
        /// At most [`USER_LENGTH_MAX`] characters.
        user: String,
        /// At most [`HOST_LENGTH_MAX`] bytes, without `@`.
        host: String,
    },
    /// CURRENT_USER, CURRENT_USER(), and USER() in ALTER USER.
    Current,
}

/// Longest user name, in characters.
pub const USER_LENGTH_MAX: usize = 32;
/// Longest host name, in bytes.
pub const HOST_LENGTH_MAX: usize = 255;

/// An account that CREATE USER or ALTER USER names, with its own clauses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserSpec {
    /// The account.
    pub user: UserName,
    /// IDENTIFIED; None leaves the authentication to the default or to its present state.
    pub auth: Option<Auth>,
    /// REPLACE 'current password', of ALTER USER only.
    pub replace: Option<Vec<u8>>,
    /// RETAIN CURRENT PASSWORD, of ALTER USER only.
    pub retain: bool,
    /// DISCARD OLD PASSWORD, of ALTER USER only and never with `auth`.
    pub discard_old: bool,
}

/// IDENTIFIED BY and IDENTIFIED WITH.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Auth {
    /// IDENTIFIED BY 'password'.
    Password(Vec<u8>),
    /// IDENTIFIED BY RANDOM PASSWORD.
    Random,
    /// IDENTIFIED WITH plugin.
    Plugin {
        /// The plugin's name as written.
        plugin: String,
        /// BY or AS behind the name.
        secret: PluginSecret,
    },
}

/// What follows the plugin of IDENTIFIED WITH.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PluginSecret {
    /// Neither BY nor AS.
    None,
    /// BY 'password'.
    Password(Vec<u8>),
    /// BY RANDOM PASSWORD.
    Random,
    /// AS 'hash' or AS 0x68617368: the bytes that the plugin stores.
    Hash(Vec<u8>),
}

/// The clauses of CREATE USER and ALTER USER that apply to all of their accounts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserOptions {
    /// REQUIRE.
    pub require: Option<Require>,
    /// WITH MAX_..., in written order; of two for the same resource the last counts.
    pub limits: Vec<(ResourceLimit, u64)>,
    /// PASSWORD ..., FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME, in written order; of two for the
    /// same property the last counts.
    pub password: Vec<PasswordOption>,
    /// True for ACCOUNT LOCK, false for ACCOUNT UNLOCK.
    pub lock: Option<bool>,
    /// COMMENT or ATTRIBUTE.
    pub comment: Option<Comment>,
}

/// The connections that an account may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Require {
    /// Any connection.
    None,
    /// Encrypted connections.
    Ssl,
    /// Connections with a valid certificate.
    X509,
    /// Connections whose certificate has these properties; at least one is present.
    Specified {
        /// SUBJECT.
        subject: Option<Vec<u8>>,
        /// ISSUER.
        issuer: Option<Vec<u8>>,
        /// CIPHER.
        cipher: Option<Vec<u8>>,
    },
}

/// A resource that WITH bounds for an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResourceLimit {
    /// MAX_QUERIES_PER_HOUR.
    Queries,
    /// MAX_UPDATES_PER_HOUR.
    Updates,
    /// MAX_CONNECTIONS_PER_HOUR.
    Connections,
    /// MAX_USER_CONNECTIONS: connections at a time.
    UserConnections,
}

/// A rule for an account's passwords. A number beyond u32 becomes the largest u32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PasswordOption {
    /// PASSWORD EXPIRE.
    Expire(Expire),
    /// PASSWORD HISTORY: how many changes later a password may return. None is DEFAULT.
    History(Option<u32>),
    /// PASSWORD REUSE INTERVAL: how many days later a password may return. None is DEFAULT.
    Reuse(Option<u32>),
    /// PASSWORD REQUIRE CURRENT: true without a word behind it, false for OPTIONAL, None for
    /// DEFAULT.
    RequireCurrent(Option<bool>),
    /// FAILED_LOGIN_ATTEMPTS, at most [`ATTEMPTS_MAX`]; 0 disables the lock.
    FailedAttempts(u32),
    /// PASSWORD_LOCK_TIME in days, at most [`ATTEMPTS_MAX`]. None is UNBOUNDED.
    LockTime(Option<u32>),
}

/// Largest number of FAILED_LOGIN_ATTEMPTS and of PASSWORD_LOCK_TIME.
pub const ATTEMPTS_MAX: u64 = 32_767;
/// Longest interval of PASSWORD EXPIRE, in days. The shortest is 1.
pub const EXPIRE_DAYS_MAX: u64 = 65_535;

/// When a password expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expire {
    /// With the statement: PASSWORD EXPIRE alone.
    Now,
    /// After default_password_lifetime.
    Default,
    /// Never.
    Never,
    /// This number of days after a change, 1 to [`EXPIRE_DAYS_MAX`].
    Days(u32),
}

/// The text that CREATE USER and ALTER USER attach to an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comment {
    /// COMMENT: any text.
    Comment(String),
    /// ATTRIBUTE: a JSON object, not checked by the parser.
    Attribute(String),
}

/// The roles that SET ROLE, SET DEFAULT ROLE and the like choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoleSet {
    /// DEFAULT: the account's default roles.
    Default,
    /// NONE.
    None,
    /// ALL: every role granted to the account.
    All,
    /// ALL EXCEPT role, ...
    AllExcept(Vec<UserName>),
    /// role, ...
    Roles(Vec<UserName>),
}

/// A privilege of GRANT or REVOKE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrivilegeSpec {
    /// In upper case, words joined by one blank: `SELECT`, `CREATE TEMPORARY TABLES`,
    /// `BACKUP_ADMIN`. ALL PRIVILEGES is `ALL`, and then the only privilege of its statement.
    pub name: String,
    /// The columns in parentheses behind the privilege; empty without them. The parser takes them
    /// behind any privilege but ALL.
    pub columns: Vec<String>,
}

/// The object behind ON of GRANT and REVOKE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GrantObject {
    /// `*.*`
    Global,
    /// `db.*`: a pattern, whose escapes `\_` and `\%` are kept.
    Database(String),
    /// `*`: the current database.
    CurrentDatabase,
    /// `t`, `db.t`, TABLE t.
    Table {
        /// The database; None is the current one.
        schema: Option<String>,
        /// The table or view.
        name: String,
    },
    /// FUNCTION f, PROCEDURE p.
    Routine {
        /// True for FUNCTION.
        function: bool,
        /// The database; None is the current one.
        schema: Option<String>,
        /// The routine.
        name: String,
    },
}

/// `AS user [WITH ROLE roles]` of GRANT: the account whose privileges bound those granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantAs {
    /// The account.
    pub user: UserName,
    /// The roles active for the account; [`RoleSet::None`] without WITH ROLE.
    pub roles: RoleSet,
}

/// A statement that manages accounts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccountStatement {
    /// CREATE USER.
    CreateUser {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The accounts; none of them has a clause of ALTER USER.
        users: Vec<UserSpec>,
        /// DEFAULT ROLE; empty without it.
        default_roles: Vec<UserName>,
        /// The clauses for all accounts.
        options: UserOptions,
    },
    /// ALTER USER, except for DEFAULT ROLE.
    AlterUser {
        /// IF EXISTS.
        if_exists: bool,
        /// The accounts.
        users: Vec<UserSpec>,
        /// The clauses for all accounts.
        options: UserOptions,
    },
    /// ALTER USER u DEFAULT ROLE.
    AlterUserDefaultRole {
        /// IF EXISTS.
        if_exists: bool,
        /// The account.
        user: UserName,
        /// NONE, ALL or roles.
        roles: RoleSet,
    },
    /// DROP USER.
    DropUser {
        /// IF EXISTS.
        if_exists: bool,
        /// The accounts.
        users: Vec<UserName>,
    },
    /// RENAME USER: pairs (source, target), to be done left to right.
    RenameUser(Vec<(UserName, UserName)>),
    /// CREATE ROLE.
    CreateRole {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The roles.
        roles: Vec<UserName>,
    },
    /// DROP ROLE.
    DropRole {
        /// IF EXISTS.
        if_exists: bool,
        /// The roles.
        roles: Vec<UserName>,
    },
    /// GRANT privileges ON object TO users.
    Grant {
        /// At least one.
        privileges: Vec<PrivilegeSpec>,
        /// The object.
        on: GrantObject,
        /// The accounts and roles that get the privileges.
        to: Vec<UserName>,
        /// WITH GRANT OPTION.
        grant_option: bool,
        /// AS user.
        as_user: Option<GrantAs>,
    },
    /// GRANT roles TO users.
    GrantRoles {
        /// At least one.
        roles: Vec<UserName>,
        /// The accounts and roles that get the roles.
        to: Vec<UserName>,
        /// WITH ADMIN OPTION.
        admin: bool,
    },
    /// REVOKE privileges ON object FROM users.
    Revoke {
        /// IF EXISTS: a privilege that the account lacks gives a warning.
        if_exists: bool,
        /// At least one.
        privileges: Vec<PrivilegeSpec>,
        /// The object.
        on: GrantObject,
        /// The accounts and roles that lose the privileges.
        from: Vec<UserName>,
        /// IGNORE UNKNOWN USER: an unknown account gives a warning.
        ignore_unknown: bool,
    },
    /// REVOKE roles FROM users.
    RevokeRoles {
        /// IF EXISTS: a role that the account lacks gives a warning.
        if_exists: bool,
        /// At least one.
        roles: Vec<UserName>,
        /// The accounts and roles that lose the roles.
        from: Vec<UserName>,
        /// IGNORE UNKNOWN USER: an unknown account gives a warning.
        ignore_unknown: bool,
    },
    /// REVOKE ALL PRIVILEGES, GRANT OPTION FROM users: on every object.
    RevokeAll {
        /// IF EXISTS.
        if_exists: bool,
        /// The accounts and roles that lose all privileges.
        from: Vec<UserName>,
        /// IGNORE UNKNOWN USER: an unknown account gives a warning.
        ignore_unknown: bool,
    },
    /// SET PASSWORD.
    SetPassword {
        /// The account; the current one without FOR.
        user: UserName,
        /// None is TO RANDOM.
        password: Option<Vec<u8>>,
        /// REPLACE 'current password'.
        replace: Option<Vec<u8>>,
        /// RETAIN CURRENT PASSWORD.
        retain: bool,
    },
    /// SET ROLE.
    SetRole(RoleSet),
    /// SET DEFAULT ROLE.
    SetDefaultRole {
        /// NONE, ALL or roles.
        roles: RoleSet,
        /// The accounts.
        users: Vec<UserName>,
    },
}

impl UserSpec {
    /// An account without clauses of its own.
    pub fn new(user: UserName) -> UserSpec {
        UserSpec { user, auth: None, replace: None, retain: false, discard_old: false }
    }

    /// Whether a password or a hash is written in the account's clauses.
    pub fn has_secret(&self) -> bool {
        let is_in_auth = match &self.auth {
            None | Some(Auth::Random) => false,
            Some(Auth::Password(_)) => true,
            Some(Auth::Plugin { secret, .. }) => {
                matches!(secret, PluginSecret::Password(_) | PluginSecret::Hash(_))
            }
        };
        is_in_auth || self.replace.is_some()
    }
}

impl AccountStatement {
    /// Whether a password or a hash is written in the statement, so that logs and process lists
    /// must not show its text.
    pub fn has_secret(&self) -> bool {
        match self {
            AccountStatement::CreateUser { users, .. }
            | AccountStatement::AlterUser { users, .. } => users.iter().any(UserSpec::has_secret),
            AccountStatement::SetPassword { password, replace, .. } => {
                password.is_some() || replace.is_some()
            }
            _ => false,
        }
    }

    /// The statement's name as error 1235 shows it.
    pub fn feature(&self) -> &'static str {
        match self {
            AccountStatement::CreateUser { .. } => "CREATE USER",
            AccountStatement::AlterUser { .. } | AccountStatement::AlterUserDefaultRole { .. } => {
                "ALTER USER"
            }
            AccountStatement::DropUser { .. } => "DROP USER",
            AccountStatement::RenameUser(_) => "RENAME USER",
            AccountStatement::CreateRole { .. } => "CREATE ROLE",
            AccountStatement::DropRole { .. } => "DROP ROLE",
            AccountStatement::Grant { .. } | AccountStatement::GrantRoles { .. } => "GRANT",
            AccountStatement::Revoke { .. }
            | AccountStatement::RevokeRoles { .. }
            | AccountStatement::RevokeAll { .. } => "REVOKE",
            AccountStatement::SetPassword { .. } => "SET PASSWORD",
            AccountStatement::SetRole(_) | AccountStatement::SetDefaultRole { .. } => "SET ROLE",
        }
    }
}
