-- Inner joins: comma, JOIN, CROSS JOIN, STRAIGHT_JOIN; conditions in ON and WHERE; self joins; empty sides.

-- The spellings of one join.
SELECT c.id, o.id FROM customers c, orders o WHERE c.id = o.customer_id;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id = o.customer_id;
SELECT c.id, o.id FROM customers c INNER JOIN orders o ON c.id = o.customer_id;
SELECT c.id, o.id FROM customers c CROSS JOIN orders o ON c.id = o.customer_id;
SELECT c.id, o.id FROM customers c CROSS JOIN orders o WHERE c.id = o.customer_id;
SELECT c.id, o.id FROM customers c STRAIGHT_JOIN orders o ON c.id = o.customer_id;
SELECT c.id, o.id FROM customers c STRAIGHT_JOIN orders o WHERE c.id = o.customer_id;
SELECT c.id, o.id FROM orders o STRAIGHT_JOIN customers c ON c.id = o.customer_id;
SELECT customers.id, orders.id FROM customers JOIN orders ON customers.id = orders.customer_id;
SELECT STRAIGHT_JOIN c.name, o.total FROM orders o, customers c WHERE c.id = o.customer_id;

-- Products of all rows.
SELECT COUNT(*) FROM customers, orders;
SELECT COUNT(*) FROM customers CROSS JOIN orders CROSS JOIN lone;
SELECT COUNT(*) FROM customers JOIN nothing;
SELECT * FROM lone, lone l2;
SELECT * FROM lone a CROSS JOIN lone b CROSS JOIN lone c;
SELECT * FROM nothing, lone;
SELECT * FROM lone, nothing;
SELECT a.n, b.n FROM numbers a, numbers b WHERE a.n < b.n AND a.n + b.n = 9;
SELECT a.n, b.n, c.n FROM numbers a JOIN numbers b JOIN numbers c WHERE a.n * a.n + b.n * b.n = c.n * c.n;
SELECT a.n * 10 + b.n AS m FROM numbers a, numbers b WHERE a.n <= 3 AND b.n >= 8 ORDER BY m;
SELECT COUNT(*) FROM numbers a, numbers b WHERE a.n <> b.n;
SELECT SUM(a.n * b.n) FROM numbers a, numbers b;

-- Columns: all, those of one table, in another order, twice.
SELECT * FROM customers c JOIN orders o ON c.id = o.customer_id ORDER BY o.id;
SELECT o.*, c.name FROM customers c JOIN orders o ON c.id = o.customer_id ORDER BY o.id;
SELECT c.*, c.* FROM customers c JOIN lone ON lone.id = c.id;
SELECT o.*, c.* FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.id = 104;
SELECT c.name, o.total, c.name FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.total > 50;
SELECT 'x', c.id, 1 + 1 FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.status = 'paid';
SELECT CONCAT(c.name, '/', o.status) AS label FROM customers c JOIN orders o ON c.id = o.customer_id ORDER BY label, o.id;

