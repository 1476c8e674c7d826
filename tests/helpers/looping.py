"""Many small cases in one test: a loop that reports every case that fails.

    @for_each("page", PAGES, ids=name)
    def test_links_lead_somewhere(page: Path) -> None: ...

Like ``pytest.mark.parametrize`` for cheap cases that need no fixtures of their own: the cases share
those of the test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(
    argument: str,
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], str] = str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test over all cases. Its failure names each case that failed, with the reason.

    Cases that take time to make are given as a function, which is called when the test runs.
    """

    def wrap(test: Callable[..., None]) -> Callable[..., None]:
        def looped(**fixtures: Any) -> None:
            given = list(cases() if callable(cases) else cases)
            assert given, "there are no cases"
            failed = []
            first = None
            for case in given:
                try:
                    test(**{argument: case}, **fixtures)
                except pytest.skip.Exception:
                    continue
                except Exception as error:  # noqa: BLE001 - reported below
                    failed.append(f"{ids(case)}: {error}")
                    first = first or error
            if failed:
                lines = [f"{len(failed)} of {len(given)} failed", *failed]
                raise AssertionError("\n".join(lines)) from first

        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name != argument]
        looped.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        looped.__name__ = test.__name__
        looped.__doc__ = test.__doc__
        looped.__module__ = test.__module__
        looped.__qualname__ = test.__qualname__
        looped.__dict__.update(
            {k: v for k, v in test.__dict__.items() if k == "pytestmark"}
        )
        return looped

    return wrap
