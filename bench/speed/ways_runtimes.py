"""Other runtimes for classifiers, rows of `python -m bench.speed --work classify`: what a user would pick instead.

Models are exported when a row is loaded. All rows tokenise, sort and pad as the plain loop does, with the threads of
torch. Rows in int8 have another precision than the rest of their table: their scores differ.

Not here: CrossEncoder of sentence-transformers 6.2, which accepted no single texts and whose ONNX backend requires an
older transformers; and vLLM, of which pip found no version that fits constraints.txt.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from bench.speed.ways import Ready, Way, load_model
from bench.speed.ways_other import classify_sorted
from geobias.errors import InputError
from geobias.texts.user_texts import sample_texts

CALIBRATION_TEXTS = 64  # for the activations of OpenVINO's int8
SIZES = (8, 32, 128)
INPUTS = ("input_ids", "attention_mask")


def compiled(folder: str, device: str, dtype: str) -> Ready:
    """The plain loop with `torch.compile`, once for all lengths."""
    model, tokenizer = load_model(transformers.AutoModelForSequenceClassification, folder, device, dtype)
    compiled_model = torch.compile(model, dynamic=True)

    @torch.inference_mode()
    def compute(batch: Any) -> np.ndarray:
        logits: np.ndarray = compiled_model(**batch.to(device)).logits.float().cpu().numpy()
        return logits

    return Ready(classify_sorted(tokenizer, model.config.num_labels, compute), model)


def onnx_runtime(*, int8: bool = False) -> Callable[[str, str, str], Ready]:
    def prepare(folder: str, device: str, dtype: str) -> Ready:
        import onnx
        import onnxruntime
        from onnxruntime.quantization import quantize_dynamic

        _refuse_other_than_cpu(device, dtype)
        model, tokenizer = load_model(transformers.AutoModelForSequenceClassification, folder, "cpu", "float32")
        with tempfile.TemporaryDirectory() as scratch:
            path = export_onnx(model, tokenizer, Path(scratch))
            if int8:
                graph = onnx.load(path)
                graph.graph.ClearField("value_info")  # shapes that do not hold for quantised weights
                path = path.with_stem("int8")
                quantize_dynamic(graph, path)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = torch.get_num_threads()
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

        def compute(batch: Any) -> np.ndarray:
            logits: np.ndarray = session.run(["logits"], {name: batch[name].numpy() for name in INPUTS})[0]
            return logits

        return Ready(classify_sorted(tokenizer, model.config.num_labels, compute), torch.nn.Module())

    return prepare


def openvino(*, int8: bool = False) -> Callable[[str, str, str], Ready]:
    def prepare(folder: str, device: str, dtype: str) -> Ready:
        import openvino as ov

        _refuse_other_than_cpu(device, dtype)
        model, tokenizer = load_model(transformers.AutoModelForSequenceClassification, folder, "cpu", "float32")
        with tempfile.TemporaryDirectory() as scratch:
            graph = ov.Core().read_model(export_onnx(model, tokenizer, Path(scratch)))
            if int8:
                import nncf

                batches = [tokenizer(text, truncation=True, return_tensors="np") for text in sample_texts().texts]
                calibration = [{name: batch[name] for name in INPUTS} for batch in batches[:CALIBRATION_TEXTS]]
                graph = nncf.quantize(graph, nncf.Dataset(calibration), model_type=nncf.ModelType.TRANSFORMER)
            # Without the first, OpenVINO itself may choose a lower precision.
            options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
            runtime = ov.Core().compile_model(graph, "CPU", options)

        def compute(batch: Any) -> np.ndarray:
            logits: np.ndarray = runtime({name: batch[name].numpy() for name in INPUTS})["logits"]
            return logits

        return Ready(classify_sorted(tokenizer, model.config.num_labels, compute), torch.nn.Module())

    return prepare


def export_onnx(model: Any, tokenizer: Any, folder: Path) -> Path:
    """The model as an ONNX file for batches of any size and length."""
    batch = tokenizer(["A text.", "Another text, which is longer."], padding=True, return_tensors="pt")
    path = folder / "model.onnx"
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=model.config.max_position_embeddings)}
    torch.onnx.export(
        _Logits(model),
        tuple(batch[name] for name in INPUTS),
        path,
        input_names=list(INPUTS),
        output_names=["logits"],
        dynamic_shapes=(axes, axes),
        dynamo=True,
        verbose=False,
    )
    return path


class _Logits(torch.nn.Module):
    """A classifier that returns its logits as a tensor."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        return logits


def _refuse_other_than_cpu(device: str, dtype: str) -> None:
    if device != "cpu" or dtype != "float32":
        raise InputError("this row is for a CPU and float32 only")


CLASSIFY = [
    Way("torch.compile", compiled, SIZES, (64, 256, 1024), sorts=True),
    Way("ONNX Runtime", onnx_runtime(), SIZES, sorts=True),
    Way("OpenVINO", openvino(), SIZES, sorts=True),
    Way("ONNX Runtime int8", onnx_runtime(int8=True), SIZES, sorts=True, precision="int8"),
    Way("OpenVINO int8", openvino(int8=True), SIZES, sorts=True, precision="int8"),
]
