"""The contracts of agents and worlds name each broken promise."""

from __future__ import annotations

import itertools
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import line_world, small_cave
from wayword.core import registry
from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.agent import Agent
from wayword.core.dataset import Dataset
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.trajectory import Verdict
from wayword.core.world import Feedback, Observation
from wayword.datasets.houses import Houses
from wayword.envs import make
from wayword.runs import Plan, run
from wayword.testing import check_agent, check_dataset, check_world
from wayword.worlds.indoor.world import IndoorWorld


class Stops(Agent):
    learns = True

    def __init__(self, settings: Any, toolkit: Any) -> None:
        pass

    async def begin(self, episode: Episode) -> None:
        pass

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        return Decision(STOP)

    async def reflect(self, verdict: Verdict) -> bool:
        raise ValueError("no lesson in the answer")


def test_a_learning_agent_reflects_on_noise() -> None:
    with pytest.raises(AssertionError, match="no lesson in the answer"):
        check_agent(Stops, Houses())


class CountsRefusals(IndoorWorld):
    """A refused action changes a list of the state in place."""

    def reset(self, episode: Episode) -> None:
        super().reset(episode)
        self._tried: list[str] = []

    def step(self, actor: str, action: Action) -> Feedback:
        self._tried.append(action.name)
        return super().step(actor, action)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "tried": self._tried}


def test_a_refused_action_changes_no_list_of_the_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = Houses()
    graph = dataset.graph(dataset.tasks[0].episode.scene)
    monkeypatch.setattr(dataset, "world", lambda episode: CountsRefusals(graph))
    with pytest.raises(AssertionError, match="changed the state"):
        check_world(dataset, episodes=1)


# Contracts of user's files: the first rule that is broken, with file and line.

