"""Start the command line: whatever happens while it loads ends as cleanly as what happens later."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line and exit; Ctrl-C is heard from here on."""
    open_streams()
    if not any("spark" in word for word in sys.argv):
        sys.meta_path.insert(0, NoPandas())
    begun = False
    try:
        from crowdassay.cli.main import main as run  # the first thing that takes a moment

        begun = True
        run()
    except SystemExit:  # all is done and said: Ctrl-C while Python tidies up changes nothing
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:  # before the command had begun, or after it had ended
        sys.stderr.write("Interrupted; nothing was written.\n" if not begun else "Interrupted.\n")
        sys.exit(3)


class NoPandas:
    """Refuse pandas to whoever asks: pyarrow loads it at the first array, where it is installed, and nothing here needs it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise an error if the module is pandas, as if there were none."""
        if name == "pandas":
            raise ModuleNotFoundError("The command line goes without pandas, which takes long to load.", name=name)


def open_streams() -> None:
    """Give input, output and errors somewhere to go where they were closed, as by ``2>&-``.

    Else the next file that is opened gets the number of a standard stream, and what is meant for the user goes into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open as long as the process lives
