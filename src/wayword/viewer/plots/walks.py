"""An episode's trajectories on its map: one walk with its mistake, or several to compare."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, displaced
from wayword.core.metric import is_solved
from wayword.core.visible import join_words, spaced
from wayword.runs import scored_runs
from wayword.runs.config import success_of
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder
from wayword.viewer.data import open_sources
from wayword.viewer.document import Document
from wayword.viewer.maps.babyai import crop
from wayword.viewer.maps.content import (
    LANDMARK,
    SQUARES,
    Extent,
    Map,
    Shape,
    Waypoint,
    line_of,
)
from wayword.viewer.markup import Letters
from wayword.viewer.plots.charts import FOUND
from wayword.viewer.plots.request import Drawing, FigureRequest
from wayword.viewer.plots.style import (
    FAINT,
    INK,
    PAPER,
    QUIET,
    fitted_legend,
    look,
    new_figure,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Points = NDArray[np.float64]

_GOAL = "#E69F00"
_SMALL = 5.5  # points of names on the map
_SCALE_TEXT = 6.5  # points of the scale bar's length
_DOT = 0.006  # inches of a dot's radius for a pixel of it on a page
_TALLEST = 1.15  # height of the map at most, as a share of its width
_HALF_PAGE = 4.4  # inches of a map's height at most: half a page of text
_STEP = 0.04  # inches between the points of a line that names keep clear of
_RING = 7.0  # points from the middle of the mistake's ring to its letter
_LETTER = 3.5  # points from another place to its letter
_LEGEND_RING = 8.0  # points of its diameter in the legend, whose lines are 9 high
_MARK = 5.0  # points from the middle of a walk's end or the goal to its edge
_BLOCKED = 8.5  # points from a place to the bar of what was in the way, as long as that
_MARGIN = 0.3  # metres around the drawing
_SIDES = tuple(
    (east, north)
    for east, north in product((1, -1, 0.4, -0.4, 0), repeat=2)
    if max(abs(east), abs(north)) == 1
)
"""Directions from a point to its name, in half sizes of the name: the corners first."""
_NEAR = 1  # gaps from a point to its name without a line to it
_FARTHEST = 5  # gaps to a name at most
_MARKED = (
    20.0  # cost of a name over a mark or another name, where a dot of a walk costs 1
)
_FAINTLY = 0.1  # cost of a dot of the ground's lines
_INSTRUCTION = 700  # characters of an instruction in a caption at most
_SCALES = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)  # lengths of scale bars

_PLAN = {"floor", "wall", "room", "cell"}
"""Words of the kinds of shapes of a place whose plan is known."""
OCCUPIED = "occupied"
_KNOWN = {
    "seenfree": "Light: floor that was seen free",
    "knownfree": "Light: floor that was seen free",
    OCCUPIED: "Grey: obstacles that were seen",
}
"""Kinds of ground that a search came to know, in drawing order, with their words in the caption."""

# How each kind of shape is drawn. The kind is the first word that the table knows; others, such as
# views that fade away, are left out.
_FILLS: Mapping[str, JsonObject] = {
    "meant": {"facecolor": "none", "edgecolor": _GOAL, "linewidth": 1.4, "zorder": 2.5},
    "goal-object": {
        "facecolor": _GOAL,
        "edgecolor": INK,
        "linewidth": 0.6,
        "zorder": 2.5,
    },
    "destination": {
        "facecolor": "none",
        "edgecolor": _GOAL,
        "linewidth": 1.2,
        "linestyle": (0, (3, 1.5)),
    },
    "room": {"facecolor": PAPER, "edgecolor": "#9c9c9c", "linewidth": 0.8},
    "floor": {"facecolor": PAPER, "edgecolor": "none"},
    "furniture": {"facecolor": "white", "edgecolor": FAINT, "linewidth": 0.5},
    "seenfree": {"facecolor": "#dbe9f3", "edgecolor": "none"},
    "knownfree": {"facecolor": "#dbe9f3", "edgecolor": "none"},
    OCCUPIED: {"facecolor": "#9c9c9c", "edgecolor": "none"},
    "knownwall": {"facecolor": "#9c9c9c", "edgecolor": "none"},
    "wall-cell": {"facecolor": "#9c9c9c", "edgecolor": "none"},
    "cell": {"facecolor": "white", "edgecolor": "#e2e2e2", "linewidth": 0.4},
    "object": {"facecolor": FAINT, "edgecolor": "none"},
    LANDMARK: {"facecolor": QUIET, "edgecolor": "none"},
}
_LINES: Mapping[str, JsonObject] = {
    "door": {"color": "white", "linewidth": 2.2},
    "wall": {"color": "#8a8a8a", "linewidth": 1.0, "solid_capstyle": "projecting"},
    "leaf": {"color": "#b98a2f", "linewidth": 1.2},
}
_SIGNS = {"destination": "where to", "leaf": "door"}
"""Kinds of lines and outlines that the legend explains, with their words."""
_PAINTS = ("red", "green", "blue", "purple", "yellow", "grey")


def draw_map(request: FigureRequest) -> Drawing:
    """Draw an episode of one or several runs on its map.

    By default the first episode without success or, of several runs, the first one with
    different outcomes. The mistake of each is marked. Raises ``UsageError`` if the runs
    share no finished episode, or if it has no map.
    """
    runs = [RunFolder.read(path) for path in scored_runs.run_folders(request.runs)]
    episode = request.episode or _telling_episode(runs)
    sources = open_sources(runs[0], [episode], request.data, request.trusted)
    names = request.names([scored_runs.name_of(run) for run in runs])
    records = [run.record(episode) for run in runs]
    documents = [Document.of(record, sources) for record in records]
    each_drawn = [
        _map_of(name, document) for name, document in zip(names, documents, strict=True)
    ]
    # The first run's map is the ground of all walks.
    drawn = each_drawn[0]
    if drawn.unit == SQUARES:
        crop(drawn)
    walks = _walks(names, documents, each_drawn)
    shapes, ground = _shapes_of(each_drawn, names)
    box = _box(walks, drawn, shapes)
    # A landmark outside the drawing would be a speck at its edge.
    shapes = [each for each in shapes if not _is_outside(each, box)]
    west, south, east, north = box
    # A tall map is made smaller, to what fits a page.
    tall = request.width * min(_TALLEST, (north - south) / (east - west))
    height = min(tall, _HALF_PAGE)
    figure, axes = new_figure(request.width, height)
    # Inches per metre: text has a size on paper.
    inch = min(request.width / (east - west), height / (north - south))
    # The sides of a smaller map show more of the ground.
    spare = (request.width / inch - (east - west)) / 2
    west -= spare
    east += spare
    box = Extent(west, south, east, north)
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(west, east)
    axes.set_ylim(south, north)
    _draw_ground(axes, drawn, shapes, inch)
    _draw_goal(axes, drawn, shapes)
    for number, (name, walk, outcome) in enumerate(walks):
        _draw_walk(axes, name, walk, outcome, number, inch)
    _draw_blocked(axes, [*chain.from_iterable(walk for _, walk, _ in walks)], inch)
    faint = _faint_lines(drawn, shapes)
    labels = _Labels(axes, box, inch, _lines_of(walks, drawn), faint)
    # All marks have their place before the first name looks for one.
    for shape in shapes:
        if shape.form == "dot" and _fill_of(shape.kind.split()):
            labels.keep_clear(shape.points[0], _DOT * shape.size * 72)
    for _, walk, _ in walks:
        for stop in (walk[0], walk[-1]):
            labels.keep_clear(stop.point, _MARK)
    if drawn.gold:
        labels.keep_clear(drawn.gold[-1][1], _MARK)
    # Some instructions list a whole home, on many lines: no caption for a figure.
    instruction = textwrap.shorten(
        sources.instruction(episode), _INSTRUCTION, placeholder=" …"
    )
    caption = f"Episode {episode}."
    if instruction:
        caption = f"Episode {episode}: “{instruction}”"
    sentences = _mark_mistakes(axes, labels, names, documents, each_drawn)
    caption = " ".join([caption, *sentences])
    _draw_names(labels, shapes)
    if drawn.scale and drawn.unit == "m":
        labels.draw_scale()
    caption += f"{ground} Open circles: starts."
    if not drawn.scale:
        caption += " Computed from headings, not to scale."
    # Below the map, where it hides nothing.
    legend = fitted_legend(axes, columns=2, loc="outside lower center")
    figure.set_figheight(height + 0.1 + legend)
    notices = []
    if sources.notice:
        # Without the dataset only the walks are known: their map must not look complete.
        notices.append(sources.notice)
    return Drawing(figure, caption, tuple(notices))


def _telling_episode(runs: Sequence[RecordedRun]) -> str:
    """Return the first episode of all runs with different outcomes; of one run, that failed.

    The first one that all have finished if there is no such episode.
    """
    outcomes = []
    for run in runs:
        success = success_of(run.config)
        outcomes.append(
            {
                name: is_solved(scores.get(success, scores.get(FOUND)))
                for name, scores in run.scores()
            }
        )
    # Only what all runs have played can be drawn for all.
    first = outcomes[0]
    shared = [name for name in first if all(name in each for each in outcomes)]
    if not shared:
        raise UsageError("the runs have no finished episode in common; give --episode")
    for name in shared:
        solved_in = {each[name] for each in outcomes}
        # Of one run, the first that failed; of several, the first that tells them apart.
        tells = len(solved_in) > 1 or (len(runs) == 1 and False in solved_in)
        if tells:
            return name
    return shared[0]


Walk = tuple[str, Sequence[Waypoint], str]
"""Name, waypoints, and the outcome."""
FAILED = "failed"


def _map_of(name: str, document: Document) -> Map:
    """Return the map of a run's episode, with its mistake. Raises ``UsageError`` if it has none."""
    drawn = document.marked
    if not isinstance(drawn, Map):
        reason = document.sources.notice or "pose() of its world has no x and y"
        episode = document.record.episode_id
        raise UsageError(f"{name}: episode {episode!r} has no map: {reason}")
    return drawn


