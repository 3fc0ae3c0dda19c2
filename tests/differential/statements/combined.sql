-- Questions that need several features at once: reports, the first rows of groups, islands, pivots, division, comparison of periods.

-- The first rows of groups, in several ways.
SELECT o.customer_id, o.id, o.total FROM orders o WHERE o.total = (SELECT MAX(p.total) FROM orders p WHERE p.customer_id = o.customer_id) ORDER BY o.customer_id, o.id;
SELECT o.customer_id, o.id, o.total FROM orders o JOIN (SELECT customer_id, MAX(total) AS top FROM orders GROUP BY customer_id) d ON d.customer_id = o.customer_id AND d.top = o.total ORDER BY o.customer_id, o.id;
SELECT o.customer_id, o.id, o.total FROM orders o LEFT JOIN orders p ON p.customer_id = o.customer_id AND p.total > o.total WHERE p.id IS NULL ORDER BY o.customer_id, o.id;
SELECT customer_id, id, total FROM (SELECT customer_id, id, total, RANK() OVER (PARTITION BY customer_id ORDER BY total DESC) AS r FROM orders) d WHERE r = 1 ORDER BY customer_id, id;
WITH r AS (SELECT customer_id, id, total, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC, id) AS n FROM orders WHERE customer_id IS NOT NULL) SELECT c.name, r.id, r.total FROM r LEFT JOIN customers c ON c.id = r.customer_id WHERE r.n <= 2 ORDER BY r.customer_id, r.n;
SELECT o.status, o.id FROM orders o WHERE (SELECT COUNT(*) FROM orders p WHERE p.status = o.status AND (p.placed, p.id) > (o.placed, o.id)) < 2 ORDER BY o.status, o.id;
SELECT e.dept, e.name, e.salary FROM employees e WHERE e.id <> 7 AND 2 > (SELECT COUNT(DISTINCT f.salary) FROM employees f WHERE f.dept = e.dept AND f.salary > e.salary) ORDER BY e.dept, e.salary DESC, e.id;

-- Rows without a partner, in several ways.
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL ORDER BY c.id;
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL) ORDER BY id;
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) ORDER BY id;
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders ORDER BY id;
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(o.id) = 0 ORDER BY c.id;
SELECT id FROM customers WHERE id <> ALL (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL) ORDER BY id;

-- Both sides of a join that both keep their rows.
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id UNION ALL SELECT NULL, o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id);
SELECT COALESCE(a.n, b.n) AS n, a.n IS NOT NULL AS left_side, b.n IS NOT NULL AS right_side FROM (SELECT n FROM numbers WHERE n % 2 = 0) a LEFT JOIN (SELECT n FROM numbers WHERE n % 3 = 0) b ON b.n = a.n UNION SELECT b.n, FALSE, TRUE FROM numbers b WHERE b.n % 3 = 0 AND b.n % 2 <> 0 ORDER BY n;

-- Division: those that have all of something.
SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders s WHERE s.status IN ('paid', 'open') AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.status = s.status)) ORDER BY c.id;
SELECT customer_id FROM orders WHERE status IN ('paid', 'open') GROUP BY customer_id HAVING COUNT(DISTINCT status) = 2;
SELECT region FROM sales GROUP BY region HAVING COUNT(DISTINCT year) = (SELECT COUNT(DISTINCT year) FROM sales);
SELECT p.id FROM products p WHERE (SELECT COUNT(DISTINCT o.customer_id) FROM orders o JOIN items i ON i.order_id = o.id WHERE i.product_id = p.id) >= 3;

-- Pivots and their inverse.
SELECT region, SUM(CASE WHEN quarter = 1 THEN amount END) AS q1, SUM(CASE WHEN quarter = 2 THEN amount END) AS q2, SUM(CASE WHEN quarter = 3 THEN amount END) AS q3, SUM(CASE WHEN quarter = 4 THEN amount END) AS q4, SUM(amount) AS total FROM sales GROUP BY region ORDER BY region;
SELECT y.year, n.amount AS north, s.amount AS south, w.amount AS west FROM (SELECT DISTINCT year FROM sales) y LEFT JOIN sales n ON n.year = y.year AND n.quarter = 1 AND n.region = 'north' LEFT JOIN sales s ON s.year = y.year AND s.quarter = 1 AND s.region = 'south' LEFT JOIN sales w ON w.year = y.year AND w.quarter = 1 AND w.region = 'west' ORDER BY y.year;
SELECT id, 'a' AS field, a AS value FROM gaps UNION ALL SELECT id, 'b', b FROM gaps ORDER BY id, field;
SELECT id, n, CASE n WHEN 1 THEN a WHEN 2 THEN b END AS value FROM gaps CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) d ORDER BY id, n;

