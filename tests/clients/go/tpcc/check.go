package main

import (
	"fmt"
	"strings"
	"time"
)

const violationsShown = 3

// condition is one of clause 3.3.2, as a query for the rows that violate it.
type condition struct {
	number int
	name   string
	query  string
}

const (
	deliveredByCustomer = `(SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS total FROM orders JOIN order_line
		ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL
		GROUP BY o_w_id, o_d_id, o_c_id) AS delivered ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id`
	paidByCustomer = `(SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS amount FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id)
		AS paid ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id`
)

func conditions(s scale) []condition {
	return []condition{
		{1, "w_ytd is the sum of d_ytd", `SELECT w_id, w_ytd, total FROM warehouse LEFT JOIN
			(SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) AS districts ON d_w_id = w_id
			WHERE NOT w_ytd <=> total`},
		{2, "d_next_o_id - 1 is the largest o_id and no_o_id", `SELECT d_w_id, d_id, d_next_o_id, last_order, last_new FROM district
			LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS o
			ON o_w_id = d_w_id AND o_d_id = d_id
			LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) AS n
			ON no_w_id = d_w_id AND no_d_id = d_id
			WHERE NOT d_next_o_id - 1 <=> last_order OR last_new <> last_order`},
		{3, "no_o_id has no gaps", `SELECT no_w_id, no_d_id, MAX(no_o_id), MIN(no_o_id), COUNT(*) FROM new_order
			GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)`},
		{4, "the sum of o_ol_cnt is the number of lines", `SELECT o_w_id, o_d_id, expected, found FROM
			(SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS expected FROM orders GROUP BY o_w_id, o_d_id) AS o LEFT JOIN
			(SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) AS l
			ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE NOT expected <=> found`},
		{5, "an order without a carrier, and no other, is in new_order", `SELECT o_w_id, o_d_id, o_id, o_carrier_id FROM orders
			LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
			WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) UNION ALL
			SELECT no_w_id, no_d_id, no_o_id, NULL FROM new_order
			LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_id IS NULL`},
		{6, "o_ol_cnt is the number of lines of the order", `SELECT o_w_id, o_d_id, o_id, o_ol_cnt, found FROM orders LEFT JOIN
			(SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
			ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE NOT o_ol_cnt <=> found`},
		{7, "lines of orders without a carrier, and no others, have no ol_delivery_d", `SELECT ol_w_id, ol_d_id, ol_o_id, ol_number
			FROM order_line LEFT JOIN orders ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
			WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)`},
		{8, "w_ytd is the sum of h_amount", `SELECT w_id, w_ytd, total FROM warehouse LEFT JOIN
			(SELECT h_w_id, SUM(h_amount) AS total FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id WHERE NOT w_ytd <=> total`},
		{9, "d_ytd is the sum of h_amount", `SELECT d_w_id, d_id, d_ytd, total FROM district LEFT JOIN
			(SELECT h_w_id, h_d_id, SUM(h_amount) AS total FROM history GROUP BY h_w_id, h_d_id) AS h
			ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT d_ytd <=> total`},
		{10, "c_balance is the sum of delivered ol_amount less the sum of h_amount", `SELECT c_w_id, c_d_id, c_id, c_balance, total, amount
			FROM customer LEFT JOIN ` + deliveredByCustomer + ` LEFT JOIN ` + paidByCustomer + `
			WHERE c_balance <> COALESCE(total, 0) - COALESCE(amount, 0)`},
		{11, "orders without those in new_order are those delivered", fmt.Sprintf(`SELECT o_w_id, o_d_id, order_count, new_count, delivered
			FROM (SELECT o_w_id, o_d_id, COUNT(*) AS order_count FROM orders GROUP BY o_w_id, o_d_id) AS o LEFT JOIN
			(SELECT no_w_id, no_d_id, COUNT(*) AS new_count FROM new_order GROUP BY no_w_id, no_d_id) AS n
			ON no_w_id = o_w_id AND no_d_id = o_d_id LEFT JOIN
			(SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS delivered FROM customer GROUP BY c_w_id, c_d_id) AS c
			ON c_w_id = o_w_id AND c_d_id = o_d_id WHERE NOT order_count - COALESCE(new_count, 0) <=> %d + delivered`, s.delivered())},
		{12, "c_balance + c_ytd_payment is the sum of delivered ol_amount", `SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, total
			FROM customer LEFT JOIN ` + deliveredByCustomer + ` WHERE c_balance + c_ytd_payment <> COALESCE(total, 0)`},
	}
}

// check prints a line for each violated condition of each address, and the closing line.
func check(s scale) error {
	passed, failed := 0, 0
	var slowest time.Duration
	var slowestNumber int
	for _, address := range addresses {
		session, err := open(address, database)
		if err != nil {
			return err
		}
		defer session.close()
		for _, condition := range conditions(s) {
			began := time.Now()
			violations, err := session.rows(condition.query)
			if took := time.Since(began); took > slowest {
				slowest, slowestNumber = took, condition.number
			}
			if err == nil && len(violations) == 0 {
				passed++
				continue
			}
			failed++
			fmt.Printf("FAILED condition %d, %s, at %s: ", condition.number, condition.name, address)
			if err != nil {
				fmt.Println(err)
				continue
			}
			shown := make([]string, 0, violationsShown)
			for _, violation := range violations[:min(len(violations), violationsShown)] {
				shown = append(shown, violation.String())
			}
			fmt.Printf("%d rows, %s\n", len(violations), strings.Join(shown, ", "))
		}
	}
	fmt.Printf("slowest: condition %d in %.1f s\n", slowestNumber, slowest.Seconds())
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d conditions are violated", failed)
	}
	return nil
}

func (r row) String() string {
	parts := make([]string, len(r))
	for i, value := range r {
		if text, isText := value.([]byte); isText {
			value = string(text)
		}
		parts[i] = fmt.Sprint(value)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
