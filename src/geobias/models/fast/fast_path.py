"""The fast path of one model: which parts it uses (`models.fast.PARTS` says what each does), and how they are put in.

A part is used only where the switch allows it, the device has it, and it gives this model's numbers: each was tried
when the model was loaded. The base class here tries what concerns the layers of any model; language models and
classifiers try what depends on their kind and note it in the attributes.

**Packed attention** on a GPU: of many short texts of one length, as many as fit into a block go through it together.

**Packed layers**: linear layers on a CPU, with weights laid out once for oneDNN's matrix kernels and not in every
product. This takes a copy of the weights, so very large models go without.

**Does a fast part compute what this model computes?** Two correct evaluations of a half-precision model differ by about
1 %. A tolerance that lets them pass would also let a slightly different architecture pass, above all where weights are
small. So no check compares the outputs of a whole model to a loose tolerance. There are three kinds instead:

- **Exact** (`head.py`). Where both ways make the same calls on tensors of the same shapes, the bits must be equal.
  Whether a position is looked at is seen by changing it: not a bit of the output may change.
- **Random numbers in float32** (`agree`). A Triton kernel reads half precision and sums in float32. It is compared with
  a float32 reference made from the same rounded random numbers, so that the rounding of its results alone remains.
- **Beside the effect** (`small_beside`). Where all layers take part (token trees, cached prefixes) the error is
  compared with the difference that ignoring the mask, the positions or the prefix would make. It may be 0.1 % of that
  in float32, 2 % in float16 and 10 % in bfloat16, whose precision is 2^-24, 2^-11 and 2^-8. A model that ignores them
  has 100 %. Where the effect is as small as the rounding error nothing can be told, and the part is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.pytorch_utils import Conv1D

from geobias.models.fast import PARTS, PLAIN_SUFFIX, kernels
from geobias.models.model_files import use_attention

if TYPE_CHECKING:
    from geobias.models.fast.head import PositionHead

FLOAT32_TOLERANCE = 2e-5  # of the size of the outputs
SHARE_OF_EFFECT = {torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}
PACKED = "geobias_packed"  # the name under which transformers knows it
# What the kernel knows, or what changes nothing; a model that passes anything else gets torch's attention.
KNOWN_OPTIONS = {"scaling", "is_causal", "dropout", "output_attentions", "use_cache", "position_ids"}

# While a model is checked: whether each kernel that it used agreed.
_check_results: ContextVar[list[bool] | None] = ContextVar("check_results", default=None)
PACKED_DTYPES = (torch.float32, torch.bfloat16)  # the kernels of the second need a CPU with bfloat16 instructions
MAX_COPY_BYTES = 1_500_000_000  # of weights laid out anew, for one model
LAYOUT_ROWS = 1024  # the number of rows that the layout is chosen for; it serves any other

Version = tuple[float, ...]
Product = Callable[[torch.Tensor], torch.Tensor]
Replacement = tuple[Any, Callable[..., torch.Tensor]]  # a module, and what computes its output


@contextmanager
def replace_forward(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Let one module compute something else for a while; what stood there before comes back."""
    before = vars(module).get("forward")  # others may have replaced it too
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before


def can_pack(weight: torch.Tensor) -> bool:
    """Whether there are such kernels for a weight."""
    is_plain = type(weight) in (torch.Tensor, torch.nn.Parameter)
    return is_plain and weight.device.type == "cpu" and weight.dtype in PACKED_DTYPES and _kernels_work(weight.dtype)


@cache
@torch.inference_mode()
def _kernels_work(dtype: torch.dtype) -> bool:
    """Whether this torch, on this CPU, has them."""
    weight = torch.arange(64.0, dtype=dtype).view(8, 8)
    try:
        product = pack(weight, weight[0])(weight)
        return torch.equal(product, torch.nn.functional.linear(weight, weight, weight[0]))
    except Exception:  # they are not public, so versions and platforms lack them in different ways
        return False