BROKEN_WORLDS = {
    "a start that is drawn": (
        "self.room = \"hall\"", "self.room = next(ROOMS)",
        "w.py:@reset: reset is not repeatable at the start, in two worlds of one episode: room is",
    ),
    "a step that is drawn": (
        "(self.room,) = action.arguments", "self.room = next(ROOMS)",
        "w.py:@step: step is not repeatable after go[",
    ),
    "an observation that is drawn": (
        "return Seen(self.room", "return Seen(next(ROOMS)",
        "w.py:@observe: observe is not repeatable at the start, when it is called twice: room is",
    ),
    "an observation that changes the world": (
        "return Seen(self.room", "self.said = 'tower'; return Seen(self.room",
        "w.py:@observe: observe changes the state: said is '' and 'tower'; only reset and step",
    ),
    "actions that change the world": (
        "return ActionSpace(", "self.said += 'a'; return ActionSpace(",
        "w.py:@action_space: action_space changes the state: said is '' and 'aa'; only",
    ),
    "no observation": (
        "return Seen(self.room, lamp)", "return None",
        "w.py:@observe: observe must return an instance of a subclass of Observation, got None",
    ),
    "a step without feedback": (
        "return Feedback()", "return None",
        "w.py:@step: step must return Feedback(…), got None",
    ),
    "a state that is no mapping": (
        'return {"room": self.room, "has_lamp": self.has_lamp, "said": self.said}', "return 3",
        "w.py:@state: state must return a dict, got 3",
    ),
    "a state with a set": (
        '"said": self.said', '"said": {1}',
        "w.py:@state: state must hold JSON values: Object of type set is not JSON serializable",
    ),
    "a judge that answers in words": (
        'return end["has_lamp"] and', 'return "yes" and str(',
        "w.py:@succeeded: succeeded must return True, False or None, got ",
    ),
    "a misspelled judge": (
        "def succeeded(", "def succeded(",
        "w.py:@Caves: no success metric: Caves defines no succeeded(task, trajectory); did you "
        "mean it by 'succeded'?",
    ),
    "a judge that raises": (
        'end["has_lamp"]', 'end["has_lmp"]', "scoring: KeyError: 'has_lmp' (w.py:@lmp)",
    ),
    "an action that is not refused": (
        "raise ValueError(", "print(", "w.py:@step: goto[no such place] is not legal, but",
    ),
    "an action that is looked up": (
        "raise ValueError(", "raise KeyError(action.name) if action.name == 'goto' else (",
        "w.py:@step: step must raise ValueError for an action that action_space does not list; "
        "tried goto[no such place], got KeyError: 'goto' (w.py:",
    ),
    "a stop that does not end": (
        "return self.stopped", "return False", "w.py:@done: agent is not done after its stop",
    ),
    "no world": (
        "return Cave()", "return Cave", "w.py:@world: world must return a World, got <class",
    ),
    "no tasks": ("tasks = (", "tasks = () and (", "w.py:@Caves: Caves.tasks is empty; give"),
}  # fmt: skip
PLACES = {
    "lmp": "has_lmp", "Caves": "class Caves", "world": "def world", "step": "def step",
    "reset": "def reset", "observe": "def observe", "action_space": "def action_space",
    "state": "def state", "succeeded": "def succeeded", "done": "def done",
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_WORLDS)
def test_a_broken_promise_of_a_world_is_one_line_with_its_place(
    name: str, tmp_path: Path
) -> None:
    old, new, expected = BROKEN_WORLDS[name]
    text = Path(small_cave.__file__).read_text()
    assert old in text
    text = text.replace(old, new)
    if new.startswith('return "yes"'):
        text = text.replace("== WORDS\n", "== WORDS)\n")
    text += "\nimport itertools\nROOMS = itertools.cycle(DOORS)\ndataset = Caves\n"
    (tmp_path / "w.py").write_text(text)
    for place, words in PLACES.items():
        lines = text.splitlines()
        number = next((n for n, each in enumerate(lines, 1) if words in each), 0)
        expected = expected.replace(f"@{place}:", f"{number}:")
        expected = expected.replace(f"@{place})", f"{number})")
    dataset = registry.load("dataset", str(tmp_path / "w.py"))()
    with pytest.raises(AssertionError) as broken:
        check_world(dataset)
    shown = str(broken.value).replace(f"{tmp_path}/", "")
    assert shown.startswith(expected), shown
    assert "\n" not in shown
    assert broken.value.__cause__ is None or name == "a judge that raises"


def test_an_intact_world_keeps_its_promises() -> None:
    check_world(small_cave.Caves())


SHARED_SHELF = """
SHELF = {"lamp": 1}


class Shelf(Cave):
    def observe(self, actor):
        return Seen(self.room, f"{SHELF}")

    def step(self, actor, action):
        feedback = super().step(actor, action)
        if action.name == "take":
            SHELF.pop("lamp", None)
        return feedback
"""
SOLVED = """

class Solved(Caves):
    solutions = ("expert",)
    WORLD_LINE

    def make_plan(self, task, world, actor, kind):
        for action in PLAN:
            yield action
"""
GO = "Action('go', ('tower',)), Action('go', ('roof',)), Action('take', ('lamp',))"


def solved(folder: Path, plan: str, before: str = "", world: str = "") -> Dataset:
    """The cave in a user's file, with an expert and what ``before`` defines."""
    text = Path(small_cave.__file__).read_text() + before
    text += SOLVED.replace("PLAN", f"({plan}, STOP)").replace("WORLD_LINE", world)
    (folder / "w.py").write_text(f"{text}\ndataset = Solved\n")
    dataset: Dataset = registry.load("dataset", str(folder / "w.py"))()
    return dataset


def test_the_expert_s_actions_are_legal(tmp_path: Path) -> None:
    check_world(solved(tmp_path, GO))
    with pytest.raises(AssertionError) as broken:
        check_world(solved(tmp_path, "Action('go', ('tower',)), Action('fly')"))
    assert re.search(
        r"w.py:\d+: the expert's action is rejected after go\[tower\]: fly is not a legal action",
        str(broken.value),
    )


