"""Many who write at once lose nothing, in both homes."""

import asyncio
import os
import signal
import subprocess
import threading
import time

import pytest

from crowdassay.labels.databases.home import Home
from crowdassay.service.store.open import Batch, open_store
from crowdassay.service.store.records import Truth, read_all, read_label
from crowdassay.service.store.truths import add_truths
from crowdassay.service.store.writer import BusyError, NotStoredError, Writer
from support.databases import PYTHON, environment
from support.rows import one, stored


def test_threads_that_write_at_once_lose_nothing(place):
    store = open_store(place)
    done = []

    def write(number):
        for turn in range(10):
            done.append(store.add([one(f"i{turn}", f"w{number}"), one("shared", "ann", key=f"s{turn}")]))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(row.added for row in done) == 70
    assert sum(row.known for row in done) == 50
    assert len(stored(store)) == 70


WRITER = """
import sys
from crowdassay.service.store.open import open_store
store = open_store(sys.argv[1])
for turn in range(int(sys.argv[3])):
    rows = [{"item": f"i{turn}", "worker": f"{sys.argv[2]}-{n}", "label": "yes"} for n in range(50)]
    assert store.add(rows).added == 50
    print(turn, flush=True)
"""


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_though_one_is_killed(place):
    open_store(place).close()
    command = [PYTHON, "-c", WRITER, place]
    writers = [
        subprocess.Popen([*command, f"p{n}", "12"], stdout=subprocess.PIPE, text=True, env=environment()) for n in range(3)
    ]
    victim = subprocess.Popen([*command, "victim", "100000"], stdout=subprocess.PIPE, text=True, env=environment())
    for _ in range(3):
        victim.stdout.readline()
    time.sleep(0.01)
    os.kill(victim.pid, signal.SIGKILL)
    told = 3 + len(victim.communicate()[0].split())
    for writer in writers:
        assert len(writer.communicate()[0].split()) == 12
        assert writer.returncode == 0
    store = open_store(place)
    rows = stored(store)
    assert len({row[0] for row in rows}) == len(rows)
    assert sum(row[2].startswith("p") for row in rows) == 3 * 12 * 50
    left = sum(row[2].startswith("victim") for row in rows)
    assert left % 50 == 0
    assert told * 50 <= left <= told * 50 + 50
    assert isinstance(store.home, Home)


def test_of_many_who_say_what_is_true_the_first_is_believed(place):
    store = open_store(place)
    done = []

    def write(number):
        with store.home.write() as session:
            done.append(add_truths(session, [(0, Truth("a", f"class {number % 3}"))], source=f"w{number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(row.added for row in done), sum(row.known for row in done), sum(len(row.refused) for row in done)) == (1, 2, 6)


@pytest.fixture
def writer(place):
    outcomes = []
    made = Writer(open_store(place), lambda done, before, after: outcomes.append((len(done), before, after)))
    made.outcomes = outcomes
    yield made
    made.close()
    made.store.close()


def batch(*rows):
    return Batch(*read_all(rows, read_label), "t")


def test_what_waits_for_the_writer_goes_into_few_transactions_and_everybody_is_answered(writer):
    async def send():
        return await asyncio.gather(*(writer.add(batch(one(f"i{n}"), one("same"))) for n in range(40)))

    done = asyncio.run(send())
    assert [row.added + row.known for row in done] == [2] * 40
    assert sum(row.added for row in done) == 41
    assert len(stored(writer.store)) == 41
    assert writer.commits < 40
    assert writer.waiting == 0
    assert (writer.outcomes[0][1], writer.outcomes[-1][2]) == (0, 41)


def test_what_fails_is_told_to_whoever_asked_and_to_nobody_else(writer):
    async def send():
        good = [writer.add(batch(one(f"i{n}"))) for n in range(3)]
        bad = asyncio.wrap_future(writer.call(lambda session: session.run("INSERT INTO nonesuch VALUES (1)")))
        more = [writer.add(batch(one(f"j{n}"))) for n in range(3)]
        return await asyncio.gather(*good, bad, *more, return_exceptions=True)

    *good, failed, a, b, c = asyncio.run(send())
    assert [row.added for row in (*good, a, b, c)] == [1] * 6
    assert isinstance(failed, NotStoredError)
    assert "nothing of it was stored, send it again" in failed.message
    assert len(stored(writer.store)) == 6


def test_who_sends_more_than_there_is_room_for_is_asked_to_wait(writer, monkeypatch):
    monkeypatch.setattr("crowdassay.service.store.writer.MOST_LABELS_WAITING", 3)
    held = threading.Event()

    async def send():
        blocked = asyncio.wrap_future(writer.call(lambda session: held.wait(10)))
        waiting = writer.add(batch(*(one(f"i{n}") for n in range(4))))
        with pytest.raises(BusyError, match="send these again in a moment"):
            writer.add(batch(one("late")))
        held.set()
        await blocked
        assert (await waiting).added == 4
        assert (await writer.add(batch(one("late")))).added == 1

    asyncio.run(send())
