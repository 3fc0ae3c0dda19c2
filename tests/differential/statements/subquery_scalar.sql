-- Scalar subqueries: in each clause, without a row, with NULL, nested; their types.

-- Select list.
SELECT (SELECT 1);
SELECT (SELECT 1) AS a, (SELECT 'x') AS b, (SELECT NULL) AS c;
SELECT (SELECT 1) + (SELECT 2) * 3;
SELECT -(SELECT 5), NOT (SELECT 0), (SELECT 3) % 2;
SELECT (SELECT (SELECT (SELECT 4)));
SELECT (SELECT MAX(id) FROM customers);
SELECT (SELECT COUNT(*) FROM customers) AS c, (SELECT COUNT(*) FROM orders) AS o;
SELECT (SELECT id FROM nothing);
SELECT (SELECT id FROM nothing) IS NULL, (SELECT id FROM nothing) + 1, IFNULL((SELECT id FROM nothing), 'none');
SELECT (SELECT COUNT(*) FROM nothing), (SELECT SUM(a) FROM nothing), (SELECT MAX(name) FROM nothing);
SELECT (SELECT name FROM customers WHERE id = 3);
SELECT (SELECT name FROM customers WHERE id = 3000);
SELECT (SELECT name FROM customers ORDER BY credit DESC LIMIT 1) AS richest;
SELECT (SELECT name FROM customers ORDER BY id LIMIT 1 OFFSET 2) AS third;
SELECT (SELECT name FROM customers LIMIT 0) AS none;
SELECT id, (SELECT 7) AS seven FROM customers;
SELECT id, (SELECT MAX(total) FROM orders) - total AS less FROM orders;
SELECT id, total / (SELECT SUM(n) FROM numbers) AS part FROM orders;
SELECT id, (SELECT MIN(n) FROM numbers WHERE n > 3) AS n FROM lone;
SELECT (SELECT 1 FROM DUAL), (SELECT 2 FROM DUAL WHERE FALSE);
SELECT (SELECT 1 WHERE 1 = 0) AS a;
SELECT *, (SELECT COUNT(*) FROM numbers) AS n FROM lone;
SELECT (SELECT DISTINCT status FROM orders WHERE customer_id = 7) AS status;
SELECT (SELECT dept FROM employees GROUP BY dept HAVING COUNT(*) = 4 LIMIT 1) IS NOT NULL;
SELECT (SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR '|') FROM categories) AS names;
SELECT (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY status) d);
SELECT (SELECT SUM(n) OVER () FROM numbers LIMIT 1) AS s;
SELECT (SELECT 5 UNION SELECT 5) AS five;
SELECT CONCAT((SELECT name FROM customers WHERE id = 1), ' ', (SELECT city FROM customers WHERE id = 1)) AS t;
SELECT UPPER((SELECT name FROM products WHERE id = 1)), LENGTH((SELECT name FROM products WHERE id = 1));
SELECT COALESCE((SELECT a FROM nothing), (SELECT a FROM lone), 3);
SELECT GREATEST((SELECT MAX(id) FROM customers), (SELECT MAX(id) FROM employees));
SELECT CAST((SELECT credit FROM customers WHERE id = 7) AS SIGNED);
SELECT (SELECT joined FROM customers WHERE id = 1) + INTERVAL 1 MONTH;
SELECT DATEDIFF((SELECT MAX(joined) FROM customers), (SELECT MIN(joined) FROM customers));
SELECT IF((SELECT COUNT(*) FROM nothing) = 0, 'empty', 'full');
SELECT CASE (SELECT a FROM lone) WHEN 10 THEN 'ten' ELSE 'other' END;
SELECT CASE WHEN (SELECT COUNT(*) FROM orders) > 10 THEN (SELECT MIN(id) FROM orders) ELSE (SELECT MAX(id) FROM orders) END AS id;
SELECT (SELECT 1) = 1, (SELECT 1) <=> NULL, (SELECT NULL) <=> NULL, (SELECT NULL) = NULL;
SELECT (SELECT 2) BETWEEN (SELECT 1) AND (SELECT 3), (SELECT 2) IN ((SELECT 1), (SELECT 2));
SELECT (SELECT 'Ada') LIKE (SELECT 'a%'), (SELECT 'b') < (SELECT 'B'), (SELECT 'b') = (SELECT 'B');

