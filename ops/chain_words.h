/* The words in which ops/chain.def writes steps, as initializers of fid_step; chain.def says what each means. Single letters, so only
 * for files that include chain.def, and after all other headers. */
#include "ops/chain.h"

#define A(i) {FID_FROM_INPUT, i, 0}
#define O(i, otherwise) {FID_FROM_INPUT, i, otherwise}
#define S(i) {FID_FROM_STEP, i, 0}
#define N(number) {FID_FROM_NUMBER, 0, number}
#define U(NAME, ...) {FID_STEP_UNARY, FID_UNARY_##NAME, {__VA_ARGS__}}
#define B(NAME, ...) {FID_STEP_BINARY, FID_BINARY_##NAME, {__VA_ARGS__}}
#define W(...) {FID_STEP_WHERE, 0, {__VA_ARGS__}}
