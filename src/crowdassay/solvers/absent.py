"""Classes that nobody chose take no part."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine

NEVER = -700.0  # a log probability that is as good as none, and whose exponential is still a number


def without_absent(log_prior: FloatArray, engine: Engine) -> FloatArray:
    """Return a class prior (n_classes,) under which classes without a label or a known item have no chance.

    Nothing is known of how workers label them, and a class about which nothing is known would explain any labels.
    """
    return np.where(engine.class_counts > 0, log_prior, NEVER)
