"""The views: each makes the values of a template, and JSON, from memory."""

from collections.abc import Mapping

from mdmem.page.pages import View
from mdmem.page.views import answers, front, review, section, timeline

ROUTES: Mapping[str, View] = {
    "/": front.today,
    "/days": timeline.timeline,
    "/day/{day:path}": timeline.day,
    "/files": front.files,
    "/f/{path:path}": section.file,
    "/s/{path:path}": section.section,
    "/fact/{id:path}": section.fact,
    "/search": answers.search,
    "/go": answers.go,
    "/review": review.review,
    "/review/{proposal:path}": review.proposal,
    "/context": answers.context,
    "/trends": timeline.trends,
    "/health": front.health,
    "/commit/{commit:path}": timeline.commit,
}
"""The pages by their addresses; `path` after a name: the rest of the address."""
