-- Every way to change a row against every check of one: NOT NULL, taken keys, values that do not fit, WITH CHECK OPTION; then
-- AUTO_INCREMENT. The second of three rows is wrong as a rule: nothing stays of a statement that fails, and with IGNORE the
-- others are there. Which values the sequence gives behind a statement that fails is not shown.

CREATE TABLE w (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, u INT, v VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL DEFAULT 'd', n TINYINT NOT NULL DEFAULT 0, UNIQUE KEY u (u), KEY k (k));
CREATE VIEW vw AS SELECT id, k, u, v, n FROM w WHERE k < 100 WITH CHECK OPTION;
CREATE TABLE s (tag VARCHAR(10) NOT NULL, pos INT NOT NULL, id INT, k INT, u INT, v VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n INT, PRIMARY KEY (tag, pos));
INSERT INTO s VALUES ('null', 1, NULL, 4, 40, 'x', 5), ('null', 2, NULL, NULL, 50, 'e', 5), ('null', 3, NULL, 6, 60, 'y', 5), ('unique', 1, NULL, 4, 40, 'x', 5), ('unique', 2, NULL, 5, 20, 'e', 5), ('unique', 3, NULL, 6, 60, 'y', 5), ('primary', 1, NULL, 4, 40, 'x', 5), ('primary', 2, 2, 5, 50, 'e', 5), ('primary', 3, NULL, 6, 60, 'y', 5), ('long', 1, NULL, 4, 40, 'x', 5), ('long', 2, NULL, 5, 50, 'toolong', 5), ('long', 3, NULL, 6, 60, 'y', 5), ('range', 1, NULL, 4, 40, 'x', 5), ('range', 2, NULL, 5, 50, 'e', 300), ('range', 3, NULL, 6, 60, 'y', 5), ('view', 1, NULL, 4, 40, 'x', 5), ('view', 2, NULL, 100, 50, 'e', 5), ('view', 3, NULL, 6, 60, 'y', 5), ('number', 1, NULL, 4, 40, 'x', 5), ('number', 2, 40, 5, 50, 'e', 5), ('number', 3, NULL, 6, 60, 'y', 5);

