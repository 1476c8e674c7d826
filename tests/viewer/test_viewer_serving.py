"""The served viewer: pages made on demand, for this machine and nobody else."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from helpers.parsed_page import Page, check_safe
from helpers.recorded_run import make_run
from helpers.records import lines as lines_of
from helpers.records import records, rewrite
from helpers.small_scan import PLACES, SCAN, write_scan
from wayword.core.errors import RecordingError, UsageError
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer.app import Server, token_for
from wayword.viewer.content import Content
from wayword.viewer.library import Library, Rows


@contextmanager
def serving(*paths: Path, **options: Any) -> Iterator[Server]:
    with (
        Server(Content(Library(list(paths))), **options) as server,
        server.in_background(),
    ):
        yield server


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("served") / "runs"
    run(Plan("navgpt", "houses", "scripted:first", limit=3, out=top / "walked"))
    make_run(top / "deep" / "er <b>", ("one", "two"))
    (top / ".hidden").mkdir()
    (top / "notes.txt").write_text("secret")
    (top / "out").symlink_to(top.parent)
    return top


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    with serving(runs) as running:
        yield running


def ask(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[int, str, dict[str, str]]:
    port = int(server.address.split(":")[2].partition("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", headers.pop("Host", f"127.0.0.1:{port}"))
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, response.read().decode(), dict(response.getheaders())
    connection.close()
    return found


def page(server: Server, path: str) -> Page:
    status, text, _ = ask(server, path)
    assert status == 200, text
    found = Page.parse(text)
    check_safe(found)
    return found


def test_the_home_page_lists_every_run_below(server: Server) -> None:
    home = page(server, "/")
    links = [e.attributes["href"] for e in home.all("a")]
    assert "run/walked/" in links
    (deep,) = [link for link in links if link and link.startswith("run/deep-er-b-")]
    assert len([link for link in links if link and link.startswith("run/")]) == 2
    assert "deep/er <b>" in home.text
    assert "of 180 in the split" in home.text
    page(server, f"/{deep}")


def test_the_home_page_names_a_runs_own_annotations(tmp_path: Path) -> None:
    """As tables do: they take the place of the split's episodes."""
    write_scan(tmp_path)
    own = tmp_path / "own.json"
    record = {"scan": SCAN, "heading": 0.0, "distance": 8.0, "path": [*PLACES]}
    walks = [{**record, "path_id": path, "instructions": ["Go."]} for path in (7, 8, 9)]
    own.write_text(json.dumps(walks))
    settings = {"dataset": {"annotations": str(own)}}
    out = tmp_path / "run"
    plan = Plan(
        "forward", "r2r:val_seen", "", settings, limit=2, data=tmp_path, out=out
    )
    run(plan)
    content = Content(Library([out]), tmp_path)
    for shown in (content.home(), content.run("run")):
        assert "r2r:own.json" in Page.parse(shown).text
    (listed,) = content.library.runs()
    card = content.card(listed)
    assert (card.status, card.done, card.of) == ("complete", 2, 3)


def test_a_run_page_has_its_rows_at_once_and_the_rest_when_queried(
    server: Server,
) -> None:
    walked = page(server, "/run/walked/")
    rows = walked.data["rows"]
    assert len(rows) == 3
    assert walked.data["later"] == "texts"
    assert "interval pending" in walked.text
    status, part, _ = ask(server, "/run/walked/metrics")
    assert status == 200
    assert "95%" in part
    texts = json.loads(ask(server, "/run/walked/texts")[1])
    assert all(len(text.split()) > 3 for text, _, _ in texts["rows"])
    assert "ran out" in ask(server, "/run/walked/causes")[1]
    page(server, f"/run/walked/{rows[0][2]}")


def test_flips_of_compared_runs_are_requested_by_address(server: Server) -> None:
    status, text, _ = ask(server, "/compare/flips?run=walked&run=walked")
    assert status == 200
    assert text.count(": 0</h2>") == 2, "a run lost nothing against itself"


