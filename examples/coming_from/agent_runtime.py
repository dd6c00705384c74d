"""Coming from an agent runtime: theirs as a comment, ours in the line below it."""

# For runtimes in the manner of elizaOS: typed memories in rooms, facts, relationships, documents, and a state that providers
# compose. A room is a room, `userId` and `agentId` are the labels user and agent, `type` is the kind. Embeddings are made when
# something is stored; there is no model to call for them.

from datetime import UTC, datetime, timedelta

from rememo import Memory, Settings

memory = Memory("runtime.db", settings=Settings(archive="archive"))
room = memory.scope(room="room-1", user="john", agent="eliza")

# ---- Storing

# runtime.createMemory({type: MESSAGE, content: {text, role: "user", name}, roomId, userId, metadata})
said = room.messages.add("user", "My favourite colour is blue.", name="John", metadata={"platform": "discord"})
# runtime.createMemory({type: FACT, content: {subject, predicate, object}, roomId})
room.facts.add("john", "favourite colour", "blue", confidence=0.95, sources=[said.id])
# runtime.createMemory({type: ACTION, content: {action: "IMAGE_GENERATION", result}})
room.actions.add("IMAGE_GENERATION", result={"url": "https://example.org/sunset.png"})
# runtime.createMemoriesBatch([…])
room.add_many(["One", {"text": "Two", "metadata": {"platform": "discord"}}])
# runtime.createMemory({…, embedding})
vector = [0.0] * 255 + [1.0]
room.add("Important", embedding=vector)

# ---- Finding

# runtime.searchMemories("previous conversation about colors", 10)
room.search("previous conversation about colours", limit=10)
# runtime.searchMemories({query, type: FACT, roomId, limit: 5})
room.search("preferences", kind="fact", limit=5)
# runtime.searchMemories({type: MESSAGE, roomId, after: new Date(Date.now() - 3600000)})
room.list(kind="message", after=datetime.now(UTC) - timedelta(hours=1), limit=20)
# runtime.searchMemoriesBySimilarity(embedding, {threshold: 0.8, limit: 10})
room.similar(vector, threshold=0.8, limit=10)
# runtime.getMemoryById(id)
memory.get(said.id)
# runtime.getMemoriesByRoom(roomId, {type: MESSAGE, limit: 50})
memory.scope(room="room-1").list(kind="message", limit=50)
# runtime.getMemoriesByUser(userId, {type: FACT})
memory.scope(user="john").facts.list()
# runtime.getAllRooms()
print(memory.rooms())

# ---- Facts, relationships, documents

# facts are extracted in the background
said.wait()
# runtime.getFacts({subject: "john", limit: 10})
[fact] = room.facts.list(subject="john", limit=10)
# runtime.updateFact(factId, {confidence: 0.98})
room.facts.update(fact.id, confidence=0.98)

# runtime.createRelationship({userId, targetEntityId, relationshipType: "friend", strength: 0.8})
friend = room.relationships.add("john", "mary", "friend", strength=0.8)
# runtime.getRelationships(userId)
room.relationships.list(entity="john")
# runtime.updateRelationship(id, {metadata: {lastInteraction, interactionCount: count + 1}})
room.relationships.touch("john", "mary", "friend")

# runtime.createDocument({title, content, source, chunks: splitIntoChunks(content)})
manual = room.documents.add(title="Manual", text="Press the red button to configure it.", tags=["manual"])
# runtime.searchDocuments("how to configure", {limit: 5})
print(room.documents.search("how do I configure it?", limit=5)[0].text)
# runtime.getDocumentChunks(id, {relevant_to})
room.documents.chunks(manual.id, relevant_to="configure")

# ---- State


# runtime.registerProvider({name: "weather", get: async () => ({text, values, data})})
@memory.provider("weather")
def weather(asked):
    return {"text": "It rains.", "values": {"weather": "rain"}}


# const state = await runtime.composeState(message, ["weather", "facts"])
state = room.compose("Do I need an umbrella?", include=["weather", "facts"])
# state.values, state.data, state.text
print(state.values["weather"], state.data["facts"], state.text)
# new StateCache(1000, 300000): the same, and dropped at once when something within reach changes
room.compose("Do I need an umbrella?", include=["weather", "facts"])

# ---- Cleaning up

# MemoryCleanupService: MAX_MESSAGE_AGE of 30 days, MAX_FACTS_PER_ROOM of 1000, orphaned relationships
for policy in ("messages", "facts", "orphans"):
    memory.retention.use(policy)
print(memory.maintain(dry_run=True).runs)
memory.maintain()
# compressMemories(runtime, roomId): messages of more than 7 days become a document
memory.summaries.compress(older_than="7d", room="room-1")
# runtime.deleteMemory(id)
memory.delete(said.id)
# runtime.deleteMemories({type: MESSAGE, roomId, before})
room.delete_where(kind="message", before=datetime.now(UTC) - timedelta(days=30))
# runtime.clearRoomMemories(roomId)
memory.scope(room="room-1").clear()
memory.close()
