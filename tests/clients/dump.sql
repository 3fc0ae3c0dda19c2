-- Every type and constraint, for dump.sh. MariaDB passes over what stands in /*!80000 ... */.
CREATE TABLE numbers (
  id INT NOT NULL AUTO_INCREMENT, t TINYINT, tu TINYINT UNSIGNED, yes BOOLEAN, s SMALLINT DEFAULT -7,
  su SMALLINT UNSIGNED, m MEDIUMINT, mu MEDIUMINT UNSIGNED, i INT, iu INT UNSIGNED, b BIGINT, bu BIGINT UNSIGNED,
  d DECIMAL(65,30), d0 DECIMAL(10,0) DEFAULT 5, d2 DECIMAL(12,2) NOT NULL DEFAULT 0.00, f FLOAT, dd DOUBLE,
  bit1 BIT(1), bit64 BIT(64) DEFAULT b'101', y YEAR,
  PRIMARY KEY (id), UNIQUE KEY numbers_i (i), KEY numbers_d (d2 DESC, t));
INSERT INTO numbers VALUES
 (1, -128, 255, 1, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, -9223372036854775808,
  18446744073709551615, 12345678901234567890123456789012345.123456789012345678901234567890, -9999999999,
  9999999999.99, 1.5, -1.7976931348623157e308, 1, 18446744073709551615, 1901),
 (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3.14159, 2.2250738585072014e-308, 0, 0, 2155),
 (3, NULL, NULL, NULL, DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT, DEFAULT, NULL, NULL, NULL,
  DEFAULT, 0);
INSERT INTO numbers (b, bu, f, dd) SELECT b + id, bu, f / 3, dd / 3 FROM numbers;

CREATE TABLE texts (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY, c CHAR(10), cl CHAR(5) CHARACTER SET latin1 COLLATE latin1_bin,
  v VARCHAR(255) NOT NULL DEFAULT 'it''s "q" \\ x', v3 VARCHAR(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_unicode_ci,
  a VARCHAR(20) CHARACTER SET ascii, l VARCHAR(20) CHARACTER SET latin1, bi BINARY(4), vb VARBINARY(300), tt TINYTEXT,
  t TEXT, mt MEDIUMTEXT, lt LONGTEXT, tb TINYBLOB, bb BLOB, mb MEDIUMBLOB, lb LONGBLOB,
  e ENUM('small', 'it''s', 'größe') NOT NULL DEFAULT 'small', st SET('a', 'b', 'cd'' x') DEFAULT NULL,
  KEY texts_t (t(10)), KEY texts_v (v)) COMMENT = 'texts; of ''all'' kinds';
INSERT INTO texts VALUES
 (1, 'abc  ', 'é', 'ünï 😀', 'naïve', 'plain', 'ça va', x'00ff00', x'00010203ff', 'tiny', REPEAT('t', 60000),
  REPEAT('größe', 1000), 'l', x'ff00', REPEAT(x'00ff27', 9000), 'b''b', '\n\r\t\0\Z', 'größe', 'a,b'),
 (2, NULL, NULL, DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT, ''),
 (18446744073709551615, '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', 'it''s', 'cd'' x,b');

CREATE TABLE times (
  id INT PRIMARY KEY, d DATE DEFAULT '2020-02-29', t TIME, t6 TIME(6), dt DATETIME DEFAULT CURRENT_TIMESTAMP,
  dt6 DATETIME(6) DEFAULT NULL, ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  ts3 TIMESTAMP(3) NULL DEFAULT NULL);
INSERT INTO times VALUES
 (1, '1000-01-01', '-838:59:59', '838:59:58.999999', '9999-12-31 23:59:59', '2026-12-01 12:34:56.123456',
  '2038-01-19 03:14:07', '1970-01-02 00:00:01.123'),
 (2, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00', NULL);

CREATE TABLE parent (id INT NOT NULL, code VARCHAR(10) NOT NULL, PRIMARY KEY (id), UNIQUE KEY code (code));
-- Its name sorts before that of its parent: a dump makes it first.
CREATE TABLE child (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, pid INT, code VARCHAR(10), up INT, qty INT, price DECIMAL(10,2),
  total DECIMAL(20,2) GENERATED ALWAYS AS (qty * price) STORED, half INT AS (qty / 2) VIRTUAL,
  token VARCHAR(36) DEFAULT (CONCAT('x', 1 + 2)),
  KEY pid (pid), KEY code (code), KEY up (up), KEY half (half),
  CONSTRAINT price_positive CHECK (price >= 0 AND price < 1000000), CONSTRAINT qty_positive CHECK (qty > 0),
  CONSTRAINT fk_p FOREIGN KEY (pid) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT fk_c FOREIGN KEY (code) REFERENCES parent (code) ON DELETE SET NULL,
  CONSTRAINT fk_u FOREIGN KEY (up) REFERENCES child (id));
INSERT INTO parent VALUES (1, 'one'), (2, 'two');
INSERT INTO child (id, pid, code, up, qty, price) VALUES
 (5, 2, 'one', NULL, 4, 0), (1, 1, 'one', 5, 3, 9.99), (9, NULL, NULL, 5, NULL, NULL);
CREATE VIEW totals AS
 SELECT p.code, SUM(c.total) AS total FROM parent p LEFT JOIN child c ON c.pid = p.id GROUP BY p.code;
CREATE TABLE `odd ``name` (`select` INT PRIMARY KEY, `a b` VARCHAR(3) COMMENT 'with ''quotes''');
INSERT INTO `odd ``name` VALUES (1, 'x');
/*!80000 CREATE TABLE documents (id INT PRIMARY KEY, j JSON, name VARCHAR(20) AS (j->>'$.name') STORED, KEY (name)) */;
/*!80000 INSERT INTO documents (id, j) VALUES (1, '{"name": "größe", "a": [1, 2.50, true, null, {"b\\"": ""}]}'), (2, NULL) */;
