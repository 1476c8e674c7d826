"""Comparison of the cards of two players, on the episodes that both have tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np

from wayword.bench.card_text import effort_text, horizon_texts, title
from wayword.bench.horizon import Attempt, place_means
from wayword.bench.ladders import DIFFERENCE, Track, open_bench
from wayword.bench.outcomes import place, results
from wayword.bench.real import sample_folder
from wayword.bench.scorecard import outcomes, read_card, successes
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError
from wayword.metrics.intervals import ALPHA, Interval, MeanEstimate, estimates, holm
from wayword.metrics.table import latex, markdown
from wayword.runs.record import is_run


@dataclass(frozen=True)
class TrackDifference:
    """The second player's success less the first's on the episodes of a track, or of a published
    split, that both tried, in a number of ``places``. ``rates`` are the success of both on them.
    ``holm`` and ``difference`` are corrected for the number of tracks, or of splits; ``p`` is not.
    """

    track: str
    rates: tuple[float, ...]
    shared: int
    places: int
    difference: Interval
    p: float
    holm: float


def compare_cards(first: Path, second: Path) -> list[TrackDifference]:
    """Return the difference over all shared tracks, if there are several, and those by track.

    Paired by episode. Raises ``UsageError`` where nothing is shared.
    """
    cards = [read_card(folder) for folder in (first, second)]
    # Other versions have other episodes.
    if cards[0]["bench"] != cards[1]["bench"]:
        raise UsageError(f"{first} and {second} are of two versions of the bench")
    found = []
    totals = [dict[str, float](), dict[str, float]()]
    for track in open_bench(cards[0]["bench"]).tracks:
        if not all(track.name in card["tracks"] for card in cards):
            continue  # a folder may have further runs, of a command with other tracks
        # Read from the runs, not from the cards.
        played = [list(outcomes(each, track)) for each in (first, second)]
        wins = [successes(each) for each in played]
        found.append((track.name, wins, place))
        for means, each in zip(totals, played, strict=True):
            means |= place_totals(track, each)
    compared = _differences(found)
    if not compared:
        raise UsageError(
            f"{first} and {second} share no episode; compare folders with runs"
        )
    # The total stands first, corrected apart from the tracks.
    if len(compared) > 1:
        compared[:0] = _differences([(ALL_TRACKS, totals, str)])
    return compared


ALL_TRACKS = "all tracks"  # the first row, if there are several


def place_totals(
    track: Track,
    played: Sequence[tuple[int, str, bool, dict[str, float]]],
) -> dict[str, float]:
    """Return the mean success of each place of a track over its levels."""
    attempts = [
        Attempt(level, place(name), name, won) for level, name, won, _ in played
    ]
    means = place_means(attempts, len(track.lengths))
    return {f"{track.name}/{where}": mean for where, mean in means.items()}


def compare_real(first: Path, second: Path) -> list[TrackDifference]:
    """Return differences on each split of published data that both cards have.

    Corrected apart from the tracks.
    """
    cards = [read_card(folder) for folder in (first, second)]
    played = [_real_splits(card) for card in cards]
    found = []
    for real in open_bench(cards[0]["bench"]).real:
        for split in real.splits:
            on = f"{real.name}:{split}"
            # Both must have played the split.
            if not all(on in splits for splits in played):
                continue
            wins = []
            for path in (sample_folder(first, on), sample_folder(second, on)):
                if is_run(path):
                    tried = results(path, real)
                    wins.append({name: float(won) for name, won, _ in tried})
            found.append((on, wins, real.cluster_of))
    return _differences(found)


def _real_splits(card: JsonObject) -> set[str]:
    """Return the published splits of which a card has episodes."""
    return {row["dataset"] for row in card.get("real", ()) if row["episodes"]}


def _differences(
    found: Sequence[tuple[str, Sequence[Mapping[str, float]], Callable[[str], str]]],
) -> list[TrackDifference]:
    """Return paired tests of named pairs of outcomes by episode.

    Those without shared episodes are left out. The last of each of ``found`` returns
    the cluster of an episode.
    """
    rows: list[tuple[str, tuple[float, ...], int, int, MeanEstimate]] = []
    for label, wins, cluster in found:
        # A run is not there.
        if len(wins) < 2:
            continue
        # Paired by episode.
        shared = [name for name in wins[0] if name in wins[1]]
        if shared:
            owners = [cluster(name) for name in shared]
            estimate = _difference(
                wins[0],
                wins[1],
                shared,
                owners,
            )
            rates = tuple(fmean(each[name] for name in shared) for each in wins)
            rows.append((label, rates, len(shared), len(set(owners)), estimate))
    # All tracks are one family of tests.
    corrected = holm([estimate.p for *_, estimate in rows])
    return [
        TrackDifference(
            label,
            rates,
            shared,
            places,
            each.interval(alpha),
            each.p,
            p,
        )
        for (label, rates, shared, places, each), (p, alpha) in zip(
            rows,
            corrected,
            strict=True,
        )
    ]


def _difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    shared: Sequence[str],
    owners: Sequence[str],
) -> MeanEstimate:
    """Return the mean of the second player's outcomes less the first's on shared episodes."""
    gaps = np.array([[second[name] - first[name]] for name in shared])
    return estimates(gaps, [DIFFERENCE], owners)[0]


def ranks(
    players: Sequence[Mapping[str, float]],
    cluster: Callable[[str], str],
) -> list[int]:
    """Return the rank of each player by success on the episodes (or places) that two share.

    One more than the number of players that are significantly better, with Holm's
    correction over the pairs.
    """
    pairs = []
    for a, b in combinations(range(len(players)), 2):
        shared = [name for name in players[a] if name in players[b]]
        if shared:
            # Players are compared on what both have played.
            owners = [cluster(name) for name in shared]
            pairs.append((a, b, _difference(players[a], players[b], shared, owners)))
    # The number of players that are better than each.
    better = [0] * len(players)
    corrected = holm([estimate.p for *_, estimate in pairs])
    for (a, b, estimate), (p, _) in zip(pairs, corrected, strict=True):
        if p < ALPHA and estimate.mean > 0:  # b is better
            better[a] += 1
        elif p < ALPHA:
            better[b] += 1
    return [1 + number for number in better]


COMPARISON_HEAD = ("Track", "First", "Second", "Difference", "95%", "p", "Holm")


def render_comparison(first: Path, second: Path, form: str = "rich") -> str:
    """Return the horizons of two players and their differences, a line a track.

    ``form`` is ``rich``, ``markdown`` or ``latex``; the latter two have the success of both.
    """
    cards = [read_card(folder) for folder in (first, second)]
    heads = [
        f"first:  {title(cards[0])}, {effort_text(cards[0])}",
        f"second: {title(cards[1])}, {effort_text(cards[1])}",
    ]
    rows = compare_cards(first, second)
    if form != "rich":
        cells = [_comparison_cells(row) for row in rows]
        writer = markdown if form == "markdown" else latex
        return writer(COMPARISON_HEAD, 1, cells, heads)
    lines = [*heads, ""]
    for row in rows:
        if row.track == ALL_TRACKS:
            lines.append(f"{row.track}: {_change(row, 'places')}")
            continue
        h50s = [
            " ".join(horizon_texts(card["tracks"][row.track]["h50"])) for card in cards
        ]
        lines.append(f"{row.track}: H50 {h50s[0]} -> {h50s[1]}; {_change(row)}")
    tracks = [row for row in rows if row.track != ALL_TRACKS]
    # Say it before a reader takes "not significant" for "equal".
    clearest = clearest_p(min(row.places for row in tracks), len(tracks))
    if clearest >= ALPHA:
        lines.append(
            f"too few places for a difference on one of {len(tracks)} tracks: the clearest has a "
            f"corrected p of {clearest:.3f}; play without --quick, or fewer --tracks"
        )
    if any(card["quick"] for card in cards):
        lines.append(_quick_note(rows))
    if real := compare_real(first, second):
        lines += [
            "",
            "published data:",
            *(f"{row.track}: {_change(row)}" for row in real),
        ]
    return "\n".join(lines)


def _comparison_cells(row: TrackDifference) -> tuple[str, ...]:
    """Return a line of a comparison's table: the success of both, and their difference."""
    gap = row.difference.times(100)
    return (
        row.track,
        *(f"{rate:.0%}" for rate in row.rates),
        f"{gap.mean:+.0f}",
        f"[{gap.low:+.0f}, {gap.high:+.0f}]",
        f"{row.p:.3f}",
        f"{row.holm:.3f}",
    )


