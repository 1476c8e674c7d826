"""Training data are what the strategy would have been asked, to the byte, and nothing invented."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.records import records, rewrite
from helpers.two_in_a_flat import named
from wayword.core.action import ActionSpace, Decision
from wayword.core.agent import Agent, Toolkit
from wayword.core.errors import RecordingError, UsageError
from wayword.core.model import Choice, Completion, Message, Model, Prompt, Sampling
from wayword.core.registry import load
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Feedback
from wayword.runs.export import Card, Export, export
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.worlds.household.world import HouseholdWorld

HOMES = "household:generated_train"
SMALL = {"dataset": {"homes": 1, "episodes": 2, "rooms": 2}}
STREETS = {"dataset": {"towns": 1, "episodes": 2}}
SETTINGS = {HOMES: SMALL, "towns": STREETS}


class Reader(Model):
    """Answers from a list, in order, and keeps what it was asked."""

    name = "reader"

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.prompts: list[list[dict[str, str]]] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        assert not isinstance(prompt, str)
        self.prompts.append([plain(message) for message in prompt])
        return Completion((self._answers.pop(0),), ("stop",))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise AssertionError("no choice is asked for here")

    async def aclose(self) -> None:
        """Nothing to close."""


def plain(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def played(
    on: str, episode: str, agent: str, settings: Any, answers: Sequence[str]
) -> Any:
    """The episode as a model that gives these answers plays it, and all it was asked."""
    dataset = open_dataset(Plan(agent, on, settings=SETTINGS.get(on, {})))
    (task,) = [task for task in dataset.tasks if task.episode.id == episode]
    cls = load("agent", agent)
    reader = Reader(answers)

    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = cls(cls.Settings(**settings), toolkit)
        return made

    setup = Setup(dataset, build, {"main": reader}, max_steps=dataset.max_steps)
    return asyncio.run(rollout(task, setup)), reader.prompts


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def actions(text: Trajectory) -> list[str]:
    decided = [
        step.decision for step in text.steps if isinstance(step.decision, Decision)
    ]
    assert len(decided) == len(text.steps), "nothing was rejected"
    return [str(decision.action) for decision in decided]


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expert's run in two small homes."""
    out = tmp_path_factory.mktemp("runs") / "gold"
    return run(Plan("expert", HOMES, settings=SMALL, limit=2, out=out)).path


@pytest.mark.parametrize("agent", ["act", "react", "react_emmem", "reflexion"])
@pytest.mark.parametrize("decoding", ["constrained", "free"])
def test_a_conversation_is_what_the_strategy_asks_and_reads(
    gold: Path, tmp_path: Path, agent: str, decoding: str
) -> None:
    settings = {"decoding": decoding, "context": 100_000, "own_state": "start"}
    out = tmp_path / "train.jsonl"
    export([gold], out, Export(agent, settings=settings))
    for line, record in zip(lines(out), RunFolder.read(gold).records(), strict=True):
        messages = line["messages"]
        answers = [m["content"] for m in messages if m["role"] == "assistant"]
        trajectory, prompts = played(HOMES, line["episode"], agent, settings, answers)
        assert actions(trajectory) == actions(record.trajectory)
        assert line["steps"] == len(prompts) == len(answers)
        for number, prompt in enumerate(prompts):
            assert prompt == messages[: 2 + 2 * number], f"prompt of step {number + 1}"
        assert [m["role"] for m in messages[:3]] == ["system", "user", "assistant"]


def test_decisions_are_queried_as_the_strategy_would_have_when_it_drops_old_steps(
    gold: Path, tmp_path: Path
) -> None:
    settings = {"context": 1400}
    steps = tmp_path / "steps.jsonl"
    chat = tmp_path / "chat.jsonl"
    card = export([gold], steps, Export("act", "steps", settings))
    export([gold], chat, Export("act", "chat", settings))
    assert card.longer_than_context == 2
    assert any("exceed the strategy's context" in line for line in card.notices)
    for full in lines(chat):
        own = [line for line in lines(steps) if line["episode"] == full["episode"]]
        answers = [line["completion"][0]["content"] for line in own]
        _, prompts = played(HOMES, full["episode"], "act", settings, answers)
        assert [line["prompt"] for line in own] == prompts
        assert [line["step"] for line in own] == list(range(1, len(own) + 1))
        assert full["whole"] is False
        assert len(full["messages"]) == 1 + 2 * len(own), (
            "the conversation is told in full"
        )
        assert len(prompts[-1]) < len(full["messages"]) - 1
        later = [m["content"] for m in full["messages"][3:] if m["role"] == "user"]
        assert all(text.startswith("Observation:") for text in later)


