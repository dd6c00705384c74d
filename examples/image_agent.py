"""An agent as a service: chat with images, history and reset: `python image_agent.py [FILE] [PORT]`.

`POST /chat {"user", "message", "image"}` (the image as base64), `GET /history?user=`, `POST /reset?user=`. Each user has a memory
of their own. Replace `complete` by your model: what it is given is what chat models take.
"""

import base64
import logging
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from rememo import AsyncMemory
from rememo.errors import InvalidInput

log = logging.getLogger("image_agent")


class Ask(BaseModel):
    """What a client sends."""

    user: str
    message: str
    image: str | None = None
    """Its bytes as base64."""


def complete(messages: list[dict[str, Any]]) -> str:
    """Answer without a model: tell what one would have been shown."""
    images = sum(1 for message in messages if not isinstance(message["content"], str))
    return f"I see {len(messages)} messages, {images} with images."


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncGenerator[None]:
    """Open the memory while the service runs."""
    async with AsyncMemory(sys.argv[1] if len(sys.argv) > 1 else "image_agent.db") as memory:
        app.state.memory = memory
        yield


app = FastAPI(lifespan=opened)


def of(request: Request, user: str) -> AsyncMemory:
    """Return what belongs to a user."""
    return request.app.state.memory.scope(agent="image-agent", user=user)


Mine = Annotated[AsyncMemory, Depends(of)]


@app.exception_handler(InvalidInput)
async def refused(_: Request, error: InvalidInput) -> JSONResponse:
    """Tell a client what is wrong with what it sent."""
    return JSONResponse({"error": str(error)}, status_code=422)


@app.post("/chat")
async def chat(ask: Ask, request: Request) -> dict[str, str]:
    """Answer, and remember the question with its image."""
    memory = of(request, ask.user)
    image = None if ask.image is None else base64.b64decode(ask.image)
    reply = complete(await memory.messages.for_model(system="Be brief.", user=ask.message, image=image))
    async with memory.batch() as both:  # the question and the answer, or neither
        await both.messages.add("user", ask.message, images=[image] if image else None)
        await both.messages.add("assistant", reply)
    return {"reply": reply}


@app.get("/history")
async def history(memory: Mine, limit: int = 20) -> list[dict[str, Any]]:
    """Return the latest turns, oldest first."""
    return [
        {"role": message.role, "content": message.content, "images": message.images, "at": message.at.isoformat()}
        for message in await memory.messages.history(limit)
    ]


@app.post("/reset")
async def reset(memory: Mine, user: str) -> dict[str, int]:
    """Begin anew."""
    ended = await memory.clear()
    log.warning("the memory of %s was reset: %d records ended", user, ended)
    return {"ended": ended}


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[2]) if len(sys.argv) > 2 else 8000)  # noqa: PLR2004
