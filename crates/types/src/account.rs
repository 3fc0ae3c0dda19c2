//! Accounts, roles and privileges: the users that may connect, and the privileges of their statements.
//!
//! [`Accounts`] is part of the [`Catalogue`](crate::Catalogue): every node has it, and a change is acknowledged when every
//! node uses it. An account is `'user'@'host'`; a role is an account that is locked and has no password.
//!
//! A privilege has one of four levels, and covers the levels below it:
//!
//! ```text
//!   global  ->  database (a pattern)  ->  table  ->  column
//!                                     ->  routine
//! ```
//!
//! A session uses [`Privileges`]: those of its account and of its active roles, and the roles that these have.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use crate::wire::Wire;
use crate::{wire_enum, wire_struct};

/// A set of static privileges.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PrivilegeSet(pub u64);
wire_struct!(PrivilegeSet(u64));

macro_rules! privileges {
    ($($constant:ident $bit:literal $name:literal $context:literal,)*) => {
        impl PrivilegeSet {
            $(pub const $constant: PrivilegeSet = PrivilegeSet(1 << $bit);)*
            /// All static privileges, GRANT OPTION included.
            pub const ALL: PrivilegeSet = PrivilegeSet(0 $(| 1 << $bit)*);
        }
        /// Each static privilege, its name, and its context (SHOW PRIVILEGES), in the order of SHOW GRANTS.
        pub const STATIC_PRIVILEGES: &[(PrivilegeSet, &str, &str)] = &[
            $((PrivilegeSet::$constant, $name, $context),)*
        ];
    };
}

privileges! {
    SELECT 0 "SELECT" "Tables",
    INSERT 1 "INSERT" "Tables",
    UPDATE 2 "UPDATE" "Tables",
    DELETE 3 "DELETE" "Tables",
    CREATE 4 "CREATE" "Databases,Tables,Indexes",
    DROP 5 "DROP" "Databases,Tables",
    RELOAD 6 "RELOAD" "Server Admin",
    SHUTDOWN 7 "SHUTDOWN" "Server Admin",
    PROCESS 8 "PROCESS" "Server Admin",
    FILE 9 "FILE" "File access on server",
    GRANT_OPTION 10 "GRANT OPTION" "Databases,Tables,Functions,Procedures",
    REFERENCES 11 "REFERENCES" "Databases,Tables",
    INDEX 12 "INDEX" "Tables",
    ALTER 13 "ALTER" "Tables",
    SHOW_DATABASES 14 "SHOW DATABASES" "Server Admin",
    SUPER 15 "SUPER" "Server Admin",
    CREATE_TEMPORARY_TABLES 16 "CREATE TEMPORARY TABLES" "Databases",
    LOCK_TABLES 17 "LOCK TABLES" "Databases",
    EXECUTE 18 "EXECUTE" "Functions,Procedures",
    REPLICATION_SLAVE 19 "REPLICATION SLAVE" "Server Admin",
    REPLICATION_CLIENT 20 "REPLICATION CLIENT" "Server Admin",
    CREATE_VIEW 21 "CREATE VIEW" "Tables",
    SHOW_VIEW 22 "SHOW VIEW" "Tables",
    CREATE_ROUTINE 23 "CREATE ROUTINE" "Databases",
    ALTER_ROUTINE 24 "ALTER ROUTINE" "Functions,Procedures",
    CREATE_USER 25 "CREATE USER" "Server Admin",
    EVENT 26 "EVENT" "Server Admin",
    TRIGGER 27 "TRIGGER" "Tables",
    CREATE_TABLESPACE 28 "CREATE TABLESPACE" "Server Admin",
    CREATE_ROLE 29 "CREATE ROLE" "Server Admin",
    DROP_ROLE 30 "DROP ROLE" "Server Admin",
}

/// The dynamic privileges of MySQL 8.0, sorted. Others are unknown: nothing registers its own.
pub const DYNAMIC_PRIVILEGES: &[&str] = &[
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "XA_RECOVER_ADMIN",
];

