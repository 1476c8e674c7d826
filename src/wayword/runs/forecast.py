"""Estimates of a run's calls, tokens, dollars and hours: ``wayword run … --dry-run``.

    >>> from wayword.runs.plan import Plan
    >>> estimate = forecast(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1)
    >>> estimate.episodes, estimate.dollars > 0
    (20, True)

A sample of the plan's episodes is rehearsed without calling a model. The agent sends its usual
prompts and receives legal actions and thoughts of typical length, for as many steps as the expert
takes (with skills if the body has them, as a team if there are several actors) plus 10%, because
models take detours. Turns without a call or a move, such as looking around, are not counted. A
search that ends by itself is rehearsed to its end. If the server returns one sample per request,
the prompt is counted each time. Answers are constrained even if the run's are free, because free
answers have no fixed form. Scripted models cost nothing, so they answer themselves. If the run
already has finished episodes (play ``--limit 5`` first), the estimate uses their usage, scaled by
how long the other episodes are in rehearsal; only then is time estimated, by their duration and the
run's ``concurrency``.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from wayword.core.blocking import blocking
from wayword.core.dataset import Task, task_id
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import PlanningFailed
from wayword.core.model import Model, Sampling, Usage, estimated_tokens
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.core.visible import count, in_dollars
from wayword.models.middleware.prices import load_prices
from wayword.models.servers.profile import Profile, has_profile, profile_of
from wayword.runs import tiers
from wayword.runs.cast import AgentParts
from wayword.runs.config import Checksums
from wayword.runs.demonstrations import demonstrations
from wayword.runs.identity import identity, run_folder
from wayword.runs.opening import model_choices, open_agent, open_dataset, open_models
from wayword.runs.plan import Plan
from wayword.runs.play import EXPERTS, expert_solution
from wayword.runs.power import FEWEST, assumed_error, shown_by
from wayword.runs.record import RunFolder, is_run
from wayword.runs.rehearsal import Rehearsal
from wayword.runs.selection import choose, in_recorded_order

# Steps of a language model per step of the expert, due to detours and rejections.
SLACK = 1.1

# Share of its thinking budget that a reasoning model is assumed to use. No measurement stands
# behind it: shares differ from model to model, so every forecast states the tokens that it means.
THINKING_SHARE = 0.4

# Turns within which every agent calls a model: a full look around takes at most 13.
LOOK = 16

# Half of an interval of the logarithm of a cost above which nothing is known: a factor of 1,000.
_UNKNOWN = math.log(1_000)

# Variance of logarithms above which the exponential could overflow.
_LARGE = 100.0

# Episodes to rehearse, spread over the plan.
REHEARSED = 6


@dataclass(frozen=True)
class Forecast:
    """Estimated usage and cost of a run.

    ``calls`` is the mean number per episode. ``max_dollars`` is the cost if every answer of these
    calls reached its token limit; it and ``dollars`` are None without known prices. ``measured`` is
    the number of finished episodes that the estimate is based on. ``hours`` is the wall time with
    ``concurrency`` episodes and the run's rate limit; None for a rehearsal. ``window`` is the
    model's context in tokens. ``unprofiled`` models might reason: their thinking is not counted.
    ``thinking`` are the reasoning tokens allowed per answer, by model, of which a rehearsal assumes
    ``THINKING_SHARE``.
    ``range`` is the 95% interval of ``dollars`` by the spread of the episodes that it is based on.
    ``ways`` are the dollars of a rehearsal in each way that the provider offers
    (:mod:`wayword.runs.tiers`), and ``shared`` is the share of prompt tokens that a prefix cache
    can hold.
    """

    episodes: int
    calls: float
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    max_dollars: float | None
    unpriced: tuple[str, ...] = ()
    measured: int = 0
    hours: float | None = None
    concurrency: int = 1
    first_calls: tuple[ModelCall, ...] = ()
    window: int = 0
    unprofiled: tuple[str, ...] = ()
    thinking: Mapping[str, int] = field(default_factory=dict)
    range: tuple[float, float] = (0.0, math.inf)
    ways: Mapping[str, float] = field(default_factory=dict)
    shared: float = 0.0


def forecast(plan: Plan, rehearsed: int = REHEARSED) -> Forecast:
    """Estimate the usage and cost of a plan from a rehearsal. No model is called.

    ``rehearsed`` is the largest number of episodes to rehearse. If the run's folder has
    finished episodes, the estimate rests on their usage. Raises the same ``UsageError``
    and ``DataError`` as the run, except for a missing key.
    """
    stage = _Stage(plan)
    tasks = stage.dataset.tasks
    path = stage.run_folder()
    # A resumed run is forecast for the order that it has.
    if path is not None:
        plan = in_recorded_order(plan, path)
    numbers = choose(plan, tasks)
    sample = [tasks[number] for number in _spread(numbers, rehearsed)]
    estimate = stage.estimate(sample, len(numbers))
    # Finished episodes of the run are better evidence than a rehearsal.
    if path is not None and is_run(path):
        estimate = _measured(stage, path, numbers, estimate, rehearsed)
    first: tuple[ModelCall, ...] = ()
    if sample:
        first = stage.first_calls(sample[0])
    return replace(estimate, first_calls=first, window=stage.window("main"))


class _Stage:
    """Rehearsals of a plan's episodes, each played only once.

    Opens what the run would open: dataset, agent and models. Without a key, ``opened``
    is empty and the models' context windows are unknown.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.dataset = open_dataset(plan)
        # A rehearsal takes steps, and these would move a robot.
        if self.dataset.live:
            raise UsageError(
                f"a dry run rehearses episodes, and {plan.on} would really move; estimate with "
                "a simulated dataset, such as --on apartments"
            )
        self.agent = open_agent(plan, self.dataset)
        self.choices = model_choices(plan, self.agent)
        # Wrappers are left out: a cache or a rate limit has no part in a forecast.
        try:  # for their context windows and identities
            self.opened = open_models(replace(plan, cache=None, rpm=None), self.choices)
        except UsageError as error:
            if "set $" not in str(error):
                raise
            self.opened = {}  # a key is missing
        names = [name for name, _ in self.choices.values()]
        # A scripted model is played as it is: its own answers decide.
        self._scripted = bool(self.opened) and all(
            name.startswith("scripted:") for name in names
        )
        # Free answers of a stand-in would be rejected, so decoding is constrained.
        others = {}
        for actor, parts in self.agent.others.items():
            others[actor] = replace(parts, settings=_constrained(parts.settings))
        self._constrained = replace(
            self.agent,
            settings=_constrained(self.agent.settings),
            others=others,
        )
        self._max_steps = plan.max_steps or self.dataset.max_steps
        self._rehearsed: dict[str, tuple[Trajectory, float]] = {}

    def estimate(self, tasks: Sequence[Task], episodes: int) -> Forecast:
        """Estimate ``episodes`` episodes from a rehearsal of these tasks.

        Tokens and dollars are sums over all episodes, ``calls`` is a mean. Each rehearsal counts by
        its factor, as a real episode is longer. Dollars are None if a role's model has no price.
        """
        plan = self.plan
        choices = self.choices
        rehearsals = self._rehearsals(tasks)
        # Rehearsals use constrained decoding, whose prompts may differ in length from the run's;
        # one task shows the difference, in tokens per call.
        extra = 0
        if tasks:
            extra = self._extra_prompt_tokens(tasks[0])
        table = load_prices(plan.prices)
        prices = {}
        profiles = {}
        for role, (name, settings) in choices.items():
            address = settings.get("base_url") or os.environ.get("OPENAI_BASE_URL", "")
            prices[role] = table.of(name, str(address))
            profiles[role] = _profile(name, settings)
        # A role without a model of its own is played by the main one.
        main = next(iter(choices), "")
        if "main" in choices:
            main = "main"

        # Sum up the calls of all rehearsals, each by the factor to a real episode.
        calls = 0.0
        prompt_tokens = 0.0
        completion_tokens = 0.0
        dollars = 0.0
        max_dollars = 0.0
        costs = []
        shared_tokens = 0.0
        allowed: dict[str, int] = {}
        ways: dict[str, float] = defaultdict(float)
        for trajectory, factor in rehearsals:
            before = dollars
            # Episodes run side by side, so that a prompt is compared with those of its own.
            prefixes: dict[str, tiers.Prefixes] = defaultdict(tiers.Prefixes)
            for call in trajectory.calls():
                if call.answer is None:
                    continue
                role = call.role
                if role not in choices:
                    role = main
                sampling = call.sampling or Sampling(max_tokens=0)
                samples = sampling.n
                limit = sampling.max_tokens * samples
                profile = profiles.get(role, Profile())
                price = prices.get(role)
                prompt = call.answer.usage.prompt
                # Measured on main prompts, so it says nothing of the experts' ones.
                if role == main and call.role not in self.agent.roles:
                    prompt += extra
                # Servers that give one sample per request read the prompt for each.
                if not profile.samples:
                    prompt *= samples
                thinking = profile.thinking * samples
                text = call.answer.usage.completion
                # Thinking is added by the profile: a rehearsal does not think.
                if profile.thinking:
                    allowed[choices[role][0]] = profile.thinking
                tier = str(choices[role][1].get("tier", ""))
                written = text + round(THINKING_SHARE * thinking)
                usage = Usage(prompt, written, tier=tier)
                read = prefixes[choices[role][0]]
                shared = read.shared(call.prompt, usage.prompt)
                shared_tokens += factor * shared
                calls = calls + factor
                prompt_tokens = prompt_tokens + factor * usage.prompt
                completion_tokens += factor * usage.completion
                # The upper bound: all of the thinking budget, and each sample up to its limit.
                if price is not None:
                    most = Usage(prompt, thinking + max(text, limit), tier=tier)
                    dollars += factor * price.of(usage)
                    max_dollars += factor * price.of(most)
                    for way, amount in tiers.costs(price, usage, shared).items():
                        ways[way] += factor * amount
            costs.append(dollars - before)

        # From the rehearsed episodes to all. The costs by episode give the interval.
        scale = episodes / max(1, len(rehearsals))
        estimate = Forecast(
            episodes,
            calls / max(1, len(rehearsals)),
            round(prompt_tokens * scale),
            round(completion_tokens * scale),
            dollars * scale,
            max_dollars * scale,
            range=dollars_range(costs, episodes),
            unprofiled=self._unprofiled(),
            thinking=allowed,
            ways={way: ways[way] * scale for way in self._ways() if ways[way]},
            shared=shared_tokens / max(1.0, prompt_tokens),
        )
        # One price missing makes the sum meaningless.
        unpriced = [choices[role][0] for role, price in prices.items() if price is None]
        if unpriced:
            return replace(
                estimate,
                dollars=None,
                max_dollars=None,
                unpriced=tuple(unpriced),
                ways={},
            )
        return estimate

    def _rehearsals(self, tasks: Sequence[Task]) -> list[tuple[Trajectory, float]]:
        """Return the rehearsals of tasks, each with its factor to a real episode.

        Each task is rehearsed once, however often it is asked for. A rehearsal without steps or
        calls says nothing, and is left out.
        """
        for task in tasks:
            if task.episode.id not in self._rehearsed:
                self._rehearsed[task.episode.id] = self._rehearse(task)
        rehearsals = [self._rehearsed[task.episode.id] for task in tasks]
        return [
            (trajectory, factor)
            for trajectory, factor in rehearsals
            if trajectory.steps or next(trajectory.calls(), None) is not None
        ]

    def _ways(self) -> tuple[str, ...]:
        """Return the ways to pay that the providers of all models offer.

        The standard tier comes first; none if it is the only one.
        """
        offered = [tiers.offers(*choice) for choice in self.choices.values()]
        ways = [
            way
            for way in (tiers.CACHED, tiers.FLEX, tiers.BATCH)
            if offered and all(way in each for each in offered)
        ]
        if ways:
            return (tiers.STANDARD, *ways)
        return ()

    def _unprofiled(self) -> tuple[str, ...]:
        """Return the models that might reason, as neither a profile nor a setting says how much."""
        return tuple(
            name
            for name, settings in self.choices.values()
            if name.startswith("openai:")
            and not {"profile", "thinking"} & settings.keys()
            and not has_profile(name.partition(":")[2])
        )

    def run_folder(self) -> Path | None:
        """Return the run's folder; None if it is unknown because a key is missing.

        By default its name has a checksum of the run's identity, which needs the
        models.
        """
        plan = self.plan
        # Without a key, the models' identities are unknown.
        if plan.out is not None or not self.opened:
            return plan.out
        checksum = Checksums().combined(self.dataset.files)
        named = identity(plan, self.dataset, self.agent, self.opened, checksum)
        return run_folder(plan, named)

    def window(self, role: str) -> int:
        """Return the context window of a role's model in tokens; 0 if unknown."""
        # Unknown without the model.
        if role not in self.opened:
            return 0
        return self.opened[role].window

    def first_calls(self, task: Task) -> tuple[ModelCall, ...]:
        """Return the first two calls of an episode, with the run's settings; none
        without a model.
        """
        if not self.choices:
            return ()
        # Some agents look around before their first call.
        for steps in (1, 4, LOOK):
            if calls := tuple(self._play(task, self.agent, steps).calls()):
                return calls[:2]
        return ()

    def _rehearse(self, task: Task) -> tuple[Trajectory, float]:
        """Return a rehearsed episode, and the factor (at least 1) by which a real one is longer.

        A rehearsal is played until each actor has nearly as many counted turns as the
        expert. The factor makes up for the rest and for ``SLACK``; it is 1 where the
        agent or a script decides when to stop.
        """
        ends_itself = all(parts.cls.ends_itself for parts in self.agent.playing())
        if self._scripted:
            return self._play(task, self.agent, self._max_steps), 1.0
        if ends_itself:
            # The agent decides when to stop, so its own length counts.
            return self._play(task, self._constrained, self._max_steps), 1.0
        # A model's episode has about as many steps as the expert's.
        steps = min(float(self._max_steps), self._expert_steps(task))
        limit = max(1, round(steps))
        while True:  # until each actor has as many counted turns as the expert
            played = self._play(task, self._constrained, limit)
            actors = max(1, len(played.start))
            turns = len(played.steps) / actors
            counted = _counted_turns(played) / actors
            # Nearly as many as the expert's: close enough to scale.
            if counted >= 0.9 * steps or turns < limit or limit >= self._max_steps:
                real = min(SLACK * steps, self._max_steps)
                return played, max(1.0, real / max(1.0, counted))
            # More steps, by the share of turns that counted.
            limit = min(self._max_steps, math.ceil(limit * steps / max(0.5, counted)))

    def _play(self, task: Task, agent: AgentParts, max_steps: int) -> Trajectory:
        """Play an episode with stand-ins for the models, to count its prompts."""
        examples = demonstrations(self.dataset)
        seed = self.plan.seed
        models = self.opened
        if not self._scripted:
            models = {role: self._stand_in(role) for role in self.choices}
        setup = Setup(
            self.dataset,
            agent.make,
            models,
            seed,
            # Prompts state the run's limit, not that of this rehearsal.
            self._max_steps,
            demonstrations=examples,
            turns=max_steps,
        )
        return blocking(rollout(task, setup))

    def _stand_in(self, role: str) -> Model:
        """Return a model that answers in place of a role's. It ranks options if the
        real one does.
        """
        name, settings = self.choices[role]
        profile = _profile(name, settings)
        ranks = profile.completions and profile.logprobs > 0
        # Models that rank options get a stand-in that ranks as well.
        if not name.startswith("openai:"):
            ranks = True
        writes = not ranks or settings.get("choose") == "constrained"
        return Rehearsal(name, self.window(role), writes, profile.pictures)

    def _extra_prompt_tokens(self, task: Task) -> int:
        """Return the tokens by which the run's main prompts exceed those of constrained decoding.

        Negative if they are shorter. Measured on the first step of one task.
        """
        # Without a change of decoding, prompts are the same.
        if self.agent.settings == self._constrained.settings or self._scripted:
            return 0
        lengths = []
        # One step of each, to compare their main prompts.
        for agent in (self.agent, self._constrained):
            calls = self._play(task, agent, 1).calls()
            main = [call for call in calls if call.role not in self.agent.roles]
            length = 0
            if main:
                length = estimated_tokens(main[0].prompt)
            lengths.append(length)
        return lengths[0] - lengths[1]

    def _expert_steps(self, task: Task) -> float:
        """Return the expert's turns per actor; half the limit if no expert can play the episode."""
        actors = len(task.episode.actors)
        # the expert prefers single motions, but a model uses skills; the oracle takes shortcuts
        kinds: tuple[str, ...] = ("skills", "gold")
        names: tuple[str, ...] = EXPERTS
        # Several actors have no plan of one, so a team plays.
        if actors > 1:
            kinds = ()
            names = ("team", *EXPERTS)
        for kind in kinds:
            if kind in self.dataset.solutions:
                with suppress(WaywordError, PlanningFailed):
                    return len(self.dataset.solve(task, kind))
        steps = 0.0
        with suppress(WaywordError):
            _, scores, _ = expert_solution(self.plan, self.dataset, task, names)
            if scores is not None and scores.get("sr", 1.0) > 0:
                steps = scores.get("steps", 0.0)
        # Per actor, as turns are counted.
        if steps:
            return steps / max(1, actors)
        return self._max_steps / 2


