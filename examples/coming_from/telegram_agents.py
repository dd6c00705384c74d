"""Coming from a Telegram agent framework: theirs as a comment, ours in the line below it."""

# For agents that are made in chats: a state for each user while the agent is being created, a key-value store beside it, and
# tables for chats and posts in PostgreSQL. Here all of it is one memory; `Memory("postgresql://…")` keeps it on a server, and
# Redis can hold the short-term part.

from datetime import UTC, datetime

from rememo import Memory

memory = Memory("agents.db")

# ---- States with an end

# enum AgentCreationStep { NAME, PERSONALITY, … }; a TTL of 24 hours
creation = memory.flow("agent_creation", steps=["name", "personality", "socials", "review"], ttl="24h")

# await AgentStateManager.initState(userId)
creation.start("77")
# await AgentStateManager.setState(userId, {step: AgentCreationStep.PERSONALITY, data: {bioField: {…}}})
creation.set("77", step="personality", data={"bio": {"field": "background"}})
# await AgentStateManager.getState(userId)
state = creation.get("77")
# state.step, state.data, state.lastUpdated, state.isActive
print(state.step, state.data, state.updated_at, state.active)
# how far is it? (not offered)
print(creation.progress("77"))  # (2, 4)
# await AgentStateManager.pauseState(userId)
creation.pause("77")
creation.resume("77")
# await AgentStateManager.clearState(userId)
creation.clear("77")

# `try { … } catch { clearState; throw }` around the steps is one block here. It pauses or clears, and raises again:

try:
    with creation.run("77", on_error="clear"):
        creation.advance("77", data={"bio": {"agent": "agent123"}})
        raise ConnectionError("the model is down")
except ConnectionError:
    assert creation.get("77") is None

# ---- The key-value store and user data

# await storeInKV(`user:${walletAddress}`, userData)
memory.kv.set("user:0xabc", {"username": "ana"}, ttl="1h")
# await invalidateCache("user:*")
memory.kv.invalidate("user:*")

# await updateUserData({walletAddress, username})
memory.profiles.update("0xabc", username="ana", telegram=77)
# await getUserData(walletAddress)
print(memory.profiles.get("0xabc").fields)
# clearUserCache(walletAddress): there is nothing to clear, each read asks the store whether the profile has changed
# DELETE FROM users WHERE wallet_address = …
memory.profiles.forget("0xabc")  # the data itself is gone, not a copy of it

# ---- Chats and posts

chat = memory.scope(room="chat-5", user="77")
# INSERT INTO chat_messages (chat_id, message_id, user_id, user_first_name, username, role, content, timestamp) VALUES …
first = chat.messages.add(
    "user", "I moved to Lisbon.", external_id=("5", 1001), name="Ana", username="ana_92",
    at=datetime(2026, 5, 3, 9, tzinfo=UTC),
)  # fmt: skip
# UNIQUE (chat_id, message_id)
assert chat.messages.add("user", "I moved to Lisbon.", external_id=("5", 1001)).outcome == "ignored"
# … (…, reply_to_message_id) VALUES (…, 1001)
chat.messages.add("assistant", "Lovely!", external_id=("5", 1002), reply_to=("5", 1001))
# SELECT … WHERE chat_id = 5 ORDER BY timestamp DESC LIMIT 20
print([message.content for message in chat.messages.history(limit=20)])

# const history = await loadPostHistory(); history.push(…); await savePostHistory(history)
memory.posts.add("Sunset over the river", type="story", location="Lisbon", prompt="a sunset", external_id=("x", 99))
print(memory.posts.list())
# await getRecentLocations()
print(memory.posts.recent_locations())
memory.close()

# `examples/onboarding.py` is such a flow that survives a restart.
