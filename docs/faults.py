"""Write the table in reliability.md, each row with the tests that show it: `python docs/faults.py`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
MARK = "<!-- table -->\n"
TEST = re.compile(r"^def (test_row_(\d\d)_\w+)", re.MULTILINE)

ROWS = {
    1: ("Empty file, or header only", 'Error "no labels found", exit 1; in Python a `ValueError`; no output'),
    2: ("Missing or misspelt column", "Error listing the columns found and the nearest match; exit 2"),
    3: (
        "Null, blank or whitespace item, worker or label",
        "Row dropped and counted by reason; error if more than half are dropped, unless `--allow-drops`",
    ),
    4: (
        "The same judgement twice (worker, item and label)",
        "Kept and counted; `--repeats first`, `last` or `error` change that",
    ),
    5: (
        "Same worker, same item, different labels",
        "The same policy; conflicts are counted and three are named; `first` and `last` go by the time column if there is "
        "one, else by row, and say which",
    ),
    6: (
        "Label `1` and `1.0`; `Yes`, `yes `, NFC and NFD variants",
        "Equal numbers are one class; variants are reported with a suggested map and never merged silently",
    ),
    7: ("19-digit ids, leading zeros, `1e5`, `NA`, `None`, `null` as ids", "Ids stay text, byte for byte"),
    8: (
        "UTF-8 BOM, UTF-16, Latin-1, NUL bytes, lone surrogates",
        "UTF-8 and UTF-16 read, with or without BOM; else the error names line and byte; NUL refused with its line",
    ),
    9: (
        "Ragged rows, unclosed quote, embedded newlines, mixed line ends, `;` or tab separators",
        "Sniffed; bad lines counted and listed up to 20; an unclosed quote is an error with its line",
    ),
    10: (
        "Truncated JSON, JSONL or Parquet",
        "Error with the line or byte; JSONL keeps its good lines only with `--skip-bad`",
    ),
    11: ("One class only", 'Labels returned with a "degenerate: one class" note; agreement undefined, not 1'),
    12: ("One worker, or one label per item", "Falls back to priors; said to be unidentifiable, worker quality not estimable"),
    13: ("Disconnected worker-item graph", "Works; components reported; worker scores not compared across them"),
    14: ("All workers random, or an adversarial majority", 'Ends; "no better than chance" said, and the risk of a swap'),
    15: (
        "Perfect agreement or separation",
        "No overflow, nothing infinite; with the default method a probability below 1 (a vote share of 1 is 1)",
    ),
    16: ("One worker with 40 % of the labels; 10^6 workers with one label", "Bounded memory and time"),
    17: (
        "1000 classes, or free text taken as label",
        "Refused before allocating when classes² x workers exceeds the memory, with the estimate and advice",
    ),
    18: (
        "Gold in conflict with itself, unknown gold items, gold label not in classes",
        "Error for conflict; the others counted and noted; gold never changed by the model",
    ),
    19: (
        "Ordered labels whose order is unknown, or gaps (1, 2, 4, 5)",
        "Asks for `--order`; numeric order only when all labels are numbers; levels given but unseen are kept, gaps noted",
    ),
    20: (
        "NaN, infinite or negative weights or times",
        "Error with the row; weight 0 is left out and counted; different positive weights are refused, since no method "
        "takes them",
    ),
    21: ("No convergence", "Result saved with `converged: false` and a note, exit 0; exit 1 with `--strict`"),
    22: (
        "Ctrl-C, SIGTERM or kill -9 while fitting or saving",
        "Old result intact or new one complete; exit 3 within a second",
    ),
    23: (
        "Disk full, read-only folder, output path is a file, input vanishes",
        "Error before fitting where it can be known; no partial file left",
    ),
    24: ("Out of memory", "Estimated first; `MemoryError` is a message; `--engine files` needs less"),
    25: (
        "Saved state truncated, tampered with, or of a newer version",
        "Arrow and JSON with checksum and version; refused in words; pickle never loaded",
    ),
    26: (
        "Worker or label named `<script>`, `</script>`, 10,000 characters, RTL marks, emoji",
        "Shown inert and shortened in HTML and JSON-in-script; raw value kept in data exports",
    ),
    27: (
        "Worker named `=HYPERLINK(..)`, `@SUM`, `-1+1`, tab prefix",
        "CSV for people gets a `'` before it; `--raw` for machines; numbers such as -1 untouched",
    ),
    28: (
        "Zip bomb, too many entries, `../` names, links, gzip ratio above 100",
        "Refused before unpacking by size, count and ratio; nothing is ever unpacked to disk; the server takes no archives",
    ),
    29: ("Upload above the limit, slow, of the wrong type, empty", "413, 408, 415, 422; temporary files gone; server stays up"),
    30: (
        "Path traversal in ids; SQL in names",
        "404; identifiers quoted, values bound; DuckDB opens the one file named and nothing else",
    ),
    31: (
        "Two uploads or fits at the same time; restart in the middle",
        'One transaction each; one fit runs and one waits, then 429; "interrupted" after a restart',
    ),
    32: (
        "Cross-site POST, foreign Host header, public bind",
        "Refused; loopback and a token by default; a warning when bound elsewhere",
    ),
    33: ("Spark executor lost, Python worker without pyarrow", "Retried, or a clear message; same labels as the local run"),
    34: ("GPU absent, out of memory, or NaN in float32", "Falls back to the CPU with one warning"),
    35: (
        "Personal data: emails as worker ids, IP columns",
        "Only the columns needed are read; `--pseudonymise` makes stable salted ids; no values in messages about counts",
    ),
}
# Rows whose tests are named after what they are about.
ELSEWHERE = {
    25: ("persistence/test_saved.py::test_damage_is_found",),
    33: (
        "engines/test_spark.py::test_a_lost_executor_changes_nothing",
        "engines/test_spark.py::test_executors_without_the_package",
    ),
}
# Why a row has no test yet.
NOT_YET: dict[int, str] = {}


def tests() -> dict[int, list[str]]:
    """Return the tests by row: every function `test_row_NN_...` under tests/."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, row in TEST.findall(path.read_text(encoding="utf-8")):
            found.setdefault(int(row), []).append(f"`{path.relative_to(ROOT / 'tests')}::{name}`")
    for row, names in ELSEWHERE.items():
        for name in names:
            path, function = name.split("::")
            if f"def {function}(" not in (ROOT / "tests" / path).read_text(encoding="utf-8"):
                raise LookupError(f"there is no test {name}")
            found.setdefault(row, []).append(f"`{name}`")
    return found


def page() -> str:
    """Return the page with its table made anew."""
    found = tests()
    lines = ["| # | Input or fault | What happens | Shown by |", "|---|---|---|---|"]
    for number, (fault, outcome) in ROWS.items():
        shown = "<br>".join(found.get(number, [])) or f"not tested: {NOT_YET[number]}"
        lines.append(f"| {number} | {fault} | {outcome} | {shown} |")
    return PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