-- All combinations, with zero where there is nothing.
SELECT y.year, r.region, COALESCE(SUM(s.amount), 0) AS total, COUNT(s.year) AS n FROM (SELECT DISTINCT year FROM sales) y CROSS JOIN (SELECT DISTINCT region FROM sales) r LEFT JOIN sales s ON s.year = y.year AND s.region = r.region GROUP BY y.year, r.region ORDER BY y.year, r.region;
WITH RECURSIVE q (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 4) SELECT r.region, q.n, s.amount FROM q CROSS JOIN (SELECT DISTINCT region FROM sales) r LEFT JOIN sales s ON s.year = 2021 AND s.quarter = q.n AND s.region = r.region ORDER BY r.region, q.n;
WITH RECURSIVE m (d) AS (SELECT CAST('2022-01-01' AS DATE) UNION ALL SELECT d + INTERVAL 1 MONTH FROM m WHERE d < '2022-06-01') SELECT m.d, COUNT(o.id) AS n, SUM(o.total) AS s FROM m LEFT JOIN orders o ON o.placed >= m.d AND o.placed < m.d + INTERVAL 1 MONTH GROUP BY m.d ORDER BY m.d;

-- Comparison of periods.
SELECT a.region, a.year, a.s, a.s - b.s AS growth FROM (SELECT region, year, SUM(amount) AS s FROM sales GROUP BY region, year) a LEFT JOIN (SELECT region, year, SUM(amount) AS s FROM sales GROUP BY region, year) b ON b.region = a.region AND b.year = a.year - 1 ORDER BY a.region, a.year;
WITH t AS (SELECT region, year, SUM(amount) AS s FROM sales GROUP BY region, year) SELECT region, year, s, s - LAG(s) OVER (PARTITION BY region ORDER BY year) AS growth FROM t ORDER BY region, year;
SELECT s.year, s.region, s.amount FROM sales s WHERE s.amount > ALL (SELECT t.amount FROM sales t WHERE t.region = s.region AND (t.year, t.quarter) < (s.year, s.quarter) AND t.amount IS NOT NULL) ORDER BY s.year, s.quarter, s.region;
SELECT year, region, SUM(amount) AS s, RANK() OVER (PARTITION BY year ORDER BY SUM(amount) DESC) AS place FROM sales GROUP BY year, region ORDER BY year, place, region;

-- Islands of numbers that follow each other.
WITH t AS (SELECT n, n - ROW_NUMBER() OVER (ORDER BY n) AS island FROM numbers WHERE n NOT IN (3, 4, 8)) SELECT MIN(n) AS first_n, MAX(n) AS last_n, COUNT(*) AS size FROM t GROUP BY island ORDER BY first_n;
SELECT a.n + 1 AS first_gap, (SELECT MIN(b.id) FROM orders b WHERE b.id > a.n) - 1 AS last_gap FROM (SELECT id AS n FROM orders WHERE id NOT IN (103, 104, 107)) a WHERE NOT EXISTS (SELECT 1 FROM orders c WHERE c.id = a.n + 1 AND c.id NOT IN (103, 104, 107)) AND a.n < 110 ORDER BY first_gap;
WITH t AS (SELECT id, status, ROW_NUMBER() OVER (ORDER BY id) - ROW_NUMBER() OVER (PARTITION BY status ORDER BY id) AS k FROM orders) SELECT status, MIN(id), MAX(id), COUNT(*) FROM t GROUP BY status, k ORDER BY MIN(id);

-- Medians and shares.
SELECT AVG(n) AS median FROM (SELECT n, ROW_NUMBER() OVER (ORDER BY n) AS r, COUNT(*) OVER () AS k FROM numbers) d WHERE r IN ((k + 1) DIV 2, (k + 2) DIV 2);
SELECT status, AVG(total) AS median FROM (SELECT status, total, ROW_NUMBER() OVER (PARTITION BY status ORDER BY total) AS r, COUNT(*) OVER (PARTITION BY status) AS k FROM orders WHERE total IS NOT NULL) d WHERE r IN ((k + 1) DIV 2, (k + 2) DIV 2) GROUP BY status ORDER BY status;
SELECT status, COUNT(*) AS n, ROUND(100 * COUNT(*) / (SELECT COUNT(*) FROM orders), 1) AS pct FROM orders GROUP BY status ORDER BY n DESC, status;
SELECT p.name, ROUND(SUM(i.quantity * i.price), 2) AS income, ROUND(SUM(SUM(i.quantity * i.price)) OVER (ORDER BY SUM(i.quantity * i.price) DESC), 2) AS running FROM products p JOIN items i ON i.product_id = p.id GROUP BY p.id, p.name ORDER BY income DESC;

