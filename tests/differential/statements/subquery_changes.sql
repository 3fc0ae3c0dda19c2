-- Subqueries in UPDATE, DELETE, INSERT and REPLACE.

-- UPDATE: in SET.
UPDATE customers SET credit = (SELECT MAX(total) FROM orders) WHERE id = 4;
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = (SELECT SUM(total) FROM orders WHERE orders.customer_id = customers.id);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers c SET c.credit = COALESCE((SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id), 0) + 1;
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET city = (SELECT name FROM categories WHERE categories.id = customers.id), credit = (SELECT COUNT(*) FROM numbers WHERE n < customers.id);
SELECT id, city, credit FROM customers ORDER BY id;
UPDATE orders SET total = total + (SELECT AVG(n) FROM numbers) WHERE total < 50;
SELECT id, total FROM orders ORDER BY id;
UPDATE orders SET total = (SELECT SUM(quantity * price) FROM items WHERE order_id = orders.id) WHERE id IN (SELECT order_id FROM items);
SELECT id, total FROM orders ORDER BY id;
UPDATE orders SET total = (SELECT a FROM nothing) WHERE id = 100;
SELECT id, total FROM orders WHERE id = 100;
UPDATE orders SET status = (SELECT LEFT(name, 4) FROM customers WHERE customers.id = orders.customer_id) WHERE customer_id IN (SELECT id FROM customers);
SELECT id, status FROM orders ORDER BY id;
UPDATE products SET stock = IF(EXISTS (SELECT 1 FROM items WHERE product_id = products.id), stock, 0);
SELECT id, stock FROM products ORDER BY id;
UPDATE products SET price = CASE WHEN (SELECT COUNT(*) FROM items WHERE product_id = products.id) > 2 THEN price * 2 ELSE price END;
SELECT id, price FROM products ORDER BY id;
UPDATE lone SET a = (SELECT MAX(n) FROM numbers), name = (SELECT name FROM customers WHERE id = lone.id);
SELECT * FROM lone;
UPDATE lone SET a = (SELECT n FROM numbers ORDER BY n DESC LIMIT 1 OFFSET 2);
SELECT * FROM lone;
UPDATE pairs SET w = (SELECT weight FROM edges WHERE src = x AND dst = y);
SELECT x, y, w FROM pairs ORDER BY x, y;
UPDATE gaps SET a = (SELECT MIN(n) FROM numbers WHERE n > gaps.id) WHERE a IS NULL;
SELECT id, a FROM gaps ORDER BY id;

-- UPDATE: in WHERE, ORDER BY.
-- reload
UPDATE customers SET credit = 0 WHERE id IN (SELECT customer_id FROM orders WHERE status = 'open');
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 1 WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 2 WHERE id NOT IN (SELECT customer_id FROM orders);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 3 WHERE EXISTS (SELECT 1 FROM orders WHERE customer_id = customers.id AND total > 100);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers c SET c.credit = 4 WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 5 WHERE id = (SELECT MAX(customer_id) FROM orders WHERE customer_id < 10);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 6 WHERE id > ALL (SELECT n FROM numbers WHERE n < 6);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 7 WHERE (id, name) IN (SELECT id, name FROM lone UNION SELECT 2, 'bo');
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers c SET credit = 8 WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) > 1;
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 9 WHERE id IN (SELECT d.k FROM (SELECT customer_id AS k, COUNT(*) AS n FROM orders GROUP BY customer_id) d WHERE d.n = 1);
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 10 WHERE id IN (SELECT customer_id FROM orders WHERE id IN (SELECT order_id FROM items WHERE quantity > 5));
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers SET credit = 11 WHERE credit > (SELECT id FROM nothing);
SELECT id, credit FROM customers ORDER BY id;
UPDATE items SET discount = 0.5 WHERE product_id IN (SELECT id FROM products WHERE category_id IN (SELECT id FROM categories WHERE parent_id = 1));
SELECT order_id, line, discount FROM items ORDER BY order_id, line;
UPDATE items SET quantity = quantity + 1 WHERE order_id IN (SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'oslo')) AND price > (SELECT AVG(price) FROM products);
SELECT order_id, line, quantity FROM items ORDER BY order_id, line;
UPDATE customers SET credit = 12 WHERE id IN (SELECT m.id FROM (SELECT MIN(id) AS id FROM customers GROUP BY city) m);
SELECT COUNT(*) FROM customers WHERE credit = 12;
UPDATE employees SET salary = salary + 1 WHERE salary < (SELECT d.m FROM (SELECT AVG(salary) AS m FROM employees) d);
SELECT id, salary FROM employees ORDER BY id;

