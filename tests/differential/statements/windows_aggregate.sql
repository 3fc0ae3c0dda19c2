-- Aggregates over windows: each of them, partitioned and ordered, over NULL, over groups and joins.

-- Each aggregate: over all rows, over partitions, running, running in partitions.
SELECT id, COUNT(*) OVER () AS v FROM gaps;
SELECT id, COUNT(*) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, COUNT(*) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, COUNT(*) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, COUNT(a) OVER () AS v FROM gaps;
SELECT id, COUNT(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, COUNT(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, COUNT(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, SUM(a) OVER () AS v FROM gaps;
SELECT id, SUM(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, SUM(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, SUM(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, AVG(a) OVER () AS v FROM gaps;
SELECT id, AVG(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, AVG(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, AVG(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, MIN(a) OVER () AS v FROM gaps;
SELECT id, MIN(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, MIN(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, MIN(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, MAX(a) OVER () AS v FROM gaps;
SELECT id, MAX(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, MAX(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, MAX(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, SUM(d) OVER () AS v FROM gaps;
SELECT id, SUM(d) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, SUM(d) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, SUM(d) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, AVG(d) OVER () AS v FROM gaps;
SELECT id, AVG(d) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, AVG(d) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, AVG(d) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, MIN(c) OVER () AS v FROM gaps;
SELECT id, MIN(c) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, MIN(c) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, MAX(e) OVER () AS v FROM gaps;
SELECT id, MAX(e) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, MAX(e) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, MAX(e) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, BIT_OR(a) OVER () AS v FROM gaps;
SELECT id, BIT_OR(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, BIT_OR(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, BIT_OR(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, BIT_AND(a) OVER () AS v FROM gaps;
SELECT id, BIT_AND(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, BIT_AND(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, BIT_AND(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, BIT_XOR(a) OVER () AS v FROM gaps;
SELECT id, BIT_XOR(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, BIT_XOR(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, BIT_XOR(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, STDDEV_POP(a) OVER () AS v FROM gaps;
SELECT id, STDDEV_POP(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, STDDEV_POP(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, STDDEV_POP(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;
SELECT id, VAR_SAMP(a) OVER () AS v FROM gaps;
SELECT id, VAR_SAMP(a) OVER (PARTITION BY b) AS v FROM gaps;
SELECT id, VAR_SAMP(a) OVER (ORDER BY id) AS v FROM gaps;
SELECT id, VAR_SAMP(a) OVER (PARTITION BY b ORDER BY a) AS v FROM gaps;

-- Each type.
SELECT id, MIN(i) OVER (ORDER BY id) AS lo, MAX(i) OVER (ORDER BY id) AS hi, COUNT(i) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(u) OVER (ORDER BY id) AS lo, MAX(u) OVER (ORDER BY id) AS hi, COUNT(u) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(d) OVER (ORDER BY id) AS lo, MAX(d) OVER (ORDER BY id) AS hi, COUNT(d) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(f) OVER (ORDER BY id) AS lo, MAX(f) OVER (ORDER BY id) AS hi, COUNT(f) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(b) OVER (ORDER BY id) AS lo, MAX(b) OVER (ORDER BY id) AS hi, COUNT(b) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(dt) OVER (ORDER BY id) AS lo, MAX(dt) OVER (ORDER BY id) AS hi, COUNT(dt) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(ts) OVER (ORDER BY id) AS lo, MAX(ts) OVER (ORDER BY id) AS hi, COUNT(ts) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, MIN(tm) OVER (ORDER BY id) AS lo, MAX(tm) OVER (ORDER BY id) AS hi, COUNT(tm) OVER (ORDER BY id) AS n FROM mixed WHERE id < 8;
SELECT id, SUM(i) OVER (ORDER BY id) AS s, AVG(i) OVER (ORDER BY id) AS m FROM mixed WHERE id <> 4;
SELECT id, SUM(d) OVER (ORDER BY id) AS s, AVG(d) OVER (ORDER BY id) AS m FROM mixed WHERE id <> 4;
SELECT id, SUM(f) OVER (ORDER BY id) AS s, AVG(f) OVER (ORDER BY id) AS m FROM mixed WHERE id <> 4;

-- Running totals and shares.
SELECT n, SUM(n) OVER (ORDER BY n) AS s FROM numbers;
SELECT n, SUM(n) OVER (ORDER BY n DESC) AS s FROM numbers;
SELECT n, SUM(n) OVER (ORDER BY n % 3) AS s FROM numbers;
SELECT n, SUM(n) OVER (ORDER BY n % 3, n) AS s FROM numbers;
SELECT n, COUNT(*) OVER (ORDER BY n DIV 4) AS k FROM numbers;
SELECT n, AVG(n) OVER (PARTITION BY n % 2 ORDER BY n) AS m FROM numbers;
SELECT n, n / SUM(n) OVER () AS part FROM numbers;
SELECT n, n - AVG(n) OVER () AS off FROM numbers;
SELECT n, SUM(n) OVER (ORDER BY n) - n AS before_it FROM numbers;
SELECT n, SUM(n) OVER (ORDER BY n) / SUM(n) OVER () AS part FROM numbers;
SELECT n, SUM(n * n) OVER (ORDER BY n) AS s FROM numbers;
SELECT n, SUM(IF(n % 2, n, 0)) OVER (ORDER BY n) AS odd FROM numbers;
SELECT n, SUM(1) OVER (ORDER BY n) AS k, SUM(n > 5) OVER (ORDER BY n) AS big FROM numbers;
SELECT n, MAX(n) OVER (ORDER BY n) = n AS top FROM numbers;
SELECT n, MIN(n % 4) OVER (ORDER BY n DESC) AS m FROM numbers;
SELECT id, COUNT(*) OVER (PARTITION BY status) AS k FROM orders;
SELECT id, SUM(total) OVER (PARTITION BY status ORDER BY id) AS s FROM orders;
SELECT id, SUM(total) OVER (PARTITION BY customer_id ORDER BY placed, id) AS s FROM orders;
SELECT id, total, total - AVG(total) OVER (PARTITION BY status) AS off FROM orders;
SELECT id, total = MAX(total) OVER (PARTITION BY status) AS top FROM orders;
SELECT id, total / SUM(total) OVER (PARTITION BY status) AS part FROM orders WHERE status <> 'void';
SELECT id, COUNT(total) OVER (ORDER BY placed) AS k FROM orders;
SELECT id, MIN(placed) OVER (PARTITION BY customer_id) AS first_one, MAX(placed) OVER (PARTITION BY customer_id) AS last_one FROM orders;
SELECT id, COUNT(*) OVER (PARTITION BY YEAR(placed), MONTH(placed)) AS k FROM orders;
SELECT id, COUNT(*) OVER (PARTITION BY city) AS k, SUM(credit) OVER (PARTITION BY city) AS s FROM customers;
SELECT id, SUM(credit) OVER (ORDER BY joined) AS s FROM customers;
SELECT id, AVG(credit) OVER (ORDER BY credit) AS m FROM customers;
SELECT id, MAX(name) OVER (PARTITION BY city) AS m FROM customers WHERE id <> 6;
SELECT name, SUM(salary) OVER (PARTITION BY dept ORDER BY hired, id) AS s FROM employees;
SELECT name, AVG(salary) OVER (PARTITION BY manager_id) AS m, COUNT(*) OVER (PARTITION BY manager_id) AS k FROM employees;
SELECT name, salary > AVG(salary) OVER (PARTITION BY dept) AS above FROM employees;
SELECT year, quarter, region, SUM(amount) OVER (PARTITION BY region ORDER BY year, quarter) AS s FROM sales;
SELECT year, quarter, region, SUM(amount) OVER (PARTITION BY year) AS s, SUM(amount) OVER (PARTITION BY region) AS r, SUM(amount) OVER () AS t FROM sales;
SELECT year, quarter, region, amount * 100 / SUM(amount) OVER (PARTITION BY year) AS pct FROM sales;
SELECT x, y, SUM(w) OVER (PARTITION BY x) AS row_sum, SUM(w) OVER (PARTITION BY y) AS column_sum FROM pairs;
SELECT x, y, COUNT(*) OVER (PARTITION BY v) AS k FROM pairs;
SELECT COUNT(*) OVER () AS k FROM nothing;
SELECT SUM(a) OVER () AS k, COUNT(*) OVER () AS n FROM lone;
SELECT COUNT(*) OVER () AS k;
SELECT COUNT(*) OVER () AS k FROM customers WHERE id > 5;
SELECT id, COUNT(*) OVER () AS k FROM customers ORDER BY id LIMIT 2;
SELECT id, COUNT(*) OVER (PARTITION BY NULL) AS k FROM customers;
SELECT id, SUM(NULL) OVER (ORDER BY id) AS k FROM customers;

-- Over groups: aggregates of aggregates.
SELECT status, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS t FROM orders GROUP BY status;
SELECT status, SUM(total) AS s, SUM(SUM(total)) OVER (ORDER BY status) AS running FROM orders GROUP BY status;
SELECT status, COUNT(*) / SUM(COUNT(*)) OVER () AS part FROM orders GROUP BY status;
SELECT status, COUNT(*) OVER () AS groups_of_all FROM orders GROUP BY status;
SELECT status, AVG(MAX(total)) OVER () AS m FROM orders GROUP BY status;
SELECT customer_id, status, COUNT(*), SUM(COUNT(*)) OVER (PARTITION BY customer_id) AS k FROM orders GROUP BY customer_id, status;
SELECT year, region, SUM(amount), SUM(SUM(amount)) OVER (PARTITION BY year ORDER BY region) AS s FROM sales GROUP BY year, region;
SELECT year, region, SUM(amount) - AVG(SUM(amount)) OVER (PARTITION BY region) AS off FROM sales GROUP BY year, region;
SELECT region, MAX(SUM(amount)) OVER () - SUM(amount) AS behind FROM sales GROUP BY region HAVING SUM(amount) > 0;
SELECT COUNT(*), SUM(COUNT(*)) OVER () AS t FROM orders;
SELECT dept, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) AS s FROM employees WHERE id <> 7 GROUP BY dept;

-- Joins, subqueries, derived tables, other clauses.
SELECT c.id, o.id, SUM(o.total) OVER (PARTITION BY c.id ORDER BY o.id) AS s FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT c.id, COUNT(o.id) OVER (PARTITION BY c.city) AS k FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT o.id, i.line, i.quantity * i.price AS amount, SUM(i.quantity * i.price) OVER (PARTITION BY o.id) AS s FROM orders o JOIN items i ON i.order_id = o.id;
SELECT p.name, SUM(i.quantity) OVER (PARTITION BY p.id) AS sold FROM products p LEFT JOIN items i ON i.product_id = p.id;
SELECT d.id FROM (SELECT id, total, AVG(total) OVER (PARTITION BY status) AS m FROM orders) d WHERE d.total > d.m;
SELECT d.status, d.s FROM (SELECT DISTINCT status, SUM(total) OVER (PARTITION BY status) AS s FROM orders) d ORDER BY d.s;
SELECT MAX(s) FROM (SELECT SUM(total) OVER (ORDER BY id) AS s FROM orders) d;
WITH w AS (SELECT id, SUM(total) OVER (ORDER BY id) AS s FROM orders) SELECT MIN(id) FROM w WHERE s > 300;
SELECT id, SUM(total) OVER (ORDER BY id) AS s FROM orders ORDER BY s DESC, id LIMIT 3;
SELECT id FROM orders ORDER BY COUNT(*) OVER (PARTITION BY status) DESC, id;
SELECT id, COUNT(*) OVER (PARTITION BY status) + COUNT(*) OVER (PARTITION BY customer_id) AS k FROM orders;
SELECT id, CASE WHEN SUM(total) OVER (ORDER BY id) > 200 THEN 'late' ELSE 'early' END AS t FROM orders;
SELECT id, SUM((SELECT COUNT(*) FROM items i WHERE i.order_id = o.id)) OVER (ORDER BY id) AS s FROM orders o;
SELECT id, SUM(total) OVER (PARTITION BY customer_id IN (SELECT id FROM customers)) AS s FROM orders;
SELECT id, COUNT(*) OVER (PARTITION BY status) AS k FROM orders UNION ALL SELECT id, COUNT(*) OVER () FROM lone;
SELECT id FROM customers c WHERE 3 IN (SELECT COUNT(*) OVER () FROM orders o WHERE o.customer_id = c.id);

-- Errors.
-- error 3593, reference 4015
SELECT id FROM orders WHERE SUM(total) OVER () > 1;
-- error 3593, reference 4015
SELECT COUNT(*) FROM orders GROUP BY SUM(total) OVER ();
-- error 3593, reference 4015
SELECT c.id FROM customers c JOIN orders o ON COUNT(*) OVER () = 1;
-- error 1054
SELECT SUM(absent) OVER () FROM orders;
-- error 1054
SELECT SUM(total) OVER (PARTITION BY absent) FROM orders;
-- error 1055, reference 0
SELECT status, SUM(total) OVER () FROM orders GROUP BY status;
-- error 1064
SELECT SUM(total) OVER FROM orders;
-- error 1064
SELECT SUM() OVER () FROM orders;
-- error 1064
SELECT UPPER(status) OVER () FROM orders;
-- error 1064
SELECT SUM(total) OVER (PARTITION status) FROM orders;
-- error 1064
SELECT SUM(total) OVER (BY status) FROM orders;
