"""The engine on ClickHouse: one server, or a cluster whose machines share each question."""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from itertools import chain, islice
from secrets import randbits
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from mdmem.fleet.engine import (
    FORM,
    NUMBERS,
    Change,
    FleetCandidate,
    FleetTerm,
    Held,
    Readable,
    Term,
    Totals,
)
from mdmem.folder import installed
from mdmem.index import indexed, ranking
from mdmem.index.query import Filter, label_conditions
from mdmem.index.schema import LANGUAGE, LENGTHS
from mdmem.model.errors import FleetProblem, WorkspaceProblem
from mdmem.startup import late
from mdmem.text.terms import encodable

installed.require_packages(("clickhouse_connect",), "this fleet needs its extra", "fleet")
# behind the line that says what is missing
from clickhouse_connect import get_client  # noqa: E402
from clickhouse_connect.driver.client import Client  # noqa: E402
from clickhouse_connect.driver.exceptions import ClickHouseError  # noqa: E402

# What fails is in the exception; without a handler it would be printed too.
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())

_OLDEST = (24, 8)
# of ClickHouse's failures
_REFUSED, _PARTIAL, _SLOW = (192, 193, 194, 497, 516), (279, 341), (159, 209, 210)
_ROWS_AT_ONCE, _NAMES_AT_ONCE = 50_000, 250
_WRITING_SECONDS, _SECONDS_OF_OLD_PARTS = 600, 120
_RANDOM_BITS = 24
"""Of a file's number, below 32 bits that are its repository's and path's each time."""
_EXACT = 1e9
"""Scores are summed up in such parts of one, since a sum of floats depends on its order."""
_SLOPE = ranking.SATURATION * ranking.LENGTH_SHARE

_COLUMNS = {
    "incoming_all": ("repo", "file", "place", *NUMBERS, "shown", "label", *LENGTHS, LANGUAGE),
    "files_all": ("repo", "path", "file", "entries", "lengths", "gone", "at"),
    "held_all": ("repo", "commit", "form", "at"),
}
_NOT_ASKED = ("path:", "place:", "said:")
_ALONE = {"shards_all": "system.one", "parts_all": "system.parts", "replicas_all": "system.parts"}
"""Tables of the cluster's SQL without one; NAME_all is NAME on all shards."""
_ALL_REPLICAS = {"replicas_all": "clusterAllReplicas('$', system.parts)"}
_STATEMENTS = late.pattern(r"(?:CREATE [A-Z ]+ EXISTS|ALTER TABLE|OPTIMIZE TABLE) \w+|GRANT(?= )")

_MADE = """SELECT count() FROM system.tables WHERE database = currentDatabase()
 AND (name = 'postings_incoming' OR startsWith(name, 'parts_'))"""
"""The last one of each file of tables."""
_CURRENT = "SELECT file FROM files FINAL WHERE NOT gone"
_IN_FILES = f" AND file IN ({_CURRENT}"
_SCORED = f"""SELECT file, place, cityHash64(bitShiftRight(file, {_RANDOM_BITS}), place) AS tie,
 sum(toInt64(round(transform(term, {{terms:Array(String)}}, {{worths:Array(Float64)}}, 0.) * times
 / (times + transform(term, {{terms:Array(String)}}, {{slopes:Array(Float64)}}, 0.) * length
 + {ranking.SATURATION - _SLOPE})))) AS score
 FROM postings_all WHERE term IN {{terms:Array(String)}}"""
_BEST = """ GROUP BY file, place ORDER BY score DESC, tie LIMIT {limit:UInt32}
 UNION ALL SELECT toUInt64(0), toUInt32(0), toUInt64(0), toInt64(count()) FROM shards_all"""
_IN_PLACE = """ AND (path = {place:String} OR startsWith(path, concat({place:String}, '/'))
 OR position({place:String}, '/') = 0 AND endsWith(path, concat('/', {place:String})))"""
_HAS = " AND (file, place) IN (SELECT file, place FROM postings WHERE "
_HAS_NOT = " AND (file, place) NOT IN (SELECT file, place FROM postings WHERE "
_KEYED = " FROM entries_all WHERE (file, place) IN {keys:Array(Tuple(UInt64, UInt32))}"
_REMOVED = """INSERT INTO files_all SELECT repo, path, 0, 0, [], 1, {at:UInt64} FROM files_all FINAL
 WHERE at < {at:UInt64}"""
