-- LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE.

SELECT n, LAG(n) OVER (ORDER BY n) AS l FROM numbers;
SELECT n, LEAD(n) OVER (ORDER BY n) AS l FROM numbers;
SELECT n, LAG(n, 1) OVER (ORDER BY n DESC) AS l FROM numbers;
SELECT n, LAG(n, 3) OVER (ORDER BY n) AS l, LEAD(n, 3) OVER (ORDER BY n) AS m FROM numbers;
SELECT n, LAG(n, 0) OVER (ORDER BY n) AS l, LEAD(n, 0) OVER (ORDER BY n) AS m FROM numbers;
SELECT n, LAG(n, 100) OVER (ORDER BY n) AS l FROM numbers;
SELECT n, n - LAG(n) OVER (ORDER BY n) AS step FROM numbers;
SELECT n, LAG(n * n) OVER (ORDER BY n) + 1 AS l FROM numbers;
SELECT n, COALESCE(LAG(n) OVER (ORDER BY n), 0) AS l FROM numbers;
SELECT n, IFNULL(LEAD(n, 2) OVER (ORDER BY n), -1) AS l FROM numbers;
SELECT n, LAG(n) OVER (PARTITION BY n % 2 ORDER BY n) AS l FROM numbers;
SELECT n, LEAD(n) OVER (PARTITION BY n % 3 ORDER BY n DESC) AS l FROM numbers;
SELECT n, LAG('x') OVER (ORDER BY n) AS l FROM numbers WHERE n < 3;
SELECT n, LAG(NULL) OVER (ORDER BY n) AS l FROM numbers WHERE n < 3;
SELECT id, LAG(name) OVER (ORDER BY id) AS l, LEAD(name) OVER (ORDER BY id) AS m FROM customers;
SELECT id, LAG(city) OVER (ORDER BY id) AS l FROM customers;
SELECT id, LAG(credit) OVER (ORDER BY id) AS l, credit - LAG(credit) OVER (ORDER BY id) AS d FROM customers;
SELECT id, LEAD(joined) OVER (ORDER BY id) AS l FROM customers;
SELECT id, DATEDIFF(LEAD(joined) OVER (ORDER BY joined, id), joined) AS days FROM customers WHERE joined IS NOT NULL;
SELECT id, LAG(id) OVER (PARTITION BY status ORDER BY placed, id) AS l FROM orders;
SELECT id, LEAD(id) OVER (PARTITION BY customer_id ORDER BY placed, id) AS l FROM orders;
SELECT id, LAG(placed) OVER (PARTITION BY customer_id ORDER BY placed, id) AS l FROM orders;
SELECT id, LAG(total) OVER (PARTITION BY customer_id ORDER BY id) AS l, LAG(total, 2) OVER (PARTITION BY customer_id ORDER BY id) AS m FROM orders;
SELECT id, total > LAG(total) OVER (ORDER BY id) AS more FROM orders;
SELECT id, status = LAG(status) OVER (ORDER BY id) AS same FROM orders;
SELECT year, quarter, region, LAG(amount) OVER (PARTITION BY region ORDER BY year, quarter) AS l FROM sales;
SELECT year, quarter, region, amount - LAG(amount) OVER (PARTITION BY region ORDER BY year, quarter) AS growth FROM sales;
SELECT year, quarter, region, LEAD(quarter) OVER (PARTITION BY region, year ORDER BY quarter) AS l FROM sales;
SELECT x, y, LAG(v) OVER (ORDER BY x, y) AS l, LEAD(w) OVER (ORDER BY x, y) AS m FROM pairs;
SELECT id, LAG(a) OVER (ORDER BY id) AS l, LEAD(b) OVER (ORDER BY id) AS m FROM gaps;
SELECT id, LAG(id) OVER (PARTITION BY a ORDER BY id) AS l FROM gaps;
SELECT id, LAG(i) OVER (ORDER BY id) AS l1, LAG(u) OVER (ORDER BY id) AS l2, LAG(d) OVER (ORDER BY id) AS l3, LAG(f) OVER (ORDER BY id) AS l4 FROM mixed;
SELECT id, LAG(s) OVER (ORDER BY id) AS l1, LAG(b) OVER (ORDER BY id) AS l2, LAG(vb) OVER (ORDER BY id) AS l3 FROM mixed;
SELECT id, LEAD(dt) OVER (ORDER BY id) AS l1, LEAD(ts) OVER (ORDER BY id) AS l2, LEAD(tm) OVER (ORDER BY id) AS l3 FROM mixed;
SELECT LAG(a) OVER (ORDER BY id) AS l FROM nothing;
SELECT LAG(a) OVER (ORDER BY id) AS l, LEAD(a) OVER (ORDER BY id) AS m FROM lone;

