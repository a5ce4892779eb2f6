"""Triton kernels for GPUs: what torch does in several passes over the same numbers, in one.

Attention kernels work on blocks of 64 or 128 tokens, so a sentence of ten leaves most of a block empty. With
TRITON_INTERPRET=1 they run on a processor, slowly: that is how they are tested.
"""

from __future__ import annotations

import os
from functools import cache

import torch

try:
    import triton
    import triton.language as tl
except ImportError:  # no GPU here, or none that Triton knows
    triton = None
try:
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:  # an older Triton
    TensorDescriptor = None

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
BLOCKS = (64, 128)  # tokens that attention looks at together
MIN_WIDTH = 16  # of a product
LOG2_E = 1.4426950408889634


def ready(numbers: torch.Tensor) -> bool:
    """Whether the kernels can be had where these numbers are."""
    return triton is not None and (numbers.is_cuda or INTERPRETED) and _compiles(numbers.device)


@cache
def _compiles(device: torch.device) -> bool:
    """Triton needs a C compiler, and a GPU that is not too old."""
    try:
        return bool(log_sum(torch.zeros(1, 2, device=device)).isfinite().all())
    except Exception:  # it fails in as many ways as there are machines
        return False


def sums_best_in_kernel(weight: torch.Tensor) -> bool:
    """Whether `projected_log_sum` is for this projection: NVIDIA's newer GPUs are fast at it, in half precision."""
    half = weight.dtype in (torch.bfloat16, torch.float16)
    if not ready(weight) or TensorDescriptor is None or torch.version.hip or not half or weight.shape[1] % 8:
        return False
    return INTERPRETED or torch.cuda.get_device_capability(weight.device) >= (9, 0)


def attends(query: torch.Tensor, key: torch.Tensor) -> bool:
    """Whether `attention_within` is for texts of this length; longer ones fill torch's own blocks."""
    return ready(query) and key.shape[2] <= _longest(query.device, query.dtype, query.shape[3])


@cache
def _longest(device: torch.device, dtype: torch.dtype, width: int) -> int:
    """The largest block that this GPU has room for; large ones of float32 are slow, and slow to compile."""
    longest = 0
    for block in BLOCKS if dtype.itemsize == 2 else BLOCKS[:1]:
        states = torch.ones(1, 1, block, width, dtype=dtype, device=device)
        try:
            attention_within(states, states, states)
        except Exception:  # as above
            break
        longest = block
    return longest


def attention_within(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None = None
) -> torch.Tensor:
    """texts x heads x tokens x width in, texts x tokens x heads x width out; for texts that it `attends` to."""
    texts, heads, tokens, width = query.shape
    output = torch.empty(texts, tokens, heads, width, dtype=query.dtype, device=query.device)
    block = next(size for size in BLOCKS if tokens <= size)
    together = block // tokens
    strides = [stride for states in (query, key, value, output.transpose(1, 2)) for stride in states.stride()[:3]]
    _attention_kernel[(heads, triton.cdiv(texts, together))](
        *(query, key, value, output, *strides, texts, tokens, together),
        (width**-0.5 if scale is None else scale) * LOG2_E,
        USED=width,
        BLOCK=block,
        WIDTH=max(MIN_WIDTH, triton.next_power_of_2(width)),
    )
    return output


def log_sum(logits: torch.Tensor) -> torch.Tensor:
    """log of the sum of exp over each row, in float32."""
    output = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    _log_sum_kernel[(len(logits),)](logits, output, logits.shape[1], logits.stride(0), BLOCK=8192, num_warps=8)
    return output