_CLOCK = """SELECT greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), max(at) + 1) + rand() % 1000
 FROM held_all"""
_HELD = """SELECT repo, commit, form, at FROM held_all FINAL WHERE form != 0 AND repo NOT IN (
 SELECT repo FROM (SELECT repo, at, 1 AS marks FROM files UNION ALL SELECT repo, at, 0 FROM held)
 GROUP BY repo HAVING maxIf(at, marks = 1) > maxIf(at, marks = 0))"""
"""Without repositories that somebody has marked, and not said to be at a commit since."""
_MARKED = "SELECT repo, groupUniqArray(at) FROM files_all FINAL WHERE at > 0"
_LAST_PURGE = "SELECT max(at) FROM held_all WHERE repo = ''"
_ARRIVED = f"""SELECT ({_LAST_PURGE}), (SELECT count() FROM entries_all
 WHERE file IN (SELECT file FROM files WHERE at = {{at:UInt64}}))"""
_PURGE = f"""OPTIMIZE TABLE files FINAL; OPTIMIZE TABLE held FINAL;
 ALTER TABLE files DELETE WHERE (repo, path) IN (SELECT repo, path FROM files FINAL WHERE gone);
 ALTER TABLE held DELETE WHERE repo IN (SELECT repo FROM held FINAL WHERE form = 0 AND repo != '');
 ALTER TABLE entries DELETE WHERE file NOT IN ({_CURRENT});
 ALTER TABLE postings DELETE WHERE file NOT IN ({_CURRENT})"""
_OLD = """SELECT count() FROM replicas_all WHERE database = currentDatabase() AND NOT active
 AND rows > 0"""
_SIZE = """SELECT sum(bytes_on_disk), (SELECT count() FROM shards_all), (SELECT uniqExact(shard_num)
 FROM system.clusters WHERE cluster = '$') FROM parts_all
 WHERE active AND database = currentDatabase()"""


