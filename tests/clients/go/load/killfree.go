package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	killFreeRounds = flag.Int("rounds", 50, "killfree: rounds of each check")
	killFreeBound  = flag.Float64("bound-ms", 100, "killfree: longest wait of the middle round, in ms")
	killFreeEvery  = flag.Bool("every", false, "killfree: the bound is for every round, not only for the middle one")
)

const (
	// killFreeRows are enough to have their primaries on all nodes.
	killFreeRows = 8
	// killFreeBlocked is the highest key: a statement that wants all rows gets the others first.
	killFreeBlocked = 1000
	// killFreeSettle passes between the waiters' statements and the end of the holder. A waiter that comes later than
	// that only makes the measured time longer.
	killFreeSettle = 30 * time.Millisecond
	holderStep     = 1
	waiterStep     = 1000
)

// ending is how the holder of the locks ends; since is when that began.
type ending func(k *killFree, holder *session) (since time.Time, err error)

type killFree struct {
	*judge
	killers map[string]*session
	waiters []*session
}

func killFreeChecks() []check {
	of := func(waits bool, end ending) func(*judge) error {
		return func(j *judge) error { return killFreeRun(j, waits, end) }
	}
	return []check{
		{"a connection that is cut frees its locks", of(false, cutOff)},
		{"a connection that is closed frees its locks", of(false, closeProperly)},
		{"KILL CONNECTION of an idle session frees its locks", of(false, killBy("KILL CONNECTION"))},
		{"a connection that is cut while it waits frees its locks", of(true, cutOff)},
		{"KILL CONNECTION of a waiting session frees its locks", of(true, killBy("KILL CONNECTION"))},
		{"KILL QUERY frees the locks of a waiting statement", of(true, killBy("KILL QUERY"))},
	}
}

func cutOff(k *killFree, holder *session) (time.Time, error) {
	since := time.Now()
	holder.cut()
	return since, nil
}

func closeProperly(k *killFree, holder *session) (time.Time, error) {
	since := time.Now()
	holder.close()
	return since, nil
}

func killBy(command string) ending {
	return func(k *killFree, holder *session) (time.Time, error) {
		since := time.Now()
		_, err := k.killers[holder.address].exec(fmt.Sprintf("%s %d", command, holder.id))
		return since, err
	}
}

func killFreeRun(j *judge, waits bool, end ending) error {
	k := &killFree{judge: j, killers: map[string]*session{}}
	blocker, err := open(addresses[0], j.database)
	if err != nil {
		return err
	}
	defer blocker.close()
	for _, statement := range []string{
		"CREATE TABLE held (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)",
		fmt.Sprintf("INSERT INTO held VALUES %s, (%d, 0)", strings.Join(killFreeEach("(%d, 0)"), ", "), killFreeBlocked),
	} {
		if _, err := blocker.exec(statement); err != nil {
			return err
		}
	}
	for _, address := range addresses {
		if k.killers[address], err = open(address, j.database); err != nil {
			return err
		}
		defer k.killers[address].close()
	}
	if k.waiters, err = openAll(killFreeRows, j.database); err != nil {
		return err
	}
	defer closeAll(k.waiters)
	durations := make([]time.Duration, 0, *killFreeRounds)
	for round := range *killFreeRounds {
		took, err := k.round(round, blocker, waits, end)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		durations = append(durations, took)
	}
	k.report(durations)
	return onEveryNode(j, k.audit)
}

