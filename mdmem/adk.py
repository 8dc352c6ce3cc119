"""Google ADK's memory service on a workspace: a file for each user. `MdmemMemoryService`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from mdmem.folder import config, installed
from mdmem.memory import Memory
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.sessions import Speaker
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.sessions.drafts import DraftRules, draw
from mdmem.sessions.reading import clean_messages
from mdmem.sessions.records import RawMessage
from mdmem.text.facts import fact_id
from mdmem.text.stored_items import file_name, title_of

installed.require_packages(("google", "google.adk"), "the service needs its extra", "adk")
# behind the line that says what is missing
from google.adk.events.event import Event  # noqa: E402
from google.adk.memory.base_memory_service import (  # noqa: E402
    BaseMemoryService,
    SearchMemoryResponse,
)
from google.adk.memory.memory_entry import MemoryEntry  # noqa: E402
from google.adk.sessions.session import Session  # noqa: E402
from google.genai import types  # noqa: E402

_ACTOR = "adk"  # where the memory has none
_ADDED, _NO_SESSION = "Memories", "Session"
_MOST = 10


class MdmemMemoryService(BaseMemoryService):
    """A memory service of ADK in a workspace, below `memory/adk` (docs/library.md).

    What a user of an app said is found by that user alone; `shared` lets all of them find MEMORY.md
    too. Raises MdmemError where a write is refused, ValueError for names that no file can have.
    """

    def __init__(self, memory: Memory, shared: bool = False) -> None:
        self._memory = memory.reading_with(None)
        self._shared = shared

    async def add_session_to_memory(self, session: Session) -> None:
        """Keep of a session what a digest keeps of a transcript; again: what is new."""
        file = _file_of(session.app_name, session.user_id)
        await asyncio.to_thread(self._keep, file, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """The same for some events of a session."""
        file = _file_of(app_name, user_id)
        await asyncio.to_thread(self._keep, file, session_id or _NO_SESSION, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember each, with the words of `custom_metadata["tags"]` as tags."""
        for entry in memories:
            tags: Any = {**(custom_metadata or {}), **entry.custom_metadata}.get("tags", ())
            file, text = _file_of(app_name, user_id), _text_of(entry.content)
            words = tuple(tags) if isinstance(tags, list | tuple) else ()
            await asyncio.to_thread(self._remember, file, _ADDED, text, tags=words)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The ten best entries that hold a word of the query."""
        shared = [self._memory.workspace.curated] if self._shared else []
        files = [_file_of(app_name, user_id), *shared] if query.strip() else []
        answers = [
            await asyncio.to_thread(
                self._memory.search, Search(query=query, limit=_MOST, file=each)
            )
            for each in files
        ]
        hits = [hit for answer in answers for hit in answer.hits if not hit.near]
        best = sorted(hits, key=lambda hit: -hit.score)[:_MOST]
        return SearchMemoryResponse(memories=list(map(_entry_of, best)))

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget an entry of this user, by the id that a search gave.

        Raises MdmemError (`fact-not-found`), ValueError (there is no id).
        """
        if not memory_id:
            raise ValueError("memory_id is missing: it says which entry to forget")
        file = _file_of(app_name, user_id)
        forget = Forget(fact=memory_id, file=file, options=self._options())
        await asyncio.to_thread(self._memory.apply, forget)

    def _keep(self, file: str, session: str, events: Iterable[Event]) -> None:
        title = title_of(session)
        facts = self._memory.facts(ListFacts(file=file, everything=True, limit=0)).facts
        known = {each.fact for each in facts if each.section[-1:] == (title,)}
        zone = config.zone(self._memory.workspace.settings.timezone)
        messages = clean_messages(_messages(events), None)
        for draft in draw(messages, DraftRules(zone)).drafts:
            if fact_id(draft.text) not in known:
                self._remember(file, title, draft.text, kind=draft.kind)

    def _remember(self, file: str, section: str, text: str, **label: Any) -> None:
        fact = Remember(
            text=text, file=file, section=section, create=True, options=self._options(), **label
        )
        self._memory.apply(fact)

    def _options(self) -> WriteOptions:
        return WriteOptions(actor=self._memory.workspace.actor or _ACTOR)


def _file_of(app: str, user: str) -> str:
    return f"memory/adk/{file_name(app)}/{file_name(user)}.md"


def _text_of(content: types.Content | None) -> str:
    parts = content.parts if content and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _messages(events: Iterable[Event]) -> Iterable[RawMessage]:
    """The texts of the user and the model, without those that are partial."""
    for line, event in enumerate(events, 1):
        text = "" if event.partial else _text_of(event.content)
        if text:
            yield RawMessage(
                line=line,
                offset=0,
                time=datetime.fromtimestamp(event.timestamp, UTC),
                speaker=Speaker.USER if event.author == "user" else Speaker.AGENT,
                typed=event.author == "user",
                text=text,
            )


def _entry_of(hit: Hit) -> MemoryEntry:
    return MemoryEntry(
        id=hit.fact or hit.item,
        content=types.Content(parts=[types.Part(text=hit.text)]),
        author=hit.author,
        timestamp=hit.since.isoformat() if hit.since else None,
    )
