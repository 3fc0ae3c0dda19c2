-- Comparisons and joins between types: integers, decimals, doubles, texts, dates; the types of results.

-- A column and a constant of another type.
SELECT id FROM mixed WHERE i = '10';
SELECT id FROM mixed WHERE i = '10.0';
SELECT id FROM mixed WHERE i = 10.0;
SELECT id FROM mixed WHERE i = 1e1;
SELECT id FROM mixed WHERE i > 0.5;
SELECT id FROM mixed WHERE i < '2';
SELECT id FROM mixed WHERE i IN (1, '10', 2.5);
SELECT id FROM mixed WHERE i BETWEEN '0' AND 10.5;
SELECT id FROM mixed WHERE u = 18446744073709551615;
SELECT id FROM mixed WHERE u > 9223372036854775807;
SELECT id FROM mixed WHERE u >= 9223372036854775808;
SELECT id FROM mixed WHERE u = '42';
SELECT id FROM mixed WHERE u > -1;
SELECT id FROM mixed WHERE u = 42.0;
SELECT id FROM mixed WHERE d = 2.5;
SELECT id FROM mixed WHERE d = '2.50';
SELECT id FROM mixed WHERE d = 25e-1;
SELECT id FROM mixed WHERE d > 2;
SELECT id FROM mixed WHERE d IN (1, 2.50, '10');
SELECT id FROM mixed WHERE d BETWEEN 0 AND '2.5';
SELECT id FROM mixed WHERE d = 99999999.99;
SELECT id FROM mixed WHERE f = 0.25;
SELECT id FROM mixed WHERE f = '2.5';
SELECT id FROM mixed WHERE f > 1;
SELECT id FROM mixed WHERE f < 1e50 AND f > -1;
SELECT id FROM mixed WHERE f IN (1, 10, 0.25);
SELECT id FROM mixed WHERE s = 'abc';
SELECT id FROM mixed WHERE s = 'ABC ';
SELECT id FROM mixed WHERE s > 'abb' AND s < 'abd';
SELECT id FROM mixed WHERE s IN ('Abc', '10');
SELECT id FROM mixed WHERE CONCAT(s, '') LIKE 'ABC';
SELECT id FROM mixed WHERE s LIKE 'abc%';
SELECT id FROM mixed WHERE b = 'abc';
SELECT id FROM mixed WHERE b = 'ABC';
SELECT id FROM mixed WHERE b = 'abc ';
SELECT id FROM mixed WHERE b > 'ABC';
SELECT id FROM mixed WHERE b LIKE 'a%';
SELECT id FROM mixed WHERE b IN ('abc', 'Abc', '10');
SELECT id FROM mixed WHERE vb = 'bytes';
SELECT id FROM mixed WHERE vb = 'Bytes';
SELECT id FROM mixed WHERE vb > 'a';
SELECT id FROM mixed WHERE vb = 'tail';
SELECT id FROM mixed WHERE t = 'LONG text';
SELECT id FROM mixed WHERE t LIKE '%text';
SELECT id FROM mixed WHERE dt = '2020-01-01';
SELECT id FROM mixed WHERE dt = DATE '2020-01-01';
SELECT id FROM mixed WHERE dt = '2020-01-01 00:00:00';
SELECT id FROM mixed WHERE dt > '2020-01-01 12:00:00';
SELECT id FROM mixed WHERE dt = 20200101;
SELECT id FROM mixed WHERE dt BETWEEN '2020-01-01' AND '2020-12-31';
SELECT id FROM mixed WHERE dt IN ('2020-02-29', '1999-12-31');
SELECT id FROM mixed WHERE dt < TIMESTAMP '2020-01-01 00:00:01';
SELECT id FROM mixed WHERE YEAR(dt) = 2020;
SELECT id FROM mixed WHERE dt + INTERVAL 1 DAY = '2020-03-01';
SELECT id FROM mixed WHERE ts = '2020-01-01';
SELECT id FROM mixed WHERE ts = '2020-01-01 00:00:00';
SELECT id FROM mixed WHERE ts > '2020-06-01';
SELECT id FROM mixed WHERE ts = TIMESTAMP '2020-02-29 12:00:00';
SELECT id FROM mixed WHERE ts BETWEEN '2020-01-01' AND '2020-01-02';
SELECT id FROM mixed WHERE ts IN ('2020-01-01 10:20:30', '2021-06-15 06:00:00');
SELECT id FROM mixed WHERE tm = '12:00:00';
SELECT id FROM mixed WHERE tm > '10:00:00';
SELECT id FROM mixed WHERE tm < '00:00:00';
SELECT id FROM mixed WHERE tm = TIME '00:00:01';
SELECT id FROM mixed WHERE tm BETWEEN '00:00:00' AND '23:59:59';
SELECT id FROM mixed WHERE tm IN ('100:00:00', '-01:30:00');

