"""Find the fact, file or section that a user names, on disk or in the trail.

A fact is named by its text, its key, its id or the beginning of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any, TypeVar, cast
from unicodedata import normalize

from mdmem.editors import facts as fact_editor
from mdmem.folder import files, layout
from mdmem.model import PATH_SEPARATOR, CommitId, FactId, FileKind, FilePath
from mdmem.model.errors import (
    FactProblem,
    PathProblem,
    SectionProblem,
    field,
    near_names,
    one_of,
    shell_word,
    verb,
)
from mdmem.model.reads import SectionView, Show
from mdmem.model.trail import Mark, Occurrence
from mdmem.model.writes import Forget
from mdmem.past import entry_states, fresh_trail
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text import fact_names, frontmatter
from mdmem.text.document import (
    Document,
    Section,
    address_of,
    etag,
    find_section,
    join_path,
    matching_sections,
    parse_bytes,
    plain_title,
    preamble_etag,
    preamble_remedy,
    section_etag,
    tree_etag,
)
from mdmem.text.facts import (
    Item,
    bare_words,
    entries,
    holds_key,
    is_field,
    items,
    line_id,
    may_have_copies,
    nested_at,
    nested_items,
    normalise,
    own_fact,
    own_words,
    parse_text,
)
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail


_MOST_NAMED = 3
_MOST_READ = 2000

_AT_LINE = late.pattern(r"(.+\.[mM][dD]):([1-9]\d*)")
_NIGHT = late.pattern(r"(?m)^Mdmem-Run: (dream/\d{4}-\d{2}-\d{2})$")
_LAST_NIGHT = "last night"
_RUNS = ("reference", "target")
_NAMED = ("file", "fact", "entry", "first", "second", *_RUNS, "section")
"""The fields of requests that name a fact, a run or a file."""

HintCommand = Callable[[FilePath], str]
R = TypeVar("R")


# What answers and files have for a fact, a run or a file.


def as_meant(workspace: Workspace, request: R) -> R:
    """A request with an id or a section for a line (PATH:LINE), and a path for a file.

    A line that is in no fact is its section, where one can be asked for. Raises FactProblem
    (`fact-not-found`).
    """
    changed: dict[str, Any] = {}
    for name in _NAMED:
        word = getattr(request, name, None)
        if word and (name != "section" or hasattr(request, "preamble")):
            changed |= _named(workspace, name, word, isinstance(request, Forget))
    options = getattr(request, "options", None)
    if options is not None and options.supersedes:
        superseded = _named(workspace, "supersedes", options.supersedes)
        changed["options"] = replace(options, supersedes=superseded.pop("supersedes"))
        changed |= superseded if getattr(request, "file", None) is None else {}
    fields = {name: value for name, value in changed.items() if hasattr(request, name)}
    return cast("R", replace(cast("Any", request), **fields)) if fields else request


def _named(workspace: Workspace, name: str, word: str, forgets: bool = False) -> dict[str, Any]:
    """The fields of a request that mean what its field `name` says; `forgets`: it takes it out."""
    match = _AT_LINE.fullmatch(word.strip())
    path = FilePath(normpath(match[1])) if match else FilePath("")
    full_path = _memory_paths(workspace).get(path) if match else None
    if match is None or full_path is None or name == "file":
        meant = path_meant if name == "file" else run_meant if name in _RUNS else None
        return {name: meant(workspace, word) if meant else word}
    line, data = int(match[2]), read_file(workspace, path, full_path) or b""
    document = workspace.parse(path, data)
    section = document.section_at(line - 1)
    item = next((each for each in items(document) if each.start < line <= each.end), None)
    nested = item and nested_at(item, line)
    if nested and (forgets or name in ("supersedes", "section", "target")):
        return {name: nested, "file": path}
    if item is not None:
        if name == "fact" and len(locate_fact(workspace, item.fact.id, EDITABLE)) > 1:
            within = join_path(section.path) if section else None
            return {name: item.fact.id, "file": path, "section": within}
        return {name: item.fact.id, **({"file": path} if name == "section" else {})}
    address, nth = (section and address_of(document, section)) or (None, None)
    if name not in ("section", "target") or line > len(document.lines) or (section and not address):
        message = f"no fact in line {line} of {path}"
        raise FactProblem(
            "fact-not-found", message, f"To see it: {verb('show')} {shell_word(path)}"
        )
    return {name: address, "file": path, "nth": nth, "preamble": section is None}


def run_meant(workspace: Workspace, word: str) -> str:
    """The name of a run: of the newest night for `last night`, if there was one."""
    if word.strip().casefold() != _LAST_NIGHT or workspace.repository.head() is None:
        return word
    of_nights = ("--grep=^Mdmem-Run: dream/", "--branches=mdmem/proposals/dream", "HEAD")
    message = workspace.repository.git("log", "-1", "--format=%B", *of_nights)
    return next(iter(_NIGHT.findall(message.decode("utf-8", "replace"))), word)


def path_meant(workspace: Workspace, file: str) -> str:
    """The path of a file that is named without its ending, by an alias or in another Unicode form;
    a folder's as it is.
    """
    folder = [normpath(file)]
    if not file.isascii() and folder[0] not in (paths := _memory_paths(workspace)):
        composed = normalize("NFC", folder[0])
        file = next((each for each in paths if normalize("NFC", each) == composed), file)
    return (
        not layout.is_markdown(file)
        and not any(layout.within(each, folder) for each in _memory_paths(workspace))
        and file_named(workspace, file)
    ) or file


def memory_file(workspace: Workspace, file: str | None) -> FilePath:
    """A memory file's path, by default the curated file's; raises PathProblem (`not-memory`)."""
    if file is None:
        return workspace.curated
    path = layout.parse_path(file)
    if not workspace.kind_of(path).is_memory and files.path_on_disk(workspace.root, path).exists():
        name = shell_word(path)
        hint = f"Ask git: git log -p -- {name}; git blame {name}"
        raise PathProblem("not-memory", f"{path} has no history: it is not a memory file", hint)
    return path


def view_of(
    path: FilePath, document: Document, request: Show, commit: CommitId | None
) -> tuple[SectionView, Section | None]:
    """The part that is asked for, and its section, if it is one; raises SectionProblem."""
    section = (
        find_section(
            document, request.section, request.nth, file=path, remedy=preamble_remedy(document)
        )
        if request.section is not None
        else None
    )
    total = len(document.lines)
    if section is not None:
        start, body, end = section.start, section.body, section.end
        own, whole = section_etag(document, section), tree_etag(document, section)
    else:
        start = body = document.front if request.preamble else 0
        end = document.preamble_end if request.preamble else total
        own, whole = preamble_etag(document), etag(document, 0, total)
    view = SectionView(
        path=path,
        section=section.path if section else (),
        level=section.level if section else 0,
        text=document.slice(body, end),
        etag=own,
        tree_etag=whole,
        start_line=start + 1,
        end_line=max(start + 1, end),
        commit=commit,
        uncommitted=False,
        subsections=tuple(
            each.path for each in (document.subsections(section) if section else document.sections)
        ),
    )
    return view, section


def missing_file(workspace: Workspace, path: str, otherwise: str = "") -> PathProblem:
    """The failure of a missing file; its hint has the nearest names, else `otherwise` or a list."""
    paths = workspace.memory_files()
    near = [each for each in paths if each.casefold() == path.casefold()] or near_names(
        path, paths, 3
    )
    hint = (
        f"Did you mean {one_of(near)}?"
        if near
        else otherwise or f"To list files: {verb('outline')}"
    )
    return PathProblem("file-not-found", f"no file {path!r}", hint, near=near)


def without_namesake(problem: SectionProblem, word: str, path: FilePath | None) -> SectionProblem:
    """`section-not-found` for a word that could have named a key or a fact, too."""
    message = f"no section, key or fact {word[:80]!r}{f' in {path}' if path else ''}"
    return SectionProblem(problem.code, message, problem.marked_hint, **problem.details)


def with_suggestions(
    workspace: Workspace,
    problem: SectionProblem,
    word: str | None,
    file: str | None,
    command: HintCommand,
) -> SectionProblem:
    """Add to `section-not-found` a hint on what else the word names; other codes are kept.

    `file` is set where no other file is meant; `command` has the command, or the option, with a
    file in it.
    """
    if problem.code != "section-not-found" or not word or not word.strip():
        return problem
    named = file_named(workspace, word) if file is None else None
    with_section, is_key = _holders(workspace, word)
    sentences = []
    if with_section and file is None:
        sentences.append(f"It is in {', '.join(with_section)}: {command(with_section[0])}")
    elif named:
        sentences.append(f"It is a file: {command(named)}")
    if is_key:
        sentences.append(f"It is a key: {verb('facts', 'key')} {shell_word(word)}")
    if not sentences:
        return problem
    similar = [problem.marked_hint] if problem.details.get("near") else []
    return SectionProblem(
        problem.code, problem.message, "; ".join([*sentences, *similar]), **problem.details
    )


def file_named(workspace: Workspace, word: str) -> FilePath | None:
    """The only memory file of a name, folder and ending optional, else of an alias in its front
    matter; or the log of `today`.
    """
    days_ago = layout.DAYS_AGO.get(word.strip().casefold())
    if days_ago is not None:
        log = workspace.log_path(workspace.now().date() - timedelta(days=days_ago))
        return log if (workspace.root / log).exists() else None
    folded = _folded_stem(normpath(word))
    stems = {
        path: _folded_stem(path) for path in workspace.memory_files() if not layout.is_outside(path)
    }
    whole = [path for path, stem in stems.items() if stem == folded]
    paths = whole or [path for path, stem in stems.items() if stem.rpartition("/")[2] == folded]
    paths = paths or list(islice(_with_alias(workspace, word.strip().casefold()), 2))
    return paths[0] if len(paths) == 1 else None


def _folded_stem(path: str) -> str:
    return normalize("NFC", path).casefold().removesuffix(".md")


def _with_alias(workspace: Workspace, folded: str) -> Iterator[FilePath]:
    for path, full_path in islice(_memory_paths(workspace).items(), _MOST_READ):
        with suppress(PathProblem):
            text = (read_file(workspace, path, full_path) or b"").decode("utf-8", "replace")
            if text.startswith("---") and folded in text.casefold():
                named = frontmatter.values(parse_bytes(text.encode())).get("aliases")
                aliases = named if isinstance(named, list) else [named]
                if folded in (f"{alias}".casefold() for alias in aliases):
                    yield path


def _holders(workspace: Workspace, word: str) -> tuple[list[FilePath], bool]:
    """The first memory files with such a section, and whether one has it as a key."""
    name = plain_title(word.rpartition(PATH_SEPARATOR)[2]).casefold()
    with_section: list[FilePath] = []
    is_key = False
    for path, listed in islice(workspace.memory_files().items(), _MOST_READ):
        try:
            data = files.read(listed.full_path) or b""
        except PathProblem:
            continue
        if name not in data.decode("utf-8", "replace").casefold() or layout.is_outside(path):
            continue
        document = workspace.parse(path, data)
        if len(with_section) < _MOST_NAMED and matching_sections(document, word):
            with_section.append(path)
        is_key = is_key or any(holds_key(item.fact, word) for item in items(document))
    return with_section, is_key


MEMORY = tuple(kind for kind in FileKind if kind.is_memory)
EDITABLE = (FileKind.EVERGREEN, FileKind.PROFILE, FileKind.BOOTSTRAP)
_MOST_NAMED_LOOKUP = 8
_MOST_SIMILAR = 3
_QUOTED = 80

Command = Callable[[FactId], str]


@dataclass(frozen=True, slots=True)
class FactLocation:
    path: FilePath
    document: Document
    item: Item


# In the files.


def locate_fact(
    workspace: Workspace, reference: str, kinds: tuple[FileKind, ...], keys: bool = False
) -> list[FactLocation]:
    """Locations of a fact by text, id or (`keys`) key; raises FactProblem (`fact-ambiguous`)."""
    locations = [
        FactLocation(path, document, item)
        for path, document in _documents(workspace, kinds)
        for item in items(document)
    ]
    named = {
        id(item)
        for item in fact_names.items_matching([each.item for each in locations], reference, keys)
    }
    return [each for each in locations if id(each.item) in named]


def locate_nested(
    workspace: Workspace,
    name: str,
    kinds: tuple[FileKind, ...],
    section: str | None = None,
    file: FilePath | None = None,
) -> list[tuple[FactLocation, str]]:
    """Locations of the nested items that a name means, each with the text that a search shows."""
    places = [
        (FactLocation(path, document, item), text)
        for path, document in _documents(workspace, kinds)
        if file in (None, path)
        for around in fact_editor.items_below(document, section)
        for item, text in nested_items(around)
    ]
    found = ((place.item, text) for place, text in places)
    named = {id(item) for item in fact_names.nested_matching(found, name)}
    return [each for each in places if id(each[0].item) in named]


def _documents(
    workspace: Workspace, kinds: tuple[FileKind, ...]
) -> Iterator[tuple[FilePath, Document]]:
    for path, full_path in _memory_paths(workspace).items():
        if workspace.kind_of(path) in kinds:
            with suppress(PathProblem):
                data = read_file(workspace, path, full_path) or b""
                yield path, workspace.parse(path, data)


def locate_in(path: FilePath, document: Document, reference: str) -> list[FactLocation]:
    return [
        FactLocation(path, document, item) for item in fact_editor.items_named(document, reference)
    ]


def read_file(workspace: Workspace, path: FilePath, full_path: Path) -> bytes | None:
    """The bytes of a file, on disk or in the planned commit; None if missing."""
    return files.read(full_path) if workspace.contents is None else workspace.contents.read(path)


def _memory_paths(workspace: Workspace) -> dict[FilePath, Path]:
    if workspace.contents is not None:
        return {path: workspace.root / path for path in workspace.contents.paths()}
    return {path: listed.full_path for path, listed in workspace.memory_files().items()}


def require_one_location(
    workspace: Workspace,
    locations: Sequence[FactLocation],
    reference: str,
    command: Command,
    hint: str = "",
) -> FactLocation:
    """The only one of some locations; `hint` is for one fact in several. Raises FactProblem."""
    if not locations:
        raise _not_found(workspace, reference, command)
    if len(locations) > 1:
        views = [
            {
                "path": each.path,
                "line": each.item.start + 1,
                "id": each.item.fact.id,
                "text": each.item.fact.text,
            }
            for each in locations
        ]
        by_id = {view["id"]: view for view in reversed(views)}
        if len(by_id) > 1:
            message = f"{reference[:_QUOTED]!r} matches {len(by_id)} facts"
            named = [
                f'{view["id"]} "{" ".join(str(view["text"]).split())[:_QUOTED]}"'
                f" ({view['path']}:{view['line']})"
                for view in reversed(by_id.values())
            ]
            hint = f"Give an id: {', '.join(named[:_MOST_NAMED_LOOKUP])}."
        else:
            message = f"{reference[:_QUOTED]!r} is in {len(locations)} places"
            places = [f"{view['path']}:{view['line']}" for view in views[:_MOST_NAMED_LOOKUP]]
            hint = f"It is in {', '.join(places)}. {hint or _what_separates(locations)}"
        raise FactProblem("fact-ambiguous", message, hint, facts=views)
    return locations[0]


def _what_separates(locations: Sequence[FactLocation]) -> str:
    paths = {each.path for each in locations}
    sections = {each.document.path_at(each.item.start) for each in locations}
    both = {(each.path, each.document.path_at(each.item.start)) for each in locations}
    if len(both) < len(locations):
        return "Remove the copies in one section with an editor."
    ways = [
        field(name)
        for name, places in (("file", paths), ("section", sections))
        if len(places) == len(locations)
    ]
    return f"Give {' or '.join(ways) if ways else ' and '.join((field('file'), field('section')))}."


def meant_location(
    workspace: Workspace,
    locations: Sequence[FactLocation],
    reference: str,
    command: Command,
    hint: str | None = None,
) -> FactLocation:
    """The only curated location, else the newest log copy; raises FactProblem."""
    in_place = [each for each in locations if workspace.kind_of(each.path) is not FileKind.DAILY]
    facts = {each.item.fact.id: each.item.fact for each in locations}
    if (
        len(facts) == 1
        and not in_place
        and (
            len({each.path for each in locations}) == 1
            or all(may_have_copies(fact.text, fact.key) for fact in facts.values())
        )
    ):
        return max(
            locations,
            key=lambda each: (
                layout.log_day(each.path, workspace.daily) or date.min,
                each.path,
                each.item.start,
            ),
        )
    chosen = in_place if len(facts) == 1 and in_place else locations
    return require_one_location(
        workspace, chosen, reference, command, *([] if hint is None else [hint])
    )


def _not_found(workspace: Workspace, reference: str, command: Command) -> FactProblem:
    """The problem of an unknown name: what became of the fact, or similar facts."""
    if problem := field_problem(workspace, reference):
        return problem
    quoted = repr(reference[:_QUOTED])
    with fresh_trail(workspace) as trail:
        fact = named_fact(trail, reference)
        past = () if fact else _past_nested(trail, reference)
        if past and all(each.ended for each in past):
            return no_longer_current(reference, line_id(past[-1].entry) or FactId(""))
        if fact is None:
            lists = f"To list facts with their ids: {verb('facts')}"
            hint = (
                similar_facts_hint(trail, reference, command)
                or file_hint(workspace, reference)
                or lists
            )
            return FactProblem("fact-not-found", f"no fact {quoted}", hint)
        current = [each.entry for each in trail.occurrences_of(fact) if _is_current(trail, each)]
    if current:
        named = "; ".join(
            f"{entry.path}: {join_path(entry.section)}" for entry in current[:_MOST_NAMED_LOOKUP]
        )
        return FactProblem("fact-not-found", f"no fact {quoted} here", f"It is in {named}.")
    return no_longer_current(reference, fact)


def no_longer_current(reference: str, fact: FactId) -> FactProblem:
    message = f"{reference[:_QUOTED]!r} is no longer current"
    return FactProblem("fact-not-found", message, f"To see what happened: {verb('history')} {fact}")


def field_problem(
    workspace: Workspace, name: str, path: FilePath | None = None
) -> FactProblem | None:
    """The problem of a verb for facts with the key or the words of a field of a note."""
    folded = normalise(name)
    for each, full_path in _memory_paths(workspace).items():
        with suppress(PathProblem):
            data = read_file(workspace, each, full_path) if path in (None, each) else None
            for entry in entries(parse_bytes(data or b""), each, nested=True):
                named = (entry.key or "", entry.text) if is_field(entry) else ()
                if folded in map(normalise, named):
                    place = f"{each}:{entry.start_line}"
                    message = f"{place} is a field of its note, not a fact: {entry.first_line}"
                    return FactProblem("not-a-fact", message, "Change the line in its file.")
    return None


def file_hint(workspace: Workspace, word: str) -> str:
    path = file_named(workspace, word)
    return f"It is a file. To see its changes: {verb('history')} {shell_word(path)}" if path else ""


def file_of_fact(workspace: Workspace, change: Forget) -> FilePath:
    """The file to forget a fact from; a log only if no other has it. Raises FactProblem."""
    locations = locations_to_forget(workspace, change, EDITABLE)
    if not locations:
        logged = locations_to_forget(workspace, change, (FileKind.DAILY,))
        locations = current_locations(workspace, logged)
        require_none_nested(workspace, change.fact, locations, forget_command)
    if not locations and (path := file_of_nested(workspace, change.fact, change.section)):
        return path
    return meant_location(workspace, locations, change.fact, forget_command).path


def require_none_nested(
    workspace: Workspace,
    name: str,
    locations: Sequence[FactLocation],
    command: Command,
) -> None:
    """Refuse words that are those of a nested item too; an id means the fact. Raises FactProblem
    (`fact-ambiguous`), with a `command`, or option, for the fact in its hint.
    """
    if not locations or fact_names.id_prefix(name):
        return
    for place, text in locate_nested(workspace, name, EDITABLE):
        first, fact = locations[0], locations[0].item.fact.id
        raise FactProblem(
            "fact-ambiguous",
            f"{name[:_QUOTED]!r} is in {first.path}:{first.item.start + 1}, and a nested item in"
            f" {place.path}:{place.item.start + 1}",
            f"The first: {command(fact)}\nThe second is called {shell_word(text)}.",
            facts=[fact],
        )


def file_of_nested(workspace: Workspace, name: str, section: str | None) -> FilePath | None:
    """The file with such a nested item; raises FactProblem (`fact-ambiguous`)."""
    places = locate_nested(workspace, name, EDITABLE, section)
    holding = list(dict.fromkeys(place.path for place, _ in places))
    if len(holding) > 1:
        message = f"{name[:_QUOTED]!r} is a nested item in {' and '.join(holding)}"
        raise FactProblem("fact-ambiguous", message, f"Give {field('file')}.")
    return holding[0] if holding else None


def forget_command(fact: FactId) -> str:
    return f"{verb('forget')} {fact}"


def locations_to_forget(
    workspace: Workspace, change: Forget, kinds: tuple[FileKind, ...]
) -> list[FactLocation]:
    locations = locate_fact(workspace, change.fact, kinds, keys=True)
    if change.section is None:
        return locations
    return [
        each
        for each in locations
        if each.item in _items_in_section(each.document, change.fact, change.section)
    ]


def promoted_fact(workspace: Workspace, change: Forget) -> FactId | None:
    """The only current curated fact that a night made of the log's line which a change names."""
    if locations_to_forget(workspace, change, EDITABLE):
        return None
    logged = locate_fact(workspace, change.fact, (FileKind.DAILY,))
    with fresh_trail(workspace) as trail:
        made = {curated for each in logged for _, curated in trail.promotions_of(each.item.fact.id)}
        current = {
            each
            for each in made
            if any(_is_curated(workspace, line) for line in trail.occurrences_of(each))
        }
    return current.pop() if len(current) == 1 else None


