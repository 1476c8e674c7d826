"""``wayword list``, ``doctor``, ``data``, ``models``, ``perceive`` and ``task``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from wayword.cli import show
from wayword.cli.running import Batch, Cache, Data, Dollars, Tier, tier_settings
from wayword.core.visible import comma_separated

data = typer.Typer(help="Published datasets on this machine.", no_args_is_help=True)


def list_parts(
    kind: Annotated[
        str, Argument(help="agents, worlds, datasets, models …; all if left out")
    ] = "",
) -> None:
    """List agents, worlds, datasets, models and all other parts by their names.

    \b
    Examples:
      wayword list
      wayword list agents
    """
    # Imported here, like all of the library, so that `--help` is fast.
    from wayword.core import registry

    # Detectors are settings of agents, and no parts of a registry.
    is_detectors = kind in ("detector", "detectors")
    if not is_detectors:
        show.echo(registry.listing(kind))
    if is_detectors or not kind:
        from wayword.perception.detectors import detector_listing

        show.echo(detector_listing() if is_detectors else f"\n{detector_listing()}")


def doctor() -> None:
    """Check what works on this machine and how to fix what does not."""
    from wayword.runs.machine import checks

    for name, passed, result, remedy in checks():
        # What is missing is optional, so it is yellow and no error.
        mark, color = ("ok  ", "green") if passed else ("--  ", "yellow")
        show.echo(mark, nl=False, color=color)
        show.echo(f"{name}: {result}")
        if not passed:
            show.echo(f"      {remedy}")


@data.command("list")
def data_list(
    names: Annotated[
        list[str] | None, Argument(help="Datasets, such as r2r; all if left out.")
    ] = None,
    data: Data = None,
    published: bool = False,
) -> None:
    """List dataset splits with their number of episodes, or what is missing.

    \b
    Examples:
      wayword data list
      wayword data list r2r reverie

    Args:
        published: List what can be fetched: files, sizes, checksums, licenses, terms, steps.
    """
    from wayword.runs import catalog
    from wayword.runs.fetching.fetch import listing

    if published:
        show.echo(listing(data))
        return
    # Each line is shown once it is known, as the first reading of a large split takes seconds.
    for line in catalog.data_listing(data, names or (), show.waiting):
        show.echo(line)


@data.command("fetch")
def data_fetch(
    names: list[str],
    data: Data = None,
    accept_terms: bool = False,
    mirror: str = "",
) -> None:
    """Download published datasets from their publishers, and check their splits.

    Shows license and terms, which must be accepted. An interrupted download resumes; files that are
    there stay as they are. A proxy is taken from HTTPS_PROXY. Where a publisher wants a form or a
    script, the steps are printed, and the exit code is 1 until its splits are there.

    \b
    Examples:
      wayword data fetch r2r
      wayword data fetch map2seq touchdown --accept-terms --data /path/to/data
      wayword data fetch rxr --mirror https://mirror.example/data

    Args:
        names: Names of `data list --published`.
        accept_terms: Accept the terms shown, without a question.
        mirror: Address of a mirror, as `wget -x` makes it; default: $WAYWORD_MIRROR.
    """
    import sys

    from wayword.core.errors import UsageError
    from wayword.runs.fetching import fetch
    from wayword.runs.fetching.table import selected

    entries = selected(names)
    folder = fetch.target_folder(data)
    missing = [entry for entry in entries if entry.missing(folder)]
    for entry in missing:
        show.echo(fetch.terms(entry))
    # A script has nobody to answer, and must not wait.
    if missing and not accept_terms:
        if not sys.stdin.isatty():
            raise UsageError("these terms must be accepted; add --accept-terms")
        typer.confirm("Do you accept these terms?", abort=True)
    # All that can be fetched comes first, and the steps by hand last.
    with show.transfer() as report:
        for entry in entries:
            for line in fetch.bring(entry, folder, report, mirror):
                show.echo(line)
    by_hand = [entry for entry in entries if entry.steps]
    failed = any(entry.missing(folder) for entry in entries)
    # Parts that were there before, and are only needed, have been checked before.
    chosen = {name.partition(":")[0] for name in names}
    to_check = [entry for entry in entries if entry in missing or entry.name in chosen]
    for entry in to_check:
        are_valid = []
        for report_of_split, is_valid in fetch.checks([entry], folder):
            show.echo(report_of_split)
            are_valid.append(is_valid)
        failed = failed or not all(are_valid)
        # Whoever has valid splits has followed the steps.
        if entry in by_hand and are_valid and all(are_valid):
            by_hand.remove(entry)
    for entry in by_hand:
        show.echo(fetch.steps(entry))
    show.echo(f"data folder: {folder}")
    if failed or by_hand:
        raise typer.Exit(1)


@data.command("check")
def data_check(
    on: str,
    data: Data = None,
    set_: list[str] | None = None,
) -> None:
    """Check every record of a split, and print the checksums of its files.

    Lists all bad records, each with file, record and field. The exit code is 1 if there are any.

    \b
    Examples:
      wayword data check r2r:val_seen
      wayword data check r2r --set dataset.annotations=mine.json
      wayword data check household:valid_seen --set dataset.trajectories=mine.jsonl

    Args:
        on: Dataset and split, such as r2r:val_seen.
        set_: dataset.KEY=VALUE
    """
    from wayword.runs import catalog
    from wayword.settings import parse

    # The whole report is printed before the command fails.
    report, is_valid = catalog.data_check(on, data, parse(set_ or []))
    show.echo(report)
    if not is_valid:
        raise typer.Exit(1)


# ``wayword models``: weights of local models, and a server for them.

models = typer.Typer(help="Models on this machine.", no_args_is_help=True)
Name = Annotated[str, Argument(help="A model's name, such as smollm2.")]


@models.command("list")
def models_list() -> None:
    """List models that can be fetched by name, and models trained for an agent."""
    from wayword.models.parts import weights

    for status in weights.statuses():
        where = status.path or f"not fetched; run `wayword models fetch {status.name}`"
        show.echo(
            f"{status.name}  {status.size / 1e6:.0f} MB  {status.license}  {where}"
        )
    # These are part of the package and need no fetching.
    for name in weights.regression_model_names():
        path = weights.SHIPPED / f"{name}.json"
        size = f"{path.stat().st_size / 1e3:.0f} kB"
        show.echo(f"regression:{name}  {size}  for agent {name}  {path}")


@models.command("fetch")
def models_fetch(name: Name = "smollm2") -> None:
    """Download a model's weights and verify their SHA-256."""
    from wayword.models.parts import weights

    show.echo(f"{name}: {weights.fetch(name)}")


