-- Parenthesized joins, nested ON conditions, comma beside JOIN, mixtures of inner and outer joins.

-- Parentheses.
SELECT c.id, o.id FROM (customers c JOIN orders o ON o.customer_id = c.id);
SELECT c.id, o.id FROM ((customers c JOIN orders o ON o.customer_id = c.id));
SELECT c.id, o.id FROM (customers c), (orders o) WHERE o.customer_id = c.id;
SELECT c.id, o.id FROM (customers c, orders o) WHERE o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM (customers c JOIN orders o ON o.customer_id = c.id) JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM customers c JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o LEFT JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o RIGHT JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c RIGHT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c RIGHT JOIN (orders o LEFT JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM (customers c RIGHT JOIN orders o ON o.customer_id = c.id) LEFT JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM (customers c LEFT JOIN orders o ON o.customer_id = c.id) RIGHT JOIN items i ON i.order_id = o.id;
SELECT c.id, o.id, i.line FROM (customers c LEFT JOIN orders o ON o.customer_id = c.id) JOIN items i ON i.order_id = o.id OR c.id = i.product_id AND o.id IS NULL;
SELECT c.id, o.id, l.a FROM customers c LEFT JOIN (orders o, lone l) ON o.customer_id = c.id AND l.a > 5;
SELECT c.id, o.id, l.a FROM customers c LEFT JOIN (orders o, lone l) ON o.customer_id = c.id AND l.a > 10;
SELECT c.id, o.id, l.a FROM customers c LEFT JOIN (orders o CROSS JOIN lone l) ON o.customer_id = c.id WHERE l.a IS NULL;
SELECT c.id, x.id, y.id FROM customers c LEFT JOIN (nothing x JOIN nothing y) ON TRUE;
SELECT c.id, o.id, x.id FROM customers c LEFT JOIN (orders o JOIN nothing x ON TRUE) ON o.customer_id = c.id;
SELECT c.id, o.id, x.id FROM customers c LEFT JOIN (orders o LEFT JOIN nothing x ON x.id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, x.id FROM (customers c LEFT JOIN nothing x ON x.id = c.id) LEFT JOIN orders o ON o.customer_id = x.id;
SELECT c.id, o.id, x.id FROM (customers c LEFT JOIN nothing x ON x.id = c.id) LEFT JOIN orders o ON o.customer_id <=> x.id;
SELECT * FROM (lone a) JOIN ((lone b)) ON a.id = b.id;
SELECT * FROM (lone a LEFT JOIN (lone b LEFT JOIN (lone c LEFT JOIN nothing d ON d.id = c.id) ON c.id = b.id) ON b.id = a.id);
SELECT * FROM (lone a JOIN (lone b JOIN (lone c JOIN lone d)));

-- ON conditions that follow several joins.
SELECT c.id, o.id, i.line FROM customers c JOIN orders o JOIN items i ON i.order_id = o.id ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o JOIN items i ON i.order_id = o.id ON o.customer_id = c.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN orders o LEFT JOIN items i ON i.order_id = o.id ON o.customer_id = c.id;
SELECT c.id, o.id, i.line, p.name FROM customers c LEFT JOIN orders o LEFT JOIN items i LEFT JOIN products p ON p.id = i.product_id ON i.order_id = o.id ON o.customer_id = c.id;
SELECT c.id, o.id, i.line, p.name FROM customers c LEFT JOIN orders o JOIN items i JOIN products p ON p.id = i.product_id ON i.order_id = o.id ON o.customer_id = c.id;
SELECT c.id, o.id, i.line, p.name FROM customers c JOIN orders o LEFT JOIN items i RIGHT JOIN products p ON p.id = i.product_id ON i.order_id = o.id ON o.customer_id = c.id;
SELECT a.n, b.n, c.n FROM numbers a LEFT JOIN numbers b JOIN numbers c ON c.n = b.n + 5 ON b.n = a.n WHERE a.n > 3;
SELECT a.n, b.n, c.n FROM numbers a LEFT JOIN numbers b LEFT JOIN numbers c ON c.n = b.n + 5 ON b.n = a.n WHERE a.n > 3;

-- Conditions of an outer join that reach out of their nest.
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id AND i.quantity > c.id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id AND i.line = 1) ON o.customer_id = c.id AND c.city IS NOT NULL;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id WHERE i.line IS NULL;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id WHERE i.line = 1 OR c.id > 6;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o LEFT JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id AND i.line IS NULL;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o LEFT JOIN items i ON i.order_id = o.id AND i.price > 20) ON o.customer_id = c.id AND COALESCE(i.line, 1) = 1;
SELECT c.id, r.id, o.id FROM customers c LEFT JOIN (customers r LEFT JOIN orders o ON o.customer_id = r.id AND o.status = 'paid') ON r.id = c.referrer_id;
SELECT c.id, r.id, o.id FROM customers c LEFT JOIN (customers r JOIN orders o ON o.customer_id = r.id AND o.status = 'paid') ON r.id = c.referrer_id;
SELECT e.name, m.name, g.name FROM employees e LEFT JOIN (employees m JOIN employees g ON g.id = m.manager_id) ON m.id = e.manager_id;
SELECT e.name, m.name, g.name FROM employees e LEFT JOIN (employees m LEFT JOIN employees g ON g.id = m.manager_id) ON m.id = e.manager_id AND g.id IS NULL;
SELECT e.name, m.name, c.name FROM employees e LEFT JOIN (employees m JOIN customers c ON c.id = m.id) ON m.id = e.manager_id AND c.credit > 50;
SELECT p.name, k.name, k2.name FROM products p LEFT JOIN (categories k JOIN categories k2 ON k2.id = k.parent_id) ON k.id = p.category_id;
SELECT p.name, k.name, k2.name FROM products p LEFT JOIN (categories k JOIN categories k2 ON k2.id = k.parent_id AND k2.parent_id IS NULL) ON k.id = p.category_id;
SELECT p.name, k.name, i.order_id FROM products p LEFT JOIN categories k ON k.id = p.category_id LEFT JOIN (items i JOIN orders o ON o.id = i.order_id AND o.status = 'paid') ON i.product_id = p.id;
SELECT g.id, h.id, i.id FROM gaps g LEFT JOIN (gaps h JOIN gaps i ON i.a = h.b) ON h.a = g.b WHERE g.id < 5;
SELECT g.id, h.id, i.id FROM gaps g LEFT JOIN (gaps h LEFT JOIN gaps i ON i.a = h.b AND i.id > 3) ON h.a <=> g.b AND h.id > g.id;
SELECT g.id, h.id, i.id FROM (gaps g JOIN gaps h ON h.a = g.a) RIGHT JOIN gaps i ON i.b = g.b AND i.id <> h.id;
SELECT g.id, h.id, i.id FROM (gaps g LEFT JOIN gaps h ON h.a = g.a AND h.id > g.id) LEFT JOIN gaps i ON i.b = h.b AND i.id < g.id;
SELECT a.x, a.y, b.x, c.n FROM pairs a LEFT JOIN (pairs b JOIN numbers c ON c.n = b.w / 10) ON b.x = a.y AND b.y = a.x;
SELECT a.x, a.y, b.x, b.y, c.n FROM pairs a LEFT JOIN (pairs b LEFT JOIN numbers c ON c.n = b.w / 10) ON b.x = a.y AND b.y = a.x AND c.n IS NOT NULL;

