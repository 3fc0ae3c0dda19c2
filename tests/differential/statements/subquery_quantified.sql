-- Quantified comparisons: ANY, SOME and ALL with each operator, over results that are empty, have NULL, or have one row.

-- Constants against a set, with NULL, and without a row.
SELECT 2 = ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 = ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 = ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 2 = ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 = ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 = ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5);
SELECT 2 = ANY (SELECT 3 UNION SELECT NULL), 4 = ANY (SELECT 3 UNION SELECT NULL), 6 = ANY (SELECT 3 UNION SELECT NULL), 2 = ALL (SELECT 3 UNION SELECT NULL), 4 = ALL (SELECT 3 UNION SELECT NULL), 6 = ALL (SELECT 3 UNION SELECT NULL);
SELECT 2 = ANY (SELECT 4), 4 = ANY (SELECT 4), 6 = ANY (SELECT 4), 2 = ALL (SELECT 4), 4 = ALL (SELECT 4), 6 = ALL (SELECT 4);
SELECT 2 = ANY (SELECT id FROM nothing), 4 = ANY (SELECT id FROM nothing), 6 = ANY (SELECT id FROM nothing), 2 = ALL (SELECT id FROM nothing), 4 = ALL (SELECT id FROM nothing), 6 = ALL (SELECT id FROM nothing);
SELECT NULL = ANY (SELECT 1), NULL = ALL (SELECT 1), NULL = SOME (SELECT id FROM nothing), NULL = ALL (SELECT id FROM nothing);
SELECT 2 <> ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 <> ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 <> ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 2 <> ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 <> ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 <> ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5);
SELECT 2 <> ANY (SELECT 3 UNION SELECT NULL), 4 <> ANY (SELECT 3 UNION SELECT NULL), 6 <> ANY (SELECT 3 UNION SELECT NULL), 2 <> ALL (SELECT 3 UNION SELECT NULL), 4 <> ALL (SELECT 3 UNION SELECT NULL), 6 <> ALL (SELECT 3 UNION SELECT NULL);
SELECT 2 <> ANY (SELECT 4), 4 <> ANY (SELECT 4), 6 <> ANY (SELECT 4), 2 <> ALL (SELECT 4), 4 <> ALL (SELECT 4), 6 <> ALL (SELECT 4);
SELECT 2 <> ANY (SELECT id FROM nothing), 4 <> ANY (SELECT id FROM nothing), 6 <> ANY (SELECT id FROM nothing), 2 <> ALL (SELECT id FROM nothing), 4 <> ALL (SELECT id FROM nothing), 6 <> ALL (SELECT id FROM nothing);
SELECT NULL <> ANY (SELECT 1), NULL <> ALL (SELECT 1), NULL <> SOME (SELECT id FROM nothing), NULL <> ALL (SELECT id FROM nothing);
SELECT 2 < ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 < ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 < ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 2 < ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 < ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 < ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5);
SELECT 2 < ANY (SELECT 3 UNION SELECT NULL), 4 < ANY (SELECT 3 UNION SELECT NULL), 6 < ANY (SELECT 3 UNION SELECT NULL), 2 < ALL (SELECT 3 UNION SELECT NULL), 4 < ALL (SELECT 3 UNION SELECT NULL), 6 < ALL (SELECT 3 UNION SELECT NULL);
SELECT 2 < ANY (SELECT 4), 4 < ANY (SELECT 4), 6 < ANY (SELECT 4), 2 < ALL (SELECT 4), 4 < ALL (SELECT 4), 6 < ALL (SELECT 4);
SELECT 2 < ANY (SELECT id FROM nothing), 4 < ANY (SELECT id FROM nothing), 6 < ANY (SELECT id FROM nothing), 2 < ALL (SELECT id FROM nothing), 4 < ALL (SELECT id FROM nothing), 6 < ALL (SELECT id FROM nothing);
SELECT NULL < ANY (SELECT 1), NULL < ALL (SELECT 1), NULL < SOME (SELECT id FROM nothing), NULL < ALL (SELECT id FROM nothing);
SELECT 2 <= ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 <= ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 <= ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 2 <= ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 <= ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 <= ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5);
SELECT 2 <= ANY (SELECT 3 UNION SELECT NULL), 4 <= ANY (SELECT 3 UNION SELECT NULL), 6 <= ANY (SELECT 3 UNION SELECT NULL), 2 <= ALL (SELECT 3 UNION SELECT NULL), 4 <= ALL (SELECT 3 UNION SELECT NULL), 6 <= ALL (SELECT 3 UNION SELECT NULL);
SELECT 2 <= ANY (SELECT 4), 4 <= ANY (SELECT 4), 6 <= ANY (SELECT 4), 2 <= ALL (SELECT 4), 4 <= ALL (SELECT 4), 6 <= ALL (SELECT 4);
SELECT 2 <= ANY (SELECT id FROM nothing), 4 <= ANY (SELECT id FROM nothing), 6 <= ANY (SELECT id FROM nothing), 2 <= ALL (SELECT id FROM nothing), 4 <= ALL (SELECT id FROM nothing), 6 <= ALL (SELECT id FROM nothing);
SELECT NULL <= ANY (SELECT 1), NULL <= ALL (SELECT 1), NULL <= SOME (SELECT id FROM nothing), NULL <= ALL (SELECT id FROM nothing);
SELECT 2 > ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 > ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 > ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 2 > ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 > ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 > ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5);
SELECT 2 > ANY (SELECT 3 UNION SELECT NULL), 4 > ANY (SELECT 3 UNION SELECT NULL), 6 > ANY (SELECT 3 UNION SELECT NULL), 2 > ALL (SELECT 3 UNION SELECT NULL), 4 > ALL (SELECT 3 UNION SELECT NULL), 6 > ALL (SELECT 3 UNION SELECT NULL);
SELECT 2 > ANY (SELECT 4), 4 > ANY (SELECT 4), 6 > ANY (SELECT 4), 2 > ALL (SELECT 4), 4 > ALL (SELECT 4), 6 > ALL (SELECT 4);
SELECT 2 > ANY (SELECT id FROM nothing), 4 > ANY (SELECT id FROM nothing), 6 > ANY (SELECT id FROM nothing), 2 > ALL (SELECT id FROM nothing), 4 > ALL (SELECT id FROM nothing), 6 > ALL (SELECT id FROM nothing);
SELECT NULL > ANY (SELECT 1), NULL > ALL (SELECT 1), NULL > SOME (SELECT id FROM nothing), NULL > ALL (SELECT id FROM nothing);
SELECT 2 >= ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 >= ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 >= ANY (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 2 >= ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 4 >= ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5), 6 >= ALL (SELECT n FROM numbers WHERE n BETWEEN 3 AND 5);
SELECT 2 >= ANY (SELECT 3 UNION SELECT NULL), 4 >= ANY (SELECT 3 UNION SELECT NULL), 6 >= ANY (SELECT 3 UNION SELECT NULL), 2 >= ALL (SELECT 3 UNION SELECT NULL), 4 >= ALL (SELECT 3 UNION SELECT NULL), 6 >= ALL (SELECT 3 UNION SELECT NULL);
SELECT 2 >= ANY (SELECT 4), 4 >= ANY (SELECT 4), 6 >= ANY (SELECT 4), 2 >= ALL (SELECT 4), 4 >= ALL (SELECT 4), 6 >= ALL (SELECT 4);
SELECT 2 >= ANY (SELECT id FROM nothing), 4 >= ANY (SELECT id FROM nothing), 6 >= ANY (SELECT id FROM nothing), 2 >= ALL (SELECT id FROM nothing), 4 >= ALL (SELECT id FROM nothing), 6 >= ALL (SELECT id FROM nothing);
SELECT NULL >= ANY (SELECT 1), NULL >= ALL (SELECT 1), NULL >= SOME (SELECT id FROM nothing), NULL >= ALL (SELECT id FROM nothing);

