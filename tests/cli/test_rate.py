"""`crowdassay rate` as a user meets it."""

import csv
import json

import numpy as np
import pytest

from support.panels import CLASSES, judged, word


@pytest.fixture
def verdicts(tmp_path):
    """Write a file of verdicts; further columns come from functions of item number and worker."""

    def write(seed=0, rows=None, columns=None, **options):
        if rows is None:
            labels, _ = judged(np.random.default_rng(seed), **options)
            names = labels.items.to_pylist(), labels.workers.to_pylist(), labels.classes.to_pylist()
            codes = zip(labels.label_item, labels.worker, labels.label, strict=True)
            rows = [(names[0][j], names[1][i], names[2][k]) for j, i, k in codes]
        columns = columns or {}
        path = tmp_path / "verdicts.csv"
        with open(path, "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["item", "worker", "label", *columns])
            writer.writerows([*row, *(of(*row) for of in columns.values())] for row in rows)
        return path

    return write


def facts(run, *arguments):
    code, out, _ = run("rate", *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_json_has_the_keys_that_others_rely_on(run, verdicts):
    found = facts(run, verdicts(), "--people", "person0")
    for name in ("rate", "people_only", "panel_only"):
        assert set(found[name]) == set(CLASSES)
        assert set(found[name]["pass"]) == {"estimate", "low", "high"}
    assert found["n_people_labels"] == 60
    assert 1 <= found["worth"] <= 3
    assert [judge["judge"] for judge in found["judges"]] == ["judge0-0", "judge1-0", "judge2-0"]


def test_the_text_leads_with_the_rate(run, verdicts):
    code, out, err = run("rate", verdicts(copies=2, people=(0.9, 0.9)), "--people", "person0,person1")
    assert (code, err) == (0, "")
    assert out.index("Rate") < out.index("Judges")
    for words in ("judges alone claim", "independent ones", "make the same", "People err on", "narrower"):
        assert words in " ".join(out.split())


def test_the_gate_fails_with_exit_code_one_and_still_prints(run, verdicts):
    path = verdicts()
    code, out, err = run("rate", path, "--people", "person0", "--json", "--fail-if", "pass_rate.low < 0.9")
    assert code == 1
    assert json.loads(out)["gate"][0]["failed"] is True
    assert "and the run fails if pass_rate.low < 0.9." in err
    assert run("rate", path, "--people", "person0", "--json", "--fail-if", "pass_rate.low < 0.01")[0] == 0
    code, out, err = run("rate", path, "--people", "person0", "--fail-if", "pass_rate low")
    assert (code, out) == (2, "")
    assert "pass_rate.low < 0.9" in err


def test_files_are_written(run, verdicts, tmp_path):
    path = verdicts()
    ahead, items = tmp_path / "next.csv", tmp_path / "items.csv"
    found = facts(run, path, "--people", "person0", "--next", ahead, "--next-size", 7, "--items", items)
    rows = list(csv.DictReader(ahead.read_text().splitlines()))
    assert [row["item"] for row in rows] == found["next"]
    assert len(rows) == 7
    rows = list(csv.DictReader(items.read_text().splitlines()))
    assert len(rows) == 300
    assert sum(row["people"] != "" for row in rows) == 60
    assert all(abs(float(row["probability:pass"]) + float(row["probability:fail"]) - 1) < 1e-6 for row in rows)
    code, _, err = run("rate", path, "--people", "person0", "--next", path)
    assert code == 2
    assert "would be written over" in err


def test_gold_alone_will_do(run, verdicts, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"i{j},{CLASSES[j % 2]}\n" for j in range(40)))
    rows = [(f"i{j}", f"m{i}", CLASSES[j % 2]) for j in range(200) for i in range(2)]
    found = facts(run, verdicts(rows=rows), "--gold", gold)
    assert found["n_people_labels"] == 40
    assert found["rate"]["pass"]["low"] <= 0.5 <= found["rate"]["pass"]["high"]


def test_groups_pairs_strata_and_order_come_from_columns(run, verdicts):
    def number(item):
        return int(item[1:])

    columns = {
        "model": lambda item, *_: f"model {number(item) % 2}",
        "question": lambda item, *_: f"q{number(item) // 2}",
        "kind": lambda item, *_: "ab"[number(item) % 3 == 0],
        "shown": lambda item, worker, _: ("ab", "ba")[(number(item) * 7 + len(worker)) % 5 > 2],
    }
    path = verdicts(columns=columns, n_seen=120)
    found = facts(
        run, path, "--people", "person0", "--by", "model", "--pair", "question", "--strata", "kind", "--order-column", "shown"
    )
    assert set(found["by"]) == {"model 0", "model 1"}
    assert found["differences"][0]["pairs"] == 150
    assert "order_bias" in found["judges"][0]
    code, _, err = run("rate", path, "--people", "person0", "--by", "modle")
    assert code == 2
    assert "modle" in err
    code, _, err = run("rate", verdicts(columns={"model": lambda i, w, _: w}), "--people", "person0", "--by", "model")
    assert code == 1
    assert "an item has one of them" in err


def test_the_order_is_that_of_each_row_and_may_be_empty_for_people(run, verdicts, tmp_path):
    lines = ["item,worker,label,shown"]
    for j in range(60):
        lines += [f"i{j},m,{shown[0]},{shown}" for shown in ("ab", "ba")]  # always what is shown first
        lines += [f"i{j},n,{'ab'[j % 2]},{shown}" for shown in ("ab", "ba")]
    lines += [f"i{j},ann,{'ab'[j % 2]}," for j in range(20)]
    path = tmp_path / "shown.csv"
    path.write_text("\n".join(lines))
    found = facts(run, path, "--people", "ann", "--order-column", "shown")
    first, second = (judge["order_bias"] for judge in found["judges"])
    assert (abs(first["shift"]["estimate"]), first["flipped"], first["items"]) == (1.0, 1.0, 60)
    assert (second["shift"]["estimate"], second["flipped"]) == (0.0, 0.0)
    assert "often in order ab than in ba" in first["text"]
    lines[1] = "i0,m,a,"
    path.write_text("\n".join(lines))
    code, _, err = run("rate", path, "--people", "ann", "--order-column", "shown")
    assert code == 1
    assert "'m' judged item 'i0' 2 times" in err


def test_two_systems_are_compared(run, verdicts, tmp_path):
    other = tmp_path / "other.csv"
    other.write_bytes(verdicts(seed=1, rate=0.3, n_seen=150).read_bytes())
    found = facts(run, verdicts(n_seen=150), "--people", "person0", "--against", other)
    one = found["against"]["difference"]["pass"]
    assert 0 < one["low"] < one["estimate"] < one["high"]
    assert found["against"]["pairs"] == 300


def test_costs_are_read_and_refused(run, verdicts, tmp_path):
    path, cost = verdicts(copies=2, n_seen=200), tmp_path / "cost.csv"
    cost.write_text("judge,cost\n" + "".join(f"judge{i}-{c},{1 + 8 * c}\n" for i in range(3) for c in range(2)))
    found = facts(run, path, "--people", "person0", "--cost", cost)
    dropped = [step["judge"] for step in found["drop"] if step["without_loss"]]
    assert dropped[:3] == sorted(dropped[:3], key=lambda name: -int(name[-1]))
    for text, wanted, message in (
        ("judge,price in cents\nm,1\n", 2, "No cost column found among 'judge', 'price in cents'"),
        ("judge,cost\nm,much\n", 1, "The cost in data row 1 of 'cost.csv' is 'much', which is no number"),
    ):
        cost.write_text(text)
        code, _, err = run("rate", path, "--people", "person0", "--cost", cost)
        assert code == wanted
        assert message in err


@pytest.mark.parametrize(
    ("rows", "options", "code", "message"),
    [
        (None, ["--people", "nobody"], 2, "There is no worker 'nobody'"),
        (None, [], 2, "Say which workers are people"),
        (None, ["--people", "person0", "--pair", "label"], 2, "--pair goes with --by"),
        (None, ["--people", "person0", "--confidence", "95"], 2, "between 0 and 1"),
        (None, ["--people", "person0", "--classes", "yes,no"], 1, "No label by people is one of the classes"),
        ([(f"i{j}", "m", f"it is so because {j}") for j in range(99)] + [("i1", "ann", "pass")],
         ["--people", "ann", "--classes", "pass,fail"], 1, "are these whole texts?"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(run, verdicts, rows, options, code, message):
    given, out, err = run("rate", verdicts(rows=rows), *options)
    assert (given, out) == (code, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_the_report_is_one_page_that_leads_with_the_rate(run, verdicts, tmp_path):
    pytest.importorskip("vl_convert")
    page = tmp_path / "page.html"
    rows = [
        (f"i{j}", name, word((j + (j % 7 == i)) % 3 > 0)) for j in range(90) for i, name in enumerate(("<b>a</b>", "b", "c"))
    ]
    rows += [(f"i{j}", "ann", word(j % 3 > 0)) for j in range(45)]
    code, _, _ = run("rate", verdicts(rows=rows), "--people", "ann", "--report", page, "--fail-if", "pass_rate.low < 0.99")
    assert code == 1
    text = page.read_text()
    assert text.index("Rate of pass") < text.index("Judges alone claim") < text.index("Whose errors go together")
    assert "<b>a</b>" not in text
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "pass_rate.low &lt; 0.99: failed" in text
    assert 'http-equiv="Content-Security-Policy"' in text


@pytest.mark.parametrize("salt", [(), ("--salt", "pepper")])
def test_people_are_found_by_their_ids_though_these_are_replaced(run, verdicts, tmp_path, salt):
    """M16: `--pseudonymise --people alice@x.com` found no such worker."""
    rows = [
        (f"i{j}", name, word(j % 3 > 0)) for j in range(40) for name in ("judge", "alice@x.com") if name == "judge" or j < 20
    ]
    path, cost = verdicts(rows=rows), tmp_path / "cost.csv"
    cost.write_text("judge,cost\njudge,1\nalice@x.com,9\n")
    code, out, err = run(
        "rate", path, "--people", "alice@x.com", "--pseudonymise", *salt, "--cost", cost, "--against", path, "--json"
    )
    assert (code, err) == (0, "")
    assert "alice" not in out
    found = json.loads(out)
    assert (found["n_people_items"], found["cost"]["people"]) == (20, 180.0)
    assert ("not kept" in " ".join(found["notes"])) == (not salt)
    plain = facts(run, path, "--people", "alice@x.com")
    assert found["rate"] == plain["rate"]
    code, out, err = run("rate", path, "--people", "bob@x.com", "--pseudonymise", *salt)
    assert (code, out) == (2, "")
    assert "There is no worker 'bob@x.com'" in err
    assert "alice" not in err


def test_a_column_that_makes_the_item_with_others_may_also_tell_the_groups(run, tmp_path):
    path = tmp_path / "a.csv"
    cells = [
        (f"q{q}", model, who, word(q + len(model) + len(who) > 14))
        for q in range(12)
        for model in ("gpt", "llama")
        for who in ("ann", "bot")
    ]
    with open(path, "w", newline="") as stream:
        csv.writer(stream).writerows([("question_id", "model", "judge", "label"), *cells])
    code, _, said = run("rate", path, "--people", "ann", "--by", "model")
    assert code == 2
    assert "--item-column 'question_id,model'" in said
    found = facts(run, path, "--people", "ann", "--item-column", "question_id,model", "--by", "model")
    assert found["n_people_labels"] == 24
    gold = tmp_path / "gold.csv"
    gold.write_text("question_id,model,truth\nq0,gpt,fail\nq1,llama,pass\nq2,gpt,fail\n")
    assert run("rate", path, "--people", "ann", "--item-column", "question_id,model", "--gold", gold)[0] == 0


def clustered(seed=0, n_questions=60, n_seen=15):
    """Return answers to questions, which pass or fail together, and their question; people saw whole questions."""
    generator = np.random.default_rng(seed)
    passes = np.repeat(generator.random((n_questions, 1)) < 0.6, 4, axis=1) ^ (generator.random((n_questions, 4)) < 0.1)
    rows = []
    for q, k in np.ndindex(passes.shape):
        rows += [(f"q{q}-{k}", f"m{i}", word(passes[q, k] ^ (generator.random() < 0.2))) for i in range(2)]
        rows += [(f"q{q}-{k}", "ann", word(passes[q, k]))] * (q < n_seen)
    return rows


def width(found):
    return found["rate"]["pass"]["high"] - found["rate"]["pass"]["low"]


def test_items_that_share_a_question_widen_the_interval(run, verdicts):
    """W12: answers to one question pass or fail together, and intervals took each for itself."""
    columns = {"Question ID": lambda item, *_: item.split("-")[0], "answer to": lambda item, *_: item.split("-")[0]}
    plain = facts(run, verdicts(rows=clustered()), "--people", "ann")
    named = facts(run, verdicts(rows=clustered(), columns=columns), "--people", "ann", "--cluster", "answer to")
    assert width(named) > 1.4 * width(plain)
    assert not any("share" in note for note in named["notes"])
    found = facts(run, verdicts(rows=clustered(), columns=columns), "--people", "ann")
    assert found["rate"] == named["rate"]
    assert any("Items that share 'Question ID' are taken to be alike (60 clusters of 240 items)" in n for n in found["notes"])
    accuracy = [one["judges"][0]["accuracy"] for one in (plain, named)]
    assert accuracy[1]["high"] - accuracy[1]["low"] >= accuracy[0]["high"] - accuracy[0]["low"]


@pytest.mark.parametrize(
    "value", [lambda item, *_: item[-1], lambda item, worker, _: f"{item} {worker}", lambda item, *_: item]
)
def test_a_column_that_does_not_cluster_items_is_left_alone(run, verdicts, value):
    """W12: few values, other values in the rows of an item, or another in each item: a name alone makes no cluster."""
    plain = facts(run, verdicts(rows=clustered()), "--people", "ann")
    found = facts(run, verdicts(rows=clustered(), columns={"prompt": value}), "--people", "ann")
    assert (found["rate"], found["notes"]) == (plain["rate"], plain["notes"])


def test_one_cluster_says_nothing_of_others(run, verdicts):
    path = verdicts(rows=clustered(n_seen=1), columns={"topic": lambda item, *_: item.split("-")[0]})
    code, _, err = run("rate", path, "--people", "ann", "--cluster", "topic")
    assert code == 1
    assert "People saw items of one cluster only" in err


def test_a_sheet_has_groups_and_a_column_that_names_them_is_no_judge(run, tmp_path):
    """M16: `--by` was refused for wide sheets."""
    path = tmp_path / "sheet.csv"
    lines = ["id,model,gpt,claude,ann"]
    lines += [f"{j},{'ab'[j % 2]},{word(j % 3 > 0)},{word(j % 4 > 0)},{word(j % 3 > 0) if j < 40 else ''}" for j in range(80)]
    path.write_text("\n".join(lines))
    for options in ((), ("--pseudonymise",)):
        found = facts(run, path, "--from", "wide", "--people", "ann", "--by", "model", *options)
        assert {name: (one["n_items"], one["n_people_items"]) for name, one in found["by"].items()} == {
            "a": (40, 20),
            "b": (40, 20),
        }
        assert found["n_judges"] == 2
    code, _, err = run("rate", path, "--from", "wide", "--people", "ann", "--by", "modle")
    assert code == 2
    assert "did you mean 'model'" in err


def test_promptfoo_has_groups_and_tests_are_clusters(run, tmp_path):
    """M16: `--by` was refused for promptfoo."""
    results = [
        {
            "testIdx": test, "promptIdx": place, "provider": {"id": provider}, "success": True, "prompt": {"label": "p"},
            "gradingResult": {"componentResults": [
                {"pass": (test + place) % 3 > 0, "assertion": {"type": "llm-rubric"}},
                *([{"pass": test % 3 > 0, "assertion": {"type": "human"}}] if test < 20 else []),
            ]},
        }
        for test in range(50) for place, provider in enumerate(("openai:a", "openai:b"))
    ]  # fmt: skip
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": results}}))
    found = facts(run, path, "--people", "human", "--by", "provider", "--pair", "test")
    assert set(found["by"]) == {"openai:a", "openai:b"}
    assert found["differences"][0]["pairs"] == 50
    assert any("Items that share 'test'" in note for note in found["notes"])
    code, _, err = run("rate", path, "--people", "human", "--by", "model")
    assert code == 2
    assert "'provider'" in err


def test_a_column_may_tell_items_and_their_group(run, tmp_path):
    """W12, M16: where model and question make the item, the model is the group and the question the cluster."""
    path = tmp_path / "verdicts.csv"
    lines = ["model,question,judge,verdict"]
    for q in range(40):
        for model in "ab":
            said = {"m": word((q + (model == "b")) % 3 > 0), "n": word(q % 4 > 0)} | (
                {"ann": word(q % 3 > 0)} if q < 20 else {}
            )
            lines += [f"{model},{q},{judge},{verdict}" for judge, verdict in said.items()]
    path.write_text("\n".join(lines))
    options = ("--item-column", "model,question", "--worker-column", "judge", "--people", "ann")
    found = facts(run, path, *options, "--by", "model", "--pair", "question")
    assert (found["n_items"], set(found["by"])) == (80, {"a", "b"})
    assert found["differences"][0]["pairs"] == 40
    assert any("Items that share 'question'" in note for note in found["notes"])


def test_verdicts_inside_objects_and_their_groups(run, tmp_path):
    """A file that wraps its list, with the verdict and the group of each item in objects, is read by dotted names."""
    rows = [
        {"item": f"i{n}", "judge": judge, "verdict": {"right": n % 3 > 0, "why": "so"}, "about": {"model": f"m{n % 2}", "n": n}}
        for n in range(30)
        for judge in ("ann", "j1", "j2")
    ]
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps({"version": 1, "verdicts": rows}), encoding="utf-8")
    found = facts(run, path, "--label-column", "verdict.right", "--people", "ann", "--by", "about.model")
    assert (found["n_items"], set(found["by"])) == (30, {"m0", "m1"})
    code, _, err = run("rate", path, "--label-column", "verdict.right", "--people", "ann", "--by", "about.modle")
    assert code == 2
    assert "did you mean 'about.model'?" in err
    _, _, err = run("rate", path, "--label-column", "verdict.right", "--people", "ann", "--by", "about")
    assert "name one value in it ('about.model', 'about.n') with --by" in err