-- WHERE.
SELECT id FROM customers WHERE id = (SELECT 3);
SELECT id FROM customers WHERE id = (SELECT MAX(customer_id) FROM orders WHERE customer_id < 10);
SELECT id FROM customers WHERE credit = (SELECT MAX(credit) FROM customers);
SELECT id FROM customers WHERE credit > (SELECT AVG(credit) FROM customers);
SELECT id FROM customers WHERE credit > (SELECT MIN(total) FROM orders) AND credit < (SELECT MAX(total) FROM orders);
SELECT id FROM customers WHERE credit BETWEEN (SELECT 10) AND (SELECT 100);
SELECT id FROM customers WHERE city = (SELECT city FROM customers WHERE id = 1);
SELECT id FROM customers WHERE city = (SELECT city FROM customers WHERE id = 4);
SELECT id FROM customers WHERE city <=> (SELECT city FROM customers WHERE id = 4);
SELECT id FROM customers WHERE id > (SELECT id FROM nothing);
SELECT id FROM customers WHERE (SELECT id FROM nothing) IS NULL;
SELECT id FROM customers WHERE (SELECT COUNT(*) FROM nothing);
SELECT id FROM customers WHERE (SELECT TRUE);
SELECT id FROM customers WHERE NOT (SELECT NULL);
SELECT id FROM customers WHERE (SELECT 6) < id;
SELECT id FROM customers WHERE id = 1 + (SELECT 2);
SELECT id FROM customers WHERE id IN ((SELECT 1), (SELECT MAX(n) - 5 FROM numbers));
SELECT id FROM customers WHERE name LIKE CONCAT((SELECT 'a'), '%');
SELECT id FROM customers WHERE joined = (SELECT MAX(joined) FROM customers);
SELECT id FROM customers WHERE joined > (SELECT DATE(MIN(placed)) FROM orders);
SELECT id FROM orders WHERE placed = (SELECT placed FROM orders WHERE id = 110);
SELECT id FROM orders WHERE total = (SELECT total FROM orders WHERE id = 110) AND id <> 110;
SELECT id FROM orders WHERE customer_id = (SELECT id FROM customers WHERE name = 'Cleo') AND total IS NOT NULL;
SELECT id FROM orders WHERE customer_id = (SELECT id FROM customers WHERE city = 'Hamar') OR total = (SELECT MAX(total) FROM orders);
SELECT id FROM orders WHERE total < (SELECT AVG(total) FROM orders WHERE status = 'paid') AND status = (SELECT 'paid');
SELECT name FROM employees WHERE salary = (SELECT MAX(salary) FROM employees WHERE salary < (SELECT MAX(salary) FROM employees));
SELECT name FROM employees WHERE salary = (SELECT MAX(salary) FROM employees WHERE salary < (SELECT MAX(salary) FROM employees WHERE salary < (SELECT MAX(salary) FROM employees)));
SELECT name FROM employees WHERE hired < (SELECT hired FROM employees WHERE name = 'cid');
SELECT name FROM employees WHERE (SELECT MIN(id) FROM employees) = id;
SELECT x, y FROM pairs WHERE x = (SELECT MIN(x) FROM pairs) AND y = (SELECT MAX(y) FROM pairs WHERE x = 1);
SELECT id FROM gaps WHERE a = (SELECT MAX(a) FROM gaps) OR b = (SELECT MAX(b) FROM gaps);
SELECT id FROM gaps WHERE a <> (SELECT MIN(a) FROM gaps);

-- FROM: derived tables and conditions of joins.
SELECT c.id, o.id FROM customers c JOIN orders o ON o.customer_id = c.id AND o.total = (SELECT MAX(total) FROM orders WHERE total < 100);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total > (SELECT AVG(total) FROM orders);
SELECT c.id, o.id FROM customers c JOIN orders o ON o.id = (SELECT 100) + c.id;
SELECT d.m FROM (SELECT (SELECT MAX(n) FROM numbers) AS m) d;
SELECT d.id, d.m FROM (SELECT id, (SELECT MAX(total) FROM orders) AS m FROM customers) d WHERE d.id < (SELECT 3);

-- GROUP BY, HAVING, ORDER BY, aggregates.
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING COUNT(*) > (SELECT 2);
SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING n = (SELECT MAX(c) FROM (SELECT COUNT(*) AS c FROM orders GROUP BY status) d);
SELECT status, SUM(total) FROM orders GROUP BY status HAVING SUM(total) > (SELECT AVG(total) FROM orders) ORDER BY status;
SELECT customer_id FROM orders GROUP BY customer_id HAVING MAX(total) = (SELECT MAX(total) FROM orders);
SELECT status, SUM(total) / (SELECT SUM(total) FROM orders) AS part FROM orders GROUP BY status;
SELECT status, (SELECT COUNT(*) FROM customers) AS k, COUNT(*) FROM orders GROUP BY status;
SELECT COUNT(*), (SELECT MAX(n) FROM numbers) FROM orders;
SELECT SUM(total + (SELECT 1)) FROM orders;
SELECT SUM(total > (SELECT AVG(total) FROM orders)) AS above FROM orders;
SELECT MAX((SELECT 4)), COUNT((SELECT NULL)) FROM orders;
SELECT id > (SELECT AVG(id) FROM customers) AS upper_half, COUNT(*) FROM customers GROUP BY upper_half;
SELECT id FROM customers ORDER BY (SELECT 1), id;
SELECT id FROM customers ORDER BY id = (SELECT 5) DESC, id;
SELECT id FROM customers ORDER BY ABS(id - (SELECT AVG(n) FROM numbers)), id LIMIT 3;
SELECT DISTINCT (SELECT 1) FROM customers;
SELECT DISTINCT credit > (SELECT 50) FROM customers;
SELECT (SELECT 2) UNION SELECT (SELECT MAX(n) FROM numbers);
SELECT id, SUM(id) OVER (ORDER BY id) - (SELECT 1) AS s FROM customers;

