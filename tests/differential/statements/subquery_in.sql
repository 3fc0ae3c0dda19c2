-- IN and NOT IN with subqueries: NULL on both sides, empty results, rows, joins and groups inside, in each clause.

SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders);
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders);
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL);
SELECT id FROM customers WHERE NOT id IN (SELECT customer_id FROM orders WHERE customer_id > 0);
SELECT id FROM customers WHERE NOT (id NOT IN (SELECT customer_id FROM orders));
SELECT id FROM customers WHERE (id IN (SELECT customer_id FROM orders)) IS NULL;
SELECT id FROM customers WHERE (id IN (SELECT customer_id FROM orders)) IS NOT TRUE;
SELECT id FROM customers WHERE (id NOT IN (SELECT customer_id FROM orders)) IS UNKNOWN;
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers);
SELECT id FROM orders WHERE customer_id NOT IN (SELECT id FROM customers);
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'oslo');
SELECT id FROM orders WHERE customer_id NOT IN (SELECT id FROM customers WHERE city = 'oslo');
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM nothing);
SELECT id FROM orders WHERE customer_id NOT IN (SELECT id FROM nothing);
SELECT id, customer_id IN (SELECT id FROM nothing), customer_id NOT IN (SELECT id FROM nothing) FROM orders;
SELECT id, customer_id IN (SELECT id FROM customers) AS known FROM orders;
SELECT id, customer_id NOT IN (SELECT id FROM customers) AS unknown_customer FROM orders;
SELECT id, id IN (SELECT customer_id FROM orders) AS t FROM customers;
SELECT id, id IN (SELECT customer_id FROM orders WHERE customer_id < 100) AS t FROM customers;
SELECT id, a IN (SELECT b FROM gaps) AS t, a NOT IN (SELECT b FROM gaps) AS f FROM gaps;
SELECT id, a IN (SELECT b FROM gaps WHERE b IS NOT NULL) AS t FROM gaps;
SELECT id, a IN (SELECT b FROM gaps WHERE b > 100) AS t FROM gaps;
SELECT id, a IN (SELECT NULL) AS t FROM gaps;
SELECT id, a IN (SELECT NULL FROM nothing) AS t FROM gaps;
SELECT id, c IN (SELECT c FROM gaps WHERE id = 2) AS t FROM gaps;
SELECT 1 IN (SELECT 1), 1 IN (SELECT 2), 1 IN (SELECT NULL), NULL IN (SELECT 1), NULL IN (SELECT NULL);
SELECT 1 NOT IN (SELECT 1), 1 NOT IN (SELECT 2), 1 NOT IN (SELECT NULL), NULL NOT IN (SELECT 1);
SELECT NULL IN (SELECT id FROM nothing), NULL NOT IN (SELECT id FROM nothing), 1 IN (SELECT id FROM nothing);
SELECT 1 IN (SELECT 1 UNION SELECT NULL), 2 IN (SELECT 1 UNION SELECT NULL), 2 NOT IN (SELECT 1 UNION SELECT NULL);
SELECT 'ADA' IN (SELECT name FROM customers), 'ZOE' IN (SELECT name FROM customers);
SELECT 'PAID' IN (SELECT status FROM orders), 'paid' IN (SELECT status FROM orders);
SELECT 3 IN (SELECT n FROM numbers), 30 IN (SELECT n FROM numbers), 3.0 IN (SELECT n FROM numbers), '3' IN (SELECT n FROM numbers);
SELECT 19.95 IN (SELECT price FROM products), 1 IN (SELECT price FROM products);

