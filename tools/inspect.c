/* fidibus inspect: what is in a file. .pte programs, alone or in a bundle; .ptd data; .pt2 archives as IR; .npy arrays. */
#include <errno.h>
#include <stdlib.h>

#include "compiler/archive/archive.h"
#include "format/bpte.h"
#include "format/etdump.h"
#include "format/npy.h"
#include "format/pte.h"
#include "format/ptd.h"
#include "tools/command.h"

static const option_row options[] = {
    {"--json", NULL, "one JSON object"},
    {"--kernels", NULL, "of a program: which operators run on plain reference kernels on this machine"},
    {NULL, NULL, NULL},
};

/* ---- Programs ---- */

/* "float32[1, 3, 224, 224]" of a Tensor table, "int" of an Int, ... */
static const char *value_text(fid_fb_ref value, char *text, size_t size) {
    static const char *const names[] = {"None", "None", "int", "bool", "float", "tensor", "text", "int list", "float list", "bool list", "tensor list", "optional tensor list"};
    uint8_t tag = fid_fb_get_u8(value, FID_PTE_EValue_val_type, 0);
    if (tag != FID_PTE_TAG_Tensor) return tag < sizeof names / sizeof names[0] ? names[tag] : "?";
    fid_fb_ref tensor = fid_fb_get_table(value, FID_PTE_EValue_val);
    fid_fb_vector sizes = fid_fb_get_vector(tensor, FID_PTE_Tensor_sizes);
    fid_dtype dtype = (fid_dtype)fid_fb_get_i8(tensor, FID_PTE_Tensor_scalar_type, 0);
    size_t at = fid_format(text, size, "%s[", fid_dtype_name(dtype));
    for (uint32_t i = 0; i < sizes.count && at < size; i++) at += fid_format(text + at, size - at, i ? ", %d" : "%d", (int)fid_fb_i32_at(sizes, i));
    bool dynamic = fid_fb_get_i8(tensor, FID_PTE_Tensor_shape_dynamism, 0) != 0;
    if (at < size) fid_format(text + at, size - at, dynamic ? "] at most" : "]");
    return text;
}

static void print_values(fid_fb_ref plan, uint32_t slot, const char *what, bool json) {
    fid_fb_vector values = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_values), list = fid_fb_get_vector(plan, slot);
    if (json) printf(", \"%ss\": [", what);
    for (uint32_t i = 0; i < list.count; i++) {
        char text[300];
        uint32_t index = (uint32_t)fid_fb_i32_at(list, i);
        const char *described = index < values.count ? value_text(fid_fb_table_at(values, index), text, sizeof text) : "?";
        if (json) {
            printf(i ? ", " : "");
            print_json_text(stdout, described);
        } else printf("  %-6s %2u  %s\n", what, i, described);
    }
    if (json) printf("]");
}

typedef struct call_count {
    char name[160];
    uint32_t count;
} call_count;

static int by_count(const void *a, const void *b) {
    const call_count *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Calls of each operator of a plan, most first. The array has one entry an operator. */
static call_count *count_calls(fid_fb_ref plan, uint32_t *out_operators, uint32_t *out_instructions) {
    fid_fb_vector operators = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_operators), chains = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_chains);
    call_count *counts = calloc(operators.count + 1, sizeof *counts);
    *out_operators = operators.count;
    *out_instructions = 0;
    for (uint32_t i = 0; counts && i < operators.count; i++) {
        fid_fb_ref op = fid_fb_table_at(operators, i);
        const char *name = fid_fb_get_string(op, FID_PTE_Operator_name), *overload = fid_fb_get_string(op, FID_PTE_Operator_overload);
        fid_format(counts[i].name, sizeof counts[i].name, "%s%s%s", name ? name : "?", overload && *overload ? "." : "", overload ? overload : "");
    }
    for (uint32_t c = 0; counts && c < chains.count; c++) {
        fid_fb_vector instructions = fid_fb_get_vector(fid_fb_table_at(chains, c), FID_PTE_Chain_instructions);
        *out_instructions += instructions.count;
        for (uint32_t i = 0; i < instructions.count; i++) {
            fid_fb_ref instruction = fid_fb_table_at(instructions, i);
            if (fid_fb_get_u8(instruction, FID_PTE_Instruction_instr_args_type, 0) != FID_PTE_TAG_KernelCall) continue;
            fid_fb_ref call = fid_fb_get_table(instruction, FID_PTE_Instruction_instr_args);
            uint32_t index = (uint32_t)fid_fb_get_i32(call, FID_PTE_KernelCall_op_index, 0);
            if (index < operators.count) counts[index].count++;
        }
    }
    if (counts) qsort(counts, operators.count, sizeof *counts, by_count);
    return counts;
}