def _spread(numbers: Sequence[int], most: int) -> Sequence[int]:
    """Return at most so many of the numbers, evenly spread over all."""
    # Rounded up: with a smaller step, the last numbers would have no part in it.
    step = max(1, math.ceil(len(numbers) / max(1, most)))
    return numbers[::step][:most]


def _constrained(settings: Any) -> Any:
    """Return the settings with constrained instead of free answers."""
    if getattr(settings, "decoding", "") == "free":
        return replace(settings, decoding="constrained")
    return settings


def _counted_turns(played: Trajectory) -> int:
    """Return the number of turns with a model call or a move. Turning on the spot is no move."""
    # Headings are ignored: a turn in place is no move.
    poses = {actor: {**pose, "heading": 0} for actor, pose in played.start.items()}
    count = 0
    for step in played.steps:
        pose = {**step.pose, "heading": 0}
        count += bool(step.calls) or pose != poses.get(step.actor, {"heading": 0})
        poses[step.actor] = pose
    return count


def _measured(
    stage: _Stage,
    path: Path,
    chosen: Sequence[int],
    estimate: Forecast,
    rehearsed: int,
) -> Forecast:
    """Return the estimate, corrected by the run's finished episodes if there are any.

    ``path`` is the run folder, ``chosen`` are the numbers of the plan's tasks, and
    ``rehearsed`` is the largest number of finished episodes to rehearse. Tokens,
    dollars and hours are those of all chosen episodes, the finished ones included.
    Dollars are corrected only if every finished episode has a cost.
    """
    plan = stage.plan
    dataset = stage.dataset
    finished = dict(RunFolder.read(path).scores())
    # Episodes of this plan that are finished already.
    pilot = [number for number in chosen if task_id(dataset.tasks, number) in finished]
    if not pilot:
        return estimate
    scores = [finished[task_id(dataset.tasks, number)] for number in pilot]
    more = len(chosen) - len(pilot)

    def total(key: str) -> float:
        """Return the sum of a score over the sample."""
        return sum(each.get(key, 0.0) for each in scores)

    # The other episodes against the pilot, by rehearsals of both so that their bias cancels. Of the
    # others, those of the plan's sample are rehearsed already.
    done = set(pilot)
    sampled = [number for number in _spread(chosen, rehearsed) if number not in done]
    others = [dataset.tasks[number] for number in sampled]
    pilot_tasks = [dataset.tasks[number] for number in _spread(pilot, rehearsed)]
    rest = stage.estimate(others, estimate.episodes)
    similar = stage.estimate(pilot_tasks, estimate.episodes)
    longer = _ratio(rest.prompt_tokens, similar.prompt_tokens)
    wordier = _ratio(rest.completion_tokens, similar.completion_tokens)
    busier = _ratio(rest.calls, similar.calls)
    # Factors from the pilot's sums to those of all: what finished episodes used is certain, and
    # each of the others is expected to use their mean, times the ratio above.
    prompt_scale = 1 + longer * more / len(scores)
    completion_scale = 1 + wordier * more / len(scores)
    call_scale = 1 + busier * more / len(scores)

    dollars = estimate.dollars
    likely = estimate.range
    most = estimate.max_dollars
    # Every cost must be known, or the sum would be too low.
    if all("cost" in each for each in scores):
        costs = [each["cost"] for each in scores]
        spent = sum(costs)
        # The cost is scaled like the prompts.
        dollars = prompt_scale * spent
        low, high = dollars_range(costs, more)
        likely = (spent + longer * low, spent + longer * high)
        # Only the others have a bound, as what was spent is known. It is never below the estimate.
        if most is not None:
            most = max(spent + most * more / len(chosen), dollars)

    # The time: as the episodes took for each call, but no faster than the rate limit.
    concurrency = plan.concurrency
    if plan.engine:
        concurrency *= plan.workers
    # Episodes run side by side share the time.
    minutes = total("seconds") / 60 / concurrency
    if plan.rpm:
        minutes = max(minutes, total("calls") / plan.rpm)
    return replace(
        estimate,
        calls=call_scale * total("calls") / len(chosen),
        prompt_tokens=round(prompt_scale * total("prompt_tokens")),
        completion_tokens=round(completion_scale * total("completion_tokens")),
        dollars=dollars,
        max_dollars=most,
        range=likely,
        thinking={},  # the bill of finished episodes has it
        measured=len(scores),
        hours=call_scale * minutes / 60,
        concurrency=concurrency,
    )


