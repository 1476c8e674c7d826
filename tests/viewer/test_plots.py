"""Figures for papers: they show the numbers of the tables, and errors are one line."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.transforms import Bbox

import wayword
from helpers.parsed_page import Page
from helpers.recorded_run import recorded_trajectory
from helpers.small_scan import PLACES, SCAN, write_scan
from wayword.core.errors import UsageError, WaywordError
from wayword.metrics.intervals import Interval
from wayword.metrics.scoring import scorer
from wayword.metrics.summary import summarize
from wayword.runs import Plan, RunFolder, differences, lengths, run
from wayword.runs.record import EpisodeRecord
from wayword.viewer import compare
from wayword.viewer.content import Content
from wayword.viewer.data import open_sources
from wayword.viewer.document import Document
from wayword.viewer.library import Library
from wayword.viewer.maps.content import Extent, Map, Shape, Waypoint
from wayword.viewer.plots import charts, style
from wayword.viewer.plots.display import KINDS, Plot, plot
from wayword.viewer.plots.request import interval_note
from wayword.viewer.plots.walks import (
    _draw_goal,
    _draw_ground,
    _Labels,
    _shapes_of,
    _telling_episode,
)

TREE = {"dataset": {"houses": 2, "episodes": 8}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An oracle, a walker that fails some episodes, and a random walker."""
    top = tmp_path_factory.mktemp("plots")
    run(Plan("oracle", "houses", "", TREE, out=top / "oracle"))
    run(Plan("forward", "houses", "", TREE, out=top / "forward"))
    run(Plan("random", "houses", "", {**TREE, "steps": 3}, out=top / "random"))
    return top


def axes_of(drawn: Plot) -> Any:
    (axes,) = drawn.figure.axes
    return axes


def series(drawn: Plot) -> dict[str, Any]:
    """Error bars by their name in the legend."""
    return {bars.get_label(): bars for bars in axes_of(drawn).containers}


def legend(drawn: Plot) -> list[str]:
    (shown,) = drawn.figure.legends
    return [text.get_text() for text in shown.get_texts()]


def ends(bars: Any) -> list[tuple[float, float]]:
    """Low and high ends of vertical error bars."""
    _, _, (lines,) = bars
    return [(float(s[0][1]), float(s[1][1])) for s in lines.get_segments()]


def test_success_by_length_shows_the_rows_of_the_table(runs: Path) -> None:
    drawn = plot([runs / "oracle", runs / "random"], "length")
    by_length = lengths.rows_by_length([runs / "oracle", runs / "random"])
    assert list(series(drawn)) == ["oracle", "random"]
    for (row, parts), bars in zip(by_length.runs, series(drawn).values(), strict=True):
        intervals = [each.values["sr"] for each in parts.values()]
        means = bars.lines[0].get_ydata()
        assert means == pytest.approx([100 * each.mean for each in intervals]), row.name
        # One path is too few for an interval: only its mean is drawn.
        lows = [100 * np.fmax(each.low, -1) for each in intervals]
        lows = [
            100 * each.mean if low < 0 else low
            for low, each in zip(lows, intervals, strict=True)
        ]
        assert [low for low, _ in ends(bars)] == pytest.approx(lows)
    ticks = [tick.get_text() for tick in axes_of(drawn).get_xticklabels()]
    counts = [row.n for row in by_length.runs[0][1].values()]
    assert [int(tick.partition("n = ")[2]) for tick in ticks] == counts
    assert axes_of(drawn).get_xlabel() == "Length of the reference (moves)"
    assert axes_of(drawn).get_ylabel() == "SR (%)"
    assert "95% intervals" in drawn.caption
    assert lengths.JOINED in drawn.caption


def test_pairs_show_the_differences_of_compare(runs: Path) -> None:
    paths = [runs / name for name in ("forward", "oracle", "random")]
    drawn = plot(paths, "pairs", labels=["Base", "Ours", "Chance"])
    compared, _ = differences.comparisons(paths)
    for result, bars in zip(compared, axes_of(drawn).containers, strict=True):
        primary = next(line for line in result.lines if line.family == "primary")
        at = bars.lines[0].get_xdata()
        assert at == pytest.approx([100 * primary.difference.mean])
    names = [tick.get_text() for tick in axes_of(drawn).get_yticklabels()]
    assert names == ["Chance", "Ours"], "the first rival is at the top"
    assert "Holm's correction for 2 tests" in drawn.caption
    assert "difference to Base" in axes_of(drawn).get_xlabel()
    low, high = axes_of(drawn).get_xlim()
    assert low == -high, "0 is in the middle"
    assert high >= 5.0


def test_a_run_looks_the_same_in_figures_of_every_kind(runs: Path) -> None:
    paths = [runs / name for name in ("oracle", "forward", "random")]
    looks = {}
    for number, path in enumerate(paths):
        looks[path.name] = style.look(number)
    lines = {}
    for kind in ("length", "causes"):
        for name, bars in series(plot(paths, kind)).items():
            lines[f"{kind} {name}"] = name.partition(" ")[0], bars.lines[0]
    pairs = axes_of(plot(paths, "pairs")).containers
    for path, bars in zip(paths[1:], pairs, strict=True):
        lines[f"pairs {path.name}"] = path.name, bars.lines[0]
    assert len(lines) == 7, "the oracle has no causes and is what pairs compare with"
    for title, (name, line) in lines.items():
        drawn = line.get_color(), line.get_marker()
        assert drawn == (looks[name].color, looks[name].marker), title


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "<0.001"), (0.00099, "<0.001"), (0.001, "0.001"), (0.0094, "0.009"), (1.0, "1.000")],
)  # fmt: skip
def test_only_a_p_value_below_a_thousandth_is_written_as_a_bound(
    p: float, text: str
) -> None:
    in_figure = charts._chance(p).replace(" ", "")
    assert in_figure.removeprefix("p").removeprefix("=") == text
    assert compare._p_value(p) == text


