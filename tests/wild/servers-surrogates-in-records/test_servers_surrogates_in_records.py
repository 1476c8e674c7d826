"""Text that no database reads."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from helpers.loopback import chat
from helpers.reasoning_stub import answer_to
from helpers.served_runs import played


def _answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
    fence = answer_to(body)
    text = json.loads(fence[fence.index("{") : fence.rindex("}") + 1])
    text["thought"] = '=HYPERLINK("http://x") \ud835 a\nb \u2028 end'
    return 200, chat(json.dumps(text), reasoning_content="half \udc97 pair")


def test_records_hold_no_lone_surrogate(tmp_path: Path) -> None:
    run = played(_answer, tmp_path / "run")
    assert run.outcome.finished == 3
    lines = gzip.decompress((run.out / "episodes.jsonl.gz").read_bytes()).decode()
    assert json.loads(lines.splitlines()[0])
    assert not re.search(r"\\ud[89a-f]", lines, re.IGNORECASE)
    assert "\ufffd" in lines or "\\ufffd" in lines
