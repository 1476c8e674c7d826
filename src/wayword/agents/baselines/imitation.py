"""Small trained policy that follows written routes from captions, without a language model.

A baseline for the cost of a language model: three transformers of about a million weights each over
the words of the instruction, the words that describe each direction, and the walk so far, trained
with DAgger (``weights/imitation`` in the repository).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Toolkit
from wayword.core.episode import Episode, JsonObject, Reference
from wayword.core.errors import UsageError, needing
from wayword.core.geometry import sector
from wayword.core.perceiver import Perceiver, Sector
from wayword.core.world import World
from wayword.models.parts.weights import training_caveat
from wayword.worlds.indoor import SUCCESS_METRES
from wayword.worlds.indoor.graph import Neighbor, ViewpointGraph
from wayword.worlds.indoor.world import IndoorObservation

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
WEIGHTS = Path(__file__).parents[2] / "weights"
WORD = re.compile(r"[a-z]+|[0-9]+")
# First two indices of a vocabulary: padding, and words that are not in it
PAD = 0
UNKNOWN = 1
LONGEST = {"instruction": 80, "caption": 48, "objects": 16, "summary": 64}
"""Maximum number of words read per kind of text."""
FEATURES = 14  # geometric features of an option
TEXTS = ("captions", "objects", "summary")
Step = tuple[JsonObject, int]
"""The network's inputs at a viewpoint, and the number of the option taken there."""
EXPANSIONS = 64
"""Walks that the pre-explored setting expands."""
CANDIDATES = 32
"""Likeliest walks of them that a speaker ranks."""
BACKTRACK_COST = 1.0
"""Log-probability that an earlier option must be ahead for each action needed to walk back and take
it; chosen on half of dev_unseen among 0.6, 0.8, 1, 1.2, 1.5, 2 and 2.5."""


def tokenize(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return WORD.findall(text.lower())


def encode(text: Sequence[str], vocabulary: Mapping[str, int], kind: str) -> list[int]:
    """Return the vocabulary indices of words, cut to the maximum for ``kind``; never empty."""
    return [vocabulary.get(word, UNKNOWN) for word in text[: LONGEST[kind]]] or [PAD]


def object_words(sector: Sector) -> list[str]:
    """Return the words of the objects recorded in a direction, nearest first."""
    nearest_first = sorted(
        sector.sightings, key=lambda each: (each.distance or 0.0, each.name)
    )
    words: list[str] = []
    for sighting in nearest_first:
        words += tokenize(sighting.name)
    return words


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
    """Return the geometric features (..., 14) of options; angles in radians, lengths in metres.

    ``heading``, ``elevation`` and ``length`` (...,) describe the move to a neighbor, all 0 for
    stopping. ``facing`` and ``start`` are the current and the first heading. ``offset`` (..., 3)
    is the neighbor's position relative to the first viewpoint (east, north, up). ``memory``
    (..., 2) is 1 if the neighbor was visited, and if it is the previous viewpoint.
    """
    turn = heading - facing
    since_start = heading - start
    is_move = (length > 0).astype(np.float32)
    # Relative to the first heading: compass directions of a building mean nothing.
    right = offset[..., 0] * np.cos(start) - offset[..., 1] * np.sin(start)
    ahead = offset[..., 0] * np.sin(start) + offset[..., 1] * np.cos(start)
    # Scaled to about one; the network is trained on these columns in this order.
    columns = [
        np.sin(turn) * is_move,
        np.cos(turn) * is_move,
        np.sin(2 * turn) * is_move,
        np.cos(2 * turn) * is_move,
        np.sin(elevation) * 2,
        length / 5,
        memory[..., 0],
        memory[..., 1],
        right / 10,
        ahead / 10,
        offset[..., 2] / 3,
        np.full_like(turn, step / 10),
        np.sin(since_start) * is_move,
        np.cos(since_start) * is_move,
    ]
    return np.stack(columns, axis=-1).astype(np.float32)


@lru_cache(maxsize=4)
def open_session(path: Path) -> Any:
    """Return the network in an ONNX file, cached. It has no state, so episodes share it.

    Raises ``UsageError`` if the file does not exist, and without onnxruntime.
    """
    if not path.is_file():
        raise UsageError(
            f"{path}: no such weights; train them, or remove the setting `weights`"
        )
    with needing("the trained policy needs onnxruntime", "prior"):
        import onnxruntime  # type: ignore[import-untyped]
    options = onnxruntime.SessionOptions()
    # A step is a few million products: more threads only wait
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(path),
        options,
        providers=["CPUExecutionProvider"],
    )


