"""``wayword play``: a person is an actor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wayword.cli import completing, show
from wayword.cli.running import Continue

if TYPE_CHECKING:
    from wayword.runs.plan import Plan
    from wayword.runs.play import PlayedGame

Dataset = Annotated[
    str, Argument(help="Dataset and split: household, towns …", autocompletion=completing.datasets)
]
On = Annotated[str, Option("--on", help="The same, as an option.")]
Browser = Annotated[
    bool, Option("--browser", help="Play in the browser: with a map, buttons, and others.")
]
Port = Annotated[int, Option(help="With --browser: the port; 0 takes a free one.")]
OpenIt = Annotated[bool, Option("--open", help="With --browser: open it, too.")]
Role = Annotated[str, Option("--as", help="The actor you are; else the first one.")]
With = Annotated[
    str,
    Option("--with", help="The agent that plays everybody else.", autocompletion=completing.agents),
]
Episode = Annotated[
    str, Option(help="An episode's id or number; else the next you have not played.")
]
ModelName = Annotated[
    str,
    Option(
        "--model",
        help="The model of the others, if they ask one.",
        autocompletion=completing.models,
    ),
]
Steps = Annotated[int | None, Option(help="Cut the episode off after so many steps.")]
Seed = Annotated[int, Option(help="Seed of everything that is drawn.")]
Set = Annotated[
    list[str] | None, Option("--set", help="A setting, KEY=VALUE, as in `wayword run`.")
]
Data = Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")]
Out = Annotated[Path | None, Option(help="Run folder; else one named after the game.")]


def play(
    dataset: Dataset = "",
    on: On = "",
    role: Role = "",
    others: With = "",
    episode: Episode = "",
    model: ModelName = "",
    max_steps: Steps = None,
    seed: Seed = 0,
    set_: Set = None,
    data: Data = None,
    out: Out = None,
    continue_: Continue = "",
    browser: Browser = False,
    port: Port = 0,
    open_: OpenIt = False,
) -> None:
    """Play an episode yourself, at this terminal or in the browser, alone or with agents.

    You are told what an agent would be told. Type a number, an action, or its beginning; `?` lists
    what there is, `quit` leaves. The game is recorded like any run, and ends with your scores
    beside those of an agent that is shown the answer.

    \b
    Examples:
      wayword play
      wayword play towns --episode 3
      wayword play houses --browser
      wayword play ma_household --as follower --with team --model local:smollm2
      wayword play ma_household --browser --with human
      wayword play --continue runs/first:5593_0:4
    """
    from wayword.runs.plan import Plan
    from wayword.runs.play import game_plan
    from wayword.runs.play import play as play_game
    from wayword.settings import parse

    settings = parse(set_ or [])
    asked = Plan(
        "human", dataset or on or "household", model, settings,
        seed=seed, max_steps=max_steps, data=data, out=out, episode=episode,
        continues=continue_,
    )  # fmt: skip
    if browser:
        _in_the_browser(asked, role, others, port, open_)
        return
    with show.waiting(f"{asked.on}: reading the data …"):
        plan = game_plan(asked, role, others)
    game = play_game(plan)
    _tell(game)
    if game.scores is None:
        raise typer.Exit(1)


def _in_the_browser(plan: Plan, role: str, others: str, port: int, open_: bool) -> None:
    """Serve the game, and the runs beside it, until Ctrl-C."""
    from wayword.viewer.app import Server
    from wayword.viewer.content import Content
    from wayword.viewer.library import Library

    folder = plan.out.parent if plan.out else Path("runs")
    folder.mkdir(parents=True, exist_ok=True)
    with Server(Content(Library([folder]), plan.data), port) as server:
        table = server.games.begin(plan, role, others)
        address = f"{server.address}play/{table.name}/"
        typer.echo(f"{address}  (Ctrl-C ends it)")
        if open_:
            import webbrowser

            webbrowser.open(address)
        server.serve()


def _tell(game: PlayedGame) -> None:
    """The end of the game: scores, and where it lies."""

    for line in game.result.notices:
        show.notice(line)
    if game.scores is None:
        why = game.result.outcome.exhausted or game.result.outcome.unusable or "the episode failed"
        show.notice(f"{why}; this game does not count, the same command begins it anew")
        return
    typer.echo(f"\nEpisode {game.episode}: {game.ended.replace('_', ' ')}")
    typer.echo(scoreboard(game))
    typer.echo(f"\n{game.result.path}   (wayword view {game.result.path})")


def scoreboard(game: PlayedGame) -> str:
    """The main metrics, the player's and the expert's side by side."""
    from wayword.viewer.play import score_rows

    return "\n".join(f"{a:<14}{b:>10}{c:>10}".rstrip() for a, b, c in score_rows(game))


# ``wayword serve-env`` and ``wayword mcp``: worlds for other people's trainers and assistants.


Name = Annotated[str, Argument(help="Dataset and split: houses:train, household …")]
View = Annotated[str, Option(help="text, structured, or an agent's name for its prompts.")]
Actions = Annotated[str, Option(help="text, or menu: numbers are understood too.")]
Reward = Annotated[str, Option(help="success, conditions, progress or cost.")]
Limit = Annotated[int | None, Option(help="The first N episodes alone.")]
EnvSteps = Annotated[int | None, Option(help="Cut episodes off after so many steps.")]
Actor = Annotated[str, Option("--as", help="The actor that is played; else the first one.")]
EnvWith = Annotated[str, Option("--with", help="The agent that plays everybody else.")]
EnvSet = Annotated[
    list[str] | None, Option("--set", help="A setting of the dataset: dataset.homes=5.")
]
Host = Annotated[str, Option(help="The address to listen at.")]
ServerPort = Annotated[int, Option(help="The port; 0 takes a free one.")]
Sessions = Annotated[int, Option(help="Sessions at once.")]
EpisodesOut = Annotated[Path, Option(help="The run folder that the episodes go into.")]

TOKEN = "WAYWORD_ENV_TOKEN"


def serve_env(
    name: Name = "houses",
    view: View = "text",
    actions: Actions = "text",
    reward: Reward = "success",
    limit: Limit = None,
    max_steps: EnvSteps = None,
    actor: Actor = "",
    others: EnvWith = "team",
    set_: EnvSet = None,
    data: Data = None,
    host: Host = "127.0.0.1",
    port: ServerPort = 8765,
    sessions: Sessions = 64,
) -> None:
    """Serve environments over WebSocket, in OpenEnv's messages, until Ctrl-C.

    Each WebSocket is a session of its own. A token in $WAYWORD_ENV_TOKEN is asked of every client;
    without one the server listens on this machine only.

    \b
    Examples:
      wayword serve-env household:generated_train --reward conditions
      wayword serve-env houses:train --view navgpt --port 9000
    """
    from wayword.core.errors import needing

    with needing("serving needs a web server", "serve"):
        from wayword.envs.openenv import serve
    options = _options(set_, data) | {
        "view": view,
        "actions": actions,
        "reward": reward,
        "episodes": limit,
        "max_steps": max_steps,
        "actor": actor,
        "others": others,
    }
    server = serve(name, host, port, os.environ.get(TOKEN, ""), sessions, **options)
    _run(server, name, host, port)


def _run(server: Any, name: str, host: str, port: int) -> None:
    """Listen, say where, and serve until Ctrl-C."""
    socket = server.config.bind_socket()
    typer.echo(f"{name} at http://{host}:{socket.getsockname()[1]} (Ctrl-C ends it)", err=True)
    server.run(sockets=[socket])


def _options(set_: list[str] | None, data: Path | None) -> dict[str, Any]:
    from wayword.settings import parse

    return {"settings": parse(set_ or []).get("dataset", {}), "data": data}


def mcp(
    name: Name = "household",
    limit: Limit = None,
    max_steps: EnvSteps = None,
    actor: Actor = "",
    others: EnvWith = "team",
    set_: EnvSet = None,
    data: Data = None,
    out: EpisodesOut = Path("runs/mcp"),
) -> None:
    """Let any assistant play: an MCP server on standard input and output.

    It offers the tools begin, look, act, actions and ask. Episodes are recorded like those of any
    run, in the folder of --out.

    \b
    Example, for an assistant's list of servers:
      {"command": "wayword", "args": ["mcp", "household", "--out", "runs/assistant"]}
    """
    from wayword.core.errors import needing
    from wayword.envs import make

    with needing("this needs the protocol's package", "mcp"):
        from wayword.envs.mcp import server
    options = _options(set_, data) | {"episodes": limit, "max_steps": max_steps}
    made, sitting = server(make(name, actor=actor, others=others, **options), out)
    try:
        made.run()
    finally:
        sitting.close()
