"""Draw labels and truth: from the family, or of two stories.

Volunteers name birds, to learn on; readers judge reviews, to show around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import MAX_CLASSES
from crowdassay.memory import available_memory, shown_size
from crowdassay.models.structures import resolve

MOST_DRAWN = 10**12  # items or workers; memory ends long before
STRONGEST_LOGIT = 1000  # in log odds: beyond, chances are 0 or 1 anyway

SPECIES = ("coal tit", "marsh tit", "willow tit")
SPECIES_SHARES = (0.3, 0.35, 0.35)
VOLUNTEER_TABLES = {
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
COPYING = ("Will", "Willa")  # the second has the first one's answers
N_PHOTOS, LABELS_A_PHOTO = 400, 7

MOODS = ("negative", "neutral", "positive")
MOOD_SHARES = (0.35, 0.3, 0.35)
CAREFUL = ((0.93, 0.05, 0.02), (0.08, 0.84, 0.08), (0.02, 0.06, 0.92))
CASUAL = ((0.82, 0.13, 0.05), (0.16, 0.68, 0.16), (0.05, 0.13, 0.82))
SUNNY = ((0.88, 0.07, 0.05), (0.06, 0.29, 0.65), (0.02, 0.05, 0.93))  # takes what is neutral for positive
TIRED = ((0.50, 0.25, 0.25), (0.25, 0.50, 0.25), (0.25, 0.25, 0.50))
GUESS = ((1 / 3, 1 / 3, 1 / 3),) * 3
READERS = {
    "Amira": CAREFUL, "Ben": CASUAL, "Chiara": CAREFUL, "Dev": CASUAL, "Elif": CAREFUL, "Farid": CASUAL, "Grace": CAREFUL,
    "Hana": CASUAL, "Ivo": CASUAL, "Sunny": SUNNY, "Marek": CAREFUL, "Zack": GUESS,
}  # fmt: skip
HELPERS = (
    "Ann", "Bo", "Cora", "Dan", "Eva", "Finn", "Gil", "Hugo", "Ida", "Jo", "Kim", "Lea", "Max", "Nora", "Otto", "Pia", "Rosa",
    "Sam", "Tina", "Uma", "Vera", "Will", "Yara", "Zoe",
)  # fmt: skip
SELDOM = 0.15  # how often a helper is asked for each time that one of the twelve is
FALLS = "Marek"  # careful in the first weeks, tired after
HASTY = "Zack"
N_REVIEWS, LABELS_A_REVIEW = 480, 5
BEGIN, DAYS, DAY = 1_714_546_800.0, 42, 86_400.0  # 1 May 2024, 7:00

THINGS = (
    "kettle", "rucksack", "desk lamp", "tent", "blender", "raincoat", "headphones", "bicycle pump", "notebook", "toaster",
    "watch", "suitcase", "chair", "torch", "umbrella", "keyboard", "scarf", "speaker", "mug", "garden hose",
)  # fmt: skip
SENTENCES = {
    "negative": (
        "The {} broke after two days, and nobody answers my letters.",
        "I sent the {} back. It looks nothing like the picture.",
        "Three weeks of waiting for a {} that does not work.",
        "The {} smells of plastic and the lid does not close.",
        "I would not give this {} to anybody I like.",
        "Paid for a new {} and got one with scratches.",
    ),
    "neutral": (
        "The {} came on Tuesday. I have not used it much yet.",
        "It is a {}. It does what it says, no more, no less.",
        "Does anybody know if the {} comes in green too?",
        "Bought the {} as a spare. The old one still works.",
        "The {} is smaller than I thought, which may be good or bad.",
        "Good price for the {}, slow delivery.",
    ),
    "positive": (
        "Best {} I ever had. My sister wants one now.",
        "The {} came a day early and works like a charm.",
        "We use the {} every morning and love it.",
        "Light, quiet, well made: a lovely {}.",
        "I was not sure about the {}, and I am glad I bought it.",
        "Kind people, quick answer, and a new {} within two days.",
    ),
}


def simulate(
    generator: np.random.Generator,
    *,
    n_items: int = 200,
    n_workers: int = 20,
    n_classes: int = 2,
    labels_per_item: int = 5,
    structure: str = "nominal",
    skill: float = 1.5,
    worker_spread: float = 1.0,
    item_spread: float = 0.5,
    spammers: float = 0.0,
) -> tuple[Labels, IntArray]:
    r"""Return labels and the true class code of every item.

    Worker and item coordinates are normal around a common skill,

    .. math::  \sigma_i = s\,A + B\,a_i, \quad a_i \sim N(0, w^2), \qquad \tau_j = B\,b_j, \quad b_j \sim N(0, v^2)

    where A is 1[c = k], or -\|c - k\| for the ordinal structure, and B the basis of the structure. Each item goes to
    different workers drawn at random.

    Parameters
    ----------
    generator : numpy.random.Generator
    n_items, n_workers, n_classes, labels_per_item : int
    structure : str
    skill : float
        s: the log odds of the right answer against any one wrong answer, for the average worker and item.
    worker_spread, item_spread : float
        w and v.
    spammers : float
        Share of workers whose table is all zero: they guess.

    Examples
    --------
    >>> labels, truth = simulate(np.random.default_rng(0), n_items=100, n_workers=10, labels_per_item=3)
    >>> labels.n_labels, truth.shape
    (300, (100,))
    """
    if not isinstance(generator, np.random.Generator):
        raise ParameterError("The first argument must be a generator, such as numpy.random.default_rng(0).")
    _check_sizes(n_items, n_workers, n_classes, labels_per_item)
    _check_strengths(skill, spammers, worker_spread, item_spread)
    basis = resolve(structure, n_classes).basis()
    codes = np.arange(n_classes)
    shape = -np.abs(codes[:, None] - codes) if structure == "ordinal" else np.eye(n_classes)
    sigma = skill * shape + basis.tables(worker_spread * generator.standard_normal((n_workers, basis.size)))
    sigma[generator.random(n_workers) < spammers] = 0.0
    truth = generator.integers(n_classes, size=n_items)
    chosen = _choose_workers(generator, n_items, n_workers, labels_per_item)
    label = np.empty((n_items, labels_per_item), np.int64)
    for first in range(0, n_items, 65536):
        part = slice(first, first + 65536)
        tau = basis.tables(item_spread * generator.standard_normal((len(truth[part]), basis.size)))
        own = tau[np.arange(len(tau)), truth[part]]
        logits = sigma[chosen[part], truth[part, None]] + own[:, None, :]
        label[part] = (logits + generator.gumbel(size=logits.shape)).argmax(axis=-1)  # by Gumbel noise, one class for each row
    items, workers = ([f"{letter}{n + 1}" for n in range(size)] for letter, size in (("i", n_items), ("w", n_workers)))
    return _labels(items, chosen, label, workers, [str(c) for c in range(n_classes)]), truth


def _check_strengths(skill: float, spammers: float, worker_spread: float, item_spread: float) -> None:
    strengths = {"skill": skill, "spammers": spammers, "worker spread": worker_spread, "item spread": item_spread}
    for name, value in strengths.items():
        if not isinstance(value, int | float | np.number) or not abs(value) <= STRONGEST_LOGIT:
            raise ParameterError(f"{name} must be a number of at most {STRONGEST_LOGIT:,}, not {value!r}.")
    if not 0 <= spammers <= 1 or worker_spread < 0 or item_spread < 0:
        raise ParameterError("spammers must be a share between 0 and 1, and the spreads must not be negative.")


def _check_sizes(n_items: int, n_workers: int, n_classes: int, each: int) -> None:
    for name, value, least, most in (
        ("items", n_items, 1, MOST_DRAWN),
        ("workers", n_workers, 1, MOST_DRAWN),
        ("classes", n_classes, 2, MAX_CLASSES),
        ("labels per item, each by another worker,", each, 1, n_workers),
    ):
        if not isinstance(value, int | np.integer) or not least <= value <= most:
            raise ParameterError(f"The number of {name} must be a whole number from {least} to {most:,}, not {value}.")
    drawn = n_workers if each**2 > n_workers else 6 * each  # numbers for every item
    needed, room = 8 * (n_classes**2 * (n_classes + n_workers) + n_items * drawn), available_memory()
    if room is not None and needed > room:
        raise ParameterError(
            f"These labels would take {shown_size(needed)} of memory, and there are {shown_size(room)}; draw fewer."
        )


def _choose_workers(generator: np.random.Generator, n_items: int, n_workers: int, each: int) -> IntArray:
    """Draw different workers for every item, shape (n_items, each)."""
    if each * each > n_workers:
        return np.asarray(generator.permuted(np.tile(np.arange(n_workers), (n_items, 1)), axis=1)[:, :each])
    chosen = generator.integers(n_workers, size=(n_items, each))
    again = np.arange(n_items)
    while len(again):
        ordered = np.sort(chosen[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        chosen[again] = generator.integers(n_workers, size=(len(again), each))
    return chosen


def birds(generator: np.random.Generator) -> tuple[Labels, IntArray]:
    """Return 2,800 labels of 400 photos and the species code of every photo.

    Three species, 29 volunteers, seven labels a photo. Most volunteers take a willow tit for a marsh tit more often than
    not, five can tell, one always says the same, and one copies another.
    """
    names = [name for group in VOLUNTEERS.values() for name in group] + [COPYING[1]]
    kinds = [kind for kind, group in VOLUNTEERS.items() for _ in group] + ["beginner"]
    tables = np.array([VOLUNTEER_TABLES[kind] for kind in kinds])
    truth = generator.choice(len(SPECIES), size=N_PHOTOS, p=SPECIES_SHARES)
    worker = np.array([generator.permutation(len(names))[:LABELS_A_PHOTO] for _ in range(N_PHOTOS)])
    label = _answer(generator, tables[worker, truth[:, None]])
    first, second = names.index(COPYING[0]), names.index(COPYING[1])
    for photo in np.flatnonzero((worker == second).any(axis=1)):
        # Whoever copies needs somebody to copy from: the first is asked as well, in another's place.
        place = np.flatnonzero(worker[photo] == second)[0]
        if first not in worker[photo]:
            worker[photo, (place + 1) % LABELS_A_PHOTO] = first
            label[photo, (place + 1) % LABELS_A_PHOTO] = label[photo, place]
        label[photo, place] = label[photo, worker[photo] == first][0]
    return _labels(_numbered("photo", N_PHOTOS), worker, label, names, SPECIES), truth


def reviews(generator: np.random.Generator) -> tuple[Labels, IntArray, list[str]]:
    """Return 2,400 labels of 480 reviews with times and durations, the true mood of every review, and the reviews' text.

    Twelve people, five labels a review. Zack clicks without reading, Sunny takes neutral reviews for positive ones, Marek is
    careful for three weeks and tired for the next three, and the others do their work.
    """
    names = [*READERS, *HELPERS]
    tables = np.array([READERS.get(name, CASUAL) for name in names])
    asked = np.array([1.0 if name in READERS else SELDOM for name in names])
    truth = generator.choice(len(MOODS), size=N_REVIEWS, p=MOOD_SHARES)
    worker = np.array(
        [generator.choice(len(names), LABELS_A_REVIEW, replace=False, p=asked / asked.sum()) for _ in range(N_REVIEWS)]
    )
    day = np.sort(generator.integers(DAYS, size=N_REVIEWS))[:, None] + generator.integers(2, size=(N_REVIEWS, LABELS_A_REVIEW))
    time = np.round(BEGIN + DAY * day + generator.uniform(0, 9 * 3600, (N_REVIEWS, LABELS_A_REVIEW)))
    chance = tables[worker, truth[:, None]]
    tired = (worker == names.index(FALLS)) & (day >= DAYS // 2)
    chance[tired] = np.array(TIRED)[np.broadcast_to(truth[:, None], worker.shape)[tired]]
    label = _answer(generator, chance)
    pace = np.exp(generator.normal(np.log(11), 0.25, len(names)))
    pace[names.index(HASTY)] = 1.4
    duration = np.round(pace[worker] * np.exp(generator.normal(0, 0.5, worker.shape)), 1)
    labels = _labels(_numbered("review", N_REVIEWS), worker, label, names, MOODS, time=time.ravel(), duration=duration.ravel())
    texts = []
    for some in (SENTENCES[MOODS[code]] for code in truth):
        sentence = some[generator.integers(len(some))]
        texts.append(sentence.format(THINGS[generator.integers(len(THINGS))]))
    return labels, truth, texts


def _answer(generator: np.random.Generator, chance: FloatArray) -> IntArray:
    """Draw an answer for each of the rows of probabilities over the last axis, shape (n_items, each, n_classes)."""
    drawn = generator.random((*chance.shape[:2], 1))
    return np.asarray((drawn > chance.cumsum(axis=2)).sum(axis=2).clip(max=chance.shape[2] - 1))


def _numbered(item: str, size: int) -> list[str]:
    return [f"{item}-{number + 1:03d}" for number in range(size)]


def _labels(
    items: Sequence[str], worker: IntArray, label: IntArray, workers: Sequence[str], classes: Sequence[str], **beside: Any
) -> Labels:
    """Return labels (n_items, each) of items; ``beside`` are times and durations, one for each label."""
    names = {"items": pa.array(items), "workers": pa.array(workers), "classes": pa.array(classes)}
    item = np.repeat(np.arange(len(items)), worker.shape[1])
    return Labels.from_codes(item, worker.ravel(), label.ravel(), **names, **beside)
