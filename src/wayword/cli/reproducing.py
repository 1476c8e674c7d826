"""``wayword reproduce`` and ``wayword plan``."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from wayword.cli import running, show

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
    limit: running.Limit = None,
    row: Annotated[
        list[str] | None, Option(help="Only rows whose name holds this; may be repeated.")
    ] = None,
    set_: running.Set = None,
    max_steps: running.Steps = None,
    seeds: Annotated[int | None, Option(help="So many seeds, not the recipe's.")] = None,
    concurrency: running.Concurrency = 8,
    data: running.Data = None,
    out: Annotated[Path, Option(help="Folder of the runs.")] = Path("runs/reproduce"),
    max_dollars: running.Dollars = None,
    cache: running.Cache = None,
    prices: running.Prices = None,
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
    on: running.On = "houses",
    model: running.ModelName = "",
    pilot: Annotated[
        Path | None, Option("--from", help="A run to measure by: same model, few episodes.")
    ] = None,
    set_: running.Set = None,
    limit: running.Limit = None,
    max_steps: running.Steps = None,
    concurrency: running.Concurrency = 8,
    hours: Annotated[float | None, Option(help="Wall time that it may take.")] = None,
    cores: Annotated[int, Option(help="Cores of a machine, a process each.")] = 8,
    rpm: running.Rpm = None,
    data: running.Data = None,
    prices: running.Prices = None,
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
            result = running.carry_out(replace(plan, max_dollars=left))
            complete = complete and result.outcome.complete
            spent += _spent(result.path)
    return complete


def _spent(path: Path) -> float:
    from wayword.runs.record import RunFolder

    return sum(scores.get("cost", 0.0) for _, scores in RunFolder.read(path).scores())
