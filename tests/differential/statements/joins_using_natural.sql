-- USING and NATURAL JOIN: the columns of the result, their order, and which names are one column.

SELECT * FROM lone JOIN customers USING (id);
SELECT * FROM customers JOIN lone USING (id);
SELECT * FROM customers JOIN lone USING (id, name);
SELECT * FROM lone l JOIN numbers ON n = l.a;
SELECT * FROM lone JOIN nothing USING (id, a);
SELECT * FROM lone LEFT JOIN nothing USING (id, a);
SELECT * FROM lone RIGHT JOIN nothing USING (id);
SELECT * FROM nothing RIGHT JOIN lone USING (id);
SELECT * FROM nothing RIGHT JOIN lone USING (name, a);
SELECT * FROM lone NATURAL JOIN nothing;
SELECT * FROM lone NATURAL LEFT JOIN nothing;
SELECT * FROM lone NATURAL LEFT OUTER JOIN nothing;
SELECT * FROM nothing NATURAL RIGHT JOIN lone;
SELECT * FROM nothing NATURAL RIGHT OUTER JOIN lone;
SELECT * FROM lone NATURAL INNER JOIN customers;
SELECT * FROM lone a NATURAL JOIN lone b;
SELECT * FROM lone NATURAL JOIN numbers;
SELECT * FROM numbers NATURAL JOIN numbers b ORDER BY n;
SELECT * FROM pairs NATURAL JOIN pairs q ORDER BY x, y;
SELECT * FROM pairs p JOIN pairs q USING (x, y) ORDER BY x, y;
SELECT * FROM pairs p JOIN pairs q USING (y, x) ORDER BY x, y;
SELECT * FROM pairs p JOIN pairs q USING (w) ORDER BY w, p.x, p.y, q.x, q.y;
SELECT * FROM pairs p JOIN pairs q USING (v) WHERE p.x < q.x;
SELECT id, name FROM customers JOIN lone USING (id, name);
SELECT id, customers.name, lone.name FROM customers JOIN lone USING (id);
SELECT customers.id, lone.id, id FROM customers JOIN lone USING (id);
SELECT c.id, e.id, id FROM customers c LEFT JOIN employees e USING (id);
SELECT c.id, e.id, id FROM customers c RIGHT JOIN employees e USING (id);
SELECT id, c.name, e.name FROM customers c JOIN employees e USING (id) WHERE id > 3;
SELECT id, c.name, e.name FROM customers c JOIN employees e USING (id) ORDER BY id DESC;
SELECT id, COUNT(*) FROM customers c JOIN employees e USING (id) GROUP BY id HAVING id > 5;
SELECT MAX(id), MIN(c.id), SUM(e.id) FROM customers c JOIN employees e USING (id);
SELECT c.* FROM customers c JOIN employees e USING (id) WHERE id = 2;
SELECT e.* FROM customers c JOIN employees e USING (id) WHERE id = 2;
SELECT e.*, c.* FROM customers c JOIN employees e USING (id) WHERE id = 2;
SELECT *, id FROM lone JOIN customers USING (id);
SELECT lone.*, id FROM lone JOIN customers USING (id);
SELECT id FROM customers NATURAL JOIN employees;
SELECT id, name FROM customers NATURAL LEFT JOIN employees;
SELECT id, name FROM customers NATURAL RIGHT JOIN employees;
SELECT COUNT(*) FROM customers NATURAL JOIN orders;
SELECT COUNT(*) FROM orders NATURAL JOIN items;
SELECT COUNT(*) FROM edges NATURAL JOIN numbers;
SELECT * FROM products p NATURAL JOIN categories k;
SELECT id, total, quantity FROM orders o JOIN items i ON i.order_id = o.id JOIN lone USING (id);
SELECT product_id, SUM(quantity) FROM items JOIN (SELECT id AS product_id FROM products) d USING (product_id) GROUP BY product_id;
SELECT * FROM (SELECT id AS order_id, status FROM orders) o JOIN items USING (order_id) WHERE line = 2;
SELECT * FROM (SELECT id AS order_id, status FROM orders) o LEFT JOIN items USING (order_id) WHERE line IS NULL;
SELECT order_id, status, line FROM (SELECT id AS order_id, status FROM orders) o NATURAL JOIN items;
SELECT order_id, status, line FROM (SELECT id AS order_id, status FROM orders) o NATURAL LEFT JOIN items ORDER BY order_id, line;
SELECT order_id, status, line FROM (SELECT id AS order_id, status FROM orders) o NATURAL RIGHT JOIN items ORDER BY order_id, line;

-- The one column of an outer join is that of the side that keeps its rows.
SELECT id FROM customers c LEFT JOIN orders o USING (id);
SELECT id FROM orders o RIGHT JOIN customers c USING (id);
SELECT a, g.id FROM gaps g LEFT JOIN lone l USING (a);
SELECT a, g.id, l.id FROM lone l LEFT JOIN gaps g USING (a);
SELECT a, g.a, l.a FROM lone l RIGHT JOIN gaps g USING (a) ORDER BY g.id;
SELECT a, g.a, x.a FROM nothing x RIGHT JOIN gaps g USING (a) ORDER BY g.id;
SELECT a, x.a FROM nothing x LEFT JOIN gaps g USING (a);
SELECT a, x.a FROM gaps g LEFT JOIN nothing x USING (a) WHERE a IS NULL;
SELECT a, x.a FROM gaps g LEFT JOIN nothing x USING (a) WHERE x.a IS NULL ORDER BY g.id;
SELECT a, b FROM gaps g JOIN gaps h USING (a, b);
SELECT g.id, h.id FROM gaps g JOIN gaps h USING (a);
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h USING (a);
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h USING (a, b);
SELECT g.id, h.id, c FROM gaps g JOIN gaps h USING (c);
SELECT g.id, h.id, d FROM gaps g JOIN gaps h USING (d) WHERE g.id < h.id;
SELECT g.id, h.id, e FROM gaps g JOIN gaps h USING (e) WHERE g.id < h.id;

