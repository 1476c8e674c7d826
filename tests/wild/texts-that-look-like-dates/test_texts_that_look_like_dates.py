"""Texts of JSON tables that duckdb would read as dates, times or UUIDs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wayword.runs.export import _GUESSED, _pack

TEXTS = ["2026-11-30", "12:30:00", "2026-11-30 12:30:00", "2026-11-30T12:30:00Z",
         "550e8400-e29b-41d4-a716-446655440000", "007", "41_10_1", "true", "1e5"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_a_text_in_parquet(text: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "steps.jsonl"
    row = {"run": text, "step": 1, "messages": [{"role": "user", "content": text}]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    _pack(duckdb, path, None)
    table = duckdb.sql(f"SELECT * FROM '{tmp_path / 'steps.parquet'}'").fetchall()
    assert table == [(text, 1, [{"role": "user", "content": text}])]


@pytest.mark.parametrize(
    ("guessed", "right"),
    [
        ("DATE", "VARCHAR"),
        ("TIMESTAMP WITH TIME ZONE", "VARCHAR"),
        ("TIMESTAMP_NS", "VARCHAR"),
        ("UUID[]", "VARCHAR[]"),
        ('STRUCT("role" VARCHAR, "DATE" DATE)[]', 'STRUCT("role" VARCHAR, "DATE" VARCHAR)[]'),
        ("BIGINT", "BIGINT"),
        ("JSON", "JSON"),
    ],
)  # fmt: skip
def test_guessed_types_are_texts(guessed: str, right: str) -> None:
    assert _GUESSED.sub("VARCHAR", guessed) == right
