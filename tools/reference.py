"""Write docs/reference from the code: the command line, the parts and their settings, the metrics.

    python tools/reference.py

A test compares the pages with what this would write, so they cannot fall behind.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Written by tools/reference.py from the code. Change the code, then run it again. -->"
WIDTH = 96
KINDS = ("agent", "dataset", "world", "model")


def pages() -> dict[str, str]:
    """Return the text of every page by file name."""
    parts = {f"{kind}s.md": _parts(kind) for kind in KINDS}
    others = {"metrics.md": _metrics(), "released.md": _released()}
    others["prompts.md"] = _prompts()
    return {"cli.md": _cli(), **parts, **others}


def main() -> None:
    """Write the pages that have changed, and print their paths."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path}\n")


def _page(title: str, *blocks: str) -> str:
    return (
        "\n\n".join([f"# {title}", NOTE, *(b.strip("\n") for b in blocks if b.strip())])
        + "\n"
    )


def _cli() -> str:
    import typer

    from wayword.cli.app import app

    return _page(
        "The command line", *_commands(typer.main.get_command(app), "wayword", None)
    )


def _commands(command: Any, name: str, above: Any) -> Iterator[str]:
    """Yield the help of a command and its subcommands."""
    context = type(command).context_class(
        command,
        info_name=name,
        parent=above,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    help_text = "\n".join(
        line.rstrip() for line in command.get_help(context).splitlines()
    )
    yield f"## {context.command_path}\n\n```text\n{help_text.strip()}\n```"
    for inner in command.list_commands(context) if hasattr(command, "commands") else ():
        yield from _commands(command.get_command(context, inner), inner, context)


def _parts(kind: Any) -> str:
    from wayword.core import registry

    return _page(
        f"{kind.capitalize()}s",
        *(
            _part(kind, name, registry.load(kind, name))
            for name in registry.names(kind)
        ),
    )


def _part(kind: str, name: str, part: Any) -> str:
    module = sys.modules[part.__module__]
    # A module of several parts describes none of them
    shared = hasattr(module, f"{kind}s")
    about = "" if shared else _markdown(inspect.getdoc(module) or "")
    blocks = [f"## {name}", about, _markdown(inspect.getdoc(part) or "")]
    blocks += _facts(kind, part)
    settings = getattr(part, "Settings", None)
    if settings is not None:
        blocks += _settings(settings)
    return "\n\n".join(block for block in blocks if block)


def _facts(kind: str, part: Any) -> list[str]:
    """Return a sentence with the class attributes of a part."""
    if kind == "agent":
        families = ", ".join(sorted(part.families)) or "all"
        if part.needs_model:
            model = "Needs a language model."
        else:
            model = "Needs no language model."
        return [f"Families: {families}. {model}"]
    if kind == "dataset":
        splits = ", ".join(f"`{split}`" for split in part.splits)
        family = f"[{part.family.name}](metrics.md#family-{part.family.name})"
        steps = f"Episodes end after {part.max_steps} steps at the latest."
        return [f"Family: {family}. Splits, the default first: {splits}. {steps}"]
    return []


def _settings(settings: Any) -> list[str]:
    hints = get_type_hints(settings, include_extras=True)
    meanings = _meanings(settings)
    rows = []
    for each in fields(settings):
        kind = _cell(_type(each.type, hints[each.name]))
        row = f"| `{each.name}` | {kind} | {_cell(_default(each))} |"
        if meanings:
            row += f" {meanings.get(each.name, '')} |"
        rows.append(row)
    if not rows:
        return ["No settings."]
    head = ["| Setting | Type | Default |", "| --- | --- | --- |"]
    if meanings:
        head = ["| Setting | Type | Default | Meaning |", "| --- | --- | --- | --- |"]
    doc = inspect.getdoc(settings) or ""
    # Made by dataclass
    own = "" if doc.startswith(f"{settings.__name__}(") else _markdown(doc)
    return [own, "\n".join([*head, *rows])]


def _meanings(settings: Any) -> dict[str, str]:
    """Return the texts below the fields of a dataclass and its bases, by field."""
    meanings = {}
    for cls in reversed(settings.__mro__):
        if not is_dataclass(cls):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in itertools.pairwise(definition.body):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    line = " ".join(text.split()).replace("|", r"\|")
                    meanings[name] = line.replace("``", "`")
    # Constants of a class may have texts, too.
    names = {each.name for each in fields(settings)}
    return {name: text for name, text in meanings.items() if name in names}


def _type(annotation: Any, hint: Any) -> str:
    """A field's type as in the code, but numbers with limits and literals as a list of values:
    ``2 <= int <= 9``, ``all or none``."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    # The default says what None is.
    parts = [part for part in parts if part is not NoneType] or [hint]
    if any(get_origin(part) is Annotated for part in parts):
        return " or ".join(map(_limited, parts))
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", "")


def _limited(hint: Any) -> str:
    if get_origin(hint) is not Annotated:
        return " or ".join(map(repr, get_args(hint)))
    limits = {
        name: value
        for limit in hint.__metadata__
        for name, value in asdict(limit).items()
    }
    number = get_args(hint)[0].__name__
    for sign, text in (("ge", "<="), ("gt", "<")):
        if sign in limits and not {"le", "lt"} & limits.keys():
            return f"{number} {text.replace('<', '>')} {limits[sign]:,.9g}"
        number = f"{limits[sign]:,.9g} {text} {number}" if sign in limits else number
    for sign, text in (("le", "<="), ("lt", "<")):
        number = f"{number} {text} {limits[sign]:,.9g}" if sign in limits else number
    return number


def _default(field: Any) -> str:
    """A field's default as a user writes it after ``--set``: ``true``, ``auto``, ``0.3``."""
    default = field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    if default is MISSING:
        return "required"
    if isinstance(default, bool):
        return str(default).lower()
    return default or '""' if isinstance(default, str) else repr(default)


def _cell(code: str) -> str:
    return "`" + code.replace("|", r"\|") + "`"


def _metrics() -> str:
    from wayword.metrics import accounting, scoring, state_accuracy

    intro = (
        "Rates and ratios are fractions of 1 in JSON and CSV, and percentages in other formats. "
        "[Metrics](../metrics.md) gives the formulas and their sources."
    )
    blocks = [_table(f"Family {name}", scorer.metrics) for name, scorer in _scorers()]
    blocks.append(_table("Accounting, in every family", accounting.METRICS))
    blocks.append(_table("Several trials", scoring.TRIAL_METRICS))
    blocks.append(_table("Agents that state their own state", state_accuracy.METRICS))
    blocks.append(_table("Agents that consult experts", accounting.ADVICE_METRICS))
    blocks.append(_table("Predictions of other systems", accounting.PREDICTED_METRICS))
    return _page("Metrics", intro, *blocks)


def _scorers() -> Iterator[tuple[str, Any]]:
    """Yield the name and scorer of every family."""
    from wayword.core import registry

    for name in registry.names("scorer"):
        yield name, registry.load("scorer", name)


def _table(title: str, metrics: Any) -> str:
    head = [
        "| Key | Column | Kind | Better | Definition |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = [
        f"| `{m.key}` | {m.label} | {m.kind} | {m.better or 'neither'} | {m.doc} |"
        for m in metrics
    ]
    return "\n".join([f"## {title}", "", *head, *rows])


def _released() -> str:
    """The meant differences between prompts of agents and of the released code."""
    from wayword.agents.released import differences, systems

    introduction = (
        "With [imported prompts](../reproduce.md#the-authors-prompts) an agent sends what the "
        "released code sends, except for the differences below. `python "
        "tools/against_release.py SYSTEM CLONE --data DIR` plays ten episodes with both and fails "
        "at every other difference. `wayword reproduce` prints the names next to the results."
    )
    blocks = []
    for system in systems():
        rows = [f"| `{name}` | {why} |" for name, why in differences(system).items()]
        table = "\n".join(["| Name | Difference |", "| --- | --- |", *rows])
        blocks.append(f"## {system}\n\n{table if rows else 'None.'}")
    return _page("Differences to the released code", introduction, *blocks)


PLAYED = {
    "navgpt": "houses", "navcot": "houses", "mapgpt": "houses", "discussnav": "houses",
    "walker": "houses", "tools": "houses", "velma": "towns", "act": "household",
    "react": "household", "react_emmem": "household", "reflexion": "household",
    "reflexion_emmem": "household",
    "planner": "household", "plan_search": "household", "lgx": "apartments",
    "frontier_llm": "apartments",
}  # fmt: skip
"""Agents that ask a model, each with a dataset whose first episode is shown."""
LATE = {"velma": 30, "lgx": 30, "frontier_llm": 30}
"""Turns of agents that ask nothing in the first one: they look around, or walk to a crossing."""


def _prompts() -> str:
    """The first prompt of each agent and role, as the model gets it."""
    introduction = (
        "The first prompt of each agent, and of each of its roles, in the first generated episode, "
        "with default settings. `wayword run … --dry-run` shows those of your own run, `wayword "
        "view` all prompts and answers of a recorded one. "
        "[Other prompts](../adding.md#other-prompts-for-an-agent) says how to change them."
    )
    with tempfile.TemporaryDirectory() as folder:
        blocks = [_prompts_of(agent, on, Path(folder)) for agent, on in PLAYED.items()]
    return _page("Prompts", introduction, *blocks)


def _prompts_of(agent: str, on: str, folder: Path) -> str:
    from wayword.runs import Plan, RunFolder, run

    plan = Plan(agent, on, "scripted:first", limit=1, first=True)
    steps = LATE.get(agent, 1)
    played = run(replace(plan, max_steps=steps, out=folder / agent))
    run_folder = RunFolder.read(played.path)
    trajectories = [record.trajectory for record in run_folder.records()]
    trajectories += [
        each.trajectory for each in run_folder.failures() if each.trajectory
    ]
    calls = [call for each in trajectories for call in each.calls()]
    blocks = [f"## {agent} in {on}"]
    first_of_role = {call.role: call for call in reversed(calls)}
    for role, call in sorted(first_of_role.items(), key=lambda pair: pair[0] != "main"):
        if len(first_of_role) > 1:
            blocks.append(f"Role `{role}`:")
        prompt = call.prompt
        if isinstance(prompt, str):
            text = prompt
        else:
            text = "\n\n".join(f"[{each.role}]\n{each.content}" for each in prompt)
        lines = [line.rstrip() for line in text.splitlines()]
        blocks.append("\n".join(["```text", *lines, "```"]))
    return "\n\n".join(blocks)


def _markdown(doc: str) -> str:
    """Convert a docstring to Markdown: single backticks, and code blocks for samples."""
    doc = re.sub(r":[a-z]+:`~?\.?([^`]+)`", r"`\1`", doc).replace("``", "`")
    blocks = re.split(r"\n\s*\n", doc)
    return "\n\n".join(_block(block) for block in blocks)


def _block(block: str) -> str:
    lines = block.strip("\n").splitlines()
    if lines and lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *_outdented(lines), "```"])
    if lines and all(line.startswith("    ") for line in lines):
        return "\n".join(["```text", *_outdented(lines), "```"])
    return "\n".join(lines)


def _outdented(lines: list[str]) -> list[str]:
    import textwrap

    shown = (re.sub(r"\s*# doctest:.*", "", line) for line in lines)
    return textwrap.dedent("\n".join(shown)).splitlines()


if __name__ == "__main__":
    main()
