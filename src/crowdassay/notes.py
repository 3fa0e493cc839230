"""Sentences for the user that programs can tell apart: a note has a kind, and nothing branches on its wording."""

from __future__ import annotations

from enum import StrEnum


class NoteKind(StrEnum):
    """What a note is about, for whoever has to find it again, show it elsewhere or leave it out."""

    PLAIN = "plain"
    """Nothing has to find this note again."""
    WORKERS = "workers"
    """It says what the list of workers says as well."""
    PSEUDONYMS = "pseudonyms"
    """Worker ids were replaced by salted ones."""
    NO_ANSWERS = "no answers"
    """Labels such as "unsure" were taken as classes; for judges every answer says something."""
    VARIANTS = "variants"
    """Labels differ in capitals, blanks and the like only: kept apart, or taken for one class."""
    OTHER_SHEETS = "other sheets"
    """Another sheet of a workbook may be meant."""
    FORGOTTEN = "forgotten"
    """Worker ids were replaced by salted ones, and the salt was not kept."""


class Note(str):
    """A sentence with its kind. It is a text, so that whatever prints or writes texts takes it as it is.

    Parameters
    ----------
    text : str
    kind : NoteKind

    Examples
    --------
    >>> note = Note("Worker ids were replaced by salted ones.", NoteKind.PSEUDONYMS)
    >>> note.kind is NoteKind.PSEUDONYMS, f"{note}"
    (True, 'Worker ids were replaced by salted ones.')
    """

    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind = NoteKind.PLAIN) -> Note:
        note = super().__new__(cls, text)
        note.kind = kind
        return note

    def __reduce__(self) -> tuple[type[Note], tuple[str, NoteKind]]:
        return Note, (str(self), self.kind)


def kind_of(note: str) -> NoteKind:
    """Return the kind of a note; a plain text has none of its own.

    >>> kind_of("Only a text.")
    <NoteKind.PLAIN: 'plain'>
    """
    return note.kind if isinstance(note, Note) else NoteKind.PLAIN
