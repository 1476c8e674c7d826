"""A person plays: at a real terminal (a pty), and by a script that answers like one."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.two_in_a_flat import named
from helpers.typist import Script
from wayword.agents.human import list_actions, parse_input
from wayword.agents.person import PlayerLeft, Terminal, hear, plain_text
from wayword.core.action import STOP, Action, ActionSpace, Decision
from wayword.core.errors import UsageError
from wayword.runs.plan import Plan
from wayword.runs.play import game_plan, play
from wayword.runs.record import RunFolder
from wayword.runs.running import run

MENU = ActionSpace(
    (
        Action("move_ahead"),
        Action("turn_left"),
        Action("turn_right"),
        Action("goto", ("fridge_1",)),
        Action("goto", ("fridge_2",)),
        Action("put", ("mug_1", "table_1")),
        Action("put", ("mug_1", "box_1")),
        Action("go_explore", ("living_room",)),
        STOP,
    ),
    ("chat", "stop"),
)


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("1", "move_ahead"),
        ("move_ahead", "move_ahead"),
        ("Move-Ahead", "move_ahead"),
        ("m", "move_ahead"),
        ("tl", "turn_left"),
        ("goto fridge_2", "goto[fridge_2]"),
        ("goto[fridge_2]", "goto[fridge_2]"),
        ("  goto [ fridge_2 ] ", "goto[fridge_2]"),
        ("put mug_1 box_1", "put[mug_1, box_1]"),
        ("p m b", "put[mug_1, box_1]"),
        ("put[mug_1, table_1]", "put[mug_1, table_1]"),
        ("put mug_1 in the box_1", "put[mug_1, box_1]"),
        ("explore", None),
        ("ge liv", "go_explore[living_room]"),
        ("go_explore living room", "go_explore[living_room]"),
        ("go liv", "go_explore[living_room]"),
        ("stop", "stop"),
        ("stop two apples", "stop[two apples]"),
        ("chat Where are you, Bob?", "chat[Where are you, Bob?]"),
    ],
)
def test_typed_words_are_an_action(words: str, action: str | None) -> None:
    found = parse_input(words, MENU)
    assert (str(found) if isinstance(found, Action) else None) == action


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "? lists them"),
        ("0", "between 1 and 9"),
        ("10", "between 1 and 9"),
        ("fly", "no action is called fly; actions: move_ahead"),
        ("turn", "which one: turn_left, turn_right?"),
        ("goto", "goto which one: fridge_1, fridge_2?"),
        ("goto f", "goto which one: fridge_1, fridge_2?"),
        ("goto sink", "goto has no choice sink here; choices: fridge_1, fridge_2"),
        ("put mug_1", "put which one: mug_1, table_1, mug_1, box_1?"),
        ("turn_left twice", "turn_left takes no argument"),
        ("chat", "chat needs a text"),
        ("[", "type a number or an action"),
    ],
)
def test_other_words_are_answered_in_one_line(words: str, message: str) -> None:
    found = parse_input(words, MENU)
    assert isinstance(found, str)
    assert message in found
    assert "\n" not in found


def test_long_lists_are_cut_and_given_in_full_when_requested() -> None:
    space = ActionSpace(
        tuple(Action("goto", (f"thing_{number}",)) for number in range(30))
    )
    (short,), (full,) = list_actions(space, 4), list_actions(space, verb="goto")
    assert "4 thing_3   … 26 more: ? goto" in short
    assert "30 thing_29" in full


def test_what_others_say_cannot_drive_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Terminal().write("bob says: \x1b[2Jhello\x07\u202e")
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert shown == "bob says: \ufffd[2Jhello\ufffd\ufffd\n"
    assert plain_text("two\nlines") == "two\nlines"


def test_one_person_plays_while_an_agent_plays_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    me = Script(["chat I take the apple.", "?", "flie", "go_grab apple", "quit"])
    plan = game_plan(Plan("human", "flat", out=tmp_path / "run"), "ann", "random")
    game = play(plan, me)
    assert game.scores is None, "a game that was left does not count"
    assert game.result.outcome.exhausted == "the player left"
    assert list(RunFolder.read(tmp_path / "run").records()) == []
    assert "Put the apple in the box." in me.text
    assert "you are ann, with bob" in me.text
    assert "You sent a message to bob." in me.text
    assert "no action is called flie" in me.text
    assert "You went to apple_1 and picked it up." in me.text


def test_a_game_is_recorded_and_compared_with_the_expert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    lines = [
        "go_grab apple",
        "goto door",
        "open door",
        "go_explore hall",
        "go_put box",
        "stop",
    ]
    one = {"steps": 1}  # the other soon stops, and leaves the door to be opened
    plan = game_plan(
        Plan("human", "flat", settings=one, out=tmp_path / "run"), "ann", "random"
    )
    game = play(plan, Script(list(lines)))
    assert game.episode == "apple_2", "the shorter one first"
    assert game.scores is not None
    assert game.best is not None
    assert (game.expert, game.best["sr"]) == ("expert", 1.0)
    (record,) = RunFolder.read(tmp_path / "run").records()
    mine = [step for step in record.trajectory.steps if step.actor == "ann"]
    decided = [s.decision.action.name for s in mine if isinstance(s.decision, Decision)]
    assert decided == [line.split()[0] for line in lines]
    assert not [
        step for step in mine if step.decision.__class__.__name__ == "Rejection"
    ]
    again = play(plan, Script(["stop"]))
    assert again.episode == "apple_1", "the other one, which was not played"
    with pytest.raises(UsageError, match=r"is already finished.*--out"):
        play(game_plan(replace(plan, agent="human", episode="1"), "ann", "random"))


def test_a_question_reaches_the_person_and_its_answer_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    me = Script(["ask Where is the box?", "in the hall", "stop"])
    plan = game_plan(Plan("human", "flat", out=tmp_path / "run"), "ann", "random")
    assert play(plan, me).scores is not None
    assert "ann asks: Where is the box?" in me.text
    (record,) = RunFolder.read(tmp_path / "run").records()
    (requests, _) = record.trajectory.of("ann")
    assert requests.feedback.details["answer"] == "in the hall"


def test_without_a_person_no_one_can_be_queried_but_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    settings = {"decoding": "free"}
    plan = Plan(
        "act", "flat", "scripted:asks", settings,
        limit=1, max_steps=1, out=tmp_path / "alone",
    )  # fmt: skip
    asking(monkeypatch)
    run(plan)
    # Where nobody answers, `ask` is not offered, so that to ask is a rejection like any other.
    assert statuses(tmp_path / "alone") == ["rejected", "rejected"]
    me = Script(["on the table", ""])
    there = Plan(
        "act", "flat", "scripted:asks", settings,
        limit=1, max_steps=1, out=tmp_path / "there", ask="terminal",
    )  # fmt: skip
    run(there, person=me)
    assert statuses(tmp_path / "there") == ["ok", "no_answer"]
    assert RunFolder.read(tmp_path / "there").config["identity"]["ask"] == "terminal"


def asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``scripted:asks`` a model that only ever asks."""
    from wayword.models.scripted import ScriptedModel
    from wayword.runs import running

    model = ScriptedModel("first")

    async def complete(prompt: Any, sampling: Any) -> Any:
        from wayword.core.model import Completion

        return Completion(("Action: ask[Where is the apple?]",), ("stop",))

    model.complete = complete  # type: ignore[method-assign]
    monkeypatch.setattr(running, "open_models", lambda *_: {"main": model})


