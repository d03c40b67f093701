/* Where inputs come from: what --input means (an .npy file, a number, True, False, None, a text, or a picture), and the sample
 * inputs of a bundled program. */
#ifndef FID_TOOLS_INPUTS_H
#define FID_TOOLS_INPUTS_H

#include "format/bpte.h"
#include "media/image.h"
#include "tools/command.h"

/* One argument as a value, with the memory behind it. */
typedef struct loaded_input {
    fid_value value;
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
    void *data; /* malloc'ed */
} loaded_input;

/* Reads `text` for an input that the method describes by `info`. The sentence goes to the sink. */
fid_status loaded_input_read(const fid_environment *environment, const char *text, const fid_tensor_info *info, const fid_image_options *image,
                             loaded_input *out_input);
void loaded_input_free(loaded_input *input);

/* A file that may be a bundled program. */
typedef struct bundle_file {
    void *map; /* NULL: it is no bundle */
    size_t size;
    fid_bpte bundle;
} bundle_file;
/* A file that is no bundle is no failure: whoever opens the program says what it is. */
fid_status bundle_open(const fid_environment *environment, const char *path, bundle_file *out_file);
void bundle_close(bundle_file *file);

/* What the inputs of a call are taken from. */
typedef struct input_source {
    const fid_environment *environment;
    const fid_image_options *image;
    const bundle_file *bundle;
    const char *method_name;
    fid_method *method;
} input_source;

/* How many --input there are. */
size_t inputs_given(const given_option *options, int count);
/* FID_INVALID_ARGUMENT, with a sentence, unless the method's inputs can be had from these options or from the bundle. */
fid_status inputs_check(const input_source *source, const given_option *options, int count);
/* Reads the inputs of a call that passed the check into `loaded`, which has an entry, zeroed, for each input of the method. Without
 * --input it takes case `call` of the bundle, which start anew when there are fewer. */
fid_status inputs_read(const input_source *source, const given_option *options, int count, size_t call, loaded_input *loaded);
/* For measurements: those given by --input, else those of the bundle, else made up. `loaded` as above. */
fid_status inputs_read_or_make(const input_source *source, const arguments *a, loaded_input *loaded);
/* Gives them to the method, by reference. */
fid_status inputs_set(fid_method *method, const loaded_input *loaded);

/* --image-mean, --image-std, --image-scale, --image-crop, --image-bgr. */
#define IMAGE_OPTION_ROWS                                                                                              \
    {"--image-mean", "R,G,B", "pictures: (pixel / scale - mean) / std; default 0.485,0.456,0.406"},                    \
    {"--image-std", "R,G,B", "default 0.229,0.224,0.225"},                                                             \
    {"--image-scale", "X", "default 255"},                                                                             \
    {"--image-crop", "X", "share of the shorter side that a centred square keeps, default 0.875; 0 squeezes"},         \
    {"--image-bgr", NULL, "blue channel first"}
bool image_options_read(const arguments *a, fid_image_options *out_options);

/* "float32[1, 3, 224, 224]" or "int" into text. */
const char *info_text(const fid_tensor_info *info, char *text, size_t size);

#endif
