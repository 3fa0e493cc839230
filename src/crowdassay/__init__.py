"""Turn many noisy labels into true labels with honest probabilities, and measure who gave them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crowdassay.version import VERSION

if TYPE_CHECKING:
    from crowdassay.checks.simulate import simulate
    from crowdassay.errors import CrowdassayError, CrowdassayWarning
    from crowdassay.estimators.aggregate import aggregate
    from crowdassay.estimators.assay import Assay
    from crowdassay.estimators.belief_propagation import BeliefPropagation
    from crowdassay.estimators.coins import OneCoin, ProjectedEM, TwoCoin
    from crowdassay.estimators.compare import compare
    from crowdassay.estimators.dawid_skene import DawidSkene
    from crowdassay.estimators.dawid_skene_mean_field import DawidSkeneMeanField
    from crowdassay.estimators.eigenvector_ratio import EigenvectorRatio
    from crowdassay.estimators.glad import GLAD
    from crowdassay.estimators.kos import KOS
    from crowdassay.estimators.latent_trait import LatentTraitAnalysis
    from crowdassay.estimators.load import load_model
    from crowdassay.estimators.mace import MACE
    from crowdassay.estimators.majority import MajorityVote
    from crowdassay.estimators.mean_field import MeanField
    from crowdassay.estimators.minimax import MinimaxEntropy
    from crowdassay.estimators.mmsr import MMSR
    from crowdassay.estimators.raykar import RaykarClassifier
    from crowdassay.estimators.selection.choose import select
    from crowdassay.estimators.selection.compare import Comparison
    from crowdassay.estimators.selection.select import grid
    from crowdassay.estimators.singular_vector import SingularVector
    from crowdassay.estimators.spectral import SpectralDawidSkene
    from crowdassay.estimators.weighted_vote import GoldMajority, Wawa, ZeroBasedSkill
    from crowdassay.estimators.welinder import Welinder
    from crowdassay.findings.agreement import Agreement, agreement
    from crowdassay.judges.rate import rate
    from crowdassay.judges.rated import Rated
    from crowdassay.labels.datasets.load import load_dataset
    from crowdassay.labels.files import read_labels
    from crowdassay.labels.frames import as_labels
    from crowdassay.labels.labels import Labels
    from crowdassay.measurement.facets import ManyFacet
    from crowdassay.measurement.partial import PartialCredit
    from crowdassay.measurement.rasch import Rasch
    from crowdassay.measurement.rating import RatingScale
    from crowdassay.models.structures import Structure, reference_sets
    from crowdassay.planning.plan import Planned, plan
    from crowdassay.planning.sizing import Sizing, size_job
    from crowdassay.ranking.bradley_terry import BradleyTerry
    from crowdassay.results.result import Result

__version__ = VERSION

_HOMES = {
    "Assay": "crowdassay.estimators.assay",
    "Agreement": "crowdassay.findings.agreement",
    "BeliefPropagation": "crowdassay.estimators.belief_propagation",
    "BradleyTerry": "crowdassay.ranking.bradley_terry",
    "Comparison": "crowdassay.estimators.selection.compare",
    "CrowdassayError": "crowdassay.errors",
    "CrowdassayWarning": "crowdassay.errors",
    "DawidSkene": "crowdassay.estimators.dawid_skene",
    "DawidSkeneMeanField": "crowdassay.estimators.dawid_skene_mean_field",
    "EigenvectorRatio": "crowdassay.estimators.eigenvector_ratio",
    "GLAD": "crowdassay.estimators.glad",
    "GoldMajority": "crowdassay.estimators.weighted_vote",
    "KOS": "crowdassay.estimators.kos",
    "Labels": "crowdassay.labels.labels",
    "LatentTraitAnalysis": "crowdassay.estimators.latent_trait",
    "MACE": "crowdassay.estimators.mace",
    "MMSR": "crowdassay.estimators.mmsr",
    "MajorityVote": "crowdassay.estimators.majority",
    "ManyFacet": "crowdassay.measurement.facets",
    "MeanField": "crowdassay.estimators.mean_field",
    "MinimaxEntropy": "crowdassay.estimators.minimax",
    "OneCoin": "crowdassay.estimators.coins",
    "PartialCredit": "crowdassay.measurement.partial",
    "Planned": "crowdassay.planning.plan",
    "ProjectedEM": "crowdassay.estimators.coins",
    "Rasch": "crowdassay.measurement.rasch",
    "Rated": "crowdassay.judges.rated",
    "RatingScale": "crowdassay.measurement.rating",
    "RaykarClassifier": "crowdassay.estimators.raykar",
    "Result": "crowdassay.results.result",
    "SingularVector": "crowdassay.estimators.singular_vector",
    "Sizing": "crowdassay.planning.sizing",
    "SpectralDawidSkene": "crowdassay.estimators.spectral",
    "Structure": "crowdassay.models.structures",
    "TwoCoin": "crowdassay.estimators.coins",
    "Wawa": "crowdassay.estimators.weighted_vote",
    "Welinder": "crowdassay.estimators.welinder",
    "ZeroBasedSkill": "crowdassay.estimators.weighted_vote",
    "aggregate": "crowdassay.estimators.aggregate",
    "agreement": "crowdassay.findings.agreement",
    "as_labels": "crowdassay.labels.frames",
    "compare": "crowdassay.estimators.compare",
    "grid": "crowdassay.estimators.selection.select",
    "load_dataset": "crowdassay.labels.datasets.load",
    "load_model": "crowdassay.estimators.load",
    "plan": "crowdassay.planning.plan",
    "rate": "crowdassay.judges.rate",
    "read_labels": "crowdassay.labels.files",
    "reference_sets": "crowdassay.models.structures",
    "select": "crowdassay.estimators.selection.choose",
    "simulate": "crowdassay.checks.simulate",
    "size_job": "crowdassay.planning.sizing",
}

__all__ = [  # noqa: RUF022  plain order
    "Agreement",
    "Assay",
    "BeliefPropagation",
    "BradleyTerry",
    "Comparison",
    "CrowdassayError",
    "CrowdassayWarning",
    "DawidSkene",
    "DawidSkeneMeanField",
    "EigenvectorRatio",
    "GLAD",
    "GoldMajority",
    "KOS",
    "Labels",
    "LatentTraitAnalysis",
    "MACE",
    "MMSR",
    "MajorityVote",
    "ManyFacet",
    "MeanField",
    "MinimaxEntropy",
    "OneCoin",
    "PartialCredit",
    "Planned",
    "ProjectedEM",
    "Rasch",
    "Rated",
    "RatingScale",
    "RaykarClassifier",
    "Result",
    "SingularVector",
    "Sizing",
    "SpectralDawidSkene",
    "Structure",
    "TwoCoin",
    "Wawa",
    "Welinder",
    "ZeroBasedSkill",
    "aggregate",
    "agreement",
    "as_labels",
    "compare",
    "grid",
    "load_dataset",
    "load_model",
    "plan",
    "rate",
    "read_labels",
    "reference_sets",
    "select",
    "simulate",
    "size_job",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that the import stays quick and needs no extra."""
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdassay' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
