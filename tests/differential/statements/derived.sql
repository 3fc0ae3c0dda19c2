-- Derived tables: in FROM and in joins, of derived tables, with every clause inside; names of their columns.

SELECT * FROM (SELECT 1) d;
SELECT * FROM (SELECT 1) AS d;
SELECT * FROM (SELECT 1 AS a, 'x' AS b, NULL AS c) d;
SELECT d.a, d.b FROM (SELECT 1 AS a, 2 AS b) d;
SELECT a + b AS c FROM (SELECT 1 AS a, 2 AS b) d;
SELECT `1`, `2 + 3` FROM (SELECT 1, 2 + 3) d;
SELECT d.* FROM (SELECT id, name FROM customers) d ORDER BY id;
SELECT * FROM (SELECT * FROM customers) d ORDER BY id;
SELECT name FROM (SELECT name, id FROM customers) d WHERE id > 3 ORDER BY id;
SELECT name FROM (SELECT * FROM customers WHERE city IS NOT NULL) d WHERE credit > 50;
SELECT `COUNT(*)` FROM (SELECT COUNT(*) FROM customers) d;
SELECT `MAX(id)`, status FROM (SELECT MAX(id), status FROM orders GROUP BY status) d WHERE `MAX(id)` > 106;
SELECT COUNT(*), COUNT(city) FROM (SELECT DISTINCT city FROM customers) d;
SELECT SUM(n), COUNT(*) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY status) d;
SELECT MAX(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d;
SELECT AVG(total) FROM (SELECT total FROM orders ORDER BY total DESC LIMIT 3) d;
SELECT * FROM (SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 4) d ORDER BY id;
SELECT * FROM (SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 3 OFFSET 2) d WHERE total < 90;
SELECT * FROM (SELECT id FROM orders ORDER BY id LIMIT 5) d ORDER BY id DESC LIMIT 2;
SELECT * FROM (SELECT id FROM orders LIMIT 0) d;
SELECT COUNT(*) FROM (SELECT id FROM orders LIMIT 5) d;
SELECT * FROM (SELECT * FROM nothing) d;
SELECT COUNT(*), SUM(a) FROM (SELECT * FROM nothing) d;
SELECT * FROM (SELECT COUNT(*) AS n, MAX(a) AS m FROM nothing) d;
SELECT * FROM (SELECT a, COUNT(*) AS n FROM nothing GROUP BY a) d;
SELECT * FROM (SELECT 1 AS a WHERE FALSE) d;
SELECT * FROM (SELECT 1 AS a FROM DUAL) d;
SELECT * FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING n > 2) d ORDER BY status;
SELECT status, n / 11 FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) d;
SELECT * FROM (SELECT 1 AS a UNION SELECT 2 UNION SELECT 2) d ORDER BY a;
SELECT SUM(a) FROM (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 2) d;
SELECT * FROM (SELECT id FROM customers UNION SELECT id FROM employees) d WHERE id > 6 ORDER BY id;
SELECT COUNT(*) FROM (SELECT id FROM customers UNION ALL SELECT id FROM employees) d;
SELECT * FROM ((SELECT 1 AS a) UNION (SELECT 2) ORDER BY a DESC LIMIT 1) d;
SELECT * FROM ((SELECT id FROM orders ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM orders ORDER BY id DESC LIMIT 1)) d ORDER BY id;
SELECT size, COUNT(*) FROM (SELECT CASE WHEN total > 50 THEN 'big' WHEN total IS NULL THEN 'none' ELSE 'small' END AS size FROM orders) d GROUP BY size;
SELECT d.y, COUNT(*) FROM (SELECT YEAR(placed) AS y FROM orders) d GROUP BY d.y ORDER BY d.y;
SELECT DISTINCT d.y FROM (SELECT YEAR(placed) AS y, total FROM orders) d WHERE total > 10;
SELECT a.id, b.id FROM (SELECT id FROM customers WHERE id < 3) a, (SELECT id FROM customers WHERE id > 7) b;

