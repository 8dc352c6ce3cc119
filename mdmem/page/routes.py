"""The addresses of the pages, with their views."""

from __future__ import annotations

from collections.abc import Mapping

from mdmem.page.pages import View
from mdmem.page.views import (
    commit,
    context,
    fact,
    files,
    health,
    review,
    searching,
    section,
    timeline,
    today,
    trends,
)

ROUTES: Mapping[str, View] = {
    "/": today.today,
    "/days": timeline.timeline,
    "/day/{day:path}": timeline.day,
    "/files": files.files,
    "/f/{path:path}": files.file,
    "/s/{path:path}": section.section,
    "/fact/{id:path}": fact.fact,
    "/search": searching.search,
    "/review": review.review,
    "/review/{proposal:path}": review.proposal,
    "/context": context.context,
    "/trends": trends.trends,
    "/health": health.health,
    "/commit/{commit:path}": commit.commit,
}
