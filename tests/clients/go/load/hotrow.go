package main

import (
	"database/sql/driver"
	"flag"
	"fmt"
	"slices"
	"time"
)

var hotRowId = flag.Int64("row", 1, "hotrow: the row's key, which decides the node that has its primary")

// increment adds one to the row, in one transaction.
type increment func(j *judge, s *session) error

func hotRowChecks() []check {
	of := func(how increment) func(*judge) error {
		return func(j *judge) error { return hotRow(j, how) }
	}
	return []check{
		{"autocommit increments of one row", of(incrementAutocommit)},
		{"increments of one row after SELECT ... FOR UPDATE", of(incrementLocked)},
	}
}

func incrementAutocommit(j *judge, s *session) error {
	return s.change(1, "UPDATE hot SET v = v + 1 WHERE id = ?", *hotRowId)
}

// incrementLocked writes what it read plus one, so that a lock that does not hold loses increments.
func incrementLocked(j *judge, s *session) error {
	if _, err := s.exec("BEGIN"); err != nil {
		return err
	}
	row, err := s.queryRow("SELECT v FROM hot WHERE id = ? FOR UPDATE", *hotRowId)
	if err != nil {
		return err
	}
	if err := s.change(1, "UPDATE hot SET v = ? WHERE id = ?", driver.Value(row[0]+1), *hotRowId); err != nil {
		return err
	}
	_, err = s.exec("COMMIT")
	return err
}

func hotRow(j *judge, how increment) error {
	all, err := openAll(*sessions, j.database)
	if err != nil {
		return err
	}
	defer closeAll(all)
	for _, statement := range []string{
		"CREATE TABLE hot (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO hot VALUES (%d, 0)", *hotRowId),
	} {
		if _, err := all[0].exec(statement); err != nil {
			return err
		}
	}
	histograms := make([]histogram, len(all))
	started := time.Now()
	until := started.Add(time.Duration(*seconds * float64(time.Second)))
	j.together(all, func(number int, s *session) error {
		attempt := func() error { return how(j, s) }
		for now := started; now.Before(until) && !j.hasFailed(); {
			if err := j.retry(s, attempt); err != nil {
				return err
			}
			end := time.Now()
			histograms[number].add(end.Sub(now))
			now = end
		}
		return nil
	})
	elapsed := time.Since(started).Seconds()
	var latencies histogram
	counts := make([]int64, len(all))
	for number := range histograms {
		latencies.merge(&histograms[number])
		counts[number] = histograms[number].count
	}
	j.figure("%d sessions, %d commits in %.1f s (%.0f/s, %v), a session %d to %d, %s", len(all), latencies.count, elapsed,
		float64(latencies.count)/elapsed, &latencies, slices.Min(counts), slices.Max(counts), j.refusedText())
	if j.hasFailed() {
		return nil
	}
	return onEveryNode(j, func(s *session) error {
		row, err := s.queryRow("SELECT v FROM hot WHERE id = ?", *hotRowId)
		if err == nil && row[0] != latencies.count {
			j.failed("%s: the value is %d after %d acknowledged increments", s.address, row[0], latencies.count)
		}
		return err
	})
}

// onEveryNode looks at the end through a new connection to each address.
func onEveryNode(j *judge, look func(s *session) error) error {
	for _, address := range addresses {
		s, err := open(address, j.database)
		if err != nil {
			return err
		}
		err = look(s)
		s.close()
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
	}
	return nil
}