def _shapes_of(plans: Sequence[Map], names: Sequence[str]) -> tuple[list[Shape], str]:
    """Return the shapes to draw for the first of some maps of one episode, and a sentence on the
    ground for the caption, with a blank before it.

    Without a plan, as of a robot's place, the ground is what any run came to know of it.
    """
    shapes = _final_shapes(plans[0])
    if any(_PLAN & set(shape.kind.split()) for shape in shapes):
        shapes = [shape for shape in shapes if shape.kind != OCCUPIED]
        # Another run's floor would cover that of the first.
        ground = ""
        if any(shape.kind in _KNOWN for shape in shapes):
            who = "the first run" if len(plans) > 1 else "the agent"
            ground = f" Light blue: floor that {who} saw free."
        return shapes, ground
    known = [
        shape for plan in plans for shape in _final_shapes(plan) if shape.kind in _KNOWN
    ]
    known.sort(key=lambda shape: list(_KNOWN).index(shape.kind))
    # Each run's detector reported its own target, which has the run's name if they differ.
    targets: list[Shape] = []
    owners: list[list[str]] = []
    for name, plan in zip(names, plans, strict=True):
        for shape in _final_shapes(plan):
            if "goal-object" not in shape.kind.split():
                continue
            if shape not in targets:
                targets.append(shape)
                owners.append([])
            owners[targets.index(shape)].append(name)
    # A simulated home has the same targets in every run.
    for number, own in enumerate(owners):
        if 0 < len(own) < len(names) and len(targets) > 1:
            label = f"{targets[number].label} ({join_words(own)})"
            targets[number] = replace(targets[number], label=label)
    shapes = [shape for shape in shapes if "goal-object" not in shape.kind.split()]
    shapes += targets
    shown = dict.fromkeys(_KNOWN[shape.kind] for shape in known)
    ground = "".join(f" {words}." for words in shown)
    return [*known, *(shape for shape in shapes if shape.kind not in _KNOWN)], ground


