-- The tables that the statements of all features share. statements.py loads them into a database of their own for each feature.
-- Their rows hold NULL, duplicates, texts that differ only in case, and references that lead nowhere. One statement is one line.

-- A shop: customers without orders, an order without a customer, an order of a customer that does not exist.
CREATE TABLE customers (id INT NOT NULL PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, city VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, credit DECIMAL(10,2), joined DATE, referrer_id INT, KEY city (city), KEY referrer (referrer_id));
INSERT INTO customers VALUES (1, 'Ada', 'Oslo', 100.00, '2019-01-15', NULL), (2, 'Bo', 'Bergen', 0.00, '2019-03-01', 1), (3, 'Cleo', 'oslo', 250.50, '2020-02-29', 1), (4, 'Dag', NULL, NULL, NULL, 2), (5, 'Eva', 'Tromso', -20.00, '2021-07-04', 9), (6, 'ada', 'Bergen', 100.00, '2021-07-04', 3), (7, 'Finn', 'Hamar', 75.25, '2022-12-31', NULL), (8, 'Gro', NULL, 10.00, '2020-02-29', 7);
CREATE TABLE orders (id INT NOT NULL PRIMARY KEY, customer_id INT, placed DATETIME NOT NULL, status VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, total DECIMAL(10,2), KEY customer (customer_id), KEY status_placed (status, placed));
INSERT INTO orders VALUES (100, 1, '2022-01-05 10:00:00', 'paid', 59.90), (101, 1, '2022-02-10 12:30:00', 'open', 20.00), (102, 2, '2022-02-10 12:30:00', 'paid', 99.99), (103, 3, '2022-03-15 08:15:30', 'void', NULL), (104, 3, '2022-04-01 00:00:00', 'paid', 20.00), (105, 3, '2022-04-01 23:59:59', 'Paid', 310.40), (106, NULL, '2022-05-20 17:45:00', 'open', 5.00), (107, 42, '2022-06-30 09:00:00', 'paid', 75.25), (108, 6, '2023-01-01 00:00:00', 'open', 0.00), (109, 7, '2023-02-14 14:14:14', 'sent', 120.00), (110, 1, '2023-02-14 14:14:14', 'sent', 59.90);
CREATE TABLE items (order_id INT NOT NULL, line INT NOT NULL, product_id INT NOT NULL, quantity INT NOT NULL, price DECIMAL(10,2) NOT NULL, discount DOUBLE, PRIMARY KEY (order_id, line), KEY product (product_id));
INSERT INTO items VALUES (100, 1, 1, 2, 19.95, NULL), (100, 2, 2, 1, 20.00, 0.1), (101, 1, 2, 1, 20.00, NULL), (102, 1, 3, 3, 33.33, 0), (103, 1, 1, 1, 19.95, 0.5), (103, 2, 4, 10, 1.50, NULL), (103, 3, 5, 1, 250.00, 0.25), (104, 1, 2, 1, 20.00, NULL), (105, 1, 5, 1, 250.00, 0.05), (105, 2, 4, 40, 1.51, NULL), (107, 1, 9, 5, 15.05, 0.1), (109, 1, 3, 2, 33.33, NULL), (109, 2, 1, 2, 26.67, 0.2), (110, 1, 1, 3, 19.95, NULL), (999, 1, 1, 7, 1.00, NULL);
CREATE TABLE products (id INT NOT NULL PRIMARY KEY, category_id INT, name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, price DECIMAL(10,2), stock INT, UNIQUE KEY name (name), KEY category (category_id));
INSERT INTO products VALUES (1, 4, 'lamp', 19.95, 10), (2, 4, 'candle', 20.00, 0), (3, 5, 'chair', 33.33, 7), (4, 6, 'nail', 1.50, 1000), (5, 5, 'table', 250.00, NULL), (6, NULL, 'gift', NULL, NULL), (7, 6, 'screw', 1.50, 500), (8, 77, 'relic', 999.99, 1);
CREATE TABLE categories (id INT NOT NULL PRIMARY KEY, parent_id INT, name VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, KEY parent (parent_id));
INSERT INTO categories VALUES (1, NULL, 'home'), (2, NULL, 'work'), (3, 1, 'light'), (4, 3, 'indoor'), (5, 1, 'furniture'), (6, 2, 'fixing'), (7, 2, 'unused'), (8, 7, 'deep');

-- A tree with two roots; departments that differ in case; equal salaries.
CREATE TABLE employees (id INT NOT NULL PRIMARY KEY, manager_id INT, name VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, dept VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, salary INT, hired DATE NOT NULL, KEY manager (manager_id), KEY dept_salary (dept, salary));
INSERT INTO employees VALUES (1, NULL, 'Root', 'board', 900, '2010-01-01'), (2, 1, 'Ann', 'tech', 500, '2011-05-01'), (3, 1, 'Ben', 'sales', 450, '2012-06-15'), (4, 2, 'Cid', 'tech', 300, '2015-01-01'), (5, 2, 'Dee', 'tech', 300, '2016-03-01'), (6, 3, 'Eli', 'sales', NULL, '2016-03-01'), (7, 4, 'Fay', 'Tech', 250, '2018-09-09'), (8, 4, 'Gus', NULL, 200, '2019-10-10'), (9, NULL, 'Solo', NULL, NULL, '2020-01-01'), (10, 3, 'Hal', 'sales', 450, '2021-02-02'), (11, 10, 'Ida', 'sales', 150, '2022-02-22'), (12, 99, 'Jon', 'lost', 150, '2022-02-22');

