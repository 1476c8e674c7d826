"""The served viewer: ``wayword view [RUN|FOLDER]…``.

    serve(Content(Library([Path("runs")])), port=8000)

Plain pages over HTTP, with server-sent events for live changes. Addresses:

    /                            every run
    /run/SLUG/                   a run; beneath it metrics, causes, texts, rows, live
    /run/SLUG/episode?id=ID      an episode
    /compare?run=A&run=B         two runs or more
    /play                        games of a person: see wayword.viewer.play
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from shlex import quote as quoted
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wayword.core import registry
from wayword.core.errors import UsageError, WaywordError
from wayword.core.loopback import BadRequest, is_loopback, read_object
from wayword.runs.plan import Plan
from wayword.viewer import play as pages
from wayword.viewer.content import Content, address
from wayword.viewer.library import Wish, slug
from wayword.viewer.markup import page, tag
from wayword.viewer.play import Games, PlayTable

HOST = "127.0.0.1"
_EVERY = 0.5
"""Seconds between two looks at a run that goes on."""

Endpoint = Callable[[Request], Awaitable[Response]]


def application(
    content: Content, host: str = HOST, token: str = "", games: Games | None = None
) -> Guard:
    """The ASGI application, behind its guard."""
    site = _Site(content)
    play = _PlayRoutes(content, games or Games(content.library.add))
    routes = [
        Route("/", site.home),
        Route("/live", site.live_home),
        Route("/compare", site.compare),
        Route("/compare/texts", site.compared_texts),
        Route("/run/{run}/", site.part("run")),
        Route("/run/{run}/metrics", site.part("metrics")),
        Route("/run/{run}/causes", site.part("causes")),
        Route("/run/{run}/texts", site.part("texts", kind=JSONResponse)),
        Route("/run/{run}/rows", site.rows),
        Route("/run/{run}/live", site.live),
        Route("/run/{run}/episode", site.part("episode", "id")),
        Route("/run/{run}/moves", site.part("moves", "id")),
        Route("/run/{run}/raw", site.part("raw", "id", "step", kind=PlainTextResponse)),
        Route("/run/{run}/experts", site.part("experts", "id", kind=PlainTextResponse)),
        Route("/run/{run}/continue", play.commands),
        Route("/play", play.form),
        Route("/play", play.begin, methods=["POST"]),
        Route("/play/{game}/", play.lobby),
        Route("/play/{game}/seat", play.seat),
        Route("/play/{game}/watch", play.seat),
        Route("/play/{game}/board", play.board),
        Route("/play/{game}/live", play.live),
        Route("/play/{game}/{verb}", play.post, methods=["POST"]),
    ]
    app = Starlette(
        routes=routes, exception_handlers={WaywordError: _unknown, 404: _unknown, 500: _broken}
    )
    return Guard(app, host, token)


class _Site:
    """What answers to each address. Pages are made on threads, so that none waits for another."""

    def __init__(self, content: Content) -> None:
        self._content = content

    async def home(self, request: Request) -> Response:
        only = self._content.library.only
        if only and "all" not in request.query_params:
            return RedirectResponse(f"run/{self._content.library.found()[0].slug}/")
        return HTMLResponse(await run_in_threadpool(self._content.home))

    def part(self, name: str, *keys: str, kind: type[Response] = HTMLResponse) -> Endpoint:
        """A page of a run, or a part of one; ``keys`` are read from the query."""
        make = getattr(self._content, name)

        async def answer(request: Request) -> Response:
            asked = [request.query_params.get(key, "") for key in keys]
            return kind(await run_in_threadpool(make, request.path_params["run"], *asked))

        return answer

    async def rows(self, request: Request) -> Response:
        query = request.query_params
        wish = Wish(query, query.getlist("range"))
        return JSONResponse(
            await run_in_threadpool(self._content.rows, request.path_params["run"], wish)
        )

    async def compare(self, request: Request) -> Response:
        runs = request.query_params.getlist("run")
        episode = request.query_params.get("id")
        if len(runs) < 2:
            return RedirectResponse("./?all=1")
        return HTMLResponse(await run_in_threadpool(self._content.compare, runs, episode))

    async def compared_texts(self, request: Request) -> Response:
        runs = request.query_params.getlist("run")
        return JSONResponse(await run_in_threadpool(self._content.compared_texts, runs))

    async def live(self, request: Request) -> Response:
        run = request.path_params["run"]
        return _events(request, lambda: self._content.going(run))

    async def live_home(self, request: Request) -> Response:
        return _events(request, self._content.going_home, 2.0)


class _PlayRoutes:
    """What answers to the addresses of games."""

    def __init__(self, content: Content, games: Games) -> None:
        self._content, self._games = content, games

    def _table(self, request: Request) -> PlayTable:
        return self._games.table(request.path_params["game"])

    async def form(self, request: Request) -> Response:
        return HTMLResponse(pages.begin_page(dict(request.query_params)))

    async def begin(self, request: Request) -> Response:
        """Begin a game. Only parts that are installed can be named, never a file."""
        said = {name: str(value) for name, value in (await _said(request)).items()}
        try:
            table = await run_in_threadpool(self._begin, said)
        except WaywordError as error:
            return JSONResponse({"problem": str(error)})
        return JSONResponse({"href": f"/play/{table.name}/"})

    async def commands(self, request: Request) -> Response:
        """How a recorded episode is continued from a step, by a model or by a person."""
        query = request.query_params
        at = self._place(request.path_params["run"], query.get("id", ""), query.get("step", ""))
        lines = ["wayword run AGENT --model MODEL", "wayword play"]
        return PlainTextResponse("\n".join(f"{line} --continue {quoted(at)}" for line in lines))

    def _place(self, run: str, episode: str, step: str) -> str:
        """``RUN:EPISODE:STEP``. Raises ``UsageError`` for what is not there."""
        rows = self._content.library.rows(run)
        if episode not in rows or not (step.isdecimal() and len(step) < 7):
            raise UsageError(f"there is no step {step!r} of episode {episode!r}")
        return f"{rows.run.path}:{episode}:{step}"

    def _begin(self, asked: Mapping[str, str]) -> PlayTable:
        if "run" in asked:
            run, episode, step = (str(asked.get(key, "")) for key in ("run", "id", "step"))
            at = self._place(run, episode, step)
            out = self._content.library.new_folder("from", run, episode, step)
            plan = Plan("human", "", data=self._content.data, out=out, continues=at)
            return self._games.begin(plan, others="human")
        on = ":".join(part for part in (asked.get("on", ""), asked.get("split", "")) if part)
        others = asked.get("with", "")
        _installed("dataset", on.partition(":")[0])
        if others:
            _installed("agent", others)
        plan = Plan(
            "human", on, data=self._content.data, episode=asked.get("episode", ""),
            out=self._content.library.new_folder("play", on, asked.get("as", ""), others),
        )  # fmt: skip
        return self._games.begin(plan, asked.get("as", ""), others or "human")

    async def lobby(self, request: Request) -> Response:
        table = self._table(request)
        if len(table.humans) == 1 and table.state != "failed":
            return RedirectResponse(f"seat?as={quote(table.humans[0], safe='')}")
        return HTMLResponse(pages.lobby_page(table))

    async def seat(self, request: Request) -> Response:
        watching = request.url.path.endswith("/watch")
        actor = "" if watching else request.query_params.get("as", "")
        table = self._table(request)
        if not watching and actor not in table.humans:
            raise UsageError(f"nobody plays {actor!r} here")
        return HTMLResponse(pages.seat_page(table, actor))

    async def board(self, request: Request) -> Response:
        table, actor = self._table(request), request.query_params.get("as", "")
        if actor and actor not in table.humans:
            raise UsageError(f"nobody plays {actor!r} here")
        return HTMLResponse(
            await run_in_threadpool(lambda: pages.board(table, actor, self._link(table)))
        )

    def _link(self, table: PlayTable) -> str:
        """Where the recorded episode is, once there is one."""
        if table.result is None or table.game is None or not table.game.episode:
            return ""
        self._content.library.add(table.result.path)
        name = self._content.library.name_of(table.result.path)
        return f"/run/{slug(name)}/{address(table.game.episode)}" if name else ""

    async def live(self, request: Request) -> Response:
        table = self._table(request)

        def look() -> Any:
            return {"version": table.version, "state": table.state, "ended": table.ended}

        return _events(request, look, 0.2)

    async def post(self, request: Request) -> Response:
        """Words of a person: an action, an answer, or that they leave."""
        table, said = self._table(request), await _said(request)
        verb, words = request.path_params["verb"], str(said.get("words", ""))[:_MOST_WORDS]
        number = said.get("number")
        number = number if isinstance(number, int) else 0
        actor = str(said.get("as", ""))
        if verb == "say" and actor in table.humans:
            problem = table.seat(actor).put(number, words)
            if not problem:
                await run_in_threadpool(table.seat(actor).settled, 1.5)
        elif verb == "answer":
            problem = table.answer(number, words)
        elif verb == "leave":
            problem = ""
            table.leave()
        else:
            raise UsageError(f"nobody can {verb} here")
        return JSONResponse({"problem": problem})


_MOST = 64 * 1024
"""Bytes of a request's body; a turn of a game takes a few."""
_MOST_WORDS = 2000
"""Characters of what a person says at once."""