def _final_shapes(drawn: Map) -> list[Shape]:
    """Return the shapes that are visible after the last step."""
    return [
        shape for shape in drawn.shapes if shape.first == 0 or shape.last > drawn.last
    ]


def _walks(
    names: Sequence[str],
    documents: Sequence[Document],
    each_drawn: Sequence[Map],
) -> list[Walk]:
    """Return the walk of each actor of each run, in the legend's order."""
    walks: list[Walk] = []
    for name, document, drawn in zip(names, documents, each_drawn, strict=True):
        outcome = _outcome(document.record, document.sources.success)
        for actor, walk in drawn.walks.items():
            title = name if len(drawn.walks) == 1 else f"{name}, {actor}"
            walks.append((title, walk, outcome))
    return walks


def _outcome(record: EpisodeRecord, success: str) -> str:
    """Return the outcome of an episode in a word or two; a search that no metric judges has that of
    its detector."""
    scores = record.scores
    if record.trajectory.ended == "failed":
        return FAILED
    if success in scores:
        return "solved" if is_solved(scores[success]) else FAILED
    if FOUND in scores:
        return "found" if is_solved(scores[FOUND]) else "not found"
    return "not judged"


def _box(walks: Sequence[Walk], drawn: Map, shapes: Sequence[Shape]) -> Extent:
    """Return west, south, east and north of the drawing, in metres.

    The box of the ground, if there is one, of the walks and the gold path, with a
    margin and not narrower than 1 to 2 or flatter than 1 to 3, about.
    """
    points = [point for _, point in drawn.gold]
    for _, walk, _ in walks:
        points += [stop.point for stop in walk]
    for shape in shapes:
        is_ground = shape.form in ("rect", "area", "line") or shape.kind in _KNOWN
        if is_ground or "goal-object" in shape.kind:
            points += shape.points
    extent = Extent.of(points)
    margin = _MARGIN
    if not any(shape.form in ("rect", "area") for shape in shapes):
        margin = 4 * _MARGIN  # walks on nothing need room for their marks
    margin += 0.04 * extent.longest
    west, south, east, north = extent.grown(margin)
    # The landmarks near it, with room for their names.
    near = Extent(west, south, east, north)
    for shape in shapes:
        if shape.kind == LANDMARK and near.grown(margin).contains(shape.points[0]):
            x, y = shape.points[0]
            west = min(west, x - margin)
            south = min(south, y - margin)
            east = max(east, x + margin)
            north = max(north, y + margin)
    # A walk that goes straight needs room, too.
    east = max(east, west + 0.5 * (extent.north - extent.south))
    north = max(north, south + 0.35 * (east - west))
    return Extent(west, south, east, north)


