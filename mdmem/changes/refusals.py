"""Refusals of a write: for errors of the check that are not allowed, and for secrets in what goes into a commit message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mdmem import check, secrets
from mdmem.errors import RefusedChange, TextProblem
from mdmem.model import Problem
from mdmem.model.writes import WriteOptions
from mdmem.wording import field

_BLOCK_MARKS = ("<mdmem-context", "</mdmem-context")


def secrets_in_options(options: WriteOptions) -> Iterator[Problem]:
    """Find secrets in what goes into the commit message besides the change."""
    for name, text in (("reason", options.reason), ("session", options.session), ("actor", options.actor)):
        yield from secrets_in_text(name, text or "")


def secrets_in_text(name: str, text: str) -> Iterator[Problem]:
    """Find secrets in a text that goes into a commit message; `name` is the field that holds it."""
    for secret in secrets.find(text):
        message = f"possible secret ({secret.kind})"
        hint = f"Remove it. False alarm? {field('allow')} secret"
        yield Problem(path=field(name), line=secret.line, code="secret-found", level="error", message=message, hint=hint, kind=secret.kind)


def refuse_errors(problems: Iterable[Problem], allow: frozenset[str]) -> None:
    """Refuse the first error that is not allowed.

    Raises:
        RefusedChange: with the code of `check`, the line, and the kind of a secret.
    """
    refused = check.refusals(problems, allow)
    if refused:
        first = refused[0]
        details = {"kind": first.kind} if first.kind else {}
        raise RefusedChange(first.code, f"{first.path}:{first.line}: {first.message}", first.hint, line=first.line, **details)


def refuse_recalled(texts: Iterable[str], before: bytes | None) -> None:
    """Refuse texts with the mark of a block: what was given of memory is not stored again. A file that has such marks may keep them.

    Raises:
        TextProblem: `recalled-text`.
    """
    marks = sum(map(_count_marks, texts))
    if marks and marks > _count_marks((before or b"").decode("utf-8", "replace")):
        raise TextProblem(
            "recalled-text", "the text contains a block that came from memory (<mdmem-context>)", "Store only what is new, in new words."
        )


def _count_marks(text: str) -> int:
    folded = text.casefold()
    return sum(folded.count(mark) for mark in _BLOCK_MARKS)
