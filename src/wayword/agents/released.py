"""Prompts of the papers' released code, read into a prompt folder with our slots.

    wayword prompts import navgpt ~/NavGPT --out prompts/navgpt
    wayword reproduce navgpt/table-1 --model openai:gpt-4.1 --prompts prompts/navgpt

A clone is read as data: Python files are parsed, never imported or run, and templates are read as
JSON or text. Each text goes into a file named as the prompt of ours that it replaces; what the
release words in its program (results of actions, observations of NavGPT) stays in our words.
``source.json`` in the folder names the files, their checksums and the line of each text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import Any

from wayword.agents.prompting import SLOT
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import sha256

SOURCE = "source.json"
Texts = dict[str, "Template"]  # name of each prompt of ours -> the released text, with our slots


@dataclass(frozen=True, slots=True)
class Template:
    """A released text and where it stands. Its slots are those of ``str.format``."""

    text: str
    path: Path
    line: int = 1

    def fields(self) -> list[tuple[str, str | None]]:
        """The literal text before each slot, and the slot; positional ones are numbered."""
        number, parts = 0, list[tuple[str, str | None]]()
        try:
            for literal, name, _, _ in Formatter().parse(self.text):
                if name == "":
                    name, number = str(number), number + 1
                parts.append((literal, name))
        except ValueError as error:
            raise self.error(f"has unbalanced braces ({error})") from None
        return parts

    @property
    def slots(self) -> set[str]:
        return {name for _, name in self.fields() if name is not None}

    def fill(self, **slots: str) -> Template:
        """Each released slot replaced, by one of ours or by words.

        Raises ``DataError`` for a slot that is missing, or one without a counterpart here.
        """
        for name in slots.keys() - self.slots:
            raise self.error(f"has no slot {{{name}}}")
        for name in sorted(self.slots - slots.keys()):
            raise self.error(f"has a slot {{{name}}} that has no counterpart here")
        for literal, _ in self.fields():
            if braced := SLOT.search(literal):
                raise self.error(f"has {braced[0]} in its words, which would be read as a slot")
        parts = (f"{literal}{slots[name] if name else ''}" for literal, name in self.fields())
        return replace(self, text="".join(parts))

    def error(self, problem: str) -> DataError:
        return DataError(f"{self.path}:{self.line}", "", problem, "clone the release again")


class Clone:
    """The files of a clone. Every file that is read is noted, with its checksum."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; name your clone of the released code")
        self.folder, self.checksums = folder, dict[str, str]()

    def read(self, name: str) -> Template:
        """A text file, by its path in the clone. Raises ``DataError``."""
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
            raise DataError(path, "", problem, "name the folder of the clone") from None
        if content[:1] == b"\x80" or b"\0" in content:
            raise DataError(path, "", "is binary, such as a pickle, and is not opened")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(f"{path}:{line}", "", "is not UTF-8 text") from None
        self.checksums[name] = sha256(path)
        return Template(text.replace("\r\n", "\n"), path)

    def python(self, name: str, templates: bool = False) -> Strings:
        """The strings of a Python file, which is parsed and not run. Raises ``DataError``."""
        file = self.read(name)
        try:
            return Strings(ast.parse(file.text), file.path, templates)
        except SyntaxError as error:
            raise DataError(
                f"{file.path}:{error.lineno}", "", f"is not valid Python: {error.msg}"
            ) from None
        except (ValueError, RecursionError) as error:
            raise DataError(file.path, "", f"is not valid Python: {error}") from None

    def json(self, name: str) -> Callable[..., Template]:
        """A function from the keys of a JSON file to the text there. Raises ``DataError``."""
        file = self.read(name)
        try:
            tree = json.loads(file.text)
        except json.JSONDecodeError as error:
            problem = f"is not valid JSON: {error.msg}"
            raise DataError(f"{file.path}:{error.lineno}", "", problem) from None

        def text(*keys: str) -> Template:
            value, at = tree, 0
            for key in keys:
                line = file.text.count("\n", 0, at) + 1
                if not isinstance(value, dict) or key not in value:
                    raise DataError(f"{file.path}:{line}", ".".join(keys), "is missing")
                value, at = value[key], max(at, file.text.find(f'"{key}"', at))
            line = file.text.count("\n", 0, at) + 1
            value = value[0] if isinstance(value, list) and value else value
            if not isinstance(value, str):
                raise DataError(f"{file.path}:{line}", ".".join(keys), "is no text")
            return Template(value, file.path, line)

        return text


