"""Distance of an episode from success, at the start and after each step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from wayword.core.visible import count

# Metres that a path must grow by to count as worse: less is rounding of poses
_ROUNDING = 0.05


def length_in(unit: str, length: float) -> str:
    """``3.0 m``, ``2 links``, ``no path``."""
    if not math.isfinite(length):
        return "no path"
    if unit == "m":
        return f"{length:.1f} m"
    return count(round(length), unit.removesuffix("s"))


@dataclass(frozen=True)
class GoalProgress:
    """The distance from success at the start and after each step.

        >>> progress = GoalProgress((5.0, 3.0, 1.0, 6.0), unit="m")
        >>> progress.best_step, progress.worst_step, progress.describe(3)
        (2, 3, '6.0 m to go, 5.0 m further')

    ``values`` are the distances left, in ``unit``; or, if ``conditions`` is not 0, the number of
    goal conditions met, of ``conditions``. Distances are along paths, unless they are ``straight``
    lines, through walls."""

    values: tuple[float, ...] = ()
    conditions: int = 0
    unit: str = "m"
    straight: bool = False

    @cached_property  # as every step of a page asks for it
    def informative(self) -> bool:
        """True if the values tell one step from another."""
        return len(set(self.values)) > 1

    @property
    def held_from(self) -> int:
        """The step (from 1) after which all conditions held to the end; 0 if they do not."""
        values = self.values
        if not self.conditions or not values or values[-1] < self.conditions:
            return 0
        step = len(values) - 1
        while step and values[step - 1] == self.conditions:
            step -= 1
        return step

    @property
    def best_step(self) -> int:
        """First step after which success was nearest; 0 is the start."""
        if not self.values:
            return 0
        if self.conditions:
            return self.values.index(max(self.values))
        return self.values.index(min(self.values))

    @property
    def first_loss(self) -> int:
        """First step (from 1) after which success was farther away; 0 if there is none. A condition
        that is met again later, for example after an object is moved, does not count."""
        # The most conditions met from each step on: an object may be put down on the way and
        # picked up again. All at once, as episodes may have tens of thousands of steps.
        later = [*accumulate(self.values[::-1], max)][::-1]
        for step in range(1, len(self.values)):
            regained = self.conditions and later[step] >= self.values[step - 1]
            if self.change(step) < 0 and not regained:
                return step
        return 0

    @property
    def worst_step(self) -> int:
        """First step (from 1) after which success was farthest away; of conditions, the one that
        undid most. 0 if it never was farther than at the start."""
        if self.values and not self.conditions:
            return self.values.index(max(self.values))
        worst = min(range(1, len(self.values)), key=self.change, default=0)
        if self.change(worst) < 0:
            return worst
        return 0

    def change(self, step: int) -> float:
        """Return the gain of a step: positive if it led nearer to success."""
        if not 1 <= step < len(self.values):
            return 0.0
        before = self.values[step - 1]
        after = self.values[step]
        if before == after:  # also where both are infinite
            return 0.0
        gained = before - after
        if self.conditions:  # more of them are better, where a distance should fall
            gained = after - before
        if abs(gained) > _ROUNDING:
            return gained
        return 0.0

    def describe(self, step: int) -> str:
        """Describe the change made by a step; empty if it is unknown."""
        if not self.informative or not 0 <= step < len(self.values):
            return ""
        change = self.change(step)
        now = self.values[step]
        if not self.conditions:
            away = "away in a straight line" if self.straight else "to go"
            text = f"{self.length(now)} {away}"
            if change < 0:
                text += f", {self.length(-change)} further"
            return text
        if not change:
            return ""
        more = "more" if change > 0 else "fewer"
        met = f"{now:.0f} of {self.conditions} goal conditions met"
        return f"{met}, {abs(change):.0f} {more}"

    def kind(self, step: int) -> str:
        """Return the CSS classes for the description of a step."""
        change = self.change(step)
        if change < 0:
            return "led worse"
        if change and self.conditions:
            return "led better"
        return "led"

    def summary(self) -> str:
        """Summarize how near success came before the end; empty if the end was nearest."""
        if not self.informative and self.conditions < 2:
            return ""
        step = self.best_step
        best = self.values[step]
        last = self.values[-1]
        if self.conditions:
            when = " at the end" if best else " at any time"
            # What held from the start on is no merit of the agent.
            if best and min(self.values) == best:
                when = ", already true at the start"
            text = f"{last:.0f} of {self.conditions} goal conditions met{when}"
            if best > last:
                text += f", {best:.0f} after step {step}"
            return text
        if 0 < step < len(self.values) - 1:
            line = " in a straight line" if self.straight else ""
            return f"nearest: {self.length(best)}{line}, after step {step}"
        return ""

    @property
    def left(self) -> str:
        """The distance left at the end in words: ``3.0 m in a straight line``; empty if there is
        none."""
        if not self.values or self.conditions:
            return ""
        text = self.length(self.values[-1])
        return f"{text} in a straight line" if self.straight else text

    def length(self, length: float) -> str:
        """Return a length in the unit of the progress."""
        return length_in(self.unit, length)
