"""Recipes, prices, prompts and tasks in the encodings and with the line ends of Windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.core.errors import UsageError, WaywordError
from wayword.core.files import read_text
from wayword.models.servers.profile import read_table
from wayword.runs.plan import read_config, read_recipe

RECIPE = "agent: random\non: houses\nseed: 3\n"
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_text_is_the_same_in_each_encoding(
    encoding: str, line_end: str, tmp_path: Path
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(RECIPE.replace("\n", line_end).encode(encoding))
    assert read_text(path) == RECIPE
    assert read_recipe(path).seed == 3
    assert read_table(path, "prices")["seed"] == 3


def test_another_encoding_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(f"{RECIPE}# caf\xe9\n".encode("cp1252"))
    with pytest.raises(WaywordError, match=r"recipe\.yaml.* save it as UTF-8"):
        read_recipe(path)


@pytest.mark.parametrize("path", ['"C:\\new\\runs"', '"C:\\Users\\x"', '"d:\\t"'])
def test_a_windows_path_in_double_quotes_is_refused(path: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"prompts: {path}\n")
    with pytest.raises(UsageError, match="write it with / or in single quotes"):
        read_config(config)


@pytest.mark.parametrize(
    "path", ["C:\\new", "'C:\\new'", '"C:\\\\new"', '"C:/new"', "\\\\srv\\new"]
)
def test_a_windows_path_keeps_its_backslashes(path: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"prompts: {path}\n")
    read = read_config(config)["prompts"]
    assert read == path.strip("\"'").replace("\\\\new", "\\new")
    assert read.isprintable()
