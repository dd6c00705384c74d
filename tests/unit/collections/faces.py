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
    return memory.messages


def goals(memory: Memory) -> Goals:
    return memory.goals


def tasks(memory: Memory) -> Tasks:
    return memory.tasks


def actions(memory: Memory) -> Actions:
    return memory.actions


def thoughts(memory: Memory) -> Thoughts:
    return memory.thoughts


def posts(memory: Memory) -> Posts:
    return memory.posts


def profiles(memory: Memory) -> Profiles:
    return memory.profiles
