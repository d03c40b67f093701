/* From nodes that a backend takes to delegates.
 *
 * A part may be replaced by one node if no path leaves it and comes back. Every node has a stage: a taken node stands at the latest
 * stage of what it reads, one later than that of nodes outside; so a path through the outside always ends at a later stage, and taken
 * nodes of one stage that read each other can be one part. */
#include "compiler/partition/partition.h"

/* ---- Marks ---- */

typedef struct mark {
    fidc_node *node;
    uint32_t stage;
    uint32_t parent; /* union-find: the first node of the part */
    bool taken;
} mark;

typedef struct cutter {
    fidc_program *program;
    fidc_graph *graph;
    const fidc_backend *backend;
    bool per_operator;
    mark *marks;
    uint32_t count;
    uint32_t current;    /* node whose operands are visited */
} cutter;

typedef void (*visitor)(cutter *c, fidc_value *value);

static void visit_arg(cutter *c, const fidc_arg *arg, visitor visit) {
    fidc_value *value = fidc_value_of(arg);
    if (value) visit(c, value);
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) visit_arg(c, &arg->as.list.items[i], visit);
}

/* Everything that a node reads, with what its sub-graphs read of the outside. */
static void visit_operands(cutter *c, const fidc_node *node, visitor visit) {
    for (uint32_t i = 0; i < node->arg_count; i++) visit_arg(c, &node->args[i], visit);
    for (uint32_t k = 0; k < node->graph_count; k++) {
        const fidc_graph *inner = node->graphs[k];
        for (const fidc_node *n = inner->first; n; n = n->next) visit_operands(c, n, visit);
        for (uint32_t i = 0; i < inner->output_count; i++) visit_arg(c, &inner->outputs[i], visit);
    }
}

/* The mark of the node that makes a value in this graph; NULL if it comes from elsewhere. */
static mark *maker_of(const cutter *c, const fidc_value *value) {
    if (value->origin != FIDC_FROM_NODE || value->producer->graph != c->graph) return NULL;
    return &c->marks[(uint32_t)(uintptr_t)value->producer->scratch];
}

static uint32_t root_of(const cutter *c, uint32_t i) {
    while (c->marks[i].parent != i) i = c->marks[i].parent = c->marks[c->marks[i].parent].parent;
    return i;
}

/* ---- Stages and parts ---- */

static void raise_stage(cutter *c, fidc_value *value) {
    mark *own = &c->marks[c->current], *made = maker_of(c, value);
    if (!made) return;
    uint32_t stage = made->stage + (own->taken && !made->taken);
    if (stage > own->stage) own->stage = stage;
}

static void join(cutter *c, fidc_value *value) {
    mark *own = &c->marks[c->current], *made = maker_of(c, value);
    if (!made || !made->taken || made->stage != own->stage) return;
    uint32_t a = root_of(c, c->current), b = root_of(c, (uint32_t)(made - c->marks));
    if (a < b) c->marks[b].parent = a;
    else c->marks[a].parent = b;
}

/* Nodes whose order among each other means something. */
static bool keeps_order(const fidc_node *node) { return node->op->kind == FID_OP_EFFECT || node->op->kind == FID_OP_RANDOM || node->graph_count; }

static void find_parts(cutter *c) {
    uint32_t last_stage = 0;
    for (c->current = 0; c->current < c->count; c->current++) {
        mark *m = &c->marks[c->current];
        visit_operands(c, m->node, raise_stage);
        if (!m->taken && keeps_order(m->node)) last_stage = m->stage = m->stage > last_stage ? m->stage : last_stage;
        if (m->taken && !c->per_operator) visit_operands(c, m->node, join);
    }
}

/* Gives back parts that compute nothing, or nothing that depends on an input. */
static void drop_idle_parts(cutter *c, uint8_t *worth) {
    for (uint32_t i = 0; i < c->count; i++)
        if (c->marks[i].taken && !c->backend->is_move(c->marks[i].node)) worth[root_of(c, i)] = 1;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->marks[i].taken && !worth[root_of(c, i)]) c->marks[i].taken = false, c->marks[i].parent = i;
}

/* ---- One part ---- */

/* While parts are made, a value's scratch tells what it is to them. */
enum { SEEN_NOTHING, IS_OUTPUT };

static void note_reader(cutter *c, fidc_value *value) {
    const mark *own = c->current < c->count ? &c->marks[c->current] : NULL, *made = maker_of(c, value);
    if (!made || !made->taken) return;
    bool inside = own && own->taken && root_of(c, c->current) == root_of(c, (uint32_t)(made - c->marks));
    if (!inside) value->scratch = (void *)(uintptr_t)IS_OUTPUT;
}

