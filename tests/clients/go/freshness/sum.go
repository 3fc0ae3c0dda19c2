package main

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"
)

const (
	balanceInitial = 1000
	// legsPerTransfer rows of the journal are written by each transfer, in one transaction.
	legsPerTransfer = 4
)

// transfers counts commits; announced is the newest transfer number handed out, so that readers look where it happens.
type transfers struct {
	committed atomic.Int64
	announced atomic.Int64
	reads     atomic.Int64
	partial   atomic.Int64
	nonempty  atomic.Int64
	stop      atomic.Bool
}

// sum runs writers on the first node and readers on the second, for a while, and then compares both in the end.
func sum(first, second *node, t *tally) error {
	for _, statement := range []string{
		"CREATE TABLE account (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)",
		`CREATE TABLE journal (transfer BIGINT NOT NULL, leg INT NOT NULL, amount BIGINT NOT NULL,
			PRIMARY KEY (transfer, leg), KEY journal_leg (leg))`,
	} {
		if _, err := first.pool.Exec(statement); err != nil {
			return err
		}
	}
	for id := range *accounts {
		if _, err := first.pool.Exec("INSERT INTO account VALUES (?, ?)", id, balanceInitial); err != nil {
			return err
		}
	}
	state := &transfers{}
	var group sync.WaitGroup
	spawn := func(work func() error) {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := work(); err != nil {
				t.failed("%v", err)
			}
		}()
	}
	for writer := range *workers {
		spawn(func() error { return sumWriter(first, int64(writer), state, t) })
	}
	for range *readers {
		spawn(func() error { return sumReader(second, state, t) })
	}
	time.Sleep(time.Duration(*seconds * float64(time.Second)))
	state.stop.Store(true)
	group.Wait()
	fmt.Printf("       %d transfers (%.0f/s), %d reads of the sum, %d looks at a transfer in flight (%d found it), %d retries\n",
		state.committed.Load(), float64(state.committed.Load()) / *seconds, state.reads.Load(),
		state.partial.Load(), state.nonempty.Load(), t.retryCount)
	// A run in which nothing happened has shown nothing.
	if state.committed.Load() == 0 || state.reads.Load() == 0 || state.partial.Load() == 0 {
		t.failed("no transfer was made, or none was looked at")
	}
	for _, node := range []*node{first, second} {
		var total, legs int64
		if err := node.pool.QueryRow("SELECT SUM(balance) FROM account").Scan(&total); err != nil {
			return err
		}
		if err := node.pool.QueryRow("SELECT COUNT(*) FROM journal").Scan(&legs); err != nil {
			return err
		}
		if total != sumExpected() {
			t.failed("%s: the sum in the end is %d, not %d", node.address, total, sumExpected())
		}
		if legs != state.committed.Load()*legsPerTransfer {
			t.failed("%s: %d journal rows in the end for %d transfers", node.address, legs, state.committed.Load())
		}
	}
	return nil
}

func sumExpected() int64 { return int64(*accounts) * balanceInitial }

func sumWriter(node *node, writer int64, state *transfers, t *tally) error {
	session, err := node.session()
	if err != nil {
		return err
	}
	defer session.close()
	random := rand.New(rand.NewSource(writer + 1))
	for !state.stop.Load() {
		transfer := state.announced.Add(1)
		// The same transfer is tried again until it commits, so that the count of journal rows is known.
		for {
			err := sumTransfer(session, transfer, random)
			if err == nil {
				state.committed.Add(1)
				break
			}
			if !temporary(err) {
				return fmt.Errorf("transfer %d: %w", transfer, err)
			}
			t.retried()
			if err := session.exec("ROLLBACK"); err != nil {
				return err
			}
		}
	}
	return nil
}

func sumTransfer(session *session, transfer int64, random *rand.Rand) error {
	source := random.Intn(*accounts)
	target := (source + 1 + random.Intn(*accounts-1)) % *accounts
	amount := int64(1 + random.Intn(50))
	if _, err := session.connection.ExecContext(background, "START TRANSACTION"); err != nil {
		return err
	}
	for leg := range legsPerTransfer {
		var err error
		switch leg {
		case 1:
			err = session.exec("UPDATE account SET balance = balance - ? WHERE id = ?", amount, source)
		case 2:
			err = session.exec("UPDATE account SET balance = balance + ? WHERE id = ?", amount, target)
		}
		if err == nil {
			err = session.exec("INSERT INTO journal (transfer, leg, amount) VALUES (?, ?, ?)", transfer, leg, amount)
		}
		if err != nil {
			return err
		}
	}
	_, err := session.connection.ExecContext(background, "COMMIT")
	return err
}

// sumReader sums, and looks at the newest transfers, which are being written at this moment.
func sumReader(node *node, state *transfers, t *tally) error {
	session, err := node.session()
	if err != nil {
		return err
	}
	defer session.close()
	for !state.stop.Load() {
		var total, accountCount, legs int64
		err := session.query("SELECT SUM(balance), COUNT(*) FROM account", nil, &total, &accountCount)
		if temporary(err) {
			t.retried()
			continue
		}
		if err != nil {
			return fmt.Errorf("sum: %w", err)
		}
		state.reads.Add(1)
		if total != sumExpected() || accountCount != int64(*accounts) {
			t.failed("%s: the sum is %d of %d accounts, not %d of %d",
				node.address, total, accountCount, sumExpected(), *accounts)
		}
		for back := range int64(3) {
			transfer := state.announced.Load() - back
			err := session.query("SELECT COUNT(*) FROM journal WHERE transfer = ?", []any{transfer}, &legs)
			if temporary(err) {
				t.retried()
				continue
			}
			if err != nil {
				return fmt.Errorf("journal: %w", err)
			}
			state.partial.Add(1)
			switch legs {
			case 0:
			case legsPerTransfer:
				state.nonempty.Add(1)
			default:
				t.failed("%s: %d of the %d rows of transfer %d are seen", node.address, legs, legsPerTransfer, transfer)
			}
		}
		// One statement over many transfers must see each of them whole.
		var torn int64
		err = session.query("SELECT transfer FROM journal WHERE transfer > ? GROUP BY transfer HAVING COUNT(*) <> ? LIMIT 1",
			[]any{state.announced.Load() - 20, legsPerTransfer}, &torn)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case temporary(err):
			t.retried()
		case err != nil:
			return fmt.Errorf("range over the journal: %w", err)
		default:
			t.failed("%s: one statement sees transfer %d in part", node.address, torn)
		}
	}
	return nil
}
