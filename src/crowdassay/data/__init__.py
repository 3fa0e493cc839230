"""Labels and results: frozen arrays with vocabularies."""
