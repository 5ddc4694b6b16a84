#!/bin/sh
# Builds and tests the flavours: scripts/test.sh [full]
# The quick run is what CI does. "full" adds other machines and C libraries, valgrind, and on the
# machine itself the long form of the tests (PAUCIS_LONG=1).
set -eu
cd "$(dirname "$0")/.."
jobs=$(nproc)
started=$(date +%s)

# run FLAVOUR WHAT [CTEST-OPTIONS]; rules about the sources need no second look.
run() {
    flavour=$1
    echo "== $flavour: $2"
    shift 2
    scripts/build "$flavour"
    # One more than there are cores: some tests mostly wait for servers to fail and come back.
    ctest --test-dir "build-$flavour" -j "$((jobs + 1))" --timeout "$limit" --output-on-failure \
        --no-tests=error "$@"
}

case ${1:-} in
full)
    limit=3600
    run clang 'by clang' -LE source
    run asan 'clang, address and undefined-behaviour sanitizers' -LE source
    run valgrind 'uninitialised memory, leaks' -L 'unit|fuzz|header'
    run musl 'another C library, static' -LE source
    run i686 '32 bit, static' -LE source
    run aarch64 'NEON, static, under qemu-user' -LE source
    export PAUCIS_LONG=1
    run gcc 'release build, every test in its long form'
    ;;
'')
    limit=300
    run gcc 'release build, every test'
    run clang 'the compiled tests by clang' -L 'unit|fuzz|header'
    run asan 'clang, address and undefined-behaviour sanitizers' -LE source
    ;;
*)
    echo "usage: scripts/test.sh [full]" >&2
    exit 2
    ;;
esac
echo "== all passed in $(($(date +%s) - started)) s"
