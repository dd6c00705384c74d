"""The content of messages in the shape that chat models know: words, images and calls of tools."""

from collections.abc import Iterable

from rememo.imports.json_values import Json, as_list, as_object, as_text


def web_images(addresses: Iterable[object]) -> tuple[str, ...]:
    """Return those that are addresses or data URLs."""
    return tuple(
        address
        for address in addresses
        if isinstance(address, str) and address.startswith(("https://", "http://", "data:image/"))
    )


def read_content(value: object) -> tuple[str, tuple[str, ...], int]:
    """Return the words and the images of a content as chat models take it, and how many images are kept elsewhere.

    That is a text, or parts: texts, or objects with a `text` (a `refusal` is one) or an `image_url`.
    """
    if isinstance(value, str):
        return value, (), 0
    texts: list[str] = []
    pictures: list[object] = []
    for part in as_list(value):
        fields = as_object(part)
        texts.append(as_text(part) or as_text(fields.get("text")) or as_text(fields.get("refusal")))
        image = fields.get("image_url")
        if image or "image" in as_text(fields.get("type")):
            pictures.append(as_object(image).get("url") or image or fields.get("url"))
    images = web_images(pictures)
    return "\n".join(filter(None, texts)), images, len(pictures) - len(images)


def tool_call(id: str, name: object, arguments: str) -> Json:
    """Return a call of a tool in the shape that chat models know."""
    return {"id": id, "type": "function", "function": {"name": as_text(name) or "tool", "arguments": arguments}}