def test_every_episode_has_a_page_with_neighbours(server: Server) -> None:
    ids = [row[0] for row in page(server, "/run/walked/").data["rows"]]
    middle = page(server, f"/run/walked/episode?id={quote(ids[1])}")
    (before,) = middle.all("a", rel="prev")
    (after,) = middle.all("a", rel="next")
    assert before.attributes["href"] == f"episode?id={quote(ids[0])}"
    assert after.attributes["href"] == f"episode?id={quote(ids[2])}"
    assert len(middle.all("section", class_="step")) > 1
    pages = [page(server, f"/run/walked/episode?id={quote(each)}") for each in ids]
    signs = [each.text for shown in pages for each in shown.all("p", class_="signs")]
    assert any("ran out" in each for each in signs)
    assert len(signs) == len(pages)


@pytest.mark.parametrize(
    "path",
    [
        "/../notes.txt", "/%2e%2e/notes.txt", "/run/../../notes.txt", "/run/..%2f..%2fnotes.txt/",
        "/notes.txt", "/run/out/", "/run/.hidden/", "/run/walked/episode?id=../../run.json",
        "/run/walked/episode?id=none",
        "/run/walked/run.json", "/run/%00/", "/run/walked/episode", "/static/x",
    ],
)  # fmt: skip
def test_nothing_else_is_served(server: Server, path: str) -> None:
    status, text, _ = ask(server, path)
    assert status == 404
    assert "secret" not in text
    check_safe(Page.parse(text))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example:80"]
)
def test_a_name_from_elsewhere_is_refused(server: Server, host: str) -> None:
    assert ask(server, "/", Host=host)[0] == 403


def test_requests_of_other_pages_are_refused(server: Server) -> None:
    assert ask(server, "/", Origin="http://evil.example")[0] == 403
    assert ask(server, "/", Origin="null")[0] == 403
    assert ask(server, "/", "POST")[0] == 403, (
        "a form of another page says no origin we know"
    )
    headers = ask(server, "/")[2]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_a_token_is_requested_where_one_is_set(runs: Path) -> None:
    assert token_for("127.0.0.1", "") == ""
    assert len(token_for("0.0.0.0", "")) > 20
    with serving(runs, token="s3cret") as server:
        assert server.address.endswith("/?token=s3cret")
        assert ask(server, "/")[0] == 401
        assert ask(server, "/run/walked/?token=wrong")[0] == 401
        status, _, headers = ask(server, "/?token=s3cret")
        assert status == 303
        deep = ask(server, "/run/walked/episode?id=a%26b+%2F&token=s3cret&step=2")
        assert deep[2]["location"] == "/run/walked/episode?id=a%26b+%2F&step=2"
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert ask(server, "/", Cookie=cookie.partition(";")[0])[0] == 200
        assert ask(server, "/", Cookie="wayword_token=wrong")[0] == 401


def test_a_taken_port_and_a_missing_folder_are_one_clear_line(
    server: Server, tmp_path: Path
) -> None:
    port = int(server.address.split(":")[2].partition("/")[0])
    with pytest.raises(UsageError, match=r"port \d+: .*--port"):
        Server(Content(Library([tmp_path])), port)
    with pytest.raises(UsageError, match="--port"):
        Server(Content(Library([tmp_path])), 99_999)
    with pytest.raises(RecordingError, match="no such folder"):
        Library([tmp_path / "none"])


