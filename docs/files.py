"""Write the list of files in architecture.md from the files' own first lines: `python docs/files.py`."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
MARK = "<!-- files -->\n"


def bullets() -> str:
    """Return one bullet for every file of the package, folder by folder."""
    package = ROOT / "src" / "crowdassay"
    lines = []
    for path in sorted(package.rglob("*.py"), key=lambda path: (len(path.parts), path)):
        text = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
        if path.name == "__init__.py":
            if path.parent != package:
                lines += ["", f"### {path.parent.name}", "", text, ""]
        else:
            lines.append(f"- `{path.relative_to(package)}`: {text}")
    return "\n".join(lines).strip() + "\n"


def page() -> str:
    """Return the page with its list made anew."""
    return PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n" + bullets()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
