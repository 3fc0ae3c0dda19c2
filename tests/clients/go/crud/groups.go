package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"clients/connect"

	"github.com/go-sql-driver/mysql"
)

const (
	rowCountLarge = 10_000
	blobSizeLong  = 1 << 20
	// Above 16 MiB - 1 a MySQL packet is split.
	blobSizeSplit = 18 << 20
)

// groups run in this order; each builds on the tables of those before it.
var groups = []struct {
	name  string
	check func(*run)
}{
	{"encryption as asked for", encryption},
	{"create tables", createTables},
	{"all types round trip", allTypes},
	{"column types", columnTypes},
	{"parameters of all types in conditions", conditions},
	{"AUTO_INCREMENT and LastInsertId", autoIncrement},
	{"point, range, LIKE, IN, LIMIT", queries},
	{"aggregates", aggregates},
	{"joins", joins},
	{"UPDATE, DELETE, upsert, affected rows", updates},
	{"matched rows instead of changed ones (clientFoundRows)", foundRows},
	{"commit and rollback", transactions},
	{"isolation levels and read-only transactions", isolation},
	{"errors and SQLSTATEs", errorsAndStates},
	{"prepared statements: reuse, several, error at prepare", preparedStatements},
	{"packets above 16 MB", splitPackets},
	{"long data", longData},
	{"multi-statements", multiStatements},
	{"10,000 rows", manyRows},
	{"a result left unread", unread},
	{"charset, collation and time zone of the connection", sessionSettings},
	{"sql_mode ANSI_QUOTES", ansiQuotes},
	{"many connections", manyConnections},
}

func encryption(r *run) {
	status := r.texts("SHOW STATUS LIKE 'Ssl_cipher'")
	equal(len(status), 1, "rows of SHOW STATUS LIKE 'Ssl_cipher'")
	if r.options.TLS == "required" {
		if connect.Handshakes() == 0 {
			fail("no TLS handshake took place")
		}
		if status[0][1] == "" {
			fail("the server says that the connection is not encrypted")
		}
		return
	}
	equal(connect.Handshakes(), int64(0), "TLS handshakes")
	equal(status[0][1], "", "Ssl_cipher")
}

const createAllTypes = `CREATE TABLE all_types (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, u16 SMALLINT UNSIGNED, i24 MEDIUMINT, u24 MEDIUMINT UNSIGNED,
	i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED,
	f32 FLOAT, f64 DOUBLE, amount DECIMAL(20,6),
	c10 CHAR(10), v200 VARCHAR(200), txt TEXT, vb VARBINARY(255), b64k BLOB, b16m MEDIUMBLOB,
	day DATE, span TIME, span6 TIME(6), moment DATETIME(6), stamp TIMESTAMP NULL DEFAULT NULL,
	KEY all_types_u64 (u64)
)`

func createTables(r *run) {
	r.change(createAllTypes)
	r.change(`CREATE TABLE item (
		id INT NOT NULL AUTO_INCREMENT,
		code VARCHAR(32) NOT NULL,
		shelf INT NOT NULL,
		price DECIMAL(10,2) NOT NULL DEFAULT '9.99',
		quantity INT,
		note VARCHAR(50) DEFAULT 'none',
		PRIMARY KEY (id),
		UNIQUE KEY item_code (code),
		KEY item_shelf_price (shelf, price)
	) ENGINE=InnoDB`)
	r.change("CREATE TABLE big (id INT PRIMARY KEY, content LONGBLOB)")
	equal(r.texts("SHOW TABLES"), table(row("all_types"), row("big"), row("item")), "SHOW TABLES")
}

const allColumns = "i8, u8, i16, u16, i24, u24, i32, u32, i64, u64, f32, f64, amount, c10, v200, txt, vb, b64k, b16m," +
	" day, span, span6, moment, stamp"

// record is one row of all_types; the pointers and slices may be nil, for NULL.
type record struct {
	i8                     *int8
	u8                     *uint8
	i16                    *int16
	u16                    *uint16
	i24                    *int32
	u24                    *uint32
	i32                    *int32
	u32                    *uint32
	i64                    *int64
	u64                    *uint64
	f32                    *float32
	f64                    *float64
	amount, c10, v200, txt *string
	vb, b64k, b16m         []byte
	day                    *time.Time
	span, span6            *string
	moment, stamp          *time.Time
}

