"""What a build adds: the word vectors in the wheel, and a README whose links work outside of the repository."""

import os
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FILES = (
    "wordllama/weights/l2_supercat_256.safetensors",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
)
TO = "rememo/text"
LINK = re.compile(r"(?P<image>!?)\[(?P<label>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)]+)\)")


class CarryWords(BuildHookInterface[Any]):
    """Runs while a wheel is built; an editable installation reads the files where they are."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include: two of the `wordllama` package and its licence, nothing else of it."""
        if version == "editable":
            return
        package = distribution("wordllama")
        for file in FILES:
            build_data["force_include"][str(package.locate_file(file))] = f"{TO}/{file}"
        [licence] = [file for file in package.files or () if file.name == "LICENSE"]
        build_data["force_include"][str(package.locate_file(licence))] = f"{TO}/wordllama/LICENSE"


class DescribeProject(MetadataHookInterface):
    """Sets the README and the addresses of the project, which a package index shows.

    The repository's address is known where the workflow that publishes runs, or from `REMEMO_REPOSITORY`.
    """

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both."""
        root = Path(self.root)
        version = re.findall(r'__version__ = "(.+)"', (root / "src/rememo/_version.py").read_text("utf-8"))[0]
        server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
        repository = os.environ.get("REMEMO_REPOSITORY") or (f"{server}/{name}" if server and name else "")
        text = (root / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute_links(text, repository, f"v{version}")}
        metadata["urls"] = project_urls(repository, f"v{version}") if repository else {}


def absolute_links(text: str, repository: str, ref: str) -> str:
    """Return a README with links to files of the repository at a tag; without an address, their labels alone."""

    def link(match: re.Match[str]) -> str:
        if not repository:
            return "" if match["image"] else match["label"]
        kind = "raw" if match["image"] else "blob"
        return f"{match['image']}[{match['label']}]({repository}/{kind}/{ref}/{match['target']})"

    return LINK.sub(link, text)


def project_urls(repository: str, ref: str) -> dict[str, str]:
    """Return the addresses that a package index shows beside the README."""
    return {
        "Documentation": f"{repository}/blob/{ref}/docs/README.md",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/{ref}/CHANGELOG.md",
    }
