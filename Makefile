# Two commands do everything on a machine with Python 3.11-3.13, git and make:
#   make run    set up, run the default benchmark, write its report
#   make test   set up, run all tests
# `make test-fast` runs the tests that are not marked as slow: under two minutes on two cores, once a first run has
# compiled the kernels. These are the unit tests, the conformance of all solvers, and the quick tests of each solver.
# `make test-thorough` runs all tests with three times as many random problems, and the tests that take minutes each.
# `make docs` builds the documentation site, build/docs/index.html, without a network once it is set up.
# `make site` builds build/site/index.html, of all results in results/, the published results and the documentation;
# RESULTS="results/a results/b" chooses results.
# `make archive` packs what `make run` makes; CONFIG=config/branches.yaml makes either do another configuration,
# LEVEL=smoke a level of it, and MIRROR=DIR takes data from a directory.
# `make image` and `make sif` build containers of the last commit; docs/artefact.md tells how they run.
# After either, `. .venv/bin/activate` gives `snakemake --cores 32` and the rest.

VENV := .venv
CORES ?= all
DOCKER ?= docker
CONFIG ?= config/config.yaml
NAME = $(shell sed -n 's/^name: *//p' $(CONFIG))$(LEVEL:%=-%)
VALUES = $(LEVEL:%=level=%) $(MIRROR:%=data_mirror=%)
# The tests of a file run in one process, in the order of the folders: forks first, while the processes are small.
PARALLEL = -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
SNAKEMAKE = . $(VENV)/bin/activate && snakemake --configfile $(CONFIG) $(if $(strip $(VALUES)),--config $(VALUES))

# Tests share compiled kernels with the copies of the repository in which they run the workflow.
test test-fast test-thorough: export NUMBA_CACHE_DIR = $(CURDIR)/.numba_cache

.PHONY: run test test-fast test-thorough docs site archive image sif lint lock clean
.DEFAULT_GOAL := run

run: $(VENV)/ready
	$(SNAKEMAKE) --cores $(CORES)
	$(SNAKEMAKE) --report results/$(NAME)/report.html
	@echo "Tables: results/$(NAME)/tables   plots: results/$(NAME)/plots   report: results/$(NAME)/report.html"

archive: run  # results/NAME/archive.zip: source, records, tables, plots and report, for a deposit with a DOI
	. $(VENV)/bin/activate && python -m optree.bench.report.archive results/$(NAME)

build/optree.tar: .git/HEAD $(wildcard .git/refs/heads/*)  # the last commit
	mkdir -p build && git archive --output $@ HEAD

image: build/optree.tar  # by docker, podman or buildah: make image DOCKER=podman
	$(DOCKER) build --tag optree --file containers/Dockerfile $(if $(BASE),--build-arg BASE=$(BASE)) .

sif: build/optree.tar
	apptainer build $(foreach name,SOURCE BASE,$(if $($(name)),--build-arg $(name)=$($(name)))) containers/optree.sif containers/optree.def

docs: $(VENV)/docs
	. $(VENV)/bin/activate && sphinx-build -q -W --keep-going docs build/docs
	@echo "Documentation: build/docs/index.html"

site: docs
	. $(VENV)/bin/activate && python -m optree.bench.site $(RESULTS)

test: $(VENV)/docs .exports/ready
	. $(VENV)/bin/activate && python -m pytest $(PARALLEL)

test-thorough: export OPTREE_THOROUGH = 1
test-thorough: test

test-fast: $(VENV)/ready
	. $(VENV)/bin/activate && python -m pytest $(PARALLEL) -m "not slow"

$(VENV)/ready: requirements/main.lock requirements/build.lock pyproject.toml
	sh workflow/setup.sh $(VENV)
	touch $@

.exports/ready: $(VENV)/ready requirements/exports.lock  # readers of exported trees and archives, for tests alone
	$(VENV)/bin/python -m venv --clear .exports
	$(VENV)/bin/python -c 'import site; print(site.getsitepackages()[0])' \
	    > "$$(.exports/bin/python -c 'import site; print(site.getsitepackages()[0])')/shared.pth"
	.exports/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/exports.lock
	touch $@

$(VENV)/docs: $(VENV)/ready requirements/docs.lock
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.lock
	touch $@

lint: $(VENV)/ready
	. $(VENV)/bin/activate && ruff check . && ruff format --check . && snakefmt --check Snakefile workflow

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

EXPORTS := dtreeviz duckdb jpmml-evaluator[jpype] onnx onnxruntime roc-validator shap skl2onnx supertree

lock:  # needs uv
	$(LOCK) --extra workflow --extra test pyproject.toml -o requirements/main.lock
	printf '%s\n' $(EXPORTS) | $(LOCK) -c requirements/main.lock - -o requirements/exports.lock
	echo 'setuptools>=77' | $(LOCK) - -o requirements/build.lock
	printf '%s\n' furo latex2mathml myst-parser sphinx sphinx-copybutton \
	    | $(LOCK) - --constraint requirements/main.lock -o requirements/docs.lock
	for peer in workflow/peers/*/peer.yaml; do \
	    sed -n 's/^requirements: \[\(.*\)\]/\1/p' $$peer | tr ',' '\n' | $(LOCK) - -o $${peer%/*}/requirements.lock; \
	done

clean:
	rm -rf $(VENV) .exports .peers .snakemake .numba_cache results/*/