@models.command("check")
def models_check(name: Name = "smollm2") -> None:
    """Verify a model's weights and let it generate a few words."""
    import asyncio

    from wayword.core.model import Sampling, user
    from wayword.models.parts import weights
    from wayword.models.parts.opening import open_model

    show.echo(f"{weights.checked(name)}: SHA-256 verified")
    # Models that classify or embed have no text to show.
    if not weights.writes_text(name):
        return
    # A user may write the prefix of the backend or leave it out.
    model = open_model(f"local:{name.removeprefix('local:')}")
    prompt = [user("Name a color.")]
    answer = asyncio.run(model.complete(prompt, Sampling(max_tokens=12)))
    show.echo(f"answer: {answer.text.strip()!r}")


@models.command("serve")
def models_serve(
    name: Name = "smollm2",
    port: int = 8080,
) -> None:
    """Serve a model with an OpenAI-compatible API on this machine until Ctrl-C.

    \b
    Example:
      wayword models serve smollm2 --port 8080
      OPENAI_BASE_URL=http://127.0.0.1:8080/v1 wayword run navgpt --model openai:smollm2

    Args:
        port: Port on 127.0.0.1.
    """
    import time

    from wayword.models.parts.llamacpp import serve
    from wayword.models.parts.weights import located

    # The server works in the background until Ctrl-C.
    with serve(located(name), port) as address:
        show.echo(f"serving {name} at {address}  (Ctrl-C to stop)")
        while True:
            time.sleep(3600)


# ``wayword prompts``: the prompts of the papers' released code.

prompts = typer.Typer(
    help="Prompts of the papers' released code.",
    no_args_is_help=True,
)


@prompts.command("import")
def prompts_import(
    system: str,
    path: Path,
    *,
    out: Path,
    variant: str = "",
) -> None:
    """Import the prompts of a release into a prompt folder. The clone's code is not run.

    \b
    Example:
      wayword prompts import navgpt NavGPT --out prompts/navgpt
      wayword reproduce navgpt/table-1 --model openai:gpt-4.1 --prompts prompts/navgpt

    Args:
        system: navgpt, velma, lgx, langsuite or discussnav
        path: Your clone of the released code; for lgx also a YAML file with the prompts of Table
          IV.
        out: New folder for the prompts.
        variant: gpt4, gpt35 (navgpt); map2seq, touchdown, finetuned (velma); alfred, iqa,
          iqa_contains, iqa_counts, rearrange (langsuite). The first is the default.
    """
    from wayword.agents.released import import_prompts

    # The prompts are the authors' and are not shipped, so users import them.
    names = import_prompts(system, path, out, variant)
    show.echo(f"{out}: {len(names)} prompts: {', '.join(names)}")


# ``wayword probe``.


