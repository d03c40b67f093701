/* Reading inputs from the command line. */
#include "tools/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/npy.h"

const char *info_text(const fid_tensor_info *info, char *text, size_t size) {
    static const char *const names[] = {[FID_TAG_NONE] = "None", [FID_TAG_STRING] = "text", [FID_TAG_DOUBLE] = "float",
                                        [FID_TAG_INT] = "int", [FID_TAG_BOOL] = "bool"};
    if (info->tag != FID_TAG_TENSOR) {
        fid_format(text, size, "%s", info->tag <= FID_TAG_BOOL && names[info->tag] ? names[info->tag] : "list");
        return text;
    }
    char sizes[160];
    fid_format(text, size, "%s%s%s", fid_dtype_name((fid_dtype)info->dtype), fid_shape_text(info->sizes, info->rank, sizes, sizeof sizes),
               info->dynamism == FID_STATIC ? "" : info->dynamism == FID_DYNAMIC_UNBOUND ? ", without a bound" : " at most");
    return text;
}

static void set_tensor(loaded_input *in, fid_dtype dtype, const int64_t *sizes, size_t rank, void *data) {
    in->data = data;
    for (size_t i = 0; i < rank; i++) {
        in->sizes[i] = sizes[i];
        in->dim_order[i] = (uint8_t)i;
    }
    in->tensor = (fid_tensor){.data = data, .sizes = in->sizes, .strides = in->strides, .dim_order = in->dim_order, .rank = (uint8_t)rank,
                              .dtype = (uint8_t)dtype};
    fid_tensor_update_strides(&in->tensor);
    in->value = fid_tensor_value(&in->tensor);
}

static fid_status read_npy(const fid_environment *env, const char *path, fid_span file, const fid_tensor_info *info, loaded_input *out) {
    fid_npy npy;
    FID_TRY(fid_npy_parse(&env->sink, path, file, &npy));
    if (info->tag != FID_TAG_TENSOR) return fid_fail(&env->sink, FID_INVALID_TYPE, "%s is an array, the method takes a plain value here", path);
    fid_dtype dtype = fid_npy_dtype_fits(npy.dtype, (fid_dtype)info->dtype) ? (fid_dtype)info->dtype : npy.dtype;
    void *data = malloc(npy.data.size ? npy.data.size : 1);
    if (!data) return fid_fail(&env->sink, FID_OUT_OF_MEMORY, "no memory for %s", path);
    fid_npy_copy_row_major(&npy, data);
    set_tensor(out, dtype, npy.sizes, npy.rank, data);
    return FID_OK;
}

static fid_status read_picture(const fid_environment *env, const char *path, fid_span file, const fid_tensor_info *info,
                               const fid_image_options *image, loaded_input *out) {
    bool fits = info->tag == FID_TAG_TENSOR && info->dtype == FID_FLOAT32 && (info->rank == 4 || info->rank == 3) &&
                (info->rank == 3 || info->sizes[0] == 1 || info->dynamism != FID_STATIC);
    if (!fits) {
        char text[200];
        return fid_fail(&env->sink, FID_INVALID_TYPE, "%s is a picture; the method takes %s here, not float32[1, channels, height, width]", path,
                        info_text(info, text, sizeof text));
    }
    const int64_t *sizes = info->sizes + (info->rank - 3);
    int64_t all[4] = {1, sizes[0], sizes[1], sizes[2]};
    size_t count;
    if (!fid_mul_sizes(sizes, 3, &count) || sizes[1] > 16384 || sizes[2] > 16384) {
        return fid_fail(&env->sink, FID_NOT_SUPPORTED, "the input is too large for a picture");
    }
    float *data = malloc((count + 1) * sizeof *data);
    if (!data) return fid_fail(&env->sink, FID_OUT_OF_MEMORY, "no memory for %s", path);
    set_tensor(out, FID_FLOAT32, all + (4 - info->rank), info->rank, data);
    return fid_image_to_tensor(env->allocator, &env->sink, path, file, image, (int)sizes[0], (int)sizes[1], (int)sizes[2], data);
}