// round lets a holder lock all rows, a waiter wait for each of them, the waiters at all nodes; then the holder ends. The
// time is that of the last waiter.
func (k *killFree) round(round int, blocker *session, waits bool, end ending) (time.Duration, error) {
	holder, err := open(addresses[round%len(addresses)], k.database)
	if err != nil {
		return 0, err
	}
	defer holder.cut()
	if err := holder.learnId(); err != nil {
		return 0, err
	}
	victim := make(chan error, 1)
	if waits {
		// The holder's statement has all rows but the highest, which it waits for.
		for _, statement := range []string{"BEGIN", fmt.Sprintf("UPDATE held SET v = v WHERE id = %d", killFreeBlocked)} {
			if _, err := blocker.exec(statement); err != nil {
				return 0, err
			}
		}
		// It ends before the next round's holder comes, also after a failure.
		defer blocker.exec("ROLLBACK")
		go func() { victim <- holder.holdAll(killFreeBlocked) }()
		err = k.untilHeld()
	} else if _, err = holder.exec("BEGIN"); err == nil {
		err = holder.holdAll()
	}
	if err != nil {
		return 0, err
	}
	answers := k.wait(round)
	time.Sleep(killFreeSettle)
	select {
	case answer := <-answers:
		return 0, fmt.Errorf("a waiter did not wait for the lock: error %v", answer.err)
	case err := <-victim:
		return 0, fmt.Errorf("the holder did not wait: error %v", err)
	default:
	}
	since, err := end(k, holder)
	if err != nil {
		return 0, err
	}
	var last time.Time
	for range k.waiters {
		answer := <-answers
		if answer.err != nil {
			return 0, answer.err
		}
		if answer.at.After(last) {
			last = answer.at
		}
	}
	if waits {
		if err := <-victim; err == nil {
			return 0, fmt.Errorf("the statement that was to be ended succeeded")
		} else if number := errorNumber(err); number != 0 && number != errorInterrupted {
			return 0, fmt.Errorf("the statement that was ended: %w", err)
		}
	}
	return last.Sub(since), nil
}

// untilHeld returns when all rows of the waiters are locked.
func (k *killFree) untilHeld() error {
	for started := time.Now(); time.Since(started) < *patience; time.Sleep(time.Millisecond) {
		free, err := k.killers[addresses[0]].query("SELECT id FROM held WHERE id < ? FOR UPDATE SKIP LOCKED", int64(killFreeRows))
		if err != nil || len(free) == 0 {
			return err
		}
	}
	return fmt.Errorf("the holder does not get its rows")
}

// holdAll locks the rows of the waiters and those named, in one statement.
func (s *session) holdAll(more ...int) error {
	ids := killFreeEach("%d")
	for _, id := range more {
		ids = append(ids, fmt.Sprint(id))
	}
	statement := fmt.Sprintf("UPDATE held SET v = v + %d WHERE id IN (%s)", holderStep, strings.Join(ids, ", "))
	return s.change(int64(len(ids)), statement)
}

// answer is what a waiter got, and when.
type answer struct {
	at  time.Time
	err error
}

// wait sends one statement on each waiter. From round to round the rows move on, so that each node waits for each row.
func (k *killFree) wait(round int) <-chan answer {
	answers := make(chan answer, len(k.waiters))
	for number, waiter := range k.waiters {
		id := (number + round/2) % killFreeRows
		go func() {
			err := waiter.change(1, fmt.Sprintf("UPDATE held SET v = v + %d WHERE id = %d", waiterStep, id))
			answers <- answer{time.Now(), err}
		}()
	}
	return answers
}

func killFreeEach(format string) []string {
	all := make([]string, killFreeRows)
	for id := range all {
		all[id] = fmt.Sprintf(format, id)
	}
	return all
}

func (k *killFree) report(durations []time.Duration) {
	slices.Sort(durations)
	bound := time.Duration(*killFreeBound * float64(time.Millisecond))
	late := 0
	for _, duration := range durations {
		if duration > bound {
			late++
		}
	}
	middle, worst := durations[len(durations)/2], durations[len(durations)-1]
	k.figure("after %s (middle of %d rounds), at most %s, %d above %s", milliseconds(middle), len(durations),
		milliseconds(worst), late, milliseconds(bound))
	if middle > bound || (*killFreeEvery && late > 0) {
		k.failed("more than %s", milliseconds(bound))
	}
}

// audit: whatever holders did is undone, what waiters did is there.
func (k *killFree) audit(s *session) error {
	rows, err := s.query("SELECT id, v FROM held")
	if err != nil {
		return err
	}
	if len(rows) != killFreeRows+1 {
		k.failed("%s: %d rows in the end", s.address, len(rows))
	}
	for _, row := range rows {
		expected := int64(*killFreeRounds * waiterStep)
		if row[0] == killFreeBlocked {
			expected = 0
		}
		if row[1] != expected {
			k.failed("%s: row %d has %d in the end, not %d", s.address, row[0], row[1], expected)
		}
	}
	return nil
}
