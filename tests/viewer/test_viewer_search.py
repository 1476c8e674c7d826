"""Search over instructions, thoughts, prompts and answers, in runs of any size."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from helpers.in_a_browser import CHROMIUM, listen
from helpers.recorded_run import make_run
from helpers.records import records, rewrite
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.app import Server
from wayword.viewer.content import Content
from wayword.viewer.library import Library

# Rows that a page holds, fewer than in the product: several batches of the index (of 500) and
# several answers of the server (of 200 rows) are enough.
HELD = 1_000
LARGE = HELD + 200


def varied(record: dict[str, Any], number: int) -> dict[str, Any]:
    """The record under another id; three of all think, are asked, or answer something rare."""
    trajectory = {**record["trajectory"], "episode_id": f"e{number}"}
    if number in (7, LARGE - 1):
        first, *others = trajectory["steps"]
        thinking = {**first["decision"], "thought": "the walrus sleeps"}
        trajectory["steps"] = [{**first, "decision": thinking}, *others]
    return {**record, "episode": f"e{number}", "trajectory": trajectory}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of more episodes than a page holds, and one of published instructions."""
    top = tmp_path_factory.mktemp("searched") / "runs"
    make_run(top / "large", ["0"], failed={"lost": None})
    (record,) = records(top / "large")
    rewrite(top / "large", (varied(record, number) for number in range(LARGE)))
    config = top / "large" / "run.json"
    split = {**json.loads(config.read_text()), "episodes_in_split": LARGE + 1}
    config.write_text(json.dumps(split))
    run(
        Plan(
            "navgpt",
            "houses",
            "scripted:first",
            limit=4,
            max_steps=4,
            out=top / "houses",
        )
    )
    return top


@pytest.fixture(scope="module")
def content(runs: Path) -> Iterator[Content]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wayword.viewer.content.REMOTE", HELD)
        yield Content(Library([runs]))


def search_ids(content: Content, name: str, **query: str) -> tuple[int, list[str]]:
    """Total and first ids, once the texts are read."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        answer: Any = content.rows(name, query)
        if answer["ready"]:
            return answer["total"], [row[0] for row in answer["rows"]]
        time.sleep(0.01)
    raise AssertionError("the texts are not read")


def test_a_run_of_more_rows_than_a_page_is_searched_by_what_was_thought(
    content: Content,
) -> None:
    assert search_ids(content, "large", q="walrus sleeps") == (
        2,
        ["e7", f"e{LARGE - 1}"],
    )
    assert search_ids(content, "large", q="walr") == (2, ["e7", f"e{LARGE - 1}"]), (
        "as it is typed"
    )
    assert search_ids(content, "large", q="walrus", sort="id", down="1")[1] == [
        "e7",
        f"e{LARGE - 1}",
    ]
    assert search_ids(content, "large", q="walrus", ended="failed") == (0, [])
    assert search_ids(content, "large", q="unheard-of") == (0, [])
    assert search_ids(content, "large", q="lost") == (1, ["lost"]), (
        "ids are searched, too"
    )
    assert search_ids(content, "large", q="be brief")[0] == LARGE, "in prompts"
    assert search_ids(content, "large", q=' " OR NEAR( ')[0] == 0, (
        "words are no query language"
    )


def test_instructions_prompts_and_answers_are_searched(content: Content) -> None:
    rows = content.library.rows("houses")
    sources = content.tasks(rows, rows.names())
    words = sources.instruction(rows.ids[0])
    assert len(words.split()) > 3
    assert rows.ids[0] in search_ids(content, "houses", q=words)[1]
    answer = rows.run.record(rows.ids[0]).trajectory.steps[0].calls[-1].answer
    reply = getattr(answer, "texts", None) or getattr(answer, "options", ("",))
    found: Any = content.search("houses", str(reply[0]))
    assert rows.ids[0] in found["matches"]
    assert content.search("houses", "walrus") == {"matches": [], "ready": True}


@pytest.fixture(scope="module")
def server(content: Content) -> Iterator[Server]:
    with Server(content) as running, running.in_background():
        yield running


@pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: apt-get install chromium"
)
def test_words_of_thoughts_and_prompts_filter_the_table_in_a_browser(
    browser: Browser, server: Server
) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    messages = listen(page, server.address.rstrip("/"))
    for name, words, shown in (
        ("large", "walrus", f"2 of {LARGE + 1:,}"),
        ("houses", "viewpoint walrus", "none of 4 matches"),
    ):
        page.goto(f"{server.address}run/{name}/")
        page.wait_for_selector("body[data-whole]", timeout=60_000)
        page.fill("#search", words)
        page.wait_for_function(
            "shown => document.getElementById('count').textContent === shown",
            arg=shown,
        )
    # In NavGPT's prompts, in no id and no instruction
    page.fill("#search", "thought")
    page.wait_for_function(
        "() => document.getElementById('count').textContent === '4 episodes'"
    )
    assert not messages
