"""The same data through crowd-kit 1.4.2 (pandas 2.2.3, scikit-learn 1.5.2); its numbers are typed in below.

With pandas 3 crowd-kit breaks ties and orders labels otherwise, and fails tests of its own; here both are as those want them.
"""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

from crowdassay.compat import crowdkit
from crowdassay.compat.crowdkit import (
    GLAD,
    KOS,
    MACE,
    MMSR,
    DawidSkene,
    GoldMajorityVote,
    MajorityVote,
    OneCoinDawidSkene,
    Wawa,
    ZeroBasedSkill,
)
from crowdassay.errors import DataError, MissingExtraError

SIGNATURES = {
    "MajorityVote": {"default_skill": None, "on_missing_skill": "error"},
    "Wawa": {},
    "ZeroBasedSkill": {"n_iter": 100, "lr_init": 1.0, "lr_steps_to_reduce": 20, "lr_reduce_factor": 0.5, "eps": 1e-5},
    "GoldMajorityVote": {},
    "DawidSkene": {"n_iter": 100, "tol": 1e-5, "initial_error_strategy": None},
    "OneCoinDawidSkene": {"n_iter": 100, "tol": 1e-5, "initial_error_strategy": None},
    "GLAD": {
        "n_iter": 100, "tol": 1e-5, "silent": True, "labels_priors": None, "alphas_priors_mean": None,
        "betas_priors_mean": None, "m_step_max_iter": 25, "m_step_tol": 1e-2,
    },
    "KOS": {"n_iter": 100, "random_state": 0},
    "MMSR": {"n_iter": 10000, "tol": 1e-10, "random_state": 0},
    "MACE": {
        "n_restarts": 10, "n_iter": 50, "method": "vb", "smoothing": 0.1, "default_noise": 0.5, "alpha": 0.5, "beta": 0.5,
        "random_state": 0, "verbose": 0,
    },
}  # fmt: skip
SHOWN = [0, 1, 4, 5, 6]  # items with some doubt, whose probabilities are compared


def answers(n_classes, n_items=20, n_workers=6):
    generator = np.random.default_rng(7)
    truth = generator.integers(n_classes, size=n_items)
    rows = []
    for i, right in enumerate(np.linspace(0.4, 0.95, n_workers)):
        said = np.where(generator.random(n_items) < right, truth, generator.integers(n_classes, size=n_items))
        rows += [(f"t{j:02d}", f"w{i}", "abc"[said[j]]) for j in range(n_items) if generator.random() < 0.8]
    tasks = [f"t{j:02d}" for j in range(n_items)]
    return pd.DataFrame(rows, columns=["task", "worker", "label"]), pd.Series(["abc"[c] for c in truth], index=tasks)


THREE, TRUTH = answers(3)
TWO, _ = answers(2)


def text(labels):
    return "".join(labels.sort_index())


def close(frame, expected, atol=1.5e-5):
    np.testing.assert_allclose(frame.sort_index()[["a", "b", "c"]].to_numpy()[SHOWN], expected, atol=atol)


PAIRWISE = ("BradleyTerry", "NoisyBradleyTerry")  # test_crowdkit_pairs.py


@pytest.mark.parametrize("name", SIGNATURES)
def test_constructors_are_theirs(name):
    parameters = inspect.signature(getattr(crowdkit, name)).parameters
    assert {key: value.default for key, value in parameters.items()} == SIGNATURES[name]
    assert list(parameters) == list(SIGNATURES[name])
    assert sorted(crowdkit.__all__) == sorted([*SIGNATURES, *PAIRWISE])


@pytest.mark.parametrize("name", SIGNATURES)
def test_results_have_their_names_and_types(name):
    data = TWO if name == "KOS" else THREE
    known = {"true_labels": TRUTH[:8]} if name == "GoldMajorityVote" else {}
    aggregator = getattr(crowdkit, name)()
    labels = aggregator.fit_predict(data, **known)
    assert labels is aggregator.labels_
    assert labels.name == "agg_label"
    assert labels.index.name == "task"
    assert labels.dtype == data["label"].dtype
    assert set(labels.index) == set(data["task"])
    score = "scores_" if name == "MMSR" else "probas_"
    frame = getattr(aggregator, score)
    assert frame.index.name == "task"
    assert frame.columns.name == (None if name == "MACE" else "label")
    np.testing.assert_allclose(frame.sum(axis=1), 1.0)
    for member, value in vars(aggregator).items():
        if member.endswith("_") and isinstance(value, pd.Series) and member != "labels_":
            assert value.name == member[:-2]
            assert value.index.name in ("worker", "task", "label")
    if hasattr(aggregator, "loss_history_"):
        assert isinstance(aggregator.loss_history_, list)
        assert all(isinstance(value, float) for value in aggregator.loss_history_)


