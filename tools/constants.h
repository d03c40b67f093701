/* --constant NAME=VALUE: methods that only return a constant. */
#ifndef FID_TOOLS_CONSTANTS_H
#define FID_TOOLS_CONSTANTS_H

#include "compiler/constant_methods.h"
#include "tools/command.h"

#define CONSTANT_OPTION_ROW                                                                                            \
    {"--constant", "NAME=VALUE", "adds a method that returns VALUE: a number, True, False, a text, a JSON list or dict of these, or the\n" \
                                 "                             array in FILE.npy; may be repeated"}

typedef struct constant_list {
    fidc_constant_method *methods;
    size_t count;
    struct constant_memory *memory; /* what the methods point to */
} constant_list;

/* Reads what --constant says; a usage error is told, and its exit status returned. Close also after a failure. */
int constants_read(const arguments *a, constant_list *out_list);
void constants_close(constant_list *list);

#endif
