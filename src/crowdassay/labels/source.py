"""Columns of one table: a query by which DuckDB reads them fast, and a slow way that says what is wrong.

Labels in memory, on disk and on their way to Spark are all read through this, so that the same text means the same everywhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import DUCKDB_BLANK, ArrowColumn, blank_as_null, join_cells, join_sql, not_one_value
from crowdassay.labels.columns import find_columns, join_parts, several_parts
from crowdassay.labels.databases.duck import ask, quoted, text
from crowdassay.labels.delimited import (
    BATCH,
    BLANK,
    FIRST_ROWS,
    SAMPLE_BYTES,
    Dialect,
    Lenient,
    common_width,
    first_rows,
    read_slowly,
)
from crowdassay.labels.doubts import Sample, doubt_outer
from crowdassay.labels.headless import cells_again, numbered, refuse_figures, refuse_first_row, said_of
from crowdassay.labels.jsontext import check_whole, explain, flat
from crowdassay.labels.probe import Probe, probe
from crowdassay.labels.raw import LINES, as_utf8, check_file, is_gzipped, parquet_file
from crowdassay.labels.roles import NUMBERED_WORKER, Role, RoleLike, role_of
from crowdassay.labels.values import as_text, counted, listed, mapping, shown, text_of
from crowdassay.read_options import AS_IT_IS, Opening

MOST_INNER = 200  # names of values inside objects that may be columns
STUDIED = frozenset({"left", "winner", "score"})  # roles of comparisons and ratings
NO_NUMBERS = "('NaN', 'Infinity', '-Infinity')"  # which Python writes into JSON for what is missing, as no text
ASKED = "only"  # the role of the column whose one value is read
TOLD_BY_LISTS = ("item", "question", "group", "facet")  # roles, or how they begin, whose lists are ids in parts
QUOTED_AND_BLANK = re.compile(rb'[ \t]"|"[ \t]')  # DuckDB takes such blanks for no part of a cell


@dataclass(frozen=True)
class Source:
    """Columns of one file.

    Attributes
    ----------
    probe : Probe
    columns : dict
        The file's own name of the column of each role.
    query : str, optional
        What selects the columns as text, named by role, with the path to be bound as ``$path``; None where only `slowly` can.
    slowly : callable
        Yields record batches of the columns, named by role; raises a sentence if the file is broken.
    doubtful : bool
        Whether DuckDB may lose rows without a word, so that an empty answer must be confirmed.
    lenient : Lenient, optional
        What was overlooked.
    types : dict
        The Arrow type of the column of each role; text where nothing else is said.
    selection : str, optional
        Which rows were asked for, as a sentence.
    """

    probe: Probe
    columns: dict[str, str]
    query: str | None
    slowly: Callable[[], Iterator[pa.RecordBatch]] = field(repr=False)
    doubtful: bool = False
    lenient: Lenient | None = None
    types: dict[str, pa.DataType] = field(default_factory=lambda: defaultdict(pa.string))
    selection: str | None = None

    @property
    def notes(self) -> list[str]:
        """What there is to know of how the file was read; all of it only once it was."""
        dialect, notes = self.probe.dialect, [*self.probe.notes, *([] if self.selection is None else [self.selection])]
        if dialect is not None and not dialect.quoted:
            notes.append(f"{self.probe.shown} holds quotes that enclose no cells; they were taken as they stand.")
        if (lenient := self.lenient) is not None and lenient.names:
            short, windows = counted(lenient.short, "row"), counted(lenient.windows, "cell")
            notes += [f"All rows end before the last column ({short}); what they lack is empty."] * bool(lenient.short)
            notes += [f"Some texts are not UTF-8 and were read as Windows-1252: {windows}."] * bool(lenient.windows)
        return notes

    def read(self) -> pa.Table:
        """Read the columns into memory."""
        table, start = None, self.probe.start
        # Delimited text of which all was seen is read before DuckDB has loaded, if both ways agree on it.
        small = 0 < len(start) < SAMPLE_BYTES and not QUOTED_AND_BLANK.search(start)
        if self.query is not None and not small:
            table = ask(self.query, self.probe.path, lambda relation: relation.to_arrow_table())
        if table is None or (self.doubtful and not table.num_rows):
            table = pa.Table.from_batches(self.slowly())
        return table


def open_source(
    probe: Probe, roles: Sequence[RoleLike], given: Mapping[str, str | None], question: str | None = None
) -> Source:
    """Choose columns, as `find_columns` does, of a table that was probed: delimited text, records or Parquet.

    A ``question``, a column and what it holds as ``column=value``, leaves the rows of this question alone.
    """
    if question is not None:
        column, value = split_question(question, probe)
        asked = open_source(probe, [*roles, Role(ASKED, "--question")], {**given, ASKED: column})
        return _with_rows_of(asked, value)
    if (dialect := probe.dialect) is not None:
        columns = _find_in_table(probe, dialect, roles, given)
        names = frozenset(columns) - {"text", "maybe worker"}  # a text is only shown, and who may have compared only noted
        width = common_width(probe.start or probe.data or b"", dialect) or len(probe.header)
        source = _delimited(probe, dialect, columns, Lenient(width - 1, names))
    else:
        source = _parquet(probe, roles, given) if probe.kind == "parquet" else _json(probe, roles, given)
    return _with_joined_parts(source, several) if (several := several_parts(source.columns)) else source


def _find_in_table(
    probe: Probe, dialect: Dialect, roles: Sequence[RoleLike], given: Mapping[str, str | None]
) -> dict[str, str]:
    """Return columns as `find_columns` does; where a first row looks like labels, none of its cells is taken for a name."""
    names = {role_of(role).name for role in roles}
    if {"item", "label"} <= names:
        refuse_first_row(probe, given)
    elif names & STUDIED:
        refuse_figures(probe)
    try:
        return find_columns(probe.header, roles, given, lambda: first_rows(probe.start or probe.data or b"", dialect))
    except ColumnError as error:
        if {"item", "label"} <= set(error.missing) and error.found_nothing and (again := cells_again(probe)):
            said = said_of(probe, again, error.missing)
            raise ColumnError(said, missing=error.missing, found_nothing=True) from None
        raise


def _with_joined_parts(source: Source, several: Mapping[str, Sequence[str]]) -> Source:
    """Return a source that yields one item, or one name of a side, where several columns make it."""
    columns = join_parts(source.columns)
    query = source.query
    if query is not None:
        made = {
            role: join_sql([blank_as_null(quoted(part), DUCKDB_BLANK) for part in parts]) for role, parts in several.items()
        }
        chosen = [f"{made[role]} AS {quoted(role)}" if role in made else quoted(role) for role in columns]
        query = f"SELECT {', '.join(chosen)} FROM ({query})"  # noqa: S608

    def slowly() -> Iterator[pa.RecordBatch]:
        for batch in source.slowly():
            made = {role: join_cells([batch.column(part) for part in parts]) for role, parts in several.items()}
            cells = [made[role] if role in made else batch.column(role) for role in columns]
            yield pa.record_batch(cells, names=list(columns))

    parts = {part for own in several.values() for part in own}
    types = defaultdict(pa.string, {role: kind for role, kind in source.types.items() if role not in parts})
    return replace(source, columns=columns, query=query, slowly=slowly, types=types)


def split_question(question: str, probe: Probe) -> tuple[str, str]:
    """Return the column and the value that ``column=value`` names; what no row holds is refused."""
    parts = question.split("=")
    ways = [("=".join(parts[:n]), "=".join(parts[n:])) for n in range(1, len(parts))]
    column, value = next((way for way in ways if way[0] in probe.columns), ways[0])
    source, held = open_source(probe, [Role("question", "--question")], {"question": column}), None
    if source.query is not None:
        every = f"SELECT DISTINCT trim({quoted('question')}) FROM ({source.query})"  # noqa: S608
        held = ask(every, probe.path, lambda relation: relation.fetchall())
    if not held:
        batches = (pc.unique(pc.utf8_trim_whitespace(as_text(batch.column(0)))) for batch in source.slowly())
        held = [(cell,) for batch in batches for cell in batch.to_pylist()]
    values = sorted({cell for (cell,) in held if cell})
    if value not in values:
        raise ColumnError(f"No row of {probe.shown} has {shown(value)} in {shown(column)}, only {listed(values)}.")
    return column, value


def holds(column: ArrowColumn, value: str) -> ArrowColumn:
    """Return in which rows a column holds a value, blanks around it aside."""
    return pc.equal(pc.utf8_trim_whitespace(as_text(column)), value)


def _with_rows_of(source: Source, value: str) -> Source:
    """Return a source of the rows whose column ``only`` holds a value."""
    columns = {role: name for role, name in source.columns.items() if role != ASKED}
    query = source.query
    if query is not None:
        chosen = ", ".join(map(quoted, columns))
        query = f"SELECT {chosen} FROM ({query}) WHERE trim({quoted(ASKED)}) = {text(value)}"  # noqa: S608

    def slowly() -> Iterator[pa.RecordBatch]:
        for batch in source.slowly():
            yield batch.select(list(columns)).filter(holds(batch.column(ASKED), value))

    types = defaultdict(pa.string, {role: kind for role, kind in source.types.items() if role != ASKED})
    selection = f"Only the rows were read whose {shown(source.columns[ASKED])} is {shown(value)}."
    return replace(source, columns=columns, query=query, slowly=slowly, types=types, selection=selection)


def read_table(
    path: str | Path, roles: Sequence[RoleLike], given: Mapping[str, str | None], opening: Opening = AS_IT_IS
) -> tuple[pa.Table, dict[str, str], list[str]]:
    """Read columns of a plain table; return them by role, the file's own names of them, and notes."""
    with as_utf8(check_file(path)[0], opening) as (text, notes):
        seen = numbered(probe(text)) if opening.no_header else probe(text)
        source = open_source(seen, roles, given)
        table = source.read()
        seen.check_unchanged()
    return table, source.columns, [*notes, *source.notes]


