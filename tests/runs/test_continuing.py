"""A recorded episode goes on from one of its steps, by others, as a new run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.two_in_a_flat import named
from helpers.typist import Script
from wayword.core.action import Decision
from wayword.core.agent import Agent
from wayword.core.errors import UsageError
from wayword.core.trajectory import Step, Trajectory
from wayword.runs.cast import AgentParts
from wayword.runs.identity import agents_identity
from wayword.runs.plan import Plan
from wayword.runs.play import game_plan, play
from wayword.runs.record import RunFolder
from wayword.runs.running import Continuation, run

pytestmark = pytest.mark.usefixtures("shared_data")


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NavGPT in a generated house: five steps by a scripted model."""
    top = tmp_path_factory.mktemp("continued")
    run(
        Plan(
            "navgpt",
            "houses",
            "scripted:first",
            limit=1,
            max_steps=5,
            out=top / "a:walk",
        )
    )
    return top / "a:walk"


def trajectory_of(path: Path) -> Trajectory:
    (record,) = RunFolder.read(path).records()
    return record.trajectory


def actions(steps: list[Step]) -> list[str]:
    return [str(s.decision.action) for s in steps if isinstance(s.decision, Decision)]


def go_on(
    walked: Path, out: Path, agent: str, model: str = "", step: int = 3, **more: Any
) -> Path:
    at = f"{walked}:{trajectory_of(walked).episode_id}:{step}"
    run(Plan(agent, "ignored", model, out=out, continues=at, **more))
    return out


def test_a_place_is_read_from_the_right_and_a_folder_may_hold_colons(
    walked: Path,
) -> None:
    with pytest.raises(UsageError, match="has no finished episode 'x:y'"):
        Continuation.open(f"{walked}:x:y:3")
    for wrong in (
        "runs",
        f"{walked}:3",
        f"{walked}:x:0",
        f"{walked}:x:three",
        "none:x:3",
    ):
        with pytest.raises(UsageError, match="RUN:EPISODE:STEP"):
            Continuation.open(wrong)


def test_any_step_may_be_the_first_one_and_the_one_after_the_last(walked: Path) -> None:
    """An episode that was cut off goes on behind its last step."""
    recorded = trajectory_of(walked)
    count = len(recorded.steps)
    assert count == 5
    assert recorded.ended == "step_limit"
    for step in range(1, count + 2):
        opened = Continuation.open(f"{walked}:{recorded.episode_id}:{step}")
        assert (opened.step, len(opened.steps)) == (step, step - 1)
    with pytest.raises(
        UsageError, match=f"from step {count + 2}: it has {count} steps"
    ):
        Continuation.open(f"{walked}:{recorded.episode_id}:{count + 2}")


def test_the_same_agent_is_where_it_was_and_another_model_goes_on(
    walked: Path, tmp_path: Path
) -> None:
    before = trajectory_of(walked)
    after = trajectory_of(go_on(walked, tmp_path / "on", "navgpt", "scripted:noise"))
    assert actions(after.steps[:2]) == actions(before.steps[:2])
    assert all(not step.calls for step in after.steps[:2]), (
        "nobody is asked or billed again"
    )
    assert [note.kind for note in after.steps[0].notes] == ["recorded_before"]
    prompts = after.steps[2].calls[0].prompt, before.steps[2].calls[0].prompt
    assert prompts[0] == prompts[1], "the very prompt that the first model had"
    assert len(after.steps) <= 5
    config = RunFolder.read(tmp_path / "on").config
    assert config["identity"]["continues"]["step"] == 3
    assert "steps 1 to 2 of episode" in config["caveats"][-1]
    assert config["identity"]["dataset"] == "houses:test"


def test_steps_taken_again_say_which_clause_they_follow(tmp_path: Path) -> None:
    plan = Plan(
        "walker",
        "houses",
        "scripted:first",
        limit=1,
        max_steps=4,
        out=tmp_path / "first",
    )
    before = trajectory_of(run(plan).path)
    after = trajectory_of(
        go_on(tmp_path / "first", tmp_path / "on", "walker", "scripted:first")
    )
    assert after.noted("followed") == before.noted("followed")
    assert after.noted("clauses") == before.noted("clauses")


@pytest.mark.parametrize("agent", ["act", "react", "navgpt"])
def test_another_agent_or_other_settings_recall_what_was_done(
    walked: Path, tmp_path: Path, agent: str
) -> None:
    settings = {"decoding": "free", "max_tokens": 60}
    go_on(walked, tmp_path / "on", agent, "scripted:first", settings=settings)
    after = trajectory_of(tmp_path / "on")
    prompt = "\n".join(m.content for m in after.steps[2].calls[0].prompt)  # type: ignore[union-attr]
    for action in actions(after.steps[:2]):
        assert action.removeprefix("goto[").removesuffix("]") in prompt