-- Reports over the shop.
SELECT c.name, COUNT(DISTINCT o.id) AS n, SUM(i.quantity) AS pieces, SUM(i.quantity * i.price) AS amount FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id GROUP BY c.id, c.name ORDER BY c.id;
SELECT o.id, o.total, d.amount, o.total - d.amount AS off_by FROM orders o JOIN (SELECT order_id, SUM(quantity * price) AS amount FROM items GROUP BY order_id) d ON d.order_id = o.id WHERE NOT o.total <=> d.amount ORDER BY o.id;
SELECT o.id, SUM(i.quantity * i.price * (1 - COALESCE(i.discount, 0))) AS net FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.id HAVING net < (SELECT AVG(total) FROM orders) ORDER BY o.id;
SELECT k.name, COALESCE(SUM(i.quantity), 0) AS sold, GROUP_CONCAT(DISTINCT p.name ORDER BY p.name) AS products FROM categories k LEFT JOIN products p ON p.category_id = k.id LEFT JOIN items i ON i.product_id = p.id GROUP BY k.id, k.name ORDER BY sold DESC, k.id;
SELECT p.name, p.stock, COALESCE(d.q, 0) AS sold, CASE WHEN p.stock IS NULL THEN 'unknown' WHEN p.stock < COALESCE(d.q, 0) THEN 'short' ELSE 'fine' END AS state FROM products p LEFT JOIN (SELECT product_id, SUM(quantity) AS q FROM items GROUP BY product_id) d ON d.product_id = p.id ORDER BY p.id;
SELECT c.name, r.name AS referrer, rr.name AS referrer_of_it, (SELECT COUNT(*) FROM orders o WHERE o.customer_id IN (c.id, r.id, rr.id)) AS n FROM customers c LEFT JOIN customers r ON r.id = c.referrer_id LEFT JOIN customers rr ON rr.id = r.referrer_id ORDER BY c.id;
SELECT c.city, COUNT(*) AS customers, SUM(d.n) AS orders FROM customers c LEFT JOIN (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d ON d.customer_id = c.id WHERE c.id <> 1 GROUP BY c.city HAVING COUNT(*) >= 1 ORDER BY c.city;
SELECT a.product_id, b.product_id, COUNT(*) AS together FROM items a JOIN items b ON b.order_id = a.order_id AND b.product_id > a.product_id GROUP BY a.product_id, b.product_id ORDER BY together DESC, a.product_id, b.product_id;
SELECT o.id, DATEDIFF(o.placed, (SELECT MAX(p.placed) FROM orders p WHERE p.customer_id = o.customer_id AND p.placed < o.placed)) AS days FROM orders o WHERE o.customer_id = 1 ORDER BY o.id;
WITH paid AS (SELECT customer_id, SUM(total) AS s FROM orders WHERE status IN ('paid', 'sent') GROUP BY customer_id), rest AS (SELECT customer_id, SUM(total) AS s FROM orders WHERE status NOT IN ('paid', 'sent') GROUP BY customer_id) SELECT c.id, paid.s AS paid, rest.s AS rest, COALESCE(paid.s, 0) - COALESCE(rest.s, 0) AS balance FROM customers c LEFT JOIN paid ON paid.customer_id = c.id LEFT JOIN rest ON rest.customer_id = c.id ORDER BY c.id;

-- Reports over the employees and the graph.
WITH RECURSIVE t (root, id, depth) AS (SELECT id, id, 0 FROM employees UNION ALL SELECT t.root, e.id, t.depth + 1 FROM t JOIN employees e ON e.manager_id = t.id) SELECT m.name, COUNT(*) - 1 AS below, MAX(t.depth) AS levels, SUM(e.salary) AS cost FROM t JOIN employees m ON m.id = t.root JOIN employees e ON e.id = t.id GROUP BY m.id, m.name HAVING COUNT(*) > 1 ORDER BY below DESC, m.name;
SELECT e.name, e.salary, d.mean, e.salary - d.mean AS off_by, RANK() OVER (PARTITION BY e.dept ORDER BY e.salary DESC) AS place FROM employees e JOIN (SELECT dept, AVG(salary) AS mean FROM employees GROUP BY dept) d ON d.dept = e.dept ORDER BY e.dept, place, e.id;
SELECT e.name FROM employees e JOIN employees m ON m.id = e.manager_id WHERE e.hired < ANY (SELECT f.hired FROM employees f WHERE f.manager_id = m.id AND f.id <> e.id) AND e.salary >= (SELECT AVG(g.salary) FROM employees g WHERE g.manager_id = m.id) ORDER BY e.id;
WITH RECURSIVE r (n, w, hops) AS (SELECT 1, 0, 0 UNION ALL SELECT e.dst, r.w + e.weight, r.hops + 1 FROM r JOIN edges e ON e.src = r.n WHERE r.hops < 4) SELECT n, MIN(w) AS shortest, MIN(hops) AS hops, COUNT(*) AS ways FROM r GROUP BY n ORDER BY n;
WITH RECURSIVE r (a, b) AS (SELECT src, dst FROM edges UNION SELECT r.a, e.dst FROM r JOIN edges e ON e.src = r.b) SELECT n.n AS node, (SELECT COUNT(*) FROM r WHERE r.a = n.n) AS reaches, EXISTS (SELECT 1 FROM r WHERE r.a = n.n AND r.b = n.n) AS on_cycle FROM numbers n ORDER BY n.n;
SELECT a.x, a.y, (SELECT COUNT(*) FROM pairs b WHERE ABS(b.x - a.x) <= 1 AND ABS(b.y - a.y) <= 1 AND (b.x, b.y) <> (a.x, a.y)) AS neighbours FROM pairs a ORDER BY a.x, a.y;
SELECT d.s, GROUP_CONCAT(CONCAT(d.x, ':', d.y) ORDER BY d.x, d.y SEPARATOR ' ') AS cells FROM (SELECT x + y AS s, x, y FROM pairs) d GROUP BY d.s ORDER BY d.s;

-- Several layers of all of it.
SELECT e.band, COUNT(*) AS n, SUM(e.s) AS s FROM (SELECT d.customer_id, d.s, CASE WHEN d.s > (SELECT AVG(s) FROM (SELECT SUM(total) AS s FROM orders GROUP BY customer_id) f) THEN 'above' ELSE 'below' END AS band FROM (SELECT customer_id, COALESCE(SUM(total), 0) AS s FROM orders GROUP BY customer_id) d) e GROUP BY e.band ORDER BY e.band;
WITH a AS (SELECT o.customer_id AS c, i.product_id AS p, SUM(i.quantity) AS q FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.customer_id, i.product_id), b AS (SELECT p, MAX(q) AS m FROM a GROUP BY p) SELECT a.p, a.c, a.q FROM a JOIN b ON b.p = a.p AND b.m = a.q WHERE a.c IN (SELECT id FROM customers WHERE credit IS NOT NULL) ORDER BY a.p, a.c;
SELECT u.kind, u.name, u.id FROM (SELECT 'customer' AS kind, name, id FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 1) UNION ALL SELECT 'employee', name, id FROM employees WHERE id IN (SELECT manager_id FROM employees) UNION ALL SELECT 'product', name, id FROM products p WHERE EXISTS (SELECT 1 FROM items i WHERE i.product_id = p.id AND i.quantity > 2)) u ORDER BY u.kind, u.id;
SELECT c.id, (SELECT GROUP_CONCAT(DISTINCT p.name ORDER BY p.name) FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id WHERE o.customer_id = c.id) AS bought, (SELECT COUNT(*) FROM products p WHERE p.id NOT IN (SELECT i.product_id FROM items i JOIN orders o ON o.id = i.order_id WHERE o.customer_id = c.id)) AS not_bought FROM customers c ORDER BY c.id;
SELECT status, n, total, SUM(n) OVER w AS running, RANK() OVER (ORDER BY total DESC) AS place FROM (SELECT status, COUNT(*) AS n, SUM(total) AS total FROM orders WHERE customer_id IN (SELECT id FROM customers UNION SELECT 42) GROUP BY status HAVING COUNT(*) > 0) d WINDOW w AS (ORDER BY status) ORDER BY status;
