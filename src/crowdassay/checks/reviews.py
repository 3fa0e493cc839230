"""A story to show around: twelve people read customers' reviews, and four of them need attention."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.labels.labels import Labels

MOODS = ("negative", "neutral", "positive")
SHARES = (0.35, 0.3, 0.35)
CAREFUL = ((0.93, 0.05, 0.02), (0.08, 0.84, 0.08), (0.02, 0.06, 0.92))
CASUAL = ((0.82, 0.13, 0.05), (0.16, 0.68, 0.16), (0.05, 0.13, 0.82))
SUNNY = ((0.88, 0.07, 0.05), (0.06, 0.29, 0.65), (0.02, 0.05, 0.93))  # takes what is neutral for positive
TIRED = ((0.50, 0.25, 0.25), (0.25, 0.50, 0.25), (0.25, 0.25, 0.50))
GUESS = ((1 / 3, 1 / 3, 1 / 3),) * 3
PEOPLE = {
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
N_REVIEWS, EACH = 480, 5
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


def reviews(generator: np.random.Generator) -> tuple[Labels, IntArray, list[str]]:
    """Return 2,400 labels of 480 reviews with times and durations, the true mood of every review, and the reviews' text.

    Twelve people, five labels a review. Zack clicks without reading, Sunny takes neutral reviews for positive ones, Marek is
    careful for three weeks and tired for the next three, and the others do their work.
    """
    names = [*PEOPLE, *HELPERS]
    tables = np.array([PEOPLE.get(name, CASUAL) for name in names])
    asked = np.array([1.0 if name in PEOPLE else SELDOM for name in names])
    truth = generator.choice(len(MOODS), size=N_REVIEWS, p=SHARES)
    worker = np.array([generator.choice(len(names), EACH, replace=False, p=asked / asked.sum()) for _ in range(N_REVIEWS)])
    day = np.sort(generator.integers(DAYS, size=N_REVIEWS))[:, None] + generator.integers(2, size=(N_REVIEWS, EACH))
    time = np.round(BEGIN + DAY * day + generator.uniform(0, 9 * 3600, (N_REVIEWS, EACH)))
    chance = tables[worker, truth[:, None]]
    tired = (worker == names.index(FALLS)) & (day >= DAYS // 2)
    chance[tired] = np.array(TIRED)[np.broadcast_to(truth[:, None], worker.shape)[tired]]
    label = (generator.random((N_REVIEWS, EACH, 1)) > chance.cumsum(axis=2)).sum(axis=2).clip(max=len(MOODS) - 1)
    pace = np.exp(generator.normal(np.log(11), 0.25, len(names)))
    pace[names.index(HASTY)] = 1.4
    duration = np.round(pace[worker] * np.exp(generator.normal(0, 0.5, worker.shape)), 1)
    labels = Labels.from_codes(
        np.repeat(np.arange(N_REVIEWS), EACH),
        worker.ravel(),
        label.ravel(),
        items=pa.array([f"review-{number + 1:03d}" for number in range(N_REVIEWS)]),
        workers=pa.array(names),
        classes=pa.array(MOODS),
        time=time.ravel(),
        duration=duration.ravel(),
    )
    return labels, truth, [_write(generator, MOODS[int(code)]) for code in truth]


def _write(generator: np.random.Generator, mood: str) -> str:
    """Return a review in some mood."""
    sentence = SENTENCES[mood][int(generator.integers(len(SENTENCES[mood])))]
    return sentence.format(THINGS[int(generator.integers(len(THINGS)))])
