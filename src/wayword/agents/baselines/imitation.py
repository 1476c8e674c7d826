"""Small trained policy: follows written routes from captions, without a language model.

    wayword run imitation --on houses
    wayword run imitation --on r2r:val_seen --data DATA

It shows how far text alone goes, as a baseline for the cost of a language model: a transformer of
about a million weights over the words of the instruction, the words that describe each direction,
and the walk so far, trained with DAgger (``recipes/imitation`` of the repository).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError, needing
from wayword.core.geometry import sector
from wayword.core.perceiver import Sector
from wayword.core.world import Feedback
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
WEIGHTS = Path(__file__).parents[2] / "weights"
WORD = re.compile(r"[a-z]+|[0-9]+")
PAD, UNKNOWN = 0, 1  # the first two numbers of a vocabulary: no word, and a word that is not in it
LONGEST = {"instruction": 80, "caption": 48, "objects": 16, "summary": 64}
"""Words that are read of each kind of text; the rest is cut off."""
FEATURES = 14  # numbers that describe an option next to its words


def tokenize(text: str) -> list[str]:
    """The words of a text, lower case, punctuation dropped."""
    return WORD.findall(text.lower())


def encode(text: Sequence[str], vocabulary: Mapping[str, int], kind: str) -> list[int]:
    """The numbers of words, at most as many as are read of that kind of text; never empty."""
    numbers = [vocabulary.get(word, UNKNOWN) for word in text[: LONGEST[kind]]]
    return numbers or [PAD]


def object_words(sector: Sector) -> list[str]:
    """The words of the objects recorded in a direction, the nearest first."""
    nearest_first = sorted(sector.sightings, key=lambda each: (each.distance or 0.0, each.name))
    return [word for sighting in nearest_first for word in tokenize(sighting.name)]


def features(
    heading: Floats,
    elevation: Floats,
    length: Floats,
    facing: Floats,
    start: Floats,
    offset: Floats,
    memory: Floats,
    step: int,
) -> Floats:
    """(..., 14) numbers for each option; angles in radians, lengths in metres.

    ``heading``, ``elevation`` and ``length`` (...,) are those of the way, all 0 for stopping;
    ``facing`` and ``start`` the agent's headings now and at first; ``offset`` (..., 3) the way's
    end relative to the first viewpoint (east, north, up); ``memory`` (..., 2) whether the end was
    visited, and whether it is the viewpoint before this one.
    """
    turn, since_start = heading - facing, heading - start
    is_move = (length > 0).astype(np.float32)
    right = offset[..., 0] * np.cos(start) - offset[..., 1] * np.sin(start)
    ahead = offset[..., 0] * np.sin(start) + offset[..., 1] * np.cos(start)
    columns = [
        np.sin(turn) * is_move, np.cos(turn) * is_move,
        np.sin(2 * turn) * is_move, np.cos(2 * turn) * is_move,
        np.sin(elevation) * 2, length / 5, memory[..., 0], memory[..., 1],
        right / 10, ahead / 10, offset[..., 2] / 3, np.full_like(turn, step / 10),
        np.sin(since_start) * is_move, np.cos(since_start) * is_move,
    ]  # fmt: skip
    return np.stack(columns, axis=-1).astype(np.float32)


class PolicyWeights:
    """The trained weights: safe to share, since it holds nothing of any walk.

    ``vocabulary`` numbers the words, ``width`` is the length of what is remembered of a step.
    """

    def __init__(self, path: Path) -> None:
        with needing("the trained policy needs onnxruntime", "prior"):
            import onnxruntime  # type: ignore[import-untyped]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a step is a few million products: more only wait
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        listing = path.with_suffix(".json")
        self.vocabulary = {word: n for n, word in enumerate(json.loads(listing.read_text()))}
        shapes = {tensor.name: tensor.shape for tensor in self._session.get_inputs()}
        self.width = int(shapes["history"][-1])

    def __call__(self, inputs: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Scores of the options (Q,), and what is to be remembered of each (Q, D)."""
        scores, memory = self._session.run(None, dict(inputs))
        return scores[0], memory[0]


@lru_cache(maxsize=2)
def load_network(path: Path) -> PolicyWeights:
    """The network of a file, read once. Raises ``UsageError`` where that is not possible."""
    if not path.is_file():
        raise UsageError(f"{path}: no such weights; train them, or leave out the setting `weights`")
    return PolicyWeights(path)


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """``weights``: an ONNX file with its ``.json`` vocabulary; empty: the shipped one."""

    weights: str = ""


