"""How work is cut into shards for the workers of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

SHARD_SECONDS = 5.0  # how much work is lost when a worker dies
SMALLEST_SHARD, LARGEST_SHARD = 64, 2**18  # texts


@dataclass(eq=False)
class Shard:
    """A range of the texts to score, and how many workers have died while they had it."""

    start: int
    stop: int
    deaths: int = 0


class ShardQueue:
    """Cuts `count` texts into shards: each as large as `SHARD_SECONDS` allow, smaller ones at the end."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.texts_left = count
        self._next, self._size = 0, SMALLEST_SHARD
        self._returned: deque[Shard] = deque()

    @property
    def most_workers(self) -> int:
        """How many workers can have a shard at the same time."""
        return -(-self.count // SMALLEST_SHARD)

    def take(self, workers: int) -> Shard | None:
        """Return the next shard for one of so many workers; None if all are handed out."""
        if self._returned:
            return self._returned.popleft()
        rest = self.count - self._next
        if not rest:
            return None
        size = min(self._size, rest, max(SMALLEST_SHARD, rest // (2 * workers)))  # all workers end at about one time
        self._next += size
        return Shard(self._next - size, self._next)

    def give_back(self, shards: Sequence[Shard]) -> None:
        """Return shards of a worker that died; others get them next."""
        self._returned.extend(shards)

    def finish(self, shard: Shard, seconds: float) -> None:
        """Count a shard as scored, and adapt the size of later ones to how long it took."""
        texts = shard.stop - shard.start
        self.texts_left -= texts
        size = int(texts * min(SHARD_SECONDS / max(seconds, 1e-6), 4.0))  # the first ones are short and say little
        is_fast = seconds < SHARD_SECONDS
        self._size = min(max(self._size, size) if is_fast else max(size, SMALLEST_SHARD), LARGEST_SHARD)
