"""Every statement of the PostgreSQL store has a shape that a Citus cluster can run. No cluster is needed here.

Statements that are constants are read where they stand; those that are put together are caught while a store lives through
everything, and none that the source has may be missed.
"""

import ast
import pkgutil
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import psycopg
import pytest
from tests.integration.test_postgres_statements import live

import rememo.store.postgres
import rememo.store.sql
from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import StorageError
from rememo.jobs.worker import Worker
from rememo.model.erasure import ErasureTarget
from rememo.store.id_renaming import IdChanges
from rememo.store.postgres import jobs
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.store import PostgresStore
from rememo.store.postgres.table_names import TABLES
from rememo.store.postgres.tenant_guard import current_tenant
from rememo.testing import ManualClock, WordEmbedder
from rememo.testing.postgres import DatabasePool

pytestmark = pytest.mark.requirement("postgres.citus")

OF_TENANTS: Final = tuple(name for name in TABLES if name != "models")
BEGINS: Final = re.compile(r"\s*\(*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
NAMED: Final = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE) ({'|'.join(OF_TENANTS)})(_\d\d|_\{{part\}})?\b")
ONE_TENANT: Final = re.compile(r"\btenant = [%?]")
SAME_TENANT: Final = re.compile(r"\btenant = \w+\.tenant\b")
LOCKS: Final = re.compile(r"\bFOR (UPDATE|SHARE|KEY SHARE)\b")
VERB: Final = re.compile(r"(\s*(?:WITH (?:RECURSIVE )?(?:\w+ (?:\(\) )?AS \(\),? ?)+)?)(\w+)")
UNION: Final = re.compile(r"\bUNION(?: ALL)?\b")
# A server that is no cluster takes and ends jobs of all tenants at once.
ON_ONE_SERVER: Final = frozenset((jobs._TAKE, jobs._EXTEND, jobs._END))  # pyright: ignore[reportPrivateUsage]
BEFORE_A_STORE_IS_OPEN: Final = frozenset(("migrate", "upgrade"))
FILLED: Final = {"tenant": "tenant = %s", "inside": "tenant = %s", "routed": "tenant = %s AND "}