def _draw_ground(axes: Axes, drawn: Map, shapes: Sequence[Shape], inch: float) -> None:
    """Draw the plan, the graph, and the names that fit into their rooms.

    ``inch`` is the number of inches of a metre on paper.
    """
    from matplotlib.patches import Circle, Polygon

    # The first shape of a kind is the sign of the legend, too.
    unlabeled = dict(_SIGNS)
    for shape in shapes:
        words = shape.kind.split()
        sign = next((word for word in unlabeled if word in words), "")
        label = unlabeled.pop(sign, None)
        if shape.form == "line":
            # A shape's kind is a list of classes; the first with a style decides.
            known = [word for word in words if word in _LINES]
            if known:
                style = _LINES[known[0]]
                xs, ys = zip(*shape.points, strict=True)
                axes.plot(xs, ys, zorder=1.5, label=label, **style)
            continue
        fill = _fill_of(words)
        if fill is None:
            continue
        if shape.form == "dot":
            at = shape.points[0]
            # Sizes are in pixels of a page; a dot keeps its share of a column.
            radius = _DOT * shape.size / inch
            axes.add_patch(Circle(at, radius, **{"zorder": 1.6, **fill}))
        below = {"zorder": 1.0, **fill}
        for corners in _outlines(shape):
            axes.add_patch(Polygon(corners, closed=True, label=label, **below))
    for a, b in drawn.edges:
        if a in drawn.places and b in drawn.places:
            ends = (drawn.places[a], drawn.places[b])
            xs, ys = zip(*ends, strict=True)
            axes.plot(xs, ys, color=FAINT, linewidth=0.5, zorder=1.7)


def _fill_of(words: Sequence[str]) -> JsonObject | None:
    """Return the style of a shape by the words of its kind; None for one that is left out."""
    paint = next((p for p in _PAINTS if f"c-{p}" in words), None)
    if paint is not None and "open" in words:
        return {"facecolor": "none", "edgecolor": paint, "linewidth": 1.0}
    if paint is not None:
        return {"facecolor": paint, "edgecolor": "none", "alpha": 0.65, "zorder": 1.4}
    return next((_FILLS[kind] for kind in _FILLS if kind in words), None)


def _outlines(shape: Shape) -> list[list[Point]]:
    """Return the corners of a shape's parts; none for dots and labels."""
    if shape.form == "area":
        return [list(shape.points)]
    if shape.form == "rect":
        return [_corners(Extent.of(shape.points))]
    if shape.form == "cells":
        return [
            _corners(Extent.around(middle, shape.size, shape.size))
            for middle in shape.points
        ]
    return []


