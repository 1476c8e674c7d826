"""Published tables as recipes: ``wayword reproduce navgpt/table-1 --model …``.

    >>> recipe = open_recipe("navgpt/table-1")
    >>> recipe.rows[0].name, recipe.rows[0].published["sr"]
    ('NavGPT', 34.0)

A recipe is a YAML file under ``recipe_files``: the rows of a published table, each with the run
that reproduces it, or the reason why there is none (``absent``).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.released import describe_folder, settings_of
from wayword.core import registry
from wayword.core.episode import Json
from wayword.core.errors import DataError, UsageError, suggest
from wayword.metrics import table as tables
from wayword.metrics.intervals import POSITIVE, Interval, mean_intervals
from wayword.models.middleware.prices import load_prices
from wayword.runs.machine import data_folder
from wayword.runs.plan import Plan, open_dataset
from wayword.runs.record import RunFolder
from wayword.runs.reports import pooled
from wayword.settings import load_shipped, make, merge

FOLDER = files("wayword.runs") / "recipe_files"
PAPERS = (
    *("navgpt", "mapgpt", "navcot", "discussnav", "velma", "lgx", "esc"),
    *("langsuite", "llm_planner", "lats", "ivln"),
)
AS_PUBLISHED = "published"
"""Value of ``--model`` for the models named in the paper, with the backend ``openai:``."""
STAND_IN = "played"
"""First word of the difference about stand-in data."""
OUR_WORDS = "this project's own prompts"
"""Difference that is dropped if the user gives a folder of prompts."""


@dataclass(frozen=True, slots=True)
class RecipeData:
    """Data for a row: a split, with settings of the dataset and of the agent. ``needs`` is a path
    in the data folder that must exist; settings with this value become the full path. ``expert``:
    scores of a player that sees the answers, by metric, on the row's episodes and with its body and
    step limit; ``tools/ceilings.py`` computes them."""

    split: str
    dataset: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    expert: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """A row. ``published`` are the paper's results by our metric keys, rates in percent. The
    ``sources`` are the published data, then stand-ins. ``models`` are the paper's, by role.
    ``differs`` lists differences to the paper even with the same model."""

    name: str
    published: Mapping[str, float]
    agent: str = ""
    absent: str = ""
    sources: tuple[RecipeData, ...] = ()
    remember: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = None
    limit: int | None = None
    shuffle: int | None = None
    seeds: tuple[int, ...] = (0,)
    differs: tuple[str, ...] = ()

    def ceiling(self, metrics: Mapping[str, str]) -> tuple[str, ...]:
        """Sentences on the expert's scores; a row whose expert is below a published score is not
        comparable."""
        expert = self.sources[0].expert if self.sources else {}
        if not expert:
            return ()
        scores = ", ".join(f"{metrics[key]} {expert[key]:g}" for key in expert)
        lines = [f"the expert, which sees the answers, has {scores} on these episodes"]
        above = [
            f"{metrics[key]} {self.published[key]:g} is above the expert's {expert[key]:g}"
            for key in expert
            if self.published.get(key, 0.0) > expert[key]
        ]
        if above:
            lines.append(f"not comparable: the published {', '.join(above)}")
        return tuple(lines)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A published table or figure. ``metrics`` maps our metric keys to the paper's columns.
    ``differs`` lists the differences to the paper and its code that remain with the same model."""

    name: str
    title: str
    source: str
    differs: str
    metrics: Mapping[str, str]
    rows: tuple[RecipeRow, ...]

    @property
    def playable(self) -> tuple[RecipeRow, ...]:
        return tuple(row for row in self.rows if not row.absent)


