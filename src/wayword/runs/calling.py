"""Runs from Python: ``run`` accepts names, classes, instances and models.

import wayword

wayword.run("navgpt", "r2r:val_seen", "openai:gpt-5-mini", limit=20, max_dollars=2)
wayword.run(MyAgent, "houses", limit=20, settings={"steps": 4})
wayword.run("act", MyDataset, ScriptedModel(answers="stop"))
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from wayword.agents.person import Person
from wayword.core import registry
from wayword.core.agent import Agent
from wayword.core.blocking import blocking
from wayword.core.dataset import Dataset
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, door, suggest
from wayword.core.model import Model
from wayword.core.visible import visible
from wayword.models.parts.opening import use_model
from wayword.runs import running
from wayword.runs.active import ABOVE_LIMIT, OnProgress
from wayword.runs.plan import Plan, expand_keys
from wayword.runs.results import RunResult
from wayword.settings import errors_in_python, merge

_HOUSES = "houses"
"""The dataset of a call that names none, as of a plan."""


class RunOptions(TypedDict, total=False):
    """Options of a run, described in :class:`~wayword.runs.plan.Plan`."""

    settings: Mapping[str, Any]
    limit: int | None
    first: bool
    shuffle: int | None
    shard: str
    seed: int
    max_steps: int | None
    concurrency: int
    data: Path | str | None
    out: Path | str | None
    max_tokens: int | None
    max_dollars: float | None
    cache: Path | str | None
    rpm: float | None
    prices: Path | str | None
    retries: int
    actors: Mapping[str, str]
    episode: str
    episodes: Sequence[str]
    redo: Sequence[str]
    ask: Literal["", "terminal", "browser"]
    continues: str
    engine: Literal["", "ray"]
    workers: int
    remember: Literal["", "scene"]
    trusted: Sequence[Path]


@door
def run(
    agent: str | Path | type[Agent] | Agent | Plan,
    on: str | Path | type[Dataset] | Dataset = _HOUSES,
    model: str | Model = "",
    *,
    on_progress: OnProgress | None = None,
    person: Person | None = None,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Play episodes with an agent. Finished episodes are kept: the same call resumes the run.

    ``agent`` and ``on`` are names as for ``wayword run``, files, classes or instances; ``model`` is
    a name such as ``openai:gpt-5-mini`` or a model object. A :class:`Plan` replaces all three.
    Options are those of ``wayword run`` with underscores: ``limit``, ``seed``, ``data``, ``out``,
    ``max_steps``, ``max_dollars``, ``concurrency`` …; ``settings`` corresponds to ``--set``, nested
    or with dotted keys: ``{"decoding": "free", "model.threads": 2}``.

    Blocks until the run ends, even inside an event loop (notebooks); :func:`run_async` can be
    awaited. Raises ``UsageError``, ``DataError`` or ``RecordingError``.
    """
    work = run_async(
        agent,
        on,
        model,
        on_progress=on_progress,
        person=person,
        **options,
    )
    return blocking(work)


