"""How labels are read: every option once, for the command line, for Python, and for the places labels may be read to.

To add one: a field here, and the code that heeds it. The command line's option with its help, the keyword of `read_labels`,
`as_labels` and `fit`, the name in messages, and who must refuse it all follow from the field.
"""

from __future__ import annotations

import csv
import inspect
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

READING_HEADING = "Reading LABELS"
PLAIN_TABLES_ONLY = "reads plain tables; turn an export into one first: crowdassay convert"
MEMORY_ONLY = "needs all labels in memory; leave it out, or take --engine local"
UNORDERED = "is not for --engine spark, whose labels have no order; do that in Spark first"
FILES_ONLY = "goes with files, and these labels are in memory already"
REPEAT_POLICIES = ("keep", "first", "last", "error")  # which labels to keep when a worker labelled an item again
# Where labels may be read to, and what is refused there.
PLACES = {"files": "The files engine", "spark": "The Spark engine", "frame": "A frame"}

C = TypeVar("C", bound=Callable[..., Any])


def _option(default: Any, help: str, *, without: Mapping[str, str] | None = None, **more: Any) -> Any:  # noqa: A002
    """Declare an option: what it says, and by place why it cannot be heeded there.

    ``flags`` are the option's names on the command line where they differ from the field's, ``choices`` its possible values,
    ``several`` says that it may be given again, ``commas`` that commas separate values, ``bare`` what it means without a value.
    """
    return field(default=default, metadata={"help": help, "without": dict(without or {}), **more})


EXPORTS = {"files": PLAIN_TABLES_ONLY, "spark": PLAIN_TABLES_ONLY, "frame": FILES_ONLY}
HELD = {"files": MEMORY_ONLY, "spark": MEMORY_ONLY}
IN_MEMORY_FILES = {**HELD, "frame": FILES_ONLY}


@dataclass(frozen=True)
class Opening:
    """How a file is to be opened, as far as that was said: which sheet of a workbook, how text is written, without a header."""

    sheet: str | None = None
    encoding: str | None = None
    no_header: bool = False

    def refusal(self) -> str:
        """Return which of these options was given and with which files it goes, for data that are none.

        >>> Opening(encoding="cp1252").refusal(), Opening(no_header=True).refusal()
        ('--encoding goes with files of text', '--no-header goes with files of text')
        """
        given = [flag(name) for name in ("encoding", "no_header") if getattr(self, name)]
        return f"{given[0]} goes with files of text" if self.sheet is None else "--sheet goes with workbooks such as .xlsx"


AS_IT_IS = Opening()


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What was asked of the reader; each field says in its metadata what it means."""

    format: str | None = _option(
        None, "The tool that exported LABELS, 'plain' or 'wide'; recognised by content otherwise.", flags=("--from",),
        without=EXPORTS,
    )  # fmt: skip
    item_column: str | None = _option(None, "Column that names the item; several, separated by commas, name it together.")
    worker_column: str | None = _option(None, "Column that names the worker; several, separated by commas, name it together.")
    label_column: str | None = _option(None, "Column that holds the label.")
    worker_columns: tuple[str, ...] = _option(
        (), "Every worker has a column: their names or patterns such as 'rater*', separated by commas.", commas=True,
        without={**HELD, "frame": ""},
    )  # fmt: skip
    worker_from_filename: bool = _option(
        False,
        "Every worker has a file, named after the worker.",
        without=IN_MEMORY_FILES,
    )
    no_header: bool = _option(
        False,
        "The first line holds labels, not names of columns: a row per item, a column per worker, or, where "
        "--item-column and others name columns by their number, from 1, a row per label.",
        without=IN_MEMORY_FILES,
    )  # fmt: skip
    sheet: str | None = _option(
        None, "Which sheet of a workbook to read; the first with a table otherwise.", without={"frame": FILES_ONLY}
    )
    encoding: str | None = _option(
        None, "How text is written that is not UTF-8, such as windows-1252.", without={"frame": FILES_ONLY}
    )
    classes: tuple[Any, ...] | None = _option(
        None, "All classes in order, separated by commas; otherwise numeric or alphabetical order.",
        flags=("--classes", "--order"), commas=True,
    )  # fmt: skip
    missing: tuple[str, ...] = _option(
        (), "A label that stands for none given, such as -1; may be given again.", several=True, without={"spark": UNORDERED}
    )
    options: str | None = _option(
        None, "Where several choices are allowed: 'each' asks yes or no of each option, 'set' takes the set as a class.",
        choices=("each", "set"), bare="each", without=HELD,
    )  # fmt: skip
    bins: tuple[str, ...] = _option(
        (), "Numbers as labels: how many classes to make of them, or the edges of the classes separated by commas.",
        commas=True, without=HELD,
    )  # fmt: skip
    repeats: str = _option(
        "keep", "What to do when a worker judged an item more than once.", choices=REPEAT_POLICIES,
        without={"spark": UNORDERED},
    )  # fmt: skip
    time_column: str | None = _option(
        None, "Column that says when a label was given; found by name otherwise.", without={"spark": MEMORY_ONLY}
    )
    duration_column: str | None = _option(None, "Column that says how many seconds a label took.", without=HELD)
    text_column: str | None = _option(
        None, "Column with the item's text or address, to show in the report; found by name otherwise.", without=HELD
    )
    weight_column: str | None = _option(None, "Column of weights: labels of weight 0 are left out.", without=HELD)
    question: str | None = _option(
        None,
        "Which question to take from an export that holds several; of a plain table COLUMN=VALUE: the rows in which it stands.",
        without={**EXPORTS, "spark": "is not for --engine spark; choose the rows in Spark first"},
    )
    predictions: bool = _option(False, "Take model predictions in an export as workers.", without=EXPORTS)
    use_gold: bool = _option(False, "Keep the classes that an export itself knows.", without=EXPORTS, heading="Known classes")
    allow_drops: bool = _option(False, "Go on even if more than half of the judgements, or whole items, are left out.")
    skip_bad: bool = _option(False, "Leave out lines of a JSONL file that are not valid JSON.", without=IN_MEMORY_FILES)
    pseudonymise: bool = _option(False, "Replace worker ids by salted ones.", without={"spark": UNORDERED})
    salt: str | None = _option(None, "--pseudonymise: the same salt gives the same ids again.", without={"spark": UNORDERED})

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ReadOptions:
        """Make options of keywords or of the command line's values; ``None`` and lists are taken as Python users write them.

        >>> ReadOptions.of({"missing": "-1", "classes": ["no", "yes"]}).missing
        ('-1',)
        >>> ReadOptions.of({"item_column": [1, 2], "label_column": 3}).columns["label"]
        '3'
        """
        strange = [name for name in given if name not in READING_OPTIONS]
        if strange:
            raise TypeError(f"There is no reading option {strange[0]!r}; the options are {', '.join(READING_OPTIONS)}.")
        plain = {name: _plain(name, value) for name, value in given.items()}
        return cls(**plain)

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns that were named, by role."""
        return {role: getattr(self, f"{role}_column") for role in COLUMN_ROLES}

    @property
    def opening(self) -> Opening:
        """How files are to be opened."""
        return Opening(self.sheet, self.encoding)

    def set(self) -> list[str]:
        """List the options that are not at their defaults."""
        return [name for name, option in READING_OPTIONS.items() if getattr(self, name) != option.default]

    def refusal(self, place: str) -> str | None:
        """Return a sentence on the first option that cannot be heeded in a place, with the remedy; None if all can."""
        for name in self.set():
            reason = READING_OPTIONS[name].metadata["without"].get(place)
            if name == "question" and place == "files" and "=" in str(self.question):
                continue
            if name == "format" and self.format in ("plain", "wide" if place == "frame" else "plain"):
                continue
            if reason == PLAIN_TABLES_ONLY:
                return f"{flag(name)} is for annotation tools' exports. {PLACES[place]} {PLAIN_TABLES_ONLY}."
            if reason:
                return f"{flag(name)} {reason}."
        return None