func (r *record) fields() []any {
	return []any{&r.i8, &r.u8, &r.i16, &r.u16, &r.i24, &r.u24, &r.i32, &r.u32, &r.i64, &r.u64, &r.f32, &r.f64,
		&r.amount, &r.c10, &r.v200, &r.txt, &r.vb, &r.b64k, &r.b16m, &r.day, &r.span, &r.span6, &r.moment, &r.stamp}
}

func (r *record) values() []any {
	return []any{r.i8, r.u8, r.i16, r.u16, r.i24, r.u24, r.i32, r.u32, r.i64, r.u64, r.f32, r.f64,
		r.amount, r.c10, r.v200, r.txt, r.vb, r.b64k, r.b16m, r.day, r.span, r.span6, r.moment, r.stamp}
}

func to[T any](value T) *T { return &value }

func at(year int, month time.Month, day, hour, minute, second, microsecond int) *time.Time {
	return to(time.Date(year, month, day, hour, minute, second, microsecond*1000, time.UTC))
}

func records() []record {
	everyByte := make([]byte, 255)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	return []record{
		{
			to(int8(-128)), to(uint8(0)), to(int16(-32768)), to(uint16(0)), to(int32(-8388608)), to(uint32(0)),
			to(int32(math.MinInt32)), to(uint32(0)), to(int64(math.MinInt64)), to(uint64(0)),
			to(float32(-65504.5)), to(-math.MaxFloat64), to("-99999999999999.999999"),
			to(""), to(""), to(""), []byte{}, []byte{}, []byte{},
			at(1000, 1, 1, 0, 0, 0, 0), to("-838:59:59"), to("-00:00:00.000001"),
			at(1000, 1, 1, 0, 0, 0, 0), at(1970, 1, 1, 0, 0, 1, 0),
		},
		{
			to(int8(127)), to(uint8(255)), to(int16(32767)), to(uint16(65535)), to(int32(8388607)), to(uint32(16777215)),
			to(int32(math.MaxInt32)), to(uint32(math.MaxUint32)), to(int64(math.MaxInt64)), to(uint64(math.MaxUint64)),
			to(float32(65504.5)), to(math.MaxFloat64), to("99999999999999.999999"),
			to("ÅÄö€𝄞🐦漢字né"), to(strings.Repeat("🐦", 200)), to("naïve — 日本語 \n\t\r\x00\x1a '\"`\\ ? ; -- /* */ #"),
			everyByte, bytes.Repeat(everyByte, 257), randomBytes(blobSizeLong),
			at(9999, 12, 31, 0, 0, 0, 0), to("838:59:59"), to("12:34:56.789012"),
			at(9999, 12, 31, 23, 59, 59, 999999), at(2038, 1, 19, 3, 14, 7, 0),
		},
		{
			to(int8(-1)), to(uint8(200)), to(int16(-300)), to(uint16(40000)), to(int32(-70000)), to(uint32(9000000)),
			to(int32(-100000)), to(uint32(3000000000)), to(int64(-5000000000)), to(uint64(1<<63 + 1)),
			to(float32(1.25)), to(0.1), to("-0.000001"),
			to("abc"), to("it's a \"test\""), to("some text"), []byte("\x00\xff"), []byte("blob'\\"), []byte("x"),
			at(2024, 2, 29, 0, 0, 0, 0), to("01:00:01"), to("100:00:00.500000"),
			at(2024, 2, 29, 12, 0, 0, 1), at(2024, 2, 29, 12, 0, 0, 0),
		},
		{},
	}
}

func allTypes(r *run) {
	stored := records()
	insert := "INSERT INTO all_types (" + allColumns + ") VALUES (?" + strings.Repeat(", ?", 23) + ")"
	for i := range stored {
		affected, insertID := r.change(insert, stored[i].values()...)
		equal(affected, int64(1), "affected rows")
		equal(insertID, int64(i+1), "insert id")
	}
	names := strings.Split(allColumns, ", ")
	for i := range stored {
		var read record
		found := r.connection.QueryRowContext(background, "SELECT "+allColumns+" FROM all_types WHERE id = ?", i+1)
		must(found.Scan(read.fields()...), "scan")
		actual, expected := read.values(), stored[i].values()
		for column := range expected {
			equal(actual[column], expected[column], fmt.Sprintf("row %d column %s", i, names[column]))
		}
	}
	nulls := strings.Repeat(" NULL", 24)
	equal(strings.Join(append([]string{""}, r.texts("SELECT " + allColumns + " FROM all_types WHERE id = 4")[0]...), " "),
		nulls, "the row of NULLs")
}

