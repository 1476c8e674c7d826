"""The response cache: hits, samples, many coroutines, several processes, broken files."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import DataError, ModelError
from wayword.core.model import (
    Choice,
    Completion,
    Image,
    Message,
    Model,
    Prompt,
    Sampling,
    TokenLogprob,
    Tool,
    ToolCall,
    Usage,
)
from wayword.models.middleware import cache as cache_module
from wayword.models.middleware.cache import (
    CLAIM_SECONDS,
    AnswerCache,
    CachedModel,
    _is_cacheable,
    choice_key,
    completion_key,
)
from wayword.models.scripted import ScriptedModel


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test opens is closed behind it."""
    opened: list[AnswerCache] = []
    plain = AnswerCache.__init__

    def noted(cache: AnswerCache, path: Path) -> None:
        plain(cache, path)
        opened.append(cache)

    monkeypatch.setattr(AnswerCache, "__init__", noted)
    yield
    for cache in opened:
        cache.close()


def _counting() -> ScriptedModel:
    """A model whose answers are 0, 1, 2 …"""
    numbers: Iterator[int] = iter(range(10**6))
    return ScriptedModel(answers=lambda prompt, sampling: str(next(numbers)))


async def _texts(model: Model, *questions: tuple[object, Sampling]) -> list[str]:
    found = [(await model.complete(p, s)).text for p, s in questions]  # type: ignore[arg-type]
    await model.aclose()
    return found


def test_each_part_of_a_call_is_part_of_its_key() -> None:
    image = Image(b"1", "image/png")
    message = Message("user", "go on", (image,))
    before = Message("system", "be brief")
    prompts: list[Prompt] = [
        "go on",
        [before, message],
        [message, before],
        [before, message, message],
        [before, replace(message, role="assistant")],
        [before, replace(message, content="go")],
        [before, replace(message, images=())],
        [before, replace(message, images=(image, image))],
        [before, replace(message, images=(replace(image, data=b"2"),))],
        [before, replace(message, images=(replace(image, media_type="image/jpeg"),))],
        [before, replace(message, calls=(ToolCall("1", "look", "{}"),))],
        [before, replace(message, calls=(ToolCall("2", "look", "{}"),))],
        [before, replace(message, calls=(ToolCall("1", "look", "{}"),), verbatim="{}")],
        [before, replace(message, call_id="1")],
        [before, replace(message, call_id="1", tool="look")],
    ]
    others = {
        "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "n": 3, "stop": ("x",), "seed": 4,
        "logprobs": 2, "choices": ("a", "b"), "json_schema": {"type": "object"},
        "grammar": "root ::= x", "tools": (Tool("look", "Look.", {}),), "parallel_calls": True,
    }  # fmt: skip
    samplings = [Sampling()]
    for field in fields(Sampling):
        assert field.name in others, f"add {field.name} to the test"
        samplings.append(replace(Sampling(), **{field.name: others[field.name]}))
    keys = [completion_key(prompt, Sampling()) for prompt in prompts]
    keys += [completion_key("go on", each) for each in samplings[1:]]
    keys += [choice_key(prompt, ("a", "b")) for prompt in prompts]
    keys += [choice_key("go on", ("b", "a")), choice_key("go on", ("a",))]
    assert len(keys) == len(set(keys))


def test_equal_questions_are_queried_once_and_different_ones_are_distinguished(
    tmp_path: Path,
) -> None:
    model = CachedModel(_counting(), AnswerCache(tmp_path / "sub" / "c.db"))
    picture = [Message("user", "x", (Image(b"1"),))]
    other = [Message("user", "x", (Image(b"2"),))]
    cold = Sampling()
    seeded = Sampling(temperature=1.0, seed=1)
    requests = [("x", cold), ("x", cold), ("y", cold), ("x", seeded), ("x", seeded)]
    requests += [(picture, cold), (other, cold), (picture, cold)]  # type: ignore[list-item]
    assert asyncio.run(_texts(model, *requests)) == [
        "0",
        "0",
        "1",
        "2",
        "2",
        "3",
        "4",
        "3",
    ]


def test_answers_of_chance_are_numbered_and_come_back_in_order(tmp_path: Path) -> None:
    warm = Sampling(temperature=1.0)
    for expected_first in ("0", "0"):
        model = CachedModel(_counting(), AnswerCache(tmp_path / "c.db"))
        texts = asyncio.run(_texts(model, *[("x", warm)] * 3))
        assert texts == [expected_first, "1", "2"]


