"""Pools that mean nothing, for tests of what is done with them."""

from __future__ import annotations

import numpy as np

from crowdassay.solvers.assay.pool import Pool


def a_pool(labels, seed=0, **more):
    generator, n_classes = np.random.default_rng(seed), labels.n_classes
    return Pool(
        tables=generator.normal(size=(labels.n_workers, n_classes, n_classes)),
        stranger=generator.normal(size=(n_classes, n_classes)),
        offset=generator.normal(size=n_classes),
        bias=generator.normal(size=n_classes),
        vote=0.3,
        correlation=0.5,
        many=50.0,
        label_weight=generator.random(labels.n_workers),
        stranger_weight=0.7,
        few=2.0,
        growth=0.5,
        **more,
    )
