"""Tables by scene and length, wide ones, and comparisons of several runs and seeds."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from helpers import small_cave
from helpers.line_world import WORLD
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import walked_places
from wayword.metrics.summary import other_episodes, summarize
from wayword.metrics.table import TOTAL_COST, cell, labels
from wayword.models.middleware.ledger import LedgerRow
from wayword.runs import Plan, RunFolder, RunResult, run
from wayword.runs.config import Session, Spending, add_session
from wayword.runs.differences import compare, compared, comparisons, differing_fields
from wayword.runs.lengths import by_length
from wayword.runs.opening import open_dataset
from wayword.runs.predicted import name_of
from wayword.runs.record import EpisodeRecord
from wayword.runs.reports import pooled_rows, rows_of, score, table
from wayword.runs.reproduce import published_rows
from wayword.runs.scored_runs import only, pooled
from wayword.runs.verify import coverage
from wayword.viewer.plots.display import plot
from wayword.worlds.objectnav.world import ObjectNavReference

pytestmark = pytest.mark.usefixtures("shared_data")

TREE = {"dataset": {"houses": 2, "episodes": 8}}


def open_task(name: str) -> Task:
    """Return a task of the houses by its id."""
    tasks = open_dataset(Plan("a", "houses", "", TREE)).tasks
    return next(task for task in tasks if task.episode.id == name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An oracle, a run of few steps, and three seeds of a random walker."""
    folder = tmp_path_factory.mktemp("reports")
    run(Plan("oracle", "houses", "", TREE, out=folder / "oracle"))
    run(Plan("random", "houses", "", {**TREE, "steps": 2}, out=folder / "short"))
    for seed in range(3):
        plan = Plan(
            "random", "houses", "", TREE, seed=seed, out=folder / "seeds" / f"{seed}"
        )
        run(plan)
    return folder


def test_a_run_that_is_named_twice_is_no_second_seed(runs: Path) -> None:
    named = [
        runs / "seeds",
        runs / "seeds" / "1",
        Path(os.path.relpath(runs / "short")),
    ]
    rows = json.loads(table([*named, runs / "short"], "json", pool=True))["rows"]
    assert [row.get("runs", 1) for row in rows] == [3, 1]


def test_a_run_of_a_sweep_is_named_after_its_agent(tmp_path: Path) -> None:
    plan = Plan("random", "houses", "", TREE, limit=1, max_steps=2)
    for choices, name in (
        ("seed=0", "random (seed=0)"),
        ("seed=1", "random (seed=1)"),
        ("on=houses_test", "random"),
        ("on=houses,history=2", "random (history=2)"),
        ("mine", "mine"),
    ):
        seed = int(choices == "seed=1")
        run(replace(plan, seed=seed, out=tmp_path / "sweep" / choices))
        (row,) = json.loads(table([tmp_path / "sweep" / choices], "json"))["rows"]
        assert row["run"] == name
    seeds = [tmp_path / "sweep" / f"seed={seed}" for seed in range(2)]
    text = table(seeds, "latex", preset="babyai")
    assert r"random (seed=0) & " in text
    assert "seed=0) (seed" not in text
    for form in ("markdown", "rich"):
        # The settings below or next to a name would repeat it.
        assert "seed=0" not in table(seeds, form).replace("random (seed=0)", "")


def test_a_row_for_each_scene_or_length(runs: Path) -> None:
    tasks = {
        task.episode.id: task
        for task in open_dataset(Plan("a", "houses", "", TREE)).tasks
    }
    for by, of in (
        ("scene", lambda task: task.episode.scene),
        ("length", lambda task: f"length {len(task.reference.path) - 1}"),
    ):
        rows = json.loads(table([runs / "short"], "json", by=by))["rows"]
        expected: dict[str, list[float]] = {}
        for name, scores in RunFolder.read(runs / "short").scores():
            expected.setdefault(f"short, {of(tasks[name])}", []).append(scores["sr"])
        assert {row["run"]: row["n"] for row in rows} == {
            k: len(v) for k, v in expected.items()
        }
        assert [row["run"] for row in rows] == sorted(expected)
        for row in rows:
            values = expected[row["run"]]
            assert row["metrics"]["sr"]["mean"] == pytest.approx(
                sum(values) / len(values)
            )
            assert row["of"] == row["n"]
            # The sessions' time is that of all parts together.
            assert row["totals"].get("wall_seconds") is None
    pooled = json.loads(table([runs / "seeds"], "json", pool=True, by="scene"))["rows"]
    assert [row["runs"] for row in pooled] == [3] * len(pooled)
    scenes = {task.episode.scene for task in tasks.values()}
    assert {row["run"].rpartition(", ")[2] for row in pooled} <= scenes
    assert len({row["run"] for row in pooled}) == len(pooled)
    with pytest.raises(UsageError, match="--by color: choose scene or length"):
        table([runs / "short"], by="color")


