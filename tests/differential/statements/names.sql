-- Names: which table a column belongs to, aliases, qualified names, case, quotes; errors for what is unknown or ambiguous.

-- Qualified names and aliases.
SELECT customers.id FROM customers ORDER BY customers.id;
SELECT c.id FROM customers AS c ORDER BY c.id;
SELECT c.id FROM customers c WHERE c.city = 'Oslo' ORDER BY c.id;
SELECT `c`.`id` FROM `customers` AS `c` ORDER BY `c`.`id`;
SELECT c . id FROM customers c ORDER BY c . id LIMIT 1;
SELECT C.id FROM customers C ORDER BY id LIMIT 1;
SELECT c.ID, c.Name FROM customers c ORDER BY c.iD LIMIT 1;
SELECT id AS `a b`, name AS `select` FROM customers ORDER BY `a b` LIMIT 1;
SELECT id AS 'quoted' FROM customers ORDER BY quoted LIMIT 1;
SELECT id quoted FROM customers ORDER BY quoted LIMIT 1;
SELECT id "double" FROM customers ORDER BY id LIMIT 1;
SELECT 1 AS `1`, 2 AS `a``b`, 3 AS `ä`, 4 AS `x.y`;
SELECT `x.y`, `a``b` FROM (SELECT 1 AS `x.y`, 2 AS `a``b`) d;
SELECT t.`order` FROM (SELECT 1 AS `order`) t;
SELECT id AS id FROM customers ORDER BY id LIMIT 2;
SELECT id AS name, name AS id FROM customers ORDER BY customers.id LIMIT 2;
SELECT id, id FROM customers ORDER BY customers.id LIMIT 2;
SELECT id AS a, name AS a FROM customers WHERE id = 1;
SELECT *, customers.* FROM customers WHERE id = 1;
SELECT lone.*, c.* FROM lone, customers c WHERE c.id = 2;
SELECT c.*, 1 AS one, lone.* FROM lone, customers c WHERE c.id = 2;
SELECT (id) FROM customers ORDER BY (id) LIMIT 1;
SELECT ((id)), (id + 1), id+1, id  +  1 FROM customers WHERE id = 1;
SELECT id + 1 AS id FROM customers WHERE id = 1;
SELECT COUNT(*), count(*), Count( * ) FROM lone;
SELECT 'text', "double", 1.50, 1e3, -1, NULL, TRUE, FALSE;
SELECT concat('a', 'b'), UPPER('c'), 1 = 1, NOT 1, 1 IN (1, 2), 2 BETWEEN 1 AND 3, 'a' LIKE 'b';
SELECT CASE WHEN 1 THEN 2 END, CAST(1 AS CHAR), 5 DIV 2, 5 % 2, 5 MOD 2;
SELECT (SELECT 1), EXISTS (SELECT 1), (1, 2) = (1, 2);
SELECT a.id FROM lone a, customers b WHERE a.id = b.id;
SELECT orders.id, items.line FROM orders, items WHERE orders.id = items.order_id AND quantity > 5;
SELECT total, quantity, stock FROM orders, items, products WHERE orders.id = order_id AND products.id = product_id AND line = 2;
SELECT placed FROM customers, orders WHERE customer_id = customers.id AND city = 'Oslo';
SELECT customer_id, COUNT(*) FROM customers JOIN orders ON customer_id = customers.id WHERE credit > 0 GROUP BY customer_id ORDER BY customer_id;
SELECT n FROM numbers numbers WHERE numbers.n = 1;
SELECT customers.n FROM numbers customers WHERE n = 2;
SELECT a.n FROM numbers a WHERE a.n IN (SELECT a.id FROM lone a);
SELECT a.n FROM numbers a WHERE a.n = (SELECT MAX(n) FROM numbers a);

