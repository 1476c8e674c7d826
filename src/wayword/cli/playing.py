"""``wayword play``, ``serve-env``, ``mcp`` and ``robot``: people, programs and robots as actors."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from wayword.cli import completing, show
from wayword.cli.running import Continue, Data, Seed, Steps
from wayword.core.errors import UsageError, WaywordError
from wayword.core.visible import comma_separated


def play(
    dataset: Annotated[
        str,
        Argument(
            help="Dataset and split: household, towns …",
            autocompletion=completing.datasets,
        ),
    ] = "",
    on: str = "",
    as_: str = "",
    with_: Annotated[
        list[str] | None,
        Option(
            "--with",
            help="Agent for all other actors; with --continue also a file that the run names.",
            autocompletion=completing.agents,
        ),
    ] = None,
    episode: str = "",
    model: Annotated[
        str,
        Option(
            "--model",
            help="Model for the other actors' agent.",
            autocompletion=completing.models,
        ),
    ] = "",
    max_steps: Steps = None,
    seed: Seed = 0,
    set_: list[str] | None = None,
    data: Data = None,
    out: Path | None = None,
    continue_: Continue = "",
    browser: bool = False,
    port: int = 0,
    open_: bool = False,
) -> None:
    """Play an episode yourself, at this terminal or in the browser, alone or with agents.

    You see what an agent would see. Type a number, an action, or the start of one; `?` lists the
    actions, `quit` leaves. The game is recorded like any run. At the end, your scores are shown
    next to those of an expert that uses the ground truth.

    \b
    Examples:
      wayword play
      wayword play towns --episode 3
      wayword play houses --browser
      wayword play ma_household --as follower --with team --model local:smollm2
      wayword play ma_household --browser --with human
      wayword play --continue runs/first:5593_0:4

    Args:
        on: Same as DATASET.
        as_: The actor you play; default: the first.
        episode: Episode id or number; default: one at your level, not yet played.
        set_: A setting, KEY=VALUE, as for `wayword run`.
        out: Run folder; default: named after the game.
        browser: Play in the browser, alone or with others.
        port: With --browser: port; 0 picks a free one.
        open_: With --browser: open the page.
    """
    from wayword.core.files import short_path
    from wayword.runs.plan import Plan
    from wayword.runs.play import game_plan
    from wayword.runs.play import play as play_game
    from wayword.settings import parse
    from wayword.viewer.play import score_rows

    # `--with` has two meanings: with --continue it also names trusted files.
    files = [name for name in with_ or () if continue_ and Path(name).exists()]
    others = next((name for name in with_ or () if name not in files), "")
    plan = Plan(
        "human",
        dataset or on or "household",
        model,
        parse(set_ or []),
        seed=seed,
        max_steps=max_steps,
        data=data,
        out=out,
        episode=episode,
        continues=continue_,
        trusted=tuple(map(Path, files)),
    )
    if browser:
        with show.pages(plan, port) as server:
            table = server.games.begin(plan, as_, others)
            show.serve(server, f"{server.address}play/{table.name}/", open_)
        return
    with show.waiting(f"{plan.on}: reading the data …"):
        plan = game_plan(plan, as_, others)
    game = play_game(plan)
    for line in game.result.notices:
        show.notice(line)
    # Without scores there is nothing to compare with the expert.
    if game.scores is None:
        why = (
            game.result.outcome.exhausted
            or game.result.outcome.unusable
            or "the episode failed"
        )
        show.notice(
            f"{why}; this game does not count; run the same command to restart it"
        )
        raise typer.Exit(1)
    show.echo(f"\nEpisode {game.episode}: {game.ended.replace('_', ' ')}")
    # Three columns: the metric, the player and the expert.
    for metric, player, expert in score_rows(game):
        show.echo(f"{metric:<14}{player:>10}{expert:>10}".rstrip())
    folder = short_path(game.result.path)
    show.echo(f"\n{folder}   (wayword view {folder})")


# ``wayword serve-env`` and ``wayword mcp``: worlds for external trainers and assistants.


Name = Annotated[str, Argument(help="Dataset and split: houses:train, household …")]
Limit = Annotated[int | None, Option(help="Only the first N episodes.")]
Actor = Annotated[str, Option("--as", help="The actor to expose; default: the first.")]
EnvWith = Annotated[str, Option("--with", help="Agent for all other actors.")]
EnvSet = Annotated[
    list[str] | None,
    Option(
        "--set", help="A setting: dataset.homes=5, eyes=both, picture_size=480x360."
    ),
]

TOKEN = "WAYWORD_ENV_TOKEN"
SIGHT = ("eyes", "picture_size")
"""Settings of environments next to the dataset's; others belong to agents and models."""


