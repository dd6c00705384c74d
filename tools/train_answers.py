"""Trains the network that selects answers, and writes its weights.

    tools/train_answers.py [--lives FILE …] [--together N …] [--start WEIGHTS] [--epochs N] [--write]

Needs PyTorch (`pip install torch`), which nothing else of the project does. Each question of the lives is searched in a memory
that was told them; the network learns which of what the search looked at answers, and which of it no longer holds. Lives that are
marked as held out only judge. What is printed is the share of questions whose best claim is right.

The weights in use are the mean of those after the last three of five epochs at 1e-3 (`--together 3 7`), which went on (`--start`) from
weights that were made likewise of fewer lives. It takes about three minutes an epoch on one core.
"""

# ruff: noqa: T201, S311 - it prints a report, and nothing here is secret

import argparse
import copy
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from answer_examples import Example, before_change, examples, hurried, overheard
from torch import Tensor, nn
from torch.nn import functional

from rememo.recall.answers.encoding import (
    CLAIM_FEATURES,
    FLAGS,
    MOST_CLAIM_TOKENS,
    MOST_QUESTION_TOKENS,
    RELATION_FEATURES,
    claim_features,
    claim_relations,
)
from rememo.recall.answers.network import ANSWERS, HEADS, OUTDATED
from rememo.recall.embed.word_vectors import word_vectors

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "src/rememo/recall/answers/weights.npz"
LIVES = sorted(str(path) for path in (ROOT / "tests/data").glob("*lives*.jsonl"))
RELATED = 2
"""A third output that is only trained: whether a claim is about what is asked, outdated or not."""
VOCABULARY = 1_500
"""Frequent tokens with a vector of their own."""
HURRIED, UNCHANGED, OVERHEARD = 0.1, 0.25, 0.15
"""Shares of examples that are told within seconds, without their change, and beside another's words."""
MOST_TRAINED = 10
"""Claims of an example that are looked at in training; all are when it is judged."""
NOISE, UNREAD = 0.5, 0.1
"""How far word vectors are moved, and how many tokens are not read, in training."""
STATIC = torch.tensor(np.asarray(word_vectors().vectors, np.float32))
SCALE = STATIC.std()