def test_a_test_that_could_not_be_made_has_no_p_value() -> None:
    assert charts._chance(math.nan) == "no test"
    assert compare._p_value(math.nan) == "–"


def test_the_caption_of_pairs_has_the_units_of_all_rows(
    runs: Path, tmp_path: Path
) -> None:
    run(Plan("forward", "houses", "", TREE, limit=3, out=tmp_path / "short"))
    paths = [runs / "random", tmp_path / "short", runs / "oracle"]
    drawn = plot(paths, "pairs")
    compared, _ = differences.comparisons(paths)
    low, high = (result.clusters for result in compared)
    assert low < high
    assert f"with {low} to {high} paths as units" in drawn.caption


def test_causes_are_shares_of_the_unsolved_episodes(runs: Path) -> None:
    drawn = plot(runs / "random", "causes")
    scores = RunFolder.read(runs / "random").scores()
    unsolved = sum(values["sr"] < 0.5 for _, values in scores)
    (bars,) = axes_of(drawn).containers
    assert bars.get_label() == f"random (n = {unsolved})"
    assert f"n = {unsolved} unsolved episodes." in drawn.caption, "it has no legend"
    shares = np.asarray(bars.lines[0].get_xdata()) * unsolved / 100
    assert shares == pytest.approx(np.round(shares))
    assert shares.min() >= 1, "causes that no episode shows are left out"
    both = plot([runs / "oracle", runs / "random"], "causes", labels=["Best", "Rand"])
    assert list(series(both)) == [f"Rand (n = {unsolved})"]
    (notice,) = both.notices
    assert notice.endswith("oracle: left out, because every episode was solved")


def test_a_map_marks_the_mistake_of_a_failed_walk(runs: Path) -> None:
    drawn = plot(runs / "random", "map")
    assert any(name.startswith("the mistake (step ") for name in legend(drawn))
    assert {"reference path", "goal", "random (failed)"} <= set(legend(drawn))
    assert "Step " in drawn.caption
    assert "“" in drawn.caption, "the caption has the instruction"


@pytest.mark.parametrize(("on", "steps"), [("houses", 8), ("ma_wah", 4)])
def test_a_figure_rings_what_the_page_rings(
    on: str, steps: int, tmp_path: Path
) -> None:
    """Where the walk left its path, of any actor; nothing if the limit of steps is to blame."""
    result = wayword.run("random", on, limit=8, max_steps=steps, out=tmp_path / "run")
    folder = RunFolder.read(tmp_path / "run")
    episodes = [name for name, _ in folder.scores()]
    sources = open_sources(folder, episodes, None)
    found = []
    for name in episodes:
        document = Document.of(folder.record(name), sources)
        mistake = document.mistake
        if mistake is None:
            continue
        signs = Page.parse(str(document.map)).all("li")
        rings = [sign.text.strip() for sign in signs if "(step" in sign.text]
        shown = legend(result.plot("map", episode=name))
        assert [sign for sign in shown if "(step" in sign] == rings, name
        found.append(mistake.limit or 0 < mistake.departed < mistake.lost)
    assert any(found)


def test_the_ring_is_on_the_walk_of_the_actor_whose_step_it_was() -> None:
    walks = {}
    for actor, steps in {"one": (0, 1, 3), "two": (0, 2, 4)}.items():
        walks[actor] = [Waypoint(n, str(n), (float(n), 0.0), None) for n in steps]
    drawn = Map(walks, failed=True, mistake=4)
    assert drawn.ringed(walks["one"]) is None
    assert drawn.ringed(walks["two"]) == walks["two"][1]
    assert replace(drawn, mistake=0).ringed(walks["two"]) is None


def test_a_map_compares_walks_with_different_outcomes(runs: Path) -> None:
    drawn = plot([runs / "oracle", runs / "random"], "map")
    assert {"oracle (solved)", "random (failed)"} <= set(legend(drawn))


def test_a_map_of_several_runs_marks_the_mistake_of_each(runs: Path) -> None:
    paths = [runs / "random", runs / "forward", runs / "oracle"]
    episode = next(
        name
        for name, _ in RunFolder.read(paths[0]).scores()
        if all(
            any("(step" in sign for sign in legend(plot(path, "map", episode=name)))
            for path in paths[:2]
        )
    )
    drawn = plot(paths, "map", episode=episode)
    rings = [sign for sign in legend(drawn) if "(step" in sign]
    assert [ring.partition(":")[0] for ring in rings] == ["random", "forward"]
    for path in paths[:2]:
        assert f" {path.name}: " in drawn.caption
    assert " oracle: " not in drawn.caption


def test_means_of_few_episodes_are_hollow_and_not_joined(runs: Path) -> None:
    drawn = plot(runs / "random", "length")
    counts = [
        int(tick.get_text().partition("n = ")[2])
        for tick in axes_of(drawn).get_xticklabels()
    ]
    hollow = []
    joined = []
    for bars in axes_of(drawn).containers:
        marks = bars.lines[0]
        shown = int(np.isfinite(marks.get_ydata()).sum())
        if marks.get_markerfacecolor() == "white":
            hollow.append(shown)
        if marks.get_linestyle() != "None":
            joined.append(shown)
    few = sum(count < charts.FEW for count in counts)
    assert few == sum(hollow) > 0
    assert sum(joined) == len(counts) - few
    assert "Hollow, not joined: fewer than 10 episodes" in drawn.caption