/* A number, True, False or None; false if the text is none of them. */
static bool read_literal(const char *text, const fid_tensor_info *info, loaded_input *out) {
    bool truth = strcmp(text, "True") == 0;
    if (strcmp(text, "None") == 0) { out->value = fid_none_value(); return true; }
    if (truth || strcmp(text, "False") == 0) { out->value = fid_bool_value(truth); return true; }
    char *end_integer, *end_double;
    errno = 0;
    long long integer = strtoll(text, &end_integer, 10);
    double number = strtod(text, &end_double);
    if (*text == 0 || *end_double) return false;
    out->value = *end_integer || info->tag == FID_TAG_DOUBLE ? fid_double_value(number) : fid_int_value(integer);
    return true;
}

static void store_number(const fid_value *number, fid_dtype dtype, void *out) {
    double d = fid_value_double(number);
    int64_t i = fid_value_int(number);
    switch (dtype) {
    case FID_FLOAT32: *(float *)out = (float)d; break;
    case FID_FLOAT64: *(double *)out = d; break;
    default: memcpy(out, &i, fid_dtype_size(dtype)); break; /* little-endian: the low bytes of an integer */
    }
}

/* A number for an input that is a tensor of one element. */
static fid_status number_to_tensor(const fid_environment *env, const char *text, const fid_tensor_info *info, loaded_input *out) {
    size_t count;
    bool plain = info->dtype == FID_FLOAT32 || info->dtype == FID_FLOAT64 || fid_dtype_is_integer((fid_dtype)info->dtype) || info->dtype == FID_BOOL;
    if (!plain || !fid_value_is_number(&out->value) || !fid_mul_sizes(info->sizes, info->rank, &count) || count != 1) {
        char wanted[200];
        return fid_fail(&env->sink, FID_INVALID_TYPE, "\"%s\" is one number, the method takes %s here: give an .npy file", text,
                        info_text(info, wanted, sizeof wanted));
    }
    void *data = calloc(1, 16);
    if (!data) return fid_fail(&env->sink, FID_OUT_OF_MEMORY, "no memory");
    store_number(&out->value, (fid_dtype)info->dtype, data);
    set_tensor(out, (fid_dtype)info->dtype, info->sizes, info->rank, data);
    return FID_OK;
}

static bool has_npy_magic(fid_span file) { return file.size >= 6 && memcmp(file.data, "\x93NUMPY", 6) == 0; }

static fid_status read_from_file(const fid_environment *env, const char *path, const fid_tensor_info *info, const fid_image_options *image,
                                 loaded_input *out) {
    size_t size;
    void *bytes = read_file(path, &size);
    if (!bytes) return fid_fail(&env->sink, FID_ACCESS_FAILED, "cannot read %s: %s", path, strerror(errno));
    fid_span file = fid_span_of(bytes, size);
    fid_status status;
    if (has_npy_magic(file)) status = read_npy(env, path, file, info, out);
    else if (fid_image_recognize(file)) status = read_picture(env, path, file, info, image, out);
    else status = fid_fail(&env->sink, FID_INVALID_ARGUMENT, "%s is neither an .npy file nor a picture", path);
    free(bytes);
    return status;
}

fid_status loaded_input_read(const fid_environment *env, const char *text, const fid_tensor_info *info, const fid_image_options *image,
                             loaded_input *out) {
    *out = (loaded_input){.value = fid_none_value()};
    if (info->tag == FID_TAG_STRING) {
        out->value.tag = FID_TAG_STRING;
        out->value.as.string.text = text;
        out->value.as.string.length = strlen(text);
        return FID_OK;
    }
    if (!read_literal(text, info, out)) return read_from_file(env, text, info, image, out);
    return info->tag == FID_TAG_TENSOR ? number_to_tensor(env, text, info, out) : FID_OK;
}

/* Zeros, or for floats a fixed pattern of small numbers: something to run with when nothing is given. Numbers and texts are those that
 * the program was made with. */