def _ratio(others: float, pilot: float) -> float:
    """Return the ratio of two rehearsals; 1 if one of them says nothing."""
    if others > 0 and pilot > 0:
        return others / pilot
    return 1.0


def dollars_range(costs: Sequence[float], episodes: int) -> tuple[float, float]:
    """Return the 95% interval of the dollars of ``episodes`` other episodes, given the ``costs`` of
    some.

    Costs of episodes are taken as log-normal, because few of them say too little without a shape:
    their mean has the interval of Olsson 2005 ("Confidence intervals for the mean of a log-normal
    distribution", the modified Cox method), and a sum of them is taken as log-normal (Fenton 1960,
    "The sum of log-normal probability distributions in scatter transmission systems"). Without two
    costs above 0, or for an interval from a thousandth to a thousandfold, nothing is known.
    """
    from scipy.special import stdtrit

    if not episodes:
        return 0.0, 0.0
    logs = [math.log(cost) for cost in costs if cost > 0]
    count = len(logs)
    if count < 2:
        return 0.0, math.inf
    variance = stdev(logs) ** 2
    # The logarithm of the mean of a log-normal distribution.
    center = fmean(logs) + variance / 2
    spread = variance / count + variance**2 / (2 * (count - 1))
    # The sum of the other episodes varies about its own mean.
    spread += math.log1p(math.expm1(min(variance, _LARGE)) / episodes)
    # Two parameters are estimated. Of five costs with a sigma of 1.2, 93% of intervals hold the
    # truth with one degree of freedom more.
    half = float(stdtrit(max(1, count - 2), 0.975)) * math.sqrt(spread)
    if half > _UNKNOWN:
        return 0.0, math.inf
    # Episodes without cost, such as those without a call, lower the total.
    paid = count / len(costs)
    total = episodes * paid * math.exp(center)
    return total * math.exp(-half), total * math.exp(half)


