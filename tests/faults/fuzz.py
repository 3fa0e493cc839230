"""Coverage-guided fuzzing of the importers: `python tests/faults/fuzz.py TARGET RUNS`, with the extra `fuzz` installed.

What fails is kept as a file in tests/faults/corpus, which the tests play again.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))
with atheris.instrument_imports(include=["crowdassay.labels", "crowdassay.labels", "json", "csv", "zipfile"]):
    from faults import plays

CORPUS = Path(__file__).parent / "corpus"


def main(target: str, runs: str, *options: str) -> None:
    """Fuzz one target; libFuzzer ends the process when the runs are done."""
    told: Counter[str] = Counter()
    failures: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        folder, start, found = Path(place, "files"), Path(place, "seeds"), Path(place, "found")
        for path in (folder, start, found):
            path.mkdir()
        for number, seed in enumerate(plays.seeds(target, folder)):
            (start / str(number)).write_bytes(seed)

        def one(data: bytes) -> None:
            told["runs"] += 1
            try:
                told[plays.play(target, data, folder)] += 1
            except Exception as error:  # noqa: BLE001  every kind is a find
                told["failed"] += 1
                frame = traceback.extract_tb(error.__traceback__)[-1]
                kind = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
                if kind not in failures or len(data) < len(failures[kind]):
                    failures[kind] = data
                    name = f"{target}-{hashlib.sha256(kind.encode()).hexdigest()[:8]}"
                    (CORPUS / name).write_bytes(data)
                    print(f"{name}: {kind}: {error!r}"[:400], flush=True)  # noqa: T201
            if told["runs"] % 10_000 == 0:
                print(dict(told), flush=True)  # noqa: T201

        flags = [f"-runs={runs}", "-max_len=2048", "-timeout=60", "-rss_limit_mb=3000", "-print_final_stats=1", *options]
        atheris.Setup([sys.argv[0], *flags, str(found), str(start)], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
