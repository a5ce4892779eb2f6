"""Points of many dimensions on a plane (UMAP), to look at. Distances on it are not to be trusted; see `neighbours`."""

from __future__ import annotations

import warnings

import numpy as np

from geobias.errors import InputError


def umap_plane(points: np.ndarray, *, neighbours: int, seed: int) -> np.ndarray:
    """The points in two dimensions, near ones by the cosine kept near.

    The same for the same points and seed; points that differ in the ninth digit can already give another plane.
    """
    try:
        import umap  # slow to import, and an extra
    except ImportError:
        raise InputError("The plane is drawn by umap-learn, which is not here: pip install 'geobias[space]'.") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed means one thread
        reducer = umap.UMAP(n_neighbors=neighbours, metric="cosine", random_state=seed)
        return np.asarray(reducer.fit_transform(points), dtype=np.float64)
