"""``wayword bench``: play the ladders, show cards, compare them.

Listing the commands of ``wayword`` imports this module, so the library is imported when it is used.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from wayword.cli import completing, show
from wayword.cli.running import Concurrency, Data, Dollars, ModelName, Rpm, Set, carry_out

if TYPE_CHECKING:
    from wayword.runs.plan import Plan
    from wayword_bench.ladders import Entry, Track

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
Folder = Annotated[Path, Argument(help="A folder of the bench, or a card.json.")]


@app.callback(invoke_without_command=True)
def play(
    context: typer.Context,
    model: ModelName = "",
    agent: Annotated[
        str,
        Option(help="The agent; default: the version's own.", autocompletion=completing.agents),
    ] = "",
    tracks: Annotated[str, Option(help="Only these tracks: follow,find; default: all.")] = "",
    quick: Annotated[
        bool, Option("--quick", help="The three shortest levels of a track, eight episodes each.")
    ] = False,
    robust: Annotated[
        bool, Option("--robust", help="Play the middle levels again under eight perturbations.")
    ] = False,
    version: Annotated[str, Option(help="The version of the bench.")] = "2026",
    salt: Annotated[
        str, Option(help="Draw a private twin: other episodes of the same difficulty.")
    ] = "",
    settings: Set = None,
    max_dollars: Dollars = None,
    concurrency: Concurrency = 8,
    rpm: Rpm = None,
    engine: Annotated[str, Option(help="ray: play on a Ray cluster.")] = "",
    data: Data = None,
    out: Annotated[
        Path | None, Option(help="Folder; default: runs/bench/, named after the player.")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Call no model: estimate tokens and dollars, then end.")
    ] = False,
) -> None:
    """Play ladders of tasks of doubling length, and print the horizon on each.

    The horizon H50 is the length of task, in the expert's steps, at which success falls to one
    half. Tasks are generated; no data is needed. An interrupted command resumes.

    \b
    Examples:
      wayword bench --model openai:gpt-5-mini --max-dollars 5
      wayword bench --model local:smollm2 --quick --tracks follow,grid
      wayword bench --agent random
      wayword bench --model openai:gpt-5-mini --robust
      wayword bench card runs/bench/random
      wayword bench compare runs/bench/random runs/bench/forward
    """
    if context.invoked_subcommand:
        return
    from wayword.core.errors import UsageError
    from wayword.runs.forecast import forecast, row_lines
    from wayword.runs.plan import shared_datasets
    from wayword.settings import parse
    from wayword_bench import ladders, page

    context.with_resource(shared_datasets())  # a level is drawn once
    version_ = ladders.open_bench(version)
    if not model and not agent:
        raise UsageError("name a model with --model, or an agent that needs none with --agent")
    names = tuple(name.strip() for name in tracks.split(",") if name.strip())
    entry = ladders.Entry(
        version_, agent or version_.agent, model, parse(settings or []), names, quick, salt, out
    )
    options = {"concurrency": concurrency, "rpm": rpm, "engine": engine, "data": data}
    climbs = []
    for track in entry.chosen():
        plans = list(entry.plans(track, **options))
        try:
            ladders.check_player(plans[0][1])
        except UsageError as error:
            if names:
                raise
            show.notice(f"{track.name} is left out: {error}")
            continue
        climbs.append((track, plans))
    if not climbs:
        raise UsageError(f"{entry.agent} plays none of the tracks")
    if dry_run:
        rows = [
            (f"{track.name}, length {length}", forecast(plan))
            for track, plans in climbs
            for length, plan in plans
        ]
        typer.echo("\n".join(row_lines(rows)))
        return
    entry = replace(entry, tracks=tuple(track.name for track, _ in climbs))
    complete, spent = _climb(entry, climbs, max_dollars)
    for track, _ in climbs if robust else ():
        for _, plan in entry.robust_plans(track, **options):
            left = None if max_dollars is None else max(0.0, max_dollars - spent)
            result = carry_out(replace(plan, max_dollars=left))
            complete = complete and result.outcome.complete
            spent += ladders.cost(list(ladders.results(result.path, track)))["dollars"]
    card = ladders.make_card(entry.folder, entry.header())
    ladders.write_card(entry.folder, card)
    path = page.write_card_page(entry.folder, card)
    typer.echo(f"{ladders.render(card)}\n\n{path}")
    if not complete:
        raise typer.Exit(1)


def _climb(
    entry: Entry, climbs: list[tuple[Track, list[tuple[int, Plan]]]], max_dollars: float | None
) -> tuple[bool, float]:
    """Play each ladder up to where it is hopeless. Return True if no episode is left, and the
    dollars spent."""
    from wayword_bench import ladders

    complete, spent = True, 0.0
    for track, plans in climbs:
        solved, tried = list[int](), list[int]()
        for length, plan in plans:
            if not entry.salt:
                ladders.check_level(track, length, plan)
            left = None if max_dollars is None else max(0.0, max_dollars - spent)
            show.notice(f"{track.name}, length {length} {track.unit}")
            result = carry_out(replace(plan, max_dollars=left))
            complete = complete and result.outcome.complete
            rows = [row for row in ladders.outcomes(entry.folder, track) if row[0] == len(tried)]
            spent += sum(scores.get("cost", 0.0) for *_, scores in rows)
            solved.append(sum(won for _, _, won, _ in rows))
            tried.append(len(rows))
            if ladders.is_hopeless(solved, tried, entry.quick):
                break
    return complete, spent


@app.command("card")
def show_card(
    folder: Folder,
    form: Annotated[
        Literal["rich", "json", "markdown", "latex"], Option("--format", help="Output format.")
    ] = "rich",
) -> None:
    """Show a card, computed again from the runs where they are there.

    \b
    Examples:
      wayword bench card runs/bench/gpt-5-mini
      wayword bench card runs/bench/gpt-5-mini --format latex
    """
    from wayword_bench import ladders

    typer.echo(ladders.render(ladders.read_card(folder), form))


@app.command("board")
def write_board(
    folder: Annotated[Path, Argument(help="A folder with cards below it.")],
    out: Annotated[Path, Option(help="Folder of the pages.")] = Path("site"),
    data: Data = None,
) -> None:
    """Write a static page of all cards below a folder, sortable and filtered in the browser.

    Every recorded action is replayed: a card whose runs do not verify is shown as unverified.

    \b
    Example:
      wayword bench board runs/bench --out site
    """
    from wayword_bench import page

    typer.echo(page.write_board(folder, out, data))


@app.command("compare")
def compare_cards(first: Folder, second: Folder) -> None:
    """Compare two players by episode, with p-values corrected for the number of tracks.

    \b
    Example:
      wayword bench compare runs/bench/random runs/bench/imitation
    """
    from wayword_bench import ladders

    typer.echo(ladders.render_comparison(first, second))
