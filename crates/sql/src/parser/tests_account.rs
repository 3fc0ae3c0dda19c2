//! Account management, shown by data.

use proptest::prelude::*;

use super::ast::*;
use super::tests::parse;
use super::*;

fn account(sql: &str) -> AccountStatement {
    match parse(sql) {
        Statement::Account(account) => *account,
        other => panic!("{sql}: {other:?}"),
    }
}

/// `user@host`, split at the last `@`; `-` is the current account.
fn name(text: &str) -> UserName {
    if text == "-" {
        return UserName::Current;
    }
    let (user, host) = text.rsplit_once('@').expect("user@host");
    UserName::Named { user: user.to_string(), host: host.to_string() }
}

/// Names separated by blanks.
fn names(text: &str) -> Vec<UserName> {
    text.split_whitespace().map(name).collect()
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Privileges as `SELECT(a,b); INSERT`.
fn privileges(text: &str) -> Vec<PrivilegeSpec> {
    let privilege = |text: &str| {
        let (name, columns) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
        let columns = columns.split(',').filter(|column| !column.is_empty());
        PrivilegeSpec { name: name.to_string(), columns: columns.map(str::to_string).collect() }
    };
    text.split("; ").map(privilege).collect()
}

fn table(schema: &str, name: &str) -> GrantObject {
    let schema = (!schema.is_empty()).then(|| schema.to_string());
    GrantObject::Table { schema, name: name.to_string() }
}

fn routine(function: bool, schema: &str, name: &str) -> GrantObject {
    let schema = (!schema.is_empty()).then(|| schema.to_string());
    GrantObject::Routine { function, schema, name: name.to_string() }
}

fn database(name: &str) -> GrantObject {
    GrantObject::Database(name.to_string())
}

/// Names of accounts, with odd quoting.
const NAMES: &[(&str, &str)] = &[
    ("u", "u@%"),
    ("u@h", "u@h"),
    ("'u'@'h'", "u@h"),
    ("\"u\"@\"h\"", "u@h"),
    ("`u`@`h`", "u@h"),
    ("u@'H.Example.COM'", "u@h.example.com"),
    ("U@LOCALHOST", "U@localhost"),
    ("u@192.168.0.1", "u@192.168.0.1"),
    ("u @h", "u@h"),
    ("u@ 'h'", "u@h"),
    ("u@'192.168.0.0/255.255.255.0'", "u@192.168.0.0/255.255.255.0"),
    ("u@'::1'", "u@::1"),
    ("u@'%.h\\_x'", "u@%.h\\_x"),
    ("u@''", "u@"),
    ("''@''", "@"),
    ("''", "@%"),
    ("'u@h'", "u@h@%"),
    ("'it''s'@`a``b`", "it's@a`b"),
    ("`x y`@\"a\"\"b\"", "x y@a\"b"),
    ("'\\'\\\\'@'%'", "'\\@%"),
    ("1st@h", "1st@h"),
    ("password@h", "password@h"),
    ("role", "role@%"),
    ("none", "none@%"),
    ("identified", "identified@%"),
    ("größe@'Ä'", "größe@ä"),
    ("'12345678901234567890123456789012'", "12345678901234567890123456789012@%"),
    ("'äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäö'", "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäö@%"),
    ("CURRENT_USER", "-"),
    ("current_user()", "-"),
    ("CURRENT_USER ( )", "-"),
    ("`CURRENT_USER`", "CURRENT_USER@%"),
];

#[test]
fn user_names() {
    for (text, expected) in NAMES {
        let expected = name(expected);
        let drop = account(&format!("DROP USER {text}, z"));
        let users = vec![expected.clone(), name("z@%")];
        assert_eq!(drop, AccountStatement::DropUser { if_exists: false, users }, "{text}");
        let Statement::Show(show) = parse(&format!("SHOW CREATE USER {text}")) else {
            panic!("{text}")
        };
        assert_eq!(*show, Show::CreateUser { user: expected }, "{text}");
    }
    let long_host = "H".repeat(255);
    let users = vec![name(&format!("u@{}", long_host.to_lowercase()))];
    let drop = account(&format!("DROP USER u@'{long_host}'"));
    assert_eq!(drop, AccountStatement::DropUser { if_exists: false, users });
}

/// Names under ANSI_QUOTES.
#[test]
fn user_names_in_ansi_quotes() {
    let parsed = parse_one(b"DROP ROLE \"a\"\"\\\"@\"H\"", SqlMode::ANSI_QUOTES);
    let drop = AccountStatement::DropRole { if_exists: false, roles: vec![name("a\"\\@h")] };
    assert_eq!(parsed.map(|(statement, _)| statement), Ok(Statement::Account(Box::new(drop))));
    let sql = b"CREATE USER u IDENTIFIED BY \"x\"";
    assert!(parse_one(sql, SqlMode::ANSI_QUOTES).is_err());
}

/// Statements without clauses of their own, and lists of names.
#[test]
fn statements() {
    use AccountStatement::*;
    for (sql, expected) in [
        ("DROP USER u", DropUser { if_exists: false, users: names("u@%") }),
        ("drop user if exists u@h, v", DropUser { if_exists: true, users: names("u@h v@%") }),
        ("CREATE ROLE r", CreateRole { if_not_exists: false, roles: names("r@%") }),
        (
            "CREATE ROLE IF NOT EXISTS 'r'@'h', `EVENT`, 'none', user",
            CreateRole { if_not_exists: true, roles: names("r@h EVENT@% none@% user@%") },
        ),
        ("DROP ROLE r1, r2@h", DropRole { if_exists: false, roles: names("r1@% r2@h") }),
        ("DROP ROLE IF EXISTS r", DropRole { if_exists: true, roles: names("r@%") }),
        ("RENAME USER a TO b", RenameUser(vec![(name("a@%"), name("b@%"))])),
        (
            "RENAME USER a@h TO b, b TO a@H",
            RenameUser(vec![(name("a@h"), name("b@%")), (name("b@%"), name("a@h"))]),
        ),
        ("SET ROLE DEFAULT", SetRole(RoleSet::Default)),
        ("SET ROLE NONE", SetRole(RoleSet::None)),
        ("SET ROLE ALL", SetRole(RoleSet::All)),
        ("SET ROLE ALL EXCEPT r, s@h", SetRole(RoleSet::AllExcept(names("r@% s@h")))),
        ("SET ROLE 'r'@'h', s", SetRole(RoleSet::Roles(names("r@h s@%")))),
        ("SET ROLE `none`", SetRole(RoleSet::Roles(names("none@%")))),
        (
            "SET DEFAULT ROLE NONE TO u",
            SetDefaultRole { roles: RoleSet::None, users: names("u@%") },
        ),
        (
            "SET DEFAULT ROLE ALL TO u, v@h",
            SetDefaultRole { roles: RoleSet::All, users: names("u@% v@h") },
        ),
        (
            "SET DEFAULT ROLE r, s TO u",
            SetDefaultRole { roles: RoleSet::Roles(names("r@% s@%")), users: names("u@%") },
        ),
        (
            "ALTER USER u DEFAULT ROLE ALL",
            AlterUserDefaultRole { if_exists: false, user: name("u@%"), roles: RoleSet::All },
        ),
        (
            "ALTER USER IF EXISTS u@h DEFAULT ROLE NONE",
            AlterUserDefaultRole { if_exists: true, user: name("u@h"), roles: RoleSet::None },
        ),
        (
            "ALTER USER CURRENT_USER DEFAULT ROLE r, s@h",
            AlterUserDefaultRole {
                if_exists: false,
                user: UserName::Current,
                roles: RoleSet::Roles(names("r@% s@h")),
            },
        ),
    ] {
        assert_eq!(account(sql), expected, "{sql}");
    }
}

#[test]
fn set_password() {
    for (sql, user, password, replace, retain) in [
        ("SET PASSWORD = 'x'", "-", Some("x"), None, false),
        ("SET PASSWORD := ''", "-", Some(""), None, false),
        ("set password to random", "-", None, None, false),
        ("SET PASSWORD FOR u@H = 'it''s'", "u@h", Some("it's"), None, false),
        ("SET PASSWORD FOR CURRENT_USER() = \"x\"", "-", Some("x"), None, false),
        ("SET PASSWORD FOR u TO RANDOM REPLACE 'o'", "u@%", None, Some("o"), false),
        ("SET PASSWORD = 'x' REPLACE 'o'", "-", Some("x"), Some("o"), false),
        ("SET PASSWORD = 'x' RETAIN CURRENT PASSWORD", "-", Some("x"), None, true),
        (
            "SET PASSWORD FOR u = 'x' REPLACE 'o' RETAIN CURRENT PASSWORD",
            "u@%",
            Some("x"),
            Some("o"),
            true,
        ),
    ] {
        let expected = AccountStatement::SetPassword {
            user: name(user),
            password: password.map(bytes),
            replace: replace.map(bytes),
            retain,
        };
        assert_eq!(account(sql), expected, "{sql}");
    }
}

/// IDENTIFIED and the like, of one account.
#[test]
fn authentication() {
    fn plugin(plugin: &str, secret: PluginSecret) -> Option<Auth> {
        Some(Auth::Plugin { plugin: plugin.to_string(), secret })
    }
    let password = |text: &str| Some(Auth::Password(bytes(text)));
    let plain = |auth: Option<Auth>| UserSpec { auth, ..UserSpec::new(name("u@%")) };
    let in_both = [
        ("", plain(None)),
        ("IDENTIFIED BY 'x'", plain(password("x"))),
        ("IDENTIFIED BY ''", plain(password(""))),
        ("identified by \"a'\\nb\"", plain(password("a'\nb"))),
        ("IDENTIFIED BY RANDOM PASSWORD", plain(Some(Auth::Random))),
        ("IDENTIFIED WITH p", plain(plugin("p", PluginSecret::None))),
        ("IDENTIFIED WITH 'p' BY 'x'", plain(plugin("p", PluginSecret::Password(bytes("x"))))),
        ("IDENTIFIED WITH `P` BY RANDOM PASSWORD", plain(plugin("P", PluginSecret::Random))),
        ("IDENTIFIED WITH p AS '$A$'", plain(plugin("p", PluginSecret::Hash(bytes("$A$"))))),
        (
            "IDENTIFIED WITH caching_sha2_password AS 0x24412430",
            plain(plugin("caching_sha2_password", PluginSecret::Hash(bytes("$A$0")))),
        ),
        ("IDENTIFIED WITH p AS X'00fF'", plain(plugin("p", PluginSecret::Hash(vec![0, 255])))),
    ];
    let of_alter = [
        ("DISCARD OLD PASSWORD", UserSpec { discard_old: true, ..plain(None) }),
        (
            "IDENTIFIED BY 'x' REPLACE 'o'",
            UserSpec { replace: Some(bytes("o")), ..plain(password("x")) },
        ),
        (
            "IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD",
            UserSpec { retain: true, ..plain(password("x")) },
        ),
        (
            "IDENTIFIED BY RANDOM PASSWORD REPLACE 'o' RETAIN CURRENT PASSWORD",
            UserSpec { replace: Some(bytes("o")), retain: true, ..plain(Some(Auth::Random)) },
        ),
        (
            "IDENTIFIED WITH p BY 'x' REPLACE 'o'",
            UserSpec {
                replace: Some(bytes("o")),
                ..plain(plugin("p", PluginSecret::Password(bytes("x"))))
            },
        ),
        (
            "IDENTIFIED WITH p AS 'h' RETAIN CURRENT PASSWORD",
            UserSpec { retain: true, ..plain(plugin("p", PluginSecret::Hash(bytes("h")))) },
        ),
    ];
    let options = UserOptions::default;
    for (clause, spec) in &in_both {
        let sql = format!("CREATE USER u {clause}, v@h IDENTIFIED BY 'y'");
        let second = UserSpec { auth: password("y"), ..UserSpec::new(name("v@h")) };
        let expected = AccountStatement::CreateUser {
            if_not_exists: false,
            users: vec![spec.clone(), second],
            default_roles: Vec::new(),
            options: options(),
        };
        assert_eq!(account(&sql), expected, "{sql}");
    }
    for (clause, spec) in in_both.iter().chain(&of_alter) {
        let sql = format!("ALTER USER IF EXISTS u {clause}, v@h DISCARD OLD PASSWORD");
        let second = UserSpec { discard_old: true, ..UserSpec::new(name("v@h")) };
        let expected = AccountStatement::AlterUser {
            if_exists: true,
            users: vec![spec.clone(), second],
            options: options(),
        };
        assert_eq!(account(&sql), expected, "{sql}");
        // USER() takes no plugin, and needs a clause.
        let sql = format!("ALTER USER USER() {clause}");
        if clause.is_empty() || clause.contains("WITH") {
            assert_eq!(error_code(&sql), 1064, "{sql}");
            continue;
        }
        let users = vec![UserSpec { user: UserName::Current, ..spec.clone() }];
        let expected = AccountStatement::AlterUser { if_exists: false, users, options: options() };
        assert_eq!(account(&sql), expected, "{sql}");
    }
    for (clause, _) in of_alter {
        let sql = format!("CREATE USER u {clause}");
        assert_eq!(error_code(&sql), 1064, "{sql}");
    }
}

/// MySQL's error number; 0 for a statement without error.
fn error_code(sql: &str) -> u16 {
    parse_one(sql.as_bytes(), SqlMode::NONE).err().map_or(0, |error| error.mysql_code())
}

/// Clauses behind the accounts.
#[test]
fn user_options() {
    use PasswordOption::{FailedAttempts, History, LockTime, RequireCurrent, Reuse};
    let none = UserOptions::default;
    let require = |require: Require| UserOptions { require: Some(require), ..none() };
    let specified = |subject: Option<&str>, issuer: Option<&str>, cipher: Option<&str>| {
        require(Require::Specified {
            subject: subject.map(bytes),
            issuer: issuer.map(bytes),
            cipher: cipher.map(bytes),
        })
    };
    let limits = |limits: &[(ResourceLimit, u64)]| UserOptions { limits: limits.into(), ..none() };
    let password = |options: &[PasswordOption]| UserOptions { password: options.into(), ..none() };
    let expire = PasswordOption::Expire;
    let comment = |comment: Comment| UserOptions { comment: Some(comment), ..none() };
    for (clauses, expected) in [
        ("REQUIRE NONE", require(Require::None)),
        ("REQUIRE SSL", require(Require::Ssl)),
        ("REQUIRE X509", require(Require::X509)),
        ("REQUIRE SUBJECT '/C=SE'", specified(Some("/C=SE"), None, None)),
        ("REQUIRE CIPHER 'c' AND ISSUER 'i'", specified(None, Some("i"), Some("c"))),
        (
            "REQUIRE SUBJECT 's' ISSUER 'i' AND CIPHER 'c'",
            specified(Some("s"), Some("i"), Some("c")),
        ),
        ("WITH MAX_QUERIES_PER_HOUR 10", limits(&[(ResourceLimit::Queries, 10)])),
        (
            "WITH MAX_UPDATES_PER_HOUR 1 MAX_CONNECTIONS_PER_HOUR 2 MAX_USER_CONNECTIONS 0",
            limits(&[
                (ResourceLimit::Updates, 1),
                (ResourceLimit::Connections, 2),
                (ResourceLimit::UserConnections, 0),
            ]),
        ),
        (
            "WITH MAX_QUERIES_PER_HOUR 99999999999999999999",
            limits(&[(ResourceLimit::Queries, u64::MAX)]),
        ),
        ("PASSWORD EXPIRE", password(&[expire(Expire::Now)])),
        ("PASSWORD EXPIRE DEFAULT", password(&[expire(Expire::Default)])),
        ("PASSWORD EXPIRE NEVER", password(&[expire(Expire::Never)])),
        ("PASSWORD EXPIRE INTERVAL 90 DAY", password(&[expire(Expire::Days(90))])),
        ("PASSWORD HISTORY DEFAULT", password(&[History(None)])),
        ("PASSWORD HISTORY 6", password(&[History(Some(6))])),
        ("PASSWORD HISTORY 4294967296", password(&[History(Some(u32::MAX))])),
        ("PASSWORD REUSE INTERVAL DEFAULT", password(&[Reuse(None)])),
        ("PASSWORD REUSE INTERVAL 365 DAY", password(&[Reuse(Some(365))])),
        ("PASSWORD REQUIRE CURRENT", password(&[RequireCurrent(Some(true))])),
        ("PASSWORD REQUIRE CURRENT OPTIONAL", password(&[RequireCurrent(Some(false))])),
        ("PASSWORD REQUIRE CURRENT DEFAULT", password(&[RequireCurrent(None)])),
        ("FAILED_LOGIN_ATTEMPTS 3", password(&[FailedAttempts(3)])),
        ("PASSWORD_LOCK_TIME 32767", password(&[LockTime(Some(32767))])),
        ("PASSWORD_LOCK_TIME UNBOUNDED", password(&[LockTime(None)])),
        ("ACCOUNT LOCK", UserOptions { lock: Some(true), ..none() }),
        ("ACCOUNT LOCK ACCOUNT UNLOCK", UserOptions { lock: Some(false), ..none() }),
        ("COMMENT 'a ''b'", comment(Comment::Comment("a 'b".to_string()))),
        ("ATTRIBUTE '{\"a\": 1}'", comment(Comment::Attribute("{\"a\": 1}".to_string()))),
        (
            "REQUIRE SSL WITH MAX_USER_CONNECTIONS 5 PASSWORD EXPIRE ACCOUNT LOCK \
             FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 1 PASSWORD HISTORY 3 COMMENT 'c'",
            UserOptions {
                require: Some(Require::Ssl),
                limits: vec![(ResourceLimit::UserConnections, 5)],
                password: vec![
                    expire(Expire::Now),
                    FailedAttempts(2),
                    LockTime(Some(1)),
                    History(Some(3)),
                ],
                lock: Some(true),
                comment: Some(Comment::Comment("c".to_string())),
            },
        ),
    ] {
        let spec = UserSpec::new(name("u@%"));
        let sql = format!("CREATE USER IF NOT EXISTS u DEFAULT ROLE r, s@h {clauses}");
        let create = AccountStatement::CreateUser {
            if_not_exists: true,
            users: vec![spec.clone()],
            default_roles: names("r@% s@h"),
            options: expected.clone(),
        };
        assert_eq!(account(&sql), create, "{sql}");
        let sql = format!("ALTER USER u {clauses}");
        let alter =
            AccountStatement::AlterUser { if_exists: false, users: vec![spec], options: expected };
        assert_eq!(account(&sql), alter, "{sql}");
    }
}

/// GRANT and REVOKE of privileges: `list`, ON `object`.
#[test]
fn privileges_on_objects() {
    for (list, object, expected, on) in [
        ("ALL", "*.*", "ALL", GrantObject::Global),
        ("ALL PRIVILEGES", "db.*", "ALL", database("db")),
        ("ALL", "`db\\_1`.*", "ALL", database("db\\_1")),
        ("ALL", "`a%`.*", "ALL", database("a%")),
        ("ALL", "*", "ALL", GrantObject::CurrentDatabase),
        ("ALL", "TABLE *.*", "ALL", GrantObject::Global),
        ("SELECT", "t", "SELECT", table("", "t")),
        ("select, Insert", "TABLE db.t", "SELECT; INSERT", table("db", "t")),
        ("SELECT (a, b), INSERT", "db.t", "SELECT(a,b); INSERT", table("db", "t")),
        ("UPDATE(a), REFERENCES (`b c`)", "t", "UPDATE(a); REFERENCES(b c)", table("", "t")),
        ("DELETE (a)", "t", "DELETE(a)", table("", "t")),
        ("SELECT", "db.table", "SELECT", table("db", "table")),
        ("SELECT", "`d.b`.`t.u`", "SELECT", table("d.b", "t.u")),
        ("EXECUTE, ALTER ROUTINE", "FUNCTION f", "EXECUTE; ALTER ROUTINE", routine(true, "", "f")),
        ("EXECUTE", "PROCEDURE db.p", "EXECUTE", routine(false, "db", "p")),
        ("GRANT OPTION", "db.*", "GRANT OPTION", database("db")),
        ("USAGE", "*.*", "USAGE", GrantObject::Global),
        (
            "ALTER, CREATE, CREATE ROUTINE, create  temporary\ntables, CREATE VIEW, DELETE, DROP",
            "db.*",
            "ALTER; CREATE; CREATE ROUTINE; CREATE TEMPORARY TABLES; CREATE VIEW; DELETE; DROP",
            database("db"),
        ),
        (
            "EVENT, INDEX, LOCK TABLES, SHOW VIEW, TRIGGER",
            "db.*",
            "EVENT; INDEX; LOCK TABLES; SHOW VIEW; TRIGGER",
            database("db"),
        ),
        (
            "CREATE ROLE, CREATE TABLESPACE, CREATE USER, DROP ROLE, FILE, PROCESS, RELOAD",
            "*.*",
            "CREATE ROLE; CREATE TABLESPACE; CREATE USER; DROP ROLE; FILE; PROCESS; RELOAD",
            GrantObject::Global,
        ),
        (
            "REPLICATION CLIENT, REPLICATION SLAVE, SHOW DATABASES, SHUTDOWN, SUPER",
            "*.*",
            "REPLICATION CLIENT; REPLICATION SLAVE; SHOW DATABASES; SHUTDOWN; SUPER",
            GrantObject::Global,
        ),
        (
            "backup_admin, 'Role_Admin', `x`, SELECT",
            "*.*",
            "BACKUP_ADMIN; ROLE_ADMIN; X; SELECT",
            GrantObject::Global,
        ),
    ] {
        for (tail, grant_option, as_user) in [
            ("", false, None),
            (" WITH GRANT OPTION", true, None),
            (" AS a@h", false, Some(GrantAs { user: name("a@h"), roles: RoleSet::None })),
            (
                " WITH GRANT OPTION AS CURRENT_USER WITH ROLE r",
                true,
                Some(GrantAs { user: UserName::Current, roles: RoleSet::Roles(names("r@%")) }),
            ),
            (
                " AS a WITH ROLE ALL EXCEPT r",
                false,
                Some(GrantAs { user: name("a@%"), roles: RoleSet::AllExcept(names("r@%")) }),
            ),
        ] {
            let sql = format!("GRANT {list} ON {object} TO u@h, CURRENT_USER{tail}");
            let grant = AccountStatement::Grant {
                privileges: privileges(expected),
                on: on.clone(),
                to: names("u@h -"),
                grant_option,
                as_user,
            };
            assert_eq!(account(&sql), grant, "{sql}");
        }
        for (head, tail, if_exists, ignore_unknown) in [
            ("", "", false, false),
            ("IF EXISTS ", "", true, false),
            ("", " IGNORE UNKNOWN USER", false, true),
        ] {
            let sql = format!("REVOKE {head}{list} ON {object} FROM u, v{tail}");
            let revoke = AccountStatement::Revoke {
                if_exists,
                privileges: privileges(expected),
                on: on.clone(),
                from: names("u@% v@%"),
                ignore_unknown,
            };
            assert_eq!(account(&sql), revoke, "{sql}");
        }
    }
}

/// GRANT and REVOKE of roles, REVOKE of everything.
#[test]
fn roles_and_everything() {
    use AccountStatement::*;
    let roles = || names("r1@% r2@%");
    for (sql, expected) in [
        ("GRANT r1, r2@'%' TO u", GrantRoles { roles: roles(), to: names("u@%"), admin: false }),
        (
            "GRANT 'r1', `r2` TO u@h, CURRENT_USER() WITH ADMIN OPTION",
            GrantRoles { roles: roles(), to: names("u@h -"), admin: true },
        ),
        (
            "GRANT `SELECT`, 'event'@h, proxy1 TO u",
            GrantRoles {
                roles: names("SELECT@% event@h proxy1@%"),
                to: names("u@%"),
                admin: false,
            },
        ),
        (
            "REVOKE r1, r2 FROM u",
            RevokeRoles {
                if_exists: false,
                roles: roles(),
                from: names("u@%"),
                ignore_unknown: false,
            },
        ),
        (
            "REVOKE IF EXISTS r1@'%', r2 FROM u, v IGNORE UNKNOWN USER",
            RevokeRoles {
                if_exists: true,
                roles: roles(),
                from: names("u@% v@%"),
                ignore_unknown: true,
            },
        ),
        (
            "REVOKE IF EXISTS SELECT ON *.* FROM u IGNORE UNKNOWN USER",
            Revoke {
                if_exists: true,
                privileges: privileges("SELECT"),
                on: GrantObject::Global,
                from: names("u@%"),
                ignore_unknown: true,
            },
        ),
        (
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM u, v@h",
            RevokeAll { if_exists: false, from: names("u@% v@h"), ignore_unknown: false },
        ),
        (
            "REVOKE IF EXISTS ALL, GRANT OPTION FROM CURRENT_USER IGNORE UNKNOWN USER",
            RevokeAll { if_exists: true, from: names("-"), ignore_unknown: true },
        ),
        (
            "GRANT SELECT (a, b), INSERT ON db.t TO u@h WITH GRANT OPTION",
            Grant {
                privileges: privileges("SELECT(a,b); INSERT"),
                on: table("db", "t"),
                to: names("u@h"),
                grant_option: true,
                as_user: None,
            },
        ),
    ] {
        assert_eq!(account(sql), expected, "{sql}");
    }
}

#[test]
fn show_grants() {
    for (text, user, using) in [
        ("", "-", ""),
        ("FOR CURRENT_USER", "-", ""),
        ("FOR CURRENT_USER()", "-", ""),
        ("FOR 'u'@'h'", "u@h", ""),
        ("FOR u@LocalHost", "u@localhost", ""),
        ("FOR root", "root@%", ""),
        ("FOR u USING r, s@h", "u@%", "r@% s@h"),
    ] {
        let sql = format!("SHOW GRANTS {text}");
        let Statement::Show(show) = parse(sql.trim_end()) else { panic!("{sql}") };
        assert_eq!(*show, Show::Grants { user: name(user), using: names(using) }, "{sql}");
    }
}

/// Features known by name only.
#[test]
fn unsupported() {
    for (sql, expected) in [
        ("CREATE USER u IDENTIFIED BY 'x' AND IDENTIFIED WITH p", "CREATE USER ... AND IDENTIFIED"),
        (
            "CREATE USER v, u IDENTIFIED WITH p INITIAL AUTHENTICATION IDENTIFIED BY 'x'",
            "CREATE USER ... INITIAL AUTHENTICATION",
        ),
        ("ALTER USER u ADD 2 FACTOR IDENTIFIED BY 'x'", "ALTER USER ... FACTOR"),
        ("ALTER USER u DROP 2 FACTOR DROP 3 FACTOR", "ALTER USER ... FACTOR"),
        ("ALTER USER v, u MODIFY 2 FACTOR IDENTIFIED WITH p", "ALTER USER ... FACTOR"),
        ("ALTER USER u 2 FACTOR INITIATE REGISTRATION", "ALTER USER ... REGISTRATION"),
        ("ALTER USER USER() 2 FACTOR UNREGISTER", "ALTER USER ... REGISTRATION"),
        ("GRANT PROXY ON a TO b WITH GRANT OPTION", "GRANT PROXY"),
        ("REVOKE IF EXISTS PROXY ON a FROM b", "REVOKE PROXY"),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u')", "CREATE SERVER"),
        ("ALTER INSTANCE RELOAD TLS", "ALTER INSTANCE"),
    ] {
        assert_eq!(parse(sql), Statement::Unsupported { feature: expected.to_string() }, "{sql}");
    }
}

/// `SET role = ...` and the like are no statements on accounts.
#[test]
fn variables_are_no_accounts() {
    for sql in ["SET role = 1", "SET role := 1, a = 2", "SET @password = 'x'", "SET a = 1"] {
        assert!(matches!(parse(sql), Statement::Set(_)), "{sql}");
    }
}

/// Syntax errors, and the text they show.
#[test]
fn syntax_errors() {
    for (sql, near) in [
        ("CREATE USER", ""),
        ("CREATE USER u,", ""),
        ("CREATE USER u v", "v"),
        ("CREATE USER u@", ""),
        ("CREATE USER u@@h", "@@h"),
        ("CREATE USER u@%", "%"),
        ("CREATE USER u@h-1", "-1"),
        ("CREATE USER select", "select"),
        ("CREATE USER 'u\\0'", ""),
        ("CREATE USER u IF NOT EXISTS", "IF NOT EXISTS"),
        ("CREATE USER IF EXISTS u", "EXISTS u"),
        ("CREATE USER u IDENTIFIED", ""),
        ("CREATE USER u IDENTIFIED BY", ""),
        ("CREATE USER u IDENTIFIED BY x", "x"),
        ("CREATE USER u IDENTIFIED BY 0x41", "0x41"),
        ("CREATE USER u IDENTIFIED BY 'x' 'y'", "'y'"),
        ("CREATE USER u IDENTIFIED BY PASSWORD '*41'", "PASSWORD '*41'"),
        ("CREATE USER u IDENTIFIED WITH", ""),
        ("CREATE USER u IDENTIFIED WITH p AS", ""),
        ("CREATE USER u IDENTIFIED WITH p AS 65", "65"),
        ("CREATE USER u IDENTIFIED BY RANDOM", ""),
        ("CREATE USER u DEFAULT ROLE NONE", "NONE"),
        ("CREATE USER u DEFAULT ROLE", ""),
        ("CREATE USER u REQUIRE", ""),
        ("CREATE USER u REQUIRE SSL AND X509", "AND X509"),
        ("CREATE USER u REQUIRE SUBJECT 's' AND", ""),
        ("CREATE USER u REQUIRE SUBJECT s", "s"),
        ("CREATE USER u WITH", ""),
        ("CREATE USER u WITH MAX_QUERIES_PER_HOUR", ""),
        ("CREATE USER u WITH MAX_ROWS 1", "MAX_ROWS 1"),
        ("CREATE USER u WITH MAX_USER_CONNECTIONS -1", "-1"),
        ("CREATE USER u ACCOUNT LOCK REQUIRE SSL", "REQUIRE SSL"),
        ("CREATE USER u ACCOUNT", ""),
        ("CREATE USER u PASSWORD", ""),
        ("CREATE USER u PASSWORD EXPIRE INTERVAL 5", ""),
        ("CREATE USER u PASSWORD EXPIRE INTERVAL 5 MONTH", "MONTH"),
        ("CREATE USER u PASSWORD REUSE INTERVAL 5", ""),
        ("CREATE USER u PASSWORD REQUIRE", ""),
        ("CREATE USER u FAILED_LOGIN_ATTEMPTS UNBOUNDED", "UNBOUNDED"),
        ("CREATE USER u COMMENT 'a' ATTRIBUTE '{}'", "ATTRIBUTE '{}'"),
        ("CREATE USER u COMMENT 'a' ACCOUNT LOCK", "ACCOUNT LOCK"),
        ("CREATE USER u IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD", "RETAIN CURRENT PASSWORD"),
        ("CREATE OR REPLACE USER u", "USER u"),
        ("ALTER USER", ""),
        ("ALTER USER u IDENTIFIED WITH p RETAIN CURRENT PASSWORD", "RETAIN CURRENT PASSWORD"),
        ("ALTER USER u IDENTIFIED WITH p AS 'h' REPLACE 'o'", "REPLACE 'o'"),
        ("ALTER USER u IDENTIFIED BY 'x' DISCARD OLD PASSWORD", "DISCARD OLD PASSWORD"),
        ("ALTER USER u REPLACE 'o'", "REPLACE 'o'"),
        ("ALTER USER u DEFAULT ROLE DEFAULT", "DEFAULT"),
        ("ALTER USER u, v DEFAULT ROLE r", "DEFAULT ROLE r"),
        ("ALTER USER u DEFAULT ROLE r REQUIRE SSL", "REQUIRE SSL"),
        ("ALTER USER USER() ACCOUNT LOCK", "ACCOUNT LOCK"),
        ("ALTER USER USER() IDENTIFIED BY 'x', v IDENTIFIED BY 'y'", ", v IDENTIFIED BY 'y'"),
        ("ALTER ROLE r", "ROLE r"),
        ("DROP USER", ""),
        ("DROP USER CURRENT_USER(1)", "1)"),
        ("DROP USER IF NOT EXISTS u", "NOT EXISTS u"),
        ("RENAME USER a", ""),
        ("RENAME USER a b", "b"),
        ("CREATE ROLE", ""),
        ("CREATE ROLE CURRENT_USER", "CURRENT_USER"),
        ("CREATE ROLE event", "event"),
        ("CREATE ROLE r IDENTIFIED BY 'x'", "IDENTIFIED BY 'x'"),
        ("DROP ROLE none", "none"),
        ("GRANT", ""),
        ("GRANT SELECT", ""),
        ("GRANT SELECT ON", ""),
        ("GRANT SELECT ON t", ""),
        ("GRANT SELECT ON t TO", ""),
        ("GRANT SELECT TO u", "SELECT TO u"),
        ("GRANT r, SELECT (a) TO u", "SELECT (a) TO u"),
        ("GRANT r (a) TO u", "r (a) TO u"),
        ("GRANT r@h ON *.* TO u", "r@h ON *.* TO u"),
        ("GRANT SELECT () ON t TO u", ") ON t TO u"),
        ("GRANT ALL, SELECT ON t TO u", ", SELECT ON t TO u"),
        ("GRANT SELECT, ALL ON t TO u", "ALL ON t TO u"),
        ("GRANT ALL (a) ON t TO u", "(a) ON t TO u"),
        ("GRANT ALL TO u", "TO u"),
        ("GRANT ALL ON db\\_1.* TO u", "\\_1.* TO u"),
        ("GRANT ALL ON *.t TO u", "t TO u"),
        ("GRANT ALL ON 'db'.* TO u", "'db'.* TO u"),
        ("GRANT ALL ON .t TO u", ".t TO u"),
        ("GRANT ALL ON a.b.c TO u", ".c TO u"),
        ("GRANT ALL ON t, u TO u", ", u TO u"),
        ("GRANT SELECT (a) ON FUNCTION f TO u", "TO u"),
        ("GRANT EXECUTE ON PROCEDURE db.* TO u", "* TO u"),
        ("GRANT CREATE TEMPORARY ON *.* TO u", "TEMPORARY ON *.* TO u"),
        ("GRANT REPLICATION ON *.* TO u", "REPLICATION ON *.* TO u"),
        ("GRANT SELECT ON t TO u IDENTIFIED BY 'x'", "IDENTIFIED BY 'x'"),
        ("GRANT SELECT ON t TO u REQUIRE SSL", "REQUIRE SSL"),
        ("GRANT SELECT ON t TO u WITH ADMIN OPTION", "ADMIN OPTION"),
        ("GRANT SELECT ON t TO u AS a WITH GRANT OPTION", "GRANT OPTION"),
        ("GRANT r TO u WITH GRANT OPTION", "GRANT OPTION"),
        ("REVOKE ALL FROM u", "FROM u"),
        ("REVOKE ALL, SELECT FROM u", "SELECT FROM u"),
        ("REVOKE SELECT FROM u", "SELECT FROM u"),
        ("REVOKE SELECT ON t TO u", "TO u"),
        ("REVOKE r FROM u IF EXISTS", "IF EXISTS"),
        ("REVOKE r FROM u IGNORE UNKNOWN", ""),
        ("REVOKE IF NOT EXISTS r FROM u", "NOT EXISTS r FROM u"),
        ("SET PASSWORD", ""),
        ("SET PASSWORD 'x'", "'x'"),
        ("SET PASSWORD = x", "x"),
        ("SET PASSWORD = PASSWORD('x')", "PASSWORD('x')"),
        ("SET PASSWORD = 'x', a = 1", ", a = 1"),
        ("SET PASSWORD TO 'x'", "'x'"),
        ("SET PASSWORD = 'x' RETAIN CURRENT PASSWORD REPLACE 'o'", "REPLACE 'o'"),
        ("SET ROLE", ""),
        ("SET ROLE ALL EXCEPT", ""),
        ("SET ROLE ALL, r", ", r"),
        ("SET ROLE r EXCEPT s", "EXCEPT s"),
        ("SET DEFAULT ROLE DEFAULT TO u", "DEFAULT TO u"),
        ("SET DEFAULT ROLE ALL EXCEPT r TO u", "EXCEPT r TO u"),
        ("SET DEFAULT ROLE ALL", ""),
        ("SHOW CREATE USER", ""),
        ("SHOW CREATE USER u, v", ", v"),
        ("SHOW GRANTS FOR", ""),
        ("SHOW GRANTS USING r", "USING r"),
    ] {
        let parsed = parse_one(sql.as_bytes(), SqlMode::NONE);
        let error = parsed.expect_err(sql);
        assert_eq!((error.mysql_code(), error.near.as_str()), (1064, near), "{sql}");
    }
}

/// Errors other than 1064, with MySQL's text.
#[test]
fn refused_values() {
    let name_33 = "x".repeat(33);
    let host_256 = "h".repeat(256);
    let too_long = |name: &str, what: &str, length_max: usize| {
        format!("String '{name}' is too long for {what} (should be no longer than {length_max})")
    };
    let user_error = too_long(&name_33, "user name", 32);
    let host_error = too_long(&host_256[..70], "host name", 255);
    let wrong = |name: &str, value: &str| format!("Incorrect {name} value: '{value}'");
    for (sql, code, message) in [
        (format!("CREATE USER {name_33}"), 1470, user_error.clone()),
        (format!("DROP USER u, '{name_33}'@h"), 1470, user_error.clone()),
        (format!("RENAME USER u TO `{name_33}`"), 1470, user_error.clone()),
        (format!("CREATE ROLE {name_33}"), 1470, user_error.clone()),
        (format!("GRANT {name_33} TO u"), 1470, user_error.clone()),
        (format!("GRANT SELECT ON t TO {name_33}"), 1470, user_error.clone()),
        (format!("SET ROLE {name_33}"), 1470, user_error.clone()),
        (format!("SET PASSWORD FOR {name_33} = 'x'"), 1470, user_error.clone()),
        (format!("SHOW GRANTS FOR {name_33}"), 1470, user_error.clone()),
        (format!("SHOW CREATE USER u@{host_256}"), 1470, host_error.clone()),
        (format!("CREATE USER u@'{host_256}' IDENTIFIED BY 'x'"), 1470, host_error),
        (
            "CREATE USER u@'h@i'".to_string(),
            1105,
            "Malformed hostname (illegal symbol: '@')".to_string(),
        ),
        ("CREATE USER u PASSWORD EXPIRE INTERVAL 0 DAY".to_string(), 1525, wrong("DAY", "0")),
        (
            "ALTER USER u PASSWORD EXPIRE INTERVAL 65536 DAY".to_string(),
            1525,
            wrong("DAY", "65536"),
        ),
        (
            "CREATE USER u FAILED_LOGIN_ATTEMPTS 32768".to_string(),
            1525,
            wrong("FAILED_LOGIN_ATTEMPTS", "32768"),
        ),
        (
            "CREATE USER u PASSWORD_LOCK_TIME 99999999999999999999".to_string(),
            1525,
            wrong("PASSWORD_LOCK_TIME", "99999999999999999999"),
        ),
        (
            "CREATE USER u REQUIRE CIPHER 'a' AND CIPHER 'b'".to_string(),
            1225,
            "Option 'CIPHER' used twice in statement".to_string(),
        ),
    ] {
        let error = parse_one(sql.as_bytes(), SqlMode::NONE).expect_err(&sql);
        assert_eq!((error.mysql_code(), error.to_string()), (code, message), "{sql}");
    }
    // A dynamic privilege is no name of an account.
    assert_eq!(error_code(&format!("GRANT {name_33} ON *.* TO u")), 0);
}

/// Which statements hold a password or a hash, and their names.
#[test]
fn secrets_and_features() {
    for (sql, has_secret, feature) in [
        ("CREATE USER u", false, "CREATE USER"),
        ("CREATE USER u IDENTIFIED BY RANDOM PASSWORD", false, "CREATE USER"),
        ("CREATE USER u IDENTIFIED WITH p BY RANDOM PASSWORD", false, "CREATE USER"),
        ("CREATE USER u IDENTIFIED WITH p", false, "CREATE USER"),
        ("CREATE USER u, v IDENTIFIED BY 'x'", true, "CREATE USER"),
        ("CREATE USER u IDENTIFIED WITH p BY 'x'", true, "CREATE USER"),
        ("CREATE USER u IDENTIFIED WITH p AS 0x00", true, "CREATE USER"),
        ("ALTER USER u IDENTIFIED BY RANDOM PASSWORD REPLACE 'o'", true, "ALTER USER"),
        ("ALTER USER u DISCARD OLD PASSWORD", false, "ALTER USER"),
        ("ALTER USER u DEFAULT ROLE ALL", false, "ALTER USER"),
        ("SET PASSWORD = ''", true, "SET PASSWORD"),
        ("SET PASSWORD TO RANDOM", false, "SET PASSWORD"),
        ("SET PASSWORD TO RANDOM REPLACE 'o'", true, "SET PASSWORD"),
        ("DROP USER u", false, "DROP USER"),
        ("RENAME USER u TO v", false, "RENAME USER"),
        ("CREATE ROLE r", false, "CREATE ROLE"),
        ("DROP ROLE r", false, "DROP ROLE"),
        ("GRANT SELECT ON t TO u", false, "GRANT"),
        ("GRANT r TO u", false, "GRANT"),
        ("REVOKE SELECT ON t FROM u", false, "REVOKE"),
        ("REVOKE r FROM u", false, "REVOKE"),
        ("REVOKE ALL, GRANT OPTION FROM u", false, "REVOKE"),
        ("SET ROLE r", false, "SET ROLE"),
        ("SET DEFAULT ROLE r TO u", false, "SET ROLE"),
    ] {
        let statement = account(sql);
        assert_eq!((statement.has_secret(), statement.feature()), (has_secret, feature), "{sql}");
    }
}

/// Statements that hold most tokens of the grammar.
const WHOLE: &[&str] = &[
    "CREATE USER IF NOT EXISTS 'u'@'h' IDENTIFIED WITH p AS 0x24, `v` IDENTIFIED BY 'x' \
     DEFAULT ROLE r@h, s REQUIRE SUBJECT 's' AND ISSUER 'i' CIPHER 'c' \
     WITH MAX_QUERIES_PER_HOUR 1 MAX_USER_CONNECTIONS 2 PASSWORD EXPIRE INTERVAL 3 DAY \
     ACCOUNT LOCK PASSWORD REUSE INTERVAL DEFAULT ATTRIBUTE '{}'",
    "ALTER USER IF EXISTS u IDENTIFIED BY 'x' REPLACE 'o' RETAIN CURRENT PASSWORD, \
     v DISCARD OLD PASSWORD PASSWORD REQUIRE CURRENT OPTIONAL FAILED_LOGIN_ATTEMPTS 3 \
     PASSWORD_LOCK_TIME UNBOUNDED COMMENT 'c'",
    "GRANT SELECT (a, b), CREATE TEMPORARY TABLES, backup_admin ON TABLE `d\\_b`.* \
     TO u@h, CURRENT_USER() WITH GRANT OPTION AS a WITH ROLE ALL EXCEPT r, s@h",
    "REVOKE IF EXISTS r1, r2@'%' FROM u, v@h IGNORE UNKNOWN USER",
    "SET PASSWORD FOR 'u'@'h' = 'x' REPLACE 'o' RETAIN CURRENT PASSWORD",
    "SET DEFAULT ROLE r, s@h TO u, v@'%'",
    "RENAME USER a@h TO b, ''@'' TO `c`@`d`",
];

/// A statement cut at any byte, or with one byte replaced, gives a tree or an error.
#[test]
fn mutilated() {
    let attempt = |sql: &[u8]| {
        for mode in [SqlMode::NONE, SqlMode::ANSI_QUOTES] {
            if let Ok((statement, consumed)) = parse_one(sql, mode) {
                assert!(consumed <= sql.len());
                assert_eq!(statement.clone(), statement);
            }
        }
    };
    for sql in WHOLE {
        assert!(matches!(parse(sql), Statement::Account(_)), "{sql}");
        for cut in 0..sql.len() {
            attempt(&sql.as_bytes()[..cut]);
            for byte in [b'\'', b'`', b'"', b'@', b' ', b'(', b',', b'*', b'.', b'1', 0, 0xFF] {
                let mut changed = sql.as_bytes().to_vec();
                changed[cut] = byte;
                attempt(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Random sequences of the grammar's words give a tree or an error.
    #[test]
    fn random_words(
        which in 0..WHOLE.len(),
        kept in 0usize..12,
        indexes in proptest::collection::vec((0..WHOLE.len(), 0usize..64), 0..20),
    ) {
        let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
        let mut picked: Vec<&str> = words(WHOLE[which]).into_iter().take(kept).collect();
        for (statement, word) in indexes {
            let words = words(WHOLE[statement]);
            picked.push(words[word % words.len()]);
        }
        let _ = parse_one(picked.join(" ").as_bytes(), SqlMode::NONE);
    }
}
