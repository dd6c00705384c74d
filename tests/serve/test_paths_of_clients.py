"""A path or URL that a client sends is never read or fetched by the server."""

import base64
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rememo import Memory
from rememo.engine.view import view_of
from rememo.jobs.worker import Worker

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
Ask = Callable[[httpx.Client, str], httpx.Response]


def _mem0(web: httpx.Client, url: str) -> httpx.Response:
    said = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    return web.post("/v3/memories/add/", json={"messages": said, "user_id": "ana"})


def _mem0_alone(web: httpx.Client, url: str) -> httpx.Response:
    said = [{"role": "user", "content": {"type": "image_url", "image_url": {"url": url}}}]
    return web.post("/v3/memories/add/", json={"messages": said, "user_id": "ana"})


def _message(web: httpx.Client, url: str) -> httpx.Response:
    return web.post("/v1/messages", json={"role": "user", "content": "look", "images": [url]})


def _model(web: httpx.Client, url: str) -> httpx.Response:
    return web.post("/v1/messages:for-model", json={"image": url})


def _batch(web: httpx.Client, url: str) -> httpx.Response:
    arguments = {"role": "user", "content": "look", "images": [url]}
    return web.post("/v1/batch", json={"operations": [{"call": "messages.add", "arguments": arguments}]})


def _document(web: httpx.Client, url: str) -> httpx.Response:
    return web.post("/v1/documents", json={"path": url})


IMAGES: list[Ask] = [_mem0, _mem0_alone, _message, _model, _batch]


@pytest.mark.parametrize("ask", [*IMAGES, _document])
def test_no_file_of_the_server_is_opened_or_told_of(web: httpx.Client, memory: Memory, tmp_path: Path, ask: Ask):
    picture = tmp_path / "secret.png"
    picture.write_bytes(PNG)
    (tmp_path / "closed.png").write_bytes(PNG)
    (tmp_path / "closed.png").chmod(0)
    os.mkfifo(tmp_path / "pipe")
    paths = [
        str(picture), f"file://{picture}", f"FILE://{picture}", str(tmp_path / "closed.png"), str(tmp_path / "missing"),
        str(tmp_path), str(tmp_path / "pipe"), "/dev/zero", "/dev/tty", "/proc/self/environ", "~/.ssh/id_rsa", "",
    ]  # fmt: skip
    began = time.monotonic()
    answers = [ask(web, path) for path in paths]
    assert time.monotonic() - began < 20
    told: set[str] = set()
    for path, answer in zip(paths, answers, strict=True):
        assert answer.status_code in (400, 422), (path, answer.text)
        told.add(answer.text.replace(answer.headers.get("x-request-id", "-"), ""))
    assert len(told) == 1, told  # whatever is there
    assert base64.b64encode(PNG).decode()[:20] not in "".join(told)
    assert memory.count() == 0


@pytest.mark.parametrize("ask", IMAGES)
def test_an_address_is_kept_and_nobody_goes_there(web: httpx.Client, memory: Memory, ask: Ask):
    with socket.create_server(("127.0.0.1", 0)) as inside:
        inside.setblocking(False)
        address = f"http://127.0.0.1:{inside.getsockname()[1]}/latest/meta-data"
        assert ask(web, address).is_success
        Worker(view_of(memory).engine).run_until_idle()
        with pytest.raises(BlockingIOError):
            inside.accept()
    if ask is not _model:
        assert memory.messages.latest()[0].images == [address]


@pytest.mark.parametrize("ask", IMAGES)
def test_an_image_inside_the_address_is_typed_by_its_bytes(web: httpx.Client, memory: Memory, ask: Ask):
    inside = base64.b64encode(PNG).decode()
    assert ask(web, f"data:text/html;base64,{inside}").is_success
    if ask is not _model:
        assert memory.messages.latest()[0].images == [f"data:image/png;base64,{inside}"]
    refused: Any = ask(web, "data:text/html;base64," + base64.b64encode(b"<script>").decode())
    assert refused.status_code in (400, 422)