def test_everything_about_an_answer_survives(tmp_path: Path) -> None:
    full = Completion(
        texts=("ä", "b"),
        finish=("stop", "length"),
        usage=Usage(3, 2, 1),
        logprobs=(TokenLogprob("ä", -0.5, {"b": -1.5}),),
        cost=0.25,
        seconds=9.0,
    )
    inner = ScriptedModel(answers=[full, "right"])
    model = CachedModel(inner, AnswerCache(tmp_path / "c.db"))

    async def twice() -> None:
        for cached in (False, True):
            found = await model.complete("x", Sampling(n=1))
            assert (found.texts, found.finish, found.usage) == (
                ("ä", "b"),
                ("stop", "length"),
                full.usage,
            )
            assert found.logprobs == full.logprobs
            assert (found.cached, found.cost) == (
                (True, 0.0) if cached else (False, 0.25)
            )
            assert (found.seconds < 5.0) == cached, "of the look-up"
        first, second = [await model.choose("x", ["left", "right"]) for _ in range(2)]
        assert (first.best, second.best, second.cached) == ("right", "right", True)
        assert second.logprobs == (
            pytest.approx(math.log(0.1)),
            pytest.approx(math.log(0.9)),
        )
        await model.aclose()

    asyncio.run(twice())


def test_equal_questions_in_the_air_become_one(tmp_path: Path) -> None:
    calls = 0

    async def slow(prompt: object, sampling: Sampling) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.02)
        return str(prompt)

    model = CachedModel(ScriptedModel(answers=slow), AnswerCache(tmp_path / "c.db"))

    async def many() -> None:
        requests = (model.complete(str(i % 5), Sampling()) for i in range(100))
        found = await asyncio.gather(*requests)
        assert [answer.text for answer in found] == [str(i % 5) for i in range(100)]
        await model.aclose()

    asyncio.run(many())
    assert calls == 5


class CountingModel(Model):
    """Gives one answer to everything, and counts."""

    name = "told:1"

    def __init__(self, answer: Completion) -> None:
        self.answer = answer
        self.calls = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.calls += 1
        return self.answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("texts", "finish", "kept"),
    [
        (("b",), ("stop",), True),
        (("b",), ("length",), True),
        ((" \n",), ("stop",), False),
        (("b", ""), ("stop", "stop"), False),
        ((), (), False),
        (("b",), ("content_filter",), False),
        (("b",), ("tool_calls",), False),
        (("",), ("error",), False),
    ],
)
def test_an_answer_that_may_be_a_bad_moment_is_requested_again(
    tmp_path: Path, texts: tuple[str, ...], finish: tuple[str, ...], kept: bool
) -> None:
    inner = CountingModel(Completion(texts, finish))
    model = CachedModel(inner, AnswerCache(tmp_path / "c.db"))

    async def twice() -> None:
        for _ in range(2):
            await model.complete("x", Sampling())
        await model.aclose()

    asyncio.run(twice())
    assert inner.calls == (1 if kept else 2)


def test_failures_are_not_kept(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel(answers=[]), AnswerCache(tmp_path / "c.db"))

    async def twice() -> None:
        for _ in range(2):
            with pytest.raises(ModelError, match="are used"):
                await model.complete("x", Sampling())
        await model.aclose()

    asyncio.run(twice())


_WRITER = """
import sys
from pathlib import Path
from wayword.models.middleware.cache import AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
for i in range(200):
    cache.put(f"{sys.argv[2]}-{i}", {"i": i})
    cache.put(f"shared-{i}", {"by": sys.argv[2]})
    assert cache.get(f"shared-{i}")["by"] in "abc"
"""


def test_several_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    command = [sys.executable, "-c", _WRITER, str(path)]
    running = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [process.wait(600) for process in running] == [0, 0, 0]
    cache = AnswerCache(path)
    assert all(
        cache.get(f"{name}-{i}") == {"i": i} for name in "abc" for i in range(200)
    )
    cache.close()


def test_a_file_that_is_no_cache_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    path.write_bytes(b"this is not a database" * 1000)
    with pytest.raises(
        DataError, match="cannot be used as a cache: file is not a database"
    ) as e:
        AnswerCache(path)
    assert "\n" not in str(e.value)
    assert path.read_bytes().startswith(b"this is not")


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be used as a cache"):
        AnswerCache(tmp_path / "file" / "c.db")


