"""Nested answers, as forms submit them, as one list of choices per question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crowdassay.labels.jsontext import EXACT_DECODER

CHOICE_KEYS = ("label", "labels")  # what Amazon's form elements call the choice


def answers_in(content: Any, name: str = "") -> dict[str, list[Any]]:
    """Flatten what a form submitted.

    A choice is a value, ``{"label": value}``, ``{"labels": [values]}`` or ``{"value": true, "other": false}``.

    >>> answers_in({"tone": {"label": "warm"}, "topic": {"cats": True, "dogs": False}, "sure": "yes"})
    {'tone': ['warm'], 'topic': ['cats'], 'sure': ['yes']}

    A check box by itself is a question that was answered either way.

    >>> answers_in({"rude": True, "spam": False, "adult": {"on": False}})
    {'rude': [True], 'spam': [False], 'adult': [False]}
    """
    if isinstance(content, Mapping):
        if name and set(content) == {"on"}:
            return answers_in(content["on"], name)
        if name and content and all(isinstance(value, bool) for value in content.values()):
            return {name: [key for key, chosen in content.items() if chosen]}
        answers: dict[str, list[Any]] = {}
        for key, value in content.items():
            inner = name if name and key in CHOICE_KEYS else f"{name}.{key}" if name else str(key)
            answers.update(answers_in(value, inner))
        return answers
    if isinstance(content, list):
        if any(isinstance(value, Mapping) for value in content):
            return {key: value for part in content for key, value in answers_in(part, name).items()}
        return {name: content}
    return {name: [] if content is None or content == "" else [content]}


def parsed(text: Any) -> Any:
    """Return the JSON value a text holds, or the text itself."""
    if not isinstance(text, str) or text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return EXACT_DECODER.decode(text.strip())
    except (json.JSONDecodeError, RecursionError):
        return text
