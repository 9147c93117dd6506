# `make demo` and `make test` need Python 3.11+ and nothing else; everything is installed into .venv. Without g++ the
# tests of the emulated CUDA device are skipped.
#   make demo    install what the main job needs, and run it
#   make test    install what the tests need (torch among it, as the oracle), and run them
#   make lint    mypy, ruff, and whether the stubs are up to date
#   make soak    threads that call operators and change what they reach, and first uses in threads of fresh processes
#   make machines  linear algebra and layouts as on lesser processors: SSE2 alone, AVX2
#   make machine-sse2  all tests as on such a processor, or those that ARGS names; -avx, -avx2 and -avx512 likewise
#   make mkl     the same and Fourier transforms by oneMKL, which it downloads into build/mkl
#   make aarch64  a part of the tests on an emulated 64-bit ARM; needs Debian and qemu-user-static
#   make ship    a wheel of compiled operators, installed into a new environment without opdsl, and compared there
#   make docs    the documentation, into build/docs; OPDSL_DOCS=add,exp has it write the pages of these operators only
#   make bench   the benchmarks; results land in benchmarks/results
#   make gpu-first  ten minutes on a card that is new, offline; make gpu-pack compiles kernels for it beforehand, and
#                make gpu-rehearse goes through its steps without a card
#   make gpu     what needs an NVIDIA GPU: tests (gpu-test), compute-sanitizer (gpu-sanitize), benchmarks (gpu-bench)
#   make full    every operator x dtype x sample, every architecture, other examples of property tests each time,
#                machine code as users get it: takes hours
#   make lock    the lock files anew, by uv; make sbom: what a release stands on, into build/sbom.json (CycloneDX)
#   make clean   remove what was installed and built
# PYTHON=python3.12 chooses the interpreter, JOBS=8 the number of test processes, ARGS="-k add" goes to pytest,
# ARGS=--random-order-seed=7 has it run the tests in another order.

SHELL := /bin/bash
PYTHON ?= python3
JOBS ?= 2
ARGS ?=
# The many processes that tests start would each compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: venv demo test warm lint format soak docs machines mkl aarch64 ship bench gpu gpu-first gpu-pack gpu-rehearse gpu-test gpu-sanitize gpu-bench full lock sbom clean
.DEFAULT_GOAL := test

# A venv whose ensurepip failed has a python but no pip; taking it away lets the next call start anew.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "opdsl needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

venv: $(BIN)/pip

# One stamp for each set of extras: installed again only when pyproject.toml changes.
$(VENV)/.has-%: pyproject.toml | $(BIN)/pip
	@echo "installing opdsl[$(subst +,$(comma),$*)] into $(VENV); the first time downloads a lot"
	$(BIN)/pip install --quiet --editable ".[$(subst +,$(comma),$*)]"
	@touch $@
comma := ,

demo: $(VENV)/.has-demo
	$(BIN)/python examples/quickstart.py
	$(BIN)/python examples/digits.py

# Tests call kernels once or twice on little data: most of the time goes into compiling them.
test: export OPDSL_QUICK_COMPILE := 1
test: $(VENV)/.has-dev warm
	$(PYTEST) $(ARGS)

# Kernels that the test processes would otherwise each compile for themselves.
warm: $(VENV)/.has-dev
	$(BIN)/python tests/warm.py

lint: $(VENV)/.has-dev
	$(BIN)/python -m mypy
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/opdsl stubs --check

format: $(VENV)/.has-dev
	$(BIN)/python -m ruff check --fix
	$(BIN)/python -m ruff format

soak: $(VENV)/.has-dev
	$(BIN)/python -X faulthandler benchmarks/soak.py
	$(BIN)/python -X faulthandler benchmarks/first_uses.py

docs: $(VENV)/.has-dev
	$(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) -b html docs build/docs
	@echo "the documentation begins at build/docs/index.html"

# What may hang on the processor: factors have phases, spans and null spaces that libraries choose.
LINEAR := tests/torch/linalg tests/torch/test_layouts.py tests/unit/backends/test_lapack.py

# Other processors, as opdsl, OpenBLAS, PyTorch, oneDNN, oneMKL (on AMD's) and NumPy know them.
AS_sse2 := OPDSL_CPU=x86-64 OPENBLAS_CORETYPE=Prescott ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE
AS_avx := OPDSL_CPU=x86-64-v2 OPENBLAS_CORETYPE=Sandybridge ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=AVX
AS_avx2 := OPDSL_CPU=x86-64-v3 OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
AS_avx512 := OPDSL_CPU=x86-64-v4 OPENBLAS_CORETYPE=SkylakeX
# NumPy's names of features, its older ones too.
BEYOND_avx512 := AVX512_ICL AVX512_SPR
BEYOND_avx2 := $(BEYOND_avx512) X86_V4 AVX512_SKX AVX512F
BEYOND_avx := $(BEYOND_avx2) X86_V3 AVX2 FMA3
BEYOND_sse2 := $(BEYOND_avx)
# Inductor's cache does not tell processors apart.
AS = NPY_DISABLE_CPU_FEATURES="$(BEYOND_$(1))" $(AS_$(1)) TORCHINDUCTOR_CACHE_DIR=$(CURDIR)/build/inductor-$(1)

