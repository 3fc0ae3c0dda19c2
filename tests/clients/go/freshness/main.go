// Command freshness looks at one database through two nodes and checks that no node ever shows an old or a torn state.
//
//	freshness fresh [flags] A B   writes a row through one node and reads it through the other as soon as the write is
//	                              acknowledged, -count times in both directions: a stale answer is a failure
//	freshness sum   [flags] A B   moves money between accounts on one node and sums all balances on the other, for
//	                              -seconds: any sum but the true one is a failure; so is a transaction of which a
//	                              reader sees some rows and not the others
//	freshness all   [flags] A B   both, one after the other
//
// A and B are host:port or paths of unix sockets; they may be the same. Each mode prints its figures, one line a check
// ("ok" or "FAILED") and at the end "N passed, N failed".
//
// A statement refused with a deadlock, a lock wait timeout or a temporary error is tried again, as an application would,
// and counted. Everything else is a failure.
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
	"sort"
	"sync"
	"time"

	"clients/connect"

	"github.com/go-sql-driver/mysql"
)

var (
	options      connect.Options
	count        = flag.Int("count", 100_000, "fresh: writes read back, over all workers")
	workers      = flag.Int("workers", 4, "fresh: connections to each node; sum: writers")
	seconds      = flag.Float64("seconds", 10, "sum: duration")
	accounts     = flag.Int("accounts", 200, "sum: accounts")
	readers      = flag.Int("readers", 2, "sum: readers")
	interpolated = flag.Bool("interpolated", false, "parameters go into the text instead of prepared statements")
)

var background = context.Background()

// failuresShownMax bounds the output: with a broken server every read may fail.
const failuresShownMax = 10

// tally counts what went wrong and shows the first failures. Shared by all workers of a mode.
type tally struct {
	mutex        sync.Mutex
	failureCount int
	retryCount   int
	latencies    []time.Duration
}

func (t *tally) failed(format string, arguments ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.failureCount++
	if t.failureCount <= failuresShownMax {
		fmt.Printf("       %s\n", fmt.Sprintf(format, arguments...))
	}
}

func (t *tally) retried() {
	t.mutex.Lock()
	t.retryCount++
	t.mutex.Unlock()
}

func (t *tally) add(latencies []time.Duration) {
	t.mutex.Lock()
	t.latencies = append(t.latencies, latencies...)
	t.mutex.Unlock()
}

func (t *tally) percentile(part float64) time.Duration {
	if len(t.latencies) == 0 {
		return 0
	}
	sort.Slice(t.latencies, func(a, b int) bool { return t.latencies[a] < t.latencies[b] })
	return t.latencies[int(part*float64(len(t.latencies)-1))]
}

// temporary says whether an application should simply try the transaction again: lock wait timeout, deadlock,
// temporary error of a distributed engine.
func temporary(err error) bool {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Number {
	case 1205, 1213, 1297:
		return true
	}
	return false
}

// node is one of the two servers.
type node struct {
	address string
	pool    *sql.DB
}

func open(address, database string) (*node, error) {
	reached, err := options.Address(address)
	if err != nil {
		return nil, err
	}
	pool, err := reached.Open(database, func(config *mysql.Config) {
		config.InterpolateParams = *interpolated
	})
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(*workers + *readers + 4)
	return &node{address, pool}, pool.Ping()
}

// session is one connection with its prepared statements, keyed by text.
type session struct {
	node       *node
	connection *sql.Conn
	statements map[string]*sql.Stmt
}

func (n *node) session() (*session, error) {
	connection, err := n.pool.Conn(background)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.address, err)
	}
	return &session{n, connection, map[string]*sql.Stmt{}}, nil
}

func (s *session) close() {
	for _, statement := range s.statements {
		statement.Close()
	}
	s.connection.Close()
}

