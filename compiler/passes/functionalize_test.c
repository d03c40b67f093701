/* In-place programs become functional ones: what each write leaves is what later readers see. */
#include "compiler/passes/pass_check.h"

static void becomes(const char *before, const char *after) {
    pass_check c;
    pass_open(&c, before);
    pass_ok(&c, fidc_functionalize(c.program));
    pass_expect(&c, after);
    pass_close(&c);
}

static void an_in_place_call_becomes_its_functional_form(void **state) {
    (void)state;
    becomes("method forward(%x: f32[4]) {\n"
            "  %y: f32[4] = aten.neg(%x)\n"
            "  %z: f32[4] = aten.relu!(%y)\n"
            "  %s: f32[4] = aten.add.Tensor(%y, %z, 1)\n"
            "  return %s\n"
            "}\n",
            "method forward(%x: f32[4]) {\n"
            "  %y: f32[4] = aten.neg(%x)\n"
            "  %_0: f32[4] = aten.relu(%y)\n"
            "  %s: f32[4] = aten.add.Tensor(%_0, %_0, 1)\n"
            "  return %s\n"
            "}\n");
}

/* Two symbols that cannot be told apart by their values: no expansion of one to the other. */
static void a_result_has_its_target_s_sizes(void **state) {
    (void)state;
    becomes("symbol s0 in [2, 4] hint 2\nsymbol s1 in [2, 4] hint 2\n"
            "method forward(%x: f32[s0, s1]) {\n"
            "  %y: f32[s0, s1] = aten.neg(%x)\n"
            "  %z: f32[s0, s1] = aten.relu!(%y)\n"
            "  return %z\n"
            "}\n",
            "symbol s0 in [2, 4] hint 2\nsymbol s1 in [2, 4] hint 2\n"
            "method forward(%x: f32[s0, s1]) {\n"
            "  %y: f32[s0, s1] = aten.neg(%x)\n"
            "  %_0: f32[s0, s1] = aten.relu(%y)\n"
            "  return %_0\n"
            "}\n");
}

static void a_write_to_a_view_scatters_into_its_base(void **state) {
    (void)state;
    becomes("method forward(%x: f32[3, 4], %y: f32[3]) {\n"
            "  %b: f32[3, 4] = aten.neg(%x)\n"
            "  %v: f32[3] = aten.select.int(%b, 1, 2)\n"
            "  %w: f32[3] = aten.copy!(%v, %y, False)\n"
            "  return %b\n"
            "}\n",
            "method forward(%x: f32[3, 4], %y: f32[3]) {\n"
            "  %b: f32[3, 4] = aten.neg(%x)\n"
            "  %_1: f32[3, 4] = aten.select_scatter(%b, %y, 1, 2)\n"
            "  return %_1\n"
            "}\n");
}

static void another_view_of_the_base_is_made_again(void **state) {
    (void)state;
    becomes("method forward(%x: f32[4]) {\n"
            "  %b: f32[4] = aten.neg(%x)\n"
            "  %v: f32[2, 2] = aten.view(%b, [2, 2])\n"
            "  %w: f32[4] = aten.add.Scalar!(%b, 1, 1)\n"
            "  %r: f32[2, 2] = aten.abs(%v)\n"
            "  return %r\n"
            "}\n",
            "method forward(%x: f32[4]) {\n"
            "  %b: f32[4] = aten.neg(%x)\n"
            "  %_1: f32[4] = aten.add.Scalar(%b, 1, 1)\n"
            "  %_2: f32[2, 2] = aten.view_copy(%_1, [2, 2])\n"
            "  %r: f32[2, 2] = aten.abs(%_2)\n"
            "  return %r\n"
            "}\n");
}

static void a_written_buffer_is_updated_at_the_end(void **state) {
    (void)state;
    becomes("method forward(%x: f32[2]) {\n"
            "  const %sum: f32[2] = \"sum\" {1.0, 2.0}\n"
            "  %w: f32[2] = aten.add.Tensor!(%sum, %x, 1)\n"
            "  %r: f32[2] = aten.neg(%sum)\n"
            "  return %r\n"
            "}\n",
            "method forward(%x: f32[2]) {\n"
            "  buffer %sum: f32[2] = \"sum\" {1.0, 2.0}\n"
            "  %_0: f32[2] = aten.add.Tensor(%sum, %x, 1)\n"
            "  %r: f32[2] = aten.neg(%_0)\n"
            "  update %sum <- %_0\n"
            "  return %r\n"
            "}\n");
}

