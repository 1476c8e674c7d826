"""Several actors in one episode, each with an agent, settings and a model of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers.two_in_a_flat import TwoInAFlat, named
from wayword.core.errors import RecordingError, UsageError
from wayword.runs import reports
from wayword.runs.opening import model_choices, open_agent
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run

pytestmark = pytest.mark.usefixtures("shared_data")

FIRST = "scripted:first"


@pytest.fixture(autouse=True)
def _flat(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch)


def plan(agent: str, out: Path | None = None, model: str = "", **more: Any) -> Plan:
    return Plan(agent, "flat", model, limit=1, max_steps=3, out=out, **more)


def who_did_what(path: Path) -> Mapping[str, list[str]]:
    (record,) = RunFolder.read(path).records()
    trajectory = record.trajectory
    return {
        actor: [str(action) for action in trajectory.actions(actor)]
        for actor in trajectory.start
    }


def test_each_actor_is_played_by_its_own_agent(tmp_path: Path) -> None:
    path = run(plan("random", tmp_path / "a", actors={"bob": "expert"})).path
    expert = who_did_what(run(plan("expert", tmp_path / "b")).path)
    done = who_did_what(path)
    assert done["bob"] == expert["bob"]
    assert done["ann"] != expert["ann"]


def test_an_actor_s_settings_are_its_own(tmp_path: Path) -> None:
    settings = {"steps": 1, "actors": {"bob": {"steps": 2}}}
    done = who_did_what(run(plan("random", tmp_path / "run", settings=settings)).path)
    assert [actions.index("stop") for actions in done.values()] == [1, 2]
    identity = RunFolder.read(tmp_path / "run").config["identity"]
    assert identity["settings"]["steps"] == 1
    assert identity["actors"]["bob"]["settings"]["steps"] == 2


def test_settings_of_the_run_s_agent_go_on_to_an_actor_that_only_changes_some() -> None:
    settings = {
        "decoding": "free",
        "shots": 1,
        "actors": {"bob": {"decoding": "constrained"}},
    }
    cast = open_agent(plan("react", model=FIRST, settings=settings), TwoInAFlat())
    assert cast.others["bob"].settings.shots == 1
    assert cast.others["bob"].settings.decoding == "constrained"
    other = open_agent(
        plan("react", model=FIRST, settings=settings, actors={"bob": "act"}),
        TwoInAFlat(),
    )
    assert other.others["bob"].settings.shots == 0, (
        "another agent has settings of its own alone"
    )


def test_another_agent_for_an_actor_is_another_run(tmp_path: Path) -> None:
    run(plan("random", tmp_path / "run", actors={"bob": "expert"}))
    with pytest.raises(RecordingError, match=r"actors\.bob\.agent"):
        run(plan("random", tmp_path / "run", actors={"bob": "random"}))
    with pytest.raises(RecordingError, match=r"actors\.bob"):
        run(plan("random", tmp_path / "run"))


def test_who_sees_the_answer_is_shown_who_it_is(tmp_path: Path) -> None:
    run(plan("random", tmp_path / "one", actors={"bob": "expert"}))
    assert RunFolder.read(tmp_path / "one").config["sees_answer"] is True
    run(plan("expert", tmp_path / "two", actors={"ann": "random", "bob": "random"}))
    config = RunFolder.read(tmp_path / "two").config
    assert config["sees_answer"] is False, "an agent that plays nobody sees nothing"
    assert "expert, ann: random, bob: random" in reports.table(
        [tmp_path / "two"], "json"
    )


def test_an_actor_may_have_a_model_of_its_own(tmp_path: Path) -> None:
    settings = {"models": {"bob": "scripted:noise"}}
    path = run(plan("act", tmp_path / "run", FIRST, settings=settings)).path
    (record,) = RunFolder.read(path).records()
    requests = {
        step.actor: {call.role for call in step.calls}
        for step in record.trajectory.steps
    }
    assert requests == {"ann": {"main"}, "bob": {"bob"}}
    assert RunFolder.read(path).config["identity"]["models"]["bob"] == "scripted:noise"


def test_a_model_is_needed_by_those_who_ask_one() -> None:
    flat = TwoInAFlat()
    with pytest.raises(UsageError, match="act needs a language model"):
        open_agent(plan("random", actors={"bob": "act"}), flat)
    open_agent(plan("act", actors={"ann": "random", "bob": "random"}), flat)
    own = {"models": {"bob": FIRST}}
    with pytest.raises(UsageError, match="act needs a language model"):
        open_agent(plan("act", settings=own), flat)  # ann has none
    both = {"models": {"ann": FIRST, "bob": FIRST}}
    open_agent(plan("act", settings=both), flat)
    cast = open_agent(plan("random", actors={"bob": "act"}, settings=own), flat)
    run_plan = plan("random", actors={"bob": "act"}, settings=own)
    assert model_choices(run_plan, cast) == {"bob": (FIRST, {})}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"actors": {"bobb": "random"}},
            "flat has no actor 'bobb'; did you mean 'bob'",
        ),
        (
            {"settings": {"actors": {"eve": {"steps": 1}}}},
            "has no actor 'eve'; there are: ann, bob",
        ),
        ({"settings": {"actors": {"bob": "steps"}}}, "write actors.bob.KEY=VALUE"),
        (
            {"settings": {"actors": {"bob": {"step": 1}}}},
            "random has no setting 'step'",
        ),
        (
            {"actors": {"bob": "navgpt"}},
            "navgpt acts in indoor worlds, and flat is a household dataset",
        ),
        ({"actors": {"bob": "ract"}}, "no agent is called 'ract'"),
    ],
)
def test_a_mistake_is_answered_in_one_line(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_agent(plan("random", **more), TwoInAFlat())
