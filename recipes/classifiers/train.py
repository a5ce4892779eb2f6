"""Train the embedded tweet classifiers: sentiment, emotion, hate and offensive language, in one small model.

    python -m recipes.classifiers.train ../shared build lm student

reads TweetEval and the other tweets in `../shared`, one piece of the encoded encyclopedia in `build` and
the masked language model `lm`, and writes `student`: a plain BertForSequenceClassification whose eleven
logits are the labels of the four tasks side by side ("sentiment:negative", ...); the softmax is taken within
a task's block. About ten minutes on one H200.

1. Adapt: the language model goes on with masked tokens, now mostly those of tweets.
2. Teach: for each task several models are fine-tuned from it, with different seeds, and vote. Those for hate
   are kept from learning keywords only (shortcut.py).
3. Distil: one student with four heads learns what the teachers say about every training tweet of every task.
4. Calibrate: one number a task shifts the student's decisions between frequent and rare labels; it is folded
   into the bias of the head.

All choices are made on validation tweets. Test tweets are read only to drop them from what is trained on.
"""

import argparse
import json
import multiprocessing
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from recipes.classifiers.finetune import classifier_from, descend, logits_of, pad
from recipes.classifiers.tweet_data import Data, read_data
from recipes.classifiers.tweets import LABEL_NAMES, LABELS, block, score, tweet_tokenizer
from recipes.lm.corpus import STARTS_ARTICLE, STARTS_SENTENCE, Masker, Stream
from recipes.lm.pretrain import Schedule, save, train

EPOCHS = {"sentiment": 3, "emotion": 8, "hate": 4, "offensive": 4}
RATE = {"sentiment": 2e-4, "emotion": 2e-4, "hate": 1e-4, "offensive": 2e-4}  # hate collapses at more
BATCH = {"sentiment": 64, "emotion": 32, "hate": 32, "offensive": 32}
SEEDS = {"sentiment": 4, "emotion": 4, "hate": 3, "offensive": 4}
SHORTCUT_STRENGTHS = (0.0, 0.5, 1.0)  # how much of the bag of words stands beside a hate teacher
STUDENT = "student"
STUDENT_LAYERS = 8  # the language model's last layer is about single tokens: the student goes without it
STUDENT_EPOCHS = 7
STUDENT_BATCH = 128
STUDENT_SEEDS = 2
TEMPERATURE = 2.0
OWN_TASK_WEIGHT = 3.0  # a tweet counts more for the task it was labelled for
ADAPTATION = Schedule(0, rows=512, single_rows=0.75, learning_rate=1e-3, masked_shares=(0.25, 0.20, 0.15))
SHIFTS = np.linspace(-2, 2, 41)


class TweetCorpus:
    """Rows of single tweets, and rows of the encyclopedia lest the tweets be learned by heart."""

    single_held_out = True

    def __init__(self, tweets: Stream, encyclopedia: Stream, held_out: Stream, device: torch.device):
        self.single, self.running, self.held_out, self.device = tweets, encyclopedia, held_out, device

    def refresh(self) -> bool:
        """Nothing arrives later."""
        return False


def as_stream(ids: list[list[int]], device: torch.device) -> Stream:
    """Turn tweets with [CLS] and [SEP] into a stream in which each is an article of its own."""
    tweets = [np.array(tweet[1:-1], dtype=np.uint16) for tweet in ids if len(tweet) > 2]
    for tweet in tweets:
        tweet[0] |= STARTS_SENTENCE | STARTS_ARTICLE
    return Stream(np.concatenate(tweets), device)