def test_episodes_of_several_seeds_count_once(runs: Path, tmp_path: Path) -> None:
    settings = {**TREE, "steps": 3}
    run(Plan("random", "houses", "", settings, seed=1, out=tmp_path / "second"))
    alone = plot(runs / "random", "length")
    pooled = plot([runs / "random", tmp_path / "second"], "length")
    ticks = [
        [tick.get_text() for tick in axes_of(drawn).get_xticklabels()]
        for drawn in (alone, pooled)
    ]
    assert ticks[0] == ticks[1]


def test_captions_claim_no_intervals_of_single_episodes(
    runs: Path, tmp_path: Path
) -> None:
    short = {**TREE, "steps": 1}
    run(Plan("random", "houses", "", short, limit=1, out=tmp_path / "one"))
    run(Plan("oracle", "houses", "", TREE, limit=1, out=tmp_path / "best"))
    paths = [tmp_path / "one", tmp_path / "best"]
    for drawn in (plot(paths, "pairs"), plot(paths, "causes")):
        assert "Error bars" not in drawn.caption
        assert "No intervals: too few " in drawn.caption
    # The other run is left out, so no legend says whose causes these are.
    assert "Causes of failure of one," in drawn.caption


@pytest.mark.parametrize(
    ("agent", "on"),
    [
        ("random", "towns"),
        ("random", "apartments"),
        ("random", "household"),
        ("random", "grounding"),
    ],
)
def test_every_family_with_a_map_has_a_figure_of_it(
    agent: str, on: str, tmp_path: Path
) -> None:
    result = wayword.run(agent, on, limit=1, max_steps=3, out=tmp_path / "run")
    file = result.plot("map").save(tmp_path / "map.svg")
    assert file.stat().st_size > 2000


def test_instructions_of_many_lines_do_not_fill_the_caption(tmp_path: Path) -> None:
    result = wayword.run(
        "random", "rearrangement:generated_test", limit=1, out=tmp_path / "run"
    )
    caption = result.plot("map").caption
    assert "\n" not in caption
    assert "Put this home back in order." in caption
    assert " …”" in caption


def test_tables_without_places_have_no_map(tmp_path: Path) -> None:
    result = wayword.run("random", "two_phase", limit=1, out=tmp_path / "run")
    with pytest.raises(WaywordError, match="has no map"):
        result.plot("map")


def _costly(path: Path, name: str, success: float, **scores: float) -> Path:
    """A run of forty episodes with these totals of an episode."""
    identity = {
        "agent": name, "settings": {}, "dataset": "houses:test", "dataset_settings": {},
        "data_checksum": "", "models": {"main": name} if scores else {}, "seed": 0, "max_steps": 9,
    }  # fmt: skip
    config = {"identity": identity, "family": "indoor", "episodes_in_split": 40}
    with RunFolder.open(path / name, config) as folder:
        for number in range(40):
            won = float(number < 40 * success)
            each = {"sr": won, "steps": 3.0, "calls": 0.0, "cost": 0.0, **scores}
            if "calls" in scores and "cost" not in scores:
                del each["cost"]
            trajectory = recorded_trajectory(f"e{number}", "x")
            folder.append(EpisodeRecord(f"e{number}", each, trajectory))
    return path / name


def test_cost_leaves_unknown_prices_out_and_draws_agents_without_model_as_lines(
    tmp_path: Path,
) -> None:
    tokens = {"calls": 3.0, "prompt_tokens": 900.0, "completion_tokens": 100.0}
    paths = [
        _costly(tmp_path, "cheap", 0.25, cost=0.002, **tokens),
        _costly(tmp_path, "dear", 0.5, cost=0.4, **tokens),
        _costly(tmp_path, "unpriced", 0.75, **tokens),
        _costly(tmp_path, "blind", 0.1),
    ]
    drawn = plot(paths, "cost")
    assert set(legend(drawn)) == {"cheap", "dear", "blind (no model)"}
    assert series(drawn)["dear"].lines[0].get_xdata() == pytest.approx([0.4])
    assert axes_of(drawn).get_xscale() == "log"
    assert drawn.notices == ("unpriced: left out, because its price is unknown",)

    by_tokens = plot([paths[2]], "cost")
    assert axes_of(by_tokens).get_xlabel() == "Tokens per episode"
    assert series(by_tokens)["unpriced"].lines[0].get_xdata() == pytest.approx([1000])


def test_runs_of_one_seed_are_points_of_their_own(tmp_path: Path) -> None:
    tokens = {"calls": 3.0, "prompt_tokens": 900.0, "completion_tokens": 100.0}
    paths = []
    for number in range(2):
        cost = 0.1 * (number + 1)
        run = _costly(tmp_path / f"{number}", "chatty", 0.5, cost=cost, **tokens)
        paths.append(run.rename(tmp_path / f"run-{number}"))
    drawn = plot(paths, "cost")
    assert legend(drawn) == ["run-0", "run-1"]
    (note,) = drawn.notices
    assert "not pooled, 2 runs of seed 0" in note
    shutil.copytree(paths[0], tmp_path / "copy")
    drawn = plot([paths[0], tmp_path / "copy"], "cost")
    assert list(series(drawn)) == ["run-0"]
    (note,) = drawn.notices
    assert "copy: left out" in note


def _searches(path: Path, name: str, searches: Sequence[tuple[float, bool]]) -> Path:
    """A run on a robot: metres of each search, and whether its detector found the target."""
    identity = {
        "agent": name, "settings": {}, "dataset": "robot:live", "dataset_settings": {},
        "data_checksum": "", "models": {}, "seed": 0, "max_steps": 9, "actors": {},
    }  # fmt: skip
    config = {
        "identity": identity,
        "family": "objectnav",
        "episodes_in_split": len(searches),
    }
    with RunFolder.open(path / name, config) as folder:
        for number, (metres, found) in enumerate(searches):
            scores = {"found": float(found), "metres": metres, "blocked": 0.0}
            scores |= {"lost": 0.0, "steps": 3.0, "calls": 0.0, "cost": 0.0}
            trajectory = recorded_trajectory(f"e{number}", "x")
            folder.append(EpisodeRecord(f"e{number}", scores, trajectory))
    return path / name


