"""Demo data: a short conversation between Ana and her helper."""

from datetime import timedelta
from typing import Final

from rememo.engine.view import view_of
from rememo.memory import Memory
from rememo.model.receipt import Receipt

MESSAGES: Final = (
    (0, "user", "Good morning! I live in Lisbon and I work at the city hospital."),
    (0, "assistant", "Nice to meet you, Ana. How do you like Lisbon?"),
    (0, "user", "I love it, above all the trams. My cat is called Miso. My favourite colour is green."),
    (12, "user", "I booked the ferry to the Azores for the second week of July."),
    (12, "assistant", "Shall I remind you to find somebody for Miso?"),
    (12, "user", "Yes please, my brother Rui can probably feed her. My sister Eva works at CERN."),
    (40, "user", "The migration of our ward to the new software was a disaster, we lost a whole day."),
)
"""The day, who spoke, and what was said."""
MOVE: Final = "Good news: I moved to Porto yesterday!"
HANDBOOK: Final = """# The cat's handbook

## Food
Miso eats twice a day, at eight and at six. The dry food is in the blue tin above the fridge.

## Health
Her vet is Dr. Lima in Rua da Prata. She takes half a tablet for her kidneys with the evening meal.
"""
_LABELS: Final = {"agent": "helper", "user": "ana", "room": "demo"}
_DAYS: Final = 90
_MOVED: Final = 75


def load_demo(memory: Memory, *, ask: bool) -> Memory:
    """Load the demo's conversation, ending today, wait until facts are extracted, and return its view.

    With `ask`, a conflict is left for a person to resolve; that is a policy of the whole tenant.
    """
    free = {name: value for name, value in _LABELS.items() if getattr(memory.bound, name) is None}
    chat = memory.scope(**free)
    begin = view_of(memory).engine.now() - timedelta(days=_DAYS)
    messages = [*MESSAGES, (_MOVED, "user", MOVE)]
    if ask:
        chat.facts.policy("favourite_colour", "ask")
        messages.append((_MOVED, "user", "My favourite colour is blue."))
    receipt: Receipt | None = None
    for minute, (day, role, text) in enumerate(messages):
        receipt = chat.messages.add(role, text, at=begin + timedelta(days=day, minutes=2 * minute))
        receipt.wait()
    chat.documents.add(title="The cat's handbook", text=HANDBOOK, media_type="text/markdown")
    return chat
