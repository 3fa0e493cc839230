"""One word, one meaning: names and sentences of the source that would lead a reader astray."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "crowdassay"
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
MOODS = ("Let ", "Say ", "Tell ", "Hear ", "Put ")
SENTENCES = ("note", "message", "sentence", "words", "reason")


def test_a_class_name_is_defined_once():
    homes = defaultdict(set)
    for name, tree in TREES.items():
        if not name.startswith("compat/"):  # keeps the names of other tools
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].add(name)
    assert {name: sorted(where) for name, where in homes.items() if len(where) > 1} == {}


def test_a_constant_has_one_value():
    values = defaultdict(lambda: defaultdict(set))
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name) and target.id.isupper():
                        values[target.id][ast.unparse(node.value)].add(name)
    found = {name: {value: sorted(where) for value, where in by.items()} for name, by in values.items() if len(by) > 1}
    assert found == {}


@pytest.mark.parametrize("name", TREES)
def test_docstrings_say_what_is_done_or_returned(name):
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node) or ""
            assert not text.startswith(MOODS), f"{name}:{node.lineno} {text.splitlines()[0]}"


@pytest.mark.parametrize("name", TREES)
def test_nothing_is_decided_by_how_a_sentence_begins(name):
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
            subject = ast.unparse(node.func.value).lower()
            assert not any(word in subject for word in SENTENCES), f"{name}:{node.lineno} {ast.unparse(node)}"
