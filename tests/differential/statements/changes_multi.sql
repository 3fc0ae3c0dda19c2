-- UPDATE and DELETE of several tables; INSERT and REPLACE from SELECT; ON DUPLICATE KEY UPDATE.

-- UPDATE of one table that joins others.
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = 1 WHERE o.status = 'open';
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers c, orders o SET c.city = 'Molde' WHERE o.customer_id = c.id AND o.total > 100;
SELECT id, city FROM customers ORDER BY id;
UPDATE orders o LEFT JOIN items i ON i.order_id = o.id SET o.status = 'bare' WHERE i.order_id IS NULL;
SELECT id, status FROM orders ORDER BY id;
UPDATE orders o LEFT JOIN customers c ON c.id = o.customer_id SET o.customer_id = NULL WHERE c.id IS NULL;
SELECT id, customer_id FROM orders ORDER BY id;
UPDATE items i JOIN products p ON p.id = i.product_id SET i.price = p.price WHERE p.price IS NOT NULL;
SELECT order_id, line, price FROM items ORDER BY order_id, line;
UPDATE products p JOIN (SELECT product_id, SUM(quantity) AS q FROM items GROUP BY product_id) d ON d.product_id = p.id SET p.stock = p.stock - d.q;
SELECT id, stock FROM products ORDER BY id;
UPDATE employees e JOIN employees m ON m.id = e.manager_id SET e.salary = m.salary - 1 WHERE e.salary IS NULL;
SELECT id, salary FROM employees ORDER BY id;
UPDATE employees e JOIN employees m ON m.id = e.manager_id SET e.dept = m.dept WHERE e.dept IS NULL;
SELECT id, dept FROM employees ORDER BY id;
UPDATE customers c JOIN lone l ON l.id = c.id SET c.name = l.name, c.credit = l.a;
SELECT id, name, credit FROM customers ORDER BY id;
UPDATE customers c JOIN nothing x ON x.id = c.id SET c.name = 'gone';
SELECT COUNT(*) FROM customers WHERE name = 'gone';
UPDATE customers c LEFT JOIN nothing x ON x.id = c.id SET c.referrer_id = x.a WHERE c.id < 4;
SELECT id, referrer_id FROM customers ORDER BY id;
UPDATE pairs p JOIN pairs q ON q.x = p.y AND q.y = p.x SET p.w = q.w + 100 WHERE p.x < p.y;
SELECT x, y, w FROM pairs ORDER BY x, y;
UPDATE pairs p JOIN edges e ON (e.src, e.dst) = (p.x, p.y) SET p.v = CONCAT('e', e.weight);
SELECT x, y, v FROM pairs ORDER BY x, y;
UPDATE gaps g JOIN numbers n ON n.n = g.a SET g.b = n.n * 10;
SELECT id, a, b FROM gaps ORDER BY id;
UPDATE gaps g CROSS JOIN lone l SET g.d = l.a WHERE g.d IS NULL;
SELECT id, d FROM gaps ORDER BY id;
UPDATE customers c NATURAL JOIN lone SET c.city = 'natural';
SELECT id, city FROM customers ORDER BY id;
UPDATE customers c JOIN lone USING (id) SET c.city = 'using';
SELECT id, city FROM customers ORDER BY id;
UPDATE customers c STRAIGHT_JOIN lone l ON l.id = c.id SET c.city = 'straight';
SELECT id, city FROM customers ORDER BY id;

-- A row that several rows match changes once.
-- reload
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = c.credit + 1;
SELECT id, credit FROM customers ORDER BY id;
UPDATE lone l, numbers n SET l.a = l.a + 1;
SELECT * FROM lone;
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = c.credit;
SELECT id, credit FROM customers ORDER BY id;

