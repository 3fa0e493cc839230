"""The public surface: small, sorted, quick to import, and free of extras."""

import subprocess
import sys

import crowdassay

CORE_ONLY = """
import sys
import crowdassay
heavy = {"numba", "duckdb", "pandas", "polars", "sklearn", "scipy", "pyarrow", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


def test_names_are_sorted_and_load():
    assert crowdassay.__all__ == sorted(crowdassay.__all__)
    for name in crowdassay.__all__:
        assert getattr(crowdassay, name).__module__.startswith("crowdassay")
    assert set(crowdassay.__all__) <= set(dir(crowdassay))


def test_the_import_loads_nothing_heavy():
    subprocess.run([sys.executable, "-c", CORE_ONLY], check=True)


def test_help_loads_nothing_heavy():
    code = CORE_ONLY.replace("import crowdassay", "from crowdassay.cli.main import cli")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    try:
        crowdassay.nonsense  # noqa: B018
    except AttributeError as error:
        assert "nonsense" in str(error)  # noqa: PT017
    else:
        raise AssertionError("an unknown name was found")
