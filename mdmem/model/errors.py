"""The family of expected failures, with codes, `report` and `attempt`, which show them, and
the names of fields and verbs in their messages.

    MdmemError             1  message in the user's words, hint, stable code, details;
    │                         `interrupted` (130)
    ├── UsageProblem       2  `usage`: a wrong option value, an unreadable date
    ├── DateProblem        2  `ambiguous-date`: digits with slashes or dots
    ├── PackageProblem        `missing-package`
    ├── WorkspaceProblem      `no-workspace`, `bad-settings`, `not-here`, `no-model`,
    │                         `no-sessions`, `reserved-actor`, `not-adopted`, `not-allowed`,
    │                         `still-adopted`, `other-workspace`
    ├── PathProblem           `bad-path`, `file-not-found`, `unsupported-file`, `ignored-path`,
    │                         `read-only-path`, `not-memory`, `file-exists`, `is-folder`
    ├── TextProblem           `bad-text`, `empty-text`, `recalled-text`
    │   └── LabelProblem   2  `bad-text`: a kind, key or tag that is none
    ├── SectionProblem        `section-not-found`, `section-ambiguous`, `section-changed`,
    │                         `section-exists`, `body-escapes-section`, `has-subsections`,
    │                         `open-block`, `append-only`, `text-not-found`, `text-ambiguous`,
    │                         `revert-conflict`, `task-not-found`, `broken-delimiters`, `bad-line`
    ├── FactProblem           `fact-not-found`, `fact-ambiguous`, `key-ambiguous`, `same-fact`,
    │                         `supersede-in-place`, `ambiguous`, `not-a-fact`
    ├── HistoryProblem        `commit-not-found`, `before-history`, `cannot-revert`
    ├── RepositoryProblem     `not-a-repository`, `bare-repository`, `broken-repository`,
    │                         `repository-busy`, `detached-head`, `no-identity`, `pending-edits`,
    │                         `commit-failed`, `hook-timeout`, `git-failed`, `git-missing`,
    │                         `git-timeout`, `git-too-old`, `missing-history`, `busy`, `running`,
    │                         `hooks-managed`, `pending-secret`, `cannot-purge`, `cannot-schedule`
    ├── SyncProblem           `no-remote`, `remote-unreachable`, `remote-auth`, `remote-refused`,
    │                         `remote-rewound`, `remote-purged`, `purge-unpushed`,
    │                         `remote-unrelated`, `sync-foreign`, `sync-conflict`, `sync-busy`,
    │                         `sync-timeout`, `protocol-not-allowed`
    ├── FleetProblem          `no-fleet`, `fleet-readers`, `fleet-busy`, `fleet-partial`,
    │                         `fleet-unreachable`, `fleet-refused`, `fleet-version`, `fleet-failed`
    ├── TranscriptProblem     `unknown-format`, `ambiguous`, `bad-line`
    ├── ProposalProblem       `proposal-not-found`, `part-not-found`, `already-rejected`,
    │                         `overtaken`, `nothing-committed`, `nothing-to-propose`,
    │                         `too-many-proposals`, `too-many-parts`, `checked-out`, `ambiguous`,
    │                         `list-not-found`, `proposals-moved`
    ├── RefusedChange         those of `check`: `conflict-markers`, `not-utf8`, `shrink`, `append`,
    │                         `secret-found`
    └── StorageProblem        `storage`: the disk is full, read-only or failing

Anything else that is raised is a bug: `bug`, exit status 3.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mdmem import secrets
from mdmem.startup import late

_START, _FIELD_END, _VERB_END = "\ufdd0", "\ufdd1", "\ufdd2"
"""Noncharacters, reserved for use within a program, which enclose names in messages.

