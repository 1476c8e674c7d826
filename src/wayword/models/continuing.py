"""Where a prompt ends and an option begins, when options are ranked as the next *words*.

Tokenisers glue a blank to the word after it, so ``"5. "`` followed by ``"forward"`` would be
scored as a word that no text contains. The blank between the two therefore always belongs to the
option: ``"5."`` + ``" forward"``, however the two were written.
"""

from __future__ import annotations

_OPENERS = "([{<\"'`"


def continued(prompt: str, option: str) -> tuple[str, str]:
    """The prompt without the blanks at its end, and the option with the blank it needs.

    A blank is put in where neither side has white space and the prompt ends in a word or a
    closing sign: ``continued("5.", "left")`` and ``continued("5. ", "left")`` are both
    ``("5.", " left")``, while ``continued("(", "A")`` is ``("(", "A")``. Options that begin with
    white space of their own are appended as they are.
    """
    base = prompt.rstrip(" ")
    gap = prompt[len(base) :]
    if gap or not base or base[-1].isspace() or base[-1] in _OPENERS:
        return base, gap + option
    if option[:1].isspace():
        return base, option
    return base, " " + option
