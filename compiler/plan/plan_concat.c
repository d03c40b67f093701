/* Concatenations without a copy: the parts are computed where they belong in the whole.
 *
 * Along the outermost dimension in memory each part of a concatenation is one stretch of the result. If every part has memory of
 * its own, the groups of the parts move into the result's, and the node does nothing. The result then takes its full place
 * from the first part on, so this is done only where it does not raise the peak. */
#include "compiler/plan/plan_internal.h"

#define MOST_PARTS 64

typedef struct parts {
    const fidc_value *whole;
    fidc_life *roots[MOST_PARTS]; /* of the groups that the parts stand for */
    uint64_t deltas[MOST_PARTS];  /* bytes from the start of the whole */
    uint32_t count;
    uint32_t first;               /* moment of the first part */
} parts;

/* True if the dimension comes first in memory, up to dimensions of size one. */
static bool is_outermost(const fidc_value *value, int64_t dim) {
    for (size_t i = 0; i < value->rank; i++) {
        if (value->dim_order[i] == dim) return true;
        if (fidc_size(value, value->dim_order[i]) != 1) return false;
    }
    return false;
}

/* A part whose whole group is the part: nothing else would move along. */
static fidc_life *root_of_part(const fidc_planner *planner, const fidc_value *part, const fidc_value *whole) {
    const fidc_life *life = fidc_life_of(planner, part);
    fidc_life *root = &planner->lives[life->root];
    bool same_kind = part->dtype == whole->dtype && part->rank == whole->rank && fidc_sizes_static(part) &&
                     memcmp(part->dim_order, whole->dim_order, whole->rank) == 0;
    bool is_free = root->has_address && !root->is_state && !life->is_foreign && root->value->origin == FIDC_FROM_NODE;
    if (!same_kind || !is_free || root->bytes != life->bytes || !life->bytes) return NULL;
    return root->value->producer->graph == whole->producer->graph && !root->value->producer->graph_count ? root : NULL;
}

static bool add_part(const fidc_planner *planner, parts *p, const fidc_value *part, uint64_t delta) {
    fidc_life *root = p->count < MOST_PARTS ? root_of_part(planner, part, p->whole) : NULL;
    if (!root || delta % planner->options->alignment) return false;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->roots[i] == root) return false; /* one memory cannot lie in two places */
    p->roots[p->count] = root;
    p->deltas[p->count++] = delta;
    if (root->first < p->first) p->first = root->first;
    return true;
}

static bool find_parts(const fidc_planner *planner, const fidc_node *node, parts *p) {
    const fidc_arg *list = &node->args[0], *dim = &node->args[1];
    const fidc_life *whole = fidc_life_of(planner, node->outputs[0]);
    uint64_t at = 0;
    *p = (parts){.whole = whole->value, .first = whole->first};
    if (dim->kind != FIDC_ARG_INT || !whole->has_address || !fidc_sizes_static(whole->value)) return false;
    int64_t wrapped = dim->as.integer < 0 ? dim->as.integer + whole->value->rank : dim->as.integer;
    if (!is_outermost(whole->value, wrapped)) return false;
    for (uint32_t i = 0; i < list->as.list.count; i++) {
        const fidc_value *part = fidc_value_of(&list->as.list.items[i]);
        if (!part || !add_part(planner, p, part, at)) return false;
        at += fidc_life_of(planner, part)->bytes;
    }
    return at == whole->bytes;
}

/* ---- Does it pay? ------------------------------------------------------------------------------------------------------------------- */

static void add_live(uint64_t *live, const fidc_life *life) {
    for (uint32_t t = life->first; t <= life->last; t++) live[t] += life->bytes;
}

/* True if the whole may lie there from its first part on: no moment before the node then needs more than the present peak. */
static bool keeps_peak(const fidc_planner *planner, const parts *p, uint32_t moment, uint64_t *live) {
    uint64_t peak = 0;
    memset(live, 0, ((size_t)planner->end + 1) * sizeof *live);
    for (uint32_t i = 0; i < planner->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (life->has_address && life->root == i) add_live(live, life);
    }
    for (uint32_t t = 0; t <= planner->end; t++)
        if (live[t] > peak) peak = live[t];
    for (uint32_t t = p->first; t < moment; t++) {
        uint64_t bytes = live[t] + fidc_life_of(planner, p->whole)->bytes;
        for (uint32_t i = 0; i < p->count; i++)
            if (p->roots[i]->first <= t && t <= p->roots[i]->last) bytes -= p->roots[i]->bytes;
        if (bytes > peak) return false;
    }
    return true;
}

/* ---- Moving groups -------------------------------------------------------------------------------------------------------------------- */

void fidc_plan_move_group(fidc_planner *planner, fidc_life *root, fidc_life *whole, uint64_t delta) {
    uint32_t from = fidc_plan_index(root->value), to = fidc_plan_index(whole->value);
    for (uint32_t i = 0; i < planner->count; i++) {
        if (planner->lives[i].root != from || !planner->lives[i].value) continue;
        planner->lives[i].root = to;
        planner->lives[i].delta += delta;
    }
    if (root->first < whole->first) whole->first = root->first;
    if (root->last > whole->last) whole->last = root->last;
    if (root->last_read > whole->last_read) whole->last_read = root->last_read;
}

bool fidc_plan_concat(fidc_planner *planner, const fidc_node *node, uint32_t moment) {
    parts p;
    if (!fidc_is(node, FID_OPID_cat) || node->args[0].kind != FIDC_ARG_LIST || !find_parts(planner, node, &p)) return false;
    if (!keeps_peak(planner, &p, moment, planner->live)) return false;
    fidc_life *whole = fidc_life_of(planner, node->outputs[0]);
    for (uint32_t i = 0; i < p.count; i++) fidc_plan_move_group(planner, p.roots[i], whole, p.deltas[i]);
    whole->elided = true;
    return true;
}