def open_columns(
    probe: Probe, names: Sequence[str], required: Sequence[str], named_by: Mapping[str, str] | None = None
) -> Source:
    """Choose the columns of an annotation tool's table by their names; rows may end after those that are ``required``.

    ``named_by`` has the options that named some of them.
    """
    columns = {name: name for name in names}
    if probe.dialect is not None:
        reach = max(map(probe.header.index, required or columns), default=0)
        return _delimited(probe, probe.dialect, columns, Lenient(reach))
    return open_source(probe, [Role(name, (named_by or {}).get(name)) for name in columns], columns)


def _delimited(probe: Probe, dialect: Dialect, columns: dict[str, str], lenient: Lenient) -> Source:
    positions = {role: dialect.header.index(name) for role, name in columns.items()}
    # Columns are called c0, c1... here, so no name from the file ever enters the query.
    quote, packing = '"' if dialect.quoted else "", "gzip" if is_gzipped(probe.path) else "none"
    types = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(len(dialect.header)))
    chosen = ", ".join(f"c{position} AS {quoted(role)}" for role, position in positions.items())
    query = (
        f"SELECT {chosen} FROM read_csv($path, auto_detect=false, header={dialect.headed}, delim='{dialect.separator}', "  # noqa: S608
        f"quote='{quote}', escape='{quote}', columns={{{types}}}, compression='{packing}', skip={dialect.skip}, "
        "hive_partitioning=false)"
    )
    slowly = partial(read_slowly, probe.opened, probe.path, dialect, positions, lenient)
    # DuckDB may take blank lines for the header and lose rows, and keeps blanks after separators.
    fast = None if probe.data is not None or dialect.starts_blank or dialect.spaced or dialect.separator == BLANK else query
    return Source(probe, columns, fast, slowly, doubtful=True, lenient=lenient)


