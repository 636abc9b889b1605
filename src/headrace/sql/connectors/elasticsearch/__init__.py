"""The connectors of Elasticsearch and OpenSearch: rows of tables as documents."""
