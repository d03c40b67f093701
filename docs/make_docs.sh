#!/bin/sh
# Writes the pages that come from the code: make_docs.sh FIDIBUS [--check]
#
#   docs/ops.md     from the operator table, as `fidibus ops` prints it
#   docs/c-api.md   from the comments and declarations of include/fidibus.h
#
# --check writes nothing and fails if a page is not what the code says.
set -eu
cd "$(dirname "$0")/.."
fidibus=$1
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

ops_page() {
    printf '# Operators\n\nMade by `./run docs` from the operator table (`ops/*.def`); `fidibus ops --json` prints the same for programs.\n\n'
    printf '**reference** is the plain kernel that defines what is right, **cpu** a fast one for float32. A decomposed operator is rewritten\n'
    printf 'by the compiler into others of this list; programs never contain it. What is refused draws random numbers.\n\n'
    printf '| operator | kind | kernels | |\n|---|---|---|---|\n'
    "$fidibus" ops --markdown
}

# Comments become text, everything else code.
api_page() {
    printf '# The C API\n\nMade by `./run docs` from `include/fidibus.h`, which is what counts.\n\n'
    awk '
        function code_on()  { if (!code) { print "```c"; code = 1 } }
        function code_off() { if (code) { print "```\n"; code = 0 } }
        /^#|^extern "C"|^}$|^$/ { if (code && /^$/) code_off(); next }
        /^\/\*/ { code_off(); comment = 1 }
        comment {
            line = $0
            last = sub(/ *\*\/.*/, "", line)
            sub(/^\/\* ?/, "", line); sub(/^ \* ?/, "", line)
            if (line ~ /^---- .* ----$/) { gsub(/---- ?| ?----/, "", line); line = "## " line }
            print line
            if (last) { print ""; comment = 0 }
            next
        }
        { code_on(); print }
        END { code_off() }
    ' include/fidibus.h
}

ops_page >"$new/ops.md"
api_page >"$new/c-api.md"
for page in ops.md c-api.md; do
    cmp -s "$new/$page" "docs/$page" && continue
    if [ "${2-}" = --check ]; then
        echo "docs/$page is not what the code says: run ./run docs" >&2
        exit 1
    fi
    cp "$new/$page" "docs/$page"
    echo "wrote docs/$page"
done