class ClickHouseEngine:
    """The `Engine` of a client.

    `answering`: the shards that the last `candidates` are from; all that there are, or `partial`.
    """

    answering = 1

    def __init__(self, client: Client, cluster: str = "", partial: bool = False) -> None:
        self._client, self._cluster, self._partial = client, cluster, partial

    @classmethod
    def connect(
        cls, at: str, environment: Mapping[str, str], seconds: int = 5, partial: bool = False
    ) -> ClickHouseEngine:
        """The engine at an address, after at most so many seconds for each answer.

        Raises FleetProblem, WorkspaceProblem (`bad-settings`: the cluster's name).
        """
        url, database, cluster = _address(at)
        client = _call(
            get_client,
            interface=url.scheme,
            host=url.hostname,
            port=url.port,
            username=environment.get("MDMEM_FLEET_USER"),
            password=environment.get("MDMEM_FLEET_PASSWORD", ""),
            database=database,
            connect_timeout=seconds,
            send_receive_timeout=seconds,
            query_retries=0,
            form_encode_query_params=True,
            autogenerate_session_id=False,
        )
        if tuple(map(int, client.server_version.split(".")[:2])) < _OLDEST:
            raise FleetProblem("fleet-version", f"ClickHouse {client.server_version} is too old")
        return cls(client, cluster, partial)

    def make(self) -> None:
        names = ("tables.sql", "cluster.sql") if self._cluster else ("tables.sql",)
        if self._ask(_MADE)[0][0] == len(names):  # by an account that may
            return
        for name in names:
            self._run(installed.template(f"fleet/{name}"))

    def held(self) -> Mapping[str, Held]:
        return {repository: Held(commit, form) for repository, commit, form, _ in self._ask(_HELD)}

    def put(self, changes: Sequence[Change]) -> None:
        due, since, is_whole = changes, dict[str, int](), False
        while not is_whole:
            [[purged]], marks = self._ask(_LAST_PURGE), list[list[Any]]()
            rows = chain.from_iterable(_rows(change, marks) for change in due)
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                self._insert("incoming_all", some)
            if not since:  # read as late as may be
                held = {name: (commit, at) for name, commit, _, at in self._ask(_HELD)}
                new = (None, 0)
                due = [each for each in due if held.get(each.repository, new)[0] == each.before]
                since = {each.repository: held.get(each.repository, new)[1] for each in due}
            at = int(self._ask(_CLOCK)[0][0])
            named = [[*mark, at] for mark in marks if mark[0] in since]
            self._insert("files_all", named)
            self._remove([each.repository for each in due if each.whole], at)
            # A purge may have taken rows that had no mark yet, or the client have sent some twice.
            [[purged_now, arrived]] = self._ask(_ARRIVED, {"at": at})
            is_whole = purged_now == purged and arrived <= sum(mark[3] for mark in named)
        mixed = self._mixed(since, at)
        sound = [each for each in due if each.repository not in mixed]
        self._insert("held_all", [(each.repository, each.commit, FORM, at) for each in sound])
        self._forget(mixed)

    def _mixed(self, since: Mapping[str, int], at: int) -> list[str]:
        """Repositories with marks of two who brought them on from the same commit."""
        of_them, values = _readable(tuple(since))
        marked = self._ask(_MARKED + of_them + " GROUP BY repo", values)
        newer = {name: [each for each in times if each > since[name]] for name, times in marked}
        return [name for name, times in newer.items() if times and min(times) < max(*times, at)]

    def drop(self, repositories: Collection[str]) -> None:
        self._remove(repositories, int(self._ask(_CLOCK)[0][0]))
        self._forget(repositories)

    def _forget(self, repositories: Collection[str]) -> None:
        """Have them indexed as a whole by whoever comes next."""
        at = int(self._ask(_CLOCK)[0][0])
        self._insert("held_all", [(repository, "", 0, at) for repository in repositories])

    def totals(self, readable: Readable) -> Totals:
        of_readable, values = _readable(readable)
        sql = "SELECT sum(entries), sumForEach(lengths) FROM files_all FINAL WHERE NOT gone"
        [(entries, lengths)] = self._ask(sql + of_readable, values)
        return Totals(entries, dict(zip(LENGTHS, lengths, strict=False)))

    def counts(self, terms: Collection[Term], readable: Readable) -> Mapping[Term, int]:
        of_readable, values = _readable(readable)
        posted = {f"{term} {field}": (field, term) for field, term in terms}
        sql = "SELECT term, count() FROM postings_all WHERE term IN {terms:Array(String)}"
        sql += _IN_FILES + of_readable + ") GROUP BY term"
        rows = self._ask(sql, values | {"terms": list(posted)})
        return dict.fromkeys(terms, 0) | {posted[term]: number for term, number in rows}

    def beginning(self, start: str, readable: Readable) -> Sequence[str]:
        of_readable, values = _readable(readable)
        sql = "SELECT DISTINCT term FROM postings_all WHERE startsWith(term, {start:String})"
        sql += (
            " AND endsWith(term, ' text')" + _IN_FILES + of_readable + ") ORDER BY term LIMIT 1000"
        )
        rows = self._ask(sql, values | {"start": start})
        return [term.removesuffix(" text") for (term,) in rows]

    def candidates(
        self,
        asked: Sequence[FleetTerm],
        totals: Totals,
        passing: tuple[Filter, date],
        readable: Readable,
        limit: int,
    ) -> Sequence[FleetCandidate]:
        worths, slopes = defaultdict[str, float](float), dict[str, float]()
        for field, term, worth in asked:
            worths[f"{term} {field}"] += worth * (ranking.SATURATION + 1) * _EXACT
            slopes[f"{term} {field}"] = _SLOPE / (totals.average(field) or 1)
        of_readable, values = _readable(readable)
        of_files, of_entries, more = _conditions(passing[0])
        sql = "".join((_SCORED, _IN_FILES, of_readable, of_files, ")", of_entries, _BEST))
        values |= more | {"terms": list(worths), "limit": limit}
        values |= {"worths": list(worths.values()), "slopes": list(slopes.values())}
        rows = self._ask(sql, values, distributed_group_by_no_merge=1)
        self.answering = sum(score for file, _, _, score in rows if not file)
        best = sorted((-score, tie, (file, place)) for file, place, tie, score in rows if file)
        numbers = self._entries([key for *_, key in best[:limit]], NUMBERS)
        return [
            FleetCandidate(-score / _EXACT, tie, dict(zip(NUMBERS, numbers[key], strict=True)), key)
            for score, tie, key in best[:limit]
            if key in numbers  # it may be purged meanwhile
        ]

    def shown(self, keys: Sequence[Any]) -> Sequence[tuple[str, bytes]]:
        rows = self._entries(keys, ("repo", "shown"))
        if not all(key in rows for key in keys):
            raise FleetProblem("fleet-failed", "what was found was purged meanwhile", "Ask again.")
        return [(repository, row) for repository, row in map(rows.__getitem__, keys)]

    def purge(self) -> None:
        self._forget([""])
        self._run(_PURGE, mutations_sync=2, alter_sync=2, allow_nondeterministic_mutations=1)
        for _ in range(_SECONDS_OF_OLD_PARTS):
            if not self._ask(_OLD)[0][0]:
                return
            time.sleep(1)  # the server removes them by itself, some seconds after
        raise FleetProblem("fleet-failed", "purged, but old parts are still on the disks")

    def describe(self) -> Mapping[str, int]:
        """`bytes` are those of one replica of each shard that answers."""
        size, answering, shards = self._ask(_SIZE, skip_unavailable_shards=1)[0]
        return {"bytes": size, "shards": shards or 1, "answering": answering}

    def _entries(self, keys: Sequence[Any], names: Sequence[str]) -> dict[Any, Sequence[Any]]:
        sql = "SELECT file, place, " + ", ".join(names) + _KEYED
        rows = self._ask(sql, {"keys": list(keys)}) if keys else ()
        return {(file, place): numbers for file, place, *numbers in rows}

    def _remove(self, repositories: Collection[str], at: int) -> None:
        """Mark what repositories had before as gone."""
        if repositories:
            of_them, values = _readable(tuple(repositories))
            self._run(_REMOVED + of_them, values | {"at": at}, distributed_foreground_insert=1)

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        settings = {"distributed_foreground_insert": 1, "async_insert": 0}
        names = _COLUMNS[table]
        self._wait_long()
        if rows:
            _call(self._client.insert, self._named(table), rows, names, settings=settings)

    def _ask(
        self, sql: str, values: Mapping[str, Any] | None = None, **settings: int
    ) -> Sequence[Sequence[Any]]:
        # To compare many numbers with the index takes longer than reading what it would leave out.
        settings = {"use_index_for_in_with_subqueries_max_values": 3000} | settings
        settings = {"skip_unavailable_shards": int(self._partial)} | settings
        rows: Sequence[Sequence[Any]] = _call(
            self._client.query,
            self._named(sql),
            values,
            settings,
            column_formats={"shown": "bytes"},
        ).result_rows
        return rows

    def _run(self, sql: str, values: Mapping[str, Any] | None = None, **settings: int) -> None:
        self._wait_long()
        for statement in filter(str.strip, self._named(sql).split(";")):
            _call(self._client.command, statement, values, settings=settings)

    def _wait_long(self) -> None:
        self._client.timeout = _WRITING_SECONDS

    def _named(self, sql: str) -> str:
        """SQL for the cluster, whose tables are replicated, or for one server."""
        for name, table in (_ALL_REPLICAS if self._cluster else _ALONE).items():
            sql = sql.replace(name, table)
        return _on_cluster(sql, self._cluster) if self._cluster else sql.replace("_all", "")


