"""The collections of a memory, in one place."""

from rememo import Memory
from rememo.collections.actions import Actions
from rememo.collections.goals import Goals
from rememo.collections.messages import Messages
from rememo.collections.posts import Posts
from rememo.collections.tasks import Tasks
from rememo.collections.thoughts import Thoughts
from rememo.working.profiles import Profiles


def messages(memory: Memory) -> Messages:
    return Messages(memory._view)  # pyright: ignore[reportPrivateUsage]


def goals(memory: Memory) -> Goals:
    return Goals(memory._view)  # pyright: ignore[reportPrivateUsage]


def tasks(memory: Memory) -> Tasks:
    return Tasks(memory._view)  # pyright: ignore[reportPrivateUsage]


def actions(memory: Memory) -> Actions:
    return Actions(memory._view)  # pyright: ignore[reportPrivateUsage]


def thoughts(memory: Memory) -> Thoughts:
    return Thoughts(memory._view)  # pyright: ignore[reportPrivateUsage]


def posts(memory: Memory) -> Posts:
    return Posts(memory._view)  # pyright: ignore[reportPrivateUsage]


def profiles(memory: Memory) -> Profiles:
    return Profiles(memory._view)  # pyright: ignore[reportPrivateUsage]