-- What the subquery may have.
SELECT id FROM customers WHERE id IN (SELECT DISTINCT customer_id FROM orders WHERE total > 50);
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id);
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 1);
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL GROUP BY customer_id HAVING COUNT(*) > 1);
SELECT id FROM customers WHERE id IN (SELECT COUNT(*) FROM orders GROUP BY status);
SELECT id FROM customers WHERE id IN (SELECT MAX(customer_id) FROM orders WHERE customer_id < 40);
SELECT id FROM customers WHERE id IN (SELECT MAX(id) FROM nothing);
SELECT id FROM customers WHERE id NOT IN (SELECT MAX(id) FROM nothing);
SELECT id FROM customers WHERE id IN (SELECT COUNT(*) + 1 FROM nothing);
SELECT id FROM customers WHERE id IN (SELECT o.customer_id FROM orders o JOIN items i ON i.order_id = o.id WHERE i.quantity > 5);
SELECT id FROM customers WHERE id IN (SELECT o.customer_id FROM orders o LEFT JOIN items i ON i.order_id = o.id WHERE i.line IS NULL);
SELECT id FROM customers WHERE id IN (SELECT o.customer_id FROM orders o, items i, products p WHERE i.order_id = o.id AND p.id = i.product_id AND p.name = 'lamp');
SELECT id FROM customers WHERE id IN (SELECT n FROM numbers WHERE n % 2 = 0);
SELECT id FROM customers WHERE id IN (SELECT n * 2 FROM numbers);
SELECT id FROM customers WHERE id * 2 IN (SELECT n FROM numbers);
SELECT id FROM customers WHERE id + 100 IN (SELECT id FROM orders WHERE status = 'paid');
SELECT id FROM customers WHERE id IN (SELECT 1 UNION SELECT 3 UNION SELECT NULL);
SELECT id FROM customers WHERE id IN (SELECT id FROM employees WHERE salary IS NULL UNION ALL SELECT id FROM products WHERE stock IS NULL);
SELECT id FROM customers WHERE id IN (SELECT id FROM (SELECT id FROM orders LIMIT 0) d);
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM (SELECT customer_id FROM orders ORDER BY total DESC, id LIMIT 3) d);
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders ORDER BY total);
SELECT id FROM customers WHERE id IN ((SELECT customer_id FROM orders WHERE id = 100));
SELECT id FROM customers WHERE id IN (SELECT 2);
SELECT id FROM customers WHERE id IN (SELECT id FROM customers);
SELECT id FROM customers WHERE id IN (SELECT referrer_id FROM customers);
SELECT id FROM customers WHERE id NOT IN (SELECT referrer_id FROM customers WHERE referrer_id IS NOT NULL);
SELECT id FROM customers WHERE referrer_id IN (SELECT id FROM customers WHERE city = 'Oslo');
SELECT id FROM customers WHERE city IN (SELECT city FROM customers WHERE id IN (1, 2));
SELECT id FROM customers WHERE city NOT IN (SELECT city FROM customers WHERE id IN (1, 2));
SELECT id FROM customers WHERE credit IN (SELECT total FROM orders);
SELECT id FROM customers WHERE joined IN (SELECT DATE(placed) FROM orders);
SELECT id FROM customers WHERE name IN (SELECT name FROM employees);
SELECT name FROM employees WHERE id IN (SELECT manager_id FROM employees);
SELECT name FROM employees WHERE id NOT IN (SELECT manager_id FROM employees WHERE manager_id IS NOT NULL);
SELECT name FROM employees WHERE manager_id IN (SELECT id FROM employees WHERE dept = 'sales') AND salary IN (SELECT salary FROM employees WHERE dept = 'sales');
SELECT name FROM employees WHERE salary NOT IN (SELECT salary FROM employees WHERE dept = 'tech');
SELECT name FROM products WHERE category_id NOT IN (SELECT id FROM categories);
SELECT name FROM products WHERE id NOT IN (SELECT product_id FROM items);
SELECT name FROM categories WHERE id NOT IN (SELECT category_id FROM products);
SELECT name FROM categories WHERE id NOT IN (SELECT category_id FROM products WHERE category_id IS NOT NULL) AND id NOT IN (SELECT parent_id FROM categories WHERE parent_id IS NOT NULL);

