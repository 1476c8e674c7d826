"""Import the prompts of the papers' released code into a prompt folder.

    wayword prompts import navgpt ~/NavGPT --out prompts/navgpt
    wayword reproduce navgpt/table-1 --model openai:gpt-4.1 --prompts prompts/navgpt

A clone is read as data: Python files are parsed, never imported or run; templates are JSON or text.
Each text is written to a file named like the shipped prompt that it replaces, with our names for
its slots. Other sentences that a release builds in code, such as results of actions, are not
imported. ``source.json`` lists the files with checksums, and each text's line.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Formatter

from wayword.agents.pages import SLOT
from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import make_parent, sha256
from wayword.core.visible import single_line
from wayword.settings import load_shipped, load_yaml

SOURCE = "source.json"
# Name of a shipped prompt -> the released text with our slots
Texts = dict[str, "Template"]


@dataclass(frozen=True)
class Template:
    """A released text in the syntax of ``str.format`` (slots in braces, other braces doubled) until
    ``fill``, and its file and line."""

    text: str
    path: Path
    line: int = 1

    def fields(self) -> list[tuple[str, str | None]]:
        """Return pairs of literal text and the slot after it; positional slots are numbered.

        Raises ``DataError`` for unbalanced braces.
        """
        number = 0
        parts = list[tuple[str, str | None]]()
        try:
            for literal, name, _, _ in Formatter().parse(self.text):
                if name == "":
                    name = str(number)
                    number = number + 1
                parts.append((literal, name))
        except ValueError as error:
            raise self.error(f"has unbalanced braces ({error})") from None
        return parts

    @property
    def slots(self) -> set[str]:
        """Names of the template's slots."""
        return {name for _, name in self.fields() if name is not None}

    def fill(self, **slots: str) -> Template:
        """Replace every released slot by one of ours or by text; other braces become single.

        Raises ``DataError`` if the template lacks a slot, has one that is not in
        ``slots``, or text that would be read as one of ours.
        """
        for name in slots.keys() - self.slots:
            raise self.error(f"has no slot {{{name}}}")
        for name in sorted(self.slots - slots.keys()):
            raise self.error(f"has the unknown slot {{{name}}}")
        for literal, _ in self.fields():
            if braced := SLOT.search(literal):
                raise self.error(f"contains {braced[0]}, which would be read as a slot")
        parts = (
            f"{literal}{slots[name] if name else ''}" for literal, name in self.fields()
        )
        return replace(self, text="".join(parts))

    def error(self, problem: str) -> DataError:
        """Return an error that names file and line."""
        return DataError(
            f"{self.path}:{self.line}",
            "",
            problem,
            "clone the release again",
        )


