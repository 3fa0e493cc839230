"""Labels for a model whose workers have pseudonyms: no real id gets in, and nobody becomes a stranger unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow.compute as pc

from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import as_text
from crowdassay.notes import Note, NoteKind, kind_of

# Models saved before notes had kinds hold these very sentences and nothing else that says that ids were replaced.
SENTENCES_BEFORE_KINDS = {
    "Worker ids were replaced by salted ones.": NoteKind.PSEUDONYMS,
    "Worker ids were replaced by salted ones with a salt that was not kept; give --salt to get the same ones again.": (
        NoteKind.FORGOTTEN
    ),
}
PSEUDONYMISED = frozenset({NoteKind.PSEUDONYMS, NoteKind.FORGOTTEN})


def saved_notes(texts: Iterable[str], kinds: Mapping[str, str]) -> tuple[Note, ...]:
    """Return the notes of a saved model with their kinds.

    >>> saved_notes(["Worker ids were replaced by salted ones."], {})[0].kind
    <NoteKind.PSEUDONYMS: 'pseudonyms'>
    """
    known = {**SENTENCES_BEFORE_KINDS, **kinds}
    return tuple(Note(text, NoteKind(known.get(text, NoteKind.PLAIN))) for text in texts)


def check_pseudonyms(old: Labels, new: Labels) -> str | None:
    """Refuse real ids for a model of pseudonyms, and pseudonyms that cannot be those of the model.

    Returns
    -------
    str or None
        What to tell the user: that the salt may be another one, where no worker is known.
    """
    old_kinds, new_kinds = (set(map(kind_of, labels.report.notes)) for labels in (old, new))
    hidden, given = bool(old_kinds & PSEUDONYMISED), bool(new_kinds & PSEUDONYMISED)
    if not (hidden or given):
        return None
    known = pc.sum(pc.is_in(as_text(new.workers), value_set=as_text(old.workers))).as_py()
    if known == new.n_workers:  # pseudonyms already, as the model's own tables have them
        return None
    if not given:
        raise ParameterError(
            "The workers of this model have pseudonyms, and these labels would bring real ids into it; "
            "give --pseudonymise, and --salt as when the model was made."
        )
    if not hidden:
        raise ParameterError(
            "The workers of this model have ids of their own, which pseudonyms do not match; "
            "leave out --pseudonymise, or make the model again with it."
        )
    if NoteKind.FORGOTTEN in new_kinds:
        way = (
            "make the model again with --salt" if NoteKind.FORGOTTEN in old_kinds else "give --salt as when the model was made"
        )
        raise ParameterError(f"With a salt drawn at random every worker whom the model knows would become a stranger; {way}.")
    if known:
        return None
    return (
        f"None of the workers of these labels ({new.n_workers:,}) is known to the model, whose workers have pseudonyms; "
        "if some should be, the salt is another one."
    )
