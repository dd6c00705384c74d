"""Receipts and changes."""

from datetime import UTC, datetime

import pytest

from rememo.errors import InvalidInput
from rememo.model.receipt import Receipt

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.requirement("write.receipt")
def test_a_single_write_has_one_id_version_and_outcome():
    receipt = Receipt(ids=("x",), versions={"x": 2}, outcomes={"x": "updated"}, recorded_at=NOW)
    assert (receipt.id, receipt.version, receipt.outcome, receipt.status) == ("x", 2, "updated", "done")


@pytest.mark.parametrize("ids", [(), ("a", "b")])
def test_many_or_none_have_no_single_id(ids: tuple[str, ...]):
    with pytest.raises(InvalidInput, match=rf"{len(ids)} records; use \.ids"):
        _ = Receipt(ids=ids).id


def test_nothing_to_wait_for_is_waited_for_at_once():
    receipt = Receipt(ids=("x",))
    assert receipt.wait() is receipt


def test_waiting_asks_whoever_wrote_it():
    done = Receipt(ids=("x",), jobs=("j",), status="done")
    asked: list[float] = []

    def follow(receipt: Receipt, timeout: float) -> Receipt:
        assert receipt.status == "learning"
        asked.append(timeout)
        return done

    assert Receipt(ids=("x",), jobs=("j",), status="learning", follow=follow).wait(timeout=1) is done
    assert asked == [1]


def test_how_it_is_followed_is_no_part_of_what_it_says():
    assert Receipt(ids=("x",), follow=lambda receipt, _timeout: receipt) == Receipt(ids=("x",))
