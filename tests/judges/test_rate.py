"""Rates from judges and people together."""

import numpy as np
import pytest

from crowdassay import as_labels
from crowdassay.errors import CrowdassayError
from crowdassay.judges.page import about_help
from crowdassay.judges.people import gather_people
from crowdassay.judges.prediction import predict_people
from crowdassay.judges.rate import default_panel, rate, rate_against
from crowdassay.judges.rated import allocate
from crowdassay.judges.rates import Evidence, choose_strata, disputed_strata, find_rates
from crowdassay.judges.verdicts import Verdicts, split_verdicts
from support.panels import judged, word

PANELS = ("css_stance", "judgebench", "css_misinfo")


@pytest.fixture(scope="module")
def panels(real):
    """Return real panels with the truth of all items, and the default's probabilities; fitted once."""
    found = []
    for name in PANELS:
        labels, truth = real(name)
        known = {str(i): labels.class_names[c] for i, c in zip(labels.items, truth, strict=True) if c >= 0}
        whole = split_verdicts(labels, gold=known)
        found.append((whole, default_panel(whole)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 100])
def test_coverage_on_real_panels(panels, size):
    held, widths = [], []
    for whole, panel in panels:
        generator = np.random.default_rng(size)
        share = np.bincount(whole.gold, minlength=whole.n_classes) / len(whole.gold)
        for _ in range(30):
            gold = np.full_like(whole.gold, -1)
            chosen = generator.permutation(len(gold))[:size]
            gold[chosen] = whole.gold[chosen]
            drawn = Verdicts(**{**whole.__dict__, "gold": gold})
            people = gather_people(drawn)
            proxy = predict_people(drawn, people, panel, generator)
            stratum, alone_stratum, _ = choose_strata(drawn, people)
            evidence = Evidence(people, proxy.blind, proxy.panel, stratum, alone_stratum)
            every = np.ones(len(gold), bool)
            found, alone = find_rates(evidence, every), find_rates(evidence, every, powered=False)
            held += [one.low - 1e-9 <= value <= one.high + 1e-9 for one, value in zip(found, share, strict=True)]
            widths += [one.width / other.width for one, other in zip(found, alone, strict=True)]
    assert 0.91 <= np.mean(held) <= 0.985
    assert max(widths) <= 1.05 + 1e-9
    assert np.mean(widths) < 0.9


def test_everything_is_in_the_json():
    labels, passes = judged(np.random.default_rng(0), 300, copies=2, people=(0.95, 0.95, 0.95))
    facts = rate(labels, people=["person0", "person1", "person2"]).as_dict()
    for name in ("rate", "people_only", "panel_only"):
        assert set(facts[name]) == {"pass", "fail"}
        for one in facts[name].values():
            assert one["low"] <= one["estimate"] <= one["high"]
    assert facts["n_people_labels"] == 180
    assert facts["n_people_items"] == 60
    assert facts["rate"]["pass"]["low"] <= passes.mean() <= facts["rate"]["pass"]["high"]
    assert facts["worth"] == pytest.approx(3, rel=0.35)
    assert len(facts["clusters"]) == 3
    assert len(facts["judges"]) == 6
    assert facts["judges"][0]["replaces_a_person"]["people"] == 3
    assert len(facts["next"]) == 20
    assert 0 < facts["next_width"] < 1
    assert facts["rate"]["fail"]["estimate"] == pytest.approx(1 - facts["rate"]["pass"]["estimate"], abs=1e-6)


def test_the_same_input_gives_the_same_output_in_any_row_order():
    labels, _ = judged(np.random.default_rng(1))
    first, second = rate(labels, people=["person0"]).as_dict(), rate(labels, people=["person0"]).as_dict()
    assert first == second


def test_people_alone_are_wilsons_whatever_the_judges_say():
    labels, _ = judged(np.random.default_rng(2), 300, n_seen=80)
    found = rate(labels, people=["person0"], beyond=True)
    said = found.people.share[:, 0].mean()
    from crowdassay.judges.ppi import wilson

    plain = wilson(said, 80)
    assert (found.alone[0].low, found.alone[0].high) == pytest.approx((plain.low, plain.high), abs=2e-4)


@pytest.mark.slow
def test_people_who_look_at_disputed_items_do_not_mislead():
    """Items on which judges disagree fail more often; people see many of those and few others."""
    raw, found = [], []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        hard = generator.random(500) < 0.3
        passes = generator.random(500) < np.where(hard, 0.3, 0.9)
        said = passes[:, None] ^ (generator.random((500, 5)) < np.where(hard, 0.45, 0.03)[:, None])
        rows = [(j, f"m{i}", word(said[j, i])) for j in range(500) for i in range(5)]
        split = said.any(axis=1) & ~said.all(axis=1)
        kinds = [(split, 50), (~split, 25)]
        seen = np.concatenate([generator.permutation(np.flatnonzero(kind))[:size] for kind, size in kinds])
        rows += [(j, "ann", word(passes[j])) for j in seen]
        one = rate(tuple(zip(*rows, strict=True)), people=["ann"])
        found.append(one.rate["pass"].estimate - passes.mean())
        raw.append(passes[seen].mean() - passes.mean())
        assert any("disputed items" in note for note in one.notes)
    assert np.mean(raw) < -0.1
    assert abs(np.mean(found)) < 0.025


