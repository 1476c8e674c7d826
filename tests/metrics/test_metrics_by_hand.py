"""Indoor metrics on awkward walks, each value worked out by hand.

The flat (metres): A -4- B -4- C -2- D -6- E in a row, X 3 m off B, and U cut off. Unless a test
says otherwise the reference is A B C D: length and shortest way 10, goal D.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, isnan
from typing import Any

import pytest
from tests.helpers.metric_keys import OF_OBJECTS, RARE, columns

from wayword.core.action import Rejection
from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import DataError, UsageError
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Family, Feedback
from wayword.metrics.predictions import trajectory_from_places
from wayword.metrics.scoring import score, scorer

Score = Callable[..., dict[str, float]]


@pytest.fixture
def walk(split: Callable[..., Any]) -> Score:
    """``walk("ABC", gold="ABCD")``: the family's metrics of one walk."""

    def judge(places: str, gold: str = "ABCD") -> dict[str, float]:
        dataset = split(("1_0", gold))
        trajectory = trajectory_from_places("1_0", list(places), "viewpoint")
        found: list[dict[str, float]] = scorer("indoor").score(
            dataset, [(dataset.tasks[0], trajectory)]
        )
        return found[0]

    return judge


def test_the_reference_itself_is_perfect(walk: Score) -> None:
    found = walk("ABCD")
    perfect = {
        "sr": 1,
        "spl": 1,
        "spl_gold": 1,
        "osr": 1,
        "ndtw": 1,
        "sdtw": 1,
        "cls": 1,
    }
    assert found == pytest.approx({**perfect, "ne": 0, "tl": 10})


def test_a_loop_costs_length_and_order(walk: Score) -> None:
    # A B C B A B C D: 4+4+4+4+4+4+2 = 26 m. SPL = 10 / 26.
    # DTW: the reference waits at B while the walk goes C (4 m off), B, A (4 m off), B: 8 m.
    # CLS: every reference place is visited, coverage 1, expected length 10: 10 / (10 + 16).
    found = walk("ABCBABCD")
    assert found["tl"] == pytest.approx(26)
    assert found["spl"] == pytest.approx(10 / 26)
    assert found["ndtw"] == found["sdtw"] == pytest.approx(exp(-8 / (3 * 4)))
    assert found["cls"] == pytest.approx(10 / 26)


def test_an_early_stop_outside_three_metres_fails(walk: Score) -> None:
    # A B: 4 m; D is 6 m away, and no place was nearer: SR = OSR = 0.
    # DTW: A-A 0, B-B 0, B-C 4, B-D 6 = 10.
    # CLS: nearest places at 0, 0, 4, 6 m; coverage c = (2 + e^-4/3 + e^-2) / 4; expected 10 c.
    found = walk("AB")
    assert (found["sr"], found["osr"], found["spl"], found["sdtw"]) == (0, 0, 0, 0)
    assert (found["ne"], found["tl"]) == pytest.approx((6, 4))
    assert found["ndtw"] == pytest.approx(exp(-10 / 12))
    coverage = (2 + exp(-4 / 3) + exp(-2)) / 4
    expected = 10 * coverage  # 6.49 m, more than the 4 m walked
    assert found["cls"] == pytest.approx(
        coverage * expected / (expected + expected - 4)
    )


def test_an_early_stop_within_three_metres_succeeds_and_gains_no_length(
    walk: Score,
) -> None:
    # A B C: 8 m, 2 m short of D. SPL = 10 / max(8, 10) = 1, not 10 / 8.
    # DTW: 0 + 0 + 0 and then C-D 2.
    found = walk("ABC")
    assert (found["sr"], found["spl"], found["osr"]) == (1, 1, 1)
    assert (found["ne"], found["tl"]) == pytest.approx((2, 8))
    assert found["sdtw"] == pytest.approx(exp(-2 / 12))


def test_passing_by_the_goal_is_an_oracle_success_only(walk: Score) -> None:
    # A B C D E: 16 m, ends 6 m behind D. DTW: E-D 6. CLS: coverage 1, 10 / (10 + 6).
    found = walk("ABCDE")
    assert (found["sr"], found["osr"], found["spl"], found["sdtw"]) == (0, 1, 0, 0)
    assert (found["ne"], found["tl"]) == pytest.approx((6, 16))
    assert found["ndtw"] == pytest.approx(exp(-6 / 12))
    assert found["cls"] == pytest.approx(10 / 16)


def test_a_detour_succeeds_at_a_price(walk: Score) -> None:
    # A B X B C D: 4+3+3+4+2 = 16 m. DTW: X-B 3. CLS: 10 / (10 + 6).
    found = walk("ABXBCD")
    assert found["sr"] == 1
    assert found["spl"] == pytest.approx(10 / 16)
    assert found["ndtw"] == pytest.approx(exp(-3 / 12))
    assert found["cls"] == pytest.approx(10 / 16)


