/* Fusion. */
#include "backends/xnnpack/run/xnn_graph.h"

void fid_xnn_fuse(fid_xnn_graph *graph) { (void)graph; }
