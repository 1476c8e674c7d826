"""``wayword run`` and ``wayword demo``."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from wayword.cli import completing, show

if TYPE_CHECKING:
    from threading import Timer

    from wayword.agents.person import Person
    from wayword.runs.plan import Plan, RunRecipe
    from wayword.runs.running import RunResult

Agent = Annotated[
    str,
    Argument(
        help="An agent's name, ./mine.py, or a file with a whole run, recipe.yaml. "
        "See: wayword list agents",
        autocompletion=completing.agents,
    ),
]
On = Annotated[
    str,
    Option(
        "--on",
        help="Dataset and split: houses, r2r:val_seen …, or ./mine.py",
        autocompletion=completing.datasets,
    ),
]
ModelName = Annotated[
    str,
    Option(
        "--model",
        help="local:smollm2, openai:NAME, scripted:first …",
        autocompletion=completing.models,
    ),
]
Actor = Annotated[
    list[str] | None,
    Option("--actor", help="Another agent for one actor: follower=human; may be repeated."),
]
Ask = Annotated[
    str, Option(help="Who answers agents' questions: terminal, browser, or nobody when left out.")
]
Set = Annotated[
    list[str] | None,
    Option(
        "--set",
        help="A setting, KEY=VALUE: the agent's own (decoding=free), the model's "
        "(model.threads=2), the dataset's (dataset.seed=7), another model for a role "
        "(models.summary=openai:NAME), or an actor's (actors.follower.decoding=free).",
        autocompletion=completing.settings,
    ),
]
Config = Annotated[Path | None, Option(help="A YAML file with the same settings tree.")]
Limit = Annotated[int | None, Option(help="Play the first N episodes; more can follow later.")]
Shuffle = Annotated[int | None, Option(help="Shuffle episodes by this seed before --limit.")]
Shard = Annotated[str, Option(help="Only the i-th of n parts, for several machines: 1/4.")]
Steps = Annotated[int | None, Option(help="Cut episodes off after so many steps.")]
Seed = Annotated[int, Option(help="Seed of everything that is drawn.")]
Concurrency = Annotated[int, Option(help="Episodes under way at once.")]
Data = Annotated[Path | None, Option(help="Data folder; else $WAYWORD_DATA.")]
Out = Annotated[Path | None, Option(help="Run folder, s3://… too; else one named after the run.")]
Tokens = Annotated[int | None, Option(help="Stop in order after so many tokens.")]
Dollars = Annotated[float | None, Option(help="Stop in order after so many US dollars.")]
Cache = Annotated[Path | None, Option(help="Keep answers in this file and reuse them.")]
Rpm = Annotated[float | None, Option("--rpm", help="At most so many requests a minute.")]
Prices = Annotated[Path | None, Option(help="YAML price table that extends the shipped one.")]
Sweep = Annotated[
    list[str] | None,
    Option(help="Run once for each value, KEY=V1,V2,…; ends in one table and a picture."),
]
Dry = Annotated[
    bool, Option("--dry-run", help="Ask nothing: show the first prompts, and forecast the cost.")
]
Episodes = Annotated[str, Option("--episodes", help="Play these episodes alone: ID,ID,…")]
Seeds = Annotated[
    int, Option(help="Play each episode with the run seeds 0 … N-1; ends in one pooled row.")
]
Continue = Annotated[
    str,
    Option(
        "--continue",
        help="Go on from a step of a recorded episode, RUN:EPISODE:STEP, with its data and seed.",
    ),
]
Engine = Annotated[
    str, Option(help="ray: play in the processes of a Ray cluster. Else this process plays.")
]
Workers = Annotated[int, Option(help="Processes of --engine ray, each --concurrency wide.")]
Track = Annotated[
    str, Option(help="Tell a tracker too: trackio:PROJECT, wandb:PROJECT, mlflow:EXPERIMENT.")
]
Watch = Annotated[bool, Option("--watch", help="Open the run's page in the browser, live.")]
Retries = Annotated[int, Option(help="Tries after a rate limit or a server's fault.")]


def run(
    context: typer.Context,
    agent: Agent,
    on: On = "houses",
    model: ModelName = "",
    settings: Set = None,
    config: Config = None,
    limit: Limit = None,
    shuffle: Shuffle = None,
    shard: Shard = "",
    max_steps: Steps = None,
    seed: Seed = 0,
    concurrency: Concurrency = 8,
    data: Data = None,
    out: Out = None,
    max_tokens: Tokens = None,
    max_dollars: Dollars = None,
    cache: Cache = None,
    rpm: Rpm = None,
    prices: Prices = None,
    retries: Retries = 6,
    actors: Actor = None,
    ask: Ask = "",
    sweep: Sweep = None,
    dry_run: Dry = False,
    seeds: Seeds = 1,
    episodes: Episodes = "",
    continues: Continue = "",
    engine: Engine = "",
    workers: Workers = 4,
    track: Track = "",
    watch: Watch = False,
) -> None:
    """Play episodes with an agent, and show the table.

    The same command again goes on where it stopped: finished episodes are kept.

    \b
    Examples:
      wayword run navgpt --on houses --model local:smollm2 --limit 20
      wayword run oracle --on r2r:val_seen --data ./data
      wayword run navgpt --on r2r:val_unseen --model openai:gpt-5-mini --max-dollars 5
      wayword run navgpt --on r2r:val_unseen --model openai:gpt-5-mini --dry-run
      wayword run navgpt --on houses --model local:smollm2 --set decoding=free
      wayword run react --on ma_household --actor commander=team --model local:smollm2
      wayword run velma --on towns --model local:smollm2 --sweep shots=0,2 --limit 20
      wayword run navgpt --on r2r:val_seen --model local:smollm2 --episodes 3837_0,4072_2
      wayword run frontier --on apartments --limit 40 --seeds 3 --sweep detector_seed=0,1,2
      wayword run act --model local:smollm2 --continue runs/first:5593_0:4
      wayword run navgpt --on houses --model local:smollm2 --limit 20 --watch
      wayword run recipe.yaml --limit 5
      wayword run ./mine.py --on houses
    """
    # before the imports, which take half of the time until a run begins
    slow = show.saying(f"{Path(agent).stem} on {on}: reading the data …")
    context.call_on_close(slow.cancel)
    from wayword.runs.plan import RunRecipe, is_recipe, pairs, read_config, read_recipe
    from wayword.runs.remote import url_of
    from wayword.settings import merge, parse

    values = {name: value for name, value in context.params.items() if name not in _NO_OPTIONS}
    values |= {
        "settings": merge(read_config(config), parse(settings or [])),
        "actors": pairs(actors or [], "--actor"),
        "episodes": tuple(name.strip() for name in episodes.split(",") if name.strip()),
        "sweep": tuple(sweep or ()),
    }
    recipe = RunRecipe(**values)
    if is_recipe(agent):
        sources = {name: context.get_parameter_source(name) for name in context.params}
        given = {
            name for name, source in sources.items() if source and source.name == "COMMANDLINE"
        }
        recipe = recipe.over(read_recipe(Path(agent)), given)
    if dry_run:
        from wayword.runs.forecast import forecast, lines

        typer.echo("\n".join(lines(forecast(recipe))))
        return
    if recipe.sweep or recipe.seeds != 1:
        with _watched(recipe, watch) as person:
            carry_out_sweep(recipe, person)
        return
    with _watched(recipe, watch) as person:
        result = carry_out(recipe, recipe.track, person, slow)
        print_table([result.path])
        typer.echo(f"\n{url_of(result.path) or result.path}")
    if not result.outcome.complete:
        raise typer.Exit(1)


_NO_OPTIONS = ("config", "dry_run", "watch")
"""Parameters of the command that are no fields of a recipe."""


@contextmanager
def _watched(plan: Plan, watch: bool) -> Iterator[Person | None]:
    """Serve the pages while a run goes on, where that was asked for; at a terminal also after it,
    until Ctrl-C. Gives the person who answers in the browser, where one is to."""
    if not watch and plan.ask != "browser":
        yield None
        return
    from wayword.viewer.app import Server
    from wayword.viewer.content import Content
    from wayword.viewer.library import Library

    folder = plan.out.parent if plan.out else Path("runs")
    folder.mkdir(parents=True, exist_ok=True)
    with Server(Content(Library([folder]), plan.data)) as server, server.beside() as serving:
        asks = plan.ask == "browser"
        table = server.games.open(f"{Path(plan.agent).stem} on {plan.on}") if asks else None
        address = server.address + (f"play/{table.name}/watch" if table else "")
        show.notice(f"live: {address}")
        if sys.stdout.isatty():
            import webbrowser

            webbrowser.open(address)
        yield table
        if sys.stdout.isatty():
            show.notice("the pages stay until Ctrl-C")
            with suppress(KeyboardInterrupt):
                serving.join()


def carry_out_sweep(recipe: RunRecipe, person: Person | None = None) -> None:
    """A run for each value, one table with a row for each group of seeds, one picture."""
    from wayword.runs import sweep as sweeping

    seeds = [sweeping.seeds(recipe.seeds)] if recipe.seeds != 1 else []
    sweeps = [*recipe.sweep, *seeds]
    made = sweeping.variants(recipe, sweeps)
    results = [carry_out(each.plan, recipe.track, person) for each in made]
    print_table([result.path for result in results], pool=sweeping.over_seeds(sweeps))
    typer.echo(f"\n{sweeping.picture(made)}")
    if not all(result.outcome.complete for result in results):
        raise typer.Exit(1)


def demo(
    episodes: Annotated[int, Option(help="Episodes of each agent but the untrained.")] = 10,
    out: Annotated[Path, Option(help="Folder for the runs.")] = Path("runs/demo"),
) -> None:
    """Small trained language models find their way in generated houses and towns.

    `local:walker` and `local:velma` were trained for such places, but on none of these; `imitation`
    asks no language model. Beside them are plain baselines, and one episode of the embedded model
    as it is published (135 million parameters), asked in the walker's words.
    """
    from wayword import viewer
    from wayword.runs.plan import Plan

    untrained = out / "houses" / "walker-untrained"
    plain = ["oracle", "random", "forward"]
    policy = ["imitation"] if find_spec("onnxruntime") else []  # of the extra [prior]
    houses = [Plan(name, "houses", limit=episodes) for name in [*plain, *policy]]
    houses.append(Plan("walker", "houses", "local:walker", limit=episodes))
    towns = [Plan(name, "towns", limit=episodes) for name in plain]
    towns.append(Plan("velma", "towns", "local:velma", limit=episodes))
    with _beside("walker", "--on", "houses", "--model", "local:smollm2", out=untrained) as slow:
        results = [
            [carry_out(replace(plan, out=out / plan.on / plan.agent)) for plan in plans]
            for plans in (houses, towns)
        ]
        with show.waiting("the untrained model ends its episode …"):
            slow.wait()
    *others, walker = [result.path for result in results[0]]
    print_table([*others, *([] if slow.returncode else [untrained]), walker])
    print_table([result.path for result in results[1]])
    pages = [viewer.write(played[-1].path).resolve().as_uri() for played in results]
    typer.echo(
        f"\nwalker-untrained is the published SmolLM2, cut off after {UNTRAINED_STEPS} steps; "
        "no model was trained on these episodes."
    )
    typer.echo(f"Open {pages[0]} to see where the walker went, and why,")
    typer.echo(f"and {pages[1]} for the streets. Every prompt and answer is there.")
    typer.echo("Next: wayword run --help")
    if slow.returncode or not all(r.outcome.complete for played in results for r in played):
        raise typer.Exit(1)


UNTRAINED_STEPS = 8
"""Steps of the untrained model in the demo: the gold paths there take six at most."""


@contextmanager
def _beside(*arguments: str, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One episode played by a process of its own, on another core; ended with the context."""
    settings = ["--limit", "1", "--max-steps", str(UNTRAINED_STEPS), "--out", str(out)]
    command = [sys.executable, "-m", "wayword", "run", *arguments, *settings]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    try:
        yield process
        if process.returncode:
            show.notice(f"this failed: {shlex.join(command)}")
    finally:
        process.terminate()
        process.wait()