static void note_outputs(cutter *c) {
    for (uint32_t i = 0; i < c->graph->value_count; i++) c->graph->values[i]->scratch = NULL;
    for (c->current = 0; c->current < c->count; c->current++) visit_operands(c, c->marks[c->current].node, note_reader);
    for (uint32_t i = 0; i < c->graph->output_count; i++) visit_arg(c, &c->graph->outputs[i], note_reader); /* current: past the nodes */
    for (uint32_t i = 0; i < c->graph->mutation_count; i++) note_reader(c, fidc_resolve(c->graph->mutations[i].value));
}

typedef struct gatherer {
    cutter cutter;       /* first: visitors get it */
    fidc_part *part;
    uint32_t root;
} gatherer;

static void gather_input(cutter *c, fidc_value *value) {
    gatherer *g = (gatherer *)(void *)c;
    const mark *made = maker_of(c, value);
    if (value->type != FIDC_TENSOR) return; /* numbers that a shape is made of: the shape itself is known to the backend */
    if (fidc_is_constant(value) || (made && made->taken && root_of(c, (uint32_t)(made - c->marks)) == g->root)) return;
    for (uint32_t i = 0; i < g->part->input_count; i++)
        if (g->part->inputs[i] == value) return;
    g->part->inputs[g->part->input_count++] = value;
}

static uint32_t count_operands(const fidc_node *node) {
    uint32_t count = node->arg_count;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (node->args[i].kind == FIDC_ARG_LIST) count += node->args[i].as.list.count;
    return count;
}

static fid_status gather_part(const cutter *c, uint32_t root, fidc_part *part) {
    uint32_t nodes = 0, inputs = 0, outputs = 0;
    for (uint32_t i = root; i < c->count; i++) {
        if (!c->marks[i].taken || root_of(c, i) != root) continue;
        nodes++;
        inputs += count_operands(c->marks[i].node);
        outputs += c->marks[i].node->output_count;
    }
    *part = (fidc_part){.program = c->program, .graph = c->graph, .nodes = fidc_allocate(c->program, nodes * sizeof *part->nodes),
                        .inputs = fidc_allocate(c->program, inputs * sizeof *part->inputs),
                        .outputs = fidc_allocate(c->program, outputs * sizeof *part->outputs)};
    if (!part->nodes || !part->inputs || !part->outputs) return fid_fail(c->program->sink, FID_OUT_OF_MEMORY, "no memory for a delegate of %s", c->graph->name);
    gatherer g = {*c, part, root};
    for (uint32_t i = root; i < c->count; i++) {
        fidc_node *node = c->marks[i].node;
        if (!c->marks[i].taken || root_of(c, i) != root) continue;
        part->nodes[part->node_count++] = node;
        visit_operands(&g.cutter, node, gather_input);
        for (uint32_t k = 0; k < node->output_count; k++)
            if (node->outputs[k]->scratch == (void *)(uintptr_t)IS_OUTPUT) part->outputs[part->output_count++] = node->outputs[k];
    }
    return FID_OK;
}

static const fid_op call_delegate = {
    .name = "executorch::call_delegate", .overload = "", .out = "", .schema = "(Tensor[] inputs) -> Tensor[]", .kind = FID_OP_COMPUTE};

/* One node in the place of the part's last; the values that leave it are now its own. */
static fid_status replace_part(const fidc_part *part, const fidc_delegate *delegate) {
    fidc_node *last = part->nodes[part->node_count - 1];
    fidc_arg inputs = fidc_values(part->program, part->inputs, part->input_count);
    fidc_node *node = fidc_node_create_raw(part->graph, last, &call_delegate, &inputs, 1);
    if (!node || inputs.as.list.count != part->input_count) {
        return fid_fail(part->program->sink, FID_OUT_OF_MEMORY, "no memory for a delegate of %s", part->graph->name);
    }
    node->source = last->source;
    node->module = last->module;
    node->delegate = delegate;
    node->outputs = part->outputs;
    node->output_count = part->output_count;
    for (uint32_t i = 0; i < part->output_count; i++) part->outputs[i]->producer = node, part->outputs[i]->output_index = i;
    for (uint32_t i = 0; i < part->node_count; i++) fidc_node_remove(part->nodes[i]);
    return FID_OK;
}

static fid_status lower_part(const cutter *c, const fidc_part *part, fidc_delegate **out_delegate) {
    fidc_delegate *delegate = fidc_allocate(c->program, sizeof *delegate);
    if (!delegate) return fid_fail(c->program->sink, FID_OUT_OF_MEMORY, "no memory for a delegate of %s", c->graph->name);
    *delegate = (fidc_delegate){.backend = c->backend->name, .operators = part->node_count};
    *out_delegate = delegate;
    return c->backend->lower(part, delegate);
}

