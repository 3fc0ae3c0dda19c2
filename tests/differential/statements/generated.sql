-- Generated columns and DEFAULT (expression) in all statements that write rows.

CREATE TABLE ga (id INT PRIMARY KEY, a INT, b INT AS (a + 1) STORED, c INT AS (-b) STORED, d VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci AS (CONCAT('x', a)) STORED, UNIQUE KEY d (d), KEY b (b));
INSERT INTO ga (id, a) VALUES (1, 1), (2, 2), (3, NULL);
INSERT INTO ga VALUES (4, 4, DEFAULT, DEFAULT, DEFAULT);
SELECT * FROM ga ORDER BY id;
-- error 1062
INSERT INTO ga (id, a) VALUES (5, 1);
-- error 3105, reference 1906
INSERT INTO ga VALUES (5, 5, 6, DEFAULT, DEFAULT);
-- error 3105, reference 1906
UPDATE ga SET b = 5;
UPDATE ga SET a = 10 WHERE b = 2;
UPDATE ga SET a = a + 1 WHERE d IN ('x2', 'X4');
SELECT * FROM ga ORDER BY id;
-- error 1062
UPDATE ga SET a = 10 WHERE id = 2;
UPDATE ga SET id = id + 100, a = NULL WHERE c < -5;
SELECT * FROM ga ORDER BY id;
SELECT id FROM ga WHERE b IS NULL ORDER BY id;
INSERT INTO ga (id, a) VALUES (2, 20) ON DUPLICATE KEY UPDATE a = 21, b = DEFAULT;
INSERT INTO ga (id, a) VALUES (2, 20) ON DUPLICATE KEY UPDATE a = VALUES(a) + c;
REPLACE INTO ga (id, a) VALUES (2, 30), (9, 9);
SELECT * FROM ga ORDER BY id;
INSERT INTO ga (id, a) SELECT id + 1000, a + 1000 FROM ga WHERE a IS NOT NULL;
UPDATE ga JOIN customers ON customers.id = ga.id SET ga.a = customers.credit;
SELECT * FROM ga ORDER BY id;
DELETE FROM ga WHERE b BETWEEN 2 AND 20;
SELECT * FROM ga ORDER BY id;

CREATE TABLE gb (id INT PRIMARY KEY, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n INT AS (LENGTH(s)), u VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci AS (UPPER(LEFT(s, 3))) STORED, dt DATE, y INT AS (YEAR(dt)), m DATE AS (DATE_ADD(dt, INTERVAL 1 MONTH)) STORED, e DECIMAL(10,1) AS (n / 3), f DOUBLE AS (CASE WHEN n > 3 THEN n * 1.5 ELSE 0 END), g INT NOT NULL DEFAULT 0, h INT AS (g DIV 2) VIRTUAL);
INSERT INTO gb (id, s, dt) VALUES (1, 'hello', '2020-01-31'), (2, '', NULL), (3, NULL, '1999-12-31'), (4, 'Ünï', '2020-02-29');
SELECT * FROM gb ORDER BY id;
UPDATE gb SET s = CONCAT(s, '!'), dt = DATE_SUB(dt, INTERVAL 1 YEAR), g = id * 3;
SELECT * FROM gb ORDER BY id;
SELECT u, COUNT(*) FROM gb GROUP BY u ORDER BY u;

CREATE TABLE gd (id INT PRIMARY KEY, a INT DEFAULT (id * 2), b VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT (CONCAT('x', a)), c TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT ('long'), d INT DEFAULT (7), g INT AS (d + 1));
INSERT INTO gd (id) VALUES (1), (2);
INSERT INTO gd (id, a, c) VALUES (3, 30, DEFAULT), (4, DEFAULT, 'short');
INSERT INTO gd SET id = 5, a = NULL, d = NULL;
INSERT INTO gd (id) SELECT id + 100 FROM customers WHERE id < 3;
REPLACE INTO gd (id, b) VALUES (1, 'new');
SELECT * FROM gd ORDER BY id;
UPDATE gd SET d = 1 WHERE id > 100;
SELECT * FROM gd ORDER BY id;
