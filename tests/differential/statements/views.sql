-- Views: of one table and of joins, groups, unions, views of views; changes through views; errors.

CREATE VIEW v AS SELECT id, name FROM customers;
SELECT * FROM v ORDER BY id;
SELECT name FROM v WHERE id = 3;
SELECT COUNT(*) FROM v;
SELECT v.id FROM v WHERE v.name = 'ADA' ORDER BY v.id;
SELECT a.id, b.id FROM v a JOIN v b ON a.name = b.name AND a.id < b.id;
SELECT v.name, o.id FROM v LEFT JOIN orders o ON o.customer_id = v.id ORDER BY v.id, o.id;
SELECT id FROM v WHERE id IN (SELECT customer_id FROM orders) ORDER BY id;
SELECT id FROM customers WHERE id IN (SELECT id FROM v WHERE name < 'D') ORDER BY id;
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = v.id) AS n FROM v ORDER BY n DESC, id;
SELECT MAX(name), MIN(id) FROM v WHERE id > 1;
SELECT * FROM v NATURAL JOIN lone;
SELECT * FROM v UNION SELECT id, name FROM employees WHERE id > 11 ORDER BY id;
SELECT * FROM (SELECT id FROM v ORDER BY id DESC LIMIT 2) d ORDER BY id;
WITH c AS (SELECT id FROM v WHERE id < 3) SELECT * FROM c ORDER BY id;
CREATE VIEW v_names (k, label) AS SELECT id, UPPER(name) FROM products;
SELECT * FROM v_names ORDER BY k;
SELECT label FROM v_names WHERE k > 6 ORDER BY label;
CREATE VIEW v_paid AS SELECT id, customer_id, total FROM orders WHERE status = 'paid';
SELECT * FROM v_paid ORDER BY id;
SELECT customer_id, SUM(total) FROM v_paid GROUP BY customer_id ORDER BY customer_id;
SELECT id FROM v_paid WHERE total > (SELECT AVG(total) FROM v_paid) ORDER BY id;
CREATE VIEW v_join AS SELECT c.id AS customer, c.name, o.id AS order_id, o.total FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT * FROM v_join ORDER BY order_id;
SELECT name, COUNT(*), SUM(total) FROM v_join WHERE customer <> 6 GROUP BY name ORDER BY name;
SELECT j.order_id, i.line FROM v_join j JOIN items i ON i.order_id = j.order_id WHERE j.total > 50 ORDER BY j.order_id, i.line;
CREATE VIEW v_left AS SELECT c.id, o.id AS order_id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT * FROM v_left WHERE order_id IS NULL ORDER BY id;
SELECT id, COUNT(order_id) FROM v_left GROUP BY id ORDER BY id;
CREATE VIEW v_group AS SELECT status, COUNT(*) AS n, SUM(total) AS s, MAX(placed) AS latest FROM orders GROUP BY status;
SELECT * FROM v_group ORDER BY status;
SELECT status FROM v_group WHERE n > 2 ORDER BY status;
SELECT SUM(n), MAX(latest) FROM v_group;
SELECT o.id, g.n FROM orders o JOIN v_group g ON g.status = o.status WHERE o.total = g.s ORDER BY o.id;
CREATE VIEW v_having AS SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id HAVING COUNT(*) > 1;
SELECT * FROM v_having ORDER BY customer_id;
CREATE VIEW v_distinct AS SELECT DISTINCT customer_id FROM orders;
SELECT COUNT(*), COUNT(customer_id) FROM v_distinct;
CREATE VIEW v_union AS SELECT id, name FROM customers UNION ALL SELECT id, name FROM employees;
SELECT COUNT(*), SUM(id) FROM v_union;
SELECT * FROM v_union WHERE id = 2 ORDER BY name;
CREATE VIEW v_top AS SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 3;
SELECT * FROM v_top ORDER BY id;
SELECT id FROM v_top WHERE total < 100;
CREATE VIEW v_rank AS SELECT id, RANK() OVER (ORDER BY total DESC) AS place FROM orders;
SELECT * FROM v_rank WHERE place < 4 ORDER BY place, id;
CREATE VIEW v_sub AS SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT * FROM v_sub ORDER BY id;
CREATE VIEW v_derived AS SELECT d.m, d.k FROM (SELECT MAX(id) AS m, status AS k FROM orders GROUP BY status) d;
SELECT * FROM v_derived ORDER BY m;
CREATE VIEW v_cte AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 4) SELECT n FROM c;
SELECT * FROM v_cte ORDER BY n;
SELECT a.n, b.n FROM v_cte a JOIN v_cte b ON b.n = a.n + 1 ORDER BY a.n;
CREATE VIEW v_of_v AS SELECT id, name FROM v WHERE id > 4;
SELECT * FROM v_of_v ORDER BY id;
CREATE VIEW v_of_v_of_v AS SELECT w.id, g.n FROM v_of_v w JOIN v_left l ON l.id = w.id JOIN v_group g ON g.n >= w.id - 4;
SELECT * FROM v_of_v_of_v ORDER BY id, n;
CREATE VIEW v_const AS SELECT 1 AS one, 'x' AS letter;
SELECT * FROM v_const;
CREATE VIEW v_expr AS SELECT id, credit * 2 AS twice, CASE WHEN city IS NULL THEN 'none' ELSE city END AS place FROM customers;
SELECT * FROM v_expr ORDER BY id;
SELECT place, COUNT(*) FROM v_expr WHERE id IN (2, 4, 6, 8) GROUP BY place ORDER BY place;
CREATE VIEW v_empty AS SELECT * FROM nothing;
SELECT * FROM v_empty;
SELECT COUNT(*) FROM v_empty;
SELECT c.id, e.name FROM customers c LEFT JOIN v_empty e ON e.id = c.id WHERE c.id < 3 ORDER BY c.id;
CREATE VIEW v_star AS SELECT * FROM lone;
SELECT * FROM v_star;
CREATE ALGORITHM = MERGE VIEW v_merge AS SELECT id FROM customers WHERE id < 3;
SELECT * FROM v_merge ORDER BY id;
CREATE ALGORITHM = TEMPTABLE VIEW v_temp AS SELECT id FROM customers WHERE id < 3;
SELECT * FROM v_temp ORDER BY id;

