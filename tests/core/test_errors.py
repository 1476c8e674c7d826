"""Libraries that an extra installs: one clear line, whatever keeps them away."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.core import blame
from wayword.core.errors import UsageError, needing, suggest


def test_a_library_that_is_not_there_is_named_with_the_command_that_installs_it() -> (
    None
):
    line = r"^it needs this: make -C \S+ extra-local$"
    with pytest.raises(UsageError, match=line), needing("it needs this", "local"):
        import nowhere_to_be_found  # type: ignore[import-not-found]  # noqa: F401


def test_a_library_that_cannot_be_loaded_is_not_declared_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slim images have no OpenMP, which llama.cpp is linked against."""
    problem = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "linked_badly.py").write_text(f"raise ImportError({problem!r})")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(UsageError) as raised,
        needing("local models need xllamacpp", "local"),
    ):
        import linked_badly  # type: ignore[import-not-found]  # noqa: F401
    assert str(raised.value) == (
        f"local models need xllamacpp, which cannot be loaded: {problem}; "
        "on Debian and Ubuntu: apt-get install libgomp1"
    )


def test_a_name_in_another_case_is_suggested_first() -> None:
    assert suggest("R2R", ["r4r", "r2r"]) == "did you mean 'r2r'?"
    assert suggest("R3R", ["r2r-R3", "x"]).startswith("there are")


def test_a_line_of_a_users_file_is_not_written_twice() -> None:
    class Tasks:
        """A user's dataset."""

    problem = "flat.py:12: at is no position"
    assert blame.of_users_data(problem, Tasks) == problem
    assert blame.of_users_data("no tasks", Tasks).endswith(": no tasks")