func columnTypes(r *run) {
	rows, err := r.connection.QueryContext(background, "SELECT id, "+allColumns+" FROM all_types WHERE id = ?", 1)
	must(err, "query")
	defer rows.Close()
	types, err := rows.ColumnTypes()
	must(err, "column types")
	expected := strings.Fields("UNSIGNED_BIGINT TINYINT UNSIGNED_TINYINT SMALLINT UNSIGNED_SMALLINT MEDIUMINT" +
		" UNSIGNED_MEDIUMINT INT UNSIGNED_INT BIGINT UNSIGNED_BIGINT FLOAT DOUBLE DECIMAL CHAR VARCHAR TEXT" +
		" VARBINARY BLOB BLOB DATE TIME TIME DATETIME TIMESTAMP")
	for i, column := range types {
		equal(column.DatabaseTypeName(), strings.ReplaceAll(expected[i], "_", " "), "type of "+column.Name())
		nullable, known := column.Nullable()
		equal([]bool{nullable, known}, []bool{i != 0, true}, "nullable "+column.Name())
		if column.Name() == "amount" {
			precision, scale, known := column.DecimalSize()
			equal([]any{precision, scale, known}, []any{int64(20), int64(6), true}, "DECIMAL(20,6)")
		}
	}
}

func conditions(r *run) {
	names := strings.Split(allColumns, ", ")
	stored := records()
	for i, value := range stored[2].values() {
		// Comparing a 4-byte float with a decimal literal is not defined to succeed.
		if names[i] != "f32" {
			equal(r.texts("SELECT id FROM all_types WHERE "+names[i]+" = ?", value), table(row("3")), names[i]+" = ?")
		}
	}
	equal(r.texts("SELECT id FROM all_types WHERE u64 > ? ORDER BY u64", uint64(1<<63)), table(row("3"), row("2")), "u64 > 2^63")
	equal(r.texts("SELECT id FROM all_types WHERE i64 < ? ORDER BY i64", int64(-1)), table(row("1"), row("3")), "i64 < -1")
	equal(r.texts("SELECT id FROM all_types WHERE i8 <=> ?", nil), table(row("4")), "<=> NULL")
	equal(r.texts("SELECT id FROM all_types WHERE i8 = ?", nil), table(), "= NULL")
	equal(r.texts("SELECT id FROM all_types WHERE i8 < 0 AND ? ORDER BY id", true), table(row("1"), row("3")), "true")
}

func autoIncrement(r *run) {
	_, insertID := r.change("INSERT INTO item (code, shelf, price, quantity) VALUES (?, ?, ?, ?)", "c-1", 1, "1.00", 10)
	equal(insertID, int64(1), "first key")
	affected, insertID := r.change("INSERT INTO item (code, shelf, price, quantity) VALUES" +
		" ('c-2',1,2.50,20), ('c-3',2,3.00,NULL), ('c-4',2,4.75,40), ('c-5',3,5.00,50)")
	equal([]int64{affected, insertID}, []int64{4, 2}, "affected rows and first key of several")
	equal(r.texts("SELECT LAST_INSERT_ID()"), table(row("2")), "LAST_INSERT_ID()")
	_, insertID = r.change("INSERT INTO item (id, code, shelf) VALUES (?, 'c-100', 9)", 100)
	equal(insertID, int64(100), "a given key")
	_, insertID = r.change("INSERT INTO item (code, shelf) VALUES ('c-101', 9)")
	equal(insertID, int64(101), "the key after it")
	equal(r.texts("SELECT price, quantity, note FROM item WHERE id = 101"), table(row("9.99", "NULL", "none")), "defaults")
	r.affected(2, "DELETE FROM item WHERE shelf = ?", 9)
}

