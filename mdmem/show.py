"""Results as text for people and as JSON for programs."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mdmem.document import join_path
from mdmem.errors import printable
from mdmem.model import (
    CommitId,
    FilePath,
    Hit,
    Op,
    Outline,
    Problem,
    SearchResult,
    SectionView,
    WorkspaceStatus,
    WriteResult,
)
from mdmem.render import plain
from mdmem.secrets import Secret

if TYPE_CHECKING:
    from mdmem.doctor import Finding
    from mdmem.purge import Purged, PurgePlan

_SHORT_ID = 10
_SNIPPET = 320
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_WORD = re.compile(r"\w+")


def short(commit: CommitId | None) -> str:
    """A commit as people name it."""
    return commit[:_SHORT_ID] if commit else ""


def write_json(result: WriteResult) -> dict[str, Any]:
    """A write's outcome."""
    found: dict[str, Any] = {
        "changed": result.changed,
        "path": result.path,
        "section": join_path(result.section),
        "etag": result.etag,
        "commit": result.commit,
        "added": list(result.added),
        "removed": list(result.removed),
        "supersedes": [{"old": pair.old, "new": pair.new} for pair in result.supersedes],
    }
    return found if result.diff is None else found | {"diff": result.diff}


def write_text(result: WriteResult, op: Op, fact: str | None) -> str:
    """A write's outcome in one line that ends in an id, or the diff of a dry run."""
    if result.diff is not None:
        return printable(result.diff).rstrip("\n") or "nothing to change"
    where = f"{result.path}: {join_path(result.section)}" if result.section else result.path
    done = f"{_DONE[op]} {where}" if result.changed else f"unchanged: {where}"
    return printable(f"{done} {fact or short(result.commit) or result.etag or ''}".rstrip(), keep="")


_DONE = {
    Op.REPLACE: "changed",
    Op.APPEND: "appended to",
    Op.PREPEND: "prepended to",
    Op.RENAME: "renamed",
    Op.DELETE: "deleted",
    Op.LOG: "logged in",
    Op.REMEMBER: "remembered in",
    Op.FORGET: "forgotten from",
}


def section_json(view: SectionView) -> dict[str, Any]:
    """A section."""
    return {
        "path": view.path,
        "section": join_path(view.section),
        "level": view.level,
        "text": view.text,
        "etag": view.etag,
        "tree_etag": view.tree_etag,
        "start_line": view.start_line,
        "end_line": view.end_line,
        "commit": view.commit,
        "uncommitted": view.uncommitted,
        "subsections": [join_path(path) for path in view.subsections],
    }


def section_text(view: SectionView, terminal: bool) -> str:
    """A section's own text; for a terminal with nothing in it that could steer it."""
    text = view.text.strip("\r\n")
    return _steerless(text) if terminal else text


def _steerless(text: str) -> str:
    return printable(text.replace("\r\n", "\n").replace("\r", "\n"))


def outline_json(outline: Outline) -> dict[str, Any]:
    """A file's sections."""
    rows = (
        {"section": join_path(row.section), "level": row.level, "line": row.line, "etag": row.etag, "lines": row.lines}
        for row in outline.sections
    )
    return {"path": outline.path, "sections": list(rows)}


def outline_text(outline: Outline) -> str:
    """A file's sections, indented by their depth, with line and etag."""
    rows = (f"{'  ' * (len(row.section) - 1)}{row.section[-1]}  (line {row.line}) {row.etag}" for row in outline.sections)
    return "\n".join(printable(row, keep="") for row in rows) or f"{outline.path} has no headings"


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit of a search."""
    return {
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "section": join_path(hit.section),
        "kind": hit.kind,
        "day": hit.day.isoformat() if hit.day else None,
        "text": hit.text,
        "score": hit.score,
        "fact": hit.fact,
        "tags": list(hit.tags),
        "source": hit.source,
        "confidence": hit.confidence,
        "status": hit.status,
        "superseded_by": hit.superseded_by,
        "contradicts": list(hit.contradicts),
        "commit": hit.commit,
        "uncommitted": hit.uncommitted,
    }


def search_json(result: SearchResult) -> dict[str, Any]:
    """A search's answer."""
    return {
        "query": result.query,
        "as_of": None,
        "commit": result.commit,
        "stale": result.stale,
        "hits": [hit_json(hit) for hit in result.hits],
    }


