package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sort"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

const (
	errorLockWaitTimeout = 1205
	errorDeadlock        = 1213
	errorInterrupted     = 1317
)

var background = context.Background()

// session is one connection of the driver, without the pool of database/sql: nothing is tried again behind the back of
// the judge, and a statement costs little more than its system calls.
type session struct {
	address    string
	connection driver.Conn
	wire       net.Conn
	statements map[string]driver.Stmt
	// id is the server's number of the connection, set by learnId.
	id int64
	// said is what the driver told of a broken connection, such as the timeout that its errors do not name.
	said string
}

// Print makes the session its driver's log.
func (s *session) Print(values ...any) { s.said = strings.TrimSpace(fmt.Sprintln(values...)) }

// explained adds what is known of a broken connection.
func (s *session) explained(err error) error {
	if errors.Is(err, mysql.ErrInvalidConn) && s.said != "" {
		return fmt.Errorf("%w (%s)", err, s.said)
	}
	return err
}

// open connects and says what is to be said first, such as SET SESSION ... . The database may be empty.
func open(address, database string, first ...string) (*session, error) {
	return openWith(address, database, func(*mysql.Config) {}, first...)
}

func openWith(address, database string, change func(*mysql.Config), first ...string) (*session, error) {
	s := &session{address: address, statements: map[string]driver.Stmt{}}
	reached, err := options.Address(address)
	if err != nil {
		return nil, err
	}
	connector, err := reached.Connector(database, func(config *mysql.Config) {
		config.InterpolateParams = *text
		config.ReadTimeout, config.WriteTimeout = *patience, *patience
		// So that a lock that is never free is told as that, and not as a server that does not answer.
		config.Params["innodb_lock_wait_timeout"] = strconv.Itoa(max(int(patience.Seconds()/2), 1))
		config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			var dialer net.Dialer
			var err error
			s.wire, err = dialer.DialContext(ctx, network, address)
			return s.wire, err
		}
		config.Logger = s
		change(config)
	})
	if err != nil {
		return nil, err
	}
	if s.connection, err = connector.Connect(background); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	for _, statement := range first {
		if _, err := s.exec(statement); err != nil {
			s.close()
			return nil, fmt.Errorf("%s: %s: %w", address, statement, err)
		}
	}
	return s, nil
}

// openAll spreads sessions over all addresses.
func openAll(count int, database string, first ...string) ([]*session, error) {
	all := make([]*session, 0, count)
	for number := range count {
		s, err := open(addresses[number%len(addresses)], database, first...)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func closeAll(all []*session) {
	for _, s := range all {
		s.close()
	}
}

// close takes leave with COM_QUIT.
func (s *session) close() { s.connection.Close() }

// cut closes the connection without a word, as when a client dies.
func (s *session) cut() { s.wire.Close() }

func (s *session) learnId() error {
	row, err := s.queryRow("SELECT CONNECTION_ID()")
	if err == nil {
		s.id = row[0]
	}
	return err
}

func (s *session) prepared(statement string) (driver.Stmt, error) {
	if known, found := s.statements[statement]; found {
		return known, nil
	}
	made, err := s.connection.Prepare(statement)
	if err == nil {
		s.statements[statement] = made
	}
	return made, err
}

// exec executes a statement without rows. One without parameters goes as text, one with them as -text says.
func (s *session) exec(statement string, arguments ...driver.Value) (driver.Result, error) {
	if len(arguments) == 0 || *text {
		result, err := s.connection.(driver.ExecerContext).ExecContext(background, statement, named(arguments))
		return result, s.explained(err)
	}
	made, err := s.prepared(statement)
	if err != nil {
		return nil, s.explained(err)
	}
	result, err := made.Exec(arguments)
	return result, s.explained(err)
}

// change is exec for statements that must change so many rows.
func (s *session) change(count int64, statement string, arguments ...driver.Value) error {
	result, err := s.exec(statement, arguments...)
	if err != nil {
		return err
	}
	if changed, _ := result.RowsAffected(); changed != count {
		return fmt.Errorf("%d rows changed, not %d: %s %v", changed, count, statement, arguments)
	}
	return nil
}

// query returns the rows of integers that a statement selects; NULL counts as 0, as the sum of no rows should.
func (s *session) query(statement string, arguments ...driver.Value) ([][]int64, error) {
	rows, err := s.rows(statement, arguments)
	if err != nil {
		return nil, s.explained(err)
	}
	defer rows.Close()
	var all [][]int64
	values := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(values)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, s.explained(err)
		}
		row := make([]int64, len(values))
		for i, value := range values {
			if row[i], err = integer(value); err != nil {
				return nil, fmt.Errorf("%s: %w", statement, err)
			}
		}
		all = append(all, row)
	}
}

func (s *session) rows(statement string, arguments []driver.Value) (driver.Rows, error) {
	if *text {
		return s.connection.(driver.QueryerContext).QueryContext(background, statement, named(arguments))
	}
	made, err := s.prepared(statement)
	if err != nil {
		return nil, err
	}
	return made.Query(arguments)
}

// queryRow is query for statements that select one row.
func (s *session) queryRow(statement string, arguments ...driver.Value) ([]int64, error) {
	rows, err := s.query(statement, arguments...)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("%d rows, not one: %s %v", len(rows), statement, arguments)
	}
	return rows[0], nil
}

func named(values []driver.Value) []driver.NamedValue {
	if len(values) == 0 {
		return nil
	}
	all := make([]driver.NamedValue, len(values))
	for i, value := range values {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
	}
	return all
}

func integer(value driver.Value) (int64, error) {
	switch value := value.(type) {
	case nil:
		return 0, nil
	case int64:
		return value, nil
	case uint64:
		return int64(value), nil
	case []byte:
		return strconv.ParseInt(string(value), 10, 64)
	}
	return 0, fmt.Errorf("%v is a %T, not an integer", value, value)
}

// errorNumber is 0 for what is not an answer of the server.
func errorNumber(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}

// retry executes a transaction until it is not refused for want of a lock; after a refusal it is rolled back.
func (j *judge) retry(s *session, transaction func() error) error {
	for {
		err := transaction()
		number := errorNumber(err)
		if number != errorDeadlock && number != errorLockWaitTimeout {
			return err
		}
		j.mutex.Lock()
		j.refusals[number]++
		j.mutex.Unlock()
		// A deadlock has ended the transaction already, a timeout only the statement.
		if _, err := s.exec("ROLLBACK"); err != nil {
			return fmt.Errorf("rollback after error %d: %w", number, err)
		}
	}
}

// refusedText tells how often which error was answered by trying again.
func (j *judge) refusedText() string {
	if len(j.refusals) == 0 {
		return "no errors"
	}
	numbers := make([]int, 0, len(j.refusals))
	for number := range j.refusals {
		numbers = append(numbers, int(number))
	}
	sort.Ints(numbers)
	parts := make([]string, 0, len(numbers))
	for _, number := range numbers {
		parts = append(parts, fmt.Sprintf("error %d %d times", number, j.refusals[uint16(number)]))
	}
	return strings.Join(parts, ", ")
}
