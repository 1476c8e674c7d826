"""Iterative navigation: an honest player gains from what it remembers, also after a kill."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import binomtest

from wayword.core.action import Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.registry import load
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.houses import Houses
from wayword.metrics.scoring import score
from wayword.metrics.tours import tour_ndtw, tours_of
from wayword.runs import Plan, run
from wayword.runs.opening import open_dataset
from wayword.runs.record import RunFolder
from wayword.runs.tours import report

pytestmark = pytest.mark.usefixtures("shared_data")
PLAYER = '''
"""Reads MapGPT's prompts and nothing else: goes to the place whose note names the goal, else to the
nearest place not visited. Falls silent at its stop number ``PLAYER_STOPS``."""
import itertools, os, re, time
from collections import deque
from wayword.models.scripted import ScriptedModel

stops = itertools.count(1)


def answer(prompt, sampling):
    answered = choose(prompt)
    if answered.endswith("stop") and str(next(stops)) == os.environ.get("PLAYER_STOPS"):
        time.sleep(600)  # until it is killed
    return answered


def choose(prompt):
    text = str(prompt[-1].content)
    goal = text.partition("\\n")[0].rpartition(" the ")[2].rstrip(".")
    around = text.rpartition("You are at place ")[2]
    near = re.findall(rf"\\b{goal} \\([^()]*?(\\d+\\.\\d) m\\)", around)
    if any(float(metres) < 2.0 for metres in near):
        return "Thought: there\\nAction: stop"
    here = int(re.match(r"\\d+", around).group())
    links = {
        int(place): [*map(int, listed.split(", "))]
        for place, listed in re.findall(r"(?m)^place (\\d+) \\(.*\\) leads to: ([\\d, ]+)$", text)
    }
    noted = re.findall(rf"(?m)^place (\\d+): (?:\\w+ )?{goal}\\b", text)
    noted = noted or re.findall(rf"(?m)^place (\\d+): .*\\b{goal}\\b", text)
    goals = set(map(int, noted)) or {n for near in links.values() for n in near} - set(links)
    queue, first = deque([here]), {here: here}
    while queue:
        place = queue.popleft()
        if place in goals and place == here:
            return "Thought: there\\nAction: stop"
        if place in goals:
            return f"Thought: on\\nAction: goto[place {first[place]}]"
        for after in links.get(place, ()):
            if after not in first:
                first[after] = after if place == here else first[place]
                queue.append(after)
    return "Thought: lost\\nAction: stop"


class Player(ScriptedModel):
    def __init__(self, name, settings=None):
        super().__init__("player", answers=answer)

model = Player
'''

HOUSES = {"houses": 16, "episodes": 192, "length": 6}
"""One tour of twelve episodes in each house."""


@pytest.fixture
def player(tmp_path: Path) -> str:
    path = tmp_path / "player.py"
    path.write_text(PLAYER, encoding="utf-8")
    return f"{path}:x"


def plan(player: str, out: Path, remember: Any = "scene", **dataset: int) -> Plan:
    settings = {"decoding": "free", "context": 100_000, "dataset": dataset or HOUSES}
    return Plan(
        "mapgpt", "houses", player, settings, remember=remember, first=True, out=out
    )


def differences(text: str) -> list[dict[str, dict[str, float]]]:
    """Of each comparison in a report, the metrics by key."""
    return [
        {line["metric"]: line for line in each["metrics"]}
        for each in json.loads(text)["comparisons"]
    ]


@pytest.mark.timeout(300)
def test_who_remembers_gains_over_a_tour_and_who_forgets_does_not(
    player: str, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    forgot = tmp_path / "forgot"
    run(plan(player, kept))
    run(plan(player, forgot, ""))
    written = report(kept, forgot, form="json")
    kept_halves, forgot_halves, first_half, second_half, gains = differences(
        written.text
    )
    for key in ("sr", "spl", "ndtw"):
        assert kept_halves[key]["n"] == 16
        # The interval over 16 tours is too wide for a gain of 0.2 (a gain of 0.3 would be found),
        # but gains outnumber losses by more than chance.
        assert kept_halves[key]["difference"] > 0.1, (key, kept_halves[key])
        gained = kept_halves[key]["wins"]
        changed = gained + kept_halves[key]["losses"]
        assert binomtest(int(gained), int(changed)).pvalue < 0.05, kept_halves[key]
        assert gains[key]["n"] == 16
        assert gains[key]["difference"] == pytest.approx(
            kept_halves[key]["difference"] - forgot_halves[key]["difference"]
        )
        assert forgot_halves[key]["low"] < 0.0 < forgot_halves[key]["high"], (
            forgot_halves[key]
        )
        assert second_half[key]["n"] == 96
        assert second_half[key]["low"] > 0.0
        assert second_half[key]["difference"] > first_half[key]["difference"]
    assert written.notices[0] == "16 tours with 192 episodes"
    means = [
        float(line.split("t-nDTW % ")[1].split()[0])
        for line in written.notices
        if "t-nDTW % " in line
    ]
    assert means[0] > 2 * means[1]


@pytest.mark.timeout(300)
def test_frontier_llm_goes_to_what_it_has_seen_before(tmp_path: Path) -> None:
    settings = {
        "grounding": "perfect",
        "scene": "perfect",
        "dataset": {"homes": 1, "episodes": 8, "rooms": 3},
    }
    for out, remember in (("kept", "scene"), ("forgot", "")):
        run(Plan("frontier_llm", "apartments", "scripted:first", settings, remember=remember,  # type: ignore[arg-type]
                 out=tmp_path / out))  # fmt: skip
    written = report(
        tmp_path / "kept",
        tmp_path / "forgot",
        ["success_challenge", "steps"],
        form="json",
    )
    _, _, first_half, second_half, _ = differences(written.text)
    assert first_half["steps"]["difference"] == 0.0
    assert second_half["steps"]["difference"] < 0.0
    assert second_half["success_challenge"]["second"] == 1.0


def actions(path: Path) -> dict[str, list[str]]:
    return {
        record.episode_id: [
            str(action) for action in record.trajectory.actions("agent")
        ]
        for record in RunFolder.read(path).records()
    }


def test_a_killed_run_resumes_with_its_memory(player: str, tmp_path: Path) -> None:
    """Each episode takes the actions of an uninterrupted run, and none is asked for twice."""
    small = {"houses": 2, "episodes": 16, "length": 6}
    run(plan(player, full := tmp_path / "whole", **small))
    broken = tmp_path / "broken"
    command = [
        *(
            sys.executable,
            "-m",
            "wayword",
            "run",
            "mapgpt",
            "--on",
            "houses",
            "--model",
            player,
        ),
        *(
            "--remember",
            "scene",
            "--first",
            "--out",
            str(broken),
            "--set",
            "decoding=free",
        ),
        *("--set", "context=100000"),
        *(
            part
            for key, value in small.items()
            for part in ("--set", f"dataset.{key}={value}")
        ),
    ]
    # Two houses are played at once: the latest episodes may not be on the disk at that stop.
    for enough, last_stop in ((3, 5), (9, 8)):
        stops = {"PLAYER_STOPS": str(last_stop)}
        running = subprocess.Popen(
            command, env={**os.environ, **stops}, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while (
            not (broken / "run.json").exists()
            or len(RunFolder.read(broken).index) < enough
        ):
            assert running.poll() is None, "the run ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
        running.wait()
    before = len(RunFolder.read(broken).index)
    result = run(plan(player, broken, **small))
    assert (result.resumed, result.outcome.finished) == (before, 16 - before)
    assert 9 <= before < 16
    assert actions(broken) == actions(full)


CHAIN = '''
"""Stops at once, and notes the episodes that it remembers; fails in the one named in ``fail``."""
from pathlib import Path
from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent

class Chain(Agent):
    earlier = ()

    def remember(self, earlier):
        self.earlier = (*earlier.earlier, earlier.id)

    async def begin(self, episode):
        self.id = episode.id
        self.toolkit.note("chain", earlier=list(self.earlier))

    async def act(self, observation, space):
        if self.id in (Path(__file__).parent / "fail").read_text():
            raise RuntimeError("planned")
        return Decision(STOP)

agent = Chain
'''


def test_a_failed_episode_leaves_no_memory_and_is_played_again_at_the_end(
    tmp_path: Path,
) -> None:
    agent = tmp_path / "chain.py"
    fail = tmp_path / "fail"
    agent.write_text(CHAIN, encoding="utf-8")
    dataset = {"houses": 1, "episodes": 4, "length": 6}
    ids = [
        task.episode.id for task in Houses(settings=Houses.Settings(**dataset)).tasks
    ]
    fail.write_text(ids[1], encoding="utf-8")
    chain = Plan(str(agent), "houses", settings={"dataset": dataset}, remember="scene",
                 first=True, out=tmp_path / "run")  # fmt: skip
    assert run(chain).outcome.failed == 1
    fail.write_text("", encoding="utf-8")
    assert run(chain).outcome.finished == 1
    remembered = {
        record.episode_id: record.trajectory.opening_notes[0].details["earlier"]
        for record in RunFolder.read(chain.out).records()  # type: ignore[arg-type]
    }
    order = [ids[0], ids[2], ids[3], ids[1]]
    assert remembered == {name: order[:at] for at, name in enumerate(order)}


def test_what_a_failed_episode_saw_is_in_no_later_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed halfway: the episodes around it are played as if it had not been begun."""
    cls: Any = load("agent", "mapgpt")
    settings = {"dataset": {"houses": 1, "episodes": 3, "length": 6}}
    plan = Plan("mapgpt", "houses", "scripted:first", settings, remember="scene")
    tasks = open_dataset(plan).tasks
    ids = [task.episode.id for task in tasks]
    begin, act = cls.begin, cls.act
    fails = ""

    async def started(self: Any, episode: Episode) -> None:
        self.is_to_fail = episode.id == fails
        self.acts = 0
        await begin(self, episode)

    async def acted(self: Any, observation: Any, space: Any) -> Any:
        self.acts += 1
        if self.is_to_fail and self.acts > 3:
            raise RuntimeError("planned")
        return await act(self, observation, space)

    def prompts(out: Path, failing: str, left: list[str]) -> dict[str, list[Any]]:
        nonlocal fails
        fails = failing
        done = run(replace(plan, out=out, episodes=tuple(left))).outcome
        assert (done.finished, done.failed) == (len({*left} - {fails}), bool(fails))
        found = {}
        for record in RunFolder.read(out).records():
            calls = record.trajectory.calls()
            found[record.episode_id] = [call.prompt for call in calls]
        return found

    monkeypatch.setattr(cls, "begin", started)
    monkeypatch.setattr(cls, "act", acted)
    without = prompts(tmp_path / "without", "", [ids[0], ids[2]])
    assert prompts(tmp_path / "failed", ids[1], ids) == without
    # What it would have remembered shows in prompts.
    assert prompts(tmp_path / "all", "", ids)[ids[2]] != without[ids[2]]


