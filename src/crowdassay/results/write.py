"""Write the tables of a result, block by block, as a folder that appears at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.labels.folder import RESULT_FILES, SUMMARY, replacing_folder
from crowdassay.labels.write import table_files, write_json
from crowdassay.results.result import TABLES_OF_ITEMS, Result, item_table


def write_result(result: Result, summary: dict[str, Any], folder: str | Path, form: str, *, raw: bool = False) -> None:
    """Write labels, posterior, workers and items as CSV or Parquet, and the summary; all of them or nothing.

    With many classes a table ``confusion`` holds what workers answer to what: see `Insight.cell_table`.
    """
    cells = result.cell_table()  # None but where classes are many
    if result.place.writes:
        from crowdassay.engines.spark.write import write_tables  # noqa: PLC0415  seldom needed

        frames = {name: result.frame(name, own_names=False) for name in TABLES_OF_ITEMS}
        frames["workers"] = result.place.frame(result.insight.workers_table(cells=True))
        if cells is not None:
            frames["confusion"] = result.place.frame(cells)
        write_tables(frames, summary, str(folder), form, raw=raw)
        return
    with replacing_folder(Path(folder), RESULT_FILES, SUMMARY) as fresh:
        with table_files(fresh, (*TABLES_OF_ITEMS, "workers", "confusion"), form, raw=raw) as streams:
            for block in result.blocks():
                for name in TABLES_OF_ITEMS:
                    streams[name].write(item_table(block, name))
                if not result.place.in_memory:
                    pa.default_memory_pool().release_unused()  # else Arrow keeps as much again
            streams["workers"].write(result.insight.workers_table(cells=True))
            if cells is not None:
                streams["confusion"].write(cells)
        write_json(summary, fresh / SUMMARY)
