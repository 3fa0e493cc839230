"""Fits in the background: one at a time, on what is stored at its start, cancellable; one more may wait."""

from __future__ import annotations

import logging
import os
import subprocess  # nosec B404
import sys
import tempfile
import threading
import time
from pathlib import Path

from crowdassay.errors import CrowdassayError
from crowdassay.labels.databases.home import Session
from crowdassay.labels.record import LIKELIEST
from crowdassay.service.fits import process as fit_process
from crowdassay.service.fits.job import Job
from crowdassay.service.fits.snapshot import read_snapshot
from crowdassay.service.store import history
from crowdassay.service.store.corrections import erased_since
from crowdassay.service.store.labels import last_seq
from crowdassay.service.store.records import FitRun
from crowdassay.service.store.writer import BusyError, Writer

LOG = logging.getLogger("crowdassay.service")
NEW_LABELS_FOR_A_FIT = 20  # new labels from which a fit is worth its while
NEW_SHARE_FOR_A_FIT = 0.1  # of all labels
QUIET_BEFORE_A_FIT = 3.0  # seconds without a change after which even a few new labels are fitted
REST_AFTER_FAILURE = 30.0  # seconds after a fit that failed or was cancelled before the next one that nobody asked for
WORKER_ERASED = "Cancelled, since a worker was erased."
LONGEST_FIT = 6 * 3600  # seconds