def projected_log_sum(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same for states before their projection, whose numbers are never written down."""
    rows, words, width = 128, 256, 64
    states = states.contiguous()
    programs = torch.cuda.get_device_properties(states.device).multi_processor_count if states.is_cuda else 2
    output = torch.empty(len(states), triton.cdiv(len(weight), words), dtype=torch.float32, device=states.device)
    _projected_log_sum_kernel[(programs,)](
        TensorDescriptor.from_tensor(states, [rows, width]),
        TensorDescriptor.from_tensor(weight, [words, width]),
        *(bias, output, len(states), len(weight), states.shape[1]),
        **{"ROWS": rows, "WORDS": words, "WIDTH": width, "TOGETHER": 8, "PROGRAMS": programs},
        num_warps=8,
    )
    return output.logsumexp(1)


def projected_at(
    states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, rows: torch.Tensor, words: torch.Tensor
) -> torch.Tensor:
    """The numbers of single words at single states, in float32."""
    states = states.contiguous()
    output = torch.empty(len(rows), dtype=torch.float32, device=states.device)
    width = states.shape[1]
    block = triton.next_power_of_2(width)
    _projected_at_kernel[(len(rows),)](states, weight, bias, rows, words, output, width, BLOCK=block, num_warps=2)
    return output


if triton is not None:

    @triton.jit(do_not_specialize=["texts", "tokens", "together"])  # type: ignore[untyped-decorator, unused-ignore]
    def _attention_kernel(  # type: ignore[no-untyped-def]
        query,
        key,
        value,
        output,
        query_text,
        query_head,
        query_token,
        key_text,
        key_head,
        key_token,
        value_text,
        value_head,
        value_token,
        output_text,
        output_head,
        output_token,
        texts,
        tokens,
        together,
        scale,
        USED: tl.constexpr,
        BLOCK: tl.constexpr,
        WIDTH: tl.constexpr,
    ):
        """One head of as many texts as fit into a block; every token looks at those of its own text."""
        head = tl.program_id(0)
        row = tl.arange(0, BLOCK)
        column = tl.arange(0, WIDTH)[None, :]
        first = tl.program_id(1).to(tl.int64) * together
        owner = row // tokens  # the text of a token
        has_token = (owner < together) & (first + owner < texts)
        text, token = (first + owner)[:, None], (row % tokens)[:, None]
        inside = has_token[:, None] & (column < USED)
        keys = tl.load(key + text * key_text + head * key_head + token * key_token + column, inside, 0.0)
        values = tl.load(value + text * value_text + head * value_head + token * value_token + column, inside, 0.0)
        queries = tl.load(query + text * query_text + head * query_head + token * query_token + column, inside, 0.0)
        weights = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        weights = tl.where((owner[:, None] == owner[None, :]) & has_token[None, :], weights, -1e30)
        weights = tl.exp2(weights - tl.max(weights, axis=1)[:, None])
        weights = (weights / tl.sum(weights, axis=1)[:, None]).to(values.dtype)
        mixed = tl.dot(weights, values, input_precision="ieee").to(values.dtype)
        tl.store(output + text * output_text + head * output_head + token * output_token + column, mixed, mask=inside)

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _log_sum_kernel(logits, output, words, stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """One row: a running maximum and a running sum, block by block."""
        row = tl.program_id(0).to(tl.int64)
        largest = -float("inf")
        total = 0.0
        for start in range(0, words, BLOCK):
            word = start + tl.arange(0, BLOCK)
            block = tl.load(logits + row * stride + word, mask=word < words, other=-float("inf")).to(tl.float32)
            higher = tl.maximum(largest, tl.max(block, axis=0))
            total = total * tl.exp(largest - higher) + tl.sum(tl.exp(block - higher), axis=0)
            largest = higher
        tl.store(output + row, largest + tl.log(total))

    @triton.jit(do_not_specialize=["count"])  # type: ignore[untyped-decorator, unused-ignore]
    def _projected_log_sum_kernel(  # type: ignore[no-untyped-def]
        states,
        weight,
        bias,
        output,
        count,
        vocabulary,
        inner,
        ROWS: tl.constexpr,
        WORDS: tl.constexpr,
        WIDTH: tl.constexpr,
        TOGETHER: tl.constexpr,
        PROGRAMS: tl.constexpr,
    ):
        """Tiles of some rows and some words; a few rows go with all words first, and then stay in the cache."""
        down, across = tl.cdiv(count, ROWS), tl.cdiv(vocabulary, WORDS)
        for tile in tl.range(tl.program_id(0), down * across, PROGRAMS, flatten=True):
            above = tile // (TOGETHER * across) * TOGETHER
            within = tile % (TOGETHER * across)
            height = tl.minimum(down - above, TOGETHER)
            first_row, block = (above + within % height) * ROWS, within // height
            logits = tl.zeros((ROWS, WORDS), dtype=tl.float32)
            for start in range(0, inner, WIDTH):
                left, right = states.load([first_row, start]), weight.load([block * WORDS, start])
                logits = tl.dot(left, tl.trans(right), logits, input_precision="ieee")
            word = block * WORDS + tl.arange(0, WORDS)
            logits += tl.load(bias + word, mask=word < vocabulary, other=-float("inf")).to(tl.float32)[None, :]
            largest = tl.max(logits, axis=1)
            total = tl.sum(tl.exp(logits - largest[:, None]), axis=1)
            row = first_row + tl.arange(0, ROWS)
            tl.store(output + row.to(tl.int64) * across + block, largest + tl.log(total), mask=row < count)

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _projected_at_kernel(states, weight, bias, rows, words, output, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """One word at one state."""
        column = tl.arange(0, BLOCK)
        row, word = tl.load(rows + tl.program_id(0)), tl.load(words + tl.program_id(0))
        state = tl.load(states + row * width + column, mask=column < width, other=0.0).to(tl.float32)
        embedding = tl.load(weight + word * width + column, mask=column < width, other=0.0).to(tl.float32)
        tl.store(output + tl.program_id(0), tl.sum(state * embedding, axis=0) + tl.load(bias + word).to(tl.float32))
