-- ROW_NUMBER, RANK, DENSE_RANK, NTILE, PERCENT_RANK, CUME_DIST.

-- ROW_NUMBER.
SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM customers ORDER BY id;
SELECT id, ROW_NUMBER() OVER (ORDER BY name, id) AS r FROM customers ORDER BY r;
SELECT id, ROW_NUMBER() OVER (ORDER BY city, id) AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (ORDER BY city DESC, id) AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (ORDER BY city IS NULL, city, id) AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (PARTITION BY status ORDER BY id) AS r FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY status ORDER BY total DESC, id) AS r FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed, id) AS r FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id, status ORDER BY id) AS r FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id IS NULL ORDER BY id) AS r FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY YEAR(placed) ORDER BY id DESC) AS r FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY id) AS r FROM orders;
-- error 3592, reference 0
SELECT id, ROW_NUMBER() OVER (PARTITION BY 1 ORDER BY id) AS r FROM orders;
SELECT COUNT(*), MAX(r) FROM (SELECT ROW_NUMBER() OVER () AS r FROM orders) d;
SELECT status, MAX(r) FROM (SELECT status, ROW_NUMBER() OVER (PARTITION BY status) AS r FROM orders) d GROUP BY status;
SELECT ROW_NUMBER() OVER (ORDER BY id) AS r FROM nothing;
SELECT ROW_NUMBER() OVER (ORDER BY id) AS r FROM lone;
SELECT ROW_NUMBER() OVER () AS r;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) * 10 AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) % 2 = 0 AS even FROM customers;
SELECT id, -ROW_NUMBER() OVER (ORDER BY id) AS r FROM customers;
SELECT id, CONCAT('#', ROW_NUMBER() OVER (ORDER BY id)) AS r FROM customers;
SELECT id, IF(ROW_NUMBER() OVER (ORDER BY credit DESC, id) <= 3, 'top', 'rest') AS r FROM customers;
SELECT id, CASE ROW_NUMBER() OVER (ORDER BY id) WHEN 1 THEN 'first' ELSE 'later' END AS r FROM customers;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) - ROW_NUMBER() OVER (ORDER BY name, id) AS r FROM customers;
SELECT x, y, ROW_NUMBER() OVER (PARTITION BY x ORDER BY y) AS r, ROW_NUMBER() OVER (PARTITION BY y ORDER BY x) AS s FROM pairs;

-- RANK and DENSE_RANK.
SELECT id, RANK() OVER (ORDER BY credit) AS r FROM customers;
SELECT id, RANK() OVER (ORDER BY credit DESC) AS r FROM customers;
SELECT id, DENSE_RANK() OVER (ORDER BY credit) AS r FROM customers;
SELECT id, DENSE_RANK() OVER (ORDER BY credit DESC) AS r FROM customers;
SELECT id, RANK() OVER (ORDER BY city) AS r, DENSE_RANK() OVER (ORDER BY city) AS d FROM customers;
SELECT id, RANK() OVER (ORDER BY name) AS r, DENSE_RANK() OVER (ORDER BY name) AS d FROM customers;
SELECT id, RANK() OVER (ORDER BY joined) AS r, DENSE_RANK() OVER (ORDER BY joined DESC) AS d FROM customers;
SELECT id, RANK() OVER (ORDER BY city, credit) AS r FROM customers;
SELECT id, RANK() OVER (ORDER BY total DESC) AS r, DENSE_RANK() OVER (ORDER BY total DESC) AS d FROM orders;
SELECT id, RANK() OVER (PARTITION BY status ORDER BY total DESC) AS r FROM orders;
SELECT id, RANK() OVER (PARTITION BY status ORDER BY customer_id) AS r, DENSE_RANK() OVER (PARTITION BY status ORDER BY customer_id) AS d FROM orders;
SELECT id, RANK() OVER (ORDER BY placed) AS r FROM orders;
SELECT id, RANK() OVER (ORDER BY DATE(placed) DESC, total) AS r FROM orders;
SELECT id, RANK() OVER (ORDER BY total IS NULL, total) AS r FROM orders;
SELECT id, RANK() OVER (ORDER BY total > 50) AS r, DENSE_RANK() OVER (ORDER BY total > 50) AS d FROM orders;
SELECT name, RANK() OVER (ORDER BY salary DESC) AS r, DENSE_RANK() OVER (ORDER BY salary DESC) AS d, ROW_NUMBER() OVER (ORDER BY salary DESC, id) AS n FROM employees;
SELECT name, RANK() OVER (PARTITION BY dept ORDER BY salary DESC) AS r FROM employees;
SELECT name, DENSE_RANK() OVER (PARTITION BY manager_id ORDER BY hired) AS r FROM employees;
SELECT name, RANK() OVER (ORDER BY YEAR(hired)) AS r FROM employees;
SELECT year, quarter, region, RANK() OVER (PARTITION BY year ORDER BY amount DESC) AS r FROM sales;
SELECT year, quarter, region, DENSE_RANK() OVER (PARTITION BY region ORDER BY year) AS r FROM sales;
SELECT x, y, RANK() OVER (ORDER BY w) AS r FROM pairs;
SELECT x, y, RANK() OVER (ORDER BY v) AS r, DENSE_RANK() OVER (ORDER BY v) AS d FROM pairs;
SELECT id, RANK() OVER (ORDER BY a) AS r, DENSE_RANK() OVER (ORDER BY a) AS d FROM gaps;
SELECT id, RANK() OVER (ORDER BY a, b) AS r FROM gaps;
SELECT id, RANK() OVER (PARTITION BY a ORDER BY b DESC) AS r FROM gaps;
SELECT id, DENSE_RANK() OVER (ORDER BY d DESC) AS r FROM gaps;
SELECT id, DENSE_RANK() OVER (ORDER BY e) AS r FROM gaps;
SELECT id, RANK() OVER (ORDER BY i) AS r1, RANK() OVER (ORDER BY u) AS r2, RANK() OVER (ORDER BY d) AS r3, RANK() OVER (ORDER BY f) AS r4 FROM mixed;
SELECT id, RANK() OVER (ORDER BY s) AS r1, RANK() OVER (ORDER BY b) AS r2, RANK() OVER (ORDER BY vb) AS r3 FROM mixed;
SELECT id, RANK() OVER (ORDER BY dt) AS r1, RANK() OVER (ORDER BY ts) AS r2, RANK() OVER (ORDER BY tm) AS r3 FROM mixed;
SELECT n, RANK() OVER (ORDER BY n % 3) AS r, DENSE_RANK() OVER (ORDER BY n % 3) AS d FROM numbers;
SELECT n, DENSE_RANK() OVER (PARTITION BY n % 2 ORDER BY n DESC) AS d FROM numbers;
SELECT RANK() OVER (ORDER BY a) AS r FROM nothing;

