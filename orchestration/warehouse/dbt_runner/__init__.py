"""Running dbt: as a process of its own or forked from one that is kept ready, with its manifest and its docs."""
