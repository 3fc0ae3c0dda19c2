// Command crud checks a MySQL server through go-sql-driver, twice: with statements prepared by the server (the binary
// protocol, the driver's default) and with parameters interpolated by the driver (the text protocol).
//
// Each group of checks prints one line and counts as one check. Values are compared exactly. The program knows nothing
// about the server behind the address: MySQL, MariaDB and Skarv must all pass.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"

	"clients/connect"

	"github.com/go-sql-driver/mysql"
)

// run is one pass over all groups in one mode.
type run struct {
	options  *connect.Options
	mode     string
	database string
	// interpolate: the driver puts parameters into the text.
	interpolate bool
	// connection is the one connection of the group at hand, so that session state is predictable.
	connection *sql.Conn
	pool       *sql.DB

	passedCount, failedCount int
	// refusedFeatures are those the server refused, as it may, in the group at hand.
	refusedFeatures []string
}

var background = context.Background()

// failure is what a failed check panics with; group recovers it.
type failure string

func fail(format string, arguments ...any) {
	panic(failure(fmt.Sprintf(format, arguments...)))
}

func must(err error, what string) {
	if err != nil {
		fail("%s: %v", what, err)
	}
}

func equal(actual, expected any, what string) {
	if !reflect.DeepEqual(actual, expected) {
		fail("%s: expected %s, got %s", what, brief(expected), brief(actual))
	}
}

func brief(value any) string {
	text := fmt.Sprintf("%T %#v", value, value)
	if len(text) > 300 {
		return text[:150] + " ... " + text[len(text)-120:]
	}
	return text
}

func (r *run) open(database string, change func(*mysql.Config)) *sql.DB {
	pool, err := r.options.Open(database, func(config *mysql.Config) {
		config.InterpolateParams = r.interpolate
		if change != nil {
			change(config)
		}
	})
	must(err, "open")
	return pool
}

// connect opens one connection to the run's database with changed options; release closes it.
func (r *run) connect(change func(*mysql.Config)) (connection *sql.Conn, release func()) {
	pool := r.open(r.database, change)
	connection, err := pool.Conn(background)
	if err != nil {
		pool.Close()
	}
	must(err, "connect")
	return connection, func() {
		connection.Close()
		pool.Close()
	}
}

// change executes a statement and returns its affected rows and insert id.
func (r *run) change(statement string, arguments ...any) (affected, insertID int64) {
	return changeOn(r.connection, statement, arguments...)
}

func changeOn(connection *sql.Conn, statement string, arguments ...any) (affected, insertID int64) {
	result, err := connection.ExecContext(background, statement, arguments...)
	must(err, statement[:min(len(statement), 80)])
	affected, err = result.RowsAffected()
	must(err, "RowsAffected")
	insertID, err = result.LastInsertId()
	must(err, "LastInsertId")
	return affected, insertID
}

func (r *run) affected(expected int64, statement string, arguments ...any) {
	affected, _ := r.change(statement, arguments...)
	equal(affected, expected, "affected rows of "+statement[:min(len(statement), 80)])
}

// texts returns all rows with each value as text, NULL as "NULL".
func (r *run) texts(statement string, arguments ...any) [][]string {
	return textsOn(r.connection, statement, arguments...)
}

func textsOn(connection *sql.Conn, statement string, arguments ...any) [][]string {
	rows, err := connection.QueryContext(background, statement, arguments...)
	must(err, statement[:min(len(statement), 80)])
	defer rows.Close()
	return readTexts(rows)
}

func readTexts(rows *sql.Rows) [][]string {
	names, err := rows.Columns()
	must(err, "columns")
	all := [][]string{}
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		targets := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		must(rows.Scan(targets...), "scan")
		texts := make([]string, len(names))
		for i, value := range values {
			texts[i] = value.String
			if !value.Valid {
				texts[i] = "NULL"
			}
		}
		all = append(all, texts)
	}
	must(rows.Err(), "rows")
	return all
}

