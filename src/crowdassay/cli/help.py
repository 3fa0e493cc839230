"""Help under headings: fifty options in one list are nobody's help."""

from __future__ import annotations

import click

from crowdassay.read_options import HEADING, under

HEADINGS = {
    "Facets": ("facets", "positive", "steps", "estimation", "correct", "interaction"),
    "Comparisons": ("ties", "both_bad", "no_position", "no_reliability", "style", "intervals"),
    "Planning": (
        "budget", "label_cost", "expert_cost", "error_cost", "target_error", "max_per_item", "batch_size", "workers",
        "decisions", "curve", "new", "items", "like", "rate",
    ),
    "Rates": ("people", "by", "pair", "against", "strata", "order_column", "beyond"),
    "Method": (
        "method", "methods", "ordered", "seed", "max_iter", "tol", "gamma", "gammas", "folds", "reading", "validation", "alpha",
        "beta", "solver", "prior", "smoothing", "refit", "resamples", "confidence", "level", "group", "time",
    ),
    "Known classes": ("truth", "gold", "gold_workers", *under("Known classes"), "gold_out", "calibration"),
    "Results": (
        "out", "form", "raw", "ask", "report", "report_title", "save_model", "as_json", "quiet", "strict", "next_file",
        "next_size", "items_file", "fail_if", "cost", "chart", "next_pairs",
    ),
    HEADING: (*under(HEADING), "score_column", "left_column", "right_column", "winner_column", "winners"),
    "Running": ("engine", "memory", "temp_dir", "threads"),
}  # fmt: skip


class Grouped(click.Command):
    """A command whose options stand under headings; those that belong to none come last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each heading, in the order of `HEADINGS`."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = {param.name: row for param in options if (row := param.get_help_record(ctx))}
        placed = {name for names in HEADINGS.values() for name in names}
        groups = {heading: [rows[name] for name in names if name in rows] for heading, names in HEADINGS.items()}
        read = [param.human_readable_name for param in self.get_params(ctx) if isinstance(param, click.Argument)]
        groups["Other"] = [row for name, row in rows.items() if name not in placed]
        for heading, chosen in groups.items():
            if chosen:
                with formatter.section(heading if "LABELS" in read or not read else heading.replace("LABELS", read[0])):
                    formatter.write_dl(chosen)
