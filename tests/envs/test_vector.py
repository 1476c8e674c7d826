"""Vector environments: shared datasets, seeds of their own, resets after an end."""

from __future__ import annotations

import pytest

from wayword.core.errors import UsageError
from wayword.envs import make
from wayword.envs.vector import SyncVector, WorkerVector


def test_each_has_a_seed_of_its_own_and_all_share_a_dataset() -> None:
    envs = SyncVector("two_phase", 3)
    seen, infos = envs.reset(seed=4)
    alone = make("two_phase")
    assert [alone.reset(seed=4 + number)[0] for number in range(3)] == seen
    assert len({id(env.dataset) for env in envs.envs}) == 1
    assert len(infos) == 3


def test_the_step_after_an_end_resets() -> None:
    envs = SyncVector("two_phase", 2)
    envs.reset(seed=0)
    _, _, ended, _, _ = envs.step(["stop", "go[hallway]"])
    assert ended == [True, False]
    seen, rewards, ended, _, infos = envs.step(["ignored", "stop"])
    assert rewards[0] == 0.0
    assert ended == [False, True]
    assert infos[0]["steps"] == 0
    assert seen[0].startswith("Task:")


def test_the_same_step_may_reset_and_keeps_the_last() -> None:
    envs = SyncVector("two_phase", 1, autoreset="same")
    envs.reset(seed=0)
    seen, _, ended, _, infos = envs.step(["stop"])
    assert ended == [True]
    assert seen[0].startswith("Task:")
    assert infos[0]["final_info"]["steps"] == 1


def test_nobody_may_reset() -> None:
    envs = SyncVector("two_phase", 1, autoreset="off")
    envs.reset()
    envs.step(["stop"])
    with pytest.raises(UsageError, match="the episode is over"):
        envs.step(["stop"])


@pytest.mark.parametrize("helps", [True, False])
def test_workers_do_what_one_process_does(helps: bool) -> None:
    plain = SyncVector("two_phase", 3)
    said = [["go[hallway]"] * 3, ["stop"] * 3, ["ignored"] * 3]
    with WorkerVector(
        "two_phase", 3, workers=2, helps=helps, include=("expert_action",)
    ) as workers:
        assert len(workers._processes) == 2 - helps
        seen, infos = workers.reset(seed=1)
        mine, own = plain.reset(seed=1)
        assert seen == mine
        assert [info["expert_action"] for info in infos] == ["go[hallway]"] * 3
        for words in said:
            assert workers.step(words)[:4] == plain.step(words)[:4]
        assert "rules" not in infos[0]
        assert own[0]["episode"] == infos[0]["episode"]


def test_without_a_seed_no_two_play_the_same_episode() -> None:
    names = [task.episode.id for task in SyncVector("two_phase", 1).envs[0].tasks]
    plain = SyncVector("two_phase", 3, autoreset="same")
    with WorkerVector("two_phase", 3, workers=2, autoreset="same") as workers:
        for envs in (plain, workers):
            begun = [info["episode"] for info in envs.reset()[1]]
            then = [info["episode"] for info in envs.step(["stop"] * 3)[4]]
            assert begun + then == names[:6]


def test_a_step_can_be_handed_out_and_fetched_later() -> None:
    plain = SyncVector("two_phase", 3)
    with WorkerVector("two_phase", 3, workers=2, helps=False) as workers:
        with pytest.raises(UsageError, match="call step_async"):
            workers.step_wait()
        assert workers.reset(seed=1)[0] == plain.reset(seed=1)[0]
        workers.step_async(["go[hallway]"] * 3)
        for again in (workers.reset, lambda: workers.step(["stop"] * 3)):
            with pytest.raises(UsageError, match="call step_wait"):
                again()
        assert workers.step_wait()[:4] == plain.step(["go[hallway]"] * 3)[:4]


def test_a_worker_that_died_is_told() -> None:
    with WorkerVector("two_phase", 2, workers=2) as workers:
        workers.reset(seed=0)
        workers._processes[0].kill()
        workers._processes[0].join()
        with pytest.raises(UsageError, match="a worker has died"):
            workers.step(["stop"] * 2)
        with pytest.raises(UsageError, match="the workers were closed"):
            workers.reset()


@pytest.mark.parametrize("helps", [True, False])
def test_an_error_in_a_worker_comes_back_as_one_line(helps: bool) -> None:
    with (
        WorkerVector("two_phase", 2, workers=2, helps=helps, autoreset="off") as workers,
        pytest.raises(UsageError, match=r"call reset\(\)"),
    ):
        workers.step(["stop", "stop"])


@pytest.mark.parametrize(("count", "workers"), [(0, 1), (2, 3)])
def test_numbers_that_make_no_sense_are_refused(count: int, workers: int) -> None:
    with pytest.raises(UsageError):
        WorkerVector("two_phase", count, workers=workers)
