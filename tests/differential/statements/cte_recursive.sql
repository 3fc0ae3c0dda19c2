-- WITH RECURSIVE: counting, series, trees, walks over graphs, limits of depth.

-- Counting and series.
WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT * FROM c ORDER BY n DESC;
WITH RECURSIVE c (n) AS (SELECT 1 UNION SELECT n + 1 FROM c WHERE n < 5) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000) SELECT COUNT(*), SUM(n), MAX(n) FROM c;
WITH RECURSIVE c (n) AS (SELECT 10 UNION ALL SELECT n - 3 FROM c WHERE n > 0) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n * 2 FROM c WHERE n < 1000) SELECT * FROM c;
WITH RECURSIVE c (n, f) AS (SELECT 1, CAST(1 AS DECIMAL(20,0)) UNION ALL SELECT n + 1, f * (n + 1) FROM c WHERE n < 15) SELECT * FROM c;
WITH RECURSIVE f (n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 20) SELECT n, a FROM f ORDER BY n;
WITH RECURSIVE c (n) AS (SELECT 0 UNION SELECT (n + 3) % 7 FROM c) SELECT n FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION SELECT n * 2 % 11 FROM c) SELECT COUNT(*), MAX(n) FROM c;
WITH RECURSIVE c (n) AS (SELECT 27 UNION ALL SELECT CASE WHEN n % 2 = 0 THEN n DIV 2 ELSE 3 * n + 1 END FROM c WHERE n > 1) SELECT COUNT(*), MAX(n) FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 0) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 FROM nothing UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE FALSE) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT CAST(NULL AS SIGNED) UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT CAST(NULL AS SIGNED) UNION SELECT n + 1 FROM c) SELECT * FROM c;
WITH RECURSIVE c (n, s) AS (SELECT 1, CAST('a' AS CHAR(20)) UNION ALL SELECT n + 1, CONCAT(s, 'b') FROM c WHERE n < 4) SELECT * FROM c;
WITH RECURSIVE c (n, s) AS (SELECT 1, CAST('x' AS CHAR(50)) UNION ALL SELECT n + 1, CONCAT(s, ',', n + 1) FROM c WHERE n < 6) SELECT s FROM c WHERE n = 6;
WITH RECURSIVE c (d) AS (SELECT CAST('2020-02-27' AS DATE) UNION ALL SELECT d + INTERVAL 1 DAY FROM c WHERE d < '2020-03-02') SELECT d FROM c ORDER BY d;
WITH RECURSIVE c (d) AS (SELECT MIN(DATE(placed)) FROM orders UNION ALL SELECT d + INTERVAL 1 MONTH FROM c WHERE d < '2022-06-01') SELECT c.d, COUNT(o.id) FROM c LEFT JOIN orders o ON YEAR(o.placed) = YEAR(c.d) AND MONTH(o.placed) = MONTH(c.d) GROUP BY c.d ORDER BY c.d;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12) SELECT c.n, COALESCE(SUM(o.total), 0) AS s FROM c LEFT JOIN orders o ON MONTH(o.placed) = c.n GROUP BY c.n ORDER BY c.n;
WITH RECURSIVE c (x) AS (SELECT CAST(1 AS DECIMAL(10,4)) UNION ALL SELECT x * 0.5 FROM c WHERE x > 0.1) SELECT * FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c LIMIT 0;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50) SELECT n FROM c ORDER BY n LIMIT 3 OFFSET 20;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20) SELECT n % 3 AS r, COUNT(*), SUM(n) FROM c GROUP BY r ORDER BY r;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30) SELECT n FROM c WHERE n > 1 AND NOT EXISTS (SELECT 1 FROM c d WHERE d.n > 1 AND d.n < c.n AND c.n % d.n = 0) ORDER BY n;