class Block(nn.Module):
    """One layer of a transformer, normalised before each step."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.shrink = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the states after every place has looked at those that are not masked."""
        batch, length, width = states.shape
        attended = self.attend(self.norm1(states)).view(batch, length, 3, HEADS, width // HEADS)
        query, key, value = attended.permute(2, 0, 3, 1, 4)
        likeness = query @ key.transpose(-1, -2) / math.sqrt(width // HEADS)
        if bias is not None:
            likeness = likeness + bias
        shares = likeness.masked_fill(~mask[:, None, None, :], -1e4).softmax(-1)
        mixed_values = (self.dropout(shares) @ value).transpose(1, 2).reshape(batch, length, width)
        states = states + self.dropout(self.project(mixed_values))
        hidden = functional.gelu(self.expand(self.norm2(states)), approximate="tanh")
        return states + self.dropout(self.shrink(hidden))


class Network(nn.Module):
    """The same network as `rememo.recall.answers.network`, for training."""

    def __init__(self, frequent: Sequence[int], width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.rows = torch.zeros(len(STATIC), dtype=torch.long)
        self.rows[torch.tensor(frequent)] = torch.arange(1, len(frequent) + 1)
        self.token = nn.Linear(STATIC.shape[1] + FLAGS, width)
        self.frequent_vectors = nn.Embedding(len(frequent) + 1, width, padding_idx=0)
        self.segments, self.positions = (
            nn.Embedding(3, width),
            nn.Embedding(MOST_QUESTION_TOKENS + MOST_CLAIM_TOKENS, width),
        )
        for embedding, spread in ((self.frequent_vectors, 0.02), (self.positions, 0.02), (self.segments, 0.1)):
            nn.init.normal_(embedding.weight, std=spread)
        self.summary = nn.Parameter(torch.zeros(width))
        self.token_blocks = nn.ModuleList(Block(width, dropout) for _ in range(layers))
        self.token_norm, self.claim_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.claim, self.features = nn.Linear(width, width), nn.Linear(CLAIM_FEATURES, width)
        self.relations = nn.Linear(RELATION_FEATURES, HEADS)
        self.claim_blocks = nn.ModuleList(Block(width, dropout) for _ in range(layers))
        self.out, self.direct = nn.Linear(width, 3), nn.Linear(CLAIM_FEATURES, 3)

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Return the logits of all claims."""
        read = torch.cat([self._read(*group) for group in batch["groups"]])[batch["order"]]
        states = torch.zeros(*batch["mask"].shape, read.shape[1])
        states[batch["mask"]] = read
        states = self.claim(states) + self.features(batch["features"])
        bias = self.relations(batch["relations"]).permute(0, 3, 1, 2)
        for block in self.claim_blocks:
            states = block(states, batch["mask"], bias)
        return self.out(self.claim_norm(states)) + self.direct(batch["features"])

    def _read(self, tokens: Tensor, flags: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        vectors = STATIC[tokens] / SCALE
        if self.training:
            vectors = vectors + NOISE * torch.randn_like(vectors)
            mask = mask & (torch.rand(mask.shape) > UNREAD)
        states = self.token(torch.cat([vectors, flags], -1)) + self.frequent_vectors(self.rows[tokens])
        states = states + self.segments(segments) + self.positions.weight[: tokens.shape[1]]
        states = torch.cat([self.summary.expand(len(states), 1, -1), states], 1)
        mask = torch.cat([torch.ones(len(states), 1, dtype=torch.bool), mask], 1)
        for block in self.token_blocks:
            states = block(states, mask)
        return self.token_norm(states[:, 0])

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights by the names that the network in use knows them by."""
        found = {name: value.detach().numpy() for name, value in self.state_dict().items()}
        named: dict[str, np.ndarray] = {}
        for name, value in found.items():
            for table in ("frequent_vectors", "segments", "positions"):
                name = name.replace(f"{table}.weight", table)  # noqa: PLW2901
            named[name.replace("_blocks.", "_block")] = value
        named["token.weight"] = named["token.weight"].copy()
        named["token.weight"][:, : STATIC.shape[1]] /= float(SCALE)
        for name in ("out", "direct"):
            for part in ("weight", "bias"):
                named[f"{name}.{part}"] = named[f"{name}.{part}"][:RELATED]
        return named


def to_batch(chosen: Sequence[Example]) -> dict[str, Any]:
    """Return examples as tensors; claims of like length are read together."""
    most = max(len(example.claims) for example in chosen)
    mask, truth = torch.zeros(len(chosen), most, dtype=torch.bool), torch.zeros(2, len(chosen), most, dtype=torch.bool)
    features = torch.zeros(len(chosen), most, CLAIM_FEATURES)
    relations = torch.zeros(len(chosen), most, most, RELATION_FEATURES)
    texts: list[tuple[Any, Any]] = []
    for row, example in enumerate(chosen):
        count = len(example.claims)
        mask[row, :count] = True
        features[row, :count] = torch.tensor(
            np.concatenate([claim_features(example.question, example.claims), example.coverage], axis=1)
        )
        relations[row, :count, :count] = torch.tensor(claim_relations(example.claims, example.claim_tokens))
        truth[ANSWERS, row, :count] = torch.tensor(example.answers)
        truth[OUTDATED, row, :count] = torch.tensor(example.outdated)
        texts += [(example.asked_tokens, claim) for claim in example.claim_tokens]
    lengths = np.array([len(asked.tokens) + len(claim.tokens) for asked, claim in texts])
    order = np.argsort(lengths)
    groups: list[tuple[Tensor, ...]] = []
    for part in np.array_split(order, 4 if len(texts) > 40 else 1):  # noqa: PLR2004
        shape = (len(part), int(lengths[part].max()))
        tokens, segments = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        flags, read = np.zeros((*shape, FLAGS), np.float32), np.zeros(shape, bool)
        for row, place in enumerate(part):
            asked, claim = texts[place]
            middle, end = len(asked.tokens), lengths[place]
            tokens[row, :middle], flags[row, :middle], segments[row, :middle] = asked.tokens, asked.flags, 1
            tokens[row, middle:end], flags[row, middle:end], segments[row, middle:end] = claim.tokens, claim.flags, 2
            read[row, :end] = True
        groups.append(tuple(map(torch.tensor, (tokens, flags, segments, read))))
    past = torch.tensor([example.about_past for example in chosen])
    return {
        "groups": groups, "order": torch.tensor(np.argsort(order)), "mask": mask, "features": features,
        "relations": relations, "answers": truth[ANSWERS], "outdated": truth[OUTDATED], "past": past,
    }  # fmt: skip


def loss_of(logits: Tensor, batch: dict[str, Any]) -> Tensor:
    """Return how far the logits are from the truth."""
    mask = batch["mask"]
    likely = logits[..., ANSWERS].masked_fill(~mask, -1e4).log_softmax(-1)
    chosen = -torch.logsumexp(likely.masked_fill(~batch["answers"], -1e4), -1).mean()

    def judged(column: int, truth: Tensor) -> Tensor:
        wrong = functional.binary_cross_entropy_with_logits(logits[..., column], truth.float(), reduction="none")
        return (wrong * mask).sum() / mask.sum()

    # Nothing is outdated as an answer to a question about the past.
    outdated = judged(OUTDATED, batch["outdated"] & ~batch["past"][:, None])
    return chosen + 0.7 * outdated + 0.3 * judged(RELATED, batch["answers"] | batch["outdated"])


def train(chosen: Sequence[Example], given: argparse.Namespace, seed: int) -> Network:
    """Return a network that was trained on examples: the running average of its weights."""
    torch.manual_seed(seed)
    random.seed(seed)
    network = load_network(given.start, given.dropout) if given.start else new_network(chosen, given)
    average = copy.deepcopy(network)
    batches = math.ceil(len(chosen) / given.batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=given.rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, given.rate, total_steps=given.epochs * batches, pct_start=0.1
    )
    steps, began = 0, time.monotonic()
    for epoch in range(given.epochs):
        network.train()
        shuffled, total = random.sample(chosen, len(chosen)), 0.0
        for start in range(0, len(shuffled), given.batch):
            batch = to_batch([_varied(example) for example in shuffled[start : start + given.batch]])
            loss = loss_of(network(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total, steps = total + float(loss.detach()), steps + 1
            kept = min(0.997, (1 + steps) / (10 + steps))
            with torch.no_grad():
                for mean, newest in zip(average.parameters(), network.parameters(), strict=True):
                    mean.lerp_(newest, 1 - kept)
        print(f"epoch {epoch + 1}: loss {total / batches:.3f}, {time.monotonic() - began:.0f} s", flush=True)
        if given.watch and epoch % given.watch == given.watch - 1:
            report(average, given.judges, "held out")
    return average


def new_network(chosen: Sequence[Example], given: argparse.Namespace) -> Network:
    """Return a network that knows nothing, with vectors for the frequent tokens of some examples."""
    tokens = Counter(
        int(token)
        for example in chosen
        for text in (example.asked_tokens, *example.claim_tokens)
        for token in text.tokens
    )
    return Network([token for token, _ in tokens.most_common(VOCABULARY)], given.width, given.layers, given.dropout)


def load_network(path: Path, dropout: float) -> Network:
    """Return the network whose weights were written to a file; outputs that are only trained begin anew."""
    with np.load(path) as file:
        named = {name: torch.tensor(np.asarray(file[name], np.float32)) for name in file if name != "frequent"}
        frequent = file["frequent"].tolist()
    layers = sum(re.fullmatch(r"token_block\d+\.attend\.weight", name) is not None for name in named)
    network = Network(frequent, len(named["token.bias"]), layers, dropout)
    named["token.weight"][:, : STATIC.shape[1]] *= float(SCALE)
    state = network.state_dict()
    for name, value in named.items():
        place = re.sub(r"_block(\d)", r"_blocks.\1", name)
        place = f"{place}.weight" if place in ("frequent_vectors", "segments", "positions") else place
        state[place][tuple(slice(0, size) for size in value.shape)] = value
    network.load_state_dict(state)
    return network


def thinned(example: Example) -> Example:
    """Return an example with fewer of the claims that have nothing to do with the question."""
    others = [place for place in range(len(example.claims)) if not (example.answers[place] or example.outdated[place])]
    gone = set(random.sample(others, max(0, min(len(others), len(example.claims) - MOST_TRAINED))))
    kept = [place for place in range(len(example.claims)) if place not in gone]
    return (
        example
        if not gone
        else replace(
            example,
            claims=[example.claims[place] for place in kept],
            claim_tokens=[example.claim_tokens[place] for place in kept],
            coverage=example.coverage[kept],
            answers=[example.answers[place] for place in kept],
            outdated=[example.outdated[place] for place in kept],
        )
    )


def _varied(example: Example) -> Example:
    example = thinned(example)
    if random.random() < UNCHANGED:
        example = before_change(example)
    if random.random() < OVERHEARD:
        example = overheard(example)
    return hurried(example) if random.random() < HURRIED and not example.about_past else example


@torch.no_grad()
def report(network: Network, chosen: Sequence[Example], title: str) -> None:
    """Print how often the best claim is right, and what is rightly and wrongly taken for outdated."""
    network.eval()
    shares: dict[str, list[bool]] = defaultdict(list)
    outdated: list[tuple[float, bool]] = []
    for start in range(0, len(chosen), 64):
        part = chosen[start : start + 64]
        batch = to_batch(part)
        logits = network(batch)
        best = logits[..., ANSWERS].masked_fill(~batch["mask"], -1e4).argmax(-1).tolist()
        for row, example in enumerate(part):
            kind = "past" if example.about_past else "now"
            shares[f"{example.file} {kind}"].append(example.answers[best[row]])
            shares[f"all {kind}"].append(example.answers[best[row]])
            likely = logits[row, : len(example.claims), OUTDATED].sigmoid().tolist()
            if not example.about_past:
                outdated += list(zip(likely, example.outdated, strict=True))
    print(title, {name: f"{100 * np.mean(right):.1f} of {len(right)}" for name, right in sorted(shares.items())})
    for least in (0.3, 0.5, 0.7):
        above = [true for likely, true in outdated if likely >= least]
        print(
            f"  outdated from {least}: {sum(above)} of {sum(true for _, true in outdated)}, {len(above) - sum(above)} wrongly",
            flush=True,
        )


def main() -> None:
    """Train, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", nargs="*", default=LIVES)
    parser.add_argument(
        "--together", nargs="*", type=int, default=[3, 5, 7, 10], help="lives that are told to one memory"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--watch", type=int, default=0, help="judge after every so many epochs")
    parser.add_argument(
        "--threads", type=int, default=1, help="more of them slow each other down where the machine is busy"
    )
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--cache", type=Path, help="a folder for what the searches gave")
    parser.add_argument("--write", type=Path, nargs="?", const=WEIGHTS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    taught = [
        example
        for example in examples(given.lives, held_out=False, together=given.together, cache=given.cache)
        if example.teaches
    ]
    given.judges = examples(given.lives, held_out=True, together=[6], cache=given.cache)
    print(f"{len(taught)} examples, {len(given.judges)} held out")
    network = train(taught, given, seed=0)
    report(network, taught, "trained on")
    report(network, given.judges, "held out")
    if given.write:
        named = {name: value.astype(np.float16) for name, value in network.weights().items()}
        frequent = torch.nonzero(network.rows)[:, 0]
        named["frequent"] = frequent[network.rows[frequent].argsort()].numpy().astype(np.int32)
        np.savez_compressed(given.write, **named)
        print(f"{given.write}: {given.write.stat().st_size} bytes")


if __name__ == "__main__":
    main()
