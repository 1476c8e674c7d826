"""The oldest steps are dropped where a prompt overflows, half of them only for a prefix cache."""

from __future__ import annotations

import pytest

from wayword.agents.prompting import Conversation, History
from wayword.core.model import Image


@pytest.mark.parametrize(("halve", "dropped"), [(False, 2), (True, 5)])
def test_only_what_must_go_is_dropped_without_a_prefix_cache(
    halve: bool, dropped: int
) -> None:
    history = History()
    for number in range(10):
        history.add(f"step {number} " * 10)
    assert history.fit(sum(map(len, history.blocks[2:])), halve) == dropped
    assert history.blocks[0].startswith(f"step {dropped}")


@pytest.mark.parametrize("most", [0, 1, 3])
@pytest.mark.parametrize("dropped", range(6))
def test_the_pictures_of_the_latest_turns_stay_unless_the_turn_was_dropped(
    dropped: int, most: int
) -> None:
    chat = Conversation("", "Go.", most_looks=most)
    for number in range(5):
        chat.add(f"message {number}", "answer")
        chat.keep_look(f"look {number}", (Image(b"1"),))
    chat.history.dropped = dropped
    kept = [number for number in range(5) if number >= max(dropped, 5 - most)]
    assert list(chat.looks) == kept
    messages = chat.messages("now")
    shown = [message for message in messages if message.images]
    pairs = zip(kept, shown, strict=True)
    assert all(f"look {number}" in message.content for number, message in pairs)
