"""A release: the same bytes twice, all that belongs into it and nothing else, and it installs."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from importlib.metadata import requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import DATE, World
from packaging.requirements import Requirement
from session_files import claude
from timers import program

ROOT = Path(__file__).parents[1]
LOCKED = re.compile(r"^(\S+)==(\S+).*\\$")


def locked(name: str) -> dict[str, str]:
    """The versions in a lock by package; of several, for several Pythons, the last."""
    text = (ROOT / "locks" / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    return dict(match.groups() for each in entries if (match := LOCKED.match(each.split("\n")[0])))


def test_the_locks_have_what_is_needed():
    needed = [
        each
        for each in map(Requirement, requires("mdmem") or ())
        if each.marker is None
        or not any(each.marker.evaluate({"extra": extra}) for extra in ("dev", "fleet-test"))
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tools = (ROOT / "locks" / "build.in").read_text(encoding="utf-8").splitlines()[1:]
    build = [*project["build-system"]["requires"], *tools]
    for lock, requirements in (("run.txt", needed), ("build.txt", map(Requirement, build))):
        versions = locked(lock)
        for each in requirements:
            assert each.specifier.contains(versions[each.name.casefold()]), each


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release that was made in two places, by people with other rules for files."""
    made = []
    environment = {name: value for name, value in os.environ.items() if name != "SSL_CERT_DIR"}
    for name, mask in (("a", 0o022), ("in a place", 0o077)):
        clone = tmp_path_factory.mktemp("release") / name
        subprocess.run(["git", "clone", "-q", made[0].parent if made else ROOT, clone], check=True)
        command = [sys.executable, ".ci/release.py"]
        subprocess.run(command, cwd=clone, env=environment, check=True, umask=mask)
        made.append(clone / "dist")
    one, other = ({path.name: path.read_bytes() for path in each.iterdir()} for each in made)
    assert one == other
    return made[0]


def tracked(*paths: str) -> set[str]:
    done = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, stdout=-1, check=True)
    return set(os.fsdecode(done.stdout).split("\0")) - {""}


def packed(release: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of wheel and sdist; those of the sdist without its folder."""
    (wheel,), (sdist,) = release.glob("*.whl"), release.glob("*.tar.gz")
    with ZipFile(wheel) as archive:
        in_wheel = {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(sdist) as archive:
        files = [entry for entry in archive if entry.isfile()]
        in_sdist = {
            entry.name.partition("/")[2]: file.read()
            for entry in files
            if (file := archive.extractfile(entry))
        }
    return in_wheel, in_sdist


@pytest.mark.slow
def test_what_is_in_it(release: Path, world: World):
    in_wheel, in_sdist = packed(release)
    program = {path for path in tracked("mdmem") if not path.endswith(".md")}
    pages = tracked("docs/*.md", "docs/__init__.py") - tracked("docs/decisions", "docs/tools")
    data = tracked("hooks", "templates") | pages
    others = {"CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "bin/mdmem", "pyproject.toml"}
    made = {path for path in in_sdist if ".egg-info/" in path} | {"PKG-INFO", "setup.cfg"}
    assert set(in_sdist) == program | data | others | made
    info = {path for path in in_wheel if path.startswith("mdmem-")}
    assert set(in_wheel) - info == program | {f"mdmem/{path}" for path in data}
    assert {path.partition("/")[2] for path in info} == {
        *("scripts/mdmem", "licenses/LICENSE", "METADATA", "RECORD", "WHEEL", "top_level.txt"),
    }
    sources = {f"mdmem/{path}": path for path in data}
    for files in (in_wheel, in_sdist):
        for path in files.keys() & (program | data | sources.keys()):
            assert files[path] == (release.parent / sources.get(path, path)).read_bytes(), path
    made = {in_wheel[path] for path in info} | {in_sdist[path] for path in made}
    made |= {each.read_bytes() for each in release.iterdir() if each.suffix not in (".whl", ".gz")}
    places = [os.fsencode(place) for place in (tempfile.gettempdir(), ROOT, Path.home())]
    assert [text for text in made for place in places if place in text] == []


@pytest.mark.slow
def test_what_is_said_of_it(release: Path):
    sums = (release / "SHA256SUMS").read_text().splitlines()
    for digest, name in (line.split("  ") for line in sums):
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    assert len(sums) == len(list(release.iterdir())) - 1 == 5
    (path,) = release.glob("*.cdx.json")
    bom = json.loads(path.read_text())
    versions = {each["name"].casefold(): each["version"] for each in bom["components"]}
    listing = (release / "licences.md").read_text().casefold()
    lock = tomllib.loads((release / "pylock.toml").read_text())
    for name, version in versions.items():
        assert re.search(rf"\| {re.escape(name)} +\| {re.escape(version)} ", listing), name
    assert "unknown" not in re.sub(r"\| unknown +\|$", "", listing, flags=re.MULTILINE)
    assert path.name == f"mdmem-{bom['metadata']['component']['version']}.cdx.json"
    run = locked("run.txt")
    assert {each["name"]: each["version"] for each in lock["packages"]}.items() <= run.items()
    assert {name.replace("_", "-") for name in versions} <= set(run)


PYTHONS = subprocess.run([ROOT / ".ci" / "pythons"], stdout=-1, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS.split(), ids=lambda path: Path(path).name)
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_it_installs(release: Path, world: World, tmp_path: Path, kind: str, python: str):
    """In an empty environment, and then the README's two commands do what they say."""
    subprocess.run([python, "-m", "venv", tmp_path / "new"], check=True)
    programs, home = tmp_path / "new" / "bin", world.home
    (archive,) = release.glob(kind)
    install = [programs / "pip", "install", "--quiet", f"{archive}[page]"]
    subprocess.run(install, check=True, cwd=tmp_path)
    for name in ("systemctl", "crontab"):
        program(world, name, "exit 1")
    there = {"PATH": f"{home}/bin:{programs}:/usr/bin:/bin", "MDMEM_NOW": DATE}

    def mdmem(*words: str) -> str:
        return world.run(home, [programs / "mdmem", *words], environment=there).stdout

    claude(home, "We decided to move the backups to Porto.", project=str(home))
    assert "move the backups to Porto" in mdmem("setup", "--yes").partition("To try:")[0]
    assert "move the backups to Porto" in mdmem("-C", "notes", "search", "backups")
    assert str(programs) in (home / "notes" / ".git" / "hooks" / "pre-commit").read_text()
    assert "# Errors" in mdmem("help", "errors")
    plugin = Path(mdmem("plugin").strip()).relative_to(tmp_path)
    files = {path for path in (tmp_path / plugin).rglob("*") if path.is_file()}
    assert {f"templates/plugin/{path.relative_to(tmp_path / plugin)}" for path in files} == tracked(
        "templates/plugin"
    )
