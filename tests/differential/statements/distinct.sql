-- SELECT DISTINCT: of each type, of expressions, with NULL, over joins and groups, with ORDER BY and LIMIT.

SELECT DISTINCT 1;
SELECT DISTINCT 1 FROM customers;
SELECT DISTINCT 1 FROM nothing;
SELECT DISTINCT NULL FROM customers;
SELECT DISTINCT id FROM customers;
SELECT DISTINCT city FROM customers WHERE city <> 'oslo';
SELECT DISTINCT UPPER(city) FROM customers;
SELECT DISTINCT city IS NULL FROM customers;
SELECT DISTINCT credit FROM customers;
SELECT DISTINCT joined FROM customers;
SELECT DISTINCT YEAR(joined) FROM customers;
SELECT DISTINCT referrer_id FROM customers;
SELECT DISTINCT referrer_id FROM customers WHERE referrer_id IS NOT NULL;
SELECT DISTINCT referrer_id, city FROM customers WHERE id > 3;
SELECT DISTINCT referrer_id IS NULL, city IS NULL FROM customers;
SELECT DISTINCT status FROM orders;
SELECT DISTINCT LOWER(status) FROM orders;
SELECT DISTINCT status = 'paid' FROM orders;
SELECT DISTINCT customer_id FROM orders;
SELECT DISTINCT customer_id, status FROM orders;
SELECT DISTINCT status, customer_id FROM orders ORDER BY status, customer_id;
SELECT DISTINCT placed FROM orders;
SELECT DISTINCT DATE(placed) AS d FROM orders ORDER BY d;
SELECT DISTINCT total FROM orders ORDER BY total;
SELECT DISTINCT total FROM orders ORDER BY total DESC LIMIT 3;
SELECT DISTINCT total FROM orders ORDER BY total IS NULL, total LIMIT 2 OFFSET 2;
SELECT DISTINCT total > 50 FROM orders;
SELECT DISTINCT total DIV 50 AS band FROM orders ORDER BY band;
SELECT DISTINCT customer_id FROM orders ORDER BY customer_id DESC;
SELECT DISTINCT customer_id FROM orders ORDER BY 1 LIMIT 4;
SELECT DISTINCT customer_id AS c FROM orders ORDER BY -c;
SELECT DISTINCT customer_id FROM orders LIMIT 0;
SELECT DISTINCT * FROM lone;
SELECT DISTINCT * FROM nothing;
SELECT DISTINCT * FROM pairs;
SELECT DISTINCT x FROM pairs;
SELECT DISTINCT x, w FROM pairs;
SELECT DISTINCT v IS NULL, w FROM pairs;
SELECT DISTINCT x > y, x < y FROM pairs;
SELECT DISTINCT x + y FROM pairs;
SELECT DISTINCT x + y AS s FROM pairs ORDER BY s DESC;
SELECT DISTINCT a FROM gaps;
SELECT DISTINCT b FROM gaps;
SELECT DISTINCT a, b FROM gaps;
SELECT DISTINCT a, b FROM gaps ORDER BY b, a;
SELECT DISTINCT a + b FROM gaps;
SELECT DISTINCT COALESCE(a, b) FROM gaps;
SELECT DISTINCT d FROM gaps;
SELECT DISTINCT e FROM gaps;
SELECT DISTINCT d, e FROM gaps;
SELECT DISTINCT a <=> b, a = b FROM gaps;
SELECT DISTINCT NULL, a IS NULL FROM gaps;
SELECT DISTINCT i FROM mixed;
SELECT DISTINCT u FROM mixed;
SELECT DISTINCT d FROM mixed;
SELECT DISTINCT f FROM mixed;
SELECT DISTINCT b FROM mixed WHERE id < 8;
SELECT DISTINCT dt FROM mixed;
SELECT DISTINCT ts FROM mixed;
SELECT DISTINCT tm FROM mixed;
SELECT DISTINCT vb FROM mixed;
SELECT DISTINCT LOWER(s) FROM mixed WHERE id < 8;
SELECT DISTINCT i * 0 FROM mixed;
SELECT DISTINCT d * 1.000 FROM mixed;
SELECT DISTINCT dt, i FROM mixed;
SELECT DISTINCT year FROM sales;
SELECT DISTINCT year, quarter FROM sales;
SELECT DISTINCT region, amount FROM sales WHERE year = 2020;
SELECT DISTINCT quarter > 2 AS late, region FROM sales;
SELECT DISTINCT discount FROM items;
SELECT DISTINCT discount IS NULL AS full_price, quantity FROM items;
SELECT DISTINCT CASE WHEN quantity > 5 THEN 'bulk' ELSE 'unit' END FROM items;
SELECT DISTINCT CONCAT(order_id, '') FROM items;
SELECT DISTINCT salary FROM employees;
SELECT DISTINCT hired FROM employees WHERE salary < 400;
SELECT DISTINCT salary, hired FROM employees;
SELECT DISTINCTROW salary FROM employees;
SELECT ALL salary FROM employees;

