"""Coming from a video agent's API: theirs as a comment, ours in the line below it."""

# For services whose agents keep a table of `MemoryRecord`s (message id, role, content, timestamp) in a folder that is named
# after the agent, build a chat history from the latest 20 with an image, and offer a reset over HTTP.
# `examples/base_agent.py` is such an agent, `examples/image_agent.py` the service.

import base64
from datetime import UTC, datetime
from os import environ

from rememo import Memory, Settings

# AGENT_MEMORY_SIZE: int = 20, from the environment: how many messages are shown is said where they are read
size = int(environ.get("AGENT_MEMORY_SIZE", "20"))
settings = Settings.load()  # what Rememo itself has settings for: REMEMO_… and rememo.toml
pixel = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAA=")

# ---- The memory

# memory = Memory("agent_1"); there each start empties it, here it is kept
memory = Memory("agents.db", settings=settings).scope(agent="agent_1")
# memory.insert(MemoryRecord(message_id="msg_001", role="user", content="Hello", timestamp=datetime.now()))
memory.messages.add("user", "Hello", id="msg_001", at=datetime.now(UTC))
# agent._add_memory_pair(user_message, assistant_message): two inserts
memory.messages.add_pair("How are you?", "Very well, thank you!")  # both or neither
# memory.get_all()
memory.messages.history(None)
# memory.get_latest(5)
memory.messages.latest(5)
# memory.get_by_message_id("msg_001")
print(memory.messages.get("msg_001").content)
# get_conversation_period(start, end): a future extension there
memory.messages.history(after=datetime(2026, 1, 1, tzinfo=UTC), before=datetime(2030, 1, 1, tzinfo=UTC))
# search_similar(query, top_k=5): a future extension there
print(memory.search("what was asked?", limit=5)[0].text)
# SharedMemoryPool().get_pool("group-1"): a future extension there
memory.pool("group-1").add("The demo is on Friday.")

# ---- What the model is shown

# agent._build_chat_history(system_prompt, user_message, image_base64, n=20)
history = memory.messages.for_model(system="Be brief.", user="What is on it?", image=pixel, limit=size)
assert [turn["role"] for turn in history] == ["system", "user", "user", "assistant", "user"]
assert history[-1]["content"][1]["image_url"]["url"].startswith("data:image/gif;base64,")

# ---- Reset, tracing, trouble

# memory.reset_memory(); memory = Memory(agent_name)
memory.clear()  # usable at once; the past is still there for as_of() until it is erased
assert memory.messages.history() == []
# POST /reset-memory: `rememo serve agents.db` has POST /v1/reset for a key that may, and logs it
# @opik.track(name="memory-insertion"): observe.trace() makes a span of every operation
# "Memory corruption": except Exception: reset
print(memory.verify().ok)  # a damaged file is named, and `rememo repair` saves what can be read
# shutil.disk_usage("."): if it is low, reset
print(memory.stats().file_bytes)  # a full disk is an error that loses nothing
memory.close()
