-- ENUM, SET, YEAR and BIT: stores, comparisons, order, groups, functions, keys, joins, changes, definitions.

CREATE TABLE en (id INT PRIMARY KEY, e ENUM('small','medium','LARGE','x-large') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n ENUM('b','a','1') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL DEFAULT 'a', s SET('read','write','exec','own') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, KEY ke (e), KEY ks (s));
CREATE TABLE eu (e ENUM('x','y','z') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, s SET('p','q') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, v INT, PRIMARY KEY (e, s));
CREATE TABLE tx (id INT PRIMARY KEY, v VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, i INT, d DOUBLE, c DECIMAL(10,2));
INSERT INTO en VALUES (1, 'small', 'a', 'read'), (2, 'medium', 'b', 'read,write'), (3, 'large', '1', ''), (4, NULL, 'a', NULL), (5, 'x-large', 'b', 'own,read'), (6, 'MEDIUM', 'a', 'exec'), (7, 'small', '1', 'read,write,exec,own');
INSERT INTO eu VALUES ('x', '', 1), ('x', 'p', 2), ('y', 'q,p', 3), ('z', 'q', 4);
INSERT INTO tx VALUES (1, 'small', 1, 1, 1.00), (2, 'LARGE', 3, 3.0, 3.00), (3, '2', 2, 2.5, 2.50), (4, 'read,write', 3, 3, 3), (5, 'write,read', 3, 3, 3), (6, '', 0, 0, 0), (7, NULL, NULL, NULL, NULL);

-- Values.
SELECT id, e, n, s FROM en ORDER BY id;
SELECT id, e + 0 AS a, n + 0 AS b, s + 0 AS c FROM en ORDER BY id;
SELECT id, e * 2, e / 2, -e, e DIV 2, e % 2, s & 3, s | 8, ~s & 15, s << 1 FROM en ORDER BY id;
SELECT id, CAST(e AS SIGNED) AS a, CAST(e AS UNSIGNED) AS b, CAST(e AS DECIMAL(5,1)) AS c, CAST(e AS CHAR) AS d, CAST(s AS SIGNED) AS f, CAST(s AS CHAR(6)) AS g FROM en ORDER BY id;
SELECT id, CONCAT(e, '-', n) AS a, UPPER(e) AS b, LENGTH(s) AS c, CHAR_LENGTH(e) AS d, LEFT(s, 4) AS f, REVERSE(e) AS g, HEX(n) AS h FROM en ORDER BY id;
SELECT id, IFNULL(e, 'none') AS a, COALESCE(NULL, e, n) AS b, IF(id > 3, e, n) AS c, NULLIF(e, 'small') AS d, CASE e WHEN 'small' THEN 1 WHEN 'LARGE' THEN 2 ELSE 3 END AS f FROM en ORDER BY id;
SELECT id, GREATEST(e, n) AS a, LEAST(e, n) AS b, FIELD(e, 'medium', 'small') AS c, FIND_IN_SET('write', s) AS d, FIND_IN_SET(n, 'a,b') AS f, ELT(2, e, n) AS g FROM en ORDER BY id;
SELECT id, e IS NULL, e IS NOT NULL, ISNULL(s), e IS TRUE, s IS FALSE, NOT s FROM en ORDER BY id;
SELECT id, REPLACE(s, 'read', 'r') AS a, SUBSTRING_INDEX(s, ',', 1) AS b, LOCATE('e', e) AS c, LPAD(n, 3, '*') AS d, MD5(n) AS f FROM en ORDER BY id;

