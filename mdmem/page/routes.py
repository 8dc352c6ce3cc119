"""The addresses of the pages, each with the function that makes it."""

from __future__ import annotations

from collections.abc import Mapping

from mdmem.page.pages import View
from mdmem.page.views import commit, files, timeline, today, trends

ROUTES: Mapping[str, View] = {
    "/": today.today,
    "/days": timeline.timeline,
    "/day/{day:path}": timeline.day,
    "/commit/{commit:path}": commit.commit,
    "/files": files.files,
    "/f/{path:path}": files.file,
    "/trends": trends.trends,
}