static void a_copy_of_a_strided_view_is_no_alias(void **state) {
    (void)state;
    becomes("method forward(%x: f32[2, 3]) {\n"
            "  %b: f32[2, 3] = aten.neg(%x)\n"
            "  %t: f32[3, 2] = aten.t(%b)\n"
            "  %c: f32[3, 2] = aten.contiguous(%t, format.0)\n"
            "  %w: f32[3, 2] = aten.relu!(%c)\n"
            "  return %b, %w\n"
            "}\n",
            "method forward(%x: f32[2, 3]) {\n"
            "  %b: f32[2, 3] = aten.neg(%x)\n"
            "  %t: f32[3, 2] = aten.permute_copy(%b, [1, 0])\n"
            "  %c: f32[3, 2] = aten.clone(%t, None)\n"
            "  %_2: f32[3, 2] = aten.relu(%c)\n"
            "  return %b, %_2\n"
            "}\n");
}

static void dropout_hands_on_the_same_tensor(void **state) {
    (void)state;
    becomes("method forward(%x: f32[2]) {\n"
            "  %b: f32[2] = aten.neg(%x)\n"
            "  %d: f32[2] = aten.dropout(%b, 0.5, False)\n"
            "  %w: f32[2] = aten.relu!(%d)\n"
            "  return %b\n"
            "}\n",
            "method forward(%x: f32[2]) {\n"
            "  %b: f32[2] = aten.neg(%x)\n"
            "  %_0: f32[2] = aten.relu(%b)\n"
            "  return %_0\n"
            "}\n");
}

static void a_write_through_an_expanded_view_is_refused(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: f32[1]) {\n"
                  "  %b: f32[1] = aten.neg(%x)\n"
                  "  %e: f32[3] = aten.expand(%b, [3], False)\n"
                  "  %w: f32[3] = aten.relu!(%e)\n"
                  "  return %b\n"
                  "}\n");
    assert_int_equal(fidc_functionalize(c.program), FID_NOT_SUPPORTED);
    assert_non_null(strstr(c.message.text, "writes through a view"));
    pass_close(&c);
}

/* ---- Random programs against memory ----
 *
 * The model holds 24 numbers. Every name of the program stands for some of them in some order; a write changes them. The text
 * of the program is written along, and its functional form must give what the model holds. */

typedef struct model_view { int place[24]; int sizes[3], rank; } model_view;
typedef struct model {
    float memory[24]; /* rounds as the kernels do */
    model_view views[40];
    int view_count, name_count;
    char text[16384];
    uint32_t seed;
} model;

static uint32_t draw(model *m, uint32_t below) {
    m->seed = m->seed * 1664525u + 1013904223u;
    return (m->seed >> 10) % below;
}

static int count_of(const model_view *v) {
    int count = 1;
    for (int d = 0; d < v->rank; d++) count *= v->sizes[d];
    return count;
}

static void say(model *m, const char *format, ...) {
    va_list list;
    size_t length = strlen(m->text);
    va_start(list, format);
    vsnprintf(m->text + length, sizeof m->text - length, format, list);
    va_end(list);
}

static void say_sizes(model *m, const model_view *v, const char *open, const char *close) {
    say(m, "%s", open);
    for (int d = 0; d < v->rank; d++) say(m, "%s%d", d ? ", " : "", v->sizes[d]);
    say(m, "%s", close);
}

/* Elements of `from` whose index in `dim` runs from `start` by `step`, in the same order. */
static model_view slice_of(const model_view *from, int dim, int start, int step) {
    model_view v = *from;
    int inner = 1, at = 0;
    for (int d = dim + 1; d < from->rank; d++) inner *= from->sizes[d];
    v.sizes[dim] = (from->sizes[dim] - start + step - 1) / step;
    for (int k = 0; k < count_of(from); k++) {
        int index = k / inner % from->sizes[dim];
        if (index >= start && (index - start) % step == 0) v.place[at++] = from->place[k];
    }
    return v;
}

static model_view transposed(const model_view *from) {
    model_view v = *from;
    int rows = from->sizes[0], columns = count_of(from) / rows, at = 0;
    v.sizes[0] = from->sizes[1];
    v.sizes[1] = rows;
    for (int c = 0; c < columns; c++) {
        for (int r = 0; r < rows; r++) v.place[at++] = from->place[r * columns + c];
    }
    return v;
}

