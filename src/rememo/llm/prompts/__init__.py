"""Prompts: one file for each version, `<name>-<version>.md`, with `{{names}}` to be filled in.

A version that was released is never edited: what it made names it, and can be made anew by the next.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from rememo.errors import InvalidInput, NotFound

_FILE: Final = re.compile(r"([a-z][a-z_]*)-(\d+)\.md")
_PLACE: Final = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One version of a prompt."""

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        """The name and version, as it stands beside what was made by it."""
        return f"{self.name}@{self.version}"

    @property
    def places(self) -> frozenset[str]:
        """The names that are to be filled in."""
        return frozenset(_PLACE.findall(self.text))

    def filled(self, **values: str) -> str:
        """Return the text with every place filled, once: what is filled in is not looked at again."""
        if self.places != values.keys():
            wrong = ", ".join(sorted(self.places ^ values.keys()))
            raise InvalidInput(f"the prompt {self.label} was not filled as it asks: {wrong}")
        return _PLACE.sub(lambda match: values[match[1]], self.text)


def prompt(name: str, version: int | None = None) -> Prompt:
    """Return a prompt, the newest version unless told; raises `NotFound`."""
    versions = prompts().get(name, {})
    if not versions or (version is not None and version not in versions):
        raise NotFound(f"there is no prompt {name!r}" + ("" if version is None else f" of version {version}"))
    return versions[max(versions) if version is None else version]


@lru_cache(maxsize=1)
def prompts() -> Mapping[str, Mapping[int, Prompt]]:
    """Return all prompts that are shipped, by name and version."""
    loaded: dict[str, dict[int, Prompt]] = {}
    for file in files(__name__).iterdir():
        if match := _FILE.fullmatch(file.name):
            name, version = match[1], int(match[2])
            text = file.read_text(encoding="utf-8").strip()
            loaded.setdefault(name, {})[version] = Prompt(name=name, version=version, text=text)
    return loaded