def carry_out(
    plan: Plan, track: str = "", person: Person | None = None, slow: Timer | None = None
) -> RunResult:
    """Run a plan under a progress bar, and print what a person should know; ``slow`` as
    ``show.progress`` takes it."""
    from wayword.runs.plan import takes_a_person
    from wayword.runs.running import counted
    from wayword.runs.running import run as run_plan
    from wayword.runs.tracking import tracked

    # a bar would write into what the person is typing
    hidden = takes_a_person(plan)
    with (
        show.progress(f"{Path(plan.agent).stem} on {plan.on}", hidden, slow) as bar,
        tracked(track, plan, bar, show.notice) as progress,
    ):
        result = run_plan(plan, progress, person)
    if result.resumed:
        kept = counted(result.resumed, "episode was", "episodes were")
        show.notice(f"{kept} finished before, and kept")
    for line in result.notices:
        show.notice(line)
    if result.outcome.failed:
        failed = counted(result.outcome.failed, "episode", "episodes")
        show.notice(f"{failed} failed; the same command tries again")
    if result.outcome.exhausted:
        show.notice(f"{result.outcome.exhausted}; the same command goes on")
    if result.outcome.unusable:
        show.notice(f"stopped: {result.outcome.unusable}; the same command then goes on")
    return result


def print_table(paths: list[Path], pool: bool = False) -> None:
    """The table of some run folders, on stdout; runs that differ in seeds alone in one row."""
    from wayword.runs.reports import table

    typer.echo(table(paths, "rich", pool=pool))


