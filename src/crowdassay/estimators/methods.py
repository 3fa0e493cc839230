"""The methods by name, for the command line and for choosing between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.estimators.assay import Assay
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.coins import MeanField, OneCoin, ProjectedEM, TwoCoin
from crowdassay.estimators.dawid_skene import DawidSkene, DawidSkeneMeanField
from crowdassay.estimators.eigenvectors import EigenvectorRatio, SingularVector
from crowdassay.estimators.glad import GLAD
from crowdassay.estimators.latent_trait import LatentTraitAnalysis
from crowdassay.estimators.mace import MACE
from crowdassay.estimators.message_passing import KOS, BeliefPropagation
from crowdassay.estimators.minimax import MinimaxEntropy
from crowdassay.estimators.mmsr import MMSR
from crowdassay.estimators.spectral import SpectralDawidSkene
from crowdassay.estimators.votes import GoldMajority, MajorityVote, Wawa, ZeroBasedSkill
from crowdassay.estimators.welinder import Welinder
from crowdassay.labels.values import no_such


@dataclass(frozen=True)
class Preset:
    """A name on the command line: an estimator with some parameters set.

    Attributes
    ----------
    name, summary : str
    estimator : type
    preset : mapping
        Parameters that make this method out of its estimator.
    ordered : bool
        Whether the method takes the classes as an ordered scale.
    """

    name: str
    summary: str
    estimator: type[Estimator]
    preset: Mapping[str, Any]
    ordered: bool = False

    def make(self, **options: Any) -> Estimator:
        """Return the estimator with these options; one it does not have is refused by name."""
        estimator = self.estimator(**self.preset)
        known = set(estimator.get_params()) - set(self.preset)
        for option in options:
            if option not in known:
                takes = ", ".join(sorted(known)) or "no options"
                raise ParameterError(f"The method '{self.name}' has no {option}; it takes {takes}.")
        return estimator.set_params(**options)


METHODS = {
    method.name: method
    for method in (
        Preset(
            "assay",
            "Several models pooled; labels count for what real crowds have shown; known items correct both.",
            Assay,
            {},
        ),
        Preset("majority", "The class with the most labels; its share of the votes is the probability.", MajorityVote, {}),
        Preset("wawa", "A vote weighted by how often each worker agrees with the majority.", Wawa, {}),
        Preset("zero-based-skill", "The same, repeated until weights and winners agree.", ZeroBasedSkill, {}),
        Preset("gold-majority", "A vote weighted by each worker's share of right answers on known items.", GoldMajority, {}),
        Preset("mace", "Each worker knows the class or answers by habit (Hovy et al. 2013).", MACE, {}),
        Preset("mmsr", "A vote weighted by skills from pairs of workers, outliers ignored (Ma, Olshevsky 2020).", MMSR, {}),
        Preset("dawid-skene", "A confusion table for each worker, by maximum likelihood (EM).", DawidSkene, {}),
        Preset(
            "dawid-skene-mean-field",
            "A confusion table for each worker, averaged over (variational Bayes), with a prior chosen by its bound.",
            DawidSkeneMeanField,
            {},
        ),
        Preset("glad", "An ability for each worker, multiplied by an easiness of each item (Whitehill 2009).", GLAD, {}),
        Preset(
            "glad-confusion",
            "A confusion table for each worker, sharpened or blurred by each item (Mineiro 2011).",
            GLAD,
            {"confusion": True},
        ),
        Preset(
            "latent-trait",
            "Ordered classes: thresholds of each worker on a common scale, a polytomous Rasch model (Mineiro 2011).",
            LatentTraitAnalysis,
            {},
            ordered=True,
        ),
        Preset(
            "minimax",
            "A confusion table for each worker and each item (Zhou et al. 2015), classes unordered.",
            MinimaxEntropy,
            {"structure": "nominal"},
        ),
        Preset(
            "minimax-ordinal",
            "The same for ordered classes: neighbours are confused more easily than distant classes.",
            MinimaxEntropy,
            {"structure": "ordinal"},
            ordered=True,
        ),
        Preset(
            "minimax-2012",
            "The earlier form of minimax: an item leans towards labels, whatever its class (Zhou et al. 2012).",
            MinimaxEntropy,
            {"structure": "nominal", "item_structure": "response"},
        ),
        Preset(
            "minimax-centred",
            "Minimax with the penalty centred on each worker's own means (Equation 13 of the paper).",
            MinimaxEntropy,
            {"centred": True},
        ),
        Preset(
            "minimax-deterministic",
            "Minimax without regularisation and with certain labels (section 2 of the paper).",
            MinimaxEntropy,
            {"label_entropy": False, "alpha": 0.0, "beta": 0.0},
        ),
        Preset("one-coin", "One probability of being right for each worker, by EM.", OneCoin, {}),
        Preset("two-coin", "One probability of being right for each worker and class, by EM.", TwoCoin, {}),
        Preset("projected-em", "One coin, accuracies kept away from 0 and 1 (Gao, Zhou 2014).", ProjectedEM, {}),
        Preset("mean-field", "One coin with a beta prior, by variational Bayes (Liu, Peng, Ihler 2012).", MeanField, {}),
        Preset(
            "belief-propagation",
            "One coin with a beta prior, by belief propagation; two classes (Liu, Peng, Ihler 2012).",
            BeliefPropagation,
            {},
        ),
        Preset("kos", "Message passing between items and workers; two classes (Karger, Oh, Shah 2011).", KOS, {}),
        Preset(
            "singular-vector",
            "Signs of the labels' leading singular vector; two classes (Ghosh, Kale, McAfee 2011).",
            SingularVector,
            {},
        ),
        Preset(
            "eigenvector-ratio",
            "A vote weighted by how pairs of workers agree; two classes (Dalvi et al. 2013).",
            EigenvectorRatio,
            {},
        ),
        Preset(
            "spectral-dawid-skene",
            "Dawid-Skene, EM started from third moments of the labels (Zhang et al. 2014).",
            SpectralDawidSkene,
            {},
        ),
        Preset(
            "welinder",
            "Items in a space that each worker cuts by a plane; two classes (Welinder et al. 2010).",
            Welinder,
            {},
        ),
    )
}


def find_method(name: str) -> Preset:
    """Return the method of that name, or say which there are."""
    if name not in METHODS:
        raise ParameterError(no_such("method", name, METHODS))
    return METHODS[name]
