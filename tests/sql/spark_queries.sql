-- Queries whose final rows are compared with Spark's; a comment below is how Spark writes it.
SELECT id, price + qty, UPPER(item), price > 3 FROM t WHERE price * 2 > 5;
SELECT item, COUNT(*), COUNT(qty), SUM(price), MIN(price), MAX(qty) FROM t GROUP BY item;
SELECT item, COUNT(DISTINCT price), SUM(DISTINCT qty) FROM t GROUP BY item;
SELECT item, SUM(qty) FILTER (WHERE price > 3), COUNT(*) FILTER (WHERE qty < 3) FROM t GROUP BY item;
SELECT COUNT(*), SUM(price), MAX(item) FROM t HAVING COUNT(*) > 0;
SELECT n, COUNT(*), SUM(s), MIN(item), MAX(s) FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item) GROUP BY n;
SELECT MAX(n), MIN(s), COUNT(DISTINCT n) FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item) HAVING COUNT(*) > 0;
SELECT item, n FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item) WHERE s > 4;
SELECT item, qty, COUNT(*), SUM(price) FROM t GROUP BY CUBE (item, qty);
SELECT item, price > 3, COUNT(*) FROM t GROUP BY GROUPING SETS ((item), (price > 3), (item, price > 3));
SELECT DISTINCT item, qty FROM t;
SELECT item FROM t WHERE price > 2 INTERSECT SELECT item FROM t WHERE qty > 2;
SELECT item FROM t EXCEPT ALL SELECT item FROM t WHERE qty > 2;
SELECT item, price FROM t UNION SELECT item, qty FROM t;
SELECT item, n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) EXCEPT SELECT item, price FROM t;
-- spark: SELECT item, n FROM (SELECT item, COUNT(*) AS n FROM t GROUP BY item) EXCEPT SELECT item, CAST(price AS BIGINT) FROM t
SELECT id, price FROM t ORDER BY price DESC, id LIMIT 3;
-- spark: SELECT id, price FROM t ORDER BY price DESC NULLS LAST, id LIMIT 3
SELECT id, item, rn FROM (SELECT id, item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id DESC) AS rn FROM t) WHERE rn <= 2;
SELECT item, n, rn FROM (SELECT item, n, ROW_NUMBER() OVER (ORDER BY n DESC, item) AS rn FROM (SELECT item, COUNT(*) AS n, SUM(price) AS s FROM t GROUP BY item)) WHERE rn <= 2;
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS rn FROM t) WHERE rn = 1;
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY qty ORDER BY et) AS rn FROM t) WHERE rn = 1;
SELECT window_start, window_end, item, COUNT(*), SUM(price), COUNT(DISTINCT qty) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, item;
-- spark: SELECT unix_micros(window.start), unix_micros(window.end), item, COUNT(*), SUM(price), COUNT(DISTINCT qty) FROM t GROUP BY window(et, '10 seconds'), item
SELECT window_start, window_end, MAX(price), SUM(qty) FROM TABLE(HOP(TABLE t, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- spark: SELECT unix_micros(window.start), unix_micros(window.end), MAX(price), SUM(qty) FROM t GROUP BY window(et, '10 seconds', '5 seconds')
SELECT item, window_start, window_end, SUM(price), COUNT(DISTINCT qty) FROM TABLE(SESSION(TABLE t PARTITION BY item, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY item, window_start, window_end;
-- spark: SELECT item, unix_micros(session_window.start), unix_micros(session_window.end), SUM(price), COUNT(DISTINCT qty) FROM t GROUP BY session_window(et, '5 seconds'), item
SELECT item, window_start, window_end, SUM(price), COUNT(*), MAX(qty) FROM TABLE(SESSION(TABLE t PARTITION BY item, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY item, window_start, window_end;
-- spark: SELECT item, unix_micros(session_window.start), unix_micros(session_window.end), SUM(price), COUNT(*), MAX(qty) FROM t GROUP BY session_window(et, '5 seconds'), item
SELECT id, rn FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC, id) AS rn FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '10' SECOND))) WHERE rn <= 2;
-- spark: SELECT id, rn FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY window(et, '10 seconds') ORDER BY price DESC NULLS LAST, id) AS rn FROM t) WHERE rn <= 2
SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), COUNT(*) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t;
SELECT id, MAX(price) OVER (PARTITION BY item ORDER BY et RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW), SUM(qty) OVER (PARTITION BY item ORDER BY et RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t;
