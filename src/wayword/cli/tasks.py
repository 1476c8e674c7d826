"""``wayword task``: tasks of one's own, from a short YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

task = typer.Typer(help="Tasks of your own, from a short YAML file.", no_args_is_help=True)


@task.command("new")
def new(
    file: Annotated[Path, Argument(help="The YAML file; see: wayword task example")],
    out: Annotated[
        Path | None, Option(help="Write the accepted task here; else into the file itself.")
    ] = None,
) -> None:
    """Check a task, have the expert solve it, and mark the file as accepted.

    An accepted file is all that somebody else needs to play the task.

    \b
    Examples:
      wayword task example --out tea.yaml
      wayword task new tea.yaml
      wayword run react --on ./tea.yaml --model local:smollm2
    """
    from wayword.datasets.sources.own.dataset import accept

    made = accept(file, out)
    played = made.path if made.path.is_absolute() else f"./{made.path}"
    typer.echo(f"{made.path}: accepted; the expert takes {made.accepted['steps']} steps")
    typer.echo(f"Next: wayword run expert --on {played}")


@task.command("example")
def example(
    out: Annotated[Path | None, Option(help="Write it into this new file instead.")] = None,
) -> None:
    """Print a task file to start from."""
    from wayword.core.errors import UsageError
    from wayword.datasets.sources.own.dataset import example

    if out is None:
        typer.echo(example(), nl=False)
        return
    if out.exists():
        raise UsageError(f"{out} is there already; name a new file")
    out.write_text(example(), encoding="utf-8")