`field("limit")` and `verb("facts", "everything")` in a message of the core become `-n` and `mdmem
facts --all` on the command line, a server's own parameters and tools, and bare names by `plain`, as
in `str()` of a failure.
"""
_NAMED = late.pattern(f"{_START}([a-z_, -]+)([{_FIELD_END}{_VERB_END}])")


def field(name: str) -> str:
    """A field of an argument record, in a message."""
    return f"{_START}{name}{_FIELD_END}"


def number_of(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 hit, 2 hits, 1,000 entries."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def one_of(names: Iterable[str]) -> str:
    """Alternatives in a sentence: `a`, `a or b`, `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def near_names(name: str, names: Iterable[str], most: int, cutoff: float = 0.6) -> list[str]:
    """The names that one may be a misspelling of, the most similar first; see `difflib`."""
    import difflib  # noqa: PLC0415 - 2 ms, only for hints

    return difflib.get_close_matches(name, list(names), most, cutoff)


def verb(name: str, *fields: str) -> str:
    """A verb, in a message; `fields` are those that are set. Values follow by `shell_word`."""
    return f"{_START}{','.join((name, *fields))}{_VERB_END}"


def translate(
    text: str, say_field: Callable[[str], str], say_verb: Callable[[str, Sequence[str]], str]
) -> str:
    def words(match: re.Match[str]) -> str:
        name, *fields = match[1].split(",")
        return say_field(name) if match[2] == _FIELD_END else say_verb(name, fields)

    return _NAMED.sub(words, text) if _START in text else text


def plain(text: str) -> str:
    return translate(
        text,
        lambda name: name,
        lambda name, fields: f"{name} ({', '.join(fields)})" if fields else name,
    )


def typed(text: str) -> str:
    """`text` with fields and verbs as typed on the command line, for a door without one."""
    return translate(text, option, command)


def shell_word(value: object) -> str:
    """A name, path or text in a command of a message: one word for a shell, and one line."""
    text = str(value)
    if text.isprintable():
        return shlex.quote(text)
    # bash, zsh and ksh read it; it is no command in others either
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(character: str) -> str:
    if character in _ESCAPED or character.isprintable():
        return _ESCAPED.get(character, character)
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogateescape"))


_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def option(name: str) -> str:
    """The option of a field that messages name; the command line has a table of all of them."""
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def command(name: str, fields: Sequence[str] = (), option: Callable[[str], str] = option) -> str:
    """A verb as it is typed."""
    verb, *own = LISTED.get(name, (name,))
    return " ".join(("mdmem", verb, *map(option, (*own, *fields))))


# Verbs with the fields of another that ask the same, which the help lists in their place.
LISTED: Mapping[str, Sequence[str]] = {
    "edit": ("edit-section",),
    "recall": ("facts", "any_tags"),
    "tags": ("facts", "tag_list"),
    "proposals": ("review", "proposal_list"),
    "accept": ("review", "accepts"),
    "reject": ("review", "rejects"),
    "blame": ("history", "by_line"),
    "when": ("history", "when"),
    "trends": ("stats trends",),
}
# options that are not named like their fields
_OPTIONS = {
    "accepts": "--accept",
    "all_files": "--all",
    "any_tags": "--any-tag",
    "by_line": "--blame",
    "days": "--day",
    "entry": "--from",
    "everything": "--all",
    "host": "--for",
    "limit": "-n",
    "proposal_list": "--proposals",
    "rejects": "--reject",
    "replacement": "--with",
    "tag_list": "--tags",
    "tags": "--tag",
    "workspace": "-C DIR",
}


T = TypeVar("T")


class MdmemError(Exception):
    """An expected failure. `details` are further values for the JSON error object.

    `message` and `marked_hint` name fields and verbs as `field` and `verb` do, for a door that says
    them in its own words; `str()` and `hint` are plain text.
    """

    exit_status = 1

    def __init__(self, code: str, message: str, hint: str = "", **details: Any) -> None:
        super().__init__(plain(message))
        self.code = code
        self.message = message
        self.marked_hint = hint
        self.details: Mapping[str, Any] = details

    @property
    def hint(self) -> str:
        """The next step; may be empty."""
        return plain(self.marked_hint)


class UsageProblem(MdmemError):
    """The call itself is wrong."""

    exit_status = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("usage", message, hint)


class DateProblem(MdmemError):
    """A day that can be read in two ways."""

    exit_status = 2


class PackageProblem(MdmemError):
    """A package that an optional part of the program needs is not installed."""


class WorkspaceProblem(MdmemError):
    """No workspace is here, its settings cannot be used, or it is not for this caller to use."""


class PathProblem(MdmemError):
    """A path that is not a Markdown file of the workspace."""


class TextProblem(MdmemError):
    """A text that cannot be stored."""


class LabelProblem(TextProblem):
    """A kind, key or tag with characters that it may not have: the value of an option."""

    exit_status = 2


class SectionProblem(MdmemError):
    """A section that cannot be found, or cannot be changed as the call asks."""


class FactProblem(MdmemError):
    """A fact that is missing or ambiguous."""


class HistoryProblem(MdmemError):
    """A commit, a day or a change that is not in the history, or not in this form."""


class RepositoryProblem(MdmemError):
    """git cannot take the change now."""


class SyncProblem(MdmemError):
    """The remote and this machine cannot be brought together now."""


class FleetProblem(MdmemError):
    """The fleet cannot be asked or brought up to date now, or not by this asker."""


class RefusedChange(MdmemError):
    """A change that `check` does not let through."""


class TranscriptProblem(MdmemError):
    """A transcript of a session that cannot be read."""


class ProposalProblem(MdmemError):
    """A proposal, or a part of one, that is missing, or that cannot be made or decided so."""


class StorageProblem(MdmemError):
    """The disk is full, read-only or failing."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("storage", message, hint)


class _BugProblem(MdmemError):
    exit_status = 3


_JOINERS = "\u200c\u200d\u200e\u200f"  # zero-width characters that scripts and emoji need


def printable(text: str, keep: str = "\n\t") -> str:
    """Make visible whatever could steer or deceive: controls, bidirectional overrides."""
    if text.isprintable():
        return text
    return "".join(
        (
            c
            if c.isprintable() or c in keep or c in _JOINERS or unicodedata.category(c) == "Zs"
            else "\ufffd"
        )
        for c in text
    )


def json_line(value: Mapping[str, Any]) -> str:
    """One JSON object on one line, with everything escaped that could steer a terminal."""
    text = json.dumps(value, ensure_ascii=False)
    return (
        text
        if text.isprintable()
        else "".join(c if printable(c) == c else json.dumps(c)[1:-1] for c in text)
    )


def _print_failure(
    failure: MdmemError,
    as_json: bool,
    translate: Callable[[str], str] = plain,
    fit: Callable[[str], str] = str,
) -> None:
    if as_json:
        print(json_line(failure_json(failure, translate)), file=sys.stderr)
        return
    message, hint = (
        translate(secrets.redact(text)) for text in (failure.message, failure.marked_hint)
    )
    print(fit(f"mdmem: {printable(message)}"), file=sys.stderr)
    if hint:
        print(fit(f"hint: {printable(hint)}"), file=sys.stderr)


def failure_json(failure: MdmemError, translate: Callable[[str], str] = plain) -> dict[str, Any]:
    """A failure as a JSON object without secrets, its sentences in the words of a door."""
    return {
        "error": failure.code,
        "message": translate(secrets.redact(failure.message)),
        "hint": translate(secrets.redact(failure.marked_hint)),
        **secrets.redact_values(failure.details),
    }


def attempt(
    work: Callable[[], str], translate: Callable[[str], str] = plain
) -> str | dict[str, Any]:
    """Do a server's work: its text, or its failure as JSON. A bug's traceback goes to stderr."""
    outcome = outcome_of(work)
    if isinstance(outcome, str):
        return outcome
    failure = as_failure(outcome)
    if isinstance(failure, _BugProblem):
        sys.excepthook(type(outcome), outcome, outcome.__traceback__)
    return failure_json(failure, translate)


def report(
    main: Callable[[], int | None],
    as_json: bool = False,
    translate: Callable[[str], str] = plain,
    fit: Callable[[str], str] = str,
) -> int:
    """Run `main` and return the exit status: 0 done, 1 and 2 expected failures.

    A bug is 3, an interruption 130, a broken pipe 0. `translate` says a message in the door's
    words, `fit` breaks its lines.
    """

    def main_to_the_last_line() -> int:
        status = main() or 0
        sys.stdout.flush()
        return status

    try:
        outcome = outcome_of(main_to_the_last_line)
    except KeyboardInterrupt:
        _print_failure(MdmemError("interrupted", "interrupted"), as_json)
        return 130
    if isinstance(outcome, int):
        return outcome
    if isinstance(outcome, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    failure = as_failure(outcome)
    if isinstance(failure, _BugProblem) and not as_json:
        sys.excepthook(type(outcome), outcome, outcome.__traceback__)
        print("mdmem: this is a bug in mdmem", file=sys.stderr)
    else:
        _print_failure(failure, as_json, translate, fit)
    return failure.exit_status


def outcome_of(work: Callable[[], T]) -> T | Exception:
    """The result of `work`, or its exception (not KeyboardInterrupt): the one broad `except`."""
    try:
        return work()
    except Exception as problem:
        if isinstance(problem.__cause__, KeyboardInterrupt):  # while a class was created
            raise problem.__cause__ from None
        return problem


def as_failure(problem: Exception) -> MdmemError:
    """The failure that an exception is told as; one that nobody expected is a bug."""
    match problem:
        case MdmemError():
            return problem
        case OSError():
            where = f": {problem.filename}" if problem.filename else ""
            return StorageProblem(f"{problem.strerror or problem}{where}")
        case _:
            return _BugProblem(
                "bug", f"{type(problem).__name__}: {problem}", "This is a bug in mdmem."
            )
