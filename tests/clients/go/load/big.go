package main

import (
	"flag"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

var (
	bigRows      = flag.Int("rows", 1_000_000, "big: rows of the transaction")
	bigRowBytes  = flag.Int("row-bytes", 40, "big: bytes of the text in each row")
	bigPiece     = flag.Int("piece", 1000, "big: rows of one INSERT")
	bigOtherRows = flag.Int("other-rows", 10_000, "big: rows of the table of the other sessions")
	bigQuiet     = flag.Duration("quiet", 5*time.Second, "big: time without a big transaction, before and after")
	bigPatience  = flag.Duration("phase-patience", 5*time.Minute, "big: longest wait for one statement of the transaction")
	bigPids      = flag.String("pids", "", "big: processes whose memory is looked at, with commas between them")
)

const (
	// bigSamples rows, spread over the table, are looked at again and again: they change together or not at all.
	bigSamples        = 16
	bigSampleInterval = 20 * time.Millisecond
)

// phase is a part of the run; checking, between the phases, is measured but of no interest.
type phase struct {
	name string
	work func(b *big) error
	// after it the table has so many rows, and this sum of v.
	rows, sum int64
}

func bigPhases() []phase {
	rows := int64(*bigRows)
	return []phase{
		{"before", (*big).quiet, 0, 0},
		{"INSERT", (*big).insert, rows, rows},
		{"UPDATE", (*big).update, rows, 2 * rows},
		{"UPDATE, ROLLBACK", (*big).rollback, rows, 2 * rows},
		{"DELETE", (*big).delete, 0, 0},
		{"after", (*big).quiet, 0, 0},
	}
}

// other is a session beside the big transaction, with what it measured in each phase.
type other struct {
	*session
	selects, updates []histogram
	acknowledged     int64
}

type big struct {
	*judge
	phases []phase
	// now is the index of the phase that runs, len(phases) between two of them.
	now atomic.Int32
	// newest is the one that began last.
	newest atomic.Int32
	stop   atomic.Bool
	writer *session
	memory *memory
}

func bigChecks() []check {
	if *bigRows < bigSamples || *bigPiece < 1 || *bigOtherRows < 1 {
		return nil
	}
	name := fmt.Sprintf("transactions of %d rows beside %d other sessions", *bigRows, *sessions)
	return []check{{name, func(j *judge) error {
		memory, err := newMemory(*bigPids)
		if err != nil {
			return err
		}
		return (&big{judge: j, phases: bigPhases(), memory: memory}).run()
	}}}
}

func (b *big) run() error {
	others, err := b.prepare()
	if err != nil {
		return err
	}
	defer b.writer.close()
	b.now.Store(int32(len(b.phases)))
	var group sync.WaitGroup
	beside := func(work func() error) {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := work(); err != nil {
				b.failed("in or after %s: %v", b.phaseName(), err)
				// The verdict is made; the transaction need not be waited for.
				b.writer.cut()
			}
		}()
	}
	for number, o := range others {
		defer o.close()
		beside(func() error { return b.other(int64(number), o) })
	}
	for _, address := range addresses {
		beside(func() error { return b.watch(address) })
	}
	beside(b.memory.sample(&b.stop))
	fmt.Printf("       %-17s %8s  %-42s %-42s %s\n", "", "seconds", "point SELECTs of the others", "UPDATEs of the others",
		"memory of the processes")
	for index := range b.phases {
		if err = b.phase(index, others); err != nil || b.hasFailed() {
			break
		}
	}
	b.stop.Store(true)
	group.Wait()
	b.figure("%s in the other sessions", b.refusedText())
	if err != nil || b.hasFailed() {
		return err
	}
	return onEveryNode(b.judge, func(s *session) error { return b.audit(s, others) })
}

func (b *big) phaseName() string { return b.phases[b.newest.Load()].name }

func (b *big) prepare() ([]*other, error) {
	var err error
	b.writer, err = openWith(addresses[0], b.database, func(config *mysql.Config) { config.ReadTimeout = *bigPatience })
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		"CREATE TABLE big (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, filler VARCHAR(4000) NOT NULL)",
		"CREATE TABLE other (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)",
	} {
		if _, err := b.writer.exec(statement); err != nil {
			return nil, err
		}
	}
	if err := b.insertInto("other", *bigOtherRows, func(row []byte) []byte { return append(row, ",0)"...) }); err != nil {
		return nil, err
	}
	all, err := openAll(*sessions, b.database)
	if err != nil {
		return nil, err
	}
	others := make([]*other, len(all))
	for number, s := range all {
		// One place more, for what is measured between the phases.
		count := len(b.phases) + 1
		others[number] = &other{session: s, selects: make([]histogram, count), updates: make([]histogram, count)}
	}
	return others, nil
}

// insertInto inserts rows 0 to count - 1 in pieces; rest appends what follows the key of a row.
func (b *big) insertInto(table string, count int, rest func(row []byte) []byte) error {
	var statement []byte
	for first := 0; first < count; first += *bigPiece {
		end := min(first+*bigPiece, count)
		statement = append(statement[:0], "INSERT INTO "+table+" VALUES "...)
		for id := first; id < end; id++ {
			if id > first {
				statement = append(statement, ',')
			}
			statement = rest(strconv.AppendInt(append(statement, '('), int64(id), 10))
		}
		if err := b.writer.change(int64(end-first), string(statement)); err != nil {
			return fmt.Errorf("rows %d to %d: %w", first, end-1, err)
		}
	}
	return nil
}

