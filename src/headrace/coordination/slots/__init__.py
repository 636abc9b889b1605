"""The driver's end of the slots: what they need to start, their connections, questions to them."""
