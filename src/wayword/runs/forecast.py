"""What a run would ask and cost, before anything is asked: ``wayword run … --dry-run``.

    >>> from wayword.runs.plan import Plan
    >>> told = forecast(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1)
    >>> told.episodes, told.dollars > 0
    (20, True)

The first episodes are rehearsed with answers drawn at random from what is legal, as long as the
expert would take and half as long again. Where the run's folder holds finished episodes already
(``--limit 5`` first), what they took is the forecast.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError, WaywordError
from wayword.core.model import (
    Choice,
    Completion,
    Model,
    Prompt,
    Sampling,
    Usage,
    estimated_tokens,
    window_of,
)
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.models.middleware.budget import Price, load_prices
from wayword.models.scripted import smallest
from wayword.models.servers.profile import profile_of
from wayword.runs.config import Checksums
from wayword.runs.folder import RunFolder
from wayword.runs.parts import AgentParts, identity, model_choices, open_agent, open_dataset
from wayword.runs.plan import Plan, run_folder
from wayword.runs.play import expert_scores
from wayword.runs.running import choose_tasks, open_models, tokens_of
from wayword.runs.showing import demonstrations

SLACK = 1.5
"""Steps of a language model for one of the expert's: it takes detours and is rejected at times."""

WRITTEN = 0.4
"""The share of an answer's limit that is written, on average; thinking likewise."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What ``episodes`` episodes would take: ``read`` and ``written`` tokens, ``dollars``.

    ``most`` is the cost if every answer ran to its limit; both are None without a known price.
    ``measured`` counts the finished episodes it rests on, 0 for a rehearsal. ``first`` are the
    first calls of the first episode.
    """

    episodes: int
    calls: float
    read: int
    written: int
    dollars: float | None
    most: float | None
    unpriced: tuple[str, ...] = ()
    measured: int = 0
    first: tuple[ModelCall, ...] = ()
    window: int = 0


