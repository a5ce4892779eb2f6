"""Muon: momentum whose update is turned into the nearest orthogonal matrix (Jordan et al., 2024).

`torch.optim.Muon` treats one matrix after another, some thirty small kernels each. The matrices of a
transformer have only a few shapes, so here all those of one shape go through every operation together.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

# Coefficients of the quintic Newton-Schulz iteration, from the method's authors.
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
MOMENTUM = 0.95


def orthogonalise(matrices: Tensor) -> Tensor:
    """Push the singular values of each matrix of a stack towards one."""
    a, b, c = QUINTIC
    wide = matrices.bfloat16()
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = a * wide + (b * gram + c * gram @ gram) @ wide
    return wide


class Muon(torch.optim.Optimizer):
    """Muon with Nesterov momentum and decoupled weight decay; updates are scaled to the size AdamW's have."""

    def __init__(self, matrices: Iterable[Tensor], lr: float = 0.0, weight_decay: float = 0.0):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})
        self.stacks: dict[tuple[int, int], list[Tensor]] = {}
        for matrix in self.param_groups[0]["params"]:
            self.stacks.setdefault(tuple(matrix.shape), []).append(matrix)
        self.momenta = {
            shape: torch.zeros(len(stack), *shape, device=stack[0].device) for shape, stack in self.stacks.items()
        }

    @torch.no_grad()
    def step(self) -> None:
        """Update every matrix from its gradient."""
        group = self.param_groups[0]
        for shape, stack in self.stacks.items():
            gradients = torch.stack([matrix.grad for matrix in stack])
            momentum = self.momenta[shape].lerp_(gradients, 1 - MOMENTUM)
            ahead = gradients.lerp_(momentum, MOMENTUM)
            tall = shape[0] > shape[1]
            update = orthogonalise(ahead.mT if tall else ahead)
            update = (update.mT if tall else update).float() * (-group["lr"] * 0.2 * max(shape) ** 0.5)
            torch._foreach_mul_(stack, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_add_(stack, list(update.unbind()))
