"""Charts as records plus a specification, and pages that open offline."""
