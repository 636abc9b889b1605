CREATE TABLE orders (
  id INT, item STRING, price INT, qty INT, ts STRING,
  et AS TO_TIMESTAMP(ts),
  WATERMARK FOR et AS et - INTERVAL '1' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/orders.csv', 'format' = 'csv', 'csv.null-literal' = 'null');
CREATE TABLE people (
  name STRING, age INT, city STRING, height DOUBLE, score DECIMAL(10, 2), active BOOLEAN
) WITH ('connector' = 'filesystem', 'path' = '{data}/people.json', 'format' = 'json');
CREATE TABLE ticks (
  n INT, ms BIGINT, rt AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR rt AS rt
) WITH ('connector' = 'filesystem', 'path' = '{data}/ticks.csv', 'format' = 'csv');
CREATE VIEW cheap (item, total) AS SELECT item, price * COALESCE(qty, 1) FROM orders WHERE price < 10;
CREATE VIEW sums AS SELECT item, window_time AS wt, SUM(price) AS s FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND)) GROUP BY item, window_start, window_end, window_time;
CREATE TABLE ticker (
  symbol STRING, id INT, price INT, ts STRING, et AS TO_TIMESTAMP(ts), pt AS PROCTIME(),
  WATERMARK FOR et AS et - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/ticker.csv', 'format' = 'csv');
CREATE TABLE shuffled (
  id INT, k STRING, v INT, ts STRING, et AS TO_TIMESTAMP(ts),
  WATERMARK FOR et AS et - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/shuffled.csv', 'format' = 'csv');
CREATE VIEW pairs AS SELECT a.id, b.id AS other, a.et, b.et AS other_et, a.price * b.price AS p FROM orders AS a JOIN orders AS b ON a.item = b.item AND a.et BETWEEN b.et - INTERVAL '20' SECOND AND b.et;
CREATE TABLE rates (
  item STRING, rate INT, ts STRING, et AS TO_TIMESTAMP(ts),
  PRIMARY KEY (item) NOT ENFORCED,
  WATERMARK FOR et AS et - INTERVAL '3' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/rates.csv', 'format' = 'csv');
CREATE TABLE ages (
  name STRING, age INT, PRIMARY KEY (name) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '{data}/people.json', 'format' = 'json');
CREATE VIEW latest AS SELECT symbol, price, et FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY symbol ORDER BY et DESC) AS n FROM ticker) WHERE n = 1;
CREATE VIEW newest AS SELECT k, v, et FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY et DESC) AS n FROM shuffled) WHERE n = 1;
CREATE VIEW dear_rates AS SELECT item, rate, et FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY et DESC) AS n FROM rates) WHERE n = 1 AND rate > 2;
CREATE VIEW valued AS SELECT o.id, o.item, o.price, o.et, r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.et AS r ON o.item = r.item;
CREATE VIEW regular AS SELECT o.id, o.et, r.rate FROM orders AS o JOIN rates AS r ON o.item = r.item;
CREATE VIEW ow AS SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '10' SECOND));
CREATE VIEW sw AS SELECT * FROM TABLE(TUMBLE(TABLE shuffled, DESCRIPTOR(et), INTERVAL '10' SECOND)) WHERE id <> 10;
CREATE VIEW joined_windows AS SELECT o.id, s.id AS other, o.window_time AS rt FROM ow AS o JOIN sw AS s ON o.window_start = s.window_start AND o.window_end = s.window_end;
CREATE VIEW baskets AS SELECT * FROM (VALUES (1, ARRAY['a','b'], MAP['x', 1, 'y', 2], CAST(NULL AS ARRAY<ROW<p INT, q STRING>>)), (2, ARRAY_REMOVE(ARRAY['a'], 'a'), MAP['z', 3], ARRAY[ROW(1, 'u'), ROW(2, 'v')]), (3, CAST(NULL AS ARRAY<STRING>), CAST(NULL AS MAP<STRING, INT>), ARRAY[ROW(5, 'w')])) AS t(id, tags, attrs, items);
CREATE TABLE debezium (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3), tags ARRAY<STRING>, `size` ROW<w INT, h INT>) WITH ('connector' = 'filesystem', 'path' = '{data}/products.debezium.json', 'format' = 'debezium-json');
CREATE TABLE debezium_schema (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.debezium-schema.json', 'format' = 'debezium-json', 'debezium-json.schema-include' = 'true');
CREATE TABLE debezium_keyed (id INT, name STRING, weight DECIMAL(10, 3), PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'filesystem', 'path' = '{data}/products.debezium.json', 'format' = 'debezium-json');
CREATE TABLE canal (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.canal.json', 'format' = 'canal-json', 'canal-json.table.include' = 'prod.*', 'canal-json.database.include' = 'inv.*');
CREATE TABLE canal_all (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.canal.json', 'format' = 'canal-json');
CREATE TABLE maxwell (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.maxwell.json', 'format' = 'maxwell-json');
CREATE TABLE ogg (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.ogg.json', 'format' = 'ogg-json');
CREATE TABLE damaged (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.damaged.json', 'format' = 'debezium-json', 'debezium-json.ignore-parse-errors' = 'true');
CREATE TABLE corrupt (id INT, name STRING, weight DOUBLE, made TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{data}/products.damaged.json', 'format' = 'debezium-json');
CREATE TABLE totals (item STRING, n BIGINT, PRIMARY KEY (item) NOT ENFORCED) WITH ('connector' = 'blackhole');
CREATE TABLE drain (item STRING, n BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE shown_totals (item STRING, n BIGINT, PRIMARY KEY (item) NOT ENFORCED) WITH ('connector' = 'print');
CREATE TABLE stored_totals (item STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{data}/written', 'format' = 'csv');
CREATE TABLE stock (item STRING, place STRING, amount INT, price DECIMAL(8, 2), PRIMARY KEY (item) NOT ENFORCED) WITH ({stock});
CREATE TABLE places (id BIGINT, side STRING, city STRING) WITH ({places});
CREATE VIEW now_orders AS SELECT *, PROCTIME() AS pt FROM orders;
CREATE VIEW stocked AS SELECT item AS what, amount * 2 AS twice, place FROM stock WHERE amount > 0;