-- Comparisons with texts and numbers.
SELECT id FROM en WHERE e = 'small' ORDER BY id;
SELECT id FROM en WHERE e = 'SMALL' ORDER BY id;
SELECT id FROM en WHERE e = 1 ORDER BY id;
SELECT id FROM en WHERE e = '1' ORDER BY id;
SELECT id FROM en WHERE n = '1' ORDER BY id;
SELECT id FROM en WHERE n = 1 ORDER BY id;
SELECT id FROM en WHERE e <> 'small' ORDER BY id;
SELECT id FROM en WHERE e > 'medium' ORDER BY id;
SELECT id FROM en WHERE e >= 'medium' AND e < 'x' ORDER BY id;
SELECT id FROM en WHERE e > 2 ORDER BY id;
SELECT id FROM en WHERE e BETWEEN 'large' AND 'medium' ORDER BY id;
SELECT id FROM en WHERE e BETWEEN 2 AND 3 ORDER BY id;
SELECT id FROM en WHERE e IN ('small', 'x-large', 'none') ORDER BY id;
SELECT id FROM en WHERE e IN (1, 4, 9) ORDER BY id;
SELECT id FROM en WHERE e NOT IN ('small', 'medium') ORDER BY id;
SELECT id FROM en WHERE e LIKE '%m%' ORDER BY id;
SELECT id FROM en WHERE e LIKE 'S_all' ORDER BY id;
SELECT id FROM en WHERE e REGEXP '^[ms]' ORDER BY id;
SELECT id FROM en WHERE e <=> NULL ORDER BY id;
SELECT id FROM en WHERE e <=> 'medium' ORDER BY id;
SELECT id FROM en WHERE e = 'none' ORDER BY id;
SELECT id FROM en WHERE e = '' ORDER BY id;
SELECT id FROM en WHERE s = '' ORDER BY id;
SELECT id FROM en WHERE s = 'read,write' ORDER BY id;
SELECT id FROM en WHERE s = 'write,read' ORDER BY id;
SELECT id FROM en WHERE s = 3 ORDER BY id;
SELECT id FROM en WHERE s & 1 ORDER BY id;
SELECT id FROM en WHERE s & 2 AND s & 4 ORDER BY id;
SELECT id FROM en WHERE FIND_IN_SET('exec', s) ORDER BY id;
SELECT id FROM en WHERE s LIKE '%write%' ORDER BY id;
SELECT id FROM en WHERE s > 'own' ORDER BY id;
SELECT id FROM en WHERE s IN ('exec', '', 'read,own') ORDER BY id;
SELECT id FROM en WHERE e ORDER BY id;
SELECT id FROM en WHERE e = n ORDER BY id;
SELECT id FROM en WHERE e > n ORDER BY id;
SELECT id FROM en WHERE e = 'small' OR s = 'exec' ORDER BY id;
SELECT id FROM en WHERE e = 1.0 ORDER BY id;
SELECT id FROM en WHERE e = 1.5 ORDER BY id;
SELECT id FROM en WHERE (e, n) = ('small', '1') ORDER BY id;
SELECT id FROM en WHERE (e, n) IN (('small', 'a'), ('medium', 'b')) ORDER BY id;