def _corners(extent: Extent) -> list[Point]:
    """Return the four corners of a rectangle, in order around it."""
    west, south, east, north = extent
    return [
        (west, south),
        (east, south),
        (east, north),
        (west, north),
    ]


def _is_outside(shape: Shape, box: Extent) -> bool:
    """True for a landmark that is not in the drawing."""
    return shape.kind == LANDMARK and not box.contains(shape.points[0])


def _lines_of(walks: Sequence[Walk], drawn: Map) -> list[list[Point]]:
    """Return the lines that names must not cover: the walks, and the gold path."""
    gold = [point for _, point in drawn.gold]
    return [gold, *(line_of(walk) for _, walk, _ in walks)]


def _faint_lines(drawn: Map, shapes: Sequence[Shape]) -> list[Sequence[Point]]:
    """Return the lines of the ground: the graph, walls and outlines of furniture."""
    lines: list[Sequence[Point]] = []
    for a, b in drawn.edges:
        if a in drawn.places and b in drawn.places:
            lines.append((drawn.places[a], drawn.places[b]))
    for shape in shapes:
        if shape.form == "line":
            lines.append(shape.points)
        elif shape.form in ("rect", "area"):
            [corners] = _outlines(shape)
            lines.append([*corners, corners[0]])
    return lines