-- Conditions of one table, in ON and in WHERE.
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id AND o.status = 'paid';
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.status = 'paid' AND c.city = 'OSLO';
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id AND c.city IS NULL;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id AND c.credit > 50 WHERE o.total < 60;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE c.id IN (1, 3) AND o.id BETWEEN 101 AND 105;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE c.name LIKE 'A%';
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.total IS NULL;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE NOT (o.total > 50);
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.placed >= '2022-04-01' AND o.placed < '2022-04-02';
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE c.id = 3;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.customer_id = 3;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE c.id = 3 AND o.customer_id = 1;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id AND 1 = 0;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE NULL;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id AND TRUE;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id OR o.customer_id IS NULL;
SELECT c.name, o.id FROM customers c JOIN orders o ON c.id = o.customer_id OR c.referrer_id = o.customer_id;
SELECT c.id, o.id FROM customers c JOIN orders o ON o.total = c.credit;
SELECT c.id, o.id FROM customers c JOIN orders o ON o.total > c.credit AND o.customer_id = c.id;
SELECT c.id, o.id FROM customers c JOIN orders o ON o.total BETWEEN c.credit - 10 AND c.credit + 10;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id + 100 = o.id;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id = o.id - 100 AND c.city = 'Bergen';
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id = o.customer_id XOR o.id = 106;
SELECT c.id, o.id FROM customers c JOIN orders o ON DATE(o.placed) = '2023-02-14' AND c.joined > '2021-01-01';
SELECT c.id, o.id FROM customers c JOIN orders o ON YEAR(c.joined) = YEAR(o.placed);
SELECT c.id, o.id FROM customers c JOIN orders o ON MONTH(c.joined) = MONTH(o.placed);
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id IN (o.customer_id, o.id - 100);
SELECT c.id, o.id FROM customers c JOIN orders o ON (c.id, 'paid') = (o.customer_id, o.status);
SELECT c.id, o.id FROM customers c JOIN orders o ON c.id <=> o.customer_id;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.referrer_id <=> o.customer_id;
SELECT c.id, o.id FROM customers c JOIN orders o ON c.referrer_id = o.customer_id;
SELECT c.id, o.id FROM customers c JOIN orders o ON COALESCE(c.referrer_id, 0) = COALESCE(o.customer_id, 0);
SELECT c.id, o.id FROM customers c JOIN orders o ON CASE WHEN c.id < 3 THEN o.customer_id = c.id ELSE o.id = 106 END;

-- A column that is compared in two ways; conditions without a column.
SELECT c.id FROM customers c JOIN numbers ON n = c.id AND n = 3;
SELECT c.id, n FROM customers c JOIN numbers ON n = c.id WHERE n > 6 OR c.city = 'oslo';
SELECT c.id, n FROM customers c JOIN numbers ON c.id;
SELECT c.id, n FROM customers c JOIN numbers ON c.id AND n = 1 WHERE c.id < 3;
SELECT c.id, n FROM customers c JOIN numbers ON 2 WHERE c.id = 1;
SELECT c.id, n FROM customers c JOIN numbers ON 'a' WHERE c.id = 1;
SELECT c.id, n FROM customers c JOIN numbers ON NULL;

-- Three tables and more.
SELECT c.name, o.id, i.line, i.quantity * i.price AS amount FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id;
SELECT c.name, p.name FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id;
SELECT DISTINCT c.id, k.name FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id JOIN categories k ON k.id = p.category_id WHERE c.id <> 6;
SELECT c.name, p.name, k.name, k2.name FROM customers c, orders o, items i, products p, categories k, categories k2 WHERE o.customer_id = c.id AND i.order_id = o.id AND p.id = i.product_id AND k.id = p.category_id AND k2.id = k.parent_id;
SELECT o.id, COUNT(*), SUM(i.quantity) FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.id;
SELECT c.name, SUM(i.quantity * i.price) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id GROUP BY c.id, c.name;
SELECT k.name, COUNT(*) FROM categories k JOIN products p ON p.category_id = k.id GROUP BY k.name HAVING COUNT(*) > 1;
SELECT p.name, i.order_id FROM products p JOIN items i ON i.product_id = p.id AND i.price < p.price;
SELECT p.name, i.order_id FROM products p JOIN items i ON i.product_id = p.id AND i.price = p.price AND i.discount IS NULL;
SELECT p.name, i.order_id, i.price - p.price AS more FROM products p JOIN items i ON i.product_id = p.id WHERE i.price <> p.price;
SELECT o.id, p.id FROM orders o JOIN products p ON o.total >= p.price JOIN lone ON p.stock > lone.a;
SELECT o.id, i.line, n FROM orders o JOIN items i ON i.order_id = o.id JOIN numbers ON n <= i.quantity WHERE o.id IN (100, 109);
SELECT e.name, c.name, p.name FROM employees e JOIN customers c ON c.id = e.id JOIN products p ON p.id = c.id;
SELECT e.id, c.id, p.id, k.id FROM employees e JOIN customers c JOIN products p JOIN categories k ON e.id = c.id AND c.id = p.id AND p.id = k.id AND k.parent_id = 2;
SELECT e.id, c.id FROM employees e JOIN customers c ON e.id = c.id, lone WHERE e.id > lone.id AND e.id < lone.a;

