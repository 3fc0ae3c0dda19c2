//! CREATE TABLE and ALTER TABLE, shown by data.

use super::ast::*;
use super::tests::parse;

fn create_table(sql: &str) -> CreateTable {
    match parse(sql) {
        Statement::CreateTable(table) => *table,
        other => panic!("{sql}: {other:?}"),
    }
}

fn alter_table(sql: &str) -> Vec<AlterOperation> {
    match parse(sql) {
        Statement::AlterTable(alter) => alter.operations,
        other => panic!("{sql}: {other:?}"),
    }
}

/// Column types and attributes of CREATE TABLE.
#[test]
fn column_types() {
    use TypeKind::*;
    for (text, kind, length, scale, unsigned) in [
        ("INT", Int, None, None, false),
        ("int(11) unsigned zerofill", Int, Some(11), None, true),
        ("INTEGER SIGNED", Int, None, None, false),
        ("TINYINT(1)", TinyInt, Some(1), None, false),
        ("BOOL", Bool, None, None, false),
        ("BOOLEAN", Bool, None, None, false),
        ("SMALLINT", SmallInt, None, None, false),
        ("MEDIUMINT", MediumInt, None, None, false),
        ("BIGINT UNSIGNED", BigInt, None, None, true),
        ("INT8", BigInt, None, None, false),
        ("DECIMAL", Decimal, None, None, false),
        ("DECIMAL(10)", Decimal, Some(10), None, false),
        ("NUMERIC(10,2) UNSIGNED", Decimal, Some(10), Some(2), true),
        ("DEC(5)", Decimal, Some(5), None, false),
        ("FIXED(5,1)", Decimal, Some(5), Some(1), false),
        ("FLOAT", Float, None, None, false),
        ("FLOAT(24)", Float, Some(24), None, false),
        ("FLOAT(7,4)", Float, Some(7), Some(4), false),
        ("DOUBLE", Double, None, None, false),
        ("DOUBLE PRECISION", Double, None, None, false),
        ("REAL", Double, None, None, false),
        ("BIT", Bit, None, None, false),
        ("BIT(8)", Bit, Some(8), None, false),
        ("CHAR", Char, None, None, false),
        ("CHAR(10) CHARACTER SET latin1 COLLATE latin1_bin", Char, Some(10), None, false),
        ("CHAR(10) BINARY", Char, Some(10), None, false),
        ("CHARACTER VARYING(10)", VarChar, Some(10), None, false),
        ("VARCHAR(255) CHARSET utf8mb4", VarChar, Some(255), None, false),
        ("NCHAR(5)", Char, Some(5), None, false),
        ("NATIONAL VARCHAR(5)", VarChar, Some(5), None, false),
        ("NVARCHAR(5)", VarChar, Some(5), None, false),
        ("BINARY(16)", Binary, Some(16), None, false),
        ("VARBINARY(16)", VarBinary, Some(16), None, false),
        ("TINYTEXT", TinyText, None, None, false),
        ("TEXT", Text, None, None, false),
        ("TEXT(100)", Text, Some(100), None, false),
        ("MEDIUMTEXT", MediumText, None, None, false),
        ("LONGTEXT COLLATE utf8mb4_bin", LongText, None, None, false),
        ("LONG VARCHAR", MediumText, None, None, false),
        ("TINYBLOB", TinyBlob, None, None, false),
        ("BLOB", Blob, None, None, false),
        ("MEDIUMBLOB", MediumBlob, None, None, false),
        ("LONGBLOB", LongBlob, None, None, false),
        ("DATE", Date, None, None, false),
        ("TIME(3)", Time, Some(3), None, false),
        ("DATETIME", DateTime, None, None, false),
        ("DATETIME(6)", DateTime, Some(6), None, false),
        ("TIMESTAMP", Timestamp, None, None, false),
        ("YEAR(4)", Year, Some(4), None, false),
        ("JSON", Json, None, None, false),
        ("GEOMETRY", Geometry, None, None, false),
        ("POINT SRID 4326", Point, None, None, false),
        ("SERIAL", BigInt, None, None, true),
        ("ENUM('a','b''c')", Enum, None, None, false),
        ("SET('x','y') CHARACTER SET latin1", Set, None, None, false),
    ] {
        let table = create_table(&format!("CREATE TABLE t (c {text}, d INT)"));
        let data_type = &table.columns[0].data_type;
        assert_eq!(data_type.kind, kind, "{text}");
        assert_eq!(data_type.length, length, "{text}");
        assert_eq!(data_type.scale, scale, "{text}");
        assert_eq!(data_type.unsigned, unsigned, "{text}");
        assert_eq!(table.columns.len(), 2);
    }
    let table = create_table("CREATE TABLE t (c ENUM('a','b''c') COLLATE x)");
    assert_eq!(table.columns[0].data_type.members, [b"a".to_vec(), b"b'c".to_vec()]);
    assert_eq!(table.columns[0].data_type.collation.as_deref(), Some("x"));
}

