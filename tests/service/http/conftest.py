"""Servers that several files of tests share: starting one takes longer than most tests."""

import numpy as np
import pytest

from crowdassay import simulate
from support.service import serving, wait_for


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """One server for the tests that do not mind what others have sent."""
    with serving(tmp_path_factory.mktemp("web") / "job.db", "--price", "0.5", "--title", "Birds <b>") as running:
        yield running


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A server with 600 labels of 100 items, fitted."""
    labels, truth = simulate(np.random.default_rng(3), n_items=100, n_workers=12, n_classes=3, labels_per_item=6, spammers=0.2)
    rows = [
        {"item": labels.items[int(j)].as_py(), "worker": labels.workers[int(i)].as_py(), "label": labels.class_names[k]}
        for j, i, k in zip(labels.label_item, labels.worker, labels.label, strict=True)
    ]
    with serving(tmp_path_factory.mktemp("web") / "job.db") as running:
        assert running.post("/labels", rows)["added"] == len(rows)
        assert running.fit()["state"] == "done"
        wait_for(lambda: running.get("/summary"), lambda seen: seen["fit"]["labels_since"] == 0)
        yield running, labels, truth


@pytest.fixture(scope="session")
def tight(tmp_path_factory):
    """A server with small limits and a token of its own."""
    folder = tmp_path_factory.mktemp("guard")
    with serving(folder / "job.db", "--max-body", "4096", "--timeout", "1", token="made") as running:
        yield running
