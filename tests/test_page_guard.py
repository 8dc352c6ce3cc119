"""The guard of the page: each rule, and each combination of a browser's headers."""

import json
from collections.abc import Mapping
from itertools import product
from typing import Any
from urllib.parse import urlencode

import pytest
from page_driver import FORM, HOST, PORT, Response, ask, check_policy

from mdmem.page.guard import Guard, PageKeys
from mdmem.page.pages import own_path

KEYS = PageKeys("the-key-of-this-page-22", "the-token-of-its-forms")
COOKIE = f"mdmem-{PORT}={KEYS.key}"


class Pages:
    """An application that records its requests, and gives one answer."""

    def __init__(self, status: int = 200, **headers: str) -> None:
        self.asked: list[str] = []
        self.body = b""
        self.start = {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
            ],
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(f"{scope['method']} {scope['path']}")
        self.body = (await receive())["body"]
        await send(self.start)
        await send({"type": "http.response.body", "body": b"the page"})


class Failing:
    """An application with a bug."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def guard(pages: Pages) -> Guard:
    return Guard(pages, PORT, KEYS)


def get(guard: Guard, path: str = "/", **headers: str | None) -> Response:
    """Ask as the user's browser, except for these headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(guard, "GET", path, {"cookie": COOKIE, **named})


def post(guard: Guard, form: Mapping[str, str], **headers: str | None) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(guard, "POST", "/do/forget", {"cookie": COOKIE, **named}, form)


HOSTS = {
    HOST: True,
    f"localhost:{PORT}": True,
    None: False,
    "": False,
    "127.0.0.1": False,
    "localhost": False,
    f"127.0.0.1:{PORT + 1}": False,
    f"evil.test:{PORT}": False,
    f"127.0.0.1.evil.test:{PORT}": False,
    f"127.0.0.1:{PORT}@evil.test": False,
    f"[::1]:{PORT}": False,
    f"0.0.0.0:{PORT}": False,
}
ORIGINS = {
    None: True,
    f"http://{HOST}": True,
    f"http://localhost:{PORT}": True,
    "null": False,
    "": False,
    f"https://{HOST}": False,
    f"http://evil.test:{PORT}": False,
    "http://127.0.0.1": False,
    f"http://{HOST}/": False,
}
SITES = {None: True, "same-origin": True, "none": True, "same-site": False, "cross-site": False}
COOKIES = {
    COOKIE: True,
    f"a=b; {COOKIE};c=d": True,
    None: False,
    "": False,
    f"mdmem-{PORT}=": False,
    f"mdmem-{PORT}={KEYS.key[:-1]}": False,
    f"mdmem-{PORT}={KEYS.key}x": False,
    f"mdmem-{PORT + 1}={KEYS.key}": False,
    f"mdmem-{PORT}={KEYS.token}": False,
    f"x{COOKIE}": False,
}


@pytest.mark.costly
def test_who_may_ask(guard: Guard, pages: Pages):
    wrong = []
    for (host, h), (origin, o), (site, s), (cookie, c) in product(
        HOSTS.items(), ORIGINS.items(), SITES.items(), COOKIES.items()
    ):
        count = len(pages.asked)
        status = get(
            guard, "/files", host=host, origin=origin, sec_fetch_site=site, cookie=cookie
        ).status
        expected = 421 if not h else 403 if not (o and s) else 401 if not c else 200
        if status != expected or len(pages.asked) - count != (expected == 200):
            wrong.append((host, origin, site, cookie, status, expected))
    assert not wrong


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("host", HOST, 421),
        ("host", "evil.test", 421),
        ("origin", "http://evil.test", 403),
        ("sec-fetch-site", "cross-site", 403),
    ],
)
def test_a_repeated_header_cannot_hide_one(guard: Guard, name: str, value: str, status: int):
    right = [("host", HOST), ("origin", f"http://{HOST}"), ("sec-fetch-site", "same-origin")]
    asking = [*right, ("cookie", COOKIE)]
    assert ask(guard, "GET", "/", asking).status == 200
    assert ask(guard, "GET", "/", [*asking, (name, value)]).status == status
    assert ask(guard, "GET", "/", [(name, value), *asking]).status == status


