"""Words that callers bring from other libraries: taken where they can mean one thing only, else answered with ours."""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, Final, TypeVar, cast

from rememo.errors import InvalidInput

K = TypeVar("K", bound=type)

_SCOPE: Final = {
    "tenant_id": "tenant", "agent_id": "agent", "user_id": "user", "room_id": "room", "session_id": "room",
    "thread_id": "room", "conversation_id": "room", "run_id": "room",
}  # fmt: skip
_COUNT: Final[Mapping[str, str]] = dict.fromkeys(("top_k", "k", "n_results", "max_results", "num_results"), "limit")
ALIASES: Final[Mapping[str, Mapping[str, str]]] = {
    "scope": _SCOPE,
    "search": {**_COUNT, "min_score": "threshold", "score_threshold": "threshold"},
    "similar": _COUNT,
    "list": _COUNT,
    "context": dict.fromkeys(("token_budget", "token_limit", "budget"), "max_tokens"),
    "add": {
        **dict.fromkeys(("timestamp", "created_at"), "occurred_at"),
        "at": "occurred_at", "occurred_at": "at", "content": "text", "text": "content",
    },
    "erase": _SCOPE,
}  # fmt: skip
"""Method by method: another library's name of an argument, and ours. One that a method has itself is left alone."""
_LABELS: Final = frozenset({*_SCOPE, "agent", "user", "room"})
_TURN: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_HINTS: Final[Mapping[str, str]] = {
    "filters": "kind=, ids=, after=, before= and metadata= narrow a search",
    "filter": "kind=, ids=, after=, before= and metadata= narrow a search",
    "messages": 'a conversation is kept turn by turn: memory.messages.add("user", "…")',
}
_NOT_ONE_TEXT: Final = (
    'add() takes one text; a turn of a conversation is messages.add({"role": "user", "content": "…"}), and several are'
    " added one by one, or together inside `with memory.batch() as batch:`"
)
_METHODS: Final[Mapping[str, str]] = {
    "history": "memory.history(id) has every version of a record, memory.messages.history() the latest turns",
    "get_all": "list() has everything in the scope",
    "all": "list() has everything in the scope",
    "delete_all": "clear() ends everything in the scope, erase(user=…) removes it for good",
    "forget": "delete(id) ends a record, erase(ids=[…]) removes it for good",
    "remove": "delete(id) ends a record, erase(ids=[…]) removes it for good",
    "remember": 'add("…") keeps a text, messages.add("user", "…") a turn of a conversation',
    "recall": 'search("…") has the hits, context("…") a text for the model',
    "retrieve": 'search("…") has the hits, context("…") a text for the model',
    "query": 'search("…") has the hits, context("…") a text for the model',
}


def usual_spellings(kind: K) -> K:
    """Let a class take the argument names of other libraries; a name that means nothing is a `TypeError` that helps."""
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and (name in ALIASES or name == "__init__"):
            setattr(kind, name, _spelled(method, "" if name == "__init__" else name))
    return kind


def explain_missing_method(owner: object, name: str) -> AttributeError:
    """Return the error for a method that is not there, with the one that does the same."""
    hint = _METHODS.get(name)
    text = f"{type(owner).__name__} has no attribute {name!r}" + (f"; {hint}" if hint else "")
    return AttributeError(text, name=name, obj=owner)


def _spelled(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    parameters = inspect.signature(method).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return method
    names = frozenset(parameters)
    takes_turn = name == "add"

    def repair(arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        owner = type(arguments[0]).__name__
        if takes_turn and len(arguments) > 1 and isinstance(arguments[1], Mapping | list):
            if "role" not in names or isinstance(arguments[1], list):
                raise InvalidInput(_NOT_ONE_TEXT)
            named = {**_turn(cast("Mapping[object, Any]", arguments[1])), **named}
            arguments = (arguments[0], *arguments[2:])
        if named.keys() <= names:
            return arguments, named
        called = f"{owner}{'.' if name else ''}{name}()"
        return arguments, {_own_name(key, name, names, named, called): value for key, value in named.items()}

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def wait(*arguments: Any, **named: Any) -> Any:
            if takes_turn or not named.keys() <= names:
                arguments, named = repair(arguments, named)
            return await method(*arguments, **named)

        return wait

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        if takes_turn or not named.keys() <= names:
            arguments, named = repair(arguments, named)
        return method(*arguments, **named)

    return call


def _own_name(name: str, method_name: str, names: frozenset[str], named: Mapping[str, Any], called: str) -> str:
    """Return our name of an argument; raises `TypeError` where there is none, or where both are given."""
    if name in names:
        return name
    ours = ALIASES.get(method_name, {}).get(name)
    if ours in (None, "occurred_at") and name in ("timestamp", "created_at") and "at" in names:
        ours = "at"
    if ours is not None and ours in names:
        if ours in named:
            raise TypeError(f"{called} was given {name} and {ours}, which are the same; give {ours}")
        return ours
    if name in _LABELS:
        label = _SCOPE.get(name, name)
        then = f".{method_name}(…)" if method_name else ""
        raise TypeError(f"{called} has no argument {name!r}; a view is bound to it: memory.scope({label}=…){then}")
    if name in _HINTS:
        raise TypeError(f"{called} has no argument {name!r}; {_HINTS[name]}")
    near = get_close_matches(name, names, n=1)
    known = ", ".join(sorted(names - {"self"}))
    hint = f"did you mean {near[0]}?" if near else f"it takes {known}"
    raise TypeError(f"{called} has no argument {name!r}; {hint}")


def _turn(message: Mapping[object, Any]) -> dict[str, Any]:
    """Return the arguments of `messages.add` that a chat message means, such as `{"role": "user", "content": "…"}`."""
    if unknown := [key for key in message if key not in _TURN]:
        raise InvalidInput(
            f"a message has the unknown field {unknown[0]!r}; it may have {', '.join(sorted(_TURN))}, the rest are arguments"
        )
    if not {"role", "content"} <= message.keys():
        raise InvalidInput(
            'a message has a role and a content, such as {"role": "user", "content": "I live in Lisbon."}'
        )
    return {str(key): value for key, value in message.items() if value is not None or key == "content"}