def test_steps_taken_again_are_on_a_map(walked: Path, tmp_path: Path) -> None:
    go_on(walked, tmp_path / "on", "mapgpt", "scripted:first")
    prompt = trajectory_of(tmp_path / "on").steps[2].calls[0].prompt[-1].content  # type: ignore[union-attr]
    assert "1. goto[place " in prompt
    assert "place 0 (visited) leads to: " in prompt


def test_an_oracle_plans_from_there_and_a_person_sees_what_was_seen(
    walked: Path, tmp_path: Path
) -> None:
    after = trajectory_of(go_on(walked, tmp_path / "oracle", "oracle", max_steps=30))
    assert actions(after.steps)[-1] == "stop"
    assert after.ended == "stopped"
    (record,) = RunFolder.read(tmp_path / "oracle").records()
    assert record.scores["sr"] == 1.0
    at = f"{walked}:{after.episode_id}:3"
    me = Script(["stop"])
    game = play(game_plan(Plan("human", "", out=tmp_path / "me", continues=at)), me)
    assert game.scores is not None
    assert f"recorded: {actions(after.steps)[1]}" in me.text
    assert "Turn 3" in me.text


def test_everybody_goes_on_where_it_was_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    run(Plan("random", "flat", limit=1, max_steps=4, seed=1, out=tmp_path / "both"))
    after = trajectory_of(go_on(tmp_path / "both", tmp_path / "on", "random", step=4))
    assert [step.actor for step in after.steps[:4]] == ["ann", "bob", "ann", "bob"]
    turns = [
        sum(step.actor == actor for step in after.steps) for actor in ("ann", "bob")
    ]
    assert max(turns) <= 4, "turns that were taken before count"


def test_an_episode_goes_on_in_its_recorded_data_with_its_recorded_seed(
    tmp_path: Path,
) -> None:
    data = {"dataset": {"houses": 2, "episodes": 3}}
    run(
        Plan(
            "random",
            "houses",
            seed=5,
            max_steps=4,
            limit=1,
            settings={**data, "perturb": {"captions_missing": 0.5}},
            out=tmp_path / "recorded",
        )
    )
    episode = trajectory_of(tmp_path / "recorded").episode_id
    continued = Continuation.open(f"{tmp_path / 'recorded'}:{episode}:2").plan(
        Plan(
            "random",
            "towns",
            seed=1,
            shard="1/2",
            shuffle=3,
            limit=7,
            settings={"dataset": {"houses": 9}, "own_state": "start"},
        )
    )
    assert (continued.on, continued.seed, continued.max_steps) == ("houses:test", 5, 4)
    assert continued.episodes == (episode,)
    chosen_by = (continued.shard, continued.shuffle, continued.limit, continued.first)
    assert chosen_by == ("", None, None, False)
    dataset = continued.settings["dataset"]
    assert (dataset["houses"], dataset["episodes"]) == (2, 3)
    assert continued.settings["perturb"]["captions_missing"] == 0.5
    assert continued.settings["own_state"] == "start", "settings of the agent stay"


@dataclass(frozen=True)
class NoSettings:
    """The settings of an agent that has none."""


def parts(name: str, **others: str) -> AgentParts:
    """An agent, and the agents of other actors by name."""
    played = {actor: parts(each) for actor, each in others.items()}
    return AgentParts(Agent, NoSettings(), name, played)  # type: ignore[type-abstract]


@pytest.mark.parametrize(
    ("playing", "same"),
    [
        (parts("random", bob="forward"), {"ann", "bob"}),
        (parts("random", bob="random"), {"ann"}),
        (parts("forward", bob="forward"), {"bob"}),
        (parts("random"), {"ann"}),
        (parts("forward", ann="random"), {"ann", "bob"}),
        (parts("forward", ann="forward", bob="random"), set()),
    ],
)
def test_an_actor_recalls_its_answers_if_its_recorded_agent_plays_it_again(
    playing: AgentParts, same: set[str]
) -> None:
    recorded = agents_identity(parts("random", bob="forward"))
    walk = Continuation(Path("run"), "e", 2, recorded, ())
    (continued,) = walk.before(playing, ("ann", "bob")).values()
    assert continued.same == same


def test_what_cannot_go_on_says_why(walked: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no finished episode 'none'"):
        run(Plan("random", "", continues=f"{walked}:none:1"))
    with pytest.raises(UsageError, match="from step 99: it has"):
        go_on(walked, tmp_path / "far", "random", step=99)
    with pytest.raises(
        UsageError, match="cannot continue from steps taken by another agent"
    ):
        go_on(walked, tmp_path / "other", "discussnav", "scripted:first")