func queries(r *run) {
	equal(r.texts("SELECT code, price FROM item WHERE id = ?", 2), table(row("c-2", "2.50")), "point select")
	equal(r.texts("SELECT id FROM item WHERE code = ?", "c-4"), table(row("4")), "unique key")
	equal(r.texts("SELECT id FROM item WHERE id = ?", 77), table(), "no such row")
	equal(r.texts("SELECT id FROM item WHERE shelf = ? ORDER BY price DESC", 2), table(row("4"), row("3")), "secondary key")
	equal(r.texts("SELECT id FROM item WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?", 2, 4, 2),
		table(row("4"), row("3")), "range")
	equal(r.texts("SELECT id FROM item ORDER BY id LIMIT ? OFFSET ?", 2, 1), table(row("2"), row("3")), "LIMIT OFFSET")
	equal(r.texts("SELECT id FROM item WHERE code LIKE ? AND id > ? ORDER BY id", "c-%", 3), table(row("4"), row("5")), "LIKE")
	equal(r.texts("SELECT id FROM item WHERE id IN (?, ?, ?) ORDER BY id", 5, 1, 9), table(row("1"), row("5")), "IN")
	equal(r.texts("SELECT id FROM item WHERE quantity IS NULL OR note <> ?", "none"), table(row("3")), "IS NULL, OR")
	var missing int
	err := r.connection.QueryRowContext(background, "SELECT id FROM item WHERE id = ?", 77).Scan(&missing)
	equal(err, sql.ErrNoRows, "QueryRow of no row")
}

func aggregates(r *run) {
	equal(r.texts("SELECT shelf, COUNT(*), SUM(price), MIN(price), MAX(quantity), AVG(quantity) FROM item"+
		" GROUP BY shelf HAVING COUNT(*) >= ? ORDER BY shelf", 1), table(
		row("1", "2", "3.50", "1.00", "20", "15.0000"),
		row("2", "2", "7.75", "3.00", "40", "40.0000"),
		row("3", "1", "5.00", "5.00", "50", "50.0000")), "GROUP BY")
	equal(r.texts("SELECT SUM(price), COUNT(*) FROM item WHERE id > ?", 1000), table(row("NULL", "0")), "of nothing")
}

func joins(r *run) {
	if !r.serves("JOIN", "SELECT a.id FROM item a JOIN item b ON a.shelf = b.shelf",
		"SELECT a.id FROM item a LEFT JOIN item b ON a.shelf = b.shelf", "SELECT a.id FROM item a, item b") {
		return
	}
	equal(r.texts("SELECT a.code, b.code FROM item a JOIN item b ON a.shelf = b.shelf AND a.id < b.id"+
		" WHERE a.id >= ? ORDER BY a.id", 1), table(row("c-1", "c-2"), row("c-3", "c-4")), "inner join")
	equal(r.texts("SELECT a.id, b.id FROM item a LEFT JOIN item b ON b.id = a.id + ? WHERE a.id > 1 ORDER BY a.id", 3),
		table(row("2", "5"), row("3", "NULL"), row("4", "NULL"), row("5", "NULL")), "left join")
}

func updates(r *run) {
	r.affected(1, "UPDATE item SET quantity = quantity + ?, price = price * 2 WHERE id = ?", 5, 1)
	equal(r.texts("SELECT quantity, price FROM item WHERE id = 1"), table(row("15", "2.00")), "arithmetic")
	r.affected(1, "UPDATE item SET quantity = quantity - ?, price = price / 2 WHERE id = ?", 5, 1)
	equal(r.texts("SELECT quantity, price FROM item WHERE id = 1"), table(row("10", "1.00")), "arithmetic back")
	r.affected(4, "UPDATE item SET note = ? WHERE shelf <= ?", "seen", 2)
	r.affected(0, "UPDATE item SET note = ? WHERE shelf <= ?", "seen", 2)
	r.affected(0, "UPDATE item SET note = ? WHERE id = ?", "x", 77)
	r.affected(0, "DELETE FROM item WHERE id = ?", 77)
	upsert := "INSERT INTO item (code, shelf, price) VALUES (?, 1, 8) ON DUPLICATE KEY UPDATE price = price + VALUES(price)"
	r.affected(2, upsert, "c-1")
	equal(r.texts("SELECT id, price FROM item WHERE code = 'c-1'"), table(row("1", "9.00")), "upsert")
	r.affected(1, upsert, "c-new")
	r.affected(1, "DELETE FROM item WHERE code = ?", "c-new")
	r.affected(0, "INSERT IGNORE INTO item (id, code, shelf) VALUES (?, 'zz', 1)", 1)
	r.affected(2, "REPLACE INTO item (id, code, shelf, price, quantity) VALUES (1, ?, 1, 1.00, 10)", "c-1")
}

