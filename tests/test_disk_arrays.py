"""Arrays written piece by piece are the same in memory and on disk, and leave no file behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geobias import files
from geobias.errors import InputError
from geobias.files import DiskArray, cache_folder, read_block
from tests.conftest import posix_only


def write_pieces(count: int) -> np.ndarray:
    array = DiskArray(np.int32, (2,))
    for i in range(count):
        array.append(np.full((3, 2), i))
    return array.finish()


def test_the_same_in_memory_and_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = write_pieces(20)
    monkeypatch.setattr(files, "LARGEST_IN_MEMORY", 100)
    on_disk = write_pieces(20)
    assert isinstance(on_disk, np.memmap) and not isinstance(in_memory, np.memmap)
    np.testing.assert_array_equal(on_disk, in_memory)
    np.testing.assert_array_equal(read_block(on_disk, slice(5, 9)), in_memory[5:9])
    np.testing.assert_array_equal(read_block(on_disk.reshape(20, 3, 2), slice(5, 9)), in_memory.reshape(20, 3, 2)[5:9])
    assert not [path for path in cache_folder().iterdir() if path.is_file()]


def test_nothing_appended_is_an_empty_array() -> None:
    assert write_pieces(0).shape == (0, 2)


def test_a_cache_that_cannot_be_written_is_replaced_by_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("cache") / "file"
    file.write_text("")
    in_memory = write_pieces(20)
    monkeypatch.setenv("GEOBIAS_CACHE", str(file))
    monkeypatch.setattr(files, "LARGEST_IN_MEMORY", 100)
    np.testing.assert_array_equal(write_pieces(20), in_memory)


@posix_only
def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_IN_MEMORY", 100)
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(files, "_open_temporary_file", lambda: full)
        with pytest.raises(InputError, match=r"Cannot write .* No space left on device"):
            write_pieces(20)
