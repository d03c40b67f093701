#!/bin/sh
# What the whole runtime takes: every kernel for every instruction set, operators, formats, platform, in one stripped shared library.
#   sh tests/library_size.sh LIBFIDIBUS.A
# Fails above 3 MB.
set -eu
archive=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
${CC:-cc} -shared -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lm -lpthread -ldl -o "$out/libfidibus.so"
strip -s "$out/libfidibus.so"
size=$(wc -c <"$out/libfidibus.so")
echo "library: $size bytes"
if [ "$size" -gt 3000000 ]; then
    echo "the library must not exceed 3000000 bytes" >&2
    exit 1
fi
