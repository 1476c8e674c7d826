"""Runs from Python: what ``wayword.run`` takes, what a result gives, wrong calls in one line."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import pickle
import pydoc
import re
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

import wayword
from helpers.docs_pages import ROOT
from helpers.line_world import WORLD
from wayword.cli import running as command_line
from wayword.core.action import STOP, Decision
from wayword.core.agent import Agent
from wayword.core.blame import CodeError
from wayword.core.errors import UsageError, WaywordError
from wayword.core.registry import load
from wayword.datasets.houses import dataset as Houses  # noqa: N812
from wayword.envs import make
from wayword.models.scripted import ScriptedModel
from wayword.runs import RunOptions, reports, results


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclasses.dataclass(frozen=True)
class Settings:
    turns: int = 0


class Stopper(Agent):
    Settings = Settings

    async def act(self, observation: Any, space: Any) -> Decision:
        return Decision(STOP)


HOUSES = Houses("test", None, Houses.Settings(houses=1, episodes=4))


def test_a_run_takes_names_classes_instances_and_models() -> None:
    closed = []

    class Counted(ScriptedModel):
        async def aclose(self) -> None:
            closed.append(self)

    model = Counted(answers="stop")
    results = [
        wayword.run("random", "houses", limit=1, settings={"dataset.houses": 5}),
        wayword.run(Path("random"), HOUSES, limit=1),
        wayword.run(Stopper, Houses, limit=1, settings={"dataset.houses": 5}),
        wayword.run(Stopper(Settings(turns=3), None), HOUSES, limit=1),  # type: ignore[arg-type]
        wayword.run("act", HOUSES, model, limit=1, max_steps=1),
        wayword.run("act", HOUSES, model, limit=2, max_steps=1),
        wayword.run(wayword.Plan("random", "houses"), limit=1, seed=3),
    ]
    assert all(result.outcome.complete for result in results)
    identities = [result.recorded.config["identity"] for result in results]
    assert [each["agent"] for each in identities[:4]] == [
        "random",
        "random",
        "Stopper",
        "Stopper",
    ]
    assert [each["settings"] for each in identities[2:4]] == [
        {"turns": 0},
        {"turns": 3},
    ]
    assert identities[1]["dataset_settings"]["houses"] == 1
    assert identities[4]["models"] == {"main": model.name}
    assert results[5].resumed == 1
    assert not closed, "the caller's model stays open"
    assert identities[6]["seed"] == 3


def test_settings_of_a_call_win_over_those_of_its_parts() -> None:
    own = {"steps": 2, "dataset": {"houses": 1, "episodes": 4}}
    plan = wayword.Plan("random", "houses", settings=own)
    small = Houses("test", None, Houses.Settings(houses=1, episodes=4))
    stopper = Stopper(Settings(turns=3), None)  # type: ignore[arg-type]
    results = [
        wayword.run(plan, limit=1, settings={"steps": 3, "dataset.episodes": 5}),
        wayword.run(stopper, small, limit=1, settings={"turns": 1}),
        wayword.run(stopper, small, limit=1, settings={"dataset.episodes": 5}),
    ]
    identities = [result.recorded.config["identity"] for result in results]
    settings = [next(iter(each["settings"].values())) for each in identities]
    assert settings == [3, 1, 3]
    datasets = [each["dataset_settings"] for each in identities]
    assert [each["episodes"] for each in datasets] == [5, 4, 5]
    assert [each["houses"] for each in datasets] == [1, 1, 1], "others stay"


def test_the_progress_of_a_resumed_run_counts_what_was_finished() -> None:
    wayword.run("random", HOUSES, limit=2, out="run")
    seen = []
    wayword.run(
        *("random", HOUSES),
        limit=4,
        out="run",
        on_progress=lambda done, total, scores: seen.append((done, total)),
    )
    assert {total for _, total in seen} == {4}
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (2, 4)


def test_an_edited_class_begins_a_new_run() -> None:
    first = wayword.run(Stopper, HOUSES, limit=1)

    class Edited(Stopper):
        async def act(self, observation: Any, space: Any) -> Decision:
            return Decision(STOP, "because")

    Edited.__name__ = "Stopper"
    assert wayword.run(Stopper, HOUSES, limit=1).path == first.path
    assert wayword.run(Edited, HOUSES, limit=1).path != first.path


def test_it_works_inside_a_running_event_loop() -> None:
    async def cell() -> tuple[wayword.RunResult, wayword.RunResult]:
        return wayword.run("random", HOUSES, limit=1), await wayword.run_async(
            "random", HOUSES, limit=2
        )

    blocking, awaited = asyncio.run(cell())
    assert (blocking.resumed, awaited.resumed) == (0, 1)


def test_options_are_those_of_the_command_line() -> None:
    options = set(inspect.signature(command_line.run).parameters)
    others = {"context", "config", "sweep", "dry_run", "seeds", "track", "watch"}
    others |= {"perturb", "tier", "batch"}  # settings in Python
    assert options - others == {
        "agent",
        "on",
        "model",
        "episodes",
        *RunOptions.__annotations__,
    } - {"episode"}
    fields = {each.name for each in dataclasses.fields(wayword.Plan)}
    assert fields == {"agent", "on", "model", *RunOptions.__annotations__}


def test_a_result_gives_episodes_tables_and_a_data_frame() -> None:
    result = wayword.run("random", HOUSES, limit=4)
    other = wayword.run("oracle", HOUSES, limit=4)
    record = result.episodes[0]
    task = next(task for task in HOUSES.tasks if task.episode.id == record.episode_id)
    assert (record.instruction, record.scene) == (
        task.episode.instruction,
        task.episode.scene,
    )
    moves = len(task.reference.path) - 1  # type: ignore[attr-defined]
    assert record.gold_length == moves, "the length of table --by length"
    frame = result.to_dataframe()
    assert len(frame) == 4
    columns = {
        "episode",
        "instruction",
        "scene",
        "gold_length",
        "success",
        "cause",
        "cost",
        "spl",
    }
    assert columns <= set(frame.columns)
    lost = {each.episode_id for each in result.failures()}
    assert lost == set(frame[~frame["success"]]["episode"])
    assert all(frame[~frame["success"]]["cause"])
    assert other.failures() == []
    assert "SR %" in result.table()
    assert "SPL" not in result.table("sr,ne")
    assert repr(result.table()) == str(result.table()), (
        "a notebook shows it as it prints"
    )
    assert "4 shared episodes" in result.compare(other) == result.compare(other.path)
    assert wayword.RunResult.read(result.path).to_dataframe().equals(frame)


def test_an_episode_that_ended_with_an_error_is_a_row() -> None:
    class Broken(Stopper):
        async def act(self, observation: Any, space: Any) -> Decision:
            raise WaywordError("lost")

    result = wayword.run(Broken, HOUSES, limit=1)
    (row,) = result.to_dataframe().to_dict("records")
    assert (row["success"], row["ended"], row["cause"]) == (False, "failed", "failed")
    assert [each.episode_id for each in result.failures()] == [row["episode"]]


def test_the_package_shows_what_there_is() -> None:
    assert {"Plan", "RunResult", "run", "run_async"} <= set(dir(wayword))
    page = pydoc.plain(pydoc.render_doc(wayword))
    assert "Play episodes with an agent" in page
    assert "to_dataframe" in page
    assert (Path(wayword.__file__).parent / "py.typed").is_file()


class NoDataset:
    """Something else."""


class Abstract(Agent):
    pass


class Odd(Agent):
    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def act(self, observation: Any, space: Any) -> Decision:
        return Decision(STOP)


class Plain(Agent):
    def act(self, observation: Any, space: Any) -> Decision:
        return Decision(STOP)


NAMES = {
    "Abstract": Abstract,
    "Odd": Odd,
    "Plain": Plain,
    "Houses": Houses,
    "NoDataset": NoDataset,
    "Stopper": Stopper,
    "make": make,
    "reports": reports,
    "wayword": wayword,
}
WRONG: list[tuple[str, str]] = [
    ("wayword.run('randm', 'houses')", "did you mean 'random'"),
    ("wayword.run('random', 'house')", "did you mean 'houses'"),
    ("wayword.run('random', 'houses:tset')", "did you mean 'test'"),
    ("wayword.run('', 'houses')", "agent is empty"),
    ("wayword.run('random', '')", "on is empty"),
    ("wayword.run(None)", "agent must be a name, a file, or a class"),
    ("wayword.run(3)", "agent must be a name, a file, or a class"),
    ("wayword.run('random', None)", "on must be a name, a file, or a class"),
    ("wayword.run('random', ['houses', 'towns'])", "on must be a name"),
    (
        "wayword.run(Houses, 'random')",
        "agent must be a name, a file, or a class or instance",
    ),
    (
        "wayword.run('random', NoDataset)",
        "on must be a name, a file, or a class or instance",
    ),
    ("wayword.run('act', 'houses')", "needs a language model"),
    ("wayword.run('act', 'houses', None)", "model must be a name"),
    ("wayword.run('act', 'houses', 3)", "model must be a name"),
    ("wayword.run('act', 'houses', 'gpt-5-mini')", "did you mean 'openai:gpt-5-mini'?"),
    (
        "wayword.run('act', 'houses', 'claude-x')",
        "did you mean 'inspect:anthropic/claude-x'?",
    ),
    (
        "wayword.run('act', 'houses', 'anthropic:claude-x')",
        "did you mean inspect:anthropic",
    ),
    ("wayword.run('act', 'houses', 'smollm2')", "did you mean 'local:smollm2'?"),
    ("wayword.run('act', 'houses', 'openai')", "add a name, as in openai:NAME"),
    (
        "wayword.run('act', 'houses', 'Qwen/Qwen3-4B')",
        "did you mean 'hf:Qwen/Qwen3-4B'?",
    ),
    ("wayword.run(Abstract)", "Abstract does not define act"),
    ("wayword.run(Odd)", "Odd.__init__ must take (self, settings, toolkit)"),
    (
        "wayword.run(Plain, limit=1, out='o')",
        "Plain.act must be declared with `async def`",
    ),
    ("wayword.run('random', limit='five')", "limit must be a whole number, got 'five'"),
    ("wayword.run('random', limit=0)", "limit must be at least 1"),
    ("wayword.run('random', limit=2.5)", "limit must be a whole number, got 2.5"),
    (
        "wayword.run('random', steps=2)",
        "it is a setting of random: write settings={'steps': 2}",
    ),
    ("wayword.run('random', limt=2)", "did you mean 'limit'"),
    ("wayword.run('random', set={'steps': 2})", "write settings="),
    ("wayword.run('random', settings='steps=2')", "settings must be a dict"),
    ("wayword.run('random', settings={'stps': 2})", "did you mean 'steps'"),
    (
        "wayword.run('random', settings={'steps': 'many'})",
        "steps must be a whole number, got 'many'",
    ),
    ("wayword.run('random', episodes='one')", "episodes must be a list of ids"),
    ("wayword.run('random', episodes=['nowhere'])", "no episode 'nowhere'"),
    ("wayword.run('random', actors='follower')", "actors must be a dict"),
    ("wayword.run('random', on_progress=3)", "on_progress must be a function"),
    ("wayword.run('random', data='nowhere')", "nowhere: no such folder"),
    ("wayword.run(Stopper, engine='ray')", "needs names or files"),
    (
        "wayword.run(wayword.Plan('random', 'houses'), 'towns')",
        "a Plan contains its dataset",
    ),
    ("wayword.Plan('random', 5)", "on must be a string, got 5"),
    ("wayword.RunResult.read('nowhere')", "nowhere: no such folder"),
    ("wayword.RunResult.read(3)", "read expects the path of a run folder, got 3"),
    (
        "wayword.RunResult.read(result.path.parent)",
        "not a run folder: it has no run.json; name one of",
    ),
    ("wayword.run('random', out=3)", "out must be a path, got 3"),
    ("wayword.run('random', shard=2)", "shard must be a string, got 2"),
    ("result.table(5)", "metrics must be a list of names"),
    ("result.table(['speed'])", "speed"),
    ("result.compare(5)", "compare expects a result or run folder"),
    ("result.compare('nowhere')", "nowhere: no such folder"),
    (
        "result.compare([result, result])",
        "compare expects a result or run folder, got [RunResult",
    ),
    (
        "result.compare(other)",
        "have no finished episode in common; compare runs on the same split",
    ),
    ("result.table(['sr'], 3)", "table expects a result or run folder, got 3"),
    (
        "wayword.run('random', seeds=3)",
        "run has no option 'seeds'; call it for each seed",
    ),
    ("result.compare()", "compare: missing a required argument: 'other'"),
    ("result.view(limit='a')", "limit must be a whole number, got 'a'"),
    (
        "result.view(browsr=False)",
        "view has no option 'browsr'; did you mean 'browser'",
    ),
    ("result.plot(3)", "kind must be a string, got 3"),
    (
        "result.plot('length', metrics='sr')",
        "no option 'metrics'; did you mean 'metric'",
    ),
    ("result.plot('length', episode=5)", "episode must be a string, got 5"),
    ("result.episodes[5]", "has 1 episodes, numbered from 0, got [5]; find one by"),
    ("result.episodes['x']", "numbered from 0, got ['x']; find one by its episode_id"),
    ("result.diagnose(3)", "diagnose takes one of result.episodes, got 3"),
    ("result.to_latex('r2r', published='navgpt/9')", "unknown recipe 'navgpt/9'"),
    ("Houses('tset')", "did you mean 'test'"),
    ("Houses('test', None, {'houses': 2})", "settings must be an instance"),
    ("reports.table('nowhere')", "nowhere: no such folder"),
    ("make(3)", "name must be a string, got 3"),
    ("make('houses', dataset='houses')", "dataset must be an open dataset"),
    ("make('houses', settings='houses=2')", "settings must be"),
    (
        "make('houses', episodes='two')",
        "episodes must be a whole number or a list, got 'two'",
    ),
    ("make('houses').reset(episode='nope')", "… 180 in all"),
    ("make('houses', view=3)", "view must be a string, got 3"),
    (
        "make('houses', view='txt').reset()",
        "view must be text, structured, or the name",
    ),
    ("make('babyai')", "did you mean 'grounding' or 'grounding_homes'?"),
    (
        "make('houses', max_steps='five')",
        "max_steps must be a whole number, got 'five'",
    ),
    ("make('houses', include='rules')", "write ['rules']"),
    ("make('houses', reward=3)", "reward must be a name or weights"),
    ("make('houses', actor=3)", "actor must be a string, got 3"),
    ("make('houses', data=3)", "data"),
]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> wayword.RunResult:
    return wayword.run("random", HOUSES, limit=1, out=tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> wayword.RunResult:
    """A run on another split."""
    return wayword.run(
        "random", "houses:train", limit=1, out=tmp_path_factory.mktemp("run")
    )


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[call for call, _ in WRONG])
def test_a_wrong_call_ends_in_one_line(
    call: str,
    message: str,
    result: wayword.RunResult,
    other: wayword.RunResult,
    folder: Path,
) -> None:
    with pytest.raises(WaywordError) as caught:
        eval(call, {**NAMES, "result": result, "other": other})
    assert re.search(re.escape(message), str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (folder / "runs").exists()


def test_a_method_of_results_is_named_where_it_is_sought_in_the_package() -> None:
    with pytest.raises(AttributeError, match=r"RunResult\.read\(FOLDER\)\.plot"):
        wayword.plot("runs/x")


def test_a_result_is_viewed_in_the_browser(
    result: wayword.RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = result.view()
    assert page.name == "index.html"
    assert page.is_file()
    assert opened == [page.as_uri()]
    assert result.view(browser=False) == page
    assert len(opened) == 1


def test_a_table_takes_other_runs_and_pools_those_of_seeds(tmp_path: Path) -> None:
    one, two = (
        wayword.run("random", HOUSES, limit=1, seed=n, out=tmp_path / str(n))
        for n in (0, 1)
    )
    rows = [str(one.table(["sr"], *others, form="csv")) for others in ([], [two.path])]
    assert [len(text.splitlines()) for text in rows] == [2, 3]
    pooled = str(one.table(["sr"], two, form="csv", pool=True))
    assert len(pooled.splitlines()) == 2
    paths = [one.path, two.path]
    with pytest.raises(UsageError, match="one row of the seeds of a run with --pool"):
        reports.table(paths, labels=["Random"])
    with pytest.raises(UsageError, match=r"the table has 1 rows; give one for each$"):
        reports.table([one.path], labels=["A", "B"])
    latex = reports.table(paths, "latex", pool=True, preset="r2r", labels=["Random"])
    assert "episodes, means over 2 seeds)" in latex


RAISES = """
    solutions = ("expert",)

    def make_plan(self, task, world, actor, kind):
        yield world.nothing


