"""Let formulas in docstrings, written as `.. math::`, reach the API page as `$$ ... $$`, and the options of reading in full."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

from crowdassay.read_options import documentation

FORMULA = re.compile(r"^\.\. math::[ ]*(.*(?:\n(?=[ ]+\S)[ ]+.*)*)", re.M)
INLINE = re.compile(r":math:`([^`]*)`")


class Formulas(griffe.Extension):
    """Rewrite docstrings before they are parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            text = obj.docstring.value.replace("{options}", textwrap.dedent(documentation()).rstrip())
            obj.docstring.value = to_markdown(text)


def to_markdown(text: str) -> str:
    """Return the text with its formulas between dollar signs, each on one line of its own where it stands alone."""
    text = FORMULA.sub(lambda found: "\n$$" + " ".join(found[1].split()) + "$$\n", text)
    return INLINE.sub(lambda found: f"${found[1]}$", text)
