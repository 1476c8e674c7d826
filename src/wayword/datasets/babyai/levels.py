"""The levels of BabyAI that instruction grounding is tested on.

Source: LangSuitE's list of tasks (babyai_task_list.txt: a level and a number each). The numbers are
listed as facts; which draw of a level each stood for was not published.
"""

from __future__ import annotations

from functools import lru_cache

from wayword.worlds.grid.level import Level

LISTED: dict[str, tuple[int, ...]] = {
    "1RoomS20": (1, 9),
    "BossLevelNoUnlock": (9,),
    "FindObjS6": (7,),
    "GoToLocalS5N2": (5,),
    "GoToLocalS6N2": (2,),
    "GoToLocalS6N4": (8,),
    "GoToLocalS8N4": (1,),
    "GoToLocalS8N5": (1,),
    "GoToLocalS8N7": (0, 8),
    "GoToObj": (0, 1, 9),
    "GoToObjDoor": (2,),
    "GoToObjMaze": (1, 5, 7, 8),
    "GoToObjMazeS4": (5,),
    "GoToObjMazeS7": (4,),
    "GoToObjS4": (4,),
    "GoToOpen": (8,),
    "GoToRedBlueBall": (2, 4),
    "GoToSeqS5R2": (3,),
    "KeyCorridorS3R3": (4,),
    "KeyInBox": (4, 8),
    "MoveTwoAcrossS5N2": (0,),
    "Pickup": (3,),
    "PickupAbove": (6,),
    "PickupDist": (0,),
    "PutNextLocalS6N4": (0, 3),
    "PutNextS4N1": (3, 6),
    "PutNextS5N2": (4,),
    "Synth": (7,),
    "TestGoToBlocked": (8,),
    "TestPutNextToCloseToDoor2": (7, 9),
    "TestPutNextToIdentical": (0,),
    "TestUnblockingLoop": (9,),
    "UnblockPickup": (8, 9),
    "UnlockLocalDist": (3, 9),
    "UnlockPickup": (7,),
    "UnlockPickupDist": (6,),
}
"""Level -> its numbers, in the published order."""

RENAMED = {"1RoomS20": "OneRoomS20"}
"""What the package calls a level that it has under another name."""
ABSENT = frozenset(
    ("TestGoToBlocked", "TestPutNextToCloseToDoor2", "TestPutNextToIdentical", "TestUnblockingLoop")
)
"""Levels that the package does not have: hand-made tests of the original repository."""

LEVELS = tuple(RENAMED.get(name, name) for name in LISTED if name not in ABSENT)
"""Those that can be played, by the package's names."""

STREAMS = ("test", "train")
"""Even numbers draw test episodes, odd ones train episodes."""
ROOM_FOR = 1_000_000
"""Episodes of a level that a seed has numbers for."""


def draw(stream: str, seed: int, number: int) -> int:
    """The number that the package draws an episode by. No two streams or seeds share one."""
    return len(STREAMS) * (ROOM_FOR * seed + number) + STREAMS.index(stream)


@lru_cache(maxsize=4096)
def mission(level: str, seed: int) -> str:
    """The instruction of a level as drawn by ``seed``."""
    opened = _open(level)
    opened.start(seed)
    return opened.mission


@lru_cache(maxsize=64)
def _open(level: str) -> Level:
    return Level(level)
