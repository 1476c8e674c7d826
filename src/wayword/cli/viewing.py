"""``wayword view``: pages of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wayword.viewer.pages import OnPage, Written

Run = Annotated[Path, typer.Argument(help="A run folder, finished or still going on.")]
Serve = Annotated[bool, typer.Option(help="Serve the pages on 127.0.0.1 until Ctrl-C.")]
Port = Annotated[int, typer.Option(help="Port for --serve; 0 takes a free one.")]
Limit = Annotated[int, typer.Option(help="Write pages for the first N episodes.")]
Episode = Annotated[
    list[str] | None, typer.Option(help="Write this episode's page instead; may be repeated.")
]
Out = Annotated[Path | None, typer.Option(help="Folder for the pages; else RUN/pages.")]
Data = Annotated[Path | None, typer.Option(help="Data folder; else $WAYWORD_DATA.")]


def view(
    run: Run,
    serve: Serve = False,
    port: Port = 0,
    limit: Limit = 200,
    episode: Episode = None,
    out: Out = None,
    data: Data = None,
) -> None:
    """Pages of a run: the numbers, every episode, every step, as files for a browser.

    The pages need no server and no network. Instructions, gold paths and maps come from the
    dataset, where its data are here.

    \b
    Examples:
      wayword view runs/demo/navgpt
      wayword view runs/demo/navgpt --serve --port 8000
      wayword view runs/navgpt-r2r --data ./data --episode 5593_0 --episode 204_1
    """
    from wayword.viewer import write_pages

    with _progress() as bar:
        written = write_pages(run, out, limit=limit, episodes=episode or (), data=data, on_page=bar)
    _tell(written, run)
    if serve:
        _serve(written.index.parent, port)
    else:
        typer.echo(written.index.resolve().as_uri())


def _tell(written: Written, run: Path) -> None:
    from wayword.cli import show

    have = f"{written.pages:,} of {written.of:,} episodes have a page"
    typer.echo(f"{have}, {written.new:,} written now.")
    if written.pages < written.of:
        typer.echo(f"For others: wayword view {run} --episode ID, or a higher --limit")
    if written.notice:
        show.notice(written.notice)


def _serve(folder: Path, port: int) -> None:
    from wayword.viewer.serving import PageServer

    with PageServer(folder, port) as server:
        typer.echo(f"{server.address}  (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo()


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
