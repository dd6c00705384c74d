"""Documents from files: every format, files that lie, and files that want to take the machine down."""

import io
import os
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import docx
import pytest

from rememo import Memory
from rememo.collections.documents import Documents
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, MissingExtra
from rememo.text import documents as files
from rememo.text.document_readers import DocumentLimits

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PAGE = b"""<!DOCTYPE html><html><head><title>Opening  hours</title><style>p {color: red}</style>
<script>alert("no")</script></head><body><nav>Home</nav><h1>Hours &amp; prices</h1>
<p>We open at <b>nine</b><br>and close at five.</p><h2>Prices</h2><ul><li>Tea</li><li>Cake</li></ul>
<table><tr><th>Item</th><th>Euro</th></tr><tr><td>Tea</td><td>2</td></tr></table><pre>a
  b</pre></body></html>"""
EXPECTED = "Home\n\n# Hours & prices\n\nWe open at nine\nand close at five.\n\n## Prices\n\n- Tea\n- Cake"


def pdf(*pages: str, count: int | None = None, extra: bytes = b"", filtered: bytes | None = None) -> bytes:
    """Write a small PDF by hand."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count or len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        lines = " T* ".join(f"({line}) Tj" for line in text.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET".encode()
        packed = b""
        if filtered is not None:
            stream, packed = filtered, b" /Filter /FlateDecode"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), packed, stream),
        ]
    out, places = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(
        out + b"trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, extra, start)
    )


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Minutes", 1)
    document.add_paragraph("Ana will order the new chairs by Friday.")
    document.add_heading("Costs", 2)
    table = document.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, [("Item", "Euro"), ("Chair", "120")], strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_paragraph("Bo pays.", style="List Bullet")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def zipped(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None) as memory:
        yield memory


@pytest.fixture
def documents(memory: Memory) -> Documents:
    return limited(memory)


def limited(within: Memory, **limits: float) -> Documents:
    return Documents(view_of(within), limits=DocumentLimits(**limits))  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("document.create")
def test_html_is_read_without_markup_and_keeps_its_headings(documents: Documents):
    document = documents.get(documents.add(data=PAGE).id)
    assert (document.title, document.media_type, document.size) == ("Opening hours", "text/html", len(PAGE))
    text = documents.text(document.id)
    assert text.startswith(EXPECTED)
    assert "Item | Euro\nTea | 2" in text
    assert text.endswith("a\n  b")
    assert "alert" not in text


@pytest.mark.requirement("document.create")
def test_large_html_is_read_apart_and_alike(documents: Documents):
    page = PAGE.replace(b"<p>", b"<p>" + b"word " * 20_000 + b"</p><p>")
    text = documents.text(documents.add(data=page).id)
    assert "We open at nine\nand close at five." in text
    assert text.count("word") == 20_000


def test_html_in_the_encoding_it_names(documents: Documents):
    page = '<html><head><meta charset="iso-8859-1"></head><body>Olá, São João</body></html>'
    assert documents.text(documents.add(data=page.encode("latin-1")).id) == "Olá, São João"
    with pytest.raises(InvalidInput, match="punycode"):
        documents.add(data=page.replace("iso-8859-1", "punycode").encode("latin-1"))


@pytest.mark.requirement("document.create")
def test_pdf_is_read_page_by_page(documents: Documents, tmp_path: Path):
    path = tmp_path / "Harbour plan.pdf"
    path.write_bytes(pdf("The harbour will be deepened.", "It costs ninety million euros."))
    document = documents.get(documents.add(path=path, tags=["city"]).id)
    assert (document.title, document.media_type, document.tags) == ("Harbour plan", "application/pdf", ("city",))
    assert document.source == "Harbour plan.pdf"
    assert documents.text(document.id) == "The harbour will be deepened.\n\nIt costs ninety million euros."
    assert documents.search("what does it cost in euros?")[0].document == document


@pytest.mark.requirement("document.create")
def test_docx_is_read_with_headings_and_tables(documents: Documents):
    document = documents.get(documents.add(data=word(), source="minutes.docx").id)
    assert (document.title, document.media_type) == ("Minutes", DOCX)
    assert documents.text(document.id) == (
        "# Minutes\n\nAna will order the new chairs by Friday.\n\n## Costs\n\nItem | Euro\nChair | 120\n\n- Bo pays."
    )


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("notes.txt", b"plain words", "text/plain"),
        ("notes", b"plain words", "text/plain"),
        ("notes.md", b"# Title\n\nwords", "text/markdown"),
        ("part.html", b"<p>words", "text/html"),
        ("notes.txt", PAGE, "text/html"),
        ("no-ending", pdf("words"), "application/pdf"),
        ("wide.txt", "\ufeffwörter".encode("utf-16-le"), "text/plain"),
        ("mark.txt", "\ufeffwörter".encode(), "text/plain"),
    ],
)
def test_the_content_decides_and_then_the_name(
    documents: Documents, tmp_path: Path, name: str, content: bytes, media_type: str
):
    (tmp_path / name).write_bytes(content)
    document = documents.get(documents.add(path=str(tmp_path / name)).id)
    assert document.media_type == media_type
    assert "\ufeff" not in documents.text(document.id)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.pdf", b"", "zero bytes"),
        ("page.pdf", PAGE, "pdf by its name and html by its content"),
        ("text.docx", b"just words", "docx by its name and text by its content"),
        ("report.docx", pdf("x"), "docx by its name and pdf by its content"),
        ("files.docx", zipped(readme=b"x"), "no DOCX"),
        ("torn.docx", word()[:2_000], "damaged"),
        ("torn.pdf", b"%PDF-1.4\n%garbage", "damaged"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "password-protected"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n", "PNG"),
        ("bytes.txt", b"\x00\x01\x02", "NUL"),
        ("latin.txt", "São".encode("latin-1"), "UTF-8"),
        ("scan.pdf", pdf(""), "pictures"),
        ("blank.html", b"<html><body> </body></html>", "no text"),
    ],
)
def test_a_file_that_cannot_be_what_it_says_is_refused_by_name(
    documents: Documents, tmp_path: Path, name: str, content: bytes, says: str
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=says) as caught:
        documents.add(path=tmp_path / name)
    assert name in str(caught.value)
    assert documents.list() == []


def test_an_encrypted_pdf_says_so(documents: Documents):
    from pypdf import PdfReader, PdfWriter  # noqa: PLC0415 - only here

    writer = PdfWriter(PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    with pytest.raises(InvalidInput, match=r"'plan\.pdf' is encrypted"):
        documents.add(data=out.getvalue(), source="plan.pdf")


def test_a_lie_is_settled_by_the_media_type(documents: Documents, tmp_path: Path):
    (tmp_path / "page.pdf").write_bytes(PAGE)
    receipt = documents.add(path=tmp_path / "page.pdf", media_type="text/html; charset=utf-8")
    assert documents.get(receipt.id).media_type == "text/html"
    with pytest.raises(InvalidInput, match="by media_type"):
        documents.add(data=PAGE + b" ", media_type="pdf")


def test_what_is_no_file_is_refused(documents: Documents, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidInput, match="not a file"):
            documents.add(path=path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        documents.add(path=tmp_path / "missing.txt")
    with pytest.raises(InvalidInput, match="cannot be read"):
        documents.add(path="nul\x00.txt")


def test_a_file_beyond_the_limit_is_refused_unread(documents: Documents, tmp_path: Path):
    path = tmp_path / "huge.pdf"
    with path.open("wb") as file:
        file.truncate(10_000_000_000)
    start = time.monotonic()
    with pytest.raises(InvalidInput, match=r"huge\.pdf' has 10,000,000,000 bytes"):
        documents.add(path=path)
    assert time.monotonic() - start < 5


def test_fifty_megabytes_of_pdf_are_a_bounded_run(memory: Memory):
    data = pdf("The only words.") + b"\n%" + b"x" * 50_000_000
    documents = limited(memory, seconds=20)
    start = time.monotonic()
    try:
        assert documents.text(documents.add(data=data).id) == "The only words."
    except InvalidInput as error:
        assert "data" in str(error)  # noqa: PT017 - either outcome is right
    assert time.monotonic() - start < 40


def test_a_zip_bomb_is_refused_before_it_is_unpacked(documents: Documents):
    parts = {"[Content_Types].xml": b"<Types/>", "word/document.xml": b" " * 150_000_000}
    bomb = zipped(**parts)
    assert len(bomb) < 200_000
    with pytest.raises(InvalidInput, match="ZIP bomb"):
        documents.add(data=bomb)


def test_a_docx_that_wants_more_memory_than_there_is(memory: Memory):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word())) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "word/document.xml":
                content = content.replace(b"<w:tcPr>", b'<w:tcPr><w:gridSpan w:val="900000000"/>', 1)
            new.writestr(name, content)
    with pytest.raises(InvalidInput, match=r"memory|time|damaged|seconds"):
        limited(memory, memory=400_000_000, seconds=10).add(data=out.getvalue())


def test_a_pdf_bomb_and_too_many_pages_are_bounded(memory: Memory):
    bomb = zlib.compress(b" " * 300_000_000, 9)
    with pytest.raises(InvalidInput):
        limited(memory, seconds=20).add(data=pdf("x", filtered=bomb))
    with pytest.raises(InvalidInput, match="3 pages, more than the 2"):
        limited(memory, pages=2).add(data=pdf("a", "b", "c"))
    with pytest.raises(InvalidInput, match="more than the 10 characters"):
        limited(memory, characters=10).add(data=pdf("a long line of words"))


@pytest.mark.parametrize(
    "kids",
    [b"4 0 R " * 1_000_000, b"2 0 R " * 10, b"[" * 100_000, b"<< /Type /Pages /Kids [" * 5_000],
    ids=["a million pages", "pages of themselves", "nested lists", "nested pages"],
)
def test_a_pdf_with_an_absurd_tree_is_bounded(memory: Memory, kids: bytes):
    data = pdf("words").replace(b"/Kids [4 0 R]", b"/Kids [" + kids + b"]")
    start = time.monotonic()
    with pytest.raises(InvalidInput):
        limited(memory, seconds=8).add(data=data)
    assert time.monotonic() - start < 30
    assert memory.count() == 0


@pytest.mark.parametrize("unit", ["<a b='", "<!--", "</", "<div>", "&#"])
def test_html_made_to_be_slow_is_bounded(memory: Memory, unit: str):
    documents = limited(memory, seconds=3)
    start = time.monotonic()
    for length in (8_000, 400_000):
        try:
            documents.add(data=b"<html>words " + unit.encode() * (length // len(unit)))
        except InvalidInput as error:
            assert "takes more than" in str(error)  # noqa: PT017 - reading it is right too
    assert time.monotonic() - start < 20


def test_a_docx_with_entities_that_multiply_is_bounded(memory: Memory):
    out = io.BytesIO()
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    with zipfile.ZipFile(io.BytesIO(word())) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode("utf-8", "surrogateescape")
            if name == "word/document.xml":
                body = content.split("?>", 1)[-1].replace("Bo pays.", "&e9;")
                content = f"<!DOCTYPE x [{bomb}]>{body}"
            new.writestr(name, content.encode("utf-8", "surrogateescape"))
    documents = limited(memory, seconds=10)
    try:
        assert "lol" not in documents.text(documents.add(data=out.getvalue()).id)
    except InvalidInput as error:
        assert "damaged" in str(error)  # noqa: PT017 - either outcome is right


def test_a_reader_that_takes_too_long_is_stopped(memory: Memory):
    with pytest.raises(InvalidInput, match="takes more than"):
        limited(memory, seconds=0.001).add(data=pdf("x"))


def test_a_missing_library_is_named_with_the_command(documents: Documents, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "find_spec", Mock(return_value=None))
    with pytest.raises(MissingExtra, match=r'pip install "rememo\[documents\]"'):
        documents.add(data=pdf("x"))
