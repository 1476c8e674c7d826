"""Published tables as recipes: ``wayword reproduce navgpt/table-1 --model …``.

    >>> recipe = open_recipe("navgpt/table-1")
    >>> recipe.rows[0].name, recipe.rows[0].published["sr"]
    ('NavGPT', 34.0)

A recipe is one YAML file under ``recipe_files``: the rows of a table as published, and the run that
stands for each. A row without a run says under ``absent`` why it cannot be had.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from wayword.core import registry
from wayword.core.episode import Json
from wayword.core.errors import DataError, UsageError, suggest
from wayword.metrics import table as tables
from wayword.metrics.intervals import Interval, bootstrap
from wayword.metrics.summary import Row
from wayword.models.middleware.prices import load_prices
from wayword.runs.plan import Plan, data_folder, open_dataset
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.reports import pooled
from wayword.settings import make, merge

FOLDER = files("wayword.runs") / "recipe_files"
PAPERS = ("navgpt", "discussnav", "velma", "lgx", "langsuite")
AS_PUBLISHED = "published"
"""The ``--model`` that stands for the models that the paper names, behind ``openai:``."""
STAND_IN = "played"
"""How the line begins that tells of stand-in data."""


@dataclass(frozen=True, slots=True)
class RecipeData:
    """Data that a row may be played on: a dataset with its settings and the agent's.

    ``needs`` is a path in the data folder that must be there; settings that are equal to it get
    the whole path. Words that are no path say what cannot be had.
    """

    split: str
    dataset: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """One row: ``published`` holds the paper's figures (rates in percent) by our metrics' keys.

    ``sources`` are the data it was published on and the stand-ins for it, in order. ``models`` are
    the paper's, by role. ``differs`` is what is not as published even with the same model.
    """

    name: str
    published: Mapping[str, float]
    agent: str = ""
    absent: str = ""
    sources: tuple[RecipeData, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = None
    limit: int | None = None
    shuffle: int | None = None
    seeds: tuple[int, ...] = (0,)
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """A published table or figure. ``metrics``: our key -> the paper's column."""

    name: str
    title: str
    source: str
    metrics: Mapping[str, str]
    rows: tuple[RecipeRow, ...]

    @property
    def playable(self) -> tuple[RecipeRow, ...]:
        """The rows that are runs here."""
        return tuple(row for row in self.rows if not row.absent)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user says: a model, episodes, budgets, and settings that win over the recipe's.

    ``rows`` keeps rows whose names hold one of these words. ``stand_in`` allows stand-in data for
    models that cost money; models that cost nothing always may.
    """

    model: str = ""
    limit: int | None = None
    rows: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    max_steps: int | None = None
    concurrency: int = 8
    data: Path | None = None
    out: Path = Path("runs/reproduce")
    max_dollars: float | None = None
    cache: Path | None = None
    prices: Path | None = None
    seeds: int | None = None
    stand_in: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A row with its plans, one a seed, and what will not be as published."""

    row: RecipeRow
    plans: tuple[Plan, ...] = ()
    differs: tuple[str, ...] = ()
    missing: str = ""


def names() -> tuple[str, ...]:
    """Every recipe's name: paper/table."""
    found = []
    for paper in PAPERS:
        listed = sorted(path.name for path in (FOLDER / paper).iterdir())
        found += [f"{paper}/{name.removesuffix('.yaml')}" for name in listed]
    return tuple(found)


def without_runs() -> Mapping[str, str]:
    """The papers' other tables and figures: where their content is found here."""
    read: Mapping[str, str] = yaml.safe_load((FOLDER / "without_runs.yaml").read_text("utf-8"))
    return read


@cache
def open_recipe(name: str) -> Recipe:
    """The recipe of that name. Raises ``UsageError``."""
    if name not in names():
        other = without_runs().get(name)
        if other:
            raise UsageError(f"{name} holds no number to run again: {other}")
        raise UsageError(f"no recipe is called {name!r}; {suggest(name, list(names()))}")
    tree = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    data = {
        key: tuple(make(RecipeData, source, name) for source in sources)
        for key, sources in tree["data"].items()
    }
    rows = tuple(_row(row, tree.get("defaults", {}), data, name) for row in tree["rows"])
    return Recipe(name, tree["title"], tree["source"], tree["metrics"], rows)


