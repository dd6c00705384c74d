"""An endpoint of models whose answers are scripted: a real HTTP server on loopback, for trying what goes wrong.

with ScriptedEndpoint() as endpoint:
    endpoint.script(ErrorReply(429, retry_after=1), ChatReply("hello"))
    llm = OpenAICompatible(endpoint.url, "scripted")
"""

import contextlib
import hashlib
import json
import math
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

from rememo.runtime.closing import Closing

CHAT: Final = "/chat/completions"
EMBEDDINGS: Final = "/embeddings"
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class ChatReply:
    """An answer of a model, as text or as a value that becomes JSON."""

    value: Any
    finish: str = "stop"
    """Why it ended: `length` for one that was cut off, `content_filter` for one held back."""
    refusal: str | None = None
    usage: tuple[int, int] | None = None
    """Tokens of prompt and answer; counted by words unless given. (-1, -1) tells none."""

    @property
    def text(self) -> str | None:
        """What stands in the answer."""
        return self.value if self.value is None or isinstance(self.value, str) else json.dumps(self.value)


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An answer that is an error."""

    status: int
    message: str = "scripted"
    retry_after: float | str | None = None


@dataclass(frozen=True, slots=True)
class RawReply:
    """An answer of whatever bytes, perhaps broken off: fewer than it promises when `promised` says more."""

    content: bytes
    status: int = _OK
    promised: int | None = None
    type: str = "application/json"


@dataclass(frozen=True, slots=True)
class HeldReply:
    """An answer that comes when `endpoint.release()` is called, and not before."""

    reply: "Reply"


@dataclass(frozen=True, slots=True)
class EndlessReply:
    """An answer that comes a byte at a time and never ends, until `endpoint.release()`."""


@dataclass(frozen=True, slots=True)
class VectorReply:
    """Rows of embeddings, instead of those made from the texts."""

    rows: list[list[float]]


Reply = ChatReply | ErrorReply | RawReply | HeldReply | EndlessReply | VectorReply
ScriptedReply = Reply | Callable[[dict[str, Any]], Reply]
_DEFAULT_REPLY: Final = ChatReply("ok")


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """What the endpoint was asked."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str] = field(repr=False)

    @property
    def prompt(self) -> str:
        """All that a model was shown, as one text."""
        return "\n".join(str(message["content"]) for message in self.body.get("messages", []))