class _Labels:
    """Writes names next to points, clear of marks, lines and each other as far as there is room.

    ``box`` is the drawing in metres, ``inch`` the number of inches of a metre on paper. ``lines``
    must not be covered; ``faint`` ones are, where there is no other room.
    """

    def __init__(
        self,
        axes: Axes,
        box: Extent,
        inch: float,
        lines: Sequence[Sequence[Point]],
        faint: Sequence[Sequence[Point]] = (),
    ) -> None:
        self._axes = axes
        self._box = box
        self._inch = inch
        self._taken: list[Extent] = []
        self._dots = self._dotted(lines)
        self._faint = self._dotted(faint)

    def _dotted(self, lines: Sequence[Sequence[Point]]) -> _Points:
        """Return points on lines, close to each other on paper, as rows of x and y."""
        dots: list[Point] = []
        for line in lines:
            dots += line
            for before, after in pairwise(line):
                count = int(math.dist(before, after) * self._inch / _STEP)
                for n in range(1, count):
                    x = before[0] + (after[0] - before[0]) * n / count
                    y = before[1] + (after[1] - before[1]) * n / count
                    dots.append((x, y))
        return np.asarray(dots, dtype=np.float64).reshape(-1, 2)

    def keep_clear(self, at: Point, points: float) -> None:
        """Keep names off a mark with this radius in points."""
        side = 2 * self._metres(points)
        self._taken.append(Extent.around(at, side, side))

    def dot(self, at: Point) -> None:
        """Draw the dot of a place that a letter names."""
        self._axes.plot(*at, marker="o", markersize=2.0, color=INK, zorder=3.6)

    def write(
        self, text: str, at: Point, gap: float, size: float = _SMALL, **style: Any
    ) -> None:
        """Write a text ``gap`` points from a point (metres), on the side with the most room.

        A white rim keeps it legible on lines, and a thin line leads to the point from afar.
        """
        wide, high = self._size(text, size)
        away = self._metres(gap)
        # Right above the point first, then around it, then farther away.
        places = []
        for far in range(1, _FARTHEST + 1):
            for east, north in _SIDES:
                x = at[0] + east * (far * away + wide / 2)
                y = at[1] + north * (far * away + high / 2)
                places.append(Extent.around((x, y), wide, high))
        costs = [self._cost(place) for place in places]
        best = costs.index(min(costs))
        place = places[best]
        if best >= _NEAR * len(_SIDES):
            self._lead(place, at, away)
        self._put(text, place, size, **style)

    def write_room(self, text: str, corners: Sequence[Point]) -> None:
        """Write a room's name into the corner with the most room, if the room is wide enough and a
        corner is free of marks and other names."""
        room = Extent.of(corners)
        wide, high = self._size(text, _SMALL)
        if wide >= room.east - room.west:
            return
        inset = self._metres(2)
        inner = room.grown(-inset)
        # The upper left one first
        middles = [
            (x, y)
            for y in (inner.north - high / 2, inner.south + high / 2)
            for x in (inner.west + wide / 2, inner.east - wide / 2)
        ]
        places = [Extent.around(middle, wide, high) for middle in middles]
        place = min(places, key=self._cost)
        if self._cost(place) < _MARKED:
            self._put(text, place, _SMALL, color=QUIET)

    def draw_scale(self) -> None:
        """Draw a bar of a round length, at most a quarter of the width, in the corner of the
        drawing that has the least in it, the lower left one first."""
        west, south, east, north = self._box
        # A longer bar would be taken for a part of the map.
        quarter = (east - west) / 4
        fitting = [scale for scale in _SCALES if scale <= quarter]
        length = max(fitting, default=_SCALES[0])
        text = f"{length:g} m"
        wide, high = self._size(text, _SCALE_TEXT)
        gap = self._metres(3)
        high = 1.2 * high
        whole = length + gap + wide
        middles = [
            (x, y)
            for y in (south + high / 2 + gap, north - high / 2 - gap)
            for x in (west + whole / 2 + gap, east - whole / 2 - gap)
        ]
        places = [Extent.around(middle, whole, high) for middle in middles]
        place = min(places, key=lambda each: self._cost(each.grown(gap / 2)))
        self._taken.append(place)
        left, bottom, right, top = place.grown(gap / 2)
        # Where no corner is free, lines of the ground end at the bar.
        self._axes.fill(
            (left, right, right, left),
            (bottom, bottom, top, top),
            facecolor="white",
            edgecolor="none",
            zorder=2.7,
            clip_on=False,
        )
        level = (place.south + place.north) / 2
        self._axes.plot(
            [place.west, place.west + length],
            [level, level],
            color=INK,
            linewidth=1.4,
            zorder=2.75,
            clip_on=False,
            solid_capstyle="butt",
        )
        self._axes.annotate(
            text,
            (place.west + length + gap, level),
            fontsize=_SCALE_TEXT,
            va="center",
            zorder=2.75,
            annotation_clip=False,
        )

    def _metres(self, points: float) -> float:
        """Return the length on the map of points on paper."""
        return points / 72 / self._inch

    def _size(self, text: str, size: float) -> tuple[float, float]:
        """Return the width of a text and the height of a capital letter, in metres of the map."""
        weight = "bold" if size > _SMALL else "normal"
        wide = text_width(text, size, weight) / self._inch
        return wide, self._metres(0.8 * size)

    def _put(self, text: str, place: Extent, size: float, **style: Any) -> None:
        """Write a text to its place, which no other name takes then."""
        from matplotlib.patheffects import withStroke

        self._taken.append(place)
        x = (place.west + place.east) / 2
        y = (place.south + place.north) / 2
        self._axes.annotate(
            text,
            (x, y),
            fontsize=size,
            ha="center",
            va="center",
            zorder=3.8,
            path_effects=[withStroke(linewidth=1.2, foreground="white")],
            annotation_clip=False,
            **style,
        )

    def _lead(self, place: Extent, at: Point, away: float) -> None:
        """Draw a thin line from a name to its point, which ends before the point's mark."""
        near = (
            min(max(at[0], place.west), place.east),
            min(max(at[1], place.south), place.north),
        )
        share = 0.7 * away / math.dist(near, at)
        x = at[0] + share * (near[0] - at[0])
        y = at[1] + share * (near[1] - at[1])
        xs = [near[0], x]
        ys = [near[1], y]
        self._axes.plot(xs, ys, color=QUIET, linewidth=0.4, zorder=3.7)

    def _cost(self, place: Extent) -> float:
        """Return how much a text at a place would hide, and most if it left the drawing."""
        # Lines have a width, too.
        wider = place.grown(self._metres(1))
        cost = _count_in(wider, self._dots) + _FAINTLY * _count_in(wider, self._faint)
        for other in self._taken:
            overlaps_x = place.west < other.east and other.west < place.east
            if overlaps_x and place.south < other.north and other.south < place.north:
                cost += _MARKED
        outside = [each for each in place.corners if not self._box.contains(each)]
        return cost + 10 * _MARKED * len(outside)