-- An alias of the select list: known to GROUP BY, HAVING and ORDER BY, unknown to WHERE, ON and the list itself.
SELECT id * 2 AS d FROM customers ORDER BY d DESC LIMIT 2;
SELECT id % 2 AS odd, COUNT(*) FROM customers GROUP BY odd;
SELECT id % 2 AS odd, COUNT(*) AS n FROM customers GROUP BY odd HAVING n > 3 AND odd = 1;
SELECT id % 2 AS city, COUNT(*) FROM products GROUP BY city;
SELECT -id AS id FROM customers GROUP BY customers.id ORDER BY 1;
SELECT MAX(id) AS id FROM customers ORDER BY id;
SELECT name AS n, (SELECT COUNT(*) FROM orders WHERE customer_id = customers.id) AS k FROM customers ORDER BY k DESC, n DESC LIMIT 2;
-- error 1054
SELECT id * 2 AS d FROM customers WHERE d > 2;
-- error 1054
SELECT id * 2 AS d, d + 1 FROM customers;
-- error 1054
SELECT o.id AS k FROM customers c JOIN orders o ON k = c.id;
-- error 1054
SELECT COUNT(*) AS n FROM orders WHERE n > 1 GROUP BY status;
-- error 1054
SELECT 1 AS a WHERE a = 1;
-- error 1054
SELECT 1 AS a, a AS b;

-- Unknown columns.
-- error 1054
SELECT absent;
-- error 1054
SELECT absent FROM customers;
-- error 1054
SELECT id, absent FROM customers;
-- error 1054
SELECT customers.absent FROM customers;
-- error 1054
SELECT c.absent FROM customers c;
-- error 1054
SELECT id FROM customers WHERE absent = 1;
-- error 1054
SELECT id FROM customers WHERE customers.absent = 1;
-- error 1054
SELECT id FROM customers WHERE id = 1 OR absent IS NULL;
-- error 1054
SELECT id FROM customers GROUP BY absent;
-- error 1054
SELECT id FROM customers GROUP BY id HAVING absent = 1;
-- error 1054
SELECT id FROM customers ORDER BY absent;
-- error 1054
SELECT id FROM customers ORDER BY customers.absent;
-- error 1054
SELECT id FROM customers ORDER BY c.id;
-- error 1054
SELECT COUNT(absent) FROM customers;
-- error 1054
SELECT UPPER(absent) FROM customers;
-- error 1054
SELECT CASE WHEN absent THEN 1 END FROM customers;
-- error 1054
SELECT id FROM customers WHERE UPPER(absent) = 'X';
-- error 1054
SELECT id FROM customers WHERE id IN (1, absent);
-- error 1054
SELECT id FROM customers WHERE id BETWEEN 1 AND absent;
-- error 1054
SELECT id FROM customers WHERE absent LIKE 'a';
-- error 1054
SELECT SUM(id) OVER (PARTITION BY absent) FROM customers;
-- error 1054
SELECT total FROM customers;
-- error 1054
SELECT customers.total FROM customers JOIN orders ON customer_id = customers.id;
-- error 1054
SELECT customers.id FROM customers c;
-- error 1054
SELECT c.id FROM customers;
-- error 1054
SELECT orders.id FROM customers;
-- error 1054
SELECT absent.customers.id FROM customers;
-- error 1054
SELECT customers.id FROM customers, lone WHERE lone.absent = 1 AND customers.id = 1;
-- error 1054
SELECT (SELECT absent) FROM customers;
-- error 1054
SELECT n FROM (SELECT id FROM customers) d;
-- error 1054
SELECT `id ` FROM customers;
-- error 1054
SELECT `customers.id` FROM customers;
-- error 1054
SELECT * FROM customers WHERE id = abc;
-- error 1054
UPDATE customers SET absent = 1;
-- error 1054
UPDATE customers SET id = absent;
-- error 1054
UPDATE customers SET id = 1 WHERE absent = 1;
-- error 1054
UPDATE customers SET id = 1 ORDER BY absent LIMIT 1;
-- error 1054
DELETE FROM customers WHERE absent = 1;
-- error 1054
DELETE FROM customers WHERE orders.id = 1;
-- error 1054
INSERT INTO customers (absent) VALUES (1);
-- error 1054
INSERT INTO lone (id) VALUES (absent);
-- error 1054
INSERT INTO lone (id) VALUES (5) ON DUPLICATE KEY UPDATE absent = 1;
-- error 1054
INSERT INTO lone (id) VALUES (1) ON DUPLICATE KEY UPDATE a = absent;

