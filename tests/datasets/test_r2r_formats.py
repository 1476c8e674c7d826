"""R2R's relatives in their published formats: own subsets, R4R, RxR, packs and pictures."""

from __future__ import annotations

import io
import json
import math
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.small_scan import PLACES, SCAN, write_pack, write_picture, write_scan
from wayword.core.errors import DataError, UsageError
from wayword.datasets.r2r import R2R, R4R, R2RSettings, RxR, RxRSettings
from wayword.runs import catalog
from wayword.runs.active import NO_REFERENCE
from wayword.runs.fetching.fetch import CHECKSUM
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.reports import rows_of
from wayword.runs.running import run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_scan(folder)
    return folder


def r2r(data: Path, **settings: Any) -> R2R:
    return R2R("val_seen", data, R2RSettings(**settings))


def test_a_file_of_own_episodes_takes_the_place_of_the_splits(
    data: Path, tmp_path: Path
) -> None:
    """MapGPT's 216 are flattened records like these."""
    record = {"instr_id": "7_1", "instruction": "Go.", "scan": SCAN, "heading": 0.0}
    own = tmp_path / "own.json"
    own.write_text(
        json.dumps([{**record, "path": ["s", "a"], "path_id": 7, "distance": 2.0}])
    )
    dataset = r2r(data, annotations=str(own))
    assert [task.episode.id for task in dataset.tasks] == ["7_1"]
    assert dataset.tasks[0].reference.path == ("s", "a")  # type: ignore[attr-defined]
    assert own in dataset.files.values()
    sample = R2R("sample72", data, R2RSettings(annotations=str(own)))
    assert len(sample.tasks) == 1
    assert (
        len(dataset.demonstrations(1, 0)) == 1
    )  # examples come from the train split still
    done = run(
        Plan(
            "oracle",
            "r2r:val_seen",
            settings={"dataset": {"annotations": str(own)}},
            data=data,
            out=tmp_path / "run",
        )
    )
    assert [scores["sr"] for _, scores in RunFolder.read(done.path).scores()] == [1.0]
    (row,) = rows_of([done.path])
    assert row.dataset == "r2r:own.json"  # not the split whose place it takes
    assert row.caveats == ("the 1 episodes of own.json, not those of val_seen",)
    with pytest.raises(DataError, match="nowhere"):
        _ = r2r(data, annotations=str(tmp_path / "nowhere.json")).tasks


def test_a_path_can_be_played_once_with_its_first_instruction(
    data: Path, tmp_path: Path
) -> None:
    record = {"scan": SCAN, "heading": 0.0, "distance": 2.0, "path": ["s", "a"]}
    walks = [
        {**record, "path_id": path, "instr_id": f"{path}_{n}", "instruction": "Go."}
        for path in (7, 8)
        for n in (0, 1, 2)
    ]
    own = tmp_path / "own.json"
    own.write_text(json.dumps(walks))
    every = r2r(data, annotations=str(own))
    first = r2r(data, annotations=str(own), instructions="first")
    assert len(every.tasks) == 6
    assert [task.episode.id for task in first.tasks] == ["7_0", "8_0"]


def test_an_id_given_twice_is_named_with_both_records(
    data: Path, tmp_path: Path
) -> None:
    record = {"instr_id": "7_1", "instruction": "Go.", "scan": SCAN, "heading": 0.0}
    own = tmp_path / "own.json"
    own.write_text(
        json.dumps([{**record, "path": ["s", "a"]}, {**record, "path": ["a", "s"]}])
    )
    problem = "own.json: record 1: has the same episode id as record 0: '7_1'"
    report, is_valid = checked(data, own)
    assert not is_valid
    assert problem in report
    own.write_text(json.dumps([{**record, "path": ["s", "a"]}]))
    report, is_valid = checked(data, own)
    assert is_valid
    verdict = "r2r:own.json: 1 episodes, all records are valid"
    assert report.splitlines()[-1] == verdict
    # Reports of `data fetch` have no checksums.
    assert len(report.splitlines()) > 1
    assert CHECKSUM.sub("", report) == verdict


def test_an_id_given_twice_hides_no_other_fault_of_its_record(
    data: Path, tmp_path: Path
) -> None:
    record = {"instr_id": "7_1", "instruction": "Go.", "scan": SCAN, "heading": 0.0}
    own = tmp_path / "own.json"
    walks = [{**record, "path": ["s", "a"]}, {**record, "path": ["a"], "heading": 90.0}]
    own.write_text(json.dumps(walks))
    report, _ = checked(data, own)
    assert "own.json: record 1, field 'heading': must be in radians" in report