def _row(
    row: Mapping[str, Any],
    defaults: Mapping[str, Any],
    data: Mapping[str, tuple[RecipeData, ...]],
    name: str,
) -> RecipeRow:
    if "absent" in row:
        made: RecipeRow = make(RecipeRow, row, name)
        return made
    tree = {**defaults, **row}
    tree["settings"] = {**defaults.get("settings", {}), **row.get("settings", {})}
    agent = registry.load("agent", tree["agent"])
    known = agent.Settings.__dataclass_fields__
    tree["settings"] = {k: v for k, v in tree["settings"].items() if k in known or k in row}
    if "temperature" in tree and "temperature" in known:
        tree["settings"]["temperature"] = tree["temperature"]
    if not agent.needs_model:
        tree["models"] = {}
    tree["differs"] = [*row.get("differs", ()), *defaults.get("differs", ())]
    tree["sources"] = data[tree.pop("data")]
    tree.pop("temperature", None)
    complete: RecipeRow = make(RecipeRow, tree, f"{name}, {row['name']}")
    return complete


def listing() -> str:
    """Every recipe: its title, how many rows are runs, and the data of the published figures."""
    blocks = []
    for paper in PAPERS:
        lines = [paper]
        for name in (each for each in names() if each.startswith(f"{paper}/")):
            recipe = open_recipe(name)
            on = dict.fromkeys(row.sources[0].split for row in recipe.playable)
            count = f"{len(recipe.playable)} of {len(recipe.rows)} rows"
            lines += [f"  {name:<22} {recipe.title}", f"  {'':<22} {count}; {', '.join(on)}"]
        others = (item for item in without_runs().items() if item[0].startswith(f"{paper}/"))
        lines += [f"  {name:<22} no runs: {where}" for name, where in others]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def prepare(recipe: Recipe, wishes: Wishes) -> list[Prepared]:
    """The plans of the recipe's rows. Raises ``UsageError`` for rows that do not exist, and where
    a row asks a model and none is named."""
    chosen = [row for row in recipe.rows if _wanted(row, wishes.rows)]
    if not chosen:
        rows = [row.name for row in recipe.rows]
        raise UsageError(f"{recipe.name} has no row {' or '.join(wishes.rows)!r}; {rows}")
    agents = dict.fromkeys(row.agent for row in chosen if not row.absent)
    for key in wishes.settings:
        if not any(key in _share(wishes.settings, agent) for agent in agents):
            raise UsageError(
                f"no agent of {recipe.name} has a setting {key!r}: {', '.join(agents)}"
            )
    return [_prepared(row, wishes) for row in chosen]


def _wanted(row: RecipeRow, words: Sequence[str]) -> bool:
    return not words or any(word.casefold() in row.name.casefold() for word in words)


def _prepared(row: RecipeRow, wishes: Wishes) -> Prepared:
    if row.absent:
        return Prepared(row, missing=row.absent)
    main, roles = _models(row, wishes)
    plan, source, lacking = _opened(row, wishes, main, roles)
    seeds = range(wishes.seeds) if wishes.seeds else row.seeds
    if lacking and not wishes.stand_in and not _free(main, wishes):
        remedy = f"--stand-in plays {source.split} instead, which no published figure belongs to"
        return Prepared(row, missing=f"{lacking}; {remedy}")
    differs = [*_differs(row, wishes, main, len(seeds)), *row.differs]
    if lacking:
        missed = row.sources[0].split
        differs.insert(0, f"{STAND_IN} on {source.split}, not on {missed}: {lacking}")
    plans = [replace(plan, seed=seed) for seed in seeds]
    plans = [replace(each, out=wishes.out / _folder(each)) for each in plans]
    return Prepared(row, tuple(plans), tuple(differs))


def _models(row: RecipeRow, wishes: Wishes) -> tuple[str, dict[str, str]]:
    """The main model, and those of other roles."""
    if not row.models:
        return "", {}
    if wishes.model == AS_PUBLISHED:
        named = {role: f"openai:{name}" for role, name in row.models.items()}
        return named.pop("main"), named
    if not wishes.model:
        paper = ", ".join(f"{role}: {name}" for role, name in row.models.items())
        raise UsageError(
            f"{row.name!r} asks a language model (published with {paper}); add --model"
        )
    return wishes.model, {}


