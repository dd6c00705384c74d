"""UNSET: the default of arguments for which None has a meaning of its own."""

from enum import Enum
from typing import Final, Literal


class UnsetType(Enum):
    """Whether an argument was given."""

    UNSET = 0


UNSET: Final = UnsetType.UNSET
Unset = Literal[UnsetType.UNSET]
