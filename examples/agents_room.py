"""Several agents in one room: `python agents_room.py [FILE]`.

All of them hear what is said in the room, each takes notes that only it sees, and what they agree on goes to a pool that
everybody of the team shares, in this room and in the next. Each line of the input is said by a person.
"""

import sys
from collections.abc import Callable

from rememo import Memory

Reply = Callable[["Agent", str], str | None]


class Agent:
    """One of the agents: a name, a way to reply, and its views of the memory."""

    def __init__(self, memory: Memory, room: str, name: str, reply: Reply) -> None:
        """Join a room."""
        self.name = name
        self.room = memory.scope(room=room, agent=name)
        self.everybody = memory.scope(room=room)
        self.notes = memory.scope(agent=name, room=f"notes of {name}")
        self.team = memory.scope(agent=name).pool("team")
        self._reply = reply

    def hear(self, text: str) -> str | None:
        """Answer what was said, or stay silent; an answer is heard by all."""
        reply = self._reply(self, text)
        if reply is not None:
            self.room.messages.add("assistant", reply, name=self.name)
        return reply


def planner(agent: Agent, text: str) -> str | None:
    """Turn what somebody wants into tasks."""
    if not text.lower().startswith("we need "):
        return None
    task = text[len("we need ") :].rstrip(".")
    agent.room.tasks.add(task)
    agent.notes.add(f"asked for: {task}")
    return f"I put it on the list: {task}. That makes {len(agent.everybody.tasks.open())}."


def critic(agent: Agent, text: str) -> str | None:
    """Object to what was said before."""
    before = [
        message for message in agent.everybody.messages.history(limit=50, roles="user")[:-1] if message.content == text
    ]
    return f"{before[0].name} has said that before." if before else None


def scribe(agent: Agent, text: str) -> str | None:
    """Keep decisions for the whole team, and answer from them."""
    if text.lower().startswith("decided: "):
        agent.team.add(text[len("decided: ") :])
        return "I wrote that down for the team."
    if text.endswith("?"):
        hits = agent.team.search(text, limit=1)
        return f"We decided: {hits[0].text}" if hits else None
    return None


def main() -> None:
    """Let a person and the agents talk until the input ends; a line is `NAME: TEXT`, `/room NAME` goes to another room."""
    with Memory(sys.argv[1] if len(sys.argv) > 1 else "agents_room.db") as memory:
        room = "lobby"
        for line in map(str.strip, sys.stdin):
            if line.startswith("/room "):
                room = line.removeprefix("/room ")
                continue
            if line == "/notes":
                for name in ("planner", "scribe"):
                    notes = memory.scope(agent=name, room=f"notes of {name}").list()
                    print(f"{name} alone knows: {[note.text for note in notes]}")
                continue
            person, _, text = line.partition(": ")
            memory.scope(room=room, user=person).messages.add("user", text, name=person)
            for name, reply in (("planner", planner), ("critic", critic), ("scribe", scribe)):
                if (answer := Agent(memory, room, name, reply).hear(text)) is not None:
                    print(f"{name}: {answer}")


if __name__ == "__main__":
    main()
