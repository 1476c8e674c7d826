"""The served viewer: ``wayword view [RUN|FOLDER]…``.

    serve(Content(Library([Path("runs")])), port=8000)

Plain pages over HTTP, with server-sent events for live changes. The routes are in ``application``.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import ipaddress
import json
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from shlex import quote as quoted
from threading import Thread
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
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
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, WaywordError
from wayword.core.loopback import BadRequest, binding, is_loopback, read_object
from wayword.core.secrets import redacted
from wayword.core.visible import visible
from wayword.runs.catalog import present
from wayword.runs.plan import Plan
from wayword.viewer import play
from wayword.viewer.content import Content
from wayword.viewer.games import Games, PlayTable
from wayword.viewer.markup import page

HOST = "127.0.0.1"
# Seconds between two checks of a live run, which writes its progress as often
_EVERY = 0.5
# Seconds that a browser waits for a page before it shows a line instead: with the request itself
# less than one second, from which on a reader doubts that anything happens.
_PATIENCE = 0.5

Endpoint = Callable[[Request], Response]


def application(
    content: Content,
    host: str = HOST,
    token: str = "",
    games: Games | None = None,
) -> Guard:
    """Return the ASGI application, wrapped in its guard.

    ``host`` is the name under which browsers reach the server, ``token`` what they must
    have off loopback. ``games`` are the running games, which :class:`Server` ends; by
    default a new set that no one ends.
    """
    site = _Site(content, games or Games(content.library.add))
    # ``part(METHOD, KEY…)``: a method of ``Content``, and its parameters in the address
    routes = [
        Route("/", site.home),
        Route("/live", site.live_home),
        Route("/live-run", site.open_live_run),
        Route("/compare", site.compare),
        Route("/compare/flips", site.compared("flips")),
        Route("/compare/lengths", site.compared("lengths")),
        Route("/run/{run}/", site.part("run")),
        Route("/run/{run}/metrics", site.part("metrics")),
        Route("/run/{run}/causes", site.part("causes")),
        Route("/run/{run}/texts", site.part("texts", kind=JSONResponse)),
        Route("/run/{run}/rows", site.rows),
        Route("/run/{run}/search", site.part("search", "q", kind=JSONResponse)),
        Route("/run/{run}/live", site.live),
        Route("/run/{run}/episode", site.part("episode", "id")),
        Route(
            "/run/{run}/document", site.part("document", "id", kind=PlainTextResponse)
        ),
        Route("/run/{run}/moves", site.part("moves", "id")),
        Route(
            "/run/{run}/sentence", site.part("sentence", "id", kind=PlainTextResponse)
        ),
        Route("/run/{run}/raw", site.part("raw", "id", "step", kind=PlainTextResponse)),
        Route(
            "/run/{run}/prompts",
            site.part("prompts", "id", "step", kind=PlainTextResponse),
        ),
        Route("/run/{run}/experts", site.part("experts", "id", kind=PlainTextResponse)),
        Route("/run/{run}/continue", site.commands),
        Route("/play", site.form),
        Route("/play", site.begin, methods=["POST"]),
        Route("/play/{game}/", site.lobby),
        # Without a seat in its address, a browser watches.
        Route("/play/{game}/seat", site.seat),
        Route("/play/{game}/watch", site.seat),
        Route("/play/{game}/board", site.board),
        Route("/play/{game}/live", site.live_game),
        Route("/play/{game}/{verb}", site.post, methods=["POST"]),
    ]
    handlers = dict.fromkeys((WaywordError, 404, 500), _problem)
    return Guard(Starlette(routes=routes, exception_handlers=handlers), host, token)


class _Site:
    """Handlers of all addresses. Starlette runs synchronous ones on threads.

    A ``WaywordError`` raised by a handler becomes a page, see ``_problem``.
    """

    def __init__(self, content: Content, games: Games) -> None:
        self._content = content
        self._games = games
        self._pages: dict[str, Future[str]] = {}
        """Pages that are being made, by their addresses."""

    def _page(self, request: Request, make: Callable[[], str]) -> Response:
        """Return a page. A browser that opens one which takes long gets a line that it is being
        made, and a script that requests it again."""
        # Scripts, which request parts of pages, wait for them.
        if request.headers.get("sec-fetch-mode") != "navigate":
            return _html(make())
        address = str(request.url)
        made: Future[str] = Future()
        job = self._pages.setdefault(address, made)
        if job is made:
            Thread(target=_settle, args=(job, make), daemon=True).start()
        try:
            return _html(job.result(_PATIENCE))
        except TimeoutError:
            reason = "The page is being made from the records and data of its run."
            return _notice("One moment", reason, 200, "wait")
        finally:
            # A page that was made while no browser waited is made again: records may have changed.
            for each, page_of in list(self._pages.items()):
                if page_of.done() and (each == address or job.done()):
                    self._pages.pop(each, None)

    def home(self, request: Request) -> Response:
        """Return the home page; for a library of a single run, redirect to that run."""
        only = self._content.library.only
        if only and "all" not in request.query_params:
            return RedirectResponse(f"run/{self._content.library.runs()[0].slug}/")
        return self._page(request, self._content.home)

    def open_live_run(self, request: Request) -> Response:
        """Redirect to the run in progress; before it starts, return a page that reloads itself."""
        # The browser is opened before the run has written anything.
        if run := self._content.live_run():
            return RedirectResponse(f"run/{run}/")
        reason = "The run opens here once its first episode has started."
        return _notice("Starting", reason, 200, "wait")

    def part(
        self, name: str, *keys: str, kind: type[Response] | None = None
    ) -> Endpoint:
        """Return the handler that answers with a method of ``Content``, called ``name``.

        The method gets the run of the path and the query's ``keys``, missing ones as
        empty text. ``kind`` is the class of the response, by default an HTML page.
        Errors of a part are plain text, which the page shows in its place: 404 for what
        does not exist, 422 for what cannot be read.
        """
        make = getattr(self._content, name)

        def answer(request: Request) -> Response:
            # A missing key is an empty text, which names nothing: the content says so
            # in one line.
            values = [request.query_params.get(key, "") for key in keys]
            make_part = partial(make, request.path_params["run"], *values)
            if kind is None:
                return self._page(request, make_part)
            try:
                return kind(make_part())
            except WaywordError as error:
                # A usage error names what is not there; others are damaged records.
                status = 404 if isinstance(error, UsageError) else 422
                return PlainTextResponse(str(error), status)

        return answer

    def rows(self, request: Request) -> Response:
        """Return a page of a run's rows as JSON, by the fields of the query."""
        run = request.path_params["run"]
        return JSONResponse(self._content.rows(run, request.query_params))

    def compare(self, request: Request) -> Response:
        """Return the comparison of the runs in the query or, with an ``id``, of one episode."""
        runs = request.query_params.getlist("run")
        episode = request.query_params.get("id")
        # One run has nothing to be compared with; the home page lists the others.
        if len(runs) < 2:
            return RedirectResponse("./?all=1")
        return self._page(request, lambda: self._content.compare(runs, episode))

    def compared(self, name: str) -> Endpoint:
        """Return the handler of a part of a comparison, a method of ``Content``."""
        make = getattr(self._content, name)

        def answer(request: Request) -> Response:
            return _html(make(request.query_params.getlist("run")))

        return answer

    def live(self, request: Request) -> Response:
        """Stream the state of a run: its page reloads the parts that changed."""
        run = request.path_params["run"]
        return _events(request, lambda: self._content.live_state(run))

    def live_home(self, request: Request) -> Response:
        """Stream the state of the home page, every two seconds: it may list many runs."""
        return _events(request, self._content.live_home, 2.0)

    # Games.

    def _table(self, request: Request) -> PlayTable:
        """Return the game that the address names. Raises ``UsageError`` if there is none."""
        return self._games.table(request.path_params["game"])

    def form(self, request: Request) -> Response:
        """Return the form that begins a game, filled from the query, and the running games."""
        values = dict(request.query_params)
        dataset, _, split = values.get("on", "houses").partition(":")
        datasets = present(self._content.data)
        written = page(
            "begin_page.html",
            "play",
            served=True,
            datasets=datasets,
            absent=[name for name in registry.names("dataset") if name not in datasets],
            chosen=dataset,
            values={"split": split, **values},
            games=self._games.running(),
        )
        return _html(written)

    async def begin(self, request: Request) -> Response:
        """Start a game. Only installed parts can be named, never a file.

        Returns ``href``, the address of the game, or ``problem``, which the form shows.
        """
        body = await _body(request)
        given = {name: str(value) for name, value in body.items()}
        try:
            table = await run_in_threadpool(self._begin, given)
        except WaywordError as error:
            return JSONResponse({"problem": str(error)})
        return JSONResponse({"href": f"/play/{table.name}/"})

    def _begin(self, given: Mapping[str, str]) -> PlayTable:
        """Begin the game of a form: the next of a series, one from a recorded step, or a new one.

        ``given`` has ``after`` (and ``again``), or ``run``, ``id`` and ``step``, or
        ``on``, ``split``, ``as``, ``with`` and ``episode``. Raises ``UsageError``.
        """
        library = self._content.library
        data = self._content.data
        if "after" in given:
            return self._games.after(given["after"], "again" in given)
        if "run" in given:
            run = given["run"]
            recorded = given.get("id", "")
            step = given.get("step", "")
            out = library.new_folder("from", run, recorded, step)
            at = self._place(run, recorded, step)
            plan = Plan("human", "", data=data, out=out, continues=at)
            return self._games.begin(plan, others="human")
        # Without a split, the dataset's default one.
        named = (given.get("on"), given.get("split"))
        on = ":".join(filter(None, named))
        actor = given.get("as", "")
        others = given.get("with", "")
        # A name with a path would load a file of this machine at the wish of a page.
        _installed("dataset", on.partition(":")[0])
        if others:
            _installed("agent", others)
        out = library.new_folder("play", on, actor, others)
        episode = given.get("episode", "")
        plan = Plan("human", on, data=data, episode=episode, out=out)
        return self._games.begin(plan, actor, others or "human")

    def commands(self, request: Request) -> Response:
        """Return the commands that continue an episode from a step, to be copied."""
        run = request.path_params["run"]
        query = request.query_params
        episode = query.get("id", "")
        at = self._place(run, episode, query.get("step", ""))
        lines = ["wayword run AGENT --model MODEL", "wayword play"]
        # An episode's id is from the record: its control characters are made visible.
        place = visible(quoted(at))
        text = "\n".join(f"{line} --continue {place}" for line in lines)
        return PlainTextResponse(text)

    def _place(self, run: str, episode: str, step: str) -> str:
        """Return ``RUN:EPISODE:STEP``. Raises ``UsageError`` if there is no such episode.

        ``step`` must be a number; whether the episode is that long shows once it is
        opened.
        """
        rows = self._content.library.rows(run)
        is_number = step.isdecimal() and len(step) < 7
        if episode not in rows or not is_number:
            raise UsageError(f"no step {step!r} of episode {episode!r}")
        return f"{rows.run.path}:{episode}:{step}"

    def lobby(self, request: Request) -> Response:
        """Return the choice of a seat; for a single person, redirect to the only one."""
        table = self._table(request)
        # A game for one person needs no choice of a seat.
        if len(table.humans) == 1 and table.state != "failed":
            return RedirectResponse(f"seat?as={quote(table.humans[0], safe='')}")
        return _html(page("lobby_page.html", "play", served=True, game=table))

    def _seated(self, request: Request) -> tuple[PlayTable, str]:
        """Return the game and the actor of the query; the empty actor is an observer."""
        table = self._table(request)
        actor = request.query_params.get("as", "")
        if actor and actor not in table.humans:
            raise UsageError(f"no person plays {actor!r} in this game")
        return table, actor

    def seat(self, request: Request) -> Response:
        """Return the page of a seat or an observer: a frame, whose board it requests."""
        table, actor = self._seated(request)
        written = page("seat_page.html", "play", served=True, game=table, actor=actor)
        return _html(written)

    def board(self, request: Request) -> Response:
        """Return the board of a seat as it is now, after the game with the recorded result."""
        table, actor = self._seated(request)
        ending = play.GameEnd()
        with table.changed:  # the game must not end between the two
            played = table.game
            if played is not None and played.episode:
                # From now on the game is a run like the others, with a page of
                # its own.
                self._content.library.add(played.result.path)
                seat = table.seat(actor or next(iter(table.humans), ""))
                ending = self._content.ending(played, seat.letters)
            tally = self._content.tally(table.series)
            return _html(play.board(table, actor, ending, tally))

    def live_game(self, request: Request) -> Response:
        """Stream the version and state of a game, which tell the page to reload its board."""
        table = self._table(request)

        def look() -> JsonObject:
            return {
                "version": table.version,
                "state": table.state,
                "ended": table.ended,
            }

        # Often enough that a turn seems to show at once.
        return _events(request, look, 0.2)

    async def post(self, request: Request) -> Response:
        """Take what a page sends to a game: ``say`` (a turn), ``answer`` or ``leave``.

        Returns ``problem``, empty if the words were taken, and for an action that
        should be confirmed ``question``. Raises ``UsageError`` for other verbs.
        """
        table = self._table(request)
        given = await _body(request)
        verb = request.path_params["verb"]
        # Whatever a page sends is cut first: nothing below handles long texts.
        words = str(given.get("words", ""))[:_MOST_WORDS]
        actor = str(given.get("as", ""))
        number = given.get("number")
        if not isinstance(number, int):
            number = 0  # no question has this number
        problem = ""
        if verb == "say" and actor in table.humans:
            problem, question = table.seat(actor).check(words)
            # Asked once: the page sends the same words again, now sure.
            if question and not given.get("sure"):
                return JSONResponse({"problem": "", "question": question})
            problem = problem or table.seat(actor).put(number, words)
            if not problem:
                # Most turns take less, so the page's next request already sees
                # what came of this one.
                await run_in_threadpool(table.seat(actor).settled, 1.5)
        elif verb == "answer":
            problem = table.answer(number, words)
        elif verb == "leave":
            table.leave()
        else:
            raise UsageError(f"unknown request {verb!r}")
        return JSONResponse({"problem": problem})


