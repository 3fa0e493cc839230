"""Servers that several files of tests share: starting one takes longer than most tests."""

import pytest

from support.service import serving, serving_fitted


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """One server for the tests that do not mind what others have sent."""
    with serving(tmp_path_factory.mktemp("web") / "job.db", "--price", "0.5", "--title", "Birds <b>") as running:
        yield running


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A server with 600 labels of 100 items, fitted, for the tests that do not mind what others have sent or been handed."""
    with serving_fitted(tmp_path_factory.mktemp("web")) as all_of_it:
        yield all_of_it


@pytest.fixture(scope="session")
def tight(tmp_path_factory):
    """A server with small limits and a token of its own."""
    folder = tmp_path_factory.mktemp("guard")
    with serving(folder / "job.db", "--max-body", "4096", "--timeout", "1", token="made") as running:
        yield running
