"""Text of a card, as the terminal shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from wayword.bench.ladders import (
    HOPELESS,
    LEAST_PEOPLE,
    PERSON,
    QUICK_HOPELESS,
    is_hopeless,
)
from wayword.bench.outcomes import dollars_text
from wayword.bench.sight import verdict
from wayword.core.episode import JsonObject
from wayword.metrics.table import latex, markdown

HEAD = ("Track", "H50", "95%", "Best level", "95%", "Success", "95%")
# In place of a horizon that is no number
NO_HORIZON = "no horizon"
BELOW = "below the ladder"


# What to do with a card, and the command for it. FOLDER has the card.
CARD_STEPS = (
    ("Every episode", "wayword view FOLDER"),
    ("Two players", "wayword bench compare FOLDER OTHER"),
    ("All cards", "wayword bench board runs/bench"),
)
BOARD_STEPS = (
    ("Your own card", "wayword bench --model openai:NAME --quick"),
    ("Two players", "wayword bench compare FOLDER OTHER"),
    ("Every episode", "wayword view FOLDER"),
)


def _cells(name: str, row: JsonObject) -> tuple[str, ...]:
    """Return a line of the card's table: the horizon, the best level and the success of a track."""
    return (
        name,
        *horizon_texts(row["h50"]),
        *percents(row["ceiling"]),
        *percents(row["success"]),
    )


def horizon_texts(h50: Sequence[float | str]) -> tuple[str, str]:
    """Return a horizon and its interval as texts.

    It is below the ladder where success never exceeds one half. There is none where the
    interval is the whole ladder: success does not fall.
    """
    texts = []
    for end in h50:
        if isinstance(end, bool):
            raise ValueError(f"a horizon is a number or a text, got {end!r}")
        if not isinstance(end, str):
            end = f"{end:.3g}"
        texts.append(end)
    # The whole ladder as an interval says nothing.
    value, low, high = texts
    if value.startswith("<"):
        value = BELOW
    elif low.startswith("<") and high.startswith(">"):
        value = NO_HORIZON
    return value, f"[{low}, {high}]"


def percents(triple: Sequence[float] | None) -> tuple[str, str]:
    """Return a rate and its interval as texts; dashes where it is not stated.

    Raises ``ValueError`` for numbers that are no rates.
    """
    if triple is None:
        return "–", ""
    if not all(abs(value) <= 1 for value in triple):
        raise ValueError(f"rates are between -1 and 1, got {list(triple)!r:.60}")
    value, low, high = (100 * each for each in triple)
    digits = 0
    # One failure of 600 must not be shown as none. Nearer than 1e-7
    # points, it is 0 or 100% but for rounding errors.
    if 1e-7 < abs(value) < 100 - 1e-7 and round(abs(value)) in (0, 100):
        digits = 1
    # z: what rounds to 0 has no sign.
    return f"{value:z.{digits}f}%", f"[{low:z.0f}, {high:z.0f}]"


def title(card: JsonObject) -> str:
    """Return the player and the version, in a line."""
    kind = ", quick" if card["quick"] else ""
    twin = ", private twin" if card.get("private") else ""
    player = " with ".join(part for part in (card["agent"], card["model"]) if part)
    if card["agent"] == PERSON:
        player += " (a person)"
    return f"{player} on bench {card['bench']}{kind}{twin}"


def player_note(card: JsonObject) -> str:
    """Return what a person's card does and does not say, or what the player was trained on; empty
    for other players."""
    if card["agent"] == PERSON:
        return (
            "One person: intervals are for other places, not for other people. A claim about "
            f"people needs at least {LEAST_PEOPLE} of them, each in a folder of their own."
        )
    return " ".join(f"Note: {line}." for line in card.get("trained", ()))


