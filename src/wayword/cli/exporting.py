"""``wayword export``: training data from finished runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    """What a line holds."""

    chat = "chat"
    steps = "steps"


Runs = Annotated[list[Path], typer.Argument(help="Run folders, usually of expert, gold or oracle.")]
FormOption = Annotated[
    Form, typer.Option("--format", help="chat: a line an episode; steps: a line a decision.")
]
Out = Annotated[Path, typer.Option(help="The file to write.")]
Strategy = Annotated[
    str, typer.Option("--as", help="The strategy that would have been asked: act, react …")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the strategy: decoding=free.")
]
Actor = Annotated[
    list[str] | None, typer.Option("--actor", help="Only this actor's lines; may be repeated.")
]
All = Annotated[bool, typer.Option("--all", help="Episodes without success too.")]
Data = Annotated[Path | None, typer.Option(help="Data folder; else $WAYWORD_DATA.")]


def export(
    runs: Runs,
    form: FormOption = Form.chat,
    out: Out = Path("train.jsonl"),
    strategy: Strategy = "act",
    set_: Set = None,
    actor: Actor = None,
    everything: All = False,
    data: Data = None,
) -> None:
    """Write finished episodes as training data in chat format.

    Each line is what a strategy would have been asked, and the answers that take the recorded
    actions. Thoughts are left out: nobody had them. `OUT.card.json` says what is in the file.

    \b
    Examples:
      wayword run expert --on household:generated_train --out runs/gold
      wayword export runs/gold --out train.jsonl
      wayword export runs/gold --as react_emmem --format steps --set decoding=free
    """
    from wayword.cli import show
    from wayword.experiment.exporting import Export
    from wayword.experiment.exporting import export as write
    from wayword.settings import parse

    what = Export(strategy, form.value, parse(set_ or []), actor or (), everything, data)
    with show.progress("export") as bar:
        card = write(runs, out, what, lambda done, total: bar(done, total, {}))
    typer.echo(f"{out}: {card.line}")
    for line in card.notices:
        show.notice(line)
