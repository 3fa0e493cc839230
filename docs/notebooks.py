"""Run the notebooks of examples/notebooks and write their pages: `make notebooks`.

Outputs are stored in the notebooks. Pages are made from the notebooks alone, so that the site needs nothing that runs them.
"""

from __future__ import annotations

import re
import tempfile
from html import escape
from pathlib import Path
from shutil import copytree
from typing import Any

import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOKS, PAGES = ROOT / "examples" / "notebooks", ROOT / "docs" / "notebooks"


def main() -> None:
    """Run every notebook in a copy of the examples, so that what it writes is gone afterwards."""
    from nbclient import NotebookClient  # noqa: PLC0415  tests run the cells without a kernel

    PAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copytree(ROOT / "examples", Path(folder) / "examples")
        for path in sorted(NOTEBOOKS.glob("*.ipynb")):
            notebook = nbformat.read(path, as_version=4)
            place = {"metadata": {"path": str(Path(folder) / "examples" / "notebooks")}}
            NotebookClient(notebook, resources=place, record_timing=False).execute()
            for cell in notebook.cells:
                cell.get("metadata", {}).clear()
                if cell.cell_type == "code":  # what libraries warn of depends on the machine
                    cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            notebook.metadata = {name: notebook.metadata[name] for name in ("kernelspec",)}
            nbformat.write(notebook, path)
            (PAGES / f"{path.stem}.md").write_text(page(notebook, path.name), encoding="utf-8")


def page(notebook: Any, name: str) -> str:
    """Return a notebook as a page: text, code, and what the code shows."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```py\n{cell.source}\n```")
        parts += [shown for output in cell.outputs if (shown := show(output))]
    link = f"*This page is the notebook `examples/notebooks/{name}`, as it ran.*"
    return "\n\n".join([parts[0], link, *parts[1:]]) + "\n"


def show(output: Any) -> str:
    """Return one output of a cell: a picture, a table, or text."""
    if output.output_type == "stream":
        return f"<pre>{escape(output.text.rstrip())}</pre>" if output.text.strip() else ""
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            lines = re.sub(r"<style scoped>.*?</style>", "", data[kind], flags=re.S).splitlines()
            return f'<div class="output">{"".join(line.strip() + " " for line in lines)}</div>'
    return f"<pre>{escape(data['text/plain'])}</pre>"


if __name__ == "__main__":
    main()