def _opened(
    row: RecipeRow, wishes: Wishes, main: str, roles: Mapping[str, str]
) -> tuple[Plan, RecipeData, str]:
    """The plan on the first data that is there, and why earlier ones are not."""
    lacking = ""
    for number, source in enumerate(row.sources, 1):
        try:
            plan = _plan(row, source, wishes, main, roles)
            tasks = open_dataset(plan).tasks
            if not len(tasks):
                raise DataError(source.split, "", "has no episodes")
        except (DataError, UsageError) as error:
            if number == len(row.sources):
                raise
            lacking = lacking or str(error)
            continue
        return plan, source, lacking
    raise UsageError(f"{row.name}: names no data")


def _plan(
    row: RecipeRow, source: RecipeData, wishes: Wishes, main: str, roles: Mapping[str, str]
) -> Plan:
    dataset, settings = dict(source.dataset), {**row.settings, **source.settings}
    if source.needs:
        path = (data_folder(wishes.data) or Path()) / source.needs
        if not path.exists():
            raise DataError(source.split, "", f"needs {source.needs}", "see docs/reproduce.md")
        for tree in (dataset, settings):
            tree.update({k: str(path) for k, v in tree.items() if v == source.needs})
    groups: dict[str, Any] = {"dataset": dataset} if dataset else {}
    if roles:
        groups["models"] = dict(roles)
    own = {**settings, **groups}
    limit = min(n for n in (row.limit, wishes.limit, 10**9) if n is not None)
    return Plan(
        row.agent,
        source.split,
        main,
        merge(own, _share(wishes.settings, row.agent)),
        limit=None if limit == 10**9 else limit,
        shuffle=row.shuffle,
        max_steps=wishes.max_steps or row.steps,
        concurrency=wishes.concurrency,
        data=wishes.data,
        max_dollars=wishes.max_dollars,
        cache=wishes.cache,
        prices=wishes.prices,
    )


def _share(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The user's settings that an agent has; a table may play several agents."""
    agent = registry.load("agent", name)
    groups = {"dataset", *(("model", "models") if agent.needs_model else ())}
    known = groups | set(agent.Settings.__dataclass_fields__)
    return {key: value for key, value in settings.items() if key in known}


def _free(model: str, wishes: Wishes) -> bool:
    """Whether the model is known to cost nothing."""
    price = load_prices(wishes.prices).of(model) if model else None
    return not model or (price is not None and price.input == price.output == 0)


def costs_nothing(wishes: Wishes) -> bool:
    """Whether no row of these wishes can cost money."""
    return wishes.model != AS_PUBLISHED and _free(wishes.model, wishes)


def _differs(row: RecipeRow, wishes: Wishes, main: str, seeds: int) -> Iterator[str]:
    """What the user's wishes change."""
    if row.models and wishes.model != AS_PUBLISHED:
        paper = ", ".join(f"{role}: {name}" for role, name in row.models.items())
        yield f"model {main}, published with {paper}"
    if wishes.settings:
        yield f"your settings: {json.dumps(wishes.settings, default=str)}"
    if wishes.limit and (row.limit is None or wishes.limit < row.limit):
        yield f"the first {wishes.limit} episodes alone"
    if wishes.max_steps and wishes.max_steps != row.steps:
        yield f"at most {wishes.max_steps} steps, not {row.steps}"
    if seeds != len(row.seeds):
        yield f"{seeds} seeds, not {len(row.seeds)}"


def _folder(plan: Plan) -> str:
    """A name that the same row of another table has too, so that no episode is played twice."""
    told = (plan.agent, plan.on, plan.model, plan.settings, plan.seed, plan.max_steps, plan.shuffle)
    digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
    name = "-".join(part for part in (plan.agent, plan.on, plan.model.rsplit("/")[-1]) if part)
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{digest[:8]}"


# Ours beside the published: a recipe's rows with counts, intervals, cost and what differs.


STEP_MS = "step_ms"
"""Milliseconds of an episode for each of its steps; no metric of a family has it."""


@dataclass(frozen=True, slots=True)
class ReproducedRow:
    """A row: ``ours`` and ``published`` by metric, rates in percent; ``n`` episodes were played.

    ``missing`` says why there is no run. ``cost`` is in US dollars, None where a price is unknown.
    """

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


def beside(prepared: Prepared, keys: Sequence[str]) -> ReproducedRow:
    """The row's runs beside what is published. Raises ``RecordingError`` for a run not begun."""
    row = prepared.row
    if prepared.missing:
        return ReproducedRow(row.name, row.published, missing=prepared.missing)
    runs = [RunFolder.read(plan.out) for plan in prepared.plans if plan.out]
    found = pooled(runs)
    ours = {key: value for key in keys if (value := _value(found, runs, key)) is not None}
    totals = found.totals
    failed = [f"{found.failed} episodes failed"] if found.failed else []
    return ReproducedRow(
        row.name,
        row.published,
        ours,
        found.n,
        found.of * len(runs),
        tuple(str(run.path) for run in runs),
        found.model,
        found.dataset,
        totals.get("cost", 0.0),
        int(sum(totals.get(key) or 0 for key in ("prompt_tokens", "completion_tokens"))),
        (*prepared.differs, *found.caveats, *failed),
    )


def _value(row: Row, runs: Sequence[RecordedRun], key: str) -> Interval | None:
    if key == STEP_MS:
        scores = [found for run in runs for _, found in run.scores() if found.get("steps")]
        values = np.array([[1000.0 * s["seconds"] / s["steps"]] for s in scores])
        return bootstrap(values)[0] if len(scores) else None
    if key not in row.values:
        return None
    kinds = {metric.key: metric.kind for metric in tables.metrics_of([row])}
    scale, value = (100.0 if kinds.get(key) == "rate" else 1.0), row.values[key]
    return Interval(scale * value.mean, scale * value.low, scale * value.high)


def render(recipe: Recipe, rows: Sequence[ReproducedRow], form: str, width: int = 100) -> str:
    """The table as ``rich``, ``markdown`` or ``json``; ours above the published."""
    if form == "json":
        return json.dumps(_json(recipe, rows), indent=2)
    cells = [_cells(recipe, row) for row in rows]
    head = ["Row", "Episodes", *recipe.metrics.values(), "Cost"]
    notes = _notes(rows)
    if form == "markdown":
        lines = [head, ["---"] * len(head), *([c.replace("\n", "<br>") for c in r] for r in cells)]
        return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + ["", *notes])
    return "\n".join(
        [f"{recipe.name}: {recipe.title}", recipe.source, _rich(head, cells, width), *notes]
    )


