"""``wayword list``, ``wayword doctor`` and ``wayword data``: what there is, and what works."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

data = typer.Typer(help="Published data: what is there.", no_args_is_help=True)
Folder = Annotated[Path | None, typer.Option("--data", help="Data folder; else $WAYWORD_DATA.")]


def list_parts(
    kind: Annotated[str, typer.Argument(help="agents, worlds, datasets or models")] = "",
) -> None:
    """Every agent, world, dataset and model backend by name.

    \b
    Examples:
      wayword list
      wayword list agents
    """
    from wayword.experiment import catalogue

    typer.echo(catalogue.listing(kind))


def doctor() -> None:
    """What works on this machine, and what to do about the rest."""
    from wayword.experiment import catalogue

    for check in catalogue.checks():
        mark = typer.style("ok  ", fg="green") if check.ok else typer.style("--  ", fg="yellow")
        typer.echo(f"{mark}{check.name}: {check.found}")
        if check.remedy:
            typer.echo(f"      {check.remedy}")


@data.command("list")
def data_list(folder: Folder = None) -> None:
    """Which splits of which datasets are there, with their numbers of episodes."""
    from wayword.experiment import catalogue

    typer.echo(catalogue.data_listing(folder))


@data.command("check")
def data_check(
    on: Annotated[str, typer.Argument(help="Dataset and split, such as r2r:val_seen.")],
    folder: Folder = None,
) -> None:
    """Read a split whole, check every record, and print the checksums of its files."""
    from wayword.experiment import catalogue

    typer.echo(catalogue.data_check(on, folder))