_MOST = 64 * 1024  # bytes of a request's body; a turn of a game takes a few
_MOST_WORDS = 2000  # characters of what a person says at once


def _installed(kind: registry.Kind, name: str) -> None:
    """Raise ``UsageError`` unless a part is installed: a page must not name a file."""
    if name != "human" and name not in registry.names(kind):
        raise UsageError(
            f"no {kind} is called {name!r}; list them with: wayword list {kind}s"
        )


async def _body(request: Request) -> dict[str, str | int]:
    """Return the body, an object of strings and numbers. Raises ``BadRequest``."""
    body = await read_object(request.stream(), _MOST)
    is_flat = all(isinstance(value, str | int) for value in body.values())
    if not body or not is_flat:
        raise BadRequest("the request must be a JSON object of strings and integers")
    return body


def _events(
    request: Request, look: Callable[[], Any], every: float = _EVERY
) -> Response:
    """Stream the result of ``look`` as server-sent events, one on each change.

    ``look`` is called on a thread ``every`` seconds and must return JSON values. A slow
    browser gets only the latest state. The stream ends when the browser disconnects.
    """

    async def events() -> AsyncIterator[str]:
        last = ""
        # Browsers reconnect after two seconds, as when the computer slept.
        yield "retry: 2000\n\n"
        while not await request.is_disconnected():
            # Compared as text: equal states send nothing, and a stream costs nothing
            # while a run waits.
            now = redacted(json.dumps(await run_in_threadpool(look)))
            if now != last:
                last = now
                yield f"data: {now}\n\n"
            await asyncio.sleep(every)

    return StreamingResponse(events(), media_type="text/event-stream")


