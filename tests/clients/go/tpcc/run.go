package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// figures are what the terminals have measured: counts and latencies of transactions that ended in the measured time,
// but for acknowledged and refused, which hold the whole run.
type figures struct {
	latencies [kindCount][]time.Duration
	// rolledBack counts New-Orders that the client has rolled back, as one in a hundred demands.
	rolledBack int
	// acknowledged counts commits, and delivered the orders of acknowledged Deliveries.
	acknowledged [kindCount]int
	delivered    int
	refused      [kindCount]map[uint16]int
}

func (f *figures) merge(other *figures) {
	for k := range kindCount {
		f.latencies[k] = append(f.latencies[k], other.latencies[k]...)
		f.acknowledged[k] += other.acknowledged[k]
		for number, count := range other.refused[k] {
			f.refuse(k, number, count)
		}
	}
	f.rolledBack += other.rolledBack
	f.delivered += other.delivered
}

func (f *figures) refuse(k kind, number uint16, count int) {
	if f.refused[k] == nil {
		f.refused[k] = map[uint16]int{}
	}
	f.refused[k][number] += count
}

// phase is what terminals read before each transaction.
type phase int32

const (
	warming phase = iota
	measuring
	over
)

// newDeck has each kind as often as -mix says.
func newDeck() (deck []kind, err error) {
	shares := strings.Split(*mix, ",")
	if len(shares) != int(kindCount) {
		return nil, fmt.Errorf("-mix has %d shares instead of %d", len(shares), kindCount)
	}
	for k, share := range shares {
		count, err := strconv.Atoi(share)
		if err != nil || count < 0 {
			return nil, fmt.Errorf("-mix: %q is no share", share)
		}
		deck = append(deck, slices.Repeat([]kind{kind(k)}, count)...)
	}
	if len(deck) == 0 {
		return nil, errors.New("-mix has no transaction")
	}
	return deck, nil
}

// work executes transactions until the run is over. It deals the deck, and shuffles it when it is empty.
func (t *terminal) work(deck []kind, now *atomic.Int32, f *figures) error {
	deck = slices.Clone(deck)
	for dealt := 0; ; dealt++ {
		if dealt%len(deck) == 0 {
			t.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		k := deck[dealt%len(deck)]
		if phase(now.Load()) == over {
			return nil
		}
		began := time.Now()
		isCommitted, err := t.execute(k, f)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", kindNames[k], t.address, err)
		}
		if isCommitted {
			f.acknowledged[k]++
			if k == delivery {
				f.delivered += t.delivered
			}
		}
		if phase(now.Load()) == measuring {
			if isCommitted {
				f.latencies[k] = append(f.latencies[k], time.Since(began))
			} else {
				f.rolledBack++
			}
		}
	}
}

// execute runs a transaction until it is committed, or rolled back by the client; deadlocks and lock wait timeouts are
// counted.
func (t *terminal) execute(k kind, f *figures) (isCommitted bool, err error) {
	transaction := t.transaction(k)
	for {
		if err := t.text("BEGIN"); err != nil {
			return false, err
		}
		err := transaction()
		if err == nil {
			if err = t.text("COMMIT"); err == nil {
				return true, nil
			}
		}
		number := errorNumber(err)
		isUnused := errors.Is(err, errUnusedItem)
		if !isUnused && number != errorDeadlock && number != errorLockWaitTimeout {
			return false, err
		}
		// A deadlock has ended the transaction, a timeout only the statement.
		if err := t.text("ROLLBACK"); err != nil {
			return false, err
		}
		if isUnused {
			return false, nil
		}
		f.refuse(k, number, 1)
	}
}

// gains are the numbers of rows that acknowledged transactions change.
type gains struct{ orders, payments, undelivered int64 }

func (s *session) gains() (g gains, err error) {
	for _, count := range []struct {
		table string
		place *int64
	}{{"orders", &g.orders}, {"history", &g.payments}, {"new_order", &g.undelivered}} {
		found, err := s.row("SELECT COUNT(*) FROM " + count.table)
		if err != nil {
			return g, err
		}
		*count.place = found.integer(0)
	}
	return g, nil
}