FATAL = '''
"""Stops at once, but in the second episode has a model that refuses all calls."""
from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent
from wayword.core.errors import ModelUnusable

class Refused(Agent):
    def remember(self, earlier):
        pass

    async def begin(self, episode):
        with open(__file__ + ".begun", "a") as file:
            file.write(f"{episode.id}\\n")

    async def act(self, observation, space):
        with open(__file__ + ".begun") as file:
            if len(file.readlines()) == 2:
                raise ModelUnusable("no credit is left")
        return Decision(STOP)

agent = Refused
'''


def test_after_a_model_has_refused_all_calls_no_tour_begins_an_episode(
    tmp_path: Path,
) -> None:
    """Neither the one in which it did, nor others."""
    agent = tmp_path / "refused.py"
    agent.write_text(FATAL, encoding="utf-8")
    settings = {"dataset": {"houses": 2, "episodes": 8, "length": 6}}
    plan = Plan(str(agent), "houses", settings=settings, remember="scene", first=True,
                concurrency=1, out=tmp_path / "run")  # fmt: skip
    outcome = run(plan).outcome
    assert (outcome.finished, outcome.unusable) == (1, "no credit is left")
    played = (tmp_path / "refused.py.begun").read_text().splitlines()
    assert len(played) == 2


@pytest.mark.parametrize("shuffle", [None, 0, 1])
def test_only_the_order_of_the_split_may_be_easier_in_the_end(
    tmp_path: Path, shuffle: int | None
) -> None:
    tree = {"dataset": {"houses": 1, "episodes": 4, "length": 6}}
    run(Plan("oracle", "houses", settings=tree, shuffle=shuffle, first=shuffle is None,
             out=tmp_path))  # fmt: skip
    (*notices,) = report(tmp_path).notices
    warned = any("in the order of the split" in notice for notice in notices)
    assert warned == (shuffle is None)