def test_wide_tables_hide_nothing_and_columns_are_honored(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Hidden columns" in table([runs / "short"])
    assert "Hidden columns" not in table([runs / "short"], wide=True)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, table([runs / "short"]).splitlines())) <= 60
    assert (
        max(map(len, compare([runs / "short", runs / "oracle"]).text.splitlines()))
        <= 60
    )


def test_several_runs_and_seed_folders_are_compared_with_the_first(runs: Path) -> None:
    paths = [runs / "short", runs / "oracle", runs / "seeds"]
    written = compare(paths, "json", ["sr", "tl"])
    found = json.loads(written.text)["comparisons"]
    assert [(one["first"], one["second"]) for one in found] == [
        (str(runs / "short"), str(runs / "oracle")), (str(runs / "short"), str(runs / "seeds")),
    ]  # fmt: skip
    means = [
        [scores["sr"] for _, scores in RunFolder.read(path).scores()]
        for path in sorted((runs / "seeds").iterdir())
    ]
    (seeds, _) = found[1]["metrics"]
    assert seeds["second"] == pytest.approx(sum(map(sum, means)) / 24)
    alone = json.loads(compare(paths[:2], "json", ["sr", "tl"]).text)
    pairs = list(zip(alone["metrics"], found[0]["metrics"], strict=True))
    pairs = [(one, both) for one, both in pairs if one["p"] is not None]
    assert all(one["p"] <= both["p"] for one, both in pairs)
    assert any(one["p"] < both["p"] for one, both in pairs)
    assert "p and interval with Holm's correction for 2 tests" in " ".join(
        compare(paths).text.split()
    )
    assert compare(paths, "csv").text.startswith("metric,first_run,second_run,")
    assert any(
        line.startswith(f"{runs / 'oracle'} differs in: agent")
        for line in written.notices
    )
    assert compare([runs / "oracle"] * 2, "json", ["sr"]).notices == ()
    with pytest.raises(UsageError, match="at least two runs, got 1"):
        compare([runs / "seeds"])


def test_several_runs_in_one_folder_are_named_by_their_own(runs: Path) -> None:
    """Runs that are one but for the seed are named as the user wrote them."""
    results, _ = comparisons([runs, runs / "seeds"])
    named = [(each.first, each.second) for each in results]
    first = str(runs / "oracle")
    assert named == [(first, str(runs / "short")), (first, str(runs / "seeds"))]


def test_fields_that_only_one_of_two_runs_has_differ() -> None:
    one = {"identity": {"seed": 0, "agent": "act", "eyes": {"eyes": "pictures"}}}
    two = {"identity": {"agent": "act", "seed": 1, "remember": "scene"}}
    assert differing_fields(one, two) == ("seed", "eyes", "remember")
    assert {*differing_fields(two, one)} == {"seed", "eyes", "remember"}
    assert differing_fields(one, one) == ()


def test_labels_name_the_compared_runs(runs: Path) -> None:
    paths = [runs / "short", runs / "seeds"]
    text = compare(paths, "latex", ["sr"], labels=["Base", "Ours"]).text
    assert "Metric & Base & Ours & Difference" in text
    assert "First: Base" in text
    assert "Second: Ours" in text
    with pytest.raises(UsageError, match="--label: 1 given, and the comparison has 2"):
        compare(paths, labels=["Base"])


def test_all_seeds_of_a_side_know_the_clusters(tmp_path: Path) -> None:
    settings = {"dataset": {"houses": 2, "episodes": 12}}
    # The first seed was stopped early, so the second alone has some episodes.
    for seed, limit in enumerate((2, 12)):
        plan = Plan("random", "houses", "", settings, seed=seed, limit=limit)
        run(replace(plan, out=tmp_path / "seeds" / f"{seed}"))
    run(Plan("oracle", "houses", "", settings, out=tmp_path / "oracle"))
    sides = [tmp_path / "seeds", tmp_path / "oracle"]
    counts = []
    for first, second in (sides, sides[::-1]):
        text = compare([first, second], "json", cluster="scene").text
        counts.append(json.loads(text)["clusters"])
    assert counts == [2, 2]


def test_latex_marks_what_is_significantly_best(runs: Path) -> None:
    text = table([runs / "short", *sorted((runs / "seeds").iterdir())], "latex", ["tl"])
    assert r"\mathbf" not in text, "TL has no better direction"
    assert "Settings" in text
    assert "seed=1" in text


def test_predictions_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"none\.json: no such file; name a file with predictions"
    ):
        score(tmp_path / "none.json", Plan("score", "houses"))


