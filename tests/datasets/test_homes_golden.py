"""One page of episodes, to the letter: whoever changes the generator sees what changed."""

from __future__ import annotations

import os
from pathlib import Path

from helpers.rehearsing import rehearse
from wayword.datasets.household import Household
from wayword.datasets.iqa import InteractiveQuestions
from wayword.datasets.rearrangement import Rearrangement

GOLDEN = Path(__file__).with_name("episodes.golden.txt")


def page() -> str:
    lines = []
    for dataset, count in (
        (Household(), 7),
        (InteractiveQuestions(), 3),
        (Rearrangement(), 3),
    ):
        for task in dataset.tasks[:count]:
            pose = task.episode.start["poses"]["agent"]
            where = f"({pose['x']:.2f}, {pose['y']:.2f}) facing {pose['heading']:.0f}"
            lines += [task.episode.id, f"  {where}", f"  {task.episode.instruction}"]
            actions = rehearse(
                dataset.world(task.episode), task.episode, task.reference
            )
            hands = [str(a) for a in actions if a.arguments]
            lines.append(
                f"  {len(actions)} actions, among them: {' '.join(hands) or 'none'}"
            )
    return "\n".join(lines) + "\n"


def test_the_first_episodes_are_as_written_down() -> None:
    """Set ``WAYWORD_REGOLD=1`` to write the page anew."""
    found = page()
    if os.environ.get("WAYWORD_REGOLD"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
