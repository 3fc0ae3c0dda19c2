package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
)

const addressColumns = `%[1]s_name VARCHAR(10) NOT NULL, %[1]s_street_1 VARCHAR(20) NOT NULL, %[1]s_street_2 VARCHAR(20) NOT NULL,
	%[1]s_city VARCHAR(20) NOT NULL, %[1]s_state CHAR(2) NOT NULL, %[1]s_zip CHAR(9) NOT NULL, %[1]s_tax DECIMAL(4,4) NOT NULL,
	%[1]s_ytd DECIMAL(12,2) NOT NULL`

// schema has the tables of clause 1.3. Foreign keys are not declared: no transaction depends on them.
var schema = []string{
	"CREATE TABLE warehouse (w_id INT NOT NULL PRIMARY KEY, " + fmt.Sprintf(addressColumns, "w") + ")",
	"CREATE TABLE district (d_id INT NOT NULL, d_w_id INT NOT NULL, " + fmt.Sprintf(addressColumns, "d") +
		", d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id))",
	`CREATE TABLE customer (c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16) NOT NULL,
		c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, c_street_1 VARCHAR(20) NOT NULL,
		c_street_2 VARCHAR(20) NOT NULL, c_city VARCHAR(20) NOT NULL, c_state CHAR(2) NOT NULL, c_zip CHAR(9) NOT NULL,
		c_phone CHAR(16) NOT NULL, c_since DATETIME NOT NULL, c_credit CHAR(2) NOT NULL, c_credit_lim DECIMAL(12,2) NOT NULL,
		c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, c_ytd_payment DECIMAL(12,2) NOT NULL,
		c_payment_cnt INT NOT NULL, c_delivery_cnt INT NOT NULL, c_data VARCHAR(500) NOT NULL,
		PRIMARY KEY (c_w_id, c_d_id, c_id), KEY by_name (c_w_id, c_d_id, c_last, c_first))`,
	`CREATE TABLE history (h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, h_d_id INT NOT NULL,
		h_w_id INT NOT NULL, h_date DATETIME NOT NULL, h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL)`,
	`CREATE TABLE new_order (no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL,
		PRIMARY KEY (no_w_id, no_d_id, no_o_id))`,
	`CREATE TABLE orders (o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT NOT NULL,
		o_entry_d DATETIME NOT NULL, o_carrier_id INT, o_ol_cnt INT NOT NULL, o_all_local INT NOT NULL,
		PRIMARY KEY (o_w_id, o_d_id, o_id), KEY by_customer (o_w_id, o_d_id, o_c_id, o_id))`,
	`CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL,
		ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, ol_delivery_d DATETIME, ol_quantity INT NOT NULL,
		ol_amount DECIMAL(6,2) NOT NULL, ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))`,
	`CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL,
		i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL)`,
	"CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT NOT NULL, " + districtColumns() +
		`, s_ytd INT NOT NULL, s_order_cnt INT NOT NULL, s_remote_cnt INT NOT NULL, s_data VARCHAR(50) NOT NULL,
		PRIMARY KEY (s_w_id, s_i_id))`,
}

func districtColumns() string {
	names := make([]string, districtsPerWarehouse)
	for i := range names {
		names[i] = fmt.Sprintf("s_dist_%02d CHAR(24) NOT NULL", i+1)
	}
	return strings.Join(names, ", ")
}

var tables = []string{"warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"}

const (
	bytesPerInsert = 256 << 10
	rowsPerTask    = 10_000
)

// loader fills tables through one session; the rows of a table are inserted bytesPerInsert at a time.
type loader struct {
	*session
	random *random
	now    string
	rows   map[string]*strings.Builder
}

func (l *loader) add(table, format string, values ...any) error {
	rows := l.rows[table]
	if rows == nil {
		rows = &strings.Builder{}
		l.rows[table] = rows
	}
	if rows.Len() == 0 {
		fmt.Fprintf(rows, "INSERT INTO %s VALUES ", table)
	} else {
		rows.WriteByte(',')
	}
	fmt.Fprintf(rows, "("+format+")", values...)
	if rows.Len() < bytesPerInsert {
		return nil
	}
	return l.insert(table)
}

func (l *loader) insert(table string) error {
	statement := l.rows[table].String()
	l.rows[table].Reset()
	return l.text(statement)
}

func (l *loader) finish() error {
	for table, rows := range l.rows {
		if rows.Len() == 0 {
			continue
		}
		if err := l.insert(table); err != nil {
			return err
		}
	}
	return nil
}

// address is the columns of a warehouse or district from its name to its zip.
func (l *loader) address() string {
	r := l.random
	return fmt.Sprintf("'%s','%s','%s','%s','%s','%s'", r.alphanumeric(6, 10), r.alphanumeric(10, 20), r.alphanumeric(10, 20),
		r.alphanumeric(10, 20), r.string(stateLetters, 2, 2), r.zip())
}

