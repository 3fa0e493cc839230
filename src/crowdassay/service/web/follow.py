"""A thread that keeps the job up to date: labels that others stored, items that have changed, sums that take long."""

from __future__ import annotations

import logging
import threading
import time

from crowdassay.service.web.job import Job

PAUSE = 0.5  # seconds at least between two looks
REST = 4  # times as long as a look took: requests have four fifths of the time to themselves

LOG = logging.getLogger("crowdassay.service")


class Follower:
    """Looks at the store again and again, until it is stopped."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="follower", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _work(self) -> None:
        took = 0.0
        while not self._stop.wait(max(PAUSE, REST * took)):
            started = time.monotonic()
            try:
                self.job.catch_up()
                self.job.judge_pending()
                self.job.refresh()
            except Exception:
                LOG.exception("following the store failed; it is tried again")  # the database may be away for a moment
            took = time.monotonic() - started
