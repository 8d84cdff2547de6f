"""Running dbt: as a new process or as a fork of one that is kept ready; its manifest and its docs."""