async def _problem(request: Request, error: Exception) -> Response:
    """Return the error page for a refused request, a missing item, an unreadable one or a defect.

    Of a defect only the class is shown: its message may have contents of files.
    """
    if isinstance(error, BadRequest):
        # A script reads it, not a person.
        return PlainTextResponse(str(error), error.status)
    # It names something that does not exist.
    if isinstance(error, UsageError):
        return _notice("Not found", str(error), 404)
    if isinstance(error, WaywordError):
        return _notice("Cannot be shown", str(error), 422)
    # Registered for 404 alone, see ``application``
    if isinstance(error, HTTPException):
        return _notice("Not found", "no such page", 404)
    reason = f"{type(error).__name__}: the viewer could not render this page"
    return _notice("Something went wrong", reason, 500)


def _notice(title: str, reason: str, code: int, script: str = "home") -> Response:
    """Return a page with a heading and one line of text, with a status code."""
    written = page(
        "notice_page.html",
        script,
        served=True,
        heading=title,
        reason=reason,
        waits=script == "wait",
    )
    answer = _html(written, code)
    if script == "wait":
        answer.headers["refresh"] = "3"  # for a browser without scripts
    return answer


def _settle(job: Future[str], make: Callable[[], str]) -> None:
    """Make a page for all requests that wait for it; its error is raised there."""
    try:
        job.set_result(make())
    except BaseException as error:  # noqa: BLE001 - raised by the request that waits
        job.set_exception(error)


