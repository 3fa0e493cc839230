"""Labels whose names try to break out of a page."""

import numpy as np
import pyarrow as pa

from crowdassay.labels.labels import Labels
from crowdassay.labels.report import ImportReport
from support.crowds import draw_workers

NAMES = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "{{ 7 * 7 }}",
    "\u2028alert(1)\u2029",
    "\u202egnp.exe\u202c",
    "שלום",
    "long " * 2000,
    "👩‍👩‍👧",
    "line\nbreak\ttab\x00",
    "",
)


def hostile_labels() -> Labels:
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=60, n_workers=len(NAMES), labels_per_item=6, spammers=2)
    return Labels.from_codes(
        labels.label_item,
        labels.worker,
        labels.label,
        items=pa.array([f"{NAMES[j % len(NAMES)]}{j}" for j in range(60)]),
        workers=pa.array(NAMES),
        classes=pa.array(NAMES[:3]),
        report=ImportReport(source=NAMES[0], notes=(NAMES[1],)),
    )