-- DELETE.
-- reload
DELETE FROM orders WHERE customer_id NOT IN (SELECT id FROM customers);
SELECT id FROM orders ORDER BY id;
DELETE FROM orders WHERE NOT EXISTS (SELECT 1 FROM items WHERE order_id = orders.id);
SELECT id FROM orders ORDER BY id;
DELETE FROM orders WHERE total = (SELECT MIN(price) * 2 FROM products WHERE price > 9.5 AND price < 11);
SELECT id FROM orders ORDER BY id;
DELETE FROM orders WHERE (SELECT COUNT(*) FROM items WHERE order_id = orders.id) > 2;
SELECT id FROM orders ORDER BY id;
DELETE FROM items WHERE order_id NOT IN (SELECT id FROM orders);
SELECT order_id, line FROM items ORDER BY order_id, line;
DELETE FROM items WHERE (order_id, line) IN (SELECT 100, 1 UNION SELECT 109, 2);
SELECT order_id, line FROM items ORDER BY order_id, line;
DELETE FROM products WHERE price > ALL (SELECT price FROM items);
SELECT id FROM products ORDER BY id;
DELETE FROM products WHERE id = ANY (SELECT product_id FROM items) AND stock < (SELECT SUM(n) FROM numbers);
SELECT id FROM products ORDER BY id;
DELETE FROM customers WHERE id IN (SELECT referrer_id FROM (SELECT referrer_id FROM customers GROUP BY referrer_id HAVING COUNT(*) > 1) d);
SELECT id FROM customers ORDER BY id;
DELETE FROM customers WHERE credit < (SELECT AVG(total) FROM orders) ORDER BY id DESC LIMIT 1;
SELECT id FROM customers ORDER BY id;
DELETE FROM numbers WHERE n IN (SELECT a FROM gaps) OR n > (SELECT MAX(b) * 3 FROM gaps);
SELECT n FROM numbers ORDER BY n;
DELETE FROM numbers WHERE n > (SELECT a FROM nothing);
SELECT COUNT(*) FROM numbers;
DELETE FROM numbers WHERE EXISTS (SELECT 1 FROM lone);
SELECT COUNT(*) FROM numbers;
DELETE FROM categories WHERE id NOT IN (SELECT category_id FROM products WHERE category_id IS NOT NULL) AND id IN (SELECT d.id FROM (SELECT DISTINCT k.id FROM categories k LEFT JOIN categories s ON s.parent_id = k.id WHERE s.id IS NULL) d);
SELECT id FROM categories ORDER BY id;

-- Several tables.
-- reload
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = (SELECT MAX(n) FROM numbers) WHERE o.id IN (SELECT order_id FROM items WHERE line = 3);
SELECT id, credit FROM customers ORDER BY id;
UPDATE orders o JOIN customers c ON c.id = o.customer_id SET o.total = (SELECT SUM(i.quantity) FROM items i WHERE i.order_id = o.id) WHERE c.city = 'Oslo';
SELECT id, total FROM orders ORDER BY id;
DELETE o FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.credit >= (SELECT AVG(price) FROM products) AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id);
SELECT id FROM orders ORDER BY id;

