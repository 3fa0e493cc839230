"""`--checkpoint` and `--resume`: a fit that goes on where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdassay.cli.ending import Ending

if TYPE_CHECKING:
    from crowdassay.data.labels import Labels
    from crowdassay.estimators.base import Estimator
    from crowdassay.solvers.outcome import Progress

IGNORED = ("threads",)  # parameters on which the result does not depend


def check_checkpoint(folder: Path | None, resume: bool, estimator: Estimator) -> None:
    """Refuse what cannot work before anything is read."""
    from crowdassay.errors import ParameterError
    from crowdassay.io.write import check_writable

    if folder is None:
        if resume:
            raise ParameterError("--resume needs --checkpoint, the folder to go on from.")
        return
    if not estimator.resumable:
        raise ParameterError(f"The method '{estimator.method}' keeps no checkpoints; leave out --checkpoint.")
    check_writable(folder)


def start_recording(
    estimator: Estimator,
    labels: Labels,
    options: Mapping[str, Any],
    ending: Ending,
    progress: Progress | None,
    announce: Callable[[str], None] | None,
) -> Progress | None:
    """Return the progress callback; with --checkpoint one with the journal of this fit, saved on an interruption."""
    folder, resume = options["checkpoint"], options["resume"]
    if folder is None:
        return progress
    from crowdassay.engines.recorded import Recording
    from crowdassay.io.journal import Journal, fingerprint

    parameters: dict[str, Any] = {name: value for name, value in estimator.get_params().items() if name not in IGNORED}
    journal = Journal(folder, fingerprint(labels, estimator.method, parameters), resume=resume)
    if announce is not None and resume:
        announce(
            f"Going on from the checkpoint: {journal.left:,} passes are known."
            if journal.left
            else "There is no checkpoint yet; starting anew."
        )

    def save() -> str:
        from crowdassay.errors import FileError

        try:
            journal.save()
        except FileError as error:
            return f"the checkpoint could not be saved: {error}"
        return f"the checkpoint is in {folder}; go on with --resume."

    ending.save = save
    return Recording(journal, progress)


def finish_recording(progress: Progress | None) -> None:
    """Remove the checkpoint of a fit that is done."""
    from crowdassay.engines.recorded import Recording

    if isinstance(progress, Recording):
        progress.journal.remove()
