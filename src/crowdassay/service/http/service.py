"""Everything that a running service holds, put together in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.fits.job import Follower, Job
from crowdassay.service.fits.next import Leases
from crowdassay.service.fits.runner import FitRunner
from crowdassay.service.http.guard import Limits, Meter
from crowdassay.service.http.requests import as_json
from crowdassay.service.store.open import Store
from crowdassay.service.store.writer import Writer

T = TypeVar("T")
READER_THREADS = 4


@dataclass
class Service:
    """A store that is served.

    Attributes
    ----------
    price : float or None
        What a label costs, where the user said so.
    title : str
        Of the page.
    ending : callable
        Returns whether the server is about to end, so that streams must.
    """

    store: Store
    place: str
    price: float | None = None
    title: str = "Labelling job"
    limits: Limits = field(default_factory=Limits)
    meter: Meter = field(default_factory=Meter)
    leases: Leases = field(default_factory=Leases)
    ending: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self.job = Job(self.store)
        self.writer = Writer(self.store, self.job.labels_added)
        self.fits = FitRunner(self.job, self.writer, self.place)
        self.follower = Follower(self.job)
        self.readers = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="reader")
        self.listeners = 0

    def start(self) -> None:
        """Load the last fit and begin to fit."""
        self.fits.start()
        self.follower.start()

    def stop(self) -> None:
        """Store what waits, interrupt a fit that runs, and close."""
        self.fits.stop()
        self.follower.stop()
        self.writer.close()
        self.readers.shutdown(wait=True)
        self.store.close()

    async def read(self, function: Callable[[Session], T]) -> T:
        """Run a query in a thread of the readers."""

        def call() -> T:
            with self.store.home.read() as session:
                return function(session)

        return await self.run(call)

    async def answer(self, function: Callable[[], Any]) -> Response:
        """Answer with JSON that is made, and written, in a thread of the readers."""
        return await self.run(lambda: as_json(function()))

    async def run(self, function: Callable[[], T]) -> T:
        """Run something that may take a moment in a thread of the readers."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, function)

    async def write(self, function: Callable[[Session], T]) -> T:
        """Run something in a transaction; it is durable when this returns."""
        return await asyncio.wrap_future(self.writer.call(function))


def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    service: Service = request.scope["app"]
    return service