# ``wayword reproduce`` and ``wayword plan``.


if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayword.runs.reproduce import Prepared, Recipe, Wishes


class ComparisonFormat(StrEnum):
    """How the comparison is written."""

    rich = "rich"
    json = "json"
    markdown = "markdown"


def reproduce(
    name: Annotated[str, Argument(help="PAPER/TABLE; left out: list all of them.")] = "",
    model: Annotated[
        str, Option(help="The model; `published` for those that the paper names.")
    ] = "",
    limit: Limit = None,
    row: Annotated[
        list[str] | None, Option(help="Only rows whose name holds this; may be repeated.")
    ] = None,
    set_: Set = None,
    max_steps: Steps = None,
    seeds: Annotated[int | None, Option(help="So many seeds, not the recipe's.")] = None,
    concurrency: Concurrency = 8,
    data: Data = None,
    out: Annotated[Path, Option(help="Folder of the runs.")] = Path("runs/reproduce"),
    max_dollars: Dollars = None,
    cache: Cache = None,
    prices: Prices = None,
    stand_in: Annotated[
        bool, Option("--stand-in", help="Play stand-in data too with a model that costs money.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Ask nothing: forecast tokens and dollars of each row.")
    ] = False,
    format: Annotated[  # noqa: A002
        ComparisonFormat, Option("--format", help="How to write it.")
    ] = ComparisonFormat.rich,
) -> None:
    """Run a published table again, and print ours beside the published.

    Without a name, all tables, figures and ablations are listed. The same command goes on where
    it stopped; rows that two tables share are played once. Where the data of a row is not there,
    generated data stands in and the row says so.

    \b
    Examples:
      wayword reproduce
      wayword reproduce navgpt/table-1 --model openai:gpt-5-mini --dry-run
      wayword reproduce navgpt/table-1 --model openai:gpt-5-mini --limit 50 --max-dollars 5
      wayword reproduce lgx/table-4 --model local:smollm2 --row robot --limit 20
      wayword reproduce velma/figure-5 --model openai:gpt-4.1 --row GPT-4 --format markdown
    """
    from wayword.runs import reproduce as recipes
    from wayword.runs.plan import shared_datasets
    from wayword.settings import parse

    if not name:
        typer.echo(recipes.listing())
        return
    recipe = recipes.open_recipe(name)
    wishes = recipes.Wishes(
        model, limit, tuple(row or ()), parse(set_ or []), max_steps, concurrency,
        data, out, max_dollars, cache, prices, seeds, stand_in or dry_run,
    )  # fmt: skip
    with shared_datasets():
        complete = _reproduced(recipe, wishes, dry_run, format)
    if not complete:
        raise typer.Exit(1)