def probe(
    model: str,
    on: str = "houses",
    crops: Annotated[int, Option(min=1, help="Number of questions.")] = 200,
    seed: int = 0,
    set_: list[str] | None = None,
    cache: Cache = None,
    tier: Tier = "",
    batch: Batch = False,
    max_dollars: Dollars = None,
    out: Path | None = None,
) -> None:
    """Ask a model which of ten kinds each object in a picture is.

    Objects are cut out of the schematic pictures of --set eyes=pictures. The table says what the
    model can name, by size and by kind; chance is 10%.

    \b
    Examples:
      wayword probe openai:gpt-5-mini
      wayword probe openai:gpt-5-mini --on household --crops 400 --out answers.jsonl
      wayword probe openai:gpt-5-mini --crops 1000 --batch

    Args:
        model: A model that sees, such as openai:NAME.
        on: The dataset whose objects are shown: houses, household.
        seed: Seed of crops and options.
        set_: A setting of the model: model.KEY=VALUE.
        out: File for the answers, a line of JSON each.
    """
    from wayword.core.errors import UsageError
    from wayword.runs import probe as probing
    from wayword.settings import parse

    options = parse([*(set_ or []), *tier_settings(tier, batch)])
    # Only the model has settings here; a misspelled group must not be ignored.
    if other := [key for key in options if key != "model"]:
        raise UsageError(f"--set {other[0]}: write model.KEY=VALUE")
    plan = probing.Probing(
        model, on, crops, seed, options.get("model", {}), max_dollars, cache, out
    )
    answered = probing.probe(plan)
    if not answered:
        raise UsageError("probe: the budget ended before the first answer")
    show.echo("\n".join(probing.lines(answered)))


# ``wayword perceive``.


def perceive(
    folder: Path,
    *,
    out: Path,
    layout: str = "navgpt24",
    captioner: str = "",
    detector: str = "",
    phrases: str = "",
    tagger: str = "",
    depth: str = "",
    model: str = "",
    scan: str = "tour",
    norths: Path | None = None,
    within: float = 3.0,
    batch: int = 16,
) -> None:
    """Describe panoramas in the layout of NavGPT's observation files.

    An interrupted command resumes where it stopped; a finished one loads no network.

    \b
    Examples:
      wayword perceive pictures --captioner blip2:Salesforce/blip2-flan-t5-xl \\
        --detector detr:facebook/detr-resnet-50 --model openai:gpt-5-mini --out seen
      wayword perceive pictures --layout discussnav12 --captioner chat:openai:gpt-5-mini --out seen

    Args:
        folder: A folder of equirectangular panoramas.
        out: Folder for the observation files.
        layout: Layout of the views: navgpt24, navgpt12, navgpt36, discussnav12.
        captioner: blip2:WEIGHTS, vlm:WEIGHTS, chat:openai:NAME …
        detector: detr:WEIGHTS, ssd:FOLDER, groundingdino:WEIGHTS, owlv2:WEIGHTS.
        phrases: Prompts for groundingdino and owlv2: 'chair,door,red carpet'.
        tagger: tags:WEIGHTS[,FILE]: tags for each view.
        depth: depth:WEIGHTS: distances to detected objects.
        model: A language model to merge captions and summarize places.
        scan: Name of the scan in the files.
        norths: JSON: place -> heading of the image center, degrees; default: the tour's.
        within: Leave out objects farther away (metres).
        batch: Views per batch.
    """
    from wayword.runs.perceive import Perceiving, perceive

    # An empty part, after a last comma, is no phrase.
    words = tuple(comma_separated(phrases))
    plan = Perceiving(
        folder,
        out,
        layout,
        captioner,
        detector,
        depth,
        tagger,
        words,
        model,
        scan,
        norths,
        within,
        batch,
    )
    # Places have no scores, so the bar shows counts alone.
    with show.progress("places") as report:
        survey = perceive(plan, lambda _, number, count: report(number, count, {}))
    show.echo(
        f"{survey.places} places, {survey.views} views, {survey.objects} objects; "
        f"{survey.computed} answers computed, the rest cached"
    )
    show.echo(f"The objects in the views: {out / 'boxes'}")


# ``wayword task``: custom tasks from a short YAML file.


task = typer.Typer(help="Custom tasks from a short YAML file.", no_args_is_help=True)


@task.command("new")
def new(
    file: Path,
    out: Path | None = None,
) -> None:
    """Check tasks, solve them with the expert, and mark the file as accepted.

    An accepted file contains everything needed to play its task. A file can contain several tasks,
    separated by lines of three dashes.

    \b
    Examples:
      wayword task example --out tea.yaml
      wayword task new tea.yaml
      wayword run react --on ./tea.yaml --model local:smollm2

    Args:
        file: A YAML file, or a folder of them.
        out: File for the accepted task; default: FILE itself.
    """
    from wayword.datasets.sources.own import accept

    # All tasks of a file are accepted or none.
    created = accept(file, out)
    for each in created:
        name = each.case.task.episode.id
        steps = each.accepted["steps"]
        show.echo(f"{each.path}: {name} accepted; the expert takes {steps} steps")
    # Without `./` a relative name would be taken for a dataset.
    target = out or file
    show.echo(
        f"Next: wayword run expert --on {target if target.is_absolute() else f'./{target}'}"
    )


@task.command("example")
def example(
    out: Path | None = None,
) -> None:
    """Print an example task file.

    Args:
        out: Write to this new file instead of stdout.
    """
    from wayword.core.errors import UsageError
    from wayword.datasets.sources import example as example_text

    if out is None:
        show.echo(example_text(), nl=False)
        return
    # The file may be a task that the user wrote.
    if out.exists():
        raise UsageError(f"{out} already exists; give a new file")
    out.write_text(example_text(), encoding="utf-8")