class ImitationAgent(Agent):
    """Follows written routes on viewpoint graphs with a small trained network, from text alone.

        wayword run imitation --on houses --limit 20

    At each viewpoint it reads the captions and objects of every direction and the summary, as
    NavGPT does, and scores each way and stopping; the best score is taken. It sees no viewpoint
    that it has not stood at. Needs onnxruntime (extra ``[prior]``), no model and no torch; the
    weights' card is ``wayword/weights/imitation.md``.
    """

    Settings: ClassVar[type[ImitationSettings]] = ImitationSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor"})

    def __init__(self, settings: ImitationSettings, toolkit: Toolkit) -> None:
        self._network = load_network(Path(settings.weights or WEIGHTS / "imitation.onnx"))
        self._toolkit = toolkit
        self._words: list[int] = []
        self._walk = Walk()
        self._pending_state: Floats | None = None
        self._empty_history = np.zeros((1, 0, self._network.width), dtype=np.float32)

    async def begin(self, episode: Episode) -> None:
        self._words = encode(tokenize(episode.instruction), self._network.vocabulary, "instruction")
        self._walk, self._pending_state = Walk(), None

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        if self._toolkit.perceiver is None:
            raise UsageError("the trained policy reads captions, and this dataset has none")
        percept = self._toolkit.perceiver.perceive(observation.scene, observation.viewpoint)
        self._walk.arrive(observation)
        vocabulary, parts, walk = self._network.vocabulary, percept.sectors, self._walk
        captions = [encode(tokenize(part.caption), vocabulary, "caption") for part in parts]

        def table(rows: list[list[int]]) -> Ints:
            """(1, N, W) numbers, zeros after the end of a row."""
            width = max(map(len, rows))
            return np.array([[row + [PAD] * (width - len(row)) for row in rows]], dtype=np.int64)

        sides = [sector(neighbor.heading, len(parts)) for neighbor in observation.neighbors]
        inputs = {  # a batch of one
            "words": np.array([self._words], dtype=np.int64),
            "captions": table(captions),
            "objects": table([encode(object_words(part), vocabulary, "objects") for part in parts]),
            "summary": np.array([encode(tokenize(percept.summary), vocabulary, "summary")]),
            "rows": np.array([[len(parts), *sides]], dtype=np.int64),
            "geometry": walk.geometry(observation)[None],
            "history": np.stack(walk.history)[None] if walk.history else self._empty_history,
        }
        scores, states = self._network(inputs)
        best = int(np.argmax(scores))
        self._pending_state = states[best]
        if best == 0:
            return Decision(STOP)
        neighbor = observation.neighbors[best - 1]
        walk.leave(neighbor)
        return Decision(Action("goto", (neighbor.viewpoint,)))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if self._pending_state is not None:
            self._walk.history.append(self._pending_state)


class Walk:
    """The agent's knowledge of its own walk: the way back, its places, and its memories.

    Positions are metres from the first viewpoint (east, north, up), by the ways' own lengths.
    """

    def __init__(self) -> None:
        self.history: list[Floats] = []
        self._position = np.zeros(3)
        self._positions: dict[str, NDArray[np.float64]] = {}
        self._viewpoint, self._previous = "", ""
        self._first_heading = 0.0
        self._is_revisit = False

    def arrive(self, observation: IndoorObservation) -> None:
        """Note where it stands; the position follows from the ways it took."""
        if not self._positions:
            self._first_heading = observation.heading
        if observation.viewpoint != self._viewpoint:
            self._previous, self._viewpoint = self._viewpoint, observation.viewpoint
            self._is_revisit = observation.viewpoint in self._positions
        self._position = self._positions.setdefault(observation.viewpoint, self._position)

    def leave(self, neighbor: Neighbor) -> None:
        self._position = self._position + _displacement(neighbor)

    def geometry(self, observation: IndoorObservation) -> Floats:
        """(1 + K, 14): stopping first, then the ways; see :func:`features`."""
        table, ends, memory = [(0.0, 0.0, 0.0)], [self._position], [(self._is_revisit, False)]
        for neighbor in observation.neighbors:
            table.append((neighbor.heading, neighbor.elevation, neighbor.distance))
            ends.append(self._position + _displacement(neighbor))
            name = neighbor.viewpoint
            memory.append((name in self._positions, name == self._previous))
        headings, elevations, lengths = np.array(table).T
        return features(
            np.radians(headings).astype(np.float32),
            np.radians(elevations).astype(np.float32),
            lengths.astype(np.float32),
            np.array(math.radians(observation.heading), dtype=np.float32),
            np.array(math.radians(self._first_heading), dtype=np.float32),
            np.array(ends, dtype=np.float32),
            np.array(memory, dtype=np.float32),
            len(self.history),
        )


def _displacement(neighbor: Neighbor) -> NDArray[np.float64]:
    """The way's end relative to its beginning, in metres east, north and up."""
    heading, rise = math.radians(neighbor.heading), math.radians(neighbor.elevation)
    flat = neighbor.distance * math.cos(rise)
    return np.array(
        [flat * math.sin(heading), flat * math.cos(heading), neighbor.distance * math.sin(rise)]
    )


agent = ImitationAgent
