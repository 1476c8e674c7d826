"""``wayword serve-env`` and ``wayword mcp``: worlds for other people's trainers and assistants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

Name = Annotated[str, Argument(help="Dataset and split: houses:train, household …")]
View = Annotated[str, Option(help="text, structured, or an agent's name for its prompts.")]
Actions = Annotated[str, Option(help="text, or menu: numbers are understood too.")]
Reward = Annotated[str, Option(help="success, conditions, progress or cost.")]
Limit = Annotated[int | None, Option(help="The first N episodes alone.")]
Steps = Annotated[int | None, Option(help="Cut episodes off after so many steps.")]
Actor = Annotated[str, Option("--as", help="The actor that is played; else the first one.")]
With = Annotated[str, Option("--with", help="The agent that plays everybody else.")]
Set = Annotated[
    list[str] | None, Option("--set", help="A setting of the dataset: dataset.homes=5.")
]
Data = Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")]
Host = Annotated[str, Option(help="The address to listen at.")]
Port = Annotated[int, Option(help="The port; 0 takes a free one.")]
Sessions = Annotated[int, Option(help="Sessions at once.")]
Out = Annotated[Path, Option(help="The run folder that the episodes go into.")]

TOKEN = "WAYWORD_ENV_TOKEN"


def serve_env(
    name: Name = "houses",
    view: View = "text",
    actions: Actions = "text",
    reward: Reward = "success",
    limit: Limit = None,
    max_steps: Steps = None,
    actor: Actor = "",
    others: With = "team",
    set_: Set = None,
    data: Data = None,
    host: Host = "127.0.0.1",
    port: Port = 8765,
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
    max_steps: Steps = None,
    actor: Actor = "",
    others: With = "team",
    set_: Set = None,
    data: Data = None,
    out: Out = Path("runs/mcp"),
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
