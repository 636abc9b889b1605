"""Physical plans: the nodes that only they have, and a module for each rule that chooses one."""
