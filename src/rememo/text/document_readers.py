"""Readers of HTML, PDF and DOCX: bytes to text with Markdown's headings.

Also a program of its own, for files that nobody vouches for: the kind and the limits as its argument, the file on its
standard input, the text as JSON on its output. It limits its own memory and time first, so it imports nothing of ours.
"""

import contextlib
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from html import unescape
from importlib import import_module
from typing import Any, cast

_SPACES = re.compile(r"[ \t\r\n\f\v]+")
_MANY_LINES = re.compile(r"\n{3,}")
_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre",
        "section", "summary", "table", "tbody", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6", "caption",
    }
)  # fmt: skip
_MARKUP = re.compile(r"<!--|<(?P<slash>/?)(?P<name>[A-Za-z][^ \t\r\n\f/>]*)|<[!?]|</(?=[^A-Za-z])")
_COMMENT_END = re.compile(r"--!?>")
_VALUE = re.compile(r"""=[ \t\r\n\f]*(?:(?P<quote>["'])|[^ \t\r\n\f>]*)""")
_RAW = {name: re.compile(rf"</{name}(?=[ \t\r\n\f/>])", re.IGNORECASE) for name in ("script", "style")}
"""What these hold is no markup, up to their own end."""
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")
"""Numbers of no character, some of them too long to be read as numbers."""
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_MOST_ENTRIES = 5_000
_DOCX_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_DEEPEST = 6
_LONGEST_TITLE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """How much of a machine one document may take."""

    bytes: int = 64_000_000
    """The largest file."""
    unpacked_bytes: int = 128_000_000
    """The largest DOCX once it is unpacked."""
    pages: int = 5_000
    """The most pages of a PDF."""
    characters: int = 4_000_000
    """The longest text, about 700,000 words."""
    chunks: int = 10_000
    """The most chunks of one document."""
    seconds: float = 60.0
    """How long reading may take."""
    memory: int = 1_073_741_824
    """The bytes of address space that a reader may use, where the system can limit that."""


class UnreadableDocument(Exception):
    """A file that cannot be read; the message goes on from the file's name."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What a reader made of a file."""

    text: str
    title: str | None = None


def read_html(source: str, limits: DocumentLimits) -> DocumentText:
    """Return what a page says, without markup, scripts and styles."""
    parser = _HtmlText()
    parser.feed(source)
    text = _MANY_LINES.sub("\n\n", "".join(parser.blocks())).strip()
    title = _SPACES.sub(" ", "".join(parser.title)).strip()[:_LONGEST_TITLE]
    return DocumentText(_within([text], limits), _clean(title) or None)


def read_pdf(data: bytes, limits: DocumentLimits) -> DocumentText:
    """Return the text of a PDF's pages, with an empty line between them."""
    reader: Any = import_module("pypdf").PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        raise UnreadableDocument("is encrypted; save a copy without a password and add that")
    pages = len(reader.pages)
    if pages > limits.pages:
        raise UnreadableDocument(f"has {pages:,} pages, more than the {limits.pages:,} allowed; split it into parts")
    return DocumentText(_within((str(page.extract_text()).strip() for page in reader.pages), limits))


def read_docx(data: bytes, limits: DocumentLimits) -> DocumentText:
    """Return the paragraphs and tables of a DOCX; its heading styles become Markdown's headings."""
    _check_zip(data, limits)
    document: Any = import_module("docx").Document(io.BytesIO(data))
    return DocumentText(_within(_docx_blocks(document), limits))


def _within(blocks: Iterator[str] | list[str], limits: DocumentLimits) -> str:
    """Join blocks of text, cleaned of what no store can keep; too much of it is refused as soon as it is seen."""
    parts: list[str] = []
    length = 0
    for block in blocks:
        if not block.strip():
            continue
        parts.append(block)
        length += len(block) + 2
        if length - 2 > limits.characters:
            raise UnreadableDocument(f"has more than the {limits.characters:,} characters allowed; split it into parts")
    return _clean("\n\n".join(parts))


