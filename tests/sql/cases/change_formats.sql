-- Changes that a database's log has, as tools write them; a stream has every one of them.
-- table.exec.mini-batch.enabled: false
SELECT * FROM debezium;
SELECT * FROM debezium_schema;
SELECT id, name, weight FROM debezium_keyed;
SELECT * FROM canal;
SELECT * FROM canal_all;
SELECT * FROM maxwell;
SELECT * FROM ogg;
SELECT * FROM damaged;
SELECT * FROM corrupt;
SELECT COUNT(*), SUM(weight), MIN(name) FROM debezium;
SELECT name, COUNT(*) AS n FROM maxwell GROUP BY name;
SELECT id, name FROM debezium WHERE weight > 5;