def _json(probe: Probe, roles: Sequence[RoleLike], given: Mapping[str, str | None]) -> Source:
    if probe.data is not None:
        return _slow_json(probe, roles, given)
    by_line = probe.suffix in LINES
    if not by_line:
        check_whole(probe.path)
    # Records stay JSON, so that no key is overlooked, however late it comes, and whole numbers keep all their digits.
    layout, packing = "newline_delimited" if by_line else "auto", "gzip" if is_gzipped(probe.path) else "none"
    objects = f"read_json_objects($path, format='{layout}', compression='{packing}', hive_partitioning=false)"
    facts = ask(
        "SELECT count(*), count(*) FILTER (json_type(json) <> 'OBJECT'), "  # noqa: S608
        "count(*) FILTER (len(json_keys(json)) > len(list_distinct(json_keys(json)))), "
        f"list_sort(list_distinct(flatten(list(DISTINCT json_keys(json))))) FROM {objects}",
        probe.path,
        lambda relation: relation.fetchall(),
    )
    if facts is None:
        return _slow_json(probe, roles, given)  # which says what is wrong, or reads what DuckDB cannot
    rows, others, doubled, names = facts[0]
    names = names or []
    if doubled:
        raise DataError(f"{probe.shown} has records in which a key comes twice; correct them, or export again.")
    names = [*(key for key in mapping(probe.first) if key in names), *(key for key in names if key not in mapping(probe.first))]
    if others or not names:
        raise DataError(f"No labels found in {probe.shown}; it needs one JSON object per label.")
    if rows == 1 and not by_line:
        return _slow_json(probe, roles, given)  # one object may be a whole frame
    paths = ", ".join(text(_pointer(name)) for name in names)
    inside = ask(  # a value in the first records that is an object
        f"SELECT 1 FROM (SELECT json FROM {objects} LIMIT {FIRST_ROWS}) "  # noqa: S608
        f"WHERE list_contains(json_type(json, [{paths}]), 'OBJECT') LIMIT 1",
        probe.path,
        lambda relation: relation.fetchall(),
    )
    rows = [flat(record) for record in _first_records(probe)] if inside else []
    columns = _find_columns(names, rows, roles, given, lambda: rows or _first_records(probe))
    if not set(names).issuperset(columns.values()):
        return _slow_json(probe, roles, given)
    parts = {role: f"json -> {text(_pointer(name))}" for role, name in columns.items()}
    nested = " OR ".join(f"json_type({part}) IN ('ARRAY', 'OBJECT')" for part in parts.values())
    if ask(f"SELECT 1 FROM {objects} WHERE {nested} LIMIT 1", probe.path, lambda relation: relation.fetchall()):  # noqa: S608
        return _slow_json(probe, roles, given)
    chosen = ", ".join(
        f"CASE WHEN json_type({parts[role]}) = 'DOUBLE' AND (json ->> {text(_pointer(name))}) IN {NO_NUMBERS} THEN NULL "
        f"ELSE json ->> {text(_pointer(name))} END AS {quoted(role)}"
        for role, name in columns.items()
    )

    def broken() -> Iterator[pa.RecordBatch]:
        explain(probe.path, by_line)

    return Source(probe, columns, f"SELECT {chosen} FROM {objects}", broken)  # noqa: S608