def test_given_strata_are_used():
    labels, passes = judged(np.random.default_rng(3), 300, n_seen=100)
    strata = {f"i{j}": "ab"[j % 2] for j in range(300)}
    found = rate(labels, people=["person0"], strata=strata)
    assert found.rate["pass"].low <= passes.mean() <= found.rate["pass"].high
    with pytest.raises(CrowdassayError, match="have no stratum"):
        rate(labels, people=["person0"], strata={"i0": "a"})
    rare = {f"i{j}": "rare" if j == 0 else "other" for j in range(300)}
    with pytest.raises(CrowdassayError, match="of stratum 'rare'"):
        rate(labels, people=["person0"], strata=rare)


def two_systems(seed, paired=True):
    """Return verdicts on two systems' answers to the same questions, whose difficulty they share."""
    generator = np.random.default_rng(seed)
    n = 300
    hard = generator.normal(size=n) * 2
    passes = [hard + 0.5 * generator.normal(size=n) < cut for cut in (0.8, 0.0)]
    seen = [generator.permutation(n)[:120]] * 2 if paired else [generator.permutation(n)[:120] for _ in range(2)]
    rows, group, question = [], {}, {}
    for s in range(2):
        for i in range(3):
            said = passes[s] ^ (generator.random(n) < 0.35)
            rows += [(f"{s}-{j}", f"m{i}", word(said[j])) for j in range(n)]
        rows += [(f"{s}-{j}", "ann", word(passes[s][j])) for j in seen[s]]
        group |= {f"{s}-{j}": f"system {s}" for j in range(n)}
        question |= {f"{s}-{j}": str(j) for j in range(n)}
    return rows, group, question, passes[0].mean() - passes[1].mean()


@pytest.mark.slow
def test_differences_between_groups_are_narrower_in_pairs():
    held, narrower = [], []
    for seed in range(8):
        rows, group, question, real_difference = two_systems(seed)
        data = as_labels(tuple(zip(*rows, strict=True)))
        paired = rate(data, people=["ann"], by=group, pair=question)
        plain = rate(data, people=["ann"], by=group)
        assert paired.differences is not None
        assert plain.differences is not None
        one, two = (found.differences[0]["difference"]["pass"] for found in (paired, plain))
        held.append(one["low"] <= real_difference <= one["high"])
        narrower.append((one["high"] - one["low"]) / (two["high"] - two["low"]))
        assert one["estimate"] == pytest.approx(two["estimate"], abs=1e-9)
    assert np.mean(narrower) < 0.85
    assert sum(held) >= 7


def test_two_files_of_verdicts_are_compared_in_pairs():
    rows, group, question, real_difference = two_systems(1)
    parts = []
    for s in range(2):
        mine = [(question[item], worker, label) for item, worker, label in rows if group[item] == f"system {s}"]
        parts.append(as_labels(tuple(zip(*mine, strict=True))))
    found = rate_against(*parts, people=["ann"])
    one = found["difference"]["pass"]
    assert one["low"] <= real_difference <= one["high"]
    assert found["pairs"] == 300
    strange = as_labels((["x", "y"], ["ann", "m0"], ["pass", "fail"]))
    with pytest.raises(CrowdassayError, match="share no item"):
        rate_against(parts[0], strange, people=["ann"])


def test_a_group_that_people_never_saw_has_no_rate():
    labels, _ = judged(np.random.default_rng(4), 200, n_seen=40)
    found = rate(labels, people=["person0"])
    seen = {str(labels.items[int(j)]) for j in found.people.item}
    group = {str(item): "seen" if str(item) in seen else "unseen" for item in labels.items.to_pylist()}
    groups = rate(labels, people=["person0"], by=group).groups
    assert groups is not None
    assert groups["unseen"]["rate"] is None
    assert groups["seen"]["n_people_items"] == 40
    assert groups["seen"]["rate"]["pass"]["low"] == groups["seen"]["rate"]["pass"]["high"]  # people saw all of them


@pytest.mark.slow
def test_next_items_are_new_drawn_at_random_and_more_often_disputed():
    labels, _ = judged(np.random.default_rng(5), 600, (0.8,) * 5, n_seen=40)
    found = rate(labels, people=["person0"], n_next=60)
    chosen = found.ahead.item
    assert len(set(chosen.tolist())) == 60
    assert not set(chosen.tolist()) & set(found.people.item.tolist())
    stratum = disputed_strata(found.verdicts)
    assert stratum[chosen].mean() > stratum.mean()
    assert found.next_items().num_rows == 60
    other = rate(labels, people=["person0"], n_next=60, seed=1).ahead.item
    assert set(other.tolist()) != set(chosen.tolist())


