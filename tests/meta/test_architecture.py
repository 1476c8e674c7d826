"""docs/architecture.md names the tree as it is, and no imports go round in it."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import grimp

from helpers.looping import for_each

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wayword"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WITHOUT_LINKS = re.sub(r"\]\([^)]*\)", "]", PAGE)  # links are checked with all others
PATHS = sorted(
    set(
        re.findall(
            r"(?<![\w/])\w[\w.]*(?:/[\w.]+)*(?:/|\.(?:py|yaml|toml|txt))", WITHOUT_LINKS
        )
    )
)


def test_paths_are_found_in_the_page() -> None:
    assert {"core/", "core/world.py", "models/prices.yaml", "pyproject.toml"} <= set(
        PATHS
    )


@for_each("path", PATHS)
def test_every_path_of_the_page_exists(path: str) -> None:
    assert (SOURCE / path).exists() or (ROOT / path).exists(), (
        f"docs/architecture.md: no {path}"
    )


def test_the_page_names_every_layer_and_every_family() -> None:
    layers = {
        f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").is_file()
    }
    worlds = {
        f"worlds/{path.parent.name}/"
        for path in (SOURCE / "worlds").glob("*/__init__.py")
    }
    assert layers | worlds <= set(PATHS)


def test_the_page_draws_the_layers_in_the_order_of_the_import_contract() -> None:
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.search(r"layers = \[(.*?)\]", contract, re.DOTALL)
    assert declared is not None
    drawn = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert drawn is not None
    order = re.findall(r"wayword\.(\w+)", declared[1])
    assert re.findall(r"(\w+)(?:/|\.py)", drawn[1]) == order


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions count: those that only wait would hide a circle."""
    graph = grimp.build_graph("wayword", cache_dir=None)
    assert "wayword.core.game" in graph.modules
    arrows = {
        name: graph.find_modules_directly_imported_by(name) for name in graph.modules
    }
    list(graphlib.TopologicalSorter(arrows).static_order())


NO_WORLDS = ("navigator", "super()", "seat", "_controller")
"""Receivers of ``step`` that are no worlds: street states, a base class, an environment, THOR."""


def steps_of_worlds(tree: ast.AST) -> Iterator[str]:
    """Calls that may be ``World.step(actor, action)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "step":
            assert isinstance(node.func, ast.Attribute)
            receiver = ast.unparse(node.func.value)
            given = [*node.args, *node.keywords]
            if len(given) == 2 or any(
                isinstance(each, ast.Starred) for each in node.args
            ):
                yield receiver


def test_only_a_game_steps_a_world() -> None:
    for call in (
        "world.step(actor, action)",
        "self._world.step(*turn)",
        "w.step('a', action=STOP)",
    ):
        assert list(steps_of_worlds(ast.parse(call)))
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # A call of the attribute is written like this; parsing every file takes seconds.
        if ".step(" not in text:
            continue
        for receiver in steps_of_worlds(ast.parse(text)):
            if not receiver.endswith(NO_WORLDS):
                found.setdefault(path.relative_to(SOURCE).as_posix(), []).append(
                    receiver
                )
    contract = found.pop("testing/contracts.py")  # it checks a world by itself
    assert set(contract) == {"world"}
    assert found == {"core/game.py": ["self.world"]}
