"""The pages as an ASGI application, without the guard in front of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mdmem.model.errors import MdmemError, UsageProblem, as_failure, json_line, outcome_of
from mdmem.page import doing, rendering
from mdmem.page.pages import Frame, Page, Reader, View, error_page, frame_of
from mdmem.page.views import (
    context,
    fact,
    files,
    review,
    searching,
    section,
    timeline,
    today,
    trends,
)
from mdmem.show.values import to_json

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
    "/health": today.health,
    "/commit/{commit:path}": timeline.commit,
}
_JSON = "application/json"
_FAILED, _BUG = 400, 500


def build_app(reader: Reader) -> Starlette:
    pages = [Route(path, _endpoint(reader, view)) for path, view in ROUTES.items()]
    forms = [Route("/do/{verb}", _form(reader), methods=["POST"])] if reader.can_write else []
    return Starlette(
        routes=[
            *pages,
            *forms,
            Route("/static/{hash}/{name}", _static),
            Route("/favicon.ico", _no_icon),
        ],
        exception_handlers={HTTPException: _no_page(reader)},
    )


def _endpoint(reader: Reader, view: View) -> Callable[[Request], Response]:
    # Not a coroutine: Starlette calls it in a thread, since it reads files and an index.
    def answer(request: Request) -> Response:
        query = {**request.query_params, **request.path_params}
        outcome = outcome_of(lambda: _response(reader, request, view(reader, query)))
        return outcome if isinstance(outcome, Response) else failure(reader, request, outcome)

    return answer


def _no_page(reader: Reader) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        told = _NO_PAGE.get(problem.status_code, problem.detail)
        response = _failed(reader, request, UsageProblem(told), problem.status_code)
        response.headers.update(problem.headers or {})
        return response

    return answer


_NO_PAGE = {404: "there is no page at this address", 405: "this address cannot be used like this"}


def _form(reader: Reader) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        fields = dict(parse_qsl(body, keep_blank_values=True))
        return await run_in_threadpool(_sent, reader, request, fields)

    return answer


def _sent(reader: Reader, request: Request, fields: dict[str, str]) -> Response:
    verb = request.path_params["verb"]
    outcome = outcome_of(lambda: doing.do(reader, verb, fields))
    if isinstance(outcome, str):
        return RedirectResponse(outcome, 303)
    if isinstance(outcome, Page):
        return _response(reader, request, outcome)
    problem = as_failure(outcome)
    status = 409 if doing.is_stale(verb, problem) else status_of(problem)
    return _response(reader, request, doing.refused_page(reader, problem, status, verb, fields))


def _response(reader: Reader, request: Request, page: Page) -> Response:
    if wants_json(request):
        return Response(json_line(to_json(page.data)), page.status, media_type=_JSON)
    frame = outcome_of(lambda: frame_of(reader, request.query_params.get("done")))
    if isinstance(frame, Exception):
        if page.status < _FAILED:
            raise frame
        frame = Frame(name="mdmem", now=datetime.now(UTC))  # a failure is told even without memory
    html = rendering.html(reader, page, frame)
    return HTMLResponse(html.encode(errors="replace"), page.status)


def wants_json(request: Request) -> bool:
    return _JSON in request.headers.get("accept", "")


def failure(reader: Reader, request: Request, problem: Exception) -> Response:
    known = as_failure(problem)
    if status_of(known) == _BUG:
        with suppress(Exception), reader.memory.record_call("page", None):
            raise problem  # into the record, which has its place and not its words
    return _failed(reader, request, known, status_of(known))


def _failed(reader: Reader, request: Request, problem: MdmemError, status: int) -> Response:
    page = error_page(problem, status, request.query_params.get("q", ""))
    return _response(reader, request, page)


def status_of(problem: MdmemError) -> int:
    """The status of a failure; a missing and a forbidden thing have the same one."""
    if problem.exit_status == 3:
        return _BUG
    if problem.code.endswith("-not-found") or problem.code in _NOT_THERE:
        return 404
    return 409 if problem.code in _MOVED else 400


_NOT_THERE = {"not-allowed", "bad-path", "not-memory", "unsupported-file"}
_MOVED = {"overtaken", "proposals-moved", "cannot-revert", "revert-conflict"}


def _no_icon(request: Request) -> Response:
    return Response(status_code=204)


def _static(request: Request) -> Response:
    found = rendering.find_asset(request.path_params["hash"], request.path_params["name"])
    if found is None:
        return Response("not found", 404, media_type="text/plain")
    content, media_type = found
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=media_type)