-- FIRST_VALUE.
SELECT n, FIRST_VALUE(n) OVER (ORDER BY n) AS f FROM numbers;
SELECT n, FIRST_VALUE(n) OVER (ORDER BY n DESC) AS f FROM numbers;
SELECT n, FIRST_VALUE(n) OVER (PARTITION BY n % 3 ORDER BY n) AS f FROM numbers;
SELECT n, FIRST_VALUE(n) OVER (PARTITION BY n % 3 ORDER BY n DESC) AS f FROM numbers;
SELECT n, FIRST_VALUE(n) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS f FROM numbers;
SELECT n, FIRST_VALUE(n) OVER (ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS f FROM numbers;
SELECT n, n - FIRST_VALUE(n) OVER (ORDER BY n) AS f FROM numbers;
SELECT id, FIRST_VALUE(name) OVER (ORDER BY credit DESC, id) AS f FROM customers;
SELECT id, FIRST_VALUE(city) OVER (ORDER BY id DESC) AS f FROM customers;
SELECT id, FIRST_VALUE(credit) OVER (ORDER BY credit) AS f FROM customers;
SELECT id, FIRST_VALUE(id) OVER (PARTITION BY status ORDER BY total DESC, id) AS f FROM orders;
SELECT id, FIRST_VALUE(total) OVER (PARTITION BY customer_id ORDER BY placed, id) AS f FROM orders;
SELECT name, FIRST_VALUE(name) OVER (PARTITION BY dept ORDER BY salary DESC, id) AS f FROM employees;
SELECT id, FIRST_VALUE(a) OVER (ORDER BY id) AS f FROM gaps;
SELECT id, FIRST_VALUE(dt) OVER (ORDER BY id DESC) AS f1, FIRST_VALUE(f) OVER (ORDER BY id DESC) AS f2, FIRST_VALUE(s) OVER (ORDER BY id DESC) AS f3 FROM mixed;

-- LAST_VALUE: the frame ends with the peers of the current row, unless it is given.
SELECT n, LAST_VALUE(n) OVER (ORDER BY n) AS l FROM numbers;
SELECT n, LAST_VALUE(n) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM numbers;
SELECT n, LAST_VALUE(n) OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS l FROM numbers;
SELECT n, LAST_VALUE(n) OVER (ORDER BY n ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS l FROM numbers;
SELECT n, LAST_VALUE(n) OVER (ORDER BY n DESC) AS l FROM numbers;
SELECT n, LAST_VALUE(n) OVER (PARTITION BY n % 3 ORDER BY n RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM numbers;
SELECT n, LAST_VALUE(n % 3) OVER (ORDER BY n % 3) AS l FROM numbers;
SELECT id, LAST_VALUE(credit) OVER (ORDER BY credit) AS l FROM customers;
SELECT id, LAST_VALUE(name) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS l FROM customers;
SELECT id, LAST_VALUE(id) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM orders;
SELECT id, LAST_VALUE(status) OVER (PARTITION BY customer_id ORDER BY placed, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM orders;
SELECT id, LAST_VALUE(a) OVER (ORDER BY id) AS l FROM gaps;
SELECT id, LAST_VALUE(d) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS l FROM mixed;

-- NTH_VALUE.
SELECT n, NTH_VALUE(n, 1) OVER (ORDER BY n) AS v FROM numbers;
SELECT n, NTH_VALUE(n, 3) OVER (ORDER BY n) AS v FROM numbers;
SELECT n, NTH_VALUE(n, 100) OVER (ORDER BY n) AS v FROM numbers;
SELECT n, NTH_VALUE(n, 2) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM numbers;
SELECT n, NTH_VALUE(n, 2) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS v FROM numbers;
SELECT n, NTH_VALUE(n, 2) OVER (PARTITION BY n % 3 ORDER BY n) AS v FROM numbers;
SELECT n, NTH_VALUE(n * 10, 2) OVER (ORDER BY n DESC) AS v FROM numbers;
SELECT id, NTH_VALUE(name, 2) OVER (ORDER BY credit DESC, id) AS v FROM customers;
SELECT id, NTH_VALUE(id, 2) OVER (PARTITION BY status ORDER BY id) AS v FROM orders;
SELECT id, NTH_VALUE(id, 2) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM orders;
SELECT id, NTH_VALUE(a, 2) OVER (ORDER BY id) AS v FROM gaps;
SELECT name, NTH_VALUE(salary, 2) OVER (PARTITION BY dept ORDER BY salary DESC, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM employees;

-- Together, over groups, joins, in expressions and derived tables.
SELECT n, LAG(n) OVER w AS a, LEAD(n) OVER w AS b, FIRST_VALUE(n) OVER w AS c, LAST_VALUE(n) OVER w AS d FROM numbers WINDOW w AS (ORDER BY n);
SELECT status, COUNT(*) AS n, LAG(COUNT(*)) OVER (ORDER BY status) AS l FROM orders GROUP BY status;
SELECT status, SUM(total) - LEAD(SUM(total)) OVER (ORDER BY status) AS d FROM orders GROUP BY status;
SELECT status, FIRST_VALUE(status) OVER (ORDER BY COUNT(*) DESC, status) AS f FROM orders GROUP BY status;
SELECT year, SUM(amount) AS s, LAG(SUM(amount)) OVER (ORDER BY year) AS l FROM sales GROUP BY year;
SELECT region, year, SUM(amount), FIRST_VALUE(SUM(amount)) OVER (PARTITION BY region ORDER BY year) AS f FROM sales GROUP BY region, year;
SELECT c.id, o.id, LAG(o.id) OVER (PARTITION BY c.id ORDER BY o.id) AS l FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT c.name, o.id, FIRST_VALUE(o.placed) OVER (PARTITION BY c.id ORDER BY o.placed) AS f FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT id, l FROM (SELECT id, LAG(id) OVER (ORDER BY total, id) AS l FROM orders) d WHERE l IS NOT NULL AND id > l;
SELECT COUNT(*) FROM (SELECT total - LAG(total) OVER (ORDER BY id) AS step FROM orders) d WHERE step < 0;
WITH l AS (SELECT id, customer_id, placed, LAG(placed) OVER (PARTITION BY customer_id ORDER BY placed, id) AS prev FROM orders) SELECT customer_id, MAX(DATEDIFF(placed, prev)) AS pause FROM l GROUP BY customer_id;
SELECT id FROM orders ORDER BY LEAD(total) OVER (ORDER BY id), id;
SELECT DISTINCT FIRST_VALUE(id) OVER (PARTITION BY status ORDER BY id) AS f FROM orders;
SELECT id, CASE WHEN total > LAG(total) OVER (ORDER BY id) THEN 'up' WHEN total < LAG(total) OVER (ORDER BY id) THEN 'down' ELSE '-' END AS t FROM orders;
SELECT id, CONCAT(LAG(name) OVER (ORDER BY id), '<', name) AS t FROM customers;
SELECT id, LAG((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)) OVER (ORDER BY id) AS l FROM customers c;
SELECT s.n FROM (SELECT n, LEAD(n) OVER (ORDER BY n) AS m FROM numbers WHERE n NOT IN (4, 7)) s WHERE s.m - s.n > 1;

-- Errors.
-- error 1054
SELECT LAG(absent) OVER (ORDER BY id) FROM customers;
-- error 3593, reference 4015
SELECT id FROM customers WHERE LAG(id) OVER (ORDER BY id) = 1;
-- error 1064
SELECT LAG() OVER (ORDER BY n) FROM numbers;
-- error 1064
SELECT LAG(n) FROM numbers;
-- error 1064
SELECT NTH_VALUE(n) OVER (ORDER BY n) FROM numbers;
-- error 1064
SELECT FIRST_VALUE() OVER (ORDER BY n) FROM numbers;
-- error 1064
SELECT FIRST_VALUE(n, 2) OVER (ORDER BY n) FROM numbers;