@pytest.mark.parametrize(
    "value",
    [
        "{",
        "[1]",
        '{"texts": [""]}',
        '{"texts": [], "finish": []}',
        '{"texts": 3}',
        "null",
    ],
)
def test_a_broken_row_is_queried_again_and_mended(tmp_path: Path, value: str) -> None:
    path = tmp_path / "c.db"
    asyncio.run(_texts(CachedModel(_counting(), AnswerCache(path)), ("x", Sampling())))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE answers SET value = ?", (value,))
    db.close()
    broken = CachedModel(ScriptedModel(answers=["new"] * 2), AnswerCache(path))
    assert asyncio.run(_texts(broken, ("x", Sampling()), ("x", Sampling()))) == [
        "new",
        "new",
    ]
    after = CachedModel(ScriptedModel(answers=[]), AnswerCache(path))
    assert asyncio.run(_texts(after, ("x", Sampling()))) == ["new"]


def test_a_file_that_breaks_later_stops_no_run(tmp_path: Path) -> None:
    """A full disk, a table that is gone: nothing is kept, once it is said, and answers go on."""
    cache = AnswerCache(tmp_path / "c.db")
    model = CachedModel(_counting(), cache)
    cache._db.execute("DROP TABLE answers")
    cache._db.execute("DROP TABLE claims")
    requests = [("x", Sampling()), ("y", Sampling()), ("x", Sampling())]
    assert asyncio.run(_texts(model, *requests)) == ["0", "1", "2"]
    assert len(model.warnings) == 2
    assert any(
        "could not store an answer (no such table" in line for line in model.warnings
    )


def test_an_answer_that_another_process_gives_between_look_and_claim_is_used(
    tmp_path: Path,
) -> None:
    class Late(AnswerCache):
        def claim(self, key: str) -> bool:
            with sqlite3.connect(tmp_path / "c.db") as db:
                db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, kept))
            db.close()
            return super().claim(key)

    first = CachedModel(_counting(), AnswerCache(tmp_path / "one.db"))
    asyncio.run(_texts(first, ("x", Sampling())))
    with sqlite3.connect(tmp_path / "one.db") as db:
        (kept,) = db.execute("SELECT value FROM answers").fetchone()
    db.close()
    model = CachedModel(ScriptedModel(answers=[]), Late(tmp_path / "c.db"))
    assert asyncio.run(_texts(model, ("x", Sampling()))) == ["0"]


def test_two_processes_do_not_pay_twice(tmp_path: Path) -> None:
    """Two caches of one file, each with a model of its own, as two processes have them."""
    calls = 0

    async def slow(prompt: object, sampling: Sampling) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.01)
        return str(prompt)

    async def both() -> None:
        path = tmp_path / "c.db"
        models = [
            CachedModel(ScriptedModel(answers=slow), AnswerCache(path))
            for _ in range(2)
        ]
        questions = [m.complete(str(i), Sampling()) for i in range(12) for m in models]
        found = await asyncio.gather(*questions)
        assert sum(answer.cached for answer in found) == 12
        for model in models:
            await model.aclose()

    asyncio.run(both())
    assert calls == 12


@pytest.mark.parametrize("owner", ["999999999 {host} x", "1 {host} x", "7 elsewhere x"])
def test_the_claim_of_a_dead_process_is_over(tmp_path: Path, owner: str) -> None:
    cache = AnswerCache(tmp_path / "c.db")
    name = owner.format(host=socket.gethostname())
    since = time.time()
    cache._db.execute("INSERT INTO claims VALUES ('k', ?, ?)", (name, since))
    assert cache.claim("k") is owner.startswith("9")
    cache._db.execute(
        "INSERT INTO claims VALUES ('old', ?, ?)", (name, since - CLAIM_SECONDS - 1)
    )
    assert cache.claim("old")
    assert cache.claim("old")  # its own
    cache.release("old")
    assert cache._db.execute("SELECT * FROM claims WHERE key = 'old'").fetchall() == []