-- Columns of tables.
SELECT id FROM customers WHERE credit = ANY (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit = ALL (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit = SOME (SELECT total FROM orders);
SELECT id FROM customers WHERE credit = ALL (SELECT total FROM orders);
SELECT id FROM customers WHERE NOT credit = ALL (SELECT total FROM orders WHERE customer_id IN (1, 2));
SELECT id FROM customers WHERE credit = ALL (SELECT a FROM nothing) AND id < 5;
SELECT id, a = ANY (SELECT b FROM gaps) AS `any`, a = ALL (SELECT b FROM gaps WHERE b IS NOT NULL) AS `all` FROM gaps;
SELECT e.name FROM employees e WHERE e.salary = ALL (SELECT f.salary FROM employees f WHERE f.manager_id = e.id);
SELECT e.name FROM employees e WHERE e.salary = ANY (SELECT f.salary FROM employees f WHERE f.dept = e.dept AND f.id <> e.id);
SELECT name FROM products WHERE name = ANY (SELECT name FROM categories WHERE id > 6);
SELECT id FROM customers WHERE joined = ALL (SELECT hired FROM employees WHERE salary = 300);
SELECT id FROM customers WHERE credit <> ANY (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit <> ALL (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit <> SOME (SELECT total FROM orders);
SELECT id FROM customers WHERE credit <> ALL (SELECT total FROM orders);
SELECT id FROM customers WHERE NOT credit <> ALL (SELECT total FROM orders WHERE customer_id IN (1, 2));
SELECT id FROM customers WHERE credit <> ALL (SELECT a FROM nothing) AND id < 5;
SELECT id, a <> ANY (SELECT b FROM gaps) AS `any`, a <> ALL (SELECT b FROM gaps WHERE b IS NOT NULL) AS `all` FROM gaps;
SELECT e.name FROM employees e WHERE e.salary <> ALL (SELECT f.salary FROM employees f WHERE f.manager_id = e.id);
SELECT e.name FROM employees e WHERE e.salary <> ANY (SELECT f.salary FROM employees f WHERE f.dept = e.dept AND f.id <> e.id);
SELECT name FROM products WHERE name <> ANY (SELECT name FROM categories WHERE id > 6);
SELECT id FROM customers WHERE joined <> ALL (SELECT hired FROM employees WHERE salary = 300);
SELECT id FROM customers WHERE credit < ANY (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit < ALL (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit < SOME (SELECT total FROM orders);
SELECT id FROM customers WHERE credit < ALL (SELECT total FROM orders);
SELECT id FROM customers WHERE NOT credit < ALL (SELECT total FROM orders WHERE customer_id IN (1, 2));
SELECT id FROM customers WHERE credit < ALL (SELECT a FROM nothing) AND id < 5;
SELECT id, a < ANY (SELECT b FROM gaps) AS `any`, a < ALL (SELECT b FROM gaps WHERE b IS NOT NULL) AS `all` FROM gaps;
SELECT e.name FROM employees e WHERE e.salary < ALL (SELECT f.salary FROM employees f WHERE f.manager_id = e.id);
SELECT e.name FROM employees e WHERE e.salary < ANY (SELECT f.salary FROM employees f WHERE f.dept = e.dept AND f.id <> e.id);
SELECT name FROM products WHERE name < ANY (SELECT name FROM categories WHERE id > 6);
SELECT id FROM customers WHERE joined < ALL (SELECT hired FROM employees WHERE salary = 300);
SELECT id FROM customers WHERE credit <= ANY (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit <= ALL (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit <= SOME (SELECT total FROM orders);
SELECT id FROM customers WHERE credit <= ALL (SELECT total FROM orders);
SELECT id FROM customers WHERE NOT credit <= ALL (SELECT total FROM orders WHERE customer_id IN (1, 2));
SELECT id FROM customers WHERE credit <= ALL (SELECT a FROM nothing) AND id < 5;
SELECT id, a <= ANY (SELECT b FROM gaps) AS `any`, a <= ALL (SELECT b FROM gaps WHERE b IS NOT NULL) AS `all` FROM gaps;
SELECT e.name FROM employees e WHERE e.salary <= ALL (SELECT f.salary FROM employees f WHERE f.manager_id = e.id);
SELECT e.name FROM employees e WHERE e.salary <= ANY (SELECT f.salary FROM employees f WHERE f.dept = e.dept AND f.id <> e.id);
SELECT name FROM products WHERE name <= ANY (SELECT name FROM categories WHERE id > 6);
SELECT id FROM customers WHERE joined <= ALL (SELECT hired FROM employees WHERE salary = 300);
SELECT id FROM customers WHERE credit > ANY (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit > ALL (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit > SOME (SELECT total FROM orders);
SELECT id FROM customers WHERE credit > ALL (SELECT total FROM orders);
SELECT id FROM customers WHERE NOT credit > ALL (SELECT total FROM orders WHERE customer_id IN (1, 2));
SELECT id FROM customers WHERE credit > ALL (SELECT a FROM nothing) AND id < 5;
SELECT id, a > ANY (SELECT b FROM gaps) AS `any`, a > ALL (SELECT b FROM gaps WHERE b IS NOT NULL) AS `all` FROM gaps;
SELECT e.name FROM employees e WHERE e.salary > ALL (SELECT f.salary FROM employees f WHERE f.manager_id = e.id);
SELECT e.name FROM employees e WHERE e.salary > ANY (SELECT f.salary FROM employees f WHERE f.dept = e.dept AND f.id <> e.id);
SELECT name FROM products WHERE name > ANY (SELECT name FROM categories WHERE id > 6);
SELECT id FROM customers WHERE joined > ALL (SELECT hired FROM employees WHERE salary = 300);
SELECT id FROM customers WHERE credit >= ANY (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit >= ALL (SELECT total FROM orders WHERE customer_id = 1);
SELECT id FROM customers WHERE credit >= SOME (SELECT total FROM orders);
SELECT id FROM customers WHERE credit >= ALL (SELECT total FROM orders);
SELECT id FROM customers WHERE NOT credit >= ALL (SELECT total FROM orders WHERE customer_id IN (1, 2));
SELECT id FROM customers WHERE credit >= ALL (SELECT a FROM nothing) AND id < 5;
SELECT id, a >= ANY (SELECT b FROM gaps) AS `any`, a >= ALL (SELECT b FROM gaps WHERE b IS NOT NULL) AS `all` FROM gaps;
SELECT e.name FROM employees e WHERE e.salary >= ALL (SELECT f.salary FROM employees f WHERE f.manager_id = e.id);
SELECT e.name FROM employees e WHERE e.salary >= ANY (SELECT f.salary FROM employees f WHERE f.dept = e.dept AND f.id <> e.id);
SELECT name FROM products WHERE name >= ANY (SELECT name FROM categories WHERE id > 6);
SELECT id FROM customers WHERE joined >= ALL (SELECT hired FROM employees WHERE salary = 300);

-- What the subquery may have.
SELECT id FROM customers WHERE id = ANY (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 1);
SELECT id FROM customers WHERE id > ALL (SELECT COUNT(*) FROM orders GROUP BY status);
SELECT id FROM customers WHERE id >= ALL (SELECT id FROM customers);
SELECT id FROM customers WHERE id <= ALL (SELECT id FROM customers);
SELECT id FROM customers WHERE id > ALL (SELECT MAX(id) FROM nothing);
SELECT id FROM customers WHERE (id > ALL (SELECT MAX(id) FROM nothing)) IS NULL;
SELECT id FROM customers WHERE id = ANY (SELECT o.customer_id FROM orders o JOIN items i ON i.order_id = o.id);
SELECT id FROM customers WHERE id <> ALL (SELECT o.customer_id FROM orders o JOIN items i ON i.order_id = o.id WHERE o.customer_id IS NOT NULL);
SELECT id FROM customers WHERE id = SOME (SELECT 1 UNION SELECT 5);
SELECT id FROM customers WHERE id > ANY (SELECT 6 UNION ALL SELECT 7);
SELECT id FROM customers WHERE id < ALL (SELECT 6 UNION ALL SELECT 3);
SELECT id FROM customers WHERE id = ANY (SELECT d.n FROM (SELECT n FROM numbers ORDER BY n DESC LIMIT 4) d);
SELECT id FROM customers WHERE credit >= ALL (SELECT credit FROM customers WHERE credit IS NOT NULL);
SELECT id FROM customers WHERE credit > ALL (SELECT credit FROM customers WHERE credit < 0 OR credit IS NULL);
SELECT id FROM customers WHERE credit + 1 > ANY (SELECT total * 2 FROM orders);
SELECT id FROM customers c WHERE c.id = ANY (SELECT o.customer_id FROM orders o WHERE o.total > c.credit);
SELECT id FROM customers c WHERE c.credit > ALL (SELECT o.total FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE c.credit > ALL (SELECT o.total FROM orders o WHERE o.customer_id = c.id) AND EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM orders o WHERE o.total >= ALL (SELECT p.total FROM orders p WHERE p.status = o.status AND p.total IS NOT NULL);
SELECT id FROM orders o WHERE o.total > ANY (SELECT p.total FROM orders p WHERE p.status = o.status);
SELECT order_id, line FROM items i WHERE i.quantity >= ALL (SELECT j.quantity FROM items j WHERE j.product_id = i.product_id);
SELECT x, y FROM pairs p WHERE w >= ALL (SELECT q.w FROM pairs q WHERE q.x = p.x AND q.w IS NOT NULL);
SELECT x, y FROM pairs p WHERE v = ANY (SELECT q.v FROM pairs q WHERE q.x <> p.x);
SELECT id FROM customers WHERE id = ANY (SELECT n FROM numbers) AND id <> ALL (SELECT n FROM numbers WHERE n > 2);
SELECT id FROM customers WHERE id = ANY (SELECT customer_id FROM orders WHERE id = ANY (SELECT order_id FROM items WHERE quantity > ALL (SELECT 5)));

-- Rows: only = ANY and <> ALL take them.
SELECT x, y FROM pairs WHERE (x, y) = ANY (SELECT src, dst FROM edges);
SELECT x, y FROM pairs WHERE (x, y) <> ALL (SELECT src, dst FROM edges);
SELECT x, y FROM pairs WHERE (x, w) = ANY (SELECT x, MAX(w) FROM pairs GROUP BY x);
SELECT (1, 2) = ANY (SELECT 1, 2), (1, 2) <> ALL (SELECT 1, 2), (1, NULL) = ANY (SELECT 1, 2);

-- Other clauses.
SELECT status FROM orders GROUP BY status HAVING COUNT(*) >= ALL (SELECT COUNT(*) FROM orders GROUP BY status);
SELECT status FROM orders GROUP BY status HAVING SUM(total) > ANY (SELECT credit FROM customers WHERE credit > 100);
SELECT id, credit > ALL (SELECT total FROM orders WHERE status = 'sent') AS t FROM customers;
SELECT credit > ANY (SELECT total FROM orders WHERE status = 'open') AS t, COUNT(*) FROM customers GROUP BY t;
SELECT id FROM customers ORDER BY id = ANY (SELECT 3 UNION SELECT 4) DESC, id;
SELECT CASE WHEN id < ALL (SELECT 3 UNION SELECT 4) THEN 'low' ELSE 'high' END AS t, id FROM customers;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total >= ALL (SELECT total FROM orders WHERE total IS NOT NULL);
SELECT SUM(id > ANY (SELECT 2 UNION SELECT 4)) AS s FROM customers;

-- Errors.
-- error 1241
SELECT id FROM customers WHERE id = ANY (SELECT id, name FROM customers);
-- error 1241
SELECT id FROM customers WHERE id > ALL (SELECT * FROM orders);
-- error 1241
SELECT (1, 2) > ANY (SELECT 1, 2);
-- error 1241
SELECT (1, 2) = ANY (SELECT 1);
-- error 1235
SELECT id FROM customers WHERE id = ANY (SELECT customer_id FROM orders LIMIT 1);
-- error 1235
SELECT id FROM customers WHERE id > ALL (SELECT customer_id FROM orders ORDER BY 1 LIMIT 1);
-- error 1054
SELECT id FROM customers WHERE id > ALL (SELECT absent FROM orders);
-- error 1146
SELECT id FROM customers WHERE id > ALL (SELECT id FROM absent);
-- error 1064
SELECT id FROM customers WHERE id <=> ANY (SELECT 1);
-- error 1064
SELECT id FROM customers WHERE id > ALL (1, 2);
-- error 1064
SELECT id FROM customers WHERE ANY (SELECT 1) = id;
-- error 1064
SELECT id FROM customers WHERE id > ANY SELECT 1;