impl PrivilegeSet {
    pub const NONE: PrivilegeSet = PrivilegeSet(0);
    /// What may be granted on a database, GRANT OPTION included.
    pub const OF_DATABASE: PrivilegeSet = PrivilegeSet(
        Self::OF_TABLE.0
            | Self::CREATE_TEMPORARY_TABLES.0
            | Self::LOCK_TABLES.0
            | Self::EXECUTE.0
            | Self::CREATE_ROUTINE.0
            | Self::ALTER_ROUTINE.0
            | Self::EVENT.0,
    );
    pub const OF_TABLE: PrivilegeSet = PrivilegeSet(
        Self::SELECT.0
            | Self::INSERT.0
            | Self::UPDATE.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::GRANT_OPTION.0
            | Self::REFERENCES.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );
    pub const OF_COLUMN: PrivilegeSet =
        PrivilegeSet(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);
    pub const OF_ROUTINE: PrivilegeSet =
        PrivilegeSet(Self::EXECUTE.0 | Self::ALTER_ROUTINE.0 | Self::GRANT_OPTION.0);

    /// A static privilege by its name in upper case.
    pub fn by_name(name: &str) -> Option<PrivilegeSet> {
        STATIC_PRIVILEGES.iter().find(|(_, own, _)| *own == name).map(|(set, _, _)| *set)
    }
    /// The names of the privileges, in the order of SHOW GRANTS.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let held = STATIC_PRIVILEGES.iter().filter(move |(set, _, _)| self.has(*set));
        held.map(|(_, name, _)| *name)
    }
    /// Are all of these in the set?
    pub fn has(self, all: PrivilegeSet) -> bool {
        self.0 & all.0 == all.0
    }
    pub fn has_any(self, any: PrivilegeSet) -> bool {
        self.0 & any.0 != 0
    }
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub fn without(self, others: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 & !others.0)
    }
}

impl std::ops::BitOr for PrivilegeSet {
    type Output = PrivilegeSet;
    fn bitor(self, other: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 | other.0)
    }
}
impl std::ops::BitOrAssign for PrivilegeSet {
    fn bitor_assign(&mut self, other: PrivilegeSet) {
        self.0 |= other.0;
    }
}
impl std::ops::BitAnd for PrivilegeSet {
    type Output = PrivilegeSet;
    fn bitand(self, other: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 & other.0)
    }
}
impl std::fmt::Debug for PrivilegeSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// `'user'@'host'`. The host is in lower case and may be a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName {
    pub user: String,
    pub host: String,
}
wire_struct!(AccountName { user, host });

impl AccountName {
    pub fn new(user: &str, host: &str) -> AccountName {
        AccountName { user: user.into(), host: host.to_lowercase() }
    }
}

/// As messages have it: user@host.
impl std::fmt::Display for AccountName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.user, self.host)
    }
}

/// The method by which a client authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthPlugin {
    CachingSha2,
    Native,
    /// By the user id at the other end of a unix socket, whose name is the account's, or the text stored.
    Socket,
    /// Nobody logs in: the definer of views.
    NoLogin,
}
wire_enum!(AuthPlugin { 0 => CachingSha2, 1 => Native, 2 => Socket, 3 => NoLogin });

impl AuthPlugin {
    pub const ALL: [AuthPlugin; 4] =
        [AuthPlugin::CachingSha2, AuthPlugin::Native, AuthPlugin::Socket, AuthPlugin::NoLogin];
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::CachingSha2 => "caching_sha2_password",
            AuthPlugin::Native => "mysql_native_password",
            AuthPlugin::Socket => "auth_socket",
            AuthPlugin::NoLogin => "mysql_no_login",
        }
    }
    pub fn by_name(name: &str) -> Option<AuthPlugin> {
        AuthPlugin::ALL.into_iter().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }
    /// Does it store something made of a password?
    pub fn has_password(self) -> bool {
        matches!(self, AuthPlugin::CachingSha2 | AuthPlugin::Native)
    }
}

/// What the connection of a client must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsRequirement {
    #[default]
    None,
    Ssl,
    /// A certificate of the cluster's authority.
    X509,
    /// A certificate with these names, and this cipher; None: any.
    Specified {
        subject: Option<String>,
        issuer: Option<String>,
        cipher: Option<String>,
    },
}
wire_enum!(TlsRequirement {
    0 => None,
    1 => Ssl,
    2 => X509,
    3 => Specified { subject, issuer, cipher },
});