def plan(
    name: Annotated[str, Argument(help="An agent, or a recipe such as navgpt/table-1.")],
    on: On = "houses",
    model: ModelName = "",
    pilot: Annotated[
        Path | None, Option("--from", help="A run to measure by: same model, few episodes.")
    ] = None,
    set_: Set = None,
    limit: Limit = None,
    max_steps: Steps = None,
    concurrency: Concurrency = 8,
    hours: Annotated[float | None, Option(help="Wall time that it may take.")] = None,
    cores: Annotated[int, Option(help="Cores of a machine, a process each.")] = 8,
    rpm: Rpm = None,
    data: Data = None,
    prices: Prices = None,
) -> None:
    """How many machines, hours and dollars a run or a recipe would take. Nothing is asked.

    Tokens are rehearsed, or measured where the pilot is of the same agent and data; time is always
    measured.

    \b
    Examples:
      wayword run navgpt --on r2r:val_seen --model openai:mine --limit 10 --out runs/pilot
      wayword plan navgpt --on r2r:val_unseen --model openai:mine --from runs/pilot --hours 2
      wayword plan navgpt/table-1 --model openai:gpt-5-mini --from runs/pilot
    """
    from wayword.runs import forecast
    from wayword.runs.plan import Plan, shared_datasets
    from wayword.settings import parse

    known = forecast.Pilot.of(pilot) if pilot else None
    with shared_datasets():
        if forecast.is_table(name):
            found = forecast.table_outlooks(name, model, data, known)
        else:
            one = Plan(
                name, on, model, parse(set_ or []), limit, max_steps=max_steps, data=data,
                prices=prices,
            )  # fmt: skip
            found = [forecast.outlook(one, known)]
    means = forecast.Resources(concurrency, cores, rpm, hours)
    typer.echo("\n".join(forecast.plan_lines(found, means, known)))