def _slow_json(probe: Probe, roles: Sequence[RoleLike], given: Mapping[str, str | None]) -> Source:
    """Read records one by one: those that DuckDB does not take, in a zip, a frame in one object, or with lists as values."""
    records = list(probe.rows())
    if not records:
        raise DataError(f"No labels found in {probe.shown}; it needs one JSON object per label.")
    names = list(dict.fromkeys(key for record in records for key in record))
    one = records[0] if len(records) == 1 and probe.suffix not in LINES else {}
    if lists := [key for key, value in one.items() if isinstance(value, list) and value and isinstance(value[0], dict | list)]:
        raise DataError(
            f"{probe.shown} is one JSON object with lists inside ({', '.join(map(shown, lists[:5]))}); write a "
            "list with one object per label, with the item, the worker and the label."
        )
    rows = [flat(record) for record in records[:FIRST_ROWS]]
    columns = _find_columns(names, rows, roles, given, lambda: rows)
    doubt_outer(probe.first, columns, names, given)
    options = {role.name: role.option for role in map(role_of, roles)}
    whole = set(names).issuperset(columns.values())

    def slowly() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(records), BATCH):
            part = [record if whole else flat(record) for record in records[first : first + BATCH]]
            cells = {
                role: [
                    _one_value(record.get(name), name, role, options.get(role), first + n, probe)
                    for n, record in enumerate(part)
                ]
                for role, name in columns.items()
            }
            try:
                yield pa.record_batch({role: pa.array(column, pa.string()) for role, column in cells.items()})
            except UnicodeEncodeError:
                explain(probe.path, probe.suffix in LINES, probe.data)

    return Source(probe, columns, None, slowly)


def _find_columns(
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    roles: Sequence[RoleLike],
    given: Mapping[str, str | None],
    sample: Sample,
) -> dict[str, str]:
    """Return columns as `find_columns` does, values inside objects among them; which of these are labels is never guessed."""
    columns = find_columns(_with_inner(names, rows, frozenset(filter(None, given.values()))), roles, given, sample)
    if (label := columns.get("label")) is not None and label not in names and not given.get("label"):
        raise ColumnError(
            f"Of the values inside objects, {shown(label)} could be the label; say --label-column {label} if it is."
        )
    return columns


