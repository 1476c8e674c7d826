"""Gold walks that an agent cannot follow to their end are not learnt from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recipes.language.config import Recipe, Source, Task
from recipes.language.loop import Run

from wayword.training.examples import Example


@pytest.mark.parametrize(
    ("arrive", "said"), [(4, ""), (3, ", 1 that do not arrive left out")]
)
def test_gold_walks_that_do_not_arrive_are_left_out(arrive: int, said: str) -> None:
    class Plays:
        count = 0

        async def example(self, task: Any, student: None, method: str) -> Example:
            self.count += 1
            return Example(
                task.episode.id, "houses:train", "", (), self.count <= arrive
            )

    lines: list[str] = []
    source = Source("houses:train", {"houses": 2, "episodes": 4})
    player = Plays()
    run: Any = SimpleNamespace(
        recipe=Recipe([Task("walker", [source], source)]), data=Path("nowhere"),
        report=lines.append, _player=lambda *given: player,
    )  # fmt: skip
    assert len(Run._gold_walks(run)) == arrive
    assert lines == [f"houses:train: {arrive} gold walks{said}"]