async def run_async(
    agent: str | Path | type[Agent] | Agent | Plan,
    on: str | Path | type[Dataset] | Dataset = _HOUSES,
    model: str | Model = "",
    *,
    on_progress: OnProgress | None = None,
    person: Person | None = None,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Asynchronous version of :func:`run`, with its arguments and errors.

    result = await wayword.run_async("random", "houses", limit=5)
    """
    if on_progress is not None and not callable(on_progress):
        raise UsageError(
            f"on_progress must be a function of (done, total, scores), got {on_progress!r}"
        )
    with errors_in_python(), use_model(model):
        plan = _plan(agent, on, model, options)
        result = await running.run_async(plan, on_progress, person)
    _log_problems(result)
    return result


def _log_problems(result: RunResult) -> None:
    """Log that episodes failed, that the run stopped early, or that its folder has episodes of an
    earlier call, which its table would not say. Python prints such a line on stderr unless logging
    is set up otherwise."""
    outcome = result.outcome
    log = logging.getLogger("wayword")
    if outcome.failed:
        played = outcome.failed + outcome.finished
        reasons = [line for line in result.notices if " failed: " in line]
        problem = f"{outcome.failed:,} of {played:,} episodes failed"
        log.warning("%s", visible("; ".join([problem, *reasons[:1]])))
    for line in result.notices:
        if ABOVE_LIMIT in line:
            log.warning("%s", visible(line))
    for stop in filter(None, (outcome.exhausted, outcome.unusable)):
        log.warning("%s", visible(f"stopped: {stop}"))


def _plan(agent: Any, on: Any, model: Any, options: JsonObject) -> Plan:
    """Return the plan of a call. Raises ``UsageError`` for an argument of another type, and for an
    unknown option, with a suggestion.

    ``options`` are fields of :class:`Plan` other than the three parts. Settings of the call are
    merged over those of a plan or of an instance.
    """
    names = [
        each.name for each in fields(Plan) if each.name not in ("agent", "on", "model")
    ]
    for key in options:
        if key not in names:
            if key in ("set", "config"):
                hint = "write settings={...}"
            elif key == "seeds":
                hint = (
                    "call it for each seed, as run(…, seed=1, out='runs/seed-1'); "
                    "first.table(['sr'], second, third, pool=True) is their row"
                )
            else:
                hint = suggest(key, names)
            # An option of the run is easily confused with a setting of the agent.
            shipped = isinstance(agent, str) and agent in registry.names("agent")
            owner = registry.load("agent", agent) if shipped else Agent
            if key in [each.name for each in fields(owner.Settings)]:
                hint = f"it is a setting of {agent}: write settings={{{key!r}: {options[key]!r}}}"
            raise UsageError(f"run has no option {key!r}; {hint}")
    # Values of a wrong type would fail later, and with a message about something else.
    values = dict(options)
    for key in ("settings", "actors"):
        if not isinstance(values.get(key, {}), Mapping):
            raise UsageError(f"{key} must be a dict, got {values[key]!r}")
    for key in ("episodes", "redo"):
        if isinstance(values.get(key), str):
            raise UsageError(f"{key} must be a list of ids, got {values[key]!r}")
    # A plan has all three parts; other parts get names, by which a run is recorded.
    settings = expand_keys(values.pop("settings", {}))
    if isinstance(agent, Plan):
        if on != _HOUSES or model != "":
            raise UsageError(
                "a Plan contains its dataset and model; remove on= and model="
            )
        return replace(agent, **values, settings=merge(agent.settings, settings))
    agent_name, agent_settings = _name_and_settings("agent", agent)
    dataset_name, dataset_settings = _name_and_settings("dataset", on)
    if not isinstance(model, str | Model):
        raise UsageError(
            f'model must be a name such as "local:smollm2" or a Model, got {model!r}'
        )
    # The processes of an engine open the parts again, by name.
    objects = [each for each in (agent, on, model) if not isinstance(each, str | Path)]
    if values.get("engine") and objects:
        problem = f"engine={values['engine']!r} needs names or files"
        raise UsageError(f"{problem}, got {objects[0]!r}")
    defaults = merge(
        agent_settings,
        {"dataset": dataset_settings} if dataset_settings else {},
    )
    name = model if isinstance(model, str) else model.name
    return Plan(
        agent_name,
        dataset_name,
        name,
        settings=merge(defaults, settings),
        **values,
    )


def _name_and_settings(kind: registry.Kind, part: Any) -> tuple[str, JsonObject]:
    """Name of an agent or dataset; of an instance also its settings."""
    option = "on" if kind == "dataset" else kind
    base = Dataset if kind == "dataset" else Agent
    if isinstance(part, str | Path):
        if not str(part).strip(". "):
            raise UsageError(f"{option} is empty; {suggest('', registry.names(kind))}")
        return str(part), {}
    cls = part if isinstance(part, type) else type(part)
    if not issubclass(cls, base):
        raise UsageError(
            f"{option} must be a name, a file, or a class or instance of {base.__name__}, "
            f"got {part!r}"
        )
    name = registry.name_of(kind, cls)
    if isinstance(part, type):
        return name, {}
    name = f"{name}:{part.split}" if isinstance(part, Dataset) else name
    # An agent may leave the base class's constructor out, and with it the settings.
    settings = getattr(part, "settings", None)
    return name, {} if settings is None else asdict(settings)