/// What each column attribute becomes.
#[test]
fn column_attributes() {
    fn column(attributes: &str) -> ColumnDefinition {
        create_table(&format!("CREATE TABLE t (c INT {attributes})")).columns.remove(0)
    }
    assert_eq!(column("NOT NULL").nullable, Some(false));
    assert_eq!(column("NULL").nullable, Some(true));
    assert_eq!(column("").nullable, None);
    for (text, expected) in [
        ("DEFAULT 5", "Value(5)"),
        ("DEFAULT -5", "Value((neg 5))"),
        ("DEFAULT 'x' COLLATE utf8mb4_bin", "Value('x')"),
        ("DEFAULT NULL NULL", "Value(NULL)"),
        ("DEFAULT CURRENT_TIMESTAMP", "Value((NOW))"),
        ("DEFAULT CURRENT_TIMESTAMP()", "Value((NOW))"),
        ("DEFAULT NOW(6) NOT NULL", "Value((NOW 6))"),
        ("DEFAULT (uuid())", "Expression((UUID))"),
        ("DEFAULT (NOW())", "Expression((NOW))"),
        ("DEFAULT (1 + 2) COMMENT 'x'", "Expression((+ 1 2))"),
        ("DEFAULT TRUE", "Value(TRUE)"),
        ("DEFAULT b'0'", "Value(b'00')"),
        ("DEFAULT 1.5", "Value(1.5d)"),
    ] {
        assert_eq!(format!("{:?}", column(text).default.expect("a default")), expected, "{text}");
    }
    assert_eq!(column("ON UPDATE CURRENT_TIMESTAMP").on_update_now, Some(0));
    assert_eq!(column("DEFAULT 1 ON UPDATE CURRENT_TIMESTAMP(3)").on_update_now, Some(3));
    assert!(column("AUTO_INCREMENT PRIMARY KEY").auto_increment);
    assert!(column("PRIMARY KEY").primary_key);
    assert!(column("KEY").primary_key);
    assert!(column("UNIQUE").unique && column("UNIQUE KEY").unique);
    assert_eq!(column("COMMENT 'x''y'").comment.as_deref(), Some("x'y"));
    assert!(column("GENERATED ALWAYS AS (a + 1) STORED").generated.expect("generated").stored);
    assert!(!column("AS (a + 1)").generated.expect("generated").stored);
    assert_eq!(column("COLUMN_FORMAT fixed STORAGE disk").column_format.as_deref(), Some("FIXED"));
    assert_eq!(column("STORAGE memory").storage.as_deref(), Some("MEMORY"));
    assert!(column("INVISIBLE").invisible && !column("VISIBLE").invisible);
    assert_eq!(column("CHECK (c > 0)").checks.len(), 1);
    assert_eq!(
        column("CONSTRAINT x CHECK (c > 0) NOT ENFORCED").checks[0].name.as_deref(),
        Some("x")
    );
    let references = column("REFERENCES u (a) ON DELETE CASCADE ON UPDATE SET NULL").references;
    assert_eq!(references.expect("references").on_delete, Some(ReferenceAction::Cascade));
    let serial = create_table("CREATE TABLE t (c SERIAL)").columns.remove(0);
    assert!(serial.auto_increment && serial.unique && serial.nullable == Some(false));
}

