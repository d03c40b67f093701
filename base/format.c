/* A small printf for sentences: what base/status.h lists, nothing else, no libc. */
#include "base/status.h"

typedef struct text_out {
    char *text;
    size_t size, length; /* length: as if there were room */
} text_out;

static void put(text_out *out, char c) {
    if (out->length + 1 < out->size) out->text[out->length] = c;
    out->length++;
}

static void put_text(text_out *out, const char *text, size_t most) {
    for (size_t i = 0; i < most && text[i]; i++) put(out, text[i]);
}

static void put_unsigned(text_out *out, unsigned long long value, unsigned base, int width) {
    char digits[24];
    int count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (width-- > count) put(out, '0');
    while (count) put(out, digits[--count]);
}

static void put_signed(text_out *out, long long value) {
    if (value < 0) put(out, '-');
    put_unsigned(out, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value, 10, 0);
}

/* Six significant digits, trailing zeros cut: enough for sentences; not for files. */
static void put_double(text_out *out, double value) {
    if (value != value) { put_text(out, "nan", 3); return; }
    if (value < 0) { put(out, '-'); value = -value; }
    if (value > 1.7976931348623157e308) { put_text(out, "inf", 3); return; }
    int exponent = 0;
    if (value != 0) {
        while (value >= 10) { value /= 10; exponent++; }
        while (value < 1) { value *= 10; exponent--; }
    }
    unsigned long long scaled = (unsigned long long)(value * 100000 + 0.5);
    if (scaled >= 1000000) { scaled /= 10; exponent++; }
    char digits[6];
    for (int i = 5; i >= 0; i--) { digits[i] = (char)('0' + scaled % 10); scaled /= 10; }
    int last = 5;
    while (last > 0 && digits[last] == '0') last--;
    bool scientific = exponent < -4 || exponent > 5;
    int point = scientific ? 0 : exponent; /* digits before the point, less one */
    if (point < 0) {
        put_text(out, "0.", 2);
        for (int i = -1; i > point; i--) put(out, '0');
    }
    for (int i = 0; i <= last || i <= point; i++) {
        put(out, i <= last ? digits[i] : '0');
        if (i == point && i < last) put(out, '.');
    }
    if (scientific) { put(out, 'e'); put_signed(out, exponent); }
}

typedef struct directive {
    int length;      /* 0 int, 1 long, 2 long long, 3 size_t */
    int precision;   /* -1: none */
    int width;       /* zero padding */
} directive;

static const char *read_directive(const char *at, directive *d, va_list *list) {
    *d = (directive){0, -1, 0};
    while (*at >= '0' && *at <= '9') d->width = d->width * 10 + (*at++ - '0');
    if (at[0] == '.' && at[1] == '*') { d->precision = va_arg(*list, int); at += 2; }
    while (*at == 'l') { d->length++; at++; }
    if (*at == 'z') { d->length = 3; at++; }
    return at;
}

static unsigned long long take_unsigned(int length, va_list *list) {
    if (length == 3) return va_arg(*list, size_t);
    if (length == 2) return va_arg(*list, unsigned long long);
    if (length == 1) return va_arg(*list, unsigned long);
    return va_arg(*list, unsigned);
}

static long long take_signed(int length, va_list *list) {
    if (length == 3) return (long long)va_arg(*list, size_t);
    if (length == 2) return va_arg(*list, long long);
    if (length == 1) return va_arg(*list, long);
    return va_arg(*list, int);
}

static void put_directive(text_out *out, char kind, const directive *d, va_list *list) {
    switch (kind) {
    case 's': {
        const char *text = va_arg(*list, const char *);
        put_text(out, text ? text : "(null)", d->precision < 0 ? SIZE_MAX : (size_t)d->precision);
        break;
    }
    case 'c': put(out, (char)va_arg(*list, int)); break;
    case 'd': put_signed(out, take_signed(d->length, list)); break;
    case 'u': put_unsigned(out, take_unsigned(d->length, list), 10, d->width); break;
    case 'x': put_unsigned(out, take_unsigned(d->length, list), 16, d->width); break;
    case 'g': put_double(out, va_arg(*list, double)); break;
    default: put(out, kind); break;
    }
}

size_t fid_format_list(char *text, size_t size, const char *format, va_list list) {
    text_out out = {text, size, 0};
    va_list copy;
    va_copy(copy, list);
    for (const char *at = format; *at; at++) {
        if (*at != '%') { put(&out, *at); continue; }
        directive d;
        at = read_directive(at + 1, &d, &copy);
        if (!*at) break;
        put_directive(&out, *at, &d, &copy);
    }
    va_end(copy);
    if (size) text[out.length < size ? out.length : size - 1] = 0;
    return out.length;
}

size_t fid_format(char *text, size_t size, const char *format, ...) {
    va_list list;
    va_start(list, format);
    size_t length = fid_format_list(text, size, format, list);
    va_end(list);
    return length;
}
