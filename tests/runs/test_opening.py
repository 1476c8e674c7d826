"""What a record names is replaced by what is installed, or by files that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import small_cave
from wayword.core import registry
from wayword.core.errors import RecordingError, UsageError
from wayword.runs import Plan, RunFolder, RunResult, run
from wayword.runs.identity import source_checksum
from wayword.runs.opening import check_recipe, dataset_of, plan_of, trusted_part
from wayword.runs.plan import RunRecipe

IDENTITY: Mapping[str, Any] = {
    "dataset": "houses:test",
    "dataset_checksum": "",
    "dataset_settings": {},
    "perturb": {},
    "perceiver": {},
}
CODE = "raise SystemExit('imported')\n"


def opened(**fields: Any) -> Plan:
    trusted = fields.pop("trusted", ())
    return plan_of({**IDENTITY, **fields}, None, trusted)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CODE, encoding="utf-8")
    return path


def test_an_installed_dataset_needs_no_trust() -> None:
    plan = opened(dataset_settings={"houses": 3}, perturb={"noise": 0.5})
    assert plan.on == "houses:test"
    assert plan.settings["dataset"] == {"wording": 1, "houses": 3}
    assert plan.settings["perturb"] == {"noise": 0.5}


def test_runs_from_before_the_second_wording_are_read_and_resumed_with_the_first(
    tmp_path: Path,
) -> None:
    first = {"dataset": {"wording": 1}}
    old = Plan("random", "houses", settings=first, limit=1, out=tmp_path / "old")
    run(old)
    recorded = RunFolder.read(tmp_path / "old").config["identity"]["dataset_settings"]
    assert "wording" not in recorded, "such a run's record has no such field"
    run(replace(old, limit=2))
    assert len(list(RunFolder.read(tmp_path / "old").scores())) == 2
    tasks = dataset_of(RunFolder.read(tmp_path / "old")).tasks
    assert "through the kitchen doorway" in tasks[1].episode.instruction
    with pytest.raises(
        RecordingError, match=r"dataset_settings.wording.*dataset.wording=1"
    ):
        run(replace(old, settings={}))
    now = Plan("random", "houses", limit=1, out=tmp_path / "now")
    run(now)
    tasks = dataset_of(RunFolder.read(tmp_path / "now")).tasks
    assert "through the doorway to the kitchen" in tasks[1].episode.instruction


def test_a_dataset_registered_in_this_process_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cls = registry.load("dataset", "houses")
    monkeypatch.setitem(registry.CLASSES, ("dataset", "mine"), cls)
    assert trusted_part("dataset", "mine", "sha256:0", ()) == "mine"


@pytest.mark.parametrize("name", ["./evil.py", "evil.yaml", "a/b", "a\\b", "evil.yml"])
def test_a_file_is_only_opened_where_the_user_names_it(name: str) -> None:
    with pytest.raises(UsageError, match="again with --with FILE"):
        trusted_part("dataset", name, "", ())


def test_a_result_names_the_argument_that_opens_the_file(tmp_path: Path) -> None:
    file = tmp_path / "cave.py"
    file.write_text(Path(small_cave.__file__).read_text() + "\n\ndataset = Caves\n")
    run(Plan("random", str(file), limit=1, out=tmp_path / "run"))
    result = RunResult.read(tmp_path / "run")
    calls = (lambda: result.episodes, result.failures, result.to_dataframe)
    for call in calls:
        with pytest.raises(UsageError) as refused:
            call()
        assert str(refused.value).endswith("open the run again with trusted=[FILE]")
    edited = RunResult.read(tmp_path / "run", trusted=[__file__])
    with pytest.raises(
        UsageError, match=r"give the original file with trusted=\[FILE\]$"
    ):
        edited.failures()


@pytest.mark.parametrize("name", ["./evil.py:test", "evil.yaml:all", "gone:test"])
def test_the_dataset_of_a_record_is_installed_or_trusted(name: str) -> None:
    with pytest.raises(UsageError, match=r"no file that you have not named|no dataset"):
        opened(dataset=name)


def test_a_part_that_is_no_file_is_not_installed() -> None:
    with pytest.raises(UsageError, match="no agent called 'gone' is installed"):
        trusted_part("agent", "gone", "", ())
    # a recorded checksum shows that it was a file
    with pytest.raises(UsageError, match="again with --with FILE"):
        trusted_part("agent", "gone", "sha256:0", ())


def test_a_trusted_file_must_have_the_recorded_checksum(
    mine: Path, tmp_path: Path
) -> None:
    checksum = source_checksum("agent", str(mine))
    other = tmp_path / "other.py"
    other.write_text("x = 1\n", encoding="utf-8")
    # A text is one file: its characters "." and "/" are no folders to look through.
    for trusted in ([mine], [other, mine], mine, str(mine), [str(mine)]):
        found = trusted_part("agent", "/theirs/agent.py", checksum, trusted)
        assert Path(found) == mine
    for trusted, recorded in (([other], checksum), ([mine], "sha256:0"), ([mine], "")):
        with pytest.raises(UsageError, match="has changed since"):
            trusted_part("agent", "/theirs/agent.py", recorded, trusted)


def test_a_trusted_folder_is_opened_as_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = Path("package")
    package.mkdir()
    (package / "__init__.py").write_text(CODE, encoding="utf-8")
    checksum = source_checksum("agent", "./package")
    assert trusted_part("agent", "./theirs", checksum, [package]) == "./package"


@pytest.mark.parametrize("named", ["/theirs/mine.py", "C:\\theirs\\mine.py", "mine.py"])
def test_the_file_of_a_setting_is_the_users_file_of_that_name(
    named: str, mine: Path, tmp_path: Path
) -> None:
    settings = {"target": "mug", "base": named}
    others = ("other.py", "notmine.py", "mine.py.txt", "mine.py/other.py", "Mine.py")
    for trusted in ((), *((tmp_path / other,) for other in others)):
        with pytest.raises(
            UsageError, match=r"dataset\.base is the file .* --with FILE"
        ):
            opened(dataset="robot:live", dataset_settings=settings, trusted=trusted)
    plan = opened(dataset="robot:live", dataset_settings=settings, trusted=(mine,))
    assert plan.settings["dataset"] == {"target": "mug", "base": str(mine)}


def test_a_perceiver_is_only_used_if_it_is_installed(tmp_path: Path) -> None:
    settings = {"folder": "/theirs/views"}
    with pytest.raises(UsageError, match=r"perceiver\.folder is the file"):
        opened(perceiver={"name": "recorded", "settings": settings})
    own = tmp_path / "views"
    plan = opened(perceiver={"name": "recorded", "settings": settings}, trusted=[own])
    assert plan.settings["perceiver"] == {"name": "recorded", "folder": str(own)}
    foreign = opened(perceiver={"name": "./evil.py", "settings": {}})
    assert "perceiver" not in foreign.settings


def test_data_that_have_changed_are_refused(tmp_path: Path) -> None:
    run(Plan("oracle", "houses", limit=1, out=tmp_path / "run"))
    recorded = RunFolder.read(tmp_path / "run")
    assert dataset_of(recorded).tasks
    recorded.config["identity"]["data_checksum"] = "sha256:0"
    with pytest.raises(UsageError, match="the data differ from the run's"):
        dataset_of(recorded)


RECIPES: Mapping[str, Mapping[str, Any]] = {
    "agent": {"agent": "./mine.py"},
    "agent of several": {"agent": "random,./mine.py"},
    "dataset": {"on": "./mine.py:all"},
    "model": {"model": "./mine.py:x"},
    "actor": {"actors": {"follower": "./mine.py"}},
    "model of a role": {"settings": {"models.summary": "./mine.py:x"}},
    "nested setting": {"settings": {"perceiver": {"name": "./mine.py"}}},
    "listed setting": {"settings": {"names": ["x", "./mine.py"]}},
    "file of the dataset": {
        "on": "robot:live",
        "settings": {"dataset": {"base": "./mine.py", "target": "mug"}},
    },
    "data of the dataset": {
        "on": "r2r:val_seen",
        "settings": {"dataset": {"annotations": "mine.json"}},
    },
}
"""Plans of recipes that name a file."""


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_names_no_file_that_the_user_does_not_trust(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("mine.py", "mine.json"):
        Path(file).write_text(CODE, encoding="utf-8")
    recipe = Plan(**{"agent": "random", "on": "houses", **RECIPES[name]})
    for trusted in ((), (Path("other.py"),)):
        with pytest.raises(UsageError, match=r"recipe\.yaml: names the file '.*mine"):
            check_recipe(Path("recipe.yaml"), recipe, trusted)
    check_recipe(Path("recipe.yaml"), recipe, [Path("mine.py"), Path("mine.json")])


@pytest.mark.parametrize(
    "sweep",
    [
        ("agent=./mine.py",),
        ("agent=random,./mine.py",),
        ("seed=0,1", "on=houses,./mine.py:all"),
        ("model=./mine.py:x,scripted:first", "seed=0,1"),
        ("grounding=./mine.py",),
    ],
)
def test_a_sweep_of_a_recipe_names_no_file_either(
    sweep: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CODE, encoding="utf-8")
    recipe = RunRecipe("random", "houses", sweep=sweep)
    with pytest.raises(UsageError, match=r"recipe\.yaml: names the file '.*mine"):
        check_recipe(Path("recipe.yaml"), recipe, ())
    check_recipe(Path("recipe.yaml"), recipe, [Path("mine.py")])


def test_a_recipe_of_installed_parts_names_no_file() -> None:
    settings = {"note": "see README.md", "models.summary": "openai:gpt/5"}
    recipe = Plan("random", "houses", "scripted:first", settings=settings)
    check_recipe(Path("recipe.yaml"), recipe, ())


OWN_HOUSES = """
from wayword.datasets.houses import Houses


class Mine(Houses):
    pass


dataset = Mine
"""


@pytest.mark.parametrize("named", ["./mine.py", "./mine"])
def test_a_result_opens_the_files_that_its_call_named(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / (named if named.endswith(".py") else "mine/__init__.py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(OWN_HOUSES, encoding="utf-8")
    result = run(Plan("random", named, limit=1, max_steps=2, out=tmp_path / "run"))
    monkeypatch.chdir(tmp_path.parent)  # a result outlives a change of folder
    (record,) = result.episodes
    assert record.episode_id in {task.episode.id for task in result.dataset.tasks}
    with pytest.raises(UsageError, match="no file that you have not named is opened"):
        _ = RunResult.read(tmp_path / "run").episodes