def pack(weight: torch.Tensor, bias: torch.Tensor | None) -> Product:
    """The product of states with a weight (outputs x inputs) as it is now, plus the bias."""
    packed_weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), LAYOUT_ROWS)

    def product(states: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, packed_weight, bias, "none", [], "")
        return output

    return product


def weight_version(layer: Any) -> Version:
    """Changes with every training step, and from layer to layer: torch counts changes in place."""
    parameters = [parameter for parameter in (layer.weight, layer.bias) if parameter is not None]
    return tuple(number for each in parameters for number in (each.data_ptr(), each._version))


class PackedLayers:
    """The linear layers of a model with packed weights; the projection to the vocabulary has its own module."""

    def __init__(self, model: Any) -> None:
        output = model.get_output_embeddings()
        linear = [
            layer for layer in model.modules() if type(layer) in (torch.nn.Linear, Conv1D) and layer is not output
        ]
        self.layers = [layer for layer in linear if can_pack(layer.weight)]
        self.bytes = sum(layer.weight.nbytes for layer in self.layers)
        if self.bytes > MAX_COPY_BYTES:
            self.layers, self.bytes = [], 0
        self._products: dict[int, tuple[Version, Product]] = {}

    def products(self) -> list[Replacement]:
        """Each layer and its product; those whose weights have changed are packed again."""
        for index, layer in enumerate(self.layers):
            version = weight_version(layer)
            if index not in self._products or self._products[index][0] != version:
                weight = layer.weight.T if isinstance(layer, Conv1D) else layer.weight
                self._products[index] = version, pack(weight, layer.bias)
        return [(layer, self._products[index][1]) for index, layer in enumerate(self.layers)]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_products": {}}  # a worker packs them itself


def packed_attention(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **options: Any
) -> tuple[torch.Tensor, None]:
    """As transformers calls it: texts x heads x tokens x width in, texts x tokens x heads x width out.

    While a model is checked, random numbers go through both ways, as this module calls them.
    """
    if _kernel_serves(module, query, key, attention_mask, options):
        results, scale = _check_results.get(), options.get("scaling")
        if results is None:
            return kernels.attention_within(query, key, value, scale), None
        # Large ones, so that attention is far from uniform.
        queries, keys, values = random_numbers(3, *query.shape, scale=2.0, like=query)
        wide = queries.float(), keys.float(), values.float()
        expected, _ = sdpa_attention_forward(module, *wide, attention_mask, **options)
        actual = kernels.attention_within(queries, keys, values, scale)
        results.append(agree(expected, actual))
    output: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return output


def _kernel_serves(module: Any, query: torch.Tensor, key: torch.Tensor, mask: Any, options: dict[str, Any]) -> bool:
    is_masked = mask is not None or options.get("is_causal") or getattr(module, "is_causal", True)
    has_others = any(value is not None for name, value in options.items() if name not in KNOWN_OPTIONS)
    return not (is_masked or has_others) and key.shape == query.shape and kernels.attends(query, key)


transformers.AttentionInterface.register(PACKED, packed_attention)
AttentionMaskInterface.register(PACKED, sdpa_mask)


@torch.inference_mode()
def find_packed_attention(model: Any) -> str | None:
    """The name of this attention for a model on a GPU that gives the same numbers by it; None for any other."""
    config = model.config
    is_plain_sdpa = config._attn_implementation == "sdpa" and not config.is_encoder_decoder
    if not (is_plain_sdpa and kernels.ready(next(model.parameters()))):
        return None
    ids = torch.arange(1, 1 + 33 * 9, device=model.device).view(33, 9) % config.vocab_size
    results: list[bool] = []
    token = _check_results.set(results)
    try:
        with use_attention(model, PACKED):
            model.base_model(input_ids=ids)
    except Exception:  # architectures refuse in different ways to have their attention replaced
        return None
    finally:
        _check_results.reset(token)
    return PACKED if results and all(results) else None  # without any it is never used, as in causal models


