"""Makes model.pt2, the network of the C example: needs torch. `fidibus compile model.pt2 -o model.pte` makes the program."""

import torch

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
program = torch.export.export(network, (x,))
for node in program.graph.nodes:
    node.meta.pop("stack_trace", None)  # paths of the machine that made it help nobody
torch.export.save(program, "model.pt2")
print(network(x))
