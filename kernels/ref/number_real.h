/* The bodies of this folder (*_body.h) for real numbers. */
#undef NUMBER
#undef N
#undef CONJ
#undef SIZE
#undef PIVOT_SIZE
#undef PART
#undef IS_REAL
#define NUMBER double
#define N(name) name##_real
#define CONJ(x) (x)
#define SIZE(x) fabs(x)
#define PIVOT_SIZE(x) fabs(x)
#define PART(x) (x)
#define IS_REAL(x) true
