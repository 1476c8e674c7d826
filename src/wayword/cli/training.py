"""``wayword train``: fine-tune a language model on an agent's own prompts."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from wayword.cli import completing


class MethodName(StrEnum):
    """Sources of the labels."""

    ft = "ft"
    rbl = "rbl"
    dagger = "dagger"


Agent = Annotated[
    str,
    Argument(
        help="The agent whose prompt is learned: walker, velma, act …",
        autocompletion=completing.agents,
    ),
]
On = Annotated[
    list[str] | None,
    Option("--on", help="A training split; may be repeated.", autocompletion=completing.datasets),
]
MethodOption = Annotated[
    MethodName, Option(help="ft: gold walks; rbl, dagger: the walks of --walks, corrected.")
]
Walks = Annotated[str, Option(help="The model that walks: hf:FOLDER, local:NAME …")]
Base = Annotated[str, Option(help="smollm2, a GGUF file, or a Hugging Face name or folder.")]
Out = Annotated[Path, Option(help="The run's folder; a killed run resumes there.")]
Limit = Annotated[int, Option(help="Episodes a split at most; 0: all.")]
Set = Annotated[
    list[str] | None,
    Option("--set", help="rate=1e-4, epochs=5, rank=8, settings.KEY=VALUE (the agent's)."),
]
Data = Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")]
Track = Annotated[
    str, Option(help="Log to a tracker: trackio:PROJECT, wandb:PROJECT, mlflow:EXPERIMENT.")
]


def train(
    agent: Agent,
    on: On = None,
    method: MethodOption = MethodName.ft,
    walks: Walks = "",
    base: Base = "smollm2",
    out: Out = Path("runs/train"),
    limit: Limit = 0,
    set_: Set = None,
    data: Data = None,
    track: Track = "",
) -> None:
    """Fine-tune a language model on an agent's own prompts, by TRL with adapters.

    The agent plays training episodes; the loss is on its decisions alone. The same command resumes
    a run that was killed. Needs `pip install 'wayword[train]'`.

    \b
    Examples:
      wayword train velma --on towns:train --base Qwen/Qwen3-0.6B --out runs/velma
      wayword run velma --on towns --model hf:runs/velma/model
      wayword train velma --on towns:train --method rbl --walks hf:runs/velma/model --out runs/rbl
    """
    from wayword.cli import show
    from wayword.runs.plan import data_folder
    from wayword.runs.tracking import open_tracker
    from wayword.settings import make, parse
    from wayword.training.sft import FineTuning, finetune

    options: dict[str, object] = {
        "on": tuple(on or ()),
        "method": method.value,
        "walks": walks,
        "base": base,
    }
    options |= {"limit": limit, **parse(set_ or [])}
    plan = make(FineTuning, {"agent": agent, **options}, "train")
    opened = open_tracker(track, out.name, asdict(plan), show.notice) if track else nullcontext()
    with opened as tracker:
        log = tracker.log if tracker else None
        model = finetune(plan, out, data_folder(data), show.notice, log)
    typer.echo(f"{model}: weights; play them with --model hf:{model}")
