-- CASE, IF and the like in each clause, over joined, grouped and windowed rows.

-- Select list.
SELECT id, CASE status WHEN 'paid' THEN 1 WHEN 'open' THEN 2 ELSE 0 END AS code FROM orders;
SELECT id, CASE status WHEN 'PAID' THEN 1 WHEN 'Paid' THEN 2 END AS code FROM orders;
SELECT id, CASE WHEN total > 100 THEN 'high' WHEN total > 50 THEN 'middle' WHEN total IS NULL THEN 'none' ELSE 'low' END AS band FROM orders;
SELECT id, CASE WHEN total > 50 THEN total ELSE -total END AS v FROM orders;
SELECT id, CASE WHEN total > 50 THEN 'text' ELSE total END AS v FROM orders;
SELECT id, CASE WHEN customer_id IS NULL THEN 0 ELSE customer_id END AS v FROM orders;
SELECT id, CASE WHEN CASE WHEN total > 50 THEN 1 ELSE 0 END = 1 THEN 'a' ELSE 'b' END AS v FROM orders;
SELECT id, CASE id % 3 WHEN 0 THEN 'zero' WHEN 1 THEN 'one' END AS v FROM orders;
SELECT id, CASE WHEN FALSE THEN 1 END AS v FROM orders;
SELECT id, CASE WHEN NULL THEN 1 ELSE 2 END AS v FROM orders WHERE id < 102;
SELECT id, IF(total > 50, 'big', 'small') AS v, IFNULL(total, 0) AS w, NULLIF(status, 'paid') AS x FROM orders;
SELECT id, IF(customer_id, IF(total, 'both', 'customer'), 'none') AS v FROM orders;
SELECT id, COALESCE(total, customer_id, 0) AS v FROM orders;
SELECT id, ELT(customer_id, 'one', 'two', 'three') AS v, FIELD(status, 'paid', 'open') AS w FROM orders;
SELECT CASE 1 WHEN 1.0 THEN 'same' END, CASE 'a' WHEN 'A' THEN 'same' END, CASE '1' WHEN 1 THEN 'same' END;
SELECT CASE WHEN 1 THEN 1 ELSE 2.5 END, CASE WHEN 0 THEN 1 ELSE 'x' END, CASE WHEN 1 THEN NULL ELSE 2 END;

-- WHERE and ON.
SELECT id FROM orders WHERE CASE WHEN status = 'paid' THEN total > 50 ELSE total < 50 END;
SELECT id FROM orders WHERE CASE status WHEN 'paid' THEN 1 WHEN 'open' THEN NULL ELSE 0 END;
SELECT id FROM orders WHERE IF(customer_id IS NULL, TRUE, customer_id > 5);
SELECT id FROM orders WHERE CASE WHEN total > 50 THEN 'x' ELSE 'y' END = 'x';
SELECT id FROM orders WHERE total > CASE WHEN status = 'paid' THEN 80 ELSE 10 END;
SELECT id FROM orders WHERE id IN (CASE WHEN customer_id = 1 THEN 100 END, 105);
SELECT id FROM orders WHERE COALESCE(total, 1000) > 100;
SELECT c.id, o.id FROM customers c JOIN orders o ON CASE WHEN c.city IS NULL THEN o.customer_id IS NULL ELSE o.customer_id = c.id END;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = CASE WHEN c.id > 3 THEN c.referrer_id ELSE c.id END;
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = IF(c.credit > 50, c.id, 0);
SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE CASE WHEN o.id IS NULL THEN c.id > 5 ELSE o.total > 50 END;
SELECT c.id, CASE WHEN o.id IS NULL THEN 'none' WHEN o.total > c.credit THEN 'over' ELSE 'within' END AS t FROM customers c LEFT JOIN orders o ON o.customer_id = c.id;

-- GROUP BY, HAVING, aggregates.
SELECT CASE WHEN total > 50 THEN 'big' ELSE 'small' END AS size, COUNT(*), SUM(total) FROM orders GROUP BY size;
SELECT CASE WHEN total > 50 THEN 'big' ELSE 'small' END, COUNT(*) FROM orders GROUP BY CASE WHEN total > 50 THEN 'big' ELSE 'small' END;
SELECT CASE status WHEN 'paid' THEN 'done' WHEN 'sent' THEN 'done' ELSE 'open' END AS state, COUNT(*), MIN(id), MAX(id) FROM orders GROUP BY state;
SELECT IF(customer_id IS NULL, 'none', 'some') AS k, COUNT(*) FROM orders GROUP BY k;
SELECT SUM(CASE WHEN status = 'paid' THEN total END) AS paid, SUM(CASE WHEN status = 'open' THEN total END) AS open_sum, SUM(CASE WHEN status = 'void' THEN total END) AS void FROM orders;
SELECT customer_id, SUM(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) AS paid, COUNT(CASE WHEN status = 'open' THEN 1 END) AS open_count FROM orders GROUP BY customer_id;
SELECT year, MAX(CASE WHEN quarter = 1 THEN amount END) AS q1, MAX(CASE WHEN quarter = 2 THEN amount END) AS q2, COUNT(CASE WHEN amount > 10 THEN region END) AS n FROM sales GROUP BY year;
SELECT COUNT(DISTINCT CASE WHEN total > 50 THEN customer_id END) AS n FROM orders;
SELECT GROUP_CONCAT(CASE WHEN total > 50 THEN id END ORDER BY id) AS ids FROM orders;
SELECT status, CASE WHEN COUNT(*) > 2 THEN 'many' ELSE 'few' END AS k FROM orders GROUP BY status;
SELECT status, CASE status WHEN 'paid' THEN SUM(total) ELSE COUNT(*) END AS v FROM orders GROUP BY status;
SELECT status, IF(SUM(total) > 100, MAX(total), MIN(total)) AS v FROM orders GROUP BY status;
SELECT status FROM orders GROUP BY status HAVING CASE WHEN status = 'paid' THEN COUNT(*) > 3 ELSE COUNT(*) > 2 END;
SELECT status FROM orders GROUP BY status HAVING IF(MAX(total) > 100, 1, 0);
SELECT AVG(CASE WHEN total IS NULL THEN 0 ELSE total END) AS a, AVG(total) AS b FROM orders;

