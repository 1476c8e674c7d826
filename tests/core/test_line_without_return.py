"""Functions that end without ``return`` on some path are named; those that cannot are not."""

from __future__ import annotations

import pytest

from wayword.core.blame import line_without_return


def in_the_loop(walk: list[str]) -> bool:
    for place in walk:
        if place == "goal":
            return bool(walk)
    else:
        return False


def until_found(walk: list[str]) -> bool:
    while True:
        for place in walk:
            if place == "goal":
                break
        if walk:
            return True


def by_case(walk: list[str]) -> bool:
    match walk:
        case [_]:
            return True
        case _:
            raise ValueError


def after_a_break(walk: list[str]) -> bool:  # type: ignore[return]
    for place in walk:
        if place == "goal":
            break
    else:
        return False


def out_of_a_try(walk: list[str]) -> bool:  # type: ignore[return]
    while True:
        try:
            return walk[0] == "goal"
        except IndexError:
            break


def in_one_case(walk: list[str]) -> bool | None:  # type: ignore[return]  # noqa: RET503
    if walk:
        return True


@pytest.mark.parametrize("judge", [in_the_loop, until_found, by_case])
def test_a_function_that_always_returns_or_raises_is_right(judge: object) -> None:
    assert line_without_return(judge) == 0


@pytest.mark.parametrize("judge", [after_a_break, out_of_a_try, in_one_case])
def test_a_function_that_may_end_without_return_is_named(judge: object) -> None:
    assert line_without_return(judge) > 0