class Clone:
    """The files of a clone; ``checksums`` has an entry for each file that was read.

    Raises ``UsageError`` if there is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(
                f"{folder}: no such folder; give your clone of the released code"
            )
        self.folder = folder
        self.checksums = dict[str, str]()

    def read(self, name: str) -> Template:
        """Read a text file of the clone. Raises ``DataError`` for a missing or binary one."""
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
            raise DataError(path, "", problem, "give the folder of the clone") from None
        # A pickle starts with the byte 0x80; loading one would run code of the clone.
        if content[:1] == b"\x80" or b"\0" in content:
            raise DataError(
                path,
                "",
                "is a binary file, such as a pickle; it is not read",
            )
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(f"{path}:{line}", "", "is not UTF-8 text") from None
        self.checksums[name] = sha256(path)
        # A clone made on Windows must give the same prompts.
        return Template(text.replace("\r\n", "\n"), path)

    def python(self, name: str, templates: bool = False) -> Strings:
        """Parse a Python file, without running it. Raises ``DataError``."""
        file = self.read(name)
        try:
            return Strings(ast.parse(file.text), file.path, templates)
        except SyntaxError as error:
            raise DataError(
                f"{file.path}:{error.lineno}",
                "",
                f"is not valid Python: {error.msg}",
            ) from None
        except (ValueError, RecursionError) as error:
            raise DataError(file.path, "", f"is not valid Python: {error}") from None

    def json(self, name: str) -> Callable[..., Template]:
        """Return a function that reads texts of a JSON file by their keys. Raises
        ``DataError``."""
        file = self.read(name)
        try:
            tree = json.loads(file.text)
        except json.JSONDecodeError as error:
            problem = f"is not valid JSON: {error.msg}"
            raise DataError(f"{file.path}:{error.lineno}", "", problem) from None
        except RecursionError:
            raise DataError(file.path, "", "is nested too deeply") from None

        def text(*keys: str) -> Template:
            """Return the text at the end of the keys. Raises ``DataError`` with its
            line."""
            # The parser keeps no positions: searching the keys in order finds the line.
            value = tree
            at = 0
            for key in keys:
                line = file.text.count("\n", 0, at) + 1
                if not isinstance(value, dict) or key not in value:
                    raise DataError(f"{file.path}:{line}", ".".join(keys), "is missing")
                value = value[key]
                at = max(at, file.text.find(f'"{key}"', at))
            line = file.text.count("\n", 0, at) + 1
            value = value[0] if isinstance(value, list) and value else value
            if not isinstance(value, str):
                raise DataError(f"{file.path}:{line}", ".".join(keys), "is not a text")
            return Template(value, file.path, line)

        return text


class Strings:
    """The string expressions of a Python file, by the names of function and variable.

    A chat message in a list has the list's name and its role: ``plan.prompt.system``.
    The values of f-strings and of ``format`` calls become slots, constants are inserted, and other
    braces are doubled. With ``templates``, plain strings are templates whose authors have doubled
    them: braces in them are slots, too.
    """

    def __init__(self, tree: ast.AST, path: Path, templates: bool) -> None:
        self._path = path
        self._templates = templates
        self._named: dict[str, Template] = {}
        self._scope = ""
        self._all: list[Template] = []
        self._collect(tree, "")

    def __getitem__(self, name: str) -> Template:
        """Return an assigned text. Raises ``DataError`` if there is none."""
        if name not in self._named:
            raise DataError(
                self._path,
                "",
                f"assigns no text to {name}",
                "clone the release again",
            )
        return self._named[name]

    def with_slots(self, *slots: str) -> Template:
        """Return the text with exactly these slots.

        Raises ``DataError`` if there is none, with the slot that the nearest one lacks.
        """
        if matching := self.all_with_slots(*slots):
            return matching[0]
        wanted = set(slots)
        near = max(self._all, key=lambda each: len(each.slots & wanted), default=None)
        if near is not None and near.slots & wanted and wanted - near.slots:
            missing = min(wanted - near.slots)
            raise near.error(f"has no slot {{{missing}}}")
        names = " and ".join(f"{{{slot}}}" for slot in slots)
        problem = f"has no text with {names}"
        raise DataError(self._path, "", problem, "clone the release again")

    def all_with_slots(self, *slots: str) -> list[Template]:
        """Return the templates with exactly these slots."""
        return [each for each in self._all if each.slots == set(slots)]

    def _collect(self, node: ast.AST, scope: str) -> None:
        """Collect the texts of a node and of all below it; ``scope`` is the function's
        name with a dot.

        The first text assigned to a name counts, and texts added to it by ``+=``.
        """
        for child in ast.iter_child_nodes(node):
            self._scope = scope
            inner = scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = f"{child.name}."
            if isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Name):
                target = f"{scope}{child.targets[0].id}"
                for name, text in self._texts(target, child.value):
                    self._named.setdefault(name, text)
            if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
                name = f"{scope}{child.target.id}"
                added = self._text(child.value)
                if name in self._named and added is not None:
                    before = self._named[name]
                    self._named[name] = replace(before, text=before.text + added.text)
            # A text is collected as one: the parts of an f-string alone are no prompt.
            single = self._text(child) if isinstance(child, ast.expr) else None
            if single is not None:
                self._all.append(single)
            else:
                self._collect(child, inner)

    def _texts(self, name: str, value: ast.expr) -> Iterator[tuple[str, Template]]:
        """Yield an assigned text, or the texts of a list of chat messages, with names."""
        if isinstance(value, ast.List):
            for message in value.elts:
                if isinstance(message, ast.Dict):
                    keys = [getattr(key, "value", None) for key in message.keys]
                    parts = dict(zip(keys, message.values, strict=True))
                    role = getattr(parts.get("role"), "value", "")
                    content = None
                    if "content" in parts:
                        content = self._text(parts["content"])
                    if content is not None:
                        yield f"{name}.{role}", content
        elif (single := self._text(value)) is not None:
            yield name, single

    def _text(self, node: ast.expr) -> Template | None:
        """Return a node's text as a template; None if it is no text."""
        text = self._format(node)
        return None if text is None else Template(text, self._path, node.lineno)

    def _format(self, node: ast.AST) -> str | None:
        """Return the text of an expression with its slots; None if it has other parts.

        A slot is named as its value is written, or as the keyword of ``format``. Names of texts of
        the same function are inserted; an f-string inserts those of the file.
        """
        match node:
            case ast.Constant(value=str() as text):
                return text if self._templates else _literal(text)
            case ast.Name(id=name) if known := self._named.get(f"{self._scope}{name}"):
                return known.text
            case ast.JoinedStr():
                parts = list[str]()
                for value in node.values:
                    if isinstance(value, ast.FormattedValue):
                        name = _FORMAT_SIGN.sub("_", ast.unparse(value.value))
                        constant = self._named.get(name)
                        parts.append(constant.text if constant else f"{{{name}}}")
                    else:
                        parts.append(_literal(str(getattr(value, "value", ""))))
                return "".join(parts)
            case ast.BinOp(op=ast.Add()):
                left = self._format(node.left)
                right = self._format(node.right)
                return None if left is None or right is None else left + right
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Constant(value=str() as text),
                    attr="format",
                )
            ):
                names = {
                    str(n): ast.unparse(value) for n, value in enumerate(node.args)
                }
                pairs = Template(text, self._path, node.lineno).fields()
                return "".join(
                    _literal(literal) + (f"{{{names.get(name, name)}}}" if name else "")
                    for literal, name in pairs
                )
        return None