-- Types.
SELECT (SELECT i FROM mixed WHERE id = 1), (SELECT u FROM mixed WHERE id = 4), (SELECT d FROM mixed WHERE id = 2), (SELECT f FROM mixed WHERE id = 2);
SELECT (SELECT s FROM mixed WHERE id = 4), (SELECT b FROM mixed WHERE id = 5), (SELECT vb FROM mixed WHERE id = 4);
SELECT (SELECT dt FROM mixed WHERE id = 1), (SELECT ts FROM mixed WHERE id = 1), (SELECT tm FROM mixed WHERE id = 2);
SELECT (SELECT i FROM mixed WHERE id = 3), (SELECT s FROM mixed WHERE id = 3), (SELECT dt FROM mixed WHERE id = 3);
SELECT (SELECT d FROM mixed WHERE id = 2) + 1, (SELECT f FROM mixed WHERE id = 2) + 1, (SELECT i FROM mixed WHERE id = 2) + 1;
SELECT (SELECT s FROM mixed WHERE id = 4) = 'ABC', (SELECT b FROM mixed WHERE id = 4) = 'ABC';
SELECT (SELECT SUM(i) FROM mixed WHERE id < 6), (SELECT AVG(d) FROM mixed WHERE id <> 4), (SELECT SUM(f) FROM mixed WHERE id <> 4);
SELECT id FROM mixed WHERE i = (SELECT s FROM mixed WHERE id = 7);
SELECT id FROM mixed WHERE d = (SELECT i FROM mixed WHERE id = 5);
SELECT id FROM mixed WHERE dt = (SELECT DATE(ts) FROM mixed WHERE id = 5);
SELECT id FROM mixed WHERE ts > (SELECT ts FROM mixed WHERE id = 6);
SELECT id FROM mixed WHERE tm < (SELECT tm FROM mixed WHERE id = 5);

-- Errors.
-- error 1242
SELECT (SELECT id FROM customers);
-- error 1242
SELECT (SELECT n FROM numbers WHERE n > 8);
-- error 1242
SELECT id FROM customers WHERE id = (SELECT id FROM orders);
-- error 1242
SELECT id FROM customers WHERE credit > (SELECT total FROM orders WHERE total > 10);
-- error 1242
SELECT id FROM customers ORDER BY (SELECT n FROM numbers), id;
-- error 1242
SELECT status FROM orders GROUP BY status HAVING COUNT(*) > (SELECT n FROM numbers);
-- error 1242
SELECT SUM(n + (SELECT id FROM customers)) FROM numbers;
-- error 1242
SELECT IF(TRUE, (SELECT id FROM customers), 1);
-- error 1241
SELECT (SELECT 1, 2);
-- error 1241
SELECT (SELECT * FROM customers);
-- error 1241
SELECT (SELECT * FROM lone);
-- error 1241, reference 4078
SELECT 1 + (SELECT 1, 2);
-- error 1241, reference 4078
SELECT id FROM customers WHERE id = (SELECT id, name FROM customers WHERE id = 1);
-- error 1241
SELECT id FROM customers WHERE (SELECT 1, 2);
-- error 1241
SELECT id FROM customers ORDER BY (SELECT 1, 2);
-- error 1241
SELECT CONCAT((SELECT 1, 2), 'x');
-- error 1054
SELECT (SELECT absent FROM customers WHERE id = 1);
-- error 1054
SELECT (SELECT id FROM customers WHERE absent = 1);
-- error 1054
SELECT (SELECT total FROM customers LIMIT 1);
-- error 1146
SELECT (SELECT id FROM absent);
-- error 1140
SELECT (SELECT name FROM customers HAVING COUNT(*) > 1);
-- error 1111
SELECT (SELECT id FROM customers WHERE MAX(id) = 1);
-- error 1064
SELECT (SELECT);
-- error 1064
SELECT SELECT 1;
-- error 1064
SELECT 1 + SELECT 1;
-- error 1064
SELECT (SELECT 1 FROM);
