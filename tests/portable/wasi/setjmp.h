/* WebAssembly without exceptions cannot jump out of a function: see ../cmocka.h. */
#define FID_TESTS_WITHOUT_JUMPS 1