def test_majority_vote():
    vote = MajorityVote().fit(THREE)
    shares = [[1 / 6, 1 / 6, 2 / 3], [0, 0.5, 0.5], [0, 5 / 6, 1 / 6], [0.25, 0, 0.75], [0.4, 0.2, 0.4]]
    close(vote.probas_, shares)
    assert text(vote.labels_.drop(["t01", "t06"])) == "cccbcaaaaccabcacab"
    assert (vote.labels_["t01"], vote.labels_["t06"]) == ("b", "a")  # a tie goes to the first label in order
    shuffled = MajorityVote().fit(THREE.sample(frac=1, random_state=0))
    assert_series_equal(shuffled.labels_, vote.labels_)


@pytest.mark.parametrize(
    ("name", "tasks", "labels"),
    [
        ("MajorityVote", "sorted", "sorted"),
        ("Wawa", "sorted", "sorted"),
        ("ZeroBasedSkill", "sorted", "sorted"),
        ("MMSR", "sorted", "sorted"),
        ("GLAD", "sorted", "sorted"),
        ("KOS", "sorted", "sorted"),
        ("DawidSkene", "as they appear", "sorted"),
        ("OneCoinDawidSkene", "as they appear", "sorted"),
        ("MACE", "as they appear", "as they appear"),
    ],
)
def test_tasks_and_labels_stand_in_their_order(name, tasks, labels):
    shuffled = (TWO if name == "KOS" else THREE).sample(frac=1, random_state=0)
    found = getattr(crowdkit, name)()
    found.fit_predict(shuffled)
    order = {"sorted": sorted, "as they appear": list}
    frame = getattr(found, "scores_" if name == "MMSR" else "probas_")
    assert list(frame.index) == list(found.labels_.index) == order[tasks](shuffled["task"].unique())
    assert list(frame.columns) == order[labels](shuffled["label"].unique())
    if hasattr(found, "errors_"):
        assert list(found.errors_.columns) == list(found.priors_.index) == sorted(shuffled["label"].unique())
        assert list(found.errors_.index) == list(dict.fromkeys(zip(shuffled["worker"], shuffled["label"], strict=True)))
    if name == "GLAD":
        assert list(found.betas_.index) == list(shuffled["task"].unique())


def test_no_iteration_leaves_skills_as_they_start():
    skills = ZeroBasedSkill(n_iter=0).fit(THREE).skills_
    np.testing.assert_allclose(skills, 1 / 3 + 1e-5)
    assert set(MMSR(n_iter=0).fit(THREE).skills_.index) == set(THREE["worker"])


def test_majority_vote_with_skills():
    skills = pd.Series([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], index=[f"w{i}" for i in range(6)])
    expected = [
        [0.14286, 0.09524, 0.7619], [0, 0.61111, 0.38889], [0, 0.95238, 0.04762],
        [0.08333, 0, 0.91667], [0.26667, 0.33333, 0.4],
    ]  # fmt: skip
    close(MajorityVote().fit_predict_proba(THREE, skills), expected)
    with pytest.raises(ValueError, match="without a skill"):
        MajorityVote().fit(THREE, skills.drop("w5"))
    assert "w5" not in MajorityVote(on_missing_skill="ignore").fit(THREE, skills.drop("w5")).skills_.index
    with pytest.raises(ValueError, match="no label by a worker with a skill"):
        MajorityVote(on_missing_skill="ignore").fit(THREE, skills[:0])
    strong = MajorityVote(on_missing_skill="value", default_skill=100.0).fit(THREE, skills.drop("w0"))
    said = THREE[THREE["worker"] == "w0"].set_index("task")["label"]
    assert (strong.labels_[said.index] == said).all()