def _installed(kind: registry.Kind, name: str) -> None:
    """Raises ``UsageError`` for a part that is a file, or none."""
    if name != "human" and name not in registry.names(kind):
        raise UsageError(f"no {kind} is called {name!r}; the list: wayword list {kind}s")


async def _said(request: Request) -> dict[str, str | int]:
    """The body: an object of texts and numbers. Raises ``BadRequest``."""
    found = await read_object(request.stream(), _MOST)
    if not found or not all(isinstance(value, str | int) for value in found.values()):
        raise BadRequest("the request must be a JSON object of texts and whole numbers")
    return found


def _events(request: Request, look: Callable[[], Any], every: float = _EVERY) -> Response:
    """What ``look`` sees, whenever it is something new. Each browser has its own turn: one that
    reads slowly is told of the latest state only, and one that has gone is forgotten."""

    async def told() -> AsyncIterator[str]:
        last = ""
        yield "retry: 2000\n\n"
        while not await request.is_disconnected():
            now = json.dumps(await run_in_threadpool(look))
            if now != last:
                last = now
                yield f"data: {now}\n\n"
            await asyncio.sleep(every)

    return StreamingResponse(told(), media_type="text/event-stream")


async def _unknown(request: Request, error: Exception) -> Response:
    """Something that is not there, or that cannot be read."""
    if isinstance(error, BadRequest):
        return PlainTextResponse(str(error), error.status)
    code = 404 if isinstance(error, UsageError) or not isinstance(error, WaywordError) else 422
    reason = str(error) if isinstance(error, WaywordError) else "there is no such page"
    return HTMLResponse(_notice("Not found" if code == 404 else "Cannot be shown", reason), code)


