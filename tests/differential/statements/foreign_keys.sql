-- FOREIGN KEY: parents that must be there, children that keep a row or follow it, over one and several tables.

CREATE TABLE p (id INT PRIMARY KEY, u INT, a INT NOT NULL, b VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, v INT, UNIQUE KEY uu (u), UNIQUE KEY ab (a, b));
INSERT INTO p VALUES (1, 10, 1, 'x', 0), (2, 20, 1, 'y', 0), (3, 30, 2, 'x', 0), (4, NULL, 2, 'y', 0), (5, 50, 3, 'Z', 0);
CREATE TABLE c (id INT PRIMARY KEY, pid INT, CONSTRAINT c1 FOREIGN KEY (pid) REFERENCES p (id));
CREATE TABLE cc (id INT PRIMARY KEY, pid INT, CONSTRAINT c2 FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE cn (id INT PRIMARY KEY, pid INT, CONSTRAINT c3 FOREIGN KEY (pid) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL);
CREATE TABLE cu (id INT PRIMARY KEY, pu INT, CONSTRAINT c4 FOREIGN KEY (pu) REFERENCES p (u) ON UPDATE CASCADE);
CREATE TABLE cab (id INT PRIMARY KEY, pb VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, pa INT, CONSTRAINT c5 FOREIGN KEY (pa, pb) REFERENCES p (a, b) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE g (id INT PRIMARY KEY, cid INT, CONSTRAINT c6 FOREIGN KEY (cid) REFERENCES cc (id) ON DELETE CASCADE ON UPDATE CASCADE);

-- Children need parents.
INSERT INTO c VALUES (1, 1), (2, NULL);
-- error 1452
INSERT INTO c VALUES (3, 9);
-- error 1452
INSERT INTO c VALUES (3, 2), (4, 9), (5, 3);
SELECT id, pid FROM c ORDER BY id;
INSERT IGNORE INTO c VALUES (3, 2), (4, 9), (5, 3);
SELECT id, pid FROM c ORDER BY id;
-- error 1452
UPDATE c SET pid = 8 WHERE id = 1;
-- error 1452
UPDATE c SET pid = pid + 3;
UPDATE IGNORE c SET pid = pid + 3;
SELECT id, pid FROM c ORDER BY id;
UPDATE c SET pid = NULL WHERE id = 5;
UPDATE c SET pid = 2 WHERE id = 5;
UPDATE c SET id = 6 WHERE id = 5;
-- error 1452
INSERT INTO c VALUES (1, 1) ON DUPLICATE KEY UPDATE pid = 77;
INSERT INTO c VALUES (1, 1) ON DUPLICATE KEY UPDATE pid = 4;
-- error 1452
REPLACE INTO c VALUES (1, 99);
REPLACE INTO c VALUES (1, 1);
-- error 1452
INSERT INTO c SELECT id + 100, id + 2 FROM p;
INSERT INTO c SELECT id + 100, id FROM p WHERE id < 3;
SELECT id, pid FROM c ORDER BY id;
-- error 1452
INSERT INTO cu VALUES (1, 11);
INSERT INTO cu VALUES (1, 10), (2, 30), (3, NULL);
-- error 1452
INSERT INTO cab VALUES (1, 'z', 1);
INSERT INTO cab VALUES (1, 'x', 1), (2, 'X', 2), (3, NULL, 9), (4, 'nope', NULL), (5, 'z', 3);
-- error 1452
UPDATE cab SET pa = 9 WHERE id = 1;
UPDATE cab SET pb = 'Y' WHERE id = 1;
SELECT id, pa, pb FROM cab ORDER BY id;

-- Rows with children stay.
-- error 1451
DELETE FROM p WHERE id = 1;
-- error 1451
DELETE FROM p WHERE id IN (5, 2);
-- error 1451
UPDATE p SET id = 100 WHERE id = 1;
UPDATE p SET v = 5 WHERE id = 1;
UPDATE p SET id = id WHERE id = 1;
-- error 1451
DELETE FROM p;
-- error 1451
REPLACE INTO p VALUES (1, 10, 1, 'x', 9);
INSERT INTO p VALUES (1, 10, 1, 'x', 9) ON DUPLICATE KEY UPDATE v = 9;
-- error 1451
INSERT INTO p VALUES (1, 10, 1, 'x', 9) ON DUPLICATE KEY UPDATE id = 101;
SELECT id, u, a, b, v FROM p ORDER BY id;
DELETE FROM c WHERE pid = 3;
-- error 1451
DELETE FROM p WHERE id = 3;
DELETE FROM cu WHERE id = 2;
DELETE FROM p WHERE id = 3;
SELECT id, pa, pb FROM cab ORDER BY id;

-- CASCADE and SET NULL.
DELETE FROM c;
DELETE FROM cu;
INSERT INTO cc VALUES (1, 1), (2, 1), (3, 2), (4, NULL), (5, 4);
INSERT INTO cn VALUES (1, 1), (2, 1), (3, 2), (4, NULL);
INSERT INTO g VALUES (1, 1), (2, 2), (3, 3), (4, NULL), (5, 1);
INSERT INTO cu VALUES (1, 10), (2, 20);
UPDATE p SET id = 100 WHERE id = 1;
SELECT id, pid FROM cc ORDER BY id;
SELECT id, pid FROM cn ORDER BY id;
UPDATE cc SET id = id + 10 WHERE id < 3;
SELECT id, cid FROM g ORDER BY id;
UPDATE p SET u = 11 WHERE id = 100;
SELECT id, pu FROM cu ORDER BY id;
UPDATE p SET b = 'w' WHERE id = 2;
SELECT id, pa, pb FROM cab ORDER BY id;
-- error 1451
DELETE FROM p WHERE id = 100;
DELETE FROM cu;
DELETE FROM p WHERE id = 100;
SELECT id, pid FROM cc ORDER BY id;
SELECT id, cid FROM g ORDER BY id;
DELETE FROM p WHERE id IN (2, 4);
SELECT id, pid FROM cc ORDER BY id;
SELECT id, pid FROM cn ORDER BY id;
SELECT id, cid FROM g ORDER BY id;
SELECT id, pa, pb FROM cab ORDER BY id;
SELECT id FROM p ORDER BY id;

-- A table that references itself.
CREATE TABLE s (id INT PRIMARY KEY, boss INT, name VARCHAR(10), CONSTRAINT s1 FOREIGN KEY (boss) REFERENCES s (id));
INSERT INTO s VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, 3, 'd');
INSERT INTO s VALUES (5, 5, 'e');
INSERT INTO s VALUES (10, NULL, 'x'), (11, 10, 'y'), (12, 11, 'z');
-- error 1452
INSERT INTO s VALUES (20, 21, 'x'), (21, NULL, 'y');
-- error 1452
INSERT INTO s VALUES (20, 20, 'x'), (22, 99, 'y');
-- error 1451
DELETE FROM s WHERE id = 3;
-- error 1451
DELETE FROM s WHERE id IN (1, 2, 3, 4);
-- error 1451
DELETE FROM s WHERE id = 5;
UPDATE s SET boss = NULL WHERE id = 5;
DELETE FROM s WHERE id = 5;
DELETE FROM s WHERE id = 4;
DELETE FROM s WHERE id IN (2, 3);
UPDATE s SET boss = id WHERE id = 1;
-- error 1451
UPDATE s SET id = 7 WHERE id = 10;
-- error 1452
UPDATE s SET boss = 77 WHERE id = 11;
UPDATE s SET boss = 12 WHERE id = 10;
SELECT id, boss FROM s ORDER BY id;
CREATE TABLE sc (id INT PRIMARY KEY, boss INT, CONSTRAINT s2 FOREIGN KEY (boss) REFERENCES sc (id) ON DELETE CASCADE);
INSERT INTO sc VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, 4), (6, NULL), (7, 6);
DELETE FROM sc WHERE id = 2;
SELECT id, boss FROM sc ORDER BY id;
INSERT INTO sc VALUES (20, 20);
DELETE FROM sc WHERE id = 20;
DELETE FROM sc;
SELECT COUNT(*) FROM sc;

