"""Fine-tune a language model on an agent's own prompts: ``python -m weights.sft --help``."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from wayword.core.errors import WaywordError
from wayword.runs.machine import data_folder
from wayword.runs.tracking import open_tracker
from wayword.settings import make, parse
from weights.sft.finetuning import FineTuning, finetune

app = typer.Typer(
    rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False
)


@app.command()
def train(
    agent: Annotated[str, Argument(help="The agent to train for: walker, velma …")],
    on: Annotated[
        list[str] | None, Option("--on", help="A training split; may be repeated.")
    ] = None,
    method: Annotated[
        Literal["ft", "rbl", "dagger"],
        Option(
            help="ft: gold paths; rbl, dagger: corrected paths of the --walks model."
        ),
    ] = "ft",
    walks: Annotated[
        str, Option(help="Model for rbl and dagger: hf:FOLDER, local:NAME …")
    ] = "",
    base: Annotated[
        str,
        Option(
            help="Base model: smollm2, a GGUF file, or a Hugging Face name or folder."
        ),
    ] = "smollm2",
    out: Annotated[
        Path, Option(help="Output folder; an interrupted run resumes there.")
    ] = Path("runs/train"),
    limit: Annotated[
        int, Option(help="Maximum number of episodes per split; 0 for all.")
    ] = 0,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            help="rate=1e-4, epochs=5, rank=8, settings.KEY=VALUE (the agent's).",
        ),
    ] = None,
    data: Annotated[
        Path | None, Option(help="Data folder; default: $WAYWORD_DATA.")
    ] = None,
    track: Annotated[
        str, Option(help="Log to a tracker: wandb:PROJECT, trackio, mlflow …")
    ] = "",
) -> None:
    """Fine-tune a language model on an agent's prompts, using TRL with adapters.

    The agent plays training episodes; only its decisions count in the loss. The same command
    resumes an interrupted run. Needs `make extra-train`.
    """
    options: dict[str, object] = {
        "agent": agent,
        "on": tuple(on or ()),
        "method": method,
    }
    options |= {"walks": walks, "base": base, "limit": limit, **parse(set_ or [])}
    plan = make(FineTuning, options, "train")
    if track:
        opened = closing(open_tracker(track, out.name, asdict(plan), typer.echo))
    else:
        opened = nullcontext()
    with opened as tracker:
        log = tracker.log if tracker else None
        model = finetune(plan, out, data_folder(data), typer.echo, log)
    typer.echo(f"{model}: trained weights; use them with --model hf:{model}")


if __name__ == "__main__":
    try:
        app()
    except WaywordError as error:
        sys.exit(str(error))
