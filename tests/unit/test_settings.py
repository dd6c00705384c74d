"""Settings: where they come from, which wins, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from rememo import Memory, Settings
from rememo.errors import InvalidInput
from rememo.settings import PRIVATE


def toml(folder: Path, text: str) -> Path:
    path = folder / "rememo.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_need_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert Settings.load(environ={}) == Settings()


@pytest.mark.requirement("settings.env")
def test_arguments_win_over_environment_over_file_over_defaults(tmp_path: Path):
    path = toml(tmp_path, 'max_depth = 3\nmax_text_bytes = 300\nlanguage = "german"\nbusy_timeout = 3\n')
    environ = {"REMEMO_MAX_DEPTH": "4", "REMEMO_MAX_TEXT_BYTES": "400"}
    settings = Settings.load(file=path, environ=environ, max_depth=5)
    assert (settings.max_depth, settings.max_text_bytes, settings.language) == (5, 400, "german")
    assert settings.busy_timeout == 3.0
    assert settings.max_metadata_bytes == Settings().max_metadata_bytes


@pytest.mark.requirement("settings.env")
def test_the_file_of_the_working_directory_and_the_process_environment_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    toml(tmp_path, "max_depth = 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMEMO_DURABILITY", "fast")
    settings = Settings.load()
    assert (settings.max_depth, settings.durability) == (3, "fast")


@pytest.mark.requirement("settings.env")
def test_a_memory_opens_with_the_settings_of_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMEMO_MAX_TEXT_BYTES", "5")
    with Memory(":memory:", embedder=None) as memory, pytest.raises(InvalidInput, match="text is 6 bytes"):
        memory.add("123456")
    with Memory(":memory:", embedder=None, settings=Settings()) as memory:
        memory.add("123456")


def test_the_environment_is_read_when_asked_and_not_at_import(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REMEMO_MAX_DEPTH", "7")
    assert Settings.load().max_depth == 7
    monkeypatch.setenv("REMEMO_MAX_DEPTH", "8")
    assert Settings.load().max_depth == 8


def test_an_unknown_name_is_an_error_that_lists_the_names(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"no setting 'durabilty' .*rememo\.toml.*durability"):
        Settings.load(file=toml(tmp_path, 'durabilty = "fast"'), environ={})
    with pytest.raises(InvalidInput, match="no setting 'colour'"):
        Settings.load(environ={}, colour="red")


def test_variables_of_other_programs_are_left_alone():
    assert Settings.load(environ={"PATH": "/bin", "max_depth": "99", "XREMEMO_MAX_DEPTH": "9"}).max_depth == 16


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("REMEMO_MAX_DEPTH", "deep"),
        ("REMEMO_MAX_DEPTH", "1.5"),
        ("REMEMO_MAX_DEPTH", ""),
        ("REMEMO_MAX_DEPTH", "0"),
        ("REMEMO_BUSY_TIMEOUT", "soon"),
        ("REMEMO_BUSY_TIMEOUT", "nan"),
        ("REMEMO_BUSY_TIMEOUT", "-1"),
        ("REMEMO_DURABILITY", "maybe"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named(variable: str, text: str):
    with pytest.raises(InvalidInput, match=f"(?i){variable}|{variable.removeprefix('REMEMO_')}"):
        Settings.load(environ={variable: text})


@pytest.mark.parametrize(
    "line",
    ['max_depth = "3"', "max_depth = true", "max_depth = 1.5", "max_depth = []", "language = 3", "durability = 'x'"],
)
def test_a_value_of_another_type_in_the_file_is_named(tmp_path: Path, line: str):
    with pytest.raises(InvalidInput, match=line.split(maxsplit=1)[0]):
        Settings.load(file=toml(tmp_path, line), environ={})


@pytest.mark.parametrize(
    "values", [{"max_depth": "3"}, {"busy_timeout": None}, {"max_text_bytes": -1}, {"key_days": "x"}]
)
def test_a_value_of_another_type_given_directly_is_named(values: dict[str, Any]):
    with pytest.raises(InvalidInput, match=next(iter(values))):
        Settings(**values)
    with pytest.raises(InvalidInput, match=next(iter(values))):
        Settings().but(**values)


def test_a_file_that_was_asked_for_must_be_there_and_be_toml(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"missing\.toml cannot be read"):
        Settings.load(file=tmp_path / "missing.toml", environ={})
    with pytest.raises(InvalidInput, match="is not TOML"):
        Settings.load(file=toml(tmp_path, "max_depth ="), environ={})
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not TOML"):
        Settings.load(file=tmp_path / "bytes.toml", environ={})


def test_what_may_hold_a_password_is_not_shown():
    word = "a-word-nobody-may-see"
    held: dict[str, Any] = dict.fromkeys(PRIVATE, word) | {"archive": f"s3://b?secret_access_key={word}"}
    assert word not in repr(Settings(**held, llm_model="m"))


def test_settings_do_not_change_but_copies_do():
    settings = Settings()
    assert settings.but(max_depth=3).max_depth == 3
    assert settings.max_depth == 16
