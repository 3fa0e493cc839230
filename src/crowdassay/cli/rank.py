"""`crowdassay rank`: a ranking from comparisons of two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, choice, confidence_option, reading_option, split
from crowdassay.cli.study import StudyCommand
from crowdassay.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdassay.results.show import StudyView

RANK = StudyCommand(
    tables=("ranking", "workers", "wins", "groups", "style", "next"),
    mark="n_comparisons",
    page="the ranking and who beats whom",
    picture="the ranking",
    condition="model-x.worst_rank > 3",
    only_written=("wins",),
)
RANK_SETTINGS = ("ties", "intervals", "confidence", "resamples", "seed", "max_iter")
PAIR_READING = (
    "left_column", "right_column", "winner_column", "worker_column", "winners", "both_bad", "allow_drops", "sheet", "encoding",
    "no_header", "worker_columns",
)  # fmt: skip


@click.command(cls=Grouped)
@click.argument("pairs", type=PATH)
@choice("--ties", values=["davidson", "rao-kupper", "half"], help="How ties come about, or count each as half a win.")
@choice("--both-bad", values=["tie", "drop"], help="What to do where both were bad.")
@click.option("--no-position", is_flag=True, help="Take it that neither side has an advantage.")
@click.option("--no-reliability", is_flag=True, help="Take it that all workers are alike.")
@click.option("--prior", help="Standard deviation of the scores in logits, or none; estimated otherwise.")
@choice("--intervals", values=["sandwich", "bootstrap", "model"], help="How to find intervals.")
@confidence_option
@click.option("--resamples", default=200, show_default=True, help="--intervals bootstrap: how many.")
@click.option("--seed", default=0, show_default=True, help="The same seed draws the same items (bootstrap).")
@click.option(
    "--style", help="What else differs between the sides, such as length: columns length_left and length_right, or length."
)
@click.option("--group", help="Column: a ranking for each group besides.")
@click.option(
    "--cluster",
    help="Column of the question (or prompt): answers to one are alike, and intervals allow for it. Found by name otherwise.",
)
@click.option("--next", "next_pairs", type=int, help="Name this many pairs to compare next.")
@click.option("--left-column", help="Column of the left one, or several, separated by commas; found by name otherwise.")
@click.option("--right-column", help="Column of the right one; the same where one cell holds both names.")
@click.option(
    "--winner-column",
    help="Column of the winner: left, right, a name, tie or both bad. Or two columns of numbers, separated by a comma, the "
    "left's first: the larger wins.",
)
@click.option("--worker-column", help="Column of who compared; there need be none.")
@click.option(
    "--worker-columns",
    help="Every worker has a column that says who won: their names or patterns such as 'rater*', separated by commas.",
)
@click.option(
    "--winners",
    default="auto",
    show_default=True,
    help="Whether winners are sides (left, model_a) or names: auto, side or name; or what codes mean, such as "
    "'P=left,I=tie,NA=none', or the signs of numbers, such as '-=left,0=tie,+=right'.",
)
@reading_option("sheet")
@reading_option("encoding")
@click.option("--no-header", is_flag=True, help="The first row names no columns: they are named by number, from 1.")
@click.option("--max-iter", default=200, show_default=True, help="Steps of Newton's method.")
@RANK.options
def rank(pairs: Path, **options: Any) -> int:
    """Rank what was compared two at a time in PAIRS: scores with intervals, ties, and how reliable each worker is."""
    return RANK.run(pairs, options, lambda: prepare(pairs, options))


def prepare(path: Path, options: dict[str, Any]) -> tuple[str, Callable[[], StudyView]]:
    """Check the options and read the comparisons; return what fits them."""
    from crowdassay.ranking.bradley_terry import BradleyTerry
    from crowdassay.ranking.page import RankingView
    from crowdassay.ranking.pairs import read_pairs

    if options["next_pairs"] is not None and options["next_pairs"] < 1:
        raise ParameterError("--next needs a number of at least 1.")
    model = BradleyTerry(
        position=not options["no_position"],
        reliability=not options["no_reliability"],
        prior=_prior(options["prior"]),
        **{name: options[name] for name in RANK_SETTINGS},
    )
    reading = {name: options[name] for name in PAIR_READING}
    pairs = read_pairs(
        path, group_column=options["group"], question_column=options["cluster"], style=split(options["style"]), **reading
    )
    return "Ranking ...", lambda: RankingView(model.fit(pairs), options["next_pairs"])


def _prior(given: str | None) -> float | str | None:
    if given is None or given == "estimated":
        return "estimated"
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError:
        raise ParameterError(f"--prior needs a number, none or estimated, not '{given}'.") from None
