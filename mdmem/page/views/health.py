"""The state of the workspace: what is known at once, and what the doctor finds when asked."""

from __future__ import annotations

from mdmem.page.pages import Page, Query, Reader
from mdmem.show.maintenance import findings_json
from mdmem.show.reads import status_json


def health(reader: Reader, query: Query) -> Page:
    """The state; with `examine` the findings of the doctor, which takes seconds."""
    memory, links = reader.memory, reader.links
    status = memory.status()
    findings = memory.examine() if query.get("examine") else None
    data = status_json(status) if findings is None else findings_json(findings)
    values = {"status": status, "findings": findings}
    back = links.health(examine=1) if findings is not None else links.health()
    return Page("health", "Health", values, data, back=back)
