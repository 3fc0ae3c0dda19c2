// Command tpcc is a driver of the TPC-C benchmark (revision 5.11), without terminals, keying and think times.
//
//	tpcc load  [flags] ADDRESS...   creates the database tpcc and fills it as clause 4.3.3 demands
//	tpcc run   [flags] ADDRESS...   sessions execute the five transactions of clause 2 in the mix of -mix
//	tpcc check [flags] ADDRESS...   the consistency conditions 1 to 12 of clause 3.3.2, on every address
//
// An ADDRESS is host:port or the path of a unix socket; sessions are spread over all of them. Session i belongs to the
// warehouse i modulo -warehouses. -items and -customers make a smaller database of the same form.
//
// A transaction that the server ends with a deadlock (1213) or a lock wait timeout (1205) is executed again with the same
// input, and counted. Any other error ends the run. `run` compares the numbers of orders and payments that the server
// acknowledged with those that the tables have gained, and prints its figures as one line of JSON.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"clients/connect"
)

const database = "tpcc"

// The cardinalities of clause 4.3.3.1; a smaller database has fewer items and customers.
const (
	districtsPerWarehouse = 10
	itemsFull             = 100_000
	customersFull         = 3_000
)

var (
	options     connect.Options
	warehouses  = flag.Int("warehouses", 2, "warehouses of the database")
	items       = flag.Int("items", itemsFull, "items, and rows of stock of each warehouse")
	customers   = flag.Int("customers", customersFull, "customers of each district, and orders it begins with")
	connections = flag.Int("connections", 16, "sessions of run; load has at most one for each core")
	seconds     = flag.Float64("seconds", 60, "run: duration of the measured time")
	warmup      = flag.Float64("warmup", 5, "run: seconds before the measured time")
	mix         = flag.String("mix", "45,43,4,4,4", "run: shares of New-Order, Payment, Order-Status, Delivery and Stock-Level")
	isolation   = flag.String("isolation", "REPEATABLE READ", "run: isolation level of the sessions")
	seed        = flag.Uint64("seed", 1, "of all random choices")
	threads     = flag.Int("threads", 1, "run: threads of this program; one serves the connections with the fewest wake-ups")
	pids        = flag.String("pids", "", "run: processes of the server, with commas, whose use of the cores is reported")
	profile     = flag.String("profile", "", "run: file for a profile of this program")
	patience    = flag.Duration("patience", 120*time.Second, "longest wait for an answer")
)

// addresses are those of the command line.
var addresses []string

// scale holds the sizes that follow from the flags.
type scale struct{ warehouses, items, customers int }

// delivered returns how many of the first orders of a district are delivered: 2,100 of 3,000.
func (s scale) delivered() int { return s.customers * 7 / 10 }

func main() {
	modes := map[string]func(scale) error{"load": load, "run": run, "check": check}
	connect.Credentials(&options)
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: tpcc load|run|check [flags] ADDRESS...")
		flag.PrintDefaults()
	}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		flag.Usage()
		os.Exit(2)
	}
	flag.CommandLine.Parse(os.Args[2:])
	addresses = flag.Args()
	if len(addresses) == 0 || *connections < 1 || *warehouses < 1 || *items < 100 || *customers < 20 {
		flag.Usage()
		os.Exit(2)
	}
	if os.Args[1] == "run" {
		runtime.GOMAXPROCS(*threads)
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Printf("FAILED -profile: %v\n", err)
			os.Exit(1)
		}
	}
	err := modes[os.Args[1]](scale{*warehouses, *items, *customers})
	pprof.StopCPUProfile()
	if err != nil {
		fmt.Printf("FAILED %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