// phase runs one, reports it, and verifies what is there after it.
func (b *big) phase(index int, others []*other) error {
	p := b.phases[index]
	b.memory.forgetMax()
	started := time.Now()
	b.newest.Store(int32(index))
	b.now.Store(int32(index))
	err := p.work(b)
	b.now.Store(int32(len(b.phases)))
	took := time.Since(started).Seconds()
	if err != nil {
		// Told at once: the other sessions may have failed so often that no more is shown.
		fmt.Printf("       %s failed after %.1f s: %v; memory %v\n", p.name, took, err, b.memory)
		return fmt.Errorf("%s: %w", p.name, err)
	}
	memory := b.memory.String()
	err = onEveryNode(b.judge, func(s *session) error {
		row, err := s.queryRow("SELECT COUNT(*), SUM(v) FROM big")
		if err == nil && (row[0] != p.rows || row[1] != p.sum) {
			b.failed("%s: %d rows with the sum %d after %s, not %d with %d", s.address, row[0], row[1], p.name, p.rows, p.sum)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("after %s: %w", p.name, err)
	}
	var selects, updates histogram
	for _, o := range others {
		selects.merge(&o.selects[index])
		updates.merge(&o.updates[index])
	}
	fmt.Printf("       %-17s %8.1f  %-42v %-42v %s\n", p.name, took, &selects, &updates, memory)
	return nil
}

func (b *big) quiet() error {
	time.Sleep(*bigQuiet)
	return nil
}

func (b *big) insert() error {
	filler := ",1,'" + strings.Repeat("x", *bigRowBytes) + "')"
	return b.transaction("COMMIT", func() error {
		return b.insertInto("big", *bigRows, func(row []byte) []byte { return append(row, filler...) })
	})
}

func (b *big) update() error {
	return b.transaction("COMMIT", func() error { return b.writer.change(int64(*bigRows), "UPDATE big SET v = v + 1") })
}

func (b *big) rollback() error {
	return b.transaction("ROLLBACK", func() error { return b.writer.change(int64(*bigRows), "UPDATE big SET v = v + 1") })
}

func (b *big) delete() error {
	return b.transaction("COMMIT", func() error { return b.writer.change(int64(*bigRows), "DELETE FROM big") })
}

func (b *big) transaction(last string, work func() error) error {
	if _, err := b.writer.exec("BEGIN"); err != nil {
		return err
	}
	started := time.Now()
	if err := work(); err != nil {
		return fmt.Errorf("after %.1f s: %w", time.Since(started).Seconds(), err)
	}
	ended := time.Now()
	if _, err := b.writer.exec(last); err != nil {
		return fmt.Errorf("%s after %.1f s and %.1f s: %w", last, ended.Sub(started).Seconds(), time.Since(ended).Seconds(), err)
	}
	return nil
}

// other reads and changes single rows of its own table until all phases are over.
func (b *big) other(number int64, o *other) error {
	random := rand.New(rand.NewSource(number + 1))
	var id int64
	read := func() error {
		_, err := o.queryRow("SELECT v FROM other WHERE id = ?", id)
		return err
	}
	write := func() error { return o.change(1, "UPDATE other SET v = v + 1 WHERE id = ?", id) }
	for !b.stop.Load() {
		id = random.Int63n(int64(*bigOtherRows))
		index := b.now.Load()
		work, histograms := read, o.selects
		isUpdate := random.Intn(2) == 0
		if isUpdate {
			work, histograms = write, o.updates
		}
		started := time.Now()
		if err := b.retry(o.session, work); err != nil {
			o.cut()
			return fmt.Errorf("another session at %s, after %.1f s: %w", o.address, time.Since(started).Seconds(), err)
		}
		histograms[index].add(time.Since(started))
		if isUpdate {
			o.acknowledged++
		}
	}
	return nil
}

// watch looks at some rows of the big table: a transaction is seen whole, wherever its rows are.
func (b *big) watch(address string) error {
	s, err := open(address, b.database)
	if err != nil {
		return err
	}
	defer s.close()
	ids := make([]string, bigSamples)
	for sample := range ids {
		ids[sample] = fmt.Sprint(sample * (*bigRows - 1) / (bigSamples - 1))
	}
	query := "SELECT COUNT(*), MIN(v), MAX(v) FROM big WHERE id IN (" + strings.Join(ids, ", ") + ")"
	for !b.stop.Load() {
		row, err := s.queryRow(query)
		if err != nil {
			return fmt.Errorf("a watcher at %s: %w", address, err)
		}
		if (row[0] != 0 && row[0] != bigSamples) || row[1] != row[2] || row[2] > 2 {
			b.failed("%s: of %d rows %d are seen in or after %s, values %d to %d", address, bigSamples, row[0], b.phaseName(), row[1], row[2])
			return nil
		}
		time.Sleep(bigSampleInterval)
	}
	return nil
}

// audit: no update of the other sessions is lost or made twice.
func (b *big) audit(s *session, others []*other) error {
	var acknowledged int64
	for _, o := range others {
		acknowledged += o.acknowledged
	}
	if acknowledged == 0 {
		b.failed("the other sessions did nothing")
	}
	row, err := s.queryRow("SELECT COUNT(*), SUM(v) FROM other")
	if err == nil && (row[0] != int64(*bigOtherRows) || row[1] != acknowledged) {
		b.failed("%s: %d rows with the sum %d for %d updates of the other sessions", s.address, row[0], row[1], acknowledged)
	}
	return err
}