-- Several rows at the start, several at each step.
WITH RECURSIVE c (n) AS (SELECT n FROM numbers WHERE n < 3 UNION ALL SELECT n + 5 FROM c WHERE n < 15) SELECT n FROM c;
WITH RECURSIVE c (n, k) AS (SELECT 1, 1 UNION ALL SELECT c.n + 1, numbers.n FROM c JOIN numbers ON numbers.n <= 2 WHERE c.n < 4) SELECT n, COUNT(*) FROM c GROUP BY n ORDER BY n;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT n + 2 FROM c WHERE n < 7) SELECT n FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION SELECT 1 UNION SELECT n + 2 FROM c WHERE n < 7) SELECT n FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION SELECT n + 2 FROM c WHERE n < 9 UNION SELECT n + 3 FROM c WHERE n < 9) SELECT n FROM c ORDER BY n;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 2 FROM c WHERE n < 6 UNION ALL SELECT n + 3 FROM c WHERE n < 6) SELECT n, COUNT(*) FROM c GROUP BY n;
WITH RECURSIVE c (s) AS (SELECT CAST('' AS CHAR(3)) UNION ALL SELECT CONCAT(c.s, d.b) FROM c JOIN (SELECT '0' AS b UNION ALL SELECT '1') d WHERE LENGTH(c.s) < 3) SELECT s FROM c WHERE LENGTH(s) = 3 ORDER BY s;
WITH RECURSIVE c (n) AS (SELECT id FROM lone UNION ALL SELECT n + 1 FROM c, lone WHERE n < lone.a) SELECT MAX(n) FROM c;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT c.n + 1 FROM c LEFT JOIN nothing x ON x.id = c.n WHERE c.n < 4) SELECT n FROM c;

-- Trees: down from the roots, up from a leaf.
WITH RECURSIVE t AS (SELECT id, name, manager_id FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.name, e.manager_id FROM employees e JOIN t ON e.manager_id = t.id) SELECT id, name FROM t;
WITH RECURSIVE t (id, name, depth) AS (SELECT id, name, 0 FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.name, t.depth + 1 FROM t JOIN employees e ON e.manager_id = t.id) SELECT * FROM t ORDER BY depth, id;
WITH RECURSIVE t (id, depth) AS (SELECT id, 0 FROM employees WHERE id = 2 UNION ALL SELECT e.id, depth + 1 FROM employees e, t WHERE e.manager_id = t.id) SELECT depth, COUNT(*) FROM t GROUP BY depth ORDER BY depth;
WITH RECURSIVE t (id, depth) AS (SELECT id, 0 FROM employees WHERE id = 1 UNION ALL SELECT e.id, depth + 1 FROM employees e JOIN t ON e.manager_id = t.id WHERE depth < 1) SELECT id FROM t ORDER BY id;
WITH RECURSIVE t (id, path) AS (SELECT id, CAST(name AS CHAR(100)) FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, CONCAT(t.path, '/', e.name) FROM employees e JOIN t ON e.manager_id = t.id) SELECT * FROM t ORDER BY path;
WITH RECURSIVE t (id, path) AS (SELECT id, CAST(LPAD(id, 3, '0') AS CHAR(40)) FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, CONCAT(t.path, '.', LPAD(e.id, 3, '0')) FROM employees e JOIN t ON e.manager_id = t.id) SELECT path FROM t ORDER BY path;
WITH RECURSIVE t AS (SELECT id, manager_id, name FROM employees WHERE id = 11 UNION ALL SELECT e.id, e.manager_id, e.name FROM employees e JOIN t ON e.id = t.manager_id) SELECT name FROM t;
WITH RECURSIVE t (id, boss) AS (SELECT id, manager_id FROM employees UNION ALL SELECT t.id, e.manager_id FROM t JOIN employees e ON e.id = t.boss) SELECT id, COUNT(boss) FROM t GROUP BY id;
WITH RECURSIVE t (boss, id) AS (SELECT id, id FROM employees UNION ALL SELECT t.boss, e.id FROM t JOIN employees e ON e.manager_id = t.id) SELECT boss, COUNT(*) - 1 AS below FROM t GROUP BY boss ORDER BY below DESC, boss;
WITH RECURSIVE t (boss, id, salary) AS (SELECT id, id, salary FROM employees UNION ALL SELECT t.boss, e.id, e.salary FROM t JOIN employees e ON e.manager_id = t.id) SELECT boss, SUM(salary) FROM t GROUP BY boss;
WITH RECURSIVE t (root, id) AS (SELECT id, id FROM employees WHERE manager_id IS NULL UNION ALL SELECT t.root, e.id FROM t JOIN employees e ON e.manager_id = t.id) SELECT e.id, t.root FROM employees e LEFT JOIN t USING (id);
WITH RECURSIVE t (id, name, depth) AS (SELECT id, name, 1 FROM categories WHERE parent_id IS NULL UNION ALL SELECT k.id, k.name, t.depth + 1 FROM categories k JOIN t ON k.parent_id = t.id) SELECT t.depth, t.name, p.name FROM t LEFT JOIN products p ON p.category_id = t.id;
WITH RECURSIVE t (root, id) AS (SELECT id, id FROM categories UNION ALL SELECT t.root, k.id FROM t JOIN categories k ON k.parent_id = t.id) SELECT k.name, COUNT(p.id), SUM(p.stock) FROM t JOIN categories k ON k.id = t.root LEFT JOIN products p ON p.category_id = t.id GROUP BY k.id, k.name;
WITH RECURSIVE t (id, up) AS (SELECT id, category_id FROM products UNION ALL SELECT t.id, k.parent_id FROM t JOIN categories k ON k.id = t.up) SELECT id, up FROM t WHERE up IS NOT NULL;
WITH RECURSIVE t (id) AS (SELECT id FROM customers WHERE referrer_id IS NULL UNION ALL SELECT c.id FROM customers c JOIN t ON c.referrer_id = t.id) SELECT c.name FROM customers c WHERE c.id NOT IN (SELECT id FROM t);
WITH RECURSIVE t (id, depth) AS (SELECT id, 0 FROM customers WHERE referrer_id IS NULL UNION ALL SELECT c.id, depth + 1 FROM customers c JOIN t ON c.referrer_id = t.id) SELECT MAX(depth), COUNT(*) FROM t;
WITH RECURSIVE t (id) AS (SELECT 7 UNION ALL SELECT k.id FROM categories k JOIN t ON k.parent_id = t.id) SELECT name FROM categories WHERE id IN (SELECT id FROM t);
WITH RECURSIVE t (id) AS (SELECT id FROM nothing UNION ALL SELECT e.id FROM employees e JOIN t ON e.manager_id = t.id) SELECT COUNT(*) FROM t;
WITH RECURSIVE t (id, depth) AS (SELECT id, 0 FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, depth + 1 FROM employees e STRAIGHT_JOIN t ON e.manager_id = t.id WHERE e.dept = 'tech') SELECT * FROM t;

