"""Published tables as recipes: ``wayword reproduce navgpt/table-1 --model …``.

    >>> recipe = open_recipe("navgpt/table-1")
    >>> recipe.rows[0].name, recipe.rows[0].published["sr"]
    ('NavGPT', 34.0)

A recipe is a YAML file under ``recipe_files``: the rows of a published table, each with the run
that reproduces it, or the reason why there is none (``absent``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.released import describe_folder, settings_of
from wayword.core import registry
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import text_checksum
from wayword.core.other_files import but_is
from wayword.core.visible import in_dollars, join_words
from wayword.metrics import table as tables
from wayword.metrics.intervals import POSITIVE, Interval, mean_intervals
from wayword.metrics.summary import Row
from wayword.models.middleware.prices import load_prices
from wayword.runs.catalog import other_splits
from wayword.runs.machine import data_folder
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.scored_runs import pooled
from wayword.settings import load_shipped, make, merge

FOLDER = files("wayword.runs") / "recipe_files"
PAPERS = (
    *("navgpt", "mapgpt", "navcot", "discussnav", "velma", "lgx", "esc"),
    *("langsuite", "llm_planner", "lats", "ivln"),
)

# Value of ``--model`` for the models named in the paper, with the backend ``openai:``.
AS_PUBLISHED = "published"

# First word of the difference about stand-in data.
STAND_IN = "played"

# Difference that is dropped if the user gives a folder of prompts.
OUR_WORDS = "this project's own prompts"


@dataclass(frozen=True)
class RecipeData:
    """Data for a row: a split, with settings of the dataset and of the agent.

    ``needs`` is a path in the data folder that must exist; settings with this value
    become the full path. ``expert``: scores of a player that sees the answers, by
    metric, on the row's episodes and with its body and step limit;
    ``tools/ceilings.py`` computes them.
    """

    split: str
    dataset: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    expert: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RecipeRow:
    """A row of a published table, with the run that reproduces it.

    ``published`` are the paper's results by our metric keys, rates in percent. The
    ``sources`` are the published data, then stand-ins. ``models`` are the paper's, by
    role. ``differs`` lists differences to the paper even with the same model. A row
    that is ``absent`` has the reason there, and no run.
    """

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
        """Return sentences on the expert's scores, to be listed with the differences.

        A published score above the expert's is not comparable: an upper bound does not
        bound it, so the paper's conditions were others. ``metrics`` maps keys to the
        paper's columns.
        """
        if not self.sources or not self.sources[0].expert:
            return ()
        expert = self.sources[0].expert
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


@dataclass(frozen=True)
class Recipe:
    """A published table or figure.

    ``metrics`` maps our metric keys to the paper's columns. ``differs`` lists the
    differences to the paper and its code that remain with the same model.
    """

    name: str
    title: str
    source: str
    differs: str
    metrics: Mapping[str, str]
    rows: tuple[RecipeRow, ...]

    @property
    def playable(self) -> tuple[RecipeRow, ...]:
        """Rows that can be played here."""
        return tuple(row for row in self.rows if not row.absent)


@dataclass(frozen=True)
class RecipeOptions(Plan):
    """The user's options for a recipe: those of a plan, for all of its rows.

    ``rows`` selects rows whose names contain one of these words. ``prompts`` is a
    folder of prompts. ``stand_in`` allows stand-in data with paid models; free models
    always use it.
    """

    agent: str = ""
    on: str = ""
    out: Path = Path("runs/reproduce")
    rows: tuple[str, ...] = ()
    seeds: int | None = None
    stand_in: bool = False
    prompts: Path | None = None

    def prompt_folder(self, agent: str) -> Path | None:
        """Return the folder of an agent's prompts: the subfolder with its name, else ``prompts``.

        None for shipped prompts and for agents without prompts.
        """
        settings = registry.load("agent", agent).Settings
        if self.prompts is None or not hasattr(settings, "prompts"):
            return None
        folder = self.prompts / agent
        if folder.is_dir():
            return folder
        return self.prompts


@dataclass(frozen=True)
class Prepared:
    """A row with its plans, one per seed, and its differences to the paper.

    A row that cannot be played has no plans and the reason in ``missing``.
    """

    row: RecipeRow
    plans: tuple[Plan, ...] = ()
    differs: tuple[str, ...] = ()
    missing: str = ""


def names() -> tuple[str, ...]:
    """Return the names of all recipes, ``PAPER/TABLE``, in the order of ``PAPERS``."""
    recipes = []
    for paper in PAPERS:
        # Folders list their files in any order.
        listed = sorted(path.name for path in (FOLDER / paper).iterdir())
        recipes += [f"{paper}/{name.removesuffix('.yaml')}" for name in listed]
    return tuple(recipes)


def without_runs() -> Mapping[str, str]:
    """Return the papers' other tables and figures, and where their content is covered."""
    tree: Mapping[str, str] = load_shipped(FOLDER / "without_runs.yaml")
    return tree


