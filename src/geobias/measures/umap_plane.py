"""A projection to two dimensions for figures. It distorts distances: measure with `neighbours`."""

from __future__ import annotations

import warnings

import numpy as np

from geobias.errors import InputError


def umap_plane(points: np.ndarray, *, neighbours: int, seed: int) -> np.ndarray:
    """Project points to two dimensions with UMAP and the cosine distance (McInnes et al. 2018).

    Deterministic for the same points and seed, but sensitive to differences in the ninth digit.
    """
    try:
        import umap  # slow to import, and an extra
    except ImportError:
        raise InputError("The plane is drawn by umap-learn, which is not here: pip install 'geobias[space]'.") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed means one thread
        reducer = umap.UMAP(n_neighbors=neighbours, metric="cosine", random_state=seed)
        return np.asarray(reducer.fit_transform(points), dtype=np.float64)