class ScriptedEndpoint(Closing):
    """Answers `/v1/chat/completions`, `/v1/embeddings` and `/v1/models` on loopback as told; thread-safe.

    Scripted answers are used up in their order, path by path; after them, and without any, `default` answers chats and
    vectors of `dimension` numbers made from each text answer embeddings.
    """

    def __init__(self, *, default: ScriptedReply = _DEFAULT_REPLY, dimension: int = 8) -> None:
        self.default = default
        self.dimension = dimension
        self.requests: list[ReceivedRequest] = []
        """What was asked, in the order it came."""
        self.most_at_once = 0
        """The most requests that were being answered at one moment."""
        self._scripts: dict[str, deque[ScriptedReply]] = {CHAT: deque(), EMBEDDINGS: deque()}
        self._changed = threading.Condition()
        self._running = 0
        self._released = threading.Event()
        self._port = 0
        self._server: _EndpointServer | None = None
        self.up()

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._port}/v1"

    def script(self, *answers: ScriptedReply, path: str = CHAT) -> None:
        """Answer the next requests so, one after the other."""
        with self._changed:
            self._scripts[path].extend(answers)

    def requests_to(self, path: str = CHAT) -> list[ReceivedRequest]:
        """Return what was asked at one path."""
        with self._changed:
            return [request for request in self.requests if request.path == path]

    def wait_for(self, count: int, *, path: str = CHAT, timeout: float = 30.0) -> list[ReceivedRequest]:
        """Return what was asked at one path once that many requests have come; raises `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: sum(request.path == path for request in self.requests) >= count, timeout=timeout
            ):
                raise TimeoutError(f"{count} requests to {path} did not come within {timeout:g} seconds")
        return self.requests_to(path)

    def wait_until_idle(self, timeout: float = 30.0) -> None:
        """Return once nothing is being answered any more; raises `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._running == 0, timeout=timeout):
                raise TimeoutError(f"requests are still being answered after {timeout:g} seconds")

    def release(self) -> None:
        """Let go of every answer that is held, now and from now on."""
        self._released.set()

    def hold(self) -> None:
        """Hold answers again that are to be held, after a `release()`."""
        self._released.clear()

    def down(self) -> None:
        """Refuse connections, and cut those there are, until `up()`."""
        server, self._server = self._server, None
        if server is not None:
            server.end()

    def up(self) -> None:
        """Take connections again, at the same address."""
        if self._server is None:
            self._server = _EndpointServer(self, self._port)
            self._port = self._server.server_address[1]

    def close(self) -> None:
        """Let go of what is held, and end."""
        self.release()
        self.down()

    # ---- inside

    def _next(self, request: ReceivedRequest) -> Reply:
        with self._changed:
            self.requests.append(request)
            script = self._scripts.get(request.path)
            scripted = script.popleft() if script else None
            self._changed.notify_all()
        if scripted is None:
            scripted = VectorReply(self._vectors(request.body)) if request.path == EMBEDDINGS else self.default
        return scripted(request.body) if callable(scripted) else scripted

    def _vectors(self, body: Mapping[str, Any]) -> list[list[float]]:
        inputs = body.get("input", [])
        texts = [inputs] if isinstance(inputs, str) else inputs
        return [vector_of(str(text), int(body.get("dimensions") or self.dimension)) for text in texts]

    @contextlib.contextmanager
    def _answering(self) -> Generator[None]:
        with self._changed:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()


def vector_of(text: str, dimension: int) -> list[float]:
    """Return the vector of a text: the same for the same text, of unit length."""
    digest = hashlib.shake_256(text.encode()).digest(dimension * 2)
    numbers = [int.from_bytes(digest[index * 2 : index * 2 + 2]) / 32_768 - 1 for index in range(dimension)]
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


class _EndpointServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, endpoint: ScriptedEndpoint, port: int) -> None:
        self.endpoint = endpoint
        self._lines: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _EndpointHandler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._lines.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._lines.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - a client that goes is no fault
        return

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        for line in list(self._lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class _EndpointHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _EndpointServer  # pyright: ignore[reportIncompatibleVariableOverride] - it is always this one
    _SILENT: ClassVar[bool] = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ARG002 - silent
        return

    def do_GET(self) -> None:
        self._json(_OK, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        with endpoint._answering():  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - one thing in two classes
            body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
            path = self.path.removeprefix("/v1")
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = endpoint._next(ReceivedRequest(path, body, headers))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            self._answer(answer, body)

    def _answer(self, answer: Reply, body: dict[str, Any]) -> None:
        released = self.server.endpoint._released  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        match answer:
            case HeldReply(reply=later):
                released.wait()
                self._answer(later, body)
            case EndlessReply():
                self._begin(_OK, "application/json", 1_000_000)
                while not released.is_set():
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.01)  # what a slow endpoint does
                self.close_connection = True
            case RawReply():
                self._begin(answer.status, answer.type, answer.promised or len(answer.content))
                self.wfile.write(answer.content)
                self.close_connection = self.close_connection or answer.promised is not None
            case ErrorReply():
                error = {"error": {"message": answer.message, "type": "scripted", "code": None}}
                self._json(answer.status, error, retry_after=answer.retry_after)
            case VectorReply(rows=rows):
                data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
                words = len(str(body.get("input")).split())
                usage = {"prompt_tokens": words, "total_tokens": words}
                self._json(_OK, {"object": "list", "data": data, "model": body.get("model"), "usage": usage})
            case ChatReply():
                (self._stream if body.get("stream") else self._chat)(answer, body)

    def _chat(self, answer: ChatReply, body: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
        completion_body: dict[str, Any] = {
            "id": "scripted",
            "object": "chat.completion",
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
        }
        self._json(_OK, completion_body | _usage(answer, body))

    def _stream(self, answer: ChatReply, body: dict[str, Any]) -> None:
        pieces = [f"{word} " for word in (answer.text or "").split(" ")]
        if pieces:
            pieces[-1] = pieces[-1][:-1]
        events: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        if body.get("stream_options", {}).get("include_usage"):
            events.append({"choices": list[Any](), **_usage(answer, body)})
        content = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self._begin(_OK, "text/event-stream", len(content.encode()))
        self.wfile.write(content.encode())

    def _json(self, status: int, value: Any, *, retry_after: float | str | None = None) -> None:
        content = json.dumps(value).encode()
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        self._begin(status, "application/json", len(content), headers)
        self.wfile.write(content)

    def _begin(self, status: int, type: str, length: int, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", type)
        self.send_header("content-length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()


def _usage(answer: ChatReply, body: dict[str, Any]) -> dict[str, Any]:
    prompt_words = sum(len(str(message.get("content")).split()) for message in body.get("messages", []))
    prompt, completion = answer.usage or (prompt_words, len((answer.text or "").split()))
    if prompt < 0:
        return {}
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"usage": counts}
