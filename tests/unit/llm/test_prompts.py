"""Prompts: files with versions, filled once."""

import pytest

from rememo.errors import InvalidInput, NotFound
from rememo.llm.prompts import Prompt, prompt, prompts


def test_every_prompt_that_is_shipped_says_something_and_has_versions_without_a_gap():
    assert "extract" in prompts()
    for name, versions in prompts().items():
        assert sorted(versions) == list(range(1, len(versions) + 1)), name
        for version in versions.values():
            assert len(version.text) > 100
            assert version.label == f"{name}@{version.version}"
            version.filled(**dict.fromkeys(version.places, "x"))


def test_the_newest_version_is_meant_unless_told():
    assert prompt("extract") == prompts()["extract"][max(prompts()["extract"])]
    assert prompt("extract", 1).version == 1


def test_what_is_filled_in_is_not_looked_at_again():
    made = Prompt(name="x", version=1, text="say {{what}} to {{whom}}")
    assert made.filled(what="{{whom}}", whom="Ana") == "say {{whom}} to Ana"


def test_a_prompt_is_filled_as_it_asks():
    made = Prompt(name="x", version=1, text="say {{what}}")
    with pytest.raises(InvalidInput, match=r"x@1 .*what"):
        made.filled()
    with pytest.raises(InvalidInput, match="other"):
        made.filled(what="a", other="b")


def test_a_prompt_that_is_not_there_is_named():
    with pytest.raises(NotFound, match="'poem'"):
        prompt("poem")
    with pytest.raises(NotFound, match="version 99"):
        prompt("extract", 99)
