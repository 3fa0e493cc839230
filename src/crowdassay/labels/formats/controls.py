"""Control tags of Label Studio: which questions a project asks, and a label written as an answer to one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any, NamedTuple

from crowdassay.errors import ParameterError
from crowdassay.labels.choices import JOINED
from crowdassay.labels.formats.label_studio import CHOICE_KINDS, class_entries
from crowdassay.labels.formats.parse import objects
from crowdassay.labels.formats.record import BETWEEN, choose_question
from crowdassay.labels.values import number_of

TAG_TYPES = {"selected": "pairwise"}  # control tags whose type is not called as what their values hold
TAG_VALUES = {TAG_TYPES.get(kind, kind): kind for kind in CHOICE_KINDS}  # by the tag's name in lower case


class Control(NamedTuple):
    """A control tag: its name, which is the question, the tag it is about, and what the values of its answers hold."""

    name: str
    to_name: str
    kind: str = "choices"

    def answer(self, label: str, *, several: bool = False) -> list[dict[str, Any]]:
        """Return a label as the result of an annotation, empty where this kind of tag cannot hold it.

        It is read back by `crowdassay.labels.formats.label_studio`; ``several`` says that it is a set of choices.

        >>> Control("tone", "text").answer("a|b", several=True)[0]["value"]
        {'choices': ['a', 'b']}
        >>> Control("stars", "text", "rating").answer("4")[0]["value"], Control("stars", "text", "rating").answer("many")
        ({'rating': 4}, [])
        """
        chosen: list[Any] = label.split(JOINED) if several else [label]
        value: Any = chosen
        if self.kind == "taxonomy":
            value = [path.split(BETWEEN) for path in chosen]
        elif self.kind == "selected":
            value = label
        elif self.kind in {"rating", "number"}:
            number = number_of(label)
            if number is None:
                return []
            value = int(number) if number.is_integer() else number
        kind = TAG_TYPES.get(self.kind, self.kind)
        return [{"from_name": self.name, "to_name": self.to_name, "type": kind, "value": {self.kind: value}}]


class _ConfigReader(HTMLParser):
    """Gathers the control tags of a labelling configuration; a parser of HTML expands no entities of its own making."""

    def __init__(self) -> None:
        super().__init__()
        self.controls: list[Control] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in TAG_VALUES and given.get("name") and given.get("perregion", "").lower() != "true":
            self.controls.append(Control(given["name"], given.get("toname", ""), TAG_VALUES[tag]))


def controls_of(config: str) -> list[Control]:
    """Return the control tags of a labelling configuration whose answers are classes of the whole item, in order.

    >>> controls_of('<View><Text name="t" value="$t"/><Choices name="tone" toName="t"><Choice value="warm"/></Choices></View>')
    [Control(name='tone', to_name='t', kind='choices')]
    """
    reader = _ConfigReader()
    with suppress(AssertionError):  # by which the parser gives up on a marked section that is none
        reader.feed(config.encode(errors="replace").decode())  # half of a surrogate pair could not be answered
        reader.close()
    return reader.controls


def find_control(config: str, question: str | None) -> Control:
    """Return the control tag of a question, or the only one there is, in a labelling configuration."""
    found = {one.name: one for one in controls_of(config)}
    if not found:
        raise ParameterError("The labelling configuration asks no question whose answers are classes of the whole task.")
    return found[choose_question(list(found), question, "label_config")]


def controls_in(tasks: Iterable[dict[str, Any]], question: str | None) -> list[Control]:
    """Return the control tags that the annotations and predictions of some tasks answer, in order, each once."""
    found: dict[str, Control] = {}
    for task in tasks:
        for said in (*objects(task.get("annotations")), *objects(task.get("completions")), *objects(task.get("predictions"))):
            for entry in class_entries(said, question):
                kind = next((kind for kind in CHOICE_KINDS if kind in entry["value"]), "text")
                name = str(entry.get("from_name"))
                found.setdefault(name, Control(name, str(entry.get("to_name") or ""), kind))
    return list(found.values())
