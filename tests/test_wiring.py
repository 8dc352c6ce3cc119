"""Agents' hosts set up and taken back: each of the table, without files and with a user's own; the
hosts' own programs are scripts that note how they were called.
"""

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import mdmem
from mdmem.editors import settings_text
from mdmem.folder import installed
from mdmem.health import wiring
from mdmem.health.wiring import HostFile, found_hosts, hosts, unwire, wire
from mdmem.model.errors import StorageProblem

TABLE = hosts({"HOME": "/home/ada", "PATH": ""})
BY_FILES = [name for name, host in TABLE.items() if host.places]
BY_COMMANDS = [name for name, host in TABLE.items() if host.install]
OWN = {
    "json": (
        "\ufeff{\r\n  // mine\r\n"
        '  "theme": "dark", /* as at home */\r\n'
        '  "mcpServers": {\r\n    "other": {"command": "other"},\r\n  },\r\n'
        '  "hooks": {"SessionStart": [], "sessionStart": [{"command": "x"}]},\r\n}\r\n'
    ),
    "yaml": "# mine\r\nextensions:\r\n  other:\r\n    enabled: true\r\nlast: 1\r\n",
    "lines": "# My rules\r\n\r\n- tabs\r\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path, tmp_path: Path) -> Mapping[str, str]:
    """A home with nothing in it, and mdmem alone on the PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs / "mdmem", "")
    return {"HOME": str(home), "PATH": str(programs)}


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake(environment: Mapping[str, str], name: str, more: str = "") -> Path:
    """A program of a host that notes its arguments, one call a line; the file of these."""
    calls = Path(environment["HOME"]).parent / f"{name}.calls"
    calls.touch()
    program(Path(environment["PATH"]) / name, f'echo "$@ [$MDMEM_CONTEXT]" >> "{calls}"\n{more}')
    return calls


def files(home: Path) -> dict[str, bytes | None]:
    """All files and folders of the home, but for what mdmem itself keeps."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None
        for path in sorted(home.rglob("*"))
        if ".local" not in path.parts
    }


def places(name: str, environment: Mapping[str, str]) -> list[tuple[HostFile, Path]]:
    return [(place, wiring._path(place)) for place in hosts(environment)[name].places]


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def entries(path: Path) -> Any:
    return json.loads(settings_text.json_plain(path.read_bytes().decode()))


@pytest.mark.parametrize("name", BY_FILES)
class TestEachHost:
    def test_without_files(self, environment: Mapping[str, str], home: Path, name: str):
        change = wire(name, environment)
        assert change.problems == ()
        written = [str(path) for _, path in places(name, environment)]
        assert list(change.files) == written
        assert all("mdmem" in Path(path).read_text() for path in written)
        assert unwire(name, environment).problems == ()
        assert files(home) == {}

    def test_with_the_users_own(self, environment: Mapping[str, str], home: Path, name: str):
        for place, path in places(name, environment):
            if place.form in OWN:
                put(path, OWN[place.form])
        before = files(home)
        assert wire(name, environment).problems == ()
        assert files(home) != before
        assert unwire(name, environment).problems == ()
        after = files(home)
        assert after == before

    def test_twice_is_once(self, environment: Mapping[str, str], home: Path, name: str):
        wire(name, environment)
        before = files(home)
        change = wire(name, environment)
        assert (change.files, change.commands, change.problems) == ((), (), ())
        assert files(home) == before
        unwire(name, environment)
        assert files(home) == {}
        assert unwire(name, environment).files == ()

    def test_a_dry_run(self, environment: Mapping[str, str], home: Path, name: str):
        assert wire(name, environment, dry_run=True).files
        assert not any(home.iterdir())
        wire(name, environment)
        before = files(home)
        assert unwire(name, environment, dry_run=True).files
        assert files(home) == before

    def test_it_is_named_as_it_is(self, environment: Mapping[str, str], name: str):
        def state() -> tuple[bool, bool, bool]:
            (found,) = [each for each in found_hosts(environment) if each.name == name]
            return found.installed, bool(found.parts), bool(found.missing)

        assert state() == (False, False, True)
        fake(environment, TABLE[name].program)
        assert state() == (True, False, True)
        (Path(environment["PATH"]) / TABLE[name].program).unlink()
        wire(name, environment)
        assert state()[1:] == (True, False)


def test_the_full_path_of_the_program_is_written(environment: Mapping[str, str], home: Path):
    wire("cursor", environment)
    full_path = f"{environment['PATH']}/mdmem"
    assert entries(home / ".cursor/hooks.json") == {
        "version": 1,
        "hooks": {
            name: [{"command": f"{full_path} agent-hook"}]
            for name in ("sessionStart", "sessionEnd")
        },
    }
    server = entries(home / ".cursor/mcp.json")["mcpServers"]["mdmem"]
    assert (server["command"], server["args"]) == (full_path, ["mcp"])


