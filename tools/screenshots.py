"""The pictures of docs/viewer.md: python tools/screenshots.py [FOLDER]

Runs a few episodes in generated worlds, serves them, and takes pictures with the chromium on PATH.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library

ROOT = Path(__file__).parents[1]
RUNS = (
    ("navgpt", "houses", "scripted:first", 8),
    ("oracle", "houses", "", 20),
    ("walker", "houses", "local:walker", 20),
    ("random", "houses", "", 8),
    ("expert", "grounding", "", 4),
)


def made(top: Path) -> str:
    """Make the runs; the id of an episode that the walker failed."""
    for agent, on, model, limit in RUNS:
        run(Plan(agent, on, model, limit=limit, max_steps=12, out=top / f"{on}-{agent}"))
    scores = RunFolder.read(top / "houses-walker").scores()
    return next(name for name, own in scores if own["sr"] < 0.5)


@contextmanager
def serving(top: Path) -> Iterator[Server]:
    """The viewer over a folder of runs."""
    with Server(Content(Library([top]))) as server:
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        yield server
        server.stop()
        thread.join(10)


def picture(page: Page, path: Path) -> None:
    """A screenshot of 224 colours: under half of the size, and no difference to the eye."""
    page.screenshot(path=path)
    taken = Image.open(path).convert("RGB")
    taken.quantize(224, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)  # rare colours stay


def shoot(page: Page, server: Server, episode: str, out: Path) -> None:
    """Every picture."""
    for name, path, whole in (
        ("home", "?all=1", "body[data-ready]"),
        ("run", "run/houses-navgpt/", "body[data-whole]"),
        ("episode", f"run/houses-walker/episode?id={episode}", "body[data-experts]"),
        ("walks", f"compare?run=houses-walker&run=houses-oracle&id={episode}", "body[data-ready]"),
    ):
        page.goto(server.address + path)
        page.wait_for_selector(whole)
        page.wait_for_timeout(300)
        picture(page, out / f"{name}.png")
    table = server.games.begin(Plan("human", "houses", episode="2", out=out.parent / "_game"))
    page.goto(f"{server.address}play/{table.name}/")
    page.wait_for_selector("#board[data-asking='1']", timeout=30_000)
    for turn in (1, 2):
        page.locator(".act[data-action^=goto]").first.click()
        page.wait_for_selector(f"#board[data-asking='{turn + 1}']")
    picture(page, out / "play.png")
    server.games.end()


def main(out: Path) -> None:
    """Make all pictures in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "runs"
        episode = made(top)
        with serving(top) as server, sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            shoot(page, server, episode, out)
            browser.close()
    shutil.rmtree(out.parent / "_game", ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