def _count_in(place: Extent, dots: _Points) -> int:
    """Return the number of points in a rectangle."""
    corner = (place.west, place.south)
    opposite = (place.east, place.north)
    inside = (dots >= corner) & (dots <= opposite)
    return int(inside.all(axis=1).sum())


def _draw_names(labels: _Labels, shapes: Sequence[Shape]) -> None:
    """Write the names of landmarks, of goal objects once, and of rooms that have room for them."""
    written: set[str] = set()
    for shape in shapes:
        text = spaced(shape.label)
        if shape.kind == LANDMARK or "goal-object" in shape.kind:
            if text not in written:
                # A goal may stand in front of a dark wall.
                color = QUIET if shape.kind == LANDMARK else INK
                labels.write(text, shape.points[-1], 3.0, color=color)
            written.add(text)
    # Rooms are seen without their names, so they take what is left.
    for shape in shapes:
        if shape.form == "label":
            labels.write_room(spaced(shape.label), shape.points)


def _lettered(
    labels: _Labels,
    text: str,
    document: Document,
    letters: Letters,
    marked: set[str],
    ringed: set[Point],
) -> str:
    """Return the text with letters for the ids of places, which are marked on the map.

    Those in ``marked`` have their mark already, as another run's mistake names them, too. Letters
    of ``ringed`` places stand outside of the ring.
    """
    drawn = document.drawn
    places: dict[str, Point] = {}
    if isinstance(drawn, Map):
        places = dict(drawn.gold) | drawn.places
    for place, letter in letters.by_place.items():
        # Text keeps an id that has no mark on the map: its letter would lead nowhere.
        if place in text and place in places:
            text = text.replace(place, letter)
            if letter not in marked:
                point = places[place]
                gap = _RING if point in ringed else _LETTER
                labels.dot(point)
                labels.write(letter, point, gap, 7.5, fontweight="bold")
            marked.add(letter)
    return text


def _draw_goal(axes: Axes, drawn: Map, shapes: Sequence[Shape]) -> None:
    """Draw the gold path below the walks and its end as a star; name the signs of goals."""
    if drawn.gold:
        points = [point for _, point in drawn.gold]
        xs, ys = zip(*points, strict=True)
        axes.plot(
            xs,
            ys,
            color=_GOAL,
            linewidth=5.5,
            alpha=0.45,
            zorder=2,
            label="reference path",
            solid_capstyle="round",
        )
        axes.plot(
            xs[-1],
            ys[-1],
            linestyle="none",
            marker="*",
            markersize=12,
            color=_GOAL,
            markeredgecolor=INK,
            markeredgewidth=0.5,
            zorder=2.2,
            label="goal",
        )
    # A robot's target is only reported, as the page's legend says.
    label = dict(drawn.legend).get("object goal-object", "")
    if "detector" not in label:
        label = "goal object"
    # The shapes are drawn elsewhere: empty lines only add their signs to the legend.
    for form, marker in (("dot", "o"), ("rect", "s")):
        goals = [
            shape
            for shape in shapes
            if shape.form == form and "goal-object" in shape.kind.split()
        ]
        style = _fill_of(goals[0].kind.split()) if goals else None
        if style is not None:
            axes.plot(
                [],
                [],
                linestyle="none",
                marker=marker,
                markerfacecolor=style["facecolor"],
                markeredgecolor=style["edgecolor"],
                markeredgewidth=style["linewidth"],
                label=label,
            )


