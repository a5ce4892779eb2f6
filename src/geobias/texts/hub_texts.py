"""Texts from the Hugging Face Hub: files by `hf://` paths, and datasets by name.

    hf://datasets/OWNER/NAME/path/to/file.parquet     one file; @REVISION may follow NAME, also @refs/pr/1
    datasets:OWNER/NAME:test                          a split of a dataset, read by the package datasets

A dataset may also be a folder on this machine: one that `Dataset.save_to_disk` wrote, or one of data files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from geobias.errors import InputError

HUB_PATH, DATASET = "hf://", "datasets:"


def is_hub_name(source: object) -> bool:
    """Whether texts are named by an `hf://` path or as `datasets:NAME`."""
    return isinstance(source, str) and source.startswith((HUB_PATH, DATASET))


def fetch_hub_file(path: str) -> Path:
    """The local copy of the file at an `hf://` path; it is downloaded unless the cache of the Hub has it."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    parts = path.removeprefix(HUB_PATH).split("/")
    if len(parts) > 2 and parts[2].endswith("@refs"):  # refs/pr/1, refs/convert/parquet
        parts[2:5] = ["/".join(parts[2:5])]
    if parts[0] != "datasets" or len(parts) < 4 or not all(parts):
        raise InputError(f"{path} is not a file of a dataset. Write hf://datasets/OWNER/NAME/FILE.")
    name, _, revision = parts[2].partition("@")
    try:
        file = hf_hub_download(
            f"{parts[1]}/{name}", "/".join(parts[3:]), repo_type="dataset", revision=revision or None
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise InputError(
            f"Cannot read {path} ({_shorten(error)}). Check the path, the network and your login."
        ) from None
    return Path(file)


def load_hub_dataset(name: str) -> Any:
    """A split of a dataset: `datasets:NAME`, or `datasets:NAME:SPLIT` where it has several."""
    try:
        import datasets
    except ImportError:
        raise InputError(f"{name} needs the package datasets: pip install 'geobias[datasets]'.") from None
    path, _, split = name.removeprefix(DATASET).partition(":")
    try:
        if os.path.isdir(path) and any(Path(path, file).is_file() for file in ("state.json", "dataset_dict.json")):
            dataset = datasets.load_from_disk(path)
        else:
            dataset = datasets.load_dataset(path)
    except Exception as error:  # the package raises errors of every kind
        raise InputError(
            f"Cannot read {name} ({_shorten(error)}). Check the name, the network and your login."
        ) from None
    if not isinstance(dataset, dict):
        if split:
            raise InputError(f"{name} has no splits. Write {DATASET}{path}.")
        return dataset
    splits = list(dataset)
    if not split and len(splits) == 1:
        split = splits[0]
    if split not in dataset:
        raise InputError(f"{name} has the splits {', '.join(splits)}. Choose one: {DATASET}{path}:{splits[0]}.")
    return dataset[split]


def _shorten(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
