"""``wayword bench``: play the ladders, show cards, compare them.

Listing the commands of ``wayword`` imports this module, so the library is imported when it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from wayword.cli import completing, show
from wayword.cli.running import (
    Batch,
    Concurrency,
    Data,
    Dollars,
    ModelName,
    Rpm,
    Set,
    Tier,
    Trusted,
    print_notices,
    tier_settings,
)
from wayword.core.episode import JsonObject
from wayword.core.visible import comma_separated

if TYPE_CHECKING:
    from wayword.bench.ladders import Contender, Track
    from wayword.runs.active import OnProgress
    from wayword.runs.plan import Plan

    Plans = Sequence[tuple[int, Plan]]  # length of a level, and its run
    NamedPlans = Sequence[tuple[str, Plan]]  # perturbation or condition, and its run

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
Folder = Annotated[Path, Argument(help="A folder of the bench, or a card.json.")]


@app.callback(invoke_without_command=True)
def play(
    context: typer.Context,
    model: ModelName = "",
    agent: Annotated[
        str,
        Option(
            help="The agent; default: the version's own.",
            autocompletion=completing.agents,
        ),
    ] = "",
    tracks: str = "",
    quick: bool = False,
    robust: bool = False,
    real: bool = False,
    eyes: bool = False,
    version: str = "2026.2",
    salt: str = "",
    settings: Set = None,
    max_dollars: Dollars = None,
    concurrency: Concurrency = 8,
    tier: Tier = "",
    batch: Batch = False,
    rpm: Rpm = None,
    engine: str = "",
    browser: bool = False,
    data: Data = None,
    out: Path | None = None,
    dry_run: bool = False,
) -> None:
    """Play ladders of tasks of doubling length, and print the horizon on each.

    The horizon H50 is the length of task, in the expert's steps, at which success falls to one
    half. Tasks are generated; no data is needed. An interrupted command resumes.

    \b
    Examples:
      wayword bench --model openai:gpt-5-mini --max-dollars 5
      wayword bench --model openai:gpt-5-mini --tier flex
      wayword bench --model local:smollm2 --quick --tracks follow,grid
      wayword bench --agent random
      wayword bench --agent human --browser --quick --tracks follow
      wayword bench --model openai:gpt-5-mini --robust
      wayword bench --model openai:gpt-5-mini --quick --eyes
      wayword bench --model openai:gpt-5-mini --real --data ~/data
      wayword bench card runs/bench/random
      wayword bench compare runs/bench/random runs/bench/forward

    Args:
        tracks: Only these tracks: follow,find; default: all.
        quick: The three shortest levels of a track, eight episodes each.
        robust: Play the middle levels again under eight perturbations.
        real: Also play published data next to the tracks, where it is.
        eyes: Play the shortest levels again in pictures, in both, and with pictures of no use.
        version: The version of the bench.
        salt: Draw a private twin: other episodes of the same difficulty.
        engine: ray: play on a Ray cluster.
        browser: With --agent human: play in the browser.
        out: Folder; default: runs/bench/, named after the player.
        dry_run: Call no model: estimate tokens and dollars, then end.
    """
    if context.invoked_subcommand:
        return
    from wayword.bench import card_text, ladders, page, scorecard
    from wayword.core import registry
    from wayword.core.errors import UsageError
    from wayword.runs.opening import shared_datasets, takes_a_person
    from wayword.settings import parse

    context.with_resource(shared_datasets())  # a level is drawn once
    version_ = ladders.open_bench(version)
    if not model and not agent:
        raise UsageError(
            "name a model with --model, or an agent that needs none with --agent"
        )
    names = tuple(comma_separated(tracks))
    chosen_settings = parse([*(settings or []), *tier_settings(tier, batch)])
    if eyes and "eyes" in chosen_settings:
        raise UsageError("--eyes plays in words and in pictures; remove --set eyes")
    for group in ("dataset", "perturb"):
        if group in chosen_settings:
            raise UsageError(
                f"--set {group}: a version's episodes are fixed; play others with wayword run"
            )
    if browser and (agent != ladders.PERSON or robust or real or eyes):
        raise UsageError(
            "--browser is for a person who plays the ladders: use it with --agent human, and "
            "without --robust, --real and --eyes"
        )
    # An unknown name is one error, not seven
    registry.load("agent", agent or version_.agent)
    entry = ladders.Contender(
        version_,
        agent or version_.agent,
        model,
        chosen_settings,
        names,
        quick,
        salt,
        out,
    )
    episodes = ladders.QUICK_EPISODES if quick else version_.episodes
    chosen = _tracks(entry, data)
    entry = replace(entry, tracks=tuple(track.name for track in chosen))
    # a sample is played in its ladder's turn, so there are never more runs than ladders
    person = takes_a_person(next(entry.plans(chosen[0]))[1])
    at_once = max(1, min(len(chosen), concurrency // episodes))
    if engine or person:
        at_once = 1
    # These limits are those of the key, which all runs at the same time share.
    options = {
        "concurrency": concurrency // at_once,
        "rpm": rpm and rpm / at_once,
        "engine": engine,
        "data": data,
    }
    climbs = [(track, list(entry.plans(track, **options))) for track in chosen]
    samples, heads = _samples(entry, options) if real else ({}, None)
    perturbed: dict[str, NamedPlans] = {}
    if robust:
        for track in chosen:
            perturbed[track.name] = list(entry.robust_plans(track, **options))
    seen = _sight(entry, chosen, options) if eyes else {}
    if dry_run:
        further = {
            name: [*perturbed.get(name, ()), *seen.get(name, ())]
            for name in entry.tracks
        }
        _print_forecast(climbs, samples, further, at_once, concurrency)
        return
    if person and not browser:
        show.notice("the places are played here; --browser serves them as pages")
    if browser:
        complete = _play_in_browser(entry, data)
    else:
        with show.progress_rows(person) as row:
            from wayword.core.blocking import blocking

            player = _PlayerOptions(
                entry, row, len(climbs), at_once, max_dollars, person
            )
            blocking(player.play(climbs, samples, perturbed, seen))
        complete = player.complete
    header = entry.header() if heads is None else {**entry.header(), "real": heads}
    card = scorecard.make_card(entry.folder, header)
    scorecard.write_card(entry.folder, card)
    path = page.write_card_page(entry.folder, card)
    show.echo(f"{card_text.render(card)}\n\n{path}")
    # A script can tell an incomplete card by the exit code.
    if not complete:
        raise typer.Exit(1)


def _tracks(entry: Contender, data: Path | None) -> list[Track]:
    """Return the chosen tracks that the agent plays.

    Raises ``UsageError`` if it plays none, or not one that the command names.
    """
    from wayword.bench import ladders
    from wayword.core.errors import UsageError

    tracks: list[Track] = []
    for track in entry.chosen():
        # The shortest level decides: an agent that cannot play it plays none.
        _, shortest = next(entry.plans(track, data=data))
        try:
            ladders.check_player(shortest)
        except UsageError as error:
            # A track that the command names must not be dropped silently.
            if entry.tracks:
                raise
            show.notice(f"{track.name} is left out: {error}")
            continue
        tracks.append(track)
    if not tracks:
        raise UsageError(f"{entry.agent} plays none of the tracks")
    return tracks


def _play_in_browser(entry: Contender, data: Path | None) -> bool:
    """Serve the places of the ladders one after the other, until Ctrl-C.

    Returns True if no place is left.
    """
    from wayword.bench import ladders

    course = partial(ladders.next_place, entry, data=data)
    # Nothing to serve once every place is played.
    if left := ladders.next_level(entry, data=data):
        with show.pages(left[2]) as server, suppress(KeyboardInterrupt):
            server.games.course = course
            table = server.games.advance(course)
            show.serve(server, f"{server.address}play/{table.name}/", open_=False)
    return ladders.next_level(entry, data=data) is None


def _samples(
    entry: Contender,
    options: JsonObject,
) -> tuple[dict[str, Plan], list[dict[str, Any]]]:
    """Return the sample of published data next to each track, and the heads of the card's rows.

    Heads also of those that are not on this machine, which the card names as missing.
    """
    from wayword.bench.ladders import check_player
    from wayword.bench.real import find

    samples: dict[str, Plan] = {}
    heads = []
    for published in (each for each in entry.bench.real if each.track in entry.tracks):
        plan = entry.real_plan(published, **options)
        head, sample = find(published, plan, entry.folder, complete=not entry.quick)
        heads.append(head)
        if head["missing"]:
            played = f"; {head['dataset']} is played instead" if sample else ""
            show.notice(
                f"{head['named']} is not there: {'; '.join(head['missing'])}{played}"
            )
        if sample:
            check_player(sample)
            samples[published.track] = sample
    return samples, heads


def _sight(
    entry: Contender, tracks: Sequence[Track], options: JsonObject
) -> dict[str, Sequence[tuple[str, Plan]]]:
    """Return the conditions of sight of each track that can be played in them.

    Raises ``UsageError`` if none can.
    """
    from wayword.bench.ladders import check_player
    from wayword.core.errors import UsageError

    found: dict[str, Sequence[tuple[str, Plan]]] = {}
    for track in tracks:
        plans = list(entry.sight_plans(track, **options))
        try:
            for _, plan in plans:
                check_player(plan)
        except UsageError as error:
            show.notice(f"{track.name} is played in words alone: {error}")
            continue
        if plans:
            found[track.name] = plans
    if not found:
        raise UsageError(f"--eyes: {entry.agent} plays none of the tracks in pictures")
    return found


def _print_forecast(
    climbs: Sequence[tuple[Track, Plans]],
    samples: Mapping[str, Plan],
    further: Mapping[str, NamedPlans],
    at_once: int,
    concurrency: int,
) -> None:
    """Print the forecast of every part of a play, and about how long it takes.

    ``further`` are runs of a track next to its ladder: perturbations and sight. The time assumes a
    second for each call and the most episodes at once.
    """
    from wayword.runs.forecast import forecast, row_lines

    rows = []
    for track, plans in climbs:
        for length, plan in plans:
            rows.append((f"{track.name}, length {length}", forecast(plan)))
    rows += [(plan.on, forecast(plan)) for plan in samples.values()]
    for name, named in further.items():
        rows += [(f"{name}, {label}", forecast(plan)) for label, plan in named]
    share = concurrency // at_once  # of a run
    rounds = sum(each.calls * math.ceil(each.episodes / share) for _, each in rows)
    show.echo("\n".join(row_lines(rows)))
    show.echo(
        f"about {rounds / 60 / at_once:.0f} minutes at 1 second a call and --concurrency "
        f"{concurrency}, if no ladder ends early"
    )


class _PlayerOptions:
    """Plays ``at_once`` ladders at a time.

    Runs in progress share what is left of a budget, so that they cannot spend more
    together. ``complete``: no episode is left.
    """

    def __init__(
        self,
        entry: Contender,
        row: Callable[..., OnProgress],
        tracks: int,
        at_once: int,
        max_dollars: float | None,
        person: bool,
    ) -> None:
        self.complete = True
        self._person = person
        self._left = False  # a person has left: nothing more is to be played
        self._entry = entry
        self._row = row
        self._at_once = at_once
        self._tracks = tracks  # ladders not yet ended
        self._running = 0  # runs in progress
        self._max_dollars = max_dollars
        self._spent = 0.0
        self._reserved = 0.0

    async def play(
        self,
        climbs: Sequence[tuple[Track, Plans]],
        samples: Mapping[str, Plan],
        perturbed: Mapping[str, NamedPlans],
        seen: Mapping[str, NamedPlans],
    ) -> None:
        """Play ladders, each with its perturbed runs, conditions of sight and published sample.

        A ladder that ends before its middle level has nothing to compare perturbed runs with.
        """

        import asyncio

        turns = asyncio.Semaphore(self._at_once)

        async def play_track(track: Track, plans: Plans) -> None:
            """Play the steps of a track in turn, then its further measurements."""
            async with turns:
                if not self._left:
                    await self._climb(track, plans)
                if self._left:
                    return
                if self._entry.is_middle_played(track):
                    for kind, plan in perturbed.get(track.name, ()):
                        await self._run(track, f"{track.name}, {kind}", plan)
                for condition, plan in seen.get(track.name, ()):
                    await self._run(track, f"{track.name}, {condition}", plan)
                if sample := samples.get(track.name):
                    await self._run(track, sample.on, sample)
                # One track fewer shares the rest of the budget.
                self._tracks -= 1

        await asyncio.gather(*(play_track(*climb) for climb in climbs))

    async def _climb(self, track: Track, plans: Plans) -> None:
        """Play a ladder up to where it is hopeless: longer levels would not be solved either."""
        import asyncio

        from wayword.bench import ladders, outcomes

        solved = list[int]()
        tried = list[int]()
        for length, plan in plans:
            # Drawing a level takes long: others are played meanwhile
            if not self._entry.salt:
                await asyncio.to_thread(ladders.check_level, track, length, plan)
            path = await self._run(track, f"{track.name}, length {length}", plan)
            if self._left:
                return
            won = [row[1] for row in outcomes.results(path, track)]
            solved.append(sum(won))
            tried.append(len(won))
            show.notice(
                f"{track.name}, length {length}: {solved[-1]} of {tried[-1]} solved"
            )
            if ladders.is_hopeless(solved, tried, self._entry.quick):
                return

    async def _run(self, track: Track, label: str, plan: Plan) -> Path:
        """Play a run with its share of the budget, and return its folder.

        The share is what is neither spent nor reserved, over the runs that may still
        start.
        """
        from wayword.runs.config import billed
        from wayword.runs.running import run_async

        share = None
        if self._max_dollars is not None:
            free = max(1, min(self._at_once, self._tracks) - self._running)
            share = max(0.0, (self._max_dollars - self._spent - self._reserved) / free)
        self._running += 1
        self._reserved += share or 0.0
        result = await run_async(
            replace(plan, max_dollars=share),
            self._row(label, track.name),
        )
        # The reservation ends before its spending counts, or it would count twice.
        self._running -= 1
        self._reserved -= share or 0.0
        self._spent += billed(result.path)[1]
        self.complete = self.complete and result.outcome.complete
        if self._person and result.outcome.exhausted:
            self._left = True
        print_notices(result)
        return result.path


@app.command("card")
def show_card(
    folder: Folder,
    format_: Literal["rich", "json", "markdown", "latex"] = "rich",
) -> None:
    """Show a card, computed again from the runs where they are there.

    \b
    Examples:
      wayword bench card runs/bench/gpt-5-mini
      wayword bench card runs/bench/gpt-5-mini --format latex

    Args:
        format_: Output format.
    """
    from wayword.bench import card_text, scorecard

    show.echo(card_text.render(scorecard.read_card(folder), format_))


@app.command("board")
def write_board(
    folder: Path,
    out: Path = Path("site"),
    data: Data = None,
    salt: list[str] | None = None,
    trusted: Trusted = None,
) -> None:
    """Write a static page of all cards below a folder, sortable and filtered in the browser.

    Every recorded action is replayed: a card whose runs do not verify is shown as unverified. A
    private twin is verified only with its salt.

    \b
    Example:
      wayword bench board runs/bench --out site

    Args:
        folder: A folder with cards below it.
        out: Folder of the pages.
        salt: The salt of a private twin, to verify it; may be repeated.
    """
    from wayword.bench import page

    show.echo(page.write_board(folder, out, data, salt or (), trusted or ()))


@app.command("compare")
def compare_cards(
    first: Folder,
    second: Folder,
    format_: Literal["rich", "markdown", "latex"] = "rich",
) -> None:
    """Compare two players by episode, with p-values corrected for the number of tracks.

    \b
    Examples:
      wayword bench compare runs/bench/random runs/bench/imitation
      wayword bench compare runs/bench/react-MODEL runs/bench/tools-MODEL --format latex

    Args:
        format_: Output format.
    """
    from wayword.bench import comparison

    show.echo(comparison.render_comparison(first, second, format_))
