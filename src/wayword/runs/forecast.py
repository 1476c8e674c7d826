"""Estimates of a run's calls, tokens, dollars and hours: ``wayword run … --dry-run``.

    >>> from wayword.runs.plan import Plan
    >>> estimate = forecast(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1)
    >>> estimate.episodes, estimate.dollars > 0
    (20, True)

A few episodes, spread over the plan's, are rehearsed: the agent sends its usual prompts and gets
legal actions and thoughts of a usual length, for as many steps as the expert takes (by skills where
a body has them, by talk where there are several actors); a model is assumed to take a tenth more.
Turns of looking around, without a call or a move, do not count. A search that ends by itself is
rehearsed to its end. Where several samples are drawn, they agree; a server that returns one sample
per request reads the prompt each time. Answers are constrained even where the run's are free, as
free answers have no fixed form. A scripted model costs nothing and answers itself. If the run's
folder holds finished episodes (``--limit 5`` first), their usage counts, corrected by how much
shorter or longer the others are in rehearsal.

Time is measured only: with finished episodes, by their seconds and the run's ``concurrency``.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Any

from wayword.agents.answers import ARGUMENT
from wayword.core.dataset import Task, task_id
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import PlanningFailed
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, estimated_tokens
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.models.middleware.prices import load_prices
from wayword.models.scripted import smallest
from wayword.models.servers.profile import Profile, has_profile, profile_of
from wayword.runs.active import choose, demonstrations, open_models
from wayword.runs.config import Checksums
from wayword.runs.plan import (
    AgentParts,
    Plan,
    identity,
    model_choices,
    open_agent,
    open_dataset,
    run_folder,
)
from wayword.runs.play import EXPERTS, expert_scores
from wayword.runs.record import RunFolder, is_run

SLACK = 1.1
"""Steps of a language model for one of the expert's: it takes detours and is rejected at times."""

WRITTEN = 0.4
"""The share of its thinking allowance that a reasoning model takes, on average."""

LOOK = 16
"""Turns within which every agent calls a model: a full look around takes at most 13."""

REHEARSED = 6
"""Episodes that are rehearsed, spread over the plan's."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Estimate for ``episodes`` episodes: ``read`` and ``written`` tokens, ``dollars``.

    ``most`` is the cost if every answer ran to its limit; both are None without a known price.
    ``measured`` counts the finished episodes it rests on, 0 for a rehearsal. ``first`` are the
    first calls of the first episode. ``hours`` is the wall time of a measured run with ``at_once``
    concurrent episodes and its limit of requests, None for a rehearsal. ``unknown`` are models of
    which no profile says whether they reason: their thinking is not counted.
    """

    episodes: int
    calls: float
    read: int
    written: int
    dollars: float | None
    most: float | None
    unpriced: tuple[str, ...] = ()
    measured: int = 0
    hours: float | None = None
    at_once: int = 1
    first: tuple[ModelCall, ...] = ()
    window: int = 0
    unknown: tuple[str, ...] = ()


def forecast(plan: Plan, rehearsed: int = REHEARSED) -> Forecast:
    """Rehearse some of the plan's episodes and estimate all of them. No model is called.

    Raises ``UsageError`` and ``DataError`` as the run would, except for a missing key.
    """
    stage = _Stage(plan)
    tasks, numbers = stage.dataset.tasks, choose(plan, stage.dataset.tasks)
    step = max(1, math.ceil(len(numbers) / max(1, rehearsed)))
    sample = [tasks[number] for number in numbers[::step][:rehearsed]]
    estimate = _measured(stage, numbers, stage.estimate(sample, len(numbers)), rehearsed)
    window = stage.opened["main"].window if "main" in stage.opened else 0
    return replace(estimate, first=stage.first_calls(sample[0]) if sample else (), window=window)


