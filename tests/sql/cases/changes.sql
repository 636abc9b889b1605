-- Every single change, row by row, as Flink emits them by default; watermarks come row by row, too.
-- table.exec.mini-batch.enabled: false
SELECT DISTINCT a FROM (VALUES (1), (1), (2)) AS t(a);
SELECT COUNT(*), COUNT(DISTINCT a), SUM(a) FROM (VALUES (1), (1), (2)) AS t(a);
SELECT a FROM (VALUES (1), (2), (1)) AS t(a) UNION SELECT a FROM (VALUES (2), (3)) AS t(a);
SELECT item, COUNT(*), MAX(price) FROM orders GROUP BY item;
SELECT n, COUNT(*) FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item) GROUP BY n;
-- top-n and deduplication
SELECT id, price FROM (SELECT id, price, ROW_NUMBER() OVER (ORDER BY price) AS rn FROM orders) WHERE rn <= 2;
SELECT id, price, rn FROM (SELECT id, price, ROW_NUMBER() OVER (ORDER BY price) AS rn FROM orders) WHERE rn <= 3;
SELECT id, item, price, rn FROM (SELECT id, item, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS rn FROM orders) WHERE rn <= 2;
SELECT id, price, rn FROM (SELECT id, price, ROW_NUMBER() OVER (ORDER BY price DESC) AS rn FROM orders) WHERE rn BETWEEN 2 AND 3;
SELECT id, price FROM (SELECT id, price, ROW_NUMBER() OVER (ORDER BY price DESC) AS rn FROM orders) WHERE rn = 2;
SELECT id, item, price FROM (SELECT id, item, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS rn FROM orders) WHERE rn = 1;
SELECT id, item, price, rn FROM (SELECT id, item, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS rn FROM orders) WHERE rn = 1;
SELECT item, s, rn FROM (SELECT item, s, ROW_NUMBER() OVER (ORDER BY s) AS rn FROM (SELECT item, SUM(price) AS s FROM orders GROUP BY item)) WHERE rn <= 2;
SELECT id, item, price FROM (SELECT id, item, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS rn FROM orders) WHERE rn = 1;
SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY et DESC) AS rn FROM shuffled) WHERE rn = 1;
SELECT id, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY et) AS rn FROM shuffled) WHERE rn = 1;
SELECT id, price FROM orders ORDER BY price LIMIT 2;
SELECT id, price FROM orders ORDER BY price LIMIT 1;
SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 2 OFFSET 1;
SELECT item, COUNT(*) AS n FROM orders GROUP BY item LIMIT 2;
-- sets and subqueries
SELECT item FROM orders INTERSECT SELECT item FROM orders WHERE price < 8;
SELECT id FROM orders WHERE item IN (SELECT item FROM orders WHERE price > 9);
-- rows out of order: bounded OVER goes by the last time of a key, ORDER BY by the last time of all, the others by the watermark
SELECT id, k, SUM(v) OVER (PARTITION BY k ORDER BY et ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM shuffled;
SELECT id, k, SUM(v) OVER (PARTITION BY k ORDER BY et RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW) FROM shuffled;
SELECT id, k, SUM(v) OVER (PARTITION BY k ORDER BY et RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW) FROM shuffled;
SELECT id, k, SUM(v) OVER (PARTITION BY k ORDER BY et ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM shuffled;
SELECT id, k, SUM(v) OVER (PARTITION BY k ORDER BY et RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM shuffled;
SELECT id, k, LAG(v) OVER (PARTITION BY k ORDER BY et) FROM shuffled;
SELECT id, k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY et) FROM shuffled;
SELECT id, COUNT(*) OVER (ORDER BY et ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM shuffled;
SELECT id, k, et FROM shuffled ORDER BY et;
SELECT id, k, et FROM shuffled ORDER BY et, v DESC;
SELECT window_start, window_end, k, SUM(v) FROM TABLE(TUMBLE(TABLE shuffled, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, k;
SELECT window_start, window_end, SUM(v) FROM TABLE(HOP(TABLE shuffled, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
SELECT SESSION_START(et, INTERVAL '3' SECOND), SESSION_END(et, INTERVAL '3' SECOND), k, SUM(v) FROM shuffled GROUP BY SESSION(et, INTERVAL '3' SECOND), k;
SELECT window_start, window_end, k, SUM(v) FROM TABLE(SESSION(TABLE shuffled PARTITION BY k, DESCRIPTOR(et), INTERVAL '3' SECOND)) GROUP BY window_start, window_end, k;
-- sessions of all rows, or of some of the columns that are grouped
SELECT window_start, window_end, item, COUNT(*) FROM TABLE(SESSION(TABLE orders, DESCRIPTOR(et), INTERVAL '6' SECOND)) GROUP BY window_start, window_end, item;
SELECT window_start, window_end, item, qty, COUNT(*) FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '12' SECOND)) GROUP BY window_start, window_end, item, qty;
SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '12' SECOND)) GROUP BY window_start, window_end;
SELECT id, k, window_start, window_end, window_time FROM TABLE(SESSION(TABLE shuffled PARTITION BY k, DESCRIPTOR(et), INTERVAL '3' SECOND));
SELECT id, window_start, window_end FROM TABLE(SESSION(TABLE orders, DESCRIPTOR(et), INTERVAL '6' SECOND)) WHERE item = 'apple';
SELECT window_start, window_end, item, COUNT(*) FROM TABLE(SESSION(TABLE orders, DESCRIPTOR(et), INTERVAL '6' SECOND)) WHERE item <> 'plum' GROUP BY window_start, window_end, item;
SELECT window_start, window_end, item, COUNT(*) FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '12' SECOND)) WHERE price <> 12 GROUP BY window_start, window_end, item;
SELECT window_start, window_end, item, COUNT(*) FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '12' SECOND)) WHERE item <> 'plum' GROUP BY window_start, window_end, item;
-- grouping sets of windows
SELECT window_start, window_end, k, SUM(v) FROM TABLE(TUMBLE(TABLE shuffled, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, GROUPING SETS ((k), ());
SELECT window_start, window_end, k, v, COUNT(*), GROUPING(k), GROUPING_ID(k, v) FROM TABLE(TUMBLE(TABLE shuffled, DESCRIPTOR(et), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, ROLLUP(k, v);
SELECT window_start, window_end, k, v, COUNT(*) FROM TABLE(HOP(TABLE shuffled, DESCRIPTOR(et), INTERVAL '10' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end, CUBE(k, v);
SELECT window_start, window_end, k, COUNT(k), COUNT(DISTINCT v), MAX(v) FROM TABLE(CUMULATE(TABLE shuffled, DESCRIPTOR(et), INTERVAL '10' SECOND, INTERVAL '20' SECOND)) GROUP BY GROUPING SETS ((window_start, window_end, k), (window_start, window_end));
SELECT window_start, window_end, k, COUNT(*) FROM TABLE(TUMBLE(TABLE shuffled, DESCRIPTOR(et), INTERVAL '20' SECOND)) GROUP BY GROUPING SETS ((window_start, window_end, k), (k));
SELECT item, COUNT(item), COUNT(*) FROM orders GROUP BY GROUPING SETS ((item), ());
-- OVER in an order that is not that of time
SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY price) FROM orders;
SELECT id, COUNT(*) OVER (ORDER BY price, id) FROM orders;
SELECT id, k, SUM(v) OVER (PARTITION BY k ORDER BY v DESC) FROM shuffled;
SELECT * FROM TO_CHANGELOG(input => (SELECT item, COUNT(*) AS n FROM orders GROUP BY item));
SELECT * FROM TO_CHANGELOG(input => (SELECT item, COUNT(*) AS n FROM orders GROUP BY item), op_mapping => MAP['INSERT, UPDATE_AFTER', 'put']);
SELECT * FROM FROM_CHANGELOG(input => (SELECT * FROM TO_CHANGELOG(input => (SELECT item, COUNT(*) AS n FROM orders GROUP BY item))));
