"""Ask index and files for what a block could show, and make the block of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from mdmem.context import parts
from mdmem.context.given import strip_blocks
from mdmem.context.parts import SHARES, Candidate, Filling, Offer, Paragraph, allot, write_block
from mdmem.folder import files, layout
from mdmem.folder.layout import TASKS_PATH
from mdmem.index import gate
from mdmem.index.catching_up import FreshIndex, PoolMember
from mdmem.index.query import Filter, Lexicon
from mdmem.index.schema import BrokenIndex
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import PathProblem
from mdmem.model.prompts import (
    BuildContext,
    ContextBlock,
    ContextEntry,
    ContextPart,
    PartResult,
    Purpose,
    count_tokens,
)
from mdmem.model.searches import MAX_HITS, Hit, Search
from mdmem.queries import search
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.text import follow_ups
from mdmem.text.document import parse_bytes
from mdmem.text.follow_ups import is_follow_up, made_things
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.queries.versions import PastState

_LEAST_ASKED, _TIMES_ASKED, _MOST_ASKED = 24, 3, 300
_ENTRY_TOKENS = 30
"""Typical tokens of a log entry with its share of a heading; estimates the hits to ask for."""
_LEAST_ENTRY_TOKENS = 2
"""Minimum tokens of an entry with its citation; limits the entries of a budget."""
_HOST_TEXTS = (
    "<task-notification",
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-",
    "<system-reminder>",
    "Stop hook feedback:",
    "[Request interrupted",
    "This session is being continued from a previous conversation",
)
"""Prefixes of prompts that a host wrote itself."""
_MEANING_SECONDS = 0.1
"""The longest that a prompt waits for a vector of its own, where these are on."""
_BLOCK_NAME = "mdmem-context"
_SLASH_COMMAND = late.pattern(r"/[A-Za-z][\w:.-]*(?:\s|$)")


def is_typed(prompt: str) -> bool:
    """False for an empty prompt, a command to the host, and a host's own text."""
    text = prompt.strip()
    return bool(text) and not text.startswith(_HOST_TEXTS) and not _SLASH_COMMAND.match(text)


def build_context(
    workspace: Workspace,
    request: BuildContext,
    given_ids: Collection[str],
    say: Say,
    progress: Progress | None = None,
    without_pool: bool = False,
) -> ContextBlock:
    """The block for a session or a prompt; `given_ids` are entries that the session has already.

    `without_pool`: there is no time for the pool, which is named instead.
    """
    prompt = request.prompt
    if prompt is not None and _BLOCK_NAME in prompt.casefold():
        prompt = strip_blocks(prompt)
    if request.block_purpose is Purpose.PROMPT and (prompt is None or not is_typed(prompt)):
        return ContextBlock(
            text="",
            tokens=0,
            budget=request.tokens,
            commit=workspace.repository.head(),
            stale=False,
        )

    is_past = request.as_of is not None
    workspace = replace(workspace, added=None) if is_past else workspace
    fresh = partial(search.fresh, workspace, say, progress, without_pool=without_pool)
    # Only a search finds what is laid over an index that is behind; a list of entries does not.
    index = fresh(
        current=request.block_purpose is Purpose.PROMPT and not is_past, in_part=not is_past
    )
    try:
        return _build(workspace, request, prompt, index, given_ids, say, without_pool=without_pool)
    except BrokenIndex:
        index = fresh(full=True)
        return _build(workspace, request, prompt, index, given_ids, say, without_pool=without_pool)


