"""Rotate keys: rewrap them at once, re-encrypt contents in jobs; and drop a tenant's keys for ever."""

from collections.abc import Sequence

from rememo.engine.engine import Engine
from rememo.errors import InvalidInput
from rememo.model.ids import new_id
from rememo.model.job import Job
from rememo.model.receipt import Receipt
from rememo.model.scope import Scope
from rememo.store.cipher.protocol import Reencryption

REENCRYPT = "reseal"


def rotate_keys(engine: Engine, scope: Scope, *, reencrypt: bool) -> Receipt:
    """Wrap every key of the store by the current master key, and encrypt all contents by new keys if asked to.

    The receipt's jobs, one for each tenant, do the encrypting.
    """
    reencryption, now = _need_reencryption(engine), engine.now()
    rewrapped = reencryption.cipher.rewrap()
    jobs: list[Job] = []
    if reencrypt:
        for tenant in reencryption.tenants():
            reencryption.cipher.add_key(tenant)
            jobs.append(
                Job(
                    id=new_id(),
                    tenant=tenant,
                    task=REENCRYPT,
                    payload={},
                    state="waiting",
                    attempts=0,
                    due_at=now,
                    leased_until=None,
                    error=None,
                    created_at=now,
                )
            )
        engine.store.load_jobs(jobs)
    if engine.audit is not None:
        engine.audit.record("rotate_keys", scope, {"rewrapped": rewrapped, "reencrypted": len(jobs)})
    runner = engine.runner
    if runner is None or not jobs:
        return Receipt(ids=())
    engine.tell_workers()

    def follow(receipt: Receipt, timeout: float) -> Receipt:
        for job in jobs:
            runner.follow(Receipt(ids=(), jobs=(job.id,)), timeout, tenant=job.tenant)
        return Receipt(ids=receipt.ids, jobs=receipt.jobs)

    return Receipt(ids=(), jobs=tuple(job.id for job in jobs), status="learning", follow=follow)


def reencrypt(engine: Engine, tenant: str, jobs: Sequence[Job]) -> dict[str, Exception]:
    """Seal everything of a tenant by its newest key; one pass does for any number of jobs."""
    reencryption = _need_reencryption(engine)
    if jobs and not reencryption.cipher.is_dropped(tenant):
        reencryption.reencrypt(tenant)
    return {}


def drop_key(engine: Engine, scope: Scope, tenant: str) -> bool:
    """Make everything of a tenant unreadable for ever; False when it had no key."""
    reencryption = _need_reencryption(engine)
    if scope != Scope(tenant=tenant):
        raise InvalidInput(
            f"drop_key() makes a whole tenant unreadable for ever, and this view is of {scope}; call it on a memory opened"
            f" with tenant={tenant!r}"
        )
    if engine.audit is not None:
        engine.audit.record("drop_key", scope)
    return reencryption.cipher.drop_keys(tenant)


def _need_reencryption(engine: Engine) -> Reencryption:
    if engine.reencryption is None:
        raise InvalidInput("this memory is not encrypted: it was opened without a keyring and has no keys")
    return engine.reencryption