def test_votes_with_skills_of_their_own():
    skilled = ZeroBasedSkill()
    close(
        skilled.fit_predict_proba(THREE),
        [
            [0.15859, 0.11449, 0.72692],
            [0, 0.55271, 0.44729],
            [0, 0.85583, 0.14417],
            [0.23062, 0, 0.76938],
            [0.3863, 0.24688, 0.36682],
        ],
    )
    np.testing.assert_allclose(skilled.skills_.sort_index(), [0.66667, 0.52941, 0.73333, 0.8, 0.89474, 1], atol=1e-5)
    assert text(skilled.labels_) == "cbccbcaaaaaccabcacab"
    gold = GoldMajorityVote().fit(THREE, TRUTH[:8])
    np.testing.assert_allclose(gold.skills_, [0.5, 0.85714, 0.5, 0.875, 0.875, 1], atol=1e-5)
    close(
        gold.predict_proba(THREE),
        [
            [0.10853, 0.18605, 0.70543],
            [0, 0.57692, 0.42308],
            [0, 0.89147, 0.10853],
            [0.16092, 0, 0.83908],
            [0.27723, 0.24257, 0.4802],
        ],
    )
    untied = THREE[~THREE["task"].isin(["t01", "t06"])]  # where crowd-kit's ties do not matter
    assert text(Wawa().fit_predict(untied)) == "cccbcaaaaccabcacab"
    with pytest.raises(ValueError, match="call fit"):
        Wawa().predict(THREE)


def test_several_true_labels_for_a_task():
    data = pd.DataFrame([("a", "x", 1), ("a", "y", 2), ("a", "z", 3)], columns=["task", "worker", "label"])
    truth = pd.Series([1, 2], index=pd.Index(["a", "a"], name="task"))
    assert GoldMajorityVote().fit(data, truth).skills_.to_dict() == {"x": 1.0, "y": 1.0, "z": 0.0}


@pytest.mark.parametrize(
    ("n_iter", "probas", "priors", "errors"),
    [
        (
            1,
            [[0.00305, 0.01215, 0.9848], [0, 0.6964, 0.3036], [6e-5, 0.99981, 0.00013],
             [0.06241, 0.00611, 0.93148], [0.58166, 0.06343, 0.3549]],
            [0.35553, 0.20853, 0.43594],
            [[0.99927, 0.34539, 0.52648], [0.00073, 0.48295, 9e-5], [0, 0.17166, 0.47343]],
        ),
        (
            5,
            [[0, 0, 1], [0, 0.99999, 1e-5], [0, 1, 0], [1e-5, 0, 0.99999], [0.98661, 8e-5, 0.0133]],
            [0.39782, 0.20054, 0.40164],
            [[1, 0.25203, 0.50407], [0, 0.49865, 0], [0, 0.24932, 0.49593]],
        ),
    ],
)  # fmt: skip
def test_dawid_skene_step_by_step(n_iter, probas, priors, errors):
    model = DawidSkene(n_iter, 0).fit(THREE)
    close(model.probas_, probas)
    np.testing.assert_allclose(model.priors_[["a", "b", "c"]], priors, atol=1e-5)
    assert model.errors_.index.names == ["worker", "label"]
    np.testing.assert_allclose(model.errors_.sort_index().loc["w2"][["a", "b", "c"]], errors, atol=1e-5)
    assert len(model.loss_history_) == n_iter


def test_dawid_skene_before_the_first_step():
    model = DawidSkene(0).fit(THREE)
    assert_frame_equal(model.probas_.sort_index(), MajorityVote().fit(THREE).probas_)
    assert model.loss_history_ == []


def test_dawid_skene_with_known_labels():
    model = DawidSkene(2, 0).fit(THREE, TRUTH[:4])
    close(model.probas_, [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0.00622, 0.00014, 0.99363], [0.88045, 0.02599, 0.09356]])
    wrong = pd.Series({"t00": "z"})
    assert DawidSkene(2).fit(THREE, wrong).labels_["t00"] == "z"


