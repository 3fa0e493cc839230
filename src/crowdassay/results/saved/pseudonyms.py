"""Labels for a model whose workers have pseudonyms: no real id gets in, and nobody becomes a stranger unsaid."""

from __future__ import annotations

import pyarrow.compute as pc

from crowdassay.errors import ParameterError
from crowdassay.labels.formats.pseudonyms import FORGOTTEN, REPLACED
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import as_text


def check_pseudonyms(old: Labels, new: Labels) -> str | None:
    """Refuse real ids for a model of pseudonyms, and pseudonyms that cannot be those of the model.

    Returns
    -------
    str or None
        What to tell the user: that the salt may be another one, where no worker is known.
    """
    hidden, given = (any(note.startswith(REPLACED) for note in labels.report.notes) for labels in (old, new))
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
    if any(note.startswith(FORGOTTEN) for note in new.report.notes):
        lost = any(note.startswith(FORGOTTEN) for note in old.report.notes)
        way = "make the model again with --salt" if lost else "give --salt as when the model was made"
        raise ParameterError(f"With a salt drawn at random every worker whom the model knows would become a stranger; {way}.")
    if known:
        return None
    return (
        f"None of these {new.n_workers:,} workers is known to the model, whose workers have pseudonyms; "
        "if some should be, the salt is another one."
    )
