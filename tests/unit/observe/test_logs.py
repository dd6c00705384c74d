import json
import logging

import pytest

from rememo import Memory, observe
from rememo.errors import InvalidInput, NotFound
from rememo.observe import JsonLines

pytestmark = pytest.mark.requirement("observe.logs")


class Gathering(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record)


def line(**given: object) -> dict[str, object]:
    return json.loads(JsonLines().format(logging.makeLogRecord(given)))


def test_a_line_is_one_object_with_its_fields():
    told = line(
        name="rememo.serve", levelname="INFO", msg="%s done", args=("x",), created=0.5, request="r1", status=200
    )
    assert told == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "info",
        "logger": "rememo.serve",
        "message": "x done",
        "request": "r1",
        "status": 200,
    }


def test_line_breaks_and_failures_stay_within_their_line():
    error = ValueError("a\nb")
    text = JsonLines().format(
        logging.makeLogRecord({"msg": "two\nlines \u2028", "exc_info": (ValueError, error, None)})
    )
    assert "\n" not in text
    assert json.loads(text)["message"] == "two\nlines \u2028"
    assert "ValueError: a\nb" in json.loads(text)["error"]


def test_what_json_cannot_say_is_said_as_text():
    assert line(msg="x", path=b"raw")["path"] == "b'raw'"


def test_every_operation_is_a_line_with_its_end_and_without_its_texts(caplog: pytest.LogCaptureFixture):
    logging_ = observe.log("debug")
    with caplog.at_level(logging.DEBUG, "rememo.operations"), Memory(":memory:", embedder=None) as memory:
        memory.add("a secret")
        with pytest.raises(NotFound):
            memory.delete("nobody")
        logging_.stop()
        memory.add("not told")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "rememo.operations"]
    assert [(line["operation"], line["outcome"], line["tenant"]) for line in lines] == [
        ("add", "ok", "default"),
        ("delete", "not_found", "default"),
    ]
    assert all(line["milliseconds"] > 0 for line in lines)
    assert "secret" not in str(lines)
    assert "nobody" not in str(lines)


def test_lines_that_were_asked_for_are_written_whatever_pythons_default_is():
    operations = logging.getLogger("rememo.operations")
    handler = Gathering()
    operations.addHandler(handler)
    before = operations.level
    operations.setLevel(logging.NOTSET)
    logging_ = observe.log("INFO")
    try:
        with Memory(":memory:", embedder=None) as memory:
            memory.add("one")
            operations.setLevel(logging.WARNING)
            memory.add("the program wants no more")
    finally:
        logging_.stop()
        operations.removeHandler(handler)
        operations.setLevel(before)
    assert [record.getMessage().split()[0] for record in handler.told] == ["add"]


def test_a_level_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="log level"):
        observe.log("loud")