-- Depth.
SELECT * FROM (SELECT * FROM (SELECT 1 AS a) d) e;
SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT 5 AS deep) d1) d2) d3) d4;
SELECT * FROM (SELECT * FROM (SELECT 1 AS a) d) d;
SELECT e.n FROM (SELECT d.n + 1 AS n FROM (SELECT COUNT(*) AS n FROM customers) d) e;
SELECT * FROM (SELECT d.city, COUNT(*) AS n FROM (SELECT LOWER(city) AS city FROM customers) d GROUP BY d.city) e WHERE n > 1;
SELECT MAX(s) FROM (SELECT city, SUM(c) AS s FROM (SELECT city, COUNT(*) AS c FROM customers GROUP BY city, referrer_id) d GROUP BY city) e;
SELECT * FROM (SELECT id, name FROM (SELECT * FROM customers WHERE credit IS NOT NULL) a WHERE id < 7) b WHERE name > 'B' ORDER BY id;
SELECT * FROM (SELECT id FROM (SELECT id FROM orders ORDER BY id DESC LIMIT 6) a ORDER BY id LIMIT 3) b ORDER BY id;
SELECT o.id, d.most FROM orders o JOIN (SELECT order_id, MAX(n) AS most FROM (SELECT order_id, COUNT(*) AS n FROM items GROUP BY order_id) e GROUP BY order_id) d ON d.order_id = o.id;
SELECT (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY status) d) AS top;
SELECT id FROM orders WHERE id IN (SELECT id FROM (SELECT id FROM orders ORDER BY total DESC, id LIMIT 2) d);
SELECT id FROM orders WHERE id IN (SELECT d.id FROM (SELECT MAX(id) AS id FROM orders GROUP BY status) d);
SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM (SELECT order_id FROM items WHERE quantity > 5) d WHERE d.order_id = orders.id);
SELECT id FROM orders o WHERE total > (SELECT AVG(d.total) FROM (SELECT total FROM orders WHERE total > 0) d);

-- Joins with tables and with each other.
SELECT c.name, d.n FROM customers c JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d ON d.customer_id = c.id;
SELECT c.name, d.n FROM customers c LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d ON d.customer_id = c.id;
SELECT c.name, IFNULL(d.n, 0) AS n FROM customers c LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d ON d.customer_id = c.id ORDER BY n DESC, c.id;
SELECT c.name FROM customers c LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d ON d.customer_id = c.id WHERE d.n IS NULL;
SELECT c.name, d.n FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d LEFT JOIN customers c ON d.customer_id = c.id;
SELECT c.name, d.n FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d RIGHT JOIN customers c ON d.customer_id = c.id AND d.n > 1;
SELECT c.name, o.id, o.total FROM customers c JOIN orders o ON o.customer_id = c.id JOIN (SELECT customer_id, MAX(total) AS top FROM orders GROUP BY customer_id) d ON d.customer_id = o.customer_id AND d.top = o.total;
SELECT o.id, o.total - d.mean AS more FROM orders o CROSS JOIN (SELECT AVG(total) AS mean FROM orders) d WHERE o.total > d.mean;
SELECT o.status, o.total, d.top FROM orders o JOIN (SELECT status, MAX(total) AS top FROM orders GROUP BY status) d USING (status) WHERE o.total < d.top;
SELECT a.status, a.n, b.s FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) a JOIN (SELECT status, SUM(total) AS s FROM orders GROUP BY status) b ON a.status = b.status;
SELECT a.n, b.n FROM (SELECT n FROM numbers WHERE n % 2 = 0) a JOIN (SELECT n FROM numbers WHERE n % 3 = 0) b ON a.n = b.n;
SELECT a.n, b.n FROM (SELECT n FROM numbers WHERE n % 2 = 0) a LEFT JOIN (SELECT n FROM numbers WHERE n % 3 = 0) b ON a.n = b.n;
SELECT a.n, b.x FROM (SELECT n FROM numbers WHERE n < 4) a LEFT JOIN (SELECT x, y FROM pairs WHERE v IS NOT NULL) b ON b.y = a.n;
SELECT c.id, d.id FROM customers c LEFT JOIN (SELECT * FROM nothing) d ON d.id = c.id;
SELECT c.id, d.k FROM customers c LEFT JOIN (SELECT id, 7 AS k FROM lone) d ON d.id = c.id;
SELECT c.id, d.k FROM customers c LEFT JOIN (SELECT id, 7 AS k FROM lone) d ON d.id = c.id WHERE d.k IS NULL;
SELECT c.id, d.k FROM customers c LEFT JOIN (SELECT id, COALESCE(a, 7) AS k FROM nothing) d ON d.id = c.id WHERE c.id < 3;
SELECT c.id, d.k FROM (SELECT 1 AS k) d JOIN customers c ON c.id > d.k + 5;
SELECT c.id, d.k FROM (SELECT 1 AS k UNION SELECT 2) d LEFT JOIN customers c ON c.referrer_id = d.k;
SELECT m.name, d.n, d.s FROM employees m JOIN (SELECT manager_id, COUNT(*) AS n, SUM(salary) AS s FROM employees WHERE manager_id IS NOT NULL GROUP BY manager_id) d ON d.manager_id = m.id ORDER BY m.id;
SELECT e.name, e.salary, d.top FROM employees e JOIN (SELECT dept, MAX(salary) AS top FROM employees GROUP BY dept) d ON d.dept = e.dept AND d.top = e.salary;
SELECT e.name, e.salary, d.top FROM employees e JOIN (SELECT dept, MAX(salary) AS top FROM employees GROUP BY dept) d ON d.dept <=> e.dept;
SELECT s.region, s.amount, t.total FROM sales s JOIN (SELECT region, SUM(amount) AS total FROM sales GROUP BY region) t USING (region) WHERE s.amount * 2 > t.total;
SELECT d.region, d.year FROM (SELECT region, year, SUM(amount) AS total FROM sales GROUP BY region, year) d WHERE d.total >= (SELECT AVG(total) FROM (SELECT SUM(amount) AS total FROM sales GROUP BY region, year) f);

