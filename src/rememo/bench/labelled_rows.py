"""Files of labelled examples: a JSON object a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_labelled_rows(path: str | Path, *, held_out: bool | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a labelled file. ``held_out`` chooses one part; None takes both."""
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            if held_out is None or bool(row.get("held_out")) == held_out:
                yield row
