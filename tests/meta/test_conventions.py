"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import jinja2.nodes

from helpers.looping import for_each

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
DOCUMENTED = SOURCES


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Facts:
    """Facts about a source file, read in one pass: parsing all files takes seconds."""

    is_documented: bool
    bare: tuple[str, ...]
    """Public classes and functions without a docstring."""
    classes: tuple[str, ...]
    texts: frozenset[str]
    """The strings in its code."""
    forms: frozenset[str]
    """The f-strings that are keys or first arguments, as patterns of what can fill them."""


@cache
def facts(path: Path) -> Facts:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    classes = []
    texts = set()
    forms = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            classes.append(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        elif isinstance(node, ast.Subscript):
            forms.add(form_of(node.slice))
        elif isinstance(node, ast.Call) and node.args:
            forms.add(form_of(node.args[0]))
    return Facts(
        bool(ast.get_docstring(tree)),
        tuple(bare),
        tuple(classes),
        frozenset(texts),
        frozenset(forms - {""}),
    )


def form_of(node: ast.expr) -> str:
    """The pattern of what can fill an f-string; empty for other expressions."""
    if not isinstance(node, ast.JoinedStr):
        return ""
    hole = r"([A-Za-z]\w*?)"
    parts = [
        re.escape(part.value) if isinstance(part, ast.Constant) else hole
        for part in node.values
    ]
    return "".join(parts)


@for_each("path", DOCUMENTED, ids=name)
def test_a_source_file_says_what_it_is(path: Path) -> None:
    assert facts(path).is_documented, f"{name(path)} has no module docstring"


@for_each("path", DOCUMENTED, ids=name)
def test_public_classes_and_functions_are_documented(path: Path) -> None:
    bare = facts(path).bare
    assert not bare, f"{name(path)}: {', '.join(bare)} without a docstring"


@for_each("path", SOURCES, ids=name)
def test_a_text_is_redacted_before_it_is_cut(path: Path) -> None:
    """A part of a secret is not found as one."""
    text = path.read_text(encoding="utf-8")
    if "redacted(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "redacted":
            cut = [each for each in ast.walk(node) if isinstance(each, ast.Slice)]
            assert not cut, f"{name(path)}:{node.lineno}"


def test_a_class_name_stands_for_one_object() -> None:
    where: dict[str, list[str]] = {}
    for path in SOURCES:
        for each in facts(path).classes:
            where.setdefault(each, []).append(name(path))
    assert {each: files for each, files in where.items() if len(files) > 1} == {}


FAMILIES = [
    path.name for path in (ROOT / "src/wayword/worlds").iterdir() if path.is_dir()
]
FAMILIES.append("other")  # a family without words of its own


PAGES = sorted((ROOT / "src").rglob("*.jinja"))


@cache
def source_texts() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in SOURCES}


def readers(page: Path) -> list[Facts]:
    """The modules next to a page of prompts, and in other packages those that import them."""
    sources = source_texts()
    folder = page.parent.parent if page.parent.name == "worlds" else page.parent
    of_agent = re.compile(rf"wayword\.agents\.{folder.name}\b")
    next_to_it = [path for path in SOURCES if path.parent == folder]
    next_to_it.append(ROOT / "src/wayword/agents/prompting.py")
    next_to_it += [path for path, text in sources.items() if of_agent.search(text)]
    return [facts(path) for path in next_to_it]


def names_in(modules: list[Facts]) -> set[str]:
    """The strings in the code of modules, and the f-strings that such strings can fill."""
    plain = {text for module in modules for text in module.texts}
    words = {word for word in {*plain, *FAMILIES} if word.isidentifier()}
    forms = {form for module in modules for form in module.forms}
    known = {block for page in PAGES for block in outer_blocks(page)}
    filled = ((block, re.fullmatch(form, block)) for block in known for form in forms)
    return plain | {
        block for block, hit in filled if hit and words.issuperset(hit.groups())
    }


@cache
def outer_blocks(page: Path) -> list[str]:
    """The blocks of a page that are in no other block."""
    tree = jinja2.Environment().parse(page.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, jinja2.nodes.Block)]


@for_each("page", PAGES, ids=name)
def test_every_block_of_a_prompt_page_is_requested_by_its_name(page: Path) -> None:
    """As a string in the modules that open the page: a name in other code does not count."""
    modules = readers(page)
    assert modules, f"nothing opens {name(page)}"
    unread = set(outer_blocks(page)) - names_in(modules)
    assert not unread, f"{name(page)}: nothing asks for {', '.join(sorted(unread))}"


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_no_file_names_a_package_registry_or_holds_a_key() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    hosts = re.compile(
        "|".join(["pypi" + r"\.org", "python" + "hosted", "npmjs" + r"\.org"])
    )
    keys = re.compile(r"\bsk-[A-Za-z0-9]{20,}")
    for line in listed:
        path = ROOT / line
        if path.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ""}:
            if path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
            else:
                text = ""
            assert not hosts.search(text), f"{line} names a package registry's host"
            assert not keys.search(text), f"{line} holds what looks like a key"


def test_the_base_install_is_small_and_without_torch() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert len(project["dependencies"]) <= 10
    assert not any("torch" in line for line in project["dependencies"])


def test_tables_prompts_and_weights_go_into_the_wheel() -> None:
    """Hatch packs every file of the package that git does not ignore and no option leaves out."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = project["tool"]["hatch"]["build"]
    assert build == {"targets": {"wheel": {"packages": ["src/wayword"]}}}
    data = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    data = [path for path in data if path.suffix not in (".py", ".pyc")]
    assert {".toml", ".yaml", ".txt", ".json", ".onnx", ".js"} <= {
        path.suffix for path in data
    }
    requests = "\n".join(map(name, data))
    check = ["git", "-C", str(ROOT), "check-ignore", "--no-index", "--stdin"]
    ignored = subprocess.run(
        check, input=requests, capture_output=True, text=True, check=False
    )
    assert (ignored.returncode, ignored.stdout) == (1, "")


def test_the_switch_of_long_forms_is_read_by_one_helper() -> None:
    """``make chaos`` plays the test files that import it, so none is forgotten."""
    switch = "WAYWORD" + "_CHAOS"
    readers = [
        name(path)
        for path in (ROOT / "tests").rglob("*.py")
        if f'"{switch}"' in path.read_text(encoding="utf-8")
    ]
    assert readers == ["tests/helpers/sampling.py"]
