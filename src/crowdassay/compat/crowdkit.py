"""crowd-kit's classification and pairwise classes: change the import line and keep the rest.

>>> from crowdassay.compat.crowdkit import MajorityVote
>>> import pandas as pd
>>> frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": [0, 0, 1]})
>>> MajorityVote().fit_predict(frame).to_dict()
{'a': 0, 'b': 1}
"""

from __future__ import annotations

from crowdassay.compat.crowdkit_models import GLAD, KOS, MACE, DawidSkene, OneCoinDawidSkene
from crowdassay.compat.crowdkit_pairwise import BradleyTerry, NoisyBradleyTerry
from crowdassay.compat.crowdkit_votes import MMSR, GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "BradleyTerry",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]