-- INSERT and REPLACE: in VALUES, SET, SELECT, ON DUPLICATE KEY UPDATE.
-- reload
INSERT INTO nothing VALUES (1, (SELECT MAX(n) FROM numbers), (SELECT name FROM customers WHERE id = 1));
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing (id, a) VALUES ((SELECT COUNT(*) FROM customers), (SELECT id FROM customers WHERE FALSE)), (3, (SELECT 4) + 1);
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing SET id = (SELECT MAX(id) FROM orders), name = (SELECT status FROM orders WHERE id = 105);
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing (id, a) SELECT id + 30, (SELECT COUNT(*) FROM orders WHERE customer_id = customers.id) FROM customers WHERE id IN (SELECT referrer_id FROM customers) AND id > 1;
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing (id, a) SELECT id + 50, id FROM orders o WHERE total = (SELECT MAX(total) FROM orders p WHERE p.status = o.status);
SELECT * FROM nothing WHERE id > 149 ORDER BY id;
INSERT INTO nothing (id) SELECT MAX(id) + 1 FROM nothing;
SELECT COUNT(*), MAX(id) FROM nothing;
INSERT INTO nothing (id, name) SELECT 900, 'x' FROM lone WHERE NOT EXISTS (SELECT 1 FROM nothing WHERE id = 900);
INSERT INTO nothing (id, name) SELECT 900, 'x' FROM lone WHERE NOT EXISTS (SELECT 1 FROM nothing WHERE id = 900);
SELECT * FROM nothing WHERE id = 900;
INSERT INTO lone VALUES (1, 0, 'x') ON DUPLICATE KEY UPDATE a = (SELECT COUNT(*) FROM customers);
SELECT * FROM lone;
REPLACE INTO lone VALUES (1, (SELECT MIN(n) + 5 FROM numbers), (SELECT 'r'));
SELECT * FROM lone;

-- Errors; nothing changes.
-- reload
-- error 1242
UPDATE customers SET credit = (SELECT total FROM orders);
-- error 1242
UPDATE customers SET credit = (SELECT total FROM orders WHERE customer_id = customers.id);
-- error 1242
DELETE FROM customers WHERE id = (SELECT customer_id FROM orders);
-- error 1242
INSERT INTO nothing (id) VALUES ((SELECT id FROM customers));
-- error 1241
UPDATE customers SET credit = (SELECT id, total FROM orders);
-- error 1241
DELETE FROM customers WHERE id IN (SELECT id, total FROM orders);
-- error 1241
INSERT INTO nothing (id) VALUES ((SELECT 1, 2));
-- error 1048
UPDATE customers SET name = (SELECT name FROM nothing);
-- error 1048
INSERT INTO nothing (id) VALUES ((SELECT id FROM lone WHERE FALSE));
-- error 1093, reference 1048
INSERT INTO nothing (id) VALUES ((SELECT id FROM nothing));
-- error 1054
UPDATE customers SET credit = (SELECT absent FROM orders);
-- error 1054
DELETE FROM customers WHERE id IN (SELECT absent FROM orders);
-- error 1054
UPDATE customers SET credit = 1 WHERE id IN (SELECT customer_id FROM orders WHERE orders.id = c.id);
-- error 1054
INSERT INTO nothing (id) VALUES ((SELECT absent FROM customers));
-- error 1146
DELETE FROM customers WHERE id IN (SELECT id FROM absent);
-- error 1146
UPDATE customers SET credit = (SELECT MAX(id) FROM absent);
-- error 1235
DELETE FROM customers WHERE id IN (SELECT customer_id FROM orders LIMIT 1);
-- error 1264
UPDATE lone SET a = (SELECT 99999999999);
-- error 1366
UPDATE lone SET a = (SELECT name FROM customers WHERE id = 1);
-- error 1093, reference 0
UPDATE customers SET credit = 1 WHERE id IN (SELECT referrer_id FROM customers WHERE id = -1);
-- error 1093, reference 0
DELETE FROM customers WHERE id IN (SELECT referrer_id FROM customers WHERE id = -1);
-- error 1093, reference 0
UPDATE lone SET a = (SELECT MAX(a) FROM lone);
SELECT COUNT(*), SUM(credit), SUM(id) FROM customers;
SELECT COUNT(*) FROM nothing;
SELECT * FROM lone;
