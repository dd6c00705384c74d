"""`rememo encryption`: the master key and the data keys of an encrypted store."""

from pathlib import Path
from typing import Annotated

import typer

from rememo.cli.memory_location import open_memory, without_password
from rememo.cli.output import FileArgument, console
from rememo.errors import AlreadyExists, InvalidInput


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(help="Manage the master key and the data keys of an encrypted store.", no_args_is_help=True)
    group.command()(new_key)
    group.command()(rotate)
    group.command()(drop_key)
    cli.add_typer(group, name="encryption")


def new_key(
    file: Annotated[Path | None, typer.Argument(help="Write it to this new file, which only you can read.")] = None,
) -> None:
    """Make a new master key for encryption and print it or write it to a file; without it nothing can be read."""
    from rememo.files import open_new_text
    from rememo.keep.keyring import Keyring

    if file is None:
        print(Keyring.new_key())
        return
    if file.exists():
        raise AlreadyExists(f"{file} is there already; choose another file for the key")
    try:
        with open_new_text(file) as target:
            target.write(f"{Keyring.new_key()}\n")
    except OSError as error:
        raise InvalidInput(f"the key file {file} could not be written: {error.strerror}") from error


def rotate(
    file: FileArgument,
    wrap_only: Annotated[bool, typer.Option("--wrap-only", help="Leave the contents encrypted as they are.")] = False,
) -> None:
    """Change the keys of an encrypted file: to the first in REMEMO_MASTER_KEY, the former ones behind it."""
    with open_memory(file) as memory, console.status("sealing"):
        receipt = memory.rotate_keys(reencrypt=not wrap_only).wait(timeout=24 * 3600)
    console.print(
        f"the keys of {without_password(file)} are wrapped anew, {len(receipt.jobs):,} tenants re-encrypted",
        markup=False,
    )


def drop_key(
    file: FileArgument, tenant: Annotated[str, typer.Option(help="The tenant to make unreadable for ever.")]
) -> None:
    """Delete a tenant's key, which makes its data unreadable for ever."""
    with open_memory(file, tenant=tenant) as memory:
        dropped = memory.drop_key(tenant=tenant)
    console.print(f"{tenant} {'is unreadable now' if dropped else 'had no key'}", markup=False)