static uint64_t planned_bytes(fid_fb_ref plan) {
    fid_fb_vector sizes = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_non_const_buffer_sizes);
    uint64_t total = 0;
    for (uint32_t i = 0; i < sizes.count; i++) total += fid_fb_u64_at(sizes, i);
    return total;
}

static void print_plan(fid_fb_ref plan, bool json) {
    uint32_t operators, instructions;
    call_count *counts = count_calls(plan, &operators, &instructions);
    const char *name = fid_fb_get_string(plan, FID_PTE_ExecutionPlan_name);
    if (json) {
        printf("{\"name\": ");
        print_json_text(stdout, name ? name : "");
    } else printf("method %s: %u instruction%s, %s planned\n", name ? name : "?", instructions, plural(instructions), BYTES_TEXT(planned_bytes(plan)));
    print_values(plan, FID_PTE_ExecutionPlan_inputs, "input", json);
    print_values(plan, FID_PTE_ExecutionPlan_outputs, "output", json);
    if (json) printf(", \"instructions\": %u, \"planned_bytes\": %llu, \"operators\": {", instructions, (unsigned long long)planned_bytes(plan));
    for (uint32_t i = 0; counts && i < operators; i++) {
        if (json) {
            printf(i ? ", " : "");
            print_json_text(stdout, counts[i].name);
            printf(": %u", counts[i].count);
        } else printf("  %5u  %s\n", counts[i].count, counts[i].name);
    }
    fid_fb_vector delegates = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_delegates);
    if (json) printf("}, \"delegates\": %u}", delegates.count);
    for (uint32_t i = 0; !json && i < delegates.count; i++) {
        const char *id = fid_fb_get_string(fid_fb_table_at(delegates, i), FID_PTE_BackendDelegate_id);
        printf("  delegate %u: %s\n", i, id ? id : "?");
    }
    free(counts);
}

static fid_status open_pte(const fid_sink *sink, fid_span file, fid_pte *out_pte) {
    fid_pte_header header;
    fid_span head = fid_span_of(file.data, file.size < FID_PTE_HEAD_BYTES ? file.size : FID_PTE_HEAD_BYTES);
    FID_TRY(fid_pte_read_header(sink, head, file.size, &header));
    return fid_pte_open(sink, fid_span_of(file.data, (size_t)header.program_size), &header, file.size, out_pte);
}

static void print_pte(const fid_pte *pte, const char *path, bool json) {
    fid_fb_vector plans = fid_fb_get_vector(pte->root, FID_PTE_Program_execution_plan);
    uint32_t segments = fid_pte_segment_count(pte);
    uint64_t program_bytes = pte->header.program_size, segment_bytes = 0;
    for (uint32_t i = 0; i < segments; i++) segment_bytes += fid_pte_segment(pte, i).size;
    if (json) printf("{\"kind\": \"pte\", \"file_bytes\": %llu, \"program_bytes\": %llu, \"segment_bytes\": %llu, \"methods\": [",
                     (unsigned long long)pte->file_size, (unsigned long long)program_bytes, (unsigned long long)segment_bytes);
    else printf("%s: program of %s, %u segment%s of %s\n", path, BYTES_TEXT(program_bytes), segments, plural(segments), BYTES_TEXT(segment_bytes));
    for (uint32_t i = 0; i < plans.count; i++) {
        if (json && i) printf(", ");
        print_plan(fid_fb_table_at(plans, i), json);
    }
    if (json) printf("]}");
}

static fid_status inspect_pte(const fid_sink *sink, const char *path, fid_span file, bool json) {
    fid_pte pte;
    FID_TRY(open_pte(sink, file, &pte));
    print_pte(&pte, path, json);
    if (json) putchar('\n');
    return FID_OK;
}

/* ---- Bundled programs ---- */

