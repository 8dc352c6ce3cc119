"""The addresses of the pages, each with the function that makes it."""

from __future__ import annotations

from collections.abc import Mapping

from mdmem.page.pages import View
from mdmem.page.views import health, review, today

ROUTES: Mapping[str, View] = {
    "/": today.today,
    "/review": review.review,
    "/review/{proposal}": review.proposal,
    "/health": health.health,
}