func run(s scale) error {
	judge, err := open(addresses[0], database)
	if err != nil {
		return err
	}
	defer judge.close()
	before, err := judge.gains()
	if err != nil {
		return err
	}
	deck, err := newDeck()
	if err != nil {
		return err
	}
	terminals := make([]*terminal, *connections)
	for number := range terminals {
		session, err := open(addresses[number%len(addresses)], database, "SET SESSION TRANSACTION ISOLATION LEVEL "+*isolation)
		if err != nil {
			return err
		}
		defer session.close()
		// Sessions of every address have terminals of every warehouse.
		w := number / len(addresses) % s.warehouses
		terminals[number] = &terminal{session: session, random: newRandom(s, runStream, number), warehouse: w + 1,
			district: number%districtsPerWarehouse + 1}
	}
	var now atomic.Int32
	own, failures := make([]figures, len(terminals)), make([]error, len(terminals))
	var group sync.WaitGroup
	for number, t := range terminals {
		group.Add(1)
		go func() {
			defer group.Done()
			if failures[number] = t.work(deck, &now, &own[number]); failures[number] != nil {
				now.Store(int32(over))
				// The locks of this session must not keep others waiting.
				t.close()
			}
		}()
	}
	sleep(&now, *warmup)
	now.CompareAndSwap(int32(warming), int32(measuring))
	began := time.Now()
	coresBefore, coresErr := coresUsed()
	sleep(&now, *seconds)
	elapsed := time.Since(began).Seconds()
	coresAfter, coresErr2 := coresUsed()
	now.Store(int32(over))
	group.Wait()
	failures = append(failures, coresErr, coresErr2)
	var all figures
	for number := range own {
		all.merge(&own[number])
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	after, err := judge.gains()
	if err != nil {
		return err
	}
	if err := all.report(elapsed, cores{coresAfter.driver - coresBefore.driver, coresAfter.servers - coresBefore.servers}); err != nil {
		return err
	}
	expected := gains{int64(all.acknowledged[newOrder]), int64(all.acknowledged[payment]),
		int64(all.acknowledged[newOrder] - all.delivered)}
	gained := gains{after.orders - before.orders, after.payments - before.payments, after.undelivered - before.undelivered}
	if gained != expected {
		return fmt.Errorf("the tables gained %+v, the server acknowledged %+v", gained, expected)
	}
	return nil
}

func sleep(now *atomic.Int32, seconds float64) {
	for until := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(until) && phase(now.Load()) != over; {
		time.Sleep(min(100*time.Millisecond, time.Until(until)))
	}
}

// ticksPerSecond is the unit of the times in /proc/PID/stat, the same on all systems that Go knows.
const ticksPerSecond = 100

// cores are the seconds of the cores that this program and the processes of -pids have used.
type cores struct{ driver, servers float64 }

func coresUsed() (used cores, err error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return used, err
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	used.driver = seconds(usage.Utime) + seconds(usage.Stime)
	for _, pid := range strings.FieldsFunc(*pids, func(letter rune) bool { return letter == ',' }) {
		line, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return used, err
		}
		// The name of the program, in parentheses, may contain spaces.
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.Atoi(field)
			if err != nil {
				return used, err
			}
			used.servers += float64(ticks) / ticksPerSecond
		}
	}
	return used, nil
}

// report prints a line of JSON.
func (f *figures) report(elapsed float64, used cores) error {
	type transactions struct {
		Count   int            `json:"count"`
		P50MS   float64        `json:"p50_ms"`
		P95MS   float64        `json:"p95_ms"`
		MaxMS   float64        `json:"max_ms"`
		Refused map[uint16]int `json:"refused"`
	}
	kinds := map[string]transactions{}
	for k := range kindCount {
		latencies := f.latencies[k]
		slices.Sort(latencies)
		quantile := func(share float64) float64 {
			if len(latencies) == 0 {
				return 0
			}
			return latencies[int(share*float64(len(latencies)-1))].Seconds() * 1000
		}
		kinds[kindNames[k]] = transactions{len(latencies), quantile(0.5), quantile(0.95), quantile(1), f.refused[k]}
	}
	line, err := json.Marshal(map[string]any{"seconds": elapsed, "driver_cores_s": used.driver, "server_cores_s": used.servers, "rolled_back": f.rolledBack,
		"new_orders_per_minute": float64(len(f.latencies[newOrder])) / elapsed * 60, "transactions": kinds})
	if err == nil {
		fmt.Println(string(line))
	}
	return err
}
