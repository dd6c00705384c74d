"""The dashboard's routes: requests are authenticated, pages rendered on a thread, and errors rendered as pages."""

import logging
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rememo._version import __version__
from rememo.errors import Forbidden, RememoError, Unauthorised
from rememo.model.scope import LABELS
from rememo.serve.dashboard import chart, display_text
from rememo.serve.dashboard.audit import audit_page
from rememo.serve.dashboard.changes import CHANGES, PAGE_CHANGES, answer_change, make_change
from rememo.serve.dashboard.context import context_page
from rememo.serve.dashboard.erase import erase_page, receipt_file
from rememo.serve.dashboard.facts import conflicts_page, facts_page
from rememo.serve.dashboard.flash import Flash, FlashSigner
from rememo.serve.dashboard.flows import flows_page
from rememo.serve.dashboard.graph import graph_page
from rememo.serve.dashboard.images import image_of
from rememo.serve.dashboard.jobs import jobs_page
from rememo.serve.dashboard.keys import keys_page
from rememo.serve.dashboard.login_sessions import COOKIE, SECONDS, LoginSessions
from rememo.serve.dashboard.navigation import GROUPS, Need, required_right
from rememo.serve.dashboard.overview import overview
from rememo.serve.dashboard.quarantine import quarantine_page
from rememo.serve.dashboard.records import record_page, record_text
from rememo.serve.dashboard.rooms import room_page, rooms_page
from rememo.serve.dashboard.search import search_hits, search_page
from rememo.serve.dashboard.settings import settings_page
from rememo.serve.dashboard.streamed_page import MARK, StreamedPage
from rememo.serve.dashboard.tokens import tokens_page
from rememo.serve.dashboard.versions import versions_page
from rememo.serve.dashboard.visit import Visit, parse_form, parse_query
from rememo.serve.http_errors import RETRY_STATUSES, STATUS, HttpError, public_error
from rememo.serve.service import Service, acting_as_key, require_right