-- NTILE.
SELECT n, NTILE(1) OVER (ORDER BY n) AS t FROM numbers;
SELECT n, NTILE(2) OVER (ORDER BY n) AS t FROM numbers;
SELECT n, NTILE(3) OVER (ORDER BY n) AS t FROM numbers;
SELECT n, NTILE(4) OVER (ORDER BY n DESC) AS t FROM numbers;
SELECT n, NTILE(7) OVER (ORDER BY n) AS t FROM numbers;
SELECT n, NTILE(10) OVER (ORDER BY n) AS t FROM numbers;
SELECT n, NTILE(100) OVER (ORDER BY n) AS t FROM numbers;
SELECT n, NTILE(2) OVER (PARTITION BY n % 3 ORDER BY n) AS t FROM numbers;
SELECT id, NTILE(3) OVER (ORDER BY credit DESC, id) AS t FROM customers;
SELECT id, NTILE(2) OVER (PARTITION BY status ORDER BY id) AS t FROM orders;
SELECT NTILE(3) OVER (ORDER BY id) AS t FROM nothing;
SELECT NTILE(3) OVER (ORDER BY id) AS t FROM lone;
SELECT t, COUNT(*) FROM (SELECT NTILE(4) OVER (ORDER BY id) AS t FROM orders) d GROUP BY t;

-- PERCENT_RANK and CUME_DIST.
SELECT n, PERCENT_RANK() OVER (ORDER BY n) AS p FROM numbers;
SELECT n, CUME_DIST() OVER (ORDER BY n) AS c FROM numbers;
SELECT n, CUME_DIST() OVER (ORDER BY n DESC) AS c FROM numbers;
SELECT n, PERCENT_RANK() OVER (ORDER BY n % 3) AS p, CUME_DIST() OVER (ORDER BY n % 3) AS c FROM numbers;
SELECT n, PERCENT_RANK() OVER (PARTITION BY n % 3 ORDER BY n) AS p, CUME_DIST() OVER (PARTITION BY n % 3 ORDER BY n) AS c FROM numbers;
SELECT id, PERCENT_RANK() OVER (ORDER BY credit) AS p, CUME_DIST() OVER (ORDER BY credit) AS c FROM customers;
SELECT id, PERCENT_RANK() OVER (PARTITION BY status ORDER BY total) AS p FROM orders;
SELECT id, CUME_DIST() OVER (PARTITION BY status ORDER BY total DESC) AS c FROM orders;
SELECT name, PERCENT_RANK() OVER (ORDER BY salary) AS p, CUME_DIST() OVER (ORDER BY salary) AS c FROM employees;
SELECT id, PERCENT_RANK() OVER (ORDER BY a) AS p, CUME_DIST() OVER (ORDER BY a) AS c FROM gaps;
SELECT PERCENT_RANK() OVER (ORDER BY id) AS p, CUME_DIST() OVER (ORDER BY id) AS c FROM lone;
SELECT PERCENT_RANK() OVER (ORDER BY id) AS p, CUME_DIST() OVER (ORDER BY id) AS c FROM nothing;
SELECT id, PERCENT_RANK() OVER (PARTITION BY id ORDER BY id) AS p FROM customers;