/// How long a password may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PasswordLifetime {
    /// As default_password_lifetime has it.
    #[default]
    Default,
    Never,
    Days(u32),
}
wire_enum!(PasswordLifetime { 0 => Default, 1 => Never, 2 => Days(days) });

/// When an account is locked for failed logins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginLock {
    /// Failures in a row that lock it; 0: never.
    pub attempts: u32,
    /// Days until it is unlocked by itself; None: it is not.
    pub days: Option<u32>,
}
wire_struct!(LoginLock { attempts, days });

/// What an account may use in an hour, and at a time; 0 for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    pub queries_per_hour: u32,
    pub updates_per_hour: u32,
    pub connections_per_hour: u32,
    pub user_connections: u32,
}
wire_struct!(ResourceLimits {
    queries_per_hour,
    updates_per_hour,
    connections_per_hour,
    user_connections
});

/// What is granted on one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableGrant {
    pub privileges: PrivilegeSet,
    /// By column, in lower case.
    pub columns: BTreeMap<String, PrivilegeSet>,
}
wire_struct!(TableGrant { privileges, columns });

impl TableGrant {
    pub fn is_empty(&self) -> bool {
        self.privileges.is_empty() && self.columns.is_empty()
    }
}

/// The grants of an account or role, as they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    pub global: PrivilegeSet,
    /// Dynamic privileges; true: with GRANT OPTION.
    pub dynamic: BTreeMap<String, bool>,
    /// By pattern of a database's name, in lower case, with `\` before a wildcard that is none.
    pub databases: BTreeMap<String, PrivilegeSet>,
    /// By database in lower case, and table.
    pub tables: BTreeMap<(String, String), TableGrant>,
    /// By (is a function, database in lower case, name in lower case).
    pub routines: BTreeMap<(bool, String, String), PrivilegeSet>,
    /// Roles; true: WITH ADMIN OPTION.
    pub roles: BTreeMap<AccountName, bool>,
}
wire_struct!(Grants { global, dynamic, databases, tables, routines, roles });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: AccountName,
    pub plugin: AuthPlugin,
    /// What the plugin stores ([`crate::password`]). Empty: no password.
    pub secret: Vec<u8>,
    /// RETAIN CURRENT PASSWORD: the one before, which works as well.
    pub secret_before: Option<Vec<u8>>,
    /// Microseconds since 1970 when the secret was set.
    pub secret_set_micros: i64,
    /// Secrets before, with the times when they were set, newest first; for history and reuse.
    pub secrets_used: Vec<(i64, Vec<u8>)>,
    pub is_locked: bool,
    /// The password must be changed before anything else is done.
    pub is_expired: bool,
    pub lifetime: PasswordLifetime,
    /// None: as password_history, password_reuse_interval and password_require_current have it.
    pub history: Option<u32>,
    pub reuse_days: Option<u32>,
    pub require_current: Option<bool>,
    pub login_lock: LoginLock,
    pub tls: TlsRequirement,
    pub limits: ResourceLimits,
    /// Sorted, without duplicates.
    pub default_roles: Vec<AccountName>,
    /// The JSON text of ATTRIBUTE and COMMENT; empty for none.
    pub attributes: String,
    pub grants: Grants,
}
wire_struct!(Account {
    name,
    plugin,
    secret,
    secret_before,
    secret_set_micros,
    secrets_used,
    is_locked,
    is_expired,
    lifetime,
    history,
    reuse_days,
    require_current,
    login_lock,
    tls,
    limits,
    default_roles,
    attributes,
    grants
});

impl Account {
    /// One that may connect without a password and do nothing.
    pub fn new(name: AccountName) -> Account {
        Account {
            name,
            plugin: AuthPlugin::CachingSha2,
            secret: Vec::new(),
            secret_before: None,
            secret_set_micros: 0,
            secrets_used: Vec::new(),
            is_locked: false,
            is_expired: false,
            lifetime: PasswordLifetime::Default,
            history: None,
            reuse_days: None,
            require_current: None,
            login_lock: LoginLock::default(),
            tls: TlsRequirement::None,
            limits: ResourceLimits::default(),
            default_roles: Vec::new(),
            attributes: String::new(),
            grants: Grants::default(),
        }
    }
}

