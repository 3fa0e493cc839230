"""Whatever a reader is told of nothing, of one and of two is told in English: no "1 labels", no "1 were", no "0 item"."""

import ast
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from crowdassay import Assay, load_model, read_labels
from crowdassay.results.report.overview import next_steps
from crowdassay.text import joined

EXAMPLES = Path(__file__).parents[1] / "examples" / "reviews"
PLURAL = "labels|items|workers|classes|rows|pairs|judgements|judges|people|comparisons|ratings|iterations|errors|ties|batches"
SINGULAR = "label|item|worker|class|row|pair|judgement|judge|person|comparison|rating|iteration|error|tie|batch"
ONE_OF_MANY = rf"(?<![\d.,])1 (?:[a-z]+ )?(?:{PLURAL}|are|were|have)\b"
MANY_OF_ONE = rf"(?<![\d.,])(?:0|[2-9]|\d\d+) (?:{SINGULAR}|was|has)\b"
WRONG = re.compile(f"{ONE_OF_MANY}|{MANY_OF_ONE}")
SIZES = {  # items, and who labels them: one and two of everything
    "one": (["a"], ["u"]),
    "two items": (["a", "b"], ["u"]),
    "two workers": (["a"], ["u", "v"]),
    "two of both": (["a", "b"], ["u", "v"]),
    "three workers": (["a", "b"], ["u", "v", "w"]),
}


STOPPED = re.compile(  # M17: what made a manager stop reading
    r"real data can tell|real crowds? can tell|average real crowd|hardly settle|unidentifiable|not estimable|entropy|posterior"
    r"|\d\.\d of \d|if typical|nats\b|likelihood"
)


def told(page):
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " | ", page, flags=re.S)
    return unescape(re.sub(r"<[^>]+>", " | ", text))


def table(header, rows):
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


