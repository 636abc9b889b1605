-- subqueries in expressions
SELECT id, item FROM orders WHERE item IN (SELECT item FROM orders WHERE price > 9);
SELECT id, item FROM orders WHERE item NOT IN (SELECT item FROM orders WHERE price > 9 AND item IS NOT NULL);
SELECT id, item FROM orders WHERE item NOT IN (SELECT item FROM orders WHERE qty IS NULL);
SELECT id FROM orders WHERE qty NOT IN (SELECT age FROM people WHERE age > 1000);
SELECT id FROM orders WHERE qty NOT IN (SELECT age FROM people);
SELECT id FROM orders WHERE price > 5 AND EXISTS (SELECT 1 FROM people WHERE age > 40);
SELECT id FROM orders WHERE NOT EXISTS (SELECT * FROM people WHERE age > 400) AND price < 9;
SELECT id, price FROM orders AS o WHERE EXISTS (SELECT 1 FROM people AS p WHERE p.age = o.price * 3 AND p.active);
SELECT id, price FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM orders AS p WHERE p.id = o.id + 1 AND p.price > 5);
SELECT id FROM orders AS o WHERE price IN (SELECT p.price FROM orders AS p WHERE p.id = o.id + 3);
SELECT id, price FROM orders WHERE price > (SELECT AVG(price) FROM orders);
SELECT id, price * 100 / (SELECT SUM(price) FROM orders) AS share FROM orders WHERE id < 5;
SELECT id, (SELECT MAX(age) FROM people WHERE age > 1000) AS nobody FROM orders WHERE id < 3;
SELECT item, COUNT(*) AS n FROM orders WHERE item IN (SELECT item FROM orders GROUP BY item HAVING COUNT(*) > 1) GROUP BY item;
SELECT id FROM orders WHERE (item, price) IN (SELECT item, MAX(price) FROM orders GROUP BY item);
SELECT id FROM orders WHERE price = (SELECT price FROM orders);
