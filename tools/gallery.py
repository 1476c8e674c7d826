"""Figures of docs/gallery.md: python tools/gallery.py [FOLDER]

Plays episodes in generated houses and draws a figure of each kind. The models of the cost figure
are scripts, and their prices are invented.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.plots.display import plot

ROOT = Path(__file__).parents[1]
PRICES = """\
scripted:first: {input: 0.25, output: 2.00}
scripted:noise: {input: 5.00, output: 25.00}
"""
REWARDS = ("success", "progress")
RUNS = (
    ("walker", "walker", "regression:walker"),
    ("forward", "forward", ""),
    ("random", "random", ""),
    ("navgpt", "navgpt", "scripted:first"),
    ("react", "react", "scripted:noise"),
    ("act", "act", "scripted:first"),
)


def logs(top: Path) -> list[Path]:
    """Train the table of docs/training.md, and return its logs."""
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    _, _, text = page.partition('title="tabular.py"\n')
    (top / "tabular.py").write_text(text.partition("```")[0], encoding="utf-8")
    subprocess.run([sys.executable, "tabular.py"], cwd=top, check=True)
    return [top / f"{reward}-seed-{n}.jsonl" for reward in REWARDS for n in range(3)]


def main(folder: Path) -> None:
    """Write a figure of each kind to a folder."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        prices = top / "prices.yaml"
        prices.write_text(PRICES, encoding="utf-8")
        for out, agent, model in RUNS:
            plan = Plan(
                agent,
                "houses",
                model,
                limit=60,
                prices=prices,
                out=top / out,
                shuffle=0,
            )
            run(plan)
        walker, forward, random = (top / n for n in ("walker", "forward", "random"))
        navgpt, react, act = (top / n for n in ("navgpt", "react", "act"))
        drawn = {
            "length": plot([walker, forward, random], "length"),
            "map": plot(walker, "map"),
            "walks": plot([walker, random], "map"),
            "causes": plot([walker, random], "causes"),
            "pairs": plot([walker, forward, random], "pairs"),
            "curve": plot(logs(top), "curve"),
            "cost": plot([navgpt, react, act, random], "cost"),
        }
        for name, each in drawn.items():
            file = each.save(folder / f"{name}.png")
            # 256 colors: of 64, the goal of a map took the color of a walk.
            Image.open(file).convert("RGB").quantize(256).save(file, optimize=True)
            print(f"{file}: {each.caption}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0]) if given else ROOT / "docs" / "pictures" / "plots")
