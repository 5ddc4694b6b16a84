# The front door. `make demo` and `make test` install what they need on Debian (root or sudo);
# everything else uses what is there.
PREFIX ?= /usr/local
DESTDIR ?=
LLVM ?= 14
export PREFIX LLVM
ifneq ($(origin CC),default)
export CC
endif

SOURCES = $(shell find include lib cli proxy store tests bench examples -name '*.[ch]' -o -name '*.cpp')

.PHONY: all help deps demo test test-full install uninstall bench fuzz format tidy clean

all: ## build/paucis, build/libpaucis.a, build/libpaucis.so
	@scripts/build release

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

deps: ## installs what the build needs
	@scripts/install-deps build

demo: deps ## builds, then runs the main job on an example conversation
	@scripts/build release
	@scripts/demo.sh build/paucis

test: ## installs what the tests need and runs them (within 10 minutes)
	@scripts/install-deps test
	@scripts/test.sh

test-full: ## adds valgrind, musl, 32 bit, AArch64 and the long tests; keeps docs/test-full.txt
	@scripts/install-deps full
	@scripts/test-full.sh

install: all ## into PREFIX (/usr/local), under DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install build

uninstall: ## removes what `make install` put there
	@test -f build/install_manifest.txt || { echo "nothing was installed from here" >&2; exit 1; }
	@sed 's|^|$(DESTDIR)|' build/install_manifest.txt | xargs -d '\n' rm -vf --
	@rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/include/paucis

bench: ## speed, side by side with other JSON readers
	@scripts/install-deps bench
	@scripts/build release
	@scripts/bench.sh

fuzz: ## runs every fuzz target for FUZZ_SECONDS (60)
	@scripts/install-deps test
	@scripts/fuzz.sh

format: ## clang-format over the sources
	@clang-format-$(LLVM) -i $(SOURCES)

tidy: ## clang-tidy over the library and the command
	@scripts/build clang
	@clang-tidy-$(LLVM) --quiet -p build-clang $(wildcard lib/*.c lib/*/*.c cli/*.c proxy/*.c)

clean: ## removes every build folder
	@rm -rf build build-* fuzz-out