def _build(
    workspace: Workspace,
    request: BuildContext,
    prompt: str | None,
    index: FreshIndex,
    given_ids: Collection[str],
    say: Say,
    without_pool: bool,
) -> ContextBlock:
    block = ContextBlock(
        text="",
        tokens=0,
        budget=request.tokens,
        commit=index.commit,
        stale=index.stale,
        notes=index.notes,
        missing=index.missing,
    )
    past, tasks = (
        late.module("queries.versions").state_and_file(workspace, request.as_of, TASKS_PATH, say)
        if request.as_of is not None
        else (None, None)
    )
    block = replace(block, commit=past.commit, as_of=past.words) if past else block
    today = past.day if past else workspace.now().date()
    members = _members(workspace, index)
    wanted = {part for part in ContextPart if part.value not in request.without}
    offers: dict[ContextPart, Offer] = {}
    if request.block_purpose is Purpose.SESSION:
        offers |= {
            part: offer
            for part, offer in _promptless_offers(
                members, request.tokens, today, say, index=index, past=past, tasks=tasks
            ).items()
            if part in wanted
        }
    if prompt is not None and ContextPart.FOUND in wanted and is_typed(prompt):
        block, found = _with_found(
            workspace,
            request,
            prompt,
            index,
            given_ids=given_ids,
            block=block,
            today=today,
            say=say,
        )
        offers |= {ContextPart.FOUND: found} if found else {}
    return _written(
        workspace,
        request,
        index,
        say,
        offers=offers,
        wanted=wanted,
        block=block,
        past=past,
        names_missing=without_pool,
    )


def _with_found(
    workspace: Workspace,
    request: BuildContext,
    prompt: str,
    index: FreshIndex,
    *,
    given_ids: Collection[str],
    block: ContextBlock,
    today: date,
    say: Say,
) -> tuple[ContextBlock, Offer | None]:
    members = _members(workspace, index)
    gated = request.block_purpose is Purpose.PROMPT
    talk = follow_ups.leading_messages(prompt, list(filter(is_typed, request.before)))

    def ask(query: str, meaning_seconds: float = 0.0) -> tuple[Hit, ...]:
        asked = Search(
            query=query,
            limit=_number_asked(request.tokens),
            days=gate.is_question(query),
            as_of=request.as_of,
        )
        found = search.search_in(workspace, index, asked, say, meaning_seconds=meaning_seconds)
        return tuple(
            hit
            for hit in found.hits
            if not hit.done and _knows_past(members[hit.workspace], hit.path)
        )

    has_vectors = workspace.settings.vectors != "off"
    ask_meaning = partial(ask, meaning_seconds=_MEANING_SECONDS) if has_vectors else None

    def kind_of(hit: Hit) -> FileKind:
        return members[hit.workspace].workspace.kind_of(hit.path)

    hits, carried = (
        carried_hits(
            prompt,
            talk,
            index.index.finder.lexicon,
            ask,
            kind_of,
            today,
            ask_meaning=ask_meaning,
        )
        if gated
        else (hits := ask(prompt), bool(hits))
    )
    whole = parts.found_offer(hits, kind_of, prompt)
    offer, repeated = parts.without_given(whole, given_ids)
    top = hits[0].score if hits else None
    block = replace(
        block, carried=carried if gated else None, top=top, repeated=repeated if carried else 0
    )
    if request.preview and carried:
        given = [each for each in whole.candidates if each.id in given_ids]
        block = replace(block, given=_entries(given, with_text=True))
    return block, offer if carried else None


def _members(workspace: Workspace, index: FreshIndex) -> Mapping[str | None, PoolMember]:
    return index.members or {None: PoolMember(workspace, index.index)}


def _knows_past(member: PoolMember, path: str) -> bool:
    """False for a log before history is read: later lines may have replaced its lines."""
    return not (member.index.seen.is_part and member.workspace.is_of_day(path))