def test_a_robots_searches_have_figures_of_what_was_found(tmp_path: Path) -> None:
    """They have no reference, and nothing but the agent's detector judges them."""
    near = _searches(tmp_path, "near", [(4.0, True), (2.0, True), (9.0, False)])
    none = _searches(tmp_path, "none", [(12.0, False)])
    drawn = plot([near, none], "length")
    lines = {line.get_label(): line for line in axes_of(drawn).lines}
    found = lines["near (n = 3)"]
    assert list(found.get_xdata()) == [0.0, 2.0, 4.0, 12.0]
    assert list(found.get_ydata()) == pytest.approx([0.0, 100 / 3, 200 / 3, 200 / 3])
    assert list(lines["none (n = 1)"].get_ydata()) == [0.0, 0.0]
    assert "by metres driven" in drawn.caption
    with pytest.raises(UsageError, match=r"have no reference; .* without --metric"):
        plot([near], "length", metric="metres")

    drawn = plot([near, none], "cost")
    assert axes_of(drawn).get_xlabel() == "Metres driven per episode"
    assert axes_of(drawn).get_ylabel() == "Found (%)"
    places = [bars.lines[0].get_xdata()[0] for bars in axes_of(drawn).containers]
    assert places == [5.0, 12.0]

    assert (
        "+ / −: episodes that are higher and lower"
        in plot([near, none], "pairs").caption
    )
    # A map is of the first search that found nothing, or in which runs differ.
    assert _telling_episode([RunFolder.read(near)]) == "e2"
    assert _telling_episode([RunFolder.read(near), RunFolder.read(none)]) == "e0"
    with pytest.raises(UsageError, match="judges it; draw map, length, cost or pairs"):
        plot([near], "causes")


def test_a_map_without_a_runs_own_annotations_ends_in_plain_words(
    tmp_path: Path,
) -> None:
    """Only the final state is known: whole degrees, and nothing that the end says already."""
    write_scan(tmp_path)
    # South, in radians.
    record = {"path_id": 7, "scan": SCAN, "heading": 3.27, "distance": 8.0}
    own = tmp_path / "own.json"
    walk = {**record, "path": [*PLACES], "instructions": ["Go."]}
    own.write_text(json.dumps([walk]))
    settings = {"dataset": {"annotations": str(own)}}
    out = tmp_path / "run"
    run(Plan("forward", "r2r:val_seen", "", settings, data=tmp_path, out=out))
    drawn = plot([out], "map", data=tmp_path)
    (notice,) = drawn.notices
    assert "own.json" in notice
    page = Page.parse(Content(Library([out]), tmp_path).episode("run", "7_0"))
    for text in (drawn.caption, page.text):
        assert "At the end: viewpoint" in text
        assert "heading 187°." in text
        assert "stopped yes" not in text


WALKS = {"agent": [Waypoint(0, "", (0.0, 0.0), None)]}


def _known(kind: str, *cells: tuple[float, float]) -> Shape:
    return Shape("cells", list(cells), kind, size=0.25, first=1, last=99)


def test_a_map_without_a_plan_has_the_ground_that_any_run_saw() -> None:
    first = Map(
        WALKS, shapes=[_known("occupied", (0.0, 0.0)), _known("knownfree", (1.0, 0.0))]
    )
    second = Map(
        WALKS, shapes=[_known("knownfree", (2.0, 0.0)), _known("frontier", (3, 0))]
    )
    shapes, text = _shapes_of([first, second], ["a", "b"])
    kinds = [(shape.kind, shape.points) for shape in shapes]
    free = [("knownfree", [(1.0, 0.0)]), ("knownfree", [(2.0, 0.0)])]
    assert kinds == [*free, ("occupied", [(0.0, 0.0)])]
    assert text == " Light: floor that was seen free. Grey: obstacles that were seen."
    # A plan has the obstacles itself.
    first.shapes.append(Shape("area", [(0, 0), (9, 0), (9, 9)], "floor"))
    shapes, text = _shapes_of([first, second], ["a", "b"])
    assert [shape.kind for shape in shapes] == ["knownfree", "floor"]
    assert text == " Light blue: floor that the first run saw free."
    assert "the agent saw free" in _shapes_of([first], ["a"])[1]


def test_the_targets_that_other_runs_reported_are_drawn_too() -> None:
    def plan(x: float) -> Map:
        kind = "object goal-object"
        target = Shape("dot", [(x, 0.0)], kind, label="target", size=5)
        return Map(WALKS, shapes=[_known("knownfree", (0.0, 0.0)), target])

    shapes, _ = _shapes_of([plan(1.0), plan(2.0), plan(1.0)], ["a", "b", "c"])
    targets = [shape.points for shape in shapes if "goal-object" in shape.kind]
    assert targets == [[(1.0, 0.0)], [(2.0, 0.0)]]

    # They are named by their runs where they differ.
    def labels(*places: float) -> list[str]:
        shapes, _ = _shapes_of([plan(place) for place in places], ["a", "b", "c"])
        return [shape.label for shape in shapes if "goal-object" in shape.kind]

    assert labels(1.0, 2.0, 1.0) == ["target (a and c)", "target (b)"]
    assert labels(1.0, 1.0, 1.0) == ["target"]


@pytest.mark.parametrize(
    ("column", "ends"), [("success", (0.0, 1.0)), ("reward", None)]
)
def test_success_is_drawn_between_none_and_all(
    column: str, ends: tuple[float, float] | None, tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"step,{column}\n1,0.5\n2,0.6\n")
    drawn = axes_of(plot(log, "curve")).get_ylim()
    assert (drawn == ends) == (ends is not None)


