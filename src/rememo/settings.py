"""Settings: from arguments, else the environment (`REMEMO_*`), else `rememo.toml`, else what stands here."""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, cast

from rememo.errors import InvalidInput

_PREFIX = "REMEMO_"
_TRUE = {"1", "true", "yes", "on"}
_MODE = re.compile(r"0?6[0246][0246]")
_FALSE = {"0", "false", "no", "off"}
REDACTED = ("keys", "cards", "ibans", "emails", "phones")
"""What can be taken out of a text before it is stored."""
SHORT_TERM = ("kv", "flows", "caches", "sessions", "profiles")
"""What a Redis server can hold."""


PRIVATE = ("kv", "llm_url", "llm_key", "embed_url", "embed_key")
"""Settings that may hold a password or a key, and are never exported."""
TABLES = ("llm", "spend", "embed")
"""Settings that may stand in a table of their own in the file: `url` under `[llm]` is `llm_url`."""


class Spend(NamedTuple):
    """What may be spent on models, and what they cost."""

    daily_tokens: int | None
    """The ceiling of a tenant and a day; None is none."""
    prompt_price: float
    """Of 1,000,000 tokens that a model reads."""
    completion_price: float
    """Of 1,000,000 tokens that a model writes."""
    embed_price: float
    """Of 1,000,000 tokens that an embedding model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every knob with its default; each can be set as `REMEMO_<NAME>` or in `rememo.toml`."""

    durability: Literal["full", "fast"] = "full"
    """`full`: a receipt survives power loss. `fast`: it survives a crash of the process; power loss may take the last."""
    busy_timeout: float = 30.0
    """Seconds a write waits for other writers before it raises `Busy`."""
    max_text_bytes: int = 1_048_576
    """The longest text of one record."""
    max_data_bytes: int = 1_048_576
    """The largest structured content of one record, as JSON."""
    max_metadata_bytes: int = 65_536
    """The largest metadata of one record, as JSON."""
    max_depth: int = 16
    """How deeply data and metadata may be nested."""
    max_query_chars: int = 10_000
    """What is looked at of a question; the rest is left out."""
    max_file_bytes: int = 0
    """The largest the embedded file may grow; 0 is as large as the disk."""
    file_mode: str = "600"
    """Who may read and write new files (the memory itself, backups, exports, archives in a folder), as `chmod` takes it:
    `640` lets the file's group read them. Files that are there keep the mode they have."""
    max_provided_bytes: int = 1_048_576
    """The most that one provider may give to a composed state: text, values and data together."""
    compress_above: int = 4_096
    """Texts, data and values of more characters than this are stored compressed; 0 compresses nothing."""
    language: str = "english"
    """Whose stop words and stems the analyser uses."""
    embedder: str = "static"
    """What makes vectors: `static`, `none`, `fastembed:NAME`, `sentence-transformers:NAME` or `openai:NAME` for an endpoint."""
    embed_url: str = field(default="", repr=False)  # a password may stand in it
    """The address of an endpoint that embeds, such as `http://127.0.0.1:11434/v1`; OpenAI's unless given."""
    embed_key: str = field(default="", repr=False)
    """The key of that endpoint; it is never shown or exported."""
    embed_dimension: int = 0
    """How long its vectors are; 0 asks it."""
    embed_cache_days: float = 30.0
    """How long vectors that an endpoint was paid for are kept, so that the same text is not paid for again; 0 keeps none."""
    vector_cache_bytes: int = 268_435_456
    """Memory for vectors held ready for search, over all scopes."""
    index_above: int = 200_000
    """On PostgreSQL, scopes of more records than this are searched by an HNSW index where one was built; 0 never."""
    key_days: float = 7.0
    """How long an idempotency key is remembered: `maintain()` forgets older ones."""
    learn: bool = True
    """Whether facts and relationships are learned from messages and notes."""
    learn_wait: float = 1.0
    """Seconds that a read waits, at the most, for what was just written in its scope to be learned by rules; 0 waits for
    nothing. Nobody waits for a model, or where more than 256 lessons of the scope are open."""
    worker: bool = True
    """Whether later work is done in this process; else `rememo worker` does it, or `receipt.wait()`."""
    kv: str = field(default="", repr=False)  # a password may stand in it
    """Where short-term state is held: with the records, or on a Redis server (`redis://host:6379/0`)."""
    kv_holds: tuple[str, ...] = ("kv", "flows", "caches")
    """What such a server holds: any of kv, flows, caches, sessions, profiles. All else stays with the records."""
    archive: str = field(default="", repr=False)  # a key may stand behind its ?
    """Where records are put away before policies remove them: a folder, or an address such as `s3://bucket/prefix`."""
    archive_timeout: float = 30.0
    """Seconds that one request to the archive may take."""
    audit: bool = False
    """Whether every write, export, erasure and refusal is noted in the audit trail."""
    roles: str = "user assistant system tool"
    """The roles a message may have."""
    trust: str = "tool=0.7 action=0.8 document=0.9 web=0.6 mcp=0.9"
    """How far records are trusted whose trust was not told, by role, kind or the channel of their source; others fully."""
    guard: bool = True
    """Whether what is not fully trusted is examined, and quarantined where a rule finds something."""
    guard_off: tuple[str, ...] = ()
    """Rules of the guard that are not applied, by their names."""
    guard_flood: int = 300
    """How many records one source that is not fully trusted may bring into a scope in a minute; 0 is any number."""
    redact: tuple[str, ...] = ()
    """What is taken out before storing: any of keys, cards, ibans, emails, phones."""
    llm_url: str = field(default="", repr=False)  # a password may stand in it
    """Where a language model is asked, in the manner of OpenAI (`http://localhost:11434/v1`); nowhere unless told."""
    llm_model: str = ""
    """Which model is asked there."""
    llm_key: str = field(default="", repr=False)
    """The key that the endpoint wants; never shown, exported or logged."""
    llm_timeout: float = 60.0
    """Seconds that one call to the model may take, with all its tries."""
    llm_concurrency: int = 4
    """How many calls to the model run at once in this process."""
    spend_daily_tokens: int | None = None
    """How many tokens a tenant may spend on models in a day (UTC); unset is no ceiling, 0 asks no model."""
    spend_prompt_price: float = 0.0
    """What 1,000,000 tokens cost that a model reads."""
    spend_completion_price: float = 0.0
    """What 1,000,000 tokens cost that a model writes."""
    spend_embed_price: float = 0.0
    """What 1,000,000 tokens cost that an embedding model reads."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant."""
        if self.durability not in ("full", "fast"):
            raise InvalidInput(f'durability must be "full" or "fast", not {self.durability!r}')
        _check_mode(self.file_mode)
        for name in ("guard_off", "redact", "kv_holds"):
            object.__setattr__(self, name, _words(getattr(self, name), name))
        if unknown := set(self.redact) - set(REDACTED):
            raise InvalidInput(f"redact cannot take out {min(unknown)!r}; it knows {', '.join(REDACTED)}")
        if unknown := set(self.kv_holds) - set(SHORT_TERM):
            raise InvalidInput(f"kv_holds cannot have {min(unknown)!r}; it knows {', '.join(SHORT_TERM)}")
        trust_table(self.trust)
        known = {field.name: field for field in fields(self)}
        for setting in known.values():
            _fitting(known, setting.name, getattr(self, setting.name), setting.name)
        for name, least in (
            ("busy_timeout", 0),
            ("max_file_bytes", 0),
            ("compress_above", 0),
            ("embed_dimension", 0),
            ("embed_cache_days", 0),
            ("vector_cache_bytes", 0),
            ("index_above", 0),
            ("key_days", 0),
            ("learn_wait", 0),
            ("guard_flood", 0),
            ("spend_prompt_price", 0),
            ("spend_completion_price", 0),
            ("spend_embed_price", 0),
        ):
            if not getattr(self, name) >= least:
                raise InvalidInput(f"{name} must be {least} or more, not {getattr(self, name)!r}")
        if self.spend_daily_tokens is not None and self.spend_daily_tokens < 0:
            raise InvalidInput(f"spend_daily_tokens must be 0 or more, not {self.spend_daily_tokens!r}")
        if not self.llm_timeout > 0:
            raise InvalidInput(f"llm_timeout must be above 0, not {self.llm_timeout!r}")
        if self.llm_url and not self.llm_model:
            raise InvalidInput("llm_url is set, but no llm_model: say which model to ask there")
        counts = ("max_text_bytes", "max_data_bytes", "max_metadata_bytes", "max_depth", "max_query_chars",
                  "max_provided_bytes", "llm_concurrency")  # fmt: skip
        for name in counts:
            if not getattr(self, name) >= 1:
                raise InvalidInput(f"{name} must be 1 or more, not {getattr(self, name)!r}")

    @classmethod
    def load(
        cls, *, file: str | Path | None = None, environ: Mapping[str, str] | None = None, **arguments: Any
    ) -> Self:
        """Return the settings of this process; an unknown name is an error wherever it stands.

        `file` is `rememo.toml` in the working directory unless given; a given one must exist.
        """
        known = {field.name: field for field in fields(cls)}
        values: dict[str, Any] = {}
        path = Path("rememo.toml") if file is None else Path(file)
        if file is not None or path.is_file():
            for name, value in _read_toml(path).items():
                values[name] = _fitting(known, name, value, f"{path}: {name}")
        for variable, text in (os.environ if environ is None else environ).items():
            name = variable.removeprefix(_PREFIX).lower()
            # Other programs of the family (tests, servers) have variables of their own under this prefix.
            if variable.startswith(_PREFIX) and name in known:
                values[name] = _parsed(known[name].type, text, variable)
        for name, value in arguments.items():
            values[name] = _fitting(known, name, value, name)
        return cls(**values)

    @property
    def file_permissions(self) -> int:
        """The mode of new files as a number."""
        return int(self.file_mode, 8)

    @property
    def spend(self) -> "Spend":
        """What may be spent on models, and what they cost."""
        prices = self.spend_prompt_price, self.spend_completion_price, self.spend_embed_price
        return Spend(self.spend_daily_tokens, *prices)

    def but(self, **changes: Any) -> Self:
        """Return a copy with some values changed."""
        return replace(self, **changes)