def test_an_index_reads_on_where_it_stopped(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", ("one", "two"), failed={"three": None})
    rows = Rows(RunFolder.read(path)).refresh()
    assert rows.names() == ["three", "one", "two"]
    first = next(iter(RunFolder.read(path).records()))
    with RunFolder.open(path, RunFolder.read(path).config) as folder:
        trajectory = first.trajectory
        trajectory.episode_id = "three"
        folder.append(EpisodeRecord("three", {"sr": 0.0, "new": 2.0}, trajectory))
    rows.refresh()
    assert rows.names() == ["one", "two", "three"]
    assert rows.scored("three") == {"sr": 0.0, "new": 2.0}
    assert rows.run.record("two").trajectory.steps[0].decision.action.name == "goto"
    with (path / "episodes.jsonl.gz").open("rb+") as file:
        file.truncate(0)
    assert rows.refresh().ids == []


def test_a_run_that_goes_on_is_shown(tmp_path: Path) -> None:
    path = make_run(tmp_path / "runs" / "going", ("one",))
    pose = {"x": 1.0, "y": 2.0}
    move = {"actor": "agent", "action": "goto[b]", "ok": True, "pose": pose}
    move["thought"] = "to the left"
    now = {"process": 1, "done": 1, "total": 9, "over": False, "episodes": [
        {"id": "<i>", "step": 4, "of": 15, **move,
         "moves": [move, {**move, "pose": {"x": 3, "y": 2}}]}
    ], "calls": 2, "tokens": 500, "dollars": 0.125, "max_dollars": 2.0, "before": 0}  # fmt: skip
    (path / ".progress.json").write_text(json.dumps(now))
    with serving(tmp_path / "runs") as server:
        assert "running" in page(server, "/").text
        port = int(server.address.split(":")[2].partition("/")[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/run/going/live")
        response = connection.getresponse()
        lines = [response.readline().decode() for _ in range(3)]
        record = json.loads(lines[2].removeprefix("data: "))
        response.close()
        assert record["running"]
        assert record["episodes"][0]["step"] == 4
        assert record["episodes"][0]["thought"] == "to the left"
        part = ask(server, "/run/going/moves?id=%3Ci%3E")[1]
        # Asked for just before it ended: nothing to show, and no error.
        assert ask(server, "/run/going/moves?id=one")[:2] == (200, "")
        thoughts = Page.parse(f"<body>{part}</body>").all("p", class_="dim")
        assert [each.text for each in thoughts] == ["to the left"] * 2
        (line,) = re.findall('points="([^"]*)"', record["episodes"][0]["sketch"])
        assert line.split()[0].partition(",")[2] == line.split()[1].partition(",")[2], (
            "to the east"
        )
        assert (record["done"], record["total"]) == (1, 9)
        assert re.fullmatch(
            r"about 10 s left · 2 calls in flight · 500 tokens per second · \$0.1[23] of \$2.00",
            record["pace"],
        )
        assert "1 of 9 episodes" in page(server, "/run/going/").text
        status, _, headers = ask(server, "/live-run")
        assert (status, headers["location"]) == (307, "run/going/")
        assert record["episodes"][0]["href"] == "episode?id=%3Ci%3E"
        connection.close()


@pytest.mark.parametrize(("step", "count"), [(2, 2), (4, 2), (40, 40), (90, 50)])
def test_the_latest_moves_of_a_running_walk_have_the_numbers_of_their_steps(
    tmp_path: Path, step: int, count: int
) -> None:
    path = make_run(tmp_path / "runs" / "going", ("one",))
    dropped = step - count  # a long walk drops its first moves
    moves = [
        {"actor": "a", "action": f"act-{number}", "ok": True, "pose": {"x": 0, "y": 0}}
        for number in range(dropped + 1, step + 1)
    ]
    walk = {"id": "two", "step": step, "of": 99, **moves[-1], "moves": moves}
    now = {"process": 1, "done": 1, "total": 2, "over": False, "episodes": [walk],
           "calls": 0, "tokens": 0, "dollars": 0.0, "max_dollars": None, "before": 0}  # fmt: skip
    (path / ".progress.json").write_text(json.dumps(now))
    part = Content(Library([tmp_path / "runs"])).moves("going", "two")
    lines = Page.parse(f"<body>{part}</body>").all("li")
    # The map's legend has lines without a number.
    shown = [
        (each.attributes["value"], each.text.split()[0])
        for each in lines
        if "value" in each.attributes
    ]
    latest = range(step, max(dropped, step - 12), -1)
    assert shown == [(str(number), f"act-{number}") for number in latest]


def test_the_whole_prompts_of_a_step_are_a_page_of_plain_text(
    server: Server, runs: Path
) -> None:
    (record, *_) = RunFolder.read(runs / "walked").records()
    name = record.episode_id
    _, page, _ = ask(server, f"/run/walked/episode?id={quote(name)}")
    links = [
        each.attributes.get("href")
        for each in Page.parse(page).all("a", class_="press")
    ]
    assert f"prompts?id={quote(name)}&step=1" in links
    status, text, _ = ask(server, f"/run/walked/prompts?id={quote(name)}&step=2")
    assert status == 200
    (call,) = record.trajectory.steps[1].calls
    written = [f"[{each.role}]\n{each.content}" for each in call.prompt]
    assert text == "\n\n".join(written)
    status, text, _ = ask(server, f"/run/walked/prompts?id={quote(name)}&step=99")
    assert status == 404
    assert "has no step 99" in text


def test_a_running_walk_is_drawn_where_observations_do_not_say_where_it_was(
    tmp_path: Path,
) -> None:
    path = make_run(tmp_path / "runs" / "home", ("one",))
    moves = []
    for x in (1.0, 3.0):
        pose = {"room": "kitchen", "x": x, "y": 2.0, "heading": 90.0}
        moves.append(
            {"actor": "a", "action": "b", "start": {"heading": 0.0}, "pose": pose}
        )
    walk = {"id": "two", "step": 2, "of": 9, **moves[-1], "moves": moves}
    now = {"process": 1, "done": 1, "total": 2, "over": False, "episodes": [walk],
           "calls": 0, "tokens": 0, "dollars": 0.0, "max_dollars": None, "before": 0}  # fmt: skip
    (path / ".progress.json").write_text(json.dumps(now))
    state = Content(Library([tmp_path / "runs"])).live_state("home")
    assert isinstance(state, dict)
    assert "<polyline" in state["episodes"][0]["sketch"]


def test_a_page_that_takes_long_is_answered_with_a_line_until_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "runs" / "slow", ("one",))
    looked_at = threading.Event()
    make_page = Content.run

    def slow(content: Content, name: str) -> str:
        looked_at.wait(30)
        return make_page(content, name)

    monkeypatch.setattr(Content, "run", slow)
    monkeypatch.setattr("wayword.viewer.app._PATIENCE", 0.0)
    navigation = {"Sec-Fetch-Mode": "navigate"}
    with serving(tmp_path / "runs") as server:
        status, first, headers = ask(server, "/run/slow/", **navigation)
        assert status == 200
        assert "is being made" in first
        assert headers["refresh"] == "3", "for a browser without scripts"
        looked_at.set()
        end = time.monotonic() + 30
        text = first
        while "is being made" in text:
            assert time.monotonic() < end
            text = ask(server, "/run/slow/", **navigation)[1]
        assert "1 of 180 episodes" in Page.parse(text).text
        assert "is being made" not in ask(server, "/run/slow/")[1], "scripts wait"
        monkeypatch.setattr("wayword.viewer.app._PATIENCE", 30.0)
        assert ask(server, "/run/slow/episode?id=none", **navigation)[0] == 404


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"done": "x"}', '{"process": null}']
)
def test_a_broken_progress_file_is_no_progress(broken: str, tmp_path: Path) -> None:
    path = make_run(tmp_path / "runs" / "one", ("one",))
    (path / ".progress.json").write_text(broken)
    content = Content(Library([tmp_path / "runs"]))
    assert ">running<" not in content.home()
    assert content.live_state("one")["running"] is False


