"""The documentation says what the program does: commands, error codes, links, the demo."""

import ast
import importlib.util
import re
import shutil
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import World
from program_source import PACKAGE, PATHS, nodes
from typer.main import get_command

from mdmem.cli import manual
from mdmem.cli.app import app
from mdmem.cli.commands import GROUPS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOMS = sorted(PACKAGE.rglob("README.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")), *ROOMS]
GUIDES = [DOCS / "architecture.md", DOCS / "recipes.md", *ROOMS]
"""Pages for those who change the program."""
LINK = re.compile(r"\[[^\]]*\]\(([^)#]*)(?:#([^)]*))?\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def script(name: str) -> ModuleType:
    """A program of docs/tools as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def all_commands() -> list[tuple[str, Any]]:
    root = get_command(app)
    groups = [(f"mdmem {name}", root.commands[name]) for name in GROUPS]
    return [("mdmem", root), *groups, *script("generate_commands").commands(root)]


class TestCommands:
    def test_page_is_current(self):
        assert (DOCS / "commands.md").read_text(encoding="utf-8") == script(
            "generate_commands"
        ).page(), "run make docs"

    @pytest.mark.parametrize(
        ("name", "command"),
        all_commands(),
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_everything_has_a_help_text(self, name: str, command: Any):
        assert command.help
        first = command.help.splitlines()[0]
        assert first.endswith(".")
        assert name == "mdmem" or len(first) <= 62, (
            "the list of commands would cut it on a terminal of 80 columns"
        )
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"
            assert parameter.param_type_name == "option" or parameter.metavar
            assert (
                parameter.param_type_name == "argument" or parameter.is_flag or parameter.metavar
            ), "a Python type would show"

    def test_whole_numbers_are_printed_as_such(self):
        page = (DOCS / "commands.md").read_text(encoding="utf-8")
        assert re.findall(r"\[default: \d+\.0\]", page) == []

    def test_the_tour_names_commands_and_options_that_are_there(self):
        words = {word for name, _ in all_commands() for word in name.split()}
        text = "".join(
            page.read_text(encoding="utf-8")
            for page in (ROOT / "README.md", DOCS / "tour.md", DOCS / "agents.md")
        )
        named = set(re.findall(r"^\$ mdmem (?:-C \S+ )?([a-z-]+)", text, re.MULTILINE)) | set(
            re.findall(r"`mdmem ([a-z][a-z-]*)", text)
        )
        assert named
        assert named <= words
        options = {
            option
            for _, command in all_commands()
            for p in command.params
            if p.param_type_name == "option"
            for option in p.opts
        }
        others = {"--help", "--format", "--cached", "--absolute-git-dir"}
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= options | others


def raised() -> set[str]:
    """The codes of the failures that mdmem/ can raise, the refusals of check among them."""
    return {code for kind, code in _written() if kind != "Problem"} | {
        code for kind, code in _written() if kind == "error"
    }


def reported() -> set[str]:
    """The codes of the problems that `check` names."""
    return {code for kind, code in _written() if kind in ("Problem", "error")}


@cache
def _written() -> set[tuple[str, str]]:
    """Every code in the source with what it is for: a class of failures, `Problem`, or `error` (a
    problem that refuses).
    """
    codes: set[tuple[str, str]] = set()
    for path in PATHS:
        for node in nodes(path):
            if isinstance(node, ast.Call):
                codes |= _of_call(node)
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "code":
                codes |= {("code", text) for text in _texts(node.value)}
    return codes


def _of_call(node: ast.Call) -> set[tuple[str, str]]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name == "Problem":
        values = {keyword.arg: _texts(keyword.value) for keyword in node.keywords}
        codes = values.get("code", set())
        return {("Problem", code) for code in codes} | {
            ("error", code) for code in codes if "error" in values["level"]
        }
    if name in ("_error", "_warning") and len(node.args) > 2:  # of check
        codes = _texts(node.args[2])
        return {("Problem", code) for code in codes} | {
            ("error", code) for code in codes if name == "_error"
        }
    if (
        name == "__init__"
        or name == "MdmemError"
        or (name.endswith(("Problem", "Change")) and name not in ("Problem", "UsageProblem"))
    ):
        return {(name, code) for code in _texts(node.args[0])} if node.args else set()
    return set()


def _texts(node: ast.expr) -> set[str]:
    if isinstance(node, ast.IfExp):
        return _texts(node.body) | _texts(node.orelse)
    return (
        {node.value}
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
        else set()
    )


def tables() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The two tables of docs/errors.md: the other cells by code."""
    first, second = (DOCS / "errors.md").read_text(encoding="utf-8").split("## What `check` says")
    return _table(first), _table(second)


def _table(text: str) -> dict[str, list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    return {cells[0].strip("`"): cells[1:] for cells in rows}


class TestErrors:
    @pytest.mark.costly
    def test_every_code_is_documented_and_no_other(self):
        assert set(tables()[0]) == raised()

    @pytest.mark.costly
    def test_so_is_every_problem(self):
        assert set(tables()[1]) == reported()

    @pytest.mark.costly
    def test_the_tree_of_failures_names_every_code_at_its_class(self):
        tree = ast.get_docstring(
            ast.parse((ROOT / "mdmem/model/errors.py").read_text(encoding="utf-8"))
        )
        assert tree is not None
        at, named = "", set[tuple[str, str]]()
        for line in tree.splitlines():
            if (family := re.search(r"[A-Z]\w+(?:Error|Problem|Change)\b", line)) is not None:
                at = family[0]
            named |= {(at, code) for code in re.findall(r"`([a-z0-9-]+)`", line) if at}
        written = {(at, code) for at, code in _written() if re.match(r"[A-Z]\w+Problem", at)}
        assert written <= named
        assert {code for _, code in named} - {"check"} == raised()

    def test_in_order(self):
        for table in tables():
            assert list(table) == sorted(table)

    def test_exit_status(self):
        status = {code: cells[0] for code, cells in tables()[0].items()}
        assert {code: value for code, value in status.items() if value != "1"} == {
            "ambiguous-date": "2",
            "usage": "2",
            "bad-text": "1, 2",
            "bug": "3",
            "interrupted": "130",
        }


def test_the_picture_of_the_rooms_has_the_layers_that_imports_keep_to():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("```rooms\n")[1].split("```")[0].splitlines()
    assert [line[4:].split(" · ") for line in picture] == [layer.split(" | ") for layer in layers]
    assert [int(line[:2]) for line in picture] == [*range(len(layers), 0, -1)]


@cache
def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_each_page_for_users_is_in_its_drawer_and_in_the_help():
    drawers = (DOCS / "README.md").read_text(encoding="utf-8").split("About the code")[0]
    topics = set(map(manual.page_path, manual.TOPICS))
    others = {"README.md", "model.md", "architecture.md", "recipes.md"}
    assert {target for target, _ in LINK.findall(drawers)} == topics
    pages = (*DOCS.glob("*.md"), *DOCS.glob("clients/*.md"))
    assert {path.relative_to(DOCS).as_posix() for path in pages} == topics | others


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
class TestPages:
    def test_links_lead_somewhere(self, page: Path):
        for target, anchor in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            path = page.parent / target if target else page
            assert "://" in target or path.exists(), target
            assert "://" in target or not anchor or anchor in anchors(path), f"{target}#{anchor}"

    def test_lines_are_not_long(self, page: Path):
        lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
        assert [line for line in lines if len(line) > 150 and not line.startswith("|")] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.parent.name + "/" + page.name)
def test_guides_name_modules_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [name for name in re.findall(r"`([\w./]+)`", text) if not _is_there(name, page)] == []


def _is_there(name: str, page: Path) -> bool:
    """True for a path or name of the program, and for what is neither."""
    if name.endswith("/") or "NAME" in name:
        return True
    if "/" in name or name.endswith(".py"):
        at = ROOT if name.startswith(("tests/", "docs/")) else PACKAGE
        return (at / name).exists() or (at / name.partition(".")[0]).with_suffix(".py").exists()
    parts = name.split(".")
    is_ours = (PACKAGE / parts[0]).is_dir() or (page.name == "README.md" and name.islower())
    return not is_ours or set(parts) <= names()


@cache
def names() -> set[str]:
    """The names of modules, and those that they define."""
    found = {part for path in PATHS for part in path.relative_to(PACKAGE).with_suffix("").parts}
    for node in (node for path in PATHS for node in nodes(path)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name):
                found.add(name)
    return found


def test_every_extra_is_documented_where_one_installs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(
        r"^\| `([\w-]+)` \|", (DOCS / "install.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {*rows, "dev"} == set(project["optional-dependencies"])


def test_the_glossary_is_in_order():
    for table in (DOCS / "glossary.md").read_text(encoding="utf-8").split("## In the code"):
        words = [word.casefold() for word in re.findall(r"^\| \*\*(.+?)\*\*", table, re.MULTILINE)]
        assert words == sorted(words)
        assert len(words) > 20


def test_decisions_are_numbered_and_half_a_page():
    records = sorted((DOCS / "decisions").glob("*.md"))
    for number, page in enumerate(records, 1):
        text = page.read_text(encoding="utf-8")
        assert page.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number}. ")
        assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequences"))
        assert len(text.splitlines()) <= 30


def test_the_page_of_settings_is_current():
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert page == script("generate_settings").page(), "run make docs"


class TestDemo:
    def path_with(self, folder: Path) -> str:
        """PATH with our own program first, or what stands in for it."""
        return f"{folder}:/usr/bin:/bin"

    def test_runs_without_identity_in_an_empty_home_and_leaves_nothing(
        self, world: World, tmp_path: Path
    ):
        home, temporary = tmp_path / "empty", tmp_path / "temporary"
        home.mkdir()
        temporary.mkdir()
        git = Path(shutil.which("git") or "git").parent
        path = f"{Path(sys.executable).parent}:{git}:/usr/bin:/bin"
        done = world.run(
            tmp_path,
            [
                "env",
                "-i",
                f"HOME={home}",
                f"PATH={path}",
                f"TMPDIR={temporary}",
                "sh",
                DOCS / "demo.sh",
            ],
        )
        for text in (
            "staging server moved to Frankfurt",
            "editor: Helix",
            "Mdmem-Source: user-stated",
            "theme Solarized",
            "# Done.",
        ):
            assert text in done.stdout
        assert list(home.iterdir()) == []
        assert list(temporary.iterdir()) == []

    def test_fails_loudly_where_a_search_does_not_find(self, world: World, tmp_path: Path):
        stand_in = tmp_path / "bin" / "mdmem"
        stand_in.parent.mkdir()
        stand_in.write_text('#!/bin/sh\n[ "$1" = init ] && mkdir -p "$2"\nexit 0\n')
        stand_in.chmod(0o755)
        done = world.run(
            tmp_path,
            ["sh", DOCS / "demo.sh"],
            check=False,
            environment={"PATH": self.path_with(stand_in.parent)},
        )
        assert done.returncode == 1
        assert 'did not find "Frankfurt"' in done.stderr
        assert "# Done." not in done.stdout

    def test_fails_loudly_where_a_command_fails(self, world: World, tmp_path: Path):
        stand_in = tmp_path / "bin" / "mdmem"
        stand_in.parent.mkdir()
        stand_in.write_text("#!/bin/sh\nexit 7\n")
        stand_in.chmod(0o755)
        done = world.run(
            tmp_path,
            ["sh", DOCS / "demo.sh"],
            check=False,
            environment={"PATH": self.path_with(stand_in.parent)},
        )
        assert done.returncode == 7
