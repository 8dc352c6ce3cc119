"""The package: every module, template and hook, one version, two ways to start the program."""

import json
import re
import shutil
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from conftest import World

import mdmem
from mdmem.folder.hook_files import HOOKS, SERVER_HOOK

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
MAPPED = {"mdmem.docs": "docs", "mdmem.hooks": "hooks", "mdmem.templates": "templates"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
VERSION = re.compile(r"\bversions?(?:\s+up\s+to)?\s+(\d+(?:\.\d+)+)", re.IGNORECASE)
RELEASE = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)")


def of_checkout(folder: str) -> set[str]:
    """The names of the files in a folder of the repository that are packaged."""
    return {path.name for path in (ROOT / folder).iterdir() if is_data(path)}


def is_data(path: Path) -> bool:
    return path.is_file() and path.name not in ("__init__.py", "demo.sh")


def packaged(package: str) -> set[str]:
    return {path.name for path in files(package).iterdir() if is_data(Path(str(path)))}


def test_the_list_of_packages_is_that_of_the_packages_that_are_there():
    there = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for init in (ROOT / "mdmem").rglob("__init__.py")
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted(there | set(MAPPED))
    assert len(set(SETUPTOOLS["packages"])) == len(SETUPTOOLS["packages"])


def test_every_module_lies_in_a_package():
    folders = {module.parent for module in (ROOT / "mdmem").rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_docs_hooks_and_templates_lie_at_the_top_of_the_repository():
    assert SETUPTOOLS["package-dir"] == {"mdmem": "mdmem", **MAPPED}
    assert all((ROOT / folder / "__init__.py").is_file() for folder in MAPPED.values())


@pytest.mark.parametrize(("package", "folder"), MAPPED.items())
def test_all_of_them_are_found(package: str, folder: str):
    assert packaged(package) == of_checkout(folder)
    assert all(files(package).joinpath(name).read_bytes() for name in of_checkout(folder))


def test_there_is_a_shim_for_every_hook():
    assert of_checkout("hooks") == {*HOOKS, SERVER_HOOK}
    assert all((ROOT / "hooks" / name).read_bytes().startswith(b"#!/bin/sh\n") for name in HOOKS)


def test_the_package_says_that_it_is_typed():
    assert files("mdmem").joinpath("py.typed").is_file()
    assert SETUPTOOLS["package-data"]["mdmem"] == ["__init__.pyi", "py.typed"]


def test_version(world: World, tmp_path: Path):
    assert SETUPTOOLS["dynamic"]["version"] == {"attr": "mdmem.__version__"}
    assert world.run(tmp_path, [program(), "--version"]).stdout == f"mdmem {mdmem.__version__}\n"


def releases() -> list[tuple[str, str]]:
    """The version and the date of each release in the changelog, newest first."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    dated = [RELEASE.fullmatch(each) for each in headings[headings[0] == "Unreleased" :]]
    assert None not in dated, headings
    return [(each[1], each[2]) for each in dated if each]


def test_the_changelog_has_the_version_as_its_newest_release():
    numbers = [[int(part) for part in version.split(".")] for version, _ in releases()]
    dates = [date for _, date in releases()]
    assert releases()[0][0] == mdmem.__version__
    assert numbers == sorted(numbers, reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_the_plugin_has_the_version():
    named = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))["version"]
        for path in (ROOT / "templates" / "plugin").rglob("plugin.json")
    }
    assert named == dict.fromkeys((".claude-plugin", ".codex-plugin"), mdmem.__version__)


def test_pages_name_released_versions():
    """Also in short: 0.2 is each release that begins with it."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    named = {(name, each[1]) for name, text in texts.items() for each in VERSION.finditer(text)}
    released = [f"{version}." for version, _ in releases()]
    unknown = [
        (name, version)
        for name, version in sorted(named)
        if not any(each.startswith(f"{version}.") for each in released)
    ]
    assert (unknown, bool(named)) == ([], True)


def program() -> str:
    """The installed console script."""
    return str(Path(sys.executable).with_name("mdmem"))


@pytest.mark.parametrize("words", [["show", "--help"], ["frob", "--json"]], ids=" ".join)
def test_python_m_is_the_same_program(world: World, tmp_path: Path, words: list[str]):
    script = world.run(tmp_path, [program(), *words], check=False)
    module = world.run(tmp_path, [sys.executable, "-m", "mdmem", *words], check=False)
    assert (module.returncode, module.stdout, module.stderr) == (
        script.returncode,
        script.stdout,
        script.stderr,
    )
    assert script.stdout or script.stderr


def test_a_checkout_that_is_not_installed(world: World, tmp_path: Path):
    """`python -m mdmem` from a copy of the repository, with what mdmem needs and not
    mdmem itself.
    """
    for name in ("mdmem", "docs", "hooks", "templates"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    lent = [place for place in map(Path, sys.path) if place.name == "site-packages"]
    code = f"import sys; sys.path.append({str(lent[0])!r}); from mdmem.__main__ import run; run()"
    for words in (["init", "m"], ["-C", "m", "log", "hello"], ["help", "errors"]):
        world.run(tmp_path, [sys.executable, "-S", "-c", code, *words])
    assert (tmp_path / "m" / ".git" / "hooks" / "pre-commit").exists()


def test_what_is_needed_at_run_time_is_what_the_design_names():
    named = {line.split(">=")[0].casefold() for line in PROJECT["project"]["dependencies"]}
    assert named == {
        "gitpython",
        "markdown-it-py",
        "mistune",
        "typer",
        "tantivy",
        "python-frontmatter",
        "dateparser",
    }
    assert all(">=" in line for line in PROJECT["project"]["dependencies"])
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_each_supported_python_is_named():
    supported = [
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    first = int(PROJECT["project"]["requires-python"].removeprefix(">=3."))
    assert supported == [f"3.{minor}" for minor in range(first, first + len(supported))]


def test_pythons_that_do_not_run_are_passed_over(world: World, tmp_path: Path):
    version = f"3.{sys.version_info.minor}"
    for folder, script in {
        "shim": "exit 127",
        "other": "exit 0",
        "kept/bin": f'exec "{sys.executable}" "$@"',
    }.items():
        program = tmp_path / folder / f"python{'3.1' if folder == 'other' else version}"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    folders = " ".join(str(tmp_path / name) for name in ("shim", "missing", "other", "kept"))
    output = world.run(ROOT, [ROOT / ".ci" / "pythons"], environment={"PYTHONS": folders}).stdout
    assert output == f"{tmp_path / 'kept' / 'bin' / f'python{version}'}\n"
