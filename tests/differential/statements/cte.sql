-- Common table expressions without RECURSIVE: used once, twice and never; in subqueries, joins, set operations; their names.

WITH c AS (SELECT 1) SELECT * FROM c;
WITH c AS (SELECT 1 AS a) SELECT a FROM c;
WITH c (a) AS (SELECT 1) SELECT a FROM c;
WITH c (a, b) AS (SELECT 1, 2) SELECT b, a FROM c;
WITH c (a, b) AS (SELECT id, name FROM customers) SELECT * FROM c ORDER BY a;
WITH c (a, b) AS (SELECT id, name FROM customers) SELECT c.b FROM c WHERE c.a = 3;
WITH c AS (SELECT 1 AS a) SELECT c.a + 1 AS b FROM c;
WITH c AS (SELECT 1 AS a) SELECT d.a FROM c AS d;
WITH c AS (SELECT 1 AS a) SELECT 5;
WITH c AS (SELECT id FROM customers) SELECT COUNT(*) FROM orders;
WITH c AS (SELECT * FROM customers) SELECT * FROM c WHERE city = 'OSLO' ORDER BY id;
WITH c AS (SELECT * FROM customers WHERE city IS NOT NULL) SELECT name FROM c WHERE credit > 50 ORDER BY name DESC, id;
WITH c AS (SELECT * FROM nothing) SELECT * FROM c;
WITH c AS (SELECT * FROM nothing) SELECT COUNT(*), MAX(a) FROM c;
WITH c AS (SELECT MAX(total) AS top FROM orders) SELECT id FROM orders, c WHERE total = top;
WITH c AS (SELECT MAX(total) AS top FROM orders) SELECT id FROM orders WHERE total = (SELECT top FROM c);
WITH c AS (SELECT DISTINCT customer_id AS id FROM orders) SELECT name FROM customers WHERE id IN (SELECT id FROM c);
WITH c AS (SELECT DISTINCT customer_id AS id FROM orders) SELECT name FROM customers WHERE id NOT IN (SELECT id FROM c WHERE id IS NOT NULL);
WITH c AS (SELECT DISTINCT customer_id AS id FROM orders) SELECT name FROM customers WHERE EXISTS (SELECT * FROM c WHERE c.id = customers.id);
WITH c AS (SELECT DISTINCT customer_id AS id FROM orders) SELECT name FROM customers JOIN c USING (id);
WITH c AS (SELECT DISTINCT customer_id AS id FROM orders) SELECT name, c.id FROM customers LEFT JOIN c ON c.id = customers.id;
WITH c AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) SELECT * FROM c ORDER BY n DESC, status;
WITH c AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) SELECT SUM(n), MAX(status) FROM c WHERE n > 1;
WITH c AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING n > 1) SELECT COUNT(*) FROM c;
WITH c AS (SELECT id FROM orders ORDER BY total DESC, id LIMIT 3) SELECT id FROM c ORDER BY id;
WITH c AS (SELECT id FROM orders ORDER BY total DESC, id LIMIT 3 OFFSET 1) SELECT MIN(id), MAX(id) FROM c;
WITH c AS (SELECT DISTINCT city FROM customers WHERE city <> 'oslo') SELECT COUNT(*) FROM c;
WITH c AS (SELECT 1 AS a UNION SELECT 2 UNION SELECT 1) SELECT * FROM c ORDER BY a;
WITH c AS (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 1) SELECT a, COUNT(*) FROM c GROUP BY a;
WITH c (x) AS (SELECT 1 UNION ALL SELECT 2) SELECT SUM(x) FROM c;
WITH c AS ((SELECT 1 AS a) UNION ALL (SELECT 2) ORDER BY a DESC LIMIT 1) SELECT * FROM c;
WITH c AS (SELECT id FROM customers EXCEPT SELECT customer_id FROM orders) SELECT id FROM c ORDER BY id;
WITH c AS (SELECT id FROM customers INTERSECT SELECT customer_id FROM orders) SELECT id FROM c ORDER BY id;
WITH c AS (SELECT id, RANK() OVER (ORDER BY total DESC) AS place FROM orders) SELECT * FROM c WHERE place < 4 ORDER BY place, id;