-- Order and groups are by numbers, least and greatest by texts.
SELECT id, e FROM en ORDER BY e, id;
SELECT id, e FROM en ORDER BY e DESC, id;
SELECT id, n FROM en ORDER BY n, id;
SELECT id, s FROM en ORDER BY s, id;
SELECT id, e FROM en ORDER BY CONCAT(e), id;
SELECT id FROM en ORDER BY e + 0 DESC, id LIMIT 3;
SELECT e, COUNT(*) FROM en GROUP BY e ORDER BY e;
SELECT n, COUNT(*), SUM(id) FROM en GROUP BY n ORDER BY n DESC;
SELECT s, COUNT(*) FROM en GROUP BY s ORDER BY s;
SELECT DISTINCT e FROM en ORDER BY e;
SELECT COUNT(DISTINCT e), COUNT(DISTINCT s), COUNT(e), COUNT(DISTINCT e, n) FROM en;
SELECT MIN(n), MAX(n), MIN(s), MAX(s), MIN(CONCAT(e)), MAX(CONCAT(e)) FROM en;
SELECT n, MIN(e), MAX(e) FROM en GROUP BY n ORDER BY n;
SELECT SUM(e), AVG(e), SUM(s), BIT_OR(s), BIT_AND(n) FROM en;
SELECT GROUP_CONCAT(e ORDER BY id) AS a, GROUP_CONCAT(DISTINCT e ORDER BY e) AS b, GROUP_CONCAT(s ORDER BY id SEPARATOR '|') AS c FROM en;
SELECT e, COUNT(*) FROM en GROUP BY e HAVING e = 'small' OR COUNT(*) > 1 ORDER BY e;
SELECT e, COUNT(*) AS c FROM en GROUP BY e WITH ROLLUP HAVING c > 1;
SELECT id, ROW_NUMBER() OVER (ORDER BY e, id) AS r FROM en ORDER BY id;
SELECT id, RANK() OVER (PARTITION BY n ORDER BY e) AS r FROM en ORDER BY id;
SELECT id, LAG(e) OVER (ORDER BY id) AS p, FIRST_VALUE(s) OVER (ORDER BY id) AS f FROM en ORDER BY id;

-- Set operations, derived tables, subqueries.
SELECT e FROM en WHERE id < 3 UNION SELECT n FROM en ORDER BY 1;
SELECT e FROM en UNION ALL SELECT e FROM eu ORDER BY 1;
SELECT e FROM en UNION SELECT 1 ORDER BY 1;
SELECT d.e, d.c FROM (SELECT e, COUNT(*) AS c FROM en GROUP BY e) d ORDER BY d.e;
SELECT d.e + 0 AS a FROM (SELECT e FROM en) d ORDER BY a;
SELECT id FROM en WHERE e = (SELECT v FROM tx WHERE id = 1) ORDER BY id;
SELECT id FROM en WHERE e IN (SELECT v FROM tx) ORDER BY id;
SELECT id FROM tx WHERE v IN (SELECT e FROM en) ORDER BY id;
SELECT id FROM en WHERE e IN (SELECT e FROM en WHERE id > 4) ORDER BY id;
SELECT id, (SELECT MAX(x.id) FROM en x WHERE x.e = en.e) AS m FROM en ORDER BY id;
SELECT id FROM en WHERE EXISTS (SELECT 1 FROM tx WHERE tx.v = en.e) ORDER BY id;
WITH c AS (SELECT e, s FROM en WHERE id < 4) SELECT e, s, e + 0 AS a FROM c ORDER BY a;

-- Joins.
SELECT a.id, b.id FROM en a JOIN en b ON a.e = b.e ORDER BY a.id, b.id;
SELECT en.id, tx.id FROM en JOIN tx ON tx.v = en.e ORDER BY en.id, tx.id;
SELECT en.id, tx.id FROM en JOIN tx ON tx.i = en.e ORDER BY en.id, tx.id;
SELECT en.id, tx.id FROM en JOIN tx ON tx.v = en.s ORDER BY en.id, tx.id;
SELECT en.id, tx.id FROM en LEFT JOIN tx ON tx.i = en.s ORDER BY en.id, tx.id;
SELECT eu.v, en.id FROM eu JOIN en ON en.n = eu.e ORDER BY eu.v, en.id;
SELECT eu.v, en.id FROM eu JOIN en ON en.e + 0 = eu.e + 0 ORDER BY eu.v, en.id;
SELECT v FROM eu WHERE e = 'x' ORDER BY v;
SELECT v FROM eu WHERE e = 'x' AND s = '' ORDER BY v;
SELECT v FROM eu WHERE e = 'Y' AND s = 'p,q' ORDER BY v;
SELECT v FROM eu WHERE e = 'y' AND s = 'q,p' ORDER BY v;
SELECT v FROM eu WHERE e IN ('x', 'z') AND s IN ('p', 'q') ORDER BY v;
SELECT v FROM eu ORDER BY e DESC, s DESC;

