"""Other tools' interfaces, kept by this library's estimators."""