def levels(sql: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the parts of a statement: each with what it has in brackets taken out, and what stood in those brackets."""
    for query in split(sql):
        outside, inside = take_out(query)
        yield outside, tuple(inside)
        for part in inside:
            yield from levels(part)


def split(sql: str) -> list[str]:
    """Return the queries of a union."""
    outside, inside = take_out(sql)
    parts = [part.replace("()", "({})") for part in UNION.split(outside.replace("{", "{{").replace("}", "}}"))]
    bracketed, queries = iter(inside), list[str]()
    for part in parts:
        queries.append(part.format(*(next(bracketed) for _ in range(part.count("({})")))))
    return queries


def take_out(sql: str) -> tuple[str, list[str]]:
    """Return a statement without what is in its brackets, and what that was."""
    outside, inside, depth = "", list[str](), 0
    for sign in sql:
        depth -= sign == ")"
        if depth == 0:
            outside += sign
        elif (sign == "(" and depth == 1) or depth:
            inside[-1] += sign
        if sign == "(":
            depth += 1
            if depth == 1:
                inside.append("")
    return outside, inside


def faults(sql: str, *, one_tenant: bool) -> list[str]:
    """Return what a cluster would refuse, or would send to every node though it is about one tenant."""
    sql = " ".join(sql.split())
    found: list[str] = []
    for outside, inside in levels(sql):
        tables = [match[2] for match in NAMED.finditer(outside)]
        if not tables:
            continue
        constant, same = len(ONE_TENANT.findall(outside)), len(SAME_TENANT.findall(outside))
        before, verb = VERB.match(outside).groups()  # pyright: ignore[reportOptionalMemberAccess] - each has one
        if verb == "INSERT":
            columns = inside[before.count("()")]
            if not columns.startswith("tenant"):
                found.append(f"an INSERT into {tables[0]} without its tenant")
            ends = re.split(r"\bON CONFLICT\b|\bRETURNING\b", outside)
            first = ends[0].count("()") if re.search(r"\bSELECT\b", ends[0]) else before.count("()")
            if any("SELECT" in part for part in inside[first:]):
                found.append(f"an INSERT into {tables[0]} that looks elsewhere by a subquery")
            continue
        changes = verb in ("UPDATE", "DELETE") or LOCKS.search(outside) is not None
        if constant + same < len(tables) - (0 if one_tenant else 1):
            found.append(f"{', '.join(tables)} without the tenant of each")
        if one_tenant and not constant and (changes or not same):
            found.append(f"{', '.join(tables)} of every tenant")
        if changes and not constant and (LOCKS.search(outside) or "FROM unnest" in outside):
            found.append(f"{', '.join(tables)} locked or changed beside other rows, without one tenant")
    return found


def modules() -> Iterator[ModuleType]:
    for package in (rememo.store.postgres, rememo.store.sql):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            yield import_module(module.name)


def statements_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if BEGINS.match(value):
            yield value
    elif isinstance(value, dict):
        for part in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from statements_in(part)
    elif isinstance(value, tuple | list):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from statements_in(part)


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("INSERT INTO tenants AS held (tenant) VALUES (%s) RETURNING number, (SELECT model FROM models)", "looks elsewhere"),
        ("INSERT INTO keys (key) VALUES (%s)", "without its tenant"),
        ("SELECT number FROM words_03 WHERE tenant || '' = %s", "of every tenant"),
        ("SELECT 1 FROM records JOIN vectors ON vectors.number = records.number WHERE records.tenant = %s", "of each"),
        ("SELECT 1 FROM records WHERE tenant = %s UNION SELECT 1 FROM jobs WHERE id = %s", "without the tenant"),
        ("SELECT 1 FROM records WHERE tenant = %s AND id IN (SELECT id FROM jobs WHERE state = 'done')", "jobs"),
        ("UPDATE kv SET value = %s WHERE key = %s", "of every tenant"),
        ("UPDATE jobs SET state = x.state FROM unnest(%s) AS x (tenant, state) WHERE jobs.tenant = x.tenant", "every tenant"),
    ],
)  # fmt: skip
def test_the_walk_refuses_what_a_cluster_does(sql: str, fault: str):
    assert fault in "; ".join(faults(sql, one_tenant=True))


def test_what_all_tenants_have_in_common_locks_no_rows():
    assert faults("SELECT id FROM jobs ORDER BY due_at LIMIT 1", one_tenant=False) == []
    assert faults("SELECT id FROM jobs LIMIT 1 FOR UPDATE SKIP LOCKED", one_tenant=False)


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Statements as they are run, and whether for one tenant; the store takes itself for a cluster's."""
    statements: list[tuple[str, bool]] = []
    execute, stream = PostgresSession.execute, PostgresSession.stream

    def note(sql: str) -> None:
        try:
            statements.append((sql, current_tenant() is not None))
        except StorageError:
            statements.append((sql, False))

    def listen(self: PostgresSession, sql: str, values: Any = ()) -> Any:
        note(sql)
        return execute(self, sql, values)

    def listen_to_stream(self: PostgresSession, sql: str, values: Any, size: int) -> Any:
        note(sql)
        return stream(self, sql, values, size)

    monkeypatch.setattr(PostgresSession, "execute", listen)
    monkeypatch.setattr(PostgresSession, "stream", listen_to_stream)
    return statements


# What a cluster's own extension has, and stats ask for.
STAND_INS: Final = (
    "CREATE FUNCTION citus_shard_sizes(OUT shard_id int, OUT size bigint) RETURNS SETOF record LANGUAGE sql AS 'SELECT 0, 0 WHERE false'",
    "CREATE TABLE pg_dist_shard (shardid bigint, logicalrelid regclass)",
)


@contextmanager
def with_stand_ins(databases: DatabasePool) -> Generator[str]:
    name = databases.lend()
    with psycopg.connect(databases.url(name), autocommit=True) as connection:
        for statement in STAND_INS:
            connection.execute(statement)
        yield databases.url(name)
        connection.execute("DROP FUNCTION citus_shard_sizes")
        connection.execute("DROP TABLE pg_dist_shard")
    databases.take_back(name)


def live_on_a_cluster(url: str, folder: Path, keyring: Keyring | None) -> None:
    """Do everything that asks a store something."""
    clock, settings = ManualClock(), Settings(durability="fast", worker=False, audit=True)
    with Memory(url, embedder=WordEmbedder(), encryption=keyring, settings=settings, clock=clock) as memory:
        store = view_of(memory).engine.store
        assert isinstance(store, PostgresStore)
        store._database.distributed = True  # pyright: ignore[reportPrivateUsage]
        live(memory, clock, folder)
        chat = memory.scope(user="bo", room="two")
        for text in ("a quay by the river", "a bridge over the river", "the ferry"):
            chat.add(text)
            assert chat.search(text)[0].text == text
        first = chat.add("a tower", key="again").id
        for text in ("a high tower", "a higher tower", "the highest tower"):
            chat.update(first, text=text)
        memory.kv.set("b", {"record": first})
        scope, moment = view_of(chat).scope, clock()
        assert store.changes(scope, (0, 0, 0), 10)
        assert store.clock("default")
        chat.messages.add("user", "I love sailing.")
        assert store.open_jobs(scope, ["extract", "learn"]) is not None
        assert store.pending_jobs(scope, ["extract", "learn"], most=500) is not None
        Worker(view_of(memory).engine).run_until_idle()
        clock.advance(100)
        assert store.thin(scope, keep_from=clock(), forget_before=clock(), start="", limit=100, first=True).versions
        target = ErasureTarget(scope=scope, ids=(first,))
        assert store.weigh(target)["records"] == 1
        assert store.doomed(target, 5)
        erasure = store.begin_erasure(target, moment)
        store.mark(erasure, "default", {first: {"note": 1}})
        list(store.unvectored("default"))
        list(store.versions("default", ["note"]))
        renamed = IdChanges(ids={first: "another"}, rewrite=lambda text: text.replace(first, "another"))
        assert store.rename("default", [first], renamed)
        store.rename_references("default", renamed)
        store.end_renaming("default")
        if keyring is not None:
            memory.rotate_keys()
            Worker(view_of(memory).engine).run_until_idle()
        store.forget_target(erasure, target)
        store.end_erasure(erasure, "default")
        memory.verify()
        memory.maintain()
        memory.reembed(WordEmbedder("other", 16))
        store.rename_unreadable("default", lambda id: id)


def test_every_statement_that_is_a_constant_can_be_run():
    checked, wrong = 0, list[tuple[str, str, list[str]]]()
    for module in modules():
        # Not what the interpreter puts there: its names hold each other in a circle.
        for name, value in vars(module).items():
            for statement in () if name.startswith("__") else statements_in(value):
                if statement in ON_ONE_SERVER:
                    continue
                filled = re.sub(r"\{(\w+)\}", lambda found: FILLED.get(found[1], found[0]), statement)
                one_tenant = ONE_TENANT.search(filled) is not None
                if found := faults(filled, one_tenant=one_tenant):
                    wrong.append((module.__name__, name, found))
                checked += 1
    assert wrong == []
    assert checked > 150


def put_together() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Give where the source puts a statement together, and what it looks like."""
    for package in (rememo.store.postgres, rememo.store.sql):
        for path in sorted(Path(package.__path__[0]).glob("*.py")):
            if path.stem in BEFORE_A_STORE_IS_OPEN:
                continue
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(function, ast.FunctionDef):
                    yield from ((f"{path.name}:{line}", pattern) for line, pattern in texts_in(function))


def texts_in(function: ast.FunctionDef) -> Iterator[tuple[int, re.Pattern[str]]]:
    formatted = [node for node in ast.walk(function) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in formatted for part in node.values}
    plain = [node for node in ast.walk(function) if isinstance(node, ast.Constant) and id(node) not in inside]
    for node in (*formatted, *plain):
        parts: Sequence[ast.expr] = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = [
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else None for part in parts
        ]
        text = "".join("{}" if part is None else part for part in texts)
        if BEGINS.match(text) and NAMED.search(text):
            yield node.lineno, re.compile(".*".join(re.escape(" ".join(part.split())) for part in text.split("{}")))


def test_every_statement_that_is_put_together_can_be_run(
    databases: DatabasePool, caught: list[tuple[str, bool]], tmp_path: Path
):
    for name, keyring in (("plain", None), ("sealed", Keyring(bytes(32)))):
        (tmp_path / name).mkdir()
        with with_stand_ins(databases) as url:
            live_on_a_cluster(url, tmp_path / name, keyring)
    run = {(" ".join(sql.split()), one_tenant) for sql, one_tenant in caught if BEGINS.match(sql)}
    assert [(found, sql) for sql, one_tenant in run if (found := faults(sql, one_tenant=one_tenant))] == []
    # What the source can put together was all put together, or the walk above proves too little.
    assert [place for place, pattern in put_together() if not any(pattern.search(sql) for sql, _ in run)] == []
