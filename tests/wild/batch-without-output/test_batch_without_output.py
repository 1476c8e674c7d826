"""Completed batches that name only one of their two files."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from wayword.models.servers.batch_forms import OpenAIForm

ROW = {"custom_id": "a-1", "response": {"status_code": 400, "body": {"error": {}}}}


class Files:
    """A server of files that keeps what it was asked for."""

    def __init__(self) -> None:
        self.routes: list[str] = []

    async def exchange(self, method: str, route: str, *_: Any) -> bytes:
        self.routes.append(route)
        return json.dumps(ROW).encode()


@pytest.mark.parametrize("missing", [None, ""])
@pytest.mark.parametrize("named", ["output_file_id", "error_file_id"])
def test_only_the_file_that_is_named_is_read(named: str, missing: str | None) -> None:
    files: Any = Files()
    job: Any = {"output_file_id": missing, "error_file_id": missing, named: "f1"}
    found = asyncio.run(OpenAIForm().results(files, job))
    assert files.routes == ["/files/f1/content"]
    assert [(each.name, each.status) for each in found] == [("a-1", 400)]
