"""From text to statements and syntax nodes; nothing here knows a catalog or a type of a column."""