func foundRows(r *run) {
	connection, release := r.connect(func(config *mysql.Config) { config.ClientFoundRows = true })
	defer release()
	affected, _ := changeOn(connection, "UPDATE item SET note = ? WHERE shelf = ?", "seen", 2)
	equal(affected, int64(2), "matched rows")
}

func transactions(r *run) {
	other, release := r.connect(nil)
	defer release()
	quantity := func() string { return textsOn(other, "SELECT quantity FROM item WHERE id = ?", 2)[0][0] }

	transaction, err := r.connection.BeginTx(background, nil)
	must(err, "begin")
	_, err = transaction.Exec("UPDATE item SET quantity = ? WHERE id = 2", 21)
	must(err, "update")
	var own int
	must(transaction.QueryRow("SELECT quantity FROM item WHERE id = ?", 2).Scan(&own), "select")
	equal(own, 21, "own write")
	equal(quantity(), "20", "uncommitted, seen by another")
	must(transaction.Rollback(), "rollback")
	equal(quantity(), "20", "rolled back")

	transaction, err = r.connection.BeginTx(background, nil)
	must(err, "begin")
	_, err = transaction.Exec("UPDATE item SET quantity = 22 WHERE id = ?", 2)
	must(err, "update")
	_, err = transaction.Exec("INSERT INTO item (code, shelf) VALUES (?, 7)", "c-tx")
	must(err, "insert")
	_, err = transaction.Exec("DELETE FROM item WHERE id = ?", 5)
	must(err, "delete")
	must(transaction.Commit(), "commit")
	equal(quantity(), "22", "committed, seen by another")
	equal(r.texts("SELECT code FROM item WHERE id >= ?", 5), table(row("c-tx")), "insert and delete committed")

	statement, err := r.connection.PrepareContext(background, "UPDATE item SET quantity = ? WHERE id = ?")
	must(err, "prepare")
	defer statement.Close()
	transaction, err = r.connection.BeginTx(background, nil)
	must(err, "begin")
	for id, value := range map[int]int{1: 91, 2: 92, 3: 93} {
		_, err = transaction.Stmt(statement).Exec(value, id)
		must(err, "prepared update in a transaction")
	}
	must(transaction.Rollback(), "rollback")
	equal(quantity(), "22", "prepared updates rolled back")
	_, err = statement.Exec(20, 2)
	must(err, "autocommitted")
	equal(quantity(), "20", "autocommitted, seen by another")
}

func isolation(r *run) {
	transaction, err := r.connection.BeginTx(background, &sql.TxOptions{ReadOnly: true})
	must(err, "begin read only")
	_, err = transaction.Exec("UPDATE item SET quantity = 1 WHERE id = 2")
	refusal(err, 1792, "25006", "UPDATE in a read-only transaction")
	must(transaction.Rollback(), "rollback")

	other, release := r.connect(nil)
	defer release()
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		transaction, err = r.connection.BeginTx(background, &sql.TxOptions{Isolation: level})
		must(err, "begin "+level.String())
		read := func() (value int) {
			must(transaction.QueryRow("SELECT quantity FROM item WHERE id = 4").Scan(&value), "select")
			return value
		}
		equal(read(), 40, "before, "+level.String())
		changeOn(other, "UPDATE item SET quantity = 41 WHERE id = 4")
		expected := 40
		if level == sql.LevelReadCommitted {
			expected = 41
		}
		equal(read(), expected, "another's commit meanwhile, "+level.String())
		must(transaction.Rollback(), "rollback")
		changeOn(other, "UPDATE item SET quantity = 40 WHERE id = 4")
	}
}

