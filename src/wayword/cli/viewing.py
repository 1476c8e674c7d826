"""``wayword view`` and ``wayword runs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from wayword.cli import show
from wayword.cli.reporting import Cluster
from wayword.cli.running import Data, Trusted


def view(
    runs: Annotated[
        list[Path] | None,
        Argument(
            metavar="RUN|FOLDER",
            help="Run folders, or folders of them; default: ./runs.",
        ),
    ] = None,
    write: bool = False,
    port: int = 8777,
    host: str = "127.0.0.1",
    token: Annotated[
        str,
        Option(
            envvar="WAYWORD_VIEW_TOKEN",
            help="Token for other machines; default: random.",
        ),
    ] = "",
    open_: bool = False,
    limit: int = 200,
    episode: list[str] | None = None,
    out: Path | None = None,
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

    Args:
        write: Write the pages of one run to files instead of serving them.
        port: Port; 0 picks a free one.
        host: Address to serve on; addresses other than localhost need a token.
        open_: Open the browser.
        limit: With --write: pages for the first N episodes.
        episode: With --write: only this episode; may be repeated.
        out: With --write: output folder; default: RUN/pages.
    """
    # The folder to which `wayword run` writes.
    given = runs or [Path("runs")]
    episodes = episode or []
    if not write:
        from wayword.viewer.app import Server, token_for
        from wayword.viewer.content import Content
        from wayword.viewer.library import Library

        # The server renders pages on request and follows runs in progress.
        content = Content(Library(given), data, trusted or ())
        with Server(content, port, host, token_for(host, token)) as server:
            show.serve(server, server.address, open_)
        return
    from wayword.core.errors import UsageError
    from wayword.runs.scored_runs import run_folders

    if len(given) != 1:
        raise UsageError(f"--write takes exactly one run folder, got {len(given)}")
    # A folder of one run stands for it, as without --write.
    inside = run_folders(given)
    if len(inside) != 1:
        raise UsageError(
            f"--write takes one run, and {given[0]} holds {len(inside)}; write one of them: "
            f"wayword view {inside[0]} --write"
        )
    (run,) = inside
    from wayword.viewer.pages import write_pages

    # Pages have no scores, so the bar shows counts alone.
    with show.progress("pages") as bar:
        written = write_pages(
            run,
            out,
            limit=limit,
            episodes=episodes,
            data=data,
            trusted=trusted or (),
            on_page=lambda done, total: bar(done, total, {}),
        )
    pages = f"{written.pages:,} of {written.of:,} episodes have pages"
    show.echo(f"{pages}, {written.new:,} new.")
    if written.pages < written.of:
        show.echo(
            f"For more: wayword view {run} --write --episode ID, or increase --limit"
        )
    if written.notice:
        show.notice(written.notice)
    show.echo(written.index.resolve().as_uri())


def plot(
    runs: list[Path],
    kind: Literal["length", "curve", "cost", "map", "causes", "pairs"] = "length",
    out: Annotated[
        Path, Option("--out", "-o", help="File to write: .pdf, .svg or .png.")
    ] = Path("plot.pdf"),
    metric: str = "",
    label: list[str] | None = None,
    episode: str = "",
    width: str = "column",
    cluster: Cluster = "",
    data: Data = None,
    trusted: Trusted = None,
) -> None:
    """Draw a figure for a paper, and print its caption.

    Fonts are 7 and 8 points at the printed width, and embedded. Series differ in color, dashes and
    marker. Error bars are 95% intervals, as in tables.

    \b
    Examples:
      wayword plot runs/navgpt runs/random --kind length -o length.pdf
      wayword plot runs/navgpt runs/mapgpt --kind map --episode 5593_0 -o walk.svg
      wayword plot runs/baseline runs/ours --kind pairs --label Baseline --label Ours
      wayword plot runs/ppo-seed-0 runs/ppo-seed-1 --kind curve --metric reward

    Args:
        runs: Run folders, folders of them or, for curves, training logs.
        kind: length: success by length of the reference; curve: training logs or checkpoints; cost:
          success against cost; map: an episode's trajectories; causes: of failures; pairs:
          differences to the first run.
        metric: Metric, or column of a log; default: the success metric.
        label: Name in the legend; repeat for each run, in their order.
        episode: With --kind map: the episode; default: the first that failed.
        width: column (3.35 inches), page (6.9), or inches.
    """
    from wayword.viewer.plots.display import format_of
    from wayword.viewer.plots.display import plot as draw

    # An unknown format is an error before anything is read.
    format_of(out)
    with show.waiting("drawing …"):
        drawn = draw(
            runs,
            kind,
            metric=metric,
            labels=label or (),
            episode=episode,
            width=width,
            data=data,
            trusted=trusted or (),
            cluster=cluster,
        )
        file = drawn.save(out)
    show.echo(f"{file}: {drawn.caption}")
    show.notice(*drawn.notices)


def runs(
    given: Annotated[
        list[Path] | None,
        Argument(
            metavar="FOLDER",
            help="Run folders, or folders of them; default: ./runs.",
        ),
    ] = None,
) -> None:
    """List the runs of a folder with their progress, success and path.

    \b
    Example:
      wayword runs
    """
    # A first user has no runs; a folder that was named must exist.
    if not given and not Path("runs").is_dir():
        show.notice("no runs yet: `wayword run` writes them to ./runs")
        return
    from wayword.viewer.content import Content
    from wayword.viewer.index import line_of
    from wayword.viewer.library import Library

    content = Content(Library(given or [Path("runs")]))
    for each in content.library.runs():
        show.echo(line_of(content.card(each), each))