-- Several tables change at once.
-- reload
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.city = 'Both', o.status = 'both' WHERE c.id = 3;
SELECT id, city FROM customers ORDER BY id;
SELECT id, status FROM orders ORDER BY id;
UPDATE customers c, lone l SET c.credit = 5, l.a = 6 WHERE c.id = l.id;
SELECT id, credit FROM customers ORDER BY id;
SELECT * FROM lone;
UPDATE orders o LEFT JOIN items i ON i.order_id = o.id SET o.total = 0, i.quantity = i.quantity + 1 WHERE o.id IN (100, 106);
SELECT id, total FROM orders WHERE id IN (100, 106) ORDER BY id;
SELECT order_id, line, quantity FROM items WHERE order_id = 100 ORDER BY line;
UPDATE customers c, orders o, items i SET c.credit = 9, o.total = 9, i.price = 9 WHERE o.customer_id = c.id AND i.order_id = o.id AND i.line = 2;
SELECT id, credit FROM customers WHERE credit = 9 ORDER BY id;
SELECT id, total FROM orders WHERE total = 9 ORDER BY id;
SELECT order_id, line FROM items WHERE price = 9 ORDER BY order_id, line;
UPDATE products p JOIN categories k ON k.id = p.category_id SET p.stock = p.stock + 1, k.name = CONCAT(k.id, 'k');
SELECT id, stock FROM products ORDER BY id;
SELECT id, name FROM categories ORDER BY id;

-- DELETE from one of several tables, in both spellings.
-- reload
DELETE o FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = 'Oslo';
SELECT id FROM orders ORDER BY id;
DELETE FROM o USING orders o JOIN customers c ON c.id = o.customer_id WHERE c.id = 7;
SELECT id FROM orders ORDER BY id;
DELETE orders FROM orders LEFT JOIN customers ON customers.id = orders.customer_id WHERE customers.id IS NULL;
SELECT id FROM orders ORDER BY id;
DELETE FROM items USING items LEFT JOIN orders ON orders.id = items.order_id WHERE orders.id IS NULL;
SELECT order_id, line FROM items ORDER BY order_id, line;
DELETE i FROM items i, products p WHERE p.id = i.product_id AND p.stock > 100;
SELECT order_id, line FROM items ORDER BY order_id, line;
DELETE a FROM customers a JOIN customers b ON a.name = b.name AND a.id > b.id;
SELECT id, name FROM customers ORDER BY id;
DELETE e FROM employees e LEFT JOIN employees m ON m.id = e.manager_id WHERE m.id IS NULL AND e.manager_id IS NOT NULL;
SELECT id FROM employees ORDER BY id;
DELETE c FROM customers c JOIN nothing x ON x.id = c.id;
SELECT COUNT(*) FROM customers;
DELETE c FROM customers c LEFT JOIN nothing x ON x.id = c.id WHERE c.credit IS NULL;
SELECT id FROM customers ORDER BY id;
DELETE p FROM pairs p JOIN (SELECT x, MAX(y) AS m FROM pairs GROUP BY x) d ON d.x = p.x AND d.m = p.y;
SELECT x, y FROM pairs ORDER BY x, y;
DELETE numbers FROM numbers JOIN gaps ON gaps.a = numbers.n;
SELECT n FROM numbers ORDER BY n;
DELETE n.* FROM numbers n JOIN lone l ON n.n = l.a;
SELECT n FROM numbers ORDER BY n;
DELETE e FROM edges e CROSS JOIN lone WHERE e.weight > lone.a;
SELECT src, dst FROM edges ORDER BY src, dst;

-- DELETE from several tables.
-- reload
DELETE c, o FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = 3;
SELECT id FROM customers ORDER BY id;
SELECT id FROM orders ORDER BY id;
DELETE FROM o, i USING orders o JOIN items i ON i.order_id = o.id WHERE o.id < 102;
SELECT id FROM orders ORDER BY id;
SELECT order_id, line FROM items ORDER BY order_id, line;
DELETE c, o FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.id > 3;
SELECT id FROM customers ORDER BY id;
SELECT id FROM orders ORDER BY id;
DELETE a, b FROM numbers a, pairs b WHERE a.n = b.x AND b.y = 1;
SELECT n FROM numbers ORDER BY n;
SELECT x, y FROM pairs ORDER BY x, y;
DELETE l, x FROM lone l LEFT JOIN nothing x ON x.id = l.id;
SELECT COUNT(*) FROM lone;