dataset ="""


def test_an_error_of_a_users_plan_is_one_line_where_a_result_reads_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "line.py"
    file.write_text(WORLD.replace("\n\ndataset =", RAISES))
    result = wayword.run("random", str(file), out=tmp_path / "run")
    episodes = partial(getattr, result, "episodes")
    for read in (episodes, result.failures, result.to_dataframe):
        with pytest.raises(
            CodeError, match=r"AttributeError: .*line\.py:\d+\)"
        ) as caught:
            read()
        assert len(traceback.extract_tb(caught.value.__traceback__)) == 2


def test_a_result_without_its_data_names_the_argument_of_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = wayword.run("random", HOUSES, limit=1, out=tmp_path / "run")

    def without_data(*_: object) -> NoReturn:
        raise UsageError("r2r needs its data: set --data FOLDER or WAYWORD_DATA")

    monkeypatch.setattr(results, "dataset_of", without_data)
    read = wayword.RunResult.read(result.path)
    with pytest.raises(
        UsageError, match=r"RunResult\.read\(.*, data=FOLDER\)"
    ) as caught:
        _ = read.episodes
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2


def test_frames_of_two_runs_group_by_model(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frames = [
        wayword.run(
            "act", "houses", model, limit=2, max_steps=2, out=tmp_path / f"{number}"
        ).to_dataframe()
        for number, model in enumerate(("scripted:first", "scripted:noise"))
    ]
    frames.append(
        wayword.run("random", "houses", limit=2, out=tmp_path / "r").to_dataframe()
    )
    counts = pandas.concat(frames).groupby("model").size().to_dict()
    assert counts == {"": 2, "scripted:first": 2, "scripted:noise": 2}


class AnswersThree(Agent):
    async def act(self, observation: Any, space: Any) -> Any:
        return 3


def test_means_intervals_and_comparisons_are_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    played = wayword.run("random", "houses", limit=5, out=tmp_path / "random")
    gold = wayword.run("oracle", "houses", limit=5, out=tmp_path / "gold")
    frame = played.intervals(["sr", "NE"])
    assert list(frame.index) == ["sr", "ne"]
    rate = frame.loc["sr"]
    assert rate["low"] <= rate["mean"] <= rate["high"]
    assert rate["episodes"] == 5
    assert rate["mean"] == played.to_dataframe()["sr"].mean()
    (metric,) = json.loads(played.compare(gold, ["sr"], form="json"))["metrics"]
    assert metric["metric"] == "sr"
    assert {"p", "low", "high"} <= metric.keys()
    # One text is one name, not a name for each of its characters.
    with pytest.raises(UsageError, match="1 given, and the comparison has 2 runs"):
        played.compare(gold, labels="ab")
    assert "Mine" in played.to_latex(labels="Mine")


def test_a_lower_limit_than_the_folder_holds_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wayword.run("forward", "houses", limit=4, out=tmp_path / "run")
    played = wayword.run("forward", "houses", limit=2, out=tmp_path / "run")
    (record,) = caplog.records
    assert len(played.episodes) == 4
    assert record.message.startswith(
        "the folder has 4 finished episodes, more than the limit of 2: its table and metrics are "
        "of all 4"
    )


def test_failed_episodes_are_logged_and_named_where_a_table_has_no_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    played = wayword.run(AnswersThree, "houses", limit=2, out=tmp_path / "run")
    (record,) = caplog.records
    assert record.name == "wayword"
    why = "act must return Decision(Action(…)) or a Rejection, got 3"
    assert record.message.startswith("2 of 2 episodes failed; episode ")
    assert record.message.endswith(why)
    with pytest.raises(
        UsageError, match="run has no metrics: 2 of 2 episodes failed; e"
    ):
        played.table(["sr"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.plot("lenght"), "kind lenght: did you mean 'length'?"),
        (lambda run: run.to_latex("foo"), "preset foo: there are: alfred,"),
        (
            lambda run: wayword.run("act", "houses", limit=1),
            "act needs a language model; add model='local:smollm2'",
        ),
    ],
)
def test_errors_of_a_call_name_its_arguments(
    call: Any, message: str, tmp_path: Path
) -> None:
    played = wayword.run("random", "houses", limit=1, out=tmp_path / "run")
    with pytest.raises(UsageError) as error:
        call(played)
    assert str(error.value).startswith(message)
    assert "--" not in str(error.value)


def test_objects_of_a_result_are_shown_in_one_short_line(tmp_path: Path) -> None:
    result = wayword.run("random", "houses", limit=5, out=tmp_path / "run")
    assert len(result.dataset.tasks) == 180
    assert repr(result.dataset) == "<Houses: indoor, 180 tasks>"
    assert repr(result.recorded) == f"RecordedRun({str(tmp_path / 'run')!r})"
    trajectory = result.episodes[0].trajectory
    assert repr(trajectory) == (
        f"<Trajectory {trajectory.episode_id}: {len(trajectory.steps)} steps, stopped>"
    )
    shown = repr(result.episodes)
    assert shown.startswith("<5 episodes: test-")
    assert shown.endswith(", …>")
    assert len(shown) < 120


def test_an_instance_runs_whose_constructor_leaves_the_base_class_out(
    folder: Path,
) -> None:
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    [text] = re.findall(r'```python title="lift.py"\n(.*?)```', page, re.DOTALL)
    (folder / "lift.py").write_text(text, encoding="utf-8")
    lift = sys.modules[load("dataset", "./lift.py").__module__]
    rides = lift.Rides("all", None, lift.Settings(floor=2))
    result = wayword.run("random", rides, limit=1, out="runs/lift")
    assert result.outcome.complete
    assert result.recorded.config["identity"]["dataset_settings"] == {"floor": 2}
    env = make("./lift.py")
    env.reset()
    copy = pickle.loads(pickle.dumps(env))
    assert copy.dataset.tasks == env.dataset.tasks
