#!/bin/sh
# Every fast kernel of the operator table is compared with its reference by a test in kernels/cpu:  sh tests/proven_test.sh [SOURCE]
#
# cpu_sweep_test.c takes pointwise rows from the table itself; every other row must stand in some test by its name.
set -eu
cd "${1:-$(dirname "$0")/..}"

rows=$(cat ops/*.def | tr '\n' ' ' | sed 's/FID_OP(/\
FID_OP(/g' | grep 'REF_CPU' | grep '^FID_OP([A-Za-z_0-9]*, "' | grep -v ' POINTWISE, ' | sed 's/^FID_OP(\([A-Za-z_0-9]*\),.*/\1/')
[ "$(echo "$rows" | wc -l)" -gt 40 ] || { echo "only a few rows found: has the form of ops/*.def changed?"; exit 1; }
missing=
for row in fused_pointwise $rows; do
    grep -qE "(FID_OPID_|[(,] *)$row\\b" kernels/cpu/*_test.c || missing="$missing $row"
done
[ -z "$missing" ] || { echo "fast kernels that no test in kernels/cpu compares with the reference:$missing"; exit 1; }