def _with_inner(names: Sequence[str], rows: Sequence[Mapping[str, Any]], given: Collection[str] = ()) -> list[str]:
    """Return the names of columns, and those of values inside objects, in which rows are `flat`.

    What one of several numbered workers said is no column of all labels, unless it is among the ``given``.

    >>> _with_inner(["id", "said"], [{"id": 1, "said.rater1.tone": 2, "said.rater2.tone": 3, "said.at": "noon"}])
    ['id', 'said', 'said.at']
    """
    own = set(names)
    inner = dict.fromkeys(name for row in rows for name in row if name not in own)
    numbered = {name: stem for name in inner if (stem := _without_worker(name)) != name and name not in given}
    stems = Counter(numbered.values())
    return [*names, *islice((name for name in inner if stems[numbered.get(name, "")] < 2), MOST_INNER)]


def _without_worker(name: str) -> str:
    """Return the path to a value without the numbered worker on it."""
    return ".".join("*" if NUMBERED_WORKER.fullmatch(part) else part for part in name.split("."))


def _one_value(value: object, name: str, role: str, option: str | None, row: int, probe: Probe) -> str | None:
    """Return a cell as text; a list of one is its only value, of an id the values are joined, and all else is refused."""
    if isinstance(value, list) and len(value) <= 1:
        value = value[0] if value else None
    plain = isinstance(value, list) and not any(isinstance(one, list | dict) for one in value)
    if isinstance(value, list) and plain and role.startswith(TOLD_BY_LISTS):
        cells = [pa.array([None if one is None else text_of(one)], pa.string()) for one in value]
        value = join_cells(cells)[0].as_py()
    if isinstance(value, list | dict):
        what = "a list" if isinstance(value, list) else "an object"
        remedy = "it needs one text, number or date"
        if option is not None and (inner := _with_inner([name], [flat({name: value})])[1:]):
            remedy = f"name one value in it ({listed(inner, 8)}) with {option}"
        raise DataError(f"The {role} in record {row + 1} of {probe.shown} is {what} ({shown(value)}); {remedy}.")
    return None if value is None else text_of(value)


def _parquet(probe: Probe, roles: Sequence[RoleLike], given: Mapping[str, str | None]) -> Source:
    columns = find_columns(probe.header, roles, given, lambda: _first_records(probe))
    with parquet_file(probe.path) as file:
        fields = {role: file.schema_arrow.field(probe.header.index(name)) for role, name in columns.items()}
    for role, one in fields.items():
        if pa.types.is_nested(one.type):
            raise not_one_value(role, one.type, f" {shown(one.name)} of {probe.shown}")
    types = {role: _read_as(one.type) for role, one in fields.items()}

    def slowly() -> Iterator[pa.RecordBatch]:
        with parquet_file(probe.path) as file:
            if not file.metadata.num_rows:
                yield pa.record_batch([pa.array([], kind) for kind in types.values()], names=list(columns))
            for batch in file.iter_batches(BATCH, columns=list(dict.fromkeys(columns.values()))):
                cells = [_as_read(batch.column(columns[role]), kind, role, probe) for role, kind in types.items()]
                yield pa.record_batch(cells, names=list(columns))

    return Source(probe, columns, None, slowly, types=types)


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type a column is read as: numbers and truth values as they are, all else as text."""
    if pa.types.is_dictionary(kind):
        return _read_as(kind.value_type)
    return kind if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) else pa.string()


def _as_read(column: pa.Array, kind: pa.DataType, role: str, probe: Probe) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        if isinstance(column.type, pa.BaseExtensionType):
            return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
        return column.cast(kind)
    except (pa.ArrowException, UnicodeDecodeError):
        raise ColumnError(
            f"The {role} column of {probe.shown} holds bytes that are no text; write it as text or numbers."
        ) from None


def _first_records(probe: Probe) -> list[dict[str, Any]]:
    """Return the first records; of Parquet and of lines of JSON no more is read than these."""
    if probe.kind == "parquet":
        with parquet_file(probe.path) as file:
            return next((batch.to_pylist() for batch in file.iter_batches(FIRST_ROWS)), [])
    if probe.suffix in LINES and probe.data is None:
        with probe.opened() as stream, suppress(ValueError, RecursionError):  # whoever reads it all says what is wrong
            lines = [json.loads(line) for line in islice(stream, FIRST_ROWS) if line.strip()]
            return [record for record in lines if isinstance(record, dict)]
    return list(islice(probe.rows(), FIRST_ROWS))


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")
