"""Cards that were changed so that a player looks better: none of them is verified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.looping import for_each
from helpers.records import records, rewrite
from wayword.bench import ladders, scorecard
from wayword.bench.verify import check_card
from wayword.cli.app import app
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run as play

SALT = "a private salt"
Forge = Callable[[Path], None]


def bench(out: Path, *options: str) -> Path:
    words = [
        "bench",
        "--agent",
        "random",
        "--quick",
        "--tracks",
        "follow",
        "--out",
        str(out),
    ]
    done = CliRunner().invoke(app, [*words, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return out


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bench(tmp_path_factory.mktemp("public") / "card", "--robust")


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bench(tmp_path_factory.mktemp("private") / "card", "--salt", SALT)


def card_of(folder: Path) -> dict[str, Any]:
    return scorecard.read_stored(folder / ladders.CARD)


def reason_of(folder: Path, *salts: str) -> str:
    return check_card(folder, card_of(folder), salts=salts).reason


def recomputed(folder: Path) -> None:
    """Write the card that the changed runs give."""
    scorecard.write_card(folder, scorecard.read_card(folder))


def changed(folder: Path, **fields: Any) -> None:
    scorecard.write_card(folder, {**card_of(folder), **fields})


def identity_changed(run: Path, **fields: Any) -> None:
    config = json.loads((run / "run.json").read_text())
    config["identity"] |= fields
    (run / "run.json").write_text(json.dumps(config))


LEVELS = ("follow/004", "follow/008", "follow/016")


def solved_only(folder: Path) -> None:
    for name in LEVELS:
        won = [each for each in records(folder / name) if each["scores"]["sdtw"] >= 0.5]
        rewrite(folder / name, won or records(folder / name)[:1])
    recomputed(folder)


def one_lost_episode_removed(folder: Path) -> None:
    rewrite(folder / LEVELS[1], records(folder / LEVELS[1])[1:])
    recomputed(folder)


def last_episode_removed(folder: Path) -> None:
    rewrite(folder / LEVELS[0], records(folder / LEVELS[0])[:-1])
    recomputed(folder)


def level_removed(folder: Path) -> None:
    shutil.rmtree(folder / LEVELS[0])
    recomputed(folder)


def level_copied(folder: Path) -> None:
    shutil.rmtree(folder / LEVELS[2])
    shutil.copytree(folder / LEVELS[0], folder / LEVELS[2])
    recomputed(folder)


def private_for_show(folder: Path) -> None:
    for name in LEVELS[1:]:
        shutil.rmtree(folder / name)
        shutil.copytree(folder / LEVELS[0], folder / name)
    changed(folder, private=True)
    recomputed(folder)


def private_with_the_public_episodes(folder: Path) -> None:
    changed(folder, private=True)


def score_of_a_level(folder: Path) -> None:
    first, *others = records(folder / LEVELS[0])
    first["scores"]["sdtw"] = 1.0
    rewrite(folder / LEVELS[0], [first, *others])
    recomputed(folder)


def replay(folder: Path, **other: Any) -> None:
    """Play the first level again, with another option than the plan's."""
    shutil.rmtree(folder / LEVELS[0])
    plan = _plan(LEVELS[0], folder)
    given = {"settings": plan.settings, "limit": 8, "first": True, "out": plan.out}
    play(Plan("random", plan.on, **given, **other))
    recomputed(folder)


def longer_limit(folder: Path) -> None:
    replay(folder, max_steps=99)


def other_seed(folder: Path) -> None:
    replay(folder, seed=3)


def oracle_plays_a_level(folder: Path) -> None:
    shutil.rmtree(folder / LEVELS[2])
    plan = _plan(LEVELS[2], folder)
    play(
        Plan("gold", plan.on, settings=plan.settings, limit=8, first=True, out=plan.out)
    )
    recomputed(folder)


def oracle_renamed(folder: Path) -> None:
    oracle_plays_a_level(folder)
    first = json.loads((folder / LEVELS[0] / "run.json").read_text())["identity"]
    identity_changed(folder / LEVELS[2], agent="random", settings=first["settings"])


def model_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], models={"main": "openai:other"})


def identity_of_one_level(folder: Path) -> None:
    identity_changed(
        folder / LEVELS[1], model_identity={"main": "another quantization"}
    )


def prompts_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], prompts_checksum="0" * 64)


