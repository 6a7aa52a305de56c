# SPDX-License-Identifier: MIT
# Thin names for the scripts and CMake presets; see CMakePresets.json and tools/.
PREFIX ?= /usr/local
SECONDS_EACH ?= 60

.PHONY: help build run test test-cuda test-cuda-sanitize bench bench-check format lint asan tsan fuzz aarch64 web install clean

help: ## this list
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## build the program: build/release/lanner
	@tools/install_packages build
	@tools/build_target release lanner

run: ## a story from the embedded model (./run takes options)
	@./run

test: ## all tests (./test takes ctest options)
	@./test

bench: ## build and run the kernel benchmarks
	@tools/install_packages build dev
	@tools/build_target bench all
	@for program in build/bench/bench/bench_*; do [ ! -x $$program ] || $$program; done

bench-check: ## instructions of the main kernels against bench/baselines
	@tools/install_packages build dev
	@tools/build_target bench instruction_counts
	@tools/bench_check

format: ## rewrite every C++ file by .clang-format
	@tools/install_packages dev
	@tools/check_format --fix

lint: ## clang-tidy and the layers of the folders
	@tools/install_packages build test dev
	@tools/check_layers
	@tools/lint

test-cuda: ## every GPU kernel against the scalar reference, and the models on the GPU (needs nvcc; skipped without a GPU)
	@tools/install_packages build test
	@tools/build_target cuda test_cuda
	@tools/build_target cuda test_cuda_loss
	@tools/run_tests cuda -R '^cuda(_loss)?$$'

test-cuda-sanitize: ## the same kernels under compute-sanitizer: accesses, races, barriers (minutes)
	@tools/install_packages build test
	@tools/build_target cuda test_cuda
	@tools/sanitize_cuda

asan: ## all tests under address and undefined-behaviour sanitizers
	@tools/install_packages build test
	@tools/build_target debug all
	@tools/run_tests debug

tsan: ## all tests under the thread sanitizer
	@tools/install_packages build test
	@tools/build_target tsan all
	@tools/run_tests tsan

fuzz: ## every fuzz target for SECONDS_EACH=60
	@tools/install_packages build test dev
	@tools/run_fuzzers $(SECONDS_EACH)

aarch64: ## cross build for 64-bit Arm, tests in qemu
	@tools/install_packages build test arm
	@tools/build_target aarch64 all
	@tools/run_tests aarch64

web: ## build and test the chat page (needs Node.js; the program does not)
	@[ -d web/node_modules ] || npm ci --prefix web --silent
	@npm run build --prefix web --silent
	@tools/test_web

install: build ## program, library, embedded models and shell completions under PREFIX=/usr/local (DESTDIR is respected)
	@tools/build_target release lanner_archive
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove build/
	@rm -rf build
