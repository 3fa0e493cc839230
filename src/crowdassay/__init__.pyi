# The public names and where they live. `__init__.py` reads this file, so that there is one list of them.

from crowdassay.checks.simulate import simulate as simulate
from crowdassay.errors import CrowdassayError as CrowdassayError
from crowdassay.errors import CrowdassayWarning as CrowdassayWarning
from crowdassay.estimators.assay import Assay as Assay
from crowdassay.estimators.assay import aggregate as aggregate
from crowdassay.estimators.coins import MACE as MACE
from crowdassay.estimators.coins import MeanField as MeanField
from crowdassay.estimators.coins import OneCoin as OneCoin
from crowdassay.estimators.coins import ProjectedEM as ProjectedEM
from crowdassay.estimators.coins import TwoCoin as TwoCoin
from crowdassay.estimators.compare import Comparison as Comparison
from crowdassay.estimators.compare import compare as compare
from crowdassay.estimators.dawid_skene import DawidSkene as DawidSkene
from crowdassay.estimators.dawid_skene import DawidSkeneMeanField as DawidSkeneMeanField
from crowdassay.estimators.dawid_skene import SpectralDawidSkene as SpectralDawidSkene
from crowdassay.estimators.eigenvectors import MMSR as MMSR
from crowdassay.estimators.eigenvectors import EigenvectorRatio as EigenvectorRatio
from crowdassay.estimators.eigenvectors import SingularVector as SingularVector
from crowdassay.estimators.load import load_model as load_model
from crowdassay.estimators.message_passing import KOS as KOS
from crowdassay.estimators.message_passing import BeliefPropagation as BeliefPropagation
from crowdassay.estimators.minimax import MinimaxEntropy as MinimaxEntropy
from crowdassay.estimators.raykar import RaykarClassifier as RaykarClassifier
from crowdassay.estimators.scaled import GLAD as GLAD
from crowdassay.estimators.scaled import LatentTraitAnalysis as LatentTraitAnalysis
from crowdassay.estimators.select import grid as grid
from crowdassay.estimators.select import select as select
from crowdassay.estimators.votes import GoldMajority as GoldMajority
from crowdassay.estimators.votes import MajorityVote as MajorityVote
from crowdassay.estimators.votes import Wawa as Wawa
from crowdassay.estimators.votes import ZeroBasedSkill as ZeroBasedSkill
from crowdassay.estimators.welinder import Welinder as Welinder
from crowdassay.findings.agreement import Agreement as Agreement
from crowdassay.findings.agreement import agreement as agreement
from crowdassay.judges.rate import rate as rate
from crowdassay.judges.rated import Rated as Rated
from crowdassay.labels.datasets.load import load_dataset as load_dataset
from crowdassay.labels.files import read_labels as read_labels
from crowdassay.labels.frames import as_labels as as_labels
from crowdassay.labels.labels import Labels as Labels
from crowdassay.measurement.facets import ManyFacet as ManyFacet
from crowdassay.measurement.rasch import PartialCredit as PartialCredit
from crowdassay.measurement.rasch import Rasch as Rasch
from crowdassay.measurement.rasch import RatingScale as RatingScale
from crowdassay.models.structures import Structure as Structure
from crowdassay.models.structures import reference_sets as reference_sets
from crowdassay.planning.plan import Planned as Planned
from crowdassay.planning.plan import plan as plan
from crowdassay.planning.sizing import Sizing as Sizing
from crowdassay.planning.sizing import size_job as size_job
from crowdassay.ranking.bradley_terry import BradleyTerry as BradleyTerry
from crowdassay.results.result import Result as Result

__version__: str
__all__: list[str]

def __dir__() -> list[str]: ...
