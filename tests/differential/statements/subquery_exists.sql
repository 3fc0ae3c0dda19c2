-- EXISTS and NOT EXISTS: with and without correlation, nested (also for division), in each clause.

SELECT EXISTS (SELECT 1), NOT EXISTS (SELECT 1), EXISTS (SELECT NULL);
SELECT EXISTS (SELECT * FROM nothing), NOT EXISTS (SELECT * FROM nothing);
SELECT EXISTS (SELECT COUNT(*) FROM nothing), EXISTS (SELECT a FROM nothing GROUP BY a), EXISTS (SELECT MAX(a) FROM nothing HAVING MAX(a) > 0);
SELECT EXISTS (SELECT * FROM customers), EXISTS (SELECT 1, 2, 3 FROM customers), EXISTS (SELECT id FROM customers WHERE id > 100);
SELECT EXISTS (SELECT 1 FROM customers LIMIT 0), EXISTS (SELECT 1 FROM customers LIMIT 1), EXISTS (SELECT 1 FROM customers LIMIT 100, 1);
SELECT EXISTS (SELECT 1 UNION SELECT 2), EXISTS (SELECT 1 FROM nothing UNION SELECT 2), EXISTS (SELECT id FROM nothing UNION ALL SELECT a FROM nothing);
SELECT EXISTS (SELECT 1 EXCEPT SELECT 1), EXISTS (SELECT 1 INTERSECT SELECT 1);
SELECT EXISTS (SELECT 1) + 1, EXISTS (SELECT 1) = TRUE, IF(EXISTS (SELECT 1), 'y', 'n'), NOT NOT EXISTS (SELECT 1);
SELECT EXISTS (SELECT 1) AND EXISTS (SELECT 1 FROM nothing), EXISTS (SELECT 1) OR EXISTS (SELECT 1 FROM nothing);

-- Uncorrelated.
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM orders);
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM nothing);
SELECT id FROM customers WHERE NOT EXISTS (SELECT 1 FROM nothing);
SELECT id FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders WHERE total > 1000) AND id < 3;
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE total IS NULL) AND city IS NULL;
SELECT id FROM nothing WHERE EXISTS (SELECT 1);
SELECT COUNT(*) FROM customers WHERE EXISTS (SELECT 1 FROM orders GROUP BY status HAVING COUNT(*) > 3);
SELECT COUNT(*) FROM customers WHERE EXISTS (SELECT 1 FROM orders GROUP BY status HAVING COUNT(*) > 30);

-- Correlated.
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE orders.customer_id = customers.id);
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM orders WHERE customer_id = customers.id AND total > credit);
SELECT id FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid');
SELECT id FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid') AND NOT EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND o.status = 'open');
SELECT id FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid') OR c.city IS NULL;
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.total > c.credit);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id > c.id AND o.total = c.credit);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id OR o.customer_id = c.referrer_id);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id <=> c.referrer_id);
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id <=> c.referrer_id);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM customers d WHERE d.referrer_id = c.id);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM customers d WHERE d.city = c.city AND d.id <> c.id);
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM customers d WHERE d.credit > c.credit);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM customers d WHERE d.name = c.name AND d.id < c.id);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE YEAR(o.placed) = YEAR(c.joined));
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id GROUP BY o.customer_id HAVING COUNT(*) > 2);
SELECT id FROM customers c WHERE EXISTS (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE EXISTS (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id HAVING COUNT(*) > 0);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id LIMIT 1);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id LIMIT 1 OFFSET 2);
SELECT id FROM customers c WHERE EXISTS (SELECT DISTINCT o.status FROM orders o WHERE o.customer_id = c.id ORDER BY o.status);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id UNION ALL SELECT 1 FROM products p WHERE p.id = c.id AND p.stock IS NULL);
SELECT id FROM customers c WHERE EXISTS (SELECT c.id);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 WHERE c.id > 6);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM lone WHERE c.credit > lone.a);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM nothing WHERE c.id = nothing.id);
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM nothing WHERE c.id = nothing.id);
SELECT name FROM employees e WHERE EXISTS (SELECT 1 FROM employees f WHERE f.manager_id = e.id);
SELECT name FROM employees e WHERE NOT EXISTS (SELECT 1 FROM employees f WHERE f.id = e.manager_id);
SELECT name FROM employees e WHERE NOT EXISTS (SELECT 1 FROM employees f WHERE f.dept = e.dept AND f.salary > e.salary);
SELECT name FROM employees e WHERE EXISTS (SELECT 1 FROM employees f WHERE f.manager_id = e.id AND f.dept <> e.dept);
SELECT name FROM employees e WHERE EXISTS (SELECT 1 FROM employees f WHERE f.manager_id = e.id AND f.salary = (SELECT MAX(salary) FROM employees WHERE manager_id = e.id));
SELECT name FROM products p WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.product_id = p.id);
SELECT name FROM products p WHERE EXISTS (SELECT 1 FROM items i WHERE i.product_id = p.id AND i.price <> p.price);
SELECT name FROM products p WHERE NOT EXISTS (SELECT 1 FROM categories k WHERE k.id = p.category_id);
SELECT x, y FROM pairs p WHERE EXISTS (SELECT 1 FROM pairs q WHERE q.x = p.y AND q.y = p.x AND q.x <> q.y);
SELECT x, y FROM pairs p WHERE NOT EXISTS (SELECT 1 FROM pairs q WHERE q.x = p.y AND q.y = p.x);
SELECT src, dst FROM edges e WHERE EXISTS (SELECT 1 FROM edges f JOIN edges g ON g.src = f.dst WHERE f.src = e.dst AND g.dst = e.src);
SELECT id FROM gaps g WHERE EXISTS (SELECT 1 FROM gaps h WHERE h.a = g.b);
SELECT id FROM gaps g WHERE NOT EXISTS (SELECT 1 FROM gaps h WHERE h.a = g.b);
SELECT id FROM gaps g WHERE EXISTS (SELECT 1 FROM gaps h WHERE h.a <> g.a AND h.c = g.c);
SELECT id FROM gaps g WHERE NOT EXISTS (SELECT 1 FROM gaps h WHERE h.d < g.d);
SELECT id FROM gaps g WHERE EXISTS (SELECT 1 FROM gaps h WHERE (h.a, h.b) = (g.b, g.a));

