-- Correlated subqueries: one and more levels deep, over groups, in each clause, with names that hide others.

-- Select list.
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c;
SELECT id, (SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id) AS s FROM customers c;
SELECT id, (SELECT MAX(total) FROM orders WHERE customer_id = customers.id) AS m FROM customers;
SELECT id, (SELECT name FROM customers c WHERE c.id = o.customer_id) AS name FROM orders o;
SELECT id, (SELECT o.total) AS t, (SELECT o.total * 2) AS u FROM orders o;
SELECT id, (SELECT o.total FROM lone) AS t FROM orders o;
SELECT id, (SELECT o.total FROM nothing) AS t FROM orders o;
SELECT id, (SELECT MIN(placed) FROM orders o WHERE o.customer_id = c.id) AS first_order, (SELECT MAX(placed) FROM orders o WHERE o.customer_id = c.id) AS last_order FROM customers c;
SELECT id, (SELECT status FROM orders o WHERE o.customer_id = c.id ORDER BY placed DESC, id LIMIT 1) AS last_status FROM customers c;
SELECT id, (SELECT o.id FROM orders o WHERE o.customer_id = c.id ORDER BY o.total DESC, o.id LIMIT 1 OFFSET 1) AS second FROM customers c;
SELECT id, (SELECT GROUP_CONCAT(o.id ORDER BY o.id) FROM orders o WHERE o.customer_id = c.id) AS list FROM customers c;
SELECT id, (SELECT COUNT(DISTINCT status) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c;
SELECT id, (SELECT AVG(total) FROM orders o WHERE o.customer_id <> c.id) AS others FROM customers c;
SELECT id, COALESCE((SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id), 0) - credit AS balance FROM customers c;
SELECT name, (SELECT m.name FROM employees m WHERE m.id = e.manager_id) AS boss FROM employees e;
SELECT name, (SELECT COUNT(*) FROM employees f WHERE f.manager_id = e.id) AS reports FROM employees e ORDER BY reports DESC, name;
SELECT name, (SELECT COUNT(*) + 1 FROM employees f WHERE f.salary > e.salary) AS place FROM employees e WHERE salary IS NOT NULL;
SELECT name, salary - (SELECT AVG(salary) FROM employees f WHERE f.dept = e.dept) AS off FROM employees e;
SELECT n, (SELECT SUM(m.n) FROM numbers m WHERE m.n <= numbers.n) AS triangle FROM numbers;
SELECT n, (SELECT GROUP_CONCAT(m.n ORDER BY m.n) FROM numbers m WHERE numbers.n % m.n = 0) AS divisors FROM numbers;
SELECT n, (SELECT MIN(m.n) FROM numbers m WHERE m.n > numbers.n) AS next, (SELECT MAX(m.n) FROM numbers m WHERE m.n < numbers.n) AS previous FROM numbers;
SELECT year, quarter, region, (SELECT SUM(t.amount) FROM sales t WHERE t.region = s.region AND (t.year, t.quarter) <= (s.year, s.quarter)) AS running FROM sales s;
SELECT id, (SELECT COUNT(*) FROM gaps h WHERE h.a = g.a) AS n, (SELECT COUNT(*) FROM gaps h WHERE h.a <=> g.a) AS m FROM gaps g;
SELECT id, (SELECT 1 FROM gaps h WHERE h.id = g.b) AS t FROM gaps g;
SELECT p.name, (SELECT SUM(i.quantity) FROM items i WHERE i.product_id = p.id) AS sold, p.stock - (SELECT SUM(i.quantity) FROM items i WHERE i.product_id = p.id) AS rest FROM products p;
SELECT id, CONCAT(name, ':', (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)) AS t FROM customers c;
SELECT id, IF((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) > 1, 'many', 'few') AS t FROM customers c;
SELECT id, CASE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) WHEN 0 THEN 'none' WHEN 1 THEN 'one' ELSE 'more' END AS t FROM customers c;
SELECT id, CASE WHEN city IS NULL THEN (SELECT r.city FROM customers r WHERE r.id = c.referrer_id) ELSE city END AS place FROM customers c;
SELECT DISTINCT (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c;
SELECT (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) + (SELECT COUNT(*) FROM customers r WHERE r.referrer_id = c.id) AS links, id FROM customers c;

-- WHERE.
SELECT id FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) > 1;
SELECT id FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) = 0;
SELECT id FROM customers c WHERE credit < (SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE credit < (SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid');
SELECT id FROM customers c WHERE (SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id) IS NULL;
SELECT id FROM customers c WHERE 'paid' = (SELECT status FROM orders o WHERE o.customer_id = c.id ORDER BY id LIMIT 1);
SELECT id FROM customers c WHERE 'paid' IN (SELECT status FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE 'paid' NOT IN (SELECT status FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE c.id IN (SELECT o.customer_id FROM orders o WHERE o.total > c.credit);
SELECT id FROM customers c WHERE c.id NOT IN (SELECT o.customer_id FROM orders o WHERE o.customer_id = c.id);
SELECT id FROM customers c WHERE c.credit IN (SELECT d.credit FROM customers d WHERE d.id <> c.id);
SELECT id FROM orders o WHERE total = (SELECT MAX(total) FROM orders p WHERE p.customer_id = o.customer_id);
SELECT id FROM orders o WHERE total = (SELECT MAX(total) FROM orders p WHERE p.status = o.status);
SELECT id FROM orders o WHERE total > (SELECT AVG(total) FROM orders p WHERE p.status = o.status);
SELECT id FROM orders o WHERE placed = (SELECT MAX(placed) FROM orders p WHERE p.customer_id <=> o.customer_id);
SELECT id FROM orders o WHERE 1 < (SELECT COUNT(*) FROM orders p WHERE p.placed = o.placed);
SELECT id FROM orders o WHERE 2 > (SELECT COUNT(*) FROM orders p WHERE p.status = o.status AND p.id < o.id);
SELECT id FROM orders o WHERE total <> (SELECT SUM(i.quantity * i.price) FROM items i WHERE i.order_id = o.id);
SELECT id FROM orders o WHERE total = (SELECT SUM(i.quantity * i.price) FROM items i WHERE i.order_id = o.id);
SELECT name FROM employees e WHERE salary > (SELECT AVG(salary) FROM employees f WHERE f.dept = e.dept);
SELECT name FROM employees e WHERE salary > (SELECT m.salary / 2 FROM employees m WHERE m.id = e.manager_id);
SELECT name FROM employees e WHERE hired = (SELECT MIN(hired) FROM employees f WHERE f.dept = e.dept);
SELECT name FROM employees e WHERE dept <> (SELECT m.dept FROM employees m WHERE m.id = e.manager_id);
SELECT name FROM employees e WHERE 3 >= (SELECT COUNT(DISTINCT f.salary) FROM employees f WHERE f.salary >= e.salary) AND salary IS NOT NULL;
SELECT x, y FROM pairs p WHERE w = (SELECT MAX(w) FROM pairs q WHERE q.x = p.x);
SELECT x, y FROM pairs p WHERE y = (SELECT COUNT(*) FROM pairs q WHERE q.x = p.x);
SELECT src, dst FROM edges e WHERE weight = (SELECT MIN(weight) FROM edges f WHERE f.src = e.src);
SELECT s.year, s.quarter, s.region FROM sales s WHERE amount = (SELECT MAX(amount) FROM sales t WHERE t.year = s.year);

-- FROM: conditions of joins, and derived tables whose subqueries are correlated inside.
SELECT c.id, o.id FROM customers c JOIN orders o ON o.id = (SELECT MAX(p.id) FROM orders p WHERE p.customer_id = c.id);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total = (SELECT MAX(p.total) FROM orders p WHERE p.customer_id = c.id);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND (SELECT COUNT(*) FROM items i WHERE i.order_id = o.id) > 1;
SELECT d.id, d.n FROM (SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c) d WHERE d.n > 0 ORDER BY d.n DESC, d.id;
SELECT d.n, COUNT(*) FROM (SELECT (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c) d GROUP BY d.n;
SELECT c.id, d.top FROM customers c JOIN (SELECT o.id, (SELECT MAX(price) FROM items i WHERE i.order_id = o.id) AS top, o.customer_id FROM orders o) d ON d.customer_id = c.id;

-- GROUP BY, HAVING, ORDER BY and aggregates.
SELECT status, (SELECT COUNT(*) FROM orders p WHERE p.status > o.status) AS after FROM orders o GROUP BY status;
SELECT customer_id, COUNT(*), (SELECT name FROM customers c WHERE c.id = o.customer_id) AS name FROM orders o GROUP BY customer_id;
SELECT dept, MAX(salary), (SELECT COUNT(*) FROM employees f WHERE f.dept = e.dept AND f.salary IS NULL) AS unpaid FROM employees e WHERE dept <> 'tech' GROUP BY dept;
SELECT customer_id FROM orders o GROUP BY customer_id HAVING SUM(total) > (SELECT credit FROM customers c WHERE c.id = o.customer_id);
SELECT customer_id, SUM(total) AS s FROM orders o GROUP BY customer_id HAVING s < (SELECT credit FROM customers c WHERE c.id = customer_id);
SELECT customer_id FROM orders o GROUP BY customer_id HAVING COUNT(*) = (SELECT COUNT(*) FROM orders p WHERE p.customer_id = o.customer_id AND p.total > 10);
SELECT (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n, COUNT(*), GROUP_CONCAT(id ORDER BY id) FROM customers c GROUP BY n;
SELECT SUM((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)) AS s FROM customers c;
SELECT MAX((SELECT SUM(total) FROM orders o WHERE o.customer_id = c.id)) AS m, AVG((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)) AS a FROM customers c;
SELECT id FROM customers c ORDER BY (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) DESC, id;
SELECT id FROM customers c ORDER BY (SELECT MAX(total) FROM orders o WHERE o.customer_id = c.id), id DESC;
SELECT id FROM customers c ORDER BY (SELECT r.name FROM customers r WHERE r.id = c.referrer_id) IS NULL, id LIMIT 3;
SELECT id, RANK() OVER (ORDER BY (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) DESC) AS place FROM customers c;
SELECT id, SUM((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)) OVER (ORDER BY id) AS running FROM customers c;

-- Two levels and more: a column of the outermost query, of the middle one, of both.
SELECT id FROM customers c WHERE credit > (SELECT AVG(total) FROM orders o WHERE o.customer_id = c.id AND o.id IN (SELECT i.order_id FROM items i WHERE i.product_id = c.id));
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id AND (SELECT COUNT(*) FROM items i WHERE i.order_id = o.id) > 1) AS n FROM customers c;
SELECT id, (SELECT SUM((SELECT SUM(i.quantity) FROM items i WHERE i.order_id = o.id)) FROM orders o WHERE o.customer_id = c.id) AS q FROM customers c;
SELECT id, (SELECT MAX((SELECT MAX(i.price) FROM items i WHERE i.order_id = o.id AND i.price < c.credit)) FROM orders o WHERE o.customer_id = c.id) AS p FROM customers c;
SELECT id, (SELECT (SELECT (SELECT c.id + 1))) AS t FROM customers c;
SELECT id, (SELECT (SELECT MAX(n) FROM numbers WHERE n < c.id) FROM lone) AS t FROM customers c;
SELECT id, (SELECT COUNT(*) FROM customers d WHERE d.credit > (SELECT AVG(total) FROM orders o WHERE o.customer_id IN (c.id, d.id))) AS t FROM customers c;
SELECT name FROM employees e WHERE salary = (SELECT MAX(salary) FROM employees f WHERE f.dept = e.dept AND f.salary < (SELECT MAX(salary) FROM employees g WHERE g.dept = e.dept));
SELECT name FROM employees e WHERE EXISTS (SELECT 1 FROM employees f WHERE f.manager_id = e.id AND f.salary > (SELECT AVG(salary) FROM employees g WHERE g.dept = e.dept));
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.price > (SELECT price FROM products p WHERE p.id = i.product_id AND p.price < o.total));
SELECT id FROM orders o WHERE total > ALL (SELECT p.price FROM products p WHERE p.id IN (SELECT i.product_id FROM items i WHERE i.order_id = o.id));
SELECT name FROM products p WHERE id IN (SELECT product_id FROM items i WHERE i.quantity > (SELECT AVG(quantity) FROM items j WHERE j.product_id = p.id));
SELECT name FROM categories k WHERE (SELECT COUNT(*) FROM products p WHERE p.category_id = k.id AND p.id IN (SELECT i.product_id FROM items i JOIN orders o ON o.id = i.order_id WHERE o.customer_id = k.parent_id)) >= 0 AND k.id > 5;
SELECT n FROM numbers a WHERE n > 1 AND NOT EXISTS (SELECT 1 FROM numbers b WHERE b.n BETWEEN 2 AND a.n - 1 AND a.n = b.n * (SELECT MAX(c.n) FROM numbers c WHERE c.n * b.n <= a.n));
SELECT n, (SELECT SUM((SELECT COUNT(*) FROM numbers c WHERE c.n <= b.n AND c.n <= a.n)) FROM numbers b WHERE b.n <= 3) AS t FROM numbers a WHERE n <= 4;

-- Aggregates of the outer query inside of a subquery.
SELECT status, (SELECT MAX(o.total)) AS top FROM orders o GROUP BY status;
SELECT status, (SELECT COUNT(*) FROM numbers WHERE n <= COUNT(o.id)) AS t FROM orders o GROUP BY status;
SELECT customer_id FROM orders o GROUP BY customer_id HAVING EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id AND c.credit > SUM(o.total));

-- Names: the nearest table hides the outer one; a name that only the outer query has comes from there.
SELECT id FROM customers WHERE id IN (SELECT id FROM lone);
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM numbers WHERE n = id);
SELECT id FROM customers WHERE EXISTS (SELECT 1 FROM items WHERE product_id = id AND quantity > 5);
SELECT id FROM customers WHERE id IN (SELECT city FROM numbers);
SELECT id FROM customers WHERE credit IN (SELECT credit FROM orders);
SELECT id FROM customers WHERE 1 = (SELECT COUNT(*) FROM lone WHERE id = customers.id);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = 1);
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders c WHERE c.customer_id = id);
SELECT id, (SELECT COUNT(*) FROM customers WHERE id = id) AS n FROM customers WHERE id < 3;
SELECT id AS k, (SELECT COUNT(*) FROM orders WHERE customer_id = customers.id) AS n FROM customers ORDER BY k;

-- Errors.
-- error 1054
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = x.id) FROM customers c;
-- error 1054
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = customers.id) FROM customers c;
-- error 1054
SELECT o.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
-- error 1054
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o) AND o.id = 1;
-- error 1054
SELECT id FROM customers c WHERE (SELECT COUNT(*) FROM (SELECT 1 FROM orders o WHERE o.customer_id = k.id) d) > 0;
-- error 1242
SELECT id, (SELECT o.id FROM orders o WHERE o.customer_id = c.id) FROM customers c;
-- error 1242
SELECT id FROM customers c WHERE credit > (SELECT total FROM orders o WHERE o.customer_id = c.id);
-- error 1242
SELECT id FROM customers c ORDER BY (SELECT o.id FROM orders o WHERE o.customer_id = c.id), id;
-- error 1241
SELECT id, (SELECT o.id, o.total FROM orders o WHERE o.customer_id = c.id) FROM customers c;
-- error 1052
SELECT c.id FROM customers c JOIN products p ON p.id = c.id WHERE EXISTS (SELECT 1 FROM numbers WHERE n = id);
-- error 1111
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE MAX(c.id) = 1);
