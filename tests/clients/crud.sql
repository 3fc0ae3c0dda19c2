-- What a person types at the mysql prompt, piped through the command line client by crud_cli.sh.
--
-- Every group begins with a row '== name'; crud_cli.sh compares the output of each group with the same group in
-- crud.expected (or, where Skarv refuses the group by design, in crud.refused). The client goes on after errors, whose
-- numbers and SQLSTATEs are part of the expected output; their texts are not. The name crud_database is replaced with a
-- name of the run's own.

SELECT '== create and use a database' AS '==';
CREATE DATABASE crud_database CHARACTER SET utf8mb4;
USE crud_database;
SELECT DATABASE();
SET time_zone = '+00:00';
CREATE DATABASE crud_database;
CREATE DATABASE IF NOT EXISTS crud_database;
USE no_such_database;
SELECT DATABASE();

SELECT '== create tables' AS '==';
CREATE TABLE all_types (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, u16 SMALLINT UNSIGNED, i24 MEDIUMINT, u24 MEDIUMINT UNSIGNED,
    i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED,
    f32 FLOAT, f64 DOUBLE, amount DECIMAL(20,6),
    c10 CHAR(10), v200 VARCHAR(200), txt TEXT, vb VARBINARY(255), b64k BLOB, b16m MEDIUMBLOB,
    day DATE, span TIME, span6 TIME(6), moment DATETIME(6), stamp TIMESTAMP NULL DEFAULT NULL,
    KEY all_types_i32 (i32)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='every type';
CREATE TABLE item (
    id INT NOT NULL AUTO_INCREMENT,
    code VARCHAR(32) NOT NULL,
    shelf INT NOT NULL,
    price DECIMAL(10,2) NOT NULL DEFAULT '9.99',
    quantity INT,
    note VARCHAR(50) DEFAULT 'none',
    PRIMARY KEY (id),
    UNIQUE KEY item_code (code),
    KEY item_shelf_price (shelf, price)
);
CREATE TABLE IF NOT EXISTS item (id INT);
CREATE TABLE item (id INT PRIMARY KEY);
SHOW TABLES;
SHOW TABLES LIKE 'it%';
DESCRIBE item;

SELECT '== all types' AS '==';
INSERT INTO all_types VALUES (1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0,
    -65504.5, -1.7976931348623157e308, -99999999999999.999999, '', '', '', '', '', '',
    '1000-01-01', '-838:59:59', '-00:00:00.000001', '1000-01-01 00:00:00', '1970-01-01 00:00:01');
INSERT INTO all_types VALUES (2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295,
    9223372036854775807, 18446744073709551615, 65504.5, 1.7976931348623157e308, 99999999999999.999999,
    'ÅÄö€𝄞🐦漢字né', '🐦🐦', 'naïve — 日本語', X'00FF7F80', X'', REPEAT('ab', 500000),
    '9999-12-31', '838:59:59', '12:34:56.789012', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07');
INSERT INTO all_types (id) VALUES (3);
INSERT INTO all_types (i8, f32, f64, amount, c10, v200, moment, span6, day) VALUES
    (-1, 1.25, 0.1, -0.0000015, 'ab  ', 'ab  ', '2024-02-29 12:00:00.000001', '100:00:00.5', 20240229);
SELECT id, i8, u8, i16, u16, i24, u24, i32, u32, i64, u64 FROM all_types ORDER BY id;
SELECT id, f32, f64, amount FROM all_types ORDER BY id;
SELECT id, c10, CHAR_LENGTH(c10), LENGTH(c10), v200, txt, HEX(vb), LENGTH(b64k), LENGTH(b16m) FROM all_types ORDER BY id;
SELECT id, day, span, span6, moment, stamp FROM all_types ORDER BY id;
SELECT CONCAT('<', c10, '>', '<', v200, '>') AS padded FROM all_types WHERE id = 4;
SELECT SUBSTRING(b16m, 999990) AS tail FROM all_types WHERE id = 2;
SELECT id FROM all_types WHERE u64 = 18446744073709551615 AND i64 = 9223372036854775807 AND v200 = '🐦🐦';

SELECT '== AUTO_INCREMENT, LAST_INSERT_ID, defaults' AS '==';
INSERT INTO item (code, shelf, price, quantity) VALUES ('c-1', 1, 1.00, 10);
SELECT LAST_INSERT_ID();
INSERT INTO item (code, shelf, price, quantity) VALUES ('c-2',1,2.50,20), ('c-3',2,3.00,NULL), ('c-4',2,4.75,40), ('c-5',3,5,50);
SELECT ROW_COUNT(), LAST_INSERT_ID();
INSERT INTO item SET code = 'c-6', shelf = 9;
INSERT INTO item (id, code, shelf, note) VALUES (100, 'c-100', 9, NULL), (NULL, 'c-101', 9, DEFAULT), (0, 'c-102', 9, '');
SELECT * FROM item WHERE shelf = 9 ORDER BY id;
DELETE FROM item WHERE shelf = 9;
SELECT ROW_COUNT();

SELECT '== select' AS '==';
SELECT * FROM item WHERE id = 2;
SELECT id, code FROM item WHERE code = 'c-4';
SELECT id FROM item WHERE id = 77;
SELECT id, price FROM item WHERE shelf = 2 ORDER BY price DESC;
SELECT id FROM item WHERE id BETWEEN 2 AND 4 ORDER BY id DESC LIMIT 2;
SELECT id FROM item ORDER BY id LIMIT 1, 2;
SELECT id FROM item ORDER BY id LIMIT 2 OFFSET 3;
SELECT id FROM item WHERE code LIKE 'c-%' AND code NOT LIKE '%3' AND id > 1 ORDER BY id;
SELECT id FROM item WHERE id IN (5, 1, 9) OR quantity IS NULL ORDER BY shelf DESC, id;
SELECT DISTINCT shelf FROM item ORDER BY 1;
SELECT id AS 'the id', price * 2 double_price, quantity + 1 FROM item WHERE NOT (id <> 1) AND TRUE;
SELECT id, CASE WHEN quantity IS NULL THEN 'unknown' WHEN quantity < 30 THEN 'few' ELSE 'many' END AS stock FROM item ORDER BY id;

SELECT '== aggregates' AS '==';
SELECT COUNT(*), COUNT(quantity), SUM(quantity), AVG(quantity), MIN(price), MAX(price), SUM(price), AVG(price) FROM item;
SELECT shelf, COUNT(*) AS n, SUM(price), MAX(code) FROM item GROUP BY shelf ORDER BY n DESC, shelf;
SELECT shelf FROM item GROUP BY shelf HAVING SUM(quantity) > 35 ORDER BY shelf;
SELECT COUNT(DISTINCT shelf), SUM(DISTINCT shelf) FROM item;
SELECT SUM(price), COUNT(*), MIN(id) FROM item WHERE id > 1000;
SELECT shelf % 2 AS odd, COUNT(*) FROM item GROUP BY odd ORDER BY odd;

SELECT '== joins' AS '==';
SELECT a.code, b.code FROM item a JOIN item b ON a.shelf = b.shelf AND a.id < b.id ORDER BY a.id;
SELECT a.id, b.id FROM item a LEFT JOIN item b ON b.id = a.id + 3 ORDER BY a.id;
SELECT COUNT(*) FROM item a, item b, item c WHERE a.id = b.id AND b.shelf = c.shelf;

SELECT '== subqueries of one value' AS '==';
SELECT id FROM item WHERE price = (SELECT MAX(price) FROM item);

SELECT '== subqueries' AS '==';
SELECT id FROM item WHERE shelf IN (SELECT shelf FROM item WHERE quantity >= 40) ORDER BY id;
SELECT id FROM item a WHERE EXISTS (SELECT 1 FROM item b WHERE b.shelf = a.shelf AND b.id <> a.id) ORDER BY id;
SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM item GROUP BY shelf) counts GROUP BY n ORDER BY n;

SELECT '== unions' AS '==';
SELECT id FROM item WHERE id < 3 UNION SELECT shelf FROM item UNION ALL SELECT 99 ORDER BY 1;

SELECT '== update and delete' AS '==';
UPDATE item SET quantity = quantity + 5, price = price * 2 WHERE id = 1;
SELECT ROW_COUNT(), quantity, price FROM item WHERE id = 1;
UPDATE item SET quantity = quantity - 5, price = price / 2 WHERE id = 1;
UPDATE item SET note = 'seen' WHERE shelf <= 2;
SELECT ROW_COUNT();
UPDATE item SET note = 'seen' WHERE shelf <= 2;
SELECT ROW_COUNT();
UPDATE item SET note = 'last' ORDER BY id DESC LIMIT 1;
SELECT id, note FROM item WHERE note = 'last';
INSERT INTO item (code, shelf, price) VALUES ('c-1', 1, 8) ON DUPLICATE KEY UPDATE price = price + VALUES(price);
SELECT ROW_COUNT();
SELECT id, price FROM item WHERE code = 'c-1';
INSERT IGNORE INTO item (id, code, shelf) VALUES (1, 'zz', 1), (50, 'c-50', 9);
SELECT ROW_COUNT();
REPLACE INTO item (id, code, shelf, price, quantity) VALUES (1, 'c-1', 1, 1.00, 10);
SELECT ROW_COUNT();
DELETE FROM item WHERE id = 50 OR id = 51;
SELECT ROW_COUNT();
SELECT * FROM item ORDER BY id;

SELECT '== transactions' AS '==';
START TRANSACTION;
UPDATE item SET quantity = 0;
DELETE FROM item WHERE id = 5;
SELECT COUNT(*), SUM(quantity) FROM item;
ROLLBACK;
SELECT COUNT(*), SUM(quantity) FROM item;
BEGIN;
INSERT INTO item (code, shelf) VALUES ('c-tx', 7);
COMMIT;
ROLLBACK;
SELECT code FROM item WHERE shelf = 7;
SET autocommit = 0;
DELETE FROM item;
SELECT COUNT(*) FROM item;
ROLLBACK;
DELETE FROM item WHERE shelf = 7;
COMMIT;
SET autocommit = 1;
SELECT COUNT(*) FROM item;

SELECT '== savepoints' AS '==';
BEGIN;
UPDATE item SET quantity = 1 WHERE id = 1;
SAVEPOINT first;
UPDATE item SET quantity = 2 WHERE id = 1;
SAVEPOINT second;
UPDATE item SET quantity = 3 WHERE id = 1;
ROLLBACK TO second;
SELECT quantity FROM item WHERE id = 1;
ROLLBACK TO SAVEPOINT first;
SELECT quantity FROM item WHERE id = 1;
ROLLBACK TO second;
ROLLBACK;
SELECT quantity FROM item WHERE id = 1;

SELECT '== errors' AS '==';
INSERT INTO item (code, shelf) VALUES ('new', 1), ('c-3', 1);
INSERT INTO item (id, code, shelf) VALUES (1, 'new', 1);
UPDATE item SET code = 'c-3' WHERE id = 1;
SELECT * FROM no_such_table;
INSERT INTO no_such_table VALUES (1);
SELEC 1;
SELECT * FROM item WHERE;
SELECT no_such_column FROM item;
SELECT no_such_function(1);
INSERT INTO item (code, shelf) VALUES ('n', NULL);
INSERT INTO item (code) VALUES ('n');
INSERT INTO item (code, shelf) VALUES (REPEAT('x', 33), 1);
INSERT INTO item (code, shelf) VALUES ('n', 2147483648);
INSERT INTO item (code, shelf) VALUES (1, 2, 3);
DROP TABLE no_such_table;
DROP TABLE IF EXISTS no_such_table;
DROP DATABASE no_such_database;
CREATE TABLE bad (id INT, id INT);
CREATE TABLE bad (id INT, PRIMARY KEY (no_such_column));
SELECT COUNT(*) FROM item;

SELECT '== literals, quoting, comments' AS '==';
SELECT 'it''s', 'it\'s', "double ""quoted""", 'a' 'b' AS adjacent, 'tab\tnewline\\n', 0x4142, X'4142', b'1000001';
SELECT 1 /* a comment */ + 1 AS two -- to the end of the line
;
SELECT 1 + # another
    2 AS three;
/*!40101 SET @version_comment_ran = 1 */;
SELECT @version_comment_ran;
SELECT `id` FROM `item` WHERE `item`.`id` = 1;
SELECT 1e3, -0.5, .5, 1.50, 18446744073709551615, TRUE, FALSE, NULL;

SELECT '== expressions' AS '==';
SELECT 7 / 2, 7 DIV 2, 7 % 3, -7 DIV 2, 1 / 0, 2 + 3 * 4, (2 + 3) * 4, 1 = 1.0, '10' + 5, NULL <=> NULL, NULL = NULL;
SELECT 5 & 3, 5 | 3, 5 ^ 3, 1 << 4, NOT 0, 1 AND NULL, 0 AND NULL, 1 OR NULL, 1 XOR 1;
SELECT CONCAT('a', 1, 'b'), CONCAT('a', NULL), UPPER('åb'), LOWER('ÅB'), LENGTH('€'), CHAR_LENGTH('€'), SUBSTRING('abcdef', 2, 3), TRIM('  x ');
SELECT COALESCE(NULL, 2), IFNULL(NULL, 'x'), NULLIF(1, 1), IF(1 > 2, 'a', 'b'), GREATEST(1, 5, 3), LEAST(4, 2, 6);
SELECT ROUND(2.567, 2), FLOOR(-1.5), CEIL(1.2), ABS(-3), MOD(10, 3), 0.1 + 0.2, 10.00 * 1.5;
SELECT 'a' = 'A', 'a' < 'b', 'abc' LIKE 'A_c', BINARY 'a' = 'A', 2 BETWEEN 1 AND 3, 2 IN (1, 2);
SELECT CAST('12' AS SIGNED), CAST(-1 AS UNSIGNED), CAST(1.55 AS DECIMAL(5,1)), CAST(20240229 AS DATE), CAST('x' AS CHAR);

SELECT '== dates and time zones' AS '==';
SELECT DATE_ADD('2024-01-31', INTERVAL 1 MONTH), DATEDIFF('2024-03-01', '2024-02-01'), YEAR('2024-02-29'), LAST_DAY('2024-02-01');
SELECT '2024-02-29' + INTERVAL 1 DAY, DATE('2024-02-29 12:00:00'), HOUR('25:10:00'), UNIX_TIMESTAMP('1970-01-02');
SELECT NOW() BETWEEN '2020-01-01' AND '2100-01-01', CURDATE() = DATE(NOW());
SELECT DATE_FORMAT('2024-02-29 13:04:05', '%Y/%m/%d %H:%i:%s %W'), FROM_UNIXTIME(86400);
SET time_zone = '+05:30';
SELECT stamp FROM all_types WHERE id = 2;
UPDATE all_types SET stamp = '2024-01-01 05:30:00' WHERE id = 3;
SET time_zone = '+00:00';
SELECT stamp FROM all_types WHERE id = 3;
INSERT INTO all_types (day) VALUES ('2023-02-29');
INSERT INTO all_types (span) VALUES ('12:60:00');

SELECT '== user variables and prepared statements' AS '==';
SET @a = 3, @b = 'text';
SET @c := @a + 1;
SELECT @a, @b, @c, @never_set;
PREPARE by_shelf FROM 'SELECT COUNT(*) AS n FROM item WHERE shelf = ? AND id <= ?';
SET @shelf = 2;
EXECUTE by_shelf USING @shelf, @a;
SET @shelf = 1;
EXECUTE by_shelf USING @shelf, @a;
DEALLOCATE PREPARE by_shelf;
EXECUTE by_shelf USING @shelf, @a;

SELECT '== alter columns' AS '==';
CREATE TABLE altered (id INT PRIMARY KEY, name VARCHAR(10));
INSERT INTO altered VALUES (1, 'one'), (2, 'two');
ALTER TABLE altered ADD COLUMN size INT NOT NULL DEFAULT 5;
SELECT * FROM altered ORDER BY id;
ALTER TABLE altered DROP COLUMN name;
SELECT * FROM altered ORDER BY id;
DROP TABLE altered;

SELECT '== create from another table' AS '==';
CREATE TABLE copied SELECT id, code FROM item WHERE id <= 2;
SELECT * FROM copied ORDER BY id;
DROP TABLE IF EXISTS copied;

SELECT '== indexes, truncate, rename, drop' AS '==';
CREATE TABLE changing (id INT PRIMARY KEY, name VARCHAR(10), size INT NOT NULL DEFAULT 5);
INSERT INTO changing (id, name) VALUES (1, 'one'), (2, 'two');
CREATE INDEX changing_name ON changing (name);
SELECT id FROM changing WHERE name = 'two';
CREATE UNIQUE INDEX changing_size ON changing (size);
DROP INDEX changing_name ON changing;
ALTER TABLE changing ADD INDEX changing_name (name), ADD UNIQUE KEY changing_both (name, size);
SELECT id FROM changing WHERE name = 'two' AND size = 5;
INSERT INTO changing VALUES (3, 'two', 5);
ALTER TABLE changing DROP INDEX changing_both;
RENAME TABLE changing TO changed;
SELECT * FROM changed ORDER BY id;
SELECT * FROM changing;
TRUNCATE TABLE changed;
SELECT COUNT(*) FROM changed;
DROP TABLE changed;
SELECT * FROM changed;

SELECT '== show' AS '==';
SHOW VARIABLES LIKE 'autocommit';
SHOW VARIABLES LIKE 'max_allowed_packet';
SELECT @@autocommit, @@session.autocommit, @@sql_mode LIKE '%STRICT_TRANS_TABLES%';
SHOW DATABASES LIKE 'crud_database';
SHOW COLUMNS FROM item LIKE 'p%';
SELECT table_name AS t FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY t;
SELECT column_name AS c, data_type AS d, is_nullable AS n FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'item' ORDER BY ordinal_position;
SELECT CONNECTION_ID() > 0, VERSION() LIKE '_.%' OR VERSION() LIKE '__.%', USER() LIKE 'root@%', CURRENT_USER() LIKE 'root@%';
INSERT IGNORE INTO item (id, code, shelf) VALUES (1, 'w', 1);
SHOW WARNINGS;

SELECT '== drop database' AS '==';
DROP DATABASE crud_database;
SHOW DATABASES LIKE 'crud_database';
SELECT DATABASE();
SELECT * FROM item;
