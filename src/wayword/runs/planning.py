"""How many machines, hours and dollars a run would take: ``wayword plan``.

Tokens and dollars are the forecast's. Time is measured: a pilot, any run with the same model, tells
the seconds of a call; one of the same agent and data, those of an episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.runs import reproduce
from wayword.runs.config import sessions
from wayword.runs.forecast import Forecast, dollars_line, forecast
from wayword.runs.plan import Plan, open_dataset, split_name
from wayword.runs.record import RunFolder


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a finished run tells of time. ``call`` and ``episode`` are mean seconds, ``call`` None
    where no model was asked; ``at_once`` is how many episodes were under way on average, None where
    no session ended in order."""

    path: Path
    episodes: int
    episode: float
    call: float | None
    at_once: float | None
    agent: str
    split: str

    @staticmethod
    def of(path: Path) -> Pilot:
        """Raises ``UsageError`` for a run without episodes, ``RecordingError`` for none at all."""
        run = RunFolder.read(path)
        found = [scores for _, scores in run.scores()]
        if not found:
            raise UsageError(f"{path}: has no finished episode to measure; play a few first")
        seconds = sum(scores.get("seconds", 0.0) for scores in found)
        calls = sum(scores.get("calls", 0.0) for scores in found)
        ended = list(sessions(path))
        wall = sum(session.seconds for session in ended)
        whole = sum(session.finished for session in ended) == len(found) and wall > 0
        identity = run.config["identity"]
        return Pilot(
            path,
            len(found),
            seconds / len(found),
            seconds / calls if calls else None,
            seconds / wall if whole else None,
            str(identity.get("agent")),
            str(identity.get("dataset")),
        )


@dataclass(frozen=True, slots=True)
class Outlook:
    """A run to be: its forecast, and the seconds of an episode (None without a pilot)."""

    name: str
    forecast: Forecast
    seconds: float | None

    def hours(self, at_once: float) -> float | None:
        """Of wall time with so many episodes under way."""
        if self.seconds is None:
            return None
        return self.forecast.episodes * self.seconds / at_once / 3600


@dataclass(frozen=True, slots=True)
class Resources:
    """What is there: episodes at once in a process, processes a machine, requests a minute that the
    server takes (None: any number), and the hours it may take (None: as many as one process)."""

    concurrency: int = 8
    cores: int = 8
    rpm: float | None = None
    hours: float | None = None


def outlook(plan: Plan, pilot: Pilot | None) -> Outlook:
    """What a plan would take. Nothing is asked."""
    name = f"{plan.agent} on {plan.on}"
    if pilot is None:
        return Outlook(name, forecast(plan), None)
    if (pilot.agent, pilot.split) == (plan.agent, split_name(plan, open_dataset(plan))):
        return Outlook(name, forecast(replace(plan, out=pilot.path)), pilot.episode)
    told = forecast(plan)
    return Outlook(name, told, None if pilot.call is None else told.calls * pilot.call)


def is_recipe(name: str) -> bool:
    """Whether a name is a recipe's, not an agent's."""
    return "/" in name and not registry.is_path(name)


def recipe_outlooks(name: str, model: str, data: Path | None, pilot: Pilot | None) -> list[Outlook]:
    """What each run of a recipe would take. Raises ``UsageError`` for a name that there is not."""
    wishes = reproduce.Wishes(model=model, data=data, stand_in=True)
    rows = reproduce.prepare(reproduce.open_recipe(name), wishes)
    plans = [(each.row.name, plan) for each in rows for plan in each.plans]
    return [replace(outlook(plan, pilot), name=row) for row, plan in plans]


def lines(found: Sequence[Outlook], means: Resources, pilot: Pilot | None) -> list[str]:
    """The plan in words."""
    told = [_row(one) for one in found] if len(found) > 1 else []
    whole = _together(found)
    told.append(
        f"{whole.episodes:,} episodes, {whole.calls:.1f} calls each; "
        f"tokens: {whole.read:,} read, {whole.written:,} written"
    )
    if pilot is not None:
        told.append(_measured(pilot))
    hours = [one.hours(means.concurrency) for one in found]
    known = [each for each in hours if each is not None]
    if len(known) < len(found):
        told.append(
            "hours: unknown; play a pilot of the same agent, data and model with "
            "wayword run … --limit 10 --out runs/pilot, then add --from runs/pilot"
        )
    else:
        told += _machines(sum(known), whole, means)
    return [*told, dollars_line(whole)]


def _machines(hours: float, whole: Forecast, means: Resources) -> Iterator[str]:
    """The hours of one process, and how many processes and machines make it fewer."""
    yield f"one process, {means.concurrency} episodes at once: {_hours(hours)}"
    processes = 1
    if means.hours is not None:
        processes = max(1, math.ceil(hours / means.hours))
        machines = math.ceil(processes / means.cores)
        yield (
            f"in {_hours(means.hours)}: {processes} processes, one a core: "
            f"{machines} machine{'s' * (machines > 1)} of {means.cores} cores"
        )
    minutes = max(hours / processes * 60, 1e-9)
    calls = whole.calls * whole.episodes
    if calls:
        asked, tokens = calls / minutes, (whole.read + whole.written) / minutes
        yield f"the server then answers {asked:,.0f} requests and {tokens:,.0f} tokens a minute"
    if means.rpm and calls / means.rpm > minutes:
        yield f"at {means.rpm:g} requests a minute it takes {_hours(calls / means.rpm / 60)}"


def _measured(pilot: Pilot) -> str:
    at_once = f", {pilot.at_once:.1f} at once" if pilot.at_once is not None else ""
    call = f", {pilot.call:.2f} s a call" if pilot.call is not None else ""
    seconds = f"{pilot.episode:.1f} s" if pilot.episode >= 0.1 else f"{pilot.episode * 1000:.1f} ms"
    whose = f"{pilot.episodes} episodes of {pilot.agent} on {pilot.split}"
    return f"measured on {whose}{at_once}: {seconds} an episode{call}"


def _row(one: Outlook) -> str:
    hours = one.hours(1)
    alone = "" if hours is None else f", {_hours(hours)} one after the other"
    return f"{one.name}: {one.forecast.episodes:,} episodes{alone}, {dollars_line(one.forecast)}"


def _together(found: Sequence[Outlook]) -> Forecast:
    told = [one.forecast for one in found]
    if len(told) == 1:
        return told[0]
    episodes = sum(one.episodes for one in told)
    calls = sum(one.calls * one.episodes for one in told) / max(1, episodes)
    costs = [one.dollars for one in told]
    most = [one.most for one in told]
    return Forecast(
        episodes,
        calls,
        sum(one.read for one in told),
        sum(one.written for one in told),
        None if None in costs else sum(cost or 0.0 for cost in costs),
        None if None in most else sum(cost or 0.0 for cost in most),
        tuple(dict.fromkeys(name for one in told for name in one.unpriced)),
    )


def _hours(hours: float) -> str:
    if hours < 1 / 60:
        return f"{hours * 3600:.0f} seconds"
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.0f} minutes"
