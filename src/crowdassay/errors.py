"""Errors that a user can act on: each says what is wrong, where, and what to do."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable

from crowdassay.read_options import READING_FLAGS, READING_OPTIONS, flag

FLAGS = tuple(flag(name).removeprefix("--") for name in READING_FLAGS)
VALUES = (
    *(flag(name).removeprefix("--") for name in READING_OPTIONS if name not in READING_FLAGS),
    "order", "gamma", "gammas", "max-iter", "score-column", "left-column", "right-column", "winner-column", "winners", "facets",
    "estimation", "style", "group", "time", "prior",
)  # fmt: skip
RENAMED = {"from": "format", "order": "classes", "group": "group-column", "time": "time-column"}
SETTINGS = "wide|plain|forms|nested|nltk|-1|none|auto|each|set|first|last|side|name|marginal"
OPTION = re.compile(rf"--({'|'.join(sorted((*FLAGS, *VALUES), key=len, reverse=True))})(?: ({SETTINGS})\b)?(?![\w-])")


def in_python(message: str) -> str:
    """Return a message with the names that Python has for options of the command line.

    >>> in_python("Name it with --item-column, or say --allow-drops or --from wide.")
    "Name it with `item_column`, or say `allow_drops=True` or `format='wide'`."
    """

    def parameter(match: re.Match[str]) -> str:
        option, value = match.groups()
        setting = "=True" if option in FLAGS else f"={value!r}" if value else ""
        return f"`{RENAMED.get(option, option).replace('-', '_')}{setting}`"

    return OPTION.sub(parameter, message)


class CrowdassayWarning(UserWarning):
    """What a reader should know of the data: rows left out, repeats, classes that differ by case.

    One class for all of them, so that one line silences them, or makes errors of them:
    ``warnings.simplefilter("ignore", crowdassay.CrowdassayWarning)``.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", CrowdassayWarning)
    ...     warn("2 rows have no label and were left out.")
    >>> caught[0].category.__name__, str(caught[0].message)
    ('CrowdassayWarning', '2 rows have no label and were left out.')
    """


def warn(message: str) -> None:
    """Warn whoever called this package, at the line where they did."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("crowdassay."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, CrowdassayWarning, stacklevel=level)


class CrowdassayError(Exception):
    """Base of every error the package raises on purpose.

    Messages are written for the command line, which shows `message`; as text an error has the names of parameters instead.

    Attributes
    ----------
    exit_code : int
        What the command line returns: 1 for bad data, 2 for usage, 3 for an interrupted run.
    ways : tuple of str
        What may be done, a sentence each, where there are several ways; a terminal shows each in a line of its own.

    Examples
    --------
    >>> from crowdassay import Assay, CrowdassayError
    >>> try:
    ...     Assay().fit(([], [], []))
    ... except CrowdassayError as error:
    ...     print(error.exit_code, error)
    1 No labels found in arrays: there are no rows; check the file and the column names.
    """

    exit_code = 1
    ways: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What is wrong, and what may be done, in one line with the options of the command line."""
        return " ".join(map(str, (*self.args, *self.ways)))

    def __str__(self) -> str:
        return in_python(self.message)


class DataError(CrowdassayError, ValueError):
    """The labels, the truth or the gold cannot be used as they are."""


class ParameterError(CrowdassayError, ValueError):
    """A parameter has a value that makes no sense, or names something that does not exist."""

    exit_code = 2


class ColumnError(CrowdassayError, ValueError):
    """A column that is needed was not found, or several could be meant.

    Attributes
    ----------
    missing : tuple of str
        The roles for which no column was found.
    found_nothing : bool
        Whether none of the columns was found, so that there may be no header.
    hint : str
        The part of the message on what may be meant, which a better proposal replaces.

    Examples
    --------
    >>> str(ColumnError("No label column found.", ways=["if 'x' is the label, say --label-column 'x'"]))
    "No label column found. If 'x' is the label, say `label_column` 'x'."
    """

    exit_code = 2

    def __init__(
        self,
        *args: object,
        missing: tuple[str, ...] = (),
        found_nothing: bool = False,
        ways: Iterable[str] = (),
        hint: str = "",
    ) -> None:
        super().__init__(*args)
        self.missing, self.found_nothing, self.hint = missing, found_nothing, hint
        self.ways = tuple(f"{way[:1].upper()}{way[1:]}." for way in ways)

    @property
    def without_hint(self) -> str:
        """The message without what may be meant.

        >>> ColumnError("No label column found; the nearest is 'lable'; name it.", hint="; the nearest is 'lable'").without_hint
        'No label column found; name it.'
        """
        return self.message.replace(self.hint, "", 1)


class FileError(CrowdassayError, OSError):
    """A file cannot be read or a folder cannot be written."""

    exit_code = 2


class NotFittedError(CrowdassayError, ValueError, AttributeError):
    """A result was asked for before `fit`."""

    exit_code = 2


class MissingExtraError(CrowdassayError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    exit_code = 2