func errorsAndStates(r *run) {
	insert := "INSERT INTO item (code, shelf) VALUES (?, ?)"
	message := r.refused(1062, "23000", insert, "c-3", 1)
	if !strings.Contains(message, "c-3") || !strings.Contains(message, "item_code") {
		fail("the message names neither the value nor the key: %s", message)
	}
	r.refused(1062, "23000", "INSERT INTO item (id, code, shelf) VALUES (?, 'n', 1)", 1)
	r.refused(1062, "23000", "UPDATE item SET code = ? WHERE id = ?", "c-3", 1)
	r.refused(1146, "42S02", "SELECT * FROM no_such_table")
	r.refused(1146, "42S02", "UPDATE no_such_table SET a = ?", 1)
	r.refused(1064, "42000", "SELEC 1")
	r.refused(1064, "42000", "SELECT * FROM item WHERE id = ? AND", 1)
	r.refused(1054, "42S22", "SELECT no_such_column FROM item WHERE id = ?", 1)
	r.refused(1048, "23000", insert, "c-n", nil)
	r.refused(1364, "HY000", "INSERT INTO item (code) VALUES (?)", "c-n")
	r.refused(1406, "22001", insert, strings.Repeat("x", 33), 1)
	r.refused(1264, "22003", insert, "c-n", int64(1)<<31)
	r.refused(1136, "21S01", "INSERT INTO item (code, shelf) VALUES (1, 2, 3)")
	r.refused(1007, "HY000", "CREATE DATABASE "+r.database)
	r.refused(1050, "42S01", "CREATE TABLE item (id INT PRIMARY KEY)")
	equal(r.texts("SELECT COUNT(*) FROM item"), table(row("5")), "nothing was left behind")

	unknown := r.open("no_such_database", nil)
	defer unknown.Close()
	refusal(unknown.Ping(), 1049, "42000", "connecting to an unknown database")
	stranger := r.open(r.database, func(config *mysql.Config) { config.User, config.Passwd = "no_such_user", "wrong" })
	defer stranger.Close()
	refusal(stranger.Ping(), 1045, "28000", "a wrong user and password")
}

func preparedStatements(r *run) {
	insert, err := r.connection.PrepareContext(background, "INSERT INTO all_types (i64, u64, f64, v200, moment) VALUES (?, ?, ?, ?, ?)")
	must(err, "prepare insert")
	// Another statement on the same connection, used in turn with the first.
	read, err := r.connection.PrepareContext(background, "SELECT i64, u64, f64, moment FROM all_types WHERE v200 = ?")
	must(err, "prepare select")
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 200 {
		name := fmt.Sprintf("prepared-%d", i)
		moment := start.Add(time.Duration(i) * time.Microsecond)
		var unsigned any = uint64(math.MaxUint64) - uint64(i)
		if i%5 == 0 {
			unsigned = nil
		}
		_, err = insert.Exec(-i, unsigned, float64(i)/4, name, moment)
		must(err, "insert")
		var i64 int64
		var u64 *uint64
		var f64 float64
		var found time.Time
		must(read.QueryRow(name).Scan(&i64, &u64, &f64, &found), "select")
		equal([]any{i64, f64, found}, []any{int64(-i), float64(i) / 4, moment}, name)
		if i%5 == 0 {
			equal(u64, (*uint64)(nil), "NULL")
		} else {
			equal(*u64, unsigned, "unsigned")
		}
	}
	// The type of a parameter may change from one execution to the next.
	for _, value := range []any{"12", 12, 12.0, []byte("12"), uint64(12)} {
		var count int
		echo, err := r.connection.PrepareContext(background, "SELECT COUNT(*) FROM all_types WHERE i64 = -?")
		must(err, "prepare")
		must(echo.QueryRow(value).Scan(&count), "select")
		equal(count, 1, fmt.Sprintf("%T parameter", value))
		must(echo.Close(), "close")
	}
	must(insert.Close(), "close")
	r.affected(200, "DELETE FROM all_types WHERE v200 LIKE ?", "prepared-%")
	var gone string
	equal(read.QueryRow("prepared-1").Scan(&gone, &gone, &gone, &gone), sql.ErrNoRows, "after the delete")
	must(read.Close(), "close")

	_, err = r.connection.PrepareContext(background, "SELECT * FROM no_such_table WHERE id = ?")
	refusal(err, 1146, "42S02", "preparing on an unknown table")
	_, err = r.connection.PrepareContext(background, "SELECT FROM WHERE ?")
	refusal(err, 1064, "42000", "preparing nonsense")
	many := []*sql.Stmt{}
	for i := range 300 {
		statement, err := r.connection.PrepareContext(background, fmt.Sprintf("SELECT %d + ?", i))
		must(err, "prepare one of many")
		many = append(many, statement)
	}
	for i, statement := range many {
		var sum int
		must(statement.QueryRow(1000).Scan(&sum), "one of many")
		equal(sum, i+1000, "one of many")
		must(statement.Close(), "close")
	}
}