/// All accounts and roles of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Moved by every change of an account.
    pub version: u64,
    by_name: BTreeMap<AccountName, Arc<Account>>,
    /// Of all accounts, encoded.
    bytes: u64,
}
wire_struct!(Accounts { version, by_name, bytes });

/// Those of a new cluster: root from this machine, without a password, with all privileges.
impl Default for Accounts {
    fn default() -> Accounts {
        let name = AccountName::new("root", "localhost");
        let dynamic = DYNAMIC_PRIVILEGES.iter().map(|name| (name.to_string(), true)).collect();
        let grants = Grants { global: PrivilegeSet::ALL, dynamic, ..Grants::default() };
        Accounts::of([Account { grants, ..Account::new(name) }])
    }
}

/// Where a client is.
#[derive(Clone, Copy, Debug)]
pub struct ClientHost {
    /// A unix socket, or a loopback address: `localhost`.
    pub is_local: bool,
    /// None for a unix socket.
    pub address: Option<IpAddr>,
}

impl ClientHost {
    /// Does a host of an account stand for this client?
    fn matches(&self, host: &str) -> bool {
        let own = self.address.map(|address| address.to_canonical());
        if host.is_empty() || host == "%" || self.is_local && is_like(host, "localhost") {
            return true;
        }
        let Some(own) = own else { return false };
        match host.split_once('/') {
            Some((network, mask)) => is_in_network(own, network, mask),
            None => match host.parse::<IpAddr>() {
                Ok(address) => address.to_canonical() == own,
                Err(_) => is_like(host, &own.to_string()),
            },
        }
    }
}

/// Is the host a network with a mask, `192.0.2.0/24`, `192.0.2.0/255.255.255.0` or `2001:db8::/32`? None if it has a slash and is none.
pub fn is_valid_host(host: &str) -> bool {
    match host.split_once('/') {
        Some((network, mask)) => prefix_of(network, mask).is_some(),
        None => true,
    }
}

/// The address and the bits of its prefix.
fn prefix_of(network: &str, mask: &str) -> Option<(IpAddr, u32)> {
    let address: IpAddr = network.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits = match (mask.parse::<u32>(), mask.parse::<IpAddr>()) {
        (Ok(bits), _) => bits,
        (Err(_), Ok(IpAddr::V4(mask))) if width == 32 => {
            let mask = u32::from(mask);
            // Ones, then zeros.
            (mask.leading_ones() + mask.trailing_zeros().min(32 - mask.leading_ones()) == 32)
                .then(|| mask.leading_ones())?
        }
        _ => return None,
    };
    (bits <= width).then_some((address, bits))
}

fn is_in_network(address: IpAddr, network: &str, mask: &str) -> bool {
    let Some((network, bits)) = prefix_of(network, mask) else { return false };
    let shifted = |bytes: u128, width: u32| bytes.checked_shr(width - bits).unwrap_or(0);
    match (address, network) {
        (IpAddr::V4(own), IpAddr::V4(network)) => {
            shifted(u32::from(own).into(), 32) == shifted(u32::from(network).into(), 32)
        }
        (IpAddr::V6(own), IpAddr::V6(network)) => {
            shifted(own.into(), 128) == shifted(network.into(), 128)
        }
        _ => false,
    }
}

