"""Turn many noisy labels into true labels with honest probabilities, and measure who gave them.

The public names are listed once, in ``__init__.pyi``, where type checkers look for them; each loads when it is first used.
"""

import re
from importlib import import_module
from typing import Any

from crowdassay.version import VERSION

__version__ = VERSION
_LISTED = __spec__.loader.get_data(f"{__file__}i").decode()  # by the loader, as the package may be in a zip file
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _LISTED, re.MULTILINE)}
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that the import stays quick and needs no extra."""
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdassay' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
