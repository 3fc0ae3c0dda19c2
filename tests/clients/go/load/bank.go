package main

import (
	"flag"
	"fmt"
	"math/rand"
	"strings"
	"sync/atomic"
	"time"
)

var (
	bankReaders  = flag.Int("readers", 4, "bank: sessions that sum up")
	bankAccounts = flag.Int("accounts", 100, "bank: accounts")
)

const (
	balanceInitial = 1000
	// Transfers of different sessions never have the same number.
	transfersPerSessionMax = 1_000_000_000
)

// level is an isolation level as a session sets it.
type level struct {
	name string
	set  []string
	// keepsReads: what a transaction has read is still so when it commits, or it fails. Only there may a client write
	// what it has computed from a plain SELECT.
	keepsReads bool
}

func isolation(name string, more ...string) []string {
	return append([]string{"SET SESSION TRANSACTION ISOLATION LEVEL " + name}, more...)
}

var levels = []level{
	{"read uncommitted", isolation("READ UNCOMMITTED"), false},
	{"read committed", isolation("READ COMMITTED"), false},
	{"repeatable read", isolation("REPEATABLE READ"), false},
	{"strict", isolation("REPEATABLE READ", "SET SESSION skarv_strict_snapshot = ON"), true},
	{"serializable", isolation("SERIALIZABLE"), true},
}

func bankChecks() []check {
	var checks []check
	for _, level := range levels {
		checks = append(checks, check{"transfers at " + level.name, func(j *judge) error { return newBank(j, level).run() }})
	}
	return checks
}

// transfer is one row of the table of transfers, written in the transaction that moves the money.
type transfer struct{ id, source, target, amount int64 }

// style is how a transfer is made.
type style int

const (
	// stylePlain: two updates by difference.
	stylePlain style = iota
	// styleLocked: SELECT ... FOR UPDATE of both accounts, then updates to what was computed.
	styleLocked
	// styleRead: the same with plain SELECTs. Only where a level keeps reads.
	styleRead
	styleCount
)

type bank struct {
	*judge
	level level
	until time.Time
	// acknowledged are the transfers of each session whose COMMIT was answered with OK; nobody else knows them.
	acknowledged [][]transfer
	latencies    []histogram
	sums         []histogram
	rolledBack   atomic.Int64
}

func newBank(j *judge, level level) *bank {
	return &bank{judge: j, level: level, acknowledged: make([][]transfer, *sessions),
		latencies: make([]histogram, *sessions), sums: make([]histogram, *bankReaders)}
}

func (b *bank) run() error {
	all, err := openAll(*sessions+*bankReaders, b.database, b.level.set...)
	if err != nil {
		return err
	}
	defer closeAll(all)
	if err := b.create(all[0]); err != nil {
		return err
	}
	started := time.Now()
	b.until = started.Add(time.Duration(*seconds * float64(time.Second)))
	b.together(all, func(number int, s *session) error {
		if number < *sessions {
			return b.write(number, s)
		}
		return b.read(number-*sessions, s)
	})
	b.report(time.Since(started).Seconds())
	if b.hasFailed() {
		return nil
	}
	return onEveryNode(b.judge, b.audit)
}

