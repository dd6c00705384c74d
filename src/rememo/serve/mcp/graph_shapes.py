"""What the tools of the knowledge graph take and give: the shapes of the reference server, name by name."""

from pydantic import BaseModel, ConfigDict, Field

from rememo.serve.mcp.tool import Answer, Arguments


class _Part(BaseModel):
    model_config = ConfigDict(populate_by_name=True, strict=True)


class Entity(_Part):
    """One node."""

    name: str = Field(description="The name of the entity")
    entity_type: str = Field(alias="entityType", description="The type of the entity")
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class Relation(_Part):
    """One edge."""

    begin: str = Field(alias="from", description="The name of the entity where the relation starts")
    end: str = Field(alias="to", description="The name of the entity where the relation ends")
    relation_type: str = Field(alias="relationType", description="The type of the relation")

    @property
    def parts(self) -> tuple[str, str, str]:
        """What tells it apart."""
        return self.begin, self.end, self.relation_type


class Observations(_Part):
    """What is to be added to an entity."""

    entity_name: str = Field(alias="entityName", description="The name of the entity to add the observations to")
    contents: list[str] = Field(description="An array of observation contents to add")


class Deletion(_Part):
    """What is to be taken from an entity."""

    entity_name: str = Field(alias="entityName", description="The name of the entity containing the observations")
    observations: list[str] = Field(description="An array of observations to delete")


class Added(_Part):
    """What was added to an entity."""

    entity_name: str = Field(alias="entityName")
    added: list[str] = Field(alias="addedObservations")


class _Loose(Arguments):
    # What a tool over there does not know, it passes over.
    model_config = ConfigDict(extra="ignore", strict=True)


class TakesEntities(_Loose):
    """Entities to create."""

    entities: list[Entity]


class TakesRelations(_Loose):
    """Relations to create or delete."""

    relations: list[Relation]


class TakesObservations(_Loose):
    """Observations to add."""

    observations: list[Observations]


class TakesNames(_Loose):
    """Entities to delete."""

    entityNames: list[str] = Field(description="An array of entity names to delete")  # noqa: N815 - as over there


class TakesDeletions(_Loose):
    """Observations to delete."""

    deletions: list[Deletion]


class TakesNothing(_Loose):
    """Nothing."""


class TakesQuery(_Loose):
    """What to look for."""

    query: str = Field(description="The search query to match against entity names, types, and observation content")


class TakesNodes(_Loose):
    """What to open."""

    names: list[str] = Field(description="An array of entity names to retrieve")


class GivesEntities(Answer):
    """Entities that are new."""

    entities: list[Entity]


class GivesRelations(Answer):
    """Relations that are new."""

    relations: list[Relation]


class GivesAdded(Answer):
    """Observations that are new."""

    results: list[Added]


class GivesMessage(Answer):
    """What was done."""

    success: bool
    message: str


class GivesGraph(Answer):
    """A graph, or a part of one."""

    entities: list[Entity]
    relations: list[Relation]
