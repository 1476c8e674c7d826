"""ALFWorld: household tasks as text games, in the engine that the published figures come from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as package_files
from itertools import count
from pathlib import Path

from wayword.core.action import STOP
from wayword.core.dataset import (
    Clusters,
    Dataset,
    DrawnTasks,
    Task,
    listed,
)
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.files import read_bytes, require_data
from wayword.core.game import ActionPlan
from wayword.core.world import World
from wayword.datasets.household import Household
from wayword.datasets.procedural.homes.chores import KINDS, PICK_STACK
from wayword.datasets.procedural.textgames import text_game
from wayword.settings import Checked, Count
from wayword.worlds import alfworld
from wayword.worlds.alfworld.processes import Lease, check_installed
from wayword.worlds.alfworld.world import GameReference, GameWorld, action_of
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.world import HouseholdWorld

GAME = "game.tw-pddl"
"""The name of a game's file, one in each trial's folder."""
GENERATED = "generated"
KINDS_OF_GAMES = tuple(kind for kind in KINDS if kind != PICK_STACK)
PUBLISHED = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""Games of each published split."""
LEFT_OUT = ("movable", "Sliced")
"""Parts of the names of folders whose games ALFWorld's own loop leaves out."""

_TASK = re.compile(r"Your task is to: (.+?)\.?\"")
_PLACEHOLDER = "UNKNOWN GOAL"  # for the task, in the package's grammar
# Household tasks that are drawn for each generated game. A type has its turn once in seven draws,
# and not each of its tasks has a game.
_MOST_DRAWN = 20


@dataclass(frozen=True)
class AlfworldSettings(Checked):
    """``episodes`` and ``seed`` are those of generated games; published splits have their own."""

    episodes: Count = 18
    seed: int = 0


