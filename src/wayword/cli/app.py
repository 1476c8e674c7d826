"""The ``wayword`` command and its subcommands."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from wayword.cli import bench, looking, playing, reporting, running, viewing


class Commands(TyperGroup):
    """The commands below, and those of other packages (entry points ``wayword.commands``), which
    are imported when commands are listed or an unknown name is given."""

    def list_commands(self, ctx: Any) -> list[str]:
        # importlib.metadata would take a fifth of the start-up time
        for file in (
            f
            for top in sys.path
            for f in Path(top).glob("*.dist-info/entry_points.txt")
        ):
            section = (
                file.read_text("utf-8")
                .partition("[wayword.commands]")[2]
                .partition("[")[0]
            )
            for name, entry in re.findall(r"(\S+) *= *(\S+)", section):
                self.commands.setdefault(
                    name, typer.main.get_command(resolve_name(entry))
                )
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self.list_commands(ctx)
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    name="wayword",
    cls=Commands,
    help="Language-model agents that navigate.\n\n"
    "Start here:  wayword demo   (no key, no data, no GPU)\n\n"
    "Then:        wayword run navgpt --on houses --model local:smollm2 --limit 20",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    no_args_is_help=True,
)


class StrictCommand(TyperCommand):
    """A command that rejects repeated options of which only the last would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in given:
            single = option.param_type_name == "option" and not option.multiple
            if single and given.count(option) > 1:
                from wayword.core.errors import UsageError

                times = given.count(option)
                raise UsageError(
                    f"{option.opts[0]} is given {times} times; give it once"
                )
        return super().parse_args(ctx, args)


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"wayword {version('wayword')}")
        raise typer.Exit


@app.callback(help=app.info.help)
def top(
    version: Annotated[
        bool,
        Option(
            "--version",
            is_eager=True,
            callback=_version,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Options of ``wayword`` itself."""


for command in (  # in the order of the help; a command has the name of its function
    *(running.run, running.reproduce, running.demo, playing.play),
    *(
        reporting.table,
        reporting.merge,
        reporting.verify,
        reporting.compare,
        reporting.power,
        reporting.tours,
    ),
    *(reporting.score, reporting.export, viewing.view, viewing.runs),
    *(playing.serve_env, playing.mcp, looking.perceive),
):
    app.command()(command)
app.command("list")(looking.list_parts)
app.command()(looking.doctor)
groups = {
    name: getattr(looking, name) for name in ("task", "data", "models", "prompts")
}
for name, group in groups.items():
    app.add_typer(group, name=name)
app.add_typer(bench.app, name="bench")
for group in (app, *groups.values()):
    for each in group.registered_commands:
        each.cls = StrictCommand
