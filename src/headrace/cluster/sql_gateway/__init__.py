"""The SQL gateway: sessions and statements over Flink's REST interface."""