-- NULL everywhere.
CREATE TABLE gaps (id INT NOT NULL PRIMARY KEY, a INT, b INT, c VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, d DECIMAL(10,2), e DATE, KEY a (a), KEY b_c (b, c));
INSERT INTO gaps VALUES (1, NULL, NULL, NULL, NULL, NULL), (2, 1, NULL, 'x', 1.50, '2020-01-01'), (3, NULL, 1, 'X', NULL, '2020-01-01'), (4, 1, 1, '', 0.00, NULL), (5, 2, 1, NULL, -1.50, '2021-12-31'), (6, 2, NULL, 'y', 1.50, NULL), (7, 3, 3, 'y', 2.25, '2022-06-01'), (8, NULL, 3, NULL, NULL, '2019-12-31'), (9, 0, 0, 'z', 0.00, '2020-01-02');

-- One column of each type.
CREATE TABLE mixed (id INT NOT NULL PRIMARY KEY, i INT, u BIGINT UNSIGNED, d DECIMAL(10,2), f DOUBLE, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, b VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, dt DATE, ts DATETIME, tm TIME, t TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, vb VARBINARY(20), KEY i (i), KEY s (s), KEY b (b), KEY dt (dt));
INSERT INTO mixed VALUES (1, 1, 1, 1.00, 1, '1', '1', '2020-01-01', '2020-01-01 00:00:00', '00:00:01', '1', '1'), (2, -5, 0, -5.50, -5.5, '-5.5', '-5', '2020-02-29', '2020-02-29 12:00:00', '-01:30:00', 'minus', 'minus'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 10, 18446744073709551615, 99999999.99, 1e100, 'abc', 'abc', '1999-12-31', '1999-12-31 23:59:59', '23:59:59', 'long text', 'bytes'), (5, 10, 10, 10.00, 10, 'ABC', 'ABC', '2020-01-01', '2020-01-01 10:20:30', '10:20:30', 'Long Text', 'Bytes'), (6, 0, 9223372036854775808, 0.01, 0.25, '', '', '2021-06-15', '2021-06-15 06:00:00', '00:00:00', '', ''), (7, 2147483647, 2147483647, 2.50, 2.5, '10', '10', '2020-12-31', '2020-12-31 00:00:00', '100:00:00', '10', '10'), (8, -2147483648, 42, 2.50, -0.125, 'abc ', 'abc ', '2020-01-01', '2020-01-01 00:00:00', '12:00:00', 'tail ', 'tail ');

-- Composite keys: a grid, and a graph with cycles.
CREATE TABLE pairs (x INT NOT NULL, y INT NOT NULL, v VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, w INT, PRIMARY KEY (x, y), UNIQUE KEY y_x (y, x), KEY w (w));
INSERT INTO pairs VALUES (1, 1, 'a', 10), (1, 2, 'b', NULL), (1, 3, 'a', 30), (2, 1, 'c', 10), (2, 2, NULL, 20), (2, 3, 'B', 30), (3, 1, 'A', NULL), (3, 3, 'd', 50), (4, 4, NULL, NULL);
CREATE TABLE edges (src INT NOT NULL, dst INT NOT NULL, weight INT NOT NULL, PRIMARY KEY (src, dst), KEY dst (dst));
INSERT INTO edges VALUES (1, 2, 7), (1, 3, 9), (1, 6, 14), (2, 3, 10), (2, 4, 15), (3, 4, 11), (3, 6, 2), (4, 5, 6), (5, 1, 1), (6, 5, 9), (7, 8, 1), (8, 7, 1), (9, 9, 3);
CREATE TABLE sales (year INT NOT NULL, quarter INT NOT NULL, region VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, amount INT, PRIMARY KEY (year, quarter, region), KEY region (region));
INSERT INTO sales VALUES (2020, 1, 'north', 10), (2020, 1, 'south', 20), (2020, 2, 'north', 30), (2020, 2, 'south', NULL), (2020, 3, 'north', 10), (2020, 4, 'south', 40), (2021, 1, 'north', 5), (2021, 1, 'south', 15), (2021, 1, 'west', 25), (2021, 2, 'north', NULL), (2021, 3, 'west', 35), (2021, 4, 'north', 20), (2022, 1, 'south', 0), (2022, 2, 'west', -5), (2022, 2, 'south', 20);

-- The smallest: no row, one row, the numbers from 1 to 10, and a table that chooses its keys.
CREATE TABLE nothing (id INT NOT NULL PRIMARY KEY, a INT, name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, KEY a (a));
CREATE TABLE lone (id INT NOT NULL PRIMARY KEY, a INT, name VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci);
INSERT INTO lone VALUES (1, 10, 'only');
CREATE TABLE numbers (n INT NOT NULL PRIMARY KEY);
INSERT INTO numbers VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10);
CREATE TABLE counters (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, code VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, hits INT NOT NULL DEFAULT 0, note VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT 'none', UNIQUE KEY code (code));
INSERT INTO counters (id, code, hits, note) VALUES (1, 'a', 5, 'first'), (2, 'b', 0, NULL), (3, 'c', 12, 'none');
