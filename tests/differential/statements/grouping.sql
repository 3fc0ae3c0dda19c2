-- GROUP BY and the aggregates: of each type, with DISTINCT, over NULL, over no rows; GROUP_CONCAT; expressions as groups.

-- Each aggregate of each type, over all rows, over no row, over NULL alone.
SELECT COUNT(i), COUNT(DISTINCT i) FROM mixed;
SELECT MIN(i), MAX(i) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(i), MAX(i), COUNT(i) FROM mixed WHERE id = 3;
SELECT MIN(i), MAX(i), COUNT(DISTINCT i) FROM mixed WHERE id > 100;
SELECT COUNT(u), COUNT(DISTINCT u) FROM mixed;
SELECT MIN(u), MAX(u) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(u), MAX(u), COUNT(u) FROM mixed WHERE id = 3;
SELECT MIN(u), MAX(u), COUNT(DISTINCT u) FROM mixed WHERE id > 100;
SELECT COUNT(d), COUNT(DISTINCT d) FROM mixed;
SELECT MIN(d), MAX(d) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(d), MAX(d), COUNT(d) FROM mixed WHERE id = 3;
SELECT MIN(d), MAX(d), COUNT(DISTINCT d) FROM mixed WHERE id > 100;
SELECT COUNT(f), COUNT(DISTINCT f) FROM mixed;
SELECT MIN(f), MAX(f) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(f), MAX(f), COUNT(f) FROM mixed WHERE id = 3;
SELECT MIN(f), MAX(f), COUNT(DISTINCT f) FROM mixed WHERE id > 100;
SELECT COUNT(s), COUNT(DISTINCT s) FROM mixed;
SELECT MIN(s), MAX(s) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(s), MAX(s), COUNT(s) FROM mixed WHERE id = 3;
SELECT MIN(s), MAX(s), COUNT(DISTINCT s) FROM mixed WHERE id > 100;
SELECT COUNT(b), COUNT(DISTINCT b) FROM mixed;
SELECT MIN(b), MAX(b) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(b), MAX(b), COUNT(b) FROM mixed WHERE id = 3;
SELECT MIN(b), MAX(b), COUNT(DISTINCT b) FROM mixed WHERE id > 100;
SELECT COUNT(dt), COUNT(DISTINCT dt) FROM mixed;
SELECT MIN(dt), MAX(dt) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(dt), MAX(dt), COUNT(dt) FROM mixed WHERE id = 3;
SELECT MIN(dt), MAX(dt), COUNT(DISTINCT dt) FROM mixed WHERE id > 100;
SELECT COUNT(ts), COUNT(DISTINCT ts) FROM mixed;
SELECT MIN(ts), MAX(ts) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(ts), MAX(ts), COUNT(ts) FROM mixed WHERE id = 3;
SELECT MIN(ts), MAX(ts), COUNT(DISTINCT ts) FROM mixed WHERE id > 100;
SELECT COUNT(tm), COUNT(DISTINCT tm) FROM mixed;
SELECT MIN(tm), MAX(tm) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(tm), MAX(tm), COUNT(tm) FROM mixed WHERE id = 3;
SELECT MIN(tm), MAX(tm), COUNT(DISTINCT tm) FROM mixed WHERE id > 100;
SELECT COUNT(vb), COUNT(DISTINCT vb) FROM mixed;
SELECT MIN(vb), MAX(vb) FROM mixed WHERE id NOT IN (5, 8);
SELECT MIN(vb), MAX(vb), COUNT(vb) FROM mixed WHERE id = 3;
SELECT MIN(vb), MAX(vb), COUNT(DISTINCT vb) FROM mixed WHERE id > 100;
SELECT SUM(i), AVG(i) FROM mixed WHERE id <> 4;
SELECT SUM(DISTINCT i), AVG(DISTINCT i) FROM mixed WHERE id <> 4;
SELECT SUM(i), AVG(i), STD(i), VARIANCE(i) FROM mixed WHERE id = 3;
SELECT SUM(i), AVG(i), STD(i), VARIANCE(i) FROM mixed WHERE id > 100;
SELECT STD(i), STDDEV(i), STDDEV_POP(i), STDDEV_SAMP(i) FROM mixed WHERE id IN (1, 2, 5, 6);
SELECT VARIANCE(i), VAR_POP(i), VAR_SAMP(i) FROM mixed WHERE id IN (1, 2, 5, 6);
SELECT STDDEV_SAMP(i), VAR_SAMP(i), STDDEV_POP(i), VAR_POP(i) FROM mixed WHERE id = 1;
SELECT SUM(d), AVG(d) FROM mixed WHERE id <> 4;
SELECT SUM(DISTINCT d), AVG(DISTINCT d) FROM mixed WHERE id <> 4;
SELECT SUM(d), AVG(d), STD(d), VARIANCE(d) FROM mixed WHERE id = 3;
SELECT SUM(d), AVG(d), STD(d), VARIANCE(d) FROM mixed WHERE id > 100;
SELECT STD(d), STDDEV(d), STDDEV_POP(d), STDDEV_SAMP(d) FROM mixed WHERE id IN (1, 2, 5, 6);
SELECT VARIANCE(d), VAR_POP(d), VAR_SAMP(d) FROM mixed WHERE id IN (1, 2, 5, 6);
SELECT STDDEV_SAMP(d), VAR_SAMP(d), STDDEV_POP(d), VAR_POP(d) FROM mixed WHERE id = 1;
SELECT SUM(f), AVG(f) FROM mixed WHERE id <> 4;
SELECT SUM(DISTINCT f), AVG(DISTINCT f) FROM mixed WHERE id <> 4;
SELECT SUM(f), AVG(f), STD(f), VARIANCE(f) FROM mixed WHERE id = 3;
SELECT SUM(f), AVG(f), STD(f), VARIANCE(f) FROM mixed WHERE id > 100;
SELECT STD(f), STDDEV(f), STDDEV_POP(f), STDDEV_SAMP(f) FROM mixed WHERE id IN (1, 2, 5, 6);
SELECT VARIANCE(f), VAR_POP(f), VAR_SAMP(f) FROM mixed WHERE id IN (1, 2, 5, 6);
SELECT STDDEV_SAMP(f), VAR_SAMP(f), STDDEV_POP(f), VAR_POP(f) FROM mixed WHERE id = 1;
SELECT SUM(u), AVG(u) FROM mixed WHERE id IN (1, 5, 8);
SELECT SUM(u) FROM mixed;
SELECT SUM(DISTINCT u) FROM mixed WHERE id <> 4;
SELECT SUM(s) FROM mixed WHERE id IN (1, 2);
SELECT SUM(d), SUM(d * 2), SUM(d) * 2, SUM(-d) FROM mixed WHERE id <> 4;
SELECT AVG(i) + AVG(d), AVG(i + d), SUM(i) DIV COUNT(*) FROM mixed WHERE id <> 4;
SELECT BIT_AND(n) FROM numbers;
SELECT BIT_AND(n) FROM numbers WHERE n > 100;
SELECT BIT_AND(a) FROM gaps;
SELECT BIT_AND(a) FROM gaps WHERE a IS NULL;
SELECT BIT_AND(u), BIT_AND(i) FROM mixed;
SELECT quantity % 2 AS odd, BIT_AND(quantity) FROM items GROUP BY odd;
SELECT x, BIT_AND(y) FROM pairs GROUP BY x;
SELECT BIT_AND(n + 1), BIT_AND(n) + 1 FROM numbers WHERE n IN (4, 5, 6);
SELECT BIT_OR(n) FROM numbers;
SELECT BIT_OR(n) FROM numbers WHERE n > 100;
SELECT BIT_OR(a) FROM gaps;
SELECT BIT_OR(a) FROM gaps WHERE a IS NULL;
SELECT BIT_OR(u), BIT_OR(i) FROM mixed;
SELECT quantity % 2 AS odd, BIT_OR(quantity) FROM items GROUP BY odd;
SELECT x, BIT_OR(y) FROM pairs GROUP BY x;
SELECT BIT_OR(n + 1), BIT_OR(n) + 1 FROM numbers WHERE n IN (4, 5, 6);
SELECT BIT_XOR(n) FROM numbers;
SELECT BIT_XOR(n) FROM numbers WHERE n > 100;
SELECT BIT_XOR(a) FROM gaps;
SELECT BIT_XOR(a) FROM gaps WHERE a IS NULL;
SELECT BIT_XOR(u), BIT_XOR(i) FROM mixed;
SELECT quantity % 2 AS odd, BIT_XOR(quantity) FROM items GROUP BY odd;
SELECT x, BIT_XOR(y) FROM pairs GROUP BY x;
SELECT BIT_XOR(n + 1), BIT_XOR(n) + 1 FROM numbers WHERE n IN (4, 5, 6);

