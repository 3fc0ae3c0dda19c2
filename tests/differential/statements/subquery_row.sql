-- Row constructors and subqueries of several columns: =, <>, <, <=, >, >=, <=>, IN; NULL; sizes that differ.

SELECT (1, 2) = (1, 2), (1, 2) = (1, 3), (1, 2) <> (1, 3), ROW(1, 2) = (1, 2);
SELECT (1, 2) < (1, 3), (1, 2) < (2, 0), (1, 2) < (1, 2), (1, 2) <= (1, 2), (2, 0) > (1, 9), (1, 2) >= (1, 3);
SELECT (1, 2, 3) = (1, 2, 3), (1, 2, 3) < (1, 2, 4), (1, 'a', 2.5) = (1, 'A', 2.50);
SELECT (1, NULL) = (1, 2), (1, NULL) = (2, 2), (1, NULL) <> (2, 2), (1, NULL) <> (1, NULL);
SELECT (1, NULL) < (2, 1), (1, NULL) < (1, 1), (NULL, 1) < (2, 2), (1, NULL) <=> (1, NULL), (1, NULL) <=> (1, 2);
SELECT (1, (2, 3)) = (1, (2, 3)), ((1, 2), 3) = ((1, 2), 4);
SELECT (1, 2) IN ((1, 2), (3, 4)), (1, 2) IN ((2, 1)), (1, 2) NOT IN ((1, 2)), (1, NULL) IN ((1, 2)), (1, NULL) IN ((2, 2));
SELECT (1, 2) = (SELECT 1, 2), (1, 2) <> (SELECT 1, 2), (1, 2) < (SELECT 1, 3), (1, 2) <=> (SELECT 1, 2);
SELECT (1, 2) = (SELECT 2, 1), (1, 2) = (SELECT NULL, 2), (1, 2) = (SELECT NULL, 3), (1, 2) <=> (SELECT NULL, 2);
SELECT (1, 2) = (SELECT id, a FROM nothing), (NULL, 1) = (SELECT id, a FROM nothing);
SELECT (SELECT 1, 2) = (1, 2), (SELECT 1, 2) = (SELECT 1, 2), (SELECT 1, 2) < (SELECT 1, 3);
SELECT (1, 10) = (SELECT id, a FROM lone), (1, 10, 'ONLY') = (SELECT * FROM lone);
SELECT ROW(1, 2, 3) = (SELECT 1, 2, 3), ROW(1, 'x') = (SELECT 1, 'X');

-- Columns.
SELECT x, y FROM pairs WHERE (x, y) = (1, 2);
SELECT x, y FROM pairs WHERE (x, y) <> (1, 2);
SELECT x, y FROM pairs WHERE (x, y) > (2, 1);
SELECT x, y FROM pairs WHERE (x, y) >= (2, 1);
SELECT x, y FROM pairs WHERE (x, y) < (2, 1);
SELECT x, y FROM pairs WHERE (x, y) <= (2, 1);
SELECT x, y FROM pairs WHERE NOT (x, y) = (2, 1);
SELECT x, y FROM pairs WHERE (x, y) IN ((1, 2), (2, 2), (9, 9));
SELECT x, y FROM pairs WHERE (x, y) NOT IN ((1, 2), (2, 2));
SELECT x, y FROM pairs WHERE (y, x) IN ((1, 2), (2, 2));
SELECT x, y FROM pairs WHERE (x, v) = (1, 'A');
SELECT x, y FROM pairs WHERE (x, v) <=> (2, NULL);
SELECT x, y FROM pairs WHERE (v, w) = ('a', 10) OR (v, w) <=> (NULL, NULL);
SELECT x, y FROM pairs WHERE (x, y) = (y, x);
SELECT x, y FROM pairs WHERE (x, y) < (y, x);
SELECT x, y FROM pairs WHERE (x + 1, y - 1) = (2, 1);
SELECT id FROM gaps WHERE (a, b) = (1, 1);
SELECT id FROM gaps WHERE (a, b) <> (1, 1);
SELECT id FROM gaps WHERE NOT (a, b) = (1, 1);
SELECT id FROM gaps WHERE (a, b) <=> (1, NULL);
SELECT id FROM gaps WHERE (a, b) < (2, 1);
SELECT id FROM gaps WHERE (a, b) IN ((1, 1), (2, NULL), (3, 3));
SELECT id FROM gaps WHERE (a, b) NOT IN ((1, 1), (3, 3));
SELECT id, (a, b) = (1, 1), (a, b) < (1, 2), (a, b) <=> (b, a) FROM gaps;
SELECT id, (a, b) IN ((1, 1), (3, 3)) AS t FROM gaps;
SELECT id, (a, c) NOT IN ((1, 'X'), (2, 'Y')) AS t FROM gaps;
SELECT id FROM orders WHERE (customer_id, status) = (1, 'paid');
SELECT id FROM orders WHERE (customer_id, status) IN ((1, 'paid'), (3, 'Paid'), (3, 'VOID'));
SELECT order_id, line FROM items WHERE (order_id, line) > (103, 1) ORDER BY order_id, line LIMIT 4;
SELECT order_id, line FROM items WHERE (order_id, line) IN ((100, 2), (103, 3), (103, 4));
SELECT year, quarter FROM sales WHERE (year, quarter, region) = (2020, 2, 'NORTH');
SELECT year, quarter, region FROM sales WHERE (year, quarter, region) >= (2021, 3, 'west');

