"""What every command prints and writes, kept as text that a person can review.

A *case* is a few commands that run one after the other in one folder. Its transcript has, for each command, the exit code,
standard output and standard error, and then every file in the folder. Numbers keep six digits, so that another processor gives
the same text.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet

HEAD = 8  # lines of a file that are shown; the rest is a digest
Run = Callable[..., tuple[int, str, str]]

FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.])|(?<![\w.])-?\d+[eE]-\d+(?![\w.])")
IN_PATH = re.compile(r"(?<=[MLHVCSQTA])-?\d+\.\d+|(?<=\d)-\d+\.\d+")  # in a picture, right after a letter or a number
VARYING = [
    (re.compile(r"Compiling [^\n]* \.\.\.\n"), ""),  # only the first run after an installation says so
    (re.compile(r"\b\d+(\.\d+)? (ms|s|seconds?|minutes?)\b"), "N s"),
    (re.compile(r'("(?:seconds|duration|started|finished|created|saved_at|python|platform)": )[^,\n}]+'), r"\1..."),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"'sha256-[\w+/]+='"), "'sha256-HASH'"),  # of scripts, in which numbers keep all digits
    (re.compile(r"│ \d+\.\d\d +│$", re.MULTILINE), "│ SECONDS │"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "TIME"),
]
ENCLOSED = re.compile(r"(data:[\w/.+-]+(?:;charset=[\w-]+)?);base64,([\w+/=]+)")  # a table that a page offers to save
LIBRARIES = re.compile(r"<script[^>]*>(?:(?!</script>).){100000,}</script>", re.DOTALL)


def settle(text: str, places: Iterable[Path] = ()) -> str:
    """Return a text without what differs from run to run, its fractions to six digits."""
    for place in places:
        text = text.replace(str(place), "DIR")
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return FLOAT.sub(lambda match: shorten(match.group()), text)


def shorten(number: str) -> str:
    """Return a number with at most six digits; what is only rounding is zero."""
    if len(number) < 8 and "e" not in number:
        return number
    return "0" if abs(float(number)) < 1e-9 else f"{float(number):.6g}"


def file_text(path: Path) -> str:
    """Return what a file says as text: tables as CSV, databases as statements, pages without the libraries they carry."""
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        return "\n".join([", ".join(table.column_names), *(repr(list(row.values())) for row in table.to_pylist())])
    if path.suffix in {".db", ".sqlite"}:
        with sqlite3.connect(path) as connection:
            return "\n".join(connection.iterdump())
    if path.suffix in {".png", ".npz", ".npy", ".arrow"}:
        return "(not text)"
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".svg":
        text = IN_PATH.sub(lambda match: shorten(match.group()), text)
    text = ENCLOSED.sub(lambda match: f"{match[1]},{enclosed(match[2])}", text)
    return LIBRARIES.sub("<script>LIBRARY</script>", text)


def enclosed(code: str) -> str:
    """Return the text that a page encloses in base64, or the code where it is none."""
    try:
        return base64.b64decode(code).decode()
    except UnicodeDecodeError:
        return code


def transcript(run: Run, folder: Path, commands: list[list[str]], given: set[Path], *, digest_only: bool) -> str:
    """Run commands in a folder and return their transcript."""
    parts = []
    for command in commands:
        code, out, error = run(*command)
        said = settle(f"exit code {code}\n--- standard output\n{out}--- standard error\n{error}", [folder])
        parts += [f"$ crowdassay {' '.join(command)}", digest(said) if digest_only else said]
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path not in given):
        text = settle(file_text(path), [folder])
        lines = text.splitlines()
        shown = [] if digest_only else [line[:300] for line in lines[:HEAD]]
        parts += [f"=== {path.relative_to(folder)}: {len(lines)} lines, {digest(text)}", *shown]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def digest(text: str) -> str:
    """Return a short fingerprint."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
