"""Two local servers on different ports: one run, with a notice."""

from __future__ import annotations

from pathlib import Path

from wayword.runs.record import RunFolder


def config(port: int) -> dict[str, object]:
    servers = {"main": f"127.0.0.1:{port}"}
    return {"identity": {"agent": "react"}, "servers": servers}


def test_a_run_on_another_port_resumes_with_a_notice(tmp_path: Path) -> None:
    for port in (8000, 8000):
        with RunFolder.open(tmp_path / "run", config(port)) as folder:
            assert folder.notices == []
    with RunFolder.open(tmp_path / "run", config(8001)) as folder:
        (notice,) = folder.notices
    assert "127.0.0.1:8000" in notice
    assert "127.0.0.1:8001" in notice
