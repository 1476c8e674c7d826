"""The pages of a run: what is on them, which are written, and where they may be written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers import small_cave
from helpers.line_world import WORLD
from helpers.parsed_page import Page, check_safe
from helpers.recorded_run import make_run, recorded_trajectory
from helpers.records import lines, members, records, rewrite
from helpers.shown import episode_page
from wayword import viewer
from wayword.core.errors import RecordingError, UsageError
from wayword.datasets.houses import Houses
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.running import run
from wayword.viewer.data import Sources
from wayword.viewer.episode import Links
from wayword.viewer.markup import unbroken


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A NavGPT run in generated houses with a scripted model."""
    out = tmp_path_factory.mktemp("viewer") / "walked"
    return run(Plan("navgpt", "houses", "scripted:first", limit=4, out=out)).path


def test_the_index_tells_what_was_run_and_what_came_out(walked: Path) -> None:
    page = Page.read(viewer.write(walked))
    check_safe(page)
    for words in (
        "navgpt",
        "scripted:first",
        "houses:test",
        "4 of 4 episodes (180 in the split)",
        "95%",
        "seed",
    ):
        assert words in page.text
    assert {record["scores"]["sr"] for record in records(walked)} == {0.0}
    (rate, *_) = page.all("div", class_="metric")
    assert "95%: 0 to" in rate.text, "none of four is not none"
    row = records(walked)[0]
    names = page.data["keys"]
    first = page.data["rows"][0]
    assert first[0] == row["episode"]
    assert first[1] != ""
    shown = dict(zip(names, first[6:], strict=True))
    assert shown["ne"] == pytest.approx(row["scores"]["ne"], rel=1e-4)
    assert page.data["shown"][:3] == ["sr", "ne", "steps"]


def test_every_link_leads_to_a_page(walked: Path) -> None:
    index = viewer.write(walked)
    pages = [row[2] for row in Page.read(index).data["rows"]]
    assert len(pages) == 4
    for name in pages:
        page = Page.read(index.parent / name)
        check_safe(page)
        for link in page.all("a"):
            target = link.attributes["href"] or ""
            if not target.startswith("#"):
                assert (index.parent / "episodes" / target).is_file(), target
            else:
                assert page.all("section", id=target[1:]) or page.all(
                    "main", id=target[1:]
                )


def test_an_episode_page_shows_every_step_and_the_map(walked: Path) -> None:
    index = viewer.write(walked)
    record = next(iter(RunFolder.read(walked).records()))
    page = Page.read(index.parent / "episodes" / f"{record.episode_id}.html")
    assert len(page.all("section", class_="step")) == len(record.trajectory.steps)
    for step in record.trajectory.steps:
        assert str(step.decision.action) in page.text
        assert step.calls[0].answer.text in page.text
    assert len(page.all("polyline", class_="gold")) == 1
    assert page.all("rect", class_="room")
    stops = [e.attributes["data-steps"].split() for e in page.all("g", class_="stop")]
    seen = sorted(int(step) for stop in stops for step in stop)
    assert seen == list(range(len(record.trajectory.steps) + 1))


@pytest.mark.parametrize("agent", ["oracle", "random"])
def test_a_diagnosis_has_the_sentence_of_the_page(tmp_path: Path, agent: str) -> None:
    result = run(Plan(agent, "apartments", limit=1, max_steps=40, out=tmp_path / "r"))
    (record,) = result.episodes
    found = result.diagnose(record)
    index = viewer.write(result.path)
    page = Page.read(index.parent / "episodes" / f"{record.episode_id}.html")
    first_sentence = found.text.partition(". ")[0]
    assert first_sentence
    assert first_sentence in " ".join(page.text.split())
    is_solved = agent == "oracle"
    assert found.text.startswith("Solved: ") is is_solved
    assert (found.mistake is None) is is_solved
    assert (not found.causes) is is_solved


def test_without_the_dataset_the_walk_is_reckoned_from_what_was_seen(
    tmp_path: Path,
) -> None:
    written = viewer.write_pages(make_run(tmp_path / "run"))
    page = Page.read(written.index.parent / "episodes" / "one.html")
    assert "Instruction not available" in page.text
    assert len(page.all("g", class_="stop")) == 2
    assert not page.all("polyline", class_="gold")
    assert "rejected: unknown" in page.text
    assert "by the recipe's own fallback" in page.text


def test_a_limit_and_single_episodes(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [f"way{i}" for i in range(5)])
    written = viewer.write_pages(folder, limit=2)
    assert (written.new, written.pages, written.of) == (2, 2, 5)
    page = Page.read(written.index)
    assert "2 of 5 episodes have pages" in page.text
    assert [row[2] for row in page.data["rows"]] == [
        "episodes/way0.html",
        "episodes/way1.html",
        None,
        None,
        None,
    ]
    again = viewer.write_pages(folder, episodes=["way3"])
    assert (again.new, again.pages) == (1, 3)
    (before,) = Page.read(again.index.parent / "episodes" / "way3.html").all(
        "a", rel="prev"
    )
    assert before.attributes["href"] == "way1.html"
    with pytest.raises(UsageError, match="no episode 'way9'; did you mean"):
        viewer.write_pages(folder, episodes=["way9"])
    with pytest.raises(UsageError, match="at least 0"):
        viewer.write_pages(folder, limit=-1)