def _clean(text: str) -> str:
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _check_zip(data: bytes, limits: DocumentLimits) -> None:
    # A declared size is never exceeded in unpacking, so their sum is the true bound.
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    names = {entry.filename for entry in entries}
    if "[Content_Types].xml" not in names or not any(name.startswith("word/") for name in names):
        raise UnreadableDocument("is a ZIP archive and no DOCX; unpack it and add the files inside")
    if len(entries) > _MOST_ENTRIES:
        raise UnreadableDocument(f"has {len(entries):,} parts, more than the {_MOST_ENTRIES:,} allowed")
    if any(entry.flag_bits & 1 for entry in entries):
        raise UnreadableDocument("is encrypted; save a copy without a password and add that")
    size = sum(entry.file_size for entry in entries)
    if size > limits.unpacked_bytes:
        raise UnreadableDocument(
            f"unpacks to {size:,} bytes, more than the {limits.unpacked_bytes:,} allowed; is it a ZIP bomb?"
        )


def _docx_blocks(document: Any) -> Iterator[str]:
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            yield "\n".join(_docx_row(row) for row in block.rows)
        elif block.text.strip():
            name = str(getattr(block.style, "name", "") or "")
            level = _DOCX_HEADING.match(name)
            if level or name.lower() == "title":
                depth = int(level[1]) if level else 1
                yield f"{'#' * min(max(depth, 1), _DEEPEST)} {' '.join(block.text.split())}"
            else:
                yield f"- {block.text}" if name.lower().startswith("list") else block.text


def _docx_row(row: Any) -> str:
    seen: list[Any] = []
    for cell in row.cells:  # a merged cell comes once for each place it takes
        if not seen or seen[-1]._tc is not cell._tc:  # noqa: SLF001 - the library has no other way to tell
            seen.append(cell)
    return " | ".join(" ".join(cell.text.split()) for cell in seen)