def _reproduced(recipe: Recipe, wishes: Wishes, dry_run: bool, form: ComparisonFormat) -> bool:
    """Forecast, run, and print. Whether every episode is finished."""
    from wayword.runs import reproduce as recipes

    rows = recipes.prepare(recipe, wishes)
    for line in dict.fromkeys(each.differs[0] for each in rows if each.plans and each.differs):
        if line.startswith(recipes.STAND_IN):
            show.notice(line)
    if dry_run:
        typer.echo("\n".join(_forecast(recipe, rows)))
        return True
    if not recipes.costs_nothing(wishes) and any(each.plans for each in rows):
        for line in _forecast(recipe, rows):
            show.notice(line)
    complete = _carry_out(rows, wishes)
    told = [recipes.beside(each, list(recipe.metrics)) for each in rows]
    typer.echo(recipes.render(recipe, told, form.value))
    return complete


def _forecast(recipe: Recipe, rows: Sequence[Prepared]) -> list[str]:
    from wayword.runs.forecast import forecast, table_lines

    told = []
    for each in rows:
        told += [
            (
                f"{each.row.name}{f', seed {plan.seed}' if len(each.plans) > 1 else ''}",
                forecast(plan),
            )
            for plan in each.plans
        ]
    return table_lines(recipe.name, told)


def _carry_out(rows: Sequence[Prepared], wishes: Wishes) -> bool:
    """Every plan, within one budget for all of them. Whether all episodes are finished."""
    complete, spent, done = True, 0.0, set()
    for each in rows:
        for plan in each.plans:
            if plan.out in done:
                continue
            done.add(plan.out)
            left = None if wishes.max_dollars is None else max(0.0, wishes.max_dollars - spent)
            result = carry_out(replace(plan, max_dollars=left))
            complete = complete and result.outcome.complete
            spent += _spent(result.path)
    return complete


def _spent(path: Path) -> float:
    from wayword.runs.record import RunFolder

    return sum(scores.get("cost", 0.0) for _, scores in RunFolder.read(path).scores())
