"""What came out, as a table and as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rememo.errors import MissingExtra

Row = dict[str, Any]
_COLUMNS: tuple[tuple[str, str, Callable[[Row], float | None], bool], ...] = (
    ("add, ms", "adds", lambda task: task["p50"] * 1e3, False),
    ("bulk, records/s", "bulk", lambda task: task["done"] / task["seconds"], True),
    ("search, ms", "searches", lambda task: task["p50"] * 1e3, False),
    ("reopen + search, ms", "reopen", lambda task: (task["opened"] + task["first_search"]) * 1e3, False),
    ("4 processes: kept", "together", lambda task: task["present"] / task["asked_for"] * 100, True),
    ("kill -9: lost", "kill", lambda task: task["lost"], False),
    ("recall@10, %", "quality", lambda task: task["recall_at_10"] * 100, True),
)


def table(report: dict[str, Any]) -> str:
    """Return a Markdown table; behind each time, how many times that is of Rememo's. What a peer said follows it."""
    results: list[Row] = report["results"]
    ours = next((result for result in results if result["peer"] == "rememo"), None)
    columns = [column for column in _COLUMNS if any(column[1] in result for result in results)]
    lines = ["| | " + " | ".join(column[0] for column in columns) + " |", "|---|" + "---|" * len(columns)]
    notes: list[str] = []
    for result in results:
        cells = [_format_cell(result, ours, column, notes) for column in columns]
        lines.append(f"| {result['peer']} {result['version']} | " + " | ".join(cells) + " |")
    machine = report["machine"]
    work = (
        f"{report['work']['size']:,} records, at most {report['work']['seconds']:.0f} s a piece of work;"
        f" {machine['processor']}, {machine['cores']} cores, Python {report['python']}, {report['measured_at'][:10]}"
    )
    footnotes = (f"[{number}] {' '.join(note.split())}" for number, note in enumerate(notes, 1))
    return "\n".join([*lines, "", *footnotes, work])


def _format_cell(
    row: Row, ours: Row | None, column: tuple[str, str, Callable[[Row], float | None], bool], notes: list[str]
) -> str:
    title, task, figure, _ = column
    figures = row.get(task)
    if figures is None:
        return ""
    try:
        value = figure(figures)
    except (KeyError, ZeroDivisionError):
        notes.append(f"{row['peer']}, {title}: {figures.get('cannot') or figures.get('said') or figures}")
        return f"no [{len(notes)}]"
    if value is None:
        return ""
    text = _short(value) if value >= 100 or float(value).is_integer() else f"{value:.2f}"  # noqa: PLR2004 - three digits
    if ours is not None and row is not ours and task in {"adds", "bulk", "searches", "reopen"}:
        base = figure(ours[task])
        if base and value:
            text += f" ({_short(value / base)} x)"
    if figures.get("errors"):
        notes.append(f"{row['peer']}, {title}: {'; '.join(figures['errors'])}")
        text += f" [{len(notes)}]"
    if figures.get("done", 0) < figures.get("asked", 0):
        text += f", {figures['done']:,} in time"
    if ours is not None and figures.get("records", 0) < ours[task].get("records", 0):
        text += f", of {figures['records']:,} records"
    return text


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:.2g}"  # noqa: PLR2004 - three digits


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw times and quality, a bar for each peer."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra

        mpl.use("Agg")
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra('drawing needs matplotlib: pip install "rememo[bench]"') from error
    columns = [column for column in _COLUMNS if column[1] in {"adds", "searches", "bulk", "quality"}]
    figure, axes = plt.subplots(1, len(columns), figsize=(4 * len(columns), 4))
    for axis, (title, task, value, more_is_better) in zip(axes, columns, strict=True):
        bars: dict[str, float] = {}
        for result in report["results"]:
            figures = result.get(task, {})
            if task == "quality" and figures.get("done", 0) < figures.get("asked", 0):
                continue  # some of the questions say little
            try:
                bars[result["peer"]] = value(figures) or 0
            except KeyError:
                continue
        colours = ["#c8553d" if name == "rememo" else "#8a8f98" for name in bars]
        axis.barh(list(bars), list(bars.values()), color=colours)
        axis.invert_yaxis()
        axis.set_title(f"{title}\n({'more' if more_is_better else 'less'} is better)")
        if task != "quality":
            axis.set_xscale("log")
            axis.set_xlim(left=min(bars.values(), default=2) / 2)
    figure.tight_layout()
    figure.savefig(path, dpi=110)  # pyright: ignore[reportUnknownMemberType] - its own signature
    plt.close(figure)