-- COUNT.
SELECT COUNT(*) FROM customers;
SELECT COUNT(*), COUNT(1), COUNT(NULL), COUNT('x'), COUNT(id), COUNT(city) FROM customers;
SELECT COUNT(DISTINCT city), COUNT(DISTINCT name), COUNT(DISTINCT credit), COUNT(DISTINCT joined) FROM customers;
SELECT COUNT(DISTINCT city, credit), COUNT(DISTINCT credit, joined), COUNT(DISTINCT city, credit, joined) FROM customers;
SELECT COUNT(DISTINCT a, b), COUNT(DISTINCT b, a), COUNT(DISTINCT a), COUNT(DISTINCT a, b, c) FROM gaps;
SELECT COUNT(DISTINCT status), COUNT(DISTINCT LOWER(status)) FROM orders;
SELECT COUNT(DISTINCT s), COUNT(DISTINCT b), COUNT(DISTINCT vb) FROM mixed;
SELECT COUNT(DISTINCT 1), COUNT(DISTINCT NULL), COUNT(DISTINCT id % 2) FROM customers;
SELECT COUNT(id > 3), COUNT(id > 3 OR NULL), SUM(id > 3) FROM customers;
SELECT COUNT(*), COUNT(a), COUNT(DISTINCT a), COUNT(DISTINCT a, id) FROM nothing;
SELECT COUNT(*) FROM customers WHERE FALSE;
SELECT COUNT(*) FROM lone;
SELECT COUNT(*) + 1, -COUNT(*), COUNT(*) * COUNT(city), COUNT(*) > 5, COUNT(*) / 3 FROM customers;
SELECT COUNT(*);
SELECT COUNT(1), MAX(2), SUM(3), MIN('a'), AVG(4);
SELECT SUM(1), SUM(NULL), MAX(NULL), AVG(NULL), COUNT(*) FROM customers;
SELECT MAX(1) FROM nothing;
SELECT COUNT(*) FROM DUAL;
SELECT COUNT(ALL city), SUM(ALL credit) FROM customers;
SELECT COUNT(CASE WHEN city = 'oslo' THEN 1 END), SUM(CASE WHEN city = 'oslo' THEN credit ELSE 0 END) FROM customers;