_FORMAT_SIGN = re.compile("[{}!:]")
"""Signs that end the name of a slot, or begin another one."""


def _literal(text: str) -> str:
    """Double a text's braces, which are no slots."""
    return text.replace("{", "{{").replace("}", "}}")


# The releases. Files, names and slots are in ``released.yaml``; those that need more than its rows
# have a function.


def _navgpt(clone: Clone, variant: str, release: JsonObject) -> Texts:
    """Return the texts of NavGPT.

    The release has one template that contains everything, and sends it as one text.
    """
    strings = clone.python(release["file"], templates=True)
    name = strings["MAKE_ACTION_TOOL_NAME"]
    tool = f"{name.text}: {strings['MAKE_ACTION_TOOL_DESCRIPTION'].fill().text}"
    prompt = strings[f"VLN_{variant.upper()}_PROMPT"].fill(
        tool_descriptions=tool,
        tool_names=name.text,
        action_plan="{instruction}",
        init_observation="",
        agent_scratchpad="",
    )
    opening, line, walk = _at_slot(prompt, "{instruction}")
    texts = {"system": "", "gap": "", "begin": f"{opening}{line}"}
    released = {key: replace(prompt, text=text) for key, text in texts.items()}
    return released | _navgpt_steps(clone, walk, release)


def _at_slot(prompt: Template, slot: str) -> tuple[str, str, str]:
    """Split a prompt into the text before the line with a slot, the line and the text after it."""
    opening, found, walk = prompt.text.partition(slot)
    if not found:
        raise prompt.error(f"has no line with the slot {slot}")
    start = opening.rfind("\n") + 1
    rest_of_line, _, after = walk.partition("\n")
    return opening[:start], f"{opening[start:]}{slot}{rest_of_line}", after


