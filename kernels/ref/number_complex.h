/* The bodies of this folder (*_body.h) for complex numbers. A complex number of C is its two parts in memory, as ours is. */
#undef NUMBER
#undef N
#undef CONJ
#undef SIZE
#undef PIVOT_SIZE
#undef PART
#undef IS_REAL
#define NUMBER double _Complex
#define N(name) name##_complex
#define CONJ(x) complex_conj(x)
#define SIZE(x) complex_size(x)
#define PIVOT_SIZE(x) complex_pivot_size(x)
#define PART(x) complex_part(x)
#define IS_REAL(x) complex_is_real(x)

typedef union complex_parts { double _Complex whole; double part[2]; } complex_parts;
static inline double _Complex complex_conj(double _Complex x) {
    complex_parts p = {.whole = x};
    p.part[1] = -p.part[1];
    return p.whole;
}
static inline double complex_size(double _Complex x) {
    complex_parts p = {.whole = x};
    return hypot(p.part[0], p.part[1]);
}
/* What LAPACK compares pivots by. */
static inline double complex_pivot_size(double _Complex x) {
    complex_parts p = {.whole = x};
    return fabs(p.part[0]) + fabs(p.part[1]);
}
static inline double complex_part(double _Complex x) { return ((complex_parts){.whole = x}).part[0]; }
static inline bool complex_is_real(double _Complex x) { return ((complex_parts){.whole = x}).part[1] == 0; }
