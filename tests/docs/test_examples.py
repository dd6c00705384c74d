"""The examples, run as their readers run them: what is typed, what they say, and what they know after a restart."""

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PIXEL = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAA=")


def run(tmp_path: Path, name: str, *lines: str, arguments: tuple[str, ...] = ()) -> list[str]:
    """Run an example on one file with what is typed; returns the lines it said."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), str(tmp_path / "memory.db"), *arguments]
    said = subprocess.run(
        command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()


def test_every_example_is_listed_and_tested():
    listed = (EXAMPLES / "README.md").read_text()
    tested = Path(__file__).read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f"({path.name})" in listed
        assert f'"{path.stem}"' in tested or f'"{path.name}"' in tested


@pytest.mark.parametrize("path", sorted((EXAMPLES / "coming_from").glob("*.py")), ids=lambda path: path.stem)
def test_the_calls_beside_those_of_others_run(path: Path, tmp_path: Path):
    assert f"(coming_from/{path.name})" in (EXAMPLES / "README.md").read_text()
    command = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_chat_bot_knows_you_in_the_next_conversation(tmp_path: Path):
    first = run(tmp_path, "chat_bot", "I moved to Lisbon in May.", "My cat is called Miso.", arguments=("ana",))
    assert first[0].startswith("Hello ana! I know 0 things about you.")
    assert first[1:] == ["Noted.", "Noted."]
    second = run(
        tmp_path, "chat_bot", "Where do I live?", "/facts", "/prompt What is my cat called?", arguments=("ana",)
    )
    assert not second[0].startswith("Hello ana! I know 0 things")
    assert "Lisbon" in second[1]
    assert "- ana lives_in Lisbon" in second
    assert any("Miso" in line for line in second)
    assert second[-1] == "What is my cat called?"
    assert run(tmp_path, "chat_bot", "Where do I live?", arguments=("bob",))[1] == "You have not told me."


def test_a_base_agent_has_its_history_and_is_reset(tmp_path: Path):
    (tmp_path / "cat.gif").write_bytes(PIXEL)
    assert run(tmp_path, "base_agent", "Hello", "/image cat.gif What is this?") == [
        "0 before this one: Hello",
        "1 before this one: What is this? (with an image)",
    ]
    assert run(tmp_path, "base_agent", "Again", "/reset", "Anew") == [
        "2 before this one: Again",
        "forgot 6 records",
        "0 before this one: Anew",
    ]


def test_a_memory_store_has_the_shape_that_frameworks_expect(tmp_path: Path):
    said = run(
        tmp_path, "memory_store", "My name is Alice", "I like tea", "/history 1", "/window 4000", "/search who am I, by name?",
        "/limit 1", "/history 5",
    )  # fmt: skip
    assert said == [
        "added: []",
        "added: []",
        "/history: ['I like tea']",
        "/window: ['My name is Alice', 'I like tea']",
        "/search: ['My name is Alice']",
        "/limit: []",
        "/history: ['I like tea']",
    ]
    assert run(tmp_path, "memory_store", "/history 5", "/clear", "/history 5") == [
        "/history: ['I like tea']",
        "/clear: []",
        "/history: []",
    ]


def test_agents_share_a_room_and_a_pool_but_not_their_notes(tmp_path: Path):
    said = run(
        tmp_path, "agents_room", "Ana: We need a venue.", "Bob: We need a venue.", "Ana: Decided: the party is on Friday",
        "/notes", "/room kitchen", "Eve: When is the party?",
    )  # fmt: skip
    assert said == [
        "planner: I put it on the list: a venue. That makes 1.",
        "planner: I put it on the list: a venue. That makes 2.",
        "critic: Ana has said that before.",
        "scribe: I wrote that down for the team.",
        "planner alone knows: ['asked for: a venue', 'asked for: a venue']",
        "scribe alone knows: []",
        "scribe: We decided: the party is on Friday",
    ]


def test_an_onboarding_goes_on_after_a_restart(tmp_path: Path):
    assert run(tmp_path, "onboarding", "Ana", "twelve", arguments=("ana",))[:3] == [
        "Welcome, ana!",
        "[1/4] What is your name?",
        "[2/4] How old are you?",
    ]
    command = [sys.executable, "-u", str(EXAMPLES / "onboarding.py"), str(tmp_path / "memory.db"), "ana"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "Welcome back, ana!\n"
        assert process.stdout.readline() == "[2/4] How old are you?\n"
        process.stdin.write("30\n")
        process.stdin.flush()
        assert process.stdout.readline() == "[3/4] Where do you live?\n"
        process.kill()
    assert run(tmp_path, "onboarding", "/pause", arguments=("ana",))[-1] == "Paused. Nothing is lost."
    assert run(tmp_path, "onboarding", "Lisbon", arguments=("ana",)) == [
        "Welcome back, ana!",
        "[3/4] Where do you live?",
        "Thank you! I know now: {'name': 'Ana', 'age': 30, 'city': 'Lisbon'}",
    ]


def test_a_support_case_is_seen_at_every_desk(tmp_path: Path):
    said = run(
        tmp_path, "support_case", "open 7 alice late", "say My parcel is late.", "look P-7", "look P-8",
        "escalate no answer for a week",
    )  # fmt: skip
    assert said == ["The parcel is in Lisbon.", "no parcel 'P-8'"]
    said = run(
        tmp_path, "support_case", "open 7 alice late", "resolve 5 found in Lisbon", "resolve 1 x", "status", "fly"
    )
    assert said == [
        "no: the case is resolved already",
        "alice, late: resolved, level 2, stars 5, 1 messages, tools 0.5, notes ['level 2: no answer for a week', 'resolved: found in Lisbon']",
        "there is no command 'fly'",
    ]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[httpx.Client]:
    command = [sys.executable, str(EXAMPLES / "image_agent.py"), str(tmp_path / "memory.db"), "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "running on" in line:
                    with httpx.Client(base_url=line.split("running on ")[1].split()[0], timeout=30) as client:
                        yield client
                    break
        finally:
            process.terminate()


def test_a_service_remembers_images_and_is_reset(service: httpx.Client):
    image = base64.b64encode(PIXEL).decode()
    first = service.post("/chat", json={"user": "ana", "message": "What is this?", "image": image}).json()
    assert first == {"reply": "I see 2 messages, 1 with images."}
    second = service.post("/chat", json={"user": "ana", "message": "And now?"}).json()
    assert second == {"reply": "I see 4 messages, 1 with images."}
    turns = service.get("/history", params={"user": "ana"}).json()
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user", "assistant"]
    assert turns[0]["images"][0].startswith("data:image/gif;base64,")
    assert service.get("/history", params={"user": "bob"}).json() == []
    assert service.post("/chat", json={"user": "ana", "message": "x", "image": "aGVsbG8="}).status_code == 422
    assert service.post("/reset", params={"user": "ana"}).json() == {"ended": 4}
    assert service.get("/history", params={"user": "ana"}).json() == []
