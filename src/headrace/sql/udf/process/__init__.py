"""Process table functions: how they are declared, and what they are given while they run."""