func (s *session) prepared(text string) (*sql.Stmt, error) {
	if statement, found := s.statements[text]; found {
		return statement, nil
	}
	statement, err := s.connection.PrepareContext(background, text)
	if err == nil {
		s.statements[text] = statement
	}
	return statement, err
}

func (s *session) exec(text string, arguments ...any) error {
	var err error
	if *interpolated {
		_, err = s.connection.ExecContext(background, text, arguments...)
		return err
	}
	statement, err := s.prepared(text)
	if err == nil {
		_, err = statement.Exec(arguments...)
	}
	return err
}

// query scans the single row of a result into targets.
func (s *session) query(text string, arguments []any, targets ...any) error {
	if *interpolated {
		return s.connection.QueryRowContext(background, text, arguments...).Scan(targets...)
	}
	statement, err := s.prepared(text)
	if err != nil {
		return err
	}
	return statement.QueryRow(arguments...).Scan(targets...)
}

// retry executes an idempotent statement until it is not refused for a temporary reason.
func (s *session) retry(t *tally, text string, arguments ...any) error {
	for {
		err := s.exec(text, arguments...)
		if !temporary(err) {
			return err
		}
		t.retried()
	}
}

// check is one line of output and one unit of the closing line.
type check struct {
	name string
	run  func(first, second *node, t *tally) error
}

func main() {
	connect.Credentials(&options)
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: freshness fresh|sum|all [flags] A B")
		flag.PrintDefaults()
	}
	if len(os.Args) < 2 {
		flag.Usage()
		os.Exit(2)
	}
	mode := os.Args[1]
	checks := map[string][]check{
		"fresh": {{"a write is seen at once through the other node", fresh}},
		"sum":   {{"sums are constant and transactions appear whole", sum}},
	}
	checks["all"] = append(append([]check{}, checks["fresh"]...), checks["sum"]...)
	flag.CommandLine.Parse(os.Args[2:])
	if checks[mode] == nil || flag.NArg() != 2 || *count < 1 || *workers < 1 || *accounts < 2 || *readers < 1 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(runAll(checks[mode], flag.Arg(0), flag.Arg(1)))
}

func runAll(checks []check, addressA, addressB string) int {
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		panic(err)
	}
	database := "fresh_" + hex.EncodeToString(name)
	creator, err := open(addressA, "")
	if err == nil {
		_, err = creator.pool.Exec("CREATE DATABASE " + database)
	}
	if err != nil {
		fmt.Printf("FAILED create database: %v\n0 passed, 1 failed\n", err)
		return 1
	}
	passedCount, failedCount := 0, 0
	for _, check := range checks {
		t := &tally{}
		err := runOne(check, addressA, addressB, database, t)
		if err != nil {
			t.failed("%v", err)
		}
		if t.failureCount == 0 {
			passedCount++
			fmt.Printf("ok     freshness: %s\n", check.name)
		} else {
			failedCount++
			fmt.Printf("FAILED freshness: %s: %d failures\n", check.name, t.failureCount)
		}
	}
	if (connect.Handshakes() > 0) == (options.TLS == "required") {
		passedCount++
		fmt.Printf("ok     freshness: encryption as asked for (%s)\n", options.TLS)
	} else {
		failedCount++
		fmt.Printf("FAILED freshness: encryption as asked for (%s): %d TLS handshakes\n", options.TLS, connect.Handshakes())
	}
	if _, err := creator.pool.Exec("DROP DATABASE " + database); err != nil {
		failedCount++
		fmt.Printf("FAILED freshness: drop database: %v\n", err)
	}
	fmt.Printf("%d passed, %d failed\n", passedCount, failedCount)
	if failedCount != 0 {
		return 1
	}
	return 0
}

func runOne(check check, addressA, addressB, database string, t *tally) error {
	first, err := open(addressA, database)
	if err != nil {
		return err
	}
	defer first.pool.Close()
	second, err := open(addressB, database)
	if err != nil {
		return err
	}
	defer second.pool.Close()
	return check.run(first, second, t)
}
