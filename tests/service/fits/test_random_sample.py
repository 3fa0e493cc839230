"""Known items stand for all where they are the first that an expert is asked about, as on a sheet: M12."""

from crowdassay import Assay
from crowdassay.planning.expert import draw_items
from crowdassay.service.fits.process import describe, read_store
from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import Truth
from crowdassay.service.store.truths import add_truths
from support.rows import one

NAMES = [f"i{n}" for n in range(60)]


def known(store, items):
    with store.home.write() as session:
        add_truths(session, [(n, Truth(item, "yes")) for n, item in enumerate(items)], source="owner")


def test_answers_in_the_order_of_the_queue_are_a_random_sample(tmp_path):
    store = open_store(tmp_path / "job.db")
    store.add([one(name, f"w{m}", "yes" if (7 * n + m) % 5 else "no") for n, name in enumerate(NAMES) for m in range(4)])
    place = str(tmp_path / "job.db")
    assert read_store(place)[0].report.drawn == 0
    order = [NAMES[row] for row in draw_items(NAMES)]
    known(store, order[:12])
    labels = read_store(place)[0]
    assert labels.report.drawn == 12
    assert describe(Assay().fit(labels).result_)[0]["at_random"]
    known(store, order[-1:])  # somebody has settled another one
    labels = read_store(place)[0]
    assert labels.report.drawn == 0
    assert not describe(Assay().fit(labels).result_)[0]["at_random"]
