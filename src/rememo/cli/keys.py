"""`rememo keys`: the API keys of a server."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rememo.cli.memory_location import open_memory
from rememo.cli.output import FileArgument, JsonOption, console, errors, print_json, print_table
from rememo.errors import InvalidInput
from rememo.model.scope import LABELS

if TYPE_CHECKING:
    from rememo.serve.auth import ApiKey

Id = Annotated[str, typer.Argument(help="The key's id, as `rememo keys list` shows it.")]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="Manage the API keys of a server.", no_args_is_help=True)
    group.command()(add)
    group.command("list")(list_)
    group.command()(revoke)
    group.command()(rotate)
    cli.add_typer(group, name="keys")


def add(
    file: FileArgument,
    tenant: Annotated[str, typer.Option(help='The tenant it is for, or "*" for all.')] = "default",
    scope: Annotated[
        list[str] | None, typer.Option(help="A label it is bound to, such as user=ana; may be repeated.")
    ] = None,
    rights: Annotated[str, typer.Option(help="Its rights: read, write, admin, comma-separated.")] = "read,write",
    expires: Annotated[str | None, typer.Option(help="When it expires, such as 90d from now.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second at most.")] = None,
    max_body: Annotated[int | None, typer.Option(help="The largest body, in bytes.")] = None,
    name: Annotated[str, typer.Option(help="A name for it.")] = "",
    json: JsonOption = False,
) -> None:
    """Create a key and print it; it cannot be shown again."""
    from rememo.serve.auth import ApiKeys

    labels = _labels(scope or [])
    with open_memory(file, make=True) as memory:
        wanted = [right.strip() for right in rights.split(",") if right.strip()]
        key, text = ApiKeys(memory).add(
            tenant=tenant, rights=wanted, expires=expires, rate=rate, max_body=max_body, name=name, **labels
        )
    _print_key(key, text, json=json)


def list_(file: FileArgument, json: JsonOption = False) -> None:
    """List the keys, with when each was last used."""
    from rememo.serve.auth import ApiKeys

    with open_memory(file) as memory:
        api_keys = ApiKeys(memory).list()
    if json:
        print_json([asdict(key) for key in api_keys])
        return
    print_table(["id", "name", "reaches", "rights", "last used", "ends"], [_row(key) for key in api_keys], whole=1)


def revoke(file: FileArgument, id: Id) -> None:
    """End a key at once, for good."""
    from rememo.serve.auth import ApiKeys

    with open_memory(file) as memory:
        ApiKeys(memory).revoke(id)
    console.print(f"key {id} is revoked")


def rotate(
    file: FileArgument,
    id: Id,
    grace: Annotated[str | None, typer.Option(help="How long the old secret still works, such as 1h.")] = None,
    json: JsonOption = False,
) -> None:
    """Give a key a new secret and print it; the old one expires now, or after the grace period."""
    from rememo.serve.auth import ApiKeys

    with open_memory(file) as memory:
        key, text = ApiKeys(memory).rotate(id, grace=grace)
    _print_key(key, text, json=json)


def _print_key(key: "ApiKey", text: str, *, json: bool) -> None:
    if json:
        print_json({**asdict(key), "key": text})
        return
    errors.print(f"key {key.id}; its text is shown only once:", markup=False)
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def _row(key: "ApiKey") -> list[object]:
    from rememo.serve.auth import ALL_TENANTS

    labels = [f"{name} {value}" for name in LABELS if (value := getattr(key, name)) is not None]
    reaches = ", ".join(["all tenants" if key.tenant == ALL_TENANTS else f"tenant {key.tenant}", *labels])
    ends = "never" if key.expires_at is None else key.expires_at
    if key.revoked_at is not None:
        ends = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    return [key.id, key.name, reaches, ", ".join(key.rights), key.last_used_at or "never", ends]


def _labels(texts: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for label in texts:
        name, equals, value = label.partition("=")
        if not equals or name not in LABELS or name in labels:
            raise InvalidInput(f"--scope must be agent=…, user=… or room=…, each once, not {label!r}")
        labels[name] = value
    return labels