/// Keys, options, partitioning.
#[test]
fn tables() {
    let table = create_table(
        "CREATE TABLE IF NOT EXISTS s.t (
            id INT NOT NULL AUTO_INCREMENT,
            a VARCHAR(20), b INT, -- a comment
            PRIMARY KEY (id) USING HASH,
            KEY k1 (a(10), b DESC) USING BTREE COMMENT 'x',
            INDEX (b),
            UNIQUE KEY u1 USING HASH (a),
            UNIQUE (b) INVISIBLE,
            CONSTRAINT c1 UNIQUE INDEX (a, b),
            FULLTEXT KEY f (a) WITH PARSER ngram,
            SPATIAL INDEX g (p),
            KEY e ((a + 1), (lower(b)) DESC),
            CONSTRAINT fk FOREIGN KEY (b) REFERENCES u (id) ON DELETE SET NULL,
            CONSTRAINT ck CHECK (a <> b),
            CHECK (b > 0)
        ) ENGINE=InnoDB AUTO_INCREMENT=100 DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT=DYNAMIC, MAX_ROWS 1000
          COMMENT='it''s' STATS_PERSISTENT=DEFAULT some_new_option = 'x'
        PARTITION BY KEY (id) PARTITIONS 8",
    );
    assert!(table.if_not_exists);
    assert_eq!(table.name, ObjectName::new(Some("s".to_string()), "t".to_string()));
    assert_eq!(table.columns.len(), 3);
    let keys: Vec<String> = table
        .indexes
        .iter()
        .map(|index| {
            format!(
                "{:?} {} {:?} {}",
                index.kind,
                index.name.as_deref().unwrap_or("-"),
                index.algorithm,
                index.parts.len()
            )
        })
        .collect();
    assert_eq!(
        keys,
        [
            "Primary - Some(Hash) 1",
            "Plain k1 Some(BTree) 2",
            "Plain - None 1",
            "Unique u1 Some(Hash) 1",
            "Unique - None 1",
            "Unique c1 None 2",
            "Fulltext f None 1",
            "Spatial g None 1",
            "Plain e None 2"
        ]
    );
    assert_eq!(
        table.indexes[1].parts[0].target,
        KeyPartTarget::Column { name: "a".to_string(), prefix_length: Some(10) }
    );
    assert!(table.indexes[1].parts[1].descending);
    assert!(table.indexes[4].invisible);
    assert!(matches!(table.indexes[8].parts[0].target, KeyPartTarget::Expr(_)));
    assert_eq!(table.foreign_keys.len(), 1);
    assert_eq!(table.checks.len(), 2);
    assert_eq!(table.options.engine.as_deref(), Some("InnoDB"));
    assert_eq!(table.options.auto_increment, Some(100));
    assert_eq!(table.options.charset.as_deref(), Some("utf8mb4"));
    assert_eq!(table.options.collation.as_deref(), Some("utf8mb4_bin"));
    assert_eq!(table.options.comment.as_deref(), Some("it's"));
    let other: Vec<String> =
        table.options.other.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        other,
        ["ROW_FORMAT=DYNAMIC", "MAX_ROWS=1000", "STATS_PERSISTENT=DEFAULT", "SOME_NEW_OPTION=x"]
    );
    assert_eq!(
        table.partitioning,
        Some(Partitioning::Key {
            linear: false,
            columns: vec!["id".to_string()],
            partitions: Some(8)
        })
    );
    assert!(create_table("CREATE TABLE t LIKE u").like.is_some());
    assert!(create_table("CREATE TABLE t (LIKE s.u)").like.is_some());
    assert!(create_table("CREATE TABLE t AS SELECT 1").as_query.is_some());
    assert!(create_table("CREATE TABLE t SELECT 1").as_query.is_some());
    assert!(
        create_table("CREATE TABLE t (a INT) ENGINE=x IGNORE AS SELECT 1 a").as_query.is_some()
    );
    for (text, on_duplicate) in [
        ("CREATE TABLE t AS SELECT 1", OnDuplicate::Fail),
        ("CREATE TABLE t IGNORE SELECT 1", OnDuplicate::Ignore),
        ("CREATE TABLE t (a INT) REPLACE AS SELECT 1 a", OnDuplicate::Replace),
    ] {
        assert_eq!(create_table(text).on_duplicate, on_duplicate, "{text}");
    }
    assert!(create_table("CREATE TABLE t (SELECT 1)").as_query.is_some());
    assert!(create_table("CREATE TEMPORARY TABLE t (a INT)").temporary);
    for (method, sql) in [
        ("HASH", "CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 4"),
        (
            "RANGE",
            "CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (5), PARTITION q VALUES LESS THAN MAXVALUE)",
        ),
        (
            "LIST",
            "CREATE TABLE t (a INT) PARTITION BY LIST COLUMNS (a) (PARTITION p VALUES IN (1, 2))",
        ),
    ] {
        let feature = format!("PARTITION BY {method}");
        assert_eq!(create_table(sql).partitioning, Some(Partitioning::Unsupported { feature }));
    }
    assert_eq!(
        create_table("CREATE TABLE t (a INT) PARTITION BY LINEAR KEY ALGORITHM=2 ()").partitioning,
        Some(Partitioning::Key { linear: true, columns: Vec::new(), partitions: None })
    );
}

