CREATE TABLE orders (
  id INT, item STRING, price INT, qty INT, ts STRING,
  et AS TO_TIMESTAMP(ts),
  WATERMARK FOR et AS et - INTERVAL '1' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{data}/orders.csv', 'format' = 'csv', 'csv.null-literal' = 'null');
CREATE TABLE people (
  name STRING, age INT, city STRING, height DOUBLE, score DECIMAL(10, 2), active BOOLEAN
) WITH ('connector' = 'filesystem', 'path' = '{data}/people.json', 'format' = 'json');
