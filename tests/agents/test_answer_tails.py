"""What follows an action never changes its reading: random tails after a good answer, by reader.

30,000 tails a reader with ``WAYWORD_CHAOS=long``; the gate plays a sample. A tail is anything but
another action at its beginning or on a line of its own, which makes two actions of one. So its
first word opens no bracket: ``looks [ chat[hi] ]`` is a call around a whole action.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from helpers.sampling import LONG
from wayword.agents import human
from wayword.agents.answers import Reply, StrategyRecipe, read_choice, read_pick
from wayword.agents.discussnav.experts import Opinion, read_opinion
from wayword.agents.legal import Legal, pick
from wayword.agents.velma.agent import read_actions
from wayword.core.action import STOP, Action, ActionSpace, Decision

TAILS = 30_000 if LONG else 250
NAMES = ("pot_1", "pan_1", "v12", "3")
POT = Action("goto", ("pot_1",))
LISTED = (POT, Action("goto", ("pan_1",)), Action("open", ("box_1",)), STOP)
CLOSED = ActionSpace(LISTED, ("chat",))
OPEN = ActionSpace(
    LISTED, accepts=lambda action: len(action.arguments) == (action.name != "stop")
)

OPENERS = (
    *(" because ", ". This ", ". Then I will ", " # ", " (", ", since ", "; as "),
    *("\nThat ", "\n\nReason: ", "</s>", "<|im_end|>\n", "<|endoftext|>"),
    *("\nObservation: ", ".\n("),
)
"""Beginnings of thought after any option; more are thought after a call."""
AFTER_A_CALL = (
    *(" maybe ", " rather than ", " not ", " so ", " [", " — ", " // ", " to ", "? "),
    *(" or better: ", " unless ", " 👍 ", " | ", " => ", ", hopefully "),
)
WORDS = (
    *(
        [
            "it",
            "is",
            "near",
            "the",
            "pot_1",
            "pan_1",
            "goto[pan_1]",
            "stop",
            "not",
            "maybe",
            "or",
            "look",
        ]
    ),
    *(
        [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            '"',
            "`",
            "*",
            "#",
            "?",
            "!",
            ".",
            ",",
            ":",
            "v12",
            "left",
            "🙂",
            "…",
            "\\n",
            "0.9",
            "kitchen",
        ]
    ),
    *(["因为", "chat[hi]", "no", "never", "<b>", "|", "~~", "--", "=>"]),
    *("open the box", "and then", "5. forward", "ich gehe", "\u00a0"),
)
LINES = (
    *("That is all.", "I hope so", "Reason: none", "> quoted", "| a | b |", "---"),
    *("P.S. good", "Confidence: 0.8", "So I go.", "```", "})", "…"),
)


def tail(rng: random.Random, is_call: bool) -> str:
    """A random tail; a bare option ends at punctuation or at a word such as "because"."""
    openers = (*OPENERS, *AFTER_A_CALL) if is_call else OPENERS
    opener = rng.choice(openers)
    first_word = rng.choice(("it", "kitchen", "looks", "I"))
    words = [rng.choice(WORDS) for _ in range(rng.randrange(30))]
    if words[:1] in (["("], ["["]):
        del words[0]
    text = opener + " ".join([first_word, *words])
    for _ in range(rng.randrange(4)):
        text += "\n" + rng.choice(LINES)
    return text


def strategy(form: str, space: ActionSpace) -> Callable[[str], object]:
    recipe = StrategyRecipe(form, "x")
    legal = Legal(space)

    def read(text: str) -> object:
        outcome = recipe.decision(text, legal).outcome
        return outcome.action if isinstance(outcome, Decision) else outcome

    return read


REACT = "Thought: why\nAction: what"
EMMEM = "State:\n  place: a\n  holding: b\nPlan: c\nAction: d"


def choice(text: str) -> object:
    return getattr(read_choice(text, NAMES), "choice", text)


def opinion(text: str) -> object:
    result = read_opinion(text, NAMES)
    return result.choice if isinstance(result, Opinion) else result


def velma(text: str) -> object:
    result = read_actions(text, 5)
    return result[:1] if isinstance(result, list) else result


READERS: dict[str, tuple[Callable[[str], object], str, object, bool]] = {
    "react": (strategy(REACT, CLOSED), "Thought: on\nAction: goto[pot_1]", POT, True),
    "react, any name": (
        strategy(REACT, OPEN), "Thought: on\nAction: goto[pot_1]", POT, True
    ),
    "react, round": (strategy(REACT, OPEN), 'Action: goto("pot_1")', POT, True),
    "react, bare": (strategy(REACT, CLOSED), "Action: goto pot_1", POT, False),
    "react, bare, any name": (strategy(REACT, OPEN), "Action: goto pot_1", POT, False),
    "react, stop": (strategy(REACT, OPEN), "Action: stop", STOP, False),
    "react, tags": (
        strategy(REACT, OPEN), "<action>goto[pot_1]</action>", POT, True
    ),
    "act": (strategy("Action: what", CLOSED), "goto[pot_1]", POT, True),
    "act, any name": (strategy("Action: what", OPEN), "goto[pot_1]", POT, True),
    "react_emmem": (
        strategy(EMMEM, OPEN),
        "State: place: a; holding: b\nPlan: c\nAction: goto[pot_1]",
        POT,
        True,
    ),
    "action": (Legal(CLOSED).read, "goto[pot_1]", POT, True),
    "message": (
        Legal(CLOSED).read, "chat[go on]", Action("chat", ("go on",)), True
    ),
    "human": (
        lambda text: human.parse_input(text.split("\n")[0], OPEN),
        "goto[pot_1]",
        POT,
        True,
    ),
    "navgpt": (choice, "Action: action_maker\nAction Input: v12", "v12", False),
    "navgpt, quoted": (choice, 'Action Input: "pot_1"', "pot_1", False),
    "navgpt, numbered": (choice, "Action Input: 3", "3", False),
    "navgpt, call": (choice, 'Action: action_maker("v12")', "v12", True),
    "discussnav": (opinion, "Thought: on\nPrediction: 3", "3", False),
    "lgx": (lambda text: read_pick(text, NAMES), "Answer: pot_1", "pot_1", False),
    "environment": (lambda text: pick(text, NAMES), "pan_1", "pan_1", False),
    "velma": (
        lambda text: velma(text), "5. forward", ["forward"], False
    ),
}  # fmt: skip
"""Readers: a function, a good answer, its reading, and whether it is a call."""


@pytest.mark.parametrize("name", READERS)
def test_what_follows_an_action_never_changes_its_reading(name: str) -> None:
    read, answer, reading, is_call = READERS[name]
    assert read(answer) == reading
    rng = random.Random(name)
    wrong = {}
    for _ in range(TAILS):
        text = answer + tail(rng, is_call)
        result = read(Reply.of(text).text)
        if result != reading:
            wrong[text] = result
    assert not wrong, (len(wrong), next(iter(wrong.items())))