@dataclass(slots=True)
class Rehearsal:
    """A model that answers anything legal, in the name and with the window of the real one."""

    name: str
    window: int = 0
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """A random legal answer; empty where anything is."""
        if sampling.choices:
            text = self._rng.choice(sampling.choices)
        elif sampling.json_schema is not None:
            text = json.dumps(smallest(sampling.json_schema, self._rng))
        else:
            text = ""
        limit = sampling.n * sampling.max_tokens
        usage = Usage(estimated_tokens(prompt), limit, estimated=True)
        return Completion((text,) * sampling.n, ("stop",) * sampling.n, usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """A random option."""
        values = tuple(self._rng.random() - 2 for _ in options)
        return Choice(tuple(options), values, Usage(estimated_tokens(prompt), 1, estimated=True))

    async def aclose(self) -> None:
        """Nothing to release."""


def forecast(plan: Plan, rehearsed: int = 2) -> Forecast:
    """Rehearse the plan's first episodes and reckon up all of them. No model is asked.

    Raises ``UsageError`` and ``DataError`` as the run would, save for a missing key.
    """
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    tasks = choose_tasks(plan, dataset.tasks)
    choices = model_choices(plan, agent)
    opened = _opened(plan, choices)
    window = window_of(opened["main"]) if "main" in opened else 0
    models: dict[str, Model] = {
        role: Rehearsal(name, window_of(opened[role]) if opened else 0)
        for role, (name, _) in choices.items()
    }
    played = [_rehearse(plan, dataset, agent, task, models) for task in tasks[:rehearsed]]
    told = _reckoned(
        plan, choices, [part for part in played if part[0].steps or part[1]], len(tasks)
    )
    first = tuple(played[0][0].calls())[:2] if played else ()
    return replace(_measured(plan, dataset, agent, opened, told), first=first, window=window)


def _opened(plan: Plan, choices: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, Model]:
    """The real models, for their windows and names; none where a key is missing."""
    try:
        return open_models(replace(plan, cache=None), choices)
    except UsageError as error:
        if "set $" in str(error):
            return {}
        raise


def _rehearse(
    plan: Plan, dataset: Dataset, agent: AgentParts, task: Task, models: Mapping[str, Model]
) -> tuple[Trajectory, float]:
    """An episode, and by how much a real one would be longer."""
    most = plan.max_steps or dataset.max_steps
    expected = min(most, math.ceil(SLACK * _expert_steps(plan, dataset, task, most)))
    draw = demonstrations(dataset)
    setup = Setup(dataset, agent.maker(), models, plan.seed, expected, demonstrations=draw)
    trajectory = asyncio.run(rollout(task, setup))
    turns = len(trajectory.steps) / max(1, len(trajectory.start))
    return trajectory, max(1.0, expected / max(1.0, turns))


def _expert_steps(plan: Plan, dataset: Dataset, task: Task, most: int) -> float:
    """Turns of the expert, each actor's; half the limit where none plays the episode."""
    try:
        _, scores = expert_scores(plan, dataset, task)
    except WaywordError:
        scores = None
    steps = (scores or {}).get("steps", 0.0)
    return steps / max(1, len(task.episode.actors)) if steps else most / 2


def _reckoned(
    plan: Plan,
    choices: Mapping[str, tuple[str, Mapping[str, Any]]],
    played: Sequence[tuple[Trajectory, float]],
    episodes: int,
) -> Forecast:
    table = load_prices(plan.prices)
    prices = {role: table.of(name) for role, (name, _) in choices.items()}
    thinking = {role: _thinking(name, settings) for role, (name, settings) in choices.items()}
    main = "main" if "main" in choices else next(iter(choices), "")
    calls = read = written = dollars = most = 0.0
    for trajectory, longer in played:
        for call in trajectory.calls():
            if call.answer is None:
                continue
            role = call.role if call.role in choices else main
            limit = call.answer.usage.completion + thinking.get(role, 0)
            spent = Usage(call.answer.usage.prompt, round(WRITTEN * limit))
            whole = Usage(call.answer.usage.prompt, limit)
            calls, read = calls + longer, read + longer * spent.prompt
            written += longer * spent.completion
            dollars += longer * _cost(prices.get(role), spent)
            most += longer * _cost(prices.get(role), whole)
    share = episodes / max(1, len(played))
    unpriced = tuple(choices[role][0] for role, price in prices.items() if price is None)
    return Forecast(
        episodes,
        calls / max(1, len(played)),
        round(read * share),
        round(written * share),
        None if unpriced else dollars * share,
        None if unpriced else most * share,
        unpriced,
    )


def _thinking(name: str, settings: Mapping[str, Any]) -> int:
    kind, _, model = name.partition(":")
    if kind != "openai":
        return 0
    asked = settings.get("thinking")
    hosted = not settings.get("base_url")
    profile = profile_of(model, settings.get("profile", ""), hosted)
    return profile.thinking if asked is None else int(asked)


def _cost(price: Price | None, usage: Usage) -> float:
    return 0.0 if price is None else price.of(usage)


def _measured(
    plan: Plan, dataset: Dataset, agent: AgentParts, models: Mapping[str, Model], guess: Forecast
) -> Forecast:
    """The forecast by what finished episodes of this run took, where there are some."""
    path = plan.out
    if path is None and models:
        checksum = Checksums().combined(dataset.files)
        path = run_folder(plan, identity(plan, dataset, agent, models, checksum))
    if path is None or not (path / "config.json").is_file():
        return guess
    scores = [found for _, found in RunFolder.read(path).scores()]
    if not scores:
        return guess
    share = guess.episodes / len(scores)
    priced = all("cost" in found for found in scores)
    return replace(
        guess,
        calls=sum(found.get("calls", 0.0) for found in scores) / len(scores),
        read=round(share * sum(found.get("prompt_tokens", 0.0) for found in scores)),
        written=round(share * sum(tokens_of(s) - s.get("prompt_tokens", 0.0) for s in scores)),
        dollars=share * sum(found["cost"] for found in scores) if priced else guess.dollars,
        measured=len(scores),
    )


def lines(told: Forecast) -> list[str]:
    """The forecast in words, the first prompts before it."""
    shown = [line for number, call in enumerate(told.first, 1) for line in _prompt(number, call)]
    grounds = (
        f"measured on {told.measured} finished episodes"
        if told.measured
        else "estimated: 4 characters a token, a rehearsal with random answers"
    )
    window = f"; the model holds {told.window:,} tokens" if told.window else ""
    if not told.calls:
        return [*shown, f"{told.episodes} episodes ask no model"]
    return [
        *shown,
        f"{told.episodes} episodes, {told.calls:.1f} calls each ({grounds}){window}",
        f"tokens: {told.read:,} read, {told.written:,} written",
        _dollars(told),
    ]


def _dollars(told: Forecast) -> str:
    if told.dollars is None:
        names = ", ".join(dict.fromkeys(told.unpriced))
        return f"cost: unknown, as {names} has no price; give one with --prices"
    most = f"; at most ${told.most:.2f} if every answer ran to its limit" if told.most else ""
    return f"cost: ${told.dollars:.2f}{most if not told.measured else ''}"


def _prompt(number: int, call: ModelCall) -> list[str]:
    said = (
        [("text", call.prompt)]
        if isinstance(call.prompt, str)
        else [(message.role, message.content) for message in call.prompt]
    )
    tokens = estimated_tokens(call.prompt)
    head = f"--- prompt {number} of the first episode, role {call.role}, about {tokens:,} tokens"
    return [head, *(line for role, text in said for line in (f"[{role}]", text)), ""]
