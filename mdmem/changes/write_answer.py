"""The answer to a change of one file, from its plan and the commit that carried it out."""

from __future__ import annotations

from mdmem import history
from mdmem.changes.plan import Plan
from mdmem.document import Section, preamble_etag, section_etag
from mdmem.model import CommitId, Op
from mdmem.model.writes import WriteResult


def write_result(plan: Plan, commit: CommitId | None, diff: str | None = None, notes: tuple[str, ...] = ()) -> WriteResult:
    """The answer for a plan that was carried out in `commit`, or (None) changed nothing or was only to be shown."""
    return WriteResult(
        changed=plan.changes or plan.marks,
        path=plan.path,
        section=plan.edit.section,
        etag=_etag(plan),
        commit=commit,
        added=plan.added,
        removed=tuple(fact for each in plan.files for fact in (*each.removed, *each.retracts)),
        supersedes=plan.supersedes,
        diff=diff,
        notes=(*notes, *plan.notes),
        warnings=tuple(dict.fromkeys(code for each in plan.files for code in each.warnings)),
        op=plan.op,
        ended=plan.ended,
        contradicts=plan.edit.contradicts,
        kept=plan.edit.kept,
        forgotten=plan.forgotten,
        also=plan.also,
    )


def plan_diff(plan: Plan) -> str:
    """The change as a unified diff; empty where there is none."""
    return "".join(_file_diff(each) for each in plan.files)


def _file_diff(plan: Plan) -> str:
    if not plan.changes:
        return ""
    head = f"--- {f'a/{plan.path}' if plan.old else '/dev/null'}\n+++ b/{plan.path}\n"
    return head + history.line_difference(plan.old.text if plan.old else "", plan.edit.text)


def _etag(plan: Plan) -> str | None:
    """The etag, after the edit, of the section that it changed, or of the text before the first heading."""
    if plan.edit.op is Op.DELETE:
        return None
    if not plan.edit.section:
        # A revert of a change that was taken back already is about no section, and not about the preamble either.
        return preamble_etag(plan.new) if plan.changes or plan.edit.op is not Op.REVERT else None
    section = _changed_section(plan)
    return section_etag(plan.new, section) if section else None


def _changed_section(plan: Plan) -> Section | None:
    """The section that the edit changed; of several with its path the one where the texts differ first."""
    sections = [section for section in plan.new.sections if section.path == plan.edit.section]
    if len(sections) > 1 and plan.old is not None:
        first, _ = history.common_ends(plan.old.lines, plan.new.lines)
        around = [section for section in sections if section.start <= first < section.end]
        sections = around or sections[-1:]
    return sections[0] if sections else None