-- Used twice.
WITH c AS (SELECT 1 AS a) SELECT x.a, y.a FROM c x, c y;
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT x.n, y.n FROM c x JOIN c y ON y.n = x.n + 1;
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT x.n, y.n FROM c x LEFT JOIN c y ON y.n = x.n + 1;
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT * FROM c UNION ALL SELECT n * 10 FROM c;
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT n FROM c WHERE n = (SELECT MAX(n) FROM c);
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT (SELECT MIN(n) FROM c), (SELECT MAX(n) FROM c);
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT n, (SELECT SUM(d.n) FROM c d WHERE d.n <= c.n) AS running FROM c;
WITH c AS (SELECT n FROM numbers WHERE n < 4) SELECT COUNT(*) FROM c a, c b, c d;
WITH c AS (SELECT status, SUM(total) AS s FROM orders GROUP BY status) SELECT status FROM c WHERE s > (SELECT AVG(s) FROM c);
WITH c AS (SELECT status, SUM(total) AS s FROM orders GROUP BY status) SELECT a.status, b.status FROM c a JOIN c b ON a.s < b.s;
WITH c AS (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) SELECT a.customer_id FROM c a WHERE NOT EXISTS (SELECT 1 FROM c b WHERE b.n > a.n);
WITH c AS (SELECT dept, AVG(salary) AS mean FROM employees GROUP BY dept) SELECT e.name FROM employees e JOIN c ON c.dept = e.dept AND e.salary > c.mean;
WITH c AS (SELECT dept, AVG(salary) AS mean FROM employees GROUP BY dept) SELECT x.dept, x.mean FROM c x WHERE x.mean = (SELECT MAX(y.mean) FROM c y);

-- Several, of which each sees those before it.
WITH a AS (SELECT 1 AS x), b AS (SELECT 2 AS y) SELECT * FROM a, b;
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT * FROM a, b;
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a), c AS (SELECT x + y AS z FROM a, b) SELECT * FROM c;
WITH a AS (SELECT n FROM numbers), b AS (SELECT n FROM a WHERE n > 5), c AS (SELECT n FROM b WHERE n % 2 = 0) SELECT * FROM c ORDER BY n;
WITH a AS (SELECT n FROM numbers), b AS (SELECT n FROM a WHERE n > 5), c AS (SELECT a.n FROM a LEFT JOIN b USING (n) WHERE b.n IS NULL) SELECT COUNT(*), SUM(n) FROM c;
WITH o AS (SELECT customer_id, SUM(total) AS s FROM orders GROUP BY customer_id), t AS (SELECT MAX(s) AS top FROM o) SELECT c.name FROM customers c JOIN o ON o.customer_id = c.id JOIN t ON t.top = o.s;
WITH o AS (SELECT id, total FROM orders WHERE status = 'paid'), i AS (SELECT order_id, SUM(quantity) AS q FROM items GROUP BY order_id) SELECT o.id, o.total, i.q FROM o LEFT JOIN i ON i.order_id = o.id ORDER BY o.id;
WITH a AS (SELECT id FROM customers), b AS (SELECT id FROM employees), c AS (SELECT id FROM products) SELECT id FROM a UNION SELECT id FROM b UNION SELECT id FROM c ORDER BY id;
WITH a AS (SELECT 1 AS x), a2 AS (SELECT * FROM a UNION ALL SELECT * FROM a), a4 AS (SELECT * FROM a2 UNION ALL SELECT * FROM a2), a8 AS (SELECT * FROM a4 UNION ALL SELECT * FROM a4) SELECT COUNT(*) FROM a8;
WITH a AS (SELECT 1 AS x), b AS (SELECT * FROM (SELECT x FROM a) d) SELECT * FROM b;

-- A name hides a table.
WITH orders AS (SELECT 1 AS id) SELECT * FROM orders;
WITH orders AS (SELECT id FROM orders WHERE id < 102) SELECT * FROM orders ORDER BY id;
WITH lone AS (SELECT 2 AS id), b AS (SELECT id FROM lone) SELECT * FROM b;
WITH Lone AS (SELECT 2 AS id) SELECT * FROM Lone;