-- Another definition.
CREATE OR REPLACE VIEW v AS SELECT id, city FROM customers WHERE city IS NOT NULL;
SELECT * FROM v ORDER BY id;
-- error 1356
SELECT * FROM v_of_v;
ALTER VIEW v AS SELECT id, name, city FROM customers;
SELECT * FROM v WHERE id = 1;
SELECT * FROM v_of_v ORDER BY id;
CREATE OR REPLACE VIEW v_new AS SELECT 5 AS five;
SELECT * FROM v_new;
-- error 1050
CREATE VIEW v AS SELECT 1;
-- error 1050
CREATE VIEW customers AS SELECT 1;

-- Changes through views.
-- reload
CREATE VIEW v AS SELECT id, name, credit FROM customers;
INSERT INTO v VALUES (20, 'Viva', 5);
SELECT id, name, city, credit FROM customers WHERE id = 20;
UPDATE v SET credit = 6 WHERE id = 20;
SELECT id, credit FROM customers WHERE id = 20;
DELETE FROM v WHERE id = 20;
SELECT COUNT(*) FROM customers;
CREATE VIEW v_some AS SELECT id, name AS label, credit FROM customers WHERE credit > 50;
UPDATE v_some SET label = 'rich' WHERE id < 3;
SELECT id, name FROM customers ORDER BY id;
UPDATE v_some SET credit = 0 WHERE id = 1;
SELECT id FROM v_some ORDER BY id;
SELECT id, credit FROM customers ORDER BY id;
DELETE FROM v_some WHERE label = 'Finn' OR id = 2;
SELECT id FROM customers ORDER BY id;
INSERT INTO v_some (id, label, credit) VALUES (21, 'poor', 1);
SELECT id FROM v_some ORDER BY id;
SELECT id, name FROM customers WHERE id = 21;
CREATE VIEW v_checked AS SELECT id, name, credit FROM customers WHERE credit > 50 WITH CHECK OPTION;
INSERT INTO v_checked VALUES (22, 'ok', 51);
-- error 1369
INSERT INTO v_checked VALUES (23, 'bad', 50);
-- error 1369
UPDATE v_checked SET credit = 1 WHERE id = 22;
UPDATE v_checked SET credit = 60 WHERE id = 22;
SELECT id, credit FROM v_checked ORDER BY id;
CREATE VIEW v_outer AS SELECT id, name, credit FROM v_checked WHERE credit < 90 WITH CASCADED CHECK OPTION;
-- error 1369
INSERT INTO v_outer VALUES (24, 'high', 95);
-- error 1369
INSERT INTO v_outer VALUES (24, 'low', 40);
INSERT INTO v_outer VALUES (24, 'mid', 70);
SELECT id FROM v_outer ORDER BY id;
CREATE VIEW v_loose AS SELECT id, name, credit FROM v WHERE credit < 90 WITH LOCAL CHECK OPTION;
-- error 1369
UPDATE v_loose SET credit = 91 WHERE id = 24;
UPDATE v_loose SET credit = 89 WHERE id = 24;
SELECT credit FROM v WHERE id = 24;
CREATE VIEW v_pair AS SELECT c.id, c.name, o.id AS order_id, o.total FROM customers c JOIN orders o ON o.customer_id = c.id;
UPDATE v_pair SET name = 'paired' WHERE order_id = 104;
SELECT id, name FROM customers WHERE name = 'paired';
UPDATE v_pair SET total = 1 WHERE id = 3;
SELECT id, total FROM orders WHERE customer_id = 3 ORDER BY id;
REPLACE INTO v VALUES (24, 'again', 1);
SELECT id, name, credit FROM v WHERE id = 24;
INSERT INTO v VALUES (24, 'third', 1) ON DUPLICATE KEY UPDATE credit = v.credit + 1;
SELECT id, name, credit FROM v WHERE id = 24;
INSERT INTO v (id, name) SELECT id + 50, name FROM lone;
SELECT id, name, credit FROM v WHERE id > 50;
UPDATE v JOIN orders o ON o.customer_id = v.id SET v.credit = 77 WHERE o.id = 105;
SELECT id, credit FROM v WHERE credit = 77;
DELETE v FROM v JOIN lone l ON v.id = l.id + 50;
SELECT COUNT(*) FROM v WHERE id > 50;

