"""The two-way check between `requirements.toml` and the marks of tests."""

import re
from collections.abc import Mapping
from typing import Protocol


class Requirement(Protocol):
    """What `conftest.py` reads from one table."""

    @property
    def says(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def planned(self) -> bool: ...


Requirements = Mapping[str, Requirement]
Marked = Mapping[str, list[str]]


def test_every_mark_names_a_requirement(requirements: Requirements, marked: Marked):
    unknown = {id: files for id, files in marked.items() if id not in requirements}
    assert not unknown, "marks that tests/requirements.toml does not know"


def test_every_delivered_requirement_has_a_test(requirements: Requirements, marked: Marked):
    untested = [id for id, requirement in requirements.items() if not requirement.planned and id not in marked]
    assert not untested, "write a test with @pytest.mark.requirement(…), or set planned = true"


def test_no_planned_requirement_has_a_test(requirements: Requirements, marked: Marked):
    stale = {id: marked[id] for id, requirement in requirements.items() if requirement.planned and id in marked}
    assert not stale, "these are tested now: take planned = true away"


def test_requirements_are_written_alike(requirements: Requirements):
    for id, requirement in requirements.items():
        assert re.fullmatch(r"[a-z]+(\.[a-z]+(-[a-z]+)*)?", id), id
        assert requirement.says.endswith("."), id
        assert requirement.source in {"000", "001", "002", "003", "004", "beyond"}, id