def test_dawid_skene_with_earlier_errors():
    rows = pd.MultiIndex.from_product([[f"w{i}" for i in range(6)], list("abc")], names=["worker", "label"])
    earlier = pd.DataFrame(np.tile(1000 * np.eye(3), (6, 1)), index=rows, columns=list("abc"))
    plain = DawidSkene(0).fit(THREE)
    added = DawidSkene(0, initial_error_strategy="addition").fit(THREE, initial_error=earlier)
    assert added.errors_.loc[("w0", "a"), "a"] > 0.99 > plain.errors_.loc[("w0", "a"), "a"]
    trusted = DawidSkene(1, initial_error_strategy="addition").fit(THREE, initial_error=earlier[:3])
    said = THREE[THREE["worker"] == "w0"].set_index("task")["label"]
    usual = DawidSkene(1).fit(THREE).labels_
    assert (trusted.labels_[said.index] == said).sum() > (usual[said.index] == said).sum()
    assigned = DawidSkene(1, initial_error_strategy="assign").fit(THREE, initial_error=earlier)
    assert text(assigned.labels_.drop(["t01", "t06"])) == "cccbcaaaaccabcacab"  # all trusted alike: a vote
    with pytest.raises(ValueError, match="every worker and label"):
        DawidSkene(1, initial_error_strategy="assign").fit(THREE, initial_error=earlier[:3])
    with pytest.raises(ValueError, match=r"should be 1\.0"):
        DawidSkene(1, initial_error_strategy="assign").fit(THREE, initial_error=0 * earlier)
    with pytest.raises(ValueError, match="worker and label"):
        DawidSkene(1, initial_error_strategy="addition").fit(THREE, initial_error=earlier.rename_axis(["a", "b"]))


def test_one_coin():
    model = OneCoinDawidSkene(2, 0).fit(THREE)
    close(
        model.probas_,
        [[0.00018, 5e-5, 0.99976], [0.00312, 0.75314, 0.24374], [3e-5, 0.99986, 0.00012],
         [0.00603, 0.00094, 0.99303], [0.24304, 0.1054, 0.65156]],
    )  # fmt: skip
    np.testing.assert_allclose(model.skills_, [0.61747, 0.56675, 0.69553, 0.85971, 0.88634, 0.98044], atol=1e-5)
    assert model.errors_.loc[("w2", "a"), "a"] == pytest.approx(0.69553, abs=1e-5)
    assert model.errors_.loc[("w2", "a"), "b"] == pytest.approx((1 - 0.69553) / 2, abs=1e-5)


def test_glad():
    """crowd-kit's with 300 steps of 200 conjugate gradient steps; as it comes it stops after 7, two digits short."""
    model = GLAD().fit(THREE)
    close(
        model.probas_,
        [
            [0.0001, 5e-5, 0.99985],
            [0.00963, 0.80975, 0.18063],
            [0, 1, 0],
            [0.00096, 0.00025, 0.99879],
            [0.31049, 0.23366, 0.45584],
        ],
        atol=5e-5,
    )
    np.testing.assert_allclose(model.alphas_, [0.2294, 0.1839, 0.4486, 0.8755, 1.0841, 1.5254], atol=2e-4)
    np.testing.assert_allclose(model.betas_.sort_index()[:6], [0.7877, 0.1546, 1.7701, 1.4038, 1.2217, 1.0657], atol=2e-4)
    same = GLAD(alphas_priors_mean=pd.Series(1.0, index=model.alphas_.index), labels_priors=pd.Series(1 / 3, index=list("abc")))
    assert_series_equal(same.fit(THREE).labels_, model.labels_)
    with pytest.raises(ValueError, match="equally probable"):
        GLAD(labels_priors=pd.Series([0.5, 0.3, 0.2], index=list("abc"))).fit(THREE)
    with pytest.raises(ValueError, match="betas_priors_mean"):
        GLAD(betas_priors_mean=pd.Series([1.0, 2.0], index=["t00", "t01"])).fit(THREE)


def test_kos():
    assert text(KOS(10).fit_predict(TWO)) == "bbbbbbaaaaabbaababaa"
    with pytest.raises(ValueError, match="two classes"):
        KOS().fit(THREE)