class ModelLock:
    """A re-entrant lock around forward passes: parts replace layers of a model, and another thread may score it too.

    A copy of a model, in this process or in a worker, gets its own lock.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[ModelLock], tuple[()]]:
        return ModelLock, ()


class FastPath:
    """The parts in use for one model on its present device."""

    def __init__(self, model: Any, allowed: frozenset[str], lock: ModelLock) -> None:
        self.model, self.allowed, self.lock = model, allowed, lock
        self.device = next(model.parameters()).device
        self.packed = PackedLayers(model) if "packed_linear" in allowed else None
        self.attention = find_packed_attention(model) if "packed_attention" in allowed else None
        # What language models and classifiers try themselves:
        self.head: PositionHead | None = None
        self.template_tokens = False
        self.token_tree = False
        self.shared_prefixes = False
        self.forked_rows = False  # part of shared_prefixes
        self.users = 0  # how many scorers use the replaced layers now
        self._replacements = ExitStack()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts in use, as in `PARTS`."""
        in_use = {
            "packed_linear": self.packed is not None and self.packed.bytes > 0,
            "packed_attention": self.attention is not None,
            "read_positions": self.head is not None,
            "sliced_projection": self.head is not None and self.head.projection is not None,
            "template_tokens": self.template_tokens,
            "token_tree": self.token_tree,
            "shared_prefixes": self.shared_prefixes,
        }
        return tuple(name for name in PARTS if in_use[name])

    @property
    def identity(self) -> str:
        """What is added to the fingerprint under which scores are stored."""
        return "" if self.allowed else PLAIN_SUFFIX

    @contextmanager
    def use(self) -> Iterator[None]:
        """Inside, the model computes with its fast layers; nothing can be trained there.

        Several scorers of one model may be inside at once, in one thread or in several: the first one puts the layers
        in, and the last one takes them out.
        """
        with ExitStack() as around:
            if self.device.type == "cuda" and self.allowed:
                around.enter_context(torch.cuda.device(self.device))  # Triton starts kernels on the current GPU
            with self.lock:
                if not self.users:
                    self._put_in()
                self.users += 1
            try:
                yield
            finally:
                with self.lock:
                    self.users -= 1
                    if not self.users:
                        self._replacements.close()

    def _put_in(self) -> None:
        with ExitStack() as replacements:
            if self.attention is not None:
                replacements.enter_context(use_attention(self.model, self.attention))
            for layer, forward in self.packed.products() if self.packed is not None else []:
                replacements.enter_context(replace_forward(layer, forward))
            self._replacements = replacements.pop_all()

    def __getstate__(self) -> dict[str, Any]:
        """A copy for a worker: nothing is in use there yet."""
        return self.__dict__ | {"users": 0, "_replacements": ExitStack()}


def random_numbers(*shape: int, scale: float = 1.0, like: torch.Tensor | None = None) -> torch.Tensor:
    """The same normal random numbers in every call, on the device and in the precision of `like`."""
    numbers = scale * torch.randn(*shape, generator=torch.Generator().manual_seed(20))
    return numbers if like is None else numbers.to(device=like.device, dtype=like.dtype)


def agree(expected: torch.Tensor, actual: torch.Tensor) -> bool:
    """Whether a kernel's values differ from its float32 reference by rounding alone.

    The unit is the size of a value plus the standard deviation of all. Attention rounds twice (weights, then outputs),
    each time by half of `eps` of the largest values at most; 4 eps, 3 % in bfloat16, leaves room for values of several
    standard deviations.
    """
    tolerance = FLOAT32_TOLERANCE if actual.dtype == torch.float32 else 4 * torch.finfo(actual.dtype).eps
    expected, actual = expected.double().cpu(), actual.double().cpu()
    return bool(((expected - actual).abs() <= tolerance * (expected.std() + expected.abs())).all())


def small_beside(error: torch.Tensor, effect: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether an error is small (root mean square) compared with the effect of what is checked."""
    share = SHARE_OF_EFFECT.get(dtype, SHARE_OF_EFFECT[torch.bfloat16])
    return _root_mean_square(error) <= share * _root_mean_square(effect)


def _root_mean_square(values: torch.Tensor) -> float:
    return float(values.double().square().mean().sqrt())
