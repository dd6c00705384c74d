"""Derived ids: ids that follow from what a record is, so that the same thing is stored once by every process.

An id is made in two steps. Whoever derives one names the thing by a digest of its parts, which anybody can compute (see
`derived_names`). The tenant's id cipher then turns that name into the id. In a plain
store it changes nothing; in an encrypted one it is keyed, so nobody without the key can confirm a guess, and the key of a
tenant outlives the rotation of its data keys.

Derived ids have a form of their own, which nobody can write by hand: only a `DerivedId` may create a record under one.
"""

import re
import secrets
from collections.abc import Callable
from typing import Final, Protocol
from uuid import UUID, uuid5

BLOCK_BYTES: Final = 16
"""How many bytes an id cipher turns into as many others."""
_PREFIX: Final = "derived-"
_FORM: Final = re.compile(r"derived-[0-9a-f]{32}")
_WITHIN: Final = re.compile(r"derived-[0-9a-f]{32}(?![0-9a-f])")
_UUID_5: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_IS_UUID_5: Final = re.compile(_UUID_5)
# A later piece of a large value, a document of Haystack, and a note that was imported from elsewhere.
_OLDER: Final = re.compile(rf"{_UUID_5}(?:-[0-9]{{1,6}})?|haystack-[0-9a-f]{{40}}|[a-z0-9_.-]{{1,40}}:[0-9a-f]{{32}}")
_OLDER_WITHIN: Final = re.compile(rf"(?<![0-9a-z_.:-])(?:{_OLDER.pattern})(?![0-9a-z_.:-])")
_NAMESPACE: Final = UUID("2f0b6c51-7a83-5d0e-b3a9-6f6a1c5e4d27")


class DerivedId(str):
    """An id that was derived here. A text of the same form that came from elsewhere is no such id."""

    __slots__ = ()


class IdCipher(Protocol):
    """Turns the digests of one tenant into its ids and back."""

    def encrypt(self, block: bytes) -> bytes:
        """Return the 16 bytes of an id for the 16 bytes of a digest."""
        ...

    def decrypt(self, block: bytes) -> bytes:
        """Return the digest for the bytes of an id."""
        ...


class PlainIds:
    """The id cipher of a store without encryption: ids are the digests themselves."""

    def encrypt(self, block: bytes) -> bytes:
        """Return the digest itself."""
        return block

    def decrypt(self, block: bytes) -> bytes:
        """Return the id itself."""
        return block


PLAIN_IDS: Final[IdCipher] = PlainIds()


def is_derived(id: str) -> bool:
    """Whether an id has the form of derived ids."""
    return id.startswith(_PREFIX) and _FORM.fullmatch(id) is not None


def derive_id(name: str, cipher: IdCipher) -> DerivedId:
    """Return the id of the thing that a digest names."""
    return DerivedId(_PREFIX + cipher.encrypt(_block(name)).hex())


def name_of(id: str, cipher: IdCipher) -> str:
    """Return the digest that a derived id was made of, as a UUID; any other id as it is."""
    return str(UUID(bytes=cipher.decrypt(_block_of(id)))) if is_derived(id) else id


def translate_ids(text: str, source: IdCipher, target: IdCipher) -> str:
    """Return a text in which each derived id of one tenant is the id of the same thing in another."""
    return _WITHIN.sub(lambda match: _PREFIX + target.encrypt(source.decrypt(_block_of(match[0]))).hex(), text)


def random_id() -> DerivedId:
    """Return an id of the form of derived ones that stands for nothing."""
    return DerivedId(_PREFIX + secrets.token_hex(BLOCK_BYTES))


def may_be_older(id: str) -> bool:
    """Whether an id has a form in which earlier releases stored derived ids; callers may have given such ids too."""
    return _OLDER.fullmatch(id) is not None


def replace_older(text: str, replacement: Callable[[str], str]) -> str:
    """Return a text in which each id that earlier releases may have derived is what a function makes of it."""
    return _OLDER_WITHIN.sub(lambda match: replacement(match[0]), text)


def name_to_uuid(name: str) -> str:
    """Return a name as the UUID that its id is derived from, which it is already but for names of another form."""
    return name if _IS_UUID_5.fullmatch(name) else str(uuid5(_NAMESPACE, name))


def _block(name: str) -> bytes:
    return UUID(name_to_uuid(name)).bytes


def _block_of(id: str) -> bytes:
    return bytes.fromhex(id.removeprefix(_PREFIX))