def test_the_same_for_files_that_pages_load(guard: Guard, pages: Pages):
    assert get(guard, "/static/0123/page.css", host="evil.test").status == 421
    assert get(guard, "/static/0123/page.css", sec_fetch_site="cross-site").status == 403
    assert get(guard, "/static/0123/page.css", cookie=None).status == 401
    assert pages.asked == []


def test_every_answer_has_the_headers(guard: Guard):
    answers = {
        200: get(guard),
        303: get(guard, f"/?key={KEYS.key}"),
        401: get(guard, cookie=None),
        403: get(guard, origin="null"),
        404: get(guard, "/a%00b"),
        405: ask(guard, "PUT", "/", {"cookie": COOKIE}),
        413: post(guard, {"text": "x" * 1_100_000}),
        414: get(guard, f"/search?q={'x' * 1000}"),
        415: post(guard, {}, content_type="text/plain"),
        431: get(guard, x="a" * 65_536),
        421: get(guard, host="evil.test"),
    }
    for status, response in answers.items():
        assert response.status == status
        check_policy(response)


@pytest.mark.parametrize("status", [200, 303, 404, 409, 500])
def test_every_answer_of_the_pages_has_the_headers(status: int):
    loose = Pages(
        status,
        content_security_policy="default-src *",
        referrer_policy="unsafe-url",
        cache_control="public, max-age=9",
        location="/",
    )
    response = get(Guard(loose, PORT, KEYS), "/day/2026-03-05")
    check_policy(response)
    assert response.headers["location"] == "/"


def test_only_files_that_pages_load_are_kept_by_the_browser():
    keeping = {"cache_control": "private, immutable"}
    found = get(Guard(Pages(200, **keeping), PORT, KEYS), "/static/0123/page.css")
    assert found.headers["cache-control"] == "private, immutable"
    missing = get(Guard(Pages(404, **keeping), PORT, KEYS), "/static/0123/page.css")
    assert missing.headers["cache-control"] == "no-store"
    assert get(Guard(Pages(), PORT, KEYS), "/static/x/y").headers["cache-control"] == "no-store"


def test_a_bug_has_the_headers_and_is_raised():
    guard, sent = Guard(Failing(), PORT, KEYS), []

    async def keeping(scope: Any, receive: Any, send: Any) -> None:
        async def keep(message: Any) -> None:
            sent.append(message)
            await send(message)

        with pytest.raises(ZeroDivisionError):
            await guard(scope, receive, keep)

    response = ask(keeping, "GET", "/", {"cookie": COOKIE})
    assert (response.status, len(sent)) == (500, 2)
    check_policy(response)


def test_the_key_becomes_a_cookie_and_leaves_the_address(guard: Guard, pages: Pages):
    response = get(guard, f"/?key={KEYS.key}", cookie=None)
    assert (response.status, response.headers["location"]) == (303, "/")
    cookie, *attributes = response.headers["set-cookie"].split("; ")
    assert cookie == COOKIE
    assert attributes == ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"]
    assert pages.asked == []


@pytest.mark.parametrize(
    ("address", "location"),
    [
        ("/search?q=tea&key={key}&since=2026", "/search?q=tea&since=2026"),
        ("/s/memory/caf%C3%A9.md?key={key}", "/s/memory/caf%C3%A9.md"),
        ("/search?%6Bey={key}&q=a%26b", "/search?q=a%26b"),
        ("//evil.test/?key={key}", "/"),
        ("/%5Cevil.test/?key={key}", "/%5Cevil.test/"),
    ],
)
def test_where_the_key_was_read(guard: Guard, address: str, location: str):
    response = get(guard, address.format(key=KEYS.key), cookie=None)
    assert (response.status, response.headers["location"]) == (303, location)


