"""Makes what is released: wheel, source archive, list of all parts, and what is known of their weak points.

`python tools/release.py [FOLDER]` writes to `dist` unless told otherwise. Building is repeatable: the same sources give the
same bytes. Publishing is not done here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
UV: Final = str(Path(sys.executable).parent / "uv")
_EPOCH: Final = "1577836800"  # files in archives carry this date, 2020-01-01, whenever they are built


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source archive, and the wheel from it, as an installer would; return wheel and archive."""
    folder.mkdir(parents=True, exist_ok=True)
    _run(UV, "build", "--quiet", "--out-dir", str(folder), str(ROOT), SOURCE_DATE_EPOCH=_EPOCH)
    [wheel], [archive] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


def install(what: Path | str, folder: Path) -> Path:
    """Install a wheel, or a folder of sources with extras, with what it needs into a new environment; return its interpreter."""
    python = folder / "bin" / "python"
    _run(UV, "venv", "--quiet", "--python", sys.executable, str(folder))
    _run(UV, "pip", "install", "--quiet", "--python", str(python), str(what))
    return python


def parts(python: Path, file: Path) -> int:
    """Write the software bill of materials of an environment (CycloneDX), and return how many parts it names."""
    order = ("environment", str(python), "--output-reproducible", "--output-file", str(file))
    _run(UV, "tool", "run", "--from", "cyclonedx-bom==7.5.0", "cyclonedx-py", *order)
    return len(json.loads(file.read_text())["components"])


def audit(python: Path) -> str:
    """Return what is known of weak points in the parts of an environment; says so where nobody could be asked."""
    order = ("--progress-spinner", "off", "--format", "json", "--path", str(_packages(python)))
    command = [UV, "tool", "run", "--from", "pip-audit==2.10.1", "pip-audit", *order]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if not done.stdout.startswith("{"):
        return f"could not be asked: {done.stderr.strip().splitlines()[-1]}"
    dependencies = json.loads(done.stdout)["dependencies"]
    weak = [
        f"{dependency['name']} {dependency['version']}: {dependency['vulns'][0]['id']}"
        for dependency in dependencies
        if dependency.get("vulns")
    ]
    asked = sum("skip_reason" not in dependency for dependency in dependencies)
    return (
        "; ".join(weak)
        or f"no known weak point in {asked} of {len(dependencies)} parts, the others are not known there"
    )


def size(python: Path) -> int:
    """Return how many bytes the files of an environment's packages have, without what Python makes of them itself."""
    return sum(file.stat().st_size for file in _packages(python).rglob("*") if file.is_file() and file.suffix != ".pyc")


def _packages(python: Path) -> Path:
    [found] = python.parent.parent.glob("lib/python*/site-packages")
    return found


def _run(*command: str, **environment: str) -> None:
    subprocess.run(command, check=True, env={**os.environ, **environment})  # noqa: S603 - our own commands


def main() -> None:
    """Make everything, and say what it is."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    wheel, archive = build(folder)
    python = install(wheel, folder / "environment")
    write = sys.stdout.write
    write(f"{wheel.name} {wheel.stat().st_size / 1e6:.1f} MB, {archive.name} {archive.stat().st_size / 1e6:.1f} MB\n")
    write(f"installed with what it needs: {size(python) / 1e6:.0f} MB\n")
    write(f"bill of materials: {parts(python, folder / 'rememo.cdx.json')} parts in rememo.cdx.json\n")
    write(f"audit: {audit(python)}\n")


if __name__ == "__main__":
    main()
