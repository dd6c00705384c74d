"""Runs in mem0's own environment: tells lives and asks their questions with its client, a line of JSON for each."""

import contextlib
import importlib
import json
import sys
from datetime import datetime
from typing import Any

mem0: Any = importlib.import_module("mem0")  # not in the environment that checks this file
clients: dict[str, Any] = {}


def client(sent: dict[str, Any]) -> Any:
    """Return the client of a life, which has a key of its own."""
    life = sent["life"]
    if life not in clients:
        clients[life] = mem0.MemoryClient(api_key=sent["keys"][life], host=sent["host"])
    return clients[life]


def tell(sent: dict[str, Any]) -> list[str]:
    """Store messages."""
    for message in sent["messages"]:
        messages = [{"role": message["role"], "content": message["text"]}]
        labels = {"user_id": message["user"], "agent_id": message["agent"], "run_id": message["room"]}
        labels = {name: value for name, value in labels.items() if value is not None}
        client(sent).add(messages, timestamp=int(datetime.fromisoformat(message["at"]).timestamp()), **labels)
    return []


def ask(sent: dict[str, Any]) -> dict[str, list[str]]:
    """Return what was found, best first; all of it goes into a prompt."""
    results = client(sent).search(
        sent["question"], filters={"user_id": sent["user"] or "*"}, reference_date=sent["at"][:10]
    )
    hits = [
        " | ".join([result["memory"], *(source["memory"] for source in result["sources"])])
        for result in results["results"]
    ]
    return {"hits": hits, "prompt": hits}


out = sys.stdout
with contextlib.redirect_stdout(sys.stderr):
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps(tell(given) if "messages" in given else ask(given)), file=out, flush=True)