def test_an_expired_claim_is_taken_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen that its owner is dead before either has written."""
    first = AnswerCache(tmp_path / "c.db")
    second = AnswerCache(tmp_path / "c.db")
    dead = f"999999999 {socket.gethostname()} x"
    first._db.execute("INSERT INTO claims VALUES ('k', ?, ?)", (dead, time.time()))
    taken = []

    def meanwhile(number: int) -> bool:
        monkeypatch.undo()
        taken.append(second.claim("k"))
        return False

    monkeypatch.setattr(cache_module, "process_runs", meanwhile)
    assert (first.claim("k"), taken) == (False, [True])


def test_a_call_that_fails_lets_others_ask(tmp_path: Path) -> None:
    one = AnswerCache(tmp_path / "c.db")
    other = AnswerCache(tmp_path / "c.db")
    with pytest.raises(ModelError):
        asyncio.run(
            CachedModel(ScriptedModel(answers=[]), one).complete("x", Sampling())
        )
    assert asyncio.run(_texts(CachedModel(_counting(), other), ("x", Sampling()))) == [
        "0"
    ]
    one.close()


@pytest.mark.parametrize("releaser", ["owner", "other"])
def test_only_the_owner_of_a_claim_ends_it(tmp_path: Path, releaser: str) -> None:
    caches = {name: AnswerCache(tmp_path / "c.db") for name in ("owner", "other")}
    assert caches["owner"].claim("k")
    caches[releaser].release("k")
    assert caches["other"].claim("k") == (releaser == "owner")
    for cache in caches.values():
        cache.close()


@pytest.mark.parametrize(
    "age", [0.0, CLAIM_SECONDS - 5, CLAIM_SECONDS + 5, -CLAIM_SECONDS - 5]
)
@pytest.mark.parametrize("owner", ["here", "elsewhere", "nameless"])
def test_a_claim_holds_while_its_process_may_run_and_for_a_limited_time(
    tmp_path: Path, owner: str, age: float
) -> None:
    """A clock that was set back ends a claim of the future as well."""
    names = {
        "here": f"{os.getpid()} {socket.gethostname()} ffff",
        "elsewhere": "1 another-machine ffff",
        "nameless": "1",
    }
    cache = AnswerCache(tmp_path / "c.db")
    row = ("k", names[owner], time.time() - age)
    cache._db.execute("INSERT INTO claims VALUES (?, ?, ?)", row)
    holds = owner != "nameless" and abs(age) < CLAIM_SECONDS
    assert cache.claim("k") == (not holds)
    cache.close()


@pytest.mark.parametrize(
    ("answer", "is_kept"),
    [
        (Completion(("a",)), True),
        (Completion(("a", "b")), True),
        (Completion(("a", " ")), False),
        (Completion(("",)), False),
        (Completion(()), False),
        (Completion(("a",), ("error",)), False),
        (Completion(("a",), ("content_filter",)), False),
        (Completion(("a",), ("length",)), True),
        (Completion(("",), ("tool_calls",)), False),
        (Completion(("",), ("tool_calls",), calls=(ToolCall("1", "go", "{}"),)), True),
        (Choice(("a",), (-1.0,)), True),
        (Choice(("a", "b"), (-1.0, float("nan"))), False),
        (Choice(("a", "b"), (-1.0, float("-inf"))), False),
    ],
)
def test_only_answers_that_say_something_are_kept(answer: Any, is_kept: bool) -> None:
    assert _is_cacheable(answer) == is_kept


def test_an_answer_that_says_nothing_is_not_written(tmp_path: Path) -> None:
    # Another process would find it, and could not put its own in its place.
    answers = iter([" ", "left"])
    scripted = ScriptedModel(answers=lambda prompt, sampling: next(answers))
    cache = AnswerCache(tmp_path / "c.db")
    model = CachedModel(scripted, cache)

    async def ask() -> list[tuple[str, int]]:
        found = []
        for _ in range(3):
            text = (await model.complete("x", Sampling())).text
            (rows,) = cache._db.execute("SELECT COUNT(*) FROM answers").fetchone()
            found.append((text, rows))
        return found

    assert asyncio.run(ask()) == [(" ", 0), ("left", 1), ("left", 1)]


def test_an_answer_with_half_a_surrogate_pair_is_kept(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "c.db")
    cache.put("k", {"texts": ["\ud83d"]})
    assert cache.get("k") == {"texts": ["\ud83d"]}
    cache.close()


def test_the_first_readable_answer_of_a_call_stays(tmp_path: Path) -> None:
    """Processes that share a file have read it, and the next run must get the same."""
    one = AnswerCache(tmp_path / "c.db")
    other = AnswerCache(tmp_path / "c.db")
    for value in ({"texts": ["left"]}, ["left"], "left", 1, False):
        key = choice_key("x", [repr(value)])
        one.put(key, value)
        for cache, later in ((other, "right"), (one, ["right"]), (one, value)):
            cache.put(key, later)
            assert one.get(key) == other.get(key) == value
        one._db.execute("UPDATE answers SET value = '{' WHERE key = ?", (key,))
        other.put(key, "mended")
        assert one.get(key) == "mended"
        one.drop(key)
        assert other.get(key) is None
