"""What other tools keep: facts and conversations, from a record or a note of an export. Pure.

A format is known by a record's fields, never by the name of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from mdmem.model import FilePath
from mdmem.model.sessions import Speaker
from mdmem.sessions.records import (
    RawMessage,
    joined_text,
    list_of,
    object_of,
    objects_of,
    text_of,
    time_of,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text import frontmatter
from mdmem.text.document import Document, parse
from mdmem.text.facts import TASK_BOX, entries

_CATEGORY = late.pattern(r"\[[^\[\]()]{2,}\] ")
_RELATION = late.pattern(r"""(\S+|"[^"]+"|'[^']+') \[\[([^\[\]]+)\]\]( \(.*\))?""")
_TAGS_INSIDE = late.pattern(r"(.*?\S)((?: #[\w/-]+)+)( \([^()]*\))")
_TAG = late.pattern(r"[^\W\d_][\w/-]*")
_NO_FACT = late.pattern(r"\[[^\]]*\]\([^)]+\.md\)|\*\*[^*]+\*\*$")
"""A line of an index of other notes, or a caption."""
_CODE = ("```", "~~~", "|")


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact of another tool: said at `time` (without a zone: the user's; None: it does not say).

    `name` and `line` are its place: an id of the tool or a file, and its number in there.
    """

    tool: str
    text: str
    name: str
    line: int
    time: datetime | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def cites(self) -> str:
        return f"{self.tool}/{self.name}#{self.line}"


@dataclass(frozen=True, slots=True)
class Conversation:
    tool: str
    name: str
    started: datetime | None
    messages: tuple[RawMessage, ...]


Told = ToldFact | Conversation
_Record = dict[str, Any]


def _moment(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time_of(time.isoformat()) else None  # a year that no calendar's end spoils


def _tags(*values: Any) -> tuple[str, ...]:
    words = ("-".join(value.split()) for value in values if isinstance(value, str))
    return tuple(word for word in words if _TAG.fullmatch(word))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _message(number: int, time: Any, speaker: str, text: str) -> RawMessage:
    is_users = speaker in ("user", "human")
    return RawMessage(
        line=number,
        offset=0,
        time=time_of(time),
        speaker=Speaker.USER if is_users else Speaker.AGENT,
        typed=is_users,
        text=text,
    )


# Conversations.


def _chatgpt(record: _Record, name: str, number: int) -> Iterator[Told]:
    """The branch of a conversation that was shown last.

    https://help.openai.com/en/articles/7260999-how-do-i-export-my-chatgpt-history-and-data
    """
    nodes, branch = object_of(record.get("mapping")), []
    key = record.get("current_node") or next(reversed(nodes), None)
    while isinstance(key, str) and (node := object_of(nodes.pop(key, None))):
        branch.append(object_of(node.get("message")))
        key = node.get("parent")
    yield Conversation(
        tool="chatgpt",
        name=text_of(record.get("conversation_id")) or text_of(record.get("id")) or name,
        started=time_of(_milliseconds(record.get("create_time"))),
        messages=tuple(
            _message(at, _milliseconds(message.get("create_time")), speaker, text)
            for at, message in enumerate(reversed(branch), 1)
            if (speaker := object_of(message.get("author")).get("role")) in ("user", "assistant")
            and (text := _shown_text(message))
        ),
    )


def _milliseconds(seconds: Any) -> Any:
    return seconds * 1000 if isinstance(seconds, float | int) else seconds


def _shown_text(message: _Record) -> str:
    """Empty for calls of tools, and for what only the model was shown."""
    content, metadata = object_of(message.get("content")), object_of(message.get("metadata"))
    is_text = content.get("content_type") in ("text", "multimodal_text")
    is_hidden = metadata.get("is_visually_hidden_from_conversation")
    if not is_text or is_hidden or message.get("recipient", "all") != "all":
        return ""
    parts = list_of(content.get("parts"))
    texts = (part if isinstance(part, str) else object_of(part).get("text") for part in parts)
    return "\n".join(filter(None, map(text_of, texts)))


def _claude_ai(record: _Record, name: str, number: int) -> Iterator[Told]:
    """https://support.claude.com/en/articles/9450526-how-can-i-export-my-claude-data"""
    yield Conversation(
        tool="claude-ai",
        name=text_of(record.get("uuid")) or name,
        started=time_of(record.get("created_at")),
        messages=tuple(
            _message(at, message.get("created_at"), speaker, text)
            for at, message in enumerate(objects_of(record.get("chat_messages")), 1)
            if (speaker := message.get("sender")) in ("human", "assistant")
            and (text := joined_text(message.get("content")) or text_of(message.get("text")))
        ),
    )


# Facts.


def _claude_summary(record: _Record, name: str, number: int) -> Iterator[Told]:
    """What claude.ai has summed up of all conversations and of each project (`memories.json`)."""
    projects = object_of(record.get("project_memories"))
    for text in (record.get("conversations_memory"), *projects.values()):
        yield from _memories(parse(text_of(text) or ""), {}, name, None)


def _mem0(record: _Record, name: str, number: int) -> Iterator[Told]:
    """https://docs.mem0.ai/api-reference/memory/get-memories"""
    yield ToldFact(
        tool="mem0",
        text=_one_line(text_of(record.get("memory")) or ""),
        name=text_of(record.get("id")) or name,
        line=number,
        time=_moment(record.get("created_at")),
        tags=_tags(*list_of(record.get("categories")), record.get("user_id")),
    )


def _graph(record: _Record, name: str, number: int) -> Iterator[Told]:
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
        yield ToldFact(tool="server-memory", text=_one_line(text), name=name, line=number)


_READERS: tuple[
    tuple[Callable[[_Record], bool], Callable[[_Record, str, int], Iterator[Told]]], ...
] = (
    (lambda record: isinstance(record.get("mapping"), dict), _chatgpt),
    (lambda record: isinstance(record.get("chat_messages"), list), _claude_ai),
    (lambda record: "conversations_memory" in record, _claude_summary),
    (lambda record: isinstance(record.get("memory"), str), _mem0),
    (lambda record: record.get("type") == "entity" and "observations" in record, _graph),
    (lambda record: record.get("type") == "relation" and "relationType" in record, _graph),
)
"""How the record of a tool is recognised, and read."""


def read_record(record: _Record, file: str, number: int) -> Iterator[Told] | None:
    """What a record of a file tells; None: it is of no known tool."""
    for recognises, read in _READERS:
        if recognises(record):
            return read(record, file, number)
    return None


def read_note(
    text: str, file: str, modified: datetime | None, of_claude: bool
) -> Iterator[Told] | None:
    """What a Markdown note tells; None: nothing says of which tool it is.

    `of_claude`: it is in a folder of Claude's memory. Without a day of its own it is of the day on
    which it was `modified`.
    """
    document = parse(text)
    front = frontmatter.values(document)
    time = _moment(front.get("created")) or modified
    if "permalink" in front or ("title" in front and "type" in front):
        return _observations(document, front, file, time)
    if of_claude or ("name" in front and "description" in front):
        return _memories(document, front, file, time)
    return None


def _observations(
    document: Document, front: _Record, file: str, time: datetime | None
) -> Iterator[Told]:
    """Observations and relations of basic-memory; each names its note, as it stands alone here.

    https://docs.basicmemory.com/concepts/knowledge-format
    """
    title = _one_line(str(front.get("title") or file))
    for entry in entries(document, FilePath(file)):
        text, tags = _one_line(entry.text), entry.tags
        if relation := _RELATION.fullmatch(text):
            words = relation[1].strip("\"'").replace("_", " ")
            text = f"{title} {words} {relation[2]}{relation[3] or ''}"
        elif entry.fact is None or TASK_BOX.match(text):
            continue
        else:
            if inside := _TAGS_INSIDE.fullmatch(text):
                text, tags = inside[1] + inside[3], _tags(*inside[2].replace("#", " ").split())
            if entry.kind is None and not tags and not _CATEGORY.match(text):
                continue
            text = f"{title[:1].upper()}{title[1:]}: {text}"
        yield ToldFact(
            tool="basic-memory",
            text=text,
            name=file,
            line=entry.start_line,
            time=time,
            kind=entry.kind,
            tags=tags,
        )


def _memories(
    document: Document, front: _Record, file: str, time: datetime | None
) -> Iterator[Told]:
    """Claude's notes: with a description one memory, which belongs together, else many.

    https://code.claude.com/docs/en/memory#auto-memory
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
    """
    told = [
        entry
        for entry in entries(document, FilePath(file))
        if not entry.text.startswith(_CODE) and not _NO_FACT.match(entry.text)
    ]
    sort = front.get("type") or object_of(front.get("metadata")).get("type")
    is_one = "description" in front
    for each in [told] if is_one and told else [[entry] for entry in told]:
        yield ToldFact(
            tool="claude-memory",
            text=_one_line(" ".join(entry.text for entry in each)),
            name=file,
            line=each[0].start_line,
            time=time,
            kind=each[0].kind,
            tags=(*each[0].tags, *_tags(sort)),
        )
