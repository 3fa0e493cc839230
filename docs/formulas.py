"""Let formulas in docstrings, written as `.. math::`, reach the API page as `$$ ... $$`."""

from __future__ import annotations

import re
from typing import Any

import griffe

FORMULA = re.compile(r"^\.\. math::[ ]*(.*(?:\n(?=[ ]+\S)[ ]+.*)*)", re.M)
INLINE = re.compile(r":math:`([^`]*)`")


class Formulas(griffe.Extension):
    """Rewrite docstrings before they are parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """Return the text with its formulas between dollar signs, each on one line of its own where it stands alone."""
    text = FORMULA.sub(lambda found: "\n$$" + " ".join(found[1].split()) + "$$\n", text)
    return INLINE.sub(lambda found: f"${found[1]}$", text)