def code_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], agent_checksum="0" * 64)


def actors_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], actors={"partner": {"agent": "gold"}})


def shard_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], shard="1/2")


def order_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], shuffle=7)


def memory_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], remember="scene")


def version_of_one_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], wayword="9.9.9")


def perturbed_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], perturb={"typos": 0.0})


def perceiver_of_a_level(folder: Path) -> None:
    identity_changed(folder / LEVELS[1], perceiver={"name": "./evil.py"})


def robust_run_missing(folder: Path) -> None:
    shutil.rmtree(folder / "robust" / "doors")
    recomputed(folder)


def robust_without_perturbation(folder: Path) -> None:
    target = folder / "robust" / "typos" / "follow"
    shutil.rmtree(target)
    shutil.copytree(folder / "follow" / "008", target)
    recomputed(folder)


def robust_episodes_removed(folder: Path) -> None:
    target = folder / "robust" / "orders" / "follow"
    rewrite(target, records(target)[2:])
    recomputed(folder)


def robust_score(folder: Path) -> None:
    target = folder / "robust" / "failing" / "follow"
    first, *others = records(target)
    first["scores"]["sdtw"] = 1.0
    rewrite(target, [first, *others])
    recomputed(folder)


def other_agent(folder: Path) -> None:
    changed(folder, agent="react")


def other_model(folder: Path) -> None:
    changed(folder, model="openai:gpt-9")


def settings_of_others(folder: Path) -> None:
    changed(folder, settings={"perceiver": "./evil.py"})


def full_bench(folder: Path) -> None:
    changed(folder, quick=False)


def longer_levels(folder: Path) -> None:
    card = card_of(folder)
    card["tracks"]["follow"]["lengths"] = [40, 80, 160]
    scorecard.write_card(folder, card)


def other_unit(folder: Path) -> None:
    card = card_of(folder)
    card["tracks"]["follow"]["unit"] = "miles"
    scorecard.write_card(folder, card)


def success_up(folder: Path) -> None:
    changed(folder, success=[1.0, 1.0, 1.0])


def horizon_up(folder: Path) -> None:
    card = card_of(folder)
    card["tracks"]["follow"]["h50"] = ["> 64", "> 64", "> 64"]
    scorecard.write_card(folder, card)


def tokens_down(folder: Path) -> None:
    changed(folder, tokens=-1)


def no_robust_loss(folder: Path) -> None:
    card = card_of(folder)
    card["robust"][0]["loss"] = [-1.0, -1.0, -1.0]
    scorecard.write_card(folder, card)


def more_episodes(folder: Path) -> None:
    plan = _plan(LEVELS[0], folder)
    play(
        Plan(
            "random",
            plan.on,
            settings=plan.settings,
            limit=12,
            first=True,
            out=plan.out,
        )
    )
    recomputed(folder)


def failure_outside_the_sample(folder: Path) -> None:
    with RunFolder.open(
        folder / LEVELS[0], RunFolder.read(folder / LEVELS[0]).config
    ) as run:
        run.fail("test-s9-r9-0000_0_0", "a failure")
    recomputed(folder)


def failure_instead_of_an_episode(folder: Path) -> None:
    run = folder / LEVELS[0]
    rewrite(run, records(run)[1:])
    rewrite(run, [{"episode": "another", "reason": "x"}], "failures.jsonl.gz")
    recomputed(folder)


def _plan(level: str, folder: Path) -> Plan:
    entry = scorecard.recorded_entry(folder, card_of(folder))
    plans = dict(entry.plans(entry.chosen()[0]))
    return plans[int(level.rpartition("/")[2])]


def version_of_the_card(folder: Path) -> None:
    changed(folder, wayword="9.9.9")