-- Changes.
-- error 1265
INSERT INTO en (id, e) VALUES (20, 'none');
-- error 1265
INSERT INTO en (id, e) VALUES (20, '');
-- error 1265
INSERT INTO en (id, e) VALUES (20, 0);
-- error 1265
INSERT INTO en (id, e) VALUES (20, 5);
-- error 1265
INSERT INTO en (id, s) VALUES (20, 'read,none');
-- error 1265
INSERT INTO en (id, s) VALUES (20, 16);
-- error 1265
INSERT INTO en (id, e) VALUES (20, 'small '), (21, 'smal');
-- error 1048
INSERT INTO en (id, n) VALUES (20, NULL);
INSERT INTO en (id, e, s) VALUES (20, 2, 5);
INSERT INTO en (id, e, s) VALUES (21, '4', '7');
INSERT INTO en (id, e) VALUES (22, 1.4), (23, 1.6);
INSERT INTO en (id, s) VALUES (24, 'own,exec,write,read'), (25, 'read,read,READ');
SELECT id, e, e + 0 AS a, n, s, s + 0 AS b FROM en WHERE id >= 20 ORDER BY id;
INSERT IGNORE INTO en (id, e, n, s) VALUES (30, 'none', 'zz', 'read,none'), (31, '', '', '99'), (32, 9, 9, 99), (33, NULL, 'b', NULL);
SELECT id, e, e + 0 AS a, n, n + 0 AS b, s, s + 0 AS c FROM en WHERE id >= 30 ORDER BY id;
SELECT id FROM en WHERE e = '' ORDER BY id;
SELECT id FROM en WHERE e = 0 ORDER BY id;
SELECT id FROM en WHERE n = '' ORDER BY id;
UPDATE en SET e = 'large' WHERE e = 'small';
UPDATE en SET e = 1 WHERE id = 1;
UPDATE en SET s = CONCAT(s, ',own') WHERE id = 2;
UPDATE en SET s = s | 2 WHERE id IN (1, 5);
UPDATE en SET s = s & ~1 WHERE id = 7;
-- error 1265
UPDATE en SET e = 'gone' WHERE id = 2;
UPDATE IGNORE en SET e = 'gone' WHERE id = 2;
UPDATE en SET n = e WHERE id = 99;
-- error 1265
UPDATE en SET n = e WHERE id = 1;
UPDATE en SET e = DEFAULT, n = DEFAULT WHERE id = 3;
SELECT id, e, n, s FROM en WHERE id < 10 ORDER BY id;
DELETE FROM en WHERE s = 'exec';
DELETE FROM en WHERE e = 'x-large' AND s & 2;
SELECT id, e, n, s FROM en WHERE id < 10 ORDER BY id;
INSERT INTO tx SELECT id + 100, e, e, e, s FROM en WHERE id < 4;
SELECT id, v, i, d, c FROM tx WHERE id > 100 ORDER BY id;
INSERT INTO eu SELECT v, 'p', id FROM (SELECT 'z' AS v, 50 AS id) d;
-- error 1062
INSERT INTO eu VALUES ('X', 'P', 9);
INSERT INTO eu VALUES ('x', 'p', 9) ON DUPLICATE KEY UPDATE v = v + 100, s = 'p,q';
REPLACE INTO eu VALUES ('x', 'q,p', 77);
SELECT e, s, v FROM eu ORDER BY e, s;
CREATE TABLE cs AS SELECT e, s, n, e + 0 AS a, CONCAT(e) AS t, IFNULL(e, 'q') AS q FROM en;
SELECT e, s, n, a, t, q FROM cs ORDER BY t, s;
SELECT COUNT(*) FROM cs WHERE e = 'large';