def test_the_alignment_of_tours_is_averaged_over_their_episodes(tmp_path: Path) -> None:
    """A tour of six episodes counts as three of two, in scenes of their own."""
    tree = {"houses": 2, "episodes": 12, "length": 6}
    houses = Houses(settings=Houses.Settings(**tree))
    scenes: dict[str, list[Task]] = {}
    for task in houses.tasks:
        scenes.setdefault(task.episode.scene, []).append(task)
    long, short = scenes.values()
    chosen = [*long[:6], *short[:2]]
    ids = tuple(task.episode.id for task in chosen)
    run(
        Plan("random", "houses", settings={"dataset": tree}, episodes=ids, out=tmp_path)
    )
    recorded = RunFolder.read(tmp_path)
    aligned = []
    for tasks in (long[:6], short[:2]):
        pairs = [(each, recorded.record(each.episode.id).trajectory) for each in tasks]
        aligned += [tour_ndtw(houses, pairs)] * len(tasks)
    (line,) = [each for each in report(tmp_path).notices if "t-nDTW" in each]
    assert float(line.split("t-nDTW % ")[1].split()[0]) == pytest.approx(
        100 * np.mean(aligned), abs=0.051
    )
    assert abs(aligned[0] - aligned[-1]) > 0.01, "otherwise any weights would do"


