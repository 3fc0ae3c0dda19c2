-- HAVING: over aggregates, aliases, groups and columns of the select list; without GROUP BY; errors.

SELECT status, COUNT(*) FROM orders GROUP BY status HAVING COUNT(*) > 2;
SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING n > 2;
SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING n > 2 AND status <> 'open';
SELECT status FROM orders GROUP BY status HAVING COUNT(*) = 1;
SELECT status FROM orders GROUP BY status HAVING SUM(total) > 100;
SELECT status FROM orders GROUP BY status HAVING SUM(total) IS NULL;
SELECT status FROM orders GROUP BY status HAVING SUM(total) IS NOT NULL AND MAX(total) < 100;
SELECT status FROM orders GROUP BY status HAVING NOT SUM(total) > 100;
SELECT status FROM orders GROUP BY status HAVING MIN(total) < 10 OR COUNT(*) > 3;
SELECT status FROM orders GROUP BY status HAVING status = 'PAID';
SELECT status FROM orders GROUP BY status HAVING status LIKE 'p%';
SELECT status FROM orders GROUP BY status HAVING status IN ('open', 'void');
SELECT status, MAX(total) FROM orders GROUP BY status HAVING MAX(total) BETWEEN 50 AND 150;
SELECT status, MAX(total) AS m FROM orders GROUP BY status HAVING m BETWEEN 50 AND 150 ORDER BY m DESC;
SELECT status, MAX(total) - MIN(total) AS spread FROM orders GROUP BY status HAVING spread > 20;
SELECT status, COUNT(DISTINCT customer_id) AS n FROM orders GROUP BY status HAVING COUNT(DISTINCT customer_id) > 1;
SELECT status, COUNT(*) FROM orders WHERE total > 10 GROUP BY status HAVING COUNT(*) > 1;
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING TRUE;
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING FALSE;
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING NULL;
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING 'x';
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING COUNT(*);
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING COUNT(*) - 3;
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING AVG(total) > 40 AND AVG(total) < 100;
SELECT status, GROUP_CONCAT(id ORDER BY id) AS list FROM orders GROUP BY status HAVING list LIKE '%10%,%';
SELECT status FROM orders GROUP BY status HAVING GROUP_CONCAT(id ORDER BY id) = '103';
SELECT status FROM orders GROUP BY status HAVING BIT_OR(customer_id) > 40;
SELECT status FROM orders GROUP BY status HAVING STDDEV_POP(total) = 0;
SELECT status FROM orders GROUP BY status HAVING MAX(placed) >= '2023-01-01';
SELECT status FROM orders GROUP BY status HAVING LENGTH(status) + COUNT(*) = 8;
SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id HAVING customer_id > 1;
SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id HAVING customer_id IS NULL;
SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id HAVING customer_id IS NOT NULL AND COUNT(*) >= 3;
SELECT customer_id, SUM(total) FROM orders GROUP BY customer_id HAVING SUM(total) > customer_id * 10;
SELECT customer_id AS c, SUM(total) FROM orders GROUP BY customer_id HAVING c > 2;
SELECT customer_id AS c, SUM(total) FROM orders GROUP BY c HAVING c > 2;
SELECT COUNT(*) FROM orders GROUP BY customer_id HAVING customer_id = 3;
SELECT 1 FROM orders GROUP BY customer_id HAVING COUNT(*) > 1;
SELECT SUM(total) FROM orders GROUP BY customer_id HAVING MAX(status) = 'sent';
SELECT YEAR(placed) AS y, COUNT(*) FROM orders GROUP BY y HAVING y = 2023;
SELECT YEAR(placed) AS y, COUNT(*) FROM orders GROUP BY YEAR(placed) HAVING y > 2022;
SELECT total > 50 AS big, COUNT(*) AS n FROM orders GROUP BY big HAVING big IS NOT NULL ORDER BY big;
SELECT order_id, SUM(quantity) FROM items GROUP BY order_id HAVING SUM(quantity * price) > 100;
SELECT order_id FROM items GROUP BY order_id HAVING COUNT(*) > 1 AND COUNT(discount) = 1;
SELECT order_id FROM items GROUP BY order_id HAVING COUNT(*) <> COUNT(discount) ORDER BY order_id DESC;
SELECT product_id, AVG(price) AS mean FROM items GROUP BY product_id HAVING mean <> MAX(price);
SELECT region, year, SUM(amount) AS s FROM sales GROUP BY region, year HAVING s >= 40;
SELECT region, year, SUM(amount) AS s FROM sales GROUP BY region, year HAVING year = 2021 AND s > 20;
SELECT region FROM sales GROUP BY region HAVING COUNT(DISTINCT year) = 3;
SELECT region FROM sales GROUP BY region HAVING MIN(amount) < 0;
SELECT region FROM sales GROUP BY region HAVING COUNT(*) > COUNT(amount);
SELECT a, COUNT(*) FROM gaps GROUP BY a HAVING a IS NULL OR COUNT(*) = 1;
SELECT a, COUNT(*) FROM gaps GROUP BY a HAVING a <> 1;
SELECT a, SUM(b) FROM gaps GROUP BY a HAVING SUM(b) IS NULL;
SELECT a, b, COUNT(*) FROM gaps GROUP BY a, b HAVING a = b;
SELECT a, b, COUNT(*) FROM gaps GROUP BY a, b HAVING a <=> b;
SELECT dept, AVG(salary) AS mean FROM employees WHERE id <> 7 GROUP BY dept HAVING AVG(salary) > 300;
SELECT manager_id, COUNT(*) AS n FROM employees GROUP BY manager_id HAVING n = 2 ORDER BY manager_id;
SELECT name, COUNT(*) FROM categories GROUP BY name HAVING COUNT(*) > 1;
SELECT x FROM pairs GROUP BY x HAVING SUM(w IS NULL) = 1;

