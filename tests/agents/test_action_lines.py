"""Actions of a prompt: each verb on one line, with the others of its description."""

from __future__ import annotations

from itertools import combinations

import pytest

from wayword.agents.strategies.briefing import action_lines, offered
from wayword.core.action import STOP, Action, ActionSpace

CATALOG = """\
open[object]: change it
turn_left: turn
close[object]: change it
turn_right: turn
stop[answer]: end with an answer
stop: end
chat[message]: speak
"""
VERBS = {
    "open": (Action("open", ("box_1",)), "change it"),
    "close": (Action("close", ("box_1",)), "change it"),
    "turn_left": (Action("turn_left"), "turn"),
    "turn_right": (Action("turn_right"), "turn"),
    "dance": (Action("dance"), ""),  # which the catalog lacks
    "stop": (STOP, "end"),
}
CHOICES = [
    chosen for size in (1, 2, 3, 6) for chosen in combinations(VERBS, size)
]  # fmt: skip


@pytest.mark.parametrize("chosen", CHOICES, ids=" ".join)
def test_verbs_share_the_line_of_their_description_and_stand_once(
    chosen: tuple[str, ...],
) -> None:
    space = ActionSpace(tuple(VERBS[verb][0] for verb in chosen))
    lines = action_lines(CATALOG, space, argument=False).splitlines()
    found: dict[str, str] = {}
    for line in lines:
        heads, _, about = line.partition(": ")
        assert line == line.strip()
        for head in heads.split(", "):
            verb = head.partition("[")[0]
            assert verb not in found, "a verb stands once"
            found[verb] = about
    assert found == {verb: VERBS[verb][1] for verb in chosen}
    described = [line.partition(": ")[2] for line in lines]
    assert len({*described} - {""}) == len([each for each in described if each])


@pytest.mark.parametrize("argument", [True, False])
def test_a_verb_that_takes_a_text_has_the_line_with_its_argument(
    argument: bool,
) -> None:
    space = ActionSpace((Action("turn_left"), STOP), ("stop", "chat"))
    lines = action_lines(CATALOG, space, argument).splitlines()
    stop = "stop (argument: answer)" if argument else "stop[answer]"
    chat = "chat (argument: message)" if argument else "chat[message]"
    assert lines == [
        "turn_left: turn", f"{stop}: end with an answer", f"{chat}: speak"
    ]  # fmt: skip


def test_an_action_that_any_name_fits_has_its_line_though_none_is_listed() -> None:
    space = ActionSpace((STOP,), accepts=lambda action: action.name == "open")
    assert (
        action_lines(CATALOG, space, argument=False)
        == "open[object]: change it\nstop: end"
    )


@pytest.mark.parametrize("most", [0, 1, 2, 3, 9])
def test_a_schema_lists_the_shortest_actions_on_what_is_in_view(most: int) -> None:
    """The others are covered by one pattern for each verb and number of arguments."""
    names = ("cup_1", "mug_10", "saucer_100", "unseen_1")
    actions = [Action("goto", (name,)) for name in names]
    space = ActionSpace((*actions, STOP))
    shown = offered(space, "Before you: cup_1, mug_10 and saucer_100.", most)
    in_view = [STOP, *actions[:3]]  # by their length
    assert set(shown.listed) == set(in_view[:most])
    assert [each for each in space.listed if each in shown.listed] == list(shown.listed)
    forms = {form.partition("\\[")[0] for form in shown.forms}
    assert forms == ({"goto", "stop"} if most == 0 else {"goto"})