def trust_table(text: object) -> dict[str, float]:
    """Return the trust by role, kind or channel that a setting such as `tool=0.7 web=0.6` tells."""
    table: dict[str, float] = {}
    for part in _words(text, "trust"):
        name, _, value = part.partition("=")
        try:
            trust = float(value)
        except ValueError:
            trust = -1.0
        if not name or not 0 <= trust <= 1:
            raise InvalidInput(
                f"trust holds {part!r}; write a role, kind or channel with a number from 0 to 1: tool=0.7"
            )
        table[name] = trust
    return table


def _check_mode(mode: object) -> None:
    if not (isinstance(mode, str) and _MODE.fullmatch(mode)):
        raise InvalidInput(
            f'file_mode must be as chmod takes it, the owner\'s right to read and write included, such as "600" or "660",'
            f" not {mode!r}"
        )


def _words(value: object, name: str) -> tuple[str, ...]:
    """Return words that were given as a collection, or as one text with blanks or commas between them."""
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if isinstance(value, Iterable):
        words = tuple(cast("Iterable[object]", value))
        if all(isinstance(word, str) for word in words):
            return cast("tuple[str, ...]", words)
    raise InvalidInput(f"{name} must be words, not {value!r}")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the settings file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the settings file {path} is not TOML: {error}") from None
    for table in TABLES:
        if isinstance(read.get(table), dict):
            read |= {f"{table}_{name}": value for name, value in read.pop(table).items()}
    return read


def _fitting(known: Mapping[str, Any], name: str, value: Any, where: str) -> Any:
    if name not in known:
        raise InvalidInput(f"there is no setting {name!r} ({where}); the settings are {', '.join(known)}")
    wanted = known[name].type
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted is bool and not isinstance(value, bool):
        raise InvalidInput(f"{where} must be true or false, not {value!r}")
    if wanted == int | None:
        if value is None:
            return None
        wanted = int
    if wanted in (int, float, str) and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise InvalidInput(f"{where} must be {wanted.__name__}, not {value!r}")
    return value


def _parsed(wanted: Any, text: str, variable: str) -> Any:
    try:
        if wanted == int | None:
            return int(text) if text.strip() else None
        if wanted in (int, float):
            return wanted(text)
    except ValueError:
        named = "int" if wanted == int | None else wanted.__name__
        raise InvalidInput(f"{variable} must be {named}, not {text!r}") from None
    if wanted is bool:
        if text.lower() not in _TRUE | _FALSE:
            raise InvalidInput(f"{variable} must be true or false, not {text!r}")
        return text.lower() in _TRUE
    return text
