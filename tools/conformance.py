"""The conformance suites on any PostgreSQL server, pooler or cluster: `make conformance URL=postgresql://…`.

Each store is a schema of its own in the database of the address; on a Citus cluster its tables are spread over the nodes. The
schemas are removed at the end, and nothing else in the database is touched.
"""

import argparse
import os
import subprocess
import sys
from typing import Any

import psycopg

from rememo.store.postgres.address import parse_address
from rememo.store.postgres.connector import Connector

_EXTENSIONS = "SELECT extname, extversion FROM pg_extension WHERE extname IN ('citus', 'vector')"
_NODES = "SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards"


def describe(url: str) -> str:
    """Return what is behind an address: the server and its version, pgvector, Citus and its nodes, a pooler."""
    connector = Connector(parse_address(url), {}, name="rememo conformance")
    with connector.first() as connection:
        extensions: dict[str, str] = dict(connection.execute(_EXTENSIONS).fetchall())
        parts = [f"PostgreSQL {_value(connection, 'SHOW server_version')}"]
        parts.append(f"pgvector {extensions['vector']}" if "vector" in extensions else "no pgvector yet")
        if "citus" in extensions:
            parts.append(f"Citus {extensions['citus']} with {_value(connection, _NODES)} nodes that hold data")
        if connector.pooled:
            parts.append("through a pooler in front of it")
    return ", ".join(parts)


def _value(connection: "psycopg.Connection[Any]", question: str) -> Any:
    row = connection.execute(question.encode()).fetchone()
    return None if row is None else row[0]


def main() -> int | str:
    """Say which server it is and run the suites on it; further arguments go to pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="postgresql://…, of a database whose role may make schemas")
    arguments, more = parser.parse_known_args()
    try:
        server = describe(arguments.url)
    except psycopg.Error as error:
        return f"no server answers: {error}"
    sys.stdout.write(f"{server}\n")
    sys.stdout.flush()
    places = {"REMEMO_TEST_POSTGRES": arguments.url, "REMEMO_TEST_POSTGRES_SCHEMAS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/conformance/test_postgres.py", *more]
    failed = subprocess.run(command, check=False, env={**os.environ, **places}).returncode  # noqa: S603 - our own suites
    sys.stdout.write(f"{'failed' if failed else 'passed'} on {server}\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