def test_exactly_three_metres_is_too_far(walk: Score) -> None:
    # The goal X is 3 m from B: "less than 3 m" fails, at the end and on the way.
    found = walk("AB", gold="ABX")
    assert (found["ne"], found["sr"], found["osr"]) == (3, 0, 0)


def test_the_start_counts_for_oracle_success(walk: Score) -> None:
    # Reference C D, walk C B A: the start C is 2 m from D, the end 10 m.
    found = walk("CBA", gold="CD")
    assert (found["sr"], found["osr"]) == (0, 1)
    assert found["ne"] == pytest.approx(10)


def test_start_is_goal_and_the_agent_stays(walk: Score) -> None:
    # g = TL = 0: nothing to walk and nothing walked is as short as can be.
    found = walk("A", gold="A")
    perfect = {
        "sr": 1,
        "spl": 1,
        "spl_gold": 1,
        "osr": 1,
        "ndtw": 1,
        "sdtw": 1,
        "cls": 1,
    }
    assert found == pytest.approx({**perfect, "ne": 0, "tl": 0})


def test_start_is_goal_and_the_agent_wanders_off_and_back(walk: Score) -> None:
    # A B A: SPL = 0 / max(8, 0) = 0. DTW: B-A 4, one reference place: exp(-4 / 3).
    # CLS: coverage 1, expected length 0: 0 / (0 + 8) = 0.
    found = walk("ABA", gold="A")
    assert (found["sr"], found["spl"], found["cls"]) == (1, 0, 0)
    assert found["ndtw"] == pytest.approx(exp(-4 / 3))


def test_a_round_trip_ends_where_it_starts(walk: Score) -> None:
    # Reference A B A (8 m), the agent stays at A. DTW: 0 + 4 + 0 over 3 places.
    # CLS: c = (2 + e^-4/3) / 3, expected 8 c, nothing walked: 8c / (8c + 8c) = 1 / 2.
    found = walk("A", gold="ABA")
    assert (found["sr"], found["spl"]) == (1, 1)
    assert found["ndtw"] == pytest.approx(exp(-4 / 9))
    assert found["cls"] == pytest.approx((2 + exp(-4 / 3)) / 3 / 2)


def test_a_place_without_a_way_scores_nothing_and_no_nan(walk: Score) -> None:
    found = walk("ABU")
    assert (found["ne"], found["tl"]) == (inf, inf)
    assert [found[key] for key in ("sr", "osr", "spl", "ndtw", "sdtw", "cls")] == [
        0
    ] * 6
    assert not any(isnan(value) for value in walk("U").values())


def test_the_datasets_own_shortest_length_wins(split: Callable[..., Any]) -> None:
    # TL 26, g given as 13: SPL = 13 / 26.
    dataset = split()
    episode = Episode("1", "", "flat", {"viewpoint": "A"})
    task = Task(episode, PathReference("1", tuple("ABCD"), shortest=13.0))
    loop = trajectory_from_places("1", list("ABCBABCD"), "viewpoint")
    assert scorer("indoor").score(dataset, [(task, loop)])[0]["spl"] == pytest.approx(
        0.5
    )


def test_a_rejected_answer_is_no_place_of_the_path(split: Callable[..., Any]) -> None:
    # The same walk with an answer rejected at B: the same scores, and one rejection in 4 steps.
    dataset = split(("1_0", "ABCD"), ("1_1", "ABCD"))
    plain = trajectory_from_places("1_0", list("ABX"), "viewpoint")
    stumbling = trajectory_from_places("1_1", list("ABX"), "viewpoint")
    rejection = Rejection("unknown", "there is no such viewpoint", "Q")
    where = {"viewpoint": "B"}
    stumbling.steps.insert(1, Step("agent", {}, rejection, Feedback("rejected"), where))
    first, second = score(
        dataset, list(zip(dataset.tasks, (plain, stumbling), strict=True))
    )
    keys = {metric.key for metric in scorer("indoor").metrics} - OF_OBJECTS
    assert [first[key] for key in keys] == [second[key] for key in keys]
    assert (second["steps"], second["rejections"]) == (3, 1)
    assert second["rejection_rate"] == pytest.approx(1 / 3)
    assert (
        set(second) == {metric.key for metric in columns("indoor")} - RARE - OF_OBJECTS
    )


def test_an_episode_that_failed_before_it_began_never_left_its_start(
    split: Callable[..., Any],
) -> None:
    dataset = split(("1_0", "ABCD"))
    failed = Trajectory("1_0", start={}, ended="failed", error="the world fell over")
    found = scorer("indoor").score(dataset, [(dataset.tasks[0], failed)])[0]
    assert (found["sr"], found["tl"], found["ne"]) == (0, 0, 10)


def test_an_episode_whose_answer_is_not_public_gets_no_family_metrics(
    split: Callable[..., Any],
) -> None:
    dataset = split(("1_0", "ABCD"))
    hidden = Task(dataset.tasks[0].episode, Reference("1_0"))
    walked = trajectory_from_places("1_0", list("ABCD"), "viewpoint")
    found = scorer("indoor").score(
        dataset, [(hidden, walked), (dataset.tasks[0], walked)]
    )
    assert found[0] == {}
    assert found[1]["sr"] == 1


