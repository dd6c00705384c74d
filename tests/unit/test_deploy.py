"""The files that put a server into the world are looked at by the tools made for them; no engine needs to run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_dockerfile_is_sound():
    done = run(TOOLS / "hadolint", "Dockerfile")
    assert done.returncode == 0, done.stdout


def test_the_image_runs_without_rights_and_looks_after_its_health():
    said = (ROOT / "Dockerfile").read_text()
    last = said[said.rindex("FROM ") :]
    assert re.search(r"^USER \d+$", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert "/readyz" in last


def test_the_image_is_built_from_what_is_sent_to_the_builder():
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")}
    said = (ROOT / "Dockerfile").read_text()
    copied = {name for line in re.findall(r"^COPY (?!--)(.+) \S+$", said, re.MULTILINE) for name in line.split()}
    assert copied == sent
    assert all((ROOT / name).exists() for name in sent)


def test_the_image_installs_extras_that_there_are():
    (extras,) = re.findall(r'"\.\[([a-z0-9,-]+)\]"', (ROOT / "Dockerfile").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert all(re.search(rf"^{name} = \[", project, re.MULTILINE) for name in extras.split(","))


def test_compose_says_what_compose_understands():
    done = run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_compose_holds_no_password_and_opens_nothing_to_the_world():
    text = (ROOT / "compose.yaml").read_text()
    services = yaml.safe_load(text)["services"]
    assert {"rememo", "worker", "migrate", "postgres", "redis"} == set(services)
    assert [port for service in services.values() for port in service.get("ports", ())] == ["127.0.0.1:8765:8765"]
    assert all(value.startswith("${") for value in re.findall(r"PASSWORD: (\S+)", text))
    for name in ("rememo", "worker"):
        environment = services[name]["environment"]
        assert environment["REMEMO_URL"].startswith("postgresql://rememo:${REMEMO_PASSWORD")
        assert environment["REMEMO_KV"].startswith("redis://:${REDIS_PASSWORD")
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert all(
        {"cpus", "memory", "pids"} == set(service["deploy"]["resources"]["limits"]) for service in services.values()
    )


def test_the_unit_is_sound():
    done = run(TOOLS / "systemdlint", "deploy/rememo.service")
    found = set(re.findall(r"\[([A-Za-z.]+)\]", done.stdout))
    # The program is not installed here; nothing is delegated; and 0077 is taken for a number without its base.
    assert found <= {"ExecNotFound", "Security.Delegate", "Security.UMaskOW"}, done.stdout


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "deploy/rememo.service", "deploy/grafana.json"])
def test_the_guide_names_every_file(name: str):
    assert name in (ROOT / "docs" / "deploy.md").read_text()