/// ALTER TABLE, by the Debug name of each operation.
#[test]
fn alters() {
    for (tail, expected) in [
        ("ADD COLUMN a INT", "AddColumn"),
        ("ADD a INT NOT NULL FIRST, ADD b INT AFTER a", "AddColumn AddColumn"),
        ("ADD (a INT, b INT)", "AddColumn AddColumn"),
        ("ADD INDEX i (a), ADD UNIQUE KEY (b)", "AddIndex AddIndex"),
        ("ADD PRIMARY KEY (a)", "AddIndex"),
        ("ADD CONSTRAINT c UNIQUE (a)", "AddIndex"),
        ("ADD FULLTEXT (a)", "AddIndex"),
        ("ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (b)", "AddForeignKey"),
        ("ADD CHECK (a > 1)", "AddCheck"),
        ("DROP COLUMN a, DROP b", "DropColumn DropColumn"),
        ("DROP INDEX i, DROP KEY j", "DropIndex DropIndex"),
        ("DROP PRIMARY KEY", "DropPrimaryKey"),
        ("DROP FOREIGN KEY f", "DropForeignKey"),
        ("DROP CONSTRAINT c, DROP CHECK d", "DropConstraint DropCheck"),
        ("ALTER CHECK c NOT ENFORCED, ALTER CONSTRAINT c ENFORCED", "EnforceCheck EnforceCheck"),
        ("MODIFY COLUMN a BIGINT, MODIFY b INT FIRST", "ModifyColumn ModifyColumn"),
        ("CHANGE a b INT AFTER c", "ChangeColumn"),
        ("ALTER COLUMN a SET DEFAULT 5, ALTER b DROP DEFAULT", "SetDefault SetDefault"),
        ("RENAME TO u", "RenameTable"),
        ("RENAME u", "RenameTable"),
        ("RENAME AS s.u", "RenameTable"),
        ("RENAME COLUMN a TO b, RENAME INDEX i TO j", "RenameColumn RenameIndex"),
        ("ENGINE=NDB", "Options"),
        ("ENGINE InnoDB, ADD COLUMN a INT", "Options AddColumn"),
        ("AUTO_INCREMENT = 5", "Options"),
        ("COMMENT='x', ROW_FORMAT=FIXED", "Options"),
        ("DEFAULT CHARACTER SET utf8mb4 COLLATE x", "Options"),
        ("CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "ConvertCharset"),
        ("DISABLE KEYS", "DisableKeys"),
        ("ENABLE KEYS", "EnableKeys"),
        ("FORCE", "Force"),
        ("ORDER BY a", "OrderBy"),
        ("ADD COLUMN a INT, ALGORITHM=INPLACE, LOCK=NONE", "AddColumn"),
        ("PARTITION BY KEY (a) PARTITIONS 4", "Partition"),
        ("ADD PARTITION (PARTITION p VALUES LESS THAN (5))", "Unsupported"),
        ("REORGANIZE PARTITION", "Unsupported"),
        ("TRUNCATE PARTITION p", "Unsupported"),
        ("ALTER INDEX i INVISIBLE", "Unsupported"),
        ("", ""),
    ] {
        let operations = alter_table(&format!("ALTER TABLE s.t {tail}"));
        let names: Vec<String> = operations
            .iter()
            .map(|operation| {
                let text = format!("{operation:?}");
                let end = text.find([' ', '(']).unwrap_or(text.len());
                text[..end].to_string()
            })
            .collect();
        assert_eq!(names.join(" "), expected, "{tail}");
    }
}