_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def _html(text: str, code: int = 200) -> HTMLResponse:
    """Return a page or a part of one, with its content security policy also as a header.

    The policy is in the head of a page, hence in its first 2,000 characters. As a
    header it also forbids frames, which a page's own policy cannot.
    """
    policy = _POLICY.search(text[:2000])
    if policy:
        allowed = html.unescape(policy[1])
    else:
        allowed = "default-src 'none'"  # a part of a page has no policy of its own
    headers = {"content-security-policy": f"{allowed}; frame-ancestors 'none'"}
    return HTMLResponse(text, code, headers)


class Server:
    """A server that binds its port immediately, so that its address is known before it serves.

        with Server(Content(library), port=0) as server:
            print(server.address)
            server.serve()                  # until Ctrl-C, or stop() from another thread

    Raises ``UsageError`` if the port is in use.
    """

    def __init__(
        self,
        content: Content,
        port: int = 0,
        host: str = HOST,
        token: str = "",
    ) -> None:
        self.games = Games(content.library.add)
        self._socket = _bound(host, port)
        number = self._socket.getsockname()[1]
        self.address = f"http://{host}:{number}/"
        if token:
            self.address += f"?token={token}"
        config = uvicorn.Config(
            application(content, host, token, self.games),
            log_level="critical",
            access_log=False,
            lifespan="off",
            # Streams of live pages never end by themselves: Ctrl-C waits for them this long.
            timeout_graceful_shutdown=1,
            timeout_keep_alive=5,
        )
        self._server = uvicorn.Server(config)

    def serve(self) -> None:
        """Serve until ``stop`` or Ctrl-C, then end all games."""
        try:
            self._server.run([self._socket])
        finally:
            self.games.end()

    @contextmanager
    def in_background(self) -> Iterator[Thread]:
        """Serve on a thread of its own while the context lasts."""
        thread = Thread(target=self.serve, daemon=True)
        thread.start()
        try:
            yield thread
        finally:
            self.stop()
            thread.join(10)

    def settle(self, seconds: float = 5.0) -> None:
        """Wait until open pages have read the end of a run: they close their streams then.

        Returns after ``seconds`` at the latest. No request in three checks counts as
        settled, because a page may just be between two requests.
        """
        end = time.monotonic() + seconds
        quiet = 0
        while time.monotonic() < end and quiet < 3:
            quiet += 1
            if self._server.server_state.tasks:
                quiet = 0
            time.sleep(_EVERY / 2)

    def stop(self) -> None:
        """End ``serve``, from another thread."""
        self._server.should_exit = True
        self.games.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()


