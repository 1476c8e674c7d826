"""A user's base, whose methods have a time limit and must keep the rules of a base.

Each method runs in one thread of its own. A method that hangs, or that runs at Ctrl-C, is left
there: ``stop`` is called next to it, and the episode ends.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

from wayword.core import interrupts
from wayword.core.blame import CodeError, describe, place_of, running_place
from wayword.core.episode import Episode, JsonObject
from wayword.core.visible import visible
from wayword.worlds.objectnav.base import (
    UNMEASURED_SECONDS,
    Base,
    MotionResult,
    motion_problem,
    place_problem,
    pose_problem,
    report_problem,
    unmeasured_problem,
    view_problem,
)
from wayword.worlds.objectnav.observation import View

Value = TypeVar("Value")
Call = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]
NEXT_VIEW = 0.1
"""Seconds before the next view, after one that measured nothing."""
FAR_APART = (1.0, 45.0)
"""Metres and degrees between a view's place and the pose that no localisation lags behind, but
other units do: centimetres, radians."""
MOST_APART = 3
"""Views in a row at which they end the episode: a robot finds itself on its map again in one."""
STOPPING = 0.8
"""Seconds that a running method, and then ``stop``, may take after Ctrl-C."""


class LimitedBase:
    """A base that calls another one. ``limit`` is the time limit of each method in seconds, None
    for a base with limits of its own; ``limit_name`` is its name for users."""

    def __init__(
        self, base: Base, limit: float | None, limit_name: str = "dataset.motion"
    ) -> None:
        self.base = base
        self._limit = limit
        self._limit_name = limit_name
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._running: Future[Any] | None = None
        # Reentrant, since a signal's handler takes it as well.
        self._changed = threading.Condition()
        self._interrupted = False
        # The last ``stop`` next to another method, and what was said of it
        self._stopping: threading.Thread | None = None
        self._stop_error = ""
        self._stop_line = ""
        # The first method that raised, after which `stop` may raise, too
        self.raised = ""
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def start(self, episode: Episode) -> None:
        """Start the base."""
        self._stop_line = ""
        self._call("start", episode)

    def capture(self) -> View:
        """Return the base's view."""
        view: View = self._call("capture")
        return view

    def rotate(self, degrees: float) -> MotionResult:
        """Turn the base."""
        moved: MotionResult = self._call("rotate", degrees)
        return moved

    def go_to(self, x: float, y: float) -> MotionResult:
        """Let the base go."""
        moved: MotionResult = self._call("go_to", x, y)
        return moved

    def pose(self) -> JsonObject:
        """Return the base's pose."""
        pose: JsonObject = self._call("pose")
        return pose

    def report(self) -> JsonObject:
        """Return the base's report."""
        report: JsonObject = self._call("report")
        return report

    def stop(self) -> None:
        """Stop the base, also next to a method that has not returned."""
        if self._is_busy():
            self._stop_beside()
        else:
            self._call("stop")

    def _is_busy(self) -> bool:
        """True while a method has not returned."""
        return self._running is not None and not self._running.done()

    def _call(self, name: str, *args: object) -> Any:
        """Call a method in the base's thread, and wait for it."""
        if self._is_busy():
            raise CodeError(f"{self._place()} has still not returned")
        call: Future[Any] = Future()
        self._running = call
        self._interrupted = False
        with interrupts.listening(self._interrupt):
            try:
                with self._changed:
                    if not self._interrupted:
                        self._calls.put((call, getattr(self.base, name), args))
                        self._changed.wait_for(
                            lambda: call.done() or self._interrupted, self._limit
                        )
            except KeyboardInterrupt:
                # Raised by the signal's handler, where there is no event loop
                self._interrupted = True
            if self._interrupted:
                # A robot behind rosbridge listens itself, and cancels its goals now.
                wait([call], STOPPING if self._running is call else 0)
                self._stop_beside()
                interrupts.end()
        if not call.done():
            problem = f"has not returned for {self._limit:g} s"
            place = self._place() or f"{place_of(type(self.base))}: {name}"
            self._stop_beside()
            raise CodeError(f"{place} {problem}, the limit of {self._limit_name}")
        if (error := call.exception()) is not None:
            self.raised = self.raised or name
            # It would end the program without a word.
            if isinstance(error, SystemExit):
                raise CodeError(
                    f"{name} must not end the program, got {describe(error)}"
                )
        return call.result()

    def _interrupt(self) -> None:
        """Wake the thread that waits for a method."""
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def _place(self, thread: threading.Thread | None = None) -> str:
        """Return the user's line that a thread runs, and the method; by default the base's."""
        thread = thread or self._thread
        frames = sys._current_frames()
        return running_place(frames.get(thread.ident or 0), __name__)

    def _stop_beside(self) -> None:
        """Stop the base while another method may run, and do not wait long for it.

        A person watches the robot, and has to know if it may still drive.
        """
        if self._stopping is None or not self._stopping.is_alive():
            self._stop_error = ""
            self._stopping = threading.Thread(target=self._stop_base, daemon=True)
            self._stopping.start()
        self._stopping.join(STOPPING)
        line = ""
        if self._stopping.is_alive():
            place = self._place(self._stopping)
            place = place or f"{place_of(type(self.base))}: stop"
            line = f"{place} has not returned for {STOPPING:g} s; the robot may still drive"
        elif self._stop_error:
            line = f"stop raised {self._stop_error}; the robot may still drive"
        elif self._limit is not None and self._interrupted:
            # A robot behind rosbridge says so itself.
            line = "stop has returned"
        if line and line != self._stop_line:
            self._stop_line = line
            sys.stderr.write(f"{visible(f'robot: {line}')}\n")

    def _stop_base(self) -> None:
        """Stop the base; an error of it would hide why it was stopped."""
        try:
            self.base.stop()
        except BaseException as error:  # noqa: BLE001 - shown, with its line
            self._stop_error = describe(error)

    def _work(self) -> None:
        """Run the calls, one after the other."""
        while True:
            call, method, args = self._calls.get()
            try:
                call.set_result(method(*args))
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                call.set_exception(error)
            with self._changed:
                self._changed.notify_all()


