-- Puts SQLite to work: expressions, indexes, joins, aggregates, windows, triggers, views, recursion, full-text search.
PRAGMA foreign_keys = ON;
CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE book(id INTEGER PRIMARY KEY, author INTEGER REFERENCES author ON DELETE CASCADE, title TEXT, price REAL);
CREATE INDEX book_by_author ON book(author, price);
CREATE TABLE log(entry TEXT);
CREATE TRIGGER changed AFTER UPDATE ON book WHEN new.price <> old.price BEGIN
  INSERT INTO log VALUES (printf('%s: %.2f -> %.2f', new.title, old.price, new.price));
END;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
  INSERT INTO author SELECT i, 'author ' || substr('abcdefghijklmnopqrstuvwxyz', i % 26 + 1, 1) || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO book SELECT i, i * 7919 % 200 + 1, 'title ' || (i * 104729 % 10007), (i * 31 % 997) / 7.0 FROM n;
ANALYZE;
SELECT count(*), round(sum(price), 3), min(title), max(title) FROM book;
SELECT name, count(*), round(avg(price), 3) FROM author JOIN book ON book.author = author.id
  GROUP BY name HAVING count(*) > 90 ORDER BY 3 DESC, 1 LIMIT 12;
SELECT title, rank() OVER (PARTITION BY author ORDER BY price DESC, id), lag(title) OVER (ORDER BY id) FROM book
  WHERE author IN (3, 5, 8) ORDER BY id LIMIT 15;
EXPLAIN QUERY PLAN SELECT * FROM book WHERE author = 3 AND price > 10 OR title LIKE 'title 1%';
BEGIN;
UPDATE book SET price = price * 1.1 WHERE id % 997 = 0;
SAVEPOINT s;
DELETE FROM author WHERE id % 10 = 0;
SELECT count(*) FROM book;
ROLLBACK TO s;
SELECT count(*) FROM book;
COMMIT;
SELECT entry FROM log ORDER BY entry LIMIT 5;
CREATE VIEW cheap AS SELECT author, title FROM book WHERE price < 5;
SELECT count(*), group_concat(title, ',') FROM (SELECT title FROM cheap ORDER BY title LIMIT 8);
SELECT a.name FROM author a WHERE NOT EXISTS (SELECT 1 FROM book b WHERE b.author = a.id AND b.price > 142) ORDER BY name LIMIT 5;
CREATE VIRTUAL TABLE text USING fts4(body);
INSERT INTO text SELECT 'the ' || title || ' of ' || name FROM book JOIN author ON author = author.id WHERE book.id < 3000;
SELECT count(*), min(body) FROM text WHERE body MATCH 'title NEAR/3 author';
CREATE VIRTUAL TABLE boxes USING rtree(id, x1, x2, y1, y2);
INSERT INTO boxes SELECT id, id % 100, id % 100 + 3, id / 100, id / 100 + 2 FROM book;
SELECT count(*), sum(id) FROM boxes WHERE x1 < 50 AND x2 > 40 AND y1 > 20 AND y2 < 60;
SELECT json_extract(value, '$.a'), json_type(value, '$.b') FROM json_each('[{"a":1,"b":[]},{"a":"x","b":null}]');
WITH RECURSIVE fib(a, b, n) AS (VALUES (0, 1, 0) UNION ALL SELECT b, a + b, n + 1 FROM fib WHERE n < 60) SELECT max(a) FROM fib;
SELECT strftime('%Y-%m-%d', '2024-02-28', '+2 days'), hex(zeroblob(4)), quote('it''s'), typeof(1 / 2.0), 7 % 3, 'a' < 'B' COLLATE nocase;
INSERT INTO author VALUES (1, 'again') ON CONFLICT(id) DO UPDATE SET name = excluded.name RETURNING id, name;
VACUUM;
PRAGMA integrity_check;