/// `%` and `_` as in LIKE, and `\` before one that is itself.
pub fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut place) = (0, 0);
    // Where the last % was, and the text that it stands for so far ends.
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        let (is_escaped, wanted) = match pattern.get(at) {
            Some(b'\\') if at + 1 < pattern.len() => (true, pattern.get(at + 1)),
            other => (false, other),
        };
        match wanted {
            Some(b'%') if !is_escaped => {
                star = Some((at, place));
                at += 1;
            }
            Some(byte) if *byte == text[place] || *byte == b'_' && !is_escaped => {
                at += 1 + usize::from(is_escaped);
                place += 1;
            }
            _ => match &mut star {
                Some((from, until)) => {
                    *until += 1;
                    (at, place) = (*from + 1, *until);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'%')
}

/// Has the pattern a wildcard? Where the first one is.
fn wildcard_in(pattern: &str) -> Option<usize> {
    let bytes = pattern.as_bytes();
    let is_wildcard =
        |at: &usize| matches!(bytes[*at], b'%' | b'_') && (*at == 0 || bytes[*at - 1] != b'\\');
    (0..bytes.len()).find(is_wildcard)
}

/// Orders hosts, the one that stands for fewer clients first.
fn host_rank(host: &str) -> (u8, Reverse<usize>) {
    if host.is_empty() {
        return (4, Reverse(0));
    }
    if let Some((network, mask)) = host.split_once('/') {
        let bits = prefix_of(network, mask).map_or(0, |(_, bits)| bits);
        return (1, Reverse(bits as usize));
    }
    match wildcard_in(host) {
        None => (0, Reverse(0)),
        Some(0) if host == "%" => (3, Reverse(0)),
        Some(first) => (2, Reverse(first)),
    }
}

impl Accounts {
    /// These accounts, as version 0.
    pub fn of(accounts: impl IntoIterator<Item = Account>) -> Accounts {
        let mut all = Accounts { version: 0, by_name: BTreeMap::new(), bytes: 0 };
        accounts.into_iter().for_each(|account| all.put(account));
        all
    }
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.by_name.values()
    }
    pub fn len(&self) -> usize {
        self.by_name.len()
    }
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
    /// Bytes of all accounts, encoded.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Adds an account, or replaces the one of its name.
    pub fn put(&mut self, account: Account) {
        self.remove(&account.name);
        self.bytes += account.to_bytes().len() as u64;
        self.by_name.insert(account.name.clone(), Arc::new(account));
    }
    pub fn remove(&mut self, name: &AccountName) -> Option<Arc<Account>> {
        let removed = self.by_name.remove(name);
        if let Some(removed) = &removed {
            self.bytes -= removed.to_bytes().len() as u64;
        }
        removed
    }
    pub fn get(&self, name: &AccountName) -> Option<&Arc<Account>> {
        self.by_name.get(name)
    }
    /// The accounts of a user's name, whatever their hosts.
    fn of_user(&self, user: &str) -> Vec<&Arc<Account>> {
        let first = AccountName { user: user.into(), host: String::new() };
        let from_first = self.by_name.range(first..);
        from_first.take_while(|(name, _)| name.user == user).map(|(_, account)| account).collect()
    }
    /// The account that a client is: of those for its host the one with the narrowest host; then the one with its name before the
    /// anonymous one.
    pub fn of_client(&self, user: &str, host: ClientHost) -> Option<&Arc<Account>> {
        let mut known = self.of_user(user);
        if !user.is_empty() {
            known.extend(self.of_user(""));
        }
        known.retain(|account| host.matches(&account.name.host));
        let rank =
            |account: &&Arc<Account>| (host_rank(&account.name.host), account.name.user.is_empty());
        known.into_iter().min_by_key(rank)
    }
    /// The account and these roles, with the roles that they have, and so on.
    fn with_roles<'a>(
        &'a self,
        account: &'a AccountName,
        roles: &'a [AccountName],
    ) -> Vec<&'a Arc<Account>> {
        let mut known: BTreeSet<&AccountName> = BTreeSet::from([account]);
        let mut found: Vec<&Arc<Account>> = self.get(account).into_iter().collect();
        let mut next: Vec<&AccountName> = roles.iter().collect();
        while let Some(name) = next.pop() {
            if let Some(role) = self.get(name).filter(|_| known.insert(name)) {
                next.extend(role.grants.roles.keys());
                found.push(role);
            }
        }
        found
    }
    /// What an account may do while these roles are active.
    pub fn privileges(&self, account: &AccountName, roles: &[AccountName]) -> Privileges {
        let mut privileges = Privileges { version: self.version, ..Privileges::default() };
        for of in self.with_roles(account, roles) {
            privileges.add(&of.grants);
        }
        privileges
    }
}

