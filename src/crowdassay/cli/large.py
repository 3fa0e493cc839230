"""`crowdassay aggregate --engine files`: labels larger than memory, from files to files."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdassay.cli.engines import Job

if TYPE_CHECKING:
    from crowdassay.estimators.from_files import FilesResult

# What needs all labels in memory, and the values that do not ask for it.
IN_MEMORY = {
    "time_column": None, "weight_column": None, "skip_bad": False, "question": None, "predictions": False, "use_gold": False,
    "save_model": None,
}  # fmt: skip
SHARE = 0.5  # of the free memory that is used where none is given


def run(job: Job) -> int:
    """Spool the labels, fit them block by block, write the tables and print the summary."""
    from crowdassay.cli.aggregate import show_more
    from crowdassay.cli.progress import progress_line
    from crowdassay.cli.summary import tell
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
    show_more(found.result, found.against if spool.truth else None, options)
    tell(partial(print_summary, found), summary, options)
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

    spool, solution, tally, result = found.spool, found.solution, found.tally, found.result
    names = [str(name) for name in spool.classes.to_pylist()]
    summary: dict[str, Any] = {
        "version": __version__,
        "method": job.method,
        "engine": "files",
        "parameters": result.parameters,
        "classes": names,
        "objective": solution.objective,
        "converged": solution.converged,
        "n_iter": solution.n_iter,
        "seconds": round(result.seconds, 3),
        "n_items": spool.n_items,
        "n_workers": len(spool.workers),
        "n_labels": spool.n_labels,
        "n_tied": tally.tied,
        "n_gold": spool.n_gold,
        "mean_probability": tally.probability / tally.items,
        "import_report": spool.report.as_dict(),
        "notes": [*result.insight.notes, *result.notes],
    }
    if not solution.converged:
        summary["notes"].append(
            f"Not converged after {solution.n_iter} iterations: the result is usable but not final; raise --max-iter."
        )
    if spool.truth is not None:
        known = tally.known
        summary["error_rate"] = tally.wrong / known if known else None
        if job.ordered or job.options["classes"] is not None or spool.report.order == "natural":
            summary["rmse"] = (tally.squares / known) ** 0.5 if known else None
            summary["mae"] = tally.distance / known if known else None
        summary["truth_items"] = known
        summary["truth_items_gold"] = spool.truth["items"] - known
        summary["truth_items_without_labels"] = spool.truth["unknown_items"]
    return summary


def print_summary(found: FilesResult, summary: dict[str, Any], out: Path | None, form: str) -> None:
    """Print what was read, the result, the least reliable workers, the hardest items and where the files are."""
    from rich.console import Console
    from rich.table import Table

    from crowdassay.cli.summary import print_workers, shown, told_method, told_score
    from crowdassay.io.values import counted

    console, spool, solution, result = Console(highlight=False, markup=False), found.spool, found.solution, found.result
    report = spool.report
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in report.columns.items())
    console.print(
        f"Read {counted(spool.n_labels, 'label')} of {counted(spool.n_items, 'item')} by "
        f"{counted(len(spool.workers), 'worker')} from {report.source} "
        f"({columns}); classes {', '.join(map(shown, summary['classes'][:12]))}{', ...' if len(spool.classes) > 12 else ''}."
    )
    for reason, count in report.dropped.items():
        console.print(f"Left out {counted(count, 'row')}: {reason}.")
    if report.repeats:
        console.print(f"Judgements that repeat a worker and item: {report.repeats:,} ({report.repeats_policy}).")
    console.print(f"\n{told_method(summary)}, engine {summary['engine']}.")
    if solution.objective is not None:
        end = "converged" if solution.converged else "not converged"
        n_iter = counted(solution.n_iter, "iteration")
        console.print(f"Objective {solution.objective:,.4f} after {n_iter}, {end}, in {result.seconds:.2f} s.")
    sure = found.tally.sure / found.tally.items
    console.print(f"{sure:.1%} of the items have a probability of at least 0.95; {summary['n_tied']:,} are tied.")
    if "error_rate" in summary:
        console.print(told_score(summary))
    for note in [*report.notes, *summary["notes"]]:
        console.print(f"Note: {note}")
    console.print()
    print_workers(console, result)
    measure = "difficulty" if solution.model is not None and solution.model.item is not None else "entropy"
    items = Table("item", "labels", "label", "probability", measure, title="Hardest items", title_justify="left")
    for hard, item, n_labels, label, probability in found.tally.hardest:
        items.add_row(shown(item), f"{n_labels:,}", shown(label), f"{probability:.3f}", f"{hard:.3f}")
    console.print(items)
    if out is None:
        console.print("No tables were written; give --out DIR for them.")
    else:
        console.print(f"Wrote labels, posterior, workers and items (.{form}) and summary.json to {out}.")
