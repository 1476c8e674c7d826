"""``wayword list``, ``wayword doctor`` and ``wayword data``: what there is, and what works."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from wayword.cli import show

data = typer.Typer(help="Published data: what is there.", no_args_is_help=True)
Folder = Annotated[Path | None, Option("--data", help="Data folder; else $WAYWORD_DATA.")]


def list_parts(
    kind: Annotated[str, Argument(help="agents, worlds, datasets, models, perceivers")] = "",
) -> None:
    """Every agent, world, dataset and model backend by name.

    \b
    Examples:
      wayword list
      wayword list agents
    """
    from wayword.runs import catalogue

    typer.echo(catalogue.listing(kind))


def doctor() -> None:
    """What works on this machine, and what to do about the rest."""
    from wayword.runs import catalogue

    for check in catalogue.checks():
        mark = typer.style("ok  ", fg="green") if check.ok else typer.style("--  ", fg="yellow")
        typer.echo(f"{mark}{check.name}: {check.found}")
        if check.remedy:
            typer.echo(f"      {check.remedy}")


@data.command("list")
def data_list(folder: Folder = None) -> None:
    """Which splits of which datasets are there, with their numbers of episodes."""
    from wayword.runs import catalogue

    typer.echo(catalogue.data_listing(folder))


@data.command("check")
def data_check(
    on: Annotated[str, Argument(help="Dataset and split, such as r2r:val_seen.")],
    folder: Folder = None,
) -> None:
    """Read a split whole, check every record, and print the checksums of its files."""
    from wayword.runs import catalogue

    typer.echo(catalogue.data_check(on, folder))


# ``wayword models``: the local model's weights, and a server for them.

models = typer.Typer(help="Models on this machine.", no_args_is_help=True)
Name = Annotated[str, Argument(help="A model's name, such as smollm2.")]


@models.command("list")
def models_list() -> None:
    """The models that can be had by name, and which are here; those trained here come last."""
    from wayword.models.parts import weights

    for status in weights.statuses():
        where = status.path or f"not here; run `wayword models fetch {status.name}`"
        typer.echo(f"{status.name}  {status.size / 1e6:.0f} MB  {status.licence}  {where}")
    for name in weights.trained_names():
        own = weights.SHIPPED / f"{name}.gguf"
        typer.echo(f"local:{name}  {own.stat().st_size / 1e6:.0f} MB  for agent {name}  {own}")


@models.command("fetch")
def models_fetch(name: Name = "smollm2") -> None:
    """Bring a model's weights here, checked by their SHA-256."""
    from wayword.models.parts import weights

    typer.echo(f"{name}: {weights.fetch(name)}")


@models.command("check")
def models_check(name: Name = "smollm2") -> None:
    """Verify a model's weights, and have it write a few words if it can."""
    import asyncio

    from wayword.core.model import Sampling, user
    from wayword.models.parts import weights
    from wayword.models.parts.opening import open_model

    typer.echo(f"{weights.checked(name)}: the SHA-256 is right")
    if not weights.writes(name):
        return
    asked = [user("Name a colour.")]
    model = open_model(f"local:{name.removeprefix('local:')}")
    answer = asyncio.run(model.complete(asked, Sampling(max_tokens=12)))
    typer.echo(f"it says: {answer.text.strip()!r}")


@models.command("serve")
def models_serve(
    name: Name = "smollm2", port: Annotated[int, Option(help="Port on 127.0.0.1.")] = 8080
) -> None:
    """Serve a model with OpenAI's interface, on this machine only, until Ctrl-C.

    \b
    Example:
      wayword models serve smollm2 --port 8080
      OPENAI_BASE_URL=http://127.0.0.1:8080/v1 wayword run navgpt --model openai:smollm2
    """
    import time

    from wayword.models.parts.llamacpp import serve
    from wayword.models.parts.weights import located

    with serve(located(name), port) as address:
        typer.echo(f"serving {name} at {address}  (Ctrl-C ends it)")
        while True:
            time.sleep(3600)


# ``wayword perceive``.