-- INSERT ... SELECT.
-- reload
INSERT INTO nothing SELECT id, id * 2, name FROM customers WHERE id < 4;
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing (id, name) SELECT id, name FROM employees WHERE id > 10;
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing (name, id) SELECT DISTINCT status, customer_id + 100 FROM orders WHERE customer_id = 2;
SELECT * FROM nothing ORDER BY id;
INSERT INTO nothing (id, a) SELECT id + 200 AS k, COUNT(*) FROM products GROUP BY k HAVING k > 205;
SELECT * FROM nothing WHERE id > 200 ORDER BY id;
INSERT INTO nothing (id, a) SELECT c.id + 300, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id;
SELECT * FROM nothing WHERE id > 300 ORDER BY id;
INSERT INTO nothing (id) SELECT id + 1000 FROM nothing WHERE id > 300;
SELECT id FROM nothing WHERE id > 1000 ORDER BY id;
INSERT INTO nothing (id, a) SELECT n + 2000, ROW_NUMBER() OVER (ORDER BY n DESC) FROM numbers;
SELECT id, a FROM nothing WHERE id > 2000 ORDER BY id;
INSERT INTO nothing (id) SELECT 3001 UNION SELECT 3002 UNION SELECT 3001;
SELECT id FROM nothing WHERE id > 3000 ORDER BY id;
INSERT INTO nothing (id, a) SELECT d.k + 4000, d.n FROM (SELECT customer_id AS k, COUNT(*) AS n FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id) d;
SELECT id, a FROM nothing WHERE id > 4000 ORDER BY id;
INSERT INTO nothing (id) WITH RECURSIVE c (k) AS (SELECT 5001 UNION ALL SELECT k + 1 FROM c WHERE k < 5005) SELECT k FROM c;
SELECT id FROM nothing WHERE id > 5000 ORDER BY id;
INSERT INTO nothing (id) SELECT id FROM customers WHERE FALSE;
INSERT INTO nothing (id) SELECT id FROM orders ORDER BY id DESC LIMIT 2;
SELECT id FROM nothing WHERE id BETWEEN 100 AND 200 ORDER BY id;
INSERT INTO counters (code, hits) SELECT CONCAT('n', n), n FROM numbers WHERE n < 4 ORDER BY n;
SELECT code, hits, note FROM counters ORDER BY code;
INSERT INTO counters (code) SELECT LEFT(name, 5) FROM products WHERE id < 4 ORDER BY id;
SELECT code, hits, note FROM counters ORDER BY code;
-- error 1062
INSERT INTO nothing (id) SELECT id FROM customers;
-- error 1062
INSERT INTO nothing (id) SELECT 9001 UNION ALL SELECT 9001;
SELECT COUNT(*) FROM nothing WHERE id = 9001;
-- error 1062
INSERT INTO counters (code) SELECT 'A';
INSERT IGNORE INTO nothing (id, a) SELECT id, -1 FROM customers;
SELECT id, a FROM nothing WHERE id < 10 ORDER BY id;
-- error 1048
INSERT INTO nothing (id) SELECT customer_id FROM orders WHERE customer_id IS NULL;
-- error 1136
INSERT INTO nothing SELECT id FROM customers;
-- error 1136
INSERT INTO nothing (id) SELECT id, name FROM customers;
-- error 1054
INSERT INTO nothing (id, absent) SELECT id, name FROM customers;
-- error 1054
INSERT INTO nothing (id) SELECT absent FROM customers;
-- error 1110
INSERT INTO nothing (id, id) SELECT id, id FROM customers;
-- error 1146
INSERT INTO nothing (id) SELECT id FROM absent;
-- error 1146
INSERT INTO absent SELECT * FROM lone;
-- error 1406
INSERT INTO nothing (id, name) SELECT 9100, REPEAT('x', 21);
-- error 1264
INSERT INTO nothing (id) SELECT 99999999999;
-- error 1366
INSERT INTO nothing (id, a) SELECT 9101, 'text';
-- error 1366
INSERT INTO nothing (id, a) SELECT 9102, name FROM customers WHERE id = 1;
-- error 1364
INSERT INTO nothing (a) SELECT 1;

