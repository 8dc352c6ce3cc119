"""Facts and conversations of other tools, from the records and notes of an export. Pure.

A format is known by the fields of a record or a note, never by the name of a file. A fact is an
entry whose `time` says when it was said, without a zone in the user's (None: the tool does not
say), and which cites TOOL/PLACE#LINE: an id of the tool or a file, and its number in there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import takewhile
from typing import Any

from mdmem.model import FilePath
from mdmem.model.sessions import Speaker
from mdmem.model.writes import DayEntry
from mdmem.sessions.records import (
    RawMessage,
    Reading,
    SessionHeader,
    joined_text,
    list_of,
    object_of,
    objects_of,
    text_of,
    time_of,
)
from mdmem.startup import late
from mdmem.text import frontmatter
from mdmem.text.document import Document, parse
from mdmem.text.facts import TASK_BOX, entries

_CATEGORY = late.pattern(r"\[[^\[\]()]{2,}\] ")
_RELATION = late.pattern(r"""(\S+|"[^"]+"|'[^']+') \[\[([^\[\]]+)\]\]( \(.*\))?""")
_TAG = late.pattern(r"[^\W\d_][\w/-]*")
_NO_FACT = late.pattern(r"```|~~~|\||\[[^\]]*\]\([^)]+\.md\)|\*\*[^*]+\*\*$")
"""Code, a table, a line of an index of other notes, or a caption."""

Told = Iterator[DayEntry | Reading]
_Record = dict[str, Any]


def _fact(
    place: str, text: str, time: Any = None, kind: str | None = None, tags: tuple[Any, ...] = ()
) -> DayEntry:
    names = ("-".join(tag.split()) for tag in tags if isinstance(tag, str))
    labels = (f"#{name}" for name in names if _TAG.fullmatch(name))
    return DayEntry(
        minute="",
        text=" ".join((*text.split(), *labels)),
        kind=kind,
        cites=place,
        time=datetime.fromisoformat(str(time)) if time_of(str(time)) else None,
    )


def _conversation(name: str, started: Any, messages: list[tuple[int, Any, Any, str]]) -> Reading:
    """`messages`: the number, time, speaker and text of each."""
    return Reading(
        SessionHeader(session=name, started=time_of(started)),
        [
            RawMessage(
                line=number,
                offset=0,
                time=time_of(time),
                speaker=Speaker.AGENT if speaker == "assistant" else Speaker.USER,
                typed=speaker != "assistant",
                text=text,
            )
            for number, time, speaker, text in messages
            if text and speaker in ("user", "human", "assistant")
        ],
    )


def _chatgpt(record: _Record, file: str, number: int) -> Told:
    """The branch of a conversation that was shown last.

    https://help.openai.com/en/articles/7260999-how-do-i-export-my-chatgpt-history-and-data
    """
    nodes, branch = object_of(record.get("mapping")), []
    key = record.get("current_node") or next(reversed(nodes), None)
    while isinstance(key, str) and (node := object_of(nodes.pop(key, None))):
        branch.append(object_of(node.get("message")))
        key = node.get("parent")
    messages = [
        (at, _milliseconds(each), object_of(each.get("author")).get("role"), _shown_text(each))
        for at, each in enumerate(reversed(branch), 1)
    ]
    name = text_of(record.get("conversation_id")) or text_of(record.get("id")) or file
    yield _conversation(f"chatgpt/{name}", _milliseconds(record), messages)


def _milliseconds(record: _Record) -> float | None:
    seconds = record.get("create_time")
    return seconds * 1000 if isinstance(seconds, float | int) else None


def _shown_text(message: _Record) -> str:
    """Empty for calls of tools, and for what only the model was shown."""
    content, metadata = object_of(message.get("content")), object_of(message.get("metadata"))
    is_shown = (
        content.get("content_type") in ("text", "multimodal_text")
        and message.get("recipient", "all") == "all"
        and not metadata.get("is_visually_hidden_from_conversation")
    )
    parts = list_of(content.get("parts")) if is_shown else []
    texts = (part if isinstance(part, str) else object_of(part).get("text") for part in parts)
    return "\n".join(filter(None, map(text_of, texts)))


def _claude_ai(record: _Record, file: str, number: int) -> Told:
    """https://support.claude.com/en/articles/9450526-how-can-i-export-my-claude-data"""
    messages = [
        (
            at,
            each.get("created_at"),
            each.get("sender"),
            joined_text(each.get("content")) or text_of(each.get("text")) or "",
        )
        for at, each in enumerate(objects_of(record.get("chat_messages")), 1)
    ]
    name = text_of(record.get("uuid")) or file
    yield _conversation(f"claude-ai/{name}", record.get("created_at"), messages)


