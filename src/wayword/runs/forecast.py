"""What a run would ask and cost, before anything is asked: ``wayword run … --dry-run``.

    >>> from wayword.runs.plan import Plan
    >>> told = forecast(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1)
    >>> told.episodes, told.dollars > 0
    (20, True)

A few episodes, spread over the plan's, are rehearsed: the agent asks what it would ask, and is
answered with legal actions and thoughts of a usual length, for as many steps as the expert takes
(by whole errands where a body has them, by talk where there are several actors); a model is
reckoned to take a tenth more. Turns of looking around, which ask nothing and lead nowhere, do not
count. A search that ends by itself is rehearsed to its end. Where several samples are drawn, they
agree; a server that gives one a request reads the prompt each time. Answers are constrained there
even where the run's are free, as free ones have no one form. A scripted model costs nothing and
answers itself. Where the run's folder holds finished episodes (``--limit 5`` first), what they took
counts, corrected by how much shorter or longer the others are when rehearsed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wayword.core.dataset import Dataset, Task, task_id
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import PlanningFailed
from wayword.core.model import (
    Model,
    Usage,
    estimated_tokens,
)
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.models.middleware.prices import Price, load_prices
from wayword.models.servers.profile import Profile, is_known
from wayword.runs.config import Checksums
from wayword.runs.plan import (
    AgentParts,
    Choices,
    Plan,
    identity,
    model_choices,
    open_agent,
    open_dataset,
    run_folder,
)
from wayword.runs.play import EXPERTS, expert_scores
from wayword.runs.record import RunFolder, is_run
from wayword.runs.rehearsal import Rehearsal, picks, profile_before
from wayword.runs.running import choose, open_models, tokens_of
from wayword.runs.showing import demonstrations

SLACK = 1.1
"""Steps of a language model for one of the expert's: it takes detours and is rejected at times."""

WRITTEN = 0.4
"""The share of its thinking allowance that a reasoning model takes, on average."""

LOOK = 16
"""Turns within which every agent asks something: a full look around takes at most 13."""

