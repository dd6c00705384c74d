"""Reasons for skipping that several import sources share."""

from typing import Final

ABANDONED: Final = "a message beside the path that is shown: edited, or asked for again"
HIDDEN: Final = "a message that is hidden from the person"
EMPTY: Final = "a message without words"
REASONING: Final = "a step of reasoning"
UNREADABLE: Final = "an entry that is no conversation"
NOT_TEXT: Final = "a part that is no text: {}"
NO_FILE: Final = "a file that is not in the export, or is no text"
UNREAD_FILE: Final = "a file beside the conversations, which is not read"
