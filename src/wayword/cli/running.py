"""``wayword run``, ``demo`` and ``reproduce``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from wayword.cli import completing, show

if TYPE_CHECKING:
    from threading import Timer

    from wayword.agents.person import Person
    from wayword.runs.plan import Plan
    from wayword.runs.results import RunResult

ModelName = Annotated[
    str,
    Option(
        "--model",
        help="local:smollm2, openai:NAME, scripted:first …",
        autocompletion=completing.models,
    ),
]
Set = Annotated[
    list[str] | None,
    Option(
        "--set",
        help="A setting, KEY=VALUE, of the agent (decoding=free), the model (model.threads=2), the "
        "dataset (dataset.seed=7) or an actor (actors.follower.decoding=free), or another model "
        "for a role (models.summary=openai:NAME).",
    ),
]
Limit = Annotated[
    int | None,
    Option(help="Play N episodes, drawn at random; raise it later to add more."),
]
First = Annotated[
    bool, Option("--first", help="With --limit: the first N episodes of the split.")
]
Shuffle = Annotated[
    int | None, Option(help="Seed of the random order; default with --limit: 0.")
]
Steps = Annotated[int | None, Option(help="Maximum number of steps per episode.")]
Seed = Annotated[int, Option(help="Random seed of the run.")]
Concurrency = Annotated[int, Option(help="Number of concurrent episodes.")]
Data = Annotated[Path | None, Option(help="Data folder; default: $WAYWORD_DATA.")]
Trusted = Annotated[
    list[Path] | None,
    Option(
        "--with",
        exists=True,
        help="A file that the run names and that you trust, such as its dataset; may be repeated.",
    ),
]
Dollars = Annotated[
    float | None, Option(help="Budget in US dollars; the run stops at its end.")
]
Cache = Annotated[
    Path | None, Option(help="File that caches model answers, to reuse them.")
]
Tier = Annotated[
    str,
    Option(
        help="flex: slower calls at half the price, where the provider offers them."
    ),
]
Batch = Annotated[
    bool,
    Option(
        "--batch",
        help="Send calls as batches of the provider, at half the price; each step of the episodes "
        "takes minutes to hours.",
    ),
]
Rpm = Annotated[
    float | None, Option("--rpm", help="Maximum number of requests per minute.")
]
Prices = Annotated[
    Path | None, Option(help="YAML price table that extends the shipped one.")
]
Perturb = Annotated[
    list[str] | None,
    Option(
        help="Perturb episodes, KIND=RATE, such as typos=0.1; may be repeated. See the docs."
    ),
]
Continue = Annotated[
    str,
    Option(
        "--continue",
        help="Continue a recorded episode from a step, RUN:EPISODE:STEP, with its data and seed.",
    ),
]
Track = Annotated[
    str,
    Option(
        help="Experiment tracker: trackio:PROJECT, wandb:PROJECT, mlflow:EXPERIMENT."
    ),
]


def run(
    context: typer.Context,
    agent: Annotated[
        str,
        Argument(
            help="Name of an agent (see: wayword list agents), ./mine.py, or a recipe.yaml "
            "that describes the whole run.",
            autocompletion=completing.agents,
        ),
    ],
    on: Annotated[
        list[str] | None,
        Option(
            "--on",
            help="Dataset and split: houses (the default), r2r:val_seen …, or ./mine.py. "
            "Several (a,b, or repeat the option) make one run each.",
            autocompletion=completing.datasets,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        Option(
            "--model",
            help="local:smollm2, openai:NAME, scripted:first …. Several make one run each.",
            autocompletion=completing.models,
        ),
    ] = None,
    settings: Set = None,
    config: Path | None = None,
    limit: Limit = None,
    first: First = False,
    shuffle: Shuffle = None,
    shard: str = "",
    max_steps: Steps = None,
    seed: Seed = 0,
    concurrency: Concurrency = 8,
    data: Data = None,
    out: Path | None = None,
    max_tokens: int | None = None,
    max_dollars: Dollars = None,
    cache: Cache = None,
    tier: Tier = "",
    batch: Batch = False,
    rpm: Rpm = None,
    prices: Prices = None,
    retries: int = 6,
    actors: Annotated[
        list[str] | None,
        Option(
            "--actor",
            help="Agent for one actor, ACTOR=AGENT: follower=human; may be repeated.",
        ),
    ] = None,
    ask: str = "",
    sweep: list[str] | None = None,
    dry_run: bool = False,
    seeds: int = 1,
    episodes: str = "",
    redo: str = "",
    perturb: Perturb = None,
    continues: Continue = "",
    engine: str = "",
    workers: int = 4,
    remember: str = "",
    track: Track = "",
    trusted: Trusted = None,
    watch: bool = False,
) -> None:
    """Play episodes with an agent and show the results.

    An interrupted run resumes with the same command; finished episodes are kept.

    \b
    Examples:
      wayword run navgpt --on houses --model local:smollm2 --limit 20
      wayword run oracle --on r2r:val_seen --data ./data
      wayword run navgpt --on r2r:val_unseen --model openai:gpt-5-mini --max-dollars 5
      wayword run navgpt --on r2r:val_unseen --model openai:gpt-5-mini --dry-run
      wayword run react --on r2r:val_unseen --model openai:gpt-5-mini --tier flex
      wayword run discussnav --on r2r:val_unseen --model openai:gpt-5-mini --batch --concurrency 100
      wayword run navgpt --on houses --model local:smollm2 --set decoding=free
      wayword run react --on ma_household --actor commander=team --model local:smollm2
      wayword run velma --on towns --model local:smollm2 --sweep shots=0,2 --limit 20
      wayword run navgpt --on houses,tour --model local:smollm2 --model openai:gpt-5-mini
      wayword run navgpt --on r2r:val_seen --model local:smollm2 --episodes 3837_0,4072_2
      wayword run frontier --on apartments --limit 40 --seeds 3 --sweep detector_seed=0,1,2
      wayword run act --model local:smollm2 --continue runs/first:5593_0:4
      wayword run navgpt --on houses --model local:smollm2 --limit 20 --watch
      wayword run recipe.yaml --limit 5
      wayword run navgpt --on houses --model local:smollm2 --perturb typos=0.1
      wayword run ./mine.py --on houses

    Args:
        config: YAML file with settings, as for --set.
        shard: Play only part i of n, to use several machines: 1/4.
        out: Run folder or s3:// URL; default: named after the run.
        max_tokens: Token budget; the run stops at its end.
        retries: Retries after a rate limit or server error.
        ask: Who answers agents' questions: terminal or browser; default: no one.
        sweep: One run per value, KEY=V1,V2,…; KEY can also be on, model or seed.
        dry_run: Call no model: show the first prompts and estimate the cost.
        seeds: Play each episode with run seeds 0 … N-1, pooled in one row.
        episodes: Play only these episodes: ID,ID,…
        redo: Play these finished episodes again: ID,ID,…
        engine: ray: play on a Ray cluster; default: in this process.
        workers: Ray processes; each plays --concurrency episodes.
        remember: scene: agents keep what they learned for a scene's next episode.
        watch: Open the run's live page in the browser.
    """
    # before the imports, which take half of the start-up time
    names = {"on": _listed(on) or ["houses"], "model": _listed(model) or [""]}
    slow = show.notice_later(
        f"{Path(agent).stem} on {', '.join(names['on'])}: reading the data …"
    )
    context.call_on_close(slow.cancel)
    # Libraries are imported here, so that other commands do not wait for them.
    from wayword.core.errors import RecordingError
    from wayword.core.files import short_path
    from wayword.runs import sweep as sweeping
    from wayword.runs.opening import check_recipe
    from wayword.runs.plan import RunRecipe, agents_of, read_config, read_recipe
    from wayword.runs.remote import url_of
    from wayword.runs.reports import table
    from wayword.runs.scored_runs import SEEDS
    from wayword.settings import merge, parse

    values = {
        name: value for name, value in context.params.items() if name not in _NO_OPTIONS
    }
    # Options whose form on the command line differs from that of a recipe.
    values |= {
        "settings": merge(
            read_config(config),
            parse(
                [
                    *(settings or []),
                    *(f"perturb.{p}" for p in perturb or []),
                    *tier_settings(tier, batch),
                ]
            ),
        ),
        "actors": agents_of(actors or []),
        "episodes": tuple(_listed([episodes])),
        "redo": tuple(_listed([redo])),
        "sweep": (
            *(f"{k}={','.join(v)}" for k, v in names.items() if len(v) > 1),
            *(sweep or ()),
        ),
        **{key: several[0] for key, several in names.items()},
        "trusted": tuple(trusted or ()),
    }
    recipe = RunRecipe(**values)
    # A file describes the whole run; options that were typed win over it.
    if agent.endswith((".yaml", ".yml")):
        # Typer alone knows whether an option was typed or has its default.
        sources = {name: context.get_parameter_source(name) for name in context.params}
        given = {
            name
            for name, source in sources.items()
            if source and source.name == "COMMANDLINE"
        }
        # Several values of --on or --model are a sweep without that option.
        given |= {"sweep"} if recipe.sweep else set()
        described = read_recipe(Path(agent))
        check_recipe(Path(agent), described, recipe.trusted)
        recipe = recipe.over(described, given)
    # Seeds are varied last, so that runs of a group are next to each other.
    sweeps = [
        *recipe.sweep,
        *([sweeping.seeds(recipe.seeds)] if recipe.seeds != 1 else []),
    ]
    variants = sweeping.variants(recipe, sweeps) if sweeps else []
    # A forecast plays nothing.
    if dry_run:
        from wayword.runs.forecast import forecast, lines, row_lines

        rows = row_lines([(each.name, forecast(each.plan)) for each in variants])
        show.echo("\n".join(rows or lines(forecast(recipe))))
        return
    with _watched(recipe, watch) as person:
        if variants:  # a table with a row per group of seeds, and a plot
            results = [carry_out(each.plan, recipe.track, person) for each in variants]
            # One incomplete run makes the command fail.
            complete = all(result.outcome.complete for result in results)
            # Runs that differ in seeds alone are one row.
            pool = any(sweep.partition("=")[0] in SEEDS for sweep in sweeps)
            show.echo(table([result.path for result in results], pool=pool))
            show.echo(
                f"\n{sweeping.picture(variants) or short_path(results[0].path.parent)}"
            )
        else:
            result = carry_out(recipe, recipe.track, person, slow)
            complete = result.outcome.complete
            try:
                # Without a finished episode, a table has no numbers.
                if result.resumed or result.outcome.finished:
                    show.echo(table([result.path]))
            except RecordingError as error:
                # An incomplete run may have too little for a table, which is no second
                # error.
                if not complete:
                    raise
                show.notice(f"all episodes were stored, but there is no table: {error}")
            show.echo(f"\n{url_of(result.path) or short_path(result.path)}")
    if not complete:
        raise typer.Exit(1)


def tier_settings(tier: str, batch: bool) -> list[str]:
    """Return the settings that ``--tier`` and ``--batch`` stand for. Raises ``UsageError`` for
    both."""
    from wayword.core.errors import UsageError

    if tier and batch:
        raise UsageError(f"--tier {tier} and --batch exclude each other; remove one")
    if batch:
        tier = "batch"
    if tier:
        return [f"model.tier={tier}"]
    return []


_NO_OPTIONS = ("config", "perturb", "tier", "batch", "dry_run", "watch")
"""Parameters of the command that are not fields of a recipe."""


@contextmanager
def _watched(plan: Plan, watch: bool) -> Iterator[Person | None]:
    """Serve live pages during a run if requested; in a terminal also afterwards, until Ctrl-C.

    Yields the person who answers in the browser, or None.
    """
    # Nobody looks, so no server.
    if not watch and plan.ask != "browser":
        yield None
        return
    with show.pages(plan) as server, server.in_background() as serving:
        # The person needs a page to answer on; spectators watch the same one.
        table = None
        address = f"{server.address}live-run"
        if plan.ask == "browser":
            table = server.games.open(f"{Path(plan.agent).stem} on {plan.on}")
            address = f"{server.address}play/{table.name}/watch"
        show.notice(f"live: {address}")
        if sys.stdout.isatty():
            import webbrowser

            webbrowser.open(address)
        yield table
        if sys.stdout.isatty():
            show.notice("still serving the pages; press Ctrl-C to stop")
            with suppress(KeyboardInterrupt):
                serving.join()
        server.settle()


def _listed(names: list[str] | None) -> list[str]:
    """Return the names of a repeated option: ``["a,b", "c"]`` -> ``["a", "b", "c"]``."""
    from wayword.runs.sweep import split

    listed: list[str] = []
    for text in names or ():
        # The comma of a cascade does not separate.
        parts = [part.strip() for part in split(text)]
        listed += [part for part in parts if part]
    return listed


def demo(
    episodes: int = 10,
    out: Path = Path("runs/demo"),
) -> None:
    """Watch small trained models navigate houses and towns.

    `regression:walker` and `regression:velma` were fitted on other houses and towns; `imitation` is
    a small policy, `oracle` an upper bound, and the others are baselines.

    Args:
        episodes: Episodes per agent.
        out: Folder for the runs.
    """
    from wayword import viewer
    from wayword.metrics.table import cell, label, metrics_of
    from wayword.runs.plan import Plan
    from wayword.runs.reports import rows_of, table

    policy = ["imitation"] if find_spec("onnxruntime") else []  # of the extra [prior]
    tables = []
    pages = []
    failure: tuple[str, str] | None = None
    complete = True
    shown: dict[str, list[str]] = {"": []}
    # Each world has a model that was fitted on other places of its kind.
    for on, trained in ("houses", "walker"), ("towns", "velma"):
        plans = [
            Plan(name, on, limit=episodes) for name in ("oracle", "random", "forward")
        ]
        plans += [Plan(name, on, limit=episodes) for name in policy if on == "houses"]
        plans.append(Plan(trained, on, f"regression:{trained}", limit=episodes))
        results = [
            carry_out(replace(plan, out=out / on / plan.agent)) for plan in plans
        ]
        complete = complete and all(result.outcome.complete for result in results)
        pages.append(viewer.write(results[-1].path).resolve().as_uri())
        # The first failure is enough to be shown.
        failure = failure or _solved_elsewhere(results[:-1], results[-1])
        tables.append(table([result.path for result in results]))
        # The last table has success alone, both worlds side by side.
        rows = rows_of([result.path for result in results])
        (success,) = (
            metric for metric in metrics_of(rows) if metric.key == rows[0].success
        )
        shown[""].append(f"{on}, {rows[0].n} of {rows[0].of}: {label(success)}")
        for row in rows:
            # The two fitted models share a row.
            name = "walker, velma" if row.name == trained else row.name
            shown.setdefault(name, []).append(" ".join(cell(row, success, 1)))
    (out / "tables.txt").write_text("\n".join(tables), encoding="utf-8")
    show.echo("")
    for name, cells in shown.items():
        show.echo(f"{name:16}{''.join(f'{cell:28}' for cell in cells)}".rstrip())
    # A mistake next to its solution teaches more than a mean.
    if failure is not None:
        failed, solved = failure
        show.echo(f"A failed walk with its mistake: {failed}")
        show.echo(f"The same episode, solved:       {solved}")
        show.open_page(failed)
    show.echo(f"All walks: {pages[0]} and {pages[1]}")
    show.echo(f"All metrics: {out / 'tables.txt'}. Next: .venv/bin/wayword run --help")
    if not complete:
        raise typer.Exit(1)


def _solved_elsewhere(
    others: Sequence[RunResult],
    solver: RunResult,
) -> tuple[str, str] | None:
    """Return the pages of an episode that another agent failed and the solver solved.

    The last of the others that failed one is the strongest of them. Its page is written here.
    """
    from wayword import viewer

    success = solver.dataset.family.success
    # Pages of the solver were written before.
    solved = {name for name, scores in solver.recorded.scores() if scores[success]}
    # From the strongest to the weakest.
    for other in reversed(others):
        for name, scores in other.recorded.scores():
            if scores[success] or name not in solved:
                continue
            viewer.write(other.path, episodes=[name])
            (page,) = (other.path / "pages" / "episodes").glob("*.html")
            same = solver.path / "pages" / "episodes" / page.name
            return page.resolve().as_uri(), same.resolve().as_uri()
    return None


def carry_out(
    plan: Plan,
    track: str = "",
    person: Person | None = None,
    slow: Timer | None = None,
) -> RunResult:
    """Run a plan with a progress bar, print its notices, and return the result.

    ``track`` names a tracker that logs the run, as ``--track``. ``slow`` prints "reading
    the data" after a delay, and the first progress cancels it; None: one is made here.
    The bar is hidden if a person plays or answers.
    """
    from wayword.runs.opening import takes_a_person
    from wayword.runs.running import run as run_plan
    from wayword.runs.tracking import tracked

    # A progress bar would interfere with the person's input. The plan decides: ``person`` is also
    # None for the one at the terminal.
    hidden = takes_a_person(plan)
    with (
        show.progress(f"{Path(plan.agent).stem} on {plan.on}", hidden, slow) as bar,
        tracked(track, plan, bar, show.notice) as progress,
    ):
        result = run_plan(plan, progress, person)
    # After the bar, which would overwrite them
    print_notices(result)
    return result


def print_notices(result: RunResult) -> None:
    """Print what a user should know about a run that has ended."""
    from wayword.core.visible import count

    if result.resumed:
        verb = "was" if result.resumed == 1 else "were"
        of = f"{result.resumed:,} of {count(result.chosen, 'episode')}"
        show.notice(f"{of} {verb} already finished and kept")
    show.notice(*result.notices)
    if result.outcome.failed:
        failed = count(result.outcome.failed, "episode")
        remedy = "run the same command to retry"
        # A mistake in code fails again.
        if places := _own_mistakes(result.notices):
            remedy = f"mend {' and '.join(places)}, then run the same command"
            if result.resumed or result.outcome.finished:
                remedy += " with another --out: changed code is another run"
        elif bad := _unscored(result):
            remedy = f"`wayword data check {bad}` names the bad records"
        show.notice(f"{failed} failed; {remedy}")
    if result.outcome.exhausted:
        show.notice(f"{result.outcome.exhausted}; run the same command to resume")
    if result.outcome.unusable:
        show.notice(
            f"stopped: {result.outcome.unusable}; run the same command to resume"
        )


def _failures(notices: Sequence[str]) -> list[str]:
    """Return the notices of failed episodes."""
    return [each for each in notices if re.match(r"episode .* failed: ", each)]


def _unscored(result: RunResult) -> str:
    """Return the name of the dataset if all failures are of scoring, which a retry repeats."""
    failures = _failures(result.notices)
    are_unscored = [" failed: scoring: " in each for each in failures]
    if not failures or not all(are_unscored):
        return ""
    return str(result.recorded.config["identity"]["dataset"])


def _own_mistakes(notices: Sequence[str]) -> list[str]:
    """Return the lines of a user's code that failed episodes, if all failures are of such lines."""
    from wayword.core.blame import place_named

    places = [place_named(each) for each in _failures(notices)]
    if not all(places):
        return []
    return list(dict.fromkeys(places))