def search_text(result: SearchResult, colour: bool) -> str:
    """A search's answer: for each hit where it stands and its words, those of the query highlighted."""
    stems = {_stem(word) for word in _WORD.findall(result.query)}
    return "\n".join(_hit_text(hit, stems, colour) for hit in result.hits)


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded[:5] if folded.isascii() else folded


def _hit_text(hit: Hit, stems: set[str], colour: bool) -> str:
    marks = (join_path(hit.section), f"[{hit.fact}]" if hit.fact else "", "(uncommitted)" if hit.uncommitted else "")
    head = printable(" ".join([f"{hit.path}:{hit.start_line}", *filter(None, marks)]), keep="")
    words = printable(" ".join(plain(hit.text).split()) or hit.text, keep="")
    words = _window(words, stems)
    if not colour:
        return f"{head}\n    {words}"
    lit = _WORD.sub(lambda m: f"{_BOLD}{m[0]}{_PLAIN}" if _stem(m[0]) in stems else m[0], words)
    return f"{_DIM}{head}{_PLAIN}\n    {lit}"


def _window(words: str, stems: set[str]) -> str:
    """A long text cut down to the part around its first word of the query."""
    if len(words) <= _SNIPPET:
        return words
    first = next((m.start() for m in _WORD.finditer(words) if _stem(m[0]) in stems), 0)
    start = max(0, min(first - _SNIPPET // 3, len(words) - _SNIPPET))
    return ("…" if start else "") + words[start : start + _SNIPPET].strip() + ("…" if start + _SNIPPET < len(words) else "")


def facts_json(hits: Iterable[Hit]) -> dict[str, Any]:
    """A list of facts."""
    rows = (
        {
            "id": hit.fact,
            "text": hit.text,
            "key": hit.key,
            "kind": hit.kind,
            "tags": list(hit.tags),
            "path": hit.path,
            "section": join_path(hit.section),
            "line": hit.start_line,
            "source": hit.source,
            "confidence": hit.confidence,
            "status": hit.status,
            "until": hit.until.isoformat() if hit.until else None,
        }
        for hit in hits
    )
    return {"facts": list(rows)}


def facts_text(hits: Sequence[Hit]) -> str:
    """A list of facts: id, words, where."""
    return "\n".join(_fact_text(hit) for hit in hits)


def _fact_text(hit: Hit) -> str:
    kind = f"[{hit.kind}] " if hit.kind else ""
    tags = "".join(f" #{tag}" for tag in hit.tags)
    status = "" if hit.status == "current" else f" ({hit.status})"
    return printable(f"{hit.fact}  {kind}{' '.join(hit.text.split())}{tags}{status}  {hit.path}:{hit.start_line}", keep="")


def problems_json(problems: Iterable[Problem]) -> dict[str, Any]:
    """What is wrong."""
    rows = ({"path": p.path, "line": p.line, "code": p.code, "level": p.level, "message": p.message} for p in problems)
    return {"problems": list(rows)}


def problem_text(problem: Problem) -> str:
    """One problem in one line, its hint in a second."""
    said = printable(f"{problem.path}:{problem.line}: {problem.level}: {problem.message} ({problem.code})", keep="")
    return f"{said}\n    {printable(problem.hint)}" if problem.hint else said


def findings_json(findings: "Sequence[Finding]") -> dict[str, Any]:
    """What the doctor found; `sound` is false where an error remains."""
    rows = ({"check": f.check, "level": f.level, "message": f.message, "fixed": f.fixed, "hint": f.hint} for f in findings)
    return {"findings": list(rows), "sound": not any(f.level == "error" and not f.fixed for f in findings)}


def findings_text(findings: "Sequence[Finding]") -> str:
    """What the doctor found, a line each, hints below; at the end how much of it remains."""
    rows = []
    for found in findings:
        label = "fixed" if found.fixed else found.level.value
        rows.append(printable(f"{label:<8}{found.check}: {found.message}", keep=""))
        rows += [f"        {printable(line, keep='')}" for line in found.hint.splitlines()]
    left = Counter(found.level.value for found in findings if not found.fixed)
    return "\n".join([*rows, f"errors: {left['error']}, warnings: {left['warning']}, notes: {left['note']}"])


def saved_text(commit: CommitId | None, paths: Sequence[FilePath]) -> str:
    """What `save` committed."""
    return printable(f"saved {', '.join(paths)} {short(commit)}", keep="") if commit else "nothing to save"


def status_json(status: WorkspaceStatus) -> dict[str, Any]:
    """How a workspace stands."""
    return {
        "workspace": status.workspace,
        "branch": status.branch,
        "commit": status.commit,
        "files": dict(status.files),
        "uncommitted": list(status.uncommitted),
        "skipped": [{"path": path, "reason": reason} for path, reason in status.skipped],
        "index": {"current": status.current, "entries": status.entries, "commit": status.indexed_commit},
        "hooks": dict(status.hooks),
    }


def status_text(status: WorkspaceStatus) -> str:
    """How a workspace stands, a line a thing."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in status.files.items() if count) or "none"
    hooks = sorted(set(status.hooks.values()))
    rows = [
        f"workspace  {status.workspace}",
        f"branch     {status.branch or 'detached'} at {short(status.commit) or 'no commit yet'}",
        f"files      {kinds}",
        f"index      {status.entries} entries, {'current' if status.current else 'behind (the next search catches up)'}",
        f"hooks      {', '.join(hooks)}",
        *(f"uncommitted  {path}" for path in status.uncommitted),
        *(f"skipped    {path}: {reason}" for path, reason in status.skipped),
    ]
    return "\n".join(printable(row, keep="") for row in rows)


def plan_json(plan: "PurgePlan") -> dict[str, Any]:
    """A purge that is not carried out."""
    return {"changed": False, "commit": None, "plan": _numbers(plan), "notices": list(plan.notices)}


def _numbers(plan: "PurgePlan") -> dict[str, int]:
    return {name: getattr(plan, name) for name in ("files", "commits", "messages", "tags", "refs", "signatures")}


def plan_text(plan: "PurgePlan") -> str:
    """A purge in numbers and sentences."""
    numbers = f"{plan.files} files, {plan.commits} commits, {plan.messages} messages, {plan.tags} tags, {plan.refs} refs"
    return "\n".join([f"to purge: {numbers}", *(printable(f"  {notice}", keep="") for notice in plan.notices)])


def purged_json(done: "Purged") -> dict[str, Any]:
    """A purge that is done."""
    return {"changed": done.plan.found, "commit": done.commit, "plan": _numbers(done.plan), "notices": list(done.notices)}


def purged_text(done: "Purged") -> str:
    """A purge that is done, with the commit that says so; an earlier one may have left nothing to do."""
    return f"{'purged' if done.plan.found else 'nothing is left to purge'} {short(done.commit)}".rstrip()


def redacted_json(clean: str, found: Iterable[Secret]) -> dict[str, Any]:
    """A text without its secrets, and what kind of secret stood in which line."""
    return {"text": clean, "secrets": [{"kind": secret.kind, "line": secret.line} for secret in found]}


def redacted_text(clean: str) -> str:
    """A text without its secrets, for a terminal."""
    return _steerless(clean).removesuffix("\n")