def _number_asked(tokens: int) -> int:
    return min(_MOST_ASKED, max(_LEAST_ASKED, _TIMES_ASKED * tokens // _ENTRY_TOKENS))


def _promptless_offers(
    members: Mapping[str | None, PoolMember],
    tokens: int,
    today: date,
    say: Say,
    *,
    index: FreshIndex,
    past: PastState | None,
    tasks: bytes | None,
) -> dict[ContextPart, Offer]:
    """Profiles and curated files of all members; tasks and days of the first, which asks."""
    workspace = members[None].workspace
    most = tokens // _LEAST_ENTRY_TOKENS

    def entries(name: str | None, **conditions: Any) -> list[Hit]:
        member = members[name]
        if past is not None:
            words: dict[str, Any] = {each: str(value) for each, value in conditions.items()}
            asked = Search(limit=MAX_HITS, as_of=past.words, **words)
            found = search.search_in(workspace, index, asked, say).hits
            of_then = (hit for hit in found if not hit.done)
            return sorted(of_then, key=lambda hit: (hit.path, hit.start_line))
        hits = member.index.finder.entries(Filter(valid_on=today, undone=True, **conditions), today)
        stated = tuple(hit for hit in hits if hit.fact or not hit.key)  # no fields of notes
        hits = search.completed_hits(member.workspace, stated, today, say)
        return [replace(hit, workspace=name) for hit in hits] if name else list(hits)

    curated = {
        name: [
            hit
            for hit in entries(name, file=member.workspace.curated)
            if hit.path == member.workspace.curated
        ]
        for name, member in members.items()
    }
    in_curated = {hit.fact for hit in curated[None]}
    recent = [
        hit
        for hit in entries(None, since=today - timedelta(days=1), until=today)
        if workspace.is_of_day(hit.path)
        and _knows_past(members[None], hit.path)
        and (hit.promoted is None or hit.promoted not in in_curated)
    ]
    profiles = {name: _profile_files(member.workspace) for name, member in members.items()}
    return {
        ContextPart.PROFILE: parts.joined(
            [
                parts.profile_offer(
                    [hit for path in paths for hit in entries(name, file=path)], paths, most
                )
                for name, paths in profiles.items()
            ]
        ),
        ContextPart.PINNED: parts.joined(
            [parts.pinned_offer(hits, most) for hits in curated.values()]
        ),
        ContextPart.TASKS: _tasks(workspace, past, tasks, lambda: entries(None, file=TASKS_PATH)),
        ContextPart.DAYS: parts.days_offer(recent, today, most),
    }


def _profile_files(workspace: Workspace) -> Sequence[FilePath]:
    names = [
        path.name
        for path in workspace.root.iterdir()
        if workspace.kind_of(path.name) is FileKind.PROFILE
    ]
    order = [name.casefold() for name in layout.PROFILE_NAMES]
    return [
        FilePath(name)
        for name in sorted(names, key=lambda name: (order.index(name.casefold()), name))
    ]


def _tasks(
    workspace: Workspace,
    past: PastState | None,
    tasks: bytes | None,
    entries: Callable[[], Iterable[Hit]],
) -> Offer:
    """The tasks of the file on disk, or of `tasks`, the file of a past state."""
    try:
        on_disk = files.path_on_disk(workspace.root, TASKS_PATH)
        data = files.read(on_disk) if past is None else tasks
        if data is None:
            return Offer()
        return parts.tasks_offer(parse_bytes(data), TASKS_PATH, entries())
    except PathProblem:
        return Offer()


def _written(
    workspace: Workspace,
    request: BuildContext,
    index: FreshIndex,
    say: Say,
    offers: dict[ContextPart, Offer],
    wanted: Collection[ContextPart],
    block: ContextBlock,
    past: PastState | None,
    names_missing: bool,
) -> ContextBlock:
    shares, kept = SHARES[request.block_purpose], 0
    last_parts: list[tuple[PartResult, Paragraph | None]] = []
    if ContextPart.TAGS in wanted and ContextPart.TAGS in shares:
        counts = search.tags_in(workspace, index, say, past=past).tags
        last_parts.append(parts.tags_part(counts, int(request.tokens * shares[ContextPart.TAGS])))
        kept += last_parts[-1][0].tokens
    missing, has_share = index.missing or (), ContextPart.NOTES in shares
    has_notes = ContextPart.NOTES in wanted and bool(has_share or missing)
    if has_notes and (missing or parts.may_have_notes(offers.values(), index.stale)):
        kept += max(
            int(request.tokens * shares.get(ContextPart.NOTES, 0)),
            parts.notes_tokens(parts.missing_note(missing)),
        )
    fillings, room = allot(offers, request.block_purpose, request.tokens, parts.say_the_same, kept)
    if last_parts and room < last_parts[0][0].tokens:
        last_parts.clear()
    if has_notes:
        last_parts.append(
            parts.notes_part(
                fillings if has_share else (),
                index.stale and has_share,
                room - sum(result.tokens for result, _ in last_parts),
                missing,
            )
        )
    results = [
        *(_part_result(filling, request.preview) for filling in fillings),
        *(result for result, _ in last_parts),
    ]
    paragraphs = [paragraph for filling in fillings for paragraph in filling.paragraphs()]
    if (
        paragraphs
        or names_missing
        or any(result.part is ContextPart.TAGS for result, paragraph in last_parts if paragraph)
    ):
        paragraphs += [paragraph for _, paragraph in last_parts if paragraph]
    text = write_block(paragraphs)
    ids = tuple(each.id for filling in fillings for each in filling.shown)
    return replace(block, text=text, tokens=count_tokens(text), parts=tuple(results), ids=ids)


def _part_result(filling: Filling, is_preview: bool) -> PartResult:
    return PartResult(
        part=filling.part,
        tokens=filling.tokens,
        shown=len(filling.shown),
        left_out=filling.left_out,
        entries=_entries(filling.shown, is_preview),
        omitted=_entries(filling.omitted, is_preview) if is_preview else (),
    )


def _entries(candidates: Iterable[Candidate], with_text: bool) -> tuple[ContextEntry, ...]:
    return tuple(
        ContextEntry(
            path=each.path,
            line=each.line,
            fact=each.fact,
            score=each.score,
            cut=each.cut,
            workspace=each.workspace,
            text=each.text if with_text else "",
        )
        for each in candidates
    )


# Hits that answer a prompt: its own, those with the talk before it, lines for a task.


_CURATED_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE)
_MOST_CURATED = 8


def carried_hits(
    prompt: str,
    talk: Sequence[str],
    lexicon: Lexicon,
    ask: Callable[[str], tuple[Hit, ...]],
    kind_of: Callable[[Hit], FileKind],
    today: date,
    ask_meaning: Callable[[str], tuple[Hit, ...]] | None = None,
) -> tuple[tuple[Hit, ...], bool]:
    """The hits for a prompt, and whether memory carries it.

    A full question is asked alone first, others with the talk (messages that may explain it, in
    their order); most prompts cost one search. The gate decides. `ask_meaning` searches
    with vectors too, for a text that memory carries by its words.
    """
    together = "\n".join((*talk, prompt))
    is_full = not talk or (gate.is_question(prompt) and not is_follow_up(prompt))
    first, second = (prompt, together) if is_full else (together, prompt)
    hits = ask(first)
    if gate.asks_for_day_of(prompt, hits, today):
        return hits, True
    if gate.is_carried(first, hits, lexicon):
        return (ask_meaning(first) if ask_meaning else hits), True
    if talk and (is_full or gate.stands_alone(prompt, hits, lexicon)):
        other_hits = ask(second)
        if gate.is_carried(second, other_hits, lexicon):
            return (ask_meaning(second) if ask_meaning else other_hits), True
    curated = [hit for hit in hits if not hit.near and kind_of(hit) in _CURATED_KINDS]
    lines = gate.lines_for_task(
        prompt, made_things(prompt), curated[:_MOST_CURATED], lexicon.languages
    )
    corrections = {line.later for line in lines} - {None}
    return tuple(hit for hit in hits if hit in lines or hit.fact in corrections), bool(lines)
