"""Find the true classes: those given, or those that people and judges use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crowdassay.errors import DataError
from crowdassay.judges.scores import as_number
from crowdassay.labels.values import listed, shown

MOST_CLASSES = 50  # above this, what people wrote is free text
ABSTAINING = frozenset(
    (
        "__invalid__", "abstain",
        "cannot judge", "cannot say", "can't say", "do not know", "don't know", "error", "idk", "invalid", "n/a",
        "na", "nan", "no answer", "none given", "not sure", "parse error", "refusal", "refused", "skip", "skipped", "unclear",
        "unknown", "unparsable", "unparseable", "unsure",
    )
)  # fmt: skip


def find_classes(
    given: Sequence[str] | None, people: Iterable[str], judges: Iterable[str], notes: list[str]
) -> tuple[str, ...]:
    """Return the true classes in order: as given, or else those of people with those judges' answers that look like classes.

    A judge's answer is no class if it says that there is none ("unsure"), if it is a number where people use words, or if
    judges use more numbers than people do, as scores are.

    >>> find_classes(None, ["pass"], ["pass", "fail", "unsure"], [])
    ('fail', 'pass')
    >>> find_classes(None, ["pass", "fail"], ["0", "5", "9"], [])
    ('fail', 'pass')
    """
    if given is not None:
        return _checked(tuple(dict.fromkeys(name.strip() for name in given if name.strip())))
    folded = {name.strip().casefold(): name.strip() for name in people if name.strip().casefold() not in ABSTAINING}
    used = list(folded.values())
    new = [name for name in dict.fromkeys(judges) if name.strip().casefold() not in ABSTAINING | folded.keys()]
    numbers = [name for name in new if as_number(name) is not None]
    wordy = any(as_number(name) is None for name in used)
    scores = numbers if wordy or len(numbers) > len(used) else []
    added = [name for name in new if name not in scores]
    if len(added) + len(used) > MOST_CLASSES:
        added = []
    classes_used = sorted([*used, *added], key=_natural)
    if added and used:
        notes.append(
            f"No person chose {listed(added, 5)}, but judges did, so it counts as a class; --classes names the classes."
        )
    return _checked(tuple(classes_used))


def _natural(name: str) -> tuple[bool, float, str]:
    value = as_number(name)
    return value is None, 0.0 if value is None else value, name


def _checked(classes: tuple[str, ...]) -> tuple[str, ...]:
    if not classes:
        raise DataError("People gave no label, so that no class is known; name the classes with --classes.")
    if len(classes) == 1:
        raise DataError(
            f"There is one class only, {shown(classes[0])}; name all classes with --classes, such as --classes pass,fail."
        )
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"People gave {len(classes)} different labels, more than {MOST_CLASSES} classes; are they free text? "
            "Name the classes with --classes."
        )
    return classes
