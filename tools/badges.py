"""Draws the badges of the README from what the project says and its tests hold; `python tools/badges.py` writes them."""

import tomllib
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "docs" / "images" / "badges.svg"
_LETTER: Final = 6.6
"""How wide a letter of 11 pixels is, on average."""
_HEIGHT, _PADDING, _GAP = 20, 6, 6


def badges() -> list[tuple[str, str]]:
    """Return what each badge names and says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text())["requirement"]
    tested = sum(not requirement.get("planned") for requirement in requirements)
    return [
        ("python", project["project"]["requires-python"].replace(">=", "≥ ")),
        ("licence", project["project"]["license"]),
        ("types", project["tool"]["pyright"]["typeCheckingMode"]),
        ("requirements", f"{tested}, each with a test"),
    ]


def draw() -> str:
    """Return the badges side by side as an SVG."""
    left, parts = 0, []
    for name, value in badges():
        name_width, value_width = (round(len(text) * _LETTER) + 2 * _PADDING for text in (name, value))
        parts.append(
            f'<rect x="{left}" width="{name_width}" height="{_HEIGHT}" fill="#4b5563"/>'
            f'<rect x="{left + name_width}" width="{value_width}" height="{_HEIGHT}" fill="#2c6e49"/>'
            f'<text x="{left + _PADDING}" y="14">{escape(name)}</text>'
            f'<text x="{left + name_width + _PADDING}" y="14">{escape(value)}</text>'
        )
        left += name_width + value_width + _GAP
    label = escape("; ".join(f"{name}: {value}" for name, value in badges()), {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left - _GAP}" height="{_HEIGHT}" role="img" aria-label="{label}">'
        "<style>text{font:11px Verdana,DejaVu Sans,sans-serif;fill:#fff}</style>" + "".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    TARGET.write_text(draw())