-- Nested.
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE id IN (SELECT order_id FROM items WHERE product_id IN (SELECT id FROM products WHERE price < 10)));
SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL AND id NOT IN (SELECT order_id FROM items));
SELECT name FROM products WHERE id IN (SELECT product_id FROM items WHERE order_id IN (SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'Oslo')));
SELECT name FROM products WHERE category_id IN (SELECT id FROM categories WHERE parent_id IN (SELECT id FROM categories WHERE parent_id IN (SELECT id FROM categories WHERE parent_id IS NULL)));
SELECT id FROM orders WHERE id IN (SELECT order_id FROM items) AND id NOT IN (SELECT order_id FROM items WHERE quantity < 2);
SELECT id FROM orders WHERE id IN (SELECT order_id FROM items WHERE line = 2) OR customer_id IN (SELECT id FROM customers WHERE credit < 0);
SELECT id FROM orders WHERE (id IN (SELECT order_id FROM items WHERE line = 2)) = (customer_id IN (SELECT id FROM customers));
SELECT id FROM orders WHERE id IN (SELECT order_id FROM items WHERE discount IS NULL) XOR status IN (SELECT 'paid');

-- Rows.
SELECT x, y FROM pairs WHERE (x, y) IN (SELECT src, dst FROM edges);
SELECT x, y FROM pairs WHERE (x, y) NOT IN (SELECT src, dst FROM edges);
SELECT x, y FROM pairs WHERE (y, x) IN (SELECT src, dst FROM edges);
SELECT x, y FROM pairs WHERE (x, w) IN (SELECT x, MAX(w) FROM pairs GROUP BY x);
SELECT x, y FROM pairs WHERE (x, y, v) IN (SELECT x, y, v FROM pairs);
SELECT x, y FROM pairs WHERE (x, y, v) NOT IN (SELECT x, y, v FROM pairs WHERE x > 1);
SELECT id, (a, b) IN (SELECT a, b FROM gaps) AS t FROM gaps;
SELECT id, (a, b) IN (SELECT 1, 1) AS t FROM gaps;
SELECT id, (a, b) NOT IN (SELECT 1, 1) AS t FROM gaps;
SELECT id, (a, b) IN (SELECT 1, NULL) AS t FROM gaps;
SELECT id, (a, b) IN (SELECT a, b FROM gaps WHERE id > 100) AS t FROM gaps;
SELECT id FROM gaps WHERE (a, b) IN (SELECT b, a FROM gaps);
SELECT id FROM gaps WHERE (a, c) IN (SELECT a, c FROM gaps WHERE id IN (2, 6));
SELECT id FROM orders WHERE (customer_id, total) IN (SELECT customer_id, MAX(total) FROM orders GROUP BY customer_id);
SELECT id FROM orders WHERE (status, placed) IN (SELECT status, MAX(placed) FROM orders GROUP BY status);
SELECT order_id, line FROM items WHERE (product_id, price) IN (SELECT id, price FROM products);
SELECT order_id, line FROM items WHERE (product_id, price) NOT IN (SELECT id, price FROM products);
SELECT name FROM employees WHERE (dept, salary) IN (SELECT dept, MIN(salary) FROM employees GROUP BY dept);
SELECT (1, 2) IN (SELECT 1, 2), (1, 2) IN (SELECT 2, 1), (1, NULL) IN (SELECT 1, 2), (2, NULL) IN (SELECT 1, 2);
SELECT (1, 2) IN (SELECT x, y FROM pairs), (9, NULL) IN (SELECT x, y FROM pairs), (1, NULL) IN (SELECT x, y FROM pairs);
SELECT (1, 2) NOT IN (SELECT id, a FROM nothing), (NULL, NULL) IN (SELECT id, a FROM nothing);