def test_a_viewpoint_of_another_scan_is_named(split: Callable[..., Any]) -> None:
    dataset = split(("1_0", "ABCD"))
    lost = trajectory_from_places("1_0", ["A", "Q"], "viewpoint")
    with pytest.raises(
        DataError, match="flat: episode 1_0, path: 'Q' is not in this scan's graph"
    ):
        scorer("indoor").score(dataset, [(dataset.tasks[0], lost)])


def test_walks_scored_together_get_the_numbers_of_each(
    split: Callable[..., Any],
) -> None:
    """Walks of several lengths, with stays, each starting where the one before it ended.

    * A A B B C D for A B C D: 10 m, at the goal.
    * D E for D C: 6 m, and C is 8 m back; D was 2 m from it. DTW 0 + 8.
    * E for E D: no move, 6 m short. DTW 0 + 6.
    * X B A A B for X B: 11 m where 3 would do. DTW 0 + 0 + 4 + 0.
    """
    walked = ("AABBCD", "DE", "E", "XBAAB")
    dataset = split(("1_0", "ABCD"), ("2_0", "DC"), ("3_0", "ED"), ("4_0", "XB"))
    walks = [
        trajectory_from_places("x", list(places), "viewpoint") for places in walked
    ]
    found = scorer("indoor").score(
        dataset, list(zip(dataset.tasks, walks, strict=True))
    )
    texts_by_key = {key: [one[key] for one in found] for key in found[0]}
    assert (texts_by_key["sr"], texts_by_key["osr"]) == ([1, 0, 0, 1], [1, 1, 0, 1])
    assert (texts_by_key["tl"], texts_by_key["ne"]) == ([10, 6, 0, 11], [0, 8, 6, 0])
    assert texts_by_key["spl"] == pytest.approx([1, 0, 0, 3 / 11])
    assert texts_by_key["ndtw"] == pytest.approx(
        [1, exp(-8 / 6), exp(-6 / 6), exp(-4 / 6)]
    )


def test_a_viewpoint_of_another_scan_is_named_in_company_too(
    split: Callable[..., Any],
) -> None:
    dataset = split(("1_0", "ABCD"), ("2_0", "ABCD"))
    walks = [
        trajectory_from_places("x", list(places), "viewpoint")
        for places in ("ABCD", "AQB")
    ]
    pairs = list(zip(dataset.tasks, walks, strict=True))
    with pytest.raises(
        DataError, match="flat: episode 2_0, path: 'Q' is not in this scan's graph"
    ):
        scorer("indoor").score(dataset, pairs)


def test_steps_of_others_are_no_part_of_the_walk(split: Callable[..., Any]) -> None:
    dataset = split(("1_0", "ABCD"))
    guided = trajectory_from_places("1_0", list("ABCD"), "viewpoint")
    step = Step("guide", {}, guided.steps[0].decision, Feedback(), {"viewpoint": "X"})
    guided.steps.insert(1, step)
    assert scorer("indoor").score(dataset, [(dataset.tasks[0], guided)])[0]["tl"] == 10


def test_a_reference_with_a_gap_has_no_length(walk: Score) -> None:
    # A B U, with no way to U: nearest places of the walk A at 0 m, 4 m and nowhere. To stay at A is
    # as long as such a reference, 0 m; any step is too long.
    assert walk("A", gold="ABU")["cls"] == pytest.approx((1 + exp(-4 / 3)) / 3)
    assert walk("AB", gold="ABU")["cls"] == 0


def test_nothing_to_score_is_no_error(split: Callable[..., Any]) -> None:
    assert scorer("indoor").score(split(), []) == []


@pytest.mark.parametrize(
    "family", ["underwater", "metric", "paths", "", "in door", "..core"]
)
def test_a_family_without_metrics_is_a_usage_error(family: str) -> None:
    with pytest.raises(UsageError, match="no family is called"):
        scorer(family)


def test_spl_gold_divides_by_the_gold_paths_own_length(walk: Score) -> None:
    # The gold path A B X B C D makes a detour of 6 m: 16 m, where the shortest way is 10 m.
    detour = walk("ABXBCD", gold="ABXBCD")
    assert (detour["spl"], detour["spl_gold"]) == pytest.approx((10 / 16, 1.0))
    straight = walk("ABCD", gold="ABXBCD")
    assert (straight["spl"], straight["spl_gold"]) == (1.0, 1.0)
    assert walk("AB", gold="ABXBCD")["spl_gold"] == 0.0


def test_what_is_no_scorer_is_a_usage_error() -> None:
    with pytest.raises(
        UsageError, match="scorer of the family 'lamp' must have metrics and score"
    ):
        scorer(Family("lamp", scorer="sr"))