def test_predictions_have_the_units_of_a_run(runs: Path, tmp_path: Path) -> None:
    """The walks of a run, scored as another system's, have the means and intervals of its table."""
    run_folder = RunFolder.read(runs / "short")
    written = []
    for record in run_folder.records():
        places = walked_places(
            open_task(record.episode_id), record.trajectory, "viewpoint"
        )
        written.append({"instr_id": record.episode_id, "trajectory": places})
    file = tmp_path / "walks.json"
    file.write_text(json.dumps(written), encoding="utf-8")
    plan = Plan("score", "houses", "", TREE)
    for cluster in ("", "episode", "path", "scene"):
        scored = score(file, plan, "json", cluster=cluster).text
        tabled = table([runs / "short"], "json", cluster=cluster)
        (own,) = json.loads(scored)["rows"]
        (row,) = json.loads(tabled)["rows"]
        for key in ("sr", "spl", "ndtw", "ne"):
            assert own["metrics"][key] == pytest.approx(row["metrics"][key]), cluster
        for key in ("clustered", "clusters"):
            assert own.get(key) == row.get(key)
    with pytest.raises(UsageError, match="--cluster street"):
        score(file, plan, cluster="street")


def walks_of(run: Path, file: Path) -> list[dict[str, object]]:
    """Write the walks of a run as predictions of another system."""
    written: list[dict[str, object]] = []
    for record in RunFolder.read(run).records():
        task = open_task(record.episode_id)
        places = walked_places(task, record.trajectory, "viewpoint")
        written.append({"instr_id": record.episode_id, "trajectory": places})
    file.write_text(json.dumps(written), encoding="utf-8")
    return written


def test_predictions_become_a_run(runs: Path, tmp_path: Path) -> None:
    """It has the scores of the walks, is compared with runs, drawn, and not mixed with others."""
    file = tmp_path / "ours.v2.json"
    written = walks_of(runs / "short", file)
    plan = Plan("score", "houses", "", TREE)
    out = tmp_path / "ours"
    report = score(file, plan, out=out)
    assert report.notices[-1].endswith(
        f"{len(written)} predictions as a run of ours.v2, for table, compare, plot and view"
    )
    predicted = RunFolder.read(out)
    own = dict(RunFolder.read(runs / "short").scores())
    for name, scores in predicted.scores():
        for key in ("sr", "spl", "ndtw", "ne"):
            assert scores[key] == pytest.approx(own[name][key])
    compared, _ = comparisons([runs / "short", out], ["sr"])
    assert compared[0].shared == len(written)
    assert compared[0].lines[0].difference.mean == 0.0
    for kind in ("length", "pairs", "map"):
        assert plot([runs / "short", out], kind).caption

    records = {each: each.read_bytes() for each in out.glob("*.jsonl*")}
    assert records
    score(file, plan, out=out)  # the same again changes nothing
    assert {each: each.read_bytes() for each in records} == records
    assert len(RunFolder.read(out).index.ids()) == len(written)
    with pytest.raises(RecordingError, match="contains another run"):
        score(file, plan, out=out, label="other")
    file.write_text(json.dumps(written[:2]), encoding="utf-8")
    with pytest.raises(
        RecordingError,
        match=r"'settings\.predictions' was '\w{8}…' and is now '\w{8}…';",
    ):
        score(file, plan, out=out)


def test_a_file_with_the_last_episodes_is_not_the_first_ones(
    runs: Path, tmp_path: Path
) -> None:
    file = tmp_path / "last.json"
    written = walks_of(runs / "short", file)
    file.write_text(json.dumps(written[-2:]), encoding="utf-8")
    score(file, Plan("score", "houses", "", TREE), out=tmp_path / "last")
    text = table([tmp_path / "last"], "json")
    (row,) = json.loads(text)["rows"]
    assert row["sample"] == "file"
    assert "the episodes that the file of predictions has" in row["caveats"]
    assert "first" not in text
    assert coverage(RunFolder.read(tmp_path / "last")).startswith(
        "2 of 8 episodes, pred"
    )


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("walks.jsonl.gz", "walks"),
        ("walks.json", "walks"),
        ("ours.v2.json.gz", "ours.v2"),
        ("gz.json", "gz"),
    ],
)
def test_predictions_are_named_after_their_file(file: str, name: str) -> None:
    assert name_of(Path("runs") / file) == name