-- Right joins in the middle.
SELECT c.id, o.id, i.line, p.id FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id RIGHT JOIN items i ON i.order_id = o.id RIGHT JOIN products p ON p.id = i.product_id;
SELECT c.id, o.id, i.line, p.id FROM customers c RIGHT JOIN (orders o RIGHT JOIN (items i RIGHT JOIN products p ON p.id = i.product_id) ON i.order_id = o.id) ON o.customer_id = c.id;
SELECT c.id, o.id, i.line, p.id FROM customers c JOIN orders o ON o.customer_id = c.id RIGHT JOIN items i ON i.order_id = o.id LEFT JOIN products p ON p.id = i.product_id;
SELECT c.id, o.id, p.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id RIGHT JOIN products p ON p.id = c.id AND o.total > 50;
SELECT c.id, o.id, p.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id RIGHT JOIN products p ON p.id = c.id WHERE o.id IS NULL;
SELECT a.n, b.n, c.n FROM numbers a RIGHT JOIN numbers b ON a.n = b.n - 3 LEFT JOIN numbers c ON c.n = a.n + 8;
SELECT a.n, b.n, c.n FROM numbers a LEFT JOIN numbers b ON a.n = b.n - 3 RIGHT JOIN numbers c ON c.n = b.n + 4;
SELECT a.n, b.n, c.n FROM numbers a LEFT JOIN (numbers b RIGHT JOIN numbers c ON c.n = b.n + 4) ON a.n = b.n - 3;

-- A comma binds looser than JOIN.
SELECT c.id, o.id, l.a FROM lone l, customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = l.id;
SELECT c.id, o.id, l.a FROM (lone l, customers c) JOIN orders o ON o.customer_id = c.id AND o.total > l.a;
SELECT c.id, o.id, l.a FROM (lone l, customers c) LEFT JOIN orders o ON o.customer_id = c.id AND o.total > l.a * 2;
SELECT c.id, o.id, l.a FROM customers c JOIN orders o ON o.customer_id = c.id, lone l WHERE c.id > l.id;
SELECT c.id, o.id, i.line, p.id FROM customers c JOIN orders o ON o.customer_id = c.id, items i JOIN products p ON p.id = i.product_id WHERE i.order_id = o.id;
SELECT c.id, o.id, i.line, p.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id, items i LEFT JOIN products p ON p.id = i.product_id WHERE i.order_id = 107 AND c.id > 5;
SELECT c.id, o.id, n FROM customers c LEFT JOIN (orders o, numbers) ON o.customer_id = c.id AND n = c.id;
SELECT c.id, o.id, n FROM (customers c, numbers) LEFT JOIN orders o ON o.customer_id = c.id AND n < 3 WHERE n IN (2, 3) AND c.id < 4;
SELECT c.id, o.id, n FROM (customers c LEFT JOIN orders o ON o.customer_id = c.id), numbers WHERE n = c.id AND (o.id IS NULL OR n < 2);

