"""The lines of a section, a fact or a file with the commit that brought in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mdmem.editors.sections import SectionPart, SectionParts, became
from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.lookup import lookup
from mdmem.model import PATH_SEPARATOR, FilePath, SectionPath
from mdmem.model.errors import PathProblem, SectionProblem, field, shell_word, verb
from mdmem.model.history import Blame, BlamedLine, ShowBlame
from mdmem.model.trail import Origin, Revision
from mdmem.past import differences
from mdmem.past.notes import line_origin, restated, statement_of
from mdmem.queries.past import Past, look_back
from mdmem.text.document import find_section, join_path, parse_bytes, plain_title, preamble_remedy
from mdmem.text.facts import Item, items
from mdmem.workspace import Say, Workspace, read_committed


def section_on_disk(
    workspace: Workspace, path: FilePath, address: str | None, nth: int | None
) -> SectionPart:
    """The section of an address, or the preamble; raises PathProblem, SectionProblem."""
    data = files.read(files.path_on_disk(workspace.root, path))
    if data is None:
        raise lookup.missing_file(workspace, path)
    document = workspace.parse(path, data)
    if address is not None:
        remedy = preamble_remedy(document)
        section = find_section(document, address, nth, file=path, remedy=remedy)
        return SectionParts(document).sections[section.index + 1]
    if not document.slice(document.front, document.preamble_end).strip():
        raise SectionProblem("section-not-found", f"{path} has no text before the first heading")
    return SectionParts(document).sections[0]


def sections_on_disk(workspace: Workspace, path: FilePath) -> list[SectionPart]:
    """Every section of a file, and first its preamble, if any. Raises PathProblem."""
    data = files.read(files.path_on_disk(workspace.root, path)) or b""
    document = workspace.parse(path, data)
    has_preamble = bool(document.slice(document.front, document.preamble_end).strip())
    return list(SectionParts(document).sections[0 if has_preamble else 1 :])


def find_newest_revision(
    past: Past, path: FilePath, address: str | None, nth: int | None
) -> Revision | None:
    """The newest revision of a section, also of a past one; raises PathProblem, SectionProblem."""
    try:
        section = section_on_disk(past.workspace, path, address, nth)
    except (SectionProblem, PathProblem) as problem:
        if problem.code not in ("section-not-found", "file-not-found"):
            raise
        matches = [
            revision
            for revision in past.trail.newest_revisions(path)
            if _is_addressed(revision.section, address)
        ]
        live = [
            revision for revision in matches if revision.ended is None and revision.path == path
        ]
        candidates = live or [revision for revision in matches if revision.ended is not None]
        if not candidates:
            raise
        if len(candidates) > 1 and nth is None:
            raise SectionProblem(
                "section-ambiguous",
                f"{len(candidates)} sections that {path} used to have match"
                f" {repr(address) if address else field('preamble')}",
                f"Name one with {field('nth')}.",
                sections=[{"section": join_path(revision.section)} for revision in candidates],
            ) from problem
        if nth is not None and not 1 <= nth <= len(candidates):
            raise
        return candidates[(nth or 1) - 1]
    return newest_revision(past, path, section)


def newest_revision(past: Past, path: FilePath, section: SectionPart) -> Revision | None:
    """The newest revision, which a commit of the section on disk would continue, if any."""
    count = (
        sum(each.path == section.path for each in section.document.sections)
        if section.position
        else 1
    )
    live = past.trail.live_revisions(path, {section.path})
    if len(live) == count:
        return next(revision for revision in live if revision.nth == section.nth)
    live = past.trail.live_revisions(path)
    if not live:
        return None
    head = parse_bytes(read_committed(past.workspace, path, past.trail.head) or b"")
    old, new = SectionParts(head), SectionParts(section.document)
    matches = became(old, new)
    before = next((old.sections[a] for a, b in matches.items() if b == section.position), None)
    if before is None:
        return None
    return next(
        (
            revision
            for revision in live
            if (revision.section, revision.nth) == (before.path, before.nth)
        ),
        None,
    )


def _is_addressed(path: SectionPath, address: str | None) -> bool:
    """Addresses match the end of a path; no address means the preamble."""
    if address is None:
        return not path
    titles = [plain_title(title).casefold() for title in path]
    addressed = [plain_title(title).casefold() for title in address.split(PATH_SEPARATOR)]
    return titles[-len(addressed) :] == addressed or titles[-1:] == [
        plain_title(address).casefold()
    ]


def show_blame(workspace: Workspace, request: ShowBlame, say: Say) -> Blame:
    """The lines of a section, fact, file or preamble, with the commit that added each.

    An ambiguous word is taken as section, text, key, id, file: the first that fits.
    """
    path, word = lookup.memory_file(workspace, request.file), request.section
    with look_back(workspace, say) as past:
        if request.whole_file and (whole := _blame_file(past, path, None)):
            return whole
        try:
            section = section_on_disk(workspace, path, word, request.nth)
        except (SectionProblem, PathProblem) as problem:
            if word is None or problem.code not in ("section-not-found", "file-not-found"):
                raise
            file = path if request.file is not None else None
            if (
                other := _blame_fact(past, word, file)
                or _blame_file(past, word, file)
                or _blame_nested(past, word, file)
            ) is not None:
                return other
            if not isinstance(problem, SectionProblem) or request.nth is not None:
                raise
            problem = lookup.without_namesake(problem, word, file)
            raise lookup.with_suggestions(
                workspace,
                lookup.with_similar_facts(
                    past.trail, problem, word, lambda fact: f"{verb('blame')} {fact}", file
                ),
                word,
                request.file,
                lambda path: (
                    f"{verb('blame')} {shell_word(word)} {field('file')} {shell_word(path)}"
                ),
            ) from problem
        lines = _blamed_lines(past, path, [section])
        return Blame(path=path, section=section.path, lines=lines, notes=past.notes)


def _blame_fact(past: Past, word: str, file: FilePath | None) -> Blame | None:
    fact = lookup.named_fact(past.trail, word, file)
    if fact is None:
        return None
    current, curated = lookup.current_occurrences(past.trail, fact, file), past.workspace.curated
    for path in sorted(
        {each.entry.path for each in current}, key=lambda path: (path != curated, path)
    ):
        for section in sections_on_disk(past.workspace, path):
            in_section = items(section.document, section.start, section.end)
            if (
                item := next((each for each in in_section if each.fact.id == fact), None)
            ) is not None:
                return _blame_item(past, path, section, item)
    raise lookup.no_longer_current(word, fact)


def _blame_nested(past: Past, word: str, file: FilePath | None) -> Blame | None:
    meant = lookup.nested_meant(past.workspace, past.trail, word, file)
    if meant is None:
        return None
    for place in meant.places:
        for section in sections_on_disk(past.workspace, place.path):
            if section.start <= place.item.start < section.end:
                return _blame_item(past, place.path, section, place.item)
    raise lookup.no_longer_current(word, meant.id)


def _blame_item(past: Past, path: FilePath, section: SectionPart, item: Item) -> Blame:
    in_section = _blamed_lines(past, path, [section])
    lines = tuple(line for line in in_section if item.start < line.line <= item.end)
    return Blame(path=path, section=section.path, lines=lines, notes=past.notes)


def _blame_file(past: Past, word: str, file: FilePath | None) -> Blame | None:
    path = lookup.file_named(past.workspace, word) if file is None else None
    if path is None:
        if file is None and is_markdown(word):
            raise lookup.missing_file(past.workspace, lookup.memory_file(past.workspace, word))
        return None
    lines = _blamed_lines(past, path, sections_on_disk(past.workspace, path))
    return Blame(path=path, section=(), lines=lines, notes=past.notes)


def _blamed_lines(
    past: Past, path: FilePath, sections: Sequence[SectionPart]
) -> tuple[BlamedLine, ...]:
    # A line may have another source than its commit states: it was confirmed, or a revert brought
    # it back.
    live = past.trail.live_occurrences(
        path, [section.path for section in sections] if len(sections) == 1 else None
    )
    origins = {(each.entry.section, each.entry.first_line): each.origin for each in live}
    return tuple(
        line for section in sections for line in _lines_of_section(past, path, section, origins)
    )


def _lines_of_section(
    past: Past,
    path: FilePath,
    section: SectionPart,
    origins: Mapping[tuple[SectionPath, str], Origin],
) -> Iterator[BlamedLine]:
    text = section.document.slice(section.start, section.end)
    newest = newest_revision(past, path, section)
    earlier = past.trail.section_past(newest) if newest else ()
    revisions = [*(each for each in earlier if each != newest), *([newest] if newest else [])]
    for number, line in enumerate(
        differences.blame_lines(revisions, past.trail.order, text), section.start + 1
    ):
        commit, made = past.trail.commit_numbered(line.commit) if line.commit else None, None
        if commit:
            origin = line_origin(statement_of(commit), line.text)
            if live_origin := origins.get((section.path, line.text.strip())):
                origin = restated(origin, live_origin)
            made = past.made(commit, origin=origin)
        yield BlamedLine(number, line.text, made)