def test_nothing_is_invented_and_what_is_missing_is_reported(
    gold: Path, tmp_path: Path
) -> None:
    out = tmp_path / "train.jsonl"
    card = export([gold], out, Export("react_emmem"))
    messages = [
        json.loads(m["content"])
        for m in lines(out)[0]["messages"]
        if m["role"] == "assistant"
    ]
    assert {tuple(answer) for answer in messages} == {("state", "action")}
    assert {tuple(answer["state"]) for answer in messages} == {
        ("place", "facing", "holding")
    }
    assert card.missing_fields == ["state.seen", "state.done", "state.left", "plan"]
    assert any("answers lack state.seen" in line for line in card.notices)
    assert export([gold], out, Export("act")).missing_fields == []


def test_the_same_run_gives_the_same_bytes_and_a_card(
    gold: Path, tmp_path: Path
) -> None:
    one = tmp_path / "one.jsonl"
    two = tmp_path / "two.jsonl"
    card = export([gold], one, Export())
    export([gold], two, Export())
    assert one.read_bytes() == two.read_bytes()
    record = json.loads((tmp_path / "one.jsonl.card.json").read_text())
    assert (record["episodes"], record["lines"], record["omitted"]) == (2, 2, {})
    assert record["decisions"] == sum(line["steps"] for line in lines(one))
    assert "2 lines, 2 episodes" in card.line
    assert card.notices[:1] != [f"{HOMES} is not a training split"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "one.jsonl", "one.jsonl.card.json", "two.jsonl", "two.jsonl.card.json",
    ]  # fmt: skip


def test_failures_and_repetitions_are_left_out_and_counted(
    gold: Path, tmp_path: Path
) -> None:
    lost = run(
        Plan("random", HOMES, settings=SMALL, limit=2, out=tmp_path / "lost")
    ).path
    out = tmp_path / "train.jsonl"
    again = run(
        Plan("expert", HOMES, settings=SMALL, limit=2, seed=1, out=tmp_path / "again")
    ).path
    card = export([lost, gold, again], out, Export())
    assert dict(card.omitted) == {"without success": 2, "duplicate": 2}
    assert (card.runs, card.splits) == (["lost", "gold", "again"], [HOMES])
    assert {line["agent"] for line in lines(out)} == {"expert"}
    every = export([lost, gold], out, Export(everything=True))
    assert every.lines == 4
    assert [line["success"] for line in lines(out)] == [False, False, True, True]


def test_test_splits_are_warned_of(tmp_path: Path) -> None:
    path = run(Plan("oracle", "houses:test", limit=1, out=tmp_path / "run")).path
    card = export([path], tmp_path / "train.jsonl", Export("react"))
    assert card.lines == 1
    assert any("houses:test is not a training split" in line for line in card.notices)


def test_street_routes_and_given_steps(tmp_path: Path) -> None:
    path = run(Plan("gold", "towns", settings=STREETS, out=tmp_path / "run")).path
    out = tmp_path / "train.jsonl"
    assert export([path], out, Export("act", settings={"context": 50_000})).lines == 2
    for line in lines(out):
        answers = [m["content"] for m in line["messages"] if m["role"] == "assistant"]
        settings = {"context": 50_000}
        trajectory, prompts = played("towns", line["episode"], "act", settings, answers)
        assert prompts[-1] == line["messages"][:-1]
        assert trajectory.ended == "stopped"


def test_actors_have_conversations_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    path = run(
        Plan("random", "flat", limit=1, out=tmp_path / "run", actors={"ann": "expert"})
    ).path
    out = tmp_path / "train.jsonl"
    export([path], out, Export())
    ann, bob = lines(out)
    assert (ann["actor"], bob["actor"]) == ("ann", "bob")
    assert "ann" in bob["messages"][0]["content"]
    assert ann["agent"] == "random, ann: expert"
    export([path], out, Export(actors=("ann",)))
    assert [line["actor"] for line in lines(out)] == ["ann"]