-- Unknown tables and databases.
-- error 1146
SELECT * FROM absent;
-- error 1146
SELECT 1 FROM absent;
-- error 1146
SELECT absent.id FROM absent;
-- error 1146
SELECT * FROM customers, absent;
-- error 1146
SELECT * FROM customers JOIN absent ON TRUE;
-- error 1146
SELECT * FROM (SELECT * FROM absent) d;
-- error 1146
SELECT (SELECT 1 FROM absent);
-- error 1146
SELECT 1 FROM customers WHERE EXISTS (SELECT 1 FROM absent);
-- error 1146
SELECT 1 UNION SELECT 1 FROM absent;
-- error 1146
UPDATE absent SET id = 1;
-- error 1146
DELETE FROM absent;
-- error 1146
INSERT INTO absent VALUES (1);
-- error 1146
INSERT INTO lone SELECT * FROM absent;
-- error 1051
SELECT absent.* FROM customers;
-- error 1051
SELECT c.*, absent.* FROM customers c;
-- error 1051
SELECT customers.* FROM customers c;
-- error 1109
SELECT absent.id;
-- error 1096
SELECT *;
-- error 1064
SELECT 1, *;
-- error 1064
SELECT * , FROM customers;
-- error 1064
SELECT *, * FROM;

-- Ambiguous columns.
-- error 1052
SELECT id FROM customers, orders;
-- error 1052
SELECT id FROM customers JOIN orders ON customer_id = customers.id;
-- error 1052
SELECT ID FROM customers, orders;
-- error 1052
SELECT a.id FROM customers a, orders b WHERE id = 1;
-- error 1052
SELECT a.id AS k FROM customers a, orders b ORDER BY id;
-- error 1052
SELECT COUNT(id) FROM customers, orders;
-- error 1052
SELECT a.id FROM customers a JOIN orders b ON id = 1;
-- error 1052
SELECT UPPER(name) FROM customers, products;
-- error 1052
SELECT 1 FROM customers, products WHERE name LIKE 'a';
-- error 1052
SELECT n FROM numbers a, numbers b;
-- error 1052
SELECT SUM(n) FROM numbers a, numbers b;
-- error 1052
SELECT id FROM lone NATURAL JOIN lone b JOIN customers c ON TRUE;
-- error 1052
SELECT (SELECT id) FROM customers, orders;
-- error 1052
SELECT customers.id, name FROM customers, employees;
-- error 1052
SELECT x FROM pairs p JOIN pairs q ON p.x = q.x;
-- error 1052
UPDATE customers, orders SET id = 1;
-- error 1052
DELETE customers FROM customers, orders WHERE id = 1;

-- Aliases of tables that are not unique.
-- error 1066
SELECT 1 FROM customers, customers;
-- error 1066
SELECT 1 FROM customers a, orders a;
-- error 1066
SELECT 1 FROM customers a JOIN orders a ON TRUE;
-- error 1066
SELECT 1 FROM customers a LEFT JOIN (orders b JOIN items a ON TRUE) ON TRUE;
-- error 1066
SELECT 1 FROM customers orders, orders;
-- error 1066
SELECT 1 FROM (SELECT 1) a, (SELECT 2) a;
-- error 1066
UPDATE customers a, orders a SET a.id = 1;
-- error 1066
DELETE a FROM customers a, orders a;

-- Words.
-- error 1064
SELECT id FROM customers AS;
-- error 1064
SELECT id AS FROM customers;
-- error 1064
SELECT select FROM customers;
-- error 1064
SELECT id FROM order;
-- error 1064
SELECT id FROM customers c d;
-- error 1064
SELECT id a b FROM customers;
-- error 1064
SELECT id FROM customers.;
-- error 1064
SELECT .id FROM customers c WHERE;
-- error 1064
SELECT c..id FROM customers c;
-- error 1064
SELECT id FROM `customers;
-- error 1064
FROM customers SELECT id;
-- error 1064
SELEC id FROM customers;
-- error 1064
SELECT id FROM customers WHERE;
-- error 1064
SELECT id FROM customers WHERE id =;
-- error 1064
SELECT id FROM customers WHERE id 1;
-- error 1064
SELECT id FROM customers WHERE (id = 1;
-- error 1064
SELECT id FROM customers WHERE id = 1);
-- error 1064
SELECT id FROM customers GROUP id;
-- error 1064
SELECT id, FROM customers;
-- error 1064
SELECT id FROM customers, WHERE id = 1;
-- error 1064
SELECT id FROM WHERE id = 1;
-- error 1305
SELECT absent_function(1);
-- error 1305
SELECT id FROM customers WHERE absent_function(id) = 1;
-- error 1582
SELECT UPPER('a', 'b');
-- error 1582
SELECT ABS();
