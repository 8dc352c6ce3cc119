"""The addresses of the pages, each with the function that makes it."""

from __future__ import annotations

from collections.abc import Mapping

from mdmem.page.pages import View
from mdmem.page.views import today, trends

ROUTES: Mapping[str, View] = {
    "/": today.today,
    "/trends": trends.trends,
}