-- Groups.
SELECT city, COUNT(*) FROM customers WHERE city <> 'oslo' GROUP BY city;
SELECT city IS NULL, COUNT(*) FROM customers GROUP BY city IS NULL;
SELECT UPPER(city) AS u, COUNT(*), SUM(credit) FROM customers GROUP BY u;
SELECT UPPER(city), COUNT(*) FROM customers GROUP BY UPPER(city);
SELECT COUNT(*) FROM customers GROUP BY city;
SELECT status, COUNT(*) FROM orders GROUP BY status;
SELECT status, COUNT(*), SUM(total), AVG(total), MIN(total), MAX(total) FROM orders GROUP BY status;
SELECT status, COUNT(total), COUNT(DISTINCT customer_id) FROM orders GROUP BY status;
SELECT status, customer_id, COUNT(*) FROM orders GROUP BY status, customer_id;
SELECT customer_id, status, COUNT(*) FROM orders GROUP BY status, customer_id ORDER BY customer_id, status;
SELECT COUNT(*) FROM orders GROUP BY status, customer_id;
SELECT customer_id, MIN(placed), MAX(placed) FROM orders GROUP BY customer_id;
SELECT customer_id AS c, SUM(total) AS s FROM orders GROUP BY c ORDER BY s DESC, c;
SELECT customer_id, SUM(total) FROM orders GROUP BY 1;
SELECT customer_id, status, SUM(total) FROM orders GROUP BY 2, 1;
SELECT DATE(placed) AS day, COUNT(*) FROM orders GROUP BY day;
SELECT YEAR(placed), MONTH(placed), COUNT(*) FROM orders GROUP BY YEAR(placed), MONTH(placed);
SELECT YEAR(placed) AS y, SUM(total) AS s FROM orders GROUP BY y ORDER BY y DESC;
SELECT total > 50 AS big, COUNT(*) FROM orders GROUP BY big;
SELECT total IS NULL, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1;
SELECT CASE WHEN total > 100 THEN 'high' WHEN total > 50 THEN 'mid' ELSE 'low' END AS band, COUNT(*), SUM(total) FROM orders GROUP BY band ORDER BY band;
SELECT IFNULL(customer_id, 0) AS c, COUNT(*) FROM orders GROUP BY c;
SELECT COALESCE(city, 'none') AS place, COUNT(*) FROM customers WHERE id NOT IN (1, 3) GROUP BY place;
SELECT id % 3, COUNT(*), SUM(id) FROM customers GROUP BY id % 3;
SELECT LENGTH(name), GROUP_CONCAT(name ORDER BY id) FROM customers GROUP BY LENGTH(name);
SELECT joined, COUNT(*) FROM customers GROUP BY joined;
SELECT credit, COUNT(*) FROM customers GROUP BY credit;
SELECT order_id, COUNT(*), SUM(quantity), SUM(quantity * price), MAX(discount) FROM items GROUP BY order_id;
SELECT product_id, SUM(quantity) AS q, AVG(price), MIN(discount) FROM items GROUP BY product_id ORDER BY q DESC, product_id;
SELECT discount, COUNT(*) FROM items GROUP BY discount;
SELECT x, SUM(w), AVG(w), COUNT(w) FROM pairs GROUP BY x;
SELECT y, MAX(v), MIN(w) FROM pairs WHERE x < 3 GROUP BY y;
SELECT a, COUNT(*), COUNT(b), SUM(b), MIN(c) FROM gaps WHERE id <> 3 GROUP BY a;
SELECT a, b, COUNT(*) FROM gaps GROUP BY a, b;
SELECT a IS NULL AS x, b IS NULL AS y, COUNT(*) FROM gaps GROUP BY x, y;
SELECT d, COUNT(*), COUNT(e) FROM gaps GROUP BY d;
SELECT e, COUNT(*), SUM(d) FROM gaps GROUP BY e;
SELECT a + b AS s, COUNT(*) FROM gaps GROUP BY s;
SELECT year, COUNT(*), SUM(amount), AVG(amount), MIN(amount), MAX(amount), COUNT(amount) FROM sales GROUP BY year;
SELECT region, year, SUM(amount) FROM sales GROUP BY region, year ORDER BY year, region;
SELECT year, SUM(IF(region = 'north', amount, 0)) AS north, SUM(IF(region = 'south', amount, 0)) AS south, SUM(IF(region = 'west', amount, 0)) AS west FROM sales GROUP BY year;
SELECT quarter, COUNT(DISTINCT region), COUNT(DISTINCT year), COUNT(DISTINCT region, year) FROM sales GROUP BY quarter;
SELECT dept, COUNT(*) FROM employees WHERE dept IS NOT NULL AND id <> 7 GROUP BY dept;
SELECT manager_id, COUNT(*), SUM(salary), MAX(hired) FROM employees GROUP BY manager_id;
SELECT dept = 'tech' AS t, AVG(salary), STDDEV_POP(salary), VAR_SAMP(salary) FROM employees GROUP BY t;
SELECT src, COUNT(*), MIN(weight), MAX(dst) FROM edges GROUP BY src;
SELECT src > dst AS back, SUM(weight) FROM edges GROUP BY back;
SELECT id, COUNT(*) FROM customers GROUP BY id;
SELECT a, COUNT(*) FROM nothing GROUP BY a;
SELECT MAX(a), COUNT(*) FROM nothing GROUP BY name;
SELECT 'x' AS k, COUNT(*) FROM customers GROUP BY k;
SELECT 'x' AS k, COUNT(*) FROM nothing GROUP BY k;
SELECT NULL AS k, COUNT(*) FROM customers GROUP BY k;
SELECT COUNT(*) FROM customers GROUP BY NULL;
SELECT COUNT(*) FROM customers GROUP BY 'a';
SELECT status FROM orders GROUP BY status;
SELECT status, 1, 'c', 2 + 3 FROM orders GROUP BY status;
SELECT status, status, CONCAT(status, '!') FROM orders GROUP BY status;
SELECT CONCAT(status, COUNT(*)) AS t FROM orders GROUP BY status;
SELECT status, SUM(total) + COUNT(*), SUM(total) / COUNT(*), ROUND(AVG(total), 1), IFNULL(SUM(total), 0) FROM orders GROUP BY status;
SELECT SUM(total) FROM orders GROUP BY status ORDER BY SUM(total) DESC;
SELECT status FROM orders GROUP BY status ORDER BY COUNT(*) DESC, status;
SELECT status FROM orders GROUP BY status ORDER BY MAX(id);
SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n, status DESC LIMIT 2;
SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY status LIMIT 2 OFFSET 1;
SELECT status, COUNT(*) FROM orders GROUP BY status LIMIT 0;
SELECT MAX(total) FROM orders LIMIT 1;
SELECT MAX(total) FROM orders LIMIT 0;
SELECT MAX(total) FROM orders ORDER BY 1;
SELECT COUNT(*) FROM customers ORDER BY COUNT(*);
SELECT MIN(id), MAX(id) FROM customers WHERE id > 3 AND id < 7;
SELECT MIN(placed), MAX(placed) FROM orders WHERE status = 'paid';
SELECT MIN(name), MAX(name) FROM products;
SELECT MIN(credit) + MAX(credit), MAX(ABS(credit)), ABS(MIN(credit)) FROM customers;
SELECT MAX(id) - MIN(id) + 1 = COUNT(*) FROM customers;
SELECT MIN(DISTINCT credit), MAX(DISTINCT credit) FROM customers;
SELECT SUM(DISTINCT credit), AVG(DISTINCT credit), SUM(credit), AVG(credit) FROM customers;
SELECT SUM(DISTINCT total), COUNT(DISTINCT total), SUM(total), COUNT(total) FROM orders GROUP BY customer_id IS NULL;
SELECT MAX(LENGTH(name)), MIN(UPPER(name)), MAX(CONCAT(id, name)) FROM products;
SELECT AVG(id), AVG(credit), AVG(id > 2), AVG(discount) FROM customers LEFT JOIN items ON items.line = customers.id;
SELECT MAX(joined), MIN(joined), COUNT(joined), MAX(YEAR(joined)) FROM customers;
SELECT MAX(joined) > '2020-01-01', DATEDIFF(MAX(joined), MIN(joined)), MAX(joined) + INTERVAL 1 DAY FROM customers;
SELECT SUM(n), AVG(n), MIN(n), MAX(n), COUNT(n), STD(n), VARIANCE(n), VAR_SAMP(n) FROM numbers;
SELECT SUM(n * n) - SUM(n) * AVG(n) FROM numbers;

