/* Rows of operators that the table does not have, from schema text. See custom.h. */
#include "compiler/ir/custom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Schema text ---- */

/* "Tensor(a!) x" and "Tensor(a) x" lose their annotations: values of the IR are never aliases. */
static char *plain_schema(fidc_program *program, const char *schema) {
    char *out = fidc_text(program, schema), *to = out;
    for (const char *at = schema; out && *at; at++) {
        bool annotation = *at == '(' && at - schema >= 6 && memcmp(at - 6, "Tensor", 6) == 0;
        if (annotation && strchr(at, ')')) at = strchr(at, ')');
        else *to++ = *at;
    }
    if (out) *to = 0;
    return out;
}

/* Entries between the parentheses, "*" not counted: what a walk over a well-formed schema must find. */
static size_t count_entries(const char *at) {
    size_t count = 0;
    int depth = 0;
    bool blank = true;
    for (; *at && (depth > 0 || *at != ')'); at++) {
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
        if (*at == ',' && depth == 0) blank = true;
        else if (*at != ' ' && *at != '*' && blank) {
            blank = false;
            count++;
        }
    }
    return count;
}

static bool is_well_formed(const char *schema) {
    fid_schema_cursor cursor = fid_schema_begin(schema);
    fid_schema_arg arg;
    const char *arrow = strstr(schema, ") -> ");
    size_t args = 0, results = 0;
    if (schema[0] != '(' || !arrow) return false;
    while (fid_schema_next_arg(&cursor, &arg)) args += arg.name.size > 0;
    while (fid_schema_next_result(&cursor, &arg)) results++;
    arrow += 5;
    return args == count_entries(schema + 1) && results == (*arrow == '(' ? count_entries(arrow + 1) : 1);
}

/* ---- Rows ---- */

static uint8_t kind_of(const char *schema) {
    fid_schema_cursor cursor = fid_schema_begin(schema);
    fid_schema_arg result;
    size_t results = 0, tensors = 0;
    for (; fid_schema_next_result(&cursor, &result); results++) tensors += result.type == FID_SCHEMA_TENSOR;
    if (!results) return FID_OP_EFFECT;
    return tensors ? FID_OP_COMPUTE : FID_OP_SCALAR;
}

const fid_op *fidc_custom_row(fidc_program *program, const char *name, const char *overload, const char *schema) {
    fid_op *op = fidc_allocate(program, sizeof *op);
    if (!op) return NULL;
    *op = (fid_op){.name = fidc_text(program, name), .overload = fidc_text(program, overload), .schema = plain_schema(program, schema)};
    if (!op->name || !op->overload || !op->schema) return NULL;
    op->kind = kind_of(op->schema);
    if (op->kind != FID_OP_COMPUTE) op->out = op->overload;
    else op->out = overload[0] ? fidc_text_format(program, "%s_out", overload) : "out";
    return op->out ? op : NULL;
}

/* ---- Declaring ---- */

const fid_op *fidc_custom_find(const fidc_program *program, const char *name, const char *overload) {
    for (uint32_t i = 0; i < program->declared_count; i++) {
        const fid_op *op = program->declared[i];
        if (strcmp(op->name, name) == 0 && strcmp(op->overload, overload) == 0) return op;
    }
    return NULL;
}

bool fidc_custom_is_declared(const fidc_program *program, const fid_op *op) {
    for (uint32_t i = 0; i < program->declared_count; i++)
        if (program->declared[i] == op) return true;
    return false;
}

static fid_status add_row(fidc_program *program, const fid_op *op) {
    const fid_op **all = fidc_allocate(program, (program->declared_count + 1) * sizeof *all);
    if (!op || !all) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for the schemas of operators");
    if (program->declared_count) memcpy(all, program->declared, program->declared_count * sizeof *all);
    all[program->declared_count++] = op;
    program->declared = all;
    return FID_OK;
}

static fid_status declare_line(fidc_program *program, char *line, const char *where, long number) {
    char *schema = strchr(line, '('), *colons = strstr(line, "::");
    if (!schema || !colons || colons == line || colons > schema) {
        return fid_fail(program->sink, FID_INVALID_ARGUMENT, "%s, line %ld: expected \"namespace::name(Tensor x, int n=1) -> Tensor\", found \"%s\"",
                        where, number, line);
    }
    const char *text = fidc_text(program, schema);
    *schema = 0;
    char *dot = strchr(colons, '.');
    if (dot) *dot = 0;
    const char *overload = dot && strcmp(dot + 1, "default") != 0 ? dot + 1 : "";
    if (text && strchr(text, '!')) {
        return fid_fail(program->sink, FID_NOT_SUPPORTED, "%s, line %ld: %s writes an argument (\"!\"); give it a form that returns the result instead, "
                        "as programs that torch.export makes functional call it", where, number, line);
    }
    const fid_op *op = text ? fidc_custom_row(program, line, overload, text) : NULL;
    if (op && !is_well_formed(op->schema)) {
        return fid_fail(program->sink, FID_INVALID_ARGUMENT, "%s, line %ld: the schema of %s is not understood: %s", where, number, line, text);
    }
    if (fid_op_find(program->ops, line, overload) || fidc_custom_find(program, line, overload)) {
        return fid_fail(program->sink, FID_INVALID_ARGUMENT, "%s, line %ld: %s%s%s is there already", where, number, line, dot ? "." : "", overload);
    }
    return add_row(program, op);
}

static char *trimmed(char *line) {
    line[strcspn(line, "#\r")] = 0;
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length && (line[length - 1] == ' ' || line[length - 1] == '\t')) line[--length] = 0;
    return line;
}

fid_status fidc_custom_declare(fidc_program *program, const char *text, const char *where) {
    char *lines = fidc_text(program, text);
    if (!lines) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for the schemas of operators");
    for (long number = 1; lines; number++) {
        char *line = lines, *end = strchr(lines, '\n');
        if (end) *end = 0;
        lines = end ? end + 1 : NULL;
        line = trimmed(line);
        if (line[0]) FID_TRY(declare_line(program, line, where, number));
    }
    return FID_OK;
}

#define MOST_BYTES (1 << 20)

fid_status fidc_custom_read(fidc_program *program, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return fid_fail(program->sink, FID_ACCESS_FAILED, "cannot open %s: %s", path, strerror(errno));
    char *text = malloc(MOST_BYTES);
    size_t size = text ? fread(text, 1, MOST_BYTES, file) : 0;
    bool ok = text && !ferror(file) && size < MOST_BYTES && !memchr(text, 0, size);
    fclose(file);
    if (ok) text[size] = 0;
    fid_status status = ok ? fidc_custom_declare(program, text, path)
                           : fid_fail(program->sink, FID_INVALID_ARGUMENT, "cannot read %s: expected lines of operator schemas", path);
    free(text);
    return status;
}
