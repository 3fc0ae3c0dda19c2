package main

import (
	"database/sql/driver"
	"fmt"
	"math/rand"
	"strings"
	"time"
)

// rowsPerInsertMax bounds the inserts of several rows.
const rowsPerInsertMax = 10

func sequenceChecks() []check {
	of := func(keys string) func(*judge) error {
		return func(j *judge) error { return newSequence(j).run(keys) }
	}
	return []check{
		{"AUTO_INCREMENT values as the primary key", of("PRIMARY KEY (id)")},
		// Here nothing but the sequence itself keeps a value from being given out twice.
		{"AUTO_INCREMENT values in a key that is not unique", of("PRIMARY KEY (session, number), KEY by_id (id)")},
	}
}

// inserted is one INSERT: rows number to number + count - 1 of the session, values from first on.
type inserted struct{ number, count, first int64 }

type sequence struct {
	*judge
	until time.Time
	// acknowledged are the inserts of each session, in the order they were made.
	acknowledged [][]inserted
	latencies    []histogram
}

func newSequence(j *judge) *sequence {
	return &sequence{judge: j, acknowledged: make([][]inserted, *sessions), latencies: make([]histogram, *sessions)}
}

func (q *sequence) run(keys string) error {
	all, err := openAll(*sessions, q.database)
	if err != nil {
		return err
	}
	defer closeAll(all)
	create := "CREATE TABLE ticket (id BIGINT NOT NULL AUTO_INCREMENT, session INT NOT NULL, number INT NOT NULL, " + keys + ")"
	if _, err := all[0].exec(create); err != nil {
		return err
	}
	started := time.Now()
	q.until = started.Add(time.Duration(*seconds * float64(time.Second)))
	q.together(all, q.write)
	elapsed := time.Since(started).Seconds()
	var latencies histogram
	for number := range q.latencies {
		latencies.merge(&q.latencies[number])
	}
	q.figure("%d sessions, %d inserts in %.1f s (%.0f/s, %v), %s", len(all), latencies.count, elapsed,
		float64(latencies.count)/elapsed, &latencies, q.refusedText())
	if latencies.count == 0 {
		q.failed("nothing was inserted")
	}
	if q.hasFailed() {
		return nil
	}
	return onEveryNode(q.judge, q.audit)
}

// write inserts one row or several; some inserts are rolled back, and their values are not given out again.
func (q *sequence) write(session int, s *session) error {
	random := rand.New(rand.NewSource(int64(session) + 1))
	var last int64
	for number := int64(1); time.Now().Before(q.until) && !q.hasFailed(); {
		count := int64(1)
		if random.Intn(2) == 0 {
			count += random.Int63n(rowsPerInsertMax)
		}
		givesUp := random.Intn(16) == 0
		var first int64
		started := time.Now()
		err := q.retry(s, func() (err error) {
			first, err = q.insert(s, int64(session), number, count, givesUp)
			return err
		})
		if err != nil {
			return err
		}
		if first <= last {
			q.failed("session %d at %s: LAST_INSERT_ID() is %d, and the row before has %d", session, s.address, first, last)
		}
		last = first + count - 1
		if random.Intn(8) == 0 {
			row, err := s.queryRow("SELECT LAST_INSERT_ID()")
			if err != nil {
				return err
			}
			if row[0] != first {
				q.failed("session %d at %s: LAST_INSERT_ID() is %d, told with OK was %d", session, s.address, row[0], first)
			}
		}
		if givesUp {
			continue
		}
		q.latencies[session].add(time.Since(started))
		q.acknowledged[session] = append(q.acknowledged[session], inserted{number, count, first})
		number += count
	}
	return nil
}

// insert returns the LAST_INSERT_ID() of the answer.
func (q *sequence) insert(s *session, session, number, count int64, givesUp bool) (int64, error) {
	if givesUp {
		if _, err := s.exec("BEGIN"); err != nil {
			return 0, err
		}
	}
	arguments := make([]driver.Value, 0, 2*count)
	for row := range count {
		arguments = append(arguments, session, number+row)
	}
	statement := "INSERT INTO ticket (session, number) VALUES (?, ?)" + strings.Repeat(", (?, ?)", int(count)-1)
	result, err := s.exec(statement, arguments...)
	if err != nil {
		return 0, err
	}
	if givesUp {
		if _, err := s.exec("ROLLBACK"); err != nil {
			return 0, err
		}
	}
	if changed, _ := result.RowsAffected(); changed != count {
		return 0, fmt.Errorf("%d rows changed, not %d: %s", changed, count, statement)
	}
	return result.LastInsertId()
}

// audit compares the table in the end with what was acknowledged. The values of one INSERT follow each other, because
// drivers compute those behind the first.
func (q *sequence) audit(s *session) error {
	type place struct{ session, number int64 }
	missing := map[place]int64{}
	for session, inserts := range q.acknowledged {
		for _, insert := range inserts {
			for row := range insert.count {
				missing[place{int64(session), insert.number + row}] = insert.first + row
			}
		}
	}
	rows, err := s.query("SELECT id, session, number FROM ticket")
	if err != nil {
		return err
	}
	seen := make(map[int64]bool, len(rows))
	for _, row := range rows {
		where := place{row[1], row[2]}
		if seen[row[0]] {
			q.failed("%s: value %d was given out twice", s.address, row[0])
		}
		seen[row[0]] = true
		if expected, found := missing[where]; !found || expected != row[0] {
			q.failed("%s: row %d of session %d has value %d, told was %d (acknowledged: %v)", s.address, where.number,
				where.session, row[0], expected, found)
		}
		delete(missing, where)
	}
	for where := range missing {
		q.failed("%s: row %d of session %d was acknowledged and is not there", s.address, where.number, where.session)
	}
	return nil
}
