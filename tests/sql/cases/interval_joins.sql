-- Joins within an interval of time.
SELECT a.id, b.id AS other, a.et, b.et AS other_et FROM orders AS a JOIN orders AS b ON a.item = b.item AND a.et BETWEEN b.et - INTERVAL '10' SECOND AND b.et;
SELECT a.id, b.id AS other FROM orders AS a LEFT JOIN orders AS b ON a.item = b.item AND a.et > b.et AND a.et <= b.et + INTERVAL '12' SECOND;
SELECT a.id, b.id AS other FROM orders AS a RIGHT JOIN orders AS b ON a.item = b.item AND a.et < b.et AND b.et < a.et + INTERVAL '12' SECOND;
SELECT a.id, b.id AS other FROM orders AS a FULL JOIN orders AS b ON a.item = b.item AND b.et BETWEEN a.et + INTERVAL '3' SECOND AND a.et + INTERVAL '10' SECOND AND a.price < b.price;
SELECT a.id, b.symbol, b.price FROM orders AS a JOIN ticker AS b ON a.et BETWEEN b.et - INTERVAL '1' SECOND AND b.et + INTERVAL '1' SECOND;
SELECT a.id, b.id AS other FROM orders AS a, orders AS b WHERE a.item = b.item AND a.et = b.et AND a.id <> 1;
SELECT a.id, b.id AS other FROM orders AS a FULL JOIN orders AS b ON a.item = b.item AND a.et > b.et + INTERVAL '5' SECOND AND a.et < b.et;
SELECT a.id, b.id AS other FROM orders AS a JOIN orders AS b ON a.item = b.item AND a.et + INTERVAL '2' SECOND >= b.et - INTERVAL '1' SECOND AND INTERVAL '1' SECOND + a.et <= b.et + INTERVAL '1' MINUTE - INTERVAL '30' SECOND;
SELECT window_start, COUNT(*) AS n, SUM(p) AS p FROM TABLE(TUMBLE(TABLE pairs, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
SELECT window_start, COUNT(*) AS n, SUM(p) AS p FROM TABLE(TUMBLE(TABLE pairs, DESCRIPTOR(other_et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
SELECT id, other, SUM(p) OVER (ORDER BY et RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW) AS s FROM pairs;
SELECT p.id, p.other, o.id AS third FROM pairs AS p JOIN orders AS o ON p.other = o.id AND p.other_et BETWEEN o.et - INTERVAL '1' SECOND AND o.et + INTERVAL '1' SECOND;
SELECT t.n, u.n AS m, t.rt FROM ticks AS t LEFT JOIN ticks AS u ON t.n = u.n + 1 AND t.rt BETWEEN u.rt AND u.rt + INTERVAL '1' DAY;