STOPPING = """

class Stopping(Cave):
    def step(self, actor, action):
        if action.name == "take":
            next(iter(()))
        return super().step(actor, action)
"""


def test_an_error_of_a_step_is_not_the_end_of_a_plan(tmp_path: Path) -> None:
    world = "def world(self, episode): return Stopping()"
    dataset = solved(tmp_path, GO, STOPPING, world)
    with pytest.raises(AssertionError, match=r"StopIteration.*w.py:\d+"):
        check_dataset(dataset)
    with pytest.raises(RuntimeError, match="StopIteration"):
        dataset.solve(dataset.tasks[0], "expert")


@pytest.mark.parametrize(
    ("actions", "problem"), [("", ""), ("yield Action('go', ('tower',))", "too late")]
)
def test_only_a_plan_without_an_action_may_refuse_its_task(
    actions: str, problem: str, tmp_path: Path
) -> None:
    text = Path(small_cave.__file__).read_text() + SOLVED.replace("WORLD_LINE", "")
    plan = "for action in PLAN:\n            yield action"
    refusal = f"{actions}\n        if True: raise UsageError('too late')\n        yield"
    text = text.replace(plan, refusal)
    text += "\nfrom wayword.core.errors import UsageError\ndataset = Solved\n"
    (tmp_path / "w.py").write_text(text)
    dataset = registry.load("dataset", str(tmp_path / "w.py"))()
    context: Any = nullcontext()
    if problem:
        context = pytest.raises(AssertionError, match=problem)
    with context:
        check_dataset(dataset)


def test_what_an_episode_changed_is_not_left_to_the_next(tmp_path: Path) -> None:
    world = "def world(self, episode): return Shelf()"
    # Two random steps do not reach the lamp, the expert's do.
    with pytest.raises(AssertionError) as broken:
        check_world(solved(tmp_path, GO, SHARED_SHELF, world), steps=2)
    assert re.search(
        r"w.py:\d+: an episode starts otherwise once it was played: the observation is .*; reset "
        r"must make a copy of what step changes",
        str(broken.value),
    )


def test_worlds_share_nothing_that_a_step_changes(tmp_path: Path) -> None:
    shared = """
VISITS = []


class Shelf(Cave):
    def step(self, actor, action):
        feedback = super().step(actor, action)
        VISITS.append(action.name)
        return feedback

    def state(self):
        return {**super().state(), "visits": list(VISITS)}
"""
    world = "def world(self, episode): return Shelf()"
    expected = r"w.py:\d+: go\[.*\] in one world changes another: visits is"
    with pytest.raises(AssertionError, match=expected):
        check_world(solved(tmp_path, GO, shared, world))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("lambda seen: (SelfState(), '')|lambda seen, perceiver: seen.missing",
         r"AttributeError: 'Seen' object has no attribute 'missing' \(.*w.py:\d+\)"),
        ("lambda seen: (SelfState(), '')|lambda seen, perceiver: None",
         r"w.py:\d+: around of the verbalizer must return text, got None"),
        ("lambda seen: SelfState()|lambda seen, perceiver: ''",
         r"w.py:\d+: self_state of the verbalizer must return \(SelfState\(…\), TEXT\), the"),
    ],
)  # fmt: skip
def test_the_verbalizer_is_read(words: str, expected: str, tmp_path: Path) -> None:
    state, around = words.split("|")
    text = (
        Path(small_cave.__file__).read_text()
        + f"""
from wayword.verbalize.generic import SelfState, Verbalizer

around = {around}
words = Verbalizer("other", {state}, around, lambda feedback: "Done.")
Seen.family = Caves.family = Family("cave", verbalizer=words)
dataset = Caves
"""
    )
    (tmp_path / "w.py").write_text(text)
    with pytest.raises(AssertionError) as broken:
        check_world(registry.load("dataset", str(tmp_path / "w.py"))())
    assert re.search(expected, str(broken.value)), broken.value


