"""The methods by name, for the command line and for choosing between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.estimators.assay import Assay
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.coins import MACE, MeanField, OneCoin, ProjectedEM, TwoCoin
from crowdassay.estimators.dawid_skene import DawidSkene, DawidSkeneMeanField, SpectralDawidSkene
from crowdassay.estimators.eigenvectors import MMSR, EigenvectorRatio, SingularVector
from crowdassay.estimators.message_passing import KOS, BeliefPropagation
from crowdassay.estimators.minimax import MinimaxEntropy
from crowdassay.estimators.scaled import GLAD, LatentTraitAnalysis
from crowdassay.estimators.votes import GoldMajority, MajorityVote, Wawa, ZeroBasedSkill
from crowdassay.estimators.welinder import Welinder
from crowdassay.labels.values import no_such


@dataclass(frozen=True)
class Preset:
    """A name on the command line: an estimator with the parameters set that make this method out of it."""

    name: str
    estimator: type[Estimator]
    summary: str
    preset: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **options: Any) -> Estimator:
        """Return the estimator with these options; one it does not have is refused by name."""
        known = {parameter.name for parameter in fields(self.estimator)} - set(self.preset)
        for option in options:
            if option not in known:
                takes = ", ".join(sorted(known)) or "no options"
                raise ParameterError(f"The method '{self.name}' has no {option}; it takes {takes}.")
        return self.estimator(**self.preset, **options)


PRESETS = (
    Preset("assay", Assay, "Several models pooled; labels count for what real crowds have shown; known items correct both."),
    Preset("majority", MajorityVote, "The class with the most labels; its share of the votes is the probability."),
    Preset("wawa", Wawa, "A vote weighted by how often each worker agrees with the majority."),
    Preset("zero-based-skill", ZeroBasedSkill, "The same, repeated until weights and winners agree."),
    Preset("gold-majority", GoldMajority, "A vote weighted by each worker's share of right answers on known items."),
    Preset("mace", MACE, "Each worker knows the class or answers by habit (Hovy et al. 2013)."),
    Preset("mmsr", MMSR, "A vote weighted by skills from pairs of workers, outliers ignored (Ma, Olshevsky 2020)."),
    Preset("dawid-skene", DawidSkene, "A confusion table for each worker, by maximum likelihood (EM)."),
    Preset(
        "dawid-skene-mean-field",
        DawidSkeneMeanField,
        "A confusion table for each worker, averaged over (variational Bayes), with a prior chosen by its bound.",
    ),
    Preset("glad", GLAD, "An ability for each worker, multiplied by an easiness of each item (Whitehill 2009)."),
    Preset(
        "glad-confusion",
        GLAD,
        "A confusion table for each worker, sharpened or blurred by each item (Mineiro 2011).",
        {"confusion": True},
    ),
    Preset(
        "latent-trait",
        LatentTraitAnalysis,
        "Ordered classes: thresholds of each worker on a common scale, a polytomous Rasch model (Mineiro 2011).",
    ),
    Preset(
        "minimax",
        MinimaxEntropy,
        "A confusion table for each worker and each item (Zhou et al. 2015), classes unordered.",
        {"structure": "nominal"},
    ),
    Preset(
        "minimax-ordinal",
        MinimaxEntropy,
        "The same for ordered classes: neighbours are confused more easily than distant classes.",
        {"structure": "ordinal"},
    ),
    Preset(
        "minimax-2012",
        MinimaxEntropy,
        "The earlier form of minimax: an item leans towards labels, whatever its class (Zhou et al. 2012).",
        {"structure": "nominal", "item_structure": "response"},
    ),
    Preset(
        "minimax-centred",
        MinimaxEntropy,
        "Minimax with the penalty centred on each worker's own means (Equation 13 of the paper).",
        {"centred": True},
    ),
    Preset(
        "minimax-deterministic",
        MinimaxEntropy,
        "Minimax without regularisation and with certain labels (section 2 of the paper).",
        {"label_entropy": False, "alpha": 0.0, "beta": 0.0},
    ),
    Preset("one-coin", OneCoin, "One probability of being right for each worker, by EM."),
    Preset("two-coin", TwoCoin, "One probability of being right for each worker and class, by EM."),
    Preset("projected-em", ProjectedEM, "One coin, accuracies kept away from 0 and 1 (Gao, Zhou 2014)."),
    Preset("mean-field", MeanField, "One coin with a beta prior, by variational Bayes (Liu, Peng, Ihler 2012)."),
    Preset(
        "belief-propagation",
        BeliefPropagation,
        "One coin with a beta prior, by belief propagation; two classes (Liu, Peng, Ihler 2012).",
    ),
    Preset("kos", KOS, "Message passing between items and workers; two classes (Karger, Oh, Shah 2011)."),
    Preset(
        "singular-vector",
        SingularVector,
        "Signs of the labels' leading singular vector; two classes (Ghosh, Kale, McAfee 2011).",
    ),
    Preset(
        "eigenvector-ratio", EigenvectorRatio, "A vote weighted by how pairs of workers agree; two classes (Dalvi et al. 2013)."
    ),
    Preset(
        "spectral-dawid-skene",
        SpectralDawidSkene,
        "Dawid-Skene, EM started from third moments of the labels (Zhang et al. 2014).",
    ),
    Preset("welinder", Welinder, "Items in a space that each worker cuts by a plane; two classes (Welinder et al. 2010)."),
)
METHODS = {method.name: method for method in PRESETS}


def find_method(name: str) -> Preset:
    """Return the method of that name, or say which there are."""
    if name not in METHODS:
        raise ParameterError(no_such("method", name, METHODS))
    return METHODS[name]
