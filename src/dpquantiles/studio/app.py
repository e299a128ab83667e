"""The application: which address leads to which page."""

from importlib import resources
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from dpquantiles.errors import PublicError
from dpquantiles.ledger import entries
from dpquantiles.present import releases as written
from dpquantiles.present import report
from dpquantiles.results import Result
from dpquantiles.studio import html
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.books import books_page, verified
from dpquantiles.studio.choose import choose_page
from dpquantiles.studio.guard import TOKEN, Guard
from dpquantiles.studio.plan import Wanted, answer, plan_page
from dpquantiles.studio.release import finished, review_page, state_page
from dpquantiles.studio.releases import explained, page_of
from dpquantiles.studio.studio import Studio

STATIC = {
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
}
MEDIA = {
    "json": "application/json",
    "csv": "text/csv",
    "html": "text/html",
    "svg": "image/svg+xml",
}
MOST_FIELDS = 64
NO_PAGE = "There is no such page. Continue with one of the steps above."


def application(studio: Studio, hosts: list[str], cookie: str) -> Guard:
    """All pages of a studio, behind its guard."""
    pages = Pages(studio)
    routes = [
        Route("/", pages.choose),
        Route("/plan", pages.plan),
        Route("/plan/answer", pages.answer),
        Route("/plan/cancel", pages.cancel, methods=["POST"]),
        Route("/release", pages.review),
        Route("/release", pages.confirm, methods=["POST"]),
        Route("/release/{request:path}", pages.state),
        Route("/download/{format}/{request:path}", pages.download),
        Route("/books", pages.books),
        Route("/books/verify", pages.verify, methods=["POST"]),
        Route("/books/export/{format}", pages.export),
        Route("/invite", pages.invite),
        Route("/invite", pages.invited, methods=["POST"]),
        Route("/static/{name}", static),
    ]
    handlers = {HTTPException: pages.refused, Exception: pages.failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, studio.keys, hosts, cookie)


NOWHERE = HTTPException(404)


def static(request: Request) -> Response:
    """A file of our own, by its exact name."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise NOWHERE
    text = resources.files(__package__).joinpath("static", name).read_text("utf-8")
    return PlainTextResponse(text, media_type=STATIC[name])


async def _form(request: Request) -> dict[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}


def _asked(request: Request) -> Asked:
    return Asked.of(dict(request.query_params))


def _wanted(request: Request) -> Wanted:
    return Wanted("compare" in request.query_params, "stopped" in request.query_params)


class Pages:
    """The answers to requests; those that may take long run in threads."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    def refused(self, _: Request, error: Exception) -> Response:
        """The answer to an address that leads nowhere, and to what is too much."""
        assert isinstance(error, HTTPException)
        words = NO_PAGE if error.status_code == NOWHERE.status_code else error.detail
        return self._sorry("Not here", words, error.status_code)

    def failed(self, _: Request, error: Exception) -> Response:
        """The answer to a mistake of ours; it quotes nothing."""
        return self._sorry("Something went wrong", explained(error), 500)

    def _sorry(self, title: str, words: str, status: int) -> Response:
        content = [html.tag("h1", title), html.alert(words)]
        page = html.page(title, "", content, links=self.studio.links(Asked()))
        return HTMLResponse(page, status)

    def choose(self, request: Request) -> Response:
        """The data and their columns."""
        return HTMLResponse(choose_page(self.studio, _asked(request)))

    def plan(self, request: Request) -> Response:
        """The form and the picture."""
        return HTMLResponse(plan_page(self.studio, _asked(request), _wanted(request)))

    def answer(self, request: Request) -> Response:
        """The picture alone."""
        shown = answer(self.studio, _asked(request), _wanted(request))
        return HTMLResponse(html.written(shown))

    async def cancel(self, request: Request) -> Response:
        """End estimates that nobody waits for."""
        for name in (await _form(request)).get("names", "").split():
            self.studio.estimates.cancel(name)
        return Response(status_code=204)

    def review(self, request: Request) -> Response:
        """What will happen. The id of the request is in the address, so that a reload keeps it."""
        asked, known = _asked(request), request.query_params.get("request", "")
        if asked.data and not known:
            return RedirectResponse(f"/release?{asked.query}&request={entries.new_id()}", 303)
        return HTMLResponse(review_page(self.studio, asked, known))

    async def confirm(self, request: Request) -> Response:
        """Make the release, and show how far it is."""
        form = await _form(request)
        return await run_in_threadpool(self._confirm, Asked.of(form), form.get("request", ""))

    def _confirm(self, asked: Asked, known: str) -> Response:
        try:
            wanted = entries.require_name(request_id=known)
            if not asked.data:
                raise PublicError("data must be chosen before it is released")
            self.studio.releases.start(wanted, asked, lambda: self.studio.job(asked, wanted))
        except (PublicError, OSError) as error:
            page = state_page(self.studio, asked, known, explained(error))
            return HTMLResponse(page, 409)
        return RedirectResponse(f"{page_of(wanted)}?{asked.query}", 303)

    def state(self, request: Request) -> Response:
        """Progress, failure or result of a release."""
        known = request.path_params["request"]
        return HTMLResponse(state_page(self.studio, _asked(request), known))

    def download(self, request: Request) -> Response:
        """A result as a file."""
        known, form = request.path_params["request"], request.path_params["format"]
        found = finished(self.studio, known) if form in MEDIA else None
        if found is None:
            raise NOWHERE
        result, rest = found
        made = {
            "json": lambda: Result.to_json(result),
            "csv": lambda: written.csv(result),
            "html": lambda: report.page(result, rest),
            "svg": lambda: Result.to_svg(result),
        }
        return _file(made[form](), f"release.{form}", form)

    def books(self, request: Request) -> Response:  # noqa: ARG002
        """What was spent."""
        return HTMLResponse(books_page(self.studio))

    async def verify(self, request: Request) -> Response:
        """Check the books."""
        head = (await _form(request)).get("head", "").strip()[:64]
        verdict = await run_in_threadpool(verified, self.studio, head)
        return HTMLResponse(await run_in_threadpool(books_page, self.studio, *verdict))

    def export(self, request: Request) -> Response:
        """All entries as a file."""
        ledger, form = self.studio.ledger(), request.path_params["format"]
        if ledger is None or form not in ("json", "csv"):
            raise NOWHERE
        return _file(
            ledger.to_json() if form == "json" else ledger.to_csv(), f"ledger.{form}", form
        )

    def invite(self, _: Request, address: str = "") -> Response:
        """A page with a button that makes an address for another browser."""
        shown = html.tag("pre", address, tabindex="0", class_="wrap") if address else None
        content = html.card(
            "Open in another browser",
            html.tag("p", "A new address lets one more browser in. It works once."),
            html.tag(
                "form",
                html.tag("button", "Make an address", class_="button quiet"),
                method="post",
                action="/invite",
            ),
            shown,
        )
        title = html.tag("h1", "Another browser")
        links = self.studio.links(Asked())
        page = html.page("Another browser", "", title, content, links=links)
        return HTMLResponse(page)

    def invited(self, request: Request) -> Response:
        """The same page with the address."""
        address = f"http://{request.headers['host']}/?{TOKEN}={self.studio.keys.token()}"
        return self.invite(request, address)


def _file(text: str, name: str, form: str) -> Response:
    kept = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=MEDIA[form], headers=kept)