-- Against subqueries.
SELECT x, y FROM pairs WHERE (x, y) = (SELECT 2, 3);
SELECT x, y FROM pairs WHERE (x, y) = (SELECT MAX(x), MAX(y) FROM pairs);
SELECT x, y FROM pairs WHERE (x, y) = (SELECT MIN(x), MAX(y) FROM pairs WHERE x < 3);
SELECT x, y FROM pairs WHERE (x, y) > (SELECT 2, 1);
SELECT x, y FROM pairs WHERE (x, y) < (SELECT AVG(x), AVG(y) FROM pairs);
SELECT x, y FROM pairs WHERE (x, y) <> (SELECT src, dst FROM edges WHERE weight = 2);
SELECT x, y FROM pairs WHERE (x, y) = (SELECT src, dst FROM edges WHERE weight = 7);
SELECT x, y FROM pairs WHERE (x, y) = (SELECT id, a FROM nothing);
SELECT x, y FROM pairs p WHERE (p.x, p.w) = (SELECT q.x, MAX(q.w) FROM pairs q WHERE q.x = p.x GROUP BY q.x);
SELECT x, y FROM pairs p WHERE (p.v, p.w) = (SELECT q.v, q.w FROM pairs q WHERE q.x = 2 AND q.y = 3);
SELECT id FROM orders WHERE (customer_id, placed) = (SELECT customer_id, MAX(placed) FROM orders WHERE customer_id = 1 GROUP BY customer_id);
SELECT id FROM orders o WHERE (status, total) = (SELECT status, MAX(total) FROM orders p WHERE p.status = o.status GROUP BY status);
SELECT id FROM orders o WHERE (o.customer_id, o.placed) IN (SELECT customer_id, MIN(placed) FROM orders GROUP BY customer_id);
SELECT name FROM employees WHERE (dept, salary) = (SELECT dept, salary FROM employees WHERE id = 5);
SELECT name FROM employees WHERE (dept, salary) = (SELECT dept, salary FROM employees WHERE id = 5) AND id <> 5;
SELECT name FROM employees WHERE (dept, salary) <=> (SELECT dept, salary FROM employees WHERE id = 9);
SELECT id FROM gaps WHERE (a, b) = (SELECT a, b FROM gaps WHERE id = 4);
SELECT id FROM gaps WHERE (a, b) <=> (SELECT a, b FROM gaps WHERE id = 1);
SELECT id FROM gaps g WHERE (a, b) IN (SELECT a, b FROM gaps h WHERE h.id <> g.id);
SELECT id FROM gaps g WHERE (a, b) NOT IN (SELECT a, b FROM gaps h WHERE h.id < g.id AND h.a IS NOT NULL AND h.b IS NOT NULL);
SELECT id, (a, b) = (SELECT 1, 1) AS t, (a, b) <> (SELECT 1, 1) AS f FROM gaps;

-- Other clauses.
SELECT CASE WHEN (x, y) = (1, 1) THEN 'first' WHEN (x, y) > (2, 2) THEN 'late' ELSE 'mid' END AS t, x, y FROM pairs;
SELECT x, COUNT(*) FROM pairs GROUP BY x HAVING (x, COUNT(*)) IN ((1, 3), (2, 2), (4, 1));
SELECT x, y FROM pairs ORDER BY (x, y) = (2, 2) DESC, x, y;
SELECT (x, y) < (2, 2) AS t, COUNT(*) FROM pairs GROUP BY t;
SELECT SUM((x, y) IN ((1, 1), (2, 2))) AS s FROM pairs;
SELECT p.x, p.y, q.x, q.y FROM pairs p JOIN pairs q ON (p.x, p.y) = (q.y, q.x);
SELECT p.x, p.y, q.x, q.y FROM pairs p LEFT JOIN pairs q ON (q.v, q.w) = (p.v, p.w) AND (q.x, q.y) <> (p.x, p.y);
SELECT p.x, p.y, e.weight FROM pairs p LEFT JOIN edges e ON (e.src, e.dst) = (p.x, p.y);

-- Errors.
-- error 1241, reference 4078
SELECT (1, 2) = 1;
-- error 1241, reference 4078
SELECT 1 = (1, 2);
-- error 1241
SELECT (1, 2) = (1, 2, 3);
-- error 1241, reference 4078
SELECT (1, 2) < (SELECT 1);
-- error 1241
SELECT (1, 2) = (SELECT 1, 2, 3);
-- error 1241, reference 4078
SELECT (1, 2) IN ((1, 2), 3);
-- error 1241
SELECT (1, 2) IN ((1, 2, 3));
-- error 1241, reference 4078
SELECT 1 IN ((1, 2));
-- error 1241
SELECT (1, 2);
-- error 1241, reference 4078
SELECT (1, 2) + 1;
-- error 1241
SELECT (1, (2, 3)) = (1, 2);
-- error 1241
SELECT CONCAT((1, 2));
-- error 1241
SELECT x FROM pairs WHERE (x, y);
-- error 1241
SELECT x FROM pairs ORDER BY (x, y);
-- error 1241
SELECT COUNT(*) FROM pairs GROUP BY (x, y);
-- error 1241
SELECT MAX((x, y)) FROM pairs;
-- error 1241
SELECT x FROM pairs WHERE (x, y) IS NULL;
-- error 1241
SELECT x FROM pairs WHERE (x, y) LIKE 'a';
-- error 1241
SELECT x FROM pairs WHERE (x, y) BETWEEN (1, 1) AND (2, 2);
-- error 1242
SELECT x FROM pairs WHERE (x, y) = (SELECT src, dst FROM edges);
-- error 1242
SELECT (1, 2) = (SELECT x, y FROM pairs);
-- error 1054
SELECT x FROM pairs WHERE (x, z) = (1, 2);