/* Three walks: marks and scratch fields are the cutter's until all parts are gathered, and the backend's while they are lowered. */
static fid_status make_parts(cutter *c) {
    fidc_part *parts = fidc_allocate(c->program, ((size_t)c->count + 1) * sizeof *parts);
    if (!parts) return fid_fail(c->program->sink, FID_OUT_OF_MEMORY, "no memory for the delegates of %s", c->graph->name);
    uint32_t count = 0;
    note_outputs(c);
    for (uint32_t i = 0; i < c->count; i++) {
        if (!c->marks[i].taken || root_of(c, i) != i) continue;
        FID_TRY(gather_part(c, i, &parts[count]));
        count += parts[count].input_count && parts[count].output_count; /* what reads constants only is folded by others */
    }
    fidc_delegate **delegates = fidc_allocate(c->program, ((size_t)count + 1) * sizeof *delegates);
    if (!delegates) return fid_fail(c->program->sink, FID_OUT_OF_MEMORY, "no memory for the delegates of %s", c->graph->name);
    for (uint32_t i = 0; i < count; i++) FID_TRY(lower_part(c, &parts[i], &delegates[i]));
    for (uint32_t i = 0; i < count; i++) FID_TRY(replace_part(&parts[i], delegates[i]));
    return FID_OK;
}

/* ---- Order ---- */

/* Scratch of a node while it waits for what it reads: NULL. */
typedef struct sorter {
    cutter cutter;     /* first: visitors get it */
    bool ready;
} sorter;

static void check_made(cutter *c, fidc_value *value) {
    sorter *s = (sorter *)(void *)c;
    if (value->origin == FIDC_FROM_NODE && value->producer->graph == c->graph && !value->producer->scratch) s->ready = false;
}

/* A node that reads what is not made yet goes behind all others, where it is looked at again. Parts have no cycle among them, so each
 * round finds one that is ready. */
static fid_status sort_nodes(fidc_graph *graph, size_t count) {
    sorter s = {.cutter.graph = graph};
    size_t rounds = 0, most = (count + 1) * (count + 1);
    const fidc_node *waiting = NULL; /* the first of those that keep their order */
    for (fidc_node *node = graph->first; node; node = node->next) node->scratch = NULL;
    for (fidc_node *node = graph->first, *next; node; node = next) {
        if (rounds++ > most) return fid_fail(graph->program->sink, FID_INTERNAL, "the delegates of %s read each other", graph->name);
        next = node->next;
        s.ready = true;
        visit_operands(&s.cutter, node, check_made);
        if (keeps_order(node) && waiting && waiting != node) s.ready = false;
        if (s.ready) {
            node->scratch = node;
            if (waiting == node) waiting = NULL;
            continue;
        }
        if (keeps_order(node) && !waiting) waiting = node;
        if (!next) next = node; /* it stays the last; the end is reached when it is ready */
        else fidc_node_move_before(node, NULL);
    }
    return FID_OK;
}

/* ---- The pass ---- */

static fid_status partition_graph(fidc_graph *graph, const fidc_backend *backend, bool per_operator);

static fid_status partition_inner(fidc_graph *graph, const fidc_backend *backend, bool per_operator, uint32_t *out_count) {
    *out_count = 0;
    for (fidc_node *node = graph->first; node; node = node->next) {
        node->scratch = (void *)(uintptr_t)(*out_count)++;
        for (uint32_t k = 0; k < node->graph_count; k++) FID_TRY(partition_graph(node->graphs[k], backend, per_operator));
    }
    return FID_OK;
}

static fid_status partition_graph(fidc_graph *graph, const fidc_backend *backend, bool per_operator) {
    cutter c = {.program = graph->program, .graph = graph, .backend = backend, .per_operator = per_operator};
    FID_TRY(partition_inner(graph, backend, per_operator, &c.count));
    fidc_graph_count_uses(graph);
    c.marks = fidc_allocate(c.program, ((size_t)c.count + 1) * sizeof *c.marks);
    uint8_t *worth = fidc_allocate(c.program, (size_t)c.count + 1);
    if (!c.marks || !worth) return fid_fail(c.program->sink, FID_OUT_OF_MEMORY, "no memory to cut %s into parts", graph->name);
    uint32_t i = 0;
    for (fidc_node *node = graph->first; node; node = node->next, i++) c.marks[i] = (mark){node, 0, i, !node->graph_count && backend->takes(node)};
    find_parts(&c);
    drop_idle_parts(&c, worth);
    FID_TRY(make_parts(&c));
    return sort_nodes(graph, c.count);
}

fid_status fidc_partition(fidc_program *program, const fidc_backend *backend, bool per_operator) {
    for (uint32_t i = 0; i < program->method_count; i++) {
        fidc_graph_clean(program->methods[i]);
        FID_TRY(partition_graph(program->methods[i], backend, per_operator));
        fidc_graph_clean(program->methods[i]);
    }
    return FID_OK;
}
