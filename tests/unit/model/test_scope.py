"""Scope: what contains what, and that narrowing never widens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.model.scope import Scope

_LABEL = st.sampled_from([None, "a", "b"])
SCOPES = st.builds(Scope, tenant=st.sampled_from(["default", "acme"]), agent=_LABEL, user=_LABEL, room=_LABEL)


@given(scope=SCOPES, other=SCOPES, record=SCOPES)
def test_containing_is_an_order(scope: Scope, other: Scope, record: Scope):
    assert scope.contains(scope)
    if scope.contains(other) and other.contains(record):
        assert scope.contains(record)
    if scope.contains(other) and other.contains(scope):
        assert scope == other


@given(
    scope=SCOPES,
    labels=st.fixed_dictionaries({}, optional={"agent": _LABEL, "user": _LABEL, "room": _LABEL}),
    record=SCOPES,
)
def test_narrowing_never_shows_more(scope: Scope, labels: dict[str, Any], record: Scope):
    try:
        narrower = scope.narrow(**labels)
    except InvalidInput:
        return
    assert scope.contains(narrower)
    if narrower.contains(record):
        assert scope.contains(record)


def test_a_label_is_bound_once():
    scope = Scope().narrow(user="alice").narrow(room="r")
    assert scope == Scope(user="alice", room="r")
    assert scope.narrow(user="alice") == scope
    with pytest.raises(InvalidInput, match="bound to user 'alice' and cannot become 'bob'"):
        scope.narrow(user="bob")


def test_only_the_bare_default_tenant_may_step_into_another():
    assert Scope().narrow(tenant="acme", user="u") == Scope(tenant="acme", user="u")
    assert Scope(tenant="acme").narrow(tenant="acme") == Scope(tenant="acme")
    for bound in (Scope(tenant="acme"), Scope(user="alice")):
        with pytest.raises(InvalidInput, match="cannot reach 'other'"):
            bound.narrow(tenant="other")