def test_curves_come_from_the_logs_of_common_trainers(tmp_path: Path) -> None:
    csv = tmp_path / "ppo" / "progress.csv"
    csv.parent.mkdir()
    csv.write_text("time/total_timesteps,rollout/ep_rew_mean\n10,0.1\n20,\n30,0.5\n")
    monitor = tmp_path / "monitor.csv"
    monitor.write_text('#{"t_start": 0}\nr,l,t\n0.0,5,1\n1.0,3,2\n')
    lines = tmp_path / "dqn.jsonl"
    rows = [{"step": n, "reward": n / 100} for n in range(100)]
    lines.write_text("\n".join(map(json.dumps, rows)))
    state = tmp_path / "sft" / "checkpoint-2" / "trainer_state.json"
    state.parent.mkdir(parents=True)
    log = [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}, {"step": 2, "epoch": 1}]
    state.write_text(json.dumps({"log_history": log}))

    def points(path: Path) -> list[tuple[float, float]]:
        line = axes_of(plot(path, "curve")).lines[-1]
        return [*zip(line.get_xdata(), line.get_ydata(), strict=True)]

    for path, labels in {
        csv.parent: ("Total timesteps", "Episode reward mean"),
        lines: ("Training step", "Reward"),
        monitor: ("Line", "Reward"),
    }.items():
        axes = axes_of(plot(path, "curve"))
        assert (axes.get_xlabel(), axes.get_ylabel()) == labels
    assert points(csv.parent) == [(10, 0.1), (30, 0.5)]
    assert points(monitor) == [(1, 0.0), (2, 1.0)]
    assert points(tmp_path / "sft") == [(1, 2.0), (2, 1.0)]
    binned = plot(lines, "curve")
    assert len(points(lines)) == 25
    assert points(lines)[0] == pytest.approx((1.5, 0.015))
    assert "means of up to 4 consecutive values" in binned.caption


def test_seeds_of_a_curve_are_thin_lines_and_their_mean(tmp_path: Path) -> None:
    for seed, height in ((0, 0.2), (1, 0.6)):
        rows = [{"step": n, "reward": height} for n in range(3)]
        text = "\n".join(map(json.dumps, rows))
        (tmp_path / f"ppo-seed-{seed}.jsonl").write_text(text)
    drawn = plot(sorted(tmp_path.glob("*.jsonl")), "curve")
    heights = [float(line.get_ydata()[0]) for line in axes_of(drawn).lines]
    assert heights == pytest.approx([0.2, 0.6, 0.4])
    assert "single seeds (2)" in drawn.caption


def test_a_last_line_that_is_not_finished_is_named(tmp_path: Path) -> None:
    log = tmp_path / "ppo.jsonl"
    rows = [json.dumps({"step": n, "reward": 0.5}) for n in range(3)]
    log.write_text("\n".join([*rows, '{"step": 3, "rew']))
    caption = plot(log, "curve").caption
    assert "Left out: a last line that is not finished, of ppo." in caption
    log.write_text("\n".join(rows))
    assert "not finished" not in plot(log, "curve").caption


def test_logs_of_one_label_are_a_curve_whatever_their_names(tmp_path: Path) -> None:
    logs = []
    for name, height in (("monday", 0.2), ("tuesday", 0.6), ("other", 0.9)):
        logs.append(tmp_path / f"{name}.jsonl")
        rows = [json.dumps({"step": n, "reward": height}) for n in range(3)]
        logs[-1].write_text("\n".join(rows))
    drawn = plot(logs, "curve", labels=["PPO", "PPO", "DQN"])
    heights = [float(line.get_ydata()[0]) for line in axes_of(drawn).lines]
    assert heights == pytest.approx([0.2, 0.6, 0.4, 0.9])
    assert "single seeds (PPO 2, DQN 1); thick lines" in drawn.caption
    with pytest.raises(UsageError, match="2 given, and the figure has 3 series"):
        plot(logs, "curve", labels=["PPO", "DQN"])


def test_the_legend_of_a_map_has_the_signs_of_goals_as_they_are_drawn() -> None:
    square = [(0.0, 0.0), (1.0, 1.0)]
    drawn = Map(
        WALKS,
        shapes=[
            Shape("rect", square, "furniture destination"),
            Shape("line", square, "leaf open"),
            Shape("rect", square, "furniture goal-object"),
        ],
    )
    _, axes = style.new_figure(3.3, 3.3)
    _draw_ground(axes, drawn, drawn.shapes, 1.0)
    _draw_goal(axes, drawn, drawn.shapes)
    handles, names = axes.get_legend_handles_labels()
    assert names == ["where to", "door", "goal object"]
    assert handles[0].get_linestyle() not in ("-", "solid")
    assert handles[2].get_marker() == "s"


def test_runs_of_checkpoints_are_a_curve(runs: Path, tmp_path: Path) -> None:
    for name, source in (("step-100", "random"), ("step-20", "forward")):
        (tmp_path / name).symlink_to(runs / source)
    drawn = plot([tmp_path / "step-100", tmp_path / "step-20"], "curve")
    (bars,) = axes_of(drawn).containers
    assert list(bars.lines[0].get_xdata()) == [20, 100]


