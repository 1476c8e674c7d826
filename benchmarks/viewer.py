"""The viewer under load: runs of 5,000 and 100,000 episodes, served, in a real browser.

The run of 5,000 is NavGPT's in generated houses with a scripted model, prompts and all; the one of
100,000 is a random walker's. Fifty episodes of each are played, and their records stand under every
other id, so that sizes are those of real runs. The server is a process of its own, as with
``wayword view``.

Bounds: rows of the 5,000 in under 1 s, in the browser, the page's own time included; a filter under
100 ms; an episode's page under 200 ms (the slowest of 20, once the dataset is open); the run of
100,000 opens page by page, each answer under 300 ms; the server's memory grows by less than 5% over
1,000 pages.

``python -m benchmarks.viewer [FOLDER]`` prints the figures and exits with 1 where a bound is
missed; in a FOLDER the runs are kept, and found again.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from benchmarks._rows import Rows
from wayword.core.dataset import task_id
from wayword.runs.json_lines import line_in, member
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import Line, RunFolder
from wayword.runs.running import run

PLAYED = 50
FEW = 5_000
MANY = 100_000
PAGES = 1_000

READY = """() => {
  const rows = document.querySelectorAll("#episodes tbody tr").length;
  return rows ? performance.now() / 1000 : 0;
}"""
"""Seconds from the start of the navigation until rows are there."""
TYPED = """async (words) => {
  const search = document.getElementById("search"), count = document.getElementById("count");
  const before = count.textContent, began = performance.now();
  search.value = words;
  search.dispatchEvent(new Event("input"));
  while (count.textContent === before) await new Promise((done) => setTimeout(done, 1));
  document.body.offsetHeight; // laid out
  return (performance.now() - began) / 1000;
}"""
"""Seconds from a key until the table has followed."""


def settings_of(episodes: int) -> dict[str, int]:
    """The dataset's settings for so many episodes."""
    return {"houses": episodes // 35, "episodes": episodes}


def made(
    agent: str, model: str, episodes: int, out: Path, max_steps: int | None = None
) -> list[str]:
    """A run of so many episodes, most of them copies under other ids; the ids."""
    settings = {"dataset": settings_of(episodes)}
    plan = Plan(
        agent, "houses", model, settings, limit=PLAYED, max_steps=max_steps, out=out
    )
    if out.exists():
        return RunFolder.read(out).index.ids()
    run(plan)
    tasks = open_dataset(plan).tasks
    ids = [task_id(tasks, number) for number in range(len(tasks))]
    records = list(RunFolder.read(out).records())
    lines = [Line.of(record) for record in records]
    texts = [line_in(line.member) for line in lines]
    there = {line.episode_id for line in lines}
    with RunFolder.open(out, RunFolder.read(out).config) as folder:
        for number, name in enumerate(name for name in ids if name not in there):
            line = lines[number % len(lines)]
            text = texts[number % len(lines)]
            text = text.replace(line.episode_id.encode(), name.encode())
            folder.write(Line(name, line.scores, "", line.ended, member(text)))
    return ids


class Served:
    """A viewer in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "wayword", "view", str(folder), "--port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().split()[0].rstrip("/")
        self.took = 0.0
        """Processor time of the last answer, seconds."""
        self._line = http.client.HTTPConnection(
            self.address.removeprefix("http://"), timeout=120
        )

    def ask(self, path: str) -> tuple[float, bytes]:
        """Seconds until an answer was there whole, and the answer."""
        began = time.perf_counter()
        before = self.cpu()
        self._line.request("GET", path)
        response = self._line.getresponse()
        text = response.read()
        assert response.status == 200, (path, response.status, text[:300])
        took = time.perf_counter() - began
        self.took = self.cpu() - before
        return took, text

    def reconnect(self) -> None:
        self._line.close()

    def cpu(self) -> float:
        """Seconds of processor time that the server has taken, to 10 ms."""
        stat = (
            Path(f"/proc/{self._process.pid}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()
        )
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """The memory that the server's process holds now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def end(self) -> None:
        self._line.close()
        self._process.terminate()
        self._process.communicate()


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    server = Served(folder)
    try:
        yield server
    finally:
        server.end()


def page_of(name: str, episode: str) -> str:
    return f"/run/{name}/episode?id={quote(episode, safe='')}"


def episodes(server: Served, name: str, ids: list[str], rows: Rows) -> None:
    """The pages of 20 episodes, once the first has opened the dataset."""
    rng = random.Random(0)
    first = server.ask(page_of(name, ids[0]))[0]
    print(f"first episode page of {name}, which opens the dataset: {first:.2f} s")
    asked = [
        (server.ask(page_of(name, each))[0], server.took)
        for each in rng.sample(ids, 20)
    ]
    took, cpu = (sorted(column) for column in zip(*asked, strict=True))
    print(f"an episode's page: {1e3 * statistics.median(cpu):.0f} ms of processor time")
    rows.add("page_median_s", statistics.median(took), at_most=0.2)
    rows.add("page_slowest_s", took[-1], at_most=0.2)


def answers(server: Served, rows: Rows) -> None:
    """The run of 100,000: its page, and rows from every part of it."""
    took, text = server.ask("/run/many/")
    print(f"first look at {MANY:,} episodes, reads their index: {took:.2f} s")
    print(f"its page: {len(text) / 1024:.0f} KiB")
    rows.add("many_again_s", server.ask("/run/many/")[0], at_most=0.3)

    def ask(query: str) -> float:
        took, text = server.ask(f"/run/many/rows?{query}")
        assert json.loads(text)["rows"], query
        return took

    rows.add("many_from_middle_s", ask("from=50000"), at_most=0.3)
    rows.add("many_sorted_s", ask("sort=ne&down=1"), at_most=0.3)
    filtered = ask("q=0001&outcome=failure")
    rows.add("many_filtered_s", filtered, at_most=0.3)


def in_a_browser(server: Served, rows: Rows) -> None:
    """What a person waits for; left out where no chromium is on PATH."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium on PATH: the browser's own times are left out")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        shown: dict[str, float] = {}
        filtered: dict[str, float] = {}
        for name in ("few", "many"):
            page.goto(f"{server.address}/run/{name}/", wait_until="commit")
            shown[name] = page.wait_for_function(READY, polling=20).json_value()
            times = []
            for words in ("0001", "kitchen" if name == "few" else "0002", "17"):
                times.append(page.evaluate(TYPED, words))
                page.evaluate(TYPED, "")  # two filters may find as many
            filtered[name] = max(times)
        rows.add("browser_few_s", shown["few"], at_most=1)
        rows.add("browser_many_s", shown["many"], at_most=1)
        rows.add("browser_few_filter_s", filtered["few"], at_most=0.1)
        rows.add("browser_many_filter_s", filtered["many"], at_most=1)
        browser.close()


def memory(server: Served, few: list[str], many: list[str], rows: Rows) -> None:
    """Pages of all kinds, a thousand, after as many as fill what is kept: 64 houses of a dataset,
    so 125 episodes of each run."""
    rng = random.Random(1)
    server.reconnect()  # the server closes connections that were idle

    def look(count: int) -> None:
        for _ in range(count // 4):
            server.ask(page_of("few", rng.choice(few)))
            server.ask(page_of("many", rng.choice(many)))
            server.ask(f"/run/many/rows?from={rng.randrange(MANY)}")
            server.ask("/?all=1")

    look(PAGES // 2)
    before = server.megabytes()
    look(PAGES)
    after = server.megabytes()
    print(
        f"the server holds {before:.0f} MB after {PAGES // 2} pages, {after:.0f} after {PAGES} more"
    )
    rows.add("memory_growth", after / before - 1, at_most=0.05)


def main() -> int:
    rows = Rows("viewer")
    with tempfile.TemporaryDirectory() as folder:
        top = Path(sys.argv[1] if len(sys.argv) > 1 else folder)
        began = time.perf_counter()
        few = made("navgpt", "scripted:first", FEW, top / "few")
        many = made("random", "", MANY, top / "many")
        print(
            f"made {FEW:,} and {MANY:,} episodes in {time.perf_counter() - began:.0f} s"
        )
        with served(top) as server:
            took, text = server.ask("/run/few/")
            print(
                f"first look at {FEW:,} episodes: {took:.2f} s, {len(text) / 1024:.0f} KiB"
            )
            again = server.ask("/run/few/")[0]
            rows.add("few_again_s", again, at_most=1)
            episodes(server, "few", few, rows)
            answers(server, rows)
            in_a_browser(server, rows)
            memory(server, few, many, rows)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())
