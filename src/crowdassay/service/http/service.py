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
from crowdassay.labels.record import LIKELIEST
from crowdassay.read_options import ReadOptions
from crowdassay.service.fits.job import Follower, Job
from crowdassay.service.fits.next import Leases
from crowdassay.service.fits.runner import FitRunner
from crowdassay.service.http.guard import Limits, Meter
from crowdassay.service.http.notifier import Notifier, Receiver
from crowdassay.service.http.requests import RefusalError, as_json, records_of
from crowdassay.service.http.token_check import TokenCheck
from crowdassay.service.store.checks import as_name
from crowdassay.service.store.open import Store
from crowdassay.service.store.records import Refused, read_all
from crowdassay.service.store.tokens import Identity
from crowdassay.service.store.writer import Writer

T = TypeVar("T")
READER_THREADS = 4
LARGEST_ID = (1 << 63) - 1


@dataclass
class Service:
    """A store that is served."""

    store: Store
    place: str  # the address of the store, for the processes that fit it
    price: float | None = None  # what a label costs, where the user said so
    title: str = "Labelling job"  # of the page
    limits: Limits = field(default_factory=Limits)
    settled: float | None = None  # probability from which a label counts as settled, where the user said so
    receiver: Receiver | None = None  # who is told when items are settled or disputed
    label_studio: ReadOptions = field(default_factory=ReadOptions)  # how its annotations are read
    decide: str = LIKELIEST  # which class a fit makes the label of an item: the likeliest, the median or the mean
    root_path: str = ""  # where a proxy serves this job, such as /birds; empty for its root
    meter: Meter = field(default_factory=Meter)
    leases: Leases = field(default_factory=Leases)
    ending: Callable[[], bool] = lambda: False  # whether the server is about to end, so that streams must
    tokens: TokenCheck = field(init=False)  # set with the application

    def __post_init__(self) -> None:
        self.job = Job(self.store)
        self.writer = Writer(self.store, self.job.labels_added)
        self.fits = FitRunner(self.job, self.writer, self.place, self.settled, self.decide)
        self.follower = Follower(self.job)
        self.notifier = None if self.receiver is None else Notifier(self.job, self.writer, self.receiver, self.title)
        self.readers = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="reader")
        self.listeners = 0

    def start(self) -> None:
        """Load the last fit and begin to fit."""
        self.fits.start()
        self.follower.start()
        if self.notifier is not None:
            self.notifier.start()

    def stop(self) -> None:
        """Store what waits, interrupt a fit that runs, and close."""
        self.fits.stop()
        self.follower.stop()
        if self.notifier is not None:
            self.notifier.stop()
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


@dataclass(frozen=True)
class Call:
    """A request as endpoints see it; what they return becomes JSON, unless it is a response already."""

    request: Request

    @property
    def service(self) -> Service:
        """The service that is asked."""
        service: Service = self.request.scope["app"]
        return service

    @property
    def identity(self) -> Identity:
        """Who asks."""
        identity: Identity = self.request.state.identity
        return identity

    async def still_valid(self) -> bool:
        """Return whether the token or session that the request came with has not ended meanwhile."""
        return await self.service.tokens.identify(self.request.state.proof) is not None

    @property
    def id(self) -> int:
        """The number that the path names; no row has one that a database could not hold."""
        text = self.request.path_params["id"]
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID)) and int(text) <= LARGEST_ID):
            raise RefusalError(404, "There is no such number.")
        return int(text)

    def named(self, role: str) -> str:
        """Return the item, worker or key that the path names; 422 for what can be none."""
        return as_name(self.request.path_params[role], role)

    def query(self, name: str) -> str:
        """Return a value of the query, ``''`` where it has none."""
        return self.request.query_params.get(name, "")

    def flag(self, name: str) -> bool:
        """Return whether the query sets a flag, as ``?name=1`` does."""
        return self.query(name) not in {"", "0"}

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number from the query, within limits."""
        given = self.query(name)
        if not given:
            return default
        value = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else -1
        if value < low:
            raise RefusalError(422, f"{name} must be a whole number from {low} to {high:,}.")
        return min(value, high)

    async def body(self) -> tuple[bytes, str]:
        """Return the body, and its media type without parameters."""
        kind = self.request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
        return await self.request.body(), kind

    async def records(self, read: Callable[[object], T]) -> tuple[list[tuple[int, T]], list[Refused]]:
        """Return the records of the body, as `read_all` checks them, in a thread of the readers."""
        data, kind = await self.body()
        return await self.service.run(lambda: read_all(records_of(data, kind), read))

    async def record(self, read: Callable[[object], T]) -> T:
        """Return the one record that the body must hold."""
        values = list(records_of(await self.request.body(), "application/json"))
        if len(values) != 1:
            raise RefusalError(422, "Send one object at a time.")
        return read(values[0])