def _is_curated(workspace: Workspace, occurrence: Occurrence) -> bool:
    return occurrence.ended is None and workspace.kind_of(occurrence.entry.path) in EDITABLE


def _items_in_section(document: Document, fact: str, address: str) -> tuple[Item, ...]:
    try:
        return fact_editor.items_named(document, fact, address)
    except SectionProblem as problem:
        if problem.code != "section-not-found":
            raise
        return ()


def _states_at(
    trail: Trail, locations: Iterable[FactLocation]
) -> Iterator[tuple[tuple[FilePath, int], entry_states.EntryState]]:
    """The states of all entries in the files of some locations, by path and line (from 0)."""
    for path, document in {each.path: each.document for each in locations}.items():
        in_file = entries(document, path)
        states, _ = entry_states.match_entries(trail, path, in_file)
        for entry, state in zip(in_file, states, strict=True):
            yield (path, entry.start_line - 1), state


def marks_at(workspace: Workspace, locations: Sequence[FactLocation]) -> list[Mark | None]:
    facts = {location.item.fact.id for location in locations}
    with fresh_trail(workspace) as trail:
        marked = (
            each for each in locations if any(mark.fact in facts for mark in trail.marks(each.path))
        )
        marks = {place: state.mark for place, state in _states_at(trail, marked)}
    return [marks.get((each.path, each.item.start)) for each in locations]