REFUSED: dict[Forge, str] = {
    version_of_the_card: "is of another version of wayword than the card",
    more_episodes: "is not of the plan",
    failure_outside_the_sample: "is not of the plan",
    failure_instead_of_an_episode: "is missing",
    solved_only: "is missing",
    one_lost_episode_removed: "is missing",
    last_episode_removed: "is missing",
    level_removed: "follow/004 is missing",
    level_copied: "'dataset_settings.length' is 4, expected 16",
    private_for_show: "private twin; give its salt",
    private_with_the_public_episodes: "private twin; give its salt",
    score_of_a_level: "score 'sdtw'",
    longer_limit: "'max_steps' is 99, expected 12",
    other_seed: "'seed' is 3, expected 0",
    oracle_plays_a_level: "'agent' is 'gold', expected 'random'",
    oracle_renamed: "field 'sees_answer'",
    model_of_one_level: "'models.main'",
    identity_of_one_level: "another 'model_identity'",
    prompts_of_one_level: "another 'prompts_checksum'",
    code_of_one_level: "another 'agent_checksum'",
    actors_of_one_level: "'actors",
    shard_of_one_level: "'shard'",
    order_of_one_level: "'shuffle'",
    memory_of_one_level: "'remember'",
    version_of_one_level: "another 'wayword'",
    perturbed_level: "'perturb.typos'",
    perceiver_of_a_level: "'perceiver.name'",
    robust_run_missing: "robust/doors/follow is missing",
    robust_without_perturbation: "robust/typos/follow is not the version's: 'perturb.typos'",
    robust_episodes_removed: "robust/orders/follow: episode",
    robust_score: "score 'sdtw'",
    other_agent: "its runs cannot be replayed",
    other_model: "'models.main'",
    settings_of_others: "its settings have the group 'perceiver'",
    full_bench: "its tracks is not",
    longer_levels: "its tracks is not",
    other_unit: "its tracks is not",
    success_up: "its numbers are not those of its runs",
    horizon_up: "its numbers are not those of its runs",
    tokens_down: "its numbers are not those of its runs",
    no_robust_loss: "its numbers are not those of its runs",
}


def test_honest_cards_are_verified(public: Path, private: Path) -> None:
    assert reason_of(public) == ""
    assert reason_of(private, "another", SALT) == ""


def test_a_private_twin_is_verified_only_with_its_salt(
    private: Path, tmp_path: Path
) -> None:
    assert reason_of(private) == "it is a private twin; give its salt with --salt"
    assert reason_of(private, "another").endswith("--salt")
    copy = tmp_path / "card"
    shutil.copytree(private, copy)
    level_copied(copy)
    assert "'dataset_settings.length'" in reason_of(copy, SALT)
    changed(copy, private=False)
    assert "'dataset_settings.seed'" in reason_of(copy, SALT)


def test_a_failed_episode_counts_as_tried_and_lost(
    public: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "card"
    shutil.copytree(public, copy)
    run = copy / LEVELS[0]
    first, *others = records(run)
    rewrite(run, others)
    name = first["episode"]
    rewrite(
        run, [{"episode": name, "reason": "out of memory"}] * 2, "failures.jsonl.gz"
    )
    track = scorecard.recorded_entry(copy, card_of(copy)).chosen()[0]
    outcomes = {
        name: won
        for level, name, won, _ in scorecard.outcomes(copy, track)
        if not level
    }
    assert len(outcomes) == len(others) + 1
    assert outcomes[name] is False
    level = scorecard.read_card(copy)["tracks"]["follow"]["levels"][0]
    assert level["episodes"] == len(others) + 1


@pytest.mark.parametrize("forge", [longer_levels, other_unit])
def test_lengths_and_units_of_a_card_are_those_of_the_bench(
    forge: Forge, public: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "card"
    shutil.copytree(public, copy)
    before = scorecard.read_card(copy)["tracks"]
    forge(copy)
    assert scorecard.read_card(copy)["tracks"] == before


def test_a_card_counts_the_cost_of_its_levels_and_of_perturbed_runs(
    public: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "card"
    shutil.copytree(public, copy)

    def total(run: str) -> tuple[int, float]:
        """The card's cost after each episode of a run cost 7 tokens and a dollar more."""
        rows = records(copy / run)
        for row in rows:
            row["scores"] |= {"prompt_tokens": 5, "completion_tokens": 2, "cost": 1.0}
        rewrite(copy / run, rows)
        card = scorecard.read_card(copy)
        return card["tokens"], card["dollars"]

    assert total(LEVELS[0]) == (8 * 7, 8.0)
    assert total("robust/typos/follow") == (16 * 7, 16.0)


@for_each("forge", list(REFUSED), ids=lambda forge: forge.__name__)
def test_a_forged_card_is_not_verified(
    forge: Forge, public: Path, tmp_path: Path
) -> None:
    copy = tmp_path / forge.__name__
    shutil.copytree(public, copy)
    forge(copy)
    assert REFUSED[forge] in reason_of(copy)
