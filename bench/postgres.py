"""What PostgreSQL costs beside bare statements on the same server: `python -m bench.postgres`."""

import argparse
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import psycopg

from bench.timing import interleaved
from rememo import Memory, Settings
from rememo.recall.embed.static import StaticEmbedder
from rememo.store.postgres.embedded import EmbeddedPostgres

ADD, ADD_MANY, SEARCH = 3.0, 2.5, 4.0
SYLLABLES = ("ba", "co", "di", "fu", "ga", "he", "jo", "ki", "lu", "me", "no", "pa", "ri", "so", "tu", "va")
VOCABULARY = [
    "".join(parts) + end for parts in product(SYLLABLES, repeat=3) for end in ("n", "st", "rd", "x", "lm", "ft", "p")
]
WEIGHTS = list(accumulate(1 / (place + 10) for place in range(len(VOCABULARY))))
BARE_ROW = "INSERT INTO bare (id, room, at, data, text) VALUES (%s, %s, %s, %s, %s)"
BARE_NEAREST = (
    "SELECT id, 1 - (vector <=> %s::vector) FROM near WHERE room = %s ORDER BY vector <=> %s::vector LIMIT 10"
)


def random_text(words: int = 30) -> str:
    """Return words as a language has them: few that are common, many that are rare."""
    return " ".join(random.choices(VOCABULARY, cum_weights=WEIGHTS, k=words))


def prose(count: int, words: int = 30) -> list[str]:
    """Return stretches of this project's own guides, one after the other."""
    pages = sorted((Path(__file__).parents[1] / "docs").glob("**/*.md"))
    page_words = " ".join(page.read_text() for page in pages).split()
    return [" ".join(page_words[start : start + words]) for start in range(0, len(page_words) - words, words)][:count]


def vector_literal(vector: Any) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"


def measure_adding(memory: Memory, bare: "psycopg.Connection[Any]", rounds: int) -> None:
    bare.execute("CREATE TABLE bare (id text PRIMARY KEY, room text, at bigint, data jsonb, text text)")
    bare.execute("CREATE INDEX ON bare (room, at)")
    room = memory.scope(room="adding")
    room.add("something to begin with")
    # Prose, each sentence met for the first time; then made-up words, of which the embedder never met a third: more than any
    # language asks of it; then the same ones again, as a process that has run for a while knows nearly all words.
    made_up = [random_text() for _ in range(rounds)]
    for words, texts in (("prose", prose(rounds)), ("made-up words", made_up), ("the same words again", made_up)):
        plain, ours = interleaved(
            len(texts),
            lambda turn, texts=texts: bare.execute(
                BARE_ROW, (f"id-{turn}-{time.time_ns()}", "r", turn, "{}", texts[turn]), prepare=True
            ),
            lambda turn, texts=texts: room.add(texts[turn]),
        )
        print(f"bare insert and commit into one indexed table: {plain:,.0f} us")
        print(f"add, {words}: {ours:,.0f} us, {ours / plain:.2f} times as long (at most {ADD:.1f})")


def measure_adding_many(memory: Memory, bare: "psycopg.Connection[Any]", embedder: StaticEmbedder, count: int) -> None:
    texts = [random_text() for _ in range(count)]
    vectors = [vector_literal(vector) for vector in embedder.embed(texts)]
    bare.execute(
        "CREATE TABLE much (id text PRIMARY KEY, room text, at bigint, data jsonb, text text, words tsvector, vector vector(256))"
    )
    for index in ("(room, at)", "USING gin (words)", "USING hnsw (vector vector_cosine_ops)"):
        bare.execute(f"CREATE INDEX ON much {index}")  # pyright: ignore[reportArgumentType] - constants above
    start = time.perf_counter()
    with bare.transaction(), bare.cursor().copy("COPY much FROM STDIN") as copy:
        for number, text in enumerate(texts):
            lexemes = " ".join(sorted({f"'{word}'" for word in text.split()}))
            copy.write_row((f"m{number}", "r", number, "{}", text, lexemes, vectors[number]))
    plain = time.perf_counter() - start
    start = time.perf_counter()
    memory.scope(room="many").add_many(texts)
    ours = time.perf_counter() - start
    print(f"bare COPY of {count:,} into a table with GIN and vector index: {plain:.2f} s")
    print(f"add_many of {count:,}: {ours:.2f} s, {ours / plain:.2f} times as long (at most {ADD_MANY:.1f})")


