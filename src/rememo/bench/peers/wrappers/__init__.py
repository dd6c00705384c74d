"""How each peer adds and searches, as its own documentation shows it, with the same embedding model.

These run in the peers' environments: a wrapper imports its peer when it is made, so that it can be asked anywhere what
it needs. What a peer raises is shown as what it said.
"""

from typing import Final

from rememo.bench.peers.wrappers.chroma import Chroma
from rememo.bench.peers.wrappers.cognee import Cognee
from rememo.bench.peers.wrappers.fts5 import Fts5
from rememo.bench.peers.wrappers.langgraph import LangGraph, LangGraphInMemory
from rememo.bench.peers.wrappers.llamaindex import LlamaIndex
from rememo.bench.peers.wrappers.mem0 import Mem0
from rememo.bench.peers.wrappers.mempalace import MemPalace
from rememo.bench.peers.wrappers.ours import Rememo
from rememo.bench.peers.wrappers.peer import Peer

PEERS: Final[dict[str, type[Peer]]] = {
    "rememo": Rememo, "fts5": Fts5, "mem0": Mem0, "langgraph": LangGraph, "langgraph-in-memory": LangGraphInMemory,
    "chroma": Chroma, "mempalace": MemPalace, "cognee": Cognee, "llamaindex": LlamaIndex,
}  # fmt: skip