-- Definitions.
-- error 1291
CREATE TABLE bad (e ENUM('a', 'A') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci);
-- error 1291
CREATE TABLE bad (s SET('a', 'b', 'a'));
-- error 1367
CREATE TABLE bad (s SET('a,b'));
-- error 1067
CREATE TABLE bad (e ENUM('a', 'b') DEFAULT 'c');
-- error 1067
CREATE TABLE bad (e ENUM('a', 'b') NOT NULL DEFAULT NULL);
-- error 1067
CREATE TABLE bad (s SET('a', 'b') DEFAULT 'c');
-- error 1097
CREATE TABLE bad (s SET('1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17','18','19','20','21','22','23','24','25','26','27','28','29','30','31','32','33','34','35','36','37','38','39','40','41','42','43','44','45','46','47','48','49','50','51','52','53','54','55','56','57','58','59','60','61','62','63','64','65'));
CREATE TABLE good (id INT PRIMARY KEY, e ENUM('a  ', 'it''s', 'c d') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT 'it''s', s SET('b', 'a') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT 'a,b', f ENUM('u', 'v') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL);
INSERT IGNORE INTO good (id) VALUES (1);
INSERT INTO good VALUES (2, 'a', 'b', 'v'), (3, 'c d', '', 'u');
SELECT id, e, s, f, LENGTH(e) AS l FROM good ORDER BY id;
SELECT column_name, column_type, data_type, character_maximum_length, is_nullable FROM information_schema.columns WHERE table_name = 'good' AND table_schema = DATABASE() AND column_name IN ('e', 'f') ORDER BY ordinal_position;

-- YEAR.
CREATE TABLE ye (id INT PRIMARY KEY, y YEAR, z YEAR NOT NULL DEFAULT '2000', KEY ky (y));
INSERT INTO ye (id, y) VALUES (1, 2024), (2, '1999'), (3, 99), (4, 0), (5, '0'), (6, '0000'), (7, 69), (8, '70'), (9, NULL), (10, 1901), (11, 2155), (12, '5');
-- error 1264
INSERT INTO ye (id, y) VALUES (20, 1900);
-- error 1264
INSERT INTO ye (id, y) VALUES (20, 2156);
-- error 1264
INSERT INTO ye (id, y) VALUES (20, -1);
-- error 1366
INSERT INTO ye (id, y) VALUES (20, 'abc');
INSERT IGNORE INTO ye (id, y) VALUES (21, 1900), (22, 2156);
SELECT id, y, z FROM ye ORDER BY id;
SELECT id, y + 0 AS a, y + 1 AS b, y - 1 AS c, y * 1.5 AS d FROM ye WHERE y > 1901 ORDER BY id;
SELECT id, CONCAT(y, '') AS a, LENGTH(y) AS b, CAST(y AS CHAR) AS c, CAST(y AS SIGNED) AS d, LEFT(y, 2) AS f FROM ye ORDER BY id;
SELECT id FROM ye WHERE y = 2024 ORDER BY id;
SELECT id FROM ye WHERE y = '2024' ORDER BY id;
SELECT id FROM ye WHERE y = 99 ORDER BY id;
SELECT id FROM ye WHERE y > 1999 ORDER BY id;
SELECT id FROM ye WHERE y BETWEEN 1970 AND 2000 ORDER BY id;
SELECT id FROM ye WHERE y IN (2024, 1999) ORDER BY id;
SELECT id FROM ye WHERE y = 0 ORDER BY id;
SELECT id FROM ye WHERE y < 1950 ORDER BY id;
SELECT id FROM ye WHERE y >= 1000 ORDER BY id;
SELECT id FROM ye WHERE y IS NULL ORDER BY id;
SELECT id, y FROM ye ORDER BY y, id;
SELECT y, COUNT(*) FROM ye GROUP BY y ORDER BY y;
SELECT MIN(y), MAX(y), COUNT(DISTINCT y) FROM ye WHERE y > 0;
SELECT a.id, b.id FROM ye a JOIN ye b ON a.y = b.y AND a.id < b.id ORDER BY a.id, b.id;
SELECT ye.id, tx.id FROM ye JOIN tx ON ye.y = tx.i + 2021 ORDER BY ye.id, tx.id;
UPDATE ye SET y = y + 1 WHERE id = 1;
UPDATE ye SET z = y WHERE id IN (1, 2);
SELECT id, y, z FROM ye WHERE id < 3 ORDER BY id;
INSERT INTO tx SELECT id + 200, y, y, y, y FROM ye WHERE id IN (1, 4);
SELECT id, v, i, d, c FROM tx WHERE id > 200 ORDER BY id;