func (l *loader) items(first, last int) error {
	r := l.random
	for id := first; id <= last; id++ {
		price := money(int64(r.between(100, 10_000)))
		if err := l.add("item", "%d,%d,'%s',%s,'%s'", id, r.between(1, 10_000), r.alphanumeric(14, 24), price, r.data()); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) warehouse(w int) error {
	r := l.random
	if err := l.add("warehouse", "%d,%s,0.%04d,%s", w, l.address(), r.between(0, 2000),
		money(districtsPerWarehouse*l.ytd())); err != nil {
		return err
	}
	for d := 1; d <= districtsPerWarehouse; d++ {
		if err := l.add("district", "%d,%d,%s,0.%04d,%s,%d", d, w, l.address(), r.between(0, 2000), money(l.ytd()),
			r.scale.customers+1); err != nil {
			return err
		}
	}
	return nil
}

// ytd is what a district has received, in cents: 10.00 of each customer.
func (l *loader) ytd() int64 { return 1000 * int64(l.random.scale.customers) }

func (l *loader) stock(w, first, last int) error {
	r := l.random
	for item := first; item <= last; item++ {
		districts := make([]string, districtsPerWarehouse)
		for i := range districts {
			districts[i] = "'" + r.alphanumeric(24, 24) + "'"
		}
		if err := l.add("stock", "%d,%d,%d,%s,0,0,0,'%s'", item, w, r.between(10, 100), strings.Join(districts, ","), r.data()); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) district(w, d int) error {
	r := l.random
	for id := 1; id <= r.scale.customers; id++ {
		name := r.lastName()
		if id <= r.scale.lastNames() {
			name = lastName(id - 1)
		}
		credit := "GC"
		if r.IntN(10) == 0 {
			credit = "BC"
		}
		if err := l.add("customer", "%d,%d,%d,'%s','OE','%s','%s','%s','%s','%s','%s','%s','%s','%s',50000.00,0.%04d,-10.00,10.00,1,0,'%s'",
			id, d, w, r.alphanumeric(8, 16), name, r.alphanumeric(10, 20), r.alphanumeric(10, 20), r.alphanumeric(10, 20),
			r.string(stateLetters, 2, 2), r.zip(), r.string(digits, 16, 16), l.now, credit, r.between(0, 5000),
			r.alphanumeric(300, 500)); err != nil {
			return err
		}
		if err := l.add("history", "%d,%d,%d,%d,%d,'%s',10.00,'%s'", id, d, w, d, w, l.now, r.alphanumeric(12, 24)); err != nil {
			return err
		}
	}
	for id, customer := range r.Perm(r.scale.customers) {
		if err := l.order(w, d, id+1, customer+1); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) order(w, d, id, customer int) error {
	r := l.random
	isDelivered := id <= r.scale.delivered()
	carrier, delivery := "NULL", "NULL"
	if isDelivered {
		carrier, delivery = fmt.Sprint(r.between(1, 10)), "'"+l.now+"'"
	}
	lines := r.between(5, 15)
	if err := l.add("orders", "%d,%d,%d,%d,'%s',%s,%d,1", id, d, w, customer, l.now, carrier, lines); err != nil {
		return err
	}
	for number := 1; number <= lines; number++ {
		amount := "0.00"
		if !isDelivered {
			amount = money(int64(r.between(1, 999_999)))
		}
		if err := l.add("order_line", "%d,%d,%d,%d,%d,%d,%s,5,%s,'%s'", id, d, w, number, r.between(1, r.scale.items), w, delivery,
			amount, r.alphanumeric(24, 24)); err != nil {
			return err
		}
	}
	if isDelivered {
		return nil
	}
	return l.add("new_order", "%d,%d,%d", id, d, w)
}

// tasks are the parts of the population, each of which has random values of its own: they do not depend on the order in
// which sessions execute them.
func tasks(s scale) []func(*loader) error {
	var all []func(*loader) error
	for first := 1; first <= s.items; first += rowsPerTask {
		last := min(first+rowsPerTask-1, s.items)
		all = append(all, func(l *loader) error { return l.items(first, last) })
		for w := 1; w <= s.warehouses; w++ {
			all = append(all, func(l *loader) error { return l.stock(w, first, last) })
		}
	}
	for w := 1; w <= s.warehouses; w++ {
		all = append(all, func(l *loader) error { return l.warehouse(w) })
		for d := 1; d <= districtsPerWarehouse; d++ {
			all = append(all, func(l *loader) error { return l.district(w, d) })
		}
	}
	return all
}

func load(s scale) error {
	began := time.Now()
	creator, err := open(addresses[0], "")
	if err != nil {
		return err
	}
	defer creator.close()
	statements := []string{"CREATE DATABASE " + database + " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "USE " + database}
	for _, statement := range append(statements, schema...) {
		if err := creator.text(statement); err != nil {
			return err
		}
	}
	now := began.UTC().Format(time.DateTime)
	waiting := make(chan int)
	all := tasks(s)
	count := min(runtime.NumCPU(), *connections)
	errors := make([]error, count)
	var group sync.WaitGroup
	for number := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			session, err := open(addresses[number%len(addresses)], database)
			if err == nil {
				defer session.close()
			}
			for task := range waiting {
				if err != nil {
					continue
				}
				l := &loader{session, newRandom(s, loadStream, task), now, map[string]*strings.Builder{}}
				if err = all[task](l); err == nil {
					err = l.finish()
				}
			}
			errors[number] = err
		}()
	}
	for task := range all {
		waiting <- task
	}
	close(waiting)
	group.Wait()
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	for _, table := range tables {
		if _, err := creator.textRows("ANALYZE TABLE " + table); err != nil {
			return err
		}
	}
	fmt.Printf("%d warehouses loaded in %.1f s\n", s.warehouses, time.Since(began).Seconds())
	return nil
}
