"""A tiny random model of any architecture: its own configuration class, with every size made small."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import modeling_auto

from geobias.models.model_files import quiet_transformers
from tests.conftest import TOKENIZERS, save_random_model

# Kinds of models: the Auto class, and the architectures that have such a head.
KINDS: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "masked": (transformers.AutoModelForMaskedLM, modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    "causal": (transformers.AutoModelForCausalLM, modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
    "seq2seq": (transformers.AutoModelForSeq2SeqLM, modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
}
WITH_SENTINELS = ("t5", "mt5", "umt5", "longt5", "switch_transformers", "t5gemma", "t5gemma2")
# Loaded as another kind, under which they are listed too.
ELSEWHERE = {
    *(("masked", architecture) for architecture in ("bart", "mbart", "mvp")),
    ("causal", "xlm"),
    ("seq2seq", "moss_transcribe_diarize"),
}
# Small sizes, and the names that configurations have for them.
NAMES_OF_SIZES = {
    1: "n_group topk_group num_expert_group",
    2: """num_hidden_layers n_layer n_layers num_layers num_decoder_layers depth encoder_layers decoder_layers
        num_encoder_layers num_self_attends_per_block num_experts_per_tok num_experts_per_token moe_k top_k_experts
        moe_topk""",
    4: """num_attention_heads n_head n_heads num_heads num_key_value_heads kv_n_heads encoder_attention_heads
        decoder_attention_heads attention_heads num_encoder_attention_heads num_decoder_attention_heads
        linear_num_key_heads linear_num_value_heads index_n_heads num_experts num_local_experts n_routed_experts
        moe_num_experts zero_expert_num rotary_dim""",
    8: """head_dim d_head d_kv attention_head_size dim_head global_head_dim v_head_dim qk_nope_head_dim
        qk_rope_head_dim index_head_dim linear_key_head_dim linear_value_head_dim mamba_head_dim chunk_size
        mamba_chunk_size""",
    10: "entity_vocab_size",
    16: "q_lora_rank kv_lora_rank hidden_size_per_layer_input intra_bottleneck_size num_latents",
    32: """hidden_size d_model n_embd n_embed dim emb_dim embed_dim embedding_size d_embed true_hidden_size
        word_embed_proj_dim d_latents input_embedding_size output_embedding_size entity_emb_size projection_dim
        output_dim out_hidden_size encoder_hidden_dim audio_hidden_size image_size""",
    48: """intermediate_size d_inner d_ff hidden_dim n_inner ffn_dim dff encoder_ffn_dim decoder_ffn_dim
        ffn_hidden_size block_ff_dim ff_dim moe_intermediate_size shared_expert_intermediate_size
        expert_ffn_hidden_size""",
    64: "max_position_embeddings n_positions n_ctx max_seq_len max_source_positions",
    400: "vocab_size_per_layer_input pronunciation_vocab_size shape_vocab_size",
}
SIZES = {name: size for size, names in NAMES_OF_SIZES.items() for name in names.split()}
WORDS = ("vocab_size", "src_vocab_size", "tgt_vocab_size")
TOKENS = {"pad_token_id": "<pad>", "eos_token_id": "</s>"}
# What some architectures need in addition.
OPTIONS: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {"num_hidden_layers": 8},
    "bamba": {"mamba_n_heads": 8, "attn_layer_indices": [1]},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}},
    "dbrx": {"attn_config": {"kv_n_heads": 4, "clip_qkv": 8, "rope_theta": 1e4}},
    "dots1": {"n_shared_experts": 1},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 8, "mamba_d_state": 16, "mamba_chunk_size": 8},
    "funnel": {"block_sizes": [1, 1, 1]},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"mamba_n_heads": 8, "layer_types": ["mamba", "attention"]},
    "jamba": {"num_hidden_layers": 8},
    "kimi_linear": {
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
        "linear_head_dim": 8,
        "linear_num_heads": 4,
    },
    "led": {"attention_window": 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "longformer": {"attention_window": 4},
    "mamba2": {"num_heads": 8, "head_dim": 8},
    "mimo_v2_flash": {"num_attention_heads": 8, "head_dim": 24, "v_head_dim": 16},
    "mobilebert": {"embedding_size": 16, "true_hidden_size": 16},
    "neomme": {"head_dim": 16},
    "qwen3_5_moe_text": {"num_hidden_layers": 4},
    "qwen3_5_text": {"num_hidden_layers": 4},
    "qwen3_next": {"num_hidden_layers": 4},
    "qwen4_exp_text": {
        "layer_types": ["linear_attention", "indexed_attention"],
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": 64,
        "indexer_compress_ratio": 4,
    },
    "reformer": {  # chunks so short that every text is hashed
        "axial_pos_shape": [8, 8],
        "axial_pos_embds_dim": [16, 16],
        "attn_layers": ["local", "lsh"],
        "lsh_attn_chunk_length": 4,
        "local_attn_chunk_length": 4,
        "num_buckets": 4,
    },
    "zamba": {"num_hidden_layers": 4, "layer_types": ["mamba", "hybrid", "mamba", "hybrid"]},
    "zamba2": {"num_hidden_layers": 4, "layers_block_type": ["linear_attention", "hybrid"] * 2},
    "zaya": {"num_experts_per_tok": 1},
}


def list_architectures() -> list[tuple[str, str]]:
    """All pairs of a kind of language model and an architecture of transformers that has it."""
    pairs = [(kind, architecture) for kind, (_, names) in KINDS.items() for architecture in names]
    return [pair for pair in pairs if pair not in ELSEWHERE]


def build_tiny_model(kind: str, architecture: str, folder: Path) -> Path:
    """Save a random model, some thousand weights large, with a tokenizer that suits it."""
    auto_class, names = KINDS[kind]
    tokenizer = TOKENIZERS[_choose_tokenizer(kind, architecture)]()
    tokenizer.model_max_length = 60  # so that no text is cut off
    config = _shrink(transformers.CONFIG_MAPPING[architecture](), tokenizer)
    config.architectures = [names[architecture]]
    config.is_decoder = kind == "causal"  # encoders too, where they have a causal form
    if kind == "seq2seq":
        config.decoder_start_token_id = tokenizer.eos_token_id
    if architecture == "encoder-decoder":
        config.decoder.is_decoder = config.decoder.add_cross_attention = True
    with quiet_transformers():
        return save_random_model(auto_class, config, tokenizer, folder)


def _choose_tokenizer(kind: str, architecture: str) -> str:
    if kind == "seq2seq":
        return "t5" if architecture in WITH_SENTINELS else "bart"
    return "roberta" if kind == "masked" else "llama"


def _shrink(default: Any, tokenizer: Any) -> Any:
    """A configuration of the same class with small sizes, and so its parts."""
    fields = default.to_dict()
    tokens = {name: tokenizer.get_vocab()[token] for name, token in TOKENS.items()}
    sizes = SIZES | dict.fromkeys(WORDS, len(tokenizer)) | tokens
    options = {name: size for name, size in sizes.items() if name in fields}
    for name in default.sub_configs:
        part = getattr(default, name, None)
        if isinstance(part, transformers.PreTrainedConfig):
            options[name] = _shrink(part, tokenizer).to_dict()
    return type(default)(**options | OPTIONS.get(default.model_type, {}))