def test_files_repeat_their_bytes_and_embed_their_fonts(
    runs: Path, tmp_path: Path
) -> None:
    for form in ("pdf", "svg", "png"):
        names = [tmp_path / f"{n}.{form}" for n in range(2)]
        for name in names:
            plot(runs / "random", "length").save(name)
        first, second = (name.read_bytes() for name in names)
        assert first == second, form
    pdf = (tmp_path / "0.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf
    assert plot(runs / "random", "length")._repr_svg_().startswith("<?xml")


def test_names_are_data(runs: Path) -> None:
    drawn = plot([runs / "oracle", runs / "random"], labels=["$x^2$", "a_b {"])
    assert legend(drawn) == ["$x^2$", "a_b {"]
    drawn._repr_svg_()


def test_series_differ_in_color_and_dashes() -> None:
    looks = {
        (look.color, str(look.dashes)) for look in map(style.look, range(style.MOST))
    }
    assert len(looks) == style.MOST


def test_every_kind_has_a_test_and_a_description() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for kind, (about, _) in KINDS.items():
        assert f'"{kind}")' in text, kind
        assert about


ERRORS: list[tuple[Callable[[Path], object], str]] = [
    (lambda top: plot(top / "random", "pie"), "--kind pie: there are: causes, cost"),
    (lambda top: plot(top / "none"), "none: no such folder"),
    (lambda top: plot(top / "random", width="wide"), "--width wide: must be column"),
    (
        lambda top: plot(top / "random", metric="srr"),
        "no metric 'srr' in all runs; did",
    ),
    (lambda top: plot(top / "random", labels=["a", "b"]), "--label: 2 given, and the"),
    (lambda top: plot(top / "random", "pairs"), "a comparison needs at least two runs"),
    (lambda top: plot(top / "random", "curve"), "random: a curve needs training logs"),
    (lambda top: plot(top / "random", "cost"), "no run has a cost or tokens"),
    (lambda top: plot(top / "oracle", "causes"), "every episode was solved"),
    (lambda top: plot(top / "random", "map", episode="x"), "has no episode 'x'"),
    (lambda top: plot(top / "random").save("plot.gif"), "plot.gif: must end in .pdf"),
]


@pytest.mark.parametrize(("draw", "line"), ERRORS, ids=[line for _, line in ERRORS])
def test_an_error_is_one_line(
    draw: Callable[[Path], object], line: str, runs: Path
) -> None:
    with pytest.raises(WaywordError) as caught:
        draw(runs)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_runs_of_two_families_are_no_figure(runs: Path, tmp_path: Path) -> None:
    other = wayword.run("random", "towns", limit=1, max_steps=2, out=tmp_path / "town")
    with pytest.raises(WaywordError, match="town is street; plot runs of one family"):
        plot([runs / "random", other.path])


def test_results_have_figures_and_latex_tables(runs: Path) -> None:
    result = wayword.RunResult.read(runs / "random")
    assert list(series(result.plot("length", runs / "oracle"))) == ["random", "oracle"]
    assert r"\toprule" in result.to_latex("r2r", runs / "oracle")
    named = result.to_latex("r2r", runs / "oracle", labels=["Chance", "Upper bound"])
    assert "\nChance &" in named
    assert "\nUpper bound" in named
    with pytest.raises(WaywordError, match="labels: 1 given, and the table has 2 rows"):
        result.to_latex("r2r", runs / "oracle", labels=["Chance"])
    assert "random, length 5" in result.table(["sr"], by="length", form="csv")


def test_the_caption_by_length_names_series_of_other_episodes(
    runs: Path, tmp_path: Path
) -> None:
    run(Plan("oracle", "houses", "", TREE, limit=3, out=tmp_path / "few"))
    drawn = plot([tmp_path / "few", runs / "random"], "length", labels=["Few", "All"])
    of = len(RunFolder.read(runs / "random").index)
    assert drawn.caption.endswith(
        "Not comparable with Few (3 episodes), because of other episodes: "
        f"All ({of}, 3 shared)."
    )
    same = plot([runs / "oracle", runs / "random"], "length")
    assert "Not comparable" not in same.caption


def test_the_caption_says_which_means_have_error_bars(runs: Path) -> None:
    of_success = plot([runs / "random"], "length").caption
    assert "Error bars: 95% intervals with" in of_success
    # NE has no bounds, and intervals only from 60 paths on.
    assert (
        "No intervals: too few paths." in plot([runs / "random"], metric="ne").caption
    )


def test_nothing_is_said_of_means_without_bars_where_all_have_them() -> None:
    row = summarize("a", [{"sr": float(n % 2)} for n in range(8)], family="indoor", of=8,
                    clustered="path", clusters=range(8))  # fmt: skip
    note = interval_note([row, row], "sr")
    assert note == "Error bars: 95% intervals with 8 paths as units."


def test_some_means_without_bars_are_not_counted() -> None:
    scores = [{"sr": float(n % 2)} for n in range(8)]
    several = summarize("a", scores, family="indoor", of=8, clustered="path",
                        clusters=range(8))  # fmt: skip
    single = replace(several, clusters=1, values={"sr": Interval(0.5)})
    note = interval_note([several, single], "sr")
    assert note == (
        "Error bars: 95% intervals with 8 paths as units; means without one have too few."
    )


@pytest.mark.parametrize("width", ["column", "page", "20"])
def test_a_map_is_at_most_half_a_page_high(runs: Path, width: str) -> None:
    _, height = plot([runs / "random"], "map", width=width).figure.get_size_inches()
    assert height <= 5.0


def test_names_keep_clear_of_walks_and_of_each_other_and_stay_in_the_map() -> None:
    figure, axes = style.new_figure(3.35, 3.35)
    line = [(float(x), 5.0) for x in range(11)]
    labels = _Labels(axes, Extent(0.0, 0.0, 10.0, 10.0), 0.335, [line])
    for at in ((5.0, 4.8), (5.0, 5.3), (9.8, 9.8), (9.8, 4.7), (0.1, 0.2)):
        labels.write("Sunrise Theater", at, 3.0)
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 10)
    axes.set_position((0, 0, 1, 1))
    figure.draw_without_rendering()
    to_metres = axes.transData.inverted()
    boxes = [each.get_window_extent().transformed(to_metres) for each in axes.texts]
    for number, box in enumerate(boxes):
        assert not box.y0 < 5.0 < box.y1, "no name is on the walk"
        # A third of a metre is the width of half a letter here.
        ends = (box.x0, box.y0, 10 - box.x1, 10 - box.y1)
        assert min(ends) > -0.3, "no name is cut off"
        for other in boxes[:number]:
            assert not box.overlaps(other)