def adapt(
    lm: Path, build: Path, tweets: list[list[int]], data: Data, seconds: float, device: torch.device
) -> dict[str, Tensor]:
    """Go on training the language model on tweets; return its weights."""
    model = BertForMaskedLM.from_pretrained(lm, dtype=torch.float32).to(device)
    vocabulary = json.loads((lm / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    piece = np.fromfile(sorted((build / "pieces").glob("*.bin"))[0], dtype=np.uint16)
    held_out = as_stream([tweet for ids in data.val_ids.values() for tweet in ids], device)
    corpus = TweetCorpus(as_stream(tweets, device), Stream(piece, device), held_out, device)
    print(f"adapting on {len(tweets):,} tweets, {len(corpus.single.marked):,} tokens", flush=True)
    schedule = replace(ADAPTATION, seconds=seconds)
    train(model, corpus, Masker(vocabulary, device), schedule, compiled=device.type == "cuda")
    return {name: weight.cpu() for name, weight in model.state_dict().items()}


def robust_score(task: str, data: Data, predicted: np.ndarray) -> float:
    """Return the score on validation tweets; for hate, on these weighted so that words alone say nothing."""
    weights = data.hate_val_weights if task == "hate" else None
    return score(task, data.val_labels[task], predicted, weights)


def validation_score(task: str, data: Data, logits: np.ndarray) -> float:
    """Return the score on validation tweets; for hate, the mean of the plain and the robust one."""
    predicted = logits.argmax(1)
    return (score(task, data.val_labels[task], predicted) + robust_score(task, data, predicted)) / 2


def shift_direction(task: str, data: Data) -> np.ndarray:
    """Return the direction from rare labels to frequent ones, its ends one apart."""
    frequency = np.log(np.bincount(data.labels[task]) / len(data.labels[task]))
    return (frequency - frequency.mean()) / max(np.ptp(frequency), 1e-9)


def best_shift(task: str, data: Data, logits: np.ndarray) -> tuple[float, float]:
    """Return how far to shift the decisions, and the score there, smoothed over neighbouring shifts."""
    direction = shift_direction(task, data)
    scores = np.array([validation_score(task, data, logits + shift * direction) for shift in SHIFTS])
    smooth = np.convolve(np.pad(scores, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    best = max(range(len(SHIFTS)), key=lambda i: (smooth[i], -abs(SHIFTS[i])))
    return float(SHIFTS[best]), float(smooth[best])


@dataclass(frozen=True)
class Job:
    """One model to train, in one of several processes that share the GPU."""

    task: str  # STUDENT for a student
    seed: int
    strength: float = 0.0


class Workshop:
    """What a process needs to train teachers and students."""

    def __init__(self, work: Path, lm: Path):
        torch.set_float32_matmul_precision("high")
        torch.set_num_threads(1 if torch.cuda.is_available() else 2)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.work, self.lm = work, lm
        self.data: Data = torch.load(work / "data.pt", weights_only=False)
        self.weights = torch.load(work / "adapted.pt")

    def teach(self, job: Job) -> dict:
        """Fine-tune one teacher; return what it says about all tweets at its best epoch."""
        task, data, device = job.task, self.data, self.device
        torch.manual_seed(job.seed)
        layers = BertConfig.from_pretrained(self.lm).num_hidden_layers
        model = classifier_from(self.lm, self.weights, len(LABELS[task]), layers, device)
        rows, labels = data.rows[task], torch.tensor(data.labels[task], device=device)
        counts = torch.bincount(labels)
        rare_first = (len(labels) / (len(counts) * counts)).sqrt()
        words_say = torch.zeros(len(rows), len(counts), device=device)
        if job.strength:
            words_say[:, 1] = job.strength * torch.tensor(data.hate_log_odds, device=device)

        seen = 0

        def loss_of(batch: np.ndarray) -> Tensor:
            nonlocal seen
            seen += len(batch)
            logits = model(**pad([data.ids[i] for i in rows[batch]], device)).logits
            hint = words_say[batch] * min(1.0, seen / len(rows))  # grows during the first epoch
            return F.cross_entropy(logits + hint, labels[batch], weight=rare_first)

        best = {"score": -1.0}
        for epoch in descend(model, loss_of, len(rows), BATCH[task], EPOCHS[task], job.seed, RATE[task]):
            val = logits_of(model, data.val_ids[task])
            shift, value = best_shift(task, data, val)
            if value > best["score"]:
                best = {"score": value, "epoch": epoch, "shift": shift, "val": val}
                best["all"] = logits_of(model, data.ids)
        print(f"{job}: {best['score']:.1f} at epoch {best['epoch']}, shift {best['shift']:.1f}", flush=True)
        return best

    def distil(self, job: Job) -> dict:
        """Train one student on the teachers' opinions of all tweets; return its weights and best shifts."""
        data, device = self.data, self.device
        torch.manual_seed(job.seed)
        model = classifier_from(self.lm, self.weights, len(LABEL_NAMES), STUDENT_LAYERS, device)
        opinions = torch.load(self.work / "opinions.pt").to(device)
        weight = torch.ones(len(data.ids), len(LABELS), device=device)
        for number, task in enumerate(LABELS):
            weight[data.rows[task], number] = OWN_TASK_WEIGHT

        def loss_of(batch: np.ndarray) -> Tensor:
            logits = model(**pad([data.ids[i] for i in batch], device)).logits / TEMPERATURE
            total = logits.new_zeros(len(batch))
            for number, task in enumerate(LABELS):
                teacher = (opinions[batch, block(task)] / TEMPERATURE).softmax(1)
                apart = F.cross_entropy(logits[:, block(task)], teacher, reduction="none")
                total = total + weight[batch, number] * apart
            return total.mean()

        for epoch in descend(model, loss_of, len(data.ids), STUDENT_BATCH, STUDENT_EPOCHS, job.seed):
            val = {task: logits_of(model, data.val_ids[task])[:, block(task)] for task in LABELS}
            shifts = {task: best_shift(task, data, val[task]) for task in LABELS}
            figures = ", ".join(f"{task} {value:.1f}" for task, (_, value) in shifts.items())
            print(f"student {job.seed} epoch {epoch}: {figures}", flush=True)
        weights = {name: weight.cpu().numpy() for name, weight in model.state_dict().items()}
        mean = float(np.mean([value for _, value in shifts.values()]))
        return {"score": mean, "shifts": shifts, "weights": weights}


def open_workshop(work: Path, lm: Path) -> None:
    """Prepare a process for its jobs."""
    global workshop
    workshop = Workshop(work, lm)


def do(job: Job) -> dict:
    """Do a job in the process's workshop."""
    return workshop.distil(job) if job.task == STUDENT else workshop.teach(job)


def do_all(jobs: list[Job], work: Path, lm: Path) -> list[dict]:
    """Do jobs side by side: each is too small to fill a GPU."""
    processes = min(len(jobs), 12 if torch.cuda.is_available() else 1)
    with multiprocessing.get_context("spawn").Pool(processes, open_workshop, (work, lm)) as pool:
        return pool.map(do, jobs, chunksize=1)


def gather_opinions(data: Data, work: Path, lm: Path) -> Tensor:
    """Train the teachers; return the log-probabilities that those of each task agree on for every tweet."""
    strengths = {task: SHORTCUT_STRENGTHS if task == "hate" else (0.0,) for task in LABELS}
    jobs = [Job(task, seed, s) for task in LABELS for s in strengths[task] for seed in range(SEEDS[task])]
    results = dict(zip(jobs, do_all(jobs, work, lm), strict=True))
    opinions = np.zeros((len(data.ids), len(LABEL_NAMES)), dtype=np.float32)
    for task in LABELS:
        teams = {}
        for strength in strengths[task]:
            team = [result for job, result in results.items() if (job.task, job.strength) == (task, strength)]
            together = np.mean([log_softmax(result["val"]) for result in team], axis=0)
            single = np.mean([result["score"] for result in team])
            shift, value = best_shift(task, data, together)
            print(f"{task}, words {strength}: {single:.1f} on average, {value:.1f} together", flush=True)
            shifted = (together + shift * shift_direction(task, data)).argmax(1)
            robust = robust_score(task, data, shifted)
            print(f"  where words alone say nothing: {robust:.1f}", flush=True)
            teams[strength] = (robust, team)
        _, team = max(teams.values(), key=lambda scored: scored[0])
        opinions[:, block(task)] = np.mean([log_softmax(result["all"]) for result in team], axis=0)
    return torch.tensor(opinions)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return log-probabilities."""
    return torch.tensor(logits).log_softmax(1).numpy()


def finish(data: Data, best: dict, lm: Path, out: Path) -> None:
    """Fold the shifts into the head's bias, name the labels and save the classifier with its tokenizer."""
    weights = {name: torch.tensor(weight) for name, weight in best["weights"].items()}
    for task, (shift, value) in best["shifts"].items():
        weights["classifier.bias"][block(task)] += torch.tensor(shift * shift_direction(task, data)).float()
        print(f"{task}: validation {value:.1f} at shift {shift:.1f}")
    config = BertConfig.from_pretrained(lm, num_labels=len(LABEL_NAMES), num_hidden_layers=STUDENT_LAYERS)
    config.id2label = dict(enumerate(LABEL_NAMES))
    config.label2id = {name: number for number, name in enumerate(LABEL_NAMES)}
    model = BertForSequenceClassification(config)
    model.load_state_dict(weights)
    save(model, lm, out)
    tweet_tokenizer(lm / "tokenizer.json").save(str(out / "tokenizer.json"))


def main() -> None:
    """Run the four steps; what a step wrote in the work folder is not made again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("build", type=Path, help="folder that tokenizer.py wrote")
    parser.add_argument("lm", type=Path, help="folder that pretrain.py wrote")
    parser.add_argument("out", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/classifiers"), help="results of the steps")
    parser.add_argument("--seconds", type=float, default=90, help="how long the adaptation takes")
    parser.add_argument("--limit", type=int, help="take this many tweets a task, to try the program")
    arguments = parser.parse_args()
    work, lm = arguments.work, arguments.lm
    work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    began = time.monotonic()

    def step_done(name: str) -> None:
        print(f"[{time.monotonic() - began:.0f} s] {name}", flush=True)

    data, tweets = read_data(arguments.shared, lm / "tokenizer.json", arguments.limit)
    torch.save(data, work / "data.pt")
    step_done("read")
    if not (work / "adapted.pt").exists():
        weights = adapt(lm, arguments.build, tweets, data, arguments.seconds, device)
        torch.save(weights, work / "adapted.pt")
        step_done("adapted")
    if not (work / "opinions.pt").exists():
        torch.save(gather_opinions(data, work, lm), work / "opinions.pt")
        step_done("taught")
    students = do_all([Job(STUDENT, seed) for seed in range(STUDENT_SEEDS)], work, lm)
    step_done("distilled")
    finish(data, max(students, key=lambda student: student["score"]), lm, arguments.out)


if __name__ == "__main__":
    main()
