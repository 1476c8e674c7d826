"""``wayword table``, ``wayword compare`` and ``wayword score``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wayword.cli import completing, show

if TYPE_CHECKING:
    from wayword.runs.reports import Written


class Format(StrEnum):
    """How a table is written."""

    rich = "rich"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


FormatOption = Annotated[Format, Option("--format", help="How to write it.")]
Runs = Annotated[list[Path], Argument(help="Run folders, or folders of run folders.")]
Metrics = Annotated[str, Option(help="Only these metrics, by key or column: sr,spl,Cost")]


def table(
    runs: Runs,
    format: FormatOption = Format.rich,  # noqa: A002
    metrics: Metrics = "",
    together: Annotated[
        bool, Option("--together", help="All in one table, whatever their worlds.")
    ] = False,
    pool: Annotated[
        bool, Option("--pool", help="One row of runs that differ in their seeds alone.")
    ] = False,
) -> None:
    """Metrics of one or more runs with 95% intervals, one row a run.

    \b
    Examples:
      wayword table runs/*
      wayword table runs/navgpt-* --format markdown --metrics sr,spl,ne
      wayword table runs --together --metrics sr,goal_sr,steps
    """
    from wayword.runs import reports

    typer.echo(reports.table(runs, format.value, _keys(metrics), together, pool))


def merge(
    shards: Annotated[list[Path], Argument(help="Run folders of one run's shards.")],
    out: Annotated[Path, Option(help="A new run folder.")],
) -> None:
    """Make one run folder of the shards that several machines have played.

    Of a single folder with damaged records, all the others are copied.

    \b
    Examples:
      wayword run navgpt --on r2r:val_seen --model openai:NAME --shard 1/4 --out runs/s1
      wayword merge runs/s1 runs/s2 runs/s3 runs/s4 --out runs/whole
      wayword table runs/whole
    """
    from wayword.runs.merge import merge as merge_shards

    merged = merge_shards(shards, out)
    typer.echo(f"{merged.path}: {merged.episodes:,} episodes")
    for line in merged.notices:
        show.notice(line)


def verify(
    run: Annotated[Path, Argument(help="A run folder.")],
    data: Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")] = None,
) -> None:
    """Play every recorded action again and recompute every score.

    Names each episode that differs, with the first difference, and exits with 1 if there is one.

    \b
    Examples:
      wayword verify runs/mine
    """
    from wayword.runs.record import RunFolder
    from wayword.runs.replaying import verify as verified

    found = dict(verified(RunFolder.read(run), data))
    wrong = {name: difference for name, difference in found.items() if difference}
    for name, difference in wrong.items():
        typer.echo(f"{name}: {difference}")
    typer.echo(f"{run}: {len(found):,} episodes replayed and scored, {len(wrong):,} differ")
    if wrong:
        raise typer.Exit(1)


def compare(
    first: Annotated[Path, Argument(help="A run folder.")],
    second: Annotated[Path, Argument(help="Another one on the same episodes.")],
    format: FormatOption = Format.rich,  # noqa: A002
    metrics: Metrics = "",
) -> None:
    """Two runs episode by episode: differences with intervals, wins and losses, p-values.

    \b
    Example:
      wayword compare runs/navgpt-houses-a runs/navgpt-houses-b --metrics sr,spl
    """
    from wayword.runs import reports

    _tell(reports.compare(first, second, format.value, _keys(metrics)))


def score(
    file: Annotated[Path, Argument(help="R2R submission JSON, or JSON lines.")],
    on: Annotated[str, Option("--on", help="Dataset and split, such as r2r:val_seen.")],
    per_episode: Annotated[bool, Option(help="One JSON line an episode.")] = False,
    data: Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")] = None,
    set_: Annotated[list[str] | None, Option("--set", help="dataset.KEY=VALUE")] = None,
    format: FormatOption = Format.rich,  # noqa: A002
) -> None:
    """Score predictions made elsewhere.

    FILE is in R2R's submission format, a list of {"instr_id", "trajectory"}, or JSON lines with
    an id (id, instr_id or path_id) and a trajectory or actions; .gz is fine.

    \b
    Examples:
      wayword score submission.json --on r2r:val_unseen
      wayword score walks.jsonl.gz --on r2r:val_seen --per-episode
    """
    from wayword.runs import reports
    from wayword.runs.plan import Plan
    from wayword.settings import parse

    plan = Plan("score", on, settings=parse(set_ or []), data=data)
    with show.waiting(f"{on}: reading the data …"):
        scored = reports.score(file, plan, format.value, per_episode)
    _tell(scored)


def _tell(written: Written) -> None:
    typer.echo(written.text)
    for line in written.notices:
        typer.secho(line, fg=typer.colors.YELLOW, err=True)


def _keys(metrics: str) -> list[str]:
    return [key.strip() for key in metrics.split(",") if key.strip()]


# ``wayword export``: training data from finished runs.


class Form(StrEnum):
    """What a line holds."""

    chat = "chat"
    steps = "steps"
    hub = "hub"


ExportedRuns = Annotated[
    list[Path], Argument(help="Run folders, usually of expert, gold or oracle.")
]
FormOption = Annotated[
    Form,
    Option(
        "--format",
        help="chat: a line an episode; steps: a line a decision; hub: a folder in the "
        "Hugging Face layout, with a card.",
    ),
]
Out = Annotated[Path, Option(help="The file to write.")]
Strategy = Annotated[
    str,
    Option(
        "--as",
        help="The strategy that would have been asked: act, react …",
        autocompletion=completing.agents,
    ),
]
Set = Annotated[list[str] | None, Option("--set", help="A setting of the strategy: decoding=free.")]
Actor = Annotated[
    list[str] | None, Option("--actor", help="Only this actor's lines; may be repeated.")
]
Parquet = Annotated[bool, Option(help="With --format hub: Parquet, written by duckdb.")]
Thoughts = Annotated[
    bool, Option("--thoughts", help="Keep what was thought at each step, where a run has it.")
]
All = Annotated[bool, Option("--all", help="Episodes without success too.")]
Data = Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")]


def export(
    runs: ExportedRuns,
    form: FormOption = Form.chat,
    out: Out = Path("train.jsonl"),
    strategy: Strategy = "act",
    set_: Set = None,
    actor: Actor = None,
    everything: All = False,
    data: Data = None,
    parquet: Parquet = False,
    thoughts: Thoughts = False,
) -> None:
    """Write finished episodes as training data in chat format.

    Each line is what a strategy would have been asked, and the answers that take the recorded
    actions. With --thoughts the run's thoughts are kept: a model's own, or the expert's reasons.
    `OUT.card.json` says what is in the file.

    \b
    Examples:
      wayword run expert --on household:generated_train --out runs/gold
      wayword export runs/gold --out train.jsonl
      wayword export runs/gold --as react_emmem --format steps --set decoding=free
      wayword export runs/react --as react --thoughts --out thoughts.jsonl
      wayword export runs/gold --format hub --out gold-dataset
    """
    from wayword.runs.export import Export, publish
    from wayword.runs.export import export as write
    from wayword.settings import parse

    kind: Any = "chat" if form is Form.hub else form.value
    what = Export(strategy, kind, parse(set_ or []), actor or (), everything, data, thoughts)
    with show.progress("export") as bar:

        def told(done: int, total: int) -> None:
            bar(done, total, {})

        if form is Form.hub:
            card = publish(runs, out, what, parquet, told)
        else:
            card = write(runs, out, what, told)
    if not card.lines:
        from wayword.core.errors import RecordingError

        if out.is_file():
            out.unlink()
        raise RecordingError(f"{out}: nothing to export; {card.why_empty()}")
    typer.echo(f"{out}: {card.line}")
    for line in card.notices:
        show.notice(line)


# ``wayword train``: fine-tune a language model on an agent's own prompts.


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
TrainOut = Annotated[Path, Option(help="The run's folder; a killed run resumes there.")]
Limit = Annotated[int, Option(help="Episodes a split at most; 0: all.")]
TrainSet = Annotated[
    list[str] | None,
    Option("--set", help="rate=1e-4, epochs=5, rank=8, settings.KEY=VALUE (the agent's)."),
]
Track = Annotated[
    str, Option(help="Log to a tracker: trackio:PROJECT, wandb:PROJECT, mlflow:EXPERIMENT.")
]


def train(
    agent: Agent,
    on: On = None,
    method: MethodOption = MethodName.ft,
    walks: Walks = "",
    base: Base = "smollm2",
    out: TrainOut = Path("runs/train"),
    limit: Limit = 0,
    set_: TrainSet = None,
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