def _navgpt_steps(clone: Clone, walk: str, release: JsonObject) -> Texts:
    """Return the observations and the history, which the release's code writes.

    At the start, ``walk`` has labels of its own: the initial observation, and a thought
    that the answer continues.
    """
    strings = clone.python(release["sentences"])
    rows = _texts_of(strings, release["texts"])
    opening = "Initial Observation:"
    thought = next(
        (each for each in walk.splitlines() if "Thought:" in each),
        "Thought:",
    )
    around = rows["around"]
    arrived = rows["arrived"]
    start = rows["start"]
    past = rows["past"]
    # The released string has both parts: the range, a newline, the caption.
    scene = rows["scene"]
    named, _, caption = scene.text.partition("\n")
    # Several strings have this slot alone: the last is for directions without exits.
    alone = strings.all_with_slots("direction")
    lines = {name: rows[name] for name in ("objects_near", "exits")}
    lines["no_exits"] = alone[-1].fill(direction="{direction}")
    return {
        "first": replace(around, text=f"{opening} {around.text}"),
        "now": replace(arrived, text=f"Observation: {arrived.text}"),
        # our reason in place of the release's list of IDs, which the observation repeats
        "refused": replace(around, text=f"Observation: {{event}}{around.text}"),
        "cue_first": replace(start, text=thought),
        "past_first": replace(
            start,
            text=f"{opening} {start.text}\n{thought}{{answer}}",
        ),
        # the agent's class writes an answer directly after "Thought:"
        "past": replace(past, text=f"Observation: {past.text}\nThought:{{answer}}"),
        "turned": rows["turned"],
        "range": replace(scene, text=named),
        "caption": replace(scene, text=caption),
        # Lines of a direction: ours begin and end without a newline.
        **{k: replace(each, text=each.text.strip("\n")) for k, each in lines.items()},
    }


def _velma(clone: Clone, variant: str, release: JsonObject) -> Texts:
    """Return the texts of VELMA.

    Text files with the slot ``{}``; the sentences of observations are in a Python file.
    The template of the trained adapters is built line by line by a function.
    """
    if variant == "finetuned":
        strings = clone.python("utils.py", templates=True)
        template = strings["get_prompt_template.instructions_prompt"]
        whole = template.fill(**{"0": "{instruction}"})
        return {
            "task": replace(whole, text=""),
            "route": replace(whole, text=whole.text.rstrip("\n")),
            **_rows(clone, variant, release),
        }
    landmarks = clone.read(f"llm/prompts/{variant}/landmarks/5shot.txt")
    walk = clone.read(f"llm/prompts/{variant}/navigation/2shot.txt")
    blocks = walk.text.strip("\n").split("\n\n")
    parts = [
        replace(
            walk,
            text=block,
            line=walk.text[: walk.text.find(block)].count("\n") + 1,
        )
        for block in blocks
    ]
    # Blocks without a slot are the task, with its solved examples; the last is the question.
    head = [part for part in parts if not part.slots]
    if not head or len(parts[-1].slots) != 1:
        raise parts[-1].error("must have one slot {}, for the instruction")
    task = "\n\n".join(part.text.strip() for part in head)
    return {
        "landmarks": landmarks.fill(**{"0": "{instruction}"}),
        "task": replace(head[0], text=task),
        "route": parts[-1].fill(**{"0": "{instruction}"}),
        **_rows(clone, variant, release),
    }


