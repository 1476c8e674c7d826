"""An action space: what is listed, what is legal, and when the list is made."""

from __future__ import annotations

import pytest

from wayword.core.action import (
    LONGEST_SAID,
    STOP,
    Action,
    ActionSpace,
    Decision,
    LazyActions,
    Rejection,
    decision_problem,
    legal,
    nearest_legal,
    plan_problem,
)

WAIT = Action("wait")


def test_what_is_listed_is_legal_unless_the_world_accepts_more() -> None:
    closed = ActionSpace((STOP,))
    assert STOP in closed
    assert WAIT not in closed
    wide = ActionSpace((STOP,), accepts=lambda action: action in (STOP, WAIT))
    assert WAIT in wide
    assert WAIT not in wide.listed
    assert Action("fly") not in wide
    assert "stop" not in wide
    assert isinstance(legal(Decision(Action("fly")), wide), Rejection)
    assert legal(Decision(WAIT), wide) == Decision(WAIT)


def test_an_open_verb_takes_any_one_text() -> None:
    space = ActionSpace((STOP,), ("chat",))
    assert Action("chat", ("anything",)) in space
    assert Action("chat") not in space
    assert Action("chat", ("two", "texts")) not in space
    assert Action("sing", ("anything",)) not in space
    assert len(space) == 2


def test_the_list_is_made_once_and_only_when_it_is_looked_into() -> None:
    made: list[int] = []

    def make() -> list[Action]:
        made.append(1)
        return [STOP, WAIT]

    later = LazyActions(make)
    space = ActionSpace(
        later, accepts=lambda action: action.name == "stop", named=lambda _: True
    )
    assert STOP in space
    assert space.knows(STOP)
    assert made == []
    assert (len(later), later[1], list(later)) == (2, WAIT, [STOP, WAIT])
    assert WAIT in later
    assert made == [1]


@pytest.mark.parametrize("action", [STOP, WAIT])
def test_without_another_way_the_list_says_what_is_known(action: Action) -> None:
    assert ActionSpace((STOP,)).knows(action) is (action == STOP)


def test_actions_are_written_with_their_arguments() -> None:
    texts = [str(Action("look", arguments)) for arguments in ((), ("a",), ("a", "b"))]
    assert texts == ["look", "look[a]", "look[a, b]"]


def test_what_is_not_legal_says_so_and_keeps_its_thought() -> None:
    space = ActionSpace((STOP,))
    found = legal(Decision(Action("goto", ("roof",)), "up there"), space)
    assert found == Rejection(
        "illegal", "goto[roof] is not a legal action here", "goto[roof]", "up there"
    )
    assert legal(found, space) is found


def test_of_an_action_that_is_not_legal_the_record_keeps_the_beginning() -> None:
    action = Action("goto", ("x" * 5_000,))
    found = legal(Decision(action), ActionSpace((STOP,)))
    assert isinstance(found, Rejection)
    assert found.said == str(action)[:LONGEST_SAID]
    assert len(found.reason) < LONGEST_SAID + 50


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("goto[070f0a]", "Action('goto', ('070f0a',))"),
        ("put[mug, desk]", "Action('put', ('mug', 'desk'))"),
        ("wait", "Action('wait')"),
        ("stop", "STOP"),
        ("goto[070f0a", "Action('goto[070f0a')"),
    ],
)
def test_advice_for_a_text_is_the_action_that_is_written_so(
    text: str, call: str
) -> None:
    assert decision_problem(text).endswith(f"; write Decision({call})")
    assert plan_problem(text).endswith(f"; write yield {call}")


@pytest.mark.parametrize(
    ("action", "call"),
    [
        (Action("goto[roof]"), "Action('goto', ('roof',))"),
        (Action("goto[cellar]"), "Action('goto', ('cellar',))"),
        (Action("put", ("mug, desk",)), "Action('put', ('mug', 'desk'))"),
    ],
)
def test_an_action_of_the_same_text_is_not_the_one_that_is_meant(
    action: Action, call: str
) -> None:
    listed = (Action("goto", ("roof",)), Action("put", ("mug", "desk")), STOP)
    hint = nearest_legal(action, ActionSpace(listed))
    assert hint.endswith(f": write {call}")
    assert "did you mean" not in hint