/* "float32[1, 3]", or a number itself. */
static const char *bundled_text(const fid_value *value, char *text, size_t size) {
    char sizes[160];
    if (value->tag == FID_TAG_TENSOR) {
        const fid_tensor *t = value->as.tensor;
        snprintf(text, size, "%s%s", fid_dtype_name((fid_dtype)t->dtype), fid_shape_text(t->sizes, t->rank, sizes, sizeof sizes));
    } else if (value->tag == FID_TAG_INT) snprintf(text, size, "%lld", (long long)value->as.integer);
    else if (value->tag == FID_TAG_DOUBLE) snprintf(text, size, "%.9g", value->as.number);
    else snprintf(text, size, "%s", value->tag == FID_TAG_NONE ? "None" : value->as.boolean ? "True" : "False");
    return text;
}

static void print_bundled(fid_fb_vector values, const char *what, bool json) {
    if (json) printf(", \"%ss\": [", what);
    for (uint32_t i = 0; i < values.count; i++) {
        fid_bpte_value value;
        char text[200];
        fid_bpte_value_at(values, i, &value);
        bundled_text(&value.value, text, sizeof text);
        if (!json) { printf("  %-6s %2u  %s\n", what, i, text); continue; }
        printf(i ? ", " : "");
        print_json_text(stdout, text);
    }
    if (json) printf("]");
}

static void print_case(const fid_bpte *bundle, const char *method, size_t index, bool json) {
    fid_bpte_case one = fid_bpte_case_at(bundle, method, index);
    if (json) {
        printf("{\"method\": ");
        print_json_text(stdout, method);
    } else printf("case %zu of method %s:\n", index, method);
    print_bundled(one.inputs, "input", json);
    print_bundled(one.outputs, "output", json);
    if (json) printf("}");
}

static fid_status inspect_bpte(const fid_sink *sink, const char *path, fid_span file, bool json) {
    fid_bpte bundle;
    fid_pte pte;
    FID_TRY(fid_bpte_open(sink, file, &bundle));
    FID_TRY(open_pte(sink, bundle.program, &pte));
    if (json) printf("{\"kind\": \"bpte\", \"file_bytes\": %zu, \"program\": ", file.size);
    print_pte(&pte, path, json);
    if (json) printf(", \"cases\": [");
    fid_fb_vector plans = fid_fb_get_vector(pte.root, FID_PTE_Program_execution_plan);
    bool first = true;
    for (uint32_t i = 0; i < plans.count; i++) {
        const char *method = fid_fb_get_string(fid_fb_table_at(plans, i), FID_PTE_ExecutionPlan_name);
        for (size_t k = 0; k < fid_bpte_case_count(&bundle, method); k++, first = false) {
            if (json && !first) printf(", ");
            print_case(&bundle, method, k, json);
        }
    }
    if (json) puts("]}");
    return FID_OK;
}

/* ---- Data files ---- */

static void print_entry(const fid_named_data *entry, bool json, bool first) {
    char text[240], order[100] = "", shape[160];
    int64_t sizes[FID_MAX_RANK];
    size_t at = 0;
    bool row_major = true;
    for (size_t i = 0; i < entry->rank; i++) sizes[i] = entry->sizes[i], row_major = row_major && entry->dim_order[i] == i;
    for (size_t i = 0; i < entry->rank && !row_major; i++) {
        at += fid_format(order + at, sizeof order - at, "%s%d%s", i ? ", " : "{", entry->dim_order[i], i + 1 < entry->rank ? "" : "}");
    }
    snprintf(text, sizeof text, "%s%s%s", entry->is_tensor ? fid_dtype_name((fid_dtype)entry->dtype) : "bytes",
             entry->is_tensor ? fid_shape_text(sizes, entry->rank, shape, sizeof shape) : "", order);
    if (!json) {
        printf("  %-28s %9s  %s\n", text, BYTES_TEXT(entry->bytes.size), entry->key);
        return;
    }
    printf(first ? "{\"key\": " : ", {\"key\": ");
    print_json_text(stdout, entry->key);
    printf(", \"layout\": ");
    print_json_text(stdout, text);
    printf(", \"bytes\": %zu}", entry->bytes.size);
}

