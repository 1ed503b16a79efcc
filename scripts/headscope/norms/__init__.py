"""How much of a head's output comes from which token: attention weights against norms, and what [SEP] is for."""
