"""What is worked out from files is remembered as long as they stay the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wayword.core.files import Memo, cached_json, parsed


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "read"


class Counting:
    def __init__(self, source: Path) -> None:
        self.source = source
        self.made = 0

    def __call__(self) -> list[object]:
        self.made += 1
        return [len(self.source.read_bytes()), ("a", 1)]


def test_it_is_made_again_for_another_file_another_name_or_a_damaged_cache(
    tmp_path: Path, cache: Path
) -> None:
    source = tmp_path / "split.json"
    source.write_text("four")
    make = Counting(source)
    first = cached_json("sizes-1", [source], make)
    assert first == cached_json("sizes-1", [source], make) == [4, ["a", 1]]
    assert make.made == 1
    (stored,) = cache.iterdir()
    full = stored.read_bytes()
    for damaged in (b"", full[:-1], full.replace(b"[4", b"[5"), b"\0" + full):
        stored.write_bytes(damaged)
        assert cached_json("sizes-1", [source], make) == first
        assert stored.read_bytes() == full
    assert make.made == 5
    cached_json("sizes-2", [source], make)
    source.write_text("seven..")
    assert cached_json("sizes-1", [source], make) == [7, ["a", 1]]
    other = source.rename(tmp_path / "other.json")
    make.source = other
    cached_json("sizes-1", [other], make)
    assert make.made == 8


def test_a_missing_file_and_a_cache_that_cannot_be_written_are_left_to_the_reader(
    tmp_path: Path, cache: Path
) -> None:
    make = Counting(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        cached_json("sizes-1", [make.source], make)
    cache.parent.write_text("a file in the way")
    make.source.write_text("four")
    assert cached_json("sizes-1", [make.source], make) == [4, ["a", 1]]


def test_numbers_are_worked_out_once_and_damaged_lines_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def number(key: str, found: int | None) -> int | None:
        def make() -> int | None:
            made.append(key)
            return found

        return Memo("lengths-1").get(key, make)

    for _ in range(3):
        assert [number("a", 84), number("b", None)] == [84, None]
    assert made == ["a", "b"]
    (stored,) = (cache.parent / "numbers").iterdir()
    full_text = stored.read_text()
    for damaged in (
        full_text.replace(" 84 ", " 85 "),
        full_text[1:-1],
        full_text.replace("\n", "", 1)[2:],
    ):
        stored.write_text(damaged)
        assert [number("a", 84), number("b", None), number("c", 3)] == [84, None, 3]
    stored.write_bytes(full_text.encode()[: len(full_text) // 2 - 3] + b"\xff")
    assert [number("c", 3), number("a", 84), number("b", None)] == [3, 84, None]
    made.clear()
    assert Memo("lengths-2").get("a", lambda: 1) == Memo().get("a", lambda: 1) == 1
    stored.unlink()
    monkeypatch.setenv("WAYWORD_CACHE", str(cache / "a" / "file"))
    cache.mkdir()
    (cache / "a").write_text("in the way")
    assert number("a", 84) == 84
    assert made == ["a"]


UNUSUAL_JSON = (
    *(
        b'{"a": 1, "a": 2}',
        b"NaN",
        b"[-Infinity]",
        b"1e400",
        b"1e-400",
        b"-0",
        b"-0.0",
        b"01",
    ),
    *(
        b"12345678901234567890123",
        b"1" * 5000,
        b"1.",
        b".5",
        b"+1",
        b"1_0",
        b"0x1",
        b"[1,]",
        b"",
    ),
    *(
        b"[1] x",
        b"\x0c[1]",
        b'"a\x01b"',
        b'"\x7f"',
        b'"\\x"',
        b'"\\/"',
        b"'a'",
        b"[1]\x00",
    ),
    *(
        b'"\\ud83d\\ude00"',
        b'"\\u00"',
        b'"\xff"',
        b'"\xc0\x80"',
        b"/**/1",
        b"\xef\xbb\xbf[1]",
    ),
    *(b"[" * 300 + b"]" * 300, b"[" * 300, '["é"]'.encode("utf-16"), b"{1: 2}", b"nul"),
)


@pytest.mark.parametrize("text", UNUSUAL_JSON)
def test_json_is_what_the_standard_library_reads(text: bytes) -> None:
    def result(parse: Callable[[bytes], Any]) -> str:
        try:
            return repr(parse(text))
        except ValueError as error:
            return f"refused: {error}"

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not valid in JSON")

    expected = result(lambda text: json.loads(text, parse_constant=refuse))
    assert result(parsed) == expected


def test_numbers_are_those_of_the_standard_library() -> None:
    rng = random.Random(0)
    texts = [f"{rng.uniform(-90, 90):.{n % 25}f}" for n in range(2_000)]
    texts += [
        f"{rng.randrange(10 ** rng.randrange(1, 30))}e{rng.randrange(-340, 290)}"
        for _ in range(2_000)
    ]
    listed = f"[{', '.join(texts)}]"
    assert repr(parsed(listed)) == repr(json.loads(listed))
