"""``wayword train``: fine-tune the weights of an agent, and write them for ``local:``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wayword.cli import completing


class MethodName(StrEnum):
    """How the labels are made."""

    ft = "ft"
    rbl = "rbl"
    dagger = "dagger"


class Quantisation(StrEnum):
    """How a GGUF file is quantised."""

    q8_0 = "Q8_0"
    q5_1 = "Q5_1"
    q5_0 = "Q5_0"
    q4_1 = "Q4_1"
    q4_0 = "Q4_0"
    f16 = "F16"


Agent = Annotated[
    str,
    typer.Argument(
        help="The agent whose prompt is learnt: walker, velma, act …",
        autocompletion=completing.agents,
    ),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        help="A training split; may be repeated. Without: the recipe's own.",
        autocompletion=completing.datasets,
    ),
]
Dev = Annotated[str, typer.Option(help="Where dev episodes come from; else the first --on.")]
MethodOption = Annotated[
    MethodName, typer.Option(help="ft: gold walks; rbl and dagger: the agent's own walks, too.")
]
RecipeOption = Annotated[str, typer.Option("--recipe", help="small, paper, or a YAML file.")]
Base = Annotated[str, typer.Option(help="smollm2, a GGUF file, or a Hugging Face name or folder.")]
Start = Annotated[str, typer.Option(help="Go on from the best/ folder of another run.")]
Out = Annotated[Path, typer.Option(help="The run's folder; a run that was killed goes on there.")]
Limit = Annotated[int, typer.Option(help="At most so many episodes a split; 0: all.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="A field of the recipe: rate=1e-4, epochs=5.")
]
Data = Annotated[Path | None, typer.Option(help="Data folder; else $WAYWORD_DATA.")]
Gguf = Annotated[Path | None, typer.Option(help="Write the best weights as this GGUF file.")]
Track = Annotated[
    str,
    typer.Option(help="Tell a tracker too: trackio:PROJECT, wandb:PROJECT, mlflow:EXPERIMENT."),
]
KindOption = Annotated[Quantisation, typer.Option("--quantise", help="For the GGUF file.")]


def train(
    agent: Agent,
    on: On = None,
    dev: Dev = "",
    method: MethodOption = MethodName.ft,
    recipe: RecipeOption = "small",
    base: Base = "",
    start: Start = "",
    out: Out = Path("runs/train"),
    limit: Limit = 0,
    set_: Set = None,
    data: Data = None,
    gguf: Gguf = None,
    quantise: KindOption = Quantisation.q8_0,
    track: Track = "",
) -> None:
    """Fine-tune a language model on an agent's own prompts.

    The agent plays training episodes; the loss is on its choices alone. The run's folder keeps a
    checkpoint, the dev curve and the best weights: the same command again goes on where it ended.
    Needs `pip install 'wayword[train]'`.

    \b
    Examples:
      wayword train walker --on houses:train --out runs/walker --gguf walker.gguf
      wayword train velma --on map2seq:seen_dev --method rbl --start runs/towns/best
      wayword train velma --on map2seq:unseen_train --recipe paper --base huggyllama/llama-7b
    """
    from wayword.cli import show
    from wayword.runs.plan import data_folder
    from wayword.runs.tracking import open_tracker
    from wayword.settings import parse
    from wayword.training.export import finish
    from wayword.training.loop import Run
    from wayword.training.recipes import Asked

    what = Asked(agent, on or (), dev, method.value, recipe, base, start, limit, parse(set_ or []))
    asked = what.recipe()
    opened = open_tracker(track, out.name, asdict(asked), show.notice) if track else nullcontext()
    with opened as tracker:
        told = {"track": tracker.log} if tracker else {}
        best = Run(asked, out, data_folder(data), show.notice, **told).train()
    typer.echo(f"best dev success {best.get('score', 0.0):.1%} at step {best.get('step', 0)}")
    typer.echo(f"{out / 'best'}: weights in Hugging Face's layout; {out / 'curve.svg'}: the curve")
    if gguf:
        size = finish(out, gguf, quantise.value, best)
        typer.echo(f"{gguf}: {size / 1e6:.0f} MB; use it with --model local:{gguf}")
