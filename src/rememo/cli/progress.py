"""Progress bars of commands that take more than a second: on standard error, so that what is printed stays clean."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rememo.cli.output import errors

_POLL_SECONDS: Final = 0.1

Progress = Callable[[int, int | None], None]
"""Is called with how much is done, and of how much where that is known."""


@contextmanager
def progress_bar(description: str, *, bytes: bool = False, quiet: bool = False) -> Generator[Progress]:
    """Show a bar while something is done; nothing where standard error is no terminal."""
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"), BarColumn(), DownloadColumn() if bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Bar(*columns, console=errors, transient=True, disable=quiet or not errors.is_terminal) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def polled_progress(
    description: str, total: int | None, measure: Callable[[], int], *, bytes: bool = False, quiet: bool = False
) -> Generator[None]:
    """Show a bar for work that tells nothing itself: how much is done is measured meanwhile by a thread."""
    with progress_bar(description, bytes=bytes, quiet=quiet) as progress:
        over = threading.Event()

        def poll() -> None:
            while not over.wait(_POLL_SECONDS):
                progress(measure(), total)

        thread = threading.Thread(target=poll, name="rememo-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def part_size(target: Path) -> int:
    """Return the size of the file that becomes `target` when it is complete."""
    try:
        return target.with_name(f"{target.name}.part").stat().st_size
    except OSError:  # not begun, or renamed already
        return 0
