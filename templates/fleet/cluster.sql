CREATE TABLE IF NOT EXISTS files_all AS files
ENGINE = Distributed('$', currentDatabase(), files, cityHash64(repo));

CREATE TABLE IF NOT EXISTS held_all AS held
ENGINE = Distributed('$', currentDatabase(), held, cityHash64(repo));

CREATE TABLE IF NOT EXISTS incoming_all AS incoming
ENGINE = Distributed('$', currentDatabase(), incoming, cityHash64(repo));

CREATE TABLE IF NOT EXISTS entries_all AS entries
ENGINE = Distributed('$', currentDatabase(), entries);

CREATE TABLE IF NOT EXISTS postings_all AS postings
ENGINE = Distributed('$', currentDatabase(), postings);

CREATE TABLE IF NOT EXISTS shards_all (dummy UInt8)
ENGINE = Distributed('$', system, one);

CREATE TABLE IF NOT EXISTS parts_all (database String, active UInt8, bytes_on_disk UInt64)
ENGINE = Distributed('$', system, parts);
