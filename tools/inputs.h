/* What --input means: an .npy file, a number, True, False, None, a text, or a picture. */
#ifndef FID_TOOLS_INPUTS_H
#define FID_TOOLS_INPUTS_H

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
/* Zeros, or for floats a fixed pattern of small numbers: something to run with when nothing is given. */
fid_status loaded_input_make(const fid_environment *environment, const fid_tensor_info *info, loaded_input *out_input);
void loaded_input_free(loaded_input *input);

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
