"""Runs as datasets, opened by Hugging Face's own library."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets import load_dataset
from helpers.tours import walked_tour
from wayword.runs.export import TABLES, Export, publish


def test_every_table_opens_and_pictures_are_pictures(tmp_path: Path) -> None:
    out = tmp_path / "made"
    run = walked_tour(tmp_path)
    publish([run], out, Export(trusted=[tmp_path / "tour"]), parquet=True)
    assert not (out / "images").exists()  # they are in the table
    kept = str(tmp_path / "cache")
    tables = {
        name: load_dataset(str(out), name, split="train", cache_dir=kept)
        for name in TABLES
    }
    assert {name: len(table) for name, table in tables.items()} == {
        "chat": 1,
        "completion": 2,
        "steps": 2,
        "trajectory": 2,
    }
    first, last = tables["trajectory"]
    assert (first["action"], last["action"]) == ("goto[lab]", "stop")
    for row, channel in ((first, 0), (last, 2)):  # red in the hall, blue in the lab
        assert np.asarray(row["image"]).mean(axis=(0, 1)).argmax() == channel