@pytest.mark.parametrize("method", ["vb", "em"])
def test_mace(method):
    """crowd-kit's on rows in which the labels first appear in order; otherwise it mixes them up."""
    expected = {
        "vb": [[2e-5, 2e-5, 0.99996], [0.0002, 0.99255, 0.00725], [0, 0.99999, 1e-5],
               [0.00542, 0.00191, 0.99267], [0.18687, 0.38873, 0.4244]],
        "em": [[0, 0, 1], [1e-5, 0.99975, 0.00024], [0, 1, 0], [7e-5, 4e-5, 0.99989], [0.16546, 0.38363, 0.4509]],
    }[method]  # fmt: skip
    model = MACE(method=method, n_iter=500).fit(THREE)
    close(model.probas_, expected, atol=5e-4)
    assert model.spamming_.shape == (6, 2)
    np.testing.assert_allclose(model.spamming_.sum(axis=1), 1)
    assert model.thetas_.shape == (6, 3)
    again = MACE(method=method, n_iter=500).fit(THREE.sample(frac=1, random_state=0))
    assert_frame_equal(again.probas_, model.probas_, check_like=True, atol=1e-4)


def test_mmsr():
    model = MMSR()
    assert text(model.fit_predict(THREE)) == "cbccbccaaaaccabcacab"
    np.testing.assert_allclose(model.skills_, [1.33846, 0.91242, 1.2979, 2.43505, 2.43505, 2.43505], atol=1e-5)
    assert model.fit_predict_score(THREE) is model.scores_
    close(
        model.scores_,
        [
            [0.11958, 0.08406, 0.79636],
            [0, 0.56609, 0.43391],
            [0, 0.87668, 0.12332],
            [0.18796, 0, 0.81204],
            [0.31315, 0.28924, 0.39761],
        ],
    )


def test_mmsr_starts_where_crowdkit_starts():
    generator = np.random.default_rng(2)
    coins = [(task, worker, int(generator.random() < 0.5)) for worker in range(5) for task in range(6)]
    noise = pd.DataFrame(coins, columns=["task", "worker", "label"])  # with several fixed points
    skills = [MMSR(random_state=state).fit(noise).skills_.abs() for state in (0, 3)]
    np.testing.assert_allclose(skills[0], [0.2907, 1.317, 1.317, 1.3607, 1.317], atol=1e-4)
    np.testing.assert_allclose(skills[1], [0.2717, 1.2085, 1.2085, 1.3607, 1.3607], atol=1e-4)


def test_missing_columns_are_key_errors():
    for column in ("task", "worker", "label"):
        for name in set(SIGNATURES) - {"GoldMajorityVote"}:
            with pytest.raises(KeyError):
                getattr(crowdkit, name)().fit(THREE.drop(columns=column))


def test_nothing_comes_from_nothing():
    nothing = pd.DataFrame([], columns=["task", "worker", "label"])
    for aggregator in (DawidSkene(10), OneCoinDawidSkene(10)):
        empty = aggregator.fit(nothing)
        assert empty.probas_.empty
        assert empty.errors_.empty
        assert_series_equal(empty.labels_, pd.Series(dtype=float, name="agg_label"))
    assert_series_equal(KOS().fit(nothing).labels_, pd.Series([], dtype="O", name="agg_label"))
    assert GoldMajorityVote().fit_predict_proba(nothing, pd.Series(dtype=float)).empty


def test_labels_keep_their_type():
    data = pd.DataFrame({"task": [1, 1, 1, 2], "worker": ["x", "y", "z", "x"], "label": [True, True, False, False]})
    assert MajorityVote().fit_predict(data).to_dict() == {1: True, 2: False}
    assert DawidSkene().fit_predict(data).dtype == bool
    one = data.assign(label=5)
    assert DawidSkene().fit_predict(one).to_dict() == {1: 5, 2: 5}


@pytest.mark.slow
def test_pandas_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        KOS().fit([])
    code = "import sys, crowdassay.compat.crowdkit; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", sorted(set(crowdkit.__all__) - {"GoldMajorityVote", *PAIRWISE}))
def test_one_class_gaps_and_what_is_no_frame(name):
    make = getattr(crowdkit, name)
    frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": [1, 1, 1]})
    if name != "KOS":  # which needs two
        assert make().fit_predict(frame).to_dict() == {"a": 1, "b": 1}
    with pytest.raises(DataError, match=r"Rows without a task, worker or label: 1; leave them out"):
        make().fit_predict(frame.assign(label=[1, None, 0]))
    with pytest.raises(DataError, match="A pandas DataFrame of task, worker and label is needed, not a list"):
        make().fit_predict([1, 2, 3])
