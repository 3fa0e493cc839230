"""Errors that a user can act on: each says what is wrong, where, and what to do."""

from __future__ import annotations


class CrowdassayError(Exception):
    """Base of every error the package raises on purpose.

    Attributes
    ----------
    exit_code : int
        What the command line returns: 1 for bad data, 2 for usage, 3 for an interrupted run.
    """

    exit_code = 1


class DataError(CrowdassayError, ValueError):
    """The labels, the truth or the gold cannot be used as they are."""


class ParameterError(CrowdassayError, ValueError):
    """A parameter has a value that makes no sense, or names something that does not exist."""

    exit_code = 2


class ColumnError(CrowdassayError, ValueError):
    """A column that is needed was not found, or several could be meant."""

    exit_code = 2


class FileError(CrowdassayError, OSError):
    """A file cannot be read or a folder cannot be written."""

    exit_code = 2


class NotFittedError(CrowdassayError, ValueError, AttributeError):
    """A result was asked for before `fit`."""

    exit_code = 2


class MissingExtraError(CrowdassayError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    exit_code = 2
