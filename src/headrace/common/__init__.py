"""What every other package shares: types, time, configuration, watermark strategies, errors."""