-- What a view refuses.
-- reload
CREATE VIEW v AS SELECT id, name FROM customers;
CREATE VIEW v_group AS SELECT status, COUNT(*) AS n FROM orders GROUP BY status;
CREATE VIEW v_expr AS SELECT id, credit + 1 AS more FROM customers;
CREATE VIEW v_join AS SELECT c.id, c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id;
CREATE VIEW v_union AS SELECT id FROM customers UNION SELECT id FROM products;
CREATE VIEW v_limit AS SELECT id, name FROM customers LIMIT 3;
-- error 1288
UPDATE v_group SET n = 1;
-- error 1288
DELETE FROM v_group;
-- error 1471
INSERT INTO v_group VALUES ('x', 1);
-- error 1288
UPDATE v_union SET id = 1;
-- error 1288
DELETE FROM v_union WHERE id = 1;
-- error 1288
UPDATE v_limit SET name = 'x';
-- error 1348
UPDATE v_expr SET more = 1 WHERE id = 1;
-- error 1395
DELETE FROM v_join WHERE id = 1;
-- error 1393
UPDATE v_join SET name = 'x', total = 1;
-- error 1054
SELECT city FROM v;
-- error 1054
SELECT v.absent FROM v;
-- error 1054
UPDATE v SET city = 'x';
-- error 1054
INSERT INTO v (id, city) VALUES (30, 'x');
-- error 1052
SELECT id FROM v JOIN v_join ON TRUE;
-- error 1066
SELECT 1 FROM v, v;
-- error 1353
CREATE VIEW w (a) AS SELECT id, name FROM customers;
-- error 1353
CREATE VIEW w (a, b, c) AS SELECT id, name FROM customers;
-- error 1060
CREATE VIEW w AS SELECT id, id FROM customers;
-- error 1060
CREATE VIEW w (a, a) AS SELECT id, name FROM customers;
-- error 1060
CREATE VIEW w AS SELECT * FROM customers c JOIN orders o ON o.customer_id = c.id;
-- error 1054
CREATE VIEW w AS SELECT absent FROM customers;
-- error 1146
CREATE VIEW w AS SELECT * FROM absent;
-- error 1055
CREATE VIEW w AS SELECT city, id FROM customers GROUP BY city;
-- error 1222
CREATE VIEW w AS SELECT 1 UNION SELECT 1, 2;
-- error 1351
CREATE VIEW w AS SELECT @x AS a;
-- error 1368
CREATE VIEW w AS SELECT COUNT(*) AS n FROM customers WITH CHECK OPTION;
-- error 1064
CREATE VIEW w AS UPDATE customers SET id = 1;
-- error 1064
CREATE VIEW w SELECT 1;
-- error 1064
CREATE VIEW w () AS SELECT 1;
-- error 1146
ALTER VIEW absent AS SELECT 1 AS a;
-- error 1347
ALTER VIEW customers AS SELECT 1 AS a;
DROP VIEW v_limit;
-- error 1146
SELECT * FROM v_limit;
DROP VIEW IF EXISTS v_limit;
DROP VIEW IF EXISTS v_union, v_expr;
-- error 1146
SELECT * FROM v_union;
-- error 1347, reference 4092
DROP VIEW customers;
-- error 1051, reference 1965
DROP TABLE v;
SELECT COUNT(*) FROM v;
DROP TABLE orders;
-- error 1356
SELECT * FROM v_group;
-- error 1356
SELECT * FROM v_join;
SELECT COUNT(*) FROM v;
