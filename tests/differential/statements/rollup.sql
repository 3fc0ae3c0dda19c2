-- GROUP BY ... WITH ROLLUP. MariaDB refuses ORDER BY beside it, so that it is in a derived table where order matters.

SELECT status, COUNT(*) FROM orders GROUP BY status WITH ROLLUP;
SELECT status, SUM(total) FROM orders GROUP BY status WITH ROLLUP;
SELECT status, AVG(total), MIN(total), MAX(total) FROM orders GROUP BY status WITH ROLLUP;
SELECT status, COUNT(DISTINCT customer_id) FROM orders GROUP BY status WITH ROLLUP;
SELECT status, GROUP_CONCAT(id ORDER BY id) FROM orders GROUP BY status WITH ROLLUP;
SELECT COUNT(*) FROM orders GROUP BY status WITH ROLLUP;
SELECT status FROM orders GROUP BY status WITH ROLLUP;
SELECT status, customer_id, COUNT(*) FROM orders GROUP BY status, customer_id WITH ROLLUP;
SELECT customer_id, status, SUM(total) FROM orders GROUP BY customer_id, status WITH ROLLUP;
SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id WITH ROLLUP;
SELECT year, SUM(amount) FROM sales GROUP BY year WITH ROLLUP;
SELECT year, quarter, SUM(amount) FROM sales GROUP BY year, quarter WITH ROLLUP;
SELECT year, quarter, region, SUM(amount) FROM sales GROUP BY year, quarter, region WITH ROLLUP;
SELECT region, year, SUM(amount), COUNT(*), COUNT(amount) FROM sales GROUP BY region, year WITH ROLLUP;
SELECT region, AVG(amount), STDDEV_POP(amount), BIT_OR(quarter) FROM sales GROUP BY region WITH ROLLUP;
SELECT year, COUNT(DISTINCT region), MIN(region), MAX(region) FROM sales GROUP BY year WITH ROLLUP;
SELECT year, SUM(DISTINCT amount) FROM sales GROUP BY year WITH ROLLUP;
SELECT region, SUM(amount) FROM sales WHERE year = 2021 GROUP BY region WITH ROLLUP;
SELECT region, SUM(amount) FROM sales WHERE year = 1999 GROUP BY region WITH ROLLUP;
SELECT a, COUNT(*) FROM nothing GROUP BY a WITH ROLLUP;
SELECT a, name, COUNT(*) FROM nothing GROUP BY a, name WITH ROLLUP;
SELECT a, COUNT(*) FROM lone GROUP BY a WITH ROLLUP;
SELECT a, name, COUNT(*) FROM lone GROUP BY a, name WITH ROLLUP;
SELECT a, COUNT(*) FROM gaps GROUP BY a WITH ROLLUP;
SELECT a, b, COUNT(*) FROM gaps GROUP BY a, b WITH ROLLUP;
SELECT a, b, SUM(d) FROM gaps GROUP BY a, b WITH ROLLUP;
SELECT d, COUNT(*) FROM gaps GROUP BY d WITH ROLLUP;
SELECT e, COUNT(*) FROM gaps GROUP BY e WITH ROLLUP;
SELECT x, y, SUM(w) FROM pairs GROUP BY x, y WITH ROLLUP;
SELECT y, x, SUM(w) FROM pairs GROUP BY y, x WITH ROLLUP;
SELECT x, COUNT(v), COUNT(*) FROM pairs GROUP BY x WITH ROLLUP;
SELECT order_id, SUM(quantity * price) FROM items GROUP BY order_id WITH ROLLUP;
SELECT order_id, line, SUM(quantity) FROM items WHERE order_id < 104 GROUP BY order_id, line WITH ROLLUP;
SELECT src, MAX(weight) FROM edges GROUP BY src WITH ROLLUP;
SELECT dept, SUM(salary) FROM employees WHERE id <> 7 GROUP BY dept WITH ROLLUP;
SELECT manager_id, COUNT(*), AVG(salary) FROM employees GROUP BY manager_id WITH ROLLUP;
SELECT joined, COUNT(*) FROM customers GROUP BY joined WITH ROLLUP;
SELECT credit, COUNT(*) FROM customers GROUP BY credit WITH ROLLUP;