-- Several keys, several levels, several tables in one statement.
CREATE TABLE t1 (id INT PRIMARY KEY, v INT);
CREATE TABLE t2 (id INT PRIMARY KEY, a INT NOT NULL, b INT, FOREIGN KEY (a) REFERENCES t1 (id) ON DELETE CASCADE, FOREIGN KEY (b) REFERENCES t1 (id) ON DELETE SET NULL);
CREATE TABLE t3 (id INT PRIMARY KEY, t2 INT, FOREIGN KEY (t2) REFERENCES t2 (id));
INSERT INTO t1 VALUES (1, 0), (2, 0), (3, 0);
INSERT INTO t2 VALUES (1, 1, 2), (2, 2, 2), (3, 2, 1), (4, 3, 3);
INSERT INTO t3 VALUES (1, 3);
-- error 1451
DELETE FROM t1 WHERE id = 2;
SELECT id, a, b FROM t2 ORDER BY id;
DELETE FROM t3;
DELETE FROM t1 WHERE id = 2;
SELECT id, a, b FROM t2 ORDER BY id;
DELETE FROM t1 WHERE id = 3;
SELECT id, a, b FROM t2 ORDER BY id;
INSERT INTO t1 VALUES (7, 1), (8, 1);
INSERT INTO t2 VALUES (7, 7, 8), (8, 8, 7);
-- error 1452
UPDATE t2 JOIN t1 ON t1.id = t2.a SET t2.a = 55 WHERE t1.v = 1;
UPDATE t2 JOIN t1 ON t1.id = t2.a SET t2.b = t1.id WHERE t1.v = 1;
SELECT id, a, b FROM t2 ORDER BY id;
DELETE t1 FROM t1 JOIN t2 ON t2.a = t1.id WHERE t2.id = 7;
SELECT id, a, b FROM t2 ORDER BY id;