STOPS = """
from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent

class Stops(Agent):
    async def act(self, observation, space):
        return Decision(STOP)

agent = Stops
"""


def test_who_plays_alone_may_teach_to_stop_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No one else did its work; of several actors, each that only stopped is left out."""
    named(monkeypatch)
    (tmp_path / "stops.py").write_text(STOPS, encoding="utf-8")
    for on, settings, written in ((HOMES, SMALL, 1), ("flat", {}, 0)):
        out = tmp_path / on.partition(":")[0]
        plan = Plan(str(tmp_path / "stops.py"), on, settings=settings, limit=1, out=out)
        card = export([run(plan).path], tmp_path / "train", Export(everything=True))
        assert card.lines == written
        omitted = {} if written else {"actor that only stopped": 2}
        assert dict(card.omitted) == omitted


def test_an_export_of_several_runs_is_that_of_each(tmp_path: Path) -> None:
    """Whatever they differ in: the prompts of each are those of its own limit and data."""
    plans = {
        "long": Plan("expert", HOMES, settings=SMALL, limit=1),
        "short": Plan("expert", HOMES, settings=SMALL, limit=1, max_steps=70),
        "streets": Plan("gold", "towns", settings=STREETS, limit=1, max_steps=51),
    }
    paths = [
        run(replace(plan, out=tmp_path / name)).path for name, plan in plans.items()
    ]
    for form in ("chat", "steps"):
        options = Export("act", form)  # type: ignore[arg-type]
        single = []
        for path in paths:
            export([path], tmp_path / "one", options)
            single += lines(tmp_path / "one")
        export(paths, tmp_path / "all", options)
        assert lines(tmp_path / "all") == single
    first = [json.dumps(line["prompt"]) for line in single if line["step"] == 1]
    assert len({*first}) == 3, "the first two differ in their limits alone"


def test_an_actor_that_left_the_work_to_others_teaches_nothing(tmp_path: Path) -> None:
    small = {"dataset": {"homes": 1, "episodes": 1}}
    path = run(
        Plan("expert", "ma_household", settings=small, out=tmp_path / "run")
    ).path
    out = tmp_path / "train.jsonl"
    card = export([path], out, Export())
    assert dict(card.omitted) == {"actor that only stopped": 1}
    assert [line["actor"] for line in lines(out)] == ["follower"]


def test_actions_outside_of_the_list_are_counted_over_all_episodes(
    gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is held to the list could not have chosen them."""
    space_of = HouseholdWorld.action_space

    def shorter(self: HouseholdWorld, actor: str) -> ActionSpace:
        space = space_of(self, actor)
        listed = tuple(each for each in space.listed if each.name != "pick_up")
        return ActionSpace(listed, space.open_verbs, space.__contains__)

    monkeypatch.setattr(HouseholdWorld, "action_space", shorter)
    card = export([gold], tmp_path / "train.jsonl", Export())
    picks = [
        sum(action.startswith("pick_up") for action in actions(record.trajectory))
        for record in RunFolder.read(gold).records()
    ]
    assert all(picks)
    assert card.unlisted == sum(picks)
    assert any(line.startswith(f"{sum(picks)} legal") for line in card.notices)


