"""Recipe: what an answer is made of.

    >>> given = read("Thought: what to do next\\nAction: exactly one action", "example")
    >>> [section.key for section in given.sections]
    ['thought']

A recipe is one text, which is shown to the model as it stands: a line for each section, ``Label:
what to write``; indented lines below one are its parts. The last section is the action. The text
is all there is to a strategy: how free answers are read, the JSON schema of constrained ones and
the turns of examples all follow from it.

Source: LangSuitE (Jia et al. 2024), section 4 and Appendix G: Act, ReAct, ReAct-EmMem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wayword.core.errors import UsageError

_LINE = re.compile(r"( *)([A-Za-z]+): *(.*)")


@dataclass(frozen=True, slots=True)
class Section:
    """One labelled section. ``parts`` name what it is split into, none for plain text."""

    label: str
    about: str
    parts: tuple[tuple[str, str], ...] = ()
    """Name of a part (lower case), and what to write there."""

    @property
    def key(self) -> str:
        """Its name as a JSON field."""
        return self.label.lower()


@dataclass(frozen=True, slots=True)
class Recipe:
    """``form`` is the text as shown; ``sections`` those before the action."""

    form: str
    sections: tuple[Section, ...]
    action: Section


def read(form: str, name: str) -> Recipe:
    """A recipe from its text. Raises ``UsageError`` where the text is not of that form."""
    sections: list[Section] = []
    for line in form.strip("\n").splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is None or (match.group(1) and not sections):
            raise UsageError(f"recipe {name}: {line!r} does not read 'Label: what to write'")
        indent, label, about = match.groups()
        if indent:
            last = sections.pop()
            part = (label.lower(), about)
            sections.append(Section(last.label, last.about, (*last.parts, part)))
        else:
            sections.append(Section(label, about))
    keys = [section.key for section in sections]
    if not keys or keys[-1] != "action" or len(set(keys)) < len(keys):
        raise UsageError(f"recipe {name}: the last section, and no other, must be 'Action:'")
    return Recipe(form.strip("\n"), tuple(sections[:-1]), sections[-1])
