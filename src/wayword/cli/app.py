"""The ``wayword`` command and its subcommands."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup
from typer.models import TyperInfo

from wayword.core.registry import entry_points

SHIPPED = {
    "run": "running:run",
    "reproduce": "running:reproduce",
    "demo": "running:demo",
    "play": "playing:play",
    "table": "reporting:table",
    "merge": "reporting:merge",
    "drop": "reporting:drop",
    "verify": "reporting:verify",
    "compare": "reporting:compare",
    "power": "reporting:power",
    "tours": "reporting:tours",
    "score": "reporting:score",
    "export": "reporting:export",
    "retell": "reporting:retell",
    "view": "viewing:view",
    "plot": "viewing:plot",
    "runs": "viewing:runs",
    "serve-env": "playing:serve_env",
    "mcp": "playing:mcp",
    "robot": "playing:robot",
    "perceive": "looking:perceive",
    "probe": "looking:probe",
    "list": "looking:list_parts",
    "doctor": "looking:doctor",
    "task": "looking:task",
    "data": "looking:data",
    "models": "looking:models",
    "prompts": "looking:prompts",
    "bench": "bench:app",
}
"""Command -> its function or group in ``wayword.cli``, in the order of the help."""


HELP_SECTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "run": {
        "What to play": ("on", "model", "settings", "config", "actors", "perturb"),
        "Which episodes": (
            *("limit", "first", "shuffle", "episodes"),
            *("redo", "shard", "continues", "max_steps"),
        ),
        "Budgets and servers": (
            *("max_dollars", "max_tokens", "prices", "cache"),
            *("tier", "batch", "rpm", "retries", "concurrency"),
        ),
        "Several runs": ("seeds", "seed", "sweep", "engine", "workers", "remember"),
        "Input and output": (
            *("data", "out", "trusted", "dry_run"),
            *("watch", "track", "ask"),
        ),
    },
}
"""Command -> sections of its help, each with the names of its options; others come last."""


_HOME = re.compile(r"^(--[a-z-]+=|)~(?=/|$)")
"""The home folder at the start of an argument, or of an option's value."""


class StrictCommand(TyperCommand):
    """A command that rejects repeated options of which only the last would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises ``UsageError`` for a repeated option that takes one value: Click keeps
        the last one in silence.
        """
        # A shell leaves the home folder behind "=" to the program.
        home = os.path.expanduser("~")
        args = [_HOME.sub(lambda start: start[1] + home, each) for each in args]
        # The options in the order in which they were typed
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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options in the sections of ``HELP_SECTIONS``."""
        sections = HELP_SECTIONS.get(self.name or "", {})
        # Arguments come first, then the sections in their order.
        rows: dict[str, list[Any]] = {
            "Arguments": [],
            **{name: [] for name in sections},
        }
        # Section of each option, for a lookup by name.
        section_of: dict[str, str] = {}
        for name, options in sections.items():
            section_of |= dict.fromkeys(options, name)
        # Options in no section come last, under "Options".
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if param.param_type_name == "argument":
                section = "Arguments"
            else:
                section = section_of.get(param.name or "", "Options")
            if record is not None:
                rows.setdefault(section, []).append(record)
        # A section without options has no title.
        for section, records in rows.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


class Commands(TyperGroup):
    """The shipped commands, and those of other packages (entry points ``wayword.commands``).

    A command is built when it is called: building all takes a quarter of the start-up time.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of shipped commands, then those of other packages."""
        return list({**SHIPPED, **entry_points("wayword.commands")})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name, built at the first call; None for an unknown name."""
        # Built in an earlier call.
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in SHIPPED:
            command = _shipped_command(cmd_name)
        elif entry := entry_points("wayword.commands").get(cmd_name):
            command = typer.main.get_command(resolve_name(entry))
        else:
            return None
        # The name is the one typed, whatever the function is called.
        command.name = cmd_name
        self.commands[cmd_name] = command
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with the first sentence of their help, without building them."""
        from wayword.core.registry import first_sentence

        # The text alone: building a command reads the types of all of its options.
        rows = []
        for name in self.list_commands(ctx):
            if name in SHIPPED:
                rows.append((name, first_sentence(_help(name))))
            else:
                rows.append(
                    (name, first_sentence(self.get_command(ctx, name).help or ""))
                )
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name. Raises an error with suggestions."""
        if self.get_command(ctx, args[0]) is None:
            for name in SHIPPED:  # Typer suggests commands that are built
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


def _part(name: str) -> Any:
    """Return the function or group of a shipped command; imports its module."""
    return resolve_name(f"wayword.cli.{SHIPPED[name]}")


def _help(name: str) -> str:
    """Return the help of a shipped command, without building it.

    Building a command reads the types of all of its options, which takes long.
    """
    part = _part(name)
    if isinstance(part, typer.Typer):
        return typer.main.solve_typer_info_help(TyperInfo(part))
    return inspect.getdoc(part) or ""


def _shipped_command(name: str) -> Any:
    """Build a shipped command from its function or group."""
    part = _part(name)
    # A group has commands of its own, each as strict as the others.
    if isinstance(part, typer.Typer):
        part.rich_markup_mode = None
        for each in part.registered_commands:
            each.cls = StrictCommand
        for registered in (*part.registered_commands, part.registered_callback):
            if registered and registered.callback:
                registered.callback = documented(registered.callback)
        return typer.main.get_group(part)
    # Typer turns an application with one command into that command.
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command(cls=StrictCommand)(documented(part))
    return typer.main.get_command(single)


# Name and text of a parameter below ``Args:``; further lines of the text are indented deeper.
_PARAMETER = re.compile(r"^    (\w+): (.*(?:\n     .*)*)", re.MULTILINE)


def documented(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters have the help below ``Args:`` of its docstring.

    Such a parameter is an argument if it has no default and is no keyword. All others are
    options of their name, ``--set`` for ``set_``; a flag has no ``--no-`` form.
    """
    text, _, listed = (inspect.getdoc(command) or "").partition("\n\nArgs:\n")
    # Done in an earlier call, or nothing to do.
    if not listed:
        return command
    helps = dict(_PARAMETER.findall(listed))
    signature = inspect.signature(command, eval_str=True)
    parameters = []
    for each in signature.parameters.values():
        if each.name in helps:
            words = " ".join(helps[each.name].split())
            option = f"--{each.name.rstrip('_').replace('_', '-')}"
            info: Any = Option(option, help=words)
            if each.default is each.empty and each.kind is not each.KEYWORD_ONLY:
                info = Argument(help=words)
            each = each.replace(annotation=Annotated[each.annotation, info])
        parameters.append(each)

    @wraps(command)
    def run(*values: Any, **named: Any) -> Any:
        return command(*values, **named)

    run.__doc__ = text
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    return run


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


def _version(requested: bool) -> None:
    """Print the version and end the command."""
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