def measure_searching(
    memory: Memory, bare: "psycopg.Connection[Any]", embedder: StaticEmbedder, *, scopes: int, each: int, rounds: int
) -> None:
    bare.execute("CREATE TABLE near (id text PRIMARY KEY, room text, vector vector(256))")
    bare.execute("CREATE INDEX ON near (room)")
    for scope in range(scopes):
        texts = [random_text() for _ in range(each)]
        memory.scope(room=f"s{scope}").add_many(texts)
        with bare.transaction(), bare.cursor().copy("COPY near FROM STDIN") as copy:
            for number, vector in enumerate(embedder.embed(texts)):
                copy.write_row((f"{scope}-{number}", f"s{scope}", vector_literal(vector)))
    bare.execute("ANALYZE near")
    questions = [random_text(4) for _ in range(rounds)]
    vectors = [vector_literal(vector) for vector in embedder.embed(questions)]
    views = [memory.scope(room=f"s{scope}") for scope in range(scopes)]
    for view in views:
        view.search(random_text(4))
    plain, ours = interleaved(
        rounds,
        lambda turn: bare.execute(
            BARE_NEAREST, (vectors[turn], f"s{turn % scopes}", vectors[turn]), prepare=True
        ).fetchall(),
        lambda turn: views[turn % scopes].search(questions[turn], limit=10),
    )
    print(f"bare pgvector query in {each:,} of {scopes * each:,}: {plain:,.0f} us")
    print(f"hybrid search: {ours:,.0f} us, {ours / plain:.2f} times as long (at most {SEARCH:.1f})")


def measure_together(memory: Memory, *, scopes: int, seconds: float, searching: int = 16, writing: int = 4) -> None:
    """Search and write at the same time; an error ends it."""
    end = time.monotonic() + seconds
    taken: dict[str, list[float]] = {"search": [], "add": []}
    questions = [random_text(4) for _ in range(500)]
    texts = [random_text() for _ in range(500)]

    def work(number: int) -> None:
        turn = number
        while time.monotonic() < end:
            turn += 1
            view = memory.scope(room=f"s{turn * 7 % scopes}")
            start = time.perf_counter()
            if number < searching:
                view.search(questions[turn % 500])
            else:
                view.add(texts[turn % 500])
            taken["search" if number < searching else "add"].append(time.perf_counter() - start)

    with ThreadPoolExecutor(searching + writing) as pool:
        for future in [pool.submit(work, number) for number in range(searching + writing)]:
            future.result()
    for name, times in taken.items():
        times.sort()
        print(
            f"{searching} threads searching, {writing} writing for {seconds:.0f} s: {name} {len(times) / seconds:,.0f} a second,"
            f" p50 {times[len(times) // 2] * 1e3:.1f} ms, p99 {times[len(times) * 99 // 100] * 1e3:.1f} ms, no error"
        )


def servers() -> Iterator[str]:
    with EmbeddedPostgres(settings=("shared_buffers = 512MB", "max_wal_size = 4GB")) as server:
        yield server.url()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--scopes", type=int, default=100)
    parser.add_argument("--each", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    random.seed(1)
    embedder = StaticEmbedder("english")
    for url in servers():
        with (
            Memory(url, embedder=embedder, settings=Settings(worker=False)) as memory,
            psycopg.connect(url, autocommit=True) as bare,
        ):
            measure_adding(memory, bare, options.rounds)
            measure_adding_many(memory, bare, embedder, options.many)
            measure_searching(memory, bare, embedder, scopes=options.scopes, each=options.each, rounds=options.rounds)
            measure_together(memory, scopes=options.scopes, seconds=options.seconds)


if __name__ == "__main__":
    main()