class Alfworld(Dataset):
    """Six of ALFRED's seven task types as text games, in TextWorld's engine for PDDL.

    Published splits are the files that ``alfworld-download`` fetches: 3,553 games to train, 140 in
    ``valid_seen`` and 134 in ``valid_unseen``. They are looked for in ``$ALFWORLD_DATA``, then in
    the data folder's ``alfworld``, each with or without ``json_2.1.1``. As in ALFWorld's own loop,
    games of slices and of movable receptacles are left out, and games that are not marked as
    solvable; a caveat counts those without any mark.

    ``generated`` has games made from Wayword's homes, for tests: figures on them are not figures on
    ALFWorld. The version of the package counts as data, since its actions changed between versions.

    Source: ALFWorld (Shridhar et al. 2021).
    """

    Settings = AlfworldSettings
    family = alfworld.family
    splits = (GENERATED, "train", "valid_seen", "valid_unseen")
    clusters = Clusters("task", r"([^/]+)/.+")
    max_steps = 50
    solutions = ("expert",)
    settings: AlfworldSettings

    def open(self) -> None:
        """Find the games. Raises ``UsageError`` without the package or the files."""
        check_installed()
        if self.split != GENERATED and not self._paths:
            raise UsageError(f"alfworld:{self.split}: {self._root} has no {GAME}")

    @property
    def tasks(self) -> Sequence[Task]:
        """The games, in the order of their folders."""
        if self.split == GENERATED:
            return DrawnTasks(
                self.settings.episodes, lambda number: self._generated[number][0]
            )
        names = list(self._paths)
        return DrawnTasks(
            len(names), lambda number: self._task(names[number]), names.__getitem__
        )

    @property
    def files(self) -> Mapping[str, Path]:
        """The games, and the files that hold the versions of the engine, for checksums: the same
        game has other actions in another version."""
        versions = {
            "alfworld": Path(str(package_files("alfworld").joinpath("info.py"))),
            "textworld": Path(str(package_files("textworld").joinpath("version.py"))),
        }
        return versions if self.split == GENERATED else {**versions, **self._paths}

    @property
    def caveats(self) -> tuple[str, ...]:
        """The versions of the engine; of generated games, that they are no figures on ALFWorld; of
        published ones, how many are missing."""
        note = f"alfworld {_version('alfworld')}, textworld {_version('textworld')}"
        if self.split == GENERATED:
            return (note, "games of generated homes, not ALFWorld's")
        notes = [note]
        # Some archives lack games, which ALFWorld's own loop leaves out without a word.
        count = len(self._paths) + len(self._unmarked)
        if count < PUBLISHED[self.split]:
            notes.append(f"{count:,} of the {PUBLISHED[self.split]:,} published games")
        if not self._unmarked:
            return (*notes,)
        left_out = f"left out: {len(self._unmarked)} whose files lack 'solvable'"
        return (*notes, f"{left_out} (run alfworld-download again)")

    def world(self, episode: Episode) -> GameWorld:
        """Return the game of an episode, with an engine of its own."""
        return GameWorld(self._game(episode.id), Lease)

    def make_plan(self, task: Task, world: World, actor: str, kind: str) -> ActionPlan:
        """The walkthrough in the game's file, which its planner found."""
        commands = self.walkthrough(task)
        if not commands:
            raise UsageError(f"episode {task.episode.id} has no walkthrough")
        return listed(lambda: [*map(action_of, commands), STOP])

    def walkthrough(self, task: Task) -> Sequence[str]:
        """The commands that solve a game, as its file has them; empty if it has none."""
        return [str(each) for each in self._game(task.episode.id)["walkthrough"] or ()]

    # Published games.

    @cached_property
    def _root(self) -> Path:
        """The folder of the split."""
        named = os.environ.get("ALFWORLD_DATA")
        base = (
            Path(named) if named else require_data(self.folder, "alfworld") / "alfworld"
        )
        inner = base / "json_2.1.1" / self.split
        return inner if inner.is_dir() else base / self.split

    @property
    def _paths(self) -> Mapping[str, Path]:
        """Id -> file of each game that is played: ``TASK/TRIAL``."""
        return self._found[0]

    @property
    def _unmarked(self) -> Sequence[str]:
        """Ids of games whose files do not say whether they are solvable."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[Mapping[str, Path], Sequence[str]]:
        """The games that are played, and those that are not marked."""
        paths = {}
        unmarked = []
        for path in sorted(self._root.glob(f"*/*/{GAME}")):
            name = path.parent.relative_to(self._root).as_posix()
            if any(part in name for part in LEFT_OUT):
                continue
            game = self._read(path)
            if game.get("solvable"):
                paths[name] = path
            elif "solvable" not in game:
                unmarked.append(name)
        return paths, unmarked

    def _task(self, name: str) -> Task:
        """The task of a published game; its folder is named after the type."""
        match = _TASK.search(str(self._game(name)["grammar"]))
        # An agent without a task would only wander.
        if match is None:
            raise DataError(self._paths[name], "", "its grammar words no task")
        instruction = f"{match[1].strip()}."
        kind = name.partition("-")[0]
        return _task_of(name, kind, instruction, name.partition("/")[0])

    def _read(self, path: Path) -> JsonObject:
        """A game's file. Raises ``DataError`` if it is none."""
        try:
            game = json.loads(read_bytes(path))
        except ValueError as error:
            raise DataError(path, "", f"is not JSON ({error})") from None
        missing = [
            key
            for key in ("pddl_domain", "grammar", "pddl_problem", "walkthrough")
            if not isinstance(game, dict) or key not in game
        ]
        if missing:
            raise DataError(path, "", f"lacks {missing[0]!r}", "fetch the games again")
        return game  # type: ignore[no-any-return]

    # Generated games.

    @cached_property
    def _generated(self) -> list[tuple[Task, JsonObject]]:
        """Games of generated homes, the types in turn.

        Household tasks are drawn until ``episodes`` of them fit: each has the type whose turn it
        is, and a game in ALFWorld's domain. Raises ``UsageError`` after ``_MOST_DRAWN`` draws for
        each episode.
        """
        # The package's planning domain and grammar.
        folder = package_files("alfworld").joinpath("data")
        domain = (folder / "alfred.pddl").read_text(encoding="utf-8")
        grammar = (folder / "alfred.twl2").read_text(encoding="utf-8")
        games: list[tuple[Task, JsonObject]] = []
        required = self.settings.episodes
        draws = required * _MOST_DRAWN
        settings = Household.Settings(episodes=draws, seed=self.settings.seed)
        household = Household("generated_test", settings=settings)
        for number in count():
            if len(games) == required:
                break
            if number == draws:
                raise UsageError(
                    f"only {len(games)} of {required} games could be drawn"
                )
            # A task of another type is skipped before its world is built.
            task = household.tasks[number]
            reference = task.reference
            expected = KINDS_OF_GAMES[len(games) % len(KINDS_OF_GAMES)]
            assert isinstance(reference, HouseholdReference)
            if reference.kind != expected:
                continue
            world = household.world(task.episode)
            assert isinstance(world, HouseholdWorld)
            world.reset(task.episode)
            drawn = text_game(world.scene, world.layout.room_at, reference)
            if drawn is None:  # the domain does not have the task
                continue
            # The fields of a published game's file.
            instruction = task.episode.instruction
            game = {
                "pddl_domain": domain,
                "grammar": grammar.replace(_PLACEHOLDER, instruction.rstrip(".")),
                "pddl_problem": drawn.problem,
                "walkthrough": list(drawn.walkthrough),
            }
            name = task.episode.id
            games.append(
                (_task_of(name, reference.kind, instruction, task.episode.scene), game)
            )
        return games

    def _game(self, name: str) -> JsonObject:
        """The content of a game's file."""
        if self.split != GENERATED:
            return self._read(self._paths[name])
        return next(game for task, game in self._generated if task.episode.id == name)


def _task_of(name: str, kind: str, instruction: str, scene: str) -> Task:
    """A game as a task; its start is in its file."""
    episode = Episode(name, instruction, scene, {"game": name})
    return Task(episode, GameReference(name, kind))


def _version(package: str) -> str:
    """The version of a package, empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


dataset = Alfworld
