"""The state of the workspace, and the findings of the doctor on request."""

from __future__ import annotations

from mdmem.page.pages import Page, Query, Reader
from mdmem.show.maintenance import findings_json
from mdmem.show.reads import kinds_line, status_json


def health(reader: Reader, query: Query) -> Page:
    """The state; with `examine` the findings of the doctor, which takes seconds."""
    memory, links = reader.memory, reader.links
    status = memory.status()
    findings = memory.examine() if query.get("examine") else None
    data = status_json(status) if findings is None else findings_json(findings)
    values = {"status": status, "files": kinds_line(status), "findings": findings}
    return Page(
        template="health",
        title="Health",
        values=values,
        data=data,
        back=links.health() if findings is None else links.health(examine=1),
    )