def test_allocation_is_neymans_and_never_more_than_there_is():
    more = allocate(np.array([1.0, 3.0]), np.array([0.0, 0.0]), np.array([1000.0, 1000.0]), 400)
    assert more.tolist() == [100, 300]
    assert allocate(np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.array([50.0, 10.0]), 40).tolist() == [30, 10]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("a", "m", "pass"), ("a", "ann", "pass")], {"people": ["bob"]}, "There is no worker 'bob'"),
        ([("a", "m", "pass"), ("a", "ann", "pass")], {}, "Say which workers are people"),
        ([("a", "ann", "pass"), ("b", "ann", "fail")], {"people": ["ann"]}, "no judge is left"),
        ([("a", "m", "pass"), ("a", "ann", "pass")], {"people": ["ann"]}, "one class only"),
        (
            [("a", "m", "x"), ("a", "ann", "x")],
            {"people": ["ann"], "classes": ["pass", "fail"]},
            "No label by people is one of",
        ),
        ([("a", "m", "pass"), ("b", "m", "fail")], {"gold": {"z": "pass"}}, "None of the gold items"),
        ([("a", "m", "pass"), ("b", "m", "fail")], {"gold": {"a": "x"}, "classes": ["pass", "fail"]}, "none of 'pass', 'fail'"),
        ([("a", "m", "pass"), ("b", "ann", "fail")], {"people": ["ann"], "confidence": 2}, "between 0 and 1"),
        ([("a", "m", "pass"), ("b", "ann", "fail")], {"people": ["ann"], "pair": ["1", "2"]}, "--pair goes with --by"),
        ([("a", "m", "pass"), ("b", "ann", "fail")], {"people": ["ann"], "cost": {"x": 1.0}}, "who gave no verdict here"),
        ([("a", "m", "pass"), ("b", "ann", "fail")], {"people": ["ann"], "cost": {"m": -1.0}}, "numbers above 0"),
    ],
)
def test_bad_input_is_one_sentence(rows, options, message):
    with pytest.raises(CrowdassayError) as stopped:
        rate(tuple(zip(*rows, strict=True)), **options)
    assert message in stopped.value.message


@pytest.mark.slow
def test_peoples_costs_say_what_the_judges_save():
    labels, _ = judged(np.random.default_rng(9), 400, (0.9, 0.9), n_seen=80)
    prices = dict.fromkeys(rate(labels, people=["person0"]).verdicts.judges, 0.5)
    assert rate(labels, people=["person0"], cost=prices).as_dict()["cost"] is None
    found = rate(labels, people=["person0"], cost={**prices, "person0": 10.0})
    facts = found.as_dict()["cost"]
    assert (facts["judges"], facts["people"]) == (400.0, 800.0)
    assert facts["people_alone"] == pytest.approx(800 * found.rates[0].effective / found.alone[0].effective, abs=1e-3)
    assert "more than the judges, who cost 400.00" in about_help(found)
    both, _ = judged(np.random.default_rng(9), 200, (0.9, 0.9), n_seen=40, people=(1.0, 1.0))
    with pytest.raises(CrowdassayError, match="not for 'person1'"):
        rate(both, people=["person0", "person1"], cost={**prices, "person0": 10.0})


def test_few_labels_and_one_class_are_told_and_not_precise():
    labels, _ = judged(np.random.default_rng(6), 200, n_seen=5)
    found = rate(labels, people=["person0"])
    assert found.rates[0].width > 0.4
    assert any("5 items only" in note for note in found.notes)
    labels, _ = judged(np.random.default_rng(7), 200, n_seen=30, rate=1.0)
    found = rate(labels, people=["person0"])
    assert found.rate["pass"].low < 0.93
    assert found.rates == found.alone
    assert any("Every item that people saw is pass" in note for note in found.notes)


def test_one_judge_is_enough():
    labels, passes = judged(np.random.default_rng(8), 400, (0.9,), n_seen=80)
    found = rate(labels, people=["person0"])
    assert found.rate["pass"].low <= passes.mean() <= found.rate["pass"].high
    assert found.rates[0].width < 0.85 * found.alone[0].width
    assert found.likeness.worth == 1


def test_capitals_and_blanks_do_not_make_classes():
    rows = [(j, "m", "PASS" if j % 2 else "fail ") for j in range(40)] + [(j, "ann", word(j % 2 == 1)) for j in range(20)]
    found = rate(tuple(zip(*rows, strict=True)), people=["ann"])
    assert found.verdicts.answers == ("fail", "pass")
    assert any("capitals or blanks" in note for note in found.notes)