def test_scripts_may_be_run(environment: Mapping[str, str], home: Path):
    wire("cline", environment)
    script = home / "Documents/Cline/Hooks/TaskStart"
    assert (
        script.read_text() == f"#!/bin/sh\nexec {environment['PATH']}/mdmem agent-hook TaskStart\n"
    )
    assert os.access(script, os.X_OK)


def test_a_moved_program_replaces_its_entries(
    environment: Mapping[str, str], home: Path, tmp_path: Path
):
    put(home / ".cursor/mcp.json", OWN["json"])
    wire("cursor", environment)
    wire("opencode", environment)
    moved = {**environment, "PATH": str(tmp_path / "other")}
    (tmp_path / "other").mkdir()
    program(tmp_path / "other/mdmem", "")
    for name in ("cursor", "opencode"):
        assert wire(name, moved).files
    text = (home / ".cursor/mcp.json").read_text()
    assert (text.count("bin/mdmem"), text.count("other/mdmem")) == (0, 1)
    assert f'"{tmp_path}/other/mdmem"' in (home / ".config/opencode/plugin/mdmem.js").read_text()
    for name in ("cursor", "opencode"):
        assert unwire(name, moved).problems == ()
    assert files(home) == {".cursor": None, ".cursor/mcp.json": OWN["json"].encode()}


