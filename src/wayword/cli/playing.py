"""``wayword play``: a person is an actor."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wayword.runs.play import Game

On = Annotated[str, typer.Option("--on", help="Dataset and split: household, towns …")]
Role = Annotated[str, typer.Option("--as", help="The actor you are; else the first one.")]
With = Annotated[str, typer.Option("--with", help="The agent that plays everybody else.")]
Episode = Annotated[
    str, typer.Option(help="An episode's id or number; else the next you have not played.")
]
ModelName = Annotated[
    str, typer.Option("--model", help="The model of the others, if they ask one.")
]
Steps = Annotated[int | None, typer.Option(help="Cut the episode off after so many steps.")]
Seed = Annotated[int, typer.Option(help="Seed of everything that is drawn.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, KEY=VALUE, as in `wayword run`.")
]
Data = Annotated[Path | None, typer.Option(help="Data folder; else $WAYWORD_DATA.")]
Out = Annotated[Path | None, typer.Option(help="Run folder; else one named after the game.")]

SHOWN = 4
"""Metrics of the family that are shown, beside the steps."""


def play(
    on: On = "household",
    role: Role = "",
    others: With = "",
    episode: Episode = "",
    model: ModelName = "",
    max_steps: Steps = None,
    seed: Seed = 0,
    set_: Set = None,
    data: Data = None,
    out: Out = None,
) -> None:
    """Play an episode yourself, at this terminal, alone or with agents.

    You are told what an agent would be told. Type a number, an action, or its beginning; `?` lists
    what there is, `quit` leaves. The game is recorded like any run, and ends with your scores
    beside those of an agent that is shown the answer.

    \b
    Examples:
      wayword play
      wayword play --on towns --episode 3
      wayword play --on ma_household --as follower --with team --model local:smollm2
    """
    from wayword.runs.plan import Plan
    from wayword.runs.play import game_plan
    from wayword.runs.play import play as play_game
    from wayword.settings import parse

    settings = parse(set_ or [])
    asked = Plan(
        "human", on, model, settings,
        seed=seed, max_steps=max_steps, data=data, out=out, episode=episode,
    )  # fmt: skip
    game = play_game(game_plan(asked, role, others))
    _tell(game)
    if game.scores is None:
        raise typer.Exit(1)


def _tell(game: Game) -> None:
    """The end of the game: scores, and where it lies."""
    from wayword.cli import show

    for line in game.result.notices:
        show.notice(line)
    if game.scores is None:
        why = game.result.outcome.exhausted or game.result.outcome.unusable or "the episode failed"
        show.notice(f"{why}; this game does not count, the same command begins it anew")
        return
    typer.echo(f"\nEpisode {game.episode}: {game.ended.replace('_', ' ')}")
    typer.echo(scoreboard(game))
    typer.echo(f"\n{game.result.path}   (wayword view {game.result.path})")


def scoreboard(game: Game) -> str:
    """The main metrics, the player's and the expert's side by side."""
    from wayword.metrics import accounting
    from wayword.runs.config import metrics_of
    from wayword.runs.folder import RunFolder
    from wayword.viewer import index

    yours, best = game.scores or {}, game.best or {}
    family = metrics_of(RunFolder.read(game.result.path).config)
    known = [m for m in (*family, *accounting.METRICS) if m.key in yours]
    own = [metric for metric in known if metric not in accounting.METRICS][:SHOWN]
    rows = [("", "you", game.expert)]
    for metric in [*own, *(metric for metric in known if metric.key == "steps")]:
        theirs = index.value(metric, best[metric.key]) if metric.key in best else ""
        rows.append((metric.label, index.value(metric, yours[metric.key]), theirs))
    return "\n".join(f"{a:<14}{b:>10}{c:>10}".rstrip() for a, b, c in rows)


# ``wayword view``: pages of a run.

if TYPE_CHECKING:
    from wayword.viewer.pages import OnPage, Written

Run = Annotated[Path, typer.Argument(help="A run folder, finished or still going on.")]
Serve = Annotated[bool, typer.Option(help="Serve the pages on 127.0.0.1 until Ctrl-C.")]
Port = Annotated[int, typer.Option(help="Port for --serve; 0 takes a free one.")]
Limit = Annotated[int, typer.Option(help="Write pages for the first N episodes.")]
ShownEpisode = Annotated[
    list[str] | None, typer.Option(help="Write this episode's page instead; may be repeated.")
]
PagesOut = Annotated[Path | None, typer.Option(help="Folder for the pages; else RUN/pages.")]


TrustedFile = Annotated[
    Path | None,
    typer.Option("--with", help="The dataset file of the run, where it is one of your own."),
]


def view(
    run: Run,
    serve: Serve = False,
    port: Port = 0,
    limit: Limit = 200,
    episode: ShownEpisode = None,
    out: PagesOut = None,
    data: Data = None,
    trusted: TrustedFile = None,
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
    from wayword.viewer.pages import write_pages

    with _progress() as bar:
        written = write_pages(
            run, out, limit=limit, episodes=episode or (), data=data, trusted=trusted, on_page=bar
        )
    _tell_pages(written, run)
    if serve:
        _serve(written.index.parent, port)
    else:
        typer.echo(written.index.resolve().as_uri())


def _tell_pages(written: Written, run: Path) -> None:
    from wayword.cli import show

    have = f"{written.pages:,} of {written.of:,} episodes have a page"
    typer.echo(f"{have}, {written.new:,} written now.")
    if written.pages < written.of:
        typer.echo(f"For others: wayword view {run} --episode ID, or a higher --limit")
    if written.notice:
        show.notice(written.notice)


def _serve(folder: Path, port: int) -> None:
    from wayword.viewer.pages import PageServer

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
