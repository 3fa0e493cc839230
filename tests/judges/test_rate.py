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
from crowdassay.labels.files import table_of
from crowdassay.labels.frames import take_labels
from crowdassay.read_options import ReadOptions
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
            claim, blind = predict_people(drawn, people, panel, generator)
            stratum, alone_stratum, _ = choose_strata(drawn, people)
            evidence = Evidence(people, blind, claim, stratum, alone_stratum)
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


@pytest.mark.parametrize("repeated", [False, True])
def test_the_same_input_gives_the_same_output_in_any_row_order(repeated):
    """W14: folds were dealt by row, so that a shuffle moved the rate by two points."""
    generator = np.random.default_rng(1)
    labels, _ = judged(generator, copies=2, people=(0.9, 0.9))
    rows = list(zip(*(column.to_pylist() for column in table_of(labels).columns), strict=True))
    rows += [(item, worker, word(j % 3 > 0)) for j, (item, worker, _) in enumerate(rows[:600:2])] * repeated
    shown = [("ab", "ba")[int(generator.random() < 0.5)] for _ in rows]
    options = {
        "people": ["person1", "person0"],
        "by": {f"i{j}": f"model {j % 3}" for j in range(300)},
        "pair": {f"i{j}": f"q{j // 3}" for j in range(300)},
    }
    facts, items = [], []
    for _ in range(3):
        place = {item: number for number, item in enumerate(generator.permutation(labels.items.to_pylist()))}
        mixed = sorted(generator.permutation(len(rows)), key=lambda k: place[rows[k][0]])  # labels stand item by item
        table = tuple(zip(*(rows[k] for k in mixed), strict=True))
        found = rate(take_labels(table, ReadOptions()), order=[shown[k] for k in mixed], **options)
        facts.append({name: fact for name, fact in found.as_dict().items() if name != "notes"})  # which quote the first rows
        items.append(found.items())
    assert all(one == facts[0] for one in facts[1:])
    assert all(one.equals(items[0]) for one in items[1:])


def test_values_in_item_order_belong_to_the_items_of_the_labels():
    labels, _ = judged(np.random.default_rng(1))
    assert labels.items.to_pylist() != sorted(labels.items.to_pylist())
    named = {item: f"model {j % 2}" for j, item in enumerate(labels.items.to_pylist())}
    by_name, in_order = (rate(labels, people=["person0"], by=by).groups for by in (named, list(named.values())))
    assert by_name == in_order


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
    seen = {str(found.verdicts.items[int(j)]) for j in found.people.item}
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


def test_m14_answers_that_are_taken_for_a_class_are_not_said_to_be_kept_apart():
    rows = [
        (f"i{n}", who, word)
        for n in range(12)
        for who, word in (("ann", "FAIL" if n % 3 else "PASS"), ("bot", "fail" if n % 2 else "PASS"))
    ]
    rows += [("i0", "bot", "FAIL")]
    labels = take_labels(tuple(map(list, zip(*rows, strict=True))), ReadOptions())
    assert any("kept apart" in note for note in labels.report.notes)
    found = rate(labels, people=["ann"])
    assert any("taken for it: 'fail'" in note for note in found.notes)
    assert not any("kept apart" in note for note in found.notes)
    assert any("1 label repeats a worker and item" in note for note in found.notes)


def questions(seed, n_questions=100, n_answers=5, n_seen=20, singly=False):
    """Return verdicts on answers, of which those to one question are alike, with their question and whether each passes."""
    generator = np.random.default_rng(seed)
    passes = generator.random((n_questions, n_answers)) < generator.beta(1.3, 0.7, n_questions)[:, None]
    names = [[f"{q}-{k}" for k in range(n_answers)] for q in range(n_questions)]
    rows = [
        (names[q][k], f"m{i}", word(passes[q, k] ^ (generator.random() < 0.2)))
        for i in range(2) for q, k in np.ndindex(passes.shape)
    ]  # fmt: skip
    seen = np.array([(q, k) for q in generator.permutation(n_questions)[:n_seen] for k in range(n_answers)])
    if singly:
        seen = np.stack(np.divmod(generator.permutation(passes.size)[: len(seen)], n_answers), axis=1)
    rows += [(names[q][k], "ann", word(passes[q, k])) for q, k in seen]
    return tuple(zip(*rows, strict=True)), {name: str(q) for q, part in enumerate(names) for name in part}, passes.mean()


@pytest.mark.slow
def test_intervals_hold_where_people_saw_whole_questions():
    """W12: without clusters they hold 4 times in 5; `python benchmarks/judges.py --clusters` has the table."""
    held = {True: [], False: []}
    for seed in range(60):
        rows, question, real_rate = questions(seed)
        for clustered, found in held.items():
            one = rate(rows, people=["ann"], cluster=question if clustered else None, n_next=0).rate["pass"]
            found.append(one.low <= real_rate <= one.high)
    assert np.mean(held[True]) >= 0.9
    assert np.mean(held[False]) <= np.mean(held[True]) - 0.05


def test_items_that_were_drawn_one_by_one_are_no_clusters():
    """W12: the rate of these items is as certain as ever where questions had no part in the draw."""
    ratios = {True: [], False: []}
    for singly, found in ratios.items():
        for seed in range(3):
            rows, question, _ = questions(seed, singly=singly)
            one, other = (rate(rows, people=["ann"], cluster=cluster, n_next=0).alone[0] for cluster in (question, None))
            found.append(one.width / other.width)
    assert np.mean(ratios[True]) == pytest.approx(1, abs=0.05)
    assert np.mean(ratios[False]) > 1.3


def test_clusters_of_one_item_change_nothing():
    labels, _ = judged(np.random.default_rng(1))
    alone = {str(item): str(item) for item in labels.items.to_pylist()}
    found = [
        rate(labels, people=["person0"], cluster=cluster).as_dict() for cluster in (alone, None, dict(list(alone.items())[:9]))
    ]
    assert found[0] == found[1] == found[2]