_FOLDER: Final = Path(__file__).parent
_HTML: Final = "text/html; charset=utf-8"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
# Under "no-referrer" a browser would not send the origin of a form, which is checked.
_HEADERS: Final = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "same-origin"}
_SANDBOX: Final = {"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}
"""For user content: nothing in it is executed."""
_STATIC: Final = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_LARGEST: Final = 2**20
"""Bytes of a form."""
_SERVER_FAULT: Final = 500
_SEE_OTHER: Final = 303

Page = Callable[[Visit], tuple[str, dict[str, Any]]]
Answer = Callable[[Request], Awaitable[Response]]
PAGES: Final[dict[str, Page]] = {
    "/": overview,
    "/search": search_page,
    "/search/hits": search_hits,
    "/record": record_page,
    "/rooms": rooms_page,
    "/room": room_page,
    "/facts": facts_page,
    "/conflicts": conflicts_page,
    "/graph": graph_page,
    "/context": context_page,
    "/quarantine": quarantine_page,
    "/jobs": jobs_page,
    "/flows": flows_page,
    "/tokens": tokens_page,
    "/audit": audit_page,
    "/keys": keys_page,
    "/settings": settings_page,
    "/versions": versions_page,
    "/erase": erase_page,
}
_FRAGMENT_PAGES: Final = frozenset({"/search/hits"})

_log = logging.getLogger("rememo.serve")


def add_routes(service: Service, add: Callable[[str, str, Answer], None]) -> Callable[[], None]:
    """Add the dashboard's routes by `add(verb, path, endpoint)`; returns a function that preloads the templates."""
    board = Dashboard(service)
    for path, page in PAGES.items():
        add("GET", path, board.page(page, required_right(path)))
    add("GET", "/image", board.answering(board.image))
    add("GET", "/record/text", board.answering(board.whole_text))
    for name in CHANGES:
        add("POST", f"/change/{name}", board.changing(name))
    for name in PAGE_CHANGES:
        add("POST", f"/change/{name}", board.answered(name))
    add("POST", "/change/receipt", board.answering(board.receipt))
    add("GET", "/login", board.answering(board.log_in_page))
    add("POST", "/login", board.answering(board.log_in))
    add("POST", "/logout", board.answering(board.log_out))
    for name, media in _STATIC.items():
        add("GET", f"/static/{name}", _static(name, media))
    return board.warm


class Dashboard:
    """The pages of one served memory."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sessions = LoginSessions(service.memory, service.keys)
        self._marks = FlashSigner(service.memory, service.secret)
        self._root = service.options.root_path
        self._templates = Environment(
            loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        for tool in (
            display_text.visible,
            display_text.cut,
            display_text.label,
            display_text.format_time,
            display_text.format_day,
            display_text.iso,
            display_text.form_time,
            display_text.format_size,
        ):
            self._templates.filters[tool.__name__] = tool
        self._templates.globals.update(  # pyright: ignore[reportCallIssue] - it takes any value
            {"version": __version__, "WIDTH": chart.WIDTH, "HEIGHT": chart.HEIGHT, "LABELS": LABELS, "root": self._root}  # pyright: ignore[reportArgumentType] - the same
        )

    # ---- answering

    def page(self, page: Page, needs: Need) -> Answer:
        """Return the endpoint of a page."""

        async def answer(request: Request) -> Response:
            opening = StreamedPage()

            def make() -> Response:
                visit = self._visit(request)
                require_right(visit.key, *needs)
                if visit.path not in _FRAGMENT_PAGES:
                    visit.on_start = lambda: opening.tell(self._top(visit))
                with acting_as_key(visit.key, request):
                    name, values = page(visit)
                return self._html(name, visit, values)

            def late(error: Exception) -> bytes:
                return (
                    self._templates.get_template("late.html")
                    .render(message=_describe_error(request, error)[1])
                    .encode()
                )

            try:
                await self._service.body(request, most=_LARGEST)
                return await opening.answer(self._service.run(make), late, _HEADERS)
            except (RememoError, HttpError) as error:
                return self._fault(request, error)

        return answer

    def _top(self, visit: Visit) -> bytes:
        """Return the HTML above a page's content."""
        title = next((name for _, views in GROUPS for path, name in views if path == visit.path), "Rememo")
        page = self._templates.get_template("opening.html").render(visit=visit, title=title)
        return page.encode(errors="replace").partition(MARK)[0]

    def warm(self) -> None:
        """Compile all templates in advance."""
        for name in self._templates.list_templates():
            self._templates.get_template(name)

    def changing(self, name: str) -> Answer:
        """Return the endpoint that makes a change and redirects back."""

        def make(request: Request, body: bytes) -> Response:
            visit = self._visit(request, body)
            self._need_token(visit)
            visit.flash = self._marks.read(visit.form.get("done", ""), visit.key.id)
            with acting_as_key(visit.key, request):
                message, receipt = make_change(visit, name)
            back = self._local(visit.form.get("back", ""))
            at = None if receipt is None else receipt.recorded_at
            token = self._marks.of(Flash(message=message, tenant=visit.memory.bound.tenant, at=at), visit.key.id)
            address, mark, fragment = back.partition("#")
            return RedirectResponse(
                f"{address}{'&' if '?' in address else '?'}done={token}{mark}{fragment}", _SEE_OTHER
            )

        return self.answering(make)

    def answered(self, name: str) -> Answer:
        """Return the endpoint that makes a change and responds with a page, whose content is shown only once."""

        def make(request: Request, body: bytes) -> Response:
            visit = self._visit(request, body)
            self._need_token(visit)
            with acting_as_key(visit.key, request):
                template, values = answer_change(visit, name)
            return self._html(template, visit, values)

        return self.answering(make)

    def receipt(self, request: Request, body: bytes) -> Response:
        """Return the receipt in a page's form as a download."""
        visit = self._visit(request, body)
        self._need_token(visit)
        name, text = receipt_file(visit)
        headers = {**_SANDBOX, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text.encode(errors="replace"), 200, headers, "application/json")

    def answering(self, make: Callable[[Request, bytes], Response]) -> Answer:
        """Return an endpoint that runs a function on a thread; errors are rendered as pages."""

        async def answer(request: Request) -> Response:
            try:
                body = await self._service.body(request, most=_LARGEST)
                return await self._service.run(lambda: self._safely(make, request, body))
            except (RememoError, HttpError) as error:
                return self._fault(request, error)

        return answer

    def _safely(self, make: Callable[[Request, bytes], Response], request: Request, body: bytes) -> Response:
        if request.method != "GET":
            _require_same_origin(request)
        return make(request, body)

    def _fault(self, request: Request, error: RememoError | HttpError) -> Response:
        status, message = _describe_error(request, error)
        path = request.url.path
        fragment = path in _FRAGMENT_PAGES
        if isinstance(error, Unauthorised) and request.method == "GET" and not fragment and path != "/login":
            back = self._root + path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{self._root}/login?{urlencode({'next': back})}", _SEE_OTHER)
        name = "fault_part.html" if fragment else "fault.html"
        html = self._templates.get_template(name).render(message=message)
        headers = {**_HEADERS, "Retry-After": "1"} if status in RETRY_STATUSES else _HEADERS
        return Response(html.encode(errors="replace"), status, headers, _HTML)

    def _html(self, name: str, visit: Visit, values: dict[str, Any]) -> Response:
        html = self._templates.get_template(name).render(visit=visit, **values)
        return Response(html.encode(errors="replace"), 200, _HEADERS, _HTML)

    # ---- who asks

    def _visit(self, request: Request, body: bytes = b"") -> Visit:
        service, token = self._service, request.cookies.get(COOKIE, "")
        locked = service.keys.any()
        if locked:
            session = self._sessions.find(token)
            key, csrf = session.key, session.csrf
            request.state.key, request.state.reach = key.id, key.scope
            service.mark_verified(request, key)
            service.rate.take(key.id, key.rate)
        else:
            key, csrf = service.authenticate(request), self._marks.token()
        query = parse_query(request.query_params)
        visit = Visit(
            service=service, key=key, csrf=csrf, path=request.url.path, query=query, form=parse_form(body),
            open=not locked,
        )  # fmt: skip
        visit.flash = self._marks.read(query.get("done", ""), key.id)
        return visit

    def _need_token(self, visit: Visit) -> None:
        if not secrets.compare_digest(visit.form.get("csrf", "").encode(), visit.csrf.encode()):
            raise Forbidden("invalid CSRF token: open the page again")

    def log_in_page(self, request: Request, _: bytes) -> Response:
        """Return the login form; redirect when no key is needed."""
        back = self._local(request.query_params.get("next", ""))
        if not self._service.keys.any():
            self._service.authenticate(request)
            return RedirectResponse(back, _SEE_OTHER)
        return self._log_in_form(back, "", 200)

    def log_in(self, request: Request, body: bytes) -> Response:
        """Log in with a key, and start a session."""
        form = parse_form(body)
        back = self._local(form.get("next", ""))
        try:
            token = self._sessions.begin(form.get("key", "").strip())
        except Unauthorised as error:
            return self._log_in_form(back, str(error), STATUS[error.code])
        answer = RedirectResponse(back, _SEE_OTHER)
        answer.set_cookie(
            COOKIE, token, max_age=SECONDS, path=self._root or "/", httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return answer

    def log_out(self, request: Request, body: bytes) -> Response:
        """End the session."""
        self._need_token(self._visit(request, body))
        self._sessions.end(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse(f"{self._root}/login", _SEE_OTHER)
        answer.delete_cookie(COOKIE, path=self._root or "/", httponly=True, samesite="strict")
        return answer

    def _log_in_form(self, back: str, message: str, status: int) -> Response:
        html = self._templates.get_template("login.html").render(back=back, message=message)
        return Response(html.encode(errors="replace"), status, _HEADERS, _HTML)

    def image(self, request: Request, _: bytes) -> Response:
        """Return an embedded image of a message, sandboxed."""
        visit = self._visit(request)
        require_right(visit.key, "read", "scope")
        with acting_as_key(visit.key, request):
            content, kind = image_of(visit)
        return Response(content, 200, {**_SANDBOX, "Cross-Origin-Resource-Policy": "same-origin"}, kind)

    def whole_text(self, request: Request, _: bytes) -> Response:
        """Return a record's text as it is stored, as sandboxed plain text."""
        visit = self._visit(request)
        require_right(visit.key, "read", "scope")
        with acting_as_key(visit.key, request):
            text = record_text(visit)
        return Response(text.encode(errors="replace"), 200, _SANDBOX, "text/plain; charset=utf-8")

    def _local(self, address: str) -> str:
        """Return a path of this server; any other URL becomes the overview (no open redirects)."""
        plain = address.startswith(f"{self._root}/") and not address.startswith("//") and "\\" not in address
        return address if plain and address.isascii() and address.isprintable() else f"{self._root}/"


def _describe_error(request: Request, error: Exception) -> tuple[int, str]:
    """Return the status of an error, and its public message."""
    if isinstance(error, HttpError):
        return error.status, str(error)
    if isinstance(error, RememoError):
        status, message = public_error(error)
        return status, message.replace("the request's id", f"the request's id {request.state.id}")
    _log.error("request %s failed: %r", request.state.id, error)
    return _SERVER_FAULT, f"internal error; the server's log has the cause under the request's id {request.state.id}"


def _require_same_origin(request: Request) -> None:
    """Raise `Forbidden` for cross-site requests, by the headers that browsers send."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if site not in (None, "same-origin", "none") or foreign:
        raise Forbidden("cross-site request refused; nothing was changed")


def _static(name: str, media: str) -> Answer:
    content = (_FOLDER / "static" / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, 200, {**_HEADERS, "Cache-Control": "no-cache"}, media)

    return answer