def _langsuite(clone: Clone, variant: str, release: JsonObject) -> Texts:
    """Return the texts of LangSuitE's strategies, each in a subfolder.

    The introduction with its example is the first message, answered by YES; then come
    the start and, after each action, feedback and observation.
    """
    texts: Texts = {}
    folder, _, kind = variant.partition("_")
    number = release["examples"].get(kind or folder, "default")
    for agent in ("act", "react", "react_emmem"):
        template = clone.json(f"templates/{folder}/{folder}_{agent}.json")
        intro = template("intro", "default")
        start = template("Start", "default")
        moved = template("MoveAhead", "success.default")
        slots = {**release["slots"], "example": template("example", number).text}
        if folder == "iqa":  # nothing is picked up
            del slots["inventory_capacity"]
        first = start.fill(task_description="{instruction}", observation="{view}").text
        task, _, view = first.partition("{instruction}")
        # such as "Feedback:"
        label = moved.text.partition(" ")[0]
        after = moved.fill(observation="{view}").text.rpartition("\n")[2]
        form = "Act: one action"
        written = {
            "system": intro.fill(**slots).text,
            "handshake": "YES",
            agent: form if agent == "act" else f"Thought: why\n{form}",
            "task": f"{task}{{instruction}}",
            "first_message": "{opening}\n{message}",
            "first_observation": view.removeprefix("\n"),
            "observation": f"{label} {{feedback}}\n{after}",
            "thought_only": "OK.",
        }
        # a prompt's outer newlines are no part of it
        texts |= {
            f"{agent}/{name}": replace(start, text=text.strip("\n"))
            for name, text in written.items()
        }
    return texts


def _rows(clone: Clone, variant: str, release: JsonObject) -> Texts:
    """Return the texts listed in ``released.yaml``, all from one Python file."""
    return _texts_of(clone.python(release["file"]), release["texts"])


def _texts_of(strings: Strings, rows: JsonObject) -> Texts:
    """Return the texts of a Python file by the rows of ``released.yaml``."""
    texts = Texts()
    for ours, row in rows.items():
        slots = row.get("slots", {})
        parts = [strings[name] for name in row.get("at", ())]
        if not parts:
            parts = [strings.with_slots(*slots)]
        text = parts[0].text
        if len(parts) > 1:
            text = "\n".join(part.text.strip() for part in parts)
        texts[ours] = replace(parts[0], text=text).fill(**slots)
    return texts


