# SPDX-License-Identifier: Apache-2.0
# The front door: what a person types. Everything below it is CMake presets (CMakePresets.json).
PRESET ?= release
JOBS ?= $(shell nproc)
WERROR ?= OFF
BUILD = build/$(PRESET)
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)
NVCC ?= $(or $(shell command -v nvcc),/usr/local/cuda/bin/nvcc)

.DEFAULT_GOAL := tessera
.PHONY: tessera cuda python wheel studio-wasm build demo speedrun demo-experts test test-all fuzz soak bench package validate format lint golden-ir clean help setup-oracle configure

tessera: ## build the binary, build/release/tessera
	@tools/setup.sh build
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) -j $(JOBS) --target tessera_cli

cuda: ## build build/cuda/tessera, which runs on GPUs too, and its tests (needs nvcc 13)
	@tools/setup.sh build test
	@CUDACXX=$(NVCC) $(MAKE) --no-print-directory configure PRESET=cuda
	@cmake --build build/cuda -j $(JOBS) --target tessera_cli tessera_samples tessera_parity tessera_attention_bench tessera_host_link_bench tessera_cuda_tests tessera_plan_tests

python: ## build the Python package, build/release/python, with Debian's Python
	@tools/setup.sh build python
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) -j $(JOBS) --target tessera_python

wheel: python ## write a wheel of it into build/wheel
	@$(PYTHON) python/make_wheel.py --package $(BUILD)/python/tessera --out build/wheel

studio-wasm: ## Studio as a folder for any web server, build/studio-wasm: compiler, simulator and planner run in the browser
	@tools/setup.sh build wasm
	@cmake --preset wasm --log-level=WARNING >/dev/null
	@cmake --build --preset wasm -j $(JOBS)
	@python3 wasm/write_page.py build/wasm/page build/studio-wasm

demo: ## install what is missing, build, train a small model and show what it writes
	@$(MAKE) --no-print-directory tessera PRESET=release
	@tools/demo.sh

speedrun: ## make a model that answers questions, from nothing, in under half an hour on two cores (ARGS=--quick: a minute; ARGS='--device cuda': GPT-2 124M on a GPU)
	@$(MAKE) --no-print-directory $(if $(findstring cuda,$(ARGS)),cuda,tessera PRESET=release)
	@python3 tools/speedrun/run.py $(ARGS)

demo-experts: ## a mixture of experts on four ranks, in a minute: loads even out, rows are exchanged
	@$(MAKE) --no-print-directory tessera PRESET=release
	@tools/demo_experts.sh

test: ## install what is missing, build and run every test (ARGS goes to ctest: ARGS='-R Matmul')
	@tools/setup.sh build test
	@$(MAKE) --no-print-directory build
	@tools/test.sh $(PRESET) $(ARGS)

test-all: test ## every test, every legal plan of up to eight ranks and random ones of up to sixteen against one rank, every rank killed in every phase, hosts, Slurm, random faults
	@$(BUILD)/tessera_plan_tests --all --gtest_brief=1
	@python3 tests/plans/random_plans.py --binary $(BUILD)/tessera --plans 1000 --seed 2
	@python3 tests/balance/run.py --binary $(BUILD)/tessera --all
	@tools/setup.sh browser
	@python3 tests/studio/browser.py --binary $(BUILD)/tessera
	@$(MAKE) --no-print-directory studio-wasm
	@python3 tests/studio/wasm_test.py --binary $(BUILD)/tessera --page build/studio-wasm
	@python3 tests/recovery/run.py --binary $(BUILD)/tessera --all
	@tools/setup.sh mpi hosts
	@python3 tests/recovery/over_hosts.py --binary $(BUILD)/tessera
	@python3 tests/islands/over_hosts.py --binary $(BUILD)/tessera
	@python3 tests/recovery/slurm.py --binary $(BUILD)/tessera
	@python3 tests/recovery/slurm_jobs.py --binary $(BUILD)/tessera
	@python3 tests/recovery/elastic.py --binary $(BUILD)/tessera
	@python3 tests/recovery/elastic_launched.py --binary $(BUILD)/tessera
	@$(MAKE) --no-print-directory package
	@python3 tests/packages/clean_debian.py
	@python3 tests/packages/container_test.py --run
	@python3 tests/recovery/chaos.py --binary $(BUILD)/tessera --backend supervise --count 300
	@python3 tests/recovery/chaos.py --binary $(BUILD)/tessera --backend launch --count 30 --load
	@python3 tests/recovery/chaos.py --binary $(BUILD)/tessera --backend hosts --count 10
	@python3 tests/recovery/chaos.py --binary $(BUILD)/tessera --backend slurm --count 5

fuzz: ## half a minute of hostile input for each reader of files (ARGS goes to fuzz/run.py: ARGS='--seconds 600 config')
	@tools/setup.sh build fuzz
	@$(MAKE) --no-print-directory configure PRESET=fuzz WERROR=OFF
	@cmake --build build/fuzz -j $(JOBS) --target tessera_fuzz
	@python3 fuzz/run.py --build build/fuzz $(ARGS)

package: ## Debian packages of the program, of MPI and of the library, checked by lintian, and a tarball: build/packages
	@tools/setup.sh build mpi package
	@JOBS=$(JOBS) tools/package.sh $(ARGS)

soak: ## random kills and stops of a supervised run for an hour, and its goodput (ARGS='--minutes 5')
	@$(MAKE) --no-print-directory tessera PRESET=$(PRESET)
	@python3 tests/recovery/soak.py --binary $(BUILD)/tessera $(ARGS)

bench: ## measure speed, as ratios within one run (ARGS goes to bench/run.py: ARGS=--no-peer)
	@tools/setup.sh build test
	@$(MAKE) --no-print-directory tessera PRESET=release
	@python3 bench/run.py $(ARGS)

validate: ## the simulator beside 372 published runs (ARGS=--rows: every one)
	@$(MAKE) --no-print-directory tessera PRESET=release
	@python3 bench/published.py $(ARGS)

build: configure ## build everything of a preset: make build PRESET=asan
	@cmake --build $(BUILD) -j $(JOBS)

configure:
	@cmake --preset $(PRESET) -DTESSERA_WERROR=$(WERROR) -DTESSERA_PYTHON=ON --log-level=WARNING >/dev/null

format: ## rewrite all sources in the house format
	@tools/setup.sh lint
	@tools/format.sh

lint: ## check format, style, folder order, generated docs, and run clang-tidy
	@tools/setup.sh build test lint
	@$(MAKE) --no-print-directory tessera PRESET=release
	@tools/lint.sh

golden-ir: configure ## rewrite what the passes leave in tests/passes/*/*.ir; then read the diff
	@cmake --build $(BUILD) -j $(JOBS) --target tessera_golden_ir
	@$(BUILD)/tests/passes/tessera_golden_ir --update --gtest_brief=1

setup-oracle: ## install Debian's PyTorch, so that tests compare against it live
	@tools/setup.sh oracle

clean: ## remove all builds
	@rm -rf build

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 22