def test_a_name_is_on_lines_of_the_ground_only_where_there_is_no_other_room() -> None:
    figure, axes = style.new_figure(3.35, 3.35)
    wall = [(float(x), 5.5) for x in range(11)]
    walk = [(float(x), 4.5) for x in range(11)]
    labels = _Labels(axes, Extent(0.0, 0.0, 10.0, 10.0), 0.335, [walk], [wall])
    for at in ((5.0, 7.0), (5.0, 5.3)):
        labels.write("Hall", at, 3.0)
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 10)
    axes.set_position((0, 0, 1, 1))
    figure.draw_without_rendering()
    to_metres = axes.transData.inverted()
    boxes = [each.get_window_extent().transformed(to_metres) for each in axes.texts]
    assert [box.y0 < 5.5 < box.y1 for box in boxes] == [False, False]


def test_a_landmark_is_in_the_map_with_its_name_or_not_at_all(tmp_path: Path) -> None:
    run(Plan("oracle", "towns", limit=6, out=tmp_path / "towns"))
    for episode, _ in RunFolder.read(tmp_path / "towns").scores():
        axes = axes_of(plot([tmp_path / "towns"], "map", episode=episode))
        west, east = axes.get_xlim()
        south, north = axes.get_ylim()
        for name in axes.texts:
            x, y = name.get_position()
            if not name.get_text().endswith(" m"):
                inside = west < x < east and south < y < north
                assert inside, name.get_text()


def test_without_prices_a_model_that_used_nothing_is_not_called_free(
    runs: Path, tmp_path: Path
) -> None:
    run(Plan("act", "houses", "scripted:first", TREE, out=tmp_path / "act"))
    drawn = plot([runs / "random", tmp_path / "act"], "cost")
    assert drawn.caption.startswith("SR against tokens (no price is known) per episode")
    assert not [name for name in legend(drawn) if "$" in name]
    assert "Error bars and bands: 95% intervals" in drawn.caption


LABELS = {
    "short": ["Imitation", "Forward", "Random"],
    "long": [
        "Imitation from forty demonstrations, with landmarks",
        "runs/forward_with_a_long_name/without_any_blank",
        "X" * 120,
    ],
}


def is_inside(drawn: Plot, artist: Any) -> bool:
    """True for an artist that is inside the figure, to a thousandth of an inch."""
    box = artist.get_window_extent()
    width, height = drawn.figure.get_size_inches() * drawn.figure.dpi
    edge = drawn.figure.dpi / 1000
    across = -edge <= box.x0 and box.x1 <= width + edge
    return bool(across and -edge <= box.y0 and box.y1 <= height + edge)


def check_numbers(axis: Any) -> None:
    """Assert that each tick whose label is a number stands at that number."""
    factor = float(axis.get_offset_text().get_text() or 1)
    for tick in axis.get_major_ticks():
        text = tick.label1.get_text().replace("−", "-").replace(",", "")
        with suppress(ValueError):
            assert float(text) * factor == pytest.approx(tick.get_loc(), abs=1e-9)


