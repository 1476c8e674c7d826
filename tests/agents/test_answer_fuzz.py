"""Readers of answers under load: none raises, and none keeps the other episodes waiting."""

from __future__ import annotations

import pytest

from helpers.fuzzed_answers import HUGE, answers, seconds
from helpers.sampling import LONG
from wayword.agents.answers import Reply
from wayword.agents.discussnav.experts import COMPLETION
from wayword.agents.retractions import LONGEST

MOST = 0.5
"""Seconds of CPU time; measured are 0.03 at most. It is not wall time, and what these tests are
there for took from 1 to over 100 s."""


@pytest.mark.parametrize(
    "text",
    [
        "a" * 60_000 + ".",  # cut off: the last word was looked for from every place
        "Action: " + "goto[thing_1] " * 4_000 + ".",
        "# action" + " " * 7_900 + "x",
        "a" + " " * 7_900 + "b",
        "goto[thing_1] " + "a1" * 3_900,
        "go " + "goto[" * 1_500,
        '{"a":' * 900 + "1" + "}" * 900,
        '{"action":' + '{"a":' * 800 + "1" + "}" * 801,
        "Executed:\n" + "".join(f"{n}. go past lamp {n}\n" for n in range(400)),
        "\ud800" * HUGE,
        "<a" * (HUGE // 2),
        "</think>" * (HUGE // 8),
        "a" + " " * 30_000 + "</think>v1",
        "[[[" * 900,
        "<function=" * 6_000,
        "<tool_call>a" * 5_000,
        '<invoke name="a">' * 3_000,
        "tool_call a" + " " * 30_000 + "b",
        "<｜tool▁call▁begin｜>a<｜tool▁sep｜>" * 2_000,
        "{'a': " * 1_500,
        "{'" + "}" * 7_000,
        "Actions:\n" + "0." * 3_900,
        "{'a': " * 30 + "6. left, " * 700 + "]" * 100,
    ],
    ids=lambda text: f"{text[:12]!r}-{len(text)}".encode("ascii", "replace").decode(),
)
def test_texts_that_were_slow_take_no_time(text: str) -> None:
    for cut in (False, True):
        slow = {
            name: spent for name, spent in seconds(text, cut).items() if spent > MOST
        }
        assert not slow


def test_random_answers_are_read_by_every_reader_in_no_time() -> None:
    for number, text in enumerate(answers(150 if LONG else 60, seed=25)):
        slow = {
            n: spent
            for n, spent in seconds(text, number % 2 == 0).items()
            if spent > MOST
        }
        assert not slow, text[:200]


@pytest.mark.parametrize("shape", ['{"a": %s}', "[%s]"])
@pytest.mark.parametrize("depth", [60, 480, 900, 985, 995])
def test_deep_nesting_is_read_or_refused(shape: str, depth: int) -> None:
    before, after = shape.split("%s")
    nested = before * depth + "1" + after * depth
    for name in ("thought", "action", "points", "lesson"):
        assert not {
            reader: spent
            for reader, spent in seconds(
                f'{{"thought": "x", "{name}": {nested}}}', False
            ).items()
            if spent > MOST
        }


def test_a_long_answer_keeps_its_ends() -> None:
    thought = "<think>" + "hm, " * 300_000 + "</think>\nAction: goto[b]"
    assert Reply.of(thought).text == "Action: goto[b]", (
        "the answer follows a very long thought"
    )
    first = Reply.of(
        "Action: left\nObservation: " + "a wall " * 200_000, ("\nObservation:",)
    )
    assert first.text == "Action: left", (
        "and one that did not stop ends where it should have"
    )
    endless = Reply.of("left " * 200_000)
    assert (len(endless.text), endless.unreadable() is None) == (LONGEST + 1, False)


def test_the_broken_word_at_the_end_of_a_cut_answer_is_left_out() -> None:
    for messages, text in (
        ("go to v1", "go to "),
        ('{"a": "b', '{"a": "'),
        ("left.", "left."),
        ("ab", ""),
    ):
        assert Reply.of(messages, (), "cut off").text == text


def test_an_expert_that_lists_everything_is_followed_in_no_time() -> None:
    found = COMPLETION.read("Executed:\n" + "1. go\n" * 1_300)
    assert found is not None
    assert len(found["executed"]) == 100