REHEARSED = 6
"""Episodes that are rehearsed, spread over the plan's."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What ``episodes`` episodes would take: ``read`` and ``written`` tokens, ``dollars``.

    ``most`` is the cost if every answer ran to its limit; both are None without a known price.
    ``measured`` counts the finished episodes it rests on, 0 for a rehearsal. ``first`` are the
    first calls of the first episode. ``unknown`` are models of which no profile says whether they
    reason: what they would think is not counted.
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
    unknown: tuple[str, ...] = ()


def forecast(plan: Plan, rehearsed: int = REHEARSED) -> Forecast:
    """Rehearse some of the plan's episodes and reckon up all of them. No model is asked.

    Raises ``UsageError`` and ``DataError`` as the run would, save for a missing key.
    """
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    tasks, numbers = dataset.tasks, choose(plan, dataset.tasks)
    choices = model_choices(plan, agent)
    opened = _opened(plan, choices)
    window = opened["main"].window if "main" in opened else 0
    stage = _Stage(plan, dataset, agent, choices, opened)
    step = max(1, math.ceil(len(numbers) / max(1, rehearsed)))
    chosen = [tasks[number] for number in numbers[::step][:rehearsed]]
    told = stage.reckoned(chosen, len(numbers))
    measured = _measured(stage, numbers, told, rehearsed)
    return replace(measured, first=stage.first(chosen[:1]), window=window)


@dataclass(slots=True)
class _Stage:
    """Where episodes of a plan are rehearsed; ``known`` are those that were."""

    plan: Plan
    dataset: Dataset
    agent: AgentParts
    choices: Choices
    opened: Mapping[str, Model]
    known: dict[str, tuple[Trajectory, float]] = field(default_factory=dict)

    def reckoned(self, tasks: Sequence[Task], episodes: int) -> Forecast:
        """What so many episodes like these would take."""
        played = [self._rehearsed(task) for task in tasks]
        kept = [part for part in played if part[0].steps or part[1]]
        extra = self._form(tasks[0]) if tasks else 0
        return _reckoned(self.plan, self.choices, kept, episodes, extra)

    def first(self, tasks: Sequence[Task]) -> tuple[ModelCall, ...]:
        """The first calls of the first of these episodes, with the run's own settings."""
        if not tasks or not self.choices:
            return ()
        for steps in (1, 4, LOOK):
            played = self._played(tasks[0], self.agent, steps, self._models())
            if calls := tuple(played.calls()):
                return calls[:2]
        return ()

    def _rehearsed(self, task: Task) -> tuple[Trajectory, float]:
        """An episode, and by how much a real one would be longer."""
        if task.episode.id not in self.known:
            self.known[task.episode.id] = self._rehearse(task)
        return self.known[task.episode.id]

    def _rehearse(self, task: Task) -> tuple[Trajectory, float]:
        most = self.plan.max_steps or self.dataset.max_steps
        if self._scripted():
            return self._played(task, self.agent, most, self.opened), 1.0
        if all(parts.cls.ends_itself for parts in self.agent.playing()):
            return self._played(task, self._constrained(), most, self._models()), 1.0
        steps = min(float(most), _expert_steps(self.plan, self.dataset, task, most))
        played, counted = self._for(task, steps, most)
        return played, max(1.0, min(SLACK * steps, most) / max(1.0, counted))

    def _for(self, task: Task, steps: float, most: int) -> tuple[Trajectory, float]:
        """An episode of about so many turns of each actor that count, and how many it has."""
        limit = max(1, round(steps))
        while True:
            played = self._played(task, self._constrained(), limit, self._models())
            actors = max(1, len(played.start))
            turns, counted = len(played.steps) / actors, _counted(played) / actors
            if counted >= 0.9 * steps or turns < limit or limit >= most:
                return played, counted
            limit = min(most, math.ceil(limit * steps / max(0.5, counted)))

    def _played(
        self, task: Task, agent: AgentParts, most: int, models: Mapping[str, Model]
    ) -> Trajectory:
        draw = demonstrations(self.dataset)
        make, seed = agent.maker(), self.plan.seed
        setup = Setup(self.dataset, make, models, seed, most, demonstrations=draw)
        return asyncio.run(rollout(task, setup))

    def _models(self) -> dict[str, Model]:
        windows = {role: model.window for role, model in self.opened.items()}
        return {
            role: Rehearsal(name, windows.get(role, 0), picks(name, settings))
            for role, (name, settings) in self.choices.items()
        }

    def _scripted(self) -> bool:
        """Whether all models are scripts: they are asked themselves, as that costs nothing."""
        return bool(self.opened) and all(
            name.startswith("scripted:") for name, _ in self.choices.values()
        )

    def _constrained(self) -> AgentParts:
        """The agents, their answers constrained."""
        return replace(
            self.agent,
            settings=_legal(self.agent.settings),
            others={
                name: replace(parts, settings=_legal(parts.settings))
                for name, parts in self.agent.others.items()
            },
        )

    def _form(self, task: Task) -> int:
        """Tokens by which a main prompt is longer in the run's own form than constrained."""
        own, legal = self.agent.settings, _legal(self.agent.settings)
        if own == legal or self._scripted():
            return 0
        lengths = []
        for agent in (self.agent, self._constrained()):
            asked = self._played(task, agent, 1, self._models()).calls()
            main = [call for call in asked if call.role not in self.agent.roles]
            lengths.append(estimated_tokens(main[0].prompt) if main else 0)
        return lengths[0] - lengths[1]


def _legal(settings: Any) -> Any:
    """The settings with constrained answers, where they can be."""
    if getattr(settings, "decoding", "") == "free":
        return replace(settings, decoding="constrained")
    return settings


def _opened(plan: Plan, choices: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, Model]:
    """The real models, for their windows and names; none where a key is missing."""
    try:
        return open_models(replace(plan, cache=None), choices)
    except UsageError as error:
        if "set $" in str(error):
            return {}
        raise


def _counted(played: Trajectory) -> int:
    """Turns in which a model was asked or its actor came somewhere else."""
    at = dict(played.start)
    found = 0
    for step in played.steps:
        here, before = _place(step.pose), _place(at.get(step.actor, {}))
        found += bool(step.calls) or here != before
        at[step.actor] = step.pose
    return found


def _place(pose: Mapping[str, Any]) -> dict[str, Any]:
    """Where one is, whichever way one faces."""
    return {key: value for key, value in pose.items() if key != "heading"}


def _expert_steps(plan: Plan, dataset: Dataset, task: Task, most: int) -> float:
    """Turns of the expert, each actor's; half the limit where none plays the episode."""
    if (errands := _errands(dataset, task)) is not None:
        return errands
    try:
        talking = ("team", *EXPERTS) if len(task.episode.actors) > 1 else EXPERTS
        _, scores = expert_scores(plan, dataset, task, talking)
    except WaywordError:
        scores = None
    solved = scores is not None and scores.get("sr", 1.0) > 0
    steps = scores.get("steps", 0.0) if scores is not None and solved else 0.0
    return steps / max(1, len(task.episode.actors)) if steps else most / 2


