"""Phrases of Grounding DINO in texts that its encoder reads wholly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wayword.core.perceiver import Box, Picture
from wayword.perception.networks.eyes import GroundingDino, _sentence


class Stub(GroundingDino):
    """A grounder that reads ten tokens, and finds a box for each phrase that it is given."""

    def __init__(self) -> None:
        self.given: list[list[str]] = []
        self.model = SimpleNamespace(config=SimpleNamespace(max_text_len=10))
        self.processor = SimpleNamespace(tokenizer=self.tokenize)

    def tokenize(self, text: str) -> dict[str, list[str]]:
        """Return a token for each word and full stop, and those of both ends."""
        words = text.replace(".", " .").split()
        return {"input_ids": ["[CLS]", *words, "[SEP]"]}

    def _find(
        self, pictures: Sequence[Picture], phrases: Sequence[str]
    ) -> list[list[Box]]:
        self.given.append(list(phrases))
        found = [Box(name, len(name) / 100, 0.0, 0.0, 1.0, 1.0) for name in phrases]
        return [found for _ in pictures]


def find(phrases: list[str]) -> tuple[Stub, list[list[Box]]]:
    eye = Stub()
    pictures: list[Any] = [np.zeros((2, 2, 3), np.uint8)] * 2
    return eye, asyncio.run(eye.find(pictures, phrases))


def test_phrases_are_read_in_texts_that_fit() -> None:
    phrases = ["chair", "red door", "bed", "lamp", "oven", "rug"]
    eye, found = find(phrases)
    assert eye.given == [["chair", "red door", "bed"], ["lamp", "oven", "rug"]]
    for boxes in found:
        assert sorted(box.name for box in boxes) == sorted(phrases)
        assert [box.score for box in boxes] == sorted(
            (box.score for box in boxes), reverse=True
        )


def test_few_phrases_form_one_text() -> None:
    eye = find(["chair", "red door"])[0]
    assert eye.given == [["chair", "red door"]]
    assert find([])[1] == [[], []]


@pytest.mark.parametrize(
    ("phrase", "sentence"),
    [
        ("Chair", "chair."),
        (" red chair. ", "red chair."),
        ("T.V. stand", "tv stand."),
        ("chair no. 5", "chair no 5."),
    ],
)
def test_a_phrase_has_one_full_stop(phrase: str, sentence: str) -> None:
    assert _sentence(phrase) == sentence
