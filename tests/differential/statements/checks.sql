-- CHECK constraints in all statements that write rows.

CREATE TABLE ck (id INT PRIMARY KEY, v INT CHECK (v < 10), w INT, CONSTRAINT v_less CHECK (v < w), CHECK (w BETWEEN 0 AND 100 OR w IS NULL));
CREATE TABLE cs (id INT PRIMARY KEY, v INT, w INT);
INSERT INTO cs VALUES (11, 1, 2), (12, NULL, 5), (13, 3, NULL), (14, NULL, NULL), (15, 50, 60), (16, 5, 4);
INSERT INTO ck VALUES (1, 1, 2), (2, NULL, 2), (3, 3, NULL), (4, NULL, NULL);
SELECT * FROM ck ORDER BY id;
-- error 3819, reference 4025
INSERT INTO ck VALUES (5, 10, 20);
-- error 3819, reference 4025
INSERT INTO ck VALUES (5, 5, 5);
-- error 3819, reference 4025
INSERT INTO ck VALUES (5, 5, 101);
-- error 3819, reference 4025
INSERT INTO ck VALUES (5, 5, 6), (6, 6, 6);
SELECT * FROM ck ORDER BY id;
INSERT IGNORE INTO ck VALUES (5, 5, 6), (6, 6, 6), (7, 7, 8);
SELECT * FROM ck ORDER BY id;
-- error 3819, reference 4025
INSERT INTO ck SELECT * FROM cs;
INSERT IGNORE INTO ck SELECT * FROM cs;
SELECT * FROM ck ORDER BY id;
REPLACE INTO ck VALUES (7, 8, 9);
-- error 3819, reference 4025
REPLACE INTO ck VALUES (7, 9, 9);
UPDATE ck SET v = 2 WHERE id = 1 AND w > 2;
-- error 3819, reference 4025
UPDATE ck SET v = 2 WHERE id = 1;
-- error 3819, reference 4025
UPDATE ck SET v = v + 1 WHERE v IS NOT NULL;
-- error 3819, reference 4025
UPDATE ck SET w = -1 ORDER BY id LIMIT 1;
UPDATE ck SET w = w + 1, v = v + 1 WHERE id IN (1, 2, 7);
SELECT * FROM ck ORDER BY id;
-- error 3819, reference 4025
UPDATE ck JOIN cs ON cs.id = ck.id SET ck.v = 99;
UPDATE ck JOIN cs ON cs.id = ck.id SET ck.w = 50;
SELECT * FROM ck ORDER BY id;
INSERT INTO ck VALUES (1, 1, 2) ON DUPLICATE KEY UPDATE w = 77;
-- error 3819, reference 4025
INSERT INTO ck VALUES (1, 1, 2) ON DUPLICATE KEY UPDATE w = 0;
-- error 3819, reference 4025
INSERT INTO ck VALUES (1, 2, 1) ON DUPLICATE KEY UPDATE w = 77;
SELECT * FROM ck ORDER BY id;
DELETE FROM ck WHERE v < w;
SELECT * FROM ck ORDER BY id;

-- Expressions over texts, times and NULL.
CREATE TABLE ce (id INT PRIMARY KEY, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci CHECK (s IN ('a', 'b', 'c')), t VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin CHECK (t NOT LIKE 'x%' AND CHAR_LENGTH(t) > 1), d DATE CHECK (d > '2020-01-01'), e DECIMAL(10,2) CHECK (e * 2 <> 3), CHECK (CASE WHEN s = 'a' THEN d IS NOT NULL ELSE 1 = 1 END = 1), CHECK (COALESCE(e, 0) >= 0), CHECK (NOT (s = 'b' AND t = 'bb')));
INSERT INTO ce VALUES (1, 'A', 'tt', '2020-01-02', 1), (2, NULL, NULL, NULL, NULL), (3, 'b', 'Bb', NULL, 0);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'd', 'tt', '2020-01-02', 1);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'c', 'xt', '2020-01-02', 1);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'c', 't', '2020-01-02', 1);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'c', 'tt', '2020-01-01', 1);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'c', 'tt', '2020-01-02', 1.5);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'a', 'tt', NULL, 1);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'c', 'tt', NULL, -1);
-- error 3819, reference 4025
INSERT INTO ce VALUES (4, 'B', 'bb', NULL, 1);
INSERT INTO ce VALUES (4, 'c', 'Xt', '2021-01-02', 1.51);
SELECT * FROM ce ORDER BY id;

-- ALTER TABLE.
CREATE TABLE ca (id INT PRIMARY KEY, v INT);
INSERT INTO ca VALUES (1, 1), (2, 2), (3, NULL);
-- error 3819, reference 4025
ALTER TABLE ca ADD CONSTRAINT big CHECK (v > 1);
INSERT INTO ca VALUES (4, 0);
ALTER TABLE ca ADD CONSTRAINT some CHECK (v >= 0);
-- error 3819, reference 4025
INSERT INTO ca VALUES (5, -1);
ALTER TABLE ca DROP CONSTRAINT some;
INSERT INTO ca VALUES (5, -1);
SELECT * FROM ca ORDER BY id;

-- error 3819, reference 4025
CREATE TABLE cn (v INT CHECK (v < 10)) SELECT 1 AS a, 11 AS v;
CREATE TABLE cn (v INT CHECK (v < 10)) SELECT 1 AS a, 9 AS v;
SELECT v, a FROM cn;