-- ON DUPLICATE KEY UPDATE: with VALUES, with SELECT, through a unique key.
-- reload
INSERT INTO counters (code, hits) VALUES ('a', 1) ON DUPLICATE KEY UPDATE hits = hits + 1;
SELECT * FROM counters ORDER BY id;
INSERT INTO counters (code, hits) VALUES ('A', 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits), note = 'again';
SELECT * FROM counters ORDER BY id;
INSERT INTO counters (code, hits) VALUES ('d', 1) ON DUPLICATE KEY UPDATE hits = 99;
SELECT code, hits, note FROM counters ORDER BY code;
INSERT INTO counters (code, hits) VALUES ('b', 1), ('e', 2), ('b', 3) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits);
SELECT code, hits FROM counters ORDER BY code;
INSERT INTO counters (id, code) VALUES (1, 'zz') ON DUPLICATE KEY UPDATE note = 'by id';
SELECT code, note FROM counters ORDER BY code;
INSERT INTO counters (code, hits) VALUES ('a', 1) ON DUPLICATE KEY UPDATE hits = hits;
SELECT code, hits FROM counters ORDER BY code;
INSERT INTO counters (code, hits) VALUES ('c', 5) ON DUPLICATE KEY UPDATE code = 'cc', hits = VALUES(hits) * 2;
SELECT code, hits FROM counters ORDER BY code;
INSERT INTO counters (code, hits) SELECT status, COUNT(*) FROM orders WHERE id < 103 GROUP BY status ON DUPLICATE KEY UPDATE hits = VALUES(hits);
SELECT code, hits FROM counters ORDER BY code;
INSERT INTO counters (code, hits) SELECT d.s, d.n FROM (SELECT status AS s, COUNT(*) AS n FROM orders WHERE status IN ('paid', 'open') GROUP BY status) d ON DUPLICATE KEY UPDATE hits = hits * 10 + d.n;
SELECT code, hits FROM counters ORDER BY code;
INSERT INTO counters (code, hits) SELECT code, 1 FROM counters ON DUPLICATE KEY UPDATE note = 'self';
SELECT code, note FROM counters ORDER BY code;
INSERT INTO pairs (x, y, w) VALUES (1, 1, 5), (5, 5, 5) ON DUPLICATE KEY UPDATE w = pairs.w + VALUES(w);
SELECT x, y, w FROM pairs ORDER BY x, y;
INSERT INTO pairs (x, y, w) SELECT src, dst, weight FROM edges WHERE src < 4 ON DUPLICATE KEY UPDATE w = weight, v = 'edge';
SELECT x, y, v, w FROM pairs ORDER BY x, y;
INSERT INTO lone (id, a) SELECT 1, 5 ON DUPLICATE KEY UPDATE a = a + VALUES(a), name = CONCAT(name, '+');
SELECT * FROM lone;
INSERT INTO lone VALUES (1, 2, 'x') ON DUPLICATE KEY UPDATE a = NULL, name = DEFAULT;
SELECT * FROM lone;
INSERT INTO lone VALUES (1, 2, 'x') ON DUPLICATE KEY UPDATE id = 7;
SELECT * FROM lone;
INSERT INTO lone VALUES (7, 2, 'x') ON DUPLICATE KEY UPDATE a = (SELECT MAX(n) FROM numbers);
SELECT * FROM lone;
INSERT INTO lone VALUES (7, 2, 'x'), (8, 3, 'y'), (7, 4, 'z') ON DUPLICATE KEY UPDATE a = VALUES(a), name = VALUES(name);
SELECT * FROM lone ORDER BY id;
-- error 1062
INSERT INTO lone VALUES (7, 0, 'x') ON DUPLICATE KEY UPDATE id = 8;
-- error 1054
INSERT INTO lone VALUES (7, 0, 'x') ON DUPLICATE KEY UPDATE absent = 8;
-- error 1048
INSERT INTO lone VALUES (7, 0, 'x') ON DUPLICATE KEY UPDATE id = NULL;
-- error 1048
INSERT INTO counters (code) VALUES ('a') ON DUPLICATE KEY UPDATE code = NULL;