-- Joins, subqueries and derived tables as the source.
SELECT c.id, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id;
SELECT c.city, SUM(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.city <> 'Oslo' GROUP BY c.city;
SELECT k.name, COUNT(*), SUM(i.quantity) FROM categories k JOIN products p ON p.category_id = k.id JOIN items i ON i.product_id = p.id GROUP BY k.name;
SELECT c.id % 2 AS odd, o.status, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY odd, o.status;
SELECT o.status, SUM(i.quantity * i.price * (1 - IFNULL(i.discount, 0))) AS net FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.status;
SELECT d.n, COUNT(*) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) d GROUP BY d.n;
SELECT d.s, MAX(d.n) FROM (SELECT status AS s, customer_id, COUNT(*) AS n FROM orders GROUP BY status, customer_id) d GROUP BY d.s;
SELECT COUNT(*) FROM orders WHERE customer_id IN (SELECT id FROM customers GROUP BY id);

-- GROUP_CONCAT.
SELECT GROUP_CONCAT(n ORDER BY n) FROM numbers;
SELECT GROUP_CONCAT(n ORDER BY n DESC) FROM numbers;
SELECT GROUP_CONCAT(n ORDER BY n SEPARATOR '') FROM numbers;
SELECT GROUP_CONCAT(n ORDER BY n SEPARATOR ', ') FROM numbers WHERE n < 4;
SELECT GROUP_CONCAT(n ORDER BY n % 3, n DESC SEPARATOR '-') FROM numbers;
SELECT GROUP_CONCAT(DISTINCT n % 3 ORDER BY n % 3) FROM numbers;
SELECT GROUP_CONCAT(DISTINCT n % 3 ORDER BY n % 3 DESC SEPARATOR '') FROM numbers;
SELECT GROUP_CONCAT(n, ':', n * n ORDER BY n) FROM numbers WHERE n < 4;
SELECT GROUP_CONCAT('x') FROM numbers WHERE n < 4;
SELECT GROUP_CONCAT(n) FROM numbers WHERE n = 7;
SELECT GROUP_CONCAT(n) FROM numbers WHERE n > 70;
SELECT GROUP_CONCAT(a ORDER BY id) FROM gaps;
SELECT GROUP_CONCAT(a, b ORDER BY id) FROM gaps;
SELECT GROUP_CONCAT(IFNULL(a, 'n') ORDER BY id) FROM gaps;
SELECT GROUP_CONCAT(a) FROM gaps WHERE a IS NULL;
SELECT GROUP_CONCAT(NULL) FROM numbers;
SELECT GROUP_CONCAT(DISTINCT a ORDER BY a) FROM gaps;
SELECT GROUP_CONCAT(DISTINCT a ORDER BY a DESC SEPARATOR '/') FROM gaps;
SELECT GROUP_CONCAT(c ORDER BY id SEPARATOR '|') FROM gaps;
SELECT GROUP_CONCAT(name ORDER BY name, id DESC) FROM customers;
SELECT GROUP_CONCAT(name ORDER BY 1) FROM products;
SELECT GROUP_CONCAT(id, name ORDER BY 2 DESC) FROM products;
SELECT status, GROUP_CONCAT(id ORDER BY id) FROM orders GROUP BY status;
SELECT status, GROUP_CONCAT(DISTINCT customer_id ORDER BY customer_id) FROM orders GROUP BY status;
SELECT status, GROUP_CONCAT(total ORDER BY total DESC, id SEPARATOR ' ') AS totals FROM orders GROUP BY status ORDER BY status;
SELECT status, LENGTH(GROUP_CONCAT(id)), LOCATE('1', GROUP_CONCAT(id)) > 0 FROM orders GROUP BY status;
SELECT region, GROUP_CONCAT(amount ORDER BY year, quarter) FROM sales GROUP BY region;
SELECT year, GROUP_CONCAT(DISTINCT region ORDER BY region) FROM sales GROUP BY year;
SELECT GROUP_CONCAT(d ORDER BY d) FROM mixed WHERE id <> 8;
SELECT GROUP_CONCAT(f ORDER BY f) FROM mixed;
SELECT GROUP_CONCAT(dt ORDER BY id), GROUP_CONCAT(ts ORDER BY id), GROUP_CONCAT(tm ORDER BY id) FROM mixed;
SELECT GROUP_CONCAT(DISTINCT dt ORDER BY dt SEPARATOR ';') FROM mixed;
SELECT GROUP_CONCAT(u ORDER BY u DESC) FROM mixed;
SELECT GROUP_CONCAT(DISTINCT b ORDER BY b) FROM mixed WHERE id <> 8;
SELECT GROUP_CONCAT(b ORDER BY b DESC, id) FROM mixed;
SELECT GROUP_CONCAT(name ORDER BY LENGTH(name), name SEPARATOR '\n') FROM products;
SELECT GROUP_CONCAT(c.name ORDER BY c.id) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.status = 'paid';
SELECT GROUP_CONCAT((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) ORDER BY c.id) FROM customers c;
SELECT FIND_IN_SET('3', GROUP_CONCAT(n ORDER BY n)) FROM numbers;
SELECT COUNT(*), GROUP_CONCAT(n ORDER BY n), SUM(n) FROM numbers WHERE n IN (2, 4);

