"""Labels as they are sent to a store, and as they are in it."""

from crowdassay.service.store.labels import list_labels


def one(item="i1", worker="ann", label="yes", **more):
    return {"item": item, "worker": worker, "label": label, **more}


def stored(store):
    with store.home.read() as session:
        return [(row.key, row.item, row.worker, row.label) for row in list_labels(session, 0, 10_000)]
