"""Many who write at once lose nothing, in both homes."""

import os
import signal
import subprocess
import threading
import time

from crowdassay.labels.databases.home import Home
from crowdassay.service.store.store import open_store
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
from crowdassay.service.store.store import open_store
store = open_store(sys.argv[1])
for turn in range(int(sys.argv[3])):
    rows = [{"item": f"i{turn}", "worker": f"{sys.argv[2]}-{n}", "label": "yes"} for n in range(50)]
    assert store.add(rows).added == 50
    print(turn, flush=True)
"""


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
