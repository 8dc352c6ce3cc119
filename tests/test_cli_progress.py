"""The progress line of a command that takes long, on a terminal."""

import io
import sys
import threading

import pytest
from commandline import Shell

from mdmem.cli import terminal as messages
from mdmem.cli.terminal import Progress


class Terminal(io.StringIO):
    """A stream that tells when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        number = super().write(text)
        self.written.set()
        return number

    def isatty(self) -> bool:
        return True


def test_says_how_far_it_is_and_goes():
    terminal = Terminal()
    with Progress("reindex", terminal, patience=0, interval=0.001):
        assert terminal.written.wait(60)
        messages.count(1200, 6000)
        while "[####----------------] 1,200 of 6,000, 0 s, 0 s left" not in terminal.getvalue():
            terminal.written.wait(60)
    assert terminal.getvalue().startswith("\r\x1b[Kmdmem reindex: 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_once_where_something_else_may_use_the_terminal():
    terminal = Terminal()
    with Progress("init", terminal, patience=0, interval=None):
        assert terminal.written.wait(60)
    assert terminal.getvalue().count("mdmem init") == 1


def test_a_message_comes_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("doctor", terminal, patience=0, interval=None):
        assert terminal.written.wait(60)
        messages.say("something")
    assert terminal.getvalue() == "\r\x1b[Kmdmem doctor: 0 s\r\x1b[Kmdmem: something\n"


def test_nothing_of_a_command_that_is_quick():
    terminal = Terminal()
    with Progress("facts", terminal):
        messages.count(1, 2)
    assert terminal.getvalue() == ""


def test_nothing_on_a_pipe(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(messages, "_FIRST_MESSAGE_SECONDS", 0)
    assert shell.run("doctor").err == ""
    assert not isinstance(messages.shown("doctor"), Progress)
