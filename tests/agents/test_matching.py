"""Words matched with what is legal: one of some names, or one action, and why not."""

from __future__ import annotations

import pytest

from wayword.agents.legal import LONGEST_ACTION, Legal, Refusal, is_negated, pick
from wayword.core.action import STOP, Action, ActionSpace

NAMES = ["table", "coffee table", "bed"]
A, B, C = (Action("goto", (place,)) for place in "abc")
MUG = Action("pick_up", ("mug_1",))
ONE = "several actions were named; give exactly one"
VERBS = "the actions are: goto[a], goto[b], pick_up[mug_1], stop, chat[what you say]"
EARLIER = "goto[c] was possible earlier, but not from here"
SPACE = ActionSpace((A, B, MUG, STOP), ("chat",))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("table", "table"),
        ("The Coffee-Table.", "coffee table"),
        ('"bed"', "bed"),
        ("2. bed", "bed"),
        ("bed, because it is near", "bed"),
        ("bed\nI see it from here.", "bed"),
        ("bed\nnot the table", "bed"),
        ("bed\ntable", "several_actions"),
        ("the bed or the table", "several_actions"),
        ("", "empty"),
        (" '' \n", "empty"),
        ("the kitchen", "unknown"),
        ("-", "unknown"),
        ("I like the bed", "unknown"),
        ("bed, or maybe elsewhere", "unknown"),
        ("not the bed", "no_action"),
        ("bed? no", "no_action"),
        ("bed\nScratch that.", "no_action"),
        ("My thoughts:\nbed\nScratch that.", "no_action"),
        ("Scratch that idea.\nbed", "bed"),
        ("bed\n\nNo.", "no_action"),
        ("My thoughts:\nbed\nNo.", "no_action"),
        ("bed\nNo obstacles.", "bed"),
        ("bed\nIs it far?\nNo.", "bed"),
    ],
)
def test_one_of_some_names(words: str, found: str) -> None:
    choice = pick(words, NAMES)
    assert (choice.kind if isinstance(choice, Refusal) else choice) == found


def test_a_name_in_a_sentence_counts_where_sentences_are_requested() -> None:
    assert pick("I would go by the bed now", NAMES, anywhere=True) == "bed"
    choice = pick("the coffee table it is", NAMES, anywhere=True)
    assert choice == "coffee table", "not the table in it"


@pytest.mark.parametrize(
    ("line", "denied"),
    [
        ("not the bed", True),
        ("the bed, not the table", False),
        ("bed, no", True),
        ("bed but never again the table", False),
        ("do not go", False),
        ("never", True),
        ("please no", True),
    ],
)
def test_a_clause_that_names_it_or_is_but_a_no_denies_it(
    line: str, denied: bool
) -> None:
    assert is_negated(line, "bed") is denied


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("goto[a]", A),
        (" GoTo ( 'A' ). ", A),
        ("go to the a", A),
        ("pick-up mug_1", MUG),
        ("Pick up: mug 1", MUG),
        ("stop", STOP),
        ("goto[a] because it is near", A),
        ("goto[a]\nThat is near.", A),
        ("goto[a]\nNo.", A),
        ("goto a\nNo obstacles.", A),
        ("goto[a]\n1. goto[a]", A),
        ("chat: hello  there", Action("chat", ("hello there",))),
        ("chat[hello\nthere]", Action("chat", ("hello there",))),
        ("chat[a (b) c]", Action("chat", ("a (b) c",))),
    ],
)
def test_one_legal_action_is_read(words: str, action: Action) -> None:
    assert Legal(SPACE).read(words) == action


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ("", "empty", "no action was named"),
        ("``", "empty", "no action was named"),
        ("goto a\nNo.", "no_action", "write it like this: goto[a]"),
        ("goto[a] goto[b]", "several_actions", ONE),
        ("goto a, then goto b", "several_actions", ONE),
        ("goto a. Then go to b.", "several_actions", ONE),
        ("goto a, and then stop", "several_actions", ONE),
        ("goto[a]\ngoto[b]", "several_actions", ONE),
        ("chat: goto[a]", "several_actions", ONE),
        ("chat", "empty", "chat needs words: chat[what you say]"),
        ("chat[]", "empty", "chat needs words: chat[what you say]"),
        ("goto[d]", "unknown", "goto[d] is not possible here; for example: goto[a], goto[b]"),
        ("goto[c]", "illegal", f"{EARLIER}; possible: goto[a], goto[b]"),
        ("fly[a]", "unknown", f"there is no action 'fly[a]'; {VERBS}"),
        ("fly away", "unknown", f"there is no action 'fly away'; {VERBS}"),
        ("I would rather fly", "no_action", f"'I would rather fly' is not an action; {VERBS}"),
    ],
)  # fmt: skip
def test_what_is_no_one_legal_action_is_refused_with_what_would_be(
    words: str, kind: str, reason: str
) -> None:
    assert Legal(SPACE, earlier=[C]).read(words) == Refusal(kind, reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        "goto a, next goto b",
        "goto a, afterwards go to the b",
    ],
)
def test_an_action_that_another_one_follows_in_a_sentence_is_not_done_alone(
    words: str,
) -> None:
    assert isinstance(Legal(SPACE).read(words), Refusal)
    assert Legal(SPACE).read("goto a, as to go to a is best") == A, (
        "the same one again is no other"
    )
    assert Legal(SPACE).read("goto a, since b is far") == A
    assert Legal(SPACE).read("goto a so that I can pick up mug 1") == A
    assert Legal(SPACE).read("goto a because I have to stop") == A


def test_an_action_may_have_so_many_characters() -> None:
    message = "x" * (LONGEST_ACTION - len("chat[]"))
    assert Legal(SPACE).read(f"chat[{message}]") == Action("chat", (message,))
    assert Legal(SPACE).read(f"chat[{message}x]") == Refusal(
        "too_long", "the action ran to 2,001 characters"
    )


def test_a_refusal_names_twelve_choices_and_counts_the_rest() -> None:
    many = ActionSpace([Action("goto", (f"p{number}",)) for number in range(14)])
    action = Legal(many).read("goto[q]")
    assert isinstance(action, Refusal)
    assert action.reason.endswith("goto[p10], goto[p11] and 2 more")
    few = Legal(ActionSpace(many.listed[:12])).read("goto[q]")
    assert isinstance(few, Refusal)
    assert few.reason.endswith("goto[p10], goto[p11]")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("goto[a]", A),
        ("The way is clear.\n- goto[a]\nThere I will look.", A),
        ("goto[a]\n\ngoto[a]", A),
        ("stop", STOP),
        ("I cannot say", None),
        ("The way is clear.\nI cannot say", None),
        ("goto[a]\ngoto[b]", "several_actions"),
        ("goto a and then goto b", "several_actions"),
        ("fly away", "unknown"),  # two words are meant as an action
        ("fly[over there to it]", "unknown"),
    ],
)
def test_an_answer_without_labels_is_an_action_or_has_it_on_a_line(
    text: str, found: object
) -> None:
    action = Legal(SPACE).read_unlabeled(text)
    assert (action.kind if isinstance(action, Refusal) else action) == found
