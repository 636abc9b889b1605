-- the type VARIANT and structured objects
SELECT PARSE_JSON('{"b": [1, 2.50, "x", null, true], "a": 1}');
SELECT PARSE_JSON('1'), PARSE_JSON('"text"'), PARSE_JSON('null'), PARSE_JSON('1.5'), PARSE_JSON('1e3'), PARSE_JSON('true'), PARSE_JSON('[]'), PARSE_JSON('{}'), PARSE_JSON('12345678901234567890');
SELECT PARSE_JSON('{"b": 1, "a": {"c": "d"}}')['a'], PARSE_JSON('[10, 20, 30]')[2], PARSE_JSON('{"a": 1}')['x'], PARSE_JSON('[10]')[5];
SELECT PARSE_JSON('{"b": 1, "a": {"c": "d"}}')['a']['c'], CAST(PARSE_JSON('{"n": 7}')['n'] AS INT), CAST(PARSE_JSON('{"n": "seven"}')['n'] AS STRING), CAST(PARSE_JSON('7') AS BIGINT), CAST(PARSE_JSON('1.5') AS DOUBLE), CAST(PARSE_JSON('true') AS BOOLEAN);
SELECT CAST(PARSE_JSON('{"b": 1, "a": [1, "x"]}') AS STRING), CAST(PARSE_JSON('7') AS STRING), CAST(PARSE_JSON('7') AS DOUBLE), CAST(PARSE_JSON('7') AS DECIMAL(10, 2));
SELECT TRY_PARSE_JSON('{"a": 1'), TRY_PARSE_JSON('{"a": 1}'), PARSE_JSON(CAST(NULL AS STRING)), TRY_PARSE_JSON('');
SELECT PARSE_JSON('{"a": 1, "a": 2}', TRUE), TRY_PARSE_JSON('{"a": 1, "a": 2}'), TRY_PARSE_JSON('{"a": 1, "a": 2}', TRUE);
SELECT JSON_STRING(PARSE_JSON('{"b": 1, "a": [1, "x", null]}')), JSON_STRING(PARSE_JSON('"x"'));
SELECT CAST(PARSE_JSON('"x"') AS INT);
SELECT TRY_CAST(PARSE_JSON('"x"') AS INT), TRY_CAST(PARSE_JSON('300') AS TINYINT), CAST(PARSE_JSON('300') AS SMALLINT);
SELECT item, PARSE_JSON('{"i": "' || item || '", "p": ' || CAST(price AS STRING) || '}')['p'] FROM orders WHERE item IS NOT NULL AND price IS NOT NULL;
SELECT OBJECT_OF('com.example.User', 'name', 'Bob', 'age', 42);
SELECT OBJECT_OF('com.example.User', 'name', name, 'age', age), TYPEOF(OBJECT_OF('com.example.User', 'name', 'Bob', 'age', 42)) FROM people;
SELECT OBJECT_UPDATE(OBJECT_OF('com.example.User', 'name', 'Bob', 'age', 42), 'age', 43);
SELECT OBJECT_OF('com.example.User', 'name', 'Bob', 'age', 42).name, OBJECT_OF('com.example.User', 'name', 'Bob', 'age', 42).age + 1;
