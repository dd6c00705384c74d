"""Puts the word vectors into the wheel: two files of the `wordllama` package and its licence, nothing else of it."""

from importlib.metadata import distribution
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = (
    "wordllama/weights/l2_supercat_256.safetensors",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
)
TO = "rememo/text"


class CarryWords(BuildHookInterface[Any]):
    """Runs while a wheel is built; an editable installation reads the files where they are."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include."""
        if version == "editable":
            return
        package = distribution("wordllama")
        for file in FILES:
            build_data["force_include"][str(package.locate_file(file))] = f"{TO}/{file}"
        [licence] = [file for file in package.files or () if file.name == "LICENSE"]
        build_data["force_include"][str(package.locate_file(licence))] = f"{TO}/wordllama/LICENSE"