@pytest.mark.parametrize(
    "query",
    [
        "key=",
        "key=x",
        f"key={KEYS.key}x",
        f"key={KEYS.token}",
        f"key={KEYS.key}&key={KEYS.key}",
        "key=%F0%9F%94%91",
    ],
)
@pytest.mark.parametrize("cookie", [None, COOKIE])
def test_a_wrong_key_is_refused(guard: Guard, pages: Pages, query: str, cookie: str | None):
    response = get(guard, f"/?{query}", cookie=cookie)
    assert response.status == 401
    assert "set-cookie" not in response.headers
    assert pages.asked == []


def test_a_key_of_a_foreign_page_is_not_looked_at(guard: Guard):
    for headers in ({"host": "evil.test"}, {"sec_fetch_site": "cross-site"}, {"origin": "null"}):
        assert "set-cookie" not in get(guard, f"/?key={KEYS.key}", **headers).headers


def test_a_key_for_one_use(guard: Guard):
    key = guard.make_single_use_key()
    first, second = (get(guard, f"/?key={key}", cookie=None) for _ in range(2))
    assert (first.status, second.status) == (303, 401)
    assert first.headers["set-cookie"].startswith(COOKIE)
    assert get(guard, cookie=f"mdmem-{PORT}={key}").status == 401
    assert get(guard, f"/?key={KEYS.key}", cookie=None).status == 303


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"])
def test_other_methods(guard: Guard, pages: Pages, method: str):
    assert ask(guard, method, "/", {"cookie": COOKIE}).status == 405
    for path in ("/", f"/?key={KEYS.key}"):
        refused = ask(guard, method, path)
        assert (refused.status, "set-cookie" in refused.headers) == (401, False)
    assert pages.asked == []


def test_a_form_of_this_page(guard: Guard, pages: Pages):
    form = {"token": KEYS.token, "text": "a & ü"}
    assert post(guard, form, origin=f"http://{HOST}", sec_fetch_site="same-origin").status == 200
    assert pages.body == urlencode(form).encode()
    assert post(guard, form, content_type=f"{FORM.upper()}; charset=utf-8").status == 200
    assert pages.asked == ["POST /do/forget"] * 2


@pytest.mark.parametrize(
    ("form", "headers", "status"),
    [
        ({}, {}, 403),
        ({"token": ""}, {}, 403),
        ({"token": "x" * len(KEYS.token)}, {}, 403),
        ({"token": KEYS.token + "x"}, {}, 403),
        ({"token": KEYS.key}, {}, 403),
        ({"token": "ü"}, {}, 403),
        ({"Token": KEYS.token}, {}, 403),
        ({"token": KEYS.token}, {"cookie": None}, 401),
        ({"token": KEYS.token}, {"host": "evil.test"}, 421),
        ({"token": KEYS.token}, {"origin": "http://evil.test"}, 403),
        ({"token": KEYS.token}, {"origin": "null"}, 403),
        ({"token": KEYS.token}, {"sec_fetch_site": "same-site"}, 403),
        ({"token": KEYS.token}, {"content_type": None}, 415),
        ({"token": KEYS.token}, {"content_type": "text/plain"}, 415),
        ({"token": KEYS.token}, {"content_type": "application/json"}, 415),
        ({"token": KEYS.token}, {"content_type": "multipart/form-data"}, 415),
        ({"token": KEYS.token}, {"content_type": f"text/plain; {FORM}"}, 415),
    ],
)
def test_a_forged_form(
    guard: Guard,
    pages: Pages,
    form: Mapping[str, str],
    headers: Mapping[str, str | None],
    status: int,
):
    assert post(guard, form, **headers).status == status
    assert pages.asked == []