class GuardedBase(LimitedBase):
    """A limited base that checks each value. Raises ``CodeError`` for one that breaks a rule."""

    _apart = 0  # views in a row that contradict the pose

    def start(self, episode: Episode) -> None:
        """Start the base."""
        self._apart = 0
        super().start(episode)

    def capture(self) -> View:
        """Return the base's view, the first one that measured something.

        If none does for ``UNMEASURED_SECONDS``, the last one breaks a rule.
        """
        deadline = time.monotonic() + UNMEASURED_SECONDS
        while True:
            view = self._checked("capture", super().capture(), view_problem)
            problem = unmeasured_problem(view)
            if not problem:
                self._compare(view)
                return view
            if time.monotonic() > deadline:
                where = place_of(getattr(type(self.base), "capture", "capture"))
                raise CodeError(
                    f"{where}: capture {problem}, for {UNMEASURED_SECONDS:g} s"
                )
            time.sleep(NEXT_VIEW)

    def rotate(self, degrees: float) -> MotionResult:
        """Turn the base."""
        return self._checked("rotate", super().rotate(degrees), motion_problem)

    def go_to(self, x: float, y: float) -> MotionResult:
        """Let the base go."""
        return self._checked("go_to", super().go_to(x, y), motion_problem)

    def pose(self) -> JsonObject:
        """Return the base's pose."""
        return dict(self._checked("pose", super().pose(), pose_problem))

    def report(self) -> JsonObject:
        """Return the base's report."""
        return dict(self._checked("report", super().report(), report_problem))

    def _compare(self, view: View) -> None:
        """Compare a view with the pose, as ``check_base`` does with a robot that stands.

        Raises ``CodeError`` where ``MOST_APART`` in a row are ``FAR_APART``."""
        problem = place_problem(view, self.pose(), FAR_APART)
        self._apart = self._apart + 1 if problem else 0
        if self._apart == MOST_APART:
            where = place_of(getattr(type(self.base), "capture", "capture"))
            raise CodeError(f"{where}: capture() {problem}")

    def _checked(
        self, name: str, value: Value, problem_of: Callable[[Any], str]
    ) -> Value:
        """Return a method's value if it keeps the rules."""
        if problem := problem_of(value):
            where = place_of(getattr(type(self.base), name, name))
            raise CodeError(f"{where}: {name} {problem}")
        return value
