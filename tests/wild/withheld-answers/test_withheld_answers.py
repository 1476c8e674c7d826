"""Empty answers of a content filter, and others."""

from __future__ import annotations

import pytest

from wayword.agents.answers import replies
from wayword.core.model import Completion, Sampling


@pytest.mark.parametrize(
    "finish", ["content_filter", "SAFETY", "RECITATION", "refusal", "sensitive"]
)
def test_a_withheld_answer_names_the_filter(finish: str) -> None:
    (reply,) = replies(Completion(("",), finish=(finish,)), Sampling())
    rejection = reply.unreadable()
    assert rejection is not None
    assert (rejection.kind, "content filter" in rejection.reason) == ("empty", True)


@pytest.mark.parametrize("finish", ["stop", "", "tool_calls"])
def test_another_empty_answer_does_not(finish: str) -> None:
    (reply,) = replies(Completion(("",), finish=(finish,)), Sampling())
    rejection = reply.unreadable()
    assert rejection is not None
    assert rejection.reason == "the answer was empty"


def test_what_was_written_before_the_filter_is_read() -> None:
    (reply,) = replies(
        Completion(("Action: stop",), finish=("content_filter",)), Sampling()
    )
    assert reply.unreadable() is None