-- Self joins.
SELECT e.name, m.name AS boss FROM employees e JOIN employees m ON m.id = e.manager_id;
SELECT e.name, m.name, mm.name FROM employees e JOIN employees m ON m.id = e.manager_id JOIN employees mm ON mm.id = m.manager_id;
SELECT a.name, b.name FROM employees a JOIN employees b ON a.salary = b.salary AND a.id < b.id;
SELECT a.name, b.name FROM employees a JOIN employees b ON a.dept = b.dept AND a.id < b.id;
SELECT a.name, b.name FROM employees a JOIN employees b ON a.dept = b.dept AND a.salary > b.salary;
SELECT a.name, b.name FROM employees a JOIN employees b ON a.manager_id = b.manager_id AND a.id <> b.id;
SELECT a.name, b.name FROM employees a, employees b WHERE a.hired = b.hired AND a.id > b.id;
SELECT e.name FROM employees e JOIN employees m ON m.id = e.manager_id WHERE e.salary > m.salary;
SELECT e.name FROM employees e JOIN employees m ON m.id = e.manager_id WHERE e.salary = m.salary;
SELECT m.name, COUNT(*), AVG(e.salary) FROM employees e JOIN employees m ON m.id = e.manager_id GROUP BY m.name;
SELECT a.name, b.name FROM customers a JOIN customers b ON a.name = b.name AND a.id < b.id;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.city = b.city WHERE a.id <> b.id;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.referrer_id = b.id AND a.credit >= b.credit;
SELECT a.id, b.id FROM customers a JOIN customers b ON a.joined = b.joined AND a.id < b.id;
SELECT k1.name, k2.name, k3.name FROM categories k1 JOIN categories k2 ON k2.parent_id = k1.id JOIN categories k3 ON k3.parent_id = k2.id;
SELECT a.src, a.dst, b.dst FROM edges a JOIN edges b ON b.src = a.dst WHERE a.src = 1;
SELECT a.src, a.dst FROM edges a JOIN edges b ON a.src = b.dst AND a.dst = b.src;
SELECT a.src, a.dst, b.dst, c.dst FROM edges a JOIN edges b ON b.src = a.dst JOIN edges c ON c.src = b.dst AND c.dst = a.src;
SELECT a.src, MIN(a.weight + b.weight) FROM edges a JOIN edges b ON a.dst = b.src GROUP BY a.src;

-- Composite keys, secondary keys.
SELECT p.x, p.y, q.v FROM pairs p JOIN pairs q ON p.x = q.y AND p.y = q.x;
SELECT p.x, p.y, q.x, q.y FROM pairs p JOIN pairs q ON p.v = q.v AND (p.x, p.y) < (q.x, q.y);
SELECT p.x, p.y, q.x, q.y FROM pairs p JOIN pairs q ON p.w = q.w AND p.x < q.x;
SELECT p.x, p.y FROM pairs p JOIN numbers a ON a.n = p.x JOIN numbers b ON b.n = p.y WHERE a.n > b.n;
SELECT p.x, p.y FROM pairs p JOIN lone l ON p.x = l.id;
SELECT p.x, p.y FROM pairs p JOIN lone l ON p.y = l.id AND p.x > l.id;
SELECT p.x, p.y, e.weight FROM pairs p JOIN edges e ON e.src = p.x AND e.dst = p.y;
SELECT p.x, p.y, e.weight FROM pairs p JOIN edges e ON (e.src, e.dst) = (p.y, p.x);
SELECT i.order_id, i.line, p.v FROM items i JOIN pairs p ON i.order_id = 100 + p.x AND i.line = p.y;
SELECT s.year, s.quarter, t.quarter FROM sales s JOIN sales t ON s.year = t.year AND s.region = t.region AND s.quarter < t.quarter;
SELECT s.year, s.quarter, s.region, s.amount - t.amount AS growth FROM sales s JOIN sales t ON t.year = s.year - 1 AND t.quarter = s.quarter AND t.region = s.region;

