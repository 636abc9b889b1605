-- unnest
SELECT id, tag FROM baskets CROSS JOIN UNNEST(tags) AS t(tag);
SELECT id, tag, n FROM baskets CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t(tag, n);
SELECT id, tag FROM baskets LEFT JOIN UNNEST(tags) AS t(tag) ON TRUE;
SELECT id, tag, n FROM baskets LEFT JOIN UNNEST(tags) WITH ORDINALITY AS t(tag, n) ON TRUE;
SELECT id, k, v FROM baskets CROSS JOIN UNNEST(attrs) AS t(k, v);
SELECT id, k, v, n FROM baskets CROSS JOIN UNNEST(attrs) WITH ORDINALITY AS t(k, v, n);
SELECT id, p, q FROM baskets CROSS JOIN UNNEST(items) AS t(p, q);
SELECT id, p, q, n FROM baskets LEFT JOIN UNNEST(items) WITH ORDINALITY AS t(p, q, n) ON TRUE;
SELECT id, t.* FROM baskets, UNNEST(items) AS t;
SELECT id, p FROM baskets, UNNEST(items) AS t;
SELECT * FROM baskets CROSS JOIN UNNEST(items);
SELECT id, tag FROM baskets LEFT JOIN UNNEST(tags) AS t(tag) ON tag = 'a';
SELECT id, tag FROM baskets JOIN UNNEST(tags) AS t(tag) ON tag <> 'a';
SELECT id, tag FROM baskets, UNNEST(tags) AS t(tag) WHERE tag > 'a';
SELECT id, tag, k FROM baskets CROSS JOIN UNNEST(tags) AS t(tag) CROSS JOIN UNNEST(attrs) AS u(k, v);
-- refused by both
SELECT id, tag FROM baskets RIGHT JOIN UNNEST(tags) AS t(tag) ON TRUE;
SELECT id, tag FROM baskets FULL JOIN UNNEST(tags) AS t(tag) ON TRUE;
SELECT id, tag FROM baskets CROSS JOIN UNNEST(tags) AS t(tag, other);
SELECT id, tag FROM baskets CROSS JOIN UNNEST(id) AS t(tag);
SELECT id, tag FROM baskets CROSS JOIN UNNEST(nothere) AS t(tag);
SELECT id, x FROM baskets, LATERAL TABLE(nofunction(id)) AS t(x);
SELECT name, tag FROM people LEFT JOIN LATERAL (SELECT tag FROM baskets CROSS JOIN UNNEST(tags) AS t(tag)) AS x ON TRUE;