def checked(data: Path, own: Path) -> tuple[str, bool]:
    """The report of ``wayword data check`` on a user's annotations."""
    return catalog.data_check("r2r", data, {"dataset": {"annotations": str(own)}})


def test_a_check_lists_all_bad_records(data: Path, tmp_path: Path) -> None:
    record = {"instructions": ["Go."], "scan": SCAN, "heading": 0.0, "path": ["s", "a"]}
    changes: list[dict[str, object]] = [
        {}, {"scan": "nowhere"}, {}, {"heading": "north"}, {"path": ["s", "s"]}, {"scan": None},
    ]  # fmt: skip
    own = tmp_path / "own.json"
    records = [{**record, "path_id": n, **each} for n, each in enumerate(changes)]
    own.write_text(json.dumps(records))
    report, is_valid = checked(data, own)
    assert not is_valid
    *bad, total = report.splitlines()
    starts = [f"{own}: record {n}, field " for n in (1, 3, 4, 5)]
    assert [line.startswith(start) for line, start in zip(bad, starts, strict=True)]
    assert total.endswith("4 bad records")
    with pytest.raises(DataError, match="record 1, field 'scan'"):
        _ = r2r(data, annotations=str(own)).tasks  # a run still ends at the first


def test_a_number_that_json_lacks_hides_no_other_bad_record(
    data: Path, tmp_path: Path
) -> None:
    record = {"path_id": 7, "instructions": ["Go."], "scan": SCAN, "heading": 0.0}
    record["path"] = ["s", "a"]
    bad = [{"heading": math.nan}, {"distance": -math.inf}, {"scan": "nowhere"}]
    own = tmp_path / "own.json"
    records = [{**record, "path_id": n, **each} for n, each in enumerate([*bad, {}])]
    for text in (json.dumps(records), "\n".join(map(json.dumps, records))):
        own.write_text(text)
        report, _ = checked(data, own)
        assert report.splitlines() == [
            f"{own}: record 0, field 'heading': must be a finite number, got NaN",
            f"{own}: record 1, field 'distance': must be a finite number, got -Infinity",
            f"{own}: record 2, field 'scan': is not a Matterport3D scan: 'nowhere'",
            "r2r:own.json: 3 bad records",
        ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"scan": "nowhere"},
            "record 0, field 'scan': is not a Matterport3D scan: 'nowhere'",
        ),
        ({"path": ["s", "x"]}, "record 0, field 'path': 'x' is not a viewpoint of"),
        ({"path": ["s", "s"]}, "record 0, field 'path': 's' and 's' are not adjacent"),
        ({"path": ["s"]}, "record 0, field 'path': must have at least two viewpoints"),
        ({"heading": 180}, "record 0, field 'heading': must be in radians"),
        ({"instructions": []}, "record 0, field 'instructions': is empty"),
        ({"instructions": [3]}, "record 0, instruction 0: must be a text, got 3"),
        ({"instructions": "Go."}, "field 'instructions': must be a list, got 'Go.'"),
        ({"path": "s"}, "record 0, field 'path': must be a list, got 's'"),
        ({"heading": None}, "record 0, field 'heading': must be a number, got None"),
        ({"heading": math.nan}, "record 0, field 'heading': must be a finite number"),
        ({"path_id": True}, "record 0, field 'path_id': must be a whole number or a t"),
        ({"scan": 3}, "record 0, field 'scan'"),
    ],
)
def test_a_file_of_ones_own_is_checked_against_the_graphs(
    data: Path, tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    record = {"path_id": 7, "instructions": ["Go."], "scan": SCAN, "heading": 0.0}
    own = tmp_path / "own.json"
    own.write_text(json.dumps([{**record, "path": ["s", "a"], **change}]))
    report, is_valid = checked(data, own)
    assert not is_valid
    assert problem in report
    assert report.startswith(f"{own}: record 0")
    assert len(report.splitlines()) == 2, "the record and the total"
    assert report.endswith("1 bad record")


@pytest.mark.parametrize(
    ("on", "name"),
    [
        ("r2r:val_seen", "r2r/annotations/R2R_val_seen.json"),
        ("rxr:val_seen", "rxr/rxr_val_seen_guide.jsonl"),
        ("reverie:val_seen", "reverie/REVERIE_val_seen.json"),
    ],
)
def test_a_check_reads_the_routes_of_published_files_too(
    tmp_path: Path, on: str, name: str
) -> None:
    write_scan(tmp_path)
    boxes = tmp_path / "reverie" / "bbox_by_scan"
    boxes.mkdir(parents=True)
    (boxes / f"{SCAN}.json").write_text("{}")
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "path_id": 7,
        "instruction_id": 7,
        "language": "en-US",
        "instruction": "Go.",
        "instructions": ["Go."],
        "scan": SCAN,
        "heading": 0.0,
        "path": ["s", "a"],
    }
    for path, problem in (
        (["s", "a"], ""),
        (["s", "x"], "field 'path': 'x' is not a viewpoint of"),
        (["s", "s"], "field 'path': 's' and 's' are not adjacent"),
    ):
        text = json.dumps({**record, "path": path})
        file.write_text(text if file.suffix == ".jsonl" else f"[{text}]")
        report, is_valid = catalog.data_check(on, tmp_path, {})
        assert is_valid == (not problem), report
        assert problem in report


