"""The calls, tokens, dollars and hours of a run, before anything is asked: ``wayword run …
--dry-run``, ``wayword plan``.

    >>> from wayword.runs.plan import Plan
    >>> found = forecast(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1)
    >>> found.episodes, found.dollars > 0
    (20, True)

A few episodes, spread over the plan's, are rehearsed: the agent asks what it would ask, and is
answered with legal actions and thoughts of a usual length, for as many steps as the expert takes
(by whole errands where a body has them, by talk where there are several actors); a model is assumed
to take a tenth more. Turns of looking around, which ask nothing and lead nowhere, do not count. A
search that ends by itself is rehearsed to its end. Where several samples are drawn, they agree; a
server that returns one a request reads the prompt each time. Answers are constrained there even
where the run's are free, as free ones have no one form. A scripted model costs nothing and answers
itself. Where the run's folder holds finished episodes (``--limit 5`` first), what they took counts,
corrected by how much shorter or longer the others are when rehearsed.

Time is measured: a pilot, any run with the same model, gives the seconds of a call; one of the same
agent and data, those of an episode.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wayword.agents.answers import ARGUMENT
from wayword.core import registry
from wayword.core.dataset import Dataset, Task, task_id
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import PlanningFailed
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, estimated_tokens
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.models.middleware.prices import Price, load_prices
from wayword.models.scripted import smallest
from wayword.models.servers.profile import Profile, is_known, profile_of
from wayword.runs import reproduce
from wayword.runs.active import choose, demonstrations, open_models, tokens_of
from wayword.runs.config import Checksums, sessions
from wayword.runs.plan import (
    AgentParts,
    Choices,
    Plan,
    identity,
    model_choices,
    open_agent,
    open_dataset,
    run_folder,
    split_name,
)
from wayword.runs.play import EXPERTS, expert_scores
from wayword.runs.record import RunFolder, is_run

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
    reason: their thinking is not counted.
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
    """Rehearse some of the plan's episodes and estimate all of them. No model is asked.

    Raises ``UsageError`` and ``DataError`` as the run would, except for a missing key.
    """
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    tasks, numbers = dataset.tasks, choose(plan, dataset.tasks)
    choices = model_choices(plan, agent)
    try:  # for their windows and names
        opened = open_models(replace(plan, cache=None), choices)
    except UsageError as error:
        if "set $" not in str(error):
            raise
        opened = {}  # a key is missing
    stage = _Stage(plan, dataset, agent, choices, opened)
    step = max(1, math.ceil(len(numbers) / max(1, rehearsed)))
    chosen = [tasks[number] for number in numbers[::step][:rehearsed]]
    measured = _measured(stage, numbers, stage.estimated(chosen, len(numbers)), rehearsed)
    window = opened["main"].window if "main" in opened else 0
    return replace(measured, first=stage.first(chosen[:1]), window=window)


@dataclass(slots=True)
class _Stage:
    """Rehearses episodes of a plan; ``known`` are those that were."""

    plan: Plan
    dataset: Dataset
    agent: AgentParts
    choices: Choices
    opened: Mapping[str, Model]
    known: dict[str, tuple[Trajectory, float]] = field(default_factory=dict)

    def estimated(self, tasks: Sequence[Task], episodes: int) -> Forecast:
        """What so many episodes like these would take."""
        for task in tasks:
            if task.episode.id not in self.known:
                self.known[task.episode.id] = self._rehearse(task)
        played = [self.known[task.episode.id] for task in tasks]
        kept = [part for part in played if part[0].steps or part[1]]
        extra = self._form(tasks[0]) if tasks else 0
        return _estimated(self.plan, self.choices, kept, episodes, extra)

    def first(self, tasks: Sequence[Task]) -> tuple[ModelCall, ...]:
        """The first calls of the first of these episodes, with the run's own settings."""
        for steps in (1, 4, LOOK) if tasks and self.choices else ():
            played = self._played(tasks[0], self.agent, steps, self._models())
            if calls := tuple(played.calls()):
                return calls[:2]
        return ()

    def _rehearse(self, task: Task) -> tuple[Trajectory, float]:
        """An episode, and by how much a real one would be longer."""
        most = self.plan.max_steps or self.dataset.max_steps
        if self._scripted():
            return self._played(task, self.agent, most, self.opened), 1.0
        if all(parts.cls.ends_itself for parts in self.agent.playing()):
            return self._played(task, self._constrained(), most, self._models()), 1.0
        steps = min(float(most), _expert_steps(self.plan, self.dataset, task, most))
        limit = max(1, round(steps))
        while True:  # until as many turns of each actor count as the expert takes
            played = self._played(task, self._constrained(), limit, self._models())
            actors = max(1, len(played.start))
            turns, counted = len(played.steps) / actors, _counted(played) / actors
            if counted >= 0.9 * steps or turns < limit or limit >= most:
                return played, max(1.0, min(SLACK * steps, most) / max(1.0, counted))
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
            role: Rehearsal(name, windows.get(role, 0), _picks(name, settings))
            for role, (name, settings) in self.choices.items()
        }

    def _scripted(self) -> bool:
        """True if all models are scripts: they are asked themselves, as that costs nothing."""
        names = [name for name, _ in self.choices.values()]
        return bool(self.opened) and all(name.startswith("scripted:") for name in names)

    def _constrained(self) -> AgentParts:
        """The agents, their answers constrained."""
        others = {
            name: replace(parts, settings=_legal(parts.settings))
            for name, parts in self.agent.others.items()
        }
        return replace(self.agent, settings=_legal(self.agent.settings), others=others)

    def _form(self, task: Task) -> int:
        """Tokens by which a main prompt is longer in the run's own form than constrained."""
        if self.agent.settings == _legal(self.agent.settings) or self._scripted():
            return 0
        lengths = []
        for agent in (self.agent, self._constrained()):
            calls = self._played(task, agent, 1, self._models()).calls()
            main = [call for call in calls if call.role not in self.agent.roles]
            lengths.append(estimated_tokens(main[0].prompt) if main else 0)
        return lengths[0] - lengths[1]


