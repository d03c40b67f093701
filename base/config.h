/* Every compile-time switch of fidibus.
 *
 * A switch belongs here only if it is worth a CI configuration of its own;
 * otherwise it is a runtime option or a choice of what to link. */
#ifndef FID_BASE_CONFIG_H
#define FID_BASE_CONFIG_H

/* 1: failures carry a sentence for people (fid_sink). 0: status codes only; the sentences are not even linked. */
#ifndef FID_MESSAGES
#define FID_MESSAGES 1
#endif

/* 1: the default environment offers the backend that runs XNNPACK delegates. The build sets it (option FIDIBUS_XNNPACK). */
#ifndef FID_BACKEND_XNNPACK
#define FID_BACKEND_XNNPACK 0
#endif

/* Largest number of dimensions of a tensor; upstream's limit is the same. */
#define FID_MAX_RANK 16

#endif