-- Graphs with cycles: UNION ends the walk, or a limit of the depth does.
WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT e.dst FROM edges e JOIN r ON e.src = r.n) SELECT n FROM r;
WITH RECURSIVE r (n) AS (SELECT 7 UNION SELECT e.dst FROM edges e JOIN r ON e.src = r.n) SELECT n FROM r ORDER BY n;
WITH RECURSIVE r (n) AS (SELECT 9 UNION SELECT e.dst FROM edges e JOIN r ON e.src = r.n) SELECT n FROM r;
WITH RECURSIVE r (n) AS (SELECT 5 UNION SELECT e.src FROM edges e JOIN r ON e.dst = r.n) SELECT n FROM r;
WITH RECURSIVE r (n) AS (SELECT 8 UNION SELECT IF(e.src = r.n, e.dst, e.src) FROM edges e JOIN r ON r.n IN (e.src, e.dst)) SELECT n FROM r;
WITH RECURSIVE r (n, d) AS (SELECT 1, 0 UNION SELECT e.dst, d + 1 FROM edges e JOIN r ON e.src = r.n WHERE d < 3) SELECT n, MIN(d) FROM r GROUP BY n;
WITH RECURSIVE r (n, d) AS (SELECT 1, 0 UNION ALL SELECT e.dst, d + 1 FROM edges e JOIN r ON e.src = r.n WHERE d < 4) SELECT d, COUNT(*) FROM r GROUP BY d ORDER BY d;
WITH RECURSIVE r (n, w) AS (SELECT 1, 0 UNION SELECT e.dst, w + e.weight FROM edges e JOIN r ON e.src = r.n WHERE w + e.weight < 40) SELECT n, MIN(w) FROM r GROUP BY n ORDER BY n;
WITH RECURSIVE r (n, path) AS (SELECT 1, CAST('1' AS CHAR(60)) UNION ALL SELECT e.dst, CONCAT(path, '-', e.dst) FROM edges e JOIN r ON e.src = r.n WHERE NOT FIND_IN_SET(e.dst, REPLACE(path, '-', ','))) SELECT path FROM r ORDER BY path;
WITH RECURSIVE r (n, path, w) AS (SELECT 1, CAST('1' AS CHAR(60)), 0 UNION ALL SELECT e.dst, CONCAT(path, '-', e.dst), w + e.weight FROM edges e JOIN r ON e.src = r.n WHERE path NOT LIKE CONCAT('%', e.dst, '%')) SELECT path, w FROM r WHERE n = 5 ORDER BY w;
WITH RECURSIVE r (a, b) AS (SELECT src, dst FROM edges UNION SELECT r.a, e.dst FROM r JOIN edges e ON e.src = r.b) SELECT a, COUNT(*) FROM r GROUP BY a;
WITH RECURSIVE r (a, b) AS (SELECT src, dst FROM edges UNION SELECT r.a, e.dst FROM r JOIN edges e ON e.src = r.b) SELECT a, b FROM r WHERE a > 6;
WITH RECURSIVE r (a, b) AS (SELECT src, dst FROM edges UNION SELECT r.a, e.dst FROM r JOIN edges e ON e.src = r.b) SELECT a.a FROM r a WHERE a.a = a.b;
WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT e.dst FROM edges e JOIN r ON e.src = r.n) SELECT DISTINCT src FROM edges WHERE src NOT IN (SELECT n FROM r);
WITH RECURSIVE r (n) AS (SELECT 6 UNION SELECT e.dst FROM r, edges e WHERE e.src = r.n AND e.weight < 10) SELECT n FROM r;