-- Columns of two types.
SELECT id FROM mixed WHERE i = d;
SELECT id FROM mixed WHERE i = f;
SELECT id FROM mixed WHERE i = s;
SELECT id FROM mixed WHERE i = u;
SELECT id FROM mixed WHERE i < u;
SELECT id FROM mixed WHERE d = f;
SELECT id FROM mixed WHERE d = s;
SELECT id FROM mixed WHERE f = s;
SELECT id FROM mixed WHERE u = d;
SELECT id FROM mixed WHERE s = b;
SELECT id FROM mixed WHERE s = t;
SELECT id FROM mixed WHERE b = vb;
SELECT id FROM mixed WHERE dt = ts;
SELECT id FROM mixed WHERE dt < ts;
SELECT id FROM mixed WHERE DATE(ts) = dt;
SELECT id FROM mixed WHERE TIME(ts) = tm;
SELECT id FROM mixed WHERE i <=> d;
SELECT id FROM mixed WHERE i <> f;
SELECT id FROM mixed WHERE i IN (d, f);
SELECT id FROM mixed WHERE i BETWEEN d AND u;
SELECT id, i = d, i < d, i = f, d = f, i <=> u FROM mixed;
SELECT id, s = b, s < b, b = vb, s LIKE b, s = 'ABC', b = 'ABC' FROM mixed;
SELECT id, dt = ts, dt <=> DATE(ts), dt > '2020-01-15', ts > dt FROM mixed WHERE id < 3;

-- Joins over columns of two types.
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n = m.i;
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n = m.u;
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n = m.d;
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n = m.f;
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n = m.s;
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n = m.b;
SELECT m.id, n.n FROM mixed m LEFT JOIN numbers n ON n.n = m.s + 0 AND m.s REGEXP '^[0-9]+$';
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n < m.d AND m.d < 3;
SELECT m.id, n.n FROM mixed m JOIN numbers n ON n.n BETWEEN m.f AND m.f + 1 WHERE m.f BETWEEN 0 AND 9;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.i = o.d AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.d = o.f AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.i = o.u AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.i = o.s AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.s = o.b AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.s = o.s AND m.id < o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.b = o.b AND m.id < o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.vb = o.vb AND m.id < o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.b = o.vb AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.t = o.s AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.dt = o.dt AND m.id < o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.dt = o.ts AND m.id <> o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.ts = o.ts AND m.id < o.id;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.dt < o.ts AND m.id = 7;
SELECT m.id, o.id FROM mixed m JOIN mixed o ON m.tm < o.tm AND o.id = 4;
SELECT m.id, g.id FROM mixed m JOIN gaps g ON g.d = m.d;
SELECT m.id, g.id FROM mixed m JOIN gaps g ON g.d = m.f;
SELECT m.id, g.id FROM mixed m JOIN gaps g ON g.a = m.d;
SELECT m.id, g.id FROM mixed m JOIN gaps g ON g.e = m.dt;
SELECT m.id, g.id FROM mixed m JOIN gaps g ON g.e = m.ts;
SELECT m.id, c.id FROM mixed m JOIN customers c ON c.joined = m.dt;
SELECT m.id, c.id FROM mixed m LEFT JOIN customers c ON c.joined = m.ts;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.joined < o.placed AND c.id = 7;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id = o.total;
SELECT c.id, p.id FROM customers c JOIN products p ON c.credit > p.price AND p.id = 5;
SELECT i.order_id, i.line, p.id FROM items i JOIN products p ON i.discount < p.stock AND p.id = 1;
SELECT o.id, k.id FROM orders o JOIN categories k ON o.customer_id = CONCAT(k.id, '');
SELECT o.id, k.id FROM orders o JOIN categories k ON CAST(k.id AS DECIMAL(10,2)) = o.customer_id;