def _legal(settings: Any) -> Any:
    """The settings with constrained answers, where they can be."""
    if getattr(settings, "decoding", "") == "free":
        return replace(settings, decoding="constrained")
    return settings


def _counted(played: Trajectory) -> int:
    """Turns in which a model was asked or the actor moved; turning on the spot is no move."""
    at = dict(played.start)
    found = 0
    for step in played.steps:
        now, before = (
            {key: value for key, value in pose.items() if key != "heading"}
            for pose in (step.pose, at.get(step.actor, {}))
        )
        found += bool(step.calls) or now != before
        at[step.actor] = step.pose
    return found


def _expert_steps(plan: Plan, dataset: Dataset, task: Task, most: int) -> float:
    """Turns of the expert, each actor's; half the limit where none plays the episode."""
    actors = len(task.episode.actors)
    if actors <= 1 and "errands" in (dataset.solutions or ()):
        # an expert that can do either goes by single motions, a model by the longer actions
        try:
            return len(dataset.solve(task, "errands"))
        except (WaywordError, PlanningFailed):
            pass
    try:
        names = ("team", *EXPERTS) if actors > 1 else EXPERTS
        _, scores = expert_scores(plan, dataset, task, names)
    except WaywordError:
        scores = None
    solved = scores is not None and scores.get("sr", 1.0) > 0
    steps = scores.get("steps", 0.0) if scores is not None and solved else 0.0
    return steps / max(1, actors) if steps else most / 2


