"""The keys page. A key cannot create keys with a wider scope, more rights or a longer life than its own."""

from datetime import datetime, timedelta
from typing import Any, Final

from rememo.errors import Forbidden, InvalidInput, NotFound
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS
from rememo.model.times import to_seconds
from rememo.serve.auth import ALL_TENANTS, RIGHTS, ApiKey
from rememo.serve.dashboard.visit import Visit

_KEYS: Final = 30


def keys_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the keys in reach of the visitor's key, latest first, and the form to create one."""
    return "keys.html", _key_list(visit)


def make_key(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Create a key; its text is shown on this page only."""
    form, maker = visit.form, visit.key
    tenant = form.get("tenant", "").strip() or ("default" if visit.all_tenants else maker.tenant)
    if maker.tenant not in (ALL_TENANTS, tenant):
        raise Forbidden(f"key {maker.id} can create keys for tenant {maker.tenant!r} only")
    rights = [right for right in RIGHTS if form.get(right) == "yes"]
    if beyond := set(rights) - set(maker.rights):
        raise Forbidden(f"key {maker.id} lacks the right {min(beyond)!r}, and cannot grant it")
    rate = _parse_float(form.get("rate", ""), "requests a second")
    key, text = visit.service.keys.add(
        tenant=tenant, rights=rights, name=form.get("name", "").strip(), expires=_expiry(visit),
        rate=maker.rate if rate is None else min(rate, maker.rate or rate), max_body=maker.max_body,
        **{name: form.get(name, "").strip() or None for name in LABELS},
    )  # fmt: skip
    return "keys.html", {**_key_list(visit), "made": key, "text": text}


def revoke_key(visit: Visit) -> tuple[str, Receipt | None]:
    """Revoke a key for good."""
    id = visit.form.get("id", "")
    if not any(key.id == id for key in _reachable_keys(visit)):
        raise NotFound(f"there is no key {id[:80]!r} in reach of key {visit.key.id}")
    visit.service.keys.revoke(id)
    return f"Key {id} is revoked.", None


def _key_list(visit: Visit) -> dict[str, Any]:
    reachable, offset = _reachable_keys(visit)[::-1], visit.number("offset")
    return {
        "keys": [(key, _has_ended(key, visit.now)) for key in reachable[offset : offset + _KEYS]],
        "count": len(reachable),
        "after": offset + _KEYS if offset + _KEYS < len(reachable) else None,
        "before": max(0, offset - _KEYS) if offset else None,
        "rights": [right for right in RIGHTS if right in visit.key.rights],
        "changes": visit.may("admin", "tenant"),
        "made": None,
        "text": "",
    }


def _reachable_keys(visit: Visit) -> list[ApiKey]:
    return [key for key in visit.service.keys.list() if visit.key.tenant in (ALL_TENANTS, key.tenant)]


def _has_ended(key: ApiKey, now: datetime) -> bool:
    return key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now)


def _expiry(visit: Visit) -> datetime | None:
    requested, last = visit.form.get("expires", "").strip(), visit.key.expires_at
    if not requested:
        return last
    end = visit.now + timedelta(seconds=to_seconds(requested, "expires"))
    return end if last is None else min(end, last)


def _parse_float(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{name} must be a number, not {text[:50]!r}") from None
