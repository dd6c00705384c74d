"""The image: what its Dockerfile does, without an engine."""

import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import release

ROOT = Path(__file__).parents[2]
LONGEST = 60.0


def test_the_image_serves_what_is_built_of_the_files_it_is_sent(tmp_path: Path):
    dockerfile = (ROOT / "Dockerfile").read_text()
    [extras] = re.findall(r'"\.(\[[a-z0-9,-]+\])"', dockerfile)
    [order] = re.findall(r"^CMD (\[.+\])$", dockerfile, re.MULTILINE)
    [health] = re.findall(r"^    CMD (\[.+\])$", dockerfile, re.MULTILINE)
    sent, data = tmp_path / "sent", tmp_path / "data"
    sent.mkdir()
    data.mkdir()
    for names in re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile, re.MULTILINE):
        for name in names.split():
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, sent / name)
    folder = release.install(f"{sent}{extras}", tmp_path / "environment").parent
    shutil.rmtree(sent)  # what runs is what was installed
    environment = {"PATH": str(folder)}

    def ask(*command: str) -> None:
        done = subprocess.run(
            [str(folder / command[0]), *command[1:]],
            cwd=data,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    ask("rememo", "keys", "add", "rememo.db", "--name", "app")
    with subprocess.Popen(
        [folder / "rememo", *json.loads(order), "--port", "0"],
        cwd=data, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        watchdog = threading.Timer(LONGEST, server.kill)
        watchdog.start()
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            match = re.search(r":(\d+)$", line.strip())
            assert match is not None, line
            ask(*(line.replace("8765", match[1]) for line in json.loads(health)))
        finally:
            watchdog.cancel()
            server.terminate()
        _, output = server.communicate()
        assert server.returncode == 0, output
