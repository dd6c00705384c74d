"""Relations that come with a name, wherever they stand: "my sister Ana", "Ana, my best friend,", "Tom's wife Eva"."""

from rememo.extract.people import NOT_NAMES, OWNERS, TITLES, Relation, SubjectReader, gender_of, title
from rememo.extract.predicates import RELATION_WORDS
from rememo.extract.tokens import Words


def relations_in(words: Words, limit: int, reader: SubjectReader) -> list[Relation]:
    """Return every relation that comes with a name, wherever it stands in the sentence."""
    relations: list[Relation] = []
    for index in range(limit):
        word = words.low[index]
        if word in OWNERS:
            relation = reader.relation_at(words, index, limit)
            if relation is not None and relation.names:
                relations.append(relation)
            elif (
                relation is not None
                and words.at(index - 1) == ","
                and words.at(relation.after) in (",", "", ".", "and")
            ):
                relations.extend(_apposed(words, index, relation, reader))
        elif (
            word == "'s"
            and words.at(index + 1) in RELATION_WORDS
            and words.capital(index - 1)
            and words.low[index - 1] not in NOT_NAMES
        ):
            names, after = reader.names_at(words, index + 2, limit)
            if names and words.at(index - 2) not in RELATION_WORDS:
                relations.append(
                    Relation(title(words.raw[index - 1]), RELATION_WORDS[words.low[index + 1]], names, index - 1, after)
                )
    for relation in relations:
        for name in relation.names:
            reader.meet(name, gender_of(relation.predicate, name))
    return relations


def _apposed(words: Words, index: int, relation: Relation, reader: SubjectReader) -> list[Relation]:
    """Read the name before ", my best friend,"."""
    start = index - 1
    while start > 0 and words.capital(start - 1) and words.low[start - 1] not in NOT_NAMES:
        start -= 1
    if start > 1 and words.low[start - 1] == "." and words.low[start - 2] in TITLES:
        start -= 2
    if start == index - 1 or reader.name_end(words, start, index - 1) != index - 1:
        return []
    return [
        Relation(
            relation.owner,
            relation.predicate,
            (words.slice(start, index - 1),),
            start,
            relation.after,
            relation.species,
        )
    ]