static fid_status inspect_ptd(const fid_sink *sink, const char *path, fid_span file, bool json) {
    fid_ptd ptd;
    FID_TRY(fid_ptd_open(sink, file, &ptd));
    size_t count = fid_ptd_count(&ptd);
    if (json) printf("{\"kind\": \"ptd\", \"file_bytes\": %zu, \"entries\": [", file.size);
    else printf("%s: data file of %s, %zu entr%s\n", path, BYTES_TEXT(file.size), count, count == 1 ? "y" : "ies");
    for (size_t i = 0; i < count; i++) {
        fid_named_data entry = fid_ptd_at(&ptd, i);
        print_entry(&entry, json, i == 0);
    }
    if (json) puts("]}");
    return FID_OK;
}

/* ---- Archives and arrays ---- */

static fid_status inspect_pt2(const fid_environment *environment, const char *path, bool json) {
    fidc_program *program;
    char *text;
    FID_TRY(fidc_program_create(environment->allocator, &environment->sink, &fid_builtin_ops, &program));
    fid_status status = fidc_archive_read(program, path, "forward");
    if (status == FID_OK) status = fidc_print(program, &text);
    if (status == FID_OK && json) {
        printf("{\"kind\": \"pt2\", \"ir\": ");
        print_json_text(stdout, text);
        puts("}");
    } else if (status == FID_OK) fputs(text, stdout);
    fidc_program_destroy(program);
    return status;
}

static fid_status inspect_npy(const fid_sink *sink, const char *path, fid_span file, bool json) {
    fid_npy npy;
    char sizes[200];
    FID_TRY(fid_npy_parse(sink, path, file, &npy));
    fid_shape_text(npy.sizes, npy.rank, sizes, sizeof sizes);
    if (json) printf("{\"kind\": \"npy\", \"dtype\": \"%s\", \"shape\": %s}\n", fid_dtype_name(npy.dtype), sizes);
    else printf("%s: %s%s%s\n", path, fid_dtype_name(npy.dtype), sizes, npy.fortran_order ? ", Fortran order" : "");
    return FID_OK;
}

static fid_status inspect_etdump(const fid_sink *sink, const char *path, fid_span file, bool json) {
    fid_etdump dump;
    FID_TRY(fid_etdump_open(sink, file, &dump));
    if (json) printf("{\"kind\": \"etdp\", \"runs\": [");
    else printf("%s: trace of %u block%s; `fidibus profile` shows where the time went\n", path, dump.runs.count, plural(dump.runs.count));
    for (uint32_t i = 0; i < dump.runs.count; i++) {
        fid_etdump_run run = fid_etdump_run_at(&dump, i);
        if (!json) {
            printf("  %s: %u event%s\n", run.name, run.events.count, plural(run.events.count));
            continue;
        }
        printf("%s{\"name\": ", i ? ", " : "");
        print_json_text(stdout, run.name);
        printf(", \"events\": %u}", run.events.count);
    }
    if (json) puts("]}");
    return FID_OK;
}

static bool starts(fid_span file, size_t at, const char *magic) {
    size_t length = strlen(magic);
    return file.size >= at + length && memcmp(file.data + at, magic, length) == 0;
}

static fid_status inspect(const runtime_session *session, const char *path, fid_span file, bool json) {
    const fid_environment *environment = &session->environment;
    bool bundle = fid_bpte_recognize(file);
    if (bundle || starts(file, 4, "ET")) { /* whatever its version: the reader says what it takes */
        fid_status status = bundle ? inspect_bpte(&environment->sink, path, file, json) : inspect_pte(&environment->sink, path, file, json);
        return status == FID_OK ? FID_OK : fid_fail(&environment->sink, status, "%s", path);
    }
    if (fid_ptd_recognize(file)) {
        fid_status status = inspect_ptd(&environment->sink, path, file, json);
        return status == FID_OK ? FID_OK : fid_fail(&environment->sink, status, "%s", path);
    }
    if (fid_etdump_recognize(file)) {
        fid_status status = inspect_etdump(&environment->sink, path, file, json);
        return status == FID_OK ? FID_OK : fid_fail(&environment->sink, status, "%s", path);
    }
    if (starts(file, 0, "PK\x03\x04")) return inspect_pt2(environment, path, json);
    if (starts(file, 0, "\x93NUMPY")) return inspect_npy(&environment->sink, path, file, json);
    return fid_fail(&environment->sink, FID_NOT_SUPPORTED, "%s is no .pte or .bpte program, .ptd data file, .pt2 archive, .etdp trace or .npy array: it starts with other bytes", path);
}