-- ORDER BY, windows.
SELECT id FROM orders ORDER BY CASE WHEN status = 'open' THEN 0 ELSE 1 END, id;
SELECT id FROM orders ORDER BY CASE status WHEN 'sent' THEN 1 WHEN 'paid' THEN 2 ELSE 3 END, total DESC, id;
SELECT id FROM orders ORDER BY IF(total > 50, id, -id);
SELECT id FROM orders ORDER BY COALESCE(total, 60), id LIMIT 6;
SELECT id, SUM(CASE WHEN status = 'paid' THEN total ELSE 0 END) OVER (ORDER BY id) AS s FROM orders;
SELECT id, ROW_NUMBER() OVER (PARTITION BY CASE WHEN total > 50 THEN 1 ELSE 0 END ORDER BY id) AS r FROM orders;
SELECT id, RANK() OVER (ORDER BY CASE WHEN status = 'paid' THEN 0 ELSE 1 END) AS r FROM orders;
SELECT id, CASE RANK() OVER (ORDER BY total DESC) WHEN 1 THEN 'gold' WHEN 2 THEN 'silver' ELSE 'none' END AS medal FROM orders;
SELECT id, CASE WHEN total > AVG(total) OVER () THEN 'above' ELSE 'below' END AS t FROM orders;
SELECT status, CASE WHEN RANK() OVER (ORDER BY COUNT(*) DESC) = 1 THEN 'top' ELSE 'rest' END AS t FROM orders GROUP BY status;

-- Subqueries inside.
SELECT id, CASE WHEN EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id) THEN 'items' ELSE 'bare' END AS t FROM orders o;
SELECT id, CASE WHEN total > (SELECT AVG(total) FROM orders) THEN 'above' ELSE 'below' END AS t FROM orders;
SELECT id, CASE WHEN customer_id IN (SELECT id FROM customers WHERE city = 'Oslo') THEN 'oslo' WHEN customer_id IN (SELECT id FROM customers) THEN 'known' ELSE 'unknown' END AS t FROM orders;
SELECT id, CASE (SELECT COUNT(*) FROM items i WHERE i.order_id = o.id) WHEN 0 THEN 'none' WHEN 1 THEN 'one' ELSE 'more' END AS t FROM orders o;
SELECT id, IF(total IS NULL, (SELECT SUM(i.price) FROM items i WHERE i.order_id = o.id), total) AS v FROM orders o;
SELECT id, CASE WHEN FALSE THEN (SELECT n FROM numbers WHERE n = 1) ELSE id END AS v FROM orders WHERE id < 103;
SELECT id, COALESCE((SELECT name FROM customers c WHERE c.id = o.customer_id), (SELECT name FROM employees e WHERE e.id = o.id - 100), '?') AS t FROM orders o;
SELECT CASE WHEN (SELECT COUNT(*) FROM nothing) = 0 THEN (SELECT MAX(id) FROM orders) ELSE (SELECT MIN(id) FROM orders) END AS v;

-- Changes.
UPDATE orders SET status = CASE WHEN total > 100 THEN 'big' WHEN total IS NULL THEN 'null' ELSE status END;
SELECT id, status FROM orders ORDER BY id;
UPDATE customers SET credit = CASE id WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE credit END WHERE id < 4;
SELECT id, credit FROM customers ORDER BY id;
UPDATE customers c LEFT JOIN orders o ON o.customer_id = c.id SET c.city = IF(o.id IS NULL, 'no orders', 'orders');
SELECT id, city FROM customers ORDER BY id;
DELETE FROM orders WHERE CASE WHEN status = 'big' THEN id < 106 ELSE total < 10 END;
SELECT id FROM orders ORDER BY id;
INSERT INTO nothing (id, a) SELECT id, CASE WHEN total > 50 THEN 1 ELSE 0 END FROM orders;
SELECT id, a FROM nothing ORDER BY id;

-- Errors.
-- error 1054
SELECT CASE absent WHEN 1 THEN 2 END FROM orders;
-- error 1054
SELECT CASE WHEN id = 1 THEN absent END FROM orders;
-- error 1241
SELECT CASE (1, 2) WHEN 1 THEN 2 END;
-- error 1241
SELECT CASE WHEN 1 THEN (1, 2) END;
-- error 1241
SELECT IF((1, 2), 1, 2);
-- error 1242
SELECT CASE WHEN 1 THEN (SELECT id FROM orders) END;
-- error 1064
SELECT CASE END;
-- error 1064
SELECT CASE WHEN 1 END;
-- error 1064
SELECT CASE WHEN 1 THEN 2;
-- error 1064
SELECT CASE 1 THEN 2 END;
-- error 1064
SELECT CASE WHEN 1 THEN 2 ELSE END;
-- error 1064
SELECT IF(1) FROM orders;
