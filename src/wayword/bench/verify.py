"""Verify a card: its runs are those of the version, complete, and replay to its numbers.

A card is verified if all of this holds: its header is the version's; the runs of each level, of the
robust block and of the samples of published data have the settings that the card and the version
give (agent, models, dataset, seed, limit of steps, perturbation) and every episode of the plan;
ladders end where the rule ends them; every run verifies (:mod:`wayword.runs.verify`); and the card
is what the runs give. A private twin needs its salt. No file that a card names is opened, unless
the user trusts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from wayword.bench import ladders, scorecard
from wayword.bench.outcomes import results
from wayword.bench.real import REAL, absence
from wayword.bench.sight import SIGHT
from wayword.core import registry
from wayword.core.dataset import task_id
from wayword.core.episode import JsonObject
from wayword.core.errors import WaywordError
from wayword.runs.config import difference
from wayword.runs.identity import dataset_settings, split_name
from wayword.runs.opening import Trusted, open_agent, open_dataset, trusted_part
from wayword.runs.plan import RESERVED, Plan
from wayword.runs.record import RecordedRun, is_run
from wayword.runs.selection import choose
from wayword.runs.verify import UNPROVEN, verify

__all__ = ["UNPROVEN", "Verified", "check_card"]
_CHOICES = {"model", "models"}
"""Groups of settings that a card may have: the others change the episodes."""
_SAME = ("model_identity", "prompts_checksum", "agent_checksum", "wayword")
"""Fields of the identity in which all runs of a card must agree."""


class Unverified(Exception):
    """The reason why a card is not verified."""


@dataclass(frozen=True)
class Verified:
    """The result of a check.

    ``reason`` is empty if the card is verified; ``unchecked`` are the published splits
    whose files are not on this machine.
    """

    reason: str = ""
    unchecked: tuple[str, ...] = ()


@dataclass
class _Check:
    """The card that is checked, what the user gave, and the runs seen so far."""

    folder: Path
    card: Mapping[str, Any]
    data: Path | None
    salts: Sequence[str]
    trusted: Trusted
    unchecked: list[str] = field(default_factory=list)
    first: Mapping[str, Any] | None = None

    def run(self) -> None:
        """Raise ``Unverified`` for the first problem."""
        # Before ``read_card``, which would return the card itself: all would agree.
        if not scorecard.level_runs(self.folder):
            raise Unverified("its runs are not here")
        entry = self._entry()
        # ``_entry`` checked the agent by its checksum; its file may have another name here.
        header = {**entry.header(), "agent": self.card["agent"]}
        for key, value in header.items():
            # The header has the installed version; ``_check`` compares the card's with the runs'.
            if key == "wayword":
                continue
            stated = self._of_header(key)
            if stated != value:
                raise Unverified(f"its {key} is not {value!r:.60} but {stated!r:.60}")
        # Computed again from the runs.
        computed = dict(scorecard.read_card(self.folder))
        if "unpriced" not in self.card:  # a card from before this field
            computed.pop("unpriced", None)
        if computed != self.card:
            raise Unverified("its numbers are not those of its runs")
        for track in entry.chosen():
            self._ladder(track, list(entry.plans(track, data=self.data)))
            if self.card["robust"] and entry.is_middle_played(track):
                for kind, plan in entry.robust_plans(track, data=self.data):
                    self._check(f"{ladders.ROBUST}/{kind}/{track.name}", plan)
            if "sight" in self.card:
                for condition, plan in entry.sight_plans(track, data=self.data):
                    self._check(f"{SIGHT}/{condition}/{track.name}", plan)
        samples = scorecard.recorded_samples(entry, self.card, self.data)
        for path, plan in samples.items():
            # Data that are missing here are listed as unchecked; the card does not fail for them.
            if absence(plan):
                self.unchecked.append(plan.on)
            else:
                self._check(f"{REAL}/{path.name}", replace(plan, out=path))

    def _of_header(self, key: str) -> Any:
        """Return a field of the card as its header has it."""
        value = self.card.get(key)
        if key == "tracks":
            value = scorecard.track_heads(self.card)
        return value

    def _entry(self) -> ladders.Contender:
        """Return the player that the card describes, with the salt of its runs.

        Raises ``Unverified`` for settings that would change the tasks, for a backend that is not
        installed, and for a private twin whose salt was not given; ``UsageError`` for an agent in a
        file, unless the user trusts a file with the checksum of the first run.
        """
        card = self.card
        # A setting of the data would change the tasks.
        if groups := sorted(set(RESERVED) & set(card["settings"]) - _CHOICES):
            raise Unverified(f"its settings have the group {groups[0]!r}")
        entry = scorecard.recorded_entry(self.folder, card)
        # All runs of a card are of one player, so the first one shows it (see ``_SAME``).
        identity = RecordedRun(scorecard.level_runs(self.folder)[0]).config["identity"]
        checksum = str(identity.get("agent_checksum") or "")
        # A file is run only if the user trusts it.
        agent = trusted_part(
            "agent",
            card["agent"],
            checksum,
            self.trusted,
        )
        backend = card["model"].partition(":")[0]
        if card["model"] and backend not in registry.names("model"):
            raise Unverified(f"its model's backend {backend!r} is not installed")
        entry = replace(entry, agent=agent)
        if not card["private"]:
            return entry
        # The card does not contain the salt, but the seed of the runs follows from it. All levels
        # of all tracks have one seed, so the first plan shows whether a salt is the right one.
        seed = identity["dataset_settings"].get("seed")
        for salt in self.salts:
            salted = replace(entry, salt=salt)
            _, plan = next(salted.plans(salted.chosen()[0]))
            if plan.group("dataset")["seed"] == seed:
                return salted
        raise Unverified("it is a private twin; give its salt with --salt")

    def _ladder(self, track: ladders.Track, plans: Sequence[tuple[int, Plan]]) -> None:
        """Check the levels of a track, up to where the ladder had to end."""
        solved: list[int] = []
        tried: list[int] = []
        for length, plan in plans:
            name = f"{track.name}/{length:03d}"
            if ladders.is_hopeless(solved, tried, self.card["quick"]):
                if plan.out is not None and is_run(plan.out):
                    raise Unverified(f"{name} was played after the ladder had ended")
                continue
            path = self._check(name, plan)
            # Where a ladder ends depends on the results so far.
            won = [outcome for _, outcome, _ in results(path, track)]
            solved.append(sum(won))
            tried.append(len(won))

    def _check(self, name: str, plan: Plan) -> Path:
        """Check the run of a plan, called ``name`` in messages, and return its folder. Raises
        ``Unverified`` for the first problem."""
        path = plan.out
        if path is None or not is_run(path):
            raise Unverified(f"{name} is missing")
        run = RecordedRun(path)
        identity = run.config["identity"]
        expected = self._expected(plan)
        changed = difference(
            {"identity": {key: identity.get(key) for key in expected}},
            {"identity": expected},
        )
        if changed:
            key, recorded, planned = changed
            raise Unverified(
                f"{name} is not the version's: {key!r} is {recorded!r:.60}, expected "
                f"{planned!r:.60}"
            )
        # All runs of a card are of one player.
        self.first = self.first or identity
        for key in _SAME:
            if identity.get(key) != self.first.get(key):
                raise Unverified(
                    f"{name} has another {key!r} than the card's first run"
                )
        if identity.get("wayword") != self.card["wayword"]:
            raise Unverified(f"{name} is of another version of wayword than the card")
        if problem := _choice_problem(plan, run):
            raise Unverified(f"{name}: {problem}")
        # Every episode is replayed, which takes longest and comes last. A problem without an
        # episode is one of the whole run; an empty problem is none.
        for episode, problem in verify(run, self.data, self.trusted):
            if problem:
                where = f"{name}, episode {episode}" if episode else name
                raise Unverified(f"{where}: {problem}")
        return path

    def _expected(self, plan: Plan) -> JsonObject:
        """Return the part of a run's identity that follows from the plan."""
        dataset = open_dataset(plan)
        models = {"main": plan.model} if plan.model else {}
        return {
            "agent": self.card["agent"],
            "settings": asdict(open_agent(plan, dataset).settings),
            "actors": {},
            "models": {**models, **_role_models(plan)},
            "dataset": split_name(plan, dataset),
            "dataset_settings": dataset_settings(plan, dataset),
            "perturb": plan.perturbations().active(),
            "max_steps": dataset.max_steps,
            "seed": plan.seed,
            "shuffle": plan.order,
            **dict.fromkeys(("shard", "ask", "remember", "perceiver", "continues")),
        }


