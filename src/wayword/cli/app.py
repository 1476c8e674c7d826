"""The ``wayword`` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from wayword.cli import looking, playing, reporting, running, viewing

app = typer.Typer(
    name="wayword",
    help="Language-model agents that find their way.\n\n"
    "Start here:  wayword demo   (no key, no data, no GPU)\n\n"
    "Then:        wayword run navgpt --on houses --model local:smollm2 --limit 20",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    no_args_is_help=True,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"wayword {version('wayword')}")
        raise typer.Exit


@app.callback(help=app.info.help)
def top(
    version: Annotated[
        bool,
        Option("--version", is_eager=True, callback=_version, help="Show the version, and end."),
    ] = False,
) -> None:
    """The options before a command."""


app.command("run")(running.run)
app.command("reproduce")(running.reproduce)
app.command("plan")(running.plan)
app.command("demo")(running.demo)
app.command("play")(playing.play)
app.command("table")(reporting.table)
app.command("merge")(reporting.merge)
app.command("verify")(reporting.verify)
app.command("compare")(reporting.compare)
app.command("score")(reporting.score)
app.command("export")(reporting.export)
app.command("train")(reporting.train)
app.command("view")(viewing.view)
app.command("runs")(viewing.runs)
app.command("serve-env")(playing.serve_env)
app.command("mcp")(playing.mcp)
app.command("perceive")(looking.perceive)
app.command("list")(looking.list_parts)
app.command("doctor")(looking.doctor)
app.add_typer(looking.task, name="task")
app.add_typer(looking.data, name="data")
app.add_typer(looking.models, name="models")
