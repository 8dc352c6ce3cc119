"""The addresses of the pages, each with the function that makes it."""

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
    "/s/{path:path}": section.section,
    "/fact/{id:path}": fact.fact,
    "/search": searching.search,
    "/context": context.context,
}
