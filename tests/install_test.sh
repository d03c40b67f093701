#!/bin/sh
# What a C user does after `cmake --install`: find_package, pkg-config, and the example. install_test.sh BUILD SOURCE
set -eu
build=$1 source=$2
work=$build/install_test
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
"$work/prefix/bin/fidibus" compile "$source/examples/c/model.pt2" -o "$work/model.pte"

cmake -S "$source/examples/c" -B "$work/example" -DCMAKE_PREFIX_PATH="$work/prefix" -DMODEL_PTE="$work/model.pte" >"$work/configure.log"
cmake --build "$work/example" >"$work/build.log"
from_flash=$("$work/example/run_model")
from_file=$("$work/example/run_model" "$work/model.pte")
[ "$from_flash" = "$from_file" ] || { echo "flash: $from_flash, file: $from_file"; exit 1; }
[ "$from_file" = "$(cat "$source/examples/c/expected.txt")" ] || { echo "got $from_file"; exit 1; }
if "$work/example/run_model" "$work/nowhere.pte" 2>"$work/error.txt"; then echo "a missing file was no error"; exit 1; fi
grep -q nowhere.pte "$work/error.txt"

pc=$(find "$work/prefix" -name pkgconfig -type d)
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs fidibus)
# shellcheck disable=SC2086  # flags are words
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$source/examples/c/run_model.c" "$work/example/model_pte.c" $flags -o "$work/by_pkg_config"
[ "$("$work/by_pkg_config")" = "$from_flash" ]

# An operator of the user's own: a plug-in by CMake and one by hand, a schema file, and the command.
own=$source/examples/custom_operator
cmake -S "$own" -B "$work/own" -DCMAKE_PREFIX_PATH="$work/prefix" >>"$work/configure.log"
cmake --build "$work/own" >>"$work/build.log"
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -Wall -Wextra -Werror -shared -fPIC "$own/leaky_clip.c" $(PKG_CONFIG_PATH=$pc pkg-config --cflags fidibus) -o "$work/leaky_clip.so"
"$work/prefix/bin/fidibus" compile "$own/model.pt2" -o "$work/own.bpte" --bundle --schemas "$own/operators.txt" >"$work/own.log"
"$work/prefix/bin/fidibus" run "$work/own.bpte" --kernels "$work/own/leaky_clip.so" >"$work/own.txt"
"$work/prefix/bin/fidibus" run "$work/own.bpte" --kernels "$work/leaky_clip.so" | cmp - "$work/own.txt"
cmp "$own/expected.txt" "$work/own.txt"
echo "installed, found and run: $from_flash"
