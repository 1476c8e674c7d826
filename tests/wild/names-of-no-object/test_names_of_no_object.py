"""Words for any, all or none of the objects, where unlisted names may be tried."""

from __future__ import annotations

from wayword.agents.legal import Legal, Refusal
from wayword.core.action import STOP, Action, ActionSpace

LISTED = (Action("goto", ("pot_1",)), Action("goto", ("all spice",)), STOP)
HOME = ActionSpace(LISTED, accepts=lambda each: len(each.arguments) == (each != STOP))
CLOSED = ActionSpace(LISTED)
NO_OBJECT = (
    *("any fridge", "any_fridge", "neither", "none of them", "all of them", "both"),
    *("each pot", "every pot", "whichever is closer", "one of the pots", "something"),
    *("the nearest fridge", "another pot", "everything", "alle", "tous", "任意"),
)
ONE_OBJECT = ("fridge 2", "all-purpose cleaner", "anyone_1", "bothy", "ballet shoe")


def reading(words: str, space: ActionSpace = HOME) -> str:
    result = Legal(space).read(f"goto[{words}]")
    return result.kind if isinstance(result, Refusal) else str(result)


def test_words_for_no_certain_object_are_no_name() -> None:
    played = [each for each in NO_OBJECT if reading(each) != "unknown"]
    assert not played


def test_other_words_are_names() -> None:
    assert [reading(each) for each in ONE_OBJECT] == [f"goto[{w}]" for w in ONE_OBJECT]


def test_a_listed_name_may_have_such_a_word() -> None:
    assert reading("all spice") == "goto[all spice]"
    assert reading("all spice", CLOSED) == "goto[all spice]"


def test_a_bare_word_is_no_name_either() -> None:
    assert isinstance(Legal(HOME).read("goto neither"), Refusal)
