-- Readings of a hundred sensors, and a report of the warmest ones for every two seconds of them.
-- Run it with `headrace sql examples/sensor_report.sql`.

-- Rows are shown as they come, though the table has an end.
SET 'execution.carrier' = 'live';
-- On a terminal they fill a table on the whole screen; Q leaves it.
SET 'sql-client.execution.result-mode' = 'table';

CREATE TABLE readings (
    sensor INT,
    temperature DOUBLE,
    at AS LOCALTIMESTAMP,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'datagen',
    'number-of-rows' = '40000',
    'rows-per-second' = '5000',
    'fields.sensor.min' = '1',
    'fields.sensor.max' = '100',
    'fields.temperature.min' = '15',
    'fields.temperature.max' = '30'
);

SELECT window_start, sensor, readings, mean
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY mean DESC) AS place
    FROM (
        SELECT
            window_start,
            window_end,
            sensor,
            COUNT(*) AS readings,
            ROUND(AVG(temperature), 2) AS mean
        FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(at), INTERVAL '2' SECOND))
        GROUP BY window_start, window_end, sensor
    )
)
WHERE place <= 3;
