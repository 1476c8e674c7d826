"""``wayword view``: runs in the browser, served or as files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from wayword.cli import show

if TYPE_CHECKING:
    from wayword.viewer.pages import OnPage

Runs = Annotated[
    list[Path] | None,
    Argument(metavar="RUN|FOLDER", help="Run folders, or folders of them; else ./runs."),
]
Write = Annotated[
    bool, Option("--write", help="Write the pages of one run as files, and serve nothing.")
]
Port = Annotated[int, Option(help="Port; 0 takes a free one.")]
Host = Annotated[str, Option(help="Address to serve on. Any but this machine's own needs a token.")]
Token = Annotated[
    str,
    Option(envvar="WAYWORD_VIEW_TOKEN", help="The token for other machines; else one is drawn."),
]
OpenIt = Annotated[bool, Option("--open", help="Open the browser, too.")]
Limit = Annotated[int, Option(help="With --write: pages for the first N episodes.")]
ShownEpisode = Annotated[
    list[str] | None, Option(help="With --write: this episode's page instead; may be repeated.")
]
PagesOut = Annotated[Path | None, Option(help="With --write: folder; else RUN/pages.")]
Data = Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")]
TrustedFile = Annotated[
    Path | None, Option("--with", help="The dataset file of the runs, where it is one of your own.")
]
Rerun = Annotated[
    Path | None,
    Option(help="Write the run's episodes as a Rerun recording (.rrd), and serve nothing."),
]


def view(
    runs: Runs = None,
    write: Write = False,
    port: Port = 8777,
    host: Host = "127.0.0.1",
    token: Token = "",
    open_: OpenIt = False,
    limit: Limit = 200,
    episode: ShownEpisode = None,
    out: PagesOut = None,
    data: Data = None,
    trusted: TrustedFile = None,
    rerun: Rerun = None,
) -> None:
    """Runs in the browser: every run of a folder, every episode, every step, live and side by side.

    Pages are made when they are looked at. With --write they are files instead, which need no
    server and no network. Instructions, gold paths and maps come from the dataset, where its data
    are here.

    \b
    Examples:
      wayword view
      wayword view runs/demo/navgpt --port 8000
      wayword view runs/demo/navgpt --rerun navgpt.rrd --limit 3
      wayword view runs/navgpt-r2r --data ./data --write --episode 5593_0 --episode 204_1
    """
    given, episodes = runs or [Path("runs")], episode or []
    if not (rerun or write):
        _serve(given, port, host, token, open_, data, trusted)
        return
    from wayword.core.errors import UsageError

    if len(given) != 1:
        option = "--rerun records the episodes" if rerun else "--write writes the pages"
        raise UsageError(f"{option} of one run; give one run folder")
    (run,) = given
    if rerun:
        from wayword.viewer.rerun import record

        count = record(run, rerun, episodes, limit, data, trusted)
        typer.echo(f"{rerun}: {count:,} episodes; look at it with: rerun {rerun}")
        return
    from wayword.viewer.pages import write_pages

    with _progress() as bar:
        written = write_pages(
            run, out, limit=limit, episodes=episodes, data=data, trusted=trusted, on_page=bar
        )
    pages = f"{written.pages:,} of {written.of:,} episodes have a page"
    typer.echo(f"{pages}, {written.new:,} written now.")
    if written.pages < written.of:
        typer.echo(f"For others: wayword view {run} --write --episode ID, or a higher --limit")
    if written.notice:
        show.notice(written.notice)
    typer.echo(written.index.resolve().as_uri())


def _serve(
    runs: list[Path],
    port: int,
    host: str,
    token: str,
    open_: bool,
    data: Path | None,
    trusted: Path | None,
) -> None:
    from wayword.viewer.app import Server, token_for
    from wayword.viewer.content import Content
    from wayword.viewer.library import Library

    content = Content(Library(runs), data, trusted)
    with Server(content, port, host, token_for(host, token)) as server:
        typer.echo(f"{server.address}  (Ctrl-C ends it)")
        if open_:
            import webbrowser

            webbrowser.open(server.address)
        server.serve()


@contextmanager
def _progress() -> Iterator[OnPage]:
    """A bar on stderr, once the writing has taken two seconds."""
    from rich.console import Console
    from rich.progress import Progress

    began = time.monotonic()
    bar = Progress(console=Console(stderr=True), refresh_per_second=4)
    row = bar.add_task("pages", total=None)

    def tell(done: int, total: int) -> None:
        bar.update(row, completed=done, total=total)
        if done < total and time.monotonic() - began > 2:
            bar.start()

    try:
        yield tell
    finally:
        bar.stop()


def runs(
    given: Annotated[
        list[Path] | None,
        Argument(metavar="FOLDER", help="Run folders, or folders of them; else ./runs."),
    ] = None,
) -> None:
    """The runs of a folder: how each stands, its success, and where it is.

    \b
    Example:
      wayword runs
    """
    from wayword.viewer.content import Content
    from wayword.viewer.index import line_of
    from wayword.viewer.library import Library

    if not given and not Path("runs").is_dir():
        show.notice("no runs here yet: `wayword run` puts them into ./runs")
        return
    content = Content(Library(given or [Path("runs")]))
    for each in content.library.found():
        typer.echo(line_of(content.card(each), each))
