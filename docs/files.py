"""Write the layers and the files in architecture.md, from the contract and the files themselves: `python docs/files.py`."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "crowdassay"
PAGE = ROOT / "docs" / "architecture.md"
LAYERS, LAYERS_END = "<!-- layers -->\n", "<!-- end of layers -->\n"
FILES = "<!-- files -->\n"


def layers() -> list[list[str]]:
    """Return the layers of the contract in pyproject.toml, the highest first, each with its modules; the ground comes last."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract, *_, ground = settings["tool"]["importlinter"]["contracts"]
    rows = [*(layer.split("|") for layer in contract["layers"]), ground["source_modules"]]
    return [[name.strip().removeprefix("crowdassay.") for name in row] for row in rows]


def modules() -> set[str]:
    """Return every module and folder of the package that a layer has to name."""
    found = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    return found - {"__init__", "__main__", "__pycache__"}


def diagram() -> str:
    """Return the modules with the number of their layer and what they are for; those of one layer do not import each other."""
    lines = []
    *numbered, ground = layers()
    for number, layer in [*enumerate(numbered, 1), ("", ground)]:
        lines += [f"{number:>2}  {name:<14}{first_line(PACKAGE / name)}" for name in layer]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def first_line(path: Path) -> str:
    """Return the first line of a module's own description, or of a folder's."""
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]


def bullets() -> str:
    """Return one bullet for every file of the package, folder by folder."""
    lines = []
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda path: (len(path.parts), path)):
        if path.name == "__init__.py":
            if path.parent != PACKAGE:
                lines += ["", f"### {path.parent.name}", "", first_line(path.parent), ""]
        else:
            lines.append(f"- `{path.relative_to(PACKAGE)}`: {first_line(path)}")
    return "\n".join(lines).strip() + "\n"


def page() -> str:
    """Return the page with its layers and its list made anew."""
    text = PAGE.read_text(encoding="utf-8").split(FILES)[0]
    before, rest = text.split(LAYERS)
    after = rest.split(LAYERS_END)[1]
    return before + LAYERS + "\n" + diagram() + "\n" + LAYERS_END + after + FILES + "\n" + bullets()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
