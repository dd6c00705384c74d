"""Word lists written as prose: a list of two hundred words is read more easily in lines than in two hundred lines."""


def word_list(*lines: str) -> list[str]:
    """Return the words of these lines in order."""
    return [word for line in lines for word in line.split()]


def word_set(*lines: str) -> frozenset[str]:
    """Return the words of these lines; "_" stands for a space inside an entry."""
    return frozenset(word.replace("_", " ") for word in word_list(*lines))