static fid_status make_input(const fid_environment *env, const fid_method *method, size_t index, loaded_input *out) {
    fid_tensor_info input, *info = &input;
    *out = (loaded_input){.value = fid_none_value()};
    FID_TRY(fid_method_input_info(method, index, info));
    if (info->tag != FID_TAG_TENSOR) return fid_method_input_first(method, index, &out->value);
    size_t count;
    if (!fid_mul_sizes(info->sizes, info->rank, &count)) return fid_fail(&env->sink, FID_NOT_SUPPORTED, "the input has no bound to run at");
    uint8_t *data = calloc(count + 1, fid_dtype_size((fid_dtype)info->dtype));
    if (!data) return fid_fail(&env->sink, FID_OUT_OF_MEMORY, "no memory for an input of %zu elements", count);
    for (size_t i = 0; info->dtype == FID_FLOAT32 && i < count; i++) ((float *)(void *)data)[i] = (float)((i * 7919) % 2001) / 1000.0f - 1.0f;
    set_tensor(out, (fid_dtype)info->dtype, info->sizes, info->rank, data);
    return FID_OK;
}

void loaded_input_free(loaded_input *input) {
    free(input->data);
    input->data = NULL;
}

/* ---- Bundles ---- */

fid_status bundle_open(const fid_environment *env, const char *path, bundle_file *out) {
    struct stat about;
    *out = (bundle_file){.map = NULL};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return FID_OK;
    void *map = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size
                    ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (map == MAP_FAILED) return FID_OK;
    fid_span file = fid_span_of(map, (size_t)about.st_size);
    bool is_bundle = fid_bpte_recognize(file);
    fid_status status = is_bundle ? fid_bpte_open(&env->sink, file, &out->bundle) : FID_OK;
    if (is_bundle && status == FID_OK) {
        out->map = map;
        out->size = file.size;
        return FID_OK;
    }
    munmap(map, file.size);
    return status == FID_OK ? FID_OK : fid_fail(&env->sink, status, "%s", path);
}

void bundle_close(bundle_file *file) {
    if (file->map) munmap(file->map, file->size);
    file->map = NULL;
}

/* Copied out of the file: aligned, and apart from the pages of the program. */
static fid_status read_bundled(const fid_environment *env, fid_fb_vector values, uint32_t index, loaded_input *out) {
    fid_bpte_value bundled;
    fid_bpte_value_at(values, index, &bundled);
    out->value = bundled.value;
    if (bundled.value.tag != FID_TAG_TENSOR) return FID_OK;
    const fid_tensor *tensor = &bundled.tensor;
    void *data = malloc(fid_tensor_bytes(tensor) + 1);
    if (!data) return fid_fail(&env->sink, FID_OUT_OF_MEMORY, "no memory for input %u of the bundle", index);
    if (fid_tensor_bytes(tensor)) memcpy(data, tensor->data, fid_tensor_bytes(tensor));
    set_tensor(out, (fid_dtype)tensor->dtype, tensor->sizes, tensor->rank, data);
    memcpy(out->dim_order, tensor->dim_order, tensor->rank);
    fid_tensor_update_strides(&out->tensor);
    return FID_OK;
}

/* ---- The inputs of a call ---- */

size_t inputs_given(const given_option *options, int count) {
    size_t inputs = 0;
    for (int i = 0; i < count; i++) inputs += strcmp(options[i].name, "--input") == 0;
    return inputs;
}

static size_t cases_of(const input_source *source) {
    return source->bundle->map ? fid_bpte_case_count(&source->bundle->bundle, source->method_name) : 0;
}

fid_status inputs_check(const input_source *source, const given_option *options, int count) {
    size_t wanted = fid_method_input_count(source->method), given = inputs_given(options, count), cases = given ? 0 : cases_of(source);
    for (size_t i = 0; i < cases; i++) {
        size_t bundled = fid_bpte_case_at(&source->bundle->bundle, source->method_name, i).inputs.count;
        if (bundled != wanted) {
            return fid_fail(&source->environment->sink, FID_INVALID_PROGRAM, "the method takes %zu input%s, the bundle's case %zu has %zu", wanted,
                            plural(wanted), i, bundled);
        }
    }
    if (cases || given == wanted) return FID_OK;
    return fid_fail(&source->environment->sink, FID_INVALID_ARGUMENT, "the method takes %zu input%s, %zu given; `fidibus inspect` lists them", wanted,
                    plural(wanted), given);
}

