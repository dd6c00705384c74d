"""Arguments and results of the knowledge-graph tools, with the reference server's field names."""

from pydantic import BaseModel, ConfigDict, Field

from rememo.serve.mcp.tool import ToolArguments, ToolResult


class _GraphModel(BaseModel):
    model_config = ConfigDict(populate_by_name=True, strict=True)


class GraphEntity(_GraphModel):
    """A node of the graph."""

    name: str = Field(description="The name of the entity")
    entity_type: str = Field(alias="entityType", description="The type of the entity")
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class GraphRelation(_GraphModel):
    """An edge of the graph."""

    begin: str = Field(alias="from", description="The name of the entity where the relation starts")
    end: str = Field(alias="to", description="The name of the entity where the relation ends")
    relation_type: str = Field(alias="relationType", description="The type of the relation")

    @property
    def parts(self) -> tuple[str, str, str]:
        """Its identity."""
        return self.begin, self.end, self.relation_type


class NewObservations(_GraphModel):
    """Observations to add to an entity."""

    entity_name: str = Field(alias="entityName", description="The name of the entity to add the observations to")
    contents: list[str] = Field(description="An array of observation contents to add")


class ObservationDeletion(_GraphModel):
    """Observations to delete from an entity."""

    entity_name: str = Field(alias="entityName", description="The name of the entity containing the observations")
    observations: list[str] = Field(description="An array of observations to delete")


class AddedObservations(_GraphModel):
    """Observations added to an entity."""

    entity_name: str = Field(alias="entityName")
    added: list[str] = Field(alias="addedObservations")


class _LenientArguments(ToolArguments):
    # Like the reference server, ignore unknown arguments.
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
    """A search query."""

    query: str = Field(description="The search query to match against entity names, types, and observation content")


class NodesArguments(_LenientArguments):
    """Names of nodes to open."""

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
    """The outcome of a deletion."""

    success: bool
    message: str


class GraphResult(ToolResult):
    """A graph, or a part of one."""

    entities: list[GraphEntity]
    relations: list[GraphRelation]
