"""Labels from standard input, databases and elsewhere, and results back into tables, once."""

import functools
import gzip
import http.server
import io
import json
import sqlite3
import subprocess
import threading

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay import MajorityVote, as_labels, read_labels
from crowdassay.errors import DataError
from crowdassay.labels.files import read_truth
from support.databases import PYTHON, environment, fresh_schema
from support.service import RUN

ROWS = [(f"i{j:03d}", f"w{i}", "yes" if (i + j) % 4 else "no") for j in range(30) for i in range(4)]
CSV = "\n".join(["item,worker,label", *(",".join(row) for row in ROWS)]) + "\n"


def facts(out):
    found = json.loads(out)
    return found["n_items"], found["n_workers"], found["n_labels"]


def piped(data, *options):
    command = [PYTHON, "-c", RUN, "aggregate", "-", "--method", "majority", *options]
    return subprocess.run(command, input=data, capture_output=True, env=environment(), timeout=120, check=False)


def parquet():
    stream = io.BytesIO()
    pq.write_table(pa.table(dict(zip(("item", "worker", "label"), zip(*ROWS, strict=True), strict=True))), stream)
    return stream.getvalue()


KINDS = {
    "csv": CSV.encode(),
    "tsv": CSV.replace(",", "\t").encode(),
    "jsonl": "\n".join(json.dumps({"item": a, "worker": b, "label": c}) for a, b, c in ROWS).encode(),
    "json": json.dumps([{"item": a, "worker": b, "label": c} for a, b, c in ROWS]).encode(),
    "gzip": gzip.compress(CSV.encode()),
    "parquet": parquet(),
    "bom": b"\xef\xbb\xbf" + CSV.encode(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_is_told_by_how_it_begins(kind, tmp_path, monkeypatch, run):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(KINDS[kind])))
    code, out, err = run("aggregate", "-", "--method", "majority", "--json")
    assert (code, err) == (0, "")
    assert facts(out) == (30, 4, 120)


@pytest.mark.slow
def test_standard_input_through_a_pipe():
    done = piped(CSV.encode(), "--json")
    assert (done.returncode, facts(done.stdout)) == (0, (30, 4, 120))
    done = piped(b"", "--json")
    assert done.returncode == 1
    assert b"Standard input is empty" in done.stdout  # as JSON
    done = piped(CSV.encode()[:-3] + b"\nbroken,line\n")
    assert done.returncode == 1
    assert b"standard-input.csv" in done.stderr


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "answers.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "odd ""name" (item, worker TEXT, label)')
        connection.executemany(
            'INSERT INTO "odd ""name" VALUES (?, ?, ?)',
            [(j % 30, worker, label == "yes") for j, (_, worker, label) in enumerate(ROWS)],
        )
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    return path


def test_sqlite(run, sqlite):
    before = sqlite.read_bytes()
    for query in ("table=odd%20%22name", "query=SELECT%20item,worker,label%20FROM%20%22odd%20%22%22name%22"):
        code, out, _ = run("aggregate", f"sqlite:///{sqlite}?{query}", "--method", "majority", "--json")
        assert (code, facts(out)) == (0, (30, 4, 120))
        assert json.loads(out)["classes"] == ["0", "1"]
    for query, said in (
        ("", "Say which table (?table=) or query (?query=)"), ("?table=nonesuch", "There is no table 'nonesuch'"),
        ("?query=DROP%20TABLE%20other", "could not be read as SQLite"),
        ("?query=SELECT%201;DROP%20TABLE%20other", "could not be read"),
        ("?table=other", "None of the columns"), ("?table=a&query=b", "not both"),
    ):  # fmt: skip
        code, _, err = run("aggregate", f"sqlite:///{sqlite}{query}", "--method", "majority")
        assert code in {1, 2}, query
        assert said in err, (query, err)
    assert sqlite.read_bytes() == before
    assert "There is no file" in run("aggregate", "sqlite:///nonesuch.db?table=a")[2]


def test_python_reads_what_the_command_reads(run, sqlite, tmp_path, monkeypatch):
    url = f"sqlite:///{sqlite}?table=odd%20%22name"
    labels = read_labels(url)
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (30, 4, 120)
    assert MajorityVote().fit(url).result_.labels.n_labels == 120
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert read_labels("-").n_labels == 120
    with pytest.raises(DataError, match="There is no table 'nonesuch'"):
        as_labels(f"sqlite:///{sqlite}?table=nonesuch")
    with sqlite3.connect(sqlite) as connection:
        connection.execute('CREATE TABLE truth AS SELECT DISTINCT item, \'1\' AS label FROM "odd ""name"')
    connection.close()
    truth = f"sqlite:///{sqlite}?table=truth"
    assert read_truth(truth).num_rows == 30
    code, out, _ = run("aggregate", url, "--truth", truth, "--method", "majority", "--json")
    assert (code, json.loads(out)["truth_items"]) == (0, 30)


def test_a_store_is_read_and_nothing_in_it_changed(run, tmp_path):
    from crowdassay.service.store.open import open_store

    store = open_store(tmp_path / "job.db")
    store.add({"item": item, "worker": worker, "label": label} for item, worker, label in ROWS)
    code, out, _ = run("aggregate", f"sqlite:///{tmp_path}/job.db", "--method", "majority", "--json")
    assert (code, facts(out)) == (0, (30, 4, 120))