def lines(estimate: Forecast) -> list[str]:
    """Return the first prompts and the estimate, as lines of text for the terminal."""
    text_lines = []
    for number, call in enumerate(estimate.first_calls, 1):
        count = estimated_tokens(call.prompt)
        if call.answer is not None and call.answer.usage.estimated:
            count = call.answer.usage.prompt  # with pictures as the model counts them
        tokens = f"about {count:,} tokens"
        text_lines.append(
            f"--- prompt {number} of the first episode, role {call.role}, {tokens}"
        )
        # Raw text has no roles.
        if isinstance(call.prompt, str):
            text_lines += ["[text]", call.prompt]
        else:
            for message in call.prompt:
                text_lines += [f"[{message.role}]", message.text]
        text_lines.append("")
    text_lines.append(_power(estimate))
    # Agents without a model cost nothing.
    if not estimate.calls:
        return [*text_lines, f"{estimate.episodes} episodes without model calls"]
    # A reader must know what the numbers rest on.
    basis = "estimated by a rehearsal with legal actions and thoughts of typical length"
    if estimate.measured:
        basis = f"based on {estimate.measured} finished episodes"
    calls = f"{estimate.episodes} episodes, {estimate.calls:.1f} calls each ({basis})"
    if estimate.window:
        calls += f"; context window {estimate.window:,} tokens"
    text_lines += [
        calls,
        f"tokens: {estimate.prompt_tokens:,} read, {estimate.completion_tokens:,} written",
        *_assumptions(estimate.thinking),
        _dollars(estimate),
    ]
    if estimate.ways:
        text_lines.append(tiers.described(estimate.ways, estimate.shared))
    # Rate limits are compared with these rates.
    if estimate.hours is not None:
        # Not zero, by which rates are divided.
        minutes = max(estimate.hours * 60, 1e-9)
        requests = estimate.calls * estimate.episodes / minutes
        rate = (estimate.prompt_tokens + estimate.completion_tokens) / minutes
        text_lines.append(
            f"time: {_duration(estimate.hours)} with {estimate.concurrency} concurrent episodes; "
            f"{requests:,.0f} requests and {rate:,.0f} tokens per minute"
        )
    if not estimate.measured:
        text_lines += [
            f"thinking tokens of {name} are not counted, because no profile matches its name; for "
            "a reasoning model, add --set model.profile=reasoning"
            for name in dict.fromkeys(estimate.unprofiled)
        ]
    return text_lines