def _dataset_settings(
    set_: list[str] | None, example: str, others: Collection[str] = ()
) -> dict[str, Any]:
    """Return the settings of a dataset, and ``others`` by name. Raises ``UsageError`` for any that
    would have no effect."""
    from wayword.settings import parse

    tree = parse(set_ or [])
    for name in tree.keys() - {"dataset", *others}:
        known = "".join(f", or are {other}" for other in others)
        raise UsageError(
            f"--set {name}: settings here begin with dataset, as {example}{known}"
        )
    return {"dataset": {}, **tree}


def _env_settings(set_: list[str] | None) -> dict[str, Any]:
    """Return the options of :func:`wayword.envs.make` that ``--set`` gives."""
    tree = _dataset_settings(set_, "dataset.homes=5", SIGHT)
    return {"settings": tree.pop("dataset"), **tree}


def serve_env(
    name: Name = "houses",
    view: str = "text",
    actions: str = "text",
    reward: str = "",
    limit: Limit = None,
    max_steps: Steps = None,
    actor: Actor = "",
    others: EnvWith = "team",
    set_: EnvSet = None,
    data: Data = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    sessions: int = 64,
) -> None:
    """Serve environments over WebSocket (OpenEnv protocol) until Ctrl-C.

    Each WebSocket is a separate session. Clients must send the token in $WAYWORD_ENV_TOKEN; without
    a token the server listens on this machine only.

    \b
    Examples:
      wayword serve-env household:generated_train --reward conditions
      wayword serve-env houses:train --view navgpt --port 9000

    Args:
        view: Observations: text, structured, or an agent's name.
        actions: text, or menu to accept numbers too.
        reward: Reward: success (default), guided, conditions, progress or cost. By default null
            where nothing judges success.
        host: Address to listen on.
        port: Port; 0 picks a free one.
        sessions: Maximum number of concurrent sessions.
    """
    from wayword.core.errors import needing
    from wayword.core.loopback import listen

    # The import fails where the extra is not installed.
    with needing("serving needs a web server", "serve"):
        from wayword.envs.openenv import serve

    server = serve(
        name,
        host,
        port,
        os.environ.get(TOKEN, ""),
        sessions,
        **_env_settings(set_),
        data=data,
        view=view,
        actions=actions,
        reward=reward,
        episodes=limit,
        max_steps=max_steps,
        actor=actor,
        others=others,
    )
    # Bound here, so that the port picked for 0 can be printed before serving.
    socket = listen(host, port)
    show.echo(
        f"{name} at http://{host}:{socket.getsockname()[1]} (Ctrl-C to stop)",
        err=True,
    )
    server.run(sockets=[socket])


