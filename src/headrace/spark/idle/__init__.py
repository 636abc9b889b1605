"""A Spark that waits for the next run of the same user, so that its start need not be waited for.

A *keeper* has at most one spare: a *holder*, which is a process with a JVM and an idle Spark in it,
started as the last run had started its own. A run with the same settings, environment, working
directory, Python and Java takes the spare. It then has it to itself: when the run ends, however it
ends, its Spark ends too, and the keeper makes another. So no run sees what another has left behind.

The keeper answers on a socket in a private directory of the user, and ends by itself when nobody
has come for some minutes. The spare ends with it.
"""
