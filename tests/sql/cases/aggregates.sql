-- functions of groups
SELECT item, FIRST_VALUE(id), LAST_VALUE(id), LISTAGG(CAST(id AS STRING)), LISTAGG(CAST(id AS STRING), '-'), COLLECT(price), ARRAY_AGG(id) FROM orders WHERE item = 'plum' OR item = 'apple' GROUP BY item;
SELECT item, COUNT(DISTINCT price), SUM(DISTINCT price), AVG(DISTINCT price), LISTAGG(DISTINCT item), MAX(DISTINCT qty), COUNT(DISTINCT qty) FILTER (WHERE price > 5) FROM orders GROUP BY item;
SELECT JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE price), JSON_ARRAYAGG(id), JSON_ARRAYAGG(qty NULL ON NULL), JSON_ARRAYAGG(qty), JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE qty ABSENT ON NULL) FROM orders WHERE id < 4;
SELECT item, JSON_OBJECTAGG(KEY item VALUE id), JSON_ARRAYAGG(item) FROM orders WHERE item = 'plum' AND id = 4 GROUP BY item;
SELECT PERCENTILE(price, 0.5), PERCENTILE(price, ARRAY[0.25, 0.75]), PERCENTILE(price, 0.5, qty) FROM orders;
SELECT VAR_POP(price), VAR_SAMP(price), STDDEV_POP(price), STDDEV_SAMP(price), VARIANCE(CAST(price AS DOUBLE)), STDDEV(CAST(price AS DOUBLE)) FROM orders;
SELECT VAR_POP(score), STDDEV_SAMP(score), AVG(score), AVG(CAST(age AS BIGINT)), AVG(CAST(height AS FLOAT)), SUM(CAST(age AS TINYINT)), SUM(CAST(height AS FLOAT)), SUM(CAST(age AS SMALLINT)) FROM people;
SELECT MIN(name), MAX(city), MIN(active), MAX(active), MIN(score), COUNT(city), COUNT(*) FROM people;
SELECT MIN(et), MAX(et), COUNT(et) FROM orders;
SELECT COUNT(*), SUM(price), MAX(item), AVG(price) FROM orders WHERE id > 100;
SELECT COUNT(DISTINCT item), COUNT(DISTINCT qty), SUM(DISTINCT qty) FROM orders;
SELECT SUM(price) + COUNT(*) * 2, AVG(price) > 5, UPPER(MAX(item)), CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END FROM orders;
SELECT APPROX_COUNT_DISTINCT(item) FROM orders;
-- keys
SELECT UPPER(item), COUNT(*) FROM orders GROUP BY UPPER(item);
SELECT item AS i, COUNT(*) FROM orders GROUP BY item HAVING SUM(price) > 10 AND item IS NOT NULL;
SELECT price > 7, item, COUNT(*) FROM orders GROUP BY price > 7, item;
SELECT DISTINCT item, qty > 2 FROM orders;
SELECT COUNT(*) FROM (SELECT DISTINCT item FROM orders);
SELECT city, COUNT(*) FROM people GROUP BY city HAVING COUNT(*) > 1 AND AVG(height) > 1;
SELECT COUNT(*) FROM orders HAVING COUNT(*) > 100;
SELECT 1, COUNT(*) FROM orders GROUP BY 1;
SELECT city, active, COUNT(*) FROM people GROUP BY (city, active);
SELECT EXTRACT(MINUTE FROM et), COUNT(*) FROM orders GROUP BY EXTRACT(MINUTE FROM et);
-- grouping sets
SELECT item, qty, price, COUNT(*), GROUPING(item), GROUPING(qty), GROUPING_ID(item, qty, price) FROM orders WHERE id < 6 GROUP BY GROUPING SETS ((item, qty), (price), ());
SELECT city, COUNT(*), SUM(age) FROM people GROUP BY ROLLUP(city);
SELECT city, active, age, COUNT(*) FROM people GROUP BY ROLLUP(city, active, age);
SELECT city, active, MAX(height) FROM people GROUP BY CUBE(city, active) HAVING COUNT(*) > 1;
SELECT city, active, COUNT(*) FROM people GROUP BY city, ROLLUP(active);
SELECT city, COUNT(DISTINCT age), COUNT(*) FILTER (WHERE active) FROM people GROUP BY GROUPING SETS ((city), ());
SELECT item, GROUP_ID(), COUNT(*) FROM orders GROUP BY GROUPING SETS ((item), ());
-- changes of changes
SELECT n, LISTAGG(item), MIN(item), MAX(item), COUNT(DISTINCT item) FROM (SELECT item, COUNT(*) AS n FROM orders WHERE item IS NOT NULL GROUP BY item) GROUP BY n HAVING COUNT(*) = 1;
SELECT SUM(n), AVG(n), MIN(n), MAX(n), COUNT(*), COUNT(DISTINCT n) FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item);
SELECT item, n * 2 FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM orders GROUP BY item) WHERE s > 10;
SELECT s, COUNT(*) FROM (SELECT item, SUM(price) AS s FROM orders GROUP BY item) GROUP BY s;
SELECT a.n FROM (SELECT COUNT(*) AS n FROM orders UNION ALL SELECT COUNT(*) FROM people) AS a;
-- windows of windows
SELECT window_start, window_end, COUNT(*) AS items, SUM(s) AS total FROM (SELECT item, window_start, window_end, SUM(price) AS s FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '6' SECOND)) GROUP BY item, window_start, window_end) GROUP BY window_start, window_end;
SELECT window_start, window_end, COUNT(*) AS items, MAX(s) AS best FROM (SELECT item, window_start, window_end, SUM(price) AS s FROM TABLE(HOP(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY item, window_start, window_end) GROUP BY window_start, window_end;
SELECT window_start, window_end, COUNT(*) AS n, SUM(price) AS s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item ORDER BY price DESC) AS place FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '15' SECOND))) WHERE place = 1 GROUP BY window_start, window_end;
