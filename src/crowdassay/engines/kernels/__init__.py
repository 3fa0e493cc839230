"""The sweep over items: readable and compiled."""