@pytest.mark.parametrize(
    ("text", "problem", "total"),
    [
        ("", "is not valid JSON", "cannot be played"),
        ("[{", "record 0: is not valid JSON", "1 bad record"),
        ("[NaN]", "record 0: must be an object, got nan", "1 bad record"),
        ("[{}] 3", "is not valid JSON", "cannot be played"),
        ("{}", "is not a JSON list", "cannot be played"),
        ("3", "is not a JSON list", "cannot be played"),
        ("[]", "contains no episodes", "cannot be played"),
        (None, "no such file (nor .gz); check its path", "cannot be played"),
    ],
)
def test_a_file_that_is_no_list_of_records_is_one_line(
    data: Path, tmp_path: Path, text: str | None, problem: str, total: str
) -> None:
    own = tmp_path / "own.json"
    if text is not None:
        own.write_text(text)
    report, is_valid = checked(data, own)
    assert not is_valid
    first, last = report.splitlines()
    assert first.startswith(f"{own}: {problem}")
    assert last.endswith(total)
    assert "fetch it again" not in first or "check it" in first


def test_a_run_without_a_reference_says_that_it_has_no_success(
    data: Path, tmp_path: Path
) -> None:
    record = {"path_id": 7, "instructions": ["Go."], "scan": SCAN, "heading": 0.0}
    split = data / "r2r" / "annotations" / "R2R_test.json"
    split.write_text(json.dumps([{**record, "path": ["s"]}]))
    for on, is_noted in (("r2r:test", True), ("r2r:val_seen", False)):
        plan = Plan("random", on, data=data, limit=1, out=tmp_path / on[4:])
        noted = [line for line in run(plan).notices if NO_REFERENCE in line]
        assert bool(noted) == is_noted


def test_a_setting_without_its_group_is_refused(data: Path) -> None:
    with pytest.raises(UsageError, match=r"write dataset\.KEY=VALUE"):
        catalog.data_check("r2r", data, {"annotations": "own.json"})


def test_a_pack_captioned_again_is_read_instead(data: Path, tmp_path: Path) -> None:
    write_pack(tmp_path / "anew", "blue")
    dataset = r2r(data, observations=str(tmp_path / "anew"))
    percept = dataset.perceiver().perceive(SCAN, "a")
    assert percept.sectors[0].caption == "A blue a."
    assert "blue a" in percept.summary
    assert dataset.perceiver().name == "recorded:navgpt:anew"
    read = [path for path in dataset.files.values() if "anew" in str(path)]
    assert len(read) == 3
    assert "A plain a." in r2r(data).perceiver().perceive(SCAN, "a").sectors[0].caption
    with pytest.raises(DataError, match="wayword perceive"):
        r2r(data, observations=str(tmp_path)).perceiver()


def test_r4r_is_read_as_its_generator_writes_it(data: Path) -> None:
    record = {
        "distance": 6.0,
        "scan": SCAN,
        "path_id": 3,
        "path": ["s", "a", "b", "a", "s"],
        "heading": 1.57,
        "instructions": [f"First. Then {n}." for n in range(9)],
        "first_path_id": 1,
        "second_path_id": 2,
    }
    (data / "r4r").mkdir(exist_ok=True)
    (data / "r4r" / "R4R_val_seen.json").write_text(json.dumps([record]))
    dataset = R4R("val_seen", data, R2RSettings())
    assert [task.episode.id for task in dataset.tasks] == [f"3_{n}" for n in range(9)]
    assert dataset.tasks[0].reference.path == ("s", "a", "b", "a", "s")  # type: ignore[attr-defined]
    assert dataset.tasks[0].episode.start["heading"] == pytest.approx(89.95, abs=0.1)
    assert dataset.perceiver().perceive(SCAN, "b").sectors
    with pytest.raises(UsageError, match="r4r has no split"):
        R4R("sample72", data, R2RSettings())


