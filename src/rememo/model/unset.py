"""What stands for an argument that was not given, where None has a meaning of its own."""

from enum import Enum
from typing import Final, Literal


class Given(Enum):
    """Whether an argument was given."""

    NOTHING = 0


NOTHING: Final = Given.NOTHING
Unset = Literal[Given.NOTHING]
