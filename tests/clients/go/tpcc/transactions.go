package main

import (
	"errors"
	"fmt"
	"time"
)

// kind is one of the five transactions.
type kind int

const (
	newOrder kind = iota
	payment
	orderStatus
	delivery
	stockLevel
	kindCount
)

var kindNames = [kindCount]string{"New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"}

// remotePercent is the share of Payments for customers of another warehouse, and of New-Order lines supplied by one.
const (
	remotePaymentPercent = 15
	remoteLinePercent    = 1
	rollbackPercent      = 1
	byNamePercent        = 60
	unusedItem           = 0
)

// errUnusedItem ends the one New-Order in a hundred whose last item does not exist: the client rolls it back.
var errUnusedItem = errors.New("item number is not valid")

// terminal executes transactions of one warehouse and, for Stock-Level, one district.
type terminal struct {
	*session
	random              *random
	warehouse, district int
	// delivered is how many orders the last Delivery has delivered.
	delivered int
}

// transaction returns a transaction with its input: a retry executes the same one again.
func (t *terminal) transaction(k kind) func() error {
	switch k {
	case newOrder:
		return t.newOrder()
	case payment:
		return t.payment()
	case orderStatus:
		return t.orderStatus()
	case delivery:
		return t.delivery()
	default:
		return t.stockLevel()
	}
}

func (t *terminal) otherWarehouse() int {
	other := t.random.between(1, t.random.scale.warehouses-1)
	if other >= t.warehouse {
		other++
	}
	return other
}

func (t *terminal) isRemote(percent int) bool {
	return t.random.scale.warehouses > 1 && t.random.IntN(100) < percent
}

type line struct{ item, supplier, quantity int }

// stockStatements select the stock for a line of an order of each district (from 1).
var stockStatements = func() (made [districtsPerWarehouse + 1]string) {
	for d := range made {
		made[d] = fmt.Sprintf("SELECT s_quantity, s_dist_%02d, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE", d)
	}
	return made
}()

// newOrder is clause 2.4.
func (t *terminal) newOrder() func() error {
	r := t.random
	d, customer := int64(r.between(1, districtsPerWarehouse)), int64(r.customer())
	lines, allLocal := make([]line, r.between(5, 15)), int64(1)
	for i := range lines {
		lines[i] = line{r.item(), t.warehouse, r.between(1, 10)}
		if t.isRemote(remoteLinePercent) {
			lines[i].supplier, allLocal = t.otherWarehouse(), 0
		}
	}
	if r.IntN(100) < rollbackPercent {
		lines[len(lines)-1].item = unusedItem
	}
	w := int64(t.warehouse)
	return func() error {
		if _, err := t.row("SELECT w_tax FROM warehouse WHERE w_id = ?", w); err != nil {
			return err
		}
		district, err := t.row("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", w, d)
		if err != nil {
			return err
		}
		order := district.integer(1)
		if err := t.change(1, "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?", order+1, w, d); err != nil {
			return err
		}
		if _, err := t.row("SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
			w, d, customer); err != nil {
			return err
		}
		if err := t.change(1, "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) "+
			"VALUES (?, ?, ?, ?, ?, NULL, ?, ?)", order, d, w, customer, now(), int64(len(lines)), allLocal); err != nil {
			return err
		}
		if err := t.change(1, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", order, d, w); err != nil {
			return err
		}
		for number, line := range lines {
			if err := t.orderLine(order, d, int64(number+1), line); err != nil {
				return err
			}
		}
		return nil
	}
}

func (t *terminal) orderLine(order, d, number int64, line line) error {
	items, err := t.rows("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", int64(line.item))
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return errUnusedItem
	}
	w, supplier, quantity := int64(t.warehouse), int64(line.supplier), int64(line.quantity)
	stock, err := t.row(stockStatements[d], supplier, int64(line.item))
	if err != nil {
		return err
	}
	left, isRemote := stock.integer(0)-quantity, int64(0)
	if left < 10 {
		left += 91
	}
	if supplier != w {
		isRemote = 1
	}
	if err := t.change(1, "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, "+
		"s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?", left, quantity, isRemote, supplier, int64(line.item)); err != nil {
		return err
	}
	return t.change(1, "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, "+
		"ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)", order, d, w, number, int64(line.item),
		supplier, quantity, money(quantity*items[0].decimal(0, 2)), stock.text(1))
}

// anyCustomer selects a customer by last name (60 %) or number.
type anyCustomer struct {
	w, d, id int64
	name     string
}

func (t *terminal) anyCustomer(w, d int) anyCustomer {
	if t.random.IntN(100) < byNamePercent {
		return anyCustomer{int64(w), int64(d), 0, t.random.lastName()}
	}
	return anyCustomer{int64(w), int64(d), int64(t.random.customer()), ""}
}

// find returns the number of the customer: of those with a name the one in the middle by first name, rounded up.
func (c anyCustomer) find(t *terminal) (int64, error) {
	if c.name == "" {
		return c.id, nil
	}
	named, err := t.rows("SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
		c.w, c.d, c.name)
	if err == nil && len(named) == 0 {
		err = fmt.Errorf("no customer has the name %s", c.name)
	}
	if err != nil {
		return 0, err
	}
	return named[(len(named)-1)/2].integer(0), nil
}

