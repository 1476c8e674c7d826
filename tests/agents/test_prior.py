"""The text-embedding prior: the network is the right one, and knows what lies beside what."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from wayword.agents.search.lgx import PriorAgent
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.datasets.apartments import Apartments
from wayword.datasets.two_phase import ROOM_OBJECTS, TARGET_ROOMS
from wayword.models.local import LocalModel
from wayword.models.parts import weights
from wayword.perception.similarity import TextSimilarity, similarity
from wayword.settings import make

MINILM = weights.MODELS["minilm"]
PAIRS = {
    "cereal": ("fridge", "couch", "bed", "desk"),
    "pillow": ("bed", "sink", "desk", "fridge"),
    "toothbrush": ("sink", "couch", "computer", "bed"),
    "keyboard": ("computer", "bed", "fridge", "sink"),
    "milk": ("fridge", "tv", "bed", "desk"),
    "game console": ("tv", "sink", "blanket", "fridge"),
    "cushion": ("couch", "fridge", "computer", "sink"),
    "soap": ("sink", "tv", "computer", "desk"),
    "printer": ("computer", "bed", "sink", "couch"),
    "frozen pizza": ("fridge", "bed", "tv", "computer"),
    "stapler": ("desk", "bed", "fridge", "couch"),
    "remote control": ("tv", "sink", "bed", "fridge"),
}
"""Target -> where one would look first, then other things around."""


def test_it_finds_what_lies_next_to_what() -> None:
    right = [pair for pair in PAIRS.items() if similarity().best(*pair) == pair[1][0]]
    wrong = sorted(set(PAIRS) - {target for target, _ in right})
    assert len(right) >= 11, f"of {len(PAIRS)} only {len(right)}; wrong: {wrong}"


def test_it_finds_the_rooms_of_the_two_phase_table() -> None:
    objects = [item for own in ROOM_OBJECTS.values() for item in own]
    found = {target: similarity().best(target, objects) for target in TARGET_ROOMS}
    wrong = {
        target: item
        for target, item in found.items()
        if item not in ROOM_OBJECTS[TARGET_ROOMS[target]]
    }
    assert wrong == {"coffee table": "desk"}


def test_embeddings_have_length_one_and_do_not_depend_on_company() -> None:
    alike = similarity()
    both = alike.embed(["a mug", "a bed"])
    assert both.shape == (2, 384)
    assert [float((row**2).sum()) for row in both] == pytest.approx(
        [1.0, 1.0], abs=1e-5
    )
    alone = TextSimilarity(
        *(weights.installed(part) or Path() for part in MINILM.files)
    )
    assert (alone.embed(["a bed"])[0] == both[1]).all()
    assert alike.likeness("a mug", ["a mug"])[0] == pytest.approx(1.0, abs=1e-5)
    assert alike.likeness("mug", ["cup"])[0] > alike.likeness("mug", ["television"])[0]


def test_it_goes_to_the_object_most_like_the_target() -> None:
    lost = Apartments(settings=Apartments.Settings(homes=1, episodes=2, rooms=3))
    settings = make(
        PriorAgent.Settings, {"quality": {"recall": 0.0}, "turns": 3}, "prior"
    )
    setup = Setup(lost, lambda toolkit, _: PriorAgent(settings, toolkit), max_steps=150)
    trajectory = asyncio.run(rollout(lost.tasks[0], setup))
    picked = [note.details for note in trajectory.notes() if note.kind == "picked"]
    assert picked, trajectory.error
    target = str(lost.tasks[0].episode.extra["target"])
    for note in picked:
        cosines = dict(
            zip(
                note["listed"],
                similarity().likeness(target, note["listed"]),
                strict=True,
            )
        )
        assert math.isclose(cosines[note["answer"]], max(cosines.values()))


def test_absent_files_name_the_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WAYWORD_MODELS", str(tmp_path))
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    similarity.cache_clear()
    with pytest.raises(UsageError, match="wayword models fetch minilm") as text:
        similarity()
    assert "\n" not in str(text.value)
    assert [status.name for status in weights.statuses() if status.path] == []
    (tmp_path / MINILM.file).write_bytes(b"onnx")
    (tmp_path / MINILM.companions[0].file).write_bytes(b"{}")
    with pytest.raises(UsageError, match="sha256"):
        similarity()
    with pytest.raises(UsageError, match="wrong checksum"):
        weights.checked("minilm")


def test_absent_libraries_name_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    parts = [weights.installed(part) or Path() for part in MINILM.files]
    for name in ("onnxruntime", "tokenizers"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, name, None)
            with pytest.raises(UsageError, match=rf"need {name}: .*extra-prior"):
                TextSimilarity(*parts).embed(["mug"])


def test_it_is_listed_checked_and_no_language_model() -> None:
    status = {one.name: one for one in weights.statuses()}["minilm"]
    assert status.path is not None
    assert status.size == sum(file.size for file in MINILM.files)
    assert weights.checked("minilm") == weights.fetch("minilm") == status.path
    assert not weights.writes_text("minilm")
    with pytest.raises(UsageError, match="cannot write text"):
        LocalModel("minilm")
