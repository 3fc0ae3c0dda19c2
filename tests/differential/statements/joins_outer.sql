-- Outer joins: LEFT and RIGHT, conditions in ON and in WHERE, chains, empty sides.

-- Both directions.
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT c.id, o.id FROM customers c LEFT OUTER JOIN orders o ON o.customer_id = c.id;
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id;
SELECT c.id, o.id FROM customers c RIGHT OUTER JOIN orders o ON o.customer_id = c.id;
SELECT c.id, o.id FROM orders o LEFT JOIN customers c ON o.customer_id = c.id;
SELECT c.id, o.id FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id;
SELECT * FROM lone l LEFT JOIN customers c ON c.id = l.a;
SELECT * FROM lone l RIGHT JOIN customers c ON c.id = l.id ORDER BY c.id;
SELECT * FROM customers c LEFT JOIN lone l ON c.id = l.id ORDER BY c.id;
SELECT l.*, c.name FROM customers c LEFT JOIN lone l ON c.id = l.id WHERE c.id < 4;

-- A condition in ON keeps rows, in WHERE it drops them.
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'paid';
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.status = 'paid';
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND c.city = 'Oslo';
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.city = 'Oslo';
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.id IS NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NOT NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.total IS NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.total > 50 OR o.id IS NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE NOT (o.total > 50);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE (o.total > 50) IS NOT TRUE;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE (o.total > 50) IS UNKNOWN;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE COALESCE(o.total, 0) < 30;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.status <=> NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.status <> 'paid';
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IN (100, 105) OR c.id = 4;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.id IN (SELECT n FROM numbers WHERE n > 5);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total > 50 WHERE c.credit >= 75;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total > 50 WHERE o.total < 100;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.placed < '2022-03-01' WHERE c.referrer_id = 1;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON FALSE;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON NULL;
SELECT COUNT(*), COUNT(o.id) FROM customers c LEFT JOIN orders o ON TRUE;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON c.id = 3;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.id = 103;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.id = 103 AND c.id = 1;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.total = c.credit;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.total > c.credit AND o.customer_id = c.id;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id OR o.customer_id = c.referrer_id;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id <=> c.referrer_id;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.id = c.id + 100;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.id = 2 * c.id + 98 AND o.status = 'paid';
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON YEAR(o.placed) = YEAR(c.joined);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON (o.customer_id, o.status) = (c.id, 'open');
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id IN (c.id, 42) AND o.total IS NOT NULL;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON NOT o.customer_id = c.id AND o.status = 'void';
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id AND c.city = 'Oslo';
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id WHERE c.city = 'Oslo';
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id AND o.status = 'open';
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id WHERE c.id IS NULL;
SELECT c.id, o.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id WHERE c.name IS NULL OR c.name = 'ADA';

