# `make serve` to see it run, `make check` after a change, `make test` to see it hold.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv takes a fifth of pip's time. Where only pip knows the index: make serve INSTALL=".venv/bin/python -m pip install"
INSTALL = $(BIN)/uv pip install --python $(BIN)/python
# The processors are busy with tests already: arrays that are multiplied by several threads only wait for each other.
export OPENBLAS_NUM_THREADS ?= 1
QUICK = $(addprefix tests/unit/,model text extract test_public_names.py test_settings.py)

.PHONY: serve check test oldest frameworks models release conformance soak docs lint types imports bench clean quick-types quick-tests

# What serving needs; developers' tools come with the other commands. An installation that was interrupted is begun again.
$(VENV)/.serving: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Rememo needs Python 3.11 or newer; set PYTHON=python3.12 or the like" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(if $(wildcard $@),,--clear) $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check "uv>=0.9"
	$(INSTALL) --editable ".[checkout,mcp,server]"
	@touch $@

$(VENV)/.installed: $(VENV)/.serving
	$(INSTALL) --editable ".[all,dev]"
	@touch $@

serve: $(VENV)/.serving
	$(BIN)/rememo serve

# What the tests need of npm: clients and a conformance runner for the MCP server. Node comes with a Python package.
.node/.installed: tools/node.py $(VENV)/.installed
	$(BIN)/python tools/node.py
	@touch $@

# Clients of others that the tests drive, in environments of their own.
.peers/.installed: tools/peers.py $(VENV)/.installed
	$(BIN)/python tools/peers.py
	@touch $@

# The files that are made from others: the async twins, and the client's remote collections.
generate: $(VENV)/.installed
	$(BIN)/python tools/generate_async.py
	$(BIN)/python tools/generate_client.py

lint: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed
	$(BIN)/basedpyright

imports: $(VENV)/.installed
	$(BIN)/lint-imports

# What to run before a commit: both processors at work, under a minute. The types of the tests are looked at by `make test`.
check: $(VENV)/.installed
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint imports quick-types quick-tests

quick-types: $(VENV)/.installed
	$(BIN)/basedpyright src

quick-tests: $(VENV)/.installed
	$(BIN)/pytest -q -n 0 $(QUICK)

# Before the tests begin, because several of them at once could not install a browser or a server.
test: lint types imports .node/.installed .peers/.installed
	$(BIN)/python tools/browser.py
	$(BIN)/python tools/servers.py
	$(BIN)/pytest -n 3

# The unit tests on the system's Python, which is often an earlier patch release.
oldest: $(VENV)/.installed
	$(BIN)/python tools/oldest.py

# The adapters, beside the frameworks as they are published, in environments of their own.
frameworks: $(VENV)/.installed
	$(BIN)/python tools/frameworks.py

# A real language model, small enough for any machine, behind an endpoint on loopback.
models: $(VENV)/.installed
	$(BIN)/pytest tests/models

# What a wheel holds, weighs and takes to start, in an empty environment.
release: $(VENV)/.installed
	$(BIN)/pytest tests/release

# The conformance suites on a server, a pooler or a cluster of yours: make conformance URL=postgresql://…
conformance: $(VENV)/.installed
	$(BIN)/python tools/conformance.py "$(URL)"

# A memory under load: kills, full disks, restarts, odd clocks. MINUTES=1 is a glimpse.
soak: $(VENV)/.installed
	$(BIN)/python tests/soak/soak.py --minutes $(or $(MINUTES),10)

# The guides and the references made from the code, as a site in build/site.
docs: $(VENV)/.installed
	$(BIN)/python tools/pages.py

bench: $(VENV)/.installed
	$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.messages
	$(BIN)/python -m bench.learn
	$(BIN)/python -m bench.models
	$(BIN)/python -m bench.postgres
	$(BIN)/python -m bench.encryption
	$(BIN)/python -m bench.compose
	$(BIN)/python -m bench.working
	$(BIN)/python -m bench.context
	$(BIN)/python -m bench.audit
	$(BIN)/python -m bench.retention --quick
	$(BIN)/python -m bench.serve --seconds 10
	$(BIN)/python -m bench.mcp
	$(BIN)/python -m bench.dashboard

clean:
	rm -rf $(VENV) screens .node .peers .frameworks .oldest dist build .pytest_cache .ruff_cache .hypothesis
