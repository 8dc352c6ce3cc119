CREATE TABLE IF NOT EXISTS files (
    repo String, path String, file UInt64, entries UInt32, lengths Array(UInt64), gone UInt8,
    at UInt64
) ENGINE = ReplacingMergeTree(at) ORDER BY (repo, path)
SETTINGS old_parts_lifetime = 10;

CREATE TABLE IF NOT EXISTS held (
    repo String, commit String, form UInt32, at UInt64
) ENGINE = ReplacingMergeTree(at) ORDER BY repo
SETTINGS old_parts_lifetime = 10;

CREATE TABLE IF NOT EXISTS entries (
    repo LowCardinality(String), file UInt64 CODEC(ZSTD(1)), place UInt32 CODEC(Delta, ZSTD(1)),
    day Int32 CODEC(ZSTD(1)), logged Int32 CODEC(ZSTD(1)), last Int32 CODEC(ZSTD(1)),
    cues Int64 CODEC(ZSTD(1)), factor Float64 CODEC(ZSTD(1)), passage Int64 CODEC(NONE),
    shown String CODEC(ZSTD(6))
) ENGINE = MergeTree ORDER BY (file, place)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, old_parts_lifetime = 10;

CREATE TABLE IF NOT EXISTS postings (
    term LowCardinality(String) CODEC(ZSTD(1)), file UInt64 CODEC(ZSTD(3)),
    place UInt32 CODEC(Delta, ZSTD(1)), times UInt16 CODEC(ZSTD(1)), length UInt16 CODEC(ZSTD(1))
) ENGINE = MergeTree ORDER BY (term, file, place)
SETTINGS index_granularity = 1024, old_parts_lifetime = 10;

CREATE TABLE IF NOT EXISTS incoming (
    repo String, file UInt64, place UInt32, day Int32, logged Int32, last Int32, cues Int64,
    factor Float64, passage Int64, shown String, label String, text String, around String,
    asked String, heading String, parts String, keys String, grams String, grams_around String,
    language String
) ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS entries_incoming TO entries AS
SELECT repo, file, place, day, logged, last, cues, factor, passage, shown FROM incoming;

CREATE MATERIALIZED VIEW IF NOT EXISTS postings_incoming TO postings AS
SELECT concat(before, word, after) AS term, file, place,
    toUInt16(least(number, 65535)) AS times, toUInt16(least(length(words), 65535)) AS length
FROM (
    SELECT file, place, arrayJoin([
            ('label ', label, ''), ('', text, ' text'), ('', around, ' around'),
            ('', asked, ' asked'), ('', heading, ' heading'), ('', parts, ' parts'),
            ('', keys, ' keys'), ('', grams, ' grams'), ('', grams_around, ' grams_around'),
            ('', language, ' language')
        ]) AS field, field.1 AS before, field.3 AS after, splitByWhitespace(field.2) AS words,
        arraySort(arrayEnumerateDense(words)) AS ranks,
        arrayResize(arrayPopFront(ranks), length(ranks)) AS following,
        arrayFilter((end, rank, next) -> rank != next,
            arrayEnumerate(ranks), ranks, following) AS ends,
        arrayPopFront(arrayDifference(arrayPushFront(ends, 0))) AS numbers
    FROM incoming
)
ARRAY JOIN arrayDistinct(words) AS word, numbers AS number;