def test_an_episode_that_goes_otherwise_now_is_left_out(
    gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = HouseholdWorld.step

    def otherwise(self: HouseholdWorld, actor: str, action: Any) -> Feedback:
        done = step(self, actor, action)
        if action.name == "move_ahead":
            return Feedback("blocked", {"by": "a cat"})
        return done

    monkeypatch.setattr(HouseholdWorld, "step", otherwise)
    card = export([gold], tmp_path / "train.jsonl", Export())
    assert dict(card.omitted) == {"with other feedback when replayed": 2}
    assert (tmp_path / "train.jsonl").read_text() == ""


@pytest.mark.parametrize("recorded", ["ok", "blocked", "too_far"])
@pytest.mark.parametrize("replayed", ["ok", "blocked", "too_far"])
def test_an_episode_is_left_out_if_an_action_has_another_status_now(
    gold: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recorded: str,
    replayed: str,
) -> None:
    """Also where it fails for another reason: later steps were decided by the one it had."""
    changed = records(shutil.copytree(gold, tmp_path / "gold"))
    for record in changed:
        for each in record["trajectory"]["steps"]:
            if each["decision"]["action"] == "move_ahead":
                each["feedback"]["status"] = recorded
    rewrite(tmp_path / "gold", changed)
    step = HouseholdWorld.step
    details = {"by": "a cat", "object": "cat_1", "distance": 3.0, "reach": 1.5}

    def otherwise(self: HouseholdWorld, actor: str, action: Any) -> Feedback:
        done = step(self, actor, action)
        if action.name == "move_ahead" and replayed != "ok":
            return Feedback(replayed, details)
        return done

    monkeypatch.setattr(HouseholdWorld, "step", otherwise)
    card = export([tmp_path / "gold"], tmp_path / "train.jsonl", Export())
    left_out = {} if recorded == replayed else {"with other feedback when replayed": 2}
    assert dict(card.omitted) == left_out


@pytest.mark.parametrize(
    "agent", ["act", "react", "react_emmem", "reflexion", "reflexion_emmem"]
)
@pytest.mark.parametrize("thoughts", [True, False])
def test_what_answers_lack_is_reported_and_nothing_else(
    gold: Path, tmp_path: Path, agent: str, thoughts: bool
) -> None:
    cls: Any = load("agent", agent)
    recipe = cls(cls.Settings(), Toolkit())._recipe
    requested = set()
    for section in recipe.sections:
        requested |= {f"{section.key}.{name}" for name, _ in section.parts}
        if not section.parts:
            requested.add(section.key)
    out = tmp_path / "train.jsonl"
    card = export([gold], out, Export(agent, thoughts=thoughts))
    given = set()
    for line in lines(out):
        for message in line["messages"]:
            if message["role"] == "assistant":
                answer = json.loads(message["content"])
                given |= {key for key in answer if not isinstance(answer[key], dict)}
                given |= {f"state.{key}" for key in answer.get("state", ())}
    assert {*card.missing_fields} == requested - given
    assert any("answers lack" in line for line in card.notices) == bool(
        requested - given
    )


def test_an_empty_export_names_the_option_that_keeps_failures() -> None:
    card = Card("act", "chat", {}, omitted={"without success": 4})
    assert (
        card.why_empty()
        == "left out: 4 without success; --all includes episodes without success"
    )


def test_a_card_states_what_it_has_and_warns_of_the_rest() -> None:
    card = Card("act", "chat", {}, splits=["houses:train", "towns:train"])
    assert card.why_empty() == "the runs have no finished episodes"
    assert card.notices == []
    assert card.line == (
        "0 lines, 0 episodes, 0 decisions from houses:train, towns:train; left out: none"
    )
    card.splits += ["trained:test"]
    card.omit("duplicate")
    card.omit("duplicate")
    card.omit("a cat")
    card.lines = 1200
    card.pictures = 3000
    assert card.line.startswith("1,200 lines, 0 episodes, 0 decisions, 3,000 pictures")
    assert card.line.endswith("left out: 1 a cat, 2 duplicate")
    card.missing_fields = ["plan", "state.room"]
    card.unlisted = 2
    card.longer_than_context = 4
    assert [" ".join(line.split()[:4]) for line in card.notices] == [
        "trained:test is not a",
        "answers lack plan, state.room,",
        "2 legal actions were",
        "conversations keep the pictures",
        "4 conversations exceed the",
    ]
    card.form = "steps"
    assert not any("keep the pictures" in line for line in card.notices)


def illegal(record: dict[str, Any]) -> None:
    record["trajectory"]["steps"][0]["decision"] |= {"action": "fly", "arguments": []}


def stranger(record: dict[str, Any]) -> None:
    record["trajectory"]["steps"][-1]["actor"] = "a cat"


def unknown(record: dict[str, Any]) -> None:
    record["episode"] = record["trajectory"]["episode_id"] = "of another split"


def idle(record: dict[str, Any]) -> None:
    record["trajectory"]["steps"] = []


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (illegal, "with an action that is illegal when replayed"),
        (stranger, "with an actor that the world does not have"),
        (unknown, "not in the dataset"),
        (idle, "without a decision"),
    ],
)
def test_an_episode_that_cannot_be_replayed_is_left_out_by_its_cause(
    gold: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], cause: str
) -> None:
    changed = records(shutil.copytree(gold, tmp_path / "gold"))
    change(changed[0])
    rewrite(tmp_path / "gold", changed)
    done: list[tuple[int, int]] = []
    card = export(
        [tmp_path / "gold"],
        tmp_path / "train.jsonl",
        Export(),
        lambda *counts: done.append(counts),
    )
    assert (card.omitted, card.lines, card.episodes) == ({cause: 1}, 1, 1)
    assert done[-1] == (2, 2)


