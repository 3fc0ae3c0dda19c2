-- ORDER BY and LIMIT: columns, aliases, positions, expressions, NULL, types, ties; ORDER BY of an aggregate.

SELECT id FROM customers ORDER BY id;
SELECT id FROM customers ORDER BY id ASC;
SELECT id FROM customers ORDER BY id DESC;
SELECT id FROM customers ORDER BY -id;
SELECT id, name FROM customers ORDER BY name, id;
SELECT id, name FROM customers ORDER BY name, id DESC;
SELECT id, name FROM customers ORDER BY name DESC, id;
SELECT name, id FROM customers ORDER BY 1, 2;
SELECT name, id FROM customers ORDER BY 2 DESC;
SELECT id, city FROM customers ORDER BY city, id;
SELECT id, city FROM customers ORDER BY city DESC, id;
SELECT id, city FROM customers ORDER BY city IS NULL, city, id;
SELECT id, city FROM customers ORDER BY city IS NULL DESC, city DESC, id DESC;
SELECT id, city FROM customers ORDER BY ISNULL(city), UPPER(city), id;
SELECT id, credit FROM customers ORDER BY credit, id;
SELECT id, credit FROM customers ORDER BY credit DESC, id DESC;
SELECT id, credit FROM customers ORDER BY ABS(credit), id;
SELECT id, credit FROM customers ORDER BY credit > 50, credit, id;
SELECT id, credit FROM customers ORDER BY COALESCE(credit, 1000), id;
SELECT id, joined FROM customers ORDER BY joined, id;
SELECT id, joined FROM customers ORDER BY joined DESC, id;
SELECT id FROM customers ORDER BY MONTH(joined), DAY(joined), id;
SELECT id FROM customers ORDER BY LENGTH(name), name, id;
SELECT id FROM customers ORDER BY CASE WHEN city = 'Bergen' THEN 0 WHEN city IS NULL THEN 2 ELSE 1 END, id;
SELECT id FROM customers ORDER BY id IN (3, 5) DESC, id;
SELECT id FROM customers ORDER BY id = 4 DESC, id = 2 DESC, id;
SELECT id FROM customers ORDER BY FIELD(id, 3, 1, 2), id;
SELECT id FROM customers ORDER BY id % 3, id DESC;
SELECT id, id % 3 AS r FROM customers ORDER BY r, id;
SELECT id AS k FROM customers ORDER BY k DESC;
SELECT id AS k FROM customers ORDER BY id DESC;
SELECT id AS k FROM customers c ORDER BY c.id DESC;
SELECT -id AS id FROM customers ORDER BY id;
SELECT -id AS id FROM customers ORDER BY customers.id;
SELECT -id AS id, id AS k FROM customers ORDER BY id + 0;
SELECT name AS id, id AS name FROM products ORDER BY name;
SELECT id, credit * 2 AS twice FROM customers ORDER BY twice DESC, id;
SELECT id, credit * 2 AS twice FROM customers ORDER BY twice + id, id;
SELECT id FROM customers ORDER BY credit * -1, id;
SELECT id FROM customers ORDER BY NULL, id;
SELECT id FROM customers ORDER BY 'x', id;
SELECT id FROM customers ORDER BY 1 + 1, id;
SELECT id FROM customers ORDER BY id, id DESC;
SELECT name FROM customers ORDER BY id;
SELECT name FROM customers ORDER BY credit, id;
SELECT 1 FROM customers ORDER BY id;
SELECT * FROM customers ORDER BY id LIMIT 2;
SELECT * FROM products ORDER BY price DESC, id;
SELECT name, price FROM products ORDER BY price IS NULL, price, name;
SELECT name, stock FROM products ORDER BY stock, name;
SELECT name FROM products ORDER BY name;
SELECT name FROM products ORDER BY name DESC;
SELECT status, id FROM orders ORDER BY status, id;
SELECT status, id FROM orders ORDER BY status DESC, id DESC;
SELECT id, placed FROM orders ORDER BY placed, id;
SELECT id, placed FROM orders ORDER BY placed DESC, id;
SELECT id FROM orders ORDER BY DATE(placed), total, id;
SELECT id FROM orders ORDER BY customer_id, placed DESC, id DESC;
SELECT id FROM orders ORDER BY customer_id IS NULL, customer_id DESC, total DESC, id;
SELECT order_id, line FROM items ORDER BY order_id DESC, line;
SELECT order_id, line FROM items ORDER BY line, order_id;
SELECT order_id, line FROM items ORDER BY quantity * price DESC, order_id, line;
SELECT order_id, line FROM items ORDER BY discount, order_id, line;
SELECT order_id, line FROM items ORDER BY discount DESC, order_id DESC, line;
SELECT x, y FROM pairs ORDER BY x, y;
SELECT x, y FROM pairs ORDER BY y, x;
SELECT x, y FROM pairs ORDER BY x DESC, y DESC;
SELECT x, y FROM pairs ORDER BY x, y DESC;
SELECT x, y FROM pairs ORDER BY w, x, y;
SELECT x, y FROM pairs ORDER BY v, x, y;
SELECT x, y FROM pairs ORDER BY v DESC, w DESC, x, y;
SELECT id FROM gaps ORDER BY a, b, id;
SELECT id FROM gaps ORDER BY a DESC, b, id;
SELECT id FROM gaps ORDER BY a, b DESC, id DESC;
SELECT id FROM gaps ORDER BY a IS NULL, a, b IS NULL, b, id;
SELECT id FROM gaps ORDER BY c, id;
SELECT id FROM gaps ORDER BY d, e, id;
SELECT id FROM gaps ORDER BY e DESC, d DESC, id;
SELECT id FROM gaps ORDER BY a + b, id;
SELECT id FROM gaps ORDER BY a <=> b, id;
SELECT id, i FROM mixed ORDER BY i, id;
SELECT id, u FROM mixed ORDER BY u, id;
SELECT id, u FROM mixed ORDER BY u DESC, id;
SELECT id, d FROM mixed ORDER BY d, id;
SELECT id, f FROM mixed ORDER BY f, id;
SELECT id, f FROM mixed ORDER BY f DESC, id;
SELECT id, s FROM mixed ORDER BY s, id;
SELECT id, b FROM mixed ORDER BY b, id;
SELECT id, b FROM mixed ORDER BY b DESC, id DESC;
SELECT id, dt FROM mixed ORDER BY dt, id;
SELECT id, ts FROM mixed ORDER BY ts DESC, id;
SELECT id, tm FROM mixed ORDER BY tm, id;
SELECT id, t FROM mixed ORDER BY t, id;
SELECT id, vb FROM mixed ORDER BY vb, id;
SELECT id, vb FROM mixed ORDER BY vb DESC, id;
SELECT id FROM mixed ORDER BY s + 0, id;
SELECT id FROM mixed ORDER BY CONCAT(i, ''), id;
SELECT id FROM mixed ORDER BY CAST(d AS CHAR), id;
SELECT id FROM mixed ORDER BY i * d, id;
SELECT year, quarter, region FROM sales ORDER BY year DESC, quarter, region;
SELECT year, quarter, region FROM sales ORDER BY amount DESC, year, quarter, region;
SELECT * FROM nothing ORDER BY id;
SELECT * FROM nothing ORDER BY a DESC LIMIT 1;
SELECT 1 ORDER BY 1;
SELECT 1 AS a ORDER BY a DESC LIMIT 1;

