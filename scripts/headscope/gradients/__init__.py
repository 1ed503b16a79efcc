"""How much the loss of masked language modelling hangs on each attention weight."""
