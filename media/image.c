/* Decoding by stb_image; the resize is separable: rows first, then columns. */
#include "media/image.h"

#include <stdlib.h>

#include "base/checked.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* stb_image leaves some; reported at the end of the file */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

#define MOST_SIDE 32768 /* a picture's header may claim anything; this bounds the memory */

bool fid_image_recognize(fid_span file) {
    int width, height, channels;
    return file.size <= INT32_MAX && stbi_info_from_memory(file.data, (int)file.size, &width, &height, &channels);
}

/* The window of the source that is shown: the whole, or a centred square. */
typedef struct window { float left, top, width, height; } window;

static window window_of(int width, int height, float crop) {
    if (crop <= 0) return (window){0, 0, (float)width, (float)height};
    int side = (int)(crop * (float)(width < height ? width : height)); /* whole pixels, as a crop before a resize has them */
    if (side < 1) side = 1;
    return (window){(float)((width - side) / 2), (float)((height - side) / 2), (float)side, (float)side};
}

/* Weights of one output sample along one axis: source samples [first, first + count). */
typedef struct tap_range { int first, count; } tap_range;

static tap_range make_taps(float start, float length, int target, int index, float *weights) {
    float scale = length / (float)target, support = scale > 1 ? scale : 1;
    float center = start + ((float)index + 0.5f) * scale;
    int first = (int)(center - support + 0.5f), last = (int)(center + support + 0.5f);
    int from = (int)start, to = (int)(start + length); /* what was cropped away has no say */
    if (first < from) first = from;
    if (last > to) last = to;
    float total = 0;
    for (int i = first; i < last; i++) {
        float distance = ((float)i - center + 0.5f) / support;
        float weight = 1 - (distance < 0 ? -distance : distance);
        weights[i - first] = weight > 0 ? weight : 0;
        total += weights[i - first];
    }
    for (int i = 0; i < last - first; i++) weights[i] /= total;
    return (tap_range){first, last - first};
}

/* One axis of `lines` lines: out[line][target] = sum of weights * in[line][source], strides in elements. */
typedef struct axis {
    float start, length;
    int target;
} axis;

static void resize_axis(const float *in, size_t in_line, size_t in_step, float *out, size_t out_line, size_t out_step, size_t lines,
                        const axis *a, float *weights) {
    for (int t = 0; t < a->target; t++) {
        tap_range taps = make_taps(a->start, a->length, a->target, t, weights);
        for (size_t line = 0; line < lines; line++) {
            const float *from = in + line * in_line + (size_t)taps.first * in_step;
            float sum = 0;
            for (int i = 0; i < taps.count; i++) sum += weights[i] * from[(size_t)i * in_step];
            out[line * out_line + (size_t)t * out_step] = sum;
        }
    }
}

typedef struct picture {
    const unsigned char *pixels; /* height x width x 3 */
    int width, height;
} picture;

static float channel_of(const unsigned char *pixel, int channels, int c, bool blue_first) {
    if (channels == 1) return 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
    return pixel[blue_first ? 2 - c : c];
}

static void fill_channel(const picture *p, const fid_image_options *o, int channels, int c, int height, int width, float *out, float *plane,
                         float *middle, float *weights) {
    size_t count = (size_t)p->width * (size_t)p->height;
    for (size_t i = 0; i < count; i++) plane[i] = channel_of(p->pixels + 3 * i, channels, c, o->blue_first);
    window w = window_of(p->width, p->height, o->crop);
    axis across = {w.left, w.width, width}, down = {w.top, w.height, height};
    resize_axis(plane, (size_t)p->width, 1, middle, (size_t)width, 1, (size_t)p->height, &across, weights);
    resize_axis(middle, 1, (size_t)width, out, 1, (size_t)width, (size_t)width, &down, weights);
    for (size_t i = 0; i < (size_t)width * (size_t)height; i++) out[i] = (out[i] / o->scale - o->mean[c]) / o->std[c];
}

static fid_status convert(fid_allocator allocator, const fid_sink *sink, const picture *p, const fid_image_options *options, int channels,
                          int height, int width, float *out) {
    size_t plane = (size_t)p->width * (size_t)p->height, middle = (size_t)width * (size_t)p->height;
    size_t most_taps = (size_t)(p->width > p->height ? p->width : p->height) + 2;
    size_t bytes = (plane + middle + most_taps) * sizeof(float);
    float *memory = fid_allocate(allocator, bytes);
    if (!memory) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory to resize a picture of %d x %d", p->width, p->height);
    for (int c = 0; c < channels; c++) {
        fill_channel(p, options, channels, c, height, width, out + (size_t)c * (size_t)height * (size_t)width, memory, memory + plane,
                     memory + plane + middle);
    }
    fid_free(allocator, memory, bytes);
    return FID_OK;
}

fid_status fid_image_to_tensor(fid_allocator allocator, const fid_sink *sink, const char *name, fid_span file, const fid_image_options *options,
                               int channels, int height, int width, float *out) {
    if (channels != 1 && channels != 3) return fid_fail(sink, FID_INVALID_ARGUMENT, "a picture has 1 or 3 channels, the input wants %d", channels);
    int source_width, source_height, unused;
    if (file.size > INT32_MAX || !stbi_info_from_memory(file.data, (int)file.size, &source_width, &source_height, &unused)) {
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "%s is no picture that can be read (JPEG, PNG, BMP, GIF, ...)", name);
    }
    if (source_width > MOST_SIDE || source_height > MOST_SIDE) {
        return fid_fail(sink, FID_NOT_SUPPORTED, "%s is %d x %d; the largest side taken is %d", name, source_width, source_height, MOST_SIDE);
    }
    picture p = {.pixels = NULL};
    unsigned char *pixels = stbi_load_from_memory(file.data, (int)file.size, &p.width, &p.height, &unused, 3);
    if (!pixels) return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "%s: %s", name, stbi_failure_reason());
    p.pixels = pixels;
    fid_status status = convert(allocator, sink, &p, options, channels, height, width, out);
    stbi_image_free(pixels);
    return status;
}
