"""Our side of the comparison with the released code, without a clone: the texts are slots alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools import against_release
from tools.releases.games import SYSTEMS

pytestmark = pytest.mark.real


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_stream_of_slots_is_the_recorded_one(data: Path, system: str) -> None:
    """A change here changes what a reproduction sends: compare with a clone of the release again,
    by ``tools/against_release.py --write``."""
    facts = json.loads(against_release.FACTS.read_text())[system]
    assert against_release.slot_facts(system, data, facts) == facts["of_slots"]
