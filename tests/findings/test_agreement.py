import json
import time
from itertools import combinations

import krippendorff
import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

import crowdassay
from crowdassay import agreement, as_labels
from crowdassay.cli.main import main
from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.agreement_sums import LEAST_SHARED
from crowdassay.labels.labels import Labels
from support.problems import random_labels


def matrix(seed, n_workers=6, n_items=40, n_classes=4, missing=0.3, right=0.6):
    """Workers by items, NaN where there is no label."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, n_classes + 1, n_items)
    said = generator.integers(1, n_classes + 1, (n_workers, n_items))
    said = np.where(generator.random(said.shape) < right, truth, said).astype(float)
    said[generator.random(said.shape) < missing] = np.nan
    return said


def labels_of(said):
    worker, item = np.nonzero(~np.isnan(said))
    return as_labels((item.tolist(), worker.tolist(), said[worker, item].astype(int).tolist()))


def values(found):
    return dict(zip(found.overall["measure"].to_pylist(), found.overall["value"].to_pylist(), strict=True))


def rows(found, table):
    return {next(iter(row.values())): row for row in getattr(found, table).to_pylist()}


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_krippendorffs(level, seed):
    said = matrix(seed, missing=0.5)
    expected = krippendorff.alpha(said, level_of_measurement=level)
    assert values(agreement(labels_of(said), level, resamples=0))["alpha"] == pytest.approx(expected, abs=1e-12)


def test_interval_takes_the_classes_for_numbers():
    said = matrix(0)
    uneven = np.where(said == 4, 100.0, said)
    expected = krippendorff.alpha(uneven, level_of_measurement="interval")
    assert values(agreement(labels_of(uneven), "interval", resamples=0))["alpha"] == pytest.approx(expected, abs=1e-12)


def test_krippendorffs_published_example():
    text = """* * * * * 3 4 1 2 1 1 3 3 * 3
              1 * 2 1 3 3 4 3 * * * * * * *
              * * 2 1 3 4 4 * 2 1 1 3 3 * 4"""
    said = np.array([[np.nan if cell == "*" else float(cell) for cell in line.split()] for line in text.splitlines()])
    assert values(agreement(labels_of(said), resamples=0))["alpha"] == pytest.approx(0.691, abs=5e-4)
    assert values(agreement(labels_of(said), "interval", resamples=0))["alpha"] == pytest.approx(0.811, abs=5e-4)


def test_kappa_is_fleiss_where_all_items_have_as_many_labels():
    labels = labels_of(matrix(1, missing=0))
    found = agreement(labels, resamples=0)
    assert values(found)["fleiss_kappa"] == pytest.approx(fleiss_kappa(labels.votes()), abs=1e-12)
    for code, name in enumerate(labels.classes.to_pylist()):
        votes = labels.votes()[:, code]
        binary = fleiss_kappa(np.column_stack([votes, 6 - votes]))
        assert rows(found, "classes")[name]["fleiss_kappa"] == pytest.approx(binary, abs=1e-12)


def test_unequal_items_count_the_same():
    # Item a: 2 of 2 agree. Item b: one pair of three. Shares: a (1, 0), b (2/3, 1/3).
    found = agreement((list("aabbb"), list("xyxyz"), [0, 0, 0, 0, 1]), resamples=0)
    chance = (5 / 6) ** 2 + (1 / 6) ** 2
    assert values(found)["fleiss_kappa"] == pytest.approx(((1 + 1 / 3) / 2 - chance) / (1 - chance))
    assert values(found)["agreement"] == pytest.approx(2 / 4)


def test_pairs_are_cohens():
    said = matrix(2)
    found = agreement(labels_of(said), resamples=0)
    pairs, total = {}, []
    for a, b in combinations(range(6), 2):
        both = ~np.isnan(said[a]) & ~np.isnan(said[b])
        assert both.sum() >= LEAST_SHARED
        pairs[frozenset((a, b))] = cohen_kappa_score(said[a, both], said[b, both])
        total.append((both.sum(), pairs[frozenset((a, b))]))
    total = np.array(total)
    assert values(found)["cohen_kappa"] == pytest.approx(np.average(total[:, 1], weights=total[:, 0]), abs=1e-12)
    listed = found.pairs.to_pylist()
    for row in listed:
        assert row["kappa"] == pytest.approx(pairs[frozenset((row["worker"], row["other"]))], abs=1e-12)
    most = [row["kappa"] for row in listed if row["end"] == "most"]
    assert most == sorted(most, reverse=True)
    assert most[0] == pytest.approx(max(pairs.values()))
    assert next(row["kappa"] for row in listed if row["end"] == "least") == pytest.approx(min(pairs.values()))


def test_classes_are_one_against_the_rest():
    said = matrix(3)
    found = rows(agreement(labels_of(said), resamples=0), "classes")
    for name in range(1, 5):
        binary = np.where(np.isnan(said), np.nan, said == name)
        assert found[name]["alpha"] == pytest.approx(krippendorff.alpha(binary, level_of_measurement="nominal"), abs=1e-12)
        there = ~np.isnan(said)
        pairs = [
            (int(said[a, j] == name), int(said[b, j] == name))
            for a, b in combinations(range(6), 2)
            for j in range(40)
            if there[a, j] and there[b, j]
        ]
        both, one = sum(a and b for a, b in pairs), sum(a + b for a, b in pairs)
        assert found[name]["agreement"] == pytest.approx(2 * both / one)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_workers(level):
    said = matrix(4, missing=0.6)
    found = rows(agreement(labels_of(said), level, resamples=0), "workers")
    for i in range(6):
        others = np.delete(said, i, axis=0)
        without = krippendorff.alpha(others, level_of_measurement=level)
        assert found[i]["alpha_without"] == pytest.approx(without, abs=1e-9)
        shared = [j for j in range(40) if not np.isnan(said[i, j]) and not np.isnan(others[:, j]).all()]
        shares = [np.nanmean(np.where(np.isnan(others[:, j]), np.nan, others[:, j] == said[i, j])) for j in shared]
        assert found[i]["items"] == len(shared)
        assert found[i]["pairs"] == sum((~np.isnan(others[:, j])).sum() for j in shared)
        assert found[i]["agreement"] == pytest.approx(np.mean(shares))
        assert found[i]["agreement_low"] < found[i]["agreement"] < found[i]["agreement_high"]
        assert found[i]["few"] == (len(shared) < 10)


def test_a_worker_against_one_other_has_cohens_kappa():
    said = matrix(5, n_workers=2, missing=0)
    found = agreement(labels_of(said), resamples=0)
    expected = cohen_kappa_score(*said)
    assert rows(found, "workers")[0]["kappa"] == pytest.approx(expected)
    assert values(found)["cohen_kappa"] == pytest.approx(expected)


def split_judgements(labels):
    """Return each item's judgements as class distributions, one for each worker."""
    items = []
    for j in range(labels.n_items):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        worker, label = labels.worker[mine], labels.label[mine]
        items.append(
            {i: np.bincount(label[worker == i], minlength=labels.n_classes) / (worker == i).sum() for i in np.unique(worker)}
        )
    return items


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_repeats_share_one_judgement(level):
    labels = random_labels(1, n_items=30, n_workers=5)
    labels = Labels(**{**labels.__dict__, "classes": pa.array([1, 2, 3])})
    table, same, pairs = np.zeros((3, 3)), 0.0, 0
    for judged in split_judgements(labels):
        for a in judged:
            for b in judged:
                if a != b:
                    table += np.outer(judged[a], judged[b]) / (len(judged) - 1)
                    same += judged[a] @ judged[b]
                    pairs += 1
    margin = table.sum(axis=1)
    x = {"nominal": None, "interval": np.arange(3), "ordinal": np.cumsum(margin) - margin / 2}[level]
    distance = 1 - np.eye(3) if x is None else np.subtract.outer(x, x) ** 2
    expected = 1 - (margin.sum() - 1) * (table * distance).sum() / (np.outer(margin, margin) * distance).sum()
    found = agreement(labels, level, resamples=20)
    assert found.counts["labels"] > found.counts["judgements"]
    assert values(found)["alpha"] == pytest.approx(expected, abs=1e-12)
    assert values(found)["agreement"] == pytest.approx(same / pairs, abs=1e-12)
    assert found.counts["pairs_compared"] == pairs // 2
    doubled = as_labels((list("aab") * 2 + ["b"], list("xyx") * 2 + ["y"], [0, 1, 0] * 2 + [0]))
    single = as_labels((list("aabb"), list("xyxy"), [0, 1, 0, 0]))
    assert values(agreement(doubled, resamples=0)) == pytest.approx(values(agreement(single, resamples=0)), nan_ok=True)


