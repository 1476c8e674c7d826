"""Runs that were changed so that they look better: each is refused, or named as not proven."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.looping import for_each
from helpers.records import records, rewrite
from wayword.core import registry
from wayword.datasets.houses import Houses
from wayword.runs import verify as verification
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import UNPROVEN, coverage, verify

pytestmark = pytest.mark.usefixtures("shared_data")
Forge = Callable[["Forger"], None]


class Forger:
    """A copy of a run, its config and records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = json.loads((path / "run.json").read_text(encoding="utf-8"))
        self.episodes: list[dict[str, Any]] = records(path)

    @property
    def identity(self) -> dict[str, Any]:
        identity: dict[str, Any] = self.config["identity"]
        return identity

    def save(self) -> None:
        (self.path / "run.json").write_text(json.dumps(self.config), encoding="utf-8")
        rewrite(self.path, self.episodes)

    def lost(self) -> dict[str, Any]:
        """An episode without success."""
        return next(each for each in self.episodes if not each["scores"]["sr"])

    def won(self) -> dict[str, Any]:
        return next(each for each in self.episodes if each["scores"]["sr"])


def steps_of(episode: dict[str, Any]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = episode["trajectory"]["steps"]
    return steps


def only_solved(f: Forger) -> None:
    f.episodes = [each for each in f.episodes if each["scores"]["sr"]]


def cut_at_best_step(f: Forger) -> None:
    for each in f.episodes:
        del steps_of(each)[2:]
        each["trajectory"]["ended"] = "step_limit"


def cut_and_stopped(f: Forger) -> None:
    episode = f.lost()
    del steps_of(episode)[2:]
    episode["trajectory"]["ended"] = "stopped"


def lower_limit(f: Forger) -> None:
    f.identity["max_steps"] = 3


def higher_limit(f: Forger) -> None:
    f.identity["max_steps"] = 99


def renamed_metric(f: Forger) -> None:
    metrics = {each["key"]: each for each in f.config["metrics"]}
    metrics["ndtw"]["label"] = "SR"


def redefined_metric(f: Forger) -> None:
    f.config["metrics"][0]["doc"] = "the goal is reached"


def swapped_success(f: Forger) -> None:
    f.config["success"] = "osr"


def dropped_metric(f: Forger) -> None:
    f.config["metrics"] = f.config["metrics"][1:]


def other_family(f: Forger) -> None:
    f.config["family"] = "street"


def smaller_split(f: Forger) -> None:
    f.config["episodes_in_split"] = len(f.episodes)


def other_split(f: Forger) -> None:
    f.config["split"] = "r2r:val_unseen"


def other_dataset(f: Forger) -> None:
    f.identity["dataset"] = "towns:test"
    f.identity["dataset_settings"] = {}


def hides_oracle(f: Forger) -> None:
    f.identity["agent"] = "oracle"


def omissions(f: Forger) -> None:
    f.config["left_out"] = {"broken scan": 12}


def score_up(f: Forger) -> None:
    f.lost()["scores"]["sr"] = 1.0


def score_added(f: Forger) -> None:
    f.lost()["scores"]["tc"] = 1.0


def score_removed(f: Forger) -> None:
    del f.lost()["scores"]["ne"]


def step_count(f: Forger) -> None:
    f.won()["scores"]["steps"] = 1


def seconds_down(f: Forger) -> None:
    f.won()["scores"]["seconds"] = 0.0


def cost_down(f: Forger) -> None:
    f.won()["scores"]["cost"] = -1.0


def better_start(f: Forger) -> None:
    episode = f.lost()
    pose = steps_of(episode)[-1]["pose"]
    episode["trajectory"]["start"] = {"agent": pose}


def other_pose(f: Forger) -> None:
    steps_of(f.lost())[-1]["pose"]["viewpoint"] = f.won()["trajectory"]["steps"][-1][
        "pose"
    ]["viewpoint"]


def other_heading(f: Forger) -> None:
    steps_of(f.lost())[0]["pose"]["heading"] = 1.5


def other_observation(f: Forger) -> None:
    steps_of(f.lost())[1]["observation"]["viewpoint"] = "nowhere"


def other_feedback(f: Forger) -> None:
    steps_of(f.lost())[0]["feedback"]["status"] = "blocked"


def other_action(f: Forger) -> None:
    steps_of(f.lost())[0]["decision"]["arguments"] = ["nowhere"]


def other_state(f: Forger) -> None:
    f.lost()["trajectory"]["state"] = f.won()["trajectory"]["state"]


def other_ending(f: Forger) -> None:
    trajectory = f.lost()["trajectory"]
    ended = "stopped" if trajectory["ended"] == "step_limit" else "step_limit"
    trajectory["ended"] = ended


def failed_ending(f: Forger) -> None:
    f.lost()["trajectory"]["ended"] = "failed"


def step_removed(f: Forger) -> None:
    del steps_of(f.lost())[0]


def step_added(f: Forger) -> None:
    steps = steps_of(f.won())
    steps.append(deepcopy(steps[-1]))


def other_actor(f: Forger) -> None:
    steps_of(f.lost())[0]["actor"] = "ghost"


def trajectory_swapped(f: Forger) -> None:
    lost = f.lost()
    won = f.won()
    lost["trajectory"] = deepcopy(won["trajectory"])
    lost["scores"] = dict(won["scores"])


def trajectory_renamed(f: Forger) -> None:
    lost = f.lost()
    trajectory_swapped(f)
    lost["trajectory"]["episode_id"] = lost["episode"]


def foreign_episode(f: Forger) -> None:
    extra = deepcopy(f.won())
    extra["episode"] = "test-s9-r9-0000_0_0"
    extra["trajectory"]["episode_id"] = extra["episode"]
    f.episodes.append(extra)


def second_trial(f: Forger) -> None:
    episode = f.won()
    first = deepcopy(f.lost()["trajectory"])
    episode["trajectory"]["earlier"] = [first]


def second_trial_allowed(f: Forger) -> None:
    f.identity["settings"]["trials"] = 2
    second_trial(f)


def first_removed(f: Forger) -> None:
    f.episodes = f.episodes[1:]


def reordered_by_shuffle(f: Forger) -> None:
    f.identity["shuffle"] = 7


def other_shard(f: Forger) -> None:
    f.identity["shard"] = "2/2"


def easier_data(f: Forger) -> None:
    f.identity["dataset_settings"]["rooms"] = 6


def other_seed_of_data(f: Forger) -> None:
    f.identity["dataset_settings"]["seed"] = 5


def perturbed(f: Forger) -> None:
    f.identity["perturb"] = {"failing": 0.9}


def claims_to_continue(f: Forger) -> None:
    only_solved(f)
    f.episodes.append(Forger(f.path).lost())
    f.identity["continues"] = {"episode": f.won()["episode"], "step": 99, "before": 0}


def hides_oracle_behind_an_actor(f: Forger) -> None:
    f.identity["agent"] = "oracle"
    f.identity["actors"] = {"ghost": {"agent": "random", "settings": {}, "models": {}}}


def checksum_of_data(f: Forger) -> None:
    f.identity["data_checksum"] = "0123456789ab"


REFUSED: dict[Forge, str] = {
    only_solved: "is missing, although later ones of the plan were tried",
    first_removed: "is missing, although later ones of the plan were tried",
    reordered_by_shuffle: "is missing, although later ones of the plan were tried",
    other_shard: "is missing, although later ones of the plan were tried",
    foreign_episode: "is not in the dataset",
    cut_at_best_step: "ends after 2 steps, without a stop and below its limit of 4",
    cut_and_stopped: "ends after 2 steps, without a stop and below its limit of 4",
    lower_limit: "the episode had ended (step_limit)",
    higher_limit: "without a stop and below its limit of 99",
    renamed_metric: "field 'metrics'",
    redefined_metric: "field 'metrics'",
    dropped_metric: "field 'metrics'",
    swapped_success: "field 'success'",
    other_family: "field 'family'",
    smaller_split: "field 'episodes_in_split' is 180",
    other_split: "field 'split'",
    other_dataset: "field 'family'",
    hides_oracle: "field 'sees_answer'",
    omissions: "field 'left_out'",
    score_up: "score 'sr' is 0.0, recorded 1.0",
    score_added: "score 'tc'",
    score_removed: "score 'ne'",
    step_count: "score 'steps'",
    seconds_down: "score 'seconds'",
    cost_down: "score 'cost'",
    better_start: "start of 'agent'",
    other_pose: "the pose differs",
    other_heading: "step 1: the pose differs",
    other_observation: "step 2: the observation differs",
    other_feedback: "step 1: the feedback differs",
    other_action: "step 1: the decision differs",
    other_state: "final state of",
    other_ending: "ends as",
    failed_ending: "recorded as failed",
    step_removed: "differs",
    step_added: "the episode had ended",
    other_actor: "there is no actor 'ghost'",
    trajectory_swapped: "has the trajectory of episode",
    trajectory_renamed: "start of 'agent'",
    second_trial: "has 2 trials, but its settings allow 1",
    second_trial_allowed: "trial 1",
    easier_data: "is not in the dataset",
    other_seed_of_data: "is not in the dataset",
    perturbed: "field 'split'",
    claims_to_continue: "is not the continued one",
    hides_oracle_behind_an_actor: "names 'ghost', which no episode has",
    checksum_of_data: "the data differ from the run's",
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("forgeries") / "run"
    run(Plan("random", "houses", limit=24, max_steps=4, seed=1, out=out))
    scores = [scores["sr"] for _, scores in RunFolder.read(out).scores()]
    assert 0 < sum(scores) < len(scores)
    return out


def differences(path: Path) -> list[str]:
    try:
        return [each for _, each in verify(RunFolder.read(path)) if each]
    except Exception as error:  # noqa: BLE001 - a refusal is an error of ours
        return [f"{type(error).__name__}: {error}"]


def test_an_honest_run_verifies(played: Path) -> None:
    assert differences(played) == []
    sample = "24 of 180 episodes, a random sample (--shuffle 0)"
    assert coverage(RunFolder.read(played)) == sample


@for_each("forge", list(REFUSED), ids=lambda forge: forge.__name__)
def test_a_forgery_is_refused(forge: Forge, played: Path, tmp_path: Path) -> None:
    copy = tmp_path / forge.__name__
    shutil.copytree(played, copy)
    forger = Forger(copy)
    forge(forger)
    forger.save()
    found = differences(copy)
    assert any(REFUSED[forge] in line for line in found), found[:3]


def test_failures_a_shard_and_a_continued_episode_are_named(
    played: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "failed"
    shutil.copytree(played, copy)
    forger = Forger(copy)
    lost = [each for each in forger.episodes if not each["scores"]["sr"]]
    only_solved(forger)
    forger.save()
    reason = {"reason": "the model refused", "trajectory": None}
    rows = [{"episode": each["episode"], **reason} for each in lost]
    rewrite(copy, rows, "failures.jsonl.gz")
    covered = coverage(RunFolder.read(copy))
    assert covered.endswith(
        f"; {len(lost)} of them failed, for reasons that no replay can show"
    )

    shutil.copytree(played, tmp_path / "continued")
    forger = Forger(tmp_path / "continued")
    forger.episodes = [forger.won()]
    forger.identity["continues"] = {
        "episode": forger.won()["episode"],
        "step": 1,
        "before": 0,
    }
    forger.save()
    covered = coverage(RunFolder.read(tmp_path / "continued"))
    assert covered == "1 of 180 episodes, continued from another run"

    out = tmp_path / "shard"
    run(Plan("random", "houses", shard="2/90", max_steps=2, out=out))
    assert coverage(RunFolder.read(out)).endswith(", shard 2/90")


def test_episodes_that_were_chosen_are_no_sample(tmp_path: Path) -> None:
    out = tmp_path / "run"
    names = tuple(f"test-s0-r9-0000_{n}_0" for n in (1, 2))
    chosen = Plan("random", "houses", episodes=names, max_steps=3, out=out)
    run(chosen)
    assert differences(out) == []
    recorded = RunFolder.read(out)
    assert coverage(recorded) == "2 of 180 episodes, chosen one by one"
    assert "chosen one by one" in recorded.config["caveats"]


@for_each(
    "forgery",
    ["who played", "how often it was tried", "ended early", "answers", "cost"],
)
def test_what_no_replay_can_show_is_named(forgery: str) -> None:
    assert forgery in UNPROVEN


HONEST: dict[str, dict[str, Any]] = {
    "shuffled": {"agent": "random", "on": "houses", "shuffle": 3, "limit": 4},
    "shard": {"agent": "random", "on": "houses", "shard": "2/9", "limit": 3},
    "perturbed": {
        "agent": "random", "on": "houses", "limit": 2, "settings": {"perturb": {"failing": 0.3}},
    },
    "two actors": {"agent": "team", "on": "ma_household", "limit": 1, "max_steps": 12},
    "oracle": {"agent": "oracle", "on": "towns", "limit": 2},
    "other actor's agent": {
        "agent": "random", "on": "ma_household", "limit": 1, "max_steps": 5,
        "actors": {"commander": "team"},
    },
    "trials": {
        "agent": "reflexion", "on": "houses", "limit": 2, "max_steps": 3,
        "model": "scripted:noise", "settings": {"trials": 3},
    },
}  # fmt: skip


@for_each("name", list(HONEST))
def test_honest_runs_of_every_kind_verify(name: str, tmp_path: Path) -> None:
    out = tmp_path / name.replace(" ", "-")
    result = run(Plan(**HONEST[name], out=out))
    assert result.outcome.complete
    assert differences(out) == []


def test_a_continued_episode_verifies_even_under_a_lower_limit(
    played: Path, tmp_path: Path
) -> None:
    episode = Forger(played).lost()["episode"]
    plan = Plan(
        "random",
        "",
        continues=f"{played}:{episode}:4",
        max_steps=2,
        out=tmp_path / "on",
    )
    run(plan)
    assert differences(tmp_path / "on") == []


def test_turns_in_another_order_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(Plan("random", "ma_household", limit=1, max_steps=3, out=out))
    forger = Forger(out)
    steps = steps_of(forger.episodes[0])
    actors = [step["actor"] for step in steps]
    assert len(set(actors)) == 2
    steps[0], steps[1] = steps[1], steps[0]
    forger.save()
    assert differences(out) == [f"step 1: it was the turn of {actors[0]!r}"]


def test_verdicts_of_trials_are_judged_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    plan = Plan(
        "reflexion", "houses", "scripted:noise", {"trials": 3, "verdict": "judge"}, limit=3,
        max_steps=3, out=out,
    )  # fmt: skip
    run(plan)
    assert differences(out) == []
    forger = Forger(out)
    tried = next(each for each in forger.episodes if each["trajectory"].get("earlier"))
    first = tried["trajectory"]["earlier"][0]
    first["verdict"]["succeeded"] = True
    forger.save()
    assert "trial 1: its verdict is False, recorded as True" in differences(out)
    del first["verdict"]
    forger.save()
    assert "trial 1: was played again without a verdict" in differences(out)


def test_caveats_of_the_dataset_cannot_be_left_out(
    played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    houses = registry.load("dataset", "houses")
    monkeypatch.setattr(houses, "caveats", ("walls are inferred",))
    assert differences(played) == [
        "run.json: field 'caveats' lacks 'walls are inferred'"
    ]


def test_a_failed_episode_is_part_of_the_set(played: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(played, copy)
    forger = Forger(copy)
    (first, *forger.episodes) = forger.episodes
    forger.save()
    assert any("is missing" in line for line in differences(copy))
    failure = {"episode": first["episode"], "reason": "out of memory"}
    rewrite(copy, [failure], "failures.jsonl.gz")
    assert differences(copy) == []
    # A gap among the last ones is one, however many of the others failed.
    (gap,) = forger.episodes[-2:-1]
    forger.episodes = [forger.episodes[-1]]
    forger.save()
    failed = [each["episode"] for each in records(played)]
    failed.remove(gap["episode"])
    rows = [{**failure, "episode": name} for name in failed]
    rewrite(copy, rows, "failures.jsonl.gz")
    assert any(f"{gap['episode']!r} is missing" in line for line in differences(copy))


def test_a_prompt_may_keep_pictures_of_its_own_actor_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead: list[str] = []

    class Drawn:
        def __init__(self, *_: object) -> None:
            pass

        def hashes(self) -> list[str]:
            return ahead

        turning = in_parts = lambda self: self

    monkeypatch.setattr(verification, "Eyes", Drawn)
    replay: Any = object.__new__(verification._Replay)
    replay._dataset = SimpleNamespace(eyes=object(), painter=object)
    looked: dict[str, set[str]] = {}

    def difference(actor: str, *pixels: str) -> str:
        step = SimpleNamespace(actor=actor, calls=[SimpleNamespace(pixels=pixels)])
        game = SimpleNamespace(world=None)
        return replay._pictures_difference(game, step, looked)

    ahead[:] = ["door"]
    assert difference("one", "door") == ""
    ahead[:] = ["wall"]
    assert difference("two", "door", "wall") == "the pictures differ"
    assert difference("one", "door", "wall") == ""
    assert difference("one", "door", "window") == "the pictures differ"
    assert difference("one") == ""
    replay._dataset.eyes = None  # of a run in words, a hash proves nothing
    assert difference("one", "window") == ""


def test_a_run_with_a_robot_is_never_replayed(played: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(played, copy)
    forger = Forger(copy)
    forger.identity["dataset"] = "robot:live"
    forger.identity["dataset_settings"] = {"target": "mug", "url": "ws://127.0.0.1:9/"}
    forger.episodes = forger.episodes[:1]
    forger.episodes[0]["episode"] = "mug"
    forger.episodes[0]["trajectory"]["episode_id"] = "mug"
    forger.save()
    expected = "cannot be replayed: a run with a robot cannot be replayed"
    assert any(line.startswith(expected) for line in differences(copy))


# A truth value is no number, although Python's True equals 1.


def truths(value: Any) -> Any:
    """A copy with the first 0 or 1 as false or true; None if it has none."""
    items: Any = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, inner in items:
        if not isinstance(inner, bool) and inner in (0, 1):
            changed = bool(inner)
        else:
            changed = truths(inner)
        if changed is not None:
            copy = deepcopy(value)
            copy[key] = changed
            return copy
    return None


def test_true_and_false_are_no_numbers_of_a_record(
    played: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(played, copy)
    original = Forger(copy).won()
    refused = set()
    for field in ("observation", "feedback", "pose"):
        for number, step in enumerate(original["trajectory"]["steps"], 1):
            changed = truths(step[field])
            if changed is None or field in refused:
                continue
            refused.add(field)
            forger = Forger(copy)
            won = forger.won()
            steps_of(won)[number - 1][field] = changed
            forger.save()
            assert f"step {number}: the {field} differs" in differences(copy)
            steps_of(won)[number - 1][field] = step[field]
            forger.save()
    assert {"observation", "feedback"} <= refused
    forger = Forger(copy)
    forger.won()["scores"]["sr"] = True
    forger.save()
    (line,) = differences(copy)
    assert "field 'scores' has invalid values ('sr': True)" in line


def test_a_duration_of_true_is_no_trajectory(played: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(played, copy)
    forger = Forger(copy)
    forger.won()["trajectory"]["seconds"] = True
    forger.save()
    (line,) = differences(copy)
    assert "True is of another type" in line


@pytest.mark.parametrize("lacking", ["", "one", "two", "three"])
def test_each_caveat_of_the_data_must_be_in_the_record(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    caveats = ("one", "two", "three")
    monkeypatch.setattr(Houses, "caveats", caveats)
    shutil.copytree(played, tmp_path / "copy")
    forger = Forger(tmp_path / "copy")
    kept = [each for each in caveats if each != lacking]
    forger.config["caveats"] = [*forger.config["caveats"], *kept]
    forger.save()
    found = [line for line in differences(tmp_path / "copy") if "caveats" in line]
    expected = [f"run.json: field 'caveats' lacks {lacking!r}"] * bool(lacking)
    assert found == expected


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5])
def test_an_honest_episode_verifies_from_whichever_step_it_was_continued(
    played: Path, tmp_path: Path, step: int
) -> None:
    shutil.copytree(played, tmp_path / "copy")
    forger = Forger(tmp_path / "copy")
    forger.episodes = [max(forger.episodes, key=lambda each: len(steps_of(each)))]
    name = forger.episodes[0]["episode"]
    forger.identity["continues"] = {"episode": name, "step": step, "before": 0}
    forger.save()
    assert differences(tmp_path / "copy") == []