@pytest.fixture(params=SIZES)
def files(request, tmp_path, monkeypatch):
    """Small files of every kind that is read."""
    items, workers = SIZES[request.param]
    monkeypatch.chdir(tmp_path)
    rows = [(item, worker, "xy"[(n + m) % 3 // 2]) for n, item in enumerate(items) for m, worker in enumerate(workers)]
    Path("labels.csv").write_text(table("item,worker,label", rows))
    Path("again.csv").write_text(table("item,worker,label", [*rows, (*rows[0][:2], "y"), ("a", "z", ""), ("", "z", "y")]))
    Path("one.csv").write_text("item,worker,label\na,new,x\n")
    Path("known.csv").write_text(table("item,label", [(item, "x") for item in items]))
    Path("pairs.csv").write_text(table("left,right,winner,worker", [("p", "q", "p", worker) for worker in workers]))
    scores = [(worker, item, str((n + m) % 2)) for n, item in enumerate(items) for m, worker in enumerate(workers)]
    Path("ratings.csv").write_text(table("rater,task,score", scores))
    return tmp_path


COMMANDS = [
    ("aggregate", "labels.csv", "--report", "page.html", "--out", "out"),
    ("aggregate", "labels.csv", "--gold", "known.csv", "--cost", "1", "--report", "page.html"),
    ("aggregate", "labels.csv", "--truth", "known.csv", "--method", "majority", "--report", "page.html"),
    ("aggregate", "again.csv", "--repeats", "last", "--method", "dawid-skene", "--max-iter", "1"),
    ("aggregate", "again.csv", "--repeats", "error"),
    ("agreement", "labels.csv"),
    ("compare", "labels.csv", "--methods", "majority,dawid-skene", "--folds", "2"),
    ("convert", "again.csv", "--out", "long.csv"),
    ("plan", "labels.csv", "--budget", "1", "--gold", "known.csv"),
    ("plan", "labels.csv", "--budget", "2", "--target-error", "0.01", "--expert-cost", "1"),
    ("plan", "--new", "--items", "1", "--classes", "2", "--label-cost", "1"),
    ("rank", "pairs.csv", "--report", "page.html"),
    ("measure", "ratings.csv", "--facets", "rater,task", "--report", "page.html"),
    ("rate", "labels.csv", "--people", "u", "--report", "page.html"),
    ("simulate", "--items", "1", "--workers", "1", "--labels-per-item", "1", "--out", "drawn"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_m14_one_and_two_are_told_right(run, files, command):
    _, out, err = run(*command)
    page = told(Path("page.html").read_text(encoding="utf-8")) if Path("page.html").exists() else ""
    said = " ".join(f"{out}\n{err}\n{page}".split())
    found = [said[max(0, one.start() - 60) : one.end() + 40] for one in WRONG.finditer(said)]
    assert found == []


def test_m14_an_update_by_one_label_is_told_right(run, files):
    code, _, err = run("aggregate", "labels.csv", "--method", "majority", "--save-model", "model", "--quiet")
    assert code == 0, err
    for command in (("update", "model", "one.csv"), ("update", "model", "one.csv"), ("update", "model", "--refit")):
        code, out, err = run(*command)
        assert WRONG.search(" ".join(f"{out}\n{err}".split())) is None, out


@pytest.fixture(scope="module")
def reviews():
    return Assay().fit(read_labels(EXAMPLES / "labels.csv"), gold=EXAMPLES / "gold.csv").result_


def test_m14_what_to_do_names_every_worker_under_what_is_to_be_done(reviews):
    """M14: "Talk to the other 15 workers on the list above" where 8 are listed and most are to be retrained."""
    insight = reviews.insight
    names = [str(name) for name in insight.record.labels.workers.to_pylist()]
    steps = next_steps(insight)
    for action, verb in (("remove", "Stop asking"), ("talk to", "Talk to"), ("retrain", "Retrain")):
        who = [names[i] for i in insight.attention if insight.actions[i] == action]
        assert [step.startswith(f"{verb} {joined(who, 4)}") for step in steps if step.startswith(verb)] == [True] * bool(who)


def test_m14_the_most_disputed_items_are_those_whose_class_is_not_known(reviews):
    labels = reviews.insight.record.labels
    known = {str(labels.items[int(j)].as_py()) for j in np.flatnonzero(labels.gold >= 0)}
    assert known.isdisjoint(row["item"] for row in reviews.chart.items(200).records)


def test_no_more_known_items_are_asked_for_than_there_are(run, files):
    out = " ".join(run("aggregate", "labels.csv")[1].split())
    assert "50 items drawn" not in out


def test_a_plan_of_nothing_says_so(run, files):
    assert "Nothing is planned." in run("plan", "labels.csv", "--budget", "1", "--gold", "known.csv")[1]


def test_m14_the_page_of_the_service_counts_in_english():
    """M14: "1 labels ago"."""
    page = Path(__file__).parents[1] / "src" / "crowdassay" / "service" / "http" / "assets" / "page.js"
    assert re.findall(rf"\$\{{number\([^}}]*\)\}} (?:[a-z]+ )?(?:{PLURAL})\b", page.read_text(encoding="utf-8")) == []


WITH_TOO_LITTLE = {  # one label an item, one worker, nothing beyond chance, and ordinary labels
    "one label": [(f"i{j}", f"w{j % 4}", "xy"[j % 2]) for j in range(24)],
    "one worker": [(f"i{j}", "ann", "xy"[j % 2]) for j in range(24)],
    "chance": [(f"i{j}", f"w{i}", "xy"[(j * 7 + i * j * i) % 3 % 2]) for j in range(40) for i in range(4)],
    "ordinary": [(f"i{j}", f"w{i}", "xy"[(j + ((i + j) % 5 == 0)) % 2]) for j in range(60) for i in range(5)],
    "groups": [(f"i{j}{g}", f"w{i}{g}", "xy"[j % 2]) for j in range(20) for i in range(3) for g in range(2)],
}


@pytest.mark.parametrize("rows", WITH_TOO_LITTLE.values(), ids=WITH_TOO_LITTLE)
def test_m17_nothing_that_stopped_a_manager_is_said(run, tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(table("item,worker,label", rows))
    Path("more.csv").write_text("item,worker,label\ni0,w0,x\nnew,w1,y\n")
    said = ""
    for command in (
        ("aggregate", "labels.csv", "--cost", "0.1", "--report", "page.html", "--save-model", "model"),
        ("plan", "labels.csv", "--budget", "5"),
        ("update", "model", "more.csv", "--report", "later.html"),
    ):
        code, out, err = run(*command)
        assert code == 0, err
        said += out + err
    pages = [told(Path(name).read_text(encoding="utf-8")) for name in ("page.html", "later.html")]
    cell = told(Assay().fit("labels.csv").result_._repr_html_())
    for text in (" ".join(one.split()) for one in (said, *pages, cell)):
        assert [text[max(0, one.start() - 60) : one.end() + 40] for one in STOPPED.finditer(text)] == []


def test_m17_no_sentence_of_the_source_has_them():
    source = Path(__file__).parents[1] / "src" / "crowdassay"
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
                assert not re.search("real data can tell|average real crowd|hardly settle|unidentifiable", text), (path, text)


def test_an_update_writes_the_report_too(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(table("item,worker,label", WITH_TOO_LITTLE["ordinary"]))
    Path("more.csv").write_text("item,worker,label\nnew,w1,y\nnew,w2,y\n")
    run("aggregate", "labels.csv", "--save-model", "model", "--quiet")
    code, out, err = run("update", "model", "more.csv", "--report", "later.html")
    assert (code, err) == (0, "")
    assert "Wrote the report to later.html." in out
    insight = load_model("model").result_.insight
    assert insight.totals.items == 61
    assert insight.told_known in " ".join(told(Path("later.html").read_text(encoding="utf-8")).split())
    assert run("update", "model", "more.csv", "--report", "later.txt")[0] == 2