static void add_view(model *m) {
    int from_index = (int)draw(m, (uint32_t)m->view_count);
    const model_view *from = &m->views[from_index];
    model_view v = *from;
    char call[100];
    uint32_t kind = draw(m, 4);
    if (kind == 0 && from->rank == 2) {
        v = transposed(from);
        snprintf(call, sizeof call, "aten.transpose.int(%%v%d, 0, 1)", from_index);
    } else if (kind == 1) {
        int dim = (int)draw(m, (uint32_t)from->rank), start = (int)draw(m, (uint32_t)from->sizes[dim]), step = 1 + (int)draw(m, 2);
        v = slice_of(from, dim, start, step);
        snprintf(call, sizeof call, "aten.slice.Tensor(%%v%d, %d, %d, None, %d)", from_index, dim, start, step);
    } else if (kind == 2 && from->rank == 2) {
        int dim = (int)draw(m, 2), index = (int)draw(m, (uint32_t)from->sizes[dim]);
        v = slice_of(from, dim, index, 1000);
        v.sizes[0] = v.sizes[1 - dim];
        v.rank = 1;
        snprintf(call, sizeof call, "aten.select.int(%%v%d, %d, %d)", from_index, dim, index);
    } else {
        v.sizes[v.rank++] = 1;
        if (v.rank > 2) return;
        snprintf(call, sizeof call, "aten.unsqueeze(%%v%d, %d)", from_index, from->rank);
    }
    m->views[m->view_count] = v;
    say(m, "  %%v%d: f32", m->view_count++);
    say_sizes(m, &v, "[", "]");
    say(m, " = %s\n", call);
}

static void add_write(model *m) {
    int target = (int)draw(m, (uint32_t)m->view_count), by = 1 + (int)draw(m, 5);
    const model_view *v = &m->views[target];
    bool scales = draw(m, 2);
    for (int k = 0; k < count_of(v); k++) {
        if (scales) m->memory[v->place[k]] *= 0.5f;
        else m->memory[v->place[k]] += (float)by;
    }
    say(m, "  %%w%d: f32", m->name_count++);
    say_sizes(m, v, "[", "]");
    if (scales) say(m, " = aten.mul.Scalar!(%%v%d, 0.5)\n", target);
    else say(m, " = aten.add.Scalar!(%%v%d, %d, 1)\n", target, by);
}

static void run_model(uint32_t seed, int steps) {
    static model m;
    static double got[PASS_MOST_NUMBERS], start[PASS_MOST_NUMBERS];
    memset(&m, 0, sizeof m);
    m.seed = seed;
    m.views[0] = (model_view){.sizes = {4, 6}, .rank = 2};
    for (int k = 0; k < 24; k++) m.views[0].place[k] = k;
    m.view_count = 1;
    pass_check c;
    pass_open(&c, "method forward(%x: f32[4, 6]) {\n  %y: f32[4, 6] = aten.neg(%x)\n  return %y\n}\n");
    pass_run(&c, start);
    pass_close(&c);
    for (int k = 0; k < 24; k++) m.memory[k] = (float)start[k];
    say(&m, "method forward(%%x: f32[4, 6]) {\n  %%v0: f32[4, 6] = aten.neg(%%x)\n");
    for (int i = 0; i < steps; i++) {
        if (draw(&m, 2)) add_view(&m);
        else add_write(&m);
    }
    say(&m, "  return %%v0");
    for (int i = 1; i < m.view_count; i++) say(&m, ", %%v%d", i);
    say(&m, "\n}\n");
    pass_open(&c, m.text);
    pass_ok(&c, fidc_functionalize(c.program));
    pass_ok(&c, fidc_verify(c.program));
    size_t count = pass_run(&c, got), at = 0;
    for (int i = 0; i < m.view_count; i++) {
        for (int k = 0; k < count_of(&m.views[i]); k++, at++) {
            if ((float)got[at] != m.memory[m.views[i].place[k]]) fail_msg("seed %u, view %d, element %d\n%s", seed, i, k, m.text);
        }
    }
    assert_int_equal(at, count);
    pass_close(&c);
}

static void random_writes_through_views_equal_memory(void **state) {
    (void)state;
    for (int steps = 2; steps <= 26; steps += 8) {
        for (uint32_t seed = 1; seed <= 60; seed++) run_model(seed, steps);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_in_place_call_becomes_its_functional_form), cmocka_unit_test(a_result_has_its_target_s_sizes), cmocka_unit_test(a_write_to_a_view_scatters_into_its_base),
        cmocka_unit_test(another_view_of_the_base_is_made_again),       cmocka_unit_test(a_written_buffer_is_updated_at_the_end),
        cmocka_unit_test(a_copy_of_a_strided_view_is_no_alias),         cmocka_unit_test(dropout_hands_on_the_same_tensor),
        cmocka_unit_test(a_write_through_an_expanded_view_is_refused),  cmocka_unit_test(random_writes_through_views_equal_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