def _estimated(
    plan: Plan,
    choices: Choices,
    played: Sequence[tuple[Trajectory, float]],
    episodes: int,
    extra: int = 0,
) -> Forecast:
    """``played`` are trajectories with their stretch; ``extra`` tokens come to each main prompt."""
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
            known = profiles.get(role, Profile())
            prompt = call.answer.usage.prompt + (extra if role == main else 0)
            prompt *= 1 if known.samples else samples
            thought, texts = known.thinking * samples, call.answer.usage.completion
            spent = Usage(prompt, texts + round(WRITTEN * thought))
            calls, read = calls + longer, read + longer * spent.prompt
            written += longer * spent.completion
            dollars += longer * _cost(prices.get(role), spent)
            most += longer * _cost(prices.get(role), Usage(prompt, thought + max(texts, limit)))
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
            and not is_known(name.partition(":")[2])
        ),
    )


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
    like = stage.estimated([tasks[number] for number in some], guess.episodes)
    share = guess.episodes / len(scores)
    others = len(pilot) < len(chosen)
    longer = guess.read / like.read if like.read and others else 1.0
    wordier = guess.written / like.written if like.written and others else 1.0
    priced = all("cost" in each for each in scores)
    read = sum(each.get("prompt_tokens", 0.0) for each in scores)
    written = sum(tokens_of(each) - each.get("prompt_tokens", 0.0) for each in scores)
    return replace(
        guess,
        calls=sum(each.get("calls", 0.0) for each in scores) / len(scores),
        read=round(share * longer * read),
        written=round(share * wordier * written),
        dollars=share * longer * sum(e["cost"] for e in scores) if priced else guess.dollars,
        measured=len(scores),
    )


def lines(found: Forecast) -> list[str]:
    """The forecast in words, after the first prompts."""
    shown = []
    for number, call in enumerate(found.first, 1):
        tokens = f"about {estimated_tokens(call.prompt):,} tokens"
        shown.append(f"--- prompt {number} of the first episode, role {call.role}, {tokens}")
        text = call.prompt
        parts = [("text", text)] if isinstance(text, str) else [(m.role, m.content) for m in text]
        shown += [line for role, text in parts for line in (f"[{role}]", text)]
        shown.append("")
    grounds = (
        f"measured on {found.measured} finished episodes"
        if found.measured
        else "estimated: a rehearsal with legal actions and thoughts of a usual length"
    )
    window = f"; the model holds {found.window:,} tokens" if found.window else ""
    if not found.calls:
        return [*shown, f"{found.episodes} episodes ask no model"]
    return [
        *shown,
        f"{found.episodes} episodes, {found.calls:.1f} calls each ({grounds}){window}",
        f"tokens: {found.read:,} read, {found.written:,} written",
        _dollars_line(found),
        *(
            f"not counted is what {name} would think, as its name is in no profile; for a "
            "reasoning model add --set model.profile=reasoning"
            for name in (() if found.measured else dict.fromkeys(found.unknown))
        ),
    ]


def _dollars_line(found: Forecast) -> str:
    """The cost in words."""
    if found.dollars is None:
        names = ", ".join(dict.fromkeys(found.unpriced))
        return f"cost: unknown, as {names} has no price; give one with --prices"
    most = f"; at most ${found.most:.2f} if every answer ran to its limit" if found.most else ""
    return f"cost: ${found.dollars:.2f}{most if not found.measured else ''}"


def table_lines(name: str, rows: Sequence[tuple[str, Forecast]]) -> list[str]:
    """A line a row of a published table, and the sum: calls, tokens read and written, dollars."""

    def dollars(value: float | None) -> str:
        return "cost unknown: give a price with --prices" if value is None else f"${value:.2f}"

    listed = [
        f"{row}: {one.episodes} episodes, {one.calls:.1f} calls each, {one.read:,} tokens read, "
        f"{one.written:,} written, {dollars(one.dollars)}"
        for row, one in rows
    ]
    whole = _together([one for _, one in rows])
    total = f"{whole.read:,} tokens read, {whole.written:,} written, {dollars(whole.dollars)}"
    return [*listed, f"{name} in all: {total}"]


# A model for rehearsals: legal actions that lead on, and texts of a usual length.

LENGTH = 45
"""Words of each text that an answer leaves free: a thought, a summary, an expert's opinion."""
SENTENCE = 20
"""Words of each where one sentence is asked for."""
PART = 12
"""Words of a part of a section, such as what is done so far, and of what is said to others."""
LISTED = 8
"""Words of an item of a list: an action with its place, a landmark with its types."""
CONTINUED = 26
"""Tokens that are added to a text which a chat model is to continue."""