SCORER = """

from wayword.core.metric import Metric


class Scorer:
    metrics = (
        Metric("delivered", "Delivered", "rate", "higher", "delivered"),
        Metric("scans", "Scans", "count", "lower", "scans"),
    )

    def score(self, dataset, pairs):
        return [{"delivered": 0.0, "scans": 2.0} for _ in pairs]


Caves.family = Family("cave", success="delivered", scorer=Scorer())
dataset = Caves
"""
NAMES = {
    'success="delivered"|success="deliverd"':
        "family 'cave' names success 'deliverd'; did you mean 'delivered'?",
    '"scans": 2.0|"scan": 2.0':
        "score gives 'scan', which is not in its metrics; did you mean 'scans'?",
}  # fmt: skip


@pytest.mark.parametrize("change", NAMES)
def test_names_of_metrics_are_compared(change: str, tmp_path: Path) -> None:
    file = tmp_path / "w.py"
    source = Path(small_cave.__file__).read_text()
    file.write_text(source + SCORER)
    check_world(registry.load("dataset", str(file))())
    file.write_text(source + SCORER.replace(*change.split("|")))
    expected = rf"w.py:\d+: {re.escape(NAMES[change])}"
    with pytest.raises(AssertionError, match=expected):
        check_world(registry.load("dataset", str(file))())
    if "success" in change:
        with pytest.raises(AssertionError, match=expected):
            check_dataset(registry.load("dataset", str(file))())
        with pytest.raises(UsageError, match=expected):
            make(str(file))
        with pytest.raises(UsageError, match=expected):
            run(Plan("random", str(file), out=tmp_path / "run"))
    else:
        (notice,) = run(Plan("random", str(file), out=tmp_path / "run")).notices
        assert re.search(expected, notice), notice


class Pops(Stops):
    """Takes what it needs out of the start that it is given."""

    async def begin(self, episode: Episode) -> None:
        self.heading = episode.start.pop("heading", 0.0)  # type: ignore[attr-defined]


class Copies(Pops):
    async def begin(self, episode: Episode) -> None:
        await super().begin(replace(episode, start=dict(episode.start)))


def test_an_agent_leaves_the_start_of_its_episode_as_it_is() -> None:
    with pytest.raises(AssertionError) as broken:
        check_agent(Pops, Houses())
    assert re.search(
        r"test_contracts.py:\d+: begin changes episode.start, which all .*: heading is [\d.]+ and "
        "None; copy it",
        str(broken.value),
    )
    Copies.learns = False
    check_agent(Copies, Houses())


class Draws(Stops):
    """Draws from a generator that has no seed."""

    learns = False
    drawn = itertools.count()

    async def act(self, observation: Observation, space: ActionSpace) -> Decision:
        return Decision(STOP, thought=str(next(self.drawn)))


def test_an_agent_that_is_not_repeatable_is_named_with_its_step() -> None:
    with pytest.raises(
        AssertionError,
        match=r"test_contracts.py:\d+: two runs with the same seed and answers differ at step 1; "
        r"draw random numbers from self.toolkit.rng alone",
    ):
        check_agent(Draws, Houses())


@pytest.mark.parametrize(
    ("pose", "problem"),
    [
        ('{"x": "a", "y": 1}', "x must be a number, got 'a'"),
        ('{"heading": "north"}', "heading must be a number, got 'north'"),
    ],
)
def test_a_pose_that_no_map_can_draw_is_named(
    pose: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "line.py"
    method = f"    def pose(self, actor):\n        return {pose}\n\n    def done("
    file.write_text(line_world.WORLD.replace("    def done(", method))
    with pytest.raises(AssertionError, match=rf"line.py:\d+: pose: {problem}"):
        check_world(registry.load("dataset", str(file))())
