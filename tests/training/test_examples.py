"""Episodes as text: prompts that extend each other, and labels at the right tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from weights.sft.finetuning import encode
from weights.sources import Source
from weights.walks import read, refuse_test, save

from helpers.small_house import SmallHouse
from helpers.small_street import PARK_AND_SHOP, Eyes, SmallStreet
from helpers.training_walks import Pieces, played
from wayword.core.errors import DataError, UsageError
from wayword.datasets.houses import Houses
from wayword.training.examples import (
    Example,
    LabeledQuestion,
    TextChoice,
    write_example,
)

EAST = ["forward", "forward", "forward", "forward", "right", "forward", "stop"]


def test_a_gold_walk_holds_a_label_at_every_choice() -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=["a park", "Corner Shop"])
    example = played("velma", {"shots": 0}, street, street.tasks[0])
    assert [choice.label.strip() for choice in example.choices] == EAST
    for choice in example.choices:
        assert example.text[choice.at :].startswith(choice.taken)
        assert choice.taken == choice.label
        assert example.text[: choice.at].endswith(".")
    assert example.text.endswith("7. stop")
    assert example.success


def test_a_forced_opening_is_in_the_text_without_a_label() -> None:
    street = SmallStreet(opening=["forward"])
    example = played("velma", {"shots": 0}, street, street.tasks[0])
    assert [choice.label.strip() for choice in example.choices] == EAST[1:]
    assert "\n1. forward\n2. forward" in example.text


def test_walkers_questions_are_the_labels() -> None:
    house = SmallHouse()
    example = played("walker", {}, house, house.tasks[0])
    choices = [example.text[: choice.at].splitlines()[-1] for choice in example.choices]
    assert all(line.endswith("?") for line in choices)
    pairs = list(zip(choices, example.choices, strict=True))
    yes = [line.rpartition(": ")[2] for line, choice in pairs if choice.label == " yes"]
    assert [line.split(",")[0].rstrip("?") for line in yes] == [
        "ahead",
        "right",
        "two steps. Done",
    ]
    done = [choice for line, choice in pairs if "Done?" in line]
    assert [choice.taken for choice in done] == [" no", " no", " yes"]
    assert {c.taken for c in example.choices if c not in done} == {""}


def test_prompts_must_extend_each_other_byte_for_byte() -> None:
    requests = [
        LabeledQuestion("One way.\nChoice:", "A", "A"),
        LabeledQuestion("Another.\nChoice:", "B", "B"),
    ]
    with pytest.raises(UsageError, match="does not extend"):
        write_example("1", "small", requests, keep_answers=False)


def test_answers_that_were_only_weighed_are_no_labels_of_their_own() -> None:
    requests = [
        LabeledQuestion("Left?", "yes", "no"),
        LabeledQuestion("Left?\nRight?", "no", "yes"),
    ]
    weighed = write_example("1", "small", requests, keep_answers=False)
    assert [(one.taken, one.label) for one in weighed.choices] == [
        ("", " no"),
        (" no", " yes"),
    ]
    with pytest.raises(UsageError, match="--method dagger"):
        write_example("1", "small", requests, keep_answers=True)


def test_a_question_without_a_right_answer_has_no_label() -> None:
    requests = [
        LabeledQuestion("Choice:", "A", ""),
        LabeledQuestion("Choice: A\nNow:", "one", "two"),
    ]
    own, oracle = (
        write_example("1", "small", requests, keep_answers=own).choices
        for own in (True, False)
    )
    assert [choice.label for choice in own] == [" A", " one"]
    assert [choice.label for choice in oracle] == [" two"]


@pytest.mark.parametrize("settings", [{}, {"words": 3, "here": 0, "near": 0}])
def test_every_prompt_of_a_generated_house_extends_the_last(
    settings: dict[str, int],
) -> None:
    houses = Houses("train", None, Houses.Settings(houses=2, episodes=4))
    for task in houses.tasks:
        example = played("walker", settings, houses, task)  # raises where one does not
        places = [choice.at for choice in example.choices]
        assert places == sorted(places)
        choices = [choice for choice in example.choices if not choice.taken]
        yes = [choice for choice in choices if choice.label == " yes"]
        assert len(yes) == len(task.reference.path) - 1  # type: ignore[attr-defined]


def test_labels_stand_at_the_token_before_the_choice() -> None:
    house = SmallHouse()
    pieces = Pieces()
    example = played("walker", {}, house, house.tasks[0])
    encoded = encode(example, pieces)
    assert [pieces.text(number) for number in encoded.labels] == [
        choice.label for choice in example.choices
    ]
    assert [pieces.text(encoded.ids[place]) for place in encoded.at] == ["?"] * len(
        encoded.at
    )
    after = [pieces.text(encoded.ids[place + 1]) for place in encoded.at[:-1]]
    assert after == [choice.taken or "\n" for choice in example.choices[:-1]]


def test_a_label_of_several_tokens_is_learnt_up_to_where_it_parts() -> None:
    pieces = Pieces()
    text = "1. forward\n2. turn_around\n3. stop"
    choices = (
        TextChoice(2, " forward", " turn_around"),
        TextChoice(13, " turn_around", " turn_around"),
        TextChoice(28, " stop", " forward"),
    )
    encoded = encode(Example("1", "small", text, choices), pieces)
    found = [pieces.text(number) for number in encoded.labels]
    assert found == [" turn", " turn", "_", "around", " forward"]
    assert [pieces.text(encoded.ids[place]) for place in encoded.at] == [
        ".", ".", " turn", "_", ".",
    ]  # fmt: skip


def test_a_choice_inside_a_token_is_an_error() -> None:
    wrong = Example("1", "small", "1. forward", (TextChoice(4, "orward", "orward"),))
    with pytest.raises(DataError, match="splits a choice"):
        encode(wrong, Pieces())


def test_the_students_own_walk_stays_in_the_text() -> None:
    house = SmallHouse()
    right = played("walker", {}, house, house.tasks[0])
    wrong = played("walker", {}, house, house.tasks[0], ["yes"], "dagger")
    assert wrong.text.endswith("Done? yes")
    (choice,) = wrong.choices
    assert (choice.taken, choice.label) == (" yes", right.choices[0].label)


def test_examples_come_back_from_their_file(tmp_path: Path) -> None:
    house = SmallHouse()
    examples = [played("walker", {}, house, task) for task in house.tasks]
    save(tmp_path / "examples.jsonl", examples)
    assert read(tmp_path / "examples.jsonl") == examples


@pytest.mark.parametrize(
    "name", ["houses:test", "r2r:val_seen", "map2seq:unseen_dev", "towns"]
)
def test_test_splits_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not a training split"):
        refuse_test(name)


def test_map2seqs_seen_files_count_in_the_training_area_only() -> None:
    refuse_test("map2seq:seen_dev", "seen")
    with pytest.raises(UsageError, match="not a training split"):
        refuse_test("map2seq:seen_dev")


def test_a_source_is_cut_into_two_halves_that_share_nothing() -> None:
    full = Source("houses:train", settings={"houses": 2, "episodes": 6})

    def names(source: Source) -> set[str]:
        return {task.episode.id for task in source.open(None)[1]}

    most = names(replace(full, skip=3))
    rest = names(replace(full, only=3))
    assert len(most) == 4
    assert not most & rest
    assert most | rest == names(full)
