"""The forms of the pages: each does one thing, and a stale one changes nothing."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from conftest import World, sealed_world
from page_driver import FORM, HOST, Response, ask
from proposal_actions import on
from workspaces import TOKEN, Desk, match_index

from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.proposals import Propose
from mdmem.model.searches import Hit, ListFacts
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.page.app import build_app
from mdmem.page.pages import Done, Links, Reader

NOW, LOG = "2026-03-05T10:00:00", "memory/2026-03-05.md"
FORM_HEADERS = {"host": HOST, "content-type": FORM}
SECRET = "the-form-token"
HOSTILE = '<script>alert(1)</script> "x\u202ey'
SEED = (
    "# Memory\n\n## Facts\n\n- printer: Brother ^printer\n- likes tea\n- oncall: Ben\n\n"
    "## Work\n\n- employer: Stripe\n- employer: Figma\n- [decision] ships on Fridays\n"
)


@dataclass
class Button:
    """A button of a form: its accessible name, and the fields that it sends."""

    name: str
    address: str
    fields: dict[str, str]
    is_filled: bool = False


@dataclass
class Forms(HTMLParser):
    """The buttons of all forms of a page that are sent by POST."""

    buttons: list[Button] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._form: tuple[str, dict[str, str]] | None = None
        self._open: Button | None = None
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            is_post = given.get("method") == "post"
            self._form = (given["action"], {}) if is_post else None
        if self._form is None:
            return
        if tag == "input":
            self._form[1][given["name"]] = given.get("value", "")
        elif tag == "textarea":
            self._area = given["name"]
            self._form[1][self._area] = ""
        elif tag == "button":
            self._open = Button(
                name=given.get("aria-label", ""),
                address=self._form[0],
                fields=self._form[1],
                is_filled=given.get("class") == "filled",
            )
            if "name" in given:
                self._open.fields = {**self._form[1], given["name"]: given["value"]}
            self.buttons.append(self._open)

    def handle_data(self, data: str) -> None:
        if self._area and self._form:
            self._form[1][self._area] += data
        elif self._open and not self._open.name:
            self._open.name = data.strip()

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = None
        elif tag == "button":
            self._open = None


def buttons(text: str) -> list[Button]:
    forms = Forms()
    forms.feed(text)
    return forms.buttons


@dataclass(frozen=True)
class Tab:
    """A page in a browser, and its memory."""

    at: Desk
    memory: Memory
    app: Any
    reader: Reader

    def get(self, path: str, **headers: str) -> Response:
        return ask(self.app, "GET", path.partition("#")[0], headers)

    def find(self, path: str, name: str) -> Button:
        answer = self.get(path)
        assert answer.status == 200, answer.text
        found = [each for each in buttons(answer.text) if re.search(name, each.name)]
        assert found, (name, [each.name for each in buttons(answer.text)])
        return found[0]

    def send(self, button: Button, **typed: str) -> Response:
        return ask(self.app, "POST", button.address, body={**button.fields, **typed})

    def form(self, verb: str, **fields: str) -> Button:
        """A form of another page."""
        return Button(verb, f"/do/{verb}", {"token": SECRET, "back": "/review", **fields})

    def press(self, button: Button, **typed: str) -> str:
        """Press a button, and return the line of the next page."""
        answer = self.send(button, **typed)
        assert answer.status == 303, answer.text
        followed = self.get(answer.headers["location"])
        assert followed.status == 200
        line = re.search(r'id="done">\s*<p>(.*?)</p>', followed.text, re.S)
        assert line, followed.text
        assert 'id="done"' not in self.get(answer.headers["location"]).text, "it is shown once"
        return line[1]

    def fact(self, text: str) -> str:
        (hit,) = [each for each in self.facts() if text in each.text]
        assert hit.fact
        return hit.fact

    def facts(self) -> tuple[Hit, ...]:
        return self.memory.facts(ListFacts(limit=0)).facts

    def texts(self) -> set[str]:
        return {each.text for each in self.facts()}


def bot(**options: Any) -> WriteOptions:
    return WriteOptions(**{"actor": "bot", **options})


def propose(memory: Memory, text: str, actor: str = "bot", **options: Any) -> str:
    given = WriteOptions(actor=actor, reason=options.pop("reason", None))
    change = Remember(text, section="Facts", options=given, **options)
    proposal = memory.proposals.propose(Propose(change)).proposal
    assert proposal
    return proposal


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory, empty_repository: Path) -> Path:
    """A workspace with a contradiction and two open proposals, made once."""
    folder = tmp_path_factory.mktemp("laid_out")
    repository = Path(shutil.copytree(empty_repository, folder / "repository"))
    with pytest.MonkeyPatch.context() as patch:
        at = Desk(sealed_world(folder, patch), repository)
        patch.setenv("MDMEM_NOW", NOW)
        at.write("MEMORY.md", SEED)
        at.write(LOG, "# 2026-03-05\n\n## 09:00\n\n- the ferry was late\n")
        at.commit("files")
        with closing(Memory.open(at.root, os.environ)) as opened:
            propose(opened, "plays the cello", reason="said on the phone")
            propose(opened, "Ben until March", key="oncall")
            propose(opened, "Ada", actor="second", key="oncall")
            opened.conflicts()
    return repository


@pytest.fixture
def tab(
    world: World, repository: Path, laid_out: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tab]:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    shutil.copytree(laid_out, repository, dirs_exist_ok=True)
    match_index(repository)
    at = Desk(world, repository)
    with closing(Memory.open(at.root, os.environ)) as memory:
        reader = Reader(memory, Links(), SECRET)
        yield Tab(at, memory, build_app(reader), reader)


def proposal_of(tab: Tab, text: str) -> str:
    (found,) = {
        view.id
        for view in tab.memory.proposals.standing().views
        for part in view.parts
        if part.new and text in part.new
    }
    return found


def stays(tab: Tab, button: Button, status: int = 409, **typed: str) -> str:
    """Assert that a press changes nothing, and return the page that says so."""
    before, state = tab.at.head(), tab.at.tree_state()
    refs = tab.at.git("for-each-ref")
    answer = tab.send(button, **typed)
    assert answer.status == status, answer.text
    assert tab.at.head() == before
    assert tab.at.tree_state() == state
    assert tab.at.git("for-each-ref") == refs
    return answer.text


# Proposals.


def test_a_part_is_accepted_by_the_person_and_undone(tab: Tab) -> None:
    line = tab.press(tab.find("/review", "^Accept: plays the cello"))
    assert line == "Accepted: plays the cello"
    message = tab.at.git("log", "-1", "--format=%an%n%B")
    assert message.startswith("Ada Example\n")
    assert "Mdmem-Op: accept" in message
    assert "Mdmem-Actor" not in message
    answer = tab.send(tab.find("/review", "^Accept: Ben until March|^Accept: oncall"))
    page = tab.get(answer.headers["location"])
    assert tab.press(next(each for each in buttons(page.text) if each.name == "Undo")) == (
        f"Undone: change {tab.at.git('log', '-1', '--skip=1', '--format=%H')[:10]}"
    )
    assert "oncall: Ben" in tab.texts()


def test_accepting_one_of_rivals_closes_the_others(tab: Tab) -> None:
    text = tab.get("/review").text
    assert text.count("another value") == 1, "rivals are one item"
    line = tab.press(tab.find("/review", "^Accept: oncall: Ada"))
    assert line == "Accepted: oncall: Ada (1 other value closed)"
    assert "oncall: Ada" in tab.texts()
    assert "Ben until March" not in tab.get("/review").text


def test_rejecting_rivals_rejects_all_of_their_values(tab: Tab) -> None:
    tab.press(tab.find("/review", "^Reject all values: oncall"))
    assert "Mdmem-Rejects" in tab.at.git("log", "-2", "--format=%B")
    assert "oncall" not in "".join(each.name for each in buttons(tab.get("/review").text))
    assert "oncall: Ben" in tab.texts()


def test_one_value_of_rivals_is_rejected(tab: Tab) -> None:
    tab.press(tab.find("/review", "^Reject: oncall: Ada"))
    names = [each.name for each in buttons(tab.get("/review").text)]
    assert any(name.startswith("Accept: oncall: Ben") for name in names), names
    assert not any("oncall: Ada" in name for name in names)


def test_several_parts_are_accepted_by_one_press_and_undone_by_one(tab: Tab) -> None:
    proposal = propose(tab.memory, "sings in a choir")
    before = tab.texts()
    selected = tab.find("/review", f"^Accept selected of {proposal}")
    boxes = re.findall(rf'value="(accept:[^"]+)" form="take-{proposal}"', tab.get("/review").text)
    assert len(boxes) == 2
    body = urlencode([*selected.fields.items(), *(("do", box) for box in boxes)])
    answer = ask(tab.app, "POST", selected.address, FORM_HEADERS, body.encode())
    assert answer.status == 303, answer.text
    followed = tab.get(answer.headers["location"])
    assert "Accepted 2 changes" in followed.text
    assert {"plays the cello", "sings in a choir"} <= tab.texts()
    tab.press(next(each for each in buttons(followed.text) if each.name == "Undo"))
    assert tab.texts() == before


def test_of_several_parts_all_or_none_is_accepted(tab: Tab) -> None:
    proposal = propose(tab.memory, "sings in a choir")
    selected = tab.find("/review", f"^Accept selected of {proposal}")
    box = re.findall(rf'value="(accept:[^"]+)" form="take-{proposal}"', tab.get("/review").text)[0]
    for do in ((box, "accept:none"), (box, "reject:" + box.partition(":")[2])):
        head = tab.at.head()
        body = urlencode([*selected.fields.items(), *(("do", each) for each in do)])
        answer = ask(tab.app, "POST", selected.address, FORM_HEADERS, body.encode())
        assert (answer.status in (400, 409), tab.at.head()) == (True, head)


def test_without_script_one_comes_back_to_the_next_item(tab: Tab) -> None:
    button = tab.find("/review", "^Accept: plays the cello")
    place = tab.send(button).headers["location"].partition("#")[2]
    assert place.startswith("item-")
    assert f'id="{place}"' in tab.get("/review").text


def test_all_of_a_proposal_is_accepted_but_rivals_and_what_is_outdated(tab: Tab) -> None:
    proposal = propose(tab.memory, "sings in a choir")
    button = tab.find("/review", f"^Accept all of {proposal}")
    assert button.is_filled
    assert sum(each.is_filled for each in buttons(tab.get("/review").text)) == 1
    assert tab.press(button) == "Accepted 2 changes"
    assert {"plays the cello", "sings in a choir", "oncall: Ben"} <= tab.texts()


def test_all_of_a_proposal_is_rejected(tab: Tab) -> None:
    proposal = proposal_of(tab, "cello")
    button = tab.find(f"/review/{proposal}", "^Reject all of")
    assert tab.press(button, back=f"/review/{proposal}") == "Rejected 2 changes"
    assert tab.get(f"/review/{proposal}").status == 404, "so it leads on to what is left"
    assert "cello" not in tab.get("/review").text


def add_a_part(tab: Tab) -> None:
    propose(tab.memory, "sings in a choir")


def close_it(tab: Tab) -> None:
    tab.memory.proposals.decide(on(proposal_of(tab, "cello"), accepts=False))


def change_its_place(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED.replace("oncall: Ben", "oncall: Cleo"))


def decide_it_in_another_tab(tab: Tab) -> None:
    tab.press(tab.find("/review", "^Reject: plays the cello"))


STALE_DECISIONS: Mapping[str, list[Callable[[Tab], None]]] = {
    "^Accept: plays the cello": [add_a_part, close_it, decide_it_in_another_tab],
    "^Accept: oncall: Ben until March": [add_a_part, close_it, change_its_place],
    "^Reject: plays the cello": [add_a_part, close_it, decide_it_in_another_tab],
    "^Reject all values: oncall": [close_it, change_its_place],
    "^Accept all": [add_a_part, close_it, change_its_place],
    "^Reject all of": [add_a_part, close_it, change_its_place],
}


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name, changes in STALE_DECISIONS.items() for change in changes],
)
def test_a_decision_on_what_has_moved_writes_nothing(
    tab: Tab, name: str, change: Callable[[Tab], None]
) -> None:
    button = tab.find(f"/review/{proposal_of(tab, 'cello')}", name)
    if name == "^Reject all values: oncall":
        # the newest value may be of either proposal
        button = tab.find("/review", name)
        if change is close_it and button.fields["proposal"] != proposal_of(tab, "cello"):
            change = change_its_place
    change(tab)
    text = stays(tab, button)
    assert "It has changed since" in text


def test_what_is_overtaken_shows_both_texts_and_is_taken_anyway(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED.replace("oncall: Ben", "oncall: Cleo"))
    tab.at.commit("cleo")
    text = tab.get("/review").text
    assert "Now: oncall: Cleo" in text
    names = [each.name for each in buttons(text)]
    assert not [each for each in names if each.startswith("Accept: oncall")]
    line = tab.press(tab.find("/review", "^Accept anyway: oncall: Ada"))
    assert line.startswith("Accepted: oncall: Ada")
    assert "oncall: Ada" in tab.texts()


def test_what_is_overtaken_again_is_not_taken_anyway(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED.replace("oncall: Ben", "oncall: Cleo"))
    button = tab.find("/review", "^Accept anyway: oncall: Ada")
    tab.at.write("MEMORY.md", SEED.replace("oncall: Ben", "oncall: Dora"))
    stays(tab, button)


def test_an_outdated_removal_is_taken_anyway(tab: Tab) -> None:
    change = Forget("oncall: Ben", options=bot(actor="third"))
    tab.memory.proposals.propose(Propose(change))
    tab.at.write("MEMORY.md", SEED.replace("oncall: Ben", "oncall: Cleo"))
    tab.at.commit("cleo")
    name = "^Accept anyway: oncall: Ben$"
    assert tab.press(tab.find("/review", name)).startswith("Accepted the removal of: oncall: Ben")
    assert "oncall: Cleo" not in tab.texts()


def test_a_block_id_is_kept_by_what_is_accepted(tab: Tab) -> None:
    propose(tab.memory, "Canon", key="printer")
    tab.press(tab.find("/review", "^Accept: printer: Canon"))
    assert "- printer: Canon ^printer\n" in tab.at.read("MEMORY.md")


# Contradictions.


def test_one_side_of_a_contradiction_is_kept(tab: Tab) -> None:
    assert tab.press(tab.find("/review", "^Keep this: employer: Figma")) == "Kept: employer: Figma"
    assert tab.memory.conflicts().conflicts == ()
    assert "employer: Stripe" not in tab.texts()


def test_the_keys_of_a_contradiction_are_the_numbers_of_its_sides(tab: Tab) -> None:
    pair = tab.get("/review").text.split('class="card pair"')[1].split('class="card')[0]
    assert re.findall(r'data-key="(.+?)"', pair) == ["1 n", "2 y", "b"]


def test_both_sides_of_a_contradiction_are_kept(tab: Tab) -> None:
    assert tab.press(tab.find("/review", "^Keep both")).startswith("Kept both")
    assert tab.memory.conflicts().conflicts == ()
    assert {"employer: Stripe", "employer: Figma"} <= tab.texts()


@pytest.mark.parametrize("name", ["^Keep this: employer: Stripe", "^Keep both"])
@pytest.mark.parametrize("gone", ["Stripe", "Figma"])
def test_a_settled_contradiction_is_not_settled_again(tab: Tab, name: str, gone: str) -> None:
    button = tab.find("/review", name)
    tab.at.write("MEMORY.md", SEED.replace(f"- employer: {gone}\n", ""))
    tab.at.commit("by hand")
    assert "It has changed since" in stays(tab, button)


# Facts.


@pytest.mark.parametrize(
    ("old", "typed", "line"),
    [
        ("printer: Brother", "Canon", "- printer: Canon ^printer\n"),
        ("likes tea", "likes coffee", "- likes coffee\n"),
        ("ships on Fridays", "ships on Mondays", "- [decision] ships on Mondays\n"),
    ],
)
def test_a_fact_is_replaced(tab: Tab, old: str, typed: str, line: str) -> None:
    button = tab.form("replace", fact=tab.fact(old), text=typed, reason="seen today")
    assert tab.press(button) == f"Replaced by: {typed}"
    assert line in tab.at.read("MEMORY.md")
    message = tab.at.git("log", "-1", "--format=%B")
    assert "Mdmem-Supersedes: " in message
    assert "Mdmem-Source: user-stated" in message
    assert "Mdmem-Reason: seen today" in message


def test_what_is_sent_as_it_was_stays(tab: Tab) -> None:
    family = "family: 👨\u200d👩 ❤\ufe0f (until 2026-04-01)"
    tab.at.write("MEMORY.md", SEED.replace("likes tea", family))
    tab.at.commit("by hand")
    permit = "permit: blue (until 2026-04-01)"
    tab.at.write("MEMORY.md", tab.at.read("MEMORY.md").replace("oncall: Ben", permit))
    for text in ("printer: Brother", family, permit):
        line = tab.press(tab.find(f"/fact/{tab.fact(text)}", "^Replace$"))
        assert line.startswith("It says this already: ")
        assert text in tab.texts()
        assert text in tab.at.read("MEMORY.md")


def test_what_is_expired_is_replaced_and_forgotten(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED + "- closed (until 2026-03-01)\n- absent (until 2026-03-02)\n")
    tab.at.commit("by hand")
    closed, absent = (
        tab.find(path, name)
        for word, name in (("closed", "^Replace$"), ("absent", "^Forget$"))
        for path in re.findall(rf'class="what" href="([^"]+)">\s*{word}', tab.get("/").text)
    )
    tab.press(closed, text="closed (until 2026-04-01)")
    tab.press(absent)
    assert tab.at.read("MEMORY.md") == SEED + "- closed (until 2026-04-01)\n"


def test_what_is_not_saved_is_replaced_and_forgotten(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED + "- permit: blue (until 2026-04-01)\n- by hand\n")
    button = tab.find(f"/fact/{tab.fact('permit')}", "^Replace$")
    assert button.fields["text"] == "blue (until 2026-04-01)"
    tab.press(button, text="green (until 2026-05-01)")
    tab.press(tab.form("forget", fact=tab.fact("by hand")))
    assert tab.at.read("MEMORY.md") == SEED + "- permit: green (until 2026-05-01)\n"


def test_an_entry_of_a_log_is_replaced_by_another(tab: Tab) -> None:
    button = tab.form("replace", fact=tab.fact("the ferry was late"), text="the ferry was early")
    assert tab.press(button) == "Replaced by: the ferry was early"
    assert "the ferry was late" not in tab.texts()
    assert "the ferry was late" in tab.at.read(LOG)


def test_a_fact_is_forgotten(tab: Tab) -> None:
    assert tab.press(tab.form("forget", fact=tab.fact("likes tea"))) == "Forgotten: likes tea"
    assert "likes tea" not in tab.at.read("MEMORY.md")


def test_a_fact_that_is_no_longer_current_is_neither_replaced_nor_forgotten(tab: Tab) -> None:
    fact = tab.fact("likes tea")
    replace, forget = tab.form("replace", fact=fact), tab.form("forget", fact=fact)
    new = "likes cocoa"
    options = WriteOptions(supersedes=fact, source=Source.USER_STATED)
    tab.memory.apply(Remember(new, section="Facts", options=options))
    text = stays(tab, replace, text=HOSTILE, reason="what I typed")
    (again,) = [each for each in buttons(text) if each.name == "Replace"]
    assert (again.fields["text"], again.fields["reason"]) == (HOSTILE, "what I typed")
    assert again.fields["fact"] == tab.fact(new), "it would replace what is there now"
    stays(tab, forget, reason="what I typed")
    assert tab.press(again, text="likes water") == "Replaced by: likes water"
    assert "likes cocoa" not in tab.texts()


# Undo, save.


def change_a_line(tab: Tab) -> str:
    options = WriteOptions(source=Source.USER_STATED)
    result = tab.memory.apply(Remember("Canon", section="Facts", key="printer", options=options))
    assert result.commit
    return result.commit


def test_a_change_is_undone_once(tab: Tab) -> None:
    commit = change_a_line(tab)
    button = tab.form("undo", commit=commit)
    assert tab.press(button) == f"Undone: change {commit[:10]}"
    assert "printer: Brother" in tab.texts()
    assert "was undone before" in stays(tab, button)
    stays(tab, tab.form("undo", commit="dream/2026-03-04"), status=400)


def test_a_change_that_a_later_one_builds_on_is_not_undone(tab: Tab) -> None:
    commit = change_a_line(tab)
    tab.at.write("MEMORY.md", tab.at.read("MEMORY.md").replace("Canon", "Epson"))
    tab.at.commit("epson")
    text = stays(tab, tab.form("undo", commit=commit))
    assert "printer: Epson" in text
    assert "printer: Brother" in text


def test_an_edit_is_saved(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED + "- by hand\n")
    assert tab.press(tab.find("/health", "^Save as yours$")) == "Saved MEMORY.md"
    assert tab.at.git("status", "--porcelain") == ""


def test_an_edit_that_the_check_refuses_is_not_saved(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED + "- by hand\n")
    button = tab.find("/health", "^Save as yours$")
    tab.at.write("MEMORY.md", SEED + f"- key: {TOKEN}\n")
    text = stays(tab, button)
    assert "<h1>This cannot be done</h1>" in text
    assert "MEMORY.md:14" in text
    assert TOKEN not in text


# Adding.


def test_what_is_typed_is_added(tab: Tab) -> None:
    assert tab.press(tab.form("log", text="the crane is back", kind="status")) == (
        "Logged: the crane is back"
    )
    assert "- [status] the crane is back" in tab.at.read(LOG)
    button = tab.form("remember", text="A3 and A4", key="plotter", section="Facts")
    assert tab.press(button) == "Remembered: A3 and A4"
    assert "plotter: A3 and A4" in tab.texts()
    assert "Mdmem-Source: user-stated" in tab.at.git("log", "-1", "--format=%B")


@pytest.mark.parametrize("verb", ["log", "remember"])
def test_what_may_replace_something_asks_first(tab: Tab, verb: str) -> None:
    stated = "the workshop opens at nine on Saturdays"
    button = tab.form(verb, text="the workshop now opens at ten on Saturdays", section="Facts")
    options = WriteOptions(source=Source.USER_STATED)
    tab.memory.apply(Remember(stated, section="Facts", options=options))
    text = stays(tab, button)
    assert stated in text
    again, anyway = (
        next(each for each in buttons(text) if each.name.startswith(name))
        for name in ("Replace: ", "Add anyway")
    )
    assert tab.press(anyway).endswith("opens at ten on Saturdays")
    assert tab.press(again).startswith("Replaced by: ") or verb == "remember"


def test_what_was_typed_is_added_as_it_was_typed(tab: Tab) -> None:
    typed = "the workshop opens at nine, \u200eא and 👩\u200d🔧 & <b>"
    tab.memory.apply(Remember("the workshop opens at nine", section="Facts"))
    text = stays(tab, tab.form("log", text=typed))
    (anyway,) = [each for each in buttons(text) if each.name == "Add anyway"]
    tab.press(anyway)
    assert typed in tab.at.read(LOG)


def test_what_was_typed_stays_after_a_failure(tab: Tab) -> None:
    button = tab.form("remember", text="blue door", key="house", section="Nowhere")
    text = stays(tab, button, status=404)
    assert "<h1>This cannot be done</h1>" in text
    assert "Add --create to create the section." in text
    (again,) = [each for each in buttons(text) if each.name == "Remember"]
    typed = {name: again.fields[name] for name in ("text", "key", "section")}
    assert typed == {"text": "blue door", "key": "house", "section": "Nowhere"}
    stays(tab, tab.form("log", text=" "), status=400)
    stays(tab, tab.form("nothing"), status=400)


def test_a_memory_that_cannot_be_opened_says_why(tab: Tab) -> None:
    replaced = tab.find(f"/fact/{tab.fact('printer')}", r"^Replace")
    tab.at.write("mdmem.toml", "language =\n")
    for path in ("/", "/days", "/review", "/search?q=tea"):
        answer = tab.get(path)
        assert answer.status == 400
        assert "mdmem.toml: Invalid value" in answer.text
        assert "Correct the file" in answer.text
    for button, text in ((tab.form("log"), "the ferry sank"), (replaced, "Epson")):
        answer = tab.send(button, text=text)
        assert answer.status == 400
        assert "mdmem.toml: Invalid value" in answer.text
        (again,) = [each for each in buttons(answer.text) if each.name in ("Log", "Replace")]
        assert again.fields["text"] == text
    (tab.at.root / "mdmem.toml").unlink()
    assert tab.get("/").status == 200
    assert tab.press(again) == "Replaced by: Epson"


# The line, addresses, and what others wrote.


def test_the_line_is_never_text_of_the_address(tab: Tab) -> None:
    assert "alert(1)" not in tab.get("/review?done=%3Cscript%3Ealert(1)%3C/script%3E").text
    for number in range(40):
        tab.reader.done[str(number)] = Done("a line")
    tab.send(tab.form("forget", fact=tab.fact("likes tea")))
    assert len(tab.reader.done) <= 32


@pytest.mark.parametrize(
    ("back", "location"),
    [
        ("/s/MEMORY.md?section=Memory+%3E+Facts", "/s/MEMORY.md?section=Memory+%3E+Facts&done="),
        ("/review?done=x", "/review?done="),
        ("//evil.test/", "/?done="),
        ("https://evil.test/", "/?done="),
    ],
)
def test_a_form_leads_back_to_its_page(tab: Tab, back: str, location: str) -> None:
    answer = tab.send(tab.form("forget", fact=tab.fact("likes tea")), back=back)
    assert answer.status == 303
    assert answer.headers["location"].startswith(location)


def test_what_others_wrote_is_text(tab: Tab) -> None:
    propose(tab.memory, f"knows {HOSTILE}", actor="<b>evil", reason=HOSTILE)
    text = tab.get("/review").text
    assert "<script>alert" not in text
    assert "<b>evil" not in text
    assert "\u202e" not in text
    assert "knows &lt;script&gt;alert(1)&lt;/script&gt; &#34;x&lt;U+202E&gt;y" in text
    line = tab.press(tab.find("/review", "^Accept: knows"))
    assert "<script" not in line
    stays(tab, tab.form("forget", fact=HOSTILE, reason=HOSTILE))


def test_each_form_is_an_event(tab: Tab) -> None:
    tab.press(tab.form("log", text="the crane is back"))
    stays(tab, tab.form("forget", fact="00000000"))
    events = [
        json.loads(line)
        for line in (tab.at.workspace.state / "events.jsonl").read_text().splitlines()
    ]
    seen = {each["verb"]: each for each in events if each["verb"].startswith("page-")}
    assert seen["page-log"]["outcome"] == "done"
    assert seen["page-log"]["commit"] == tab.at.head()
    assert (seen["page-forget"]["outcome"], seen["page-forget"]["code"]) == (
        "refused",
        "fact-not-found",
    )
    assert all(each["actor"] is None for each in seen.values())


def test_a_page_to_read_has_no_forms(tab: Tab) -> None:
    app = build_app(Reader(tab.memory, Links()))
    tab.at.write("MEMORY.md", SEED + "- by hand\n")
    for path in ("/review", f"/review/{proposal_of(tab, 'cello')}", "/health"):
        answer = ask(app, "GET", path)
        assert answer.status == 200
        assert not buttons(answer.text)
        assert SECRET not in answer.text
    head = tab.at.head()
    assert ask(app, "POST", "/do/save", body={"back": "/"}).status in (404, 405)
    assert tab.at.head() == head


# What the pages say.


def test_review_says_everything_that_waits(tab: Tab) -> None:
    data = tab.get("/review", accept="application/json").json
    assert len(data["conflicts"]["conflicts"]) == 1
    assert len(data["proposals"]["items"]) == 2
    assert "advice" in data["review"]
    text = tab.get("/review").text
    assert "1 contradiction and 2 proposed changes are waiting for you." in text
    assert "said on the phone" in text
    assert text.count("<h1") == 1


def test_review_says_that_nothing_waits(tab: Tab) -> None:
    for view in tab.memory.proposals.standing().views:
        tab.memory.proposals.decide(on(view.id, accepts=False))
    tab.press(tab.find("/review", "^Keep both"))
    assert "Nothing is waiting." in tab.get("/review").text


def test_one_proposal(tab: Tab) -> None:
    proposal = proposal_of(tab, "cello")
    data = tab.get(f"/review/{proposal}", accept="application/json").json
    assert (data["proposal"], len(data["parts"])) == (proposal, 2)
    missing = tab.get("/review/00000000")
    assert missing.status == 404
    assert tab.get("/review/%3Cscript%3E").status == 404


def test_health_examines_only_when_asked(tab: Tab) -> None:
    text = tab.get("/health").text
    assert 'href="/health?examine=1"' in text
    assert "<dd>1 curated" in tab.get("/health").text
    assert "commit" in tab.get("/health", accept="application/json").json
    assert "findings" in tab.get("/health?examine=1", accept="application/json").json
    assert "Examine</a>" not in tab.get("/health?examine=1").text


def test_health_says_first_what_needs_something(tab: Tab) -> None:
    tab.at.write("MEMORY.md", SEED + "- by hand\n")
    text = tab.get("/health?examine=1").text
    assert text.index("<dt>Not saved</dt>") < text.index("<dt>Branch</dt>") < text.index("Examined")
    examined = text.partition("Examined")[2]
    assert examined.count('<span class="tag">ok</span>') > 1
    assert "tag warn" not in examined


def test_the_script_is_small_and_makes_no_html_of_text() -> None:
    script = Path(__file__).parent.parent / "templates" / "page" / "page.js"
    text = script.read_text()
    assert len(text.encode()) <= 10 * 1024
    assert 'createPolicy("mdmem"' in text
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http"):
        assert word not in text
