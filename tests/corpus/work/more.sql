PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE text USING fts4(title, body);
INSERT INTO text VALUES ('hello world', 'one two three'), ('another', 'four five six');
SELECT snippet(text), offsets(text), hex(matchinfo(text)) FROM text WHERE text MATCH 'hello OR four';
INSERT INTO text(text) VALUES ('optimize');
CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, y0, y1);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO boxes SELECT i, i % 37, i % 37 + 2, i % 53, i % 53 + 3 FROM n;
SELECT count(*) FROM boxes WHERE x0 > 10 AND x1 < 20 AND y0 > 5;
CREATE TABLE rows(a INTEGER PRIMARY KEY, b TEXT, c REAL, d BLOB, e AS (json_extract(b, '$.x')));
CREATE INDEX by_b ON rows(b, c DESC);
CREATE INDEX by_e ON rows(e) WHERE c > 3;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
  INSERT INTO rows(b, c, d) SELECT json_object('x', i, 'y', hex(randomblob(5))), i * 1.5, zeroblob(i % 97) FROM n;
CREATE TRIGGER noted AFTER UPDATE ON rows BEGIN INSERT INTO text VALUES (new.b, old.b); END;
UPDATE rows SET c = c + 1 WHERE a % 100 = 0;
SELECT sum(c) OVER (PARTITION BY a % 7 ORDER BY a ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM rows LIMIT 5;
SELECT percent_rank() OVER (ORDER BY c), ntile(4) OVER w, lag(a, 1, 0) OVER w, first_value(b) OVER w FROM rows WINDOW w AS (ORDER BY b) LIMIT 4;
SAVEPOINT before; DELETE FROM rows WHERE a < 500; ROLLBACK TO before; RELEASE before;
ANALYZE; REINDEX; VACUUM;
PRAGMA integrity_check; PRAGMA foreign_key_check; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA table_info(rows);
ATTACH ':memory:' AS other; CREATE TABLE other.copy AS SELECT * FROM rows; DETACH other;
SELECT printf('%s %d %5.2f %q %Q', 'a', 5, 3.25, 'x''y', NULL), strftime('%Y', 'now', 'start of month'), 'abc' LIKE 'a%', 'abc' GLOB 'a*';
SELECT count(DISTINCT c), avg(c), min(b), max(b), total(c), group_concat(a) FROM rows GROUP BY a % 10 HAVING count(*) > 2 ORDER BY 2 DESC LIMIT 2;
SELECT * FROM json_each('[1, 2, {"a": 3}]'); SELECT json_patch('{"a": 1}', '{"b": 2}'), json_group_array(a) FROM rows WHERE a < 5;
SELECT x.a FROM rows x JOIN rows y ON x.a = y.a + 1 LEFT JOIN boxes ON boxes.id = x.a WHERE y.c > 100 ORDER BY x.b COLLATE NOCASE LIMIT 3;
ALTER TABLE rows ADD COLUMN g; ALTER TABLE rows RENAME TO renamed;
EXPLAIN QUERY PLAN SELECT * FROM renamed WHERE b > 'x'; EXPLAIN SELECT 1;
INSERT INTO renamed(a, b) VALUES (1, '{}') ON CONFLICT(a) DO UPDATE SET b = excluded.b RETURNING a;
SELECT a FROM renamed WHERE a IN (1, 2, 3) UNION SELECT 5 EXCEPT SELECT 2 INTERSECT SELECT 3;
SELECT nowhere(1); SELECT * FROM nowhere; SELECT 1 / 0, abs(-9223372036854775807), 'a' || x'00' || 'b';
.mode csv
SELECT a, c FROM renamed LIMIT 3;
.mode column
SELECT a, c FROM renamed LIMIT 3;
.schema
.tables
.dump boxes
.nowhere
