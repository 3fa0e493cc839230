"""Replace worker ids by stable salted ones."""

from __future__ import annotations

import hashlib
import hmac
import secrets

import numpy as np
import pyarrow as pa

from crowdassay.errors import ParameterError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.encode import code_column
from crowdassay.labels.values import as_text
from crowdassay.notes import Note, NoteKind

PSEUDONYM_DIGITS = 16  # 64 bits: a million workers share one with a chance of 3 in a hundred million
MODEL_PREFIX = "model:"
SALTED = Note("Worker ids were replaced by salted ones.", NoteKind.PSEUDONYMS)
SALT_NOT_KEPT = Note(
    "Worker ids were replaced by salted ones with a salt that was not kept; give --salt to get the same ones again.",
    NoteKind.FORGOTTEN,
)


def pseudonym(worker: str, salt: str) -> str:
    """Return the first digits of HMAC-SHA-256 of a worker id, keyed by the salt.

    >>> pseudonym("ann@example.org", "pepper")
    'ab650937c930feef'
    """
    return hmac.new(salt.encode(), worker.encode(), hashlib.sha256).hexdigest()[:PSEUDONYM_DIGITS]


def draw_salt() -> str:
    """Return a salt that nobody can guess."""
    return secrets.token_hex(16)


def pseudonymise(workers: ArrowColumn, salt: str | None, *, keep_models: bool) -> tuple[pa.Array, Note]:
    """Return pseudonyms of worker ids (n_rows,) and a note; the same id and salt give the same pseudonym in every file.

    A salt that is not given is drawn at random and forgotten. With ``keep_models``, ``model:...``, which is nobody's name,
    stays as it is.
    """
    if salt == "":
        raise ParameterError("The salt must not be empty; without one, everyone could compute the pseudonyms.")
    key = draw_salt() if salt is None else salt
    codes, vocabulary = code_column(workers, "worker")
    names = as_text(vocabulary).to_pylist()
    renamed = [
        name if name is None or (keep_models and name.startswith(MODEL_PREFIX)) else pseudonym(name, key) for name in names
    ]
    pseudonyms = pa.array(renamed, pa.string()).take(pa.array(codes, mask=np.asarray(codes < 0)))
    return pseudonyms, SALT_NOT_KEPT if salt is None else SALTED
