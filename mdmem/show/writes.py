"""Results of writing."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.folder.layout import CURATED_NAMES
from mdmem.model import CommitId, FilePath, Op
from mdmem.model.errors import field, number_of, printable, shell_word, verb
from mdmem.model.writes import PurgePlan, PurgeResult, WriteResult
from mdmem.show.formatting import named_commit, one_line, section_line, some_of
from mdmem.startup import late

_SHELL_SIGNS = late.pattern(r'["$`\\!]')
_MAX_QUOTED = 60
_MAX_LIKE = 100


def write_text(result: WriteResult, fact: str | None = None) -> str:
    if result.diff is not None:
        # A line end steers nothing, and belongs to the patch.
        shown = "\r\n".join(map(printable, result.diff.split("\r\n"))).rstrip("\n")
        return shown or (
            "no text changes, only a commit" if result.changed else "nothing to change"
        )
    if result.proposed:
        return proposed_line(result, result.proposal, fact)
    done = _done(result) if result.changed else _not_done(result)
    kept = " (line kept)" if result.changed and result.op is Op.RETRACT else ""
    return f"{done} {place_text(result, fact)}{kept}"


def proposed_line(result: WriteResult, proposal: str | None, fact: str | None) -> str:
    if not result.changed:
        return f"already proposed in {proposal}: {place_text(result, fact)}"
    if result.taken_back:
        return f"no longer proposed in {proposal}: {place_text(result, fact)}"
    return f"proposed as {proposal}: {place_text(result, fact)} (nothing changed yet)"


def place_text(result: WriteResult, fact: str | None = None) -> str:
    if result.forgotten and result.changed:
        gone = [place for place in result.forgotten if place not in result.marked]
        places = ", ".join(some_of(gone))
        if result.marked:
            places += f"; marked in the log: {', '.join(some_of(result.marked))} (line kept)"
        return one_line(f"{places}{_ending(result, fact)}")
    where = f"{result.path}: {section_line(result.section)}" if result.section else result.path
    where += f" (until {result.day})" if result.day and result.op is not Op.LOG else ""
    where += _remarks(result) if result.changed else ""
    return one_line(f"{where}{_ending(result, fact)}")


def _ending(result: WriteResult, fact: str | None) -> str:
    """The fact, else the commit; of what is unchanged the fact, else the etag."""
    fact = fact or (None if result.changed else result.fact)
    if fact:
        return f" [{fact}]"
    return named_commit(result.commit) or (f" (etag {result.etag})" if result.etag else "")


def write_notes(result: WriteResult) -> tuple[str, ...]:
    hint = write_hint(result)
    like = (f"similar: {each.fact} {one_line(each.text)[:_MAX_LIKE]}" for each in result.like)
    is_repeat = result.op is Op.LOG and not result.changed and not result.proposed
    again = (f"the log has this entry already; to log it again: {field('again')}",)
    return (*result.notes, *(again if is_repeat else ()), *like, *((hint,) if hint else ()))


def write_hint(result: WriteResult, may_promote: bool = True) -> str:
    """Advice on the next step after a write; empty if there is none."""
    if result.taken_back:
        return ""
    if result.proposal is not None:
        return f"A person decides: {verb('proposals')} {shell_word(result.proposal)}"
    if result.op is Op.REMEMBER and result.contradicts:
        return f"To settle which one is true: {verb('conflicts')}"
    return like_hint(result, may_promote)


def like_hint(result: WriteResult, may_promote: bool = True) -> str:
    """The command that replaces the first fact similar to a new line; empty if there is none.

    A line of another note is its owner's, so nothing is offered for it.
    `may_promote`: the door can take an entry of a log into a file that is edited in place.
    """
    if not result.like or result.like[0].in_note:
        return ""
    first = result.like[0]
    if result.ends:
        return f"If that is no longer true: {verb('forget')} {first.fact}"
    if result.op is Op.LOG and may_promote and not first.in_log and result.added:
        file = "" if first.path in CURATED_NAMES else f" {field('file')} {shell_word(first.path)}"
        promotion = f"{verb('remember', 'entry')} {result.added[-1]}{file}"
        return f"To replace it: {promotion} {field('supersedes')} {first.fact}"
    again = verb("log" if result.op is Op.LOG else "remember", "supersedes")
    return f"To replace it: {again} {first.fact} {_quoted(result.text)}"


def _quoted(text: str) -> str:
    """A text for a shell: in double quotes where nothing in it has a meaning there."""
    is_plain = text.isprintable() and not _SHELL_SIGNS.search(text)
    return f'"{text}"' if is_plain else shell_word(text)


def _remarks(result: WriteResult) -> str:
    kept = _cut(" ".join(result.kept))
    was, back = (
        _cut(" ".join("; ".join(texts).split())) for texts in (result.replaced, result.restored)
    )
    words = [
        f"was: {was}" if was and result.op is Op.REMEMBER else "",
        f"back: {back}" if back else "",
        f"gone: {was}" if was and result.op is Op.REVERT else "",
        f"contradicts {', '.join(result.contradicts)}" if result.contradicts else "",
        f"with {kept}" if kept else "",
    ]
    return "".join(f", {each}" for each in words if each)


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MAX_QUOTED else f"{line[: _MAX_QUOTED - 1]}…"


def _not_done(result: WriteResult) -> str:
    is_repeat = result.fact is not None and result.op in (Op.FORGET, Op.RETRACT)
    return "already forgotten:" if is_repeat else "unchanged:"


def _done(result: WriteResult) -> str:
    if result.op is Op.FORGET and result.forgotten:
        return "forgotten:"
    if result.op is Op.SUPERSEDE and result.supersedes:
        return f"superseded {', '.join(pair.old for pair in result.supersedes)} in"
    if result.op is Op.REMEMBER and result.replaced:
        return "replaced in"
    return result.op.done if result.op else "changed"


def saved_text(commit: CommitId | None, paths: Sequence[FilePath]) -> str:
    return (
        one_line(f"saved {', '.join(some_of(paths))}{named_commit(commit)}")
        if commit
        else "nothing to save"
    )


def _numbers(plan: PurgePlan) -> dict[str, int]:
    return {
        name: getattr(plan, name)
        for name in ("files", "commits", "messages", "tags", "refs", "signatures", "loose")
    }


def purge_plan_text(plan: PurgePlan) -> str:
    numbers = [
        number_of(getattr(plan, f"{noun}s"), noun)
        for noun in ("file", "commit", "message", "tag", "ref")
    ]
    numbers += [f"{number_of(plan.loose, 'object')} that nothing refers to"] if plan.loose else []
    return "\n".join(
        [f"to purge: {', '.join(numbers)}", *(one_line(f"  {notice}") for notice in plan.notices)]
    )


def purged_text(done: PurgeResult) -> str:
    plan = done.plan
    if not plan.has_changes:
        return "nothing to purge: the text is not in this repository"
    counts = (plan.files, "file"), (plan.commits, "commit"), (plan.tags, "tag")
    places = [number_of(count, noun) for count, noun in counts if count]
    where = f" from {', '.join(places)}" if places else ""
    return f"purged the text{where}{named_commit(done.commit)}"
