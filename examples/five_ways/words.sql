CREATE TABLE words (word STRING) WITH ('connector' = 'filesystem', 'path' = 'words.csv', 'format' = 'csv');
SELECT word, COUNT(*) AS times FROM words GROUP BY word;
