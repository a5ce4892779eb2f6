"""llama.cpp for causal language models, a row of `python -m bench.speed --work causal`.

The model is written as a GGUF file in float32 when the row is loaded. Texts are evaluated one after the other, as
`Llama.eval` does it; tokens are those of the model's own tokenizer. llama.cpp reads the GELU from a table in half
precision, so its scores differ by about 1e-3.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from scipy.special import log_softmax

from bench.speed.ways import Ready, Way, load_model
from geobias.errors import InputError
from geobias.texts.templates import unmark

CONTEXT = 128  # tokens: longer than any template
FLOAT32 = 0  # number of the type in GGML


def llama_cpp(folder: str, device: str, dtype: str) -> Ready:
    from llama_cpp import Llama

    if device != "cpu" or dtype != "float32":
        raise InputError("this row is for a CPU and float32 only")
    model, tokenizer = load_model(transformers.AutoModelForCausalLM, folder, "cpu", "float32")
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.gguf"
        write_gguf(model, tokenizer, path)
        llama: Any = Llama(
            str(path),
            n_ctx=CONTEXT,
            n_threads=threads,
            n_threads_batch=threads,
            logits_all=True,
            type_k=FLOAT32,
            type_v=FLOAT32,
            use_mmap=False,
            verbose=False,
        )

    def score(texts: Sequence[str], _: int) -> np.ndarray:
        scores = []
        for text in texts:
            plain, start, end = unmark(text)
            encoding = tokenizer(plain, return_offsets_mapping=True)
            ids, offsets = np.array(encoding["input_ids"]), np.array(encoding["offset_mapping"])
            llama.reset()
            llama.eval(ids.tolist())
            described = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end))
            logs = log_softmax(llama.scores[described - 1], axis=-1)
            scores.append(logs[np.arange(len(described)), ids[described]].mean())
        return np.array(scores)

    return Ready(score, torch.nn.Module())


def write_gguf(model: Any, tokenizer: Any, path: Path) -> None:
    """A GPT-2 as a GGUF file."""
    import gguf

    config = model.config
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_feed_forward_length(config.n_inner or 4 * config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_head_count(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokenizer.convert_ids_to_tokens(range(config.vocab_size)))
    writer.add_token_types([gguf.TokenType.NORMAL] * config.vocab_size)
    writer.add_token_merges(
        [" ".join(pair) for pair in json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]]
    )
    writer.add_bos_token_id(config.bos_token_id)
    for name, values in list_tensors(model):
        writer.add_tensor(name, np.ascontiguousarray(values.detach().numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def list_tensors(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights of a GPT-2 by their names in llama.cpp. Its matrices are stored the other way round."""
    body = model.transformer
    yield "token_embd.weight", body.wte.weight
    yield "position_embd.weight", body.wpe.weight
    layers = {"output_norm": body.ln_f}
    for i, block in enumerate(body.h):
        layers |= {
            f"blk.{i}.attn_norm": block.ln_1,
            f"blk.{i}.attn_qkv": block.attn.c_attn,
            f"blk.{i}.attn_output": block.attn.c_proj,
            f"blk.{i}.ffn_norm": block.ln_2,
            f"blk.{i}.ffn_up": block.mlp.c_fc,
            f"blk.{i}.ffn_down": block.mlp.c_proj,
        }
    for name, layer in layers.items():
        yield f"{name}.weight", layer.weight.T if layer.weight.ndim > 1 else layer.weight
        yield f"{name}.bias", layer.bias


CAUSAL = [Way("llama.cpp", llama_cpp, precision="float32 with a GELU from a table in half precision")]
