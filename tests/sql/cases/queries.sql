-- expressions
SELECT 1 + 2, 7 / 2, -7 / 2, MOD(7, 3), MOD(-7, 3), 7.5 / 2, 2 * 3.5, 1e3 / 3, 10 - 3;
SELECT 2147483647 + 1, CAST(2147483648 AS INT), 9223372036854775807 + 1, CAST(300 AS TINYINT);
SELECT 1 = 1, 1 <> 2, 1 < 2 AND 2 < 1, TRUE OR CAST(NULL AS BOOLEAN), FALSE AND CAST(NULL AS BOOLEAN), NOT TRUE, CAST(NULL AS INT) = 1;
SELECT CAST(NULL AS INT) IS NULL, 1 IS NOT NULL, 1 IS DISTINCT FROM CAST(NULL AS INT), 2 IN (1, 2, 3), 5 NOT IN (1, 2), 3 BETWEEN 1 AND 5, 'abc' LIKE 'a%', 'abc' LIKE '_b';
SELECT CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'bb' ELSE 'c' END, CASE 3 WHEN 1 THEN 10 WHEN 3 THEN 30 END, COALESCE(CAST(NULL AS INT), 5), NULLIF(1, 1), IF(1 > 0, 'yes', 'no');
SELECT CAST(1.567 AS INT), CAST('12' AS INT), CAST(12 AS STRING), CAST(1.5 AS STRING), CAST(TRUE AS STRING), CAST(1.5E0 AS STRING), CAST('1.25' AS DECIMAL(5, 1)), TRY_CAST('x' AS INT), CAST('true' AS BOOLEAN), CAST(1234567.5E0 AS STRING);
SELECT CAST('2020-02-29' AS DATE), CAST('12:34:56' AS TIME), CAST('2020-02-29 12:34:56.789' AS TIMESTAMP(3)), CAST(TIMESTAMP '2020-02-29 12:34:56' AS STRING), CAST(DATE '2020-02-29' AS STRING);
SELECT CAST('abcdef' AS VARCHAR(3)), CAST('ab' AS CHAR(4)) || '|', CAST(123.456 AS DECIMAL(6, 1)), CAST(1 AS BOOLEAN), CAST(CAST(3.99 AS DOUBLE) AS INT);
-- texts
SELECT UPPER('aB'), LOWER('aB'), CHAR_LENGTH('hello'), 'a' || 'b', CONCAT('x', 'y', 'z'), CONCAT_WS('-', 'a', CAST(NULL AS STRING), 'b'), SUBSTRING('hello', 2), SUBSTRING('hello' FROM 2 FOR 3), TRIM('  a '), TRIM(LEADING 'x' FROM 'xxax'), REPLACE('aXbX', 'X', '-');
SELECT POSITION('l' IN 'hello'), LPAD('5', 3, '0'), RPAD('5', 3, '0'), REVERSE('abc'), REPEAT('ab', 2), INITCAP('hello world'), LEFT('hello', 2), RIGHT('hello', 2), OVERLAY('hello' PLACING 'XX' FROM 2), SPLIT_INDEX('a,b,c', ',', 1), REGEXP_REPLACE('foobar', 'o+', '-'), REGEXP_EXTRACT('foo(the)bar', 'foo(.*?)bar', 1), ASCII('A'), CHR(66), MD5('a'), LOCATE('l', 'hello', 4), INSTR('hello', 'l');
SELECT 'it''s', 'ü', CHAR_LENGTH('日本'), '日本語', LTRIM('  a'), RTRIM('a  '), FROM_BASE64('aGVsbG8='), TO_BASE64('hello'), STR_TO_MAP('a=1,b=2'), PARSE_URL('http://x.org/p?q=1', 'HOST');
-- numbers
SELECT ABS(-5), POWER(2, 3), SQRT(16), CEIL(1.2), FLOOR(1.8), ROUND(1.256, 2), ROUND(125, -1), SIGN(-3), LN(1), LOG10(100), LOG2(8), EXP(0), TRUNCATE(1.289, 2), GREATEST(1, 5, 3), LEAST(4, 2), PI(), BIN(5), HEX(255), DEGREES(PI());
SELECT CEIL(1.5E0), FLOOR(-1.5E0), ROUND(2.5E0, 0), 1.10 + 2.2, 1.10 * 2.25, 10.0 / 3, 5 / 2.0, CAST(1 AS DECIMAL(10, 4)) / 3, 1.5 = 1.50, MOD(5.5, 2);
-- times
SELECT DATE '2020-01-31' + INTERVAL '1' MONTH, TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '90' MINUTE, TIMESTAMP '2020-01-01 00:00:00' - INTERVAL '1' DAY, DATE '2020-03-01' - INTERVAL '1' DAY, TIMESTAMPDIFF(DAY, DATE '2020-01-01', DATE '2020-02-01'), TIMESTAMPADD(HOUR, 2, TIMESTAMP '2020-01-01 00:00:00');
SELECT EXTRACT(YEAR FROM DATE '2020-02-29'), EXTRACT(DAY FROM TIMESTAMP '2020-02-29 12:34:56'), YEAR(DATE '2020-02-29'), MONTH(DATE '2020-02-29'), QUARTER(DATE '2020-02-29'), DAYOFWEEK(DATE '2020-02-29'), HOUR(TIMESTAMP '2020-02-29 12:34:56'), WEEK(DATE '2020-02-29');
SELECT DATE_FORMAT(TIMESTAMP '2020-02-29 12:34:56', 'yyyy/MM/dd HH-mm'), TO_TIMESTAMP('2020-01-01 10:11:12'), TO_DATE('2020-01-05'), FLOOR(TIMESTAMP '2020-02-29 12:34:56' TO HOUR), CEIL(TIMESTAMP '2020-02-29 12:34:56' TO DAY), TO_TIMESTAMP_LTZ(1000, 3), TO_TIMESTAMP_LTZ(100, 0), FROM_UNIXTIME(44), TO_TIMESTAMP('05.01.2020', 'dd.MM.yyyy');
SELECT INTERVAL '1' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04' DAY TO SECOND, TIME '10:11:12';
-- containers
SELECT ARRAY[1, 2, 3], ARRAY[1, 2, 3][2], CARDINALITY(ARRAY['a', 'b']), MAP['a', 1, 'b', 2], MAP['a', 1]['a'], ROW(1, 'x'), ARRAY_CONTAINS(ARRAY[1, 2], 2), ARRAY_DISTINCT(ARRAY[1, 1, 2]), MAP_KEYS(MAP['a', 1]), ARRAY_REVERSE(ARRAY[1, 2]), ARRAY_JOIN(ARRAY['a', 'b'], '-');
-- projection and filter
SELECT * FROM people;
SELECT name, age + 1 AS next_age, height * 2, score * 2, score + 1, score / 3 FROM people;
SELECT name FROM people WHERE age > 30 AND city = 'Paris';
SELECT name FROM people WHERE age > 30 OR city IS NULL;
SELECT name FROM people WHERE NOT active;
SELECT name, COALESCE(city, 'nowhere') FROM people WHERE name LIKE '%e%' OR name IN ('Ada', 'Bob');
SELECT id, item, et FROM orders WHERE price * qty >= 20;
SELECT UPPER(item) AS item, price FROM orders WHERE item IS NOT NULL AND id BETWEEN 3 AND 6;
SELECT o.item, o.price AS p FROM orders AS o WHERE o.qty IS NULL;
-- group aggregates
SELECT item, COUNT(*) AS n, SUM(price) AS total, AVG(price), MIN(price), MAX(price) FROM orders GROUP BY item;
SELECT COUNT(*), COUNT(qty), COUNT(DISTINCT item), SUM(qty), AVG(qty), MIN(item), MAX(item) FROM orders;
SELECT city, AVG(height), SUM(score), AVG(score), MIN(score), MAX(height) FROM people GROUP BY city;
SELECT item, SUM(price) FILTER (WHERE qty > 1) AS s, COUNT(*) FILTER (WHERE price > 7) AS c FROM orders GROUP BY item;
SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING COUNT(*) > 1;
SELECT DISTINCT city FROM people;
SELECT city, active, COUNT(*) FROM people GROUP BY city, active;
SELECT age / 10, COUNT(*), SUM(age) FROM people GROUP BY age / 10;
SELECT item, SUM(DISTINCT price) FROM orders GROUP BY item;
SELECT MAX(n) FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item);
SELECT n, COUNT(*) FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item) GROUP BY n;
SELECT item, qty, SUM(price) FROM orders GROUP BY GROUPING SETS ((item), (qty), ());
SELECT city, active, COUNT(*), GROUPING(city), GROUPING_ID(city, active) FROM people GROUP BY ROLLUP(city, active);
SELECT city, active, COUNT(*) FROM people GROUP BY CUBE(city, active);
SELECT STDDEV_POP(height), VAR_SAMP(height), STDDEV_SAMP(age) FROM people;
SELECT item, SUM(price * COALESCE(qty, 1)) AS revenue FROM orders WHERE item IS NOT NULL GROUP BY item;
SELECT COUNT(*) FROM orders WHERE price > 1000;
SELECT item, COUNT(*) FROM orders WHERE price > 1000 GROUP BY item;
-- windows
SELECT window_start, window_end, SUM(price) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
SELECT item, window_start, window_end, COUNT(*), SUM(price) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY item, window_start, window_end;
SELECT window_start, window_end, window_time, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, window_time;
SELECT window_start, window_end, COUNT(*), AVG(price) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
SELECT window_start, window_end, COUNT(DISTINCT item) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
SELECT window_start, window_end, SUM(price) FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND, INTERVAL '30' SECOND)) GROUP BY window_start, window_end;
SELECT item, window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '8' SECOND)) GROUP BY item, window_start, window_end;
SELECT id, window_start, window_end FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND));
SELECT window_start, window_end, SUM(price) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND, INTERVAL '3' SECOND)) GROUP BY window_start, window_end;
SELECT window_start, window_end, SUM(price) FROM TABLE(TUMBLE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(et), SIZE => INTERVAL '20' SECOND)) GROUP BY window_start, window_end;
SELECT TUMBLE_START(et, INTERVAL '10' SECOND), TUMBLE_END(et, INTERVAL '10' SECOND), item, COUNT(*) FROM orders GROUP BY TUMBLE(et, INTERVAL '10' SECOND), item;
SELECT HOP_START(et, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*) FROM orders GROUP BY HOP(et, INTERVAL '5' SECOND, INTERVAL '10' SECOND);
SELECT SESSION_START(et, INTERVAL '6' SECOND), SESSION_END(et, INTERVAL '6' SECOND), SUM(price) FROM orders GROUP BY SESSION(et, INTERVAL '6' SECOND);
SELECT window_start, MAX(total) FROM (SELECT item, window_start, window_end, SUM(price) AS total FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY item, window_start, window_end) GROUP BY window_start, window_end;
SELECT * FROM (SELECT id, item, price, window_start, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rn FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND))) WHERE rn <= 1;
-- over
SELECT id, item, SUM(price) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders;
SELECT id, COUNT(*) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), AVG(price) OVER (PARTITION BY item ORDER BY et ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders;
SELECT id, SUM(price) OVER w, MAX(price) OVER w FROM orders WINDOW w AS (PARTITION BY item ORDER BY et RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW);
SELECT id, SUM(price) OVER (ORDER BY et RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders;
-- top-n and deduplication
SELECT item, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC, id) AS rn FROM orders) WHERE rn <= 2;
SELECT * FROM (SELECT id, item, price, ROW_NUMBER() OVER (ORDER BY price DESC, id) AS rn FROM orders) WHERE rn <= 3;
SELECT id, item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et) AS rn FROM orders) WHERE rn = 1;
SELECT id, item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS rn FROM orders) WHERE rn = 1;
SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 3;
SELECT id FROM orders ORDER BY et LIMIT 2;
-- sets
SELECT item FROM orders UNION SELECT city FROM people;
SELECT item FROM orders UNION ALL SELECT name FROM people;
SELECT item FROM orders INTERSECT SELECT 'apple';
SELECT item FROM orders EXCEPT SELECT 'apple';
SELECT item FROM orders INTERSECT ALL SELECT item FROM orders WHERE price > 7;
SELECT item FROM orders EXCEPT ALL SELECT item FROM orders WHERE price > 7;
-- others
VALUES (1, 'a'), (2, 'bb'), (3, CAST(NULL AS STRING));
WITH big AS (SELECT * FROM orders WHERE price > 7), named AS (SELECT item, id FROM big) SELECT * FROM named WHERE id > 1;
SELECT a, b FROM (VALUES (1, 'x'), (2, 'y')) AS t(a, b) WHERE a > 1;
SELECT name, x FROM people CROSS JOIN UNNEST(ARRAY[1, 2]) AS t(x) WHERE age > 36;
SELECT name, w FROM (SELECT name, CASE WHEN age > 30 THEN ARRAY['a', 'b'] END AS ws FROM people) LEFT JOIN UNNEST(ws) AS t(w) ON TRUE;
-- QUALIFY, and OVER above groups
SELECT id, item FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY price, id) = 1;
SELECT item, COUNT(*) AS n FROM orders GROUP BY item QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, item) <= 2;
SELECT * FROM (SELECT item, SUM(price) AS s, ROW_NUMBER() OVER (ORDER BY SUM(price) DESC) AS rn FROM orders WHERE item IS NOT NULL GROUP BY item) WHERE rn <= 2;
-- Names that SELECT gives are known in all of ORDER BY.
SELECT -price AS price FROM orders ORDER BY price + 0 LIMIT 2;
SELECT id, -price AS y FROM orders ORDER BY y * 2, id LIMIT 2;
SELECT item, SUM(price) AS w FROM orders GROUP BY item ORDER BY w + 1 LIMIT 1;
-- Rows without parentheses, whole names of tables, and names that are not there.
VALUES 1, 2;
VALUES ROW(1, 'x'), ROW(2.5, 'yz');
SELECT default_catalog.default_database.orders.id FROM orders WHERE id = 1;
SELECT default_database.orders.id FROM orders WHERE id = 1;
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS y FROM a) SELECT a.x, b.y FROM a, b;
WITH a AS (WITH b AS (SELECT 1 AS x) SELECT * FROM b) SELECT * FROM a;
SELECT *, id FROM orders WHERE id = 1;
SELECT a FROM orders AS o (a, b, c, d, e, f) WHERE a = 1;
SELECT id FROM orders WHERE et > '2020-01-01 00:00:20';
VALUES (1, 'a'), (2);
WITH a (x, y) AS (SELECT 1) SELECT * FROM a;
WITH b AS (SELECT * FROM a), a AS (SELECT 1 AS x) SELECT * FROM b;
SELECT id FROM orders AS o (a, b, c, d, e, f) WHERE a = 1;
SELECT a FROM orders AS o (a, b) WHERE a = 1;
SELECT ID FROM orders;
SELECT id FROM orders WHERE item;
SELECT id FROM orders WHERE et = DATE '2020-01-01';
WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT * FROM r;
