"""The doctor and the redaction of secrets, as a user meets them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import TOKEN, Shell, mdmem, on_terminal
from conftest import World


class TestDoctor:
    def test_a_sound_workspace(self, shell: Shell):
        shell.run("save")
        shell.run("reindex")
        shell.run("hooks", "install")  # last, so that no commit starts a catch-up
        done = shell.run("doctor")
        assert (done.status, done.err) == (0, "")
        # Notes: MDMEM_NOW is set; two headings are called Twice.
        last = done.out.splitlines()[-1]
        assert re.fullmatch(r"2 notes; \d+ checks passed \(mdmem doctor --all lists them\)", last)
        assert {line[:8] for line in done.out.splitlines()[:-1]} <= {"note    ", " " * 8}
        in_full = shell.run("doctor", "--all").out.splitlines()
        assert (
            f"2 notes; {len([line for line in in_full if line.startswith('ok')])} checks passed"
            == (in_full[-1])
        )
        answer = shell.run("doctor", "--json").answer
        assert list(answer) == ["findings", "sound"]
        assert [list(row) for row in answer["findings"]] == [
            ["check", "level", "message", "fixed", "hint"]
        ] * len(answer["findings"])
        assert answer["sound"]

    def test_an_error_is_the_exit_status(self, shell: Shell):
        shell.write("memory/keys.md", f"- {TOKEN}\n")
        before = shell.snapshot()
        done = shell.run("doctor")
        assert (done.status, done.err) == (1, "")
        assert "error   secrets: github-token in memory/keys.md:1\n        Remove it" in done.out
        as_json = shell.run("doctor", "--json")
        assert (as_json.status, as_json.answer["sound"]) == (1, False)
        assert TOKEN not in done.out + as_json.out
        assert shell.snapshot() == before

    def test_settings_that_stop_other_commands(self, shell: Shell):
        shell.write("mdmem.toml", "budget_lines = 9\nbudgt_bytes = 9\n")
        refused = shell.run("status")
        assert refused.err == (
            "mdmem: mdmem.toml:2: unknown setting 'budgt_bytes'\nhint: Did you mean budget_bytes?\n"
        )
        done = shell.run("doctor", "--fix")
        assert (done.status, done.err) == (1, "")
        assert (
            "error   settings: mdmem.toml:2: unknown setting 'budgt_bytes'\n"
            "        Did you mean budget_bytes?\n"
        ) in done.out
        assert "fixed   hooks: installed" in done.out
        assert "\n1 error, " in done.out or "\n1 error; " in done.out

    def test_no_secret_of_the_environment_is_shown(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_NOW", TOKEN)
        for done in (shell.run("doctor"), shell.run("doctor", "--json")):
            assert "MDMEM_NOW is '[REDACTED:github-token]'" in done.out
            assert TOKEN not in done.out + done.err

    def test_fix(self, shell: Shell):
        assert "warning hooks: pre-commit is missing" in shell.run("doctor").out
        assert "fixed   hooks: installed" in shell.run("doctor", "--fix").out
        assert "hooks" not in shell.run("doctor").out
        assert "ok      hooks: all are installed" in shell.run("doctor", "--all").out


class TestRedact:
    @pytest.mark.parametrize(
        ("data", "printed"),
        [
            (f"a\n- {TOKEN} #x\nb".encode(), b"a\n- [REDACTED:github-token] #x\nb"),
            (f"\r\n{TOKEN}\r\n\r\n".encode(), b"\r\n[REDACTED:github-token]\r\n\r\n"),
            (
                b"caf\xe9 \xff\x00 " + TOKEN.encode() + b"\xe9\n",
                b"caf\xe9 \xff\x00 [REDACTED:github-token]\xe9\n",
            ),
            (b"", b""),
            (b"nothing to hide", b"nothing to hide"),
        ],
        ids=["text", "CRLF", "not UTF-8", "empty", "nothing"],
    )
    def test_bytes_in_bytes_out(self, world: World, tmp_path: Path, data: bytes, printed: bytes):
        done = subprocess.run(
            mdmem("redact"),
            cwd=tmp_path,
            env=dict(world.environment),
            input=data,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, b"")

    def test_json(self, shell: Shell):
        answer = shell.run("redact", "--json", stdin=f"a\n{TOKEN}\n".encode()).answer
        assert answer == {
            "text": "a\n[REDACTED:github-token]\n",
            "secrets": [{"kind": "github-token", "line": 2}],
        }
        assert shell.run("redact", "--json", stdin=b"").answer == {"text": "", "secrets": []}
        assert shell.run("redact", "--json", stdin=b"\xe9").answer["text"] == "\udce9"

    def test_too_much(self, shell: Shell):
        done = shell.run("redact", stdin=b"x" * 6_000_000)
        assert (done.status, done.out) == (1, "")
        assert "standard input has more than 5,000,000 bytes" in done.err

    def test_a_terminal_is_not_steered(self, shell: Shell):
        done = on_terminal(
            shell,
            "sh",
            "-c",
            f"printf 'a\\033[31m {TOKEN}\\r\\n' | '{sys.executable}' -m mdmem redact",
        )
        assert (done.status, done.out) == (0, "a\ufffd[31m [REDACTED:github-token]\n")