@dataclass(frozen=True, slots=True)
class RecipeOptions(Plan):
    """The user's options for a recipe: those of a plan, for all of its rows. ``rows`` selects rows
    whose names contain one of these words. ``prompts`` is a folder of prompts. ``stand_in`` allows
    stand-in data with paid models; free models always use it."""

    agent: str = ""
    on: str = ""
    out: Path = Path("runs/reproduce")
    rows: tuple[str, ...] = ()
    seeds: int | None = None
    stand_in: bool = False
    prompts: Path | None = None

    def prompt_folder(self, agent: str) -> Path | None:
        """The folder of an agent's prompts: the subfolder with its name, if any, else ``prompts``.
        None for shipped prompts and for agents without prompts."""
        if self.prompts is None or not hasattr(
            registry.load("agent", agent).Settings, "prompts"
        ):
            return None
        folder = self.prompts / agent
        return folder if folder.is_dir() else self.prompts


@dataclass(frozen=True, slots=True)
class Prepared:
    """A row with its plans, one per seed, and its differences to the paper."""

    row: RecipeRow
    plans: tuple[Plan, ...] = ()
    differs: tuple[str, ...] = ()
    missing: str = ""


def names() -> tuple[str, ...]:
    """Names of all recipes: ``PAPER/TABLE``."""
    recipes = []
    for paper in PAPERS:
        listed = sorted(path.name for path in (FOLDER / paper).iterdir())
        recipes += [f"{paper}/{name.removesuffix('.yaml')}" for name in listed]
    return tuple(recipes)


def without_runs() -> Mapping[str, str]:
    """The papers' other tables and figures, and where their content is covered."""
    tree: Mapping[str, str] = load_shipped(FOLDER / "without_runs.yaml")
    return tree


@cache
def open_recipe(name: str) -> Recipe:
    """Read a recipe. Raises ``UsageError`` for an unknown name."""
    if name not in names():
        other = without_runs().get(name)
        if other:
            raise UsageError(f"{name} has no results to reproduce: {other}")
        raise UsageError(
            f"unknown recipe {name!r}; {suggest(name, [*names(), *PAPERS])}"
        )
    tree = load_shipped(FOLDER / f"{name}.yaml")
    data = {
        key: tuple(make(RecipeData, source, name) for source in sources)
        for key, sources in tree["data"].items()
    }
    defaults = tree["defaults"]
    rows = []
    for row in tree["rows"]:
        # With those of the file's defaults that its agent accepts
        if "absent" not in row:
            agent = registry.load("agent", row.get("agent") or defaults["agent"])
            accepted = agent.Settings.__dataclass_fields__
            settings = {**defaults.get("settings", {}), **row.get("settings", {})}
            settings = {k: v for k, v in settings.items() if k in accepted or k in row}
            row = {**defaults, **row, "settings": settings}
            temperature = row.pop("temperature", None)
            if temperature is not None and "temperature" in accepted:
                settings["temperature"] = temperature
            if not agent.needs_model:
                row["models"] = {}
            row["sources"] = data[row.pop("data")]
            row["differs"] = [*row.get("differs", ()), tree["differs"]]
        made = make(RecipeRow, row, f"{name}, {row['name']}")
        ceiling = made.ceiling(tree["metrics"])
        rows.append(replace(made, differs=(*ceiling, *made.differs)))
    texts = tree["title"], tree["source"], tree["differs"]
    return Recipe(name, *texts, tree["metrics"], tuple(rows))


def listing(only: str = "") -> str:
    """All recipes or those of one paper: title, number of rows with runs, data, differences."""
    blocks = []
    for paper in [only] if only else PAPERS:
        lines = [paper]
        for name in (each for each in names() if each.startswith(f"{paper}/")):
            recipe = open_recipe(name)
            on = dict.fromkeys(row.sources[0].split for row in recipe.playable)
            count = f"{len(recipe.playable)} of {len(recipe.rows)} rows"
            texts = (
                recipe.title,
                f"{count}; {', '.join(on)}",
                f"differs: {recipe.differs}",
            )
            lines += [
                f"  {name if text is texts[0] else '':<22} {text}" for text in texts
            ]
        others = (
            item for item in without_runs().items() if item[0].startswith(f"{paper}/")
        )
        lines += [f"  {name:<22} no runs: {where}" for name, where in others]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def prepare(recipe: Recipe, options: RecipeOptions) -> list[Prepared]:
    """Plan the recipe's rows. Raises ``UsageError`` for unknown rows, and for a missing model."""
    words = [word.casefold() for word in options.rows]
    rows = recipe.rows
    chosen = [
        r for r in rows if not words or any(word in r.name.casefold() for word in words)
    ]
    if not chosen:
        names = ", ".join(row.name for row in rows)
        raise UsageError(
            f"{recipe.name} has no row {' or '.join(options.rows)!r}; use: {names}"
        )
    agents = dict.fromkeys(row.agent for row in chosen if not row.absent)
    for key in options.settings:
        if not any(key in _share(options.settings, agent) for agent in agents):
            names = ", ".join(agents)
            raise UsageError(
                f"--set {key}: no agent of {recipe.name} has this setting ({names})"
            )
    return [_prepared(row, options) for row in chosen]