def test_failed_episodes_come_first_and_say_why(tmp_path: Path) -> None:
    failed = {
        "two": recorded_trajectory("two"),
        "bad": recorded_trajectory("bad"),
        "worse": None,
    }
    folder = make_run(tmp_path / "run", ["one", "three"], "no answer came", failed)
    with RunFolder.open(
        folder, {"identity": RunFolder.read(folder).config["identity"]}
    ) as going:
        going.append(
            EpisodeRecord("two", {"sr": 0.0}, recorded_trajectory("two"))
        )  # finished since
    index = viewer.write(folder)
    rows = Page.read(index).data["rows"]
    assert [row[0] for row in rows] == ["bad", "worse", "one", "three", "two"]
    assert [row[3] for row in rows][:3] == ["failed", "failed", "step_limit"]
    assert "no answer came" in rows[0][1]
    assert "no answer came" in Page.read(index.parent / "episodes" / "worse.html").text


def test_a_run_that_has_no_episode_yet(tmp_path: Path) -> None:
    page = Page.read(viewer.write(make_run(tmp_path / "run", [])))
    assert "No episode has ended yet" in page.text


def test_a_run_that_is_being_written(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with (folder / "episodes.jsonl.gz").open("ab") as more:
        more.write(members(folder)[0][:100])
    assert viewer.write_pages(folder).of == 2


def test_lines_with_their_fields_in_another_order(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    rewrite(folder, [dict(reversed(line.items())) for line in records(folder)])
    rows = Page.read(viewer.write(folder)).data["rows"]
    assert [(row[0], row[3]) for row in rows] == [
        ("one", "step_limit"),
        ("two", "step_limit"),
    ]


def test_pages_go_only_where_pages_may(tmp_path: Path) -> None:
    one = make_run(tmp_path / "one")
    other = make_run(tmp_path / "other", seed=1)
    index = viewer.write(one, tmp_path / "out")
    assert index == tmp_path / "out" / "index.html"
    with pytest.raises(UsageError, match="another run"):
        viewer.write(other, tmp_path / "out")
    home = tmp_path / "home"
    home.mkdir()
    (home / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="has other files"):
        viewer.write(one, home)
    assert (home / "index.html").read_text() == "mine"
    with pytest.raises(RecordingError, match="no such folder"):
        viewer.write(tmp_path / "nothing")
    with pytest.raises(RecordingError, match="--out"):
        viewer.write(one, tmp_path / "home" / "index.html" / "below")


def test_pages_say_the_same_again(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    page = viewer.write(folder).parent / "episodes" / "one.html"
    first = page.read_bytes()
    viewer.write(folder)
    assert page.read_bytes() == first


def test_a_corrupt_line_is_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    first, *others = lines(folder)
    rewrite(folder, [first.replace(b'"steps":[', b'"turns":[', 1), *others])
    with pytest.raises(RecordingError, match=r"episodes.jsonl.gz: record 1: .*'steps'"):
        viewer.write(folder)
    first, *others = members(folder)
    path = folder / "episodes.jsonl.gz"
    damaged = first[:99] + bytes([first[99] ^ 1]) + first[100:]
    path.write_bytes(b"".join([damaged, *others]))
    with pytest.raises(
        RecordingError, match=r"episodes.jsonl.gz: record 1: is damaged"
    ):
        viewer.write(folder)


def test_what_was_read_of_a_place_is_recorded_and_shown_without_the_dataset(
    walked: Path,
) -> None:
    seer = Houses("test", None, Houses.Settings()).perceiver()
    record = next(iter(RunFolder.read(walked).records()))
    for step in record.trajectory.steps:
        seen = step.observation
        assert isinstance(seen, Mapping)
        assert step.percept == seer.perceive(seen["scene"], seen["viewpoint"])
        step.calls = []  # a page leaves out what stands in the step's prompt
    page = Page.parse(episode_page(record, (), Sources(), "run", Links()))
    percept = record.trajectory.steps[0].percept
    assert percept is not None
    assert percept.sectors[0].caption in page.text


def test_full_pages_are_not_replaced_by_pages_without_the_users_world(
    tmp_path: Path,
) -> None:
    file = tmp_path / "cave.py"
    file.write_text(Path(small_cave.__file__).read_text() + "\n\ndataset = Caves\n")
    run(Plan("random", str(file), out=tmp_path / "run"))
    poor = viewer.write_pages(tmp_path / "run", trusted=[])
    assert "--with" in poor.notice
    full = viewer.write_pages(tmp_path / "run", trusted=[file])
    assert not full.notice
    page = full.index.read_bytes()
    with pytest.raises(UsageError, match=r"not replaced by poorer ones.*--with FILE"):
        viewer.write_pages(tmp_path / "run")
    assert full.index.read_bytes() == page
    viewer.write_pages(tmp_path / "run", tmp_path / "others")


def test_a_page_says_why_an_own_world_has_no_map(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    pose = '    def pose(self, actor):\n        return {"east": self.place, "north": 0}\n\n'
    state = "    def state(self):"
    file.write_text(WORLD.replace(state, pose + state))
    run(Plan("random", str(file), limit=1, out=tmp_path / "run"))
    written = viewer.write_pages(tmp_path / "run", trusted=[file])
    (page,) = (written.index.parent / "episodes").glob("*.html")
    reason = "No map: pose() has east and north, and a map needs numbers x and y."
    assert reason in page.read_text()


def test_no_line_break_comes_between_a_length_and_its_unit() -> None:
    assert unbroken("moved 0.25 m, 3 moves") == "moved 0.25\N{NO-BREAK SPACE}m, 3 moves"
