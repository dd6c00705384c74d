"""The suites themselves: no test of one hides another's."""

from collections import Counter

from rememo.testing import MemoryConformance


def test_no_two_suites_have_a_test_of_the_same_name():
    names = Counter(name for suite in MemoryConformance.__bases__ for name in vars(suite) if name.startswith("test_"))
    assert [name for name, number in names.items() if number > 1] == []
