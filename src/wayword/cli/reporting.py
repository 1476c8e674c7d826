"""``wayword table``, ``merge``, ``verify``, ``compare``, ``score``, ``export``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from wayword.cli import completing, show
from wayword.cli.running import Cache, Data, Dollars, Prices, Trusted
from wayword.core.errors import UsageError
from wayword.core.visible import comma_separated, count

if TYPE_CHECKING:
    from wayword.runs.reports import Report


FormatOption = Annotated[
    Literal["rich", "json", "csv", "markdown", "latex"],
    Option("--format", help="Output format."),
]
Cluster = Annotated[
    str,
    Option(
        help="What dependent episodes share, for intervals: scene, episode; default: the "
        "dataset's own, such as path."
    ),
]
Metrics = Annotated[
    str, Option(help="Only these metrics, by key or column: sr,spl,Cost")
]


def table(
    runs: list[Path],
    form: FormatOption = "rich",
    metrics: Metrics = "",
    together: bool = False,
    pool: bool = False,
    by: Literal["", "scene", "length"] = "",
    wide: bool = False,
    cluster: Cluster = "",
    preset: str = "",
    published: str = "",
    label: list[str] | None = None,
    data: Data = None,
    trusted: Trusted = None,
) -> None:
    """Show metrics of runs with 95% intervals, one row per run.

    \b
    Examples:
      wayword table runs/*
      wayword table runs/navgpt-* --format markdown --metrics sr,spl,ne
      wayword table runs/navgpt --by length --metrics sr,spl
      wayword table runs --together --metrics sr,goal_sr,steps
      wayword table runs/navgpt runs/random --format latex --preset r2r
      wayword table runs/mine --published navgpt/table-1 --metrics sr,ne

    Args:
        runs: Run folders, or folders of run folders.
        together: One table for all runs, even of different worlds.
        pool: One row for runs that differ only in their seeds.
        by: One row per scene, or per length of the reference.
        wide: Show every column, however wide.
        preset: Columns of a benchmark's papers: r2r, rxr, reverie, touchdown, objectnav, robot,
          alfred, babyai; with --format latex a whole table.
        published: Add the rows of a published table: navgpt/table-1; `wayword reproduce` lists
          them.
        label: Name of a row; repeat for each row, in their order.
    """
    from wayword.runs import reports
    from wayword.runs.results import metric_names

    keys = metric_names(metrics)
    theirs = None
    if published:
        from wayword.runs.reproduce import published_rows

        theirs = partial(published_rows, published)
    unreadable: list[Path] = []
    show.echo(
        reports.table(
            runs,
            form,
            keys,
            together,
            pool,
            show.notice,
            by,
            data,
            wide,
            trusted or (),
            cluster,
            preset,
            theirs,
            label or (),
            unreadable.append,
        ),
        nl=form != "csv",  # to some readers a blank line is another row
    )
    # A script must not take the table for one of all that it named; a folder may hold broken runs.
    if set(unreadable) & set(runs):
        raise typer.Exit(1)


def merge(
    shards: list[Path],
    *,
    out: Path,
) -> None:
    """Merge shards played by several machines into one run folder.

    Given one folder with damaged records, copy all intact records.

    \b
    Examples:
      wayword run navgpt --on r2r:val_seen --model openai:NAME --shard 1/4 --out runs/s1
      wayword merge runs/s1 runs/s2 runs/s3 runs/s4 --out runs/whole
      wayword table runs/whole

    Args:
        shards: Run folders, one per shard.
        out: A new run folder.
    """
    from wayword.runs.record import merge as merge_shards

    # The shards stay as they are.
    merged = merge_shards(shards, out)
    show.echo(f"{merged.path}: {merged.episodes:,} episodes")
    show.notice(*merged.notices)


def drop(
    run: Path,
    *,
    episodes: str,
) -> None:
    """Remove episodes from a run, so that the same run command plays them again.

    Their records, finished and failed ones, are kept in dropped.jsonl.gz of the run folder; their
    cost stays part of the run's. `wayword run … --redo ID` does both.

    \b
    Example:
      wayword drop runs/navgpt --episodes 3837_0,4072_2

    Args:
        run: A run folder.
        episodes: Their ids: ID,ID,…
    """
    from wayword.runs.record import DROPPED
    from wayword.runs.record import drop as drop_records

    # An empty part, after a last comma, is no episode.
    names = comma_separated(episodes)
    records = count(drop_records(run, names), "record")
    show.echo(f"{records} moved to {run / DROPPED}; run the same command to play again")


def verify(
    run: Path,
    data: Data = None,
    trusted: Trusted = None,
) -> None:
    """Replay every recorded action and recompute every score.

    Also checks run.json against code and data, and that the episodes are the first ones in the
    run's order. Lists the first difference of each episode and of run.json, and says what no replay
    can prove. The exit code is 1 if there is a difference.

    \b
    Examples:
      wayword verify runs/mine

    Args:
        run: A run folder.
    """
    from wayword.runs.record import RunFolder
    from wayword.runs.verify import NOT_REPLAYED, UNPROVEN, coverage
    from wayword.runs.verify import verify as verified

    opened = RunFolder.read(run)
    # Every episode is replayed before anything is printed.
    found = list(verified(opened, data, trusted or ()))
    wrong = [(name, difference) for name, difference in found if difference]
    for name, difference in wrong:
        show.echo(f"{name}: {difference}" if name else difference)
    # Findings without a name are about the whole run.
    replayed = sum(
        bool(name) and not difference.startswith(NOT_REPLAYED)
        for name, difference in found
    )
    show.echo(
        f"{run}: {count(replayed, 'episode')} replayed and scored, "
        f"{count(len(wrong), 'difference')}"
    )
    show.echo(f"{coverage(opened)}; {UNPROVEN}")
    if wrong:
        raise typer.Exit(1)


def retell(
    run: Path,
    *,
    model: str,
    episodes: str = "",
    set_: list[str] | None = None,
    data: Data = None,
    cache: Cache = None,
    max_tokens: int | None = None,
    max_dollars: Dollars = None,
    prices: Prices = None,
) -> None:
    """Let a model write an instruction for each walk of a run, and draw it from above.

    The instruction is written from actions and observations, without the agent's thoughts. The
    drawn places are compared with the true ones: mean error in meters, that of the last place, and
    the mean in lengths of the walk. Results are written to retold.json in the run folder. A model
    is asked twice per episode. Walks that it has retold are kept; --episodes retells them.

    \b
    Examples:
      wayword retell runs/navgpt --model openai:gpt-5-mini
      wayword retell runs/navgpt --model openai:gpt-5-mini --episodes 3837_0

    Args:
        run: A run folder with walks between viewpoints.
        model: The model, such as openai:gpt-5-mini.
        episodes: Only these episodes: ID,ID,…; default: all.
        set_: A setting of the model: model.KEY=VALUE.
        max_tokens: Token budget; walks after its end are left out.
    """
    from wayword.runs import retelling
    from wayword.settings import parse

    chosen = comma_separated(episodes)
    options = parse(set_ or [])
    # Only the model has settings here; a misspelled group must not be ignored.
    if other := [key for key in options if key != "model"]:
        raise UsageError(f"--set {other[0]}: write model.KEY=VALUE")
    plan = retelling.Retelling(
        run,
        model,
        options.get("model", {}),
        chosen,
        data,
        cache,
        max_tokens,
        max_dollars,
        prices,
    )
    retold, left_out = retelling.retell(
        plan, lambda each: show.echo("\n".join(retelling.retold_lines(each)))
    )
    show.echo("\n".join(retelling.summary_lines(retold, left_out)))
    show.echo(f"{run / retelling.FILE}")


def compare(
    runs: list[Path],
    form: FormatOption = "rich",
    metrics: Metrics = "",
    cluster: Cluster = "",
    label: list[str] | None = None,
    data: Data = None,
) -> None:
    """Compare the first run with the others by episode: differences with intervals, wins, p-values.

    Runs that differ only in their seeds are pooled. Success is corrected for the number of other
    runs, all other metrics for the number of shown metrics that differ and runs, by Holm's method.

    \b
    Examples:
      wayword compare runs/navgpt-houses-a runs/navgpt-houses-b --metrics sr,spl
      wayword compare runs/baseline runs/seeds-a runs/seeds-b
      wayword compare runs/baseline runs/ours --label Baseline --label Ours --format latex

    Args:
        runs: Run folders on the same episodes; a folder of seeds is one run.
        label: Name of a run; repeat for each run, in their order.
    """
    from wayword.runs import differences
    from wayword.runs.results import metric_names

    compared = differences.compare(
        runs, form, metric_names(metrics), cluster, data, label or ()
    )
    _print_written(compared, form)


def tours(
    run: Path,
    other: Annotated[
        Path | None, Argument(help="The same run without --remember.")
    ] = None,
    form: FormatOption = "rich",
    metrics: Metrics = "",
    data: Data = None,
    trusted: Trusted = None,
) -> None:
    """Compare the halves of a run's tours, each of which plays the paths of a scene once.

    With OTHER, the same run without --remember, also compare both runs in each half. Runs on
    viewpoint graphs have t-nDTW, the nDTW of whole tours (Krantz et al. 2023).

    \b
    Examples:
      wayword run mapgpt --on houses --model openai:NAME --remember scene --out runs/kept
      wayword run mapgpt --on houses --model openai:NAME --out runs/forgot
      wayword tours runs/kept runs/forgot

    Args:
        run: A run folder.
    """
    from wayword.runs.results import metric_names
    from wayword.runs.tours import report

    compared = report(run, other, metric_names(metrics), form, data, trusted or ())
    _print_written(compared, form)


def score(
    file: Path,
    *,
    on: str,
    per_episode: Annotated[bool, Option(help="One JSON line per episode.")] = False,
    data: Data = None,
    set_: list[str] | None = None,
    form: FormatOption = "rich",
    wide: bool = False,
    cluster: Cluster = "",
    out: Path | None = None,
    label: str = "",
) -> None:
    """Score predictions of any other system.

    FILE is a submission of R2R, RxR or REVERIE, a result file of NavGPT, VLN-DUET or VELMA, or
    any list, mapping or JSON Lines with an id and a trajectory or actions; it may be gzipped.

    \b
    Examples:
      wayword score submission.json --on r2r:val_unseen
      wayword score walks.jsonl.gz --on r2r:val_seen --per-episode
      wayword score walks.json --on r2r:val_seen --out runs/walks --label Ours
      wayword compare runs/forward runs/walks

    Args:
        file: Predictions: JSON or JSON Lines.
        on: Dataset and split, such as r2r:val_seen.
        set_: dataset.KEY=VALUE
        wide: Show every column, however wide.
        out: A new run folder to write, for table, compare, plot and view.
        label: Name of the system; default: the file's.
    """
    from wayword.runs import reports
    from wayword.runs.plan import Plan
    from wayword.settings import parse

    # A plan is what opens a dataset; no agent of that name is called.
    plan = Plan("score", on, settings=parse(set_ or []), data=data)
    with show.waiting(f"{on}: reading the data …"):
        scored = reports.score(file, plan, form, per_episode, cluster, wide, out, label)
    _print_written(scored, form)


def power(
    runs: Annotated[
        list[Path] | None,
        Argument(help="Runs to compare, or folders of runs; default: runs/."),
    ] = None,
    on: str = "",
    difference: float = 5.0,
    data: Data = None,
) -> None:
    """Compute the episodes that a comparison needs to show a difference.

    The variance comes from pairs of runs on the split; without any, it is assumed.

    \b
    Examples:
      wayword power --on houses --difference 5
      wayword power runs/navgpt runs/mapgpt --difference 3

    Args:
        on: Dataset and split, such as r2r:val_unseen; default: that of the runs, else houses.
        difference: The difference to show, in points of success.
    """
    from wayword.runs.config import read_config
    from wayword.runs.power import report
    from wayword.runs.scored_runs import run_folders

    # The default folder may be missing; a name that leads to no run is a mistake.
    for folder in run_folders(runs or []):
        read_config(folder)
    show.echo(report(on, difference, runs or [Path("runs")], data))


def _print_written(written: Report, form: str) -> None:
    """Print a text and its notices."""
    show.echo(written.text, nl=form != "csv")
    show.notice(*written.notices)


# ``wayword export``: training data from finished runs.


def export(
    runs: list[Path],
    format_: Literal["chat", "steps", "hub"] = "chat",
    out: Path = Path("train.jsonl"),
    strategy: Annotated[
        str,
        Option(
            "--as",
            help="Strategy whose prompts to write (act, react …); calls: recorded prompts and "
            "answers of any agent; mcap: a log of each episode for Foxglove; harbor: tasks for "
            "Harbor.",
            autocompletion=completing.agents,
        ),
    ] = "act",
    set_: list[str] | None = None,
    actor: list[str] | None = None,
    all_: bool = False,
    data: Data = None,
    parquet: Annotated[
        bool, Option(help="With --format hub: write Parquet (needs duckdb).")
    ] = False,
    thoughts: bool = False,
    trusted: Trusted = None,
) -> None:
    """Write finished episodes as training data in chat format.

    Each line has a strategy's prompts and the answers that lead to the recorded actions, with
    --thoughts also the model's thoughts or the expert's reasons. `OUT.card.json` describes the
    file, and pictures that agents saw are in a folder next to it. With --as calls, OUT is a folder
    of recorded prompts and answers for SFT, DPO and KTO; with --as mcap, a folder of MCAP files;
    with --as harbor, a folder of tasks whose worlds run in containers.

    \b
    Examples:
      wayword run expert --on household:generated_train --out runs/gold
      wayword export runs/gold --out train.jsonl
      wayword export runs/gold --as react_emmem --format steps --set decoding=free
      wayword export runs/react --as react --thoughts --out thoughts.jsonl
      wayword export runs/gold --format hub --out gold-dataset
      wayword export runs/a runs/b --as calls --set by=spl --set least=0.8 --out calls
      wayword export runs/gold --as harbor --out tasks

    Args:
        runs: Run folders, usually of expert, gold or oracle.
        format_: chat: one line per episode; steps: one line per decision; hub: a folder in the
          Hugging Face layout, with a dataset card.
        out: Output file or, for hub, folder.
        set_: A strategy setting (decoding=free), or least=0.8.
        actor: Only this actor's lines; may be repeated.
        all_: Include episodes without success.
        thoughts: Keep the thoughts of each step, if recorded.
    """
    from wayword.core import registry
    from wayword.core.errors import RecordingError, UsageError, suggest
    from wayword.runs.calls import export_calls
    from wayword.runs.export import Export, publish
    from wayword.runs.export import export as write
    from wayword.runs.harbor import export_harbor
    from wayword.runs.mcap import export_mcap
    from wayword.settings import parse

    # These have a layout of their own.
    layouts = ("calls", "mcap", "harbor")
    if strategy in layouts and (format_ != "chat" or parquet):
        raise UsageError(
            f"--as {strategy} has no other format; remove --format and --parquet"
        )
    known = [*layouts, *registry.names("agent")]
    # Anything else is a user's file or folder.
    if strategy.isidentifier() and strategy not in known:
        raise UsageError(f"--as {strategy}: {suggest(strategy, known)}")
    # The layout of the Hugging Face Hub holds lines of chat.
    kind = "chat" if format_ == "hub" else format_
    options = Export(
        strategy,
        kind,
        parse(set_ or []),
        actor or (),
        all_,
        data,
        thoughts,
        trusted or (),
    )
    with show.progress("export") as bar:

        def report(done: int, total: int) -> None:
            """Show the progress."""
            bar(done, total, {})

        if strategy == "mcap":
            show.echo(f"{out}: {export_mcap(runs, out, report)} episodes as MCAP")
            return
        if strategy == "harbor":
            written = export_harbor(runs, out, data, trusted or (), report)
            show.echo(f"{out}: {written.line}")
            return
        if strategy == "calls":
            values = {**options.settings, "actors": options.actors}
            card = export_calls(
                runs,
                out,
                values,
                everything=all_,
                thoughts=thoughts,
                data=data,
                trusted=trusted or (),
                on_episode=report,
            )
        elif format_ == "hub":
            card = publish(runs, out, options, parquet, report)
        else:
            card = write(runs, out, options, report)
    # Failures serve KTO and DPO
    if not (card.lines or (strategy == "calls" and card.decisions)):
        # An empty file would look like a finished export.
        if out.is_file() and not out.stat().st_size:
            out.unlink()
        elif strategy == "calls":
            rmtree(out)
        raise RecordingError(f"{out}: nothing to export; {card.why_empty()}")
    show.echo(f"{out}: {card.line}")
    show.notice(*card.notices)