func (b *bank) create(s *session) error {
	values := make([]string, *bankAccounts)
	for id := range values {
		values[id] = fmt.Sprintf("(%d, %d)", id, balanceInitial)
	}
	for _, statement := range []string{
		"CREATE TABLE account (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)",
		`CREATE TABLE transfer (id BIGINT NOT NULL PRIMARY KEY, source INT NOT NULL, target INT NOT NULL,
			amount BIGINT NOT NULL)`,
		"INSERT INTO account VALUES " + strings.Join(values, ", "),
	} {
		if _, err := s.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

func (b *bank) write(number int, s *session) error {
	random := rand.New(rand.NewSource(int64(number) + 1))
	styles := int(styleCount)
	if !b.level.keepsReads {
		styles--
	}
	for count := int64(1); time.Now().Before(b.until) && !b.hasFailed(); count++ {
		source := random.Intn(*bankAccounts)
		target := (source + 1 + random.Intn(*bankAccounts-1)) % *bankAccounts
		wanted := transfer{int64(number)*transfersPerSessionMax + count, int64(source), int64(target), int64(1 + random.Intn(50))}
		how, givesUp := style(random.Intn(styles)), random.Intn(16) == 0
		started := time.Now()
		err := b.retry(s, func() error { return b.transfer(s, wanted, how, givesUp) })
		switch {
		case err != nil:
			return fmt.Errorf("transfer %v: %w", wanted, err)
		case givesUp:
			b.rolledBack.Add(1)
		default:
			b.latencies[number].add(time.Since(started))
			b.acknowledged[number] = append(b.acknowledged[number], wanted)
		}
	}
	return nil
}

func (b *bank) transfer(s *session, wanted transfer, how style, givesUp bool) error {
	if _, err := s.exec("BEGIN"); err != nil {
		return err
	}
	if err := b.move(s, wanted, how); err != nil {
		return err
	}
	err := s.change(1, "INSERT INTO transfer VALUES (?, ?, ?, ?)", wanted.id, wanted.source, wanted.target, wanted.amount)
	if err != nil {
		return err
	}
	last := "COMMIT"
	if givesUp {
		last = "ROLLBACK"
	}
	_, err = s.exec(last)
	return err
}

func (b *bank) move(s *session, wanted transfer, how style) error {
	if how == stylePlain {
		err := s.change(1, "UPDATE account SET balance = balance - ? WHERE id = ?", wanted.amount, wanted.source)
		if err != nil {
			return err
		}
		return s.change(1, "UPDATE account SET balance = balance + ? WHERE id = ?", wanted.amount, wanted.target)
	}
	query := "SELECT id, balance FROM account WHERE id IN (?, ?)"
	if how == styleLocked {
		query += " FOR UPDATE"
	}
	rows, err := s.query(query, wanted.source, wanted.target)
	if err != nil {
		return err
	}
	if len(rows) != 2 {
		return fmt.Errorf("%d rows of the two accounts", len(rows))
	}
	for _, row := range rows {
		balance := row[1] + wanted.amount
		if row[0] == wanted.source {
			balance = row[1] - wanted.amount
		}
		if err := s.change(1, "UPDATE account SET balance = ? WHERE id = ?", balance, row[0]); err != nil {
			return err
		}
	}
	return nil
}

// read sums in autocommit, where a plain SELECT waits for nothing: so it is never refused, at no level.
func (b *bank) read(number int, s *session) error {
	for time.Now().Before(b.until) && !b.hasFailed() {
		started := time.Now()
		if err := b.sum(s); err != nil {
			return err
		}
		b.sums[number].add(time.Since(started))
	}
	return nil
}

func (b *bank) sum(s *session) error {
	row, err := s.queryRow("SELECT SUM(balance), COUNT(*) FROM account")
	if err != nil {
		return fmt.Errorf("sum: %w", err)
	}
	if row[0] != b.total() || row[1] != int64(*bankAccounts) {
		b.failed("%s: the sum is %d of %d accounts, not %d of %d", s.address, row[0], row[1], b.total(), *bankAccounts)
	}
	return nil
}

func (b *bank) total() int64 { return int64(*bankAccounts) * balanceInitial }

func (b *bank) report(elapsed float64) {
	var latencies, sums histogram
	for number := range b.latencies {
		latencies.merge(&b.latencies[number])
	}
	for number := range b.sums {
		sums.merge(&b.sums[number])
	}
	b.figure("%d sessions, %d commits in %.1f s (%.0f/s, %v), %d rolled back on purpose, %s", *sessions, latencies.count,
		elapsed, float64(latencies.count)/elapsed, &latencies, b.rolledBack.Load(), b.refusedText())
	b.figure("%d readers, %d sums (%.0f/s, %v)", *bankReaders, sums.count, float64(sums.count)/elapsed, &sums)
	// A run in which nothing happened has shown nothing.
	if latencies.count == 0 || (sums.count == 0 && *bankReaders > 0) {
		b.failed("no transfer was made, or no sum was read")
	}
}

// audit compares what a node shows in the end with what was acknowledged: every transfer exactly once, nothing else, and
// on every account what its transfers make.
func (b *bank) audit(s *session) error {
	if err := b.sum(s); err != nil {
		return err
	}
	missing := map[int64]transfer{}
	balances := make([]int64, *bankAccounts)
	for id := range balances {
		balances[id] = balanceInitial
	}
	for _, made := range b.acknowledged {
		for _, t := range made {
			missing[t.id] = t
			balances[t.source] -= t.amount
			balances[t.target] += t.amount
		}
	}
	rows, err := s.query("SELECT id, source, target, amount FROM transfer")
	if err != nil {
		return err
	}
	for _, row := range rows {
		found := transfer{row[0], row[1], row[2], row[3]}
		if missing[found.id] != found {
			b.failed("%s: transfer %v is there, and %v was acknowledged", s.address, found, missing[found.id])
		}
		delete(missing, found.id)
	}
	for _, t := range missing {
		b.failed("%s: transfer %v was acknowledged and is not there", s.address, t)
	}
	if rows, err = s.query("SELECT id, balance FROM account ORDER BY id"); err != nil {
		return err
	}
	for id, balance := range balances {
		if id >= len(rows) || rows[id][0] != int64(id) || rows[id][1] != balance {
			b.failed("%s: account %d should have %d: %v", s.address, id, balance, rows[min(id, len(rows)-1)])
		}
	}
	return nil
}
