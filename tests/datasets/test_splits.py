"""Train and test splits of generated datasets share no episode, by what an agent reads of them.

``grounding``, whose small levels have few states, is compared by its states in test_grounding.
"""

from __future__ import annotations

from typing import Any

import pytest

from wayword.envs.environment import make

SMALL: dict[str, dict[str, Any]] = {
    "houses": {"houses": 2, "episodes": 8},
    "towns": {"towns": 2, "episodes": 8},
    "apartments": {"homes": 2, "episodes": 8},
    "household": {"homes": 2, "episodes": 14},
    "iqa": {"homes": 2, "episodes": 12},
    "rearrangement": {"homes": 2, "episodes": 4},
    "grounding_homes": {"homes": 2, "episodes": 8},
    "ma_wah": {"homes": 2, "episodes": 4},
    "ma_household": {"homes": 2, "episodes": 4},
}
OWN_NAMES = {"houses", "towns", "apartments"}
"""Their splits are ``test`` and ``train``; of the others, ``generated_test`` and so on."""


@pytest.mark.parametrize("name", SMALL)
def test_no_train_episode_reads_as_a_test_episode(name: str) -> None:
    read = {}
    for split in ("test", "train"):
        env = make(
            f"{name}:{'' if name in OWN_NAMES else 'generated_'}{split}", settings=SMALL[name]
        )
        texts = [str(env.reset(episode=number)[0]) for number in range(len(env.tasks))]
        read[split] = set(texts)
        assert len(read[split]) == len(texts)
    assert not read["test"] & read["train"]