THOUGHT = (
    *("the", "words", "that", "a", "thought", "takes", "up", "before", "an", "action,"),
    *("about", "sixty", "tokens", "of", "them;"),
)
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
    return replace(
        profile,
        thinking=profile.thinking if thinking is None else int(thinking),
        samples=profile.samples and not settings.get("one_sample_a_call", False),
    )


def _picks(name: str, settings: Mapping[str, Any]) -> bool:
    """True if options are picked by writing one, as no server ranks them for this model."""
    known = _profile(name, settings)
    ranks = not name.startswith("openai:") or (known.completions and known.logprobs > 0)
    return not ranks or settings.get("choose") == "constrained"


@dataclass(slots=True)
class Rehearsal(Model):
    """A model that answers with anything legal, with the name and the window of the real one.

    ``picks``: it chooses by writing ``{"answer": …}``; else options are ranked in one request.
    """

    name: str
    window: int = 0
    picks: bool = False
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """A legal answer that does not stop, with texts of a usual length; all samples agree."""
        for _ in range(8):  # a walk that stops at once would show nothing of the later prompts
            text = self._legal(prompt, sampling)
            if not _STOPS.search(text):
                break
        written = sampling.n * min(estimated_tokens(text), sampling.max_tokens)
        usage = Usage(estimated_tokens(prompt), written, estimated=True)
        return Completion((text,) * sampling.n, ("stop",) * sampling.n, usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """A random option that does not stop, where there is one."""
        going = [option for option in options if not _STOPS.search(option)] or list(options)
        best = self._rng.choice(going)
        values = tuple(-0.1 if option == best else -3.0 for option in options)
        usage = Usage(estimated_tokens(prompt), 1, estimated=True)
        if self.picks:
            written = estimated_tokens(json.dumps({"answer": best}))
            usage = Usage(usage.prompt + CONTINUED, written, estimated=True)
        return Choice(tuple(options), values, usage)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _legal(self, prompt: Prompt, sampling: Sampling) -> str:
        # the request for a text stands first or last
        parts = [prompt] if isinstance(prompt, str) else [prompt[0].content, prompt[-1].content]
        words = SENTENCE if any(_ONE.search(text) for text in parts) else LENGTH
        if sampling.choices:
            return self._rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            return json.dumps(_filled(sampling.json_schema, self._rng, words=words))
        number = _NUMBER.search(prompt) if isinstance(prompt, str) else None
        if number:  # a list of numbered actions, to be continued
            ahead = range(int(number[1]) + 1, int(number[1]) + sampling.max_tokens // 4)
            return "\n".join([" forward", *(f"{n}. forward" for n in ahead)])
        return _words(min(words, sampling.max_tokens))


def _filled(
    schema: Mapping[str, Any],
    rng: random.Random,
    root: Mapping[str, Any] | None = None,
    words: int = LENGTH,
) -> Any:
    """A value that the schema allows, its free texts so many words long, where they may be."""
    root = root or schema
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            return _filled(rng.choice(schema[word]), rng, root, words)
    if "properties" in schema:
        length = words if schema is root else min(words, PART)
        made = {k: _filled(v, rng, root, length) for k, v in schema["properties"].items()}
        if ARGUMENT in made:
            made[ARGUMENT] = _words(PART) if made.get("action") in _SPEAKS else ""
        return made
    if schema.get("type") == "array" and "enum" not in schema:
        least = schema.get("minItems", 0) or min(3, schema.get("maxItems", 3))
        return [_filled(schema.get("items", {}), rng, root, LISTED) for _ in range(least)]
    if schema.get("type") == "string" and not {"enum", "const", "pattern"} & set(schema):
        return _words(words)[: schema.get("maxLength", 10_000)]
    return smallest(schema, rng, root)


def _words(count: int) -> str:
    return " ".join(THOUGHT[number % len(THOUGHT)] for number in range(count))


# Machines and hours: ``wayword plan``.


@dataclass(frozen=True, slots=True)
class Pilot:
    """The times of a finished run. ``call`` and ``episode`` are mean seconds, ``call`` None where
    no model was asked; ``at_once`` is how many episodes were under way on average, None where no
    session ended in order."""

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
    """A planned run: its forecast, and the seconds of an episode (None without a pilot)."""

    name: str
    forecast: Forecast
    seconds: float | None

    def hours(self, at_once: float) -> float | None:
        """Hours of wall time with so many episodes under way."""
        if self.seconds is None:
            return None
        return self.forecast.episodes * self.seconds / at_once / 3600


@dataclass(frozen=True, slots=True)
class Resources:
    """The machines: episodes at once in a process, processes a machine, requests a minute that the
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
    found = forecast(plan)
    return Outlook(name, found, None if pilot.call is None else found.calls * pilot.call)


def is_table(name: str) -> bool:
    """True if a name is that of a published table, not an agent's."""
    return "/" in name and not registry.is_path(name)


def table_outlooks(name: str, model: str, data: Path | None, pilot: Pilot | None) -> list[Outlook]:
    """What each run of a published table would take. Raises ``UsageError`` for an unknown name."""
    wishes = reproduce.Wishes(model=model, data=data, stand_in=True)
    rows = reproduce.prepare(reproduce.open_recipe(name), wishes)
    plans = [(each.row.name, plan) for each in rows for plan in each.plans]
    return [replace(outlook(plan, pilot), name=row) for row, plan in plans]


def plan_lines(found: Sequence[Outlook], means: Resources, pilot: Pilot | None) -> list[str]:
    """The outlooks in words, with the machines and hours they need together."""
    listed = []
    for one in found if len(found) > 1 else ():
        alone = (
            ""
            if (one_hours := one.hours(1)) is None
            else f", {_hours(one_hours)} one after the other"
        )
        cost = _dollars_line(one.forecast)
        listed.append(f"{one.name}: {one.forecast.episodes:,} episodes{alone}, {cost}")
    whole = _together([one.forecast for one in found])
    listed.append(
        f"{whole.episodes:,} episodes, {whole.calls:.1f} calls each; "
        f"tokens: {whole.read:,} read, {whole.written:,} written"
    )
    if pilot is not None:
        at_once = f", {pilot.at_once:.1f} at once" if pilot.at_once is not None else ""
        call = f", {pilot.call:.2f} s a call" if pilot.call is not None else ""
        mean = pilot.episode
        seconds = f"{mean:.1f} s" if mean >= 0.1 else f"{mean * 1000:.1f} ms"
        measured = f"{pilot.episodes} episodes of {pilot.agent} on {pilot.split}"
        listed.append(f"measured on {measured}{at_once}: {seconds} an episode{call}")
    all_hours = [one.hours(means.concurrency) for one in found]
    known = [each for each in all_hours if each is not None]
    if len(known) < len(found):
        listed.append(
            "hours: unknown; play a pilot of the same agent, data and model with "
            "wayword run … --limit 10 --out runs/pilot, then add --from runs/pilot"
        )
    else:
        listed += _machines(sum(known), whole, means)
    return [*listed, _dollars_line(whole)]


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
        requests, tokens = calls / minutes, (whole.read + whole.written) / minutes
        yield f"the server then answers {requests:,.0f} requests and {tokens:,.0f} tokens a minute"
    if means.rpm and calls / means.rpm > minutes:
        yield f"at {means.rpm:g} requests a minute it takes {_hours(calls / means.rpm / 60)}"


def _together(found: Sequence[Forecast]) -> Forecast:
    """The sum of several forecasts; without a cost where one has none."""
    if len(found) == 1:
        return found[0]
    episodes = sum(one.episodes for one in found)
    costs, most = [one.dollars for one in found], [one.most for one in found]
    return Forecast(
        episodes,
        sum(one.calls * one.episodes for one in found) / max(1, episodes),
        sum(one.read for one in found),
        sum(one.written for one in found),
        None if None in costs else sum(cost or 0.0 for cost in costs),
        None if None in most else sum(cost or 0.0 for cost in most),
        tuple(dict.fromkeys(name for one in found for name in one.unpriced)),
    )


def _hours(hours: float) -> str:
    if hours < 1 / 60:
        return f"{hours * 3600:.0f} seconds"
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.0f} minutes"