/// What a session may do.
#[derive(Clone, Debug, Default)]
pub struct Privileges {
    /// [`Accounts::version`] that they were made of.
    pub version: u64,
    pub global: PrivilegeSet,
    pub dynamic: BTreeMap<String, bool>,
    /// Of the account and of each role: exact names in lower case, and patterns, the narrower first.
    databases: Vec<DatabaseGrants>,
    tables: BTreeMap<(String, String), TableGrant>,
    routines: BTreeMap<(bool, String, String), PrivilegeSet>,
}

#[derive(Clone, Debug, Default)]
struct DatabaseGrants {
    exact: BTreeMap<String, PrivilegeSet>,
    patterns: Vec<(String, PrivilegeSet)>,
}

impl Privileges {
    fn add(&mut self, grants: &Grants) {
        self.global |= grants.global;
        for (name, with_grant) in &grants.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= *with_grant;
        }
        let mut databases = DatabaseGrants::default();
        for (pattern, privileges) in &grants.databases {
            match wildcard_in(pattern) {
                None => {
                    databases.exact.insert(unescaped(pattern), *privileges);
                }
                Some(_) => databases.patterns.push((pattern.clone(), *privileges)),
            }
        }
        databases
            .patterns
            .sort_by_key(|(pattern, _)| Reverse((wildcard_in(pattern), pattern.len())));
        self.databases.push(databases);
        for (table, grant) in &grants.tables {
            let held = self.tables.entry(table.clone()).or_default();
            held.privileges |= grant.privileges;
            for (column, privileges) in &grant.columns {
                *held.columns.entry(column.clone()).or_default() |= *privileges;
            }
        }
        for (routine, privileges) in &grants.routines {
            *self.routines.entry(routine.clone()).or_default() |= *privileges;
        }
    }

    pub fn has_dynamic(&self, name: &str) -> bool {
        self.dynamic.contains_key(name)
    }
    /// What is held on all tables of a database. An account that has grants on several patterns of it uses the narrowest one.
    pub fn on_database(&self, database: &str) -> PrivilegeSet {
        let name = database.to_lowercase();
        let of_one = |grants: &DatabaseGrants| {
            let pattern = || grants.patterns.iter().find(|(pattern, _)| is_like(pattern, &name));
            grants.exact.get(&name).copied().or_else(|| pattern().map(|(_, held)| *held))
        };
        let held = self.databases.iter().filter_map(of_one);
        held.fold(self.global, |all, held| all | held)
    }
    fn table(&self, database: &str, table: &str) -> Option<&TableGrant> {
        self.tables.get(&(database.to_lowercase(), table.into()))
    }
    /// What is held on all columns of a table.
    pub fn on_table(&self, database: &str, table: &str) -> PrivilegeSet {
        let own = self.table(database, table).map_or(PrivilegeSet::NONE, |grant| grant.privileges);
        self.on_database(database) | own
    }
    /// What is held on the table, or on some of its columns.
    pub fn on_table_or_columns(&self, database: &str, table: &str) -> PrivilegeSet {
        let columns =
            self.table(database, table).into_iter().flat_map(|grant| grant.columns.values());
        columns.fold(self.on_table(database, table), |all, held| all | *held)
    }
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> PrivilegeSet {
        let grant = self.table(database, table);
        let own = grant.and_then(|grant| grant.columns.get(&column.to_lowercase()));
        self.on_table(database, table) | own.copied().unwrap_or_default()
    }
    pub fn on_routine(&self, is_function: bool, database: &str, name: &str) -> PrivilegeSet {
        let key = (is_function, database.to_lowercase(), name.to_lowercase());
        self.on_database(database) | self.routines.get(&key).copied().unwrap_or_default()
    }
    /// May the session know that the database is there?
    pub fn sees_database(&self, database: &str) -> bool {
        let name = database.to_lowercase();
        self.global.has(PrivilegeSet::SHOW_DATABASES)
            || !self.on_database(database).is_empty()
            || self.tables.keys().any(|(of, _)| *of == name)
            || self.routines.keys().any(|(_, of, _)| *of == name)
    }
    /// May the session know that the table is there?
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.on_table_or_columns(database, table).has_any(PrivilegeSet::OF_TABLE)
    }
}

