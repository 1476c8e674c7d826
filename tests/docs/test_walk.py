"""tools/walk.py counts the files that one episode enters."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wayword"


def test_a_walk_enters_the_agent_the_world_the_scorer_and_the_page(
    tmp_path: Path,
) -> None:
    spec = importlib.util.spec_from_file_location("walk", ROOT / "tools" / "walk.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = tool.walk("navgpt", "houses", None, tmp_path / "run")
    expected = {
        "open": "datasets/houses.py",
        "step": "agents/navgpt/agent.py",
        "score": "metrics/indoor.py",
        "derive": "viewer/maps/indoor.py",
        "view": "viewer/episode.py",
    }
    for phase, file in expected.items():
        assert str(SOURCE / file) in found[phase], phase
    assert len(found["view"]) <= 21, "a page is rendered from its document alone"