-- LIMIT.
SELECT id FROM customers ORDER BY id LIMIT 0;
SELECT id FROM customers ORDER BY id LIMIT 1;
SELECT id FROM customers ORDER BY id LIMIT 8;
SELECT id FROM customers ORDER BY id LIMIT 100;
SELECT id FROM customers ORDER BY id LIMIT 18446744073709551615;
SELECT id FROM customers ORDER BY id LIMIT 3, 2;
SELECT id FROM customers ORDER BY id LIMIT 2 OFFSET 3;
SELECT id FROM customers ORDER BY id LIMIT 0, 2;
SELECT id FROM customers ORDER BY id LIMIT 7, 5;
SELECT id FROM customers ORDER BY id LIMIT 8, 5;
SELECT id FROM customers ORDER BY id LIMIT 100 OFFSET 100;
SELECT id FROM customers ORDER BY id LIMIT 3 OFFSET 0;
SELECT id FROM customers ORDER BY id LIMIT 5, 18446744073709551615;
SELECT id FROM customers ORDER BY id DESC LIMIT 3;
SELECT id FROM customers ORDER BY id DESC LIMIT 3 OFFSET 6;
SELECT id FROM customers WHERE id > 3 ORDER BY id LIMIT 2;
SELECT id FROM customers WHERE city = 'bergen' ORDER BY id DESC LIMIT 1;
SELECT id FROM customers ORDER BY credit DESC, id LIMIT 3;
SELECT id FROM customers ORDER BY credit, id LIMIT 2, 3;
SELECT id FROM customers LIMIT 0;
SELECT 1 LIMIT 0;
SELECT 1 LIMIT 1 OFFSET 1;
SELECT n FROM numbers ORDER BY n LIMIT 4, 3;
SELECT n FROM numbers ORDER BY n % 4 DESC, n LIMIT 5;
SELECT n FROM numbers WHERE n <> 5 ORDER BY ABS(n - 5), n LIMIT 3;
SELECT x, y FROM pairs ORDER BY y DESC, x LIMIT 2 OFFSET 1;
SELECT x, y FROM pairs WHERE x = 1 ORDER BY y DESC LIMIT 1;

