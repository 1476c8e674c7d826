"""One perceiver: what it can follows from what it implements, and what it lacks is said."""

from __future__ import annotations

import asyncio

import pytest

from wayword.core.errors import UsageError
from wayword.core.perceiver import (
    ABILITIES,
    Perceiver,
    Percept,
    WatchedPerceiver,
    need,
)


class Bare(Perceiver):
    name = "bare"

    def perceive(self, scene: str, place: str) -> Percept:
        return Percept((), "A bare room.")


class Grown(Bare):
    name = "grown"

    async def tags(self, pictures: object) -> list[list[str]]:
        return [["bed"]]


def test_capabilities_are_the_methods_a_class_implements() -> None:
    assert Perceiver().capabilities == frozenset()
    assert Bare().capabilities == {"perceive"}
    assert Grown().capabilities == {"perceive", "tags"}
    assert all(callable(getattr(Perceiver, name)) for name in ABILITIES)


def test_what_is_needed_is_given_or_named() -> None:
    bare = Bare()
    assert need(bare, "perceive", "navgpt") is bare
    text = "pictures=true needs a perceiver that can show pictures of places .*bare only has: per"
    with pytest.raises(UsageError, match=text):
        need(bare, "picture", "pictures=true")
    with pytest.raises(UsageError, match=r"navgpt needs .*this dataset has none"):
        need(None, "perceive", "navgpt")


def test_a_method_that_is_not_implemented_raises() -> None:
    with pytest.raises(UsageError, match=r"\(score\); bare only has: perceive"):
        Bare().score("", "", [0], ["a park"])
    with pytest.raises(UsageError, match="caption pictures"):
        asyncio.run(Bare().captions([]))
    assert Bare().flow("", "", 0) is None


def test_a_watched_perceiver_is_the_other_one_and_hands_on_what_is_read() -> None:
    read: list[Percept] = []
    watched = WatchedPerceiver(Grown(), read.append)
    assert watched.name == "grown"
    assert watched.capabilities == {"perceive", "tags"}
    assert asyncio.run(watched.tags([])) == [["bed"]]
    assert read == []
    assert watched.perceive("", "") == Bare().perceive("", "")
    assert read == [Bare().perceive("", "")]
