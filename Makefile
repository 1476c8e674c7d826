# `make demo` and `make test` need nothing but Python 3.11+ and pip.
PYTHON ?= python3
UV := .uv/bin/uv
BIN := .venv/bin
export UV_PROJECT_ENVIRONMENT := .venv
# Keep compiled modules even if the shell disables them: the tests start many short processes.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help install demo results test suite test-all chaos test-vision test-train test-envs test-harbor test-alfworld test-ray test-stores test-install lint docs bench constraints audit sbom clean weights

help:
	@echo 'make demo     install, then watch small trained models find their way in houses and towns'
	@echo 'make results MODEL=openai:gpt-5-mini  the row of a language model in the table of README, its cost, and a card'
	@echo 'make test     lint, types, import contract, tests, documentation snippets'
	@echo 'make chaos    long tests of killed runs, damaged files and overloaded servers, and full sweeps: over an hour'
	@echo 'make test-vision  tests that need torch, in an environment of their own'
	@echo 'make test-train   tests of training, with torch in an environment of its own'
	@echo 'make test-envs    tests with TRL, verifiers, Inspect, OpenEnv, verl, SkyRL, ART and trackers, in environments of their own'
	@echo 'make test-harbor  exported tasks by the validator of Harbor, with Python 3.12: PYTHON312=PATH names it'
	@echo 'make test-alfworld  generated games in the engine of ALFWorld, in an environment of its own'
	@echo 'make test-ray     tests of --engine ray, with Ray in an environment of its own'
	@echo 'make test-stores  tests of run folders in an S3 store, emulated by moto, in an environment of their own'
	@echo 'make test-install every install hint of README, docs and doctor, each in a fresh environment'
	@echo 'make audit    known vulnerabilities of the packages in constraints.txt; make sbom lists these packages'
	@echo 'make weights  check the trained weights in the package'
	@echo 'make bench    speed as ratios against plain reference implementations'
	@echo 'make lint     only ruff, mypy and the import contract'
	@echo 'make install  the environment of these commands, in .venv'
	@echo 'make extra-NAME  adds an extra to .venv, such as extra-mcp or extra-ray (wayword doctor lists them)'

install: .venv/installed

$(UV):
	@echo 'installing into .venv: half a minute, longer on a slow network …'
	@$(PYTHON) -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check uv

.venv/installed: $(UV) pyproject.toml constraints.txt
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	@echo 'installing the packages of constraints.txt …'
	@$(UV) pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[local]' --group dev
	@touch $@

# An extra of pyproject.toml, such as `make extra-mcp`; `wayword doctor` lists them.
extra-%: install
	@log=$$($(UV) pip install --color never --python $(BIN)/python -e '.[$*]' 2>&1) || { echo "$$log" >&2; exit 1; }; \
	echo "$$log" | grep -E '^( \+|warning)' || echo 'extra $* is already installed in .venv'

demo: install
	@$(BIN)/wayword demo

# A language model on the two generated datasets of the README's table, and on the shortest levels of the bench.
# Repeat the command to resume, or with a larger LIMIT. DOLLARS= plays without a limit, for models without a price.
LIMIT ?= 20
DOLLARS ?= 2
PLAY = --model $(MODEL) $(if $(DOLLARS),--max-dollars $(DOLLARS))
RESULTS = runs/results/$(subst /,-,$(subst :,-,$(MODEL)))
results: install
	@test -n '$(MODEL)' || { echo 'name a model: make results MODEL=openai:gpt-5-mini'; exit 2; }
	$(BIN)/wayword run navgpt --on houses $(PLAY) --limit $(LIMIT) --out $(RESULTS)/houses
	$(BIN)/wayword run velma --on towns $(PLAY) --limit $(LIMIT) --out $(RESULTS)/towns
	$(BIN)/wayword bench --quick $(PLAY)
	@$(BIN)/wayword table $(RESULTS) --format markdown > $(RESULTS)/table.md
	@echo 'Table with costs: $(RESULTS)/table.md. The card of the bench is named above.'

lint: install
	$(BIN)/ruff format --check src weights tests benchmarks examples tools
	$(BIN)/ruff check src weights tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/mypy --config-file tools/names.ini benchmarks tools weights examples/training tests/suites
	$(BIN)/lint-imports

# Everything, with the suites that need environments of their own: an hour or more on two cores.
test-all: test test-vision test-train test-envs test-harbor test-alfworld test-ray test-stores

# Lint runs beside the tests, in the time that these wait for browsers and servers.
test: install
	@$(MAKE) --no-print-directory -j 2 lint suite

suite: install
	$(BIN)/pytest -n 2 --dist worksteal tests

# The short form is part of `make test`; docs/reliability.md quotes the counts of this one.
# Every file that reads the switch has a long form: a list of them would miss new ones.
LONG_FORMS = $(shell grep -rl 'helpers.sampling' --include='test_*.py' tests)
chaos: install
	WAYWORD_CHAOS=long $(BIN)/pytest -q -s --timeout 7200 tests/chaos
	WAYWORD_CHAOS=long $(BIN)/pytest -q --timeout 7200 $(LONG_FORMS)

# Torch has an environment of its own: it is large, and nothing else needs it.
test-vision:
	@$(PYTHON) -m venv --upgrade-deps .venv-vision
	.venv-vision/bin/python -m pip install --quiet torch==2.13.0
	.venv-vision/bin/python -m pip install --quiet -e '.[vision]' onnx onnxruntime pytest
	PYTHONPATH=. HF_HUB_OFFLINE=1 .venv-vision/bin/python -m pytest -c /dev/null --rootdir=. -q tests/suites/vision