@pytest.mark.slow
def test_postgresql(run, database):
    import psycopg

    url = fresh_schema(database)
    schema = url.rpartition("=")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {schema}.answers (item BIGINT, worker TEXT, label BOOLEAN)")
        rows = [(j % 30, worker, label == "yes") for j, (_, worker, label) in enumerate(ROWS)]
        connection.cursor().executemany(f"INSERT INTO {schema}.answers VALUES (%s, %s, %s)", rows)
    for more in ("", "&table=answers", "&query=SELECT%20*%20FROM%20answers%20WHERE%20item%20%25%202%20=%200"):
        code, out, err = run("aggregate", f"{url}{more}", "--method", "majority", "--json")
        assert (code, err) == (0, "")
        assert facts(out)[0] == (15 if "query" in more else 30)
    for query in ("DROP%20TABLE%20answers", "DELETE%20FROM%20answers%20RETURNING%20item"):
        code, _, err = run("aggregate", f"{url}&query={query}", "--method", "majority")
        assert (code, "could not be read" in err) == (1, True)
    code, _, err = run("aggregate", "postgresql://ann:s3cret@127.0.0.1:1/db?table=a", "--method", "majority")
    assert (code, "s3cret" in err, "ann@127.0.0.1:1/db" in err) == (2, False, True)


@pytest.mark.slow
def test_duckdb(run, tmp_path):
    path = tmp_path / "answers.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE answers (item TEXT, worker TEXT, label TEXT)")
        connection.executemany("INSERT INTO answers VALUES (?, ?, ?)", ROWS)
    for name in (path, f"duckdb:///{path}?table=answers", f"duckdb:///{path}?query=SELECT%20*%20FROM%20answers"):
        code, out, _ = run("aggregate", name, "--method", "majority", "--json")
        assert (code, facts(out)) == (0, (30, 4, 120))
    code, _, err = run("aggregate", f"duckdb:///{path}?query=SELECT%20*%20FROM%20'/etc/passwd'", "--method", "majority")
    assert (code, "could not be read as DuckDB" in err) == (1, True)


@pytest.mark.slow
def test_http(run, tmp_path):
    pytest.importorskip("fsspec", reason="the extra 'sources' is not installed")
    pytest.importorskip("aiohttp", reason="the extra 'sources' is not installed")
    (tmp_path / "labels.csv").write_text(CSV)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    home = f"http://ann:s3cret@127.0.0.1:{serving.server_port}"
    try:
        code, out, err = run("aggregate", f"{home.replace('ann:s3cret@', '')}/labels.csv", "--method", "majority", "--json")
        assert (code, err) == (0, "")
        assert facts(out) == (30, 4, 120)
        code, _, err = run("aggregate", f"{home}/nonesuch.csv?key=s3cret", "--method", "majority")
        assert (code, "s3cret" in err, "/nonesuch.csv" in err) == (2, False, True)
    finally:
        serving.shutdown()
        serving.server_close()
    assert "does not name one file" in run("aggregate", f"{home}/", "--method", "majority")[2]
    assert "no kind of place" in run("aggregate", "gopher://a/b.csv", "--method", "majority")[2]


@pytest.mark.slow
@pytest.mark.parametrize("home", ["sqlite", "postgresql"])
def test_results_go_into_tables_once(run, tmp_path, home, request):
    labels = tmp_path / "labels.csv"
    labels.write_text(CSV)
    url = f"sqlite:///{tmp_path}/out.db" if home == "sqlite" else fresh_schema(request.getfixturevalue("database"))
    command = ("aggregate", labels, "--method", "majority", "--out", url)

    def rows(sql):
        from crowdassay.results.write import DatabaseTables, open_home

        place, _ = open_home(DatabaseTables(url))
        with place.read() as session:
            return [tuple(row) for row in session.rows(sql)]

    for _ in range(2):
        code, out, err = run(*command)
        assert (code, err) == (0, "")
        assert ", as tables, to " in out
        assert rows("SELECT COUNT(*), COUNT(DISTINCT item) FROM crowdassay_labels") == [(30, 30)]
    first = rows("SELECT written FROM crowdassay_results")
    assert first == rows("SELECT written FROM crowdassay_results")
    assert rows("SELECT COUNT(*) FROM crowdassay_posterior") == [(60,)]
    assert {row[0] for row in rows("SELECT worker FROM crowdassay_workers")} == {"w0", "w1", "w2", "w3"}
    labels.write_text(CSV + "new,w0,yes\n")
    assert run(*command)[0] == 0
    assert rows("SELECT COUNT(*) FROM crowdassay_labels") == [(31,)]
    more = f"{url}{'&' if '?' in url else '?'}prefix=other_"
    assert run("aggregate", labels, "--method", "majority", "--out", more)[0] == 0
    assert rows("SELECT COUNT(*) FROM other_labels") == [(31,)]
    assert run("aggregate", labels, "--method", "majority", "--out", f"{more};DROP")[0] == 2


def test_tables_of_others_are_left_alone(run, tmp_path):
    labels, path = tmp_path / "labels.csv", tmp_path / "theirs.db"
    labels.write_text(CSV)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE crowdassay_labels (precious)")
    connection.close()
    before = path.read_bytes()
    code, _, err = run("aggregate", labels, "--method", "majority", "--out", f"sqlite:///{path}")
    assert (code, "has a table 'crowdassay_labels' that this command did not write" in err) == (1, True)
    assert path.read_bytes() == before
    assert run("aggregate", labels, "--method", "majority", "--out", f"sqlite:///{path}?prefix=mine_")[0] == 0
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA table_info(crowdassay_labels)").fetchone()[1] == "precious"
    connection.close()
