"""Labels: what they are, how they are read from files, frames, tools and databases, and public datasets of them."""
