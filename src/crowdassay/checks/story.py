"""A story to learn on: volunteers who name birds, most of whom cannot tell two of the three apart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.labels.labels import Labels

SPECIES = ("coal tit", "marsh tit", "willow tit")
SHARES = (0.3, 0.35, 0.35)
TABLES = {
    "beginner": ((0.90, 0.06, 0.04), (0.06, 0.84, 0.10), (0.05, 0.60, 0.35)),  # a willow tit is taken for a marsh tit
    "ringer": ((0.97, 0.02, 0.01), (0.01, 0.96, 0.03), (0.01, 0.04, 0.95)),
    "idler": ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),  # whatever is shown
}
VOLUNTEERS = {
    "beginner": (
        "Ada", "Ben", "Cleo", "Dag", "Edda", "Finn", "Gwen", "Hugo", "Ida", "Jens", "Kaja", "Lars", "Mia", "Nils", "Oda", "Per",
        "Rut", "Sven", "Tuva", "Ulf", "Vera", "Will",
    ),
    "ringer": ("Agnes", "Bruno", "Clara", "Dora", "Emil"),
    "idler": ("Zed",),
}  # fmt: skip
COPY = ("Will", "Willa")  # the second has the first one's answers
N_PHOTOS, EACH = 400, 7


def birds(generator: np.random.Generator) -> tuple[Labels, IntArray]:
    """Return 2,800 labels of 400 photos and the species code of every photo.

    Three species, 29 volunteers, seven labels a photo. Most volunteers take a willow tit for a marsh tit more often than
    not, five can tell, one always says the same, and one copies another.
    """
    names = [name for group in VOLUNTEERS.values() for name in group] + [COPY[1]]
    kinds = [kind for kind, group in VOLUNTEERS.items() for _ in group] + ["beginner"]
    tables = np.array([TABLES[kind] for kind in kinds])
    truth = generator.choice(len(SPECIES), size=N_PHOTOS, p=SHARES)
    worker = np.array([generator.permutation(len(names))[:EACH] for _ in range(N_PHOTOS)])
    chance = generator.random((N_PHOTOS, EACH, 1))
    label = (chance > tables[worker, truth[:, None]].cumsum(axis=2)).sum(axis=2).clip(max=len(SPECIES) - 1)
    first, second = names.index(COPY[0]), names.index(COPY[1])
    for photo in np.flatnonzero((worker == second).any(axis=1)):
        # Whoever copies needs somebody to copy from: the first is asked as well, in another's place.
        place = np.flatnonzero(worker[photo] == second)[0]
        if first not in worker[photo]:
            worker[photo, (place + 1) % EACH] = first
            label[photo, (place + 1) % EACH] = label[photo, place]
        label[photo, place] = label[photo, worker[photo] == first][0]
    labels = Labels.from_codes(
        np.repeat(np.arange(N_PHOTOS), EACH),
        worker.ravel(),
        label.ravel(),
        items=pa.array([f"photo-{number + 1:03d}" for number in range(N_PHOTOS)]),
        workers=pa.array(names),
        classes=pa.array(SPECIES),
    )
    return labels, truth