def test_rxr_is_read_line_by_line_in_one_language(data: Path) -> None:
    base = {
        "path_id": 11,
        "split": "val_seen",
        "scan": SCAN,
        "heading": 0.5,
        "path": ["s", "a"],
    }
    lines = [
        {
            **base,
            "instruction_id": n,
            "annotator_id": 1,
            "language": code,
            "instruction": text,
        }
        for n, (code, text) in enumerate(
            [("en-IN", "Go on."), ("hi-IN", "चलो।"), ("en-US", "Walk.")]
        )
    ]
    (data / "rxr").mkdir(exist_ok=True)
    path = data / "rxr" / "rxr_val_seen_guide.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    texts_by_key = {
        code: [
            t.episode for t in RxR("val_seen", data, RxRSettings(language=code)).tasks
        ]  # type: ignore[arg-type]
        for code in ("en", "hi", "")
    }
    with pytest.raises(DataError, match="is en or hi in all records"):
        _ = RxR("val_seen", data, RxRSettings(language="te")).tasks
    assert [episode.id for episode in texts_by_key["en"]] == ["0", "2"]
    assert texts_by_key["hi"][0].instruction == "चलो।"
    assert texts_by_key["hi"][0].extra == {"language": "hi-IN", "path_id": 11}
    assert len(texts_by_key[""]) == 3
    path.write_text("{broken\n")
    with pytest.raises(DataError, match="line 1: is not valid JSON"):
        _ = RxR("val_seen", data, RxRSettings()).tasks


