# Thin: it makes the virtual environment, and calls Python, which also runs where there is no make.

VENV ?= .venv
PYTHON ?= python3
# Options for installing torch, such as where pip finds the CPU build.
TORCH_ARGS ?=

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
INSTALLED := $(VENV)/installed

.PHONY: help book test notebooks translations format lock
.DEFAULT_GOAL := help

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

book: $(INSTALLED)  ## build the book in both languages and say where it is
	$(BIN)/python book/build.py

test: $(INSTALLED)  ## run every check
	$(BIN)/python -m tests

notebooks: $(INSTALLED)  ## run all notebooks and store their outputs
	$(BIN)/python book/execute.py

translations: $(INSTALLED)  ## bring new English messages into the Chinese catalogues
	$(BIN)/python book/translations.py

format: $(INSTALLED)  ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(INSTALLED)  ## write requirements.txt anew; UPGRADE=--upgrade takes the newest versions
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --all-extras \
		$(UPGRADE) --quiet --output-file requirements.txt

# A torch that is there already and has the locked version stays, whatever its build.
$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"The book needs Python 3.11 or newer: make book PYTHON=python3.12")'
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install $(TORCH_ARGS) "$$(grep '^torch==' requirements.txt)"
	$(BIN)/python -m pip install -r requirements.txt
	$(BIN)/python -m pip install --no-deps -e .
	touch $@