def test_tours_of_streets_have_no_alignment(tmp_path: Path) -> None:
    tree = {"dataset": {"towns": 1, "episodes": 6}}
    run(Plan("oracle", "towns", settings=tree, out=tmp_path))
    notices = report(tmp_path).notices
    assert not any("t-nDTW" in notice for notice in notices)


def test_a_tour_has_each_path_once() -> None:
    houses = Houses(settings=Houses.Settings(houses=2, episodes=18))
    tours = tours_of(houses.tasks)
    assert len(set(tours.values())) == 6
    assert {
        name.rpartition("_")[2] for name, (_, number) in tours.items() if number == 1
    } == {"1"}


class Line:
    """Five places in a row, 2 m apart."""

    index: ClassVar = {name: number for number, name in enumerate("abcde")}
    distances = 2.0 * np.abs(np.subtract.outer(np.arange(5), np.arange(5)))

    def graph(self, scene: str) -> Line:
        return self


def walked(reference: str, walk: str) -> tuple[Task, Trajectory]:
    task = Task(Episode("1", "", "line", {}), PathReference("1", tuple(reference)))
    trajectory = Trajectory("1", start={"agent": {"viewpoint": walk[0]}})
    for place in walk[1:]:
        trajectory.steps.append(
            Step(
                "agent",
                None,
                Decision(Action("goto", (place,))),
                Feedback(),
                {"viewpoint": place},
            )  # type: ignore[arg-type]
        )
    return task, trajectory


@pytest.mark.parametrize(
    ("walks", "expected"),
    [
        ([("abc", "abc"), ("cde", "cde")], 1.0),
        ([("abc", "aab"), ("cde", "cde")], math.exp(-2 / 18)),
        # b would match a, but the second reference's start matches only the walk's
        ([("abc", "abc"), ("abc", "abbc")], 1.0),
        ([("abc", "abc"), ("bcd", "babcd")], math.exp(-(4 + 2) / 18)),
        # two places cannot take four with both ends fixed
        ([("abc", "abc"), ("cb", "cdcb"), ("bcd", "bcd")], math.exp(-2 / 24)),
    ],
)
def test_tour_ndtw(walks: list[tuple[str, str]], expected: float) -> None:
    assert tour_ndtw(Line(), [walked(*walk) for walk in walks]) == pytest.approx(
        expected
    )


def test_the_tour_of_one_episode_has_its_ndtw(player: str, tmp_path: Path) -> None:
    run(plan(player, tmp_path / "run", houses=1, episodes=3))
    houses = Houses(settings=Houses.Settings(houses=1, episodes=3))
    for task, record in zip(
        houses.tasks, RunFolder.read(tmp_path / "run").records(), strict=True
    ):
        (scores,) = score(houses, [(task, record.trajectory)])
        assert tour_ndtw(houses, [(task, record.trajectory)]) == pytest.approx(
            scores["ndtw"]
        )


def test_refusals(player: str, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="random keeps nothing between episodes; remove remember"
    ):
        run(Plan("random", "houses", remember="scene", limit=2, out=tmp_path / "a"))
    with pytest.raises(UsageError, match=r"from their start; remove --shard$"):
        replace(plan(player, tmp_path), shard="1/2")
    run(Plan("random", "houses", limit=2, out=tmp_path / "b"))
    with pytest.raises(UsageError, match="no scene has two finished episodes"):
        report(tmp_path / "b")
    with pytest.raises(UsageError, match="a run cannot be compared with itself"):
        report(tmp_path / "b", tmp_path / "b")


def test_tours_that_the_other_run_lacks_are_left_out(tmp_path: Path) -> None:
    tree = {"houses": 2, "episodes": 8}
    tasks = Houses(settings=Houses.Settings(**tree)).tasks
    scene = tasks[0].episode.scene
    ids = tuple(t.episode.id for t in tasks if t.episode.scene == scene)
    whole, part = (tmp_path / name for name in ("all", "part"))
    run(Plan("oracle", "houses", settings={"dataset": tree}, out=whole))
    run(Plan("random", "houses", settings={"dataset": tree}, episodes=ids, out=part))
    written = report(whole, part, form="json")
    *_, gains = json.loads(written.text)["comparisons"]
    assert (gains["shared"], gains["only_first"], gains["only_second"]) == (1, 0, 1)
    assert any("the runs also differ in: agent" in each for each in written.notices)
    assert sum("t-nDTW" in each for each in written.notices) == 2