def statuses(path: Path) -> list[str]:
    (record,) = RunFolder.read(path).records()
    return [step.feedback.status for step in record.trajectory.steps]


@pytest.mark.parametrize(
    ("role", "others", "message"),
    [
        ("", "", "no agent plays bob"),
        ("eve", "random", "flat has no actor 'eve'; there are: ann, bob"),
        ("eve", "human", "flat has no actor 'eve'"),
    ],
)
def test_a_game_needs_actors_that_exist_and_all_of_them_played(
    role: str, others: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    with pytest.raises(UsageError, match=message):
        game_plan(Plan("human", "flat"), role, others)


def test_a_waiting_person_holds_no_one_up_and_can_be_given_up() -> None:
    keyboard, hand = os.pipe()
    there = Terminal(keyboard, io.StringIO())

    async def both() -> int:
        waiting = asyncio.create_task(hear(there, "> "))
        ticks = 0
        while ticks < 5:
            await asyncio.sleep(0.01)
            ticks += 1
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return ticks

    began = time.monotonic()
    assert asyncio.run(both()) == 5
    assert time.monotonic() - began < 60, "the thread that waited has ended"
    os.write(hand, b"one\ntwo")
    os.close(hand)
    assert there.ask("") == "one"
    assert there.ask("") == "two", "the last line may lack its end"
    with pytest.raises(EOFError):
        there.ask("")
    with pytest.raises(PlayerLeft):
        asyncio.run(hear(there, ""))
    os.close(keyboard)


class Pty:
    """A process at a terminal of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.hand, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wayword", *words],
            stdin=end, stdout=end, stderr=end, cwd=folder, start_new_session=True,
            preexec_fn=_take_the_terminal, env={**os.environ, "TERM": "xterm"},
        )  # fmt: skip
        os.close(end)
        self.shown = ""

    def until(self, text: str, seconds: float = 60, since: str = "") -> None:
        """Read until a text is shown, after the last ``since``."""
        began = time.monotonic()
        while text not in self.shown.rpartition(since or "\0")[2]:
            assert time.monotonic() - began < seconds, self.shown
            if not self.more(0.2) and self.process.poll() is not None:
                raise AssertionError(
                    f"it ended before it showed {text!r}:\n{self.shown}"
                )

    def more(self, seconds: float) -> bool:
        """Read what there is."""
        if not select.select([self.hand], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self.hand, 65536)
        except OSError:  # Linux says so when the other side has closed
            return False
        self.shown += read.decode(errors="replace")
        return bool(read)

    def type(self, keys: str) -> None:
        os.write(self.hand, keys.encode())

    def end(self) -> int:
        """Wait for its end, reading all it shows."""
        began = time.monotonic()
        while self.process.poll() is None:
            if time.monotonic() - began > 60:
                self.process.kill()
                raise AssertionError(f"it did not end:\n{self.shown}")
            self.more(0.2)
        while self.more(0):
            pass
        return self.process.returncode


def _take_the_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def game(tmp_path: Path) -> Iterator[Pty]:
    """A game in generated houses that waits for the first move."""
    session = Pty(tmp_path, "play", "--on", "houses", "--out", "run")
    session.until("> ")
    yield session
    if session.process.poll() is None:
        session.process.kill()
    session.process.wait()
    os.close(session.hand)


def test_a_game_at_a_terminal(game: Pty, tmp_path: Path) -> None:
    assert "\x1b[1m" in game.shown, "in colour"
    game.type("flie\n")
    game.until("no action is called flie")
    game.type("sto\n")
    assert game.end() == 0
    assert "expert" in game.shown
    assert "SR" in game.shown
    assert len(list(RunFolder.read(tmp_path / "run").records())) == 1


@pytest.mark.parametrize(
    ("keys", "code", "text"),
    [
        ("quit\n", 1, "the player left; this game does not count"),
        ("\x04", 1, "the player left; this game does not count"),
        ("\x03", 130, "stopped; finished episodes are kept"),
    ],
)
def test_leaving_ends_in_order(
    game: Pty, tmp_path: Path, keys: str, code: int, text: str
) -> None:
    game.type("1\n")
    game.until("Turn 2")
    game.until("> ", since="Turn 2")
    game.type(keys)
    assert game.end() == code, game.shown
    assert text in game.shown
    assert "Traceback" not in game.shown
    assert list(RunFolder.read(tmp_path / "run").records()) == []


def test_a_question_can_be_left_with_ctrl_c(tmp_path: Path) -> None:
    """The world waits for the answer, and the event loop with it; Ctrl-C gets through at once."""
    small = ("--set", "dataset.rooms=2", "--set", "dataset.homes=1")
    game = Pty(tmp_path, "play", "--on", "household", "--out", "run", *small)
    game.until("> ")
    game.type("ask Where is it?\n")
    game.until("answer (empty: no answer) > ")
    game.type("\x03")
    assert game.end() == 130, game.shown
    assert "agent asks: Where is it?" in game.shown
    assert "stopped; finished episodes are kept" in game.shown
    assert "Traceback" not in game.shown
    os.close(game.hand)


def test_where_no_one_is_there_a_run_ends_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wayword", "run", "human", "--on", "houses", "--out", "run"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "the player left" in done.stderr


def test_a_map_in_characters_and_why_nothing_is_undone(tmp_path: Path) -> None:
    typed = Script(["map", "1", "map", "undo", "quit"])
    play(game_plan(Plan("human", "houses", out=tmp_path / "a", episode="1")), typed)
    first, second = (each for each in typed.texts if "numbers: choices" in each)
    assert first.count("@") == second.count("@") == 2, "the place, and the legend"
    assert "1" in first.rpartition("\n")[0]
    assert "o" not in first.rpartition("\n")[0]
    assert "." in second.rpartition("\n")[0], (
        "a way of the first place that is none of this one"
    )
    assert all(len(line) < 70 for line in second.split("\n")[:-1])
    assert "a step cannot be undone" in typed.text
    assert "--continue RUN:EPISODE:STEP" in typed.text
    assert "map draws a map" in typed.text
    other = Script(["map", "help", "task", "quit"])
    play(game_plan(Plan("human", "grounding", out=tmp_path / "b", episode="1")), other)
    assert "there is a map only in" in other.text
    assert "map draws" not in other.text, "nothing is offered that there is not"
    at = next(
        n for n, line in enumerate(other.texts) if "there is a map only in" in line
    )
    listed, task = (line for line in other.texts[at + 1 :] if line != "> ")
    assert "turn_left" in listed
    assert task in other.texts[:at], "the task, again"
