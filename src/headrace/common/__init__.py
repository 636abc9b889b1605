"""The vocabulary that every other package shares: types, time, configuration, watermark strategies, errors."""