-- Conditions that a server may push into the derived table.
SELECT * FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d WHERE customer_id = 1;
SELECT * FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d WHERE n = 3;
SELECT * FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d WHERE customer_id IS NULL;
SELECT * FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d WHERE customer_id > 1 AND n > 1;
SELECT * FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d WHERE customer_id > 6 OR n > 2;
SELECT * FROM (SELECT id, total FROM orders ORDER BY id LIMIT 3) d WHERE total > 50;
SELECT * FROM (SELECT DISTINCT status, customer_id FROM orders) d WHERE customer_id = 1;
SELECT * FROM (SELECT id AS a FROM customers UNION ALL SELECT id FROM products) d WHERE a = 4;
SELECT * FROM (SELECT id + 1 AS a FROM customers) d WHERE a = 4;
SELECT * FROM (SELECT name, id % 3 AS r FROM customers) d WHERE r = 1 AND name < 'E';
SELECT * FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY total DESC, id) AS place FROM orders) d WHERE place <= 3;
SELECT * FROM (SELECT id, status, ROW_NUMBER() OVER (PARTITION BY status ORDER BY id) AS place FROM orders) d WHERE place = 1;
SELECT * FROM (SELECT id, status, COUNT(*) OVER (PARTITION BY status) AS n FROM orders) d WHERE status = 'paid' AND id > 102;

