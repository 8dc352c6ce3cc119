"""Hostile text, in each field that reaches a page, is shown as text and does nothing."""

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from conftest import World
from dated_memory import DatedMemory
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from page_driver import Response, ask
from page_readers import shown

from mdmem.memory import Memory
from mdmem.model.history import ShowChanges
from mdmem.model.proposals import Propose
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Log, Remember, WriteOptions
from mdmem.page.app import build_app
from mdmem.page.pages import Links, Reader

DAY = "2026-02-03"
FIELDS = (
    *("title", "tag", "key", "text", "kind", "actor", "reason", "session", "path", "heading"),
    *("query", "error", "author"),
)


def hostile(field: str) -> str:
    """A value that ends an attribute and begins an element, by the name of its field."""
    return f"{field}x\"'><xss onxss={field}>\u202e"


class Strange(HTMLParser):
    """The elements and attributes of a page that come from hostile values."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs if name.startswith("on") or not name.isascii()]
        self.found += [tag] * (tag == "xss") + names


def write_memory(dated: DatedMemory) -> Memory:
    """A memory with a hostile value in each field that can be written."""
    by = WriteOptions(actor=hostile("actor"), reason=hostile("reason"), session=hostile("session"))
    path, key = f"memory/{hostile('path')}.md", f"**{hostile('key')}**"
    dated.at.write(
        path,
        f"---\ntitle: '{hostile('title').replace(chr(39), chr(39) * 2)}'\n"
        f"tags: ['{hostile('tag').replace(chr(39), chr(39) * 2)}']\n---\n"
        f"# Top\n\n## {hostile('heading')}\n\n- {key}: {hostile('text')} 1\n"
        f"- {key}: {hostile('text')} 2\n- {hostile('text')} (until 2026-02-01)\n"
        f"- [[{hostile('text')}]] ![{hostile('text')}](x)\n\n{hostile('text')}\n",
    )
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{DAY}T09:00:00+00:00")
    author = dates | {"GIT_AUTHOR_NAME": hostile("author")}
    world = World(dated.at.world.home, {**dated.at.world.environment, **author})
    world.git(dated.at.root, "add", path)
    world.git(dated.at.root, "commit", "-q", "--no-verify", "-m", hostile("subject"))
    memory = dated.on(DAY)
    memory.apply(Log(hostile("text"), options=by))
    memory.apply(Remember(f"{hostile('text')} 3", key="tea", section="Work", options=by))
    memory.apply(Remember(f"{hostile('text')} 4", key="tea", section="Work", options=by))
    memory.proposals.propose(Propose(Remember(f"is {hostile('text')}", section="Work", options=by)))
    dated.at.write(f"memory/unsaved {hostile('path')}.md", f"# {hostile('heading')}\n")
    return memory


def addresses(memory: Memory) -> Iterator[str]:
    """The pages that show hostile values, and failures that quote them."""
    links, query, error = Links(), quote(hostile("query")), quote(hostile("error"))
    path = f"memory/{hostile('path')}.md"
    section = ("Top", hostile("heading"))
    yield from ("/", "/days", "/files", "/review", "/trends", "/health", "/health?examine=1")
    yield from (f"/day/{DAY}", links.file(path), links.section(path, section))
    yield from (links.section(path, section, at=1), links.days(who=hostile("actor")))
    yield from (links.days(file=path), "/context", f"/context?q={query}&session={query}")
    yield from (f"/search?q={query}&tag={query}&kind={quote(hostile('kind'))}", "/search?q=textx")
    yield from ("/search?q=textx&history=1", f"/search?q=textx&at={DAY}", f"/search?at={error}")
    yield from (f"/s/MEMORY.md?section={error}", f"/s/{error}", f"/f/memory/{error}.md")
    yield from (f"/fact/{error}", f"/commit/{error}", f"/day/{error}", f"/review/{error}")
    yield from (
        f"/days?before={error}",
        f"/search?q=a&source={error}",
        f"/{error}",
        f"/?done={error}",
    )
    yield from (
        links.commit(each.made.commit) for each in memory.changes(ShowChanges(limit=9)).changes
    )
    yield from (links.review(view.id) for view in memory.proposals.standing().views)
    facts = memory.facts(ListFacts(everything=True, limit=0)).facts
    yield from (links.fact(hit.fact) for hit in facts if hit.fact)


@pytest.mark.costly
def test_what_others_wrote_is_words_on_each_page(dated: DatedMemory) -> None:
    memory = write_memory(dated)
    app = build_app(Reader(memory, Links(), "t"))
    answers = {address: ask(app, "GET", address) for address in addresses(memory)}
    for verb in ("log", "remember", "replace", "decide", hostile("error")):
        fields = dict.fromkeys(("text", "kind", "key", "section", "reason"), hostile("kind"))
        body = {**fields, "fact": hostile("error"), "proposal": hostile("error"), "do": "reject:"}
        answers[f"POST {verb}"] = ask(app, "POST", f"/do/{verb}", body=body)
    for address, answer in answers.items():
        assert answer.status < 500, address
        assert Strange(answer).found == [], address
        assert "\u202e" not in shown(answer), address
    text = "".join(answer.text for answer in answers.values())
    assert [field for field in FIELDS if f"{field}x&#34;&#39;" not in text] == []