async def _broken(request: Request, error: Exception) -> Response:
    reason = f"{type(error).__name__}: the viewer could not make this page"
    return HTMLResponse(_notice("Something went wrong", reason), 500)


def _notice(title: str, reason: str) -> str:
    body = tag(
        "main", tag("h1", title), tag("p", reason, class_="why"),
        tag("p", tag("a", "all runs", href="/")),
    )  # fmt: skip
    return page(f"{title} · Wayword", body, "home", served=True)


class Server:
    """Serves on a port that is taken at once, so that its address is known before it serves.

        with Server(Content(library), port=0) as server:
            print(server.address)
            server.serve()                  # until Ctrl-C, or stop() from another thread

    Raises ``UsageError`` where the port is taken.
    """

    def __init__(self, content: Content, port: int = 0, host: str = HOST, token: str = "") -> None:
        self.games = Games(content.library.add)
        self._socket = _bound(host, port)
        number = self._socket.getsockname()[1]
        self.address = f"http://{host}:{number}/{f'?token={token}' if token else ''}"
        config = uvicorn.Config(
            application(content, host, token, self.games), log_level="critical", access_log=False,
            lifespan="off", timeout_graceful_shutdown=1, timeout_keep_alive=5,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    def serve(self) -> None:
        """Answer until stopped."""
        try:
            self._server.run([self._socket])
        finally:
            self.games.end()

    @contextmanager
    def beside(self) -> Iterator[Thread]:
        """Serve on a thread of its own while this is open."""
        thread = Thread(target=self.serve, daemon=True)
        thread.start()
        try:
            yield thread
        finally:
            self.stop()
            thread.join(10)

    def stop(self) -> None:
        """End ``serve``, from another thread."""
        self._server.should_exit = True
        self.games.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(128)
    except (OSError, OverflowError) as error:
        taken.close()
        problem = str(getattr(error, "strerror", None) or error).lower().rstrip(".")
        raise UsageError(f"port {port}: {problem}; give another --port") from error
    return taken


# Who may ask: this machine's browser, or one that has the token. A request passes three doors:
#
# * ``Host`` names this machine. A web page elsewhere could point its own name here (DNS rebinding);
#   its requests carry that name.
# * ``Origin``, where there is one, is this server. Requests that change something must have it, so
#   that no form of another page plays a game or starts a run.
# * Off loopback, every request has the token: in the address once, then in a cookie.

COOKIE = "wayword_token"
_SAFE = frozenset({"GET", "HEAD"})


def token_for(host: str, given: str) -> str:
    """The token that a server on ``host`` asks for: none on loopback unless one is given."""
    alone = host in ("localhost", "::1") or host.startswith("127.")
    return given or ("" if alone else secrets.token_urlsafe(24))


class Guard:
    """ASGI middleware. ``token`` is empty on loopback, where the machine is the boundary."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", token: str = "") -> None:
        self._app, self._token = app, token
        self._names = {host, socket.gethostname()} if token else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"x-content-type-options", b"nosniff"),
                    (b"x-frame-options", b"DENY"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", b"no-store"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                ]
            await send(message)

        await self._app(scope, receive, hardened)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Why a request is not answered, or None. The address with the token leads to a cookie."""
        host = headers.get("host", "")
        if not self._known(_name(host)):
            return PlainTextResponse("this server answers to its own name alone", 403)
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host:
            return PlainTextResponse("requests of other pages are refused", 403)
        if scope["method"] not in _SAFE and origin is None:
            return PlainTextResponse("a request that changes something must say its origin", 403)
        return self._without_token(scope, headers) if self._token else None

    def _known(self, name: str) -> bool:
        if name in self._names or is_loopback(name.strip("[]")):
            return True
        try:  # off loopback people write addresses; those cannot be pointed elsewhere
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return bool(self._token)

    def _without_token(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._right(given):
            answer = RedirectResponse(scope["path"], 303)
            answer.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return answer
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            kept = None
        if kept is not None and self._right(kept.value):
            return None
        return PlainTextResponse("open the address with the token that was printed", 401)

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


def _netloc(origin: str) -> str:
    """Host and port of an origin; empty for one that cannot be read."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The host without its port; an IPv6 address keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
