"""Pictures of the documentation: python tools/screenshots.py [FOLDER]
First screens of failed episodes: python tools/screenshots.py --failed FOLDER
The bench's board: python tools/screenshots.py --board SITE

Runs a few episodes in generated worlds, serves them, and takes pictures with the chromium on PATH:
those of docs/viewer.md, and ``readme.png``, a solved and a failed trajectory next to each other.
``--failed`` takes a failed episode of each kind of world, published data under $WAYWORD_DATA among
them.
"""

from __future__ import annotations

import base64
import html
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from wayword.runs.config import success_of
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library

ROOT = Path(__file__).parents[1]
MAP = "figure svg.map"
INSTRUCTION = ".instruction"
RUNS = (
    ("navgpt", "houses", "scripted:first", 8),
    ("oracle", "houses", "", 60),
    ("walker", "houses", "regression:walker", 60),
    ("random", "houses", "", 8),
    ("expert", "grounding", "", 4),
)


def made(top: Path) -> tuple[str, str]:
    """Make the runs; ids of an episode that the walker solved and of one that it failed."""
    for agent, on, model, limit in RUNS:
        run(
            Plan(agent, on, model, limit=limit, max_steps=12, out=top / f"{on}-{agent}")
        )
    rows = RunFolder.read(top / "houses-walker").scores()
    by_success = {scores["sr"] > 0.5: name for name, scores in reversed(list(rows))}
    return by_success[True], by_success[False]


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
    """Take a screenshot of the window."""
    page.screenshot(path=path)
    shrink(path)


def shrink(path: Path) -> None:
    """Keep 255 colours, rare ones among them: under half of the size, no difference to the eye."""
    taken = Image.open(path).convert("RGB")
    few = taken.quantize(
        255, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
    )
    few.save(path, optimize=True)


PAIR = """<style>
  body {{ font: 20px system-ui, sans-serif; margin: 24px; background: #fff; color: #1a1b1e }}
  main {{ display: grid; grid-template-columns: 1fr 1fr; gap: 24px }}
  b {{ font-size: 24px }} p {{ margin: 6px 0 12px; min-height: 3.6em }} img {{ width: 100% }}
</style><main>{}</main>"""
CARD = (
    "<section><b style='color:{}'>{}</b><p>{}</p>"
    "<img src='data:image/png;base64,{}'></section>"
)


def pair(page: Page, server: Server, solved: str, failed: str, out: Path) -> None:
    """Both trajectories of the walker with their instructions, in one picture."""
    cards = []
    for episode, colour, title in (
        (solved, "#1a7f37", "Solved"),
        (failed, "#c11f36", ""),
    ):
        page.goto(f"{server.address}run/houses-walker/episode?id={episode}")
        page.wait_for_selector("body[data-experts]")
        page.keyboard.press("End")
        page.wait_for_timeout(300)
        # A letter stands for the id of a place, which is still its text.
        page.evaluate(
            "document.querySelectorAll('abbr.letter').forEach("
            "letter => { letter.textContent = letter.dataset.letter })"
        )
        # The failed one says what went wrong.
        title = title or page.locator(".mistake-words").first.inner_text()
        page.evaluate(
            "document.querySelectorAll('figure button, .copy').forEach(b => b.remove())"
        )
        drawn = base64.b64encode(page.locator(MAP).first.screenshot()).decode()
        instruction = page.locator(INSTRUCTION).first.inner_text()
        cards.append(
            CARD.format(colour, html.escape(title), html.escape(instruction), drawn)
        )
    page.goto("about:blank")  # the viewer's pages allow no style of others
    page.set_content(PAIR.format("".join(cards)))
    page.locator("body").wait_for()
    page.set_viewport_size({"width": 1400, "height": 100})
    page.screenshot(path=out, full_page=True)
    page.set_viewport_size({"width": 1400, "height": 900})
    shrink(out)


def shoot(page: Page, server: Server, episode: str, out: Path) -> None:
    """Every picture."""
    for name, path, selector in (
        ("run", "run/houses-navgpt/", "body[data-whole]"),
        ("episode", f"run/houses-walker/episode?id={episode}", "body[data-experts]"),
        ("compare", "compare?run=houses-walker&run=houses-oracle", "body[data-whole]"),
    ):
        page.goto(server.address + path)
        page.wait_for_selector(selector)
        page.wait_for_timeout(300)
        picture(page, out / f"{name}.png")
    table = server.games.begin(
        Plan("human", "houses", episode="2", out=out.parent / "_game")
    )
    page.goto(f"{server.address}play/{table.name}/")
    page.wait_for_selector("#board[data-asking='1']", timeout=30_000)
    for turn in (1, 2):
        page.locator(".act[data-action^=goto]").first.click()
        page.wait_for_selector(f"#board[data-asking='{turn + 1}']")
    picture(page, out / "play.png")
    server.games.end()


FAILED = (
    *("two_phase", "houses", "iqa", "household", "apartments", "grounding", "towns"),
    *("ma_wah", "ma_household", "rearrangement"),
    *("r2r:val_seen", "map2seq:unseen_dev", "robothor:debug"),  # published data
)
"""A dataset of each kind of episode."""
WINDOWS = ((1400, 900), (390, 844))


def first_screens(page: Page, top: Path, out: Path) -> None:
    """The first screen of a failed episode of each kind, in a wide and a narrow window."""
    with serving(top) as server:
        for on in FAILED:
            kind = on.partition(":")[0]
            folder = RunFolder.read(top / kind)
            key = success_of(folder.config)
            failed = [n for n, scores in folder.scores() if scores[key] <= 0.5]
            for wide, tall in WINDOWS:
                page.set_viewport_size({"width": wide, "height": tall})
                page.goto(
                    f"{server.address}run/{kind}/episode?id={quote(failed[-1], safe='')}"
                )
                page.wait_for_selector("body[data-experts]")
                page.wait_for_timeout(300)
                picture(page, out / f"{kind}-{wide}.png")


@contextmanager
def opened() -> Iterator[Page]:
    """A page of the chromium on PATH."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser.new_page(viewport={"width": 1400, "height": 900})
        browser.close()


def board(site: Path, out: Path) -> None:
    """The cards of a folder that ``wayword bench board`` wrote."""
    wide = 1800  # all tracks in view
    with opened() as page:
        page.set_viewport_size({"width": wide, "height": 900})
        page.goto((site / "index.html").resolve().as_uri())
        bottom = page.locator(".board").last.bounding_box()
        assert bottom is not None
        page.set_viewport_size(
            {"width": wide, "height": round(bottom["y"] + bottom["height"]) + 24}
        )
        picture(page, out / "board.png")


def main(out: Path, failed: bool) -> None:
    """Make all pictures in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "runs"
        if failed:
            for on in FAILED:
                run(
                    Plan(
                        "random",
                        on,
                        limit=4,
                        max_steps=16,
                        out=top / on.partition(":")[0],
                    )
                )
        else:
            solved, unsolved = made(top)
        with opened() as page:
            if failed:
                first_screens(page, top, out)
            else:
                with serving(top) as server:
                    pair(page, server, solved, unsolved, out / "readme.png")
                    shoot(page, server, unsolved, out)
    shutil.rmtree(out.parent / "_game", ignore_errors=True)


if __name__ == "__main__":
    pictures = ROOT / "docs" / "pictures"
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if "--board" in sys.argv:
        board(Path(arguments[0]), pictures)
    else:
        main(
            Path(arguments[0]) if arguments else pictures, failed="--failed" in sys.argv
        )