def _table(clone: Clone, name: str, table: JsonObject) -> Texts:
    """Return the prompts of a paper's table from a user's YAML file.

    All of them must be there, as a row that keeps this project's words would claim the
    paper's. Raises ``DataError``.
    """
    import yaml

    file = clone.read(name)
    try:
        listed = load_yaml(file.text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = single_line(error)
        raise DataError(file.path, "", f"is not valid YAML: {problem}") from None
    layout = 'write one text per name: robot: "Find {target} …"'
    if not isinstance(listed, dict):
        raise DataError(file.path, "", "is no list of names with texts", layout)
    for given in listed:
        if given not in table:
            hint = suggest(str(given), table)
            raise DataError(file.path, str(given), "is no prompt of the table", hint)
    # All at once, so that the user adds them in one go.
    if missing := [each for each in table if each not in listed]:
        problem = f"lacks {', '.join(missing)}"
        raise DataError(file.path, "", problem, "add their texts from the paper")
    texts = Texts()
    for key, slots in table.items():
        text = listed[key]
        if not isinstance(text, str) or not text.strip():
            raise DataError(file.path, key, "is no text", layout)
        found = set(SLOT.findall(text))
        for slot in slots:
            if slot not in found:
                raise DataError(file.path, key, f"has no slot {{{slot}}}")
        for slot in sorted(found - set(slots)):
            raise DataError(file.path, key, f"has the unknown slot {{{slot}}}")
        # A quoted key is not found like this; then the error names the first line.
        key_at = max(0, file.text.find(f"{key}:"))
        line = file.text.count("\n", 0, key_at) + 1
        texts[key] = replace(file, text=text.strip("\n"), line=line)
    return texts


_READERS = {"navgpt": _navgpt, "velma": _velma, "langsuite": _langsuite}


def import_prompts(
    system: str,
    folder: Path,
    out: Path,
    variant: str = "",
) -> list[str]:
    """Write a release's prompts into a new folder and return the names of the files.

    ``folder`` is a clone, or for ``lgx`` a YAML file of the user with the prompts of
    Table IV: name and text, with the slots ``{target}`` and ``{objects}``, of
    ``captions`` ``{target}``, ``{front}``, ``{right}``, ``{behind}`` and ``{left}``.
    Each strategy has a subfolder if their texts differ. Raises ``UsageError``, and
    ``DataError`` with file and line.
    """
    releases = _releases()
    if system not in releases:
        raise UsageError(f"no release {system!r}; {suggest(system, releases)}")
    options = variants(system)
    variant = variant or options[0]
    if variant not in options:
        raise UsageError(
            f"{system} has no variant {variant!r}; {suggest(variant, options)}"
        )
    # An empty folder may be filled; a file or anything else in the way is kept.
    is_empty = out.is_dir() and not any(out.iterdir())
    if out.exists() and not is_empty:
        raise UsageError(
            f"{out} already exists and is not empty; give a new folder with --out"
        )
    table = releases[system].get("table", {})
    is_table = folder.is_file() and bool(table)
    if is_table:
        clone = Clone(folder.parent)
        texts = _table(clone, folder.name, table)
        folder = folder.parent
    else:
        clone = Clone(folder)
        texts = _READERS.get(system, _rows)(clone, variant, releases[system])
    for name, template in texts.items():
        path = out / f"{name}.txt"
        make_parent(path)
        path.write_text(f"{template.text}\n", encoding="utf-8")
    places = {
        name: f"{each.path.relative_to(folder)}:{each.line}"
        for name, each in texts.items()
    }
    source = {
        "system": system,
        "variant": variant,
        "is_table": is_table,
        "settings": releases[system].get("settings", {}),
        "files": clone.checksums,
        "texts": places,
    }
    (out / SOURCE).write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")
    return sorted(f"{name}.txt" for name in texts)


@cache
def _releases() -> JsonObject:
    """Return the table of releases; it is read once."""
    releases: JsonObject = load_shipped(Path(__file__).parent / "released.yaml")
    return releases


def systems() -> list[str]:
    """Return the systems whose prompts can be imported."""
    return [*_releases()]


def variants(system: str) -> list[str]:
    """Return the variants of a system's prompts, the default first."""
    return [*_releases()[system].get("variants", [""])]


def differences(system: str) -> Mapping[str, str]:
    """Return the intended differences between an agent's prompts and the released code's.

    Each by its name, with the reason.
    """
    named: Mapping[str, str] = _releases()[system].get("differences", {})
    return named


def _source_of(folder: Path) -> Path | None:
    """Return the file on the origin of a prompt folder; a strategy's texts are in a subfolder."""
    paths = (folder / SOURCE, folder.parent / SOURCE)
    return next((each for each in paths if each.is_file()), None)


def settings_of(folder: Path) -> JsonObject:
    """Return the settings that imported prompts need; none for other folders.

    Such as ``shots=0`` where the text contains an example. Raises ``DataError``.
    """
    path = _source_of(folder)
    if path is None:
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8")).get("settings", {})
        return dict(settings)
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(path, "", f"is not written by an import ({error})") from None


def describe_folder(folder: Path) -> str:
    """Return the origin of a prompt folder, for the notes of a table. Raises ``DataError``."""
    path = _source_of(folder)
    if path is None:
        return f"prompts of {folder}, not the shipped ones"
    try:
        source = json.loads(path.read_text(encoding="utf-8"))
        variant = f" ({source['variant']})" if source["variant"] else ""
        words = f"prompts of {source['system']}'s released code{variant}"
        if source.get("is_table"):
            words = f"prompts of {source['system']}'s paper, from a user's file"
        named = differences(source["system"])
        return f"{words}; differs from it in: {', '.join(named)}" if named else words
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(path, "", f"is not written by an import ({error})") from None