-- Joins.
SELECT DISTINCT c.id FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT DISTINCT c.id, o.status FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT DISTINCT o.status FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT DISTINCT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY c.id DESC;
SELECT DISTINCT o.customer_id, i.product_id FROM orders o JOIN items i ON i.order_id = o.id;
SELECT DISTINCT p.name FROM products p JOIN items i ON i.product_id = p.id JOIN orders o ON o.id = i.order_id WHERE o.status = 'paid' ORDER BY p.name;
SELECT DISTINCT a.n % 2, b.n % 2 FROM numbers a, numbers b;
SELECT DISTINCT a.n * b.n AS m FROM numbers a, numbers b WHERE a.n < 4 AND b.n < 4 ORDER BY m;
SELECT DISTINCT a.src FROM edges a JOIN edges b ON b.src = a.dst WHERE b.dst > 4;
SELECT DISTINCT c.id, x.a FROM customers c LEFT JOIN nothing x ON TRUE;

-- Groups, aggregates, windows.
SELECT DISTINCT COUNT(*) FROM orders GROUP BY status;
SELECT DISTINCT COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC;
SELECT DISTINCT status FROM orders GROUP BY status, customer_id;
SELECT DISTINCT SUM(total) > 100 FROM orders GROUP BY customer_id;
SELECT DISTINCT COUNT(*), MAX(total) FROM orders;
SELECT DISTINCT COUNT(*) FROM nothing;
SELECT DISTINCT MAX(total) FROM orders GROUP BY status HAVING COUNT(*) > 2;
SELECT DISTINCT year, COUNT(*) FROM sales GROUP BY year, quarter;
SELECT DISTINCT COUNT(*) OVER (PARTITION BY status) FROM orders;
SELECT DISTINCT status, SUM(total) OVER (PARTITION BY status) FROM orders;
SELECT DISTINCT customer_id, COUNT(*) OVER (PARTITION BY customer_id) AS n FROM orders ORDER BY n, customer_id;
SELECT COUNT(DISTINCT status), COUNT(*) FROM orders;
SELECT DISTINCT COUNT(DISTINCT status) FROM orders GROUP BY customer_id;

-- Subqueries, derived tables, set operations.
SELECT DISTINCT d.s FROM (SELECT status AS s FROM orders UNION ALL SELECT status FROM orders) d;
SELECT COUNT(*) FROM (SELECT DISTINCT status, customer_id FROM orders) d;
SELECT DISTINCT n FROM (SELECT DISTINCT n % 4 AS n FROM numbers) d ORDER BY n;
SELECT id FROM customers WHERE id IN (SELECT DISTINCT customer_id FROM orders);
SELECT (SELECT COUNT(DISTINCT status) FROM orders) AS n;
SELECT DISTINCT id FROM customers WHERE credit > (SELECT DISTINCT 50 FROM numbers);
SELECT DISTINCT status FROM orders UNION ALL SELECT DISTINCT status FROM orders;
SELECT DISTINCT (SELECT COUNT(*) FROM items i WHERE i.order_id = o.id) FROM orders o;
SELECT DISTINCT o.customer_id IN (SELECT id FROM customers) FROM orders o;

-- Errors.
-- error 1054
SELECT DISTINCT absent FROM customers;
-- error 1054
SELECT DISTINCT id FROM customers ORDER BY absent;
-- error 1055
SELECT DISTINCT city, id FROM customers GROUP BY city;
-- error 1064
SELECT id, DISTINCT city FROM customers;
-- error 1221
SELECT ALL DISTINCT city FROM customers;
-- error 1064
SELECT DISTINCT FROM customers;
-- error 1242
SELECT DISTINCT (SELECT DISTINCT status FROM orders);
-- error 3065, reference 0
SELECT DISTINCT city FROM customers ORDER BY id;
-- error 3065, reference 0
SELECT DISTINCT status FROM orders ORDER BY total DESC, status;
-- error 3065, reference 0
SELECT DISTINCT o.status FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY c.name;
