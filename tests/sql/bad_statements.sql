-- Statements that are refused: what the error underlines, and how its message begins.
-- The tables are those of cases/setup.sql and of test_errors.py.
selec 1;
-- at: selec
-- says: Expecting a statement, did you mean SELECT?
SELECT UPPER(item) FILTER (WHERE price > 3) FROM orders;
-- at: UPPER(item)
-- says: FILTER is for aggregate functions, and UPPER is none
SELECT UPPER(DISTINCT item) FROM orders;
-- at: UPPER(DISTINCT item)
-- says: DISTINCT is for aggregate functions, and UPPER is none
SELECT FROM WHERE;
-- at: WHERE
-- says: Expected table name but got WHERE
CREATE TABEL x (a INT);
-- at: TABEL
-- says: CREATE TABEL is not supported yet, did you mean TABLE?
SELECT id FROM orders WHERE;
-- at: WHERE
-- says: something is missing after this
SELECT id, FROM orders;
-- at: ,
-- says: Expecting something after the comma
SELECT (id FROM orders;
-- at: FROM
-- says: Expecting )
SELECT id FROM orders LIMIT;
-- at: LIMIT
-- says: something is missing after this
SELECT id FROM orders ORDER price;
-- at: price
-- says: this was not expected here
SELECT CASE WHEN id > 1 THEN 2 FROM orders;
-- at: 2
-- says: Expected END after CASE
SELECT CAST(id AS) FROM orders;
-- at: )
-- says: ) is not a type
SELECT CAST(id INT) FROM orders;
-- at: INT
-- says: Expecting AS and a type in CAST
SELECT CAST(id AS INTT) FROM orders;
-- at: INTT
-- says: INTT is not a type
SELECT CAST(id AS DECIMAL(50, 2)) FROM orders;
-- at: 50
-- says: Expecting a number from 1 to 38
SELECT EXTRACT(HOUR et) FROM orders;
-- at: et
-- says: Expecting FROM after the unit of EXTRACT
SELECT id FROM orders GROUP item;
-- at: item
-- says: this was not expected here
SELECT 'abc;
-- at: '
-- says: the text cannot be read: this does not end
INSERT orders SELECT 1;
-- at: orders
-- says: Expecting INTO but found orders
CREATE TABLE x (a INTT);
-- at: INTT
-- says: INTT is not a type
CREATE TABLE x (a INT WITH ('connector' = 'print');
-- at: WITH
-- says: Expecting )
CREATE TABLE x (a INT) WITH (connector = 'print');
-- at: connector
-- says: Expecting text in single quotes
CREATE TABLE x (a INT, PRIMARY KEY (a)) WITH ('connector' = 'print');
-- at: )
-- says: Flink doesn't support ENFORCED mode for PRIMARY KEY constraint. ENFORCED/NOT ENFORCED controls if the
CREATE VIEW v SELECT 1;
-- at: SELECT
-- says: Expecting AS and a query
SET 'a' 'b';
-- at: 'b'
-- says: Expecting = but found b
SHOW THINGS;
-- at: THINGS
-- says: Expecting what to show, such as TABLES
SELECT idd FROM orders;
-- at: idd
-- says: Column 'idd' not found in any table, did you mean 'id'?
SELECT o.idd FROM orders AS o;
-- at: o.idd
-- says: Column 'idd' not found in table 'o', did you mean 'id'?
SELECT p.id FROM orders AS o;
-- at: p.id
-- says: Table 'p' not found
SELECT orderz.* FROM orders;
-- at: orderz.*
-- says: Table 'orderz' not found, did you mean 'orders'?
SELECT id FROM ordrs;
-- at: ordrs
-- says: Object 'ordrs' not found, did you mean 'orders'?
SELECT id FROM nowhere.orders;
-- at: nowhere.orders
-- says: Object 'nowhere.orders' not found, but there is one in the current database
SELECT uper(item) FROM orders;
-- at: uper(item)
-- says: No match found for function signature UPER, did you mean UPPER?
SELECT NOSUCH(id) FROM orders;
-- at: NOSUCH(id)
-- says: No match found for function signature NOSUCH
SELECT id FROM LATERAL TABLE(nosuch(1));
-- at: nosuch(1)
-- says: No match found for table function nosuch
SELECT SUM(price) OVER w FROM orders;
-- at: SUM(price) OVER w
-- says: Window 'w' not found
INSERT INTO snk SELECT 1, 'a';
-- at: snk
-- says: Cannot find table '`default_catalog`.`default_database`.`snk`' in any of the catalogs [default_catalog], nor as a temporary table, did you mean 'sink'?
INSERT INTO sink (a, c) SELECT 1, 2;
-- at: c
-- says: Unknown target column 'c' of table default_catalog.default_database.sink
DROP TABLE snk;
-- at: snk
-- says: Table with identifier 'default_catalog.default_database.snk' does not exist, did you mean 'sink'?
DESCRIBE snk;
-- at: snk
-- says: Tables or views with the identifier 'default_catalog.default_database.snk' doesn't exist, did you mean 'sink'?
SHOW CREATE TABLE snk;
-- at: snk
-- says: Could not execute SHOW CREATE TABLE. Table with identifier `default_catalog`.`default_database`.`snk` does not exist.
USE CATALOG nowhere;
-- at: nowhere
-- says: A catalog with name [nowhere] does not exist.
USE nowhere;
-- at: nowhere
-- says: A database with name [nowhere] does not exist in the catalog: [default_catalog].
ALTER TABLE sink DROP zz;
-- at: zz
-- says: the column `zz` doesn't exist in the table
ALTER TABLE sink RENAME zz TO y;
-- at: zz
-- says: the column `zz` doesn't exist in the table
CREATE TABLE x (a INT, WATERMARK FOR b AS b) WITH ('k' = 'v');
-- at: b
-- says: The rowtime attribute field 'b' is not defined in the table schema.
CREATE TABLE x (a INT, b AS zz + 1) WITH ('connector' = 'datagen');
-- at: zz
-- says: Column 'zz' not found in any table
CREATE TABLE x (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'print');
-- at: b
-- says: Column 'b' of a key is not defined in the table
CREATE TABLE x (a INT, a INT) WITH ('connector' = 'print');
-- at: a
-- says: A column named 'a' already exists in the table.
CREATE TABLE x LIKE nosuch;
-- at: nosuch
-- says: Source table 'nosuch' of the LIKE clause not found in the catalog
CREATE TABLE sink (a INT) WITH ('connector' = 'print');
-- at: sink
-- says: Could not execute CreateTable in path `default_catalog`.`default_database`.`sink`: Table (or view) default_database.sink already exists in Catalog default_catalog.
DROP FUNCTION nosuch;
-- at: nosuch
-- says: Function default_database.nosuch does not exist in Catalog default_catalog.
CREATE FUNCTION f AS 'nosuch.module.f' LANGUAGE PYTHON;
-- at: f
-- says: cannot find the function 'nosuch.module.f': No module named 'nosuch'
LOAD MODULE nosuch;
-- at: nosuch
-- says: Could not execute LOAD MODULE `nosuch`. Could not find any factory for identifier 'nosuch' Available modules: core, hive
SELECT id + item FROM orders;
-- at: id + item
-- says: Cannot apply 'PLUS' to arguments of type (INT, STRING)
SELECT UPPER(id, 2) FROM orders;
-- at: UPPER(id, 2)
-- says: Cannot apply 'UPPER' to arguments of type (INT, INT NOT NULL)
SELECT SUM(item) FROM orders;
-- at: SUM(item)
-- says: Cannot apply 'SUM' to arguments of type (STRING)
SELECT -item FROM orders;
-- at: item
-- says: Cannot apply 'MINUS_PREFIX' to arguments of type (STRING)
SELECT NOT id FROM orders;
-- at: id
-- says: Cannot apply 'NOT' to arguments of type (INT)
SELECT id AND TRUE FROM orders;
-- at: id
-- says: id is INT, not BOOLEAN
SELECT id = ARRAY[1] FROM orders;
-- at: id = ARRAY[1]
-- says: Cannot compare INT with ARRAY<INT NOT NULL> NOT NULL; cast one of them
SELECT CASE WHEN id THEN 1 END FROM orders;
-- at: id
-- says: id is INT, not BOOLEAN
SELECT CASE WHEN id > 1 THEN 1 ELSE 'a' END FROM orders;
-- at: id > 1 THEN 1 ELSE 'a'
-- says: the results of CASE have no common type: INT NOT NULL, CHAR(1) NOT NULL
SELECT COALESCE(id, item) FROM orders;
-- at: COALESCE(id, item)
-- says: Cannot apply 'COALESCE' to arguments of type (INT, STRING)
SELECT item LIKE 1 FROM orders;
-- at: item LIKE 1
-- says: Cannot apply 'LIKE' to arguments of type (STRING, INT NOT NULL)
SELECT CAST(et AS INT) FROM orders;
-- at: et
-- says: Cast function cannot convert value of type TIMESTAMP(3) to type INT
SELECT CAST(id AS ARRAY<INT>) FROM orders;
-- at: id
-- says: Cast function cannot convert value of type INT to type ARRAY<INT>
SELECT ARRAY[1, 'a'];
-- at: 1, 'a'
-- says: Cannot apply 'ARRAY' to arguments of type (INT NOT NULL, CHAR(1) NOT NULL)
SELECT MAP['a', 1, 'b'];
-- at: MAP['a', 1, 'b']
-- says: Cannot apply 'MAP' to arguments of type (CHAR(1) NOT NULL, INT NOT NULL, CHAR(1) NOT NULL)
SELECT id[1] FROM orders;
-- at: id[1]
-- says: Cannot apply 'ITEM' to arguments of type (INT, INT NOT NULL)
SELECT id.x FROM orders;
-- at: id.x
-- says: id is not a row, so it has no field 'x' in it
SELECT DATE '2020-13-01';
-- at: '2020-13-01'
-- says: '2020-13-01' is not a DATE
SELECT INTERVAL 'x' SECOND;
-- at: 'x'
-- says: INTERVAL 'x' SECOND is not an interval
SELECT id IS 3 FROM orders;
-- at: id IS 3
-- says: IS 3 is not supported
SELECT id FROM orders WHERE price;
-- at: price
-- says: WHERE clause must be a condition, but is INT
SELECT id FROM orders WHERE SUM(price) > 2;
-- at: SUM(price) > 2
-- says: Aggregate expression is illegal in WHERE clause
SELECT item FROM orders GROUP BY item HAVING item;
-- at: item
-- says: HAVING clause must be a condition, but is STRING
SELECT id FROM orders GROUP BY item;
-- at: id
-- says: Expression 'id' is not being grouped
SELECT item, COUNT(*) FROM orders;
-- at: item
-- says: Expression 'item' is not being grouped
SELECT SUM(COUNT(*)) FROM orders GROUP BY item;
-- at: COUNT(*)
-- says: Aggregate expressions cannot be nested
SELECT item FROM orders GROUP BY COUNT(*);
-- at: COUNT(*)
-- says: aggregate function COUNT is not allowed here
SELECT item FROM orders GROUP BY 5;
-- at: item
-- says: Expression 'item' is not being grouped
SELECT item FROM orders ORDER BY 5 LIMIT 1;
-- at: 5
-- says: Ordinal out of range
SELECT id FROM orders LIMIT x;
-- at: x
-- says: LIMIT takes a number
SELECT COUNT(DISTINCT *) FROM orders;
-- at: COUNT(DISTINCT *)
-- says: COUNT(DISTINCT *) has no values that differ
SELECT COUNT(*) FILTER (WHERE id) FROM orders;
-- at: id
-- says: FILTER clause must be a condition, but is INT
SELECT LISTAGG(item, item) FROM orders;
-- at: LISTAGG(item, item)
-- says: argument 2 of LISTAGG must be a constant
SELECT PERCENTILE(price, price) FROM orders;
-- at: PERCENTILE(price, price)
-- says: argument 2 of PERCENTILE must be a constant
SELECT GROUPING(id) FROM orders GROUP BY CUBE (item);
-- at: id
-- says: Argument to GROUPING operator must be a grouped expression
SELECT id FROM orders UNION ALL SELECT id, item FROM orders;
-- at: id FROM orders UNION ALL SELECT id, item FROM orders
-- says: Column count mismatch in UNION
SELECT id FROM orders UNION ALL SELECT et FROM orders;
-- at: id FROM orders UNION ALL SELECT et FROM orders
-- says: Type mismatch in column 1 of UNION: INT, TIMESTAMP(3) have no common type
SELECT id FROM orders EXCEPT SELECT et FROM orders;
-- at: id FROM orders EXCEPT SELECT et FROM orders
-- says: Type mismatch in column 1 of EXCEPT: INT, TIMESTAMP(3) have no common type
SELECT a FROM (VALUES (1, 2)) AS t(a);
-- at: 1, 2)) AS t(a
-- says: 1 names were given for 2 columns: EXPR$0, EXPR$1
VALUES (1, 'a'), (2);
-- at: 1, 'a'), (2
-- says: rows of VALUES have different numbers of columns
VALUES (1), (TRUE);
-- at: 1
-- says: values of column 1 have no common type
SELECT *;
-- at: *
-- says: SELECT * needs a FROM clause
WITH v (a, b) AS (SELECT 1) SELECT * FROM v;
-- at: v (a, b) AS (SELECT 1)
-- says: 2 names were given for 1 columns: EXPR$0
INSERT INTO sink SELECT 'x', 1;
-- at: sink
-- says: Column types of query result and sink for 'default_catalog.default_database.sink' do not match. Cause:
INSERT INTO sink SELECT 1;
-- at: sink
-- says: Column types of query result and sink for 'default_catalog.default_database.sink' do not match. Cause:
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE people, DESCRIPTOR(age), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- at: age
-- says: The window function requires the timecol is a time attribute type, but is INT
SELECT COUNT(*) FROM people GROUP BY TUMBLE(age, INTERVAL '1' SECOND);
-- at: TUMBLE(age, INTERVAL '1'
-- says: Window can only be defined on a time attribute column, but age is INT
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, et, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- at: et
-- says: TUMBLE takes DESCRIPTOR(time column)
SELECT COUNT(*) FROM TABLE(TUMBLE(orders, DESCRIPTOR(et), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- at: TUMBLE(orders, DESCRIPTOR(et), INTERVAL '10'
-- says: TUMBLE takes a table first: TABLE t
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et))) GROUP BY window_start, window_end;
-- at: TUMBLE(TABLE orders, DESCRIPTOR(et))
-- says: TUMBLE needs SIZE
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), 10)) GROUP BY window_start, window_end;
-- at: 10
-- says: a window's length must be a constant interval, such as INTERVAL '5' MINUTE
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '0' SECOND)) GROUP BY window_start, window_end;
-- at: TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '0'
-- says: the length of TUMBLE must be positive
SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '1' MONTH)) GROUP BY window_start, window_end;
-- at: '1'
-- says: a window's length must be a constant interval, such as INTERVAL '5' MINUTE
SELECT COUNT(*) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(et), INTERVAL '3' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- at: HOP(TABLE orders, DESCRIPTOR(et), INTERVAL '3' SECOND, INTERVAL '10'
-- says: HOP: size must be an integral multiple of slide
SELECT COUNT(*) FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(et), INTERVAL '3' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
-- at: CUMULATE(TABLE orders, DESCRIPTOR(et), INTERVAL '3' SECOND, INTERVAL '10'
-- says: CUMULATE: the largest size must be a multiple of the step
SELECT COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(et), SIZZE => INTERVAL '3' SECOND)) GROUP BY window_start, window_end;
-- at: TUMBLE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(et), SIZZE => INTERVAL '3'
-- says: TUMBLE has no argument SIZZE
SELECT TUMBLE_START(et, INTERVAL '5' SECOND) FROM orders GROUP BY TUMBLE(et, INTERVAL '10' SECOND);
-- at: TUMBLE_START(et, INTERVAL '5'
-- says: TUMBLE_START has other arguments than the window of GROUP BY
SELECT CURRENT_WATERMARK(id) FROM orders;
-- at: CURRENT_WATERMARK(id)
-- says: CURRENT_WATERMARK() must be called with a single rowtime attribute argument
CREATE TABLE x (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'datagen');
-- at: x
-- says: Invalid data type of time field for watermark definition. The field must be of type TIMESTAMP(p) or
SELECT id FROM orders ORDER BY price;
-- at: price
-- says: Sort on a non-time-attribute field is not supported: a stream has no end; order by a time attribute first, ascending, or add LIMIT
EXPLAIN SELECT id FROM orders ORDER BY et DESC;
-- at: et
-- says: Sort on a non-time-attribute field is not supported: a stream has no end; order by a time attribute first, ascending, or add LIMIT
SELECT id FROM orders ORDER BY price OFFSET 2;
-- at: price
-- says: ORDER BY with OFFSET alone is not supported on a stream; add LIMIT
SELECT id, SUM(price) OVER (ORDER BY price ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM orders;
-- at: SUM(price)
-- says: OVER windows' ordering in stream mode must be defined on a time attribute in ascending order
SELECT id, SUM(price) OVER (PARTITION BY item) FROM orders;
-- at: SUM(price) OVER (PARTITION BY item)
-- says: Over Agg: The window rank function requires order by clause with non-constant fields.
SELECT id, SUM(price) OVER (ORDER BY et ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM orders;
-- at: SUM(price) OVER (ORDER BY et ROWS BETWEEN CURRENT ROW AND 2
-- says: OVER windows that end before or after the current row are not supported on a stream
SELECT id, SUM(price) OVER (ORDER BY et ROWS BETWEEN id PRECEDING AND CURRENT ROW) FROM orders;
-- at: SUM(price) OVER (ORDER BY et ROWS BETWEEN id
-- says: an end of OVER cannot be INT here: it must be a constant number of rows, or an interval
SELECT id, SUM(price) OVER (ORDER BY et RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) FROM orders;
-- at: SUM(price) OVER (ORDER BY et RANGE BETWEEN 2
-- says: an end of OVER cannot be INT NOT NULL here: it must be a constant number of rows, or an interval
SELECT LEAD(id) OVER (ORDER BY et) FROM orders;
-- at: LEAD(id)
-- says: LEAD Function is not supported in stream mode.
SELECT UPPER(item) OVER (ORDER BY et) FROM orders;
-- at: UPPER(item)
-- says: UPPER cannot be used with OVER
SELECT * FROM (SELECT id, RANK() OVER (PARTITION BY item ORDER BY price) AS r FROM orders) WHERE r <= 2;
-- at: RANK
-- says: RANK() on streaming table is not supported currently: number rows with ROW_NUMBER(), or use batch mode
EXPLAIN SELECT * FROM (SELECT id, DENSE_RANK() OVER (PARTITION BY item ORDER BY price) AS r FROM orders) WHERE r <= 2;
-- at: DENSE_RANK
-- says: DENSE_RANK() on streaming table is not supported currently: number rows with ROW_NUMBER(), or use batch mode
SELECT ROW_NUMBER() FROM orders;
-- at: ROW_NUMBER
-- says: ROW_NUMBER needs an OVER clause
SELECT n, SUM(n) OVER (ORDER BY PROCTIME()) FROM (SELECT item, COUNT(*) AS n FROM orders GROUP BY item);
-- at: SUM(n)
-- says: StreamPhysicalOverAggregate doesn't support consuming update and delete changes which is produced by node Project
INSERT INTO appends SELECT id, COUNT(*) FROM orders GROUP BY id;
-- at: appends
-- says: Table sink 'default_catalog.default_database.appends' doesn't support consuming update changes
SELECT * FROM orders AS a JOIN people AS b ON a.item = b.nam;
-- at: b.nam
-- says: Column 'nam' not found in table 'b', did you mean 'name'?
SELECT id FROM orders AS a JOIN orders AS b ON a.item = b.item;
-- at: id
-- says: Column 'id' is ambiguous
SELECT * FROM orders JOIN people USING (nothing);
-- at: JOIN people USING (nothing)
-- says: Column 'nothing' not found in any table
SELECT * FROM orders AS a LEFT JOIN people AS b;
-- at: LEFT JOIN people AS b
-- says: LEFT JOIN needs a condition: ON or USING
SELECT * FROM orders AS a LEFT SEMI JOIN people AS b ON a.item = b.name;
-- at: LEFT SEMI JOIN people AS b ON a.item = b.name
-- says: SEMI JOIN is not part of SQL; use EXISTS or IN
SELECT * FROM orders AS a JOIN people AS b ON a.item;
-- at: a.item
-- says: ON
SELECT * FROM orders FOR SYSTEM_TIME AS OF et;
-- at: et
-- says: FOR SYSTEM_TIME AS OF a fixed time needs a catalog that keeps old versions of its tables
SELECT o.id FROM orders AS o RIGHT JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.item;
-- at: RIGHT JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.item
-- says: Unknown join type RIGHT
SELECT o.id FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.price AS r ON o.item = r.item;
-- at: o.price
-- says: The system time period specification expects Timestamp type but is 'INT'
SELECT o.id FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF TO_TIMESTAMP(o.ts) AS r ON o.item = r.item;
-- at: TO_TIMESTAMP(o.ts)
-- says: Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field
SELECT o.id FROM (SELECT item, MAX(et) AS et, MAX(id) AS id FROM orders GROUP BY item) AS o JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.item;
-- at: o.et
-- says: Temporal Table Join requires time attribute in the left table, but no time attribute found
EXPLAIN SELECT o.id FROM (SELECT a.id, a.item, a.et FROM orders AS a JOIN people AS p ON a.item = p.name) AS o JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.item;
-- at: JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.item
-- says: Temporal Table Join requires time attribute in the left table, but no time attribute found: behind a regular join
EXPLAIN SELECT o.id FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.price > r.rate;
-- at: JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.price > r.rate
-- says: Currently the join key in Temporal Table Join can not be empty
EXPLAIN SELECT o.id FROM orders AS o JOIN ticker FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.symbol;
-- at: JOIN ticker FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.symbol
-- says: Temporal Table Join requires primary key in versioned table, but no primary key can be found. The physical plan is:
EXPLAIN SELECT o.id FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.price = r.rate;
-- at: JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.price = r.rate
-- says: Temporal table's primary key [item] must be included in the equivalence condition of temporal join
EXPLAIN SELECT o.id FROM orders AS o JOIN ages FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.name;
-- at: JOIN ages FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.name
-- says: Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but no row time attribute can be found.
EXPLAIN SELECT t.n FROM ticks AS t JOIN rates FOR SYSTEM_TIME AS OF t.rt AS r ON CAST(t.n AS STRING) = r.item;
-- at: JOIN rates FOR SYSTEM_TIME AS OF t.rt AS r ON CAST(t.n AS STRING) = r.item
-- says: Event-Time Temporal Table Join requires same rowtime type in left table and versioned table, but the rowtime types are TIMESTAMP_LTZ(3) *ROWTIME* and TIMESTAMP(3) *ROWTIME*.
EXPLAIN WITH oldest AS (SELECT name, MAX(age) AS age FROM people GROUP BY name) SELECT t.id FROM ticker AS t JOIN oldest FOR SYSTEM_TIME AS OF t.pt AS r ON t.symbol = r.name;
-- at: JOIN oldest FOR SYSTEM_TIME AS OF t.pt AS r ON t.symbol = r.name
-- says: Processing-time temporal join is not supported yet
EXPLAIN SELECT t.id FROM ticker AS t JOIN ages FOR SYSTEM_TIME AS OF t.pt AS r ON t.symbol > r.name;
-- at: JOIN ages FOR SYSTEM_TIME AS OF t.pt AS r ON t.symbol > r.name
-- says: Temporal table join requires an equality condition on fields of table [default_catalog.default_database.ages].
SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY price MEASURES A.id AS a PATTERN (A B) DEFINE A AS A.price > 1);
-- at: price
-- says: You must specify either rowtime or proctime for order by as the first one.
SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY et MEASURES A.id AS a PATTERN (A | B) DEFINE A AS A.price > 1);
-- at: |
-- says: Alternatives in PATTERN are not supported, as in Flink
SELECT id FROM orders QUALIFY SUM(price) OVER (ORDER BY et);
-- at: SUM(price)
-- says: QUALIFY clause must be a condition, but is INT
SELECT id FROM orders QUALIFY id > 1;
-- at: id > 1
-- says: QUALIFY must contain a function with OVER; use WHERE or HAVING
SELECT * FROM orders PIVOT (SUM(price) FOR item IN ('a'));
-- at: PIVOT
-- says: PIVOT is not supported
SELECT id FROM orders TABLESAMPLE BERNOULLI (10);
-- at: TABLESAMPLE
-- says: TABLESAMPLE is not supported
SELECT id FROM orders GROUP BY ALL;
-- at: GROUP BY ALL
-- says: GROUP BY ALL is not supported
SELECT item, COUNT(*) FROM orders GROUP BY item WITH ROLLUP;
-- at: WITH ROLLUP
-- says: WITH ROLLUP is not supported; write GROUP BY ROLLUP (...)
SELECT * EXCEPT (id) FROM orders;
-- at: EXCEPT
-- says: EXCEPT is not supported
SELECT id FROM orders FETCH FIRST 3 ROWS WITH TIES;
-- at: WITH TIES
-- says: WITH TIES is not supported
SELECT id FROM orders FOR UPDATE;
-- at: FOR UPDATE
-- says: FOR UPDATE is not supported
WITH RECURSIVE v AS (SELECT 1) SELECT * FROM v;
-- at: RECURSIVE
-- says: RECURSIVE is not supported
SELECT id::STRING FROM orders;
-- at: ::
-- says: this was not expected here
SELECT LAG(price) IGNORE NULLS OVER (ORDER BY et) FROM orders;
-- at: LAG(price)
-- says: LAG(price) IGNORE NULLS is not supported here
SELECT LISTAGG(item) WITHIN GROUP (ORDER BY id) FROM orders;
-- at: LISTAGG(item) WITHIN GROUP (ORDER BY id)
-- says: LISTAGG(item) WITHIN GROUP (ORDER BY id) is not supported here
UPDATE orders SET id = 1;
-- at: orders
-- says: UPDATE statement is not supported for streaming mode now.
DELETE FROM orders;
-- at: orders
-- says: DELETE statement is not supported for streaming mode now.
MERGE INTO orders USING people ON TRUE WHEN MATCHED THEN DELETE;
-- at: MERGE
-- says: MERGE is not supported yet
TRUNCATE TABLE orders;
-- at: orders
-- says: TRUNCATE TABLE statement is not supported in streaming mode.
CALL sys.compakt('orders');
-- at: sys
-- says: Procedure `default_catalog`.`sys`.`compakt` does not exist, did you mean 'compact'?
CALL sys.compact('orders');
-- at: compact
-- says: compact statement is not supported for the table default_catalog.default_database.orders
CALL sys.compact(tabel => 'orders');
-- at: tabel
-- says: compact has no argument 'tabel', did you mean 'table'?
CALL sys.compact(1);
-- at: compact
-- says: argument 'table' of compact is of type STRING, not INT
CALL sys.compact(UUID());
-- at: compact
-- says: argument 'table' of compact must be a constant
CALL sys.compact();
-- at: compact
-- says: compact needs the argument 'table'
CREATE TEMPORARY MATERIALIZED TABLE x AS SELECT 1;
-- at: MATERIALIZED
-- says: CREATE TEMPORARY MATERIALIZED TABLE is not supported.
CREATE MATERIALIZED TABLE x FRESHNESS = INTERVAL '1' DAY AS SELECT sku FROM orders;
-- at: sku
-- says: Column 'sku' not found in any table
CREATE MATERIALIZED TABLE x FRESHNESS = 3 AS SELECT 1;
-- at: 3
-- says: MATERIALIZED TABLE only supports define interval type FRESHNESS
ALTER MATERIALIZED TABLE orders SUSPEND;
-- at: orders
-- says: Table `default_catalog`.`default_database`.`orders` is not a materialized table, does not support materialized table related operation.
CREATE MODEL m INPUT (a INT) WITH ('provider' = 'openai');
-- at: m
-- says: Output column list can not be empty with non-empty input column list.
ALTER TABLE sink SWAP WITH orders;
-- at: SWAP
-- says: this change of a table is not supported
SELECT /*+ STATE_TTL('order' = '1d') */ item, COUNT(*) FROM orders GROUP BY item;
-- at: STATE_TTL('order' = '1d')
-- says: The options of following hints cannot match the name of input tables or views: 
SELECT /*+ STATE_TTL('orders' = 'soon') */ item, COUNT(*) FROM orders GROUP BY item;
-- at: STATE_TTL('orders' = 'soon')
-- says: Invalid STATE_TTL hint value: Could not parse value 'soon' for key 'STATE_TTL': expected a duration such as
SELECT /*+ BROADCAST(people), SHUFFLE_HASH(a, b) */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: BROADCAST(people)
-- says: The options of following hints cannot match the name of input tables or views:  `people` in `BROADCAST` `a, b` in `SHUFFLE_HASH`
SELECT /*+ NEST_LOOP */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: NEST_LOOP
-- says: Invalid hint: NEST_LOOP, expecting at least one table or view specified in hint NEST_LOOP.
SELECT /*+ LOOKUP('table'='x') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('table'='x')
-- says: The options of following hints cannot match the name of input tables or views:  `x` in `LOOKUP`
SELECT /*+ LOOKUP(p) */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP(p)
-- says: Invalid list options in LOOKUP hint, only support key-value options.
SELECT /*+ LOOKUP('async'='true') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('async'='true')
-- says: Invalid LOOKUP hint: incomplete required option(s): [Key: 'table' , default: null (fallback keys: [])]
SELECT /*+ LOOKUP('table'='p', 'async'='perhaps') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('table'='p', 'async'='perhaps')
-- says: Invalid LOOKUP hint options: Could not parse value 'perhaps' for key 'async'.
SELECT /*+ LOOKUP('table'='p', 'output-mode'='sideways') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('table'='p', 'output-mode'='sideways')
-- says: Invalid LOOKUP hint options: Could not parse value 'sideways' for key 'output-mode'.
SELECT /*+ LOOKUP('table'='p', 'capacity'='-1') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('table'='p', 'capacity'='-1')
-- says: Invalid LOOKUP hint option: capacity value should be positive integer but was -1
SELECT /*+ LOOKUP('table'='p', 'retry-predicate'='lookup_miss') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('table'='p', 'retry-predicate'='lookup_miss')
-- says: Invalid LOOKUP hint: retry options can be both null or all not null
SELECT /*+ LOOKUP('table'='p', 'retry-predicate'='miss', 'retry-strategy'='fixed_delay', 'fixed-delay'='1s', 'max-attempts'='3') */ o.id FROM orders AS o JOIN people AS p ON o.qty = p.age;
-- at: LOOKUP('table'='p', 'retry-predicate'='miss', 'retry-strategy'='fixed_delay', 'fixed-delay'='1s', 'max-attempts'='3')
-- says: Invalid LOOKUP hint option: unsupported retry-predicate 'miss', only 'lookup_miss' is supported currently
SELECT i.id FROM orders AS i FULL JOIN LATERAL (SELECT age FROM people WHERE age = i.qty) AS t ON TRUE;
-- at: FULL JOIN LATERAL (SELECT age FROM people WHERE age = i.qty) AS t
-- says: Unknown join type FULL
SELECT i.id FROM orders AS i LEFT JOIN LATERAL (SELECT age FROM people WHERE age = i.qty) AS t ON t.age > i.id;
-- at: t.age > i.id
-- says: LEFT JOIN LATERAL takes ON TRUE: write the condition into the subquery
SELECT id, tag FROM baskets RIGHT JOIN UNNEST(tags) AS t(tag) ON TRUE;
-- at: RIGHT JOIN UNNEST(tags) AS t(tag)
-- says: Unknown join type RIGHT
SELECT /*+ NOSUCH('orders') */ id FROM orders;
-- at: NOSUCH('orders')
-- says: Hint: NOSUCH should be registered in the HintStrategyTable; the hints of a query are BROADCAST, LOOKUP, MULTI_JOIN, NEST_LOOP, SHUFFLE_HASH, SHUFFLE_MERGE, STATE_TTL
SELECT /*+ STATE_TTL('orders') */ item, COUNT(*) FROM orders GROUP BY item;
-- at: STATE_TTL('orders')
-- says: Invalid STATE_TTL hint, expecting at least one key-value options specified: STATE_TTL('table' = '1 d')
SELECT id FROM orders /*+ OPTIONS('nosuch' = '1') */;
-- at: orders
-- says: Unsupported options found for 'filesystem'.  Unsupported options:  nosuch  Supported options:  connector
SELECT id FROM broken;
-- at: broken
-- says: Could not find any factory for identifier 'printt', did you mean 'print'? Available factory identifiers are: blackhole, datagen, delta, elasticsearch-6, elasticsearch-7, elasticsearch-8, filesystem, firehose, iceberg, jdbc, kafka
SELECT id FROM strange;
-- at: strange
-- says: Unsupported options found for 'datagen'.  Unsupported options:  rows  Supported options:  connector
SELECT id | CAST(price AS DECIMAL(5, 2)) FROM orders;
-- at: id | CAST(price
-- says: BITWISEOR is not supported here
SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY et MEASURES A.id AS a PATTERN (A{2.5}) DEFINE A AS A.price > 1);
-- at: 2.5
-- says: A variable is repeated a whole number of times
WITH s AS (SELECT k, et FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY et DESC) AS n FROM shuffled) WHERE n = 1) SELECT o.id FROM orders AS o JOIN s ON o.item = s.k AND o.et BETWEEN s.et AND s.et + INTERVAL '1' SECOND;
-- at: JOIN s ON o.item = s.k AND o.et BETWEEN s.et AND s.et + INTERVAL '1'
-- says: StreamPhysicalIntervalJoin doesn't support consuming update and delete changes which is produced by node Deduplicate
WITH j AS (SELECT a.id, a.item, a.et FROM orders AS a JOIN shuffled AS s ON a.item = s.k) SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(et), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
-- at: TUMBLE(TABLE j, DESCRIPTOR(et), INTERVAL '1'
-- says: The window function requires the timecol is a time attribute type, but is TIMESTAMP(3): behind a join that does not bound the time of both sides it is no longer one
WITH j AS (SELECT a.id, a.item, a.et FROM orders AS a JOIN shuffled AS s ON a.item = s.k) SELECT id, window_end FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(et), INTERVAL '1' MINUTE));
-- at: TUMBLE(TABLE j, DESCRIPTOR(et), INTERVAL '1'
-- says: The window function requires the timecol is a time attribute type, but is TIMESTAMP(3): behind a join that does not bound the time of both sides it is no longer one
WITH j AS (SELECT a.id, a.item, a.et FROM orders AS a JOIN shuffled AS s ON a.item = s.k) SELECT COUNT(*) FROM j GROUP BY TUMBLE(et, INTERVAL '1' MINUTE);
-- at: TUMBLE(et, INTERVAL '1'
-- says: The window function requires the timecol is a time attribute type, but is TIMESTAMP(3): behind a join that does not bound the time of both sides it is no longer one
WITH j AS (SELECT a.id, a.item, a.et FROM orders AS a JOIN shuffled AS s ON a.item = s.k) SELECT id, COUNT(*) OVER (PARTITION BY item ORDER BY et RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW) FROM j;
-- at: COUNT(*)
-- says: OVER windows' ordering in stream mode must be defined on a time attribute in ascending order
WITH j AS (SELECT a.id, a.item, a.et FROM orders AS a JOIN shuffled AS s ON a.item = s.k) SELECT id FROM j ORDER BY et;
-- at: et
-- says: Sort on a non-time-attribute field is not supported: a stream has no end; order by a time attribute first, ascending, or add LIMIT
WITH j AS (SELECT a.id, a.item, a.et FROM orders AS a JOIN shuffled AS s ON a.item = s.k) SELECT * FROM j MATCH_RECOGNIZE (PARTITION BY item ORDER BY et MEASURES A.id AS a PATTERN (A) DEFINE A AS A.id > 0);
-- at: et
-- says: You must specify either rowtime or proctime for order by as the first one.
SELECT t.id FROM TABLE(TUMBLE(TABLE ticker, DESCRIPTOR(pt), INTERVAL '1' DAY)) AS t JOIN TABLE(TUMBLE(TABLE ticker, DESCRIPTOR(pt), INTERVAL '1' DAY)) AS u ON t.window_start = u.window_start AND t.window_end = u.window_end;
-- at: JOIN TABLE(TUMBLE(TABLE ticker, DESCRIPTOR(pt), INTERVAL '1' DAY)) AS u ON t.window_start = u.window_start AND t.window_end = u.window_end
-- says: Processing time Window Join is not supported yet.
SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY id) AS place FROM TABLE(TUMBLE(TABLE ticker, DESCRIPTOR(pt), INTERVAL '1' DAY))) WHERE place <= 3;
-- at: ROW_NUMBER
-- says: Processing time Window TopN is not supported yet: give the table a time attribute of event time, with a WATERMARK
SELECT * FROM TABLE(TUMBLE(TABLE (SELECT id, et FROM orders), DESCRIPTOR(et), INTERVAL '10' SECOND));
-- at: (
-- says: TABLE takes a name; write a query without TABLE: (SELECT ...)
SELECT plus(id, 1) FROM orders;
-- at: plus(id, 1)
-- says: No match found for function signature PLUS
SELECT `get`(ROW(id, 1), 0) FROM orders;
-- at: `get`(ROW(id, 1), 0)
-- says: No match found for function signature GET
SELECT trim_both(item, 'a') FROM orders;
-- at: trim_both(item, 'a')
-- says: No match found for function signature TRIM_BOTH
SELECT `$SUM0`(id) FROM orders;
-- at: `$SUM0`(id)
-- says: No match found for function signature $SUM0
SELECT item AS k, MAX(id) AS m FROM orders GROUP BY item ORDER BY orders.m LIMIT 3;
-- at: orders.m
-- says: Column 'm' not found in table 'orders'
SELECT a.id FROM orders AS a JOIN people AS b ON a.id > 1 AND a.item = b.age;
-- at: a.item = b.age
-- says: implicit type conversion between STRING and INT is not supported on join's condition now
SELECT id FROM orders ORDER BY id FETCH FIRST ROW ONLY;
-- at: id FROM orders ORDER BY id
-- says: FETCH FIRST needs a number of rows
CREATE VIEW doubled (a, a) AS SELECT id, item FROM orders;
-- at: a
-- says: A column with the same name `a` has been defined
CREATE VIEW doubled AS SELECT id, item, id FROM orders;
-- at: id
-- says: A column with the same name `id` has been defined
ALTER VIEW cheap AS SELECT id, item, id FROM orders;
-- at: id
-- says: A column with the same name `id` has been defined
WITH w AS (SELECT id, price AS id FROM orders) SELECT 1 FROM w;
-- at: w AS (SELECT id, price AS id FROM orders)
-- says: Column has duplicate column name 'id'
SELECT t.id FROM (SELECT id, price AS id FROM orders) AS t;
-- at: t.id
-- says: Column 'id' is ambiguous
SELECT * FROM (SELECT id, price AS id FROM orders);
-- at: *
-- says: Column 'id' is ambiguous
ALTER TABLE orders RESET ('connector');
-- at: connector
-- says: ALTER TABLE RESET does not support changing 'connector'
CREATE TABLE later (WATERMARK FOR et AS et) LIKE orders;
-- at: et
-- says: There already exists a watermark spec for column 'et' in the base table
SELECT * FROM UNNEST(ARRAY[1], ARRAY[2]);
-- at: 1], ARRAY[2
-- says: UNNEST takes one array, map or multiset
SELECT id FROM orders FETCH FIRST 5 PERCENT ROWS ONLY;
-- at: PERCENT
-- says: PERCENT is not supported