class _Stage:
    """Rehearses episodes of a plan, each once."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.dataset = plan, open_dataset(plan)
        self.agent = open_agent(plan, self.dataset)
        self.choices = model_choices(plan, self.agent)
        try:  # for their windows and names
            self.opened = open_models(replace(plan, cache=None, rpm=None), self.choices)
        except UsageError as error:
            if "set $" not in str(error):
                raise
            self.opened = {}  # a key is missing
        # scripted models run themselves, as that costs nothing
        names = [name for name, _ in self.choices.values()]
        self._scripted = bool(self.opened) and all(name.startswith("scripted:") for name in names)
        others = self.agent.others.items()
        self._constrained = replace(
            self.agent,
            settings=_constrained(self.agent.settings),
            others={n: replace(each, settings=_constrained(each.settings)) for n, each in others},
        )
        self._most = plan.max_steps or self.dataset.max_steps
        self._rehearsed: dict[str, tuple[Trajectory, float]] = {}

    def estimate(self, tasks: Sequence[Task], episodes: int) -> Forecast:
        """The forecast of ``episodes`` episodes like these."""
        plan, choices = self.plan, self.choices
        played = [self._rehearse(task) for task in tasks]
        played = [each for each in played if each[0].steps or each[1]]
        extra = self._longer_prompts(tasks[0]) if tasks else 0
        table = load_prices(plan.prices)
        prices = {role: table.of(name) for role, (name, _) in choices.items()}
        profiles = {role: _profile(name, settings) for role, (name, settings) in choices.items()}
        main = "main" if "main" in choices else next(iter(choices), "")
        calls = read = written = dollars = most = 0.0
        for trajectory, longer in played:
            for call in trajectory.calls():
                if call.answer is None:
                    continue
                role = call.role if call.role in choices else main
                samples = call.sampling.n if call.sampling else 1
                limit = call.sampling.max_tokens * samples if call.sampling else 0
                profile, price = profiles.get(role, Profile()), prices.get(role)
                prompt = call.answer.usage.prompt + (extra if role == main else 0)
                prompt *= 1 if profile.samples else samples
                thought, texts = profile.thinking * samples, call.answer.usage.completion
                spent = Usage(prompt, texts + round(WRITTEN * thought))
                calls, read = calls + longer, read + longer * spent.prompt
                written += longer * spent.completion
                if price is not None:
                    dollars += longer * price.of(spent)
                    most += longer * price.of(Usage(prompt, thought + max(texts, limit)))
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
            unknown=tuple(
                name
                for name, given in choices.values()
                if name.startswith("openai:")
                and not {"profile", "thinking"} & given.keys()
                and not has_profile(name.partition(":")[2])
            ),
        )

    def first_calls(self, task: Task) -> tuple[ModelCall, ...]:
        """The first calls of an episode, with the run's own settings."""
        for steps in (1, 4, LOOK) if self.choices else ():
            if calls := tuple(self._play(task, self.agent, steps, self._models()).calls()):
                return calls[:2]
        return ()

    def _rehearse(self, task: Task) -> tuple[Trajectory, float]:
        """A rehearsed episode, and the factor by which a real one would be longer."""
        if task.episode.id not in self._rehearsed:
            self._rehearsed[task.episode.id] = self._rehearse_once(task)
        return self._rehearsed[task.episode.id]

    def _rehearse_once(self, task: Task) -> tuple[Trajectory, float]:
        if self._scripted:
            return self._play(task, self.agent, self._most, self.opened), 1.0
        if all(parts.cls.ends_itself for parts in self.agent.playing()):
            return self._play(task, self._constrained, self._most, self._models()), 1.0
        steps = min(float(self._most), self._expert_steps(task))
        limit = max(1, round(steps))
        while True:  # until each actor has as many counted turns as the expert
            played = self._play(task, self._constrained, limit, self._models())
            actors = max(1, len(played.start))
            turns, counted = len(played.steps) / actors, _counted_turns(played) / actors
            if counted >= 0.9 * steps or turns < limit or limit >= self._most:
                return played, max(1.0, min(SLACK * steps, self._most) / max(1.0, counted))
            limit = min(self._most, math.ceil(limit * steps / max(0.5, counted)))

    def _play(
        self, task: Task, agent: AgentParts, most: int, models: Mapping[str, Model]
    ) -> Trajectory:
        examples, seed = demonstrations(self.dataset), self.plan.seed
        setup = Setup(self.dataset, agent.maker(), models, seed, most, demonstrations=examples)
        return asyncio.run(rollout(task, setup))

    def _models(self) -> dict[str, Model]:
        models: dict[str, Model] = {}
        for role, (name, settings) in self.choices.items():
            profile = _profile(name, settings)
            ranks = not name.startswith("openai:") or (profile.completions and profile.logprobs > 0)
            picks = not ranks or settings.get("choose") == "constrained"
            window = self.opened[role].window if role in self.opened else 0
            models[role] = Rehearsal(name, window, picks)
        return models

    def _longer_prompts(self, task: Task) -> int:
        """Tokens by which a main prompt is longer with the run's decoding than constrained."""
        if self.agent.settings == self._constrained.settings or self._scripted:
            return 0
        lengths = []
        for agent in (self.agent, self._constrained):
            calls = self._play(task, agent, 1, self._models()).calls()
            main = [call for call in calls if call.role not in self.agent.roles]
            lengths.append(estimated_tokens(main[0].prompt) if main else 0)
        return lengths[0] - lengths[1]

    def _expert_steps(self, task: Task) -> float:
        """Turns of the expert per actor; half the limit where none plays the episode."""
        actors = len(task.episode.actors)
        if actors <= 1 and "skills" in (self.dataset.solutions or ()):
            # an expert that can use both plays single motions; a model uses the skills
            with suppress(WaywordError, PlanningFailed):
                return len(self.dataset.solve(task, "skills"))
        steps = 0.0
        with suppress(WaywordError):
            names = ("team", *EXPERTS) if actors > 1 else EXPERTS
            _, scores = expert_scores(self.plan, self.dataset, task, names)
            if scores is not None and scores.get("sr", 1.0) > 0:
                steps = scores.get("steps", 0.0)
        return steps / max(1, actors) if steps else self._most / 2


