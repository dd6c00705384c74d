"""An onboarding of several steps that survives a restart: `python onboarding.py [FILE] [USER]`.

Each answer is checked and kept at once. Stop it anywhere (Ctrl-C, a crash, tomorrow) and start it again: it goes on where it
was. `/pause` rests it, `/restart` begins anew.
"""

import sys
from typing import Annotated, Final

from pydantic import Field

from rememo import Memory
from rememo.errors import InvalidInput
from rememo.working.flows import Flow

QUESTIONS: Final = {
    "name": "What is your name?",
    "age": "How old are you?",
    "city": "Where do you live?",
}
CHECKS: Final = {"name": Annotated[str, Field(min_length=2)], "age": Annotated[int, Field(ge=13, le=120)], "city": str}


def ask(flow: Flow, user: str) -> None:
    """Ask for what the present step wants."""
    state = flow.get(user)
    if state is not None and state.step in QUESTIONS:
        step, of = flow.progress(user)
        print(f"[{step}/{of}] {QUESTIONS[state.step]}")


def take(flow: Flow, user: str, text: str) -> bool:
    """Take an answer; True when that was the last one."""
    state = flow.get(user)
    if state is None:
        return False
    try:
        flow.advance(user, data={state.step: int(text) if text.isdigit() else text})
    except InvalidInput as error:
        print(f"That cannot be: {error}")
    state = flow.get(user)
    return state is not None and state.step == "done"


def main() -> None:
    """Ask until everything is known or the input ends."""
    file = sys.argv[1] if len(sys.argv) > 1 else "onboarding.db"
    user = sys.argv[2] if len(sys.argv) > 2 else "me"  # noqa: PLR2004
    with Memory(file) as memory:
        flow = memory.flow("onboarding", steps=[*QUESTIONS, "done"], ttl="7d", models=CHECKS)
        state = flow.get(user)
        if state is None:
            flow.start(user)
            print(f"Welcome, {user}!")
        else:
            print(f"Welcome back, {user}!")
            if state.paused:
                flow.resume(user)
        ask(flow, user)
        for text in map(str.strip, sys.stdin):
            if text == "/pause":
                flow.pause(user)
                print("Paused. Nothing is lost.")
                return
            if text == "/restart":
                flow.clear(user)
                flow.start(user)
            elif take(flow, user, text):
                state = flow.get(user)
                known = memory.profiles.update(user, **(state.data if state else {}))
                flow.clear(user)
                print(f"Thank you! I know now: {known.fields}")
                return
            ask(flow, user)


if __name__ == "__main__":
    main()
