# One word for each thing to do. `make setup` runs by itself when it is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
RUNS ?= 50000

.PHONY: setup demo test quick coverage browser proxies check format docs pictures notebooks clean bench fuzz dist

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[dev,excel,report,sources,spark,web]'
	touch $@

# A first look needs only the package: what development needs is installed by the other words.
$(VENV)/.light:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[report]'
	touch $@

demo: $(if $(wildcard $(VENV)/.ready),setup,$(VENV)/.light)
	$(BIN)/crowdassay aggregate examples/reviews/labels.csv --gold examples/reviews/expert.csv --truth examples/reviews/truth.csv --cost 0.05 --expert-cost 1 \
		--out results --report results/report.html

# Two files of tests at a time, in the order of their names, so that Spark's long one comes early. Their matrices are small:
# more threads for linear algebra would only wait for each other.
test: setup browser proxies
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# What a change is tried with while it is made: everything but the tests marked as slow.
quick: setup
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow"

# Which lines the tests run, package by package; lines inside compiled kernels cannot be seen.
coverage: setup browser proxies
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --cov --cov-report=term:skip-covered

# Pages are looked at in Debian's chromium. Without it, and without the right to install it, those tests are skipped.
browser:
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		(apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >/dev/null || true

# The service is tried behind Debian's nginx and Caddy, in the same way.
proxies:
	@(command -v nginx && command -v caddy && command -v openssl) >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		(apt-get update -qq && apt-get install -y -qq --no-install-recommends nginx-light caddy openssl) >/dev/null || true

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive src --configfile pyproject.toml
	@# Known vulnerabilities fail; no network does not.
	@found=$$($(BIN)/pip-audit --requirement requirements.lock --disable-pip --no-deps --progress-spinner off 2>&1) || \
		case "$$found" in *"known vulnerabilit"*) echo "$$found"; exit 1 ;; *) echo "pip-audit could not look, so nothing was audited." ;; esac
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Coverage-guided fuzzing of the importers; what fails is kept in tests/faults/corpus.
fuzz: setup
	$(BIN)/python -m pip install --quiet --editable '.[fuzz]'
	for target in export labels table; do $(BIN)/python tests/faults/fuzz.py $$target $(RUNS) || exit 1; done

docs: setup
	$(BIN)/mkdocs serve

# The pictures of README and of the documentation, drawn anew from the examples.
pictures: setup browser
	$(BIN)/python docs/gallery.py

# The notebooks run anew: their outputs, and their pages in the documentation.
notebooks: setup
	$(BIN)/python docs/notebooks.py

# Its own environment: crowd-kit needs an older scikit-learn than the tests. Ends within five minutes.
bench:
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --editable '.[bench]'
	.venv-bench/bin/python benchmarks/speed.py --json speed.json --picture speed.svg

# What is uploaded at a release: a wheel and a source archive. tests/test_dist.py installs the wheel and runs it.
dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

clean:
	rm -rf $(VENV) .venv-bench results site dist