-- Without GROUP BY: one group of all rows, or a condition over the select list.
SELECT COUNT(*) FROM orders HAVING COUNT(*) > 5;
SELECT COUNT(*) FROM orders HAVING COUNT(*) > 50;
SELECT COUNT(*) AS n FROM orders HAVING n = 11;
SELECT MAX(total) FROM orders HAVING MIN(total) = 0;
SELECT MAX(total) FROM orders HAVING SUM(customer_id) > 1000;
SELECT MAX(a) FROM nothing HAVING COUNT(*) = 0;
SELECT MAX(a) FROM nothing HAVING MAX(a) IS NULL;
SELECT MAX(a) FROM nothing HAVING MAX(a) > 0;
SELECT 1 FROM orders HAVING COUNT(*) = 11;
SELECT 'x' AS t FROM nothing HAVING COUNT(*) = 0;
SELECT 1 AS a HAVING a = 1;
SELECT 1 AS a HAVING a = 2;
SELECT id, credit * 2 AS twice FROM customers HAVING twice > 150;
SELECT id, name AS n FROM customers HAVING n = 'ADA';

-- Joins, subqueries.
SELECT c.id, COUNT(o.id) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING n <> 1;
SELECT c.id, SUM(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING SUM(o.total) > MAX(c.credit);
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.credit HAVING c.credit > COALESCE(SUM(o.total), 0);
SELECT c.city, COUNT(DISTINCT c.id) AS n FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.city HAVING COUNT(DISTINCT c.id) > 1 AND c.city <> 'oslo';
SELECT k.name FROM categories k LEFT JOIN products p ON p.category_id = k.id GROUP BY k.id, k.name HAVING COUNT(p.id) = 0 ORDER BY k.id;
SELECT p.id FROM products p JOIN items i ON i.product_id = p.id GROUP BY p.id, p.stock HAVING SUM(i.quantity) > p.stock / 2;
SELECT status FROM orders GROUP BY status HAVING SUM(total) = (SELECT MAX(s) FROM (SELECT SUM(total) AS s FROM orders GROUP BY status) d);
SELECT status FROM orders GROUP BY status HAVING COUNT(*) > (SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY status) d);
SELECT customer_id FROM orders GROUP BY customer_id HAVING customer_id IN (SELECT id FROM customers WHERE credit > 50);
SELECT customer_id FROM orders GROUP BY customer_id HAVING NOT EXISTS (SELECT 1 FROM customers WHERE id = customer_id);
SELECT customer_id FROM orders o GROUP BY customer_id HAVING MAX(total) > (SELECT AVG(total) FROM orders p WHERE p.customer_id = o.customer_id);
SELECT d.c, d.n FROM (SELECT customer_id AS c, COUNT(*) AS n FROM orders GROUP BY customer_id HAVING COUNT(*) > 1) d WHERE d.n < 3 OR d.c = 1;
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING SUM(total) > 100);
SELECT status FROM orders GROUP BY status HAVING COUNT(*) > 3 UNION ALL SELECT region FROM sales GROUP BY region HAVING COUNT(*) > 5 ORDER BY 1;

-- An alias and a column of one name.
SELECT id AS total, COUNT(*) FROM orders GROUP BY id HAVING id > 108;
SELECT MAX(total) AS top, status FROM orders GROUP BY status HAVING top > 100 AND top < 200;
SELECT COUNT(*) AS id FROM orders GROUP BY status HAVING COUNT(*) > 2;

-- Errors.
-- error 1054
SELECT status FROM orders GROUP BY status HAVING absent > 1;
-- error 1054
SELECT status FROM orders GROUP BY status HAVING total > 1;
-- error 1054
SELECT COUNT(*) FROM orders HAVING total > 1;
-- error 1054
SELECT status FROM orders GROUP BY status HAVING customer_id = 1;
-- error 1054
SELECT MAX(id) AS m FROM orders HAVING n = 1;
-- error 1054
SELECT id FROM customers HAVING city = 'Oslo';
-- error 1111
SELECT status FROM orders GROUP BY status HAVING SUM(COUNT(*)) > 1;
-- error 1140
SELECT id FROM customers HAVING COUNT(*) > 1;
-- error 1055
SELECT id FROM orders GROUP BY status HAVING COUNT(*) > 1;
-- error 1242
SELECT status FROM orders GROUP BY status HAVING COUNT(*) = (SELECT n FROM numbers);
-- error 1241
SELECT status FROM orders GROUP BY status HAVING COUNT(*) = ALL (SELECT 1, 2);
-- error 1064
SELECT status FROM orders HAVING COUNT(*) > 1 GROUP BY status;
-- error 1064
SELECT status FROM orders GROUP BY status HAVING;
-- error 1064
SELECT status FROM orders GROUP BY status ORDER BY status HAVING COUNT(*) > 1;