def _prepared(row: RecipeRow, options: RecipeOptions) -> Prepared:
    """Plan a row, on the first of its data sources that is available."""
    if row.absent:
        return Prepared(row, missing=row.absent)
    main, roles = (options.model, {}) if row.models else ("", dict[str, str]())
    models = ", ".join(f"{role}: {name}" for role, name in row.models.items())
    # A row without published figures has a model of this project's choice.
    published = (
        f"in the paper {models}" if row.published else f"the recipe's is {models}"
    )
    if row.models and not options.model:
        problem = f"row {row.name!r} needs a language model ({published})"
        raise UsageError(f"{problem}; add --model")
    if row.models and options.model == AS_PUBLISHED:
        roles = {role: f"openai:{name}" for role, name in row.models.items()}
        main = roles.pop("main")
    lacking = ""
    for source in row.sources:
        try:
            plan = _plan(row, source, options, main, roles)
            break
        except (DataError, UsageError) as error:
            if source is row.sources[-1]:
                raise
            lacking = lacking or str(error)
    if lacking and not options.stand_in and not _free(main, options):
        remedy = (
            f"add --stand-in to play {plan.on} instead, which has no published result"
        )
        return Prepared(row, missing=f"{lacking}; {remedy}")
    seeds = range(options.seeds) if options.seeds else row.seeds
    folder = options.prompt_folder(row.agent)
    differs = [] if folder is None else [describe_folder(folder)]
    if lacking:
        differs.append(
            f"{STAND_IN} on {plan.on} instead of {row.sources[0].split}: {lacking}"
        )
    if row.models and options.model != AS_PUBLISHED:
        differs.append(f"model {main}; {published}")
    if options.settings:
        differs.append(f"your settings: {json.dumps(options.settings, default=str)}")
    if options.limit and (row.limit is None or options.limit < row.limit):
        differs.append(f"only {_chosen(plan)}")
    if options.max_steps and options.max_steps != row.steps:
        differs.append(f"at most {options.max_steps} steps instead of {row.steps}")
    if len(seeds) != len(row.seeds):
        differs.append(f"{len(seeds)} seeds instead of {len(row.seeds)}")
    plans = [replace(plan, seed=seed) for seed in seeds]
    plans = [replace(each, out=options.out / _folder(each)) for each in plans]
    rest = [
        each.removesuffix(f"; {OUR_WORDS}") if folder else each for each in row.differs
    ]
    return Prepared(row, tuple(plans), (*differs, *rest))


def _chosen(plan: Plan) -> str:
    """A limited plan's episodes, in words."""
    if plan.order is None:
        return f"the first {plan.limit} episodes"
    return f"{plan.limit} episodes, a random sample (--shuffle {plan.order})"