test-train:
	@$(PYTHON) -m venv --upgrade-deps .venv-train
	.venv-train/bin/python -m pip install --quiet torch==2.13.0
	.venv-train/bin/python -m pip install --quiet trl==1.16.0 -e '.[train,local]' pytest
	PYTHONPATH=. HF_HUB_OFFLINE=1 .venv-train/bin/python -m pytest -c /dev/null --rootdir=. -q tests/suites/train

# What verl imports for its loop of tool calls, without its engines for GPUs; SkyRL's environments; ART's client.
TRAINERS = ray tensordict transformers codetiming hydra-core pillow torchdata pyarrow pandas datasets orjson cachetools \
  fastapi skyrl-gym==0.4.0 openpipe-art==0.5.18 'openai<3'  # ART passes time-outs of httpx, which openai 3 refuses

# By uv, as pip takes many minutes to find versions that these libraries agree on. OpenEnv has an environment of its own,
# as it needs mcp 1 and verifiers needs mcp 2; so have TRL, for its torch and transformers, and other trainers.
test-envs: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-envs
	@$(UV) pip install --quiet --python .venv-envs/bin/python torch==2.13.0 pytest \
	  -e '.[verifiers,inspect,mcp,babyai,parquet,images,trackio,wandb,mlflow]' 'datasets>=4' \
	  -e examples/environments/hub
	PYTHONPATH=tests HF_HUB_OFFLINE=1 .venv-envs/bin/python -m pytest -c /dev/null --rootdir=. -q -s --ignore tests/suites/envs/test_trl.py tests/suites/envs tests/wild/limits-of-inspect
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-openenv
	@$(UV) pip install --quiet --python .venv-openenv/bin/python openenv==0.10.0 pytest -e '.[serve]'
	PYTHONPATH=tests .venv-openenv/bin/python -m pytest -c /dev/null --rootdir=. -q -s tests/suites/openenv
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-trl
	@$(UV) pip install --quiet --python .venv-trl/bin/python torch==2.13.0 trl==1.16.0 pytest -e '.[trl]'
	HF_HUB_OFFLINE=1 .venv-trl/bin/python -m pytest -c /dev/null --rootdir=. -q -s tests/suites/envs/test_trl.py
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-trainers
	@$(UV) pip install --quiet --python .venv-trainers/bin/python torch==2.13.0 pytest -e . $(TRAINERS)
	@$(UV) pip install --quiet --python .venv-trainers/bin/python --no-deps verl==0.9.1
	PYTHONPATH=tests HF_HUB_OFFLINE=1 .venv-trainers/bin/python -m pytest -c /dev/null --rootdir=. -q -s tests/suites/trainers

# Harbor needs Python 3.12.
PYTHON312 ?= python3.12
test-harbor: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON312) .venv-harbor
	@$(UV) pip install --quiet --python .venv-harbor/bin/python harbor==0.26.0 pytest -e '.[mcp,serve]'
	PYTHONPATH=tests .venv-harbor/bin/python -m pytest -c /dev/null --rootdir=. -q tests/suites/harbor

# ALFWorld's engine and its planner; WAYWORD_ALFWORLD_GAMES=20 is the long form.
test-alfworld: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-alfworld
	@$(UV) pip install --quiet --python .venv-alfworld/bin/python pytest -e '.[alfworld]'
	PYTHONPATH=tests .venv-alfworld/bin/python -m pytest -c /dev/null --rootdir=. -q tests/suites/alfworld

# WAYWORD_RAY_EPISODES=5000 is the long form; workers are killed throughout.
test-ray: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-ray
	@$(UV) pip install --quiet --python .venv-ray/bin/python pytest -e '.[ray]'
	PYTHONPATH=. .venv-ray/bin/python -m pytest -c /dev/null --rootdir=. -q -s tests/suites/ray

test-stores: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-stores
	@$(UV) pip install --quiet --python .venv-stores/bin/python pytest 'moto[server]>=5' -e '.[remote]'
	.venv-stores/bin/python -m pytest -c /dev/null --rootdir=. -q -s tests/suites/stores

# INSTALL="plot ros" tries only hints with these extras, INSTALL=--heavy also downloads torch and the like.
test-install: install
	$(BIN)/python tools/install_hints.py $(INSTALL)

# Trained weights lie in the package; they are checked against their list.
weights: install
	@$(BIN)/python tools/weights.py

# Generated reference pages, then the site in site/; the tests build it too.
docs: install
	$(BIN)/python tools/reference.py
	$(BIN)/mkdocs build --quiet --strict

bench: install
	$(BIN)/python -m benchmarks --record

constraints: $(UV)
	$(UV) pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  --universal --python-version 3.11 --extra local --group dev pyproject.toml -o constraints.txt

# Both tools in environments of their own, so that they do not audit themselves.
audit: $(UV)
	$(UV) tool run --quiet pip-audit --requirement constraints.txt --require-hashes --disable-pip

sbom: $(UV)
	@mkdir -p dist
	$(UV) tool run --quiet --from cyclonedx-bom cyclonedx-py requirements constraints.txt \
	  --pyproject pyproject.toml --output-reproducible --of JSON -o dist/sbom.json

clean:
	rm -rf .venv .uv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