/// A pattern without wildcards, as the name that it stands for.
fn unescaped(pattern: &str) -> String {
    pattern.replace("\\_", "_").replace("\\%", "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts(names: &[(&str, &str)]) -> Accounts {
        Accounts::of(names.iter().map(|(user, host)| Account::new(AccountName::new(user, host))))
    }
    fn client(address: &str) -> ClientHost {
        match address {
            "socket" => ClientHost { is_local: true, address: None },
            address => {
                let address: IpAddr = address.parse().expect("an address");
                ClientHost { is_local: address.is_loopback(), address: Some(address) }
            }
        }
    }

    #[test]
    fn static_privileges_have_their_names() {
        assert_eq!(STATIC_PRIVILEGES.len(), 31);
        assert_eq!(PrivilegeSet::ALL.names().count(), 31);
        for (set, name, _) in STATIC_PRIVILEGES {
            assert_eq!(PrivilegeSet::by_name(name), Some(*set));
        }
        assert_eq!(PrivilegeSet::by_name("BACKUP_ADMIN"), None);
        assert!(DYNAMIC_PRIVILEGES.is_sorted());
        assert_eq!(PrivilegeSet::OF_DATABASE.names().count(), 19);
        assert_eq!(PrivilegeSet::OF_TABLE.names().count(), 13);
    }

    #[test]
    fn hosts_match_clients() {
        // (host of an account, client, does it match)
        let cases = [
            ("localhost", "socket", true),
            ("localhost", "127.0.0.1", true),
            ("localhost", "::1", true),
            ("localhost", "192.0.2.1", false),
            ("127.0.0.1", "socket", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("%", "192.0.2.1", true),
            ("", "192.0.2.1", true),
            ("192.0.2.%", "192.0.2.77", true),
            ("192.0.2.%", "192.0.3.77", false),
            ("192.0.2._", "192.0.2.7", true),
            ("192.0.2._", "192.0.2.77", false),
            ("192.0.2.0/255.255.255.0", "192.0.2.77", true),
            ("192.0.2.0/255.255.255.0", "192.0.3.77", false),
            ("192.0.2.0/24", "192.0.2.77", true),
            ("192.0.2.0/24", "::ffff:192.0.2.77", true),
            ("192.0.2.64/26", "192.0.2.63", false),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("192.0.2.0/33", "192.0.2.1", false),
            ("192.0.2.0/255.0.255.0", "192.0.2.1", false),
            ("2001:db8::/32", "2001:db8:1::5", true),
            ("2001:db8::/32", "2001:db9::5", false),
            ("::/0", "2001:db9::5", true),
            ("2001:db8:0::1", "2001:db8::1", true),
            ("2001:db8:%", "2001:db8::1", true),
            ("%.example.com", "192.0.2.1", false),
        ];
        for (host, address, is_match) in cases {
            assert_eq!(client(address).matches(host), is_match, "{host} for {address}");
        }
        assert!(is_valid_host("192.0.2.0/255.255.0.0") && is_valid_host("a.example.com"));
        assert!(!is_valid_host("192.0.2.0/255.0.255.0") && !is_valid_host("a/b"));
    }

    #[test]
    fn the_narrowest_account_is_the_clients() {
        let all = accounts(&[
            ("a", "%"),
            ("a", "192.0.2.%"),
            ("a", "192.0.2.0/24"),
            ("a", "192.0.2.7"),
            ("", "192.0.2.8"),
            ("", "%"),
            ("b", "192.0.%"),
        ]);
        let cases = [
            ("a", "192.0.2.7", "a@192.0.2.7"),
            // An exact host of an anonymous account is before a wider one with a name, as in MySQL.
            ("a", "192.0.2.8", "@192.0.2.8"),
            ("a", "192.0.2.9", "a@192.0.2.0/24"),
            ("a", "192.0.3.9", "a@%"),
            ("b", "192.0.3.9", "b@192.0.%"),
            ("b", "198.51.100.1", "@%"),
            ("c", "198.51.100.1", "@%"),
            ("", "198.51.100.1", "@%"),
        ];
        for (user, address, name) in cases {
            let found = all.of_client(user, client(address)).map(|of| of.name.to_string());
            assert_eq!(found.as_deref(), Some(name), "{user} from {address}");
        }
        assert!(accounts(&[("a", "localhost")]).of_client("b", client("socket")).is_none());
    }

    #[test]
    fn patterns() {
        let cases = [
            ("a%", "abc", true),
            ("a%c", "abc", true),
            ("a%c", "abcd", false),
            ("a\\_b", "a_b", true),
            ("a\\_b", "axb", false),
            ("a_b", "axb", true),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            ("%%b%", "abc", true),
            ("a\\%", "a%", true),
            ("a\\%", "ab", false),
            ("a\\", "a\\", true),
        ];
        for (pattern, text, is_match) in cases {
            assert_eq!(is_like(pattern, text), is_match, "{pattern} for {text}");
        }
    }

    #[test]
    fn privileges_add_up_over_levels_and_roles() {
        use PrivilegeSet as P;
        let mut all = accounts(&[("u", "%"), ("r", "%"), ("s", "%")]);
        let name = |user: &str| AccountName::new(user, "%");
        let mut set = |user: &str, change: &dyn Fn(&mut Grants)| {
            let mut account = (**all.get(&name(user)).expect("it is there")).clone();
            change(&mut account.grants);
            all.put(account);
        };
        set("u", &|grants| {
            grants.databases.insert("shop%".into(), P::SELECT);
            grants.databases.insert("shop\\_old".into(), P::DELETE);
            grants.databases.insert("shop_a".into(), P::INSERT);
            let mut table = TableGrant { privileges: P::UPDATE, ..TableGrant::default() };
            table.columns.insert("price".into(), P::REFERENCES);
            grants.tables.insert(("shop1".into(), "T".into()), table);
            grants.roles.insert(name("r"), false);
        });
        set("r", &|grants| {
            grants.databases.insert("shop1".into(), P::DROP);
            grants.roles.insert(name("s"), true);
        });
        set("s", &|grants| {
            grants.global = P::PROCESS;
            // A circle ends.
            grants.roles.insert(name("r"), false);
        });
        let own = all.privileges(&name("u"), &[]);
        assert_eq!(own.global, P::NONE);
        assert_eq!(own.on_database("shop1"), P::SELECT);
        assert_eq!(own.on_database("SHOP_old"), P::DELETE);
        assert_eq!(own.on_database("shop_a"), P::INSERT);
        assert_eq!(own.on_table("shop1", "T"), P::SELECT | P::UPDATE);
        assert_eq!(own.on_table("shop1", "t"), P::SELECT);
        assert_eq!(own.on_column("shop1", "T", "Price"), P::SELECT | P::UPDATE | P::REFERENCES);
        assert_eq!(own.on_column("shop1", "T", "x"), P::SELECT | P::UPDATE);
        assert!(own.sees_database("shop1") && !own.sees_database("mysql"));
        let with_role = all.privileges(&name("u"), &[name("r")]);
        assert_eq!(with_role.global, P::PROCESS);
        assert_eq!(with_role.on_database("shop1"), P::SELECT | P::DROP | P::PROCESS);
    }

    #[test]
    fn accounts_go_over_the_wire() {
        let mut all = Accounts::default();
        let root = AccountName::new("root", "localhost");
        let mut account = (**all.get(&root).expect("root")).clone();
        account.tls =
            TlsRequirement::Specified { subject: Some("CN=a".into()), issuer: None, cipher: None };
        account.secret_before = Some(vec![1, 2]);
        all.put(account);
        let bytes: usize = all.iter().map(|account| account.to_bytes().len()).sum();
        assert_eq!(all.bytes(), bytes as u64);
        let mut bytes = Vec::new();
        all.encode(&mut bytes);
        assert_eq!(Accounts::decode(&mut crate::wire::Reader::new(&bytes)), Ok(all));
    }
}
