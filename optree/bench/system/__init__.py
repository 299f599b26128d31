"""Process limits, the environment of a record, numba's cache, schemas, and error reporting of scripts and driver."""