-- WITH in other places.
SELECT * FROM (WITH c AS (SELECT 1 AS a) SELECT a + 1 AS b FROM c) d;
SELECT (WITH c AS (SELECT MAX(id) AS m FROM orders) SELECT m FROM c) AS m;
SELECT id FROM customers WHERE id IN (WITH c AS (SELECT customer_id FROM orders WHERE total > 100) SELECT customer_id FROM c);
SELECT id FROM customers WHERE EXISTS (WITH c AS (SELECT customer_id FROM orders WHERE total > 100) SELECT 1 FROM c WHERE c.customer_id = customers.id);
SELECT id FROM customers c WHERE credit > (WITH d AS (SELECT AVG(credit) AS mean FROM customers) SELECT mean FROM d);
WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x + 1 AS y FROM b) SELECT y FROM a;
WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x FROM b UNION ALL SELECT x + 5 FROM b) SELECT SUM(x) FROM a;
WITH a AS (SELECT 1 AS x) SELECT (WITH a AS (SELECT 2 AS x) SELECT x FROM a) AS inside, x FROM a;
WITH a AS (SELECT 1 AS x) SELECT * FROM a WHERE x IN (SELECT x FROM a WHERE x < (SELECT MAX(n) FROM numbers));
WITH a AS (SELECT id FROM orders WHERE total > 50) SELECT c.name, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id AND o.id IN (SELECT id FROM a)) AS n FROM customers c;
WITH a AS (SELECT 1 AS x) (SELECT x FROM a) UNION ALL (SELECT x + 1 FROM a) ORDER BY x DESC;
WITH a AS (SELECT 1 AS x) SELECT x FROM a UNION SELECT x FROM a;
WITH a AS (SELECT n FROM numbers) SELECT n FROM a WHERE n < 3 UNION ALL SELECT n FROM a WHERE n > 8 ORDER BY n DESC LIMIT 3;
WITH a AS (SELECT n FROM numbers) SELECT n FROM a EXCEPT SELECT n FROM a WHERE n < 8;
WITH a AS (SELECT n FROM numbers) SELECT n FROM a INTERSECT SELECT n + 7 FROM a ORDER BY n;
WITH a AS (SELECT n FROM numbers) SELECT COUNT(*) FROM a GROUP BY n % 3 HAVING COUNT(*) > (SELECT 3 FROM a LIMIT 1);
WITH a AS (SELECT region, SUM(amount) AS s FROM sales GROUP BY region) SELECT region, s, SUM(s) OVER (ORDER BY region) AS running FROM a ORDER BY region;
WITH a AS (SELECT year, region, SUM(amount) AS s FROM sales GROUP BY year, region WITH ROLLUP) SELECT year, s FROM a WHERE region IS NULL ORDER BY year;

-- Names of columns.
WITH c (a, b) AS (SELECT 1, 2 UNION ALL SELECT 3, 4) SELECT a, b FROM c ORDER BY a;
WITH c (`first name`, `order`) AS (SELECT 'x', 'y') SELECT `order`, `first name` FROM c;
WITH c (A) AS (SELECT 1) SELECT a FROM c;
WITH c AS (SELECT 1, 'x', 2 + 2) SELECT `1`, `x`, `2 + 2` FROM c;
WITH c AS (SELECT COUNT(*), MAX(id) FROM orders) SELECT `COUNT(*)`, `MAX(id)` FROM c;
WITH c AS (SELECT * FROM lone l JOIN numbers ON n = l.a) SELECT * FROM c;
WITH c (p, q, r) AS (SELECT * FROM lone) SELECT r, p FROM c;
WITH c (a) AS (SELECT id AS b FROM lone) SELECT c.a FROM c;
WITH c (id, mean) AS (SELECT customer_id, AVG(total) FROM orders WHERE customer_id < 10 GROUP BY customer_id) SELECT name, mean FROM customers LEFT JOIN c USING (id) ORDER BY id;

-- Errors.
-- error 1353, reference 4002
WITH c (a, b) AS (SELECT 1) SELECT * FROM c;
-- error 1060
WITH c AS (SELECT 1 AS a, 2 AS a) SELECT * FROM c;
-- error 1060
WITH c (a, a) AS (SELECT 1, 2) SELECT * FROM c;
-- error 1066, reference 4004
WITH c AS (SELECT 1 AS a), c AS (SELECT 2 AS b) SELECT * FROM c;
-- error 1066
WITH c AS (SELECT 1 AS a) SELECT * FROM c, c;
-- error 1146
WITH c AS (SELECT * FROM absent) SELECT * FROM c;
-- error 1146
WITH c AS (SELECT * FROM d), d AS (SELECT 1) SELECT * FROM c;
-- error 1146
WITH c AS (SELECT * FROM c) SELECT * FROM c;
-- error 1146
SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c) d, c;
-- error 1054
WITH c (a) AS (SELECT id FROM customers) SELECT id FROM c;
-- error 1054
WITH c AS (SELECT 1 AS a) SELECT d.a FROM c;
-- error 1054
WITH c AS (SELECT 1 AS a) SELECT c.a FROM c d;
-- error 1052
WITH c AS (SELECT 1 AS a) SELECT a FROM c x, c y;
-- error 1055
WITH c AS (SELECT city, id FROM customers GROUP BY city) SELECT * FROM c;
-- error 1222
WITH c AS (SELECT 1 UNION SELECT 1, 2) SELECT * FROM c;
-- error 1242
WITH c AS (SELECT n FROM numbers) SELECT (SELECT n FROM c);
-- error 1241
WITH c AS (SELECT 1 AS a, 2 AS b) SELECT 1 IN (SELECT * FROM c);
-- error 1064
WITH SELECT 1;
-- error 1064
WITH c AS SELECT 1 SELECT * FROM c;
-- error 1064
WITH c AS (SELECT 1);
-- error 1064
WITH c AS (SELECT 1), SELECT * FROM c;
-- error 1064
WITH c () AS (SELECT 1) SELECT * FROM c;
-- error 1064
SELECT 1 UNION WITH c AS (SELECT 1) SELECT * FROM c WITH;
