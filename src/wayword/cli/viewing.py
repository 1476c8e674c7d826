"""``wayword view`` and ``wayword runs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wayword.cli import show
from wayword.cli.running import Data, Trusted


def view(
    runs: Annotated[
        list[Path] | None,
        Argument(
            metavar="RUN|FOLDER",
            help="Run folders, or folders of them; default: ./runs.",
        ),
    ] = None,
    write: Annotated[
        bool,
        Option(
            "--write", help="Write the pages of a run to files instead of serving them."
        ),
    ] = False,
    port: Annotated[int, Option(help="Port; 0 picks a free one.")] = 8777,
    host: Annotated[
        str,
        Option(
            help="Address to serve on; addresses other than localhost need a token."
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str,
        Option(
            envvar="WAYWORD_VIEW_TOKEN",
            help="Token for other machines; default: random.",
        ),
    ] = "",
    open_: Annotated[bool, Option("--open", help="Open the browser.")] = False,
    limit: Annotated[
        int, Option(help="With --write: pages for the first N episodes.")
    ] = 200,
    episode: Annotated[
        list[str] | None,
        Option(help="With --write: only this episode; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, Option(help="With --write: output folder; default: RUN/pages.")
    ] = None,
    data: Data = None,
    trusted: Trusted = None,
) -> None:
    """View runs in the browser: every episode and step, live and side by side.

    Pages are rendered on request. With --write they become files that need no server and no
    network. Instructions, gold paths and maps are shown if the dataset's files are on this
    machine.

    \b
    Examples:
      wayword view
      wayword view runs/demo/navgpt --port 8000
      wayword view runs/navgpt-r2r --data ./data --write --episode 5593_0 --episode 204_1
    """
    given = runs or [Path("runs")]
    episodes = episode or []
    if not write:
        from wayword.viewer.app import Server, token_for
        from wayword.viewer.content import Content
        from wayword.viewer.library import Library

        content = Content(Library(given), data, trusted or ())
        with Server(content, port, host, token_for(host, token)) as server:
            show.serve(server, server.address, open_)
        return
    from wayword.core.errors import UsageError

    if len(given) != 1:
        raise UsageError(f"--write takes exactly one run folder, got {len(given)}")
    (run,) = given
    from wayword.viewer.pages import write_pages

    with show.progress("pages") as bar:
        written = write_pages(
            run, out, limit=limit, episodes=episodes, data=data,
            trusted=trusted or (),
            on_page=lambda done, total: bar(done, total, {}),
        )  # fmt: skip
    pages = f"{written.pages:,} of {written.of:,} episodes have pages"
    show.echo(f"{pages}, {written.new:,} new.")
    if written.pages < written.of:
        show.echo(
            f"For more: wayword view {run} --write --episode ID, or increase --limit"
        )
    if written.notice:
        show.notice(written.notice)
    show.echo(written.index.resolve().as_uri())


def runs(
    given: Annotated[
        list[Path] | None,
        Argument(
            metavar="FOLDER", help="Run folders, or folders of them; default: ./runs."
        ),
    ] = None,
) -> None:
    """List the runs of a folder with their progress, success and path.

    \b
    Example:
      wayword runs
    """
    if not given and not Path("runs").is_dir():
        show.notice("no runs yet: `wayword run` writes them to ./runs")
        return
    from wayword.viewer.content import Content
    from wayword.viewer.index import line_of
    from wayword.viewer.library import Library

    content = Content(Library(given or [Path("runs")]))
    for each in content.library.runs():
        show.echo(line_of(content.card(each), each))
