"""The memory: the front door; a view of one engine bound to a scope."""

import os

from rememo.memory.memory import BatchView, Memory, walled
from rememo.memory.preload import load_all

__all__ = ["BatchView", "Memory", "walled"]

os.register_at_fork(before=load_all)