static fid_status read_case(const input_source *source, size_t call, loaded_input *loaded) {
    size_t cases = cases_of(source);
    if (!cases) return FID_OK; /* a method without inputs */
    fid_fb_vector inputs = fid_bpte_case_at(&source->bundle->bundle, source->method_name, call % cases).inputs;
    for (uint32_t i = 0; i < inputs.count; i++) FID_TRY(read_bundled(source->environment, inputs, i, &loaded[i]));
    return FID_OK;
}

fid_status inputs_read(const input_source *source, const given_option *options, int count, size_t call, loaded_input *loaded) {
    if (!inputs_given(options, count)) return read_case(source, call, loaded);
    size_t index = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(options[i].name, "--input") != 0) continue;
        fid_tensor_info info;
        FID_TRY(fid_method_input_info(source->method, index, &info));
        FID_TRY(loaded_input_read(source->environment, options[i].value, &info, source->image, &loaded[index]));
        index++;
    }
    return FID_OK;
}

fid_status inputs_set(fid_method *method, const loaded_input *loaded) {
    for (size_t i = 0; i < fid_method_input_count(method); i++) {
        bool tensor = loaded[i].value.tag == FID_TAG_TENSOR;
        fid_input input = {.struct_size = sizeof input, .value = loaded[i].value, .strides = tensor ? loaded[i].strides : NULL, .by_reference = true};
        FID_TRY(fid_method_set_input(method, i, &input));
    }
    return FID_OK;
}

/* ---- Pictures' options ---- */

static bool read_three(const arguments *a, const char *name, float *out) {
    const char *text = option_text(a, name);
    if (!text) return true;
    char *end = (char *)(uintptr_t)text;
    int count = 0;
    while (count < 3) {
        const char *start = end;
        out[count++] = strtof(start, &end);
        if (end == start) break;
        if (*end == ',') end++;
        else break;
    }
    if (count == 1) out[1] = out[2] = out[0];
    if (*end || count == 2) {
        usage_error(a, "%s takes one number or three with commas, not \"%s\"", name, text);
        return false;
    }
    return true;
}

bool image_options_read(const arguments *a, fid_image_options *out) {
    *out = (fid_image_options){.scale = 255, .mean = {0.485f, 0.456f, 0.406f}, .std = {0.229f, 0.224f, 0.225f}, .crop = 0.875f};
    const char *scale = option_text(a, "--image-scale"), *crop = option_text(a, "--image-crop");
    if (scale) out->scale = strtof(scale, NULL);
    if (crop) out->crop = strtof(crop, NULL);
    out->blue_first = option_flag(a, "--image-bgr");
    if (!(out->scale > 0) || !(out->crop >= 0 && out->crop <= 1)) {
        usage_error(a, "--image-scale is above 0 and --image-crop between 0 and 1");
        return false;
    }
    if (!read_three(a, "--image-mean", out->mean) || !read_three(a, "--image-std", out->std)) return false;
    for (int i = 0; i < 3; i++) {
        if (out->std[i] == 0) return usage_error(a, "--image-std divides: 0 cannot be"), false;
    }
    return true;
}

fid_status inputs_read_or_make(const input_source *source, const arguments *a, loaded_input *loaded) {
    bool bundled = source->bundle->map && fid_bpte_case_count(&source->bundle->bundle, source->method_name);
    if (bundled || inputs_given(a->options, a->option_count)) {
        FID_TRY(inputs_check(source, a->options, a->option_count));
        return inputs_read(source, a->options, a->option_count, 0, loaded);
    }
    for (size_t i = 0; i < fid_method_input_count(source->method); i++) FID_TRY(make_input(source->environment, source->method, i, &loaded[i]));
    return FID_OK;
}
