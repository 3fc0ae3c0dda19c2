package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

const (
	errorLockWaitTimeout = 1205
	errorDeadlock        = 1213
)

var background = context.Background()

// session is one connection of the driver, without the pool of database/sql. Statements with parameters are prepared
// once for each session.
type session struct {
	address    string
	connection driver.Conn
	statements map[string]driver.Stmt
}

// row holds the values of one row: int64 for integers, []byte for texts and decimals, nil for NULL.
type row []driver.Value

func open(address, database string, first ...string) (*session, error) {
	reached, err := options.Address(address)
	if err != nil {
		return nil, err
	}
	connector, err := reached.Connector(database, func(config *mysql.Config) {
		config.ParseTime = false
		config.ReadTimeout, config.WriteTimeout = *patience, *patience
	})
	if err != nil {
		return nil, err
	}
	connection, err := connector.Connect(background)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	s := &session{address, connection, map[string]driver.Stmt{}}
	for _, statement := range first {
		if err := s.text(statement); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *session) close() { s.connection.Close() }

// text executes a statement without parameters and rows, in the text protocol.
func (s *session) text(statement string) error {
	if _, err := s.connection.(driver.ExecerContext).ExecContext(background, statement, nil); err != nil {
		return fmt.Errorf("%s: %.80s: %w", s.address, statement, err)
	}
	return nil
}

func (s *session) prepared(statement string) (driver.Stmt, error) {
	if known, found := s.statements[statement]; found {
		return known, nil
	}
	made, err := s.connection.Prepare(statement)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", statement, err)
	}
	s.statements[statement] = made
	return made, nil
}

// change executes a statement that must change `count` rows.
func (s *session) change(count int64, statement string, arguments ...driver.Value) error {
	made, err := s.prepared(statement)
	if err != nil {
		return err
	}
	result, err := made.Exec(arguments)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	if changed, _ := result.RowsAffected(); changed != count {
		return fmt.Errorf("%d rows changed instead of %d: %s %v", changed, count, statement, arguments)
	}
	return nil
}

// rows returns all rows of a statement.
func (s *session) rows(statement string, arguments ...driver.Value) ([]row, error) {
	made, err := s.prepared(statement)
	if err != nil {
		return nil, err
	}
	answer, err := made.Query(arguments)
	return fetch(statement, answer, err)
}

// textRows is rows for a statement without parameters, in the text protocol.
func (s *session) textRows(statement string) ([]row, error) {
	answer, err := s.connection.(driver.QueryerContext).QueryContext(background, statement, nil)
	return fetch(statement, answer, err)
}

func fetch(statement string, answer driver.Rows, err error) ([]row, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	defer answer.Close()
	var all []row
	for {
		values := make(row, len(answer.Columns()))
		err := answer.Next(values)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
		for i, value := range values {
			// The driver uses the memory of a text again for the next packet.
			if text, isText := value.([]byte); isText {
				values[i] = append([]byte(nil), text...)
			}
		}
		all = append(all, values)
	}
}

// row returns the row of a statement that must have one.
func (s *session) row(statement string, arguments ...driver.Value) (row, error) {
	all, err := s.rows(statement, arguments...)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d rows instead of one: %s %v", len(all), statement, arguments)
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// integer returns a column; NULL is 0.
func (r row) integer(column int) int64 {
	switch value := r[column].(type) {
	case int64:
		return value
	case uint64:
		return int64(value)
	case []byte:
		number, err := strconv.ParseInt(string(value), 10, 64)
		if err == nil {
			return number
		}
	case nil:
		return 0
	}
	panic(fmt.Sprintf("column %d is no integer: %v", column, r[column]))
}

func (r row) text(column int) string {
	text, _ := r[column].([]byte)
	return string(text)
}

// decimal returns a column of `digits` decimals in units of the last one.
func (r row) decimal(column, digits int) int64 {
	text := r.text(column)
	var number int64
	behind, isBehind, isNegative := 0, false, false
	for _, letter := range text {
		switch {
		case letter == '-':
			isNegative = true
		case letter == '.':
			isBehind = true
		default:
			number = 10*number + int64(letter-'0')
			if isBehind {
				behind++
			}
		}
	}
	for ; behind < digits; behind++ {
		number *= 10
	}
	if isNegative {
		return -number
	}
	return number
}

// money writes cents as a decimal.
func money(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// errorNumber is 0 for an error that is not an answer of the server.
func errorNumber(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}