-- Errors.
-- error 1055
SELECT id, city FROM customers GROUP BY city;
-- error 1055
SELECT * FROM customers GROUP BY city;
-- error 1055
SELECT city, name, COUNT(*) FROM customers GROUP BY city;
-- error 1055
SELECT id + 1 FROM customers GROUP BY city;
-- error 1055
SELECT UPPER(city), credit FROM customers GROUP BY UPPER(city);
-- error 1055
SELECT customer_id FROM orders GROUP BY status ORDER BY status;
-- error 1055
SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name;
-- error 1055
SELECT x, w FROM pairs GROUP BY x;
-- error 1140
SELECT id, COUNT(*) FROM customers;
-- error 1140
SELECT MAX(id), name FROM customers;
-- error 1140
SELECT *, COUNT(*) FROM customers;
-- error 1140
SELECT id + COUNT(*) FROM customers;
-- error 1140
SELECT c.name, SUM(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id;
-- error 1056
SELECT COUNT(*) FROM customers GROUP BY 1;
-- error 1056
SELECT COUNT(*) AS n FROM customers GROUP BY n;
-- error 1056
SELECT city, MAX(id) AS m FROM customers GROUP BY city, m;
-- error 1111
SELECT COUNT(*) FROM customers GROUP BY COUNT(*);
-- error 1111
SELECT SUM(COUNT(*)) FROM customers;
-- error 1111
SELECT MAX(MIN(id)) FROM customers GROUP BY city;
-- error 1111
SELECT id FROM customers WHERE COUNT(*) > 1;
-- error 1111
SELECT id FROM customers WHERE id = MAX(id);
-- error 1111
SELECT AVG(SUM(total)) FROM orders GROUP BY status;
-- error 1054
SELECT COUNT(*) FROM customers GROUP BY absent;
-- error 1054
SELECT COUNT(*) FROM customers GROUP BY 2;
-- error 1054
SELECT COUNT(absent) FROM customers;
-- error 1054
SELECT COUNT(*) FROM customers GROUP BY 0;
-- error 1054
SELECT GROUP_CONCAT(n ORDER BY absent) FROM numbers;
-- error 1054
SELECT GROUP_CONCAT(n ORDER BY 2) FROM numbers;
-- error 1064
SELECT COUNT() FROM customers;
-- error 1064
SELECT COUNT(id, name) FROM customers;
-- error 1064
SELECT SUM(*) FROM customers;
-- error 1064
SELECT SUM(id, id) FROM customers;
-- error 1064
SELECT MAX(DISTINCT id, name) FROM customers;
-- error 1064
SELECT COUNT(*) FROM customers GROUP BY;
-- error 1064
SELECT GROUP_CONCAT() FROM customers;
-- error 1064
SELECT GROUP_CONCAT(n SEPARATOR 1) FROM numbers;
-- error 1064
SELECT GROUP_CONCAT(n SEPARATOR '-' ORDER BY n) FROM numbers;
-- error 1064
SELECT COUNT(DISTINCT) FROM customers;
-- error 1064
SELECT COUNT(DISTINCT *) FROM customers;
-- error 1064
SELECT COUNT (*) FROM customers;
