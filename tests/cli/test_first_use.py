"""A small file is answered without a wait for a compiler, and without libraries that nothing here needs."""

import subprocess
import sys

import pytest

CODE = """
import sys
from crowdassay.cli.start import main
heavy = ["numba", "pandas", "scipy.stats", "scipy.optimize", "pyspark"]
tables = [*heavy, "scipy.special", "scipy.sparse", "duckdb", "narwhals", "pyarrow.parquet"]
for method, written in (("majority", tables), ("dawid-skene", tables), ("assay", tables), ("assay", heavy)):
    report = ["--report", "report.html"] if written is heavy else ["--out", method]
    sys.argv = ["crowdassay", "aggregate", "--method", method, "--json", *report, sys.argv[-1]]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    loaded = [name for name in written if name in sys.modules]
    assert not loaded, (method, loaded)
"""


@pytest.mark.slow
def test_few_labels_need_no_compiler(tmp_path):
    rows = [
        f"i{j},w{i},{'yes' if (j + (i == 3 and j % 4 == 0)) % 2 else 'no'}" for j in range(60) for i in range(5) if (i + j) % 3
    ]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["item,worker,label", *rows]), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"method"') == 4