def setup_sql(at: str) -> str:
    """The SQL by which an administrator makes tables and users at an address."""
    _, database, cluster = _address(at)
    parts = ("tables", "cluster", "users") if cluster else ("tables", "users")
    sql = "\n".join(installed.template(f"fleet/{part}.sql") for part in parts)
    sql = sql.replace("DATABASE", database)
    return _on_cluster(sql, cluster) if cluster else sql


def _on_cluster(sql: str, cluster: str) -> str:
    sql = re.sub(r"ENGINE = (\w*MergeTree)", r"ENGINE = Replicated\1", sql)
    return _STATEMENTS.sub(r"\g<0> ON CLUSTER '$'", sql).replace("$", cluster)


def _address(at: str) -> tuple[SplitResult, str, str]:
    """An address with its database and its cluster."""
    url = urlsplit(at)
    names = url.path.strip("/") or "default", parse_qs(url.query).get("cluster", [""])[0]
    for name in names:
        if not re.fullmatch("[A-Za-z0-9_]*", name):
            raise WorkspaceProblem("bad-settings", f"not a name of a database or cluster: {name}")
    return url, *names


def _call(action: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call the client; raises FleetProblem, with the engine's words alone and no trace of it."""
    try:
        return action(*args, **keywords)
    except ClickHouseError as problem:
        number, words = getattr(problem, "code", None), str(problem).partition("\n")[0][:300]
    code = "fleet-unreachable" if number is None or number in _SLOW else "fleet-failed"
    code = "fleet-refused" if number in _REFUSED else code
    code = "fleet-partial" if number in _PARTIAL else code
    raise FleetProblem(code, words)


def _rows(change: Change, marks: list[list[Any]]) -> Iterator[Sequence[Any]]:
    """The rows of a change; adds the marks of its files, but for the time."""
    repository = change.repository
    for file in change.files:
        number = _new_number(repository, _text(file.path))
        lengths = [sum(each.get(name, 0) for each in file.documents) for name in LENGTHS.values()]
        marks.append([repository, _text(file.path), number, len(file.documents), lengths, 0])
        for place, document in enumerate(file.documents):
            numbers = (document.get(name, 0) for name in NUMBERS)
            words = (document.get(name, "") for name in (*LENGTHS, LANGUAGE))
            yield repository, number, place, *numbers, document["row"][0], _labels(document), *words
    marks.extend([repository, _text(path), 0, 0, [], 1] for path in change.gone)


def _text(path: str) -> str:
    """A path as text: its bytes that are not, escaped, and so the signs of these."""
    return path.replace("\\", "\\\\").encode(errors="backslashreplace").decode()


def _new_number(repository: str, path: str) -> int:
    def digest(text: str, bits: int) -> int:
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 64 - bits

    numbers = digest(repository, 12) << 20 | digest(f"{repository}\0{path}", 20)
    return numbers << _RANDOM_BITS | randbits(_RANDOM_BITS)


def _labels(document: Mapping[str, Any]) -> str:
    """The labels that filters ask for, and days; places are those of the file in `files`."""
    labels = (each for each in document["label"].split() if not each.startswith(_NOT_ASKED))
    days = (name for name in ("day", "logged", "until") if document.get(name))
    return " ".join((*labels, *(f"{name}:{document[name]:07}" for name in days)))


def _readable(readable: Readable) -> tuple[str, dict[str, Any]]:
    if readable is None:
        return "", {}
    # A server takes 128 KB for a value.
    parts = [
        readable[first : first + _NAMES_AT_ONCE]
        for first in range(0, len(readable), _NAMES_AT_ONCE)
    ]
    alternatives = "".join(f" OR repo IN {{r{n}:Array(String)}}" for n in range(len(parts)))
    return f" AND (0{alternatives})", {f"r{n}": list(part) for n, part in enumerate(parts)}


def _conditions(passing: Filter) -> tuple[str, str, dict[str, Any]]:
    """SQL on files and on entries for what a filter asks, and its values."""
    of_files, of_entries, values = "", "", dict[str, Any]()
    for name, places in label_conditions(passing):
        if name == "place":
            of_files, values["place"] = _IN_PLACE, _text(places[0])
    bounds = 0
    for condition, ranges in _ranges(passing):
        numbers = range(bounds, bounds := bounds + len(ranges))
        values |= {f"a{n}": f"label {first}" for n, (first, _) in zip(numbers, ranges, strict=True)}
        values |= {f"b{n}": f"label {last}" for n, (_, last) in zip(numbers, ranges, strict=True)}
        either = " OR ".join(f"term BETWEEN {{a{n}:String}} AND {{b{n}:String}}" for n in numbers)
        of_entries += condition + either + ")"
    return of_files, of_entries, values


def _ranges(passing: Filter) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """An entry has a label in one of these ranges, or (NOT) in none."""
    for name, alternatives in label_conditions(passing):
        if name != "place":
            labels = [indexed.as_label(name, encodable(each)) for each in alternatives]
            yield _HAS, [(label, label) for label in labels]
    first, last = (passing.since or date.min).toordinal(), (passing.until or date.max).toordinal()
    if passing.since or passing.until:
        yield _HAS, [_days("day", first, last)]
    if passing.expires_by:
        yield _HAS, [_days("until", 0, passing.expires_by.toordinal())]
    without = [(indexed.PAST_LABEL, indexed.PAST_LABEL)]
    if passing.valid_on:
        without.append(_days("until", 0, passing.valid_on.toordinal() - 1))
    if passing.log_days_from:
        without.append(_days("logged", 0, passing.log_days_from.toordinal() - 1))
    yield _HAS_NOT, without


def _days(name: str, first: int, last: int) -> tuple[str, str]:
    return f"{name}:{first:07}", f"{name}:{last:07}"