func splitPackets(r *run) {
	content := randomBytes(blobSizeSplit)
	r.affected(1, "INSERT INTO big VALUES (?, ?)", 1, content)
	var read []byte
	must(r.connection.QueryRowContext(background, "SELECT content FROM big WHERE id = ?", 1).Scan(&read), "select")
	if !bytes.Equal(read, content) {
		fail("18 MB came back changed")
	}
	equal(r.texts("SELECT LENGTH(content) FROM big"), table(row(fmt.Sprint(blobSizeSplit))), "LENGTH")
	r.affected(1, "DELETE FROM big WHERE id = ?", 1)
}

// longData makes the driver send blobs in pieces before the execute, by telling it that packets are small.
func longData(r *run) {
	connection, release := r.connect(func(config *mysql.Config) {
		config.MaxAllowedPacket = 1 << 20
		config.InterpolateParams = false
	})
	defer release()
	for id, size := range []int{1 << 16, blobSizeLong, 3<<20 + 1, blobSizeSplit} {
		content := randomBytes(size)
		affected, _ := changeOn(connection, "INSERT INTO big VALUES (?, ?)", id, content)
		equal(affected, int64(1), "affected rows")
		var read []byte
		must(connection.QueryRowContext(background, "SELECT content FROM big WHERE id = ?", id).Scan(&read), "select")
		if !bytes.Equal(read, content) {
			fail("long data of %d bytes came back changed", size)
		}
	}
	insert, err := connection.PrepareContext(background, "INSERT INTO big VALUES (?, ?)")
	must(err, "prepare")
	defer insert.Close()
	for id, content := range [][]byte{randomBytes(2 << 20), []byte("short"), nil, {}} {
		_, err = insert.Exec(100+id, content)
		must(err, "insert")
	}
	equal(textsOn(connection, "SELECT id, LENGTH(content) FROM big WHERE id >= ? ORDER BY id", 100), table(
		row("100", "2097152"), row("101", "5"), row("102", "NULL"), row("103", "0")), "old long data is not used again")
	equal(textsOn(connection, "SELECT content FROM big WHERE id = ?", 101), table(row("short")), "short")
	changeOn(connection, "DELETE FROM big")
}

func multiStatements(r *run) {
	connection, release := r.connect(func(config *mysql.Config) { config.MultiStatements = true })
	defer release()
	rows, err := connection.QueryContext(background, "SELECT 1; SELECT code FROM item WHERE id <= 2 ORDER BY id; SELECT 'last'")
	must(err, "query")
	results := []any{readTexts(rows)}
	for rows.NextResultSet() {
		results = append(results, readTexts(rows))
	}
	must(rows.Close(), "close")
	equal(results, []any{table(row("1")), table(row("c-1"), row("c-2")), table(row("last"))}, "results")
	changeOn(connection, "INSERT INTO item (code, shelf) VALUES ('m-1', 8); INSERT INTO item (code, shelf) VALUES ('m-2', 8)")
	equal(textsOn(connection, "SELECT COUNT(*) FROM item WHERE shelf = 8"), table(row("2")), "both were executed")
	_, err = connection.ExecContext(background, "DELETE FROM item WHERE code = 'm-1'; SELEC; DELETE FROM item WHERE code = 'm-2'")
	refusal(err, 1064, "42000", "nonsense in the middle")
	equal(textsOn(connection, "SELECT code FROM item WHERE shelf = 8"), table(row("m-2")), "the first only was executed")
	changeOn(connection, "DELETE FROM item WHERE shelf = 8")
	r.refused(1064, "42000", "SELECT 1; SELECT 2")
}

