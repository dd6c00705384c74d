"""The tools of the reference knowledge-graph memory server, on records: same names, schemas and descriptions.

An entity and each observation of it is a note, a relation a relationship, so that search and all other operations see
them too. Names and types are compared exactly, as in the reference server. Concurrent duplicates are merged when read.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from rememo.errors import InvalidInput
from rememo.serve.mcp.graph_models import (
    AddedObservations,
    DeletionsArguments,
    EntitiesArguments,
    EntitiesResult,
    GraphEntity,
    GraphRelation,
    GraphResult,
    MessageResult,
    NamesArguments,
    NoArguments,
    NodesArguments,
    ObservationsArguments,
    ObservationsResult,
    QueryArguments,
    RelationsArguments,
    RelationsResult,
)
from rememo.serve.mcp.tool import Tool, ToolArguments, ToolCaller, ToolOutput, ToolResult

if TYPE_CHECKING:
    from rememo.memory import Memory
    from rememo.model.receipt import Receipt
    from rememo.model.record import Record

RESOURCE: Final = "memory://knowledge-graph"
_METADATA_KEY: Final = "graph"
"""The key in a record's data and metadata that marks its part of the graph."""
_PAGE: Final = 10_000
_MAX_HITS: Final = 20
_MIN_RELATIVE_SCORE: Final = 0.5
"""The least score of a hit, relative to the best."""
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(slots=True)
class GraphNode:
    """An entity with the ids of its records."""

    type: str
    observations: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Its observations, each with the ids of its records."""
    ids: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class KnowledgeGraph:
    """All nodes and relations, in the order of creation."""

    nodes: dict[str, GraphNode] = field(default_factory=dict[str, GraphNode])
    relations: dict[tuple[str, str, str], list[str]] = field(default_factory=dict[tuple[str, str, str], list[str]])

    def entity(self, name: str) -> GraphEntity:
        """Return a node as an entity of the protocol."""
        node = self.nodes[name]
        return GraphEntity(name=name, entityType=node.type, observations=list(node.observations))

    def need(self, name: str) -> GraphNode:
        """Return a node; raises `InvalidInput` when it does not exist."""
        if name not in self.nodes:
            raise InvalidInput(f"Entity with name {name} not found")
        return self.nodes[name]

    def around(self, names: Iterable[str]) -> GraphResult:
        """Return some nodes, with every relation from or to them."""
        existing = set(names).intersection(self.nodes)
        return GraphResult(
            entities=[self.entity(name) for name in self.nodes if name in existing],
            relations=[
                _to_relation(relation)
                for relation in self.relations
                if relation[0] in existing or relation[1] in existing
            ],
        )


def load_graph(memory: "Memory") -> KnowledgeGraph:
    """Return the graph of a view."""
    graph, loose = KnowledgeGraph(), list["Record"]()
    for record in _graph_records(memory):
        part: Mapping[str, Any] = record.data[_METADATA_KEY]
        if "relation" in part:
            begin, end, type = part["relation"]
            graph.relations.setdefault((begin, end, type), []).append(record.id)
        elif "observation" in part:
            loose.append(record)
        else:
            graph.nodes.setdefault(part["entity"], GraphNode(part["type"])).ids.append(record.id)
    for record in loose:
        part = record.data[_METADATA_KEY]
        if (node := graph.nodes.get(part["entity"])) is not None:
            node.observations.setdefault(part["observation"], []).append(record.id)
    return graph


def _graph_records(memory: "Memory") -> "Iterable[Record]":
    for kind, mark in (("note", "entity"), ("note", "observation"), ("relationship", "relation")):
        pages: list[list[Record]] = []
        while not pages or len(pages[-1]) == _PAGE:
            pages.append(memory.list(kind=kind, metadata={_METADATA_KEY: mark}, limit=_PAGE, offset=_PAGE * len(pages)))
        # Each page has the latest of the remaining records, oldest first.
        for page in reversed(pages):
            yield from page


# ---- writing


def create_entities(memory: "Memory", caller: ToolCaller, arguments: EntitiesArguments) -> ToolOutput:
    """Create the entities whose names are new."""
    graph = load_graph(memory)
    new = {entity.name: entity for entity in reversed(arguments.entities) if entity.name not in graph.nodes}
    fresh = [new[name] for name in dict.fromkeys(entity.name for entity in arguments.entities) if name in new]
    items: list[dict[str, Any]] = []
    for entity in fresh:
        entity.observations = list(dict.fromkeys(entity.observations))
        items.append(_entity_item(entity))
        items += [_observation_item(entity.name, text) for text in entity.observations]
    receipt = _write(memory, caller, items)
    return EntitiesResult(entities=fresh), _to_json_text(fresh) + _describe_quarantined(receipt)


def create_relations(memory: "Memory", caller: ToolCaller, arguments: RelationsArguments) -> ToolOutput:
    """Create the relations that are new; as in the reference server, an end need not be an entity."""
    graph = load_graph(memory)
    new = {relation.parts: relation for relation in arguments.relations if relation.parts not in graph.relations}
    receipt = _write(memory, caller, [_relation_item(relation) for relation in new.values()])
    fresh = list(new.values())
    return RelationsResult(relations=fresh), _to_json_text(fresh) + _describe_quarantined(receipt)


def add_observations(memory: "Memory", caller: ToolCaller, arguments: ObservationsArguments) -> ToolOutput:
    """Add new observations to existing entities."""
    graph, added, items = load_graph(memory), list[AddedObservations](), list[dict[str, Any]]()
    for observation in arguments.observations:
        node = graph.need(observation.entity_name)
        new = [text for text in dict.fromkeys(observation.contents) if text not in node.observations]
        added.append(AddedObservations(entityName=observation.entity_name, addedObservations=new))
        for text in new:
            node.observations[text] = []
            items.append(_observation_item(observation.entity_name, text))
    receipt = _write(memory, caller, items)
    return ObservationsResult(results=added), _to_json_text(added) + _describe_quarantined(receipt)


def delete_entities(memory: "Memory", caller: ToolCaller, arguments: NamesArguments) -> ToolOutput:
    """Delete entities with their observations and relations."""
    graph, deleted = load_graph(memory), set(arguments.entityNames)
    ids: list[str] = []
    for name in deleted & set(graph.nodes):
        ids += graph.nodes[name].ids
        ids += [id for record_ids in graph.nodes[name].observations.values() for id in record_ids]
    ids += [
        id for (begin, end, _), record_ids in graph.relations.items() if {begin, end} & deleted for id in record_ids
    ]
    return _delete_records(memory, ids, "Entities deleted successfully")


def delete_observations(memory: "Memory", caller: ToolCaller, arguments: DeletionsArguments) -> ToolOutput:
    """Delete observations, word for word."""
    graph, ids = load_graph(memory), list[str]()
    for deletion in arguments.deletions:
        node = graph.nodes.get(deletion.entity_name)
        if node is not None:
            ids += [id for text in deletion.observations for id in node.observations.pop(text, ())]
    return _delete_records(memory, ids, "Observations deleted successfully")


def delete_relations(memory: "Memory", caller: ToolCaller, arguments: RelationsArguments) -> ToolOutput:
    """Delete relations."""
    graph, deleted = load_graph(memory), {relation.parts for relation in arguments.relations}
    ids = [id for parts, record_ids in graph.relations.items() if parts in deleted for id in record_ids]
    return _delete_records(memory, ids, "Relations deleted successfully")


def _entity_item(entity: GraphEntity) -> dict[str, Any]:
    part = {"entity": entity.name, "type": entity.entity_type}
    return {
        "text": f"{entity.name} ({entity.entity_type})",
        "data": {_METADATA_KEY: part},
        "metadata": {_METADATA_KEY: "entity"},
    }


def _observation_item(name: str, text: str) -> dict[str, Any]:
    part = {"entity": name, "observation": text}
    return {"text": f"{name}: {text}", "data": {_METADATA_KEY: part}, "metadata": {_METADATA_KEY: "observation"}}


def _relation_item(relation: GraphRelation) -> dict[str, Any]:
    from rememo.extract.predicates import normalise_predicate  # noqa: PLC0415 - see the package
    from rememo.learn.relationships import relationship_fields  # noqa: PLC0415 - the same

    type = normalise_predicate(relation.relation_type) or "related_to"
    fields = relationship_fields({"entity": relation.begin, "target": relation.end, "type": type, "own": {}})
    data = {**fields["data"], _METADATA_KEY: {"relation": list(relation.parts)}}
    text = f"{relation.begin} {relation.relation_type} {relation.end}"
    return {"text": text, "kind": "relationship", "data": data, "metadata": {_METADATA_KEY: "relation"}}


def _write(memory: "Memory", caller: ToolCaller, items: list[dict[str, Any]]) -> "Receipt | None":
    """Write all or nothing, in the order given."""
    if not items:
        return None
    now = datetime.now(UTC)
    # Recreated items come last, and items of one call keep their order.
    stamped = [
        {**item, "source": caller.source, "occurred_at": now + index * _MICROSECOND} for index, item in enumerate(items)
    ]
    return memory.add_many(stamped)


def _delete_records(memory: "Memory", ids: list[str], message: str) -> ToolOutput:
    if ids:
        memory.delete_where(ids=ids)
    return MessageResult(success=True, message=message), message


def _describe_quarantined(receipt: "Receipt | None") -> str:
    """Describe quarantined records; empty when there are none."""
    if receipt is None or not receipt.quarantined:
        return ""
    reasons = "; ".join(sorted(set(receipt.quarantined.values())))
    return f"\n\n{len(receipt.quarantined)} of these are held back until a person releases them: {reasons}"


# ---- reading


def read_graph(memory: "Memory", caller: ToolCaller, arguments: NoArguments) -> ToolOutput:
    """Return the whole graph."""
    graph = load_graph(memory)
    result = GraphResult(
        entities=[graph.entity(name) for name in graph.nodes],
        relations=[_to_relation(relation) for relation in graph.relations],
    )
    return result, _to_json_text(result)


def search_nodes(memory: "Memory", caller: ToolCaller, arguments: QueryArguments) -> ToolOutput:
    """Return the nodes that contain the query; when none contains a query of several words, those that search finds."""
    graph, query = load_graph(memory), arguments.query.lower()
    names = [
        name
        for name, node in graph.nodes.items()
        if query in name.lower()
        or query in node.type.lower()
        or any(query in text.lower() for text in node.observations)
    ]
    if not names and len(query.split()) > 1:
        hits = memory.search(
            arguments.query,
            kind="note",
            metadata={_METADATA_KEY: {"$in": ["entity", "observation"]}},
            limit=_MAX_HITS,
        )
        names = [
            hit.record.data[_METADATA_KEY]["entity"] for hit in hits if hit.score >= _MIN_RELATIVE_SCORE * hits[0].score
        ]
    result = graph.around(names)
    return result, _to_json_text(result)


def open_nodes(memory: "Memory", caller: ToolCaller, arguments: NodesArguments) -> ToolOutput:
    """Return the nodes of these names."""
    result = load_graph(memory).around(arguments.names)
    return result, _to_json_text(result)


def _to_relation(parts: tuple[str, str, str]) -> GraphRelation:
    begin, end, type = parts
    return GraphRelation(**{"from": begin, "to": end, "relationType": type})


def _to_json_text(value: BaseModel | Iterable[BaseModel]) -> str:
    plain = (
        value.model_dump(by_alias=True)
        if isinstance(value, BaseModel)
        else [model.model_dump(by_alias=True) for model in value]
    )
    return json.dumps(plain, ensure_ascii=False, indent=2)


def _make_tool(
    name: str, description: str, takes: type[ToolArguments], gives: type[ToolResult], does: Any, **more: Any
) -> Tool:
    title = name.replace("_", " ").title()
    return Tool(
        name=name, title=title, description=description, arguments_model=takes, result_model=gives, handler=does, **more
    )


_CREATE_HINTS: Final[Mapping[str, Any]] = {"right": "write", "idempotent": False}
_DELETE_HINTS: Final[Mapping[str, Any]] = {"right": "write", "destructive": True}
TOOLS: Final = (
    _make_tool("create_entities", "Create multiple new entities in the knowledge graph",
          EntitiesArguments, EntitiesResult, create_entities, **_CREATE_HINTS),
    _make_tool("create_relations", "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
          RelationsArguments, RelationsResult, create_relations, **_CREATE_HINTS),
    _make_tool("add_observations", "Add new observations to existing entities in the knowledge graph",
          ObservationsArguments, ObservationsResult, add_observations, **_CREATE_HINTS),
    _make_tool("delete_entities", "Delete multiple entities and their associated relations from the knowledge graph",
          NamesArguments, MessageResult, delete_entities, **_DELETE_HINTS),
    _make_tool("delete_observations", "Delete specific observations from entities in the knowledge graph",
          DeletionsArguments, MessageResult, delete_observations, **_DELETE_HINTS),
    _make_tool("delete_relations", "Delete multiple relations from the knowledge graph",
          RelationsArguments, MessageResult, delete_relations, **_DELETE_HINTS),
    _make_tool("read_graph", "Read the entire knowledge graph", NoArguments, GraphResult, read_graph),
    _make_tool("search_nodes", "Search for nodes in the knowledge graph based on a query", QueryArguments, GraphResult, search_nodes),
    _make_tool("open_nodes", "Open specific nodes in the knowledge graph by their names", NodesArguments, GraphResult, open_nodes),
)  # fmt: skip