def mcp(
    name: Name = "household",
    limit: Limit = None,
    max_steps: Steps = None,
    actor: Actor = "",
    others: EnvWith = "team",
    set_: EnvSet = None,
    data: Data = None,
    out: Path = Path("runs/mcp"),
    episodes: str = "",
    http: int | None = None,
    host: str = "127.0.0.1",
) -> None:
    """Run an MCP server on stdin and stdout, or over HTTP, so that an assistant can play.

    The tools are begin, look, act, actions and ask. Episodes are recorded as a run in the --out
    folder. Over HTTP clients must send the token in $WAYWORD_ENV_TOKEN, if it is set.

    \b
    Examples; the first is for an assistant's list of servers:
      {"command": "wayword", "args": ["mcp", "household", "--out", "runs/assistant"]}
      wayword mcp houses:train --out runs/assistant --http 8765

    Args:
        out: Run folder for the episodes.
        episodes: Offer only these episodes: ID,ID,…
        http: Serve over HTTP on this port; 0 picks a free one.
        host: With --http: address to listen on.
    """
    from wayword import envs
    from wayword.core.errors import needing
    from wayword.core.loopback import listen

    # Before the dataset is opened, which may take long; the package, not this function.
    with needing("the MCP server needs the mcp package", "mcp"):
        import mcp  # noqa: F401
    from wayword.envs.mcp import http_server, server

    # Named episodes win over a number of them.
    chosen = comma_separated(episodes)
    environment = envs.make(
        name,
        actor=actor,
        others=others,
        episodes=chosen or limit,
        max_steps=max_steps,
        reward=None,  # no assistant reads it
        data=data,
        **_env_settings(set_),
    )
    # The sitting records the episodes of all clients.
    protocol, sitting = server(environment, out)
    # An unfinished episode is recorded as failed, also after Ctrl-C.
    with closing(sitting):
        # Over stdin and stdout: nothing else may be printed there.
        if http is None:
            protocol.run()
            return
        with needing("MCP over HTTP needs a web server", "serve"):
            web = http_server(protocol, host, http, os.environ.get(TOKEN, ""))
        socket = listen(host, http, "--http")
        address = f"http://{host}:{socket.getsockname()[1]}/mcp"
        show.echo(f"{name} at {address} (Ctrl-C to stop)", err=True)
        web.run(sockets=[socket])


# ``wayword robot``: a simulated robot, and a look at a real one.


def robot(
    fake: bool = False,
    port: int | None = None,
    home: int | None = None,
    fault: list[str] | None = None,
    set_: list[str] | None = None,
) -> None:
    """Show what a robot sends, without moving it; or serve a simulated one.

    Connects, cancels all goals, and prints what came on each topic, with the setting of its name.
    With --fake, a simulated robot in a generated home answers on loopback, as rosbridge and Nav2
    do.

    \b
    Examples:
      wayword robot --fake
      wayword robot --set dataset.url=ws://127.0.0.1:9090
      wayword robot --fake --fault 3:drop

    Args:
        fake: Serve a simulated robot until Ctrl-C.
        port: With --fake: port on 127.0.0.1, default: 9090; 0 picks a free one.
        home: With --fake: number of the home, from 0, the default.
        fault: With --fake: GOAL:FAULT, such as 3:drop; drop, refuse, ignore, stall, cancel, lag (of
          pose and view, by a drive), stop (emergency stop) or battery. May be repeated.
        set_: A setting of the robot: dataset.url=ws://127.0.0.1:9090.
    """
    from wayword.runs import robots
    from wayword.settings import make
    from wayword.worlds.objectnav.robot import RosSettings

    if fake and set_:
        raise UsageError("--set is for a real robot; remove it, or --fake")
    for name, value in {"fault": fault, "port": port, "home": home}.items():
        if value is not None and not fake:
            raise UsageError(f"--{name} is for the simulated robot; add --fake")
    settings = _dataset_settings(set_, "dataset.url=ws://127.0.0.1:9090")["dataset"]
    if not fake:
        if own := settings.get("base"):
            line = f"check_base(registry.load('base', {str(own)!r})())"
            raise UsageError(
                "wayword robot shows what comes through rosbridge. Check a base of your own in "
                "Python; it moves: from wayword.core import registry; "
                f"from wayword.testing import check_base; {line}"
            )
        # A robot may be starting up: a refused connection is tried again for a while.
        chosen = make(RosSettings, settings, "robot")
        most = f"dataset.patience ({chosen.patience:g} s)"
        with show.waiting(f"connecting to the robot, for {most} at most …"):
            probe = robots.inspect(chosen)
        show.echo(probe.text)
        if probe.wrong:
            names = " and ".join(f"dataset.{name}" for name in probe.wrong)
            raise WaywordError(f"correct {names}: nothing that can be used came")
        return
    if port is None:
        port = 9090
    with robots.simulated(home or 0, port, fault or (), show.echo) as simulated:
        show.echo(f"A simulated robot at {simulated.url}  (Ctrl-C to stop)")
        show.echo(f"In its home: {', '.join(simulated.names)}")
        show.echo(f"In another terminal:\n  {simulated.command}")
        while True:
            time.sleep(3600)
