"""The command that installs an extra: it can be pasted, and asks no registry for a package called
mdmem.
"""

import importlib
import importlib.metadata
import shlex
import sys
from pathlib import Path

import pytest

from mdmem.folder import installed
from mdmem.model.errors import PackageProblem


class Installed:
    """What an installer keeps of a package."""

    def __init__(self, origin: str | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        return self._origin if name == "direct_url.json" else None


def test_in_a_clone():
    clone = Path(installed.__file__).parents[2]
    assert shlex.split(installed.install_command("page"))[-1] == f"{clone}[page]"


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ('{"url": "file:///home/ada/my%20clone", "dir_info": {}}', "/home/ada/my clone"),
        ('{"url": "https://example.org/mdmem.git", "vcs_info": {}}', "PATH-TO-CLONE"),
        (None, "PATH-TO-CLONE"),
    ],
)
def test_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str | None, source: str
):
    monkeypatch.setattr(installed, "_PACKAGE", tmp_path / "mdmem")
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(origin))
    assert shlex.split(installed.install_command("model"))[-1] == f"{source}[model]"


def test_without_pip(monkeypatch: pytest.MonkeyPatch):
    assert shlex.split(installed.install_command("page"))[:3] == [sys.executable, "-m", "pip"]
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    words = shlex.split(installed.install_command("page"))
    assert words[:5] == ["uv", "pip", "install", "--python", sys.executable]


@pytest.mark.parametrize(("module", "extra"), [("langgraph", "langgraph"), ("adk", "adk")])
def test_a_module_without_its_extra_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, module: str, extra: str
):
    monkeypatch.delitem(sys.modules, f"mdmem.{module}", raising=False)
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    with pytest.raises(PackageProblem, match=rf"\[{extra}\]"):
        importlib.import_module(f"mdmem.{module}")