# ``wayword reproduce``.


def reproduce(
    name: Annotated[
        str, Argument(help="PAPER/TABLE; PAPER or no name lists tables.")
    ] = "",
    model: str = "",
    limit: Limit = None,
    row: list[str] | None = None,
    set_: Set = None,
    max_steps: Steps = None,
    seeds: int | None = None,
    prompts: Path | None = None,
    concurrency: Concurrency = 8,
    data: Data = None,
    out: Path = Path("runs/reproduce"),
    max_dollars: Dollars = None,
    cache: Cache = None,
    prices: Prices = None,
    stand_in: bool = False,
    dry_run: bool = False,
    format_: Literal["rich", "json", "markdown", "latex"] = "rich",
    first: First = False,
    shuffle: Shuffle = None,
) -> None:
    """Rerun a published table and print our results next to it.

    Without a name, or with the name of a paper, lists tables, figures and ablations. An interrupted
    command can be repeated; rows shared by two tables are played once. If the data of a row is
    missing, generated data is used instead, and the row says so.

    \b
    Examples:
      wayword reproduce
      wayword reproduce navgpt/table-1 --model openai:gpt-5-mini --dry-run
      wayword reproduce navgpt/table-1 --model openai:gpt-5-mini --limit 50 --max-dollars 5
      wayword reproduce lgx/table-4 --model local:smollm2 --row robot --limit 20
      wayword reproduce velma/figure-5 --model openai:gpt-4.1 --row GPT-4 --format markdown

    Args:
        model: The model; `published` for the paper's models.
        row: Only rows whose name contains this text; may be repeated.
        seeds: Number of seeds; default: the recipe's.
        prompts: Folder of prompts, as written by `wayword prompts import`.
        out: Folder for the runs.
        stand_in: Allow generated stand-in data with a paid model.
        dry_run: Call no model: estimate tokens and dollars of each row.
        format_: Output format.
    """
    from wayword.runs import reproduce as recipes
    from wayword.runs.forecast import forecast, row_lines
    from wayword.runs.opening import shared_datasets
    from wayword.runs.record import RunFolder
    from wayword.settings import parse

    # The name of a paper alone lists its tables.
    if not name or name in recipes.PAPERS:
        show.echo(recipes.listing(name))
        return
    recipe = recipes.open_recipe(name)
    options = recipes.RecipeOptions(
        model=model,
        limit=limit,
        rows=tuple(row or ()),
        settings=parse(set_ or []),
        max_steps=max_steps,
        concurrency=concurrency,
        data=data,
        out=out,
        max_dollars=max_dollars,
        cache=cache,
        prices=prices,
        seeds=seeds,
        stand_in=stand_in or dry_run,
        prompts=prompts,
        first=first,
        shuffle=shuffle,
    )
    with shared_datasets():
        rows = recipes.prepare(recipe, options)
        # Rows on the same data have the same notice, so it is printed once.
        for line in dict.fromkeys(
            each.differs[0] for each in rows if each.plans and each.differs
        ):
            if line.startswith(recipes.STAND_IN):
                show.notice(line)
        plans = []
        # Rows with several seeds have several plans.
        for each in rows:
            for plan in each.plans:
                name = each.row.name
                if len(each.plans) > 1:
                    name += f", seed {plan.seed}"
                plans.append((name, plan))
        # A forecast comes before anything is paid.
        if dry_run or (plans and not recipes.costs_nothing(options)):
            for line in row_lines([(name, forecast(plan)) for name, plan in plans]):
                show.echo(line) if dry_run else show.notice(line)
        if dry_run:
            return
        complete = True
        spent = 0.0
        # Rows may share a run, which is played once.
        done = set()
        for plan in (plan for _, plan in plans if plan.out not in done):
            done.add(plan.out)
            # The budget is that of the whole table.
            left = None if max_dollars is None else max(0.0, max_dollars - spent)
            result = carry_out(replace(plan, max_dollars=left))
            complete = complete and result.outcome.complete
            scores = RunFolder.read(result.path).scores()
            # Read from the records, so that earlier sessions count too.
            spent += sum(each.get("cost", 0.0) for _, each in scores)
        compared = [recipes.compare_row(each, list(recipe.metrics)) for each in rows]
    show.echo(recipes.render(recipe, compared, format_))
    if not complete:
        raise typer.Exit(1)
