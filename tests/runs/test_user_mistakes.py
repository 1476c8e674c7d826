"""Mistakes in a user's world or agent are one line with the user's file and line."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers.line_world import WORLD
from wayword.core.errors import RecordingError, UsageError, WaywordError
from wayword.runs import Plan, RunFolder, run
from wayword.runs.reports import table

AGENT = """\
from wayword.core.action import STOP, Action, Decision
from wayword.core.agent import Agent


class Mine(Agent):
    needs_model = True

    async def begin(self, episode):
        self.left = 3

    async def act(self, observation, space):
        self.left -= 1
        return Decision(STOP)


agent = Mine
"""
LINES = {
    **{name: WORLD.splitlines().index(text) + 1 for name, text in {
        "Line": "class Line(World):", "Lines": "class Lines(Dataset):",
        "action_space": "    def action_space(self, actor):",
        "state": "    def state(self):", "succeeded": "    def succeeded(self, task, trajectory):",
        "observe": "    def observe(self, actor):",
        "step": "    def step(self, actor, action):", "world": "    def world(self, episode):",
        "judged": "        return task.episode.id == f\"to_{trajectory.state['place']}\"",
        "moved": "        self.stopped = action == STOP",
        "done": "    def done(self, actor):",
        "tasks": "    tasks = [task(number) for number in (1, 2, 3)]",
    }.items()},
    **{name: AGENT.splitlines().index(text) + 1 for name, text in {
        "Mine": "class Mine(Agent):", "begin": "    async def begin(self, episode):",
        "act": "    async def act(self, observation, space):", "left": "        self.left -= 1",
        "assigned": "agent = Mine",
    }.items()},
}  # fmt: skip
"""Lines of the intact files, by what stands there; ``@NAME`` in an expected text is its number."""


class Mistake(NamedTuple):
    """A change of a file, and the line that follows from it."""

    old: str
    new: str
    line: str


WORLDS = {
    "no family": Mistake(
        '    family = Family("line")\n', "", "line.py:@Lines: Lines has no family; set family ="
    ),
    "a family that is text": Mistake(
        'Family("line")', '"line"', "line.py:@Lines: Lines has the family 'line'; set family ="
    ),
    "the name of a shipped family": Mistake(
        'Family("line")', '"indoor"', "has the family 'indoor'; set family = indoor.family (from "
        "wayword.worlds import indoor)",
    ),
    "no tasks": Mistake(
        "    tasks = [", "    others = [", "line.py:@Lines: Lines has no tasks; set tasks ="
    ),
    "tasks that raise": Mistake(
        "    tasks = [", "    tasks = property(lambda self: self.nothing); others = [",
        "AttributeError: 'Lines' object has no attribute 'nothing' (D/line.py:@tasks)",
    ),
    "empty tasks": Mistake(
        "(1, 2, 3)]", "()]", "line.py:@Lines: Lines.tasks is empty; give at least one"
    ),
    "tasks that are episodes": Mistake(
        "return Task(episode, Reference(episode.id))", "return episode",
        "line.py:@Lines: Lines.tasks must hold Task(…), got Episode(id='to_1'",
    ),
    "an id twice": Mistake(
        'f"to_{number}"', '"to"', "line.py:@Lines: Lines: two tasks have the id 'to'"
    ),
    "an id that is a number": Mistake(
        'Episode(f"to_{number}"', "Episode(number",
        "line.py:@Lines: Lines: an episode's id must be text, got 1",
    ),
    "no state": Mistake(
        "def state(", "def sate(",
        "scoring: KeyError: 'place' (D/line.py:@judged): the world's state is empty; define "
        "state(self) in it",
    ),
    "a judge that raises": Mistake(
        "return task.episode.id ==", "return 1 / 0 ==",
        "scoring: ZeroDivisionError: division by zero (D/line.py:@judged)",
    ),
    "no world": Mistake(
        "    def world(", "    def word(", "line.py:@Lines: Lines does not define world"
    ),
    "a class for a world": Mistake(
        "return Line()", "return Line", "line.py:@world: world must return a World, got <class"
    ),
    "no step": Mistake(
        "    def step(", "    def stop(",
        "line.py:@Line: Line does not define step; did you mean it by 'stop'?",
    ),
    "a done that is never true": Mistake(
        "        return self.stopped", "        return False",
        "line.py:@world: 3 episodes of 3 ended at the limit of 4 steps: no agent stopped, or "
        "done() stays False",
    ),
    "a step without feedback": Mistake(
        "        return Feedback()\n", "", "line.py:@step: step must return Feedback(…)"
    ),
    "a step that raises": Mistake(
        "self.stopped = action == STOP", "self.stopped = self.no",
        "AttributeError: 'Line' object has no attribute 'no' (D/line.py:@moved)",
    ),
    "actions in a list": Mistake(
        'ActionSpace((Action("right"), STOP))', "[STOP]",
        "line.py:@action_space: action_space must return ActionSpace((Action(…), …)), got [",
    ),
    "actions that are text": Mistake(
        '(Action("right"), STOP)', '("right", "stop")',
        "line.py:@action_space: action_space must return ActionSpace((Action(…), …)), got Act",
    ),
    "arguments that are numbers": Mistake(
        'Action("right")', 'Action("right", (1,))',
        "line.py:@action_space: the arguments of an action are a tuple of texts, got "
        "Action(name='right', arguments=(1,)); write Action('right', ('1',))",
    ),
    "arguments of a later action that are numbers": Mistake(
        '(Action("right"), STOP)', '(Action("right"), STOP, Action("take", (1,)))',
        "line.py:@action_space: the arguments of an action are a tuple of texts, got "
        "Action(name='take', ",
    ),
    "arguments that are text": Mistake(
        '(Action("right"), STOP)', '(Action("right"), STOP, Action("go", "kitchen"))',
        "line.py:@action_space: the arguments of an action are a tuple of texts, got "
        "Action(name='go', arguments='kitchen'); write "
        "Action('go', ('kitchen',))",
    ),
    "no actions": Mistake(
        '(Action("right"), STOP)', "()",
        "line.py:@action_space: action_space lists no action although done is False; list STOP",
    ),
    "done without its actor": Mistake(
        "def done(self, actor)", "def done(self)",
        "line.py:@done: Line.done must take (self, actor)",
    ),
    "a misspelled judge": Mistake(
        "def succeeded(", "def succeded(",
        "note: no success metric: Lines defines no succeeded(task, trajectory); did you mean it by "
        "'succeded'?",
    ),
    "no judge": Mistake(
        "def succeeded(", "def judged(",
        "note: no success metric: Lines defines no succeeded(task, trajectory)",
    ),
    "a judge that returns nothing": Mistake(
        "return task.episode.id ==", "task.episode.id ==",
        "note: no success metric: Lines.succeeded returns nothing; write `return` before its",
    ),
    "a judge that returns nothing on one path": Mistake(
        "return task.episode.id ==", "if trajectory.steps:\n            return task.episode.id ==",
        "line.py:@succeeded: succeeded returns nothing where it ends at line ",
    ),
    "a done that returns nothing": Mistake(
        "return self.stopped", "self.stopped",
        "line.py:@done: done must return True or False, got None",
    ),
    "a limit in words": Mistake(
        "    family = F", "    max_steps = '20'\n\n    family = F",
        "line.py:@Lines: Lines.max_steps must be a whole number, got '20'",
    ),
    "a state that is no JSON": Mistake(
        'return {"place": self.place}', 'return {"place": self.place, "seen": {1}}',
        "line.py:@state: state must hold JSON values: Object of type set is not JSON",
    ),
    "a state that is no mapping": Mistake(
        'return {"place": self.place}', "return self.place",
        "line.py:@state: state must return a dict, got ",
    ),
    "an instruction that is none": Mistake(
        'f"Walk to place {number}, then stop."', "None",
        "line.py:@Lines: Lines: the instruction of 'to_1' must be text, got None",
    ),
    "a judge that answers in words": Mistake(
        """task.episode.id == f"to_{trajectory.state['place']}\"""", '"yes"',
        "line.py:@succeeded: succeeded must return True, False or None, got 'yes'",
    ),
    "a judge that counts": Mistake(
        """task.episode.id == f"to_{trajectory.state['place']}\"""", "2",
        "line.py:@succeeded: succeeded must return True, False or None, got 2",
    ),
    "an observation in a dict": Mistake(
        "return Place(self.place)", "return {'place': self.place}",
        "line.py:@observe: observe must return an instance of a subclass of Observation, got {",
    ),
    "a step without its action": Mistake(
        "def step(self, actor, action)", "def step(self, action)",
        "line.py:@step: Line.step must take (self, actor, action)",
    ),
    "an own constructor": Mistake(
        "    family = F", "    def __init__(self): pass\n\n    family = F",
        "Lines.__init__ must take (self, split, folder, settings)",
    ),
    "a helper with the name of a method": Mistake(
        "    def world(", "    def plan(self, task, world): pass\n\n    def world(",
        "Lines.plan must take (self, task, world, actor, kind), as it overrides Dataset.plan; "
        "rename it if that is not meant",
    ),
    "an object for the class": Mistake(
        "dataset = Lines", "dataset = Lines()",
        "line.py: write 'dataset = Lines', without parentheses",
    ),
    "a step that is a coroutine": Mistake(
        "    def step(", "    async def step(",
        "line.py:@step: Line.step must be declared with `def`, not `async def`",
    ),
    "a judge that is a coroutine": Mistake(
        "def succeeded(", "async def succeeded(",
        "line.py:@succeeded: Lines.succeeded must be declared with `def`, not `async def`",
    ),
    "an observation that moves": Mistake(
        "return Place(self.place)", "self.place += 1; return Place(self.place)",
        "line.py:@observe: observe changes the state: place is 0 and 1; only reset and step may",
    ),
    "feedback in words": Mistake(
        "return Feedback()", "return Feedback('ok', 'moved')",
        'line.py:@step: step must return Feedback("ok", {"KEY": VALUE}): a text, then a mapping, '
        "got Feedback(status='ok', details='moved')",
    ),
    "actions of a generator": Mistake(
        '((Action("right"), STOP))', '(each for each in (Action("right"), STOP))',
        "line.py:@action_space: action_space must return ActionSpace((Action(…), …)), got ",
    ),
    "a name that is a number": Mistake(
        'Action("right"), STOP', "Action(1), STOP",
        "line.py:@action_space: the name of an action must be text, got Action(name=1",
    ),
    "an observation that is no dataclass": Mistake(
        "@dataclass(frozen=True)\nclass Place(Observation):\n    number: int\n",
        "\n\nclass Place(Observation):\n    def __init__(self, number): self.number = number\n",
        "; write @dataclass(frozen=True) above the class (D/line.py:",
    ),
    "a pose that is a number": Mistake(
        "    def state(", "    def pose(self, actor): return 1\n\n    def state(",
        "line.py:@state: pose must return a dict, got 1",
    ),
    "clusters in words": Mistake(
        "    family = F", "    clusters = 'independent'\n\n    family = F",
        "line.py:@Lines: Lines.clusters must be INDEPENDENT or Clusters(…) (from wayword.core.data",
    ),
    "files in a list": Mistake(
        "    family = F", "    files = ['tasks.json']\n\n    family = F",
        "line.py:@Lines: Lines.files must be a dict of paths",
    ),
    "actors of the episode alone": Mistake(
        '"line", {})', '"line", {}, ("helper", "walker"))',
        "line.py:@Line: episode.actors is ('helper', 'walker'), world.actors is ('agent',); they "
        "must be the same",
    ),
    "a start that is text": Mistake(
        '"line", {})', '"line", "here")',
        "line.py:@Lines: Lines: task 'to_1': episode: start must be a dict, got 'here'",
    ),
    "a goal in place of a reference": Mistake(
        "Reference(episode.id))", "number)",
        "line.py:@Lines: Lines: task 'to_1': reference must be Reference(…), got 1",
    ),
    "a limit of no step": Mistake(
        "    family = F", "    max_steps = 0\n\n    family = F",
        "line.py:@Lines: Lines.max_steps must be at least 1, got 0",
    ),
    "solutions without a plan": Mistake(
        "    family = F", "    solutions = ('expert',)\n\n    family = F",
        "line.py:@Lines: Lines.solutions is ('expert',), but it does not define make_plan(self,",
    ),
    "a reference of another episode": Mistake(
        "Reference(episode.id)", "Reference('other')",
        "line.py:@Lines: Lines: task 'to_1': its reference is of 'other'; give it the episode's",
    ),
    "no dataset": Mistake(
        "dataset = Lines", "", "line.py: the module defines no 'dataset'; end it with"
    ),
}  # fmt: skip
AGENTS = {
    "an object for the class": Mistake(
        "agent = Mine", "agent = Mine()",
        "mine.py:@assigned: TypeError: Agent.__init__() missing 2 required positional arguments: "
        "'settings' and 'toolkit'; give the class, as in 'agent = Mine', without parentheses",
    ),
    "a library that raises at the import": Mistake(
        "agent = Mine", "import json; agent = json.loads('Mine')",
        "mine.py:@assigned: JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ),
    "no agent": Mistake(
        "agent = Mine", "", "mine.py: the module defines no 'agent'; end it with"
    ),
    "no subclass": Mistake(
        "Mine(Agent)", "Mine", "mine.py: 'agent' must be a subclass of wayword.core.agent.Agent"
    ),
    "no act": Mistake(
        "def act(", "def atc(",
        "mine.py:@Mine: Mine does not define act; did you mean it by 'atc'?",
    ),
    "act without async": Mistake(
        "async def act", "def act", "mine.py:@act: Mine.act must be declared with `async def`"
    ),
    "begin without async": Mistake(
        "async def begin", "def begin", "mine.py:@begin: Mine.begin must be declared with `async"
    ),
    "act without the actions": Mistake(
        "act(self, observation, space)", "act(self, observation)",
        "mine.py:@act: Mine.act must take (self, observation, space)",
    ),
    "an own constructor": Mistake(
        "    needs_model", "    def __init__(self): pass\n\n    needs_model",
        "Mine.__init__ must take (self, settings, toolkit)",
    ),
    "an index of the actions": Mistake(
        "self.left -= 1", "space[0]",
        "'ActionSpace' object is not subscriptable; the legal actions are in space.listed",
    ),
    "a similar name of a field": Mistake(
        "self.left -= 1", "space.list",
        "'ActionSpace' object has no attribute 'list'; did you mean 'listed'? (D/mine.py:@left)",
    ),
    "learning without trials": Mistake(
        "    needs_model", "    learns = True\n\n    needs_model",
        "mine.py:@Mine: Mine.learns is True, so its Settings must have trials and verdict",
    ),
    "no decision": Mistake(
        "return Decision", "Decision", "mine.py:@act: act must return Decision(Action(…))"
    ),
    "a text for a decision": Mistake(
        "return Decision(STOP)", "return 'stop'",
        "mine.py:@act: act must return Decision(Action(…)) or a Rejection, got 'stop'",
    ),
    "a text for an action": Mistake(
        "Decision(STOP)", "Decision('stop')",
        "mine.py:@act: act must return Decision(Action(…)) or a Rejection, got Decision(action='",
    ),
    "a text for a list of arguments": Mistake(
        "Decision(STOP)", "Decision(Action('goto', 'left'))",
        "mine.py:@act: the arguments of an action are a tuple of texts, got Action(name='goto', "
        "arguments='left')",
    ),
    "a number for an argument": Mistake(
        "Decision(STOP)", "Decision(Action('goto', (1,)))",
        "mine.py:@act: the arguments of an action are a tuple of texts, got Action(name='goto', "
        "arguments=(1,))",
    ),
    "an action for an argument": Mistake(
        "Decision(STOP)", "Decision(Action('goto', (STOP,)))",
        "return the inner action itself",
    ),
    "a name from another package": Mistake(
        "from wayword.core.agent", "from wayword import STOP\nfrom wayword.core.agent",
        "cannot import name 'STOP' from 'wayword'; did you mean 'from wayword.core import STOP'?",
    ),
    "a misspelled attribute": Mistake(
        "self.left -=", "self.lft -=",
        "'Mine' object has no attribute 'lft'; did you mean 'left'? (D/mine.py:@left)",
    ),
    "a message without content": Mistake(
        "self.left -= 1", "await self.toolkit.model().complete([{'role': 'user'}])",
        'TypeError: a message is user("…") or {"role": "user", "content": "…"}, got '
        "{'role': 'user'} (D/mine.py:@left)",
    ),
    "sampling in a dict": Mistake(
        "self.left -= 1", "await self.toolkit.model().complete('?', {'max_tokens': 8})",
        "TypeError: the second argument must be Sampling(max_tokens=80), got {'max_tokens': 8} ("
        "D/mine.py:@left)",
    ),
    "settings that are no dataclass": Mistake(
        "    needs_model", "    class Settings:\n        x = 3\n\n    needs_model",
        "Mine.Settings must be a dataclass; add @dataclass(frozen=True)",
    ),
    "settings in a dict": Mistake(
        "    needs_model", "    Settings = {'x': 3}\n\n    needs_model",
        "mine.py:@Mine: Mine.Settings must be a dataclass; add @dataclass(frozen=True), got {'x'",
    ),
    "settings of any dict": Mistake(
        "    needs_model", "    Settings = dict\n\n    needs_model",
        "mine.py:@Mine: Mine.Settings must be a dataclass; add @dataclass(frozen=True), got <cla",
    ),
    "a family for a set of families": Mistake(
        "    needs_model", "    families = 'line'\n\n    needs_model",
        "mine.py:@Mine: Mine.families must be a set of names, got 'line'",
    ),
    "a thought that is a number": Mistake(
        "Decision(STOP)", "Decision(STOP, 3)", "mine.py:@act: thought must be text, got 3"
    ),
    "a fallback that is text": Mistake(
        "Decision(STOP)", "Decision(STOP, fallback_for='no')",
        "mine.py:@act: fallback_for must be a Rejection or None, got 'no'",
    ),
    "a note of a number": Mistake(
        "self.left -= 1", "self.toolkit.note(3)",
        "TypeError: the kind of a note must be text, got 3 (D/mine.py:@left)",
    ),
    "stop as a text": Mistake(
        "Decision(STOP)", "Decision('stop')",
        "fallback_for=None); write Decision(STOP)",
    ),
    "an exit": Mistake(
        "self.left -= 1", "raise SystemExit(3)", "SystemExit: 3 (D/mine.py:@left)"
    ),
    "an illegal action": Mistake(
        "Decision(STOP)", "Decision(Action('jump'))",
        "12 of 12 answers were rejected and changed nothing; 12 as illegal: jump is not a legal",
    ),
    "feedback that is a coroutine": Mistake(
        "        return Decision(STOP)",
        "        return Decision(STOP)\n\n    async def on_feedback(self, *given): pass",
        "Mine.on_feedback must be declared with `def`, not `async def`",
    ),
    "an act that yields": Mistake(
        "return Decision(STOP)", "yield Decision(STOP)",
        "mine.py:@act: Mine.act must return its answer; write `return` in place of `yield`",
    ),
    "an action that was not awaited": Mistake(
        "return Decision(STOP)", "return Decision(self.begin(None))",
        "mine.py:@act: act returned a coroutine; write `await` before the call",
    ),
    "a loop in a loop": Mistake(
        "self.left -= 1", "import asyncio; asyncio.run(asyncio.sleep(0))",
        "write `await` in place of asyncio.run() (D/mine.py:@left)",
    ),
    "an end of an iterator": Mistake(
        "self.left -= 1", "next(iter(()))",
        "RuntimeError: coroutine raised StopIteration (D/mine.py:@left)",
    ),
    "an error without a text": Mistake(
        "self.left -= 1", "raise TimeoutError", "TimeoutError (D/mine.py:@left)"
    ),
    "a cancellation of its own": Mistake(
        "self.left -= 1", "import asyncio; raise asyncio.CancelledError",
        "CancelledError (D/mine.py:@left)",
    ),
    "a syntax error": Mistake("self.left = 3", "self.left = = 3", "mine.py:9: invalid syntax:"),
}  # fmt: skip


def played(folder: Path, world: str, agent: str) -> list[str]:
    """Play three episodes with these files; the error of the run, or its notices."""
    (folder / "line.py").write_text(world)
    (folder / "mine.py").write_text(agent)
    plan = Plan(
        str(folder / "mine.py"),
        str(folder / "line.py"),
        "scripted:first",
        out=folder / "run",
        max_steps=4,
    )
    try:
        return list(run(plan).notices)
    except WaywordError as error:
        return [str(error)]


def check(lines: list[str], expected: str, folder: Path) -> None:
    expected = re.sub(r":@(\w+)", lambda name: f":{LINES[name[1]]}", expected)
    shown = [line.replace(str(folder), "D") for line in lines]
    assert any(expected in line for line in shown), shown
    assert len(shown) == 1, "all episodes fail for one reason, which is named once"
    assert "\n" not in shown[0]


@pytest.mark.parametrize("name", WORLDS)
def test_a_mistake_in_a_world_is_one_line(name: str, tmp_path: Path) -> None:
    old, new, line = WORLDS[name]
    assert WORLD.count(old) == 1, old
    check(played(tmp_path, WORLD.replace(old, new), AGENT), line, tmp_path)


@pytest.mark.parametrize("name", AGENTS)
def test_a_mistake_in_an_agent_is_one_line(name: str, tmp_path: Path) -> None:
    old, new, line = AGENTS[name]
    assert AGENT.count(old) == 1, old
    check(played(tmp_path, WORLD, AGENT.replace(old, new)), line, tmp_path)


def test_intact_files_play_without_a_notice(tmp_path: Path) -> None:
    assert played(tmp_path, WORLD, AGENT) == []


def test_a_split_that_a_dataset_does_not_list_is_refused(tmp_path: Path) -> None:
    own = (
        '    splits = ("train", "test")\n\n    def __init__(self, split, folder, settings):\n'
        "        pass\n\n    family = F"
    )
    file = tmp_path / "line.py"
    file.write_text(WORLD.replace("    family = F", own))
    run(Plan("random", f"{file}:test", limit=1, out=tmp_path / "run"))
    with pytest.raises(UsageError) as refused:
        run(Plan("random", f"{file}:tets", out=tmp_path / "other"))
    assert str(refused.value) == f"{file} has no split 'tets'; did you mean 'test'?"


def test_a_table_says_why_it_has_no_success(tmp_path: Path) -> None:
    played(tmp_path, WORLD.replace("def succeeded(", "def succeded("), AGENT)
    assert "did you mean it by 'succeded'?" in table([tmp_path / "run"], "latex")


def test_a_raise_in_scoring_fails_its_episode_and_no_other(tmp_path: Path) -> None:
    raises = 'return 1 / (task.episode.id != "to_2") and task.episode.id =='
    world = WORLD.replace("return task.episode.id ==", raises)
    (notice,) = played(tmp_path, world, AGENT)
    assert notice.startswith("episode to_2 failed: scoring: ZeroDivisionError")
    folder = RunFolder.read(tmp_path / "run")
    assert [name for name, _ in folder.scores()] == ["to_1", "to_3"]
    (failed,) = folder.failures()
    assert failed.trajectory is not None
    assert len(failed.trajectory.steps) == 1, "what was played is kept"


def test_messages_may_be_mappings_and_text(tmp_path: Path) -> None:
    ask = "answer = await self.toolkit.model().complete({})"
    for prompt in ('[{"role": "user", "content": "Where?"}]', '"Where?"'):
        folder = tmp_path / str(len(prompt))
        folder.mkdir()
        agent = AGENT.replace("self.left -= 1", ask.format(prompt))
        assert played(folder, WORLD, agent) == []
        record = next(iter(RunFolder.read(folder / "run").records()))
        (call,) = record.trajectory.steps[0].calls
        text = call.prompt if isinstance(call.prompt, str) else call.prompt[0].content
        assert text == "Where?"


def test_a_forgotten_await_says_so(tmp_path: Path) -> None:
    ask = "self.toolkit.model().complete('Where?').text"
    (tmp_path / "line.py").write_text(WORLD)
    (tmp_path / "mine.py").write_text(AGENT.replace("self.left -= 1", ask))
    command = [sys.executable, "-m", "wayword", "run", "./mine.py", "--on", "./line.py",
               "--model", "scripted:first", "--out", "run"]  # fmt: skip
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "write `await` before the call" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "RuntimeWarning" not in ended.stderr


@pytest.mark.parametrize(
    "ask",
    [
        "found = self.toolkit.model().complete('?'); found.text",
        "found = self.toolkit.model().complete('?'); found['text']",
        "return self.toolkit.model().complete('?')",
    ],
)
def test_a_call_that_nobody_awaited_is_closed(ask: str, tmp_path: Path) -> None:
    # Python would print a warning of it; here a warning is an error.
    (line,) = played(tmp_path, WORLD, AGENT.replace("self.left -= 1", ask))
    assert "write `await` before the call" in line
    gc.collect()


def test_a_run_that_mostly_rejects_names_the_commonest_reason(tmp_path: Path) -> None:
    illegal = "Decision(STOP if self.left < 0 else Action('fly'))"
    (line,) = played(tmp_path, WORLD, AGENT.replace("Decision(STOP)", illegal))
    lines = AGENT.splitlines()
    number = 1 + next(n for n, text in enumerate(lines) if "def act" in text)
    assert line == (
        "9 of 12 answers were rejected and changed nothing; 9 as illegal: fly is not a legal "
        f"action here; legal here: right, stop ({tmp_path / 'mine.py'}:{number})"
    )


# Errors of an import, by the change of the world's file.
IMPORTS = {
    "an unknown name": Mistake(
        "        self.place, self.stopped = 0, False",
        "        self.place, self.stopped = 0, False\n    number = cellar",
        "line.py:@cellar: NameError: name 'cellar' is not defined",
    ),
    "a wrong keyword": Mistake(
        "@dataclass(frozen=True)", "@dataclass(frozn=True)",
        "line.py:@frozn: TypeError: dataclass() got an unexpected keyword argument 'frozn'",
    ),
    "a misspelled module": Mistake(
        "wayword.core.episode import", "wayword.core.episodes import",
        "line.py:@episodes: No module named 'wayword.core.episodes'; did you mean 'episode'?",
    ),
    "a misspelled name": Mistake(
        "import Dataset, Task", "import Dataset, Taskk",
        "line.py:@Taskk: cannot import name 'Taskk' from 'wayword.core.dataset'; did you mean",
    ),
    "a library that is missing": Mistake(
        "from dataclasses import", "import nolibrary\nfrom dataclasses import",
        "line.py:@nolibrary: No module named 'nolibrary'; install it, or put its folder on PYTHONP",
    ),
    "an exit": Mistake(
        "dataset = Lines", "raise SystemExit('bye')",
        "line.py:@SystemExit: the file ends the program when it is imported (SystemExit: bye)",
    ),
    "an error in a library's depths": Mistake(
        "dataset = Lines", "import json; dataset = json.loads('{')",
        "line.py:@json: JSONDecodeError: Expecting property name",
    ),
    "an error in another file of the user": Mistake(
        "from dataclasses import", "from helps import zero; zero()\nfrom dataclasses import",
        "helps.py:2: ZeroDivisionError: division by zero",
    ),
}  # fmt: skip


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("name", IMPORTS)
def test_an_error_at_the_import_names_the_line_of_the_user(
    name: str, absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, line = IMPORTS[name]
    text = WORLD.replace(old, new, 1)
    (tmp_path / "helps.py").write_text("def zero():\n    return 1 / 0\n")
    (tmp_path / "line.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # Another test's module of this name would be used again.
    monkeypatch.delitem(sys.modules, "helps", raising=False)

    def number(word: re.Match[str]) -> str:
        lines = text.splitlines()
        return f":{next(n for n, each in enumerate(lines, 1) if word[1] in each)}"

    expected = re.sub(r":@(\w+)", number, line)
    file = tmp_path / "line.py" if absolute else Path("./line.py")
    with pytest.raises(WaywordError) as caught:
        run(Plan("random", str(file), out=tmp_path / "run"))
    shown = str(caught.value).replace(f"{tmp_path}/", "")
    assert shown.startswith(expected), shown
    assert "\n" not in shown


@pytest.mark.parametrize(
    ("old", "new", "method"),
    [
        ("Place(self.place)", "Place(object())", "observe"),
        ("return Feedback()", "return Feedback(details={'x': object()})", "step"),
    ],
)
def test_what_cannot_be_recorded_names_the_method_that_returned_it(
    old: str, new: str, method: str, tmp_path: Path
) -> None:
    file = tmp_path / "line.py"
    file.write_text(WORLD.replace(old, new))
    where = re.escape(f"{file}:{LINES[method]}: ")
    with pytest.raises(RecordingError, match=f"{where}.*'builtins.object' cannot be"):
        run(Plan("random", str(file), out=tmp_path / "run"))


def test_a_note_that_cannot_be_recorded_is_named_by_its_kind(tmp_path: Path) -> None:
    world = tmp_path / "line.py"
    world.write_text(WORLD)
    agent = tmp_path / "mine.py"
    noted = AGENT.replace("    needs_model = True\n", "")
    noted = noted.replace(
        "        self.left -= 1", "        self.toolkit.note('lost', x=object())"
    )
    agent.write_text(noted)
    with pytest.raises(RecordingError, match=r"note 'lost' of an agent: .*cannot be"):
        run(Plan(str(agent), str(world), out=tmp_path / "run"))
