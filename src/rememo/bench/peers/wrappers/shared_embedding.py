"""The embedding model that all peers use: as a function, and as an endpoint for those that take none."""

import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps, loads
from typing import Any, Final

from rememo.recall.embed.static import StaticEmbedder

DIMENSION: Final = 256
_embedder = StaticEmbedder()


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors that all peers use; a text without content gets an arbitrary one, as they all need one."""
    vectors = _embedder.embed(list(texts))
    return [[1.0] + [0.0] * (DIMENSION - 1) if vector is None else vector.tolist() for vector in vectors]


def endpoint() -> str:
    """Serve the same embedding at an OpenAI-compatible endpoint on loopback, for peers that take no function."""

    class EmbeddingHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
            data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(embed(texts))]
            body = dumps(
                {"object": "list", "model": "same", "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), EmbeddingHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
