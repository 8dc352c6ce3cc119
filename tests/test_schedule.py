"""The schedule of `run`: the texts for systemd and cron, and how they are placed and taken out
again.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Shell
from timers import program, system

from mdmem.health import schedule
from mdmem.model.errors import RepositoryProblem

__all__ = ["system"]

PROGRAM = (sys.executable, "-P", "-m", "mdmem")
ODD_PATHS = [
    *(
        "/home/ada/my notes",
        "/home/ada/100%/x",
        "/home/ada/%f",
        "/home/ada/it's",
        '/home/ada/"quoted"',
        "/home/ä/日記",
        "/.hidden/.notes",
    ),
    *(
        "/home/ada/a\\b",
        "/home/ada/a\\\\b\\%c",
        "/home/ada/$HOME/${HOME}/$$",
        "/home/ada/`x`;&|<>*?[a]~#!",
        "/home/a-b/c_d:e.f",
        "/home/\udcff",
    ),
]


class TestUnits:
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("/home/ada/my notes", "home-ada-my\\x20notes"),
            ("/home/ada/100%/x", "home-ada-100\\x25-x"),
            ("/home/ä/.b", "home-\\xc3\\xa4-.b"),
            ("/.hid", "\\x2ehid"),
            ("/", "-"),
            ("/a//b/./c/", "a-b-c"),
            ("/a-b/c_d:e.f", "a\\x2db-c_d:e.f"),
        ],
    )
    def test_a_path_in_a_name(self, path: str, name: str):
        assert schedule.escape_path(path) == name

    @pytest.mark.skipif(
        shutil.which("systemd-escape") is None, reason="there is no systemd-escape here"
    )
    @pytest.mark.parametrize("path", ODD_PATHS)
    def test_names_are_those_of_systemd(self, path: str):
        done = subprocess.run(
            ["systemd-escape", "--path", "--", path.encode("utf-8", "surrogateescape")],
            capture_output=True,
            check=True,
        )
        assert schedule.escape_path(path).encode() == done.stdout.strip()

    def test_a_path_that_is_too_long_for_a_name(self):
        with pytest.raises(RepositoryProblem) as problem:
            schedule.timer_of("/home/" + "日" * 30)
        assert problem.value.code == "cannot-schedule"
        assert len(schedule.timer_of("/home/" + "日" * 15)) < 255

    @pytest.mark.skipif(
        shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here"
    )
    @pytest.mark.parametrize(
        "name", ["bin", "my bin", "100%", "it's", '"quoted"', "日記", "a\\b", "$HOME"]
    )
    def test_systemd_takes_them(self, tmp_path: Path, name: str):
        python = tmp_path / name / "python"
        python.parent.mkdir()
        python.symlink_to(sys.executable)
        (tmp_path / schedule.SERVICE_NAME).write_text(
            schedule.service_text((str(python), *PROGRAM[1:]))
        )
        (tmp_path / schedule.TIMER_NAME).write_text(schedule.timer_text())
        paths = [str(tmp_path / unit) for unit in (schedule.SERVICE_NAME, schedule.TIMER_NAME)]
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", *paths],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


class TestCrontab:
    @pytest.mark.parametrize("doubled", [True, False], ids=["\\\\ is one", "\\\\ is two"])
    @pytest.mark.parametrize("path", ODD_PATHS)
    def test_cron_and_its_shell_give_the_words_back(self, path: str, doubled: bool):
        line = schedule.cron_line(("printf", "%s|"), path)
        times, command = line[: len("*/5 * * * *")], line[len("*/5 * * * * ") :]
        assert times == "*/5 * * * *"
        read = re.sub(
            r"\\([%\\])" if doubled else r"\\(%)", r"\1", command
        )  # as crond reads it: Vixie's, and its successors
        done = subprocess.run(
            ["sh", "-c", read.encode("utf-8", "surrogateescape")], capture_output=True, check=True
        )
        assert done.stdout == f"-C|{path}|run|--quiet|".encode("utf-8", "surrogateescape")

    def test_a_line_end_in_a_path(self):
        with pytest.raises(RepositoryProblem) as problem:
            schedule.cron_line(PROGRAM, "/home/a\nb")
        assert problem.value.code == "cannot-schedule"

    @pytest.mark.parametrize(
        "others", [b"", b"# mine\n\n\t0 5 * * *  x \xff \r\nMAILTO=ada\n", b"# no end"]
    )
    def test_the_lines_of_others_stay_as_they_are(self, others: bytes):
        first, second = (
            schedule.cron_line(PROGRAM, "/home/ada/a"),
            schedule.cron_line(PROGRAM, "/home/ada/a b"),
        )
        both = schedule.with_line(
            schedule.with_line(others, "/home/ada/a", first), "/home/ada/a b", second
        )
        assert both.startswith(others)
        assert schedule.with_line(both, "/home/ada/a", first) == both
        assert schedule.without_line(both, "/home/ada/a").endswith(second.encode() + b"\n")
        assert schedule.without_line(
            schedule.without_line(both, "/home/ada/a"), "/home/ada/a b"
        ) in (
            others,
            others + b"\n",
        )

    def test_a_line_is_renewed_where_it_stands(self):
        old, new = (
            schedule.cron_line(("/old/python",), "/home/ada"),
            schedule.cron_line(("/new/python",), "/home/ada"),
        )
        assert (
            schedule.with_line(f"{old}\n# mine\n{old}\n".encode(), "/home/ada", new)
            == f"{new}\n# mine\n".encode()
        )


def placed(shell: Shell) -> list[str]:
    folder = shell.world.home / ".config" / "systemd" / "user"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


class TestSystemd:
    def test_it_is_printed_and_nothing_is_changed(self, shell: Shell, system: Path):
        done = shell.run("schedule", "systemd")
        folder = shell.world.home / ".config" / "systemd" / "user"
        assert done.out == (
            f"# {folder}/mdmem-run@.service\n{schedule.service_text(PROGRAM)}\n# {folder}/mdmem-run@.timer\n{schedule.timer_text()}".rstrip()
            + "\n"
        )
        assert "To install it: mdmem schedule --install\n" in done.err
        assert "to keep them running: loginctl enable-linger\n" in done.err
        assert not folder.exists()
        assert not system.exists()

    def test_the_words_that_matter(self):
        service, timer = (
            schedule.service_text(("/opt/my python", "-m", "mdmem")).splitlines(),
            schedule.timer_text().splitlines(),
        )
        assert {"Type=oneshot", "Nice=10", "TimeoutStartSec=15min"} < set(service)
        assert 'ExecStart=":/opt/my python" -m mdmem -C %f run --quiet' in service
        assert {
            "OnCalendar=*:0/5",
            "Persistent=true",
            "RandomizedDelaySec=30",
            "WantedBy=timers.target",
        } < set(timer)

    def test_in_and_out(self, shell: Shell, system: Path):
        name = schedule.timer_of(str(shell.folder))
        first = shell.run("schedule", "systemd", "--install", "--json").answer
        assert (first["timer"], first["changed"], first["active"], first["next"]) == (
            name,
            True,
            True,
            [],
        )
        files = placed(shell)
        assert files == ["mdmem-run@.service", "mdmem-run@.timer", f"timers.target.wants/{name}"]
        again = shell.run("schedule", "systemd", "--install", "--json").answer
        assert (again["changed"], again["active"], placed(shell)) == (False, True, files)
        assert system.read_text().splitlines()[:2] == [
            "--user daemon-reload",
            f"--user enable --now {name}",
        ]
        assert shell.run("schedule", "systemd", "--uninstall", "--json").answer["changed"]
        assert placed(shell) == []
        assert not shell.run("schedule", "systemd", "--uninstall", "--json").answer["changed"]

    def test_the_units_stay_while_another_workspace_has_them(self, shell: Shell, system: Path):
        shell.run("schedule", "systemd", "--install")
        other = (
            shell.world.home
            / ".config"
            / "systemd"
            / "user"
            / "timers.target.wants"
            / "mdmem-run@home-ada.timer"
        )
        other.symlink_to("../mdmem-run@.timer")
        assert shell.run("schedule", "systemd", "--uninstall").out.startswith(
            "no longer scheduled: mdmem-run@"
        )
        assert placed(shell) == [
            "mdmem-run@.service",
            "mdmem-run@.timer",
            f"timers.target.wants/{other.name}",
        ]

    @pytest.mark.parametrize(
        "failing", ["exit 1", "echo 'Failed to connect to bus' >&2; exit 1", None]
    )
    def test_without_a_systemd_that_hears_the_files_are_placed(
        self, shell: Shell, system: Path, failing: str | None
    ):
        if failing:
            program(shell.world, "systemctl", failing)
        else:
            (shell.world.home / "bin" / "systemctl").unlink()
            (shell.world.home / "bin" / "git").symlink_to(shutil.which("git") or "")
            shell.patch.setenv("PATH", f"{shell.world.home}/bin")
        done = shell.run("schedule", "systemd", "--install", "--json")
        answer = done.answer
        assert (done.status, answer["changed"], answer["active"], placed(shell)) == (
            1,
            True,
            False,
            ["mdmem-run@.service", "mdmem-run@.timer"],
        )
        assert answer["next"] == [
            f"systemctl --user enable --now {shlex.quote(schedule.timer_of(str(shell.folder)))}"
        ]
        assert shell.run("schedule", "systemd", "--uninstall").status == 0
        assert placed(shell) == []

    def test_units_of_an_earlier_version_are_replaced(self, shell: Shell, system: Path):
        unit = shell.world.home / ".config" / "systemd" / "user" / "mdmem-run@.service"
        unit.parent.mkdir(parents=True)
        unit.write_text(
            "# Placed by mdmem schedule, which replaces it. Changes go into a drop-in: systemctl"
            " --user edit mdmem-run@INSTANCE.service\n[Service]\nExecStart=/bin/true\n"
        )
        assert shell.run("schedule", "systemd", "--install").status == 0
        assert unit.read_text() == schedule.service_text(PROGRAM)

    def test_a_unit_of_somebody_else_stays(self, shell: Shell, system: Path):
        unit = shell.world.home / ".config" / "systemd" / "user" / "mdmem-run@.service"
        unit.parent.mkdir(parents=True)
        unit.write_text("[Service]\nExecStart=/bin/true\n")
        assert shell.run("schedule", "systemd", "--install").status == 1
        shell.run("schedule", "systemd", "--uninstall")
        assert placed(shell) == ["mdmem-run@.service"]


class TestCron:
    def test_in_and_out(self, shell: Shell, system: Path):
        mine, table = b"# mine\n0 5 * * * x\n", shell.world.home / "crontab"
        table.write_bytes(mine)
        line = schedule.cron_line(PROGRAM, str(shell.folder))
        assert shell.run("schedule", "cron").out == f"{line}\n"
        assert table.read_bytes() == mine
        for changed in (True, False):
            answer = shell.run("schedule", "cron", "--install", "--json").answer
            assert (answer["changed"], answer["active"], answer["timer"]) == (changed, True, None)
            assert table.read_bytes() == mine + line.encode() + b"\n"
        for changed in (True, False):
            assert (
                shell.run("schedule", "cron", "--uninstall", "--json").answer["changed"] is changed
            )
            assert table.read_bytes() == mine

    def test_where_there_was_none(self, shell: Shell, system: Path):
        shell.run("schedule", "cron", "--install")
        assert (shell.world.home / "crontab").read_text().count("\n") == 1

    @pytest.mark.parametrize("failing", ["echo 'you may not' >&2; exit 1", None])
    def test_a_crontab_that_cannot_be_read_is_not_written(
        self, shell: Shell, system: Path, failing: str | None
    ):
        if failing:
            program(shell.world, "crontab", failing)
        else:
            (shell.world.home / "bin" / "crontab").unlink()
        done = shell.run("schedule", "cron", "--install")
        assert done.status == 1
        assert "*/5 * * * *" in done.err


@pytest.mark.parametrize("words", [["launchd"], ["--install", "--uninstall"]])
def test_a_wrong_call(shell: Shell, words: list[str]):
    assert shell.run("schedule", *words).status == 2