def test_leaving_out_a_worker_with_repeats():
    labels = random_labels(2, n_items=40, n_workers=4)
    found = agreement(labels, resamples=0)
    for i, row in enumerate(found.workers.to_pylist()):
        keep = labels.worker != i
        rest = Labels.from_codes(
            labels.label_item[keep], labels.worker[keep], labels.label[keep],
            items=labels.items, workers=labels.workers, classes=labels.classes,
        )  # fmt: skip
        assert row["alpha_without"] == pytest.approx(values(agreement(rest, resamples=0))["alpha"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_intervals_are_those_of_a_bootstrap_over_items(level):
    said = matrix(6, n_items=60, missing=0.2)
    generator = np.random.default_rng(0)
    drawn = [values(agreement(labels_of(said[:, generator.integers(60, size=60)]), level, resamples=0)) for _ in range(400)]
    for row in agreement(labels_of(said), level, resamples=4000).overall.to_pylist():
        spread = np.std([draw[row["measure"]] for draw in drawn])
        middle = np.mean([draw[row["measure"]] for draw in drawn])
        assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * spread, rel=0.15)
        # Cohen's kappas are taken as linear in the items' weights, so that their small bias is not seen.
        assert (row["high"] + row["low"]) / 2 == pytest.approx(middle, abs=0.6 * spread)


def test_lots_of_items_give_the_same_interval():
    generator = np.random.default_rng(1)
    item = np.repeat(np.arange(25_000), 3)
    truth = generator.integers(3, size=25_000)
    label = np.where(generator.random(len(item)) < 0.7, truth[item], generator.integers(3, size=len(item)))
    names = [pa.array(np.arange(size)) for size in (25_000, 40, 3)]
    labels = Labels.from_codes(
        item, generator.integers(40, size=len(item)), label, items=names[0], workers=names[1], classes=names[2]
    )
    row = agreement(labels, resamples=2000).overall.to_pylist()[0]
    # Raw agreement is nearly a mean over items of equal size, whose standard error is known.
    votes = labels.votes()
    share = (votes * (votes - 1)).sum(axis=1) / 6
    error = share.std() / np.sqrt(25_000)
    assert (row["high"] - row["low"]) / (2 * 1.96 * error) == pytest.approx(1, abs=0.06)


def test_the_order_of_rows_does_not_matter():
    labels = random_labels(3, n_items=50, n_workers=5)
    order = np.random.default_rng(0).permutation(labels.n_labels)
    names = {"items": labels.items, "workers": labels.workers, "classes": labels.classes}
    moved = np.random.default_rng(1).permutation(labels.n_items)  # items appear in another order too
    names["items"] = labels.items.take(pa.array(np.argsort(moved)))
    shuffled = Labels.from_codes(moved[labels.label_item][order], labels.worker[order], labels.label[order], **names)
    first, second = (agreement(data, resamples=200).overall.to_pylist() for data in (labels, shuffled))
    for a, b in zip(first, second, strict=True):
        if a["measure"] != "cohen_kappa":  # depends on who labelled an item, not on its labels alone
            assert [a[key] for key in ("value", "low", "high")] == pytest.approx([b[key] for key in ("value", "low", "high")])
    assert first == agreement(labels, resamples=200).overall.to_pylist()


def test_undefined_is_said_to_be():
    alone = agreement((["a", "b"], ["x", "y"], [0, 1]))
    assert set(values(alone).values()) == {None}
    assert set(alone.overall["undefined"].to_pylist()) == {"no item has labels by two workers"}
    assert alone.workers["undefined"].to_pylist() == ["shares no item with another worker"] * 2
    same = agreement(as_labels((list("abcdef") * 2, ["x"] * 6 + ["y"] * 6, ["yes"] * 12), classes=["yes", "no"]))
    assert values(same) == {"agreement": 1.0, "alpha": None, "fleiss_kappa": None, "cohen_kappa": None}
    assert set(same.overall["undefined"].to_pylist()[1:]) == {"all labels that can be compared are of one class"}
    assert same.workers["undefined"].to_pylist() == ["all labels that can be compared are of one class"] * 2
    few = agreement((list("aabb"), list("xyxy"), [0, 1, 1, 1]))
    assert few.overall["undefined"].to_pylist()[3] == f"no two workers share {LEAST_SHARED} items"
    unused = agreement(as_labels((list("aabb"), list("xyxy"), [0, 1, 1, 1]), classes=[0, 1, 2]))
    assert unused.classes["undefined"].to_pylist() == [None, None, "no label that can be compared is of this class"]


def test_nonsense_is_refused():
    labels = random_labels(0)
    with pytest.raises(ParameterError, match="level must be"):
        agreement(labels, "ratio")
    with pytest.raises(ParameterError, match="resamples"):
        agreement(labels, resamples=-1)
    for confidence in (95, "0.95", float("nan")):
        with pytest.raises(ParameterError, match="confidence"):
            agreement(labels, confidence=confidence)
    for seed in (-1, 1.5, "a"):
        with pytest.raises(ParameterError, match="seed must be a whole number"):
            agreement(labels, seed=seed)
    with pytest.raises(DataError, match="needs classes that are numbers"):
        agreement(labels, "interval")


@pytest.mark.slow
def test_many_labels_take_seconds():
    generator = np.random.default_rng(0)
    n_items, n_workers = 100_000, 2000
    item = np.repeat(np.arange(n_items), 5)
    names = [pa.array(np.arange(size)) for size in (n_items, n_workers, 4)]
    labels = Labels.from_codes(
        item, generator.integers(n_workers, size=len(item)), generator.integers(4, size=len(item)),
        items=names[0], workers=names[1], classes=names[2],
    )  # fmt: skip
    started = time.perf_counter()
    found = agreement(labels)
    assert time.perf_counter() - started < 15
    assert abs(values(found)["alpha"]) < 0.01


def test_frames_come_back_in_kind():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"item": list("aabb"), "worker": list("xyxy"), "label": [0, 1, 1, 1]})
    found = crowdassay.agreement(frame)
    for table in (found.overall, found.classes, found.workers, found.pairs):
        assert isinstance(table, pandas.DataFrame)


def test_command(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    said = matrix(7)
    worker, item = np.nonzero(~np.isnan(said))
    path.write_text("item,worker,label\n" + "".join(f"{j},{i},{said[i, j]:.0f}\n" for i, j in zip(worker, item, strict=True)))
    with pytest.raises(SystemExit) as stopped:
        main(["agreement", str(path), "--level", "ordinal", "--json", "--resamples", "50", "--out", str(tmp_path / "out")])
    printed = json.loads(capsys.readouterr().out)
    assert not stopped.value.code
    expected = krippendorff.alpha(said, level_of_measurement="ordinal")
    assert printed["overall"][1]["value"] == pytest.approx(expected)
    assert {"overall", "classes", "workers", "pairs", "counts", "level"} <= printed.keys()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "classes.csv",
        "overall.csv",
        "pairs.csv",
        "workers.csv",
    ]
    with pytest.raises(SystemExit):
        main(["agreement", str(path)])
    shown = capsys.readouterr().out
    for words in ("Krippendorff's alpha", "By class", "Workers who agree least", "Pairs who agree least"):
        assert words in shown