-- Other clauses.
SELECT status, COUNT(*) FROM orders GROUP BY status HAVING status IN (SELECT 'paid' UNION SELECT 'sent');
SELECT customer_id, COUNT(*) AS c FROM orders GROUP BY customer_id HAVING c IN (SELECT n FROM numbers WHERE n > 1);
SELECT customer_id, SUM(total) FROM orders GROUP BY customer_id HAVING customer_id NOT IN (SELECT id FROM customers);
SELECT id IN (SELECT customer_id FROM orders WHERE customer_id < 10) AS buyer, COUNT(*) FROM customers GROUP BY buyer;
SELECT COUNT(*), SUM(id IN (SELECT order_id FROM items)) FROM orders;
SELECT id FROM customers ORDER BY id IN (SELECT referrer_id FROM customers WHERE referrer_id > 0) DESC, id;
SELECT CASE WHEN id IN (SELECT referrer_id FROM customers) THEN 'yes' ELSE 'no' END AS r, id FROM customers;
SELECT IF(id IN (SELECT order_id FROM items), total, 0) AS t FROM orders ORDER BY id;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.id IN (SELECT order_id FROM items);
SELECT c.id, o.id FROM customers c JOIN orders o ON o.customer_id = c.id AND c.id NOT IN (SELECT n FROM numbers WHERE n < 3);
SELECT DISTINCT customer_id IN (SELECT id FROM customers) FROM orders;
SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id IN (SELECT order_id FROM items WHERE quantity = 1) AND c.id IN (SELECT 3 UNION SELECT 1);
SELECT COUNT(*) FROM orders o JOIN items i ON i.order_id = o.id WHERE i.product_id IN (SELECT id FROM products WHERE stock > 5);

-- Types of both sides.
SELECT id FROM mixed WHERE i IN (SELECT n FROM numbers);
SELECT id FROM mixed WHERE d IN (SELECT n FROM numbers);
SELECT id FROM mixed WHERE f IN (SELECT n FROM numbers);
SELECT id FROM mixed WHERE u IN (SELECT i FROM mixed);
SELECT id FROM mixed WHERE d IN (SELECT f FROM mixed);
SELECT id FROM mixed WHERE s IN (SELECT 'ABC');
SELECT id FROM mixed WHERE b IN (SELECT 'ABC');
SELECT id FROM mixed WHERE dt IN (SELECT DATE(ts) FROM mixed WHERE id = 2);
SELECT id FROM mixed WHERE ts IN (SELECT ts FROM mixed WHERE id IN (1, 6));
SELECT id FROM mixed WHERE tm NOT IN (SELECT tm FROM mixed WHERE id IN (1, 6));
SELECT id FROM mixed WHERE vb IN (SELECT vb FROM mixed WHERE id > 5);
SELECT id FROM mixed WHERE t IN (SELECT 'LONG TEXT');

-- Errors.
-- error 1241
SELECT id FROM customers WHERE id IN (SELECT id, name FROM customers);
-- error 1241
SELECT id FROM customers WHERE (id, name) IN (SELECT id FROM customers);
-- error 1241
SELECT id FROM customers WHERE id IN (SELECT * FROM orders);
-- error 1241
SELECT 1 IN (SELECT 1, 2);
-- error 1241
SELECT (1, 2) IN (SELECT 1, 2, 3);
-- error 1241
SELECT id FROM customers WHERE (id, name) NOT IN (SELECT id, name, city FROM customers);
-- error 1235
SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders LIMIT 2);
-- error 1235
SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders ORDER BY id LIMIT 1);
-- error 1054
SELECT id FROM customers WHERE id IN (SELECT absent FROM orders);
-- error 1054
SELECT id FROM customers WHERE absent IN (SELECT id FROM orders);
-- error 1054
SELECT id FROM customers WHERE id IN (SELECT orders.name FROM orders);
-- error 1146
SELECT id FROM customers WHERE id IN (SELECT id FROM absent);
-- error 1111
SELECT id FROM customers WHERE id IN (SELECT id FROM orders WHERE SUM(id) > 1);
-- error 1064
SELECT id FROM customers WHERE id IN SELECT 1;
-- error 1064
SELECT id FROM customers WHERE id IN ();
