"""What Java does that programs rely on: its texts, time patterns, order of maps, and jars."""
