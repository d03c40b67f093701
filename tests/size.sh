#!/bin/sh
# Builds the runtime core for size and prints what each object file takes, then the size of a whole stripped program that loads
# and runs two methods (start files included, libc linked dynamically, sentences on):  sh tests/size.sh
# Fails if the program does not run or has 50,000 bytes or more.
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cc=${CC:-gcc}
flags="-std=gnu11 -Os -DNDEBUG -DFID_MESSAGES=${FID_MESSAGES:-1} -I. -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-pie -fno-stack-protector -fno-math-errno -ffp-contract=off"

sources="tests/size_main.c"
for folder in base ops format runtime; do
    for source in "$folder"/*.c; do
        case $source in
        *_test.c | *_fuzz.c | *_bench.c) continue ;;
        ops/builtin.c | ops/shape_*.c) continue ;; # the operators: the table at hand brings its own
        format/pte_write.c | format/flatbuffer_build.c) continue ;;
        esac
        sources="$sources $source"
    done
done

objects=""
for source in $sources; do
    object="$out/$(echo "$source" | tr / _).o"
    # shellcheck disable=SC2086
    $cc $flags -c "$source" -o "$object"
    objects="$objects $object"
done
# shellcheck disable=SC2086
$cc -Wl,--gc-sections,-Map="$out/map" -Wl,-z,norelro,-z,noseparate-code -Wl,--build-id=none -Wl,--hash-style=gnu -no-pie $objects -lm -o "$out/core"
strip -s -R .comment -R .gnu.version "$out/core" 2>/dev/null || strip -s "$out/core"
"$out/core" tests/golden/sums.pte

# Bytes that survived in the program, by object file: the sizes of kept sections in the linker's map.
echo "    text+data  object"
awk -v out="$out/" '
    /^Discarded input sections/ { skip = 1 }
    /^Memory Configuration/ { skip = 0 }
    skip { next }
    /^ \.(text|rodata|data|init_array)/ { if (NF == 1) { wrapped = 1; next } size = $3; object = $4 }
    wrapped && NF >= 3 && !/^ \./ { size = $2; object = $3; wrapped = 0 }
    object != "" { if (index(object, out) == 1 && size ~ /^0x/) total[object] += strtonum_hex(size); object = "" }
    function strtonum_hex(text,   i, value) {
        value = 0
        for (i = 3; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
        return value
    }
    END { for (name in total) if (total[name] > 0) { short = name; sub(out, "", short); sub(/\.c\.o$/, ".c", short); sub(/_/, "/", short); printf "%13d  %s\n", total[name], short } }
' "$out/map" | sort -rn
size=$(wc -c <"$out/core")
if [ "$size" -ge 50000 ]; then
    echo "core: $size bytes"
    echo "the core must stay below 50000 bytes" >&2
    exit 1
fi
echo "core: $size bytes"