-- NULL joins nothing but with <=>.
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.a = h.a;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.a <=> h.a;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.a = h.b;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.a <=> h.b AND g.c <=> h.c;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.a <> h.a;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON NOT (g.a <=> h.a) AND g.id < h.id;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON (g.a = h.a) IS NULL AND g.id <= h.id;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.c = h.c AND g.id <> h.id;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.d = h.d AND g.e = h.e;
SELECT g.id, h.id FROM gaps g JOIN gaps h ON g.e < h.e AND h.e <= '2021-12-31';
SELECT g.id, n FROM gaps g JOIN numbers ON g.a = n;
SELECT g.id, n FROM gaps g JOIN numbers ON g.a + g.b = n;
SELECT g.id, n FROM gaps g JOIN numbers ON g.a = n OR g.b = n;
SELECT g.id, l.id FROM gaps g JOIN lone l ON g.a IS NULL AND g.b IS NULL;
SELECT g.id, l.a FROM gaps g JOIN lone l ON g.a = l.id AND g.b = l.id;

-- Empty sides.
SELECT * FROM customers c JOIN nothing x ON x.id = c.id;
SELECT COUNT(*), SUM(x.a), MIN(x.name) FROM customers c JOIN nothing x ON x.id = c.id;
SELECT c.id FROM customers c JOIN nothing x ON x.id <> c.id;
SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id JOIN nothing x;
SELECT x.id, y.id FROM nothing x JOIN nothing y ON x.id = y.id;
SELECT c.id FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id > 1000;
SELECT COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id > 1000 GROUP BY c.id;

-- Order, limit, grouping over joins.
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY c.name, o.id DESC;
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.total DESC, o.id LIMIT 3;
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.placed, o.id LIMIT 2 OFFSET 3;
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY 2, 1 LIMIT 4, 3;
SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY LENGTH(c.name), c.name DESC, o.id;
SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.id LIMIT 0;
SELECT DISTINCT c.city FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city <> 'oslo';
SELECT c.city IS NULL AS nowhere, COUNT(*), SUM(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY nowhere ORDER BY nowhere;
SELECT o.status, COUNT(DISTINCT c.id) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY o.status ORDER BY o.status;
SELECT MAX(o.total), MIN(c.name) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.id <> 6;

-- Errors.
-- error 1052
SELECT id FROM customers c JOIN orders o ON c.id = o.customer_id;
-- error 1052
SELECT c.id FROM customers c JOIN orders o ON c.id = o.customer_id WHERE id = 1;
-- error 1052
SELECT c.id FROM customers c JOIN orders o ON id = customer_id;
-- error 1052
SELECT 1 FROM customers c JOIN orders o ON c.id = o.customer_id ORDER BY id;
-- error 1052
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id GROUP BY id;
-- error 1052
SELECT MAX(id) FROM customers, orders;
-- error 1054
SELECT c.total FROM customers c JOIN orders o ON c.id = o.customer_id;
-- error 1054
SELECT c.id FROM customers c JOIN orders o ON c.id = o.customer;
-- error 1054
SELECT customers.id FROM customers c JOIN orders o ON c.id = o.customer_id;
-- error 1054
SELECT c.id FROM customers c JOIN orders o ON c.id = orders.customer_id;
-- error 1054
SELECT c.id FROM customers c JOIN orders o ON c.id = i.order_id JOIN items i ON i.order_id = o.id;
-- error 1054
SELECT c.id FROM customers c, orders o JOIN items i ON i.order_id = o.id AND c.id = o.customer_id;
-- error 1051
SELECT x.* FROM customers c JOIN orders o ON c.id = o.customer_id;
-- error 1066
SELECT 1 FROM customers, customers;
-- error 1066
SELECT 1 FROM customers c JOIN orders c ON TRUE;
-- error 1066
SELECT 1 FROM customers JOIN orders customers ON TRUE;
-- error 1146
SELECT 1 FROM customers c JOIN absent a ON a.id = c.id;
-- error 1146
SELECT absent.id FROM customers JOIN absent;
-- error 1111
SELECT c.id FROM customers c JOIN orders o ON COUNT(*) = 1;
-- error 1064
SELECT c.id FROM customers c JOIN JOIN orders o;
-- error 1064
SELECT c.id FROM customers c ON c.id = 1;
-- error 1064
SELECT c.id FROM customers c JOIN orders o WHERE c.id = 1 ON c.id = o.customer_id;
