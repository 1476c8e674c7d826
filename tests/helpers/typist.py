"""A person who types given lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from wayword.agents.person import Person, Style


@dataclass
class Script(Person):
    """Types the given lines, then leaves; keeps all texts that it gets."""

    lines: list[str]
    texts: list[str] = field(default_factory=list)

    def write(self, text: str, style: Style = "") -> None:
        self.texts.append(text)

    def ask(self, question: str) -> str:
        self.texts.append(question)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def leave(self) -> None:
        self.lines.clear()

    @property
    def text(self) -> str:
        return "\n".join(self.texts)
