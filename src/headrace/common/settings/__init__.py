"""How options are declared, read, checked, hidden and described."""