def current_locations(
    workspace: Workspace, locations: Sequence[FactLocation]
) -> list[FactLocation]:
    return [
        location
        for location, mark in zip(locations, marks_at(workspace, locations), strict=True)
        if mark is None
    ]


def written_by(
    workspace: Workspace, locations: Sequence[FactLocation], actor: str | None, session: str | None
) -> list[FactLocation]:
    with fresh_trail(workspace) as trail:
        written = {
            place
            for place, state in _states_at(trail, locations)
            if state.occurrence
            and state.occurrence.origin.actor == actor
            and state.occurrence.origin.session == session
        }
    return [each for each in locations if (each.path, each.item.start) in written]


def log_copies(workspace: Workspace, fact: FactId) -> list[FactLocation]:
    """Copies of a fact in logs, reworded ones too, newest first; raises RepositoryProblem."""
    with fresh_trail(workspace) as trail:
        live = (
            each
            for each in (*trail.occurrences_of(fact), *trail.promoted_to(fact))
            if each.ended is None
        )
        logs = {
            (each.entry.path, each.entry.fact)
            for each in live
            if workspace.kind_of(each.entry.path) is FileKind.DAILY
        }
    documents = {
        path: workspace.parse(path, read_file(workspace, path, workspace.root / path) or b"")
        for path, _ in logs
    }
    found = [
        FactLocation(path, documents[path], item)
        for path, of in logs
        for item in items(documents[path])
        if item.fact.id == of
    ]
    found = [
        each
        for each in found
        if may_have_copies(each.item.fact.text, each.item.fact.key) or each.item.fact.id != fact
    ]
    return sorted(
        current_locations(workspace, found),
        key=lambda each: (each.path, each.item.start),
        reverse=True,
    )


