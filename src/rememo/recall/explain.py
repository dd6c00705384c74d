"""What each part of a score says of a hit, in words."""

MEANINGS = {
    "words": "has words of the question",
    "neighbours": "messages beside it have words of the question",
    "meaning": "is near to the question in meaning",
    "answers": "follows a message that asks for it",
    "length": "says little",
    "speaker": "was said by somebody the question means",
    "time": "is from a time the question names",
    "recency": "is recent, and the question asks for the latest",
    "importance": "is marked as more or less important",
    "trust": "comes from a source that is trusted less",
    "unknown": "the question names somebody or something that was never mentioned",
    "person": "is what somebody else says of themselves",
    "asked": "is, or is not, the kind of fact that the question asks for",
}
