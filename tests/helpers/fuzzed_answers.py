"""Answers that no model should write, for every reader of answers, and how long each one takes.

``python -m helpers.fuzzed_answers 20000`` (in ``tests/``) reads that many with each reader and
prints a table of CPU times; the tests read a few, and the texts that were slow once.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from wayword.agents import human
from wayword.agents.answers import Reply, StrategyRecipe, items, one_line, read_choice
from wayword.agents.clauses import named_part
from wayword.agents.discussnav import experts
from wayword.agents.legal import Legal, parse_exact, pick
from wayword.agents.navgpt.agent import one_sentence
from wayword.agents.pages import Prompts
from wayword.agents.search.lgx import first_word_fits, read_pick
from wayword.agents.strategies import strategy
from wayword.agents.strategies.agents import read_reflection
from wayword.agents.team import messages
from wayword.agents.velma.agent import read_actions, read_landmarks
from wayword.core.action import STOP, Action, ActionSpace
from wayword.models.parts.decoding import split_thought

ITEMS = [f"thing_{n}" for n in range(40)]
IDS = [f"v{n}" for n in range(12)]
SPACE = ActionSpace(
    (
        *(
            Action(verb, (thing,))
            for verb in ("goto", "go_grab", "open")
            for thing in ITEMS
        ),
        *(Action("put", (thing, place)) for thing in ITEMS[:10] for place in ITEMS),
        Action("turn_left"),
        STOP,
    ),
    ("chat",),
)
LEGAL = Legal(SPACE)
LEGAL.read("turn")  # its lists of the menu are made once a step, whatever the answer is
RECIPES = {
    name: StrategyRecipe(Prompts(strategy.__file__, page="strategy.jinja")[name], name)
    for name in ("act", "react", "react_emmem")
}
ACTIONS = [f"go past the lamp number {n}" for n in range(100)]
PARTS = ["leave the room", "go up the stairs", "stop by the lamp"]


def _landmarks(reply: Reply) -> None:
    found = experts.LANDMARKS.read(reply.text)
    for mark in found["landmarks"] if found else ():
        experts.parse_landmark(mark)


def _completion(reply: Reply) -> None:
    found = experts.COMPLETION.read(reply.text)
    if found:
        experts.match_actions(ACTIONS, found)


def _strategy(name: str) -> Callable[[Reply], object]:
    def read_one(reply: Reply) -> object:
        one_line(reply.text[:200])
        return RECIPES[name].decision(reply, LEGAL)

    return read_one


READERS: dict[str, Callable[[Reply], object]] = {
    "reply": lambda reply: reply.unreadable(),
    "navgpt": lambda reply: read_choice(reply, IDS, ITEMS),
    "navgpt summary": lambda reply: one_sentence(reply.text),
    "navgpt clauses": lambda reply: named_part(one_line(reply.text), PARTS),
    "discussnav prediction": lambda reply: experts.read_opinion(reply, IDS),
    "discussnav actions": lambda reply: experts.DECOMPOSITION.read(reply.text),
    "discussnav landmarks": _landmarks,
    "discussnav summary": lambda reply: experts.SUMMARY.read(reply.text),
    "discussnav completion": _completion,
    "discussnav words": lambda reply: " ".join(reply.text.split()),
    "lgx": lambda reply: (
        read_pick(reply, ITEMS),
        first_word_fits(reply.text, ITEMS),
    ),
    "velma": lambda reply: read_actions(reply, 5),
    "velma landmarks": read_landmarks,
    "act": _strategy("act"),
    "react": _strategy("react"),
    "react_emmem": _strategy("react_emmem"),
    "reflexion": lambda reply: read_reflection(reply, must_be_labeled=False),
    "lists": lambda reply: items(reply.text),
}
"""Readers of a reply: each is given the text as :class:`Reply` has it."""

RAW: dict[str, Callable[[str], object]] = {
    "partner": lambda text: (
        messages.needs_reply(text),
        messages.not_understood("partner", text),
    ),
    "follower": lambda text: messages.parse(
        messages.message_to("follower_1", text) or ""
    ),
    "environment choice": lambda text: pick(text, ITEMS),
    "environment action": lambda text: parse_exact(text, SPACE),
    "action": LEGAL.read,
    "human": lambda text: human.parse_input(text[:4000], SPACE),
    "thought apart": split_thought,
}
"""Readers of a raw text."""

FRAGMENTS = (
    *"{[(<\"'`*_#>-.,:;! \t\n\\/0aZé",
    *(
        '{"',
        '{"a":',
        '{"action":',
        '["',
        "[{",
        "{}",
        "[]",
        "}{",
        '"action": "',
        '{"action":"v1"}',
    ),
    *(
        "<think>",
        "</think>",
        "<think",
        "[THINK]",
        "<a:",
        "<ns:think>",
        "```",
        "```json\n",
        "~~~",
    ),
    *(
        "Action: ",
        "action:v1\n",
        "action_input: v1\n",
        "Thought: ",
        "prediction:",
        "# action ",
    ),
    *(
        "Actions:\n",
        "Executed:\n",
        "Landmarks:\n",
        "verdict: ",
        "lesson: ",
        "points",
        "arrived: ",
    ),
    *(
        "1. a\n",
        "- b\n",
        "5. forward\n",
        "6. left\n",
        "goto",
        "goto[",
        "goto[thing_1]",
        "put[",
    ),
    *(
        "a ",
        "a,",
        "a1",
        "a b ",
        "aaaa",
        "  ",
        " \n",
        "\t ",
        "a\t",
        "not ",
        "or ",
        "the ",
        "to ",
    ),
    *(
        "thing_1",
        "thing_1, ",
        "v1",
        "v1 ",
        "v1,",
        "in the kitchen to a_1",
        "I see a_1",
        "_1",
        ". ",
    ),
    *(
        "Please bring a_1",
        " from b_2",
        "follower_1: ",
        "I take ",
        "(a",
        "a(",
        "((",
        "))",
        "[[",
        "]]",
    ),
    *(
        "\ud800",
        "\ud83d\ude00",
        "\x00",
        "\u2028",
        "ﬀ",
        "İ",
        "9" * 50,
        "\\ud800",
        '":',
        '",',
        "->",
    ),
)
GOOD = (
    "Thought: near\nAction: goto[thing_1]",
    '{"thought": "near", "arrived": false, "action": "v1"}',
    "<think>v1 or v2?</think>Thought: near\nAction Input: v1",
    "5. forward\n6. left",
    "Actions:\n1. Turn left.\n2. Stop.\nLandmarks:\n1. lamp (object)",
    "Thought: on\nExecuted:\n1. turn\nIn progress:\n1. go\nWaiting:\n1. stop",
    '{"points": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]}',
    "Please bring mug_1 from cabinet_2 in the kitchen to sink_basin_1 in the kitchen.",
    "Verdict: failed\nLesson: look into the fridge first.",
)
SIZES = (20, 200, 1_000, 2_000, 4_000, 8_000, 8_000, 16_000, 40_000)
HUGE = 1_000_000


def answers(count: int, seed: int, huge: float = 0.02) -> Iterator[str]:
    """Random answers: fragments repeated, joined and spliced into good ones; the share ``huge`` of
    them a megabyte long."""
    rng = random.Random(seed)
    for _ in range(count):
        size = HUGE if rng.random() < huge else rng.choice(SIZES)
        pieces = [_run(rng, size) for _ in range(rng.choice((1, 1, 2, 3, 6)))]
        if rng.random() < 0.5:
            good = rng.choice(GOOD)
            at = rng.randrange(len(good) + 1)
            pieces = [good[:at], *pieces, good[at:]]
        text = rng.choice(("", "", " ", "\n")).join(pieces)
        yield text[:size] + rng.choice(("", ".", "x", "\n", "}", '"}', "]"))


def _run(rng: random.Random, size: int) -> str:
    """One to three fragments, repeated over and over or mixed."""
    some = [rng.choice(FRAGMENTS) for _ in range(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.3:
        return "".join(rng.choice(FRAGMENTS) for _ in range(min(size, 400) // 4))
    unit = "".join(some)
    return (unit * (size // len(unit) + 1))[
        : rng.choice((size, size, max(1, size // 3)))
    ]


def seconds(text: str, cut: bool) -> dict[str, float]:
    """CPU time of this thread that each reader takes; a text that is ``cut`` ended at its limit.

    The time of the reply counts for each reader of replies, though it is made once here.
    """
    found = {}
    # a collection of the objects of all earlier tests takes longer than any reader may
    gc.disable()
    try:
        start_time = time.thread_time()
        reply = Reply.of(text, (), "cut off at 9 tokens" if cut else "")
        preparing = time.thread_time() - start_time
        for name, reader in READERS.items():
            start_time = time.thread_time()
            reader(reply)
            found[name] = preparing + time.thread_time() - start_time
        for name, raw in RAW.items():
            start_time = time.thread_time()
            raw(text)
            found[name] = time.thread_time() - start_time
    finally:
        gc.enable()
    return found


def main(count: int, seed: int) -> None:
    """Print the CPU time of ``count`` answers by reader."""
    times: dict[str, list[float]] = {name: [] for name in (*READERS, *RAW)}
    worst: dict[str, tuple[float, str]] = {}
    for number, text in enumerate(answers(count, seed)):
        for name, spent in seconds(text, cut=number % 2 == 0).items():
            times[name].append(spent)
            if spent > worst.get(name, (0.0, ""))[0]:
                worst[name] = (
                    spent,
                    f"{text[:30]!r} … {text[-12:]!r} ({len(text):,}, no. {number})",
                )
    lines = [
        f"{'reader':<22} {'answers':>8} {'median ms':>10} {'99% ms':>8} {'most ms':>8}  slowest"
    ]
    for name, each in times.items():
        (middle, high), (most, shown) = (
            1000 * np.percentile(each, [50, 99]),
            worst[name],
        )
        figures = f"{middle:>10.2f} {high:>8.1f} {1000 * most:>8.1f}"
        lines.append(f"{name:<22} {len(each):>8,} {figures}  {shown}")
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