class _HtmlText:
    """Gathers the text of a page block by block.

    It takes HTML apart as browsers do, in time that grows with its length, whatever is left open or odd in it: the standard
    library's parser looks again and again for ends that are not there.
    """

    def __init__(self) -> None:
        self.title: list[str] = []
        self._missing: dict[str, int] = {}
        self._done: list[str] = []
        self._line: list[str] = []
        self._opening = ""
        self._silent: str | None = None
        self._depth = 0
        self._in_title = False
        self._in_pre = False

    def feed(self, source: str) -> None:
        """Read a whole page."""
        place = 0
        while place < len(source):
            begins = _MARKUP.search(source, place)
            words = source[place : len(source) if begins is None else begins.start()]
            if words:
                self._add_text(_unescaped(words))
            place = len(source) if begins is None else self._markup(source, begins)

    def _markup(self, source: str, begins: "re.Match[str]") -> int:
        """Read what begins with a bracket, and return where it ends."""
        if begins[0] == "<!--":
            # From its own dashes on: as in browsers, a comment may end at once.
            ends = _COMMENT_END.search(source, begins.end() - 2)
            return len(source) if ends is None else ends.end()
        close = self._find(source, ">", begins.end()) if begins["name"] is None else self._tag_end(source, begins.end())
        if close < 0:
            # No bracket closes any more, so the rest is words.
            self._add_text(_unescaped(source[begins.start() :]))
            return len(source)
        if begins["name"] is not None:
            name = begins["name"].lower()
            if begins["slash"]:
                self._end_element(name)
            else:
                self._begin_element(name)
                if name in _RAW:
                    ends = _RAW[name].search(source, close)
                    return len(source) if ends is None else ends.start()
        return close + 1

    def _tag_end(self, source: str, place: int) -> int:
        """Return where the bracket of a tag closes; one inside a value in quotes does not count. -1 when none does."""
        close = self._find(source, ">", place)
        while close >= 0:
            if close < place:  # it stood inside a value
                close = self._find(source, ">", place)
            equals = source.find("=", place, max(close, place))
            if equals < 0:
                return close
            value = cast("re.Match[str]", _VALUE.match(source, equals))
            place = value.end()
            if value["quote"]:
                ends = self._find(source, value["quote"], place)
                place = place if ends < 0 else ends + 1
        return close

    def _find(self, source: str, mark: str, place: int) -> int:
        """Return where a mark stands next; where there is none any more it is not looked for twice."""
        if place >= self._missing.get(mark, len(source)):
            return -1
        next_place = source.find(mark, place)
        if next_place < 0:
            self._missing[mark] = place
        return next_place

    def blocks(self) -> list[str]:
        """Return the text so far."""
        self._end_block()
        return self._done

    def _begin_element(self, tag: str) -> None:
        if self._silent is not None:
            self._depth += tag == self._silent
        elif tag in _SILENT:
            self._silent, self._depth = tag, 1
        elif tag == "title":
            self._in_title = True
        elif tag == "br":
            self._line.append("\n" if self._in_pre else "\v")
        elif tag in {"td", "th"}:
            if self._line:
                self._line.append(" | ")
        elif tag in _BLOCKS:
            self._end_block(tight=tag in {"li", "tr"})
            self._in_title = False
            self._in_pre = tag == "pre" or (self._in_pre and tag not in _HEADINGS)
            if tag in _HEADINGS:
                self._opening = "#" * int(tag[1]) + " "
            elif tag == "li":
                self._opening = "- "

    def _end_element(self, tag: str) -> None:
        if self._silent is not None:
            self._depth -= tag == self._silent
            if self._depth <= 0:
                self._silent = None
        elif tag in {"title", "head"}:
            self._in_title = False
        elif tag in _BLOCKS:
            self._end_block(tight=tag in {"li", "tr"})
            if tag == "pre":
                self._in_pre = False

    def _add_text(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif self._silent is None:
            self._line.append(data if self._in_pre else _SPACES.sub(" ", data))

    def _end_block(self, *, tight: bool = False) -> None:
        text = "".join(self._line)
        if self._in_pre:
            text = text.strip("\n")
        else:
            text = "\n".join(" ".join(line.split(" ")).strip() for line in re.sub(r" {2,}", " ", text).split("\v"))
            text = text.strip()
        self._line.clear()
        if text.strip():
            if self._opening.startswith("#"):
                text = text.replace("\n", " ")
            self._done.append(self._opening + text)
            self._done.append("\n" if tight else "\n\n")
        elif self._done and not tight:
            self._done.append("\n\n")
        if text.strip() or not tight:
            self._opening = ""


def _unescaped(text: str) -> str:
    return unescape(_NO_CHARACTER.sub("\ufffd", text)) if "&" in text else text


READERS: dict[str, Callable[[bytes, DocumentLimits], DocumentText]] = {
    "pdf": read_pdf,
    "docx": read_docx,
    "html": lambda data, limits: read_html(data.decode(), limits),
}


def _limit(limits: DocumentLimits) -> None:
    try:
        resource = import_module("resource")
    except ImportError:  # no such limits on this system; the parent's clock still runs
        return
    seconds = int(limits.seconds) + 2
    for name, value in (("AS", limits.memory), ("CPU", seconds), ("FSIZE", 0), ("CORE", 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def main(argument: str) -> dict[str, Any]:
    """Read standard input as the argument says; returns what goes to standard output."""
    request = json.loads(argument)
    limits = DocumentLimits(**request["limits"])
    _limit(limits)
    try:
        return asdict(READERS[request["kind"]](sys.stdin.buffer.read(), limits))
    except UnreadableDocument as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"refused": f"needs more than the {limits.memory:,} bytes of memory allowed; split it into parts"}
    except Exception as error:  # noqa: BLE001 - a damaged file may raise anything in a reader
        return {"refused": f"is damaged or no {request['kind'].upper()} ({type(error).__name__}: {str(error)[:200]})"}


if __name__ == "__main__":
    # The readers' own complaints about a file must not get between the lines of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        answer = main(sys.argv[1])
    sys.stdout.buffer.write(json.dumps(answer).encode())
