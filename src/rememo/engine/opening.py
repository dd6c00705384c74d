"""Opening a memory: from a URL to an engine. What a URL or a setting does not name is not loaded."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rememo.engine.derived_id_migration import migrate_derived_ids
from rememo.engine.engine import Engine
from rememo.engine.redis_state import open_redis_state
from rememo.engine.services import NO_SERVICES, EngineServices
from rememo.errors import InvalidInput, MissingExtra
from rememo.model.times import Clock
from rememo.recall.analyze import Analyzer, asks, fingerprint
from rememo.recall.embed.protocol import Embedder
from rememo.settings import Settings
from rememo.store.cipher.protocol import MasterKeys, Reencryption, open_cipher
from rememo.store.drafts import Analysis
from rememo.store.kv.protocol import KeyValue, KeyValueServer
from rememo.store.migrations import MigrationOptions, MigrationPlan
from rememo.store.protocol.store import Store
from rememo.store.redis.address import is_redis
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import MEMORY
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.key_store import SqliteKeyStore
from rememo.store.sqlite.key_value import SqliteKeyValue
from rememo.store.sqlite.reencryption import SqliteReencryption
from rememo.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from rememo.store.sqlite.repair import RepairReport


def open_engine(
    url: str,
    *,
    embedder: Embedder | None,
    settings: Settings,
    clock: Clock,
    encryption: MasterKeys | None = None,
    services: EngineServices = NO_SERVICES,
) -> Engine:
    """Return the engine behind a file's path, `sqlite:///path`, `:memory:` or `postgresql://…`."""
    analyzer = Analyzer(settings.language)
    store, kv, reencryption = _open_store(url, _analysis(analyzer), settings, encryption)
    try:
        if settings.kv:
            kv = open_redis_state(kv, store, settings, encryption)
        engine = Engine(
            store=store,
            kv=kv,
            analyzer=analyzer,
            embedder=embedder,
            settings=settings,
            clock=clock,
            encryption=encryption,
            reencryption=reencryption,
            services=services,
        )
        migrate_derived_ids(engine)
    except BaseException:
        if isinstance(kv, KeyValueServer):
            kv.close()
        store.close()
        raise
    return engine


def file_of(url: str) -> str | None:
    """Return the path of the file that an address names, None for a server's."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    return rest.removeprefix("/") if scheme == "sqlite" else None


def _open_store(
    url: str, analysis: Analysis, settings: Settings, encryption: MasterKeys | None
) -> tuple[Store, KeyValue, Reencryption | None]:
    if _is_server(url):
        return _open_postgres(url, analysis, settings, encryption)
    if (opened := _open_foreign(url, analysis, settings, encryption)) is not None:
        return opened
    path = _path(url)
    database = SqliteDatabase(
        MEMORY if path == MEMORY else path,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        max_bytes=settings.max_file_bytes,
        file_mode=settings.file_permissions,
    )
    try:
        codecs = SqliteCodecs(
            database, cipher=open_cipher(SqliteKeyStore(database), encryption), compress_above=settings.compress_above
        )
        store = SqliteStore(database, codecs=codecs, analysis=analysis, cache_bytes=settings.vector_cache_bytes)
        reencryption = (
            None
            if codecs.cipher is None
            else SqliteReencryption(database, codecs, codecs.cipher, SqliteKeyStore(database), analysis)
        )
        return store, SqliteKeyValue(database, codecs), reencryption
    except BaseException:
        database.close()
        raise


def _open_foreign(
    url: str, analysis: Analysis, settings: Settings, encryption: MasterKeys | None
) -> tuple[Store, KeyValue, Reencryption | None] | None:
    """Open a store that another package brings, under the scheme of its addresses; None when none does."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme == "sqlite":
        return None
    from importlib.metadata import entry_points

    # Only for a scheme that is not known here: a look at all packages takes as long as opening a file.
    for entry_point in entry_points(group="rememo.stores", name=scheme):
        opened: tuple[Store, KeyValue, Reencryption | None] = entry_point.load()(url, analysis, settings, encryption)
        return opened
    return None


