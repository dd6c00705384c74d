"""What the tools of the knowledge graph take and give: the shapes of the reference server, name by name."""

from pydantic import BaseModel, ConfigDict, Field

from rememo.serve.mcp.tool import ToolArguments, ToolResult


class _GraphModel(BaseModel):
    model_config = ConfigDict(populate_by_name=True, strict=True)


class GraphEntity(_GraphModel):
    """One node."""

    name: str = Field(description="The name of the entity")
    entity_type: str = Field(alias="entityType", description="The type of the entity")
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class GraphRelation(_GraphModel):
    """One edge."""

    begin: str = Field(alias="from", description="The name of the entity where the relation starts")
    end: str = Field(alias="to", description="The name of the entity where the relation ends")
    relation_type: str = Field(alias="relationType", description="The type of the relation")

    @property
    def parts(self) -> tuple[str, str, str]:
        """What tells it apart."""
        return self.begin, self.end, self.relation_type


class NewObservations(_GraphModel):
    """What is to be added to an entity."""

    entity_name: str = Field(alias="entityName", description="The name of the entity to add the observations to")
    contents: list[str] = Field(description="An array of observation contents to add")


class ObservationDeletion(_GraphModel):
    """What is to be taken from an entity."""

    entity_name: str = Field(alias="entityName", description="The name of the entity containing the observations")
    observations: list[str] = Field(description="An array of observations to delete")


class AddedObservations(_GraphModel):
    """What was added to an entity."""

    entity_name: str = Field(alias="entityName")
    added: list[str] = Field(alias="addedObservations")


class _LenientArguments(ToolArguments):
    # What a tool over there does not know, it passes over.
    model_config = ConfigDict(extra="ignore", strict=True)


class EntitiesArguments(_LenientArguments):
    """Entities to create."""

    entities: list[GraphEntity]


class RelationsArguments(_LenientArguments):
    """Relations to create or delete."""

    relations: list[GraphRelation]


class ObservationsArguments(_LenientArguments):
    """Observations to add."""

    observations: list[NewObservations]


class NamesArguments(_LenientArguments):
    """Entities to delete."""

    entityNames: list[str] = Field(description="An array of entity names to delete")  # noqa: N815 - as over there


class DeletionsArguments(_LenientArguments):
    """Observations to delete."""

    deletions: list[ObservationDeletion]


class NoArguments(_LenientArguments):
    """Nothing."""


class QueryArguments(_LenientArguments):
    """What to look for."""

    query: str = Field(description="The search query to match against entity names, types, and observation content")


class NodesArguments(_LenientArguments):
    """What to open."""

    names: list[str] = Field(description="An array of entity names to retrieve")


class EntitiesResult(ToolResult):
    """Entities that are new."""

    entities: list[GraphEntity]


class RelationsResult(ToolResult):
    """Relations that are new."""

    relations: list[GraphRelation]


class ObservationsResult(ToolResult):
    """Observations that are new."""

    results: list[AddedObservations]


class MessageResult(ToolResult):
    """What was done."""

    success: bool
    message: str


class GraphResult(ToolResult):
    """A graph, or a part of one."""

    entities: list[GraphEntity]
    relations: list[GraphRelation]
