"""Opening a memory: from a URL to an engine. What a URL or a setting does not name is not loaded."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rememo.engine.engine import Engine
from rememo.engine.renaming import rename_older
from rememo.engine.shared import open_shared
from rememo.errors import InvalidInput, MissingExtra
from rememo.model.times import Clock
from rememo.recall.analyze import Analyzer, asks, fingerprint
from rememo.recall.embed.protocol import Embedder
from rememo.settings import Settings
from rememo.store.kv.protocol import KeyServing, KeyValue
from rememo.store.kv.sqlite import SqliteKeyValue
from rememo.store.migrations import Plan, Wishes
from rememo.store.protocol import Analysis, Store
from rememo.store.redis.address import is_redis
from rememo.store.seal import Encryption, Sealing, open_seal
from rememo.store.sqlite.database import MEMORY, Database
from rememo.store.sqlite.resealing import SqliteSealing
from rememo.store.sqlite.safe import Safe
from rememo.store.sqlite.store import SqliteStore
from rememo.store.sqlite.vault import SqliteVault

if TYPE_CHECKING:
    from rememo.store.sqlite.repair import RepairReport


def open_engine(
    url: str, *, embedder: Embedder | None, settings: Settings, clock: Clock, encryption: Encryption | None = None
) -> Engine:
    """Return the engine behind a file's path, `sqlite:///path`, `:memory:` or `postgresql://…`."""
    analyzer = Analyzer(settings.language)
    store, kv, sealing = _open_store(url, _analysis(analyzer), settings, encryption)
    try:
        if settings.kv:
            kv = open_shared(kv, store, settings, encryption)
        engine = Engine(
            store=store,
            kv=kv,
            analyzer=analyzer,
            embedder=embedder,
            settings=settings,
            clock=clock,
            encryption=encryption,
            sealing=sealing,
        )
        rename_older(engine)
    except BaseException:
        if isinstance(kv, KeyServing):
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
    url: str, analysis: Analysis, settings: Settings, encryption: Encryption | None
) -> tuple[Store, KeyValue, Sealing | None]:
    if _is_server(url):
        return _open_postgres(url, analysis, settings, encryption)
    if (opened := _open_foreign(url, analysis, settings, encryption)) is not None:
        return opened
    path = _path(url)
    database = Database(
        MEMORY if path == MEMORY else path,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        max_bytes=settings.max_file_bytes,
        file_mode=settings.file_permissions,
    )
    try:
        safe = Safe(database, seal=open_seal(SqliteVault(database), encryption), compress_above=settings.compress_above)
        store = SqliteStore(database, safe=safe, analysis=analysis, cache_bytes=settings.vector_cache_bytes)
        sealing = None if safe.seal is None else SqliteSealing(database, safe, safe.seal, analysis)
        return store, SqliteKeyValue(database, safe), sealing
    except BaseException:
        database.close()
        raise


def _open_foreign(
    url: str, analysis: Analysis, settings: Settings, encryption: Encryption | None
) -> tuple[Store, KeyValue, Sealing | None] | None:
    """Open a store that another package brings, under the scheme of its addresses; None when none does."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme == "sqlite":
        return None
    from importlib.metadata import entry_points

    # Only for a scheme that is not known here: a look at all packages takes as long as opening a file.
    for found in entry_points(group="rememo.stores", name=scheme):
        opened: tuple[Store, KeyValue, Sealing | None] = found.load()(url, analysis, settings, encryption)
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
    if separator and scheme != "sqlite":
        raise InvalidInput(
            f'there is no store for {scheme}:// addresses; give a file\'s path, ":memory:" or postgresql://…'
        )
    path = file_of(url) or ""
    if not path or "\x00" in path:
        raise InvalidInput(f'the address {url!r} names no file; give a path such as "agent.db", or ":memory:"')
    return path


def _need_driver() -> None:
    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise MissingExtra('a store on PostgreSQL needs psycopg: pip install "rememo[postgres]"')


def _open_postgres(
    url: str, analysis: Analysis, settings: Settings, encryption: Encryption | None
) -> tuple[Store, KeyValue, Sealing | None]:
    _need_driver()
    # Only now: those who keep their memory in a file need not have the driver.
    from rememo.store.kv.postgres import PostgresKeyValue
    from rememo.store.postgres.address import parse_address
    from rememo.store.postgres.database import Database as Server
    from rememo.store.postgres.resealing import PostgresSealing
    from rememo.store.postgres.safe import ServerSafe
    from rememo.store.postgres.store import PostgresStore
    from rememo.store.postgres.vault import PostgresVault

    server = Server(parse_address(url), durability=settings.durability, busy_timeout=settings.busy_timeout)
    try:
        safe = ServerSafe(seal=open_seal(PostgresVault(server), encryption), compress_above=settings.compress_above)
        store = PostgresStore(
            server, safe=safe, analysis=analysis, cache_bytes=settings.vector_cache_bytes,
            index_above=settings.index_above,
        )  # fmt: skip
        sealing = None if safe.seal is None else PostgresSealing(server, safe, safe.seal, analysis)
        return store, PostgresKeyValue(server, safe), sealing
    except BaseException:
        server.close()
        raise


def migrate_store(url: str, wishes: Wishes, *, dry: bool = False) -> Plan:
    """Bring a store up to date and do what is wished for, or only tell what would be done."""
    settings = Settings.load()
    if _is_server(url):
        _need_driver()
        from rememo.store.postgres.address import parse_address
        from rememo.store.postgres.upgrade import upgrade

        return upgrade(parse_address(url), wishes, dry=dry, wait=settings.busy_timeout)
    if wishes.row_level_security or wishes.grant is not None or wishes.citus:
        raise InvalidInput(f"{url} is a file: row-level security, grants and Citus are for a PostgreSQL server")
    from rememo.store.sqlite.upgrade import upgrade_file

    path = _path(url)
    return upgrade_file(path, contract=wishes.contract, dry=dry, busy_timeout=settings.busy_timeout)


def repair_file(source: str, target: str, *, encryption: Encryption | None = None) -> "RepairReport":
    """Save what can be read of a damaged file into a new one; a sealed one needs its keys."""
    from rememo.store.sqlite.repair import repair

    settings = Settings.load()
    analysis = _analysis(Analyzer(settings.language))
    return repair(source, target, analysis=analysis, encryption=encryption, file_mode=settings.file_permissions)


def _analysis(analyzer: Analyzer) -> Analysis:
    return Analysis(terms=analyzer.terms, fingerprint=fingerprint, asks=asks)
