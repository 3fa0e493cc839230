"""One word, one meaning: names and sentences of the source that would lead a reader astray."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "crowdassay"
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
MOODS = ("Let ", "Say ", "Tell ", "Hear ", "Put ")
NOUNS = re.compile(
    r" (?:(?:[a-z-]+ )?(?:labels|items|workers|classes|rows|judges|judgements|pairs|comparisons|iterations|votes|verdicts|"
    r"records|lines|times|ratings|ties|batches|errors|tasks|points)|are|were|have)\b"
)
NOT_COUNTS = re.compile(
    r"[A-Z_ /0-9]+|(?:counted|listed|joined|shown\w*|short)\(.*|probe\.shown|what|held|name|option|source|sizes|largest"
)
# Sentences that are said of two or more only: of too many to show all, of parts, of split votes.
SEVERAL = (
    " items got another label", " classes for each of", " classes, what workers answer", " items; chance gives", " items; ",
    " were expected", " items whose class is known", " classes are shown", " judges are shown", " points ", " different labels",
    " are needed", " lines are wrong", " rows are wrong", " projects were taken together", " files have a time column",
    " rows miss", " rows in ", " rows.", " classes, as codes", " classes but the labels have", " items that were never",
    " are shown", " items; intervals", " classes (", " workers are shown", " workers with most labels",
    " workers; the file has all", " labels are split evenly", " labels of this request", " are taken", " labels): workers",
    " items, ", " were never used", " were taken for titles",
)  # fmt: skip
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


def test_m14_a_count_and_its_noun_agree():
    """M14: "1 labels", "1 were": whatever is counted in a sentence goes through `counted`."""
    found = []
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            for value, text in pairwise(node.values) if isinstance(node, ast.JoinedStr) else ():
                if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant):
                    continue
                spec = "" if value.format_spec is None else ast.unparse(value.format_spec)
                if "%" in spec or re.search(r"\.[1-9]f", spec) or NOT_COUNTS.fullmatch(ast.unparse(value.value)):
                    continue
                if NOUNS.match(text.value) and not text.value.startswith(SEVERAL):
                    found.append(f"{name}:{value.lineno} {ast.unparse(value)}{text.value[:40]}")
    assert not found, f"write these with counted(count, 'label') or counted(count, 'label was', 'labels were'): {found}"