def _errands(dataset: Dataset, task: Task) -> int | None:
    """Turns of whole errands for one actor; None where there are none, or they do not solve it.

    An expert that can do either goes by single motions, a model by the longer actions.
    """
    if len(task.episode.actors) > 1 or not dataset.solutions:
        return None
    try:
        return len(dataset.solve(task, "errands")) if "errands" in dataset.solutions else None
    except (WaywordError, PlanningFailed):
        return None


def _reckoned(
    plan: Plan,
    choices: Mapping[str, tuple[str, Mapping[str, Any]]],
    played: Sequence[tuple[Trajectory, float]],
    episodes: int,
    extra: int = 0,
) -> Forecast:
    """``played`` are trajectories with their stretch; ``extra`` tokens come to each main prompt."""
    table = load_prices(plan.prices)
    prices = {role: table.of(name) for role, (name, _) in choices.items()}
    profiles = {role: profile_before(name, settings) for role, (name, settings) in choices.items()}
    main = "main" if "main" in choices else next(iter(choices), "")
    calls = read = written = dollars = most = 0.0
    for trajectory, longer in played:
        for call in trajectory.calls():
            if call.answer is None:
                continue
            role = call.role if call.role in choices else main
            samples = call.sampling.n if call.sampling else 1
            known = profiles.get(role, Profile())
            asked = call.answer.usage.prompt + (extra if role == main else 0)
            asked *= 1 if known.samples else samples
            thought, texts = known.thinking * samples, call.answer.usage.completion
            spent = Usage(asked, texts + round(WRITTEN * thought))
            whole = Usage(asked, thought + max(texts, _limit(call)))
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
        unknown=tuple(name for name, given in choices.values() if _unknown(name, given)),
    )


def _unknown(name: str, given: Mapping[str, Any]) -> bool:
    kind, _, own = name.partition(":")
    return kind == "openai" and not {"profile", "thinking"} & given.keys() and not is_known(own)


def _limit(call: ModelCall) -> int:
    """The most that an answer to this call may take, in tokens."""
    return call.sampling.max_tokens * call.sampling.n if call.sampling else 0


def _cost(price: Price | None, usage: Usage) -> float:
    return 0.0 if price is None else price.of(usage)


def _measured(stage: _Stage, chosen: Sequence[int], guess: Forecast, rehearsed: int) -> Forecast:
    """The forecast by what finished episodes of this run took, where there are some."""
    plan, dataset = stage.plan, stage.dataset
    path = plan.out
    if path is None and stage.opened:
        checksum = Checksums().combined(dataset.files)
        path = run_folder(plan, identity(plan, dataset, stage.agent, stage.opened, checksum))
    if path is None or not is_run(path):
        return guess
    found = dict(RunFolder.read(path).scores())
    tasks = dataset.tasks
    names = {number: task_id(tasks, number) for number in chosen}
    pilot = [number for number in chosen if names[number] in found]
    if not pilot:
        return guess
    scores = [found[names[number]] for number in pilot]
    some = pilot[:: max(1, len(pilot) // rehearsed)][:rehearsed]
    like = stage.reckoned([tasks[number] for number in some], guess.episodes)
    share = guess.episodes / len(scores)
    longer = guess.read / like.read if like.read and len(pilot) < len(chosen) else 1.0
    told = guess.written / like.written if like.written and len(pilot) < len(chosen) else 1.0
    priced = all("cost" in each for each in scores)
    read = sum(each.get("prompt_tokens", 0.0) for each in scores)
    written = sum(tokens_of(each) - each.get("prompt_tokens", 0.0) for each in scores)
    return replace(
        guess,
        calls=sum(each.get("calls", 0.0) for each in scores) / len(scores),
        read=round(share * longer * read),
        written=round(share * told * written),
        dollars=share * longer * sum(e["cost"] for e in scores) if priced else guess.dollars,
        measured=len(scores),
    )


def lines(told: Forecast) -> list[str]:
    """The forecast in words, the first prompts before it."""
    shown = [line for number, call in enumerate(told.first, 1) for line in _prompt(number, call)]
    grounds = (
        f"measured on {told.measured} finished episodes"
        if told.measured
        else "estimated: a rehearsal with legal actions and thoughts of a usual length"
    )
    window = f"; the model holds {told.window:,} tokens" if told.window else ""
    if not told.calls:
        return [*shown, f"{told.episodes} episodes ask no model"]
    return [
        *shown,
        f"{told.episodes} episodes, {told.calls:.1f} calls each ({grounds}){window}",
        f"tokens: {told.read:,} read, {told.written:,} written",
        dollars_line(told),
        *(
            f"not counted is what {name} would think, as its name is in no profile; for a "
            "reasoning model add --set model.profile=reasoning"
            for name in (() if told.measured else dict.fromkeys(told.unknown))
        ),
    ]


def dollars_line(told: Forecast) -> str:
    """The cost in words."""
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