def _draw_walk(
    axes: Axes,
    name: str,
    walk: Sequence[Waypoint],
    outcome: str,
    number: int,
    inch: float,
) -> None:
    """Draw a walk: an open circle at its start, arrows along it, and a mark at its end.

    The mark is that of series ``number``, or a cross if the episode failed.
    ``inch`` is the number of inches of a metre on paper.
    """
    color, dashes, marker = look(number)
    points = line_of(walk)
    xs, ys = zip(*points, strict=True)
    # A white rim keeps walks apart where they cross.
    axes.plot(
        xs,
        ys,
        color="white",
        linewidth=2.2,
        zorder=2.8,
        solid_joinstyle="round",
    )
    axes.plot(
        xs,
        ys,
        color=color,
        linestyle=dashes,
        linewidth=1.3,
        zorder=3,
    )
    # Arrows are a little behind the middle of a leg, where walks to and fro do not meet.
    for before, after in pairwise(points):
        # A shorter leg would be all arrow.
        if math.dist(before, after) * inch > 0.14:
            east = after[0] - before[0]
            north = after[1] - before[1]
            turn = math.degrees(math.atan2(north, east))
            x = before[0] + 0.55 * east
            y = before[1] + 0.55 * north
            tip: Any = (3, 0, turn - 90)
            axes.plot(
                x,
                y,
                marker=tip,
                markersize=4.2,
                color=color,
                markeredgewidth=0,
                zorder=3.1,
            )
    axes.plot(
        *points[0],
        marker="o",
        markersize=5,
        markerfacecolor="white",
        markeredgecolor=color,
        markeredgewidth=1.1,
        zorder=3.4,
    )
    end: dict[str, Any] = {
        "marker": marker,
        "markersize": 5.5,
        "markeredgewidth": 0.0,
    }
    if outcome == FAILED:
        end = {"marker": "x", "markersize": 6.0, "markeredgewidth": 1.8}
    axes.plot(
        *points[-1],
        linestyle="none",
        color=color,
        zorder=3.5,
        **end,
    )
    # For the legend alone: its sign has the line and the mark of the end.
    axes.plot(
        [],
        [],
        color=color,
        linestyle=dashes,
        label=f"{name} ({outcome})",
        **end,
    )


def _draw_blocked(axes: Axes, walk: Sequence[Waypoint], inch: float) -> None:
    """Draw a bar ahead of each place where something was in the way, as on the episode's page."""
    ahead = _BLOCKED / 72 / inch
    label: str | None = "blocked"
    for stop in walk:
        if not stop.blocked or stop.heading is None:
            continue
        middle = displaced(stop.point, stop.heading, ahead)
        ends = [displaced(middle, stop.heading + side, ahead / 2) for side in (-90, 90)]
        xs, ys = zip(*ends, strict=True)
        axes.plot(xs, ys, color=INK, linewidth=1.4, zorder=3.3, label=label)
        label = None  # one sign in the legend


def _mark_mistakes(
    axes: Axes,
    labels: _Labels,
    names: Sequence[str],
    documents: Sequence[Document],
    each_drawn: Sequence[Map],
) -> list[str]:
    """Ring the mistake of each run, and return the sentences on them for the caption.

    Of several runs, each ring has the color of its walk, and its run's name in the legend.
    """
    # Letters are those of the first run's page; further places of the others come after them.
    places = chain.from_iterable(each.letters.by_place for each in documents)
    letters = Letters.of_ids([*places])
    mistakes = []
    ringed: set[Point] = set()
    walks_before = 0
    for name, document, drawn in zip(names, documents, each_drawn, strict=True):
        if document.mistake is not None:
            whose = ""
            color = INK
            if len(documents) > 1:
                whose = f"{name}: "
                color, _, _ = look(walks_before)
            _draw_mistake(axes, drawn, whose, color)
            for stop in _rings(drawn):
                labels.keep_clear(stop.point, _RING)
                ringed.add(stop.point)
            mistakes.append((whose, document.mistake.text, document))
        walks_before += len(drawn.walks)
    # Letters stand next to the rings, so they are written once all rings have their place.
    sentences = []
    marked: set[str] = set()
    for whose, text, document in mistakes:
        lettered = _lettered(labels, text, document, letters, marked, ringed)
        sentences.append(f"{whose}{lettered}")
    return sentences


def _rings(drawn: Map) -> list[Waypoint]:
    """Return where the actor stood before the mistake, as on the episode's page.

    That step left the path for good or else lost the episode. There is none if the limit of steps
    is to blame.
    """
    return [*filter(None, map(drawn.ringed, drawn.walks.values()))]


def _draw_mistake(axes: Axes, drawn: Map, whose: str, color: str) -> None:
    """Draw the ring of a mistake; ``whose`` is the run in the legend."""
    ring: dict[str, Any] = {
        "marker": "o",
        "markerfacecolor": "none",
        "markeredgecolor": color,
        "markeredgewidth": 0.9,
        "linestyle": "none",
    }
    for stop in _rings(drawn):
        axes.plot(*stop.point, markersize=12, zorder=3.6, **ring)
        # For the legend alone: rings of the map's size would overlap in it.
        axes.plot(
            [],
            [],
            markersize=_LEGEND_RING,
            **ring,
            label=f"{whose}{drawn.mistake_words} (step {drawn.mistake})",
        )
