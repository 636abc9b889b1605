"""What users see in a terminal or a notebook."""
