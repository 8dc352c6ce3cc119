"""Read pages in process, with their words and links; and a memory of some months, made once."""

import re
import shutil
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import World, keep_from_background, sealed_world
from dated_memory import SEED_DATE, DatedMemory, change_employers
from page_driver import Response, ask
from workspaces import Desk, desk, match_index

from mdmem.changes import apply
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.writes import Contradict, DayEntry, DigestDay, Forget, Remember, WriteOptions
from mdmem.page.app import build_app
from mdmem.page.pages import Links, Reader

SEED = "# Memory\n\n## Work\n\n## Home\n\n- lives in Oslo\n"
STATED = WriteOptions(source=Source.USER_STATED, reason="asked Mats")
SESSION = "claude/5a1e0012-3456-4789-8abc-def012345678"
TODAY = "2026-05-05"
_FIELD = re.compile(r"<(?:input|textarea)\b[^>]*>[^<]*")
_HOSTILE = re.compile(r"(?:java|vb)script:|data:", re.IGNORECASE)


def read(memory: Memory, path: str, token: str = "", **headers: str) -> Response:
    """Ask for a page; with a token it has forms."""
    return ask(build_app(Reader(memory, Links(), token)), "GET", path, headers)


def main(answer: Response) -> str:
    """The page without its frame, as HTML."""
    return answer.text.partition("<main")[2].partition("</main>")[0].partition(">")[2]


def words(answer: Response) -> str:
    """The words of a page, on one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", main(answer)).split())


def addresses(answer: Response) -> list[str]:
    """The addresses of the links on a page."""
    return [
        address.replace("&amp;", "&") for address in re.findall(r'href="([^"]+)"', main(answer))
    ]


class _Harm(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_refresh = tag == "meta" and any(name == "http-equiv" for name, _ in attrs)
        if is_refresh or tag in ("iframe", "img", "object", "style", "base"):
            self.found.append(tag)
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc") or _HOSTILE.match(value or ""):
                self.found.append(f"{tag} {name}")


def shown(answer: Response) -> str:
    """A page without the values of its fields, which are sent back as they are."""
    return _FIELD.sub("", answer.text)


def harm(answer: Response) -> list[str]:
    """Active elements, attributes and hidden characters of a page, except the frame's script."""
    parser = _Harm()
    parser.feed(answer.text)
    hidden = [hex(ord(sign)) for sign in shown(answer) if sign in "\u200b\u202e\u2066\u2069"]
    scripts = re.findall(r'<script(?! src="/static/)[^>]*>', answer.text)
    return [*parser.found, *hidden, *scripts]


def commit_on(at: Desk, day: str, message: str = "by hand") -> str:
    """Commit all files by hand on a day."""
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{day}T09:00:00+00:00")
    return Desk(World(at.world.home, {**at.world.environment, **dates}), at.root).commit(message)


@pytest.fixture(scope="session")
def months(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Path:
    """The repository that `paged` copies."""
    folder = tmp_path_factory.mktemp("months")
    repository = Path(shutil.copytree(empty_repository, folder / "repository"))
    with pytest.MonkeyPatch.context() as patch:
        keep_from_background(patch)
        world = sealed_world(folder, patch)
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), SEED_DATE)
        early = World(world.home, {**world.environment, **dates})
        dated = DatedMemory(Desk(world, desk(early, repository, seed=SEED).root), patch)
        _live_some_months(dated)
    return repository


def _live_some_months(dated: DatedMemory) -> None:
    """Four employers, one a month; labels, a contradiction, ended facts, and a digest."""
    change_employers(dated)
    remember: dict[str, dict[str, Any]] = {
        "badge is blue": {"tags": ("badge",), "until": "2026-04-30"},
        "parking: in the yard": {"until": "2026-05-30"},
        "meets on Mondays": {},
    }
    for text, more in remember.items():
        change = Remember(text, section="Work", options=STATED, **more)
        dated.on("2026-04-12").apply(change)
    canteen = Remember("meets on Tuesdays, in the canteen", section="Work", kind="decision")
    memory = dated.on("2026-04-13")
    memory.apply(canteen)
    memory.apply(Contradict("meets on Mondays", "parking"))
    claimed = WriteOptions(source=Source.USER_STATED, actor="assistant", reason="said on the phone")
    memory.apply(Remember("Mats", key="landlord", section="Home", options=claimed))
    memory.apply(Forget("lives in Oslo", options=WriteOptions(actor="assistant", reason="moved")))
    entry = DayEntry(minute="09:00", text="plays the cello", kind="fact", cites=f"{SESSION}#3")
    options = WriteOptions(source=Source.USER_STATED, session=SESSION)
    day = date.fromisoformat("2026-04-14")
    apply.apply(
        dated.at.workspace,
        DigestDay(day=day, entries=(entry,), run="digest/a", options=options),
        lambda _: None,
    )
    text = dated.at.read("MEMORY.md").replace(
        "## Home", "A note of **what** matters.\n\n- <!-- aside --> has a desk ^desk\n\n## Home"
    )
    dated.at.write("MEMORY.md", text)


@pytest.fixture
def paged(
    world: World, repository: Path, months: Path, monkeypatch: pytest.MonkeyPatch
) -> DatedMemory:
    """Some months of memory, with an edit that is not saved."""
    shutil.copytree(months, repository, dirs_exist_ok=True)
    match_index(repository)
    return DatedMemory(Desk(world, repository), monkeypatch)


@pytest.fixture
def memory(paged: DatedMemory) -> Memory:
    """The same, opened on its last day."""
    return paged.on(TODAY)