-- Expressions, aliases, positions.
SELECT YEAR(placed) AS y, COUNT(*) FROM orders GROUP BY y WITH ROLLUP;
SELECT YEAR(placed) AS y, MONTH(placed) AS m, SUM(total) FROM orders GROUP BY y, m WITH ROLLUP;
SELECT YEAR(placed), COUNT(*) FROM orders GROUP BY YEAR(placed) WITH ROLLUP;
SELECT id % 3 AS r, COUNT(*), SUM(id) FROM customers GROUP BY r WITH ROLLUP;
SELECT total > 50 AS big, COUNT(*) FROM orders GROUP BY big WITH ROLLUP;
SELECT status, COUNT(*) FROM orders GROUP BY 1 WITH ROLLUP;
SELECT year, region, SUM(amount) FROM sales GROUP BY 2, 1 WITH ROLLUP;
SELECT year AS y, region AS r, SUM(amount) AS s FROM sales GROUP BY y, r WITH ROLLUP;
SELECT IFNULL(region, 'all') AS r, SUM(amount) AS s FROM sales GROUP BY region WITH ROLLUP;
SELECT COALESCE(status, 'total') AS s, COUNT(*) AS n FROM orders GROUP BY status WITH ROLLUP;
SELECT CASE WHEN total > 50 THEN 'big' ELSE 'small' END AS size, COUNT(*) FROM orders GROUP BY size WITH ROLLUP;
SELECT year, SUM(amount) + 1, SUM(amount) * 2 FROM sales GROUP BY year WITH ROLLUP;
SELECT status, 'x' AS k, 1 + 1 AS two, COUNT(*) FROM orders GROUP BY status WITH ROLLUP;

-- HAVING.
SELECT status, COUNT(*) FROM orders GROUP BY status WITH ROLLUP HAVING COUNT(*) > 2;
SELECT status, COUNT(*) AS n FROM orders GROUP BY status WITH ROLLUP HAVING n < 4;
SELECT year, region, SUM(amount) AS s FROM sales GROUP BY year, region WITH ROLLUP HAVING s > 40;
SELECT region, SUM(amount) AS s FROM sales GROUP BY region WITH ROLLUP HAVING SUM(amount) IS NOT NULL;
SELECT region, SUM(amount) AS s FROM sales GROUP BY region WITH ROLLUP HAVING FALSE;

-- Joins, derived tables, subqueries, set operations.
SELECT c.id, o.status, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id, o.status WITH ROLLUP;
SELECT c.id, COUNT(o.id), SUM(o.total) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id WITH ROLLUP;
SELECT k.name, p.name, SUM(i.quantity) FROM categories k JOIN products p ON p.category_id = k.id JOIN items i ON i.product_id = p.id GROUP BY k.name, p.name WITH ROLLUP;
SELECT * FROM (SELECT year, SUM(amount) AS s FROM sales GROUP BY year WITH ROLLUP) d ORDER BY year;
SELECT * FROM (SELECT year, region, SUM(amount) AS s FROM sales GROUP BY year, region WITH ROLLUP) d ORDER BY year, region;
SELECT * FROM (SELECT year, region, SUM(amount) AS s FROM sales GROUP BY year, region WITH ROLLUP) d ORDER BY year DESC, region DESC LIMIT 5;
SELECT s FROM (SELECT year, SUM(amount) AS s FROM sales GROUP BY year WITH ROLLUP) d WHERE year IS NULL;
SELECT year, s FROM (SELECT year, region, SUM(amount) AS s FROM sales GROUP BY year, region WITH ROLLUP) d WHERE region IS NULL AND year IS NOT NULL ORDER BY year;
SELECT COUNT(*), MAX(s) FROM (SELECT year, region, SUM(amount) AS s FROM sales GROUP BY year, region WITH ROLLUP) d;
SELECT d.status, c.n FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status WITH ROLLUP) d JOIN (SELECT COUNT(*) AS n FROM orders) c ON c.n = d.n;
SELECT id FROM customers WHERE id IN (SELECT COUNT(*) FROM orders GROUP BY status WITH ROLLUP);
SELECT 11 IN (SELECT COUNT(*) FROM orders GROUP BY status WITH ROLLUP), 12 IN (SELECT COUNT(*) FROM orders GROUP BY status WITH ROLLUP);
SELECT status, COUNT(*) FROM orders GROUP BY status WITH ROLLUP UNION ALL SELECT region, COUNT(*) FROM sales GROUP BY region WITH ROLLUP;
SELECT DISTINCT n FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status WITH ROLLUP) d;
WITH r AS (SELECT region, SUM(amount) AS s FROM sales GROUP BY region WITH ROLLUP) SELECT a.region, a.s / b.s FROM r a JOIN r b ON b.region IS NULL;

-- Errors.
-- error 1055
SELECT status, customer_id, COUNT(*) FROM orders GROUP BY status WITH ROLLUP;
-- error 1054
SELECT status, COUNT(*) FROM orders GROUP BY absent WITH ROLLUP;
-- error 1111
SELECT COUNT(*) FROM orders GROUP BY COUNT(*) WITH ROLLUP;
-- error 1064
SELECT status, COUNT(*) FROM orders WITH ROLLUP;
-- error 1064
SELECT status, COUNT(*) FROM orders GROUP BY WITH ROLLUP;
-- error 1054
SELECT status, COUNT(*) FROM orders GROUP BY rolled WITH ROLLUP;
-- error 1064
SELECT status, COUNT(*) FROM orders GROUP BY status ROLLUP;
