/* Pictures before a model: decode, resize, crop, normalize to a float32 tensor. */
#ifndef FID_MEDIA_IMAGE_H
#define FID_MEDIA_IMAGE_H

#include "base/allocator.h"
#include "base/span.h"
#include "base/status.h"

/* How pixels become numbers: out = (pixel / scale - mean) / std, per channel. */
typedef struct fid_image_options {
    float scale;           /* 255 gives [0, 1] before mean and std; 1 keeps 0..255 */
    float mean[3], std[3];
    float crop;            /* share of the shorter side that the centred square keeps; 0: squeeze the whole picture */
    bool blue_first;       /* BGR */
} fid_image_options;

/* Decodes JPEG, PNG, BMP, GIF, ... (`name` stands in sentences) and fills `out`: channels x height x width, row-major float32;
 * channels is 1 (luminance) or 3. Resizing is bilinear with antialiasing: a triangle filter as wide as the reduction,
 * pixel centres at half integers, what torch.nn.functional.interpolate(antialias=True) computes. */
fid_status fid_image_to_tensor(fid_allocator allocator, const fid_sink *sink, const char *name, fid_span file, const fid_image_options *options,
                               int channels, int height, int width, float *out);

/* True if the bytes begin like a picture that fid_image_to_tensor reads. */
bool fid_image_recognize(fid_span file);

#endif