@cache
def open_recipe(name: str) -> Recipe:
    """Read a recipe. Raises ``UsageError`` for an unknown name.

    Each row gets the file's defaults for what it does not state, and of the default settings those
    that its agent accepts. A row that is ``absent`` gets none, as no run is planned for it.
    """
    if name not in names():
        # A table that has no runs deserves an answer too.
        other = without_runs().get(name)
        if other:
            raise UsageError(f"{name} has no results to reproduce: {other}")
        hint = suggest(name, [*names(), *PAPERS])
        raise UsageError(f"unknown recipe {name!r}{but_is(Path(name)) or f'; {hint}'}")
    tree = load_shipped(FOLDER / f"{name}.yaml")
    # A row's data may have several sources, of which the first available one is played.
    data = {}
    for key, sources in tree["data"].items():
        data[key] = tuple(make(RecipeData, source, name) for source in sources)
    defaults = tree["defaults"]
    rows = []
    for row in tree["rows"]:
        if "absent" not in row:
            # The agent decides which of the file's defaults apply.
            agent = registry.load("agent", row.get("agent") or defaults["agent"])
            accepted = agent.Settings.__dataclass_fields__
            settings = {**defaults.get("settings", {}), **row.get("settings", {})}
            settings = {k: v for k, v in settings.items() if k in accepted or k in row}
            row = {**defaults, **row, "settings": settings}
            temperature = row.pop("temperature", None)
            # Agents without sampling have no temperature.
            if temperature is not None and "temperature" in accepted:
                settings["temperature"] = temperature
            # The paper's row may name a model for a baseline that here needs none.
            if not agent.needs_model:
                row["models"] = {}
            # The row's own differences come before those of the whole table.
            row["differs"] = [*row.get("differs", ()), tree["differs"]]
        # A row without a run says on which data the paper's result is; null: on data of its own.
        source = row.pop("data", defaults.get("data"))
        if source:
            row["sources"] = data[source]
        made = make(RecipeRow, row, f"{name}, {row['name']}")
        # A published figure that cannot be reached is the first difference.
        ceiling = made.ceiling(tree["metrics"])
        rows.append(replace(made, differs=(*ceiling, *made.differs)))
    texts = tree["title"], tree["source"], tree["differs"]
    return Recipe(name, *texts, tree["metrics"], tuple(rows))