def test_a_token_given_twice_or_in_the_address_is_refused(guard: Guard, pages: Pages):
    asking = {"cookie": COOKIE, "content-type": FORM}
    twice = f"token={KEYS.token}&token={KEYS.token}".encode()
    assert ask(guard, "POST", "/do/forget", asking, twice).status == 403
    assert ask(guard, "POST", f"/do/forget?token={KEYS.token}", asking, b"a=b").status == 403
    two_types = [("host", HOST), ("cookie", COOKIE), *[("content-type", FORM)] * 2]
    assert ask(guard, "POST", "/do/forget", two_types, twice).status == 415
    assert pages.asked == []


def test_read_only(pages: Pages):
    guard = Guard(pages, PORT, KEYS, read_only=True)
    response = post(guard, {"token": KEYS.token})
    assert (response.status, response.headers["allow"]) == (405, "GET")
    assert get(guard).status == 200
    assert pages.asked == ["GET /"]


def test_sizes(guard: Guard, pages: Pages):
    room = 1024 * 1024 - len(f"token={KEYS.token}&text=")
    assert post(guard, {"token": KEYS.token, "text": "x" * room}).status == 200
    assert post(guard, {"token": KEYS.token, "text": "x" * (room + 1)}).status == 413
    assert get(guard, f"/search?q={'%C3%BC' * 998}").status == 200
    assert get(guard, f"/search?q={'%C3%BC' * 999}").status == 414
    assert len(pages.asked) == 2


def test_a_form_that_breaks_off_is_not_handed_on(guard: Guard, pages: Pages):
    whole = urlencode({"token": KEYS.token, "text": "x" * 70_000}).encode()

    async def cut(scope: Any, receive: Any, send: Any) -> None:
        messages = iter([await receive()])

        async def broken() -> Any:
            return next(messages, {"type": "http.disconnect"})

        await guard(scope, broken, send)

    asking = {"cookie": COOKIE, "content-type": FORM}
    assert ask(cut, "POST", "/do/forget", asking, whole).status == 400
    assert pages.asked == []


@pytest.mark.parametrize(
    "path", ["/f/a%00b", "/f/%0d%0aX-Evil:%201", "/f/%7f", "/f/%C2%85", "/f/\t", "http://evil.test"]
)
def test_controls_in_an_address(guard: Guard, pages: Pages, path: str):
    assert get(guard, path).status == 404
    assert pages.asked == []


def test_a_refusal_says_what_to_do_and_nothing_of_the_request(guard: Guard):
    response = get(guard, "/<script>?q=<script>", cookie="<script>")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "This page needs its key" in response.text
    assert "mdmem page" in response.text
    assert "script" not in response.text
    assert int(response.headers["content-length"]) == len(response.text)


def test_a_refusal_for_a_program(guard: Guard):
    response = get(guard, cookie=None, accept="application/json")
    assert (response.status, response.headers["content-type"]) == (401, "application/json")
    assert json.loads(response.text)["error"] == "refused"


def test_only_requests_with_the_key_keep_it_running(guard: Guard):
    before = guard.last_request
    for headers in ({"cookie": None}, {"host": "evil.test"}):
        get(guard, **headers)
    assert guard.last_request == before
    get(guard)
    assert guard.last_request > before


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("/s/MEMORY.md?section=Facts", "/s/MEMORY.md?section=Facts"),
        ("/day/2026-03-05#top", "/day/2026-03-05#top"),
        ("/f/ü.md", "/f/ü.md"),
        ("//evil.test", "/"),
        ("/\\evil.test", "/"),
        ("/\t/evil.test", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/a\x85", "/"),
        ("http://evil.test", "/"),
        ("javascript:alert(1)", "/"),
        ("evil", "/"),
        (" /a", "/"),
        ("", "/"),
    ],
)
def test_where_a_form_may_lead_back(address: str, path: str):
    assert own_path(address) == path