machines machine-%: export OPDSL_QUICK_COMPILE := 1
machines: $(VENV)/.has-dev
ifeq ($(shell uname -m),x86_64)
	$(call AS,sse2) $(PYTEST) $(LINEAR)
	$(call AS,avx2) $(PYTEST) $(LINEAR)
endif

machine-%: $(VENV)/.has-dev
	$(if $(AS_$*),,$(error make machine-$*: expected one of sse2, avx, avx2, avx512))
	$(call AS,$*) $(PYTEST) $(ARGS)

# An interpreter of its own sees the packages of the other one, and oneMKL, which is too large for everybody.
build/mkl/bin/python: $(VENV)/.has-dev
	$(BIN)/python -m venv --without-pip build/mkl
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > "$$(build/mkl/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/other.pth"
	$(BIN)/pip --python build/mkl/bin/python install --quiet --no-deps mkl || { rm -rf build/mkl; exit 1; }

mkl: export OPDSL_QUICK_COMPILE := 1
mkl: build/mkl/bin/python
	PYTHONPATH=$(CURDIR) build/mkl/bin/python -m pytest -n $(JOBS) $(LINEAR) tests/unit/backends/test_mkl.py tests/unit/backends/test_fourier.py

aarch64: $(VENV)/.has-dev
	$(BIN)/python tests/aarch64.py $(ARGS)

ship: export OPDSL_QUICK_COMPILE := 1
ship: $(VENV)/.has-dev
	$(BIN)/python examples/ship.py

bench: $(VENV)/.has-dev
	set -e; for benchmark in $(filter-out benchmarks/gpu.py benchmarks/networks.py benchmarks/soak.py benchmarks/first_uses.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$benchmark --save; done

# GPU_PYTHON=python3 takes an interpreter that has all it needs, where nothing can be installed. Such a machine without
# typeguard gets it as a wheel that is fetched elsewhere:
#   python3 -m pip download --no-deps -d .whl typeguard==4.6.0
#   python3 -m pip install --no-index --no-deps --target /tmp/site .whl/*.whl && export PYTHONPATH=/tmp/site
#   make gpu-test GPU_PYTHON=python3 JOBS=12; make gpu-sanitize gpu-bench GPU_PYTHON=python3
# The first compiles some 8,000 kernels, which JOBS share out; without make it is python3 -m pytest -n 12 tests/gpu.
GPU_PYTHON ?=
ON_GPU = OPDSL_REQUIRE_GPU=1 PYTHONPATH=.$(if $(PYTHONPATH),:$(PYTHONPATH)) $(1) $(or $(GPU_PYTHON),$(BIN)/python)
SANITIZER := $(firstword $(shell command -v compute-sanitizer) $(wildcard /usr/local/cuda/bin/compute-sanitizer))

gpu: gpu-test gpu-sanitize gpu-bench

# Ten minutes on a card that nobody has seen before, offline: steps with a time each, none of which stops the others.
# Before, where NVRTC is, `make gpu-pack` writes build/gpu-pack.tar.xz: CUBINs for GPU_ARCH, and a wheel of typeguard;
# ARGS=--laws adds CUBINs for all operators, which takes hours. The pack is of use to the very commit that has made it.
# `make gpu-rehearse ARGS=120` goes through the steps in 120 seconds, under a driver that computes nothing.
GPU_ARCH ?= sm_90
# Nothing can be installed offline.
FIRST_PYTHON := $(or $(GPU_PYTHON),$(wildcard $(BIN)/python),$(PYTHON))

gpu-first:
	-OPDSL_REQUIRE_GPU=1 $(FIRST_PYTHON) tests/gpu/first.py $(ARGS)

gpu-rehearse:
	$(FIRST_PYTHON) tests/gpu/rehearse.py $(ARGS)

gpu-pack: $(VENV)/.has-dev
	PYTHONPATH=. $(BIN)/python tests/gpu/pack.py $(GPU_ARCH) $(ARGS)

gpu-test: $(if $(GPU_PYTHON),,$(VENV)/.has-dev)
	$(ON_GPU) -m pytest -n $(JOBS) tests/gpu $(ARGS)

gpu-sanitize: $(if $(GPU_PYTHON),,$(VENV)/.has-dev)
ifdef SANITIZER
	$(call ON_GPU,$(SANITIZER) --tool memcheck --error-exitcode 1) tests/gpu/kernels.py
	$(call ON_GPU,$(SANITIZER) --tool racecheck --error-exitcode 1) tests/gpu/kernels.py
else
	@echo "compute-sanitizer is not there: memcheck and racecheck have not run. It comes with the CUDA toolkit."
endif

gpu-bench: $(if $(GPU_PYTHON),,$(VENV)/.has-dev)
	$(ON_GPU) benchmarks/gpu.py --save

full: $(VENV)/.has-dev warm
	OPDSL_TEST_FULL=1 $(PYTEST) $(ARGS)

# What `make lock` resolves: exact releases with hashes, for every platform. Needs uv (https://docs.astral.sh/uv).
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet

lock:
	$(LOCK) -o requirements.lock
	$(LOCK) --extra dev -o requirements-dev.lock

sbom:
	mkdir -p build
	$(PYTHON) .ci/sbom.py requirements.lock > build/sbom.json

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