-- REPLACE.
-- reload
REPLACE INTO lone VALUES (1, 11, 'new');
SELECT * FROM lone;
REPLACE INTO lone (id, a) VALUES (1, 12);
SELECT * FROM lone;
REPLACE INTO lone VALUES (1, 12, NULL);
REPLACE INTO lone VALUES (2, 1, 'b'), (3, 2, 'c'), (2, 3, 'd');
SELECT * FROM lone ORDER BY id;
REPLACE INTO lone SELECT n, n * n, CONCAT('n', n) FROM numbers WHERE n BETWEEN 3 AND 5;
SELECT * FROM lone ORDER BY id;
REPLACE INTO lone (id, name) SELECT id, name FROM customers WHERE id IN (1, 6);
SELECT * FROM lone ORDER BY id;
REPLACE INTO nothing SELECT * FROM lone;
SELECT COUNT(*) FROM nothing;
REPLACE INTO nothing SELECT id, a, 'again' FROM nothing WHERE id < 3;
SELECT * FROM nothing ORDER BY id;
REPLACE INTO counters (id, code, hits) VALUES (9, 'A', 1);
SELECT * FROM counters ORDER BY id;
REPLACE INTO counters (id, code) VALUES (2, 'c');
SELECT * FROM counters ORDER BY id;
REPLACE INTO counters (code, hits) SELECT status, SUM(customer_id) FROM orders WHERE customer_id < 3 GROUP BY status;
SELECT code, hits FROM counters ORDER BY code;
REPLACE INTO lone SELECT 1, 2, 'x' FROM nothing WHERE FALSE;
REPLACE lone SET id = 1, a = 5;
SELECT * FROM lone ORDER BY id;
-- error 1136
REPLACE INTO lone SELECT 1, 2;
-- error 1048
REPLACE INTO lone (id) SELECT NULL;
-- error 1146
REPLACE INTO absent SELECT * FROM lone;

-- Errors of UPDATE and DELETE.
-- reload
-- error 1052
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET id = 1;
-- error 1052
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = id;
-- error 1052
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = 1 WHERE id = 1;
-- error 1054
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.absent = 1;
-- error 1054
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET customers.credit = 1;
-- error 1054
UPDATE customers c JOIN orders o ON o.customer_id = x.id SET c.credit = 1;
-- error 1066
UPDATE customers c JOIN orders c ON TRUE SET c.credit = 1;
-- error 1146
UPDATE customers c JOIN absent a ON TRUE SET c.credit = 1;
-- error 1288
UPDATE customers c JOIN (SELECT id AS k, total FROM orders) d ON d.k = c.id + 100 SET d.total = 1;
-- error 1221, reference 0
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = 1 ORDER BY c.id;
-- reload
-- error 1221, reference 0
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = 1 LIMIT 1;
-- reload
-- error 1064
UPDATE customers c JOIN orders o SET WHERE c.id = 1;
-- error 1111
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.credit = SUM(o.total);
-- error 1109
DELETE x FROM customers c JOIN orders o ON o.customer_id = c.id;
-- error 1109
DELETE customers FROM customers c JOIN orders o ON o.customer_id = c.id;
-- error 1109
DELETE FROM x USING customers c JOIN orders o ON o.customer_id = c.id;
-- error 1054
DELETE c FROM customers c JOIN orders o ON o.customer = c.id;
-- error 1052
DELETE c FROM customers c JOIN orders o ON o.customer_id = c.id WHERE id = 1;
-- error 1146
DELETE c FROM customers c JOIN absent a ON TRUE;
-- error 1066
DELETE c, c FROM customers c JOIN orders o ON o.customer_id = c.id;
-- error 1288
DELETE d FROM customers c JOIN (SELECT id FROM orders) d ON d.id = c.id + 100;
-- error 1064
DELETE c FROM customers c JOIN orders o ON o.customer_id = c.id LIMIT 1;
-- error 1064
DELETE c FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY c.id;
SELECT COUNT(*), SUM(credit) FROM customers;
SELECT COUNT(*), SUM(total) FROM orders;