-- Types and names of columns.
SELECT * FROM (SELECT i, u, d, f, s, b, dt, ts, tm, t, vb FROM mixed WHERE id = 5) z;
SELECT * FROM (SELECT MAX(i) AS i, MAX(u) AS u, MAX(d) AS d, MAX(f) AS f, MAX(b) AS b, MAX(dt) AS dt, MAX(ts) AS ts, MAX(tm) AS tm FROM mixed WHERE id < 7) z;
SELECT SUM(i), SUM(d), SUM(f) FROM (SELECT i, d, f FROM mixed WHERE id IN (1, 2, 5)) z;
SELECT a, LENGTH(a) FROM (SELECT CONCAT(name, '-', id) AS a FROM customers) d ORDER BY a;
SELECT a FROM (SELECT NULL AS a) d WHERE a IS NULL;
SELECT a = 'ADA' FROM (SELECT name AS a, id FROM customers) d ORDER BY id;
SELECT dt + INTERVAL 1 DAY AS next FROM (SELECT dt FROM mixed WHERE id = 1) d;
SELECT A, B FROM (SELECT 1 AS a, 2 AS b) d;
SELECT `two words` FROM (SELECT 3 AS `two words`) d;
SELECT d.a FROM (SELECT a FROM gaps WHERE a IS NOT NULL) d ORDER BY d.a DESC;
SELECT id FROM (SELECT id, a AS id2 FROM gaps) d WHERE id2 = 2;
SELECT d.a FROM (SELECT 1.5 AS a UNION ALL SELECT 2) d;
SELECT d.a FROM (SELECT 1 AS a UNION ALL SELECT 'x') d;
SELECT d.a FROM (SELECT '1' AS a UNION ALL SELECT NULL) d;
SELECT * FROM (SELECT id, name FROM lone) d WHERE d.id = 1 AND d.name = 'ONLY';

-- A subquery around a derived table may be correlated.
SELECT c.id, (SELECT MAX(d.total) FROM (SELECT customer_id, total FROM orders) d WHERE d.customer_id = c.id) AS top FROM customers c;
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM (SELECT customer_id, SUM(total) AS s FROM orders GROUP BY customer_id) d WHERE d.customer_id = c.id AND d.s > c.credit);
SELECT c.id FROM customers c WHERE c.id IN (SELECT d.r FROM (SELECT referrer_id AS r, COUNT(*) AS n FROM customers GROUP BY referrer_id) d WHERE d.n > 1);

-- Errors.
-- error 1248, reference 1064
SELECT * FROM (SELECT 1);
-- error 1248, reference 1064
SELECT * FROM (SELECT id FROM customers) WHERE id = 1;
-- error 1248, reference 1064
SELECT * FROM customers c JOIN (SELECT 1);
-- error 1248, reference 1064
SELECT 1 FROM (SELECT 1 UNION SELECT 2);
-- error 1248, reference 1064
SELECT 1 FROM (SELECT * FROM (SELECT 1 AS a)) d;
-- error 1060
SELECT * FROM (SELECT 1 AS a, 2 AS a) d;
-- error 1060
SELECT * FROM (SELECT id, id FROM customers) d;
-- error 1060
SELECT 1 FROM (SELECT * FROM customers c JOIN orders o ON o.customer_id = c.id) d;
-- error 1060
SELECT * FROM (SELECT 1 AS a, 2 AS A) d;
-- error 1066
SELECT * FROM (SELECT 1 AS a) d, (SELECT 2 AS b) d;
-- error 1054
SELECT b FROM (SELECT 1 AS a) d;
-- error 1054
SELECT d.id FROM (SELECT name FROM customers) d;
-- error 1054
SELECT customers.id FROM (SELECT id FROM customers) d;
-- error 1054
SELECT c.id FROM (SELECT c.id FROM customers c) d;
-- error 1109
SELECT * FROM customers c, (SELECT c.id AS a) d;
-- error 1054
SELECT * FROM customers c JOIN (SELECT * FROM orders o WHERE o.customer_id = c.id) d;
-- error 1054
SELECT * FROM (SELECT id AS a FROM customers WHERE a = 1) d;
-- error 1052
SELECT a FROM (SELECT 1 AS a) d, (SELECT 2 AS a) e;
-- error 1222
SELECT * FROM (SELECT 1 UNION SELECT 1, 2) d;
-- error 1146
SELECT * FROM (SELECT * FROM absent) d;
-- error 1146
SELECT * FROM (SELECT 1 AS a) d JOIN d e;
-- error 1055
SELECT * FROM (SELECT city, id FROM customers GROUP BY city) d;
-- error 1140
SELECT * FROM (SELECT city, COUNT(*) FROM customers) d;
-- error 1111
SELECT * FROM (SELECT id FROM customers WHERE COUNT(*) > 1) d;
-- error 1064
SELECT * FROM (SELECT) d;
-- error 1064
SELECT * FROM (1) d;
-- error 1064
SELECT * FROM SELECT 1;
