"""``wayword play``: a person is an actor."""

from __future__ import annotations

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
    from wayword.viewer import figures

    yours, best = game.scores or {}, game.best or {}
    family = metrics_of(RunFolder.read(game.result.path).config)
    known = [m for m in (*family, *accounting.METRICS) if m.key in yours]
    own = [metric for metric in known if metric not in accounting.METRICS][:SHOWN]
    rows = [("", "you", game.expert)]
    for metric in [*own, *(metric for metric in known if metric.key == "steps")]:
        theirs = figures.value(metric, best[metric.key]) if metric.key in best else ""
        rows.append((metric.label, figures.value(metric, yours[metric.key]), theirs))
    return "\n".join(f"{a:<14}{b:>10}{c:>10}".rstrip() for a, b, c in rows)
