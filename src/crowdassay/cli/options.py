"""Options that commands share: how labels are read, paths that are not empty, and help under headings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.read_options import READING_HEADING, READING_OPTIONS, SEVERAL_COLUMNS, ReadOptions, flag, split_commas, under

if TYPE_CHECKING:
    from crowdassay.labels.labels import Labels

Options = dict[str, Any]  # what was given to a command, by option
HEADINGS = {
    "Facets": ("facets", "positive", "steps", "estimation", "correct", "interaction"),
    "Comparisons": ("ties", "both_bad", "no_position", "no_reliability", "style", "intervals"),
    "Planning": (
        "budget", "target_error", "max_per_item", "batch_size", "workers",
        "decisions", "curve", "new", "items", "like", "rate",
    ),
    "Prices": ("cost", "label_cost", "expert_cost", "error_cost", "currency"),
    "Rates": ("people", "by", "pair", "against", "strata", "order_column", "beyond"),
    "Method": (
        "method", "methods", "ordered", "decide", "seed", "max_iter", "tol", "gamma", "gammas", "folds", "reading",
        "validation", "alpha", "beta", "solver", "prior", "smoothing", "settled", "refit", "resamples", "confidence", "level",
        "group", "cluster", "time",
    ),
    "Known classes": (
        "truth", "gold", "gold_workers", *under("Known classes"), "gold_out", "expert", "expert_items", "calibration",
    ),
    "Results": (
        "out", "tool", "tasks", "form", "raw", "ask", "disputes", "feedback", "report", "report_title", "save_model", "as_json",
        "quiet", "strict", "next_file", "next_size", "items_file", "fail_if", "chart", "next_pairs",
    ),
    READING_HEADING: (*under(READING_HEADING), "score_column", "left_column", "right_column", "winner_column", "winners"),
    "Running": ("engine", "memory", "temp_dir", "threads"),
}  # fmt: skip
TO_DATABASES = ("aggregate", "update")  # commands whose results may go to a database
ADDRESSES_READ = ("labels", "truth", "gold", "validation")  # which may be addresses
SEPARATED_BY_COMMAS = {*SEVERAL_COLUMNS, *(name for name, one in READING_OPTIONS.items() if "commas" in one.metadata)}
ADDRESSES_PASSED_ON = ("temp_dir",)  # whose addresses are refused later, with a better reason


class Grouped(click.Command):
    """A command whose options stand under headings; those that belong to none come last. None may be given twice unseen."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an option that holds one value and is given twice is refused, as the first would be lost."""
        order = self.make_parser(ctx).parse_args(list(args))[2] if "--help" not in args else []
        for param in order:
            if isinstance(param, click.Option) and not (param.multiple or param.is_flag) and order.count(param) > 1:
                way = "write all values in one, separated by commas" if param.name in SEPARATED_BY_COMMAS else "give it once"
                raise click.UsageError(f"{param.opts[0]} is given twice; {way}.", ctx)
        return super().parse_args(ctx, args)

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


class GivenPath(click.Path):
    """A path that is not empty: `--out "$DIR"` with DIR not set must not mean the folder one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path as a `Path`."""
        if not str(value) or "\0" in str(value):
            self.fail("the path is empty; was a variable not set?" if not str(value) else "a path holds no NUL.", param, ctx)
        if "://" in str(value) and param is not None:
            if param.name in ADDRESSES_READ:
                return str(value)  # a path would lose one of the slashes
            if param.name == "out" and ctx is not None and ctx.command.name in TO_DATABASES:
                from crowdassay.results.write import as_tables

                return as_tables(str(value)) or super().convert(value, param, ctx)
            if param.name not in ADDRESSES_PASSED_ON:
                self.fail("this is an address; name a file or folder of this machine.", param, ctx)
        return super().convert(value, param, ctx)


PATH = GivenPath(path_type=Path)


def choice(*flags: str, values: Sequence[str], help: str, **more: Any) -> Callable[..., Any]:  # noqa: A002 - as click calls it
    """Return an option that takes one of a few values, the first by default."""
    return click.option(*flags, type=click.Choice(values), default=values[0], show_default=True, help=help, **more)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
truth_option = click.option("--truth", type=PATH, help="File of item,label to score against.")
gold_option = click.option("--gold", type=PATH, help="File of item,label whose classes are known and kept.")
currency_option = click.option("--currency", default="", help="Of the prices, such as EUR or $.")
confidence_option = click.option(
    "--confidence", default=0.95, show_default=True, help="Share of intervals that hold the real value."
)
settled_option = click.option(
    "--settled",
    type=click.FloatRange(0, 1, min_open=True),
    help="Probability from which a label counts as settled, such as 0.9; by default what the method found to be enough.",
)
decide_option = choice(
    "--decide",
    values=["likeliest", "median", "mean"],  # as `crowdassay.labels.record` has them, which loads more than is needed here
    help="Which class becomes an item's label; of classes in order also the median, or the class nearest to the mean.",
)


def reading_options(command: Callable[..., Any], metavar: str | None = None) -> Callable[..., Any]:
    """Add the argument LABELS, any number of files, folders and patterns, and the options that say how to read them."""
    return click.argument("labels", nargs=-1, required=True, metavar=metavar)(column_options(command))


def column_options(command: Callable[..., Any], without: Sequence[str] = ()) -> Callable[..., Any]:
    """Add the options that say how to read labels, without the argument."""
    for name in reversed(READING_OPTIONS):
        if name not in without:
            command = reading_option(name)(command)
    return command


def split(text: str | None) -> list[str]:
    """Return names separated by commas.

    >>> split("rater, task,")
    ['rater', 'task']
    """
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def reading_option(name: str) -> Callable[..., Any]:
    """Return one of the options that say how to read labels."""
    option = READING_OPTIONS[name]
    facts = option.metadata
    more: dict[str, Any] = {}
    if isinstance(option.default, bool):
        more = {"is_flag": True}
    elif choices := facts.get("choices"):
        more = {"type": click.Choice(list(choices)), "default": option.default, "show_default": option.default is not None}
    if bare := facts.get("bare"):
        more |= {"is_flag": False, "flag_value": bare}
    if facts.get("several"):
        more |= {"multiple": True}
    return click.option(*facts.get("flags", (flag(name),)), name, help=facts["help"], **more)


def read_options(options: Options) -> ReadOptions:
    """Return what the command line says of reading."""
    given = {name: options[name] for name in READING_OPTIONS if name in options}
    for name, option in READING_OPTIONS.items():
        if option.metadata.get("commas") and isinstance(given.get(name), str):
            given[name] = split_commas(given[name])
    return ReadOptions.of(given)


def read(labels: Sequence[str | Path], options: Options) -> Labels:
    """Read LABELS as the options say."""
    from crowdassay.labels.files import read_files

    return read_files(labels, read_options(options))