def _is_server(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def _path(url: str) -> str:
    """Return the path of the file that an address names; one that names none raises `InvalidInput`."""
    scheme, separator, _ = url.partition("://")
    if is_redis(url):
        raise InvalidInput(
            "a Redis server holds short-term state and recent messages, not records: give a file or postgresql://…,"
            " with Settings(kv='redis://…'), or open a room there with RecentMessages('redis://…', room=…)"
        )
    if scheme in {"http", "https"}:
        raise InvalidInput(
            f'{scheme}:// is the address of a server: a program opens its memory with rememo.Client("{scheme}://…"), an'
            ' assistant with `rememo mcp`; elsewhere give a file\'s path, ":memory:" or postgresql://…'
        )
    if separator and scheme != "sqlite":
        raise InvalidInput(
            f'there is no store for {scheme}:// addresses; give a file\'s path, ":memory:" or postgresql://…'
        )
    path = file_of(url) or ""
    if not path or "\x00" in path:
        raise InvalidInput(f'the address {url!r} names no file; give a path such as "agent.db", or ":memory:"')
    return path


def _require_postgres_driver() -> None:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise MissingExtra('a store on PostgreSQL needs psycopg: pip install "rememo[postgres]"')


def _open_postgres(
    url: str, analysis: Analysis, settings: Settings, encryption: MasterKeys | None
) -> tuple[Store, KeyValue, Reencryption | None]:
    _require_postgres_driver()
    # Only now: those who keep their memory in a file need not have the driver.
    from rememo.store.postgres.address import parse_address
    from rememo.store.postgres.codecs import PostgresCodecs
    from rememo.store.postgres.database import PostgresDatabase
    from rememo.store.postgres.key_store import PostgresKeyStore
    from rememo.store.postgres.key_value import PostgresKeyValue
    from rememo.store.postgres.reencryption import PostgresReencryption
    from rememo.store.postgres.store import PostgresStore

    server = PostgresDatabase(parse_address(url), durability=settings.durability, busy_timeout=settings.busy_timeout)
    try:
        codecs = PostgresCodecs(
            cipher=open_cipher(PostgresKeyStore(server), encryption), compress_above=settings.compress_above
        )
        store = PostgresStore(
            server, codecs=codecs, analysis=analysis, cache_bytes=settings.vector_cache_bytes,
            index_above=settings.index_above,
        )  # fmt: skip
        reencryption = (
            None
            if codecs.cipher is None
            else PostgresReencryption(server, codecs, codecs.cipher, PostgresKeyStore(server), analysis)
        )
        return store, PostgresKeyValue(server, codecs), reencryption
    except BaseException:
        server.close()
        raise


def migrate_store(url: str, wishes: MigrationOptions, *, dry: bool = False) -> MigrationPlan:
    """Bring a store up to date and do what is wished for, or only tell what would be done."""
    settings = Settings.load()
    if _is_server(url):
        _require_postgres_driver()
        from rememo.store.postgres.address import parse_address
        from rememo.store.postgres.upgrade import upgrade

        return upgrade(parse_address(url), wishes, dry=dry, wait=settings.busy_timeout)
    if wishes.row_level_security or wishes.grant is not None or wishes.citus:
        raise InvalidInput(f"{url} is a file: row-level security, grants and Citus are for a PostgreSQL server")
    from rememo.store.sqlite.upgrade import upgrade_file

    path = _path(url)
    return upgrade_file(path, contract=wishes.contract, dry=dry, busy_timeout=settings.busy_timeout)


def repair_file(source: str, target: str, *, encryption: MasterKeys | None = None) -> "RepairReport":
    """Save what can be read of a damaged file into a new one; an encrypted one needs its keys."""
    from rememo.store.sqlite.repair import repair

    settings = Settings.load()
    analysis = _analysis(Analyzer(settings.language))
    return repair(source, target, analysis=analysis, encryption=encryption, file_mode=settings.file_permissions)


def _analysis(analyzer: Analyzer) -> Analysis:
    return Analysis(terms=analyzer.terms, fingerprint=fingerprint, asks=asks)