# In the trail.


def named_fact(trail: Trail, name: str, path: FilePath | None = None) -> FactId | None:
    """The past or present fact with a text, key or id, in this order; raises FactProblem."""
    return (
        fact_by_text(trail, name, path)
        or fact_by_key(trail, name, path)
        or fact_by_id(trail, name, path)
    )


def current_occurrences(
    trail: Trail, fact: FactId, path: FilePath | None = None
) -> list[Occurrence]:
    """The current occurrences of a fact (in a file), the newest first."""
    current = [each for each in _occurrences(trail, fact, path) if _is_current(trail, each)]
    return _in_order(trail, current)[::-1]


def _in_order(trail: Trail, occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Oldest first, independent of the order in which commits arrived."""
    ranks = trail.ranks({each.begun for each in occurrences})
    return sorted(occurrences, key=lambda each: ranks[each.begun])


def fact_by_text(trail: Trail, text: str, path: FilePath | None = None) -> FactId | None:
    """The past or present fact that a text states (in a file).

    Marker, kind, tags, expiry and final punctuation are optional. Raises FactProblem
    (`fact-ambiguous`: several differ only in final punctuation).
    """
    exact = next(
        (fact for fact in fact_names.exact_ids(text) if _occurrences(trail, fact, path)), None
    )
    if exact is not None:
        return exact
    similar = {fact: _occurrences(trail, fact, path) for fact in fact_names.similar_ids(text)}
    held = {fact: occurrences for fact, occurrences in similar.items() if occurrences}
    current = [
        fact
        for fact, occurrences in held.items()
        if any(_is_current(trail, each) for each in occurrences)
    ]
    candidates = current or list(held)
    if len(candidates) > 1:
        named = "; ".join(f"{fact} {held[fact][-1].entry.text}" for fact in candidates)
        message = (
            f"{len(candidates)} facts differ from {text[:_QUOTED]!r} in their final punctuation"
        )
        raise FactProblem("fact-ambiguous", message, f"Give an id: {named}.", facts=candidates)
    return next(iter(candidates), None)


def _occurrences(trail: Trail, fact: FactId, path: FilePath | None) -> list[Occurrence]:
    return [each for each in trail.occurrences_of(fact) if path in (None, each.entry.path)]


def _is_current(trail: Trail, occurrence: Occurrence) -> bool:
    return occurrence.ended is None and not trail.marks_of(occurrence.number)


def fact_by_id(trail: Trail, reference: str, path: FilePath | None = None) -> FactId | None:
    """The past or present fact with this id or prefix; raises FactProblem (`fact-ambiguous`)."""
    prefix = fact_names.id_prefix(reference)
    ids = trail.ids_with_prefix(prefix) if prefix else ()
    fact_names.require_unique_id(prefix, ids)
    return ids[0] if ids and _occurrences(trail, ids[0], path) else None


def fact_by_key(trail: Trail, key: str, path: FilePath | None = None) -> FactId | None:
    """The current fact with a key, else the last one; raises FactProblem (`fact-ambiguous`)."""
    if "\n" in key or not key.strip():
        return None
    candidates = [
        each
        for each in trail.occurrences_with_key(key)
        if each.entry.fact
        and path in (None, each.entry.path)
        and holds_key(parse_text(each.entry.text), key)
    ]
    candidates = _in_order(trail, candidates)
    current = {each.entry.fact: each.entry for each in candidates if _is_current(trail, each)}
    if len(current) > 1:
        views = [
            {
                "path": each.path,
                "section": join_path(each.section),
                "id": each.fact,
                "text": each.text,
            }
            for each in current.values()
        ]
        named = "; ".join(
            f"{view['id']} {' '.join(str(view['text']).split())[:_QUOTED]}"
            for view in views[:_MOST_NAMED_LOOKUP]
        )
        message = f"{len(current)} current facts have the key {key[:_QUOTED]!r}"
        raise FactProblem("fact-ambiguous", message, f"Give an id: {named}.", facts=views)
    return next(iter(current), candidates[-1].entry.fact if candidates else None)


@dataclass(frozen=True, slots=True)
class NestedMeant:
    """A nested item, past or present: its id, the `line_id` by which the trail knows it, the
    numbers of its occurrences there, and its places on disk.
    """

    id: FactId
    line: FactId
    among: frozenset[int]
    places: tuple[FactLocation, ...] = ()


def nested_meant(
    workspace: Workspace, trail: Trail, name: str, path: FilePath | None
) -> NestedMeant | None:
    """The nested item that a name means, else the past one; raises FactProblem
    (`fact-ambiguous`).
    """
    places = locate_nested(workspace, name, MEMORY, file=path)
    if not places:
        past = [each for each in _past_nested(trail, name) if path in (None, each.entry.path)]
        line = line_id(_in_order(trail, past)[-1].entry) if past else None
        among = frozenset(each.number for each in past)
        return None if line is None else NestedMeant(line, line, among)
    lines = {own_fact(place.item).id for place, _ in places}
    if len(lines) > 1:
        require_one_location(workspace, [place for place, _ in places], name, forget_command)
    (line,) = lines
    texts = {(place.path, text) for place, text in places}
    among = frozenset(
        each.number
        for each in trail.occurrences_of(line, nested=True)
        if (each.entry.path, each.entry.text) in texts
    )
    return NestedMeant(places[0][0].item.fact.id, line, among, tuple(place for place, _ in places))


def _past_nested(trail: Trail, name: str) -> list[Occurrence]:
    """The occurrences of nested items with such words, as a search shows them or their own, with
    such a key, or with an id that begins so.
    """
    shown, own = bare_words(name), name
    while own:
        ids = fact_names.exact_ids(own)
        found = [each for fact in ids for each in trail.occurrences_of(fact, nested=True)]
        if own != name:
            found = [each for each in found if bare_words(each.entry.text) == shown]
        if found:
            return found
        own = own.partition(PATH_SEPARATOR)[2]
    found = [
        each
        for each in trail.occurrences_with_key(name)
        if each.entry.fact is None and holds_key(parse_text(own_words(each.entry)), name)
    ]
    prefix = fact_names.id_prefix(name)
    if found or not prefix:
        return found
    ids = trail.ids_with_prefix(prefix, nested=True)
    fact_names.require_unique_id(prefix, ids)
    return [each for fact in ids for each in trail.occurrences_of(fact, nested=True)]


def with_similar_facts(
    trail: Trail, problem: SectionProblem, words: str, command: Command, path: FilePath | None
) -> SectionProblem:
    hint = similar_facts_hint(trail, words, command, path)
    if not hint:
        return problem
    sections = [problem.marked_hint] if problem.details.get("near") else []
    return SectionProblem(
        problem.code, problem.message, "; ".join([*sections, hint]), **problem.details
    )


def similar_facts_hint(
    trail: Trail, words: str, command: Command, path: FilePath | None = None
) -> str:
    """A sentence naming facts with these words, live ones first; of one alone the command."""
    folded = normalise(words)
    matches = [
        each
        for each in trail.fact_occurrences()
        if folded and folded in normalise(each.entry.text) and path in (None, each.entry.path)
    ]
    texts = {
        each.entry.fact: each.entry.text
        for each in sorted(matches, key=lambda each: each.ended is not None)
    }
    quoted = {fact: " ".join(text.split())[:_QUOTED] for fact, text in texts.items() if fact}
    if len(quoted) == 1:
        ((fact, text),) = quoted.items()
        return f'Did you mean "{text}"? {command(fact)}'
    named = [f"{fact} {text}" for fact, text in list(quoted.items())[:_MOST_SIMILAR]]
    return f"Facts with these words: {'; '.join(named)}" if named else ""