-- Types of expressions.
SELECT id, i + d, i + f, i + u, d + f, i * d, i / d, i DIV 3, d DIV 3 FROM mixed WHERE id IN (1, 5);
SELECT id, i + s, d + s, f + s, s + s, s * 2 FROM mixed WHERE id = 1;
SELECT id, i % 3, d % 3, f % 3, -i, -d, -f, ABS(i), ABS(d) FROM mixed WHERE id IN (1, 2);
SELECT id, ROUND(d), ROUND(d, 1), ROUND(f, 1), FLOOR(d), CEILING(f), TRUNCATE(d, 1) FROM mixed WHERE id IN (2, 7);
SELECT id, IF(i > 1, i, d) AS v FROM mixed WHERE id < 4;
SELECT id, IF(i > 1, d, f) AS v FROM mixed WHERE id < 4;
SELECT id, IF(i > 0, i, s) AS v FROM mixed WHERE id < 4;
SELECT id, COALESCE(i, d) AS v, COALESCE(d, f) AS w, COALESCE(s, i) AS x FROM mixed WHERE id < 4;
SELECT id, CASE WHEN id = 1 THEN i WHEN id = 2 THEN d ELSE f END AS v FROM mixed WHERE id < 4;
SELECT id, CASE WHEN id = 1 THEN dt ELSE ts END AS v FROM mixed WHERE id < 4;
SELECT id, CASE WHEN id = 1 THEN dt ELSE s END AS v FROM mixed WHERE id < 4;
SELECT id, GREATEST(i, d) AS v, LEAST(i, f) AS w FROM mixed WHERE id < 4;
SELECT id, GREATEST(s, b) AS v, LEAST(dt, '2020-01-15') AS w FROM mixed WHERE id < 3;
SELECT id, CONCAT(i, d), CONCAT(f, s), CONCAT(dt, ' ', tm), CONCAT(ts, '') FROM mixed WHERE id < 4;
SELECT id, CAST(i AS CHAR), CAST(d AS SIGNED), CAST(s AS SIGNED), CAST(dt AS CHAR), CAST(ts AS DATE), CAST(dt AS DATETIME) FROM mixed WHERE id = 1;
SELECT id, CAST(i AS DECIMAL(8,3)), CAST(f AS DECIMAL(8,3)), CAST('12.345' AS DECIMAL(6,1)), CAST(d AS UNSIGNED) FROM mixed WHERE id = 7;
SELECT id, dt + INTERVAL 1 DAY, ts + INTERVAL 1 HOUR, dt - INTERVAL 1 MONTH, DATEDIFF(ts, dt) FROM mixed WHERE id < 4;
SELECT id, NULLIF(i, d), NULLIF(s, b), NULLIF(dt, ts) FROM mixed WHERE id < 3;
SELECT SUM(i), SUM(d), SUM(f), SUM(i + d), SUM(d * f), AVG(i), AVG(d), AVG(f) FROM mixed WHERE id IN (1, 2, 5);
SELECT MAX(i + 0.5), MAX(i * 1e0), MAX(CONCAT(i, '')), MAX(COALESCE(i, d)) FROM mixed WHERE id < 4;
SELECT i, COUNT(*) FROM mixed WHERE i = d GROUP BY i;
SELECT i + 0.0 AS k, COUNT(*) FROM mixed GROUP BY k;
SELECT b, COUNT(*) FROM mixed WHERE id < 8 GROUP BY b;
SELECT dt, COUNT(*), MAX(ts) FROM mixed GROUP BY dt;
SELECT DATE(ts) AS k, COUNT(*) FROM mixed GROUP BY k;
SELECT d, f, d = f FROM mixed ORDER BY d = f, d, id;
SELECT COUNT(*) FROM mixed m JOIN mixed o ON (m.i, m.s) = (o.d, o.b);

-- Errors.
-- error 1292
UPDATE mixed SET dt = '2020-13-01' WHERE id = 1;
-- error 1292
UPDATE mixed SET ts = 'never' WHERE id = 1;
-- error 1366
UPDATE mixed SET i = 'text' WHERE id = 1;
-- error 1264
UPDATE mixed SET i = u WHERE id = 4;
-- error 1264
UPDATE mixed SET d = f WHERE id = 4;
-- error 1264
UPDATE mixed SET u = i WHERE id = 2;
-- error 1406
UPDATE mixed SET s = REPEAT('x', 21) WHERE id = 1;
-- error 1690
SELECT u + 1 FROM mixed WHERE id = 4;
-- error 1690
SELECT u - 1 FROM mixed WHERE id = 2;
SELECT * FROM mixed WHERE id IN (1, 2) ORDER BY id;