-- NULL on the inner side: in expressions, functions, groups, order.
SELECT c.name, IFNULL(o.total, -1) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT c.name, o.total + 1, o.total * 0, CONCAT(o.status, '!') FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.id > 4;
SELECT c.name, CASE WHEN o.id IS NULL THEN 'none' ELSE o.status END AS state FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT c.id, COUNT(*), COUNT(o.id), SUM(o.total), AVG(o.total), MIN(o.placed), MAX(o.status) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.id <> 105 GROUP BY c.id;
SELECT c.id, GROUP_CONCAT(o.id ORDER BY o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id;
SELECT c.id, COUNT(DISTINCT o.status) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id;
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(o.id) = 0;
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(o.id) >= 3;
SELECT o.status, COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY o.status;
SELECT o.id IS NULL AS without, COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY without;
SELECT DISTINCT o.customer_id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY o.id, c.id;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY o.id DESC, c.id DESC;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY o.id IS NULL, o.id, c.id LIMIT 8, 4;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id ORDER BY c.id, o.id LIMIT 5;
SELECT SUM(o.total), COUNT(*), COUNT(o.total) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;

-- Chains of outer joins.
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line, p.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id LEFT JOIN products p ON p.id = i.product_id;
SELECT p.name, k.name, k2.name, k3.name FROM products p LEFT JOIN categories k ON k.id = p.category_id LEFT JOIN categories k2 ON k2.id = k.parent_id LEFT JOIN categories k3 ON k3.id = k2.parent_id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM customers c JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id AND i.line = 1;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id AND c.id = 3;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id WHERE i.order_id IS NULL;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id WHERE o.id IS NOT NULL AND i.line IS NULL;
SELECT c.id, o.id, i.line FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id RIGHT JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o ON o.customer_id = c.id RIGHT JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id LEFT JOIN items i ON i.order_id = o.id;
SELECT i.order_id, i.line, o.id, c.id FROM items i LEFT JOIN orders o ON o.id = i.order_id LEFT JOIN customers c ON c.id = o.customer_id;
SELECT i.order_id, p.name, k.name FROM items i LEFT JOIN products p ON p.id = i.product_id LEFT JOIN categories k ON k.id = p.category_id AND k.name LIKE '%i%';
SELECT c.id, l.id, n FROM customers c LEFT JOIN lone l ON l.id = c.id LEFT JOIN numbers ON n = l.a;
SELECT c.id, l.id, n FROM customers c LEFT JOIN lone l ON l.id = c.id LEFT JOIN numbers ON n = c.id + 7;
SELECT c.id, l.id, n FROM customers c LEFT JOIN lone l ON l.id = c.id LEFT JOIN numbers ON n <=> l.a;
SELECT c.id, l.id, n FROM customers c LEFT JOIN lone l ON l.id = c.id LEFT JOIN numbers ON n < 3 AND l.id IS NULL;
SELECT c.id, r.id, rr.id FROM customers c LEFT JOIN customers r ON r.id = c.referrer_id LEFT JOIN customers rr ON rr.id = r.referrer_id;
SELECT c.id, r.id, o.id FROM customers c LEFT JOIN customers r ON r.id = c.referrer_id LEFT JOIN orders o ON o.customer_id = r.id AND o.total > 50;
SELECT c.id, a.id, b.id FROM customers c LEFT JOIN orders a ON a.customer_id = c.id AND a.status = 'paid' LEFT JOIN orders b ON b.customer_id = c.id AND b.status = 'open';
SELECT c.id, o.id, x.id FROM customers c, lone l LEFT JOIN orders o ON o.id = l.a * 10 LEFT JOIN nothing x ON x.id = o.id WHERE c.id < 3;
SELECT c.id, l.a, o.id FROM lone l, customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.id < l.a - 6;
SELECT c.id, o.id, p.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id CROSS JOIN products p WHERE p.id = 1;
SELECT c.id, o.id FROM customers c STRAIGHT_JOIN lone l ON l.a > c.id LEFT JOIN orders o ON o.customer_id = c.id + l.id;

-- Self joins.
SELECT e.name, m.name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id;
SELECT e.name, m.name FROM employees e RIGHT JOIN employees m ON m.id = e.manager_id;
SELECT m.name FROM employees m LEFT JOIN employees e ON e.manager_id = m.id WHERE e.id IS NULL;
SELECT e.name, m.name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id AND m.dept = e.dept;
SELECT e.name, m.name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id WHERE m.dept = e.dept;
SELECT e.name, m.name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id WHERE e.manager_id IS NOT NULL AND m.id IS NULL;
SELECT a.name, b.name FROM employees a LEFT JOIN employees b ON b.dept = a.dept AND b.salary > a.salary WHERE b.id IS NULL;
SELECT a.id, COUNT(b.id) + 1 AS place FROM employees a LEFT JOIN employees b ON b.salary > a.salary GROUP BY a.id ORDER BY place, a.id;
SELECT e.name, m.name, g.name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id LEFT JOIN employees g ON g.id = m.manager_id WHERE g.id IS NULL;
SELECT m.name, COUNT(e.id), SUM(e.salary) FROM employees m LEFT JOIN employees e ON e.manager_id = m.id GROUP BY m.id, m.name;
SELECT k.name, COUNT(p.id) FROM categories k LEFT JOIN products p ON p.category_id = k.id GROUP BY k.name;
SELECT k.name, COUNT(s.id) FROM categories k LEFT JOIN categories s ON s.parent_id = k.id GROUP BY k.name HAVING COUNT(s.id) <> 1;

-- Composite keys and NULL.
SELECT p.x, p.y, q.x, q.y FROM pairs p LEFT JOIN pairs q ON q.x = p.x + 1 AND q.y = p.y;
SELECT p.x, p.y, q.v FROM pairs p LEFT JOIN pairs q ON q.x = p.y AND q.y = p.x AND q.v IS NOT NULL;
SELECT p.x, p.y, q.x, q.y FROM pairs p LEFT JOIN pairs q ON q.w = p.w AND q.x > p.x;
SELECT p.x, p.y, q.x, q.y FROM pairs p LEFT JOIN pairs q ON q.w <=> p.w AND (q.x, q.y) <> (p.x, p.y);
SELECT s.year, s.quarter, s.region, t.amount FROM sales s LEFT JOIN sales t ON t.year = s.year - 1 AND t.quarter = s.quarter AND t.region = s.region;
SELECT n, s.region, s.amount FROM numbers LEFT JOIN sales s ON s.quarter = n AND s.year = 2021 WHERE n <= 5;
SELECT a.n, b.n, p.v FROM numbers a JOIN numbers b LEFT JOIN pairs p ON p.x = a.n AND p.y = b.n WHERE a.n < 4 AND b.n < 4;
SELECT a.n, b.n FROM numbers a JOIN numbers b LEFT JOIN pairs p ON p.x = a.n AND p.y = b.n WHERE a.n < 5 AND b.n < 5 AND p.x IS NULL;
SELECT e.src, e.dst, f.src FROM edges e LEFT JOIN edges f ON f.src = e.dst AND f.dst = e.src;
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h ON h.a = g.a AND h.id > g.id;
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h ON h.a <=> g.a AND h.id > g.id;
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h ON h.a = g.b;
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h ON h.c = g.c AND h.id <> g.id WHERE h.a IS NULL;
SELECT g.id, h.id FROM gaps g LEFT JOIN gaps h ON h.e = g.e AND h.d = g.d;
SELECT g.id, h.id FROM gaps g RIGHT JOIN gaps h ON h.a = g.b AND g.c IS NOT NULL;
SELECT g.id, n FROM gaps g LEFT JOIN numbers ON n = g.a WHERE g.b IS NULL;
SELECT g.id, n FROM gaps g LEFT JOIN numbers ON n = g.a + g.b;
SELECT g.id, n FROM gaps g RIGHT JOIN numbers ON n = g.a ORDER BY n, g.id;
SELECT n FROM numbers LEFT JOIN gaps g ON g.a = n WHERE g.id IS NULL;

-- Empty sides.
SELECT c.id, x.id, x.name FROM customers c LEFT JOIN nothing x ON x.id = c.id;
SELECT c.id, x.id FROM customers c RIGHT JOIN nothing x ON x.id = c.id;
SELECT c.id, x.id FROM nothing x LEFT JOIN customers c ON x.id = c.id;
SELECT c.id, x.id FROM nothing x RIGHT JOIN customers c ON x.id = c.id;
SELECT * FROM lone LEFT JOIN nothing ON TRUE;
SELECT * FROM nothing RIGHT JOIN lone ON TRUE;
SELECT * FROM nothing a LEFT JOIN nothing b ON a.id = b.id;
SELECT l.id, a.id, b.id FROM lone l LEFT JOIN nothing a ON a.id = l.id LEFT JOIN nothing b ON b.id = a.id;
SELECT l.id, a.id, c.id FROM lone l LEFT JOIN nothing a ON TRUE LEFT JOIN customers c ON c.id = a.id;
SELECT l.id, a.id, c.id FROM lone l LEFT JOIN nothing a ON TRUE LEFT JOIN customers c ON c.id = 3;
SELECT l.id, a.id, c.id FROM lone l LEFT JOIN nothing a ON TRUE JOIN customers c ON c.id = a.id;
SELECT COUNT(*), COUNT(x.id), MAX(x.a) FROM customers c LEFT JOIN nothing x ON TRUE;
SELECT c.id FROM customers c LEFT JOIN nothing x ON x.id = c.id WHERE x.id = 1;
SELECT c.id FROM customers c LEFT JOIN nothing x ON x.id = c.id WHERE x.id IS NULL AND c.id > 6;
SELECT c.id, COALESCE(x.name, c.name) FROM customers c LEFT JOIN nothing x ON x.id = c.id WHERE c.city IS NULL;

-- Subqueries in ON.
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total = (SELECT MAX(total) FROM orders);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.id = (SELECT MIN(id) FROM orders WHERE customer_id = c.id);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.id NOT IN (SELECT order_id FROM items);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND c.id IN (SELECT referrer_id FROM customers);

-- Errors.
-- error 1064
SELECT 1 FROM customers c LEFT JOIN orders o;
-- error 1064
SELECT 1 FROM customers c RIGHT JOIN orders o WHERE c.id = o.customer_id;
-- error 1064
SELECT 1 FROM customers c OUTER JOIN orders o ON TRUE;
-- error 1064
SELECT 1 FROM customers c LEFT INNER JOIN orders o ON TRUE;
-- error 1054
SELECT 1 FROM customers c LEFT JOIN orders o ON o.customer_id = x.id;
-- error 1054
SELECT 1 FROM customers c LEFT JOIN orders o ON i.line = 1 LEFT JOIN items i ON i.order_id = o.id;
-- error 1054
SELECT 1 FROM lone l, customers c LEFT JOIN orders o ON o.customer_id = l.id;
-- error 1052
SELECT 1 FROM customers c LEFT JOIN orders o ON customer_id = id;
-- error 1052
SELECT name FROM customers c LEFT JOIN employees e ON e.id = c.id;
-- error 1066
SELECT 1 FROM customers c LEFT JOIN orders o ON TRUE LEFT JOIN items c ON TRUE;
-- error 1111
SELECT 1 FROM customers c LEFT JOIN orders o ON MAX(o.id) = c.id;
-- error 1146
SELECT 1 FROM customers c LEFT JOIN absent a ON a.id = c.id;