def _role_models(plan: Plan) -> dict[str, str]:
    """Return the name of each role's model in the group ``models``."""
    names = {}
    for role, group in plan.group("models").items():
        if isinstance(group, Mapping):
            group = group.get("name", plan.model)
        names[role] = str(group)
    return names


def _choice_problem(plan: Plan, run: RecordedRun) -> str:
    """The first episode that a plan demands and a run has not tried, or the other way round."""
    tasks = open_dataset(plan).tasks
    demanded = [task_id(tasks, number) for number in choose(plan, tasks)]
    tried = run.index.tried()
    # An episode that is missing may have been lost on purpose.
    for name in demanded:
        if name not in tried:
            return f"episode {name!r} is missing"
    for name in sorted(tried):
        if name not in demanded:
            return f"episode {name!r} is not of the plan"
    return ""


def check_card(
    folder: Path,
    card: JsonObject,
    data: Path | None = None,
    salts: Sequence[str] = (),
    trusted: Trusted = (),
) -> Verified:
    """Check the card of a folder. ``salts`` are those of private twins, ``trusted`` the files named
    by ``--with``."""
    check = _Check(folder, card, data, salts, trusted)
    reason = ""
    try:
        check.run()
    except Unverified as error:
        reason = str(error)
    except (OSError, ValueError, KeyError, TypeError, WaywordError) as error:
        reason = f"its runs cannot be replayed: {error}"
    return Verified(reason, tuple(check.unchecked))