class PolicyWeights:
    """The trained policy of an ONNX file, with its vocabulary in the ``.json`` file next to it.

    ``vocabulary`` maps words to indices; ``width`` is the size D of the state stored
    per step.
    """

    def __init__(self, path: Path) -> None:
        self._session = open_session(path)
        listing = path.with_suffix(".json")
        self.vocabulary = {
            word: n for n, word in enumerate(json.loads(listing.read_text()))
        }
        shapes = {tensor.name: tensor.shape for tensor in self._session.get_inputs()}
        self.width = int(shapes["history"][-1])

    def __call__(self, inputs: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Return the scores (Q,) of the options, and the state (Q, D) to store for each."""
        scores, memory = self._session.run(None, dict(inputs))
        return scores[0], memory[0]


load_network = lru_cache(maxsize=2)(PolicyWeights)


@dataclass(frozen=True)
class ImitationSettings:
    """Settings of ``imitation``.

    ``weights``: an ONNX file with its ``.json`` vocabulary; empty: the shipped one.
    ``backtrack``: walk back to an earlier option that has become more probable.
    """

    weights: str = ""
    backtrack: bool = True


@dataclass(frozen=True)
class PreexploredSettings:
    """Settings of ``imitation_preexplored``.

    ``weights``: an ONNX file with its ``.json`` vocabulary; empty: the shipped one.
    ``speaker``: rank candidates by the speaker, too, whose file ``NAME_speaker.onnx``
    is next to the weights.
    """

    weights: str = ""
    speaker: bool = True


def _weights(settings: Any) -> Path:
    """Return the ONNX file of an agent's settings."""
    return Path(settings.weights or WEIGHTS / "imitation.onnx")


class ImitationAgent(Agent):
    """A small network that follows routes from text, trained on r2r:train and houses:train.

        wayword run imitation --on houses --limit 20

    At each viewpoint it reads the captions and objects of every direction and the summary, as
    NavGPT does, scores each neighbor and stopping, and takes the best one. If an option that it
    passed by now makes a more probable walk, by one nat per action needed to get there, it walks
    back along visited viewpoints and takes that one. Needs onnxruntime (extra ``[prior]``), but no
    language model and no torch; the weights are described in ``wayword/weights/imitation.md``.
    """

    Settings: ClassVar[type[Any]] = ImitationSettings
    families = frozenset({"indoor"})

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Name the training data of the weights."""
        return (training_caveat(_weights(settings)),)

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self._network = load_network(_weights(settings))
        self._settings = settings
        self._toolkit = toolkit

    async def begin(self, episode: Episode) -> None:
        """Encode the instruction and forget the last walk."""
        self._words = encode(
            tokenize(episode.instruction),
            self._network.vocabulary,
            "instruction",
        )
        self._walk: PartialWalk | None = None
        self._options: list[Option] = []
        self._neighbors: dict[str, list[str]] = {}
        self._plan: list[Action] = []
        self._turns = 0

    async def act(
        self,
        observation: IndoorObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the next action of the plan; plan again when it is used up."""
        if not self._plan:
            self._plan = self._next_actions(observation)
        self._turns += 1
        return Decision(self._plan.pop(0))

    def _next_actions(self, observation: IndoorObservation) -> list[Action]:
        """Score all options seen so far, and return the moves to the best one and along it."""
        here = observation.viewpoint
        walk = self._walk or PartialWalk.start(observation, self._network.width)
        self._neighbors[here] = [
            neighbor.viewpoint for neighbor in observation.neighbors
        ]
        options = self._score(walk, observation)
        left = self._options
        ranked = [(option.score, [here], option) for option in options]
        if self._settings.backtrack:
            # Routes of fewest moves to all visited viewpoints, both ends included.
            routes = {here: [here]}
            queue = [here]
            for place in queue:
                for neighbor in self._neighbors[place]:
                    if neighbor in self._neighbors and neighbor not in routes:
                        routes[neighbor] = [*routes[place], neighbor]
                        queue.append(neighbor)
            # A route that takes more actions than are left could not be finished.
            turns = (self._toolkit.max_steps or math.inf) - self._turns
            for option in left:
                route = routes[option.walk.path[-1]]
                if len(route) <= turns:
                    score = option.score - BACKTRACK_COST * len(route)
                    ranked.append((score, route, option))
        _, route, best = max(ranked, key=itemgetter(0))
        left += options
        left.remove(best)
        moves = [Action("goto", (viewpoint,)) for viewpoint in route[1:]]
        if best.neighbor is None:
            return [*moves, STOP]
        self._walk = best.walk.extended(best)
        return [*moves, Action("goto", (best.neighbor.viewpoint,))]

    def _score(self, walk: PartialWalk, observation: IndoorObservation) -> list[Option]:
        """Return the options at the end of a walk: a stop, and a step to each neighbor.

        The scores are log-probabilities of the walk with the option. Raises
        ``UsageError`` without captions.
        """
        if self._toolkit.perceiver is None:
            raise UsageError(
                "imitation reads captions, but this dataset has none; set a perceiver"
            )
        percept = self._toolkit.perceiver.perceive(
            observation.scene,
            observation.viewpoint,
        )
        vocabulary = self._network.vocabulary
        parts = percept.sectors
        captions = [
            encode(tokenize(part.caption), vocabulary, "caption") for part in parts
        ]

        def table(rows: list[list[int]]) -> Ints:
            """Return the rows as one array (1, N, W), padded with zeros."""
            width = max(map(len, rows))
            return np.array(
                [[row + [PAD] * (width - len(row)) for row in rows]],
                dtype=np.int64,
            )

        # The network looks up the texts of a neighbor by the sector that it is in.
        sides = [
            sector(neighbor.heading, len(parts)) for neighbor in observation.neighbors
        ]
        inputs = {  # a batch of one
            "words": np.array([self._words], dtype=np.int64),
            "captions": table(captions),
            "objects": table(
                [encode(object_words(part), vocabulary, "objects") for part in parts]
            ),
            "summary": np.array(
                [encode(tokenize(percept.summary), vocabulary, "summary")]
            ),
            "rows": np.array([[len(parts), *sides]], dtype=np.int64),
            "geometry": walk.geometry(observation)[None],
            "history": walk.history[None],
        }
        scores, states = self._network(inputs)
        totals = (walk.score + scores).tolist()
        options = []
        for number, move in enumerate([None, *observation.neighbors]):
            step = (inputs, number)
            options.append(Option(walk, move, totals[number], states[number], step))
        return options


class PreexploredImitation(ImitationAgent):
    """``imitation`` in the pre-explored setting: it knows the scene before each walk.

        wayword run imitation_preexplored --on houses --limit 20

    Its scores are not comparable with those of single runs. It expands the most
    probable walks on the scene's recorded graph, best first. The probability of each is
    multiplied by that of the instruction, given the walk: a speaker (Fried et al. 2018)
    trained on the same episodes. The agent takes the shortest path to the viewpoint
    with the largest probability of stopping within 3 m of it. Scores are those of this
    path; the note ``explored`` has the length (metres) of a walk that visits the
    viewpoints in the order of exploration, then goes there.
    """

    Settings = PreexploredSettings
    sees_answer = True

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Name the setting in reports, too: a known scene is an easier task."""
        return (
            *super().caveats(settings, perceiver),
            "pre-explored setting: graph and texts of the scene are known before each walk",
        )

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Keep the graph of the scene, which this setting knows before the walk."""
        self._graph: ViewpointGraph = world.graph  # type: ignore[attr-defined]

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        path = _weights(settings)
        path = path.with_name(f"{path.stem}_speaker.onnx")
        self._speaker = open_session(path) if settings.speaker else None

    def _next_actions(self, observation: IndoorObservation) -> list[Action]:
        """Search the known graph for the best complete walk, and return its moves."""
        graph = self._graph
        seen = observation
        walk = PartialWalk.start(observation, self._network.width)
        stops: list[Option] = []
        moves: list[Option] = []
        # Best first over all open moves: a walk that starts badly may still end best.
        for _ in range(EXPANSIONS):
            stop, *options = self._score(walk, seen)
            stops.append(stop)
            moves += options
            # A viewpoint without neighbors: every walk has been expanded.
            if not moves:
                break
            best = max(moves, key=attrgetter("score"))
            moves.remove(best)
            assert best.neighbor is not None
            # The body stays where it is: the next place is read from the known graph.
            walk = best.walk.extended(best)
            place = best.neighbor.viewpoint
            heading = best.neighbor.heading
            neighbors = graph.neighbors(place)
            seen = replace(seen, viewpoint=place, heading=heading, neighbors=neighbors)
        # Before sorting: the noted length follows the order of exploration.
        explored = [stop.walk.path[-1] for stop in stops]
        stops = sorted(stops, key=attrgetter("score"), reverse=True)[:CANDIDATES]
        places = [stop.walk.path[-1] for stop in stops]
        rows = [graph.index[place] for place in places]
        # Walks that end within the success radius of a place support it together.
        # The best score is subtracted, as exp would underflow to 0 for long walks.
        near = graph.distances[np.ix_(rows, rows)] < SUCCESS_METRES
        scores = np.array([stop.score + self._spoken(stop) for stop in stops])
        end = places[int(np.argmax(near @ np.exp(scores - scores.max())))]
        metres = sum(graph.distance(*pair) for pair in pairwise([*explored, end]))
        self._toolkit.note(
            "explored",
            viewpoints=len(set(explored)),
            metres=round(metres, 2),
        )
        path = graph.shortest_path(observation.viewpoint, end)
        return [*(Action("goto", (place,)) for place in path[1:]), STOP]

    def _spoken(self, stop: Option) -> float:
        """Return the log-probability of the instruction, given the walk to a stop; 0
        without a speaker.
        """
        if self._speaker is None:
            return 0.0
        steps = [*stop.walk.steps, stop.step]
        inputs = {}
        for name in TEXTS:
            inputs[name] = _stacked([seen[name][0] for seen, _ in steps])
        # Of the viewpoint itself, and of the option taken there
        for name in ("rows", "geometry"):
            inputs[name] = np.stack(
                [seen[name][0][[0, number]] for seen, number in steps]
            )
        words = np.array([self._words], dtype=np.int64)
        return float(self._speaker.run(None, {"words": words, **inputs})[0][0])


@dataclass(frozen=True)
class PartialWalk:
    """A walk: its viewpoints, the state (T, D) stored per step, its log-probability,
    and the options taken.

    Positions are metres from the first viewpoint (east, north, up), summed over the
    moves.
    """

    path: tuple[str, ...]
    positions: Mapping[str, NDArray[np.float64]]
    history: Floats
    first_heading: float
    score: float = 0.0
    steps: tuple[Step, ...] = ()

    @classmethod
    def start(cls, observation: IndoorObservation, width: int) -> PartialWalk:
        """Return a walk that has not moved; ``width`` is that of the network's states."""
        history = np.zeros((0, width), dtype=np.float32)
        positions = {observation.viewpoint: np.zeros(3)}
        return cls((observation.viewpoint,), positions, history, observation.heading)

    def extended(self, option: Option) -> PartialWalk:
        """Return the walk with one more place."""
        assert option.neighbor is not None
        end = self.positions[self.path[-1]] + _displacement(option.neighbor)
        return PartialWalk(
            (*self.path, option.neighbor.viewpoint),
            {option.neighbor.viewpoint: end, **self.positions},
            np.concatenate([self.history, option.state[None]]),
            self.first_heading,
            option.score,
            (*self.steps, option.step),
        )

    def geometry(self, observation: IndoorObservation) -> Floats:
        """Return the features (1 + K, 14) of stopping and of the K neighbors.

        See :func:`features`.
        """
        *earlier, here = self.path
        place = self.positions[here]
        neighbors = observation.neighbors
        # First the stop, which moves nowhere
        rows = [(0.0, 0.0, 0.0)]
        ends = [place]
        memory = [(here in earlier, False)]
        for each in neighbors:
            name = each.viewpoint
            rows.append((each.heading, each.elevation, each.distance))
            ends.append(place + _displacement(each))
            memory.append((name in self.positions, name in earlier[-1:]))
        moves = np.array(rows)
        heading, elevation = np.radians(moves[:, :2].T).astype(np.float32)
        headings = np.radians([observation.heading, self.first_heading])
        facing, start = headings.astype(np.float32)
        return features(
            heading,
            elevation,
            length=moves[:, 2].astype(np.float32),
            facing=facing,
            start=start,
            offset=np.array(ends).astype(np.float32),
            memory=np.array(memory, dtype=np.float32),
            step=len(self.history),
        )


@dataclass(frozen=True, eq=False)
class Option:
    """A continuation of a walk, to a neighbor or (None) by stopping.

    ``score`` is the log-probability of the walk with it, ``state`` (D,) what is to be
    stored, and ``step`` what it would add to the walk.
    """

    walk: PartialWalk
    neighbor: Neighbor | None
    score: float
    state: Floats
    step: Step


def _stacked(rows: list[Ints]) -> Ints:
    """Return arrays as one, padded with zeros to the largest."""
    shape = np.max([row.shape for row in rows], axis=0)
    padded = []
    for row in rows:
        missing = [(0, count) for count in shape - row.shape]
        padded.append(np.pad(row, missing))
    return np.stack(padded)


def _displacement(neighbor: Neighbor) -> NDArray[np.float64]:
    """Return a neighbor's relative position, in metres east, north and up."""
    heading = math.radians(neighbor.heading)
    rise = math.radians(neighbor.elevation)
    flat = neighbor.distance * math.cos(rise)
    return np.array(
        [
            flat * math.sin(heading),
            flat * math.cos(heading),
            neighbor.distance * math.sin(rise),
        ]
    )


agents = {"imitation": ImitationAgent, "imitation_preexplored": PreexploredImitation}
