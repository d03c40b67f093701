#!/bin/sh
# Includes go one way (docs/architecture.md, "Layers"), and libc comes through one door:  sh tests/layers_test.sh [SOURCE]
#
# A row of `allowed` gives a folder and the folders that its files may include. Tests, fuzzers and headers that only they
# include may reach anywhere.
set -eu
cd "${1:-$(dirname "$0")/..}"

grep -rn --include='*.c' --include='*.h' --include='*.def' '^ *# *include' base ops format kernels runtime compiler backends platform include media tools | awk '
    BEGIN {
        allowed["base"] = "base"
        allowed["ops"] = "base ops"
        allowed["format"] = "base ops format"
        allowed["kernels"] = "base ops kernels"
        allowed["runtime"] = "base ops format runtime include"
        allowed["compiler"] = "base ops format kernels compiler"  # kernels: how weights are packed
        allowed["backends"] = "base ops format kernels runtime backends"  # kernels: how weights are packed; runtime: the interface
        allowed["compile"] = "base ops format compiler backends"  # backends/NAME/compile: partitioner and blob writer
        allowed["platform"] = "base ops format runtime backends platform include"  # backends: the default environment
        allowed["include"] = "base ops"
        allowed["media"] = "base media"
        allowed["tools"] = "base ops format kernels runtime compiler backends platform include media tools"  # kernels: what the machine can do
        free_of_libc = "base ops format kernels runtime backends"
    }
    function has(list, word) { return index(" " list " ", " " word " ") > 0 }
    function top(path) { return substr(path, 1, index(path, "/") - 1) }
    {
        split($0, part, ":")
        file = part[1]; line = part[2]
        name = $0
        sub(/^[^<"]*[<"]/, "", name)
        sub(/[>"].*$/, "", name)
        count++
        from[count] = file; at[count] = file ":" line; to[count] = name; system_header[count] = $0 ~ /include *</
        if (file ~ /_(test|fuzz|bench)\.c$/ || file ~ /testing\.h$/) test[file] = 1
        else if (!(file in test)) test[file] = 0
    }
    END {
        if (count < 300) { print "only " count " includes found: the search is broken"; exit 1 }
        # A header is for tests if somebody includes it and nobody but tests does.
        for (i = 1; i <= count; i++) if (!system_header[i]) { users[to[i]]++; if (test[from[i]]) by_tests[to[i]]++ }
        for (header in users) if (header ~ /\.h$/ && users[header] == by_tests[header]) test[header] = 1
        for (i = 1; i <= count; i++) {
            folder = from[i] ~ /^backends\/([^\/]+\/compile\/|compile_)/ ? "compile" : top(from[i])
            if (test[from[i]]) continue
            if (system_header[i]) {
                door = from[i] == "base/deps.h" || to[i] == "immintrin.h" || to[i] ~ /^(arm_neon|arm_sve|wasm_simd128|riscv_vector)\.h$/
                if (has(free_of_libc, folder) && !door) { print at[i] ": <" to[i] "> outside base/deps.h"; faults++ }
            } else if (to[i] ~ /\//) {
                if (!has(allowed[folder], top(to[i]))) { print at[i] ": " folder "/ may not include " to[i]; faults++ }
                if (test[to[i]] && !test[from[i]]) { print at[i] ": " to[i] " is for tests"; faults++ }
            } else if (to[i] != "fidibus.h") { print at[i] ": \"" to[i] "\" needs its folder"; faults++ }
            else if (!has(allowed[folder], "include")) { print at[i] ": " folder "/ may not include " to[i]; faults++ }
        }
        if (faults) { print faults " include(s) against the layers"; exit 1 }
        print count " includes follow the layers"
    }'
