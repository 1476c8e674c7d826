"""The folders in examples/environments, run by the other side.

That is verl's registry of interactions; verifiers' runner has a file of its own.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "environments"


def test_the_hub_package_is_installed_from_its_folder() -> None:
    """Installed by `make test-envs`, as the hub does; test_verifiers.py runs it by its name."""
    found = importlib.util.find_spec("wayword_env")
    assert found is not None
    assert found.origin is not None
    assert Path(found.origin).parent == FOLDER / "hub"


@pytest.fixture
def interaction(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, on verl's own base class. verl's package as a whole imports Ray and tensordict,
    so only its folder of interactions is opened."""
    found = importlib.util.find_spec("verl")
    assert found is not None
    assert found.submodule_search_locations is not None
    package = ModuleType("verl")
    package.__path__ = list(found.submodule_search_locations)
    monkeypatch.setitem(sys.modules, "verl", package)
    monkeypatch.syspath_prepend(str(FOLDER / "verl"))
    return importlib.import_module("wayword_interaction")


def test_verls_registry_opens_the_interaction_and_a_rollout_is_paid(
    interaction: ModuleType,
) -> None:
    registry = importlib.import_module("verl.interactions.utils.interaction_registry")
    opened = registry.initialize_interactions_from_config(
        str(FOLDER / "verl" / "interaction.yaml")
    )
    assert list(opened) == ["wayword"]
    agent = opened["wayword"]
    assert isinstance(
        agent, importlib.import_module("verl.interactions.base").BaseInteraction
    )
    from wayword.envs import make

    rows = interaction.rows("houses:train", 3, max_steps=30)

    async def rollout(row: dict[str, Any], number: int) -> tuple[float, int]:
        """As verl's ``ToolAgentLoop`` plays a row, with an expert as its model."""
        given = row["extra_info"]["interaction_kwargs"]
        expert = make("houses:train", include=["expert_action"], max_steps=30)
        _, info = expert.reset(episode=given["episode"])
        messages = list(row["prompt"])
        scores = list[float]()
        over = False
        await agent.start_interaction(f"request-{number}", **given)
        while not over:
            command = info["expert_action"]
            messages.append({"role": "assistant", "content": command})
            over, text, score, _ = await agent.generate_response(
                f"request-{number}", messages, **given
            )
            expected, *_, info = expert.step(command)
            assert text == expected
            messages.append({"role": "user", "content": text})
            scores.append(score)
        extra = {**row["extra_info"], "turn_scores": scores}
        return interaction.compute_score(row["data_source"], "", "", extra), len(scores)

    async def play() -> list[tuple[float, int]]:
        return await asyncio.gather(
            *(rollout(row, number) for number, row in enumerate(rows))
        )

    results = asyncio.run(play())
    assert [paid for paid, _ in results] == [1.0, 1.0, 1.0]
    assert all(turns > 1 for _, turns in results)
    assert not agent._environments, "finished environments are released"


def test_rows_for_verl_are_written_as_its_dataset_reads_them(
    interaction: ModuleType, tmp_path: Path
) -> None:
    from datasets import load_dataset

    path = tmp_path / "train.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in interaction.rows("two_phase", 2))
    )
    table = load_dataset(
        "json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c")
    )
    assert {"data_source", "prompt", "reward_model", "extra_info"} <= set(
        table.column_names
    )
    assert {row["extra_info"]["interaction_kwargs"]["name"] for row in table} == {
        "wayword"
    }