/* ---- Kernels ---- */

typedef struct kernel_count {
    const char *name;
    unsigned tuned, reference;
} kernel_count;

/* Most calls of reference kernels first. */
static int by_reference(const void *a, const void *b) {
    const kernel_count *x = a, *y = b;
    if (x->reference != y->reference) return x->reference < y->reference ? 1 : -1;
    return strcmp(x->name, y->name);
}

static size_t count_kernels(const fid_method *method, kernel_count *counts) {
    size_t kinds = 0;
    fid_kernel_info info;
    for (size_t i = 0; fid_method_kernel(method, i, &info) == FID_OK; i++) {
        size_t at = 0;
        if (!info.computes) continue;
        while (at < kinds && strcmp(counts[at].name, info.name) != 0) at++;
        if (at == kinds) counts[kinds++] = (kernel_count){.name = info.name};
        if (info.tuned) counts[at].tuned++;
        else counts[at].reference++;
    }
    qsort(counts, kinds, sizeof *counts, by_reference);
    return kinds;
}

static void print_kernels(const char *name, const kernel_count *counts, size_t kinds, bool json) {
    unsigned tuned = 0, reference = 0;
    for (size_t i = 0; i < kinds; i++) tuned += counts[i].tuned, reference += counts[i].reference;
    if (json) {
        printf("{\"name\": ");
        print_json_text(stdout, name);
        printf(", \"tuned\": %u, \"reference\": %u, \"on_reference\": {", tuned, reference);
    } else printf("method %s: %u call%s on tuned kernels, %u on reference kernels\n", name, tuned, plural(tuned), reference);
    for (size_t i = 0; i < kinds && counts[i].reference; i++) {
        if (json) {
            printf(i ? ", " : "");
            print_json_text(stdout, counts[i].name);
            printf(": %u", counts[i].reference);
        } else printf("  %5u  %s\n", counts[i].reference, counts[i].name);
    }
    if (json) printf("}}");
}

static fid_status inspect_method(fid_program *program, const char *name, bool json) {
    fid_method *method;
    fid_kernel_info info;
    size_t calls = 0;
    FID_TRY(fid_method_load(program, name, NULL, &method));
    while (fid_method_kernel(method, calls, &info) == FID_OK) calls++;
    kernel_count *counts = malloc((calls + 1) * sizeof *counts);
    if (counts) print_kernels(name, counts, count_kernels(method, counts), json);
    free(counts);
    fid_method_unload(method);
    return counts ? FID_OK : FID_OUT_OF_MEMORY;
}

static fid_status inspect_kernels(const runtime_session *session, const char *path, bool json) {
    fid_program *program;
    fid_status status = FID_OK;
    FID_TRY(fid_program_open_file(&session->environment, path, &program));
    if (json) printf("{\"kind\": \"pte\", \"methods\": [");
    for (size_t i = 0; status == FID_OK && i < fid_program_method_count(program); i++) {
        if (json && i) printf(", ");
        status = inspect_method(program, fid_program_method_name(program, i), json);
    }
    if (json) printf("]}\n");
    fid_program_close(program);
    return status;
}

static int run(arguments *a) {
    if (a->file_count != 1) return usage_error(a, "which file? Give one");
    runtime_session session;
    size_t size;
    void *bytes = read_file(a->files[0], &size);
    if (!bytes) return failed("inspect", "cannot read %s: %s", a->files[0], strerror(errno));
    runtime_session_open(&session, 1);
    bool json = option_flag(a, "--json");
    fid_status status = option_flag(a, "--kernels") ? inspect_kernels(&session, a->files[0], json)
                                                    : inspect(&session, a->files[0], fid_span_of(bytes, size), json);
    int result = status == FID_OK ? EXIT_OK : failed_status("inspect", status, &session);
    runtime_session_close(&session);
    free(bytes);
    return result;
}

const command_row command_inspect = {
    .name = "inspect",
    .usage = "FILE [--kernels] [--json]",
    .summary = "shows what is in a .pte, .bpte, .ptd, .pt2 or .npy file",
    .example = "  fidibus inspect model.pte\n  fidibus inspect model.pte --kernels\n  fidibus inspect model.pt2     # the graph, in the compiler's text form\n",
    .options = options,
    .run = run,
};
