/* Operators that no row names: each call gets a row of its own, made from what the archive tells of the call, so that reading goes
 * on and one report names all of them. Where the runtime is to bring the kernels, such a call is written as it stands; a schema file
 * gives the arguments that the archive leaves out. */
#include "compiler/archive/reader.h"
#include "compiler/ir/custom.h"

typedef struct kind_type { const char *kind, *type; } kind_type;

static const kind_type types[] = {
    {"as_tensor", "Tensor"}, {"as_tensors", "Tensor[]"}, {"as_optional_tensor", "Tensor?"}, {"as_optional_tensors", "Tensor?[]"},
    {"as_int", "int"}, {"as_ints", "int[]"}, {"as_sym_int", "int"}, {"as_sym_ints", "int[]"}, {"as_float", "float"},
    {"as_floats", "float[]"}, {"as_sym_float", "float"}, {"as_sym_floats", "float[]"}, {"as_bool", "bool"}, {"as_bools", "bool[]"},
    {"as_sym_bool", "bool"}, {"as_sym_bools", "bool[]"}, {"as_string", "str"}, {"as_operator", "str"}, {"as_scalar_type", "ScalarType"},
    {"as_memory_format", "MemoryFormat"}, {"as_layout", "Layout"}, {"as_device", "Device"}, {"as_none", "Tensor?"},
};

static const char *type_of(const json_t *argument) {
    const char *kind = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)argument));
    for (size_t i = 0; kind && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].kind, kind) == 0) return types[i].type;
    return "Tensor?"; /* what no row could take either: reading the argument says so */
}

static const char *add_inputs(fidc_reader *r, const char *text, const json_t *inputs) {
    json_t *input;
    size_t i, count = 0;
    json_array_foreach(inputs, i, input) {
        const json_t *argument = json_object_get(input, "arg");
        const char *name = json_string_value(json_object_get(input, "name"));
        if (!json_is_object(argument) || json_object_get(argument, "as_graph")) continue;
        bool plain = name && name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
        const char *made = plain ? name : fidc_text_format(r->program, "arg%zu", i);
        text = text && made ? fidc_text_format(r->program, "%s%s%s %s", text, count++ ? ", " : "", type_of(argument), made) : NULL;
    }
    return text;
}

static const char *add_outputs(fidc_reader *r, const char *text, const json_t *outputs) {
    json_t *output;
    size_t i;
    json_array_foreach(outputs, i, output) {
        text = text ? fidc_text_format(r->program, "%s%s%s", text, i ? ", " : "", type_of(output)) : NULL;
    }
    return text;
}

const fid_op *fidc_invent_row(fidc_reader *r, const fidc_target_row *target, const json_t *inputs, const json_t *outputs) {
    const char *text = add_inputs(r, "(", inputs);
    text = text ? add_outputs(r, fidc_text_format(r->program, "%s) -> (", text), outputs) : NULL;
    text = text ? fidc_text_format(r->program, "%s)", text) : NULL;
    return text ? fidc_custom_row(r->program, target->name, target->overload, text) : NULL;
}