// payment is clause 2.5.
func (t *terminal) payment() func() error {
	r := t.random
	d, amount := int64(r.between(1, districtsPerWarehouse)), money(int64(r.between(100, 500_000)))
	chosen := t.anyCustomer(t.warehouse, int(d))
	if t.isRemote(remotePaymentPercent) {
		chosen = t.anyCustomer(t.otherWarehouse(), r.between(1, districtsPerWarehouse))
	}
	w := int64(t.warehouse)
	return func() error {
		if err := t.change(1, "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", amount, w); err != nil {
			return err
		}
		warehouse, err := t.row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?", w)
		if err != nil {
			return err
		}
		if err := t.change(1, "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount, w, d); err != nil {
			return err
		}
		district, err := t.row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district "+
			"WHERE d_w_id = ? AND d_id = ?", w, d)
		if err != nil {
			return err
		}
		id, err := chosen.find(t)
		if err != nil {
			return err
		}
		customer, err := t.row("SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, "+
			"c_since, c_credit_lim, c_discount, c_balance, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? "+
			"FOR UPDATE", chosen.w, chosen.d, id)
		if err != nil {
			return err
		}
		if customer.text(13) == "BC" {
			err = t.payWithBadCredit(chosen, id, d, w, amount)
		} else {
			err = t.change(1, "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, "+
				"c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, amount, chosen.w, chosen.d, id)
		}
		if err != nil {
			return err
		}
		return t.change(1, "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)", id, chosen.d, chosen.w, d, w, now(), amount, warehouse.text(0)+"    "+district.text(0))
	}
}

// payWithBadCredit also writes the payment in front of c_data, which keeps 500 letters.
func (t *terminal) payWithBadCredit(chosen anyCustomer, id, d, w int64, amount string) error {
	// The snapshot of the transaction may be older than the lock of the customer.
	data, err := t.row("SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE", chosen.w, chosen.d, id)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d %d %d %d %d %s | %s", id, chosen.d, chosen.w, d, w, amount, data.text(0))
	return t.change(1, "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, "+
		"c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
		amount, amount, text[:min(len(text), 500)], chosen.w, chosen.d, id)
}

// orderStatus is clause 2.6.
func (t *terminal) orderStatus() func() error {
	chosen := t.anyCustomer(t.warehouse, t.random.between(1, districtsPerWarehouse))
	return func() error {
		id, err := chosen.find(t)
		if err != nil {
			return err
		}
		if _, err := t.row("SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
			chosen.w, chosen.d, id); err != nil {
			return err
		}
		order, err := t.row("SELECT o_id, o_entry_d, o_carrier_id, o_ol_cnt FROM orders WHERE o_w_id = ? AND o_d_id = ? "+
			"AND o_c_id = ? ORDER BY o_id DESC LIMIT 1", chosen.w, chosen.d, id)
		if err != nil {
			return err
		}
		lines, err := t.rows("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "+
			"WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", chosen.w, chosen.d, order.integer(0))
		if err == nil && int64(len(lines)) != order.integer(3) {
			err = fmt.Errorf("order %v has %d lines and o_ol_cnt %d", order[0], len(lines), order.integer(3))
		}
		return err
	}
}

// delivery is clause 2.7, all districts in one transaction.
func (t *terminal) delivery() func() error {
	w, carrier := int64(t.warehouse), int64(t.random.between(1, 10))
	return func() error {
		t.delivered = 0
		for d := int64(1); d <= districtsPerWarehouse; d++ {
			oldest, err := t.rows("SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE", w, d)
			if err != nil {
				return err
			}
			if len(oldest) == 0 {
				continue
			}
			if err := t.deliver(w, d, oldest[0].integer(0), carrier); err != nil {
				return err
			}
			t.delivered++
		}
		return nil
	}
}

func (t *terminal) deliver(w, d, order, carrier int64) error {
	if err := t.change(1, "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", w, d, order); err != nil {
		return err
	}
	// The snapshot of the transaction may be older than this order, which the locking read of new_order has found.
	found, err := t.row("SELECT o_c_id, o_ol_cnt FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE", w, d, order)
	if err != nil {
		return err
	}
	if err := t.change(1, "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", carrier, w, d, order); err != nil {
		return err
	}
	if err := t.change(found.integer(1), "UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
		now(), w, d, order); err != nil {
		return err
	}
	total, err := t.row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, order)
	if err != nil {
		return err
	}
	return t.change(1, "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 "+
		"WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", total.text(0), w, d, found.integer(0))
}

// stockLevel is clause 2.8.
func (t *terminal) stockLevel() func() error {
	w, d, threshold := int64(t.warehouse), int64(t.district), int64(t.random.between(10, 20))
	return func() error {
		district, err := t.row("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d)
		if err != nil {
			return err
		}
		next := district.integer(0)
		_, err = t.row("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? "+
			"AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?", w, d, next, next-20, w, threshold)
		return err
	}
}

func now() string { return time.Now().UTC().Format(time.DateTime) }