@pytest.mark.parametrize("farthest", [0.4, 17.5, 1700.0])
@pytest.mark.parametrize("nearest", [1.0, 0.05])
def test_labels_of_an_axis_are_where_they_say(
    nearest: float, farthest: float, tmp_path: Path
) -> None:
    """On axes with equal steps, and on logarithmic ones."""
    near = _searches(tmp_path, "near", [(nearest * farthest, True)])
    far = _searches(tmp_path, "far", [(farthest, False)])
    axes = axes_of(plot([near, far], "cost", width="page"))
    axes.figure.draw_without_rendering()
    check_numbers(axes.xaxis)
    if farthest == 17.5 and nearest == 1.0:
        shown = [tick.label1.get_text() for tick in axes.xaxis.get_major_ticks()]
        assert shown[:4] == ["0.0", "2.5", "5.0", "7.5"]


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_text_is_inside_the_figure(
    kind: str, labels: Sequence[str], width: str, runs: Path, tmp_path: Path
) -> None:
    """Whatever the labels of three runs are; and no figure shrinks its axes to nothing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    paths = [runs / name for name in ("random", "forward", "oracle")]
    if kind == "causes":
        paths[2] = _failing(tmp_path)
    if kind == "cost":
        tokens = {"calls": 3.0, "prompt_tokens": 9.0, "completion_tokens": 1.0}
        paths = [
            _costly(tmp_path, "none", 0.2),
            _costly(tmp_path, "cheap", 0.3, cost=0.2, **tokens),
            _costly(tmp_path, "dear", 0.5, cost=0.3, **tokens),
        ]
    if kind == "curve":
        paths = [_log(tmp_path / f"{name}.csv") for name in ("a", "b", "c")]
    drawn = plot(paths, kind, labels=labels, width=width)
    drawn.figure.set_dpi(300)
    FigureCanvasAgg(drawn.figure).draw()
    axes = axes_of(drawn)
    texts = [*drawn.figure.findobj(Text)]
    for axis in (axes.xaxis, axes.yaxis):
        if kind not in ("length", "causes", "pairs"):  # their labels are names
            check_numbers(axis)
        # Labels of ticks beyond the ends of an axis are not drawn.
        low, high = axis.get_view_interval()
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high or not axes.axison:
                texts = [
                    text for text in texts if text not in (tick.label1, tick.label2)
                ]
    shown = [text for text in texts if text.get_visible() and text.get_text()]
    outside = [text.get_text() for text in shown if not is_inside(drawn, text)]
    assert not outside
    if axes.axison:
        assert axes.get_window_extent().width > 0.2 * drawn.figure.bbox.width
        assert axes.get_window_extent().height > 0.3 * drawn.figure.dpi
    if kind == "causes":
        # A name of several lines may be broken within its number.
        names = "".join(legend(drawn)).replace("\n", " ")
        assert names.count("(n = ") == len(labels)


def _failing(folder: Path) -> Path:
    """A third run with unsolved episodes."""
    run(Plan("random", "houses", "", {**TREE, "steps": 2}, out=folder / "third"))
    return folder / "third"


def _log(path: Path) -> Path:
    """A training log of two steps."""
    path.write_text("step,reward\n1,0.5\n2,0.75\n", encoding="utf-8")
    return path


def test_an_option_without_effect_is_refused(runs: Path) -> None:
    for kind in KINDS:
        if kind != "map":
            with pytest.raises(UsageError, match="only --kind map draws an episode"):
                plot(runs / "random", kind, episode="5")
    for kind in ("map", "causes"):
        with pytest.raises(UsageError, match=f"no effect with --kind {kind}"):
            plot(runs / "random", kind, metric="sr")


@pytest.mark.parametrize(
    ("rates", "top"), [((10.0, 50.0), 50.0), ((10.0, 51.0), 100.0), ((100.0,), 100.0)]
)
def test_the_axis_of_a_rate_holds_its_largest_value(
    rates: tuple[float, ...], top: float
) -> None:
    _, axes = style.new_figure(3.35, 2.0)
    axes.plot(range(len(rates)), rates)
    charts.metric_axis(axes, scorer("indoor").metrics[0])
    assert axes.get_ylim() == (0.0, top)


def test_a_name_is_broken_where_a_line_is_full() -> None:
    for text in ("two words", "runs/a_name-with_signs", "X" * 40, "", "a  b"):
        lines = style.wrapped(text, 0.5, 7.0).split("\n")
        assert all(style.text_width(line, 7.0) <= 0.5 for line in lines), text
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    # The blank at which a line ends takes no space.
    full = style.text_width("random steps", 7.0)
    assert style.wrapped("random steps 6", full, 7.0) == "random steps\n6"


@pytest.mark.parametrize("dataset", ["houses", "towns", "apartments", "household"])
def test_texts_of_a_map_are_clear_of_marks_of_walks_and_of_each_other(
    dataset: str, tmp_path: Path
) -> None:
    """Letters, names and the scale bar's length, on the maps of two walks."""
    paths = [tmp_path / "short", tmp_path / "long"]
    for path, steps in zip(paths, (3, 12), strict=True):
        run(Plan("random", dataset, settings={"steps": steps}, limit=4, out=path))
    for episode, _ in RunFolder.read(paths[0]).scores():
        drawn = plot(paths, "map", episode=episode)
        drawn.figure.set_dpi(300)
        drawn.figure.draw_without_rendering()
        axes = axes_of(drawn)
        boxes = [text.get_window_extent() for text in axes.texts]
        boxes = [box.shrunk(0.9, 0.7) for box in boxes]  # line height and bearings
        marks = [
            axes.transData.transform(patch.get_center())
            for patch in axes.patches
            if hasattr(patch, "get_center") and hasattr(patch, "radius")
        ]
        # A mark is a line of one point.
        lines = [np.transpose(line.get_data()) for line in axes.lines]
        marks += [axes.transData.transform(line[0]) for line in lines if len(line) == 1]
        for number, box in enumerate(boxes):
            text = axes.texts[number].get_text()
            for mark in marks:
                assert not box.contains(*mark), (episode, text)
            for other, name in zip(boxes[:number], axes.texts, strict=False):
                assert not box.overlaps(other), (episode, text, name.get_text())
        # Of the scale bar alone the ends are cut off straight.
        for bar in axes.lines:
            if bar.get_solid_capstyle() != "butt":
                continue
            [(left, y), (right, _)] = axes.transData.transform(
                np.transpose(bar.get_data())
            )
            strip = Bbox([(left, y - 4), (right, y + 4)])
            # The graph's edges and walls have two points.
            for line in lines:
                if len(line) > 2:
                    for point in axes.transData.transform(line):
                        assert not strip.contains(*point), episode


@pytest.mark.parametrize("kind", ["length", "causes", "pairs", "curve"])
def test_a_shortened_axis_clips_what_is_beyond_it(
    kind: str, runs: Path, tmp_path: Path
) -> None:
    """Marks at the ends of the default axis are drawn whole, also in a copy of the figure."""
    paths = [runs / "forward", runs / "random"]
    if kind == "curve":
        paths = [tmp_path / "log.csv"]
        paths[0].write_text("step,success\n1,0.0\n2,0.5\n3,1.0\n", encoding="utf-8")
    figure = pickle.loads(pickle.dumps(plot(paths, kind).figure))
    (axes,) = figure.axes
    figure.draw_without_rendering()
    for line in axes.lines:
        full = line.get_window_extent()
        if np.isfinite(full.extents).all():
            assert line.get_tightbbox().extents == pytest.approx(full.extents)
    axes.set_xlim(-0.1, 1.1)
    axes.set_ylim(0.0, 0.2)
    figure.draw_without_rendering()
    # With room for a mark at the end of the axis.
    room = 3.5 * figure.dpi / 72
    frame = axes.get_window_extent().padded(room)
    for mark in [*axes.lines, *axes.collections]:
        box = mark.get_tightbbox()
        if box is not None:
            assert frame.fully_containsx(box.x0)
            assert frame.fully_containsx(box.x1)
            assert frame.fully_containsy(box.y0)
            assert frame.fully_containsy(box.y1)
