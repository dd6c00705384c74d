"""The listening socket of the server."""

import socket

from rememo.errors import InvalidInput

_BACKLOG = 2_048


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port. Raises `InvalidInput` when the address is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: asyncio sends small answers without delay only on sockets that say they are TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot listen on {host} port {port}: {error.strerror}; choose another by --port") from None
    return listening