-- BIT.
CREATE TABLE bi (id INT PRIMARY KEY, b BIT(10), o BIT NOT NULL DEFAULT b'1', w BIT(64), KEY kb (b));
INSERT INTO bi (id, b, w) VALUES (1, b'101', b'1'), (2, 7, 18446744073709551615), (3, 0, 0), (4, NULL, NULL), (5, 1023, -1), (6, x'0F', 5), (7, b'0000000000000101', 6);
-- error 1406
INSERT INTO bi (id, b) VALUES (20, 1024);
-- error 1406
INSERT INTO bi (id, b) VALUES (20, b'10000000000');
-- error 1406
INSERT INTO bi (id, o) VALUES (20, 2);
SELECT id, b + 0 AS a, o + 0 AS b, w + 0 AS c FROM bi ORDER BY id;
SELECT id, BIN(b + 0) AS a, HEX(b) AS b, LENGTH(b) AS c, LENGTH(o) AS d, LENGTH(w) AS e, HEX(CONCAT(b)) AS f FROM bi ORDER BY id;
SELECT id, b & 1, b | 8, b ^ 1, ~b & 15, b << 1, b * 2, -b, BIT_COUNT(b), CAST(b AS UNSIGNED) AS f FROM bi ORDER BY id;
SELECT id FROM bi WHERE b = b'101' ORDER BY id;
SELECT id FROM bi WHERE b = 5 ORDER BY id;
SELECT id FROM bi WHERE b > 5 ORDER BY id;
SELECT id FROM bi WHERE b BETWEEN 1 AND 7 ORDER BY id;
SELECT id FROM bi WHERE b IN (5, 15) ORDER BY id;
SELECT id FROM bi WHERE b IS NULL ORDER BY id;
SELECT id FROM bi WHERE o ORDER BY id;
SELECT id FROM bi WHERE NOT b ORDER BY id;
SELECT id FROM bi WHERE o = 1 AND b < 8 ORDER BY id;
SELECT id FROM bi WHERE b = 5.0 ORDER BY id;
SELECT id FROM bi WHERE b < 5.5 ORDER BY id;
SELECT id FROM bi ORDER BY b DESC, id;
SELECT b + 0 AS a, COUNT(*) FROM bi GROUP BY b ORDER BY a;
SELECT MIN(b + 0), MAX(b + 0), SUM(b), AVG(b), BIT_OR(b), COUNT(DISTINCT b) FROM bi;
SELECT a.id, b.id FROM bi a JOIN bi b ON a.b = b.b AND a.id < b.id ORDER BY a.id, b.id;
SELECT bi.id, tx.id FROM bi JOIN tx ON bi.b = tx.i + 4 ORDER BY bi.id, tx.id;
UPDATE bi SET b = b + 1 WHERE id = 1;
UPDATE bi SET b = ~b & 1023 WHERE id = 2;
UPDATE bi SET o = 0 WHERE id < 3;
SELECT id, b + 0 AS a, o + 0 AS b FROM bi ORDER BY id;
DELETE FROM bi WHERE o = 0;
SELECT COUNT(*) FROM bi;
-- error 3013, reference 0
CREATE TABLE bad0 (b BIT(0));
-- error 1439
CREATE TABLE bad (b BIT(65));
-- error 1067
CREATE TABLE bad (b BIT(2) DEFAULT b'111');