def test_a_bad_prediction_leaves_no_run(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "walks.json"
    written = walks_of(runs / "short", file)
    written[1]["trajectory"] = ["nowhere"]
    file.write_text(json.dumps(written), encoding="utf-8")
    with pytest.raises(DataError, match="'nowhere' is not a place"):
        score(file, Plan("score", "houses", "", TREE), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_impossible_moves_name_their_episodes(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "walks.json"
    written = walks_of(runs / "short", file)
    for each in written:
        places = each["trajectory"]
        assert isinstance(places, list)
        each["trajectory"] = [*places[::-1], *places]
    file.write_text(json.dumps(written), encoding="utf-8")
    report = score(file, Plan("score", "houses", "", TREE))
    (text,) = [text for text in report.notices if "impossible" in text]
    named = text.partition("(metric illegal_moves), in ")[2].split(" and ")[0]
    ids = {str(each["instr_id"]) for each in written}
    assert named
    assert {*named.split(", ")} <= ids


@pytest.mark.parametrize("most", [1, 2, 6, 7, 11, 40])
def test_lengths_are_rows_of_their_own_or_quarters_of_the_split(
    most: int, tmp_path: Path
) -> None:
    """Each episode is in one row, whose range has its length; beyond six, rows are four."""
    lengths = {f"e{number}": 1 + number % most for number in range(40)}
    with RunFolder.open(tmp_path, {"identity": {}, "family": "indoor"}) as folder:
        for name in lengths:
            folder.append(EpisodeRecord(name, {"sr": 1.0}, Trajectory(name, {})))
    tasks = [
        Task(
            Episode(name, "Go.", "flat", {}),
            PathReference(name, tuple(map(str, range(length + 1)))),
        )
        for name, length in lengths.items()
    ]
    rows = by_length(RunFolder.read(tmp_path), tasks)
    distinct = sorted(set(lengths.values()))
    ranges = []
    for label, row in rows.items():
        numbers = [int(number) for number in re.findall(r"\d+", label)]
        low, high = numbers[0], numbers[-1]
        ranges.append((low, high))
        inside = [each for each in lengths.values() if low <= each <= high]
        assert row.n == row.of == len(inside)
    assert sum(row.n for row in rows.values()) == len(lengths)
    assert (ranges[0][0], ranges[-1][1]) == (distinct[0], distinct[-1])
    if len(distinct) <= 6:
        assert ranges == [(length, length) for length in distinct]
    else:
        assert len(ranges) == 4


@pytest.mark.parametrize(
    ("counts", "ranges"),
    [
        ({3: 1, 4: 99, 5: 100}, {"length 3 to 4": 100, "length 5": 100}),
        ({3: 4, 4: 96, 5: 100}, {"length 3": 4, "length 4": 96, "length 5": 100}),
        ({4: 99, 5: 100, 6: 1}, {"length 4": 99, "length 5 to 6": 101}),
        ({4: 1, 5: 1, 6: 198}, {"length 4 to 6": 200}),
        ({4: 198, 5: 1, 6: 1}, {"length 4 to 6": 200}),
        # Quarters of the split begin at 3, 4, 5 and 7.
        (
            {3: 1, 4: 60, 5: 60, 6: 20, 7: 40, 8: 9, 9: 10},
            {"length 3 to 4": 61, "length 5 to 6": 80, "length 7 to 9": 59},
        ),
    ],
)
def test_a_length_of_too_few_episodes_is_joined_with_the_next(
    counts: dict[int, int], ranges: dict[str, int], tmp_path: Path
) -> None:
    """Below 2% of the split; the last range, which has no next, with the one before."""
    tasks = []
    for length, many in counts.items():
        path = tuple(map(str, range(length + 1)))
        for number in range(many):
            name = f"{length}-{number}"
            episode = Episode(name, "Go.", "flat", {})
            tasks.append(Task(episode, PathReference(name, path)))
    with RunFolder.open(tmp_path, {"identity": {}, "family": "indoor"}) as folder:
        for task in tasks:
            name = task.episode.id
            folder.append(EpisodeRecord(name, {"sr": 1.0}, Trajectory(name, {})))
    rows = by_length(RunFolder.read(tmp_path), tasks)
    assert {label: row.n for label, row in rows.items()} == ranges


def test_metres_are_rounded_to_lengths(tmp_path: Path) -> None:
    metres = {"a": 2.4, "b": 2.6, "c": 3.4, "d": 3.6, "e": 3.97}
    with RunFolder.open(tmp_path, {"identity": {}, "family": "objectnav"}) as folder:
        for name in metres:
            folder.append(EpisodeRecord(name, {"sr": 1.0}, Trajectory(name, {})))
    tasks = [
        Task(
            Episode(name, "Find it.", "flat", {}),
            ObjectNavReference(name, frozenset(), shortest=length),
        )
        for name, length in metres.items()
    ]
    rows = by_length(RunFolder.read(tmp_path), tasks)
    assert {label: row.n for label, row in rows.items()} == {
        "length 2": 1,
        "length 3": 2,
        "length 4": 2,
    }


def test_runs_of_other_targets_name_the_setting_that_differs(tmp_path: Path) -> None:
    for target in ("sofa", "mug"):
        settings = {"target": target, "settle": 1.0}
        identity = {"dataset": "robot:live", "dataset_settings": settings}
        config = {"identity": identity, "family": "objectnav"}
        with RunFolder.open(tmp_path / target, config) as folder:
            folder.append(EpisodeRecord(target, {"found": 1.0}, Trajectory(target, {})))
    problem = "in common: dataset.target is 'sofa' and 'mug'; give both runs the same"
    with pytest.raises(UsageError, match=problem):
        compared(tmp_path / "sofa", tmp_path / "mug")


@pytest.mark.parametrize(
    ("shuffle", "sample"), [(None, "first"), (0, "random"), (7, "random")]
)
@pytest.mark.parametrize("of", [4, 9])
def test_only_the_row_of_all_parts_has_a_sample(
    tmp_path: Path, of: int, shuffle: int | None, sample: str
) -> None:
    """A part by length has the episodes of the split with that length, and lacks the others."""
    identity = {"agent": "oracle", "dataset": "houses:test", "models": {}}
    identity |= {"data_checksum": "", "seed": 0, "shuffle": shuffle}
    config = {"identity": identity, "family": "indoor", "episodes_in_split": of}
    names = [f"e{number}" for number in range(9)]
    with RunFolder.open(tmp_path, config) as folder:
        for name in names[:4]:
            folder.append(EpisodeRecord(name, {"sr": 1.0}, Trajectory(name, {})))
    tasks = [
        Task(Episode(name, "Go.", "flat", {}), PathReference(name, ("a", "b")))
        for name in names[:of]
    ]
    (row,) = rows_of([tmp_path])
    assert row.sample == (sample if of > 4 else "")
    (part,) = by_length(RunFolder.read(tmp_path), tasks).values()
    assert (part.n, part.of, part.sample) == (4, of, "")


def test_a_row_has_every_setting_by_its_name_on_the_command_line(
    tmp_path: Path,
) -> None:
    """Runs that differ in one of them would look the same."""
    chosen = {"seed": 0, "max_steps": 9, "shuffle": 0, "shard": "1/2", "remember": "x"}
    identity = {
        "agent": "act",
        "dataset": "ma_household:test",
        "models": {},
        "data_checksum": "",
        "settings": {"shots": 0, "detector_seed": 4},
        "actors": {"helper": {"agent": "act", "settings": {"shots": 2}}},
        "dataset_settings": {"rooms": 3},
        **chosen,
    }
    config = {"identity": identity, "family": "household", "episodes_in_split": 9}
    with RunFolder.open(tmp_path / "run", config) as folder:
        folder.append(EpisodeRecord("e", {"sr": 1.0}, Trajectory("e", {})))
    (row,) = rows_of([tmp_path / "run"])
    groups = {"shots": 0, "actors.helper.shots": 2, "dataset.rooms": 3}
    expected = {**groups, **chosen, "detector_seed": 4}
    assert row.settings == {key: str(value) for key, value in expected.items()}
    both = pooled([RunFolder.read(tmp_path / "run")] * 2).settings
    assert expected.keys() - both.keys() == {"seed", "detector_seed"}
    unset = {
        key: "" if isinstance(value, str) else None for key, value in chosen.items()
    }
    config["identity"] = {**identity, **unset}
    with RunFolder.open(tmp_path / "unset", config):
        pass
    assert rows_of([tmp_path / "unset"])[0].settings.keys().isdisjoint(chosen)


@pytest.mark.parametrize("finished", [3, 4, 5])
def test_a_wall_time_is_known_if_the_sessions_finished_all_episodes(
    tmp_path: Path, finished: int
) -> None:
    """A killed session is not logged, and its episodes would look as if they took no time."""
    identity = {"agent": "oracle", "dataset": "houses:test", "models": {}}
    identity |= {"data_checksum": "", "seed": 0}
    config = {"identity": identity, "family": "indoor", "episodes_in_split": 9}
    with RunFolder.open(tmp_path, config) as folder:
        for number in range(4):
            name = f"e{number}"
            folder.append(EpisodeRecord(name, {"sr": 1.0}, Trajectory(name, {})))
    add_session(tmp_path, Session("", 2.5, finished - 1))
    add_session(tmp_path, Session("", 1.0, 1))
    totals = json.loads(table([tmp_path], "json"))["rows"][0]["totals"]
    assert totals.get("wall_seconds") == (3.5 if finished >= 4 else None)


def test_each_session_counts_the_episodes_that_it_finished(tmp_path: Path) -> None:
    plan = Plan("random", "houses", "", TREE, out=tmp_path / "run")
    for limit in (3, 4, 8):
        run(replace(plan, limit=limit))
    sessions = RunFolder.read(tmp_path / "run").sessions
    assert [each.finished for each in sessions] == [3, 1, 4]


def stored(
    folder: Path, seed: int, scores: dict[str, float], failed: int = 0, paid: float = 0
) -> Path:
    """A run of a split of six: the scores of its episodes, failed ones, and a bill."""
    identity = {"agent": "navgpt", "dataset": "houses:test", "models": {}}
    identity |= {"data_checksum": "", "seed": seed}
    config = {"identity": identity, "family": "indoor", "episodes_in_split": 6}
    with RunFolder.open(folder, config) as opened:
        for name, score in scores.items():
            opened.append(EpisodeRecord(name, {"sr": score}, Trajectory(name, {})))
        for number in range(failed):
            opened.fail(f"f{number}", "planned", Trajectory(f"f{number}", {}))
    if paid:
        spending = Spending(folder)
        spending.write(LedgerRow(100, paid, "s-1"))
        spending.close()
    return folder


def test_a_seed_that_lacks_an_episode_does_not_count_in_its_mean(
    tmp_path: Path,
) -> None:
    """An episode's score is averaged over the seeds that have it, and compared so."""
    seeds = tmp_path / "seeds"
    stored(seeds / "a", 0, {"e0": 1.0, "e1": 1.0})
    stored(seeds / "b", 1, {"e0": 0.0})
    stored(seeds / "c", 2, {"e0": 0.0, "e2": 1.0})
    stored(tmp_path / "other", 0, {"e0": 0.0, "e1": 0.0, "e2": 0.0, "e3": 1.0})
    result = json.loads(compare([tmp_path / "other", seeds], "json", ["sr"]).text)
    assert (result["shared"], result["only_first"]) == (3, 1)
    (line,) = result["metrics"]
    assert line["second"] == pytest.approx((1 / 3 + 1.0 + 1.0) / 3)


def test_pooled_seeds_count_each_episode_once_in_tables_as_in_comparisons(
    tmp_path: Path,
) -> None:
    """However many seeds played it: its score is the mean of those that have it."""
    seeds = tmp_path / "seeds"
    stored(seeds / "a", 0, {"e0": 1.0, "e1": 1.0, "e2": 0.0}, failed=1)
    stored(seeds / "b", 1, {"e0": 0.0, "f0": 1.0})
    (row,) = json.loads(table([seeds], "json", pool=True))["rows"]
    assert (row["n"], row["failed"], row["runs"]) == (5, 1, 2)
    assert row["metrics"]["sr"]["mean"] == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    zeros = row["metrics"]["sr_failed_0"]["mean"]
    assert zeros == pytest.approx((0.5 + 1 + 0 + 0.5) / 4)
    stored(tmp_path / "other", 0, dict.fromkeys(["e0", "e1", "e2", "f0"], 0.0))
    result = json.loads(compare([tmp_path / "other", seeds], "json", ["sr"]).text)
    assert result["metrics"][0]["second"] == row["metrics"]["sr"]["mean"]


def test_runs_of_one_seed_are_not_pooled(tmp_path: Path) -> None:
    """They are no seeds: what they differ in, other seeds may exceed."""
    for name, seed, rate in (("a", 0, 1.0), ("b", 0, 0.0), ("c", 1, 0.0)):
        stored(tmp_path / name, seed, {"e0": rate})
    notices: list[str] = []
    rows = json.loads(table([tmp_path], "json", pool=True, notice=notices.append))
    assert [row["run"] for row in rows["rows"]] == ["a", "b", "c"]
    (note,) = notices
    assert "not pooled, 2 runs of seed 0" in note
    compared = compare([tmp_path], "json", ["sr"])
    assert len(json.loads(compared.text)["comparisons"]) == 2
    assert note in compared.notices


def test_a_copy_of_a_run_is_counted_once(tmp_path: Path) -> None:
    for seed in range(2):
        stored(tmp_path / f"{seed}", seed, {"e0": 1.0 - seed, "e1": 1.0}, failed=1)
    shutil.copytree(tmp_path / "0", tmp_path / "copy")
    notices: list[str] = []
    (row,) = json.loads(table([tmp_path], "json", pool=True, notice=notices.append))[
        "rows"
    ]
    assert (row["runs"], row["n"], row["failed"]) == (2, 4, 2)
    assert row["metrics"]["sr"]["mean"] == pytest.approx(0.75)
    copied, pooled_note = notices
    assert "copy: left out, because it has the settings and records of" in copied
    assert pooled_note.endswith("pooled, they differ only in seed 0 and seed 1")
    stored(tmp_path.parent / "rival", 2, {"e0": 0.0, "e1": 0.0})
    noted = compare([tmp_path.parent / "rival", tmp_path], "json", ["sr"]).notices
    assert [each for each in noted if "left out" in each] == [copied]


def test_a_setting_that_one_row_shows_is_shown_in_all_that_have_it(
    tmp_path: Path,
) -> None:
    """An empty cell next to others would be read as the default."""
    rows = []
    for name, agent, settings in (
        ("clip", "frontier", {"grounding": "clip", "reach": 1.0}),
        ("perfect", "frontier", {"grounding": "perfect", "reach": 1.0}),
        ("lgx", "lgx", {"grounding": "owl", "reach": 2.0}),
        ("random", "random", {}),
    ):
        row = summarize(name, [{"sr": 1.0}], family="indoor", of=1, agent=agent)
        rows.append(replace(row, dataset="d", settings=settings))
    expected = ["grounding=clip", "grounding=perfect", "grounding=owl", ""]
    assert labels(rows) == expected
    # Another dataset's rows are another question.
    assert labels([*rows[:2], replace(rows[2], dataset="e")])[2] == ""


@pytest.mark.parametrize("paid", [(0.5, 0.25), (0.0, 0.25), (0.5, 0.0), (0.0, 0.0)])
def test_the_bill_of_pooled_seeds_is_that_of_all(
    tmp_path: Path, paid: tuple[float, float]
) -> None:
    for seed, dollars in enumerate(paid):
        stored(tmp_path / f"{seed}", seed, {"e0": 1.0}, paid=dollars)
    (row,) = json.loads(table([tmp_path], "json", pool=True))["rows"]
    assert row["runs"] == 2
    assert row["totals"].get("billed") == (sum(paid) or None)


def test_the_assumed_part_of_a_bill_is_marked(tmp_path: Path) -> None:
    """A server that failed may have billed: the run counts what the answer probably cost."""
    path = stored(tmp_path / "run", 0, {"e0": 1.0}, paid=0.25)
    spending = Spending(path)
    spending.write(LedgerRow(100, 0.25, "s-2", open=True, lost="error"))
    spending.close()
    text = " ".join(table([path]).split())
    assert "$0.50 including unfinished episodes (of it $0.25 assumed for lost" in text
    (row,) = json.loads(table([path], "json"))["rows"]
    assert row["totals"]["assumed"] == pytest.approx(0.25)
    paid = summarize(
        "run", [{"sr": 1.0, "calls": 1, "cost": 0.5}], family="indoor", of=1
    )
    paid = replace(paid, totals={**paid.totals, "assumed": 0.3})
    assert cell(paid, TOTAL_COST) == ("0.5000", "(0.3000 assumed)")


@pytest.mark.parametrize(
    ("scores", "failed", "sample"),
    [
        ([["e0", "e1", "e2"]] * 2, 0, "first"),
        ([["e0", "e1", "e2"], ["e3", "e4", "e5"]], 0, ""),
        ([["e0", "e1"], ["e1", "e2"]], 2, "first"),
        ([["e0", "e1"], ["e2", "e3"]], 2, ""),
        ([["e0", "e1", "e2"]], 3, ""),
        ([["e0", "e1", "e2"]], 2, "first"),
    ],
)
def test_a_row_is_a_sample_if_its_runs_together_lack_an_episode(
    scores: list[list[str]], failed: int, sample: str, tmp_path: Path
) -> None:
    """Each counts once, however many seeds have played it, and a failed one was played."""
    for seed, names in enumerate(scores):
        stored(tmp_path / f"{seed}", seed, dict.fromkeys(names, 1.0), failed)
    (row,) = pooled_rows([tmp_path], "", None)
    assert row.sample == sample


def test_a_head_that_two_columns_share_names_the_first() -> None:
    """A key names its own column, whatever heads there are."""
    metrics = [
        Metric("a", "Time", "seconds", "", "One."),
        Metric("b", "Time", "seconds", "", "Another."),
        Metric("time", "C", "seconds", "", "A third."),
    ]
    scores = {"run": {"a": 1, "b": 2, "time": 3}}
    for named, keys in (
        (["Time"], ["a"]),
        (["b"], ["b"]),
        (["time"], ["time"]),
        (["C", "TIME"], ["a", "time"]),
        ([], ["a", "b", "time"]),
    ):
        assert [*only(scores, named, metrics)["run"]] == keys
    # A run without the first has no column of that head.
    with pytest.raises(UsageError, match="no metric 'Time' in these runs"):
        only({"run": {"b": 2}}, ["Time"], metrics)


def test_a_published_spl_of_another_definition_has_a_column(runs: Path) -> None:
    theirs = partial(published_rows, "navgpt/table-1")
    rows = json.loads(
        table([runs / "oracle"], "json", ["SPL", "sr"], published=theirs)
    )["rows"]
    assert list(rows[0]["metrics"]) == ["spl", "sr", "spl_gold"]
    assert rows[1]["metrics"]["spl_gold"]["mean"] == pytest.approx(0.29)
    assert rows[1]["dataset"] == "r2r:val_unseen"
    assert rows[1]["published"].startswith("NavGPT (Zhou")


@pytest.mark.parametrize("form", ["json", "csv", "latex"])
def test_other_episodes_than_the_published_are_a_notice(runs: Path, form: str) -> None:
    notices: list[str] = []
    theirs = partial(published_rows, "navgpt/table-1")
    table([runs / "oracle"], form, notice=notices.append, published=theirs)
    expected = "Not comparable with the published results: oracle (houses:test)."
    assert notices == [expected]


def test_labels_are_the_names_of_rows(runs: Path) -> None:
    paths = [runs / "oracle", runs / "short"]
    rows = json.loads(table(paths, "json", labels=["Upper bound", "Chance"]))["rows"]
    assert [row["run"] for row in rows] == ["Upper bound", "Chance"]
    with pytest.raises(UsageError, match="--label: 1 given, and the table has 2 rows"):
        table(paths, "json", labels=["Upper bound"])


def test_a_label_is_printed_as_it_is_given(tmp_path: Path) -> None:
    paths = [tmp_path / "plain", tmp_path / "terse"]
    for path, prompts in zip(paths, ("", "terse3"), strict=True):
        settings = {"prompts": prompts}
        run(Plan("act", "houses", "scripted:first", TREE, limit=1, out=path))
        file = path / "run.json"
        config = json.loads(file.read_text())
        config["identity"]["settings"] |= settings
        config["stated"] = ["prompts"]
        file.write_text(json.dumps(config))
    text = table(paths, "latex", preset="r2r")
    assert "terse (prompts=terse3)" in text
    assert "plain (prompts=none)" in text
    for preset in ("r2r", ""):
        text = table(paths, "latex", preset=preset, labels=["NavGPT", "Ours"])
        assert "prompts" not in text
        assert "\nNavGPT &" in text
        assert "\nOurs &" in text
    result = RunResult.read(paths[0])
    text = result.to_latex("r2r", paths[1], labels=["NavGPT", "Ours"])
    assert "prompts" not in text


def test_a_table_of_two_versions_of_a_world_says_so(tmp_path: Path) -> None:
    file = tmp_path / "cave.py"
    code = Path(small_cave.__file__).read_text() + "\n\ndataset = Caves\n"
    paths = [tmp_path / "old", tmp_path / "new", tmp_path / "again"]
    for path, ending in zip(paths, ("", "# edited\n", "# edited\n"), strict=True):
        file.write_text(code + ending)
        run(Plan("random", str(file), out=path))
    note = (
        "Not comparable with old, because of another version of cave:all: new, again."
    )
    for form in ("rich", "markdown", "latex"):
        assert note in " ".join(table(paths, form).split()), form
    notices: list[str] = []
    table(paths, "json", notice=notices.append)
    assert notices == [note]
    assert "Not comparable" not in table(paths[1:], "markdown")


def test_a_table_of_two_versions_of_published_files_says_so(runs: Path) -> None:
    row, *_ = rows_of([runs / "short"])
    other = replace(row, name="edited", checksum="0123456789abcdef")
    note = (
        "Not comparable with short, because of another version of houses:test: edited."
    )
    assert note in other_episodes([row, other])
    assert not any("version" in line for line in other_episodes([row, row]))


def test_latex_of_an_own_world_has_its_metrics_and_steps(tmp_path: Path) -> None:
    file = tmp_path / "line.py"
    file.write_text(WORLD)
    run(Plan("random", str(file), out=tmp_path / "run"))
    text = table([tmp_path / "run"], "latex")
    head = next(line for line in text.splitlines() if line.startswith("Run"))
    assert head.endswith(r" & Episodes & SR \% & Steps \\")


def test_a_world_without_lengths_says_what_its_tasks_lack(tmp_path: Path) -> None:
    file = tmp_path / "cave.py"
    file.write_text(Path(small_cave.__file__).read_text() + "\n\ndataset = Caves\n")
    run(Plan("random", str(file), out=tmp_path / "run"))
    with pytest.raises(
        UsageError, match="have no length: their tasks have no ref"
    ) as e:
        table([tmp_path / "run"], by="length", trusted=[file])
    assert "--by" not in str(e.value)


def test_a_table_of_runs_with_other_episodes_says_so(
    runs: Path, tmp_path: Path
) -> None:
    """In the text where a person reads it, as a notice for JSON; not for parts of runs."""
    run(Plan("oracle", "houses", "", TREE, limit=3, out=tmp_path / "few"))
    pair = [tmp_path / "few", runs / "oracle"]
    of = len(RunFolder.read(runs / "oracle").index)
    note = (
        "Not comparable with few (3 episodes), because of other episodes: "
        f"oracle ({of}, 3 shared)."
    )
    for form in ("rich", "markdown", "latex"):
        assert note in " ".join(table(pair, form).split()), form
    notices: list[str] = []
    table(pair, "json", notice=notices.append)
    assert notices == [note]
    assert "Not comparable" not in table(pair, "markdown", by="length")
    assert "Not comparable" not in table([runs / "short", runs / "oracle"], "markdown")


def test_metrics_replace_the_columns_of_a_preset_and_keep_their_order(
    runs: Path,
) -> None:
    keys = ["tl", "NE", "osr", "sr"]
    heads = ["TL (m)", "NE (m)", "OSR (\\%)", "SR (\\%)"]
    text = table([runs / "short"], "latex", keys, preset="r2r")
    head = next(line for line in text.splitlines() if line.startswith("Method"))
    columns = head.removesuffix(r" \\").split(" & ")[1:]
    assert [column.partition(" $")[0] for column in columns] == heads
    assert r"\label{tab:houses-test}" in text
    # The order of a plain table is that of the metrics, too.
    written = json.loads(table([runs / "short"], "json", keys))["rows"][0]["metrics"]
    assert list(written) == ["tl", "ne", "osr", "sr"]


def test_latex_without_a_preset_has_the_columns_of_papers(runs: Path) -> None:
    def heads(text: str) -> str:
        return next(line for line in text.splitlines() if line.startswith("Run"))

    text = table([runs / "short"], "latex")
    assert heads(text).endswith(r"TL m & NE m & OSR \% & SR \% & SPL \% & nDTW \% \\")
    assert text.splitlines()[-1].startswith("% The columns of papers")
    assert "Steps" in heads(table([runs / "short"], "latex", wide=True))


def test_a_preset_names_the_columns_that_no_run_has(runs: Path) -> None:
    notices: list[str] = []
    table([runs / "short"], "latex", preset="reverie", notice=notices.append)
    assert "--preset reverie: no run has rgs, rgspl; left out" in notices
