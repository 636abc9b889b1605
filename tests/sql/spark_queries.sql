-- Queries whose final rows are compared with Spark's; a comment below is how Spark writes it.
-- class: projection
SELECT id, price + qty, price - 2 * qty, UPPER(item), price > 3 FROM t WHERE price * 2 > 5;
SELECT id, CASE WHEN price > qty THEN 'more' WHEN price = qty THEN 'same' ELSE item END, COALESCE(item, 'none'), NULLIF(price, qty) FROM t;
SELECT id, price > 3 AND qty > 2, price > 3 OR qty > 2, NOT (price > 3), price IS DISTINCT FROM qty, (price > 3) IS NOT TRUE FROM t;
SELECT id, price IN (1, 2, qty), price NOT IN (1, 3), price BETWEEN 2 AND qty, item LIKE 'a%', item IS NULL FROM t;
SELECT id, CAST(price AS STRING), item || '-' || CAST(qty AS STRING), MOD(price, 3), ABS(qty - 3), price / 4, weight * 2 FROM t;
-- spark: SELECT id, CAST(price AS STRING), item || '-' || CAST(qty AS STRING), MOD(price, 3), ABS(qty - 3), price div 4, weight * 2 FROM t
SELECT id, CHAR_LENGTH(item), SUBSTRING(item FROM 1 FOR 1), GREATEST(price, qty, 3), CAST(weight AS INT) FROM t WHERE NOT (price > 3 OR qty < 2);
-- spark: SELECT id, CHAR_LENGTH(item), SUBSTRING(item, 1, 1), CASE WHEN price IS NOT NULL AND qty IS NOT NULL THEN GREATEST(price, qty, 3) END, CAST(weight AS INT) FROM t WHERE NOT (price > 3 OR qty < 2)
-- class: aggregates
SELECT item, COUNT(*), COUNT(qty), SUM(price), MIN(price), MAX(qty), SUM(weight), AVG(weight) FROM t GROUP BY item;
SELECT item, AVG(price), ROUND(STDDEV_POP(CAST(price AS DOUBLE)), 6), ROUND(VAR_POP(weight), 6) FROM t GROUP BY item;
-- spark: SELECT item, CAST(AVG(price) AS INT), ROUND(STDDEV_POP(CAST(price AS DOUBLE)), 6), ROUND(VAR_POP(weight), 6) FROM t GROUP BY item
SELECT item, COUNT(DISTINCT price), SUM(DISTINCT qty), COUNT(*), AVG(DISTINCT weight) FROM t GROUP BY item;
SELECT item, COUNT(DISTINCT price) FILTER (WHERE qty > 1), COUNT(DISTINCT price) FILTER (WHERE qty < 3) FROM t GROUP BY item;
SELECT item, SUM(qty) FILTER (WHERE price > 3), COUNT(*) FILTER (WHERE qty < 3) FROM t GROUP BY item;
SELECT price > 3, qty + 1, COUNT(*), MIN(item) FROM t GROUP BY price > 3, qty + 1;
SELECT item, SUM(price) FROM t GROUP BY item HAVING COUNT(*) > 1 AND SUM(price) > 4;
SELECT COUNT(*), SUM(price), MAX(item) FROM t HAVING COUNT(*) > 0;
SELECT item, qty, COUNT(*), SUM(price) FROM t GROUP BY CUBE (item, qty);
SELECT item, qty, GROUPING(item), GROUPING(qty), MAX(price) FROM t GROUP BY ROLLUP (item, qty) HAVING COUNT(*) > 1;
SELECT item, price > 3, COUNT(*), COUNT(DISTINCT qty) FROM t GROUP BY GROUPING SETS ((item), (price > 3), (item, price > 3));
SELECT DISTINCT item, qty FROM t WHERE price > 1;
-- class: changes
SELECT n, COUNT(*), SUM(s), MIN(item), MAX(s) FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item) GROUP BY n;
SELECT MAX(n), MIN(s), COUNT(DISTINCT n) FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item) HAVING COUNT(*) > 0;
SELECT item, n FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item) WHERE s > 4;
SELECT s, COUNT(DISTINCT n), SUM(DISTINCT n), AVG(w), COUNT(*) FILTER (WHERE n > 1) FROM (SELECT item, COUNT(*) AS n, MAX(price) AS s, SUM(weight) AS w FROM t GROUP BY item) GROUP BY s;
SELECT n, item, COUNT(*) FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) GROUP BY ROLLUP (n, item);
WITH v AS (SELECT item, MAX(price) AS top FROM t GROUP BY item), w AS (SELECT top, COUNT(*) AS n FROM v GROUP BY top) SELECT n, MAX(top) FROM w GROUP BY n;
SELECT DISTINCT n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item UNION ALL SELECT item, price FROM t);
-- class: sets
SELECT item FROM t WHERE price > 2 INTERSECT SELECT item FROM t WHERE qty > 2;
SELECT item FROM t WHERE price > 2 INTERSECT ALL SELECT item FROM t WHERE qty > 2;
SELECT item FROM t EXCEPT SELECT item FROM t WHERE qty > 2;
SELECT item FROM t EXCEPT ALL SELECT item FROM t WHERE qty > 2;
SELECT item, price FROM t UNION SELECT item, qty FROM t;
SELECT item, price FROM t WHERE qty > 1 UNION ALL SELECT 'x', qty FROM t;
SELECT item, n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) EXCEPT SELECT item, price FROM t;
-- spark: SELECT item, n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) EXCEPT SELECT item, CAST(price AS BIGINT) FROM t
SELECT n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) INTERSECT ALL SELECT n FROM (SELECT qty, COUNT(*) AS n FROM t GROUP BY qty);
(SELECT item FROM t WHERE price > 4 UNION SELECT item FROM t WHERE qty > 2) EXCEPT SELECT item FROM t WHERE price < 2;
-- class: rankings
SELECT id, price FROM t ORDER BY price DESC, id LIMIT 3;
-- spark: SELECT id, price FROM t ORDER BY price DESC NULLS LAST, id LIMIT 3
SELECT id FROM t ORDER BY qty, id DESC LIMIT 2 OFFSET 1;
-- spark: SELECT id FROM t ORDER BY qty NULLS FIRST, id DESC LIMIT 2 OFFSET 1
SELECT id, et FROM t ORDER BY et;
SELECT COUNT(*) FROM (SELECT id FROM t LIMIT 4) HAVING COUNT(*) > 0;
SELECT COUNT(*) FROM (SELECT n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) LIMIT 2) HAVING COUNT(*) > 0;
SELECT id, item, rn FROM (SELECT id, item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id DESC) AS rn FROM t) WHERE rn <= 2;
SELECT id, item FROM (SELECT id, item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC, id) AS rn FROM t) WHERE rn <= 2;
-- spark: SELECT id, item FROM (SELECT id, item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC NULLS LAST, id) AS rn FROM t) WHERE rn <= 2
SELECT id, rn FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY qty, id) AS rn FROM t) WHERE rn BETWEEN 2 AND 3;
SELECT id, item FROM (SELECT id, item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id) AS rn FROM t) WHERE rn = 1;
SELECT item, n, rn FROM (SELECT item, n, ROW_NUMBER() OVER (ORDER BY n DESC, item) AS rn FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item)) WHERE rn <= 2;
SELECT item, s FROM (SELECT item, s, ROW_NUMBER() OVER (PARTITION BY n ORDER BY s, item) AS rn FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item)) WHERE rn <= 1;
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS rn FROM t) WHERE rn = 1;
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY qty ORDER BY et) AS rn FROM t) WHERE rn = 1;
SELECT qty, COUNT(*), SUM(price) FROM (SELECT qty, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS rn FROM t) WHERE rn = 1 GROUP BY qty;
-- class: windows
SELECT window_start, window_end, item, COUNT(*), SUM(price), COUNT(DISTINCT qty) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, item;
-- spark: SELECT window.start, window.end, item, COUNT(*), SUM(price), COUNT(DISTINCT qty) FROM t GROUP BY window(et, '10 seconds'), item
SELECT window_start, window_end, COUNT(*), SUM(weight) FILTER (WHERE price > 2) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '10' SECOND, INTERVAL '3' SECOND)) GROUP BY window_start, window_end HAVING COUNT(*) > 1;
-- spark: SELECT window.start, window.end, COUNT(*), SUM(weight) FILTER (WHERE price > 2) FROM t GROUP BY window(et, '10 seconds', '10 seconds', '3 seconds') HAVING COUNT(*) > 1
SELECT window_start, window_end, MAX(price), SUM(qty) FROM TABLE(HOP(TABLE t, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- spark: SELECT window.start, window.end, MAX(price), SUM(qty) FROM t GROUP BY window(et, '10 seconds', '5 seconds')
SELECT window_start, window_end, item, COUNT(DISTINCT price), AVG(weight) FROM TABLE(HOP(TABLE t, DESCRIPTOR(et), INTERVAL '4' SECOND, INTERVAL '12' SECOND)) GROUP BY window_start, window_end, item;
-- spark: SELECT window.start, window.end, item, COUNT(DISTINCT price), AVG(weight) FROM t GROUP BY window(et, '12 seconds', '4 seconds'), item
SELECT window_start, window_end, item, SUM(price), MIN(qty) FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) GROUP BY window_start, window_end, item;
-- spark: SELECT TIMESTAMP_SECONDS(s), TIMESTAMP_SECONDS(e), item, SUM(price), MIN(qty) FROM (SELECT item, price, qty, s, EXPLODE(SEQUENCE(u - u % 5 + 5, s + 15, 5)) AS e FROM (SELECT item, price, qty, UNIX_SECONDS(et) AS u, UNIX_SECONDS(et) - UNIX_SECONDS(et) % 15 AS s FROM t)) GROUP BY s, e, item
SELECT item, window_start, window_end, SUM(price), COUNT(DISTINCT qty) FROM TABLE(SESSION(TABLE t PARTITION BY item, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY item, window_start, window_end;
-- spark: SELECT item, session_window.start, session_window.end, SUM(price), COUNT(DISTINCT qty) FROM t GROUP BY session_window(et, '5 seconds'), item
SELECT item, window_start, window_end, SUM(price), COUNT(*), MAX(qty) FROM TABLE(SESSION(TABLE t PARTITION BY item, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY item, window_start, window_end;
-- spark: SELECT item, session_window.start, session_window.end, SUM(price), COUNT(*), MAX(qty) FROM t GROUP BY session_window(et, '5 seconds'), item
SELECT window_start, window_end, COUNT(*), MAX(weight) FROM TABLE(SESSION(TABLE t, DESCRIPTOR(et), INTERVAL '3' SECOND)) GROUP BY window_start, window_end;
-- spark: SELECT session_window.start, session_window.end, COUNT(*), MAX(weight) FROM t GROUP BY session_window(et, '3 seconds')
SELECT window_start, item, qty, SUM(price) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, GROUPING SETS ((item), (qty), ());
-- spark: SELECT TIMESTAMP_SECONDS(s), item, qty, SUM(price) FROM (SELECT item, qty, price, UNIX_SECONDS(et) - UNIX_SECONDS(et) % 20 AS s FROM t) GROUP BY GROUPING SETS ((s, item), (s, qty), (s))
WITH v AS (SELECT window_time AS rowtime, item, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, window_time, item) SELECT window_start, window_end, MAX(n), SUM(n), COUNT(*) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(rowtime), INTERVAL '15' SECOND)) GROUP BY window_start, window_end;
-- spark: SELECT w.start, w.end, MAX(n), SUM(n), COUNT(*) FROM (SELECT window(window.start, '15 seconds') AS w, n FROM (SELECT window(et, '5 seconds') AS window, item, COUNT(*) AS n FROM t GROUP BY window(et, '5 seconds'), item)) GROUP BY w
-- class: group windows
SELECT TUMBLE_START(et, INTERVAL '10' SECOND), TUMBLE_END(et, INTERVAL '10' SECOND), item, SUM(price) FROM t GROUP BY TUMBLE(et, INTERVAL '10' SECOND), item;
-- spark: SELECT window.start, window.end, item, SUM(price) FROM t GROUP BY window(et, '10 seconds'), item
SELECT HOP_START(et, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*), COUNT(DISTINCT item) FROM t GROUP BY HOP(et, INTERVAL '5' SECOND, INTERVAL '10' SECOND);
-- spark: SELECT window.start, COUNT(*), COUNT(DISTINCT item) FROM t GROUP BY window(et, '10 seconds', '5 seconds')
SELECT item, SESSION_START(et, INTERVAL '4' SECOND), SESSION_END(et, INTERVAL '4' SECOND), MIN(price), COUNT(*) FROM t GROUP BY SESSION(et, INTERVAL '4' SECOND), item;
-- spark: SELECT item, session_window.start, session_window.end, MIN(price), COUNT(*) FROM t GROUP BY session_window(et, '4 seconds'), item
SELECT window_start, item, n FROM (SELECT window_start, window_end, item, n, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, item) AS rn FROM (SELECT window_start, window_end, item, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, item)) WHERE rn <= 2;
-- spark: SELECT s, item, n FROM (SELECT s, item, n, ROW_NUMBER() OVER (PARTITION BY s ORDER BY n DESC, item) AS rn FROM (SELECT window.start AS s, item, COUNT(*) AS n FROM t GROUP BY window(et, '10 seconds'), item)) WHERE rn <= 2
SELECT window_start, id, rn FROM (SELECT window_start, id, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, item ORDER BY price, id) AS rn FROM TABLE(HOP(TABLE t, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND))) WHERE rn <= 2;
-- spark: SELECT w.start, id, rn FROM (SELECT w, id, ROW_NUMBER() OVER (PARTITION BY w, item ORDER BY price, id) AS rn FROM (SELECT window(et, '10 seconds', '5 seconds') AS w, id, item, price FROM t)) WHERE rn <= 2
SELECT id, rn FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, id) AS rn FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '10' SECOND))) WHERE rn <= 2;
-- spark: SELECT id, rn FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY window(et, '10 seconds') ORDER BY price DESC NULLS LAST, id) AS rn FROM t) WHERE rn <= 2
-- class: over
SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), COUNT(*) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t;
SELECT id, MAX(price) OVER w, AVG(weight) OVER w, COUNT(qty) OVER w FROM t WINDOW w AS (PARTITION BY qty ORDER BY et ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);
SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY et), LAG(id, 2, 0) OVER (PARTITION BY item ORDER BY et), ROW_NUMBER() OVER (PARTITION BY item ORDER BY et) FROM t;
SELECT id, SUM(weight) OVER (ORDER BY et ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), MIN(price) OVER (ORDER BY et) FROM t;
SELECT id, n + price FROM (SELECT id, price, COUNT(*) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM t) WHERE n > 1;
-- class: ranges
SELECT id, MAX(price) OVER (PARTITION BY item ORDER BY et RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW), SUM(qty) OVER (PARTITION BY item ORDER BY et RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t;
SELECT id, COUNT(*) OVER w, SUM(price) OVER w, AVG(weight) OVER w FROM t WINDOW w AS (ORDER BY et RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW);
SELECT id, MIN(price) OVER (PARTITION BY qty ORDER BY et), COUNT(item) OVER (PARTITION BY qty ORDER BY et) FROM t;
SELECT id, RANK() OVER (PARTITION BY item ORDER BY et), DENSE_RANK() OVER (PARTITION BY item ORDER BY et) FROM t;