-- Joins inside and outside.
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o JOIN items i ON i.order_id = o.id WHERE o.customer_id = c.id AND i.quantity > 2);
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o LEFT JOIN items i ON i.order_id = o.id WHERE o.customer_id = c.id AND i.line IS NULL);
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o JOIN items i ON i.order_id = o.id AND o.customer_id = c.id);
SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id WHERE o.customer_id = c.id AND p.price > 100);
SELECT c.id, o.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.quantity * 10 > c.credit);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.line = 2);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND NOT EXISTS (SELECT 1 FROM orders p WHERE p.customer_id = c.id AND p.placed > o.placed);
SELECT d.customer_id FROM (SELECT customer_id, SUM(total) AS s FROM orders GROUP BY customer_id) d WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = d.customer_id AND c.credit < d.s);

-- Two levels and more.
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.product_id = c.id));
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id));
SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id));
SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM products p WHERE p.id < 3 AND NOT EXISTS (SELECT 1 FROM orders o JOIN items i ON i.order_id = o.id WHERE o.customer_id = c.id AND i.product_id = p.id));
SELECT DISTINCT o.customer_id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM orders p WHERE p.customer_id = 7 AND NOT EXISTS (SELECT 1 FROM orders q WHERE q.customer_id = o.customer_id AND q.status = p.status));
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND EXISTS (SELECT 1 FROM products p WHERE p.id = i.product_id AND p.price > c.credit)));
SELECT e.name FROM employees e WHERE EXISTS (SELECT 1 FROM employees f WHERE f.manager_id = e.id AND EXISTS (SELECT 1 FROM employees g WHERE g.manager_id = f.id AND g.salary < e.salary / 2));
SELECT e.name FROM employees e WHERE EXISTS (SELECT 1 FROM employees f WHERE f.manager_id = e.id AND f.id IN (SELECT g.manager_id FROM employees g WHERE g.dept = e.dept));

-- Other clauses.
SELECT id, EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) AS buyer FROM customers c;
SELECT id, NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id) AS bare FROM orders o ORDER BY bare DESC, id;
SELECT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) AS buyer, COUNT(*) FROM customers c GROUP BY buyer;
SELECT SUM(EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)) AS buyers FROM customers c;
SELECT customer_id, COUNT(*) FROM orders o GROUP BY customer_id HAVING EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id);
SELECT customer_id FROM orders o GROUP BY customer_id HAVING EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id AND c.credit < SUM(o.total));
SELECT id FROM customers c ORDER BY EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id), id DESC;
SELECT CASE WHEN EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) THEN name ELSE UPPER(name) END AS n FROM customers c ORDER BY id;
SELECT DISTINCT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id) FROM orders o;
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) = (c.city IS NOT NULL);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) IS FALSE;

-- Errors.
-- error 1054
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = d.id);
-- error 1054
SELECT id FROM customers c WHERE EXISTS (SELECT absent FROM orders o);
-- error 1052
SELECT c.id FROM customers c JOIN products p ON TRUE WHERE EXISTS (SELECT 1 FROM items WHERE product_id = name);
-- error 1146
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM absent);
-- error 1111
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE COUNT(*) > 1);
-- error 1064
SELECT id FROM customers c WHERE EXISTS SELECT 1;
-- error 1064
SELECT EXISTS ();
-- error 1064
SELECT EXISTS (1);