def _claude_summary(record: _Record, file: str, number: int) -> Told:
    """The same export: what claude.ai has summed up of all conversations and of each project."""
    projects = object_of(record.get("project_memories"))
    for text in (record.get("conversations_memory"), *projects.values()):
        yield from _memories(parse(text_of(text) or ""), {}, file, None)


def _mem0(record: _Record, file: str, number: int) -> Told:
    """https://docs.mem0.ai/api-reference/memory/get-memories"""
    place = f"mem0/{text_of(record.get('id')) or file}#{number}"
    tags = (*list_of(record.get("categories")), record.get("user_id"))
    yield _fact(place, record["memory"], record.get("created_at"), tags=tags)


def _graph(record: _Record, file: str, number: int) -> Told:
    """https://github.com/modelcontextprotocol/servers/tree/main/src/memory

    It stores no times. The type of an entity keeps its name from being read as a key.
    """
    if record["type"] == "relation":
        ends = (str(record.get(end, "")) for end in ("from", "relationType", "to"))
        texts = [" ".join(ends).replace("_", " ")]
    else:
        about = f"{record.get('name')} ({record.get('entityType') or 'entity'})"
        observations = filter(text_of, list_of(record.get("observations")))
        texts = [f"{about}: {each}" for each in observations]
    for text in texts:
        yield _fact(f"server-memory/{file}#{number}", text)


_READERS: tuple[tuple[Callable[[_Record], bool], Callable[[_Record, str, int], Told]], ...] = (
    (lambda record: isinstance(record.get("mapping"), dict), _chatgpt),
    (lambda record: isinstance(record.get("chat_messages"), list), _claude_ai),
    (lambda record: "conversations_memory" in record, _claude_summary),
    (lambda record: isinstance(record.get("memory"), str), _mem0),
    (lambda record: record.get("type") == "entity" and "observations" in record, _graph),
    (lambda record: record.get("type") == "relation" and "relationType" in record, _graph),
)
"""A test of a record's fields for each format, and its reader."""


def read_record(record: _Record, file: str, number: int) -> Told | None:
    """The facts and conversations of a record; None: it is of no known tool."""
    told = (read(record, file, number) for recognises, read in _READERS if recognises(record))
    return next(told, None)


def read_note(text: str, file: str, of_claude: bool) -> Told | None:
    """The facts of a Markdown note; None: nothing says of which tool it is.

    `of_claude`: it is in a folder of Claude's memory.
    """
    document = parse(text)
    front = frontmatter.values(document)
    if "permalink" in front or ("title" in front and "type" in front):
        return _observations(document, front, file, front.get("created"))
    if of_claude or ("name" in front and "description" in front):
        return _memories(document, front, file, front.get("created"))
    return None


def _observations(document: Document, front: _Record, file: str, time: Any) -> Told:
    """Observations and relations of basic-memory, each beginning with the title of its note.

    https://docs.basicmemory.com/concepts/knowledge-format
    """
    title = str(front.get("title") or file)
    for entry in entries(document, FilePath(file)):
        text = entry.text
        if relation := _RELATION.fullmatch(text):
            words = relation[1].strip("\"'").replace("_", " ")
            text = f"{title} {words} {relation[2]}{relation[3] or ''}"
        elif (entry.kind or entry.tags or _CATEGORY.match(text)) and not TASK_BOX.match(text):
            text = _with_tags_last(f"{title[:1].upper()}{title[1:]}: {text}")
        else:
            continue
        place = f"basic-memory/{file}#{entry.start_line}"
        yield _fact(place, text, time, kind=entry.kind, tags=entry.tags)


def _with_tags_last(text: str) -> str:
    """A text with its context (in parentheses) before the tags."""
    head, opening, context = text.rpartition(" (")
    if not opening or not context.endswith(")"):
        return text
    words = head.split(" ")
    tags = list(takewhile(lambda word: word.startswith("#"), reversed(words)))[::-1]
    return " ".join([*words[: len(words) - len(tags)], f"({context}", *tags])


def _memories(document: Document, front: _Record, file: str, time: Any) -> Told:
    """Claude's notes: with a description one memory, which belongs together, else many.

    https://code.claude.com/docs/en/memory#auto-memory
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
    """
    read = entries(document, FilePath(file))
    told = [entry for entry in read if not _NO_FACT.match(entry.text)]
    sort = front.get("type") or object_of(front.get("metadata")).get("type")
    for each in [told] if told and "description" in front else [[entry] for entry in told]:
        text = " ".join(entry.text for entry in each)
        place = f"claude-memory/{file}#{each[0].start_line}"
        yield _fact(place, text, time, kind=each[0].kind, tags=(*each[0].tags, sort))
