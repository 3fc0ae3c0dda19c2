// Command load puts a cluster under load and judges what it did.
//
//	load hotrow   [flags] ADDRESS...   sessions increment one row, in autocommit and with SELECT ... FOR UPDATE: its value
//	                                   in the end is the number of acknowledged increments
//	load bank     [flags] ADDRESS...   sessions move money between accounts at each isolation level while others sum it up:
//	                                   the sum never differs, and every acknowledged transfer is there exactly once
//	load big      [flags] ADDRESS...   one session changes very many rows in one transaction, other sessions work on another
//	                                   table: both end with the right rows; latencies and memory are reported
//	load killfree [flags] ADDRESS...   sessions that hold locks are cut off or killed: who waits for the locks gets them
//	                                   within -bound-ms, on every node
//	load sequence [flags] ADDRESS...   sessions insert into a table with AUTO_INCREMENT: values are unique, rise in each
//	                                   session, and LAST_INSERT_ID() is the first of each insert
//
// An ADDRESS is host:port or the path of a unix socket; sessions are spread over all of them. Every mode prints its
// figures, one line a check ("ok" or "FAILED") and at the end "N passed, N failed". Speed is reported, not judged.
//
// A statement refused with a deadlock (1213) or a lock wait timeout (1205) is tried again, as an application would, and
// counted. Everything else is a failure, also no answer within -patience.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"clients/connect"
)

var (
	options  connect.Options
	sessions = flag.Int("sessions", 32, "sessions that write; big: sessions beside the big transaction")
	seconds  = flag.Float64("seconds", 10, "hotrow, bank, sequence: duration of each check")
	text     = flag.Bool("text", false, "statements go as text with their parameters in it instead of prepared")
	patience = flag.Duration("patience", 30*time.Second, "longest wait for any answer, but those of big's transaction")
	keep     = flag.Bool("keep", false, "the databases of checks that passed are kept, as those of others are")
	only     = flag.String("only", "", "only checks whose name contains this")
	threads  = flag.Int("threads", 0, "threads of this program; 0: hotrow 1, others as the machine has cores")
)

// addresses are those of the command line.
var addresses []string

// failuresShownMax bounds the output: with a broken server every statement may fail.
const failuresShownMax = 10

// judge collects what is wrong with one check. Shared by all sessions of it.
type judge struct {
	name string
	// database is the check's own.
	database     string
	mutex        sync.Mutex
	failureCount int
	refusals     map[uint16]int
}

// figure prints one line of what was measured.
func (j *judge) figure(format string, arguments ...any) {
	fmt.Printf("       %s: %s\n", j.name, fmt.Sprintf(format, arguments...))
}

func (j *judge) failed(format string, arguments ...any) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.failureCount++
	if j.failureCount <= failuresShownMax {
		fmt.Printf("       %s\n", fmt.Sprintf(format, arguments...))
	}
}

// hasFailed lets sessions stop early: after a failure only the end is of interest.
func (j *judge) hasFailed() bool {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.failureCount > 0
}

// together runs one function for each session at the same time and waits for all; an error is a failure.
func (j *judge) together(all []*session, work func(number int, s *session) error) {
	var group sync.WaitGroup
	for number, s := range all {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := work(number, s); err != nil {
				j.failed("session %d at %s: %v", number, s.address, err)
				// Its locks are not to keep the others waiting until they fail too.
				s.cut()
			}
		}()
	}
	group.Wait()
}

// check is one line of output and one unit of the closing line.
type check struct {
	name string
	run  func(*judge) error
}

var modes = map[string]func() []check{
	"hotrow": hotRowChecks, "bank": bankChecks, "big": bigChecks, "killfree": killFreeChecks, "sequence": sequenceChecks,
}

func main() {
	connect.Credentials(&options)
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: load hotrow|bank|big|killfree|sequence [flags] ADDRESS...")
		flag.PrintDefaults()
	}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		flag.Usage()
		os.Exit(2)
	}
	mode := os.Args[1]
	flag.CommandLine.Parse(os.Args[2:])
	addresses = flag.Args()
	checks := slices.DeleteFunc(modes[mode](), func(c check) bool { return !strings.Contains(c.name, *only) })
	if len(addresses) == 0 || *sessions < 1 || len(checks) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *threads == 0 && mode == "hotrow" {
		// One thread serves the connections of this mode with the fewest wake-ups: the servers get the other core.
		*threads = 1
	}
	if *threads > 0 {
		runtime.GOMAXPROCS(*threads)
	}
	os.Exit(runAll(mode, checks))
}

func runAll(mode string, checks []check) int {
	failedCount := 0
	for _, check := range checks {
		j := &judge{name: check.name, database: mode + "_" + randomName(), refusals: map[uint16]int{}}
		if err := runOne(check, j); err != nil {
			j.failed("%v", err)
		}
		if j.failureCount == 0 {
			fmt.Printf("ok     %s: %s\n", mode, check.name)
		} else {
			failedCount++
			fmt.Printf("FAILED %s: %s: %d failures\n", mode, check.name, j.failureCount)
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(checks)-failedCount, failedCount)
	if failedCount != 0 {
		return 1
	}
	return 0
}

// runOne gives the check a database, and takes it away again after success.
func runOne(check check, j *judge) error {
	creator, err := open(addresses[0], "")
	if err != nil {
		return err
	}
	defer creator.close()
	if _, err := creator.exec("CREATE DATABASE " + j.database); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	if err := check.run(j); err != nil {
		return err
	}
	if *keep || j.hasFailed() {
		return nil
	}
	if _, err := creator.exec("DROP DATABASE " + j.database); err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	return nil
}

func randomName() string {
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		panic(err)
	}
	return hex.EncodeToString(name)
}