class TestFilesOfTheUser:
    """What is not sure is left, with the lines to add."""

    PATH = ".codeium/windsurf/mcp_config.json"

    def refused(self, environment: Mapping[str, str], reason: str) -> str:
        home = Path(environment["HOME"])
        before = files(home)
        (problem,) = [each for each in wire("windsurf", environment).problems if self.PATH in each]
        assert {name: data for name, data in files(home).items() if name in before} == before
        assert reason in problem
        assert f'"command": "{environment["PATH"]}/mdmem"' in problem
        return problem

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("{", "line 1"),
            ("[]", "not an object"),
            ('{"mcpServers": []}', "another mcpServers"),
            ('{"mcpServers": {"mdmem": {"command": "x"}}}', "another mdmem"),
            ("\udcff", "decode"),
        ],
    )
    def test_that_cannot_be_merged(
        self, environment: Mapping[str, str], home: Path, text: str, reason: str
    ):
        path = put(home / self.PATH, "")
        path.write_bytes(text.encode(errors="surrogateescape"))
        self.refused(environment, reason)

    def test_that_may_not_be_written(self, environment: Mapping[str, str], home: Path):
        path = put(home / self.PATH, "{}\n")
        path.chmod(0o444)
        self.refused(environment, "read-only")

    def test_of_another_user(
        self, environment: Mapping[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        put(home / self.PATH, "{}\n")
        monkeypatch.setattr("os.geteuid", lambda: 12_345)
        self.refused(environment, "another user")

    def test_that_are_none(self, environment: Mapping[str, str], home: Path):
        (home / self.PATH).mkdir(parents=True)
        self.refused(environment, "not a regular file")

    def test_a_script_of_theirs(self, environment: Mapping[str, str], home: Path):
        path = put(home / "Documents/Cline/Hooks/TaskStart", "#!/bin/sh\nexec mine\n")
        (problem,) = wire("cline", environment).problems
        assert "TaskStart stays as it is" in problem
        assert "agent-hook TaskStart" in problem
        assert path.read_text() == "#!/bin/sh\nexec mine\n"
        unwire("cline", environment)
        assert path.exists()

    def test_an_unknown_version_of_the_form(self, environment: Mapping[str, str], home: Path):
        put(home / ".cursor/hooks.json", '{"version": 2, "hooks": {}}')
        (problem,) = wire("cursor", environment).problems
        assert "it has another version" in problem

    def test_a_link_is_written_through(
        self, environment: Mapping[str, str], home: Path, tmp_path: Path
    ):
        target = put(tmp_path / "dotfiles/mcp.json", OWN["json"])
        link = home / self.PATH
        link.parent.mkdir(parents=True)
        link.symlink_to(target)
        assert wire("windsurf", environment).problems == ()
        assert link.is_symlink()
        assert "mdmem" in target.read_text()
        unwire("windsurf", environment)
        assert link.is_symlink()
        assert target.read_bytes().decode() == OWN["json"]

    def test_a_link_to_itself(self, environment: Mapping[str, str], home: Path):
        link = home / self.PATH
        link.parent.mkdir(parents=True)
        link.symlink_to(link)
        (problem,) = wire("windsurf", environment).problems
        assert "stays as it is" in problem

    def test_an_empty_one_and_its_mode(self, environment: Mapping[str, str], home: Path):
        path = put(home / self.PATH, " \n")
        path.chmod(0o600)
        wire("windsurf", environment)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        unwire("windsurf", environment)
        assert path.read_text() == " \n"


class TestEditedSince:
    PATH = ".codeium/windsurf/mcp_config.json"

    @pytest.mark.parametrize(
        ("edit", "rest"),
        [
            (lambda text: text.replace('["mcp"]', '["-C", "/x", "mcp"]'), None),
            (lambda text: text.replace("{", '{\n  "more": 1,', 1), '{\n  "more": 1\n}\n'),
            (lambda text: text.replace("}\n}", '},\n  "more": 1\n}'), '{\n  "more": 1\n}\n'),
            (lambda text: '{"more": 1}', '{"more": 1}'),
        ],
    )
    def test_what_is_ours_goes_and_no_more(
        self,
        environment: Mapping[str, str],
        home: Path,
        edit: Callable[[str], str],
        rest: str | None,
    ):
        wire("windsurf", environment)
        path = home / self.PATH
        edited = edit(path.read_text())
        path.write_text(edited)
        change = unwire("windsurf", environment)
        if rest is None:
            assert change.problems == (f"{path}: an entry was edited since, and stays",)
            assert path.read_text() == edited
        else:
            assert change.problems == ()
            assert json.loads(path.read_text()) == json.loads(rest)

    def test_entries_that_were_copied_go_too(self, environment: Mapping[str, str], home: Path):
        path = put(home / ".cursor/hooks.json", OWN["json"])
        wire("cursor", environment)
        text = path.read_bytes().decode()
        entry = f'{{"command": "{environment["PATH"]}/mdmem agent-hook"}}, '
        assert entry in text or entry.rstrip() in text
        path.write_bytes(text.replace(entry.rstrip(), entry.rstrip() * 2).encode())
        unwire("cursor", environment)
        assert "mdmem" not in path.read_text()

    def test_a_file_that_is_all_ours(self, environment: Mapping[str, str], home: Path):
        wire("pi", environment)
        path = home / ".pi/agent/extensions/mdmem.ts"
        path.write_text(f"{path.read_text()}// mine\n")
        assert unwire("pi", environment).problems == (
            f"{path}: an entry was edited since, and stays",
        )
        assert path.read_text().endswith("// mine\n")

    def test_one_that_was_removed(self, environment: Mapping[str, str], home: Path):
        wire("pi", environment)
        (home / ".pi/agent/extensions/mdmem.ts").unlink()
        assert wire("pi", environment).files
        (home / ".pi/agent/extensions/mdmem.ts").unlink()
        assert unwire("pi", environment).problems == ()
        assert files(home) == {}

    def test_the_users_own_entry_is_no_ones_to_take(
        self, environment: Mapping[str, str], home: Path
    ):
        text = '{"mcpServers": {"mdmem": {"command": "mdmem", "args": ["mcp"]}}}'
        path = put(home / self.PATH, text)
        wire("windsurf", environment)
        unwire("windsurf", environment)
        assert path.read_text() == text


@pytest.mark.parametrize("name", BY_COMMANDS)
class TestCommands:
    def test_are_run_and_taken_back(self, environment: Mapping[str, str], home: Path, name: str):
        calls = fake(environment, name)
        change = wire(name, environment)
        assert (change.problems, change.files) == ((), ())
        assert list(change.commands) == [
            f"{name} {line.removesuffix(' [off]')}" for line in calls.read_text().splitlines()
        ]
        assert any("install" in each or "add" in each for each in change.commands)
        calls.write_text("")
        undone = unwire(name, environment)
        assert undone.problems == ()
        assert len(calls.read_text().splitlines()) == len(TABLE[name].remove)
        assert files(home) == {}

    def test_that_fail_are_told(self, environment: Mapping[str, str], name: str):
        fake(environment, name, "echo 'no network' >&2; exit 7")
        problems = wire(name, environment).problems
        assert problems
        assert all(each.endswith("failed: no network") for each in problems)

    def test_that_say_it_is_there_are_not(self, environment: Mapping[str, str], name: str):
        fake(environment, name, "echo 'mdmem is already installed' >&2; exit 1")
        assert wire(name, environment).problems == ()

    def test_of_a_dry_run(self, environment: Mapping[str, str], name: str):
        calls = fake(environment, name)
        assert wire(name, environment, dry_run=True).commands
        assert calls.read_text() == ""


def test_a_bundle_of_this_version_is_not_installed_again(
    environment: Mapping[str, str], home: Path
):
    calls = fake(environment, "qwen")
    manifest = home / ".qwen/extensions/mdmem/qwen-extension.json"
    put(manifest, json.dumps({"version": mdmem.__version__}))
    assert wire("qwen", environment).commands == ()
    put(manifest, json.dumps({"version": "0.0.1"}))
    wire("qwen", environment)
    said = calls.read_text().splitlines()
    assert [line.split()[1] for line in said] == ["uninstall", "remove", "install"]


def test_a_host_with_a_command_alone_says_what_to_run(environment: Mapping[str, str]):
    (problem,) = wire("openclaw", environment).problems
    assert problem.startswith("openclaw plugins install ")
    assert "failed: openclaw is not on the PATH" in problem


def test_a_server_that_starts_elsewhere_is_told_the_workspace(
    environment: Mapping[str, str], tmp_path: Path
):
    calls = fake(environment, "openclaw")
    wire("openclaw", environment)
    assert "mcp set" not in calls.read_text()
    wire("openclaw", environment, workspace=tmp_path / "notes")
    assert f'"MDMEM_WORKSPACE": "{tmp_path}/notes"' in calls.read_text()


class TestProjects:
    def test_their_files_are_shown_and_written_on_request(
        self, environment: Mapping[str, str], home: Path, tmp_path: Path
    ):
        project = tmp_path / "project"
        project.mkdir()
        for name, path in (
            ("vscode", ".github/hooks/mdmem.json"),
            ("cursor", ".cursor/rules/mdmem.mdc"),
            ("zed", "AGENTS.md"),
        ):
            (note,) = wire(name, environment).notes
            assert path in note
            assert "mdmem" in note.partition("\n")[2]
            assert not any(project.iterdir())
            assert wire(name, environment, project=project).files == (str(project / path),)
            assert environment["PATH"] not in (project / path).read_text()
            assert unwire(name, environment).problems == ()
            assert not any(project.iterdir())

    def test_links_are_not_followed(self, environment: Mapping[str, str], tmp_path: Path):
        target = put(tmp_path / "mine.md", "# Mine\n")
        (tmp_path / "project").mkdir()
        (tmp_path / "project/AGENTS.md").symlink_to(target)
        (problem,) = wire("zed", environment, project=tmp_path / "project").problems
        assert "'AGENTS.md' is a symbolic link" in problem
        assert target.read_text() == "# Mine\n"

    def test_instructions_go_below_what_is_there(
        self, environment: Mapping[str, str], tmp_path: Path
    ):
        path = put(tmp_path / "project/AGENTS.md", "# Rules")
        wire("zed", environment, project=path.parent)
        assert path.read_text().startswith("# Rules\n\n<!-- mdmem:begin -->\n")
        unwire("zed", environment)
        assert path.read_text() == "# Rules"


class TestTheRecord:
    def test_one_that_cannot_be_read_stops_all(self, environment: Mapping[str, str], home: Path):
        put(home / ".local/state/mdmem/hosts.json", "{")
        with pytest.raises(StorageProblem, match=r"hosts\.json cannot be read"):
            wire("cursor", environment)
        assert files(home) == {}

    def test_without_a_home_nothing_is_done(self):
        with pytest.raises(StorageProblem, match="no home is known"):
            wire("cursor", {"PATH": ""})

    def test_it_is_written_before_the_file(
        self, environment: Mapping[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        path = put(home / ".cursor/mcp.json", OWN["json"])
        with monkeypatch.context() as patch:
            patch.setattr("mdmem.health.wiring._write", fail)
            problems = wire("cursor", environment).problems
        assert len(problems) == 2
        assert all("No space left" in each for each in problems)
        assert unwire("cursor", environment).problems == ()
        assert path.read_bytes().decode() == OWN["json"]


def test_the_table_is_whole():
    for name, host in TABLE.items():
        assert host.places or host.install, name
        assert bool(host.install) == bool(host.remove) == bool(host.record) == bool(host.bundle)
        for place in (*host.places, *host.project):
            assert place.form in wiring._FORMS
            assert "@" not in json.dumps(place.content), name


def test_the_extension_of_gemini_is_of_this_version():
    folder = installed.path("templates", "gemini")
    manifest = json.loads((folder / "gemini-extension.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("mdmem", mdmem.__version__)
    assert manifest["mcpServers"] == {"mdmem": {"command": "mdmem", "args": ["mcp"]}}
    assert (folder / "GEMINI.md").read_text() == installed.template("agents.md")
    hooks = json.loads((folder / "hooks/hooks.json").read_text())["hooks"]
    assert list(hooks) == ["SessionStart", "BeforeAgent", "SessionEnd"]
    assert {json.dumps(each) for each in hooks.values()} == {
        '[{"hooks": [{"type": "command", "command": "mdmem agent-hook"}]}]'
    }