-- Chains.
SELECT * FROM lone a JOIN lone b USING (id) JOIN lone c USING (id);
-- error 1052
SELECT * FROM lone a JOIN lone b USING (id) JOIN lone c USING (id, a);
SELECT * FROM lone a NATURAL JOIN lone b NATURAL JOIN lone c;
SELECT id, c.name, e.name, p.name FROM customers c JOIN employees e USING (id) JOIN products p USING (id);
SELECT id, c.name, e.name, p.name FROM customers c LEFT JOIN employees e USING (id) LEFT JOIN products p USING (id) ORDER BY id;
SELECT id FROM customers c JOIN employees e USING (id) LEFT JOIN nothing x USING (id) WHERE x.a IS NULL;
SELECT id FROM nothing x RIGHT JOIN customers c USING (id) RIGHT JOIN employees e USING (id) ORDER BY id;
-- error 1052
SELECT id, x.id, c.id, e.id FROM nothing x RIGHT JOIN customers c USING (id) LEFT JOIN employees e USING (id) ORDER BY id;
SELECT id, n FROM customers c JOIN employees e USING (id) JOIN numbers ON n = id;
SELECT id, n FROM numbers JOIN lone ON n = lone.a JOIN customers USING (id);
SELECT * FROM lone NATURAL JOIN (SELECT id, a FROM lone) d;
SELECT * FROM (SELECT id, a FROM lone) d NATURAL JOIN lone;
SELECT * FROM (SELECT 1 AS id, 2 AS k) d NATURAL JOIN (SELECT 1 AS id, 3 AS m) e;
SELECT * FROM (SELECT 1 AS k, 2 AS id) d NATURAL JOIN (SELECT 3 AS m, 2 AS id) e;
SELECT * FROM (SELECT 1 AS k, 2 AS id) d JOIN (SELECT 3 AS m, 2 AS id) e USING (id);
SELECT * FROM (SELECT 1 AS k, 2 AS id) d LEFT JOIN (SELECT 3 AS m, 4 AS id) e USING (id);
SELECT * FROM (SELECT 1 AS k, 2 AS id) d RIGHT JOIN (SELECT 3 AS m, 4 AS id) e USING (id);
SELECT * FROM (SELECT 1 AS q, 2 AS r, 3 AS s) d JOIN (SELECT 3 AS s, 9 AS t, 1 AS q) e USING (s, q);
SELECT * FROM (SELECT 1 AS q, 2 AS r, 3 AS s) d NATURAL JOIN (SELECT 3 AS s, 9 AS t, 1 AS q) e;
SELECT * FROM (lone a JOIN lone b USING (id)) JOIN lone c USING (id);
SELECT * FROM lone a JOIN (lone b JOIN lone c USING (id)) USING (id);
SELECT id FROM lone a JOIN (lone b JOIN lone c USING (id)) USING (id);

-- Names of different case; types that differ.
SELECT ID FROM customers JOIN lone USING (Id);
SELECT COUNT(*) FROM (SELECT id AS n FROM customers) d NATURAL JOIN numbers;
SELECT n FROM (SELECT '7' AS n) d JOIN numbers USING (n);
SELECT n FROM (SELECT 7.0 AS n) d JOIN numbers USING (n);
SELECT d.n, numbers.n FROM (SELECT '7' AS n) d JOIN numbers USING (n);
SELECT s.name FROM (SELECT 'LAMP' AS name) d JOIN products s USING (name);
SELECT name FROM products NATURAL JOIN (SELECT 'Chair' AS name) d;
SELECT name FROM products NATURAL JOIN (SELECT 'CHAIR ' AS name) d;

-- Errors.
-- error 1054
SELECT * FROM customers JOIN orders USING (name);
-- error 1054
SELECT * FROM customers JOIN orders USING (absent);
-- error 1054
SELECT * FROM customers JOIN orders USING (id, absent);
-- error 1052
SELECT name FROM customers JOIN lone USING (id);
-- error 1052
SELECT * FROM customers c JOIN employees e USING (id) JOIN lone l USING (name);
-- error 1052
SELECT * FROM customers c JOIN employees e ON c.id = e.id JOIN lone l USING (id);
-- error 1052
SELECT * FROM customers c JOIN employees e ON c.id = e.id NATURAL JOIN lone;
-- error 1052
SELECT id FROM customers c JOIN employees e USING (name);
-- error 1064
SELECT * FROM customers JOIN lone USING ();
-- error 1064
SELECT * FROM customers JOIN lone USING id;
-- error 1064
SELECT * FROM customers JOIN lone USING (customers.id);
-- error 1064
SELECT * FROM customers JOIN lone USING (id) ON TRUE;
-- error 1064
SELECT * FROM customers NATURAL JOIN lone ON TRUE;
-- error 1064
SELECT * FROM customers NATURAL JOIN lone USING (id);
-- error 1066
SELECT * FROM lone NATURAL JOIN lone;
-- error 1066
SELECT * FROM lone JOIN lone USING (id);