def listing(only: str = "") -> str:
    """Return all recipes or those of one paper as text, for the terminal.

    Each with its title, number of rows with runs, data and differences.
    """
    papers: Sequence[str] = PAPERS
    if only:
        papers = [only]
    blocks = []
    for paper in papers:
        lines = [paper]
        for name in names():
            if not name.startswith(f"{paper}/"):
                continue
            recipe = open_recipe(name)
            # The first source is the paper's; others are stand-ins.
            on = dict.fromkeys(row.sources[0].split for row in recipe.playable)
            count = f"{len(recipe.playable)} of {len(recipe.rows)} rows"
            lines += [
                f"  {name:<22} {recipe.title}",
                f"  {'':<22} {count}; {', '.join(on)}",
                f"  {'':<22} differs: {recipe.differs}",
            ]
        for name, where in without_runs().items():
            if name.startswith(f"{paper}/"):
                lines.append(f"  {name:<22} no runs: {where}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def prepare(recipe: Recipe, options: RecipeOptions) -> list[Prepared]:
    """Plan the recipe's rows that the options select.

    Opens the data of each, so that what is missing is known before anything is played.
    Raises ``UsageError`` for unknown rows or settings, and for a missing model.
    """
    # Users write parts of a row's name, in any case.
    words = [word.casefold() for word in options.rows]
    chosen = []
    for row in recipe.rows:
        name = row.name.casefold()
        if not words or any(word in name for word in words):
            chosen.append(row)
    if not chosen:
        names = ", ".join(row.name for row in recipe.rows)
        raise UsageError(
            f"{recipe.name} has no row {' or '.join(options.rows)!r}; use: {names}"
        )
    # A setting must be known to one of the agents; the others do not get it.
    agents = dict.fromkeys(row.agent for row in chosen if not row.absent)
    for key in options.settings:
        if not any(key in _share(options.settings, agent) for agent in agents):
            names = ", ".join(agents)
            raise UsageError(
                f"--set {key}: no agent of {recipe.name} has this setting ({names})"
            )
    return [_prepared(row, options) for row in chosen]


def _prepared(row: RecipeRow, options: RecipeOptions) -> Prepared:
    """Plan a row, on the first of its data sources that is available.

    A row that cannot be played has a reason in ``missing`` and no plans: it is ``absent``, or it
    would spend money on data that has no published result. Raises ``UsageError`` for a missing
    model, and the error of the last source if none is available.
    """
    if row.absent:
        return Prepared(row, missing=row.absent)
    # A missing model is an error before any data is opened.
    main, roles = _models(row, options)
    # The first source of data that is on this machine.
    lacking = ""
    for source in row.sources:
        try:
            plan = _plan(row, source, options, main, roles)
            break
        except (DataError, UsageError) as error:
            # No source is left.
            if source is row.sources[-1]:
                raise
            lacking = lacking or str(error)
    if lacking and (here := other_splits(row.sources[0].split, options.data)):
        lacking += (
            f"; you have {join_words(here)}, whose results do not compare with the paper's: "
            f"wayword run {row.agent} --on {here[0]}"
        )
    # Money is not spent on data that has no published result, unless the user wants it.
    if lacking and not options.stand_in and not _free(main, options):
        remedy = (
            f"add --stand-in to play {plan.on} instead, which has no published result"
        )
        return Prepared(row, missing=f"{lacking}; {remedy}")
    if lacking:
        lacking = (
            f"{STAND_IN} on {plan.on} instead of {row.sources[0].split}: {lacking}"
        )
    plans = []
    # The user's number of seeds, else the recipe's.
    for seed in range(options.seeds or 0) or row.seeds:
        seeded = replace(plan, seed=seed)
        plans.append(replace(seeded, out=options.out / _folder(seeded)))
    differs = tuple(_differences(row, plans, options, lacking))
    return Prepared(row, tuple(plans), differs)


def _published_models(row: RecipeRow) -> str:
    """Return the models of the published row as text."""
    models = ", ".join(f"{role}: {name}" for role, name in row.models.items())
    if row.published:
        return f"in the paper {models}"
    # A row without published figures has a model of this project's choice.
    return f"the recipe's is {models}"


def _models(row: RecipeRow, options: RecipeOptions) -> tuple[str, dict[str, str]]:
    """Return the main model and those of other roles: the user's, or the paper's.

    Raises ``UsageError`` without ``--model``: there is no default, since models cost
    money.
    """
    if not row.models:
        return "", {}
    # There is no default: the choice of a model costs money.
    if not options.model:
        problem = f"row {row.name!r} needs a language model ({_published_models(row)})"
        raise UsageError(f"{problem}; add --model")
    # The user's model takes all roles.
    if options.model != AS_PUBLISHED:
        return options.model, {}
    roles = {role: f"openai:{name}" for role, name in row.models.items()}
    return roles.pop("main"), roles


def _differences(
    row: RecipeRow,
    plans: Sequence[Plan],
    options: RecipeOptions,
    lacking: str,
) -> Iterator[str]:
    """Yield everything in which a row's plans differ from the paper, the user's changes first.

    ``lacking`` is the sentence about stand-in data, or empty.
    """
    folder = options.prompt_folder(row.agent)
    if folder is not None:
        yield describe_folder(folder)
    if lacking:
        yield lacking
    if row.models and options.model != AS_PUBLISHED:
        yield f"model {options.model}; {_published_models(row)}"
    if options.settings:
        yield f"your settings: {json.dumps(options.settings, default=str)}"
    # A limit above the recipe's own changes nothing.
    if options.limit and (row.limit is None or options.limit < row.limit):
        yield f"only {_chosen(plans[0])}"
    if options.max_steps and options.max_steps != row.steps:
        yield f"at most {options.max_steps} steps instead of {row.steps}"
    if len(plans) != len(row.seeds):
        yield f"{len(plans)} seeds instead of {len(row.seeds)}"
    for line in row.differs:
        if folder is not None:
            # With the released prompts, the words are no longer ours.
            line = line.removesuffix(f"; {OUR_WORDS}")
        yield line


def _chosen(plan: Plan) -> str:
    """Return a limited plan's episodes, in words."""
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
    """Return the plan on one source of data.

    The user's settings and limit of steps win over the row's; of both limits of
    episodes, the smaller counts. ``main`` and ``roles`` are names of models. Raises
    ``DataError`` or ``UsageError`` if the source is not on this machine.
    """
    dataset = dict(source.dataset)
    settings = {**row.settings, **source.settings}
    # Files of the data folder become full paths in the settings.
    if source.needs:
        path = (data_folder(options.data) or Path()) / source.needs
        if not path.exists():
            problem = f"needs {source.needs}"
            raise DataError(source.split, "", problem, "see docs/reproduce.md")
        for tree in (dataset, settings):
            tree.update({k: str(path) for k, v in tree.items() if v == source.needs})
    groups = {"dataset": dataset, "models": dict(roles)}
    settings |= {name: group for name, group in groups.items() if group}
    if (folder := options.prompt_folder(row.agent)) is not None:
        settings |= {**settings_of(folder), "prompts": str(folder)}
    # A recipe's own limit takes the first episodes of its split, and its tours have their order.
    own_order = row.shuffle is None and (row.limit is not None or bool(row.remember))
    limits = [n for n in (row.limit, options.limit) if n is not None]
    shuffle = row.shuffle
    if options.states_order:
        shuffle = options.shuffle
    changes = {
        "agent": row.agent,
        "on": source.split,
        "remember": row.remember,
        "model": main,
        "settings": merge(settings, _share(options.settings, row.agent)),
        "limit": min(limits, default=None),
        "shuffle": shuffle,
        "first": options.first or (own_order and options.shuffle is None),
        "max_steps": options.max_steps or row.steps,
    }
    given = {each.name: getattr(options, each.name) for each in fields(Plan)}
    plan = Plan(**given | changes)
    # Opened here, so that missing files are found before any row is played.
    if not len(open_dataset(plan).tasks):
        raise DataError(source.split, "", "has no episodes")
    return plan


def _share(settings: JsonObject, name: str) -> JsonObject:
    """Return the user's settings that an agent accepts; a table may have several agents."""
    cls = registry.load("agent", name)
    # Settings of the dataset are for every agent.
    accepted = {"dataset", *cls.Settings.__dataclass_fields__}
    if cls.needs_model:
        accepted |= {"model", "models"}
    return {key: value for key, value in settings.items() if key in accepted}


def _free(model: str, options: RecipeOptions) -> bool:
    """True if there is no model or its price is known to be zero."""
    if not model:
        return True
    # An unknown price may be any.
    price = load_prices(options.prices).of(model)
    return price is not None and price.input == price.output == 0


def costs_nothing(options: RecipeOptions) -> bool:
    """True if no row can cost money with these options."""
    return options.model != AS_PUBLISHED and _free(options.model, options)


def _folder(plan: Plan) -> str:
    """Return the folder's name for a plan: equal plans share one, others never do."""
    # Everything on which the results depend.
    key = [
        plan.agent,
        plan.on,
        plan.model,
        plan.settings,
        plan.seed,
        plan.max_steps,
        plan.shuffle,
    ]
    # Added later: folders of other runs keep their names.
    if plan.remember:
        key.append(plan.remember)
    text = json.dumps(key, sort_keys=True, default=str)
    # The name alone would not tell two settings apart.
    digest = text_checksum(text)
    # Readable parts first; the digest makes the name unique.
    parts = (plan.agent, plan.on, plan.model.rpartition("/")[2])
    name = "-".join(part for part in parts if part)
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{digest[:8]}"


# Comparison with the published results.


STEP_MS = "step_ms"
"""Milliseconds per step: a column of recipes that is not a metric of any family."""


@dataclass(frozen=True)
class ReproducedRow:
    """A row of the result: our and the ``published`` results by metric, rates in percent.

    ``n`` of ``of`` episodes were finished, over all seeds. ``missing`` is the reason if
    there is no run. ``cost`` is in US dollars, None if a price is unknown.
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


def compare_row(prepared: Prepared, keys: Sequence[str]) -> ReproducedRow:
    """Compare a row's runs with the paper. Raises ``RecordingError`` if a run is missing.

    All seeds are one sample. Rates are percentages with 95% intervals, ``STEP_MS`` is the mean
    over episodes of milliseconds per step; a metric that the runs lack is left out.
    """
    row = prepared.row
    if prepared.missing:
        return ReproducedRow(row.name, row.published, missing=prepared.missing)
    # All seeds of the row are one sample.
    runs = [RunFolder.read(plan.out) for plan in prepared.plans if plan.out]
    pool = pooled(runs)
    # Papers give rates in percent.
    rates = {
        metric.key for metric in tables.metrics_of([pool]) if metric.kind == "rate"
    }
    ours: dict[str, Interval] = {}
    for key in keys:
        if key == STEP_MS:
            times = []
            for _, scores in chain.from_iterable(run.scores() for run in runs):
                # An episode without a step has no time per step.
                if scores.get("steps"):
                    times.append([1000.0 * scores["seconds"] / scores["steps"]])
            if times:
                ours[key] = mean_intervals(np.array(times), [POSITIVE])[0]
        elif key in pool.values:
            scale = 1.0
            if key in rates:
                scale = 100.0
            ours[key] = pool.values[key].times(scale)
    totals = pool.totals
    differs = [*prepared.differs, *pool.caveats]
    # Failed episodes may be the hard ones.
    if pool.failed:
        differs.append(f"{pool.failed} episodes failed")
    # Prompts and answers together.
    tokens = (totals.get("prompt_tokens") or 0) + (totals.get("completion_tokens") or 0)
    return ReproducedRow(
        row.name,
        row.published,
        ours=ours,
        n=pool.n,
        of=pool.of * len(runs),
        runs=tuple(str(run.path) for run in runs),
        model=pool.model,
        dataset=pool.dataset,
        cost=totals.get("cost", 0.0),
        tokens=int(tokens),
        differs=tuple(differs),
    )


def published_rows(name: str, ours: Sequence[Row]) -> list[Row]:
    """Return the rows of a published table that have metrics of our rows, without intervals.

    Raises ``UsageError`` for an unknown table, and for one without these metrics.
    """
    recipe = open_recipe(name)
    known = {metric.key: metric for metric in tables.metrics_of(ours)}
    # As numbers, 13.00 and 13 are the same.
    texts = load_shipped(FOLDER / f"{name}.yaml", "Base")["rows"]
    rows = []
    for row, text in zip(recipe.rows, texts, strict=True):
        values = {}
        for key in row.published.keys() & known.keys():
            # Papers give rates in percent.
            scale = 0.01 if known[key].kind in tables.PERCENTAGES else 1.0
            values[key] = Interval(scale * row.published[key])
        if values:
            like = ours[0]
            rows.append(
                Row(
                    row.name,
                    like.family,
                    like.metrics,
                    n=0,
                    of=0,
                    values=values,
                    model=row.models.get("main", ""),
                    dataset=row.sources[0].split if row.sources else "",
                    published=recipe.source,
                    printed={key: text["published"][key] for key in values},
                )
            )
    if not rows:
        heads = ", ".join(recipe.metrics.values())
        raise UsageError(f"--published {name}: it has {heads}, and the runs have none")
    return rows


def render(
    recipe: Recipe,
    rows: Sequence[ReproducedRow],
    form: str,
    width: int = 100,
) -> str:
    """Format the table as ``rich``, ``markdown``, ``latex`` or ``json``.

    In each cell, our result is above the published one. ``width`` is in columns of the
    terminal.
    """
    if form == "json":
        return json.dumps(_json(recipe, rows), indent=2)
    # Each cell has our result above the paper's.
    cells = []
    for row in rows:
        metrics = [
            _cell(row.ours.get(key), row.published.get(key)) for key in recipe.metrics
        ]
        cells.append([row.name, _episodes(row), *metrics, _cost(row)])
    head = ["Row", "Episodes", *recipe.metrics.values(), "Cost"]
    notes = _notes(rows)
    if form == "markdown":
        return tables.markdown(head, 1, _flat(cells, "<br>"), notes)
    if form == "latex":
        return tables.latex(head, 1, _flat(cells, " "), notes)
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(head[0], overflow="fold")
    for name in head[1:]:
        table.add_column(name, justify="right", overflow="fold")
    for line in cells:
        table.add_row(*line)
    shown = tables.console_text(table, width=width).rstrip("\n")
    return "\n".join([f"{recipe.name}: {recipe.title}", recipe.source, shown, *notes])


def _flat(cells: Sequence[Sequence[str]], gap: str) -> Iterator[list[str]]:
    """Yield the rows of cells with another text in place of line breaks."""
    for line in cells:
        yield [cell.replace("\n", gap) for cell in line]


# A cell without a value.
_NONE = "–"


def _episodes(row: ReproducedRow) -> str:
    """Return the number of episodes as text."""
    if row.missing:
        return _NONE
    if row.n == row.of:
        return str(row.n)
    return f"{row.n} of {row.of}"


def _cost(row: ReproducedRow) -> str:
    """Return the cost as text."""
    if row.missing:
        return _NONE
    # A price is unknown.
    if row.cost is None:
        return "?"
    return in_dollars(row.cost)


def _cell(ours: Interval | None, published: float | None) -> str:
    """Return our result above the published figure, each a dash if there is none."""
    result = _NONE
    if ours is not None:
        # Two decimals, as papers print.
        result = f"{ours.mean:.2f}"
        # Half of the width is shorter than two ends.
        if ours.is_symmetric and not math.isnan(ours.low):
            result += f" ±{ours.half:.2f}"
        elif not math.isnan(ours.low):
            result += f" [{ours.low:.2f}, {ours.high:.2f}]"
    expected = _NONE
    if published is not None:
        # As the paper prints it, without zeros that we would add.
        expected = f"{published:g}"
    return f"{result}\n({expected})"


def _notes(rows: Sequence[ReproducedRow]) -> list[str]:
    """Return the distinct differences, each with its rows unless it applies to all of them."""
    # Lines that several rows share are shown once.
    differs = dict[str, list[str]]()
    missing = dict[str, list[str]]()
    for row in rows:
        for line in row.differs:
            differs.setdefault(line, []).append(row.name)
        if row.missing:
            missing.setdefault(row.missing, []).append(row.name)
    played = len([row for row in rows if not row.missing])
    lines = []
    if played:
        lines.append(
            "Ours ± half of the 95% interval, or its ends (published). Differences:"
        )
    for line, names in differs.items():
        # What applies to all rows needs no names.
        if len(names) < played:
            line = f"{'; '.join(names)}: {line}"
        lines.append(f"- {line}")
    return lines + [
        f"Not run: {'; '.join(names)}: {why}" for why, names in missing.items()
    ]


def _json(recipe: Recipe, rows: Sequence[ReproducedRow]) -> Json:
    """Return the table as JSON values."""

    # JSON has no infinity, the end of an interval of too few episodes.
    def finite(value: Interval) -> Json:
        """Return an interval without infinite ends."""
        ends = {"mean": value.mean, "low": value.low, "high": value.high}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()}

    listed = []
    for row in rows:
        ours = {key: finite(value) for key, value in row.ours.items()}
        listed.append({**asdict(row), "ours": ours})
    head = {"recipe": recipe.name, "title": recipe.title, "source": recipe.source}
    return {**head, "metrics": dict(recipe.metrics), "rows": listed}