def _assumptions(thinking: Mapping[str, int]) -> list[str]:
    """Return a line for each model whose reasoning tokens are assumed, with their number."""
    return [
        f"assumed: {round(THINKING_SHARE * allowed):,} reasoning tokens per answer of {name}, "
        f"{THINKING_SHARE:.0%} of the {allowed:,} it may use (--set model.thinking=N); after a few "
        "finished episodes (--limit 5), the estimate uses theirs"
        for name, allowed in thinking.items()
    ]


def _power(estimate: Forecast) -> str:
    """Return the difference that a comparison on as many episodes can show, as text."""
    least = 100 * shown_by(max(1, estimate.episodes), assumed_error(0.5))
    # No difference of rates is larger.
    if least >= 100:
        return (
            f"power: fewer than {FEWEST} episodes show only very large differences to another "
            "agent, and 5 show none"
        )
    return (
        f"power: a difference of {least:.0f} points has p < 0.05 in 80% of comparisons, if both "
        "agents have a success of 50% and a correlation of 0.5; wayword power uses your runs"
    )


def _dollars(estimate: Forecast) -> str:
    """Return the expected cost as text; unknown without prices."""
    # A sum without a price would look cheap.
    if estimate.dollars is None:
        names = ", ".join(dict.fromkeys(estimate.unpriced))
        return f"cost: unknown (no price for {names}; add one with --prices)"
    low, high = estimate.range
    likely = ""
    limit = ""
    # Free runs, and a single episode, have no interval.
    if math.isfinite(high) and high > low:
        # An assumed amount of reasoning may be wrong by more than the episodes differ.
        over = ", by the spread of episodes alone" if estimate.thinking else ""
        likely = f" (95%{over}: {in_dollars(low)} to {in_dollars(high)})"
    if estimate.max_dollars:
        most = in_dollars(estimate.max_dollars)
        limit = (
            f"; at most {most} for these calls, if every answer reaches its token limit"
        )
    return f"cost: {in_dollars(estimate.dollars)}{likely}{limit}"