def _bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is a free one.

    Raises ``UsageError`` if the port is taken or out of range.
    """
    # Only addresses of version 6 have colons.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    # Head and body of an answer are two writes: the second must not wait 40 ms for the browser
    # to confirm the first. Accepted connections have the option of the socket that listens.
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with binding(port):
            # A server that was just stopped leaves its port waiting for a minute.
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((host, port))
            taken.listen(128)
    except UsageError:
        taken.close()
        raise
    return taken


# Access: this machine's browser, or one that has the token. A request passes three checks:
#
# * ``Host`` names this machine. A web page elsewhere could point its own name here (DNS rebinding);
#   its requests carry that name.
# * ``Origin``, where there is one, is this server. Requests that change something must have it, so
#   that no form of another page plays a game or starts a run.
# * Off loopback, every request has the token: in the address once, then in a cookie.

COOKIE = "wayword_token"
_SAFE = frozenset({"GET", "HEAD"})
_HARDENED = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def token_for(host: str, given: str) -> str:
    """Return the token that a server on ``host`` requires.

    ``given`` if there is one. Else none on loopback and a random one elsewhere, where
    others could reach the server.
    """
    alone = host in ("localhost", "::1") or host.startswith("127.")
    if given or alone:
        return given
    return secrets.token_urlsafe(24)


class Guard:
    """ASGI middleware that lets only authorized requests pass, and hardens the responses.

    ``token`` is empty on loopback, where the checks of host and origin are enough. The
    comment at ``COOKIE`` states the three checks.
    """

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self._app = app
        self._token = token
        # Off loopback, browsers may also use this machine's own name.
        self._names = set[str]()
        if token:
            self._names = {host, socket.gethostname()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Messages on startup and shutdown have no headers to check.
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._answer_instead(HTTPConnection(scope))
        if answer is not None:
            await answer(scope, receive, send)
            return

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HARDENED]
            await send(message)

        await self._app(scope, receive, hardened)

    def _answer_instead(self, request: HTTPConnection) -> Response | None:
        """Return the response that replaces a request's own, or None to let it pass.

        Either a refusal (401, 403 or 404) or, for a token in the address, a redirect to
        the address without it, which sets the cookie.
        """
        path = request.scope["path"]
        if path.startswith(("//", "/\\")):
            # as the address of a redirect, this would be another server
            return PlainTextResponse("no such page", 404)
        host = request.headers.get("host", "")
        if not self._accepts(_host_name(host)):
            return PlainTextResponse(
                "this server only answers requests to its own host name", 403
            )
        origin = request.headers.get("origin")
        # Browsers send no Origin with plain links and typed addresses.
        try:
            same_origin = origin is None or urlsplit(origin).netloc == host
        except ValueError:
            same_origin = False
        if not same_origin:
            return PlainTextResponse("requests from other origins are refused", 403)
        if request.scope["method"] not in _SAFE and origin is None:
            return PlainTextResponse(
                "a request that changes state needs an Origin header", 403
            )
        # The redirect removes the token from the address bar.
        given = request.query_params.get("token", "")
        if self._token and self._right(given):
            rest = [
                pair
                for pair in request.query_params.multi_items()
                if pair[0] != "token"
            ]
            query = f"?{urlencode(rest)}" if rest else ""
            answer = RedirectResponse(path + query, 303)
            answer.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return answer
        if not self._token or self._right(request.cookies.get(COOKIE, "")):
            return None
        return PlainTextResponse(
            "this server needs a token: open the address that was printed at its start",
            401,
        )

    def _accepts(self, name: str) -> bool:
        """True if a request may name this machine so: without brackets around an IPv6 address."""
        if name in self._names or is_loopback(name):
            return True
        if not self._token:
            return False
        # Off loopback any numeric address will do: DNS rebinding needs a name.
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _right(self, given: str) -> bool:
        """True if this is the token, compared in constant time."""
        return hmac.compare_digest(given.encode(), self._token.encode())


def _host_name(header: str) -> str:
    """Return the name or address in a ``Host`` header: ``::1`` for ``[::1]:8000``."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
