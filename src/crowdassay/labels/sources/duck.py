"""Labels in a table or query of a DuckDB file, opened read-only and without access to anything outside it."""

from __future__ import annotations

from pathlib import Path

from crowdassay.errors import DataError, FileError
from crowdassay.labels.sources.database import ROWS_AT_A_TIME, choose, file_of, split

DUCK = (".duckdb", ".ddb")


def fetch_duckdb(name: str, folder: Path) -> Path:
    """Copy the rows of a table or query as Parquet, with the types they have."""
    import duckdb  # noqa: PLC0415 - slow to load
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load

    head, table, query = split(name)
    if "://" in head:
        path = file_of(head, "duckdb")
    else:
        path = Path(head)
        if not path.is_file():
            raise FileError(f"There is no file '{path}'.")
    copy = folder / f"{path.stem}.parquet"
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            rows = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
            sql = choose([str(row[0]) for row in rows], table, query, f"'{path}'")
            reader = connection.sql(sql).to_arrow_reader(ROWS_AT_A_TIME)
            with pq.ParquetWriter(copy, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
    except duckdb.Error as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(f"'{path}' could not be read as DuckDB ({said}).") from None
    return copy