def test_only_an_earlier_export_is_replaced_and_not_by_nothing(
    gold: Path, tmp_path: Path
) -> None:
    out = tmp_path / "train.jsonl"
    out.write_text("mine")
    with pytest.raises(RecordingError, match="exists and is no export"):
        export([gold], out, Export())
    assert out.read_text() == "mine"
    out.unlink()
    written = export([gold], out, Export())
    before = out.read_bytes()
    assert written.lines == 2
    empty = export([gold], out, Export(actors=["nobody"]))
    assert (empty.lines, empty.omitted) == (0, {"without a decision": 2})
    assert out.read_bytes() == before


def test_mistakes_are_answered_in_one_line(gold: Path, tmp_path: Path) -> None:
    out = tmp_path / "train.jsonl"
    with pytest.raises(UsageError, match="--as random: not a strategy"):
        export([gold], out, Export("random"))
    with pytest.raises(UsageError, match="act has no setting 'decodin'"):
        export([gold], out, Export("act", settings={"decodin": "free"}))
    with pytest.raises(RecordingError, match="not a run folder"):
        export([tmp_path], out, Export())
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot be written"):
        export([gold], tmp_path / "file" / "train.jsonl", Export())
    assert not out.exists()


def test_thoughts_that_a_run_has_are_kept_on_request(tmp_path: Path) -> None:
    mine = tmp_path / "thinker.py"
    mine.write_text(THINKER, encoding="utf-8")
    ran = run(
        Plan(str(mine), HOMES, settings=SMALL, limit=1, out=tmp_path / "ran")
    ).path
    for thoughts in (True, False):
        out = tmp_path / f"{thoughts}.jsonl"
        free = {"decoding": "free"}
        export(
            [ran],
            out,
            Export("react", settings=free, everything=True, thoughts=thoughts),
        )
        messages = [
            m["content"] for m in lines(out)[0]["messages"] if m["role"] == "assistant"
        ]
        first = "Thought: I look around first.\n" if thoughts else ""
        assert messages[0] == f"{first}Action: turn_left"


def test_an_experts_run_is_exported_with_its_reasons(tmp_path: Path) -> None:
    ran = run(Plan("expert", HOMES, settings=SMALL, limit=1, out=tmp_path / "ran")).path
    out = tmp_path / "gold.jsonl"
    card = export(
        [ran], out, Export("react", settings={"decoding": "free"}, thoughts=True)
    )
    messages = [
        m["content"] for m in lines(out)[0]["messages"] if m["role"] == "assistant"
    ]
    assert all(text.startswith("Thought: ") for text in messages)
    assert (
        messages[-1]
        == "Thought: All that was asked for is done, so I stop.\nAction: stop"
    )
    assert not card.missing_fields


def test_high_level_gold_is_exported(tmp_path: Path) -> None:
    tree = {"dataset": {**SMALL["dataset"], "actions": "high"}}
    ran = run(Plan("expert", HOMES, settings=tree, limit=1, out=tmp_path / "high")).path
    out = tmp_path / "high.jsonl"
    export([ran], out, Export("act", settings={"decoding": "free"}))
    (line,) = lines(out)
    messages = [m["content"] for m in line["messages"] if m["role"] == "assistant"]
    assert any("go_" in each for each in messages)
    assert not any("move_ahead" in each for each in messages)


THINKER = """
from wayword.agents.baselines.simple import RandomAgent
from wayword.core.action import STOP, Action, Decision


class Thinker(RandomAgent):
    turned = False

    async def act(self, observation, space):
        if self.turned:
            return Decision(STOP)
        self.turned = True
        return Decision(Action("turn_left"), "I look around\\n first.")


agent = Thinker
"""