-- A transaction sees its own changes.
BEGIN;
INSERT INTO t1 VALUES (50, 0);
INSERT INTO t2 VALUES (50, 50, 50);
DELETE FROM t1 WHERE id = 50;
SELECT COUNT(*) FROM t2 WHERE id = 50;
-- error 1452
INSERT INTO t2 VALUES (51, 50, NULL);
ROLLBACK;
SELECT COUNT(*) FROM t1 WHERE id = 50;

-- Without checks.
SET foreign_key_checks = 0;
INSERT INTO c VALUES (900, 900);
DELETE FROM t1;
SET foreign_key_checks = 1;
SELECT id, a, b FROM t2 ORDER BY id;
-- error 1452
UPDATE c SET id = 901 WHERE id = 900;
-- error 1452
UPDATE c SET pid = 901 WHERE id = 900;
UPDATE c SET pid = pid WHERE id = 900;
-- error 1452
INSERT INTO t2 VALUES (99, 1, NULL);

-- Keys of other types.
CREATE TABLE kp (d DATE, n DECIMAL(6,2), e ENUM('a','b') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, v VARBINARY(8), t DATETIME(3), UNIQUE KEY (d), UNIQUE KEY (n), UNIQUE KEY (e), UNIQUE KEY (v), UNIQUE KEY (t));
INSERT INTO kp VALUES ('2024-01-01', 1.50, 'a', 'xy', '2024-01-01 10:00:00.125');
CREATE TABLE kc (id INT PRIMARY KEY, d DATE, n DECIMAL(6,2), e ENUM('a','b') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, v VARBINARY(8), t DATETIME(3), FOREIGN KEY (d) REFERENCES kp (d), FOREIGN KEY (n) REFERENCES kp (n), FOREIGN KEY (e) REFERENCES kp (e), FOREIGN KEY (v) REFERENCES kp (v), FOREIGN KEY (t) REFERENCES kp (t));
INSERT INTO kc VALUES (1, '2024-01-01', 1.5, 'a', 'xy', '2024-01-01 10:00:00.125');
-- error 1452
INSERT INTO kc (id, d) VALUES (2, '2024-01-02');
-- error 1452
INSERT INTO kc (id, n) VALUES (2, 1.51);
-- error 1452
INSERT INTO kc (id, e) VALUES (2, 'b');
-- error 1452
INSERT INTO kc (id, v) VALUES (2, 'xz');
-- error 1452
INSERT INTO kc (id, t) VALUES (2, '2024-01-01 10:00:00.126');
-- error 1451
UPDATE kp SET n = 2;
-- error 1451
DELETE FROM kp;

-- Definitions.
-- error 1553
ALTER TABLE c DROP KEY c1;
ALTER TABLE c DROP FOREIGN KEY c1;
INSERT INTO c VALUES (700, 700);
-- error 1452
ALTER TABLE c ADD CONSTRAINT c1 FOREIGN KEY (pid) REFERENCES p (id);
DELETE FROM c;
ALTER TABLE c ADD CONSTRAINT c1 FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE;
-- error 1452
INSERT INTO c VALUES (1, 700);
INSERT INTO c VALUES (1, 5);
DELETE FROM p WHERE id = 5;
SELECT COUNT(*) FROM c;
-- error 1091
ALTER TABLE c DROP FOREIGN KEY nope;
RENAME TABLE p TO parent;
-- error 1452
INSERT INTO c VALUES (1, 700);
INSERT INTO parent VALUES (700, 700, 700, 'n', 0);
INSERT INTO c VALUES (1, 700);
DELETE FROM parent WHERE id = 700;
SELECT COUNT(*) FROM c;
-- error 1701
TRUNCATE TABLE parent;
SELECT constraint_name, table_name, column_name, ordinal_position, position_in_unique_constraint, referenced_table_name, referenced_column_name FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL AND table_name IN ('c', 'cc', 'cn', 'cu', 'cab', 'g', 's') ORDER BY table_name, constraint_name, ordinal_position;
SELECT constraint_name, unique_constraint_name, match_option, table_name, referenced_table_name FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() AND table_name IN ('c', 'cc', 'cu', 'cab', 'g', 's') ORDER BY table_name, constraint_name;
SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = DATABASE() AND table_name IN ('cc', 'g', 's', 't2') ORDER BY table_name, constraint_type, constraint_name;
DROP TABLE g;
DROP TABLE c, cc, cn, cu, cab, s, sc;
DROP TABLE parent;
DROP TABLE t3, t2;
DROP TABLE t1;