READING_OPTIONS = {option.name: option for option in fields(ReadOptions)}
SEVERAL_COLUMNS = ("item_column", "worker_column")  # which several columns may make together
COLUMN_ROLES = tuple(name.removesuffix("_column") for name in READING_OPTIONS if name.endswith("_column"))
READING_LISTS = tuple(name for name, one in READING_OPTIONS.items() if {"several", "commas"} & one.metadata.keys())
READING_FLAGS = tuple(name for name, option in READING_OPTIONS.items() if isinstance(option.default, bool))


def flag(name: str) -> str:
    """Return an option as the command line has it.

    >>> flag("item_column"), flag("format")
    ('--item-column', '--from')
    """
    flags: tuple[str, ...] = READING_OPTIONS[name].metadata.get("flags", (f"--{name.replace('_', '-')}",))
    return flags[0]


def under(heading: str) -> tuple[str, ...]:
    """List the options that stand under a heading of the command line's help."""
    return tuple(name for name, option in READING_OPTIONS.items() if option.metadata.get("heading", READING_HEADING) == heading)


def takes_reading_options(function: C) -> C:
    """Give a function that takes ``**options`` the options' names in its signature and their meaning in its docstring."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type)
        for name, option in READING_OPTIONS.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
    function.__doc__ = (function.__doc__ or "").replace("    {options}\n", documentation())
    return function


def documentation() -> str:
    """Return what the options mean, as a docstring lists parameters."""
    lines = []
    for name, option in READING_OPTIONS.items():
        kind = "bool" if name in READING_FLAGS else "list of str" if name in READING_LISTS else "str"
        kind = "str or list of str" if name in SEVERAL_COLUMNS else kind
        lines += [f"    {name} : {kind}, optional", f"        {option.metadata['help']}"]
    return "\n".join(lines) + "\n"


def join_names(names: Iterable[str]) -> str:
    """Write names of columns as one text, separated by commas; those that hold commas are quoted.

    >>> join_names(["model", "prompt, long"])
    'model,"prompt, long"'
    """
    line = io.StringIO()
    given = list(names)
    if len(given) == 1:
        return given[0]
    csv.writer(line, lineterminator="").writerow(given)
    return line.getvalue()


def split_commas(text: str) -> list[str]:
    """Return what commas separate, without blanks around it; what is in quotes may hold commas.

    >>> split_commas('yes, "no, never"')
    ['yes', 'no, never']
    """
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [""])]


def _plain(name: str, value: Any) -> Any:
    if name.endswith("_column") and isinstance(value, int):
        value = str(value)
    if name in SEVERAL_COLUMNS and value is not None and not isinstance(value, str):
        return join_names(map(str, value))
    if name not in READING_LISTS:
        return value
    if value is None or (name == "classes" and isinstance(value, tuple) and not value):
        return READING_OPTIONS[name].default
    if isinstance(value, str | int | float) and name != "classes":
        return tuple(split_commas(str(value))) if name != "missing" else (str(value),)
    if name == "classes" and isinstance(value, str):
        return value  # which is refused where classes are checked
    values: Iterable[Any] = value.to_pylist() if hasattr(value, "to_pylist") else value
    return tuple(map(str, values)) if name == "bins" else tuple(values)