-- Groups and aggregates.
SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY COUNT(*), status;
SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY 2 DESC, 1;
SELECT status FROM orders GROUP BY status ORDER BY SUM(total), status;
SELECT status FROM orders GROUP BY status ORDER BY MAX(placed) DESC, status LIMIT 3;
SELECT status, SUM(total) / COUNT(*) AS mean FROM orders GROUP BY status ORDER BY mean DESC;
SELECT customer_id FROM orders GROUP BY customer_id ORDER BY COUNT(*) DESC, customer_id;
SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id ORDER BY n DESC, customer_id DESC LIMIT 2;
SELECT YEAR(placed) AS y FROM orders GROUP BY y ORDER BY y DESC;
SELECT YEAR(placed) FROM orders GROUP BY YEAR(placed) ORDER BY YEAR(placed);
SELECT COUNT(*) FROM orders ORDER BY MAX(total);
SELECT MAX(id) AS m FROM customers ORDER BY m;
SELECT region FROM sales GROUP BY region ORDER BY AVG(amount) DESC;
SELECT year, region FROM sales GROUP BY year, region ORDER BY SUM(amount) IS NULL, SUM(amount), year, region;

-- Joins, subqueries, derived tables.
SELECT c.id, o.id FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.total, o.id;
SELECT c.name, o.id FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY name DESC, total DESC, o.id;
SELECT c.id, o.id AS k FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY k, c.id;
SELECT c.id, o.id AS k FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY k DESC, c.id LIMIT 12, 10;
SELECT * FROM (SELECT id FROM customers ORDER BY id DESC LIMIT 3) d ORDER BY id;
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders) ORDER BY id DESC;
SELECT id FROM customers c ORDER BY (SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id) DESC, id;
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c ORDER BY n, id;
(SELECT id FROM customers) ORDER BY id LIMIT 2;
(SELECT id FROM customers ORDER BY id LIMIT 5) ORDER BY id DESC LIMIT 2;
(SELECT id FROM customers ORDER BY id LIMIT 5) LIMIT 2;
SELECT id FROM customers ORDER BY (SELECT 1), id;

-- Errors.
-- error 1054
SELECT id FROM customers ORDER BY absent;
-- error 1054
SELECT id FROM customers ORDER BY 2;
-- error 1054
SELECT id FROM customers ORDER BY 0;
-- error 1054
SELECT id FROM customers ORDER BY orders.id;
-- error 1052
SELECT id AS k, name AS k FROM customers ORDER BY k;
SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.customer_id, id;
-- error 1055, reference 0
SELECT status FROM orders GROUP BY status ORDER BY id;
-- error 1140
SELECT id FROM orders ORDER BY COUNT(*);
-- error 1242
SELECT id FROM customers ORDER BY (SELECT n FROM numbers);
-- error 1064
SELECT id FROM customers ORDER BY;
-- error 1064
SELECT id FROM customers LIMIT;
-- error 1064
SELECT id FROM customers LIMIT -1;
-- error 1064
SELECT id FROM customers LIMIT 1.5;
-- error 1064
SELECT id FROM customers LIMIT 'a';
-- error 1064
SELECT id FROM customers LIMIT 1 + 1;
-- error 1064
SELECT id FROM customers LIMIT 2, 3 OFFSET 1;
-- error 1064
SELECT id FROM customers OFFSET 1;
-- error 1064
SELECT id FROM customers LIMIT 1 ORDER BY id;
-- error 1064
SELECT id FROM customers ORDER BY id ASC DESC;
-- error 1064
SELECT id FROM customers ORDER BY id WHERE id = 1;
-- error 1064
SELECT id FROM customers LIMIT (SELECT 1);