def row_lines(named: Sequence[tuple[str, Forecast]]) -> list[str]:
    """Return a line per run with calls, tokens, time if measured, and cost; then the total.

    For ``wayword sweep``: ``named`` are the runs' names and estimates, at least one.
    """
    rows = []
    for name, each in named:
        calls = f"{each.episodes:,} episodes, {each.calls:.1f} calls each"
        parts = [calls, _tokens(each), _dollars(each)]
        if each.hours is not None:
            parts.insert(2, _duration(each.hours))
        rows.append(f"{name}: {', '.join(parts)}")
    thinking: dict[str, int] = {}
    for _, each in named:
        thinking |= each.thinking
    # One run is its own total.
    if len(rows) > 1:
        estimates = [each for _, each in named]
        sums: dict[str, Any] = {}
        for key in ("prompt_tokens", "completion_tokens", "dollars", "max_dollars"):
            # A total with an unknown part is unknown.
            values = [getattr(each, key) for each in estimates]
            sums[key] = None
            if None not in values:
                sums[key] = sum(values)
        unpriced = tuple(chain.from_iterable(each.unpriced for each in estimates))
        # Errors of forecasts may share a cause, so that their ends are added.
        low = sum(each.range[0] for each in estimates)
        high = sum(each.range[1] for each in estimates)
        total = replace(
            estimates[0],
            **sums,
            unpriced=unpriced,
            measured=0,
            thinking=thinking,
            range=(low, high),
        )
        rows.append(f"total: {_tokens(total)}, {_dollars(total)}")
    return [*rows, *_assumptions(thinking)]


def _tokens(estimate: Forecast) -> str:
    """Return the expected tokens as text."""
    return f"{estimate.prompt_tokens:,} tokens read, {estimate.completion_tokens:,} written"


def _profile(name: str, settings: JsonObject) -> Profile:
    """Return the profile of a model, with the thinking budget from its settings.

    Only models behind the OpenAI interface have one; others get the default.
    """
    kind, _, model = name.partition(":")
    # Only models behind this interface have profiles.
    if kind != "openai":
        return Profile()
    profile = profile_of(
        model,
        settings.get("profile", ""),
        not settings.get("base_url"),
    )
    thinking = settings.get("thinking")
    # The user's setting wins over the profile.
    if thinking is None:
        return profile
    return replace(profile, thinking=int(thinking))


def _duration(hours: float) -> str:
    """Return hours as text."""
    # The largest unit of which there is at least one.
    if hours < 1 / 60:
        return count(round(hours * 3600), "second")
    if hours < 1:
        return count(round(hours * 60), "minute")
    return f"{hours:.1f} hours"
