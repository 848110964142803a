# `make` draws the three figures on a bare machine, `make test` tests; `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
# Bars in a terminal, plain lines in a pipe.
SNAKEMAKE = $(BIN)/snakemake --cores all --resources gpu=1 $$([ -t 2 ] && echo --logger rich)
CHECKED := workflow tests examples
FAULTS ?= 200
SEED ?= 0

.DEFAULT_GOAL := figures
.PHONY: figures extensions watch quickstart test test-slurm unit lint reproduce report verify reference benchmark \
	benchmark-quick lock config-reference architecture torture docs clean help

figures: .venv/ready  ## train what is missing and draw the three figures (the default)
	$(SNAKEMAKE)

extensions: .venv/ready  ## ask all questions, those that the chapter left open, too: figures 1 to 10
	$(SNAKEMAKE) --config questions=all

watch: .venv/ready  ## show the live state of the training jobs, in a second terminal
	$(BIN)/python -m workflow.tools.watch

quickstart: .venv/ready  ## the study in small, from the library alone, in less than a minute
	$(BIN)/python -m examples.quickstart

test: .venv/ready  ## check style and types, run all tests
	$(MAKE) lint
	$(BIN)/pytest -n 2 tests

test-slurm: .venv-slurm/ready  ## run the pipeline on a Slurm of its own, on Debian as root (minutes)
	@test "$$(id -u)" = 0 || { echo "make test-slurm installs Debian's Slurm: run it as root." >&2; exit 1; }
	.venv-slurm/bin/pytest tests/slurm/slurm_checks.py

unit: .venv/ready  ## run the quick tests only
	$(BIN)/pytest -n 2 tests/unit

lint: .venv/ready  ## check style, types, imports and the Snakefile
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/snakemake --lint

reproduce: .venv/ready  ## run the full study and fail unless every claim of the chapter holds
	$(SNAKEMAKE)
	$(BIN)/python -m workflow.tools.require_claims results

report: .venv/ready  ## write report.html, which shows where every figure came from
	$(SNAKEMAKE) --report report.html --report-after-run

verify: .venv/ready  ## compare the finished run with the reference run
	$(BIN)/python -m workflow.tools.verify results reference

reference:  ## make the finished run the reference run
	cd results && tar cf - $$(cd ../reference && ls manifest.json claims.csv */*/seed*.csv) \
		| tar xf - -C ../reference

benchmark: .venv/ready  ## measure the library against the plain implementation (most of an hour)
	$(BIN)/python -m tests.benchmark

benchmark-quick: .venv/ready  ## the same on a part of the work, in minutes
	$(BIN)/python -m tests.benchmark --quick

torture: .venv/ready  ## inject FAULTS faults (200) into a small study and see that it recovers
	$(BIN)/python -m tests.torture --faults $(FAULTS) --seed $(SEED)

lock: .venv/ready  ## pin anew what requirements.in asks for
	$(BIN)/pip install --quiet pip-tools
	echo '# Every package of the environment, pinned; made from requirements.in by `make lock`.' > requirements.lock
	$(BIN)/pip-compile --quiet --strip-extras --no-header --no-emit-options --no-annotate \
		--allow-unsafe --output-file - requirements.in | grep -v '^#' | sed 's/+cpu$$//' >> requirements.lock

config-reference: .venv/ready  ## make config/README.md from the settings
	$(BIN)/python -m workflow.tools.config_reference > config/README.md

architecture: .venv/ready  ## make docs/architecture.md from the pipeline
	$(BIN)/python -m workflow.tools.architecture > docs/architecture.md

docs: .venv/ready  ## make pages of the library from its docstrings, in docs/api
	$(BIN)/python -m pdoc --docformat google --output-directory docs/api workflow.lib workflow.questions

clean:  ## remove the results and the environment
	rm -rf .venv .venv-slurm .snakemake results/[!R]*

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/ready: requirements.lock
.venv-slurm/ready: requirements-slurm.lock requirements.lock
.venv/ready .venv-slurm/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@
