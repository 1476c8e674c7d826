"""Types of the Python interface as a user's ``mypy --strict`` sees them; mypy checks this file."""

from pathlib import Path
from typing import assert_type

import wayword
from wayword.core.agent import Agent
from wayword.core.dataset import Dataset
from wayword.core.model import Model
from wayword.runs import EpisodeRecord


def play(agent: type[Agent], dataset: Dataset, model: Model) -> None:
    result = wayword.run(
        agent, dataset, model, limit=3, out=Path("runs/typed"), data="data"
    )
    assert_type(result, wayword.RunResult)
    assert_type(result.episodes, list[EpisodeRecord])
    assert_type(result.failures()[0].gold_length, int | None)
    assert_type(str(result.table(["sr"]) + result.compare(Path("runs/other"))), str)
    wayword.run("random", limit="three")  # type: ignore[arg-type]
    wayword.run(3)  # type: ignore[arg-type]
    wayword.run("random", limt=3)  # type: ignore[call-arg]


async def await_one() -> None:
    assert_type(await wayword.run_async("random", "houses"), wayword.RunResult)