-- NOT NULL.
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
INSERT INTO w (id, k, u, v, n) VALUES (NULL, NULL, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, NULL, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, NULL, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, NULL, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
INSERT INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'null' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'null' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
REPLACE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, NULL, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1048
REPLACE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'null' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1048
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, NULL, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, NULL, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
INSERT INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE k = NULL;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE k = NULL;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
INSERT INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE k = NULL;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE k = NULL;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
UPDATE w SET k = NULL WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET k = NULL WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
UPDATE w SET k = NULL WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET k = NULL WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
UPDATE w SET k = NULL, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET k = NULL, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.k = NULL;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.k = NULL;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1048
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.k = NULL, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.k = NULL, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;

-- A unique key is taken.
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 5, 20, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 5, 20, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 20, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 20, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'unique' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'unique' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
REPLACE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 20, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
REPLACE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'unique' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 20, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 20, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE u = 20;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE u = 20;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE u = 20;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE u = 20;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w SET u = 20 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET u = 20 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w SET u = 20 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET u = 20 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w SET u = 20, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET u = 20, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.u = 20;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1062
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.u = 20, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;

-- The primary key is taken.
-- error 1062
INSERT INTO w (id, k, u, v, n) VALUES (2, 5, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (2, 5, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (2, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (2, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'primary' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'primary' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
REPLACE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (2, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
REPLACE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'primary' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (2, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (2, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
INSERT INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE id = 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE id = 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE id = 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE id = 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w SET id = 2 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET id = 2 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w SET id = 2 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET id = 2 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w SET id = 2, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET id = 2, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.id = 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1062
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.id = 2, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;

-- A text is too long.
-- error 1406
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 5, 50, 'toolong', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 5, 50, 'toolong', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'toolong', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'toolong', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
INSERT INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'long' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'long' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
REPLACE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'toolong', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1406
REPLACE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'long' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1406
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'toolong', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'toolong', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
INSERT INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE v = 'toolong';
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE v = 'toolong';
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
INSERT INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE v = 'toolong';
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE v = 'toolong';
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
UPDATE w SET v = 'toolong' WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET v = 'toolong' WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
UPDATE w SET v = 'toolong' WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET v = 'toolong' WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
UPDATE w SET v = 'toolong', n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET v = 'toolong', n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.v = 'toolong';
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.v = 'toolong';
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1406
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.v = 'toolong', s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.v = 'toolong', s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;

-- A number is out of range.
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 5, 50, 'e', 300);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 5, 50, 'e', 300);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'e', 300), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'e', 300), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
INSERT INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'range' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'range' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
REPLACE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'e', 300), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1264
REPLACE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'range' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1264
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'e', 300), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 5, 50, 'e', 300), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
INSERT INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE n = 300;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE n = 300;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
INSERT INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE n = 300;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE n = 300;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
UPDATE w SET n = 300 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET n = 300 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
UPDATE w SET n = 300 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET n = 300 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
UPDATE w SET n = 300 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w SET n = 300 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.n = 300;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.n = 300;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1264
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.n = 300, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.n = 300, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;

-- WITH CHECK OPTION.
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
INSERT INTO vw (id, k, u, v, n) VALUES (NULL, 100, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1369
INSERT INTO vw (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 100, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO vw (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 100, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
INSERT INTO vw (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'view' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO vw (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'view' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
REPLACE INTO vw (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 100, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1369
REPLACE INTO vw (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'view' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
-- error 1369
INSERT INTO vw (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 100, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO vw (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (NULL, 100, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
INSERT INTO vw (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE k = 100;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO vw (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE k = 100;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
INSERT INTO vw (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE k = 100;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT IGNORE INTO vw (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE k = 100;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
UPDATE vw SET k = 100 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE vw SET k = 100 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
UPDATE vw SET k = 100 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE vw SET k = 100 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1369
UPDATE vw SET k = 100, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE IGNORE vw SET k = 100, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;

-- A value for AUTO_INCREMENT.
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) VALUES (40, 5, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (40, 5, 50, 'e', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (40, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (40, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'number' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'number' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
REPLACE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (40, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
REPLACE INTO w (id, k, u, v, n) SELECT id, k, u, v, n FROM s WHERE tag = 'number' ORDER BY pos;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (40, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) VALUES (NULL, 4, 40, 'x', 5), (40, 5, 50, 'e', 5), (NULL, 6, 60, 'y', 5) ON DUPLICATE KEY UPDATE n = n + 50;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE id = 40;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u) VALUES (NULL, 7, 70), (1, 7, 71), (NULL, 8, 80) ON DUPLICATE KEY UPDATE id = 40;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE id = 40;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
INSERT IGNORE INTO w (id, k, u, v, n) SELECT s.id, s.k, s.u, s.v, s.n FROM s WHERE s.tag = 'unique' ORDER BY s.pos ON DUPLICATE KEY UPDATE id = 40;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
UPDATE w SET id = 40 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
UPDATE IGNORE w SET id = 40 WHERE id = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
UPDATE IGNORE w SET id = 40 WHERE k IN (1, 3);
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
UPDATE IGNORE w SET id = 40, n = n + 1 ORDER BY id DESC LIMIT 2;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
TRUNCATE TABLE w;
INSERT INTO w (id, k, u, v, n) VALUES (1, 1, 10, 'a', 1), (2, 2, 20, 'b', 2), (3, 3, NULL, 'c', 3);
-- error 1062
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.id = 40;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
UPDATE w JOIN s ON s.tag = 'null' AND s.pos = w.id SET w.id = 40, s.v = 'done' WHERE w.k = 1;
SELECT CASE WHEN id IN (1, 2, 3, 40) THEN id END AS id, k, u, v, n FROM w ORDER BY w.id;
INSERT INTO w (k, v) VALUES (9, 'next');
SELECT id = LAST_INSERT_ID() AS own, id > 40 AS above FROM w WHERE v = 'next';