class FitRunner:
    """Runs fits in processes of their own, and puts each result in the place of the last."""

    def __init__(self, job: Job, writer: Writer, place: str, settled: float | None = None, decide: str = LIKELIEST) -> None:
        self.job, self.writer, self.place, self.settled, self.decide = job, writer, place, settled, decide
        self.running: FitRun | None = None
        self.waiting: FitRun | None = None
        self.last: FitRun | None = None
        self.last_done: FitRun | None = None
        self.n_failed = 0
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False
        self._given_up = False
        self._known_then: dict[str, str] = {}
        self._failed_version = -1
        self._rest_until = 0.0
        self._wake = threading.Event()
        self._asking = threading.Lock()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="fits", daemon=True)

    def start(self) -> None:
        """Load the last fit of the store, and begin to watch; what a dead server left running was interrupted."""
        self.writer.call(history.interrupt_fits).result()
        with self.job.store.home.read() as session:
            parts = history.last_parts(session)
        if parts is None or not self.job.n_labels or not self._load(*parts):
            self.job.touch_all()
        self._thread.start()

    def _load(self, fit: FitRun, parts: dict[str, bytes]) -> bool:
        """Go on from a fit of the store; one that another version wrote in another form is made anew."""
        try:
            snapshot = read_snapshot(fit.id, fit.upto, parts, self.settled)
        except (CrowdassayError, KeyError, ValueError, TypeError) as error:
            LOG.warning("fit %d of the store cannot be used (%s); a new one is made", fit.id, type(error).__name__)
            return False
        self.job.replace_fit(snapshot)
        self.last = self.last_done = fit
        self._known_then = self._known_of_fit()
        return True

    def ask(self) -> FitRun:
        """Ask for a fit; it begins at once, or when the one that runs has ended. A third is refused."""
        with self._asking:
            if self.waiting is not None:
                raise BusyError("A fit is waiting already; ask again when it has begun.", retry_after=5)
            self.waiting = asked = self.writer.call(lambda session: history.ask_fit(session, "asked for")).result()
        self._wake.set()
        return asked

    def cancel(self, number: int | None = None) -> bool:
        """End the fit that runs or waits; return False where none does, or another."""
        with self._asking:
            if self.waiting is not None and self.waiting.id == number:
                waited, self.waiting = self.waiting, None
                self.writer.call(lambda session: history.end_fit(session, waited.id, history.CANCELLED, "Cancelled.")).result()
                return True
        process, running = self._process, self.running
        if process is None or running is None or (number is not None and running.id != number):
            return False
        self._cancelled = True
        process.kill()
        return True

    def give_up(self) -> None:
        """End a fit that knows a worker who was erased; the next begins at once."""
        self._given_up = True
        self.cancel()

    def stop(self) -> None:
        """End for good; a fit that runs is interrupted."""
        self._stopping = True
        self._wake.set()
        if self._process is not None:
            self._process.kill()
        self._thread.join(timeout=10)

    def find(self, number: int) -> FitRun | None:
        """Return a fit by its number; it is done only when what it found is what reads are answered from."""
        running = self.running
        if running is not None and running.id == number:
            return running
        with self.job.store.home.read() as session:
            return history.find_fit(session, number)

    def listed(self, limit: int) -> list[FitRun]:
        """Return fits, the last first."""
        running = self.running
        with self.job.store.home.read() as session:
            fits = history.list_fits(session, limit)
        return [running if running is not None and running.id == fit.id else fit for fit in fits]

    def _work(self) -> None:
        while not self._stopping:
            self._wake.wait(0.5)
            self._wake.clear()
            with self._asking:
                asked, self.waiting = self.waiting, None
            if asked is None and self._due():
                asked = self.writer.call(lambda session: history.ask_fit(session, "new labels")).result()
            if asked is not None and not self._stopping:
                self._run(asked)

    def _due(self) -> bool:
        """Return whether enough has changed since the last fit, or a little and then nothing for a while."""
        job = self.job
        new = job.n_unfitted + sum(self._known_then.get(item) != label for item, (label, _) in list(job.known.items()))
        new += sum(item not in job.known for item in self._known_then)
        if not job.n_labels or new <= 0 or self._failed_version == job.version or time.monotonic() < self._rest_until:
            return False
        took = 0.0 if self.job.snapshot is None else float(self.job.snapshot.facts["seconds"])
        quiet = time.monotonic() - job.changed_at
        return new >= max(NEW_LABELS_FOR_A_FIT, NEW_SHARE_FOR_A_FIT * job.n_labels) or quiet > max(QUIET_BEFORE_A_FIT, 5 * took)

    def _known_of_fit(self) -> dict[str, str]:
        return {} if self.job.snapshot is None else dict(self.job.snapshot.facts["known"])

    def _run(self, asked: FitRun) -> None:
        version = self.job.version
        self._cancelled = self._given_up = False
        self.running = fit = self.writer.call(lambda session: history.start_fit(session, asked.id, last_seq(session))).result()
        try:
            with tempfile.TemporaryDirectory(prefix="crowdassay-fit-") as folder:
                state, message = self._fit(fit, Path(folder) / "model")
                parts = None
                snapshot = None
                if state == history.DONE:
                    parts = {path.name: path.read_bytes() for path in (Path(folder) / "model").iterdir()}
                    snapshot = read_snapshot(fit.id, fit.upto, parts, self.settled)

            def end(session: Session) -> bool:
                """End the fit as it ended, unless it knows somebody who must not be known any more."""
                given_up = snapshot is not None and erased_since(session, snapshot.corrected)
                ended = (history.CANCELLED, WORKER_ERASED, None) if given_up else (state, message, parts)
                history.end_fit(session, fit.id, *ended)
                return given_up

            if self.writer.call(end).result():
                state, self._given_up = history.CANCELLED, True
            elif snapshot is not None:
                self.job.replace_fit(snapshot)
                self._known_then = self._known_of_fit()
        except Exception as error:  # noqa: BLE001 - a fit that fails must not end the fits to come
            state, message = history.FAILED, f"The result of the fit could not be kept ({type(error).__name__})."
            text = message
            self.writer.call(lambda session: history.end_fit(session, fit.id, history.FAILED, text)).result()
        if state == history.FAILED:
            self.n_failed += 1
            LOG.warning("fit failed", extra={"fields": {"fit": fit.id, "why": message}})
        again = state == history.DONE or self._given_up
        self._failed_version = -1 if again else version
        self._rest_until = 0.0 if again else time.monotonic() + REST_AFTER_FAILURE
        self.running = None
        self.last = self.find(fit.id)
        self.last_done = self.last if state == history.DONE else self.last_done

    def _fit(self, fit: FitRun, folder: Path) -> tuple[str, str | None]:
        asked = (str(fit.upto), str(folder), str(os.getpid()), self.decide)
        command = [sys.executable, "-m", fit_process.__name__, *asked]
        command += [] if self.settled is None else [repr(self.settled)]
        # A group of its own, so that Ctrl-C leaves it to the server to end it; no session of its own, for which Linux would
        # give it as much time as the server, however nice it is.
        process = subprocess.Popen(  # noqa: S603  # nosec B603
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0
        )
        self._process = process
        try:
            _, said = process.communicate(self.place + "\n", timeout=LONGEST_FIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return history.FAILED, f"The fit took more than {LONGEST_FIT // 3600} hours and was ended."
        finally:
            self._process = None
        if self._cancelled:
            return history.CANCELLED, WORKER_ERASED if self._given_up else "Cancelled."
        if self._stopping:
            return history.CUT_OFF, "The server was stopped."
        if process.returncode == 0:
            return history.DONE, None
        if process.returncode == 1 and said.strip() and "Traceback" not in said:
            return history.FAILED, said.strip().splitlines()[-1][:500]
        return history.FAILED, f"The fit ended with code {process.returncode}; was there enough memory?"