def render(card: JsonObject, form: str = "rich") -> str:
    """Return the card as text: ``rich``, ``json``, ``markdown`` or ``latex``."""
    if form == "json":
        return json.dumps(card, indent=2, allow_nan=False)
    rows = [_cells(name, row) for name, row in card["tracks"].items()]
    # The total has no horizon: tracks have different units.
    rows.append(("all", "", "", "", "", *percents(card["success"])))
    # Splits that were not played have no numbers.
    real = [row for row in card.get("real", ()) if row["episodes"]]
    rows += [
        (f"real: {row['dataset']}", "", "", "", "", *percents(row["success"]))
        for row in real
    ]
    note = player_note(card)
    if form in ("markdown", "latex"):
        write = markdown if form == "markdown" else latex
        return write(HEAD, 1, rows, [*filter(None, (title(card), note))])
    lines = [title(card), ""]
    for name, row in card["tracks"].items():
        _, h50, h50_range, best, best_range, success, success_range = _cells(name, row)
        lines.append(
            f"{name} ({row['unit']}): H50 {h50} {h50_range}, best level {best} {best_range}"
        )
        # A reader must not take such a horizon for a limit.
        if not row["monotone"]:
            lines.append("  success rises with length: the horizon is of its last fall")
        unplayed = why_unplayed(row, card["quick"])
        lines += [_bar(level, unplayed) for level in row["levels"]]
        lines.append(f"  success {success} {success_range} over all levels\n")
    if card["success"]:
        success, success_range = percents(card["success"])
        lines.append(f"mean success over levels and tracks: {success} {success_range}")
    else:
        lines.append("no total: it needs all tracks")
    if card.get("robust"):
        lines.append("")
    lines += [
        f"{row['kind']}={row['rate']:g}: {row['clean']:.0%} -> {row['perturbed']:.0%}, loss "
        f"{' '.join(percents(row['loss']))} on {row['episodes']} episodes, p {row['p']:.3f}"
        for row in card.get("robust", ())
    ]
    lines += sight_lines(card)
    if note:
        lines.append(note)
    lines.append(effort_text(card))
    if "real" in card:
        lines += [
            "",
            "published data, in no number above:",
            *map(real_line, card["real"]),
        ]
    return "\n".join(lines)


def sight_lines(card: JsonObject) -> list[str]:
    """Return the conditions of sight of a card as lines, and what they say of the model."""
    rows = card.get("sight", ())
    lines = [""] if rows else []
    for row in rows:
        line = f"{row['condition']}: success {' '.join(percents(row['success']))}"
        if row["condition"] != "words" and row["change"]:
            change = " ".join(percents(row["change"]))
            line += f", change from words {change}"
        lines.append(f"{line} on {row['episodes']} episodes")
    if card.get("looks"):
        lines.append(verdict(card["looks"]))
    return lines


def real_line(row: JsonObject) -> str:
    """Return a published dataset of a card as a line.

    The split and its numbers, and the files that are missing.
    """
    missing = "; ".join(row["missing"])
    if not row["dataset"]:
        return f"{row['named']}: not played, missing: {missing}"
    line = f"{row['dataset']}: not played yet"
    if row["episodes"]:
        line = (
            f"{row['dataset']}: success {' '.join(percents(row['success']))}, {row['metric']} "
            f"{' '.join(percents(row['value']))}, {sample_count(row)} episodes ({row['clusters']} "
            f"{row['unit']}), {row['rejection_rate']:.1%} rejected, {row['tokens']:,} tokens, "
            f"{dollars_text(row)}, {row['seconds']:.0f} s"
        )
    if missing:
        line += f"\n  in place of {row['named']}, missing: {missing}"
    return line


def sample_count(row: JsonObject) -> str:
    """Return the episodes of a row: ``200``, or ``150 of 200`` where the sample is not complete."""
    if row["episodes"] == row["sample"]:
        return str(row["sample"])
    return f"{row['episodes']} of {row['sample']}"


_BAR = 24  # characters of the bar of a level that is solved completely


def why_unplayed(track: JsonObject, quick: bool) -> str:
    """Return why a card's track has levels that were not played: it ended, or is not finished."""
    levels = [level for level in track["levels"] if level["episodes"]]
    solved = [level["solved"] for level in levels]
    if is_hopeless(solved, [level["episodes"] for level in levels], quick):
        highest = QUICK_HOPELESS if quick else HOPELESS
        return f"not played: the levels before it are below {highest:.0%}"
    return "not played yet"


def _bar(level: JsonObject, unplayed: str) -> str:
    """Return a level of a ladder as a line of text, with a bar for its success."""
    if not level["episodes"]:
        return f"  {level['length']:>4} {unplayed}"
    rate, low, high = level["success"]
    # Raises for a card with numbers that are no rates.
    percents(level["success"])
    # The bar shows at a glance what the numbers say.
    full = round(_BAR * rate)
    counts = f"{level['solved']}/{level['episodes']}"
    return (
        f"  {level['length']:>4} {'█' * full}{'·' * (_BAR - full)} {100 * rate:3.0f}% "
        f"[{100 * low:.0f}, {100 * high:.0f}] {counts}"
    )


def effort_text(card: JsonObject) -> str:
    """Return what a card took: tokens and dollars, and on its ladders rejections and seconds."""
    steps = 0.0
    rejected = 0.0
    seconds = 0.0
    for track in card["tracks"].values():
        for level in (each for each in track["levels"] if each["episodes"]):
            # A card from another program may lack what no horizon needs.
            share = level.get("steps_over_length", 0.0)
            taken = share * level["length"] * level["episodes"]
            steps += taken
            rejected += taken * level.get("rejection_rate", 0.0)
            seconds += level.get("seconds", 0.0)
    text = f"{card['tokens']:,} tokens, {dollars_text(card)}"
    if steps:
        text += f", {rejected / steps:.1%} rejected, {seconds / steps:.2f} s a step"
    return text
