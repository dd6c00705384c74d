"""Coming from a Python agent framework: theirs as a comment, ours in the line below it."""

# For frameworks with a memory store for each agent, as TFrameX's `BaseMemoryStore`: `add_message`, `get_history`, `clear`,
# `get_context_window`. `examples/memory_store.py` is a drop-in with exactly this shape. Without one, the calls are these:

from datetime import UTC, datetime, timedelta

from rememo import Keyring, Memory, Settings, SummaryPolicy

memory = Memory("agents.db", settings=Settings(archive="archive", audit=True))
chat = memory.scope(agent="Assistant", room="session-1")

# ---- The store

# await store.add_message(Message(role="user", content="My name is Alice", metadata={"priority": "high"}))
chat.messages.add("user", "My name is Alice", metadata={"priority": "high"}).wait()
# await store.get_history(limit=20, offset=0, roles=["user"])
chat.messages.history(limit=20, offset=0, roles=["user"])
# await store.get_context_window(max_tokens=4000)
chat.messages.window(4_000)
# await store.clear()
memory.scope(room="session-2").messages.clear()

# ---- Limits

# InMemoryMemoryStore(max_messages=100, max_tokens=8000, eviction_strategy="fifo")
chat.messages.limit(max_messages=100, max_tokens=8_000, evict="fifo")
# SafeMemoryStore(max_size=100, overflow_handler=archive)
chat.messages.limit(max_messages=100, on_overflow=lambda leaving: print(len(leaving), "leave"))
# SlidingWindowMemory(window_size=10)
chat.messages.latest(10)
# SummaryMemory(summarizer_agent="summarizer", threshold=50): keeps the last 10
chat.summaries.policy(SummaryPolicy(threshold=50, keep=10))

# ---- Backends

# InMemoryMemoryStore()
Memory(":memory:").close()
# PostgresMemoryStore(connection_string): Memory("postgresql://…")
# RedisMemoryStore(redis_url, ttl_hours=24, max_messages=1000): RecentMessages("redis://…", room=…)
# S3MemoryStore(bucket): Settings(archive="s3://bucket/prefix")
# EncryptedMemoryStore(key)
Memory("sealed.db", encryption=Keyring(Keyring.new_key())).close()

# ---- Sharing and scopes

# shared = InMemoryMemoryStore(); LLMAgent("Analyst", memory_store=shared); LLMAgent("Writer", memory_store=shared)
analyst = memory.scope(agent="Analyst", room="report")
writer = memory.scope(agent="Writer", room="report")
analyst.messages.add("assistant", "Sales rose by 4 %.")
print([message.content for message in memory.scope(room="report").messages.history()])
# ScopedMemoryStore().get_scope("user_123")
memory.scope(user="user_123")

# ---- Searching

# SemanticMemoryStore(embedding_model).search("who am I?", top_k=5)
print(chat.search("what is my name?", limit=5)[0].text)
# store.get_messages_by_metadata(priority="high")
chat.messages.history(metadata={"priority": "high"})
# store.get_messages_by_date_range(start, end)
chat.messages.history(after=datetime(2026, 1, 1, tzinfo=UTC), before=datetime.now(UTC))

# ---- Cleaning up, audit

# AutoCleanupMemory.cleanup(): older than 30 days leave, important ones are archived
memory.retention.use("messages", older_than=timedelta(days=30), archive="important")
memory.maintain()
# AuditMemoryStore: user_id, session_id, ip_address, compliance_flags on every message
memory.compliance(lambda intent: "minor" if intent.scope.user == "kim" else None)
with memory.acting(actor="alice", session="session-1", address="10.0.0.5"):
    memory.scope(user="kim").messages.add("user", "I am twelve.")
print(memory.audit.list()[-1].actor, memory.audit.list()[-1].flags, memory.audit.verify().ok)
memory.close()