def _plan(
    row: RecipeRow,
    source: RecipeData,
    options: RecipeOptions,
    main: str,
    roles: Mapping[str, str],
) -> Plan:
    """The plan on one source of data. Raises ``DataError`` and ``UsageError`` if it is missing."""
    dataset = dict(source.dataset)
    settings = {**row.settings, **source.settings}
    if source.needs:
        path = (data_folder(options.data) or Path()) / source.needs
        if not path.exists():
            raise DataError(
                source.split, "", f"needs {source.needs}", "see docs/reproduce.md"
            )
        for tree in (dataset, settings):
            tree.update({k: str(path) for k, v in tree.items() if v == source.needs})
    groups = {"dataset": dataset, "models": dict(roles)}
    settings |= {name: group for name, group in groups.items() if group}
    if (folder := options.prompt_folder(row.agent)) is not None:
        settings |= {**settings_of(folder), "prompts": str(folder)}
    # A recipe's own limit takes the first episodes of its split, and its tours have their order.
    own_order = row.shuffle is None and (row.limit is not None or bool(row.remember))
    changes = {
        "agent": row.agent,
        "on": source.split,
        "remember": row.remember,
        "model": main,
        "settings": merge(settings, _share(options.settings, row.agent)),
        "limit": min(
            (n for n in (row.limit, options.limit) if n is not None), default=None
        ),
        "shuffle": options.shuffle if options.states_order else row.shuffle,
        "first": options.first or (own_order and options.shuffle is None),
        "max_steps": options.max_steps or row.steps,
    }
    plan = Plan(
        **{each.name: getattr(options, each.name) for each in fields(Plan)} | changes
    )
    if not len(open_dataset(plan).tasks):
        raise DataError(source.split, "", "has no episodes")
    return plan