-- Used twice, beside others, in other places.
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT a.n, b.n FROM c a, c b WHERE a.n < b.n;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3), d (m) AS (SELECT n * 10 FROM c) SELECT n, m FROM c JOIN d ON m = n * 10;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3), d (m) AS (SELECT n FROM c UNION ALL SELECT m + 10 FROM d WHERE m < 20) SELECT m FROM d;
WITH RECURSIVE a AS (SELECT 1 AS x), b (n) AS (SELECT x FROM a UNION ALL SELECT n + x FROM b, a WHERE n < 4) SELECT n FROM b;
WITH RECURSIVE a AS (SELECT 1 AS x) SELECT * FROM a;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c UNION ALL SELECT n + 100 FROM c ORDER BY n;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT (SELECT SUM(n) FROM c) AS s, (SELECT COUNT(*) FROM c) AS k;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT id FROM customers WHERE id IN (SELECT n FROM c);
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 12) SELECT n FROM c WHERE n NOT IN (SELECT id FROM employees WHERE salary IS NOT NULL);
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT x.n, SUM(y.n) FROM c x LEFT JOIN c y ON y.n < x.n GROUP BY x.n;
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n, SUM(n) OVER (ORDER BY n) AS running FROM c ORDER BY n;
SELECT * FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c) d ORDER BY n;
SELECT (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 9) SELECT SUM(n) FROM c) AS s;
SELECT id FROM customers WHERE id IN (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 2 FROM c WHERE n < 6) SELECT n FROM c) ORDER BY id;
SELECT COUNT(*) FROM customers JOIN (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 2 FROM c WHERE n < 6) SELECT n FROM c) d ON d.n = customers.id;

-- Errors.
-- error 1222
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n, 2 FROM c WHERE n < 3) SELECT * FROM c;
-- error 1054
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT m + 1 FROM c WHERE n < 3) SELECT * FROM c;
-- error 1054
WITH RECURSIVE c AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT * FROM c;
-- error 1146
WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3) SELECT * FROM c;
-- error 1146
WITH c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT * FROM c;
-- error 1064
WITH RECURSIVE SELECT 1;