def _quick_note(rows: Sequence[TrackDifference]) -> str:
    """Return what a comparison of quick runs can show at best.

    Its smallest p-values are those of a player that wins in all places.
    """
    tracks = [row for row in rows if row.track != ALL_TRACKS]
    fewest = min(row.places for row in tracks)
    every = sum(row.places for row in tracks)
    clearest = f"on one of {len(tracks)} tracks {clearest_p(fewest, len(tracks)):.2g}"
    if len(tracks) > 1:
        clearest += f", on all together {clearest_p(every, 1):.2g}"
    # With one place there is no test.
    needed = 2
    while clearest_p(needed, 1) >= ALPHA:
        needed += 1
    return (
        f"a quick run can show at best, with a win in every place: p {clearest}; a difference "
        f"needs {needed} places without a loss"
    )


def clearest_p(places: int, tracks: int) -> float:
    """Return the corrected p-value of a track where one player wins everything in all places.

    The other one wins nothing: no comparison can be clearer.
    """
    return min(1.0, tracks * 2 * 0.5**places)


def _change(row: TrackDifference, items: str = "episodes") -> str:
    """Return a difference as text, in points, with a star where it is significant."""
    gap = row.difference.times(100)
    verdict = ""
    if row.holm < ALPHA:
        verdict = " *"
    return (
        f"success {gap.mean:+.0f} points [{gap.low:+.0f}, {gap.high:+.0f}] on {row.shared} "
        f"{items}, p {row.p:.3f}, Holm {row.holm:.3f}{verdict}"
    )
