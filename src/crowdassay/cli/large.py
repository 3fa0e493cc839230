"""`crowdassay aggregate --engine files`: labels larger than memory, from files to files."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.engines import Job

if TYPE_CHECKING:
    from crowdassay.estimators.from_files import FilesResult

# What needs all labels in memory, and the values that do not ask for it.
IN_MEMORY = {
    "time_column": None, "weight_column": None, "skip_bad": False, "question": None, "predictions": False, "use_gold": False,
    "calibration": None, "report": None, "save_model": None, "checkpoint": None, "resume": False,
}  # fmt: skip
SHARE = 0.5  # of the free memory that is used where none is given


def run(job: Job) -> int:
    """Spool the labels, fit them block by block, write the tables and print the summary."""
    from crowdassay.cli.progress import progress_line
    from crowdassay.estimators.from_files import fit_spool
    from crowdassay.io.folder import replacing_folder
    from crowdassay.io.ingest import spool_files
    from crowdassay.io.ingest_source import find_inputs
    from crowdassay.io.stream import table_streams
    from crowdassay.io.tables import OURS, SUMMARY, TABLES
    from crowdassay.io.workspace import workspace
    from crowdassay.io.write import write_json
    from crowdassay.threads import available_cores

    options = job.options
    check(options)
    job.estimator.check_solves()
    threads = options["threads"] or available_cores()
    paths = find_inputs(job.labels)
    with ExitStack() as stack:
        folder = stack.enter_context(workspace(options["temp_dir"]))
        progress, announce = stack.enter_context(progress_line(quiet=options["quiet"] or options["as_json"]))
        if announce is not None:
            announce("Encoding and sorting the labels ...")
        spool = spool_files(paths, folder, reading(options), memory=memory_of(options), threads=threads)
        streams = None
        if options["out"] is not None:
            fresh = stack.enter_context(replacing_folder(options["out"], OURS, SUMMARY))
            streams = stack.enter_context(table_streams(fresh, TABLES, options["form"], raw=options["raw"]))
        found = fit_spool(job.estimator, spool, streams, threads=threads, progress=progress, announce=announce)
        summary = summarise(found, job)
        if options["out"] is not None:
            write_json(summary, fresh / SUMMARY)
    if options["as_json"]:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not options["quiet"]:
        print_summary(found, summary, options["out"], options["form"])
    return int(options["strict"] and not found.solution.converged)


def check(options: dict[str, Any]) -> None:
    """Refuse what needs all labels in memory."""
    from crowdassay.errors import ParameterError

    for name, unset in IN_MEMORY.items():
        if options.get(name, unset) != unset:
            raise ParameterError(
                f"--{name.replace('_', '-')} needs all labels in memory; leave it out, or take --engine local."
            )
    if options["tool"] not in {None, "plain"}:
        raise ParameterError("The files engine reads plain tables; turn the export into one first: crowdassay convert.")


def reading(options: dict[str, Any]) -> Any:
    """Return how the options say the files are read."""
    from crowdassay.cli.reading import class_list
    from crowdassay.io.ingest import Reading

    names = ("repeats", "allow_drops", "missing", "pseudonymise", "salt", "gold", "truth")
    columns = {role: options[f"{role}_column"] for role in ("item", "worker", "label")}
    return Reading(columns, class_list(options["classes"]), **{name: options[name] for name in names})


def memory_of(options: dict[str, Any]) -> int:
    """Return the memory to use: as given, else half of what is free."""
    from crowdassay.memory import available_memory, parse_size

    if options["memory"] is not None:
        return parse_size(options["memory"])
    return int(SHARE * (available_memory() or 4e9))


def summarise(found: FilesResult, job: Job) -> dict[str, Any]:
    """Return what ``summary.json`` holds; the same as for labels in memory."""
    from crowdassay import __version__

    spool, solution, tally = found.spool, found.solution, found.tally
    names = [str(name) for name in spool.classes.to_pylist()]
    summary: dict[str, Any] = {
        "version": __version__,
        "method": job.method,
        "engine": "files",
        "parameters": found.parameters,
        "classes": names,
        "objective": solution.objective,
        "converged": solution.converged,
        "sweeps": solution.sweeps,
        "seconds": round(found.seconds, 3),
        "n_items": spool.n_items,
        "n_workers": len(spool.workers),
        "n_labels": spool.n_labels,
        "n_tied": tally.tied,
        "n_gold": spool.n_gold,
        "mean_probability": tally.probability / tally.items,
        "import_report": spool.report.as_dict(),
        "notes": list(found.notes),
    }
    if not solution.converged:
        summary["notes"].append(
            f"Not converged after {solution.sweeps} sweeps: the result is usable but not final; raise --max-sweeps."
        )
    if spool.truth is not None:
        summary["error_rate"] = tally.wrong / tally.known
        if job.ordered or job.options["classes"] is not None or spool.report.order == "natural":
            summary["rmse"], summary["mae"] = (tally.squares / tally.known) ** 0.5, tally.distance / tally.known
        summary["truth_items"] = spool.truth["items"]
        summary["truth_items_without_labels"] = spool.truth["unknown_items"]
    return summary


def print_summary(found: FilesResult, summary: dict[str, Any], out: Path | None, form: str) -> None:
    """Print what was read, the result, the least reliable workers, the hardest items and where the files are."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from crowdassay.cli.summary import ENOUGH, brief, shown

    console, spool, solution = Console(highlight=False, markup=False), found.spool, found.solution
    report = spool.report
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in report.columns.items())
    console.print(
        f"Read {spool.n_labels:,} labels of {spool.n_items:,} items by {len(spool.workers):,} workers from {report.source} "
        f"({columns}); classes {', '.join(map(shown, summary['classes'][:12]))}{', ...' if len(spool.classes) > 12 else ''}."
    )
    for reason, count in report.dropped.items():
        console.print(f"Left out {count:,} rows: {reason}.")
    if report.repeats:
        console.print(f"{report.repeats:,} judgements repeat a worker and item ({report.repeats_policy}).")
    parameters = ", ".join(f"{name} = {brief(value)}" for name, value in found.parameters.items())
    console.print(f"\nMethod {summary['method']}{f' ({parameters})' if parameters else ''}, engine {summary['engine']}.")
    if solution.objective is not None:
        end = "converged" if solution.converged else "not converged"
        console.print(f"Objective {solution.objective:,.4f} after {solution.sweeps} sweeps, {end}, in {found.seconds:.2f} s.")
    sure = found.tally.sure / found.tally.items
    console.print(f"{sure:.1%} of the items have a probability of at least 0.95; {summary['n_tied']:,} are tied.")
    if "error_rate" in summary:
        extra = f", RMSE {summary['rmse']:.4f}, MAE {summary['mae']:.4f}" if "rmse" in summary else ""
        console.print(f"Against the truth of {summary['truth_items']:,} items: error {summary['error_rate']:.2%}{extra}.")
    for note in [*report.notes, *summary["notes"]]:
        console.print(f"Note: {note}")
    console.print()
    counts = spool.worker_counts
    judged = np.flatnonzero(counts >= min(ENOUGH, counts.max()))
    workers = Table("worker", "labels", "accuracy", title="Least reliable workers", title_justify="left")
    for i in judged[np.argsort(found.accuracy[judged], kind="stable")][:5]:
        workers.add_row(shown(spool.workers[int(i)].as_py()), f"{counts[i]:,}", f"{found.accuracy[i]:.3f}")
    console.print(workers)
    measure = "difficulty" if solution.model is not None and solution.model.item is not None else "entropy"
    items = Table("item", "labels", "label", "probability", measure, title="Hardest items", title_justify="left")
    for hard, item, n_labels, label, probability in found.tally.hardest:
        items.add_row(shown(item), f"{n_labels:,}", shown(label), f"{probability:.3f}", f"{hard:.3f}")
    console.print(items)
    if out is None:
        console.print("Nothing was written; give --out DIR for the tables.")
    else:
        console.print(f"Wrote labels, posterior, workers and items (.{form}) and summary.json to {out}.")