class Strings:
    """The strings that a Python file assigns or passes on, by function and name.

    The name of a chat message is its list's name and its role: ``plan.prompt.system``. Values in an
    f-string, or given to ``format``, are slots of that name. With ``templates`` the braces of plain
    strings are slots as well, for a program that formats them later.
    """

    def __init__(self, tree: ast.AST, path: Path, templates: bool) -> None:
        self._path, self._templates = path, templates
        self._named: dict[str, Template] = {}
        self._all: list[Template] = []
        self._collect(tree, "")

    def __getitem__(self, name: str) -> Template:
        if name not in self._named:
            raise DataError(self._path, "", f"assigns no text to {name}", "clone it again")
        return self._named[name]

    def with_slots(self, *slots: str) -> Template:
        """The one text that has exactly these slots. Raises ``DataError``."""
        for each in self._all:
            if each.slots == set(slots):
                return each
        wanted = " and ".join(f"{{{slot}}}" for slot in slots)
        near = max(self._all, key=lambda each: len(each.slots & set(slots)), default=None)
        if near is not None and (missing := set(slots) - near.slots) and near.slots & set(slots):
            raise near.error(f"has no slot {{{min(missing)}}}")
        raise DataError(self._path, "", f"has no text with {wanted}", "clone the release again")

    def _collect(self, node: ast.AST, scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = f"{child.name}." if isinstance(child, ast.FunctionDef) else scope
            if isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Name):
                for name, text in self._texts(f"{scope}{child.targets[0].id}", child.value):
                    self._named.setdefault(name, text)
            single = self._text(child) if isinstance(child, ast.expr) else None
            if single is not None:
                self._all.append(single)
            else:
                self._collect(child, inner)

    def _texts(self, name: str, value: ast.expr) -> Iterator[tuple[str, Template]]:
        """The text, or those of a list of chat messages, by role."""
        if isinstance(value, ast.List):
            for message in value.elts:
                if isinstance(message, ast.Dict):
                    keys = [getattr(key, "value", None) for key in message.keys]
                    parts = dict(zip(keys, message.values, strict=True))
                    content = self._text(parts["content"]) if "content" in parts else None
                    if content is not None:
                        yield f"{name}.{getattr(parts.get('role'), 'value', '')}", content
        elif (single := self._text(value)) is not None:
            yield name, single

    def _text(self, node: ast.expr) -> Template | None:
        """A string expression in the syntax of ``str.format``; None for any other."""
        text = self._format(node)
        return None if text is None else Template(text, self._path, node.lineno)

    def _format(self, node: ast.AST) -> str | None:
        match node:
            case ast.Constant(value=str() as text):
                return text if self._templates else _literal(text)
            case ast.JoinedStr():
                parts = [self._part(value) for value in node.values]
                return "".join(parts)
            case ast.BinOp(op=ast.Add()):
                left, right = self._format(node.left), self._format(node.right)
                return None if left is None or right is None else left + right
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format")
            ):
                names = {str(n): ast.unparse(value) for n, value in enumerate(node.args)}
                names |= {each.arg: each.arg for each in node.keywords if each.arg}
                template = Template(text, self._path, node.lineno)
                pairs = template.fields()
                return "".join(
                    _literal(literal) + (f"{{{names.get(name, name)}}}" if name else "")
                    for literal, name in pairs
                )
        return None

    def _part(self, value: ast.expr) -> str:
        """A piece of an f-string: words, the text of a constant, or a slot."""
        if isinstance(value, ast.FormattedValue):
            name = ast.unparse(value.value)
            return self._named[name].text if name in self._named else f"{{{name}}}"
        return _literal(str(getattr(value, "value", "")))


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


# The releases. Their files, names and slots are rows of ``released.yaml``; what a row cannot say
# stands in a function of the release's name.


def _navgpt(clone: Clone, variant: str, release: Mapping[str, Any]) -> Texts:
    """One template holds rules, form and tool; what follows ``Begin!`` grows with the walk."""
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
    rules, begin, walk = prompt.text.rpartition("\nBegin!\n")
    line = next((each for each in walk.splitlines() if "{instruction}" in each), "")
    if not begin or not line:
        raise prompt.error("has no line 'Begin!' with the slot {action_plan} after it")
    texts = {"principle": rules.strip(), "format_free": "", "begin": f"Begin!\n\n{line}"}
    return {key: replace(prompt, text=text) for key, text in texts.items()}


def _velma(clone: Clone, variant: str, release: Mapping[str, Any]) -> Texts:
    """Files of text with ``{}``; the sentences of observations stand in a program."""
    landmarks = clone.read(f"llm/prompts/{variant}/landmarks/5shot.txt")
    walk = clone.read(f"llm/prompts/{variant}/navigation/2shot.txt")
    blocks = walk.text.strip("\n").split("\n\n")
    parts = [
        replace(walk, text=block, line=walk.text[: walk.text.find(block)].count("\n") + 1)
        for block in blocks
    ]
    head = [part for part in parts if not part.slots]
    if not head or len(parts[-1].slots) != 1:
        raise parts[-1].error("has no slot {} for the instruction alone")
    return {
        "landmarks": landmarks.fill(**{"0": "{instruction}"}),
        "task": replace(head[0], text="\n\n".join(part.text.strip() for part in head)),
        "route": parts[-1].fill(**{"0": "{instruction}"}),
        **_rows(clone, variant, release),
    }


