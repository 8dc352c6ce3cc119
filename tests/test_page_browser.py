"""The pages in a real Chromium, against a served workspace: axe, keys, typing, buttons, and the
commits they make. Run by `make test-page`.
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import World, sealed_world
from npm_packages import CACHE, install_package

pytestmark = [pytest.mark.browser, pytest.mark.git]
NOW = "2026-03-05T17:30:00"
AXE = "axe-core@4.14.1"
PART, OTHER_PART = "commuters get a card with the next departures", "Ben takes the boat at 06:40"
SEED = """\
# Memory

## Facts

- [fact] printer: Brother in the hall
- [fact] the harbour office closes for lunch at 11:30 #harbour
- [fact] the winter discount ends in February (until 2026-02-28)

## Decisions

- [decision] ship the beta on Fridays #release
"""
HOUSE = "# House\n\nSee [[MEMORY]].\n\n## Office\n\n- the key hangs by the door\n"
LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
_SECONDS = 60


@dataclass
class Notes:
    """A workspace that a person and an agent have written to; `page` serves it."""

    world: World
    root: Path
    process: "subprocess.Popen[str] | None" = None
    requests: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def origin(self) -> str:
        return self.url.partition("/?")[0]

    def mdmem(self, *words: str, now: str = NOW, stated: bool = True) -> dict[str, Any]:
        """Run a command as the person, or as an agent unless `stated`."""
        agent = [] if stated else ["--actor", "assistant", "--source", "auto"]
        command = [sys.executable, "-m", "mdmem", *words, *agent, "--json"]
        done = self.world.run(self.root, command, environment=_at(now))
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def fact(self, key: str) -> str:
        """The id of the current fact with a key."""
        found: str = self.mdmem("facts", "--key", key)["facts"][0]["id"]
        return found

    def texts(self) -> list[str]:
        return [fact["text"] for fact in self.mdmem("facts", "-n", "0")["facts"]]

    def head(self) -> str:
        return self.world.git(self.root, "rev-parse", "HEAD").stdout.strip()

    def message(self) -> str:
        return self.world.git(self.root, "log", "-1", "--format=%an%n%B").stdout

    def serve(self) -> None:
        """Start the page; it prints its address."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mdmem", "page"],
            cwd=self.root,
            env={**self.world.environment, **_at(NOW)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def end(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(_SECONDS)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


def _at(now: str) -> dict[str, str]:
    return {"MDMEM_NOW": now, "GIT_AUTHOR_DATE": now, "GIT_COMMITTER_DATE": now}


@pytest.fixture(scope="session")
def written(
    tmp_path_factory: pytest.TempPathFactory, empty_repository: Path
) -> Iterator[tuple[Path, str]]:
    """A workspace that each test copies, and the proposal that is open in it."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        world = sealed_world(folder, patch)
        notes = Notes(world, Path(shutil.copytree(empty_repository, folder / "notes")))
        (notes.root / "memory").mkdir()
        (notes.root / "MEMORY.md").write_text(SEED)
        (notes.root / "memory" / "house.md").write_text(HOUSE)
        world.git(notes.root, "add", "-A")
        world.git(notes.root, "commit", "-qm", "seed", environment=_at("2026-02-20T09:00:00"))
        day = "2026-03-0{}T10:00:00"
        region = ("--key", "region", "--section", "Facts", "--kind", "fact")
        notes.mdmem("remember", "Dublin", *region, now=day.format(1))
        notes.mdmem("remember", "Frankfurt", *region, "--reason", "moved", now=day.format(2))
        notes.mdmem("remember", "Stockholm", *region, "--reason", "nearer", now=day.format(4))
        release = ("--key", "release_day", "--section", "Decisions")
        stated = ("--source", "user-stated")
        notes.mdmem("remember", "Friday noon", *release, *stated, now=day.format(4))
        notes.mdmem("remember", "Thursday evening", *release, now=day.format(5), stated=False)
        notes.mdmem("log", "called the operator", now=day.format(5))
        proposed = ("--section", "Decisions", "--propose", "--reason", "from the call")
        notes.mdmem("remember", PART, *proposed, now=day.format(5), stated=False)
        answer = notes.mdmem("remember", OTHER_PART, *proposed, now=day.format(5), stated=False)
        yield notes.root, answer["proposal"]


@pytest.fixture
def proposal(written: tuple[Path, str]) -> str:
    return written[1]


@pytest.fixture
def notes(world: World, tmp_path: Path, written: tuple[Path, str]) -> Iterator[Notes]:
    notes = Notes(world, Path(shutil.copytree(written[0], tmp_path / "notes", symlinks=True)))
    notes.serve()
    yield notes
    notes.end()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; make test-page installs it"
    )
    program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    if not Path(program).exists():
        pytest.skip(f"no Chromium at {program}; CHROMIUM names the one to use")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, notes: Notes, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A tab with the page open; it must not ask other machines, or violate the policy."""
    width, scheme = getattr(request, "param", LOOKS[0])
    context = chromium.new_context(
        viewport={"width": width, "height": 850}, color_scheme=scheme, bypass_csp=False
    )
    context.set_default_timeout(_SECONDS * 1000)
    page = context.new_page()
    asked, stopped = [], []
    page.on("request", lambda sent: asked.append(sent.url))
    page.on("console", lambda line: stopped.append(line.text) if "Policy" in line.text else None)
    page.goto(notes.url)
    yield page
    context.close()
    assert [url for url in asked if not url.startswith(notes.origin)] == []
    assert stopped == []


def go(page: Any, notes: Notes, path: str) -> None:
    page.goto(notes.origin + path)


def press(page: Any, name: str) -> None:
    """Press the first button whose name matches, and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("button", name=re.compile(f"^{name}")).first.click()


def main(page: Any) -> str:
    text: str = page.inner_text("main")
    return text


def all_pages(notes: Notes, proposal: str) -> dict[str, str]:
    section = "/s/MEMORY.md?section=Memory+%3E+Facts"
    return {
        "today": "/",
        "timeline": "/days",
        "day": "/day/2026-03-05",
        "files": "/files",
        "file": "/f/memory/house.md",
        "section": section,
        "section in the past": f"{section}&at=2",
        "fact": f"/fact/{notes.fact('region')}",
        "search": "/search?q=harbour",
        "search in the past": "/search?q=region&at=2026-03-02",
        "no hit": "/search?q=zzzqqq",
        "review": "/review",
        "proposal": f"/review/{proposal}",
        "agent view": "/context?q=harbour",
        "trends": "/trends",
        "health": "/health",
        "commit": f"/commit/{notes.head()}",
        "error": "/fact/00000000",
    }


@pytest.mark.parametrize("page", LOOKS, indirect=True, ids=lambda look: f"{look[0]}-{look[1]}")
def test_axe_finds_nothing_and_no_page_is_too_wide(page: Any, notes: Notes, proposal: str) -> None:
    folder = CACHE / AXE
    if not (script := folder / "node_modules" / "axe-core" / "axe.min.js").exists():
        install_package(folder, AXE)
    axe = script.read_text(encoding="utf-8")
    found = []
    for name, path in all_pages(notes, proposal).items():
        go(page, notes, path)
        page.evaluate(f"{axe};0")
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            (name, each["id"], each["nodes"][0]["html"][:120]) for each in result["violations"]
        ]
        assert not is_too_wide(page), name
        assert page.locator("h1").count() == 1, name
        assert page.locator("*").count() <= 2000, name
    assert found == []


@pytest.mark.parametrize("page", [(320, "light")], indirect=True)
def test_a_narrow_window_is_not_scrolled_sideways(page: Any, notes: Notes, proposal: str) -> None:
    for name, path in all_pages(notes, proposal).items():
        go(page, notes, path)
        assert not is_too_wide(page), name
    tabs = page.get_by_role("navigation", name="Pages").get_by_role("link")
    assert all(tabs.nth(n).bounding_box()["height"] >= 44 for n in range(tabs.count()))


def test_paper_has_nothing_to_press(page: Any, notes: Notes, proposal: str) -> None:
    page.emulate_media(media="print")
    pressed = page.locator("button, input, select, textarea, summary, nav.tabs")
    for name, path in all_pages(notes, proposal).items():
        go(page, notes, path)
        assert not [each for each in pressed.all() if each.is_visible()], name


def words(locator: Any) -> str:
    return " ".join(locator.inner_text().split())


def is_too_wide(page: Any) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return wide


def test_the_first_tab_leads_to_the_content(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"


def test_the_key_leaves_the_address(page: Any) -> None:
    assert "key" not in page.url


def test_results_come_while_typing(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("harbour")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=harbour*")
    page.evaluate("window.same = true")
    page.locator("input[type=search]").fill("")
    page.locator("input[type=search]").press_sequentially("printer")
    page.locator("main", has_text="Brother in the hall").wait_for()
    assert page.evaluate("window.same")
    assert page.locator("main mark").count()
    page.wait_for_url("**q=printer*")


def test_the_slider_shows_a_section_as_it_was(page: Any, notes: Notes) -> None:
    go(page, notes, "/s/MEMORY.md?section=Memory+%3E+Facts")
    slider = page.get_by_role("slider")
    now = slider.get_attribute("aria-valuetext")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.locator("#version .band", has_text="As it was on").wait_for()
    assert page.locator("#version del", has_text="Frankfurt").count()
    assert page.locator("#version ins", has_text="Stockholm").count()
    assert slider.get_attribute("aria-valuetext") not in ("", now)


def test_accept_reject_and_undo(page: Any, notes: Notes, proposal: str) -> None:
    go(page, notes, f"/review/{proposal}")
    press(page, f"Accept: .*{PART[:20]}")
    assert "Mdmem-Op: accept" in notes.message()
    assert f"Mdmem-Proposal: {proposal}" in notes.message()
    assert any(PART in text for text in notes.texts())
    assert page.evaluate("document.activeElement.matches('[data-item]')")
    assert "Accepted · Undo" in words(page.locator(".decided"))
    assert "Accepted: commuters get a card" in words(page.locator("#toast"))
    press(page, "Undo")
    assert not any(PART in text for text in notes.texts())
    assert page.locator(".decided").count() == 0
    go(page, notes, f"/review/{proposal}")
    press(page, f"Reject: .*{OTHER_PART[:20]}")
    assert f"Mdmem-Rejects: {proposal}" in notes.message()


def test_an_open_page_shows_what_changes(page: Any, notes: Notes) -> None:
    go(page, notes, "/f/MEMORY.md")
    page.evaluate("window.same = true")
    page.locator("summary").first.wait_for(state="attached")
    notes.mdmem("remember", "the ferry sings", "--section", "Facts")
    page.locator("main .entry.new", has_text="the ferry sings").wait_for()
    assert page.evaluate("window.same")
    assert page.locator(".new").count() == 1


def test_nothing_moves_while_one_types(page: Any, notes: Notes) -> None:
    go(page, notes, f"/fact/{notes.fact('printer')}")
    field = page.locator("textarea[name=text]")
    field.fill("half a sen")
    notes.mdmem("remember", "Epson", "--key", "printer", "--section", "Facts", "--kind", "fact")
    page.wait_for_timeout(2500)
    assert field.input_value() == "half a sen"
    press(page, "Replace")
    assert "no longer current" in words(page.locator("main"))


def test_tabs_have_one_stream_and_say_when_it_ends(page: Any, notes: Notes) -> None:
    others = [page.context.new_page() for _ in range(7)]
    streams: list[str] = []
    for each in (page, *others):
        each.on("request", lambda sent: streams.append(sent.url) if "/moved" in sent.url else None)
        go(each, notes, "/files")
    page.wait_for_timeout(1000)
    assert len(streams) <= 2  # that of the first page ends with its load
    notes.end()
    for each in (page, *others):
        each.locator("#still").wait_for()
    streams.clear()
    page.wait_for_timeout(3000)
    assert streams == []


def test_a_stream_that_is_cut_is_not_connected_again(page: Any, notes: Notes) -> None:
    go(page, notes, "/files")
    page.wait_for_timeout(1000)
    assert notes.process is not None
    notes.process.kill()
    page.locator("#still").wait_for()
    notes.end()
    notes.serve()  # on the same port, as a stranger could
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    page.wait_for_timeout(2000)
    assert asked == []
    page.locator("#still a").click()
    page.locator("#still").wait_for(state="hidden")
    assert [url for url in asked if url.endswith("/files")]


def test_another_site_hears_nothing(page: Any, notes: Notes) -> None:
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    other = page.context.browser.new_context(storage_state=page.context.storage_state())
    stranger = other.new_page()
    for host in ("127.0.0.1", "localhost"):
        stranger.goto(f"http://{host}:{site.server_address[1]}/")
        heard = stranger.evaluate(
            """(address) => new Promise((done) => {
                const stream = new EventSource(address, { withCredentials: true });
                stream.onopen = stream.onmessage = () => done("heard");
                stream.onerror = () => done("refused");
            })""",
            notes.origin + "/moved",
        )
        assert heard == "refused"
    other.close()
    site.shutdown()
    site.server_close()


def test_two_tabs_decide_on_one_item(page: Any, notes: Notes, proposal: str) -> None:
    other = page.context.new_page()
    for each in (page, other):
        go(each, notes, f"/review/{proposal}")
    other.get_by_role("checkbox").first.check()  # so that nothing moves in it
    press(page, f"Accept: .*{PART[:20]}")
    head = notes.head()
    other.get_by_role("button", name=re.compile(f"^Accept: .*{PART[:20]}")).click()
    other.locator(".refused", has_text="has changed since this page was loaded").wait_for()
    assert notes.head() == head
    assert other.get_by_role("checkbox").first.is_checked()


def test_a_place_and_a_form_are_gone_to_by_their_names(page: Any, notes: Notes) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("house")
    page.locator("#go a", has_text="memory/house.md").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/f/memory/house.md")
    page.keyboard.press("Control+k")
    page.keyboard.type("log what")
    page.locator("#go a", has_text="Log what happened").first.click()
    page.locator("form[action='/do/log'] textarea").wait_for()


def test_a_fact_is_edited_where_it_stands(page: Any, notes: Notes) -> None:
    go(page, notes, "/f/MEMORY.md")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.locator("main textarea").fill("Canon in the cellar")
    press(page, "Replace")
    assert any("printer: Canon in the cellar" in text for text in notes.texts())
    assert page.url.endswith("/f/MEMORY.md")
    assert "printer: Canon in the cellar" in words(page.locator(".prose"))


def test_a_contradiction_is_settled_by_one_press(page: Any, notes: Notes) -> None:
    go(page, notes, "/review")
    press(page, "Keep this: .*Friday noon")
    assert notes.mdmem("conflicts")["conflicts"] == []
    assert not any("Thursday" in text for text in notes.texts())
    press(page, "Undo")
    assert len(notes.mdmem("conflicts")["conflicts"]) == 1


def test_a_fact_is_replaced_and_forgotten(page: Any, notes: Notes) -> None:
    go(page, notes, f"/fact/{notes.fact('printer')}")
    page.locator("textarea[name=text]").fill("Canon in the cellar")
    press(page, "Replace")
    assert any("printer: Canon in the cellar" in text for text in notes.texts())
    go(page, notes, f"/fact/{notes.fact('printer')}")
    press(page, "Forget")
    assert not any("printer" in text for text in notes.texts())


def test_keys_move_and_decide(page: Any, notes: Notes, proposal: str) -> None:
    for key, path in (("d", "/days"), ("m", "/files"), ("r", "/review"), ("n", "/trends")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**{path}")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url(f"{notes.origin}/")
    head = notes.head()
    go(page, notes, f"/review/{proposal}")
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("y")
    assert notes.world.git(notes.root, "rev-list", "--count", f"{head}..").stdout.strip() == "1"
    with page.expect_navigation():
        page.keyboard.press("u")
    assert "revert" in notes.message()


def test_a_number_keeps_that_side_of_a_contradiction(page: Any, notes: Notes) -> None:
    go(page, notes, "/review")
    pair = page.locator(".pair").first
    first, second = pair.locator(".what").all_inner_texts()
    pair.focus()
    with page.expect_navigation():
        page.keyboard.press("2")
    assert notes.mdmem("conflicts")["conflicts"] == []
    assert second in notes.texts()
    assert first not in notes.texts()


def test_the_keys_are_listed(page: Any) -> None:
    page.keyboard.press("?")
    assert "next, previous" in page.get_by_role("dialog").inner_text()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").count()


def test_keys_are_off_in_fields(page: Any) -> None:
    page.locator("input[type=search]").focus()
    page.keyboard.type("gdyn?")
    assert page.input_value("input[type=search]") == "gdyn?"


def test_what_is_added_is_logged_and_remembered(page: Any, notes: Notes) -> None:
    page.locator("main summary", has_text="Add").first.click()
    page.locator("form[action='/do/log'] [name=text]").fill("the ferry was late")
    with page.expect_navigation():
        page.locator("form[action='/do/log'] button").click()
    assert "the ferry was late" in (notes.root / "memory/2026-03-05.md").read_text()
    go(page, notes, "/")
    page.locator("main summary", has_text="Add").first.click()
    form = page.locator("form[action='/do/remember']")
    form.locator("[name=text]").fill("Lysekil")
    form.locator("[name=key]").fill("home_port")
    with page.expect_navigation():
        form.locator("button").click()
    assert any("home_port: Lysekil" in text for text in notes.texts())


def test_the_agent_view_shows_a_prompts_block(page: Any, notes: Notes) -> None:
    before = notes.head()
    go(page, notes, "/context")
    page.locator("main [name=q]").fill("when does the harbour office close for lunch?")
    page.locator("main [name=q]").press("Enter")
    page.wait_for_url("**q=when*")
    assert "closes for lunch at 11:30" in main(page)
    assert "token" in main(page)
    assert notes.head() == before


def test_an_open_tab_outlives_a_restart(page: Any, notes: Notes, proposal: str) -> None:
    go(page, notes, f"/review/{proposal}")
    notes.end()
    notes.serve()
    press(page, "Accept: ")
    assert "Mdmem-Op: accept" in notes.message()


class Hand:
    """A person at the page, whose presses are counted: of the mouse, or of keys."""

    def __init__(self, page: Any, notes: Notes, proposal: str) -> None:
        self.page, self.notes, self.proposal, self.presses = page, notes, proposal, 0

    def start(self, path: str = "/") -> None:
        go(self.page, self.notes, path)
        self.presses = 0

    def click(
        self, name: str, within: str = "main", role: Any = "link", nth: int = 0, **more: Any
    ) -> None:
        self.presses += 1
        wanted = self.page.locator(within).get_by_role(role, name=re.compile(name))
        wanted.nth(nth).click(**more)

    def keys(self, *names: str) -> None:
        for name in names:
            self.presses += 1
            self.page.keyboard.press(name)

    def look_up(self, words: str, kind: str = "fact") -> None:
        """Go to the first place that some words name."""
        self.keys("Control+k")
        self.page.keyboard.type(words)
        first = self.page.locator("#go li:first-child", has_text=re.compile(f"{kind}.*{words}"))
        first.wait_for()
        with self.page.expect_navigation():
            self.keys("Enter")

    def type(self, text: str) -> None:
        self.page.locator("main textarea:focus").fill(text)

    def sees(self, text: str, where: str = "main") -> None:
        self.page.locator(where, has_text=text).first.wait_for()


def by_mouse(hand: Hand) -> Iterator[tuple[str, int]]:
    """The ten tasks of a person who keeps the page open, and the presses of each."""
    tabs, beside = "nav.tabs", "nav.files"
    hand.start()
    hand.click("Timeline", tabs)
    hand.click("Frankfurt.*Stockholm|Stockholm")
    hand.click("^change")
    hand.click("Undo this change", role="button")
    hand.sees("Undone", "#toast")
    yield "find when it changed, and undo", hand.presses
    hand.start("/review")
    hand.click("^Select", role="checkbox")
    hand.click("^Select", role="checkbox", nth=2, modifiers=["Shift"])
    hand.click("^Accept selected", role="button")
    hand.sees("Accepted 3 changes", "#toast")
    yield "accept three of five", hand.presses
    hand.start()
    hand.click("Friday noon or Thursday")
    hand.click("Keep this: .*Friday noon", role="button")
    hand.sees("Kept", ".decided")
    yield "settle", hand.presses
    hand.start()
    hand.click("what an agent is given")
    hand.sees("Agent view", "h1")
    yield "what the agent gets", hand.presses
    hand.start()
    hand.click("Timeline", tabs)
    hand.click("the pump hums")
    hand.click("New text", role="textbox")
    hand.type("the pump is silent")
    hand.click("^Replace", role="button")
    hand.sees("Replaced", "#toast")
    yield "correct yesterday's log", hand.presses
    hand.start()
    hand.click("^Facts", beside)
    hand.presses += 1  # into the field
    hand.page.locator("input[type=date]").fill("2026-03-02")
    hand.click("Look", beside, role="button")
    hand.sees("Frankfurt", ".prose")
    yield "what was true in March", hand.presses
    hand.start()
    hand.click("Trends", tabs)
    hand.sees("Ada Example", ".trend:has(h2:text('Who writes')) tr:first-child th")
    yield "who writes most", hand.presses
    hand.sees("Office", ".trend:has(h2:text('Untouched longest')) li:first-child")
    yield "stale notes", hand.presses
    hand.start()
    hand.click("^Facts", beside)
    hand.click("stated|inferred", ".entry:has-text('printer')")
    hand.click("^Forget", role="button")
    hand.sees("Forgotten", "#toast")
    yield "forget", hand.presses
    hand.start()
    hand.click("long.md", beside)
    hand.click("Next page")
    hand.sees("line 500", ".prose")
    yield "read a long file", hand.presses


def by_keys(hand: Hand) -> Iterator[tuple[str, int]]:
    hand.start()
    hand.look_up("Stockholm")
    hand.keys("u")
    hand.page.wait_for_url("**/commit/*")
    hand.keys("u")
    hand.sees("Undone", "#toast")
    yield "find when it changed, and undo", hand.presses
    with hand.page.expect_response("**/do/undo"):
        hand.keys("u")  # what was just done, not the change of the page
    assert any("Stockholm" in text for text in hand.notes.texts())
    hand.start(f"/review/{hand.proposal}")
    hand.keys("j")
    for number in range(1, 4):
        hand.keys("y")
        hand.page.locator(".decided").nth(number - 1).wait_for()
    assert hand.page.evaluate("document.activeElement.matches('[data-item]')")
    yield "accept three of five", hand.presses
    hand.start()
    hand.keys("g", "r")
    hand.page.wait_for_url("**/review")
    hand.keys("j", "1")
    hand.sees("Kept", ".decided")
    yield "settle", hand.presses
    hand.start()
    hand.look_up("Agent view", "page")
    hand.sees("Agent view", "h1")
    yield "what the agent gets", hand.presses
    hand.start()
    hand.look_up("the pump hums")
    hand.keys("e")
    hand.type("the pump is silent")
    hand.keys("Control+Enter")
    hand.sees("Replaced", "#toast")
    yield "correct yesterday's log", hand.presses
    hand.start()
    hand.look_up("Facts", "section")
    hand.keys("[")
    hand.sees("As it was on", "#version")
    yield "what was true in March", hand.presses
    hand.start()
    hand.keys("g", "n")
    hand.sees("Ada Example", ".trend:has(h2:text('Who writes')) tr:first-child th")
    yield "who writes most", hand.presses
    hand.sees("Office", ".trend:has(h2:text('Untouched longest')) li:first-child")
    yield "stale notes", hand.presses
    hand.start()
    hand.look_up("printer")
    hand.keys("f", "Enter")
    hand.sees("Forgotten", "#toast")
    yield "forget", hand.presses
    hand.start()
    hand.look_up("long.md", "file")
    hand.keys("]")
    hand.sees("line 500", ".prose")
    yield "read a long file", hand.presses


def covers(page: Any, one: str, other: str) -> bool:
    """True if the first of some elements and any of others lie over each other."""
    boxes = [[each.bounding_box() for each in page.locator(name).all()] for name in (one, other)]
    return any(
        first["x"] < each["x"] + each["width"]
        and each["x"] < first["x"] + first["width"]
        and first["y"] < each["y"] + each["height"]
        and each["y"] < first["y"] + first["height"]
        for first in boxes[0]
        for each in boxes[1]
        if first and each
    )


def propose_more(notes: Notes) -> None:
    for number in range(8):
        words = f"number {number} of those that were proposed"
        notes.mdmem("remember", words, "--section", "Decisions", "--propose", stated=False)


@pytest.mark.parametrize("page", [(1440, "light"), (390, "light")], indirect=True)
def test_nothing_lies_over_what_is_decided(page: Any, notes: Notes, proposal: str) -> None:
    propose_more(notes)
    go(page, notes, f"/review/{proposal}")
    assert page.locator(".take").count() == 10
    assert not covers(page, ".take", "main .place")
    for number in range(4):
        page.keyboard.press("j")
        page.keyboard.press("y")
        page.locator(".decided").nth(number).wait_for()
        page.locator("#toast").wait_for()
        assert not covers(page, "#toast", "main [data-item]:focus, .tabs a")
    if page.viewport_size["width"] == 1440:
        assert not covers(page, "#toast", "a, button:not(#toast button), label")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert not covers(page, "#toast", "main a, main button, main label")


def test_what_is_selected_is_counted_beside_its_button(
    page: Any, notes: Notes, proposal: str
) -> None:
    propose_more(notes)
    go(page, notes, f"/review/{proposal}")
    boxes = page.get_by_role("checkbox")
    boxes.first.check()
    boxes.last.click(modifiers=["Shift"])
    button = page.get_by_role("button", name=re.compile("^Accept selected"))
    assert button.get_attribute("data-count") == "10"
    boxes.last.scroll_into_view_if_needed()
    page.mouse.wheel(0, 2000)
    page.wait_for_timeout(200)
    assert button.bounding_box()["y"] > 0
    boxes.last.uncheck()
    assert button.get_attribute("data-count") == "9"


def test_todays_row_leads_to_its_item(page: Any, notes: Notes) -> None:
    for fact, name in (("Friday noon", "pair"), ("proposes", "item")):
        go(page, notes, "/")
        page.locator(".row a", has_text=fact).first.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/review**#{name}-*")
        page.locator("[data-item]:focus").wait_for()
    with page.expect_navigation():
        page.keyboard.press("n")
    assert "Rejected" in words(page.locator(".decided"))


def test_a_reason_is_sent_by_its_key(page: Any, notes: Notes) -> None:
    go(page, notes, f"/fact/{notes.fact('printer')}")
    assert page.get_by_label("Why replace it").count() == 1
    page.get_by_label("Why forget it").fill("sold")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    assert "Mdmem-Reason: sold" in notes.message()
    assert not any("printer" in text for text in notes.texts())


def test_pages_of_a_long_file_are_turned_one_by_one(page: Any, notes: Notes) -> None:
    lines = "".join(f"- line {number}\n" for number in range(1, 1501))
    (notes.root / "memory" / "long.md").write_text(f"# Long\n\n{lines}")
    go(page, notes, "/f/memory/long.md")
    pager = page.locator("main .pager")
    last = int(words(pager.locator(".quiet")).split()[-1])
    assert last >= 4
    seen = []
    for key, number in (
        *(("]", each) for each in range(2, last + 1)),
        ("]", last),
        ("[", last - 1),
    ):
        page.keyboard.press(key)
        pager.get_by_text(f"page {number} of {last}").wait_for()
        seen.append(page.url)
    assert seen[-1] == seen[-4]
    for number in range(last - 2, 0, -1):
        page.keyboard.press("[")
        pager.get_by_text(f"page {number} of {last}").wait_for()
    assert page.url.endswith("/f/memory/long.md")


def test_the_cross_of_the_search_field_is_not_written_over(page: Any) -> None:
    key = page.locator(".search kbd")
    assert key.is_visible()
    page.locator("[type=search]").fill("printer")
    assert not key.is_visible()


def test_a_day_is_gone_to_by_its_name(page: Any, notes: Notes) -> None:
    hand = Hand(page, notes, "")
    for name in ("2 March", "2026-03-02"):
        hand.start()
        hand.keys("Control+k")
        page.keyboard.type(name)
        first, second = (page.locator("#go li").nth(number) for number in range(2))
        first.get_by_text("Monday 2 March 2026").wait_for()
        assert words(second) == "file MEMORY.md as it was on that day"
        hand.keys("Enter")
        page.wait_for_url("**/day/2026-03-02")
    hand.keys("Control+k")
    page.keyboard.type("2 March")
    second.get_by_text("as it was").click()
    hand.sees("Frankfurt", ".prose")
    hand.sees("Memory as it was", "#past")


def test_the_next_item_is_the_one_in_view(page: Any, notes: Notes) -> None:
    lines = "".join(f"- line {number}\n" for number in range(1, 200))
    (notes.root / "memory" / "long.md").write_text(f"# Long\n\n{lines}")
    notes.mdmem("save")
    go(page, notes, "/f/memory/long.md")
    page.locator(".entry", has_text="line 100").first.evaluate("(node) => node.scrollIntoView()")
    page.keyboard.press("j")
    assert 98 <= focused_line(page) <= 101
    page.keyboard.press("j")
    after = focused_line(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/fact/*")
    page.go_back()
    page.wait_for_url("**/long.md")
    page.keyboard.press("j")
    assert focused_line(page) == after + 1


def focused_line(page: Any) -> int:
    found = re.search(r"line (\d+)", words(page.locator(".entry:focus-within")))
    assert found
    return int(found[1])


def test_a_change_that_is_undone_says_so(page: Any, notes: Notes) -> None:
    notes.mdmem("remember", "the ferry sings", "--section", "Facts")
    commit = notes.head()
    go(page, notes, f"/commit/{commit}")
    press(page, "Undo this change")
    page.locator("main .tag", has_text="undone").wait_for()
    assert page.get_by_role("button", name="Undo this change").count() == 0
    press(page, "Undo")
    page.get_by_role("button", name="Undo this change").wait_for()
    assert any("the ferry sings" in text for text in notes.texts())


@pytest.mark.parametrize("tasks", [by_mouse, by_keys])
def test_ten_tasks_take_four_presses_at_most(
    page: Any, notes: Notes, proposal: str, tasks: Any
) -> None:
    lines = "".join(f"- line {number}\n" for number in range(1, 501))
    parts = "".join(f"## Part {number}\n\n- part {number}\n\n" for number in range(1, 31))
    (notes.root / "memory" / "long.md").write_text(f"# Long\n\n{lines}")
    (notes.root / "memory" / "old.md").write_text(f"# Old\n\n{parts}")
    notes.world.git(notes.root, "add", "-A")
    notes.world.git(notes.root, "commit", "-qm", "long", environment=_at("2026-03-03T09:00:00"))
    notes.mdmem("log", "the pump hums", now="2026-03-04T12:00:00")
    for words in ("third of them", "fourth of them", "fifth of them"):
        notes.mdmem("remember", words, "--section", "Decisions", "--propose", stated=False)
    presses = dict(tasks(Hand(page, notes, proposal)))
    assert len(presses) == 10
    assert {name: number for name, number in presses.items() if number > 4} == {}