func manyRows(r *run) {
	r.change("CREATE TABLE many (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, v BIGINT)")
	const chunk = 500
	for start := 0; start < rowCountLarge; start += chunk {
		arguments := []any{}
		for i := start; i < start+chunk; i++ {
			arguments = append(arguments, i, fmt.Sprintf("name-%d", i), int64(i)*int64(i))
		}
		r.affected(chunk, "INSERT INTO many VALUES (?,?,?)"+strings.Repeat(", (?,?,?)", chunk-1), arguments...)
	}
	rows, err := r.connection.QueryContext(background, "SELECT id, name, v FROM many WHERE id >= ? ORDER BY id", 0)
	must(err, "query")
	defer rows.Close()
	count := 0
	for rows.Next() {
		var id int
		var name string
		var v int64
		must(rows.Scan(&id, &name, &v), "scan")
		if id != count || name != fmt.Sprintf("name-%d", id) || v != int64(id)*int64(id) {
			fail("row %d is (%d, %q, %d)", count, id, name, v)
		}
		count++
	}
	must(rows.Err(), "rows")
	equal(count, rowCountLarge, "rows")
	r.affected(rowCountLarge/2, "UPDATE many SET v = -v - 1 WHERE id >= ?", rowCountLarge/2)
	equal(r.texts("SELECT COUNT(*) FROM many WHERE v < ?", 0), table(row(fmt.Sprint(rowCountLarge/2))), "updated")
	r.affected(rowCountLarge, "DELETE FROM many WHERE id >= ?", 0)
}

func unread(r *run) {
	const rowCount = 2000
	r.affected(rowCount, "INSERT INTO many VALUES (1, 'a', 1)"+strings.Join(sequence(2, rowCount, ", (%d, 'b', 2)"), ""))
	for range 3 {
		rows, err := r.connection.QueryContext(background, "SELECT id, name, v FROM many WHERE id > ?", 0)
		must(err, "query")
		equal(rows.Next(), true, "a first row")
		must(rows.Close(), "close with rows unread")
	}
	equal(r.texts("SELECT COUNT(*) FROM many"), table(row(fmt.Sprint(rowCount))), "the connection still works")
	r.affected(rowCount, "DELETE FROM many")
}

// sequence formats each number from first to last.
func sequence(first, last int, format string) []string {
	texts := []string{}
	for i := first; i <= last; i++ {
		texts = append(texts, fmt.Sprintf(format, i))
	}
	return texts
}

func sessionSettings(r *run) {
	connection, release := r.connect(func(config *mysql.Config) {
		must(config.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")), "charset")
		config.Params = map[string]string{"time_zone": "'+05:30'"}
	})
	defer release()
	equal(textsOn(connection, "SELECT @@collation_connection, @@character_set_results, @@time_zone"),
		table(row("utf8mb4_bin", "utf8mb4", "+05:30")), "settings")
	local := textsOn(connection, "SELECT CAST(stamp AS CHAR), CAST(moment AS CHAR) FROM all_types WHERE id = 3")
	equal(local, table(row("2024-02-29 17:30:00", "2024-02-29 12:00:00.000001")), "TIMESTAMP moves with the zone")
	equal(textsOn(connection, "SELECT 'É' = 'e'"), table(row("0")), "a binary collation")
}

func ansiQuotes(r *run) {
	if !r.serves("sql_mode ANSI_QUOTES", "SET sql_mode = 'ANSI_QUOTES,STRICT_TRANS_TABLES'") {
		equal(r.texts(`SELECT "code", @@sql_mode LIKE '%ANSI_QUOTES%'`), table(row("code", "0")), "a quoted text, as before")
		return
	}
	equal(r.texts(`SELECT "code" FROM "item" WHERE "id" = 1`), table(row("c-1")), "a quoted name")
}

func manyConnections(r *run) {
	const connectionCount = 60
	pool := r.open(r.database, nil)
	defer pool.Close()
	pool.SetMaxOpenConns(connectionCount)
	results := make(chan error, connectionCount)
	for worker := range connectionCount {
		go func() {
			var err error
			for i := 0; i < 20 && err == nil; i++ {
				var sum int
				err = pool.QueryRow("SELECT ? + id FROM item WHERE id = ?", worker, 1+i%4).Scan(&sum)
				if err == nil && sum != worker+1+i%4 {
					err = fmt.Errorf("got %d for %d + %d", sum, worker, 1+i%4)
				}
			}
			results <- err
		}()
	}
	for range connectionCount {
		must(<-results, "a connection among many")
	}
}
