"""Runs in mem0's own environment: does with its clients what each line says, and answers with a line."""

import asyncio
import contextlib
import importlib
import inspect
import json
import sys
from operator import attrgetter
from typing import Any

mem0: Any = importlib.import_module("mem0")  # not in the environment that checks this file
types: Any = importlib.import_module("mem0.client.types")
clients: dict[tuple[str, str, str], Any] = {}
loop = asyncio.new_event_loop()


def client(kind: str, host: str, key: str) -> Any:
    if (kind, host, key) not in clients:
        clients[kind, host, key] = getattr(mem0, kind)(api_key=key, host=host)
    return clients[kind, host, key]


def do(told: dict[str, Any]) -> Any:
    made = client(told["kind"], told["host"], told["key"])
    arguments = list(told["arguments"])
    if "options" in told:
        name, values = told["options"]
        arguments.append(getattr(types, name)(**values))
    result = attrgetter(told["method"])(made)(*arguments, **told["named"])
    return loop.run_until_complete(result) if inspect.isawaitable(result) else result


out = sys.stdout
with contextlib.redirect_stdout(sys.stderr):
    for line in sys.stdin:
        try:
            answer = {"result": do(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
            answer = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(answer), file=out, flush=True)