def test_rows_of_a_large_run_are_filtered_and_sorted_by_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs" / "large"
    make_run(path, ("0",))
    (first,) = records(path)
    lines = []
    for number in range(30):
        scores = {"sr": number % 2, "ne": 30.0 - number, "steps": 3}
        lines.append({**first, "episode": f"e{number:02}", "scores": scores})
    rewrite(path, lines)
    monkeypatch.setattr("wayword.viewer.content.REMOTE", 10)
    with serving(tmp_path / "runs") as server:
        shown = page(server, "/run/large/").data
        assert shown["remote"]
        assert shown["rows"] == []
        assert shown["of"] == 30

        def ids(query: str) -> tuple[int, list[str]]:
            found = json.loads(ask(server, f"/run/large/rows?{query}")[1])
            return found["total"], [row[0] for row in found["rows"]]

        assert ids("sort=ne")[1][:2] == ["e29", "e28"]
        assert ids("sort=ne&down=1&from=28") == (30, ["e28", "e29"])
        assert ids("q=e0&outcome=success") == (5, ["e01", "e03", "e05", "e07", "e09"])
        assert ids("ended=stopped") == (0, [])
        assert ids("outcome=bad&from=x&sort=none")[0] == 30


def test_five_thousand_episodes_are_indexed_quickly_and_take_little(
    tmp_path: Path,
) -> None:
    path = make_run(tmp_path / "runs" / "many", ("0",))
    recorded = RunFolder.read(path)
    (line,) = lines_of(path)
    rewrite(
        path,
        [line.replace(b'"episode":"0"', b'"episode":"%d"' % n) for n in range(5000)],
    )
    began = time.process_time()
    rows = Rows(recorded).refresh()
    took = time.process_time() - began
    assert len(rows) == 5000
    assert took < 5, "about 0.2 s on an idle core"