// table writes expected rows shortly.
func table(rows ...[]string) [][]string {
	if rows == nil {
		return [][]string{}
	}
	return rows
}

// row writes one expected row shortly.
func row(values ...string) []string { return values }

func (r *run) refused(number uint16, sqlstate, statement string, arguments ...any) string {
	rows, err := r.connection.QueryContext(background, statement, arguments...)
	if err == nil {
		for rows.Next() {
		}
		err = rows.Err()
		rows.Close()
	}
	if err == nil {
		fail("%q was accepted; error %d was expected", statement, number)
	}
	return refusal(err, number, sqlstate, statement)
}

func refusal(err error, number uint16, sqlstate, what string) string {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		fail("%s: expected error %d, got %v", what, number, err)
	}
	equal(refused.Number, number, "error number of "+what+" ("+refused.Message+")")
	if sqlstate != "" {
		equal(string(refused.SQLState[:]), sqlstate, "SQLSTATE of "+what)
	}
	return refused.Message
}

// serves says whether the server has a feature that Skarv refuses by design. The first statement is tried. Where it
// succeeds, the caller checks the feature itself. Where Skarv refuses it, every one of the statements must be refused
// with error 1235 and the feature's name. All else is a failure.
func (r *run) serves(feature string, statements ...string) bool {
	rows, err := r.connection.QueryContext(background, statements[0])
	if err == nil {
		readTexts(rows)
		must(rows.Close(), "close")
		return true
	}
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 1235 || !strings.Contains(r.texts("SELECT VERSION()")[0][0], "skarv") {
		fail("%s: %v", statements[0], err)
	}
	for _, statement := range statements {
		message := r.refused(1235, "42000", statement)
		if !strings.Contains(message, "'"+feature+"'") {
			fail("the refusal of %q does not name %q: %s", statement, feature, message)
		}
	}
	r.refusedFeatures = append(r.refusedFeatures, feature)
	return false
}

func (r *run) group(name string, check func(*run)) {
	r.refusedFeatures = nil
	defer func() {
		if cause := recover(); cause != nil {
			r.failedCount++
			fmt.Printf("FAILED %s: %s: %v\n", r.mode, name, cause)
		} else {
			r.passedCount++
			if len(r.refusedFeatures) > 0 {
				name += " (refused with error 1235: " + strings.Join(r.refusedFeatures, ", ") + ")"
			}
			fmt.Printf("ok     %s: %s\n", r.mode, name)
		}
		r.disconnect()
	}()
	r.pool = r.open(r.database, nil)
	connection, err := r.pool.Conn(background)
	must(err, "connect")
	r.connection = connection
	check(r)
}

func (r *run) disconnect() {
	if r.connection != nil {
		r.connection.Close()
		r.connection = nil
	}
	if r.pool != nil {
		r.pool.Close()
		r.pool = nil
	}
}

func randomBytes(size int) []byte {
	content := make([]byte, size)
	_, err := rand.Read(content)
	must(err, "random")
	return content
}

func main() {
	options := connect.FromFlags()
	flag.Parse()
	passedCount, failedCount := 0, 0
	for _, interpolate := range []bool{false, true} {
		mode := "go prepared"
		if interpolate {
			mode = "go interpolated"
		}
		database := "crud_" + hex.EncodeToString(randomBytes(6))
		r := &run{options: options, mode: mode, interpolate: interpolate}
		r.group("create database", func(r *run) {
			r.change("CREATE DATABASE " + database + " CHARACTER SET utf8mb4")
		})
		r.database = database
		for _, group := range groups {
			r.group(group.name, group.check)
		}
		r.database = ""
		r.group("drop database", func(r *run) {
			r.change("DROP DATABASE " + database)
			equal(r.texts("SHOW DATABASES LIKE '"+database+"'"), table(), "it is gone")
		})
		passedCount += r.passedCount
		failedCount += r.failedCount
	}
	fmt.Printf("%d passed, %d failed\n", passedCount, failedCount)
	if failedCount != 0 {
		os.Exit(1)
	}
}