def _red(image: Any) -> int:
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(image.data)))
    rows, columns = pixels.shape[:2]
    return int(pixels[rows // 2, columns // 2, 0])


def test_pictures_are_read_in_all_three_forms(data: Path, tmp_path: Path) -> None:
    scan = tmp_path / SCAN
    for view in range(36):
        write_picture(scan / "s" / f"{view:02d}.png", 8, 8, 5 * view)
    for face in range(6):
        name = f"a_skybox{face}_sami.png"
        write_picture(scan / "matterport_skybox_images" / name, 16, 16, 40 * face)
    write_picture(scan / "b.png", 32, 64, 250)
    shown = r2r(data, pictures=str(tmp_path)).perceiver()
    assert {"picture", "perceive"} <= shown.capabilities
    assert _red(shown.picture(SCAN, "s", 0.0, 60.0)) == pytest.approx(5 * 12, abs=4)
    assert _red(shown.picture(SCAN, "s", 92.0, 60.0, 25.0)) == pytest.approx(
        5 * 27, abs=4
    )
    assert _red(shown.picture(SCAN, "s", 350.0, 60.0, -40.0)) == pytest.approx(0, abs=4)
    # the camera looks east: face 1 lies there, the others clockwise, 0 above and 5 below
    for heading, elevation, face in (
        *((90.0, 0.0, 1), (180.0, 0.0, 2), (270.0, 0.0, 3), (0.0, 0.0, 4)),
        *((0.0, 80.0, 0), (0.0, -80.0, 5)),
    ):
        assert _red(
            shown.picture(SCAN, "a", heading, 40.0, elevation)
        ) == pytest.approx(40 * face, abs=6), (heading, elevation)
    assert _red(shown.picture(SCAN, "b", 123.0, 60.0)) == pytest.approx(250, abs=4)
    with pytest.raises(DataError, match="no picture, no 36 views and no skybox"):
        shown.picture(SCAN, "c", 0.0, 60.0)
    with pytest.raises(UsageError, match="no such folder"):
        r2r(data, pictures=str(tmp_path / "none")).perceiver()


@pytest.mark.parametrize(
    ("agent", "settings"), [("mapgpt", {}), ("discussnav", {"scene": "asked"})]
)
def test_agents_are_shown_r2rs_pictures(
    agent: str, settings: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    for place in PLACES:
        write_picture(tmp_path / "seen" / SCAN / f"{place}.png", 16, 32, 90)
    plan = Plan(
        agent,
        "r2r:val_seen",
        "scripted:first",
        {**settings, "dataset": {"pictures": str(tmp_path / "seen")}},
        limit=1,
        max_steps=1,
        data=data,
        out=tmp_path / "run",
    )
    (record,) = RunFolder.read(run(plan).path).records()
    prompts = [
        m
        for call in record.trajectory.calls()
        for m in call.prompt
        if not isinstance(m, str)
    ]
    assert any(message.images for message in prompts)


def test_a_listing_of_data_says_where_missing_files_come_from(tmp_path: Path) -> None:
    """What is missing is not to be looked up in the very list that says it is missing."""
    (tmp_path / "r2r" / "annotations").mkdir(parents=True)
    listed = [*catalog.data_listing(tmp_path)]
    (line,) = [line for line in listed if line.lstrip().startswith("r2r:val_unseen ")]
    assert line.endswith("R2R_val_unseen.json: no such file (nor .gz)")
    assert not any("wayword data list" in line for line in listed)
    assert "docs/datasets.md has the source" in listed[-1]


def test_a_missing_split_names_the_splits_that_are_there(data: Path) -> None:
    message = "get it with `wayword data fetch r2r`; you have val_seen"
    with pytest.raises(DataError, match=re.escape(message)):
        _ = R2R("val_unseen", data, R2RSettings()).tasks


def test_a_listing_of_one_dataset_reads_no_other(tmp_path: Path) -> None:
    (tmp_path / "r2r" / "annotations").mkdir(parents=True)
    notices = []

    def waiting(line: str) -> AbstractContextManager[None]:
        notices.append(line)
        return nullcontext()

    listed = [*catalog.data_listing(tmp_path, ["r2r"], waiting)]
    assert notices == [f"reading r2r:{split} …" for split in R2R.splits]
    assert len(listed) == len(R2R.splits) + 2
    with pytest.raises(UsageError, match="did you mean 'r2r'"):
        [*catalog.data_listing(tmp_path, ["R2R"])]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("heading", "headng", "'heading': is missing; the record has 'headng'"),
        # Another field with a longer name is no misspelling.
        ('"path"', '"path_of"', "'path': is missing; a file of annotations is"),
        ("6.5", '"far"', "'distance': must be a number, got 'far'"),
        ("6.5", "null", ""),
        ("6.5", '"6.5"', ""),
        ("6.5", "6.5,", "a comma before '}': line 1 column"),
        ("6.5", "6.5,\n", "a comma before '}': line 2 column"),
        ("}", "},", "a comma before ']': line 1 column"),
        ("Go", "Go,\n]", "is not valid JSON (Invalid control character"),
    ],
)
def test_a_fault_of_a_record_is_named(
    data: Path, tmp_path: Path, old: str, new: str, problem: str
) -> None:
    record = {"path_id": 7, "scan": SCAN, "path": ["s", "a"], "heading": 0.0}
    text = json.dumps([{**record, "instructions": ["Go"], "distance": 6.5}])
    own = tmp_path / "own.json"
    own.write_text(text.replace(old, new))
    report, is_valid = checked(data, own)
    assert is_valid == (not problem), report
    assert problem in report


def test_edges_that_lead_one_way_are_noted(data: Path, tmp_path: Path) -> None:
    assert "note:" not in catalog.data_check("r2r:val_seen", data, {})[0]
    own = tmp_path / "own.py"
    own.write_text(OWN_GRAPH)
    report, is_valid = catalog.data_check(f"{own}:test", None, {})
    assert is_valid
    assert "note: line: 2 edges have no edge back, such as 'a' to 'b'" in report


OWN_GRAPH = """
import numpy as np
from wayword.core.dataset import SolvableWalks, Task
from wayword.core.episode import Episode, PathReference
from wayword.worlds import indoor
from wayword.worlds.indoor.graph import build
from wayword.worlds.indoor.world import IndoorWorld


class Line(SolvableWalks):
    family = indoor.family
    splits = ("test",)
    max_steps = 5

    def __init__(self, split, folder, settings):
        positions = np.array([(2.0 * n, 0.0, 0.0) for n in range(3)])
        edges = np.array([(0, 1), (1, 2)], dtype=np.int32)
        self.shared = build("line", ("a", "b", "c"), positions, edges)
        episode = Episode("go", "Go.", "line", {"viewpoint": "a", "heading": 0.0})
        self.tasks = [Task(episode, PathReference("go", ("a", "b", "c")))]

    def graph(self, scene):
        return self.shared

    def world(self, episode):
        return IndoorWorld(self.shared)


dataset = Line
"""
