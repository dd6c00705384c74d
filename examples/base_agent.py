"""A base class for agents: each has a memory of its own, that outlives the process: `python base_agent.py [FILE]`.

An agent builds what its model is shown from the system prompt, the latest turns and the current message with an image,
stores what was asked and answered together or not at all, and can be reset.
"""

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from rememo import Memory


class BaseAgent(ABC):
    """An agent with a name and a memory."""

    system_prompt = "You are a helpful assistant."
    memory_size = 20

    def __init__(self, name: str, memory: Memory) -> None:
        """Take a memory; what other agents keep in it is not seen."""
        self.name = name
        self.memory = memory.scope(agent=name)

    @abstractmethod
    def complete(self, messages: list[dict[str, Any]]) -> str:
        """Ask a model: messages are in the shape that chat models take."""

    def chat(self, message: str, image: bytes | Path | None = None) -> str:
        """Answer a message, and remember both."""
        reply = self.complete(self.build_chat_history(message, image))
        self.memory.messages.add_pair(message, reply)
        return reply

    def build_chat_history(self, message: str, image: bytes | Path | None = None) -> list[dict[str, Any]]:
        """Return the system prompt, the latest turns, and the current message."""
        return self.memory.messages.for_model(
            system=self.system_prompt, user=message, image=image, limit=self.memory_size
        )

    def reset_memory(self) -> int:
        """Begin anew; returns how many records were ended. The past can still be looked at."""
        return self.memory.clear()


class CountingAgent(BaseAgent):
    """An agent without a model: it tells what it was shown."""

    def complete(self, messages: list[dict[str, Any]]) -> str:
        """Return how many turns came before, and what is asked now."""
        before = sum(1 for message in messages if message["role"] == "user") - 1
        question = messages[-1]["content"]
        text = question if isinstance(question, str) else f"{question[0]['text']} (with an image)"
        return f"{before} before this one: {text}"


def main() -> None:
    """Talk until the input ends; `/image FILE TEXT` shows an image, `/reset` begins anew."""
    with Memory(sys.argv[1] if len(sys.argv) > 1 else "base_agent.db") as memory:
        agent = CountingAgent("counter", memory)
        for line in map(str.strip, sys.stdin):
            if line == "/reset":
                print(f"forgot {agent.reset_memory()} records")
            elif line.startswith("/image "):
                _, file, text = line.split(" ", 2)
                print(agent.chat(text, Path(file)))
            elif line:
                print(agent.chat(line))


if __name__ == "__main__":
    main()
