"""A venue, a metric, an endpoint and a tool that no checkout has, and a run of a copy of the repository with them."""