def _constrained(settings: Any) -> Any:
    """The settings with constrained answers, where they can be."""
    if getattr(settings, "decoding", "") == "free":
        return replace(settings, decoding="constrained")
    return settings


def _counted_turns(played: Trajectory) -> int:
    """Number of turns with a model call or a move; turning on the spot is not a move."""
    poses = {actor: {**pose, "heading": 0} for actor, pose in played.start.items()}
    count = 0
    for step in played.steps:
        pose = {**step.pose, "heading": 0}
        count += bool(step.calls) or pose != poses.get(step.actor, {"heading": 0})
        poses[step.actor] = pose
    return count


def _measured(stage: _Stage, chosen: Sequence[int], guess: Forecast, rehearsed: int) -> Forecast:
    """The forecast from finished episodes of this run, if there are any, else ``guess``."""
    plan, dataset = stage.plan, stage.dataset
    path = plan.out
    if path is None and stage.opened:
        checksum = Checksums().combined(dataset.files)
        path = run_folder(plan, identity(plan, dataset, stage.agent, stage.opened, checksum))
    if path is None or not is_run(path):
        return guess
    finished = dict(RunFolder.read(path).scores())
    pilot = [number for number in chosen if task_id(dataset.tasks, number) in finished]
    if not pilot:
        return guess
    scores = [finished[task_id(dataset.tasks, number)] for number in pilot]
    sample = pilot[:: max(1, len(pilot) // rehearsed)][:rehearsed]
    like = stage.estimate([dataset.tasks[number] for number in sample], guess.episodes)
    share = guess.episodes / len(scores)
    others = len(pilot) < len(chosen)
    longer = guess.read / like.read if like.read and others else 1.0
    wordier = guess.written / like.written if like.written and others else 1.0
    priced = all("cost" in each for each in scores)
    seconds, calls = (sum(each.get(key, 0.0) for each in scores) for key in ("seconds", "calls"))
    at_once = plan.concurrency * (plan.workers if plan.engine else 1)
    read = sum(each.get("prompt_tokens", 0.0) for each in scores)
    written = sum(each.get("completion_tokens", 0.0) for each in scores)
    return replace(
        guess,
        calls=calls / len(scores),
        read=round(share * longer * read),
        written=round(share * wordier * written),
        dollars=share * longer * sum(e["cost"] for e in scores) if priced else guess.dollars,
        measured=len(scores),
        hours=max(seconds * share / at_once, calls * share * 60 / plan.rpm if plan.rpm else 0)
        / 3600,
        at_once=at_once,
    )


def lines(estimate: Forecast) -> list[str]:
    """The first prompts, and the forecast, as lines of text."""
    shown = []
    for number, call in enumerate(estimate.first, 1):
        tokens = f"about {estimated_tokens(call.prompt):,} tokens"
        shown.append(f"--- prompt {number} of the first episode, role {call.role}, {tokens}")
        text = call.prompt
        parts = [("text", text)] if isinstance(text, str) else [(m.role, m.content) for m in text]
        shown += [line for role, text in parts for line in (f"[{role}]", text)]
        shown.append("")
    if not estimate.calls:
        return [*shown, f"{estimate.episodes} episodes without model calls"]
    grounds = "estimated by a rehearsal with legal actions and thoughts of typical length"
    if estimate.measured:
        grounds = f"measured on {estimate.measured} finished episodes"
    window = f"; context window {estimate.window:,} tokens" if estimate.window else ""
    shown += [
        f"{estimate.episodes} episodes, {estimate.calls:.1f} calls each ({grounds}){window}",
        f"tokens: {estimate.read:,} read, {estimate.written:,} written",
        _dollars(estimate),
        *_time(estimate),
    ]
    for name in () if estimate.measured else dict.fromkeys(estimate.unknown):
        shown.append(
            f"thinking tokens of {name} are not counted, as no profile matches its name; for a "
            "reasoning model add --set model.profile=reasoning"
        )
    return shown


def _time(estimate: Forecast) -> list[str]:
    """The measured hours, and what the server must answer a minute."""
    if estimate.hours is None:
        return []
    minutes = max(estimate.hours * 60, 1e-9)
    requests = estimate.calls * estimate.episodes / minutes
    tokens = (estimate.read + estimate.written) / minutes
    load = f"{requests:,.0f} requests and {tokens:,.0f} tokens per minute"
    return [f"time: {_duration(estimate.hours)} with {estimate.at_once} episodes at once; {load}"]


def _dollars(estimate: Forecast) -> str:
    if estimate.dollars is None:
        names = ", ".join(dict.fromkeys(estimate.unpriced))
        return f"cost: unknown, as {names} has no price; add one with --prices"
    most = ""
    if estimate.most and not estimate.measured:
        most = f"; at most ${estimate.most:.2f} if every answer ran to its limit"
    return f"cost: ${estimate.dollars:.2f}{most}"


def row_lines(named: Sequence[tuple[str, Forecast]]) -> list[str]:
    """A line per run and a total: calls, tokens, hours if measured, cost."""
    total = _sum([one for _, one in named])
    rows = []
    for name, one in named:
        each = f"{one.episodes:,} episodes, {one.calls:.1f} calls each, {_tokens(one)}"
        hours = "" if one.hours is None else f", {_duration(one.hours)}"
        rows.append(f"{name}: {each}{hours}, {_dollars(one)}")
    return [*rows, *([f"total: {_tokens(total)}, {_dollars(total)}"] if len(rows) > 1 else [])]


def _tokens(estimate: Forecast) -> str:
    return f"{estimate.read:,} tokens read, {estimate.written:,} written"


def _sum(forecasts: Sequence[Forecast]) -> Forecast:
    """The sum of several forecasts; without a cost where one has none."""
    if len(forecasts) == 1:
        return forecasts[0]
    episodes = sum(one.episodes for one in forecasts)
    costs, most = [one.dollars for one in forecasts], [one.most for one in forecasts]
    return Forecast(
        episodes,
        sum(one.calls * one.episodes for one in forecasts) / max(1, episodes),
        sum(one.read for one in forecasts),
        sum(one.written for one in forecasts),
        None if None in costs else sum(cost or 0.0 for cost in costs),
        None if None in most else sum(cost or 0.0 for cost in most),
        tuple(dict.fromkeys(name for one in forecasts for name in one.unpriced)),
    )


# A model for rehearsals: legal actions that do not stop, and texts of typical length.

LENGTH = 45
"""Words of each free text in an answer: a thought, a summary, an expert's opinion."""
SENTENCE = 20
"""Words of each free text where the prompt requests one sentence."""
PART = 12
"""Words of a part of a section, such as the progress so far, and of messages to others."""
LISTED = 8
"""Words of an item of a list: an action with its place, a landmark with its types."""
CONTINUED = 26
"""Tokens added to a text that a chat model must continue."""

THOUGHT = "the words that a thought takes up before an action, about sixty tokens of them;"
_NUMBER = re.compile(r"(\d+)\.\s*$")
_ONE = re.compile(r"\bone (?:concise )?sentence\b")
_SPEAKS = ("chat", "ask")
_STOPS = re.compile(r"\bstop\b|\"arrived\": true|\bfinish", re.IGNORECASE)


def _profile(name: str, settings: Mapping[str, Any]) -> Profile:
    """The known profile of a model, its thinking as the settings have it."""
    kind, _, model = name.partition(":")
    if kind != "openai":
        return Profile()
    profile = profile_of(model, settings.get("profile", ""), not settings.get("base_url"))
    thinking = settings.get("thinking")
    return profile if thinking is None else replace(profile, thinking=int(thinking))


@dataclass(slots=True)
class Rehearsal(Model):
    """A model that gives random legal answers, with the name and context window of the real one.

    ``picks``: it chooses by writing ``{"answer": …}``; otherwise options are ranked in one request.
    """

    name: str
    window: int = 0
    picks: bool = False
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """A legal answer that does not stop, with texts of a usual length; all samples agree."""
        for _ in range(8):  # an episode that stops at once would have no later prompts
            text = self._legal(prompt, sampling)
            if not _STOPS.search(text):
                break
        written = sampling.n * min(estimated_tokens(text), sampling.max_tokens)
        usage = Usage(estimated_tokens(prompt), written, estimated=True)
        return Completion((text,) * sampling.n, ("stop",) * sampling.n, usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Choose a random option, preferring those that do not stop."""
        best = self._rng.choice([o for o in options if not _STOPS.search(o)] or list(options))
        values = tuple(-0.1 if option == best else -3.0 for option in options)
        usage = Usage(estimated_tokens(prompt), 1, estimated=True)
        if self.picks:
            written = estimated_tokens(json.dumps({"answer": best}))
            usage = Usage(usage.prompt + CONTINUED, written, estimated=True)
        return Choice(tuple(options), values, usage)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _legal(self, prompt: Prompt, sampling: Sampling) -> str:
        # the request for a text is first or last
        parts = [prompt] if isinstance(prompt, str) else [prompt[0].content, prompt[-1].content]
        words = SENTENCE if any(_ONE.search(text) for text in parts) else LENGTH
        if sampling.choices:
            return self._rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            return json.dumps(_filled(sampling.json_schema, self._rng, words=words))
        number = _NUMBER.search(prompt) if isinstance(prompt, str) else None
        if number:  # a list of numbered actions to continue
            ahead = range(int(number[1]) + 1, int(number[1]) + sampling.max_tokens // 4)
            return "\n".join([" forward", *(f"{n}. forward" for n in ahead)])
        return _words(min(words, sampling.max_tokens))


def _filled(
    schema: Mapping[str, Any],
    rng: random.Random,
    root: Mapping[str, Any] | None = None,
    words: int = LENGTH,
) -> Any:
    """A value that the schema allows, with free texts of ``words`` words where allowed."""
    root = root or schema
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            return _filled(rng.choice(schema[word]), rng, root, words)
    if "properties" in schema:
        length = words if schema is root else min(words, PART)
        value = {k: _filled(v, rng, root, length) for k, v in schema["properties"].items()}
        if ARGUMENT in value:
            value[ARGUMENT] = _words(PART) if value.get("action") in _SPEAKS else ""
        return value
    if schema.get("type") == "array" and "enum" not in schema:
        least = schema.get("minItems", 0) or min(3, schema.get("maxItems", 3))
        return [_filled(schema.get("items", {}), rng, root, LISTED) for _ in range(least)]
    if schema.get("type") == "string" and not {"enum", "const", "pattern"} & set(schema):
        return _words(words)[: schema.get("maxLength", 10_000)]
    return smallest(schema, rng, root)


def _words(count: int) -> str:
    return " ".join(islice(cycle(THOUGHT.split()), count))


def _duration(hours: float) -> str:
    if hours < 1 / 60:
        return f"{hours * 3600:.0f} seconds"
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.0f} minutes"