-- Nests and grouping, order, distinct.
SELECT c.id, COUNT(i.line), SUM(i.quantity * i.price) FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id GROUP BY c.id;
SELECT p.id, COUNT(o.id), COUNT(DISTINCT o.customer_id) FROM products p LEFT JOIN (items i JOIN orders o ON o.id = i.order_id) ON i.product_id = p.id GROUP BY p.id;
SELECT DISTINCT c.id, p.category_id FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id) ON o.customer_id = c.id ORDER BY c.id, p.category_id;
SELECT c.id, o.id, i.line FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id ORDER BY i.line DESC, o.id, c.id LIMIT 6;
SELECT c.city, SUM(i.quantity) FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id WHERE c.id NOT IN (1, 3) GROUP BY c.city;
SELECT c.id FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(i.line) = 0;

-- Derived tables and USING in nests.
SELECT c.id, d.order_id, d.line FROM customers c LEFT JOIN (SELECT o.customer_id, i.order_id, i.line FROM orders o JOIN items i ON i.order_id = o.id) d ON d.customer_id = c.id;
SELECT c.id, d.n, i.line FROM customers c LEFT JOIN ((SELECT customer_id, MAX(id) AS n FROM orders GROUP BY customer_id) d JOIN items i ON i.order_id = d.n) ON d.customer_id = c.id;
SELECT id, c.name, d.total FROM customers c LEFT JOIN (lone l JOIN (SELECT customer_id, total FROM orders) d ON d.total > l.a) USING (id);
SELECT id, c.name, p.name, k.name FROM customers c LEFT JOIN (products p JOIN categories k USING (id)) USING (id);
SELECT id, c.name, p.name, l.name FROM customers c JOIN (products p LEFT JOIN lone l USING (id)) USING (id);
SELECT id, l.name FROM (customers c JOIN products p USING (id)) LEFT JOIN lone l USING (id) WHERE id < 4;
SELECT COUNT(*) FROM (customers c NATURAL JOIN lone l) RIGHT JOIN orders o ON o.customer_id = c.id;
SELECT * FROM (lone a NATURAL JOIN lone b) LEFT JOIN (nothing c NATURAL JOIN nothing d) ON a.id = c.id;
SELECT * FROM (lone a NATURAL LEFT JOIN nothing b) NATURAL JOIN lone c;

-- Many tables.
SELECT a.n, j.n FROM numbers a JOIN numbers b ON b.n = a.n JOIN numbers c ON c.n = b.n JOIN numbers d ON d.n = c.n JOIN numbers e ON e.n = d.n JOIN numbers f ON f.n = e.n JOIN numbers g ON g.n = f.n JOIN numbers h ON h.n = g.n JOIN numbers i ON i.n = h.n JOIN numbers j ON j.n = i.n + 6;
SELECT COUNT(*) FROM lone a, lone b, lone c, lone d, lone e, lone f, lone g, lone h, lone i, lone j, lone k, lone l;
SELECT a.n, b.n, c.n, d.n, e.n FROM numbers a LEFT JOIN numbers b ON b.n = a.n * 2 LEFT JOIN numbers c ON c.n = b.n * 2 LEFT JOIN numbers d ON d.n = c.n + 1 LEFT JOIN numbers e ON e.n = d.n + b.n;

-- Errors.
-- error 1054
SELECT 1 FROM customers c LEFT JOIN (orders o JOIN items i ON i.order_id = c.id) ON o.customer_id = c.id;
-- error 1054
SELECT 1 FROM customers c JOIN (orders o JOIN items i ON i.order_id = o.id AND c.id = 1) ON o.customer_id = c.id;
-- error 1054
SELECT 1 FROM lone l, (customers c JOIN orders o ON o.customer_id = l.id);
-- error 1054
SELECT 1 FROM customers c, orders o LEFT JOIN items i ON i.order_id = c.id;
-- error 1054
SELECT 1 FROM customers c JOIN orders o JOIN items i ON i.order_id = c.id ON o.customer_id = c.id;
-- error 1066
SELECT 1 FROM customers c JOIN (orders o JOIN items c ON TRUE) ON TRUE;
-- error 1066
SELECT 1 FROM (lone JOIN customers), lone;
-- error 1064
SELECT 1 FROM (customers c JOIN orders o ON o.customer_id = c.id;
-- error 1064
SELECT 1 FROM (customers c JOIN orders o ON o.customer_id = c.id));
-- error 1064
SELECT 1 FROM (customers c LEFT JOIN orders o) ON TRUE;
-- error 1064
SELECT 1 FROM (customers c JOIN orders o) AS j;
-- error 1064
SELECT 1 FROM customers c LEFT JOIN orders o LEFT JOIN items i ON TRUE;
-- error 1064
SELECT 1 FROM ();
-- error 1052
SELECT line FROM (items i JOIN items j ON i.order_id = j.order_id);
-- error 1052
SELECT id FROM customers c LEFT JOIN (products p JOIN categories k USING (id)) ON c.id = p.id;