def _share(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The user's settings that an agent accepts; a table may have several agents."""
    groups = {"model", "models"} if registry.load("agent", name).needs_model else set()
    accepted = {
        "dataset",
        *registry.load("agent", name).Settings.__dataclass_fields__,
        *groups,
    }
    return {key: value for key, value in settings.items() if key in accepted}


def _free(model: str, options: RecipeOptions) -> bool:
    """True if there is no model or its price is known to be zero."""
    price = load_prices(options.prices).of(model) if model else None
    return not model or (price is not None and price.input == price.output == 0)


def costs_nothing(options: RecipeOptions) -> bool:
    """True if no row can cost money with these options."""
    return options.model != AS_PUBLISHED and _free(options.model, options)


def _folder(plan: Plan) -> str:
    key = [
        plan.agent,
        plan.on,
        plan.model,
        plan.settings,
        plan.seed,
        plan.max_steps,
        plan.shuffle,
    ]
    key += [plan.remember] if plan.remember else []
    digest = hashlib.sha256(
        json.dumps(key, sort_keys=True, default=str).encode()
    ).hexdigest()
    name = "-".join(
        part for part in (plan.agent, plan.on, plan.model.rsplit("/")[-1]) if part
    )
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{digest[:8]}"


# Comparison with the published results.


STEP_MS = "step_ms"
"""Milliseconds per step: a column of recipes that is not a metric of any family."""


@dataclass(frozen=True, slots=True)
class ReproducedRow:
    """A row: our and the ``published`` results by metric, rates in percent. ``n`` of ``of``
    episodes were finished. ``missing`` is the reason if there is no run. ``cost`` is in US dollars,
    None if a price is unknown."""

    name: str
    published: Mapping[str, float]
    ours: Mapping[str, Interval] = field(default_factory=dict)
    n: int = 0
    of: int = 0
    runs: tuple[str, ...] = ()
    model: str = ""
    dataset: str = ""
    cost: float | None = None
    tokens: int = 0
    differs: tuple[str, ...] = ()
    missing: str = ""


def compare_row(prepared: Prepared, keys: Sequence[str]) -> ReproducedRow:
    """Compare a row's runs with the paper. Raises ``RecordingError`` if a run is missing."""
    row = prepared.row
    if prepared.missing:
        return ReproducedRow(row.name, row.published, missing=prepared.missing)
    runs = [RunFolder.read(plan.out) for plan in prepared.plans if plan.out]
    pool = pooled(runs)
    rates = {
        metric.key for metric in tables.metrics_of([pool]) if metric.kind == "rate"
    }
    ours: dict[str, Interval] = {}
    for key in keys:
        if key == STEP_MS:
            scores = [
                each for run in runs for _, each in run.scores() if each.get("steps")
            ]
            if scores:
                values = np.array(
                    [[1000.0 * s["seconds"] / s["steps"]] for s in scores]
                )
                ours[key] = mean_intervals(values, [POSITIVE])[0]
        elif key in pool.values:
            scale = 100.0 if key in rates else 1.0
            value = pool.values[key]
            ours[key] = Interval(
                scale * value.mean, scale * value.low, scale * value.high
            )
    totals = pool.totals
    failed = [f"{pool.failed} episodes failed"] if pool.failed else []
    return ReproducedRow(
        row.name,
        row.published,
        ours,
        pool.n,
        pool.of * len(runs),
        tuple(str(run.path) for run in runs),
        pool.model,
        pool.dataset,
        totals.get("cost", 0.0),
        int(
            sum(totals.get(key) or 0 for key in ("prompt_tokens", "completion_tokens"))
        ),
        (*prepared.differs, *pool.caveats, *failed),
    )


def render(
    recipe: Recipe, rows: Sequence[ReproducedRow], form: str, width: int = 100
) -> str:
    """Format the table as ``rich``, ``markdown``, ``latex`` or ``json``. In each cell, our result
    is above the published one."""
    if form == "json":
        return json.dumps(_json(recipe, rows), indent=2)
    cells = []
    for row in rows:
        count = str(row.n) if row.n == row.of else f"{row.n} of {row.of}"
        cost = "?" if row.cost is None else f"${row.cost:.2f}"
        metrics = [
            _cell(row.ours.get(key), row.published.get(key)) for key in recipe.metrics
        ]
        count, cost = ("–", "–") if row.missing else (count, cost)
        cells.append([row.name, count, *metrics, cost])
    head = ["Row", "Episodes", *recipe.metrics.values(), "Cost"]
    notes = _notes(rows)
    if form in ("markdown", "latex"):
        gap = "<br>" if form == "markdown" else " "
        lines = [[cell.replace("\n", gap) for cell in line] for line in cells]
        write = tables.markdown if form == "markdown" else tables.latex
        return write(head, 1, lines, notes)
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for line in cells:
        table.add_row(*line)
    shown = tables.console_text(table, width=width).rstrip("\n")
    return "\n".join([f"{recipe.name}: {recipe.title}", recipe.source, shown, *notes])


def _cell(ours: Interval | None, published: float | None) -> str:
    mean = "–" if ours is None else f"{ours.mean:.2f}"
    spread = ""
    if ours is not None and not math.isnan(ours.low):
        spread = f" [{ours.low:.2f}, {ours.high:.2f}]"
        if ours.is_symmetric:
            spread = f" ±{ours.half:.2f}"
    return f"{mean}{spread}\n({'–' if published is None else f'{published:g}'})"


def _notes(rows: Sequence[ReproducedRow]) -> list[str]:
    """The distinct differences, each with its rows unless it applies to all of them."""
    differs = dict[str, list[str]]()
    missing = dict[str, list[str]]()
    for row in rows:
        for line in row.differs:
            differs.setdefault(line, []).append(row.name)
        if row.missing:
            missing.setdefault(row.missing, []).append(row.name)
    played = sum(not row.missing for row in rows)
    lines = (
        ["Ours ± half of the 95% interval, or its ends (published). Differences:"]
        if played
        else []
    )
    for line, names in differs.items():
        lines.append(
            f"- {line}" if len(names) == played else f"- {'; '.join(names)}: {line}"
        )
    return lines + [
        f"Not run: {'; '.join(names)}: {why}" for why, names in missing.items()
    ]


def _json(recipe: Recipe, rows: Sequence[ReproducedRow]) -> Json:
    def finite(value: Interval) -> Json:
        ends = {"mean": value.mean, "low": value.low, "high": value.high}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()}

    listed = [
        {**asdict(row), "ours": {key: finite(value) for key, value in row.ours.items()}}
        for row in rows
    ]
    head = {"recipe": recipe.name, "title": recipe.title, "source": recipe.source}
    return {**head, "metrics": dict(recipe.metrics), "rows": listed}