def _rich(head: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(head):
        shown.add_column(name, justify="right" if number else "left", overflow="fold")
    for line in cells:
        shown.add_row(*line)
    out = io.StringIO()
    Console(file=out, width=width, no_color=True, highlight=False).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _cells(recipe: Recipe, row: ReproducedRow) -> list[str]:
    count = f"{row.n} of {row.of}" if row.n != row.of else str(row.n)
    told = [_cell(row.ours.get(key), row.published.get(key)) for key in recipe.metrics]
    cost = "?" if row.cost is None else f"${row.cost:.2f}"
    return [row.name, "–", *told, "–"] if row.missing else [row.name, count, *told, cost]


def _cell(ours: Interval | None, published: float | None) -> str:
    mean = "–" if ours is None else f"{ours.mean:.2f}"
    spread = "" if ours is None or math.isnan(ours.low) else f" ±{ours.half:.2f}"
    return f"{mean}{spread}\n({'–' if published is None else f'{published:g}'})"


def _notes(rows: Sequence[ReproducedRow]) -> list[str]:
    """What differs, each line once, with the rows it is about where it is not all of them."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for line in row.differs:
            about.setdefault(line, []).append(row.name)
    played = sum(not row.missing for row in rows)
    lines = ["Ours ± half of the 95% interval, (published). What differs:"] if played else []
    for line, names in about.items():
        lines.append(f"- {line}" if len(names) == played else f"- {'; '.join(names)}: {line}")
    gone: dict[str, list[str]] = {}
    for row in rows:
        if row.missing:
            gone.setdefault(row.missing, []).append(row.name)
    return lines + [f"Not run: {'; '.join(names)}: {why}" for why, names in gone.items()]


def _json(recipe: Recipe, rows: Sequence[ReproducedRow]) -> Json:
    listed: list[Json] = []
    for row in rows:
        told = asdict(row)
        told["ours"] = {
            key: {"mean": _finite(v.mean), "low": _finite(v.low), "high": _finite(v.high)}
            for key, v in row.ours.items()
        }
        listed.append(told)
    head = {"recipe": recipe.name, "title": recipe.title, "source": recipe.source}
    return {**head, "metrics": dict(recipe.metrics), "rows": listed}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
