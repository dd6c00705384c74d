"""A support desk with a memory type of its own: `python support_case.py [FILE]`.

A case is a workbench (messages, tool calls, to-dos) with fields and rules of its own. It is in the file as soon as it changes,
so that a colleague at another desk sees it at once. Lines: `open CASE CUSTOMER CATEGORY`, `say TEXT`, `look PARCEL`,
`escalate WHY`, `resolve STARS HOW`, `status`.
"""

import sys
from typing import Literal

from rememo import Memory, Working
from rememo.errors import InvalidInput

PARCELS = {"P-7": "Lisbon"}


class SupportCase(Working):
    """Everything about one case."""

    customer: str = ""
    category: str = ""
    status: Literal["open", "resolved"] = "open"
    level: int = 1
    stars: int | None = None
    notes: list[str] = []  # noqa: RUF012 - a declared field: each case has its own

    def note(self, text: str) -> None:
        """Write something down."""
        self.change("notes", lambda notes: [*notes, text])

    def escalate(self, why: str) -> None:
        """Let somebody higher see to it."""
        level = self.change("level", lambda level: level + 1)
        self.note(f"level {level}: {why}")

    def resolve(self, stars: int, how: str) -> None:
        """Close the case."""
        if self.status == "resolved":
            raise InvalidInput("the case is resolved already")
        self.status, self.stars = "resolved", stars
        self.note(f"resolved: {how}")

    def look(self, parcel: str) -> str:
        """Ask where a parcel is; the call and what came of it are noted."""
        with self.tool("track", {"parcel": parcel}) as call:
            call.result = PARCELS[parcel]
        return PARCELS[parcel]

    def summary(self) -> str:
        """Return the case in a line."""
        rate = self.actions.success_rate("track")
        return (
            f"{self.customer}, {self.category}: {self.status}, level {self.level}, stars {self.stars},"
            f" {len(self.messages.history())} messages, tools {rate}, notes {self.notes}"
        )


def main() -> None:
    """Do what the lines of the input say."""
    with Memory(sys.argv[1] if len(sys.argv) > 1 else "support_case.db") as memory:
        case = SupportCase(memory.scope(room="case-0"))
        for line in map(str.strip, sys.stdin):
            command, _, rest = line.partition(" ")
            try:
                match command:
                    case "open":
                        number, customer, category = rest.split()
                        case = SupportCase(memory.scope(room=f"case-{number}"))
                        case.customer, case.category = customer, category
                    case "say":
                        case.messages.add("user", rest)
                    case "look":
                        print(f"The parcel is in {case.look(rest)}.")
                    case "escalate":
                        case.escalate(rest)
                    case "resolve":
                        stars, _, how = rest.partition(" ")
                        case.resolve(int(stars), how)
                    case "status":
                        print(case.summary())
                    case _:
                        print(f"there is no command {command!r}")
            except InvalidInput as error:
                print(f"no: {error}")
            except KeyError as error:
                print(f"no parcel {error}")


if __name__ == "__main__":
    main()
