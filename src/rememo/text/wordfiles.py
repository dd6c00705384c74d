"""Where the word vectors and their vocabulary stand on the disk.

They are those of the `wordllama` package, under its licence. The wheel carries the two files, so that none of what
else that package needs is installed with Rememo; in a checkout they are found in the package itself.
"""

from importlib.util import find_spec
from pathlib import Path

from rememo.errors import MissingExtra

CARRIED = Path(__file__).parent / "wordllama"


def vectors_file() -> Path:
    """Return the file of token vectors, 256 numbers each."""
    return _folder() / "weights" / "l2_supercat_256.safetensors"


def vocabulary_file() -> Path:
    """Return the file that names the tokens."""
    return _folder() / "tokenizers" / "l2_supercat_tokenizer_config.json"


def _folder() -> Path:
    if CARRIED.is_dir():
        return CARRIED
    spec = find_spec("wordllama")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise MissingExtra(
            "word vectors are in Rememo's wheel, or in a checkout from this package: pip install wordllama"
        )
    return Path(places[0])