-- Over groups and joins.
SELECT status, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM orders GROUP BY status;
SELECT status, SUM(total) AS s, ROW_NUMBER() OVER (ORDER BY SUM(total) DESC) AS r FROM orders GROUP BY status;
SELECT customer_id, COUNT(*) AS n, DENSE_RANK() OVER (ORDER BY COUNT(*)) AS r FROM orders GROUP BY customer_id;
SELECT region, year, SUM(amount) AS s, RANK() OVER (PARTITION BY region ORDER BY SUM(amount) DESC) AS r FROM sales GROUP BY region, year;
SELECT dept, AVG(salary), RANK() OVER (ORDER BY AVG(salary) DESC) AS r FROM employees WHERE id <> 7 GROUP BY dept;
SELECT status, RANK() OVER (ORDER BY status) AS r FROM orders GROUP BY status HAVING COUNT(*) > 1;
SELECT c.name, o.id, ROW_NUMBER() OVER (PARTITION BY c.id ORDER BY o.placed, o.id) AS r FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT c.id, o.id, RANK() OVER (ORDER BY o.total) AS r FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT k.name, p.name, RANK() OVER (PARTITION BY k.id ORDER BY p.price DESC) AS r FROM products p LEFT JOIN categories k ON k.id = p.category_id;
SELECT a.n, b.n, DENSE_RANK() OVER (ORDER BY a.n * b.n) AS d FROM numbers a, numbers b WHERE a.n < 4 AND b.n < 4;

-- In derived tables, CTEs, ORDER BY, DISTINCT.
SELECT id, r FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY status ORDER BY total DESC, id) AS r FROM orders) d WHERE r = 1 ORDER BY id;
SELECT id, r FROM (SELECT id, RANK() OVER (ORDER BY total DESC) AS r FROM orders) d WHERE r <= 3;
SELECT COUNT(*) FROM (SELECT DENSE_RANK() OVER (ORDER BY status) AS r FROM orders) d WHERE r = 2;
WITH r AS (SELECT id, customer_id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed DESC, id) AS n FROM orders) SELECT c.name, r.id FROM customers c LEFT JOIN r ON r.customer_id = c.id AND r.n = 1;
WITH r AS (SELECT n, NTILE(3) OVER (ORDER BY n) AS t FROM numbers) SELECT t, MIN(n), MAX(n), COUNT(*) FROM r GROUP BY t ORDER BY t;
SELECT id FROM orders ORDER BY ROW_NUMBER() OVER (ORDER BY total DESC, id);
SELECT id FROM orders ORDER BY RANK() OVER (ORDER BY status), id DESC;
SELECT id, RANK() OVER (ORDER BY status) AS r FROM orders ORDER BY r DESC, id LIMIT 4;
SELECT DISTINCT RANK() OVER (ORDER BY status) AS r FROM orders;
SELECT DISTINCT status, DENSE_RANK() OVER (ORDER BY status) AS d FROM orders ORDER BY d;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r FROM customers WHERE id > 4;
SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS r FROM customers ORDER BY id LIMIT 3;
SELECT ROW_NUMBER() OVER (ORDER BY id) AS r FROM lone UNION ALL SELECT RANK() OVER (ORDER BY n) FROM numbers WHERE n < 3;
SELECT (SELECT MAX(r) FROM (SELECT RANK() OVER (ORDER BY credit) AS r FROM customers) d) AS m;
SELECT id, ROW_NUMBER() OVER (ORDER BY (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) DESC, id) AS r FROM customers c;

-- Errors.
-- error 3593, reference 4015
SELECT id FROM customers WHERE ROW_NUMBER() OVER (ORDER BY id) = 1;
-- error 3593, reference 4015
SELECT id FROM customers GROUP BY ROW_NUMBER() OVER (ORDER BY id);
-- error 1054
SELECT id, RANK() OVER (ORDER BY absent) FROM customers;
-- error 1054
SELECT id, RANK() OVER (PARTITION BY absent ORDER BY id) FROM customers;
-- error 1055, reference 0
SELECT status, RANK() OVER (ORDER BY total) FROM orders GROUP BY status;
-- error 1064
SELECT id, ROW_NUMBER() FROM customers;
-- error 1064
SELECT id, ROW_NUMBER(id) OVER (ORDER BY id) FROM customers;
-- error 1064
SELECT id, ROW_NUMBER() OVER ORDER BY id FROM customers;
-- error 1064
SELECT id, RANK() OVER (ORDER id) FROM customers;
-- error 1064
SELECT id, RANK() OVER (ORDER BY id PARTITION BY name) FROM customers;
-- error 1064
SELECT id, NTILE() OVER (ORDER BY id) FROM customers;
