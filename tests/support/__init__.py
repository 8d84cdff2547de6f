"""Support code of the tests: servers, small warehouses and replicas, recorded bodies, generated data."""