def _langsuite(clone: Clone, variant: str, release: Mapping[str, Any]) -> Texts:
    """One template a strategy: rules, actions, form and example in one text."""
    texts: Texts = {}
    for agent in ("act", "react", "react_emmem"):
        template = clone.json(f"templates/{variant}/{variant}_{agent}.json")
        intro, start = template("intro", "default"), template("Start", "default")
        example = template("example", "0" if variant == "iqa" else "default").text
        slots = {**release["slots"], "example": example}
        if variant == "iqa":  # nothing is picked up
            del slots["inventory_capacity"]
        filled = start.fill(task_description="{instruction}", observation="")
        before = next(text for text, name in start.fields() if name == "observation")
        label = before.rpartition("\n")[2]
        form = "Act: one action"
        imported = {
            "rules_household": intro.fill(**slots),
            agent: replace(intro, text=form if agent == "act" else f"Thought: why\n{form}"),
            **{name: replace(intro, text="") for name in ("agent", "actions", "answer_free")},
            "task": replace(filled, text=filled.text.partition(f"\n{label}")[0].strip()),
            "observation": replace(start, text=f"{label}{{observation}}"),
        }
        texts |= {f"{agent}/{name}": template for name, template in imported.items()}
    return texts


def _rows(clone: Clone, variant: str, release: Mapping[str, Any]) -> Texts:
    """The texts that the rows of a release name, all in one Python file."""
    strings, texts = clone.python(release["file"]), Texts()
    for ours, row in release["texts"].items():
        slots = row.get("slots", {})
        parts = [strings[name] for name in row.get("at", ())] or [strings.with_slots(*slots)]
        text = "\n".join(part.text.strip() if parts[1:] else part.text for part in parts)
        texts[ours] = replace(parts[0], text=text).fill(**slots)
    if "words_before" in release:
        source = strings[release["words_before"]]
        words = {name: literal.strip().lstrip(") ") for literal, name in source.fields() if name}
        words["rules"] = strings["pred_vp.pred_definition"].fill().text
        for ours, form in release["from_words"].items():
            for name in re.findall(r"<(\w+)>", form):
                if name not in words:
                    raise source.error(f"has no slot {{{name}}}")
                form = form.replace(f"<{name}>", words[name])
            texts[ours] = replace(source, text=form)
    return texts


_READERS = {"navgpt": _navgpt, "velma": _velma, "langsuite": _langsuite}


def import_prompts(system: str, folder: Path, out: Path, variant: str = "") -> list[str]:
    """Write a release's prompts into a new folder; returns the names of the files.

    Where strategies have different texts, each has a folder of its own. Raises ``UsageError``, and
    ``DataError`` naming file and line.
    """
    import yaml

    releases = yaml.safe_load((Path(__file__).parent / "released.yaml").read_text(encoding="utf-8"))
    if system not in releases:
        raise UsageError(f"no release {system!r}; {suggest(system, list(releases))}")
    variants = releases[system].get("variants", [""])
    variant = variant or variants[0]
    if variant not in variants:
        raise UsageError(f"{system} has no variant {variant!r}; {suggest(variant, list(variants))}")
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise UsageError(f"{out}: exists and is not empty; name a new folder with --out")
    clone = Clone(folder)
    texts = _READERS.get(system, _rows)(clone, variant, releases[system])
    for name, template in texts.items():
        path = out / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{template.text}\n", encoding="utf-8")
    places = {name: f"{each.path.relative_to(folder)}:{each.line}" for name, each in texts.items()}
    source = {"system": system, "variant": variant, "files": clone.checksums, "texts": places}
    (out / SOURCE).write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")
    return sorted(f"{name}.txt" for name in texts)


def describe_folder(folder: Path) -> str:
    """The origin of a prompt folder, in words for a table's notes. Raises ``DataError``."""
    paths = (folder / SOURCE, folder.parent / SOURCE)  # a strategy's texts lie one folder down
    path = next((each for each in paths if each.is_file()), None)
    if path is None:
        return f"prompts of {folder}, not the shipped ones"
    try:
        source = json.loads(path.read_text(encoding="utf-8"))
        variant = f" ({source['variant']})" if source["variant"] else ""
        return f"prompts of {source['system']}'s released code{variant}"
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(path, "", f"is no record of an import ({error})") from None
