"""`setup`: what it finds and asks, what it puts in, the first block, and how it is taken back."""

import json
import shutil
import time
from pathlib import Path

import pytest
from commandline import Done, Shell, mdmem, on_terminal
from conftest import World
from pi_sessions import write_session
from timers import system

from mdmem.folder import own_settings
from mdmem.memory import first_hour

__all__ = ["system"]
SAID = "We decided to name the boiler Heron because of the licence."
ELSEWHERE = '[in."/elsewhere"]\ndream = "off"\n'
KEPT = "name the boiler Heron"
CURSOR = '{\n  "mcpServers": {}  // none yet\n}\n'
OWN = '# mine\npeople = ["ada"]  # and nobody else\n'


@pytest.fixture
def home(shell: Shell, system: Path) -> Path:
    """The home of somebody with a session of an agent; the current folder."""
    folder = shell.world.home / ".openclaw/agents/main/sessions"
    folder.mkdir(parents=True)
    write_session(folder, SAID, "agent: Done.", "I prefer tea.")
    (shell.world.home / ".cursor").mkdir()
    (shell.world.home / ".cursor/mcp.json").write_text(CURSOR)
    shell.patch.chdir(shell.world.home)
    shell.folder = shell.world.home
    return shell.world.home


def settings(home: Path) -> Path:
    path = home / ".config/mdmem/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def state(home: Path) -> dict[str, bytes]:
    """Every file of a home, but mdmem's own state, git's folders and the list of calls."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not {".git", "state", "share", "calls"} & set(path.parts)
    }


class TestFromNothing:
    def test_the_next_session_is_told_what_was_said(self, shell: Shell, home: Path):
        done = shell.run("setup", "--yes")
        assert done.status == 0
        assert KEPT in (home / "notes/MEMORY.md").read_text()
        assert KEPT in done.out.partition("</mdmem-context>")[0]
        assert f"{KEPT} because of the licence  (openclaw/5a1e0000#2)" in done.out
        shell.patch.chdir(home / "notes")
        assert KEPT in shell.run("context").out
        assert shell.run("sessions", "openclaw/5a1e0000#2").status == 0

    def test_its_steps_are_commands(self, shell: Shell, home: Path):
        done = shell.run("setup", "--yes")
        heads = [line for line in done.err.splitlines() if not line.startswith(" ")]
        assert heads == [
            f"mdmem init {home}/notes",
            str(settings(home)),
            "mdmem init --for cursor",
            "mdmem init --for openclaw",
            f"mdmem -C {home}/notes digest",
            f"mdmem -C {home}/notes dream --apply",
            f"mdmem -C {home}/notes schedule --install",
        ]

    def test_settings_are_of_this_workspace_alone(self, shell: Shell, home: Path):
        settings(home).write_text(OWN)
        shell.run("setup", "--yes")
        assert settings(home).read_text() == (
            f'{OWN}\n[in."{home}/notes"]\nsessions = ["openclaw"]\nsession_scope = "all"\n'
            'sessions_since = "2026-02-03"\ndream = "apply"\n'
        )

    def test_twice_is_once(self, shell: Shell, home: Path):
        shell.run("setup", "--yes")
        before, head = state(home), shell.world.git(home / "notes", "rev-parse", "HEAD").stdout
        assert shell.run("setup", "--yes").status == 0
        assert state(home) == before
        assert shell.world.git(home / "notes", "rev-parse", "HEAD").stdout == head

    @pytest.mark.parametrize("step", range(7))
    def test_killed_behind_any_step_it_goes_on(
        self, shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch, step: int
    ):
        told: list[str] = []

        def tell(command: str, outcome: object, folder: object) -> None:
            told.append(command)
            if len(told) == step + 1:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("mdmem.cli.setup._tell", tell)
            assert shell.run("setup", "--yes").status == 130
        assert shell.run("setup", "--yes").status == 0
        assert (home / "notes/MEMORY.md").read_text().count(KEPT) == 1
        assert settings(home).read_text().count("sessions_since") == 1

    def test_a_workspace_that_is_there_is_taken(self, shell: Shell, home: Path):
        (home / "vault").mkdir()
        (home / "vault/MEMORY.md").write_text("# Memory\n")
        shell.patch.chdir(home / "vault")
        assert shell.run("setup", "--yes").status == 0
        assert KEPT in (home / "vault/MEMORY.md").read_text()
        assert not (home / "notes").exists()

    def test_the_memory_of_code_is_outside_and_of_its_own_sessions(self, shell: Shell, home: Path):
        code = home / "src/app"
        code.mkdir(parents=True)
        (code / "app.py").write_text("print(1)\n")
        shell.world.git(code, "init", "-q")
        shell.world.git(code, "add", ".")
        before = state(code)
        shell.patch.chdir(code)
        done = shell.run("setup", "--yes")
        assert done.status == 0
        assert (home / ".local/share/mdmem/app/MEMORY.md").exists()
        assert state(code) == before
        assert " digest\n" not in done.err  # the only session is of another folder
        assert "sessions" not in settings(home).read_text()

    def test_where_no_timer_can_be_put_in_the_rest_goes_on(self, shell: Shell, home: Path):
        for name in ("systemctl", "crontab"):
            (home / "bin" / name).unlink()
        shell.patch.setenv("PATH", f"{home}/bin:{Path('/usr/bin')}")
        done = shell.run("setup", "--yes")
        assert done.status == 0
        assert KEPT in done.out
        if "no timer can be put in here" in done.err:
            assert "*/5 * * * * " in done.err
        assert not (home / ".config/systemd/user/mdmem-run@.timer").exists()

    def test_what_settings_have_already_is_named(self, shell: Shell, home: Path):
        settings(home).write_text(f'[in."{home}/notes"]  # mine\r\ndream = "off"\r\n')
        done = shell.run("setup", "--yes")
        assert "dream stays 'off'" in done.err
        assert 'sessions = ["openclaw"]' in settings(home).read_text()

    def test_what_waits_is_told(self, shell: Shell, home: Path):
        settings(home).write_text("dream_changes = 1\n")
        assert "1 proposal to review: mdmem -C " in shell.run("setup", "--yes").out

    def test_an_answer_for_programs(self, shell: Shell, home: Path):
        answer = shell.run("setup", "--yes", "--json").answer
        assert KEPT in answer["block"]
        assert answer["lines"][0]["cited"].startswith("openclaw/")
        assert shell.run("setup", "--undo", "--json").answer == {"undone": True}

    def test_at_home_again_it_takes_the_memory_that_it_made(self, shell: Shell, home: Path):
        (home / "brain").mkdir()
        shell.patch.chdir(home / "brain")
        shell.run("setup", "--yes")
        shell.patch.chdir(home)
        shell.run("setup", "--yes")
        assert not (home / "notes").exists()

    def test_in_a_folder_of_a_vault_it_is_the_vault(self, shell: Shell, home: Path):
        (home / "vault/.obsidian").mkdir(parents=True)
        (home / "vault/sub").mkdir()
        shell.patch.chdir(home / "vault/sub")
        assert shell.run("setup", "--dry-run").out.startswith(f"mdmem init {home}/vault\n")

    def test_code_with_its_memory_inside_reads_its_own_sessions_alone(
        self, shell: Shell, home: Path
    ):
        (home / "dots").mkdir()
        (home / "dots/a.sh").write_text("x\n")
        shell.patch.chdir(home / "dots")
        shell.world.git(home / "dots", "init", "-q")
        shell.world.git(home / "dots", "add", ".")
        shell.run("init", "--here", "--no-hooks")
        shell.run("setup", "--yes")
        assert "sessions" not in settings(home).read_text()


class TestAsking:
    def ask(self, shell: Shell, typed: str) -> Done:
        return on_terminal(
            shell,
            *mdmem("setup"),
            typed=typed.encode(),
            PATH=f"{shell.world.home}/bin:/usr/bin:/bin",
        )

    def test_enter_takes_every_default(self, shell: Shell, home: Path):
        done = self.ask(shell, "\n\n\n\n")
        assert done.status == 0
        assert done.out.count("]: ") <= 4
        assert "agent-hook" in (home / ".cursor/hooks.json").read_text()
        assert KEPT in done.out

    def test_answers_of_ones_own(self, shell: Shell, home: Path):
        done = self.ask(shell, f"{home}/mine\nnone\nno\nnone\n")
        assert done.status == 0
        assert settings(home).read_text() == f'[in."{home}/mine"]\ndream = "off"\n'
        assert (home / "mine/MEMORY.md").exists()
        assert (home / ".cursor/mcp.json").read_text() == CURSOR
        assert " schedule " not in done.out

    def test_an_answer_that_is_none(self, shell: Shell, home: Path):
        before = state(home)
        done = self.ask(shell, "\nall\nyes\nperhaps\n")
        assert done.status == 2
        assert "'perhaps' is none of apply, propose, none" in done.out
        assert state(home) == before


class TestNothingIsWritten:
    @pytest.mark.parametrize(("words", "status"), [((), 1), (("--dry-run",), 0)])
    def test_without_a_terminal_and_in_a_dry_run(
        self, shell: Shell, home: Path, words: tuple[str, ...], status: int
    ):
        before = state(home)
        done = shell.run("setup", *words)
        assert (done.status, state(home)) == (status, before)
        assert done.out.startswith(f"mdmem init {home}/notes\n")
        assert f"mdmem -C {home}/notes dream --apply" in done.out

    @pytest.mark.parametrize("words", [(), ("--yes",), ("--dry-run",), ("--undo",)])
    def test_by_an_agent(self, shell: Shell, home: Path, words: tuple[str, ...]):
        before = state(home)
        shell.patch.setenv("CLAUDECODE", "1")
        done = shell.run("setup", *words)
        assert (done.status, state(home)) == (1, before)
        assert done.err.endswith("hint: To be typed at a terminal: mdmem setup\n")


class TestUndo:
    @pytest.mark.parametrize("own", [None, "", "[in]\n", OWN, f"{OWN}\n{ELSEWHERE}"])
    def test_everything_but_memory_is_as_before(
        self, shell: Shell, home: Path, system: Path, own: str | None
    ):
        if own is not None:
            settings(home).write_text(own)
        before = state(home)
        shell.run("setup", "--yes")
        assert shell.run("setup", "--undo").status == 0
        after = {name: data for name, data in state(home).items() if not name.startswith("notes/")}
        assert after == before
        assert KEPT in (home / "notes/MEMORY.md").read_text()
        assert shell.run("setup", "--undo").status == 0

    def test_what_was_changed_since_stays_and_is_named(self, shell: Shell, home: Path):
        shell.run("setup", "--yes")
        path = settings(home)
        path.write_text(path.read_text().replace('dream = "apply"', 'dream = "propose"'))
        before = path.read_text()
        done = shell.run("setup", "--undo")
        assert path.read_text() == before
        assert "changed since, so left" in done.err

    def test_what_was_added_below_keeps_its_place(self, shell: Shell, home: Path):
        shell.run("setup", "--yes")
        with settings(home).open("a") as file:
            file.write('language = "de"\n')
        assert shell.run("setup", "--undo").status == 0
        assert settings(home).read_text() == f'[in."{home}/notes"]\nlanguage = "de"\n'

    def test_the_same_words_elsewhere_stay(self, shell: Shell, home: Path):
        own = f'# dream = "apply"\ndream = "apply"\n\n[in."{home}/notes"]\nsessions = ["claude"]\n'
        settings(home).write_text(own)
        shell.run("setup", "--yes")
        assert shell.run("setup", "--undo").status == 0
        assert settings(home).read_text() == own

    def test_a_timer_that_was_there_stays(self, shell: Shell, home: Path):
        shell.run("init", str(home / "notes"))
        shell.run("-C", str(home / "notes"), "schedule", "systemd", "--install")
        timers = [path.name for path in (home / ".config/systemd").rglob("*.timer")]
        shell.run("setup", "--yes")
        shell.run("setup", "--undo")
        assert [path.name for path in (home / ".config/systemd").rglob("*.timer")] == timers

    def test_memory_that_is_gone_is_named(self, shell: Shell, home: Path):
        shell.run("setup", "--yes")
        shutil.rmtree(home / "notes")
        done = shell.run("setup", "--undo")
        assert done.status == 1
        assert "notes does not exist" in done.err
        assert not settings(home).exists()


class TestSpeed:
    @pytest.mark.costly
    def test_with_nothing_to_do(self, shell: Shell, home: Path):
        shell.run("setup", "--yes")
        before = time.process_time()
        shell.run("setup", "--yes")
        assert time.process_time() - before < 1


class TestOwnSettings:
    def add(self, world: World, text: str) -> str:
        path = settings(world.home)
        path.write_text(text)
        own_settings.add_to_table("in", Path("/x"), {"a": "1", "b": ["2"]}, world.environment)
        return path.read_text()

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", '[in."/x"]\na = "1"\nb = ["2"]\n'),
            ("# c", '# c\n\n[in."/x"]\na = "1"\nb = ["2"]\n'),
            (
                '[in."/x"]\na = "9" # mine\n[in."/y"]\n',
                '[in."/x"]\nb = ["2"]\na = "9" # mine\n[in."/y"]\n',
            ),
            ('[in."/x"]\nb = []\na = "9"\n', '[in."/x"]\nb = []\na = "9"\n'),
        ],
    )
    def test_a_name_that_is_there_keeps_its_value(self, world: World, before: str, after: str):
        assert self.add(world, before) == after

    def test_the_record_names_what_was_added(self, shell: Shell, home: Path):
        shell.run("setup", "--yes")
        record = json.loads((home / ".local/state/mdmem/setup.json").read_text())
        ((folder, lines),) = record["settings"]
        assert folder == str(home / "notes")
        assert lines in settings(home).read_text()
        assert first_hour.DAYS.days == 30