def perceive(
    folder: Annotated[Path, Argument(help="A folder of equirectangular panoramas.")],
    out: Annotated[Path, Option(help="Folder for the observation files.")],
    layout: Annotated[
        str, Option(help="Views to look at: navgpt24, navgpt12, navgpt36, discussnav12.")
    ] = "navgpt24",
    captioner: Annotated[str, Option(help="blip2:WEIGHTS, vlm:WEIGHTS, chat:openai:NAME …")] = "",
    detector: Annotated[
        str, Option(help="detr:WEIGHTS, ssd:FOLDER, groundingdino:WEIGHTS, owlv2:WEIGHTS.")
    ] = "",
    phrases: Annotated[
        str, Option(help="What groundingdino and owlv2 look for: 'chair,door,red carpet'.")
    ] = "",
    tagger: Annotated[str, Option(help="tags:WEIGHTS[,FILE]: words that fit a view.")] = "",
    depth: Annotated[str, Option(help="depth:WEIGHTS, for distances to what is found.")] = "",
    model: Annotated[
        str, Option(help="A language model that merges captions and sums places up.")
    ] = "",
    scan: Annotated[str, Option(help="The scan's name in the files.")] = "tour",
    norths: Annotated[
        Path | None,
        Option(help="JSON: place -> heading of the picture's middle, degrees; a tour has its own."),
    ] = None,
    within: Annotated[float, Option(help="Leave out things known to be farther, metres.")] = 3.0,
    batch: Annotated[int, Option(help="Views a network is given at once.")] = 16,
) -> None:
    """Look at panoramas and write what is there, in the layout of NavGPT's observation files.

    The same command again goes on where it stopped; once done it asks no network.

    \b
    Examples:
      wayword perceive pictures --captioner blip2:Salesforce/blip2-flan-t5-xl \\
        --detector detr:facebook/detr-resnet-50 --model openai:gpt-5-mini --out seen
      wayword perceive pictures --layout discussnav12 --captioner chat:openai:gpt-5-mini --out seen
    """
    from wayword.runs.perceive import Perceiving, perceive

    plan = Perceiving(
        folder,
        out,
        layout,
        captioner,
        detector,
        depth,
        tagger,
        tuple(phrase.strip() for phrase in phrases.split(",") if phrase.strip()),
        model,
        scan,
        norths,
        within,
        batch,
    )
    with show.progress("places") as tell:
        seen = perceive(plan, lambda _, number, count: tell(number, count, {}))
    typer.echo(
        f"{seen.places} places, {seen.views} views, {seen.found} things found; "
        f"{seen.asked} answers were worked out, the rest were known"
    )
    typer.echo(f"{out / 'index.html'}")


# ``wayword task``: tasks of one's own, from a short YAML file.


task = typer.Typer(help="Tasks of your own, from a short YAML file.", no_args_is_help=True)


@task.command("new")
def new(
    file: Annotated[Path, Argument(help="The YAML file; see: wayword task example")],
    out: Annotated[
        Path | None, Option(help="Write the accepted task here; else into the file itself.")
    ] = None,
) -> None:
    """Check a task, have the expert solve it, and mark the file as accepted.

    An accepted file is all that somebody else needs to play the task.

    \b
    Examples:
      wayword task example --out tea.yaml
      wayword task new tea.yaml
      wayword run react --on ./tea.yaml --model local:smollm2
    """
    from wayword.datasets.sources.own import accept

    made = accept(file, out)
    played = made.path if made.path.is_absolute() else f"./{made.path}"
    typer.echo(f"{made.path}: accepted; the expert takes {made.accepted['steps']} steps")
    typer.echo(f"Next: wayword run expert --on {played}")


@task.command("example")
def example(
    out: Annotated[Path | None, Option(help="Write it into this new file instead.")] = None,
) -> None:
    """Print a task file to start from."""
    from wayword.core.errors import UsageError
    from wayword.datasets.sources.own import example

    if out is None:
        typer.echo(example(), nl=False)
        return
    if out.exists():
        raise UsageError(f"{out} is there already; name a new file")
    out.write_text(example(), encoding="utf-8")
